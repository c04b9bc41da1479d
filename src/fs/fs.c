/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lock, the budget of dirty nodes, and what every operation asks for. */
#include "fs/state.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NODES_KEPT 64u        /* free nodes that only operations that free space may use */
#define NODES_LAST 24u        /* and those that nothing but a commit may use */
#define NODES_SPARE 16u       /* more free nodes than needed: room for some operations, and not for one */
#define DIRTY_NODES_MAX 4096u /* beyond, operations wait for a commit */
#define DIRTY_NODES_KICK 1024u

void fc_fs_log(struct fc_fs *fs, int priority, const char *format, ...)
{
	char text[256];
	va_list args;

	if (!fs->options.log)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fs->options.log(fs->options.arg, priority, text);
}

/* Nothing is written any more; who waits for that is told. False: so it was already. */
static bool stop(struct fc_fs *fs)
{
	bool first = !atomic_exchange(&fs->failed, true);

	pthread_mutex_lock(&fs->work_lock);
	pthread_cond_broadcast(&fs->room);
	pthread_mutex_unlock(&fs->work_lock);
	pthread_mutex_lock(&fs->journal.lock);
	pthread_cond_broadcast(&fs->journal.done);
	pthread_mutex_unlock(&fs->journal.lock);
	return first;
}

void fc_fs_fail(struct fc_fs *fs, const char *what, int error)
{
	if (stop(fs))
		fc_fs_log(fs, 2, "%s failed (%s): read-only until it is mounted anew", what, fc_error_text(error));
}

int fc_fs_stop(struct fc_fs *fs)
{
	int r = fs->read_only ? 0 : fc_fs_commit(fs);

	if (stop(fs)) {
		fs->stopped = !r;
		fc_fs_log(fs, 4, "it was asked to stop: read-only until it is mounted anew");
	}
	return r;
}

void fc_fs_rdlock(struct fc_fs *fs)
{
	pthread_rwlock_rdlock(&fs->lock);
}

/* Who only reads makes no commit necessary, which trims the cache at its end. Like there no
 * commit is under way; if others are at it, the next reader tries again. */
static void trim_cache(struct fc_fs *fs)
{
	if (pthread_mutex_trylock(&fs->commit_lock))
		return;
	if (!pthread_rwlock_trywrlock(&fs->lock)) {
		fc_node_cache_trim(&fs->forest.cache);
		pthread_rwlock_unlock(&fs->lock);
	}
	pthread_mutex_unlock(&fs->commit_lock);
}

void fc_fs_rdunlock(struct fc_fs *fs)
{
	pthread_rwlock_unlock(&fs->lock);
	if (fc_node_cache_grown(&fs->forest.cache))
		trim_cache(fs);
}

/* Nodes that flushing the dirty pages may dirty: each page may lie in another
 * leaf, but there are only so many, and new extents need new leaves. */
static uint64_t pages_need(const struct fc_fs *fs)
{
	uint64_t leaves = fs->forest.space.node_used / FC_NODE_BLOCKS, pages = fs->pages;

	return (pages < leaves ? pages : leaves) + pages / 100 + (pages ? 4 : 0);
}

bool fc_fs_has_room(struct fc_fs *fs, uint64_t nodes, bool frees)
{
	struct fc_forest *f = &fs->forest;
	uint64_t need = f->dirty + nodes + pages_need(fs) + fc_space_tree_need(f),
		 kept = frees ? NODES_LAST : NODES_KEPT;

	if (f->space.node_free >= (need + kept) * FC_NODE_BLOCKS)
		return true;
	return fc_space_grow_nodes(f, need + kept + NODES_KEPT) == 0;
}

static int writable(struct fc_fs *fs)
{
	if (fs->read_only)
		return FC_EROFS;
	return fs->failed ? FC_EIO : 0;
}

static int start_session(struct fc_fs *fs)
{
	int r;

	pthread_mutex_lock(&fs->commit_lock);
	r = fc_session_start(fs);
	pthread_mutex_unlock(&fs->commit_lock);
	return r;
}

