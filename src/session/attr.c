/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes of all kinds, as the kernel wants them. */
#include "session/session_internal.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#define BLOCK_SIZE 4096u

/*
 * In write-back mode the kernel does not know how many blocks a file that is open
 * has come to: it shows what it was told last. A program that sees 0 (tar
 * --sparse) takes all of the file for a hole, and an archive would lose what was
 * written. So the kernel is never told to keep "no blocks" of a regular file:
 *
 *   - who asks for the attributes gets the truth, with no time to keep it, after
 *     the dirty pages were fetched;
 *   - the kernel itself, when it is about to write, or has just created the file,
 *     is told one block, to be kept until the file is closed. (Otherwise each
 *     write would ask again.)
 */
static bool no_blocks(const struct fc_attr *attr)
{
	return S_ISREG(attr->mode) && !attr->blocks;
}

double fc_attr_timeout(const struct fc_session *session, const struct fc_attr *attr)
{
	return no_blocks(attr) ? 0 : session->timeout;
}

void fc_attr_some_blocks(struct fc_attr *attr)
{
	if (no_blocks(attr))
		attr->blocks = 1;
}

static uint32_t uid_shown(const struct fc_session *session, const struct fc_attr *attr)
{
	return session->options->own_uid ? session->options->uid : attr->uid;
}

static uint32_t gid_shown(const struct fc_session *session, const struct fc_attr *attr)
{
	return session->options->own_gid ? session->options->gid : attr->gid;
}

void fc_attr_stat(const struct fc_session *session, const struct fc_attr *attr, struct stat *st)
{
	*st = (struct stat){
		.st_ino = attr->ino,
		.st_mode = attr->mode,
		.st_nlink = attr->nlink,
		.st_uid = uid_shown(session, attr),
		.st_gid = gid_shown(session, attr),
		.st_rdev = attr->rdev,
		.st_size = (off_t)attr->size,
		.st_blksize = BLOCK_SIZE,
		.st_blocks = (blkcnt_t)attr->blocks,
		.st_atim = { .tv_sec = attr->atime.sec, .tv_nsec = attr->atime.nsec },
		.st_mtim = { .tv_sec = attr->mtime.sec, .tv_nsec = attr->mtime.nsec },
		.st_ctim = { .tv_sec = attr->ctime.sec, .tv_nsec = attr->ctime.nsec },
	};
}

void fc_attr_kernel(const struct fc_session *session, const struct fc_attr *attr, struct fuse_attr *out)
{
	*out = (struct fuse_attr){
		.ino = attr->ino,
		.size = attr->size,
		.blocks = attr->blocks,
		.atime = (uint64_t)attr->atime.sec,
		.mtime = (uint64_t)attr->mtime.sec,
		.ctime = (uint64_t)attr->ctime.sec,
		.atimensec = attr->atime.nsec,
		.mtimensec = attr->mtime.nsec,
		.ctimensec = attr->ctime.nsec,
		.mode = attr->mode,
		.nlink = attr->nlink,
		.uid = uid_shown(session, attr),
		.gid = gid_shown(session, attr),
		.rdev = (uint32_t)attr->rdev,
		.blksize = BLOCK_SIZE,
	};
}

/* Inode numbers are never reused: the generation says nothing more. */
void fc_attr_entry(const struct fc_session *session, const struct fc_attr *attr, struct fuse_entry_param *entry)
{
	*entry = (struct fuse_entry_param){
		.ino = attr->ino,
		.attr_timeout = fc_attr_timeout(session, attr),
		.entry_timeout = session->timeout,
	};
	fc_attr_stat(session, attr, &entry->attr);
}

static void reply_attr(fuse_req_t req, int error, const struct fc_attr *attr)
{
	const struct fc_session *session = fuse_req_userdata(req);
	struct stat st;

	if (error) {
		fc_reply_error(req, error);
		return;
	}
	fc_attr_stat(session, attr, &st);
	fuse_reply_attr(req, &st, fc_attr_timeout(session, attr));
}

int fc_attr_get(struct fc_session *session, uint64_t ino, struct fc_attr *attr)
{
	int error = fc_fs_getattr(session->fs, ino, attr);

	if (error || !no_blocks(attr))
		return error;
	if (fc_data_fetch(session, ino, 0, 0))
		return fc_fs_getattr(session->fs, ino, attr);
	fc_attr_some_blocks(attr);
	return 0;
}

static uint32_t set_flags(unsigned to_set)
{
	static const struct {
		unsigned fuse;
		uint32_t fc;
	} flags[] = {
		{ FUSE_SET_ATTR_MODE, FC_SET_MODE },   { FUSE_SET_ATTR_UID, FC_SET_UID },
		{ FUSE_SET_ATTR_GID, FC_SET_GID },     { FUSE_SET_ATTR_SIZE, FC_SET_SIZE },
		{ FUSE_SET_ATTR_ATIME, FC_SET_ATIME }, { FUSE_SET_ATTR_MTIME, FC_SET_MTIME },
		{ FUSE_SET_ATTR_CTIME, FC_SET_CTIME }, { FUSE_SET_ATTR_KILL_SUID, FC_SET_KILLPRIV },
	};
	uint32_t valid = 0;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		valid |= to_set & flags[i].fuse ? flags[i].fc : 0;
	/* "Now" comes with a time too, which is not meant. */
	if (to_set & FUSE_SET_ATTR_ATIME_NOW)
		valid = (valid & ~FC_SET_ATIME) | FC_SET_ATIME_NOW;
	if (to_set & FUSE_SET_ATTR_MTIME_NOW)
		valid = (valid & ~FC_SET_MTIME) | FC_SET_MTIME_NOW;
	return valid;
}

