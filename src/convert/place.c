/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/converter.h"

int fc_cv_lookup(struct fc_fs *fs, uint64_t parent, const char *name, struct fc_attr *attr)
{
	int r = fc_fs_lookup(fs, parent, name, attr);

	if (!r)
		fc_fs_forget(fs, attr->ino, 1);
	return r;
}

int fc_cv_open_dir(int dir, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir, name, flags | O_NOATIME);

	if (fd < 0 && errno == EPERM)
		fd = openat(dir, name, flags);
	return fd < 0 ? fc_cv_errno(errno) : fd;
}

void fc_cv_open_up(int dir)
{
	struct stat st;

	if (!fstat(dir, &st) && (st.st_mode & 0300) != 0300)
		(void)!fchmod(dir, (st.st_mode & 07777) | 0700);
}

void fc_cv_place_forget(struct fc_cv *c)
{
	free(c->at);
	c->at = NULL;
	if (c->at_fd >= 0)
		close(c->at_fd);
	c->at_fd = -1;
	c->at_ino = 0;
	c->depth = 0;
}

/* Remembers what c->at_fd and c->at_ino are, so that the way back up is known. */
static int remember(struct fc_cv *c)
{
	struct fc_cv_level *l;
	struct stat st;

	if (c->depth == c->depth_room) {
		size_t room = c->depth_room ? c->depth_room * 2 : 32;
		void *more = realloc(c->level, room * sizeof(*c->level));

		if (!more)
			return FC_ENOMEM;
		c->level = more;
		c->depth_room = room;
	}
	if (c->at_fd >= 0 && fstat(c->at_fd, &st))
		return fc_cv_errno(errno);
	l = &c->level[c->depth++];
	*l = (struct fc_cv_level){ .cino = c->at_ino, .host = c->at_fd >= 0 };
	if (l->host) {
		l->dev = st.st_dev;
		l->ino = st.st_ino;
	}
	return 0;
}

static int start(struct fc_cv *c)
{
	fc_cv_place_forget(c);
	c->at = strdup("");
	if (!c->at)
		return FC_ENOMEM;
	c->at_ino = c->fs ? FC_INO_ROOT : 0;
	c->at_fd = c->host < 0 ? -1 : fcntl(c->host, F_DUPFD_CLOEXEC, 3);
	return c->host >= 0 && c->at_fd < 0 ? fc_cv_errno(errno) : remember(c);
}

/* One component down. */
static int step(struct fc_cv *c, const char *name)
{
	struct fc_attr attr;
	int fd = -1, r = c->at_ino ? fc_cv_lookup(c->fs, c->at_ino, name, &attr) : FC_ENOENT;

	if (r && r != FC_ENOENT)
		return r;
	c->at_ino = !r && S_ISDIR(attr.mode) ? attr.ino : 0;
	if (c->at_fd >= 0) {
		fd = fc_cv_open_dir(c->at_fd, name);
		if (fd == FC_EACCESS && c->fs) {
			fc_cv_open_up(c->at_fd);
			fd = fc_cv_open_dir(c->at_fd, name);
		}
		if (fd < 0 && fd != FC_ENOENT)
			return fd;
		close(c->at_fd);
	}
	c->at_fd = fd < 0 ? -1 : fd;
	return remember(c);
}

/* One up. False: the host has another directory there by now, or none that this one lies in. */
static bool step_up(struct fc_cv *c)
{
	const struct fc_cv_level *l = &c->level[c->depth - 2];
	struct stat st;
	int fd = -1;

	if (l->host) {
		fd = c->at_fd < 0 ? -1 : fc_cv_open_dir(c->at_fd, "..");
		if (fd < 0)
			return false;
		if (fstat(fd, &st) || st.st_dev != l->dev || st.st_ino != l->ino) {
			close(fd);
			return false;
		}
	}
	if (c->at_fd >= 0)
		close(c->at_fd);
	c->at_fd = fd;
	c->at_ino = l->cino;
	c->depth--;
	return true;
}

/* How many components at the begin of both are the same; *bytes: of these, without the last slash. */
static size_t common_part(const char *a, const char *b, size_t b_bytes, size_t *bytes)
{
	size_t i = 0, n = 0;

	*bytes = 0;
	for (;; i++) {
		bool a_ends = !a[i] || a[i] == '/', b_ends = i == b_bytes || b[i] == '/';

		if (a_ends && b_ends && i) {
			n++;
			*bytes = i;
		}
		if (!a[i] || i == b_bytes || a[i] != b[i])
			return n;
	}
}

/* Up to where the way to dir leaves the one that led here, or to the root of all if that is nearer. */
static int go_up(struct fc_cv *c, const char *dir, size_t bytes, size_t *have)
{
	size_t n = c->at ? common_part(c->at, dir, bytes, have) : 0, up = c->at ? c->depth - 1 - n : 1;

	while (c->at && up <= n && up && step_up(c))
		up--;
	if (!up)
		return 0;
	*have = 0;
	return start(c);
}

static int go(struct fc_cv *c, const char *dir, size_t bytes)
{
	size_t have = 0, n;
	char *want, *part;
	int r = 0;

	if (c->at && strlen(c->at) == bytes && !memcmp(c->at, dir, bytes))
		return 0;
	want = strndup(dir, bytes);
	if (!want)
		return FC_ENOMEM;
	r = go_up(c, want, bytes, &have);
	for (part = want + have + (have > 0); !r && have < bytes && *part; part += n) {
		char *end = strchr(part, '/');

		n = end ? (size_t)(end - part) + 1 : strlen(part);
		if (end)
			*end = '\0';
		r = step(c, part);
		if (end)
			*end = '/';
	}
	if (r) {
		free(want);
		fc_cv_place_forget(c);
		return r;
	}
	free(c->at);
	c->at = want;
	return 0;
}

int fc_cv_place(struct fc_cv *c, const char *path, const char **name)
{
	size_t bytes;

	*name = fc_cv_base(path, &bytes);
	return go(c, path, bytes);
}

int fc_cv_place_open(struct fc_cv *c, const char *path, const char **name)
{
	int r = fc_cv_place(c, path, name);

	if (!r && c->at_fd >= 0 && geteuid())
		fc_cv_open_up(c->at_fd);
	return r;
}

int fc_cv_place_dir(struct fc_cv *c, const char *dir)
{
	return go(c, dir, strlen(dir));
}
