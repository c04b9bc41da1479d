/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compacting: what lies in the last chunks moves into holes before them, then the file is
 * cut. A pass goes
 *
 *   BEGIN  commit until nothing is pending; choose the roof; chunks above it are leaving
 *   FILES  one scan of the file tree: extents up there are copied, nodes dirtied
 *   SPACE  one scan of the space tree: nodes dirtied
 *   CUT    commit until the old places are free, take the free chunks off, commit twice
 *          (then both root slots know of the new end), truncate
 *
 * An extent moves as it is sealed: its nonces and tags stay with it, so no nonce is used
 * twice, and who reads it still authenticates it. It is also opened here, so that a bad
 * copy is not made of a good one. The content of files does not change and no operation is
 * recorded: what the log holds is applied to the newest root as well without the moves, and
 * the blocks that it speaks of are not written again before two more commits. The copy is
 * on the disk before a root refers to it, by the sync of the commit.
 */
#include <string.h>
#include <time.h>

#include "fs/file.h"

#define SCAN_ITEMS 2000u /* under the shared lock at a time */
#define STEP_BLOCKS (4u << 20 >> FC_BLOCK_SHIFT)
#define STEP_TURNS 64u /* scans, dirtied leaves and extents in a step */
#define PASSES_MAX 3u
#define SLACK_BLOCKS (2 * FC_CHUNK_BLOCKS)
#define CUT_CHUNKS 128u /* under the exclusive lock at a time */
#define EXPIRE_SECONDS 10u
#define MOVE_NODES 24u /* that moving one extent may dirty */

static uint64_t now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec;
}

static int commit_anyway(struct fc_fs *fs)
{
	pthread_rwlock_wrlock(&fs->lock);
	fs->dirty_root = true;
	pthread_rwlock_unlock(&fs->lock);
	return fc_commit(fs, false);
}

/* What was freed before is free. */
static int settle(struct fc_fs *fs)
{
	int r = 0, i;

	for (i = 0; !r && i < 3; i++)
		r = commit_anyway(fs);
	return r ? r : fc_background_punch(fs);
}

/* ---- one extent --------------------------------------------------------------------- */

struct move {
	uint64_t ino;
	struct fc_extent e; /* as it was found */
	uint8_t tags[FC_EXTENT_UNITS * FC_TAG_BYTES];
	uint32_t n;  /* units from its first on that go */
	uint64_t to; /* block */
	bool follow; /* another owner has moved them there */
};

/* Is it still there, in a chunk that is leaving? Exclusive lock. */
static int look(struct fc_fs *fs, uint64_t ino, uint64_t file_block, struct move *m)
{
	int r = fc_extent_at(fs, ino, file_block, &m->e);

	if (r)
		return r;
	if (m->e.file_block != file_block || fc_extent_lost(&m->e) || !fc_space_is_leaving(&fs->forest, m->e.start))
		return FC_ENOENT;
	m->ino = ino;
	m->n = m->e.units;
	if (m->e.session)
		memcpy(m->tags, m->e.tags, (size_t)m->e.units * FC_TAG_BYTES);
	m->e.tags = m->tags;
	return 0;
}

static bool same(const struct fc_extent *a, const struct fc_extent *b)
{
	return a->start == b->start && a->units == b->units && a->session == b->session && a->nonce == b->nonce &&
	       (!a->session || !memcmp(a->tags, b->tags, (size_t)a->units * FC_TAG_BYTES));
}

/* Exclusive lock, budget. The first m->n units are at m->to now. */
static int remap(struct fc_fs *fs, const struct move *m)
{
	/* blocks are counted there and back again: the item itself stays as it is */
	struct fc_inode inode = { .ino = m->ino, .blocks = UINT64_MAX / 2 };
	struct fc_range range = { m->to, m->n };
	struct fc_extent piece = m->e;
	struct fc_forest *f = &fs->forest;
	bool shared;
	int r = fc_map_load(fs, m->ino, m->e.file_block, m->e.file_block + m->n);

	if (!r && (m->follow || f->space.shared))
		r = fc_space_load_refs(f, m->to, m->n);
	if (r)
		return r;
	shared = fc_space_is_shared(f, m->e.start, m->n);
	if (m->follow)
		fc_space_share(f, m->to, m->n);
	else
		fc_space_landed(f, &range);
	fc_map_clear_range(fs, &inode, m->e.file_block, m->e.file_block + m->n);
	piece.start = m->to;
	piece.units = m->n;
	fc_map_insert(fs, &inode, &piece);
	if (shared && !m->follow)
		fc_moved_add(&f->space, m->e.start, m->to, m->n);
	fs->dirty_root = true;
	return 0;
}

