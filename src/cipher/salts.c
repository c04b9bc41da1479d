/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The salt table and the sessions' contexts.
 *
 * A block of the table, in each of its copies: nonce, then sealed
 *   0  u32 index of the block
 *   4  u32 salts in use
 *   8  FC_SALTS_PER_BLOCK salts; the rest is zero
 */
#include <stdlib.h>
#include <string.h>

#include "cipher/aead_internal.h"
#include "cipher/keys_internal.h"
#include "secret/secret.h"
#include "util/le.h"

enum { SALT_INDEX = 0, SALT_USED = 4, SALT_FIRST = 8 };

_Static_assert(SALT_FIRST + FC_SALTS_PER_BLOCK * FC_SALT_BYTES <= FC_SALT_PLAIN, "salts fit into a block");

#define SALT_AD_BYTES (FC_UUID_BYTES + 4u)
#define ARENA_CONTEXTS 24u

struct salt_block {
	int status; /* of reading it; what its sessions give */
	uint8_t salts[FC_SALTS_PER_BLOCK][FC_SALT_BYTES];
	_Atomic(struct fc_aead *) aead[FC_SALTS_PER_BLOCK][FC_PURPOSES];
};

/* Contexts lie together: a mount may need thousands, and each allocation of
 * secret memory has guard pages of its own. */
struct arena {
	struct arena *next;
	struct fc_aead *contexts; /* ARENA_CONTEXTS, in secret memory */
	unsigned used;
};

struct fc_sessions {
	const struct fc_keys *keys; /* make_lock to change, or to use its master */
	const struct fc_provider *provider;
	uint8_t uuid[FC_UUID_BYTES];
	/* By index modulo FC_SALT_BLOCKS. Filled before count reaches them and not
	 * changed then, so that whoever has seen count needs no lock. */
	struct salt_block *blocks[FC_SALT_BLOCKS];
	atomic_uint count;
	uint32_t first, old_last, own; /* as in a range; make_lock, and to change start_lock too */
	pthread_mutex_t start_lock;    /* one start at a time; taken alone */
	pthread_mutex_t make_lock;     /* arenas, scratch; taken alone */
	struct arena *arenas;
	uint8_t *scratch; /* a subkey, in secret memory */
};

static const uint64_t copy_offset[2] = { FC_SALTS_A, FC_SALTS_B };
static const char *const purpose_name[FC_PURPOSES] = { "node", "data", "log" };

static struct salt_block *block_of(const struct fc_sessions *s, uint32_t index)
{
	return s->blocks[index % FC_SALT_BLOCKS];
}

static uint64_t block_offset(unsigned copy, uint32_t index)
{
	return copy_offset[copy] + (uint64_t)(index % FC_SALT_BLOCKS) * FC_BLOCK;
}

/* The keys that seal a block of the table. */
static const struct fc_keys *keys_of(const struct fc_sessions *s, uint32_t index)
{
	return index * FC_SALTS_PER_BLOCK + 1 < s->own ? s->keys->old : s->keys;
}

/* ---- blocks ---------------------------------------------------------------- */

static void block_ad(const struct fc_sessions *s, uint32_t index, uint8_t ad[SALT_AD_BYTES])
{
	memcpy(ad, s->uuid, FC_UUID_BYTES);
	fc_put_u32(ad + FC_UUID_BYTES, index);
}

