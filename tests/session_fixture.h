/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For test_session.c: a socket pair plays the FUSE device, requests are written
 * to it as the kernel would, and a file system made of notes tells what arrived
 * there.
 */
#ifndef FC_TESTS_SESSION_FIXTURE_H
#define FC_TESTS_SESSION_FIXTURE_H

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "session/session_internal.h"

/* ---- a file system of notes ---------------------------------------------- */

static struct {
	char call[32], name[300], value[64];
	uint64_t ino, off, n;
	unsigned flags;
	bool kill_sgid;
	struct fc_setattr set;
	struct fc_cred cred;
	unsigned forgets;
	bool pages_came;
} note;
static struct fc_attr shown; /* what every call gives */
static int fails;            /* what every call returns */

static int noted(const char *call, uint64_t ino, const char *name)
{
	snprintf(note.call, sizeof(note.call), "%s", call);
	snprintf(note.name, sizeof(note.name), "%s", name ? name : "");
	note.ino = ino;
	return fails;
}

static int gave(struct fc_attr *attr)
{
	*attr = shown;
	return fails;
}

int fc_fs_lookup(struct fc_fs *fs, uint64_t parent, const char *name, struct fc_attr *attr)
{
	(void)fs;
	noted("lookup", parent, name);
	return gave(attr);
}

void fc_fs_forget(struct fc_fs *fs, uint64_t ino, uint64_t n)
{
	(void)fs;
	noted("forget", ino, NULL);
	note.forgets += (unsigned)n;
}

int fc_fs_getattr(struct fc_fs *fs, uint64_t ino, struct fc_attr *attr)
{
	(void)fs;
	(void)ino;
	return gave(attr);
}

int fc_fs_setattr(struct fc_fs *fs, uint64_t ino, const struct fc_setattr *set, struct fc_attr *attr)
{
	(void)fs;
	noted("setattr", ino, NULL);
	note.set = *set;
	return gave(attr);
}

int fc_fs_mknod(struct fc_fs *fs, uint64_t parent, const char *name, const struct fc_cred *cred, uint32_t mode,
		uint64_t rdev, struct fc_attr *attr)
{
	(void)fs;
	noted("mknod", parent, name);
	note.cred = *cred;
	note.flags = mode;
	note.off = rdev;
	return gave(attr);
}

int fc_fs_mkdir(struct fc_fs *fs, uint64_t parent, const char *name, const struct fc_cred *cred, uint32_t mode,
		struct fc_attr *attr)
{
	return fc_fs_mknod(fs, parent, name, cred, mode, 0, attr);
}

int fc_fs_symlink(struct fc_fs *fs, uint64_t parent, const char *name, const struct fc_cred *cred, const char *target,
		  struct fc_attr *attr)
{
	snprintf(note.value, sizeof(note.value), "%s", target);
	return fc_fs_mknod(fs, parent, name, cred, S_IFLNK, 0, attr);
}

int fc_fs_tmpfile(struct fc_fs *fs, uint64_t parent, const struct fc_cred *cred, uint32_t mode, struct fc_attr *attr)
{
	int r = fc_fs_mknod(fs, parent, NULL, cred, mode, 0, attr);

	noted("tmpfile", parent, NULL);
	return r;
}

int fc_fs_link(struct fc_fs *fs, uint64_t ino, uint64_t parent, const char *name, struct fc_attr *attr)
{
	(void)fs;
	noted("link", ino, name);
	note.off = parent;
	return gave(attr);
}

int fc_fs_unlink(struct fc_fs *fs, uint64_t parent, const char *name)
{
	(void)fs;
	return noted("unlink", parent, name);
}

int fc_fs_rmdir(struct fc_fs *fs, uint64_t parent, const char *name)
{
	(void)fs;
	return noted("rmdir", parent, name);
}

int fc_fs_rename(struct fc_fs *fs, uint64_t parent, const char *name, uint64_t new_parent, const char *new_name,
		 unsigned flags, const struct fc_cred *cred)
{
	(void)fs;
	note.off = new_parent;
	note.flags = flags;
	note.cred = *cred;
	snprintf(note.value, sizeof(note.value), "%s", new_name);
	return noted("rename", parent, name);
}

int fc_fs_readlink(struct fc_fs *fs, uint64_t ino, char *buf)
{
	(void)fs;
	strcpy(buf, "target");
	return noted("readlink", ino, NULL);
}

int fc_fs_readdir(struct fc_fs *fs, uint64_t ino, uint64_t offset, bool want_attr, fc_fill fill, void *arg)
{
	(void)fs;
	noted("readdir", ino, NULL);
	if (offset < 1 && fill(arg, ".", ino, 4, 1, NULL))
		return fails;
	for (uint64_t n = offset < 3 ? 3 : offset + 1; n < 10; n++) {
		if (fill(arg, "entry", shown.ino, 8, n, want_attr ? &shown : NULL))
			break;
		note.n++;
	}
	return fails;
}

