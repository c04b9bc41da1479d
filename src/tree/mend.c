/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees and space map in other ways than by items: root nodes written anew; and what
 * only a repair does, cutting off and starting anew. */
#include <stdlib.h>

#include "tree/forest.h"
#include "tree/node.h"
#include "tree/space_map.h"
#include "util/le.h"

#define REF_BYTES 8u

static void child_ptr(const struct fc_node *node, unsigned at, struct fc_ptr *ptr)
{
	fc_ptr_decode(ptr, fc_node_value(node->data, at, NULL));
}

/* ---- trees ------------------------------------------------------------------- */

/* A node that is reached twice is gone the second time. */
static void forget(struct fc_tree *tree, const struct fc_ptr *ptr)
{
	struct fc_forest *f = tree->forest;
	struct fc_node *node = fc_node_cache_get(&f->cache, ptr->block);
	unsigned i;

	if (!node || fc_node_level(node->data) != ptr->level || node->data[FC_N_TREE] != tree->kind)
		return;
	for (i = 0; ptr->level && i < fc_node_count(node->data); i++) {
		struct fc_ptr child;

		child_ptr(node, i, &child);
		forget(tree, &child);
	}
	if (node->state == FC_NODE_DIRTY)
		f->dirty--;
	fc_node_cache_drop(&f->cache, node);
}

void fc_tree_reset(struct fc_tree *tree)
{
	struct fc_ptr root = tree->root;

	if (root.block)
		forget(tree, &root);
	fc_tree_make(tree);
}

struct step {
	struct fc_node *node;
	unsigned at;
};

/* Makes the nodes of the way changeable, from the root on. */
static void shadow(struct fc_tree *tree, struct step *step, unsigned steps)
{
	struct fc_forest *f = tree->forest;
	unsigned i;

	for (i = 0; i < steps; i++) {
		struct fc_node *node = step[i].node;

		if (node->state == FC_NODE_DIRTY)
			continue;
		fc_space_free_node(f, node->addr);
		fc_node_cache_redirty(&f->cache, node);
		f->dirty++;
		if (i)
			fc_put_u64(fc_node_value(step[i - 1].node->data, step[i - 1].at, NULL) + FC_P_BLOCK,
				   node->addr);
		else
			tree->root.block = node->addr;
	}
}

void fc_tree_touch(struct fc_tree *tree)
{
	struct step step = { 0 };
	struct fc_ptr root = tree->root;

	if (!fc_tree_node(tree, &root, &step.node))
		shadow(tree, &step, 1);
}

/* The pointer at the end of the way goes, and so does each node that is left without any. */
static void take_out(struct fc_tree *tree, struct step *step, unsigned steps)
{
	struct fc_forest *f = tree->forest;

	for (;;) {
		struct fc_node *node = step[--steps].node;

		fc_node_delete(node->data, step[steps].at);
		if (fc_node_count(node->data))
			return;
		if (!steps) {
			fc_node_init(node->data, tree->kind, 0);
			tree->root.level = 0;
			return;
		}
		f->dirty--;
		fc_node_cache_drop(&f->cache, node);
	}
}

int fc_tree_cut(struct fc_tree *tree, struct fc_key key, uint8_t level)
{
	struct step step[FC_TREE_DEPTH_MAX];
	struct fc_ptr ptr = tree->root;
	unsigned steps = 0;

	if (level >= ptr.level)
		return FC_EINVAL;
	while (ptr.level > level) {
		struct fc_node *node;
		int r = fc_tree_node(tree, &ptr, &node);

		if (r)
			return r;
		step[steps].node = node;
		step[steps].at = fc_node_child(node->data, &key);
		child_ptr(node, step[steps++].at, &ptr);
	}
	shadow(tree, step, steps);
	take_out(tree, step, steps);
	return 0;
}

/* ---- space map ----------------------------------------------------------------- */

static int make_chunk(struct fc_forest *f, size_t i, const struct fc_chunk_truth *truth)
{
	struct fc_space *s = &f->space;
	struct fc_chunk *c = &s->chunk[i];
	unsigned at;

	c->kind = truth->kind;
	if (truth->used || truth->kept) {
		c->map = calloc(FC_MAP_WORDS, sizeof(uint64_t));
		if (!c->map)
			return FC_ENOMEM;
	}
	for (at = 0; c->map && at < FC_MAP_WORDS; at++)
		c->map[at] = (truth->used ? truth->used[at] : 0) | (truth->kept ? truth->kept[at] : 0);
	c->used = (uint16_t)(c->map ? fc_map_weight(c->map, 0, FC_CHUNK_BLOCKS) : 0);
	c->held = c->kind == FC_CHUNK_NODES ? FC_CHUNK_BLOCKS : c->used;
	s->held += c->held;
	if (c->kind == FC_CHUNK_NODES)
		s->node_free += FC_CHUNK_BLOCKS - c->used;
	else if (c->used < FC_CHUNK_BLOCKS)
		c->flags |= FC_CHUNK_F_FREED;
	fc_space_touch(s, c);
	for (at = 0; truth->kept && at < FC_CHUNK_BLOCKS;) {
		unsigned end = at + 1;

		if (!fc_map_weight(truth->kept, at, 1)) {
			at++;
			continue;
		}
		while (end < FC_CHUNK_BLOCKS && fc_map_weight(truth->kept, end, 1))
			end++;
		fc_space_pend(f, (s->first_chunk + i) * FC_CHUNK_BLOCKS + at, end - at);
		at = end;
	}
	return 0;
}

int fc_space_rebuild(struct fc_forest *f, uint64_t first_chunk, const struct fc_chunk_truth *chunk, size_t chunks,
		     uint64_t data_blocks, uint64_t node_blocks)
{
	struct fc_space *s = &f->space;
	uint64_t cap = s->cap;
	bool no_allocate = s->no_allocate;
	size_t i;
	int r;

	fc_tree_reset(&f->spaces);
	fc_space_fini(s);
	s->cap = cap;
	s->no_allocate = no_allocate;
	s->ahead = 1;
	s->first_chunk = first_chunk;
	s->data_used = data_blocks;
	s->node_used = node_blocks;
	r = fc_space_extend(s, chunks);
	for (i = 0; !r && i < chunks; i++)
		r = make_chunk(f, i, &chunk[i]);
	return r;
}

int fc_space_rebuild_ref(struct fc_forest *f, uint64_t start, uint32_t count, uint32_t owners)
{
	uint8_t raw[REF_BYTES];
	int r = fc_node_cache_reserve(&f->cache, FC_TREE_SPARES);

	fc_put_u32(raw, count);
	fc_put_u32(raw + 4, owners);
	if (!r)
		r = fc_tree_put(&f->spaces, fc_key(0, FC_KEY_REF, start), raw, sizeof(raw));
	if (!r)
		f->space.shared++;
	return r;
}
