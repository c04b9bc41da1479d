/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Extended attributes, and the blobs that hold large values: each has one owner. */
#include <stdlib.h>

#include "check/checker.h"
#include "fs/map.h"
#include "fs/xattr.h"
#include "util/le.h"

#define PARTS_MAX (1u << FC_BLOB_PART_BITS)

/* ---- blobs --------------------------------------------------------------------- */

/* Parts come in order: all are full but the last. */
int fc_check_blob(struct fc_checker *c, const struct fc_item *item)
{
	uint64_t number = item->key.off >> FC_BLOB_PART_BITS, part = item->key.off % PARTS_MAX;
	struct fc_blob *b = c->blobs.n ? FC_LIST_AT(&c->blobs, struct fc_blob, c->blobs.n - 1) : NULL;

	if (!b || b->number != number) {
		b = fc_list_add(&c->blobs, sizeof(*b));
		if (!b)
			return FC_ENOMEM;
		b->number = number;
	}
	if (part != b->parts || b->bytes % FC_BLOB_PART || !item->bytes || item->bytes > FC_BLOB_PART)
		b->bad = true;
	b->parts++;
	b->bytes += item->bytes;
	if (number > c->top_ino)
		c->top_ino = number;
	return 0;
}

static struct fc_blob *find_blob(struct fc_checker *c, uint64_t number)
{
	size_t lo = 0, hi = c->blobs.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (FC_LIST_AT(&c->blobs, struct fc_blob, mid)->number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == c->blobs.n || FC_LIST_AT(&c->blobs, struct fc_blob, lo)->number != number)
		return NULL;
	return FC_LIST_AT(&c->blobs, struct fc_blob, lo);
}

void fc_check_blobs_end(struct fc_checker *c)
{
	size_t i;

	for (i = 0; i < c->blobs.n; i++) {
		const struct fc_blob *b = FC_LIST_AT(&c->blobs, struct fc_blob, i);

		if (b->used)
			continue;
		fc_find(c, FC_CHECK_ATTRIBUTE, 0, "deleted", "the value of an attribute, %llu bytes, belongs to none",
			(unsigned long long)b->bytes);
		fc_mend(c, FC_MEND_BLOB, fc_key(0, 0, 0), b->number, 0);
	}
}

/* ---- attributes -------------------------------------------------------------------- */

/* Takes an attribute's blob; false when it does not have it for itself and whole. */
static bool take_blob(struct fc_checker *c, const struct fc_xattr *x, uint64_t *number)
{
	struct fc_blob *b;

	*number = fc_get_u64(x->held.p);
	b = find_blob(c, *number);
	if (!b || b->used)
		return false;
	b->used = true;
	return !b->bad && b->bytes == x->bytes;
}

int fc_check_xattr(struct fc_checker *c, const struct fc_item *item)
{
	struct fc_current *cur = &c->cur;
	struct fc_xattr x;
	uint64_t number;
	size_t at = 0;
	int r;

	while ((r = fc_xattr_next(item->data, item->bytes, &at, &x)) > 0) {
		if (fc_xattr_hash(c->fs, &x.name) != item->key.off)
			break;
		if (x.kind == FC_XATTR_BLOB && !take_blob(c, &x, &number)) {
			fc_find(c, FC_CHECK_ATTRIBUTE, cur->ino, "the attribute is deleted",
				"the value of %.*s is lost", (int)x.name.n, (const char *)x.name.p);
			fc_mend(c, FC_MEND_XATTR, item->key, number, 0);
			continue;
		}
		cur->xattrs++;
		if (c->round == 0)
			c->result->attributes++;
	}
	if (r || !item->bytes)
		fc_check_bad_item(c, FC_CHECK_ATTRIBUTE, item->key, "attributes that make no sense");
	return 0;
}
