/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another master key, wrapped for all secrets that are given. */
#include <getopt.h>
#include <sodium.h>
#include <string.h>

#include "secret/secret.h"
#include "unlock.h"

bool unlock_is_mode(const char *word)
{
	return !strcmp(word, "open") || !strcmp(word, "create") || !strcmp(word, "wrap") || !strcmp(word, "ask") ||
	       !strcmp(word, "rekey");
}

/* rekey: one that opens it. */
bool unlock_rekey_secret(struct unlock *u, int c, int fd)
{
	struct fc_secret_from *s = &u->given[u->givens];

	if (u->givens == FC_SLOTS)
		return false;
	*s = FC_SECRET_FROM_NONE;
	if (c == 'p')
		s->passphrase_file = optarg;
	else if (c == 'd')
		s->passphrase_fd = fd;
	else if (c == 'f')
		s->key_file = optarg;
	else
		s->recovery_file = optarg;
	u->givens++;
	return true;
}

/* The secret at hand takes its slot along to the other master key. */
static int rekey_slot(struct unlock *u)
{
	const struct unlock_secret *s = u->secret;
	struct fc_unlock_reply *r = u->reply;
	const struct fc_slot *from = &r->opened;
	const struct fc_kdf_cost cost = { from->kdf, from->ops, from->mem };
	int rc;

	if (from->kind != s->kind) /* a TPM's, by its PIN: made anew by `key add` */
		return 0;
	for (uint32_t i = 0; i < r->slot_count; i++)
		if (r->slot_of[i] == r->opened_slot)
			return 0;
	rc = fc_slot_seal(&r->slots[r->slot_count], s->kind, &cost, from->epoch + 1, from->created, s->bytes, s->n,
			  r->fresh_master);
	if (rc) {
		unlock_say("slot %u cannot be set up: %s", r->opened_slot, fc_error_text(rc));
		return rc;
	}
	r->slot_of[r->slot_count++] = r->opened_slot;
	return 0;
}

/* All that are given must open it: one that does not may be mistyped, and its slot would go. */
static int rekey_given(struct unlock *u)
{
	struct fc_unlock_reply *r = u->reply;
	uint8_t *first = fc_secret_alloc(FC_KEY_BYTES);
	int rc = first ? 0 : FC_ENOMEM;

	for (unsigned i = 0; !rc && i < u->givens; i++) {
		u->request.from = u->given[i];
		rc = unlock_by_given(u);
		if (!rc && i && sodium_memcmp(first, r->master, FC_KEY_BYTES)) {
			unlock_say("the keys given open two states of the header of %s: give those one by one",
				   u->request.container);
			rc = FC_EBADKEY;
		}
		memcpy(first, r->master, FC_KEY_BYTES);
		if (!rc && !sodium_is_zero(r->fresh_master, FC_KEY_BYTES))
			rc = rekey_slot(u);
	}
	fc_secret_free(first);
	return rc;
}

int unlock_rekey(struct unlock *u)
{
	struct fc_unlock_reply *r = u->reply;
	bool under_way;
	int rc = unlock_load_headers(u);

	if (rc)
		return rc;
	under_way = u->headers->copy[u->headers->newest].rekeying;
	if (u->givens && !under_way) {
		randombytes_buf(r->fresh_master, FC_KEY_BYTES);
		return rekey_given(u);
	}
	if (u->givens)
		return rekey_given(u);
	rc = unlock_by_asking(u);
	if (rc || under_way)
		return rc;
	randombytes_buf(r->fresh_master, FC_KEY_BYTES);
	return rekey_slot(u);
}
