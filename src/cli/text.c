/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/text.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of the longest prefix of s that is one UTF-8 character; 0: none. */
static size_t utf8_length(const unsigned char *s)
{
	static const struct {
		unsigned char mask, lead;
		unsigned low;
	} forms[] = { { 0x80, 0x00, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 } };

	for (size_t n = 0; n < 4; n++) {
		unsigned v = s[0] & (unsigned char)~forms[n].mask;

		if ((s[0] & forms[n].mask) != forms[n].lead)
			continue;
		for (size_t i = 1; i <= n; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			v = v << 6 | (s[i] & 0x3f);
		}
		if (v < forms[n].low || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
			return 0;
		return n + 1;
	}
	return 0;
}

json_t *fc_text_json(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	char *clean, *to;
	json_t *out;

	if (!text)
		return json_null();
	clean = to = malloc(3 * strlen(text) + 1);
	if (!clean)
		return NULL;
	while (*s) {
		size_t n = utf8_length(s);

		memcpy(to, n ? (const char *)s : "\xef\xbf\xbd", n ? n : 3);
		to += n ? n : 3;
		s += n ? n : 1;
	}
	*to = '\0';
	out = json_string(clean);
	free(clean);
	return out;
}
