/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "convert/converter.h"
#include "util/le.h"

#define LIST_MAX 65536u /* of names, as the kernel has it */
#define STAMP_BYTES 24u

/* Names and a value, of one side. */
struct attrs {
	char *names, *value;
	size_t bytes;
};

static void attrs_free(struct attrs *a)
{
	free(a->names);
	free(a->value);
}

static int attrs_alloc(struct attrs *a)
{
	*a = (struct attrs){ .names = malloc(LIST_MAX), .value = malloc(FC_XATTR_VALUE_MAX) };
	if (a->names && a->value)
		return 0;
	attrs_free(a);
	return FC_ENOMEM;
}

/* Works for every kind of file, and does not follow it. */
static void host_path(char *path, int dir, const char *name)
{
	snprintf(path, 32 + FC_NAME_MAX, "/proc/self/fd/%d/%s", dir, name);
}

static int list_host(struct attrs *a, const char *path)
{
	ssize_t n = llistxattr(path, a->names, LIST_MAX);

	if (n < 0 && errno != ENOTSUP)
		return fc_cv_errno(errno);
	a->bytes = n < 0 ? 0 : (size_t)n;
	return 0;
}

static int list_container(struct attrs *a, struct fc_fs *fs, uint64_t ino)
{
	ssize_t n = fc_fs_listxattr(fs, ino, a->names, LIST_MAX);

	a->bytes = n < 0 ? 0 : (size_t)n;
	return n < 0 ? (int)n : 0;
}

static bool has(const struct attrs *a, const char *name)
{
	for (const char *s = a->names; s < a->names + a->bytes; s += strlen(s) + 1)
		if (!strcmp(s, name))
			return true;
	return false;
}

static bool ours(const char *name)
{
	return !strcmp(name, FC_CV_STAMP);
}

static ssize_t get_host(const char *path, const char *name, void *value)
{
	ssize_t n = lgetxattr(path, name, value, FC_XATTR_VALUE_MAX);

	return n < 0 ? fc_cv_errno(errno) : n;
}

/* What both have; on 0 the caller frees both. */
static int attrs_read(struct attrs *host, struct attrs *there, const char *path, struct fc_fs *fs, uint64_t ino)
{
	int r = attrs_alloc(host);

	if (r)
		return r;
	r = attrs_alloc(there);
	if (r) {
		attrs_free(host);
		return r;
	}
	r = list_host(host, path);
	if (!r)
		r = list_container(there, fs, ino);
	if (r) {
		attrs_free(host);
		attrs_free(there);
	}
	return r;
}

#define EACH_NAME(s, a) for (const char *s = (a)->names; s < (a)->names + (a)->bytes; s += strlen(s) + 1)

static int attrs_in(struct fc_fs *fs, const char *path, uint64_t ino)
{
	struct attrs host, there;
	int r = attrs_read(&host, &there, path, fs, ino);

	if (r)
		return r;
	EACH_NAME(name, &there)
	{
		if (!r && !ours(name) && !has(&host, name))
			r = fc_fs_removexattr(fs, ino, name);
	}
	if (!r)
		EACH_NAME(name, &host)
		{
			ssize_t n = ours(name) ? FC_ENODATA : get_host(path, name, host.value);

			if (n == FC_ENODATA)
				continue;
			r = n < 0 ? (int)n : fc_fs_setxattr(fs, ino, name, host.value, (size_t)n, 0, false);
			if (r)
				break;
		}
	attrs_free(&host);
	attrs_free(&there);
	return r;
}

/* What the host's own policy gives a new file (a label, an inherited ACL) goes unless it is kept. */
static int set_host(const char *path, const char *name, const void *value, size_t n)
{
	char now[256];
	ssize_t have = lgetxattr(path, name, now, sizeof(now));
	int err;

	if (have == (ssize_t)n && !memcmp(now, value, n))
		return 0;
	err = lsetxattr(path, name, value, n, 0) ? errno : 0;
	return err ? fc_cv_errno(err) : 0;
}

