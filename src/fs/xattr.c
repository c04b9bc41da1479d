/* SPDX-License-Identifier: GPL-2.0-or-later */
/* getxattr and the like: which names there are, POSIX ACLs in step with the mode. */
#include "fs/xattr.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "fs/acl.h"
#include "fs/dir.h"

_Static_assert(FC_OP_XATTR_FLAGS == (XATTR_CREATE | XATTR_REPLACE | FC_OP_KILL_SGID),
	       "flags of xattr.h are journalled");

/* Nodes that the largest value fills. */
#define BLOB_NODES (2 * FC_XATTR_VALUE_MAX / FC_NODE_BYTES)

enum class { USER, TRUSTED, SECURITY, ACL_OF_ACCESS, ACL_BY_DEFAULT };

static const struct {
	const char *prefix;
	enum class class;
} classes[] = {
	{ "user.", USER },
	{ "trusted.", TRUSTED },
	{ "security.", SECURITY },
};

static int check_name(const char *text, struct fc_bytes *name, enum class *class)
{
	size_t n = strnlen(text, FC_NAME_MAX + 1);

	if (!n || n > FC_NAME_MAX)
		return FC_ERANGE;
	*name = (struct fc_bytes){ .p = (const uint8_t *)text, .n = n };
	if (!strcmp(text, FC_XATTR_ACL_ACCESS)) {
		*class = ACL_OF_ACCESS;
		return 0;
	}
	if (!strcmp(text, FC_XATTR_ACL_DEFAULT)) {
		*class = ACL_BY_DEFAULT;
		return 0;
	}
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		size_t prefix = strlen(classes[i].prefix);

		if (strncmp(text, classes[i].prefix, prefix))
			continue;
		*class = classes[i].class;
		return n > prefix ? 0 : FC_EINVAL;
	}
	return FC_ENOTSUP;
}

/* ---- reading -------------------------------------------------------------- */

ssize_t fc_fs_getxattr(struct fc_fs *fs, uint64_t ino, const char *name, void *buf, size_t size)
{
	struct fc_bytes bytes;
	struct fc_xattr x;
	enum class class;
	int err = check_name(name, &bytes, &class);

	if (err)
		return err;
	fc_fs_rdlock(fs);
	err = fc_xattr_find(fs, ino, fc_xattr_hash(fs, &bytes), &bytes, &x);
	if (!err && size) {
		if (x.bytes > size)
			err = FC_ERANGE;
		else
			err = fc_xattr_value(fs, &x, buf);
	}
	fc_fs_rdunlock(fs);
	return err ? err : (ssize_t)x.bytes;
}

/* Adds an item's names to the list in buf, of which *used bytes are full. */
static int list_item(const struct fc_item *item, char *buf, size_t size, size_t *used)
{
	struct fc_xattr x;
	size_t at = 0;
	int r;

	while ((r = fc_xattr_next(item->data, item->bytes, &at, &x)) > 0) {
		if (size) {
			if (x.name.n >= size - *used)
				return FC_ERANGE;
			memcpy(buf + *used, x.name.p, x.name.n);
			buf[*used + x.name.n] = 0;
		}
		*used += x.name.n + 1;
	}
	return r;
}

ssize_t fc_fs_listxattr(struct fc_fs *fs, uint64_t ino, char *buf, size_t size)
{
	struct fc_cursor cursor;
	struct fc_item item;
	size_t used = 0;
	int err;

	fc_fs_rdlock(fs);
	err = fc_cursor_seek_to(&cursor, fc_fs_tree(fs), fc_key(ino, FC_KEY_XATTR, 0), fc_key(ino, FC_KEY_XATTR + 1, 0),
				&item);
	while (!err && item.key.ino == ino && item.key.type == FC_KEY_XATTR) {
		err = list_item(&item, buf, size, &used);
		if (!err)
			err = fc_cursor_next(&cursor, &item);
	}
	fc_fs_rdunlock(fs);
	return err && err != FC_ENOENT ? err : (ssize_t)used;
}

/* ---- changing ------------------------------------------------------------- */

static int allowed(const struct fc_inode *inode, enum class class)
{
	switch (class) {
	case USER:
		return S_ISREG(inode->mode) || S_ISDIR(inode->mode) ? 0 : FC_EPERM;
	case ACL_OF_ACCESS:
		return S_ISLNK(inode->mode) ? FC_ENOTSUP : 0;
	case ACL_BY_DEFAULT:
		if (S_ISLNK(inode->mode))
			return FC_ENOTSUP;
		return S_ISDIR(inode->mode) ? 0 : FC_EACCESS;
	default:
		return 0;
	}
}

/* Bytes of an operation are not NUL-terminated. */
static int check_op_name(const struct fc_op *op, enum class *class)
{
	char text[FC_NAME_MAX + 1];
	struct fc_bytes name;

	if (op->name.n > FC_NAME_MAX)
		return FC_ERANGE;
	memcpy(text, op->name.p, op->name.n);
	text[op->name.n] = 0;
	return check_name(text, &name, class);
}

