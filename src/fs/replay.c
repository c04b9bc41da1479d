/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * After a crash: the operations in the log are applied to the newest root's
 * state. First all blocks that they refer to are claimed, so that nothing that
 * is allocated while applying can land on them.
 *
 * All records but the last were acknowledged (format.h F5), so their data is on
 * the disk. The last one may be a torn tail: when its data does not open, it
 * never happened.
 */
#include <stdlib.h>

#include "fs/state.h"

struct records {
	struct {
		uint8_t *payload;
		size_t n;
	} * record;
	size_t count, room;
};

static void free_records(struct records *rec)
{
	size_t i;

	for (i = 0; i < rec->count; i++)
		free(rec->record[i].payload);
	free(rec->record);
}

static int read_records(struct fc_fs *fs, struct records *rec, struct fc_log_head *head)
{
	uint64_t live = 0;
	int r;

	for (;;) {
		uint8_t *payload;
		uint64_t before = head->seq;
		size_t n;

		r = fc_log_read(&fs->log, head, &payload, &n, NULL);
		if (r)
			break;
		live += fc_log_blocks(n) * FC_BLOCK;
		if (rec->count == rec->room) {
			size_t room = rec->room * 2 + 64;
			void *grown = realloc(rec->record, room * sizeof(*rec->record));

			if (!grown) {
				free(payload);
				return FC_ENOMEM;
			}
			rec->record = grown;
			rec->room = room;
		}
		rec->record[rec->count].payload = payload;
		rec->record[rec->count++].n = n;
		if (head->seq != before + 1 || live > fs->log.bytes)
			return FC_ECORRUPT;
	}
	if (r != FC_ENOENT)
		return r;
	r = fc_log_later(&fs->log, head);
	if (r > 0) {
		fc_fs_log(fs, 2, "a record in the middle of the log is damaged");
		return fs->options.accept_older && !fs->damage ? 0 : FC_EFORGED;
	}
	return r;
}

/* The log is of use only up to this record. Whoever checks goes on with that. */
static int log_ends(struct fc_fs *fs, int error, uint64_t seq)
{
	if (!fs->damage || !error || error == FC_ENOMEM)
		return error;
	fs->damage->log = error;
	fs->damage->log_seq = seq;
	return 0;
}

typedef int (*visit)(struct fc_fs *fs, const struct fc_op *op);

static int each_op(struct fc_fs *fs, const uint8_t *payload, size_t n, visit fn)
{
	size_t at = 0, used;

	while (at < n) {
		struct fc_op op;
		int r = fc_op_decode(&op, payload + at, n - at, &used);

		if (!r)
			r = fn(fs, &op);
		if (r)
			return r;
		at += used;
	}
	return 0;
}

static int map_extent(const struct fc_op *op, struct fc_extent *e)
{
	struct fc_item item = { .key = fc_key(op->ino, FC_KEY_EXTENT, op->off), .data = op->data.p };

	item.bytes = op->data.n > FC_ITEM_MAX ? 0 : (uint16_t)op->data.n;
	return fc_extent_decode(e, &item);
}

/* Does the data that the operation refers to open? */
static int verify(struct fc_fs *fs, const struct fc_op *op)
{
	struct fc_extent e;
	uint8_t *buf;
	int r;

	if (op->kind != FC_OP_MAP)
		return 0;
	r = map_extent(op, &e);
	if (r)
		return r;
	buf = malloc((size_t)e.units * FC_UNIT);
	if (!buf)
		return FC_ENOMEM;
	r = fc_extent_read(fs, &e, 0, e.units, buf);
	free(buf);
	return r;
}

static int claim(struct fc_fs *fs, const struct fc_op *op)
{
	struct fc_extent e;
	int r;

	if (op->kind != FC_OP_MAP)
		return 0;
	r = map_extent(op, &e);
	return r ? r : fc_space_claim(&fs->forest, e.start, e.units);
}

