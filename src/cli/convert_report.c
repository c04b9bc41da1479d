/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/convert.h"
#include "cli/text.h"

#define NOTES_SHOWN 40 /* of a kind; JSON has them all */
#define PROGRESS_MS 500

static volatile sig_atomic_t interrupted;

static void on_signal(int signo)
{
	(void)signo;
	interrupted = 1;
}

bool fc_convert_on_stop(void *arg)
{
	(void)arg;
	return interrupted;
}

/* Between two steps it stops, and what is durable stays so. The daemon to come has its own way. */
static void handle_signals(void (*handler)(int))
{
	const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}

void fc_convert_report_begin(struct fc_convert_job *job)
{
	job->terminal = !job->json && isatty(STDERR_FILENO);
	job->options.note = fc_convert_on_note;
	job->options.progress = fc_convert_on_progress;
	job->options.stop = fc_convert_on_stop;
	job->options.skip = job->skip;
	job->options.container_fd = -1;
	job->options.arg = job;
	clock_gettime(CLOCK_MONOTONIC, &job->began);
	handle_signals(on_signal);
}

void fc_convert_clear_line(struct fc_convert_job *job)
{
	if (job->shown)
		fputs("\r\033[K", stderr);
	job->shown = false;
}

static void put_json(json_t *object)
{
	if (object)
		json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(object);
}

void fc_convert_report_end(void)
{
	handle_signals(SIG_DFL);
}

/* ---- notes --------------------------------------------------------------------- */

static const struct {
	const char *word, *text;
} notes[] = {
	[FC_CONVERT_UNREADABLE] = { "unreadable", "cannot be read by you" },
	[FC_CONVERT_FIXED] = { "fixed", "cannot be taken away from where it is: it is immutable, or in a directory of "
					"another user" },
	[FC_CONVERT_OWNER] = { "owner", "cannot be made by you as it is: it has another owner or is a device" },
	[FC_CONVERT_MOUNT] = { "mount", "is another file system" },
	[FC_CONVERT_LINKED] = { "linked", "has names outside too: its space does not come back, and there it stays "
					  "unencrypted" },
	[FC_CONVERT_SHARED] = { "shared", "shares its space with a copy or snapshot: that does not come back, and "
					  "there it stays unencrypted" },
	[FC_CONVERT_CHANGED] = { "changed", "was changed meanwhile" },
	[FC_CONVERT_FAILED] = { "failed", "cannot be moved" },
	[FC_CONVERT_SKIPPED] = { "skipped", "stays where it is" },
};

void fc_convert_on_note(void *arg, enum fc_convert_note what, const char *path, int error)
{
	struct fc_convert_job *job = arg;
	const char *why = what == FC_CONVERT_FAILED ? fc_error_text(error) : NULL;
	size_t n = ++job->notes[what];
	char *plain;

	if (job->json) {
		put_json(json_pack("{s:s, s:o, s:o}", "note", notes[what].word, "path", fc_text_json(path), "error",
				   why ? json_string(why) : json_null()));
		return;
	}
	if (n > NOTES_SHOWN + 1)
		return;
	fc_convert_clear_line(job);
	plain = fc_text_plain(path);
	if (n == NOTES_SHOWN + 1)
		fc_cli_say("and more of that kind; --json lists them all");
	else
		fc_cli_say("%s%s%s %s%s%s", job->arg, *path ? "/" : "", plain ? plain : "", notes[what].text,
			   why ? ": " : "", why ? why : "");
	free(plain);
}

/* ---- progress -------------------------------------------------------------------- */

static double since(const struct timespec *a, const struct timespec *b)
{
	return (double)(b->tv_sec - a->tv_sec) + (double)(b->tv_nsec - a->tv_nsec) / 1e9;
}

void fc_convert_on_progress(void *arg, uint64_t bytes, uint64_t names)
{
	struct fc_convert_job *job = arg;
	double rate, left, seconds;
	struct timespec now;

	if (!job->terminal && !job->json)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (since(&job->last, &now) * 1000 < PROGRESS_MS)
		return;
	job->last = now;
	seconds = since(&job->began, &now);
	rate = seconds > 0 ? (double)bytes / seconds : 0;
	left = rate > 0 && job->all_bytes > bytes ? (double)(job->all_bytes - bytes) / rate : 0;
	if (job->json) {
		put_json(json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "progress",
				   job->journal.way == FC_CONVERT_IN ? "in" : "out", "bytes_done", (json_int_t)bytes,
				   "bytes_all", (json_int_t)job->all_bytes, "names_done", (json_int_t)names,
				   "names_all", (json_int_t)job->all_names, "bytes_per_second", (json_int_t)rate,
				   "seconds_left", (json_int_t)left));
		return;
	}
	job->shown = true;
	fprintf(stderr, "\r\033[K%.1f of %.1f MiB, %.1f MiB/s, %u:%02u left", (double)bytes / (1 << 20),
		(double)job->all_bytes / (1 << 20), rate / (1 << 20), (unsigned)left / 60, (unsigned)left % 60);
	fflush(stderr);
}

/* ---- sentences ---------------------------------------------------------------------- */

int fc_convert_say_error(struct fc_convert_job *job, int error)
{
	const char *command = job->protect ? "protect" : "unprotect";

	fc_convert_clear_line(job);
	switch (error) {
	case 0:
		return 0;
	case FC_EINTERRUPTED:
		fc_cli_say("interrupted: nothing is lost. `fusecrypt %s` goes on from there, `fusecrypt %s --abort` "
			   "brings everything back",
			   command, command);
		break;
	case FC_ENOSPC:
		fc_cli_say("there is too little free space to go on: nothing is lost. Make some room; then `fusecrypt "
			   "%s` goes on from there, `fusecrypt %s --abort` brings everything back",
			   command, command);
		break;
	case FC_ESTALE:
		fc_cli_say("a file that was half moved is not as it was left, so nothing more was done with it: on a "
			   "terminal you are asked whether to go on with it as it is");
		break;
	default:
		fc_cli_say("%s was not finished (%s): nothing is lost. `fusecrypt %s` goes on from there, `fusecrypt "
			   "%s --abort` brings everything back",
			   job->arg, fc_error_text(error), command, command);
	}
	return fc_cli_exit(error);
}

void fc_convert_say_flash(const struct fc_convert_job *job)
{
	if (!job->json)
		fc_cli_say("note: the unencrypted files are deleted, not overwritten. On any disk their old content "
			   "stays until its place is used again, and a flash disk (SSD, stick, card) may keep it much "
			   "longer where no program can reach it. `fstrim` on the file system helps where the disk "
			   "really discards; what must never be found is written to a protected directory from the "
			   "start, or the disk is erased by its own command (secure erase)");
}

void fc_convert_say_done(struct fc_convert_job *job, int status)
{
	fc_convert_clear_line(job);
	if (job->json)
		put_json(json_pack("{s:s, s:o, s:o, s:i}", "done", job->journal.way == FC_CONVERT_IN ? "in" : "out",
				   "directory", fc_text_json(job->dir), "container", fc_text_json(job->container),
				   "status", status));
	else if (!status && job->journal.way == FC_CONVERT_IN)
		printf("%s is protected and unlocked; its container is %s\n", job->dir, job->container);
	else if (!status)
		printf("%s is an ordinary directory again\n", job->dir);
}
