/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inodes against the names that lead to them. Every inode but the root has names,
 * as many as it says, or is an orphan; a directory has one, its parent's; and
 * going up from any directory ends at the root.
 */
#include <dirent.h>
#include <stdlib.h>

#include "check/checker.h"

static struct fc_rec *rec_at(const struct fc_checker *c, size_t i)
{
	return FC_LIST_AT(&c->recs, struct fc_rec, i);
}

static struct fc_link *link_at(const struct fc_checker *c, size_t i)
{
	return FC_LIST_AT(&c->links, struct fc_link, i);
}

struct fc_rec *fc_check_rec(const struct fc_checker *c, uint64_t ino)
{
	size_t lo = 0, hi = c->recs.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (rec_at(c, mid)->ino < ino)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < c->recs.n && rec_at(c, lo)->ino == ino ? rec_at(c, lo) : NULL;
}

static void set_field(struct fc_checker *c, const struct fc_rec *rec, uint8_t field, uint64_t value)
{
	fc_mend(c, FC_MEND_SET, fc_key(rec->ino, field, 0), value, 0);
}

/* ---- entries ------------------------------------------------------------------- */

static void drop_link(struct fc_checker *c, struct fc_link *l, const char *action, const char *text)
{
	if (text)
		fc_find_entry(c, l, action, text);
	fc_mend(c, FC_MEND_DELETE, fc_key(l->dir, FC_KEY_ENTRY, l->seq), 0, 0);
	l->dropped = true;
}

