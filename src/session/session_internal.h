/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the files of src/session only.
 *
 *   session.c  mounts, starts and ends the others
 *   init.c     what is agreed with the kernel
 *   loop.c     threads that take requests from the device, one at a time
 *   latency.c  processors that wait awake while many requests come
 *   dirty.c    how many dirty pages the kernel may keep, and when it writes them
 *   request.c  one request: checked, counted, and answered here or by libfuse
 *   names.c, attr.c, data.c, dir.c   the operations
 *   control.c  signals, idleness, unmounting, telling that the mount answers
 *   steward.c, write_back.c   another process, for what needs privileges
 *   confine.c  gives up whatever serving does not need
 *
 * Locks: none is held while replying or calling fc_fs_*. The order where two
 * are taken: fc_session.fs_lock, which is held while a request is served, then one of
 * fc_loop.lock and fc_session.fresh_lock.
 */
#ifndef FC_SESSION_INTERNAL_H
#define FC_SESSION_INTERNAL_H

/* What is used of libfuse looks the same from 3.14 on. */
#define FUSE_USE_VERSION 312

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "session/session.h"

#define FC_MAX_TRANSFER (1u << 20) /* bytes in one READ or WRITE */
#define FC_HEADER_ROOM 4096u       /* before them, and after, for what is not data */
#define FC_MAX_OPCODE 64u          /* counted each for itself below this */

struct fc_attr;
struct fuse_attr;
struct fuse_in_header;

/* A thread that serves requests. request and reply share one mapping: data of a
 * WRITE and of a READ's answer start on the same page boundary. */
struct fc_worker {
	struct fc_session *session;
	uint8_t *mapping;
	uint8_t *request; /* FC_REQUEST_BYTES may be read to it, and 16 more written */
	uint8_t *data;    /* FC_MAX_TRANSFER bytes on a page boundary, a WRITE's data */
	uint64_t token;   /* the value this thread set last, see loop.c */
	pthread_t thread;
};

#define FC_REQUEST_BYTES (FC_MAX_TRANSFER + FC_HEADER_ROOM)

/* See latency.c. */
#define FC_LATENCY_WINDOW_NS 2000000u
#define FC_LATENCY_REQUESTS 8u      /* so many in a window: they come fast */
#define FC_LATENCY_TICK_REQUESTS 3u /* fewer than that in a tick of the watcher are slow ones */
#define FC_LATENCY_SLOW_TICKS 4u    /* in a row, until the processors may sleep again */
struct fc_latency {
	int fd; /* -1: not permitted here */
	_Atomic bool held;
	uint64_t window_ns; /* of the thread that holds the token, like requests */
	unsigned requests;
	unsigned slow; /* the watcher's */
};

/* See dirty.c. */
struct fc_dirty {
	_Atomic bool few;
	_Atomic unsigned count;                /* of fsync, since window_ns */
	_Atomic uint64_t window_ns, synced_ns; /* CLOCK_MONOTONIC */
	_Atomic uint64_t large;                /* bytes in large writes, since round_ns */
	_Atomic uint64_t round_ns;             /* when the kernel was last told to write */
};

/* See loop.c, which owns every field. */
struct fc_loop {
	_Atomic uint64_t token;
	_Atomic uint32_t parked_call, watcher_call; /* futexes */
	_Atomic uint32_t parked;                    /* threads asleep on parked_call, or nearly so */
	_Atomic uint32_t watcher;                   /* enum fc_watcher */
	_Atomic uint32_t dependent;                 /* threads in requests that wait for other requests */
	_Atomic bool ended;
	_Atomic uint32_t cost_ns[FC_MAX_OPCODE]; /* of long requests, a moving mean */
	_Atomic uint64_t last_request_ns;        /* CLOCK_MONOTONIC, when the reader last found nothing to do */
	unsigned spin_credit, crowd;             /* of the thread that holds the token */
	bool may_spin;                           /* const */
	struct fc_latency latency;
	pthread_mutex_t lock;     /* threads */
	_Atomic unsigned threads; /* started besides the first, workers[0..threads) */
	struct fc_worker *workers[64];
};

