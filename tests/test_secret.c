/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fusecrypt/error.h"
#include "secret/secret.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

START_TEST(memory_is_zeroed_aligned_and_writable)
{
	static const size_t sizes[] = { 0, 1, 31, 32, 64, 65, 4096, 4097, 100000 };
	size_t i;

	ck_assert_int_eq(fc_secret_init(), 0);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned char *p = fc_secret_alloc(sizes[i]);

		ck_assert_ptr_nonnull(p);
		ck_assert_uint_eq((uintptr_t)p % 64, 0);
		ck_assert(sodium_is_zero(p, sizes[i]));
		memset(p, 0xa5, sizes[i]);
		fc_secret_free(p);
	}
	fc_secret_free(NULL);
	ck_assert_ptr_null(fc_secret_alloc(SIZE_MAX));
	ck_assert_ptr_null(fc_secret_alloc(SIZE_MAX - 63));
}
END_TEST

/* Runs f in a process of its own; its wait status. */
static int in_child(int (*f)(void))
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		_exit(f());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static int write_behind(void)
{
	volatile unsigned char *p = fc_secret_alloc(64);

	if (!p)
		return 2;
	p[63] = 1;
	p[64] = 1;
	return 0;
}

START_TEST(writing_behind_it_is_caught)
{
	int status;

	ck_assert_int_eq(fc_secret_init(), 0);
	status = in_child(write_behind);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGSEGV);
}
END_TEST

START_TEST(locking_works_here)
{
	void *p;

	ck_assert_int_eq(fc_secret_init(), 0);
	ck_assert(fc_secret_locked());
	p = fc_secret_alloc(32);
	ck_assert(fc_secret_locked());
	fc_secret_free(p);
}
END_TEST

#ifndef SANITIZED
static int without_locked_memory(void)
{
	const struct rlimit none = { 0, 0 };
	void *p;

	/* root may lock whatever the limit is */
	if (setrlimit(RLIMIT_MEMLOCK, &none) || (!getuid() && setuid(65534)))
		return 2;
	p = fc_secret_alloc(32);
	if (!p || fc_secret_locked())
		return 3;
	fc_secret_free(p);
	return fc_secret_locked() ? 4 : 0;
}

START_TEST(failed_locking_is_remembered)
{
	ck_assert_int_eq(fc_secret_init(), 0);
	ck_assert_int_eq(in_child(without_locked_memory), 0);
}
END_TEST
#endif

static int hardened(void)
{
	struct rlimit limit;

	if (prctl(PR_GET_DUMPABLE) != 1)
		return 2;
	if (fc_secret_harden() || prctl(PR_GET_DUMPABLE) != 0 || getrlimit(RLIMIT_CORE, &limit))
		return 3;
	return limit.rlim_cur || limit.rlim_max ? 4 : 0;
}

START_TEST(hardening_forbids_dumps)
{
	ck_assert_int_eq(in_child(hardened), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("secret");
	TCase *tc = tcase_create("secret");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, memory_is_zeroed_aligned_and_writable);
	tcase_add_test(tc, writing_behind_it_is_caught);
	tcase_add_test(tc, locking_works_here);
#ifndef SANITIZED
	tcase_add_test(tc, failed_locking_is_remembered);
#endif
	tcase_add_test(tc, hardening_forbids_dumps);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
