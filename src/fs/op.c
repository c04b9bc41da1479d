/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An encoded operation: u8 kind, varint bytes of the body, body. The fields of
 * a kind stand in its function below, in the order on disk. Numbers are
 * LEB128 varints in their shortest form, times a zigzag varint of seconds and
 * a varint of nanoseconds, strings a varint of bytes and the bytes. So an
 * operation has exactly one encoding.
 *
 * One description of a kind serves for measuring, encoding and decoding.
 */
#include "fs/op.h"

#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>

#include "util/le.h"

enum walk_mode { WALK_SIZE, WALK_PUT, WALK_GET };

struct walk {
	enum walk_mode mode;
	uint8_t *out;            /* PUT */
	const uint8_t *in, *end; /* GET */
	size_t n;                /* SIZE */
	bool bad;                /* GET: what was read is not an operation */
};

#define VARINT_MAX 10

static uint64_t get_varint(struct walk *w)
{
	uint64_t v = 0;

	for (int i = 0; i < VARINT_MAX && w->in < w->end; i++) {
		uint8_t byte = *w->in++;

		if ((i == VARINT_MAX - 1 && byte > 1) || (i && !byte))
			break;
		v |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			return v;
	}
	w->bad = true;
	return 0;
}

static void walk_u64(struct walk *w, uint64_t *value)
{
	uint64_t v = *value;

	if (w->mode == WALK_GET) {
		*value = get_varint(w);
		return;
	}
	do {
		if (w->mode == WALK_PUT)
			*w->out++ = (uint8_t)(v > 0x7f ? v | 0x80 : v);
		else
			w->n++;
		v >>= 7;
	} while (v);
}

static void walk_u32(struct walk *w, uint32_t *value)
{
	uint64_t v = *value;

	walk_u64(w, &v);
	if (v > UINT32_MAX)
		w->bad = true;
	*value = (uint32_t)v;
}

static void walk_time(struct walk *w, struct fc_time *time)
{
	uint64_t v = ((uint64_t)time->sec << 1) ^ (time->sec < 0 ? UINT64_MAX : 0);

	walk_u64(w, &v);
	time->sec = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
	walk_u32(w, &time->nsec);
	if (time->nsec >= 1000000000u)
		w->bad = true;
}

static void walk_bytes(struct walk *w, struct fc_bytes *bytes)
{
	uint64_t n = bytes->n;

	walk_u64(w, &n);
	switch (w->mode) {
	case WALK_SIZE:
		w->n += bytes->n;
		break;
	case WALK_PUT:
		if (n)
			memcpy(w->out, bytes->p, n);
		w->out += n;
		break;
	case WALK_GET:
		if (n > (size_t)(w->end - w->in)) {
			w->bad = true;
			n = 0;
		}
		bytes->p = n ? w->in : NULL;
		bytes->n = n;
		w->in += n;
		break;
	}
}

static void walk_create(struct walk *w, struct fc_op *op)
{
	walk_u64(w, &op->ino);
	walk_u64(w, &op->parent);
	walk_bytes(w, &op->name);
	walk_u32(w, &op->mode);
	walk_u32(w, &op->uid);
	walk_u32(w, &op->gid);
	if (S_ISCHR(op->mode) || S_ISBLK(op->mode))
		walk_u64(w, &op->rdev);
	walk_time(w, &op->time);
	if (S_ISLNK(op->mode)) {
		walk_bytes(w, &op->data);
		return;
	}
	walk_bytes(w, &op->acl_access);
	if (S_ISDIR(op->mode))
		walk_bytes(w, &op->acl_default);
}

static void walk_rename(struct walk *w, struct fc_op *op)
{
	walk_u64(w, &op->parent);
	walk_bytes(w, &op->name);
	walk_u64(w, &op->parent2);
	walk_bytes(w, &op->name2);
	walk_u32(w, &op->flags);
	walk_time(w, &op->time);
	if (!(op->flags & RENAME_WHITEOUT))
		return;
	walk_u64(w, &op->ino);
	walk_u32(w, &op->mode);
	walk_u32(w, &op->uid);
	walk_u32(w, &op->gid);
}

