/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing content. */
#include "fs/state.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fs/file.h"
#include "fs/xattr.h"

#define LOG_INLINE 8192u          /* writes up to this are journalled with their bytes */
#define DIRECT_BYTES (128u << 10) /* aligned writes from this on are sealed at once */
#define TRIES_MAX 8u              /* others may take what came free */

/* ---- inline content ------------------------------------------------------------ */

static struct fc_key inline_key(uint64_t ino)
{
	return fc_key(ino, FC_KEY_INLINE, 0);
}

/* Moves inline content into a page, so that the file may grow. Exclusive lock. */
int fc_data_outline(struct fc_fs *fs, struct fc_inode *inode)
{
	struct fc_item item;
	struct fc_page *p;
	int r;

	if (!(inode->flags & FC_INODE_INLINE))
		return 0;
	r = fc_tree_load(&fs->forest.files, inline_key(inode->ino));
	if (!r)
		r = fc_tree_get(&fs->forest.files, inline_key(inode->ino), &item);
	if (!r && item.bytes > FC_BLOCK)
		r = FC_ECORRUPT;
	if (r)
		return r == FC_ENOENT ? FC_ECORRUPT : r;
	p = fc_page_edit(fs, inode->ino, 0, true, &r);
	if (!p)
		return r;
	memcpy(p->data, item.data, item.bytes);
	(void)fc_tree_del(&fs->forest.files, inline_key(inode->ino));
	inode->flags &= ~(uint64_t)FC_INODE_INLINE;
	return fc_inode_put(fs, inode);
}

/* Small enough, and nothing of it is elsewhere. */
static bool stays_inline(const struct fc_inode *inode, uint64_t end)
{
	return (inode->flags & FC_INODE_INLINE || (!inode->size && !inode->blocks)) && end <= FC_INLINE_MAX;
}

static int write_inline(struct fc_fs *fs, struct fc_inode *inode, uint64_t off, const struct fc_bytes *data)
{
	uint8_t content[FC_INLINE_MAX] = { 0 };
	uint64_t size = off + data->n > inode->size ? off + data->n : inode->size;
	struct fc_item item;
	int r = fc_tree_load(&fs->forest.files, inline_key(inode->ino));

	if (!r && inode->flags & FC_INODE_INLINE) {
		r = fc_tree_get(&fs->forest.files, inline_key(inode->ino), &item);
		if (!r && item.bytes > FC_INLINE_MAX)
			r = FC_ECORRUPT;
		if (!r)
			memcpy(content, item.data, item.bytes);
	}
	if (r)
		return r == FC_ENOENT ? FC_ECORRUPT : r;
	memcpy(content + off, data->p, data->n);
	inode->size = size;
	inode->flags |= FC_INODE_INLINE;
	return fc_tree_put(&fs->forest.files, inline_key(inode->ino), content, (size_t)size);
}

/* ---- writing -------------------------------------------------------------------- */

/* A page to change, with the file's content in it unless `all` of it will be overwritten. */
struct fc_page *fc_data_page(struct fc_fs *fs, const struct fc_inode *inode, uint64_t index, bool all, int *error)
{
	struct fc_page *p = fc_page_find(fs, inode->ino, index);
	struct fc_extent e;
	bool mapped = false;
	int r;

	if (!p && inode->blocks) {
		r = fc_extent_at(fs, inode->ino, index, &e);
		if (r && r != FC_ENOENT) {
			*error = r;
			return NULL;
		}
		mapped = !r && e.file_block <= index;
	}
	if (p || all || !mapped || (!e.session && !fc_extent_lost(&e)))
		return fc_page_edit(fs, inode->ino, index, !mapped, error);
	{
		uint8_t content[FC_BLOCK];

		r = fc_map_read_block(fs, inode->ino, index, content);
		if (r) {
			fc_data_report(fs, inode->ino, index, r);
			*error = r;
			return NULL;
		}
		p = fc_page_edit(fs, inode->ino, index, false, error);
		if (p)
			memcpy(p->data, content, FC_BLOCK);
	}
	return p;
}

/* Makes the pages of the window, promised and loaded. On an error those that
 * were not there before are dropped again: nothing has changed. */
