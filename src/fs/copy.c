/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies that share blocks: both files refer to the same extents until one is overwritten. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/file.h"

#define SHARE_MAX (64ull << 20) /* bytes shared in one operation: bounds its dirty nodes */
#define PIECE (256u << 10)      /* bytes copied at a time */

static int share_check(struct fc_fs *fs, const struct fc_op *op, struct fc_inode *from, struct fc_inode *to)
{
	int r = fc_tree_load(&fs->forest.files, fc_key(op->ino, FC_KEY_INODE, 0));

	if (!r)
		r = fc_tree_load(&fs->forest.files, fc_key(op->parent2, FC_KEY_INODE, 0));
	if (!r)
		r = fc_inode_get(fs, op->ino, from);
	if (!r)
		r = fc_inode_get(fs, op->parent2, to);
	if (r)
		return r;
	if (!S_ISREG(from->mode) || !S_ISREG(to->mode) || !op->bytes)
		return FC_EINVAL;
	if (op->off % FC_BLOCK || op->off2 % FC_BLOCK || op->off > from->size || op->bytes > from->size - op->off ||
	    op->bytes > FC_FILE_MAX - op->off2)
		return FC_EINVAL;
	if (op->bytes % FC_BLOCK && (op->off + op->bytes != from->size || op->off2 + op->bytes < to->size))
		return FC_EINVAL; /* a part of a block only where both files end */
	if (op->ino == op->parent2 && op->off < op->off2 + op->bytes && op->off2 < op->off + op->bytes)
		return FC_EINVAL;
	return (from->flags | to->flags) & FC_INODE_INLINE ? FC_EINVAL : 0;
}

/* One extent of the source (or a part of it) into the target. Loaded. */
static void share_extent(struct fc_fs *fs, struct fc_inode *to, const struct fc_extent *e, uint64_t first,
			 uint64_t stop, uint64_t target)
{
	uint8_t tags[FC_EXTENT_UNITS * FC_TAG_BYTES];
	uint32_t skip = (uint32_t)(first - e->file_block);
	struct fc_extent copy = {
		target, e->start + skip, (uint32_t)(stop - first), e->session, e->nonce + skip, tags
	};

	memcpy(tags, e->tags + (size_t)skip * FC_TAG_BYTES, (size_t)copy.units * FC_TAG_BYTES);
	fc_space_share(&fs->forest, copy.start, copy.units);
	fc_map_insert(fs, to, &copy);
}

int fc_apply_copy(struct fc_fs *fs, const struct fc_op *op)
{
	uint64_t first = op->off >> FC_BLOCK_SHIFT, target = op->off2 >> FC_BLOCK_SHIFT;
	uint64_t count = (op->bytes + FC_BLOCK - 1) >> FC_BLOCK_SHIFT, at = first;
	struct fc_inode from, to;
	struct fc_extent e;
	int r = share_check(fs, op, &from, &to);

	if (!r) /* the source's owners will be looked up although nothing may be shared yet */
		r = fc_map_load(fs, op->ino, first, first + count);
	for (at = first; !r && at < first + count; at = e.file_block + e.units) {
		r = fc_extent_at(fs, op->ino, at, &e);
		if (r == FC_ENOENT || (!r && e.file_block >= first + count)) {
			r = 0;
			break;
		}
		if (!r)
			r = fc_extent_lost(&e) ? FC_EFORGED : fc_space_load_refs(&fs->forest, e.start, e.units);
	}
	if (!r)
		r = fc_map_load(fs, op->parent2, target, target + count);
	if (r)
		return r;
	fc_page_drop(fs, op->parent2, target, target + count);
	fc_map_clear_range(fs, &to, target, target + count);
	for (at = first; at < first + count && !fc_extent_at(fs, op->ino, at, &e) && e.file_block < first + count;) {
		uint64_t start = e.file_block > at ? e.file_block : at, stop = e.file_block + e.units;

		if (stop > first + count)
			stop = first + count;
		if (e.session)
			share_extent(fs, &to, &e, start, stop, target + (start - first));
		at = stop;
	}
	if (op->off2 + op->bytes > to.size)
		to.size = op->off2 + op->bytes;
	to.mtime = to.ctime = op->time;
	return fc_inode_put(fs, &to);
}

