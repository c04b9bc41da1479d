/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sodium.h>
#include <string.h>

#include "cipher/root.h"
#include "util/le.h"

#define ROOT_AD_BYTES (8u + FC_UUID_BYTES)
/* Block numbers whose byte offsets an off_t can hold, a node's end included. */
#define BLOCKS_MAX ((UINT64_C(1) << (63 - FC_BLOCK_SHIFT)) - FC_NODE_BLOCKS)

static const uint64_t copy_offset[2] = { FC_ROOT_A, FC_ROOT_B };

/* ---- records ----------------------------------------------------------------- */

void fc_ptr_encode(const struct fc_ptr *ptr, uint8_t raw[FC_PTR_BYTES])
{
	memset(raw, 0, FC_PTR_BYTES);
	fc_put_u64(raw + FC_P_BLOCK, ptr->block);
	fc_put_u32(raw + FC_P_SESSION, ptr->session);
	raw[FC_P_LEVEL] = ptr->level;
	fc_put_u64(raw + FC_P_NONCE, ptr->nonce);
	memcpy(raw + FC_P_TAG, ptr->tag, FC_TAG_BYTES);
	fc_put_u64(raw + FC_P_GENERATION, ptr->generation);
}

void fc_ptr_decode(struct fc_ptr *ptr, const uint8_t raw[FC_PTR_BYTES])
{
	ptr->block = fc_get_u64(raw + FC_P_BLOCK);
	ptr->session = fc_get_u32(raw + FC_P_SESSION);
	ptr->level = raw[FC_P_LEVEL];
	ptr->nonce = fc_get_u64(raw + FC_P_NONCE);
	memcpy(ptr->tag, raw + FC_P_TAG, FC_TAG_BYTES);
	ptr->generation = fc_get_u64(raw + FC_P_GENERATION);
}

void fc_root_encode(const struct fc_root *root, uint8_t *plain)
{
	memset(plain, 0, FC_ROOT_PLAIN);
	fc_put_u64(plain + FC_RP_GENERATION, root->generation);
	fc_put_u32(plain + FC_RP_FLAGS, root->flags);
	fc_put_u32(plain + FC_RP_SESSIONS, root->sessions);
	fc_put_u64(plain + FC_RP_HEADER_SEQ, root->header_seq);
	fc_put_u64(plain + FC_RP_TIME, root->time);
	fc_ptr_encode(&root->file_tree, plain + FC_RP_FILE_TREE);
	fc_ptr_encode(&root->space_tree, plain + FC_RP_SPACE_TREE);
	fc_put_u64(plain + FC_RP_NEXT_INO, root->next_ino);
	fc_put_u32(plain + FC_RP_LOG_SESSION, root->log.session);
	fc_put_u64(plain + FC_RP_LOG_SEQ, root->log.seq);
	fc_put_u64(plain + FC_RP_LOG_POS, root->log.pos);
	memcpy(plain + FC_RP_LOG_TAG, root->log.tag, FC_TAG_BYTES);
	fc_put_u64(plain + FC_RP_INODES, root->inodes);
	fc_put_u64(plain + FC_RP_DATA_BLOCKS, root->data_blocks);
	fc_put_u64(plain + FC_RP_NODE_BLOCKS, root->node_blocks);
	fc_put_u64(plain + FC_RP_CAP, root->cap);
	fc_put_u64(plain + FC_RP_CHUNKS, root->chunks);
	fc_put_u64(plain + FC_RP_SHARED, root->shared);
	fc_put_u32(plain + FC_RP_FIRST, root->first);
	fc_put_u32(plain + FC_RP_OLD_LAST, root->old_last);
	fc_put_u32(plain + FC_RP_OWN, root->own);
	memcpy(plain + FC_RP_NAMES, root->names, FC_NAMES_BYTES);
}

static uint32_t or_one(uint32_t session)
{
	return session ? session : 1;
}

