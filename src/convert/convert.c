/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert/converter.h"

#define ROUNDS 4 /* for files that change while they are moved */

bool fc_cv_stop(const struct fc_cv *c)
{
	bool stop = false;

	if (!c->options->stop)
		return false;
	pthread_mutex_lock(&c->first->told);
	stop = c->options->stop(c->options->arg);
	pthread_mutex_unlock(&c->first->told);
	return stop;
}

void fc_cv_note(const struct fc_cv *c, enum fc_convert_note what, const char *path, int error)
{
	if (!c->options->note)
		return;
	pthread_mutex_lock(&c->first->told);
	c->options->note(c->options->arg, what, path, error);
	pthread_mutex_unlock(&c->first->told);
}

int fc_cv_failed(const struct fc_cv *c, const char *path, int error)
{
	if (error != FC_EINTERRUPTED && error != FC_ESTALE)
		fc_cv_note(c, FC_CONVERT_FAILED, path, error);
	return error;
}

int fc_cv_errno(int err)
{
	return fc_error_from_errno(err);
}

int fc_cv_save(struct fc_cv *c)
{
	return fc_convert_save(c->staging, c->journal);
}

/* ---- begin and end -------------------------------------------------------------- */

void fc_cv_init(struct fc_cv *c, struct fc_fs *fs, int staging, struct fc_convert_journal *journal,
		const struct fc_convert_options *options)
{
	*c = (struct fc_cv){
		.fs = fs, .staging = staging, .journal = journal, .options = options, .host = -1, .at_fd = -1
	};
	c->first = c;
	pthread_mutex_init(&c->told, NULL);
}

int fc_cv_alloc(struct fc_cv *c)
{
	if (!c->buf)
		c->buf = aligned_alloc(FC_BLOCK, FC_CV_BUFFER);
	if (!c->hash)
		c->hash = XXH3_createState();
	return c->buf && c->hash ? 0 : FC_ENOMEM;
}

void fc_cv_fini(struct fc_cv *c)
{
	fc_cv_batch_drop(&c->batch);
	free(c->batch.item);
	fc_cv_place_forget(c);
	free(c->level);
	fc_cv_links_free(&c->links);
	free(c->split_path);
	free(c->buf);
	XXH3_freeState(c->hash);
	pthread_mutex_destroy(&c->told);
}

static void close_all(struct fc_cv *c)
{
	fc_cv_back_free(c);
	fc_cv_fini(c);
	if (c->host >= 0)
		close(c->host);
}

static int open_host(struct fc_cv *c)
{
	if (c->host >= 0)
		return 0;
	c->host = openat(c->staging, FC_CONVERT_DATA, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fc_cv_place_forget(c);
	return c->host < 0 && errno != ENOENT ? fc_cv_errno(errno) : 0;
}

static int begin(struct fc_cv *c, struct fc_fs *fs, int staging, struct fc_convert_journal *journal,
		 const struct fc_convert_options *options)
{
	int r;

	fc_cv_init(c, fs, staging, journal, options);
	r = fc_cv_alloc(c);
	return r ? r : open_host(c);
}

static int set_phase(struct fc_cv *c, enum fc_convert_phase phase)
{
	c->journal->phase = phase;
	return fc_cv_save(c);
}

/* ---- moving ---------------------------------------------------------------------- */

/* What is left from before, then all the rest. */
static int move_all(struct fc_cv *c)
{
	bool out = c->journal->way == FC_CONVERT_OUT;
	const struct fc_cv_visit v = { .each = out ? fc_cv_move_out : fc_cv_move_in };
	int r = fc_cv_settle(c);

	if (!r)
		r = fc_cv_find_links(c);
	if (!r)
		r = fc_cv_split_resume(c);
	for (int round = 0; !r && round < ROUNDS; round++) {
		c->changed = 0;
		r = fc_cv_walk(c, out, &v);
		if (!r)
			r = fc_cv_batch_end(c);
		if (!r && !c->changed)
			return 0;
	}
	return r ? r : FC_EAGAIN;
}

static int run_in(struct fc_cv *c)
{
	int r = 0;

	if (c->journal->phase == FC_CONVERT_PLACED) {
		r = fc_cv_dirs_in(c);
		if (!r)
			r = fc_fs_commit(c->fs);
		if (!r)
			r = set_phase(c, FC_CONVERT_MOVE);
	}
	if (!r && c->host >= 0)
		r = move_all(c);
	if (!r)
		r = fc_cv_dirs_end_in(c);
	if (!r)
		r = fc_fs_commit(c->fs);
	if (!r && c->host >= 0)
		r = fc_cv_dirs_gone(c);
	return r ? r : set_phase(c, FC_CONVERT_DONE);
}

static int run_out(struct fc_cv *c)
{
	int r = fc_cv_dirs_out(c); /* stamps; with data in place directories too */

	if (!r)
		r = fc_fs_commit(c->fs);
	if (!r && c->journal->phase == FC_CONVERT_PLACED)
		r = set_phase(c, FC_CONVERT_MOVE);
	if (!r && c->host < 0) {
		if (mkdirat(c->staging, FC_CONVERT_DATA, 0700) && errno != EEXIST)
			r = fc_cv_errno(errno);
		if (!r)
			r = open_host(c);
		if (!r)
			r = fc_cv_dirs_out(c);
	}
	if (!r)
		r = move_all(c);
	if (!r)
		r = fc_cv_dirs_end_out(c);
	if (!r && syncfs(c->host))
		r = fc_cv_errno(errno);
	return r ? r : set_phase(c, FC_CONVERT_DONE);
}

int fc_convert_run(struct fc_fs *fs, int staging, struct fc_convert_journal *journal,
		   const struct fc_convert_options *options)
{
	struct fc_cv c;
	int r = begin(&c, fs, staging, journal, options);

	if (!r && journal->phase < FC_CONVERT_DONE)
		r = journal->way == FC_CONVERT_IN ? run_in(&c) : run_out(&c);
	close_all(&c);
	return r;
}

/* ---- turning round ------------------------------------------------------------------ */

/* Nothing had been moved. */
static int turn_early(struct fc_cv *c)
{
	int r = 0;

	if (c->journal->way == FC_CONVERT_OUT)
		r = fc_cv_dirs_end_in(c);
	return r ? r : fc_fs_commit(c->fs);
}

int fc_convert_turn(struct fc_fs *fs, int staging, struct fc_convert_journal *journal,
		    const struct fc_convert_options *options)
{
	bool early = journal->phase <= FC_CONVERT_PLACED;
	struct fc_cv c;
	int r = begin(&c, fs, staging, journal, options);

	if (!r && early) {
		r = turn_early(&c);
	} else if (!r && c.host >= 0) {
		r = fc_cv_settle(&c);
		if (!r)
			r = fc_cv_find_links(&c);
		if (!r)
			r = fc_cv_split_turn(&c);
		if (!r && syncfs(staging))
			r = fc_cv_errno(errno);
	}
	if (!r) {
		journal->way = journal->way == FC_CONVERT_IN ? FC_CONVERT_OUT : FC_CONVERT_IN;
		journal->aborting = !journal->aborting;
		r = set_phase(&c, early ? FC_CONVERT_DONE : FC_CONVERT_MOVE);
	}
	close_all(&c);
	return r;
}
