/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/convert.h"
#include "cli/lock.h"
#include "cli/locked.h"
#include "cli/mount.h"
#include "cli/mounts.h"

#define DEAD_MAX 8 /* dead mounts on top of each other */

/* ---- the machine --------------------------------------------------------- */

static bool user_may_allow_other(void)
{
	FILE *f = fopen("/etc/fuse.conf", "re");
	char line[256];
	bool may = false;

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, " \t\r\n")] = '\0';
		may |= !strcmp(line, "user_allow_other");
	}
	fclose(f);
	return may;
}

static int check_machine(const struct fc_mount_job *job)
{
	if (access("/dev/fuse", F_OK)) {
		fc_cli_say("this machine has no /dev/fuse: load the kernel's module with `modprobe fuse`, or let the "
			   "container "
			   "that this runs in have the device");
		return FC_EXIT_MOUNTPOINT;
	}
	if (access("/dev/fuse", R_OK | W_OK)) {
		fc_cli_say("/dev/fuse may not be opened by you: it is root's alone here, and usually open to all (mode "
			   "0666)");
		return FC_EXIT_MOUNTPOINT;
	}
	if (job->options.allow_other && geteuid() && !user_may_allow_other()) {
		fc_cli_say("allow_other lets other users in, which an ordinary user may only do where /etc/fuse.conf "
			   "has the line "
			   "user_allow_other: add it as root, or leave allow_other out");
		return FC_EXIT_FAILED;
	}
	return 0;
}

/* ---- the mount point ------------------------------------------------------- */

static int check_empty(const char *point)
{
	DIR *d = opendir(point);
	struct dirent *e;
	bool empty = true;

	if (!d) {
		fc_cli_say("mount point %s cannot be read: %s", point, strerror(errno));
		return FC_EXIT_MOUNTPOINT;
	}
	while (empty && (e = readdir(d)))
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || fc_locked_is_marker(dirfd(d), e->d_name);
	closedir(d);
	if (empty)
		return 0;
	fc_cli_say("mount point %s is not empty: what is in it would be hidden; use an empty directory", point);
	return FC_EXIT_MOUNTPOINT;
}

static int check_directory(const char *point)
{
	struct stat st;

	if (stat(point, &st)) {
		fc_cli_say("mount point %s cannot be used: %s", point, strerror(errno));
		return FC_EXIT_MOUNTPOINT;
	}
	if (!S_ISDIR(st.st_mode)) {
		fc_cli_say("mount point %s is not a directory", point);
		return FC_EXIT_MOUNTPOINT;
	}
	if (geteuid() && fc_locked_is_fixed(point)) {
		fc_cli_say("mount point %s was locked by root, who alone can unlock it", point);
		return FC_EXIT_MOUNTPOINT;
	}
	/* a locked one of ours is made writable when it is mounted */
	if (geteuid() && access(point, W_OK) && !(st.st_uid == geteuid() && fc_locked_is_marked(point))) {
		fc_cli_say("mount point %s is not yours to write to: fusermount3 will not mount there", point);
		return FC_EXIT_MOUNTPOINT;
	}
	return 0;
}

/* `C is in use by pid N, mounted at P`, as far as it can be found out. */
static int say_in_use(const struct fc_mount_job *job, const struct fc_mount *m)
{
	pid_t pid = fc_lock_holder(job->fd);
	char who[64] = "";

	if (pid)
		snprintf(who, sizeof(who), " by pid %d", (int)pid);
	if (m)
		fc_cli_say("%s is in use%s, mounted at %s: unmount it there first", job->container, who, m->point);
	else
		fc_cli_say("%s is in use%s: it is being opened, or mounted where this process cannot see it",
			   job->container, pid ? who : " by a process that cannot be seen");
	return FC_EXIT_IN_USE;
}

static int say_leaving(const struct fc_mount_job *job)
{
	fc_cli_say("%s is still being unmounted after %d seconds: try again later", job->container,
		   FC_LOCK_ENDING_SECONDS);
	return FC_EXIT_IN_USE;
}

/* Takes away what a crashed daemon left there. */
static int clean_dead(const struct fc_mount_job *job)
{
	char text[256];
	int err = fc_unmount_dead(job->mountpoint, text, sizeof(text));

	if (!err)
		return 0;
	fc_cli_say("what a crashed daemon left at %s cannot be taken away: %s", job->mountpoint,
		   *text ? text : strerror(err));
	return FC_EXIT_MOUNTPOINT;
}

/* Is something mounted there already? Dead mounts of ours are taken away. */
static int check_mounts(struct fc_mount_job *job)
{
	int status = 0;
	bool again = true;

	for (int i = 0; i < DEAD_MAX && again && !status; i++) {
		struct fc_mounts mounts;
		const struct fc_mount *m = NULL;

		again = false;
		if (!fc_mounts_read("/proc/self/mountinfo", &mounts))
			m = fc_mounts_at(&mounts, job->mountpoint);
		if (m && fc_mount_is_dead(m)) {
			again = true;
			status = clean_dead(job);
		} else if (m && fc_mount_is_ours(m) && !strcmp(m->source, job->container)) {
			status = say_in_use(job, m);
		} else if (m) {
			fc_cli_say(
				"%s is already a mount point (%s on %s): use another directory, or unmount that first",
				job->mountpoint, m->source, m->type);
			status = FC_EXIT_MOUNTPOINT;
		}
		fc_mounts_free(&mounts);
	}
	return status;
}

int fc_mount_check_point(struct fc_mount_job *job)
{
	int status = check_mounts(job);

	if (!status)
		status = check_directory(job->mountpoint);
	return status ? status : check_empty(job->mountpoint);
}

