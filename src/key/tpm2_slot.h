/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a slot of kind tpm2 holds beside the wrapped key: 32 random bytes, sealed by a
 * TPM 2.0 under its storage key (FC_T_* of format.h), and how a PIN is stretched.
 *
 *   pin keys    Argon2id13(PIN, first 16 bytes of salt, ops, mem), 32 bytes
 *   auth        BLAKE2b-256(key = pin keys, "fusecrypt 1 tpm2 auth"), what the TPM asks for
 *   addition    BLAKE2b-256(key = pin keys, "fusecrypt 1 tpm2 add"); zeros without a PIN
 *   secret      of the slot: the 32 sealed bytes, then the addition
 *
 * So the TPM limits how often a PIN can be guessed, and whoever breaks the TPM still
 * has to guess the PIN at Argon2id's cost.
 */
#ifndef FC_KEY_TPM2_SLOT_H
#define FC_KEY_TPM2_SLOT_H

#include "key/kdf.h"
#include "store/header.h"

#define FC_TPM2_SEALED_BYTES 32u
#define FC_TPM2_SECRET_BYTES 64u
#define FC_TPM2_BLOBS_MAX (FC_SLOT_EXTRA_MAX - FC_T_BLOBS)

struct fc_tpm2_slot {
	bool pin;
	struct fc_kdf_cost cost; /* of the PIN; FC_KDF_NONE without */
	uint8_t salt[FC_SALT_BYTES];
	size_t private_bytes, public_bytes; /* of the blobs, one after the other */
	uint8_t blobs[FC_TPM2_BLOBS_MAX];
};

/* Writes it to slot->extra. Both lengths together are at most FC_TPM2_BLOBS_MAX. */
void fc_tpm2_slot_encode(const struct fc_tpm2_slot *t, struct fc_slot *slot);
/* Any bytes are safe. 0, FC_ENEWER: of a later version, FC_ECORRUPT. */
int fc_tpm2_slot_decode(struct fc_tpm2_slot *t, const struct fc_slot *slot);

/* Has that container a slot that a TPM opens without asking for anything? Not if it cannot be read. */
bool fc_tpm2_unasked(const char *container);

/* 0 or as of fc_kdf_stretch. The outputs should lie in secret memory. */
int fc_tpm2_pin(const struct fc_tpm2_slot *t, const void *pin, size_t n, uint8_t auth[32], uint8_t addition[32]);

#endif