static void walk_setattr(struct walk *w, struct fc_op *op)
{
	struct fc_setattr *set = &op->set;

	walk_u64(w, &op->ino);
	walk_u32(w, &set->valid);
	if (set->valid & FC_SET_MODE)
		walk_u32(w, &set->mode);
	if (set->valid & FC_SET_UID)
		walk_u32(w, &set->uid);
	if (set->valid & FC_SET_GID)
		walk_u32(w, &set->gid);
	if (set->valid & FC_SET_SIZE)
		walk_u64(w, &set->size);
	if (set->valid & FC_SET_ATIME)
		walk_time(w, &set->atime);
	if (set->valid & FC_SET_MTIME)
		walk_time(w, &set->mtime);
	if (set->valid & FC_SET_CTIME)
		walk_time(w, &set->ctime);
	walk_time(w, &op->time);
}

static void walk_data(struct walk *w, struct fc_op *op)
{
	switch (op->kind) {
	case FC_OP_WRITE:
		walk_u64(w, &op->ino);
		walk_u64(w, &op->off);
		walk_u64(w, &op->bytes);
		walk_u32(w, &op->flags);
		walk_time(w, &op->time);
		walk_bytes(w, &op->data);
		break;
	case FC_OP_MAP:
		walk_u64(w, &op->ino);
		walk_u64(w, &op->off);
		walk_bytes(w, &op->data);
		break;
	case FC_OP_FALLOCATE:
		walk_u64(w, &op->ino);
		walk_u32(w, &op->mode);
		walk_u64(w, &op->off);
		walk_u64(w, &op->bytes);
		walk_time(w, &op->time);
		break;
	default: /* COPY */
		walk_u64(w, &op->ino);
		walk_u64(w, &op->off);
		walk_u64(w, &op->parent2);
		walk_u64(w, &op->off2);
		walk_u64(w, &op->bytes);
		walk_time(w, &op->time);
		break;
	}
}

static void walk_body(struct walk *w, struct fc_op *op)
{
	switch (op->kind) {
	case FC_OP_CREATE:
		walk_create(w, op);
		break;
	case FC_OP_LINK:
		walk_u64(w, &op->ino);
		/* fall through */
	case FC_OP_UNLINK:
	case FC_OP_RMDIR:
		walk_u64(w, &op->parent);
		walk_bytes(w, &op->name);
		walk_time(w, &op->time);
		break;
	case FC_OP_RENAME:
		walk_rename(w, op);
		break;
	case FC_OP_SETATTR:
		walk_setattr(w, op);
		break;
	case FC_OP_SETXATTR:
	case FC_OP_REMOVEXATTR:
		walk_u64(w, &op->ino);
		walk_bytes(w, &op->name);
		walk_time(w, &op->time);
		if (op->kind == FC_OP_REMOVEXATTR)
			break;
		walk_u32(w, &op->flags);
		walk_bytes(w, &op->data);
		break;
	default:
		walk_data(w, op);
		break;
	}
}

static size_t body_size(struct fc_op *op)
{
	struct walk w = { .mode = WALK_SIZE };

	walk_body(&w, op);
	return w.n;
}

size_t fc_op_size(const struct fc_op *op)
{
	struct fc_op copy = *op;
	uint64_t body = body_size(&copy);
	struct walk w = { .mode = WALK_SIZE };

	walk_u64(&w, &body);
	return 1 + w.n + body;
}

size_t fc_op_encode(const struct fc_op *op, uint8_t *out)
{
	struct fc_op copy = *op;
	uint64_t body = body_size(&copy);
	struct walk w = { .mode = WALK_PUT, .out = out };

	*w.out++ = (uint8_t)op->kind;
	walk_u64(&w, &body);
	walk_body(&w, &copy);
	return (size_t)(w.out - out);
}

/* ---- what a decoded operation may hold --------------------------------- */

static bool name_ok(const struct fc_bytes *name)
{
	if (!name->n || name->n > FC_NAME_MAX || memchr(name->p, '/', name->n) || memchr(name->p, 0, name->n))
		return false;
	return !(name->p[0] == '.' && (name->n == 1 || (name->n == 2 && name->p[1] == '.')));
}

static bool xattr_name_ok(const struct fc_bytes *name)
{
	return name->n && name->n <= FC_NAME_MAX && !memchr(name->p, 0, name->n);
}

static bool range_ok(uint64_t off, uint64_t bytes)
{
	return off <= FC_FILE_MAX && bytes <= FC_FILE_MAX - off;
}