void fc_root_sessions(const struct fc_root *root, bool old_key, struct fc_session_range *range)
{
	uint32_t blocks = (root->sessions + FC_SALTS_PER_BLOCK - 1) / FC_SALTS_PER_BLOCK;

	if (old_key)
		*range = (struct fc_session_range){ .first = or_one(root->own),
						    .old_last = root->sessions,
						    .own = blocks * FC_SALTS_PER_BLOCK + 1,
						    .count = root->sessions };
	else
		*range = (struct fc_session_range){ or_one(root->first), root->old_last, or_one(root->own),
						    root->sessions };
}

/* Sessions of a master key begin with a block, and what is in use fits into the table. */
static bool sessions_valid(const struct fc_root *r)
{
	uint32_t first = or_one(r->first), own = or_one(r->own);

	if (own % FC_SALTS_PER_BLOCK != 1 || first % FC_SALTS_PER_BLOCK != 1 || (r->own && r->sessions < own))
		return false;
	if (r->old_last ? first > r->old_last || r->old_last >= own : first != own)
		return false;
	if (r->sessions > UINT32_MAX - 2 * FC_SALTS_PER_BLOCK)
		return false;
	return r->sessions < own ||
	       (r->sessions - own < FC_SESSIONS_MAX && r->sessions - first < FC_SALT_BLOCKS * FC_SALTS_PER_BLOCK);
}

static bool ptr_valid(const struct fc_ptr *ptr, const struct fc_root *root)
{
	if (!ptr->block)
		return true;
	return ptr->block <= BLOCKS_MAX && ptr->session && ptr->session <= root->sessions &&
	       ptr->level < FC_TREE_DEPTH_MAX && ptr->generation <= root->generation;
}

static bool root_valid(const struct fc_root *r)
{
	return r->generation && !(r->flags & ~FC_ROOT_CLEAN) && sessions_valid(r) && ptr_valid(&r->file_tree, r) &&
	       ptr_valid(&r->space_tree, r) && r->next_ino >= FC_INO_FIRST && r->next_ino <= FC_INO_MAX &&
	       r->log.session <= r->sessions && r->log.pos % FC_BLOCK == 0 && r->log.pos < FC_LOG_MAX &&
	       (r->log.seq || !r->log.session) && r->inodes < r->next_ino && r->data_blocks <= BLOCKS_MAX &&
	       r->node_blocks <= BLOCKS_MAX && r->cap <= INT64_MAX && r->chunks <= BLOCKS_MAX / FC_CHUNK_BLOCKS;
}

int fc_root_decode(struct fc_root *root, const uint8_t *plain)
{
	root->generation = fc_get_u64(plain + FC_RP_GENERATION);
	root->flags = fc_get_u32(plain + FC_RP_FLAGS);
	root->sessions = fc_get_u32(plain + FC_RP_SESSIONS);
	root->header_seq = fc_get_u64(plain + FC_RP_HEADER_SEQ);
	root->time = fc_get_u64(plain + FC_RP_TIME);
	fc_ptr_decode(&root->file_tree, plain + FC_RP_FILE_TREE);
	fc_ptr_decode(&root->space_tree, plain + FC_RP_SPACE_TREE);
	root->next_ino = fc_get_u64(plain + FC_RP_NEXT_INO);
	root->log.session = fc_get_u32(plain + FC_RP_LOG_SESSION);
	root->log.seq = fc_get_u64(plain + FC_RP_LOG_SEQ);
	root->log.pos = fc_get_u64(plain + FC_RP_LOG_POS);
	memcpy(root->log.tag, plain + FC_RP_LOG_TAG, FC_TAG_BYTES);
	root->inodes = fc_get_u64(plain + FC_RP_INODES);
	root->data_blocks = fc_get_u64(plain + FC_RP_DATA_BLOCKS);
	root->node_blocks = fc_get_u64(plain + FC_RP_NODE_BLOCKS);
	root->cap = fc_get_u64(plain + FC_RP_CAP);
	root->chunks = fc_get_u64(plain + FC_RP_CHUNKS);
	root->shared = fc_get_u64(plain + FC_RP_SHARED);
	root->first = fc_get_u32(plain + FC_RP_FIRST);
	root->old_last = fc_get_u32(plain + FC_RP_OLD_LAST);
	root->own = fc_get_u32(plain + FC_RP_OWN);
	memcpy(root->names, plain + FC_RP_NAMES, FC_NAMES_BYTES);
	return root_valid(root) ? 0 : FC_ECORRUPT;
}

