/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tree node as a tag that is right would vouch for it: the first byte says of
 * which tree and level, the rest is the node's beginning, and the last bytes of
 * the input are its end. What fc_node_check accepts can be searched and changed;
 * as long as no two values overlap, each change leaves a node that it accepts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tree/node.h"
#include "util/le.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define require(condition) check_that((condition), #condition)
static void check_that(int ok, const char *condition)
{
	if (ok)
		return;
	fprintf(stderr, "not so: %s\n", condition);
	abort();
}

/* Do two values share a byte? Zero-length values share none. */
static bool overlaps(uint8_t *raw)
{
	uint8_t taken[FC_NODE_BYTES] = { 0 };

	for (unsigned i = 0; i < fc_node_count(raw); i++) {
		uint16_t bytes;
		const uint8_t *value = fc_node_value(raw, i, &bytes);

		for (unsigned k = 0; k < bytes; k++)
			if (taken[value - raw + k]++)
				return true;
	}
	return false;
}

static void search(uint8_t *raw)
{
	for (unsigned i = 0; i < fc_node_count(raw); i++) {
		struct fc_key key = fc_node_key(raw, i);
		uint16_t bytes;
		const uint8_t *value = fc_node_value(raw, i, &bytes);
		bool equal;

		require(fc_node_search(raw, &key, &equal) == i && equal);
		require(fc_node_child(raw, &key) == i);
		require(!bytes || (value >= raw + FC_N_SLOTS && value + bytes <= raw + FC_NODE_BYTES));
	}
}

/* A new item before, among or after the others. */
static void insert(uint8_t *raw, uint8_t how)
{
	uint8_t value[FC_ITEM_MAX];
	bool inner = fc_node_level(raw) > 0, equal;
	unsigned bytes = inner ? FC_PTR_BYTES : how % 7 * 300u;
	struct fc_key key = { how * UINT64_C(0x0101010101), how, how % 12 };
	unsigned at = fc_node_search(raw, &key, &equal);

	memset(value, how, sizeof(value));
	if (inner)
		fc_ptr_encode(&(struct fc_ptr){ .block = 1, .level = (uint8_t)(fc_node_level(raw) - 1) }, value);
	if (!equal && fc_node_fits(raw, bytes))
		require(!memcmp(fc_node_insert(raw, at, key, value, bytes), value, bytes));
}

static void change(uint8_t *raw, const uint8_t *how, size_t n, bool sane)
{
	uint8_t tree = raw[FC_N_TREE], level = raw[FC_N_LEVEL], other[FC_NODE_BYTES];

	for (size_t i = 0; i < n; i++) {
		unsigned count = fc_node_count(raw);

		if (how[i] < 96 && count > 1)
			fc_node_delete(raw, how[i] % count);
		else if (how[i] < 224)
			insert(raw, how[i]);
		else if (count > 1) { /* split, and go on with one half */
			fc_node_init(other, tree, level);
			fc_node_move(other, raw, 1 + how[i] % (count - 1));
			require(!sane || !fc_node_check(other, tree, level));
			if (how[i] & 1)
				memcpy(raw, other, FC_NODE_BYTES);
		}
		require(!sane || !fc_node_check(raw, tree, level));
		/* overlapping values may have made it one that would not be accepted: then nobody goes on with it */
		if (fc_node_check(raw, tree, level))
			break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *raw; /* of its own: what lies beyond is noticed */
	uint8_t tree, level;
	size_t n;

	if (!size)
		return 0;
	tree = data[0] & 1 ? FC_TREE_SPACE : FC_TREE_FILE;
	level = (uint8_t)(data[0] >> 1 & 3);
	raw = calloc(1, FC_NODE_BYTES);
	require(raw != NULL);
	n = size - 1 < FC_NODE_BYTES ? size - 1 : FC_NODE_BYTES;
	memcpy(raw + FC_NODE_BYTES - n, data + size - n, n);
	memcpy(raw, data + 1, n / 2);
	if (data[0] & 8) {
		fc_put_u32(raw + FC_N_MAGIC, FC_NODE_MAGIC);
		raw[FC_N_LEVEL] = level;
		raw[FC_N_TREE] = tree;
	}
	if (!fc_node_check(raw, tree, level)) {
		search(raw);
		change(raw, data + 1, n < 24 ? n : 24, !overlaps(raw));
	}
	free(raw);
	return 0;
}
