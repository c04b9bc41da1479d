/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of the checker. It works in rounds:
 *
 *   walk.c    reads the trees, node by node, in key order
 *   items.c   takes items, and judges an inode when its last one was seen
 *   extents.c names.c attributes.c
 *             its extents and their data, entries and names, attributes
 *   links.c   at the end of the walk: inodes against the names that lead to them
 *   space.c   blocks referred to against the space map (first round)
 *
 * What is wrong becomes a finding (first round only: findings.c) and, where
 * something can be done, mends: small changes of the file tree. What cannot be
 * read or makes no sense counts as absent, so the first round sees what follows
 * from it. A repair applies a round's mends and walks again (repair.c) until a
 * round has none; then space map and space tree are built anew and all of it is
 * committed.
 *
 * The checker is alone with its fs: no locks. Functions return 0 or what ends
 * the check: FC_ENOMEM, FC_EINTERRUPTED.
 */
#ifndef FC_CHECK_CHECKER_H
#define FC_CHECK_CHECKER_H

#include <string.h>

#include "fs/dir.h"
#include "fs/state.h"
#include "fusecrypt/check.h"

/* Numbers count up from FC_INO_FIRST: greater ones are forged, and leave room for new ones. */
#define FC_CHECK_INO_MAX (FC_INO_MAX / 2)

/* ---- lists ------------------------------------------------------------------ */

struct fc_list {
	void *at;
	size_t n, room;
};

/* A new last element, zeroed; NULL: out of memory. Every use of a list gives the same bytes. */
void *fc_list_add(struct fc_list *list, size_t bytes);
static inline void fc_list_clear(struct fc_list *list)
{
	list->n = 0;
}
void fc_list_free(struct fc_list *list);
#define FC_LIST_AT(list, type, i) ((type *)(list)->at + (i))

/* ---- what a round collects ---------------------------------------------------- */

/* A part of the file tree's keys, lo up to and without hi, in which items may be missing. */
struct fc_lost {
	struct fc_key lo, hi;
	uint8_t level; /* of the node to be cut off; FC_LOST_ITEM: a single item */
};
#define FC_LOST_ITEM 255u

/* INODE: it has an inode item. FULL: a directory with entries. */
enum { FC_REC_INODE = 1, FC_REC_ORPHAN = 2, FC_REC_REACHED = 4, FC_REC_PASSED = 8, FC_REC_FULL = 16 };

struct fc_rec {
	uint64_t ino;
	uint64_t parent;     /* as a directory says */
	uint64_t subdirs;    /* names of directories in it */
	size_t first, names; /* links that lead to it, those that stay */
	uint32_t nlink;      /* as it says */
	uint8_t type;        /* DT_* */
	uint8_t flags;       /* FC_REC_* */
};

struct fc_link {
	uint64_t ino, dir, seq;
	uint8_t type; /* DT_* that the entry tells */
	bool dropped;
};

struct fc_blob {
	uint64_t number, bytes;
	uint32_t parts;
	bool bad, used;
};

struct fc_ref {
	uint64_t start;
	uint64_t count;
	uint32_t owners;
};

enum fc_mend_kind {
	FC_MEND_DELETE,  /* the item */
	FC_MEND_PURGE,   /* all items of key.ino */
	FC_MEND_MAKE,    /* an inode for key.ino: a = DT_DIR, next_seq b; or DT_REG, b bytes */
	FC_MEND_INLINED, /* likewise, of b bytes, which its INLINE item holds */
	FC_MEND_LOSE,    /* blocks key.off.. of key.ino, a of them, cannot be read */
	FC_MEND_CLEAR,   /* the same blocks become a hole */
	FC_MEND_SET,     /* a field of the inode: key.type = FC_SET_FIELD_*, a */
	FC_MEND_TYPE,    /* of the entry: a = inode, b = DT_* */
	FC_MEND_NAME,    /* the NAME item gets a sequence more: a */
	FC_MEND_XATTR,   /* the XATTR item: attributes that cannot be read go, and those with blob a */
	FC_MEND_BLOB,    /* number a goes */
	FC_MEND_ORPHAN,  /* key.ino is one */
	FC_MEND_HOME,    /* key.ino, of type a, gets a name in lost+found */
};

