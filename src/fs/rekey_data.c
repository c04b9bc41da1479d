/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rekey's way through the extents: some are collected under the shared lock, opened
 * without it, given new blocks under the exclusive one, sealed and written without,
 * and put in the place of the old ones under it again, if these are still there.
 *
 * Blocks with several owners are sealed once: a table knows where they went, and the
 * next owner's extent refers to the same new blocks. The table lives as long as the
 * mount; beyond SHARED_MAX entries, and after an interruption, owners part.
 */
#include "fs/rekey.h"

#include <search.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "fs/file.h"

#define HAUL_UNITS (FC_BUFFER_BYTES / FC_UNIT)
#define HAUL_EXTENTS 16u
#define HAUL_NODES 128u     /* dirty nodes that putting them in place may make */
#define SCAN_ITEMS 4096u    /* looked at in one hold of the lock */
#define SHARED_MAX 1000000u /* entries */

/* Where blocks went that have, or had, several owners. */
struct moved {
	uint64_t old;         /* first block, */
	uint64_t old_nonce;   /* of what was sealed there: the blocks may be someone else's by now, */
	uint32_t old_session; /* with the old key still, when a file was moved there */
	uint32_t units;
	uint64_t ino, block;   /* the file's block that has the new ones, */
	uint64_t start, nonce; /* which are these, */
	uint32_t session;      /* sealed so */
};

/* Units of an extent that stay together. */
struct part {
	uint32_t units, session;
	bool fresh; /* its blocks are in flight; else another extent has them already */
	uint64_t start, nonce;
	uint64_t ino, block; /* the other one's */
};

struct haul {
	struct {
		uint64_t ino;
		struct fc_extent e; /* tags: the next */
		uint8_t tags[FC_EXTENT_UNITS * FC_TAG_BYTES];
		uint32_t unit; /* where its units are in buf and tags */
		uint32_t part, parts;
		bool shared, skip;
	} extent[HAUL_EXTENTS];
	unsigned count;
	uint32_t units;
	struct part part[HAUL_UNITS];
	uint32_t parts;
	uint8_t tags[HAUL_UNITS][FC_TAG_BYTES]; /* new ones */
	uint8_t *buf;
};

/* ---- the table of shared blocks -------------------------------------------------- */

/* Entries do not overlap; what overlaps one is it. */
static int by_blocks(const void *a, const void *b)
{
	const struct moved *x = a, *y = b;

	if (x->old + x->units <= y->old)
		return -1;
	return y->old + y->units <= x->old;
}

static const struct moved *find_moved(const struct fc_rekey *rk, uint64_t block)
{
	const struct moved key = { .old = block, .units = 1 };
	void *const *at = rk->shared ? tfind(&key, &rk->shared, by_blocks) : NULL;

	return at ? *at : NULL;
}

static void drop_moved(struct fc_rekey *rk, uint64_t block)
{
	struct moved *m = (struct moved *)(uintptr_t)find_moved(rk, block);

	if (!m)
		return;
	tdelete(m, &rk->shared, by_blocks);
	free(m);
	rk->shareds--;
}

static void add_moved(struct fc_rekey *rk, const struct moved *m)
{
	struct moved *copy = rk->shareds < SHARED_MAX ? malloc(sizeof(*copy)) : NULL;
	void *at;

	if (!copy)
		return;
	*copy = *m;
	at = tsearch(copy, &rk->shared, by_blocks);
	if (at && *(struct moved **)at == copy)
		rk->shareds++;
	else
		free(copy);
}

void fc_rekey_forget_shared(struct fc_rekey *rk)
{
	tdestroy(rk->shared, free);
	rk->shared = NULL;
	rk->shareds = 0;
}

/* ---- collecting -------------------------------------------------------------------- */

static struct fc_key after(struct fc_key key)
{
	if (key.off < UINT64_MAX)
		key.off++;
	else if (key.type < UINT8_MAX)
		key = fc_key(key.ino, (uint8_t)(key.type + 1), 0);
	else
		key = fc_key(key.ino + 1, 0, 0);
	return key;
}

