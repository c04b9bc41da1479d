/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The converter between a tree of the host and a simulated disk: there and back, stopped
 * at every step of either way with the disk as a power cut leaves it, gone on with and
 * turned round.
 */
#include "convert_fixture.h"

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

/* What cannot be read back is not deleted, whichever hand meets it; afterwards it goes on. */
START_TEST(test_read_errors)
{
	uint64_t want, met = 0;

	for (uint64_t n = 1; n < 60; n += 2) {
		beside = n / 2 % 2;
		teardown();
		setup();
		want = print_tree();
		fc_io_sim_fail(disk.sim, FC_SIM_READ, n, FC_EIO, true);
		met += run() != 0;
		fc_io_sim_fail(disk.sim, FC_SIM_READ, 0, 0, false);
		fc_fs_abandon(fs);
		mount_disk();
		ck_assert_msg(!run(), "read %d: %s", (int)n, last_note);
		check_in_container(want);
	}
	ck_assert_uint_gt(met, 5);
}
END_TEST

int main(void)
{
	const TTest *const test[] = {
		test_there_and_back,
		test_much_room,
		test_no_room,
		test_in_stopped,
		test_in_turned,
		test_out_stopped,
		test_out_turned,
		test_beside,
		test_in_stopped_beside,
		test_in_turned_beside,
		test_out_stopped_beside,
		test_out_turned_beside,
		test_read_errors,
		NULL,
	};

	return run_suite("convert", test);
}
