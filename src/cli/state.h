/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The newest state of each container that this machine saw: a file of three
 * lines, named after the container's UUID, replaced by a rename.
 *
 *   fusecrypt-seen 1
 *   generation NUMBER
 *   tag 32 HEXADECIMAL DIGITS
 *
 * Its time of modification tells when that was. Lies in
 * ${XDG_STATE_HOME:-~/.local/state}/fusecrypt, or, for root, in /var/lib/fusecrypt: without HOME,
 * when it would be inside the mount itself, when the mount point belongs to somebody else, and
 * where there is one already.
 */
#ifndef FC_CLI_STATE_H
#define FC_CLI_STATE_H

#include <limits.h>
#include <stdint.h>

#include "fusecrypt/format.h"
#include "fusecrypt/error.h"

struct fc_seen {
	uint64_t generation;
	uint8_t tag[FC_TAG_BYTES];
	uint64_t when; /* seconds since 1970; set by reading */
};

/* Makes the directory and the path of the file (PATH_MAX bytes). 0, or
 * FC_ENOENT, FC_EACCESS, …: there is no place to keep it. */
int fc_state_path(const uint8_t uuid[FC_UUID_BYTES], const char *mountpoint, char *path);
/* 0; FC_ENOENT: nothing seen yet; FC_ECORRUPT: not such a file; FC_EIO. */
int fc_state_read(const char *path, struct fc_seen *seen);
/* 0 or FC_E*. */
int fc_state_write(const char *path, const struct fc_seen *seen);

#endif
