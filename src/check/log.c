/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log's chain. Replaying it has been done by opening the fs. */
#include <sodium.h>
#include <stdlib.h>

#include "check/checker.h"
#include "util/le.h"

static void say_end(struct fc_checker *c)
{
	unsigned long long seq = c->damage.log_seq;

	if (c->damage.log == FC_EIO)
		c->disk_error = true;
	if (c->damage.log)
		fc_find(c, FC_CHECK_LOG, 0, "given up: what was synced from then on is lost",
			c->damage.log == FC_ECORRUPT ? "record %llu of the log does not fit what it starts from"
			: c->damage.log == FC_EIO    ? "record %llu of the log cannot be read"
						  : "record %llu of the log does not authenticate, but it was synced",
			seq);
	if (c->damage.log_torn)
		fc_find_note(c, FC_CHECK_LOG, 0,
			     "the last record of the log speaks of content that is not there: taken for one that a "
			     "power cut "
			     "interrupted");
}

/* The rest of a record's last block. */
static int check_padding(struct fc_checker *c, uint64_t pos, size_t n, uint64_t seq)
{
	const struct fc_log_place *place = &c->fs->log;
	uint64_t last = (pos + (fc_log_blocks(n) - 1) * FC_BLOCK) % place->bytes;
	size_t from = (FC_L_PAYLOAD + n) % FC_BLOCK;
	uint8_t raw[FC_BLOCK];
	int r = from ? fc_io_read(c->io, raw, sizeof(raw), place->offset + last) : 0;

	if (!r && from && !sodium_is_zero(raw + from, sizeof(raw) - from))
		fc_find(c, FC_CHECK_LOG, 0, "given up after use",
			"record %llu of the log is followed by bytes where none belong", (unsigned long long)seq);
	return r;
}

/* After the last record: one that was not written to its end? */
static int check_tail(struct fc_checker *c, const struct fc_log_head *head)
{
	uint8_t raw[FC_BLOCK];
	int r = fc_io_read(c->io, raw, sizeof(raw), c->fs->log.offset + head->pos);

	if (!r && fc_get_u32(raw + FC_L_MAGIC) == FC_LOG_MAGIC && fc_get_u32(raw + FC_L_SESSION) == head->session &&
	    fc_get_u64(raw + FC_L_SEQ) == head->seq && !memcmp(raw + FC_L_PREV, head->tag, FC_TAG_BYTES))
		fc_find_note(c, FC_CHECK_LOG, 0, "the log ends with a record that was not written to its end");
	return r;
}

int fc_check_log(struct fc_checker *c)
{
	struct fc_log_head head = c->fs->root.log;
	uint64_t i, pos = 0, seq = 0;
	size_t n = 0;
	int r = 0;

	c->result->log_records = c->damage.log_records;
	say_end(c);
	if (!head.session || c->damage.log)
		return 0;
	for (i = 0; i <= c->fs->log.bytes / FC_BLOCK; i++) {
		struct fc_log_head before = head;
		uint8_t *payload;
		size_t bytes;

		r = fc_log_read(&c->fs->log, &head, &payload, &bytes, NULL);
		if (r)
			break;
		free(payload);
		/* after the last one there may be what an older round of the ring left */
		if (i)
			r = check_padding(c, pos, n, seq);
		if (r)
			break;
		pos = before.pos;
		seq = before.seq;
		n = bytes;
	}
	if (r == FC_ENOENT)
		r = check_tail(c, &head);
	return r == FC_EIO ? 0 : r;
}
