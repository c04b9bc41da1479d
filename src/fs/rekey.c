/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Another master key, while the file system is in use. What a key command has done
 * before: both copies of the header are of the new key, and the old one is sealed in
 * them. Then, each step durable before the next begins:
 *
 *   BEGIN          a session of the new key starts, and two commits write both roots
 *                  under the new key: from now on the old one alone opens nothing
 *   DATA           extents of old sessions are sealed anew (rekey_data.c)
 *   FILES, SPACES  so are nodes, by being written with the next commit
 *   ROOTS          two commits whose roots say that no old session is in use
 *   WIPE           free blocks go back to the host; log, old salts and at last the old
 *                  key in the header are overwritten
 *
 * What is moved is no operation of the log: after a crash the newest root has it
 * either in the old place or in the new one, and both can be read. An opening in the
 * middle of all this begins anew, and finds little left to do.
 */
#include "fs/rekey.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "secret/secret.h"

#define LEAVES 32u                              /* renewed in one hold of the lock */
#define MOVED_MAX (32u << 20 >> FC_BLOCK_SHIFT) /* units: then a commit, so that the old blocks become free */
#define RETRY_SECONDS 10
#define DAMAGED_SECONDS 600
#define SOON_NS 50000000

void fc_rekey_init(struct fc_fs *fs)
{
	pthread_mutex_init(&fs->rekey.step, NULL);
}

void fc_rekey_fini(struct fc_fs *fs)
{
	fc_rekey_forget_shared(&fs->rekey);
	free(fs->rekey.flying);
	pthread_mutex_destroy(&fs->rekey.step);
}

/* ---- the header --------------------------------------------------------------- */

static bool alike(const struct fc_headers *h, const struct fc_keys *keys)
{
	return !h->status[0] && !h->status[1] && h->copy[0].sequence == h->copy[1].sequence &&
	       !fc_header_verify(h->raw[0], keys->header) && !fc_header_verify(h->raw[1], keys->header);
}

/* Without the old key in it, or with the same content in both copies. */
static int write_header(struct fc_fs *fs, struct fc_headers *h, bool finish)
{
	int best = fc_headers_verified(h, fs->keys->header), i;
	struct fc_header *next;
	int r;

	if (best < 0)
		return best;
	next = &h->copy[best];
	if (finish ? !next->rekeying : alike(h, fs->keys))
		return 0;
	if (finish) {
		next->rekeying = false;
		for (i = 0; i < 2; i++)
			if (!h->status[i] && h->copy[i].sequence > next->sequence)
				next->sequence = h->copy[i].sequence;
		if (next->sequence < fs->header_seq)
			next->sequence = fs->header_seq;
		next->sequence++;
	}
	r = fc_header_replace(fs->io, next, fs->keys->header, best);
	if (r == FC_EIO)
		fc_fs_fail(fs, "writing the header", r);
	return r;
}

static int with_header(struct fc_fs *fs, bool finish)
{
	const struct fc_fs_options *o = &fs->options;
	struct fc_headers *h = malloc(sizeof(*h));
	int r = h ? 0 : FC_ENOMEM;

	if (!r && o->header_lock)
		r = o->header_lock(o->arg, true);
	if (!r) {
		r = fc_headers_load(fs->io, h);
		if (!r)
			r = write_header(fs, h, finish);
		if (o->header_lock)
			(void)o->header_lock(o->arg, false);
	}
	free(h);
	return r;
}

int fc_rekey_settle(struct fc_fs *fs)
{
	return with_header(fs, false);
}

/* ---- going over to the new key ---------------------------------------------------- */

/* Keys of the new master, if both copies of the header are its and have the present one. */
static int new_keys(struct fc_fs *fs, const uint8_t master[FC_KEY_BYTES], struct fc_keys **out)
{
	struct fc_headers *h = malloc(sizeof(*h));
	struct fc_keys *keys = fc_keys_new(master);
	int r = h && keys ? fc_headers_load(fs->io, h) : FC_ENOMEM;

	if (!r && (h->status[0] == FC_EIO || h->status[1] == FC_EIO))
		r = FC_EIO;
	if (!r && !alike(h, keys))
		r = FC_EFORGED;
	if (!r)
		r = fc_keys_open_old(keys, &h->copy[0]);
	if (!r && (!keys->old || sodium_memcmp(keys->old->master, fs->keys->master, FC_KEY_BYTES)))
		r = FC_EFORGED;
	free(h);
	if (r) {
		fc_keys_free(keys);
		return r;
	}
	memcpy(keys->names, fs->keys->names, sizeof(keys->names));
	*out = keys;
	return 0;
}

