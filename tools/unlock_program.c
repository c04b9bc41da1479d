/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unlock_program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unlock_secret.h"

#define SYSTEMD_ASK "/usr/bin/systemd-ask-password"
#define SYSTEMD_BOOTED "/run/systemd/system"
#define SYSTEMD_AGENTS "/run/systemd/ask-password"
#define PROMPT_MAX (PATH_MAX + 512)
#define SECONDS_MAX 3600

/* Of this process: it has at most one. */
static struct {
	int sock; /* 0: none */
	pid_t pid;
	const char *name;
	int seconds, grace; /* to answer; for one that keeps the time itself */
	char timeout[32];
	const char *argv[8]; /* the prompt goes to argv[argc] */
	int argc;
} runner;

/* ---- which one -------------------------------------------------------------------- */

static bool choose_systemd(void)
{
	if (access(SYSTEMD_BOOTED, F_OK) || access(SYSTEMD_AGENTS, W_OK) || access(SYSTEMD_ASK, X_OK))
		return false;
	snprintf(runner.timeout, sizeof(runner.timeout), "--timeout=%d", runner.seconds);
	runner.name = SYSTEMD_ASK;
	runner.argv[0] = SYSTEMD_ASK;
	runner.argv[1] = "--no-tty";
	runner.argv[2] = "--id=fusecrypt";
	runner.argv[3] = "--icon=drive-harddisk";
	runner.argv[4] = runner.timeout;
	runner.argc = 5;
	runner.grace = 2;
	return true;
}

static bool choose(void)
{
	const char *own = getenv("FUSECRYPT_ASKPASS"), *ssh = getenv("SSH_ASKPASS");

	if (own && !*own)
		return false;
	if (!own && (!ssh || !*ssh))
		return choose_systemd();
	runner.name = runner.argv[0] = own ? own : ssh;
	runner.argc = 1;
	return true;
}

static int take_timeout(void)
{
	const char *text = getenv("FUSECRYPT_ASKPASS_TIMEOUT");
	char *end;
	long v;

	runner.seconds = UNLOCK_PROGRAM_SECONDS;
	if (!text)
		return 0;
	v = strtol(text, &end, 10);
	if (!*text || *end || v < 1 || v > SECONDS_MAX) {
		unlock_say("FUSECRYPT_ASKPASS_TIMEOUT is '%s': a number of seconds from 1 to %d is needed", text,
			   SECONDS_MAX);
		return FC_EINVAL;
	}
	runner.seconds = (int)v;
	return 0;
}

static bool has_terminal(void)
{
	int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (tty >= 0)
		close(tty);
	return tty >= 0;
}

/* ---- the runner, a process of its own ------------------------------------------------ */

/* This process and all that it started, which may clean up for a moment. */
static void end_group(int sig)
{
	(void)sig;
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	for (int i = 0; i < 20 && waitpid(-1, NULL, WNOHANG) == 0; i++)
		poll(NULL, 0, 10);
	kill(0, SIGKILL);
}

/* One prompt; *out is where the answer goes. False: nobody asks any more. */
static bool next_prompt(int sock, char prompt[PROMPT_MAX], int *out)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { prompt, PROMPT_MAX - 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c;
	ssize_t n;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)))
		return false;
	prompt[n] = '\0';
	memcpy(out, CMSG_DATA(c), sizeof(*out));
	return true;
}

static void exec_program(const char *prompt, int out)
{
	union {
		const char *const *in;
		char *const *out;
	} argv = { runner.argv };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	runner.argv[runner.argc] = prompt;
	runner.argv[runner.argc + 1] = NULL;
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(126);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(runner.argv[0], argv.out);
	_exit(127);
}

/* Its status as of waitpid. Ends all when nobody waits for that any more. */
static int run_program(int sock, const char *prompt, int out)
{
	struct pollfd p[2] = { { sock, POLLIN, 0 }, { -1, POLLIN, 0 } };
	int status;
	pid_t pid = fork();

	if (pid == 0)
		exec_program(prompt, out);
	close(out);
	p[1].fd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	if (p[1].fd < 0)
		end_group(0);
	while (!(p[1].revents & POLLIN)) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			end_group(0);
		if (p[0].revents)
			end_group(0);
	}
	close(p[1].fd);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			end_group(0);
	return status;
}

