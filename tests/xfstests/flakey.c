/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For xfstests: what dm-flakey is to a block device, for a container that is a file.
 * Preloaded into the daemon, it stands between that and the host's kernel. What
 * becomes of changes of the file FLAKEY_CONTAINER says the first byte of the file
 * FLAKEY_SWITCH at that moment:
 *
 *   'a'  they are made
 *   'd'  they are dropped, and reported as made; so are syncs
 *   'e'  they fail with EIO
 *
 * Reads always go to the file. What was written before the switch was thrown is
 * there afterwards, also where it was not synced, as with dm-flakey.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
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
	if (map == MAP_FAILED || !file || stat(file, &container)) {
		perror("flakey: its switch or its container");
		_exit(127);
	}
	close(fd);
	switch_at = map;
}

/* How a change of fd shall be answered without making it: 1, or -1 with errno; 0: make it. */
static int answer(int fd)
{
	struct stat st;

	if (*switch_at == 'a' || fstat(fd, &st) || st.st_dev != container.st_dev || st.st_ino != container.st_ino)
		return 0;
	if (*switch_at == 'd')
		return 1;
	errno = EIO;
	return -1;
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t off)
{
	int a = answer(fd);

	return a > 0 ? (ssize_t)n : a < 0 ? -1 : real_pwrite(fd, buf, n, off);
}

int fdatasync(int fd)
{
	int a = answer(fd);

	return a > 0 ? 0 : a < 0 ? -1 : real_fdatasync(fd);
}

int fsync(int fd)
{
	int a = answer(fd);

	return a > 0 ? 0 : a < 0 ? -1 : real_fsync(fd);
}

int ftruncate64(int fd, off64_t n)
{
	int a = answer(fd);

	return a > 0 ? 0 : a < 0 ? -1 : real_ftruncate(fd, n);
}

int fallocate64(int fd, int mode, off64_t off, off64_t n)
{
	int a = answer(fd);

	return a > 0 ? 0 : a < 0 ? -1 : real_fallocate(fd, mode, off, n);
}
