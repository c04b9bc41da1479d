/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names: looking up, creating, linking, unlinking. Renaming is in rename.c. */
#include "fs/dir.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "fs/acl.h"
#include "fs/xattr.h"

static int find_entry(struct fc_fs *fs, uint64_t parent, const struct fc_bytes *name, struct fc_inode *inode)
{
	struct fc_entry entry;
	int err = fc_dir_find(fs, parent, fc_dir_hash(fs, name), name, &entry);

	if (!err)
		err = fc_inode_get(fs, entry.ino, inode);
	return err == FC_ESTALE ? FC_ECORRUPT : err; /* an entry without inode: damage must not look like absence */
}

/* "." of any inode, ".." of a directory: they have no entries. */
static int find_by_number(struct fc_fs *fs, uint64_t ino, bool up, struct fc_inode *inode)
{
	int err = fc_inode_get(fs, ino, inode);

	if (!err && !inode->nlink && !fc_vnode_held(fs, ino)) /* removed; its end may still be to come */
		err = FC_ESTALE;
	if (err || !up)
		return err;
	return S_ISDIR(inode->mode) ? fc_inode_get(fs, inode->parent, inode) : FC_ENOTDIR;
}

int fc_fs_lookup(struct fc_fs *fs, uint64_t parent, const char *name, struct fc_attr *attr)
{
	bool self = !strcmp(name, "."), up = !strcmp(name, "..");
	struct fc_bytes bytes;
	struct fc_inode inode;
	int err = self || up ? 0 : fc_dir_check_name(name, &bytes);

	if (err)
		return err;
	fc_fs_rdlock(fs);
	err = self || up ? find_by_number(fs, parent, up, &inode) : find_entry(fs, parent, &bytes, &inode);
	if (!err) {
		fc_vnode_ref(fs, inode.ino, 1);
		fc_inode_attr(fs, &inode, attr);
	}
	fc_fs_rdunlock(fs);
	return err;
}

int fc_fs_readlink(struct fc_fs *fs, uint64_t ino, char *buf)
{
	struct fc_inode inode;
	struct fc_item item;
	int err;

	fc_fs_rdlock(fs);
	err = fc_inode_get(fs, ino, &inode);
	if (!err && !S_ISLNK(inode.mode))
		err = FC_EINVAL;
	if (!err) {
		err = fc_tree_get(fc_fs_tree(fs), fc_key(ino, FC_KEY_INLINE, 0), &item);
		if (err == FC_ENOENT || (!err && item.bytes != inode.size))
			err = FC_ECORRUPT;
	}
	if (!err) {
		memcpy(buf, item.data, item.bytes);
		buf[item.bytes] = 0;
	}
	fc_fs_rdunlock(fs);
	return err;
}

int fc_dir_inode(struct fc_fs *fs, uint64_t ino, struct fc_inode *dir)
{
	int err = fc_inode_load(fs, ino, dir);

	if (err)
		return err;
	if (!S_ISDIR(dir->mode))
		return FC_ENOTDIR;
	return dir->nlink ? 0 : FC_ENOENT;
}

/* ---- create --------------------------------------------------------------- */

static void new_inode(const struct fc_op *op, struct fc_inode *inode)
{
	*inode = (struct fc_inode){
		.ino = op->ino,
		.mode = op->mode,
		.nlink = S_ISDIR(op->mode) ? 2 : !!op->parent,
		.uid = op->uid,
		.gid = op->gid,
		.rdev = op->rdev,
		.atime = op->time,
		.mtime = op->time,
		.ctime = op->time,
		.btime = op->time,
		.xattrs = !!op->acl_access.n + !!op->acl_default.n,
	};
	if (S_ISDIR(op->mode)) {
		inode->next_seq = FC_DIR_FIRST_SEQ;
		inode->parent = op->parent;
	} else if (S_ISLNK(op->mode)) {
		inode->flags = FC_INODE_INLINE;
		inode->size = op->data.n;
	}
}

/* Loads the keys that belong to the new inode. */
static int load_new(struct fc_fs *fs, const struct fc_op *op)
{
	struct fc_bytes access = fc_xattr_name(FC_XATTR_ACL_ACCESS), dflt = fc_xattr_name(FC_XATTR_ACL_DEFAULT);
	struct fc_tree *tree = fc_fs_tree(fs);
	struct fc_inode old;
	int err = fc_inode_load(fs, op->ino, &old);

	if (err != FC_ESTALE)
		return err ? err : FC_ECORRUPT; /* numbers are not used twice */
	err = 0;
	if (!op->parent)
		err = fc_tree_load(tree, fc_key(0, FC_KEY_ORPHAN, op->ino));
	if (!err && S_ISLNK(op->mode))
		err = fc_tree_load(tree, fc_key(op->ino, FC_KEY_INLINE, 0));
	if (!err && op->acl_access.n)
		err = fc_xattr_load(fs, op->ino, fc_xattr_hash(fs, &access));
	if (!err && op->acl_default.n)
		err = fc_xattr_load(fs, op->ino, fc_xattr_hash(fs, &dflt));
	return err;
}

