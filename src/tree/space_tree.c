/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The space map's items: CHUNK (which blocks are in use), PENDING (which of
 * them were freed by the last two transactions) and REF (which have several
 * owners).
 */
#include <assert.h>
#include <stdlib.h>

#include "tree/forest.h"
#include "tree/space_map.h"
#include "util/break.h"
#include "util/le.h"

#define CHUNK_HEAD 4u
#define CHUNK_ITEM (CHUNK_HEAD + FC_MAP_WORDS * 8)
#define PEND_BYTES 12u
#define REF_BYTES 8u

/* ---- loading ---------------------------------------------------------------- */

static int load_chunk(struct fc_forest *f, const struct fc_item *item, uint64_t end)
{
	struct fc_space *s = &f->space;
	uint64_t index = item->key.off;
	struct fc_chunk *c;
	unsigned used, i, weight = 0;

	if (item->key.ino || index < s->first_chunk || index >= end || item->bytes < CHUNK_HEAD)
		return FC_ECORRUPT;
	c = &s->chunk[index - s->first_chunk];
	c->kind = item->data[0];
	used = fc_get_u16(item->data + 2);
	if (c->kind > FC_CHUNK_NODES || used > FC_CHUNK_BLOCKS)
		return FC_ECORRUPT;
	if (item->data[1] == FC_CHUNK_EMPTY)
		return used || item->bytes != CHUNK_HEAD ? FC_ECORRUPT : 0;
	if (item->data[1] == FC_CHUNK_FULL ? item->bytes != CHUNK_HEAD || used != FC_CHUNK_BLOCKS
					   : item->data[1] != FC_CHUNK_BITMAP || item->bytes != CHUNK_ITEM)
		return FC_ECORRUPT;
	c->map = calloc(FC_MAP_WORDS, sizeof(uint64_t));
	if (!c->map)
		return FC_ENOMEM;
	for (i = 0; i < FC_MAP_WORDS; i++) {
		c->map[i] = item->data[1] == FC_CHUNK_FULL ? ~0ull : fc_get_u64(item->data + CHUNK_HEAD + i * 8);
		weight += (unsigned)__builtin_popcountll(c->map[i]);
	}
	c->used = (uint16_t)used;
	return weight == used ? 0 : FC_ECORRUPT;
}

/* Room for n ranges more. */
static int make_room(struct fc_pending *p, size_t n)
{
	size_t room = p->room * 2 + 256;
	struct fc_range *grown;

	if (p->count + n <= p->room)
		return 0;
	if (room < p->count + n)
		room = p->count + n;
	grown = realloc(p->range, room * sizeof(*grown));
	if (!grown)
		return FC_ENOMEM;
	p->range = grown;
	p->room = room;
	return 0;
}

static int add_range(struct fc_pending *p, uint64_t start, uint32_t count)
{
	struct fc_range *last = p->count ? &p->range[p->count - 1] : NULL;

	/* within a chunk; what is stored already stays as it is */
	if (last && last->start + last->count == start && start % FC_CHUNK_BLOCKS && p->count > p->stored) {
		last->count += count;
		return 0;
	}
	if (make_room(p, 1))
		return FC_ENOMEM;
	p->range[p->count++] = (struct fc_range){ start, count };
	return 0;
}

/* Only what the two newest transactions freed still counts; older items are leftovers.
 * A root may be newer than its trees: a key command raises it. */