/* Where an attribute is to change: keys loaded, permitted by the inode's type. */
struct target {
	struct fc_inode inode;
	enum class class;
	uint64_t hash;
	bool there;
};

static int aim(struct fc_fs *fs, const struct fc_op *op, struct target *t)
{
	struct fc_xattr x;
	int err = check_op_name(op, &t->class);

	if (!err)
		err = fc_inode_load(fs, op->ino, &t->inode);
	if (!err)
		err = allowed(&t->inode, t->class);
	if (err)
		return err;
	t->hash = fc_xattr_hash(fs, &op->name);
	err = fc_xattr_load(fs, op->ino, t->hash);
	if (!err)
		err = fc_xattr_find(fs, op->ino, t->hash, &op->name, &x);
	t->there = !err;
	return err == FC_ENODATA ? 0 : err;
}

static int put_acl(struct fc_fs *fs, const struct fc_op *op, struct target *t)
{
	bool keep = !fc_acl_empty(op->data.n);
	uint32_t mode = t->inode.mode;
	int err = 0;

	if (t->class == ACL_OF_ACCESS) {
		if (keep)
			keep = fc_acl_to_mode(op->data.p, op->data.n, &mode);
		if (op->flags & FC_OP_KILL_SGID)
			mode &= ~(uint32_t)S_ISGID;
	}
	if (keep)
		err = fc_xattr_put(fs, &t->inode, t->hash, &op->name, &op->data, true);
	else if (t->there)
		err = fc_xattr_del(fs, &t->inode, t->hash, &op->name);
	if (!err)
		t->inode.mode = mode;
	return err;
}

static bool is_acl(const struct target *t)
{
	return t->class == ACL_OF_ACCESS || t->class == ACL_BY_DEFAULT;
}

static int finish(struct fc_fs *fs, const struct fc_op *op, struct target *t)
{
	t->inode.ctime = op->time;
	return fc_inode_put(fs, &t->inode);
}

int fc_apply_setxattr(struct fc_fs *fs, const struct fc_op *op)
{
	struct target t;
	int err = aim(fs, op, &t);

	if (err)
		return err;
	if (is_acl(&t)) {
		err = op->data.n ? fc_acl_check(op->data.p, op->data.n) : 0;
		if (!err)
			err = put_acl(fs, op, &t);
		return err ? err : finish(fs, op, &t);
	}
	if (t.there && op->flags & XATTR_CREATE)
		return FC_EEXIST;
	if (!t.there && op->flags & XATTR_REPLACE)
		return FC_ENODATA;
	err = fc_xattr_put(fs, &t.inode, t.hash, &op->name, &op->data, false);
	return err ? err : finish(fs, op, &t);
}

int fc_apply_removexattr(struct fc_fs *fs, const struct fc_op *op)
{
	struct target t;
	int err = aim(fs, op, &t);

	if (err)
		return err;
	if (!t.there) /* an ACL that is not there says what the mode says: removed already */
		return is_acl(&t) ? 0 : FC_ENODATA;
	err = fc_xattr_del(fs, &t.inode, t.hash, &op->name);
	return err ? err : finish(fs, op, &t);
}

int fc_fs_setxattr(struct fc_fs *fs, uint64_t ino, const char *name, const void *value, size_t size, int flags,
		   bool kill_sgid)
{
	struct fc_op op = { .kind = FC_OP_SETXATTR, .ino = ino, .data = { .p = value, .n = size } };
	enum class class;
	int err = check_name(name, &op.name, &class);

	if (err)
		return err;
	if (size > FC_XATTR_VALUE_MAX)
		return FC_ETOOBIG;
	if (flags & ~(XATTR_CREATE | XATTR_REPLACE))
		return FC_EINVAL;
	op.flags = (uint32_t)flags | (kill_sgid ? FC_OP_KILL_SGID : 0);
	err = fc_fs_begin(fs, FC_KEY_NODES(2) + BLOB_NODES, false);
	if (err)
		return err;
	op.time = fc_fs_now(fs);
	err = fc_apply_setxattr(fs, &op);
	if (!err)
		fc_fs_record(fs, &op);
	fc_fs_end(fs);
	return err;
}

int fc_fs_removexattr(struct fc_fs *fs, uint64_t ino, const char *name)
{
	struct fc_op op = { .kind = FC_OP_REMOVEXATTR, .ino = ino };
	enum class class;
	int err = check_name(name, &op.name, &class);

	if (err)
		return err;
	err = fc_fs_begin(fs, FC_KEY_NODES(2), true);
	if (err)
		return err;
	op.time = fc_fs_now(fs);
	err = fc_apply_removexattr(fs, &op);
	if (!err)
		fc_fs_record(fs, &op);
	fc_fs_end(fs);
	return err;
}
