/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is larger than the free space, piece by piece. At any moment the host has
 * its bytes before journal->split.cut, the container those from there on; the side that
 * a piece leaves lets go when the journal tells so durably.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "convert/converter.h"

#define CUT_SECONDS 30 /* from the journal's word to the cut, at most */

static int clear(struct fc_cv *c)
{
	memset(&c->journal->split, 0, sizeof(c->journal->split));
	return fc_cv_save(c);
}

static int open_host(struct fc_cv *c, const char *path)
{
	const char *name;
	struct stat st;
	int r = fc_cv_place(c, path, &name), fd;

	if (r)
		return r;
	if (c->at_fd < 0)
		return FC_ENOENT;
	fd = openat(c->at_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && !fstatat(c->at_fd, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    !fchmodat(c->at_fd, name, (st.st_mode & 07777) | 0600, 0))
		fd = openat(c->at_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? fc_cv_errno(errno) : fd;
}

/* ---- in ------------------------------------------------------------------------ */

static bool has_mtime(const struct fc_convert_split *s, const struct stat *st)
{
	return st->st_mtim.tv_sec == s->mtime.sec && (uint32_t)st->st_mtim.tv_nsec == s->mtime.nsec;
}

/* A cut changes the time of modification for a moment. */
static bool just_cut(const struct fc_convert_split *s, const struct stat *st)
{
	return s->when && st->st_mtim.tv_sec >= (int64_t)s->when - 1 &&
	       st->st_mtim.tv_sec <= (int64_t)s->when + CUT_SECONDS;
}

static int cut(struct fc_cv *c, int fd)
{
	const struct fc_convert_split *s = &c->journal->split;
	const struct timespec times[2] = { fc_cv_timespec(s->atime), fc_cv_timespec(s->mtime) };

	if (ftruncate(fd, (off_t)s->cut))
		return fc_cv_errno(errno);
	/* not its owner: the time tells less then */
	return futimens(fd, times) && errno != EPERM ? fc_cv_errno(errno) : 0;
}

static int not_right(struct fc_cv *c, const char *path)
{
	fc_cv_note(c, FC_CONVERT_CHANGED, path, FC_ESTALE);
	return FC_ESTALE;
}

/* The last piece is on both sides, since what is left goes with its names: if somebody has changed
 * it there, it is still to be moved. */
static int last_again(struct fc_cv *c)
{
	struct fc_convert_split *s = &c->journal->split;

	s->cut = s->from;
	return fc_cv_save(c);
}

/* Is the host's part as the journal tells? Completes a cut that was interrupted. *st: as it was then. */
static int check_in(struct fc_cv *c, const char *path, int fd, struct stat *st)
{
	const struct fc_convert_split *s = &c->journal->split;
	bool right;
	int r;

	if (fstat(fd, st))
		return fc_cv_errno(errno);
	right = st->st_dev == s->dev && st->st_ino == s->ino;
	if ((uint64_t)st->st_size == s->from)
		right = right && has_mtime(s, st);
	else
		right = right && (uint64_t)st->st_size == s->cut && (has_mtime(s, st) || just_cut(s, st));
	if (!right && !s->cut) {
		r = last_again(c);
		if (r)
			return r;
	}
	if (!right && !(c->options->ask_changed && (uint64_t)st->st_size >= s->cut))
		return not_right(c, path);
	return s->cut ? cut(c, fd) : 0;
}

static int unchanged(struct fc_cv *c, const char *path, int fd, struct stat *st)
{
	const struct fc_convert_split *s = &c->journal->split;

	if (fstat(fd, st))
		return fc_cv_errno(errno);
	if ((uint64_t)st->st_size == s->cut && (has_mtime(s, st) || just_cut(s, st)))
		return 0;
	return not_right(c, path);
}

/* *st: the host's part when it was seen last not to have been changed. */
static int piece_in(struct fc_cv *c, const char *path, int fd, struct stat *st)
{
	struct fc_convert_split *s = &c->journal->split;
	XXH128_hash_t here, there;
	uint64_t begin, end = s->cut;
	int r = fc_cv_budget(c);

	if (r)
		return r;
	begin = end > c->batch.most ? (end - c->batch.most) & ~(uint64_t)(FC_BLOCK - 1) : 0;
	r = fc_cv_copy_in(c, fd, s->cino, begin, &end, UINT64_MAX, &here);
	if (!r)
		r = fc_fs_commit(c->fs);
	if (r)
		return r;
	fc_cv_forget(c);
	r = fc_cv_hash_container(c, s->cino, begin, end, &there);
	if (!r && !XXH128_isEqual(here, there))
		r = FC_EIO;
	if (!r)
		r = unchanged(c, path, fd, st);
	if (r)
		return r;
	s->from = end;
	s->cut = begin;
	s->when = (uint64_t)time(NULL);
	r = fc_cv_save(c);
	if (fc_cv_stop(c))
		return FC_EINTERRUPTED;
	if (!r && s->cut) /* else the file goes as it is */
		r = cut(c, fd);
	fc_cv_progress(c, end - begin, 0);
	return r;
}

/* What is left of it, the last piece, is as it was when that was read? */
static int still_right(struct fc_cv *c, const char *path, const struct stat *was)
{
	const char *name;
	struct stat st;
	int r = fc_cv_place(c, path, &name);

	if (r)
		return r;
	if (!fstatat(c->at_fd, name, &st, AT_SYMLINK_NOFOLLOW) && fc_cv_same_stat(&st, was))
		return 0;
	r = last_again(c);
	return r ? r : not_right(c, path);
}

/* All is in the container: the names go. was: as for piece_in; without names it is not needed. */
static int end_in(struct fc_cv *c, const struct fc_cv_item *item, const struct stat *was)
{
	const struct fc_convert_split *s = &c->journal->split;
	int r = fc_cv_times_in(c->fs, s->cino, s->atime, s->mtime);

	if (!r)
		r = fc_fs_commit(c->fs);
	if (!r && item->paths)
		r = still_right(c, item->path[0], was);
	for (size_t i = 0; !r && i < item->paths; i++) {
		if (fc_cv_stop(c))
			return FC_EINTERRUPTED;
		r = fc_cv_unlink_host(c, item->path[i]);
	}
	fc_cv_progress(c, 0, item->paths);
	return r ? r : clear(c);
}

static int go_in(struct fc_cv *c, const struct fc_cv_item *item)
{
	int fd = open_host(c, item->path[0]), r = fd < 0 ? fd : 0;
	struct stat st;

	if (!r)
		r = check_in(c, item->path[0], fd, &st);
	while (!r && c->journal->split.cut)
		r = fc_cv_stop(c) ? FC_EINTERRUPTED : piece_in(c, item->path[0], fd, &st);
	if (fd >= 0)
		close(fd);
	if (!r)
		r = end_in(c, item, &st);
	return r ? fc_cv_failed(c, item->path[0], r) : 0;
}

int fc_cv_split_in(struct fc_cv *c, const struct fc_cv_item *item)
{
	const struct fc_setattr size = { .valid = FC_SET_SIZE, .size = (uint64_t)item->st.st_size };
	struct fc_convert_split *s = &c->journal->split;
	struct fc_attr attr;
	const char *name;
	uint64_t ino = 0;
	int r = fc_cv_make_in(c, item, &ino);

	if (!r)
		r = fc_fs_setattr(c->fs, ino, &size, &attr);
	if (!r)
		r = fc_cv_place(c, item->path[0], &name);
	if (!r)
		r = fc_cv_meta_in(c->fs, c->at_fd, name, &item->st, ino);
	if (!r)
		r = fc_fs_commit(c->fs);
	if (!r) {
		*s = (struct fc_convert_split){
			.dev = item->st.st_dev,
			.ino = item->st.st_ino,
			.cino = ino,
			.size = size.size,
			.cut = size.size,
			.from = size.size,
			.atime = fc_cv_time(item->st.st_atim),
			.mtime = fc_cv_time(item->st.st_mtim),
		};
		r = fc_cv_save(c);
	}
	return r ? fc_cv_failed(c, item->path[0], r) : go_in(c, item);
}

/* ---- out ------------------------------------------------------------------------- */

static int piece_out(struct fc_cv *c, int fd)
{
	struct fc_convert_split *s = &c->journal->split;
	XXH128_hash_t here, there;
	uint64_t begin = s->cut, end;
	int r = fc_cv_budget(c);

	if (r)
		return r;
	end = s->size - begin > c->batch.most ? (begin + c->batch.most) & ~(uint64_t)(FC_BLOCK - 1) : s->size;
	/* what is there from an interrupted piece would show through holes */
	if (ftruncate(fd, (off_t)begin))
		return fc_cv_errno(errno);
	r = fc_cv_copy_out(c, s->cino, fd, begin, &end, UINT64_MAX, &there);
	if (!r && (ftruncate(fd, (off_t)end) || fsync(fd)))
		r = fc_cv_errno(errno);
	if (!r)
		r = fc_cv_hash_host(c, fd, begin, end, &here);
	if (!r && !XXH128_isEqual(here, there))
		r = FC_EIO;
	if (r)
		return r;
	s->cut = s->from = end;
	r = fc_cv_save(c);
	if (fc_cv_stop(c))
		return FC_EINTERRUPTED;
	if (!r)
		r = fc_fs_fallocate(c->fs, s->cino, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, end - begin, 0);
	if (!r)
		r = fc_fs_commit(c->fs);
	fc_cv_progress(c, end - begin, 0);
	return r ? r : fc_cv_give_back(c);
}

/* All is on the host: the names in the container go. */
static int end_out(struct fc_cv *c, const struct fc_cv_item *item)
{
	const struct fc_convert_split *s = &c->journal->split;
	struct fc_attr attr;
	const char *name;
	int r = fc_fs_getattr(c->fs, s->cino, &attr);

	if (r == FC_ESTALE)
		return clear(c);
	attr.atime = s->atime;
	attr.mtime = s->mtime;
	if (!r)
		r = fc_cv_place(c, item->path[0], &name);
	if (!r)
		r = fc_cv_meta_out(c->fs, s->cino, &attr, c->at_fd, name);
	if (!r && syncfs(c->host))
		r = fc_cv_errno(errno);
	for (size_t i = 0; !r && i < item->paths; i++) {
		if (fc_cv_stop(c))
			return FC_EINTERRUPTED;
		r = fc_cv_unlink_container(c, item->path[i]);
	}
	if (!r)
		r = fc_fs_commit(c->fs);
	fc_cv_progress(c, 0, item->paths);
	return r ? r : clear(c);
}

static int go_out(struct fc_cv *c, const struct fc_cv_item *item, int fd)
{
	const struct fc_convert_split *s = &c->journal->split;
	struct stat st;
	int r = fstat(fd, &st) ? fc_cv_errno(errno) : 0;

	if (!r && (st.st_dev != s->dev || st.st_ino != s->ino || (uint64_t)st.st_size < s->cut)) {
		fc_cv_note(c, FC_CONVERT_CHANGED, item->path[0], FC_ESTALE);
		r = FC_ESTALE;
	}
	while (!r && s->cut < s->size)
		r = fc_cv_stop(c) ? FC_EINTERRUPTED : piece_out(c, fd);
	close(fd);
	if (!r)
		r = end_out(c, item);
	return r ? fc_cv_failed(c, item->path[0], r) : 0;
}

int fc_cv_split_out(struct fc_cv *c, const struct fc_cv_item *item)
{
	struct fc_convert_split *s = &c->journal->split;
	struct stat st;
	int fd, r = fc_cv_make_out(c, item, &fd);

	if (!r && (fstat(fd, &st) || syncfs(fd)))
		r = fc_cv_errno(errno);
	if (!r) {
		*s = (struct fc_convert_split){
			.dev = st.st_dev,
			.ino = st.st_ino,
			.cino = item->attr.ino,
			.size = item->attr.size,
			.atime = item->attr.atime,
			.mtime = item->attr.mtime,
		};
		r = fc_cv_save(c);
	}
	if (!r)
		return go_out(c, item, fd);
	if (fd >= 0)
		close(fd);
	return fc_cv_failed(c, item->path[0], r);
}

/* ---- after a crash ------------------------------------------------------------------ */

static int resume_with(struct fc_cv *c, struct fc_cv_item *item)
{
	int fd;

	if (c->journal->way == FC_CONVERT_IN)
		return go_in(c, item);
	fd = open_host(c, c->split_path);
	return fd < 0 ? fc_cv_failed(c, c->split_path, fd) : go_out(c, item, fd);
}

int fc_cv_split_resume(struct fc_cv *c)
{
	const struct fc_convert_split *s = &c->journal->split;
	bool in = c->journal->way == FC_CONVERT_IN;
	struct fc_cv_item item = { 0 };
	struct fc_attr attr;
	int r;

	if (!s->ino)
		return 0;
	r = fc_fs_getattr(c->fs, s->cino, &attr);
	if (r == FC_ESTALE && !in && s->cut == s->size)
		return clear(c); /* all its names had gone */
	if (!r && !c->split_path && in && !s->cut)
		return end_in(c, &item, NULL); /* likewise on the host */
	if (!r && !c->split_path)
		r = FC_ESTALE;
	if (r) {
		fc_cv_note(c, FC_CONVERT_CHANGED, c->split_path ? c->split_path : "", r);
		return FC_ESTALE;
	}
	r = fc_cv_item_of(c, c->split_path, in ? s->ino : s->cino, UINT64_MAX, &item);
	if (!r)
		r = resume_with(c, &item);
	fc_cv_item_free(&item);
	return r;
}

int fc_cv_split_turn(struct fc_cv *c)
{
	struct fc_convert_split *s = &c->journal->split;
	bool in = c->journal->way == FC_CONVERT_IN;
	struct stat st;
	int fd, r;

	/* what is at its end is ended */
	if (!s->ino || (in && !s->cut) || (!in && s->cut == s->size))
		return fc_cv_split_resume(c);
	if (!c->split_path) {
		fc_cv_note(c, FC_CONVERT_CHANGED, "", FC_ESTALE);
		return FC_ESTALE;
	}
	fd = open_host(c, c->split_path);
	if (fd < 0)
		return fc_cv_failed(c, c->split_path, fd);
	if (in) {
		r = check_in(c, c->split_path, fd, &st);
	} else {
		s->from = s->cut;
		s->when = (uint64_t)time(NULL);
		r = cut(c, fd);
	}
	close(fd);
	return r == FC_ESTALE || !r ? r : fc_cv_failed(c, c->split_path, r);
}
