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
}

static int start(struct fc_cv *c)
{
	fc_cv_place_forget(c);
	c->at = strdup("");
	if (!c->at)
		return FC_ENOMEM;
	c->at_ino = c->fs ? FC_INO_ROOT : 0;
	c->at_fd = c->host < 0 ? -1 : fcntl(c->host, F_DUPFD_CLOEXEC, 3);
	return c->host >= 0 && c->at_fd < 0 ? fc_cv_errno(errno) : 0;
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
	return 0;
}

static int go(struct fc_cv *c, const char *dir, size_t bytes)
{
	size_t have = c->at ? strlen(c->at) : 0, n;
	char *want, *part;
	int r = 0;

	if (c->at && have == bytes && !memcmp(c->at, dir, bytes))
		return 0;
	if (!c->at || bytes < have || memcmp(c->at, dir, have) || (have && dir[have] != '/')) {
		r = start(c);
		have = 0;
	}
	want = strndup(dir, bytes);
	if (!want)
		return FC_ENOMEM;
	for (part = want + have + (have > 0); !r && *part; part += n) {
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

int fc_cv_place_dir(struct fc_cv *c, const char *dir)
{
	return go(c, dir, strlen(dir));
}