static bool new_ino_ok(uint64_t ino)
{
	return ino >= FC_INO_FIRST && ino <= FC_INO_MAX;
}

static bool create_ok(const struct fc_op *op)
{
	if (!new_ino_ok(op->ino) || op->mode & ~(uint32_t)(S_IFMT | 07777))
		return false;
	if (op->acl_access.n > FC_XATTR_INLINE_MAX || op->acl_default.n > FC_XATTR_INLINE_MAX)
		return false;
	if (!op->parent)
		return S_ISREG(op->mode) && !op->name.n;
	if (!name_ok(&op->name))
		return false;
	switch (op->mode & S_IFMT) {
	case S_IFLNK:
		return op->data.n && op->data.n <= FC_SYMLINK_MAX && !memchr(op->data.p, 0, op->data.n);
	case S_IFREG:
	case S_IFDIR:
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		return true;
	default:
		return false;
	}
}

static bool rename_ok(const struct fc_op *op)
{
	uint32_t known = RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT;

	if (!name_ok(&op->name) || !name_ok(&op->name2) || op->flags & ~known)
		return false;
	if (op->flags & RENAME_EXCHANGE && op->flags != RENAME_EXCHANGE)
		return false;
	return !(op->flags & RENAME_WHITEOUT) || (new_ino_ok(op->ino) && !(op->mode & ~07777u));
}

static bool setattr_ok(const struct fc_setattr *set)
{
	uint32_t known = FC_SET_MODE | FC_SET_UID | FC_SET_GID | FC_SET_SIZE | FC_SET_ATIME | FC_SET_MTIME |
			 FC_SET_CTIME | FC_SET_KILLPRIV;

	return !(set->valid & ~known) && set->size <= FC_FILE_MAX && !(set->mode & ~07777u);
}

static bool map_ok(const struct fc_op *op)
{
	uint32_t units;

	if (op->data.n < FC_E_TAGS || op->off > FC_FILE_MAX >> FC_BLOCK_SHIFT)
		return false;
	units = fc_get_u32(op->data.p + FC_E_UNITS);
	return units && units <= FC_EXTENT_UNITS && op->data.n == FC_E_TAGS + (size_t)units * FC_TAG_BYTES;
}

static bool op_ok(const struct fc_op *op)
{
	switch (op->kind) {
	case FC_OP_CREATE:
		return create_ok(op);
	case FC_OP_LINK:
	case FC_OP_UNLINK:
	case FC_OP_RMDIR:
		return name_ok(&op->name);
	case FC_OP_RENAME:
		return rename_ok(op);
	case FC_OP_SETATTR:
		return setattr_ok(&op->set);
	case FC_OP_WRITE:
		return range_ok(op->off, op->bytes) && (!op->data.n || op->data.n == op->bytes);
	case FC_OP_MAP:
		return map_ok(op);
	case FC_OP_FALLOCATE:
		return op->bytes && range_ok(op->off, op->bytes);
	case FC_OP_COPY:
		return op->bytes && range_ok(op->off, op->bytes) && range_ok(op->off2, op->bytes);
	case FC_OP_SETXATTR:
		return xattr_name_ok(&op->name) && op->data.n <= FC_XATTR_VALUE_MAX &&
		       !(op->flags & ~FC_OP_XATTR_FLAGS);
	case FC_OP_REMOVEXATTR:
		return xattr_name_ok(&op->name);
	default:
		return false;
	}
}

int fc_op_decode(struct fc_op *op, const uint8_t *in, size_t n, size_t *used)
{
	struct walk w = { .mode = WALK_GET, .in = in, .end = in + n };
	uint64_t body;

	memset(op, 0, sizeof(*op));
	if (!n || !in[0] || in[0] >= FC_OP_KINDS)
		return FC_ECORRUPT;
	op->kind = (enum fc_op_kind)in[0];
	w.in++;
	body = get_varint(&w);
	if (w.bad || body > (size_t)(w.end - w.in))
		return FC_ECORRUPT;
	w.end = w.in + body;
	walk_body(&w, op);
	if (w.bad || w.in != w.end || !op_ok(op))
		return FC_ECORRUPT;
	*used = (size_t)(w.end - in);
	return 0;
}
