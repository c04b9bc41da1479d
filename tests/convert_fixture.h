/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of the host and a simulated disk for the converter's tests: setup makes both, with a
 * journal that moves in; run goes on with it.
 */
#ifndef FC_TESTS_CONVERT_FIXTURE_H
#define FC_TESTS_CONVERT_FIXTURE_H

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <xxhash.h>

#include "fusecrypt/convert.h"
#include "model/disk.h"
#include "secret/secret.h"

#define KEPT (8ull << 20) /* as convert/ keeps free */

static char top[64]; /* of all that a test makes */
static int staging;
static struct fc_disk disk;
static struct fc_fs *fs;
static struct fc_convert_journal journal;
static uint64_t steps, stop_at; /* 0: never */
static bool beside;             /* much room, in small batches: both hands work at once */
static uint64_t noted[FC_CONVERT_SKIPPED + 1];
static char last_note[256];
static uint64_t host_bytes;

/* Set: changes the split file when all of it is in the container and no name is gone yet. */
static bool spoil;

static void spoil_split(void)
{
	const char *names[] = { "large", "two", "holes" };
	struct stat st;
	int data = openat(staging, "data", O_RDONLY | O_DIRECTORY), fd;

	for (int i = 0; i < 3; i++) {
		if (fstatat(data, names[i], &st, 0) || st.st_ino != journal.split.ino)
			continue;
		fd = openat(data, names[i], O_WRONLY);
		ck_assert_int_eq(pwrite(fd, "spoilt", 6, 0), 6);
		close(fd);
		spoil = false;
	}
	close(data);
}

static bool on_stop(void *arg)
{
	(void)arg;
	steps++;
	if (spoil && journal.split.ino && !journal.split.cut && journal.split.from)
		spoil_split();
	return stop_at && steps >= stop_at;
}

static void on_note(void *arg, enum fc_convert_note what, const char *path, int error)
{
	(void)arg;
	(void)error;
	noted[what]++;
	snprintf(last_note, sizeof(last_note), "%s", path);
}

static int on_host_free(void *arg, uint64_t *bytes)
{
	(void)arg;
	*bytes = host_bytes;
	return 0;
}

static struct fc_convert_options options = {
	.container_fd = -1,
	.host_free = on_host_free,
	.note = on_note,
	.stop = on_stop,
};

/* ---- the tree of the host ------------------------------------------------------------ */

static const char *at(const char *name)
{
	static char path[4][512];
	static unsigned i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s", top, name);
	return path[i];
}

static void make_file(const char *name, size_t n, off_t hole, unsigned seed)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_EXCL, 0640);
	uint32_t *data = malloc(n + 4);

	ck_assert_int_ge(fd, 0);
	for (size_t i = 0; i < n / 4 + 1; i++)
		data[i] = seed = seed * 1664525u + 1013904223u;
	ck_assert_int_eq(pwrite(fd, data, n, hole), (ssize_t)n);
	ck_assert_int_eq(close(fd), 0);
	free(data);
}

static void make_tree(void)
{
	const struct timespec when[2] = { { 1000000000, 1 }, { 1100000000, 123456789 } };

	ck_assert_int_eq(mkdir(at("s/data"), 0750), 0);
	ck_assert_int_eq(mkdir(at("s/data/a"), 0700), 0);
	ck_assert_int_eq(mkdir(at("s/data/a/b"), 0555), 0);
	ck_assert_int_eq(mkdir(at("s/data/empty"), 01777), 0);
	make_file("s/data/a/small", 100, 0, 1);
	make_file("s/data/a/block", 4096, 0, 2);
	make_file("s/data/a/odd", 70001, 0, 3);
	make_file("s/data/large", 700001, 0, 4);
	make_file("s/data/holes", 300000, 5 << 20, 5);
	ck_assert_int_eq(truncate(at("s/data/holes"), 9 << 20), 0);
	make_file("s/data/nothing", 0, 0, 6);
	make_file("s/data/two", 500000, 0, 7);
	ck_assert_int_eq(link(at("s/data/two"), at("s/data/a/two again")), 0);
	ck_assert_int_eq(link(at("s/data/a/small"), at("s/data/empty/third")), 0);
	ck_assert_int_eq(symlink("a/small", at("s/data/link")), 0);
	ck_assert_int_eq(mkfifo(at("s/data/a/fifo"), 0604), 0);
	ck_assert_int_eq(setxattr(at("s/data/a/odd"), "user.note", "words", 5, 0), 0);
	ck_assert_int_eq(setxattr(at("s/data/a"), "user.dir", "more", 4, 0), 0);
	ck_assert_int_eq(chmod(at("s/data/a/odd"), 0400), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, at("s/data/large"), when, 0), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, at("s/data/a/b"), when, 0), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, at("s/data/a"), when, 0), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, at("s/data"), when, 0), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, at("s/data/link"), when, AT_SYMLINK_NOFOLLOW), 0);
}

