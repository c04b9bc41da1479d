/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inode items, their in-memory form, attributes as stat(2) shows them, orphans. */
#include "fs/dir.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "util/le.h"

#define NSEC_PER_SEC 1000000000u
#define STAT_BLOCK 512u

static void put_time(uint8_t *raw, size_t sec_at, size_t ns_at, struct fc_time t)
{
	fc_put_u64(raw + sec_at, (uint64_t)t.sec);
	fc_put_u32(raw + ns_at, t.nsec);
}

static struct fc_time get_time(const uint8_t *raw, size_t sec_at, size_t ns_at)
{
	return (struct fc_time){ .sec = (int64_t)fc_get_u64(raw + sec_at), .nsec = fc_get_u32(raw + ns_at) };
}

void fc_inode_encode(const struct fc_inode *inode, uint8_t raw[FC_INODE_BYTES])
{
	memset(raw, 0, FC_INODE_BYTES);
	fc_put_u32(raw + FC_I_MODE, inode->mode);
	fc_put_u32(raw + FC_I_NLINK, inode->nlink);
	fc_put_u32(raw + FC_I_UID, inode->uid);
	fc_put_u32(raw + FC_I_GID, inode->gid);
	fc_put_u64(raw + FC_I_RDEV, inode->rdev);
	fc_put_u64(raw + FC_I_SIZE, inode->size);
	fc_put_u64(raw + FC_I_BLOCKS, inode->blocks);
	fc_put_u64(raw + FC_I_FLAGS, inode->flags);
	put_time(raw, FC_I_ATIME, FC_I_ATIME_NS, inode->atime);
	put_time(raw, FC_I_MTIME, FC_I_MTIME_NS, inode->mtime);
	put_time(raw, FC_I_CTIME, FC_I_CTIME_NS, inode->ctime);
	put_time(raw, FC_I_BTIME, FC_I_BTIME_NS, inode->btime);
	fc_put_u64(raw + FC_I_NEXT_SEQ, inode->next_seq);
	fc_put_u64(raw + FC_I_PARENT, inode->parent);
	fc_put_u64(raw + FC_I_ENTRIES, inode->entries);
	fc_put_u32(raw + FC_I_XATTRS, inode->xattrs);
}

static bool type_ok(const struct fc_inode *inode)
{
	switch (inode->mode & S_IFMT) {
	case S_IFDIR:
		return inode->next_seq >= FC_DIR_FIRST_SEQ && inode->next_seq <= INT64_MAX && inode->parent &&
		       !inode->flags && inode->entries <= inode->next_seq - FC_DIR_FIRST_SEQ;
	case S_IFREG:
		return true;
	case S_IFLNK:
		return inode->size && inode->size <= FC_SYMLINK_MAX && inode->flags == FC_INODE_INLINE;
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		return !inode->size && !inode->flags;
	default:
		return false;
	}
}

int fc_inode_decode(struct fc_inode *inode, uint64_t ino, const uint8_t *raw, size_t bytes)
{
	if (bytes != FC_INODE_BYTES)
		return FC_ECORRUPT;
	*inode = (struct fc_inode){
		.ino = ino,
		.mode = fc_get_u32(raw + FC_I_MODE),
		.nlink = fc_get_u32(raw + FC_I_NLINK),
		.uid = fc_get_u32(raw + FC_I_UID),
		.gid = fc_get_u32(raw + FC_I_GID),
		.rdev = fc_get_u64(raw + FC_I_RDEV),
		.size = fc_get_u64(raw + FC_I_SIZE),
		.blocks = fc_get_u64(raw + FC_I_BLOCKS),
		.flags = fc_get_u64(raw + FC_I_FLAGS),
		.atime = get_time(raw, FC_I_ATIME, FC_I_ATIME_NS),
		.mtime = get_time(raw, FC_I_MTIME, FC_I_MTIME_NS),
		.ctime = get_time(raw, FC_I_CTIME, FC_I_CTIME_NS),
		.btime = get_time(raw, FC_I_BTIME, FC_I_BTIME_NS),
		.next_seq = fc_get_u64(raw + FC_I_NEXT_SEQ),
		.parent = fc_get_u64(raw + FC_I_PARENT),
		.entries = fc_get_u64(raw + FC_I_ENTRIES),
		.xattrs = fc_get_u32(raw + FC_I_XATTRS),
	};
	if (inode->mode & ~(uint32_t)(S_IFMT | 07777) || inode->flags & ~(uint64_t)FC_INODE_INLINE)
		return FC_ECORRUPT;
	if (inode->size > FC_FILE_MAX || inode->blocks > FC_FILE_MAX >> FC_BLOCK_SHIFT || !type_ok(inode))
		return FC_ECORRUPT;
	if (inode->atime.nsec >= NSEC_PER_SEC || inode->mtime.nsec >= NSEC_PER_SEC ||
	    inode->ctime.nsec >= NSEC_PER_SEC || inode->btime.nsec >= NSEC_PER_SEC)
		return FC_ECORRUPT;
	return 0;
}

