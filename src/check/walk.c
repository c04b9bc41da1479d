/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Both trees, node by node. A node must open, be well-formed, hold keys between
 * those that its parent says, and be the only one in its place: so every node is
 * visited once, however the pointers go, and keys ascend over the whole tree. A
 * node that is not so is lost with all below it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "check/checker.h"
#include "tree/node.h"
#include "util/le.h"

typedef int (*take_item)(struct fc_checker *c, const struct fc_item *item);

struct walk {
	struct fc_checker *c;
	struct fc_tree *tree;
	take_item take;                  /* NULL: nodes only */
	uint8_t *raw[FC_TREE_DEPTH_MAX]; /* by level, made when needed */
};

/* Keys of a node: from lo, below hi. */
struct bounds {
	struct fc_key lo, hi;
};

static const struct bounds everything = { { 0, 0, 0 }, { UINT64_MAX, UINT64_MAX, UINT8_MAX } };

int fc_check_pause(struct fc_checker *c, uint64_t blocks)
{
	c->done += blocks;
	if (c->options->progress && !c->round)
		c->options->progress(c->options->arg, c->done, c->all);
	return c->options->stop && c->options->stop(c->options->arg) ? FC_EINTERRUPTED : 0;
}

/* ---- what is lost ------------------------------------------------------------------ */

bool fc_check_lost(const struct fc_checker *c, struct fc_key lo, struct fc_key hi, struct fc_key *from,
		   struct fc_key *to)
{
	size_t first = 0, end = c->lost.n;

	/* they come in the order of the walk and do not overlap: the first that ends after lo */
	while (first < end) {
		size_t mid = (first + end) / 2;

		if (fc_key_cmp(&FC_LIST_AT(&c->lost, struct fc_lost, mid)->hi, &lo) <= 0)
			first = mid + 1;
		else
			end = mid;
	}
	if (first == c->lost.n || fc_key_cmp(&FC_LIST_AT(&c->lost, struct fc_lost, first)->lo, &hi) >= 0)
		return false;
	*from = FC_LIST_AT(&c->lost, struct fc_lost, first)->lo;
	*to = FC_LIST_AT(&c->lost, struct fc_lost, first)->hi;
	return true;
}

static const char *reason(int error)
{
	switch (error) {
	case FC_EIO:
		return "cannot be read";
	case FC_EFORGED:
		return "does not authenticate";
	case FC_EEXIST:
		return "lies where another one does";
	default:
		return "is not well-formed";
	}
}

static void say_lost(struct fc_checker *c, const struct walk *w, const struct fc_ptr *ptr, const struct bounds *b,
		     int error)
{
	const char *what = ptr->level ? "an inner node" : "a leaf";
	unsigned long long block = ptr->block, lo = b->lo.ino, hi = b->hi.ino;
	char inodes[64];

	if (w->tree->kind == FC_TREE_SPACE) {
		fc_find(c, FC_CHECK_NODE, 0, "the space tree is built anew", "%s of the space tree, at block %llu, %s",
			what, block, reason(error));
		return;
	}
	if (b->hi.ino == UINT64_MAX)
		snprintf(inodes, sizeof(inodes), "of inode %llu and later ones", lo);
	else if (lo == hi)
		snprintf(inodes, sizeof(inodes), "of inode %llu", lo);
	else
		snprintf(inodes, sizeof(inodes), "of inodes %llu to %llu", lo, hi);
	fc_find(c, FC_CHECK_NODE, 0, "cut off: what it held is lost",
		"%s of the tree of files, at block %llu, %s (it is %s)", what, block, reason(error), inodes);
}

/* Nothing below ptr is of use. */
static int lose(struct walk *w, const struct fc_ptr *ptr, const struct bounds *b, int error)
{
	struct fc_checker *c = w->c;
	struct fc_lost *lost;

	if (error == FC_ENOMEM)
		return error;
	c->disk_error |= error == FC_EIO;
	say_lost(c, w, ptr, b, error);
	if (w->tree->kind != FC_TREE_FILE)
		return 0;
	lost = fc_list_add(&c->lost, sizeof(*lost));
	if (!lost)
		return FC_ENOMEM;
	*lost = (struct fc_lost){ b->lo, b->hi, ptr->level };
	return 0;
}

/* ---- nodes --------------------------------------------------------------------------- */

/* From memory when it is there: it came from the disk, or is newer. *raw is valid until a node of that level is read. */
static int get_node(struct walk *w, const struct fc_ptr *ptr, uint8_t **raw)
{
	struct fc_node *node = fc_node_cache_get(&w->c->fs->forest.cache, ptr->block);

	if (node) {
		*raw = node->data;
		return fc_node_level(node->data) == ptr->level && node->data[FC_N_TREE] == w->tree->kind ? 0
													 : FC_ECORRUPT;
	}
	if (!w->raw[ptr->level])
		w->raw[ptr->level] = malloc(FC_NODE_BYTES);
	*raw = w->raw[ptr->level];
	return *raw ? fc_tree_read(w->tree, ptr, *raw) : FC_ENOMEM;
}

static bool in_bounds(const uint8_t *raw, const struct bounds *b)
{
	unsigned count = fc_node_count(raw);
	struct fc_key first, last;

	if (!count)
		return true;
	first = fc_node_key(raw, 0);
	last = fc_node_key(raw, count - 1);
	return fc_key_cmp(&first, &b->lo) >= 0 && fc_key_cmp(&last, &b->hi) < 0;
}

