/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "cipher/log.h"
#include "util/break.h"
#include "util/le.h"

#define RECORD_AD_BYTES FC_L_TAG
#define SCAN_BYTES FC_LOG_ALIGN

struct record {
	uint32_t session, bytes;
	uint64_t blocks, seq, acked;
};

static bool place_valid(const struct fc_log_place *place, const struct fc_log_head *head)
{
	return place->bytes && place->bytes % FC_LOG_ALIGN == 0 && place->bytes <= FC_LOG_MAX &&
	       head->pos < place->bytes && head->pos % FC_BLOCK == 0;
}

/* ---- the ring -------------------------------------------------------------------- */

/* n bytes, at most the ring, from pos on and around its end. */
static int ring_read(const struct fc_log_place *place, uint64_t pos, uint8_t *buf, size_t n)
{
	uint64_t left = place->bytes - pos;
	size_t part = n < left ? n : (size_t)left;
	int rc = fc_io_read(place->io, buf, part, place->offset + pos);

	return rc || part == n ? rc : fc_io_read(place->io, buf + part, n - part, place->offset);
}

static int ring_write(const struct fc_log_place *place, uint64_t pos, const uint8_t *buf, size_t n)
{
	uint64_t left = place->bytes - pos;
	size_t part = n < left ? n : (size_t)left;
	int rc = fc_io_write_bulk(place->io, buf, part, place->offset + pos);

	return rc || part == n ? rc : fc_io_write_bulk(place->io, buf + part, n - part, place->offset);
}

static void head_move(const struct fc_log_place *place, struct fc_log_head *head, uint64_t blocks,
		      const uint8_t tag[FC_TAG_BYTES])
{
	head->seq++;
	head->pos = (head->pos + blocks * FC_BLOCK) % place->bytes;
	memcpy(head->tag, tag, FC_TAG_BYTES);
}

/* ---- appending --------------------------------------------------------------------- */

static void record_header(const struct fc_log_head *head, size_t n, uint64_t acked, uint8_t *raw)
{
	memset(raw, 0, FC_L_PAYLOAD);
	fc_put_u32(raw + FC_L_MAGIC, FC_LOG_MAGIC);
	fc_put_u32(raw + FC_L_BLOCKS, (uint32_t)fc_log_blocks(n));
	fc_put_u32(raw + FC_L_SESSION, head->session);
	fc_put_u32(raw + FC_L_BYTES, (uint32_t)n);
	fc_put_u64(raw + FC_L_SEQ, head->seq);
	memcpy(raw + FC_L_PREV, head->tag, FC_TAG_BYTES);
	fc_put_u64(raw + FC_L_ACKED, acked);
}

int fc_log_append(const struct fc_log_place *place, struct fc_log_head *head, const void *payload, size_t n,
		  uint64_t acked)
{
	uint8_t tag[FC_TAG_BYTES] = { 0 }, *raw;
	struct fc_aead *aead;
	uint64_t blocks;
	size_t room;
	int rc;

	if (!place_valid(place, head) || n > place->bytes || fc_log_blocks(n) > place->bytes / FC_BLOCK)
		return FC_EINVAL;
	blocks = fc_log_blocks(n);
	room = (size_t)blocks * FC_BLOCK;
	raw = aligned_alloc(FC_IO_ALIGN, room); /* past the host's page cache the sync that follows is faster */
	rc = raw ? fc_sessions_aead(place->sessions, head->session, FC_PURPOSE_LOG, &aead) : FC_ENOMEM;
	if (!rc) {
		record_header(head, n, acked, raw);
		if (FC_BROKEN(CHAIN))
			memset(raw + FC_L_PREV, 0, FC_TAG_BYTES);
		rc = fc_aead_seal(aead, head->seq, raw, RECORD_AD_BYTES, payload, n, raw + FC_L_PAYLOAD, tag);
	}
	if (!rc) {
		memcpy(raw + FC_L_TAG, tag, FC_TAG_BYTES);
		memset(raw + FC_L_PAYLOAD + n, 0, room - FC_L_PAYLOAD - n);
		rc = ring_write(place, head->pos, raw, room);
	}
	free(raw);
	head_move(place, head, blocks, tag);
	return rc;
}

/* ---- reading --------------------------------------------------------------------------- */

/* raw: FC_L_PAYLOAD bytes of anything. True when they may begin a record that
 * fits into the ring. */
