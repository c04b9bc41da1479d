/* SPDX-License-Identifier: GPL-2.0-or-later */
/* protect: turns a directory into a protected one, in place. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cipher/aead.h"
#include "cli/convert.h"
#include "cli/create.h"
#include "key/kdf.h"
#include "secret/secret.h"

#define LOG_SMALL (4u << 20)
#define ROOM_LARGE (128ull << 20) /* free space from which on the log is as usual */

enum { OPT_CONTAINER = FC_OPT_OWN, OPT_ABORT, OPT_SKIP, OPT_JSON, OPT_KDF };

static struct fc_convert_job *convert_new(bool protect)
{
	struct fc_convert_job *job = calloc(1, sizeof(*job));

	if (!job) {
		fc_cli_say("out of memory");
		return NULL;
	}
	job->protect = protect;
	job->parent_fd = job->staging = -1;
	job->kdf = "auto";
	job->from = FC_SECRET_FROM_NONE;
	job->key = FC_KEY_JOB;
	return job;
}

static void convert_free(struct fc_convert_job *job)
{
	fc_key_end(&job->key);
	fc_convert_journal_free(&job->journal);
	if (job->staging >= 0)
		close(job->staging);
	if (job->parent_fd >= 0)
		close(job->parent_fd);
	free(job->dir);
	free(job->parent);
	free(job->name);
	free(job->container);
	free(job);
}

static int take_option(struct fc_convert_job *job, int c, char **argv)
{
	int rc;

	switch (c) {
	case OPT_ABORT:
		job->abort = true;
		return 0;
	case OPT_JSON:
		job->json = true;
		return 0;
	case OPT_CONTAINER:
		job->container_arg = optarg;
		return 0;
	case OPT_SKIP:
		job->skip = true;
		return 0;
	case OPT_KDF:
		job->kdf = optarg;
		if (!fc_kdf_is_name(optarg))
			return fc_cli_usage(argv[0], "--kdf %s: auto, interactive, moderate and sensitive are known",
					    optarg);
		return 0;
	default:
		rc = fc_secret_option(&job->from, c, optarg);
		return !rc ? 0 : rc == FC_ENOENT ? fc_cli_bad_option(argv) : FC_EXIT_USAGE;
	}
}

static int parse(struct fc_convert_job *job, int argc, char **argv)
{
	static const struct option out[] = {
		FC_SECRET_OPTIONS,
		{ "abort", no_argument, NULL, OPT_ABORT },
		{ "json", no_argument, NULL, OPT_JSON },
		{ NULL, 0, NULL, 0 },
	};
	static const struct option in[] = {
		FC_SECRET_OPTIONS,
		{ "abort", no_argument, NULL, OPT_ABORT },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "container", required_argument, NULL, OPT_CONTAINER },
		{ "skip-unreadable", no_argument, NULL, OPT_SKIP },
		{ "kdf", required_argument, NULL, OPT_KDF },
		{ NULL, 0, NULL, 0 },
	};
	int c, status;

	while ((c = getopt_long(argc, argv, "", job->protect ? in : out, NULL)) != -1) {
		status = take_option(job, c, argv);
		if (status)
			return status;
	}
	if (argc - optind != 1)
		return fc_cli_usage(argv[0], "%s needs one directory", argv[0]);
	job->arg = argv[optind];
	return 0;
}

/* ---- a new container --------------------------------------------------------------------- */

/* Absolute, beside DIR unless given. */
static int choose_container(struct fc_convert_job *job)
{
	char *slash, *copy, *parent;

	if (!job->container_arg) {
		if (strlen(job->name) + strlen(".fusecrypt.new") > NAME_MAX ||
		    asprintf(&job->container, "%s.fusecrypt", job->dir) < 0)
			job->container = NULL;
	} else {
		copy = strdup(job->container_arg);
		slash = copy ? strrchr(copy, '/') : NULL;
		if (slash)
			slash[slash == copy] = '\0';
		parent = realpath(slash ? copy : ".", NULL);
		if (parent && asprintf(&job->container, "%s/%s", strcmp(parent, "/") ? parent : "",
				       slash ? strrchr(job->container_arg, '/') + 1 : job->container_arg) < 0)
			job->container = NULL;
		free(parent);
		free(copy);
	}
	if (job->container)
		return 0;
	fc_cli_say("the container of %s cannot be made at %s (%s): choose its place with --container", job->arg,
		   job->container_arg ? job->container_arg : "its name, which is too long, with .fusecrypt",
		   strerror(errno));
	return FC_EXIT_FAILED;
}

/* Where there is little room, its log takes less. */
static uint64_t log_bytes(const struct fc_create_job *create)
{
	struct statvfs st;

	if (!statvfs(create->parent, &st) && (uint64_t)st.f_bavail * st.f_frsize < ROOM_LARGE)
		return LOG_SMALL;
	return FC_LOG_DEFAULT;
}

/* From here on something is there, and it is in the journal. */
static int create(struct fc_convert_job *job, struct fc_create_job *c)
{
	int status = fc_convert_begin(job);

	c->log_bytes = log_bytes(c);
	if (!status)
		status = fc_create_make(c, job->key.reply);
	if (!status) {
		memcpy(job->journal.uuid, c->uuid, sizeof(c->uuid));
		status = fc_convert_set_phase(job, FC_CONVERT_MADE);
	}
	if (!status)
		status = fc_convert_place(job);
	if (status && job->journaled && job->journal.phase < FC_CONVERT_PLACED)
		fc_convert_unplace(job);
	return status;
}

