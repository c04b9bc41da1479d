/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoding the plain bytes of a root record. What decodes encodes to the same. */
#include <stdlib.h>
#include <string.h>

#include "cipher/root.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t plain[FC_ROOT_PLAIN] = { 0 }, again[FC_ROOT_PLAIN], third[FC_ROOT_PLAIN];
	struct fc_root root, back;

	memcpy(plain, data, size < sizeof(plain) ? size : sizeof(plain));
	if (fc_root_decode(&root, plain))
		return 0;
	fc_root_encode(&root, again);
	if (fc_root_decode(&back, again))
		abort();
	fc_root_encode(&back, third);
	if (memcmp(again, third, sizeof(again)))
		abort();
	return 0;
}