/* Copies the sealed units, which must open. No lock. */
static int copy_units(struct fc_fs *fs, const struct move *m)
{
	size_t bytes = (size_t)m->n * FC_UNIT;
	uint8_t *buf = fc_buffer_take(fs), *plain;
	int r;

	if (!buf)
		return FC_ENOMEM;
	plain = buf + FC_BUFFER_BYTES / 2;
	r = fc_io_read_bulk(fs->io, buf, bytes, m->e.start * FC_BLOCK);
	if (!r) {
		memcpy(plain, buf, bytes);
		r = fc_extent_open(fs, &m->e, 0, m->n, plain);
		memset(plain, 0, bytes);
	}
	if (!r)
		r = fc_extent_write(fs, m->to, m->n, buf);
	else if (r == FC_EIO)
		r = FC_EFORGED; /* of reading: it stays, and the rest goes on */
	fc_buffer_give(fs, buf);
	return r;
}

static void give_up(struct fc_fs *fs, const struct move *m)
{
	struct fc_range range = { m->to, m->n };

	fc_space_cancel(&fs->forest, &range);
}

/* Exclusive lock; let go while the units are copied. The target is in flight. */
static int copy_and_remap(struct fc_fs *fs, struct move *m)
{
	unsigned slot = fc_fs_enter(fs);
	struct move again;
	int r;

	fc_fs_end(fs);
	r = copy_units(fs, m);
	fc_fs_leave(fs, slot);
	if (!r)
		r = fc_fs_begin(fs, MOVE_NODES, false);
	if (r) {
		pthread_rwlock_wrlock(&fs->lock);
		give_up(fs, m);
		pthread_rwlock_unlock(&fs->lock);
		return r;
	}
	r = look(fs, m->ino, m->e.file_block, &again);
	if (!r && !same(&again.e, &m->e))
		r = FC_ENOENT;
	if (!r)
		r = remap(fs, m);
	if (r)
		give_up(fs, m);
	fc_fs_end(fs);
	return r;
}

/* Moves the extent at key, or its first part; *n: units. FC_ENOENT: it is not there any
 * more; FC_ENOSPC: there is no hole left below the roof; FC_EFORGED: it does not open. */
static int move_extent(struct fc_fs *fs, struct fc_key key, uint32_t *n)
{
	struct fc_space *s = &fs->forest.space;
	struct fc_range range;
	struct move m;
	uint32_t known;
	int r = fc_fs_begin(fs, MOVE_NODES, false);

	*n = 0;
	if (r)
		return r;
	r = look(fs, key.ino, key.off, &m);
	if (r)
		goto out;
	known = fc_moved_find(s, m.e.start, &m.n, &m.to);
	m.follow = known > 0;
	if (m.follow) {
		m.n = known;
	} else {
		r = fc_space_alloc_low(&fs->forest, fs->compact.roof, m.n, &range);
		if (r)
			goto out;
		m.to = range.start;
		m.n = range.count;
	}
	*n = m.n;
	if (m.e.session && !m.follow)
		return copy_and_remap(fs, &m);
	r = remap(fs, &m);
	if (r && !m.follow)
		give_up(fs, &m);
out:
	fc_fs_end(fs);
	return r;
}

/* ---- scans ---------------------------------------------------------------------------- */

enum found { FOUND_END, FOUND_PAUSE, FOUND_NODE, FOUND_EXTENT };

static bool node_leaves(const struct fc_forest *f, const struct fc_cursor *cursor)
{
	int i;

	for (i = 0; i < cursor->depth; i++) {
		const struct fc_node *node = cursor->path[i].node;

		if (node->state != FC_NODE_DIRTY && !(node->addr & FC_NODE_VIRTUAL) &&
		    fc_space_is_leaving(f, node->addr))
			return true;
	}
	return false;
}

/* From compact.at on. A node that was dirtied for this key is not looked at again: a commit
 * may have come between, and placed it wherever there was room. */
