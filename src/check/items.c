/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The items of the file tree, in key order: first what belongs to no inode, then
 * inode by inode. An inode is judged when its last item has passed by.
 */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "check/checker.h"
#include "util/le.h"

#define ORPHAN_BYTES 8u

void fc_check_bad_item(struct fc_checker *c, enum fc_check_kind kind, struct fc_key key, const char *text)
{
	struct fc_lost *lost = fc_list_add(&c->lost, sizeof(*lost));

	fc_find(c, kind, key.ino, "deleted", "%s", text);
	fc_mend(c, FC_MEND_DELETE, key, 0, 0);
	if (!lost) {
		c->no_memory = true;
		return;
	}
	*lost = (struct fc_lost){ key, key, FC_LOST_ITEM };
	if (++lost->hi.off == 0)
		lost->hi.type++;
}

/* ---- items without an inode --------------------------------------------------------- */

static int check_orphan(struct fc_checker *c, const struct fc_item *item)
{
	uint64_t *ino;

	if (item->bytes != ORPHAN_BYTES || fc_get_u64(item->data) != FC_ORPHAN_REMOVE || !item->key.off) {
		fc_check_bad_item(c, FC_CHECK_INODE, item->key, "an item of an inode without names makes no sense");
		return 0;
	}
	ino = fc_list_add(&c->orphans, sizeof(*ino));
	if (!ino)
		return FC_ENOMEM;
	*ino = item->key.off;
	return 0;
}

static int check_global(struct fc_checker *c, const struct fc_item *item)
{
	if (item->key.type == FC_KEY_ORPHAN)
		return check_orphan(c, item);
	if (item->key.type == FC_KEY_BLOB)
		return fc_check_blob(c, item);
	fc_check_bad_item(c, FC_CHECK_INODE, item->key, "an item of no known kind");
	return 0;
}

/* ---- an inode's end -------------------------------------------------------------------- */

static void set_field(struct fc_checker *c, uint8_t field, uint64_t value)
{
	fc_mend(c, FC_MEND_SET, fc_key(c->cur.ino, field, 0), value, 0);
}

static bool was_lost(struct fc_checker *c, uint8_t type)
{
	struct fc_key from, to;

	return fc_check_lost(c, fc_key(c->cur.ino, type, 0), fc_key(c->cur.ino, type + 1u, 0), &from, &to);
}

/* An item that this kind of inode does not have. */
static void stray(struct fc_checker *c, uint8_t type, const char *text)
{
	fc_check_bad_item(c, FC_CHECK_INODE, fc_key(c->cur.ino, type, 0), text);
}

/* Content that lies in an item which is gone. */
static void inline_gone(struct fc_checker *c)
{
	struct fc_current *cur = &c->cur;

	if (S_ISLNK(cur->inode.mode)) {
		fc_find(c, FC_CHECK_DATA, cur->ino, "removed", "the target of a symbolic link is lost");
		fc_mend(c, FC_MEND_PURGE, fc_key(cur->ino, 0, 0), 0, 0);
		return;
	}
	fc_find_data(c, cur->ino, 0, 1, cur->inode.size, false);
	set_field(c, FC_FIELD_FLAGS, 0);
	fc_mend(c, FC_MEND_LOSE, fc_key(cur->ino, FC_KEY_EXTENT, 0), 1, 0);
}

static void judge_inline(struct fc_checker *c)
{
	struct fc_current *cur = &c->cur;
	bool wanted = cur->inode.flags & FC_INODE_INLINE;

	if (wanted && !cur->has_inline) {
		inline_gone(c);
	} else if (!wanted && cur->has_inline) {
		stray(c, FC_KEY_INLINE, "content beside the inode of what has none there");
	} else if (wanted && cur->inline_bytes != cur->inode.size) {
		fc_find(c, FC_CHECK_INODE, cur->ino, "set right",
			"its size is said to be %llu, but its content has %u bytes",
			(unsigned long long)cur->inode.size, cur->inline_bytes);
		set_field(c, FC_FIELD_SIZE, cur->inline_bytes);
	}
}

