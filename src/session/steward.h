/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steward: a small process that does for a daemon what that may no longer do
 * once it has confined itself: unmounting (fusermount3 is to be executed, umount(2)
 * to be permitted), settings below /sys, having the kernel write dirty pages, the
 * system's log, looking up who a caller is. It is started before any key is in memory,
 * holds nothing but its end of a socketpair (and for moments the mount's root), and does
 * only these things, to one mount point: a daemon that was taken over gains no more. It
 * ends when the daemon does, and leaves signals to it.
 */
#ifndef FC_SESSION_STEWARD_H
#define FC_SESSION_STEWARD_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

struct fc_steward {
	int fd; /* -1: none */
	pid_t pid;
	pthread_mutex_t lock; /* of one question and its answer */
};

/* A child of this process, which should have one thread. mountpoint: absolute; secret: what this
 * process has of that kind (fc_secret_alloc), wiped in the child; NULL nothing. 0 or an errno. */
int fc_steward_start(struct fc_steward *s, const char *mountpoint, void *secret);
/* Closes the connection and waits until it has ended. */
void fc_steward_end(struct fc_steward *s);

/* Any thread; each waits for the answer, 0 or an errno. */
/* The mount was made: asks it for its root, until it answers, and raises the kernel's limits for it. */
int fc_steward_settle(struct fc_steward *s);
/* A plain unmount of what settle saw: EBUSY while it is in use, or something else lies on top. */
int fc_steward_unmount(struct fc_steward *s);
/* Takes away a mount whose connection was cut, if there is one. */
int fc_steward_clear(struct fc_steward *s);
/* By which user's and group's rights the thread of that number reaches files; as long as it waits
 * for an answer of ours the number cannot become another's. ESRCH: that cannot be known. */
int fc_steward_who(struct fc_steward *s, pid_t thread, uid_t *uid, gid_t *gid);

/* Any thread, never waits: from now on the kernel keeps few dirty pages of what settle saw, or as
 * many as is good for bulk writing. Without effect where root has not mounted. */
void fc_steward_limit_dirty(struct fc_steward *s, bool few);
/* Any thread, never waits: the kernel begins to write what is dirty of what settle saw. Without
 * effect where root has not mounted. */
void fc_steward_write_back(struct fc_steward *s);
/* Any thread, never waits: a line for the log, priority as in syslog(3), cut
 * after 900 bytes. Lost if there are very many at once. */
void fc_steward_log(struct fc_steward *s, int priority, const char *text);

#endif
