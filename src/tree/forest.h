/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two trees of a container, the space map, and what they share: one
 * transaction at a time is *running* (its changes are in memory), and at most
 * one is being committed (frozen).
 *
 * A block that is freed while transaction g runs is referred to by root g-1 and
 * perhaps g-2, not by root g. It may be written again when root g+1 is durable:
 * then both root slots hold g and g+1. (DESIGN R1; format.h F2)
 *
 * Everything here is protected by the owner's lock as btree.h says.
 */
#ifndef FC_TREE_FOREST_H
#define FC_TREE_FOREST_H

#include "cache/node_cache.h"
#include "tree/btree.h"

struct fc_tree {
	struct fc_forest *forest;
	uint8_t kind;       /* FC_TREE_FILE, FC_TREE_SPACE */
	struct fc_ptr root; /* block may be virtual */
};

struct fc_range {
	uint64_t start;
	uint32_t count;
};

/* Ranges freed while one transaction ran. */
struct fc_pending {
	uint64_t txg;
	struct fc_range *range;
	size_t count, room;
	size_t stored; /* items of the space tree that hold it */
};

enum {
	FC_CHUNK_F_DIRTY = 1,
	FC_CHUNK_F_SOLID = 2,
	FC_CHUNK_F_FREED = 4,
	FC_CHUNK_F_PUNCHING = 8,
	FC_CHUNK_F_LEAVING = 16
};

struct fc_chunk {
	uint64_t *map; /* set: in use (or pending); NULL when used is 0 or all */
	uint16_t used;
	uint16_t held; /* blocks that the host has given us, as far as is known; >= used */
	uint8_t kind;
	uint8_t flags; /* DIRTY: the item is out of date; SOLID: the host has allocated all of it;
			* FREED: has free blocks that the host may still hold;
			* PUNCHING: some of them are being given back */
};

/* Blocks with several owners that one of them has moved already: the others follow. */
struct fc_moved {
	uint64_t from, to;
	uint32_t count;
};

#define FC_PENDINGS 4

struct fc_space {
	struct fc_chunk *chunk; /* from first_chunk on */
	size_t chunks, room;
	uint64_t first_chunk;
	struct fc_pending pending[FC_PENDINGS]; /* by txg % FC_PENDINGS */
	struct fc_range *inflight;              /* allocated, and no item refers to them yet */
	size_t inflights, inflight_room;
	struct fc_range gone[FC_PENDINGS]; /* PENDING items to delete: start = txg, count = items */
	size_t gones;
	struct fc_moved *moved; /* by from, while chunks are leaving */
	size_t moveds, moved_room;
	size_t data_at, node_at;       /* where the next search starts */
	uint64_t data_used, node_used; /* blocks, pending not counted */
	uint64_t node_free;            /* blocks free in node chunks */
	uint64_t solid_free;           /* blocks free in solid data chunks */
	uint64_t reserved;             /* of these, promised to dirty pages */
	uint64_t held;                 /* of all chunks */
	uint64_t cap;                  /* bytes that the container may take from the host, 0 none */
	uint64_t shared;               /* REF items */
	size_t dirty_chunks;
	bool no_allocate; /* the host cannot preallocate */
	unsigned ahead;   /* chunks to preallocate at a time */
};

struct fc_forest {
	struct fc_io *io;
	struct fc_sessions *sessions;
	_Atomic uint32_t session;                /* that seals now; 0 none yet */
	_Atomic uint64_t node_nonce, data_nonce; /* next to use */
	_Atomic uint64_t read_end;               /* block after the node that was read last */
	_Atomic uint64_t ahead_end;              /* block up to which nodes were asked for ahead */
	struct fc_node_cache cache;
	struct fc_tree files, spaces;
	struct fc_space space;
	uint64_t txg;            /* running */
	size_t dirty;            /* dirty nodes of the running transaction */
	struct fc_node **frozen; /* being committed, children before parents */
	size_t frozens, frozen_room;
	struct fc_ptr frozen_files, frozen_spaces; /* the roots that are committed */
};

/* Frees everything in memory. */
void fc_forest_fini(struct fc_forest *f);

/* ---- btree.c ------------------------------------------------------------ */

/* An empty tree: one dirty leaf (reserved before). */
void fc_tree_make(struct fc_tree *tree);
/* Reads the node at ptr into the cache, or finds it there. */
int fc_tree_node(struct fc_tree *tree, const struct fc_ptr *ptr, struct fc_node **out);
/* Reads and verifies the node that is on the disk at ptr into raw (FC_NODE_BYTES), past the cache. */
int fc_tree_read(const struct fc_tree *tree, const struct fc_ptr *ptr, uint8_t *raw);
/* Spare nodes that make any single operation's changes safe. */
#define FC_TREE_SPARES 192u

