/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/check.h"
#include "cli/key.h"
#include "cli/lock.h"
#include "cli/mounts.h"
#include "cli/state.h"

#define PROGRESS_MS 200

enum { OPT_REPAIR = FC_OPT_OWN, OPT_ACCEPT_OLDER, OPT_JSON };

static const struct option options[] = {
	FC_SECRET_OPTIONS,
	{ "repair", no_argument, NULL, OPT_REPAIR },
	{ "accept-older", no_argument, NULL, OPT_ACCEPT_OLDER },
	{ "json", no_argument, NULL, OPT_JSON },
	{ NULL, 0, NULL, 0 },
};

struct check_job {
	struct fc_key_job key; /* container, io, master key */
	const char *path;
	bool repair, accept_older, json;
	struct fc_secret_from from;
	struct fc_check_options options;
	struct fc_check_result result;
	struct fc_check_report report;
	char state_file[PATH_MAX]; /* "": none */
	bool terminal;             /* progress is shown on it */
	bool shown;                /* a line of it */
	struct timespec last;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int signo)
{
	(void)signo;
	interrupted = 1;
}

/* ---- the container ----------------------------------------------------------- */

static int say_in_use(const struct check_job *job, const struct fc_mount *m)
{
	pid_t pid = fc_lock_holder(job->key.fd);
	char who[64] = "";

	if (pid)
		snprintf(who, sizeof(who), " by pid %d", (int)pid);
	if (m)
		fc_cli_say("%s is in use%s, mounted at %s: unmount it first", job->key.container, who, m->point);
	else
		fc_cli_say("%s is in use%s: it is checked when nobody writes to it", job->key.container, who);
	return FC_EXIT_IN_USE;
}

/* A read-only mount would share the lock, but is refused too: a check tells of what is not in use. */
static int lock(struct check_job *job)
{
	int rc = fc_lock_take_soon(job->key.fd, !job->repair, job->key.container), status = 0;
	struct fc_mounts mounts;
	const struct fc_mount *m;

	if (fc_mounts_read("/proc/self/mountinfo", &mounts))
		mounts.count = 0;
	m = fc_mounts_of(&mounts, job->key.container);
	if (m && fc_mount_is_dead(m))
		m = NULL; /* what a crashed daemon left */
	if (rc == FC_EINUSE || m) {
		status = say_in_use(job, m);
	} else if (rc) {
		fc_cli_say("%s cannot be locked: the file system it lies on has no locks", job->path);
		status = FC_EXIT_FAILED;
	} else {
		fc_lock_mark(job->key.fd, !job->repair);
	}
	fc_mounts_free(&mounts);
	return status;
}

static int open_container(struct check_job *job)
{
	struct fc_unlock_request request = { .from = job->from };
	int status;

	if (job->repair && access(job->path, W_OK) && !access(job->path, R_OK)) {
		fc_cli_say("%s may be read but not written by you: it cannot be repaired", job->path);
		return FC_EXIT_FAILED;
	}
	status = fc_key_open(&job->key, job->path, job->repair);
	if (!status)
		status = lock(job);
	if (status)
		return status;
	request.container = job->key.container;
	request.container_fd = job->key.fd;
	status = fc_key_unlock(&job->key, &request);
	/* no key command writes the header meanwhile */
	if (!status && fc_lock_header(job->key.fd, !job->repair) == FC_EINUSE) {
		fc_cli_say("the header of %s is in use: a key command is at work; try again", job->path);
		status = FC_EXIT_IN_USE;
	}
	return status;
}

/* ---- what this machine saw ------------------------------------------------------- */

static void on_committed(void *arg, uint64_t generation, const uint8_t tag[FC_TAG_BYTES])
{
	struct check_job *job = arg;
	struct fc_seen seen = { .generation = generation };

	memcpy(seen.tag, tag, FC_TAG_BYTES);
	if (*job->state_file && fc_state_write(job->state_file, &seen))
		fc_cli_say(
			"warning: the generation seen could not be recorded: an older copy put back may go unnoticed");
}

static void recall_seen(struct check_job *job)
{
	struct fc_seen seen;

	if (fc_state_path(fc_key_public(&job->key)->uuid, NULL, job->state_file)) {
		job->state_file[0] = '\0';
		return;
	}
	if (fc_state_read(job->state_file, &seen))
		return;
	job->options.seen_generation = seen.generation;
	memcpy(job->options.seen_tag, seen.tag, FC_TAG_BYTES);
}

/* ---- while it runs --------------------------------------------------------------------- */

static bool on_stop(void *arg)
{
	(void)arg;
	return interrupted;
}

static void on_progress(void *arg, uint64_t done, uint64_t all)
{
	struct check_job *job = arg;
	struct timespec now;

	if (!job->terminal || clock_gettime(CLOCK_MONOTONIC, &now))
		return;
	if ((now.tv_sec - job->last.tv_sec) * 1000 + (now.tv_nsec - job->last.tv_nsec) / 1000000 < PROGRESS_MS)
		return;
	job->last = now;
	job->shown = true;
	fprintf(stderr, "\r%3u %% of %.1f MiB", done < all ? (unsigned)(done * 100 / all) : 100u,
		(double)all * FC_BLOCK / (1 << 20));
	fflush(stderr);
}

