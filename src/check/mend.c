/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Single changes of the file tree in memory. One that does not fit what the ones
 * before it left is not made: the next round sees what is still wrong.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "check/checker.h"
#include "fs/map.h"
#include "fs/xattr.h"
#include "util/le.h"

#define SEQ_BYTES 8u
#define LOST_UNITS UINT32_MAX /* of one extent that is lost */

static struct fc_tree *tree_of(struct fc_checker *c)
{
	return fc_fs_tree(c->fs);
}

static int reserve(struct fc_checker *c)
{
	return fc_node_cache_reserve(&c->fs->forest.cache, FC_TREE_SPARES);
}

/* ---- items ------------------------------------------------------------------- */

static int purge(struct fc_checker *c, uint64_t ino)
{
	struct fc_item item;
	int r = reserve(c);

	while (!r && !fc_tree_ge(tree_of(c), fc_key(ino, 0, 0), &item) && item.key.ino == ino) {
		r = fc_tree_del(tree_of(c), item.key);
		if (!r)
			r = reserve(c);
	}
	return r;
}

static int purge_blob(struct fc_checker *c, uint64_t number)
{
	struct fc_key from = fc_key(0, FC_KEY_BLOB, number << FC_BLOB_PART_BITS);
	struct fc_item item;
	int r = reserve(c);

	while (!r && !fc_tree_ge(tree_of(c), from, &item) && item.key.ino == 0 && item.key.type == FC_KEY_BLOB &&
	       item.key.off >> FC_BLOB_PART_BITS == number)
		r = fc_tree_del(tree_of(c), item.key);
	return r;
}

static int add_name(struct fc_checker *c, const struct fc_mend *m)
{
	uint8_t raw[FC_ITEM_MAX];
	struct fc_item item;
	size_t n = 0;
	int r = fc_tree_get(tree_of(c), m->key, &item);

	if (r && r != FC_ENOENT)
		return r;
	if (!r) {
		n = item.bytes;
		if (n + SEQ_BYTES > sizeof(raw))
			return FC_ENOSPC;
		memcpy(raw, item.data, n);
	}
	fc_put_u64(raw + n, m->a);
	return fc_tree_put(tree_of(c), m->key, raw, n + SEQ_BYTES);
}

/* Leaves those attributes that have their values. */
static int filter_xattrs(struct fc_checker *c, const struct fc_mend *m)
{
	uint8_t raw[FC_ITEM_MAX], kept[FC_ITEM_MAX], value[FC_XATTR_VALUE_MAX];
	struct fc_item item;
	struct fc_xattr x;
	size_t n, at = 0, from = 0, left = 0;
	int r = fc_tree_get(tree_of(c), m->key, &item);

	if (r)
		return r;
	n = item.bytes;
	memcpy(raw, item.data, n);
	while (fc_xattr_next(raw, n, &at, &x) > 0) {
		bool bad = x.kind == FC_XATTR_BLOB &&
			   (fc_get_u64(x.held.p) == m->a || fc_blob_read(c->fs, x.held.p, x.held.n, value, x.bytes));

		if (!bad) {
			memcpy(kept + left, raw + from, at - from);
			left += at - from;
		}
		from = at;
	}
	return left ? fc_tree_put(tree_of(c), m->key, kept, left) : fc_tree_del(tree_of(c), m->key);
}

/* ---- inodes ---------------------------------------------------------------------- */

static int make_inode(struct fc_checker *c, const struct fc_mend *m)
{
	struct fc_time now = fc_fs_now(c->fs);
	bool dir = m->a == DT_DIR, inlined = m->kind == FC_MEND_INLINED;
	struct fc_inode inode = {
		.ino = m->key.ino,
		.mode = dir ? S_IFDIR | 0700 : S_IFREG | 0600,
		.nlink = dir ? 2 : 1,
		.uid = c->options->uid,
		.gid = c->options->gid,
		.size = dir ? 0 : m->b,
		.flags = inlined ? FC_INODE_INLINE : 0,
		.atime = now,
		.mtime = now,
		.ctime = now,
		.btime = now,
		.next_seq = dir ? (m->b < FC_DIR_FIRST_SEQ ? FC_DIR_FIRST_SEQ : m->b) : 0,
		.parent = dir ? FC_INO_ROOT : 0,
	};

	if (inode.size > FC_FILE_MAX)
		inode.size = FC_FILE_MAX;
	return fc_inode_put(c->fs, &inode);
}

