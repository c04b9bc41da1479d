/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of fs/ share. Every change of the file system goes
 *
 *     fc_fs_begin(fs, nodes)     exclusive lock; room for dirty nodes is there
 *     load keys, check           may fail: nothing has changed
 *     fc_apply_<op>(fs, &op)     loads, checks and changes: all or nothing
 *     fc_fs_record(fs, &op)      appends the operation to the journal
 *     fc_fs_end(fs)              unlocks
 *
 * and replay after a crash calls the same fc_apply_<op> with operations read
 * from the log. So an operation holds everything that its outcome depends on
 * (inode numbers, times, inherited ACLs) but the tree's state, and applying the
 * same operations to the same state gives the same state.
 */
#ifndef FC_FS_INTERNAL_H
#define FC_FS_INTERNAL_H

#include "fs/op.h"
#include "fusecrypt/container.h"
#include "tree/btree.h"

/* ---- fs.c: locks, budget, clock --------------------------------------- */

/* Takes the exclusive lock when the fs is writable and at most `nodes` more
 * dirty nodes would still be safe (R5); may commit first. On an error (FC_EROFS,
 * FC_ENOSPC, FC_EIO) the lock is not held. frees: the operation frees space
 * (unlink, truncate): it may use the last of the reserve. */
int fc_fs_begin(struct fc_fs *fs, unsigned nodes, bool frees);
void fc_fs_end(struct fc_fs *fs);
void fc_fs_rdlock(struct fc_fs *fs);
void fc_fs_rdunlock(struct fc_fs *fs);
/* After a successful apply, under the exclusive lock. Cannot fail: when memory
 * or room is short the next sync commits instead. */
void fc_fs_record(struct fc_fs *fs, const struct fc_op *op);

struct fc_tree *fc_fs_tree(struct fc_fs *fs); /* the file tree */
struct fc_time fc_fs_now(struct fc_fs *fs);
uint64_t fc_fs_new_ino(struct fc_fs *fs); /* under the exclusive lock; never reused */
/* Replay: numbers up to ino are taken. */
void fc_fs_took_ino(struct fc_fs *fs, uint64_t ino);
void fc_fs_count_inodes(struct fc_fs *fs, int64_t change);
/* Keyed hash of a name in a directory or of an attribute's name. */
uint64_t fc_fs_name_hash(struct fc_fs *fs, const char *name, size_t n);

/* ---- vnode.c: inodes that the kernel knows ----------------------------- */

void fc_vnode_ref(struct fc_fs *fs, uint64_t ino, uint64_t n);
/* Does anyone hold it? Under either lock. */
bool fc_vnode_held(struct fc_fs *fs, uint64_t ino);

/* ---- inode.c ------------------------------------------------------------ */

struct fc_inode {
	uint64_t ino;
	uint32_t mode, nlink, uid, gid;
	uint64_t rdev; /* major << 32 | minor */
	uint64_t size, blocks, flags;
	struct fc_time atime, mtime, ctime, btime;
	uint64_t next_seq, parent, entries;
	uint32_t xattrs;
};

void fc_inode_encode(const struct fc_inode *inode, uint8_t raw[FC_INODE_BYTES]);
/* FC_ECORRUPT for what no program of ours writes. Pure. */
int fc_inode_decode(struct fc_inode *inode, uint64_t ino, const uint8_t *raw, size_t bytes);
/* Either lock; FC_ESTALE: no such inode. */
int fc_inode_get(struct fc_fs *fs, uint64_t ino, struct fc_inode *inode);
/* The same under the exclusive lock after fc_tree_load, so that it can be put. */
int fc_inode_load(struct fc_fs *fs, uint64_t ino, struct fc_inode *inode);
/* Exclusive lock, path loaded: writes it back (exists already or not). */
int fc_inode_put(struct fc_fs *fs, const struct fc_inode *inode);
/* blocks counts data not yet mapped too (fc_data_unmapped). */
void fc_inode_attr(struct fc_fs *fs, const struct fc_inode *inode, struct fc_attr *attr);
/* Adds or takes away the orphan item. Exclusive lock, key loaded. */
int fc_orphan_add(struct fc_fs *fs, uint64_t ino);
int fc_orphan_del(struct fc_fs *fs, uint64_t ino);

/* ---- file data (file.c, map.c, flush.c) --------------------------------- */

/* Blocks of dirty pages of ino that have no block yet. Either lock. */
uint64_t fc_data_unmapped(struct fc_fs *fs, uint64_t ino);
/* Under the exclusive lock: sets inode->size and drops or zeroes what lies
 * beyond; *inode is changed but not put. Loads what it needs first: an error
 * leaves everything as it was. */
int fc_data_truncate(struct fc_fs *fs, struct fc_inode *inode, uint64_t size);
/* Under the exclusive lock: removes inode, content and attributes of an inode
 * without links and references, as far as the budget permits; the rest is
 * resumed in the background. */
void fc_reclaim(struct fc_fs *fs, uint64_t ino);

#endif
