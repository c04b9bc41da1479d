/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A locked directory shows that it is locked: it holds FC_MARKER_NAME (mount.h) and
 * nothing else, which says how to unlock, and is not writable (mode 0500), so that no
 * program writes plaintext there by mistake. Where root is to be kept out too, it is
 * immutable, on hosts that know that.
 *
 * The directory stays like that while a container is mounted over it: then it is hidden,
 * and locked again whichever way the mount ends.
 */
#ifndef FC_CLI_LOCKED_H
#define FC_CLI_LOCKED_H

#include <stdbool.h>

#include "fusecrypt/error.h"

/* Makes an empty directory, or one that has only the marker, a locked one; durably.
 * Nothing is mounted there. Its owner and group stay (the marker gets them too), its
 * times do not. Immutable when the caller is root and `fixed` is set or root owns it:
 * another owner's could not be unlocked by that owner. A host without that flag is no
 * error. 0; FC_ENOTEMPTY: something else is in it, nothing is changed; FC_ENOTDIR (also a
 * symbolic link); FC_EPERM: not its owner; FC_ENOSPC, …: whatever was done is harmless. */
int fc_locked_mark(const char *directory, const char *container, bool fixed);
/* Takes flag and marker away again and leaves an empty directory of mode 0700, as far as
 * nothing else is in it. 0, also if it was not marked; FC_EPERM (immutable, and not root),
 * FC_ENOTDIR, …. */
int fc_locked_unmark(const char *directory);
/* Is the marker there? Nothing is mounted there. */
bool fc_locked_is_marked(const char *directory);
/* Is that entry of directory `dir`, a descriptor, the marker? */
bool fc_locked_is_marker(int dir, const char *name);
/* Is it immutable? */
bool fc_locked_is_fixed(const char *directory);

/* fusermount3 wants a writable mount point: makes a marked one of the caller's so, for
 * the moment of mounting. Returns a descriptor for fc_locked_close, -1: nothing to do
 * (for root there never is) or nothing that could be done. */
int fc_locked_open(const char *directory);
/* Takes that back, whatever is mounted over it now. -1 is no descriptor. */
void fc_locked_close(int fd);

#endif
