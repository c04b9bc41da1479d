/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations as they are journalled. Encoding is compact and self-delimiting:
 * a log record's payload is a sequence of encoded operations.
 */
#ifndef FC_FS_OP_H
#define FC_FS_OP_H

#include <stddef.h>
#include <stdint.h>

#include "fusecrypt/container.h"
#include "fusecrypt/error.h"
#include "fusecrypt/format.h"

enum fc_op_kind {
	FC_OP_CREATE = 1,       /* ino, parent, name, mode, uid, gid, rdev, time, data = symlink target or none,
			     * acl_access, acl_default (inherited, may be empty); parent 0: no name (tmpfile) */
	FC_OP_LINK = 2,         /* ino, parent, name, time */
	FC_OP_UNLINK = 3,       /* parent, name, time */
	FC_OP_RMDIR = 4,        /* parent, name, time */
	FC_OP_RENAME = 5,       /* parent, name, parent2, name2, flags, time; ino, mode, uid, gid: the whiteout */
	FC_OP_SETATTR = 6,      /* ino, set (no NOW flags left), time = ctime */
	FC_OP_WRITE = 7,        /* ino, off, bytes, flags, time; data: the bytes, or none: pages follow in MAPs */
	FC_OP_MAP = 8,          /* ino, off = file block, extent (FC_E_* raw in data): content of these blocks */
	FC_OP_FALLOCATE = 9,    /* ino, mode, off, bytes, time */
	FC_OP_COPY = 10,        /* ino = from, off, parent2 = to, off2, bytes, time: whole blocks shared */
	FC_OP_SETXATTR = 11,    /* ino, name, data, flags (FC_OP_XATTR_FLAGS), time */
	FC_OP_REMOVEXATTR = 12, /* ino, name, time */
	FC_OP_KINDS
};

/* flags of SETXATTR: XATTR_CREATE, XATTR_REPLACE and */
#define FC_OP_KILL_SGID 0x100u /* system.posix_acl_access: the setter is not in the file's group */
#define FC_OP_XATTR_FLAGS 0x103u

struct fc_bytes {
	const uint8_t *p; /* not owned */
	size_t n;
};

struct fc_op {
	enum fc_op_kind kind;
	uint64_t ino, parent, parent2, off, off2, bytes, rdev;
	uint32_t mode, uid, gid, flags;
	struct fc_time time;
	struct fc_setattr set;
	struct fc_bytes name, name2, data, acl_access, acl_default;
};

/* Bytes that encoding takes. */
size_t fc_op_size(const struct fc_op *op);
/* Encodes into out, which has fc_op_size bytes. Returns the bytes written. */
size_t fc_op_encode(const struct fc_op *op, uint8_t *out);
/* Decodes the operation at in; *used returns its length. Pointers of *op point
 * into in. Names are checked (1..255 bytes, no '/', no NUL, not . or ..), sizes and
 * kinds too: FC_ECORRUPT. Pure; any input is safe. */
int fc_op_decode(struct fc_op *op, const uint8_t *in, size_t n, size_t *used);

/* Each: exclusive lock held, budget there. All or nothing. They check what a
 * replayed operation could violate and return the errno-like FC_E*. */
struct fc_fs;
int fc_apply_create(struct fc_fs *fs, const struct fc_op *op);      /* namei.c */
int fc_apply_link(struct fc_fs *fs, const struct fc_op *op);        /* namei.c */
int fc_apply_unlink(struct fc_fs *fs, const struct fc_op *op);      /* namei.c: also RMDIR */
int fc_apply_rename(struct fc_fs *fs, const struct fc_op *op);      /* rename.c */
int fc_apply_setattr(struct fc_fs *fs, const struct fc_op *op);     /* attr.c */
int fc_apply_setxattr(struct fc_fs *fs, const struct fc_op *op);    /* xattr.c */
int fc_apply_removexattr(struct fc_fs *fs, const struct fc_op *op); /* xattr.c */
int fc_apply_write(struct fc_fs *fs, const struct fc_op *op);       /* file.c */
int fc_apply_map(struct fc_fs *fs, const struct fc_op *op);         /* map.c */
int fc_apply_fallocate(struct fc_fs *fs, const struct fc_op *op);   /* file.c */
int fc_apply_copy(struct fc_fs *fs, const struct fc_op *op);        /* copy.c */
/* By kind. */
int fc_apply(struct fc_fs *fs, const struct fc_op *op);

#endif