int fc_fs_read(struct fc_fs *fs, uint64_t ino, uint64_t off, size_t n, void *buf, size_t *got)
{
	(void)fs;
	noted("read", ino, NULL);
	*got = n < 5 ? n : 5;
	memcpy(buf, "bytes", *got);
	note.off = off;
	return fails;
}

int fc_fs_write(struct fc_fs *fs, uint64_t ino, uint64_t off, size_t n, const void *buf, unsigned flags)
{
	(void)fs;
	note.off = off;
	note.n = n;
	note.flags = flags;
	memcpy(note.value, buf, n < sizeof(note.value) ? n : sizeof(note.value));
	return noted("write", ino, NULL);
}

int fc_fs_fallocate(struct fc_fs *fs, uint64_t ino, int mode, uint64_t off, uint64_t n, unsigned flags)
{
	(void)fs;
	(void)flags;
	note.flags = (unsigned)mode;
	note.off = off;
	note.n = n;
	return noted("fallocate", ino, NULL);
}

/* Data up to 4096, and up to 8192 once the kernel's dirty pages came. */
int fc_fs_lseek(struct fc_fs *fs, uint64_t ino, uint64_t off, int whence, uint64_t *result)
{
	uint64_t size = note.pages_came ? 8192 : 4096;

	(void)fs;
	(void)ino;
	if (off >= size)
		return FC_ENXIO;
	*result = whence == SEEK_HOLE ? size : off;
	return 0;
}

int fc_fs_copy(struct fc_fs *fs, uint64_t from, uint64_t from_off, uint64_t to, uint64_t to_off, uint64_t n,
	       uint64_t *done)
{
	(void)fs;
	(void)from_off;
	(void)to_off;
	note.off = to;
	*done = n / 2;
	return noted("copy", from, NULL);
}

ssize_t fc_fs_getxattr(struct fc_fs *fs, uint64_t ino, const char *name, void *buf, size_t size)
{
	(void)fs;
	noted("getxattr", ino, name);
	if (fails)
		return fails;
	if (size && size < 5)
		return FC_ERANGE;
	if (size)
		memcpy(buf, "value", 5);
	return 5;
}

ssize_t fc_fs_listxattr(struct fc_fs *fs, uint64_t ino, char *buf, size_t size)
{
	return fc_fs_getxattr(fs, ino, NULL, buf, size);
}

int fc_fs_setxattr(struct fc_fs *fs, uint64_t ino, const char *name, const void *value, size_t size, int flags,
		   bool kill_sgid)
{
	(void)fs;
	note.flags = (unsigned)flags;
	note.kill_sgid = kill_sgid;
	note.n = size;
	memcpy(note.value, value, size < sizeof(note.value) ? size : sizeof(note.value));
	return noted("setxattr", ino, name);
}

int fc_fs_removexattr(struct fc_fs *fs, uint64_t ino, const char *name)
{
	(void)fs;
	return noted("removexattr", ino, name);
}

void fc_fs_ahead(struct fc_fs *fs, uint64_t ino, uint64_t off, size_t n)
{
	(void)fs;
	(void)ino;
	(void)off;
	(void)n;
}

int fc_fs_sync(struct fc_fs *fs)
{
	(void)fs;
	return noted("sync", 0, NULL);
}

int fc_fs_stop(struct fc_fs *fs)
{
	(void)fs;
	return noted("stop", 0, NULL);
}

int fc_fs_commit(struct fc_fs *fs)
{
	(void)fs;
	return noted("commit", 0, NULL);
}

int fc_fs_set_limit(struct fc_fs *fs, uint64_t cap, uint64_t *least)
{
	(void)fs;
	*least = 12345;
	return noted("set_limit", cap, NULL);
}

int fc_fs_trim(struct fc_fs *fs, uint64_t *bytes)
{
	(void)fs;
	*bytes = 12345;
	return noted("trim", 0, NULL);
}

int fc_fs_compact(struct fc_fs *fs, struct fc_fs_compacting *progress)
{
	(void)fs;
	*progress = (struct fc_fs_compacting){ 1, 2, 3, 4, true };
	return noted("compact", 0, NULL);
}

void fc_fs_compact_end(struct fc_fs *fs)
{
	(void)fs;
	noted("compact_end", 0, NULL);
}

int fc_fs_statfs(struct fc_fs *fs, struct fc_fs_stat *st)
{
	(void)fs;
	*st = (struct fc_fs_stat){
		.bytes_total = 40960, .bytes_free = 8192, .inodes = 7, .generation = 99, .format = 1
	};
	return fails;
}

int fc_fs_rekey_sealed(struct fc_fs *fs, const uint8_t *sealed)
{
	(void)fs;
	snprintf(note.value, sizeof(note.value), "%s", (const char *)sealed);
	return noted("rekey", 0, NULL);
}

/* ---- the device ----------------------------------------------------------- */

static struct fc_session session;
static struct fc_session_options options;
static int device; /* our end */
static pthread_t server;
static uint64_t last_unique;
static uint32_t asker; /* whose requests they are */

static struct {
	struct fuse_out_header header;
	uint8_t body[8192];
} answer;

static void *serve(void *arg)
{
	fc_loop_prepare(arg);
	return (void *)(intptr_t)fc_loop_run(arg);
}

