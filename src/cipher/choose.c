/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which provider, and which cipher for a new container: measured, since it depends on
 * processor and library version (AES-GCM: a factor of four between the libraries). The
 * fastest of a few rounds counts, so that other work on the machine hardly matters.
 */
#ifdef __aarch64__
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "cipher/aead_internal.h"
#include "secret/secret.h"

#define ROUNDS 5
#define UNITS 8 /* sealed in a round */
#define UNIT_BYTES 4096u
#define ROWS_MAX 8u

/* Of this machine: nanoseconds of a round; 0: not usable, or not measured. */
static uint64_t cost_ns[ROWS_MAX];
static pthread_once_t measured = PTHREAD_ONCE_INIT;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* 0: it failed. */
static uint64_t measure(const struct fc_provider *provider)
{
	static const uint8_t key[FC_KEY_BYTES], unit[UNIT_BYTES];
	uint8_t sealed[UNIT_BYTES], tag[FC_TAG_BYTES];
	uint64_t best = 0, start, took;
	struct fc_aead *aead;

	if (fc_aead_new(provider, key, &aead))
		return 0;
	for (int round = 0; round < ROUNDS; round++) {
		start = now_ns();
		for (uint64_t i = 0; i < UNITS; i++)
			if (fc_aead_seal(aead, i, NULL, 0, unit, sizeof(unit), sealed, tag)) {
				fc_aead_free(aead);
				return 0;
			}
		took = now_ns() - start + 1;
		if (!best || took < best)
			best = took;
	}
	fc_aead_free(aead);
	return best;
}

static void measure_all(void)
{
	const struct fc_provider *row;

	if (fc_secret_init()) /* libsodium knows the processor only then */
		return;
	for (size_t i = 0; i < ROWS_MAX && (row = fc_provider_row(i)); i++)
		if (row->usable())
			cost_ns[i] = measure(row);
}

/* *cost: of the provider that is returned; what could not be measured comes last. */
static const struct fc_provider *fastest(uint32_t cipher, uint64_t *cost)
{
	const struct fc_provider *best = NULL, *row;

	*cost = UINT64_MAX;
	pthread_once(&measured, measure_all);
	for (size_t i = 0; i < ROWS_MAX && (row = fc_provider_row(i)); i++) {
		uint64_t c = cost_ns[i] ? cost_ns[i] : UINT64_MAX;

		if (row->cipher == cipher && (c < *cost || !best) && row->usable()) {
			best = row;
			*cost = c;
		}
	}
	return best;
}

const struct fc_provider *fc_provider_find(uint32_t cipher)
{
	uint64_t cost;

	return fastest(cipher, &cost);
}

static bool hardware_aes(void)
{
#ifdef __aarch64__
	return (getauxval(AT_HWCAP) & HWCAP_AES) != 0;
#else
	return crypto_aead_aes256gcm_is_available();
#endif
}

uint32_t fc_cipher_auto(void)
{
	uint64_t aes, chacha;
	const struct fc_provider *provider = fastest(FC_CIPHER_AES256GCM, &aes);

	fastest(FC_CIPHER_XCHACHA20POLY1305, &chacha);
	/* In software, AES is slow or not constant in time. */
	return provider && hardware_aes() && aes <= chacha ? FC_CIPHER_AES256GCM : FC_CIPHER_XCHACHA20POLY1305;
}
