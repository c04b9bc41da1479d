/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Items of the file tree: the first byte says which, the rest is the item. */
#include <stdlib.h>
#include <string.h>

#include "fs/acl.h"
#include "fs/xattr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inode(const uint8_t *item, size_t size)
{
	struct fc_inode first, second;
	uint8_t raw[FC_INODE_BYTES], again[FC_INODE_BYTES];

	if (fc_inode_decode(&first, 17, item, size))
		return;
	fc_inode_encode(&first, raw);
	if (fc_inode_decode(&second, 17, raw, sizeof(raw)))
		abort();
	fc_inode_encode(&second, again);
	if (memcmp(raw, again, sizeof(raw)))
		abort();
}

static void attributes(const uint8_t *item, size_t size)
{
	struct fc_xattr x;
	size_t at = 0, before = 0, end;
	int r;

	while ((r = fc_xattr_next(item, size, &at, &x)) > 0) {
		end = (size_t)(x.held.p - item) + x.held.n;
		if (at <= before || end != at || at > size || !x.name.n || x.name.p < item + before)
			abort();
		before = at;
	}
	if (!r && at != size)
		abort();
}

static void acl(const uint8_t *item, size_t size)
{
	uint8_t copy[FC_ACL_MAX];
	uint32_t mode = 0100000 | 0751, shown = mode;

	if (fc_acl_check(item, size) || fc_acl_empty(size))
		return;
	memcpy(copy, item, size);
	fc_acl_chmod(copy, size, mode);
	fc_acl_to_mode(copy, size, &shown);
	if (shown != mode || fc_acl_check(copy, size))
		abort();
	memcpy(copy, item, size);
	fc_acl_inherit(copy, size, &shown);
	if (shown & ~mode || fc_acl_check(copy, size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const kinds[])(const uint8_t *item, size_t size) = { inode, attributes, acl };

	if (size)
		kinds[data[0] % 3](data + 1, size - 1);
	return 0;
}