/* Sends a request of body and more. */
static void ask(uint32_t opcode, uint64_t ino, const void *body, size_t n, const void *more, size_t more_n)
{
	struct fuse_in_header header = {
		.len = (uint32_t)(sizeof(header) + n + more_n),
		.opcode = opcode,
		.unique = last_unique += 2,
		.nodeid = ino,
		.uid = asker,
		.gid = 100,
	};
	struct iovec iov[3] = { { &header, sizeof(header) },
				{ (void *)(uintptr_t)body, n },
				{ (void *)(uintptr_t)more, more_n } };

	ck_assert_int_eq(writev(device, iov, 3), header.len);
}

static bool answered(int milliseconds)
{
	struct pollfd ready = { .fd = device, .events = POLLIN };
	ssize_t n;

	if (poll(&ready, 1, milliseconds) <= 0)
		return false;
	n = read(device, &answer, sizeof(answer));
	ck_assert_int_ge(n, sizeof(answer.header));
	ck_assert_int_eq(answer.header.len, n);
	return true;
}

/* The answer's errno, after n bytes of body exactly if it is 0. */
static int answer_of(size_t n)
{
	ck_assert(answered(5000));
	ck_assert_uint_eq(answer.header.unique, last_unique);
	if (!answer.header.error)
		ck_assert_uint_eq(answer.header.len, sizeof(answer.header) + n);
	return -answer.header.error;
}

static int call(uint32_t opcode, uint64_t ino, const void *body, size_t n, const char *name, size_t answer_n)
{
	ask(opcode, ino, body, n, name, name ? strlen(name) + 1 : 0);
	return answer_of(answer_n);
}

/* Waits for what is done behind an answer: the next request is read after that. */
static void settle(void)
{
	struct fuse_getattr_in in = { .getattr_flags = FUSE_GETATTR_FH };

	ck_assert_int_eq(call(FUSE_GETATTR, 77, &in, sizeof(in), NULL, sizeof(struct fuse_attr_out)), 0);
}

static void begin(void)
{
	int fds[2];
	struct fuse_init_in in = {
		.major = 7,
		.minor = 38,
		.max_readahead = 131072,
		.flags = 0x7fffffff, /* everything, in the low half */
		.flags2 = 1u << 8,   /* mapped owners */
	};
	const struct fuse_init_out *out = (const void *)answer.body;

	memset(&note, 0, sizeof(note));
	fails = 0;
	asker = 1000;
	shown = (struct fc_attr){
		.ino = 77, .mode = S_IFREG | 0644, .nlink = 1, .uid = 5, .gid = 6, .size = 10, .blocks = 8
	};
	/* read since it changed: reading it again is nothing to note */
	shown.atime = (struct fc_time){ INT32_MAX, 9 };
	shown.btime = (struct fc_time){ -3, 7 };
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	device = fds[0];
	options = (struct fc_session_options){ .container = "/dir/box", .mountpoint = "/mnt", .fuse_options = "" };
	memset(&session, 0, sizeof(session));
	session.options = &options;
	session.timeout = 1000;
	session.fd = -1;
	pthread_mutex_init(&session.fresh_lock, NULL);
	ck_assert_int_eq(fc_session_create(&session), 0);
	ck_assert_int_eq(fc_session_connect(&session, fds[1]), 0);
	ck_assert_int_eq(pthread_create(&server, NULL, serve, &session), 0);
	ck_assert_int_eq(call(FUSE_INIT, 0, &in, sizeof(in), NULL, sizeof(*out)), 0);
	ck_assert_uint_eq(out->flags &
				  (FUSE_WRITEBACK_CACHE | FUSE_POSIX_ACL | FUSE_DONT_MASK | FUSE_HANDLE_KILLPRIV_V2 |
				   FUSE_PARALLEL_DIROPS | FUSE_SETXATTR_EXT | FUSE_DO_READDIRPLUS),
			  FUSE_WRITEBACK_CACHE | FUSE_POSIX_ACL | FUSE_DONT_MASK | FUSE_HANDLE_KILLPRIV_V2 |
				  FUSE_PARALLEL_DIROPS | FUSE_SETXATTR_EXT | FUSE_DO_READDIRPLUS);
	ck_assert_uint_eq(out->flags & (FUSE_ATOMIC_O_TRUNC | FUSE_AUTO_INVAL_DATA | FUSE_HANDLE_KILLPRIV |
					FUSE_POSIX_LOCKS | FUSE_FLOCK_LOCKS | FUSE_READDIRPLUS_AUTO),
			  0);
	ck_assert_uint_eq(out->flags2, geteuid() ? 0 : 1u << 8);
	ck_assert_uint_eq(out->max_write, FC_MAX_TRANSFER);
	ck_assert_uint_eq(out->time_gran, 1);
}

static void finish(void)
{
	void *result;

	close(device);
	pthread_join(server, &result);
	ck_assert_ptr_null(result);
	fuse_session_destroy(session.fuse);
	pthread_mutex_destroy(&session.fresh_lock);
}

#endif
