/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of inodes that nobody can reach any more. */
#include <stdlib.h>

#include "fs/state.h"
#include "fs/xattr.h"

#define EXTENTS_MAX 4096u /* removed in one hold of the lock */

/* Removes items of one type of an inode, at most max of them: how many, or an error. */
static int remove_items(struct fc_fs *fs, uint64_t ino, uint8_t type)
{
	struct fc_item item;
	int r;

	while (!(r = fc_tree_ge(&fs->forest.files, fc_key(ino, type, 0), &item)) && item.key.ino == ino &&
	       item.key.type == type) {
		if (type == FC_KEY_XATTR) {
			uint8_t copy[FC_ITEM_MAX];
			size_t n = item.bytes;

			memcpy(copy, item.data, n);
			r = fc_tree_del(&fs->forest.files, item.key);
			if (!r)
				fc_xattr_free(fs, copy, n);
		} else {
			r = fc_tree_del(&fs->forest.files, item.key);
		}
		if (r)
			return r;
	}
	return r == FC_ENOENT ? 0 : r;
}

/* FC_EAGAIN: there is more. */
static int remove_extents(struct fc_fs *fs, struct fc_inode *inode)
{
	struct fc_extent e;
	unsigned i;
	int r;

	for (i = 0; i < EXTENTS_MAX; i++) {
		r = fc_extent_at(fs, inode->ino, 0, &e);
		if (r)
			return r == FC_ENOENT ? 0 : r;
		r = fc_map_load(fs, inode->ino, e.file_block, e.file_block + e.units);
		if (r)
			return r;
		inode->blocks += e.units; /* a wrong count must not stop this */
		fc_map_clear_range(fs, inode, e.file_block, e.file_block + e.units);
		inode->blocks -= inode->blocks >= e.units ? e.units : inode->blocks;
	}
	return FC_EAGAIN;
}

static int reclaim(struct fc_fs *fs, uint64_t ino)
{
	struct fc_inode inode = { .ino = ino };
	int r = fc_inode_get(fs, ino, &inode);

	if (r && r != FC_ESTALE)
		return r;
	fc_page_drop(fs, ino, 0, UINT64_MAX);
	r = remove_extents(fs, &inode);
	if (!r)
		r = remove_items(fs, ino, FC_KEY_XATTR);
	if (!r)
		r = remove_items(fs, ino, FC_KEY_INLINE);
	if (!r)
		r = fc_tree_load(&fs->forest.files, fc_key(0, FC_KEY_ORPHAN, ino));
	if (r)
		return r;
	if (fc_tree_del(&fs->forest.files, fc_key(ino, FC_KEY_INODE, 0)) == 0)
		fc_fs_count_inodes(fs, -1);
	return fc_orphan_del(fs, ino);
}

void fc_reclaim(struct fc_fs *fs, uint64_t ino)
{
	int r = reclaim(fs, ino);

	fs->dirty_root = true;
	fs->given_up++;
	if (r == FC_EAGAIN)
		fs->reclaim_more = true;
	else if (r)
		fc_fs_log(fs, 4, "inode %llu could not be removed: %s", (unsigned long long)ino, fc_error_text(r));
}

/* The next orphan after ino that nobody holds; 0 none. Shared or exclusive lock. */
static uint64_t next_orphan(struct fc_fs *fs, uint64_t ino)
{
	struct fc_item item;

	while (!fc_tree_ge(&fs->forest.files, fc_key(0, FC_KEY_ORPHAN, ino + 1), &item) && item.key.ino == 0 &&
	       item.key.type == FC_KEY_ORPHAN) {
		ino = item.key.off;
		if (!fc_vnode_held(fs, ino))
			return ino;
	}
	return 0;
}

int fc_background_reclaim(struct fc_fs *fs)
{
	uint64_t ino = 0, last = 0;
	int r;

	for (;;) {
		r = fc_fs_begin(fs, 64, true);
		if (r)
			return r;
		if (!fs->reclaim_more)
			ino = next_orphan(fs, last);
		fs->reclaim_more = false;
		if (!ino) {
			fc_fs_end(fs);
			return 0;
		}
		fc_reclaim(fs, ino);
		last = ino;
		fc_fs_end(fs);
	}
}

bool fc_has_orphans(struct fc_fs *fs)
{
	bool any;

	fc_fs_rdlock(fs);
	any = next_orphan(fs, 0) != 0;
	fc_fs_rdunlock(fs);
	return any;
}
