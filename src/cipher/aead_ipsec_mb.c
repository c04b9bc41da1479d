/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libipsec-mb (amd64): AES-256-GCM by whatever vector units the processor has, with AVX-512
 * several times as fast as the others. Its key schedule lies in our own memory and is only read
 * after it was made; its manager is asked for the right functions alone, and holds no key.
 */
#include <intel-ipsec-mb.h>
#include <pthread.h>

#include "cipher/aead_internal.h"
#include "util/le.h"

#define GCM_NONCE_BYTES 12

_Static_assert(sizeof(struct gcm_key_data) == FC_IPSEC_MB_KEY_BYTES, "the key schedule");

/* Of the process, never freed; NULL: not usable here. */
static IMB_MGR *manager;
static pthread_once_t looked = PTHREAD_ONCE_INIT;

/* 1.4 writes a larger key schedule than 1.3, under the same soname. */
static bool same_version(void)
{
	return imb_get_version() >> 8 == IMB_VERSION_NUM >> 8;
}

/* The library asks the processor what it has, and not whether the system has enabled it. */
static bool enabled(uint64_t features)
{
	return !(features & IMB_FEATURE_AVX && !__builtin_cpu_supports("avx")) &&
	       !(features & IMB_FEATURE_AVX2 && !__builtin_cpu_supports("avx2")) &&
	       !(features & IMB_FEATURE_AVX512F && !__builtin_cpu_supports("avx512f"));
}

/* AES in software, which some builds of the library fall back to, is not constant in time. */
static bool has_aes(uint64_t features)
{
	const uint64_t needed = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;

#ifdef IMB_FEATURE_AESNI_EMU
	if (features & IMB_FEATURE_AESNI_EMU)
		return false;
#endif
	return (features & needed) == needed;
}

static void look(void)
{
	IMB_MGR *m = same_version() ? alloc_mb_mgr(0) : NULL;

	if (!m)
		return;
	if (has_aes(m->features) && enabled(m->features)) {
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
