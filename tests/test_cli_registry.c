/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registry of protected directories, and what a locked one looks like. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/locked.h"
#include "cli/mount.h"
#include "cli/registry.h"

#define NOBODY 65534
#define UUID "uuid 0123abcd-4567-89ab-cdef-0123456789ab\n"

static char dir[] = "/tmp/fc-test-registry-XXXXXX";
static char config[64];

static void enter_dir(void)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	snprintf(config, sizeof(config), "%s/config", dir);
	setenv("XDG_CONFIG_HOME", config, 1);
}

static void leave_dir(void)
{
	char command[64];

	fc_locked_unmark("locked");
	ck_assert_int_eq(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static void make_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(stat(name, &st), 0);
	return st.st_mode & 07777;
}

/* The machine's own entries are left out. */
static struct fc_registry read_own(void)
{
	struct fc_registry r;

	ck_assert_int_eq(fc_registry_read(&r), 0);
	while (r.count && r.list[r.count - 1].of_machine) {
		free(r.list[r.count - 1].directory);
		free(r.list[r.count - 1].container);
		free(r.list[r.count - 1].options);
		free(r.list[r.count - 1].file);
		r.count--;
	}
	return r;
}

static void add(char *directory, char *container, char *options, uint8_t first)
{
	struct fc_protected e = {
		.directory = directory, .container = container, .options = options, .uuid = { first }
	};

	ck_assert_int_eq(fc_registry_add(&e), 0);
}

static char d_odd[] = "/srv/a b\nc\\d=\xff", d_plain[] = "/srv/b", c_odd[] = "/srv/a b\nc\\n\\d.fusecrypt",
	    c_plain[] = "/x/b.fc";
static char o_some[] = "idle=10m,key-file=/a\\,b", o_none[] = "";

/* ---- the registry ------------------------------------------------------------------ */

START_TEST(what_is_added_is_read_again)
{
	struct fc_registry r = read_own();
	const struct fc_protected *e;

	ck_assert_uint_eq(r.count, 0); /* no such place yet */
	fc_registry_free(&r);
	add(d_plain, c_plain, o_none, 1);
	add(d_odd, c_odd, o_some, 0xfe);
	r = read_own();
	ck_assert_uint_eq(r.count, 2);
	ck_assert_uint_eq(r.bad, 0);
	ck_assert_str_eq(r.list[0].directory, d_odd); /* in order */
	ck_assert_str_eq(r.list[0].container, c_odd);
	ck_assert_str_eq(r.list[0].options, o_some);
	ck_assert_uint_eq(r.list[0].uuid[0], 0xfe);
	ck_assert(!r.list[0].of_machine);
	e = fc_registry_find(&r, d_plain);
	ck_assert_ptr_eq(e, &r.list[1]);
	ck_assert_str_eq(e->options, "");
	ck_assert_uint_eq(mode_of(e->file), 0600);
	ck_assert_uint_eq(mode_of("config/fusecrypt"), 0700);
	ck_assert_ptr_null(fc_registry_find(&r, "/srv"));
	fc_registry_free(&r);
}
END_TEST

START_TEST(the_same_directory_is_replaced)
{
	struct fc_registry r;

	/* also where someone named the file otherwise */
	ck_assert_int_eq(mkdir("config", 0700) || mkdir("config/fusecrypt", 0700), 0);
	make_file("config/fusecrypt/mine.dir",
		  "fusecrypt-directory 1\n# by hand\n\n" UUID "container /old\ndirectory /srv/b\n");
	add(d_plain, c_plain, o_some, 1);
	r = read_own();
	ck_assert_uint_eq(r.count, 1);
	ck_assert_str_eq(r.list[0].container, c_plain);
	ck_assert_str_eq(strrchr(r.list[0].file, '/'), "/mine.dir");
	ck_assert_int_eq(fc_registry_remove(&r.list[0]), 0);
	ck_assert_int_eq(fc_registry_remove(&r.list[0]), 0); /* gone already */
	fc_registry_free(&r);
	r = read_own();
	ck_assert_uint_eq(r.count, 0);
	fc_registry_free(&r);
}
END_TEST

START_TEST(entries_that_cannot_be)
{
	static char relative[] = "srv/b";
	struct fc_protected e = { .directory = relative, .container = c_plain };

	ck_assert_int_eq(fc_registry_add(&e), FC_EINVAL);
	e.directory = d_plain;
	e.container = relative;
	ck_assert_int_eq(fc_registry_add(&e), FC_EINVAL);
	e.container = c_plain;
	make_file("config", "in the way");
	ck_assert_int_eq(fc_registry_add(&e), FC_ENOTDIR);
	ck_assert_int_eq(unlink("config"), 0);
}
END_TEST

START_TEST(files_that_tell_of_no_directory)
{
	static const char *const bad[] = {
		"",
		"fusecrypt-directory 2\ndirectory /a\ncontainer /b\n" UUID,
		"fusecrypt-directory 1\ncontainer /b\n" UUID,
		"fusecrypt-directory 1\ndirectory /a\n" UUID,
		"fusecrypt-directory 1\ndirectory /a\ncontainer /b\n",
		"fusecrypt-directory 1\ndirectory /a\ndirectory /a\ncontainer /b\n" UUID,
		"fusecrypt-directory 1\ndirectory a\ncontainer /b\n" UUID,
		"fusecrypt-directory 1\ndirectory /a\ncontainer b\n" UUID,
		"fusecrypt-directory 1\ndirectory /a\\x\ncontainer /b\n" UUID,
		"fusecrypt-directory 1\ndirectory /a\\\ncontainer /b\n" UUID,
		"fusecrypt-directory 1\ndirectory\ncontainer /b\n" UUID,
		"fusecrypt-directory 1\ndirectory /a\ncontainer /b\n" UUID UUID,
		"fusecrypt-directory 1\ndirectory /a\ncontainer /b\n" UUID "sudo yes\n",
		"fusecrypt-directory 1\ndirectory /a\ncontainer /b\nuuid 0123abcd-4567-89ab-cdef-0123456789a\n",
		"fusecrypt-directory 1\ndirectory /a\ncontainer /b\nuuid 0123abcd-4567-89ab-cdef-0123456789axx\n",
		"fusecrypt-directory 1\ndirectory /a\ncontainer /b\nuuid -123abcd-4567-89ab-cdef-0123456789ab\n",
	};
	struct fc_registry r;

	ck_assert_int_eq(mkdir("config", 0700) || mkdir("config/fusecrypt", 0700), 0);
	make_file("config/fusecrypt/good.dir", "fusecrypt-directory 1\ndirectory /a\ncontainer /b\n" UUID);
	make_file("config/fusecrypt/good.dir.new", "half of");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		make_file("config/fusecrypt/bad.dir", bad[i]);
		r = read_own();
		ck_assert_msg(r.count == 1 && r.bad == 1, "%s", bad[i]);
		ck_assert_str_eq(r.list[0].directory, "/a");
		fc_registry_free(&r);
	}
}
END_TEST

