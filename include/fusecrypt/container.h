/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libfusecrypt: a container opened as a file system, without FUSE. Everything
 * here is thread-safe unless it says otherwise. Functions return 0 (or what
 * they say) or a negative FC_E*. No global state: any number of containers may
 * be open.
 */
#ifndef FUSECRYPT_CONTAINER_H
#define FUSECRYPT_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fusecrypt/error.h"
#include "fusecrypt/format.h"

struct fc_fs;
struct fc_io;
struct fc_header;

struct fc_time {
	int64_t sec;
	uint32_t nsec; /* < 10^9 */
};

/* ---- open and close --------------------------------------------------- */

struct fc_fs_options {
	bool read_only;                 /* nothing is written; a crash's log is replayed in memory */
	bool no_replay;                 /* with read_only: the log is left out, the newest root's state is shown */
	bool accept_older;              /* go on from an older state than seen_generation, from the
			       * older root when the newest cannot be read, or with an
			       * older header than the root accepts */
	uint64_t header_sequence;       /* of the header copy whose slot gave the key, 0: the newest */
	bool no_threads;                /* no background commit, flush or punch: the caller drives, or fc_fs_start */
	unsigned commit_seconds;        /* 0: 5 */
	size_t cache_bytes;             /* of tree nodes kept in memory, 0: 64 MiB */
	size_t dirty_bytes;             /* of file data not yet written, 0: 64 MiB */
	uint64_t seen_generation;       /* highest generation this machine saw, 0 none */
	uint8_t seen_tag[FC_TAG_BYTES]; /* of the root with that generation */
	/* The clock; NULL: CLOCK_REALTIME_COARSE. */
	struct fc_time (*now)(void *arg);
	/* After a root became durable, and with the newest one when opening. Called without locks, from any thread. */
	void (*committed)(void *arg, uint64_t generation, const uint8_t tag[FC_TAG_BYTES]);
	/* A line for the log: priority as in syslog(3). Never names or content. */
	void (*log)(void *arg, int priority, const char *text);
	/* Takes (and gives back) the header's lock against key commands: 0, or it is not to be had
	 * now. Called in the course of a rekey, which writes the header. NULL: nobody else writes it. */
	int (*header_lock)(void *arg, bool take);
	/* File contents changed other than by a request (none yet): unused may be NULL. */
	void *arg;
};

/* Lays out header regions, salt table, root and log on io (which must be empty)
 * with the header's uuid, cipher, log_bytes, slots; sequence becomes 1 and the
 * offsets are filled in. cap: bytes that the container may take from
 * the host, 0 none (FC_EINVAL below the log and 20 MiB). Synced on return.
 * io stays the caller's. The root directory gets mode 0755, uid and gid. */
int fc_fs_format(struct fc_io *io, struct fc_header *header, const uint8_t master[FC_KEY_BYTES], uint64_t cap,
		 uint32_t uid, uint32_t gid, struct fc_time now);

/* Verifies header and roots, replays the log, removes orphans. io becomes the
 * fs's own, also on failure. master is copied. options are copied.
 * FC_EFORGED, FC_ECORRUPT, FC_EOLDER (see fc_fs_found), FC_ENOMEM, FC_EIO. */
int fc_fs_open(struct fc_io *io, const uint8_t master[FC_KEY_BYTES], const struct fc_fs_options *options,
	       struct fc_fs **out);

/* Opens for writing, by another io of the same container, what fs has open read-only (and no
 * longer without its log): as fc_fs_open does it, with the key and the other options of fs, and
 * the kernel's references to inodes. fs is not used meanwhile; it stays as it is, to be closed
 * when this has succeeded. io becomes the new one's, also on failure. */
int fc_fs_open_again(struct fc_fs *fs, struct fc_io *io, struct fc_fs **out);

/* Starts the threads of an fs that was opened with no_threads, before anything else is
 * done with it. 0 or FC_ENOMEM: then it can only be closed. */
