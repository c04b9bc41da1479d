/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fs/op.h"

int fc_apply(struct fc_fs *fs, const struct fc_op *op)
{
	switch (op->kind) {
	case FC_OP_CREATE:
		return fc_apply_create(fs, op);
	case FC_OP_LINK:
		return fc_apply_link(fs, op);
	case FC_OP_UNLINK:
	case FC_OP_RMDIR:
		return fc_apply_unlink(fs, op);
	case FC_OP_RENAME:
		return fc_apply_rename(fs, op);
	case FC_OP_SETATTR:
		return fc_apply_setattr(fs, op);
	case FC_OP_WRITE:
		return fc_apply_write(fs, op);
	case FC_OP_MAP:
		return fc_apply_map(fs, op);
	case FC_OP_FALLOCATE:
		return fc_apply_fallocate(fs, op);
	case FC_OP_COPY:
		return fc_apply_copy(fs, op);
	case FC_OP_SETXATTR:
		return fc_apply_setxattr(fs, op);
	case FC_OP_REMOVEXATTR:
		return fc_apply_removexattr(fs, op);
	case FC_OP_KINDS:
		break;
	}
	return FC_ECORRUPT;
}
