/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/btree.h"

#include <assert.h>
#include <stdlib.h>

#include "tree/forest.h"
#include "tree/node.h"
#include "util/le.h"

#define AHEAD_BLOCKS 256u /* asked for at a time: 1 MiB */
#define AHEAD_GAP 32u     /* blocks skipped that still count as going on */

/* The way from the root to a leaf. step[0] is the root. */
struct path {
	struct {
		struct fc_node *node;
		unsigned at;
	} step[FC_TREE_DEPTH_MAX];
	int depth; /* steps */
};

int fc_tree_read(const struct fc_tree *tree, const struct fc_ptr *ptr, uint8_t *raw)
{
	struct fc_forest *f = tree->forest;
	struct fc_aead *aead;
	int r;

	if (ptr->block & FC_NODE_VIRTUAL)
		return FC_ECORRUPT;
	r = fc_sessions_aead(f->sessions, ptr->session, FC_PURPOSE_NODE, &aead);
	if (!r)
		r = fc_io_read(f->io, raw, FC_NODE_BYTES, ptr->block * FC_BLOCK);
	if (!r)
		r = fc_aead_open(aead, ptr->nonce, NULL, 0, raw, FC_NODE_BYTES, raw, ptr->tag);
	if (!r)
		r = fc_node_check(raw, tree->kind, ptr->level);
	/* only a tree without items has an empty node: a search need not step over any */
	if (!r && !fc_node_count(raw) && ptr->block != tree->root.block)
		r = FC_ECORRUPT;
	return r;
}

/* A scan in key order meets nodes in the order in which commits placed them: when
 * the last read was just before this one, the host may fetch what follows. Two
 * threads may lose each other's hints, no more. */
static void read_ahead(struct fc_forest *f, uint64_t block)
{
	uint64_t last = atomic_exchange_explicit(&f->read_end, block + FC_NODE_BLOCKS, memory_order_relaxed);
	uint64_t end = atomic_load_explicit(&f->ahead_end, memory_order_relaxed);

	if (block < last || block > last + AHEAD_GAP)
		return;
	if (block + AHEAD_BLOCKS / 2 < end && block + 2 * AHEAD_BLOCKS > end)
		return;
	fc_io_ahead(f->io, block * FC_BLOCK, AHEAD_BLOCKS * FC_BLOCK);
	atomic_store_explicit(&f->ahead_end, block + AHEAD_BLOCKS, memory_order_relaxed);
}

int fc_tree_node(struct fc_tree *tree, const struct fc_ptr *ptr, struct fc_node **out)
{
	struct fc_forest *f = tree->forest;
	struct fc_node *node = fc_node_cache_get(&f->cache, ptr->block);
	int r;

	if (node) {
		*out = node;
		/* two pointers to one block are a forger's: it need not be what this one asks for */
		return fc_node_level(node->data) == ptr->level && node->data[FC_N_TREE] == tree->kind ? 0 : FC_ECORRUPT;
	}
	node = fc_node_cache_alloc(&f->cache);
	if (!node)
		return FC_ENOMEM;
	read_ahead(f, ptr->block);
	r = fc_tree_read(tree, ptr, node->data);
	if (r) {
		free(node->data);
		free(node);
		return r;
	}
	node->addr = ptr->block;
	node->ptr = *ptr;
	node->last_insert = UINT16_MAX;
	*out = fc_node_cache_insert(&f->cache, node);
	return 0;
}

static void child_ptr(const struct fc_node *node, unsigned at, struct fc_ptr *ptr)
{
	fc_ptr_decode(ptr, fc_node_value(node->data, at, NULL));
}

static int descend(struct fc_tree *tree, const struct fc_key *key, struct path *path)
{
	struct fc_ptr ptr = tree->root;
	int depth = 0, r;

	for (;;) {
		struct fc_node *node;

		r = fc_tree_node(tree, &ptr, &node);
		if (r)
			return r;
		path->step[depth].node = node;
		if (ptr.level == 0)
			break;
		path->step[depth].at = fc_node_child(node->data, key);
		child_ptr(node, path->step[depth].at, &ptr);
		depth++;
	}
	path->depth = depth + 1;
	return 0;
}

static void fill_item(struct fc_node *node, unsigned at, struct fc_item *item)
{
	item->key = fc_node_key(node->data, at);
	item->data = fc_node_value(node->data, at, &item->bytes);
}