static int make_pages(struct fc_fs *fs, const struct fc_inode *inode, const struct fc_window *w, uint64_t first,
		      uint64_t end)
{
	bool *made = calloc(end - first, sizeof(*made));
	uint64_t i;
	int r = made ? 0 : FC_ENOMEM;

	for (i = first; !r && i < end; i++) {
		uint64_t start = i << FC_BLOCK_SHIFT;
		bool all = start >= w->off && start + FC_BLOCK <= w->off + w->n;

		made[i - first] = !fc_page_find(fs, inode->ino, i);
		if (!fc_data_page(fs, inode, i, all, &r))
			made[i - first] = false;
	}
	for (i = first; r && made && i < end; i++)
		if (made[i - first])
			fc_page_drop(fs, inode->ino, i, i + 1);
	free(made);
	return r;
}

static int write_pages(struct fc_fs *fs, const struct fc_inode *inode, const struct fc_window *w, bool logged)
{
	uint64_t first = w->off >> FC_BLOCK_SHIFT, end = (w->off + w->n + FC_BLOCK - 1) >> FC_BLOCK_SHIFT, i;
	int r = make_pages(fs, inode, w, first, end);

	for (i = first; !r && i < end; i++) {
		struct fc_page *p = fc_page_find(fs, inode->ino, i);
		uint64_t start = i << FC_BLOCK_SHIFT, from = start > w->off ? start : w->off;
		uint64_t to = start + FC_BLOCK < w->off + w->n ? start + FC_BLOCK : w->off + w->n;

		memcpy(p->data + (from - start), w->buf + (from - w->off), (size_t)(to - from));
		if (!logged)
			fc_page_logged(fs, p, false);
	}
	return r;
}

static void written(struct fc_fs *fs, struct fc_inode *inode, const struct fc_op *op)
{
	if (op->off + op->bytes > inode->size)
		inode->size = op->off + op->bytes;
	if (!(op->flags & FC_WRITE_CACHED))
		inode->mtime = inode->ctime = op->time;
	if (op->flags & FC_WRITE_KILLPRIV)
		fc_kill_priv(fs, inode);
}

static int check_write(struct fc_fs *fs, const struct fc_op *op, struct fc_inode *inode)
{
	int r = fc_tree_load(&fs->forest.files, fc_key(op->ino, FC_KEY_INODE, 0));

	if (!r)
		r = fc_inode_get(fs, op->ino, inode);
	if (r)
		return r;
	if (!S_ISREG(inode->mode))
		return S_ISDIR(inode->mode) ? FC_EISDIR : FC_EINVAL;
	if (op->off > FC_FILE_MAX || op->bytes > FC_FILE_MAX - op->off)
		return FC_EFBIG;
	return op->flags & FC_WRITE_KILLPRIV ? fc_kill_priv_load(fs, inode) : 0;
}

/* data: the bytes, also when the operation that is journalled has none. */
static int write_op(struct fc_fs *fs, struct fc_op *op, const struct fc_bytes *data)
{
	struct fc_inode inode;
	struct fc_window w = { op->off, (size_t)op->bytes, (uint8_t *)(uintptr_t)data->p };
	int r = check_write(fs, op, &inode);

	if (r)
		return r;
	/* what a read-only replay cannot preallocate must not change where content goes */
	if (data->n && !(op->flags & FC_WRITE_PAGED) && stays_inline(&inode, op->off + op->bytes)) {
		r = write_inline(fs, &inode, op->off, data);
	} else {
		op->flags |= FC_WRITE_PAGED;
		r = fc_data_outline(fs, &inode);
		if (!r && data->n)
			r = write_pages(fs, &inode, &w, op->data.n);
	}
	if (r)
		return r;
	written(fs, &inode, op);
	return fc_inode_put(fs, &inode);
}

int fc_apply_write(struct fc_fs *fs, const struct fc_op *op)
{
	struct fc_op copy = *op;

	if (op->data.n && op->data.n != op->bytes)
		return FC_ECORRUPT;
	return write_op(fs, &copy, &op->data);
}

