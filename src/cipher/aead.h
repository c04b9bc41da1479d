/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Providers: one row a (cipher, library). All rows of a cipher compute the
 * same bytes. A nonce is a 64-bit counter, stored little-endian in the first
 * 8 bytes of the cipher's nonce, the rest zero.
 */
#ifndef FC_CIPHER_AEAD_H
#define FC_CIPHER_AEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fusecrypt/error.h"
#include "fusecrypt/format.h"

struct fc_aead; /* a key, set up for one provider; may be used by any threads at once */

struct fc_provider {
	const char *name;        /* "libsodium", "libcrypto", "libipsec-mb" */
	uint32_t cipher;         /* FC_CIPHER_* */
	const char *cipher_name; /* as on the command line */
	int (*usable)(void);     /* non-zero where this machine can run it */
	int (*make)(struct fc_aead *aead, const uint8_t key[FC_KEY_BYTES]);
	void (*drop)(struct fc_aead *aead);
	/* in and out may be the same buffer; n may be 0; n and ad_n below 2^31 */
	int (*seal)(struct fc_aead *aead, uint64_t nonce, const void *ad, size_t ad_n, const void *in, size_t n,
		    void *out, uint8_t tag[FC_TAG_BYTES]);
	int (*open)(struct fc_aead *aead, uint64_t nonce, const void *ad, size_t ad_n, const void *in, size_t n,
		    void *out, const uint8_t tag[FC_TAG_BYTES]);
};

/* The fastest usable provider of a cipher, as measured once a process (some
 * milliseconds); NULL: none here. FC_CIPHER ids. */
const struct fc_provider *fc_provider_find(uint32_t cipher);
/* The i-th row of the table, NULL past its end: for tests and benchmarks. */
const struct fc_provider *fc_provider_row(size_t i);
/* What `--cipher auto` means here: AES-256-GCM where the processor has AES and that is
 * the faster one, else XChaCha20-Poly1305. */
uint32_t fc_cipher_auto(void);
/* Name on the command line <-> id; NULL or 0 when unknown. */
const char *fc_cipher_name(uint32_t cipher);
uint32_t fc_cipher_by_name(const char *name);

/* key is copied into secret memory. 0, FC_ENOMEM, FC_ENOTSUP. */
int fc_aead_new(const struct fc_provider *provider, const uint8_t key[FC_KEY_BYTES], struct fc_aead **out);
void fc_aead_free(struct fc_aead *aead); /* wipes; NULL allowed */
/* 0, FC_ENOMEM, FC_EINVAL (n or ad_n too large). */
int fc_aead_seal(struct fc_aead *aead, uint64_t nonce, const void *ad, size_t ad_n, const void *in, size_t n, void *out,
		 uint8_t tag[FC_TAG_BYTES]);
/* 0, FC_EFORGED, FC_ENOMEM, FC_EINVAL; out is zeroed when it fails. */
int fc_aead_open(struct fc_aead *aead, uint64_t nonce, const void *ad, size_t ad_n, const void *in, size_t n, void *out,
		 const uint8_t tag[FC_TAG_BYTES]);

#endif
