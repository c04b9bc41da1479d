/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extended attributes as items: all attributes of an inode whose names have
 * one hash share an XATTR item. Values that are large, or that do not fit
 * beside the others of a hash, are blobs (fs/map.h). Hashes are
 * arguments so that tests can collide them.
 *
 * Locking: next is pure; find and value under either lock; the rest under the
 * exclusive one.
 */
#ifndef FC_FS_XATTR_H
#define FC_FS_XATTR_H

#include <string.h>

#include "fs/fs_internal.h"

#define FC_XATTR_ACL_ACCESS "system.posix_acl_access"
#define FC_XATTR_ACL_DEFAULT "system.posix_acl_default"
#define FC_XATTR_CAPABILITY "security.capability"

struct fc_xattr {
	struct fc_bytes name;
	uint32_t bytes;       /* of the value */
	uint8_t kind;         /* FC_XATTR_* */
	struct fc_bytes held; /* the value, or the blob's name */
};

static inline struct fc_bytes fc_xattr_name(const char *name)
{
	return (struct fc_bytes){ .p = (const uint8_t *)name, .n = strlen(name) };
}

uint64_t fc_xattr_hash(struct fc_fs *fs, const struct fc_bytes *name);

/* The attribute at *at of an XATTR item's bytes; moves *at on. 1, 0 at the end,
 * FC_ECORRUPT. Any input is safe; *x points into item. */
int fc_xattr_next(const uint8_t *item, size_t bytes, size_t *at, struct fc_xattr *x);

/* 0, FC_ENODATA, reading errors. *x points into the tree. */
int fc_xattr_find(struct fc_fs *fs, uint64_t ino, uint64_t hash, const struct fc_bytes *name, struct fc_xattr *x);
/* Copies x's value, of x->bytes. 0 or reading errors. */
int fc_xattr_value(struct fc_fs *fs, const struct fc_xattr *x, void *buf);

/* Before put and del; FC_ECORRUPT: the item is not whole, so that they would fail. */
int fc_xattr_load(struct fc_fs *fs, uint64_t ino, uint64_t hash);
/* Sets the attribute. beside: its value must not become a blob (ACLs). On an
 * error (FC_ENOSPC, reading errors) nothing has changed; none can happen for a
 * value that has to stay beside its name and replaces one of the same length, or
 * is one of the two ACLs of a new inode. Changes inode->xattrs, puts no inode. */
int fc_xattr_put(struct fc_fs *fs, struct fc_inode *inode, uint64_t hash, const struct fc_bytes *name,
		 const struct fc_bytes *value, bool beside);
/* 0 or FC_ENODATA. As put. */
int fc_xattr_del(struct fc_fs *fs, struct fc_inode *inode, uint64_t hash, const struct fc_bytes *name);
/* Frees the blobs of an XATTR item that is about to be deleted. The bytes must
 * not lie in the tree. */
void fc_xattr_free(struct fc_fs *fs, const uint8_t *item, size_t bytes);

/* Clearing set-id bits and security.capability, as a write, truncate or chown
 * does: load first, then the rest cannot fail. Puts no inode. */
int fc_kill_priv_load(struct fc_fs *fs, const struct fc_inode *inode);
void fc_kill_priv(struct fc_fs *fs, struct fc_inode *inode);

#endif
