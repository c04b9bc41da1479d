/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What fsync does: the operations since the last commit, kept encoded in
 * memory, are appended to the log as one record and synced once for everyone
 * who waits. A record holds whole operations, and the pages they speak of are
 * on the disk by then; so the state after any record is one that the daemon
 * was in.
 *
 * Before a commit has made the session's chain known, and when operations are
 * too many to keep or to log, a commit takes the record's place.
 *
 * Whoever sets `busy` owns the log's head. busy is taken before fs->lock.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fs/state.h"

#define KEEP_MAX (8u << 20) /* bytes of operations kept */
#define UNLOGGED_MAX 2048u  /* pages: beyond, a commit is as cheap */
#define KICK_EIGHTHS 5u     /* of the log that are in use: a commit is due */

int fc_journal_init(struct fc_fs *fs)
{
	pthread_mutex_init(&fs->journal.lock, NULL);
	pthread_cond_init(&fs->journal.done, NULL);
	return 0;
}

void fc_journal_fini(struct fc_fs *fs)
{
	free(fs->journal.pre);
	free(fs->journal.buf);
	pthread_mutex_destroy(&fs->journal.lock);
	pthread_cond_destroy(&fs->journal.done);
}

static void lose(struct fc_journal *j)
{
	free(j->buf);
	j->buf = NULL;
	j->bytes = j->room = 0;
	j->lost = true;
}

static bool make_room(struct fc_journal *j, size_t n)
{
	size_t room = j->room ? j->room : 64u << 10;
	uint8_t *grown;

	while (room < j->bytes + n)
		room *= 2;
	if (room == j->room)
		return true;
	grown = realloc(j->buf, room);
	if (!grown)
		return false;
	j->buf = grown;
	j->room = room;
	return true;
}

void fc_journal_record(struct fc_fs *fs, const struct fc_op *op)
{
	struct fc_journal *j = &fs->journal;
	size_t n, limit = fs->log.bytes / 2 < KEEP_MAX ? (size_t)fs->log.bytes / 2 : KEEP_MAX;

	pthread_mutex_lock(&j->lock);
	j->recorded++;
	if (!j->lost) {
		n = fc_op_size(op);
		if (j->bytes + n > limit || !make_room(j, n))
			lose(j);
		else
			j->bytes += fc_op_encode(op, j->buf + j->bytes);
	}
	pthread_mutex_unlock(&j->lock);
}

static void acquire(struct fc_journal *j)
{
	pthread_mutex_lock(&j->lock);
	while (j->busy)
		pthread_cond_wait(&j->done, &j->lock);
	j->busy = true;
	pthread_mutex_unlock(&j->lock);
}

static void release(struct fc_journal *j)
{
	pthread_mutex_lock(&j->lock);
	j->busy = false;
	pthread_cond_broadcast(&j->done);
	pthread_mutex_unlock(&j->lock);
}

/* ---- the log ------------------------------------------------------------------ */

/* Operations taken out of the journal, to be written. */
struct load {
	uint8_t *pre, *buf;
	size_t pre_bytes, bytes;
	uint64_t pre_end, end; /* operations that are durable then */
};

/* Exclusive lock, busy. FC_EAGAIN: only a commit helps. */
static int take(struct fc_fs *fs, struct load *load)
{
	struct fc_journal *j = &fs->journal;
	uint64_t need;

	pthread_mutex_lock(&j->lock);
	*load = (struct load){ j->pre, j->buf, j->pre_bytes, j->bytes, j->pre_end, j->recorded };
	need = ((load->pre_bytes ? fc_log_blocks(load->pre_bytes) : 0) + fc_log_blocks(load->bytes)) * FC_BLOCK;
	if (j->lost || j->pre_lost || need >= fs->log.bytes - j->live) {
		pthread_mutex_unlock(&j->lock);
		return FC_EAGAIN;
	}
	j->pre = j->buf = NULL;
	j->pre_bytes = j->bytes = j->room = 0;
	pthread_mutex_unlock(&j->lock);
	return 0;
}

/* One record, durable on return. busy. */
static int append(struct fc_fs *fs, const uint8_t *payload, size_t n, uint64_t end)
{
	struct fc_journal *j = &fs->journal;
	uint64_t seq = j->head.seq;
	int r;

	if (n) {
		r = fc_log_append(&fs->log, &j->head, payload, n, j->acked);
		if (!r)
			r = fc_io_sync(fs->io);
		if (r) {
			fc_fs_fail(fs, "writing the log", r);
			return FC_EIO;
		}
		j->acked = seq;
		j->live += fc_log_blocks(n) * FC_BLOCK;
		/* a commit makes room while syncs go on: one, until it is done */
		if (j->live > fs->log.bytes / 8 * KICK_EIGHTHS && !j->kicked && fs->threads) {
			j->kicked = true;
			fc_threads_kick(fs, false, true);
		}
	}
	pthread_mutex_lock(&j->lock);
	if (j->durable < end)
		j->durable = end;
	pthread_mutex_unlock(&j->lock);
	return 0;
}

/* Gets unlogged pages mapped and takes the operations, in one hold of the lock. */
static int gather(struct fc_fs *fs, struct load *load)
{
	int r = 0, tries;

	for (tries = 0; !r && tries < 4 && fs->unlogged > 64 && fs->unlogged <= UNLOGGED_MAX; tries++)
		r = fc_flush(fs, UNLOGGED_MAX);
	if (r)
		return r;
	if (fs->unlogged > UNLOGGED_MAX)
		return FC_EAGAIN;
	/* a flush of other pages takes long, and is not waited for when it need not be */
	pthread_rwlock_wrlock(&fs->lock);
	if (!fs->unlogged) {
		r = take(fs, load);
		pthread_rwlock_unlock(&fs->lock);
		return r;
	}
	pthread_rwlock_unlock(&fs->lock);
	pthread_mutex_lock(&fs->flush_lock);
	pthread_rwlock_wrlock(&fs->lock);
	r = fc_flush_locked(fs, true);
	if (!r)
		r = take(fs, load);
	pthread_rwlock_unlock(&fs->lock);
	pthread_mutex_unlock(&fs->flush_lock);
	return r;
}

