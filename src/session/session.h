/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mount: FUSE requests in, exactly one reply out. One session a process,
 * because signals and /dev/fuse are the process's.
 */
#ifndef FC_SESSION_SESSION_H
#define FC_SESSION_SESSION_H

#include <sys/ioctl.h>

#include "fusecrypt/container.h"

struct fc_steward;

struct fc_session_options {
	const char *container;  /* absolute path, shown as the mount's source */
	const char *mountpoint; /* absolute path */
	const char *
		fuse_options; /* for the kernel and fusermount3, comma-separated: allow_other, nosuid, noatime, …; may be "" */
	bool read_only;
	bool debug_requests;   /* counts of requests by kind on standard error at the end */
	bool own_uid, own_gid; /* show uid, gid for all files */
	uint32_t uid, gid;
	unsigned idle_seconds;      /* 0: never unmount by itself */
	struct fc_steward *steward; /* started for this mountpoint */
	/* The mount is made and everything open; no thread was started by the session
	 * yet. From here on it opens nothing. 0 or an errno: then it is given up. */
	int (*mounted)(void *arg);
	/* Called once when the mount answers (0) or could not be made (an errno). */
	void (*ready)(void *arg, int error, const char *why);
	/* A read-only mount becomes writable: opens *fresh, whose threads do not run yet, in place
	 * of the fs of before, which is not in use meanwhile and is the caller's to close then. 0 or
	 * an FC_E*: everything is as before. NULL: never. */
	int (*writable)(void *arg, struct fc_fs **fresh);
	/* Trouble later: priority as in syslog(3). */
	void (*log)(void *arg, int priority, const char *text);
	void *arg;
};

/* Mounts and serves until it is unmounted. The fs stays the caller's, who
 * closes it afterwards (that commits). SIGTERM, SIGINT, SIGHUP: commits, then
 * tries a plain unmount; stays mounted while busy. 0 or a positive errno. */
int fc_session_run(struct fc_fs *fs, const struct fc_session_options *options);

/* ---- asking a mount ------------------------------------------------------
 * ioctls on the mount's root directory (any descriptor of it); answered
 * by the daemon. Fixed-width: the same for 32- and 64-bit programs. */
#define FC_IOC_MAGIC 0xfc

struct fc_ioc_status {
	uint32_t version; /* 1 */
	uint32_t pid;     /* of the daemon */
	uint32_t format, cipher;
	uint32_t read_only;
	uint32_t failed; /* 1 after a failed commit, FC_IOC_STOPPED after FC_IOC_SHUTDOWN */
	uint64_t generation, bytes_limit, bytes_allocated, bytes_used, inodes;
	uint8_t uuid[16];
	uint64_t write_errors; /* writes from the page cache that failed since it was mounted */
	uint32_t rekeying;     /* another master key is being given */
	int32_t rekey_error;   /* FC_E*: what keeps that from going on; 0 */
	uint64_t rekey_bytes, rekey_total;
	char container[3984]; /* absolute path, NUL-terminated, cut if longer */
};
#define FC_IOC_STOPPED 2
#define FC_IOC_STATUS _IOR(FC_IOC_MAGIC, 1, struct fc_ioc_status)
/* Commits: returns when a new root is durable. */
#define FC_IOC_SYNC _IO(FC_IOC_MAGIC, 2)
/* As other file systems know it, and for root or who mounted it: commits, then
 * nothing is written any more. Its flags do not reach a FUSE daemon. */
#define FC_IOC_SHUTDOWN _IOR('X', 125, uint32_t)
/* The header has another master key: goes over to it, and seals everything anew
 * meanwhile (fc_fs_rekey_sealed). Only who knows the present key can ask for it. */
struct fc_ioc_rekey {
	uint8_t sealed[72]; /* FC_NEXT_KEY_BYTES */
};
#define FC_IOC_REKEY _IOW(FC_IOC_MAGIC, 4, struct fc_ioc_rekey)

/* Sets the size limit, durably; only for root and the daemon's user (EPERM). */
struct fc_ioc_resize {
	uint64_t limit;   /* in: bytes, 0 none */
	uint64_t least;   /* out: the lowest that would be accepted now */
	uint32_t refused; /* out: limit is below that; nothing was changed */
	uint32_t zero;
};
/* One step of compacting, as fc_fs_compact; for the same. */
struct fc_ioc_compact {
	uint32_t end; /* in: leave off instead */
	uint32_t done;
	uint64_t bytes_to_move, bytes_moved, bytes_cut, bytes_unreadable;
};
#define FC_IOC_COMPACT _IOWR(FC_IOC_MAGIC, 5, struct fc_ioc_compact)
/* A read-only mount becomes writable, for the same (EROFS, EBUSY: others read the container). The
 * kernel's own flag stays as it is. */
#define FC_IOC_WRITABLE _IO(FC_IOC_MAGIC, 6)
#define FC_IOC_RESIZE _IOWR(FC_IOC_MAGIC, 3, struct fc_ioc_resize)

#endif
