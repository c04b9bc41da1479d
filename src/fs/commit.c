/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A commit: dirty pages, nodes, sync, root copy A, sync, root copy B. The root
 * is durable from the second sync on; copy B is made so by the next commit's
 * first sync, before the other slot is touched (format.h F3).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/state.h"

#define LAST_PAGES 256u /* dirty pages that a commit writes while it holds the lock */

/* After a crash between its two copies the newest root may have one only. The other
 * is made good before anything else is written: a single damaged block must not
 * take this mount back to an older root. */
static int mend_root(struct fc_fs *fs)
{
	const uint64_t at[2] = { FC_ROOT_A + (uint64_t)fs->root_slot * FC_BLOCK,
				 FC_ROOT_B + (uint64_t)fs->root_slot * FC_BLOCK };
	uint8_t raw[2][FC_BLOCK];
	int i, r = 0;

	for (i = 0; i < 2 && !r; i++)
		r = fc_io_read(fs->io, raw[i], FC_BLOCK, at[i]);
	if (r || !memcmp(raw[0], raw[1], FC_BLOCK))
		return 0; /* what cannot be read now is no reason not to write elsewhere */
	i = fc_root_has_tag(raw[0], fs->root_tag) ? 0 : 1;
	if (!fc_root_has_tag(raw[i], fs->root_tag))
		return 0; /* neither: the disk changes under us, and reading will tell */
	r = fc_io_write(fs->io, raw[i], FC_BLOCK, at[!i]);
	if (!r)
		r = fc_io_sync(fs->io);
	if (r)
		fc_fs_fail(fs, "writing a copy of the root", r);
	return r;
}

int fc_session_start(struct fc_fs *fs)
{
	uint32_t session;
	int r;

	if (fs->forest.session)
		return 0;
	if (fs->read_only || fs->failed)
		return fs->failed ? FC_EIO : FC_EROFS;
	r = fs->root.generation ? mend_root(fs) : 0;
	if (!r && fs->keys->old)
		r = fc_rekey_settle(fs);
	if (r)
		return r;
	r = fc_sessions_start(fs->sessions, fs->io, &session);
	if (r == FC_EIO)
		fc_fs_fail(fs, "writing a salt", r); /* it may have been the sync */
	if (r)
		return r;
	pthread_rwlock_wrlock(&fs->lock);
	fc_session_replace(fs, session);
	pthread_rwlock_unlock(&fs->lock);
	return 0;
}

void fc_session_replace(struct fc_fs *fs, uint32_t session)
{
	struct fc_journal *j = &fs->journal;

	fc_sessions_range(fs->sessions, &fs->range);
	atomic_store(&fs->forest.node_nonce, 1);
	atomic_store(&fs->forest.data_nonce, 1);
	pthread_mutex_lock(&j->lock);
	j->head = (struct fc_log_head){ .session = session, .seq = 1, .pos = j->head.pos };
	j->acked = 0;
	j->ready = false; /* the chain is not known before a root is */
	pthread_mutex_unlock(&j->lock);
	fs->forest.session = session;
}

/* Exclusive lock; right after freezing. */
static void make_root(struct fc_fs *fs, struct fc_root *root, bool clean)
{
	const struct fc_space *s = &fs->forest.space;

	memset(root, 0, sizeof(*root));
	root->generation = fs->forest.txg - 1;
	root->flags = clean ? FC_ROOT_CLEAN : 0;
	root->sessions = fs->range.count;
	if (fs->range.own > 1) {
		root->first = fs->range.first;
		root->old_last = fs->range.old_last;
		root->own = fs->range.own;
	}
	if (fs->names_kept)
		memcpy(root->names, fs->keys->names, FC_NAMES_BYTES);
	root->header_seq = fs->header_seq;
	root->time = (uint64_t)fc_fs_now(fs).sec;
	root->next_ino = fs->next_ino;
	root->inodes = fs->inodes;
	root->data_blocks = s->data_used;
	root->node_blocks = s->node_used;
	root->cap = s->cap;
	root->chunks = fc_space_end(s);
	root->shared = s->shared;
}

/* Pages and trees as they are now become the transaction to be written. */
static int freeze(struct fc_fs *fs, struct fc_root *root, bool clean)
{
	int r = 0, tries;

	for (tries = 0; !r && tries < 4 && fs->pages > LAST_PAGES; tries++)
		r = fc_flush(fs, fs->pages);
	if (r)
		return r;
	fc_journal_freeze_begin(fs);
	pthread_mutex_lock(&fs->flush_lock);
	pthread_rwlock_wrlock(&fs->lock);
	r = fc_flush_locked(fs, false);
	if (!r)
		r = fc_forest_freeze(&fs->forest);
	if (!r) {
		make_root(fs, root, clean);
		fc_journal_freeze(fs);
		fs->dirty_root = false;
	}
	pthread_rwlock_unlock(&fs->lock);
	pthread_mutex_unlock(&fs->flush_lock);
	fc_journal_freeze_end(fs);
	return r;
}