enum {
	FC_FIELD_NLINK,
	FC_FIELD_PARENT,
	FC_FIELD_ENTRIES,
	FC_FIELD_NEXT_SEQ,
	FC_FIELD_BLOCKS,
	FC_FIELD_XATTRS,
	FC_FIELD_SIZE,
	FC_FIELD_FLAGS,
	FC_FIELD_PRIVATE /* mode &= 0700 */
};

struct fc_mend {
	enum fc_mend_kind kind;
	struct fc_key key;
	uint64_t a, b;
};

struct fc_name {
	uint64_t hash, seq;
};

/* The inode whose items are passing by. */
struct fc_current {
	bool any; /* there is one */
	bool has; /* its inode item was read */
	bool has_inline;
	bool named; /* its NAME items have begun, or its end: names is sorted */
	uint64_t ino;
	struct fc_inode inode;
	uint32_t inline_bytes;
	uint64_t blocks;  /* of its extents */
	uint64_t next;    /* file block after the last extent */
	uint64_t written; /* file block after the last one that holds data */
	uint64_t beyond;  /* file block of the first data beyond the end, 0 none */
	uint64_t entries, top_seq;
	uint64_t xattrs;
	uint64_t index_bad;   /* NAME items that are missing or wrong */
	struct fc_list gaps;  /* struct fc_mend: blocks that may have been lost */
	struct fc_list names; /* struct fc_name, by hash and sequence once `named` */
	size_t name_at;       /* the first that no NAME item was seen for */
	size_t first_link;    /* of its entries, ascending by sequence */
};

struct fc_owner_chunk {
	uint64_t *used, *node; /* FC_MAP_WORDS; NULL: none */
};

/* Which blocks are referred to. */
struct fc_owners {
	uint64_t first_chunk;
	struct fc_owner_chunk *chunk;
	size_t chunks;
	struct fc_list again; /* struct fc_ref: ranges that were claimed once more */
	uint64_t data_blocks, node_blocks;
};

struct fc_checker {
	const struct fc_check_options *options;
	struct fc_check_result *result;
	struct fc_io *io; /* the fs's, once there is one */
	struct fc_keys *keys;
	struct fc_fs *fs;
	struct fc_damage damage;

	/* copies.c */
	struct fc_header header;
	struct fc_roots roots;
	struct fc_sessions *sessions; /* of its own, until there is an fs */
	bool header_bad[2];
	struct fc_list salts_bad; /* uint32_t: 2 * block + copy */
	bool root_bad, root_readable, older_readable;

	unsigned round;
	bool no_memory;     /* in a finding or a mend: ends the round */
	bool disk_error;    /* a read failed: the disk's fault, perhaps not for ever */
	bool distrust;      /* the space map has blocks as free that are referred to */
	bool commit;        /* there is damage that a new root must mend */
	uint64_t done, all; /* progress, in blocks */
	uint64_t nodes;

	struct fc_list findings;
	struct fc_current cur;
	struct fc_list lost, recs, links, blobs, orphans, mends, refs;
	struct fc_owners owners, first; /* of this round; of the first one */
	uint64_t top_ino;
	uint64_t *pend; /* space.c */
	uint8_t *data;  /* one extent */
};

/* ---- findings.c ------------------------------------------------------------------ */

struct fc_found {
	enum fc_check_kind kind;
	bool note, repaired;
	uint64_t ino, off, bytes;
	uint64_t dir, seq; /* dir: the name is this entry's; else those of ino */
	char *text;
	const char *action; /* static; %N in it stands for the inode */
	char **path;
	size_t paths;
};

/* Takes down what is wrong with ino (0: none). NULL: not the first round, or
 * out of memory (noticed at the end of the round), or too many. */
