/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Truncation, preallocation, holes. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/file.h"

#define BLOCK_END ((uint64_t)FC_FILE_MAX / FC_BLOCK + 1) /* past the last block of any file */
#define GAP_UNITS FC_CHUNK_BLOCKS                        /* of one unwritten extent */

static uint64_t block_up(uint64_t off)
{
	return off / FC_BLOCK + !!(off % FC_BLOCK);
}

/* Zeroes [from, to) of one block, if anything is there. May fail; then nothing changed. */
static int zero_part(struct fc_fs *fs, const struct fc_inode *inode, uint64_t from, uint64_t to)
{
	uint64_t index = from >> FC_BLOCK_SHIFT;
	struct fc_page *p = fc_page_find(fs, inode->ino, index);
	struct fc_extent e;
	int r;

	if (!p) {
		r = inode->blocks ? fc_extent_at(fs, inode->ino, index, &e) : FC_ENOENT;
		if (r == FC_ENOENT || (!r && (e.file_block > index || !e.session)))
			return 0; /* reads as zeros already */
		if (r)
			return r;
	}
	p = fc_data_page(fs, inode, index, false, &r);
	if (!p)
		return r;
	memset(p->data + from % FC_BLOCK, 0, (size_t)(to - from));
	return 0;
}

/* ---- truncate ----------------------------------------------------------------- */

static int truncate_inline(struct fc_fs *fs, struct fc_inode *inode, uint64_t size)
{
	uint8_t content[FC_INLINE_MAX] = { 0 };
	struct fc_key key = fc_key(inode->ino, FC_KEY_INLINE, 0);
	struct fc_item item;
	int r = fc_tree_load(&fs->forest.files, key);

	if (!r)
		r = fc_tree_get(&fs->forest.files, key, &item);
	if (!r && item.bytes > FC_INLINE_MAX)
		r = FC_ECORRUPT;
	if (r)
		return r == FC_ENOENT ? FC_ECORRUPT : r;
	memcpy(content, item.data, item.bytes < size ? item.bytes : (size_t)size);
	inode->size = size;
	if (size)
		return fc_tree_put(&fs->forest.files, key, content, (size_t)size);
	inode->flags &= ~(uint64_t)FC_INODE_INLINE;
	return fc_tree_del(&fs->forest.files, key);
}

int fc_data_truncate(struct fc_fs *fs, struct fc_inode *inode, uint64_t size)
{
	uint64_t end;
	int r = 0;

	if (inode->flags & FC_INODE_INLINE) {
		if (size <= FC_INLINE_MAX)
			return truncate_inline(fs, inode, size);
		r = fc_data_outline(fs, inode);
		if (r)
			return r;
	}
	if (size > inode->size) {
		/* beyond the end there may be preallocated blocks; they read as zeros */
		inode->size = size;
		return 0;
	}
	/* to the same size: preallocated blocks beyond the end go, as on other file systems */
	end = block_up(size);
	r = fc_map_load(fs, inode->ino, end, BLOCK_END);
	if (!r && size % FC_BLOCK && size < inode->size)
		r = zero_part(fs, inode, size, end << FC_BLOCK_SHIFT);
	if (r)
		return r;
	fc_page_drop(fs, inode->ino, end, BLOCK_END);
	fc_map_clear_range(fs, inode, end, BLOCK_END);
	inode->size = size;
	return 0;
}

/* ---- fallocate ------------------------------------------------------------------ */

/* The first hole at or after *at, up to *stop. FC_ENOENT: none before end. */
static int next_gap(struct fc_fs *fs, uint64_t ino, uint64_t *at, uint64_t end, uint64_t *stop)
{
	struct fc_extent e;
	int r;

	while (*at < end) {
		*stop = end;
		r = fc_extent_at(fs, ino, *at, &e);
		if (r && r != FC_ENOENT)
			return r;
		if (r || e.file_block > *at) {
			if (!r && e.file_block < end)
				*stop = e.file_block;
			return 0;
		}
		*at = e.file_block + e.units;
	}
	return FC_ENOENT;
}

/* Is there a chance? What host or cap do not have is not asked for: until they refuse, everybody else
 * would find them full. */
static int may_fit(struct fc_fs *fs, uint64_t blocks)
{
	const struct fc_space *s = &fs->forest.space;
	uint64_t own = s->held > s->data_used ? s->held - s->data_used : 0, host;
	int r;

	if (blocks <= own || fs->replaying)
		return 0;
	r = fc_io_host_free(fs->io, &host);
	if (r)
		return r;
	return blocks - own > host / FC_BLOCK || blocks - own > fc_space_under_cap(s) ? FC_ENOSPC : 0;
}

