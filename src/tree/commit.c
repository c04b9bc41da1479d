/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a transaction gets to the disk: freeze, write, finish.
 *
 * States of a node and who changes them:
 *   DIRTY   made or shadowed by the running transaction (btree.c)
 *   FROZEN  fc_forest_freeze; its block is known, its tag not yet
 *   CLEAN   fc_forest_finish, when the root that refers to it is durable
 * While nodes are frozen, the running transaction may shadow them: then its
 * copies of inner nodes hold pointers without tags to nodes that are still
 * frozen. fc_forest_finish fills these in.
 */
#include <assert.h>
#include <stdlib.h>

#include "tree/forest.h"
#include "tree/node.h"
#include "util/le.h"

#define WRITE_BYTES (1u << 20) /* nodes that lie side by side are written together */

void fc_forest_fini(struct fc_forest *f)
{
	size_t i;

	for (i = 0; i < f->frozens; i++)
		if (f->frozen[i]->superseded)
			fc_node_cache_drop(&f->cache, f->frozen[i]);
	free(f->frozen);
	fc_space_fini(&f->space);
	fc_node_cache_fini(&f->cache);
}

/* NULL: not in memory. A forged pointer may lead to a block that holds another node
 * there: what is below has to be one level lower, or this would not end. */
static struct fc_node *child_at(struct fc_forest *f, struct fc_node *node, unsigned at)
{
	struct fc_node *child =
		fc_node_cache_get(&f->cache, fc_get_u64(fc_node_value(node->data, at, NULL) + FC_P_BLOCK));

	return child && fc_node_level(child->data) + 1 == fc_node_level(node->data) &&
			       child->data[FC_N_TREE] == node->data[FC_N_TREE]
		       ? child
		       : NULL;
}

/* Gives every dirty node below and with `node` its block, in key order. */
static int place(struct fc_forest *f, struct fc_node *node, bool *any)
{
	unsigned i, count = fc_node_level(node->data) ? fc_node_count(node->data) : 0;
	uint64_t block;
	int r;

	for (i = 0; i < count; i++) {
		struct fc_node *child = child_at(f, node, i);

		if (!child || child->state != FC_NODE_DIRTY)
			continue;
		r = place(f, child, any);
		if (r)
			return r;
		fc_put_u64(fc_node_value(node->data, i, NULL) + FC_P_BLOCK, child->addr);
	}
	if (!(node->addr & FC_NODE_VIRTUAL))
		return 0;
	r = fc_space_alloc_node(f, &block);
	if (r)
		return r;
	*any = true;
	fc_node_cache_move(&f->cache, node, block);
	return 0;
}

static int place_tree(struct fc_tree *tree, bool *any)
{
	struct fc_node *root = fc_node_cache_get(&tree->forest->cache, tree->root.block);
	int r;

	if (!root || root->state != FC_NODE_DIRTY)
		return 0;
	r = place(tree->forest, root, any);
	tree->root.block = root->addr;
	return r;
}

static void collect(struct fc_forest *f, struct fc_node *node)
{
	unsigned i, count = fc_node_level(node->data) ? fc_node_count(node->data) : 0;

	for (i = 0; i < count; i++) {
		struct fc_node *child = child_at(f, node, i);

		if (child && child->state == FC_NODE_DIRTY)
			collect(f, child);
	}
	assert(f->frozens < f->frozen_room);
	node->state = FC_NODE_FROZEN;
	f->frozen[f->frozens++] = node;
}

static void collect_tree(struct fc_tree *tree)
{
	struct fc_node *root = fc_node_cache_get(&tree->forest->cache, tree->root.block);

	if (root && root->state == FC_NODE_DIRTY)
		collect(tree->forest, root);
}

int fc_forest_freeze(struct fc_forest *f)
{
	bool any;
	int r;

	assert(!f->frozens);
	/* one more for the root node, which may not be dirty yet */
	r = fc_node_cache_reserve(&f->cache, FC_TREE_SPARES + f->dirty + 1);
	if (!r)
		r = fc_space_pend_reserve(f, FC_TREE_SPARES + f->dirty + 1);
	if (r)
		return r;
	fc_tree_touch(&f->files);
	r = fc_space_grow_nodes(f, f->dirty + fc_space_tree_need(f));
	/* no room for the comfortable margin: the loop below tells whether it is enough */
	if (r && r != FC_ENOSPC)
		return r;
	do {
		any = false;
		r = place_tree(&f->files, &any);
		if (!r)
			r = place_tree(&f->spaces, &any);
		if (!r)
			r = fc_space_store(f);
		if (r < 0)
			return r;
	} while (any || r > 0);
	if (f->dirty > f->frozen_room) {
		struct fc_node **grown = realloc(f->frozen, f->dirty * 2 * sizeof(*grown));

		if (!grown)
			return FC_ENOMEM;
		f->frozen = grown;
		f->frozen_room = f->dirty * 2;
	}
	collect_tree(&f->files);
	collect_tree(&f->spaces);
	assert(f->frozens == f->dirty);
	f->frozen_files = f->files.root;
	f->frozen_spaces = f->spaces.root;
	f->dirty = 0;
	f->txg++;
	return 0;
}

/* Children come first in the list, so their tags are known. A frozen node's
 * pointers to clean nodes are complete already. */