/* Has an operation that needs no more nodes waited for room already, and nothing was given up
 * since? Then it does not come by another commit. Exclusive lock. */
static bool known_full(const struct fc_fs *fs, unsigned nodes, bool frees)
{
	return !frees && fs->full == fs->given_up + 1 && nodes >= fs->full_nodes;
}

/* What earlier commits freed comes back with the next two. Whoever waits a second time without
 * that anything was given up since needs *spare nodes more: else each operation would wait, when
 * a commit makes room for one only. No lock held. */
static int wait_room(struct fc_fs *fs, bool first, unsigned *spare)
{
	pthread_rwlock_wrlock(&fs->lock);
	fs->dirty_root = true;
	if (first && fs->waited == fs->given_up + 1)
		*spare = NODES_SPARE;
	fs->waited = fs->given_up + 1;
	pthread_rwlock_unlock(&fs->lock);
	return fc_commit(fs, false);
}

static int no_room(struct fc_fs *fs, unsigned nodes, bool frees)
{
	pthread_rwlock_wrlock(&fs->lock);
	if (!frees) {
		fs->full = fs->given_up + 1;
		fs->full_nodes = nodes;
	}
	pthread_rwlock_unlock(&fs->lock);
	return FC_ENOSPC;
}

int fc_fs_begin(struct fc_fs *fs, unsigned nodes, bool frees)
{
	unsigned spare = 0;
	int tries, r;

	for (tries = 0; tries < 5; tries++) {
		bool full, known;

		r = writable(fs);
		if (!r && !fs->forest.session)
			r = start_session(fs);
		if (r)
			return r;
		pthread_rwlock_wrlock(&fs->lock);
		full = fs->forest.dirty > DIRTY_NODES_MAX;
		known = known_full(fs, nodes, frees);
		r = fc_node_cache_reserve(&fs->forest.cache, FC_TREE_SPARES + nodes);
		if (!r)
			r = fc_space_pend_reserve(&fs->forest, FC_TREE_SPARES + nodes);
		if (!r && !full && fc_fs_has_room(fs, nodes + (known ? NODES_SPARE : frees ? 0 : spare), frees)) {
			fs->freeing = frees;
			return 0;
		}
		pthread_rwlock_unlock(&fs->lock);
		if (!r && known)
			r = FC_ENOSPC;
		if (!r)
			r = wait_room(fs, !tries, &spare);
		if (r)
			return r;
	}
	return no_room(fs, nodes, frees);
}

void fc_fs_end(struct fc_fs *fs)
{
	bool kick = fs->forest.dirty > DIRTY_NODES_KICK, flush = fs->pages > fs->dirty_limit / 8;

	fs->freeing = false;
	pthread_rwlock_unlock(&fs->lock);
	if ((kick || flush) && fs->threads)
		fc_threads_kick(fs, flush, kick);
}

static bool gives_up(const struct fc_op *op)
{
	switch (op->kind) {
	case FC_OP_UNLINK:
	case FC_OP_RMDIR:
	case FC_OP_REMOVEXATTR:
		return true;
	case FC_OP_SETATTR:
		return op->set.valid & FC_SET_SIZE;
	case FC_OP_FALLOCATE:
		return op->mode & FALLOC_FL_PUNCH_HOLE;
	default:
		return false;
	}
}

void fc_fs_record(struct fc_fs *fs, const struct fc_op *op)
{
	bool first = !fs->dirty_root;

	fs->given_up += gives_up(op);
	fs->dirty_root = true;
	fc_journal_record(fs, op);
	if (first && fs->threads)
		fc_threads_kick(fs, false, false);
}

struct fc_tree *fc_fs_tree(struct fc_fs *fs)
{
	return &fs->forest.files;
}

struct fc_time fc_fs_now(struct fc_fs *fs)
{
	struct timespec ts;