static int put_acl(struct fc_fs *fs, struct fc_inode *inode, const char *name, const struct fc_bytes *acl)
{
	struct fc_bytes bytes = fc_xattr_name(name);

	return acl->n ? fc_xattr_put(fs, inode, fc_xattr_hash(fs, &bytes), &bytes, acl, true) : 0;
}

static int put_new(struct fc_fs *fs, const struct fc_op *op)
{
	struct fc_inode inode;
	int err;

	new_inode(op, &inode);
	inode.xattrs = 0; /* counted by put */
	err = put_acl(fs, &inode, FC_XATTR_ACL_ACCESS, &op->acl_access);
	if (!err)
		err = put_acl(fs, &inode, FC_XATTR_ACL_DEFAULT, &op->acl_default);
	if (!err && S_ISLNK(op->mode))
		err = fc_tree_put(fc_fs_tree(fs), fc_key(op->ino, FC_KEY_INLINE, 0), op->data.p, op->data.n);
	if (!err)
		err = fc_inode_put(fs, &inode);
	if (!err && !op->parent)
		err = fc_orphan_add(fs, op->ino);
	if (err)
		return err;
	fc_fs_took_ino(fs, op->ino);
	fc_fs_count_inodes(fs, 1);
	return 0;
}

/* Finds the place for a new name and loads its keys. */
static int find_place(struct fc_fs *fs, const struct fc_op *op, struct fc_inode *dir, struct fc_entry *place)
{
	int err = fc_dir_inode(fs, op->parent, dir);

	if (err)
		return err;
	err = fc_dir_find(fs, dir->ino, fc_dir_hash(fs, &op->name), &op->name, place);
	if (err != FC_ENOENT)
		return err ? err : FC_EEXIST;
	err = fc_dir_load(fs, dir->ino, place, dir->next_seq);
	return err ? err : fc_dir_room(place);
}

static int add_name(struct fc_fs *fs, const struct fc_op *op, struct fc_inode *dir, const struct fc_entry *place,
		    uint32_t mode)
{
	int err = fc_dir_add(fs, dir, place, &op->name, op->ino, fc_dir_type(mode));

	if (err)
		return err;
	dir->nlink += !!S_ISDIR(mode);
	dir->mtime = dir->ctime = op->time;
	return fc_inode_put(fs, dir);
}

int fc_apply_create(struct fc_fs *fs, const struct fc_op *op)
{
	struct fc_inode dir;
	struct fc_entry place;
	int err = op->parent ? find_place(fs, op, &dir, &place) : 0;

	if (!err)
		err = load_new(fs, op);
	if (!err)
		err = put_new(fs, op);
	if (!err && op->parent)
		err = add_name(fs, op, &dir, &place, op->mode);
	return err;
}

struct acls {
	uint8_t access[FC_ACL_MAX], dflt[FC_ACL_MAX];
};

/* What the new inode takes over from its directory: group, set-gid bit, ACLs. */
static int inherit(struct fc_fs *fs, const struct fc_inode *dir, const struct fc_cred *cred, struct fc_op *op,
		   struct acls *acls)
{
	struct fc_bytes name = fc_xattr_name(FC_XATTR_ACL_DEFAULT);
	struct fc_xattr x;
	int err = FC_ENODATA;

	op->uid = cred->uid;
	op->gid = cred->gid;
	if (dir->mode & S_ISGID) {
		op->gid = dir->gid;
		if (S_ISDIR(op->mode))
			op->mode |= S_ISGID;
	}
	if (S_ISLNK(op->mode))
		return 0;
	if (dir->xattrs)
		err = fc_xattr_find(fs, dir->ino, fc_xattr_hash(fs, &name), &name, &x);
	if (err == FC_ENODATA) {
		op->mode &= ~(cred->umask & 0777);
		return 0;
	}
	if (!err)
		err = x.kind == FC_XATTR_INLINE && !fc_acl_empty(x.bytes) ? 0 : FC_ECORRUPT;
	if (err)
		return err;
	if (fc_acl_check(x.held.p, x.bytes))
		return FC_ECORRUPT;
	memcpy(acls->access, x.held.p, x.bytes);
	memcpy(acls->dflt, x.held.p, x.bytes);
	if (fc_acl_inherit(acls->access, x.bytes, &op->mode))
		op->acl_access = (struct fc_bytes){ .p = acls->access, .n = x.bytes };
	if (S_ISDIR(op->mode))
		op->acl_default = (struct fc_bytes){ .p = acls->dflt, .n = x.bytes };
	return 0;
}

