/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sodium.h>
#include <string.h>

#include "unlock.h"
#include "unlock_program.h"
#include "unlock_tpm2.h"

bool unlock_has_kind(const struct fc_headers *h, uint32_t kind)
{
	for (int c = 0; c < 2; c++)
		for (unsigned i = 0; !h->status[c] && i < FC_SLOTS; i++)
			if (h->copy[c].slots[i].used && h->copy[c].slots[i].kind == kind)
				return true;
	return false;
}

static bool wants_tpm2(const struct unlock *u)
{
	return (u->request.wrap && u->request.fresh_kind == FC_SLOT_KIND_TPM2) ||
	       (!fc_secret_given(&u->request.from) && unlock_has_kind(u->headers, FC_SLOT_KIND_TPM2));
}

void unlock_tpm2_prepare(struct unlock *u)
{
	if (wants_tpm2(u))
		u->tpm2 = unlock_tpm2_connect(&u->tpm2_sockets, &u->tpm2_why);
}

/* The slot's secret from the TPM, with that PIN (n bytes of s->bytes). */
static int unseal(struct unlock *u, const struct fc_tpm2_slot *t, size_t n, const char **why)
{
	struct unlock_secret *s = u->secret;
	uint8_t *auth = s->again, *secret = s->again + 32;
	int rc = t->pin ? fc_tpm2_pin(t, s->bytes, n, auth, secret + FC_TPM2_SEALED_BYTES) : 0;

	*why = fc_error_text(rc);
	if (!t->pin)
		memset(secret + FC_TPM2_SEALED_BYTES, 0, FC_TPM2_SECRET_BYTES - FC_TPM2_SEALED_BYTES);
	if (!rc)
		rc = unlock_tpm2_unseal(t, t->pin ? auth : NULL, secret, why);
	if (!rc) {
		s->kind = FC_SLOT_KIND_TPM2;
		s->n = FC_TPM2_SECRET_BYTES;
		memcpy(s->bytes, secret, s->n);
		rc = unlock_try_secret(u);
		*why = "what its TPM slot holds does not open it";
	}
	return rc;
}

int unlock_open_tpm2_slot(struct unlock *u, unsigned slot, const struct fc_tpm2_slot *t)
{
	/* each wrong PIN counts: a program that knows one answer shall not lock it */
	int tries = !t->pin || unlock_program_there() ? 1 : UNLOCK_TRIES;
	const char *why = "no PIN was given";
	int rc = FC_EACCESS;

	for (int i = 0; i < tries && rc == FC_EACCESS; i++) {
		if (t->pin) {
			rc = unlock_pin_asked(u->request.container,
					      u->request.rekey ? "none: that key is dropped" : "none: another key",
					      u->secret);
			if (rc == FC_EINTERRUPTED)
				return rc;
			if (rc || !u->secret->n)
				return FC_EBADKEY; /* none to ask, or the user wants another kind */
		}
		rc = unseal(u, t, u->secret->n, &why);
		if (rc == FC_EACCESS && i + 1 < tries)
			unlock_remark("That PIN is wrong.");
	}
	if (rc)
		unlock_say("slot %u of %s: %s", slot, u->request.container, why);
	return rc ? FC_EBADKEY : 0;
}

int unlock_open_by_pin(struct unlock *u)
{
	const struct fc_header *h = &u->headers->copy[u->headers->newest];
	struct unlock_secret *s = u->secret;
	struct fc_tpm2_slot t;
	const char *why;
	int rc = FC_EBADKEY;

	memcpy(s->last, s->bytes, s->n);
	s->last_n = s->n;
	for (unsigned i = 0; i < FC_SLOTS && rc; i++) {
		const struct fc_slot *slot = &h->slots[i];

		if (!slot->used || slot->kind != FC_SLOT_KIND_TPM2 || fc_tpm2_slot_decode(&t, slot) || !t.pin)
			continue;
		why = u->tpm2_why;
		memcpy(s->bytes, s->last, s->last_n);
		rc = u->tpm2 ? u->tpm2 : unseal(u, &t, s->last_n, &why);
		/* that it is not the PIN tells little: it was given as a passphrase */
		if (rc && rc != FC_EACCESS)
			unlock_say("slot %u of %s: %s", i, u->request.container, why);
	}
	if (rc)
		s->kind = FC_SLOT_KIND_PASSPHRASE;
	return rc ? FC_EBADKEY : 0;
}