int fc_inode_get(struct fc_fs *fs, uint64_t ino, struct fc_inode *inode)
{
	struct fc_item item;
	int err = fc_tree_get(fc_fs_tree(fs), fc_key(ino, FC_KEY_INODE, 0), &item);

	if (err)
		return err == FC_ENOENT ? FC_ESTALE : err;
	return fc_inode_decode(inode, ino, item.data, item.bytes);
}

int fc_inode_load(struct fc_fs *fs, uint64_t ino, struct fc_inode *inode)
{
	int err = fc_tree_load(fc_fs_tree(fs), fc_key(ino, FC_KEY_INODE, 0));

	return err ? err : fc_inode_get(fs, ino, inode);
}

int fc_inode_put(struct fc_fs *fs, const struct fc_inode *inode)
{
	uint8_t raw[FC_INODE_BYTES];

	fc_inode_encode(inode, raw);
	return fc_tree_put(fc_fs_tree(fs), fc_key(inode->ino, FC_KEY_INODE, 0), raw, sizeof(raw));
}

static uint64_t stat_blocks(uint64_t bytes)
{
	return bytes / STAT_BLOCK + !!(bytes % STAT_BLOCK);
}

void fc_inode_attr(struct fc_fs *fs, const struct fc_inode *inode, struct fc_attr *attr)
{
	*attr = (struct fc_attr){
		.ino = inode->ino,
		.mode = inode->mode,
		.nlink = inode->nlink,
		.uid = inode->uid,
		.gid = inode->gid,
		.rdev = makedev((unsigned)(inode->rdev >> 32), (unsigned)inode->rdev),
		.size = inode->size,
		.atime = inode->atime,
		.mtime = inode->mtime,
		.ctime = inode->ctime,
		.btime = inode->btime,
	};
	if (S_ISDIR(inode->mode)) {
		/* roughly what the entries take in the tree */
		attr->size = (inode->entries + 2) * FC_DIR_ENTRY_SIZE;
		attr->blocks = stat_blocks(attr->size);
	} else if (inode->flags & FC_INODE_INLINE) {
		attr->blocks = stat_blocks(inode->size);
	} else if (S_ISREG(inode->mode)) {
		attr->blocks = (inode->blocks + fc_data_unmapped(fs, inode->ino)) * (FC_BLOCK / STAT_BLOCK);
	}
}

int fc_orphan_add(struct fc_fs *fs, uint64_t ino)
{
	uint8_t raw[8];

	fc_put_u64(raw, FC_ORPHAN_REMOVE);
	return fc_tree_put(fc_fs_tree(fs), fc_key(0, FC_KEY_ORPHAN, ino), raw, sizeof(raw));
}

int fc_orphan_del(struct fc_fs *fs, uint64_t ino)
{
	return fc_tree_del(fc_fs_tree(fs), fc_key(0, FC_KEY_ORPHAN, ino));
}
