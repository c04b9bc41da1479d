/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happens beside the requests, in a thread of its own: it tells when the
 * mount answers, and unmounts on a signal or when nothing was asked for long.
 */
#include "session/session_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "session/steward.h"

void fc_log(const struct fc_session *session, int priority, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (session->options->log)
		session->options->log(session->options->arg, priority, text);
}

/* ---- signals ------------------------------------------------------------ */

static const int caught[] = { SIGTERM, SIGINT, SIGHUP };

/* Signals are the process's, and so are these; one session a process. */
static int signal_pipe = -1;
static struct sigaction former[sizeof(caught) / sizeof(caught[0]) + 1];

/* A handler and not signalfd: threads of others may not have the signals blocked. */
static void on_signal(int number)
{
	int saved = errno;
	char byte = (char)number;

	/* A full pipe holds enough signals. */
	if (write(signal_pipe, &byte, 1) < 0)
		errno = saved;
	errno = saved;
}

int fc_control_begin(struct fc_session *session)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	size_t n = sizeof(caught) / sizeof(caught[0]);
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return errno;
	session->signal_read = fds[0];
	session->signal_write = signal_pipe = fds[1];
	for (size_t i = 0; i < n; i++)
		sigaction(caught[i], &action, &former[i]);
	/* A log that has gone away must not end the mount. */
	sigaction(SIGPIPE, &ignore, &former[n]);
	return 0;
}

void fc_control_end(struct fc_session *session)
{
	size_t n = sizeof(caught) / sizeof(caught[0]);

	for (size_t i = 0; i < n; i++)
		sigaction(caught[i], &former[i], NULL);
	sigaction(SIGPIPE, &former[n], NULL);
	signal_pipe = -1;
	close(session->signal_read);
	close(session->signal_write);
}

/* ---- unmounting --------------------------------------------------------- */

static void leave(struct fc_session *session, const char *why)
{
	int committed, error;

	fc_session_use(session);
	committed = fc_fs_commit(session->fs);
	fc_session_use_end(session);
	error = fc_steward_unmount(session->options->steward);
	if (committed && committed != FC_EROFS)
		fc_log(session, LOG_ERR, "%s: cannot commit: %s", why, fc_error_text(committed));
	if (error == EBUSY)
		fc_log(session, LOG_NOTICE, "%s: %sin use, so it stays mounted", why,
		       committed ? "" : "everything is committed; ");
	else if (error)
		fc_log(session, LOG_ERR, "%s: cannot unmount: %s", why, strerror(error));
}

/* Being in use is no news here. */
static void leave_idle(struct fc_session *session)
{
	int error = fc_steward_unmount(session->options->steward);

	if (error && error != EBUSY)
		fc_log(session, LOG_ERR, "idle, but cannot unmount: %s", strerror(error));
}

/* ---- once it answers ---------------------------------------------------- */

static void tell_ready(struct fc_session *session)
{
	const struct fc_session_options *options = session->options;
	int error = fc_steward_settle(options->steward);

	if (options->ready)
		options->ready(options->arg, error, error ? "the mount does not answer" : "");
}

/* ---- the thread --------------------------------------------------------- */

/* Milliseconds until the mount may have been idle for long enough, -1: never. */
static int until_idle(const struct fc_session *session, uint64_t since_ns)
{
	uint64_t last = atomic_load(&session->loop.last_request_ns), now = fc_now_ns();
	uint64_t due = (uint64_t)session->options->idle_seconds * 1000000000u;

	if (!session->options->idle_seconds)
		return -1;
	due += last > since_ns ? last : since_ns;
	return now >= due ? 0 : (int)((due - now) / 1000000u) + 1;
}

void *fc_control_main(void *arg)
{
	struct fc_session *session = arg;
	struct pollfd pipe = { .fd = session->signal_read, .events = POLLIN };
	uint64_t since = fc_now_ns(); /* the last try to unmount, which made requests itself */
	char number;

	tell_ready(session);
	for (;;) {
		int wait = until_idle(session, since);

		if (wait == 0) {
			leave_idle(session);
			since = fc_now_ns();
			continue;
		}
		if (poll(&pipe, 1, wait) <= 0 || read(session->signal_read, &number, 1) != 1)
			continue;
		if (!number)
			return NULL;
		leave(session, number == SIGTERM ? "SIGTERM" : number == SIGINT ? "SIGINT" : "SIGHUP");
		since = fc_now_ns();
	}
}
