/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the space map: a chunk's bitmap, and what space.c and space_tree.c share. */
#ifndef FC_TREE_SPACE_MAP_H
#define FC_TREE_SPACE_MAP_H

#include "tree/forest.h"

#define FC_KEPT_BACK 64u /* blocks for truncation when all else is used */
#define FC_MAP_WORDS (FC_CHUNK_BLOCKS / 64)

static inline uint64_t fc_map_mask(unsigned at, unsigned n)
{
	return (n == 64 ? ~0ull : (1ull << n) - 1) << at;
}

/* Bits of the range that lie in the word of `at`. */
static inline unsigned fc_map_step(unsigned at, unsigned count)
{
	return count < 64 - at % 64 ? count : 64 - at % 64;
}

static inline void fc_map_set(uint64_t *map, unsigned at, unsigned count)
{
	for (unsigned n; count; at += n, count -= n) {
		n = fc_map_step(at, count);
		map[at / 64] |= fc_map_mask(at % 64, n);
	}
}

static inline void fc_map_clear(uint64_t *map, unsigned at, unsigned count)
{
	for (unsigned n; count; at += n, count -= n) {
		n = fc_map_step(at, count);
		map[at / 64] &= ~fc_map_mask(at % 64, n);
	}
}

/* How many bits of the range are set. */
static inline unsigned fc_map_weight(const uint64_t *map, unsigned at, unsigned count)
{
	unsigned weight = 0;

	for (unsigned n; count; at += n, count -= n) {
		n = fc_map_step(at, count);
		weight += (unsigned)__builtin_popcountll(map[at / 64] & fc_map_mask(at % 64, n));
	}
	return weight;
}

/* The next run of clear bits at or after `at`: its length (0 none), *start. */
static inline unsigned fc_map_run(const uint64_t *map, unsigned at, unsigned *start)
{
	unsigned end;

	while (at < FC_CHUNK_BLOCKS) {
		uint64_t clear = ~map[at / 64] >> (at % 64);

		if (clear) {
			at += (unsigned)__builtin_ctzll(clear);
			break;
		}
		at = (at / 64 + 1) * 64;
	}
	if (at >= FC_CHUNK_BLOCKS)
		return 0;
	for (end = at; end < FC_CHUNK_BLOCKS;) {
		uint64_t set = map[end / 64] >> (end % 64);

		if (set) {
			end += (unsigned)__builtin_ctzll(set);
			break;
		}
		end = (end / 64 + 1) * 64;
	}
	*start = at;
	return end - at;
}

/* The first n clear bits aligned to n (1, 2, 4, 8): index or -1. */
static inline int fc_map_aligned(const uint64_t *map, unsigned n)
{
	for (unsigned at = 0; at < FC_CHUNK_BLOCKS; at += n)
		if (!(map[at / 64] & fc_map_mask(at % 64, n)))
			return (int)at;
	return -1;
}

struct fc_chunk *fc_space_chunk(struct fc_space *s, uint64_t block); /* NULL: outside */
void fc_space_touch(struct fc_space *s, struct fc_chunk *c);
int fc_space_set(struct fc_space *s, uint64_t start, uint32_t count);
/* The range lies in one chunk. */
void fc_space_clear(struct fc_space *s, uint64_t start, uint32_t count);
int fc_space_extend(struct fc_space *s, size_t chunks);
int fc_space_fly(struct fc_space *s, struct fc_range range);
/* Takes a range, or a part of one, out of flight. */
void fc_space_land(struct fc_space *s, const struct fc_range *range);
/* How many of the chunk's blocks the host holds for us: no fewer than are in use. */
void fc_space_set_held(struct fc_space *s, struct fc_chunk *c, unsigned held);
/* A counter that the root holds: a forged one does not go below zero. */
static inline void fc_space_uncount(uint64_t *counter, uint64_t n)
{
	*counter -= n < *counter ? n : *counter;
}
/* The host gives chunks i..i+n whole. 0, FC_ENOSPC (also by the cap), FC_EIO. */
int fc_space_solidify(struct fc_forest *f, size_t i, size_t n);
/* The first run of at least `least` free blocks in a chunk, or the longest one. */
unsigned fc_space_pick_run(const struct fc_chunk *c, unsigned least, unsigned *start);
/* Adds to what the running transaction freed. */
void fc_space_pend(struct fc_forest *f, uint64_t start, uint32_t count);

#endif
