/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of a change of the header. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/key.h"
#include "cli/lock.h"
#include "cli/mounts.h"
#include "cli/state.h"
#include "secret/secret.h"

/* ---- opening ------------------------------------------------------------------- */

static int say_memory(void)
{
	fc_cli_say("out of memory");
	return FC_EXIT_FAILED;
}

static int open_file(struct fc_key_job *job, const char *path, bool write)
{
	struct stat st;
	int err;

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
	job->fd = open(job->container, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY);
	if (job->fd >= 0)
		return 0;
	err = errno;
	if (write && (err == EACCES || err == EPERM) && !access(job->container, R_OK))
		fc_cli_say("%s may be read but not written by you: its keys cannot be changed", path);
	else
		fc_cli_say("%s cannot be opened: %s", path, strerror(err));
	return FC_EXIT_FAILED;
}

static uint64_t sequence_of(const struct fc_key_job *job, int copy)
{
	return job->headers->status[copy] ? 0 : job->headers->copy[copy].sequence;
}

int fc_key_open_any(struct fc_key_job *job, const char *path, bool write, int *error)
{
	int status = open_file(job, path, write), locked;

	if (status)
		return status;
	job->headers = calloc(1, sizeof(*job->headers));
	job->header = calloc(1, sizeof(*job->header));
	if (!job->headers || !job->header)
		return say_memory();
	if (fc_io_file(job->fd, !write, &job->io)) {
		job->fd = -1;
		return say_memory();
	}
	locked = fc_lock_header(job->fd, true); /* both copies as of one time */
	*error = fc_headers_load(job->io, job->headers);
	if (!locked)
		fc_unlock_header(job->fd);
	for (int c = 0; c < 2; c++)
		job->seen[c] = sequence_of(job, c);
	return 0;
}

int fc_key_open(struct fc_key_job *job, const char *path, bool write)
{
	int error, status = fc_key_open_any(job, path, write, &error);

	return status ? status : error ? fc_cli_bad_header(path, error) : 0;
}

const struct fc_header *fc_key_public(const struct fc_key_job *job)
{
	return &job->headers->copy[job->headers->newest];
}

int fc_key_unlock(struct fc_key_job *job, const struct fc_unlock_request *request)
{
	int status;

	if (fc_secret_init() || fc_secret_harden()) {
		fc_cli_say("core dumps cannot be switched off: no key is taken into such a process");
		return FC_EXIT_FAILED;
	}
	status = fc_cli_unlock(request, &job->reply);
	if (status)
		return status;
	job->keys = fc_keys_new(job->reply->master);
	return job->keys ? 0 : say_memory();
}

/* ---- the header, locked and authenticated ----------------------------------------- */

int fc_key_lock(struct fc_key_job *job, int *error)
{
	int rc = fc_lock_header(job->fd, false);

	if (rc == FC_EINUSE) {
		fc_cli_say("the header of %s is in use: another key command is at work; try again", job->container);
		return FC_EXIT_IN_USE;
	}
	if (rc) {
		fc_cli_say("%s cannot be locked: the file system it lies on has no locks", job->container);
		return FC_EXIT_FAILED;
	}
	job->locked = true;
	*error = fc_headers_load(job->io, job->headers);
	job->changed = sequence_of(job, 0) != job->seen[0] || sequence_of(job, 1) != job->seen[1];
	return 0;
}

static int say_older(const struct fc_key_job *job)
{
	fc_cli_say("the header of %s is an older one that was put back: keys that were removed since open it again. "
		   "Put back the newest one with `fusecrypt header restore`; or go on with this one by mounting it "
		   "once with --accept-older",
		   job->container);
	return FC_EXIT_OLDER;
}

/* Which copy to start from, and whether the container still accepts it. */
static int choose(struct fc_key_job *job, bool accept_older)
{
	struct fc_roots roots;
	const struct fc_header *h;
	int rc;

	job->base = fc_slots_base(job->headers, job->keys, &job->reply->opened);
	if (job->base == FC_ENOENT)
		return fc_key_say_changed(job);
	if (job->base < 0) {
		fc_cli_say("the header of %s does not authenticate: it was damaged or forged", job->container);
		return FC_EXIT_DAMAGED;
	}
	h = &job->headers->copy[job->base];
	if (h->ro_compat & ~FC_RO_COMPAT_KNOWN)
		return fc_cli_bad_header(job->container, FC_ENEWER);
	rc = fc_keys_open_old(job->keys, h);
	if (!rc)
		rc = fc_roots_load(job->io, job->keys, h->uuid, &roots);
	if (rc) {
		fc_cli_say("%s is damaged beyond its header, or that is an older one, from before a rekey: none of its "
			   "root records can be read",
			   job->container);
		return fc_cli_exit(rc);
	}
	job->root = roots.root[roots.newest];
	if (h->sequence < job->root.header_seq && !accept_older)
		return say_older(job);
	job->torn = !fc_slots_settled(job->headers, job->keys);
	*job->header = *h;
	return 0;
}

