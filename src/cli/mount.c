/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

enum { OPT_READ_ONLY = FC_OPT_OWN, OPT_FOREGROUND, OPT_TRACE, OPT_ACCEPT_OLDER };

static const struct option options[] = {
	FC_SECRET_OPTIONS,
	{ "read-only", no_argument, NULL, OPT_READ_ONLY },
	{ "foreground", no_argument, NULL, OPT_FOREGROUND },
	{ "trace-requests", no_argument, NULL, OPT_TRACE },
	{ "accept-older", no_argument, NULL, OPT_ACCEPT_OLDER },
	{ NULL, 0, NULL, 0 },
};

/* Only SIGINT and the like, so that stopping and continuing work as ever. */
static void signal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGQUIT);
}

/* True when the daemon said that it answers; signals are passed on to it. */
static bool wait_ready(int ready, int signals, pid_t pid, bool *interrupted)
{
	struct pollfd p[2] = { { ready, POLLIN, 0 }, { signals, POLLIN, 0 } };
	struct signalfd_siginfo info;
	char byte;
	ssize_t n;

	for (;;) {
		if (poll(p, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return false;
		}
		if (p[1].revents & POLLIN && read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
			*interrupted = true;
			kill(pid, (int)info.ssi_signo);
		}
		if (!(p[0].revents & (POLLIN | POLLHUP)))
			continue;
		n = read(ready, &byte, 1);
		if (n >= 0 || errno != EINTR)
			return n == 1;
	}
}

/* The daemon ended before its mount answered: its exit status is ours. */
static int early_end(pid_t pid, bool interrupted)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return FC_EXIT_FAILED;
	if (interrupted)
		return FC_EXIT_INTERRUPTED;
	if (WIFEXITED(status) && WEXITSTATUS(status))
		return WEXITSTATUS(status);
	if (WIFSIGNALED(status))
		fc_cli_say("the daemon was killed by signal %d before the mount answered", WTERMSIG(status));
	return FC_EXIT_FAILED;
}

static int start_daemon(struct fc_mount_job *job)
{
	sigset_t set, old;
	struct stat st;
	bool interrupted = false, ready;
	int p[2], signals, status;
	pid_t pid;

	signal_set(&set);
	sigprocmask(SIG_BLOCK, &set, &old);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0 || pipe2(p, O_CLOEXEC)) {
		fc_cli_say("the daemon cannot be started: %s", strerror(errno));
		return FC_EXIT_FAILED;
	}
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		fc_cli_say("the daemon cannot be started: %s", strerror(errno));
		return FC_EXIT_FAILED;
	}
	if (pid == 0) {
		close(signals);
		close(p[0]);
		sigprocmask(SIG_SETMASK, &old, NULL);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		job->ready_fd = p[1];
		status = fc_mount_serve(job);
		fflush(NULL);
		_exit(status);
	}
	close(p[1]);
	ready = wait_ready(p[0], signals, pid, &interrupted);
	close(p[0]);
	close(signals);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (!ready)
		return early_end(pid, interrupted);
	if (stat(job->mountpoint_arg, &st)) {
		fc_cli_say("%s is mounted, but does not answer: %s", job->mountpoint_arg, strerror(errno));
		return FC_EXIT_FAILED;
	}
	return FC_EXIT_DONE;
}

/* Command line over `-o`. */
static void merge_sources(struct fc_mount_job *job)
{
	if (!job->from.passphrase_file && job->from.passphrase_fd < 0)
		job->from.passphrase_file = job->options.passphrase_file;
	if (!job->from.key_file)
		job->from.key_file = job->options.key_file;
}

static int parse(int argc, char **argv, struct fc_mount_job *job)
{
	char why[512];
	bool read_only = false;
	int c, rc;

	while ((c = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			if (fc_mount_options_parse(&job->options, optarg, why, sizeof(why)))
				return fc_cli_usage("mount", "%s", why);
			break;
		case OPT_READ_ONLY:
			read_only = true;
			break;
		case OPT_FOREGROUND:
			job->foreground = true;
			break;
		case OPT_TRACE:
			job->trace_requests = true;
			break;
		case OPT_ACCEPT_OLDER:
			job->accept_older = true;
			break;
		default:
			rc = fc_secret_option(&job->from, c, optarg);
			if (rc == FC_ENOENT)
				return fc_cli_bad_option(argv);
			if (rc)
				return FC_EXIT_USAGE;
		}
	}
	job->options.read_only |= read_only;
	if (fc_cli_operands(argc, argv, 2, "a container and a mount point"))
		return FC_EXIT_USAGE;
	job->container_arg = argv[optind];
	job->mountpoint_arg = argv[optind + 1];
	return 0;
}

struct fc_mount_job *fc_mount_new(void)
{
	struct fc_mount_job *job = calloc(1, sizeof(*job));

	if (!job) {
		fc_cli_say("out of memory");
		return NULL;
	}
	job->from = FC_SECRET_FROM_NONE;
	job->ready_fd = -1;
	job->locked_fd = -1;
	return job;
}

void fc_mount_free(struct fc_mount_job *job)
{
	fc_io_close(job->io);
	fc_io_close(job->later);
	fc_mount_options_free(&job->options);
	free(job->container);
	free(job->mountpoint);
	free(job);
}

void fc_mount_for_owner(struct fc_mount_job *job)
{
	char why[512];
	struct stat st;

	if (!geteuid() && !job->options.allow_other && !lstat(job->mountpoint_arg, &st) && st.st_uid &&
	    fc_mount_options_parse(&job->options, "allow_other", why, sizeof(why)))
		fc_cli_say("warning: its owner cannot be let in to %s: %s", job->mountpoint_arg, why);
}

int fc_mount_run(struct fc_mount_job *job)
{
	merge_sources(job);
	if (job->options.no_replay && !job->options.read_only)
		return fc_cli_usage("mount", "mount option norecovery: it leaves out the last changes, and needs ro");
	return job->foreground ? fc_mount_serve(job) : start_daemon(job);
}

int fc_mount_main(int argc, char **argv, bool by_helper)
{
	struct fc_mount_job *job = fc_mount_new();
	int status;

	if (!job)
		return FC_EXIT_FAILED;
	status = parse(argc, argv, job);
	job->remountable = by_helper && !geteuid() && job->options.read_only && !job->options.no_replay;
	if (!status)
		status = fc_mount_run(job);
	fc_mount_free(job);
	return status;
}

static int run(int argc, char **argv)
{
	return fc_mount_main(argc, argv, false);
}

const struct fc_command fc_command_mount = {
	.name = "mount",
	.arguments = "CONTAINER MOUNTPOINT [OPTION...]",
	.summary = "shows what a container holds, in a directory",
	.help = "  --read-only                  change nothing\n"
		"  --foreground                 stay in the foreground, trouble goes to standard error\n"
		"  --trace-requests             count the kernel's requests by kind; shown at the end, with "
		"--foreground\n"
		"  --accept-older               go on from a state older than this machine saw last\n"
		"  --passphrase-file FILE       first line of FILE (- is standard input)\n"
		"  --passphrase-fd N            first line of what descriptor N gives\n"
		"  --key-file FILE              the whole of FILE is the secret\n"
		"  --recovery-code-file FILE    first line of FILE is a recovery code\n"
		"  -o OPT,...                     allow_other, ro, noatime and the like; norecovery (with ro: leave\n"
		"                               out what only the log holds), commit=SECONDS (5), cache=SIZE,\n"
		"                               idle=TIME, uid=, gid=, passphrase-file=, key-file=;\n"
		"                               a comma within a value is written \\,\n",
	.run = run,
};
