/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "cipher/root.h"
#include "secret/secret.h"
#include "util/le.h"

static const uint8_t uuid[FC_UUID_BYTES] = "a uuid of 16 by";
static struct fc_keys *keys;
static struct fc_io *io;
static struct fc_roots found;

static void init(void)
{
	static const uint8_t master[FC_KEY_BYTES] = "a master key of 32 bytes, really";

	ck_assert_int_eq(fc_secret_init(), 0);
	keys = fc_keys_new(master);
	io = fc_io_sim();
}

static void done(void)
{
	fc_keys_free(keys);
	fc_io_close(io);
}

static struct fc_root sample(uint64_t generation)
{
	return (struct fc_root){
		.generation = generation,
		.flags = FC_ROOT_CLEAN,
		.sessions = 0x0203,
		.header_seq = 0x11,
		.time = 0x12,
		.file_tree = { .block = 0x2122,
			       .session = 3,
			       .level = 2,
			       .nonce = 0x23,
			       .tag = "file tree's tag",
			       .generation = 1 },
		.space_tree = { .block = 0x3132,
				.session = 0x0203,
				.level = 0,
				.nonce = 0x33,
				.tag = "space tree's ta",
				.generation = 1 },
		.next_ino = 0x1041,
		.log = { .session = 3, .seq = 0x42, .pos = 0x43000, .tag = "log record's ta" },
		.inodes = 0x51,
		.data_blocks = 0x52,
		.node_blocks = 0x53,
		.cap = 0x54,
		.chunks = 0x55,
		.shared = 0x56,
	};
}

START_TEST(bytes_lie_where_the_format_says)
{
	static const struct {
		size_t at;
		uint8_t value;
	} want[] = {
		{ 0, 9 },      { 8, 1 },      { 12, 3 },     { 13, 2 },     { 16, 0x11 },  { 24, 0x12 }, { 32, 0x22 },
		{ 33, 0x21 },  { 40, 3 },     { 44, 2 },     { 48, 0x23 },  { 56, 'f' },   { 70, 'g' },  { 72, 1 },
		{ 80, 0x32 },  { 88, 3 },     { 89, 2 },     { 96, 0x33 },  { 104, 's' },  { 120, 1 },   { 128, 0x41 },
		{ 129, 0x10 }, { 136, 3 },    { 144, 0x42 }, { 153, 0x30 }, { 154, 4 },    { 160, 'l' }, { 176, 0x51 },
		{ 184, 0x52 }, { 192, 0x53 }, { 200, 0x54 }, { 208, 0x55 }, { 216, 0x56 },
	};
	struct fc_root root = sample(9), got;
	uint8_t plain[FC_ROOT_PLAIN], again[FC_ROOT_PLAIN];
	size_t i;

	fc_root_encode(&root, plain);
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		ck_assert_msg(plain[want[i].at] == want[i].value, "byte %zu", want[i].at);
	ck_assert(sodium_is_zero(plain + 224, sizeof(plain) - 224));
	ck_assert_int_eq(fc_root_decode(&got, plain), 0);
	fc_root_encode(&got, again);
	ck_assert_mem_eq(plain, again, sizeof(plain));
	ck_assert_uint_eq(got.log.pos, 0x43000);
	ck_assert_mem_eq(got.file_tree.tag, "file tree's tag", 16);
}
END_TEST

