/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree node's bytes (format.h, FC_N_* and FC_NS_*): pure functions on a
 * buffer of FC_NODE_BYTES. Slots are sorted by key and grow upwards, values
 * lie in a heap that grows downwards. Everything but fc_node_check relies on
 * a node that fc_node_check accepts.
 */
#ifndef FC_TREE_NODE_H
#define FC_TREE_NODE_H

#include "tree/btree.h"

void fc_node_init(uint8_t *raw, uint8_t tree, uint8_t level);
/* Is this a well-formed node of that tree and level? Any bytes are safe. 0 or FC_ECORRUPT. */
int fc_node_check(const uint8_t *raw, uint8_t tree, uint8_t level);

unsigned fc_node_count(const uint8_t *raw);
unsigned fc_node_level(const uint8_t *raw);
struct fc_key fc_node_key(const uint8_t *raw, unsigned at);
void fc_node_set_key(uint8_t *raw, unsigned at, struct fc_key key);
uint8_t *fc_node_value(uint8_t *raw, unsigned at, uint16_t *bytes);
/* The first slot whose key is >= key; fc_node_count when there is none.
 * *equal tells whether it is the key. */
unsigned fc_node_search(const uint8_t *raw, const struct fc_key *key, bool *equal);
/* The child for key in an inner node: the last slot with a key <= key, else 0. */
unsigned fc_node_child(const uint8_t *raw, const struct fc_key *key);

/* Bytes of slots and live values. */
unsigned fc_node_used(const uint8_t *raw);
#define FC_NODE_ROOM (FC_NODE_BYTES - FC_N_SLOTS)
/* Does a new item with that many value bytes fit (compacting if needed)? */
bool fc_node_fits(const uint8_t *raw, unsigned bytes);
/* Inserts before slot at; it fits. Returns where the value lies (filled from data when not NULL). */
uint8_t *fc_node_insert(uint8_t *raw, unsigned at, struct fc_key key, const void *data, unsigned bytes);
void fc_node_delete(uint8_t *raw, unsigned at);
/* Moves slots from.. of src to the end of dst; they fit. */
void fc_node_move(uint8_t *dst, uint8_t *src, unsigned from);

#endif
