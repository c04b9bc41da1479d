/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal of a conversion: what was written, or nothing. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "fusecrypt/convert.h"

START_TEST(test_journal)
{
	struct fc_convert_journal j;
	struct fc_convert_journal journal = { .way = FC_CONVERT_IN,
					      .phase = FC_CONVERT_PLACED,
					      .container = (char[]){ "/some where\n/box" } };
	char text[4096], top[] = "/tmp/fusecrypt-journal-XXXXXX";
	ssize_t n;
	int fd, staging;

	ck_assert_ptr_nonnull(mkdtemp(top));
	staging = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(staging, 0);
	ck_assert_int_eq(fc_convert_save(staging, &journal), 0);
	ck_assert_int_eq(fc_convert_load(staging, &j), 0);
	ck_assert_str_eq(j.container, journal.container);
	fc_convert_journal_free(&j);
	fd = openat(staging, FC_CONVERT_JOURNAL, O_RDWR);
	n = read(fd, text, sizeof(text));
	ck_assert_int_gt(n, 100);
	/* any change makes it another one, or none */
	for (ssize_t i = 0; i < n; i++) {
		char other = text[i] == 'x' ? 'y' : 'x';

		ck_assert_int_eq(pwrite(fd, &other, 1, i), 1);
		ck_assert_int_eq(fc_convert_load(staging, &j), FC_ECORRUPT);
		ck_assert_int_eq(pwrite(fd, &text[i], 1, i), 1);
	}
	ck_assert_int_eq(ftruncate(fd, n - 1), 0);
	ck_assert_int_eq(fc_convert_load(staging, &j), FC_ECORRUPT);
	close(fd);
	ck_assert_int_eq(unlinkat(staging, FC_CONVERT_JOURNAL, 0), 0);
	ck_assert_int_eq(fc_convert_load(staging, &j), FC_ENOENT);
	close(staging);
	ck_assert_int_eq(rmdir(top), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("convert-journal");
	TCase *t = tcase_create("convert-journal");
	SRunner *runner;
	int failed;

	tcase_add_test(t, test_journal);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
