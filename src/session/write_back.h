/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has the kernel write a mount's dirty pages, from a thread of its own.
 *
 * For the steward and not for the daemon: who waits for pages to be written cannot be
 * killed, and a daemon that cannot be killed does not let go of its device, which is what
 * would end the waiting.
 *
 * The mount is reached by a clone of it that is attached nowhere, and the thread has a table of
 * descriptors of its own: so the mount can be unmounted meanwhile, and nobody who looks for what
 * keeps it busy finds this. (The clone is made in some microseconds, in which it cannot.)
 * Only root may make one; without it nothing happens.
 */
#ifndef FC_SESSION_WRITE_BACK_H
#define FC_SESSION_WRITE_BACK_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/types.h>

struct fc_write_back {
	const char *mountpoint; /* the caller's, as long as the process lives */
	dev_t device;           /* of the mount */
	sem_t wanted;
	pthread_mutex_t cloning; /* held while the clone is made: an unmount would be refused */
	bool started;            /* the thread, which ends with the process */
};

void fc_write_back_init(struct fc_write_back *w, const char *mountpoint);
/* All that is dirty now is written soon; never waits. device is set. One thread at a time. */
void fc_write_back_want(struct fc_write_back *w);

#endif
