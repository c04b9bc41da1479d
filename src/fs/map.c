/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which blocks hold which part of a file, and getting at their content. */
#include "fs/state.h"

#include <assert.h>
#include <stdlib.h>

#include "util/le.h"

#define EXTENT_RAW_MAX (FC_E_TAGS + FC_EXTENT_UNITS * FC_TAG_BYTES)

static struct fc_key extent_key(uint64_t ino, uint64_t block)
{
	return fc_key(ino, FC_KEY_EXTENT, block);
}

int fc_extent_decode(struct fc_extent *e, const struct fc_item *item)
{
	if (item->bytes < FC_E_TAGS)
		return FC_ECORRUPT;
	e->file_block = item->key.off;
	e->start = fc_get_u64(item->data + FC_E_BLOCK);
	e->units = fc_get_u32(item->data + FC_E_UNITS);
	e->session = fc_get_u32(item->data + FC_E_SESSION);
	e->nonce = fc_get_u64(item->data + FC_E_NONCE);
	e->tags = item->data + FC_E_TAGS;
	if (!e->units || e->file_block > (uint64_t)FC_FILE_MAX >> FC_BLOCK_SHIFT)
		return FC_ECORRUPT;
	if (fc_extent_lost(e))
		return !e->session && !e->nonce && item->bytes == FC_E_TAGS ? 0 : FC_ECORRUPT;
	if (e->start > (uint64_t)INT64_MAX >> FC_BLOCK_SHIFT || e->start % FC_CHUNK_BLOCKS + e->units > FC_CHUNK_BLOCKS)
		return FC_ECORRUPT;
	if (e->session)
		return e->units <= FC_EXTENT_UNITS && item->bytes == FC_E_TAGS + e->units * FC_TAG_BYTES ? 0
													 : FC_ECORRUPT;
	return !e->nonce && item->bytes == FC_E_TAGS ? 0 : FC_ECORRUPT;
}

size_t fc_extent_encode(const struct fc_extent *e, uint8_t *raw)
{
	size_t tags = e->session ? (size_t)e->units * FC_TAG_BYTES : 0;

	fc_put_u64(raw + FC_E_BLOCK, e->start);
	fc_put_u32(raw + FC_E_UNITS, e->units);
	fc_put_u32(raw + FC_E_SESSION, e->session);
	fc_put_u64(raw + FC_E_NONCE, e->nonce);
	if (tags)
		memmove(raw + FC_E_TAGS, e->tags, tags);
	return FC_E_TAGS + tags;
}

int fc_extent_at(struct fc_fs *fs, uint64_t ino, uint64_t block, struct fc_extent *e)
{
	struct fc_item item;
	int r = fc_tree_le(&fs->forest.files, extent_key(ino, block), &item);

	if (!r && item.key.ino == ino && item.key.type == FC_KEY_EXTENT) {
		r = fc_extent_decode(e, &item);
		if (r || e->file_block + e->units > block)
			return r;
	} else if (r && r != FC_ENOENT) {
		return r;
	}
	r = fc_tree_ge_to(&fs->forest.files, extent_key(ino, block), fc_key(ino, FC_KEY_EXTENT + 1, 0), &item);
	if (r)
		return r;
	if (item.key.ino != ino || item.key.type != FC_KEY_EXTENT)
		return FC_ENOENT;
	return fc_extent_decode(e, &item);
}

/* ---- changing ------------------------------------------------------------- */

int fc_map_load(struct fc_fs *fs, uint64_t ino, uint64_t first, uint64_t end)
{
	struct fc_extent e;
	uint64_t at = first;
	size_t pieces = FC_TREE_SPARES; /* that may become free */
	int r = fc_tree_load(&fs->forest.files, extent_key(ino, end));

	if (!r)
		r = fc_tree_load(&fs->forest.files, extent_key(ino, first));
	while (!r && at < end) {
		r = fc_extent_at(fs, ino, at, &e);
		if (r == FC_ENOENT || (!r && e.file_block >= end))
			return 0;
		if (!r && fs->forest.space.shared && !fc_extent_lost(&e))
			r = fc_space_load_refs(&fs->forest, e.start, e.units);
		pieces += fs->forest.space.shared ? e.units : 1;
		if (!r)
			r = fc_space_pend_reserve(&fs->forest, pieces);
		at = e.file_block + e.units;
	}
	return r;
}

/* Puts back the part of e that starts at unit `from` and has `units`. */
static void keep_part(struct fc_fs *fs, uint64_t ino, const struct fc_extent *e, uint32_t from, uint32_t units)
{
	uint8_t raw[EXTENT_RAW_MAX];
	struct fc_extent part = *e;

	if (!units)
		return;
	part.file_block += from;
	part.start += fc_extent_lost(e) ? 0 : from;
	part.units = units;
	part.nonce += from;
	part.tags += (size_t)from * FC_TAG_BYTES;
	if (!e->session)
		part.nonce = 0;
	(void)fc_tree_put(&fs->forest.files, extent_key(ino, part.file_block), raw, fc_extent_encode(&part, raw));
}