static uint64_t print_sum;

static uint64_t content_of(const char *path)
{
	XXH3_state_t *state = XXH3_createState();
	char buf[65536];
	int fd = open(path, O_RDONLY | O_NOATIME);
	uint64_t sum;
	ssize_t n;

	ck_assert_int_ge(fd, 0);
	XXH3_64bits_reset(state);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		XXH3_64bits_update(state, buf, (size_t)n);
	close(fd);
	sum = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return sum;
}

/* Everything that must come back, whatever the order. */
static int print_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	char text[2048], target[512] = "", list[512];
	ssize_t n = llistxattr(path, list, sizeof(list)), k = readlink(path, target, sizeof(target) - 1);

	(void)ftw;
	target[k > 0 ? k : 0] = '\0';
	snprintf(text, sizeof(text), "%s %o %u %u %lu %ld %ld.%09ld %s %zd %lx", path + strlen(top), st->st_mode,
		 st->st_uid, st->st_gid, S_ISDIR(st->st_mode) ? 0 : (unsigned long)st->st_nlink,
		 S_ISREG(st->st_mode) ? (long)st->st_size : 0, (long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec, target, n,
		 S_ISREG(st->st_mode) ? content_of(path) : 0);
	(void)kind;
	print_sum += XXH3_64bits(text, strlen(text));
	return 0;
}

static inline uint64_t print_tree(void)
{
	print_sum = 0;
	ck_assert_int_eq(nftw(at("s/data"), print_one, 16, FTW_PHYS), 0);
	return print_sum;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

/* ---- begin and end -------------------------------------------------------------------- */

static void mount_disk(void)
{
	const struct fc_fs_options o = { .no_threads = true };

	ck_assert_int_eq(fc_fs_open(fc_disk_io(&disk, false), fc_disk_master, &o, &fs), 0);
	fc_io_sim_record(disk.sim, true);
}

static void setup(void)
{
	snprintf(top, sizeof(top), "%s/fusecrypt-convert-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(mkdir(at("s"), 0700), 0);
	staging = open(at("s"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(staging, 0);
	ck_assert_int_eq(fc_secret_init(), 0);
	fc_disk_format(&disk, FC_CIPHER_XCHACHA20POLY1305, (struct fc_time){ .sec = 1000 });
	mount_disk();
	make_tree();
	memset(noted, 0, sizeof(noted));
	steps = stop_at = 0;
	host_bytes = beside ? 1ull << 40 : KEPT + 2 * (192 << 10);
	options.batch_bytes = beside ? 96 << 10 : 0;
	journal = (struct fc_convert_journal){ .way = FC_CONVERT_IN, .phase = FC_CONVERT_PLACED };
	journal.container = strdup("/some where\n/box");
	ck_assert_int_eq(fc_convert_save(staging, &journal), 0);
}

static void teardown(void)
{
	if (fs)
		ck_assert_int_eq(fc_fs_close(fs), 0);
	fs = NULL;
	fc_disk_free(&disk);
	fc_convert_journal_free(&journal);
	close(staging);
	ck_assert_int_eq(nftw(top, remove_one, 16, FTW_PHYS | FTW_DEPTH), 0);
}

static int run(void)
{
	return fc_convert_run(fs, staging, &journal, &options);
}

static inline int run_suite(const char *name, const TTest *const *test)
{
	Suite *s = suite_create(name);
	TCase *t = tcase_create(name);
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 200);
	for (; *test; test++)
		tcase_add_test(t, *test);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

#endif