/* Takes the extent if it is old. False: no room for it. */
static bool take(struct fc_fs *fs, struct haul *h, const struct fc_item *item)
{
	struct fc_extent e;

	if (item->key.type != FC_KEY_EXTENT || fc_extent_decode(&e, item))
		return true;
	if (e.session && e.session < fs->range.own) {
		fs->rekey.found = true;
		if (h->count == HAUL_EXTENTS || h->units + e.units > HAUL_UNITS)
			return false;
		h->extent[h->count].ino = item->key.ino;
		h->extent[h->count].e = e;
		h->extent[h->count].unit = h->units;
		h->extent[h->count].parts = 0;
		h->extent[h->count].shared = h->extent[h->count].skip = false;
		memcpy(h->extent[h->count].tags, e.tags, (size_t)e.units * FC_TAG_BYTES);
		h->extent[h->count].e.tags = h->extent[h->count].tags;
		h->units += e.units;
		h->count++;
	}
	if (!fc_extent_lost(&e))
		fs->rekey.seen += e.units;
	return true;
}

/* 1 there is more, 0 the end. *slot: a reader's, to be left. */
static int collect(struct fc_fs *fs, struct haul *h, unsigned *slot)
{
	struct fc_rekey *rk = &fs->rekey;
	struct fc_cursor c;
	struct fc_item item;
	unsigned n;
	int r;

	h->count = 0;
	h->units = h->parts = 0;
	fc_fs_rdlock(fs);
	r = fc_cursor_seek(&c, &fs->forest.files, rk->at, &item);
	for (n = 0; !r && n < SCAN_ITEMS && take(fs, h, &item); n++) {
		rk->at = after(item.key);
		r = fc_cursor_next(&c, &item);
	}
	*slot = fc_fs_enter(fs);
	fc_fs_rdunlock(fs);
	return r == FC_ENOENT ? 0 : r ? r : 1;
}

/* What cannot be opened stays where it is, and is told. */
static int open_old(struct fc_fs *fs, struct haul *h)
{
	unsigned i;

	for (i = 0; i < h->count; i++) {
		const struct fc_extent *e = &h->extent[i].e;
		int r = fc_extent_read(fs, e, 0, e->units, h->buf + (size_t)h->extent[i].unit * FC_UNIT);

		if (r == FC_ENOMEM)
			return r;
		if (!r)
			continue;
		fc_data_report(fs, h->extent[i].ino, e->file_block, r);
		h->extent[i].skip = true;
		fs->rekey.damaged = r == FC_EIO ? FC_EIO : FC_EFORGED;
	}
	return 0;
}

/* ---- new blocks ---------------------------------------------------------------------- */

/* Is what the entry tells of what the extent has there? */
static bool is_same(const struct moved *m, const struct fc_extent *e, uint32_t at)
{
	return m->old_session == e->session && m->old_nonce + (e->start + at - m->old) == e->nonce + at;
}

/* From unit `at` on, what went somewhere already, or how many units did not. */
static uint32_t moved_part(struct fc_rekey *rk, const struct fc_extent *e, uint32_t at, struct part *p)
{
	const struct moved *m = find_moved(rk, e->start + at);
	uint32_t n = 1, skip;

	if (m && !is_same(m, e, at)) {
		drop_moved(rk, e->start + at);
		m = NULL;
	}
	if (!m) {
		while (at + n < e->units && !find_moved(rk, e->start + at + n))
			n++;
		p->fresh = true;
		return n;
	}
	skip = (uint32_t)(e->start + at - m->old);
	n = m->units - skip < e->units - at ? m->units - skip : e->units - at;
	*p = (struct part){ n, m->session, false, m->start + skip, m->nonce + skip, m->ino, m->block + skip };
	return n;
}

static void cancel(struct fc_fs *fs, struct haul *h, unsigned i)
{
	uint32_t k;

	for (k = 0; k < h->extent[i].parts; k++) {
		const struct part *p = &h->part[h->extent[i].part + k];
		const struct fc_range range = { p->start, p->units };

		if (p->fresh)
			fc_space_cancel(&fs->forest, &range);
	}
	h->extent[i].parts = 0;
	h->extent[i].skip = true;
}

