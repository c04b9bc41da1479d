/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flusher writes out dirty pages as they come; the committer commits some
 * seconds after the first change, and gives free blocks back to the host when
 * it is quiet. Both sleep without a timeout while there is nothing to do.
 */
#include <errno.h>
#include <time.h>

#include "fs/state.h"

#define PUNCH_RANGES (FC_CHUNK_BLOCKS / 2)         /* a chunk has no more runs: each round ends at least one chunk */
#define PUNCH_BLOCKS (16u << 20 >> FC_BLOCK_SHIFT) /* at once: writers wait for as long as the host takes for that */
#define PUNCH_SHORT FC_CHUNK_BLOCKS                /* while programs wait for syncs */
#define HELD_MAX (24u << 20 >> FC_BLOCK_SHIFT)     /* free blocks kept for reuse while busy */
#define COMING_MAX (16u << 20 >> FC_BLOCK_SHIFT)   /* blocks that wait to be free: worth a commit */
#define SLICE_MS 250u                              /* between commits for that reason */

/* punch_lock. Less since a program has waited for a sync, until a whole punching sees none. */
static uint64_t punch_blocks_max(struct fc_fs *fs)
{
	return atomic_load(&fs->journal.acked) == fs->punch_acked ? PUNCH_BLOCKS : PUNCH_SHORT;
}

/* Ranges that lie one after the other together: before each punch the host waits for the
 * writes that are in flight. */
static int punch_ranges(struct fc_fs *fs, const struct fc_range *range, size_t n)
{
	size_t i, run;
	int r = 0, e;

	for (i = 0; i < n; i += run) {
		uint64_t blocks = range[i].count, max = punch_blocks_max(fs);

		for (run = 1; i + run < n && range[i + run].start == range[i].start + blocks &&
			      blocks + range[i + run].count <= max;
		     run++)
			blocks += range[i + run].count;
		e = fc_io_punch(fs->io, range[i].start * FC_BLOCK, blocks * FC_BLOCK);
		if (e && e != FC_ENOTSUP)
			r = e;
	}
	return r;
}

static int punch(struct fc_fs *fs)
{
	struct fc_range range[PUNCH_RANGES];
	size_t n;
	int r;

	for (;;) {
		pthread_rwlock_wrlock(&fs->lock);
		n = fs->failed || fs->read_only ? 0 : fc_space_punchable(&fs->forest, range, PUNCH_RANGES);
		pthread_rwlock_unlock(&fs->lock);
		r = punch_ranges(fs, range, n);
		pthread_rwlock_wrlock(&fs->lock);
		fc_space_punched(&fs->forest, range, n);
		pthread_rwlock_unlock(&fs->lock);
		if (n < PUNCH_RANGES || r)
			return r;
	}
}

/* One at a time: what another one is punching is not free yet when this returns, and
 * compacting would take it for used. */
int fc_background_punch(struct fc_fs *fs)
{
	int r;

	pthread_mutex_lock(&fs->punch_lock);
	r = punch(fs);
	fs->punch_acked = atomic_load(&fs->journal.acked);
	pthread_mutex_unlock(&fs->punch_lock);
	return r;
}

int fc_fs_background(struct fc_fs *fs)
{
	int r;

	if (fs->read_only)
		return 0;
	r = fc_background_reclaim(fs);
	if (!r)
		r = fc_flush(fs, SIZE_MAX);
	if (!r)
		r = fc_commit(fs, false);
	return r ? r : fc_background_punch(fs);
}

int fc_fs_trim(struct fc_fs *fs, uint64_t *bytes)
{
	uint64_t before, after;
	int r;

	*bytes = 0;
	if (fs->read_only || fs->failed)
		return fs->failed ? FC_EIO : FC_EROFS;
	r = fc_io_allocated(fs->io, &before);
	if (!r)
		r = fc_background_reclaim(fs);
	if (!r)
		r = fc_commit(fs, false);
	if (r)
		return r;
	fc_settle(fs);
	r = fc_background_punch(fs);
	if (!r)
		r = fc_io_allocated(fs->io, &after);
	if (!r && after < before)
		*bytes = before - after;
	return r;
}

static void *flusher(void *arg)
{
	struct fc_fs *fs = arg;

	pthread_mutex_lock(&fs->work_lock);
	while (!fs->stop) {
		if (!fs->flush_wanted) {
			pthread_cond_wait(&fs->work, &fs->work_lock);
			continue;
		}
		fs->flush_wanted = false;
		pthread_mutex_unlock(&fs->work_lock);
		if (fc_flush(fs, SIZE_MAX) && !fs->failed) {
			/* the pages stay; whoever syncs is told. Not at full speed again. */
			struct timespec pause = { .tv_nsec = 100000000 };

			nanosleep(&pause, NULL);
		}
		pthread_mutex_lock(&fs->work_lock);
	}
	pthread_mutex_unlock(&fs->work_lock);
	return NULL;
}

