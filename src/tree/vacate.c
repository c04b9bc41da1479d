/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Emptying the last chunks, so that the file can be cut. What is in them is moved by
 * whoever owns the trees; here is where to, and what must not change meanwhile:
 *
 *   V1  nothing is allocated in a chunk that is leaving; so blocks that were moved away
 *       keep their numbers to themselves until the end, and a `moved` entry cannot mean
 *       anything else later.
 *   V2  the target of a `moved` entry has an owner: it goes with its last one.
 *   V3  what is promised to dirty pages, and the nodes that they may need, have room
 *       below the roof before anything is leaving.
 */
#include <stdlib.h>
#include <string.h>

#include "tree/space_map.h"

#define NODE_MARGIN (64u * FC_NODE_BLOCKS) /* nodes are written anew before their old ones are free */
#define MOVED_MAX 16384u                   /* entries: each final free looks through them */

static unsigned free_of(const struct fc_chunk *c)
{
	return FC_CHUNK_BLOCKS - c->used;
}

size_t fc_space_tight(const struct fc_forest *f, uint64_t slack)
{
	const struct fc_space *s = &f->space;
	uint64_t data_low = 0, node_low = 0, empty_low = 0, data_high = 0, node_high = 0;
	size_t i, roof;

	for (i = 0; i < s->chunks; i++) {
		const struct fc_chunk *c = &s->chunk[i];

		*(c->kind == FC_CHUNK_NODES ? &node_low : &data_low) += free_of(c);
		empty_low += c->kind == FC_CHUNK_DATA && !c->used;
	}
	for (roof = s->chunks; roof > 1; roof--) {
		const struct fc_chunk *c = &s->chunk[roof - 1];
		uint64_t nodes, data, more = 0;

		*(c->kind == FC_CHUNK_NODES ? &node_low : &data_low) -= free_of(c);
		*(c->kind == FC_CHUNK_NODES ? &node_high : &data_high) += c->used;
		empty_low -= c->kind == FC_CHUNK_DATA && !c->used;
		nodes = node_high + NODE_MARGIN + 2 * f->dirty * FC_NODE_BLOCKS;
		if (nodes > node_low)
			more = (nodes - node_low + FC_CHUNK_BLOCKS - 1) / FC_CHUNK_BLOCKS;
		data = data_high + slack + s->reserved + FC_KEPT_BACK + more * FC_CHUNK_BLOCKS;
		if (more > empty_low || data > data_low)
			break;
	}
	/* What is in flight may come back, and its pages need their promise again. */
	for (i = 0; i < s->inflights; i++) {
		size_t above = (size_t)(s->inflight[i].start / FC_CHUNK_BLOCKS - s->first_chunk) + 1;

		roof = roof < above ? above : roof;
	}
	return roof;
}

bool fc_space_is_leaving(const struct fc_forest *f, uint64_t block)
{
	const struct fc_space *s = &f->space;
	uint64_t chunk = block / FC_CHUNK_BLOCKS;

	return chunk >= s->first_chunk && chunk - s->first_chunk < s->chunks &&
	       s->chunk[chunk - s->first_chunk].flags & FC_CHUNK_F_LEAVING;
}

void fc_space_vacate_end(struct fc_forest *f)
{
	struct fc_space *s = &f->space;
	size_t i;

	for (i = 0; i < s->chunks; i++) {
		struct fc_chunk *c = &s->chunk[i];

		if (!(c->flags & FC_CHUNK_F_LEAVING))
			continue;
		c->flags &= (uint8_t)~FC_CHUNK_F_LEAVING;
		if (c->kind == FC_CHUNK_NODES)
			s->node_free += free_of(c);
	}
	free(s->moved);
	s->moved = NULL;
	s->moveds = s->moved_room = 0;
}

int fc_space_vacate(struct fc_forest *f, size_t roof)
{
	struct fc_space *s = &f->space;
	uint64_t leaving = 0;
	size_t i;
	int r;

	/* a solid chunk's free blocks may be promised: others are made solid first (V3) */
	for (i = roof; i < s->chunks; i++) {
		struct fc_chunk *c = &s->chunk[i];

		c->flags |= FC_CHUNK_F_LEAVING;
		if (c->kind == FC_CHUNK_NODES) {
			s->node_free -= free_of(c);
		} else if (c->flags & FC_CHUNK_F_SOLID) {
			c->flags = (uint8_t)((c->flags & ~FC_CHUNK_F_SOLID) | FC_CHUNK_F_FREED);
			leaving += free_of(c);
		}
	}
	s->solid_free -= leaving;
	r = s->solid_free < s->reserved + FC_KEPT_BACK ? fc_space_reserve(f, 0, false) : 0;
	s->data_at = s->node_at = 0;
	s->ahead = 1;
	for (i = roof; r && i < s->chunks; i++) { /* as it was: the host holds all of these */
		struct fc_chunk *c = &s->chunk[i];

		if (c->kind != FC_CHUNK_DATA || !(c->flags & FC_CHUNK_F_LEAVING) || c->held < FC_CHUNK_BLOCKS ||
		    c->flags & FC_CHUNK_F_PUNCHING)
			continue;
		c->flags |= FC_CHUNK_F_SOLID;
		s->solid_free += free_of(c);
	}
	if (r)
		fc_space_vacate_end(f);
	return r;
}

