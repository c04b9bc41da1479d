/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which blocks are in use. A chunk is FC_CHUNK_BLOCKS blocks and holds either
 * file data or tree nodes. In memory, a bit is set while its block is in use,
 * pending or in flight; on disk, in-flight blocks are free (nothing refers to
 * them) and pending ones are in use and listed in PENDING items.
 */
#include "tree/forest.h"

#include <assert.h>
#include <stdlib.h>

#include "tree/space_map.h"
#include "util/le.h"

#define GOOD_CHUNK 256u /* free blocks that make a chunk worth filling again */
#define AHEAD_MAX 16u   /* chunks: each call waits for the writes under way on some hosts */
#define CAP_CHUNKS 4u   /* no cap leaves less than these */

struct fc_chunk *fc_space_chunk(struct fc_space *s, uint64_t block)
{
	uint64_t chunk = block / FC_CHUNK_BLOCKS;

	return chunk < s->first_chunk || chunk - s->first_chunk >= s->chunks ? NULL : &s->chunk[chunk - s->first_chunk];
}

static uint64_t chunk_start(const struct fc_space *s, size_t i)
{
	return (s->first_chunk + i) * FC_CHUNK_BLOCKS;
}

uint64_t fc_space_end(const struct fc_space *s)
{
	return s->first_chunk + s->chunks;
}

void fc_space_touch(struct fc_space *s, struct fc_chunk *c)
{
	if (!(c->flags & FC_CHUNK_F_DIRTY)) {
		c->flags |= FC_CHUNK_F_DIRTY;
		s->dirty_chunks++;
	}
}

static void count_free(struct fc_space *s, const struct fc_chunk *c, int64_t change)
{
	if (c->flags & FC_CHUNK_F_LEAVING)
		return;
	if (c->kind == FC_CHUNK_NODES)
		s->node_free += (uint64_t)change;
	else if (c->flags & FC_CHUNK_F_SOLID)
		s->solid_free += (uint64_t)change;
}

void fc_space_set_held(struct fc_space *s, struct fc_chunk *c, unsigned held)
{
	if (held < c->used)
		held = c->used;
	s->held += held;
	s->held -= c->held;
	c->held = (uint16_t)held;
}

/* 0 or FC_ENOMEM (setting); clearing cannot fail: a full chunk's map is kept. */
int fc_space_set(struct fc_space *s, uint64_t start, uint32_t count)
{
	struct fc_chunk *c = fc_space_chunk(s, start);

	if (!c->map) {
		c->map = calloc(FC_MAP_WORDS, sizeof(uint64_t));
		if (!c->map)
			return FC_ENOMEM;
	}
	fc_map_set(c->map, (unsigned)(start % FC_CHUNK_BLOCKS), count);
	c->used = (uint16_t)(c->used + count);
	fc_space_set_held(s, c, c->held);
	count_free(s, c, -(int64_t)count);
	fc_space_touch(s, c);
	return 0;
}

void fc_space_clear(struct fc_space *s, uint64_t start, uint32_t count)
{
	struct fc_chunk *c = fc_space_chunk(s, start);
	unsigned used = c->map ? fc_map_weight(c->map, (unsigned)(start % FC_CHUNK_BLOCKS), count) : 0;

	/* all of them, but who has the key can forge trees that give a block up twice */
	if (!used)
		return;
	fc_map_clear(c->map, (unsigned)(start % FC_CHUNK_BLOCKS), count);
	c->used = (uint16_t)(c->used - used);
	count_free(s, c, used);
	fc_space_touch(s, c);
}

int fc_space_extend(struct fc_space *s, size_t chunks)
{
	if (chunks > s->room) {
		size_t room = chunks + chunks / 2 + 16;
		struct fc_chunk *grown = realloc(s->chunk, room * sizeof(*grown));

		if (!grown)
			return FC_ENOMEM;
		s->chunk = grown;
		s->room = room;
	}
	if (chunks > s->chunks) {
		memset(s->chunk + s->chunks, 0, (chunks - s->chunks) * sizeof(*s->chunk));
		s->chunks = chunks;
	}
	return 0;
}

