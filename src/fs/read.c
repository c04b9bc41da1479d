/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading content. */
#include <string.h>
#include <sys/stat.h>

#include "fs/file.h"

#define SEGMENTS 32u             /* extents looked up in one hold of the lock */
#define PIECE_BYTES (256u << 10) /* of a bulk read: opened while the next ones come */
#define BULK_BLOCKS 128u         /* read at once: surely sequential, and not read again from here */

void fc_data_report(struct fc_fs *fs, uint64_t ino, uint64_t block, int error)
{
	if (error == FC_EFORGED || error == FC_ECORRUPT || error == FC_EIO)
		fc_fs_log(fs, 3, "inode %llu, offset %llu: %s", (unsigned long long)ino,
			  (unsigned long long)(block << FC_BLOCK_SHIFT), fc_error_text(error));
}

struct segment {
	struct fc_extent e; /* tags: in the batch */
	uint64_t block;     /* first file block wanted */
	uint32_t blocks;
};

struct batch {
	struct segment seg[SEGMENTS];
	unsigned count;
	uint8_t tags[SEGMENTS][FC_EXTENT_UNITS * FC_TAG_BYTES];
};

/* Copies the part of a whole block that lies in the window. */
static void copy_block(const struct fc_window *w, uint64_t block, const uint8_t *data)
{
	uint64_t start = block << FC_BLOCK_SHIFT, from = start > w->off ? start : w->off;
	uint64_t end = start + FC_BLOCK < w->off + w->n ? start + FC_BLOCK : w->off + w->n;

	if (from < end)
		memcpy(w->buf + (from - w->off), data + (from - start), (size_t)(end - from));
}

static void zero_blocks(const struct fc_window *w, uint64_t block, uint64_t end)
{
	uint64_t from = block << FC_BLOCK_SHIFT, to = end << FC_BLOCK_SHIFT;

	from = from > w->off ? from : w->off;
	to = to < w->off + w->n ? to : w->off + w->n;
	if (from < to)
		memset(w->buf + (from - w->off), 0, (size_t)(to - from));
}

/* Looks up blocks from *block on: what is dirty or a hole is copied at once,
 * extents are collected. Shared lock. *block moves on to where the batch is full. */
static int collect(struct fc_fs *fs, uint64_t ino, const struct fc_window *w, uint64_t *block, uint64_t end,
		   struct batch *b)
{
	struct fc_extent e = { 0 };
	bool have = false, dirty = fc_data_pages(fs, ino) > 0;
	struct fc_page *p;
	int r;

	for (b->count = 0; *block < end && b->count < SEGMENTS;) {
		uint64_t stop = end, at;

		p = dirty ? fc_page_find(fs, ino, *block) : NULL;
		if (p) {
			copy_block(w, (*block)++, p->data);
			continue;
		}
		if (!have || e.file_block + e.units <= *block) {
			r = fc_extent_at(fs, ino, *block, &e);
			if (r && r != FC_ENOENT)
				return r;
			if (r)
				e = (struct fc_extent){ .file_block = UINT64_MAX >> 1, .units = 1 };
			have = true;
		}
		if (e.file_block > *block)
			stop = e.file_block < end ? e.file_block : end;
		else if (e.file_block + e.units < end)
			stop = e.file_block + e.units;
		for (at = *block + 1; dirty && at < stop && !fc_page_find(fs, ino, at);)
			at++;
		if (dirty && at < stop)
			stop = at;
		if (e.file_block <= *block && (e.session || fc_extent_lost(&e))) {
			struct segment *s = &b->seg[b->count];

			s->e = e;
			if (e.session)
				memcpy(b->tags[b->count], e.tags, (size_t)e.units * FC_TAG_BYTES);
			s->e.tags = b->tags[b->count++];
			s->block = *block;
			s->blocks = (uint32_t)(stop - *block);
		} else {
			zero_blocks(w, *block, stop);
		}
		*block = stop;
	}
	return 0;
}

/* Opens one segment into the window; blocks that stick out go through a bounce buffer. */
static int read_segment(struct fc_fs *fs, const struct segment *s, const struct fc_window *w)
{
	uint64_t block = s->block, end = s->block + s->blocks, start;
	uint32_t first = (uint32_t)(s->block - s->e.file_block), n;
	uint8_t bounce[FC_BLOCK];
	int r = 0;

	while (!r && block < end) {
		start = block << FC_BLOCK_SHIFT;
		n = (uint32_t)(end - block);
		if (start < w->off || start + FC_BLOCK > w->off + w->n) {
			n = 1;
			r = fc_extent_read(fs, &s->e, first, 1, bounce);
			if (!r)
				copy_block(w, block, bounce);
		} else {
			if (start + ((uint64_t)n << FC_BLOCK_SHIFT) > w->off + w->n)
				n = (uint32_t)((w->off + w->n - start) >> FC_BLOCK_SHIFT);
			r = fc_extent_read(fs, &s->e, first, n, w->buf + (start - w->off));
		}
		block += n;
		first += n;
	}
	return r;
}

/* The block of the container that holds the segment's first. */
static uint64_t segment_place(const struct segment *s)
{
	return s->e.start + (s->block - s->e.file_block);
}