static int scan(struct fc_fs *fs, struct fc_tree *tree, enum found *found)
{
	struct fc_compact *c = &fs->compact;
	struct fc_cursor cursor;
	struct fc_extent e;
	struct fc_item item;
	unsigned i;
	int r;

	*found = FOUND_END;
	fc_fs_rdlock(fs);
	r = fc_cursor_seek(&cursor, tree, c->at, &item);
	for (i = 0; !r; i++) {
		c->at = item.key;
		if (i == SCAN_ITEMS)
			*found = FOUND_PAUSE;
		else if (fc_key_cmp(&item.key, &c->done) && node_leaves(&fs->forest, &cursor))
			*found = FOUND_NODE;
		else if (tree == &fs->forest.files && item.key.type == FC_KEY_EXTENT && !fc_extent_decode(&e, &item) &&
			 fc_space_is_leaving(&fs->forest, e.start))
			*found = FOUND_EXTENT;
		if (*found != FOUND_END)
			break;
		r = fc_cursor_next(&cursor, &item);
	}
	fc_fs_rdunlock(fs);
	return r == FC_ENOENT ? 0 : r;
}

/* Its path becomes one of the running transaction, and so gets another place. */
static int dirty_path(struct fc_fs *fs, struct fc_tree *tree)
{
	uint16_t bytes;
	uint8_t *data;
	int r = fc_fs_begin(fs, 2 * FC_TREE_DEPTH_MAX, false);

	if (r)
		return r;
	r = fc_tree_edit(tree, fs->compact.at, &data, &bytes);
	fs->compact.done = fs->compact.at;
	fs->dirty_root |= !r;
	fc_fs_end(fs);
	return r == FC_ENOENT ? 0 : r;
}

/* What the extent at compact.at is to become of. 0, or an error that ends the step. */
static int take_extent(struct fc_fs *fs, uint64_t *blocks)
{
	struct fc_compact *c = &fs->compact;
	uint32_t n;
	int r = move_extent(fs, c->at, &n);

	if (!r) {
		*blocks += n;
		c->moved += n;
		c->sum.bytes_moved += (uint64_t)n * FC_BLOCK;
		c->at.off += n; /* a rest begins there */
	} else if (r == FC_EFORGED || r == FC_ENOENT) {
		/* what changed meanwhile is met again */
		if (r == FC_EFORGED) {
			c->sum.bytes_unreadable += (uint64_t)n * FC_BLOCK;
			c->at.off++;
		}
		r = 0;
	}
	return r;
}

/* A part of a scan; *end: it is through. */
static int scan_step(struct fc_fs *fs, struct fc_tree *tree, bool *end)
{
	uint64_t blocks = 0;
	unsigned turns;
	int r = 0;

	*end = false;
	for (turns = 0; !r && !*end && turns < STEP_TURNS && blocks < STEP_BLOCKS; turns++) {
		enum found found;

		r = scan(fs, tree, &found);
		if (!r && found == FOUND_NODE)
			r = dirty_path(fs, tree);
		else if (!r && found == FOUND_EXTENT)
			r = take_extent(fs, &blocks);
		*end = !r && found == FOUND_END;
	}
	return r;
}

/* ---- phases ----------------------------------------------------------------------------- */

static int begin_pass(struct fc_fs *fs)
{
	struct fc_compact *c = &fs->compact;
	struct fc_space *s = &fs->forest.space;
	int r = settle(fs);
	size_t i;

	if (!r)
		r = fc_fs_begin(fs, MOVE_NODES, false);
	if (r)
		return r;
	c->phase = FC_COMPACT_CUT;
	c->moved = 0;
	c->sum.bytes_to_move = 0;
	/* without threads nobody else is there */
	c->roof = fc_space_tight(&fs->forest, fs->threads ? SLACK_BLOCKS + s->data_used / 64 : 0);
	for (i = c->roof; i < s->chunks; i++)
		c->sum.bytes_to_move += (uint64_t)s->chunk[i].used * FC_BLOCK;
	if (c->sum.bytes_to_move) {
		r = fc_space_vacate(&fs->forest, c->roof);
		if (!r && !fc_fs_has_room(fs, MOVE_NODES, false)) {
			fc_space_vacate_end(&fs->forest);
			r = FC_ENOSPC;
		}
		if (!r)
			c->phase = FC_COMPACT_FILES;
		c->at = c->done = (struct fc_key){ 0 };
	}
	fc_fs_end(fs);
	return r == FC_ENOSPC ? 0 : r; /* what is free at the end can be cut all the same */
}