static int set_field(struct fc_checker *c, const struct fc_mend *m)
{
	uint8_t raw[FC_INODE_BYTES];
	struct fc_inode inode;
	int r = fc_inode_load(c->fs, m->key.ino, &inode);

	if (r)
		return r;
	switch (m->key.type) {
	case FC_FIELD_NLINK:
		inode.nlink = (uint32_t)m->a;
		break;
	case FC_FIELD_PARENT:
		inode.parent = m->a;
		break;
	case FC_FIELD_ENTRIES:
		inode.entries = m->a;
		break;
	case FC_FIELD_NEXT_SEQ:
		inode.next_seq = m->a;
		break;
	case FC_FIELD_BLOCKS:
		inode.blocks = m->a;
		break;
	case FC_FIELD_XATTRS:
		inode.xattrs = (uint32_t)m->a;
		break;
	case FC_FIELD_SIZE:
		inode.size = m->a;
		break;
	case FC_FIELD_FLAGS:
		inode.flags = m->a;
		break;
	default: /* PRIVATE */
		inode.mode &= S_IFMT | S_IRWXU;
		break;
	}
	fc_inode_encode(&inode, raw);
	r = fc_inode_decode(&inode, m->key.ino, raw, sizeof(raw));
	return r ? r : fc_inode_put(c->fs, &inode);
}

/* ---- content ------------------------------------------------------------------------ */

/* The blocks become a hole, or lost: a lost extent takes their place. */
static int clear(struct fc_checker *c, const struct fc_mend *m)
{
	uint64_t first = m->key.off, end = first + m->a, before, at;
	struct fc_inode inode;
	int r = fc_inode_load(c->fs, m->key.ino, &inode);

	if (!r)
		r = fc_map_load(c->fs, m->key.ino, first, end);
	if (r)
		return r;
	/* a wrong count must not stop this */
	before = inode.blocks;
	inode.blocks = UINT64_MAX;
	fc_map_clear_range(c->fs, &inode, first, end);
	inode.blocks = before - (UINT64_MAX - inode.blocks < before ? UINT64_MAX - inode.blocks : before);
	for (at = first; m->kind == FC_MEND_LOSE && at < end;) {
		struct fc_extent lost = { .file_block = at };

		lost.units = end - at < LOST_UNITS ? (uint32_t)(end - at) : LOST_UNITS;
		fc_map_insert(c->fs, &inode, &lost);
		at += lost.units;
		r = reserve(c);
		if (r)
			return r;
	}
	if (inode.blocks > FC_FILE_MAX >> FC_BLOCK_SHIFT)
		inode.blocks = FC_FILE_MAX >> FC_BLOCK_SHIFT;
	return fc_inode_put(c->fs, &inode);
}

static int make(struct fc_checker *c, const struct fc_mend *m)
{
	switch (m->kind) {
	case FC_MEND_DELETE:
		return fc_tree_del(tree_of(c), m->key);
	case FC_MEND_PURGE:
		return purge(c, m->key.ino);
	case FC_MEND_MAKE:
	case FC_MEND_INLINED:
		return make_inode(c, m);
	case FC_MEND_LOSE:
	case FC_MEND_CLEAR:
		return clear(c, m);
	case FC_MEND_SET:
		return set_field(c, m);
	case FC_MEND_TYPE:
		return fc_dir_set(c->fs, m->key.ino, m->key.off, m->a, (uint8_t)m->b);
	case FC_MEND_NAME:
		return add_name(c, m);
	case FC_MEND_XATTR:
		return filter_xattrs(c, m);
	case FC_MEND_BLOB:
		return purge_blob(c, m->a);
	case FC_MEND_ORPHAN:
		return fc_orphan_add(c->fs, m->key.ino);
	case FC_MEND_HOME:
		return fc_mend_home(c, m->key.ino, (uint8_t)m->a);
	}
	return 0;
}

int fc_mend_apply(struct fc_checker *c, const struct fc_mend *m)
{
	int r = reserve(c);

	if (!r)
		r = make(c, m);
	return r == FC_ENOMEM ? r : 0;
}
