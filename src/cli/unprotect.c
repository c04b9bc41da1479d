/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unprotect: turns a protected directory into an ordinary one, in place. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/convert.h"
#include "cli/registry.h"
#include "cli/umount.h"

#define NEEDED (16ull << 20)

/* What is mounted there, or registered. */
static int find_container(struct fc_convert_job *job, bool *mounted)
{
	const struct fc_protected *entry = NULL;
	const struct fc_mount *m = NULL;
	struct fc_registry registry;
	struct fc_mounts mounts;

	if (!fc_mounts_read("/proc/self/mountinfo", &mounts))
		m = fc_mounts_at(&mounts, job->dir);
	if (!fc_registry_read(&registry))
		entry = fc_registry_find(&registry, job->dir);
	*mounted = m && fc_mount_is_ours(m);
	if (*mounted)
		job->container = strdup(m->source);
	else if (entry)
		job->container = strdup(entry->container);
	fc_registry_free(&registry);
	fc_mounts_free(&mounts);
	if (job->container)
		return 0;
	fc_cli_say("%s is not a protected directory: `fusecrypt list` shows which are", job->arg);
	return FC_EXIT_FAILED;
}

static int look(struct fc_convert_job *job)
{
	struct stat st, own;
	int rc = fc_convert_look_out(job->fs, &job->options, &job->totals);
	bool same;

	if (rc)
		return fc_convert_say_error(job, rc);
	job->all_bytes = job->totals.bytes;
	job->all_names = job->totals.names;
	if (job->totals.blocked) {
		fc_cli_say("%s cannot become an ordinary directory by you; nothing was changed: do it as root",
			   job->arg);
		return FC_EXIT_FAILED;
	}
	same = !stat(job->container, &st) && !stat(job->parent, &own) && st.st_dev == own.st_dev;
	return fc_convert_check_space(job, job->parent,
				      NEEDED + job->totals.bytes / 50 + (same ? 0 : job->totals.bytes));
}

/* Up to an open container and a journal. */
static int start(struct fc_convert_job *job)
{
	bool mounted;
	int status = find_container(job, &mounted);

	if (!status && mounted)
		status = fc_umount(job->dir, false);
	if (!status && faccessat(job->parent_fd, ".", W_OK | X_OK, AT_EACCESS)) {
		fc_cli_say("%s is not yours to write to, and DIR is made anew there: do it as root", job->parent);
		status = FC_EXIT_FAILED;
	}
	if (!status)
		status = fc_key_open(&job->key, job->container, true);
	if (!status)
		memcpy(job->journal.uuid, fc_key_public(&job->key)->uuid, FC_UUID_BYTES);
	fc_key_end(&job->key);
	job->key = FC_KEY_JOB;
	job->journal.way = FC_CONVERT_OUT;
	if (!status)
		status = fc_convert_open(job);
	if (!status)
		status = look(job);
	return status ? status : fc_convert_begin(job);
}

static bool is_of_unprotect(const struct fc_convert_job *job)
{
	return (job->journal.way == FC_CONVERT_OUT) != job->journal.aborting;
}

static int open_again(struct fc_convert_job *job)
{
	if (!is_of_unprotect(job)) {
		fc_cli_say("%s is being protected: `fusecrypt protect` goes on with that, `fusecrypt protect --abort` "
			   "brings everything back",
			   job->arg);
		return FC_EXIT_FAILED;
	}
	/* at the end the container may be gone */
	if (job->journal.way == FC_CONVERT_OUT && job->journal.phase == FC_CONVERT_DONE)
		return 0;
	return fc_convert_open(job);
}

static int finish(struct fc_convert_job *job, int status)
{
	int closed = job->fs ? fc_convert_close(job) : 0;

	status = status ? status : closed;
	if (status)
		return status;
	if (job->journal.way == FC_CONVERT_OUT)
		return fc_convert_end_out(job);
	status = fc_convert_end_in(job);
	return status ? status : fc_convert_mount(job);
}

static int unprotect(struct fc_convert_job *job)
{
	enum fc_convert_way way = job->abort ? FC_CONVERT_IN : FC_CONVERT_OUT;
	bool begun;
	int status = fc_convert_find(job);

	if (status)
		return status;
	begun = job->journaled;
	if (!begun && job->abort) {
		fc_cli_say("nothing of %s is under way: there is nothing to bring back", job->arg);
		return FC_EXIT_FAILED;
	}
	status = begun ? open_again(job) : start(job);
	if (status)
		return finish(job, status);
	if (job->journal.way != way && !job->fs) {
		fc_cli_say("all of %s is unencrypted already; that is finished now", job->arg);
		return finish(job, 0);
	}
	if (job->journal.way != way)
		status = fc_convert_turn_round(job);
	if (!status && job->fs)
		status = fc_convert_move(job);
	return finish(job, status);
}

static int run(int argc, char **argv)
{
	return fc_convert_command(false, unprotect, argc, argv);
}

const struct fc_command fc_command_unprotect = {
	.name = "unprotect",
	.arguments = "DIR [OPTION...]",
	.summary = "moves everything back out of a container, in place, and removes it",
	.help = "  --abort                      protect everything again of one that was interrupted\n"
		"  --json                       progress and notes, one object a line\n" FC_HELP_SECRET
		"Interrupted, the same command goes on. Free space needed: 16 MiB and 2 % of the data.\n",
	.run = run,
};