/* work_lock held. Waits until told, or the time has passed; quiet: also until something changes. True: told. */
static bool wait_told(struct fc_fs *fs, unsigned ms, bool quiet)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	while (!fs->stop && !fs->commit_wanted && !(quiet && fs->dirty) && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&fs->work, &fs->work_lock, &until);
	return r != ETIMEDOUT;
}

static bool much_coming(struct fc_fs *fs)
{
	bool much;

	fc_fs_rdlock(fs);
	much = fc_space_coming(&fs->forest) > COMING_MAX;
	fc_fs_rdunlock(fs);
	return much;
}

/* work_lock held. Until the next commit is due. What is overwritten or removed waits for commits
 * until it is free: the container must not grow by whatever that is in seconds. */
static void wait_due(struct fc_fs *fs)
{
	bool much = false;

	for (unsigned ms = fs->options.commit_seconds * 1000; ms && !much; ms -= ms < SLICE_MS ? ms : SLICE_MS) {
		if (wait_told(fs, ms < SLICE_MS ? ms : SLICE_MS, false))
			return;
		pthread_mutex_unlock(&fs->work_lock);
		much = much_coming(fs);
		pthread_mutex_lock(&fs->work_lock);
	}
}

static bool holds_much(struct fc_fs *fs)
{
	bool much;

	fc_fs_rdlock(fs);
	much = fs->forest.space.solid_free > HELD_MAX;
	fc_fs_rdunlock(fs);
	return much;
}

static void *committer(void *arg)
{
	struct fc_fs *fs = arg;
	bool tidy = true; /* free blocks may be left to punch */

	pthread_mutex_lock(&fs->work_lock);
	while (!fs->stop) {
		if (!fs->dirty && !fs->commit_wanted) {
			if (!tidy) {
				pthread_cond_wait(&fs->work, &fs->work_lock);
				continue;
			}
			wait_told(fs, fs->options.commit_seconds * 2000, true);
			if (fs->stop || fs->dirty || fs->commit_wanted)
				continue;
			/* two more roots, so that what the last ones freed is free */
			pthread_mutex_unlock(&fs->work_lock);
			fc_compact_expire(fs);
			fc_settle(fs);
			tidy = fc_background_punch(fs) != 0;
			pthread_mutex_lock(&fs->work_lock);
			continue;
		}
		wait_due(fs);
		fs->commit_wanted = fs->dirty = false;
		if (fs->stop)
			break;
		pthread_mutex_unlock(&fs->work_lock);
		if (fs->reclaim_more)
			(void)fc_background_reclaim(fs);
		if (fc_commit(fs, false) && !fs->failed)
			fc_fs_log(fs, 4, "a commit did not succeed; it is tried again");
		tidy = true;
		if (holds_much(fs))
			(void)fc_background_punch(fs);
		pthread_mutex_lock(&fs->work_lock);
	}
	pthread_mutex_unlock(&fs->work_lock);
	return NULL;
}

void fc_threads_kick(struct fc_fs *fs, bool flush, bool commit)
{
	pthread_mutex_lock(&fs->work_lock);
	if ((flush && !fs->flush_wanted) || (commit && !fs->commit_wanted) || !fs->dirty) {
		fs->flush_wanted |= flush;
		fs->commit_wanted |= commit;
		fs->dirty = true;
		pthread_cond_broadcast(&fs->work);
	}
	pthread_mutex_unlock(&fs->work_lock);
}

int fc_threads_start(struct fc_fs *fs)
{
	if (pthread_create(&fs->flusher, NULL, flusher, fs))
		return FC_ENOMEM;
	if (pthread_create(&fs->committer, NULL, committer, fs)) {
		fs->threads = true; /* so that stop joins the flusher */
		pthread_mutex_lock(&fs->work_lock);
		fs->stop = true;
		pthread_cond_broadcast(&fs->work);
		pthread_mutex_unlock(&fs->work_lock);
		pthread_join(fs->flusher, NULL);
		fs->threads = false;
		return FC_ENOMEM;
	}
	fs->threads = true;
	return fc_rekey_start(fs);
}

int fc_fs_start(struct fc_fs *fs)
{
	return fs->threads || fs->read_only ? 0 : fc_threads_start(fs);
}

void fc_threads_stop(struct fc_fs *fs)
{
	if (!fs->threads)
		return;
	fc_rekey_stop(fs);
	pthread_mutex_lock(&fs->work_lock);
	fs->stop = true;
	pthread_cond_broadcast(&fs->work);
	pthread_cond_broadcast(&fs->room);
	pthread_mutex_unlock(&fs->work_lock);
	pthread_join(fs->flusher, NULL);
	pthread_join(fs->committer, NULL);
	fs->threads = false;
}
