/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/holders.h"
#include "cli/lock.h"
#include "cli/mounts.h"
#include "cli/namespaces.h"
#include "cli/umount.h"
#include "cli/utab.h"

#define HOLDERS_SHOWN 8
#define BUSY_TRIES 20 /* of 100 ms: someone unseen looks in for a moment */
#define LOOK_AGAIN_MS 5000

struct umount_job {
	const char *arg;
	char *point;
	struct fc_mounts mounts;
	const struct fc_mount *m;
	struct fc_ioc_status status;
	bool known;     /* status was answered */
	bool stopped;   /* by request, nothing is left to commit */
	int sync_error; /* errno of the commit before */
	int pidfd;
	int container; /* its lock tells that this is under way; -1 none */
};

static void nap(void)
{
	const struct timespec t = { 0, 100 * 1000 * 1000 };

	nanosleep(&t, NULL);
}

/* ---- why it is busy ------------------------------------------------------------ */

static int say_holders(const struct umount_job *job, const struct fc_holder *holders, size_t n)
{
	char text[1024];

	fc_holders_text(holders, n, text, sizeof(text));
	fc_cli_say("%s is in use by %s%s: close that and try again", job->arg, text,
		   n == HOLDERS_SHOWN ? " and perhaps more" : "");
	return FC_EXIT_IN_USE;
}

static const struct fc_mount *mounted_inside(const struct umount_job *job)
{
	for (size_t i = 0; i < job->mounts.count; i++)
		if (job->mounts.list[i].parent == job->m->id)
			return &job->mounts.list[i];
	return NULL;
}

/* 0: whoever it was is gone. */
static int say_busy(const struct umount_job *job, bool last)
{
	struct fc_holder holders[HOLDERS_SHOWN];
	const struct fc_mount *inside = mounted_inside(job);
	size_t n;

	if (inside) {
		fc_cli_say("%s is in use: %s is mounted inside it; unmount that first", job->arg, inside->point);
		return FC_EXIT_IN_USE;
	}
	n = fc_holders_find(job->m->dev, holders, HOLDERS_SHOWN);
	if (n)
		return say_holders(job, holders, n);
	if (!last)
		return 0;
	fc_cli_say("%s is in use, by what cannot be seen from here: another user's process, a loop device, a swap file "
		   "or an export; "
		   "look as root",
		   job->arg);
	return FC_EXIT_IN_USE;
}

/* Shown at another place of this namespace: which of both is meant to stay? */
static int say_bound(const struct umount_job *job)
{
	const struct fc_mount *other = fc_namespaces_here(&job->mounts, job->m);

	if (!other)
		return 0;
	fc_cli_say("%s is also mounted at %s, which keeps it open: take that away first, with umount(8)", job->arg,
		   other->point);
	return FC_EXIT_IN_USE;
}

/* Copies of the mount in other namespaces go too. */
static int leave_namespaces(const struct umount_job *job, bool gone)
{
	char *point = NULL;
	pid_t pid;

	/* a namespace in the making has all mounts for a moment */
	for (int i = 0; i < BUSY_TRIES; i++) {
		free(point);
		if (!fc_namespaces_leave(&job->mounts, job->m, gone, &pid, &point))
			return 0;
		nap();
	}
	fc_cli_say("%s%s is also mounted at %s in the mount namespace of pid %d, which keeps it open: end that first",
		   gone ? "unmounted here, but " : "", job->arg, point, (int)pid);
	free(point);
	return FC_EXIT_IN_USE;
}

