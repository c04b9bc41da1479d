/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compact: step by step, by the daemon where the container is mounted. An interrupt, or
 * this program's end, leaves off between two steps. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/mount.h"
#include "cli/subject.h"

#define PAUSE_MAX_MS 200

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static unsigned long long mebibytes(uint64_t bytes)
{
	return (bytes + (1u << 20) - 1) >> 20;
}

static void show(const struct fc_fs_compacting *p)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%llu MiB moved, of about %llu \033[K", mebibytes(p->bytes_moved),
			mebibytes(p->bytes_to_move));
}

static int tell(const char *path, const struct fc_fs_compacting *p, int status)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	if (status && status != FC_EXIT_INTERRUPTED)
		return status;
	printf("%llu MiB moved, the file is %llu MiB shorter\n", mebibytes(p->bytes_moved), mebibytes(p->bytes_cut));
	if (p->bytes_unreadable)
		fc_cli_say("%llu MiB of %s do not authenticate and were left where they are: see `fusecrypt check`",
			   mebibytes(p->bytes_unreadable), path);
	return status ? status : p->bytes_unreadable ? FC_EXIT_DAMAGED : FC_EXIT_DONE;
}

/* ---- mounted ------------------------------------------------------------------------ */

static int say_refused(const char *path, int err)
{
	if (err == EPERM || err == EACCES)
		fc_cli_say("%s was mounted by another user, who may compact it, or root", path);
	else if (err == EROFS)
		fc_cli_say("%s is mounted read-only", path);
	else
		fc_cli_say("%s cannot be compacted: %s", path, strerror(err));
	return err == ENOSPC ? FC_EXIT_NO_SPACE : FC_EXIT_FAILED;
}

/* As long as a step took: half of the time belongs to others. */
static void pause_for(const struct timespec *from)
{
	struct timespec now, nap = { 0 };
	int64_t ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (now.tv_sec - from->tv_sec) * 1000 + (now.tv_nsec - from->tv_nsec) / 1000000;
	nap.tv_nsec = (ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS) * 1000000;
	nanosleep(&nap, NULL);
}

static int compact_mounted(const struct fc_subject *s, const char *path)
{
	struct fc_fs_compacting sum = { 0 };
	struct fc_ioc_compact arg;
	struct timespec from;
	int err;

	do {
		clock_gettime(CLOCK_MONOTONIC, &from);
		arg = (struct fc_ioc_compact){ .end = interrupted };
		err = fc_mount_command(s->m, FC_IOC_COMPACT, &arg, sizeof(arg));
		if (err == EINTR)
			continue;
		if (err)
			return tell(path, &sum, say_refused(path, err));
		if (interrupted && arg.done && !arg.bytes_to_move && !arg.bytes_moved)
			return tell(path, &sum, FC_EXIT_INTERRUPTED);
		sum = (struct fc_fs_compacting){ arg.bytes_to_move, arg.bytes_moved, arg.bytes_cut,
						 arg.bytes_unreadable, arg.done };
		show(&sum);
		if (!arg.done && !interrupted)
			pause_for(&from);
	} while (err || !arg.done);
	return tell(path, &sum, FC_EXIT_DONE);
}

/* ---- not mounted --------------------------------------------------------------------- */

static int compact_here(const char *path, const struct fc_secret_from *from)
{
	struct fc_mount_job *job;
	struct fc_fs_compacting sum = { 0 };
	struct fc_fs *fs;
	int status = fc_mount_open(path, from, &job, &fs), rc = 0, closed;

	if (status)
		return status;
	catch_signals();
	while (!rc && !sum.done && !interrupted) {
		rc = fc_fs_compact(fs, &sum);
		show(&sum);
	}
	fc_fs_compact_end(fs);
	closed = fc_fs_close(fs);
	fc_mount_free(job);
	rc = rc ? rc : closed;
	if (rc)
		fc_cli_say("%s cannot be compacted: %s", path, fc_error_text(rc));
	return tell(path, &sum, rc ? fc_cli_exit(rc) : sum.done ? FC_EXIT_DONE : FC_EXIT_INTERRUPTED);
}

static int run(int argc, char **argv)
{
	struct fc_secret_from from = FC_SECRET_FROM_NONE;
	struct fc_subject subject;
	int status = fc_secret_options(argc, argv, &from);

	if (status)
		return status;
	if (argc - optind != 1)
		return fc_cli_usage("compact", "compact needs one container or mount point");
	status = fc_subject_find(&subject, argv[optind]);
	if (!status && subject.m) {
		catch_signals();
		status = compact_mounted(&subject, argv[optind]);
	} else if (!status) {
		status = compact_here(subject.container, &from);
	}
	fc_subject_free(&subject);
	return status;
}

const struct fc_command fc_command_compact = {
	.name = "compact",
	.arguments = "CONTAINER|MOUNTPOINT [SECRET]",
	.summary = "moves what lies at the container's end down and cuts the file",
	.help = "  It may be interrupted at any time, and in a mount anything else goes on meanwhile.\n"
		"  --passphrase-file FILE, --passphrase-fd N, --key-file FILE, --recovery-code-file FILE\n"
		"                               needed where it is not mounted\n",
	.run = run,
};
