/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory of the system, by system calls. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "many.h"

static int top(void *at)
{
	return *(int *)at;
}

static int result(long r)
{
	return r < 0 ? -errno : 0;
}

static int close_with(int fd, int r)
{
	return close(fd) && !r ? -errno : r;
}

static int dir_make(void *at, const char *path)
{
	int fd = openat(top(at), path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	return fd < 0 ? -errno : close_with(fd, 0);
}

static int dir_mkdir(void *at, const char *path)
{
	return result(mkdirat(top(at), path, 0755));
}

static int dir_unlink(void *at, const char *path)
{
	return result(unlinkat(top(at), path, 0));
}

static int dir_rmdir(void *at, const char *path)
{
	return result(unlinkat(top(at), path, AT_REMOVEDIR));
}

static int dir_rename(void *at, const char *from, const char *to)
{
	return result(renameat(top(at), from, top(at), to));
}

static int dir_link(void *at, const char *from, const char *to)
{
	return result(linkat(top(at), from, top(at), to, 0));
}

static ssize_t dir_read(void *at, const char *path, uint64_t off, void *buf, size_t n)
{
	int fd = openat(top(at), path, O_RDONLY);
	size_t got = 0;
	ssize_t r = 1;

	if (fd < 0)
		return -errno;
	while (r > 0 && got < n) {
		r = pread(fd, (char *)buf + got, n - got, (off_t)(off + got));
		got += r > 0 ? (size_t)r : 0;
	}
	return close_with(fd, r < 0 ? -errno : (int)got);
}

static int dir_write(void *at, const char *path, uint64_t off, const void *buf, size_t n)
{
	int fd = openat(top(at), path, O_WRONLY);
	ssize_t r;

	if (fd < 0)
		return -errno;
	r = pwrite(fd, buf, n, (off_t)off);
	return close_with(fd, r < 0 ? -errno : (size_t)r == n ? 0 : -EIO);
}

static int dir_truncate(void *at, const char *path, uint64_t size)
{
	int fd = openat(top(at), path, O_WRONLY);

	return fd < 0 ? -errno : close_with(fd, result(ftruncate(fd, (off_t)size)));
}

static int dir_setxattr(void *at, const char *path, const void *value, size_t n)
{
	int fd = openat(top(at), path, O_RDONLY);

	return fd < 0 ? -errno : close_with(fd, result(fsetxattr(fd, "user.many", value, n, 0)));
}

static ssize_t dir_getxattr(void *at, const char *path, void *value, size_t n)
{
	int fd = openat(top(at), path, O_RDONLY);
	ssize_t r;

	if (fd < 0)
		return -errno;
	r = fgetxattr(fd, "user.many", value, n);
	return close_with(fd, r < 0 ? -errno : (int)r);
}

static int dir_sync(void *at, const char *path)
{
	int fd = openat(top(at), path, O_RDONLY);

	return fd < 0 ? -errno : close_with(fd, result(fsync(fd)));
}

static int dir_list(void *at, const char *path, void (*name)(void *arg, const char *name), void *arg)
{
	int fd = openat(top(at), path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!dir)
		return -errno;
	errno = 0;
	while ((e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			name(arg, e->d_name);
	fd = -errno;
	return closedir(dir) && !fd ? -errno : fd;
}

const struct many_ops many_dir = {
	.make = dir_make,
	.mkdir = dir_mkdir,
	.unlink = dir_unlink,
	.rmdir = dir_rmdir,
	.rename = dir_rename,
	.link = dir_link,
	.read = dir_read,
	.write = dir_write,
	.truncate = dir_truncate,
	.setxattr = dir_setxattr,
	.getxattr = dir_getxattr,
	.sync = dir_sync,
	.list = dir_list,
};