/* Exclusive lock. */
static int divide(struct fc_fs *fs, struct haul *h, unsigned i)
{
	const struct fc_extent *e = &h->extent[i].e;
	uint32_t at = 0;
	int r = fs->forest.space.shared ? fc_space_load_refs(&fs->forest, e->start, e->units) : 0;

	h->extent[i].part = h->parts;
	h->extent[i].parts = 0;
	if (!r)
		h->extent[i].shared = fc_space_is_shared(&fs->forest, e->start, e->units);
	while (!r && at < e->units) {
		struct part p = { .units = e->units - at, .fresh = true };
		struct fc_range range;

		/* the last owner's, too: others may have gone over */
		if (fs->rekey.shareds)
			p.units = moved_part(&fs->rekey, e, at, &p);
		if (p.fresh) {
			r = fc_space_alloc_data(&fs->forest, p.units, false, &range);
			if (r)
				break;
			p.start = range.start;
			p.units = range.count;
			p.session = fs->forest.session;
			p.nonce = atomic_fetch_add(&fs->forest.data_nonce, p.units);
		}
		h->part[h->parts++] = p;
		h->extent[i].parts++;
		at += p.units;
	}
	if (r)
		cancel(fs, h, i);
	return r;
}

/* Blocks for as many as there is room for; what gets none is left for another pass. */
static int place(struct fc_fs *fs, struct haul *h)
{
	unsigned i, placed = 0;
	int r = fc_fs_begin(fs, HAUL_NODES, false), e = 0;

	if (r)
		return r;
	for (i = 0; i < h->count; i++) {
		if (h->extent[i].skip)
			continue;
		r = e ? e : divide(fs, h, i);
		if (r) {
			h->extent[i].skip = fs->rekey.again = true;
			e = r;
		} else {
			placed++;
		}
	}
	fc_fs_end(fs);
	return placed ? 0 : e;
}

static int seal(struct fc_fs *fs, struct haul *h)
{
	const uint8_t *page[FC_EXTENT_UNITS];
	uint8_t *out = fc_buffer_take(fs);
	unsigned i;
	uint32_t k, u;
	int r = out ? 0 : FC_ENOMEM;

	for (i = 0; i < h->count && !r; i++) {
		uint32_t unit = h->extent[i].unit;

		for (k = 0; k < h->extent[i].parts && !r; k++) {
			const struct part *p = &h->part[h->extent[i].part + k];

			for (u = 0; u < p->units; u++)
				page[u] = h->buf + (size_t)(unit + u) * FC_UNIT;
			if (p->fresh)
				r = fc_extent_seal(fs, p->units, p->session, p->nonce, page, out, h->tags[unit]);
			if (p->fresh && !r)
				r = fc_extent_write(fs, p->start, p->units, out);
			unit += p->units;
		}
	}
	fc_buffer_give(fs, out);
	return r;
}

/* ---- in place of the old ones ---------------------------------------------------------- */

/* Are the blocks that another extent has still those that are known? Then its tags. */
static bool fetch(struct fc_fs *fs, const struct part *p, uint8_t *tags)
{
	struct fc_extent e;
	uint32_t skip;

	if (fc_extent_at(fs, p->ino, p->block, &e) || e.file_block > p->block || e.session != p->session)
		return false;
	skip = (uint32_t)(p->block - e.file_block);
	if (e.start + skip != p->start || e.nonce + skip != p->nonce || e.units - skip < p->units)
		return false;
	memcpy(tags, e.tags + (size_t)skip * FC_TAG_BYTES, (size_t)p->units * FC_TAG_BYTES);
	return !fc_space_load_refs(&fs->forest, p->start, p->units);
}

