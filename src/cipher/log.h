/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log's records: one chain a session, in a ring of log_bytes at
 * log_offset. Not thread-safe: the caller serialises (fs/journal.c).
 */
#ifndef FC_CIPHER_LOG_H
#define FC_CIPHER_LOG_H

#include "cipher/root.h"

/* Blocks that a payload of n bytes takes. */
static inline uint64_t fc_log_blocks(size_t n)
{
	return (FC_L_PAYLOAD + n + FC_BLOCK - 1) / FC_BLOCK;
}

struct fc_log_place {
	struct fc_io *io;
	struct fc_sessions *sessions;
	uint64_t offset, bytes; /* of the ring in the container */
};

/* Seals payload as the record at *head and writes it (no sync); *head moves to
 * the next. The caller sees to it that the ring has room (records still needed
 * are not reached). acked: highest sequence acknowledged by now.
 * FC_EINVAL: payload larger than the ring, and nothing has changed. On any other
 * failure *head has moved all the same (the nonce is consumed) and the chain
 * must not be continued. */
int fc_log_append(const struct fc_log_place *place, struct fc_log_head *head, const void *payload, size_t n,
		  uint64_t acked);

/* Reads the record at *head into *payload (malloc'ed, the caller frees) and
 * moves *head on. 0; FC_ENOENT: no such record (the chain's end, or torn);
 * FC_ECORRUPT: head lies outside the ring; FC_EFORGED: the session's salt is
 * lost, so no record of it can be told from a torn one; FC_ENOMEM, FC_EIO.
 * *acked (may be NULL) returns the record's mark. Payload is never larger than
 * the ring. */
int fc_log_read(const struct fc_log_place *place, struct fc_log_head *head, uint8_t **payload, size_t *n,
		uint64_t *acked);

/* After FC_ENOENT at head: does any record of the same session with a higher
 * sequence than head->seq open anywhere in the ring? Then the record at head is
 * damaged, not torn (F5). 1, 0 or an error as of fc_log_read. Work is bounded
 * by the ring's size; a ring made to exceed it counts as damaged: 1. */
int fc_log_later(const struct fc_log_place *place, const struct fc_log_head *head);

#endif
