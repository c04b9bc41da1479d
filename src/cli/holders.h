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

/* The same of a directory, with what is below it: by the paths that the kernel shows. */
size_t fc_holders_find_below(const char *directory, struct fc_holder *out, size_t room);
/* `cat (pid 3, open file), sh (pid 4, working directory)`; room bytes. */
void fc_holders_text(const struct fc_holder *holders, size_t n, char *text, size_t room);

/* Calls visit with the directory in /proc of each other process until it returns true. */
void fc_holders_each(bool (*visit)(void *arg, pid_t pid, int dir), void *arg);

#endif