/* What was sealed under the old session, and is not in the tree yet, is remembered. */
static int note_flying(struct fc_fs *fs)
{
	const struct fc_space *s = &fs->forest.space;
	struct fc_rekey *rk = &fs->rekey;

	free(rk->flying);
	rk->flyings = 0;
	rk->flying = malloc((s->inflights + 1) * sizeof(*rk->flying));
	if (!rk->flying)
		return FC_ENOMEM;
	if (s->inflights)
		memcpy(rk->flying, s->inflight, s->inflights * sizeof(*rk->flying));
	rk->flyings = s->inflights;
	return 0;
}

/* Nothing is being committed, logged or flushed, and the lock is held. */
static int switch_keys(struct fc_fs *fs, struct fc_keys *keys)
{
	struct fc_session_range before;
	struct fc_keys *old = fs->keys;
	uint32_t session;
	int r = note_flying(fs);

	if (r)
		return r;
	fc_sessions_range(fs->sessions, &before);
	fc_sessions_rekey(fs->sessions, keys, NULL);
	if (fs->forest.session) {
		r = fc_sessions_start(fs->sessions, fs->io, &session);
		if (r) {
			fc_sessions_rekey(fs->sessions, old, &before);
			return r;
		}
		fc_session_replace(fs, session);
	}
	fc_sessions_range(fs->sessions, &fs->range);
	fs->keys = keys;
	fs->names_kept = true;
	fs->dirty_root = true;
	fs->rekey.phase = FC_REKEY_BEGIN;
	fc_keys_free(old);
	return 0;
}

static int rekey(struct fc_fs *fs, const uint8_t master[FC_KEY_BYTES])
{
	struct fc_keys *keys;
	int r;

	if (fs->read_only || fs->failed)
		return fs->failed ? FC_EIO : FC_EROFS;
	if (fs->keys->old)
		return sodium_memcmp(fs->keys->master, master, FC_KEY_BYTES) ? FC_EFORGED : 0;
	r = new_keys(fs, master, &keys);
	if (r)
		return r;
	fc_journal_freeze_begin(fs);
	pthread_mutex_lock(&fs->flush_lock);
	pthread_rwlock_wrlock(&fs->lock);
	r = switch_keys(fs, keys);
	pthread_rwlock_unlock(&fs->lock);
	pthread_mutex_unlock(&fs->flush_lock);
	fc_journal_freeze_end(fs);
	if (r)
		fc_keys_free(keys);
	if (r == FC_EIO)
		fc_fs_fail(fs, "writing a salt", r);
	return r;
}

int fc_fs_rekey(struct fc_fs *fs, const uint8_t master[FC_KEY_BYTES])
{
	bool begun;
	int r;

	pthread_mutex_lock(&fs->rekey.step);
	pthread_mutex_lock(&fs->commit_lock);
	begun = !fs->keys->old;
	r = rekey(fs, master);
	pthread_mutex_unlock(&fs->commit_lock);
	if (!r && begun)
		r = fc_rekey_step(fs); /* both roots */
	pthread_mutex_unlock(&fs->rekey.step);
	if (fs->threads && fs->rekey.phase != FC_REKEY_NONE && fc_rekey_start(fs))
		return FC_ENOMEM;
	return r < 0 ? r : 0;
}

int fc_fs_rekey_sealed(struct fc_fs *fs, const uint8_t *sealed)
{
	uint8_t *master = fc_secret_alloc(FC_KEY_BYTES);
	bool under_way;
	int r = 0;

	if (!master)
		return FC_ENOMEM;
	pthread_mutex_lock(&fs->commit_lock);
	under_way = fs->keys->old != NULL;
	if (!under_way)
		r = fc_keys_open_next(fs->keys, sealed, master);
	pthread_mutex_unlock(&fs->commit_lock);
	if (!under_way && !r)
		r = fc_fs_rekey(fs, master);
	fc_secret_free(master);
	return r;
}

/* ---- steps ------------------------------------------------------------------------ */