static int write_cached(struct fc_fs *fs, struct fc_op *op, const struct fc_bytes *data)
{
	int r;

	if (data->n <= LOG_INLINE)
		op->data = *data;
	r = fc_fs_begin(fs, 8 + (unsigned)(data->n / FC_BLOCK / 32), false);
	if (r)
		return r;
	op->time = fc_fs_now(fs);
	r = write_op(fs, op, data);
	if (!r)
		fc_fs_record(fs, op);
	fc_fs_end(fs);
	return r;
}

/* ---- large writes: sealed before the lock is taken -------------------------------- */

struct piece {
	struct fc_range range;
	uint32_t session;
	uint64_t nonce;
	uint8_t tags[FC_EXTENT_UNITS * FC_TAG_BYTES];
};

static void cancel_pieces(struct fc_fs *fs, const struct piece *piece, size_t from, size_t count)
{
	for (; from < count; from++)
		fc_space_cancel(&fs->forest, &piece[from].range);
}

static int seal_piece(struct fc_fs *fs, const uint8_t *data, struct piece *piece, uint8_t *buf)
{
	const uint8_t *page[FC_EXTENT_UNITS];
	uint32_t k;

	for (k = 0; k < piece->range.count; k++)
		page[k] = data + (size_t)k * FC_UNIT;
	return fc_extent_seal(fs, piece->range.count, piece->session, piece->nonce, page, buf, piece->tags);
}

/* Pieces that lie one after the other are written together. */
static int seal_pieces(struct fc_fs *fs, const uint8_t *data, struct piece *piece, size_t count)
{
	uint8_t *buf = fc_buffer_take(fs);
	uint32_t run = 0; /* units in buf */
	size_t i;
	int r = buf ? 0 : FC_ENOMEM;

	for (i = 0; !r && i < count; i++) {
		const struct fc_range *range = &piece[i].range;
		bool last = i + 1 == count || range->start + range->count != piece[i + 1].range.start ||
			    run + range->count + piece[i + 1].range.count > FC_BUFFER_BYTES / FC_UNIT;

		r = seal_piece(fs, data, &piece[i], buf + (size_t)run * FC_UNIT);
		data += (size_t)range->count * FC_UNIT;
		run += range->count;
		if (!r && last) {
			r = fc_extent_write(fs, range->start + range->count - run, run, buf);
			run = 0;
		}
	}
	fc_buffer_give(fs, buf);
	return r;
}

/* Blocks for `blocks` pages, in at most max pieces. Exclusive lock. */
static int alloc_pieces(struct fc_fs *fs, uint64_t blocks, struct piece *piece, size_t max, size_t *count)
{
	int r = 0;

	for (*count = 0; blocks && !r; (*count)++) {
		if (*count == max) {
			r = FC_EAGAIN;
			break;
		}
		r = fc_space_alloc_data(&fs->forest, blocks < FC_EXTENT_UNITS ? (uint32_t)blocks : FC_EXTENT_UNITS,
					false, &piece[*count].range);
		if (r)
			break;
		piece[*count].session = fs->forest.session;
		piece[*count].nonce = atomic_fetch_add(&fs->forest.data_nonce, piece[*count].range.count);
		blocks -= piece[*count].range.count;
	}
	if (r)
		cancel_pieces(fs, piece, 0, *count);
	return r;
}

static void map_pieces(struct fc_fs *fs, const struct fc_op *op, const struct piece *piece, size_t count)
{
	uint8_t raw[FC_ITEM_MAX];
	uint64_t block = op->off >> FC_BLOCK_SHIFT;
	size_t i;

	for (i = 0; i < count; i++) {
		struct fc_extent e = { block,          piece[i].range.start, piece[i].range.count, piece[i].session,
				       piece[i].nonce, piece[i].tags };
		struct fc_op map = { .kind = FC_OP_MAP, .ino = op->ino, .off = block };

		map.data = (struct fc_bytes){ raw, fc_extent_encode(&e, raw) };
		if (fc_apply_map(fs, &map)) /* cannot happen: loaded */
			fc_space_cancel(&fs->forest, &piece[i].range);
		else
			fc_fs_record(fs, &map);
		block += piece[i].range.count;
	}
}

/* data: whole blocks; tail: what follows them. FC_EAGAIN: not possible this way
 * now, use pages. */
