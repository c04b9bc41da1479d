/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fusecrypt/error.h"

START_TEST(every_error_has_its_errno_and_text)
{
#define CHECK_ONE(name, value, err, text) \
	ck_assert_int_eq(FC_E##name, value); \
	ck_assert_int_eq(fc_error_errno(FC_E##name), err); \
	ck_assert_str_eq(fc_error_text(FC_E##name), text);
	FC_ERRORS(CHECK_ONE)
#undef CHECK_ONE
}
END_TEST

START_TEST(damage_never_looks_like_absence)
{
	ck_assert_int_eq(fc_error_errno(FC_EFORGED), EIO);
	ck_assert_int_eq(fc_error_errno(FC_ECORRUPT), EIO);
	ck_assert_int_eq(fc_error_errno(-1000), EIO);
	ck_assert_int_eq(fc_error_errno(0), EIO);
	ck_assert_int_eq(fc_error_errno(1), EIO);
	ck_assert_str_eq(fc_error_text(-1000), "unknown error");
	ck_assert_str_eq(fc_error_text(0), "no error");
}
END_TEST

START_TEST(errno_of_a_system_call)
{
	static const struct {
		int err, error;
	} want[] = {
		{ ENOSPC, FC_ENOSPC }, { EDQUOT, FC_ENOSPC },      { EFBIG, FC_EFBIG },   { EIO, FC_EIO },
		{ ENOMEM, FC_ENOMEM }, { EACCES, FC_EACCESS },     { EPERM, FC_EPERM },   { EROFS, FC_EROFS },
		{ EINVAL, FC_EINVAL }, { EOPNOTSUPP, FC_ENOTSUP }, { ENOENT, FC_ENOENT }, { EEXIST, FC_EEXIST },
		{ EAGAIN, FC_EAGAIN }, { EBUSY, FC_EINUSE },       { EXDEV, FC_EXDEV },   { EINTR, FC_EINTERRUPTED },
		{ ESTALE, FC_EIO },    { EBADF, FC_EIO },          { 0, FC_EIO },         { 100000, FC_EIO },
	};
	size_t i;

	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		ck_assert_int_eq(fc_error_from_errno(want[i].err), want[i].error);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("error");
	TCase *tc = tcase_create("error");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, every_error_has_its_errno_and_text);
	tcase_add_test(tc, damage_never_looks_like_absence);
	tcase_add_test(tc, errno_of_a_system_call);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
