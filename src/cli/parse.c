/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"

/* Digits from *text on; *text is left behind them. */
static int take_digits(const char **text, uint64_t max, uint64_t *out)
{
	const char *p = *text;
	uint64_t v = 0;

	if (*p < '0' || *p > '9')
		return FC_EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (digit > max || v > (max - digit) / 10)
			return FC_EINVAL;
		v = v * 10 + digit;
	}
	*text = p;
	*out = v;
	return 0;
}

int fc_parse_number(const char *text, uint64_t max, uint64_t *out)
{
	int rc = take_digits(&text, max, out);

	return rc ? rc : *text ? FC_EINVAL : 0;
}

int fc_parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMGTkmgt";
	const char *unit;
	unsigned shift = 0;
	uint64_t v;

	if (take_digits(&text, INT64_MAX, &v))
		return FC_EINVAL;
	if (*text) {
		unit = strchr(units, *text);
		if (!unit || text[1])
			return FC_EINVAL;
		shift = 10 * (unsigned)((unit - units) % 4 + 1);
	}
	if (v > (uint64_t)INT64_MAX >> shift)
		return FC_EINVAL;
	*bytes = v << shift;
	return 0;
}

int fc_parse_time(const char *text, unsigned *seconds)
{
	const uint64_t year = 366 * 86400;
	unsigned unit = 1;
	uint64_t v;

	if (take_digits(&text, year, &v))
		return FC_EINVAL;
	switch (*text) {
	case '\0':
		break;
	case 's':
		text++;
		break;
	case 'm':
		unit = 60;
		text++;
		break;
	case 'h':
		unit = 3600;
		text++;
		break;
	case 'd':
		unit = 86400;
		text++;
		break;
	default:
		return FC_EINVAL;
	}
	if (*text || v > year / unit)
		return FC_EINVAL;
	*seconds = (unsigned)v * unit;
	return 0;
}

void fc_format_time(uint64_t seconds, char *text)
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(text, FC_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(text, FC_TIME_TEXT, "@%llu", (unsigned long long)seconds);
}

void fc_format_uuid(const uint8_t uuid[16], char *text)
{
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*text++ = '-';
		text += snprintf(text, 3, "%02x", uuid[i]);
	}
}