/* Those without a PIN first. FC_EBADKEY: try other kinds. */
int unlock_open_by_tpm2(struct unlock *u)
{
	struct fc_tpm2_slot t;
	int rc = FC_EBADKEY;

	if (!unlock_has_kind(u->headers, FC_SLOT_KIND_TPM2))
		return FC_EBADKEY;
	if (u->tpm2) {
		unlock_say("%s: %s", u->request.container, u->tpm2_why);
		return FC_EBADKEY;
	}
	for (int pass = 0; pass < 4 && rc == FC_EBADKEY; pass++) {
		int c = pass % 2 ? !u->headers->newest : u->headers->newest;

		for (unsigned i = 0; !u->headers->status[c] && i < FC_SLOTS && rc == FC_EBADKEY; i++) {
			const struct fc_slot *s = &u->headers->copy[c].slots[i];

			if (!s->used || s->kind != FC_SLOT_KIND_TPM2 || fc_tpm2_slot_decode(&t, s) ||
			    t.pin != pass / 2 || (t.pin && u->request.unasked))
				continue;
			if (pass % 2 && !u->headers->status[!c] && fc_slot_same(s, &u->headers->copy[!c].slots[i]))
				continue;
			rc = unlock_open_tpm2_slot(u, i, &t);
		}
	}
	return rc;
}

/* ---- a new slot ------------------------------------------------------------- */

static int new_pin(struct unlock *u, const struct fc_secret_from *from, struct fc_tpm2_slot *t, uint8_t *auth,
		   uint8_t *addition)
{
	int rc = unlock_passphrase_given(from, u->secret);

	if (rc)
		return rc == FC_EBADKEY ? FC_EINVAL : rc;
	rc = fc_kdf_named(u->request.kdf, &t->cost);
	randombytes_buf(t->salt, sizeof(t->salt));
	if (!rc)
		rc = fc_tpm2_pin(t, u->secret->bytes, u->secret->n, auth, addition);
	if (rc)
		unlock_say("the PIN cannot be set up: %s", fc_error_text(rc));
	return rc;
}

int unlock_new_tpm2(struct unlock *u, const struct fc_secret_from *from)
{
	const struct fc_kdf_cost none = { FC_KDF_NONE, 0, 0 };
	struct unlock_secret *s = u->secret;
	struct fc_tpm2_slot t = { .pin = from->passphrase_file || from->passphrase_fd >= 0 };
	uint8_t *auth = s->again, *secret = s->again + 32;
	const char *why = u->tpm2_why;
	int rc = u->tpm2;

	memset(secret, 0, FC_TPM2_SECRET_BYTES);
	if (!rc && t.pin) {
		rc = new_pin(u, from, &t, auth, secret + FC_TPM2_SEALED_BYTES);
		if (rc)
			return rc;
	}
	if (!rc) {
		randombytes_buf(secret, FC_TPM2_SEALED_BYTES);
		rc = unlock_tpm2_seal(secret, t.pin ? auth : NULL, &t, &why);
	}
	if (rc) {
		unlock_say("%s cannot be opened by the TPM: %s", u->request.container, why);
		return rc;
	}
	s->kind = FC_SLOT_KIND_TPM2;
	s->n = FC_TPM2_SECRET_BYTES;
	memcpy(s->bytes, secret, s->n);
	rc = unlock_new_slot(u, &none);
	if (!rc)
		fc_tpm2_slot_encode(&t, &u->reply->slots[u->reply->slot_count - 1]);
	return rc;
}
