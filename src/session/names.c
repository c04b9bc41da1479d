/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations on names. Permissions are checked by the kernel (default_permissions). */
#include "session/session_internal.h"

#include <errno.h>

void fc_reply_error(fuse_req_t req, int error)
{
	fuse_reply_err(req, error ? fc_error_errno(error) : 0);
}

/* A name that does not exist is told with a timeout: the kernel remembers it. */
static void reply_missing(fuse_req_t req)
{
	const struct fc_session *session = fuse_req_userdata(req);

	fuse_reply_entry(req, &(struct fuse_entry_param){ .entry_timeout = session->timeout });
}

void fc_reply_entry(fuse_req_t req, int error, const struct fc_attr *attr)
{
	const struct fc_session *session = fuse_req_userdata(req);
	struct fuse_entry_param entry;

	if (error) {
		fc_reply_error(req, error);
		return;
	}
	fc_attr_entry(session, attr, &entry);
	/* Who asked has gone: the kernel knows of no reference to give back. */
	if (fuse_reply_entry(req, &entry) == -ENOENT)
		fc_fs_forget(session->fs, attr->ino, 1);
}

void fc_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fc_session *session = fuse_req_userdata(req);
	struct fc_attr attr;
	int error = fc_fs_lookup(session->fs, parent, name, &attr);

	if (error == FC_ENOENT)
		reply_missing(req);
	else
		fc_reply_entry(req, error, &attr);
}

void fc_op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	struct fc_session *session = fuse_req_userdata(req);

	fc_fs_forget(session->fs, ino, n);
	fuse_reply_none(req);
}

void fc_op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	struct fc_session *session = fuse_req_userdata(req);

	for (size_t i = 0; i < count; i++)
		fc_fs_forget(session->fs, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

static struct fc_cred cred_of(fuse_req_t req)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	return (struct fc_cred){ .uid = ctx->uid, .gid = ctx->gid, .umask = ctx->umask };
}

void fc_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	struct fc_session *session = fuse_req_userdata(req);
	struct fc_cred cred = cred_of(req);
	struct fc_attr attr;

	int error = fc_fs_mknod(session->fs, parent, name, &cred, mode, rdev, &attr);

	if (!error)
		fc_attr_some_blocks(&attr);
	fc_reply_entry(req, error, &attr);
}

void fc_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct fc_session *session = fuse_req_userdata(req);
	struct fc_cred cred = cred_of(req);
	struct fc_attr attr;

	fc_reply_entry(req, fc_fs_mkdir(session->fs, parent, name, &cred, mode, &attr), &attr);
}

void fc_op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	struct fc_session *session = fuse_req_userdata(req);
	struct fc_cred cred = cred_of(req);
	struct fc_attr attr;

	fc_reply_entry(req, fc_fs_symlink(session->fs, parent, name, &cred, target, &attr), &attr);
}

void fc_op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct fc_session *session = fuse_req_userdata(req);
	struct fc_attr attr;

	fc_reply_entry(req, fc_fs_link(session->fs, ino, parent, name, &attr), &attr);
}

void fc_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fc_session *session = fuse_req_userdata(req);

	fc_reply_error(req, fc_fs_unlink(session->fs, parent, name));
}

void fc_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fc_session *session = fuse_req_userdata(req);

	fc_reply_error(req, fc_fs_rmdir(session->fs, parent, name));
}

void fc_op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent, const char *new_name,
		  unsigned flags)
{
	struct fc_session *session = fuse_req_userdata(req);
	struct fc_cred cred = cred_of(req);

	fc_reply_error(req, fc_fs_rename(session->fs, parent, name, new_parent, new_name, flags, &cred));
}

void fc_op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct fc_session *session = fuse_req_userdata(req);
	char target[FC_SYMLINK_MAX + 1];
	int error = fc_fs_readlink(session->fs, ino, target);

	if (error)
		fc_reply_error(req, error);
	else
		fuse_reply_readlink(req, target);
	if (!error)
		fc_attr_accessed(session, ino);
}
