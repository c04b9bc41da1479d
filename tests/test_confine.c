/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a daemon that was taken over could still do: it confines itself as the real
 * one does and then tries. Each test is a process of its own. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "session/confine.h"

static char base[] = "/tmp/fctest-confine-XXXXXX";
static char state[128], other[128], secret[128];

static bool have_landlock;

static void make_base(void)
{
	/* asked here: later it is no longer permitted */
	have_landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
	ck_assert_ptr_nonnull(mkdtemp(base));
	snprintf(state, sizeof(state), "%s/state", base);
	snprintf(other, sizeof(other), "%s/other", base);
	snprintf(secret, sizeof(secret), "%s/other/secret", base);
	ck_assert_int_eq(mkdir(state, 0700), 0);
	ck_assert_int_eq(mkdir(other, 0700), 0);
}

static void remove_base(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/file", state);
	unlink(path);
	unlink(secret);
	rmdir(state);
	rmdir(other);
	rmdir(base);
}

/* ---- in a child that is confined: check(3) itself could no longer report ----- */

static int report_fd;

static void complain(const char *what, const char *why)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "%s: %s", what, why);

	if (write(report_fd, text, (size_t)n) < 0)
		_exit(2);
	_exit(1);
}

#define MUST(condition) \
	do { \
		if (!(condition)) \
			complain(#condition, strerror(errno)); \
	} while (0)

/* By Landlock or by the filter. */
static bool is_refusal(int error)
{
	return error == EACCES || error == EPERM || error == ENOSYS || error == EXDEV;
}

#define REFUSED(call) \
	do { \
		errno = 0; \
		if ((long)(call) != -1) \
			complain(#call, "was done"); \
		if (!is_refusal(errno)) \
			complain(#call, strerror(errno)); \
	} while (0)

static void make_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	MUST(fd >= 0);
	MUST(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void confine(void)
{
	int held = fc_confine(state);

	MUST(held >= 0);
	/* only where kernel or build have it not may one be missing */
	MUST(!!(held & FC_CONFINED_FILES) == have_landlock);
	MUST(!!(held & FC_CONFINED_CALLS) == FC_HAVE_SECCOMP);
}

static void in_child(void (*body)(void))
{
	char text[512] = "";
	int fd[2], status;
	pid_t pid;

	ck_assert_int_eq(pipe(fd), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		report_fd = fd[1];
		make_file(secret, "secret");
		body();
		_exit(0);
	}
	close(fd[1]);
	ck_assert_int_ge(read(fd[0], text, sizeof(text) - 1), 0);
	close(fd[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(!*text, "%s", text);
	ck_assert_int_eq(status, 0);
}

/* ---- what is tried ------------------------------------------------------------- */

static void other_files_stay_closed(void)
{
	char inside[160], outside[160];

	snprintf(inside, sizeof(inside), "%s/file", state);
	snprintf(outside, sizeof(outside), "%s/new", other);
	make_file(inside, "seen");
	confine();
	REFUSED(open(secret, O_RDONLY));
	REFUSED(open(secret, O_WRONLY));
	REFUSED(open(secret, O_RDWR));
	REFUSED(open("/etc/passwd", O_RDONLY));
	REFUSED(open("/proc/self/mem", O_RDWR));
	REFUSED(open("/proc/self/mem", O_WRONLY));
	REFUSED(open("/dev/fuse", O_RDWR));
	REFUSED(open(other, O_RDONLY | O_DIRECTORY));
	REFUSED(open("/tmp", O_RDWR | O_TMPFILE, 0600));
	if (have_landlock) {
		REFUSED(open(outside, O_WRONLY | O_CREAT, 0600));
		REFUSED(unlink(secret));
		REFUSED(rename(secret, inside));
		REFUSED(rename(inside, outside));
	}
	REFUSED(link(secret, inside));
	REFUSED(symlink(secret, outside));
	REFUSED(mkdir(outside, 0700));
	REFUSED(mknod(outside, S_IFREG | 0600, 0));
	REFUSED(truncate(secret, 0));
	REFUSED(chmod(secret, 0666));
	REFUSED(open(inside, O_RDONLY));
}

static void the_state_file_is_written(void)
{
	char fresh[160], file[160];

	snprintf(fresh, sizeof(fresh), "%s/file.new", state);
	snprintf(file, sizeof(file), "%s/file", state);
	make_file(file, "old");
	confine();
	make_file(fresh, "new");
	MUST(rename(fresh, file) == 0);
	make_file(fresh, "newer");
	MUST(unlink(fresh) == 0);
}

static void no_programs_no_processes(void)
{
	char name[] = "/bin/true";
	char *argv[] = { name, NULL };

	confine();
	REFUSED(execve(name, argv, NULL));
	REFUSED(syscall(SYS_execveat, AT_FDCWD, name, argv, NULL, 0));
	if (FC_HAVE_SECCOMP) {
		REFUSED(fork());
		REFUSED(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
		REFUSED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
		REFUSED(unshare(CLONE_NEWUSER));
		REFUSED(setns(0, 0));
	}
}

static void no_sockets(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/dev/log" };
	int made[2], pair[2];

	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, made) == 0);
	confine();
	if (!FC_HAVE_SECCOMP)
		return;
	REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	REFUSED(socket(AF_INET, SOCK_STREAM, 0));
	REFUSED(socket(AF_NETLINK, SOCK_RAW, 0));
	REFUSED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	REFUSED(connect(made[0], (struct sockaddr *)&address, sizeof(address)));
	REFUSED(sendto(made[0], "x", 1, 0, (struct sockaddr *)&address, sizeof(address)));
	/* one that was there goes on */
	MUST(write(made[0], "line", 4) == 4);
}

static void nothing_to_others(void)
{
	struct iovec iov = { &(char[1]){ 0 }, 1 };
	pid_t parent = getppid();

	confine();
	if (!FC_HAVE_SECCOMP)
		return;
	REFUSED(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	REFUSED(ptrace(PTRACE_ATTACH, parent, NULL, NULL));
	REFUSED(kill(parent, 0));
	REFUSED(syscall(SYS_tgkill, parent, parent, 0));
	REFUSED(syscall(SYS_process_vm_readv, parent, &iov, 1, &iov, 1, 0));
	REFUSED(syscall(SYS_pidfd_open, parent, 0));
	REFUSED(mount("none", other, "tmpfs", 0, NULL));
	REFUSED(umount2(other, MNT_DETACH));
	REFUSED(syscall(SYS_bpf, 0, NULL, 0));
	REFUSED(syscall(SYS_io_uring_setup, 1, NULL));
	REFUSED(syscall(SYS_userfaultfd, 0));
	REFUSED(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
	REFUSED(syscall(SYS_add_key, "user", "x", "x", 1, 0));
	REFUSED(setuid(getuid()));
	REFUSED(chroot("/"));
	/* the key stays out of core dumps */
	REFUSED(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	REFUSED(syscall(SYS_prlimit64, parent, RLIMIT_CORE, NULL, NULL));
	/* no code made of data, nothing typed into a terminal */
	REFUSED(mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	REFUSED(ioctl(0, TIOCSTI, "x"));
}

static void *in_thread(void *arg)
{
	*(int *)arg = open(secret, O_RDONLY) < 0 && is_refusal(errno) ? 1 : 0;
	return NULL;
}

static void serving_goes_on(void)
{
	int fd = open(secret, O_RDWR), pipes[2], done = 0;
	pthread_t thread;
	char text[8] = "";
	void *p;

	MUST(fd >= 0);
	MUST(pipe(pipes) == 0);
	confine();
	/* what is open: read, written, grown, synced */
	MUST(pread(fd, text, 6, 0) == 6);
	MUST(!strcmp(text, "secret"));
	MUST(pwrite(fd, "SECRET", 6, 0) == 6);
	MUST(ftruncate(fd, 1 << 20) == 0);
	MUST(fdatasync(fd) == 0);
	MUST(write(pipes[1], "x", 1) == 1);
	/* memory, also that of large blocks */
	p = malloc(64u << 20);
	MUST(p);
	memset(p, 1, 1 << 20);
	free(p);
	/* threads, which are confined too */
	MUST(pthread_create(&thread, NULL, in_thread, &done) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	MUST(done == 1);
	/* and there is no way back */
	MUST(syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == (FC_HAVE_SECCOMP ? -1 : 1));
}

START_TEST(test_other_files_stay_closed)
{
	in_child(other_files_stay_closed);
}
END_TEST

START_TEST(test_the_state_file_is_written)
{
	in_child(the_state_file_is_written);
}
END_TEST

START_TEST(test_no_programs_no_processes)
{
	in_child(no_programs_no_processes);
}
END_TEST

START_TEST(test_no_sockets)
{
	in_child(no_sockets);
}
END_TEST

START_TEST(test_nothing_to_others)
{
	in_child(nothing_to_others);
}
END_TEST

START_TEST(test_serving_goes_on)
{
	in_child(serving_goes_on);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("confine");
	TCase *all = tcase_create("confine");
	SRunner *runner;
	int failed;

	tcase_add_unchecked_fixture(all, make_base, remove_base);
	tcase_add_test(all, test_other_files_stay_closed);
	tcase_add_test(all, test_the_state_file_is_written);
	tcase_add_test(all, test_no_programs_no_processes);
	tcase_add_test(all, test_no_sockets);
	tcase_add_test(all, test_nothing_to_others);
	tcase_add_test(all, test_serving_goes_on);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