static int create(struct fc_fs *fs, uint64_t parent, const struct fc_cred *cred, struct fc_op *op, struct fc_attr *attr)
{
	struct fc_inode dir, inode;
	struct acls acls;
	int err = fc_fs_begin(fs, FC_KEY_NODES(7), false);

	if (err)
		return err;
	op->kind = FC_OP_CREATE;
	err = fc_dir_inode(fs, parent, &dir);
	if (!err)
		err = inherit(fs, &dir, cred, op, &acls);
	if (!err) {
		op->ino = fc_fs_new_ino(fs);
		op->time = fc_fs_now(fs);
		err = fc_apply_create(fs, op);
	}
	if (!err) {
		fc_fs_record(fs, op);
		fc_vnode_ref(fs, op->ino, 1);
		new_inode(op, &inode);
		fc_inode_attr(fs, &inode, attr);
	}
	fc_fs_end(fs);
	return err;
}

int fc_fs_mknod(struct fc_fs *fs, uint64_t parent, const char *name, const struct fc_cred *cred, uint32_t mode,
		uint64_t rdev, struct fc_attr *attr)
{
	struct fc_op op = { .parent = parent, .mode = mode & (S_IFMT | 07777u) };
	int err = fc_dir_check_name(name, &op.name);

	if (err)
		return err;
	switch (mode & S_IFMT) {
	case 0:
		op.mode |= S_IFREG;
		break;
	case S_IFCHR:
	case S_IFBLK:
		op.rdev = (uint64_t)major(rdev) << 32 | minor(rdev);
		break;
	case S_IFREG:
	case S_IFIFO:
	case S_IFSOCK:
		break;
	default:
		return FC_EINVAL;
	}
	return create(fs, parent, cred, &op, attr);
}

int fc_fs_mkdir(struct fc_fs *fs, uint64_t parent, const char *name, const struct fc_cred *cred, uint32_t mode,
		struct fc_attr *attr)
{
	struct fc_op op = { .parent = parent, .mode = S_IFDIR | (mode & 01777u) };
	int err = fc_dir_check_name(name, &op.name);

	return err ? err : create(fs, parent, cred, &op, attr);
}

int fc_fs_symlink(struct fc_fs *fs, uint64_t parent, const char *name, const struct fc_cred *cred, const char *target,
		  struct fc_attr *attr)
{
	struct fc_op op = { .parent = parent, .mode = S_IFLNK | 0777u };
	size_t n = strnlen(target, FC_SYMLINK_MAX + 1);
	int err = fc_dir_check_name(name, &op.name);

	if (err)
		return err;
	if (!n)
		return FC_ENOENT;
	if (n > FC_SYMLINK_MAX)
		return FC_ENAMETOOLONG;
	op.data = (struct fc_bytes){ .p = (const uint8_t *)target, .n = n };
	return create(fs, parent, cred, &op, attr);
}

int fc_fs_tmpfile(struct fc_fs *fs, uint64_t parent, const struct fc_cred *cred, uint32_t mode, struct fc_attr *attr)
{
	struct fc_op op = { .mode = S_IFREG | (mode & 07777u) };

	return create(fs, parent, cred, &op, attr);
}

/* ---- link ----------------------------------------------------------------- */

static int link_inode(struct fc_fs *fs, const struct fc_op *op, struct fc_inode *inode)
{
	struct fc_inode dir;
	struct fc_entry place;
	bool orphan;
	int err = fc_inode_load(fs, op->ino, inode);

	if (err)
		return err;
	if (S_ISDIR(inode->mode))
		return FC_EPERM;
	if (inode->nlink >= FC_LINK_MAX)
		return FC_EMLINK;
	orphan = !inode->nlink;
	err = find_place(fs, op, &dir, &place);
	if (!err && orphan)
		err = fc_tree_load(fc_fs_tree(fs), fc_key(0, FC_KEY_ORPHAN, op->ino));
	if (err)
		return err;
	inode->nlink++;
	inode->ctime = op->time;
	if (orphan)
		err = fc_orphan_del(fs, op->ino);
	if (!err)
		err = fc_inode_put(fs, inode);
	if (!err)
		err = add_name(fs, op, &dir, &place, inode->mode);
	return err;
}