void fc_space_fini(struct fc_space *s)
{
	size_t i;

	for (i = 0; i < s->chunks; i++)
		free(s->chunk[i].map);
	for (i = 0; i < FC_PENDINGS; i++)
		free(s->pending[i].range);
	free(s->chunk);
	free(s->inflight);
	free(s->moved);
	memset(s, 0, sizeof(*s));
}

/* ---- in flight ------------------------------------------------------------ */

int fc_space_fly(struct fc_space *s, struct fc_range range)
{
	if (s->inflights == s->inflight_room) {
		size_t room = s->inflight_room * 2 + 64;
		struct fc_range *grown = realloc(s->inflight, room * sizeof(*grown));

		if (!grown)
			return FC_ENOMEM;
		s->inflight = grown;
		s->inflight_room = room;
	}
	s->inflight[s->inflights++] = range;
	return 0;
}

/* Takes a part of an in-flight range out of flight. */
void fc_space_land(struct fc_space *s, const struct fc_range *range)
{
	size_t i;

	for (i = s->inflights; i-- > 0;) {
		struct fc_range *r = &s->inflight[i];

		if (range->start < r->start || range->start >= r->start + r->count)
			continue;
		assert(range->start + range->count <= r->start + r->count);
		if (range->start + range->count < r->start + r->count) {
			struct fc_range rest = { range->start + range->count,
						 (uint32_t)(r->start + r->count - range->start - range->count) };

			r->count = (uint32_t)(range->start - r->start);
			if (!r->count)
				*r = rest;
			else if (fc_space_fly(s, rest))
				abort(); /* a list of a few dozen entries */
			return;
		}
		r->count = (uint32_t)(range->start - r->start);
		if (!r->count)
			*r = s->inflight[--s->inflights];
		return;
	}
	assert(!"range is not in flight");
}

void fc_space_landed(struct fc_forest *f, const struct fc_range *range)
{
	fc_space_land(&f->space, range);
	f->space.data_used += range->count;
	fc_space_touch(&f->space, fc_space_chunk(&f->space, range->start));
}

void fc_space_cancel(struct fc_forest *f, const struct fc_range *range)
{
	fc_space_land(&f->space, range);
	fc_space_clear(&f->space, range->start, range->count);
	fc_space_chunk(&f->space, range->start)->flags |= FC_CHUNK_F_FREED;
}

/* ---- making free blocks writable ------------------------------------------ */

/* Where the host cannot preallocate, zeros do. */
static int fill_zeros(struct fc_forest *f, size_t i)
{
	static const uint8_t zeros[16 * FC_BLOCK];
	struct fc_chunk *c = &f->space.chunk[i];
	unsigned at = 0, n;

	while (at < FC_CHUNK_BLOCKS) {
		n = c->map ? fc_map_run(c->map, at, &at) : FC_CHUNK_BLOCKS - at;
		if (!n)
			break;
		if (n > 16)
			n = 16;
		int r = fc_io_write(f->io, zeros, (size_t)n * FC_BLOCK, (chunk_start(&f->space, i) + at) * FC_BLOCK);

		if (r)
			return r;
		at += n;
	}
	return 0;
}

static void mark_solid(struct fc_space *s, struct fc_chunk *c)
{
	if (c->flags & FC_CHUNK_F_SOLID)
		return;
	c->flags |= FC_CHUNK_F_SOLID | FC_CHUNK_F_FREED;
	fc_space_set_held(s, c, FC_CHUNK_BLOCKS);
	if (c->kind == FC_CHUNK_DATA)
		s->solid_free += FC_CHUNK_BLOCKS - c->used;
}

uint64_t fc_space_under_cap(const struct fc_space *s)
{
	uint64_t have = s->first_chunk * FC_CHUNK_BLOCKS + s->held;

	if (!s->cap)
		return UINT64_MAX;
	return s->cap / FC_BLOCK > have ? s->cap / FC_BLOCK - have : 0;
}

