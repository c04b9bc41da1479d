/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sodium.h>
#include <string.h>
#include <xxhash.h>

#include "store/header.h"
#include "util/le.h"

#define MAC_BYTES 32u
#define SUM_BYTES 8u

static const uint64_t copy_offset[2] = { FC_HEADER_A, FC_HEADER_B };

/* ---- slots --------------------------------------------------------------- */

static void slot_encode(const struct fc_slot *s, uint8_t *raw)
{
	if (!s->used)
		return;
	fc_put_u32(raw + FC_S_STATE, 1);
	fc_put_u32(raw + FC_S_KIND, s->kind);
	fc_put_u64(raw + FC_S_CREATED, s->created);
	fc_put_u32(raw + FC_S_KDF, s->kdf);
	fc_put_u32(raw + FC_S_OPS, s->ops);
	fc_put_u64(raw + FC_S_MEM, s->mem);
	memcpy(raw + FC_S_SALT, s->salt, sizeof(s->salt));
	memcpy(raw + FC_S_NONCE, s->nonce, sizeof(s->nonce));
	memcpy(raw + FC_S_WRAPPED, s->wrapped, sizeof(s->wrapped));
	memcpy(raw + FC_S_COMMITMENT, s->commitment, sizeof(s->commitment));
	fc_put_u32(raw + FC_S_EPOCH, s->epoch);
	memcpy(raw + FC_S_LABEL, s->label, strnlen(s->label, FC_LABEL_BYTES));
	fc_put_u32(raw + FC_S_EXTRA_BYTES, s->extra_bytes);
	memcpy(raw + FC_S_EXTRA, s->extra, s->extra_bytes);
}

/* Kinds and KDFs that are not known here are kept as they are: such a slot is
 * there, and key/ says that it cannot use it. */
static int slot_decode(struct fc_slot *s, const uint8_t *raw)
{
	uint32_t state = fc_get_u32(raw + FC_S_STATE);
	size_t label;

	if (state > 1)
		return FC_ECORRUPT;
	if (!state)
		return 0;
	s->used = true;
	s->kind = fc_get_u32(raw + FC_S_KIND);
	s->created = fc_get_u64(raw + FC_S_CREATED);
	s->kdf = fc_get_u32(raw + FC_S_KDF);
	s->ops = fc_get_u32(raw + FC_S_OPS);
	s->mem = fc_get_u64(raw + FC_S_MEM);
	memcpy(s->salt, raw + FC_S_SALT, sizeof(s->salt));
	memcpy(s->nonce, raw + FC_S_NONCE, sizeof(s->nonce));
	memcpy(s->wrapped, raw + FC_S_WRAPPED, sizeof(s->wrapped));
	memcpy(s->commitment, raw + FC_S_COMMITMENT, sizeof(s->commitment));
	s->epoch = fc_get_u32(raw + FC_S_EPOCH);
	memcpy(s->label, raw + FC_S_LABEL, FC_LABEL_BYTES);
	label = strnlen(s->label, FC_LABEL_BYTES);
	if (!sodium_is_zero(raw + FC_S_LABEL + label, FC_LABEL_BYTES - label))
		return FC_ECORRUPT;
	s->extra_bytes = fc_get_u32(raw + FC_S_EXTRA_BYTES);
	if (s->extra_bytes > FC_SLOT_EXTRA_MAX)
		return FC_ECORRUPT;
	memcpy(s->extra, raw + FC_S_EXTRA, s->extra_bytes);
	return 0;
}

/* ---- MAC and sum ---------------------------------------------------------- */

/* Over all, with MAC and sum as zero. */
static void mac_of(const uint8_t *raw, const uint8_t key[FC_KEY_BYTES], uint8_t mac[MAC_BYTES])
{
	static const uint8_t zeros[MAC_BYTES];
	crypto_generichash_state st;

	crypto_generichash_init(&st, key, FC_KEY_BYTES, MAC_BYTES);
	crypto_generichash_update(&st, raw, FC_H_MAC);
	crypto_generichash_update(&st, zeros, MAC_BYTES);
	crypto_generichash_update(&st, raw + FC_H_MAC + MAC_BYTES, FC_H_SUM - FC_H_MAC - MAC_BYTES);
	crypto_generichash_update(&st, zeros, SUM_BYTES);
	crypto_generichash_update(&st, raw + FC_H_SUM + SUM_BYTES, FC_HEADER_BYTES - FC_H_SUM - SUM_BYTES);
	crypto_generichash_final(&st, mac, MAC_BYTES);
	sodium_memzero(&st, sizeof(st));
}

