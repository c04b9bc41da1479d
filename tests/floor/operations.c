/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answers. What fusecrypt leaves to the kernel (opening and closing, locks, access) is
 * left to it here too. Extended attributes cannot be set, files have no holes that could be
 * asked for, and writing does not clear set-id bits.
 */
#include "session/session_internal.h"

#include "floor.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FOR_EVER (10.0 * 365 * 86400) /* seconds */
#define LISTING_MAX ((size_t)1 << 20)

static void begin(void *userdata, struct fuse_conn_info *conn)
{
	fc_init(userdata, conn);
	/* Numbers of nodes are used again, so there can be no file handles. No request depends on it. */
	conn->want &= ~(unsigned)FUSE_CAP_EXPORT_SUPPORT;
}

static struct fuse_entry_param entry_of(struct floor_node *node)
{
	return (struct fuse_entry_param){
		.ino = floor_number(node),
		.attr = node->st,
		.attr_timeout = FOR_EVER,
		.entry_timeout = FOR_EVER,
	};
}

static void forget(struct floor_node *node, uint64_t n)
{
	node->lookups -= n;
	floor_node_drop(node);
}

static void reply_node(fuse_req_t req, struct floor_node *node)
{
	struct fuse_entry_param entry = entry_of(node);

	node->lookups++;
	/* Who asked has gone. */
	if (fuse_reply_entry(req, &entry) == -ENOENT)
		forget(node, 1);
}

/* ---- names -------------------------------------------------------------- */

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct floor_entry *entry = floor_find(floor_node(parent), name);

	if (entry)
		reply_node(req, entry->node);
	else
		fuse_reply_entry(req, &(struct fuse_entry_param){ .entry_timeout = FOR_EVER });
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	forget(floor_node(ino), n);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		forget(floor_node(forgets[i].ino), forgets[i].nlookup);
	fuse_reply_none(req);
}

/* target: of a symbolic link, else NULL. */
static void make(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev, const char *target)
{
	struct floor_node *dir = floor_node(parent), *node;
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	bool by_group = dir->st.st_mode & S_ISGID;

	if (floor_find(dir, name)) {
		fuse_reply_err(req, EEXIST);
		return;
	}
	if (by_group && S_ISDIR(mode))
		mode |= S_ISGID;
	node = floor_node_new(mode, ctx->uid, by_group ? dir->st.st_gid : ctx->gid);
	if (!node) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	node->st.st_rdev = rdev;
	node->target = target ? strdup(target) : NULL;
	node->st.st_size = target ? (off_t)strlen(target) : 0;
	if ((target && !node->target) || floor_enter(dir, name, node)) {
		floor_node_drop(node);
		fuse_reply_err(req, ENOMEM);
		return;
	}
	reply_node(req, node);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	make(req, parent, name, mode & ~fuse_req_ctx(req)->umask, rdev, NULL);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	make(req, parent, name, S_IFDIR | (mode & ~fuse_req_ctx(req)->umask), 0, NULL);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	make(req, parent, name, S_IFLNK | 0777, 0, target);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct floor_node *dir = floor_node(parent), *node = floor_node(ino);
	int error = floor_find(dir, name) ? EEXIST : floor_enter(dir, name, node);

	if (error)
		fuse_reply_err(req, error);
	else
		reply_node(req, node);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct floor_entry *entry = floor_find(floor_node(parent), name);

	if (entry)
		floor_remove(entry);
	fuse_reply_err(req, entry ? 0 : ENOENT);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct floor_entry *entry = floor_find(floor_node(parent), name);
	int error = !entry ? ENOENT : entry->node->entries ? ENOTEMPTY : 0;

	if (!error)
		floor_remove(entry);
	fuse_reply_err(req, error);
}

/* The kernel has checked kinds, and that no directory comes to lie in itself. */
static int move(struct floor_entry *entry, struct floor_node *dir, const char *name, unsigned flags)
{
	struct floor_entry *there = floor_find(dir, name);

	if (flags & ~(unsigned)RENAME_NOREPLACE)
		return EINVAL;
	if (!entry)
		return ENOENT;
	if (there && flags)
		return EEXIST;
	if (there && there->node == entry->node)
		return 0;
	if (there && there->node->entries)
		return ENOTEMPTY;
	if (there)
		floor_remove(there);
	if (floor_enter(dir, name, entry->node))
		return ENOMEM;
	floor_remove(entry);
	return 0;
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent, const char *new_name,
		      unsigned flags)
{
	struct floor_entry *entry = floor_find(floor_node(parent), name);

	fuse_reply_err(req, move(entry, floor_node(new_parent), new_name, flags));
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	fuse_reply_readlink(req, floor_node(ino)->target);
}