/* What waits to be free counts: it is, and is punched, only some commits later. */
uint64_t fc_space_least_cap(const struct fc_space *s)
{
	uint64_t blocks = s->first_chunk * FC_CHUNK_BLOCKS + s->reserved + FC_KEPT_BACK;
	size_t i;

	for (i = 0; i < s->chunks; i++)
		blocks += s->chunk[i].kind == FC_CHUNK_NODES ? FC_CHUNK_BLOCKS : s->chunk[i].used;
	if (blocks < (s->first_chunk + CAP_CHUNKS) * FC_CHUNK_BLOCKS)
		blocks = (s->first_chunk + CAP_CHUNKS) * FC_CHUNK_BLOCKS;
	return blocks * FC_BLOCK;
}

int fc_space_solidify(struct fc_forest *f, size_t i, size_t n)
{
	struct fc_space *s = &f->space;
	uint64_t more = 0;
	size_t k;
	int r;

	for (k = 0; k < n; k++)
		more += FC_CHUNK_BLOCKS - s->chunk[i + k].held;
	if (more > fc_space_under_cap(s))
		return FC_ENOSPC;

	if (!s->no_allocate) {
		r = fc_io_allocate(f->io, chunk_start(s, i) * FC_BLOCK, n * FC_CHUNK_BYTES);
		if (r == FC_ENOTSUP) {
			s->no_allocate = true;
		} else if (r) {
			if (r == FC_ENOSPC && !s->chunk[i].used) /* give back what it got hold of */
				fc_io_punch(f->io, chunk_start(s, i) * FC_BLOCK, n * FC_CHUNK_BYTES);
			return r;
		}
	}
	if (s->no_allocate) {
		for (k = 0; k < n; k++) {
			r = fill_zeros(f, i + k);
			if (r)
				return r;
		}
	}
	for (k = 0; k < n; k++)
		mark_solid(s, &s->chunk[i + k]);
	return 0;
}

/* A run of untouched chunks: inside, or new ones at the end. Index or -1. */
static int64_t fresh_chunk(struct fc_space *s, size_t *run)
{
	size_t i, n;

	for (i = 0; i < s->chunks; i++) {
		const struct fc_chunk *c = &s->chunk[i];

		if (c->kind == FC_CHUNK_DATA && !c->used && !(c->flags & (FC_CHUNK_F_SOLID | FC_CHUNK_F_LEAVING)))
			break;
	}
	for (n = 0; i + n < s->chunks && n < *run; n++) {
		const struct fc_chunk *c = &s->chunk[i + n];

		if (c->kind != FC_CHUNK_DATA || c->used || (c->flags & (FC_CHUNK_F_SOLID | FC_CHUNK_F_LEAVING)))
			break;
	}
	if (n) {
		*run = n;
		return (int64_t)i;
	}
	if (fc_space_extend(s, s->chunks + *run))
		return -1;
	return (int64_t)(s->chunks - *run);
}

/* More solid free data blocks: a punched chunk worth it, fresh ones ahead, else any. */
static int solidify_more(struct fc_forest *f)
{
	struct fc_space *s = &f->space;
	size_t pass, i, run, before;
	int64_t at;
	int r;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < s->chunks; i++) {
			struct fc_chunk *c = &s->chunk[i];
			unsigned nfree = FC_CHUNK_BLOCKS - c->used;

			if (c->kind != FC_CHUNK_DATA ||
			    (c->flags & (FC_CHUNK_F_SOLID | FC_CHUNK_F_PUNCHING | FC_CHUNK_F_LEAVING)) || !c->used ||
			    nfree < (pass ? 1 : GOOD_CHUNK))
				continue;
			r = fc_space_solidify(f, i, 1);
			if (r != FC_ENOSPC)
				return r;
		}
		if (pass)
			break;
		for (run = s->ahead ? s->ahead : 1;; run = 1) { /* 0: only what is needed */
			size_t want = run;

			before = s->chunks;
			at = fresh_chunk(s, &want);
			if (at < 0)
				return FC_ENOMEM;
			r = fc_space_solidify(f, (size_t)at, want);
			if (!r) {
				if (s->ahead && s->ahead < AHEAD_MAX)
					s->ahead *= 2;
				return 0;
			}
			s->chunks = before;
			if (r != FC_ENOSPC || run == 1)
				break;
			s->ahead = 1;
		}
		if (r != FC_ENOSPC)
			return r;
	}
	return FC_ENOSPC;
}