/* One copy of a block; need: salts that it must hold. 0, FC_EFORGED, FC_EIO. */
static int copy_read(const struct fc_sessions *s, struct fc_io *io, unsigned copy, uint32_t index, uint32_t need,
		     uint8_t plain[FC_SALT_PLAIN])
{
	const struct fc_keys *keys = keys_of(s, index);
	uint8_t raw[FC_BLOCK], ad[SALT_AD_BYTES];
	uint32_t used;

	if (fc_io_read(io, raw, sizeof(raw), block_offset(copy, index)))
		return FC_EIO;
	if (!keys)
		return FC_EFORGED;
	block_ad(s, index, ad);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(plain, NULL, NULL, raw + FC_SB_SEALED, FC_BLOCK - FC_SB_SEALED,
						       ad, sizeof(ad), raw + FC_SB_NONCE, keys->salts))
		return FC_EFORGED;
	used = fc_get_u32(plain + SALT_USED);
	if (fc_get_u32(plain + SALT_INDEX) != index || used > FC_SALTS_PER_BLOCK || used < need)
		return FC_EFORGED;
	return 0;
}

static void block_seal(const struct fc_sessions *s, uint32_t index, uint32_t used, const struct salt_block *b,
		       uint8_t raw[FC_BLOCK])
{
	uint8_t plain[FC_SALT_PLAIN] = { 0 }, ad[SALT_AD_BYTES];

	fc_put_u32(plain + SALT_INDEX, index);
	fc_put_u32(plain + SALT_USED, used);
	memcpy(plain + SALT_FIRST, b->salts, (size_t)used * FC_SALT_BYTES);
	block_ad(s, index, ad);
	randombytes_buf(raw + FC_SB_NONCE, FC_SB_SEALED - FC_SB_NONCE);
	crypto_aead_xchacha20poly1305_ietf_encrypt(raw + FC_SB_SEALED, NULL, plain, sizeof(plain), ad, sizeof(ad), NULL,
						   raw + FC_SB_NONCE, keys_of(s, index)->salts);
	sodium_memzero(plain, sizeof(plain));
}

/* Reads the block with the salts of sessions index * FC_SALTS_PER_BLOCK + 1.. */
static int block_load(struct fc_sessions *s, struct fc_io *io, uint32_t index, uint32_t need)
{
	struct salt_block *b = calloc(1, sizeof(*b));
	uint8_t plain[FC_SALT_PLAIN];
	unsigned copy;

	if (!b)
		return FC_ENOMEM;
	for (copy = 0; copy < 2; copy++) {
		int rc = copy_read(s, io, copy, index, need, plain);

		/* A disk that does not answer may do so again: that is told. */
		if (!rc || b->status != FC_EIO)
			b->status = rc;
		if (!rc)
			break;
	}
	if (!b->status)
		memcpy(b->salts, plain + SALT_FIRST, sizeof(b->salts));
	sodium_memzero(plain, sizeof(plain));
	s->blocks[index % FC_SALT_BLOCKS] = b;
	return 0;
}

/* The salts that a block of the sessions in use must hold. */
static uint32_t need_of(const struct fc_sessions *s, uint32_t index)
{
	uint32_t before = index * FC_SALTS_PER_BLOCK, count = before + 1 < s->own ? s->old_last : s->count;

	return count - before < FC_SALTS_PER_BLOCK ? count - before : FC_SALTS_PER_BLOCK;
}

/* ---- the table --------------------------------------------------------------- */

/* Blocks of sessions from..to. */
static int load_blocks(struct fc_sessions *s, struct fc_io *io, uint32_t from, uint32_t to)
{
	uint32_t i;
	int rc = 0;

	for (i = from / FC_SALTS_PER_BLOCK; !rc && i * FC_SALTS_PER_BLOCK < to; i++)
		rc = block_load(s, io, i, need_of(s, i));
	return rc;
}

static bool range_valid(const struct fc_session_range *r)
{
	uint32_t from = r->old_last ? r->first : r->own, most = r->old_last ? FC_SALTS_PER_BLOCK : 0;

	return from && r->own >= from && (r->count < r->own || r->count - from < FC_SESSIONS_MAX + most) &&
	       (!r->old_last || r->old_last - from < FC_SESSIONS_MAX);
}

