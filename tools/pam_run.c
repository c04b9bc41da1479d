/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pam_run.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <security/pam_ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define COUNTS "/run/fusecrypt"
#define GRACE_MS 2000 /* to end by itself, once told to */

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void pam_run_start(struct pam_run *run)
{
	run->end = now_ms() + (int64_t)run->seconds * 1000;
}

/* ---- who ------------------------------------------------------------------------ */

bool pam_user_find(const char *name, struct pam_user *user)
{
	char text[16384];
	struct passwd pw, *found = NULL;

	memset(user, 0, sizeof(*user));
	if (getpwnam_r(name, &pw, text, sizeof(text), &found) || !found)
		return false;
	user->name = strdup(pw.pw_name);
	user->home = strdup(pw.pw_dir);
	user->shell = strdup(pw.pw_shell);
	user->uid = pw.pw_uid;
	user->gid = pw.pw_gid;
	getgrouplist(name, pw.pw_gid, NULL, &user->group_count);
	user->groups = calloc((size_t)user->group_count + 1, sizeof(*user->groups));
	if (user->name && user->home && user->shell && user->groups &&
	    getgrouplist(name, pw.pw_gid, user->groups, &user->group_count) >= 0)
		return true;
	pam_user_free(user);
	return false;
}

void pam_user_free(struct pam_user *user)
{
	free(user->name);
	free(user->home);
	free(user->shell);
	free(user->groups);
	memset(user, 0, sizeof(*user));
}

/* ---- how many ---------------------------------------------------------------------- */

int pam_count_lock(const struct pam_run *run, uid_t uid)
{
	char path[64];
	struct stat st;
	int fd;

	if (mkdir(COUNTS, 0755) && errno != EEXIST) {
		pam_syslog(run->pamh, LOG_ERR, COUNTS " cannot be made: %s", strerror(errno));
		return -1;
	}
	if (lstat(COUNTS, &st) || !S_ISDIR(st.st_mode) || st.st_uid || st.st_mode & (S_IWGRP | S_IWOTH)) {
		pam_syslog(run->pamh, LOG_ERR, COUNTS " is not root's alone: it is not used");
		return -1;
	}
	snprintf(path, sizeof(path), COUNTS "/sessions-%lu", (unsigned long)uid);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		pam_syslog(run->pamh, LOG_ERR, "%s cannot be opened: %s", path, strerror(errno));
		return -1;
	}
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || now_ms() >= run->end) {
			pam_syslog(run->pamh, LOG_ERR, "%s stays locked by another login: going on without", path);
			close(fd);
			return -1;
		}
		poll(NULL, 0, 50);
	}
	return fd;
}

long pam_count_add(const struct pam_run *run, int fd, long add)
{
	char text[32] = "";
	long n;
	int bytes;

	if (pread(fd, text, sizeof(text) - 1, 0) < 0) {
		pam_syslog(run->pamh, LOG_ERR, "the count of sessions cannot be read: %s", strerror(errno));
		return -1;
	}
	n = strtol(text, NULL, 10) + add;
	if (n < 0)
		n = 0;
	bytes = snprintf(text, sizeof(text), "%ld\n", n);
	if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)bytes, 0) != bytes) {
		pam_syslog(run->pamh, LOG_ERR, "the count of sessions cannot be written: %s", strerror(errno));
		return -1;
	}
	return n;
}

/* ---- running it ------------------------------------------------------------------- */

/* What the child is made of before it is forked: afterwards little may be called. */
struct child {
	const char *argv[5];
	const char *envp[8];
	char uid[24], home[4128], name[512], logname[512], shell[4128];
	const struct pam_user *as; /* NULL: root */
	int out, words, fresh;     /* descriptors, -1 none */
};

static void child_prepare(struct child *c, const struct pam_run *run, const char *what, const struct pam_user *user,
			  bool machine)
{
	size_t n = 0;

	memset(c, 0, sizeof(*c));
	c->argv[0] = run->helper;
	c->argv[1] = what;
	if (machine) {
		snprintf(c->uid, sizeof(c->uid), "%lu", (unsigned long)user->uid);
		c->argv[2] = "--owner";
		c->argv[3] = c->uid;
	}
	c->envp[n++] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	/* nobody is asked, and nothing of the login's environment counts */
	c->envp[n++] = "FUSECRYPT_ASKPASS=";
	if (machine)
		return;
	c->as = user;
	snprintf(c->home, sizeof(c->home), "HOME=%s", user->home);
	snprintf(c->name, sizeof(c->name), "USER=%s", user->name);
	snprintf(c->logname, sizeof(c->logname), "LOGNAME=%s", user->name);
	snprintf(c->shell, sizeof(c->shell), "SHELL=%s", user->shell);
	c->envp[n++] = c->home;
	c->envp[n++] = c->name;
	c->envp[n++] = c->logname;
	c->envp[n++] = c->shell;
}

static bool become(const struct pam_user *user)
{
	if (!user)
		return !setgroups(0, NULL) && !setresgid(0, 0, 0) && !setresuid(0, 0, 0);
	return !setgroups((size_t)user->group_count, user->groups) && !setresgid(user->gid, user->gid, user->gid) &&
	       !setresuid(user->uid, user->uid, user->uid) && setuid(0);
}