/* Its options could make root mount with suid. */
START_TEST(files_that_others_may_write_are_not_believed)
{
	struct fc_registry r;

	add(d_plain, c_plain, o_none, 1);
	r = read_own();
	ck_assert_uint_eq(r.count, 1);
	ck_assert_int_eq(chmod(r.list[0].file, 0620), 0);
	ck_assert_int_eq(symlink(r.list[0].file, "config/fusecrypt/link.dir"), 0);
	ck_assert_int_eq(mkdir("config/fusecrypt/directory.dir", 0700), 0);
	if (!geteuid()) {
		make_file("config/fusecrypt/other.dir", "fusecrypt-directory 1\ndirectory /a\ncontainer /b\n" UUID);
		ck_assert_int_eq(chown("config/fusecrypt/other.dir", NOBODY, NOBODY), 0);
	}
	fc_registry_free(&r);
	r = read_own();
	ck_assert_uint_eq(r.count, 0);
	ck_assert_uint_eq(r.bad, geteuid() ? 3 : 4);
	fc_registry_free(&r);
}
END_TEST

START_TEST(what_must_be_known_before_a_home_is_there)
{
	struct fc_protected e = { .directory = d_plain, .container = c_plain, .of_machine = true };
	char other[64];
	int status;
	pid_t pid;

	snprintf(other, sizeof(other), "%s/other", dir);
	ck_assert(fc_registry_needs_machine(dir));
	ck_assert_int_eq(mkdir("config", 0700), 0);
	ck_assert(fc_registry_needs_machine(config));
	ck_assert_int_eq(mkdir("other", 0700), 0);
	ck_assert(!fc_registry_needs_machine(other));
	pid = fork();
	if (!pid) /* an ordinary user does not write to /etc */
		_exit(!geteuid() && seteuid(NOBODY) ? 2 : fc_registry_add(&e) != FC_EACCESS);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- locked directories ------------------------------------------------------------ */

static void check_marked(const char *container)
{
	char text[1024] = "";
	FILE *f = fopen("locked/" FC_MARKER_NAME, "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, f), 0);
	fclose(f);
	ck_assert_int_eq(strncmp(text, FC_MARKER_LINE, strlen(FC_MARKER_LINE)), 0);
	ck_assert_ptr_nonnull(strstr(text, container));
	ck_assert_ptr_nonnull(strstr(text, "fusecrypt unlock 'locked'\n"));
	ck_assert(fc_locked_is_marked("locked"));
	ck_assert_uint_eq(mode_of("locked"), 0500);
	ck_assert_uint_eq(mode_of("locked/" FC_MARKER_NAME), 0444);
	ck_assert_int_ne(access("locked/" FC_MARKER_NAME ".new", F_OK), 0);
}

START_TEST(marked_and_unmarked)
{
	ck_assert_int_eq(mkdir("locked", 0755), 0);
	ck_assert(!fc_locked_is_marked("locked"));
	ck_assert_int_eq(fc_locked_unmark("locked"), 0); /* was not */
	ck_assert_int_eq(fc_locked_mark("locked", "/one.fc", false), 0);
	check_marked("/one.fc");
	ck_assert_int_eq(fc_locked_mark("locked", "/two.fc", false), 0); /* again */
	check_marked("/two.fc");
	ck_assert_int_eq(fc_locked_unmark("locked"), 0);
	ck_assert_uint_eq(mode_of("locked"), 0700);
	ck_assert_int_eq(rmdir("locked"), 0);
}
END_TEST

START_TEST(what_cannot_be_marked)
{
	ck_assert_int_eq(fc_locked_mark("locked", "/c", false), FC_ENOENT);
	ck_assert_int_eq(mkdir("locked", 0755), 0);
	make_file("locked/file", "x");
	ck_assert_int_eq(fc_locked_mark("locked", "/c", false), FC_ENOTEMPTY);
	ck_assert_uint_eq(mode_of("locked"), 0755); /* nothing is changed */
	ck_assert_int_eq(unlink("locked/file"), 0);
	make_file("locked/" FC_MARKER_NAME, "not ours\n");
	ck_assert_int_eq(fc_locked_mark("locked", "/c", false), FC_ENOTEMPTY);
	ck_assert_int_eq(fc_locked_unmark("locked"), 0);
	ck_assert_int_eq(unlink("locked/" FC_MARKER_NAME), 0);  /* was left there */
	make_file("locked/" FC_MARKER_NAME ".new", "This dir"); /* a crash while it was written */
	ck_assert_int_eq(fc_locked_mark("locked", "/c", false), 0);
	check_marked("/c");
	ck_assert_int_eq(symlink("locked", "link"), 0);
	ck_assert_int_eq(fc_locked_mark("link", "/d", false), FC_ENOTDIR);
	ck_assert_int_eq(fc_locked_unmark("link"), FC_ENOTDIR);
	check_marked("/c");
	make_file("file", "x");
	ck_assert_int_eq(fc_locked_mark("file", "/c", false), FC_ENOTDIR);
}
END_TEST

/* In a child without privileges; returns its exit status. */
static int as_nobody(int (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (!geteuid() && (setegid(NOBODY) || seteuid(NOBODY)))
			_exit(100);
		_exit(body());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}

static int for_a_moment(void)
{
	struct stat st;
	int fd;

	if (!access("locked", W_OK) && !eaccess("locked", W_OK))
		return 1;
	fd = fc_locked_open("locked");
	if (fd < 0)
		return 2;
	if (stat("locked", &st) || (st.st_mode & 07777) != 0700)
		return 3;
	fc_locked_close(fd);
	if (stat("locked", &st) || (st.st_mode & 07777) != 0500)
		return 4;
	return 0;
}

static int not_for_others(void)
{
	return fc_locked_open("locked") >= 0 || fc_locked_mark("locked", "/c", true) == 0 ||
	       fc_locked_unmark("locked") == 0;
}

START_TEST(writable_for_the_moment_of_mounting)
{
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_assert_int_eq(mkdir("locked", 0755), 0);
	if (!geteuid())
		ck_assert_int_eq(chown("locked", NOBODY, NOBODY), 0);
	ck_assert_int_eq(fc_locked_mark("locked", "/c", false), 0);
	ck_assert(!fc_locked_is_fixed("locked")); /* its owner unlocks it */
	ck_assert_int_eq(as_nobody(for_a_moment), 0);
	if (geteuid())
		return;
	ck_assert_int_eq(fc_locked_open("locked"), -1); /* root needs nothing */
	ck_assert_int_eq(chown("locked", NOBODY - 1, NOBODY), 0);
	ck_assert_int_eq(as_nobody(not_for_others), 0);
}
END_TEST

START_TEST(root_is_kept_out_too)
{
	bool knows;

	if (geteuid())
		return;
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_assert_int_eq(mkdir("locked", 0755), 0);
	ck_assert_int_eq(fc_locked_mark("locked", "/c", false), 0);
	knows = fc_locked_is_fixed("locked");
	if (knows)
		ck_assert_int_ne(mkdir("locked/x", 0700), 0);
	ck_assert_int_eq(fc_locked_mark("locked", "/d", false), 0);
	check_marked("/d");
	ck_assert_int_eq(fc_locked_unmark("locked"), 0);
	ck_assert_int_eq(mkdir("locked/x", 0700) || rmdir("locked/x"), 0);
	ck_assert_int_eq(chown("locked", NOBODY, NOBODY), 0);
	ck_assert_int_eq(fc_locked_mark("locked", "/c", true), 0); /* of the machine */
	ck_assert_int_eq(fc_locked_is_fixed("locked"), knows);
	if (knows)
		ck_assert_int_eq(as_nobody(not_for_others), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cli_registry");
	TCase *t = tcase_create("cli_registry");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, enter_dir, leave_dir);
	tcase_add_test(t, what_is_added_is_read_again);
	tcase_add_test(t, the_same_directory_is_replaced);
	tcase_add_test(t, entries_that_cannot_be);
	tcase_add_test(t, files_that_tell_of_no_directory);
	tcase_add_test(t, files_that_others_may_write_are_not_believed);
	tcase_add_test(t, what_must_be_known_before_a_home_is_there);
	tcase_add_test(t, marked_and_unmarked);
	tcase_add_test(t, what_cannot_be_marked);
	tcase_add_test(t, writable_for_the_moment_of_mounting);
	tcase_add_test(t, root_is_kept_out_too);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