struct fc_found *fc_find(struct fc_checker *c, enum fc_check_kind kind, uint64_t ino, const char *action,
			 const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The same for an entry of dir. */
void fc_find_entry(struct fc_checker *c, const struct fc_link *link, const char *action, const char *text);
void fc_find_note(struct fc_checker *c, enum fc_check_kind kind, uint64_t ino, const char *text);
/* Blocks of a file; joined with those before them. clip: its size. */
void fc_find_data(struct fc_checker *c, uint64_t ino, uint64_t block, uint64_t blocks, uint64_t clip, bool note);
/* Looks up the paths. After the first round's links. */
int fc_find_paths(struct fc_checker *c);
/* Tells all findings, and frees them. */
void fc_find_tell(struct fc_checker *c);
/* Queues a mend. NULL: out of memory, noticed likewise. */
struct fc_mend *fc_mend(struct fc_checker *c, enum fc_mend_kind kind, struct fc_key key, uint64_t a, uint64_t b);

/* ---- the parts --------------------------------------------------------------------- */

/* copies.c: header, roots, salts: before there is an fs. 0, or there is nothing
 * to start from. */
int fc_check_copies(struct fc_checker *c);
/* Writes the bad ones anew (roots: by commits). */
int fc_mend_copies(struct fc_checker *c);
/* log.c: after opening. */
int fc_check_log(struct fc_checker *c);

/* walk.c: one round. */
int fc_check_round(struct fc_checker *c);
/* FC_EINTERRUPTED when that is wanted; tells progress. */
int fc_check_pause(struct fc_checker *c, uint64_t blocks);
/* Was anything with that key range lost? The first such range's lower end in *from. */
bool fc_check_lost(const struct fc_checker *c, struct fc_key lo, struct fc_key hi, struct fc_key *from,
		   struct fc_key *to);

int fc_check_item(struct fc_checker *c, const struct fc_item *item);
int fc_check_items_end(struct fc_checker *c);
/* The item is of no use: says so and lets it go. */
void fc_check_bad_item(struct fc_checker *c, enum fc_check_kind kind, struct fc_key key, const char *text);
int fc_check_extent(struct fc_checker *c, const struct fc_item *item);
/* True: blocks were lost with a part of the tree. known: how many it should have. */
bool fc_check_extents_end(struct fc_checker *c, bool known);
int fc_check_entry(struct fc_checker *c, const struct fc_item *item);
int fc_check_name(struct fc_checker *c, const struct fc_item *item);
void fc_check_names_end(struct fc_checker *c);
int fc_check_xattr(struct fc_checker *c, const struct fc_item *item);
int fc_check_blob(struct fc_checker *c, const struct fc_item *item);
void fc_check_blobs_end(struct fc_checker *c);
int fc_check_links(struct fc_checker *c);
struct fc_rec *fc_check_rec(const struct fc_checker *c, uint64_t ino); /* NULL: none */

/* owners.c. claim: 0, 1: cannot be so, or an error. */
int fc_owners_init(struct fc_owners *o, uint64_t first_chunk, uint64_t chunks);
void fc_owners_free(struct fc_owners *o);
int fc_owners_claim_node(struct fc_owners *o, uint64_t block);
int fc_owners_claim_data(struct fc_owners *o, uint64_t start, uint32_t count);
/* The ranges with two owners and more, ascending, into refs (struct fc_ref). */
int fc_owners_refs(struct fc_owners *o, struct fc_list *refs);
/* Joins neighbours with the same number. */
void fc_refs_join(struct fc_list *refs);

/* space.c */
int fc_check_ref(struct fc_checker *c, const struct fc_item *item);
int fc_check_space(struct fc_checker *c);
int fc_mend_space(struct fc_checker *c);

/* repair.c, mend.c */
int fc_check_repair(struct fc_checker *c);
int fc_mend_apply(struct fc_checker *c, const struct fc_mend *m);
/* lost_found.c */
int fc_mend_home(struct fc_checker *c, uint64_t ino, uint8_t type);

#endif
