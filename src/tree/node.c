/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/node.h"

#include <assert.h>

#include "util/le.h"

static uint8_t *slot(const uint8_t *raw, unsigned at)
{
	return (uint8_t *)(uintptr_t)raw + FC_N_SLOTS + at * FC_SLOT_ITEM_BYTES;
}

void fc_node_init(uint8_t *raw, uint8_t tree, uint8_t level)
{
	memset(raw, 0, FC_NODE_BYTES);
	fc_put_u32(raw + FC_N_MAGIC, FC_NODE_MAGIC);
	raw[FC_N_LEVEL] = level;
	raw[FC_N_TREE] = tree;
	fc_put_u16(raw + FC_N_HEAP, FC_NODE_BYTES);
}

unsigned fc_node_count(const uint8_t *raw)
{
	return fc_get_u16(raw + FC_N_COUNT);
}

unsigned fc_node_level(const uint8_t *raw)
{
	return raw[FC_N_LEVEL];
}

struct fc_key fc_node_key(const uint8_t *raw, unsigned at)
{
	const uint8_t *s = slot(raw, at);

	return (struct fc_key){ .ino = fc_get_u64(s + FC_NS_INO),
				.off = fc_get_u64(s + FC_NS_OFF),
				.type = s[FC_NS_TYPE] };
}

void fc_node_set_key(uint8_t *raw, unsigned at, struct fc_key key)
{
	uint8_t *s = slot(raw, at);

	fc_put_u64(s + FC_NS_INO, key.ino);
	fc_put_u64(s + FC_NS_OFF, key.off);
	s[FC_NS_TYPE] = key.type;
}

uint8_t *fc_node_value(uint8_t *raw, unsigned at, uint16_t *bytes)
{
	const uint8_t *s = slot(raw, at);

	if (bytes)
		*bytes = fc_get_u16(s + FC_NS_BYTES);
	return raw + fc_get_u16(s + FC_NS_AT);
}

static bool check_pointer(const uint8_t *value, unsigned bytes, uint8_t level)
{
	struct fc_ptr ptr;

	if (bytes != FC_PTR_BYTES)
		return false;
	fc_ptr_decode(&ptr, value);
	return ptr.block && !(ptr.block & FC_NODE_VIRTUAL) && ptr.level == level - 1;
}

int fc_node_check(const uint8_t *raw, uint8_t tree, uint8_t level)
{
	unsigned count = fc_node_count(raw), heap = fc_get_u16(raw + FC_N_HEAP), live = 0, i;
	struct fc_key last = { 0, 0, 0 }, key;

	if (fc_get_u32(raw + FC_N_MAGIC) != FC_NODE_MAGIC || raw[FC_N_TREE] != tree || raw[FC_N_LEVEL] != level ||
	    level >= FC_TREE_DEPTH_MAX)
		return FC_ECORRUPT;
	if (count > FC_NODE_ROOM / FC_SLOT_ITEM_BYTES || heap > FC_NODE_BYTES ||
	    FC_N_SLOTS + count * FC_SLOT_ITEM_BYTES > heap || (level && !count))
		return FC_ECORRUPT;
	for (i = 0; i < count; i++) {
		unsigned at = fc_get_u16(slot(raw, i) + FC_NS_AT), bytes = fc_get_u16(slot(raw, i) + FC_NS_BYTES);

		key = fc_node_key(raw, i);
		if (i && fc_key_cmp(&last, &key) >= 0)
			return FC_ECORRUPT;
		/* an empty one lies nowhere: the heap may begin behind it after deletions */
		if ((bytes && at < heap) || bytes > FC_ITEM_MAX || at + bytes > FC_NODE_BYTES)
			return FC_ECORRUPT;
		if (level && !check_pointer(raw + at, bytes, level))
			return FC_ECORRUPT;
		live += bytes;
		last = key;
	}
	/* overlapping values would show as more live bytes than the heap has, or be
	 * harmless: values are only read, and copied one by one */
	if (live + fc_get_u16(raw + FC_N_DEAD) != FC_NODE_BYTES - heap)
		return FC_ECORRUPT;
	return 0;
}

