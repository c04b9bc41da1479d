/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A disk (1) or a limit (0) that is full: what was deleted can be had again at once,
 * without waiting for commits, and statfs says so.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>

#include "fs_fixture.h"

#define MIB ((uint64_t)1 << 20)
#define LIMIT (64 * MIB)

static struct fixture f;
static uint8_t bytes[MIB];

static void start(int host)
{
	uint64_t least;

	memset(bytes, 'x', sizeof(bytes));
	if (host)
		fc_io_sim_limit(f.io, LIMIT);
	else
		ck_assert_int_eq(fc_fs_set_limit(f.fs, LIMIT, &least), 0);
}

static void setup(void)
{
	fixture_open(&f);
}

static void teardown(void)
{
	fixture_close(&f);
}

static uint64_t make(const char *name)
{
	struct fc_attr attr;

	ck_assert_int_eq(fc_fs_mknod(f.fs, 1, name, &fixture_cred, 0100644, 0, &attr), 0);
	return attr.ino;
}

static void drop(const char *name, uint64_t ino)
{
	ck_assert_int_eq(fc_fs_unlink(f.fs, 1, name), 0);
	fc_fs_forget(f.fs, ino, 1);
}

static struct fc_fs_stat stat_now(void)
{
	struct fc_fs_stat st;

	ck_assert_int_eq(fc_fs_statfs(f.fs, &st), 0);
	return st;
}

/* Writes until nothing more fits: how many MiB did. */
static uint64_t fill(uint64_t ino)
{
	uint64_t n = 0;
	int r;

	while (!(r = fc_fs_write(f.fs, ino, n * MIB, MIB, bytes, 0)))
		n++;
	ck_assert_int_eq(r, FC_ENOSPC);
	return n;
}

START_TEST(what_was_deleted_is_free_at_once)
{
	uint64_t first = 0, at_first;

	start(_i);
	at_first = stat_now().bytes_free;
	for (int round = 0; round < 6; round++) {
		uint64_t ino = make("f"), n = fill(ino);

		if (!round)
			first = n;
		ck_assert_uint_ge(n, 24);
		ck_assert_uint_ge(n + 2, first);
		ck_assert_uint_lt(stat_now().bytes_free, 8 * MIB);
		drop("f", ino);
		ck_assert_uint_ge(stat_now().bytes_free + 2 * MIB, at_first);
	}
}
END_TEST

START_TEST(fallocate_has_what_was_deleted)
{
	start(_i);
	for (int round = 0; round < 20; round++) {
		uint64_t ino = make("f");

		ck_assert_int_eq(fc_fs_fallocate(f.fs, ino, 0, 0, 24 * MIB, 0), 0);
		drop("f", ino);
	}
}
END_TEST

START_TEST(fallocate_of_too_much_takes_nothing)
{
	struct fc_fs_stat before, after;
	struct fc_attr attr;
	uint64_t ino;

	start(_i);
	ino = make("f");
	ck_assert_int_eq(fc_fs_write(f.fs, ino, 5 * MIB, MIB, bytes, 0), 0);
	ck_assert_int_eq(fc_fs_commit(f.fs), 0);
	before = stat_now();
	ck_assert_int_eq(fc_fs_fallocate(f.fs, ino, 0, 0, 200 * MIB, 0), FC_ENOSPC);
	ck_assert_uint_eq(stat_now().bytes_allocated, before.bytes_allocated);
	ck_assert_int_eq(fc_fs_fallocate(f.fs, ino, FALLOC_FL_KEEP_SIZE, 7 * MIB, 1ull << 40, 0), FC_ENOSPC);
	after = stat_now();
	ck_assert_uint_le(after.bytes_used, before.bytes_used + (256u << 10));
	ck_assert_int_eq(fc_fs_getattr(f.fs, ino, &attr), 0);
	ck_assert_uint_eq(attr.blocks, MIB / 512);
	ck_assert_uint_eq(attr.size, 6 * MIB);
	ck_assert_int_eq(fc_fs_fallocate(f.fs, ino, 0, 0, 8 * MIB, 0), 0); /* around what is there */
	ck_assert_int_eq(fc_fs_getattr(f.fs, ino, &attr), 0);
	ck_assert_uint_eq(attr.blocks, 8 * MIB / 512);
}
END_TEST