/* WRITEs come long before the kernel asks again how many blocks a file has:
 * see fc_data_freshen. */
#define FC_FRESH_SLOTS 64u
struct fc_fresh {
	uint64_t ino, since_ns;
};

/* When an inode's time of access was looked at last, see fc_attr_accessed. */
#define FC_CHECKED_SLOTS 256u

struct fc_session {
	struct fuse_session *fuse;
	struct fc_fs *fs; /* fs_lock, where the options have `writable` */
	const struct fc_session_options *options;
	pthread_rwlock_t fs_lock; /* shared: fs is in use. The first to be taken */
	int fd;                   /* of the device, non-blocking */
	double timeout;           /* seconds that the kernel may keep entries and attributes */
	bool no_atime, no_diratime, asked_no_atime;
	/* Between INIT's arrival and its reply, one thread: */
	uint64_t init_unique, init_offered;
	bool sets_times;   /* the kernel sets a file's times before FALLOCATE: from Linux 6.1 on */
	bool setxattr_ext; /* agreed: SETXATTR is the long form. Written before the first SETXATTR can come */
	struct fc_loop loop;
	struct fc_dirty dirty;
	_Atomic uint64_t write_errors;
	/* Inode whose pages last did not fit, how often in a row, until who writes there is told; 0 none. */
	_Atomic uint64_t full_ino, full_count, full_ns;
	_Atomic uint64_t counts[FC_MAX_OPCODE + 1];
	pthread_mutex_t fresh_lock; /* fresh */
	struct fc_fresh fresh[FC_FRESH_SLOTS];
	_Atomic uint64_t checked[FC_CHECKED_SLOTS];
	int signal_read, signal_write; /* a pipe: a signal's number, or 0 to end the control thread */
	char trouble[256];             /* the last thing libfuse said while mounting */
};

/* ---- session.c ---------------------------------------------------------- */
/* The mount options for libfuse, escaped as it wants them; free it. NULL without memory. */
char *fc_session_option_string(struct fc_session *session);
/* Makes session->fuse of session->options. 0 or an errno. */
int fc_session_create(struct fc_session *session);
/* Has the session talk to fd, a FUSE device or the like of it; libfuse closes it. 0 or an errno. */
int fc_session_connect(struct fc_session *session, int fd);

/* Around any use of session->fs. */
void fc_session_use(struct fc_session *session);
void fc_session_use_end(struct fc_session *session);
/* A request that is being served makes the mount writable. 0 or an FC_E*. */
int fc_session_make_writable(struct fc_session *session);

/* ---- init.c ------------------------------------------------------------- */
void fc_init(void *userdata, struct fuse_conn_info *conn);
/* Notes what the kernel offers (the request's body has n bytes). */
void fc_init_note(struct fc_session *session, uint64_t unique, const void *body, size_t n);
/* The writev of libfuse: adds to the reply of INIT what the library cannot say. */
ssize_t fc_init_writev(int fd, struct iovec *iov, int count, void *userdata);
/* Flags for the reply, from those offered and those libfuse chose. */
uint64_t fc_init_amend(uint64_t offered, uint64_t chosen);

/* ---- loop.c ------------------------------------------------------------- */
/* Opens and looks up what the loop needs besides the device. */
void fc_loop_prepare(struct fc_session *session);
/* Then: serves until the connection ends, with the calling thread and others. 0 or an errno. */
int fc_loop_run(struct fc_session *session);
/* Around what waits for other requests to be served, within a request. False
 * where too many wait already: then it must not be done, and there is no end. */
bool fc_loop_depend(struct fc_session *session);
void fc_loop_depend_end(struct fc_session *session);
uint64_t fc_now_ns(void);

/* ---- latency.c ---------------------------------------------------------- */
void fc_latency_open(struct fc_latency *latency);
/* A request was read; with the token. */
void fc_latency_request(struct fc_latency *latency);
/* One millisecond of the watcher has passed, with so many requests. */
void fc_latency_tick(struct fc_latency *latency, uint64_t requests);
void fc_latency_close(struct fc_latency *latency);

