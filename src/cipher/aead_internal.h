/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of providers share. */
#ifndef FC_CIPHER_AEAD_INTERNAL_H
#define FC_CIPHER_AEAD_INTERNAL_H

#include <sodium.h>
#include <stdatomic.h>

#include "cipher/aead.h"
#include "config.h"

struct evp_cipher_st;
struct evp_cipher_ctx_st;

#define FC_AEAD_POOL 16u

/*
 * Lies in secret memory. libcrypto's own contexts do not (it has no way to say
 * where they go); it wipes them when they are freed.
 */
struct fc_aead {
	const struct fc_provider *provider;
	union {
		uint8_t key[FC_KEY_BYTES];       /* libsodium XChaCha20-Poly1305 */
		crypto_aead_aes256gcm_state gcm; /* libsodium AES-256-GCM */
#ifdef FC_HAVE_IPSEC_MB
		_Alignas(64) uint8_t mb[FC_IPSEC_MB_KEY_BYTES]; /* its struct gcm_key_data */
#endif
		struct {
			struct evp_cipher_st *cipher;
			/* Idle contexts, taken and given back whole; half a cache line
			 * each, so that threads rarely share one. */
			struct {
				_Atomic(struct evp_cipher_ctx_st *) ctx;
				uint8_t apart[24];
			} idle[FC_AEAD_POOL];
			uint8_t key[FC_KEY_BYTES];
		} evp;
	};
};

extern const struct fc_provider fc_provider_sodium_aes256gcm;
extern const struct fc_provider fc_provider_sodium_xchacha20;
extern const struct fc_provider fc_provider_ipsec_mb_aes256gcm;  /* with FC_HAVE_IPSEC_MB */
extern const struct fc_provider fc_provider_libcrypto_aes256gcm; /* with FC_HAVE_LIBCRYPTO */

/* As fc_aead_new and fc_aead_free in memory of the caller: secret, zeroed. */
int fc_aead_init(struct fc_aead *aead, const struct fc_provider *provider, const uint8_t key[FC_KEY_BYTES]);
void fc_aead_drop(struct fc_aead *aead);

#endif