static int two_commits(struct fc_fs *fs)
{
	int i, r = 0;

	for (i = 0; i < 2 && !r; i++) {
		pthread_rwlock_wrlock(&fs->lock);
		fs->dirty_root = true;
		pthread_rwlock_unlock(&fs->lock);
		r = fc_commit(fs, false);
	}
	fs->rekey.moved = 0;
	return r;
}

/* Exclusive lock. */
static void begin_pass(struct fc_fs *fs)
{
	struct fc_rekey *rk = &fs->rekey;

	rk->at = fc_key(0, 0, 0);
	rk->again = rk->found = false;
	rk->damaged = 0;
	rk->seen = 0;
	rk->total = fs->forest.space.data_used;
	rk->phase = FC_REKEY_DATA;
}

static int step_begin(struct fc_fs *fs)
{
	int r = two_commits(fs);

	if (r)
		return r;
	pthread_rwlock_wrlock(&fs->lock);
	begin_pass(fs);
	pthread_rwlock_unlock(&fs->lock);
	return 1;
}

static int step_data(struct fc_fs *fs)
{
	struct fc_rekey *rk = &fs->rekey;
	int damaged, r = fc_rekey_data(fs);

	if (r == FC_ENOSPC && rk->moved) { /* what was moved has left room, once that is durable */
		r = two_commits(fs);
		return r ? r : 1;
	}
	if (r < 0)
		return r;
	if (rk->moved > MOVED_MAX || (!r && rk->moved)) {
		int c = two_commits(fs);

		if (c)
			return c;
	}
	if (r)
		return 1;
	damaged = rk->damaged;
	pthread_rwlock_wrlock(&fs->lock);
	/* the last pass has met none: what the old key has sealed and is still needed would be lost */
	if (rk->again || rk->found || damaged) {
		begin_pass(fs);
	} else {
		rk->at = fc_key(0, 0, 0);
		rk->phase = FC_REKEY_FILES;
	}
	pthread_rwlock_unlock(&fs->lock);
	return damaged ? damaged : 1;
}

static int step_nodes(struct fc_fs *fs, struct fc_tree *tree, enum fc_rekey_phase next)
{
	struct fc_rekey *rk = &fs->rekey;
	int r = fc_fs_begin(fs, 3 * LEAVES, false);

	if (r)
		return r;
	r = fc_tree_renew(tree, fs->range.own, &rk->at, LEAVES);
	fs->dirty_root = true;
	if (!r) {
		rk->at = fc_key(0, 0, 0);
		rk->phase = next;
	}
	fc_fs_end(fs);
	return r < 0 ? r : 1;
}

/* Is anything that was in flight when the session changed still there? Lock. */
static bool still_flying(const struct fc_fs *fs)
{
	const struct fc_space *s = &fs->forest.space;
	const struct fc_rekey *rk = &fs->rekey;
	size_t i, k;

	for (i = 0; i < rk->flyings; i++)
		for (k = 0; k < s->inflights; k++)
			if (s->inflight[k].start < rk->flying[i].start + rk->flying[i].count &&
			    rk->flying[i].start < s->inflight[k].start + s->inflight[k].count)
				return true;
	return false;
}

static int step_roots(struct fc_fs *fs)
{
	struct fc_rekey *rk = &fs->rekey;
	bool again, flying;
	int r;

	pthread_rwlock_wrlock(&fs->lock);
	flying = still_flying(fs);
	again = rk->again;
	if (again) {
		begin_pass(fs);
	} else if (!flying) {
		fs->range.first = fs->range.own;
		fs->range.old_last = 0;
	}
	pthread_rwlock_unlock(&fs->lock);
	if (again)
		return 1;
	if (flying)
		return FC_EAGAIN;
	r = two_commits(fs);
	if (r)
		return r;
	pthread_rwlock_wrlock(&fs->lock);
	fc_sessions_forget_old(fs->sessions);
	rk->phase = FC_REKEY_WIPE;
	pthread_rwlock_unlock(&fs->lock);
	fc_rekey_forget_shared(rk);
	return 1;
}