/* Values that share bytes are harmless as long as they are only read: a repair would
 * change two at once. */
static bool is_apart(const uint8_t *raw)
{
	uint64_t taken[FC_NODE_BYTES / 64] = { 0 };
	unsigned i, k;

	for (i = 0; i < fc_node_count(raw); i++) {
		uint16_t bytes;
		const uint8_t *value = fc_node_value((uint8_t *)(uintptr_t)raw, i, &bytes);
		unsigned at = (unsigned)(value - raw);

		for (k = at; k < at + bytes; k++) {
			if (taken[k / 64] >> (k % 64) & 1)
				return false;
			taken[k / 64] |= 1ull << (k % 64);
		}
	}
	return true;
}

static int walk_leaf(struct walk *w, uint8_t *raw)
{
	unsigned i;
	int r = 0;

	for (i = 0; !r && w->take && i < fc_node_count(raw); i++) {
		struct fc_item item = { .key = fc_node_key(raw, i) };

		item.data = fc_node_value(raw, i, &item.bytes);
		r = w->take(w->c, &item);
	}
	return r;
}

static int visit(struct walk *w, const struct fc_ptr *ptr, const struct bounds *b);

static int walk_inner(struct walk *w, uint8_t *raw, const struct bounds *b)
{
	unsigned i, count = fc_node_count(raw);
	int r = 0;

	for (i = 0; !r && i < count; i++) {
		/* the first child takes what lies below its key, too */
		struct bounds below = { i ? fc_node_key(raw, i) : b->lo,
					i + 1 < count ? fc_node_key(raw, i + 1) : b->hi };
		struct fc_ptr ptr;

		fc_ptr_decode(&ptr, fc_node_value(raw, i, NULL));
		r = visit(w, &ptr, &below);
	}
	return r;
}

/* The depth is bounded: a child's level is its parent's less one. */
static int visit(struct walk *w, const struct fc_ptr *ptr, const struct bounds *b)
{
	struct fc_checker *c = w->c;
	uint8_t *raw;
	int r = ptr->level < FC_TREE_DEPTH_MAX ? get_node(w, ptr, &raw) : FC_ECORRUPT;

	if (!r && (!in_bounds(raw, b) || !is_apart(raw)))
		r = FC_ECORRUPT;
	if (!r && !(ptr->block & FC_NODE_VIRTUAL)) {
		r = fc_owners_claim_node(&c->owners, ptr->block);
		r = r > 0 ? FC_EEXIST : r;
	}
	if (r)
		return lose(w, ptr, b, r);
	c->nodes++;
	r = fc_check_pause(c, FC_NODE_BLOCKS);
	if (r)
		return r;
	return ptr->level ? walk_inner(w, raw, b) : walk_leaf(w, raw);
}

static int walk_tree(struct fc_checker *c, struct fc_tree *tree, const struct fc_ptr *root, take_item take)
{
	struct walk w = { .c = c, .tree = tree, .take = take };
	unsigned i;
	int r = root->block ? visit(&w, root, &everything) : 0;

	for (i = 0; i < FC_TREE_DEPTH_MAX; i++)
		free(w.raw[i]);
	return r;
}

/* ---- a round ---------------------------------------------------------------------------- */

static int begin_round(struct fc_checker *c)
{
	struct fc_list *lists[] = { &c->lost, &c->recs, &c->links, &c->blobs, &c->orphans, &c->mends };
	const struct fc_space *s = &c->fs->forest.space;
	uint64_t bytes, end;
	size_t i;
	int r = fc_io_size(c->io, &bytes);

	if (r)
		return r;
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		fc_list_clear(lists[i]);
	if (c->round == 1) {
		c->first = c->owners;
		memset(&c->owners, 0, sizeof(c->owners));
	}
	fc_owners_free(&c->owners);
	end = bytes / FC_CHUNK_BYTES + 1;
	if (end < fc_space_end(s))
		end = fc_space_end(s);
	c->nodes = 0;
	c->top_ino = 0;
	return fc_owners_init(&c->owners, s->first_chunk, end > s->first_chunk ? end - s->first_chunk : 0);
}

/* The space tree as it is in memory; when it cannot be used, what is left of it on the disk. */
static int walk_spaces(struct fc_checker *c)
{
	struct fc_forest *f = &c->fs->forest;
	struct fc_tree old = { .forest = f, .kind = FC_TREE_SPACE, .root = c->fs->root.space_tree };

	if (!c->damage.space)
		return walk_tree(c, &f->spaces, &f->spaces.root, fc_check_ref);
	return walk_tree(c, &old, &old.root, NULL);
}

int fc_check_round(struct fc_checker *c)
{
	struct fc_forest *f = &c->fs->forest;
	int r = begin_round(c);

	if (!r && !c->round)
		r = walk_spaces(c);
	if (!r)
		r = walk_tree(c, &f->files, &f->files.root, fc_check_item);
	if (!r)
		r = fc_check_items_end(c);
	if (!r)
		r = fc_check_links(c);
	if (!r && !c->round)
		r = fc_check_space(c);
	return r ? r : c->no_memory ? FC_ENOMEM : 0;
}