int fc_tree_get(struct fc_tree *tree, struct fc_key key, struct fc_item *item)
{
	struct path path;
	struct fc_node *leaf;
	bool equal;
	unsigned at;
	int r = descend(tree, &key, &path);

	if (r)
		return r;
	leaf = path.step[path.depth - 1].node;
	at = fc_node_search(leaf->data, &key, &equal);
	if (!equal)
		return FC_ENOENT;
	fill_item(leaf, at, item);
	return 0;
}

/* ---- cursors ------------------------------------------------------------ */

/* From an inner step that was just moved, down to the outermost leaf of its subtree. */
static int cursor_down(struct fc_cursor *c, int depth, bool last)
{
	while (fc_node_level(c->path[depth].node->data)) {
		struct fc_ptr ptr;
		int r;

		child_ptr(c->path[depth].node, c->path[depth].at, &ptr);
		r = fc_tree_node(c->tree, &ptr, &c->path[depth + 1].node);
		if (r)
			return r;
		depth++;
		c->path[depth].at = last && fc_node_count(c->path[depth].node->data)
					    ? (uint16_t)(fc_node_count(c->path[depth].node->data) - 1)
					    : 0;
	}
	c->depth = depth + 1;
	return 0;
}

/* The leaf position is past the leaf's end: on to the next leaf. */
static int cursor_forward(struct fc_cursor *c)
{
	int depth = c->depth - 2;
	struct fc_key next;

	while (depth >= 0 && c->path[depth].at + 1u >= fc_node_count(c->path[depth].node->data))
		depth--;
	if (depth < 0)
		return FC_ENOENT;
	next = fc_node_key(c->path[depth].node->data, ++c->path[depth].at);
	if (c->end.type && fc_key_cmp(&next, &c->end) >= 0)
		return FC_ENOENT;
	return cursor_down(c, depth, false);
}

static int cursor_back(struct fc_cursor *c)
{
	int depth = c->depth - 2;

	while (depth >= 0 && c->path[depth].at == 0)
		depth--;
	if (depth < 0)
		return FC_ENOENT;
	c->path[depth].at--;
	return cursor_down(c, depth, true);
}

static int cursor_item(struct fc_cursor *c, struct fc_item *item)
{
	for (;;) {
		struct fc_node *leaf = c->path[c->depth - 1].node;
		int r;

		if (c->path[c->depth - 1].at < fc_node_count(leaf->data)) {
			fill_item(leaf, c->path[c->depth - 1].at, item);
			return 0;
		}
		r = cursor_forward(c);
		if (r)
			return r;
	}
}

static int cursor_place(struct fc_cursor *c, struct fc_tree *tree, const struct fc_key *key, bool *equal)
{
	struct path path;
	int i, r = descend(tree, key, &path);

	if (r)
		return r;
	c->tree = tree;
	c->depth = path.depth;
	for (i = 0; i < path.depth; i++) {
		c->path[i].node = path.step[i].node;
		c->path[i].at = (uint16_t)path.step[i].at;
	}
	c->path[c->depth - 1].at = (uint16_t)fc_node_search(path.step[path.depth - 1].node->data, key, equal);
	return 0;
}

int fc_cursor_seek_to(struct fc_cursor *c, struct fc_tree *tree, struct fc_key key, struct fc_key end,
		      struct fc_item *item)
{
	bool equal;
	int r = cursor_place(c, tree, &key, &equal);

	c->end = end;
	r = r ? r : cursor_item(c, item);
	return !r && fc_key_cmp(&item->key, &key) < 0 ? FC_ECORRUPT : r;
}

int fc_cursor_next(struct fc_cursor *c, struct fc_item *item)
{
	unsigned leaf = (unsigned)c->depth - 1;
	struct fc_key last = fc_node_key(c->path[leaf].node->data, c->path[leaf].at++);
	int r = cursor_item(c, item);

	return !r && fc_key_cmp(&item->key, &last) <= 0 ? FC_ECORRUPT : r;
}

int fc_tree_ge_to(struct fc_tree *tree, struct fc_key key, struct fc_key end, struct fc_item *item)
{
	return fc_cursor_seek_to(&(struct fc_cursor){ 0 }, tree, key, end, item);
}

