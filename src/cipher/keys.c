/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "cipher/keys_internal.h"
#include "secret/secret.h"

#define PREFIX "fusecrypt 1 "

void fc_keys_derive(const uint8_t master[FC_KEY_BYTES], const char *purpose, const uint8_t *salt,
		    uint8_t key[FC_KEY_BYTES])
{
	uint8_t context[FC_CONTEXT_BYTES + FC_SALT_BYTES] = PREFIX;
	size_t n = FC_CONTEXT_BYTES;

	memcpy(context + strlen(PREFIX), purpose, strlen(purpose));
	if (salt) {
		memcpy(context + n, salt, FC_SALT_BYTES);
		n += FC_SALT_BYTES;
	}
	crypto_generichash(key, FC_KEY_BYTES, context, n, master, FC_KEY_BYTES);
}

struct fc_keys *fc_keys_new(const uint8_t master[FC_KEY_BYTES])
{
	struct fc_keys *keys = fc_secret_alloc(sizeof(*keys));

	if (!keys)
		return NULL;
	memcpy(keys->master, master, FC_KEY_BYTES);
	fc_keys_derive(keys->master, "header", NULL, keys->header);
	fc_keys_derive(keys->master, "root", NULL, keys->root);
	fc_keys_derive(keys->master, "salts", NULL, keys->salts);
	fc_keys_derive(keys->master, "names", NULL, keys->names);
	return keys;
}

void fc_keys_free(struct fc_keys *keys)
{
	fc_secret_free(keys);
}