int fc_apply_link(struct fc_fs *fs, const struct fc_op *op)
{
	struct fc_inode inode;

	return link_inode(fs, op, &inode);
}

int fc_fs_link(struct fc_fs *fs, uint64_t ino, uint64_t parent, const char *name, struct fc_attr *attr)
{
	struct fc_op op = { .kind = FC_OP_LINK, .ino = ino, .parent = parent };
	struct fc_inode inode;
	int err = fc_dir_check_name(name, &op.name);

	if (err)
		return err;
	err = fc_fs_begin(fs, FC_KEY_NODES(5), false);
	if (err)
		return err;
	op.time = fc_fs_now(fs);
	err = link_inode(fs, &op, &inode);
	if (!err) {
		fc_fs_record(fs, &op);
		fc_vnode_ref(fs, ino, 1);
		fc_inode_attr(fs, &inode, attr);
	}
	fc_fs_end(fs);
	return err;
}

/* ---- unlink, rmdir -------------------------------------------------------- */

static int may_remove(const struct fc_inode *inode, bool as_dir)
{
	if (!as_dir)
		return S_ISDIR(inode->mode) ? FC_EISDIR : 0;
	if (!S_ISDIR(inode->mode))
		return FC_ENOTDIR;
	return inode->entries ? FC_ENOTEMPTY : 0;
}

int fc_inode_unlinked(struct fc_fs *fs, struct fc_inode *inode, struct fc_time time)
{
	int err = 0;

	inode->nlink = S_ISDIR(inode->mode) || !inode->nlink ? 0 : inode->nlink - 1;
	inode->ctime = time;
	if (!inode->nlink)
		err = fc_orphan_add(fs, inode->ino);
	return err ? err : fc_inode_put(fs, inode);
}

/* *inode becomes what is left of what the name meant. */
static int remove_name(struct fc_fs *fs, const struct fc_op *op, struct fc_inode *inode)
{
	struct fc_inode dir;
	struct fc_entry entry;
	int err = fc_dir_inode(fs, op->parent, &dir);

	if (!err)
		err = fc_dir_find(fs, dir.ino, fc_dir_hash(fs, &op->name), &op->name, &entry);
	if (!err)
		err = fc_dir_load(fs, dir.ino, &entry, entry.seq);
	if (err)
		return err;
	err = fc_inode_load(fs, entry.ino, inode);
	if (err)
		return err == FC_ESTALE ? FC_ECORRUPT : err;
	err = may_remove(inode, op->kind == FC_OP_RMDIR);
	if (!err)
		err = fc_tree_load(fc_fs_tree(fs), fc_key(0, FC_KEY_ORPHAN, entry.ino));
	if (!err)
		err = fc_dir_del(fs, &dir, &entry);
	if (err)
		return err;
	if (S_ISDIR(inode->mode) && dir.nlink > 2)
		dir.nlink--;
	dir.mtime = dir.ctime = op->time;
	err = fc_inode_put(fs, &dir);
	return err ? err : fc_inode_unlinked(fs, inode, op->time);
}

int fc_apply_unlink(struct fc_fs *fs, const struct fc_op *op)
{
	struct fc_inode inode;

	return remove_name(fs, op, &inode);
}

void fc_inode_drop(struct fc_fs *fs, const struct fc_inode *inode)
{
	if (!inode->nlink && !fc_vnode_held(fs, inode->ino))
		fc_reclaim(fs, inode->ino);
}

static int public_remove(struct fc_fs *fs, enum fc_op_kind kind, uint64_t parent, const char *name)
{
	struct fc_op op = { .kind = kind, .parent = parent };
	struct fc_inode inode;
	int err = fc_dir_check_name(name, &op.name);

	if (err)
		return err;
	err = fc_fs_begin(fs, FC_KEY_NODES(5), true);
	if (err)
		return err;
	op.time = fc_fs_now(fs);
	err = remove_name(fs, &op, &inode);
	if (!err) {
		fc_fs_record(fs, &op);
		fc_inode_drop(fs, &inode);
	}
	fc_fs_end(fs);
	return err;
}

int fc_fs_unlink(struct fc_fs *fs, uint64_t parent, const char *name)
{
	return public_remove(fs, FC_OP_UNLINK, parent, name);
}

int fc_fs_rmdir(struct fc_fs *fs, uint64_t parent, const char *name)
{
	return public_remove(fs, FC_OP_RMDIR, parent, name);
}
