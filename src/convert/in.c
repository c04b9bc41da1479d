/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "convert/converter.h"

static int make_first(struct fc_cv *c, const struct fc_cv_item *item, uint64_t *ino)
{
	const struct fc_cred cred = { .uid = item->st.st_uid, .gid = item->st.st_gid };
	char target[FC_SYMLINK_MAX + 1];
	struct fc_attr attr;
	const char *name;
	int r = fc_cv_place(c, item->path[0], &name);

	if (!r && !c->at_ino)
		r = FC_ENOENT;
	if (r)
		return r;
	if (S_ISLNK(item->st.st_mode)) {
		ssize_t n = readlinkat(c->at_fd, name, target, sizeof(target));

		if (n < 0 || n >= (ssize_t)sizeof(target))
			return n < 0 ? fc_cv_errno(errno) : FC_ENAMETOOLONG;
		target[n] = '\0';
		r = fc_fs_symlink(c->fs, c->at_ino, name, &cred, target, &attr);
	} else {
		r = fc_fs_mknod(c->fs, c->at_ino, name, &cred, item->st.st_mode, item->st.st_rdev, &attr);
	}
	if (r)
		return r;
	fc_fs_forget(c->fs, attr.ino, 1);
	*ino = attr.ino;
	return 0;
}

int fc_cv_make_in(struct fc_cv *c, const struct fc_cv_item *item, uint64_t *ino)
{
	int r = make_first(c, item, ino);

	for (size_t i = 1; !r && i < item->paths; i++) {
		struct fc_attr attr;
		const char *name;

		r = fc_cv_place(c, item->path[i], &name);
		if (!r)
			r = fc_fs_link(c->fs, *ino, c->at_ino, name, &attr);
		if (!r)
			fc_fs_forget(c->fs, attr.ino, 1);
	}
	return r;
}

static int make(struct fc_cv *c, struct fc_cv_item *item, int *fd)
{
	(void)fd;
	return fc_cv_make_in(c, item, &item->attr.ino);
}

static int copy(struct fc_cv *c, struct fc_cv_item *item, int fd, uint64_t most)
{
	return fc_cv_copy_in(c, fd, item->attr.ino, item->from, &item->to, most, &item->hash);
}

static int dress(struct fc_cv *c, const struct fc_cv_item *item, int fd)
{
	const struct fc_setattr size = { .valid = FC_SET_SIZE, .size = (uint64_t)item->st.st_size };
	struct fc_attr attr;
	const char *name;
	int r = fd >= 0 ? fc_fs_setattr(c->fs, item->attr.ino, &size, &attr) : 0;

	if (!r)
		r = fc_cv_place(c, item->path[0], &name);
	return r ? r : fc_cv_meta_in(c->fs, c->at_fd, name, &item->st, item->attr.ino);
}

static void undo(struct fc_cv *c, const struct fc_cv_item *item)
{
	for (size_t i = 0; i < item->paths; i++)
		(void)fc_cv_unlink_container(c, item->path[i]);
}

static bool may_split(const struct fc_cv_item *item, int fd)
{
	return fd >= 0 && item->paths == item->st.st_nlink && !fc_cv_shared(fd);
}

static const struct fc_cv_way in = {
	.make = make,
	.copy = copy,
	.dress = dress,
	.undo = undo,
	.may_split = may_split,
	.split = fc_cv_split_in,
};

int fc_cv_move_in(struct fc_cv *c, const char *path, const struct fc_cv_name *entry)
{
	struct fc_cv_group *g = fc_cv_links_find(&c->links, entry->ino);
	struct fc_cv_item item = { 0 };
	const char *name;
	int fd = -1, r;

	if (g && g->taken)
		return 0;
	r = fc_cv_place(c, path, &name);
	if (r || c->at_fd < 0)
		return r;
	if (fstatat(c->at_fd, name, &item.st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : fc_cv_failed(c, path, fc_cv_errno(errno));
	if (S_ISREG(item.st.st_mode)) {
		fd = fc_cv_open_file(c, path);
		if (fd == FC_EACCESS && c->options->skip) {
			fc_cv_note(c, FC_CONVERT_SKIPPED, path, fd);
			return 0;
		}
		if (fd < 0)
			return fc_cv_failed(c, path, fd);
	}
	item.to = (uint64_t)item.st.st_size;
	item.bytes = (uint64_t)item.st.st_blocks * 512;
	r = fc_cv_item_of(c, path, item.st.st_ino, item.st.st_nlink, &item);
	if (r)
		fc_cv_item_free(&item);
	else
		r = fc_cv_move(c, &in, &item, fd);
	if (fd >= 0)
		close(fd);
	return r;
}