/* Who mounts the container meanwhile waits. */
static void tell_leaving(struct umount_job *job)
{
	job->container = open(job->m->source, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (job->container >= 0)
		fc_lock_leaving(job->container);
}

/* ---- the steps ------------------------------------------------------------------- */

static int find_mount(struct umount_job *job)
{
	job->point = fc_path_resolve(job->arg);
	if (!job->point) {
		fc_cli_say("%s cannot be looked at: %s", job->arg, strerror(errno));
		return FC_EXIT_MOUNTPOINT;
	}
	if (fc_mounts_read("/proc/self/mountinfo", &job->mounts)) {
		fc_cli_say("the mounts of this machine cannot be read: is /proc mounted?");
		return FC_EXIT_FAILED;
	}
	job->m = fc_mounts_at(&job->mounts, job->point);
	if (!job->m) {
		fc_cli_say("nothing is mounted at %s", job->arg);
		return FC_EXIT_MOUNTPOINT;
	}
	if (!fc_mount_is_ours(job->m)) {
		fc_cli_say("what is mounted at %s is not of fusecrypt but %s: use umount", job->arg, job->m->type);
		return FC_EXIT_MOUNTPOINT;
	}
	return 0;
}

static int remove_dead(const struct umount_job *job)
{
	char text[256];
	int err = fc_unmount_dead(job->point, text, sizeof(text));

	fc_utab_remove(job->point);
	if (err) {
		fc_cli_say("what a crashed daemon left at %s cannot be taken away: %s", job->arg,
			   *text ? text : strerror(err));
		return FC_EXIT_FAILED;
	}
	fc_cli_say("the daemon of %s had ended without unmounting: its mount was taken away, what was not yet "
		   "committed is in the "
		   "container's log",
		   job->arg);
	return FC_EXIT_DONE;
}

/* Commits while there is still time to say no. */
static int commit(struct umount_job *job)
{
	job->pidfd = -1;
	job->known = !fc_mount_ask(job->m, FC_IOC_STATUS, &job->status);
	if (!job->known)
		return 0;
	job->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)job->status.pid, 0);
	/* all that was there when it was asked to stop is committed, and what came later has failed */
	job->stopped = job->status.failed == FC_IOC_STOPPED;
	if (job->stopped || (job->status.read_only && !job->status.failed))
		return 0;
	job->sync_error = fc_mount_ask(job->m, FC_IOC_SYNC, NULL);
	if (job->sync_error != ENOSPC)
		return 0;
	fc_cli_say("%s stays mounted: there was no room in %s for all of its last changes; make room, have the "
		   "programs that "
		   "met an error write again, and try again",
		   job->arg, job->m->source);
	return FC_EXIT_NO_SPACE;
}

static int unmount(const struct umount_job *job)
{
	char text[256];
	int err = 0, status;

	for (int i = 0; i < BUSY_TRIES; i++) {
		err = fc_unmount(job->point, text, sizeof(text));
		if (err != EBUSY)
			break;
		status = say_busy(job, i == BUSY_TRIES - 1);
		if (status)
			return status;
		nap();
	}
	if (!err) {
		fc_utab_remove(job->point);
		return 0;
	}
	fc_cli_say("%s cannot be unmounted: %s", job->arg, *text ? text : strerror(err));
	return FC_EXIT_FAILED;
}

/* umount(2) is done before the daemon is. */
static int wait_daemon(const struct umount_job *job)
{
	struct pollfd p = { job->pidfd, POLLIN, 0 };
	bool said = false;
	int n, status;

	while (job->pidfd >= 0) {
		n = poll(&p, 1, LOOK_AGAIN_MS);
		if (n > 0 || (n < 0 && errno != EINTR))
			break;
		status = leave_namespaces(job, true);
		if (status)
			return status;
		if (!said)
			fc_cli_say("waiting for pid %d to write what is left", (int)job->status.pid);
		said = true;
	}
	return 0;
}

/* Where the daemon's pid could not be learnt, its lock tells. */
static void wait_lock(const struct umount_job *job)
{
	while (job->pidfd < 0 && job->container >= 0 && fc_lock_held(job->container))
		nap();
}

static int umount_one(struct umount_job *job, bool one_place)
{
	int status = find_mount(job);

	if (status)
		return status;
	one_place = one_place && fc_namespaces_here(&job->mounts, job->m);
	if (!one_place)
		tell_leaving(job);
	if (fc_mount_is_dead(job->m))
		return remove_dead(job);
	if (one_place)
		return unmount(job);
	status = say_bound(job);
	if (!status)
		status = say_busy(job, false);
	if (!status)
		status = commit(job);
	if (!status)
		status = leave_namespaces(job, false);
	if (!status)
		status = unmount(job);
	if (!status)
		status = wait_daemon(job);
	if (status)
		return status;
	wait_lock(job);
	if (job->sync_error || (job->known && job->status.failed && !job->stopped)) {
		fc_cli_say("%s is unmounted, but its last changes were not committed (%s): what was written since the "
			   "last sync may be lost; see the system's log",
			   job->arg, strerror(job->sync_error ? job->sync_error : EIO));
		return FC_EXIT_FAILED;
	}
	return FC_EXIT_DONE;
}

int fc_umount(const char *point, bool one_place)
{
	struct umount_job job = { .arg = point, .pidfd = -1, .container = -1 };
	int status = umount_one(&job, one_place);

	if (job.pidfd >= 0)
		close(job.pidfd);
	if (job.container >= 0)
		close(job.container);
	fc_mounts_free(&job.mounts);
	free(job.point);
	return status;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = { { NULL, 0, NULL, 0 } };

	if (getopt_long(argc, argv, "", options, NULL) != -1)
		return fc_cli_bad_option(argv);
	if (fc_cli_operands(argc, argv, 1, "one mount point"))
		return FC_EXIT_USAGE;
	return fc_umount(argv[optind], false);
}

const struct fc_command fc_command_umount = {
	.name = "umount",
	.arguments = "MOUNTPOINT",
	.summary = "commits, unmounts and waits for the daemon's end",
	.help = "",
	.run = run,
};