/* ---- commit.c ------------------------------------------------------------
 * freeze (exclusive lock) → write (no lock) → [root record] → finish (exclusive lock). */

/* Brings the space tree up to date, gives every dirty node its block and
 * freezes all: the next transaction runs on. FC_ENOSPC, FC_ENOMEM: then nothing
 * was frozen and the fs must not go on writing. */
int fc_forest_freeze(struct fc_forest *f);
/* Seals and writes the frozen nodes; no sync. frozen_files and frozen_spaces
 * are then complete. */
int fc_forest_write(struct fc_forest *f);
/* The root that refers to them is durable: nodes are clean, old ranges free. */
void fc_forest_finish(struct fc_forest *f);

/* ---- space.c -------------------------------------------------------------- */

int fc_space_load(struct fc_forest *f, uint64_t first_chunk, uint64_t end_chunk, uint64_t node_blocks,
		  uint64_t data_blocks);
void fc_space_fini(struct fc_space *s);
/* Chunks from the first to the end of those ever used. */
uint64_t fc_space_end(const struct fc_space *s);

/* Promises n data blocks to dirty pages: FC_ENOSPC when the host, or the cap,
 * cannot give them. last: a few blocks are kept back for operations that free
 * space; this is one. */
int fc_space_reserve(struct fc_forest *f, uint64_t n, bool last);
/* Back into the promise, after a write that failed: the blocks were just cancelled. */
void fc_space_promise_again(struct fc_forest *f, uint64_t n);
/* Blocks that could still be had under the cap; UINT64_MAX without one. */
uint64_t fc_space_under_cap(const struct fc_space *s);
/* The least cap, in bytes, that what is in use and promised now fits under. */
uint64_t fc_space_least_cap(const struct fc_space *s);
void fc_space_unreserve(struct fc_forest *f, uint64_t n);
/* A run of 1..want data blocks within a chunk that can be written without
 * FC_ENOSPC. It is in flight until fc_space_landed (an item refers to it) or
 * fc_space_free_data. promised: comes out of the reservation. */
int fc_space_alloc_data(struct fc_forest *f, uint32_t want, bool promised, struct fc_range *out);
void fc_space_landed(struct fc_forest *f, const struct fc_range *range);
/* In flight, and never sealed into or referred to: free at once... */
void fc_space_cancel(struct fc_forest *f, const struct fc_range *range);
/* Gives up one owner of the range. fc_space_load_refs first, when shared. */
void fc_space_free_data(struct fc_forest *f, uint64_t start, uint32_t count);
/* One more owner. Load first. */
void fc_space_share(struct fc_forest *f, uint64_t start, uint32_t count);
/* Has any of these blocks several owners? Loaded. */
bool fc_space_is_shared(struct fc_forest *f, uint64_t start, uint32_t count);
/* Loads the items that free and share of this range will touch. */
int fc_space_load_refs(struct fc_forest *f, uint64_t start, uint32_t count);
/* Replay: the range was allocated before the crash. FC_ECORRUPT when it cannot have been. */
int fc_space_claim(struct fc_forest *f, uint64_t start, uint32_t count);

/* Makes memory for n ranges that the running transaction will free: freeing cannot fail. */
int fc_space_pend_reserve(struct fc_forest *f, size_t n);

/* A node's blocks; FC_ENOSPC when no node chunk has room (see ..._grow_nodes). */
int fc_space_alloc_node(struct fc_forest *f, uint64_t *block);
void fc_space_free_node(struct fc_forest *f, uint64_t block);
/* Makes room for n more nodes in node chunks if the host has it. 0 or FC_ENOSPC, FC_EIO. */
int fc_space_grow_nodes(struct fc_forest *f, uint64_t n);
/* Upper bound of nodes that the space tree will need at the next freeze. */
uint64_t fc_space_tree_need(const struct fc_forest *f);

/* Writes out-of-date chunk items and pending ranges into the space tree:
 * 1 something was written, 0 nothing to do, a reading error. */
int fc_space_store(struct fc_forest *f);
/* Ranges freed while transaction txg ran may be used again. */
void fc_space_release(struct fc_forest *f, uint64_t txg);

