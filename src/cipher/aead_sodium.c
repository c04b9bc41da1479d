/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libsodium: the reference. AES-256-GCM only where the processor has AES. */
#include <string.h>

#include "cipher/aead_internal.h"
#include "util/le.h"

_Static_assert(crypto_aead_aes256gcm_KEYBYTES == FC_KEY_BYTES && crypto_aead_aes256gcm_ABYTES == FC_TAG_BYTES, "AES");
_Static_assert(crypto_aead_xchacha20poly1305_ietf_KEYBYTES == FC_KEY_BYTES &&
		       crypto_aead_xchacha20poly1305_ietf_ABYTES == FC_TAG_BYTES,
	       "XChaCha20-Poly1305");

static int gcm_usable(void)
{
	return crypto_aead_aes256gcm_is_available();
}

static int gcm_make(struct fc_aead *aead, const uint8_t key[FC_KEY_BYTES])
{
	return crypto_aead_aes256gcm_beforenm(&aead->gcm, key) ? FC_ENOTSUP : 0;
}

static void gcm_drop(struct fc_aead *aead)
{
	sodium_memzero(&aead->gcm, sizeof(aead->gcm));
}

static int gcm_seal(struct fc_aead *aead, uint64_t nonce, const void *ad, size_t ad_n, const void *in, size_t n,
		    void *out, uint8_t tag[FC_TAG_BYTES])
{
	uint8_t npub[crypto_aead_aes256gcm_NPUBBYTES] = { 0 };

	fc_put_u64(npub, nonce);
	crypto_aead_aes256gcm_encrypt_detached_afternm(out, tag, NULL, in, n, ad, ad_n, NULL, npub, &aead->gcm);
	return 0;
}

static int gcm_open(struct fc_aead *aead, uint64_t nonce, const void *ad, size_t ad_n, const void *in, size_t n,
		    void *out, const uint8_t tag[FC_TAG_BYTES])
{
	uint8_t npub[crypto_aead_aes256gcm_NPUBBYTES] = { 0 };

	fc_put_u64(npub, nonce);
	if (crypto_aead_aes256gcm_decrypt_detached_afternm(out, NULL, in, n, tag, ad, ad_n, npub, &aead->gcm))
		return FC_EFORGED;
	return 0;
}

static int xchacha_usable(void)
{
	return 1;
}

static int xchacha_make(struct fc_aead *aead, const uint8_t key[FC_KEY_BYTES])
{
	memcpy(aead->key, key, FC_KEY_BYTES);
	return 0;
}

static void xchacha_drop(struct fc_aead *aead)
{
	sodium_memzero(aead->key, sizeof(aead->key));
}

static int xchacha_seal(struct fc_aead *aead, uint64_t nonce, const void *ad, size_t ad_n, const void *in, size_t n,
			void *out, uint8_t tag[FC_TAG_BYTES])
{
	uint8_t npub[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES] = { 0 };

	fc_put_u64(npub, nonce);
	crypto_aead_xchacha20poly1305_ietf_encrypt_detached(out, tag, NULL, in, n, ad, ad_n, NULL, npub, aead->key);
	return 0;
}

static int xchacha_open(struct fc_aead *aead, uint64_t nonce, const void *ad, size_t ad_n, const void *in, size_t n,
			void *out, const uint8_t tag[FC_TAG_BYTES])
{
	uint8_t npub[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES] = { 0 };

	fc_put_u64(npub, nonce);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt_detached(out, NULL, in, n, tag, ad, ad_n, npub, aead->key))
		return FC_EFORGED;
	return 0;
}

const struct fc_provider fc_provider_sodium_aes256gcm = {
	.name = "libsodium",
	.cipher = FC_CIPHER_AES256GCM,
	.cipher_name = "aes-256-gcm",
	.usable = gcm_usable,
	.make = gcm_make,
	.drop = gcm_drop,
	.seal = gcm_seal,
	.open = gcm_open,
};

const struct fc_provider fc_provider_sodium_xchacha20 = {
	.name = "libsodium",
	.cipher = FC_CIPHER_XCHACHA20POLY1305,
	.cipher_name = "xchacha20-poly1305",
	.usable = xchacha_usable,
	.make = xchacha_make,
	.drop = xchacha_drop,
	.seal = xchacha_seal,
	.open = xchacha_open,
};