static void on_found(void *arg, const struct fc_check_finding *finding)
{
	struct check_job *job = arg;

	if (job->shown)
		fputs("\r\033[K", stderr);
	job->shown = false;
	fc_check_report(&job->report, finding);
}

/* SIGINT and the like end the check before anything is written; a commit is not interrupted. */
static void catch_signals(void)
{
	const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}

static int say_older(const struct check_job *job)
{
	const struct fc_check_result *r = &job->result;

	if (r->newest_lost)
		fc_cli_say("the newest state of %s is damaged and cannot be read; an older one can. To go on from that "
			   "and "
			   "lose what came after, repair it with --accept-older",
			   job->path);
	else if (r->older)
		fc_cli_say("%s is older than the state that this machine saw last: an older copy was put back. To go "
			   "on from "
			   "it, repair it with --accept-older",
			   job->path);
	else
		fc_cli_say("the header of %s is older than what its content accepts: an old one was put back; keys "
			   "that were "
			   "taken out may open it. To go on with it, mount it once with --accept-older",
			   job->path);
	return FC_EXIT_OLDER;
}

static int say_error(const struct check_job *job, int error)
{
	switch (error) {
	case FC_EOLDER:
		return say_older(job);
	case FC_EINTERRUPTED:
		break;
	case FC_EIO:
		fc_cli_say("the disk that %s lies on reports errors%s. Copy what can be read of it to another disk, "
			   "zeros for "
			   "the rest, and repair that",
			   job->path, job->repair ? ": nothing was repaired" : "");
		break;
	case FC_EFORGED:
		fc_cli_say("%s is damaged beyond repair: there is nothing whole to start from; put back a backup",
			   job->path);
		break;
	case FC_ECORRUPT:
		fc_cli_say("%s is not well-formed, and nothing was repaired; put back a backup", job->path);
		break;
	default:
		fc_cli_say("%s: %s%s", job->path, fc_error_text(error),
			   job->repair && !job->result.changed ? "; nothing was repaired" : "");
	}
	return fc_cli_exit(error);
}

/* The exit status of a check that ran to its end. */
static int verdict(const struct check_job *job)
{
	const struct fc_check_result *r = &job->result;

	if (r->damages)
		return r->repaired == r->damages ? FC_EXIT_REPAIRED : FC_EXIT_DAMAGED;
	return r->older && !job->accept_older ? FC_EXIT_OLDER : FC_EXIT_DONE;
}

static int run_check(struct check_job *job)
{
	struct fc_io *io = job->key.io;
	struct stat st;
	int rc, status;

	job->options.repair = job->repair;
	job->options.accept_older = job->accept_older;
	job->options.header_sequence = job->key.reply->sequence;
	job->options.progress = on_progress;
	job->options.stop = on_stop;
	job->options.found = on_found;
	job->options.committed = on_committed;
	job->options.arg = job;
	if (!fstat(job->key.fd, &st)) {
		job->options.uid = st.st_uid;
		job->options.gid = st.st_gid;
	}
	recall_seen(job);
	catch_signals();
	job->key.io = NULL;
	job->key.fd = -1; /* io's own */
	rc = fc_check(io, job->key.reply->master, &job->options, &job->result);
	if (job->shown)
		fputs("\r\033[K", stderr);
	status = rc ? say_error(job, rc) : verdict(job);
	return fc_check_report_end(&job->report, &job->result, rc, status);
}

/* ---- the command ------------------------------------------------------------------------ */

static int parse(int argc, char **argv, struct check_job *job)
{
	int c, rc;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case OPT_REPAIR:
			job->repair = true;
			break;
		case OPT_ACCEPT_OLDER:
			job->accept_older = true;
			break;
		case OPT_JSON:
			job->json = true;
			break;
		default:
			rc = fc_secret_option(&job->from, c, optarg);
			if (rc)
				return rc == FC_ENOENT ? fc_cli_bad_option(argv) : FC_EXIT_USAGE;
		}
	}
	if (fc_cli_operands(argc, argv, 1, "one container"))
		return FC_EXIT_USAGE;
	job->path = argv[optind];
	return 0;
}

static int run(int argc, char **argv)
{
	struct check_job *job = calloc(1, sizeof(*job));
	int status;

	if (!job) {
		fc_cli_say("out of memory");
		return FC_EXIT_FAILED;
	}
	job->key = FC_KEY_JOB;
	job->from = FC_SECRET_FROM_NONE;
	status = parse(argc, argv, job);
	if (!status)
		status = open_container(job);
	if (!status) {
		job->terminal = !job->json && isatty(STDERR_FILENO);
		job->report = (struct fc_check_report){ .json = job->json, .container = job->key.container };
		status = run_check(job);
	}
	fc_key_end(&job->key);
	free(job);
	return status;
}

const struct fc_command fc_command_check = {
	.name = "check",
	.arguments = "CONTAINER [OPTION...]",
	.summary = "reads and verifies everything in a container",
	.help = "  --repair                     mends what is damaged, and lists what is lost\n"
		"  --accept-older               goes on from an older state where the newest cannot be read\n"
		"  --json                       one object\n" FC_HELP_SECRET,
	.run = run,
};