START_TEST(every_bound_is_checked)
{
	const struct {
		size_t at, bytes;
		uint64_t value;
		int want;
	} cases[] = {
		{ FC_RP_GENERATION, 8, 0, FC_ECORRUPT },
		{ FC_RP_FLAGS, 4, 0, 0 },
		{ FC_RP_FLAGS, 4, 2, FC_ECORRUPT },
		{ FC_RP_SESSIONS, 4, FC_SESSIONS_MAX, 0 },
		{ FC_RP_SESSIONS, 4, FC_SESSIONS_MAX + 1, FC_ECORRUPT },
		{ FC_RP_SESSIONS, 4, 3, FC_ECORRUPT }, /* the space tree's is higher */
		{ FC_RP_FILE_TREE + FC_P_BLOCK, 8, 0, 0 },
		{ FC_RP_FILE_TREE + FC_P_BLOCK, 8, UINT64_MAX, FC_ECORRUPT },
		{ FC_RP_FILE_TREE + FC_P_BLOCK, 8, UINT64_C(1) << 51, FC_ECORRUPT },
		{ FC_RP_FILE_TREE + FC_P_SESSION, 4, 0, FC_ECORRUPT },
		{ FC_RP_FILE_TREE + FC_P_SESSION, 4, 0x0204, FC_ECORRUPT },
		{ FC_RP_FILE_TREE + FC_P_LEVEL, 1, FC_TREE_DEPTH_MAX, FC_ECORRUPT },
		{ FC_RP_FILE_TREE + FC_P_GENERATION, 8, 10, FC_ECORRUPT },
		{ FC_RP_SPACE_TREE + FC_P_LEVEL, 1, 255, FC_ECORRUPT },
		{ FC_RP_NEXT_INO, 8, FC_INO_FIRST - 1, FC_ECORRUPT },
		{ FC_RP_LOG_SESSION, 4, 0x0204, FC_ECORRUPT },
		{ FC_RP_LOG_SEQ, 8, 0, FC_ECORRUPT },
		{ FC_RP_LOG_POS, 8, 0x43001, FC_ECORRUPT },
		{ FC_RP_LOG_POS, 8, FC_LOG_MAX, FC_ECORRUPT },
		{ FC_RP_INODES, 8, 0x1041, FC_ECORRUPT },
		{ FC_RP_DATA_BLOCKS, 8, UINT64_MAX, FC_ECORRUPT },
		{ FC_RP_NODE_BLOCKS, 8, UINT64_MAX, FC_ECORRUPT },
		{ FC_RP_CAP, 8, UINT64_C(1) << 63, FC_ECORRUPT },
		{ FC_RP_CHUNKS, 8, UINT64_C(1) << 41, FC_ECORRUPT },
	};
	struct fc_root root = sample(9), got;
	uint8_t plain[FC_ROOT_PLAIN], value[8];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fc_root_encode(&root, plain);
		fc_put_u64(value, cases[i].value);
		memcpy(plain + cases[i].at, value, cases[i].bytes);
		ck_assert_msg(fc_root_decode(&got, plain) == cases[i].want, "case %zu", i);
	}
}
END_TEST

/* ---- on an io -------------------------------------------------------------------- */

static uint64_t place(unsigned slot, unsigned copy)
{
	return (copy ? FC_ROOT_B : FC_ROOT_A) + slot * FC_BLOCK;
}

static void write_root(unsigned slot, uint64_t generation, uint8_t tag[FC_TAG_BYTES])
{
	struct fc_root root = sample(generation);
	uint8_t none[FC_TAG_BYTES];

	ck_assert_int_eq(fc_root_write(io, keys, uuid, slot, &root, tag ? tag : none), 0);
}

static void spoil(uint64_t off)
{
	uint8_t b;

	ck_assert_int_eq(fc_io_read(io, &b, 1, off), 0);
	b ^= 1;
	ck_assert_int_eq(fc_io_write(io, &b, 1, off), 0);
}

static void check_load(int newest, uint64_t generation, bool doubtful)
{
	ck_assert_int_eq(fc_roots_load(io, keys, uuid, &found), 0);
	ck_assert_int_eq(found.newest, newest);
	ck_assert_uint_eq(found.root[newest].generation, generation);
	ck_assert_int_eq(found.doubtful, doubtful);
}

