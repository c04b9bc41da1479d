/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Content, and what belongs to it; READ and WRITE are in request.c. */
#include "session/session_internal.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <unistd.h>

#include "session/steward.h"

/* The kernel then opens files and directories by itself, keeps their pages, and
 * never sends OPEN, OPENDIR or RELEASE again. */
void fc_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, ENOSYS);
}

void fc_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, ENOSYS);
}

/* Of files and directories alike; the kernel has sent the dirty pages before. */
void fc_op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	struct fc_session *session = fuse_req_userdata(req);

	(void)ino;
	(void)datasync;
	(void)fi;
	fc_dirty_synced(session);
	fc_reply_error(req, fc_fs_sync(session->fs));
}

/* Whose request it is. Where mapped owners are agreed to, requests that create nothing do
 * not say so, but the steward can look it up; it may itself be waiting for an answer of
 * ours. False: not known. */
static bool caller(fuse_req_t req, uid_t *uid, gid_t *gid)
{
	struct fc_session *session = fuse_req_userdata(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	bool known;

	*uid = ctx->uid;
	*gid = ctx->gid;
	if (*uid != (uid_t)-1)
		return true;
	if (!session->options->steward || !fc_loop_depend(session))
		return false;
	known = fc_steward_who(session->options->steward, ctx->pid, uid, gid) == 0;
	fc_loop_depend_end(session);
	return known;
}

/*
 * With HANDLE_KILLPRIV_V2 the kernel leaves set-id bits to us, but says of WRITE
 * and SETATTR only whether the caller may keep them; root may. (Capabilities of
 * the file it removes itself.) Its own notion of the mode must go too, or
 * executing the file would honour the bits. Of FALLOCATE and COPY_FILE_RANGE it
 * says nothing: what it does itself elsewhere is done here. Which other groups the
 * caller is in cannot be known; to them a file that no group executes loses a bit
 * that means nothing.
 */
static void drop_set_id(fuse_req_t req, uint64_t ino)
{
	struct fc_session *session = fuse_req_userdata(req);
	struct fc_setattr set = { .valid = FC_SET_MODE };
	struct fc_attr attr;
	uid_t uid;
	gid_t gid;

	if (fc_fs_getattr(session->fs, ino, &attr) != 0 || !(attr.mode & (S_ISUID | S_ISGID)))
		return;
	if (caller(req, &uid, &gid) && !uid)
		return;
	set.mode = attr.mode & ~(uint32_t)S_ISUID;
	if (set.mode & S_IXGRP || gid != attr.gid)
		set.mode &= ~(uint32_t)S_ISGID;
	if (set.mode == attr.mode || fc_fs_setattr(session->fs, ino, &set, &attr) != 0)
		return;
	fuse_lowlevel_notify_inval_inode(session->fuse, ino, -1, 0);
}

void fc_op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t n, struct fuse_file_info *fi)
{
	struct fc_session *session = fuse_req_userdata(req);

	(void)fi;
	if (off < 0 || n <= 0) {
		fc_reply_error(req, FC_EINVAL);
		return;
	}
	drop_set_id(req, ino);
	fc_attr_changed(session, ino);
	fc_reply_error(req, fc_fs_fallocate(session->fs, ino, mode, (uint64_t)off, (uint64_t)n,
					    session->sets_times ? FC_WRITE_CACHED : 0));
}

void fc_op_copy(fuse_req_t req, fuse_ino_t from, off_t from_off, struct fuse_file_info *from_fi, fuse_ino_t to,
		off_t to_off, struct fuse_file_info *to_fi, size_t n, int flags)
{
	struct fc_session *session = fuse_req_userdata(req);
	uint64_t done = 0;
	int error = FC_EINVAL;

	(void)from_fi;
	(void)to_fi;
	if (from_off >= 0 && to_off >= 0 && !flags) {
		drop_set_id(req, to);
		fc_attr_changed(session, to);
		error = fc_fs_copy(session->fs, from, (uint64_t)from_off, to, (uint64_t)to_off, n, &done);
	}
	if (error)
		fc_reply_error(req, error);
	else
		fuse_reply_write(req, done);
}

/* ---- holes -------------------------------------------------------------- */

/*
 * Where the fs sees a hole, the kernel may hold dirty pages; it asks without
 * sending them first. What the fs sees as data is data in any case. So the
 * pages are fetched (by invalidating them) only where a hole would be reported,
 * which costs a warm file no page but perhaps its last.
 */

bool fc_data_fetch(struct fc_session *session, uint64_t ino, uint64_t off, uint64_t to)
{
	if (!fc_loop_depend(session))
		return false;
	fuse_lowlevel_notify_inval_inode(session->fuse, ino, (off_t)off, to ? (off_t)(to - off) : 0);
	fc_loop_depend_end(session);
	return true;
}