int fc_tree_le(struct fc_tree *tree, struct fc_key key, struct fc_item *item)
{
	struct fc_cursor c;
	bool equal;
	int r = cursor_place(&c, tree, &key, &equal);

	if (!r && !equal) {
		while (c.path[c.depth - 1].at == 0) {
			r = cursor_back(&c);
			if (r)
				return r;
			c.path[c.depth - 1].at = (uint16_t)fc_node_count(c.path[c.depth - 1].node->data);
		}
		c.path[c.depth - 1].at--;
	}
	if (r)
		return r;
	fill_item(c.path[c.depth - 1].node, c.path[c.depth - 1].at, item);
	return fc_key_cmp(&item->key, &key) > 0 ? FC_ECORRUPT : 0; /* forged nodes may be in the wrong order */
}

int fc_tree_load(struct fc_tree *tree, struct fc_key key)
{
	struct path path;

	return descend(tree, &key, &path);
}

/* ---- changes -------------------------------------------------------------- */

void fc_tree_make(struct fc_tree *tree)
{
	struct fc_node *leaf = fc_node_cache_dirty(&tree->forest->cache);

	fc_node_init(leaf->data, tree->kind, 0);
	tree->forest->dirty++;
	memset(&tree->root, 0, sizeof(tree->root));
	tree->root.block = leaf->addr;
}

static void set_child(struct fc_node *parent, unsigned at, uint64_t addr)
{
	fc_put_u64(fc_node_value(parent->data, at, NULL) + FC_P_BLOCK, addr);
}

/* Makes the node of a step one of the running transaction. The steps above are. */
static void shadow(struct fc_tree *tree, struct path *path, int depth)
{
	struct fc_forest *f = tree->forest;
	struct fc_node *node = path->step[depth].node, *copy = node;

	if (node->state == FC_NODE_DIRTY)
		return;
	fc_space_free_node(f, node->addr);
	if (node->state == FC_NODE_CLEAN) {
		fc_node_cache_redirty(&f->cache, node);
	} else {
		copy = fc_node_cache_dirty(&f->cache);
		memcpy(copy->data, node->data, FC_NODE_BYTES);
		node->superseded = true;
		fc_node_cache_remove(&f->cache, node);
	}
	f->dirty++;
	path->step[depth].node = copy;
	if (depth)
		set_child(path->step[depth - 1].node, path->step[depth - 1].at, copy->addr);
	else
		tree->root.block = copy->addr;
}

/* Drops a dirty node of the running transaction. */
static void discard(struct fc_tree *tree, struct fc_node *node)
{
	assert(node->state == FC_NODE_DIRTY);
	tree->forest->dirty--;
	if (!(node->addr & FC_NODE_VIRTUAL))
		fc_space_free_node(tree->forest, node->addr);
	fc_node_cache_drop(&tree->forest->cache, node);
}

static void encode_child(struct fc_node *child, uint8_t level, uint8_t raw[FC_PTR_BYTES])
{
	struct fc_ptr ptr = { .block = child->addr, .level = level };

	fc_ptr_encode(&ptr, raw);
}

/* Where to cut a node of count items, to one of which (at `at`, `bytes` long)
 * there is no room: the first item of the right node, counting the new one. */
static unsigned cut_point(const struct fc_node *node, unsigned at, unsigned bytes)
{
	unsigned count = fc_node_count(node->data), total, sum = 0, i;

	if (at == count)
		return count; /* appending: leave a full node behind */
	total = fc_node_used(node->data) + FC_SLOT_ITEM_BYTES + bytes;
	if (node->last_insert + 1u == at && at > 1) {
		/* a run of insertions in the middle: cut where it grows, when both sides fit */
		for (i = 0; i < at; i++) {
			uint16_t n;

			fc_node_value((uint8_t *)(uintptr_t)node->data, i, &n);
			sum += n + FC_SLOT_ITEM_BYTES;
		}
		if (total - sum <= FC_NODE_ROOM && sum >= FC_NODE_ROOM / 3)
			return at;
		sum = 0;
	}
	for (i = 0; i <= count; i++) {
		uint16_t n = (uint16_t)bytes;

		if (i != at)
			fc_node_value((uint8_t *)(uintptr_t)node->data, i < at ? i : i - 1, &n);
		sum += n + FC_SLOT_ITEM_BYTES;
		if (sum >= total / 2)
			break;
	}
	return i + 1 > count ? count : i + 1;
}

