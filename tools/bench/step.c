/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"
#include "step.h"

#define REDRAW_NS 200000000L /* between two drawings of the progress display */
#define GRACE_SECONDS 3      /* that a child gets to end by itself after SIGTERM */

static void fail(struct bench_step *step, const char *format, va_list args, int error)
{
	char *out = step->shared->error;
	size_t room = sizeof(step->shared->error);
	int n = vsnprintf(out, room, format, args);
	if (error && n >= 0 && (size_t)n < room)
		snprintf(out + n, room - (size_t)n, ": %s", strerror(error));
}

int fc_step_fail(struct bench_step *step, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fail(step, format, args, 0);
	va_end(args);
	return -1;
}

int fc_step_fail_errno(struct bench_step *step, const char *format, ...)
{
	int error = errno;
	va_list args;
	va_start(args, format);
	fail(step, format, args, error);
	va_end(args);
	return -1;
}

void fc_step_note(struct bench_step *step, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(step->shared->note, sizeof(step->shared->note), format, args);
	va_end(args);
}

static void signals_to_end(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

void fc_step_begin(void)
{
	sigset_t set;
	signals_to_end(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* A SIGCHLD that the caller of this program ignores would never be told. */
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
}

__attribute__((noreturn)) static void child(struct bench_step *step, const char *dir, bench_step_fn fn, const void *arg)
{
	sigset_t none;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (chdir(dir)) {
		fc_step_fail_errno(step, "%s", dir);
		_exit(1);
	}
	_exit(fn(step, arg) ? 1 : 0);
}

/* Ends the group and waits until nobody is left in it: a process that still had
 * a file open would keep the directory from being unmounted. */
static void end_group(pid_t leader)
{
	kill(-leader, SIGKILL);
	while (waitpid(-leader, NULL, 0) > 0 || errno == EINTR)
		;
}

static void end_politely(pid_t leader, const sigset_t *set)
{
	double until = fc_bench_now() + GRACE_SECONDS;
	kill(-leader, SIGTERM);
	while (fc_bench_now() < until) {
		siginfo_t info = { 0 };
		if (waitid(P_PID, (id_t)leader, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid)
			break;
		struct timespec t = { .tv_nsec = 50000000L };
		sigtimedwait(set, NULL, &t);
	}
	end_group(leader);
}

/* The leader's status, or -2 after a signal. */
static int wait_for(struct bench *bench, pid_t pid, const char *what, bool to_the_end)
{
	sigset_t set;
	if (to_the_end)
		sigemptyset(&set);
	else
		signals_to_end(&set);
	sigaddset(&set, SIGCHLD);
	for (;;) {
		siginfo_t info = { 0 };
		if (!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == pid) {
			int status = 0;
			waitpid(pid, &status, 0);
			if (!to_the_end)
				end_group(pid);
			return status;
		}
		struct timespec t = { .tv_nsec = REDRAW_NS };
		int sig = sigtimedwait(&set, NULL, &t);
		if (sig > 0 && sig != SIGCHLD) {
			bench->interrupted = true;
			end_politely(pid, &set);
			return -2;
		}
		if (what)
			fc_progress_draw(bench->progress, what, bench->shared);
	}
}

static int run(struct bench *bench, struct bench_step *step, const char *dir, const char *what, bench_step_fn fn,
	       const void *arg, bool to_the_end)
{
	if (bench->interrupted && !to_the_end)
		return -2;
	step->shared->error[0] = '\0';
	fc_step_progress(step, 0, 0);
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		return fc_step_fail_errno(step, "no new process");
	if (!pid)
		child(step, dir, fn, arg);
	setpgid(pid, pid);
	int status = wait_for(bench, pid, what, to_the_end);
	if (status == -2)
		return -2;
	if (WIFSIGNALED(status))
		return fc_step_fail(step, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (!WEXITSTATUS(status))
		return 0;
	if (!step->shared->error[0])
		fc_step_fail(step, "failed with exit status %d", WEXITSTATUS(status));
	return -1;
}

int fc_step_run(struct bench *bench, struct bench_step *step, const char *dir, const char *what, bench_step_fn fn,
		const void *arg)
{
	return run(bench, step, dir, what, fn, arg, false);
}

int fc_step_finish(struct bench *bench, struct bench_step *step, const char *dir, bench_step_fn fn, const void *arg)
{
	return run(bench, step, dir, NULL, fn, arg, true);
}