/* ---- on an io ------------------------------------------------------------------ */

static void root_ad(const uint8_t uuid[FC_UUID_BYTES], uint8_t ad[ROOT_AD_BYTES])
{
	memcpy(ad, FC_ROOT_MAGIC, 8);
	memcpy(ad + 8, uuid, FC_UUID_BYTES);
}

static uint64_t root_offset(unsigned slot, unsigned copy)
{
	return copy_offset[copy] + slot * FC_BLOCK;
}

static bool root_open(const uint8_t raw[FC_BLOCK], const struct fc_keys *keys, const uint8_t uuid[FC_UUID_BYTES],
		      uint8_t plain[FC_ROOT_PLAIN])
{
	uint8_t ad[ROOT_AD_BYTES];

	root_ad(uuid, ad);
	return !crypto_aead_xchacha20poly1305_ietf_decrypt(plain, NULL, NULL, raw + FC_R_SEALED,
							   FC_ROOT_SECTOR - FC_R_SEALED, ad, sizeof(ad),
							   raw + FC_R_NONCE, keys->root);
}

struct opened {
	struct fc_root root;
	uint8_t tag[FC_TAG_BYTES];
	bool old_key;
};

/* One copy. 0, FC_ENOENT (all zeros), FC_EFORGED, FC_ECORRUPT, FC_EIO. */
static int copy_read(struct fc_io *io, const struct fc_keys *keys, const uint8_t uuid[FC_UUID_BYTES], uint64_t off,
		     struct opened *o)
{
	uint8_t raw[FC_BLOCK], plain[FC_ROOT_PLAIN];

	if (fc_io_read(io, raw, sizeof(raw), off))
		return FC_EIO;
	if (memcmp(raw + FC_R_MAGIC, FC_ROOT_MAGIC, 8))
		return sodium_is_zero(raw, sizeof(raw)) ? FC_ENOENT : FC_EFORGED;
	o->old_key = !root_open(raw, keys, uuid, plain);
	if (o->old_key && (!keys->old || !root_open(raw, keys->old, uuid, plain)))
		return FC_EFORGED;
	memcpy(o->tag, raw + FC_ROOT_SECTOR - FC_TAG_BYTES, FC_TAG_BYTES);
	return fc_root_decode(&o->root, plain);
}

/* Both copies of a slot; the newer of them when both open (a crash between). */
static bool slot_read(struct fc_io *io, const struct fc_keys *keys, const uint8_t uuid[FC_UUID_BYTES], unsigned slot,
		      struct fc_roots *out)
{
	bool opened = false;
	unsigned copy;

	for (copy = 0; copy < 2; copy++) {
		struct opened o;
		int rc = copy_read(io, keys, uuid, root_offset(slot, copy), &o);

		out->status[slot][copy] = rc;
		if (rc || (opened && o.root.generation <= out->root[slot].generation))
			continue;
		out->root[slot] = o.root;
		out->old_key[slot] = o.old_key;
		memcpy(out->tag[slot], o.tag, FC_TAG_BYTES);
		opened = true;
	}
	return opened;
}

static bool slot_zero(const struct fc_roots *roots, unsigned slot)
{
	return roots->status[slot][0] == FC_ENOENT && roots->status[slot][1] == FC_ENOENT;
}

