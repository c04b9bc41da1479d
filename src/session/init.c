/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is agreed with the kernel.
 *
 * We are the only writer, so the kernel may keep everything: write-back cache,
 * no OPEN, no OPENDIR, entries and attributes practically for ever. Inode numbers
 * are never used again, so file handles (NFS) are good for ever too.
 *
 * libfuse 3.14 can neither agree to HANDLE_KILLPRIV_V2 (without which each
 * write(2) asks for security.capability first) nor pass on PARALLEL_DIROPS,
 * which it believes to have passed on; so the reply is amended on its way out.
 * Mounts with mapped owners (mount -o X-mount.idmap) are younger than it, too.
 */
#include "session/session_internal.h"

#include <errno.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef FUSE_ALLOW_IDMAP
#define FUSE_ALLOW_IDMAP (1ULL << 40) /* from Linux 6.12 on */
#endif

#define WANTED \
	(FUSE_CAP_ASYNC_READ | FUSE_CAP_DONT_MASK | FUSE_CAP_IOCTL_DIR | FUSE_CAP_READDIRPLUS | FUSE_CAP_ASYNC_DIO | \
	 FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_POSIX_ACL | FUSE_CAP_CACHE_SYMLINKS | \
	 FUSE_CAP_EXPLICIT_INVAL_DATA | FUSE_CAP_EXPORT_SUPPORT)

/*
 * ATOMIC_O_TRUNC would lose truncations: the kernel leaves them to an OPEN that
 * is never sent. Locks and flock are right in the kernel. Splicing gains
 * nothing, since data is copied when it is sealed. READDIRPLUS_AUTO gives attributes
 * with the first entries only when a program reads all of a directory before it looks
 * at the files, as most do: then each other file costs a LOOKUP.
 */
#define UNWANTED \
	(FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_HANDLE_KILLPRIV | FUSE_CAP_READDIRPLUS_AUTO | \
	 FUSE_CAP_POSIX_LOCKS | FUSE_CAP_FLOCK_LOCKS | FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | \
	 FUSE_CAP_SPLICE_MOVE)

/* Requests in the background that are under way at once: whoever else asks waits for
 * all of them, and of 1 MiB each 16 keep both processors and disk busy. */
#define BACKGROUND 16u

#define TIMES_MINOR 37u /* of the protocol, with Linux 6.1: fallocate changes the times first */

void fc_init(void *userdata, struct fuse_conn_info *conn)
{
	struct fc_session *session = userdata;

	session->sets_times = conn->proto_minor >= TIMES_MINOR && conn->capable & FUSE_CAP_WRITEBACK_CACHE;
	conn->want |= conn->capable & (unsigned)WANTED;
	conn->want &= ~(unsigned)UNWANTED;
	conn->max_write = FC_MAX_TRANSFER;
	conn->max_background = BACKGROUND;
	conn->congestion_threshold = BACKGROUND / 4 * 3;
	conn->time_gran = 1;
}

void fc_init_note(struct fc_session *session, uint64_t unique, const void *body, size_t n)
{
	struct fuse_init_in in = { 0 };

	memcpy(&in, body, n < sizeof(in) ? n : sizeof(in));
	session->init_unique = unique;
	session->init_offered = in.flags;
	if (in.flags & FUSE_INIT_EXT)
		session->init_offered |= (uint64_t)in.flags2 << 32;
}

uint64_t fc_init_amend(uint64_t offered, uint64_t chosen)
{
	chosen |= offered & (FUSE_HANDLE_KILLPRIV_V2 | FUSE_PARALLEL_DIROPS | FUSE_SETXATTR_EXT);
	/* Only root can make such mounts. Requests then tell who asks only where
	 * something is created: see caller() in data.c. */
	if (offered & FUSE_INIT_EXT && !geteuid())
		chosen |= offered & (FUSE_ALLOW_IDMAP | FUSE_INIT_EXT);
	return chosen & ~(uint64_t)FUSE_HANDLE_KILLPRIV;
}

static ssize_t write_amended(struct fc_session *session, int fd, const struct iovec *iov)
{
	struct fuse_init_out out;
	struct iovec copy[2] = { iov[0], { .iov_base = &out, .iov_len = iov[1].iov_len } };
	uint64_t flags;

	memcpy(&out, iov[1].iov_base, sizeof(out));
	flags = out.flags;
	if (flags & FUSE_INIT_EXT)
		flags |= (uint64_t)out.flags2 << 32;
	flags = fc_init_amend(session->init_offered, flags);
	out.flags = (uint32_t)flags;
	if (flags & FUSE_INIT_EXT)
		out.flags2 = (uint32_t)(flags >> 32);
	session->setxattr_ext = (flags & FUSE_SETXATTR_EXT) != 0;
	return writev(fd, copy, 2);
}

ssize_t fc_init_writev(int fd, struct iovec *iov, int count, void *userdata)
{
	struct fc_session *session = userdata;
	const struct fuse_out_header *header = iov[0].iov_base;
	ssize_t n;

	if (session->init_unique && header->unique == session->init_unique) {
		session->init_unique = 0;
		if (!header->error && count == 2 && iov[1].iov_len == sizeof(struct fuse_init_out))
			return write_amended(session, fd, iov);
	}
	n = writev(fd, iov, count);
	/* The connection has ended: nobody waits for this reply. libfuse
	 * keeps quiet about requests that have gone, and only about them. */
	if (n < 0 && errno == ENODEV)
		errno = ENOENT;
	return n;
}
