/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of the helper: what its files share. */
#ifndef FC_TOOLS_UNLOCK_H
#define FC_TOOLS_UNLOCK_H

#include "key/tpm2_slot.h"
#include "unlock_secret.h"

#define UNLOCK_TRIES 3

struct unlock {
	bool ask; /* for several openings; the line is the reply */
	int reply_fd;
	struct fc_unlock_request request;
	struct unlock_secret *secret;
	struct fc_unlock_reply *reply;
	struct fc_headers *headers;
	struct fc_secret_from given[FC_SLOTS]; /* rekey: in the order given */
	unsigned givens;
	struct fc_slot_found found; /* in headers */
	int tpm2;                   /* of connecting to it */
	const char *tpm2_why;
	bool tpm2_sockets; /* it is reached by them, anew for each command */
};

/* Does the helper know that word, its first argument? */
bool unlock_is_mode(const char *word);
/* Is a slot of that kind in use, in either copy? */
bool unlock_has_kind(const struct fc_headers *h, uint32_t kind);
/* u->secret on the slots of its kind: 0 and the reply's key, or as of fc_slot_unlock. */
int unlock_try_secret(struct unlock *u);
/* Wraps the reply's key by u->secret into one more slot of the reply. 0 or FC_E*, having said why. */
int unlock_new_slot(struct unlock *u, const struct fc_kdf_cost *cost);

/* Takes from the helper what it needs no more. 0 or FC_E*, having said so. */
int unlock_confine(const struct unlock *u);
/* Reads the header, and confines the helper. 0 or FC_E*, having said why. */
int unlock_load_headers(struct unlock *u);
/* By the secrets in the request, any one of them; or by a passphrase that is asked for. */
int unlock_by_given(struct unlock *u);
int unlock_by_asking(struct unlock *u);

/* ---- one for several (unlock_several.c) --------------------------------------- */

/* Gives the passphrase, as a line, again and again, until nobody can take one any more. 0 or FC_E*, having said why. */
int unlock_ask_for_several(struct unlock *u);

/* ---- another master key (unlock_rekey.c) ------------------------------------- */

/* Takes option c, a secret; fd: its descriptor. False: too many. */
bool unlock_rekey_secret(struct unlock *u, int c, int fd);
int unlock_rekey(struct unlock *u);

/* ---- with the TPM (unlock_by_tpm2.c) ---------------------------------------- */

/* Reaches it where it will be needed, before the helper is confined. */
void unlock_tpm2_prepare(struct unlock *u);
/* By slots without a PIN, then by those with. 0; FC_EBADKEY: other kinds may be tried (it has said why, if
 * the user did not choose so); FC_EINTERRUPTED. */
int unlock_open_by_tpm2(struct unlock *u);
/* By one of them; its PIN is asked for. Likewise. */
int unlock_open_tpm2_slot(struct unlock *u, unsigned slot, const struct fc_tpm2_slot *t);
/* u->secret, a passphrase, as the PIN of those that have one, once each. 0; FC_EBADKEY, having said
 * why if it was not a wrong PIN. */
int unlock_open_by_pin(struct unlock *u);
/* A slot sealed by this machine's TPM; a passphrase in `from` is its PIN. 0 or FC_E*, having said why. */
int unlock_new_tpm2(struct unlock *u, const struct fc_secret_from *from);

#endif
