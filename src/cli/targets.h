/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The protected directories that a command is about, and what state they are in. */
#ifndef FC_CLI_TARGETS_H
#define FC_CLI_TARGETS_H

#include "cli/mounts.h"
#include "cli/registry.h"

enum fc_target_state {
	FC_TARGET_LOCKED,
	FC_TARGET_UNLOCKED,
	FC_TARGET_DEAD,            /* mounted, but its daemon ended */
	FC_TARGET_ELSEWHERE,       /* its container is mounted at another place */
	FC_TARGET_OTHER_MOUNT,     /* something else is mounted there */
	FC_TARGET_NO_DIRECTORY,    /* it is not there (any more) */
	FC_TARGET_NO_CONTAINER,    /* likewise */
	FC_TARGET_OTHER_CONTAINER, /* at the container's place lies something else */
};

/* As of this moment. *m: the mount at the directory, or of its container elsewhere;
 * NULL: none; it belongs to mounts. */
enum fc_target_state fc_target_state(const struct fc_protected *entry, const struct fc_mounts *mounts,
				     const struct fc_mount **m);
/* A word without blanks. */
const char *fc_target_word(enum fc_target_state state);

enum fc_which_targets {
	FC_TARGETS_NAMED, /* the directories args[0..n-1] */
	FC_TARGETS_ALL,   /* each that is registered, in the order of the registry */
	FC_TARGETS_OWN,   /* of all those, what the caller may unlock and lock: not the machine's, unless it is root */
};

/* Calls act for each of them; goes on after a failure, but not after an
 * interrupt. The first exit status that is not 0, of act or of what could not be found,
 * having said so. */
int fc_targets_each(enum fc_which_targets which, char **args, int n,
		    int (*act)(const struct fc_protected *entry, void *arg), void *arg);

#endif
