/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guess costs. Costs come from a header that anyone may have edited, so
 * they are checked before memory is asked for (R9).
 */
#ifndef FC_KEY_KDF_H
#define FC_KEY_KDF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fusecrypt/error.h"
#include "fusecrypt/format.h"

#define FC_KDF_SALT_BYTES 16u /* of the slot's salt, its first bytes */
#define FC_KDF_MEM_MIN (8u << 10)
#define FC_KDF_MEM_MAX (4ull << 30)
#define FC_KDF_WORK_MAX (64ull << 30) /* passes times bytes: about a minute */
#define FC_KDF_TARGET_MS 1000u

struct fc_kdf_cost {
	uint32_t kdf; /* FC_KDF_* */
	uint32_t ops; /* Argon2id passes; 0 for FC_KDF_NONE */
	uint64_t mem; /* bytes; 0 for FC_KDF_NONE */
};

/* 0, or FC_ECORRUPT for a cost that no program of ours writes. Pure. */
int fc_kdf_check(const struct fc_kdf_cost *cost);

/* The cost of `interactive`, `moderate` or `sensitive`; `auto` measures (see
 * fc_kdf_tune). 0, FC_EINVAL for another name, FC_ENOMEM. */
int fc_kdf_named(const char *name, struct fc_kdf_cost *cost);
/* Is it one of the four? */
bool fc_kdf_is_name(const char *name);

/* Finds the cost that takes about target_ms here with at most half of
 * `available` bytes, and at most 1 GiB, so that smaller machines can open it
 * too. Never less than 3 passes. 0 or FC_ENOMEM. */
int fc_kdf_tune(struct fc_kdf_cost *cost, uint64_t available, unsigned target_ms);

/* Bytes that could be allocated now, swap included: the machine's and, where
 * there is one, the control group's limit. */
uint64_t fc_kdf_available(void);

/* Stretches n bytes of secret to 32; 0 or more bytes. FC_KDF_NONE is a keyed
 * BLAKE2b. 0, FC_ECORRUPT (cost), FC_ENOMEM (the cost is more than is
 * available). */
int fc_kdf_stretch(const struct fc_kdf_cost *cost, const void *secret, size_t n, const uint8_t salt[FC_SALT_BYTES],
		   uint8_t out[FC_KEY_BYTES]);

#endif
