/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fs/fs_internal.h"

#include <string.h>
#include <sys/stat.h>

#include "fs/acl.h"
#include "fs/dir.h"
#include "fs/xattr.h"

#define NSEC_PER_SEC 1000000000u
#define SET_KNOWN \
	(FC_SET_MODE | FC_SET_UID | FC_SET_GID | FC_SET_SIZE | FC_SET_ATIME | FC_SET_MTIME | FC_SET_CTIME | \
	 FC_SET_ATIME_NOW | FC_SET_MTIME_NOW | FC_SET_KILLPRIV)

int fc_fs_getattr(struct fc_fs *fs, uint64_t ino, struct fc_attr *attr)
{
	struct fc_inode inode;
	int err;

	fc_fs_rdlock(fs);
	err = fc_inode_get(fs, ino, &inode);
	if (!err)
		fc_inode_attr(fs, &inode, attr);
	fc_fs_rdunlock(fs);
	return err;
}

/* An access ACL that is to follow a chmod. */
struct acl_change {
	uint8_t acl[FC_ACL_MAX];
	size_t n; /* 0: there is none */
	uint64_t hash;
};

static int load_acl(struct fc_fs *fs, const struct fc_inode *inode, struct acl_change *change)
{
	struct fc_bytes name = fc_xattr_name(FC_XATTR_ACL_ACCESS);
	struct fc_xattr x;
	int err;

	if (!inode->xattrs || S_ISLNK(inode->mode))
		return 0;
	change->hash = fc_xattr_hash(fs, &name);
	err = fc_xattr_load(fs, inode->ino, change->hash);
	if (!err)
		err = fc_xattr_find(fs, inode->ino, change->hash, &name, &x);
	if (err)
		return err == FC_ENODATA ? 0 : err;
	if (x.kind != FC_XATTR_INLINE || fc_acl_check(x.held.p, x.bytes) || fc_acl_empty(x.bytes))
		return FC_ECORRUPT;
	memcpy(change->acl, x.held.p, x.bytes);
	change->n = x.bytes;
	return 0;
}

static int put_acl(struct fc_fs *fs, struct fc_inode *inode, struct acl_change *change, uint32_t mode)
{
	struct fc_bytes name = fc_xattr_name(FC_XATTR_ACL_ACCESS), value = { .p = change->acl, .n = change->n };

	fc_acl_chmod(change->acl, change->n, mode);
	return fc_xattr_put(fs, inode, change->hash, &name, &value, true);
}

static int check_size(const struct fc_inode *inode)
{
	if (S_ISREG(inode->mode))
		return 0;
	return S_ISDIR(inode->mode) ? FC_EISDIR : FC_EINVAL;
}

static void set_plain(struct fc_inode *inode, const struct fc_op *op)
{
	const struct fc_setattr *set = &op->set;

	if (set->valid & FC_SET_MODE)
		inode->mode = (inode->mode & S_IFMT) | set->mode;
	if (set->valid & FC_SET_UID)
		inode->uid = set->uid;
	if (set->valid & FC_SET_GID)
		inode->gid = set->gid;
	if (set->valid & FC_SET_ATIME)
		inode->atime = set->atime;
	if (set->valid & FC_SET_MTIME)
		inode->mtime = set->mtime;
	else if (set->valid & FC_SET_SIZE)
		inode->mtime = op->time;
	inode->ctime = set->valid & FC_SET_CTIME ? set->ctime : op->time;
}

static int set_inode(struct fc_fs *fs, const struct fc_op *op, struct fc_inode *inode)
{
	struct acl_change change;
	uint32_t valid = op->set.valid;
	int err = fc_inode_load(fs, op->ino, inode);

	change.n = 0;
	if (!err && valid & FC_SET_SIZE)
		err = check_size(inode);
	if (!err && valid & FC_SET_KILLPRIV)
		err = fc_kill_priv_load(fs, inode);
	if (!err && valid & FC_SET_MODE)
		err = load_acl(fs, inode, &change);
	if (!err && valid & FC_SET_SIZE) /* the last that may fail, the first that changes */
		err = fc_data_truncate(fs, inode, op->set.size);
	if (err)
		return err;
	if (change.n)
		err = put_acl(fs, inode, &change, op->set.mode);
	if (valid & FC_SET_KILLPRIV)
		fc_kill_priv(fs, inode);
	set_plain(inode, op);
	return err ? err : fc_inode_put(fs, inode);
}

int fc_apply_setattr(struct fc_fs *fs, const struct fc_op *op)
{
	struct fc_inode inode;

	return set_inode(fs, op, &inode);
}

static bool times_ok(const struct fc_setattr *set)
{
	return (!(set->valid & FC_SET_ATIME) || set->atime.nsec < NSEC_PER_SEC) &&
	       (!(set->valid & FC_SET_MTIME) || set->mtime.nsec < NSEC_PER_SEC) &&
	       (!(set->valid & FC_SET_CTIME) || set->ctime.nsec < NSEC_PER_SEC);
}

/* Makes times of the NOW flags: a replay has another now. */
static void resolve_now(struct fc_setattr *set, struct fc_time now)
{
	if (set->valid & FC_SET_ATIME_NOW) {
		set->atime = now;
		set->valid |= FC_SET_ATIME;
	}
	if (set->valid & FC_SET_MTIME_NOW) {
		set->mtime = now;
		set->valid |= FC_SET_MTIME;
	}
	set->valid &= ~(FC_SET_ATIME_NOW | FC_SET_MTIME_NOW);
}

int fc_fs_setattr(struct fc_fs *fs, uint64_t ino, const struct fc_setattr *set, struct fc_attr *attr)
{
	struct fc_op op = { .kind = FC_OP_SETATTR, .ino = ino, .set = *set };
	struct fc_inode inode;
	int err;

	if (!set->valid)
		return fc_fs_getattr(fs, ino, attr);
	if (set->valid & ~SET_KNOWN || !times_ok(set))
		return FC_EINVAL;
	if (set->valid & FC_SET_SIZE && set->size > FC_FILE_MAX)
		return FC_EFBIG;
	op.set.mode &= 07777u;
	/* changes in place what is there already, or frees: always permitted */
	err = fc_fs_begin(fs, FC_KEY_NODES(3), true);
	if (err)
		return err;
	op.time = fc_fs_now(fs);
	resolve_now(&op.set, op.time);
	err = set_inode(fs, &op, &inode);
	if (!err) {
		fc_fs_record(fs, &op);
		fc_inode_attr(fs, &inode, attr);
	}
	fc_fs_end(fs);
	return err;
}