static int by_target(const void *a, const void *b)
{
	const struct fc_link *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	if (x->dir != y->dir)
		return x->dir < y->dir ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* A directory has one name: its parent's, if it has that. */
static void choose_name(struct fc_checker *c, const struct fc_rec *rec, size_t end)
{
	size_t i, keep = end;

	for (i = rec->first; i < end; i++)
		if (!link_at(c, i)->dropped &&
		    (keep == end || (link_at(c, i)->dir == rec->parent && link_at(c, keep)->dir != rec->parent)))
			keep = i;
	for (i = rec->first; i < end; i++)
		if (i != keep && !link_at(c, i)->dropped)
			drop_link(c, link_at(c, i), "taken away", "a directory has more than one name");
}

/* Links first..end lead to the inode. */
static void judge_links(struct fc_checker *c, struct fc_rec *rec, size_t first, size_t end)
{
	size_t i;

	rec->first = first;
	if (rec->type == DT_DIR && rec->ino != FC_INO_ROOT)
		choose_name(c, rec, end);
	for (i = first; i < end; i++) {
		struct fc_link *l = link_at(c, i);
		struct fc_rec *dir = fc_check_rec(c, l->dir);

		if (l->dropped)
			continue;
		if (rec->ino == FC_INO_ROOT) {
			drop_link(c, l, "taken away", "a name leads to the root");
			continue;
		}
		if (!(rec->flags & FC_REC_INODE) && rec->type != DT_DIR) {
			drop_link(c, l, NULL, NULL); /* said by who found that its inode is gone */
			continue;
		}
		if (l->type != rec->type) {
			fc_find_entry(c, l, "set right", "a name tells another type than its inode");
			fc_mend(c, FC_MEND_TYPE, fc_key(l->dir, FC_KEY_ENTRY, l->seq), l->ino, rec->type);
		}
		rec->names++;
		c->result->names += !c->round;
		if (dir && rec->type == DT_DIR)
			dir->subdirs++;
	}
}

static void match_links(struct fc_checker *c)
{
	size_t i = 0, end;

	if (c->links.n)
		qsort(c->links.at, c->links.n, sizeof(struct fc_link), by_target);
	for (; i < c->links.n; i = end) {
		struct fc_rec *rec = fc_check_rec(c, link_at(c, i)->ino);

		for (end = i; end < c->links.n && link_at(c, end)->ino == link_at(c, i)->ino; end++)
			if (!rec && !link_at(c, end)->dropped)
				drop_link(c, link_at(c, end), "taken away", "a name leads to an inode that is lost");
		if (rec)
			judge_links(c, rec, i, end);
	}
}

/* ---- inodes ---------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void match_orphans(struct fc_checker *c)
{
	size_t i;

	for (i = 0; i < c->orphans.n; i++) {
		uint64_t ino = *FC_LIST_AT(&c->orphans, uint64_t, i);
		struct fc_rec *rec = fc_check_rec(c, ino);

		if (rec && !rec->nlink && !rec->names && !(rec->flags & FC_REC_FULL)) {
			rec->flags |= FC_REC_ORPHAN;
			c->result->orphans += !c->round;
			continue;
		}
		fc_find(c, FC_CHECK_INODE, ino, "set right", "inode %llu is to be removed, but %s",
			(unsigned long long)ino, rec ? "is in use" : "is not there");
		fc_mend(c, FC_MEND_DELETE, fc_key(0, FC_KEY_ORPHAN, ino), 0, 0);
	}
}

/* Without a name. */
static void judge_nameless(struct fc_checker *c, const struct fc_rec *rec)
{
	if (!(rec->flags & FC_REC_INODE) && rec->type != DT_DIR)
		return; /* gets its name with its new inode */
	if (rec->nlink || (rec->flags & (FC_REC_INODE | FC_REC_FULL)) != FC_REC_INODE) {
		fc_find(c, FC_CHECK_NAME, rec->ino, "now lost+found/#%N", "inode %llu has no name",
			(unsigned long long)rec->ino);
		fc_mend(c, FC_MEND_HOME, fc_key(rec->ino, 0, 0), rec->type, 0);
	} else if (!(rec->flags & FC_REC_ORPHAN)) {
		fc_find(c, FC_CHECK_NAME, rec->ino, "removed by the next mount",
			"inode %llu has no name and waits for its end, but is not noted for it",
			(unsigned long long)rec->ino);
		fc_mend(c, FC_MEND_ORPHAN, fc_key(rec->ino, 0, 0), 0, 0);
	}
}

static void judge_counts(struct fc_checker *c, const struct fc_rec *rec)
{
	uint64_t right = rec->type == DT_DIR ? 2 + rec->subdirs : rec->names;
	uint64_t parent = rec->ino == FC_INO_ROOT ? FC_INO_ROOT
			  : rec->names            ? link_at(c, rec->first)->dir
						  : rec->parent;
	size_t i;

	for (i = rec->first; rec->names && link_at(c, i)->dropped; i++)
		parent = link_at(c, i + 1)->dir;
	if (right > UINT32_MAX)
		right = UINT32_MAX;
	if (rec->nlink != right && rec->flags & FC_REC_INODE)
		fc_find(c, FC_CHECK_INODE, rec->ino, "set right", "it is said to have %u links, and has %llu",
			rec->nlink, (unsigned long long)right);
	if (rec->nlink != right)
		set_field(c, rec, FC_FIELD_NLINK, right);
	if (rec->type != DT_DIR || rec->parent == parent)
		return;
	if (rec->flags & FC_REC_INODE)
		fc_find(c, FC_CHECK_INODE, rec->ino, "set right", "it names inode %llu as its parent, and lies in %llu",
			(unsigned long long)rec->parent, (unsigned long long)parent);
	set_field(c, rec, FC_FIELD_PARENT, parent);
}

static void count_kind(struct fc_checker *c, const struct fc_rec *rec)
{
	struct fc_check_result *res = c->result;
	uint64_t *kind = rec->type == DT_REG   ? &res->files
			 : rec->type == DT_DIR ? &res->directories
			 : rec->type == DT_LNK ? &res->symlinks
					       : &res->others;

	if (!c->round && !(rec->flags & FC_REC_ORPHAN))
		++*kind;
}

static void judge_inodes(struct fc_checker *c)
{
	size_t i;

	for (i = 0; i < c->recs.n; i++) {
		const struct fc_rec *rec = rec_at(c, i);

		count_kind(c, rec);
		if (rec->names || rec->ino == FC_INO_ROOT)
			judge_counts(c, rec);
		else
			judge_nameless(c, rec);
	}
}

/* ---- the root, and the way to it ---------------------------------------------------- */

static void judge_root(struct fc_checker *c)
{
	const struct fc_rec *root = fc_check_rec(c, FC_INO_ROOT);

	if (root && root->type == DT_DIR)
		return;
	fc_find(c, FC_CHECK_INODE, FC_INO_ROOT, "made anew",
		root ? "the root is no directory" : "the root directory is lost");
	if (root)
		fc_mend(c, FC_MEND_PURGE, fc_key(FC_INO_ROOT, 0, 0), 0, 0);
	fc_mend(c, FC_MEND_MAKE, fc_key(FC_INO_ROOT, 0, 0), DT_DIR, FC_DIR_FIRST_SEQ);
}

static struct fc_link *name_of(const struct fc_checker *c, const struct fc_rec *rec)
{
	size_t i = rec->first;

	if (!rec->names)
		return NULL;
	while (link_at(c, i)->dropped)
		i++;
	return link_at(c, i);
}

/* Goes up from rec, marking the way as passed, until it meets something known. */
static struct fc_rec *climb(const struct fc_checker *c, struct fc_rec *rec)
{
	while (rec && !(rec->flags & (FC_REC_REACHED | FC_REC_PASSED))) {
		const struct fc_link *l = name_of(c, rec);

		rec->flags |= FC_REC_PASSED;
		rec = l ? fc_check_rec(c, l->dir) : NULL;
	}
	return rec;
}

/* Marks the same way as known. */
static void settle(const struct fc_checker *c, struct fc_rec *rec)
{
	while (rec && rec->flags & FC_REC_PASSED) {
		const struct fc_link *l = name_of(c, rec);

		rec->flags = (uint8_t)((rec->flags & ~FC_REC_PASSED) | FC_REC_REACHED);
		rec = l ? fc_check_rec(c, l->dir) : NULL;
	}
}

/* A directory that lies in itself loses its name; the next round finds it a home. */
static void judge_ways(struct fc_checker *c)
{
	struct fc_rec *root = fc_check_rec(c, FC_INO_ROOT);
	size_t i;

	if (root)
		root->flags |= FC_REC_REACHED;
	for (i = 0; i < c->recs.n; i++) {
		struct fc_rec *met;
		bool circle;

		if (rec_at(c, i)->type != DT_DIR || rec_at(c, i)->flags & FC_REC_REACHED)
			continue;
		met = climb(c, rec_at(c, i));
		circle = met && met->flags & FC_REC_PASSED;
		settle(c, rec_at(c, i));
		if (circle) {
			drop_link(c, name_of(c, met), "taken away", "a directory lies in itself");
			met->names = 0;
		}
	}
}

int fc_check_links(struct fc_checker *c)
{
	if (c->orphans.n)
		qsort(c->orphans.at, c->orphans.n, sizeof(uint64_t), by_number);
	match_links(c);
	match_orphans(c);
	judge_root(c);
	judge_inodes(c);
	judge_ways(c);
	return fc_check_pause(c, 0);
}