static int load_pending(struct fc_forest *f, const struct fc_item *item)
{
	uint64_t newest = f->files.root.generation;
	struct fc_pending *p = &f->space.pending[item->key.ino % FC_PENDINGS];
	unsigned n = item->bytes / PEND_BYTES, i;

	if (item->bytes % PEND_BYTES || n > FC_PENDING_MAX)
		return FC_ECORRUPT;
	if (item->key.ino + 1 < newest || item->key.ino > newest)
		return 0;
	p->txg = item->key.ino;
	for (i = 0; i < n; i++) {
		uint64_t start = fc_get_u64(item->data + i * PEND_BYTES);
		uint32_t count = fc_get_u32(item->data + i * PEND_BYTES + 8);
		const struct fc_chunk *c = fc_space_chunk(&f->space, start);
		int r;

		if (!c || !c->map || !count || start % FC_CHUNK_BLOCKS + count > FC_CHUNK_BLOCKS ||
		    fc_map_weight(c->map, (unsigned)(start % FC_CHUNK_BLOCKS), count) != count)
			return FC_ECORRUPT;
		p->stored = p->count; /* no joining across items */
		r = add_range(p, start, count);
		if (r)
			return r;
	}
	p->stored = p->count;
	return 0;
}

static void count_loaded(struct fc_space *s)
{
	size_t i;

	s->node_free = s->solid_free = s->held = 0;
	for (i = 0; i < s->chunks; i++) {
		struct fc_chunk *c = &s->chunk[i];

		c->held = c->kind == FC_CHUNK_NODES ? FC_CHUNK_BLOCKS : c->used;
		s->held += c->held;
		if (c->kind == FC_CHUNK_NODES)
			s->node_free += FC_CHUNK_BLOCKS - c->used;
		else if (c->used < FC_CHUNK_BLOCKS)
			c->flags |= FC_CHUNK_F_FREED; /* for all we know */
	}
}

int fc_space_load(struct fc_forest *f, uint64_t first_chunk, uint64_t end_chunk, uint64_t node_blocks,
		  uint64_t data_blocks)
{
	struct fc_space *s = &f->space;
	struct fc_key last = { 0 };
	struct fc_cursor cursor;
	struct fc_item item;
	uint64_t bytes;
	int r;

	s->first_chunk = first_chunk;
	s->node_used = node_blocks;
	s->data_used = data_blocks;
	s->ahead = 1;
	r = fc_io_size(f->io, &bytes);
	if (r)
		return r;
	/* the file may have been cut, or the count forged: no more memory than the file could need */
	if (end_chunk < first_chunk || end_chunk - first_chunk > bytes / FC_CHUNK_BYTES + 64)
		return FC_ECORRUPT;
	r = fc_space_extend(s, (size_t)(end_chunk - first_chunk));
	if (r)
		return r;
	for (r = fc_cursor_seek(&cursor, &f->spaces, fc_key(0, FC_KEY_CHUNK, 0), &item); !r;
	     r = fc_cursor_next(&cursor, &item)) {
		if (last.type && fc_key_cmp(&last, &item.key) >= 0)
			r = FC_ECORRUPT; /* nodes in the wrong order, or twice: this ends */
		else if (item.key.type == FC_KEY_CHUNK)
			r = load_chunk(f, &item, end_chunk);
		else if (item.key.type == FC_KEY_PENDING)
			r = load_pending(f, &item);
		else if (item.key.type != FC_KEY_REF || item.bytes != REF_BYTES)
			r = FC_ECORRUPT;
		if (r)
			return r;
		last = item.key;
	}
	count_loaded(s);
	return r == FC_ENOENT ? 0 : r;
}

/* ---- storing ------------------------------------------------------------------ */

/* Blocks in flight are free on disk: no root refers to them. */
static void on_disk_map(const struct fc_space *s, size_t i, uint64_t map[FC_MAP_WORDS])
{
	uint64_t start = (s->first_chunk + i) * FC_CHUNK_BLOCKS;
	size_t k;

	memcpy(map, s->chunk[i].map, FC_MAP_WORDS * sizeof(uint64_t));
	for (k = 0; k < s->inflights; k++)
		if (s->inflight[k].start >= start && s->inflight[k].start < start + FC_CHUNK_BLOCKS)
			fc_map_clear(map, (unsigned)(s->inflight[k].start - start), s->inflight[k].count);
}

