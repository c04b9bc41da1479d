/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/steward.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "secret/secret.h"
#include "session/write_back.h"

/* Packets: that is the request; the answer is a struct answer; from LIMIT_DIRTY on there is none. */
enum request {
	REQUEST_SETTLE = 1,
	REQUEST_UNMOUNT,
	REQUEST_CLEAR,
	REQUEST_WHO,
	REQUEST_LIMIT_DIRTY,
	REQUEST_WRITE_BACK,
	REQUEST_LOG
};

struct packet {
	uint32_t request;
	int32_t value; /* a priority of syslog(3); whether there shall be few; a thread's number */
	char text[900];
};

struct answer {
	int32_t error;     /* 0 or an errno */
	uint32_t uid, gid; /* of WHO */
};

/* ---- the steward itself --------------------------------------------------- */

struct duty {
	const char *mountpoint;
	dev_t device; /* of the mount, 0: not known */
	char ident[32];
	struct fc_write_back write_back; /* device 0: the kernel keeps few dirty pages anyway */
};

static int run_fusermount(const char *mountpoint, bool lazy)
{
	const char *argv[] = { "fusermount3", lazy ? "-uz" : "-u", "-q", "--", mountpoint, NULL };
	const char *env[] = { "PATH=/usr/bin:/bin:/usr/local/bin", "LC_ALL=C", NULL };
	posix_spawnattr_t attr;
	sigset_t defaults;
	int error, status;
	pid_t pid;

	sigfillset(&defaults);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	error = posix_spawnp(&pid, argv[0], NULL, &attr, (char **)(uintptr_t)argv, (char **)(uintptr_t)env);
	posix_spawnattr_destroy(&attr);
	if (error)
		return error;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return errno;
	}
	/* It does not say why; mostly it is in use. */
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : EBUSY;
}

/* A plain unmount: nothing happens while files are open. */
static int unmount(struct duty *duty)
{
	struct stat st;
	int error;

	/* Another file system may have been mounted over ours: that one stays. */
	if (!duty->device || stat(duty->mountpoint, &st) || st.st_dev != duty->device)
		return EBUSY;
	pthread_mutex_lock(&duty->write_back.cloning);
	error = umount2(duty->mountpoint, UMOUNT_NOFOLLOW) ? errno : 0;
	pthread_mutex_unlock(&duty->write_back.cloning);
	return error == EPERM ? run_fusermount(duty->mountpoint, false) : error;
}

/* A connection that was cut leaves a mount that answers ENOTCONN to everything. */
static int clear(const struct duty *duty)
{
	struct stat st;

	if (stat(duty->mountpoint, &st) == 0 || errno != ENOTCONN)
		return 0;
	if (umount2(duty->mountpoint, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		return 0;
	return errno == EPERM ? run_fusermount(duty->mountpoint, true) : errno;
}

/* The fourth number of "Uid:" and "Gid:" in /proc is what counts for files. */
static bool read_ids(FILE *f, struct answer *answer)
{
	unsigned found = 0;
	char line[256];

	while (found != 3 && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Uid: %*u %*u %*u %" SCNu32, &answer->uid) == 1)
			found |= 1;
		else if (sscanf(line, "Gid: %*u %*u %*u %" SCNu32, &answer->gid) == 1)
			found |= 2;
	}
	return found == 3;
}

static void look_up(pid_t thread, struct answer *answer)
{
	char self[32], path[64];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);
	FILE *f = NULL;

	answer->error = ESRCH;
	/* /proc of another namespace numbers its processes in another way. */
	self[n < 0 ? 0 : n] = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)thread);
	if (thread > 0 && atoi(self) == (int)getpid())
		f = fopen(path, "re");
	if (!f)
		return;
	if (read_ids(f, answer))
		answer->error = 0;
	fclose(f);
}

static bool write_setting(dev_t device, const char *name, const char *value)
{
	bool written;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/%s", major(device), minor(device), name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	written = write(fd, value, strlen(value)) >= 0;
	close(fd);
	return written;
}

