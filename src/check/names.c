/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entries of a directory, and its index of names: each entry's hash leads to
 * its sequence number, and no other does.
 */
#include <stdlib.h>

#include "check/checker.h"
#include "util/le.h"

/* value of an ENTRY item: fs/dir.c */
enum { ENTRY_INO = 0, ENTRY_TYPE = 8, ENTRY_NAME = 9 };
#define SEQ_BYTES 8u

/* ---- entries ------------------------------------------------------------------ */

static bool parse(const struct fc_item *item, struct fc_link *link, struct fc_bytes *name)
{
	char text[FC_NAME_MAX + 1];
	struct fc_bytes same;

	if (item->bytes <= ENTRY_NAME || item->bytes > ENTRY_NAME + FC_NAME_MAX || item->key.off < FC_DIR_FIRST_SEQ ||
	    item->key.off >= INT64_MAX)
		return false;
	*link = (struct fc_link){ .ino = fc_get_u64(item->data + ENTRY_INO),
				  .dir = item->key.ino,
				  .seq = item->key.off,
				  .type = item->data[ENTRY_TYPE] };
	*name = (struct fc_bytes){ .p = item->data + ENTRY_NAME, .n = item->bytes - ENTRY_NAME };
	if (memchr(name->p, 0, name->n))
		return false;
	memcpy(text, name->p, name->n);
	text[name->n] = 0;
	return link->ino && !fc_dir_check_name(text, &same);
}

int fc_check_entry(struct fc_checker *c, const struct fc_item *item)
{
	struct fc_current *cur = &c->cur;
	struct fc_link parsed, *link;
	struct fc_bytes bytes;
	struct fc_name *name;

	if (!parse(item, &parsed, &bytes)) {
		fc_check_bad_item(c, FC_CHECK_NAME, item->key, "one of its names makes no sense");
		return 0;
	}
	link = fc_list_add(&c->links, sizeof(*link));
	name = fc_list_add(&cur->names, sizeof(*name));
	if (!link || !name)
		return FC_ENOMEM;
	*link = parsed;
	*name = (struct fc_name){ fc_dir_hash(c->fs, &bytes), parsed.seq };
	cur->entries++;
	if (parsed.seq > cur->top_seq)
		cur->top_seq = parsed.seq;
	return 0;
}

/* ---- the index ------------------------------------------------------------------- */

static int by_hash(const void *a, const void *b)
{
	const struct fc_name *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static const struct fc_name *name_at(const struct fc_current *cur, size_t i)
{
	return FC_LIST_AT(&cur->names, struct fc_name, i);
}

/* Where the entries end that have the same hash as the i-th. */
static size_t group_end(const struct fc_current *cur, size_t i)
{
	size_t end = i + 1;

	while (end < cur->names.n && name_at(cur, end)->hash == name_at(cur, i)->hash)
		end++;
	return end;
}

/* Two entries of one hash: with one name, the later one cannot be looked up. */
static bool same_name(struct fc_checker *c, uint64_t seq, uint64_t other)
{
	struct fc_item a, b;
	uint8_t copy[FC_NAME_MAX];
	size_t n;

	if (fc_tree_get(fc_fs_tree(c->fs), fc_key(c->cur.ino, FC_KEY_ENTRY, seq), &a))
		return false;
	n = a.bytes - ENTRY_NAME;
	memcpy(copy, a.data + ENTRY_NAME, n);
	return !fc_tree_get(fc_fs_tree(c->fs), fc_key(c->cur.ino, FC_KEY_ENTRY, other), &b) && b.bytes == a.bytes &&
	       !memcmp(copy, b.data + ENTRY_NAME, n);
}

static void drop_entry(struct fc_checker *c, uint64_t seq)
{
	size_t lo = c->cur.first_link, hi = c->links.n - 1;
	struct fc_link *l;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (FC_LIST_AT(&c->links, struct fc_link, mid)->seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	l = FC_LIST_AT(&c->links, struct fc_link, lo);
	fc_find_entry(c, l, "taken away", "the directory has that name twice");
	fc_mend(c, FC_MEND_DELETE, fc_key(l->dir, FC_KEY_ENTRY, seq), 0, 0);
	l->dropped = true;
}

/* So many different names of one hash there are not, unless someone made them. */
#define TWINS_MAX 16u

static void check_twins(struct fc_checker *c, size_t from, size_t end)
{
	size_t i, k;

	for (i = from + 1; i < end; i++) {
		bool twin = i - from >= TWINS_MAX;

		for (k = from; !twin && k < i; k++)
			twin = same_name(c, name_at(&c->cur, k)->seq, name_at(&c->cur, i)->seq);
		if (twin)
			drop_entry(c, name_at(&c->cur, i)->seq);
	}
}

/* The index of that hash is to lead to the entries from..end and no others. */
static void index_again(struct fc_checker *c, uint64_t hash, size_t from, size_t end)
{
	struct fc_key key = fc_key(c->cur.ino, FC_KEY_NAME, hash);

	c->cur.index_bad++;
	fc_mend(c, FC_MEND_DELETE, key, 0, 0);
	for (; from < end; from++)
		fc_mend(c, FC_MEND_NAME, key, name_at(&c->cur, from)->seq, 0);
}

static void sort_names(struct fc_current *cur)
{
	if (cur->named)
		return;
	cur->named = true;
	if (cur->names.n)
		qsort(cur->names.at, cur->names.n, sizeof(struct fc_name), by_hash);
}

/* Entries whose hash comes before `hash` have no item in the index. */
static void pass_names(struct fc_checker *c, uint64_t hash, bool all)
{
	struct fc_current *cur = &c->cur;

	while (cur->name_at < cur->names.n && (all || name_at(cur, cur->name_at)->hash < hash)) {
		size_t end = group_end(cur, cur->name_at);

		index_again(c, name_at(cur, cur->name_at)->hash, cur->name_at, end);
		check_twins(c, cur->name_at, end);
		cur->name_at = end;
	}
}

/* Does the item have exactly these sequence numbers? (Few: hashes rarely collide.) */
static bool has_all(const struct fc_current *cur, const struct fc_item *item, size_t from, size_t end)
{
	size_t i, k;

	if (item->bytes != (end - from) * SEQ_BYTES)
		return false;
	for (i = from; i < end; i++) {
		for (k = 0; k < item->bytes && fc_get_u64(item->data + k) != name_at(cur, i)->seq; k += SEQ_BYTES)
			;
		if (k == item->bytes)
			return false;
	}
	return true;
}

int fc_check_name(struct fc_checker *c, const struct fc_item *item)
{
	struct fc_current *cur = &c->cur;
	uint64_t hash = item->key.off;
	size_t from, end;

	sort_names(cur);
	pass_names(c, hash, false);
	from = end = cur->name_at;
	if (from < cur->names.n && name_at(cur, from)->hash == hash)
		end = group_end(cur, from);
	if (from == end || !has_all(cur, item, from, end))
		index_again(c, hash, from, end);
	if (end - from > 1)
		check_twins(c, from, end);
	cur->name_at = end;
	return 0;
}

void fc_check_names_end(struct fc_checker *c)
{
	struct fc_current *cur = &c->cur;

	sort_names(cur);
	pass_names(c, 0, true);
	if (cur->index_bad)
		fc_find(c, FC_CHECK_NAME, cur->ino, "made anew",
			"%llu places in its index of names are wrong or missing", (unsigned long long)cur->index_bad);
}
