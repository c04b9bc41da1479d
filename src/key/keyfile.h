/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Key files: any regular file, taken whole. */
#ifndef FC_KEY_KEYFILE_H
#define FC_KEY_KEYFILE_H

#include <stddef.h>
#include <stdint.h>

#include "fusecrypt/error.h"

#define FC_KEYFILE_MAX (16u << 20) /* bytes */
#define FC_KEYFILE_SHORT 64u       /* below, it may be something that can be guessed: stretch it */
#define FC_KEYFILE_HASH_BYTES 64u

/* BLAKE2b-512 of the file's content, keyed with "fusecrypt 1 key file" padded
 * to 32 bytes. *bytes is the file's size. 0; FC_ENOENT, FC_EACCESS, FC_EISDIR;
 * FC_EINVAL: a pipe, socket or device; FC_ENODATA: empty; FC_EFBIG: longer than
 * FC_KEYFILE_MAX; FC_EIO, FC_ENOMEM. */
int fc_keyfile_hash(const char *path, uint8_t hash[FC_KEYFILE_HASH_BYTES], size_t *bytes);

/* What to tell the user of such an error. Static storage. */
const char *fc_keyfile_error(int error);

#endif
