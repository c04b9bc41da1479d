/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values, mount options and messages of the command line. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/mount_options.h"
#include "cli/text.h"

/* ---- values --------------------------------------------------------------- */

static int64_t size_of(const char *text)
{
	uint64_t v = 77;

	return fc_parse_size(text, &v) ? -1 : (int64_t)v;
}

START_TEST(sizes)
{
	ck_assert_int_eq(size_of("0"), 0);
	ck_assert_int_eq(size_of("1"), 1);
	ck_assert_int_eq(size_of("4096"), 4096);
	ck_assert_int_eq(size_of("1K"), 1024);
	ck_assert_int_eq(size_of("3m"), 3 << 20);
	ck_assert_int_eq(size_of("64M"), 64 << 20);
	ck_assert_int_eq(size_of("2G"), 2ll << 30);
	ck_assert_int_eq(size_of("5T"), 5ll << 40);
	ck_assert_int_eq(size_of("9223372036854775807"), INT64_MAX);
	ck_assert_int_eq(size_of("8388607T"), 8388607ll << 40);
	ck_assert_int_eq(size_of("8388608T"), -1);
	ck_assert_int_eq(size_of("9223372036854775808"), -1);
	ck_assert_int_eq(size_of("18446744073709551617"), -1);
}
END_TEST

