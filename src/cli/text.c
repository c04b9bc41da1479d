/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/text.h"

#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

/* What is not UTF-8, and unless `controls` what moves a cursor, becomes U+FFFD. */
static char *clean_text(const char *s, bool controls)
{
	char *clean = malloc(3 * strlen(s) + 1), *to = clean;

	while (clean && *s) {
		uint32_t point;
		size_t n = fc_utf8_length(s, &point);
		bool keep = n && (controls || !fc_utf8_is_control(point));

		memcpy(to, keep ? s : "\xef\xbf\xbd", keep ? n : 3);
		to += keep ? n : 3;
		s += n ? n : 1;
	}
	if (clean)
		*to = '\0';
	return clean;
}

char *fc_text_plain(const char *text)
{
	return clean_text(text, false);
}

json_t *fc_text_json(const char *text)
{
	char *clean;
	json_t *out;

	if (!text)
		return json_null();
	clean = clean_text(text, true);
	out = clean ? json_string(clean) : NULL;
	free(clean);
	return out;
}
