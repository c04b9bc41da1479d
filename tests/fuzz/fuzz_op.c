/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A log record's payload: operations one after the other. What decodes must be
 * encoded back to the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "fs/op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	while (size) {
		struct fc_op op;
		uint8_t *back;
		size_t used;

		if (fc_op_decode(&op, data, size, &used))
			break;
		if (!used || used > size || fc_op_size(&op) != used)
			abort();
		back = malloc(used);
		if (!back)
			break;
		if (fc_op_encode(&op, back) != used || memcmp(back, data, used))
			abort();
		free(back);
		data += used;
		size -= used;
	}
	return 0;
}