int fc_space_reserve(struct fc_forest *f, uint64_t n, bool last)
{
	struct fc_space *s = &f->space;

	while (s->solid_free < s->reserved + n + (last ? 0 : FC_KEPT_BACK)) {
		int r = solidify_more(f);

		if (r)
			return r;
	}
	s->reserved += n;
	return 0;
}

void fc_space_promise_again(struct fc_forest *f, uint64_t n)
{
	f->space.reserved += n;
}

void fc_space_unreserve(struct fc_forest *f, uint64_t n)
{
	assert(f->space.reserved >= n);
	f->space.reserved -= n;
}

/* ---- data ------------------------------------------------------------------- */

/* The chunk to fill next: solid, with enough free blocks; -1 none. */
static int64_t next_chunk(const struct fc_space *s, unsigned least)
{
	size_t k;

	for (k = 0; k < s->chunks; k++) {
		size_t i = (s->data_at + k) % s->chunks;
		const struct fc_chunk *c = &s->chunk[i];

		if (c->kind == FC_CHUNK_DATA && (c->flags & FC_CHUNK_F_SOLID) && FC_CHUNK_BLOCKS - c->used >= least)
			return (int64_t)i;
	}
	return -1;
}

/* The first run of at least `least` free blocks, or the longest one. */
unsigned fc_space_pick_run(const struct fc_chunk *c, unsigned least, unsigned *start)
{
	unsigned at = 0, best = 0, n;

	if (!c->map) {
		*start = 0;
		return FC_CHUNK_BLOCKS;
	}
	while ((n = fc_map_run(c->map, at, &at)) > 0) {
		if (n > best) {
			best = n;
			*start = at;
			if (n >= least)
				break;
		}
		at += n;
	}
	return best;
}

int fc_space_alloc_data(struct fc_forest *f, uint32_t want, bool promised, struct fc_range *out)
{
	struct fc_space *s = &f->space;
	const struct fc_chunk *c;
	unsigned start = 0, run;
	int64_t i;
	int r;

	if (!promised) {
		r = fc_space_reserve(f, want, false);
		if (r == FC_ENOSPC && want > 1) {
			want = 1;
			r = fc_space_reserve(f, want, false);
		}
		if (r)
			return r;
	}
	c = s->data_at < s->chunks ? &s->chunk[s->data_at] : NULL;
	if (!c || c->kind != FC_CHUNK_DATA || !(c->flags & FC_CHUNK_F_SOLID) || c->used == FC_CHUNK_BLOCKS ||
	    (fc_space_pick_run(c, want, &start) < want && next_chunk(s, GOOD_CHUNK) >= 0)) {
		i = next_chunk(s, GOOD_CHUNK);
		if (i >= 0 && c == &s->chunk[i]) { /* it has room, but scattered: another one that has, or stay */
			s->data_at = (size_t)(i + 1) % s->chunks;
			i = next_chunk(s, GOOD_CHUNK);
		}
		if (i < 0)
			i = next_chunk(s, 1);
		assert(i >= 0); /* reserved <= solid_free */
		s->data_at = (size_t)i;
	}
	c = &s->chunk[s->data_at];
	run = fc_space_pick_run(c, want, &start);
	out->start = chunk_start(s, s->data_at) + start;
	out->count = run < want ? run : want;
	r = fc_space_fly(s, *out);
	if (!r) {
		r = fc_space_set(s, out->start, out->count);
		if (r)
			s->inflights--;
	}
	s->reserved -= promised && !r ? out->count : promised ? 0 : want;
	return r;
}

