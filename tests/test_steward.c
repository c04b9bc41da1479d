/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whom the steward takes for somebody who may administer a mount. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session/steward.h"

static struct fc_steward steward;

static void start(void)
{
	ck_assert_int_eq(fc_steward_start(&steward, "/nowhere", NULL), 0);
}

static void end(void)
{
	fc_steward_end(&steward);
}

START_TEST(who_runs_the_daemon_may)
{
	ck_assert_int_eq(fc_steward_may_administer(&steward, getpid()), 0);
}
END_TEST

START_TEST(nobody_that_cannot_be_found_may)
{
	pid_t gone = fork();

	ck_assert_int_ge(gone, 0);
	if (!gone)
		_exit(0);
	ck_assert_int_eq(waitpid(gone, NULL, 0), gone);
	ck_assert_int_eq(fc_steward_may_administer(&steward, gone), EPERM);
	ck_assert_int_eq(fc_steward_may_administer(&steward, 0), EPERM);
	ck_assert_int_eq(fc_steward_may_administer(&steward, -1), EPERM);
}
END_TEST

/* Root's processes may, and one that was root's counts as what it became. */
START_TEST(another_user_may_not)
{
	int ready[2], go[2];
	pid_t other;
	char c;

	if (geteuid())
		return;
	ck_assert(!pipe(ready) && !pipe(go));
	other = fork();
	ck_assert_int_ge(other, 0);
	if (!other) {
		if (seteuid(54321) || write(ready[1], "x", 1) != 1 || read(go[0], &c, 1) != 1 || seteuid(0) ||
		    write(ready[1], "x", 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(1);
		_exit(0);
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert_int_eq(fc_steward_may_administer(&steward, other), EPERM);
	ck_assert_int_eq(write(go[1], "x", 1), 1);
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert_int_eq(fc_steward_may_administer(&steward, other), 0);
	ck_assert_int_eq(write(go[1], "x", 1), 1);
	ck_assert_int_eq(waitpid(other, NULL, 0), other);
}
END_TEST

START_TEST(without_a_steward_nobody_may)
{
	fc_steward_end(&steward);
	ck_assert_int_eq(fc_steward_may_administer(&steward, getpid()), EPERM);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("steward");
	TCase *all = tcase_create("steward");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(all, start, end);
	tcase_add_test(all, who_runs_the_daemon_may);
	tcase_add_test(all, nobody_that_cannot_be_found_may);
	tcase_add_test(all, another_user_may_not);
	tcase_add_test(all, without_a_steward_nobody_may);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
