/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One request. libfuse 3.14 does not pass on some that matter, or parts of
 * them; these are answered here, all others by libfuse's low-level API:
 *
 *   READ, WRITE  the data stays in the worker's buffer; the kill-privilege flag
 *                of WRITE
 *   SETXATTR     its flag that a new ACL must clear the set-group-id bit
 *   TMPFILE      O_TMPFILE
 *   STATX        the time of birth
 */
#include "session/session_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#if FUSE_KERNEL_MINOR_VERSION < 39
#define FUSE_STATX 52
struct fuse_sx_time {
	int64_t tv_sec;
	uint32_t tv_nsec;
	int32_t reserved;
};
struct fuse_statx {
	uint32_t mask, blksize;
	uint64_t attributes;
	uint32_t nlink, uid, gid;
	uint16_t mode, spare0[1];
	uint64_t ino, size, blocks, attributes_mask;
	struct fuse_sx_time atime, btime, ctime, mtime;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t spare2[14];
};
struct fuse_statx_in {
	uint32_t getattr_flags, reserved;
	uint64_t fh;
	uint32_t sx_flags, sx_mask;
};
struct fuse_statx_out {
	uint64_t attr_valid;
	uint32_t attr_valid_nsec, flags;
	uint64_t spare[2];
	struct fuse_statx stat;
};
#endif

/* What is known of a kind of request: the least its body has, how it is weighed. */
static const struct kind {
	const char *name;
	uint16_t least;
	uint8_t weight;
} kinds[FC_MAX_OPCODE] = {
	[FUSE_LOOKUP] = { "LOOKUP", 2, FC_SHORT },
	[FUSE_FORGET] = { "FORGET", sizeof(struct fuse_forget_in), FC_SHORT },
	[FUSE_GETATTR] = { "GETATTR", sizeof(struct fuse_getattr_in), FC_SHORT },
	[FUSE_SETATTR] = { "SETATTR", sizeof(struct fuse_setattr_in), FC_SHORT },
	[FUSE_READLINK] = { "READLINK", 0, FC_SHORT },
	[FUSE_SYMLINK] = { "SYMLINK", 3, FC_SHORT },
	[FUSE_MKNOD] = { "MKNOD", sizeof(struct fuse_mknod_in) + 2, FC_SHORT },
	[FUSE_MKDIR] = { "MKDIR", sizeof(struct fuse_mkdir_in) + 2, FC_SHORT },
	[FUSE_UNLINK] = { "UNLINK", 2, FC_SHORT },
	[FUSE_RMDIR] = { "RMDIR", 2, FC_SHORT },
	[FUSE_RENAME] = { "RENAME", sizeof(struct fuse_rename_in) + 4, FC_SHORT },
	[FUSE_LINK] = { "LINK", sizeof(struct fuse_link_in) + 2, FC_SHORT },
	[FUSE_OPEN] = { "OPEN", sizeof(struct fuse_open_in), FC_SHORT },
	[FUSE_READ] = { "READ", sizeof(struct fuse_read_in), FC_LONG },
	[FUSE_WRITE] = { "WRITE", sizeof(struct fuse_write_in), FC_LONG },
	[FUSE_STATFS] = { "STATFS", 0, FC_SHORT },
	[FUSE_RELEASE] = { "RELEASE", sizeof(struct fuse_release_in), FC_SHORT },
	[FUSE_FSYNC] = { "FSYNC", sizeof(struct fuse_fsync_in), FC_LONG },
	[FUSE_SETXATTR] = { "SETXATTR", FUSE_COMPAT_SETXATTR_IN_SIZE + 2, FC_SHORT },
	[FUSE_GETXATTR] = { "GETXATTR", sizeof(struct fuse_getxattr_in) + 2, FC_SHORT },
	[FUSE_LISTXATTR] = { "LISTXATTR", sizeof(struct fuse_getxattr_in), FC_SHORT },
	[FUSE_REMOVEXATTR] = { "REMOVEXATTR", 2, FC_SHORT },
	[FUSE_FLUSH] = { "FLUSH", sizeof(struct fuse_flush_in), FC_SHORT },
	[FUSE_INIT] = { "INIT", 8, FC_SHORT },
	[FUSE_OPENDIR] = { "OPENDIR", sizeof(struct fuse_open_in), FC_SHORT },
	[FUSE_READDIR] = { "READDIR", sizeof(struct fuse_read_in), FC_LONG },
	[FUSE_RELEASEDIR] = { "RELEASEDIR", sizeof(struct fuse_release_in), FC_SHORT },
	[FUSE_FSYNCDIR] = { "FSYNCDIR", sizeof(struct fuse_fsync_in), FC_LONG },
	[FUSE_GETLK] = { "GETLK", sizeof(struct fuse_lk_in), FC_SHORT },
	[FUSE_SETLK] = { "SETLK", sizeof(struct fuse_lk_in), FC_SHORT },
	[FUSE_SETLKW] = { "SETLKW", sizeof(struct fuse_lk_in), FC_SHORT },
	[FUSE_ACCESS] = { "ACCESS", sizeof(struct fuse_access_in), FC_SHORT },
	[FUSE_CREATE] = { "CREATE", sizeof(struct fuse_create_in) + 2, FC_SHORT },
	[FUSE_INTERRUPT] = { "INTERRUPT", sizeof(struct fuse_interrupt_in), FC_SHORT },
	[FUSE_BMAP] = { "BMAP", sizeof(struct fuse_bmap_in), FC_SHORT },
	[FUSE_DESTROY] = { "DESTROY", 0, FC_SHORT },
	[FUSE_IOCTL] = { "IOCTL", sizeof(struct fuse_ioctl_in), FC_SHORT },
	[FUSE_POLL] = { "POLL", sizeof(struct fuse_poll_in), FC_SHORT },
	[FUSE_BATCH_FORGET] = { "BATCH_FORGET", sizeof(struct fuse_batch_forget_in), FC_SHORT },
	[FUSE_FALLOCATE] = { "FALLOCATE", sizeof(struct fuse_fallocate_in), FC_LONG },
	[FUSE_READDIRPLUS] = { "READDIRPLUS", sizeof(struct fuse_read_in), FC_LONG },
	[FUSE_RENAME2] = { "RENAME2", sizeof(struct fuse_rename2_in) + 4, FC_SHORT },
	[FUSE_LSEEK] = { "LSEEK", sizeof(struct fuse_lseek_in), FC_SHORT },
	[FUSE_COPY_FILE_RANGE] = { "COPY_FILE_RANGE", sizeof(struct fuse_copy_file_range_in), FC_LONG },
	[FUSE_SYNCFS] = { "SYNCFS", 0, FC_LONG },
	[FUSE_TMPFILE] = { "TMPFILE", sizeof(struct fuse_create_in), FC_SHORT },
	[FUSE_STATX] = { "STATX", sizeof(struct fuse_statx_in), FC_SHORT },
};

