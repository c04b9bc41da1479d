/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FC_UTIL_UTF8_H
#define FC_UTIL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes (1 to 4) of the character that s, which ends with a NUL, begins with;
 * *point (may be NULL) is its number. 0: these bytes are not UTF-8 (RFC 3629:
 * no surrogates, nothing longer than it must be). */
size_t fc_utf8_length(const char *s, uint32_t *point);

/* C0, DEL, C1. */
static inline bool fc_utf8_is_control(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

#endif