static int attrs_out(struct fc_fs *fs, uint64_t ino, const char *path)
{
	struct attrs host, there;
	int r = attrs_read(&host, &there, path, fs, ino);

	if (r)
		return r;
	EACH_NAME(name, &host)
	{
		if (!has(&there, name) && lremovexattr(path, name) && strncmp(name, "security.", 9) && errno != ENODATA)
			r = fc_cv_errno(errno);
	}
	if (!r)
		EACH_NAME(name, &there)
		{
			ssize_t n = ours(name) ? FC_ENODATA
					       : fc_fs_getxattr(fs, ino, name, there.value, FC_XATTR_VALUE_MAX);

			if (n == FC_ENODATA)
				continue;
			r = n < 0 ? (int)n : set_host(path, name, there.value, (size_t)n);
			if (r)
				break;
		}
	attrs_free(&host);
	attrs_free(&there);
	return r;
}

/* 1: alike. The host may have labels that it gives by itself. */
static int attrs_same(struct fc_fs *fs, uint64_t ino, const char *path)
{
	struct attrs host, there;
	int r = attrs_read(&host, &there, path, fs, ino), same = 1;

	if (r)
		return r;
	EACH_NAME(name, &host)
	{
		if (!has(&there, name) && strncmp(name, "security.", 9))
			same = 0;
	}
	EACH_NAME(name, &there)
	{
		ssize_t n, m;

		if (ours(name))
			continue;
		n = fc_fs_getxattr(fs, ino, name, there.value, FC_XATTR_VALUE_MAX);
		m = get_host(path, name, host.value);
		if (n < 0)
			r = (int)n;
		else if (n != m || memcmp(host.value, there.value, (size_t)n))
			same = 0;
	}
	attrs_free(&host);
	attrs_free(&there);
	return r ? r : same;
}

/* ---- times ------------------------------------------------------------------ */

struct fc_time fc_cv_time(struct timespec t)
{
	return (struct fc_time){ .sec = t.tv_sec, .nsec = (uint32_t)t.tv_nsec };
}

struct timespec fc_cv_timespec(struct fc_time t)
{
	return (struct timespec){ .tv_sec = t.sec, .tv_nsec = t.nsec };
}

int fc_cv_times_in(struct fc_fs *fs, uint64_t ino, struct fc_time atime, struct fc_time mtime)
{
	struct fc_setattr set = { .valid = FC_SET_ATIME | FC_SET_MTIME, .atime = atime, .mtime = mtime };
	struct fc_attr attr;

	return fc_fs_setattr(fs, ino, &set, &attr);
}

int fc_cv_stamp_get(struct fc_fs *fs, uint64_t ino, struct fc_time *atime, struct fc_time *mtime)
{
	uint8_t raw[STAMP_BYTES];
	ssize_t n = fc_fs_getxattr(fs, ino, FC_CV_STAMP, raw, sizeof(raw));

	if (n != STAMP_BYTES)
		return n < 0 ? (int)n : FC_ECORRUPT;
	*atime = (struct fc_time){ (int64_t)fc_get_u64(raw), fc_get_u32(raw + 16) };
	*mtime = (struct fc_time){ (int64_t)fc_get_u64(raw + 8), fc_get_u32(raw + 20) };
	return 0;
}

int fc_cv_stamp_set(struct fc_fs *fs, uint64_t ino, struct fc_time atime, struct fc_time mtime)
{
	uint8_t raw[STAMP_BYTES];

	fc_put_u64(raw, (uint64_t)atime.sec);
	fc_put_u64(raw + 8, (uint64_t)mtime.sec);
	fc_put_u32(raw + 16, atime.nsec);
	fc_put_u32(raw + 20, mtime.nsec);
	return fc_fs_setxattr(fs, ino, FC_CV_STAMP, raw, sizeof(raw), 0, false);
}