	if (fs->options.now)
		return fs->options.now(fs->options.arg);
	/* the clock of the kernel's own times: a file's do not change when it is closed */
	clock_gettime(CLOCK_REALTIME_COARSE, &ts);
	return (struct fc_time){ .sec = ts.tv_sec, .nsec = (uint32_t)ts.tv_nsec };
}

uint64_t fc_fs_new_ino(struct fc_fs *fs)
{
	/* the last one, which a forger alone gets to, is in use then: creating fails */
	return fs->next_ino < FC_INO_MAX ? fs->next_ino++ : FC_INO_MAX;
}

void fc_fs_took_ino(struct fc_fs *fs, uint64_t ino)
{
	if (fs->next_ino <= ino && ino < FC_INO_MAX)
		fs->next_ino = ino + 1;
}

void fc_fs_count_inodes(struct fc_fs *fs, int64_t change)
{
	/* of a forged root, fewer may have been counted than there are */
	if (change < 0 && fs->inodes < (uint64_t)-change)
		fs->inodes = 0;
	else
		fs->inodes += (uint64_t)change;
}

uint64_t fc_fs_name_hash(struct fc_fs *fs, const char *name, size_t n)
{
	uint64_t hash;

	crypto_shorthash((unsigned char *)&hash, (const unsigned char *)name, n, fs->keys->names);
	return hash;
}

unsigned fc_fs_enter(struct fc_fs *fs)
{
	unsigned slot = (unsigned)(fs->forest.txg % FC_READER_SLOTS);

	atomic_fetch_add(&fs->readers[slot], 1);
	return slot;
}

void fc_fs_leave(struct fc_fs *fs, unsigned slot)
{
	atomic_fetch_sub(&fs->readers[slot], 1);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Blocks of data that the cap still lets in; had: of our own. */
static uint64_t may_have(const struct fc_space *s, uint64_t had)
{
	uint64_t more = fc_space_under_cap(s);

	if (more > UINT64_MAX / FC_BLOCK / 2)
		return UINT64_MAX / FC_BLOCK;
	return more - more % FC_CHUNK_BLOCKS + had;
}

int fc_fs_statfs(struct fc_fs *fs, struct fc_fs_stat *st)
{
	const struct fc_space *s = &fs->forest.space;
	uint64_t host, own, kept = (uint64_t)FC_CHUNK_BYTES;
	int r;

	memset(st, 0, sizeof(*st));
	r = fc_io_host_free(fs->io, &host);
	if (!r)
		r = fc_io_allocated(fs->io, &st->bytes_allocated);
	if (r)
		return r;
	fc_fs_rdlock(fs);
	st->bytes_limit = s->cap;
	st->bytes_used = (s->data_used + s->node_used) * FC_BLOCK;
	/* space is taken from the host a chunk at a time: the last part of one cannot be had */
	/* what waits to be free counts: who meets a full disk waits for it (fc_space_came_free) */
	own = s->solid_free - least(s->solid_free, s->reserved) + fc_space_coming(&fs->forest);
	st->bytes_free = (host > kept ? host - kept : 0) + own * FC_BLOCK;
	st->bytes_free = least(st->bytes_free, may_have(s, own) * FC_BLOCK);
	st->bytes_total = st->bytes_used + s->reserved * FC_BLOCK + st->bytes_free;
	st->inodes = fs->inodes;
	st->generation = fs->root.generation;
	st->read_only = fs->read_only || fs->failed;
	st->failed = fs->failed;
	st->stopped = fs->stopped;
	st->rekeying = fs->keys->old != NULL;
	st->rekey_error = fs->rekey.error;
	st->rekey_total = fs->rekey.total * FC_BLOCK;
	st->rekey_bytes = least(fs->rekey.seen, fs->rekey.total) * FC_BLOCK;
	fc_fs_rdunlock(fs);
	st->format = fs->version;
	st->cipher = fs->cipher;
	memcpy(st->uuid, fs->uuid, FC_UUID_BYTES);
	return 0;
}
