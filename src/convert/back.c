/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The second hand: what a batch that is durable is compared with, and how it is taken away where it
 * came from. It runs beside the first hand, which copies the next batch meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "convert/converter.h"

struct fc_cv_back {
	struct fc_cv c;
	pthread_t thread;
	bool busy, threaded; /* it has a batch; it is a thread that works on that */
	int result;
};

void fc_cv_progress(struct fc_cv *c, uint64_t bytes, uint64_t names)
{
	struct fc_cv *f = c->first;

	pthread_mutex_lock(&f->told);
	f->moved_bytes += bytes;
	f->moved_names += names;
	if (f->options->progress)
		f->options->progress(f->options->arg, f->moved_bytes, f->moved_names);
	pthread_mutex_unlock(&f->told);
}

/* ---- one file ---------------------------------------------------------------- */

int fc_cv_unlink_host(struct fc_cv *c, const char *path)
{
	const char *name;
	int r = fc_cv_place_open(c, path, &name);

	if (r || c->at_fd < 0)
		return r;
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

static int hash_side(struct fc_cv *c, const char *path, uint64_t ino, uint64_t from, uint64_t to, bool host,
		     XXH128_hash_t *hash)
{
	int fd, r;

	if (!host)
		return fc_cv_hash_container(c, ino, from, to, hash);
	fd = fc_cv_open_file(c, path);
	if (fd < 0)
		return fd;
	r = fc_cv_hash_host(c, fd, from, to, hash);
	close(fd);
	return r;
}

int fc_cv_compare(struct fc_cv *c, const char *path, const struct fc_cv_item *part)
{
	bool in = c->journal->way == FC_CONVERT_IN;
	uint64_t from = part ? part->from : 0;
	XXH128_hash_t was, is;
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
	if (part)
		was = part->hash;
	r = part ? 0 : hash_side(c, path, attr.ino, from, attr.size, in, &was);
	if (!r)
		r = hash_side(c, path, attr.ino, from, attr.size, !in, &is);
	return r ? r : XXH128_isEqual(was, is);
}

/* ---- the end of a batch --------------------------------------------------------- */

bool fc_cv_same_stat(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_nlink == b->st_nlink && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* 1: it is not as it was when it was read. */
static int changed(struct fc_cv *c, const struct fc_cv_item *item)
{
	const char *name;
	struct stat st;
	int r = fc_cv_place(c, item->path[0], &name);

	if (r)
		return r;
	return fstatat(c->at_fd, name, &st, AT_SYMLINK_NOFOLLOW) || !fc_cv_same_stat(&st, &item->st);
}

/* The same for all that may be changed: what the container holds nobody changes. */
static int look_again(struct fc_cv *c, struct fc_cv_item *item)
{
	int r = c->journal->way == FC_CONVERT_IN ? changed(c, item) : 0;

	if (r == 1) {
		fc_cv_note(c, FC_CONVERT_CHANGED, item->path[0], 0);
		item->changed = true;
	}
	return r < 0 ? r : 0;
}

/* What was read back must be what was read at first. */
static int verify(struct fc_cv *c, const struct fc_cv_item *item)
{
	bool in = c->journal->way == FC_CONVERT_IN;
	XXH128_hash_t is;
	int r;

	if (!item->more) {
		r = fc_cv_compare(c, item->path[0], item);
	} else {
		r = hash_side(c, item->path[0], item->attr.ino, item->from, item->to, !in, &is);
		if (!r)
			r = XXH128_isEqual(item->hash, is);
	}
	return r < 0 ? r : r ? 0 : FC_EIO;
}

static int check_one(struct fc_cv *c, struct fc_cv_item *item)
{
	int r = item->more ? 0 : look_again(c, item);

	if (!r && !item->changed)
		r = verify(c, item);
	return r ? fc_cv_failed(c, item->path[0], r) : 0;
}

static int take_away(struct fc_cv *c, struct fc_cv_item *item)
{
	bool in = c->journal->way == FC_CONVERT_IN;
	int r = 0;

	if (!item->more && !item->changed)
		r = look_again(c, item); /* reading all of them back has taken a while */
	if (r)
		return fc_cv_failed(c, item->path[0], r);
	if (item->changed)
		return 0;
	for (size_t k = 0; !item->more && k < item->paths; k++) {
		if (fc_cv_stop(c))
			return FC_EINTERRUPTED;
		r = in ? fc_cv_unlink_host(c, item->path[k]) : fc_cv_unlink_container(c, item->path[k]);
		if (r)
			return fc_cv_failed(c, item->path[k], r);
	}
	fc_cv_progress(c, item->bytes, item->more ? 0 : item->paths);
	return 0;
}

static int finish(struct fc_cv *c)
{
	int r = 0;

	for (size_t i = 0; !r && i < c->batch.items; i++)
		r = fc_cv_stop(c) ? FC_EINTERRUPTED : check_one(c, &c->batch.item[i]);
	for (size_t i = 0; !r && i < c->batch.items; i++)
		r = take_away(c, &c->batch.item[i]);
	if (r || c->journal->way == FC_CONVERT_IN)
		return r;
	r = fc_fs_commit(c->fs);
	return r ? r : fc_cv_give_back(c);
}

static void *work(void *arg)
{
	struct fc_cv_back *b = arg;

	b->result = finish(&b->c);
	return NULL;
}

/* ---- handing over ----------------------------------------------------------------- */

static struct fc_cv_back *back_of(struct fc_cv *c)
{
	struct fc_cv_back *b = c->back;

	if (!b) {
		b = c->back = calloc(1, sizeof(*b));
		if (!b)
			return NULL;
		fc_cv_init(&b->c, c->fs, c->staging, c->journal, c->options);
		b->c.first = c;
	}
	b->c.host = c->host;
	return fc_cv_alloc(&b->c) ? NULL : b;
}

int fc_cv_back_start(struct fc_cv *c)
{
	struct fc_cv_back *b = back_of(c);
	struct fc_cv_batch batch;

	if (!b)
		return FC_ENOMEM;
	batch = b->c.batch;
	b->c.batch = c->batch;
	batch.most = c->batch.most;
	c->batch = batch;
	b->busy = true;
	b->threaded = !pthread_create(&b->thread, NULL, work, b);
	if (!b->threaded)
		work(b);
	return 0;
}

bool fc_cv_back_busy(const struct fc_cv *c)
{
	return c->back && c->back->busy;
}

/* The copy goes, and it is moved again. */
static int again(struct fc_cv *c, const struct fc_cv_item *item)
{
	struct fc_cv_group *g = fc_cv_links_find(&c->links, item->st.st_ino);
	int r = 0;

	for (size_t i = 0; !r && i < item->paths; i++)
		r = fc_cv_unlink_container(c, item->path[i]);
	if (g)
		g->taken = false;
	c->changed++;
	return r;
}

int fc_cv_back_join(struct fc_cv *c)
{
	struct fc_cv_back *b = c->back;
	int r;

	if (!fc_cv_back_busy(c))
		return 0;
	if (b->threaded)
		pthread_join(b->thread, NULL);
	b->busy = false;
	r = b->result;
	for (size_t i = 0; !r && i < b->c.batch.items; i++)
		if (b->c.batch.item[i].changed)
			r = again(c, &b->c.batch.item[i]);
	fc_cv_batch_drop(&b->c.batch);
	return r;
}

void fc_cv_back_free(struct fc_cv *c)
{
	if (!c->back)
		return;
	(void)fc_cv_back_join(c);
	fc_cv_fini(&c->back->c);
	free(c->back);
	c->back = NULL;
}
