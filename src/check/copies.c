/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What exists twice at a fixed place: header, root records, salt table. */
#include <sodium.h>
#include <stdlib.h>

#include "check/checker.h"

#define SECTOR 512u

static const char writes_anew[] = "written anew";
static const uint64_t header_offset[2] = { FC_HEADER_A, FC_HEADER_B };
static const uint64_t root_offset[2] = { FC_ROOT_A, FC_ROOT_B };
static const uint64_t salts_offset[2] = { FC_SALTS_A, FC_SALTS_B };

/* What a reading error makes of a copy; notes those of the disk. */
static const char *how(struct fc_checker *c, int error)
{
	if (error == FC_EIO)
		c->disk_error = true;
	return error == FC_ENOENT ? "is empty" : error == FC_EIO ? "cannot be read" : "does not authenticate";
}

/* ---- header ------------------------------------------------------------------ */

/* The newest copy begins or ends a rekey, and the other one is the header before it. */
static bool rekey_wrote(const struct fc_checker *c, const struct fc_headers *h, int best)
{
	const struct fc_keys *old = c->keys->old;

	if (h->status[!best] || (!h->copy[best].rekeying && !h->copy[!best].rekeying))
		return false;
	return !fc_header_verify(h->raw[!best], c->keys->header) ||
	       (old && !fc_header_verify(h->raw[!best], old->header));
}

static void judge_headers(struct fc_checker *c, const struct fc_headers *h, const int status[2], int best)
{
	int i;

	for (i = 0; i < 2; i++) {
		const char *wrong = status[i] ? how(c, status[i]) : "is older than the other one";

		c->header_bad[i] = status[i] || h->copy[i].sequence != h->copy[best].sequence;
		if (c->header_bad[i] && rekey_wrote(c, h, best))
			fc_find_note(c, FC_CHECK_HEADER, 0,
				     "a copy of the header is the one before: a rekey was interrupted while it wrote "
				     "it; whoever mounts next goes on");
		else if (c->header_bad[i])
			fc_find(c, FC_CHECK_HEADER, 0, writes_anew, "copy %c of the header %s", 'A' + i, wrong);
	}
}

static int check_headers(struct fc_checker *c)
{
	struct fc_headers *h = malloc(sizeof(*h));
	int status[2], best = -1, i, r;

	if (!h)
		return FC_ENOMEM;
	r = fc_headers_load(c->io, h);
	if (!r) {
		best = fc_headers_verified(h, c->keys->header);
		r = best < 0 ? best : 0;
	}
	if (!r) {
		for (i = 0; i < 2; i++)
			status[i] = h->status[i] ? h->status[i] : fc_header_verify(h->raw[i], c->keys->header);
		c->header = h->copy[best];
		memcpy(c->result->uuid, c->header.uuid, FC_UUID_BYTES);
		r = fc_keys_open_old(c->keys, &c->header);
		judge_headers(c, h, status, best);
		if (!r && c->options->repair && c->header.ro_compat & ~FC_RO_COMPAT_KNOWN)
			r = FC_ENEWER;
	}
	free(h);
	return r;
}

/* ---- roots ----------------------------------------------------------------------- */

static void bad_root(struct fc_checker *c, unsigned slot, unsigned copy, const char *wrong)
{
	c->root_bad = c->commit = true;
	fc_find(c, FC_CHECK_ROOT, 0, writes_anew, "copy %c of root record %u %s", 'A' + (int)copy, slot, wrong);
}

/* A copy that opens: is it the one that should be there, and all of it? */
static int judge_root(struct fc_checker *c, unsigned slot, unsigned copy)
{
	uint8_t raw[FC_BLOCK];
	int r = fc_io_read(c->io, raw, sizeof(raw), root_offset[copy] + slot * FC_BLOCK);
	bool newest;

	if (r)
		return r;
	newest = !memcmp(raw + FC_ROOT_SECTOR - FC_TAG_BYTES, c->roots.tag[slot], FC_TAG_BYTES);
	/* copy B of the newest may not have reached the disk when the power went: the next writer makes it good first */
	if (!newest && (!copy || (int)slot != c->roots.newest))
		bad_root(c, slot, copy, "is older than the other one");
	if (!sodium_is_zero(raw + FC_ROOT_SECTOR, sizeof(raw) - FC_ROOT_SECTOR))
		bad_root(c, slot, copy, "is followed by bytes where none belong");
	return 0;
}

