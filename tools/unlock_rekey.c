/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another master key, wrapped for all secrets that are given. */
#include <getopt.h>
#include <sodium.h>
#include <string.h>

#include "key/recovery.h"
#include "key/tpm2_slot.h"
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

/* What the reply says of the opening, to be kept while other slots are tried. */
struct opening {
	uint8_t master[FC_KEY_BYTES];
	uint32_t slot;
	uint64_t sequence;
	struct fc_slot opened;
};

static void opening_keep(const struct fc_unlock_reply *r, struct opening *o)
{
	memcpy(o->master, r->master, FC_KEY_BYTES);
	o->slot = r->opened_slot;
	o->sequence = r->sequence;
	o->opened = r->opened;
}

static void opening_restore(const struct opening *o, struct fc_unlock_reply *r)
{
	memcpy(r->master, o->master, FC_KEY_BYTES);
	r->opened_slot = o->slot;
	r->sequence = o->sequence;
	r->opened = o->opened;
}

static bool taken_along(const struct fc_unlock_reply *r, unsigned slot)
{
	for (uint32_t i = 0; i < r->slot_count; i++)
		if (r->slot_of[i] == slot)
			return true;
	return false;
}

/* The secret at hand takes its slot along to the other master key. */
static int rekey_slot(struct unlock *u)
{
	const struct unlock_secret *s = u->secret;
	struct fc_unlock_reply *r = u->reply;
	const struct fc_slot *from = &r->opened;
	struct fc_slot *to = &r->slots[r->slot_count];
	const struct fc_kdf_cost cost = { from->kdf, from->ops, from->mem };
	int rc;

	if (taken_along(r, r->opened_slot))
		return 0;
	rc = fc_slot_seal(to, s->kind, &cost, from->epoch + 1, from->created, s->bytes, s->n, r->fresh_master);
	if (rc) {
		unlock_say("slot %u cannot be set up: %s", r->opened_slot, fc_error_text(rc));
		return rc;
	}
	/* what the TPM sealed is the secret still */
	memcpy(to->extra, from->extra, sizeof(to->extra));
	to->extra_bytes = from->extra_bytes;
	r->slot_of[r->slot_count++] = r->opened_slot;
	return 0;
}

/* It opened it just now: not another state of the header, whose key would be a second one. */
static int rekey_same(struct unlock *u, const struct opening *first)
{
	if (!sodium_memcmp(first->master, u->reply->master, FC_KEY_BYTES))
		return 0;
	unlock_say("the keys given open two states of the header of %s: give those one by one", u->request.container);
	return FC_EBADKEY;
}

/* All that are given must open it: one that does not may be mistyped, and its slot would go. */
static int rekey_given(struct unlock *u, struct opening *first)
{
	struct fc_unlock_reply *r = u->reply;
	int rc = 0;

	for (unsigned i = 0; !rc && i < u->givens; i++) {
		u->request.from = u->given[i];
		rc = unlock_by_given(u);
		if (!rc && !i)
			opening_keep(r, first);
		else if (!rc)
			rc = rekey_same(u, first);
		if (!rc && !sodium_is_zero(r->fresh_master, FC_KEY_BYTES))
			rc = rekey_slot(u);
	}
	return rc;
}

static int rekey_asked(struct unlock *u, struct opening *first)
{
	struct unlock_secret *s = u->secret;
	int rc = FC_EBADKEY;

	/* where there is nothing to ask for */
	if (!unlock_has_kind(u->headers, FC_SLOT_KIND_PASSPHRASE))
		rc = unlock_open_by_tpm2(u);
	if (rc == FC_EBADKEY)
		rc = unlock_by_asking(u);
	if (rc)
		return rc;
	opening_keep(u->reply, first);
	/* a recovery code that was typed */
	if (u->reply->opened.kind == FC_SLOT_KIND_RECOVERY && s->kind != FC_SLOT_KIND_RECOVERY) {
		s->kind = FC_SLOT_KIND_RECOVERY;
		s->n = FC_RECOVERY_BYTES;
		memcpy(s->bytes, s->again, FC_RECOVERY_BYTES);
	}
	return rekey_slot(u);
}

/* What this machine's TPM sealed goes along: it is asked, not the user. Those with a PIN where the user is asked
 * anyway. What cannot be opened is left, having said why. */
static int rekey_tpm2(struct unlock *u, const struct opening *first)
{
	const struct fc_header *h = &u->headers->copy[u->headers->newest];
	struct fc_unlock_reply *r = u->reply;
	struct fc_tpm2_slot t;
	int rc = 0;

	for (unsigned i = 0; !rc && i < FC_SLOTS; i++) {
		const struct fc_slot *s = &h->slots[i];

		if (!s->used || s->kind != FC_SLOT_KIND_TPM2 || taken_along(r, i) || fc_tpm2_slot_decode(&t, s) ||
		    (t.pin && u->givens))
			continue;
		if (u->tpm2) {
			unlock_say("slot %u of %s: %s", i, u->request.container, u->tpm2_why);
			continue;
		}
		rc = unlock_open_tpm2_slot(u, i, &t);
		if (!rc && !rekey_same(u, first))
			rc = rekey_slot(u);
		rc = rc == FC_EBADKEY ? 0 : rc;
	}
	opening_restore(first, r);
	return rc;
}

static int rekey_fresh(struct unlock *u, struct opening *first)
{
	int rc;

	randombytes_buf(u->reply->fresh_master, FC_KEY_BYTES);
	rc = u->givens ? rekey_given(u, first) : rekey_asked(u, first);
	return rc ? rc : rekey_tpm2(u, first);
}

/* One that was interrupted: any key will do, and slots stay as they are. */
static int rekey_again(struct unlock *u, struct opening *first)
{
	int rc;

	if (u->givens)
		return rekey_given(u, first);
	rc = unlock_open_by_tpm2(u);
	return rc == FC_EBADKEY ? unlock_by_asking(u) : rc;
}

int unlock_rekey(struct unlock *u)
{
	struct opening *first = fc_secret_alloc(sizeof(*first));
	int rc = first ? unlock_load_headers(u) : FC_ENOMEM;

	if (!rc)
		rc = u->headers->copy[u->headers->newest].rekeying ? rekey_again(u, first) : rekey_fresh(u, first);
	fc_secret_free(first);
	return rc;
}
