/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is mounted where, as the kernel tells it; and asking mounts of ours. */
#ifndef FC_CLI_MOUNTS_H
#define FC_CLI_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "session/session.h"

#define FC_FSTYPE "fuse.fusecrypt"

struct fc_mount {
	unsigned id, parent;
	dev_t dev;
	unsigned shared, master; /* peer groups, 0 none */
	uid_t owner;             /* of a FUSE mount: user_id= */
	gid_t group;
	bool allow_other;            /* of a FUSE mount */
	bool whole;                  /* its root directory is the file system's: no bind mount of a part */
	char *point, *type, *source; /* unescaped */
};

struct fc_mounts {
	struct fc_mount *list; /* in the kernel's order: a later one covers an earlier one */
	size_t count;
};

/* Reads a mountinfo file; the caller frees with fc_mounts_free also on failure.
 * 0, FC_ENOMEM, FC_EIO. Lines that make no sense are left out. */
int fc_mounts_read(const char *path, struct fc_mounts *out);
void fc_mounts_free(struct fc_mounts *m);

/* The topmost mount at that very path (as of fc_path_resolve); NULL: none. */
const struct fc_mount *fc_mounts_at(const struct fc_mounts *m, const char *point);
/* A mount of ours of that container (absolute path, or another name of the same file); NULL: none.
 * Where the same is mounted at several places, the first of these. */
const struct fc_mount *fc_mounts_of(const struct fc_mounts *m, const char *container);
bool fc_mount_is_ours(const struct fc_mount *m);

/* Absolute path without symbolic links, malloc'ed; also when the last component
 * is a mount whose daemon died. NULL with errno. */
char *fc_path_resolve(const char *path);
/* Is inner outer, or below it, by name or through a bind mount? */
bool fc_path_is_below(const char *inner, const char *outer);

/* ioctl on a mount of ours, as its owner where root is not let in. 0 or an
 * errno. FC_IOC_STATUS fills *status; else status is NULL. */
int fc_mount_ask(const struct fc_mount *m, unsigned long request, struct fc_ioc_status *status);
/* Any ioctl of session.h, which fills in arg, of that size (up to that of a status). */
int fc_mount_command(const struct fc_mount *m, unsigned long request, void *arg, size_t bytes);
/* Is it one of ours whose daemon died? (stat does not tell: it may be cached.) */
bool fc_mount_is_dead(const struct fc_mount *m);

/* fusermount3 -u [-z]. 0; EBUSY; else an errno, and what it said in text. */
int fc_fusermount(const char *point, bool lazy, char *text, size_t n);
/* Unmounts: by umount2 where that is permitted, else by fusermount3. 0 or an
 * errno, text as above. */
int fc_unmount(const char *point, char *text, size_t n);
/* Takes away the mount of a daemon that died. 0 or an errno. */
int fc_unmount_dead(const char *point, char *text, size_t n);

#endif
