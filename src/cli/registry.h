/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protected directories of this user and of this machine: a file each, in
 * ${XDG_CONFIG_HOME:-~/.config}/fusecrypt (mode 0700), or, for what must be known
 * before a user's home is there, in /etc/fusecrypt (root's, readable for all). Nothing
 * is lost with it: the container alone opens anywhere.
 *
 *   fusecrypt-directory 1
 *   directory /srv/private
 *   container /srv/private.fusecrypt
 *   uuid 01234567-89ab-cdef-0123-456789abcdef
 *   options idle=10m,noatime
 *
 * The name ends with .dir; fusecrypt makes it of a hash of the directory, but any
 * will do. Each line once, in any order after the first; `options` (words of mount -o,
 * which may hold commas escaped as there) may be left out. Empty lines and those that
 * begin with # are passed over. In a value, `\n` is a newline and `\\` a backslash.
 * A file that is not owned by the user (in /etc: by root), or that others may write, is
 * not believed: its options could make the reader mount with `suid`.
 *
 * Writers replace files atomically; of two at the same time for one directory, one wins.
 */
#ifndef FC_CLI_REGISTRY_H
#define FC_CLI_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fusecrypt/error.h"
#include "fusecrypt/format.h"

struct fc_protected {
	char *directory; /* absolute, as of fc_path_resolve */
	char *container; /* absolute */
	uint8_t uuid[FC_UUID_BYTES];
	char *options;   /* for fc_mount_options_parse; "": none */
	bool of_machine; /* in /etc/fusecrypt */
	char *file;      /* where it is registered; set by reading */
};

struct fc_registry {
	struct fc_protected *list; /* the user's, then the machine's, each by directory */
	size_t count, room;
	size_t bad; /* files that were left out, having said which and why */
};

/* Reads both places; a place that does not exist is empty. 0 or FC_ENOMEM, FC_EIO,
 * FC_EACCESS. The caller frees with fc_registry_free, also on failure. */
int fc_registry_read(struct fc_registry *out);
void fc_registry_free(struct fc_registry *registry);

/* The entry of that directory (absolute, as of fc_path_resolve), the user's before the
 * machine's; NULL: none. It belongs to the registry. */
const struct fc_protected *fc_registry_find(const struct fc_registry *registry, const char *directory);

/* Registers, durably; replaces the entry of the same directory at the same place.
 * entry->file is not looked at. 0; FC_EINVAL: a path is not absolute; FC_ENOENT: this
 * user has no place for it; FC_EACCESS: of the machine, and not root; FC_ENOSPC, …. */
int fc_registry_add(const struct fc_protected *entry);
/* Takes one that was read out again, durably. 0 (also when it is gone already) or FC_E*. */
int fc_registry_remove(const struct fc_protected *entry);

/* Is that directory one whose entry must be of the machine, because the user's own place
 * is inside it, or because there is none? */
bool fc_registry_needs_machine(const char *directory);

#endif