static const struct kind *kind_of(const struct fuse_in_header *header)
{
	return header->opcode < FC_MAX_OPCODE ? &kinds[header->opcode] : &kinds[0];
}

/* The size of the part before the name, or before the data. */
static const char *body_of(const void *request)
{
	return (const char *)request + sizeof(struct fuse_in_header);
}

/* ---- checks ------------------------------------------------------------- */

enum fc_weight fc_request_weight(const void *request, size_t n)
{
	const struct fuse_in_header *header = request;
	const struct fuse_setattr_in *setattr = (const void *)body_of(request);
	const struct fuse_ioctl_in *ioctl = (const void *)body_of(request);

	if (!fc_request_valid(request, n))
		return FC_SHORT;
	if (header->opcode == FUSE_SETATTR && setattr->valid & FATTR_SIZE)
		return FC_LONG;
	if (header->opcode == FUSE_IOCTL &&
	    (ioctl->cmd == FC_IOC_SYNC || ioctl->cmd == FC_IOC_SHUTDOWN || ioctl->cmd == FC_IOC_REKEY ||
	     ioctl->cmd == FC_IOC_WRITABLE || ioctl->cmd == FITRIM))
		return FC_LONG;
	return kind_of(header)->weight;
}

bool fc_request_valid(const void *request, size_t n)
{
	const struct fuse_in_header *header = request;
	const struct fuse_batch_forget_in *forgets = (const void *)body_of(request);
	const struct fuse_write_in *write = (const void *)body_of(request);
	size_t body;

	if (n < sizeof(*header) || header->len != n || n > FC_REQUEST_BYTES)
		return false;
	body = n - sizeof(*header);
	if (body < kind_of(header)->least)
		return false;
	if (header->opcode == FUSE_BATCH_FORGET)
		return forgets->count <= (body - sizeof(*forgets)) / sizeof(struct fuse_forget_one);
	if (header->opcode == FUSE_WRITE)
		return write->size <= body - sizeof(*write) && write->size <= FC_MAX_TRANSFER;
	return true;
}