static uint8_t *insert_at(struct fc_tree *tree, struct path *path, int depth, unsigned at, struct fc_key key,
			  const void *data, unsigned bytes);

/* A new root above the old one. The path grows at its top. */
static void grow(struct fc_tree *tree, struct path *path)
{
	struct fc_node *old = path->step[0].node, *root = fc_node_cache_dirty(&tree->forest->cache);
	uint8_t raw[FC_PTR_BYTES], level = (uint8_t)(tree->root.level + 1);

	assert(level < FC_TREE_DEPTH_MAX);
	tree->forest->dirty++;
	fc_node_init(root->data, tree->kind, level);
	encode_child(old, tree->root.level, raw);
	fc_node_insert(root->data, 0, fc_node_key(old->data, 0), raw, sizeof(raw));
	tree->root.block = root->addr;
	tree->root.level = level;
	memmove(&path->step[1], &path->step[0], (size_t)path->depth * sizeof(path->step[0]));
	path->depth++;
	path->step[0].node = root;
	path->step[0].at = 0;
}

static uint8_t *split_insert(struct fc_tree *tree, struct path *path, int depth, unsigned at, struct fc_key key,
			     const void *data, unsigned bytes)
{
	struct fc_node *left, *right;
	unsigned cut;
	uint8_t *value, raw[FC_PTR_BYTES], level;

	if (depth == 0) {
		grow(tree, path);
		depth = 1;
	}
	left = path->step[depth].node;
	level = (uint8_t)fc_node_level(left->data);
	right = fc_node_cache_dirty(&tree->forest->cache);
	tree->forest->dirty++;
	fc_node_init(right->data, tree->kind, level);
	cut = cut_point(left, at, bytes);
	/* cut counts the new item, so what lies behind it has moved by one */
	fc_node_move(right->data, left->data, at < cut ? cut - 1 : cut);
	if (at < cut) {
		value = fc_node_insert(left->data, at, key, data, bytes);
		left->last_insert = (uint16_t)at;
	} else {
		value = fc_node_insert(right->data, at - cut, key, data, bytes);
		right->last_insert = (uint16_t)(at - cut);
		path->step[depth].node = right;
	}
	encode_child(right, level, raw);
	insert_at(tree, path, depth - 1, path->step[depth - 1].at + 1, fc_node_key(right->data, 0), raw, sizeof(raw));
	return value;
}

/* Inserts into the dirty node of a step, splitting upwards as needed. */
static uint8_t *insert_at(struct fc_tree *tree, struct path *path, int depth, unsigned at, struct fc_key key,
			  const void *data, unsigned bytes)
{
	struct fc_node *node = path->step[depth].node;
	uint8_t *value;

	if (!fc_node_fits(node->data, bytes))
		return split_insert(tree, path, depth, at, key, data, bytes);
	value = fc_node_insert(node->data, at, key, data, bytes);
	node->last_insert = (uint16_t)at;
	return value;
}

static void shadow_path(struct fc_tree *tree, struct path *path)
{
	int i;

	for (i = 0; i < path->depth; i++)
		shadow(tree, path, i);
}

/* Below the tree's lowest key: the separators on the leftmost way go down with it. */
static void lower_separators(struct path *path, const struct fc_key *key)
{
	int i;

	for (i = 0; i < path->depth - 1; i++) {
		struct fc_key k = fc_node_key(path->step[i].node->data, path->step[i].at);

		if (fc_key_cmp(key, &k) < 0)
			fc_node_set_key(path->step[i].node->data, path->step[i].at, *key);
	}
}

int fc_tree_put(struct fc_tree *tree, struct fc_key key, const void *data, size_t bytes)
{
	struct path path;
	struct fc_node *leaf;
	uint16_t old;
	uint8_t *value;
	bool equal;
	unsigned at;
	int r = descend(tree, &key, &path);

	assert(bytes <= FC_ITEM_MAX);
	if (r)
		return r;
	shadow_path(tree, &path);
	leaf = path.step[path.depth - 1].node;
	at = fc_node_search(leaf->data, &key, &equal);
	if (equal) {
		value = fc_node_value(leaf->data, at, &old);
		if (old == bytes) {
			memcpy(value, data, bytes);
			return 0;
		}
		fc_node_delete(leaf->data, at);
	}
	lower_separators(&path, &key);
	insert_at(tree, &path, path.depth - 1, at, key, data, (unsigned)bytes);
	return 0;
}

