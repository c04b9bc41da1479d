/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "cipher/keys_internal.h"
#include "secret/secret.h"
#include "util/le.h"

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
	keys->old = NULL;
	memcpy(keys->master, master, FC_KEY_BYTES);
	fc_keys_derive(keys->master, "header", NULL, keys->header);
	fc_keys_derive(keys->master, "root", NULL, keys->root);
	fc_keys_derive(keys->master, "salts", NULL, keys->salts);
	fc_keys_derive(keys->master, "names", NULL, keys->names);
	return keys;
}

void fc_keys_free(struct fc_keys *keys)
{
	if (keys)
		fc_secret_free(keys->old);
	fc_secret_free(keys);
}

/* ---- the master key before this one ----------------------------------------- */

#define OLD_AD_BYTES (FC_UUID_BYTES + 4u)

static void old_ad(const struct fc_header *h, uint8_t ad[OLD_AD_BYTES])
{
	memcpy(ad, h->uuid, FC_UUID_BYTES);
	fc_put_u32(ad + FC_UUID_BYTES, h->key_epoch);
}

int fc_keys_seal_old(const struct fc_keys *keys, const uint8_t old[FC_KEY_BYTES], struct fc_header *h)
{
	uint8_t *key = fc_secret_alloc(FC_KEY_BYTES), ad[OLD_AD_BYTES];

	if (!key)
		return FC_ENOMEM;
	fc_keys_derive(keys->master, "old", NULL, key);
	old_ad(h, ad);
	randombytes_buf(h->old_nonce, sizeof(h->old_nonce));
	crypto_aead_xchacha20poly1305_ietf_encrypt(h->old_key, NULL, old, FC_KEY_BYTES, ad, sizeof(ad), NULL,
						   h->old_nonce, key);
	fc_secret_free(key);
	h->rekeying = true;
	h->incompat |= FC_INCOMPAT_REKEYED;
	return 0;
}

int fc_keys_open_old(struct fc_keys *keys, const struct fc_header *h)
{
	uint8_t *key, ad[OLD_AD_BYTES];
	int rc = 0;

	if (!h->rekeying || keys->old)
		return 0;
	key = fc_secret_alloc((size_t)2 * FC_KEY_BYTES);
	if (!key)
		return FC_ENOMEM;
	fc_keys_derive(keys->master, "old", NULL, key);
	old_ad(h, ad);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(key + FC_KEY_BYTES, NULL, NULL, h->old_key, sizeof(h->old_key),
						       ad, sizeof(ad), h->old_nonce, key))
		rc = FC_EFORGED;
	if (!rc) {
		keys->old = fc_keys_new(key + FC_KEY_BYTES);
		rc = keys->old ? 0 : FC_ENOMEM;
	}
	fc_secret_free(key);
	return rc;
}

int fc_keys_seal_next(const struct fc_keys *keys, const uint8_t next[FC_KEY_BYTES], uint8_t sealed[FC_NEXT_KEY_BYTES])
{
	uint8_t *key = fc_secret_alloc(FC_KEY_BYTES);

	if (!key)
		return FC_ENOMEM;
	fc_keys_derive(keys->master, "next", NULL, key);
	randombytes_buf(sealed, FC_OLD_NONCE_BYTES);
	crypto_aead_xchacha20poly1305_ietf_encrypt(sealed + FC_OLD_NONCE_BYTES, NULL, next, FC_KEY_BYTES, NULL, 0, NULL,
						   sealed, key);
	fc_secret_free(key);
	return 0;
}

int fc_keys_open_next(const struct fc_keys *keys, const uint8_t sealed[FC_NEXT_KEY_BYTES], uint8_t next[FC_KEY_BYTES])
{
	uint8_t *key = fc_secret_alloc(FC_KEY_BYTES);
	int rc = 0;

	if (!key)
		return FC_ENOMEM;
	fc_keys_derive(keys->master, "next", NULL, key);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(next, NULL, NULL, sealed + FC_OLD_NONCE_BYTES, FC_OLD_KEY_BYTES,
						       NULL, 0, sealed, key))
		rc = FC_EFORGED;
	fc_secret_free(key);
	return rc;
}