static int step_wipe(struct fc_fs *fs)
{
	struct fc_keys *old;
	int r;

	fc_settle(fs);
	r = fc_background_punch(fs);
	if (r)
		return r;
	r = fc_journal_wipe(fs);
	if (!r)
		r = fc_sessions_wipe(fs->sessions, fs->io);
	if (r == FC_EIO) /* it may have been the sync */
		fc_fs_fail(fs, "wiping what the old key sealed", r);
	if (r)
		return r;
	pthread_mutex_lock(&fs->commit_lock);
	r = with_header(fs, true);
	if (r) {
		pthread_mutex_unlock(&fs->commit_lock);
		return r;
	}
	pthread_rwlock_wrlock(&fs->lock);
	old = fs->keys->old;
	fs->keys->old = NULL;
	fs->rekey.phase = FC_REKEY_NONE;
	pthread_rwlock_unlock(&fs->lock);
	pthread_mutex_unlock(&fs->commit_lock);
	fc_keys_free(old);
	fc_fs_log(fs, 5, "everything is sealed anew: the old master key is gone");
	/* a root that accepts no older header */
	return fc_commit(fs, false);
}

static int step(struct fc_fs *fs)
{
	enum fc_rekey_phase phase = fs->rekey.phase;

	switch (phase) {
	case FC_REKEY_BEGIN:
		return step_begin(fs);
	case FC_REKEY_DATA:
		return step_data(fs);
	case FC_REKEY_FILES:
		return step_nodes(fs, &fs->forest.files, FC_REKEY_SPACES);
	case FC_REKEY_SPACES:
		return step_nodes(fs, &fs->forest.spaces, FC_REKEY_ROOTS);
	case FC_REKEY_ROOTS:
		return step_roots(fs);
	case FC_REKEY_WIPE:
		return step_wipe(fs);
	default:
		return 0;
	}
}

int fc_rekey_step(struct fc_fs *fs)
{
	int r = fs->read_only ? FC_EROFS : fs->failed ? FC_EIO : step(fs);

	fs->rekey.error = r < 0 ? r : 0;
	return r;
}

int fc_fs_rekey_step(struct fc_fs *fs)
{
	int r;

	pthread_mutex_lock(&fs->rekey.step);
	r = fc_rekey_step(fs);
	pthread_mutex_unlock(&fs->rekey.step);
	return r;
}

/* ---- the thread --------------------------------------------------------------------- */

/* work_lock held. What is damaged stays so until it is repaired or overwritten; something
 * in flight is a matter of moments. */
static void wait_retry(struct fc_fs *fs, int error)
{
	bool soon = error == FC_EAGAIN;
	unsigned seconds = soon ? 0 : error == FC_EFORGED ? DAMAGED_SECONDS : RETRY_SECONDS;
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += soon ? SOON_NS : 0;
	until.tv_sec += seconds + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (!fs->stop && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&fs->work, &fs->work_lock, &until);
}

static void *rekeyer(void *arg)
{
	struct fc_fs *fs = arg;
	int r = 1, told = 0;

	pthread_mutex_lock(&fs->work_lock);
	while (!fs->stop && (r || fs->rekey.phase != FC_REKEY_NONE)) {
		pthread_mutex_unlock(&fs->work_lock);
		r = fc_fs_rekey_step(fs);
		if (r < 0 && r != told && r != FC_EAGAIN)
			fc_fs_log(fs, 4, "sealing everything anew does not go on: %s", fc_error_text(r));
		told = r < 0 ? r : told;
		pthread_mutex_lock(&fs->work_lock);
		if (fs->failed)
			break;
		if (r < 0)
			wait_retry(fs, r);
	}
	fs->rekey.ended = true;
	pthread_mutex_unlock(&fs->work_lock);
	return NULL;
}

int fc_rekey_start(struct fc_fs *fs)
{
	int r = 0;

	pthread_mutex_lock(&fs->work_lock);
	if (fs->rekey.running && fs->rekey.ended) { /* of an earlier one */
		pthread_join(fs->rekey.thread, NULL);
		fs->rekey.running = false;
	}
	if (!fs->rekey.running && !fs->stop && fs->rekey.phase != FC_REKEY_NONE) {
		fs->rekey.ended = false;
		r = pthread_create(&fs->rekey.thread, NULL, rekeyer, fs) ? FC_ENOMEM : 0;
		fs->rekey.running = !r;
	}
	pthread_mutex_unlock(&fs->work_lock);
	return r;
}

void fc_rekey_stop(struct fc_fs *fs)
{
	bool running;

	pthread_mutex_lock(&fs->work_lock);
	fs->stop = true;
	running = fs->rekey.running;
	fs->rekey.running = false;
	pthread_cond_broadcast(&fs->work);
	pthread_mutex_unlock(&fs->work_lock);
	if (running)
		pthread_join(fs->rekey.thread, NULL);
}