START_TEST(trim_gives_it_back_to_the_host)
{
	uint64_t before, ino, gone;

	start(_i);
	ck_assert_int_eq(fc_fs_trim(f.fs, &gone), 0);
	before = stat_now().bytes_allocated;
	ino = make("f");
	ck_assert_uint_ge(fill(ino), 24);
	ck_assert_uint_ge(stat_now().bytes_allocated, before + 24 * MIB);
	drop("f", ino);
	ck_assert_int_eq(fc_fs_trim(f.fs, &gone), 0);
	ck_assert_uint_ge(gone, 24 * MIB);
	ck_assert_uint_le(stat_now().bytes_allocated, before + 4 * MIB);
}
END_TEST

/* ---- two at once, each with less than half of it ---- */

static int of_thread[2];

static void *write_and_delete(void *arg)
{
	struct fc_attr attr;
	int *result = arg, i, r = 0;
	char name[8];

	snprintf(name, sizeof(name), "f%d", (int)(result - of_thread));
	for (i = 0; !r && i < 40; i++) {
		r = fc_fs_mknod(f.fs, 1, name, &fixture_cred, 0100644, 0, &attr);
		if (!r && result == of_thread)
			r = fc_fs_fallocate(f.fs, attr.ino, 0, 0, 14 * MIB, 0);
		for (uint64_t at = 0; !r && result != of_thread && at < 14 * MIB; at += MIB)
			r = fc_fs_write(f.fs, attr.ino, at, MIB, bytes, 0);
		if (!r)
			r = fc_fs_unlink(f.fs, 1, name);
		fc_fs_forget(f.fs, attr.ino, 1);
	}
	*result = r;
	return NULL;
}

START_TEST(two_who_delete_find_room)
{
	pthread_t thread[2];

	start(_i);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, write_and_delete, &of_thread[i]), 0);
	for (int i = 0; i < 2; i++) {
		pthread_join(thread[i], NULL);
		ck_assert_int_eq(of_thread[i], 0);
	}
}
END_TEST

/* Names until there is no room for more: how many. */
static int make_all(const char *prefix, int *error)
{
	char name[32];
	struct fc_attr attr;
	int n;

	for (n = 0;; n++) {
		snprintf(name, sizeof(name), "%s%d", prefix, n);
		*error = fc_fs_mknod(f.fs, 1, name, &fixture_cred, 0100644, 0, &attr);
		if (*error)
			return n;
		fc_fs_forget(f.fs, attr.ino, 1);
	}
}

/* Commits are what takes time. */
START_TEST(no_room_for_names_is_known_after_one_wait)
{
	struct fc_attr attr;
	uint64_t before, after;
	int r, n;

	start(_i);
	fill(make("f"));
	before = stat_now().generation;
	n = make_all("a", &r);
	ck_assert_int_eq(r, FC_ENOSPC);
	ck_assert_int_ge(n, 1000);
	after = stat_now().generation;
	/* each of the last 800 waited, for two */
	ck_assert_uint_lt(after - before, 200);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(fc_fs_mknod(f.fs, 1, "no", &fixture_cred, 0100644, 0, &attr), FC_ENOSPC);
	ck_assert_uint_eq(stat_now().generation, after);

	/* what is deleted is looked for again */
	for (int i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "a%d", i);
		ck_assert_int_eq(fc_fs_unlink(f.fs, 1, name), 0);
	}
	ck_assert_int_ge(make_all("b", &r), n / 2);
	ck_assert_int_eq(r, FC_ENOSPC);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("full");
	TCase *tc = tcase_create("full");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 240);
	tcase_add_loop_test(tc, what_was_deleted_is_free_at_once, 0, 2);
	tcase_add_loop_test(tc, fallocate_has_what_was_deleted, 0, 2);
	tcase_add_loop_test(tc, fallocate_of_too_much_takes_nothing, 0, 2);
	tcase_add_loop_test(tc, trim_gives_it_back_to_the_host, 0, 2);
	tcase_add_loop_test(tc, two_who_delete_find_room, 0, 2);
	tcase_add_loop_test(tc, no_room_for_names_is_known_after_one_wait, 0, 2);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