/* Segments from `first` on that lie whole in the window and one after the other in the
 * container, when together they are worth a read past the host's page cache: how many,
 * 0 none. */
static unsigned bulk_run(const struct batch *b, unsigned first, const struct fc_window *w)
{
	uint64_t from = b->seg[first].block, at = from;
	unsigned i;

	if (from << FC_BLOCK_SHIFT < w->off)
		return 0;
	for (i = first; i < b->count; i++) {
		const struct segment *s = &b->seg[i];

		if (!s->e.session || s->block != at || (at + s->blocks) << FC_BLOCK_SHIFT > w->off + w->n ||
		    segment_place(s) != segment_place(&b->seg[first]) + (at - from))
			break;
		at += s->blocks;
	}
	return at - from >= BULK_BLOCKS ? i - first : 0;
}

struct bulk {
	struct fc_fs *fs;
	const struct segment *s; /* that the next block belongs to */
	uint32_t opened;         /* blocks of it */
	uint8_t *out;
};

/* The next n bytes have come; they may end within a segment. */
static int open_piece(void *arg, size_t at, size_t n)
{
	struct bulk *bulk = arg;
	uint32_t blocks = (uint32_t)(n >> FC_BLOCK_SHIFT), part;
	uint8_t *out = bulk->out + at;
	int r = 0;

	for (; !r && blocks; blocks -= part) {
		const struct segment *s = bulk->s;
		uint32_t first = (uint32_t)(s->block - s->e.file_block) + bulk->opened;

		part = s->blocks - bulk->opened < blocks ? s->blocks - bulk->opened : blocks;
		r = fc_extent_open(bulk->fs, &s->e, first, part, out);
		out += (size_t)part << FC_BLOCK_SHIFT;
		bulk->opened += part;
		if (bulk->opened == s->blocks) {
			bulk->s++;
			bulk->opened = 0;
		}
	}
	return r;
}

/* One piece is opened while the disk reads the next ones. */
static int read_bulk(struct fc_fs *fs, const struct segment *s, unsigned count, const struct fc_window *w)
{
	struct bulk bulk = { .fs = fs, .s = s, .out = w->buf + ((s->block << FC_BLOCK_SHIFT) - w->off) };
	uint64_t blocks = s[count - 1].block + s[count - 1].blocks - s->block;

	return fc_io_read_pieces(fs->io, bulk.out, blocks << FC_BLOCK_SHIFT, segment_place(s) * FC_BLOCK, PIECE_BYTES,
				 open_piece, &bulk);
}

/* What fails in bulk is read again one by one, to tell where. */
static int read_batch(struct fc_fs *fs, const struct batch *b, uint64_t ino, const struct fc_window *w)
{
	unsigned i, n;
	int r;

	for (i = 0; i < b->count; i += n) {
		n = bulk_run(b, i, w);
		if (n && !read_bulk(fs, &b->seg[i], n, w))
			continue;
		n = 1;
		r = read_segment(fs, &b->seg[i], w);
		if (r) {
			fc_data_report(fs, ino, b->seg[i].block, r);
			return r;
		}
	}
	return 0;
}

static int read_inline(struct fc_fs *fs, const struct fc_inode *inode, const struct fc_window *w)
{
	struct fc_item item;
	int r = fc_tree_get(&fs->forest.files, fc_key(inode->ino, FC_KEY_INLINE, 0), &item);

	if (r)
		return r == FC_ENOENT ? FC_ECORRUPT : r;
	if (item.bytes != inode->size)
		return FC_ECORRUPT;
	memcpy(w->buf, item.data + w->off, w->n);
	return 0;
}

int fc_fs_read(struct fc_fs *fs, uint64_t ino, uint64_t off, size_t n, void *buf, size_t *got)
{
	struct fc_window w = { off, n, buf };
	struct fc_inode inode;
	struct batch b;
	uint64_t block = off >> FC_BLOCK_SHIFT, end = 0;
	bool first = true;
	int r;

	*got = 0;
	do {
		unsigned slot;

		fc_fs_rdlock(fs);
		r = fc_inode_get(fs, ino, &inode);
		if (!r && !S_ISREG(inode.mode))
			r = S_ISDIR(inode.mode) ? FC_EISDIR : FC_EINVAL;
		if (!r && first) {
			first = false;
			w.n = off >= inode.size ? 0 : inode.size - off < n ? (size_t)(inode.size - off) : n;
			end = (off + w.n + FC_BLOCK - 1) >> FC_BLOCK_SHIFT;
			*got = w.n;
			if (inode.flags & FC_INODE_INLINE) {
				if (w.n)
					r = read_inline(fs, &inode, &w);
				fc_fs_rdunlock(fs);
				return r;
			}
			if (!w.n)
				end = block;
		}
		b.count = 0;
		if (!r)
			r = collect(fs, ino, &w, &block, end, &b);
		slot = fc_fs_enter(fs);
		fc_fs_rdunlock(fs);
		if (!r)
			r = read_batch(fs, &b, ino, &w);
		fc_fs_leave(fs, slot);
	} while (!r && block < end);
	return r;
}