static int start(struct fc_convert_job *job)
{
	struct fc_create_job c = { .kdf = job->kdf, .from = job->from, .cipher = fc_cipher_auto() };
	char *fresh = NULL;
	int status = choose_container(job);

	if (!status)
		status = fc_convert_check_protect(job);
	if (!status && asprintf(&fresh, "%s.new", job->container) < 0)
		status = FC_EXIT_FAILED;
	c.path = fresh;
	if (!status)
		status = fc_create_check(&c);
	if (!status) {
		fc_convert_say_flash(job);
		c.path = job->container; /* what it is called when it is asked for */
		status = fc_create_unlock(&c, &job->key.reply);
		c.path = fresh;
	}
	if (!status)
		status = create(job, &c);
	free(c.parent);
	free(fresh);
	return status;
}

/* ---- after an interruption ----------------------------------------------------------------- */

/* What began and had not yet moved anything. */
static int early(struct fc_convert_job *job)
{
	int status;

	if (!job->abort && job->journal.phase == FC_CONVERT_MADE)
		return fc_convert_place(job);
	status = fc_convert_unplace(job);
	close(job->staging);
	job->staging = -1;
	job->journaled = false;
	fc_convert_journal_free(&job->journal);
	free(job->container);
	job->container = NULL;
	memset(&job->journal, 0, sizeof(job->journal));
	return status ? status : job->abort ? 0 : start(job);
}

static bool is_of_protect(const struct fc_convert_job *job)
{
	return (job->journal.way == FC_CONVERT_IN) != job->journal.aborting;
}

static int go_on(struct fc_convert_job *job)
{
	const enum fc_convert_way way = job->abort ? FC_CONVERT_OUT : FC_CONVERT_IN;
	int status = 0;

	if (!is_of_protect(job)) {
		fc_cli_say("%s is being unprotected: `fusecrypt unprotect` goes on with that, `fusecrypt unprotect "
			   "--abort` protects it again",
			   job->arg);
		return FC_EXIT_FAILED;
	}
	if (job->journal.way == FC_CONVERT_IN && job->abort && job->journal.phase == FC_CONVERT_PLACED)
		return fc_convert_unplace(job);
	/* with the end of an abort there is no container to open any more */
	if (job->journal.way != FC_CONVERT_OUT || job->journal.phase != FC_CONVERT_DONE)
		status = fc_convert_open(job);
	if (!status && job->journal.way != way && job->fs)
		status = fc_convert_turn_round(job);
	else if (!status && job->journal.way != way)
		fc_cli_say("all of %s had been brought back already; that is finished now", job->arg);
	if (!status && job->fs)
		status = fc_convert_move(job);
	if (job->fs) {
		int closed = fc_convert_close(job);

		status = status ? status : closed;
	}
	if (!status)
		status = job->journal.way == FC_CONVERT_IN ? fc_convert_end_in(job) : fc_convert_end_out(job);
	if (!status && job->journal.way == FC_CONVERT_IN)
		status = fc_convert_mount(job);
	return status;
}

static int protect(struct fc_convert_job *job)
{
	int status = fc_convert_find(job);

	if (status)
		return status;
	if (!job->journaled && job->abort) {
		fc_cli_say("nothing of %s is under way: there is nothing to bring back (`fusecrypt unprotect` turns a "
			   "protected directory into an ordinary one)",
			   job->arg);
		return FC_EXIT_FAILED;
	}
	if (job->journaled && job->container_arg && strcmp(job->container_arg, job->container) && !job->json)
		fc_cli_say("going on with %s, which was begun", job->container);
	if (!job->journaled)
		status = start(job);
	else if (job->journal.phase < FC_CONVERT_PLACED)
		status = early(job);
	if (!status && job->journaled)
		status = go_on(job);
	else if (!status)
		job->journal.way = FC_CONVERT_OUT; /* early, and back */
	return status;
}

int fc_convert_command(bool in, int (*convert)(struct fc_convert_job *), int argc, char **argv)
{
	struct fc_convert_job *job = convert_new(in);
	int status;

	if (!job)
		return FC_EXIT_FAILED;
	status = parse(job, argc, argv);
	if (!status) {
		fc_convert_report_begin(job);
		status = convert(job);
		if (job->dir)
			fc_convert_say_done(job, status);
	}
	convert_free(job);
	return status;
}

static int run(int argc, char **argv)
{
	return fc_convert_command(true, protect, argc, argv);
}

const struct fc_command fc_command_protect = {
	.name = "protect",
	.arguments = "DIR [OPTION...]",
	.summary = "moves what is in a directory into a container, in place",
	.help = "  --container FILE             the container, DIR.fusecrypt unless given\n"
		"  --abort                      bring back everything of one that was interrupted\n"
		"  --skip-unreadable            leave what cannot be read or taken away, in DIR.not-protected\n"
		"  --kdf auto|interactive|moderate|sensitive    what a guess of the passphrase costs\n"
		"  --json                       progress and notes, one object a line\n" FC_HELP_SECRET
		"Interrupted, the same command goes on. DIR is left unlocked. Free space needed: 32 MiB and 2 %\n"
		"of the data.\n",
	.run = run,
};