/* A chunk with a run of `least` free data blocks below the roof; roof: none. */
static size_t low_chunk(const struct fc_space *s, size_t roof, unsigned least)
{
	unsigned start;
	size_t i;

	for (i = 0; i < roof && i < s->chunks; i++) {
		const struct fc_chunk *c = &s->chunk[i];

		if (c->kind == FC_CHUNK_DATA && !(c->flags & (FC_CHUNK_F_LEAVING | FC_CHUNK_F_PUNCHING)) &&
		    free_of(c) >= least && fc_space_pick_run(c, least, &start) >= least)
			return i;
	}
	return roof;
}

int fc_space_alloc_low(struct fc_forest *f, size_t roof, uint32_t want, struct fc_range *out)
{
	struct fc_space *s = &f->space;
	unsigned start = 0, run, least;
	size_t i;
	int r = 0;

	for (i = roof, least = want; i == roof && least; least /= 2)
		i = low_chunk(s, roof, least);
	if (i == roof)
		return FC_ENOSPC;
	if (!(s->chunk[i].flags & FC_CHUNK_F_SOLID))
		r = fc_space_solidify(f, i, 1);
	if (r)
		return r;
	run = fc_space_pick_run(&s->chunk[i], want, &start);
	*out = (struct fc_range){ (s->first_chunk + i) * FC_CHUNK_BLOCKS + start, run < want ? run : want };
	r = fc_space_reserve(f, out->count, false); /* of what is promised, nothing is taken */
	if (r)
		return r;
	r = fc_space_fly(s, *out);
	if (!r && fc_space_set(s, out->start, out->count)) {
		s->inflights--;
		r = FC_ENOMEM;
	}
	fc_space_unreserve(f, out->count);
	return r;
}

int fc_space_cut(struct fc_forest *f, size_t max)
{
	struct fc_space *s = &f->space;
	size_t n;
	int r;

	for (n = 0; n < max && s->chunks > 1; n++) {
		struct fc_chunk *c = &s->chunk[s->chunks - 1];
		bool counted = c->kind == FC_CHUNK_DATA &&
			       c->flags & FC_CHUNK_F_SOLID; /* nodes' are not, when leaving */

		if (c->used || (c->kind == FC_CHUNK_NODES && !(c->flags & FC_CHUNK_F_LEAVING)))
			break;
		if (counted && s->solid_free < s->reserved + FC_KEPT_BACK + FC_CHUNK_BLOCKS)
			break;
		r = fc_tree_del(&f->spaces, fc_key(0, FC_KEY_CHUNK, s->first_chunk + s->chunks - 1));
		if (r && r != FC_ENOENT)
			return r;
		if (counted)
			s->solid_free -= FC_CHUNK_BLOCKS;
		if (c->flags & FC_CHUNK_F_DIRTY)
			s->dirty_chunks--;
		s->held -= c->held;
		free(c->map);
		s->chunks--;
	}
	return (int)n;
}

/* ---- blocks with several owners --------------------------------------------------- */

/* The first entry that ends after block. */
static size_t moved_at(const struct fc_space *s, uint64_t block)
{
	size_t lo = 0, hi = s->moveds;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->moved[mid].from + s->moved[mid].count <= block)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t fc_moved_find(const struct fc_space *s, uint64_t start, uint32_t *count, uint64_t *to)
{
	size_t i = moved_at(s, start);
	const struct fc_moved *m;
	uint64_t left;

	if (i == s->moveds)
		return 0;
	m = &s->moved[i];
	if (m->from > start) {
		if (m->from - start < *count)
			*count = (uint32_t)(m->from - start);
		return 0;
	}
	left = m->from + m->count - start;
	*to = m->to + (start - m->from);
	return left < *count ? (uint32_t)left : *count;
}

void fc_moved_add(struct fc_space *s, uint64_t from, uint64_t to, uint32_t count)
{
	size_t i = moved_at(s, from);

	if (s->moveds == MOVED_MAX)
		return;
	if (s->moveds == s->moved_room) {
		size_t room = s->moved_room * 2 + 64;
		struct fc_moved *grown = realloc(s->moved, room * sizeof(*grown));

		if (!grown)
			return;
		s->moved = grown;
		s->moved_room = room;
	}
	memmove(&s->moved[i + 1], &s->moved[i], (s->moveds - i) * sizeof(s->moved[0]));
	s->moved[i] = (struct fc_moved){ from, to, count };
	s->moveds++;
}

void fc_moved_forget(struct fc_space *s, uint64_t to, uint32_t count)
{
	size_t i, kept = 0;

	for (i = 0; i < s->moveds; i++)
		if (s->moved[i].to + s->moved[i].count <= to || s->moved[i].to >= to + count)
			s->moved[kept++] = s->moved[i];
	s->moveds = kept;
}
