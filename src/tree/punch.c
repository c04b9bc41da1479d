/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Giving free blocks back to the host. While a range is punched its bits are set,
 * so that nobody takes it (R6), and it is in flight, so that it is free on disk.
 */
#include "tree/space_map.h"

static size_t take_runs(struct fc_space *s, size_t i, struct fc_range *out, size_t max)
{
	struct fc_chunk *c = &s->chunk[i];
	unsigned at = 0, n;
	size_t got = 0;

	while (got < max) {
		n = c->map ? fc_map_run(c->map, at, &at) : FC_CHUNK_BLOCKS - at;
		if (!n) {
			c->flags &= (uint8_t)~FC_CHUNK_F_FREED;
			break;
		}
		out[got] = (struct fc_range){ (s->first_chunk + i) * FC_CHUNK_BLOCKS + at, n };
		if (fc_space_fly(s, out[got]) || fc_space_set(s, out[got].start, n))
			break;
		c->flags |= FC_CHUNK_F_PUNCHING;
		got++;
		at += n;
		if (at >= FC_CHUNK_BLOCKS) {
			c->flags &= (uint8_t)~FC_CHUNK_F_FREED;
			break;
		}
	}
	return got;
}

static bool is_flying_in(const struct fc_space *s, size_t chunk)
{
	size_t i;

	for (i = 0; i < s->inflights; i++)
		if (s->inflight[i].start / FC_CHUNK_BLOCKS == s->first_chunk + chunk)
			return true;
	return false;
}

size_t fc_space_punchable(struct fc_forest *f, struct fc_range *out, size_t max)
{
	struct fc_space *s = &f->space;
	size_t i, got = 0;

	for (i = 0; i < s->chunks && got < max; i++) {
		struct fc_chunk *c = &s->chunk[i];

		if (c->kind == FC_CHUNK_NODES && !c->used && (c->flags & FC_CHUNK_F_LEAVING)) {
			c->kind = FC_CHUNK_DATA; /* its blocks were taken out of what is free when it began to leave */
			c->flags = (uint8_t)((c->flags & ~FC_CHUNK_F_SOLID) | FC_CHUNK_F_FREED);
			fc_space_touch(s, c);
		} else if (c->kind == FC_CHUNK_NODES && !c->used && s->node_free >= 2 * FC_CHUNK_BLOCKS) {
			c->kind = FC_CHUNK_DATA;
			c->flags |= FC_CHUNK_F_SOLID | FC_CHUNK_F_FREED;
			s->node_free -= FC_CHUNK_BLOCKS;
			s->solid_free += FC_CHUNK_BLOCKS;
			fc_space_touch(s, c);
		}
		if (c->kind != FC_CHUNK_DATA || !(c->flags & FC_CHUNK_F_FREED) || c->used == FC_CHUNK_BLOCKS)
			continue;
		if (c->flags & FC_CHUNK_F_SOLID) {
			if (s->solid_free < s->reserved + FC_CHUNK_BLOCKS || is_flying_in(s, i))
				continue; /* promised, or it may be again */
			s->solid_free -= FC_CHUNK_BLOCKS - c->used;
			s->ahead = 1;
			c->flags &= (uint8_t)~FC_CHUNK_F_SOLID;
		}
		got += take_runs(s, i, out + got, max - got);
	}
	return got;
}

static void give_back(struct fc_space *s, const struct fc_range *range)
{
	struct fc_chunk *c = fc_space_chunk(s, range->start);

	fc_space_set_held(s, c, c->held > range->count ? c->held - range->count : 0);
}

void fc_space_punched(struct fc_forest *f, const struct fc_range *range, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		fc_space_land(&f->space, &range[i]);
		fc_space_clear(&f->space, range[i].start, range[i].count);
		fc_space_chunk(&f->space, range[i].start)->flags &= (uint8_t)~FC_CHUNK_F_PUNCHING;
		give_back(&f->space, &range[i]);
	}
}
