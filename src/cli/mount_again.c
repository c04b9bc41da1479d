/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/lock.h"
#include "cli/mount.h"
#include "cli/mounts.h"

/* The mount that can be shown again; NULL: none. */
static const struct fc_mount *find(const struct fc_mounts *mounts, const char *container, const char *point)
{
	const struct fc_mount *m = fc_mounts_of(mounts, container), *there = fc_mounts_at(mounts, point);
	struct fc_ioc_status status;

	if (!m || !m->whole || m->owner != getuid() || (there && there->dev == m->dev))
		return NULL;
	return fc_mount_ask(m, FC_IOC_STATUS, &status) || status.read_only ? NULL : m;
}

/* Its root directory, also where something else is mounted over a part of the way; -1. */
static int open_root(const struct fc_mount *m)
{
	int fd = open(m->point, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statx st;

	if (fd < 0)
		return -1;
	if (!statx(fd, "", AT_EMPTY_PATH, STATX_INO, &st) && st.stx_ino == FC_INO_ROOT &&
	    makedev(st.stx_dev_major, st.stx_dev_minor) == m->dev)
		return fd;
	close(fd);
	return -1;
}

static int bind_mount(const struct fc_mount_job *job, const struct fc_mount *m, unsigned long flags)
{
	char root[64];
	int fd = open_root(m), status = FC_EXIT_DONE;

	if (fd < 0) {
		fc_cli_say("%s is mounted at %s, which is covered by another mount: it cannot be mounted again",
			   job->container, m->point);
		return FC_EXIT_IN_USE;
	}
	snprintf(root, sizeof(root), "/proc/self/fd/%d", fd);
	if (mount(root, job->mountpoint, NULL, MS_BIND, NULL)) {
		fc_cli_say("%s cannot be mounted at %s too: %s", job->container, job->mountpoint, strerror(errno));
		status = FC_EXIT_MOUNTPOINT;
	} else if (mount(NULL, job->mountpoint, NULL, MS_REMOUNT | MS_BIND | flags, NULL)) {
		fc_cli_say("%s cannot be mounted at %s with these options: %s", job->container, job->mountpoint,
			   strerror(errno));
		umount2(job->mountpoint, UMOUNT_NOFOLLOW);
		status = FC_EXIT_MOUNTPOINT;
	}
	close(fd);
	return status;
}

static int show(struct fc_mount_job *job, const struct fc_mount *m, unsigned long flags)
{
	const struct fc_mount_options *o = &job->options;
	int status;

	if (o->read_only || o->allow_other != m->allow_other) {
		fc_cli_say("%s is mounted at %s %s: it can be mounted again only in the same way", job->container,
			   m->point,
			   o->read_only     ? "for writing"
			   : o->allow_other ? "without allow_other"
					    : "with allow_other");
		return FC_EXIT_IN_USE;
	}
	status = bind_mount(job, m, flags);
	if (!status && (o->own_uid || o->own_gid || o->commit_seconds || o->cache_bytes || o->idle_seconds))
		fc_cli_say("warning: %s is mounted at %s already, and uid=, gid=, commit=, cache= and idle= are as "
			   "they were given there",
			   job->container, m->point);
	return status;
}

/* What is being unmounted is gone, or stays, before it is looked for. */
static void wait_leaving(const char *container)
{
	int fd = open(container, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return;
	(void)fc_lock_wait_leaving(fd, false, container);
	close(fd);
}

bool fc_mount_again(const char *container, const char *mountpoint, const char *options, unsigned long flags,
		    int *status)
{
	struct fc_mount_job *job = geteuid() ? NULL : fc_mount_new();
	struct fc_mounts mounts = { 0 };
	const struct fc_mount *m = NULL;
	char why[512], *real = realpath(container, NULL), *point = fc_path_resolve(mountpoint);

	if (job && real && point && !fc_mount_options_parse(&job->options, options, why, sizeof(why))) {
		wait_leaving(real);
		if (!fc_mounts_read("/proc/self/mountinfo", &mounts))
			m = find(&mounts, real, point);
	}
	if (m) {
		job->container_arg = container;
		job->mountpoint_arg = mountpoint;
		*status = fc_mount_check_place(job);
		if (job->fd >= 0)
			close(job->fd);
		if (!*status)
			*status = show(job, m, flags);
	}
	fc_mounts_free(&mounts);
	free(real);
	free(point);
	if (job)
		fc_mount_free(job);
	return m != NULL;
}
