/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which blocks the trees refer to, and which of them several times. */
#include <stdlib.h>

#include "check/checker.h"
#include "tree/space_map.h"

int fc_owners_init(struct fc_owners *o, uint64_t first_chunk, uint64_t chunks)
{
	*o = (struct fc_owners){ .first_chunk = first_chunk };
	if (chunks > SIZE_MAX / sizeof(*o->chunk))
		return FC_ENOMEM;
	o->chunk = calloc(chunks ? (size_t)chunks : 1, sizeof(*o->chunk));
	if (!o->chunk)
		return FC_ENOMEM;
	o->chunks = (size_t)chunks;
	return 0;
}

void fc_owners_free(struct fc_owners *o)
{
	size_t i;

	for (i = 0; i < o->chunks; i++) {
		free(o->chunk[i].used);
		free(o->chunk[i].node);
	}
	free(o->chunk);
	fc_list_free(&o->again);
	*o = (struct fc_owners){ 0 };
}

/* The chunk of a range within one; NULL: there is no such. */
static struct fc_owner_chunk *chunk_of(const struct fc_owners *o, uint64_t start, uint32_t count)
{
	uint64_t chunk = start / FC_CHUNK_BLOCKS;

	if (chunk < o->first_chunk || chunk - o->first_chunk >= o->chunks ||
	    start % FC_CHUNK_BLOCKS + count > FC_CHUNK_BLOCKS)
		return NULL;
	return &o->chunk[chunk - o->first_chunk];
}

static bool make_map(uint64_t **map)
{
	if (!*map)
		*map = calloc(FC_MAP_WORDS, sizeof(**map));
	return *map;
}

int fc_owners_claim_node(struct fc_owners *o, uint64_t block)
{
	unsigned at = (unsigned)(block % FC_CHUNK_BLOCKS);
	struct fc_owner_chunk *c = chunk_of(o, block, FC_NODE_BLOCKS);

	if (!c || at % FC_NODE_BLOCKS)
		return 1;
	if (!make_map(&c->used) || !make_map(&c->node))
		return FC_ENOMEM;
	if (fc_map_weight(c->used, at, FC_NODE_BLOCKS))
		return 1;
	fc_map_set(c->used, at, FC_NODE_BLOCKS);
	fc_map_set(c->node, at, FC_NODE_BLOCKS);
	o->node_blocks += FC_NODE_BLOCKS;
	return 0;
}

/* Blocks at.. of the range have an owner already. */
static int share(struct fc_owners *o, const uint64_t *used, uint64_t start, unsigned at, uint32_t count)
{
	unsigned end = at + count;

	while (at < end) {
		struct fc_ref *ref;
		unsigned stop = at;

		while (stop < end && fc_map_weight(used, stop, 1))
			stop++;
		if (stop > at) {
			ref = fc_list_add(&o->again, sizeof(*ref));
			if (!ref)
				return FC_ENOMEM;
			*ref = (struct fc_ref){ start - start % FC_CHUNK_BLOCKS + at, stop - at, 1 };
		}
		at = stop + 1;
	}
	return 0;
}

int fc_owners_claim_data(struct fc_owners *o, uint64_t start, uint32_t count)
{
	struct fc_owner_chunk *c = chunk_of(o, start, count);
	unsigned at = (unsigned)(start % FC_CHUNK_BLOCKS), before;
	int r = 0;

	if (!c || (c->node && fc_map_weight(c->node, at, count)))
		return 1;
	if (!make_map(&c->used))
		return FC_ENOMEM;
	before = fc_map_weight(c->used, at, count);
	if (before)
		r = share(o, c->used, start, at, count);
	fc_map_set(c->used, at, count);
	o->data_blocks += count - before;
	return r;
}

/* ---- several owners ------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void fc_refs_join(struct fc_list *refs)
{
	struct fc_ref *ref = refs->at;
	size_t i, n = 0;

	for (i = 0; i < refs->n; i++) {
		if (n && ref[n - 1].owners == ref[i].owners && ref[n - 1].start + ref[n - 1].count == ref[i].start)
			ref[n - 1].count += ref[i].count;
		else
			ref[n++] = ref[i];
	}
	refs->n = n;
}

/* Begins and ends of the ranges, each ascending. */
static void split(const struct fc_list *again, uint64_t *begin, uint64_t *end)
{
	size_t i;

	for (i = 0; i < again->n; i++) {
		const struct fc_ref *ref = FC_LIST_AT(again, struct fc_ref, i);

		begin[i] = ref->start;
		end[i] = ref->start + ref->count;
	}
	qsort(begin, again->n, sizeof(*begin), by_place);
	qsort(end, again->n, sizeof(*end), by_place);
}

int fc_owners_refs(struct fc_owners *o, struct fc_list *refs)
{
	size_t n = o->again.n, b = 0, e = 0;
	uint64_t *begin = calloc(2 * n + 1, sizeof(*begin)), *end = begin ? begin + n : NULL, at = 0;
	int r = begin ? 0 : FC_ENOMEM;

	fc_list_clear(refs);
	if (!r)
		split(&o->again, begin, end);
	while (!r && e < n) { /* b - e ranges are open from `at` on */
		uint64_t next = b < n && begin[b] < end[e] ? begin[b] : end[e];

		if (b > e && next > at) {
			struct fc_ref *ref = fc_list_add(refs, sizeof(*ref));

			if (ref)
				*ref = (struct fc_ref){ at, next - at, (uint32_t)(b - e + 1) };
			else
				r = FC_ENOMEM;
		}
		at = next;
		while (b < n && begin[b] == at)
			b++;
		while (e < n && end[e] == at)
			e++;
	}
	free(begin);
	if (!r)
		fc_refs_join(refs);
	return r;
}
