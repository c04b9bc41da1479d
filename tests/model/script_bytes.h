/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What steps are made of: names, bytes, profiles. */
#ifndef FC_TESTS_SCRIPT_BYTES_H
#define FC_TESTS_SCRIPT_BYTES_H

#include "script.h"

#define FC_NAMES 14u
#define FC_NAME_TOO_LONG 13u
#define FC_ATTRIBUTES 9u
#define FC_ATTRIBUTE_ACL 7u /* the last two */

/* One round of splitmix64. */
static inline uint64_t fc_script_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

bool fc_script_has(const struct fc_model *m, uint32_t node, unsigned attribute);

#endif
