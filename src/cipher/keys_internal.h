/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What keys.c and salts.c share. */
#ifndef FC_CIPHER_KEYS_INTERNAL_H
#define FC_CIPHER_KEYS_INTERNAL_H

#include <sodium.h>

#include "cipher/keys.h"

#define FC_CONTEXT_BYTES 32u

/* The subkey for a purpose (at most 20 bytes of text); salt: FC_SALT_BYTES of a
 * session, or NULL. key lies in secret memory. */
void fc_keys_derive(const uint8_t master[FC_KEY_BYTES], const char *purpose, const uint8_t *salt,
		    uint8_t key[FC_KEY_BYTES]);

#endif