/* Over all, with the sum as zero. */
static uint64_t sum_of(const uint8_t *raw)
{
	uint8_t copy[FC_HEADER_BYTES];

	memcpy(copy, raw, sizeof(copy));
	memset(copy + FC_H_SUM, 0, SUM_BYTES);
	return XXH3_64bits(copy, sizeof(copy));
}

int fc_header_verify(const uint8_t *raw, const uint8_t mac_key[FC_KEY_BYTES])
{
	uint8_t mac[MAC_BYTES];

	mac_of(raw, mac_key, mac);
	return sodium_memcmp(mac, raw + FC_H_MAC, MAC_BYTES) ? FC_EFORGED : 0;
}

/* ---- header --------------------------------------------------------------- */

void fc_header_encode(const struct fc_header *h, uint64_t own_offset, const uint8_t mac_key[FC_KEY_BYTES], uint8_t *raw)
{
	uint8_t mac[MAC_BYTES];
	unsigned i;

	memset(raw, 0, FC_HEADER_BYTES);
	memcpy(raw + FC_H_MAGIC, FC_MAGIC, FC_MAGIC_BYTES);
	fc_put_u32(raw + FC_H_VERSION, h->version);
	fc_put_u32(raw + FC_H_BYTES, FC_HEADER_BYTES);
	fc_put_u64(raw + FC_H_OFFSET, own_offset);
	fc_put_u64(raw + FC_H_SEQUENCE, h->sequence);
	fc_put_u64(raw + FC_H_COMPAT, h->compat);
	fc_put_u64(raw + FC_H_INCOMPAT, h->incompat);
	fc_put_u64(raw + FC_H_RO_COMPAT, h->ro_compat);
	memcpy(raw + FC_H_UUID, h->uuid, FC_UUID_BYTES);
	fc_put_u32(raw + FC_H_CIPHER, h->cipher);
	fc_put_u32(raw + FC_H_UNIT_BYTES, FC_UNIT);
	fc_put_u32(raw + FC_H_NODE_BYTES, FC_NODE_BYTES);
	fc_put_u32(raw + FC_H_KEY_EPOCH, h->key_epoch);
	fc_put_u64(raw + FC_H_LOG_OFFSET, h->log_offset);
	fc_put_u64(raw + FC_H_LOG_BYTES, h->log_bytes);
	fc_put_u64(raw + FC_H_DATA_OFFSET, h->data_offset);
	fc_put_u64(raw + FC_H_CREATED, h->created);
	if (h->rekeying) {
		memcpy(raw + FC_H_OLD_NONCE, h->old_nonce, sizeof(h->old_nonce));
		memcpy(raw + FC_H_OLD_KEY, h->old_key, sizeof(h->old_key));
	}
	for (i = 0; i < FC_SLOTS; i++)
		slot_encode(&h->slots[i], raw + FC_HEADER_FIXED + i * FC_SLOT_BYTES);
	mac_of(raw, mac_key, mac);
	memcpy(raw + FC_H_MAC, mac, MAC_BYTES);
	fc_put_u64(raw + FC_H_SUM, sum_of(raw));
}

/* Whether these bytes are this copy of a header of this version, whole. */
static int check_frame(const uint8_t *raw, uint64_t own_offset)
{
	if (memcmp(raw + FC_H_MAGIC, FC_MAGIC, FC_MAGIC_BYTES))
		return FC_ENOTCONTAINER;
	if (fc_get_u32(raw + FC_H_VERSION) > FC_FORMAT_VERSION)
		return FC_ENEWER;
	if (fc_get_u32(raw + FC_H_VERSION) == 0 || fc_get_u32(raw + FC_H_BYTES) != FC_HEADER_BYTES ||
	    fc_get_u64(raw + FC_H_OFFSET) != own_offset || fc_get_u64(raw + FC_H_SUM) != sum_of(raw))
		return FC_ECORRUPT;
	return 0;
}

static int check_fields(const struct fc_header *h, const uint8_t *raw)
{
	if (h->incompat & ~FC_INCOMPAT_KNOWN)
		return FC_ENEWER;
	if (fc_get_u32(raw + FC_H_UNIT_BYTES) != FC_UNIT || fc_get_u32(raw + FC_H_NODE_BYTES) != FC_NODE_BYTES)
		return FC_ECORRUPT;
	if (!h->cipher || !h->key_epoch || (h->rekeying && !(h->incompat & FC_INCOMPAT_REKEYED)))
		return FC_ECORRUPT;
	if (!h->rekeying && !sodium_is_zero(h->old_nonce, sizeof(h->old_nonce)))
		return FC_ECORRUPT;
	if (h->cipher > FC_CIPHER_AEGIS256)
		return FC_ENEWER;
	if (h->log_offset != FC_LOG_OFFSET || h->log_bytes < FC_LOG_MIN || h->log_bytes > FC_LOG_MAX ||
	    h->log_bytes % FC_LOG_ALIGN || h->data_offset != fc_header_data_offset(h->log_bytes))
		return FC_ECORRUPT;
	return 0;
}

