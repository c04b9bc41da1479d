/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/convert.h"
#include "cli/lock.h"
#include "cli/locked.h"
#include "cli/places.h"
#include "cli/registry.h"

#define FRESH ".new" /* of a container that is being made */

static int say_errno(const char *what)
{
	fc_cli_say("%s: %s", what, strerror(errno));
	return errno == ENOSPC || errno == EDQUOT ? FC_EXIT_NO_SPACE : FC_EXIT_FAILED;
}

static int sync_directory(int fd)
{
	return fsync(fd) && errno != EINVAL ? -1 : 0;
}

static int sync_parent_of(const char *path)
{
	char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, rc = fd < 0 ? -1 : 0;

	if (fd >= 0) {
		rc = sync_directory(fd);
		close(fd);
	}
	free(copy);
	return rc;
}

/* ---- finding it ---------------------------------------------------------------------- */

/* DIR's absolute path; it may be gone for a moment of a conversion. */
static char *resolve(const char *arg)
{
	char *real = fc_path_resolve(arg), *copy, *parent, *path = NULL;
	size_t n;

	if (real || errno != ENOENT)
		return real;
	copy = strdup(arg);
	for (n = copy ? strlen(copy) : 0; n > 1 && copy[n - 1] == '/'; n--)
		copy[n - 1] = '\0';
	if (copy) {
		char *slash = strrchr(copy, '/'), *name = slash ? slash + 1 : copy;

		name = strdup(name);
		if (slash)
			slash[slash == copy] = '\0';
		parent = realpath(slash ? copy : ".", NULL);
		if (parent && name && *name && asprintf(&path, "%s/%s", strcmp(parent, "/") ? parent : "", name) < 0)
			path = NULL;
		free(parent);
		free(name);
	}
	free(copy);
	return path;
}

