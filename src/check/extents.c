/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The extents of a file: in order, in blocks of their own (or shared, which
 * space.c counts), and each unit opens. Where a part of the tree is lost and the
 * inode tells that blocks are missing, gaps are not holes: what was there must
 * not read as zeros.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "check/checker.h"

static void lose(struct fc_checker *c, uint64_t block, uint64_t blocks)
{
	const struct fc_current *cur = &c->cur;
	uint64_t clip = cur->has ? cur->inode.size : UINT64_MAX;

	fc_find_data(c, cur->ino, block, blocks, clip, false);
	fc_mend(c, FC_MEND_LOSE, fc_key(cur->ino, FC_KEY_EXTENT, block), blocks, 0);
}

/* ---- content ------------------------------------------------------------------- */

struct run {
	uint64_t block, blocks;
};

static void end_run(struct fc_checker *c, struct run *run)
{
	if (run->blocks)
		lose(c, run->block, run->blocks);
	run->blocks = 0;
}

static void bad_unit(struct fc_checker *c, struct run *run, uint64_t block)
{
	if (run->blocks && run->block + run->blocks != block)
		end_run(c, run);
	if (!run->blocks++)
		run->block = block;
}

/* Reads the extent's blocks, one by one where the disk gives errors: *got. */
static void read_blocks(struct fc_checker *c, const struct fc_extent *e, uint64_t *got)
{
	uint32_t i;

	*got = UINT64_MAX;
	if (!fc_io_read(c->io, c->data, (size_t)e->units * FC_UNIT, e->start * FC_BLOCK))
		return;
	c->disk_error = true;
	for (i = 0; i < e->units; i++)
		if (fc_io_read(c->io, c->data + (size_t)i * FC_UNIT, FC_UNIT, (e->start + i) * FC_BLOCK))
			*got &= ~(1ull << i);
}

static int read_extent(struct fc_checker *c, const struct fc_extent *e)
{
	struct run run = { 0 };
	struct fc_aead *aead;
	uint64_t got;
	uint32_t i;
	int r = fc_sessions_aead(c->fs->sessions, e->session, FC_PURPOSE_DATA, &aead);

	if (r == FC_ENOMEM)
		return r;
	read_blocks(c, e, &got);
	for (i = 0; i < e->units; i++) {
		uint8_t *unit = c->data + (size_t)i * FC_UNIT;

		if (fc_page_find(c->fs, c->cur.ino, e->file_block + i))
			continue; /* the log has newer content for it */
		if (r || !(got >> i & 1) ||
		    fc_aead_open(aead, e->nonce + i, NULL, 0, unit, FC_UNIT, unit, e->tags + (size_t)i * FC_TAG_BYTES))
			bad_unit(c, &run, e->file_block + i);
		else
			c->result->data_blocks++;
	}
	end_run(c, &run);
	return fc_check_pause(c, e->units);
}

/* ---- places ---------------------------------------------------------------------- */

/* Blocks of the file that have content before its end. */
static uint64_t end_of(const struct fc_inode *inode)
{
	return (inode->size + FC_BLOCK - 1) >> FC_BLOCK_SHIFT;
}

static struct fc_key extent_key(const struct fc_checker *c, uint64_t block)
{
	return fc_key(c->cur.ino, FC_KEY_EXTENT, block);
}

/* A gap before file block `end`: what of it may have been lost is taken down. */
static int note_gap(struct fc_checker *c, uint64_t end)
{
	struct fc_current *cur = &c->cur;
	uint64_t at = cur->next, stop = end, part;
	struct fc_key from, to;

	if (cur->has && stop > end_of(&cur->inode))
		stop = end_of(&cur->inode);
	for (; at < stop && fc_check_lost(c, extent_key(c, at), extent_key(c, stop), &from, &to); at += part) {
		struct fc_mend *gap = fc_list_add(&cur->gaps, sizeof(*gap));

		if (!gap)
			return FC_ENOMEM;
		if (from.ino == cur->ino && from.type == FC_KEY_EXTENT && from.off > at)
			at = from.off;
		part = stop - at;
		/* the last extent that is lost may reach further than where the next item could begin */
		if (to.ino == cur->ino && to.type == FC_KEY_EXTENT && to.off - at < part &&
		    part - (to.off - at) > FC_CHUNK_BLOCKS)
			part = to.off - at + FC_CHUNK_BLOCKS;
		gap->key.off = at;
		gap->a = part;
	}
	return 0;
}

bool fc_check_extents_end(struct fc_checker *c, bool known)
{
	struct fc_current *cur = &c->cur;
	size_t i;

	if (known && (!S_ISREG(cur->inode.mode) || cur->inode.blocks <= cur->blocks))
		return false;
	if (known && note_gap(c, end_of(&cur->inode)))
		c->no_memory = true;
	for (i = 0; i < cur->gaps.n; i++) {
		const struct fc_mend *gap = FC_LIST_AT(&cur->gaps, struct fc_mend, i);

		lose(c, gap->key.off, gap->a);
	}
	return cur->gaps.n > 0;
}

/* A part that an earlier repair marked. */
static void note_lost(struct fc_checker *c, const struct fc_extent *e)
{
	if (c->round)
		return;
	fc_find_data(c, c->cur.ino, e->file_block, e->units, c->cur.has ? c->cur.inode.size : UINT64_MAX, true);
	c->result->lost_bytes += (uint64_t)e->units << FC_BLOCK_SHIFT;
}

static int take_blocks(struct fc_checker *c, const struct fc_extent *e)
{
	int r = fc_owners_claim_data(&c->owners, e->start, e->units);

	if (r < 0)
		return r;
	if (r > 0) {
		fc_find(c, FC_CHECK_SPACE, c->cur.ino, NULL, "its block %llu lies where there is no data",
			(unsigned long long)e->start);
		if (e->session)
			lose(c, e->file_block, e->units);
		else
			fc_mend(c, FC_MEND_CLEAR, fc_key(c->cur.ino, FC_KEY_EXTENT, e->file_block), e->units, 0);
		return 0;
	}
	return c->round || !e->session ? 0 : read_extent(c, e);
}

int fc_check_extent(struct fc_checker *c, const struct fc_item *item)
{
	struct fc_current *cur = &c->cur;
	struct fc_extent e;
	uint64_t end;
	int r = fc_extent_decode(&e, item);

	if (r || e.file_block < cur->next) {
		fc_check_bad_item(c, FC_CHECK_DATA, item->key, "an extent that makes no sense");
		return 0;
	}
	r = note_gap(c, e.file_block);
	if (r)
		return r;
	end = e.file_block + e.units;
	cur->next = end;
	cur->blocks += e.units;
	if (cur->has && e.session && end > end_of(&cur->inode) && !cur->beyond)
		cur->beyond = e.file_block > end_of(&cur->inode) ? e.file_block : end_of(&cur->inode);
	if (fc_extent_lost(&e)) {
		note_lost(c, &e);
		return 0;
	}
	return take_blocks(c, &e);
}
