/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file system in memory. Locks, in the order in which they are taken:
 *
 *   compact_lock  one step of compacting at a time
 *   punch_lock    blocks are given back to the host by one thread at a time
 *   commit_lock   one commit at a time
 *   flush_lock    one flush of dirty pages at a time
 *   lock          the trees, the space map, dirty pages, inodes: shared to look,
 *                 exclusive to change
 *   journal.lock  the operations not yet in the log, and the log's head
 *   vnode_lock    reference counts
 *   work_lock     what the background threads wait for
 *
 * I/O on the container happens outside `lock`, but for tree nodes that are not
 * in memory and for the last pages before a commit.
 */
#ifndef FC_FS_STATE_H
#define FC_FS_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cipher/log.h"
#include "fs/fs_internal.h"
#include "fs/map.h"
#include "store/header.h"
#include "tree/forest.h"

#define FC_READER_SLOTS 8 /* by txg: more than transactions that can have readers */

/* A page of a file that is newer than the tree. lock. */
struct fc_page {
	uint64_t ino, index; /* file block */
	struct fc_vnode *vnode;
	uint8_t *data; /* FC_BLOCK bytes; zero beyond the end of the file */
	struct fc_page *hash_next;
	struct fc_page *vprev, *vnext; /* pages of the vnode, no order */
	struct fc_page *prev, *next;   /* all pages, oldest first */
	bool unlogged; /* the journal does not have its content: it must get a MAP before the next log record */
	bool fresh;    /* the file has no block there yet */
	bool busy;     /* being sealed: data must not change; a newer version replaces it */
	bool stale;    /* busy, and replaced or dropped: the flush throws it away */
};

/* An inode that the kernel knows, or that has dirty pages. */
struct fc_vnode {
	uint64_t ino;
	uint64_t refs;              /* vnode_lock */
	struct fc_vnode *hash_next; /* vnode_lock to change, lock too */
	struct fc_page *pages;      /* lock */
	size_t npages, fresh;       /* lock */
};

struct fc_journal {
	pthread_mutex_t lock;
	pthread_cond_t done; /* a log write or commit has ended */
	uint8_t *pre;        /* operations of the frozen transaction that are not in the log */
	size_t pre_bytes;
	uint8_t *buf; /* operations of the running one, likewise */
	size_t bytes, room;
	bool pre_lost, lost;       /* pre, buf are incomplete: only a commit makes these operations durable */
	uint64_t recorded;         /* operations so far */
	uint64_t pre_end;          /* `recorded` when the frozen transaction ended */
	uint64_t durable;          /* of these, how many a crash cannot take away */
	bool ready;                /* the durable root's log chain is of this session */
	bool kicked;               /* a commit was asked for to make room in the log; busy */
	bool busy;                 /* someone writes to the log, or the root is being written */
	struct fc_log_head head;   /* where the next record goes */
	struct fc_log_head freeze; /* where the frozen transaction's root lets the chain start */
	uint64_t tail;             /* byte position of the oldest record that the durable root needs */
	uint64_t live;             /* bytes from tail to head */
	_Atomic uint64_t acked;    /* sequence of the newest record that a sync has returned for; changed while busy */
};

/* Of an opening for check/: what it meets is noted here, and it goes on. */
struct fc_damage {
	uint64_t avoid; /* in: do not start from the root of that generation, 0 none */
	/* in: an operation on that inode could not be replayed */
	void (*skipped)(void *arg, uint64_t ino, int error);
	void *arg;
	int space;            /* the space tree cannot be used: it and the map are empty. 0: it can */
	int log;              /* of the log, only the records before the one that gave this were used. 0: all */
	uint64_t log_records; /* used */
	uint64_t log_seq;     /* sequence of the first that was not */
	bool log_torn;        /* the last one was taken for one that a power cut interrupted: its data does not open */
	uint64_t generation;  /* newest of a root that opens, avoided or not */
};

enum fc_rekey_phase {
	FC_REKEY_NONE,   /* keys->old is not set */
	FC_REKEY_BEGIN,  /* both root records are still to be written under the new key */
	FC_REKEY_DATA,   /* extents of old sessions are sealed anew */
	FC_REKEY_FILES,  /* nodes of the file tree */
	FC_REKEY_SPACES, /* nodes of the space tree */
	FC_REKEY_ROOTS,  /* both roots still have to know that nothing is old any more */
	FC_REKEY_WIPE,   /* what the old key opens is taken out of log, salt table and header */
};

