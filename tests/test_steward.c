/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whom the steward takes a thread for. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session/steward.h"

static struct fc_steward steward;
static uid_t uid;
static gid_t gid;

static void start(void)
{
	ck_assert_int_eq(fc_steward_start(&steward, "/nowhere", NULL), 0);
}

static void end(void)
{
	fc_steward_end(&steward);
}

static int who(pid_t thread)
{
	uid = gid = 12345;
	return fc_steward_who(&steward, thread, &uid, &gid);
}

START_TEST(this_process)
{
	ck_assert_int_eq(who(getpid()), 0);
	ck_assert_uint_eq(uid, geteuid());
	ck_assert_uint_eq(gid, getegid());
}
END_TEST

START_TEST(nobody_that_cannot_be_found)
{
	pid_t gone = fork();

	ck_assert_int_ge(gone, 0);
	if (!gone)
		_exit(0);
	ck_assert_int_eq(waitpid(gone, NULL, 0), gone);
	ck_assert_int_eq(who(gone), ESRCH);
	ck_assert_int_eq(who(0), ESRCH);
	ck_assert_int_eq(who(-1), ESRCH);
	ck_assert_uint_eq(uid, 12345);
}
END_TEST

START_TEST(another_user)
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
		if (setegid(54322) || seteuid(54321) || write(ready[1], "x", 1) != 1 || read(go[0], &c, 1) != 1 ||
		    seteuid(0) || write(ready[1], "x", 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(1);
		_exit(0);
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert_int_eq(who(other), 0);
	ck_assert_uint_eq(uid, 54321);
	ck_assert_uint_eq(gid, 54322);
	ck_assert_int_eq(write(go[1], "x", 1), 1);
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert_int_eq(who(other), 0);
	ck_assert_uint_eq(uid, 0);
	ck_assert_int_eq(write(go[1], "x", 1), 1);
	ck_assert_int_eq(waitpid(other, NULL, 0), other);
}
END_TEST

START_TEST(without_a_steward)
{
	fc_steward_end(&steward);
	ck_assert_int_eq(who(getpid()), ESRCH);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("steward");
	TCase *all = tcase_create("steward");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(all, start, end);
	tcase_add_test(all, this_process);
	tcase_add_test(all, nobody_that_cannot_be_found);
	tcase_add_test(all, another_user);
	tcase_add_test(all, without_a_steward);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
