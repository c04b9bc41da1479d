/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>

#include "key/recovery.h"

static const uint8_t counting[FC_RECOVERY_BYTES] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
						     10, 11, 12, 13, 14, 15, 16, 17, 18, 19 };
static const char counting_text[] = "000G0-40R47-0M30J-E209D-185GT-R38E6-1W81Q-24GK4";
static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static int parse(const char *text, uint8_t *code, unsigned *group)
{
	return fc_recovery_parse(text, strlen(text), code, group);
}

/* Texts by another program. */
START_TEST(codes_are_written_as_documented)
{
	const uint8_t mixed[FC_RECOVERY_BYTES] = { 0x5c, 0x0f, 0xfe, 0xe1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd,
						   0xef, 0x00, 0x11, 0x22, 0x33, 0x44, 0xde, 0xad, 0xbe, 0xef };
	char text[FC_RECOVERY_CHARS + 1];
	uint8_t ones[FC_RECOVERY_BYTES];

	fc_recovery_format(counting, text);
	ck_assert_str_eq(text, counting_text);
	fc_recovery_format(mixed, text);
	ck_assert_str_eq(text, "BG7ZQ-XR93G-8NKRH-KAYDV-XW01B-28HKW-8KFAE-VFQFY");
	memset(ones, 0xff, sizeof(ones));
	fc_recovery_format(ones, text);
	ck_assert_str_eq(text, "ZZZZ8-ZZZZ7-ZZZZ2-ZZZZS-ZZZZW-ZZZZK-ZZZZP-ZZZZ0");
}
END_TEST

START_TEST(codes_are_read_as_people_write_them)
{
	static const char *const forms[] = {
		"000G0-40R47-0M30J-E209D-185GT-R38E6-1W81Q-24GK4",
		"000g0-40r47-0m30j-e209d-185gt-r38e6-1w81q-24gk4",
		"OooG0-4oR47-OM30J-E2O9D-I85gT-R38E6-lw8LQ-24GK4",
		"  000G040R470M30J E209D185GTR38E6\t1W81Q24GK4 \r",
	};
	uint8_t code[FC_RECOVERY_BYTES];
	unsigned group;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		memset(code, 0xee, sizeof(code));
		ck_assert_int_eq(parse(forms[i], code, &group), 0);
		ck_assert_mem_eq(code, counting, sizeof(code));
	}
}
END_TEST

START_TEST(any_wrong_character_is_found_and_its_group_named)
{
	uint8_t code[FC_RECOVERY_BYTES];
	char text[sizeof(counting_text)];
	unsigned group;

	for (size_t at = 0; at < sizeof(counting_text) - 1; at++) {
		for (const char *c = alphabet; *c && counting_text[at] != '-'; c++) {
			memcpy(text, counting_text, sizeof(text));
			if (text[at] == *c)
				continue;
			text[at] = *c;
			ck_assert_int_eq(parse(text, code, &group), FC_EFORGED);
			ck_assert_uint_eq(group, at / 6 + 1);
			ck_assert_uint_eq(code[1], 0);
		}
	}
}
END_TEST

static void swap(char *a, char *b, size_t n)
{
	char keep[8];

	memcpy(keep, a, n);
	memcpy(a, b, n);
	memcpy(b, keep, n);
}

START_TEST(swapped_characters_and_groups_are_found)
{
	uint8_t code[FC_RECOVERY_BYTES];
	char text[sizeof(counting_text)];
	unsigned group;

	for (unsigned g = 0; g < FC_RECOVERY_GROUPS; g++) {
		for (unsigned i = 0; i < 5; i++) {
			for (unsigned k = i + 1; k < 5; k++) {
				memcpy(text, counting_text, sizeof(text));
				swap(text + 6 * g + i, text + 6 * g + k, 1);
				if (text[6 * g + i] == text[6 * g + k])
					continue;
				ck_assert_int_eq(parse(text, code, &group), FC_EFORGED);
				ck_assert_uint_eq(group, g + 1);
			}
		}
		for (unsigned h = g + 1; h < FC_RECOVERY_GROUPS; h++) {
			memcpy(text, counting_text, sizeof(text));
			swap(text + 6 * g, text + 6 * h, 5);
			ck_assert_int_eq(parse(text, code, &group), FC_EFORGED);
			ck_assert_uint_eq(group, g + 1);
		}
	}
}
END_TEST

START_TEST(what_is_no_code_is_refused)
{
	uint8_t code[FC_RECOVERY_BYTES];
	unsigned group = 9;

	ck_assert_int_eq(parse("", code, &group), FC_EINVAL);
	ck_assert_uint_eq(group, 0);
	ck_assert_int_eq(parse("000G0-40R47-0M30J-E209D-185GT-R38E6-1W81Q-24GK", code, &group), FC_EINVAL);
	ck_assert_int_eq(parse("000G0-40R47-0M30J-E209D-185GT-R38E6-1W81Q-24GK44", code, &group), FC_EINVAL);
	ck_assert_int_eq(parse("U00G0-40R47-0M30J-E209D-185GT-R38E6-1W81Q-24GK4", code, &group), FC_EINVAL);
	ck_assert_int_eq(parse("000G0_40R47_0M30J_E209D_185GT_R38E6_1W81Q_24GK4", code, &group), FC_EINVAL);
	ck_assert_int_eq(
		fc_recovery_parse("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
				  40, code, &group),
		FC_EINVAL);
	ck_assert_int_eq(parse("\xff\xfe\xfd", code, &group), FC_EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("recovery");
	TCase *t = tcase_create("recovery");
	SRunner *r;
	int failed;

	tcase_add_test(t, codes_are_written_as_documented);
	tcase_add_test(t, codes_are_read_as_people_write_them);
	tcase_add_test(t, any_wrong_character_is_found_and_its_group_named);
	tcase_add_test(t, swapped_characters_and_groups_are_found);
	tcase_add_test(t, what_is_no_code_is_refused);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
