/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "cipher/aead_internal.h"
#include "config.h"
#include "secret/secret.h"

static const struct fc_provider *const rows[] = {
#ifdef FC_HAVE_IPSEC_MB
	&fc_provider_ipsec_mb_aes256gcm,
#endif
#ifdef FC_HAVE_LIBCRYPTO
	&fc_provider_libcrypto_aes256gcm,
#endif
	&fc_provider_sodium_aes256gcm,
	&fc_provider_sodium_xchacha20,
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Names are known also where no provider is built in, for messages. */
static const struct {
	uint32_t cipher;
	const char *name;
} names[] = {
	{ FC_CIPHER_XCHACHA20POLY1305, "xchacha20-poly1305" },
	{ FC_CIPHER_AES256GCM, "aes-256-gcm" },
};

const struct fc_provider *fc_provider_row(size_t i)
{
	return i < ROWS ? rows[i] : NULL;
}

const char *fc_cipher_name(uint32_t cipher)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].cipher == cipher)
			return names[i].name;
	return NULL;
}

uint32_t fc_cipher_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].name, name))
			return names[i].cipher;
	return 0;
}

int fc_aead_init(struct fc_aead *aead, const struct fc_provider *provider, const uint8_t key[FC_KEY_BYTES])
{
	if (!provider->usable())
		return FC_ENOTSUP;
	aead->provider = provider;
	return provider->make(aead, key);
}

void fc_aead_drop(struct fc_aead *aead)
{
	aead->provider->drop(aead);
}

int fc_aead_new(const struct fc_provider *provider, const uint8_t key[FC_KEY_BYTES], struct fc_aead **out)
{
	struct fc_aead *aead = fc_secret_alloc(sizeof(*aead));
	int rc;

	*out = NULL;
	if (!aead)
		return FC_ENOMEM;
	rc = fc_aead_init(aead, provider, key);
	if (rc)
		fc_secret_free(aead);
	else
		*out = aead;
	return rc;
}

void fc_aead_free(struct fc_aead *aead)
{
	if (!aead)
		return;
	fc_aead_drop(aead);
	fc_secret_free(aead);
}

/* The libraries want pointers that are not NULL, also to nothing. */
int fc_aead_seal(struct fc_aead *aead, uint64_t nonce, const void *ad, size_t ad_n, const void *in, size_t n, void *out,
		 uint8_t tag[FC_TAG_BYTES])
{
	uint8_t none = 0;

	return aead->provider->seal(aead, nonce, ad, ad_n, n ? in : &none, n, n ? out : &none, tag);
}

int fc_aead_open(struct fc_aead *aead, uint64_t nonce, const void *ad, size_t ad_n, const void *in, size_t n, void *out,
		 const uint8_t tag[FC_TAG_BYTES])
{
	uint8_t none = 0;
	int rc = aead->provider->open(aead, nonce, ad, ad_n, n ? in : &none, n, n ? out : &none, tag);

	if (rc && n)
		sodium_memzero(out, n);
	return rc;
}
