/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A key slot: the master key, wrapped under what a secret derives.
 *
 *   secret      passphrase: its bytes; key file: fc_keyfile_hash's 64 bytes;
 *               recovery code: fc_recovery_parse's 20 bytes; TPM: see tpm2_slot.h
 *   stretched   kdf 1: Argon2id13(secret, first 16 bytes of salt, ops, mem), 32 bytes
 *               kdf 0: BLAKE2b-256(key = "fusecrypt 1 slot secret", secret)
 *   wrapping    BLAKE2b-256(key = stretched, "fusecrypt 1 slot wrap" || salt)
 *   commitment  BLAKE2b-256(key = wrapping, "fusecrypt 1 slot commit")
 *   wrapped     XChaCha20-Poly1305(wrapping, random nonce, aad, master), tag last
 *   aad         u32 kind, kdf, ops, epoch, u64 mem, created, 32 bytes salt
 *
 * Strings are padded with zeros to 32 bytes. The commitment is compared before
 * the tag, since an AEAD's tag alone does not tie a ciphertext to one key.
 */
#ifndef FC_KEY_SLOT_H
#define FC_KEY_SLOT_H

#include "key/kdf.h"
#include "store/header.h"

#define FC_PASSPHRASE_MAX 4096u /* bytes */

/* Fills *slot (used, without label) for a new secret; salt and nonce are
 * drawn. created: seconds since 1970. 0, FC_ENOMEM, FC_ECORRUPT (cost). */
int fc_slot_seal(struct fc_slot *slot, uint32_t kind, const struct fc_kdf_cost *cost, uint32_t epoch, uint64_t created,
		 const void *secret, size_t n, const uint8_t master[FC_KEY_BYTES]);

/* Unwraps into master, which should lie in secret memory. Any slot is safe to
 * pass. 0; FC_EBADKEY: another secret's slot, or an altered one; FC_ECORRUPT:
 * cost out of bounds; FC_ENOMEM: the cost is more than this machine has. */
int fc_slot_open(const struct fc_slot *slot, const void *secret, size_t n, uint8_t master[FC_KEY_BYTES]);

/* Do both wrap the same key by the same secret, in the same bytes? (The label may
 * differ.) */
bool fc_slot_same(const struct fc_slot *a, const struct fc_slot *b);

struct fc_slot_found {
	unsigned slot;            /* its number */
	const struct fc_slot *at; /* in the headers that were passed */
	uint64_t sequence;        /* of the newest copy of the header that holds it and verifies */
};

/* Tries the slots of that kind in both copies, newest first. A key is believed
 * when the MAC of a copy that holds its slot verifies under it. 0 and *found
 * (may be NULL); FC_EBADKEY: none opens (or there is none of that kind);
 * FC_EFORGED: one opens, but the MAC of no copy that holds it verifies;
 * FC_ENOMEM, FC_ECORRUPT: no slot opened, and such a one could not be tried. */
int fc_slot_unlock(const struct fc_headers *headers, uint32_t kind, const void *secret, size_t n,
		   uint8_t master[FC_KEY_BYTES], struct fc_slot_found *found);

#endif
