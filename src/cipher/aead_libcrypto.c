/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcrypto: AES-256-GCM. A context serves one call at a time, and making one
 * costs more than sealing a unit; so each key keeps idle contexts, which a call
 * takes out and puts back without a lock. A context keeps its key schedule;
 * only nonce and direction are set anew.
 */
#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>

#include "cipher/aead_internal.h"
#include "util/le.h"

#define GCM_NONCE_BYTES 12

static int usable(void)
{
	EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);

	EVP_CIPHER_free(cipher);
	return cipher != NULL;
}

static EVP_CIPHER_CTX *ctx_new(struct fc_aead *aead)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

	if (ctx && EVP_EncryptInit_ex2(ctx, aead->evp.cipher, aead->evp.key, NULL, NULL) != 1) {
		EVP_CIPHER_CTX_free(ctx);
		ctx = NULL;
	}
	return ctx;
}

/* Where a thread looks first. */
static unsigned home(void)
{
	return (unsigned)(((uint64_t)pthread_self() * UINT64_C(0x9e3779b97f4a7c15)) >> 60) % FC_AEAD_POOL;
}

/* *at: where to put it back. NULL: out of memory. */
static EVP_CIPHER_CTX *ctx_take(struct fc_aead *aead, unsigned *at)
{
	unsigned i;

	*at = home();
	for (i = 0; i < FC_AEAD_POOL; i++) {
		unsigned slot = (*at + i) % FC_AEAD_POOL;
		EVP_CIPHER_CTX *ctx = NULL;

		if (atomic_load_explicit(&aead->evp.idle[slot].ctx, memory_order_relaxed))
			ctx = atomic_exchange_explicit(&aead->evp.idle[slot].ctx, NULL, memory_order_acquire);
		if (ctx) {
			*at = slot;
			return ctx;
		}
	}
	return ctx_new(aead);
}

static void ctx_give(struct fc_aead *aead, EVP_CIPHER_CTX *ctx, unsigned at)
{
	unsigned i;

	for (i = 0; i < FC_AEAD_POOL; i++) {
		EVP_CIPHER_CTX *none = NULL;

		if (atomic_compare_exchange_strong_explicit(&aead->evp.idle[(at + i) % FC_AEAD_POOL].ctx, &none, ctx,
							    memory_order_release, memory_order_relaxed))
			return;
	}
	EVP_CIPHER_CTX_free(ctx);
}

static void drop(struct fc_aead *aead)
{
	unsigned i;

	for (i = 0; i < FC_AEAD_POOL; i++)
		EVP_CIPHER_CTX_free(atomic_exchange(&aead->evp.idle[i].ctx, NULL));
	EVP_CIPHER_free(aead->evp.cipher);
	sodium_memzero(&aead->evp, sizeof(aead->evp));
}

static int make(struct fc_aead *aead, const uint8_t key[FC_KEY_BYTES])
{
	EVP_CIPHER_CTX *ctx;

	memcpy(aead->evp.key, key, FC_KEY_BYTES);
	aead->evp.cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
	ctx = aead->evp.cipher ? ctx_new(aead) : NULL;
	if (!ctx) {
		drop(aead);
		return FC_ENOMEM;
	}
	ctx_give(aead, ctx, home());
	return 0;
}

static bool fits(size_t ad_n, size_t n)
{
	return ad_n <= INT_MAX && n <= INT_MAX;
}

static int seal(struct fc_aead *aead, uint64_t nonce, const void *ad, size_t ad_n, const void *in, size_t n, void *out,
		uint8_t tag[FC_TAG_BYTES])
{
	OSSL_PARAM params[2] = { OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag, FC_TAG_BYTES),
				 OSSL_PARAM_construct_end() };
	uint8_t iv[GCM_NONCE_BYTES] = { 0 }, rest[EVP_MAX_BLOCK_LENGTH];
	unsigned at;
	int len, ok;
	EVP_CIPHER_CTX *ctx;

	if (!fits(ad_n, n))
		return FC_EINVAL;
	ctx = ctx_take(aead, &at);
	if (!ctx)
		return FC_ENOMEM;
	fc_put_u64(iv, nonce);
	ok = EVP_EncryptInit_ex2(ctx, NULL, NULL, iv, NULL) == 1 &&
	     (!ad_n || EVP_EncryptUpdate(ctx, NULL, &len, ad, (int)ad_n) == 1) &&
	     (!n || EVP_EncryptUpdate(ctx, out, &len, in, (int)n) == 1) && EVP_EncryptFinal_ex(ctx, rest, &len) == 1 &&
	     EVP_CIPHER_CTX_get_params(ctx, params) == 1;
	ctx_give(aead, ctx, at);
	return ok ? 0 : FC_ENOMEM;
}

static int open(struct fc_aead *aead, uint64_t nonce, const void *ad, size_t ad_n, const void *in, size_t n, void *out,
		const uint8_t tag[FC_TAG_BYTES])
{
	uint8_t expected[FC_TAG_BYTES];
	OSSL_PARAM params[2] = { OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, expected, FC_TAG_BYTES),
				 OSSL_PARAM_construct_end() };
	uint8_t iv[GCM_NONCE_BYTES] = { 0 }, rest[EVP_MAX_BLOCK_LENGTH];
	unsigned at;
	int len, rc = 0;
	EVP_CIPHER_CTX *ctx;

	if (!fits(ad_n, n))
		return FC_EINVAL;
	ctx = ctx_take(aead, &at);
	if (!ctx)
		return FC_ENOMEM;
	fc_put_u64(iv, nonce);
	memcpy(expected, tag, FC_TAG_BYTES);
	if (EVP_DecryptInit_ex2(ctx, NULL, NULL, iv, params) != 1 ||
	    (ad_n && EVP_DecryptUpdate(ctx, NULL, &len, ad, (int)ad_n) != 1) ||
	    (n && EVP_DecryptUpdate(ctx, out, &len, in, (int)n) != 1))
		rc = FC_ENOMEM;
	else if (EVP_DecryptFinal_ex(ctx, rest, &len) != 1)
		rc = FC_EFORGED;
	ctx_give(aead, ctx, at);
	return rc;
}

const struct fc_provider fc_provider_libcrypto_aes256gcm = {
	.name = "libcrypto",
	.cipher = FC_CIPHER_AES256GCM,
	.cipher_name = "aes-256-gcm",
	.usable = usable,
	.make = make,
	.drop = drop,
	.seal = seal,
	.open = open,
};
