/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The benchmark's arithmetic against values computed by hand. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "tools/bench/stats.h"

#define NEAR 1e-9
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The FileVault test as it was published: seconds. */
static const double filevault_plain[] = { 146.74, 146.19, 146.67 };
static const double filevault[] = { 152.08, 153.48, 152.46 };

START_TEST(median_of_odd_and_even_numbers)
{
	static const double one[] = { 7 }, three[] = { 9, 1, 5 }, four[] = { 4, 1, 3, 10 };

	ck_assert_double_eq(fc_stats_median(one, 1), 7);
	ck_assert_double_eq(fc_stats_median(three, 3), 5);
	ck_assert_double_eq(fc_stats_median(four, 4), 3.5);
	ck_assert_double_eq(fc_stats_median(filevault_plain, 3), 146.67);
}
END_TEST

START_TEST(description_leaves_the_values_as_they_are)
{
	double values[] = { 2, 8, 4, 5 };
	struct fc_stats s;

	fc_stats_describe(values, 4, &s);
	ck_assert_double_eq(s.median, 4.5);
	ck_assert_double_eq(s.low, 2);
	ck_assert_double_eq(s.high, 8);
	ck_assert_double_eq_tol(s.spread, 6 / 4.5, NEAR);
	ck_assert_double_eq(values[0], 2);
	ck_assert_double_eq(values[1], 8);
	ck_assert_double_eq(values[3], 5);
}
END_TEST

/* Probabilities from the binomial distribution, by hand:
 * n = 3: 1 - 2/8. n = 6: 1 - 2/64. n = 8: 1 - 2/256, since 1 - 2(1 + 8)/256 < 0.95.
 * n = 9: 1 - 2(1 + 9)/512. n = 15: 1 - 2(1 + 15 + 105 + 455)/32768. */
START_TEST(interval_between_order_statistics)
{
	static const struct {
		size_t n;
		double low, high, coverage;
	} want[] = {
		{ 1, 1, 1, 0 },       { 2, 1, 2, 0.5 },       { 3, 1, 3, 0.75 },      { 5, 1, 5, 0.9375 },
		{ 6, 1, 6, 0.96875 }, { 8, 1, 8, 0.9921875 }, { 9, 2, 8, 0.9609375 }, { 15, 4, 12, 0.96484375 },
	};
	/* 1 … 15 in no order; of n only those up to n are used. */
	static const double all[] = { 4, 12, 1, 9, 15, 2, 7, 11, 3, 14, 6, 10, 5, 13, 8 };

	for (size_t i = 0; i < COUNT(want); i++) {
		double values[15], low, high, coverage;
		size_t n = 0;

		for (size_t k = 0; k < COUNT(all); k++)
			if (all[k] <= (double)want[i].n)
				values[n++] = all[k];
		ck_assert_uint_eq(n, want[i].n);
		fc_stats_interval(values, n, &low, &high, &coverage);
		ck_assert_double_eq(low, want[i].low);
		ck_assert_double_eq(high, want[i].high);
		ck_assert_double_eq_tol(coverage, want[i].coverage, NEAR);
	}
}
END_TEST

START_TEST(filevault_as_published)
{
	struct fc_ratio r;

	fc_stats_compare(filevault_plain, filevault, 3, false, &r);
	ck_assert_double_eq_tol(r.ratio, 152.46 / 146.67, NEAR);
	ck_assert_double_eq_tol(r.ratio, 1.039, 0.0005);
	ck_assert_double_eq_tol(r.low, 152.08 / 146.74, NEAR);
	ck_assert_double_eq_tol(r.high, 153.48 / 146.19, NEAR);
	ck_assert_double_eq_tol(r.coverage, 0.75, NEAR);
	ck_assert_int_eq(r.word, FC_WORD_SLOWER);
}
END_TEST

START_TEST(rates_are_turned_round)
{
	static const double plain[] = { 100, 110, 90 }, inside[] = { 50, 55, 45 };
	struct fc_ratio r;

	fc_stats_compare(plain, inside, 3, true, &r);
	ck_assert_double_eq_tol(r.ratio, 2, NEAR);
	ck_assert_double_eq_tol(r.low, 2, NEAR);
	ck_assert_double_eq_tol(r.high, 2, NEAR);
	ck_assert_int_eq(r.word, FC_WORD_SLOWER);
	fc_stats_compare(inside, plain, 3, true, &r);
	ck_assert_double_eq_tol(r.ratio, 0.5, NEAR);
	ck_assert_int_eq(r.word, FC_WORD_FASTER);
}
END_TEST

