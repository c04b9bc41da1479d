/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One file system a test, and short names for what tests of names do. */
#ifndef FC_TESTS_NAMES_FIXTURE_H
#define FC_TESTS_NAMES_FIXTURE_H

#include <sys/stat.h>

#include "fs_fixture.h"

static struct fixture f;
static struct fc_attr a; /* of the last call */

static void setup(void)
{
	fixture_open(&f);
}

static void teardown(void)
{
	fixture_close(&f);
}

#define ok(call) ck_assert_int_eq((call), 0)
#define fails(error, call) ck_assert_int_eq((call), (error))

static inline uint64_t mkfile(uint64_t dir, const char *name)
{
	ok(fc_fs_mknod(f.fs, dir, name, &fixture_cred, S_IFREG | 0666, 0, &a));
	return a.ino;
}

static inline uint64_t mkdir_(uint64_t dir, const char *name)
{
	ok(fc_fs_mkdir(f.fs, dir, name, &fixture_cred, 0777, &a));
	return a.ino;
}

static inline int rename_(uint64_t dir, const char *name, uint64_t dir2, const char *name2, unsigned flags)
{
	return fc_fs_rename(f.fs, dir, name, dir2, name2, flags, &fixture_cred);
}

/* What a name means; 0: nothing. */
static inline uint64_t ino_of(uint64_t dir, const char *name)
{
	struct fc_attr attr;
	int err = fc_fs_lookup(f.fs, dir, name, &attr);

	if (err == FC_ENOENT)
		return 0;
	ok(err);
	fc_fs_forget(f.fs, attr.ino, 1);
	return attr.ino;
}

static inline struct fc_attr attr_of(uint64_t ino)
{
	struct fc_attr attr;

	ok(fc_fs_getattr(f.fs, ino, &attr));
	ck_assert_uint_eq(attr.ino, ino);
	return attr;
}

static inline uint32_t nlink_of(uint64_t ino)
{
	return attr_of(ino).nlink;
}

static inline uint64_t inodes(void)
{
	struct fc_fs_stat st;

	ok(fc_fs_statfs(f.fs, &st));
	return st.inodes;
}

/* The next operations happen at this second. */
static inline void at(int64_t sec)
{
	f.now.sec = sec;
}

static inline void times_are(uint64_t ino, int64_t atime, int64_t mtime, int64_t ctime)
{
	struct fc_attr attr = attr_of(ino);

	ck_assert_int_eq(attr.atime.sec, atime);
	ck_assert_int_eq(attr.mtime.sec, mtime);
	ck_assert_int_eq(attr.ctime.sec, ctime);
}

static inline TCase *names_case(const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 120);
	return tc;
}

/* The exit status. */
static inline int run_case(TCase *tc)
{
	Suite *suite = suite_create("fs");
	SRunner *runner;
	int failed;

	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

#endif
