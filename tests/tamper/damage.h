/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blocks of a container that are in use, and ways to damage them. */
#ifndef FC_TESTS_DAMAGE_H
#define FC_TESTS_DAMAGE_H

#include "box.h"

enum place_kind { PLACE_HEADER, PLACE_ROOT, PLACE_SALTS, PLACE_LOG, PLACE_NODE, PLACE_DATA, PLACE_KINDS };

struct place {
	uint64_t block;
	enum place_kind kind;
	bool pending; /* freed: no longer referred to by the newest root */
};

/* malloc'ed; *count; *depth: levels of the tree of files. NULL: that failed. */
struct place *damage_places(const struct fc_io *sim, size_t *count, unsigned *depth);

enum damage { DAMAGE_FLIP, DAMAGE_SWAP, DAMAGE_ZERO, DAMAGE_PUNCH, DAMAGE_REPLAY, DAMAGES };

extern const char *const damage_names[DAMAGES];
extern const char *const place_names[PLACE_KINDS];

/* A copy of the box's disk with that block damaged: a bit of it flipped, swapped
 * with `other`, zeros, a hole, or what was there before. NULL: nothing differs. */
struct fc_io *damage_make(const struct box *box, enum damage how, const struct place *place, const struct place *other,
			  uint64_t seed);

#endif