/* Promises all blocks that the holes of [first, end) need, or none. */
static int promise_gaps(struct fc_fs *fs, uint64_t ino, uint64_t first, uint64_t end, uint64_t *blocks)
{
	uint64_t at = first, stop;
	int r;

	*blocks = 0;
	while (!(r = next_gap(fs, ino, &at, end, &stop))) {
		*blocks += stop - at;
		at = stop;
	}
	if (r == FC_ENOENT)
		r = *blocks > FC_CHUNK_BLOCKS ? may_fit(fs, *blocks) : 0;
	return r ? r : fc_space_reserve(&fs->forest, *blocks, false);
}

/* Gives back what fill_holes made of [first, end): it is not told from older gaps, both read as zeros. */
static void clear_gaps(struct fc_fs *fs, struct fc_inode *inode, uint64_t first, uint64_t end)
{
	uint64_t at = first;
	struct fc_extent e;

	while (at < end && !fc_extent_at(fs, inode->ino, at, &e) && e.file_block < end) {
		at = e.file_block + e.units;
		if (!e.session && !fc_extent_lost(&e))
			fc_map_clear_range(fs, inode, e.file_block > first ? e.file_block : first, at < end ? at : end);
	}
}

/* Blocks for the holes of [first, end). On an error those it made are given back. */
static int fill_holes(struct fc_fs *fs, struct fc_inode *inode, uint64_t first, uint64_t end)
{
	uint64_t at = first, stop, left;
	int r = promise_gaps(fs, inode->ino, first, end, &left);

	if (r)
		return r;
	while (!(r = next_gap(fs, inode->ino, &at, end, &stop))) {
		struct fc_extent gap = { .file_block = at };
		struct fc_range range;

		r = fc_space_alloc_data(&fs->forest, (uint32_t)(stop - at < GAP_UNITS ? stop - at : GAP_UNITS), true,
					&range);
		if (r)
			break;
		left -= range.count;
		gap.start = range.start;
		gap.units = range.count;
		fc_space_landed(&fs->forest, &range);
		fc_map_insert(fs, inode, &gap);
		fc_page_set_fresh(fs, inode->ino, at, at + range.count, false);
		at += range.count;
	}
	if (r == FC_ENOENT)
		return 0;
	fc_space_unreserve(&fs->forest, left);
	clear_gaps(fs, inode, first, at);
	return r;
}

/* A hole in [off, end). */
static int punch(struct fc_fs *fs, struct fc_inode *inode, uint64_t off, uint64_t end)
{
	uint64_t first = block_up(off), last = end >> FC_BLOCK_SHIFT;
	int r = fc_map_load(fs, inode->ino, off >> FC_BLOCK_SHIFT, block_up(end));

	if (r)
		return r;
	if (first > last) /* within one block */
		return zero_part(fs, inode, off, end);
	/* the second part's page first: when it cannot be had, the first one stays as it is */
	if (end % FC_BLOCK)
		r = zero_part(fs, inode, end, end);
	if (!r && off % FC_BLOCK)
		r = zero_part(fs, inode, off, first << FC_BLOCK_SHIFT);
	if (!r && end % FC_BLOCK)
		r = zero_part(fs, inode, last << FC_BLOCK_SHIFT, end);
	if (r)
		return r;
	fc_page_drop(fs, inode->ino, first, last);
	fc_map_clear_range(fs, inode, first, last);
	return 0;
}

static int allocate_range(struct fc_fs *fs, struct fc_inode *inode, const struct fc_op *op, uint64_t end)
{
	int mode = (int)op->mode, r = 0;
	uint64_t hole = end;
	bool allocate = !(mode & FALLOC_FL_PUNCH_HOLE);

	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) {
		/* what follows the end in its block is zero: the block goes whole; and what is
		 * preallocated beyond needs no zeroing */
		if (end >= inode->size) {
			hole = block_up(inode->size) << FC_BLOCK_SHIFT;
			if (hole < end - end % FC_BLOCK)
				hole = end - end % FC_BLOCK;
		}
		if (op->off < hole)
			r = punch(fs, inode, op->off, hole);
	}
	if (!r && allocate)
		r = fc_map_load(fs, inode->ino, op->off >> FC_BLOCK_SHIFT, block_up(end));
	/* a read-only replay has nowhere to allocate; what would be allocated reads as zeros */
	if (!r && allocate && !fs->read_only)
		r = fill_holes(fs, inode, op->off >> FC_BLOCK_SHIFT, block_up(end));
	return r;
}

int fc_apply_fallocate(struct fc_fs *fs, const struct fc_op *op)
{
	struct fc_inode inode;
	uint64_t end;
	int r = fc_tree_load(&fs->forest.files, fc_key(op->ino, FC_KEY_INODE, 0));

	if (!r)
		r = fc_inode_get(fs, op->ino, &inode);
	if (r)
		return r;
	if (!S_ISREG(inode.mode))
		return S_ISDIR(inode.mode) ? FC_EISDIR : FC_ENXIO;
	if (!op->bytes)
		return FC_EINVAL;
	if (op->off > FC_FILE_MAX || op->bytes > FC_FILE_MAX - op->off)
		return FC_EFBIG;
	end = op->off + op->bytes;
	r = fc_data_outline(fs, &inode);
	if (!r)
		r = allocate_range(fs, &inode, op, end);
	if (r) {
		(void)fc_inode_put(fs, &inode); /* outlined, or blocks taken and given back: the counts are right */
		return r;
	}
	if (!(op->mode & FALLOC_FL_KEEP_SIZE) && end > inode.size)
		inode.size = end;
	inode.mtime = inode.ctime = op->time;
	return fc_inode_put(fs, &inode);
}

