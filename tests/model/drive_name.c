/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps on names and inodes. */
#include "drive_priv.h"

/* A call that returns the attributes of a name. *node: what it is in the model,
 * which the call that gave `want` may have set. */
static enum fc_drive_end named(struct fc_drive *d, int error, fc_errors want, const uint32_t *node,
			       const struct fc_attr *attr, bool made)
{
	enum fc_drive_end end = fc_drive_verdict(d, error, want);

	if (end != FC_DRIVE_SAME || error)
		return end;
	end = fc_drive_bind(d, *node, attr->ino, made);
	return end == FC_DRIVE_SAME ? fc_drive_check_attr(d, *node, attr) : end;
}

enum fc_drive_end fc_drive_lookup(struct fc_drive *d, struct fc_step *s)
{
	const char *name = fc_script_name(s->name);
	struct fc_attr attr;
	uint32_t node = 0;
	int error = fc_fs_lookup(d->fs, fc_drive_ino(d, s->dir), name, &attr);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	return named(d, error, fc_model_lookup(d->model, s->dir, name, &node), &node, &attr, false);
}

enum fc_drive_end fc_drive_forget(struct fc_drive *d, struct fc_step *s)
{
	fc_fs_forget(d->fs, fc_drive_ino(d, s->node), s->bytes);
	fc_model_forget(d->model, s->node, s->bytes);
	return FC_DRIVE_SAME;
}

enum fc_drive_end fc_drive_getattr(struct fc_drive *d, struct fc_step *s)
{
	struct fc_attr attr;
	int error = fc_fs_getattr(d->fs, fc_drive_ino(d, s->node), &attr);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	if (error)
		return fc_drive_verdict(d, error, 0);
	return fc_drive_check_attr(d, s->node, &attr);
}

enum fc_drive_end fc_drive_setattr(struct fc_drive *d, struct fc_step *s)
{
	struct fc_attr attr;
	int error = fc_fs_setattr(d->fs, fc_drive_ino(d, s->node), &s->set, &attr);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	return named(d, error, fc_model_setattr(d->model, s->node, &s->set), &s->node, &attr, false);
}

enum fc_drive_end fc_drive_mknod(struct fc_drive *d, struct fc_step *s)
{
	const char *name = fc_script_name(s->name);
	struct fc_attr attr;
	uint32_t node = 0;
	int error = fc_fs_mknod(d->fs, fc_drive_ino(d, s->dir), name, &s->cred, s->mode, s->rdev, &attr);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	return named(d, error, fc_model_mknod(d->model, s->dir, name, &s->cred, s->mode, s->rdev, &node), &node, &attr,
		     true);
}

enum fc_drive_end fc_drive_mkdir(struct fc_drive *d, struct fc_step *s)
{
	const char *name = fc_script_name(s->name);
	struct fc_attr attr;
	uint32_t node = 0;
	int error = fc_fs_mkdir(d->fs, fc_drive_ino(d, s->dir), name, &s->cred, s->mode, &attr);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	return named(d, error, fc_model_mkdir(d->model, s->dir, name, &s->cred, s->mode, &node), &node, &attr, true);
}

/* What was made can be read at once. */
static enum fc_drive_end check_target(struct fc_drive *d, uint32_t node, const char *target)
{
	char got[FC_SYMLINK_MAX + 1];
	int error = fc_fs_readlink(d->fs, fc_drive_ino(d, node), got);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_SAME; /* the link itself was made */
	if (error < 0 || strcmp(got, target) != 0)
		return fc_drive_differs(d, "readlink of node %u: %d, or another target", (unsigned)node, error);
	return FC_DRIVE_SAME;
}

enum fc_drive_end fc_drive_symlink(struct fc_drive *d, struct fc_step *s)
{
	const char *name = fc_script_name(s->name);
	char target[FC_SYMLINK_MAX + 1];
	enum fc_drive_end end;
	struct fc_attr attr;
	uint32_t node = 0;
	fc_errors want;
	int error;

	fc_script_target(s, target);
	error = fc_fs_symlink(d->fs, fc_drive_ino(d, s->dir), name, &s->cred, target, &attr);
	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	want = fc_model_symlink(d->model, s->dir, name, &s->cred, target, &node);
	end = named(d, error, want, &node, &attr, true);
	return end == FC_DRIVE_SAME && !error ? check_target(d, node, target) : end;
}

enum fc_drive_end fc_drive_tmpfile(struct fc_drive *d, struct fc_step *s)
{
	struct fc_attr attr;
	uint32_t node = 0;
	int error = fc_fs_tmpfile(d->fs, fc_drive_ino(d, s->dir), &s->cred, s->mode, &attr);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	return named(d, error, fc_model_tmpfile(d->model, s->dir, &s->cred, s->mode, &node), &node, &attr, true);
}

enum fc_drive_end fc_drive_link(struct fc_drive *d, struct fc_step *s)
{
	const char *name = fc_script_name(s->name);
	struct fc_attr attr;
	int error = fc_fs_link(d->fs, fc_drive_ino(d, s->node), fc_drive_ino(d, s->dir), name, &attr);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	return named(d, error, fc_model_link(d->model, s->node, s->dir, name), &s->node, &attr, false);
}

enum fc_drive_end fc_drive_unlink(struct fc_drive *d, struct fc_step *s)
{
	const char *name = fc_script_name(s->name);
	int error = fc_fs_unlink(d->fs, fc_drive_ino(d, s->dir), name);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	return fc_drive_verdict(d, error, fc_model_unlink(d->model, s->dir, name));
}

enum fc_drive_end fc_drive_rmdir(struct fc_drive *d, struct fc_step *s)
{
	const char *name = fc_script_name(s->name);
	int error = fc_fs_rmdir(d->fs, fc_drive_ino(d, s->dir), name);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	return fc_drive_verdict(d, error, fc_model_rmdir(d->model, s->dir, name));
}

/* The whiteout that a rename left is a new inode: learn its number. */
static enum fc_drive_end learn_whiteout(struct fc_drive *d, const struct fc_step *s)
{
	uint32_t node = fc_model_top(d->model) - 1;
	enum fc_drive_end end;
	struct fc_attr attr;
	int error = fc_fs_lookup(d->fs, fc_drive_ino(d, s->dir), fc_script_name(s->name), &attr);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_SAME; /* the rename itself was done */
	end = named(d, error, 0, &node, &attr, true);
	if (!error)
		fc_fs_forget(d->fs, attr.ino, 1);
	return end;
}

enum fc_drive_end fc_drive_rename(struct fc_drive *d, struct fc_step *s)
{
	const char *name = fc_script_name(s->name), *name2 = fc_script_name(s->name2);
	uint32_t top = fc_model_top(d->model);
	enum fc_drive_end end;
	int error =
		fc_fs_rename(d->fs, fc_drive_ino(d, s->dir), name, fc_drive_ino(d, s->dir2), name2, s->flags, &s->cred);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	end = fc_drive_verdict(d, error, fc_model_rename(d->model, s->dir, name, s->dir2, name2, s->flags, &s->cred));
	return end == FC_DRIVE_SAME && fc_model_top(d->model) > top ? learn_whiteout(d, s) : end;
}