static int log_once(struct fc_fs *fs)
{
	struct fc_journal *j = &fs->journal;
	struct load load;
	int r = gather(fs, &load);

	if (r)
		return r;
	if (load.pre_bytes || load.pre) {
		r = append(fs, load.pre, load.pre_bytes, load.pre_end);
		j->freeze = j->head;
	}
	if (!r)
		r = append(fs, load.buf, load.bytes, load.end);
	free(load.pre);
	free(load.buf);
	return r;
}

int fc_fs_sync(struct fc_fs *fs)
{
	struct fc_journal *j = &fs->journal;
	uint64_t target;
	int r = 0;

	pthread_mutex_lock(&j->lock);
	target = j->recorded;
	while (!r && j->durable < target) {
		bool commit = !j->ready || j->lost || j->pre_lost;

		if (fs->failed) {
			r = FC_EIO;
			break;
		}
		if (j->busy) {
			pthread_cond_wait(&j->done, &j->lock);
			continue;
		}
		if (!commit) {
			j->busy = true;
			pthread_mutex_unlock(&j->lock);
			r = log_once(fs);
			release(j);
			commit = r == FC_EAGAIN;
			pthread_mutex_lock(&j->lock);
		}
		if (commit) {
			pthread_mutex_unlock(&j->lock);
			r = fc_commit(fs, false);
			pthread_mutex_lock(&j->lock);
		}
	}
	pthread_mutex_unlock(&j->lock);
	return r ? r : fs->failed ? FC_EIO : 0;
}

/* ---- commits ------------------------------------------------------------------- */

void fc_journal_freeze_begin(struct fc_fs *fs)
{
	acquire(&fs->journal);
}

void fc_journal_freeze_end(struct fc_fs *fs)
{
	release(&fs->journal);
}

void fc_journal_freeze(struct fc_fs *fs)
{
	struct fc_journal *j = &fs->journal;

	pthread_mutex_lock(&j->lock);
	assert(!j->pre);
	j->pre = j->buf;
	j->pre_bytes = j->bytes;
	j->pre_lost = j->lost;
	j->pre_end = j->recorded;
	j->freeze = j->head;
	j->buf = NULL;
	j->bytes = j->room = 0;
	j->lost = false;
	pthread_mutex_unlock(&j->lock);
}

struct fc_log_head fc_journal_root_begin(struct fc_fs *fs)
{
	struct fc_journal *j = &fs->journal;

	acquire(j);
	if (j->pre_bytes || j->pre_lost) {
		/* what only this root has: records that follow must not be taken for a
		 * continuation of the one before, if that is all that can be read */
		j->head.seq++;
		j->freeze = j->head;
	}
	free(j->pre);
	j->pre = NULL;
	j->pre_bytes = 0;
	return j->freeze;
}

void fc_journal_root_end(struct fc_fs *fs, bool durable)
{
	struct fc_journal *j = &fs->journal;

	pthread_mutex_lock(&j->lock);
	if (durable) {
		j->tail = j->freeze.pos;
		/* equal positions: empty, since a record is never as long as the ring and
		 * the ring is never filled to the last block */
		j->live = (j->head.pos + fs->log.bytes - j->tail) % fs->log.bytes;
		j->pre_lost = false;
		j->ready = true;
		if (j->durable < j->pre_end)
			j->durable = j->pre_end;
	}
	j->kicked = false;
	j->busy = false;
	pthread_cond_broadcast(&j->done);
	pthread_mutex_unlock(&j->lock);
}

/* ---- a rekey --------------------------------------------------------------------- */

/* Blocks from `at` on that are alike: needed or not. busy. */
static uint64_t wipe_run(const struct fc_fs *fs, uint64_t at, uint64_t end, bool *needed)
{
	const struct fc_journal *j = &fs->journal;
	uint64_t from = at, behind;

	behind = (at + fs->log.bytes - j->tail) % fs->log.bytes;
	*needed = behind < j->live;
	while (at < end) {
		behind = (at + fs->log.bytes - j->tail) % fs->log.bytes;
		if ((behind < j->live) != *needed)
			break;
		at += FC_BLOCK;
	}
	return at - from;
}

int fc_journal_wipe(struct fc_fs *fs)
{
	struct fc_journal *j = &fs->journal;
	uint8_t *zeros = aligned_alloc(FC_IO_ALIGN, FC_LOG_ALIGN);
	uint64_t at, n, part;
	bool needed;
	int r = zeros ? 0 : FC_ENOMEM;

	if (zeros)
		memset(zeros, 0, FC_LOG_ALIGN);
	for (part = 0; !r && part < fs->log.bytes; part += FC_LOG_ALIGN) {
		acquire(j);
		for (at = part; !r && at < part + FC_LOG_ALIGN; at += n) {
			n = wipe_run(fs, at, part + FC_LOG_ALIGN, &needed);
			if (!needed)
				r = fc_io_write_bulk(fs->io, zeros, (size_t)n, fs->log.offset + at); /* as log.c does */
		}
		release(j);
	}
	free(zeros);
	return r ? r : fc_io_sync(fs->io);
}