/* An old header opens with keys that were taken out. */
static int check_header_age(struct fc_checker *c, const struct fc_root *root)
{
	uint64_t sequence = c->options->header_sequence ? c->options->header_sequence : c->header.sequence;

	if (sequence >= root->header_seq)
		return 0;
	fc_find(c, FC_CHECK_HEADER, 0, NULL, "the header is older than the one that the root accepts: it was put back");
	return FC_EOLDER;
}

static int check_roots(struct fc_checker *c)
{
	struct fc_check_result *res = c->result;
	const struct fc_root *root;
	unsigned slot, copy;
	int r = fc_roots_load(c->io, c->keys, c->header.uuid, &c->roots);

	for (slot = 0; slot < FC_ROOT_SLOTS; slot++)
		for (copy = 0; copy < 2; copy++) {
			int status = c->roots.status[slot][copy];

			if (status)
				bad_root(c, slot, copy, how(c, status));
			else if (!r)
				r = judge_root(c, slot, copy);
		}
	if (r)
		return r;
	root = &c->roots.root[c->roots.newest];
	res->newest_lost = c->roots.doubtful;
	res->older = root->generation < c->options->seen_generation ||
		     (root->generation == c->options->seen_generation &&
		      memcmp(c->roots.tag[c->roots.newest], c->options->seen_tag, FC_TAG_BYTES));
	if (c->roots.doubtful)
		fc_find(c, FC_CHECK_ROOT, 0, "given up: the older state is gone on from",
			"a root record that may be the newest cannot be read; the older state of generation %llu can",
			(unsigned long long)root->generation);
	return check_header_age(c, root);
}

static uint64_t salts_at(unsigned copy, uint32_t index)
{
	return salts_offset[copy] + (uint64_t)(index % FC_SALT_BLOCKS) * FC_BLOCK;
}

/* ---- salts -------------------------------------------------------------------------- */

enum { SOUND, TORN, UNSURE, BAD };

/* A write that a power cut tore leaves whole sectors, old ones and new ones; the
 * other copy has the old ones, or the new ones. After several of them, none of its
 * sectors need be left: that may be another block, too. */
static int compare_sectors(const uint8_t *bad, const uint8_t *good)
{
	unsigned at, i, same = 0;

	for (at = 0; at < FC_BLOCK; at += SECTOR) {
		unsigned differ = 0;

		for (i = 0; i < SECTOR; i++)
			differ += bad[at + i] != good[at + i];
		if (differ && (differ < SECTOR / 2 || sodium_is_zero(bad + at, SECTOR)))
			return BAD;
		same += !differ;
	}
	return same ? TORN : UNSURE;
}

/* Only the block that the next mount writes to can have been torn; in a rekey also the
 * one that the next mount would have written to before, and the first of the new key. */
static bool may_be_torn(const struct fc_checker *c, uint32_t index)
{
	struct fc_session_range range;

	fc_sessions_range(c->sessions, &range);
	return index == range.count / FC_SALTS_PER_BLOCK ||
	       (range.count < range.own && index == (range.own - 1) / FC_SALTS_PER_BLOCK) ||
	       (range.old_last && index == range.old_last / FC_SALTS_PER_BLOCK);
}

static int judge_salts(struct fc_checker *c, uint32_t index, unsigned copy, const int status[2])
{
	uint8_t bad[FC_BLOCK], good[FC_BLOCK];

	if (!status[copy])
		return SOUND;
	if (status[1 - copy] || !may_be_torn(c, index) || fc_io_read(c->io, bad, FC_BLOCK, salts_at(copy, index)) ||
	    fc_io_read(c->io, good, FC_BLOCK, salts_at(1 - copy, index)))
		return BAD;
	return compare_sectors(bad, good);
}

static int check_salt_block(struct fc_checker *c, uint32_t index)
{
	int status[2];
	unsigned copy;

	fc_sessions_copies(c->sessions, c->io, index, status);
	for (copy = 0; copy < 2; copy++) {
		int verdict = judge_salts(c, index, copy, status);
		uint32_t *bad;

		if (verdict == UNSURE)
			fc_find_note(
				c, FC_CHECK_SALTS, 0,
				"a copy of a block of the salt table does not authenticate: a power cut while it was "
				"written, or damage; the other one serves");
		if (verdict == BAD)
			fc_find(c, FC_CHECK_SALTS, 0, writes_anew, "copy %c of block %u of the salt table %s",
				'A' + (int)copy, index, how(c, status[copy]));
		if (verdict == SOUND)
			continue;
		bad = fc_list_add(&c->salts_bad, sizeof(*bad));
		if (!bad)
			return FC_ENOMEM;
		*bad = 2 * index + copy;
	}
	return 0;
}