int fc_sessions_load_range(struct fc_io *io, const struct fc_keys *keys, uint32_t cipher,
			   const uint8_t uuid[FC_UUID_BYTES], const struct fc_session_range *range,
			   struct fc_sessions **out)
{
	const struct fc_provider *provider = fc_provider_find(cipher);
	struct fc_sessions *s;
	int rc = 0;

	*out = NULL;
	if (!provider)
		return FC_ENOTSUP;
	if (!range_valid(range))
		return FC_ECORRUPT;
	s = calloc(1, sizeof(*s));
	if (!s)
		return FC_ENOMEM;
	s->keys = keys;
	s->provider = provider;
	memcpy(s->uuid, uuid, FC_UUID_BYTES);
	atomic_init(&s->count, range->count);
	s->first = range->first;
	s->old_last = range->old_last;
	s->own = range->own;
	pthread_mutex_init(&s->start_lock, NULL);
	pthread_mutex_init(&s->make_lock, NULL);
	s->scratch = fc_secret_alloc(FC_KEY_BYTES);
	if (!s->scratch)
		rc = FC_ENOMEM;
	if (!rc && s->old_last)
		rc = load_blocks(s, io, s->first, s->old_last);
	if (!rc && range->count >= s->own)
		rc = load_blocks(s, io, s->own, range->count);
	if (rc)
		fc_sessions_free(s);
	else
		*out = s;
	return rc;
}

int fc_sessions_load(struct fc_io *io, const struct fc_keys *keys, uint32_t cipher, const uint8_t uuid[FC_UUID_BYTES],
		     uint32_t count, struct fc_sessions **out)
{
	const struct fc_session_range range = { .first = 1, .own = 1, .count = count };

	return fc_sessions_load_range(io, keys, cipher, uuid, &range, out);
}

void fc_sessions_range(const struct fc_sessions *s, struct fc_session_range *range)
{
	*range = (struct fc_session_range){ s->first, s->old_last, s->own, atomic_load(&s->count) };
}

void fc_sessions_free(struct fc_sessions *s)
{
	unsigned i;

	if (!s)
		return;
	while (s->arenas) {
		struct arena *a = s->arenas;

		for (i = 0; i < a->used; i++)
			fc_aead_drop(&a->contexts[i]);
		fc_secret_free(a->contexts);
		s->arenas = a->next;
		free(a);
	}
	for (i = 0; i < FC_SALT_BLOCKS; i++)
		free(s->blocks[i]);
	fc_secret_free(s->scratch);
	pthread_mutex_destroy(&s->start_lock);
	pthread_mutex_destroy(&s->make_lock);
	free(s);
}

/* ---- a new session -------------------------------------------------------------- */

/* Writes both copies, each with a sync. The copy that does not hold the block's
 * older salts is written first, so that a torn write cannot lose them. */
static int block_store(const struct fc_sessions *s, struct fc_io *io, uint32_t index, uint32_t used,
		       const struct salt_block *b)
{
	uint8_t raw[FC_BLOCK], plain[FC_SALT_PLAIN];
	unsigned first, i;
	int rc = 0;

	first = used > 1 && copy_read(s, io, 1, index, used - 1, plain) ? 1 : 0;
	sodium_memzero(plain, sizeof(plain));
	block_seal(s, index, used, b, raw);
	for (i = 0; !rc && i < 2; i++) {
		rc = fc_io_write(io, raw, sizeof(raw), block_offset(first ^ i, index));
		if (!rc)
			rc = fc_io_sync(io);
	}
	return rc;
}

/* The block's index, where a session more would find no place; each master key has
 * as many, and a rekey one block more. */
static uint32_t end_block(const struct fc_sessions *s)
{
	uint32_t from = (s->old_last ? s->first : s->own) / FC_SALTS_PER_BLOCK;

	return from + FC_SALT_BLOCKS - (s->old_last ? 0 : 1);
}

