/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/converter.h"

int fc_cv_item_of(struct fc_cv *c, const char *path, uint64_t ino, uint64_t nlink, struct fc_cv_item *item)
{
	struct fc_cv_group *g = nlink > 1 ? fc_cv_links_find(&c->links, ino) : NULL;
	size_t n = g ? g->count : 1;

	item->path = calloc(n, sizeof(*item->path));
	item->paths = item->path ? n : 0;
	if (!item->path)
		return FC_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		item->path[i] = strdup(g ? g->path[i] : path);
		if (!item->path[i])
			return FC_ENOMEM;
	}
	if (g)
		g->taken = true;
	return 0;
}

void fc_cv_item_free(struct fc_cv_item *item)
{
	for (size_t i = 0; i < item->paths; i++)
		free(item->path[i]);
	free(item->path);
	item->path = NULL;
	item->paths = 0;
}

int fc_cv_batch_add(struct fc_cv *c, struct fc_cv_item *item, uint64_t bytes)
{
	if (c->items == c->room) {
		size_t room = c->room ? c->room * 2 : 256;
		void *more = realloc(c->item, room * sizeof(*c->item));

		if (!more) {
			fc_cv_item_free(item);
			return FC_ENOMEM;
		}
		c->item = more;
		c->room = room;
	}
	c->item[c->items++] = *item;
	c->batch_bytes += bytes;
	return c->items >= FC_CV_BATCH_NAMES ? fc_cv_batch_end(c) : 0;
}

void fc_cv_batch_drop(struct fc_cv *c)
{
	for (size_t i = 0; i < c->items; i++)
		fc_cv_item_free(&c->item[i]);
	c->items = 0;
	c->batch_bytes = c->batch_room = 0;
}

int fc_cv_batch_room(struct fc_cv *c, uint64_t bytes)
{
	int r = 0;

	if (c->items && c->batch_bytes + bytes > c->batch_room)
		r = fc_cv_batch_end(c);
	return r || c->items ? r : fc_cv_budget(c);
}

void fc_cv_progress(struct fc_cv *c, uint64_t bytes, uint64_t names)
{
	c->moved_bytes += bytes;
	c->moved_names += names;
	if (c->options->progress)
		c->options->progress(c->options->arg, c->moved_bytes, c->moved_names);
}

/* ---- one file ---------------------------------------------------------------- */

int fc_cv_unlink_host(struct fc_cv *c, const char *path)
{
	const char *name;
	int r = fc_cv_place(c, path, &name);

	if (r || c->at_fd < 0)
		return r;
	if (geteuid())
		fc_cv_open_up(c->at_fd);
	return unlinkat(c->at_fd, name, 0) && errno != ENOENT ? fc_cv_errno(errno) : 0;
}

int fc_cv_unlink_container(struct fc_cv *c, const char *path)
{
	const char *name;
	int r = fc_cv_place(c, path, &name);

	if (r || !c->at_ino)
		return r;
	r = fc_fs_unlink(c->fs, c->at_ino, name);
	return r == FC_ENOENT ? 0 : r;
}

int fc_cv_open_file(struct fc_cv *c, const char *path)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	const char *name;
	int r = fc_cv_place(c, path, &name), fd;

	if (r)
		return r;
	fd = openat(c->at_fd, name, flags | O_NOATIME);
	if (fd < 0 && errno == EPERM)
		fd = openat(c->at_fd, name, flags);
	return fd < 0 ? fc_cv_errno(errno) : fd;
}

static int hash_side(struct fc_cv *c, const char *path, const struct fc_attr *attr, bool host, XXH128_hash_t *hash)
{
	int fd, r;

	if (!host)
		return fc_cv_hash_container(c, attr->ino, 0, attr->size, hash);
	fd = fc_cv_open_file(c, path);
	if (fd < 0)
		return fd;
	r = fc_cv_hash_host(c, fd, 0, attr->size, hash);
	close(fd);
	return r;
}