static bool record_parse(const struct fc_log_place *place, const uint8_t *raw, struct record *r)
{
	if (fc_get_u32(raw + FC_L_MAGIC) != FC_LOG_MAGIC)
		return false;
	r->blocks = fc_get_u32(raw + FC_L_BLOCKS);
	r->session = fc_get_u32(raw + FC_L_SESSION);
	r->bytes = fc_get_u32(raw + FC_L_BYTES);
	r->seq = fc_get_u64(raw + FC_L_SEQ);
	r->acked = fc_get_u64(raw + FC_L_ACKED);
	return r->blocks == fc_log_blocks(r->bytes) && r->blocks <= place->bytes / FC_BLOCK;
}

/* Reads and opens the record at pos, whose beginning is raw. *payload: malloc'ed.
 * 0, FC_ENOENT (does not open), FC_ENOMEM, FC_EIO. */
static int record_open(const struct fc_log_place *place, struct fc_aead *aead, uint64_t pos,
		       const uint8_t raw[FC_L_PAYLOAD], const struct record *r, uint8_t **payload)
{
	size_t n = FC_L_PAYLOAD + (size_t)r->bytes;
	uint8_t *whole = malloc(n);
	int rc;

	*payload = NULL;
	if (!whole)
		return FC_ENOMEM;
	rc = ring_read(place, pos, whole, n);
	if (!rc)
		rc = fc_aead_open(aead, r->seq, raw, RECORD_AD_BYTES, whole + FC_L_PAYLOAD, r->bytes, whole,
				  raw + FC_L_TAG);
	if (rc) {
		free(whole);
		return rc == FC_EFORGED ? FC_ENOENT : rc;
	}
	*payload = whole;
	return 0;
}

int fc_log_read(const struct fc_log_place *place, struct fc_log_head *head, uint8_t **payload, size_t *n,
		uint64_t *acked)
{
	uint8_t raw[FC_L_PAYLOAD];
	struct fc_aead *aead;
	struct record r;
	int rc;

	*payload = NULL;
	if (!place_valid(place, head))
		return FC_ECORRUPT;
	rc = fc_sessions_aead(place->sessions, head->session, FC_PURPOSE_LOG, &aead);
	if (!rc)
		rc = ring_read(place, head->pos, raw, sizeof(raw));
	if (rc)
		return rc;
	if (!record_parse(place, raw, &r) || r.session != head->session || r.seq != head->seq ||
	    memcmp(raw + FC_L_PREV, head->tag, FC_TAG_BYTES))
		return FC_ENOENT;
	rc = record_open(place, aead, head->pos, raw, &r, payload);
	if (rc)
		return rc;
	*n = r.bytes;
	if (acked)
		*acked = r.acked;
	head_move(place, head, r.blocks, raw + FC_L_TAG);
	return 0;
}

/* ---- damage or a torn tail --------------------------------------------------------------- */

struct scan {
	const struct fc_log_place *place;
	const struct fc_log_head *head;
	struct fc_aead *aead;
	uint64_t budget; /* bytes that may still be opened */
};

/* 1 when the block at pos begins a later record, 0 or an error. */
static int scan_block(struct scan *scan, uint64_t pos, const uint8_t *block)
{
	struct record r;
	uint8_t *payload;
	int rc;

	if (!record_parse(scan->place, block, &r) || r.session != scan->head->session || r.seq <= scan->head->seq)
		return 0;
	/* Records hardly overlap (a chain that a crash cut off may lie under
	 * another), so what is honest stays below twice the ring. Forged
	 * beginnings could ask for the whole ring at each block. */
	if (r.blocks * FC_BLOCK > scan->budget)
		return 1;
	scan->budget -= r.blocks * FC_BLOCK;
	rc = record_open(scan->place, scan->aead, pos, block, &r, &payload);
	free(payload);
	return rc == FC_ENOENT ? 0 : rc ? rc : 1;
}

int fc_log_later(const struct fc_log_place *place, const struct fc_log_head *head)
{
	struct scan scan = { .place = place, .head = head, .budget = 2 * place->bytes };
	uint8_t *buf;
	uint64_t pos, at;
	int rc;

	if (!place_valid(place, head))
		return FC_ECORRUPT;
	rc = fc_sessions_aead(place->sessions, head->session, FC_PURPOSE_LOG, &scan.aead);
	if (rc)
		return rc;
	buf = malloc(SCAN_BYTES);
	if (!buf)
		return FC_ENOMEM;
	for (pos = 0; !rc && pos < place->bytes; pos += SCAN_BYTES) {
		rc = ring_read(place, pos, buf, SCAN_BYTES);
		for (at = 0; !rc && at < SCAN_BYTES; at += FC_BLOCK)
			rc = scan_block(&scan, pos + at, buf + at);
	}
	free(buf);
	return rc;
}