/* Do more than a few blocks wait for commits to be free? */
bool fc_space_waiting(const struct fc_forest *f);
/* How many blocks for data wait so. */
uint64_t fc_space_coming(const struct fc_forest *f);

/* Up to max ranges of free blocks that the host may still hold are taken out
 * of the free space, to be punched and then returned by fc_space_punched. */
size_t fc_space_punchable(struct fc_forest *f, struct fc_range *out, size_t max);
void fc_space_punched(struct fc_forest *f, const struct fc_range *range, size_t n);

/* ---- vacate.c: the last chunks are emptied and cut off ---------------------------
 * The chunks from `roof` on (an index into space.chunk) are LEAVING: nothing new goes
 * there. The owner moves what they hold (fc_space_alloc_low; nodes by dirtying them),
 * commits until nothing of it is pending, and cuts. */

/* The least roof below which there is room for all that lies above, and for `slack`
 * blocks that others write meanwhile; space.chunks: none. */
size_t fc_space_tight(const struct fc_forest *f, uint64_t slack);
/* 0, or FC_ENOSPC, FC_EIO, and nothing is leaving. The caller then looks whether the
 * nodes that may yet get dirty still have room. */
int fc_space_vacate(struct fc_forest *f, size_t roof);
/* Nothing is leaving any more. */
void fc_space_vacate_end(struct fc_forest *f);
bool fc_space_is_leaving(const struct fc_forest *f, uint64_t block);
/* As fc_space_alloc_data of unpromised blocks, but in the first chunk that has any, and
 * FC_ENOSPC when that would be at or above the roof. */
int fc_space_alloc_low(struct fc_forest *f, size_t roof, uint32_t want, struct fc_range *out);
/* Takes up to max free chunks off the end: how many, or a reading error. */
int fc_space_cut(struct fc_forest *f, size_t max);
/* Where blocks from `start` on were moved to: how many of these `count`, *to; 0: start was
 * not, and *count is cut before the next that was. */
uint32_t fc_moved_find(const struct fc_space *s, uint64_t start, uint32_t *count, uint64_t *to);
/* Nothing of it was moved before. When there is no memory, the other owners get copies. */
void fc_moved_add(struct fc_space *s, uint64_t from, uint64_t to, uint32_t count);
/* The last owner of the range is gone: nobody may follow there. */
void fc_moved_forget(struct fc_space *s, uint64_t to, uint32_t count);

/* ---- mend.c: nothing is being committed --------------------------------------- */

/* The root node will be written anew with the next commit, if it can be read: so
 * the two newest roots share none, and damage to one leaves the other. */
void fc_tree_touch(struct fc_tree *tree);

/* ---- renew.c: a rekey ------------------------------------------------------------ */

/* At most max leaves from *from on that a session before `session` sealed are made
 * dirty, and with them the nodes above them. 1: *from is where to go on; 0: none is
 * left; reading errors. Exclusive lock, spares reserved. */
int fc_tree_renew(struct fc_tree *tree, uint32_t session, struct fc_key *from, unsigned max);

/* ---- mend.c: for check/ --------------------------------------------------------- */

/* Forgets all nodes of the tree that are in memory; then it is empty, with one
 * dirty leaf (reserved before). What its nodes on the disk occupy is not freed. */
void fc_tree_reset(struct fc_tree *tree);
/* Takes the pointer to the node of that level on the way to key out of its
 * parent: all below is gone. The node itself need not be readable; what it and
 * those below it occupy is not freed. 0, reading errors, FC_EINVAL: that would be
 * the root. Spares reserved before. */
int fc_tree_cut(struct fc_tree *tree, struct fc_key key, uint8_t level);

/* What is known of a chunk without a space tree. Bits as in struct fc_chunk. */
struct fc_chunk_truth {
	uint8_t kind;                /* FC_CHUNK_* */
	const uint64_t *used, *kept; /* referred to; not referred to, but by an older root. NULL: none */
};
/* Starts a new space map of the chunks first_chunk.. and a new, empty space
 * tree. What is kept counts as freed by the running transaction. data_blocks:
 * of all owners' blocks, those that hold data; node_blocks: likewise nodes on
 * the disk, of the file tree. FC_ENOMEM: the map is unusable then. */
int fc_space_rebuild(struct fc_forest *f, uint64_t first_chunk, const struct fc_chunk_truth *chunk, size_t chunks,
		     uint64_t data_blocks, uint64_t node_blocks);
/* Then: the range has several owners; ranges ascend. */
int fc_space_rebuild_ref(struct fc_forest *f, uint64_t start, uint32_t count, uint32_t owners);

#endif
