/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/convert.h"
#include "cli/lock.h"
#include "cli/mount.h"
#include "cli/state.h"
#include "secret/secret.h"

/* ---- what this machine saw --------------------------------------------------------- */

/* Any thread; one after the other in a conversion. */
static void on_committed(void *arg, uint64_t generation, const uint8_t tag[FC_TAG_BYTES])
{
	struct fc_convert_job *job = arg;
	struct fc_seen seen = { .generation = generation };

	memcpy(seen.tag, tag, FC_TAG_BYTES);
	if (*job->state_file)
		(void)fc_state_write(job->state_file, &seen);
}

static void recall_seen(struct fc_convert_job *job, struct fc_fs_options *o)
{
	struct fc_seen seen;

	if (fc_state_path(job->journal.uuid, job->dir, job->state_file)) {
		job->state_file[0] = '\0';
		return;
	}
	o->committed = on_committed;
	if (fc_state_read(job->state_file, &seen))
		return;
	o->seen_generation = seen.generation;
	memcpy(o->seen_tag, seen.tag, FC_TAG_BYTES);
}

/* A rekey that was under way ends here. */
static int on_header_lock(void *arg, bool take)
{
	struct fc_convert_job *job = arg;

	if (take)
		return fc_lock_header(job->options.container_fd, false);
	fc_unlock_header(job->options.container_fd);
	return 0;
}

static void on_log(void *arg, int priority, const char *text)
{
	struct fc_convert_job *job = arg;

	(void)priority;
	fc_convert_clear_line(job);
	fc_cli_say("%s: %s", job->container, text);
}

/* ---- opening ----------------------------------------------------------------------------- */

static int lock_container(struct fc_convert_job *job)
{
	int rc = fc_lock_take(job->key.fd, false);
	char who[64] = "";
	pid_t pid;

	if (!rc) {
		fc_lock_mark(job->key.fd, false);
		return 0;
	}
	pid = fc_lock_holder(job->key.fd);
	if (pid)
		snprintf(who, sizeof(who), " by pid %d", (int)pid);
	if (rc == FC_EINUSE)
		fc_cli_say("%s is in use%s: unmount it first", job->container, who);
	else
		fc_cli_say("%s cannot be locked: the file system it lies on has no locks; move it to another one",
			   job->container);
	return fc_cli_exit(rc);
}

static int unlock(struct fc_convert_job *job)
{
	struct fc_unlock_request request = { .from = job->from };

	if (job->key.reply)
		return 0;
	request.container = job->key.container;
	request.container_fd = job->key.fd;
	return fc_key_unlock(&job->key, &request);
}

/* Room is needed where the container lies. */
static int container_free(void *arg, uint64_t *bytes)
{
	struct fc_convert_job *job = arg;
	struct statvfs st;

	if (fstatvfs(job->options.container_fd, &st))
		return FC_EIO;
	*bytes = st.f_blocks ? (uint64_t)st.f_bavail * st.f_frsize : INT64_MAX;
	return 0;
}

int fc_convert_open(struct fc_convert_job *job)
{
	struct fc_fs_options o = { .log = on_log, .header_lock = on_header_lock, .arg = job };
	struct fc_unlock_reply *reply = job->key.reply;
	struct fc_io *io;
	int status, rc;

	job->key.reply = NULL;
	status = fc_key_open(&job->key, job->container, true);
	job->key.reply = reply;
	if (!status && memcmp(fc_key_public(&job->key)->uuid, job->journal.uuid, FC_UUID_BYTES)) {
		fc_cli_say("%s is not the container that belongs to %s: put back the one that was there",
			   job->container, job->arg);
		status = FC_EXIT_FAILED;
	}
	if (!status)
		status = lock_container(job);
	if (!status)
		status = unlock(job);
	if (status)
		return status;
	recall_seen(job, &o);
	o.header_sequence = job->key.reply->sequence;
	job->options.container_fd = job->key.fd;
	if (job->journal.way == FC_CONVERT_IN)
		job->options.host_free = container_free;
	io = job->key.io;
	job->key.io = NULL;
	job->key.fd = -1;
	rc = fc_fs_open(io, job->key.reply->master, &o, &job->fs);
	if (!rc)
		return 0;
	if (rc == FC_EOLDER)
		fc_cli_say("%s is older than the state this machine saw last: mount it with --accept-older to see what "
			   "it holds",
			   job->container);
	else
		fc_cli_say("%s cannot be opened: %s", job->container, fc_error_text(rc));
	return fc_cli_exit(rc);
}

int fc_convert_close(struct fc_convert_job *job)
{
	struct fc_unlock_reply *reply = job->key.reply;
	int rc = job->fs ? fc_fs_close(job->fs) : 0;

	job->fs = NULL;
	job->options.container_fd = -1;
	job->key.reply = NULL;
	fc_key_end(&job->key);
	job->key = FC_KEY_JOB;
	job->key.reply = reply;
	if (!rc)
		return 0;
	fc_cli_say("the last changes of %s could not be committed: %s", job->container, fc_error_text(rc));
	return fc_cli_exit(rc);
}

/* ---- running ---------------------------------------------------------------------------------- */

/* Somebody changed a file that was half moved: is it meant to be like that? */
static bool ask_changed(struct fc_convert_job *job)
{
	char line[16];

	if (job->json || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return false;
	fc_convert_clear_line(job);
	fprintf(stderr,
		"Go on with it as it is now: its first part from the disk, the rest from the container? [y/N] ");
	return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

static int with_asking(struct fc_convert_job *job,
		       int (*act)(struct fc_fs *, int, struct fc_convert_journal *, const struct fc_convert_options *))
{
	int rc = act(job->fs, job->staging, &job->journal, &job->options);

	if (rc == FC_ESTALE && ask_changed(job)) {
		job->options.ask_changed = true;
		rc = act(job->fs, job->staging, &job->journal, &job->options);
		job->options.ask_changed = false;
	}
	return fc_convert_say_error(job, rc);
}

int fc_convert_turn_round(struct fc_convert_job *job)
{
	int status = with_asking(job, fc_convert_turn);

	job->options.host_free = job->journal.way == FC_CONVERT_IN ? container_free : NULL;
	return status;
}

int fc_convert_move(struct fc_convert_job *job)
{
	if (!job->all_bytes) {
		struct fc_convert_totals t;
		int data = openat(job->staging, FC_CONVERT_DATA, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = FC_ENOENT;
		struct fc_convert_options quiet = job->options;

		quiet.note = NULL;
		if (job->journal.way == FC_CONVERT_OUT)
			rc = fc_convert_look_out(job->fs, &quiet, &t);
		else if (data >= 0)
			rc = fc_convert_look_in(data, &quiet, &t);
		if (data >= 0)
			close(data);
		if (!rc) {
			job->all_bytes = t.bytes;
			job->all_names = t.names;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &job->began);
	return with_asking(job, fc_convert_run);
}

int fc_convert_mount(struct fc_convert_job *job)
{
	struct fc_mount_job *m = fc_mount_new();
	int status;

	if (!m)
		return FC_EXIT_FAILED;
	m->container_arg = job->container;
	m->mountpoint_arg = job->dir;
	m->uuid = job->journal.uuid;
	m->key = job->key.reply;
	fc_mount_for_owner(m);
	fc_convert_report_end();
	status = fc_mount_run(m);
	fc_mount_free(m);
	if (status)
		fc_cli_say("%s is protected, but could not be unlocked: `fusecrypt unlock` does that", job->dir);
	return status;
}
