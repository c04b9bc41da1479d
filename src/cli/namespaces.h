/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other places that show the file system of a mount, and so keep it open when
 * the mount itself is gone.
 */
#ifndef FC_CLI_NAMESPACES_H
#define FC_CLI_NAMESPACES_H

#include "cli/mounts.h"

/* Another mount point of it in this namespace (a bind mount); NULL: none. */
const struct fc_mount *fc_namespaces_here(const struct fc_mounts *all, const struct fc_mount *m);

/* Mount namespaces of other processes have copies of all mounts that were there
 * when they were made. Those that unmounting m does not reach are unmounted,
 * plainly: nothing that is in use goes away. gone: m is unmounted already. 0 when
 * none is left; FC_EINUSE: one is in use or may not be unmounted by this user:
 * *pid is a process there, *point (malloc'ed) the mount point. */
int fc_namespaces_leave(const struct fc_mounts *all, const struct fc_mount *m, bool gone, pid_t *pid, char **point);

/* Does any mount namespace that can be looked into show a mount of ours of that container (an
 * absolute path)? */
bool fc_namespaces_show(const char *container);

#endif
