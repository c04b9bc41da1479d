/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the unlock helper can no more, and what it still can, once it is confined. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tools/unlock_sandbox.h"
#include "config.h"

/* Runs f in a process of its own; what it returns. */
static int confined_but(bool sockets, int (*f)(void))
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (!pid)
		_exit(unlock_sandbox_start() || unlock_sandbox(sockets) ? 99 : f());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int confined(int (*f)(void))
{
	return confined_but(false, f);
}

#if FC_HAVE_SECCOMP
static int refused(long result)
{
	return result == -1 && errno == EPERM;
}

static int no_network(void)
{
	int pair[2];

	if (!refused(socket(AF_INET, SOCK_STREAM, 0)) || !refused(socket(AF_UNIX, SOCK_STREAM, 0)))
		return 1;
	if (!refused(socket(AF_NETLINK, SOCK_RAW, 0)) || !refused(socketpair(AF_UNIX, SOCK_STREAM, 0, pair)))
		return 2;
	return refused(connect(0, NULL, 0)) && refused(bind(0, NULL, 0)) && refused(listen(0, 1)) ? 0 : 3;
}

static int sockets_only(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || refused(connect(fd, NULL, 0)))
		return 1;
	return refused(bind(fd, NULL, 0)) && refused(listen(fd, 1)) && refused(accept(fd, NULL, NULL)) ? 0 : 2;
}

static int nothing_executed(void)
{
	char name[] = "true", *argv[] = { name, NULL };

	if (!refused(execv("/bin/true", argv)) || !refused(fexecve(0, argv, argv)))
		return 1;
	return refused(syscall(SYS_execveat, 0, "", argv, argv, 0)) ? 0 : 2;
}

static int others_left_alone(void)
{
	if (!refused(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0)))
		return 1;
	if (!refused(syscall(SYS_tgkill, getppid(), getppid(), 0)))
		return 2;
	if (!refused(ioctl(0, TIOCSTI, "x")))
		return 3;
#ifndef __SANITIZE_ADDRESS__
	if (!refused(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL)) || !refused(kill(getppid(), 0)))
		return 4;
	if (!refused(fork()))
		return 5;
#endif
	return refused(syscall(SYS_bpf, 0, NULL, 0)) && refused(syscall(SYS_io_uring_setup, 1, NULL)) ? 0 : 6;
}
#endif

static int work_goes_on(void)
{
	char text[8];
	int fd = open("/proc/meminfo", O_RDONLY);
	void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || read(fd, text, sizeof(text)) != (ssize_t)sizeof(text))
		return 1;
	if (p == MAP_FAILED || (mlock(p, 4096) && errno == EPERM) || munmap(p, 1 << 20))
		return 2;
	signal(SIGUSR1, SIG_IGN);
	return raise(SIGUSR1) ? 3 : 0;
}

#if FC_HAVE_SECCOMP
START_TEST(forbidden_calls_fail)
{
	ck_assert_int_eq(confined(no_network), 0);
	ck_assert_int_eq(confined_but(true, sockets_only), 0);
	ck_assert_int_eq(confined(nothing_executed), 0);
	ck_assert_int_eq(confined_but(true, nothing_executed), 0);
	ck_assert_int_eq(confined(others_left_alone), 0);
}
END_TEST
#endif

START_TEST(what_it_needs_works)
{
	ck_assert_int_eq(confined(work_goes_on), 0);
}
END_TEST

START_TEST(privileges_do_not_grow)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(unlock_sandbox_start() || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("unlock_sandbox");
	TCase *tc = tcase_create("unlock_sandbox");
	SRunner *runner;
	int failed;

#if FC_HAVE_SECCOMP
	tcase_add_test(tc, forbidden_calls_fail);
#endif
	tcase_add_test(tc, what_it_needs_works);
	tcase_add_test(tc, privileges_do_not_grow);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