static void judge_blocks(struct fc_checker *c)
{
	struct fc_current *cur = &c->cur;

	if (cur->beyond) {
		fc_find(c, FC_CHECK_INODE, cur->ino, "cut off", "it has content beyond its end");
		fc_mend(c, FC_MEND_CLEAR, fc_key(cur->ino, FC_KEY_EXTENT, cur->beyond), cur->next - cur->beyond, 0);
	}
	if (fc_check_extents_end(c, true) || cur->inode.blocks == cur->blocks)
		return; /* if blocks were lost, the next round counts */
	fc_find(c, FC_CHECK_INODE, cur->ino, "set right", "it is said to have %llu blocks, and has %llu",
		(unsigned long long)cur->inode.blocks, (unsigned long long)cur->blocks);
	set_field(c, FC_FIELD_BLOCKS, cur->blocks);
}

static void judge_directory(struct fc_checker *c)
{
	struct fc_current *cur = &c->cur;
	uint64_t said = cur->inode.entries;

	fc_check_names_end(c);
	if (cur->inode.next_seq <= cur->top_seq) {
		fc_find(c, FC_CHECK_INODE, cur->ino, "set right", "the number of its next name is taken");
		set_field(c, FC_FIELD_NEXT_SEQ, cur->top_seq + 1);
	}
	if (said == cur->entries)
		return;
	if (said > cur->entries && was_lost(c, FC_KEY_ENTRY))
		fc_find(c, FC_CHECK_NAME, cur->ino, "lost: what they led to is found in lost+found",
			"%llu of its names cannot be read", (unsigned long long)(said - cur->entries));
	else
		fc_find(c, FC_CHECK_INODE, cur->ino, "set right", "it is said to have %llu names, and has %llu",
			(unsigned long long)said, (unsigned long long)cur->entries);
	set_field(c, FC_FIELD_ENTRIES, cur->entries); /* after: there cannot be more than numbers */
}

static void judge_xattrs(struct fc_checker *c)
{
	struct fc_current *cur = &c->cur;
	uint64_t said = cur->inode.xattrs;
	bool lost = said > cur->xattrs;

	if (lost)
		fc_find(c, FC_CHECK_ATTRIBUTE, cur->ino, "lost: only its owner may use it now (mode)",
			"%llu of its extended attributes cannot be read", (unsigned long long)(said - cur->xattrs));
	else if (said != cur->xattrs)
		fc_find(c, FC_CHECK_ATTRIBUTE, cur->ino, "set right",
			"it is said to have %llu attributes, and has %llu", (unsigned long long)said,
			(unsigned long long)cur->xattrs);
	if (said != cur->xattrs)
		set_field(c, FC_FIELD_XATTRS, cur->xattrs);
	if (lost && cur->inode.mode & 07077 && !S_ISLNK(cur->inode.mode))
		set_field(c, FC_FIELD_PRIVATE, 0);
}

static void judge(struct fc_checker *c)
{
	struct fc_current *cur = &c->cur;

	judge_xattrs(c);
	judge_inline(c);
	if (S_ISDIR(cur->inode.mode))
		judge_directory(c);
	else
		judge_blocks(c);
}

/* ---- items whose inode is gone --------------------------------------------------------- */

static uint8_t salvage_directory(struct fc_checker *c)
{
	struct fc_current *cur = &c->cur;

	fc_check_names_end(c);
	fc_find(c, FC_CHECK_INODE, cur->ino, "made anew: its owner and mode are lost, its names stay",
		"the inode of a directory is lost");
	fc_mend(c, FC_MEND_MAKE, fc_key(cur->ino, 0, 0), DT_DIR, cur->top_seq + 1);
	return DT_DIR;
}

/* What is left goes to lost+found: size, owner and mode are not known. */
static uint8_t salvage_file(struct fc_checker *c)
{
	struct fc_current *cur = &c->cur;

	fc_find(c, FC_CHECK_INODE, cur->ino, "what is left of its content goes to lost+found/#%N",
		"the inode of a file is lost");
	if (cur->has_inline)
		fc_mend(c, FC_MEND_INLINED, fc_key(cur->ino, 0, 0), DT_REG, cur->inline_bytes);
	else
		fc_mend(c, FC_MEND_MAKE, fc_key(cur->ino, 0, 0), DT_REG, cur->next << FC_BLOCK_SHIFT);
	fc_check_extents_end(c, false);
	return DT_REG;
}