void fc_map_clear_range(struct fc_fs *fs, struct fc_inode *inode, uint64_t first, uint64_t end)
{
	uint8_t tags[FC_EXTENT_UNITS * FC_TAG_BYTES];
	struct fc_extent e;

	while (first < end && inode->blocks && !fc_extent_at(fs, inode->ino, first, &e) && e.file_block < end) {
		uint64_t stop = e.file_block + e.units;
		uint64_t from = e.file_block > first ? e.file_block : first, to = stop < end ? stop : end;

		if (e.session)
			memcpy(tags, e.tags, (size_t)e.units * FC_TAG_BYTES);
		e.tags = tags;
		if (fc_tree_del(&fs->forest.files, extent_key(inode->ino, e.file_block)))
			return; /* not loaded: the caller's mistake; nothing was changed */
		keep_part(fs, inode->ino, &e, 0, (uint32_t)(from - e.file_block));
		keep_part(fs, inode->ino, &e, (uint32_t)(to - e.file_block), (uint32_t)(stop - to));
		if (!fc_extent_lost(&e))
			fc_space_free_data(&fs->forest, e.start + (from - e.file_block), (uint32_t)(to - from));
		inode->blocks -= to - from;
		first = to;
	}
}

void fc_map_insert(struct fc_fs *fs, struct fc_inode *inode, const struct fc_extent *e)
{
	uint8_t raw[EXTENT_RAW_MAX];

	if (e->session && e->session < fs->range.own) /* perhaps behind where a rekey has passed */
		fs->rekey.again = true;
	(void)fc_tree_put(&fs->forest.files, extent_key(inode->ino, e->file_block), raw, fc_extent_encode(e, raw));
	inode->blocks += e->units;
}

/* Content of these blocks is now this extent (a flush's, or replayed). The
 * blocks are in flight. */
int fc_apply_map(struct fc_fs *fs, const struct fc_op *op)
{
	struct fc_item item = { .key = extent_key(op->ino, op->off),
				.data = op->data.p,
				.bytes = (uint16_t)op->data.n };
	struct fc_inode inode;
	struct fc_extent e;
	struct fc_range range;
	int r;

	if (op->data.n > EXTENT_RAW_MAX)
		return FC_ECORRUPT;
	r = fc_extent_decode(&e, &item);
	if (!r)
		r = fc_tree_load(&fs->forest.files, fc_key(op->ino, FC_KEY_INODE, 0));
	if (!r)
		r = fc_inode_get(fs, op->ino, &inode);
	if (!r && (inode.flags & FC_INODE_INLINE || e.file_block > inode.size >> FC_BLOCK_SHIFT))
		r = FC_ECORRUPT;
	if (!r)
		r = fc_map_load(fs, op->ino, e.file_block, e.file_block + e.units);
	if (r)
		return r;
	fc_map_clear_range(fs, &inode, e.file_block, e.file_block + e.units);
	range = (struct fc_range){ e.start, e.units };
	fc_space_landed(&fs->forest, &range);
	fc_map_insert(fs, &inode, &e);
	fc_page_drop(fs, op->ino, e.file_block, e.file_block + e.units);
	return fc_inode_put(fs, &inode);
}

/* ---- content ---------------------------------------------------------------- */

int fc_extent_open(struct fc_fs *fs, const struct fc_extent *e, uint32_t first, uint32_t count, uint8_t *data)
{
	struct fc_aead *aead;
	uint32_t i;
	int r = fc_sessions_aead(fs->sessions, e->session, FC_PURPOSE_DATA, &aead);

	for (i = 0; !r && i < count; i++)
		r = fc_aead_open(aead, e->nonce + first + i, NULL, 0, data + (size_t)i * FC_UNIT, FC_UNIT,
				 data + (size_t)i * FC_UNIT, e->tags + (size_t)(first + i) * FC_TAG_BYTES);
	if (r)
		memset(data, 0, (size_t)count * FC_UNIT);
	return r;
}

int fc_extent_read(struct fc_fs *fs, const struct fc_extent *e, uint32_t first, uint32_t count, uint8_t *out)
{
	int r;

	if (!e->session) {
		memset(out, 0, (size_t)count * FC_UNIT);
		return fc_extent_lost(e) ? FC_EFORGED : 0;
	}
	r = fc_io_read(fs->io, out, (size_t)count * FC_UNIT, (e->start + first) * FC_BLOCK);
	return r ? r : fc_extent_open(fs, e, first, count, out);
}

int fc_extent_seal(struct fc_fs *fs, uint32_t count, uint32_t session, uint64_t nonce, const uint8_t *const *page,
		   uint8_t *buf, uint8_t *tags)
{
	struct fc_aead *aead;
	uint32_t i;
	int r = fc_sessions_aead(fs->sessions, session, FC_PURPOSE_DATA, &aead);

	for (i = 0; !r && i < count; i++)
		r = fc_aead_seal(aead, nonce + i, NULL, 0, page[i], FC_UNIT, buf + (size_t)i * FC_UNIT,
				 tags + (size_t)i * FC_TAG_BYTES);
	return r;
}

/* All data goes this way, also little: beside a dirty page of the host's cache, what
 * passes by it could be hidden by what the cache had read before. */
int fc_extent_write(struct fc_fs *fs, uint64_t start, uint32_t count, const uint8_t *buf)
{
	struct fc_io_part part = fc_extent_part(start, count, buf);

	return fc_io_write_parts(fs->io, &part, 1);
}

int fc_map_read_block(struct fc_fs *fs, uint64_t ino, uint64_t block, uint8_t *data)
{
	struct fc_extent e;
	int r = fc_extent_at(fs, ino, block, &e);

	if (r == FC_ENOENT || (!r && e.file_block > block)) {
		memset(data, 0, FC_BLOCK);
		return 0;
	}
	return r ? r : fc_extent_read(fs, &e, (uint32_t)(block - e.file_block), 1, data);
}