unsigned fc_node_search(const uint8_t *raw, const struct fc_key *key, bool *equal)
{
	unsigned lo = 0, hi = fc_node_count(raw);

	*equal = false;
	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;
		struct fc_key k = fc_node_key(raw, mid);
		int cmp = fc_key_cmp(&k, key);

		if (cmp == 0) {
			*equal = true;
			return mid;
		}
		if (cmp < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

unsigned fc_node_child(const uint8_t *raw, const struct fc_key *key)
{
	bool equal;
	unsigned at = fc_node_search(raw, key, &equal);

	return equal || at == 0 ? at : at - 1;
}

unsigned fc_node_used(const uint8_t *raw)
{
	return fc_node_count(raw) * FC_SLOT_ITEM_BYTES + FC_NODE_BYTES - fc_get_u16(raw + FC_N_HEAP) -
	       fc_get_u16(raw + FC_N_DEAD);
}

bool fc_node_fits(const uint8_t *raw, unsigned bytes)
{
	return fc_node_used(raw) + FC_SLOT_ITEM_BYTES + bytes <= FC_NODE_ROOM;
}

/* Moves the values together so that no byte of the heap is dead. */
static void compact(uint8_t *raw)
{
	uint8_t copy[FC_NODE_BYTES];
	unsigned count = fc_node_count(raw), heap = FC_NODE_BYTES, i;

	memcpy(copy, raw, FC_NODE_BYTES);
	for (i = 0; i < count; i++) {
		uint16_t bytes;
		const uint8_t *value = fc_node_value(copy, i, &bytes);

		heap -= bytes;
		memcpy(raw + heap, value, bytes);
		fc_put_u16(slot(raw, i) + FC_NS_AT, (uint16_t)heap);
	}
	fc_put_u16(raw + FC_N_HEAP, (uint16_t)heap);
	fc_put_u16(raw + FC_N_DEAD, 0);
	/* what was there must not be sealed again: it may be long deleted */
	memset(slot(raw, count), 0, heap - (FC_N_SLOTS + count * FC_SLOT_ITEM_BYTES));
}

uint8_t *fc_node_insert(uint8_t *raw, unsigned at, struct fc_key key, const void *data, unsigned bytes)
{
	unsigned count = fc_node_count(raw), heap = fc_get_u16(raw + FC_N_HEAP);
	uint8_t *s;

	assert(fc_node_fits(raw, bytes));
	if (heap < FC_N_SLOTS + (count + 1) * FC_SLOT_ITEM_BYTES + bytes) {
		compact(raw);
		heap = fc_get_u16(raw + FC_N_HEAP);
	}
	heap -= bytes;
	s = slot(raw, at);
	memmove(s + FC_SLOT_ITEM_BYTES, s, (count - at) * FC_SLOT_ITEM_BYTES);
	memset(s, 0, FC_SLOT_ITEM_BYTES);
	fc_node_set_key(raw, at, key);
	fc_put_u16(s + FC_NS_AT, (uint16_t)heap);
	fc_put_u16(s + FC_NS_BYTES, (uint16_t)bytes);
	fc_put_u16(raw + FC_N_HEAP, (uint16_t)heap);
	fc_put_u16(raw + FC_N_COUNT, (uint16_t)(count + 1));
	if (data && bytes)
		memcpy(raw + heap, data, bytes);
	return raw + heap;
}

void fc_node_delete(uint8_t *raw, unsigned at)
{
	unsigned count = fc_node_count(raw);
	uint16_t bytes;
	uint8_t *value = fc_node_value(raw, at, &bytes), *s = slot(raw, at);

	memset(value, 0, bytes);
	if (value == raw + fc_get_u16(raw + FC_N_HEAP))
		fc_put_u16(raw + FC_N_HEAP, (uint16_t)(fc_get_u16(raw + FC_N_HEAP) + bytes));
	else
		fc_put_u16(raw + FC_N_DEAD, (uint16_t)(fc_get_u16(raw + FC_N_DEAD) + bytes));
	memmove(s, s + FC_SLOT_ITEM_BYTES, (count - at - 1) * FC_SLOT_ITEM_BYTES);
	memset(slot(raw, count - 1), 0, FC_SLOT_ITEM_BYTES);
	fc_put_u16(raw + FC_N_COUNT, (uint16_t)(count - 1));
	if (count == 1) {
		fc_put_u16(raw + FC_N_HEAP, FC_NODE_BYTES);
		fc_put_u16(raw + FC_N_DEAD, 0);
	}
}

void fc_node_move(uint8_t *dst, uint8_t *src, unsigned from)
{
	unsigned count = fc_node_count(src), i;

	for (i = from; i < count; i++) {
		uint16_t bytes;
		const uint8_t *value = fc_node_value(src, i, &bytes);

		fc_node_insert(dst, fc_node_count(dst), fc_node_key(src, i), value, bytes);
	}
	while (count > from)
		fc_node_delete(src, --count);
	if (from)
		compact(src);
}