/* Where the hole at hole ends, 0 if it reaches to the end. */
static uint64_t hole_end(struct fc_session *session, uint64_t ino, uint64_t hole)
{
	uint64_t data = 0;

	return fc_fs_lseek(session->fs, ino, hole, SEEK_DATA, &data) == 0 ? data : 0;
}

static int seek_data(struct fc_session *session, uint64_t ino, uint64_t off, uint64_t *result)
{
	int error = fc_fs_lseek(session->fs, ino, off, SEEK_DATA, result);

	if (error && error != FC_ENXIO)
		return error;
	if (!error && *result == off)
		return 0;
	if (!fc_data_fetch(session, ino, off, error ? 0 : *result))
		return FC_EAGAIN;
	return fc_fs_lseek(session->fs, ino, off, SEEK_DATA, result);
}

/* A hole found may turn out to be data, so it is looked at again behind that;
 * each turn gets further, and after some all the rest is fetched at once. */
static int seek_hole(struct fc_session *session, uint64_t ino, uint64_t off, uint64_t *result)
{
	unsigned turns = 16;

	while (turns--) {
		int error = fc_fs_lseek(session->fs, ino, off, SEEK_HOLE, result);
		uint64_t hole = error ? off : *result;

		if (error && error != FC_ENXIO)
			return error;
		if (!fc_data_fetch(session, ino, hole, turns && !error ? hole_end(session, ino, hole) : 0))
			return FC_EAGAIN;
		error = fc_fs_lseek(session->fs, ino, off, SEEK_HOLE, result);
		if (error || *result == hole)
			return error;
		off = *result;
	}
	return fc_fs_lseek(session->fs, ino, off, SEEK_HOLE, result);
}

void fc_op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi)
{
	struct fc_session *session = fuse_req_userdata(req);
	uint64_t result = 0;
	int error;

	(void)fi;
	if (whence != SEEK_DATA && whence != SEEK_HOLE)
		error = FC_EINVAL;
	else if (off < 0)
		error = FC_ENXIO;
	else if (whence == SEEK_DATA)
		error = seek_data(session, ino, (uint64_t)off, &result);
	else
		error = seek_hole(session, ino, (uint64_t)off, &result);
	if (error)
		fc_reply_error(req, error);
	else
		fuse_reply_lseek(req, (off_t)result);
}

/* ---- blocks of files that are open for long ----------------------------- */

#define FRESH_NS 1000000000u

/*
 * The kernel asks for a file's blocks when it was closed. A file that stays open
 * (a database, a disk image) would show its first number for ever; so once it
 * has been written to for a second, its attributes are made to be asked for
 * again. (Not sooner: that question waits behind all that is being written.) Only after the reply: the kernel may be waiting for that to
 * drop the inode, and this call for the inode.
 */
void fc_data_freshen(struct fc_session *session, uint64_t ino)
{
	struct fc_fresh *slot = &session->fresh[ino % FC_FRESH_SLOTS];
	uint64_t now = fc_now_ns();
	bool due = false;

	pthread_mutex_lock(&session->fresh_lock);
	if (slot->ino != ino) {
		*slot = (struct fc_fresh){ .ino = ino, .since_ns = now };
	} else if (now - slot->since_ns >= FRESH_NS) {
		slot->since_ns = now;
		due = true;
	}
	pthread_mutex_unlock(&session->fresh_lock);
	if (due)
		fuse_lowlevel_notify_inval_inode(session->fuse, ino, -1, 0);
}

/* ---- questions to the mount --------------------------------------------- */

static int fill_status(const struct fc_session *session, struct fc_ioc_status *out)
{
	struct fc_fs_stat st;
	int error = fc_fs_statfs(session->fs, &st);

	if (error)
		return error;
	*out = (struct fc_ioc_status){
		.version = 1,
		.pid = (uint32_t)getpid(),
		.format = st.format,
		.cipher = st.cipher,
		.read_only = st.read_only,
		.failed = st.stopped ? FC_IOC_STOPPED : st.failed,
		.generation = st.generation,
		.bytes_limit = st.bytes_limit,
		.bytes_allocated = st.bytes_allocated,
		.bytes_used = st.bytes_used,
		.inodes = st.inodes,
		.write_errors = atomic_load(&session->write_errors),
		.rekeying = st.rekeying,
		.rekey_error = st.rekey_error,
		.rekey_bytes = st.rekey_bytes,
		.rekey_total = st.rekey_total,
	};
	memcpy(out->uuid, st.uuid, sizeof(out->uuid));
	strncpy(out->container, session->options->container, sizeof(out->container) - 1);
	return 0;
}

/* allow_other lets anyone look at the root directory, and so ask. */
static bool may_administer(fuse_req_t req)
{
	uid_t uid;
	gid_t gid;

	return caller(req, &uid, &gid) && (!uid || uid == geteuid());
}

