/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "convert/converter.h"

/* Names in it can be made, also where its owner wanted none. */
static int place_writable(struct fc_cv *c, const char *path, const char **name)
{
	int r = fc_cv_place_open(c, path, name);

	return !r && c->at_fd < 0 ? FC_ENOENT : r;
}

static int make_first(struct fc_cv *c, const struct fc_cv_item *item, const char *name, int *fd)
{
	char target[FC_SYMLINK_MAX + 1];
	int r;

	if (S_ISREG(item->attr.mode)) {
		*fd = openat(c->at_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOATIME, 0600);
		return *fd < 0 ? fc_cv_errno(errno) : 0;
	}
	if (S_ISLNK(item->attr.mode)) {
		r = fc_fs_readlink(c->fs, item->attr.ino, target);
		if (r)
			return r;
		return symlinkat(target, c->at_fd, name) ? fc_cv_errno(errno) : 0;
	}
	return mknodat(c->at_fd, name, (item->attr.mode & S_IFMT) | 0600, item->attr.rdev) ? fc_cv_errno(errno) : 0;
}

int fc_cv_make_out(struct fc_cv *c, const struct fc_cv_item *item, int *fd)
{
	const char *first, *name;
	int r = place_writable(c, item->path[0], &first), dir;

	*fd = -1;
	if (!r)
		r = make_first(c, item, first, fd);
	if (r || item->paths == 1)
		return r;
	dir = fcntl(c->at_fd, F_DUPFD_CLOEXEC, 3);
	for (size_t i = 1; !r && i < item->paths; i++) {
		r = place_writable(c, item->path[i], &name);
		if (!r && linkat(dir, first, c->at_fd, name, 0))
			r = fc_cv_errno(errno);
	}
	if (dir >= 0)
		close(dir);
	return r;
}

static int make(struct fc_cv *c, struct fc_cv_item *item, int *fd)
{
	return fc_cv_make_out(c, item, fd);
}

static int copy(struct fc_cv *c, struct fc_cv_item *item, int fd, uint64_t most)
{
	return fc_cv_copy_out(c, item->attr.ino, fd, item->from, &item->to, most, &item->hash);
}

static int dress(struct fc_cv *c, const struct fc_cv_item *item, int fd)
{
	const char *name;
	int r = fd >= 0 && ftruncate(fd, (off_t)item->attr.size) ? fc_cv_errno(errno) : 0;

	if (!r)
		r = fc_cv_place(c, item->path[0], &name);
	return r ? r : fc_cv_meta_out(c->fs, item->attr.ino, &item->attr, c->at_fd, name);
}

static void undo(struct fc_cv *c, const struct fc_cv_item *item)
{
	for (size_t i = 0; i < item->paths; i++)
		(void)fc_cv_unlink_host(c, item->path[i]);
}

static bool may_split(const struct fc_cv_item *item, int fd)
{
	(void)fd;
	return S_ISREG(item->attr.mode);
}

static const struct fc_cv_way out = {
	.make = make,
	.copy = copy,
	.dress = dress,
	.undo = undo,
	.may_split = may_split,
	.split = fc_cv_split_out,
};

int fc_cv_move_out(struct fc_cv *c, const char *path, const struct fc_cv_name *entry)
{
	struct fc_cv_group *g = fc_cv_links_find(&c->links, entry->ino);
	struct fc_cv_item item = { 0 };
	const char *name;
	int r;

	if (g && g->taken)
		return 0;
	r = fc_cv_place(c, path, &name);
	if (!r)
		r = c->at_ino ? fc_cv_lookup(c->fs, c->at_ino, name, &item.attr) : FC_ENOENT;
	if (r)
		return r == FC_ENOENT ? 0 : fc_cv_failed(c, path, r);
	r = fc_cv_item_of(c, path, item.attr.ino, item.attr.nlink, &item);
	item.to = item.attr.size;
	item.bytes = item.attr.blocks * 512;
	if (!r)
		return fc_cv_move(c, &out, &item, -1);
	fc_cv_item_free(&item);
	return r;
}
