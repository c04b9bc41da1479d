/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "convert/converter.h"

/* ---- in -------------------------------------------------------------------- */

static int make_in(struct fc_cv *c, const char *path, const struct stat *st, uint64_t *ino)
{
	const struct fc_cred cred = { .uid = st->st_uid, .gid = st->st_gid };
	struct fc_attr attr;
	const char *name;
	int r = fc_cv_place(c, path, &name);

	if (!r)
		r = fc_fs_mkdir(c->fs, c->at_ino, name, &cred, st->st_mode & 07777, &attr);
	if (r)
		return r;
	fc_fs_forget(c->fs, attr.ino, 1);
	*ino = attr.ino;
	return fc_cv_place_dir(c, path);
}

static int enter_in(struct fc_cv *c, const char *path)
{
	struct fc_time a, m;
	struct stat st;
	uint64_t ino;
	int r = fc_cv_place_dir(c, path);

	if (r == FC_EACCESS && c->options->skip)
		return 0;
	if (r || c->at_fd < 0)
		return r ? fc_cv_failed(c, path, r) : 0;
	if (fstat(c->at_fd, &st))
		return fc_cv_failed(c, path, fc_cv_errno(errno));
	ino = c->at_ino;
	if (!ino)
		r = make_in(c, path, &st, &ino);
	else if (!fc_cv_stamp_get(c->fs, ino, &a, &m))
		return 0;
	if (!r)
		r = fc_cv_meta_in(c->fs, c->at_fd, ".", &st, ino);
	if (!r)
		r = fc_cv_stamp_set(c->fs, ino, fc_cv_time(st.st_atim), fc_cv_time(st.st_mtim));
	return r ? fc_cv_failed(c, path, r) : 0;
}

int fc_cv_dirs_in(struct fc_cv *c)
{
	const struct fc_cv_visit v = { .enter = enter_in };

	return fc_cv_walk(c, false, &v);
}

static int leave_in(struct fc_cv *c, const char *path)
{
	struct fc_time a, m;
	int r = fc_cv_place_dir(c, path);

	if (!r)
		r = fc_cv_stamp_get(c->fs, c->at_ino, &a, &m);
	if (r == FC_ENODATA)
		return 0;
	if (!r)
		r = fc_cv_times_in(c->fs, c->at_ino, a, m);
	if (!r)
		r = fc_fs_removexattr(c->fs, c->at_ino, FC_CV_STAMP);
	return r ? fc_cv_failed(c, path, r) : 0;
}

int fc_cv_dirs_end_in(struct fc_cv *c)
{
	const struct fc_cv_visit v = { .leave = leave_in };

	return fc_cv_walk(c, true, &v);
}

static int leave_gone(struct fc_cv *c, const char *path)
{
	const char *name;
	int r = 0, in = c->staging;

	if (*path) {
		r = fc_cv_place(c, path, &name);
		in = c->at_fd;
	} else {
		fc_cv_place_forget(c);
		name = FC_CONVERT_DATA;
	}
	if (r || in < 0)
		return r;
	if (geteuid())
		fc_cv_open_up(in);
	if (!unlinkat(in, name, AT_REMOVEDIR) || errno == ENOENT)
		return 0;
	if (c->options->skip && (errno == ENOTEMPTY || errno == EACCES || errno == EPERM))
		return 0;
	return fc_cv_failed(c, path, fc_cv_errno(errno));
}

int fc_cv_dirs_gone(struct fc_cv *c)
{
	const struct fc_cv_visit v = { .leave = leave_gone };

	return fc_cv_walk(c, false, &v);
}

/* ---- out ---------------------------------------------------------------------- */

static int make_out(struct fc_cv *c, const char *path)
{
	const char *name;
	int r = fc_cv_place_open(c, path, &name);

	if (r || c->at_fd < 0)
		return r;
	return mkdirat(c->at_fd, name, 0700) && errno != EEXIST ? fc_cv_errno(errno) : 0;
}

static int enter_out(struct fc_cv *c, const char *path)
{
	struct fc_attr attr;
	struct fc_time a, m;
	int r = *path && c->host >= 0 ? make_out(c, path) : 0;

	if (!r)
		r = fc_cv_place_dir(c, path);
	if (!r)
		r = fc_cv_stamp_get(c->fs, c->at_ino, &a, &m);
	if (r == FC_ENODATA) {
		r = fc_fs_getattr(c->fs, c->at_ino, &attr);
		if (!r)
			r = fc_cv_stamp_set(c->fs, c->at_ino, attr.atime, attr.mtime);
	}
	return r ? fc_cv_failed(c, path, r) : 0;
}

int fc_cv_dirs_out(struct fc_cv *c)
{
	const struct fc_cv_visit v = { .enter = enter_out };

	return fc_cv_walk(c, true, &v);
}

static int leave_out(struct fc_cv *c, const char *path)
{
	struct fc_attr attr;
	int r = fc_cv_place_dir(c, path);

	if (!r)
		r = fc_fs_getattr(c->fs, c->at_ino, &attr);
	if (!r)
		r = fc_cv_stamp_get(c->fs, c->at_ino, &attr.atime, &attr.mtime);
	if (!r)
		r = fc_cv_meta_out(c->fs, c->at_ino, &attr, c->at_fd, ".");
	return r ? fc_cv_failed(c, path, r) : 0;
}

int fc_cv_dirs_end_out(struct fc_cv *c)
{
	const struct fc_cv_visit v = { .leave = leave_out };

	return fc_cv_walk(c, true, &v);
}