static int write_direct(struct fc_fs *fs, struct fc_op *op, const struct fc_bytes *data, const struct fc_bytes *tail)
{
	size_t max = data->n / (16 * FC_BLOCK) + 1, count;
	struct piece *piece;
	struct fc_inode inode;
	uint64_t first = op->off >> FC_BLOCK_SHIFT;
	struct fc_op rest = *op;
	int r;

	piece = malloc(max * sizeof(*piece));
	if (!piece)
		return FC_EAGAIN;
	r = fc_fs_begin(fs, 24, false);
	if (r)
		goto out;
	r = fs->forest.session ? alloc_pieces(fs, data->n / FC_BLOCK, piece, max, &count) : FC_EAGAIN;
	fc_fs_end(fs);
	if (r)
		goto out;
	r = seal_pieces(fs, data->p, piece, count);
	if (!r)
		r = fc_fs_begin(fs, 24, false);
	if (r) {
		pthread_rwlock_wrlock(&fs->lock);
		cancel_pieces(fs, piece, 0, count);
		pthread_rwlock_unlock(&fs->lock);
		goto out;
	}
	op->time = fc_fs_now(fs);
	r = check_write(fs, op, &inode);
	if (!r)
		r = fc_map_load(fs, op->ino, first, first + data->n / FC_BLOCK);
	if (!r && tail->n) { /* first, because it may fail */
		rest.time = op->time;
		rest.off += data->n;
		rest.bytes = tail->n;
		rest.data = *tail;
		r = write_op(fs, &rest, tail);
		if (!r)
			fc_fs_record(fs, &rest);
	}
	if (!r)
		r = fc_apply_write(fs, op);
	if (r) {
		cancel_pieces(fs, piece, 0, count);
	} else {
		fc_fs_record(fs, op);
		map_pieces(fs, op, piece, count);
	}
	fc_fs_end(fs);
out:
	free(piece);
	return r;
}

static int write_once(struct fc_fs *fs, uint64_t ino, uint64_t off, size_t n, const void *buf, unsigned flags)
{
	struct fc_bytes data = { buf, n };
	struct fc_op op = { .kind = FC_OP_WRITE, .ino = ino, .off = off, .bytes = n, .flags = flags & ~FC_WRITE_PAGED };
	size_t whole = n & ~(size_t)(FC_BLOCK - 1);
	struct fc_bytes tail = { (const uint8_t *)buf + whole, n - whole };
	int r;

	if (!n)
		return 0;
	if (off > FC_FILE_MAX || n > FC_FILE_MAX - off)
		return FC_EFBIG;
	fc_flush_throttle(fs);
	if (off % FC_BLOCK || whole < DIRECT_BYTES)
		return write_cached(fs, &op, &data);
	op.bytes = data.n = whole;
	r = write_direct(fs, &op, &data, &tail);
	if (r != FC_EAGAIN)
		return r;
	op.bytes = data.n = n;
	return write_cached(fs, &op, &data);
}

/* What was deleted becomes free with the commits after next, and what is being given
 * back to the host only then: a full disk may not be full any more. */
bool fc_space_came_free(struct fc_fs *fs, unsigned *tries)
{
	bool waiting, punching;

	if ((*tries)++ == TRIES_MAX)
		return false;
	if (fs->reclaim_more)
		(void)fc_background_reclaim(fs);
	fc_fs_rdlock(fs);
	waiting = fc_space_waiting(&fs->forest);
	fc_fs_rdunlock(fs);
	if (waiting)
		fc_settle(fs);
	punching = pthread_mutex_trylock(&fs->punch_lock) != 0;
	if (punching)
		pthread_mutex_lock(&fs->punch_lock);
	pthread_mutex_unlock(&fs->punch_lock);
	return waiting || punching;
}

int fc_fs_write(struct fc_fs *fs, uint64_t ino, uint64_t off, size_t n, const void *buf, unsigned flags)
{
	unsigned tries = 0;
	int r;

	do {
		r = write_once(fs, ino, off, n, buf, flags);
	} while (r == FC_ENOSPC && fc_space_came_free(fs, &tries));
	return r;
}