static int start(struct fc_sessions *s, struct fc_io *io, uint32_t *session)
{
	uint32_t at = atomic_load(&s->count) >= s->own ? atomic_load(&s->count) : s->own - 1;
	uint32_t index = at / FC_SALTS_PER_BLOCK;
	struct salt_block *b = block_of(s, index);
	int rc;

	if (at >= s->own && b && at % FC_SALTS_PER_BLOCK && b->status)
		at = ++index * FC_SALTS_PER_BLOCK;
	if (index >= end_block(s) || at > UINT32_MAX - 2 * FC_SALTS_PER_BLOCK)
		return FC_ESESSIONS;
	b = block_of(s, index);
	if (!b) {
		b = calloc(1, sizeof(*b));
		if (!b)
			return FC_ENOMEM;
		s->blocks[index % FC_SALT_BLOCKS] = b;
	}
	/* After a failure this salt may be on the disk, but nothing was sealed
	 * under it; the next try draws another. */
	randombytes_buf(b->salts[at % FC_SALTS_PER_BLOCK], FC_SALT_BYTES);
	rc = block_store(s, io, index, at % FC_SALTS_PER_BLOCK + 1, b);
	if (rc)
		return rc;
	*session = at + 1;
	atomic_store(&s->count, at + 1);
	return 0;
}

int fc_sessions_start(struct fc_sessions *s, struct fc_io *io, uint32_t *session)
{
	int rc;

	pthread_mutex_lock(&s->start_lock);
	rc = start(s, io, session);
	pthread_mutex_unlock(&s->start_lock);
	return rc;
}

/* ---- a rekey ------------------------------------------------------------------------ */

void fc_sessions_rekey(struct fc_sessions *s, const struct fc_keys *keys, const struct fc_session_range *back)
{
	uint32_t count, blocks;

	pthread_mutex_lock(&s->start_lock);
	pthread_mutex_lock(&s->make_lock);
	count = atomic_load(&s->count);
	blocks = (count + FC_SALTS_PER_BLOCK - 1) / FC_SALTS_PER_BLOCK;
	s->first = back ? back->first : s->own;
	s->old_last = back ? back->old_last : count;
	s->own = back ? back->own : blocks * FC_SALTS_PER_BLOCK + 1;
	s->keys = keys;
	pthread_mutex_unlock(&s->make_lock);
	pthread_mutex_unlock(&s->start_lock);
}

/* A session of no key whose numbers these are: its block is taken out of the table. */
static void block_forget(struct fc_sessions *s, uint32_t index)
{
	struct salt_block *b = block_of(s, index);
	unsigned i, k;

	for (i = 0; b && i < FC_SALTS_PER_BLOCK; i++)
		for (k = 0; k < FC_PURPOSES; k++) {
			struct fc_aead *aead = atomic_exchange(&b->aead[i][k], NULL);

			if (aead)
				fc_aead_drop(aead);
		}
	if (b)
		sodium_memzero(b->salts, sizeof(b->salts));
	free(b);
	s->blocks[index % FC_SALT_BLOCKS] = NULL;
}

void fc_sessions_forget_old(struct fc_sessions *s)
{
	uint32_t i;

	pthread_mutex_lock(&s->start_lock);
	pthread_mutex_lock(&s->make_lock);
	for (i = s->first / FC_SALTS_PER_BLOCK; s->old_last && i * FC_SALTS_PER_BLOCK < s->old_last; i++)
		block_forget(s, i);
	s->old_last = 0;
	s->first = s->own;
	pthread_mutex_unlock(&s->make_lock);
	pthread_mutex_unlock(&s->start_lock);
}