static _Noreturn void be_runner(int sock, pid_t parent)
{
	struct sigaction act = { .sa_handler = end_group };
	char prompt[PROMPT_MAX];
	int out, status;

	if (setpgid(0, 0))
		_exit(1);
	sigaction(SIGTERM, &act, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(0);
	/* what the helper inherited is not for the program */
	if (dup2(sock, 3) < 0 || fcntl(3, F_SETFD, FD_CLOEXEC) || syscall(SYS_close_range, 4u, ~0u, 0))
		_exit(1);
	while (next_prompt(3, prompt, &out)) {
		status = run_program(3, prompt, out);
		if (send(3, &status, sizeof(status), MSG_NOSIGNAL) != (ssize_t)sizeof(status))
			break;
	}
	_exit(0);
}

int unlock_program_start(void)
{
	pid_t self = getpid();
	int pair[2], rc;

	if (has_terminal())
		return 0;
	rc = take_timeout();
	if (rc || !choose())
		return rc;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return FC_EIO;
	runner.pid = fork();
	if (runner.pid == 0)
		be_runner(pair[1], self);
	close(pair[1]);
	runner.sock = pair[0];
	if (runner.pid > 0)
		return 0;
	close(pair[0]);
	runner.sock = 0;
	unlock_say("a process for %s could not be made", runner.name);
	return FC_EIO;
}

bool unlock_program_there(void)
{
	return runner.sock > 0;
}

void unlock_program_end(void)
{
	if (!runner.sock)
		return;
	close(runner.sock);
	runner.sock = 0;
	while (waitpid(runner.pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* ---- asking it ------------------------------------------------------------------------ */

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool send_prompt(const char *prompt, int out)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_len = strlen(prompt) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	char text[PROMPT_MAX];

	if (iov.iov_len >= PROMPT_MAX)
		iov.iov_len = PROMPT_MAX - 1;
	memcpy(text, prompt, iov.iov_len);
	iov.iov_base = text;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &out, sizeof(out));
	return sendmsg(runner.sock, &msg, MSG_NOSIGNAL) == (ssize_t)iov.iov_len;
}

struct answer {
	int fd;
	uint8_t *buf;
	size_t room, n;
	bool line, end; /* the first line is whole; no more comes */
};

/* Takes what is there; what follows the first line is thrown away. 0 or FC_EFBIG. */
static int take(struct answer *a)
{
	uint8_t rest[256];
	uint8_t *at = a->line || a->n == a->room ? rest : a->buf + a->n;
	size_t room = at == rest ? sizeof(rest) : a->room - a->n;
	ssize_t r = read(a->fd, at, room);
	uint8_t *newline = r > 0 ? memchr(at, '\n', (size_t)r) : NULL;
	int rc = 0;

	if (r < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (r <= 0) {
		a->end = true;
	} else if (at == rest && !a->line) {
		/* full: all that may come is its end */
		a->line = newline == rest;
		rc = a->line ? 0 : FC_EFBIG;
	} else if (!a->line) {
		a->line = newline;
		if (newline)
			explicit_bzero(newline, (size_t)(at + r - newline));
		a->n += newline ? (size_t)(newline - at) : (size_t)r;
	}
	explicit_bzero(rest, sizeof(rest));
	return rc;
}

/* Until the program has ended; *status is its. FC_EAGAIN: it takes too long. */
static int collect(struct answer *a, int *status)
{
	int64_t end = now_ms() + (int64_t)(runner.seconds + runner.grace) * 1000;
	int rc;

	for (;;) {
		struct pollfd p[2] = { { a->end ? -1 : a->fd, POLLIN, 0 }, { runner.sock, POLLIN, 0 } };
		int64_t left = end - now_ms();

		if (left <= 0)
			return FC_EAGAIN;
		if (poll(p, 2, (int)left) < 0 && errno != EINTR)
			return FC_EIO;
		rc = p[0].revents ? take(a) : 0;
		if (rc)
			return rc;
		/* what it printed comes first; who else holds its output is not waited for */
		if (p[1].revents && !p[0].revents)
			return recv(runner.sock, status, sizeof(*status), 0) == (ssize_t)sizeof(*status) ? 0 : FC_EIO;
	}
}

static int judge(const struct answer *a, int rc, int status)
{
	if (rc == FC_EFBIG)
		return rc;
	if (rc == FC_EAGAIN)
		unlock_say("%s did not answer within %d seconds", runner.name, runner.seconds);
	else if (rc)
		unlock_say("%s could not be asked", runner.name);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		unlock_say("%s cannot be run to ask for the passphrase", runner.name);
	else if (WIFSIGNALED(status))
		unlock_say("%s was ended by signal %d: nothing it printed counts", runner.name, WTERMSIG(status));
	else if (status)
		unlock_say("%s ended with status %d: nothing it printed counts", runner.name, WEXITSTATUS(status));
	else if (!a->n)
		unlock_say("%s printed no passphrase on its standard output", runner.name);
	else
		return 0;
	return FC_EIO;
}

int unlock_program_ask(const char *prompt, uint8_t *buf, size_t room, size_t *n)
{
	struct answer a = { .buf = buf, .room = room };
	int pair[2], status = 0, rc = FC_EIO;

	*n = 0;
	if (!runner.sock)
		return FC_ENXIO;
	if (pipe2(pair, O_CLOEXEC))
		return FC_EIO;
	a.fd = pair[0];
	fcntl(a.fd, F_SETFL, O_NONBLOCK);
	if (send_prompt(prompt, pair[1])) {
		close(pair[1]);
		pair[1] = -1;
		rc = collect(&a, &status);
	}
	if (pair[1] >= 0)
		close(pair[1]);
	close(a.fd);
	rc = judge(&a, rc, status);
	if (!rc) {
		*n = a.n;
		return 0;
	}
	explicit_bzero(buf, room);
	unlock_program_end();
	return rc;
}