int fc_fs_start(struct fc_fs *fs);
/* Commits (unless read-only), stops the threads, frees. An error means that the
 * last commit failed; the fs is freed all the same. No call may be under way. */
int fc_fs_close(struct fc_fs *fs);

/* As after a power cut: frees without writing anything (tests). */
void fc_fs_abandon(struct fc_fs *fs);

/* ---- attributes -------------------------------------------------------- */

struct fc_attr {
	uint64_t ino;
	uint32_t mode, nlink, uid, gid; /* mode with S_IFMT */
	uint64_t rdev;                  /* as stat(2): makedev */
	uint64_t size;                  /* bytes */
	uint64_t blocks;                /* of 512 bytes, as stat(2) */
	struct fc_time atime, mtime, ctime, btime;
};

struct fc_cred {
	uint32_t uid, gid; /* of the process (file system ids) */
	uint32_t umask;
};

#define FC_SET_MODE 0x001u
#define FC_SET_UID 0x002u
#define FC_SET_GID 0x004u
#define FC_SET_SIZE 0x008u
#define FC_SET_ATIME 0x010u
#define FC_SET_MTIME 0x020u
#define FC_SET_CTIME 0x040u
#define FC_SET_ATIME_NOW 0x080u
#define FC_SET_MTIME_NOW 0x100u
#define FC_SET_KILLPRIV 0x200u /* with SIZE, UID or GID: clear set-id bits and security.capability */

struct fc_setattr {
	uint32_t valid; /* FC_SET_* */
	uint32_t mode, uid, gid;
	uint64_t size;
	struct fc_time atime, mtime, ctime;
};

/* ---- names -------------------------------------------------------------
 * Names are NUL-terminated bytes. lookup, and every call that returns an attr
 * of a name, counts one reference; forget gives n back. An inode without links
 * lives until its count is 0. Permissions are the caller's (the kernel's)
 * business; sticky bits, immutable flags and the like too. POSIX ACLs are
 * inherited and kept in step with the mode here. lookup also knows "." of any
 * inode and ".." of a directory, for file handles that have outlived what the
 * kernel knew: FC_ESTALE when the inode is gone. */
int fc_fs_lookup(struct fc_fs *fs, uint64_t parent, const char *name, struct fc_attr *attr);
void fc_fs_forget(struct fc_fs *fs, uint64_t ino, uint64_t n);
int fc_fs_getattr(struct fc_fs *fs, uint64_t ino, struct fc_attr *attr);
int fc_fs_setattr(struct fc_fs *fs, uint64_t ino, const struct fc_setattr *set, struct fc_attr *attr);
/* Regular files, FIFOs, sockets, devices (not directories, not links). */
int fc_fs_mknod(struct fc_fs *fs, uint64_t parent, const char *name, const struct fc_cred *cred, uint32_t mode,
		uint64_t rdev, struct fc_attr *attr);
int fc_fs_mkdir(struct fc_fs *fs, uint64_t parent, const char *name, const struct fc_cred *cred, uint32_t mode,
		struct fc_attr *attr);
int fc_fs_symlink(struct fc_fs *fs, uint64_t parent, const char *name, const struct fc_cred *cred, const char *target,
		  struct fc_attr *attr);
/* A regular file without a name (O_TMPFILE); linked later or gone at forget. */
int fc_fs_tmpfile(struct fc_fs *fs, uint64_t parent, const struct fc_cred *cred, uint32_t mode, struct fc_attr *attr);
int fc_fs_link(struct fc_fs *fs, uint64_t ino, uint64_t parent, const char *name, struct fc_attr *attr);
int fc_fs_unlink(struct fc_fs *fs, uint64_t parent, const char *name);
int fc_fs_rmdir(struct fc_fs *fs, uint64_t parent, const char *name);
/* flags: RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT of renameat2(2). */
int fc_fs_rename(struct fc_fs *fs, uint64_t parent, const char *name, uint64_t new_parent, const char *new_name,
		 unsigned flags, const struct fc_cred *cred);