static int check_mountpoint(struct fc_mount_job *job)
{
	job->mountpoint = fc_path_resolve(job->mountpoint_arg);
	if (!job->mountpoint) {
		if (errno == ENOENT)
			fc_cli_say("mount point %s does not exist: make it with `mkdir`", job->mountpoint_arg);
		else
			fc_cli_say("mount point %s cannot be used: %s", job->mountpoint_arg, strerror(errno));
		return FC_EXIT_MOUNTPOINT;
	}
	/* what is written to a half-moved one would meet what is still to come */
	if (fc_convert_under_way(job->mountpoint)) {
		fc_cli_say("%s is being protected or unprotected, or that was interrupted: `fusecrypt protect` or "
			   "`fusecrypt unprotect` goes on with it, with --abort it is brought back",
			   job->mountpoint);
		return FC_EXIT_MOUNTPOINT;
	}
	if (fc_path_is_below(job->container, job->mountpoint)) {
		fc_cli_say("%s lies inside mount point %s, which would hide it: move it out", job->container,
			   job->mountpoint);
		return FC_EXIT_MOUNTPOINT;
	}
	return fc_mount_check_point(job);
}

/* ---- the container ---------------------------------------------------------- */

static int open_container(struct fc_mount_job *job)
{
	const char *path = job->container_arg;
	bool reads = job->read_only && !job->remountable;
	struct stat st;

	job->container = realpath(path, NULL);
	if (!job->container || stat(job->container, &st)) {
		fc_cli_say("%s cannot be opened: %s", path, strerror(errno));
		return FC_EXIT_FAILED;
	}
	if (!S_ISREG(st.st_mode)) {
		fc_cli_say("%s is not a container: it is %s", path,
			   S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
		return FC_EXIT_NOT_CONTAINER;
	}
	job->fd = open(job->container, (reads ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOCTTY);
	if (job->fd < 0 && job->remountable) {
		job->remountable = false;
		job->fd = open(job->container, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	}
	if (job->fd < 0 && errno == EROFS && !job->read_only) {
		fc_cli_say("%s lies on a file system that is read-only: mounting it read-only", job->container);
		job->read_only = true;
		job->fd = open(job->container, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	}
	if (job->fd < 0) {
		int err = errno;

		if ((err == EACCES || err == EPERM) && !job->read_only && !access(job->container, R_OK))
			fc_cli_say("%s may be read but not written by you: mount it with --read-only", job->container);
		else
			fc_cli_say("%s cannot be opened: %s", job->container, strerror(err));
		return FC_EXIT_FAILED;
	}
	return 0;
}

static int lock_container(struct fc_mount_job *job)
{
	struct fc_mounts mounts;
	int status = 0, rc = fc_lock_take_soon(job->fd, job->read_only, job->container);

	if (rc == FC_EINUSE) {
		if (fc_mounts_read("/proc/self/mountinfo", &mounts))
			mounts.count = 0;
		status = say_in_use(job, fc_mounts_of(&mounts, job->container));
		fc_mounts_free(&mounts);
	} else if (rc) {
		fc_cli_say("%s cannot be locked: the file system it lies on has no locks", job->container);
		status = FC_EXIT_FAILED;
	} else {
		fc_lock_mark(job->fd, job->read_only);
	}
	return status;
}

static int load_header(struct fc_mount_job *job)
{
	const struct fc_headers *h = &job->headers;
	int rc = fc_io_file(job->fd, job->read_only, &job->io), locked = FC_ENOTSUP;

	/* not while a key command writes it */
	if (!rc)
		locked = fc_lock_header(job->fd, true);
	if (!rc)
		rc = fc_headers_load(job->io, &job->headers);
	if (!locked)
		fc_unlock_header(job->fd);
	if (rc)
		return fc_cli_bad_header(job->container, rc);
	if (job->uuid && memcmp(job->uuid, h->copy[h->newest].uuid, FC_UUID_BYTES)) {
		fc_cli_say("%s is not the container that belongs to %s, but another one that lies at its place",
			   job->container, job->mountpoint);
		return FC_EXIT_FAILED;
	}
	if (h->status[0] || h->status[1])
		fc_cli_say("warning: copy %c of the header of %s is damaged, the other one serves: make a backup of "
			   "the container",
			   h->status[0] ? 'A' : 'B', job->container);
	else if (h->copy[0].sequence != h->copy[1].sequence)
		fc_cli_say("warning: a change of the keys of %s was interrupted: keys from before may open it until "
			   "that is done again",
			   job->container);
	if (h->copy[h->newest].ro_compat & ~FC_RO_COMPAT_KNOWN && !job->read_only) {
		fc_cli_say("%s uses a feature that fusecrypt " FC_VERSION " can only read: mounting it read-only",
			   job->container);
		job->read_only = job->io->read_only = true;
	}
	if (h->copy[h->newest].ro_compat & ~FC_RO_COMPAT_KNOWN)
		job->remountable = false;
	return 0;
}

int fc_mount_check_container(struct fc_mount_job *job)
{
	int status;

	job->fd = -1;
	job->read_only = job->options.read_only;
	status = open_container(job);
	if (!status)
		status = lock_container(job);
	return status ? status : load_header(job);
}

int fc_mount_check_place(struct fc_mount_job *job)
{
	int status;

	job->fd = -1;
	job->read_only = job->options.read_only;
	status = open_container(job);
	if (!status && fc_lock_wait_leaving(job->fd, job->read_only, job->container))
		status = say_leaving(job);
	return status ? status : check_mountpoint(job);
}

int fc_mount_check(struct fc_mount_job *job)
{
	int status = check_machine(job);

	if (!status)
		status = fc_mount_check_place(job);
	if (!status)
		status = lock_container(job);
	return status ? status : load_header(job);
}
