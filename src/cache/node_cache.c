/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Eviction is the clock algorithm: a node that was used since the hand passed gets another round. */
#include "cache/node_cache.h"

#include <assert.h>
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>

#define SPARES_MAX 1024u
#define SLACK_PART 8u /* of the limit: so much above it before readers have it trimmed */

static size_t bucket_of(const struct fc_node_cache *cache, uint64_t addr)
{
	addr = (addr ^ (addr >> 29)) * 0x9e3779b97f4a7c15ull;
	return (addr >> 32) & (cache->buckets - 1);
}

int fc_node_cache_init(struct fc_node_cache *cache, size_t bytes)
{
	size_t buckets = 1024;

	memset(cache, 0, sizeof(*cache));
	cache->limit = bytes / FC_NODE_BYTES;
	if (cache->limit < 64)
		cache->limit = 64;
	cache->trim_at = cache->limit + cache->limit / SLACK_PART;
	while (buckets < cache->limit * 4)
		buckets *= 2;
	cache->bucket = calloc(buckets, sizeof(*cache->bucket));
	if (!cache->bucket)
		return FC_ENOMEM;
	cache->buckets = buckets;
	cache->all.prev = cache->all.next = &cache->all;
	cache->hand = &cache->all;
	pthread_mutex_init(&cache->lock, NULL);
	return 0;
}

static void free_node(struct fc_node *node)
{
	free(node->data);
	free(node);
}

static void free_list(struct fc_node *node)
{
	struct fc_node *next;

	for (; node; node = next) {
		next = node->next;
		ASAN_UNPOISON_MEMORY_REGION(node->data, FC_NODE_BYTES);
		free_node(node);
	}
}

/* An evicted one. Given back to the heap, what is smaller would soon lie in its place, and
 * the heap would grow with each node that is read. */
static void put_idle(struct fc_node_cache *cache, struct fc_node *node)
{
	bool keep;

	pthread_mutex_lock(&cache->lock);
	keep = cache->idles < cache->limit / SLACK_PART * 2;
	if (keep) {
		ASAN_POISON_MEMORY_REGION(node->data, FC_NODE_BYTES);
		node->next = cache->idle;
		cache->idle = node;
		cache->idles++;
	}
	pthread_mutex_unlock(&cache->lock);
	if (!keep)
		free_node(node);
}

static struct fc_node *take_idle(struct fc_node_cache *cache)
{
	struct fc_node *node;
	uint8_t *data;

	pthread_mutex_lock(&cache->lock);
	node = cache->idle;
	if (node) {
		cache->idle = node->next;
		cache->idles--;
	}
	pthread_mutex_unlock(&cache->lock);
	if (node) {
		data = node->data;
		ASAN_UNPOISON_MEMORY_REGION(data, FC_NODE_BYTES);
		memset(node, 0, sizeof(*node));
		node->data = data;
	}
	return node;
}

void fc_node_cache_fini(struct fc_node_cache *cache)
{
	if (!cache->bucket)
		return;
	cache->all.prev->next = NULL;
	free_list(cache->all.next == &cache->all ? NULL : cache->all.next);
	free_list(cache->spare);
	free_list(cache->idle);
	free(cache->bucket);
	cache->bucket = NULL;
	pthread_mutex_destroy(&cache->lock);
}

struct fc_node *fc_node_cache_get(struct fc_node_cache *cache, uint64_t addr)
{
	struct fc_node *node = atomic_load_explicit(&cache->bucket[bucket_of(cache, addr)], memory_order_acquire);

	while (node && node->addr != addr)
		node = atomic_load_explicit(&node->hash_next, memory_order_acquire);
	if (node && !atomic_load_explicit(&node->used, memory_order_relaxed))
		atomic_store_explicit(&node->used, true, memory_order_relaxed);
	return node;
}

struct fc_node *fc_node_cache_alloc(struct fc_node_cache *cache)
{
	struct fc_node *node = take_idle(cache);

	if (node)
		return node;
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	node->data = malloc(FC_NODE_BYTES);
	if (!node->data) {
		free(node);
		return NULL;
	}
	return node;
}