/* Moves the descriptors to 0-4, out of each other's way. */
static bool child_descriptors(const struct child *c)
{
	int null = open("/dev/null", O_RDWR);
	int from[5] = { null, c->out, c->out, c->words, c->fresh };

	for (int i = 0; i < 5; i++)
		if (from[i] >= 0)
			from[i] = fcntl(from[i], F_DUPFD, 10);
	for (int i = 0; i < 5; i++) {
		if (from[i] >= 0 ? dup2(from[i], i) < 0 : i < 3)
			return false;
		if (from[i] < 0)
			close(i);
	}
	return !syscall(SYS_close_range, 5u, ~0u, 0);
}

static _Noreturn void child_run(const struct child *c)
{
	union {
		const char *const *in;
		char *const *out;
	} argv = { c->argv }, envp = { c->envp };
	struct sigaction act = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &act, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid(); /* no terminal to ask on; all of it can be ended */
	umask(022);
	if (!child_descriptors(c) || chdir("/") || !become(c->as))
		_exit(126);
	execve(c->argv[0], argv.out, envp.out);
	_exit(127);
}

/* Logs what came, by lines; all: also the last one without an end. */
static void log_lines(const struct pam_run *run, char *text, size_t *n, bool all)
{
	char *end;

	text[*n] = '\0';
	while (*n && ((end = memchr(text, '\n', *n)) || all)) {
		size_t used = end ? (size_t)(end - text) + 1 : *n;

		if (end)
			*end = '\0';
		if (*text)
			pam_syslog(run->pamh, LOG_NOTICE, "%s", text);
		*n -= used;
		memmove(text, text + used, *n + 1);
	}
}

static void take_output(const struct pam_run *run, int fd, char *text, size_t room, size_t *n)
{
	ssize_t r;

	while ((r = read(fd, text + *n, room - 1 - *n)) > 0) {
		*n += (size_t)r;
		log_lines(run, text, n, *n == room - 1);
	}
}

/* Waits for it to end, to the end of the time and then no more. Its status; -1. */
static int child_wait(const struct pam_run *run, pid_t pid, int out)
{
	struct pollfd p = { out, POLLIN, 0 };
	int64_t end = run->end;
	char text[2048];
	size_t n = 0;
	int status = -1, told = 0;
	pid_t ended;

	while (!(ended = waitpid(pid, &status, WNOHANG)) || (ended < 0 && errno == EINTR)) {
		if (now_ms() >= end && told == 2)
			break; /* the kernel holds it */
		if (now_ms() >= end) {
			if (!told)
				pam_syslog(run->pamh, LOG_ERR, "%s takes longer than %d seconds: ended", run->helper,
					   run->seconds);
			kill(-pid, told++ ? SIGKILL : SIGTERM);
			end = now_ms() + GRACE_MS;
		}
		/* its output may be closed before it ends, or held by others */
		if (poll(&p, 1, 20) > 0 && p.revents & ~POLLIN)
			p.fd = -1;
		take_output(run, out, text, sizeof(text), &n);
	}
	take_output(run, out, text, sizeof(text), &n);
	log_lines(run, text, &n, true);
	return ended == pid ? status : -1;
}

/* A pipe with that line in it; -1. */
static int pipe_of(const char *words)
{
	size_t n = words ? strlen(words) : 0;
	int p[2] = { -1, -1 };
	bool done;

	if (!words || n > 4096 || pipe2(p, O_CLOEXEC))
		return -1;
	done = write(p[1], words, n) == (ssize_t)n && write(p[1], "\n", 1) == 1;
	close(p[1]);
	if (done)
		return p[0];
	close(p[0]);
	return -1;
}

static void run_one(const struct pam_run *run, struct child *c, const char *words, const char *fresh)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	struct sigaction before;
	int p[2], status = -1;
	pid_t pid;

	if (now_ms() >= run->end || pipe2(p, O_CLOEXEC))
		return;
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	c->out = p[1];
	c->words = pipe_of(words);
	c->fresh = pipe_of(fresh);
	/* a program that reaps its children by itself must not take this one */
	sigaction(SIGCHLD, &usual, &before);
	pid = fork();
	if (pid == 0)
		child_run(c);
	close(p[1]);
	if (c->words >= 0)
		close(c->words);
	if (c->fresh >= 0)
		close(c->fresh);
	if (pid > 0)
		status = child_wait(run, pid, p[0]);
	sigaction(SIGCHLD, &before, NULL);
	close(p[0]);
	if (pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) >= 126))
		pam_syslog(run->pamh, LOG_ERR, "%s cannot be run", run->helper);
}

void pam_run_helper(const struct pam_run *run, const char *what, const struct pam_user *user, const char *words,
		    const char *fresh)
{
	bool lock = !strcmp(what, "lock");
	struct child *c = malloc(sizeof(*c));

	for (int i = 0; c && i < 2; i++) {
		child_prepare(c, run, what, user, (i == 0) != lock);
		run_one(run, c, words, fresh);
	}
	free(c);
}
