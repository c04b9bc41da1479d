/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing dirty pages back is not in the way of who unmounts, and is not seen. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/write_back.h"

#define ROUNDS 3000

static char kept[] = "/tmp/fusecrypt-kept.XXXXXX", place[] = "/tmp/fusecrypt-place.XXXXXX";
static struct fc_write_back write_back;
static _Atomic bool over;

static void *asks(void *arg)
{
	(void)arg;
	while (!atomic_load(&over)) {
		fc_write_back_want(&write_back);
		usleep(50);
	}
	return NULL;
}

/* Descriptors of this process that lie in the file system; to those who look from outside, too. */
static unsigned descriptors_there(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned found = 0;
	struct dirent *e;
	struct stat st;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)))
		found += !fstatat(dirfd(d), e->d_name, &st, 0) && st.st_dev == write_back.device;
	closedir(d);
	return found;
}

/* A file system that stays, in a mount namespace that goes with this process. False: not permitted. */
static bool prepare(void)
{
	struct stat st;

	if (geteuid() || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return false;
	ck_assert_ptr_nonnull(mkdtemp(kept));
	ck_assert_ptr_nonnull(mkdtemp(place));
	ck_assert_int_eq(mount("none", kept, "tmpfs", 0, "size=1m"), 0);
	ck_assert_int_eq(stat(kept, &st), 0);
	fc_write_back_init(&write_back, place);
	write_back.device = st.st_dev;
	return true;
}

START_TEST(unmounting_succeeds_at_any_moment)
{
	pthread_t thread;
	unsigned seen = 0;

	if (!prepare())
		return;
	ck_assert_int_eq(pthread_create(&thread, NULL, asks, NULL), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		int r;

		ck_assert_int_eq(mount(kept, place, NULL, MS_BIND, NULL), 0);
		usleep(i % 100);
		seen += descriptors_there();
		pthread_mutex_lock(&write_back.cloning);
		r = umount2(place, 0);
		pthread_mutex_unlock(&write_back.cloning);
		ck_assert_msg(r == 0, "round %u: %s", i, strerror(errno));
	}
	ck_assert_uint_eq(seen, 0);
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	ck_assert(write_back.started);
	umount2(kept, MNT_DETACH);
	rmdir(kept);
	rmdir(place);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("write_back");
	TCase *tc = tcase_create("write_back");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, unmounting_succeeds_at_any_moment);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