static int open_parent(struct fc_convert_job *job)
{
	char *slash;
	int n;

	job->dir = resolve(job->arg);
	if (!job->dir) {
		fc_cli_say("%s cannot be looked at: %s", job->arg, strerror(errno));
		return FC_EXIT_FAILED;
	}
	slash = strrchr(job->dir, '/');
	if (!slash[1]) {
		fc_cli_say("the root directory cannot be protected: protect directories in it");
		return FC_EXIT_FAILED;
	}
	job->name = strdup(slash + 1);
	job->parent = strndup(job->dir, slash == job->dir ? 1 : (size_t)(slash - job->dir));
	job->parent_fd = job->parent ? open(job->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (!job->name || job->parent_fd < 0) {
		fc_cli_say("%s cannot be opened: %s", job->parent ? job->parent : job->arg, strerror(errno));
		return FC_EXIT_FAILED;
	}
	n = snprintf(job->staging_name, sizeof(job->staging_name), ".%s.fusecrypt-moving", job->name);
	if (n >= (int)sizeof(job->staging_name)) {
		fc_cli_say("the name of %s is too long: up to 237 bytes leave room for what is made beside it",
			   job->arg);
		return FC_EXIT_FAILED;
	}
	return 0;
}

bool fc_convert_under_way(const char *dir)
{
	const char *slash = strrchr(dir, '/');
	char path[PATH_MAX + 32];

	if (!slash || !slash[1])
		return false;
	snprintf(path, sizeof(path), "%.*s/.%s.fusecrypt-moving/" FC_CONVERT_JOURNAL, (int)(slash - dir), dir,
		 slash + 1);
	return !access(path, F_OK);
}

/* Only one process is at work with it. What stands in it is believed: which container is to
 * go, for one. So nobody else may have made it. */
static int open_staging(struct fc_convert_job *job)
{
	struct stat st;

	job->staging = openat(job->parent_fd, job->staging_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (job->staging < 0)
		return errno == ENOENT ? 0 : say_errno(job->staging_name);
	if (fstat(job->staging, &st))
		return say_errno(job->staging_name);
	if (st.st_uid != geteuid() || st.st_mode & 077) {
		fc_cli_say("%s/%s is not yours alone: who began to convert %s must go on with that", job->parent,
			   job->staging_name, job->arg);
		return FC_EXIT_FAILED;
	}
	if (!flock(job->staging, LOCK_EX | LOCK_NB))
		return 0;
	fc_cli_say("%s is being converted by another process: when that has ended, the same command goes on", job->arg);
	return FC_EXIT_IN_USE;
}

static int read_journal(struct fc_convert_job *job)
{
	int rc = fc_convert_load(job->staging, &job->journal);

	if (rc == FC_ENOENT && !faccessat(job->staging, FC_CONVERT_DATA, F_OK, AT_SYMLINK_NOFOLLOW))
		rc = FC_ECORRUPT;
	if (rc == FC_ENOENT)
		return 0; /* it had only just been made */
	if (rc) {
		fc_cli_say("%s/%s is there, but its journal cannot be read (%s): look into it; nothing was changed",
			   job->parent, job->staging_name, fc_error_text(rc));
		return FC_EXIT_FAILED;
	}
	job->journaled = true;
	job->container = strdup(job->journal.container);
	return job->container ? 0 : FC_EXIT_FAILED;
}

int fc_convert_find(struct fc_convert_job *job)
{
	int status = open_parent(job);

	if (!status)
		status = open_staging(job);
	return status || job->staging < 0 ? status : read_journal(job);
}

/* ---- beginning --------------------------------------------------------------------------- */

int fc_convert_begin(struct fc_convert_job *job)
{
	struct stat st;
	int rc;

	if (mkdirat(job->parent_fd, job->staging_name, 0700) && errno != EEXIST)
		return say_errno(job->parent);
	if (job->staging < 0)
		rc = open_staging(job);
	else
		rc = 0;
	if (rc || job->staging < 0)
		return rc ? rc : FC_EXIT_FAILED;
	if (fstatat(job->parent_fd, job->name, &st, AT_SYMLINK_NOFOLLOW))
		return say_errno(job->arg);
	job->journal.way = job->protect ? FC_CONVERT_IN : FC_CONVERT_OUT;
	job->journal.phase = job->protect ? FC_CONVERT_BEGUN : FC_CONVERT_PLACED;
	job->journal.dev = st.st_dev;
	job->journal.ino = st.st_ino;
	if (!job->journal.container)
		job->journal.container = strdup(job->container);
	if (!job->journal.container)
		return FC_EXIT_FAILED;
	if (sync_directory(job->parent_fd))
		return say_errno(job->parent);
	return fc_convert_set_phase(job, job->journal.phase);
}

int fc_convert_set_phase(struct fc_convert_job *job, enum fc_convert_phase phase)
{
	int rc;

	job->journal.phase = phase;
	rc = fc_convert_save(job->staging, &job->journal);
	if (!rc) {
		job->journaled = true;
		return 0;
	}
	fc_cli_say("the journal in %s/%s cannot be written: %s", job->parent, job->staging_name, fc_error_text(rc));
	return fc_cli_exit(rc);
}

/* ---- putting it into place, and back --------------------------------------------------------- */

/* A directory's own mode may keep its .. from being changed, for its owner. */
static int move_directory(int from, const char *name, int to, const char *new_name)
{
	int fd = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc, err;
	struct timespec times[2];
	struct stat st;
	bool opened;

	if (fd < 0 || fstat(fd, &st)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	opened = geteuid() && !(st.st_mode & 0200) && !fchmod(fd, (st.st_mode & 07777) | 0200);
	rc = renameat2(from, name, to, new_name, RENAME_NOREPLACE);
	err = errno;
	if (opened)
		(void)!fchmod(fd, st.st_mode & 07777);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (!rc)
		(void)!futimens(fd, times);
	close(fd);
	errno = err;
	return rc;
}

static bool is_original(const struct fc_convert_job *job)
{
	struct stat st;

	return !fstatat(job->parent_fd, job->name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == job->journal.dev &&
	       st.st_ino == job->journal.ino;
}

static bool has_data(const struct fc_convert_job *job)
{
	return !faccessat(job->staging, FC_CONVERT_DATA, F_OK, AT_SYMLINK_NOFOLLOW);
}

static int place_container(struct fc_convert_job *job)
{
	char *fresh;
	int rc;

	if (asprintf(&fresh, "%s" FRESH, job->container) < 0)
		return FC_EXIT_FAILED;
	rc = renameat2(AT_FDCWD, fresh, AT_FDCWD, job->container, RENAME_NOREPLACE);
	free(fresh);
	if ((rc && errno != ENOENT) || sync_parent_of(job->container))
		return say_errno(job->container);
	return 0;
}

static int place_directory(struct fc_convert_job *job)
{
	char path[PATH_MAX];
	int status;

	if (!has_data(job)) {
		if (!is_original(job)) {
			fc_cli_say("%s is not the directory that it was, and nothing more was done: put that back, or "
				   "give up what was begun with --abort",
				   job->arg);
			return FC_EXIT_FAILED;
		}
		if (move_directory(job->parent_fd, job->name, job->staging, FC_CONVERT_DATA))
			return say_errno(job->arg);
	}
	/* who came in between the look and this */
	snprintf(path, sizeof(path), "%s/%s/" FC_CONVERT_DATA, strcmp(job->parent, "/") ? job->parent : "",
		 job->staging_name);
	status = fc_convert_check_use(job, path);
	if (status)
		return status;
	if (mkdirat(job->parent_fd, job->name, 0700) && errno != EEXIST)
		return say_errno(job->arg);
	return sync_directory(job->staging) || sync_directory(job->parent_fd) ? say_errno(job->parent) : 0;
}

/* A home is locked before its user's own registry can be read. */
static bool has_home_of(uid_t uid, const char *dir)
{
	const struct passwd *user = getpwuid(uid);
	char *home = user && user->pw_dir ? realpath(user->pw_dir, NULL) : NULL;
	bool has = home && fc_place_inside(home, dir);

	free(home);
	return has;
}

static int lock_directory(struct fc_convert_job *job)
{
	struct fc_protected entry = {
		.directory = job->dir,
		.container = job->container,
		.options = (char[]){ "" },
	};
	struct stat st;
	int rc;

	memcpy(entry.uuid, job->journal.uuid, sizeof(entry.uuid));
	/* the mount point belongs to whom the directory belongs */
	if (!geteuid() && !fstatat(job->staging, FC_CONVERT_DATA, &st, AT_SYMLINK_NOFOLLOW)) {
		int fd = openat(job->parent_fd, job->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			return say_errno(job->arg);
		(void)!fchown(fd, st.st_uid, st.st_gid);
		close(fd);
		entry.of_machine = fc_registry_needs_machine(job->dir) || has_home_of(st.st_uid, job->dir);
	}
	rc = fc_locked_mark(job->dir, job->container, entry.of_machine);
	if (rc) {
		fc_cli_say("%s cannot be locked: %s", job->arg, fc_error_text(rc));
		return fc_cli_exit(rc);
	}
	rc = fc_registry_add(&entry);
	if (rc)
		fc_cli_say("warning: %s cannot be registered (%s): unlock it with `fusecrypt mount`", job->arg,
			   fc_error_text(rc));
	return 0;
}

int fc_convert_place(struct fc_convert_job *job)
{
	int status = place_container(job);

	if (!status)
		status = place_directory(job);
	if (!status)
		status = lock_directory(job);
	return status ? status : fc_convert_set_phase(job, FC_CONVERT_PLACED);
}

/* ---- ends ------------------------------------------------------------------------------------- */

static void unregister(const struct fc_convert_job *job)
{
	const struct fc_protected *entry;
	struct fc_registry registry;
	int rc = fc_registry_read(&registry);

	entry = rc ? NULL : fc_registry_find(&registry, job->dir);
	if (entry && !memcmp(entry->uuid, job->journal.uuid, FC_UUID_BYTES))
		rc = fc_registry_remove(entry);
	if (rc)
		fc_cli_say("warning: %s cannot be taken out of the registry: %s", job->arg, fc_error_text(rc));
	fc_registry_free(&registry);
}

/* The container, if what lies there is it. */
static bool is_ours(const struct fc_convert_job *job, const char *path)
{
	struct fc_headers *h = malloc(sizeof(*h));
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	struct fc_io *io = NULL;
	bool is = h && fd >= 0 && !fc_io_file(fd, true, &io) && !fc_headers_load(io, h) &&
		  !memcmp(h->copy[h->newest].uuid, job->journal.uuid, FC_UUID_BYTES);

	fc_io_close(io);
	free(h);
	return is;
}

/* While nobody else can have it open: what someone writes to it meanwhile would go with it. */
static int remove_placed(struct fc_convert_job *job)
{
	int fd = open(job->container, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW), status = 0;

	if (fd < 0 && errno == ENOENT)
		return sync_parent_of(job->container) ? say_errno(job->container) : 0;
	if (fd >= 0 && fc_lock_take(fd, false) == FC_EINUSE) {
		fc_cli_say("%s is in use elsewhere: unmount it there, then the same command ends this", job->container);
		status = FC_EXIT_IN_USE;
	} else if (!is_ours(job, job->container)) {
		fc_cli_say("%s stays, since it is not the container that belongs to %s", job->container, job->arg);
	} else if (unlink(job->container)) {
		status = say_errno(job->container);
	}
	if (!status && sync_parent_of(job->container))
		status = say_errno(job->container);
	if (fd >= 0)
		close(fd);
	return status;
}

static int remove_container(struct fc_convert_job *job)
{
	char *fresh;

	if (asprintf(&fresh, "%s" FRESH, job->container) < 0)
		return FC_EXIT_FAILED;
	if (job->journal.phase == FC_CONVERT_BEGUN || is_ours(job, fresh))
		unlink(fresh); /* nobody else makes a file of that name meanwhile */
	free(fresh);
	return remove_placed(job);
}

static int remove_staging(struct fc_convert_job *job)
{
	if ((unlinkat(job->staging, FC_CONVERT_JOURNAL, 0) && errno != ENOENT) ||
	    (unlinkat(job->staging, FC_CONVERT_JOURNAL ".new", 0) && errno != ENOENT) ||
	    unlinkat(job->parent_fd, job->staging_name, AT_REMOVEDIR) || sync_directory(job->parent_fd))
		return say_errno(job->staging_name);
	return 0;
}

/* data becomes DIR again, which is no more than a locked one. */
static int put_back(struct fc_convert_job *job)
{
	int rc;

	if (!has_data(job))
		return 0;
	rc = fc_locked_unmark(job->dir);
	if (rc && rc != FC_ENOENT) {
		fc_cli_say("%s cannot be unlocked for what comes back: %s", job->arg, fc_error_text(rc));
		return fc_cli_exit(rc);
	}
	if (unlinkat(job->parent_fd, job->name, AT_REMOVEDIR) && errno != ENOENT) {
		fc_cli_say("%s is not empty, and what was moved cannot come back: move that out, then try again (%s)",
			   job->arg, strerror(errno));
		return FC_EXIT_FAILED;
	}
	if (move_directory(job->staging, FC_CONVERT_DATA, job->parent_fd, job->name))
		return say_errno(job->arg);
	return sync_directory(job->staging) || sync_directory(job->parent_fd) ? say_errno(job->parent) : 0;
}

int fc_convert_unplace(struct fc_convert_job *job)
{
	int status = put_back(job);

	if (!status)
		unregister(job);
	if (!status)
		status = remove_container(job);
	return status ? status : remove_staging(job);
}

int fc_convert_end_out(struct fc_convert_job *job)
{
	return fc_convert_unplace(job);
}

int fc_convert_end_in(struct fc_convert_job *job)
{
	char name[NAME_MAX + 1];
	int rc = 0;

	for (int i = 0; has_data(job) && i < 1000; i++) {
		snprintf(name, sizeof(name), i ? "%.230s.not-protected-%d" : "%.230s.not-protected", job->name, i);
		rc = move_directory(job->staging, FC_CONVERT_DATA, job->parent_fd, name);
		if (!rc)
			fc_cli_say("what could not be moved is in %s/%s", job->parent, name);
		else if (errno != EEXIST)
			return say_errno(name);
	}
	return remove_staging(job);
}