static void fill_tags(struct fc_forest *f, uint8_t *raw, const struct fc_node *const *sorted, size_t n)
{
	unsigned i, count = fc_node_level(raw) ? fc_node_count(raw) : 0;

	(void)f;
	for (i = 0; i < count; i++) {
		uint8_t *value = fc_node_value(raw, i, NULL);
		uint64_t block = fc_get_u64(value + FC_P_BLOCK);
		size_t lo = 0, hi = n;

		while (lo < hi) {
			size_t mid = (lo + hi) / 2;

			if (sorted[mid]->addr < block)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo < n && sorted[lo]->addr == block)
			fc_ptr_encode(&sorted[lo]->ptr, value);
	}
}

static int by_addr(const void *a, const void *b)
{
	const struct fc_node *const *x = a, *const *y = b;

	return (*x)->addr < (*y)->addr ? -1 : (*x)->addr > (*y)->addr;
}

/* Seals one node into out. The tags of its children are filled into a copy:
 * readers look at the node meanwhile. */
static int seal_node(struct fc_forest *f, struct fc_aead *aead, struct fc_node *node, uint8_t *out,
		     const struct fc_node *const *sorted)
{
	memcpy(out, node->data, FC_NODE_BYTES);
	fill_tags(f, out, sorted, f->frozens);
	node->ptr.block = node->addr;
	node->ptr.session = f->session;
	node->ptr.level = (uint8_t)fc_node_level(node->data);
	node->ptr.generation = f->txg - 1;
	node->ptr.nonce = atomic_fetch_add(&f->node_nonce, 1);
	return fc_aead_seal(aead, node->ptr.nonce, NULL, 0, out, FC_NODE_BYTES, out, node->ptr.tag);
}

int fc_forest_write(struct fc_forest *f)
{
	const struct fc_node **sorted;
	struct fc_aead *aead;
	uint8_t *buf;
	size_t i, run = 0;
	int r;

	if (!f->frozens)
		return 0;
	r = fc_sessions_aead(f->sessions, f->session, FC_PURPOSE_NODE, &aead);
	if (r)
		return r;
	buf = malloc(WRITE_BYTES);
	sorted = malloc(f->frozens * sizeof(*sorted));
	if (!buf || !sorted) {
		free(buf);
		free(sorted);
		return FC_ENOMEM;
	}
	memcpy(sorted, f->frozen, f->frozens * sizeof(*sorted));
	qsort(sorted, f->frozens, sizeof(*sorted), by_addr);
	for (i = 0; i < f->frozens && !r; i++) {
		r = seal_node(f, aead, f->frozen[i], buf + run * FC_NODE_BYTES, sorted);
		run++;
		if (r || (i + 1 < f->frozens && f->frozen[i + 1]->addr == f->frozen[i]->addr + FC_NODE_BLOCKS &&
			  (run + 1) * FC_NODE_BYTES <= WRITE_BYTES))
			continue;
		r = fc_io_write(f->io, buf, run * FC_NODE_BYTES, f->frozen[i + 1 - run]->addr * FC_BLOCK);
		run = 0;
	}
	for (i = 0; i < f->frozens && !r; i++) {
		if (f->frozen[i]->addr == f->frozen_files.block)
			f->frozen_files = f->frozen[i]->ptr;
		if (f->frozen[i]->addr == f->frozen_spaces.block)
			f->frozen_spaces = f->frozen[i]->ptr;
	}
	free(buf);
	free(sorted);
	return r;
}

/* Tags into a dirty inner node of the running transaction and into those below it. */
static void retag(struct fc_forest *f, struct fc_node *node)
{
	unsigned i, count = fc_node_level(node->data) ? fc_node_count(node->data) : 0;

	for (i = 0; i < count; i++) {
		struct fc_node *child = child_at(f, node, i);

		if (!child)
			continue;
		if (child->state == FC_NODE_DIRTY)
			retag(f, child);
		else if (child->state == FC_NODE_FROZEN)
			fc_ptr_encode(&child->ptr, fc_node_value(node->data, i, NULL));
	}
}

static void retag_tree(struct fc_tree *tree)
{
	struct fc_node *root = fc_node_cache_get(&tree->forest->cache, tree->root.block);

	if (!root)
		return;
	if (root->state == FC_NODE_FROZEN)
		tree->root = root->ptr;
	else if (root->state == FC_NODE_DIRTY)
		retag(tree->forest, root);
}

void fc_forest_finish(struct fc_forest *f)
{
	size_t i, k;

	retag_tree(&f->files);
	retag_tree(&f->spaces);
	for (i = 0; i < f->frozens; i++) {
		struct fc_node *node = f->frozen[i];
		unsigned count = fc_node_level(node->data) ? fc_node_count(node->data) : 0;

		for (k = 0; k < count && !node->superseded; k++) {
			struct fc_node *child = child_at(f, node, k);

			/* children come first: those of this commit are clean by now */
			if (child && child->ptr.generation == f->txg - 1)
				fc_ptr_encode(&child->ptr, fc_node_value(node->data, k, NULL));
		}
		if (!node->superseded)
			node->state = FC_NODE_CLEAN;
	}
	for (i = 0; i < f->frozens; i++)
		if (f->frozen[i]->superseded)
			fc_node_cache_drop(&f->cache, f->frozen[i]);
	f->frozens = 0;
	/* root f->txg - 1 is durable: what was freed while f->txg - 2 ran is referred to by neither root */
	fc_space_release(f, f->txg - 2);
}