static uint8_t salvage(struct fc_checker *c)
{
	struct fc_current *cur = &c->cur;

	if (cur->entries || cur->ino == FC_INO_ROOT)
		return salvage_directory(c);
	if (cur->has_inline || cur->next)
		return salvage_file(c);
	fc_check_names_end(c);
	fc_find(c, FC_CHECK_INODE, cur->ino, "deleted", "items of an inode that there is not");
	fc_mend(c, FC_MEND_PURGE, fc_key(cur->ino, 0, 0), 0, 0);
	return 0;
}

static int end_inode(struct fc_checker *c)
{
	struct fc_current *cur = &c->cur;
	struct fc_rec *rec;
	uint8_t type;

	if (!cur->any || !cur->ino)
		return 0;
	if (cur->has)
		judge(c);
	type = cur->has ? fc_dir_type(cur->inode.mode) : salvage(c);
	if (!type)
		return 0;
	rec = fc_list_add(&c->recs, sizeof(*rec));
	if (!rec)
		return FC_ENOMEM;
	rec->ino = cur->ino;
	rec->type = type;
	rec->nlink = cur->inode.nlink;
	rec->parent = cur->inode.parent;
	rec->flags = (uint8_t)((cur->has ? FC_REC_INODE : 0) | (cur->entries ? FC_REC_FULL : 0));
	if (cur->ino > c->top_ino)
		c->top_ino = cur->ino;
	return 0;
}

int fc_check_items_end(struct fc_checker *c)
{
	int r = end_inode(c);

	c->cur.any = false;
	fc_check_blobs_end(c);
	return r;
}

/* ---- taking items ------------------------------------------------------------------------ */

static void begin_inode(struct fc_checker *c, uint64_t ino)
{
	struct fc_list gaps = c->cur.gaps, names = c->cur.names;

	fc_list_clear(&gaps);
	fc_list_clear(&names);
	c->cur = (struct fc_current){ .any = true, .ino = ino, .gaps = gaps, .names = names, .first_link = c->links.n };
}

static void check_inode(struct fc_checker *c, const struct fc_item *item)
{
	struct fc_current *cur = &c->cur;

	if (item->key.off || fc_inode_decode(&cur->inode, item->key.ino, item->data, item->bytes)) {
		memset(&cur->inode, 0, sizeof(cur->inode));
		fc_check_bad_item(c, FC_CHECK_INODE, item->key, "its inode makes no sense");
		return;
	}
	cur->has = true;
}

static void check_inline(struct fc_checker *c, const struct fc_item *item)
{
	struct fc_current *cur = &c->cur;
	bool link = cur->has && S_ISLNK(cur->inode.mode);

	if (item->key.off || item->bytes > (link ? FC_SYMLINK_MAX : FC_INLINE_MAX) || !item->bytes ||
	    (link && memchr(item->data, 0, item->bytes))) {
		fc_check_bad_item(c, FC_CHECK_DATA, item->key, "its content makes no sense");
		return;
	}
	cur->has_inline = true;
	cur->inline_bytes = item->bytes;
}

static int check_of_inode(struct fc_checker *c, const struct fc_item *item)
{
	const struct fc_current *cur = &c->cur;
	bool dir = cur->has ? S_ISDIR(cur->inode.mode) : true, file = cur->has ? S_ISREG(cur->inode.mode) : true;

	switch (item->key.type) {
	case FC_KEY_INODE:
		check_inode(c, item);
		return 0;
	case FC_KEY_INLINE:
		check_inline(c, item);
		return 0;
	case FC_KEY_XATTR:
		return fc_check_xattr(c, item);
	case FC_KEY_ENTRY:
		if (dir)
			return fc_check_entry(c, item);
		break;
	case FC_KEY_NAME:
		if (dir)
			return fc_check_name(c, item);
		break;
	case FC_KEY_EXTENT:
		if (file)
			return fc_check_extent(c, item);
		break;
	default:
		break;
	}
	fc_check_bad_item(c, FC_CHECK_INODE, item->key, "an item that it cannot have");
	return 0;
}

int fc_check_item(struct fc_checker *c, const struct fc_item *item)
{
	int r = 0;

	if (item->key.ino > FC_CHECK_INO_MAX) {
		fc_check_bad_item(c, FC_CHECK_INODE, item->key, "an item of an inode that there cannot be");
		return 0;
	}
	if (!c->cur.any || c->cur.ino != item->key.ino) {
		r = end_inode(c);
		begin_inode(c, item->key.ino);
	}
	if (r)
		return r;
	return item->key.ino ? check_of_inode(c, item) : check_global(c, item);
}
