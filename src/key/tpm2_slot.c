/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "key/tpm2_slot.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "secret/secret.h"
#include "util/le.h"

void fc_tpm2_slot_encode(const struct fc_tpm2_slot *t, struct fc_slot *slot)
{
	size_t n = t->private_bytes + t->public_bytes;
	uint8_t *raw = slot->extra;

	memset(raw, 0, sizeof(slot->extra));
	raw[FC_T_VERSION] = FC_TPM2_VERSION;
	raw[FC_T_FLAGS] = t->pin ? FC_TPM2_PIN : 0;
	fc_put_u16(raw + FC_T_PRIVATE_BYTES, (uint16_t)t->private_bytes);
	fc_put_u16(raw + FC_T_PUBLIC_BYTES, (uint16_t)t->public_bytes);
	if (t->pin) {
		fc_put_u32(raw + FC_T_OPS, t->cost.ops);
		fc_put_u64(raw + FC_T_MEM, t->cost.mem);
		memcpy(raw + FC_T_SALT, t->salt, FC_SALT_BYTES);
	}
	memcpy(raw + FC_T_BLOBS, t->blobs, n);
	slot->extra_bytes = FC_T_BLOBS + (uint32_t)n;
}

int fc_tpm2_slot_decode(struct fc_tpm2_slot *t, const struct fc_slot *slot)
{
	const uint8_t *raw = slot->extra;
	size_t n = slot->extra_bytes;

	memset(t, 0, sizeof(*t));
	if (n < FC_T_BLOBS || n > FC_SLOT_EXTRA_MAX)
		return FC_ECORRUPT;
	if (raw[FC_T_VERSION] != FC_TPM2_VERSION || raw[FC_T_FLAGS] & ~FC_TPM2_PIN)
		return FC_ENEWER;
	t->pin = raw[FC_T_FLAGS] & FC_TPM2_PIN;
	t->private_bytes = fc_get_u16(raw + FC_T_PRIVATE_BYTES);
	t->public_bytes = fc_get_u16(raw + FC_T_PUBLIC_BYTES);
	if (!t->private_bytes || !t->public_bytes || t->private_bytes + t->public_bytes != n - FC_T_BLOBS)
		return FC_ECORRUPT;
	memcpy(t->blobs, raw + FC_T_BLOBS, n - FC_T_BLOBS);
	if (!t->pin)
		return 0;
	t->cost = (struct fc_kdf_cost){ FC_KDF_ARGON2ID13, fc_get_u32(raw + FC_T_OPS), fc_get_u64(raw + FC_T_MEM) };
	memcpy(t->salt, raw + FC_T_SALT, FC_SALT_BYTES);
	return fc_kdf_check(&t->cost);
}

int fc_tpm2_pin(const struct fc_tpm2_slot *t, const void *pin, size_t n, uint8_t auth[32], uint8_t addition[32])
{
	static const uint8_t auth_context[32] = "fusecrypt 1 tpm2 auth";
	static const uint8_t add_context[32] = "fusecrypt 1 tpm2 add";
	uint8_t *keys = fc_secret_alloc(FC_KEY_BYTES);
	int rc;

	if (!keys)
		return FC_ENOMEM;
	rc = fc_kdf_stretch(&t->cost, pin, n, t->salt, keys);
	if (!rc) {
		crypto_generichash(auth, 32, auth_context, sizeof(auth_context), keys, FC_KEY_BYTES);
		crypto_generichash(addition, 32, add_context, sizeof(add_context), keys, FC_KEY_BYTES);
	}
	fc_secret_free(keys);
	return rc;
}

bool fc_tpm2_unasked(const char *container)
{
	struct fc_headers *h = malloc(sizeof(*h));
	int fd = open(container, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct fc_io *io = NULL;
	struct fc_tpm2_slot t;
	bool found = false;

	if (h && fd >= 0 && !fc_io_file(fd, true, &io) && !fc_headers_load(io, h))
		for (unsigned i = 0; i < FC_SLOTS; i++) {
			const struct fc_slot *s = &h->copy[h->newest].slots[i];

			found |= s->used && s->kind == FC_SLOT_KIND_TPM2 && !fc_tpm2_slot_decode(&t, s) && !t.pin;
		}
	if (io)
		fc_io_close(io);
	else if (fd >= 0)
		close(fd);
	free(h);
	return found;
}
