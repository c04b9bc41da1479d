/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One writer (R7). The lock is an open-file-description lock on a byte far
 * beyond any content, exclusive for writing, shared for reading: it passes to
 * the daemon by fork and ends with it. Such a lock does not tell whose it is.
 * So the process that serves also takes a plain POSIX lock on the byte after
 * it, which tells its pid to anyone who may open the container; that one is
 * lost when the process closes any descriptor of the container.
 *
 * The header has a lock of its own, on the byte after these two, again of the open
 * file description: exclusive for the moment in which a key command reads and
 * writes it, whether or not the container is mounted; shared to read both copies
 * as of one time. Who holds it waits for nothing else but the lock above, which a
 * key command only tries.
 *
 * Two more bytes, shared by all who say the same, tell that a mount is ending: a daemon
 * holds one from the moment its mount is made until it ends, an unmounting command the
 * other one while it is at work. Who wants the lock then waits, and is not refused.
 */
#ifndef FC_CLI_LOCK_H
#define FC_CLI_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

#include "fusecrypt/error.h"

/* 0; FC_EINUSE; FC_ENOTSUP: the host knows no locks. */
int fc_lock_take(int fd, bool shared);
#define FC_LOCK_ENDING_SECONDS 60
/* The same, but waits up to FC_LOCK_ENDING_SECONDS for a daemon whose mount of that container
 * (an absolute path) is gone already, or is being unmounted: it commits what is left, and ends.
 * Says so when that takes longer than a moment. For who holds it in another way, 3 s; where it
 * is mounted and stays so, not at all. */
int fc_lock_take_soon(int fd, bool shared, const char *container);
/* This process serves a mount of it: as long as the description of fd is open. */
void fc_lock_serving(int fd);
/* A mount of it is being taken away, likewise. */
void fc_lock_leaving(int fd);
/* Before the lock is taken that way: waits, as long as fc_lock_take_soon does, while a mount is
 * being taken away. 0; FC_EINUSE: that goes on. */
int fc_lock_wait_leaving(int fd, bool shared, const char *container);
/* The same of a container that is not open and perhaps not locked, and with no word of the outcome. */
void fc_lock_wait_left(const char *container);
/* Tells others that this process holds it. */
void fc_lock_mark(int fd, bool shared);
/* Does another hold it in a way that an exclusive lock would conflict with? */
bool fc_lock_held(int fd);
/* Waits a few seconds. 0; FC_EINUSE: still held; FC_ENOTSUP. */
int fc_lock_header(int fd, bool shared);
void fc_unlock_header(int fd);
/* Gives back what fc_lock_take took. */
void fc_lock_drop(int fd);
/* Pid of a process that holds it; 0: cannot be found out. */
pid_t fc_lock_holder(int fd);

#endif