/* Of the memory that may be dirty at all (vm.dirty_ratio, mostly a fifth), in percent. */
#define MANY_DIRTY "20"
#define FEW_DIRTY "1"
#define FEW_DIRTY_BYTES "33554432"

/* What fails here makes things slower, not wrong. */
static void limit_dirty(struct duty *duty, bool few)
{
	if (!duty->device)
		return;
	if (!few)
		write_setting(duty->device, "max_ratio", MANY_DIRTY);
	else if (!write_setting(duty->device, "max_bytes", FEW_DIRTY_BYTES)) /* from Linux 6.2 on */
		write_setting(duty->device, "max_ratio", FEW_DIRTY);
}

static int settle(struct duty *duty)
{
	struct stat st;

	if (stat(duty->mountpoint, &st) < 0)
		return errno;
	duty->device = st.st_dev;
	/* The kernel lets a FUSE mount have 1 % of the dirty pages, and little
	 * read-ahead, unless root says otherwise. Strictly a fifth: so pages go out
	 * while a program still writes, and not only when it closes the file. */
	if (write_setting(st.st_dev, "strict_limit", "1"))
		duty->write_back.device = st.st_dev;
	limit_dirty(duty, false);
	write_setting(st.st_dev, "read_ahead_kb", "2048");
	return 0;
}

static void serve(struct duty *duty, int fd)
{
	struct answer answer = { 0 };
	struct packet p;
	ssize_t n;

	for (;;) {
		n = read(fd, &p, sizeof(p));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < (ssize_t)offsetof(struct packet, text))
			return;
		switch (p.request) {
		case REQUEST_SETTLE:
			answer.error = settle(duty);
			break;
		case REQUEST_UNMOUNT:
			answer.error = unmount(duty);
			break;
		case REQUEST_CLEAR:
			answer.error = clear(duty);
			break;
		case REQUEST_WHO:
			look_up(p.value, &answer);
			break;
		case REQUEST_LIMIT_DIRTY:
			limit_dirty(duty, p.value);
			continue;
		case REQUEST_WRITE_BACK:
			if (duty->write_back.device)
				fc_write_back_want(&duty->write_back);
			continue;
		case REQUEST_LOG:
			syslog(LOG_PRI((unsigned)p.value), "%.*s", (int)(n - (ssize_t)offsetof(struct packet, text)),
			       p.text);
			continue;
		default:
			return;
		}
		if (write(fd, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
			return;
	}
}

/* Nothing of the daemon's stays: neither its container nor its terminal. */
static int keep_only(int fd)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0)
		return -1;
	for (int i = 0; i <= STDERR_FILENO; i++)
		if (dup2(null, i) < 0)
			return -1;
	if (fd != STDERR_FILENO + 1 && dup3(fd, STDERR_FILENO + 1, O_CLOEXEC) < 0)
		return -1;
	return close_range(STDERR_FILENO + 2, ~0u, 0) ? -1 : STDERR_FILENO + 1;
}

