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
	const struct fc_keys *keys;
	const struct fc_provider *provider;
	uint8_t uuid[FC_UUID_BYTES];
	/* Filled before count reaches them and not changed then, so that whoever
	 * has seen count needs no lock. */
	struct salt_block *blocks[FC_SALT_BLOCKS];
	atomic_uint count;
	pthread_mutex_t start_lock; /* one start at a time; taken alone */
	pthread_mutex_t make_lock;  /* arenas, scratch; taken alone */
	struct arena *arenas;
	uint8_t *scratch; /* a subkey, in secret memory */
};

static const uint64_t copy_offset[2] = { FC_SALTS_A, FC_SALTS_B };
static const char *const purpose_name[FC_PURPOSES] = { "node", "data", "log" };

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
	uint8_t raw[FC_BLOCK], ad[SALT_AD_BYTES];
	uint32_t used;

	if (fc_io_read(io, raw, sizeof(raw), copy_offset[copy] + (uint64_t)index * FC_BLOCK))
		return FC_EIO;
	block_ad(s, index, ad);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(plain, NULL, NULL, raw + FC_SB_SEALED, FC_BLOCK - FC_SB_SEALED,
						       ad, sizeof(ad), raw + FC_SB_NONCE, s->keys->salts))
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
						   raw + FC_SB_NONCE, s->keys->salts);
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
	s->blocks[index] = b;
	return 0;
}

static uint32_t need_of(uint32_t count, uint32_t index)
{
	uint32_t before = index * FC_SALTS_PER_BLOCK;

	return count - before < FC_SALTS_PER_BLOCK ? count - before : FC_SALTS_PER_BLOCK;
}

/* ---- the table --------------------------------------------------------------- */

int fc_sessions_load(struct fc_io *io, const struct fc_keys *keys, uint32_t cipher, const uint8_t uuid[FC_UUID_BYTES],
		     uint32_t count, struct fc_sessions **out)
{
	const struct fc_provider *provider = fc_provider_find(cipher);
	struct fc_sessions *s;
	uint32_t i;
	int rc = 0;

	*out = NULL;
	if (!provider)
		return FC_ENOTSUP;
	if (count > FC_SESSIONS_MAX)
		return FC_ECORRUPT;
	s = calloc(1, sizeof(*s));
	if (!s)
		return FC_ENOMEM;
	s->keys = keys;
	s->provider = provider;
	memcpy(s->uuid, uuid, FC_UUID_BYTES);
	atomic_init(&s->count, count);
	pthread_mutex_init(&s->start_lock, NULL);
	pthread_mutex_init(&s->make_lock, NULL);
	s->scratch = fc_secret_alloc(FC_KEY_BYTES);
	if (!s->scratch)
		rc = FC_ENOMEM;
	for (i = 0; !rc && i * FC_SALTS_PER_BLOCK < count; i++)
		rc = block_load(s, io, i, need_of(count, i));
	if (rc)
		fc_sessions_free(s);
	else
		*out = s;
	return rc;
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
		rc = fc_io_write(io, raw, sizeof(raw), copy_offset[first ^ i] + (uint64_t)index * FC_BLOCK);
		if (!rc)
			rc = fc_io_sync(io);
	}
	return rc;
}

static int start(struct fc_sessions *s, struct fc_io *io, uint32_t *session)
{
	uint32_t at = atomic_load(&s->count), index = at / FC_SALTS_PER_BLOCK;
	struct salt_block *b;
	int rc;

	if (index < FC_SALT_BLOCKS && s->blocks[index] && s->blocks[index]->status)
		at = ++index * FC_SALTS_PER_BLOCK;
	if (at >= FC_SESSIONS_MAX)
		return FC_ESESSIONS;
	if (!s->blocks[index]) {
		s->blocks[index] = calloc(1, sizeof(*b));
		if (!s->blocks[index])
			return FC_ENOMEM;
	}
	b = s->blocks[index];
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

/* ---- for check -------------------------------------------------------------------- */

void fc_sessions_copies(const struct fc_sessions *s, struct fc_io *io, uint32_t index, int status[2])
{
	uint32_t need = need_of(atomic_load(&s->count), index);
	uint8_t plain[FC_SALT_PLAIN];
	unsigned copy;

	for (copy = 0; copy < 2; copy++)
		status[copy] = copy_read(s, io, copy, index, need, plain);
	sodium_memzero(plain, sizeof(plain));
}

int fc_sessions_renew(struct fc_sessions *s, struct fc_io *io, uint32_t index)
{
	struct salt_block *b = calloc(1, sizeof(*b));
	uint32_t used = need_of(atomic_load(&s->count), index);
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
static int context_make(struct fc_sessions *s, const uint8_t *salt, enum fc_purpose purpose, struct fc_aead **out)
{
	struct arena *a = arena_room(s);
	int rc;

	if (!a)
		return FC_ENOMEM;
	fc_keys_derive(s->keys->master, purpose_name[purpose], salt, s->scratch);
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
	b = s->blocks[i / FC_SALTS_PER_BLOCK];
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
		rc = context_make(s, b->salts[i], purpose, out);
		if (!rc)
			atomic_store_explicit(at, *out, memory_order_release);
	}
	pthread_mutex_unlock(&s->make_lock);
	return rc;
}