int fc_tree_edit(struct fc_tree *tree, struct fc_key key, uint8_t **data, uint16_t *bytes)
{
	struct path path;
	struct fc_node *leaf;
	bool equal;
	unsigned at;
	int r = descend(tree, &key, &path);

	if (r)
		return r;
	leaf = path.step[path.depth - 1].node;
	at = fc_node_search(leaf->data, &key, &equal);
	if (!equal)
		return FC_ENOENT;
	shadow_path(tree, &path);
	leaf = path.step[path.depth - 1].node;
	*data = fc_node_value(leaf->data, at, bytes);
	return 0;
}

/* The node of a step is empty: it goes, and so do parents that it leaves empty. */
static void remove_empty(struct fc_tree *tree, struct path *path, int depth)
{
	while (depth && !fc_node_count(path->step[depth].node->data)) {
		discard(tree, path->step[depth].node);
		depth--;
		fc_node_delete(path->step[depth].node->data, path->step[depth].at);
	}
	if (depth == 0 && !fc_node_count(path->step[0].node->data)) {
		fc_node_init(path->step[0].node->data, tree->kind, 0);
		tree->root.level = 0;
	}
}

/* A root with a single child makes room for it. */
static void shrink(struct fc_tree *tree)
{
	while (tree->root.level) {
		struct fc_node *root = fc_node_cache_get(&tree->forest->cache, tree->root.block);
		struct fc_ptr ptr;

		if (!root || fc_node_count(root->data) != 1)
			return;
		child_ptr(root, 0, &ptr);
		if (root->state != FC_NODE_DIRTY)
			return;
		discard(tree, root);
		tree->root = ptr;
	}
}

/* Joins a sparse node with a neighbour that is in memory, when both fit into one with room to spare. */
static void merge(struct fc_tree *tree, struct path *path, int depth)
{
	struct fc_node *parent, *left, *right;
	unsigned at;
	struct fc_ptr ptr;
	struct path side = *path;

	if (!depth || fc_node_used(path->step[depth].node->data) > FC_NODE_ROOM / 3)
		return;
	parent = path->step[depth - 1].node;
	if (fc_node_count(parent->data) < 2)
		return;
	at = path->step[depth - 1].at;
	if (at + 1 == fc_node_count(parent->data))
		at--;
	child_ptr(parent, at, &ptr);
	left = fc_node_cache_get(&tree->forest->cache, ptr.block);
	child_ptr(parent, at + 1, &ptr);
	right = fc_node_cache_get(&tree->forest->cache, ptr.block);
	if (!left || !right || fc_node_used(left->data) + fc_node_used(right->data) > FC_NODE_ROOM * 3 / 4)
		return;
	side.step[depth - 1].at = at + 1;
	side.step[depth].node = right;
	shadow(tree, &side, depth);
	right = side.step[depth].node;
	side.step[depth - 1].at = at;
	side.step[depth].node = left;
	shadow(tree, &side, depth);
	left = side.step[depth].node;
	fc_node_move(left->data, right->data, 0);
	left->last_insert = UINT16_MAX;
	discard(tree, right);
	fc_node_delete(parent->data, at + 1);
	path->step[depth - 1].at = at;
	path->step[depth].node = left;
	merge(tree, path, depth - 1);
}

int fc_tree_del(struct fc_tree *tree, struct fc_key key)
{
	struct path path;
	struct fc_node *leaf;
	bool equal;
	unsigned at;
	int depth, r = descend(tree, &key, &path);

	if (r)
		return r;
	depth = path.depth - 1;
	at = fc_node_search(path.step[depth].node->data, &key, &equal);
	if (!equal)
		return FC_ENOENT;
	shadow_path(tree, &path);
	leaf = path.step[depth].node;
	fc_node_delete(leaf->data, at);
	leaf->last_insert = UINT16_MAX;
	if (!fc_node_count(leaf->data))
		remove_empty(tree, &path, depth);
	else
		merge(tree, &path, depth);
	shrink(tree);
	return 0;
}