void fc_op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int to_set, struct fuse_file_info *fi)
{
	struct fc_session *session = fuse_req_userdata(req);
	struct fc_setattr set = {
		.valid = set_flags((unsigned)to_set),
		.mode = st->st_mode,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = (uint64_t)st->st_size,
		.atime = { st->st_atim.tv_sec, (uint32_t)st->st_atim.tv_nsec },
		.mtime = { st->st_mtim.tv_sec, (uint32_t)st->st_mtim.tv_nsec },
		.ctime = { st->st_ctim.tv_sec, (uint32_t)st->st_ctim.tv_nsec },
	};
	struct fc_attr attr;
	int error = fc_fs_setattr(session->fs, ino, &set, &attr);

	(void)fi;
	fc_attr_changed(session, ino);
	reply_attr(req, error, &attr);
}

/* ---- times of access ----------------------------------------------------- */

/* As relatime says, which is the kernel's default elsewhere: FUSE leaves it to us. */
static bool access_counts(const struct fc_attr *attr, const struct timespec *now)
{
	const struct fc_time *a = &attr->atime, *m = &attr->mtime, *c = &attr->ctime;
	bool after_m = a->sec > m->sec || (a->sec == m->sec && a->nsec > m->nsec);
	bool after_c = a->sec > c->sec || (a->sec == c->sec && a->nsec > c->nsec);

	return !after_m || !after_c || now->tv_sec - a->sec >= 86400;
}

static _Atomic uint64_t *checked_slot(struct fc_session *session, uint64_t ino)
{
	return &session->checked[ino % FC_CHECKED_SLOTS];
}

void fc_attr_changed(struct fc_session *session, uint64_t ino)
{
	atomic_store_explicit(checked_slot(session, ino), 0, memory_order_relaxed);
}

void fc_attr_accessed(struct fc_session *session, uint64_t ino)
{
	struct fc_setattr set = { .valid = FC_SET_ATIME | FC_SET_CTIME };
	struct fc_attr attr;
	struct timespec now;
	uint64_t check;

	if (session->no_atime)
		return;
	/* The clock of the kernel's own times. */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	/* A file read in many pieces is looked at once a second, or after a change. */
	check = ino << 12 | ((uint64_t)now.tv_sec & 0xfff);
	if (atomic_exchange_explicit(checked_slot(session, ino), check, memory_order_relaxed) == check)
		return;
	if (fc_fs_getattr(session->fs, ino, &attr) != 0 || (S_ISDIR(attr.mode) && session->no_diratime) ||
	    !access_counts(&attr, &now))
		return;
	set.atime = (struct fc_time){ now.tv_sec, (uint32_t)now.tv_nsec };
	set.ctime = attr.ctime;
	/* Who read has got it already; a time less is no error. */
	(void)fc_fs_setattr(session->fs, ino, &set, &attr);
}

/* ---- extended attributes ------------------------------------------------ */

/* got: a length or an FC_E*. size 0 asked for the length alone. */
static void reply_xattr(fuse_req_t req, ssize_t got, const char *buf, size_t size)
{
	if (got < 0)
		fc_reply_error(req, (int)got);
	else if (size)
		fuse_reply_buf(req, buf, (size_t)got);
	else
		fuse_reply_xattr(req, (size_t)got);
}

void fc_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct fc_session *session = fuse_req_userdata(req);
	char *buf = size ? malloc(size) : NULL;

	if (size && !buf)
		fc_reply_error(req, FC_ENOMEM);
	else
		reply_xattr(req, fc_fs_getxattr(session->fs, ino, name, buf, size), buf, size);
	free(buf);
}

void fc_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct fc_session *session = fuse_req_userdata(req);
	char *buf = size ? malloc(size) : NULL;

	if (size && !buf)
		fc_reply_error(req, FC_ENOMEM);
	else
		reply_xattr(req, fc_fs_listxattr(session->fs, ino, buf, size), buf, size);
	free(buf);
}

void fc_op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct fc_session *session = fuse_req_userdata(req);

	fc_reply_error(req, fc_fs_removexattr(session->fs, ino, name));
}

/* ---- space -------------------------------------------------------------- */

void fc_op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fc_session *session = fuse_req_userdata(req);
	struct fc_fs_stat st;
	struct statvfs out = { .f_bsize = BLOCK_SIZE, .f_frsize = BLOCK_SIZE, .f_namemax = 255 };
	int error = fc_fs_statfs(session->fs, &st);

	(void)ino;
	if (error) {
		fc_reply_error(req, error);
		return;
	}
	out.f_blocks = st.bytes_total / BLOCK_SIZE;
	out.f_bfree = out.f_bavail = st.bytes_free / BLOCK_SIZE;
	/* There is no table of inodes: as many as there is room for. */
	out.f_ffree = out.f_favail = out.f_bfree;
	out.f_files = st.inodes + out.f_ffree;
	fuse_reply_statfs(req, &out);
}
