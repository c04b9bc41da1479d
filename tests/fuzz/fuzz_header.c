/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoding a header: any bytes, with magic and sum made right (first byte odd),
 * so that what lies behind them is reached. What decodes encodes to the same. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "store/header.h"
#include "util/le.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t key[FC_KEY_BYTES];
	static uint8_t raw[FC_HEADER_BYTES], again[FC_HEADER_BYTES];
	static struct fc_header h, back;
	uint64_t offset;

	if (!size)
		return 0;
	offset = data[0] & 2 ? FC_HEADER_B : FC_HEADER_A;
	memset(raw, 0, sizeof(raw));
	memcpy(raw, data + 1, size - 1 < sizeof(raw) ? size - 1 : sizeof(raw));
	if (data[0] & 1) {
		memcpy(raw, FC_MAGIC, FC_MAGIC_BYTES);
		fc_put_u64(raw + FC_H_SUM, 0);
		fc_put_u64(raw + FC_H_SUM, XXH3_64bits(raw, sizeof(raw)));
	}
	if (fc_header_decode(&h, offset, raw))
		return 0;
	fc_header_encode(&h, offset, key, again);
	require(fc_header_verify(again, key) == 0);
	require(fc_header_decode(&back, offset, again) == 0);
	require(!memcmp(&h, &back, sizeof(h)));
	return 0;
}
