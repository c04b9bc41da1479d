/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fs/map.h"

#include "fs/fs_internal.h"
#include "util/le.h"

static struct fc_key part_key(uint64_t blob, uint64_t part)
{
	return fc_key(0, FC_KEY_BLOB, blob << FC_BLOB_PART_BITS | part);
}

static uint64_t parts_of(size_t n)
{
	return (n + FC_BLOB_PART - 1) / FC_BLOB_PART;
}

int fc_blob_write(struct fc_fs *fs, const void *data, size_t n, uint8_t *name, size_t *name_bytes)
{
	struct fc_tree *tree = fc_fs_tree(fs);
	uint64_t blob, part, parts = parts_of(n);
	int r;

	if (parts >= 1u << FC_BLOB_PART_BITS)
		return FC_ETOOBIG;
	blob = fc_fs_new_ino(fs);
	/* all parts will lie where the first and the last one do: nothing is between them */
	r = fc_tree_load(tree, part_key(blob, 0));
	if (r)
		return r;
	for (part = 0; part < parts; part++) {
		size_t at = (size_t)part * FC_BLOB_PART, left = n - at;

		(void)fc_tree_put(tree, part_key(blob, part), (const uint8_t *)data + at,
				  left < FC_BLOB_PART ? left : FC_BLOB_PART);
	}
	fc_put_u64(name, blob);
	*name_bytes = FC_BLOB_NAME;
	return 0;
}

int fc_blob_read(struct fc_fs *fs, const uint8_t *name, size_t name_bytes, void *data, size_t n)
{
	uint64_t part, parts = parts_of(n);

	if (name_bytes != FC_BLOB_NAME)
		return FC_ECORRUPT;
	for (part = 0; part < parts; part++) {
		size_t at = (size_t)part * FC_BLOB_PART, want = n - at < FC_BLOB_PART ? n - at : FC_BLOB_PART;
		struct fc_item item;
		int r = fc_tree_get(fc_fs_tree(fs), part_key(fc_get_u64(name), part), &item);

		if (r || item.bytes != want)
			return r && r != FC_ENOENT ? r : FC_ECORRUPT;
		memcpy((uint8_t *)data + at, item.data, want);
	}
	return 0;
}

void fc_blob_free(struct fc_fs *fs, const uint8_t *name, size_t name_bytes)
{
	uint64_t part;

	if (name_bytes != FC_BLOB_NAME)
		return;
	for (part = 0; part < 1u << FC_BLOB_PART_BITS; part++)
		if (fc_tree_del(fc_fs_tree(fs), part_key(fc_get_u64(name), part)))
			return;
}