/* Has the source's range reached the tree? Exclusive lock. */
static bool is_clean(struct fc_fs *fs, uint64_t ino, uint64_t off, uint64_t n)
{
	uint64_t i = off >> FC_BLOCK_SHIFT, end = (off + n + FC_BLOCK - 1) >> FC_BLOCK_SHIFT;

	if (!fc_data_pages(fs, ino))
		return true;
	for (; i < end; i++)
		if (fc_page_find(fs, ino, i))
			return false;
	return true;
}

/* FC_EINVAL or FC_EAGAIN: copy the bytes instead. */
static int share(struct fc_fs *fs, struct fc_op *op)
{
	int r, tries;

	for (tries = 0; tries < 4; tries++) {
		r = fc_flush_file(fs, op->ino, op->off >> FC_BLOCK_SHIFT,
				  (op->off + op->bytes + FC_BLOCK - 1) >> FC_BLOCK_SHIFT);
		if (!r)
			r = fc_fs_begin(fs, 64, false);
		if (r)
			return r;
		if (is_clean(fs, op->ino, op->off, op->bytes)) {
			op->time = fc_fs_now(fs);
			r = fc_apply_copy(fs, op);
			if (!r)
				fc_fs_record(fs, op);
			fc_fs_end(fs);
			return r;
		}
		fc_fs_end(fs);
	}
	return FC_EAGAIN;
}

static int copy_bytes(struct fc_fs *fs, const struct fc_op *op, uint64_t *done)
{
	uint8_t *buf = malloc(PIECE);
	uint64_t at = 0;
	size_t got;
	int r = buf ? 0 : FC_ENOMEM;

	while (!r && at < op->bytes) {
		size_t n = op->bytes - at < PIECE ? (size_t)(op->bytes - at) : PIECE;

		r = fc_fs_read(fs, op->ino, op->off + at, n, buf, &got);
		if (!r && got)
			r = fc_fs_write(fs, op->parent2, op->off2 + at, got, buf, 0);
		if (r || !got)
			break;
		at += got;
	}
	free(buf);
	*done = at;
	return at ? 0 : r;
}

static int source_size(struct fc_fs *fs, uint64_t from, uint64_t to, uint64_t *size)
{
	struct fc_inode a, b;
	int r;

	fc_fs_rdlock(fs);
	r = fc_inode_get(fs, from, &a);
	if (!r)
		r = fc_inode_get(fs, to, &b);
	fc_fs_rdunlock(fs);
	if (r)
		return r;
	if (S_ISDIR(a.mode) || S_ISDIR(b.mode))
		return FC_EISDIR;
	if (!S_ISREG(a.mode) || !S_ISREG(b.mode))
		return FC_EINVAL;
	*size = a.size;
	return 0;
}

int fc_fs_copy(struct fc_fs *fs, uint64_t from, uint64_t from_off, uint64_t to, uint64_t to_off, uint64_t n,
	       uint64_t *done)
{
	struct fc_op op = { .kind = FC_OP_COPY, .ino = from, .off = from_off, .parent2 = to, .off2 = to_off };
	uint64_t size, left;
	int r = source_size(fs, from, to, &size);

	*done = 0;
	if (r)
		return r;
	if (from_off >= size || !n)
		return 0;
	left = size - from_off < n ? size - from_off : n;
	if (to_off > FC_FILE_MAX || left > FC_FILE_MAX - to_off)
		return FC_EFBIG;
	/* the kernel refuses it too; what comes first would be copied over what is still to be read */
	if (from == to && from_off < to_off + left && to_off < from_off + left)
		return FC_EINVAL;
	op.bytes = left < SHARE_MAX ? left : SHARE_MAX;
	r = from_off % FC_BLOCK || to_off % FC_BLOCK ? FC_EINVAL : share(fs, &op);
	if (r == FC_EINVAL && op.bytes % FC_BLOCK && op.bytes > FC_BLOCK && !(from_off % FC_BLOCK) &&
	    !(to_off % FC_BLOCK)) {
		op.bytes -= op.bytes % FC_BLOCK; /* the last part lies inside the target: copied next */
		r = share(fs, &op);
	}
	if (!r) {
		*done = op.bytes;
		return 0;
	}
	if (r != FC_EINVAL && r != FC_EAGAIN)
		return r;
	op.bytes = left < 4 * PIECE ? left : 4 * PIECE;
	return copy_bytes(fs, &op, done);
}
