/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Root records: the state that a commit made reachable. */
#ifndef FC_CIPHER_ROOT_H
#define FC_CIPHER_ROOT_H

#include "cipher/keys.h"

struct fc_ptr {
	uint64_t block; /* 0: none */
	uint32_t session;
	uint8_t level;
	uint64_t nonce;
	uint8_t tag[FC_TAG_BYTES];
	uint64_t generation;
};

void fc_ptr_encode(const struct fc_ptr *ptr, uint8_t raw[FC_PTR_BYTES]);
void fc_ptr_decode(struct fc_ptr *ptr, const uint8_t raw[FC_PTR_BYTES]);

struct fc_log_head {
	uint32_t session;
	uint64_t seq;              /* of the next record, from 1 */
	uint64_t pos;              /* its byte position in the log, a multiple of FC_BLOCK, below log_bytes */
	uint8_t tag[FC_TAG_BYTES]; /* of the record before it */
};

struct fc_root {
	uint64_t generation;
	uint32_t flags; /* FC_ROOT_CLEAN */
	uint32_t sessions;
	uint64_t header_seq, time;
	struct fc_ptr file_tree, space_tree;
	uint64_t next_ino;
	struct fc_log_head log;
	uint64_t inodes, data_blocks, node_blocks, cap, chunks, shared;
	uint32_t first, old_last, own; /* as stored: see fc_root_sessions */
	uint8_t names[FC_NAMES_BYTES]; /* zeros: of the master key */
};

/* The sessions that a root knows. old_key: it was sealed under the master key before
 * the one that is in use now. */
void fc_root_sessions(const struct fc_root *root, bool old_key, struct fc_session_range *range);

/* plain: FC_ROOT_PLAIN bytes. decode checks bounds that need no container:
 * FC_ECORRUPT. Pure; any input is safe. */
void fc_root_encode(const struct fc_root *root, uint8_t *plain);
int fc_root_decode(struct fc_root *root, const uint8_t *plain);

struct fc_roots {
	struct fc_root root[FC_ROOT_SLOTS];
	int status[FC_ROOT_SLOTS][2];             /* of opening copies A and B of each slot; FC_ENOENT: all zeros */
	uint8_t tag[FC_ROOT_SLOTS][FC_TAG_BYTES]; /* seal tag, for the state file */
	bool old_key[FC_ROOT_SLOTS];              /* sealed under keys->old */
	int newest;                               /* slot with the newest root that opens; -1 none */
	/* A slot of which neither copy opens although something was written
	 * there: not zeros in both, or zeros although the other slot's
	 * generation is above 1 (a container's first root). Or both slots hold
	 * the same generation: one was put in the other's place. A crash does
	 * none of this (FC_ROOT_SECTOR): the newest state may be lost. */
	bool doubtful;
};

/* Reads the four copies, with keys->old too where it is set. 0 when any opens (see doubtful); else FC_EFORGED or FC_EIO. */
int fc_roots_load(struct fc_io *io, const struct fc_keys *keys, const uint8_t uuid[FC_UUID_BYTES],
		  struct fc_roots *out);

/* Seals (random nonce) into the block that a slot's copy holds; the caller
 * writes it to FC_ROOT_A and FC_ROOT_B + slot * FC_BLOCK, with a sync between. */
int fc_root_seal(const struct fc_root *root, const struct fc_keys *keys, const uint8_t uuid[FC_UUID_BYTES],
		 uint8_t raw[FC_BLOCK], uint8_t tag[FC_TAG_BYTES]);

/* Writes the newest root once more, under the same key, as the next generation, which accepts no
 * header below header_seq; nothing else differs. now: seconds since 1970. Only
 * where nobody has the container open for writing (the caller holds its lock).
 * 0 and *root, tag: the newest root, written or (when it asks for that already)
 * found; FC_EOLDER: the newest root is doubtful, nothing was written; else as
 * of fc_roots_load and io: the newest root is the one before or the new one. */
int fc_root_raise(struct fc_io *io, const struct fc_keys *keys, const uint8_t uuid[FC_UUID_BYTES], uint64_t header_seq,
		  uint64_t now, struct fc_root *root, uint8_t tag[FC_TAG_BYTES]);

/* Is this the block of the root that was sealed with that tag? */
bool fc_root_has_tag(const uint8_t raw[FC_BLOCK], const uint8_t tag[FC_TAG_BYTES]);

/* Seals (random nonce) and writes root to both copies of a slot: A then B, no
 * sync between or after: the caller syncs. tag returns the seal's tag. */
int fc_root_write(struct fc_io *io, const struct fc_keys *keys, const uint8_t uuid[FC_UUID_BYTES], unsigned slot,
		  const struct fc_root *root, uint8_t tag[FC_TAG_BYTES]);

#endif
