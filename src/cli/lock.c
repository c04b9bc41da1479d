/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/mounts.h"

#define LOCK_AT ((off_t)1 << 62)
#define MARK_AT (LOCK_AT + 1)
#define HEADER_AT (LOCK_AT + 2)
#define WAIT_STEP_MS 20
#define WAIT_STEPS 500
#define ENDING_STEPS 150

static struct flock range(off_t at, bool shared)
{
	return (struct flock){ .l_type = shared ? F_RDLCK : F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };
}

static int take(int fd, off_t at, bool shared)
{
	struct flock lock = range(at, shared);

	if (!fcntl(fd, F_OFD_SETLK, &lock))
		return 0;
	return errno == EAGAIN || errno == EACCES ? FC_EINUSE : FC_ENOTSUP;
}

static void drop(int fd, off_t at)
{
	struct flock lock = range(at, true);

	lock.l_type = F_UNLCK;
	fcntl(fd, F_OFD_SETLK, &lock);
}

int fc_lock_take(int fd, bool shared)
{
	return take(fd, LOCK_AT, shared);
}

static bool is_mounted(const char *container)
{
	struct fc_mounts mounts;
	bool found = true;

	if (!fc_mounts_read("/proc/self/mountinfo", &mounts))
		found = fc_mounts_of(&mounts, container);
	fc_mounts_free(&mounts);
	return found;
}

int fc_lock_take_soon(int fd, bool shared, const char *container)
{
	const struct timespec step = { 0, WAIT_STEP_MS * 1000000 };
	int rc = take(fd, LOCK_AT, shared);

	for (int i = 0; rc == FC_EINUSE && i < ENDING_STEPS && !is_mounted(container); i++) {
		nanosleep(&step, NULL);
		rc = take(fd, LOCK_AT, shared);
	}
	return rc;
}

void fc_lock_drop(int fd)
{
	drop(fd, LOCK_AT);
}

int fc_lock_header(int fd, bool shared)
{
	const struct timespec step = { 0, WAIT_STEP_MS * 1000000 };
	int rc = take(fd, HEADER_AT, shared);

	for (int i = 0; rc == FC_EINUSE && i < WAIT_STEPS; i++) {
		nanosleep(&step, NULL);
		rc = take(fd, HEADER_AT, shared);
	}
	return rc;
}

void fc_unlock_header(int fd)
{
	drop(fd, HEADER_AT);
}

void fc_lock_mark(int fd, bool shared)
{
	struct flock lock = range(MARK_AT, shared);

	/* A hint only: a second reader shares it, whose pid is then shown does not matter. */
	fcntl(fd, F_SETLK, &lock);
}

bool fc_lock_held(int fd)
{
	struct flock lock = range(LOCK_AT, false);

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

static bool has_open(const char *pid, const struct stat *file)
{
	char path[64];
	struct dirent *e;
	struct stat st;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	d = opendir(path);
	if (!d)
		return false;
	while (!found && (e = readdir(d)))
		found = e->d_name[0] != '.' && !fstatat(dirfd(d), e->d_name, &st, 0) && st.st_dev == file->st_dev &&
			st.st_ino == file->st_ino;
	closedir(d);
	return found;
}

/* Between lock and mark, and for a program that does not mark. */
static pid_t search_holder(const struct stat *file)
{
	struct dirent *e;
	pid_t pid = 0;
	DIR *d = opendir("/proc");

	if (!d)
		return 0;
	while (!pid && (e = readdir(d))) {
		pid_t one = (pid_t)strtol(e->d_name, NULL, 10);

		if (one > 0 && one != getpid() && one != getppid() && has_open(e->d_name, file))
			pid = one;
	}
	closedir(d);
	return pid;
}

pid_t fc_lock_holder(int fd)
{
	struct flock lock = range(MARK_AT, false);
	struct stat st;

	if (!fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK && lock.l_pid > 0)
		return lock.l_pid;
	return fstat(fd, &st) ? 0 : search_holder(&st);
}