/* Is the extent as it was, and all that it shall refer to there? */
static bool stands(struct fc_fs *fs, struct haul *h, unsigned i)
{
	const struct fc_extent *e = &h->extent[i].e;
	uint32_t k, at = 0;
	struct fc_extent now;

	if (fc_map_load(fs, h->extent[i].ino, e->file_block, e->file_block + e->units) ||
	    fc_extent_at(fs, h->extent[i].ino, e->file_block, &now) || now.file_block != e->file_block ||
	    now.start != e->start || now.units != e->units || now.session != e->session || now.nonce != e->nonce)
		return false;
	for (k = 0; k < h->extent[i].parts; k++) {
		const struct part *p = &h->part[h->extent[i].part + k];

		if (!p->fresh && !fetch(fs, p, h->tags[h->extent[i].unit + at])) {
			drop_moved(&fs->rekey, e->start + at);
			return false;
		}
		at += p->units;
	}
	return true;
}

static void replace(struct fc_fs *fs, struct haul *h, unsigned i)
{
	const struct fc_extent *e = &h->extent[i].e;
	/* the count of its blocks stays as it is */
	struct fc_inode inode = { .ino = h->extent[i].ino, .blocks = e->units };
	uint32_t k, at = 0;

	fc_map_clear_range(fs, &inode, e->file_block, e->file_block + e->units);
	for (k = 0; k < h->extent[i].parts; k++) {
		const struct part *p = &h->part[h->extent[i].part + k];
		const struct fc_range range = { p->start, p->units };
		struct fc_extent next = { e->file_block + at, p->start, p->units,
					  p->session,         p->nonce, h->tags[h->extent[i].unit + at] };

		if (p->fresh)
			fc_space_landed(&fs->forest, &range);
		else
			fc_space_share(&fs->forest, p->start, p->units);
		fc_map_insert(fs, &inode, &next);
		if (p->fresh && h->extent[i].shared) {
			const struct moved m = { .old = e->start + at,
						 .old_nonce = e->nonce + at,
						 .old_session = e->session,
						 .units = p->units,
						 .ino = inode.ino,
						 .block = next.file_block,
						 .start = p->start,
						 .nonce = p->nonce,
						 .session = p->session };

			add_moved(&fs->rekey, &m);
		}
		at += p->units;
	}
	fs->rekey.moved += e->units;
}

static void mark_dirty(struct fc_fs *fs)
{
	bool first = !fs->dirty_root;

	fs->dirty_root = true;
	if (first && fs->threads)
		fc_threads_kick(fs, false, false);
}

static int put_in_place(struct fc_fs *fs, struct haul *h, int error)
{
	unsigned i;
	int r = error ? error : fc_fs_begin(fs, HAUL_NODES, false);
	bool begun = !r;

	if (r)
		pthread_rwlock_wrlock(&fs->lock);
	for (i = 0; i < h->count; i++) {
		if (!r && !h->extent[i].skip && stands(fs, h, i)) {
			replace(fs, h, i);
			mark_dirty(fs);
		} else if (!h->extent[i].skip) {
			cancel(fs, h, i);
			fs->rekey.again = true;
		}
	}
	if (begun)
		fc_fs_end(fs);
	else
		pthread_rwlock_unlock(&fs->lock);
	return r;
}

int fc_rekey_data(struct fc_fs *fs)
{
	struct haul *h = malloc(sizeof(*h));
	struct fc_key from = fs->rekey.at;
	uint64_t seen = fs->rekey.seen;
	unsigned slot;
	int r = FC_ENOMEM, more = 0;

	if (h)
		h->buf = fc_buffer_take(fs);
	if (h && h->buf) {
		more = r = collect(fs, h, &slot);
		if (r >= 0)
			r = open_old(fs, h);
		fc_fs_leave(fs, slot);
		if (!r && h->count)
			r = place(fs, h);
		else
			h->count = 0;
		if (!r && h->count)
			r = put_in_place(fs, h, seal(fs, h));
	}
	if (h && h->buf) {
		sodium_memzero(h->buf, FC_BUFFER_BYTES);
		fc_buffer_give(fs, h->buf);
	}
	free(h);
	if (r < 0) { /* what was collected is met again */
		fs->rekey.at = from;
		fs->rekey.seen = seen;
	}
	return r < 0 ? r : more;
}