static int write_root(struct fc_fs *fs, struct fc_root *root, bool clean)
{
	unsigned slot = (fs->root_slot + 1) % FC_ROOT_SLOTS;
	uint8_t raw[FC_BLOCK];
	int r;

	root->file_tree = fs->forest.frozen_files;
	root->space_tree = fs->forest.frozen_spaces;
	root->log = fc_journal_root_begin(fs);
	r = fc_root_seal(root, fs->keys, fs->uuid, raw, fs->root_tag);
	if (!r)
		r = fc_io_write(fs->io, raw, FC_BLOCK, FC_ROOT_A + slot * FC_BLOCK);
	if (!r)
		r = fc_io_sync(fs->io);
	if (!r) {
		pthread_rwlock_wrlock(&fs->lock);
		fs->root = *root;
		fs->root_slot = slot;
		pthread_rwlock_unlock(&fs->lock);
	}
	fc_journal_root_end(fs, !r);
	if (!r)
		r = fc_io_write(fs->io, raw, FC_BLOCK, FC_ROOT_B + slot * FC_BLOCK);
	if (!r && clean)
		r = fc_io_sync(fs->io);
	return r;
}

/* Reads that began before the last freeze may look at blocks that are about to be free. */
static void wait_readers(struct fc_fs *fs)
{
	uint64_t running = fs->forest.txg;
	unsigned i;

	for (i = 0; i < FC_READER_SLOTS; i++)
		while (i != running % FC_READER_SLOTS && i != (running - 1) % FC_READER_SLOTS &&
		       atomic_load(&fs->readers[i]))
			usleep(200);
}

static int commit(struct fc_fs *fs, bool clean)
{
	struct fc_root root;
	int r = fc_session_start(fs);

	if (!r)
		r = freeze(fs, &root, clean);
	if (r)
		return r;
	r = fc_forest_write(&fs->forest);
	if (!r)
		r = fc_io_sync(fs->io);
	if (!r)
		r = write_root(fs, &root, clean);
	if (r) {
		fc_fs_fail(fs, "a commit", r);
		return FC_EIO;
	}
	wait_readers(fs);
	pthread_rwlock_wrlock(&fs->lock);
	fc_forest_finish(&fs->forest);
	fc_node_cache_trim(&fs->forest.cache);
	pthread_rwlock_unlock(&fs->lock);
	if (fs->options.committed)
		fs->options.committed(fs->options.arg, root.generation, fs->root_tag);
	return 0;
}

/*
 * Did a key command write the header meanwhile? Then the root to come accepts none
 * before that one. What is read here need not be on the disk yet: the sync before
 * the root covers the header too. A sequence counts only with its MAC: who can
 * write to the container must not raise it beyond any header that there is.
 * commit_lock held.
 */
static bool header_moved(struct fc_fs *fs)
{
	struct fc_headers *h;
	bool moved = false;
	int newest;

	if (fc_headers_peek(fs->io) <= fs->header_seq)
		return false;
	h = malloc(sizeof(*h));
	if (h && !fc_headers_load(fs->io, h)) {
		newest = fc_headers_verified(h, fs->keys->header);
		moved = newest >= 0 && h->copy[newest].sequence > fs->header_seq;
		if (moved)
			fs->header_seq = h->copy[newest].sequence;
	}
	free(h);
	return moved;
}

int fc_commit(struct fc_fs *fs, bool clean)
{
	bool needed;
	int r = 0;

	if (fs->read_only)
		return 0;
	pthread_mutex_lock(&fs->commit_lock);
	pthread_rwlock_rdlock(&fs->lock);
	/* a root that says clean is due when this mount has written anything */
	needed = fs->dirty_root || (clean && fs->forest.session && !(fs->root.flags & FC_ROOT_CLEAN));
	pthread_rwlock_unlock(&fs->lock);
	if (fs->failed)
		r = FC_EIO;
	else if (header_moved(fs) || needed)
		r = commit(fs, clean);
	pthread_mutex_unlock(&fs->commit_lock);
	return r;
}

int fc_fs_commit(struct fc_fs *fs)
{
	return fc_commit(fs, false);
}

int fc_fs_set_limit(struct fc_fs *fs, uint64_t cap, uint64_t *least)
{
	uint64_t before;
	int r = fc_fs_begin(fs, 4, true);

	*least = 0;
	if (r)
		return r;
	*least = fc_space_least_cap(&fs->forest.space);
	before = fs->forest.space.cap;
	if (cap && cap < *least)
		r = FC_EINVAL;
	else
		fs->forest.space.cap = cap;
	fs->dirty_root |= !r;
	fc_fs_end(fs);
	if (r)
		return r;
	r = fc_commit(fs, false);
	if (!r) /* what the host has given beyond the new limit goes back, and is not filled */
		return fc_background_punch(fs);
	pthread_rwlock_wrlock(&fs->lock);
	if (fs->forest.space.cap == cap)
		fs->forest.space.cap = before;
	pthread_rwlock_unlock(&fs->lock);
	return r;
}

void fc_settle(struct fc_fs *fs)
{
	int i;

	for (i = 0; i < 2; i++) {
		bool waiting;

		pthread_rwlock_wrlock(&fs->lock);
		waiting = fc_space_waiting(&fs->forest) && !fs->read_only && !fs->failed;
		fs->dirty_root |= waiting;
		pthread_rwlock_unlock(&fs->lock);
		if (!waiting || fc_commit(fs, false))
			return;
	}
}
