/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * floor MOUNTPOINT [MIB]
 *
 * Takes MIB of memory beforehand, mounts an empty file system, says so in one line, and serves it until it is
 * unmounted or SIGTERM, SIGINT or SIGHUP comes; then all that was in it is gone.
 * Status 0, 1 if it cannot mount, 2 for wrong usage.
 */
#include "session/session_internal.h"

#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* As in src/session/loop.c. */
#define SPIN_NS 50000u
#define SPIN_CREDIT_MAX 8u
#define TICK_NS 1000000

static struct fc_session session; /* for src/session/init.c and latency.c, and the loop's own */
static volatile sig_atomic_t ended;
static char trouble[256]; /* the last thing libfuse said while mounting */
static bool mounted;

uint64_t fc_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- requests ----------------------------------------------------------- */

static void on_signal(int number)
{
	(void)number;
	ended = 1;
}

/* Signals come only while it sleeps. While processors are kept awake it looks once a
 * millisecond whether they may sleep. */
static void sleep_for_request(void)
{
	struct pollfd device = { .fd = session.fd, .events = POLLIN };
	struct timespec tick = { .tv_nsec = TICK_NS };
	bool held = atomic_load(&session.loop.latency.held);
	sigset_t none;

	sigemptyset(&none);
	if (ppoll(&device, 1, held ? &tick : NULL, &none) == 0)
		fc_latency_tick(&session.loop.latency, 0);
}

static void account_gap(bool shorter)
{
	unsigned *credit = &session.loop.spin_credit;

	if (!shorter)
		*credit -= *credit ? 1 : 0;
	else if (*credit < SPIN_CREDIT_MAX)
		++*credit;
}

/* Bytes of a request, or 0 when the connection has ended or a signal came. */
static size_t read_request(void *request)
{
	bool spin = session.loop.may_spin && session.loop.spin_credit;
	uint64_t empty_since = 0, now;
	ssize_t n;

	while (!ended) {
		n = read(session.fd, request, FC_REQUEST_BYTES);
		if (n > 0) {
			account_gap(!empty_since || fc_now_ns() - empty_since < SPIN_NS);
			session.loop.latency.slow = 0;
			fc_latency_request(&session.loop.latency);
			return (size_t)n;
		}
		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (n == 0 || errno != EAGAIN)
			break;
		now = fc_now_ns();
		if (!empty_since)
			empty_since = now;
		if (spin && now - empty_since < SPIN_NS) {
			sched_yield();
			continue;
		}
		sleep_for_request();
		spin = false;
	}
	return 0;
}

/* False when all has ended. */
static bool serve_one(char *request)
{
	struct fuse_buf buf = { .size = read_request(request), .mem = request };
	const struct fuse_in_header *header = (const void *)request;

	if (!buf.size)
		return false;
	if (header->opcode == FUSE_INIT)
		fc_init_note(&session, header->unique, header + 1, buf.size - sizeof(*header));
	fuse_session_process_buf(session.fuse, &buf);
	return true;
}

/* ---- mounting ----------------------------------------------------------- */

static void on_fuse_log(enum fuse_log_level level, const char *format, va_list args)
{
	(void)level;
	if (mounted)
		vfprintf(stderr, format, args);
	else
		vsnprintf(trouble, sizeof(trouble), format, args);
}

static ssize_t plain_read(int fd, void *buf, size_t n, void *userdata)
{
	(void)userdata;
	return read(fd, buf, n);
}

static bool mount_it(const char *mountpoint)
{
	static const struct fuse_custom_io io = { .read = plain_read, .writev = fc_init_writev };
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct stat st;

	fuse_set_log_func(on_fuse_log);
	if (fuse_opt_add_arg(&args, "floor") == 0 && fuse_opt_add_arg(&args, "-o") == 0 &&
	    fuse_opt_add_arg(&args, "fsname=floor,subtype=floor,default_permissions") == 0)
		session.fuse = fuse_session_new(&args, &floor_operations, sizeof(floor_operations), &session);
	fuse_opt_free_args(&args);
	/* Root can mount over a file as well, and hide it. */
	errno = stat(mountpoint, &st) < 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
	if (errno || !session.fuse || fuse_session_mount(session.fuse, mountpoint) < 0)
		return false;
	mounted = true;
	session.fd = fuse_session_fd(session.fuse);
	return fcntl(session.fd, F_SETFL, O_NONBLOCK) == 0 &&
	       fuse_session_custom_io(session.fuse, &io, session.fd) == 0;
}

/* As fusecrypt's steward does for root; what fails makes it slower. The attributes are the kernel's
 * own: a request could not be answered now. */
static void settle(const char *mountpoint)
{
	static const char *const settings[][2] = { { "strict_limit", "1" },
						   { "max_ratio", "20" },
						   { "read_ahead_kb", "1024" } };
	struct statx stx;
	char path[128];

	prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
	if (statx(AT_FDCWD, mountpoint, AT_STATX_DONT_SYNC, 0, &stx) < 0)
		return;
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		FILE *file;

		snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/%s", stx.stx_dev_major, stx.stx_dev_minor,
			 settings[i][0]);
		file = fopen(path, "we");
		if (!file)
			continue;
		fputs(settings[i][1], file);
		fclose(file);
	}
}

static void catch_signals(void)
{
	static const int caught[] = { SIGTERM, SIGINT, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++) {
		sigaddset(&blocked, caught[i]);
		sigaction(caught[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &blocked, NULL);
}

int main(int argc, char **argv)
{
	/* A WRITE's data starts on a page, as fusecrypt has it. */
	static _Alignas(FC_HEADER_ROOM) char pages[FC_HEADER_ROOM + FC_REQUEST_BYTES];
	char *request = pages + FC_HEADER_ROOM - sizeof(struct fuse_in_header) - sizeof(struct fuse_write_in);
	unsigned long mib = 0;
	char *end = NULL;

	if (argc == 3)
		mib = strtoul(argv[2], &end, 10);
	if (argc < 2 || argc > 3 || argv[1][0] == '-' || (end && (*end || !mib || mib > SIZE_MAX >> 20))) {
		fprintf(stderr, "usage: floor MOUNTPOINT [MIB]\n");
		return 2;
	}
	if (floor_data_begin((size_t)mib << 20)) {
		fprintf(stderr, "floor: there are no %lu MiB of memory\n", mib);
		return 1;
	}
	catch_signals();
	floor_names_begin();
	session.loop.may_spin = sysconf(_SC_NPROCESSORS_ONLN) > 1;
	if (!mount_it(argv[1])) {
		int error = errno ? errno : ENOMEM;

		trouble[strcspn(trouble, "\n")] = 0;
		fprintf(stderr, "floor: cannot mount at %s: %s\n", argv[1], trouble[0] ? trouble : strerror(error));
		return 1;
	}
	fc_latency_open(&session.loop.latency);
	/* The first request agrees on what the settings would else be overwritten by. */
	if (serve_one(request)) {
		settle(argv[1]);
		printf("%s is mounted\n", argv[1]);
		fflush(stdout);
		while (serve_one(request))
			;
	}
	fuse_session_unmount(session.fuse);
	/* Files and names go with the process. */
	_exit(0);
}