START_TEST(what_is_no_size)
{
	static const char *const bad[] = { "",     "K",    "-1",   "+1", " 1",  "1 ", "1KB",
					   "1KiB", "1.5G", "0x10", "1P", "1k1", "G1", "١" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(size_of(bad[i]) == -1, "%s", bad[i]);
}
END_TEST

START_TEST(numbers_and_times)
{
	uint64_t n;
	unsigned s;

	ck_assert_int_eq(fc_parse_number("65535", 65535, &n), 0);
	ck_assert_uint_eq(n, 65535);
	ck_assert_int_eq(fc_parse_number("65536", 65535, &n), FC_EINVAL);
	ck_assert_int_eq(fc_parse_number("9", 8, &n), FC_EINVAL);
	ck_assert_int_eq(fc_parse_number("8", 8, &n), 0);
	ck_assert_int_eq(fc_parse_number("18446744073709551615", UINT64_MAX, &n), 0);
	ck_assert_uint_eq(n, UINT64_MAX);
	ck_assert_int_eq(fc_parse_number("18446744073709551616", UINT64_MAX, &n), FC_EINVAL);
	ck_assert_int_eq(fc_parse_number("1a", 65535, &n), FC_EINVAL);
	ck_assert_int_eq(fc_parse_number("", 65535, &n), FC_EINVAL);
	ck_assert_int_eq(fc_parse_time("90", &s), 0);
	ck_assert_uint_eq(s, 90);
	ck_assert_int_eq(fc_parse_time("90s", &s), 0);
	ck_assert_uint_eq(s, 90);
	ck_assert_int_eq(fc_parse_time("10m", &s), 0);
	ck_assert_uint_eq(s, 600);
	ck_assert_int_eq(fc_parse_time("2h", &s), 0);
	ck_assert_uint_eq(s, 7200);
	ck_assert_int_eq(fc_parse_time("366d", &s), 0);
	ck_assert_uint_eq(s, 366 * 86400);
	ck_assert_int_eq(fc_parse_time("367d", &s), FC_EINVAL);
	ck_assert_int_eq(fc_parse_time("10x", &s), FC_EINVAL);
	ck_assert_int_eq(fc_parse_time("10mm", &s), FC_EINVAL);
	ck_assert_int_eq(fc_parse_time("-1", &s), FC_EINVAL);
	ck_assert_int_eq(fc_parse_time("", &s), FC_EINVAL);
}
END_TEST

START_TEST(times_and_uuids_are_written_by_their_standards)
{
	const uint8_t uuid[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0x4c, 0xde,
				   0x8f, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0xff };
	char text[FC_TIME_TEXT], id[FC_UUID_TEXT];

	fc_format_time(0, text);
	ck_assert_str_eq(text, "1970-01-01T00:00:00Z");
	fc_format_time(1794904200, text);
	ck_assert_str_eq(text, "2026-11-17T08:30:00Z");
	fc_format_time(UINT64_MAX / 2, text); /* no such year: still something */
	ck_assert_uint_gt(strlen(text), 0);
	fc_format_uuid(uuid, id);
	ck_assert_str_eq(id, "01234567-89ab-4cde-8f00-1122334455ff");
}
END_TEST

START_TEST(each_error_has_its_exit_status)
{
	ck_assert_int_eq(fc_cli_exit(0), 0);
	ck_assert_int_eq(fc_cli_exit(FC_EIO), 1);
	ck_assert_int_eq(fc_cli_exit(FC_ENOMEM), 1);
	ck_assert_int_eq(fc_cli_exit(FC_EEXIST), 1);
	ck_assert_int_eq(fc_cli_exit(FC_EBADKEY), 3);
	ck_assert_int_eq(fc_cli_exit(FC_EFORGED), 4);
	ck_assert_int_eq(fc_cli_exit(FC_ECORRUPT), 4);
	ck_assert_int_eq(fc_cli_exit(FC_ENOTCONTAINER), 5);
	ck_assert_int_eq(fc_cli_exit(FC_ENEWER), 6);
	ck_assert_int_eq(fc_cli_exit(FC_EINUSE), 7);
	ck_assert_int_eq(fc_cli_exit(FC_ENOSPC), 9);
	ck_assert_int_eq(fc_cli_exit(FC_EOLDER), 10);
	ck_assert_int_eq(fc_cli_exit(FC_EINTERRUPTED), 130);
	ck_assert_int_eq(fc_cli_exit(-9999), 1);
}
END_TEST

/* ---- -o ------------------------------------------------------------------- */

static struct fc_mount_options o;
static char why[256];

static int take(const char *text)
{
	return fc_mount_options_parse(&o, text, why, sizeof(why));
}

static void fresh(void)
{
	memset(&o, 0, sizeof(o));
	why[0] = '\0';
}

static void done(void)
{
	fc_mount_options_free(&o);
}

START_TEST(own_options)
{
	ck_assert_int_eq(take("commit=30,cache=128M,idle=10m,uid=1000,gid=0,ro"), 0);
	ck_assert_uint_eq(o.commit_seconds, 30);
	ck_assert_uint_eq(o.cache_bytes, 128 << 20);
	ck_assert_uint_eq(o.idle_seconds, 600);
	ck_assert(o.own_uid && o.own_gid && o.read_only && !o.allow_other);
	ck_assert_uint_eq(o.uid, 1000);
	ck_assert_uint_eq(o.gid, 0);
	ck_assert_str_eq(o.fuse, "");
	/* a later list goes over an earlier one */
	ck_assert_int_eq(take("rw,commit=1"), 0);
	ck_assert(!o.read_only);
	ck_assert_uint_eq(o.commit_seconds, 1);
	ck_assert_uint_eq(o.idle_seconds, 600);
}
END_TEST

START_TEST(usual_options_go_to_the_kernel_or_nowhere)
{
	ck_assert_int_eq(
		take("defaults,allow_other,,noatime,user=me,_netdev,x-systemd.automount,nosuid,default_permissions,"
		     "x-gvfs-name=a b,nofail,noauto,"),
		0);
	ck_assert_str_eq(o.fuse, "allow_other,noatime,nosuid");
	ck_assert(o.allow_other);
	ck_assert_int_eq(take(""), 0);
	ck_assert_int_eq(take(","), 0);
	ck_assert_int_eq(take("nodev"), 0);
	ck_assert_str_eq(o.fuse, "allow_other,noatime,nosuid,nodev");
}
END_TEST

START_TEST(commas_and_blanks_in_values)
{
	ck_assert_int_eq(take("passphrase-file=/a\\,b c\\\\d,key-file=/k=1\\,,ro"), 0);
	ck_assert_str_eq(o.passphrase_file, "/a,b c\\d");
	ck_assert_str_eq(o.key_file, "/k=1,");
	ck_assert(o.read_only);
	ck_assert_int_eq(take("key-file=/x\\y\\"), 0); /* a backslash before anything else is one */
	ck_assert_str_eq(o.key_file, "/x\\y\\");
}
END_TEST

START_TEST(bad_options_are_refused_and_named)
{
	static const char *const bad[] = {
		"foo",
		"ro=1",
		"commit",
		"commit=",
		"commit=0",
		"commit=5s",
		"commit=3601",
		"cache=1",
		"cache=lots",
		"uid=",
		"uid=root",
		"gid=-1",
		"uid=4294967295",
		"idle=soon",
		"key-file=",
		"key-file",
		"allow_other=1",
		"allow_root",
		"Ro",
		"fsname=x",
		"passphrase-file",
		"=1",
		"passphrase=secret",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char name[64], text[128];

		snprintf(name, sizeof(name), "mount option %.*s", (int)strcspn(bad[i], "="), bad[i]);
		snprintf(text, sizeof(text), "noatime,%s", bad[i]);
		done();
		fresh();
		ck_assert_msg(take(text) == FC_EINVAL, "%s", bad[i]);
		ck_assert_msg(!strncmp(why, name, strlen(name)), "%s: %s", bad[i], why);
		ck_assert_str_eq(o.fuse, "noatime");
	}
}
END_TEST

START_TEST(too_many_options_are_refused)
{
	char text[2048] = "";

	for (int i = 0; i < 100; i++)
		strcat(text, "noatime,");
	ck_assert_int_eq(take(text), FC_EINVAL);
	ck_assert_uint_lt(strlen(o.fuse), sizeof(o.fuse));
	ck_assert(!strcmp(o.fuse + strlen(o.fuse) - 8, ",noatime")); /* whole words only */
}
END_TEST

/* ---- secrets ------------------------------------------------------------------ */

START_TEST(secret_options)
{
	struct fc_secret_from from = FC_SECRET_FROM_NONE;

	ck_assert(!fc_secret_given(&from));
	ck_assert_int_eq(fc_secret_option(&from, 'x', "y"), FC_ENOENT);
	ck_assert_int_eq(fc_secret_option(&from, FC_OPT_PASSPHRASE_FD, "0"), 0);
	ck_assert_int_eq(from.passphrase_fd, 0);
	ck_assert(fc_secret_given(&from));
	ck_assert_int_eq(fc_secret_option(&from, FC_OPT_PASSPHRASE_FD, "1000000"), FC_EINVAL); /* not open */
	ck_assert_int_eq(fc_secret_option(&from, FC_OPT_PASSPHRASE_FD, "x"), FC_EINVAL);
	ck_assert_int_eq(fc_secret_option(&from, FC_OPT_PASSPHRASE_FD, "-1"), FC_EINVAL);
	ck_assert_int_eq(fc_secret_option(&from, FC_OPT_PASSPHRASE_FILE, "f"), FC_EINVAL); /* both */
	from = FC_SECRET_FROM_NONE;
	ck_assert_int_eq(fc_secret_option(&from, FC_OPT_KEY_FILE, "k"), 0);
	ck_assert_int_eq(fc_secret_option(&from, FC_OPT_RECOVERY_FILE, "r"), 0);
	ck_assert_str_eq(from.key_file, "k");
	ck_assert_str_eq(from.recovery_file, "r");
}
END_TEST

START_TEST(new_secret_options)
{
	struct fc_secret_from fresh = FC_SECRET_FROM_NONE;

	ck_assert_int_eq(fc_new_secret_option(&fresh, FC_OPT_PASSPHRASE_FILE, "y"), FC_ENOENT);
	ck_assert_int_eq(fc_new_secret_option(&fresh, FC_OPT_OWN, "y"), FC_ENOENT);
	ck_assert_int_eq(fc_secret_option(&fresh, FC_OPT_NEW_KEY_FILE, "y"), FC_ENOENT);
	ck_assert(!fc_secret_given(&fresh));
	ck_assert_int_eq(fc_new_secret_option(&fresh, FC_OPT_NEW_KEY_FILE, "k"), 0);
	ck_assert_int_eq(fc_new_secret_option(&fresh, FC_OPT_NEW_RECOVERY_FILE, "r"), 0);
	ck_assert_int_eq(fc_new_secret_option(&fresh, FC_OPT_NEW_PASSPHRASE_FILE, "p"), 0);
	ck_assert_str_eq(fresh.key_file, "k");
	ck_assert_str_eq(fresh.recovery_file, "r");
	ck_assert_str_eq(fresh.passphrase_file, "p");
	ck_assert_int_eq(fc_new_secret_option(&fresh, FC_OPT_NEW_PASSPHRASE_FD, "0"), FC_EINVAL); /* both */
}
END_TEST

/* ---- JSON --------------------------------------------------------------------- */

static void json_is(const char *text, const char *want)
{
	json_t *j = fc_text_json(text);

	ck_assert_ptr_nonnull(j);
	ck_assert_str_eq(json_string_value(j), want);
	json_decref(j);
}

START_TEST(any_bytes_make_a_json_string)
{
	json_t *null = fc_text_json(NULL);

	ck_assert(json_is_null(null));
	json_decref(null);
	json_is("", "");
	json_is("/a b,c", "/a b,c");
	json_is("h\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x91", "h\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x91");
	json_is("a\xff-b", "a\xef\xbf\xbd-b");
	json_is("\xc3", "\xef\xbf\xbd");
	json_is("\xe2\x82x", "\xef\xbf\xbd\xef\xbf\xbdx");
	json_is("\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");                                 /* overlong */
	json_is("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");                 /* surrogate */
	json_is("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* beyond U+10FFFF */
}
END_TEST

static void plain_is(const char *text, const char *want)
{
	char *plain = fc_text_plain(text);

	ck_assert_ptr_nonnull(plain);
	ck_assert_str_eq(plain, want);
	free(plain);
}

START_TEST(nothing_moves_a_terminals_cursor)
{
	plain_is("h\xc3\xa9 \xe2\x82\xac", "h\xc3\xa9 \xe2\x82\xac");
	plain_is("\x1b[2J\n", "\xef\xbf\xbd[2J\xef\xbf\xbd");
	plain_is("\xc2\x9b\x7f", "\xef\xbf\xbd\xef\xbf\xbd");
	plain_is("\xff", "\xef\xbf\xbd");
	json_is("\x1b", "\x1b");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cli_args");
	TCase *values = tcase_create("values"), *options = tcase_create("-o"), *rest = tcase_create("rest");
	SRunner *r;
	int failed;

	tcase_add_test(values, sizes);
	tcase_add_test(values, what_is_no_size);
	tcase_add_test(values, numbers_and_times);
	tcase_add_test(values, times_and_uuids_are_written_by_their_standards);
	tcase_add_test(values, each_error_has_its_exit_status);
	suite_add_tcase(s, values);
	tcase_add_checked_fixture(options, fresh, done);
	tcase_add_test(options, own_options);
	tcase_add_test(options, usual_options_go_to_the_kernel_or_nowhere);
	tcase_add_test(options, commas_and_blanks_in_values);
	tcase_add_test(options, bad_options_are_refused_and_named);
	tcase_add_test(options, too_many_options_are_refused);
	suite_add_tcase(s, options);
	tcase_add_test(rest, secret_options);
	tcase_add_test(rest, new_secret_options);
	tcase_add_test(rest, nothing_moves_a_terminals_cursor);
	tcase_add_test(rest, any_bytes_make_a_json_string);
	suite_add_tcase(s, rest);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
