/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a container shows, against what was put into it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "box.h"
#include "content.h"

#define PIECE (1u << 20)

struct look {
	const struct box *box;
	struct fc_fs *fs;
	const struct box_file *file;
	char *why;
	unsigned met;
};

static void say(struct look *l, unsigned what, const char *text, int64_t a, int64_t b)
{
	if (!(l->met & (BOX_WRONG | BOX_CHANGED)) && l->why)
		snprintf(l->why, 128, "%s (%lld, %lld)", text, (long long)a, (long long)b);
	l->met |= what;
}

/* An error that damage may cause; any other is wrong. */
static void met_error(struct look *l, unsigned what, int error)
{
	if (error == FC_EFORGED || error == FC_ECORRUPT || error == FC_EIO)
		l->met |= what;
	else if (error == FC_ENOENT || error == FC_ENODATA || error == FC_ESTALE)
		l->met |= BOX_MISSING;
	else
		say(l, BOX_WRONG, "an error of the wrong kind", error, what);
}

unsigned box_find(struct fc_fs *fs, const struct box_file *file, char *why)
{
	struct look l = { .fs = fs, .file = file, .why = why };
	const char *path = file->path;
	uint64_t ino = FC_INO_ROOT;

	while (*path) {
		const char *slash = strchr(path, '/');
		size_t n = slash ? (size_t)(slash - path) : strlen(path);
		char part[FC_NAME_MAX + 1] = "";
		struct fc_attr attr;
		int r;

		memcpy(part, path, n);
		r = fc_fs_lookup(fs, ino, part, &attr);
		if (r) {
			met_error(&l, BOX_NAME, r);
			return l.met;
		}
		ino = attr.ino;
		fc_fs_forget(fs, ino, 1);
		path += n + (slash != NULL);
	}
	if (ino != file->ino)
		say(&l, BOX_WRONG, "another inode", (int64_t)ino, (int64_t)file->ino);
	return l.met;
}

static void look_attr(struct look *l, uint64_t ino)
{
	const struct box_file *f = l->file;
	struct fc_attr attr;
	int r = fc_fs_getattr(l->fs, ino, &attr);

	if (r) {
		met_error(l, BOX_ATTR, r);
		return;
	}
	if (attr.mode != f->mode)
		say(l, BOX_CHANGED, "mode", attr.mode, f->mode);
	if (f->nlink && attr.nlink != f->nlink)
		say(l, BOX_CHANGED, "links", attr.nlink, f->nlink);
	if (!S_ISDIR(f->mode) && attr.size != f->size)
		say(l, BOX_CHANGED, "size", (int64_t)attr.size, (int64_t)f->size);
	if (attr.uid != 1000 || attr.gid != 100 || attr.mtime.sec != 1700000000)
		say(l, BOX_CHANGED, "owner or time", attr.uid, attr.mtime.sec);
	if (S_ISCHR(f->mode) && attr.rdev != f->rdev)
		say(l, BOX_WRONG, "device", (int64_t)attr.rdev, 0);
}

/* Each block is right, or an error. */
static void look_blocks(struct look *l, uint64_t ino, uint64_t at, uint64_t end)
{
	for (; at < end; at += FC_BLOCK) {
		uint8_t got[FC_BLOCK], want[FC_BLOCK];
		size_t n, left = end - at < FC_BLOCK ? (size_t)(end - at) : FC_BLOCK;
		int r = fc_fs_read(l->fs, ino, at, left, got, &n);

		if (r) {
			met_error(l, BOX_DATA, r);
			continue;
		}
		content_fill(l->file->seed, l->file->holes, at, n, want);
		if (memcmp(got, want, n))
			say(l, BOX_WRONG, "content at", (int64_t)at, 0);
	}
}

static void look_data(struct look *l, uint64_t ino)
{
	static uint8_t got[PIECE], want[PIECE];
	uint64_t at;

	for (at = 0; at < l->file->size; at += PIECE) {
		size_t n, left = l->file->size - at < PIECE ? (size_t)(l->file->size - at) : PIECE;

		if (fc_fs_read(l->fs, ino, at, left, got, &n)) {
			look_blocks(l, ino, at, at + left);
			continue;
		}
		content_fill(l->file->seed, l->file->holes, at, n, want);
		if (memcmp(got, want, n))
			look_blocks(l, ino, at, at + n);
		if (n != left)
			say(l, BOX_CHANGED, "bytes", (int64_t)n, (int64_t)left);
	}
}