int fc_roots_load(struct fc_io *io, const struct fc_keys *keys, const uint8_t uuid[FC_UUID_BYTES], struct fc_roots *out)
{
	bool opened[FC_ROOT_SLOTS];
	unsigned slot, copy;
	int rc = FC_EFORGED;

	memset(out, 0, sizeof(*out));
	out->newest = -1;
	for (slot = 0; slot < FC_ROOT_SLOTS; slot++) {
		opened[slot] = slot_read(io, keys, uuid, slot, out);
		if (opened[slot] && (out->newest < 0 || out->root[slot].generation > out->root[out->newest].generation))
			out->newest = (int)slot;
		for (copy = 0; copy < 2; copy++)
			if (out->status[slot][copy] == FC_EIO)
				rc = FC_EIO;
	}
	for (slot = 0; slot < FC_ROOT_SLOTS; slot++)
		if (!opened[slot] &&
		    (!slot_zero(out, slot) || out->newest < 0 || out->root[out->newest].generation > 1))
			out->doubtful = true;
	if (opened[0] && opened[1] && out->root[0].generation == out->root[1].generation)
		out->doubtful = true;
	return out->newest >= 0 ? 0 : rc;
}

int fc_root_seal(const struct fc_root *root, const struct fc_keys *keys, const uint8_t uuid[FC_UUID_BYTES],
		 uint8_t raw[FC_BLOCK], uint8_t tag[FC_TAG_BYTES])
{
	uint8_t plain[FC_ROOT_PLAIN], ad[ROOT_AD_BYTES];

	memset(raw, 0, FC_BLOCK);
	fc_root_encode(root, plain);
	root_ad(uuid, ad);
	memcpy(raw + FC_R_MAGIC, FC_ROOT_MAGIC, 8);
	randombytes_buf(raw + FC_R_NONCE, FC_R_SEALED - FC_R_NONCE);
	crypto_aead_xchacha20poly1305_ietf_encrypt(raw + FC_R_SEALED, NULL, plain, sizeof(plain), ad, sizeof(ad), NULL,
						   raw + FC_R_NONCE, keys->root);
	memcpy(tag, raw + FC_ROOT_SECTOR - FC_TAG_BYTES, FC_TAG_BYTES);
	return 0;
}

bool fc_root_has_tag(const uint8_t raw[FC_BLOCK], const uint8_t tag[FC_TAG_BYTES])
{
	return !memcmp(raw + FC_ROOT_SECTOR - FC_TAG_BYTES, tag, FC_TAG_BYTES);
}

int fc_root_write(struct fc_io *io, const struct fc_keys *keys, const uint8_t uuid[FC_UUID_BYTES], unsigned slot,
		  const struct fc_root *root, uint8_t tag[FC_TAG_BYTES])
{
	uint8_t raw[FC_BLOCK];
	int rc = fc_root_seal(root, keys, uuid, raw, tag);

	if (!rc)
		rc = fc_io_write(io, raw, sizeof(raw), root_offset(slot, 0));
	return rc ? rc : fc_io_write(io, raw, sizeof(raw), root_offset(slot, 1));
}

/* As a commit of fs/commit.c that changes nothing: copy A, sync, copy B, sync, in
 * the slot of the root before. What became free in the transaction that ended
 * with the newest root is then free for good: neither slot refers to it. */
int fc_root_raise(struct fc_io *io, const struct fc_keys *keys, const uint8_t uuid[FC_UUID_BYTES], uint64_t header_seq,
		  uint64_t now, struct fc_root *root, uint8_t tag[FC_TAG_BYTES])
{
	struct fc_roots roots;
	uint8_t raw[FC_BLOCK];
	unsigned copy, slot;
	int rc = fc_roots_load(io, keys, uuid, &roots);

	if (rc)
		return rc;
	*root = roots.root[roots.newest];
	memcpy(tag, roots.tag[roots.newest], FC_TAG_BYTES);
	if (root->header_seq >= header_seq)
		return 0;
	if (roots.doubtful)
		return FC_EOLDER;
	slot = ((unsigned)roots.newest + 1) % FC_ROOT_SLOTS;
	root->generation++;
	root->header_seq = header_seq;
	root->time = now;
	rc = fc_root_seal(root, roots.old_key[roots.newest] ? keys->old : keys, uuid, raw, tag);
	/* the newest root may be one that a process which was killed had not synced */
	if (!rc)
		rc = fc_io_sync(io);
	for (copy = 0; copy < 2 && !rc; copy++) {
		rc = fc_io_write(io, raw, sizeof(raw), root_offset(slot, copy));
		if (!rc)
			rc = fc_io_sync(io);
	}
	return rc;
}