int fc_header_decode(struct fc_header *h, uint64_t own_offset, const uint8_t *raw)
{
	unsigned i;
	int rc;

	memset(h, 0, sizeof(*h));
	rc = check_frame(raw, own_offset);
	if (rc)
		return rc;
	h->version = fc_get_u32(raw + FC_H_VERSION);
	h->sequence = fc_get_u64(raw + FC_H_SEQUENCE);
	h->compat = fc_get_u64(raw + FC_H_COMPAT);
	h->incompat = fc_get_u64(raw + FC_H_INCOMPAT);
	h->ro_compat = fc_get_u64(raw + FC_H_RO_COMPAT);
	memcpy(h->uuid, raw + FC_H_UUID, FC_UUID_BYTES);
	h->cipher = fc_get_u32(raw + FC_H_CIPHER);
	h->key_epoch = fc_get_u32(raw + FC_H_KEY_EPOCH);
	h->log_offset = fc_get_u64(raw + FC_H_LOG_OFFSET);
	h->log_bytes = fc_get_u64(raw + FC_H_LOG_BYTES);
	h->data_offset = fc_get_u64(raw + FC_H_DATA_OFFSET);
	h->created = fc_get_u64(raw + FC_H_CREATED);
	memcpy(h->old_nonce, raw + FC_H_OLD_NONCE, sizeof(h->old_nonce));
	memcpy(h->old_key, raw + FC_H_OLD_KEY, sizeof(h->old_key));
	h->rekeying = !sodium_is_zero(h->old_key, sizeof(h->old_key));
	rc = check_fields(h, raw);
	for (i = 0; !rc && i < FC_SLOTS; i++)
		rc = slot_decode(&h->slots[i], raw + FC_HEADER_FIXED + i * FC_SLOT_BYTES);
	return rc;
}

/* ---- on an io --------------------------------------------------------------- */

/* How much an error of one copy tells when the other has another. */
static int telling(int error)
{
	switch (error) {
	case FC_ENEWER:
		return 3;
	case FC_ECORRUPT:
		return 2;
	case FC_EIO:
		return 1;
	default:
		return 0;
	}
}

int fc_headers_load(struct fc_io *io, struct fc_headers *out)
{
	unsigned i;

	out->newest = -1;
	for (i = 0; i < 2; i++) {
		out->status[i] = fc_io_read(io, out->raw[i], FC_HEADER_BYTES, copy_offset[i]);
		if (!out->status[i])
			out->status[i] = fc_header_decode(&out->copy[i], copy_offset[i], out->raw[i]);
		if (!out->status[i] && (out->newest < 0 || out->copy[i].sequence > out->copy[out->newest].sequence))
			out->newest = (int)i;
	}
	if (out->newest >= 0)
		return 0;
	return telling(out->status[0]) >= telling(out->status[1]) ? out->status[0] : out->status[1];
}

int fc_headers_verified(const struct fc_headers *h, const uint8_t mac_key[FC_KEY_BYTES])
{
	int i, best = FC_EFORGED;

	for (i = 0; i < 2; i++)
		if (!h->status[i] && !fc_header_verify(h->raw[i], mac_key) &&
		    (best < 0 || h->copy[i].sequence > h->copy[best].sequence))
			best = i;
	return best;
}

uint64_t fc_headers_peek(struct fc_io *io)
{
	uint64_t highest = 0;
	unsigned i;

	for (i = 0; i < 2; i++) {
		uint8_t raw[8];

		if (!fc_io_read(io, raw, sizeof(raw), copy_offset[i] + FC_H_SEQUENCE) && fc_get_u64(raw) > highest)
			highest = fc_get_u64(raw);
	}
	return highest;
}

int fc_header_replace(struct fc_io *io, const struct fc_header *h, const uint8_t mac_key[FC_KEY_BYTES], int last)
{
	uint8_t raw[FC_HEADER_BYTES];
	int i, rc = fc_io_sync(io);

	for (i = 0; !rc && i < 2; i++) {
		uint64_t at = copy_offset[i ? last : !last];

		fc_header_encode(h, at, mac_key, raw);
		rc = fc_io_write(io, raw, sizeof(raw), at);
		if (!rc)
			rc = fc_io_sync(io);
	}
	return rc;
}

int fc_header_store(struct fc_io *io, const struct fc_header *h, const uint8_t mac_key[FC_KEY_BYTES])
{
	return fc_header_replace(io, h, mac_key, 1);
}
