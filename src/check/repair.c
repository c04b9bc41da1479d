/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The repair: rounds of mends in memory until nothing is left to mend, then a new
 * space tree, then the commit. Then the other root slot is written too, so that
 * no root refers to what was damaged.
 */
#include <stdlib.h>

#include "check/checker.h"

#define ROUNDS_MAX 16u

/* From the end on: what lies before stays where it is. */
static int cut(struct fc_checker *c)
{
	size_t i = c->lost.n;
	int r = 0;

	while (!r && i-- > 0) {
		const struct fc_lost *lost = FC_LIST_AT(&c->lost, struct fc_lost, i);

		if (lost->level == FC_LOST_ITEM)
			continue;
		r = fc_node_cache_reserve(&c->fs->forest.cache, FC_TREE_SPARES);
		if (!r)
			r = fc_tree_cut(fc_fs_tree(c->fs), lost->lo, lost->level);
	}
	return r;
}

static bool anything_to_cut(const struct fc_checker *c)
{
	size_t i;

	for (i = 0; i < c->lost.n; i++)
		if (FC_LIST_AT(&c->lost, struct fc_lost, i)->level != FC_LOST_ITEM)
			return true;
	return false;
}

/* Those that mark content as lost, or all others. */
static int apply_some(struct fc_checker *c, bool lost)
{
	size_t i;
	int r = 0;

	for (i = 0; !r && i < c->mends.n; i++) {
		const struct fc_mend *m = FC_LIST_AT(&c->mends, struct fc_mend, i);

		if ((m->kind == FC_MEND_LOSE) == lost)
			r = fc_mend_apply(c, m);
		if (!r && i % 64 == 0)
			r = fc_check_pause(c, 0);
	}
	return r;
}

static int apply(struct fc_checker *c)
{
	int r;

	if (c->fs->next_ino <= c->top_ino || c->fs->next_ino > FC_CHECK_INO_MAX + 1)
		c->fs->next_ino = c->top_ino + 1;
	c->fs->forest.space.shared = 0; /* the owners recorded may be wrong; they are counted anew in the end */
	r = cut(c);
	if (!r)
		r = apply_some(c, false);
	/* content is read only once: it must not be forgotten because its inode is made just now */
	return r ? r : apply_some(c, true);
}

static int rounds(struct fc_checker *c)
{
	int r = 0;

	while (!r && (c->mends.n || anything_to_cut(c) || !c->round)) {
		if (c->round == ROUNDS_MAX)
			return FC_ECORRUPT;
		r = apply(c);
		c->round++;
		if (!r)
			r = fc_check_round(c);
		if (!r && c->disk_error)
			r = FC_EIO; /* only now: what it does not give is not lost */
	}
	return r;
}

/* Past every generation that there may have been: no two histories share a number. */
static uint64_t next_generation(const struct fc_checker *c)
{
	uint64_t last = c->damage.generation;

	if (c->result->newest_lost)
		last++;
	if (last < c->options->seen_generation)
		last = c->options->seen_generation;
	return last + 1;
}

static uint64_t count_inodes(const struct fc_checker *c)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < c->recs.n; i++)
		n += FC_LIST_AT(&c->recs, struct fc_rec, i)->flags & FC_REC_INODE;
	return n;
}

static int commit(struct fc_checker *c)
{
	struct fc_fs *fs = c->fs;
	uint64_t cap = fs->forest.space.cap, least;
	int r;

	fs->forest.txg = next_generation(c);
	fs->inodes = count_inodes(c);
	fs->forest.space.cap = 0; /* mending may take some blocks more, and the limit may be what is wrong */
	r = fc_mend_space(c);
	if (r)
		return r;
	fs->read_only = false;
	fs->dirty_root = true;
	r = fc_space_reserve(&fs->forest, fs->pages, true);
	if (r) {
		fs->read_only = true;
		return r;
	}
	c->result->changed = true;
	r = fc_commit(fs, false);
	if (r)
		return r;
	least = fc_space_least_cap(&fs->forest.space);
	fs->forest.space.cap = cap && cap < least ? least : cap;
	return fc_commit(fs, true);
}

int fc_check_repair(struct fc_checker *c)
{
	int r = c->commit ? rounds(c) : 0;
	size_t i;

	if (!r)
		r = fc_check_pause(c, 0); /* for the last time */
	if (!r)
		r = fc_mend_copies(c);
	if (!r && c->commit)
		r = commit(c);
	for (i = 0; !r && i < c->findings.n; i++) {
		struct fc_found *f = FC_LIST_AT(&c->findings, struct fc_found, i);

		f->repaired = !f->note && f->action;
	}
	if (!r)
		c->result->repaired = c->result->damages;
	return r;
}
