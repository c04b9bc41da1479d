/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing out dirty pages: under the lock pages are chosen and given blocks,
 * without it they are sealed and written in long runs, and under it again the
 * tree learns where they are (MAP operations).
 */
#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "fs/file.h"

#define BATCH 1024u                           /* pages in one round */
#define RUN_PAGES (FC_BUFFER_BYTES / FC_UNIT) /* pages sealed into one write */

struct batch {
	struct fc_page *page[BATCH];
	const uint8_t *data[BATCH];
	uint8_t tags[BATCH][FC_TAG_BYTES];
	uint64_t block[BATCH]; /* where each page goes */
	size_t count;
	uint64_t nonce; /* of the first page; the others count up */
	uint32_t session;
	uint8_t *buf; /* RUN_PAGES of them */
};

static struct batch *batch_new(struct fc_fs *fs)
{
	struct batch *b = malloc(sizeof(*b));

	if (b)
		b->buf = fc_buffer_take(fs);
	if (b && !b->buf) {
		free(b);
		b = NULL;
	}
	return b;
}

static void batch_free(struct fc_fs *fs, struct batch *b)
{
	fc_buffer_give(fs, b->buf);
	free(b);
}

static int by_place(const void *a, const void *b)
{
	const struct fc_page *const *x = a, *const *y = b;

	if ((*x)->ino != (*y)->ino)
		return (*x)->ino < (*y)->ino ? -1 : 1;
	return (*x)->index < (*y)->index ? -1 : (*x)->index > (*y)->index;
}

/* Blocks and nonces for all pages of the batch; they become busy. Exclusive lock. */
static int prepare(struct fc_fs *fs, struct batch *b)
{
	size_t i = 0, k;
	int r = 0;

	qsort(b->page, b->count, sizeof(b->page[0]), by_place);
	while (i < b->count) {
		struct fc_range range;

		r = fc_space_alloc_data(&fs->forest, (uint32_t)(b->count - i), true, &range);
		if (r)
			break;
		for (k = 0; k < range.count; k++, i++)
			b->block[i] = range.start + k;
	}
	if (r == FC_ENOMEM && i) /* write what has a place */
		r = 0;
	b->count = i;
	for (i = 0; i < b->count; i++) {
		b->page[i]->busy = true;
		b->data[i] = b->page[i]->data;
	}
	b->session = fs->forest.session;
	b->nonce = atomic_fetch_add(&fs->forest.data_nonce, b->count);
	return r;
}

/* How many of the pages i..end lie one after the other. */
static size_t run_of(const struct batch *b, size_t i, size_t end)
{
	size_t n = 1;

	while (i + n < end && b->block[i + n] == b->block[i] + n)
		n++;
	return n;
}

/* The runs of the disk of one buffer are written at once: on a fragmented one they are
 * single blocks. */
static int seal(struct fc_fs *fs, struct batch *b)
{
	struct fc_io_part part[RUN_PAGES];
	size_t i, n, end, parts;
	int r = 0;

	for (i = 0; !r && i < b->count; i = end) {
		end = i + RUN_PAGES < b->count ? i + RUN_PAGES : b->count;
		r = fc_extent_seal(fs, (uint32_t)(end - i), b->session, b->nonce + i, &b->data[i], b->buf, b->tags[i]);
		for (n = i, parts = 0; n < end; n += part[parts++].n / FC_UNIT)
			part[parts] =
				fc_extent_part(b->block[n], (uint32_t)run_of(b, n, end), b->buf + (n - i) * FC_UNIT);
		if (!r)
			r = fc_io_write_parts(fs->io, part, parts);
	}
	return r;
}

/* Pages i..i+n of one file become one extent. */
static int map_run(struct fc_fs *fs, struct batch *b, size_t i, size_t n)
{
	uint8_t raw[FC_ITEM_MAX];
	struct fc_extent e = { b->page[i]->index, b->block[i], (uint32_t)n, b->session, b->nonce + i, b->tags[i] };
	struct fc_op op = { .kind = FC_OP_MAP, .ino = b->page[i]->ino, .off = e.file_block };
	int r;

	op.data = (struct fc_bytes){ raw, fc_extent_encode(&e, raw) };
	r = fc_apply_map(fs, &op);
	if (!r)
		fc_fs_record(fs, &op);
	return r;
}

static size_t run_length(const struct batch *b, size_t i)
{
	size_t n = 1;

	while (i + n < b->count && n < FC_EXTENT_UNITS && !b->page[i + n]->stale &&
	       b->page[i + n]->ino == b->page[i]->ino && b->page[i + n]->index == b->page[i]->index + n &&
	       b->block[i + n] == b->block[i] + n && b->block[i + n] % FC_CHUNK_BLOCKS)
		n++;
	return n;
}

/* Not written, or not mapped: the blocks are free again, the pages stay dirty. */
static void put_back(struct fc_fs *fs, struct batch *b, size_t i, size_t n)
{
	for (; n--; i++) {
		struct fc_range range = { b->block[i], 1 };

		fc_space_cancel(&fs->forest, &range);
		if (b->page[i]->stale) {
			fc_page_free(fs, b->page[i]);
		} else {
			b->page[i]->busy = false;
			fc_space_promise_again(&fs->forest, 1);
		}
	}
}