static int store_chunk(struct fc_forest *f, size_t i)
{
	struct fc_space *s = &f->space;
	struct fc_chunk *c = &s->chunk[i];
	uint64_t map[FC_MAP_WORDS] = { 0 };
	uint8_t raw[CHUNK_ITEM] = { 0 };
	unsigned used = 0, k, bytes = CHUNK_HEAD;

	if (c->map)
		on_disk_map(s, i, map);
	for (k = 0; k < FC_MAP_WORDS; k++)
		used += (unsigned)__builtin_popcountll(map[k]);
	raw[0] = c->kind;
	fc_put_u16(raw + 2, (uint16_t)used);
	/* a node chunk's item never changes its size: storing it converges */
	if (c->kind == FC_CHUNK_DATA && (used == 0 || used == FC_CHUNK_BLOCKS)) {
		raw[1] = used ? FC_CHUNK_FULL : FC_CHUNK_EMPTY;
	} else {
		raw[1] = FC_CHUNK_BITMAP;
		for (k = 0; k < FC_MAP_WORDS; k++)
			fc_put_u64(raw + CHUNK_HEAD + k * 8, map[k]);
		bytes = CHUNK_ITEM;
	}
	c->flags &= (uint8_t)~FC_CHUNK_F_DIRTY; /* before: the put may use this very chunk */
	s->dirty_chunks--;
	return fc_tree_put(&f->spaces, fc_key(0, FC_KEY_CHUNK, s->first_chunk + i), raw, bytes);
}

static int store_pending(struct fc_forest *f, struct fc_pending *p)
{
	uint8_t raw[FC_PENDING_MAX * PEND_BYTES];
	size_t item = p->stored / FC_PENDING_MAX, i, n;
	int r;

	for (; item * FC_PENDING_MAX < p->count; item++) {
		n = p->count - item * FC_PENDING_MAX;
		if (n > FC_PENDING_MAX)
			n = FC_PENDING_MAX;
		for (i = 0; i < n; i++) {
			fc_put_u64(raw + i * PEND_BYTES, p->range[item * FC_PENDING_MAX + i].start);
			fc_put_u32(raw + i * PEND_BYTES + 8, p->range[item * FC_PENDING_MAX + i].count);
		}
		p->stored = item * FC_PENDING_MAX + n; /* before: the put frees nodes */
		r = fc_tree_put(&f->spaces, fc_key(p->txg, FC_KEY_PENDING, item), raw, n * PEND_BYTES);
		if (r)
			return r;
	}
	return 0;
}

static int delete_gone(struct fc_forest *f)
{
	struct fc_space *s = &f->space;

	while (s->gones) {
		struct fc_range gone = s->gone[s->gones - 1];
		uint32_t i;

		s->gones--;
		for (i = 0; i < gone.count; i++) {
			int r = fc_tree_del(&f->spaces, fc_key(gone.start, FC_KEY_PENDING, i));

			if (r && r != FC_ENOENT)
				return r; /* what stays is too old to count when it is read */
		}
	}
	return 0;
}

int fc_space_store(struct fc_forest *f)
{
	struct fc_space *s = &f->space;
	struct fc_pending *p = &s->pending[f->txg % FC_PENDINGS];
	int r = 0, any = 0;
	size_t i;

	if (s->gones) {
		any = 1;
		r = delete_gone(f);
	}
	for (i = 0; !r && s->dirty_chunks && i < s->chunks; i++)
		if (s->chunk[i].flags & FC_CHUNK_F_DIRTY) {
			any = 1;
			r = store_chunk(f, i);
		}
	if (!r && p->txg == f->txg && p->stored < p->count) {
		any = 1;
		r = store_pending(f, p);
	}
	return r ? r : any;
}