/* Copies the target with its NUL into buf (FC_SYMLINK_MAX + 1 bytes). */
int fc_fs_readlink(struct fc_fs *fs, uint64_t ino, char *buf);

/* Entries after offset (0: from the start), `.` and `..` first. next_off is
 * the offset after that entry: stable while other entries come and go. fill
 * returns non-zero to stop before taking the entry. With want_attr, attr is
 * given for each entry but `.`, `..` and inodes that cannot be read (NULL), and
 * counts a reference when taken. An error after some entries shows in the call
 * that goes on from there. fill runs under a lock: it must not call the fs. */
typedef int (*fc_fill)(void *arg, const char *name, uint64_t ino, uint32_t type, uint64_t next_off,
		       const struct fc_attr *attr);
int fc_fs_readdir(struct fc_fs *fs, uint64_t ino, uint64_t offset, bool want_attr, fc_fill fill, void *arg);

/* ---- content ----------------------------------------------------------- */

#define FC_WRITE_CACHED 1u   /* from the kernel's page cache: times are set by setattr */
#define FC_WRITE_PAGED 4u    /* in the log only: the content went to pages, not into the inode's item */
#define FC_WRITE_KILLPRIV 2u /* clear set-id bits and security.capability */

/* Bytes read into *got, fewer than n only at the end of the file. FC_EFORGED
 * or FC_EIO for what cannot be had. */
int fc_fs_read(struct fc_fs *fs, uint64_t ino, uint64_t off, size_t n, void *buf, size_t *got);
/* A hint, after that read: what lies around it may be wanted next. */
void fc_fs_ahead(struct fc_fs *fs, uint64_t ino, uint64_t off, size_t n);
/* All of it or an error. Growth in blocks that fails leaves the file as it was. */
int fc_fs_write(struct fc_fs *fs, uint64_t ino, uint64_t off, size_t n, const void *buf, unsigned flags);
/* mode as fallocate(2): 0, KEEP_SIZE, PUNCH_HOLE|KEEP_SIZE, ZERO_RANGE[|KEEP_SIZE]. flags: FC_WRITE_CACHED or 0. */
int fc_fs_fallocate(struct fc_fs *fs, uint64_t ino, int mode, uint64_t off, uint64_t n, unsigned flags);
/* SEEK_DATA or SEEK_HOLE. */
int fc_fs_lseek(struct fc_fs *fs, uint64_t ino, uint64_t off, int whence, uint64_t *result);
/* Shares whole blocks where both offsets are aligned alike, copies the rest.
 * Set-id bits are the caller's business (the kernel clears them first). */
int fc_fs_copy(struct fc_fs *fs, uint64_t from, uint64_t from_off, uint64_t to, uint64_t to_off, uint64_t n,
	       uint64_t *done);

/* ---- extended attributes ------------------------------------------------
 * system.posix_acl_* are kept in Linux's xattr form and checked. size 0 asks
 * for the length; FC_ERANGE when buf is too small. Returns the length. */
ssize_t fc_fs_getxattr(struct fc_fs *fs, uint64_t ino, const char *name, void *buf, size_t size);
ssize_t fc_fs_listxattr(struct fc_fs *fs, uint64_t ino, char *buf, size_t size);
/* flags: XATTR_CREATE, XATTR_REPLACE. kill_sgid: the setter is not in the
 * file's group (FUSE_SETXATTR_ACL_KILL_SGID). */
int fc_fs_setxattr(struct fc_fs *fs, uint64_t ino, const char *name, const void *value, size_t size, int flags,
		   bool kill_sgid);
int fc_fs_removexattr(struct fc_fs *fs, uint64_t ino, const char *name);

/* ---- durability --------------------------------------------------------- */

/* Everything received before is durable when this returns 0 (R4). */
int fc_fs_sync(struct fc_fs *fs);
/* The same by a commit: a new root. */
int fc_fs_commit(struct fc_fs *fs);
/* Commits for the last time: what would change anything fails with FC_EIO from then
 * on. 0, or what the commit said; it is stopped in any case. */
