/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libipsec-mb (amd64): AES-256-GCM by whatever vector units the processor has, with AVX-512
 * several times as fast as the others. Its key schedule lies in our own memory and is only read
 * after it was made; its manager is asked for the right functions alone, and holds no key.
 */
#include <intel-ipsec-mb.h>
#include <pthread.h>
#include <string.h>

#include "cipher/aead_internal.h"
#include "util/le.h"

#define GCM_NONCE_BYTES 12

_Static_assert(sizeof(struct gcm_key_data) <= FC_AEAD_MB_BYTES, "the key schedule");

/* Of the process, never freed; NULL: this processor has no instructions for AES. */
static IMB_MGR *manager;
static pthread_once_t looked = PTHREAD_ONCE_INIT;

static void look(void)
{
	const uint64_t needed = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;
	IMB_MGR *m = alloc_mb_mgr(0);

	if (!m)
		return;
	if ((m->features & needed) == needed && !(m->features & IMB_FEATURE_AESNI_EMU)) {
		init_mb_mgr_auto(m, NULL);
		if (!imb_get_errno(m) && m->gcm256_pre && m->gcm256_enc && m->gcm256_dec) {
			manager = m;
			return;
		}
	}
	free_mb_mgr(m);
}

static int usable(void)
{
	pthread_once(&looked, look);
	return manager != NULL;
}

static int make(struct fc_aead *aead, const uint8_t key[FC_KEY_BYTES])
{
	manager->gcm256_pre(key, (void *)aead->mb);
	return 0;
}

static void drop(struct fc_aead *aead)
{
	sodium_memzero(aead->mb, sizeof(aead->mb));
}

static int seal(struct fc_aead *aead, uint64_t nonce, const void *ad, size_t ad_n, const void *in, size_t n, void *out,
		uint8_t tag[FC_TAG_BYTES])
{
	uint8_t iv[GCM_NONCE_BYTES] = { 0 };
	struct gcm_context_data context;

	fc_put_u64(iv, nonce);
	manager->gcm256_enc((const void *)aead->mb, &context, out, in, n, iv, ad_n ? ad : iv, ad_n, tag, FC_TAG_BYTES);
	sodium_memzero(&context, sizeof(context));
	return 0;
}

static int open(struct fc_aead *aead, uint64_t nonce, const void *ad, size_t ad_n, const void *in, size_t n, void *out,
		const uint8_t tag[FC_TAG_BYTES])
{
	uint8_t iv[GCM_NONCE_BYTES] = { 0 }, expected[FC_TAG_BYTES];
	struct gcm_context_data context;

	fc_put_u64(iv, nonce);
	manager->gcm256_dec((const void *)aead->mb, &context, out, in, n, iv, ad_n ? ad : iv, ad_n, expected,
			    FC_TAG_BYTES);
	sodium_memzero(&context, sizeof(context));
	return sodium_memcmp(expected, tag, FC_TAG_BYTES) ? FC_EFORGED : 0;
}

const struct fc_provider fc_provider_ipsec_mb_aes256gcm = {
	.name = "libipsec-mb",
	.cipher = FC_CIPHER_AES256GCM,
	.cipher_name = "aes-256-gcm",
	.usable = usable,
	.make = make,
	.drop = drop,
	.seal = seal,
	.open = open,
};
