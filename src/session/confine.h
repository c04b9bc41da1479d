/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A daemon that serves needs what it has open, and little else. This takes the
 * rest away, for good: if hostile content of a container should ever take it
 * over, it can neither read or change other files, nor execute programs, make
 * processes or sockets, trace or signal others.
 */
#ifndef FC_SESSION_CONFINE_H
#define FC_SESSION_CONFINE_H

#define FC_CONFINED_FILES 1 /* Landlock: files can be opened below the directory only, to write */
#define FC_CONFINED_CALLS 2 /* seccomp: system calls are those of a list */

/* Confines the calling process, which must have one thread; threads started
 * later are confined with it. Below writable (NULL: nowhere) regular files may be
 * made, written, renamed and removed. What the kernel or the build does not
 * offer is left out. Returns which of FC_CONFINED_* hold, or a negative errno:
 * not even the first step (no new privileges) can be done. */
int fc_confine(const char *writable);

#endif