int fc_cv_compare(struct fc_cv *c, const char *path, const XXH128_hash_t *hash)
{
	bool in = c->journal->way == FC_CONVERT_IN;
	XXH128_hash_t from, to;
	struct fc_attr attr;
	const char *name;
	int r = fc_cv_place(c, path, &name);

	if (!r)
		r = c->at_ino ? fc_cv_lookup(c->fs, c->at_ino, name, &attr) : FC_ENOENT;
	if (r)
		return r == FC_ENOENT ? 0 : r;
	r = fc_cv_meta_same(c->fs, attr.ino, c->at_fd, name);
	if (r <= 0 || !S_ISREG(attr.mode))
		return r;
	if (hash)
		from = *hash;
	r = hash ? 0 : hash_side(c, path, &attr, in, &from);
	if (!r)
		r = hash_side(c, path, &attr, !in, &to);
	return r ? r : XXH128_isEqual(from, to);
}

/* ---- the end of a batch --------------------------------------------------------- */

static bool same_stat(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_nlink == b->st_nlink && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* 1: it is not as it was when it was read: the copy goes, and it is moved again. */
static int changed(struct fc_cv *c, const struct fc_cv_item *item)
{
	struct fc_cv_group *g;
	const char *name;
	struct stat st;
	int r = fc_cv_place(c, item->path[0], &name);

	if (r)
		return r;
	if (!fstatat(c->at_fd, name, &st, AT_SYMLINK_NOFOLLOW) && same_stat(&st, &item->st))
		return 0;
	fc_cv_note(c, FC_CONVERT_CHANGED, item->path[0], 0);
	for (size_t i = 0; !r && i < item->paths; i++)
		r = fc_cv_unlink_container(c, item->path[i]);
	g = fc_cv_links_find(&c->links, item->st.st_ino);
	if (g)
		g->taken = false;
	c->changed++;
	return r ? r : 1;
}

/* What was read back must be what was read at first. */
static int verify(struct fc_cv *c, const struct fc_cv_item *item, mode_t mode)
{
	int r = fc_cv_compare(c, item->path[0], S_ISREG(mode) ? &item->hash : NULL);

	return r < 0 ? r : r ? 0 : FC_EIO;
}

static int end_in(struct fc_cv *c)
{
	int r = fc_fs_commit(c->fs);

	if (r)
		return r;
	fc_cv_forget(c);
	for (size_t i = 0; !r && i < c->items; i++) {
		struct fc_cv_item *item = &c->item[i];

		if (fc_cv_stop(c))
			return FC_EINTERRUPTED;
		r = changed(c, item);
		if (r == 1) {
			r = 0;
			fc_cv_item_free(item);
			continue;
		}
		if (!r)
			r = verify(c, item, item->st.st_mode);
		if (r)
			return fc_cv_failed(c, item->path[0], r);
	}
	for (size_t i = 0; !r && i < c->items; i++) {
		struct fc_cv_item *item = &c->item[i];

		/* reading all of them back has taken a while */
		r = item->paths ? changed(c, item) : 0;
		if (r == 1) {
			r = 0;
			fc_cv_item_free(item);
			continue;
		}
		for (size_t k = 0; !r && k < item->paths; k++) {
			if (fc_cv_stop(c))
				return FC_EINTERRUPTED;
			r = fc_cv_unlink_host(c, item->path[k]);
			if (r)
				return fc_cv_failed(c, item->path[k], r);
		}
		if (item->paths)
			fc_cv_progress(c, (uint64_t)item->st.st_blocks * 512, item->paths);
	}
	return r;
}

static int end_out(struct fc_cv *c)
{
	int r = syncfs(c->host) ? fc_cv_errno(errno) : 0;

	for (size_t i = 0; !r && i < c->items; i++) {
		if (fc_cv_stop(c))
			return FC_EINTERRUPTED;
		r = verify(c, &c->item[i], c->item[i].attr.mode);
		if (r)
			return fc_cv_failed(c, c->item[i].path[0], r);
	}
	for (size_t i = 0; !r && i < c->items; i++) {
		struct fc_cv_item *item = &c->item[i];

		for (size_t k = 0; !r && k < item->paths; k++) {
			if (fc_cv_stop(c))
				return FC_EINTERRUPTED;
			r = fc_cv_unlink_container(c, item->path[k]);
			if (r)
				return fc_cv_failed(c, item->path[k], r);
		}
		fc_cv_progress(c, item->attr.blocks * 512, item->paths);
	}
	if (!r)
		r = fc_fs_commit(c->fs);
	return r ? r : fc_cv_give_back(c);
}

int fc_cv_batch_end(struct fc_cv *c)
{
	int r = 0;

	if (c->items)
		r = c->journal->way == FC_CONVERT_IN ? end_in(c) : end_out(c);
	fc_cv_batch_drop(c);
	return r;
}