/* Of a rekey under way; lock unless it says otherwise. */
struct fc_rekey {
	_Atomic enum fc_rekey_phase phase; /* changed by one thread at a time */
	struct fc_key at;                  /* where the phase goes on; whoever steps */
	bool again;                        /* an extent of an old session was put in: another pass is due */
	bool found;                        /* this pass has met extents of an old session; whoever steps */
	int damaged;                       /* why an extent of this pass could not be opened, or 0; whoever steps */
	uint64_t moved;                    /* units since the last commit; whoever steps */
	_Atomic uint64_t seen, total;      /* units of this pass */
	struct fc_range *flying;           /* in flight when the session changed */
	size_t flyings;
	void *shared;         /* where shared blocks went: rekey.c; whoever steps */
	size_t shareds;       /* likewise */
	_Atomic int error;    /* of the last step, 0 none */
	pthread_mutex_t step; /* one step at a time; taken before all others */
	pthread_t thread;
	bool running, ended; /* the thread; work_lock */
};

#define FC_BUFFER_BYTES (1u << 20)
#define FC_BUFFERS_KEPT 6u
#define FC_ASKED_SLOTS 4096u

enum fc_compact_phase { FC_COMPACT_BEGIN, FC_COMPACT_FILES, FC_COMPACT_SPACE, FC_COMPACT_CUT };

/* compact_lock */
struct fc_compact {
	enum fc_compact_phase phase;
	unsigned pass;
	size_t roof;            /* index of the first chunk that is leaving */
	struct fc_key at, done; /* where the scan goes on; the leaf of `done` was dirtied */
	uint64_t moved;         /* blocks, of this pass */
	uint64_t stepped;       /* seconds of the monotonic clock at the last step */
	struct fc_fs_compacting sum;
};

struct fc_fs {
	pthread_mutex_t compact_lock, punch_lock, commit_lock, flush_lock;
	uint64_t punch_acked; /* journal.acked when the last punching ended; punch_lock */
	pthread_rwlock_t lock;
	pthread_mutex_t vnode_lock, work_lock;

	struct fc_io *io;
	struct fc_keys *keys;
	struct fc_sessions *sessions;
	struct fc_fs_options options;
	uint8_t uuid[FC_UUID_BYTES];
	uint32_t cipher, version;
	struct fc_log_place log;

	struct fc_forest forest;   /* lock */
	uint64_t next_ino, inodes; /* lock */
	struct fc_root root;       /* newest durable; commit_lock */
	unsigned root_slot;        /* that holds it */
	uint8_t root_tag[FC_TAG_BYTES];
	struct fc_session_range range; /* commit_lock and lock to change */
	bool names_kept;               /* the key of names is that of a master key before this one */
	struct fc_rekey rekey;
	uint64_t header_seq;                       /* of the newest header met; commit_lock */
	_Atomic uint64_t readers[FC_READER_SLOTS]; /* reads under way, by the transaction they began in */

	struct fc_vnode **vnode; /* table, power of two */
	size_t vnodes, vnode_buckets;
	struct fc_page **page; /* table, power of two; lock */
	size_t page_buckets;
	_Atomic size_t pages;    /* changed under the lock */
	struct fc_page oldest;   /* ring of all pages */
	_Atomic size_t unlogged; /* pages; likewise */
	size_t dirty_limit;      /* pages */

	uint64_t ahead_limit;                   /* bytes of a file that is read around */
	_Atomic uint64_t asked[FC_ASKED_SLOTS]; /* see ahead.c */

	struct fc_journal journal;
	struct fc_compact compact;

	pthread_mutex_t buffer_lock; /* the last to be taken */
	uint8_t *buffer[FC_BUFFERS_KEPT];
	unsigned buffers; /* buffer_lock, like buffer[] */

	_Atomic bool failed;  /* R10: nothing more is written */
	_Atomic bool stopped; /* that was asked for, and all before is committed */
	bool read_only, replaying;
	struct fc_damage *damage;  /* NULL: damage is an error */
	bool freeing;              /* the operation under the lock frees space: it may use the last of it */
	uint64_t given_up;         /* operations so far that gave space up; lock */
	uint64_t waited, full;     /* given_up + 1 when an operation last waited for room, when none came; lock */
	unsigned full_nodes;       /* for which none came; lock */
	_Atomic bool reclaim_more; /* an orphan was too large to remove in one go; lock */
	bool dirty_root;           /* something changed since the durable root; lock */

	pthread_cond_t work, room;                     /* for the threads; for those who wait for clean pages */
	bool stop, flush_wanted, commit_wanted, dirty; /* work_lock */
	uint64_t activity;                             /* operations so far, for telling idleness; work_lock */
	pthread_t flusher, committer;
	bool threads;
};

