/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes that depend on a seed and their place alone. */
#ifndef FC_TESTS_CONTENT_H
#define FC_TESTS_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fusecrypt/format.h"

#define CONTENT_SMALL 100u
#define CONTENT_SMALL_NAME "user.small"
#define CONTENT_BIG 65536u
#define CONTENT_BIG_NAME "user.big"

static inline bool content_is_hole(uint64_t block)
{
	return block % 4 == 1;
}

static inline uint64_t content_word(uint64_t seed, uint64_t at)
{
	uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15ull + at;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* Bytes off.. of it, n of them. holes: some blocks are zeros. */
static inline void content_fill(uint64_t seed, bool holes, uint64_t off, size_t n, uint8_t *out)
{
	size_t i = 0;

	while (i < n) {
		uint64_t at = off + i, word = content_word(seed, at / 8);
		size_t in = at % 8, part = n - i < 8 - in ? n - i : 8 - in;

		if (holes && content_is_hole(at / FC_BLOCK))
			word = 0;
		memcpy(out + i, (const uint8_t *)&word + in, part);
		i += part;
	}
}

/* Is path a name in that directory? */
static inline bool content_is_in(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (!n)
		return !strchr(path, '/');
	return !strncmp(path, dir, n) && path[n] == '/' && !strchr(path + n + 1, '/');
}

#endif
