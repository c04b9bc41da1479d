/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two machines measure the same only if what is generated is the same. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "tools/bench/corpus.h"
#include "tools/bench/files.h"

START_TEST(content_is_the_same_everywhere)
{
	uint8_t *data = malloc(CORPUS_FILE_BYTES);
	uint64_t sum = 0, bytes = 0;

	for (unsigned i = 0; i < 600; i++) {
		struct fc_corpus_file f;

		fc_corpus_describe(i, &f);
		ck_assert_uint_ge(f.bytes, 1);
		ck_assert_uint_le(f.bytes, CORPUS_FILE_BYTES);
		ck_assert_ptr_eq(strstr(f.path, "tree/"), f.path);
		memset(data, 0xee, CORPUS_FILE_BYTES);
		fc_corpus_fill(&f, data);
		sum += XXH3_64bits(data, f.bytes) ^ XXH3_64bits(f.path, strlen(f.path));
		bytes += f.bytes;
	}
	ck_assert_uint_eq(bytes, 13751516);
	ck_assert_uint_eq(sum, UINT64_C(11835866810916026075));
	free(data);
}
END_TEST

START_TEST(mix_adds_up)
{
	struct fc_corpus_mix mix;
	unsigned files = 0;

	fc_corpus_count(5000, &mix);
	for (unsigned k = 0; k < CORPUS_KINDS; k++)
		files += mix.files[k];
	ck_assert_uint_eq(files, 5000);
	/* 58, 24, 15 and 3 in a hundred, give or take. */
	ck_assert_uint_ge(mix.files[CORPUS_TEXT], 2700);
	ck_assert_uint_le(mix.files[CORPUS_TEXT], 3100);
	ck_assert_uint_ge(mix.files[CORPUS_CONFIG], 1050);
	ck_assert_uint_le(mix.files[CORPUS_CONFIG], 1350);
	ck_assert_uint_ge(mix.files[CORPUS_BINARY], 600);
	ck_assert_uint_le(mix.files[CORPUS_BINARY], 900);
	ck_assert_uint_ge(mix.files[CORPUS_IMAGE], 100);
	ck_assert_uint_le(mix.files[CORPUS_IMAGE], 200);
	ck_assert_uint_ge(mix.bytes[CORPUS_BINARY], mix.bytes[CORPUS_TEXT]);
}
END_TEST

/* A run of units is the same bytes whether it is asked for at once or unit by
 * unit, and no two units are the same. */
START_TEST(pattern_units)
{
	struct fc_pattern a, b;
	uint8_t unit[PATTERN_UNIT], *run;
	const uint64_t first = 4090; /* across the place where the noise repeats */

	fc_pattern_open(&a, 7);
	fc_pattern_open(&b, 7);
	run = fc_pattern_get(&a, first, 16);
	for (unsigned i = 0; i < 16; i++) {
		fc_pattern_copy_unit(&b, first + i, unit);
		ck_assert_int_eq(memcmp(unit, run + i * PATTERN_UNIT, PATTERN_UNIT), 0);
		ck_assert_int_eq(memcmp(unit, fc_pattern_get(&b, first + i, 1), PATTERN_UNIT), 0);
	}
	ck_assert(fc_pattern_stamped(&b, run, first, 16));
	ck_assert(!fc_pattern_stamped(&b, run, first + 1, 15));
	ck_assert_int_ne(memcmp(run, run + PATTERN_UNIT, PATTERN_UNIT), 0);
	fc_pattern_close(&b);
	fc_pattern_open(&b, 8);
	ck_assert(!fc_pattern_stamped(&b, run, first, 1));
	fc_pattern_close(&a);
	fc_pattern_close(&b);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench_corpus");
	TCase *tc = tcase_create("bench_corpus");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, content_is_the_same_everywhere);
	tcase_add_test(tc, mix_adds_up);
	tcase_add_test(tc, pattern_units);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