int fc_space_claim(struct fc_forest *f, uint64_t start, uint32_t count)
{
	struct fc_space *s = &f->space;
	uint64_t chunk = start / FC_CHUNK_BLOCKS;
	struct fc_chunk *c;
	struct fc_range range = { start, count };
	uint64_t bytes;
	int r;

	if (!count || count > FC_CHUNK_BLOCKS || chunk < s->first_chunk ||
	    (start + count - 1) / FC_CHUNK_BLOCKS != chunk)
		return FC_ECORRUPT;
	r = fc_io_size(f->io, &bytes);
	if (r)
		return r;
	if ((start + count) * FC_BLOCK > bytes)
		return FC_ECORRUPT;
	r = fc_space_extend(s, (size_t)(chunk - s->first_chunk) + 1);
	if (r)
		return r;
	c = fc_space_chunk(s, start);
	if (c->kind == FC_CHUNK_NODES && !c->used) { /* became one for data after the newest root */
		s->node_free -= FC_CHUNK_BLOCKS;
		c->kind = FC_CHUNK_DATA;
	}
	if (c->kind != FC_CHUNK_DATA || (c->map && fc_map_weight(c->map, (unsigned)(start % FC_CHUNK_BLOCKS), count)))
		return FC_ECORRUPT;
	r = fc_space_fly(s, range);
	return r ? r : fc_space_set(s, start, count);
}

/* ---- nodes ------------------------------------------------------------------- */

int fc_space_alloc_node(struct fc_forest *f, uint64_t *block)
{
	struct fc_space *s = &f->space;
	size_t k;
	int r;

	for (k = 0; k < s->chunks; k++) {
		size_t i = (s->node_at + k) % s->chunks;
		struct fc_chunk *c = &s->chunk[i];
		int at;

		if (c->kind != FC_CHUNK_NODES || (c->flags & FC_CHUNK_F_LEAVING) ||
		    c->used + FC_NODE_BLOCKS > FC_CHUNK_BLOCKS)
			continue;
		at = c->map ? fc_map_aligned(c->map, FC_NODE_BLOCKS) : 0;
		if (at < 0)
			continue;
		*block = chunk_start(s, i) + (unsigned)at;
		r = fc_space_set(s, *block, FC_NODE_BLOCKS);
		if (r)
			return r;
		s->node_used += FC_NODE_BLOCKS;
		s->node_at = i;
		return 0;
	}
	return FC_ENOSPC;
}

void fc_space_free_node(struct fc_forest *f, uint64_t block)
{
	fc_space_uncount(&f->space.node_used, FC_NODE_BLOCKS);
	fc_space_pend(f, block, FC_NODE_BLOCKS);
}

int fc_space_grow_nodes(struct fc_forest *f, uint64_t n)
{
	struct fc_space *s = &f->space;

	while (s->node_free < n * FC_NODE_BLOCKS) {
		size_t run = 1, before = s->chunks;
		int64_t at = -1;
		size_t i;
		int r;

		for (i = 0; i < s->chunks && at < 0; i++) /* one that is solid already, and not promised */
			if (s->chunk[i].kind == FC_CHUNK_DATA && !s->chunk[i].used &&
			    (s->chunk[i].flags & FC_CHUNK_F_SOLID) && s->solid_free >= s->reserved + FC_CHUNK_BLOCKS)
				at = (int64_t)i;
		if (at < 0)
			at = fresh_chunk(s, &run);
		if (at < 0)
			return FC_ENOMEM;
		if (!(s->chunk[at].flags & FC_CHUNK_F_SOLID)) {
			r = fc_space_solidify(f, (size_t)at, 1);
			if (r) {
				s->chunks = before;
				return r;
			}
		}
		s->solid_free -= FC_CHUNK_BLOCKS;
		s->chunk[at].kind = FC_CHUNK_NODES;
		s->node_free += FC_CHUNK_BLOCKS;
		fc_space_touch(s, &s->chunk[at]);
	}
	return 0;
}
