/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fs/xattr.h"

#include <sys/stat.h>

#include "fs/map.h"
#include "util/le.h"

/* an attribute in an item */
enum { X_NAME_BYTES = 0, X_KIND = 1, X_BYTES = 4, X_NAME = 8 };

uint64_t fc_xattr_hash(struct fc_fs *fs, const struct fc_bytes *name)
{
	return fc_fs_name_hash(fs, (const char *)name->p, name->n);
}

int fc_xattr_next(const uint8_t *item, size_t bytes, size_t *at, struct fc_xattr *x)
{
	const uint8_t *p = item + *at;
	size_t left = bytes - *at, held;

	if (!left)
		return 0;
	if (left < X_NAME || !p[X_NAME_BYTES] || left - X_NAME < p[X_NAME_BYTES])
		return FC_ECORRUPT;
	x->kind = p[X_KIND];
	x->bytes = fc_get_u32(p + X_BYTES);
	x->name = (struct fc_bytes){ .p = p + X_NAME, .n = p[X_NAME_BYTES] };
	if (x->kind > FC_XATTR_BLOB || x->bytes > FC_XATTR_VALUE_MAX || memchr(x->name.p, 0, x->name.n))
		return FC_ECORRUPT;
	held = x->kind == FC_XATTR_BLOB ? FC_BLOB_NAME : x->bytes;
	if (held > left - X_NAME - x->name.n)
		return FC_ECORRUPT;
	x->held = (struct fc_bytes){ .p = x->name.p + x->name.n, .n = held };
	*at += X_NAME + x->name.n + held;
	return 1;
}

static bool same_name(const struct fc_xattr *x, const struct fc_bytes *name)
{
	return x->name.n == name->n && !memcmp(x->name.p, name->p, name->n);
}

int fc_xattr_find(struct fc_fs *fs, uint64_t ino, uint64_t hash, const struct fc_bytes *name, struct fc_xattr *x)
{
	struct fc_item item;
	size_t at = 0;
	int r = fc_tree_get(fc_fs_tree(fs), fc_key(ino, FC_KEY_XATTR, hash), &item);

	if (r)
		return r == FC_ENOENT ? FC_ENODATA : r;
	while ((r = fc_xattr_next(item.data, item.bytes, &at, x)) > 0)
		if (same_name(x, name))
			return 0;
	return r ? r : FC_ENODATA;
}

int fc_xattr_value(struct fc_fs *fs, const struct fc_xattr *x, void *buf)
{
	if (x->kind == FC_XATTR_BLOB)
		return fc_blob_read(fs, x->held.p, x->held.n, buf, x->bytes);
	if (x->bytes)
		memcpy(buf, x->held.p, x->bytes);
	return 0;
}

int fc_xattr_load(struct fc_fs *fs, uint64_t ino, uint64_t hash)
{
	struct fc_key key = fc_key(ino, FC_KEY_XATTR, hash);
	struct fc_item item;
	struct fc_xattr x;
	size_t at = 0;
	int r = fc_tree_load(fc_fs_tree(fs), key);

	if (!r)
		r = fc_tree_get(fc_fs_tree(fs), key, &item);
	if (r)
		return r == FC_ENOENT ? 0 : r;
	while ((r = fc_xattr_next(item.data, item.bytes, &at, &x)) > 0)
		;
	return r;
}

/* The item of a hash without one of its attributes. */
struct rest {
	uint8_t raw[FC_ITEM_MAX];
	size_t n;
	bool had; /* the attribute was there */
	uint8_t blob[FC_BLOB_NAME];
	size_t blob_n; /* it lay in this blob; 0: inline */
};

static int take_rest(struct fc_fs *fs, uint64_t ino, uint64_t hash, const struct fc_bytes *name, struct rest *rest)
{
	struct fc_item item;
	struct fc_xattr x;
	size_t at = 0, from = 0;
	int r = fc_tree_get(fc_fs_tree(fs), fc_key(ino, FC_KEY_XATTR, hash), &item);

	rest->n = rest->blob_n = 0;
	rest->had = false;
	if (r)
		return r == FC_ENOENT ? 0 : r;
	while ((r = fc_xattr_next(item.data, item.bytes, &at, &x)) > 0) {
		if (same_name(&x, name)) {
			rest->had = true;
			if (x.kind == FC_XATTR_BLOB) {
				rest->blob_n = x.held.n;
				memcpy(rest->blob, x.held.p, x.held.n);
			}
		} else {
			memcpy(rest->raw + rest->n, item.data + from, at - from);
			rest->n += at - from;
		}
		from = at;
	}
	return r;
}

