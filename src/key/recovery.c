/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "key/recovery.h"

#include <sodium.h>
#include <string.h>

#define DATA_CHARS (FC_RECOVERY_GROUP - 1)
#define ALL_CHARS (FC_RECOVERY_GROUPS * FC_RECOVERY_GROUP)

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/* times a, modulo a^5 + a^2 + 1 */
static unsigned gf_step(unsigned v)
{
	v <<= 1;
	return v & 32u ? v ^ 37u : v;
}

static unsigned group_check(const uint8_t *values, unsigned group)
{
	unsigned sum = group + 1;

	for (unsigned i = 0; i < DATA_CHARS; i++)
		sum = gf_step(sum) ^ values[i];
	return gf_step(sum);
}

/* The 5 bits from bit `at` on, high bits first. */
static unsigned take_bits(const uint8_t *code, unsigned at)
{
	unsigned v = (unsigned)code[at / 8] << 8;

	if (at / 8 + 1 < FC_RECOVERY_BYTES)
		v |= code[at / 8 + 1];
	return v >> (11 - at % 8) & 31u;
}

static void put_bits(uint8_t *code, unsigned at, unsigned value)
{
	unsigned v = value << (11 - at % 8);

	code[at / 8] |= (uint8_t)(v >> 8);
	if (at / 8 + 1 < FC_RECOVERY_BYTES)
		code[at / 8 + 1] |= (uint8_t)v;
}

void fc_recovery_format(const uint8_t code[FC_RECOVERY_BYTES], char *text)
{
	uint8_t values[DATA_CHARS];

	for (unsigned g = 0; g < FC_RECOVERY_GROUPS; g++) {
		for (unsigned i = 0; i < DATA_CHARS; i++) {
			values[i] = (uint8_t)take_bits(code, 5 * (g * DATA_CHARS + i));
			*text++ = alphabet[values[i]];
		}
		*text++ = alphabet[group_check(values, g)];
		*text++ = g + 1 < FC_RECOVERY_GROUPS ? '-' : '\0';
	}
	sodium_memzero(values, sizeof(values));
}

/* Value of a character, -1: none, -2: skip. */
static int char_value(char c)
{
	const char *found;

	if (c == '-' || c == ' ' || c == '\t' || c == '\r')
		return -2;
	if (c >= 'a' && c <= 'z')
		c = (char)(c - 'a' + 'A');
	if (c == 'O')
		c = '0';
	if (c == 'I' || c == 'L')
		c = '1';
	found = c ? strchr(alphabet, c) : NULL;
	return found ? (int)(found - alphabet) : -1;
}

int fc_recovery_parse(const char *text, size_t n, uint8_t code[FC_RECOVERY_BYTES], unsigned *group)
{
	uint8_t values[ALL_CHARS];
	unsigned count = 0;
	int rc = 0;

	*group = 0;
	memset(code, 0, FC_RECOVERY_BYTES);
	for (size_t i = 0; i < n && !rc; i++) {
		int v = char_value(text[i]);

		if (v == -2)
			continue;
		if (v < 0 || count == ALL_CHARS)
			rc = FC_EINVAL;
		else
			values[count++] = (uint8_t)v;
	}
	if (!rc && count != ALL_CHARS)
		rc = FC_EINVAL;
	for (unsigned g = 0; g < FC_RECOVERY_GROUPS && !rc; g++) {
		const uint8_t *v = values + g * FC_RECOVERY_GROUP;

		if (group_check(v, g) != v[DATA_CHARS]) {
			*group = g + 1;
			rc = FC_EFORGED;
		}
		for (unsigned i = 0; i < DATA_CHARS && !rc; i++)
			put_bits(code, 5 * (g * DATA_CHARS + i), v[i]);
	}
	if (rc)
		sodium_memzero(code, FC_RECOVERY_BYTES);
	sodium_memzero(values, sizeof(values));
	return rc;
}