/* The kernel has set the times already, and tells them when it likes. Not if its clock has
 * not moved since it told them last: then they are what is known here, and must stay that. */
static struct fc_time changed_last(struct fc_fs *fs, uint64_t ino)
{
	struct fc_inode inode;

	return fc_inode_get(fs, ino, &inode) ? fc_fs_now(fs) : inode.ctime;
}

static int fallocate_once(struct fc_fs *fs, uint64_t ino, int mode, uint64_t off, uint64_t n, unsigned flags)
{
	struct fc_op op = { .kind = FC_OP_FALLOCATE, .ino = ino, .mode = (uint32_t)mode, .off = off, .bytes = n };
	bool punches = mode == (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
	int r;

	if (!punches && mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_ZERO_RANGE))
		return FC_ENOTSUP;
	r = fc_fs_begin(fs,
			24 + (unsigned)(punches ? 0 : (n / FC_CHUNK_BYTES < 1u << 20 ? n / FC_CHUNK_BYTES / 200 : 0)),
			punches);
	if (r)
		return r;
	op.time = flags & FC_WRITE_CACHED ? changed_last(fs, ino) : fc_fs_now(fs);
	r = fc_apply_fallocate(fs, &op);
	if (!r)
		fc_fs_record(fs, &op);
	fc_fs_end(fs);
	return r;
}

int fc_fs_fallocate(struct fc_fs *fs, uint64_t ino, int mode, uint64_t off, uint64_t n, unsigned flags)
{
	unsigned tries = 0;
	int r;

	do {
		r = fallocate_once(fs, ino, mode, off, n, flags);
	} while (r == FC_ENOSPC && fc_space_came_free(fs, &tries));
	return r;
}

/* ---- lseek ------------------------------------------------------------------------ */

/* Is block data? *stop: the next block at which that may change. Shared lock. */
static int probe(struct fc_fs *fs, uint64_t ino, uint64_t block, bool dirty, bool *data, uint64_t *stop)
{
	struct fc_extent e;
	uint64_t at;
	int r;

	*stop = block + 1;
	*data = dirty && fc_page_find(fs, ino, block);
	if (*data)
		return 0;
	r = fc_extent_at(fs, ino, block, &e);
	if (r && r != FC_ENOENT)
		return r;
	if (!r && e.file_block <= block) {
		*data = e.session || fc_extent_lost(&e);
		*stop = e.file_block + e.units;
	} else {
		*stop = r ? BLOCK_END : e.file_block;
	}
	if (!*data && dirty) { /* a dirty page may come first */
		struct fc_vnode *v = fc_vnode_find(fs, ino);
		struct fc_page *p;

		at = *stop;
		for (p = v ? v->pages : NULL; p; p = p->vnext)
			if (p->index > block && p->index < at)
				at = p->index;
		*stop = at;
	}
	return 0;
}

int fc_fs_lseek(struct fc_fs *fs, uint64_t ino, uint64_t off, int whence, uint64_t *result)
{
	struct fc_inode inode;
	bool data = false, want = whence == SEEK_DATA, dirty;
	uint64_t block = off >> FC_BLOCK_SHIFT, stop, end;
	int r;

	if (whence != SEEK_DATA && whence != SEEK_HOLE)
		return FC_EINVAL;
	fc_fs_rdlock(fs);
	r = fc_inode_get(fs, ino, &inode);
	if (!r && (!S_ISREG(inode.mode) || off >= inode.size))
		r = S_ISREG(inode.mode) ? FC_ENXIO : FC_EINVAL;
	if (r)
		goto out;
	if (inode.flags & FC_INODE_INLINE) {
		*result = want ? off : inode.size;
		goto out;
	}
	/* a file with dirty pages is not freed under the shared lock: its vnode stays */
	dirty = fc_data_pages(fs, ino) > 0;
	end = block_up(inode.size);
	for (; block < end; block = stop) {
		r = probe(fs, ino, block, dirty, &data, &stop);
		if (r)
			goto out;
		if (data == want)
			break;
	}
	*result = block << FC_BLOCK_SHIFT > off ? block << FC_BLOCK_SHIFT : off;
	if (block >= end || *result >= inode.size) {
		if (want)
			r = FC_ENXIO;
		*result = inode.size;
	}
out:
	fc_fs_rdunlock(fs);
	return r;
}