uint64_t fc_space_tree_need(const struct fc_forest *f)
{
	const struct fc_space *s = &f->space;
	const struct fc_pending *p = &s->pending[f->txg % FC_PENDINGS];
	uint64_t pending = p->txg == f->txg ? p->count - p->stored : 0;
	uint64_t leaves = s->chunks / 40 + 2 * (s->shared / 200) + 8; /* that chunk items can lie in */

	return (s->dirty_chunks < leaves ? s->dirty_chunks : leaves) + (pending + 4 * f->dirty) / FC_PENDING_MAX + 12;
}

/* ---- freeing ---------------------------------------------------------------------- */

void fc_space_pend(struct fc_forest *f, uint64_t start, uint32_t count)
{
	struct fc_pending *p = &f->space.pending[f->txg % FC_PENDINGS];

	if (FC_BROKEN(REUSE)) {
		fc_space_clear(&f->space, start, count);
		return;
	}
	if (p->txg != f->txg) {
		assert(!p->count);
		p->txg = f->txg;
		p->stored = 0;
	}
	/* there is room (fc_space_pend_reserve); if not, the blocks stay in use until `check --repair` finds them */
	(void)add_range(p, start, count);
}

int fc_space_pend_reserve(struct fc_forest *f, size_t n)
{
	return make_room(&f->space.pending[f->txg % FC_PENDINGS], n);
}

/* Forged pointers may lead outside the chunks, and a forged node may lie in two. */
static void release_range(struct fc_space *s, struct fc_range range)
{
	while (range.count) {
		uint32_t left = (uint32_t)(FC_CHUNK_BLOCKS - range.start % FC_CHUNK_BLOCKS);
		uint32_t n = range.count < left ? range.count : left;
		struct fc_chunk *c = fc_space_chunk(s, range.start);

		if (c) {
			fc_space_clear(s, range.start, n);
			c->flags |= FC_CHUNK_F_FREED;
		}
		range.start += n;
		range.count -= n;
	}
}

void fc_space_release(struct fc_forest *f, uint64_t txg)
{
	struct fc_space *s = &f->space;
	struct fc_pending *p = &s->pending[txg % FC_PENDINGS];
	size_t i;

	if (p->txg != txg || !p->count)
		return;
	for (i = 0; i < p->count; i++)
		release_range(s, p->range[i]);
	assert(s->gones < FC_PENDINGS);
	s->gone[s->gones++] = (struct fc_range){ txg, (uint32_t)((p->stored + FC_PENDING_MAX - 1) / FC_PENDING_MAX) };
	free(p->range);
	memset(p, 0, sizeof(*p));
}

bool fc_space_waiting(const struct fc_forest *f)
{
	uint64_t blocks = 0;
	size_t i, k;

	for (i = 0; i < FC_PENDINGS; i++)
		for (k = 0; k < f->space.pending[i].count; k++)
			blocks += f->space.pending[i].range[k].count;
	return blocks > 64u * FC_NODE_BLOCKS; /* a commit by itself frees the nodes that it replaces */
}

uint64_t fc_space_coming(const struct fc_forest *f)
{
	const struct fc_space *s = &f->space;
	uint64_t blocks = 0;
	size_t i, k;

	for (i = 0; i < FC_PENDINGS; i++)
		for (k = 0; k < s->pending[i].count; k++) {
			const struct fc_range *range = &s->pending[i].range[k];
			uint64_t chunk = range->start / FC_CHUNK_BLOCKS - s->first_chunk;

			if (chunk < s->chunks && s->chunk[chunk].kind == FC_CHUNK_DATA)
				blocks += range->count;
		}
	return blocks;
}

/* ---- owners ------------------------------------------------------------------------- */

