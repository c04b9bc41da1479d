/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Subkeys of the master key and of writing sessions (R3).
 *
 * purpose subkey = BLAKE2b-256(key = master, "fusecrypt 1 " purpose, zero-padded to 32 bytes)
 * session subkey = BLAKE2b-256(key = master, "fusecrypt 1 " purpose padded to 32, || session's salt)
 * Purposes: "header", "root", "salts", "names", "old", "next" of the master
 * key; "node", "data", "log" of a session.
 */
#ifndef FC_CIPHER_KEYS_H
#define FC_CIPHER_KEYS_H

#include <pthread.h>

#include "cipher/aead.h"
#include "store/header.h"

/* What is derived from the master key alone; in secret memory. */
struct fc_keys {
	uint8_t master[FC_KEY_BYTES];
	uint8_t header[FC_KEY_BYTES]; /* MAC of the header */
	uint8_t root[FC_KEY_BYTES];
	uint8_t salts[FC_KEY_BYTES];
	uint8_t names[FC_KEY_BYTES]; /* keyed hash of directory names: first 16 bytes, SipHash-2-4 */
	struct fc_keys *old;         /* while a rekey is under way: of the master key before this one; NULL none */
};

/* NULL: out of memory. */
struct fc_keys *fc_keys_new(const uint8_t master[FC_KEY_BYTES]);
void fc_keys_free(struct fc_keys *keys); /* wipes, the old one too; NULL allowed */

/* h becomes a header of these keys in the middle of a rekey: the old master key is
 * sealed into it under the new one. h has UUID and (new) epoch already. */
int fc_keys_seal_old(const struct fc_keys *keys, const uint8_t old[FC_KEY_BYTES], struct fc_header *h);
/* Opens what a header has of it (h verified under keys->header): keys->old is then
 * set. 0 also where there is none; FC_EFORGED, FC_ENOMEM. */
int fc_keys_open_old(struct fc_keys *keys, const struct fc_header *h);

/* The next master key, sealed under the present one: for its way to whoever has the
 * container open. */
#define FC_NEXT_KEY_BYTES (FC_OLD_NONCE_BYTES + FC_OLD_KEY_BYTES)
int fc_keys_seal_next(const struct fc_keys *keys, const uint8_t next[FC_KEY_BYTES], uint8_t sealed[FC_NEXT_KEY_BYTES]);
/* next lies in secret memory. 0, FC_EFORGED, FC_ENOMEM. */
int fc_keys_open_next(const struct fc_keys *keys, const uint8_t sealed[FC_NEXT_KEY_BYTES], uint8_t next[FC_KEY_BYTES]);

enum fc_purpose { FC_PURPOSE_NODE, FC_PURPOSE_DATA, FC_PURPOSE_LOG, FC_PURPOSES };

/*
 * The session table: salts as read from the container, and the AEAD contexts
 * of sessions, made when first asked for and kept. Thread-safe.
 */
struct fc_sessions;

/* Which sessions there are. Those of a master key begin with a block of the salt
 * table of their own. */
struct fc_session_range {
	uint32_t first, old_last; /* of the master key before this one; old_last 0: none */
	uint32_t own, count;      /* of this one; count < own: none yet */
};

/* Reads the salt blocks of the range's sessions (copy A, else copy B).
 * A block of which neither copy opens is remembered: its sessions give
 * FC_EFORGED (FC_EIO: the disk did not give it) when asked for. keys stay the
 * caller's and must live longer.
 * 0, FC_ENOMEM, FC_ECORRUPT (too many), FC_ENOTSUP (no provider for the cipher). */
int fc_sessions_load_range(struct fc_io *io, const struct fc_keys *keys, uint32_t cipher,
			   const uint8_t uuid[FC_UUID_BYTES], const struct fc_session_range *range,
			   struct fc_sessions **out);
/* Of sessions 1..count, all of this master key. */
int fc_sessions_load(struct fc_io *io, const struct fc_keys *keys, uint32_t cipher, const uint8_t uuid[FC_UUID_BYTES],
		     uint32_t count, struct fc_sessions **out);
void fc_sessions_free(struct fc_sessions *s);

/* The sessions as they are now. */
void fc_sessions_range(const struct fc_sessions *s, struct fc_session_range *range);

/* Draws a fresh salt for session number count + 1, writes it to copy A, syncs,
 * then to copy B and syncs (B first where only A held the older salts); the
 * number is returned in *session. Salts of that block beyond count (of a mount
 * that never committed) are overwritten. A block that is lost is left alone:
 * the number is then the first of the next one.
 * 0, FC_ESESSIONS, FC_EROFS, FC_EIO, FC_ENOSPC, FC_EFBIG, FC_ENOMEM. */
int fc_sessions_start(struct fc_sessions *s, struct fc_io *io, uint32_t *session);

/* The context for a session and purpose; owned by s, valid until it is freed.
 * 0, FC_EFORGED (no such session or its salt is lost), FC_EIO, FC_ENOMEM. */
int fc_sessions_aead(struct fc_sessions *s, uint32_t session, enum fc_purpose purpose, struct fc_aead **out);

/* ---- for a rekey */

/* Goes over to another master key, whose keys->old are the keys so far: the next
 * session is its first. back: goes back instead, to what fc_sessions_range told
 * before; none was started meanwhile. Nobody else starts one. */
void fc_sessions_rekey(struct fc_sessions *s, const struct fc_keys *keys, const struct fc_session_range *back);
/* Nothing refers to the sessions of the old master key any more, and nobody uses
 * their contexts: these are wiped... */
void fc_sessions_forget_old(struct fc_sessions *s);
/* ... and salts that are in no range of a root any more are overwritten in both
 * copies of the table; synced. 0 or as of io. */
int fc_sessions_wipe(const struct fc_sessions *s, struct fc_io *io);

/* ---- for check/ */

/* Opens both copies of the table's block `index`, which the sessions in use
 * need: of each 0, FC_EFORGED or FC_EIO. */
void fc_sessions_copies(const struct fc_sessions *s, struct fc_io *io, uint32_t index, int status[2]);
/* Writes a block of which neither copy opens anew, with other salts: nothing
 * that its sessions sealed can be read any more, and its numbers stay taken.
 * 0 or as of fc_sessions_start. */
int fc_sessions_renew(struct fc_sessions *s, struct fc_io *io, uint32_t index);

#endif
