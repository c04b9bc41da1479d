/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mount in the making. The process that serves (the daemon) does all of it,
 * so that the key is never anywhere else; its parent only waits:
 *
 *   mount.c        arguments; fork; wait until the mount answers
 *   mount_check.c  mount point and container are fit, the lock is ours
 *   serve.c        unlock, open the file system, serve
 *   mount_again.c  what is mounted already is shown at another place too
 */
#ifndef FC_CLI_MOUNT_H
#define FC_CLI_MOUNT_H

#include <pthread.h>

#include "cli/mount_options.h"
#include "cli/state.h"
#include "fusecrypt/container.h"
#include "key/client.h"
#include "session/steward.h"
#include "store/header.h"

/* A locked directory holds nothing but this file, which begins with that line. */
#define FC_MARKER_NAME "FUSECRYPT-LOCKED.txt"
#define FC_MARKER_LINE "This directory is locked by fusecrypt.\n"

struct fc_mount_job {
	/* as given */
	const char *container_arg, *mountpoint_arg;
	struct fc_mount_options options;
	struct fc_secret_from from;
	const uint8_t *uuid; /* that the container must have; NULL: any */
	/* That opens it, when it is at hand: nothing is asked. The caller's, who keeps it until the mount answers. */
	struct fc_unlock_reply *key;
	bool unasked; /* only by what asks nobody */
	/* Mounted read-only, it may become writable: the container is kept open for that. Cleared
	 * where it cannot be. */
	bool remountable;
	bool foreground, accept_older, trace_requests;
	int ready_fd; /* a byte is written to it when the mount answers; -1 none */
	/* from mount_check.c on */
	char *container, *mountpoint; /* absolute, malloc'ed */
	bool read_only;
	int fd;           /* of the container, locked; io's own */
	struct fc_io *io; /* NULL once the fs owns it */
	struct fc_headers headers;
	/* serve.c's */
	struct fc_io *later;       /* for writing, when it is remountable; NULL once an fs owns it */
	int later_fd;              /* its own */
	int locked_fd;             /* of fc_locked_open, while mounting */
	char state_file[PATH_MAX]; /* "": none */
	pthread_mutex_t seen_lock; /* one writer of the state file */
	uint64_t seen_generation;  /* seen_lock: that it tells of */
	bool answered, logging, swap;
	int mount_error, null_fd; /* /dev/null; -1 none */
	struct fc_fs *fs;
	struct fc_steward steward;
};

/* A job with nothing given; NULL: out of memory, having said so. */
struct fc_mount_job *fc_mount_new(void);
void fc_mount_free(struct fc_mount_job *job);
/* Root mounts a protected directory of somebody else: lets its owner in, and whom the modes permit. */
void fc_mount_for_owner(struct fc_mount_job *job);
/* Each returns an exit status, having said what is wrong. */
/* `fusecrypt mount`, by mount(8) or not. */
int fc_mount_main(int argc, char **argv, bool by_helper);
/* Mounts as given. In the background: returns when it answers, or failed. */
int fc_mount_run(struct fc_mount_job *job);
int fc_mount_check(struct fc_mount_job *job);
/* The same of the container alone. */
int fc_mount_check_container(struct fc_mount_job *job);
/* The same of the mount point alone; the container is opened, not locked. */
int fc_mount_check_place(struct fc_mount_job *job);
/* What may have changed while a passphrase was asked for. */
int fc_mount_check_point(struct fc_mount_job *job);
int fc_mount_serve(struct fc_mount_job *job);
/* For root's mount(8): where the container is mounted for writing already, by root, it is shown at
 * mountpoint too, by a bind mount with these mount(2) flags. options: as of `-o`, which must fit.
 * False: that is not so, or they are wrong: mounting tells. Else *status is an exit status. */
bool fc_mount_again(const char *container, const char *mountpoint, const char *options, unsigned long flags,
		    int *status);
/* Opens the container for writing in this process, without mounting it. Returns an exit status;
 * when that is 0, the fs is the caller's, and so is the job, to be freed after the fs was closed. */
int fc_mount_open(const char *container, const struct fc_secret_from *from, struct fc_mount_job **job,
		  struct fc_fs **fs);

#endif
