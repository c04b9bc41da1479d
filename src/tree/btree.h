/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The copy-on-write B+tree (two instances: files and space). After Rodeh,
 * "B-trees, shadowing, and clones", ACM TOS 3(4), 2008; merging is lazy: a
 * node goes when it is empty or when it fits into a neighbour that is in
 * memory.
 *
 * Locking: the caller's lock (struct fc_fs.lock): shared for lookups and
 * cursors, exclusive for changes. Pointers into nodes are valid until the next
 * change of the tree or the end of the lock hold.
 *
 * Failing: lookups read nodes and may give FC_EIO, FC_EFORGED, FC_ECORRUPT,
 * FC_ENOMEM. A change on keys whose paths were loaded (fc_tree_load) in the
 * same lock hold cannot fail; so an operation first loads every key that it
 * will touch, then checks, then changes, and is all or nothing.
 */
#ifndef FC_TREE_BTREE_H
#define FC_TREE_BTREE_H

#include "cache/node_cache.h"

struct fc_key {
	uint64_t ino, off;
	uint8_t type;
};

static inline struct fc_key fc_key(uint64_t ino, uint8_t type, uint64_t off)
{
	return (struct fc_key){ .ino = ino, .off = off, .type = type };
}

static inline int fc_key_cmp(const struct fc_key *a, const struct fc_key *b)
{
	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return a->off < b->off ? -1 : a->off > b->off;
}

struct fc_item {
	struct fc_key key;
	const uint8_t *data; /* in the node */
	uint16_t bytes;
};

struct fc_tree;

/* The item with that key. 0 or FC_ENOENT or a reading error. */
int fc_tree_get(struct fc_tree *tree, struct fc_key key, struct fc_item *item);
/* The first item at or after key / the last at or before it. FC_ENOENT: none.
 * to: items from `end` on are not asked for: a node that can only hold such is not
 * read, and so does no harm when it cannot be. They may be given all the same. */
int fc_tree_ge_to(struct fc_tree *tree, struct fc_key key, struct fc_key end, struct fc_item *item);
static inline int fc_tree_ge(struct fc_tree *tree, struct fc_key key, struct fc_item *item)
{
	return fc_tree_ge_to(tree, key, (struct fc_key){ 0 }, item);
}
int fc_tree_le(struct fc_tree *tree, struct fc_key key, struct fc_item *item);
/* Loads the path to key and makes sure that memory for changing it is there.
 * 0 or a reading error. */
int fc_tree_load(struct fc_tree *tree, struct fc_key key);
/* Inserts or replaces; bytes <= FC_ITEM_MAX. data must not point into the tree.
 * 0, or a reading error when the path was not loaded before. */
int fc_tree_put(struct fc_tree *tree, struct fc_key key, const void *data, size_t bytes);
/* As put, for an item that exists: returns its bytes (of the same length) to be
 * changed in place before the next call on the tree. */
int fc_tree_edit(struct fc_tree *tree, struct fc_key key, uint8_t **data, uint16_t *bytes);
/* 0, FC_ENOENT or a reading error. */
int fc_tree_del(struct fc_tree *tree, struct fc_key key);

/* A scan in key order. Lookups only; a change of the tree ends it (seek again). */
struct fc_cursor {
	struct fc_tree *tree;
	struct {
		struct fc_node *node;
		uint16_t at;
	} path[FC_TREE_DEPTH_MAX];
	int depth;
	struct fc_key end; /* type 0: of the tree */
};
/* Positions at the first item >= key. 0, FC_ENOENT at the end, reading errors. to: as above. */
int fc_cursor_seek_to(struct fc_cursor *c, struct fc_tree *tree, struct fc_key key, struct fc_key end,
		      struct fc_item *item);
static inline int fc_cursor_seek(struct fc_cursor *c, struct fc_tree *tree, struct fc_key key, struct fc_item *item)
{
	return fc_cursor_seek_to(c, tree, key, (struct fc_key){ 0 }, item);
}
int fc_cursor_next(struct fc_cursor *c, struct fc_item *item);

#endif