/* An operation that was acknowledged must not be left out in silence: who needs
 * a node that cannot be read for it must not go on (but check, which tells). */
static int apply(struct fc_fs *fs, const struct fc_op *op)
{
	uint64_t ino = op->ino ? op->ino : op->parent;
	int r = fc_node_cache_reserve(&fs->forest.cache, FC_TREE_SPARES);

	if (!r)
		r = fc_space_pend_reserve(&fs->forest, FC_TREE_SPARES);
	if (!r)
		r = fc_apply(fs, op);
	if (!r || r == FC_ENOMEM)
		return r;
	if (fs->damage) {
		if (op->kind == FC_OP_CREATE)
			fc_fs_took_ino(fs, op->ino); /* its number may be known elsewhere */
		fs->damage->skipped(fs->damage->arg, ino, r);
		return 0;
	}
	fc_fs_log(fs, 2, "the log cannot be replayed on inode %llu: %s", (unsigned long long)ino, fc_error_text(r));
	return r == FC_EIO || r == FC_EFORGED || r == FC_ENOSPC ? r : FC_ECORRUPT;
}

/* Claims that no mapping took up (their operation could not be replayed). */
static void cancel_rest(struct fc_fs *fs)
{
	while (fs->forest.space.inflights) {
		struct fc_range range = fs->forest.space.inflight[0];

		fc_space_cancel(&fs->forest, &range);
	}
}

/* The number of records up to the first that an operation of fails in; *error. */
static size_t each_record(struct fc_fs *fs, const struct records *rec, visit fn, int *error)
{
	size_t i;

	for (i = 0; i < rec->count; i++) {
		*error = each_op(fs, rec->record[i].payload, rec->record[i].n, fn);
		if (*error)
			break;
	}
	return i;
}

static int claim_all(struct fc_fs *fs, const struct records *rec)
{
	int r = 0;

	each_record(fs, rec, claim, &r);
	if (!r || r == FC_ENOMEM || !fs->damage || fs->damage->space)
		return r;
	/* what the log's blocks should be is taken by the space tree: that is wrong, then */
	cancel_rest(fs);
	r = fc_fs_drop_space(fs, r);
	if (!r)
		each_record(fs, rec, claim, &r);
	return r;
}

/* The last record may never have been acknowledged: it goes when its data is not there. */
static int drop_torn(struct fc_fs *fs, struct records *rec)
{
	int r;

	if (!rec->count || (fs->damage && fs->damage->log))
		return 0;
	r = each_op(fs, rec->record[rec->count - 1].payload, rec->record[rec->count - 1].n, verify);
	if (r == FC_EFORGED) {
		free(rec->record[--rec->count].payload);
		if (fs->damage)
			fs->damage->log_torn = true;
		return 0;
	}
	return fs->damage && r != FC_ENOMEM ? 0 : r;
}

static int replay_records(struct fc_fs *fs, struct records *rec)
{
	size_t done = 0;
	int r = drop_torn(fs, rec);

	if (!r)
		r = claim_all(fs, rec);
	if (!r)
		done = each_record(fs, rec, apply, &r);
	if (fs->damage)
		fs->damage->log_records = done;
	return log_ends(fs, r, fs->root.log.seq + done);
}

int fc_replay(struct fc_fs *fs)
{
	struct fc_log_head head = fs->root.log;
	struct records rec = { 0 };
	int r = 0;

	if (head.session) {
		r = read_records(fs, &rec, &head);
		r = log_ends(fs, r, head.seq);
	}
	if (!r) {
		fs->replaying = true;
		r = replay_records(fs, &rec);
		fs->replaying = false;
		cancel_rest(fs);
	}
	if (!r && rec.count) {
		fs->dirty_root = true;
		fc_fs_log(fs, 5, "%zu log records replayed", rec.count);
	}
	free_records(&rec);
	return r;
}