/* Appends the attribute; a value that does not fit becomes a blob. */
static int append(struct fc_fs *fs, struct rest *rest, const struct fc_bytes *name, const struct fc_bytes *value,
		  bool beside)
{
	uint8_t *p = rest->raw + rest->n;
	size_t room = sizeof(rest->raw) - rest->n, need = X_NAME + name->n, held = value->n;
	bool out = !beside && (held > FC_XATTR_INLINE_MAX || (held && need + held > room));
	int err;

	if (out)
		held = FC_BLOB_NAME;
	if (need + held > room)
		return FC_ENOSPC;
	memset(p, 0, X_NAME);
	p[X_NAME_BYTES] = (uint8_t)name->n;
	p[X_KIND] = out ? FC_XATTR_BLOB : FC_XATTR_INLINE;
	fc_put_u32(p + X_BYTES, (uint32_t)value->n);
	memcpy(p + X_NAME, name->p, name->n);
	if (out) {
		err = fc_blob_write(fs, value->p, value->n, p + need, &held);
		if (err)
			return err;
	} else if (held) {
		memcpy(p + need, value->p, held);
	}
	rest->n += need + held;
	return 0;
}

int fc_xattr_put(struct fc_fs *fs, struct fc_inode *inode, uint64_t hash, const struct fc_bytes *name,
		 const struct fc_bytes *value, bool beside)
{
	struct rest rest;
	int err = take_rest(fs, inode->ino, hash, name, &rest);

	if (!err)
		err = append(fs, &rest, name, value, beside);
	if (!err)
		err = fc_tree_put(fc_fs_tree(fs), fc_key(inode->ino, FC_KEY_XATTR, hash), rest.raw, rest.n);
	if (err)
		return err;
	if (rest.blob_n)
		fc_blob_free(fs, rest.blob, rest.blob_n);
	inode->xattrs += !rest.had;
	return 0;
}

int fc_xattr_del(struct fc_fs *fs, struct fc_inode *inode, uint64_t hash, const struct fc_bytes *name)
{
	struct fc_key key = fc_key(inode->ino, FC_KEY_XATTR, hash);
	struct rest rest;
	int err = take_rest(fs, inode->ino, hash, name, &rest);

	if (!err && !rest.had)
		err = FC_ENODATA;
	if (!err && rest.n)
		err = fc_tree_put(fc_fs_tree(fs), key, rest.raw, rest.n);
	else if (!err)
		err = fc_tree_del(fc_fs_tree(fs), key);
	if (err)
		return err;
	if (rest.blob_n)
		fc_blob_free(fs, rest.blob, rest.blob_n);
	if (inode->xattrs)
		inode->xattrs--;
	return 0;
}

void fc_xattr_free(struct fc_fs *fs, const uint8_t *item, size_t bytes)
{
	struct fc_xattr x;
	size_t at = 0;

	while (fc_xattr_next(item, bytes, &at, &x) > 0)
		if (x.kind == FC_XATTR_BLOB)
			fc_blob_free(fs, x.held.p, x.held.n);
}

int fc_kill_priv_load(struct fc_fs *fs, const struct fc_inode *inode)
{
	struct fc_bytes name = fc_xattr_name(FC_XATTR_CAPABILITY);

	return inode->xattrs ? fc_xattr_load(fs, inode->ino, fc_xattr_hash(fs, &name)) : 0;
}

void fc_kill_priv(struct fc_fs *fs, struct fc_inode *inode)
{
	struct fc_bytes name = fc_xattr_name(FC_XATTR_CAPABILITY);

	if (S_ISDIR(inode->mode))
		return;
	inode->mode &= ~(uint32_t)S_ISUID;
	/* without group execution S_ISGID once meant mandatory locking: it stays */
	if (inode->mode & S_IXGRP)
		inode->mode &= ~(uint32_t)S_ISGID;
	if (inode->xattrs)
		(void)fc_xattr_del(fs, inode, fc_xattr_hash(fs, &name), &name);
}