/* Blocks of sessions from..to. */
static int check_salt_blocks(struct fc_checker *c, uint32_t from, uint32_t to)
{
	uint32_t index;
	int r = 0;

	for (index = from / FC_SALTS_PER_BLOCK; !r && from <= to && index * FC_SALTS_PER_BLOCK < to; index++)
		r = check_salt_block(c, index);
	return r;
}

static int check_salts(struct fc_checker *c)
{
	int newest = c->roots.newest, r;
	struct fc_session_range range;

	fc_root_sessions(&c->roots.root[newest], c->roots.old_key[newest], &range);
	r = fc_sessions_load_range(c->io, c->keys, c->header.cipher, c->header.uuid, &range, &c->sessions);
	if (!r && range.old_last)
		r = check_salt_blocks(c, range.first, range.old_last);
	return r ? r : check_salt_blocks(c, range.own, range.count);
}

/* ---- all -------------------------------------------------------------------------------- */

/* Can the topmost node of a root's file tree be read? */
static bool opens(struct fc_checker *c, const struct fc_root *root)
{
	struct fc_forest forest = { .io = c->io, .sessions = c->sessions };
	struct fc_tree tree = { .forest = &forest, .kind = FC_TREE_FILE, .root = root->file_tree };
	uint8_t *raw = malloc(FC_NODE_BYTES);
	int r = raw ? fc_tree_read(&tree, &root->file_tree, raw) : FC_ENOMEM;

	free(raw);
	if (r == FC_EIO)
		c->disk_error = true;
	return !r;
}

static void check_tops(struct fc_checker *c)
{
	int newest = c->roots.newest, other = 1 - newest;
	const struct fc_root *root = &c->roots.root[newest], *older = &c->roots.root[other];

	c->root_readable = opens(c, root);
	c->older_readable = (!c->roots.status[other][0] || !c->roots.status[other][1]) && opens(c, older);
	if (c->root_readable)
		return;
	c->result->newest_lost = true;
	if (c->older_readable)
		fc_find(c, FC_CHECK_NODE, 0, "given up: the older state is gone on from",
			"the topmost node of the newest tree of files cannot be read; the older one of generation %llu "
			"can",
			(unsigned long long)older->generation);
	else
		fc_find(c, FC_CHECK_NODE, 0, NULL, "the topmost node of the tree of files cannot be read");
}

int fc_check_copies(struct fc_checker *c)
{
	int r = check_headers(c);

	if (!r)
		r = check_roots(c);
	if (!r)
		r = check_salts(c);
	if (!r)
		check_tops(c);
	return r;
}

static int mend_header(struct fc_checker *c)
{
	uint8_t raw[FC_HEADER_BYTES];
	int i, r = 0;

	for (i = 0; !r && i < 2; i++) {
		if (!c->header_bad[i])
			continue;
		fc_header_encode(&c->header, header_offset[i], c->keys->header, raw);
		r = fc_io_write(c->io, raw, sizeof(raw), header_offset[i]);
		c->result->changed = true;
	}
	return r ? r : fc_io_sync(c->io);
}

/* The same bytes as in the other copy: nothing is sealed anew. */
static int copy_salts(struct fc_checker *c, uint32_t index, unsigned to)
{
	uint8_t raw[FC_BLOCK];
	int r = fc_io_read(c->io, raw, sizeof(raw), salts_at(1 - to, index));

	return r ? r : fc_io_write(c->io, raw, sizeof(raw), salts_at(to, index));
}

static int mend_salts(struct fc_checker *c)
{
	const uint32_t *bad = c->salts_bad.at;
	size_t i;
	int r = 0;

	for (i = 0; !r && i < c->salts_bad.n; i++) {
		uint32_t index = bad[i] / 2;

		c->result->changed = true;
		if (i + 1 < c->salts_bad.n && bad[i + 1] / 2 == index) {
			r = fc_sessions_renew(c->fs->sessions, c->io, index);
			i++;
		} else {
			r = copy_salts(c, index, bad[i] % 2);
		}
	}
	return r ? r : fc_io_sync(c->io);
}

int fc_mend_copies(struct fc_checker *c)
{
	int r = c->header_bad[0] || c->header_bad[1] ? mend_header(c) : 0;

	return r || !c->salts_bad.n ? r : mend_salts(c);
}
