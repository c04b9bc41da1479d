/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "key/slot.h"

#include <sodium.h>
#include <string.h>

#include "cipher/keys.h"
#include "secret/secret.h"
#include "util/le.h"

#define AAD_BYTES 64u

struct wrap_key {
	uint8_t stretched[FC_KEY_BYTES], wrapping[FC_KEY_BYTES], commitment[32], master[FC_KEY_BYTES];
};

static void slot_aad(const struct fc_slot *slot, uint8_t aad[AAD_BYTES])
{
	fc_put_u32(aad, slot->kind);
	fc_put_u32(aad + 4, slot->kdf);
	fc_put_u32(aad + 8, slot->ops);
	fc_put_u32(aad + 12, slot->epoch);
	fc_put_u64(aad + 16, slot->mem);
	fc_put_u64(aad + 24, slot->created);
	memcpy(aad + 32, slot->salt, FC_SALT_BYTES);
}

/* Secret to wrapping key and commitment; cost and salt are the slot's. */
static int slot_derive(const struct fc_slot *slot, const void *secret, size_t n, struct wrap_key *w)
{
	static const uint8_t wrap_context[32] = "fusecrypt 1 slot wrap";
	static const uint8_t commit_context[32] = "fusecrypt 1 slot commit";
	struct fc_kdf_cost cost = { slot->kdf, slot->ops, slot->mem };
	uint8_t message[sizeof(wrap_context) + FC_SALT_BYTES];
	int rc = fc_kdf_stretch(&cost, secret, n, slot->salt, w->stretched);

	if (rc)
		return rc;
	memcpy(message, wrap_context, sizeof(wrap_context));
	memcpy(message + sizeof(wrap_context), slot->salt, FC_SALT_BYTES);
	crypto_generichash(w->wrapping, FC_KEY_BYTES, message, sizeof(message), w->stretched, FC_KEY_BYTES);
	crypto_generichash(w->commitment, sizeof(w->commitment), commit_context, sizeof(commit_context), w->wrapping,
			   FC_KEY_BYTES);
	return 0;
}

int fc_slot_seal(struct fc_slot *slot, uint32_t kind, const struct fc_kdf_cost *cost, uint32_t epoch, uint64_t created,
		 const void *secret, size_t n, const uint8_t master[FC_KEY_BYTES])
{
	struct wrap_key *w = fc_secret_alloc(sizeof(*w));
	uint8_t aad[AAD_BYTES];
	int rc;

	if (!w)
		return FC_ENOMEM;
	memset(slot, 0, sizeof(*slot));
	slot->used = true;
	slot->kind = kind;
	slot->kdf = cost->kdf;
	slot->ops = cost->ops;
	slot->mem = cost->mem;
	slot->epoch = epoch;
	slot->created = created;
	randombytes_buf(slot->salt, sizeof(slot->salt));
	randombytes_buf(slot->nonce, sizeof(slot->nonce));
	rc = slot_derive(slot, secret, n, w);
	if (!rc) {
		slot_aad(slot, aad);
		crypto_aead_xchacha20poly1305_ietf_encrypt(slot->wrapped, NULL, master, FC_KEY_BYTES, aad, sizeof(aad),
							   NULL, slot->nonce, w->wrapping);
		memcpy(slot->commitment, w->commitment, sizeof(slot->commitment));
	}
	fc_secret_free(w);
	return rc;
}

int fc_slot_open(const struct fc_slot *slot, const void *secret, size_t n, uint8_t master[FC_KEY_BYTES])
{
	struct wrap_key *w;
	uint8_t aad[AAD_BYTES];
	int rc;

	if (!slot->used)
		return FC_EBADKEY;
	w = fc_secret_alloc(sizeof(*w));
	if (!w)
		return FC_ENOMEM;
	rc = slot_derive(slot, secret, n, w);
	if (!rc && sodium_memcmp(w->commitment, slot->commitment, sizeof(w->commitment)))
		rc = FC_EBADKEY;
	if (!rc) {
		slot_aad(slot, aad);
		if (crypto_aead_xchacha20poly1305_ietf_decrypt(w->master, NULL, NULL, slot->wrapped,
							       sizeof(slot->wrapped), aad, sizeof(aad), slot->nonce,
							       w->wrapping))
			rc = FC_EBADKEY;
	}
	if (!rc)
		memcpy(master, w->master, FC_KEY_BYTES);
	fc_secret_free(w);
	return rc;
}

bool fc_slot_same(const struct fc_slot *a, const struct fc_slot *b)
{
	return a->used == b->used && a->kind == b->kind && a->kdf == b->kdf && a->ops == b->ops && a->mem == b->mem &&
	       a->epoch == b->epoch && a->created == b->created && !memcmp(a->salt, b->salt, sizeof(a->salt)) &&
	       !memcmp(a->nonce, b->nonce, sizeof(a->nonce)) && !memcmp(a->wrapped, b->wrapped, sizeof(a->wrapped)) &&
	       !memcmp(a->commitment, b->commitment, sizeof(a->commitment)) && a->extra_bytes == b->extra_bytes &&
	       !memcmp(a->extra, b->extra, a->extra_bytes);
}

/* Slot i opened as s. A slot of another header, pasted into a copy, must not
 * count because the other copy verifies. */
static int verify_holder(const struct fc_headers *headers, unsigned i, const struct fc_slot *s,
			 const uint8_t master[FC_KEY_BYTES], struct fc_slot_found *found)
{
	struct fc_keys *keys = fc_keys_new(master);
	int rc = FC_EFORGED;

	if (!keys)
		return FC_ENOMEM;
	*found = (struct fc_slot_found){ .slot = i, .at = s };
	for (int c = 0; c < 2; c++) {
		if (headers->status[c] || !fc_slot_same(&headers->copy[c].slots[i], s) ||
		    fc_header_verify(headers->raw[c], keys->header))
			continue;
		rc = 0;
		if (headers->copy[c].sequence > found->sequence)
			found->sequence = headers->copy[c].sequence;
	}
	fc_keys_free(keys);
	return rc;
}

/* Of two failures, the one that tells more. */
static int worse(int a, int b)
{
	static const int order[] = { FC_EFORGED, FC_ENOMEM, FC_ECORRUPT, FC_EBADKEY };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return a;
}

int fc_slot_unlock(const struct fc_headers *headers, uint32_t kind, const void *secret, size_t n,
		   uint8_t master[FC_KEY_BYTES], struct fc_slot_found *found)
{
	struct fc_slot_found it;
	int result = FC_EBADKEY;

	for (int k = 0; k < 2; k++) {
		int c = k ? !headers->newest : headers->newest;

		if (headers->newest < 0 || headers->status[c])
			continue;
		for (unsigned i = 0; i < FC_SLOTS; i++) {
			const struct fc_slot *s = &headers->copy[c].slots[i];
			int rc;

			if (!s->used || s->kind != kind)
				continue;
			if (k && !headers->status[!c] && fc_slot_same(s, &headers->copy[!c].slots[i]))
				continue;
			rc = fc_slot_open(s, secret, n, master);
			if (!rc)
				rc = verify_holder(headers, i, s, master, &it);
			if (!rc) {
				if (found)
					*found = it;
				return 0;
			}
			result = worse(result, rc);
		}
	}
	sodium_memzero(master, FC_KEY_BYTES);
	return result;
}
