/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Key slots of a header that anyone may have edited: the input is one slot's
 * bytes, in both copies of a header whose sum is right. Unlocking it with any
 * secret ends; a key that comes out verifies the header. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "key/recovery.h"
#include "key/slot.h"
#include "secret/secret.h"
#include "util/le.h"

#define SLOT 3u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char secret[] = "a secret";
static uint8_t plain[FC_HEADER_BYTES]; /* a header without slots */

#define require(condition) check_that((condition), #condition)
static void check_that(int ok, const char *condition)
{
	if (ok)
		return;
	fprintf(stderr, "not so: %s\n", condition);
	abort();
}

static void set_up(void)
{
	static const uint8_t key[FC_KEY_BYTES];
	struct fc_header h = { .version = FC_FORMAT_VERSION,
			       .cipher = FC_CIPHER_XCHACHA20POLY1305,
			       .key_epoch = 1,
			       .sequence = 1,
			       .log_offset = FC_LOG_OFFSET,
			       .log_bytes = FC_LOG_MIN,
			       .data_offset = fc_header_data_offset(FC_LOG_MIN) };

	require(fc_secret_init() == 0);
	fc_header_encode(&h, FC_HEADER_A, key, plain);
}

/* A guess at its cost would take too long here. */
static bool is_costly(const struct fc_slot *s)
{
	return s->kdf != FC_KDF_NONE && (s->mem > FC_KDF_MEM_MIN || s->ops > 2);
}

static void unlock(const uint8_t *slot, size_t size)
{
	static struct fc_headers headers;
	uint8_t master[FC_KEY_BYTES];
	struct fc_slot_found found;

	headers.newest = 0;
	for (int c = 0; c < 2; c++) {
		uint8_t *raw = headers.raw[c];
		uint64_t offset = c ? FC_HEADER_B : FC_HEADER_A;

		memcpy(raw, plain, FC_HEADER_BYTES);
		fc_put_u64(raw + FC_H_OFFSET, offset);
		memcpy(raw + FC_HEADER_FIXED + (size_t)SLOT * FC_SLOT_BYTES, slot, size);
		fc_put_u64(raw + FC_H_SUM, 0);
		fc_put_u64(raw + FC_H_SUM, XXH3_64bits(raw, FC_HEADER_BYTES));
		headers.status[c] = fc_header_decode(&headers.copy[c], offset, raw);
	}
	require(headers.status[0] == headers.status[1]);
	if (headers.status[0] || is_costly(&headers.copy[0].slots[SLOT]))
		return;
	require(fc_slot_same(&headers.copy[0].slots[SLOT], &headers.copy[1].slots[SLOT]));
	for (uint32_t kind = FC_SLOT_KIND_PASSPHRASE; kind <= FC_SLOT_KIND_TPM2; kind++)
		if (!fc_slot_unlock(&headers, kind, secret, sizeof(secret), master, &found))
			require(found.slot == SLOT && found.at->kind == kind);
}

/* What reads as a recovery code is written the same way by us. */
static void recovery(const char *text, size_t size)
{
	uint8_t code[FC_RECOVERY_BYTES], again[FC_RECOVERY_BYTES];
	char shown[FC_RECOVERY_CHARS + 1];
	unsigned group;
	int r = fc_recovery_parse(text, size, code, &group);

	require(r || !group || group <= FC_RECOVERY_GROUPS);
	if (r)
		return;
	fc_recovery_format(code, shown);
	require(!fc_recovery_parse(shown, strlen(shown), again, &group) && !memcmp(code, again, sizeof(code)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!plain[0])
		set_up();
	if (size && data[0] & 1)
		recovery((const char *)data + 1, size - 1);
	else if (size)
		unlock(data + 1, size - 1 < FC_SLOT_BYTES ? size - 1 : FC_SLOT_BYTES);
	return 0;
}
