/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The converter between a tree of the host and a simulated disk: there and back, stopped
 * at every step of either way with the disk as a power cut leaves it, gone on with and
 * turned round; and what it refuses.
 */
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

static bool on_stop(void *arg)
{
	(void)arg;
	steps++;
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

static uint64_t print_tree(void)
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

/* The disk as a power cut leaves it: what was synced, and of the rest what `luck` lets through. */
static void power_cut(struct fc_disk *base, unsigned luck)
{
	const struct fc_sim_event *event;
	size_t n, synced = 0;

	event = fc_io_sim_trace(disk.sim, &n);
	for (size_t i = 0; i < n; i++)
		if (event[i].kind == FC_SIM_SYNC)
			synced = i;
	for (size_t i = 0; i < n; i++) {
		luck = luck * 1664525u + 1013904223u;
		if (i < synced || luck >> 31)
			ck_assert_int_eq(fc_io_sim_apply(base->sim, &event[i], 0, UINT64_MAX), 0);
	}
	fc_fs_abandon(fs);
	fc_disk_free(&disk);
	disk = *base;
	mount_disk();
	fc_convert_journal_free(&journal);
	ck_assert_int_eq(fc_convert_load(staging, &journal), 0);
}

/* The container alone has it all; and everything comes back from there. */
static void check_in_container(uint64_t want)
{
	char text[512];

	ck_assert_int_eq(journal.phase, FC_CONVERT_DONE);
	ck_assert_int_eq(access(at("s/data"), F_OK), -1);
	ck_assert_int_eq(fc_fs_commit(fs), 0);
	ck_assert_msg(!fc_disk_check(&disk, 0, NULL, text, sizeof(text)), "%s", text);
	journal.way = FC_CONVERT_OUT;
	journal.phase = FC_CONVERT_PLACED;
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(print_tree(), want);
}

START_TEST(test_there_and_back)
{
	uint64_t want = print_tree();
	struct fc_attr attr;

	ck_assert_int_eq(run(), 0);
	ck_assert_int_eq(fc_fs_lookup(fs, FC_INO_ROOT, "large", &attr), 0);
	ck_assert_uint_eq(attr.size, 700001);
	ck_assert_int_eq(attr.mtime.sec, 1100000000);
	ck_assert_uint_eq(attr.mtime.nsec, 123456789);
	fc_fs_forget(fs, attr.ino, 1);
	ck_assert_int_eq(fc_fs_getxattr(fs, FC_INO_ROOT, "trusted.fusecrypt.times", NULL, 0), FC_ENODATA);
	check_in_container(want);
	ck_assert_uint_eq(noted[FC_CONVERT_FAILED], 0);
}
END_TEST

/* Much room: nothing is split, and it is the same. */
START_TEST(test_much_room)
{
	uint64_t want = print_tree();

	host_bytes = 1ull << 40;
	ck_assert_int_eq(run(), 0);
	check_in_container(want);
}
END_TEST

START_TEST(test_no_room)
{
	uint64_t want = print_tree();

	host_bytes = KEPT;
	ck_assert_int_eq(run(), FC_ENOSPC);
	ck_assert_uint_eq(print_tree(), want);
	host_bytes = 1ull << 40;
	ck_assert_int_eq(run(), 0);
	check_in_container(want);
}
END_TEST

/* Stops the way in or out at step n, cuts the power, and goes on or back. False: it came to its end before. */
static bool stopped_at(enum fc_convert_way way, uint64_t n, bool back)
{
	uint64_t want = print_tree();
	struct fc_disk base = { 0 };
	int r;

	if (way == FC_CONVERT_OUT) {
		ck_assert_int_eq(run(), 0);
		ck_assert_int_eq(fc_fs_commit(fs), 0);
		journal.way = way;
		journal.phase = FC_CONVERT_PLACED;
		ck_assert_int_eq(fc_convert_save(staging, &journal), 0);
	}
	fc_disk_clone(&base, &disk);
	fc_io_sim_record(disk.sim, true);
	steps = 0;
	stop_at = n;
	r = run();
	stop_at = 0;
	if (!r) {
		fc_disk_free(&base);
		return false;
	}
	ck_assert_int_eq(r, FC_EINTERRUPTED);
	power_cut(&base, (unsigned)n);
	if (back) {
		ck_assert_int_eq(fc_convert_turn(fs, staging, &journal, &options), 0);
		ck_assert_int_ne(journal.way, way);
		ck_assert(journal.aborting);
	}
	ck_assert_msg(!run(), "way %d, step %d, back %d: %s", way, (int)n, back, last_note);
	if (journal.way == FC_CONVERT_IN)
		check_in_container(want);
	else
		ck_assert_msg(print_tree() == want, "way %d, step %d, back %d", way, (int)n, back);
	return true;
}

static void stop_everywhere(enum fc_convert_way way, bool back, bool with_both_hands)
{
	uint64_t n = 1;
	bool more;

	beside = with_both_hands;
	teardown();
	setup();

	do {
		more = stopped_at(way, n, back);
		n += 2 + n % 3;
		teardown();
		setup();
	} while (more);
	ck_assert_uint_gt(n, 60); /* there are steps */
}

START_TEST(test_in_stopped)
{
	stop_everywhere(FC_CONVERT_IN, false, false);
}
END_TEST

START_TEST(test_in_turned)
{
	stop_everywhere(FC_CONVERT_IN, true, false);
}
END_TEST

START_TEST(test_out_stopped)
{
	stop_everywhere(FC_CONVERT_OUT, false, false);
}
END_TEST

START_TEST(test_out_turned)
{
	stop_everywhere(FC_CONVERT_OUT, true, false);
}
END_TEST

/* What is larger than a batch goes in parts, each read back while the next is copied. */
START_TEST(test_beside)
{
	uint64_t want;

	beside = true;
	teardown();
	setup();
	want = print_tree();
	ck_assert_int_eq(run(), 0);
	ck_assert_uint_eq(journal.split.ino, 0);
	check_in_container(want);
	ck_assert_uint_eq(noted[FC_CONVERT_FAILED], 0);
}
END_TEST

START_TEST(test_in_stopped_beside)
{
	stop_everywhere(FC_CONVERT_IN, false, true);
}
END_TEST

START_TEST(test_in_turned_beside)
{
	stop_everywhere(FC_CONVERT_IN, true, true);
}
END_TEST

START_TEST(test_out_stopped_beside)
{
	stop_everywhere(FC_CONVERT_OUT, false, true);
}
END_TEST

START_TEST(test_out_turned_beside)
{
	stop_everywhere(FC_CONVERT_OUT, true, true);
}
END_TEST

#define DEPTH 5000

/* Goes down from data by a name on each level, which it makes if need be; a descriptor of the last. */
static int go_down(bool make)
{
	int fd = open(at("s/data"), O_RDONLY | O_DIRECTORY), next;

	for (int i = 0; i < DEPTH; i++) {
		if (make)
			ck_assert_int_eq(mkdirat(fd, "down", 0700), 0);
		next = openat(fd, "down", O_RDONLY | O_DIRECTORY);
		ck_assert_msg(next >= 0, "level %d: %s", i, strerror(errno));
		close(fd);
		fd = next;
	}
	return fd;
}

static void remove_upwards(int fd)
{
	for (int i = 0; i < DEPTH; i++) {
		int up = openat(fd, "..", O_RDONLY | O_DIRECTORY);

		ck_assert_int_ge(up, 0);
		close(fd);
		fd = up;
		ck_assert_int_eq(unlinkat(fd, "down", AT_REMOVEDIR), 0);
	}
	close(fd);
}

/* Deeper than any path may be long, and than a stack would be. */
START_TEST(test_deep_tree)
{
	struct fc_attr attr = { .ino = FC_INO_ROOT };
	struct fc_convert_totals t;
	int fd = go_down(true), file;
	char text[8] = "";

	file = openat(fd, "bottom", O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(write(file, "deep", 4), 4);
	close(file);
	close(fd);
	fd = open(at("s/data"), O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fc_convert_look_in(fd, &options, &t), 0);
	ck_assert_uint_eq(t.directories, 4 + DEPTH);
	close(fd);
	host_bytes = 1ull << 40;
	ck_assert_int_eq(run(), 0);
	ck_assert_int_eq(access(at("s/data"), F_OK), -1);
	for (int i = 0; i <= DEPTH; i++) {
		ck_assert_int_eq(fc_fs_lookup(fs, attr.ino, i < DEPTH ? "down" : "bottom", &attr), 0);
		fc_fs_forget(fs, attr.ino, 1);
	}
	ck_assert_uint_eq(attr.size, 4);
	journal.way = FC_CONVERT_OUT;
	journal.phase = FC_CONVERT_PLACED;
	ck_assert_int_eq(run(), 0);
	fd = go_down(false);
	file = openat(fd, "bottom", O_RDONLY);
	ck_assert_int_eq(read(file, text, sizeof(text)), 4);
	ck_assert_str_eq(text, "deep");
	close(file);
	ck_assert_int_eq(unlinkat(fd, "bottom", 0), 0);
	remove_upwards(fd);
}
END_TEST

/* ---- what is noticed ---------------------------------------------------------------------- */

/* Stops while large is split. */
static void stop_split(void)
{
	for (stop_at = 1; !journal.split.ino || journal.split.cut == journal.split.size || !journal.split.cut;
	     stop_at++) {
		steps = 0;
		ck_assert_int_eq(run(), FC_EINTERRUPTED);
	}
	stop_at = 0;
}

START_TEST(test_split_file_changed)
{
	const char *name = "s/data/large";
	struct stat st;

	stop_split();
	ck_assert_int_eq(stat(at(name), &st), 0);
	if ((uint64_t)st.st_ino != journal.split.ino)
		name = "s/data/two";
	ck_assert_int_eq(truncate(at(name), (off_t)journal.split.cut + 4096), 0);
	ck_assert_int_eq(run(), FC_ESTALE);
	ck_assert_uint_eq(noted[FC_CONVERT_CHANGED], 1);
	ck_assert_int_eq(fc_convert_turn(fs, staging, &journal, &options), FC_ESTALE);
	ck_assert_int_eq(stat(at(name), &st), 0);
	ck_assert_int_eq(st.st_size, (off_t)journal.split.cut + 4096);
	options.ask_changed = true;
	ck_assert_int_eq(run(), 0);
	options.ask_changed = false;
}
END_TEST

START_TEST(test_look)
{
	struct fc_convert_totals t;
	int dir = open(at("s/data"), O_RDONLY | O_DIRECTORY);

	ck_assert_int_eq(link(at("s/data/large"), at("outside")), 0);
	ck_assert_int_eq(fc_convert_look_in(dir, &options, &t), 0);
	close(dir);
	ck_assert_uint_eq(t.names, 11);
	ck_assert_uint_eq(t.directories, 4);
	ck_assert_uint_eq(noted[FC_CONVERT_LINKED], 1);
	ck_assert_str_eq(last_note, "large");
	ck_assert_uint_ge(t.whole, 700001);
	ck_assert_uint_lt(t.whole, 800000);
	ck_assert_uint_ge(t.needed, (32 << 20) + t.whole + t.bytes / 50);
	/* it is never cut */
	ck_assert_int_eq(run(), 0);
	ck_assert_int_eq(journal.phase, FC_CONVERT_DONE);
	ck_assert_int_eq(access(at("outside"), F_OK), 0);
	ck_assert_uint_ne(content_of(at("outside")), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("convert");
	TCase *t = tcase_create("convert");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 200);
	tcase_add_test(t, test_there_and_back);
	tcase_add_test(t, test_much_room);
	tcase_add_test(t, test_no_room);
	tcase_add_test(t, test_in_stopped);
	tcase_add_test(t, test_in_turned);
	tcase_add_test(t, test_out_stopped);
	tcase_add_test(t, test_out_turned);
	tcase_add_test(t, test_beside);
	tcase_add_test(t, test_in_stopped_beside);
	tcase_add_test(t, test_in_turned_beside);
	tcase_add_test(t, test_out_stopped_beside);
	tcase_add_test(t, test_out_turned_beside);
	tcase_add_test(t, test_deep_tree);
	tcase_add_test(t, test_split_file_changed);
	tcase_add_test(t, test_look);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
