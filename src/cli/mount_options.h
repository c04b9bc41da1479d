/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of `-o`, the same in fstab. */
#ifndef FC_CLI_MOUNT_OPTIONS_H
#define FC_CLI_MOUNT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fusecrypt/error.h"

struct fc_mount_options {
	bool read_only, no_replay, allow_other, own_uid, own_gid;
	uint32_t uid, gid;
	unsigned commit_seconds, idle_seconds; /* 0: not given */
	uint64_t cache_bytes;                  /* 0: not given */
	char *passphrase_file, *key_file;      /* malloc'ed */
	char fuse[512];                        /* for the session: allow_other,nosuid,… */
};

/* Takes a comma-separated list, over what earlier lists said. In a value, `\,`
 * is a comma and `\\` a backslash. 0 or FC_EINVAL with a sentence in why. */
int fc_mount_options_parse(struct fc_mount_options *o, const char *text, char *why, size_t n);
/* The i-th word that has an effect, with its `=` if it takes a value; NULL past the end. */
const char *fc_mount_options_name(size_t i);
void fc_mount_options_free(struct fc_mount_options *o);

#endif