/* ---- answers ------------------------------------------------------------ */

/* Sends the header and n bytes, or the errno alone. False if nobody takes them. */
static bool reply_errno(struct fc_worker *worker, uint64_t unique, int err, const void *data, size_t n)
{
	struct fuse_out_header out = { .unique = unique, .error = -err };
	struct iovec iov[2] = { { &out, sizeof(out) }, { (void *)(uintptr_t)data, err ? 0 : n } };

	out.len = (uint32_t)(sizeof(out) + iov[1].iov_len);
	return writev(worker->session->fd, iov, 2) >= 0;
}

/* The same for an FC_E* or 0. */
static bool reply(struct fc_worker *worker, uint64_t unique, int error, const void *data, size_t n)
{
	return reply_errno(worker, unique, error ? fc_error_errno(error) : 0, data, n);
}

static void serve_read(struct fc_worker *worker, const struct fuse_in_header *header)
{
	const struct fuse_read_in *in = (const void *)body_of(header);
	uint64_t unique = header->unique, ino = header->nodeid;
	size_t got = 0;
	int error = FC_EINVAL;

	/* The data comes right behind the request's fixed part. */
	if (in->size <= FC_MAX_TRANSFER)
		error = fc_fs_read(worker->session->fs, ino, in->offset, in->size, worker->data, &got);
	reply(worker, unique, error, worker->data, got);
	if (error)
		return;
	fc_attr_accessed(worker->session, ino);
	fc_fs_ahead(worker->session->fs, ino, in->offset, got);
}

/* With its set-id bits a file must lose them in the kernel's cache too, or
 * executing it would still honour them. The writer waits: the inode is in use. */
static bool has_set_id(struct fc_session *session, uint64_t ino)
{
	struct fc_attr attr;

	return fc_fs_getattr(session->fs, ino, &attr) == 0 && attr.mode & (S_ISUID | S_ISGID);
}

/* Pages that did not fit are told at close and fsync only, and a program that goes on
 * writing would never end. So when that has happened often the kernel has to ask for
 * the attributes again, which it does in the next write(2), and hears of it there
 * (serve_getattr). Rarely a read asks too, and must not hear of one that is over. */
#define FULL_WRITES 16u
#define FULL_NS 1000000000u

static void note_full(struct fc_session *session, uint64_t ino)
{
	if (atomic_exchange(&session->full_ino, ino) != ino)
		atomic_store(&session->full_count, 0);
	atomic_store(&session->full_ns, fc_now_ns());
	if (atomic_fetch_add(&session->full_count, 1) + 1 >= FULL_WRITES)
		fuse_lowlevel_notify_inval_inode(session->fuse, ino, -1, 0);
}

/* Once for each time, and not long after. */
static bool tell_full(struct fc_session *session, uint64_t ino)
{
	return atomic_load(&session->full_ino) == ino && atomic_load(&session->full_count) >= FULL_WRITES &&
	       atomic_compare_exchange_strong(&session->full_ino, &ino, 0) &&
	       fc_now_ns() - atomic_load(&session->full_ns) < FULL_NS;
}

/* A direct write with O_DSYNC. The kernel sends an FSYNC after it only when the program waits
 * in write(2): an asynchronous one (libaio, io_uring) is over with our reply. */
static bool must_last(const struct fuse_write_in *in)
{
	return !(in->write_flags & FUSE_WRITE_CACHE) && in->flags & O_DSYNC;
}

