/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The header in memory. Both copies hold the same but for their own offset
 * (and so for MAC and sum). Pure encode/decode, then load and store on an io.
 */
#ifndef FC_STORE_HEADER_H
#define FC_STORE_HEADER_H

#include "fusecrypt/format.h"
#include "store/io.h"

#define FC_INCOMPAT_KNOWN FC_INCOMPAT_REKEYED
#define FC_RO_COMPAT_KNOWN UINT64_C(0) /* others: read-only, the caller's business */

/* Where the data starts behind a log of that size: bytes. */
static inline uint64_t fc_header_data_offset(uint64_t log_bytes)
{
	return (FC_LOG_OFFSET + log_bytes + FC_CHUNK_BYTES - 1) / FC_CHUNK_BYTES * FC_CHUNK_BYTES;
}

struct fc_slot {
	bool used;
	uint32_t kind, kdf, ops, epoch;
	uint64_t created, mem;
	uint8_t salt[FC_SALT_BYTES];
	uint8_t nonce[24];
	uint8_t wrapped[FC_KEY_BYTES + FC_TAG_BYTES];
	uint8_t commitment[32];
	char label[FC_LABEL_BYTES + 1]; /* UTF-8, NUL-terminated */
	uint32_t extra_bytes;
	uint8_t extra[FC_SLOT_EXTRA_MAX];
};

struct fc_header {
	uint32_t version, cipher, key_epoch;
	uint64_t sequence, compat, incompat, ro_compat;
	uint8_t uuid[FC_UUID_BYTES];
	uint64_t log_offset, log_bytes, data_offset, created;
	bool rekeying; /* the next two are set: the master key before this one is still needed */
	uint8_t old_nonce[FC_OLD_NONCE_BYTES], old_key[FC_OLD_KEY_BYTES];
	struct fc_slot slots[FC_SLOTS];
};

/* Encodes one copy; mac_key (32 bytes, see fc_keys) seals it. raw: FC_HEADER_BYTES.
 * Every slot's extra_bytes is at most FC_SLOT_EXTRA_MAX. */
void fc_header_encode(const struct fc_header *h, uint64_t own_offset, const uint8_t mac_key[FC_KEY_BYTES],
		      uint8_t *raw);

/* Decodes and checks magic, version, sizes, offset, sum and every field's
 * bounds; not the MAC, which needs a key. A slot of unknown kind or KDF decodes;
 * labels are bytes that anyone may have written. 0, FC_ENOTCONTAINER (no
 * magic), FC_ENEWER, FC_ECORRUPT (sum or bounds). Pure; any input is safe. */
int fc_header_decode(struct fc_header *h, uint64_t own_offset, const uint8_t *raw);

/* 0 or FC_EFORGED. Constant time. */
int fc_header_verify(const uint8_t *raw, const uint8_t mac_key[FC_KEY_BYTES]);

struct fc_headers {
	uint8_t raw[2][FC_HEADER_BYTES];
	struct fc_header copy[2];
	int status[2]; /* of decoding each copy */
	int newest;    /* index of the best copy that decodes, by sequence; -1 none */
};

/* Reads both copies. 0 when at least one decodes; else the more telling of
 * both errors: NEWER before CORRUPT before EIO before NOTCONTAINER. */
int fc_headers_load(struct fc_io *io, struct fc_headers *out);

/* The newest copy that decodes and verifies: its index; FC_EFORGED: none does. */
int fc_headers_verified(const struct fc_headers *h, const uint8_t mac_key[FC_KEY_BYTES]);

/* The highest sequence that a copy claims to have: a hint, nothing of it is
 * checked. 0 where neither can be read. Cheap. */
uint64_t fc_headers_peek(struct fc_io *io);

/* Syncs, writes copy A, syncs, writes copy B, syncs: the copy that stays meanwhile may be
 * of someone who was stopped before a sync. h->sequence is written as it is. */
int fc_header_store(struct fc_io *io, const struct fc_header *h, const uint8_t mac_key[FC_KEY_BYTES]);
/* The same, copy `last` (0 or 1) after the other one: to be the only good copy, so
 * that a torn write leaves one. */
int fc_header_replace(struct fc_io *io, const struct fc_header *h, const uint8_t mac_key[FC_KEY_BYTES], int last);

#endif
