/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking mounts and taking them away: what needs processes and privileges. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/mounts.h"

/* Makes the page cache give its pages to the daemon. syncfs also returns an error
 * of long ago that nobody asked for yet, so the daemon's count tells. */
static int push_pages(int fd)
{
	struct fc_ioc_status before, after;
	int err;

	if (ioctl(fd, FC_IOC_STATUS, &before))
		return errno;
	err = syncfs(fd) ? errno : 0;
	if (err && !ioctl(fd, FC_IOC_STATUS, &after) && after.write_errors == before.write_errors)
		err = 0;
	return err;
}

static int ask(const char *point, unsigned long request, void *arg)
{
	int fd = open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (request == FC_IOC_SYNC)
		err = push_pages(fd);
	if (ioctl(fd, request, arg) && !err)
		err = errno;
	close(fd);
	return err;
}

static int wait_child(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A mount without allow_other answers its owner only, root not excepted. */
static int ask_as_owner(const struct fc_mount *m, unsigned long request, void *arg, size_t bytes)
{
	uint8_t answer[sizeof(struct fc_ioc_status)] = { 0 };
	int p[2], err;
	ssize_t n;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC))
		return errno;
	pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) || setresgid(m->group, m->group, m->group) ||
		    setresuid(m->owner, m->owner, m->owner))
			_exit(EPERM);
		err = ask(m->point, request, arg);
		if (bytes)
			memcpy(answer, arg, bytes);
		/* fits into a pipe: does not block */
		if (!err && write(p[1], answer, sizeof(answer)) != (ssize_t)sizeof(answer))
			err = EIO;
		_exit(err);
	}
	close(p[1]);
	n = pid < 0 ? 0 : read(p[0], answer, sizeof(answer));
	close(p[0]);
	err = pid < 0 ? EAGAIN : wait_child(pid);
	if (!err && n != (ssize_t)sizeof(answer))
		err = EIO;
	if (!err && bytes)
		memcpy(arg, answer, bytes);
	return err < 0 ? EIO : err;
}

int fc_mount_command(const struct fc_mount *m, unsigned long request, void *arg, size_t bytes)
{
	int err = ask(m->point, request, arg);

	if (err == EACCES && !geteuid() && m->owner)
		err = ask_as_owner(m, request, arg, bytes);
	return err;
}

int fc_mount_ask(const struct fc_mount *m, unsigned long request, struct fc_ioc_status *status)
{
	int err = fc_mount_command(m, request, status, status ? sizeof(*status) : 0);

	if (!err && status)
		status->container[sizeof(status->container) - 1] = '\0';
	return err;
}

bool fc_mount_is_dead(const struct fc_mount *m)
{
	struct fc_ioc_status status;
	int err = fc_mount_is_ours(m) ? fc_mount_ask(m, FC_IOC_STATUS, &status) : 0;

	return err == ENOTCONN || err == ECONNABORTED;
}

/* ---- fusermount3 --------------------------------------------------------------- */

static void exec_fusermount(const char *point, bool lazy, int out)
{
	const char *argv[] = { "fusermount3", lazy ? "-uz" : "-u", "--", point, NULL };
	union {
		const char *const *in;
		char *const *out;
	} args = { argv };

	dup2(out, STDERR_FILENO);
	/* its text is looked into */
	setenv("LC_ALL", "C", 1);
	execvp(argv[0], args.out);
	_exit(127);
}

int fc_fusermount(const char *point, bool lazy, char *text, size_t n)
{
	size_t have = 0;
	ssize_t got;
	int p[2], status;
	pid_t pid;

	*text = '\0';
	if (pipe2(p, O_CLOEXEC))
		return errno;
	pid = fork();
	if (pid == 0)
		exec_fusermount(point, lazy, p[1]);
	close(p[1]);
	while (pid > 0 && have + 1 < n && (got = read(p[0], text + have, n - 1 - have)) > 0)
		have += (size_t)got;
	text[have] = '\0';
	text[strcspn(text, "\n")] = '\0';
	close(p[0]);
	status = pid < 0 ? -1 : wait_child(pid);
	if (status == 0)
		return 0;
	if (status == 127) {
		snprintf(text, n, "fusermount3 is not installed");
		return ENOENT;
	}
	return strstr(text, "busy") ? EBUSY : EPERM;
}

int fc_unmount(const char *point, char *text, size_t n)
{
	*text = '\0';
	if (geteuid() == 0) {
		if (!umount2(point, UMOUNT_NOFOLLOW))
			return 0;
		snprintf(text, n, "%s", strerror(errno));
		if (errno != EPERM)
			return errno;
	}
	return fc_fusermount(point, false, text, n);
}

int fc_unmount_dead(const char *point, char *text, size_t n)
{
	*text = '\0';
	/* Lazily: nobody can do anything with it any more, and nothing is to be written. */
	if (geteuid() == 0 && !umount2(point, UMOUNT_NOFOLLOW | MNT_DETACH))
		return 0;
	return fc_fusermount(point, true, text, n);
}