static void serve_write(struct fc_worker *worker, const struct fuse_in_header *header)
{
	const struct fuse_write_in *in = (const void *)body_of(header);
	struct fuse_write_out out = { .size = in->size };
	struct fc_session *session = worker->session;
	uint64_t ino = header->nodeid;
	unsigned flags = 0;
	bool set_id = false;
	int error;

	if (in->write_flags & FUSE_WRITE_CACHE)
		flags |= FC_WRITE_CACHED;
	if (in->write_flags & FUSE_WRITE_KILL_SUIDGID) {
		flags |= FC_WRITE_KILLPRIV;
		set_id = has_set_id(session, ino);
	}
	error = fc_fs_write(session->fs, ino, in->offset, in->size, in + 1, flags);
	if (!error && must_last(in))
		error = fc_fs_sync(session->fs);
	if (error)
		atomic_fetch_add(&session->write_errors, 1);
	fc_attr_changed(session, ino);
	if (!error && set_id)
		fuse_lowlevel_notify_inval_inode(session->fuse, ino, -1, 0);
	reply(worker, header->unique, error, &out, sizeof(out));
	/* After the reply: the kernel may be waiting for that to drop the inode. */
	if (error == FC_ENOSPC && flags & FC_WRITE_CACHED)
		note_full(session, ino);
	if (!error && flags & FC_WRITE_CACHED) {
		fc_dirty_written(session, in->size);
		fc_data_freshen(session, ino);
	}
}

static void serve_setxattr(struct fc_worker *worker, const struct fuse_in_header *header, size_t n)
{
	const struct fuse_setxattr_in *in = (const void *)body_of(header);
	bool extended = worker->session->setxattr_ext;
	size_t fixed = extended ? sizeof(*in) : FUSE_COMPAT_SETXATTR_IN_SIZE;
	const char *name = (const char *)in + fixed, *end = (const char *)header + n;
	size_t name_size;
	int error = FC_EINVAL;

	if (name < end) {
		name_size = strnlen(name, (size_t)(end - name)) + 1;
		if (name_size <= (size_t)(end - name) && in->size <= (size_t)(end - name) - name_size)
			error = fc_fs_setxattr(worker->session->fs, header->nodeid, name, name + name_size, in->size,
					       (int)in->flags,
					       extended && in->setxattr_flags & FUSE_SETXATTR_ACL_KILL_SGID);
	}
	reply(worker, header->unique, error, NULL, 0);
}

static void timeout_split(double timeout, uint64_t *sec, uint32_t *nsec)
{
	*sec = (uint64_t)timeout;
	*nsec = (uint32_t)((timeout - (double)*sec) * 1e9);
}

static void serve_tmpfile(struct fc_worker *worker, const struct fuse_in_header *header)
{
	const struct fuse_create_in *in = (const void *)body_of(header);
	struct fc_session *session = worker->session;
	struct fc_cred cred = { .uid = header->uid, .gid = header->gid, .umask = in->umask };
	struct {
		struct fuse_entry_out entry;
		struct fuse_open_out open;
	} out = { .open.open_flags = FOPEN_KEEP_CACHE };
	struct fc_attr attr;
	int error = fc_fs_tmpfile(session->fs, header->nodeid, &cred, in->mode, &attr);

	if (!error) {
		fc_attr_some_blocks(&attr);
		out.entry.nodeid = attr.ino;
		timeout_split(session->timeout, &out.entry.attr_valid, &out.entry.attr_valid_nsec);
		fc_attr_kernel(session, &attr, &out.entry.attr);
	}
	if (!reply(worker, header->unique, error, &out, sizeof(out)) && !error)
		fc_fs_forget(session->fs, attr.ino, 1);
}

/* As often as all others together where files are small. A handle is there when the
 * kernel asks for itself, with a file that is open. */
static void serve_getattr(struct fc_worker *worker, const struct fuse_in_header *header)
{
	const struct fuse_getattr_in *in = (const void *)body_of(header);
	struct fc_session *session = worker->session;
	bool own = in->getattr_flags & FUSE_GETATTR_FH;
	struct fuse_attr_out out = { 0 };
	struct fc_attr attr;
	int error = own ? fc_fs_getattr(session->fs, header->nodeid, &attr)
			: fc_attr_get(session, header->nodeid, &attr);

	if (own && tell_full(session, header->nodeid))
		error = FC_ENOSPC;
	if (!error) {
		if (own)
			fc_attr_some_blocks(&attr);
		timeout_split(fc_attr_timeout(session, &attr), &out.attr_valid, &out.attr_valid_nsec);
		fc_attr_kernel(session, &attr, &out.attr);
	}
	reply(worker, header->unique, error, &out, sizeof(out));
}