START_TEST(the_newest_of_both_slots_is_found)
{
	uint8_t tag[2][FC_TAG_BYTES], a[FC_BLOCK], b[FC_BLOCK];

	ck_assert_int_eq(fc_roots_load(io, keys, uuid, &found), FC_EFORGED);
	ck_assert_int_eq(found.newest, -1);
	write_root(0, 1, tag[0]);
	check_load(0, 1, false);
	ck_assert_int_eq(found.status[1][0], FC_ENOENT);
	write_root(1, 2, tag[1]);
	check_load(1, 2, false);
	ck_assert_mem_eq(found.tag[0], tag[0], FC_TAG_BYTES);
	ck_assert_mem_eq(found.tag[1], tag[1], FC_TAG_BYTES);
	ck_assert_mem_ne(tag[0], tag[1], FC_TAG_BYTES);
	write_root(0, 3, NULL);
	check_load(0, 3, false);
	/* both copies alike; what is sealed ends with the first sector */
	ck_assert_int_eq(fc_io_read(io, a, FC_BLOCK, 64 << 10), 0);
	ck_assert_int_eq(fc_io_read(io, b, FC_BLOCK, 192 << 10), 0);
	ck_assert_mem_eq(a, b, FC_BLOCK);
	ck_assert_mem_eq(a, "FCROOT1\n", 8);
	ck_assert_mem_eq(a + 496, found.tag[0], FC_TAG_BYTES);
	ck_assert(sodium_is_zero(a + 512, FC_BLOCK - 512));
	/* the same root gets another nonce */
	write_root(0, 3, NULL);
	ck_assert_int_eq(fc_io_read(io, b, FC_BLOCK, 64 << 10), 0);
	ck_assert_mem_ne(a + 8, b + 8, 24);
}
END_TEST

START_TEST(one_damaged_copy_is_no_loss)
{
	size_t i;

	write_root(0, 1, NULL);
	write_root(1, 2, NULL);
	for (i = 0; i < FC_ROOT_SECTOR; i++) {
		unsigned copy = i % 2;

		spoil(place(1, copy) + i);
		check_load(1, 2, false);
		ck_assert_int_eq(found.status[1][copy], FC_EFORGED);
		ck_assert_int_eq(found.status[1][!copy], 0);
		spoil(place(1, copy) + i);
	}
	fc_io_sim_fail(io, FC_SIM_READ, 3, FC_EIO, false);
	check_load(1, 2, false);
	ck_assert_int_eq(found.status[1][0], FC_EIO);
	/* a crash between the copies: the newer one counts, whichever it is */
	write_root(0, 3, NULL);
	spoil(place(0, 0) + 100);
	check_load(0, 3, false);
}
END_TEST

START_TEST(a_lost_newest_root_is_doubtful)
{
	static const uint8_t zeros[FC_BLOCK];
	uint8_t older[FC_BLOCK];

	write_root(0, 1, NULL);
	ck_assert_int_eq(fc_io_read(io, older, FC_BLOCK, place(0, 0)), 0);
	write_root(1, 2, NULL);
	spoil(place(1, 0) + 20);
	spoil(place(1, 1) + 300);
	check_load(0, 1, true);
	/* cannot be read */
	write_root(1, 2, NULL);
	fc_io_sim_fail(io, FC_SIM_READ, 3, FC_EIO, true);
	check_load(0, 1, true);
	fc_io_sim_fail(io, FC_SIM_READ, 0, 0, false);
	check_load(1, 2, false);
	/* punched: the other slot shows that it was written */
	write_root(0, 3, NULL);
	ck_assert_int_eq(fc_io_write(io, zeros, FC_BLOCK, place(0, 0)), 0);
	check_load(0, 3, false);
	ck_assert_int_eq(fc_io_write(io, zeros, FC_BLOCK, place(0, 1)), 0);
	check_load(1, 2, true);
	/* one copy damaged, the other punched */
	write_root(0, 3, NULL);
	spoil(place(0, 0));
	ck_assert_int_eq(fc_io_write(io, zeros, FC_BLOCK, place(0, 1)), 0);
	check_load(1, 2, true);
	/* overwritten with the other slot's */
	ck_assert_int_eq(fc_io_read(io, older, FC_BLOCK, place(1, 0)), 0);
	ck_assert_int_eq(fc_io_write(io, older, FC_BLOCK, place(0, 0)), 0);
	check_load(0, 2, true);
}
END_TEST