/* The cache's mutex, or the caller's exclusive lock, is held. */
static void link_node(struct fc_node_cache *cache, struct fc_node *node)
{
	struct fc_node *_Atomic *bucket = &cache->bucket[bucket_of(cache, node->addr)];

	atomic_store_explicit(&node->hash_next, atomic_load_explicit(bucket, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&node->used, true, memory_order_relaxed);
	/* before the hand: looked at last */
	node->next = cache->hand;
	node->prev = cache->hand->prev;
	node->prev->next = node;
	node->next->prev = node;
	cache->count++;
	atomic_store_explicit(bucket, node, memory_order_release);
}

static void unhash(struct fc_node_cache *cache, struct fc_node *node)
{
	struct fc_node *_Atomic *at = &cache->bucket[bucket_of(cache, node->addr)];

	while (atomic_load_explicit(at, memory_order_relaxed) != node)
		at = &atomic_load_explicit(at, memory_order_relaxed)->hash_next;
	atomic_store_explicit(at, atomic_load_explicit(&node->hash_next, memory_order_relaxed), memory_order_relaxed);
}

struct fc_node *fc_node_cache_insert(struct fc_node_cache *cache, struct fc_node *node)
{
	struct fc_node *other;

	pthread_mutex_lock(&cache->lock);
	other = fc_node_cache_get(cache, node->addr);
	if (!other)
		link_node(cache, node);
	pthread_mutex_unlock(&cache->lock);
	if (!other)
		return node;
	free_node(node);
	return other;
}

int fc_node_cache_reserve(struct fc_node_cache *cache, size_t n)
{
	while (cache->spares < n) {
		struct fc_node *node = fc_node_cache_alloc(cache);

		if (!node)
			return FC_ENOMEM;
		node->next = cache->spare;
		cache->spare = node;
		cache->spares++;
	}
	return 0;
}

struct fc_node *fc_node_cache_dirty(struct fc_node_cache *cache)
{
	struct fc_node *node = cache->spare;

	if (node) {
		cache->spare = node->next;
		cache->spares--;
	} else {
		node = fc_node_cache_alloc(cache);
		/* the reserve is larger than what an operation can need: nothing is
		 * changed on disk by stopping here */
		if (!node)
			abort();
	}
	node->state = FC_NODE_DIRTY;
	node->superseded = false;
	node->last_insert = UINT16_MAX;
	node->addr = FC_NODE_VIRTUAL | ++cache->next_virtual;
	memset(&node->ptr, 0, sizeof(node->ptr));
	link_node(cache, node);
	return node;
}

void fc_node_cache_move(struct fc_node_cache *cache, struct fc_node *node, uint64_t addr)
{
	struct fc_node *_Atomic *bucket;

	unhash(cache, node);
	node->addr = addr;
	bucket = &cache->bucket[bucket_of(cache, addr)];
	atomic_store_explicit(&node->hash_next, atomic_load_explicit(bucket, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(bucket, node, memory_order_release);
}

void fc_node_cache_redirty(struct fc_node_cache *cache, struct fc_node *node)
{
	assert(node->state == FC_NODE_CLEAN);
	node->state = FC_NODE_DIRTY;
	node->last_insert = UINT16_MAX;
	fc_node_cache_move(cache, node, FC_NODE_VIRTUAL | ++cache->next_virtual);
}

void fc_node_cache_remove(struct fc_node_cache *cache, struct fc_node *node)
{
	unhash(cache, node);
	if (cache->hand == node)
		cache->hand = node->next;
	node->prev->next = node->next;
	node->next->prev = node->prev;
	node->prev = node->next = NULL;
	cache->count--;
}

void fc_node_cache_drop(struct fc_node_cache *cache, struct fc_node *node)
{
	if (node->prev)
		fc_node_cache_remove(cache, node);
	if (cache->spares >= SPARES_MAX) {
		free_node(node);
		return;
	}
	node->next = cache->spare;
	cache->spare = node;
	cache->spares++;
}

void fc_node_cache_trim(struct fc_node_cache *cache)
{
	size_t steps = cache->count * 2;

	while (cache->count > cache->limit && steps--) {
		struct fc_node *node = cache->hand;

		cache->hand = node->next;
		if (node == &cache->all || node->state != FC_NODE_CLEAN)
			continue;
		if (atomic_exchange_explicit(&node->used, false, memory_order_relaxed))
			continue;
		fc_node_cache_remove(cache, node);
		put_idle(cache, node);
	}
	/* dirty nodes stay: to look at all of them again soon would be in vain */
	cache->trim_at = (cache->count > cache->limit ? cache->count : cache->limit) + cache->limit / SLACK_PART;
}

bool fc_node_cache_grown(const struct fc_node_cache *cache)
{
	return atomic_load_explicit(&cache->count, memory_order_relaxed) >
	       atomic_load_explicit(&cache->trim_at, memory_order_relaxed);
}