/* Exclusive lock. */
static int map_all(struct fc_fs *fs, struct batch *b, int error)
{
	size_t i, n, k;
	int r, first = error;

	for (i = 0; i < b->count; i += n) {
		n = error || b->page[i]->stale ? 1 : run_length(b, i);
		if (error || b->page[i]->stale) {
			put_back(fs, b, i, n);
			continue;
		}
		r = map_run(fs, b, i, n);
		if (r) {
			put_back(fs, b, i, n);
			first = first ? first : r;
			continue;
		}
		for (k = 0; k < n; k++)
			fc_page_free(fs, b->page[i + k]); /* mapping dropped them: they are stale */
	}
	return first;
}

/* One round on the chosen pages. flush_lock and the exclusive lock are held; the
 * latter is let go while sealing unless `locked`. */
static int round_trip(struct fc_fs *fs, struct batch *b, bool locked)
{
	int r;

	if (!b->count)
		return 0;
	r = prepare(fs, b);
	if (r) {
		put_back(fs, b, 0, b->count);
		return r;
	}
	if (!locked)
		pthread_rwlock_unlock(&fs->lock);
	r = seal(fs, b);
	if (!locked)
		pthread_rwlock_wrlock(&fs->lock);
	r = map_all(fs, b, r);
	pthread_mutex_lock(&fs->work_lock);
	pthread_cond_broadcast(&fs->room);
	pthread_mutex_unlock(&fs->work_lock);
	return r;
}

static void choose_oldest(struct fc_fs *fs, struct batch *b, size_t max, bool unlogged_only)
{
	struct fc_page *p;

	for (b->count = 0, p = fs->oldest.next; p != &fs->oldest && b->count < max && b->count < BATCH; p = p->next)
		if (!p->busy && (p->unlogged || !unlogged_only))
			b->page[b->count++] = p;
}

int fc_flush(struct fc_fs *fs, size_t max)
{
	struct batch *b;
	size_t before = SIZE_MAX;
	int r = 0;

	if (fs->read_only || fs->failed)
		return fs->failed ? FC_EIO : FC_EROFS;
	b = batch_new(fs);
	if (!b)
		return FC_ENOMEM;
	pthread_mutex_lock(&fs->flush_lock);
	pthread_rwlock_wrlock(&fs->lock);
	while (!r && max && fs->pages && fs->pages < before) {
		before = fs->pages;
		choose_oldest(fs, b, max, false);
		max -= b->count < max ? b->count : max;
		r = round_trip(fs, b, false);
	}
	pthread_rwlock_unlock(&fs->lock);
	pthread_mutex_unlock(&fs->flush_lock);
	batch_free(fs, b);
	return r;
}

int fc_flush_locked(struct fc_fs *fs, bool unlogged_only)
{
	struct batch *b;
	int r = 0;

	if (!(unlogged_only ? fs->unlogged : fs->pages))
		return 0;
	b = batch_new(fs);
	if (!b)
		return FC_ENOMEM;
	while (!r && (unlogged_only ? fs->unlogged : fs->pages)) {
		choose_oldest(fs, b, BATCH, unlogged_only);
		r = round_trip(fs, b, true);
	}
	batch_free(fs, b);
	return r;
}

int fc_flush_file(struct fc_fs *fs, uint64_t ino, uint64_t first, uint64_t end)
{
	struct batch *b;
	uint64_t next = first;
	int r = 0;

	if (fs->read_only || fs->failed)
		return fs->failed ? FC_EIO : FC_EROFS;
	b = batch_new(fs);
	if (!b)
		return FC_ENOMEM;
	pthread_mutex_lock(&fs->flush_lock);
	pthread_rwlock_wrlock(&fs->lock);
	while (!r && next < end && fc_data_pages(fs, ino)) {
		for (b->count = 0; next < end && b->count < BATCH; next++) {
			struct fc_page *p = fc_page_find(fs, ino, next);

			if (p)
				b->page[b->count++] = p;
		}
		r = round_trip(fs, b, false);
	}
	pthread_rwlock_unlock(&fs->lock);
	pthread_mutex_unlock(&fs->flush_lock);
	batch_free(fs, b);
	return r;
}

void fc_flush_throttle(struct fc_fs *fs)
{
	int tries;

	if (fs->pages < fs->dirty_limit || fs->failed || fs->read_only)
		return;
	if (!fs->threads) {
		(void)fc_flush(fs, SIZE_MAX);
		return;
	}
	/* not for ever: pages that cannot be written (EIO) must not stop everybody */
	for (tries = 0; tries < 50 && fs->pages >= fs->dirty_limit && !fs->failed; tries++) {
		struct timespec until;

		fc_threads_kick(fs, true, false);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += 100000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_mutex_lock(&fs->work_lock);
		if (fs->pages >= fs->dirty_limit && !fs->stop)
			pthread_cond_timedwait(&fs->room, &fs->work_lock, &until);
		pthread_mutex_unlock(&fs->work_lock);
	}
}