static struct fuse_sx_time statx_time(const struct fc_time *time)
{
	return (struct fuse_sx_time){ .tv_sec = time->sec, .tv_nsec = time->nsec };
}

static void serve_statx(struct fc_worker *worker, const struct fuse_in_header *header)
{
	struct fc_session *session = worker->session;
	struct fuse_statx_out out = { .stat.mask = STATX_BASIC_STATS | STATX_BTIME };
	struct fuse_statx *stat = &out.stat;
	struct fuse_attr kernel;
	struct fc_attr attr;
	int error = fc_attr_get(session, header->nodeid, &attr);

	if (!error) {
		fc_attr_kernel(session, &attr, &kernel);
		timeout_split(fc_attr_timeout(session, &attr), &out.attr_valid, &out.attr_valid_nsec);
		stat->blksize = kernel.blksize;
		stat->nlink = kernel.nlink;
		stat->uid = kernel.uid;
		stat->gid = kernel.gid;
		stat->mode = (uint16_t)kernel.mode;
		stat->ino = kernel.ino;
		stat->size = kernel.size;
		stat->blocks = kernel.blocks;
		stat->rdev_major = major(attr.rdev);
		stat->rdev_minor = minor(attr.rdev);
		stat->atime = statx_time(&attr.atime);
		stat->btime = statx_time(&attr.btime);
		stat->ctime = statx_time(&attr.ctime);
		stat->mtime = statx_time(&attr.mtime);
	}
	reply(worker, header->unique, error, &out, sizeof(out));
}

static bool wants_no_reply(uint32_t opcode)
{
	return opcode == FUSE_FORGET || opcode == FUSE_BATCH_FORGET || opcode == FUSE_INTERRUPT;
}

/* A request that is known and valid. */
static void serve(struct fc_worker *worker, struct fuse_in_header *header, size_t n)
{
	struct fuse_buf buf = { .size = n, .mem = header };

	switch (header->opcode) {
	case FUSE_GETATTR:
		serve_getattr(worker, header);
		return;
	case FUSE_READ:
		serve_read(worker, header);
		return;
	case FUSE_WRITE:
		serve_write(worker, header);
		return;
	case FUSE_SETXATTR:
		serve_setxattr(worker, header, n);
		return;
	case FUSE_TMPFILE:
		serve_tmpfile(worker, header);
		return;
	case FUSE_STATX:
		serve_statx(worker, header);
		return;
	case FUSE_INIT:
		fc_init_note(worker->session, header->unique, body_of(header), n - sizeof(*header));
		break;
	default:
		break;
	}
	fuse_session_process_buf(worker->session->fuse, &buf);
}

void fc_request_serve(struct fc_worker *worker, size_t n)
{
	struct fc_session *session = worker->session;
	struct fuse_in_header *header = (void *)worker->request;
	unsigned slot = header->opcode < FC_MAX_OPCODE ? header->opcode : FC_MAX_OPCODE;

	if (session->options->debug_requests)
		atomic_fetch_add_explicit(&session->counts[slot], 1, memory_order_relaxed);
	/* Names end within the buffer, whatever came. */
	memset(worker->request + n, 0, 16);
	if (!fc_request_valid(header, n)) {
		if (n >= sizeof(*header) && !wants_no_reply(header->opcode))
			reply_errno(worker, header->unique, EIO, NULL, 0);
		return;
	}
	if (!kind_of(header)->name) {
		reply_errno(worker, header->unique, ENOSYS, NULL, 0);
		return;
	}
	fc_session_use(session);
	serve(worker, header, n);
	fc_session_use_end(session);
}

void fc_request_report(struct fc_session *session)
{
	uint64_t all = 0;

	for (unsigned i = 0; i <= FC_MAX_OPCODE; i++) {
		uint64_t count = atomic_load(&session->counts[i]);

		if (!count)
			continue;
		all += count;
		fprintf(stderr, "%12" PRIu64 " %s", count,
			i < FC_MAX_OPCODE && kinds[i].name ? kinds[i].name : "other");
		if (i < FC_MAX_OPCODE && kinds[i].name)
			fputc('\n', stderr);
		else
			fprintf(stderr, " (%u)\n", i);
	}
	fprintf(stderr, "%12" PRIu64 " requests\n", all);
}
