/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "damage.h"

#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "fs/state.h"

const char *const damage_names[DAMAGES] = { "flipped", "swapped", "zeroed", "punched", "replayed" };
const char *const place_names[PLACE_KINDS] = { "header", "root", "salts", "log", "node", "data" };

struct places {
	struct place *at;
	size_t n, room;
};

static void add(struct places *p, uint64_t block, uint64_t blocks, enum place_kind kind)
{
	while (blocks--) {
		if (p->n == p->room) {
			p->room = p->room * 2 + 256;
			p->at = realloc(p->at, p->room * sizeof(*p->at));
			if (!p->at)
				abort();
		}
		p->at[p->n++] = (struct place){ .block = block++, .kind = kind };
	}
}

static void add_fixed(struct places *p, const struct fc_root *root)
{
	uint64_t salts = (root->sessions + FC_SALTS_PER_BLOCK - 1) / FC_SALTS_PER_BLOCK;

	add(p, FC_HEADER_A / FC_BLOCK, FC_HEADER_BYTES / FC_BLOCK, PLACE_HEADER);
	add(p, FC_HEADER_B / FC_BLOCK, FC_HEADER_BYTES / FC_BLOCK, PLACE_HEADER);
	add(p, FC_ROOT_A / FC_BLOCK, FC_ROOT_SLOTS, PLACE_ROOT);
	add(p, FC_ROOT_B / FC_BLOCK, FC_ROOT_SLOTS, PLACE_ROOT);
	add(p, FC_SALTS_A / FC_BLOCK, salts, PLACE_SALTS);
	add(p, FC_SALTS_B / FC_BLOCK, salts, PLACE_SALTS);
}

/* The records that replaying reads. */
static void add_log(struct places *p, struct fc_fs *fs)
{
	struct fc_log_head head = fs->root.log, next = head;
	uint8_t *payload;
	size_t n;

	while (head.session && !fc_log_read(&fs->log, &next, &payload, &n, NULL)) {
		uint64_t blocks = fc_log_blocks(n), i;

		free(payload);
		for (i = 0; i < blocks; i++)
			add(p, (fs->log.offset + (head.pos + i * FC_BLOCK) % fs->log.bytes) / FC_BLOCK, 1, PLACE_LOG);
		head = next;
	}
}

static bool is_pending(const struct fc_space *s, uint64_t block)
{
	size_t i, k;

	for (i = 0; i < FC_PENDINGS; i++)
		for (k = 0; k < s->pending[i].count; k++)
			if (block - s->pending[i].range[k].start < s->pending[i].range[k].count)
				return true;
	return false;
}

static void add_space(struct places *p, const struct fc_space *s)
{
	size_t i;
	unsigned at;

	for (i = 0; i < s->chunks; i++)
		for (at = 0; s->chunk[i].map && at < FC_CHUNK_BLOCKS; at++) {
			uint64_t block = (s->first_chunk + i) * FC_CHUNK_BLOCKS + at;

			if (!(s->chunk[i].map[at / 64] >> (at % 64) & 1))
				continue;
			add(p, block, 1, s->chunk[i].kind == FC_CHUNK_NODES ? PLACE_NODE : PLACE_DATA);
			p->at[p->n - 1].pending = is_pending(s, block);
		}
}

struct place *damage_places(const struct fc_io *sim, size_t *count, unsigned *depth)
{
	struct places p = { 0 };
	struct fc_fs *fs;

	if (box_open(sim, true, false, &fs))
		return NULL;
	add_fixed(&p, &fs->root);
	add_log(&p, fs);
	add_space(&p, &fs->forest.space);
	*depth = fs->root.file_tree.level + 1u;
	fc_fs_abandon(fs);
	*count = p.n;
	return p.at;
}

/* ---- damaging ----------------------------------------------------------------------- */

static bool write_block(struct fc_io *io, uint64_t block, const uint8_t *bytes)
{
	return !fc_io_write(io, bytes, FC_BLOCK, block * FC_BLOCK);
}

static bool damage(struct fc_io *io, const struct box *box, enum damage how, uint64_t block, uint64_t other,
		   uint64_t seed)
{
	uint8_t was[FC_BLOCK], now[FC_BLOCK];
	uint64_t random = content_word(seed, block);

	if (fc_io_read(io, was, FC_BLOCK, block * FC_BLOCK))
		return false;
	memcpy(now, was, FC_BLOCK);
	switch (how) {
	case DAMAGE_FLIP:
		now[random % FC_BLOCK] ^= (uint8_t)(1u << (random >> 32 & 7));
		break;
	case DAMAGE_SWAP:
		if (fc_io_read(io, now, FC_BLOCK, other * FC_BLOCK) || !write_block(io, other, was))
			return false;
		break;
	case DAMAGE_ZERO:
		memset(now, 0, FC_BLOCK);
		break;
	case DAMAGE_PUNCH:
		return !fc_io_punch(io, block * FC_BLOCK, FC_BLOCK) && memcmp(now, memset(was, 0, FC_BLOCK), FC_BLOCK);
	default:
		if (fc_io_read(box->older, now, FC_BLOCK, block * FC_BLOCK))
			return false;
	}
	return memcmp(was, now, FC_BLOCK) && write_block(io, block, now);
}

struct fc_io *damage_make(const struct box *box, enum damage how, const struct place *place, const struct place *other,
			  uint64_t seed)
{
	struct fc_io *io = fc_io_sim_clone(box->sim);

	if (io && !damage(io, box, how, place->block, other ? other->block : place->block, seed)) {
		fc_io_close(io);
		return NULL;
	}
	return io;
}