/* ---- all of it ----------------------------------------------------------------- */

int fc_cv_meta_in(struct fc_fs *fs, int dir, const char *name, const struct stat *st, uint64_t ino)
{
	struct fc_setattr set = { .valid = FC_SET_UID | FC_SET_GID, .uid = st->st_uid, .gid = st->st_gid };
	char path[32 + FC_NAME_MAX];
	struct fc_attr attr;
	int r = fc_fs_setattr(fs, ino, &set, &attr);

	host_path(path, dir, name);
	if (!r)
		r = attrs_in(fs, path, ino);
	set.valid = FC_SET_MODE | FC_SET_ATIME | FC_SET_MTIME;
	if (S_ISLNK(st->st_mode))
		set.valid &= ~FC_SET_MODE;
	set.mode = st->st_mode & 07777;
	set.atime = fc_cv_time(st->st_atim);
	set.mtime = fc_cv_time(st->st_mtim);
	return r ? r : fc_fs_setattr(fs, ino, &set, &attr);
}

int fc_cv_meta_out(struct fc_fs *fs, uint64_t ino, const struct fc_attr *attr, int dir, const char *name)
{
	const struct timespec times[2] = { fc_cv_timespec(attr->atime), fc_cv_timespec(attr->mtime) };
	char path[32 + FC_NAME_MAX];
	struct stat st;
	int r = 0;

	host_path(path, dir, name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    ((st.st_uid != attr->uid || st.st_gid != attr->gid) &&
	     fchownat(dir, name, attr->uid, attr->gid, AT_SYMLINK_NOFOLLOW)))
		r = fc_cv_errno(errno);
	if (!r)
		r = attrs_out(fs, ino, path);
	if (!r && !S_ISLNK(attr->mode) && fchmodat(dir, name, attr->mode & 07777, 0))
		r = fc_cv_errno(errno);
	if (!r && utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW))
		r = fc_cv_errno(errno);
	return r;
}

static int same_target(struct fc_fs *fs, uint64_t ino, int dir, const char *name)
{
	char *there = malloc(FC_SYMLINK_MAX + 1), *here = malloc(FC_SYMLINK_MAX + 1);
	int r = there && here ? fc_fs_readlink(fs, ino, there) : FC_ENOMEM;
	ssize_t n = r ? 0 : readlinkat(dir, name, here, FC_SYMLINK_MAX + 1);

	if (!r)
		r = n >= 0 && (size_t)n == strlen(there) && !memcmp(there, here, (size_t)n);
	free(there);
	free(here);
	return r;
}

static bool same_time(struct fc_time a, struct timespec b)
{
	return a.sec == b.tv_sec && a.nsec == (uint32_t)b.tv_nsec;
}

int fc_cv_meta_same(struct fc_fs *fs, uint64_t ino, int dir, const char *name)
{
	char path[32 + FC_NAME_MAX];
	struct fc_attr a;
	struct stat st;
	int r = fc_fs_getattr(fs, ino, &a);

	if (r)
		return r;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : fc_cv_errno(errno);
	if ((a.mode & S_IFMT) != (st.st_mode & S_IFMT) || a.uid != st.st_uid || a.gid != st.st_gid ||
	    !same_time(a.mtime, st.st_mtim))
		return 0;
	if (!S_ISLNK(a.mode) && a.mode != st.st_mode)
		return 0;
	if (S_ISREG(a.mode) && a.size != (uint64_t)st.st_size)
		return 0;
	if ((S_ISCHR(a.mode) || S_ISBLK(a.mode)) && a.rdev != st.st_rdev)
		return 0;
	if (S_ISLNK(a.mode)) {
		r = same_target(fs, ino, dir, name);
		if (r <= 0)
			return r;
	}
	host_path(path, dir, name);
	return attrs_same(fs, ino, path);
}