int fc_sessions_wipe(const struct fc_sessions *s, struct fc_io *io)
{
	static const uint8_t zeros[FC_BLOCK];
	uint8_t raw[FC_BLOCK];
	unsigned copy;
	uint32_t i;
	int rc = 0;

	for (i = 0; !rc && i < FC_SALT_BLOCKS; i++)
		for (copy = 0; !rc && !s->blocks[i] && copy < 2; copy++)
			/* what was never written takes no place on the host */
			if (fc_io_read(io, raw, sizeof(raw), block_offset(copy, i)) ||
			    !sodium_is_zero(raw, sizeof(raw)))
				rc = fc_io_write(io, zeros, sizeof(zeros), block_offset(copy, i));
	return rc ? rc : fc_io_sync(io);
}

/* ---- for check -------------------------------------------------------------------- */

void fc_sessions_copies(const struct fc_sessions *s, struct fc_io *io, uint32_t index, int status[2])
{
	uint32_t need = need_of(s, index);
	uint8_t plain[FC_SALT_PLAIN];
	unsigned copy;

	for (copy = 0; copy < 2; copy++)
		status[copy] = copy_read(s, io, copy, index, need, plain);
	sodium_memzero(plain, sizeof(plain));
}

int fc_sessions_renew(struct fc_sessions *s, struct fc_io *io, uint32_t index)
{
	struct salt_block *b = calloc(1, sizeof(*b));
	uint32_t used = need_of(s, index);
	int rc;

	if (!b)
		return FC_ENOMEM;
	randombytes_buf(b->salts, (size_t)used * FC_SALT_BYTES);
	rc = block_store(s, io, index, used, b);
	free(b);
	return rc;
}

/* ---- contexts --------------------------------------------------------------------- */

/* The next free context of the arenas; it counts as used when the caller raises
 * a->used. make_lock held. NULL: out of memory. */
static struct arena *arena_room(struct fc_sessions *s)
{
	struct arena *a = s->arenas;

	if (a && a->used < ARENA_CONTEXTS)
		return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->contexts = fc_secret_alloc(ARENA_CONTEXTS * sizeof(*a->contexts));
	if (!a->contexts) {
		free(a);
		return NULL;
	}
	a->next = s->arenas;
	s->arenas = a;
	return a;
}

/* make_lock held. */
static int context_make(struct fc_sessions *s, uint32_t session, const uint8_t *salt, enum fc_purpose purpose,
			struct fc_aead **out)
{
	bool own = session >= s->own;
	const struct fc_keys *keys = own ? s->keys : s->keys->old;
	struct arena *a;
	int rc;

	if (!keys || (!own && (session < s->first || session > s->old_last)))
		return FC_EFORGED;
	a = arena_room(s);
	if (!a)
		return FC_ENOMEM;
	fc_keys_derive(keys->master, purpose_name[purpose], salt, s->scratch);
	rc = fc_aead_init(&a->contexts[a->used], s->provider, s->scratch);
	sodium_memzero(s->scratch, FC_KEY_BYTES);
	if (!rc)
		*out = &a->contexts[a->used++];
	return rc;
}

int fc_sessions_aead(struct fc_sessions *s, uint32_t session, enum fc_purpose purpose, struct fc_aead **out)
{
	_Atomic(struct fc_aead *) *at;
	struct salt_block *b;
	uint32_t i = session - 1;
	int rc = 0;

	*out = NULL;
	if (!session || session > atomic_load_explicit(&s->count, memory_order_acquire))
		return FC_EFORGED;
	b = block_of(s, i / FC_SALTS_PER_BLOCK);
	if (!b)
		return FC_EFORGED;
	if (b->status)
		return b->status;
	i %= FC_SALTS_PER_BLOCK;
	at = &b->aead[i][purpose];
	*out = atomic_load_explicit(at, memory_order_acquire);
	if (*out)
		return 0;
	pthread_mutex_lock(&s->make_lock);
	*out = atomic_load_explicit(at, memory_order_relaxed);
	if (!*out) {
		rc = context_make(s, session, b->salts[i], purpose, out);
		if (!rc)
			atomic_store_explicit(at, *out, memory_order_release);
	}
	pthread_mutex_unlock(&s->make_lock);
	return rc;
}