static void run(const char *mountpoint, int fd, pid_t daemon)
{
	static const int left_to_daemon[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE };
	struct duty duty = { .mountpoint = mountpoint };
	sigset_t none;

	for (size_t i = 0; i < sizeof(left_to_daemon) / sizeof(left_to_daemon[0]); i++)
		signal(left_to_daemon[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	prctl(PR_SET_PDEATHSIG, 0);
	prctl(PR_SET_NAME, "fusecrypt-aid");
	fd = keep_only(fd);
	if (fd < 0 || chdir("/"))
		_exit(1);
	fc_write_back_init(&duty.write_back, mountpoint);
	/* the lines are the daemon's */
	snprintf(duty.ident, sizeof(duty.ident), "fusecrypt[%d]", (int)daemon);
	openlog(duty.ident, 0, LOG_DAEMON);
	serve(&duty, fd);
	_exit(0);
}

/* ---- the daemon's side ---------------------------------------------------- */

int fc_steward_start(struct fc_steward *s, const char *mountpoint, void *secret)
{
	pid_t daemon = getpid();
	int fd[2];

	s->fd = -1;
	s->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return errno;
	s->pid = fork();
	if (s->pid < 0) {
		int error = errno;

		close(fd[0]);
		close(fd[1]);
		return error;
	}
	if (s->pid == 0) {
		fc_secret_free(secret); /* its copy, which is not even locked */
		run(mountpoint, fd[1], daemon);
	}
	close(fd[1]);
	fcntl(fd[0], F_SETFL, O_NONBLOCK);
	s->fd = fd[0];
	return 0;
}

void fc_steward_end(struct fc_steward *s)
{
	if (s->fd < 0)
		return;
	close(s->fd);
	s->fd = -1;
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* True when it can be; false: it is gone. */
static bool wait_for(const struct fc_steward *s, short events)
{
	struct pollfd p = { .fd = s->fd, .events = events };

	while (poll(&p, 1, -1) < 0)
		if (errno != EINTR)
			return false;
	return p.revents & events;
}

static int exchange(struct fc_steward *s, const struct packet *p, struct answer *answer)
{
	const size_t n = offsetof(struct packet, text);
	ssize_t got;

	/* read and write, and not send and receive: no right to use sockets is needed */
	while (write(s->fd, p, n) != (ssize_t)n)
		if ((errno != EAGAIN && errno != EINTR) || !wait_for(s, POLLOUT))
			return ESRCH;
	for (;;) {
		got = read(s->fd, answer, sizeof(*answer));
		if (got >= 0)
			return got == (ssize_t)sizeof(*answer) ? answer->error : ESRCH; /* 0: it has ended */
		if ((errno != EAGAIN && errno != EINTR) || !wait_for(s, POLLIN))
			return ESRCH;
	}
}

static int ask(struct fc_steward *s, enum request request, int32_t value, struct answer *answer)
{
	struct packet p = { .request = (uint32_t)request, .value = value };
	int error;

	pthread_mutex_lock(&s->lock);
	error = exchange(s, &p, answer);
	pthread_mutex_unlock(&s->lock);
	return error;
}

int fc_steward_settle(struct fc_steward *s)
{
	struct answer answer;

	return ask(s, REQUEST_SETTLE, 0, &answer);
}

int fc_steward_unmount(struct fc_steward *s)
{
	struct answer answer;

	return ask(s, REQUEST_UNMOUNT, 0, &answer);
}

int fc_steward_clear(struct fc_steward *s)
{
	struct answer answer;

	return ask(s, REQUEST_CLEAR, 0, &answer);
}

int fc_steward_who(struct fc_steward *s, pid_t thread, uid_t *uid, gid_t *gid)
{
	struct answer answer;
	int error = ask(s, REQUEST_WHO, thread, &answer);

	if (!error) {
		*uid = answer.uid;
		*gid = answer.gid;
	}
	return error;
}

void fc_steward_limit_dirty(struct fc_steward *s, bool few)
{
	struct packet p = { .request = REQUEST_LIMIT_DIRTY, .value = few };

	if (write(s->fd, &p, offsetof(struct packet, text)) < 0)
		errno = 0; /* no harm if it is lost */
}

void fc_steward_write_back(struct fc_steward *s)
{
	struct packet p = { .request = REQUEST_WRITE_BACK };

	if (write(s->fd, &p, offsetof(struct packet, text)) < 0)
		errno = 0; /* no harm if it is lost */
}

void fc_steward_log(struct fc_steward *s, int priority, const char *text)
{
	struct packet p = { .request = REQUEST_LOG, .value = priority };
	size_t n = strnlen(text, sizeof(p.text));

	memcpy(p.text, text, n);
	/* Who logs may be what the steward waits for: lost rather than late. */
	if (write(s->fd, &p, offsetof(struct packet, text) + n) < 0)
		errno = 0;
}