/* ---- fs.c */
void fc_fs_fail(struct fc_fs *fs, const char *what, int error);
/* Exclusive lock. Would `nodes` more dirty nodes still find room in a commit? */
bool fc_fs_has_room(struct fc_fs *fs, uint64_t nodes, bool frees);
void fc_fs_log(struct fc_fs *fs, int priority, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A reader of blocks: between these its blocks are not reused. Shared lock for enter; none for leave. */
unsigned fc_fs_enter(struct fc_fs *fs);
void fc_fs_leave(struct fc_fs *fs, unsigned slot);

/* ---- vnode.c */
struct fc_vnode *fc_vnode_find(struct fc_fs *fs, uint64_t ino); /* either lock */
/* Made if needed; exclusive lock. NULL: out of memory. */
struct fc_vnode *fc_vnode_get(struct fc_fs *fs, uint64_t ino);
/* Frees it when nothing holds it; exclusive lock. */
void fc_vnode_tidy(struct fc_fs *fs, struct fc_vnode *v);
void fc_vnode_fini(struct fc_fs *fs);
/* References as from has them; nobody uses either meanwhile. */
void fc_vnode_ref_all(struct fc_fs *fs, const struct fc_fs *from);

size_t fc_data_pages(struct fc_fs *fs, uint64_t ino); /* dirty ones; either lock */

/* ---- page.c; exclusive lock unless it says otherwise */
struct fc_page *fc_page_find(struct fc_fs *fs, uint64_t ino, uint64_t index); /* either lock */
/* A page to write to: not busy, content as it was (zeros when new). One block is
 * promised for a new one. NULL with *error. */
struct fc_page *fc_page_edit(struct fc_fs *fs, uint64_t ino, uint64_t index, bool fresh, int *error);
/* Forgets pages from index first on, up to and without end. */
void fc_page_drop(struct fc_fs *fs, uint64_t ino, uint64_t first, uint64_t end);
/* The file has got blocks for [first, end), or lost them, below dirty pages. */
void fc_page_set_fresh(struct fc_fs *fs, uint64_t ino, uint64_t first, uint64_t end, bool fresh);
/* After a flush: takes it out of the tables and frees it (also a stale one). */
void fc_page_free(struct fc_fs *fs, struct fc_page *page);
void fc_page_logged(struct fc_fs *fs, struct fc_page *page, bool logged);
void fc_page_fini(struct fc_fs *fs);

/* ---- map.c */
struct fc_extent {
	uint64_t file_block;
	uint64_t start;          /* block; 0: lost, see fc_extent_lost */
	uint32_t units, session; /* session 0: allocated, not written, reads as zeros */
	uint64_t nonce;
	const uint8_t *tags; /* FC_TAG_BYTES a unit */
};
/* What check could not read: it has no blocks, and reading it fails until it is
 * overwritten, cut off or punched. It counts in inode->blocks. */
static inline bool fc_extent_lost(const struct fc_extent *e)
{
	return !e->start;
}
int fc_extent_decode(struct fc_extent *e, const struct fc_item *item);
size_t fc_extent_encode(const struct fc_extent *e, uint8_t *raw); /* raw: FC_ITEM_MAX */
/* The extent that holds block, or the next one after it; FC_ENOENT. Either lock. */
int fc_extent_at(struct fc_fs *fs, uint64_t ino, uint64_t block, struct fc_extent *e);
/* Loads all that unmapping and mapping [first, end) will touch. */
int fc_map_load(struct fc_fs *fs, uint64_t ino, uint64_t first, uint64_t end);
/* Removes the mapping of [first, end), which was loaded; counts in inode->blocks. */
void fc_map_clear_range(struct fc_fs *fs, struct fc_inode *inode, uint64_t first, uint64_t end);
/* Maps e (nothing is mapped there); the blocks are in use already. */
void fc_map_insert(struct fc_fs *fs, struct fc_inode *inode, const struct fc_extent *e);
/* Reads one file block as the tree has it (zeros for holes) into data. Either lock. */
int fc_map_read_block(struct fc_fs *fs, uint64_t ino, uint64_t block, uint8_t *data);
/* Opens units of an extent: `count` from unit `first` on. No lock (fc_fs_enter). */
int fc_extent_read(struct fc_fs *fs, const struct fc_extent *e, uint32_t first, uint32_t count, uint8_t *out);
/* The same when the sealed units are in data already; they are opened in place. */
int fc_extent_open(struct fc_fs *fs, const struct fc_extent *e, uint32_t first, uint32_t count, uint8_t *data);
/* Seals count pages (scattered) one after the other into buf; tags: FC_TAG_BYTES each.
 * session and nonce were taken in one hold of the exclusive lock. */
int fc_extent_seal(struct fc_fs *fs, uint32_t count, uint32_t session, uint64_t nonce, const uint8_t *const *page,
		   uint8_t *buf, uint8_t *tags);
/* The same as a part of a larger write. */
static inline struct fc_io_part fc_extent_part(uint64_t start, uint32_t count, const uint8_t *buf)
{
	return (struct fc_io_part){ buf, (size_t)count * FC_UNIT, start * FC_BLOCK };
}
/* Writes count sealed units from block start on; buf: of fc_buffer_take. */
int fc_extent_write(struct fc_fs *fs, uint64_t start, uint32_t count, const uint8_t *buf);

/* ---- ahead.c */
void fc_ahead_init(struct fc_fs *fs);

/* ---- buffer.c; without locks */
/* FC_BUFFER_BYTES, aligned to FC_IO_ALIGN; NULL: no memory. */
uint8_t *fc_buffer_take(struct fc_fs *fs);
void fc_buffer_give(struct fc_fs *fs, uint8_t *p); /* NULL: nothing */
void fc_buffer_fini(struct fc_fs *fs);

/* ---- flush.c */
/* Writes out at most max pages, oldest first. Takes flush_lock and lock. */
int fc_flush(struct fc_fs *fs, size_t max);
/* Likewise all of one file's pages in [first, end). */
int fc_flush_file(struct fc_fs *fs, uint64_t ino, uint64_t first, uint64_t end);
/* All pages (or the unlogged ones only), with flush_lock and the exclusive lock held. */
int fc_flush_locked(struct fc_fs *fs, bool unlogged_only);
/* Waits until dirty pages are below the limit. No lock held. */
void fc_flush_throttle(struct fc_fs *fs);

/* ---- open.c
 * For check/, which is alone with the fs: as fc_fs_open, but read-only whatever
 * the options say, and what is damaged does not end it as long as there is a
 * root to start from; nothing is reclaimed. options->accept_older is taken as
 * set. To go on writing, make the space map right (fc_space_rebuild), clear
 * read_only and promise blocks to fs->pages pages (fc_space_reserve). */
int fc_fs_open_damaged(struct fc_io *io, const uint8_t master[FC_KEY_BYTES], const struct fc_fs_options *options,
		       struct fc_damage *damage, struct fc_fs **out);
/* Gives up the space tree, which cannot be used: an empty one, in memory, takes
 * its place, and nothing is known to be in use. 0 or FC_ENOMEM. */
int fc_fs_drop_space(struct fc_fs *fs, int error);

/* ---- compact.c */
/* Leaves off when nobody has asked for a step for long. */
void fc_compact_expire(struct fc_fs *fs);

/* ---- journal.c, commit.c, threads.c */
int fc_journal_init(struct fc_fs *fs);
void fc_journal_fini(struct fc_fs *fs);
void fc_journal_record(struct fc_fs *fs, const struct fc_op *op);
/* Between begin and end nobody writes to the log; freeze itself under the exclusive lock. */
void fc_journal_freeze_begin(struct fc_fs *fs);
void fc_journal_freeze(struct fc_fs *fs);
void fc_journal_freeze_end(struct fc_fs *fs);
struct fc_log_head fc_journal_root_begin(struct fc_fs *fs); /* holds up log writes */
void fc_journal_root_end(struct fc_fs *fs, bool durable);
int fc_replay(struct fc_fs *fs);
/* A salt of its own for this mount, before the first thing is sealed. commit_lock held. */
int fc_session_start(struct fc_fs *fs);
/* Another session, of another master key, takes its place. freeze_begin, flush_lock and exclusive lock. */
void fc_session_replace(struct fc_fs *fs, uint32_t session);
int fc_commit(struct fc_fs *fs, bool clean);
/* Overwrites what the newest root does not need of the log. */
int fc_journal_wipe(struct fc_fs *fs);

/* ---- rekey.c */
void fc_rekey_init(struct fc_fs *fs);
void fc_rekey_fini(struct fc_fs *fs);
/* The header has both copies alike before anything is sealed under the new key. */
int fc_rekey_settle(struct fc_fs *fs);
/* One bounded step: 1 there is more, 0 nothing left to do, or what stopped it. */
int fc_rekey_step(struct fc_fs *fs);
/* A thread that makes the steps, where there are any to make. */
int fc_rekey_start(struct fc_fs *fs);
void fc_rekey_stop(struct fc_fs *fs);

int fc_threads_start(struct fc_fs *fs);
void fc_threads_stop(struct fc_fs *fs);
void fc_threads_kick(struct fc_fs *fs, bool flush, bool commit);
int fc_background_punch(struct fc_fs *fs);
/* Two commits when anything waits to be free: then it is. */
void fc_settle(struct fc_fs *fs);
int fc_background_reclaim(struct fc_fs *fs);
bool fc_has_orphans(struct fc_fs *fs);

#endif
