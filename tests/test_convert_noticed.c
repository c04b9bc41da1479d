/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the converter notices and lists, and a tree deeper than any path. */
#include "convert_fixture.h"

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

/* The last piece is changed after it was moved: it is not lost with the name. */
START_TEST(test_split_file_changed_at_the_end)
{
	char name[16], text[8] = "";
	struct fc_attr attr;
	size_t got;

	spoil = true;
	ck_assert_int_eq(run(), FC_ESTALE);
	ck_assert(!spoil);
	ck_assert_uint_eq(noted[FC_CONVERT_CHANGED], 1);
	ck_assert_uint_gt(journal.split.cut, 0);
	ck_assert_int_eq(run(), FC_ESTALE);
	snprintf(name, sizeof(name), "%.15s", last_note);
	options.ask_changed = true;
	ck_assert_int_eq(run(), 0);
	options.ask_changed = false;
	ck_assert_int_eq(fc_fs_lookup(fs, FC_INO_ROOT, name, &attr), 0);
	ck_assert_int_eq(fc_fs_read(fs, attr.ino, 0, 6, text, &got), 0);
	ck_assert_str_eq(text, "spoilt");
	fc_fs_forget(fs, attr.ino, 1);
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
	const TTest *const test[] = {
		test_deep_tree, test_split_file_changed, test_split_file_changed_at_the_end, test_look, NULL,
	};

	return run_suite("convert-noticed", test);
}
