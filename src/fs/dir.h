/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries of directories. An ENTRY item holds what a name means, a NAME item
 * leads from the name's hash to the entries' sequence numbers: normally one,
 * several when hashes collide. Hashes are arguments so that tests can collide
 * them.
 *
 * Locking: find and readdir under either lock, the rest under the exclusive
 * one. add, del and set cannot fail once fc_dir_load has loaded what they
 * touch; they change dir->entries and dir->next_seq but put no inode.
 */
#ifndef FC_FS_DIR_H
#define FC_FS_DIR_H

#include "fs/fs_internal.h"

/* Offsets 1 and 2 of readdir are those after `.` and after `..`. */
#define FC_DIR_FIRST_SEQ 3u
/* What an entry adds to the size that stat(2) shows. */
#define FC_DIR_ENTRY_SIZE 32u

/* Nodes that changing that many keys may dirty: each a path of up to five
 * levels, every one of which may split. For fc_fs_begin. */
#define FC_KEY_NODES(keys) ((keys)*10u)

struct fc_entry {
	uint64_t hash, ino, seq;
	uint16_t peers; /* entries of that hash in the directory; 0 also when none was found */
	uint8_t type;   /* DT_* */
};

#define FC_LINK_MAX 65000u

/* 0 or FC_ENAMETOOLONG, FC_EINVAL (empty, `.`, `..`, with a slash); *out is the name. */
int fc_dir_check_name(const char *name, struct fc_bytes *out);

/* DT_* of a mode. */
static inline uint8_t fc_dir_type(uint32_t mode)
{
	return (uint8_t)(mode >> 12 & 15);
}

uint64_t fc_dir_hash(struct fc_fs *fs, const struct fc_bytes *name);

/* 0, FC_ENOENT, FC_ECORRUPT or a reading error. With FC_ENOENT, hash and peers
 * are set too: the place for a new entry of that name. */
int fc_dir_find(struct fc_fs *fs, uint64_t dir, uint64_t hash, const struct fc_bytes *name, struct fc_entry *entry);

/* 0, or FC_ENOSPC: no room for one more name of that hash. */
int fc_dir_room(const struct fc_entry *place);

/* Loads the keys of entry->hash and seq. */
int fc_dir_load(struct fc_fs *fs, uint64_t dir, const struct fc_entry *entry, uint64_t seq);

/* Adds an entry at dir->next_seq. place: of a find in the same lock hold that
 * gave FC_ENOENT; since then entries may have gone, but none of its hash may
 * have come. */
int fc_dir_add(struct fc_fs *fs, struct fc_inode *dir, const struct fc_entry *place, const struct fc_bytes *name,
	       uint64_t ino, uint8_t type);
/* The same at an offset that nothing has, below dir->next_seq. */
int fc_dir_add_at(struct fc_fs *fs, struct fc_inode *dir, const struct fc_entry *place, const struct fc_bytes *name,
		  uint64_t ino, uint8_t type, uint64_t seq);
/* entry: of a find in the same lock hold, nothing of its hash changed since. */
int fc_dir_del(struct fc_fs *fs, struct fc_inode *dir, const struct fc_entry *entry);
/* Lets an entry that exists mean another inode; name and offset stay. */
int fc_dir_set(struct fc_fs *fs, uint64_t dir, uint64_t seq, uint64_t ino, uint8_t type);

/* Loads and reads the inode of a directory that entries may be added to.
 * FC_ENOTDIR; FC_ENOENT: it was removed. */
int fc_dir_inode(struct fc_fs *fs, uint64_t ino, struct fc_inode *dir);

/* Takes a link away (from a directory: all), makes an orphan of what has none
 * left, and puts the inode. Inode and orphan item must be loaded. */
int fc_inode_unlinked(struct fc_fs *fs, struct fc_inode *inode, struct fc_time time);
/* After that was recorded: reclaims the inode unless it has links or someone
 * holds it. */
void fc_inode_drop(struct fc_fs *fs, const struct fc_inode *inode);

#endif
