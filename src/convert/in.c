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

static int copy(struct fc_cv *c, struct fc_cv_item *item, int fd)
{
	const struct fc_setattr size = { .valid = FC_SET_SIZE, .size = (uint64_t)item->st.st_size };
	struct fc_attr attr;
	const char *name;
	uint64_t ino = 0;
	int r = fc_cv_make_in(c, item, &ino);

	if (!r && fd >= 0) {
		r = fc_cv_copy_in(c, fd, ino, 0, size.size, &item->hash);
		if (!r)
			r = fc_fs_setattr(c->fs, ino, &size, &attr);
	}
	if (!r)
		r = fc_cv_place(c, item->path[0], &name);
	if (!r)
		r = fc_cv_meta_in(c->fs, c->at_fd, name, &item->st, ino);
	return r;
}

static void uncopy(struct fc_cv *c, const struct fc_cv_item *item)
{
	for (size_t i = 0; i < item->paths; i++)
		(void)fc_cv_unlink_container(c, item->path[i]);
}

/* May its space be taken from its end, so that it comes back at once? */
static bool may_cut(const struct fc_cv_item *item, int fd)
{
	return item->paths == item->st.st_nlink && !fc_cv_shared(fd);
}

static int move(struct fc_cv *c, struct fc_cv_item *item, int fd)
{
	uint64_t bytes = (uint64_t)item->st.st_blocks * 512;
	int r = fc_cv_batch_room(c, bytes);

	if (!r && fd >= 0 && bytes > c->file_room && may_cut(item, fd)) {
		r = fc_cv_batch_end(c);
		if (!r)
			r = fc_cv_split_in(c, item);
		fc_cv_item_free(item);
		return r;
	}
	if (!r)
		r = copy(c, item, fd);
	if (r == FC_ENOSPC && c->items) {
		/* what the batch deletes makes room */
		uncopy(c, item);
		r = fc_cv_batch_end(c);
		if (!r)
			r = copy(c, item, fd);
	}
	if (r && r != FC_EINTERRUPTED)
		uncopy(c, item);
	if (r) {
		fc_cv_failed(c, item->path[0], r);
		fc_cv_item_free(item);
		return r;
	}
	return fc_cv_batch_add(c, item, bytes);
}

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
	r = fc_cv_item_of(c, path, item.st.st_ino, item.st.st_nlink, &item);
	if (r)
		fc_cv_item_free(&item);
	else
		r = move(c, &item, fd);
	if (fd >= 0)
		close(fd);
	return r;
}