/* The part of [at, end) that starts at `at` and has one number of owners. */
static int ref_piece(struct fc_forest *f, uint64_t at, uint64_t end, uint64_t *stop, uint32_t *owners)
{
	struct fc_item item;
	int r = fc_tree_le(&f->spaces, fc_key(0, FC_KEY_REF, at), &item);

	*owners = 1;
	*stop = end;
	if (!r && item.key.type == FC_KEY_REF && item.key.ino == 0 && item.key.off + fc_get_u32(item.data) > at) {
		uint64_t ref_end = item.key.off + fc_get_u32(item.data);

		*owners = fc_get_u32(item.data + 4);
		*stop = ref_end < end ? ref_end : end;
		return *owners < 2 ? FC_ECORRUPT : 0;
	}
	if (r && r != FC_ENOENT)
		return r;
	r = fc_tree_ge(&f->spaces, fc_key(0, FC_KEY_REF, at), &item);
	if (!r && item.key.type == FC_KEY_REF && item.key.ino == 0 && item.key.off < end) {
		if (item.key.off <= at) /* of no blocks: forged */
			return FC_ECORRUPT;
		*stop = item.key.off;
	}
	return r == FC_ENOENT ? 0 : r;
}

int fc_space_load_refs(struct fc_forest *f, uint64_t start, uint32_t count)
{
	uint64_t at = start, end = start + count, stop;
	uint32_t owners;
	int r = fc_tree_load(&f->spaces, fc_key(0, FC_KEY_REF, end));

	for (; !r && at < end; at = stop)
		r = ref_piece(f, at, end, &stop, &owners);
	return r;
}

static void put_ref(struct fc_forest *f, uint64_t start, uint64_t count, uint32_t owners)
{
	uint8_t raw[REF_BYTES];

	if (!count || owners < 2)
		return;
	fc_put_u32(raw, (uint32_t)count);
	fc_put_u32(raw + 4, owners);
	if (!fc_tree_put(&f->spaces, fc_key(0, FC_KEY_REF, start), raw, sizeof(raw)))
		f->space.shared++;
}

/* Gives [at, stop) another number of owners; it has `owners` (>= 2: an item covers it). */
static void set_owners(struct fc_forest *f, uint64_t at, uint64_t stop, uint32_t owners, uint32_t now)
{
	struct fc_item item;
	uint64_t start, end;

	if (owners >= 2) {
		if (fc_tree_le(&f->spaces, fc_key(0, FC_KEY_REF, at), &item))
			return;
		start = item.key.off;
		end = start + fc_get_u32(item.data);
		if (!fc_tree_del(&f->spaces, fc_key(0, FC_KEY_REF, start)))
			f->space.shared--;
		put_ref(f, start, at - start, owners);
		put_ref(f, stop, end - stop, owners);
	}
	put_ref(f, at, stop - at, now);
}

void fc_space_free_data(struct fc_forest *f, uint64_t start, uint32_t count)
{
	uint64_t at = start, end = start + count, stop;
	uint32_t owners;

	for (; at < end; at = stop) {
		owners = 1; /* the last item may go while this runs */
		stop = end;
		if (f->space.shared && ref_piece(f, at, end, &stop, &owners))
			return; /* stays in use: not loaded, which is the caller's mistake */
		if (owners >= 2) {
			set_owners(f, at, stop, owners, owners - 1);
			continue;
		}
		fc_space_pend(f, at, (uint32_t)(stop - at));
		if (f->space.moveds)
			fc_moved_forget(&f->space, at, (uint32_t)(stop - at));
		fc_space_uncount(&f->space.data_used, stop - at);
	}
}

bool fc_space_is_shared(struct fc_forest *f, uint64_t start, uint32_t count)
{
	uint64_t at = start, end = start + count, stop;
	uint32_t owners;

	for (; f->space.shared && at < end; at = stop)
		if (ref_piece(f, at, end, &stop, &owners) || owners >= 2)
			return true;
	return false;
}

void fc_space_share(struct fc_forest *f, uint64_t start, uint32_t count)
{
	uint64_t at = start, end = start + count, stop;
	uint32_t owners;

	for (; at < end; at = stop) {
		if (ref_piece(f, at, end, &stop, &owners))
			return;
		set_owners(f, at, stop, owners, owners + 1);
	}
}