static void look_target(struct look *l, uint64_t ino)
{
	char got[FC_SYMLINK_MAX + 1];
	int r = fc_fs_readlink(l->fs, ino, got);

	if (r)
		met_error(l, BOX_DATA, r);
	else if (strcmp(got, l->file->target))
		say(l, BOX_WRONG, "target", 0, 0);
}

static void look_xattr(struct look *l, uint64_t ino, const char *name, uint64_t seed, size_t bytes)
{
	static uint8_t got[CONTENT_BIG], want[CONTENT_BIG];
	ssize_t n = fc_fs_getxattr(l->fs, ino, name, got, sizeof(got));

	if (n < 0) {
		met_error(l, BOX_XATTR, (int)n);
		return;
	}
	content_fill(seed, false, 0, bytes, want);
	if ((size_t)n != bytes || memcmp(got, want, bytes))
		say(l, BOX_WRONG, name, n, (int64_t)bytes);
}

static void look_xattrs(struct look *l, uint64_t ino)
{
	size_t names =
		(l->file->small ? sizeof(CONTENT_SMALL_NAME) : 0) + (l->file->big ? sizeof(CONTENT_BIG_NAME) : 0);
	ssize_t n = fc_fs_listxattr(l->fs, ino, NULL, 0);

	if (n < 0)
		met_error(l, BOX_XATTR, (int)n);
	else if ((size_t)n > names)
		say(l, BOX_WRONG, "attributes", n, (int64_t)names);
	else if ((size_t)n < names)
		l->met |= BOX_MISSING;
	if (l->file->small)
		look_xattr(l, ino, CONTENT_SMALL_NAME, l->file->small, CONTENT_SMALL);
	if (l->file->big)
		look_xattr(l, ino, CONTENT_BIG_NAME, l->file->big, CONTENT_BIG);
}

/* ---- directories ------------------------------------------------------------------- */

struct listing {
	const struct box *box;
	const char *dir;
	int state;
	size_t known, strangers;
	char *why;
	uint64_t next;
};

static bool is_known(const struct listing *g, const char *name)
{
	size_t n = strlen(g->dir), i;

	for (i = 0; i < g->box->files; i++) {
		const struct box_file *f = &g->box->file[i];

		if (box_has(f, g->state) && content_is_in(f->path, g->dir) && !strcmp(f->path + n + (n > 0), name))
			return true;
	}
	return false;
}

static int take_name(void *arg, const char *name, uint64_t ino, uint32_t type, uint64_t next_off,
		     const struct fc_attr *attr)
{
	struct listing *g = arg;

	(void)ino;
	(void)type;
	(void)attr;
	g->next = next_off;
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	if (is_known(g, name)) {
		g->known++;
	} else if (strncmp(name, "lost+found", 10)) {
		if (g->why && !g->strangers)
			snprintf(g->why, 128, "a name that was not there: %.60s", name);
		g->strangers++;
	}
	return 0;
}

static size_t expected_names(const struct box *box, const char *dir, int state)
{
	size_t n = 0, i;

	for (i = 0; i < box->files; i++)
		n += box_has(&box->file[i], state) && content_is_in(box->file[i].path, dir);
	return n;
}

static int list(struct fc_fs *fs, uint64_t ino, struct listing *g)
{
	uint64_t before;
	int r;

	do {
		before = g->next;
		r = fc_fs_readdir(fs, ino, before, false, take_name, g);
	} while (!r && g->next != before);
	return r;
}

static void look_names(struct look *l, uint64_t ino, const char *dir, int state)
{
	struct listing g = { .box = l->box, .dir = dir, .state = state, .why = l->why };
	int r = list(l->fs, ino, &g);

	if (g.strangers)
		l->met |= BOX_WRONG;
	if (r)
		met_error(l, BOX_LIST, r);
	else if (g.known != expected_names(l->box, dir, state))
		l->met |= BOX_MISSING;
}

unsigned box_look(const struct box *box, struct fc_fs *fs, const struct box_file *file, int state, char *why)
{
	struct look l = { .box = box, .fs = fs, .file = file, .why = why };

	look_attr(&l, file->ino);
	if (l.met & (BOX_ATTR | BOX_MISSING | BOX_WRONG))
		return l.met;
	if (S_ISREG(file->mode))
		look_data(&l, file->ino);
	else if (S_ISLNK(file->mode))
		look_target(&l, file->ino);
	else if (S_ISDIR(file->mode))
		look_names(&l, file->ino, file->path, state);
	look_xattrs(&l, file->ino);
	return l.met;
}
