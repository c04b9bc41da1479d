/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library itself, as the session calls it. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "fusecrypt/container.h"
#include "many.h"

static const struct fc_cred cred = { .uid = 1000, .gid = 100, .umask = 022 };

static int result(long r)
{
	return r < 0 ? -fc_error_errno((int)r) : 0;
}

/* The directory that path lies in; *name: its last part. Referred to until forgotten. */
static int parent_of(struct fc_fs *fs, const char *path, uint64_t *dir, const char **name)
{
	const char *slash;

	*dir = FC_INO_ROOT;
	while ((slash = strchr(path, '/'))) {
		char part[FC_NAME_MAX + 1] = "";
		uint64_t before = *dir;
		struct fc_attr attr;
		int r;

		memcpy(part, path, (size_t)(slash - path));
		r = fc_fs_lookup(fs, before, part, &attr);
		if (before != FC_INO_ROOT)
			fc_fs_forget(fs, before, 1);
		if (r)
			return r;
		*dir = attr.ino;
		path = slash + 1;
	}
	*name = path;
	return 0;
}

static void leave(struct fc_fs *fs, uint64_t ino)
{
	if (ino != FC_INO_ROOT)
		fc_fs_forget(fs, ino, 1);
}

static int find(struct fc_fs *fs, const char *path, uint64_t *ino)
{
	struct fc_attr attr;
	const char *name;
	uint64_t dir;
	int r = parent_of(fs, path, &dir, &name);

	if (r)
		return r;
	r = fc_fs_lookup(fs, dir, name, &attr);
	leave(fs, dir);
	*ino = attr.ino;
	return r;
}

static int make(struct fc_fs *fs, const char *path, bool is_dir)
{
	struct fc_attr attr;
	const char *name;
	uint64_t dir;
	int r = parent_of(fs, path, &dir, &name);

	if (r)
		return result(r);
	r = is_dir ? fc_fs_mkdir(fs, dir, name, &cred, 0755, &attr)
		   : fc_fs_mknod(fs, dir, name, &cred, S_IFREG | 0644, 0, &attr);
	if (!r)
		leave(fs, attr.ino);
	leave(fs, dir);
	return result(r);
}

static int fs_make(void *at, const char *path)
{
	return make(at, path, false);
}

static int fs_mkdir(void *at, const char *path)
{
	return make(at, path, true);
}

static int take_away(struct fc_fs *fs, const char *path, int (*how)(struct fc_fs *, uint64_t, const char *))
{
	const char *name;
	uint64_t dir;
	int r = parent_of(fs, path, &dir, &name);

	if (r)
		return result(r);
	r = how(fs, dir, name);
	leave(fs, dir);
	return result(r);
}

static int fs_unlink(void *at, const char *path)
{
	return take_away(at, path, fc_fs_unlink);
}

static int fs_rmdir(void *at, const char *path)
{
	return take_away(at, path, fc_fs_rmdir);
}

static int fs_rename(void *at, const char *from, const char *to)
{
	const char *name, *name2;
	uint64_t dir, dir2;
	int r = parent_of(at, from, &dir, &name);

	if (r)
		return result(r);
	r = parent_of(at, to, &dir2, &name2);
	if (!r) {
		r = fc_fs_rename(at, dir, name, dir2, name2, 0, &cred);
		leave(at, dir2);
	}
	leave(at, dir);
	return result(r);
}

static int fs_link(void *at, const char *from, const char *to)
{
	struct fc_attr attr;
	const char *name;
	uint64_t dir, ino;
	int r = find(at, from, &ino);

	if (r)
		return result(r);
	r = parent_of(at, to, &dir, &name);
	if (!r) {
		r = fc_fs_link(at, ino, dir, name, &attr);
		if (!r)
			leave(at, ino);
		leave(at, dir);
	}
	leave(at, ino);
	return result(r);
}

static ssize_t fs_read(void *at, const char *path, uint64_t off, void *buf, size_t n)
{
	uint64_t ino;
	size_t got = 0;
	int r = find(at, path, &ino);

	if (r)
		return result(r);
	r = fc_fs_read(at, ino, off, n, buf, &got);
	leave(at, ino);
	return r ? result(r) : (ssize_t)got;
}

static int fs_write(void *at, const char *path, uint64_t off, const void *buf, size_t n)
{
	uint64_t ino;
	int r = find(at, path, &ino);

	if (r)
		return result(r);
	r = fc_fs_write(at, ino, off, n, buf, 0);
	leave(at, ino);
	return result(r);
}

static int fs_truncate(void *at, const char *path, uint64_t size)
{
	struct fc_setattr set = { .valid = FC_SET_SIZE, .size = size };
	struct fc_attr attr;
	uint64_t ino;
	int r = find(at, path, &ino);

	if (r)
		return result(r);
	r = fc_fs_setattr(at, ino, &set, &attr);
	leave(at, ino);
	return result(r);
}

static int fs_setxattr(void *at, const char *path, const void *value, size_t n)
{
	uint64_t ino;
	int r = find(at, path, &ino);

	if (r)
		return result(r);
	r = fc_fs_setxattr(at, ino, "user.many", value, n, 0, false);
	leave(at, ino);
	return result(r);
}

static ssize_t fs_getxattr(void *at, const char *path, void *value, size_t n)
{
	uint64_t ino;
	ssize_t r = find(at, path, &ino);

	if (r)
		return result(r);
	r = fc_fs_getxattr(at, ino, "user.many", value, n);
	leave(at, ino);
	return r < 0 ? result(r) : r;
}

static int fs_sync(void *at, const char *path)
{
	uint64_t ino;
	int r = find(at, path, &ino);

	if (r)
		return result(r);
	leave(at, ino);
	return result(fc_fs_sync(at));
}

struct fill {
	void (*name)(void *arg, const char *name);
	void *arg;
};

static int take(void *arg, const char *name, uint64_t ino, uint32_t type, uint64_t next, const struct fc_attr *attr)
{
	const struct fill *fill = arg;

	(void)ino;
	(void)type;
	(void)next;
	(void)attr;
	if (strcmp(name, ".") && strcmp(name, ".."))
		fill->name(fill->arg, name);
	return 0;
}

static int fs_list(void *at, const char *path, void (*name)(void *arg, const char *name), void *arg)
{
	struct fill fill = { name, arg };
	uint64_t ino;
	int r = find(at, path, &ino);

	if (r)
		return result(r);
	r = fc_fs_readdir(at, ino, 0, false, take, &fill);
	leave(at, ino);
	return result(r);
}

const struct many_ops many_fs = {
	.make = fs_make,
	.mkdir = fs_mkdir,
	.unlink = fs_unlink,
	.rmdir = fs_rmdir,
	.rename = fs_rename,
	.link = fs_link,
	.read = fs_read,
	.write = fs_write,
	.truncate = fs_truncate,
	.setxattr = fs_setxattr,
	.getxattr = fs_getxattr,
	.sync = fs_sync,
	.list = fs_list,
};
