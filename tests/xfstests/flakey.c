/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For xfstests: what dm-flakey is to a block device, for a container that is a file.
 * Preloaded into the daemon, it stands between that and the host's kernel. While the
 * first byte of the file FLAKEY_SWITCH is 'd', changes of the file FLAKEY_CONTAINER
 * are dropped and reported as made, and so are syncs. Reads always go to the file.
 * What was written before is there afterwards, also where it was not synced, as with
 * dm-flakey.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const volatile char *switch_at;
static struct stat container;

static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static int (*real_fdatasync)(int), (*real_fsync)(int), (*real_ftruncate)(int, off64_t);
static int (*real_fallocate)(int, int, off64_t, off64_t);

static int (*real_io_submit)(void *, long, struct iocb **); /* of libaio, if it is used */

static void *next(const char *name)
{
	void *at = dlsym(RTLD_NEXT, name);

	if (!at) {
		fprintf(stderr, "flakey: the C library has no %s\n", name);
		_exit(127);
	}
	return at;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("FLAKEY_SWITCH"), *file = getenv("FLAKEY_CONTAINER");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);

	*(void **)&real_pwrite = next("pwrite64");
	*(void **)&real_fdatasync = next("fdatasync");
	*(void **)&real_fsync = next("fsync");
	*(void **)&real_ftruncate = next("ftruncate64");
	*(void **)&real_fallocate = next("fallocate64");
	*(void **)&real_io_submit = dlsym(RTLD_NEXT, "io_submit");
	if (map == MAP_FAILED || !file || stat(file, &container)) {
		perror("flakey: its switch or its container");
		_exit(127);
	}
	close(fd);
	switch_at = map;
}

static bool drops(int fd)
{
	struct stat st;

	return *switch_at == 'd' && fstat(fd, &st) == 0 && st.st_dev == container.st_dev &&
	       st.st_ino == container.st_ino;
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t off)
{
	return drops(fd) ? (ssize_t)n : real_pwrite(fd, buf, n, off);
}

int fdatasync(int fd)
{
	return drops(fd) ? 0 : real_fdatasync(fd);
}

int fsync(int fd)
{
	return drops(fd) ? 0 : real_fsync(fd);
}

int ftruncate64(int fd, off64_t n)
{
	return drops(fd) ? 0 : real_ftruncate(fd, n);
}

int fallocate64(int fd, int mode, off64_t off, off64_t n)
{
	return drops(fd) ? 0 : real_fallocate(fd, mode, off, n);
}

/* Not taken: the daemon then uses pread and pwrite. */
int io_submit(void *context, long n, struct iocb **request)
{
	return n > 0 && drops((int)request[0]->aio_fildes) ? -EAGAIN : real_io_submit(context, n, request);
}
