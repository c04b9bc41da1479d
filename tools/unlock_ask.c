/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unlock_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };
#define CAUGHT (sizeof(caught) / sizeof(caught[0]))

static volatile sig_atomic_t got_signal;

static void on_signal(int sig)
{
	got_signal = sig;
}

struct asking {
	int tty;
	bool shown; /* what is typed */
	struct termios before;
	struct sigaction actions[CAUGHT];
	sigset_t mask;
};

static void put(int fd, const char *text)
{
	size_t n = strlen(text);

	while (n) {
		ssize_t w = write(fd, text, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return;
		text += w;
		n -= (size_t)w;
	}
}

int unlock_tell(const char *line)
{
	int tty = open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC);

	if (tty < 0)
		return FC_ENXIO;
	put(tty, line);
	put(tty, "\n");
	close(tty);
	return 0;
}

/* The signals stay blocked but while ppoll waits, so that none is missed
 * between a look at got_signal and the wait. */
static void catch_signals(struct asking *a)
{
	struct sigaction act = { .sa_handler = on_signal };
	sigset_t block;

	sigemptyset(&act.sa_mask);
	sigemptyset(&block);
	for (size_t i = 0; i < CAUGHT; i++)
		sigaddset(&block, caught[i]);
	sigprocmask(SIG_BLOCK, &block, &a->mask);
	for (size_t i = 0; i < CAUGHT; i++) {
		sigaction(caught[i], &act, &a->actions[i]);
		/* what the caller ignores stays ignored (nohup) */
		if (a->actions[i].sa_handler == SIG_IGN)
			sigaction(caught[i], &a->actions[i], NULL);
	}
	got_signal = 0;
}

static void release_signals(struct asking *a)
{
	for (size_t i = 0; i < CAUGHT; i++)
		sigaction(caught[i], &a->actions[i], NULL);
	sigprocmask(SIG_SETMASK, &a->mask, NULL);
}

static int echo_off(struct asking *a)
{
	struct termios quiet;

	if (tcgetattr(a->tty, &a->before))
		return FC_ENXIO;
	quiet = a->before;
	if (!a->shown)
		quiet.c_lflag &= ~(tcflag_t)ECHO;
	quiet.c_lflag |= ICANON | ECHONL;
	while (tcsetattr(a->tty, TCSAFLUSH, &quiet))
		if (errno != EINTR)
			return FC_EIO;
	return 0;
}

static void echo_back(struct asking *a)
{
	while (tcsetattr(a->tty, TCSADRAIN, &a->before) && errno == EINTR)
		;
}

/* One line; the terminal is quiet. */
static int read_answer(struct asking *a, uint8_t *buf, size_t room, size_t *n)
{
	struct pollfd p = { a->tty, POLLIN, 0 };
	uint8_t extra;
	ssize_t r;

	while (ppoll(&p, 1, NULL, &a->mask) < 0)
		if (errno != EINTR || got_signal)
			return errno == EINTR ? FC_EINTERRUPTED : FC_EIO;
	r = read(a->tty, buf, room);
	if (r <= 0)
		return FC_EINTERRUPTED;
	if (buf[r - 1] == '\n') {
		*n = (size_t)r - 1;
		return 0;
	}
	*n = (size_t)r;
	/* Full, or ended by an end-of-file character. */
	if ((size_t)r < room)
		return 0;
	return read(a->tty, &extra, 1) == 1 && extra == '\n' ? 0 : FC_EFBIG;
}

static int ask_once(struct asking *a, const char *prompt, uint8_t *buf, size_t room, size_t *n)
{
	int rc = echo_off(a);

	if (rc)
		return rc;
	put(a->tty, prompt);
	rc = read_answer(a, buf, room, n);
	/* The stop must be pending before the terminal is given back: if the shell
	 * takes it first, that stops us too (SIGTTOU), and what then continues us
	 * takes the pending stop away instead of meeting it afterwards. */
	if (rc == FC_EINTERRUPTED && got_signal == SIGTSTP)
		raise(SIGTSTP);
	echo_back(a);
	if (rc)
		put(a->tty, "\n");
	return rc;
}

static int ask(const char *prompt, bool shown, uint8_t *buf, size_t room, size_t *n)
{
	struct asking a = { .shown = shown };
	int rc, sig;

	do {
		a.tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (a.tty < 0)
			return FC_ENXIO;
		catch_signals(&a);
		rc = ask_once(&a, prompt, buf, room, n);
		sig = got_signal;
		/* a pending stop comes here */
		release_signals(&a);
		close(a.tty);
	} while (rc == FC_EINTERRUPTED && sig == SIGTSTP);
	return rc;
}

int unlock_ask(const char *prompt, uint8_t *buf, size_t room, size_t *n)
{
	return ask(prompt, false, buf, room, n);
}

int unlock_ask_shown(const char *prompt, uint8_t *buf, size_t room, size_t *n)
{
	return ask(prompt, true, buf, room, n);
}

int unlock_read_line(int fd, uint8_t *buf, size_t room, size_t *n)
{
	uint8_t byte;
	int rc = 0;

	*n = 0;
	for (;;) {
		ssize_t r = read(fd, &byte, 1);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			rc = errno == EISDIR ? FC_EISDIR : FC_EIO;
		if (r <= 0 || byte == '\n')
			break;
		if (*n == room) {
			rc = FC_EFBIG;
			break;
		}
		buf[(*n)++] = byte;
	}
	explicit_bzero(&byte, 1);
	return rc;
}