int fc_fs_stop(struct fc_fs *fs);
/* For tests without threads: what the background threads would do once. */
int fc_fs_background(struct fc_fs *fs);

/* Gives all free blocks back to the host now, which happens by itself some commits later.
 * *bytes: how much the container takes less. FC_EROFS, FC_EIO. No lock held. */
int fc_fs_trim(struct fc_fs *fs, uint64_t *bytes);

/* The size limit, as of fc_fs_format, durable on return. FC_EINVAL, and nothing changed:
 * below *least, what the container has in use now (which is set in any case). */
int fc_fs_set_limit(struct fc_fs *fs, uint64_t cap, uint64_t *least);

/* ---- another master key --------------------------------------------------
 * A key command has written the header of a new master key, with the old one
 * sealed in it, to both copies. From the next opening on, or from this call on
 * for an fs that is open, all is sealed anew in the background, commit by commit;
 * whatever stops it, the next one who writes goes on. master is the new one.
 * 0 (also when it is under way); FC_EFORGED: that is not the header's;
 * FC_EROFS, FC_EIO, FC_ENOSPC, FC_ENOMEM, FC_ESESSIONS. */
int fc_fs_rekey(struct fc_fs *fs, const uint8_t master[FC_KEY_BYTES]);
/* The same with the new key sealed under the present one (FC_NEXT_KEY_BYTES, cipher/keys.h). */
int fc_fs_rekey_sealed(struct fc_fs *fs, const uint8_t *sealed);
/* Without threads: one step of it. 1 there is more, 0 nothing left to do; what stopped it:
 * FC_ENOSPC, FC_EFORGED (something cannot be opened under the old key), FC_EIO, ... */
int fc_fs_rekey_step(struct fc_fs *fs);

/* ---- compacting ----------------------------------------------------------
 * Moves what lies at the container's end into free space before it, and cuts the file.
 * A call is a small step (some megabytes); between them anything else may be done, and
 * it can be left off at any time, or go on after an error. One at a time: others wait. */
struct fc_fs_compacting {
	uint64_t bytes_to_move; /* of the pass under way */
	uint64_t bytes_moved;   /* since the first step */
	uint64_t bytes_cut;
	uint64_t bytes_unreadable; /* could not be authenticated, and stayed where they are */
	bool done;                 /* the next step would begin anew */
};
int fc_fs_compact(struct fc_fs *fs, struct fc_fs_compacting *progress);
/* Leaves off: what was moved stays so. */
void fc_fs_compact_end(struct fc_fs *fs);

struct fc_fs_stat {
	uint64_t bytes_limit;     /* cap, 0 none */
	uint64_t bytes_allocated; /* by the host, for the container */
	uint64_t bytes_used;      /* blocks of data and nodes in use */
	uint64_t bytes_total;     /* as statfs shows them */
	uint64_t bytes_free;
	uint64_t inodes, generation;
	uint32_t format, cipher;
	uint8_t uuid[FC_UUID_BYTES];
	bool read_only, failed;            /* failed: turned read-only after a failed sync (R10) */
	bool stopped;                      /* that was fc_fs_stop, which had committed */
	bool rekeying;                     /* a rekey is under way */
	int rekey_error;                   /* what keeps it from going on, 0 nothing */
	uint64_t rekey_bytes, rekey_total; /* seen of its present pass, and to be seen in all; about */
};
int fc_fs_statfs(struct fc_fs *fs, struct fc_fs_stat *st);

/* What opening found, for messages about an older state; valid also when
 * fc_fs_open gave FC_EOLDER (read from io by itself). Not thread-safe. */
struct fc_fs_found {
	uint64_t generation; /* newest root that opens */
	uint64_t time;       /* seconds since 1970 */
	bool newest_lost;    /* the newest root record cannot be read in either copy */
	uint64_t header_seq; /* lowest sequence of a header that it accepts */
	uint8_t uuid[FC_UUID_BYTES];
};
int fc_fs_probe(struct fc_io *io, const uint8_t master[FC_KEY_BYTES], struct fc_fs_found *found);

#endif
