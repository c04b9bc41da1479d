/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What there is to move, and what stands in the way; nothing is changed. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "convert/converter.h"

#define NEEDED (32ull << 20)
#define SMALL 512u /* of a tree's node, that an inode with its name takes */

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

struct looking {
	struct fc_cv cv; /* first: it is what the walk hands on */
	struct fc_convert_options options;
	struct fc_convert_journal journal;
	struct fc_convert_totals *totals;
	dev_t dev;
	bool may_share; /* the file system knows reflinks */
};

static void blocked(struct looking *l, enum fc_convert_note what, const char *path, int error)
{
	fc_cv_note(&l->cv, what, path, error);
	if (what == FC_CONVERT_UNREADABLE || what == FC_CONVERT_FIXED)
		l->totals->stays++;
	else
		l->totals->blocked++;
}

/* ---- the host -------------------------------------------------------------------- */

/* Flags that keep a name where it is. */
static bool is_fixed(int dir, const char *name)
{
	struct statx st;

	return !statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, 0, &st) &&
	       st.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND);
}

/* May this user take names out of a directory that looks like this? */
static bool may_take(int dir, const struct stat *st)
{
	return !geteuid() || st->st_uid == geteuid() || !faccessat(dir, ".", W_OK | X_OK, AT_EACCESS);
}

static int enter_host(struct fc_cv *c, const char *path)
{
	struct looking *l = (struct looking *)c;
	struct stat st;
	int r = fc_cv_place_dir(c, path);

	if (r == FC_EACCESS) {
		blocked(l, FC_CONVERT_UNREADABLE, path, r);
		return 1;
	}
	if (r || c->at_fd < 0)
		return r;
	if (fstat(c->at_fd, &st))
		return fc_cv_errno(errno);
	if (!*path)
		l->dev = st.st_dev;
	if (st.st_dev != l->dev) {
		blocked(l, FC_CONVERT_MOUNT, path, 0);
		return 1;
	}
	l->totals->directories++;
	if (is_fixed(c->at_fd, ".") || !may_take(c->at_fd, &st))
		blocked(l, FC_CONVERT_FIXED, path, 0);
	return 0;
}

/* Space that a deletion does not give back. */
static void count_host(struct looking *l, const char *path, int dir, const char *name, const struct stat *st)
{
	uint64_t bytes = (uint64_t)st->st_blocks * 512;
	int fd;

	l->totals->bytes += bytes;
	if (!bytes)
		l->totals->small += SMALL;
	if (!l->may_share || !S_ISREG(st->st_mode) || !bytes)
		return;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && fc_cv_shared(fd)) {
		l->totals->whole += bytes;
		fc_cv_note(&l->cv, FC_CONVERT_SHARED, path, 0);
	}
	if (fd >= 0)
		close(fd);
}

