/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A canonical text of everything that a tree holds: one line a name, ascending
 * by name, with type, mode, owner, links, size, times, attributes and a hash
 * of the content. Inodes are numbered by first visit, so that two trees that a
 * user cannot tell apart have the same text whatever their inode numbers.
 * Directories have no size in it, and nothing has its blocks.
 */
#ifndef FC_TESTS_WALK_H
#define FC_TESTS_WALK_H

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "model.h"

struct fc_text {
	char *bytes; /* NUL-terminated once something was added */
	size_t n, room;
};

void fc_text_add(struct fc_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void fc_text_clear(struct fc_text *text)
{
	text->n = 0;
}
void fc_text_free(struct fc_text *text);
static inline uint64_t fc_text_hash(const struct fc_text *text)
{
	return XXH3_64bits(text->bytes, text->n);
}
/* Writes the lines in which both differ to standard error. */
void fc_text_diff(const struct fc_text *want, const struct fc_text *got);

/* Is a unit (FC_BLOCK bytes) all zero? If not, its hash. */
static inline bool fc_walk_unit(const uint8_t *unit, uint64_t *hash)
{
	if (unit[0] == 0 && memcmp(unit, unit + 1, FC_BLOCK - 1) == 0)
		return true;
	*hash = XXH3_64bits(unit, FC_BLOCK);
	return false;
}

/* A unit's part of its file's sum. */
static inline uint64_t fc_walk_content(uint64_t index, uint64_t hash)
{
	uint64_t both[2] = { index, hash };

	return XXH3_64bits(both, sizeof(both));
}

void fc_walk_model(const struct fc_model *m, struct fc_text *out);

/* How a file's content is found: by SEEK_DATA and SEEK_HOLE; files up to 1 MiB
 * are also read whole when asked to, and both must agree. */
#define FC_WALK_WHOLE 1u
/* Entries with their attributes from readdir (readdirplus). */
#define FC_WALK_PLUS 2u

/* The same text from an open container. What cannot be had or contradicts
 * itself (lookup against readdir, attributes, `..`) becomes an "error" line,
 * and the number of these is returned. inodes, if not NULL: how many there are. */
unsigned fc_walk_container(struct fc_fs *fs, unsigned how, struct fc_text *out, uint64_t *inodes);

#endif