START_TEST(nothing_that_opens)
{
	static const uint8_t master[FC_KEY_BYTES] = "another master key of 32 bytes.";
	struct fc_keys *other = fc_keys_new(master);

	ck_assert_ptr_nonnull(other);
	write_root(0, 1, NULL);
	ck_assert_int_eq(fc_roots_load(io, other, uuid, &found), FC_EFORGED);
	ck_assert(found.doubtful);
	ck_assert_int_eq(fc_roots_load(io, keys, (const uint8_t *)"another uuid, 16", &found), FC_EFORGED);
	fc_io_sim_fail(io, FC_SIM_READ, 1, FC_EIO, true);
	ck_assert_int_eq(fc_roots_load(io, keys, uuid, &found), FC_EIO);
	ck_assert_int_eq(found.newest, -1);
	fc_keys_free(other);
}
END_TEST

/* Sectors of a block that reach the disk: none, all, one, all but one. */
#define TORN 18

static unsigned torn(unsigned i)
{
	return i == 0 ? 0 : i == 1 ? 0xff : i < 10 ? 1u << (i - 2) : 0xff ^ 1u << (i - 10);
}

static void apply_torn(const struct fc_sim_event *write, unsigned sectors)
{
	unsigned i;

	for (i = 0; i < FC_BLOCK / 512; i++)
		if (sectors >> i & 1)
			ck_assert_int_eq(fc_io_sim_apply(io, write, i * 512u, i * 512u + 512u), 0);
}

/* Whatever part of the two writes reaches the disk, the newest root is the one
 * before or the one being written, and no crash is doubtful. */
START_TEST(a_crash_is_never_doubtful)
{
	struct fc_io *before, *disk = io;
	const struct fc_sim_event *t;
	unsigned generation, i;
	size_t n;

	write_root(0, 1, NULL);
	for (generation = 2; generation < 5; generation++) {
		int slot = (int)(generation + 1) % 2;

		before = fc_io_sim_clone(disk);
		fc_io_sim_record(disk, true);
		write_root((unsigned)slot, generation, NULL);
		t = fc_io_sim_trace(disk, &n);
		ck_assert_uint_eq(n, 2);
		for (i = 0; i < TORN * TORN; i++) {
			unsigned a = torn(i % TORN), b = torn(i / TORN);

			io = fc_io_sim_clone(before);
			apply_torn(&t[0], a);
			apply_torn(&t[1], b);
			if ((a | b) & 1)
				check_load(slot, generation, false);
			else
				check_load(!slot, generation - 1, false);
			fc_io_close(io);
		}
		fc_io_close(before);
		io = disk;
	}
}
END_TEST

START_TEST(a_failed_write_is_told)
{
	struct fc_root root = sample(1);
	uint8_t tag[FC_TAG_BYTES];

	fc_io_sim_fail(io, FC_SIM_WRITE, 2, FC_ENOSPC, false);
	ck_assert_int_eq(fc_root_write(io, keys, uuid, 0, &root, tag), FC_ENOSPC);
	fc_io_sim_fail(io, FC_SIM_WRITE, 1, FC_EIO, false);
	ck_assert_int_eq(fc_root_write(io, keys, uuid, 0, &root, tag), FC_EIO);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("root");
	TCase *tc = tcase_create("root");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, init, done);
	tcase_add_test(tc, bytes_lie_where_the_format_says);
	tcase_add_test(tc, every_bound_is_checked);
	tcase_add_test(tc, the_newest_of_both_slots_is_found);
	tcase_add_test(tc, one_damaged_copy_is_no_loss);
	tcase_add_test(tc, a_lost_newest_root_is_doubtful);
	tcase_add_test(tc, nothing_that_opens);
	tcase_add_test(tc, a_crash_is_never_doubtful);
	tcase_add_test(tc, a_failed_write_is_told);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
