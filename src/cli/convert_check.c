/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli/convert.h"
#include "cli/holders.h"
#include "cli/locked.h"
#include "cli/registry.h"

#define HOLDERS_SHOWN 8

/* linux/magic.h does not have them */
#define CIFS_MAGIC 0xFF534D42
#define SMB2_MAGIC 0xFE534D42
#define CEPH_MAGIC 0x00c36400

static int say(int status, const char *arg, const char *why)
{
	fc_cli_say("%s %s", arg, why);
	return status;
}

/* Names change under us there, and a rename is no barrier. */
static bool is_remote(const struct statfs *fs)
{
	switch ((unsigned long)fs->f_type) {
	case NFS_SUPER_MAGIC:
	case SMB_SUPER_MAGIC:
	case CIFS_MAGIC:
	case SMB2_MAGIC:
	case CEPH_MAGIC:
	case AFS_SUPER_MAGIC:
	case CODA_SUPER_MAGIC:
	case V9FS_MAGIC:
	case FUSE_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

static int check_protected(const struct fc_convert_job *job)
{
	struct fc_registry registry;
	bool known = !fc_registry_read(&registry) && fc_registry_find(&registry, job->dir);

	fc_registry_free(&registry);
	if (known || fc_locked_is_marked(job->dir))
		return say(FC_EXIT_FAILED, job->arg, "is protected already: `fusecrypt unlock` opens it");
	return 0;
}

static int check_file_system(const struct fc_convert_job *job)
{
	struct statvfs vfs;
	struct statfs fs;
	struct stat st, up;

	if (statfs(job->dir, &fs) || statvfs(job->dir, &vfs) || stat(job->dir, &st) || fstat(job->parent_fd, &up)) {
		fc_cli_say("%s cannot be looked at: %s", job->arg, strerror(errno));
		return FC_EXIT_FAILED;
	}
	if (!S_ISDIR(st.st_mode))
		return say(FC_EXIT_FAILED, job->arg, "is not a directory: move it into one, and protect that");
	if (st.st_dev != up.st_dev)
		return say(FC_EXIT_FAILED, job->arg,
			   "is a mount point: its content cannot be moved aside; protect a directory inside it");
	if (is_remote(&fs))
		return say(FC_EXIT_FAILED, job->arg,
			   "lies on a network file system, or one of FUSE: other machines could write to it "
			   "meanwhile; make a container with `fusecrypt init`, mount it and copy into it");
	if (vfs.f_flag & ST_RDONLY)
		return say(FC_EXIT_FAILED, job->arg,
			   "lies on a file system that is read-only: mount it writable first");
	if (faccessat(job->parent_fd, ".", W_OK | X_OK, AT_EACCESS))
		return say(FC_EXIT_FAILED, job->parent,
			   "is not yours to write to, and DIR is moved aside there: do it as root");
	if (geteuid() && st.st_uid != geteuid())
		return say(FC_EXIT_FAILED, job->arg, "has another owner: only the owner or root can protect it");
	return 0;
}

/* Mounts whose point is below it, or it. */
static int check_mounts(const struct fc_convert_job *job, const char *path)
{
	struct fc_mounts mounts;
	int status = 0;

	if (fc_mounts_read("/proc/self/mountinfo", &mounts)) {
		fc_mounts_free(&mounts);
		return say(FC_EXIT_FAILED, job->arg, "cannot be looked at for mounts: is /proc mounted?");
	}
	for (size_t i = 0; !status && i < mounts.count; i++) {
		const char *point = mounts.list[i].point;
		size_t n = strlen(path);

		if (strncmp(point, path, n) || (point[n] && point[n] != '/'))
			continue;
		if (!point[n] && fc_mount_is_ours(&mounts.list[i]))
			status = say(FC_EXIT_FAILED, job->arg,
				     "is a mounted container already: what is in it is protected");
		else if (!point[n])
			status = say(FC_EXIT_FAILED, job->arg, "is a mount point: protect a directory inside it");
		else
			fc_cli_say("%s is in use: %s is mounted inside it; unmount that first", job->arg, point);
		status = status ? status : FC_EXIT_IN_USE;
	}
	fc_mounts_free(&mounts);
	return status;
}

int fc_convert_check_use(struct fc_convert_job *job, const char *path)
{
	struct fc_holder holders[HOLDERS_SHOWN];
	int status = check_mounts(job, path);
	char text[1024];
	size_t n;

	if (status)
		return status;
	n = fc_holders_find_below(path, holders, HOLDERS_SHOWN);
	if (!n)
		return 0;
	fc_holders_text(holders, n, text, sizeof(text));
	fc_cli_say("%s is in use by %s%s: close that and try again", job->arg, text,
		   n == HOLDERS_SHOWN ? " and perhaps more" : "");
	return FC_EXIT_IN_USE;
}

/* ---- the container's place ---------------------------------------------------------- */

static int check_container(struct fc_convert_job *job)
{
	char *copy = strdup(job->container), *parent = copy ? dirname(copy) : NULL;
	struct stat st, own;
	int status = 0;

	if (!parent || stat(parent, &st) || stat(job->dir, &own)) {
		fc_cli_say("%s cannot be made (%s): choose another place with --container", job->container,
			   strerror(errno));
		status = FC_EXIT_FAILED;
	} else if (fc_path_is_below(parent, job->dir)) {
		fc_cli_say("%s would lie inside %s, which is to go into it: choose another place", job->container,
			   job->arg);
		status = FC_EXIT_FAILED;
	} else if (!lstat(job->container, &st)) {
		fc_cli_say("%s exists: a new container never takes the place of anything; give another one with "
			   "--container",
			   job->container);
		status = FC_EXIT_FAILED;
	} else if (stat(parent, &st) || st.st_dev != own.st_dev) {
		if (!job->json)
			fc_cli_say("%s lies on another file system than %s: it needs room for everything there",
				   job->container, job->arg);
	}
	free(copy);
	return status;
}

/* ---- what is in it --------------------------------------------------------------------- */

static int look(struct fc_convert_job *job)
{
	int dir = open(job->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc, status;

	if (dir < 0) {
		fc_cli_say("%s cannot be read (%s): make it readable (chmod u+rwx), or do it as root", job->arg,
			   strerror(errno));
		return FC_EXIT_FAILED;
	}
	rc = fc_convert_look_in(dir, &job->options, &job->totals);
	close(dir);
	if (rc == FC_EINTERRUPTED)
		return FC_EXIT_INTERRUPTED;
	status = rc ? fc_cli_exit(rc) : 0;
	if (rc)
		fc_cli_say("%s cannot be looked through (%s), and nothing was changed: when that is mended, try again",
			   job->arg, fc_error_text(rc));
	else if (job->totals.blocked)
		status = say(FC_EXIT_FAILED, job->arg,
			     "cannot be protected as it is, and nothing was changed: unmount what is mounted inside "
			     "it, then try again");
	else if (job->totals.stays && !job->skip)
		status = say(FC_EXIT_FAILED, job->arg,
			     "has files that cannot be moved, and nothing was changed: make them movable, move them "
			     "out, or have them left with --skip-unreadable");
	job->all_bytes = job->totals.bytes;
	job->all_names = job->totals.names;
	return status;
}

static unsigned long long mib(uint64_t bytes)
{
	return (bytes + (1 << 20) - 1) >> 20;
}

int fc_convert_check_space(struct fc_convert_job *job, const char *where, uint64_t needed)
{
	struct statvfs st;
	uint64_t is;

	if (statvfs(where, &st)) {
		fc_cli_say("%s cannot be looked at: %s", where, strerror(errno));
		return FC_EXIT_FAILED;
	}
	is = st.f_blocks ? (uint64_t)st.f_bavail * st.f_frsize : INT64_MAX;
	if (is >= needed)
		return 0;
	fc_cli_say("%s needs %llu MiB of free space where %s lies, and there are %llu MiB: make some room; nothing was "
		   "changed",
		   job->arg, mib(needed), where, mib(is));
	return FC_EXIT_NO_SPACE;
}

static int check_space(struct fc_convert_job *job)
{
	char *copy = strdup(job->container), *parent = copy ? dirname(copy) : NULL;
	struct stat st, own;
	int status = FC_EXIT_FAILED;

	if (parent && !stat(parent, &st) && !stat(job->dir, &own))
		status = fc_convert_check_space(job, parent,
						job->totals.needed + (st.st_dev != own.st_dev ? job->totals.bytes : 0));
	free(copy);
	return status;
}

int fc_convert_check_protect(struct fc_convert_job *job)
{
	int status = check_mounts(job, job->dir);

	if (!status)
		status = check_protected(job);
	if (!status)
		status = check_file_system(job);
	if (!status)
		status = check_container(job);
	if (!status)
		status = fc_convert_check_use(job, job->dir);
	if (!status)
		status = look(job);
	return status ? status : check_space(job);
}
