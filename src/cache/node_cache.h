/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tree nodes in memory, found by their address. The cache knows nothing of
 * what is in a node.
 *
 * Locking: lookups and inserts under the caller's shared lock (inserts also
 * take the cache's own mutex); removal, re-addressing, eviction and the spare
 * nodes under the caller's exclusive lock. So a node found under a shared lock
 * stays until that lock is released.
 *
 * Who may evict: only fc_node_cache_trim, and only clean nodes.
 */
#ifndef FC_CACHE_NODE_CACHE_H
#define FC_CACHE_NODE_CACHE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cipher/root.h"

enum fc_node_state {
	FC_NODE_CLEAN,  /* as on disk */
	FC_NODE_DIRTY,  /* of the running transaction; may be changed */
	FC_NODE_FROZEN, /* of the transaction that is being committed; must not be changed */
};

/* Addresses of dirty nodes, which have no block yet, have this bit. */
#define FC_NODE_VIRTUAL (1ull << 63)

struct fc_node {
	uint64_t addr; /* block, or FC_NODE_VIRTUAL and a number */
	uint8_t *data; /* FC_NODE_BYTES */
	enum fc_node_state state;
	bool superseded;      /* frozen, and no longer part of the running tree */
	_Atomic bool used;    /* since the last trim passed by */
	uint16_t last_insert; /* slot of the last insertion, for the split point */
	struct fc_ptr ptr;    /* clean or being written: where it is and its tag */
	struct fc_node *_Atomic hash_next;
	struct fc_node *prev, *next; /* all nodes of the cache, or the list of a commit */
};

struct fc_node_cache {
	pthread_mutex_t lock;            /* inserts */
	struct fc_node *_Atomic *bucket; /* power of two */
	size_t buckets;
	_Atomic size_t count;   /* nodes in the table */
	_Atomic size_t trim_at; /* more than these: a trim is due */
	size_t limit;           /* nodes wanted at most */
	struct fc_node all;     /* ring */
	struct fc_node *hand;   /* where the next trim goes on */
	struct fc_node *spare;  /* by next */
	size_t spares;
	struct fc_node *idle; /* evicted, for the next readers: by next; lock */
	size_t idles;         /* lock */
	uint64_t next_virtual;
};

/* bytes: memory for nodes. 0 or FC_ENOMEM. */
int fc_node_cache_init(struct fc_node_cache *cache, size_t bytes);
void fc_node_cache_fini(struct fc_node_cache *cache);

/* NULL: not there. */
struct fc_node *fc_node_cache_get(struct fc_node_cache *cache, uint64_t addr);
/* A node that is not in the table, data undefined; NULL: out of memory. For
 * readers: does not touch the spares. */
struct fc_node *fc_node_cache_alloc(struct fc_node_cache *cache);
/* Enters node at node->addr. If another thread was faster, node is freed and
 * the other one returned. */
struct fc_node *fc_node_cache_insert(struct fc_node_cache *cache, struct fc_node *node);

/* Makes sure that n spare nodes are there. 0 or FC_ENOMEM. */
int fc_node_cache_reserve(struct fc_node_cache *cache, size_t n);
/* A dirty node at a fresh virtual address, in the table, from the spares; never
 * NULL while fewer are taken than were reserved (aborts beyond). */
struct fc_node *fc_node_cache_dirty(struct fc_node_cache *cache);
/* Gives a node in the table another address. */
void fc_node_cache_move(struct fc_node_cache *cache, struct fc_node *node, uint64_t addr);
/* Gives a node in the table a fresh virtual address and makes it dirty. */
void fc_node_cache_redirty(struct fc_node_cache *cache, struct fc_node *node);
/* Takes node out of the table (it stays allocated) / frees it, in the table or not. */
void fc_node_cache_remove(struct fc_node_cache *cache, struct fc_node *node);
void fc_node_cache_drop(struct fc_node_cache *cache, struct fc_node *node);
/* Evicts clean nodes that were not used lately until the limit holds. */
void fc_node_cache_trim(struct fc_node_cache *cache);
/* Is it so far above the limit, or above what the last trim had to leave, that a trim is due? Without a lock. */
bool fc_node_cache_grown(const struct fc_node_cache *cache);

#endif
