/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nodes that old sessions sealed are written anew. Only leaves are looked for: a
 * node is written with every change below it, so above a leaf of the newest session
 * there is no older node.
 */
#include "tree/forest.h"
#include "tree/node.h"

struct place {
	struct fc_node *leaf; /* NULL: it need not be renewed */
	struct fc_key next;   /* the lowest key of the leaf behind it */
	bool last;            /* there is none behind */
};

static bool is_old(struct fc_tree *tree, const struct fc_ptr *ptr, uint32_t session)
{
	struct fc_node *node = fc_node_cache_get(&tree->forest->cache, ptr->block);

	/* dirty and frozen ones have not their pointer yet: they will be of this session */
	return node && node->state != FC_NODE_CLEAN ? false : ptr->session < session;
}

/* The leaf for key, read only if it is old. */
static int find(struct fc_tree *tree, uint32_t session, const struct fc_key *key, struct place *place)
{
	struct fc_ptr ptr = tree->root;

	place->last = true;
	place->leaf = NULL;
	while (ptr.level) {
		struct fc_node *node;
		int r = fc_tree_node(tree, &ptr, &node);
		unsigned at;

		if (r)
			return r;
		at = fc_node_child(node->data, key);
		if (at + 1 < fc_node_count(node->data)) {
			place->next = fc_node_key(node->data, at + 1);
			place->last = false;
		}
		fc_ptr_decode(&ptr, fc_node_value(node->data, at, NULL));
	}
	return is_old(tree, &ptr, session) ? fc_tree_node(tree, &ptr, &place->leaf) : 0;
}

/* Changes nothing of it, but it counts as changed. */
static int touch_leaf(struct fc_tree *tree, const struct fc_node *leaf)
{
	struct fc_key key;
	uint16_t bytes;
	uint8_t *data;
	int r;

	if (!fc_node_count(leaf->data)) { /* a tree without items */
		fc_tree_touch(tree);
		return 0;
	}
	key = fc_node_key(leaf->data, 0);
	r = fc_tree_load(tree, key);
	return r ? r : fc_tree_edit(tree, key, &data, &bytes);
}

int fc_tree_renew(struct fc_tree *tree, uint32_t session, struct fc_key *from, unsigned max)
{
	unsigned steps, touched = 0;

	for (steps = 0; touched < max && steps < 64 * max; steps++) {
		struct place place;
		int r = find(tree, session, from, &place);

		if (!r && place.leaf) {
			r = touch_leaf(tree, place.leaf);
			touched++;
		}
		if (r)
			return r;
		if (place.last)
			return 0;
		*from = place.next;
	}
	return 1;
}