int fc_key_begin(struct fc_key_job *job, bool accept_older)
{
	int error, status = fc_key_lock(job, &error);

	if (!status && error)
		status = fc_cli_bad_header(job->container, error);
	return status ? status : choose(job, accept_older);
}

/* ---- making it durable --------------------------------------------------------------- */

/* What this machine saw of the container must not be newer than what it is. */
static bool is_newest(const struct fc_key_job *job, char *state_file, const struct fc_roots *roots)
{
	const struct fc_root *root = &roots->root[roots->newest];
	struct fc_seen seen;

	if (fc_state_path(job->header->uuid, NULL, state_file))
		*state_file = '\0';
	if (!*state_file || fc_state_read(state_file, &seen))
		return true;
	return root->generation > seen.generation ||
	       (root->generation == seen.generation && !memcmp(roots->tag[roots->newest], seen.tag, FC_TAG_BYTES));
}

/* Nobody has it open: the root record is written here. */
static void raise_root(struct fc_key_job *job, const struct fc_keys *keys)
{
	char state_file[PATH_MAX];
	struct fc_seen seen = { 0 };
	struct fc_roots roots;
	struct fc_root root;
	int rc = fc_roots_load(job->io, keys, job->header->uuid, &roots);

	/* an older state that was put back is not made newer behind its owner's back */
	if (rc || !is_newest(job, state_file, &roots))
		return;
	rc = fc_root_raise(job->io, keys, job->header->uuid, job->header->sequence, (uint64_t)time(NULL), &root,
			   seen.tag);
	seen.generation = root.generation;
	if (!rc && *state_file)
		rc = fc_state_write(state_file, &seen);
	if (rc && rc != FC_EOLDER)
		fc_cli_say("warning: the change was made, but is not recorded beyond the header until the container "
			   "is written to: %s",
			   fc_error_text(rc));
}

/* Someone has it open: the next commit looks at the header. */
static void ask_commit(const struct fc_key_job *job)
{
	struct fc_mounts mounts;
	const struct fc_mount *m;

	if (!fc_mounts_read("/proc/self/mountinfo", &mounts)) {
		m = fc_mounts_of(&mounts, job->container);
		if (m && !fc_mount_is_dead(m) && fc_mount_ask(m, FC_IOC_SYNC, NULL))
			fc_cli_say("warning: the change was made, but %s does not commit: until it does, an older "
				   "header put back would go unnoticed",
				   m->point);
	}
	fc_mounts_free(&mounts);
}

/* The root accepts no older header than this one from now on: at once where that
 * is possible, else from the next commit on. */
static void tell_root(struct fc_key_job *job, const struct fc_keys *keys)
{
	if (fc_lock_take(job->fd, false)) {
		ask_commit(job);
		return;
	}
	fc_lock_mark(job->fd, false);
	raise_root(job, keys);
	fc_lock_drop(job->fd);
}

int fc_key_write(struct fc_key_job *job, const struct fc_keys *keys)
{
	sigset_t all, old;
	int rc;

	/* an interrupted one would be whole, but leave old slots in one copy */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	job->written = true;
	rc = fc_slots_store(job->io, job->headers, job->base, keys, job->root.header_seq, job->header);
	if (job->locked)
		fc_unlock_header(job->fd);
	job->locked = false;
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (rc)
		fc_cli_say("the header of %s could not be written in both copies: %s; keep the old and the new key, "
			   "since either may open it, and do it again",
			   job->container, fc_error_text(rc));
	return fc_cli_exit(rc);
}

int fc_key_store(struct fc_key_job *job, const struct fc_keys *keys)
{
	int status = fc_key_write(job, keys);

	if (!status)
		tell_root(job, keys);
	return status;
}

void fc_key_end(struct fc_key_job *job)
{
	if (job->locked)
		fc_unlock_header(job->fd);
	fc_keys_free(job->keys);
	fc_secret_free(job->reply);
	fc_io_close(job->io);
	if (!job->io && job->fd >= 0)
		close(job->fd);
	free(job->header);
	free(job->headers);
	free(job->container);
	*job = FC_KEY_JOB;
}
