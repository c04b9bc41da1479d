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

#include "cli/cli.h"
#include "cli/mounts.h"
#include "cli/namespaces.h"

#define LOCK_AT ((off_t)1 << 62)
#define MARK_AT (LOCK_AT + 1)
#define HEADER_AT (LOCK_AT + 2)
#define SERVING_AT (LOCK_AT + 3)
#define LEAVING_AT (LOCK_AT + 4)
#define WAIT_STEP_MS 20
#define WAIT_STEPS 500
#define BEGIN_STEPS 15    /* until an unmounting command that was started before has told so */
#define BETWEEN_STEPS 150 /* between two states, as at the begin of an opening */
#define SAID_STEPS 50     /* until the wait is told of, and between looks at other namespaces */
#define ENDING_STEPS (FC_LOCK_ENDING_SECONDS * 1000 / WAIT_STEP_MS)

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

/* In a way that one of that kind would conflict with? */
static bool conflicts(int fd, off_t at, bool shared)
{
	struct flock lock = range(at, shared);

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

static bool is_held(int fd, off_t at)
{
	return conflicts(fd, at, false);
}

static void step(void)
{
	const struct timespec t = { 0, WAIT_STEP_MS * 1000000 };

	nanosleep(&t, NULL);
}

static void say_waiting(int fd, const char *container)
{
	pid_t pid = fc_lock_holder(fd);

	if (pid)
		fc_cli_say("waiting for pid %d, which ends a mount of %s", (int)pid, container);
	else
		fc_cli_say("waiting for the end of a mount of %s", container);
}

static bool is_mounted_here(const char *container)
{
	struct fc_mounts mounts;
	bool found = true;

	if (!fc_mounts_read("/proc/self/mountinfo", &mounts))
		found = fc_mounts_of(&mounts, container);
	fc_mounts_free(&mounts);
	return found;
}

/* Steps after which who is refused until then is refused for good. */
static unsigned patience(int fd, const char *container)
{
	if (is_held(fd, LEAVING_AT))
		return ENDING_STEPS;
	if (is_mounted_here(container))
		return 0;
	return is_held(fd, SERVING_AT) ? ENDING_STEPS : BETWEEN_STEPS;
}

int fc_lock_take_soon(int fd, bool shared, const char *container)
{
	unsigned shown = 0;
	int rc = take(fd, LOCK_AT, shared);

	for (unsigned steps = 0; rc == FC_EINUSE; steps++) {
		unsigned most = patience(fd, container);

		/* a namespace in the making has copies of all mounts for a moment */
		if (most == ENDING_STEPS && steps % SAID_STEPS == 0)
			shown = fc_namespaces_show(container) ? shown + 1 : 0;
		if (steps >= most || shown > BETWEEN_STEPS / SAID_STEPS)
			break;
		if (steps == SAID_STEPS && most == ENDING_STEPS && !shown)
			say_waiting(fd, container);
		step();
		rc = take(fd, LOCK_AT, shared);
	}
	return rc;
}

void fc_lock_serving(int fd)
{
	take(fd, SERVING_AT, true);
}

void fc_lock_leaving(int fd)
{
	take(fd, LEAVING_AT, true);
}

static int wait_left(int fd, const char *container)
{
	for (unsigned steps = 0; is_held(fd, LEAVING_AT); steps++) {
		if (steps == ENDING_STEPS)
			return FC_EINUSE;
		if (steps == SAID_STEPS)
			say_waiting(fd, container);
		step();
	}
	return 0;
}

int fc_lock_wait_leaving(int fd, bool shared, const char *container)
{
	for (unsigned i = 0; i < BEGIN_STEPS && conflicts(fd, LOCK_AT, shared) && !is_held(fd, LEAVING_AT); i++)
		step();
	return wait_left(fd, container);
}

void fc_lock_wait_left(const char *container)
{
	int fd = open(container, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return;
	(void)wait_left(fd, container);
	close(fd);
}

void fc_lock_drop(int fd)
{
	drop(fd, LOCK_AT);
}

int fc_lock_header(int fd, bool shared)
{
	int rc = take(fd, HEADER_AT, shared);

	for (int i = 0; rc == FC_EINUSE && i < WAIT_STEPS; i++) {
		step();
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
	return is_held(fd, LOCK_AT);
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
