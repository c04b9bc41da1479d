/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/utf8.h"

size_t fc_utf8_length(const char *text, uint32_t *point)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t low;
	} forms[] = { { 0x80, 0x00, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 } };
	const unsigned char *s = (const unsigned char *)text;

	for (size_t n = 0; n < 4; n++) {
		uint32_t v = s[0] & (unsigned char)~forms[n].mask;

		if ((s[0] & forms[n].mask) != forms[n].lead)
			continue;
		for (size_t i = 1; i <= n; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			v = v << 6 | (s[i] & 0x3f);
		}
		if (v < forms[n].low || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
			return 0;
		if (point)
			*point = v;
		return n + 1;
	}
	return 0;
}