static int each_host(struct fc_cv *c, const char *path, const struct fc_cv_name *entry)
{
	struct looking *l = (struct looking *)c;
	struct fc_cv_group *g;
	const char *name;
	struct stat st;
	int r = fc_cv_place(c, path, &name);

	(void)entry;
	if (r || c->at_fd < 0)
		return r;
	if (fstatat(c->at_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : fc_cv_failed(c, path, fc_cv_errno(errno));
	l->totals->names++;
	if (st.st_dev != l->dev)
		blocked(l, FC_CONVERT_MOUNT, path, 0);
	else if (S_ISREG(st.st_mode) && faccessat(c->at_fd, name, R_OK, AT_EACCESS))
		blocked(l, FC_CONVERT_UNREADABLE, path, fc_cv_errno(errno));
	else if (is_fixed(c->at_fd, name))
		blocked(l, FC_CONVERT_FIXED, path, 0);
	if (st.st_nlink < 2) {
		count_host(l, path, c->at_fd, name, &st);
		return 0;
	}
	r = fc_cv_links_add(&c->links, st.st_ino, st.st_nlink, path);
	g = r ? NULL : fc_cv_links_find(&c->links, st.st_ino);
	if (g && g->count == 1) {
		count_host(l, path, c->at_fd, name, &st);
		g->bytes = (uint64_t)st.st_blocks * 512;
	}
	return r;
}

static void count_outside(struct looking *l)
{
	const struct fc_cv_links *links = &l->cv.links;

	for (size_t i = 0; i < links->room; i++) {
		const struct fc_cv_group *g = &links->group[i];

		if (!g->ino || g->count >= g->nlink)
			continue;
		l->totals->whole += g->bytes;
		for (size_t k = 0; k < g->count; k++)
			fc_cv_note(&l->cv, FC_CONVERT_LINKED, g->path[k], 0);
	}
}

static void begin(struct looking *l, const struct fc_convert_options *options, struct fc_convert_totals *totals)
{
	memset(l, 0, sizeof(*l));
	memset(totals, 0, sizeof(*totals));
	l->options = *options;
	l->options.skip = true; /* all of it is listed */
	l->totals = totals;
	fc_cv_init(&l->cv, NULL, -1, &l->journal, &l->options);
}

static void end(struct looking *l)
{
	fc_cv_fini(&l->cv);
}

int fc_convert_look_in(int dir, const struct fc_convert_options *options, struct fc_convert_totals *totals)
{
	const struct fc_cv_visit v = { .enter = enter_host, .each = each_host };
	struct looking l;
	struct statfs fs;
	int r;

	begin(&l, options, totals);
	l.cv.host = dir;
	l.may_share = !fstatfs(dir, &fs) && (fs.f_type == BTRFS_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC);
	r = fc_cv_walk(&l.cv, false, &v);
	if (!r)
		count_outside(&l);
	totals->needed = NEEDED + totals->bytes / 50 + totals->whole + totals->small;
	end(&l);
	return r;
}

/* ---- the container ------------------------------------------------------------------ */

static bool in_group(gid_t gid)
{
	gid_t list[256];
	int n = getgroups(256, list);

	for (int i = 0; i < n; i++)
		if (list[i] == gid)
			return true;
	return gid == getegid();
}

/* What only root can make. */
static bool may_make(const struct fc_attr *attr)
{
	if (!geteuid())
		return true;
	return attr->uid == geteuid() && in_group((gid_t)attr->gid) && !S_ISCHR(attr->mode) && !S_ISBLK(attr->mode);
}

static int enter_container(struct fc_cv *c, const char *path)
{
	struct looking *l = (struct looking *)c;
	struct fc_attr attr;
	int r = fc_cv_place_dir(c, path);

	if (!r)
		r = fc_fs_getattr(c->fs, c->at_ino, &attr);
	if (r)
		return fc_cv_failed(c, path, r);
	l->totals->directories++;
	if (!may_make(&attr))
		blocked(l, FC_CONVERT_OWNER, path, 0);
	return 0;
}

static int each_container(struct fc_cv *c, const char *path, const struct fc_cv_name *entry)
{
	struct looking *l = (struct looking *)c;
	struct fc_attr attr;
	int r = fc_fs_getattr(c->fs, entry->ino, &attr);

	if (r)
		return fc_cv_failed(c, path, r);
	l->totals->names++;
	if (!may_make(&attr))
		blocked(l, FC_CONVERT_OWNER, path, 0);
	if (attr.nlink > 1) {
		r = fc_cv_links_add(&c->links, attr.ino, attr.nlink, path);
		if (r || fc_cv_links_find(&c->links, attr.ino)->count > 1)
			return r;
	}
	l->totals->bytes += attr.blocks * 512;
	return 0;
}

int fc_convert_look_out(struct fc_fs *fs, const struct fc_convert_options *options, struct fc_convert_totals *totals)
{
	const struct fc_cv_visit v = { .enter = enter_container, .each = each_container };
	struct looking l;
	int r;

	begin(&l, options, totals);
	l.cv.fs = fs;
	r = fc_cv_walk(&l.cv, true, &v);
	end(&l);
	return r;
}