/* Runs are compared with their neighbours: a machine that gets slower in the
 * course of the test does not make it noisy. */
START_TEST(pairs_cancel_what_both_suffer)
{
	static const double plain[] = { 1, 2, 4 }, inside[] = { 1.5, 3, 6 };
	struct fc_ratio r;

	fc_stats_compare(plain, inside, 3, false, &r);
	ck_assert_double_eq_tol(r.low, 1.5, NEAR);
	ck_assert_double_eq_tol(r.high, 1.5, NEAR);
	ck_assert_int_eq(r.word, FC_WORD_SLOWER);
}
END_TEST

START_TEST(interval_holds_the_ratio)
{
	/* Medians 2 and 5: ×2.5; the pairs are ×5, ×2, ×1.2. */
	static const double a[] = { 1, 2, 5 }, b[] = { 5, 4, 6 };
	/* Eight pairs of ×2 and one of ×1, which nine are enough to cut off. */
	static const double c[] = { 1, 1, 1, 1, 1, 1, 1, 1, 8 }, d[] = { 2, 2, 2, 2, 2, 2, 2, 2, 8 };
	struct fc_ratio r;

	fc_stats_compare(a, b, 3, false, &r);
	ck_assert_double_eq_tol(r.ratio, 2.5, NEAR);
	ck_assert_double_eq_tol(r.low, 1.2, NEAR);
	ck_assert_double_eq_tol(r.high, 5, NEAR);
	fc_stats_compare(c, d, 9, false, &r);
	ck_assert_double_eq_tol(r.ratio, 2, NEAR);
	ck_assert_double_eq_tol(r.low, 2, NEAR);
	ck_assert_double_eq_tol(r.high, 2, NEAR);
	ck_assert_double_eq_tol(r.coverage, 0.9609375, NEAR);
}
END_TEST

static enum fc_word word_of(const double *base, const double *other, size_t n)
{
	struct fc_ratio r;

	fc_stats_compare(base, other, n, false, &r);
	return r.word;
}

START_TEST(words)
{
	static const double base[] = { 1, 1, 1, 1, 1, 1 };
	/* All on one side, but by less than half of their spread: chance does that. */
	static const double near_by[] = { 1.01, 1.05, 1.02 };
	static const double noisy[] = { 0.7, 1.4, 1.1 };
	static const double faster[] = { 0.5, 0.52, 0.51 };
	/* The same six times are enough to be believed. */
	static const double six[] = { 1.01, 1.05, 1.02, 1.03, 1.02, 1.04 };

	ck_assert_int_eq(word_of(base, near_by, 1), FC_WORD_ONE_RUN);
	ck_assert_int_eq(word_of(base, near_by, 3), FC_WORD_SAME);
	ck_assert_int_eq(word_of(base, noisy, 3), FC_WORD_NOISY);
	ck_assert_int_eq(word_of(base, faster, 3), FC_WORD_FASTER);
	ck_assert_int_eq(word_of(base, six, 6), FC_WORD_SLOWER);
	ck_assert_int_eq(word_of(base, base, 3), FC_WORD_SAME);
	ck_assert_str_eq(fc_word_text(FC_WORD_NOISY), "too noisy to tell");
	ck_assert_str_eq(fc_word_text(FC_WORD_SAME), "no difference");
	ck_assert_str_eq(fc_word_text(FC_WORD_ONE_RUN), "one run only");
}
END_TEST

START_TEST(geometric_mean)
{
	static const double inverse[] = { 4, 0.25 }, three[] = { 1, 10, 100 }, one[] = { 3 };

	ck_assert_double_eq_tol(fc_stats_geometric_mean(inverse, 2), 1, NEAR);
	ck_assert_double_eq_tol(fc_stats_geometric_mean(three, 3), 10, NEAR);
	ck_assert_double_eq_tol(fc_stats_geometric_mean(one, 1), 3, NEAR);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench_stats");
	TCase *tc = tcase_create("bench_stats");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, median_of_odd_and_even_numbers);
	tcase_add_test(tc, description_leaves_the_values_as_they_are);
	tcase_add_test(tc, interval_between_order_statistics);
	tcase_add_test(tc, filevault_as_published);
	tcase_add_test(tc, rates_are_turned_round);
	tcase_add_test(tc, pairs_cancel_what_both_suffer);
	tcase_add_test(tc, interval_holds_the_ratio);
	tcase_add_test(tc, words);
	tcase_add_test(tc, geometric_mean);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