static int resize(const struct fc_session *session, struct fc_ioc_resize *arg)
{
	int error = fc_fs_set_limit(session->fs, arg->limit, &arg->least);

	arg->refused = error == FC_EINVAL;
	return arg->refused ? 0 : error;
}

/* Of the whole container: where in it a range of bytes would lie means nothing. The answer, as of
 * other file systems, is how much is free and now not taken from the disk, not what this call changed. */
static int trim(const struct fc_session *session, struct fstrim_range *arg)
{
	struct fc_fs_stat st;
	uint64_t bytes = 0;
	int error = fc_fs_statfs(session->fs, &st);

	if (!error && (arg->len < FC_BLOCK || arg->start >= st.bytes_total))
		error = FC_EINVAL;
	if (!error)
		error = fc_fs_trim(session->fs, &bytes);
	if (!error)
		error = fc_fs_statfs(session->fs, &st);
	if (!error && arg->len > st.bytes_free)
		arg->len = st.bytes_free;
	return error;
}

static int compact(const struct fc_session *session, struct fc_ioc_compact *arg)
{
	struct fc_fs_compacting now = { .done = true };
	int error = 0;

	if (arg->end)
		fc_fs_compact_end(session->fs);
	else
		error = fc_fs_compact(session->fs, &now);
	*arg = (struct fc_ioc_compact){
		.done = now.done,
		.bytes_to_move = now.bytes_to_move,
		.bytes_moved = now.bytes_moved,
		.bytes_cut = now.bytes_cut,
		.bytes_unreadable = now.bytes_unreadable,
	};
	return error;
}

static int administer(fuse_req_t req, unsigned cmd, const void *in, size_t in_size, size_t out_size)
{
	struct fc_session *session = fuse_req_userdata(req);
	union {
		struct fc_ioc_resize resize;
		struct fc_ioc_compact compact;
		struct fstrim_range trim;
	} arg;
	size_t bytes = cmd == FC_IOC_RESIZE    ? sizeof(arg.resize)
		       : cmd == FC_IOC_COMPACT ? sizeof(arg.compact)
		       : cmd == FITRIM         ? sizeof(arg.trim)
					       : 0;
	int error;

	if (cmd == FC_IOC_REKEY && in_size >= sizeof(struct fc_ioc_rekey) && may_administer(req)) {
		error = fc_fs_rekey_sealed(session->fs, ((const struct fc_ioc_rekey *)in)->sealed);
		if (!error)
			fuse_reply_ioctl(req, 0, NULL, 0);
		return error;
	}
	if (cmd == FC_IOC_WRITABLE && may_administer(req)) {
		error = fc_session_make_writable(session);
		if (!error)
			fuse_reply_ioctl(req, 0, NULL, 0);
		return error;
	}
	if (!bytes || in_size < bytes || out_size < bytes) {
		fuse_reply_err(req, ENOTTY);
		return 0;
	}
	if (!may_administer(req)) {
		fuse_reply_err(req, EPERM);
		return 0;
	}
	memcpy(&arg, in, bytes);
	error = cmd == FC_IOC_RESIZE    ? resize(session, &arg.resize)
		: cmd == FC_IOC_COMPACT ? compact(session, &arg.compact)
					: trim(session, &arg.trim);
	if (!error)
		fuse_reply_ioctl(req, 0, &arg, bytes);
	return error;
}

void fc_op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg, struct fuse_file_info *fi, unsigned flags,
		 const void *in, size_t in_size, size_t out_size)
{
	struct fc_session *session = fuse_req_userdata(req);
	const uint32_t no_flags = 0;
	struct fc_ioc_status status;
	int error = 0;

	(void)arg;
	(void)fi;
	(void)flags;
	if (ino == FUSE_ROOT_ID && cmd == FC_IOC_STATUS && out_size >= sizeof(status)) {
		error = fill_status(session, &status);
		if (!error)
			fuse_reply_ioctl(req, 0, &status, sizeof(status));
	} else if (ino == FUSE_ROOT_ID && cmd == FC_IOC_SYNC) {
		error = fc_fs_commit(session->fs);
		if (!error)
			fuse_reply_ioctl(req, 0, NULL, 0);
	} else if (cmd == FC_IOC_SHUTDOWN) {
		error = may_administer(req) ? fc_fs_stop(session->fs) : FC_EPERM;
		if (!error)
			fuse_reply_ioctl(req, 0, NULL, 0);
	} else if (cmd == FS_IOC_GETFLAGS && out_size >= sizeof(no_flags)) {
		/* lsattr; that there are none is true, chattr is refused */
		fuse_reply_ioctl(req, 0, &no_flags, sizeof(no_flags));
	} else if (ino == FUSE_ROOT_ID) {
		error = administer(req, cmd, in, in_size, out_size);
	} else {
		fuse_reply_err(req, ENOTTY);
	}
	if (error)
		fc_reply_error(req, error);
}