/* ---- attributes --------------------------------------------------------- */

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)fi;
	fuse_reply_attr(req, &floor_node(ino)->st, FOR_EVER);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *set, int to_set, struct fuse_file_info *fi)
{
	struct floor_node *node = floor_node(ino);
	struct timespec now = floor_now();
	int error = to_set & FUSE_SET_ATTR_SIZE ? floor_data_resize(node, (uint64_t)set->st_size) : 0;

	(void)fi;
	if (error) {
		fuse_reply_err(req, error);
		return;
	}
	if (to_set & FUSE_SET_ATTR_KILL_SUID)
		node->st.st_mode &= ~(mode_t)(S_ISUID | (node->st.st_mode & S_IXGRP ? S_ISGID : 0));
	if (to_set & FUSE_SET_ATTR_MODE)
		node->st.st_mode = (node->st.st_mode & S_IFMT) | (set->st_mode & ~(mode_t)S_IFMT);
	if (to_set & FUSE_SET_ATTR_UID)
		node->st.st_uid = set->st_uid;
	if (to_set & FUSE_SET_ATTR_GID)
		node->st.st_gid = set->st_gid;
	if (to_set & FUSE_SET_ATTR_SIZE)
		node->st.st_mtim = now;
	/* "Now" comes with a time too, which is not meant. */
	if (to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW))
		node->st.st_atim = to_set & FUSE_SET_ATTR_ATIME_NOW ? now : set->st_atim;
	if (to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW))
		node->st.st_mtim = to_set & FUSE_SET_ATTR_MTIME_NOW ? now : set->st_mtim;
	node->st.st_ctim = to_set & FUSE_SET_ATTR_CTIME ? set->st_ctim : now;
	fuse_reply_attr(req, &node->st, FOR_EVER);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	(void)ino;
	(void)name;
	(void)size;
	fuse_reply_err(req, ENODATA);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	(void)ino;
	if (size)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_xattr(req, 0);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs out = { .f_bsize = 4096, .f_frsize = 4096, .f_namemax = 255 };
	unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);

	(void)ino;
	out.f_blocks = (fsblkcnt_t)sysconf(_SC_PHYS_PAGES) * (page / 4096);
	out.f_bfree = out.f_bavail = (fsblkcnt_t)sysconf(_SC_AVPHYS_PAGES) * (page / 4096);
	out.f_files = out.f_ffree = out.f_favail = out.f_bfree;
	fuse_reply_statfs(req, &out);
}

/* ---- content ------------------------------------------------------------ */

/* From then on the kernel opens, or closes, by itself. */
static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, ENOSYS);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino;
	(void)datasync;
	(void)fi;
	fuse_reply_err(req, 0);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t n, off_t off, struct fuse_file_info *fi)
{
	struct iovec iov[FLOOR_PIECES];

	(void)fi;
	fuse_reply_iov(req, iov, floor_data_read(floor_node(ino), (uint64_t)off, n, iov));
}

static void written(struct floor_node *node)
{
	node->st.st_mtim = node->st.st_ctim = floor_now();
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t n, off_t off, struct fuse_file_info *fi)
{
	struct floor_node *node = floor_node(ino);
	int error = floor_data_write(node, (uint64_t)off, data, n);

	/* Of what comes from the page cache, the kernel sets the times. */
	if (!fi->writepage)
		written(node);
	if (error)
		fuse_reply_err(req, error);
	else
		fuse_reply_write(req, n);
}

static void op_copy(fuse_req_t req, fuse_ino_t from, off_t from_off, struct fuse_file_info *from_fi, fuse_ino_t to,
		    off_t to_off, struct fuse_file_info *to_fi, size_t n, int flags)
{
	size_t done = 0;
	int error = flags ? EINVAL
			  : floor_data_copy(floor_node(from), (uint64_t)from_off, floor_node(to), (uint64_t)to_off, n,
					    &done);

	(void)from_fi;
	(void)to_fi;
	written(floor_node(to));
	if (error)
		fuse_reply_err(req, error);
	else
		fuse_reply_write(req, done);
}

/* ---- directories -------------------------------------------------------- */

struct listing {
	fuse_req_t req;
	char *buf;
	size_t size, used;
	bool plus;
};

/* node, unless a dot's: the answer hands over a reference to it. False where it does not fit. */
static bool add(struct listing *listing, const char *name, const struct stat *st, struct floor_node *node, size_t next)
{
	struct fuse_entry_param entry = { .attr = { .st_ino = st->st_ino, .st_mode = st->st_mode } };
	char *at = listing->buf + listing->used;
	size_t room = listing->size - listing->used, n;

	if (listing->plus && node)
		entry = entry_of(node);
	if (listing->plus)
		n = fuse_add_direntry_plus(listing->req, at, room, name, &entry, (off_t)next);
	else
		n = fuse_add_direntry(listing->req, at, room, name, &entry.attr, (off_t)next);
	if (n > room)
		return false;
	if (entry.ino)
		node->lookups++;
	listing->used += n;
	return true;
}

/* Offsets: 0 and 1 are the dots, then come the slots. */
static void list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, bool plus)
{
	struct listing listing = { .req = req, .plus = plus, .size = size < LISTING_MAX ? size : LISTING_MAX };
	struct floor_node *dir = floor_node(ino);
	size_t at = (size_t)off;
	bool fits = true;

	listing.buf = malloc(listing.size + 1);
	if (!listing.buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	if (at == 0) {
		fits = add(&listing, ".", &dir->st, NULL, 1);
		at++;
	}
	if (fits && at == 1) {
		fits = add(&listing, "..", &dir->parent->st, NULL, 2);
		at++;
	}
	for (; fits && at - 2 < dir->slots_used; at++) {
		struct floor_entry *entry = dir->slots[at - 2];

		if (entry)
			fits = add(&listing, entry->name, &entry->node->st, entry->node, at + 1);
	}
	fuse_reply_buf(req, listing.buf, listing.used);
	free(listing.buf);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)fi;
	list(req, ino, size, off, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)fi;
	list(req, ino, size, off, true);
}

/* As many as src/session/session.c has, but for those that no program needs which is measured. */
const struct fuse_lowlevel_ops floor_operations = {
	.init = begin,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readlink = op_readlink,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.symlink = op_symlink,
	.rename = op_rename,
	.link = op_link,
	.open = op_open,
	.opendir = op_open,
	.flush = op_open,
	.read = op_read,
	.write = op_write,
	.fsync = op_fsync,
	.fsyncdir = op_fsync,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.statfs = op_statfs,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.copy_file_range = op_copy,
};