/* Chunks off the end, in the trees and in memory. */
static int cut_chunks(struct fc_fs *fs, uint64_t *chunks)
{
	int n;

	*chunks = 0;
	do {
		int r = fc_fs_begin(fs, 64, true);

		if (r)
			return r;
		n = fc_space_cut(&fs->forest, CUT_CHUNKS);
		fs->dirty_root |= n > 0;
		fc_fs_end(fs);
		if (n < 0)
			return n;
		*chunks += (unsigned)n;
	} while (n);
	return 0;
}

/* Exclusive lock: meanwhile nothing is allocated behind the new end. */
static int truncate_file(struct fc_fs *fs)
{
	uint64_t bytes, end;
	int r;

	pthread_rwlock_wrlock(&fs->lock);
	r = fc_io_size(fs->io, &bytes);
	end = fc_space_end(&fs->forest.space) * FC_CHUNK_BYTES;
	if (!r && bytes > end) {
		r = fc_io_truncate(fs->io, end);
		if (!r)
			fs->compact.sum.bytes_cut += bytes - end;
	}
	pthread_rwlock_unlock(&fs->lock);
	return r;
}

static void end_pass(struct fc_fs *fs)
{
	pthread_rwlock_wrlock(&fs->lock);
	fc_space_vacate_end(&fs->forest);
	pthread_rwlock_unlock(&fs->lock);
	fs->compact.phase = FC_COMPACT_BEGIN;
}

static int cut(struct fc_fs *fs)
{
	struct fc_compact *c = &fs->compact;
	uint64_t chunks = 0;
	int r = settle(fs);

	if (!r)
		r = cut_chunks(fs, &chunks);
	end_pass(fs);
	if (!r && chunks)
		r = commit_anyway(fs);
	if (!r && chunks)
		r = commit_anyway(fs);
	if (!r)
		r = truncate_file(fs);
	c->sum.done = r || !c->moved || ++c->pass >= PASSES_MAX;
	return r;
}

static int step(struct fc_fs *fs)
{
	struct fc_compact *c = &fs->compact;
	bool end;
	int r;

	switch (c->phase) {
	case FC_COMPACT_BEGIN:
		return begin_pass(fs);
	case FC_COMPACT_FILES:
	case FC_COMPACT_SPACE:
		r = scan_step(fs, c->phase == FC_COMPACT_FILES ? &fs->forest.files : &fs->forest.spaces, &end);
		if (r == FC_ENOSPC) /* the holes are full: others took some */
			end = true;
		else if (r)
			return r;
		if (end) {
			c->phase = c->phase == FC_COMPACT_FILES ? FC_COMPACT_SPACE : FC_COMPACT_CUT;
			c->at = c->done = (struct fc_key){ 0 };
		}
		return 0;
	default:
		return cut(fs);
	}
}

int fc_fs_compact(struct fc_fs *fs, struct fc_fs_compacting *progress)
{
	struct fc_compact *c = &fs->compact;
	int r;

	memset(progress, 0, sizeof(*progress));
	if (fs->read_only)
		return FC_EROFS;
	pthread_mutex_lock(&fs->compact_lock);
	if (c->phase == FC_COMPACT_BEGIN && (c->sum.done || !c->stepped))
		memset(c, 0, sizeof(*c));
	r = step(fs);
	if (r && c->phase != FC_COMPACT_BEGIN)
		end_pass(fs);
	if (r)
		c->sum.done = true;
	c->stepped = now_seconds();
	*progress = c->sum;
	pthread_mutex_unlock(&fs->compact_lock);
	return r;
}

void fc_fs_compact_end(struct fc_fs *fs)
{
	pthread_mutex_lock(&fs->compact_lock);
	if (fs->compact.phase != FC_COMPACT_BEGIN)
		end_pass(fs);
	fs->compact.stepped = 0;
	pthread_mutex_unlock(&fs->compact_lock);
}

void fc_compact_expire(struct fc_fs *fs)
{
	pthread_mutex_lock(&fs->compact_lock);
	if (fs->compact.phase != FC_COMPACT_BEGIN && now_seconds() - fs->compact.stepped > EXPIRE_SECONDS)
		end_pass(fs);
	pthread_mutex_unlock(&fs->compact_lock);
}
