/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who keeps a mount busy. */
#ifndef FC_CLI_HOLDERS_H
#define FC_CLI_HOLDERS_H

#include "cli/mounts.h"

struct fc_holder {
	pid_t pid;
	const char *how; /* "has its working directory in it", … */
	char name[32];   /* of the program, made printable */
};

/* Up to room processes, as far as this user may see them; the number found.
 * The caller is left out. */
size_t fc_holders_find(dev_t dev, struct fc_holder *out, size_t room);

/* A place that keeps the file system of mount m alive when m is gone: another
 * mount point here, or in another mount namespace that does not follow
 * (*pid != 0: of one process there). malloc'ed; NULL: none. */
char *fc_holders_elsewhere(const struct fc_mounts *all, const struct fc_mount *m, pid_t *pid);

#endif