/* ---- dirty.c ------------------------------------------------------------ */
/* fsync was called. Any thread. */
void fc_dirty_synced(struct fc_session *session);
/* n bytes of the kernel's dirty pages have come. Any thread, after the reply. */
void fc_dirty_written(struct fc_session *session, size_t n);
/* One millisecond of the watcher has passed. */
void fc_dirty_tick(struct fc_session *session);

/* ---- request.c ---------------------------------------------------------- */
enum fc_weight {
	FC_SHORT, /* memory only, as a rule */
	FC_LONG,  /* may take long or wait for the disk */
};
enum fc_weight fc_request_weight(const void *request, size_t n);
/* True if n bytes at request are a request that can be looked into. */
bool fc_request_valid(const void *request, size_t n);
/* n bytes lie at worker->request. Answers, unless the kind needs no answer. */
void fc_request_serve(struct fc_worker *worker, size_t n);
void fc_request_report(struct fc_session *session);

/* ---- attr.c ------------------------------------------------------------- */
void fc_attr_stat(const struct fc_session *session, const struct fc_attr *attr, struct stat *st);
void fc_attr_entry(const struct fc_session *session, const struct fc_attr *attr, struct fuse_entry_param *entry);
void fc_attr_kernel(const struct fc_session *session, const struct fc_attr *attr, struct fuse_attr *out);
/* Seconds that the kernel may keep them. */
double fc_attr_timeout(const struct fc_session *session, const struct fc_attr *attr);
/* For who may keep them while the file is written to. */
void fc_attr_some_blocks(struct fc_attr *attr);
/* For who asks: blocks are right also of a file that is dirty. 0 or an FC_E*. */
int fc_attr_get(struct fc_session *session, uint64_t ino, struct fc_attr *attr);
/* It was changed, for the next: */
void fc_attr_changed(struct fc_session *session, uint64_t ino);
/* It was read: once that is answered. */
void fc_attr_accessed(struct fc_session *session, uint64_t ino);
void fc_op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int to_set, struct fuse_file_info *fi);
void fc_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void fc_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void fc_op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);
void fc_op_statfs(fuse_req_t req, fuse_ino_t ino);

/* ---- names.c ------------------------------------------------------------ */
void fc_reply_error(fuse_req_t req, int error); /* 0 or an FC_E* */
void fc_reply_entry(fuse_req_t req, int error, const struct fc_attr *attr);
void fc_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void fc_op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n);
void fc_op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);
void fc_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
void fc_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void fc_op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void fc_op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void fc_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void fc_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void fc_op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent, const char *new_name,
		  unsigned flags);
void fc_op_readlink(fuse_req_t req, fuse_ino_t ino);

/* ---- data.c ------------------------------------------------------------- */
void fc_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fc_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fc_op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void fc_op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t n, struct fuse_file_info *fi);
void fc_op_copy(fuse_req_t req, fuse_ino_t from, off_t from_off, struct fuse_file_info *from_fi, fuse_ino_t to,
		off_t to_off, struct fuse_file_info *to_fi, size_t n, int flags);
void fc_op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi);
void fc_op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg, struct fuse_file_info *fi, unsigned flags,
		 const void *in, size_t in_size, size_t out_size);
/* Makes the kernel send the dirty pages it has of [off, to), to 0: to the end, and
 * drop the others there. False if that must not be waited for now. */
bool fc_data_fetch(struct fc_session *session, uint64_t ino, uint64_t off, uint64_t to);
/* Once a WRITE is answered: lets the kernel ask again for a growing file's blocks. */
void fc_data_freshen(struct fc_session *session, uint64_t ino);

/* ---- dir.c -------------------------------------------------------------- */
void fc_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void fc_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);

/* ---- control.c ---------------------------------------------------------- */
/* Takes SIGTERM, SIGINT and SIGHUP from here on. 0 or an errno. */
int fc_control_begin(struct fc_session *session);
void fc_control_end(struct fc_session *session);
/* The control thread; arg is the session. */
void *fc_control_main(void *arg);
void fc_log(const struct fc_session *session, int priority, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
