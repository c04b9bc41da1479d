/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The checker against a wrong space map, trees that were forged with the key at
 * hand, disks that fail, and repairs that are cut off.
 */
#include "check_fixture.h"
#include "tree/node.h"
#include "tree/space_map.h"

#define FILES 300u

static uint64_t files[FILES];

/* Enough for several leaves. */
static void make_many(void)
{
	for (unsigned i = 0; i < FILES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "file-%u", i);
		files[i] = mkfile(1, name);
		write_bytes(files[i], 0, i % 10 ? 900 : 9000, i);
		fc_fs_forget(f.fs, files[i], 1);
	}
	ok(fc_fs_commit(f.fs));
	ck_assert_uint_ge(f.fs->forest.files.root.level, 1);
}

/* How many of the files are there and right; no content is wrong. */
static unsigned whole(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < FILES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "file-%u", i);
		if (ino_of(1, name) != files[i] || read_error(files[i], 0, 9000))
			continue;
		reads(files[i], 0, i % 10 ? 900 : 9000, 0, i);
		n++;
	}
	return n;
}

/* ---- the space map ---------------------------------------------------------------- */

static struct fc_extent extent_of(uint64_t ino)
{
	struct fc_extent e;

	ok(fc_extent_at(f.fs, ino, 0, &e));
	return e;
}

static void mends(enum fc_check_kind kind, const char *part)
{
	take_disk();
	checked();
	ck_assert_msg(has_found(kind, 0, part), "not found: %s", part);
	repairs();
	ck_assert_uint_eq(whole(), FILES);
}

START_TEST(blocks_in_use_that_are_free)
{
	struct fc_extent e;

	make_many();
	e = extent_of(files[0]);
	fc_space_clear(&f.fs->forest.space, e.start, 2);
	f.fs->dirty_root = true;
	take_disk();
	checked();
	ck_assert(has_found(FC_CHECK_SPACE, 0, "2 blocks"));
	ck_assert(has_found(FC_CHECK_SPACE, 0, "are free, but are referred to"));
	repairs();
	ck_assert_uint_eq(whole(), FILES);
	/* nothing may be written over them any more */
	for (unsigned i = 0; i < 50; i++)
		write_bytes(files[1], 0, 200000, i);
	ok(fc_fs_commit(f.fs));
	reads(files[0], 0, 9000, 0, 0);
}
END_TEST

START_TEST(blocks_that_nobody_uses)
{
	uint64_t end;

	make_many();
	end = extent_of(files[0]).start / FC_CHUNK_BLOCKS * FC_CHUNK_BLOCKS + FC_CHUNK_BLOCKS - 10;
	ok(fc_space_set(&f.fs->forest.space, end, 5));
	f.fs->dirty_root = true;
	mends(FC_CHECK_SPACE, "not free, but nothing refers");
}
END_TEST

START_TEST(owners_that_are_miscounted)
{
	uint8_t raw[8];
	uint64_t done, copy;

	make_many();
	copy = mkfile(1, "copy");
	ok(fc_fs_copy(f.fs, files[0], 0, copy, 0, 9000, &done));
	fc_put_u32(raw, 3);
	fc_put_u32(raw + 4, 5);
	ok(fc_node_cache_reserve(&f.fs->forest.cache, FC_TREE_SPARES));
	ok(fc_tree_put(&f.fs->forest.spaces, fc_key(0, FC_KEY_REF, extent_of(files[10]).start), raw, 8));
	f.fs->forest.space.shared++;
	mends(FC_CHECK_SPACE, "another number of owners");
	ok(fc_fs_unlink(f.fs, 1, "file-0"));
	reads(copy, 0, 9000, 0, 0);
	take_disk();
	is_clean();
}
END_TEST

START_TEST(counters_of_the_root)
{
	make_many();
	f.fs->inodes += 3;
	f.fs->next_ino = 310;
	f.fs->forest.space.data_used += 7;
	f.fs->forest.space.node_used += 4;
	f.fs->dirty_root = true;
	take_disk();
	checked();
	ck_assert(has_found(FC_CHECK_SPACE, 0, "304 inodes, and there are 301"));
	ck_assert(has_found(FC_CHECK_SPACE, 0, "blocks of content"));
	ck_assert(has_found(FC_CHECK_SPACE, 0, "blocks of nodes"));
	ck_assert(has_found(FC_CHECK_INODE, files[FILES - 1], "next inode, 310, is taken"));
	repairs();
	ck_assert_uint_eq(whole(), FILES);
	ck_assert_uint_eq(inodes(), 301);
	ck_assert_uint_gt(mkfile(1, "new"), files[FILES - 1]);
}
END_TEST

/* ---- trees that make no sense ------------------------------------------------------------ */

/* The root node, to be changed; its children but the first are on the disk. */
static uint8_t *root_node(struct fc_tree *tree)
{
	struct fc_item item;

	ok(fc_tree_get(tree, fc_key(1, FC_KEY_INODE, 0), &item));
	{
		uint8_t copy[FC_INODE_BYTES];

		memcpy(copy, item.data, sizeof(copy));
		put_item(item.key, copy, sizeof(copy));
	}
	return fc_node_cache_get(&tree->forest->cache, tree->root.block)->data;
}

static void set_pointer(uint8_t *raw, unsigned at, const struct fc_ptr *ptr)
{
	fc_ptr_encode(ptr, fc_node_value(raw, at, NULL));
}

static struct fc_ptr pointer(uint8_t *raw, unsigned at)
{
	struct fc_ptr ptr;

	fc_ptr_decode(&ptr, fc_node_value(raw, at, NULL));
	return ptr;
}

/* A part is lost; the rest is kept. */
static void survives(void)
{
	unsigned left;

	take_disk();
	checked();
	ck_assert_uint_gt(result.damages, 0);
	repairs();
	left = whole();
	ck_assert_uint_gt(left, FILES / 3);
	ck_assert_uint_lt(left, FILES);
	ck_assert_uint_ne(mkfile(1, "new"), 0);
	ok(fc_fs_commit(f.fs));
}

START_TEST(a_node_in_two_places)
{
	uint8_t *raw;
	struct fc_ptr ptr;

	make_many();
	raw = root_node(&f.fs->forest.files);
	ptr = pointer(raw, 2);
	set_pointer(raw, 3, &ptr);
	survives();
}
END_TEST

START_TEST(all_children_are_one)
{
	uint8_t *raw;
	struct fc_ptr ptr;

	make_many();
	raw = root_node(&f.fs->forest.files);
	ptr = pointer(raw, 4);
	for (unsigned i = 5; i < fc_node_count(raw); i++)
		set_pointer(raw, i, &ptr);
	take_disk();
	checked();
	ck_assert(has_found(FC_CHECK_NODE, 0, "is not well-formed"));
	repairs();
	whole();
}
END_TEST

START_TEST(children_in_the_wrong_order)
{
	uint8_t *raw;
	struct fc_ptr one, two;

	make_many();
	raw = root_node(&f.fs->forest.files);
	one = pointer(raw, 2);
	two = pointer(raw, 4);
	set_pointer(raw, 2, &two);
	set_pointer(raw, 4, &one);
	survives();
}
END_TEST

START_TEST(a_node_of_the_other_tree)
{
	struct fc_ptr ptr = f.fs->forest.spaces.root;
	uint8_t *raw;

	make_many();
	ptr = f.fs->forest.spaces.root;
	raw = root_node(&f.fs->forest.files);
	set_pointer(raw, 2, &ptr);
	survives();
}
END_TEST

START_TEST(pointers_that_lead_out)
{
	uint8_t *raw;
	struct fc_ptr ptr;

	make_many();
	raw = root_node(&f.fs->forest.files);
	ptr = pointer(raw, 2);
	ptr.block = 1ull << 45;
	set_pointer(raw, 2, &ptr);
	ptr.session = 4000;
	set_pointer(raw, 3, &ptr);
	ptr.block = FC_SALTS_A / FC_BLOCK;
	set_pointer(raw, 4, &ptr);
	survives();
}
END_TEST

static void spoil_space_tree(void)
{
	uint8_t raw[] = { 9, 9, 9, 9 };

	ok(fc_node_cache_reserve(&f.fs->forest.cache, FC_TREE_SPARES));
	ok(fc_tree_put(&f.fs->forest.spaces, fc_key(0, FC_KEY_CHUNK, f.fs->forest.space.first_chunk + 5000), raw, 4));
	f.fs->dirty_root = true;
}

START_TEST(a_space_tree_that_makes_no_sense)
{
	make_many();
	spoil_space_tree();
	mends(FC_CHECK_SPACE, "cannot be used");
}
END_TEST

/* ---- disks, and who stops it ----------------------------------------------------------- */

static unsigned stop_after;

static bool stops(void *arg)
{
	(void)arg;
	return stop_after-- == 0;
}

START_TEST(stopped_it_has_changed_nothing)
{
	unsigned i;
	int r = FC_EINTERRUPTED;

	make_many();
	take_disk();
	spoil(files[0], 0);
	for (i = 0; r == FC_EINTERRUPTED; i++) {
		stop_after = i;
		r = run_checker(true, (struct fc_check_options){ .stop = stops });
		if (r)
			ck_assert(!result.changed);
	}
	ok(r);
	ck_assert_uint_gt(i, 20);
	ck_assert_uint_eq(result.repaired, 1);
}
END_TEST

START_TEST(nothing_is_repaired_on_a_disk_with_errors)
{
	unsigned i, refused = 0;

	make_many();
	take_disk();
	spoil(files[0], 0);
	for (i = 1; i < 200; i++) {
		int r;

		fc_io_sim_fail(disk.sim, FC_SIM_READ, i, FC_EIO, true);
		r = run_checker(true, (struct fc_check_options){ 0 });
		fc_io_sim_fail(disk.sim, FC_SIM_READ, 0, 0, false);
		if (!r)
			break; /* all reads were before that one */
		ck_assert_int_eq(r, FC_EIO);
		ck_assert(!result.changed);
		refused++;
	}
	ck_assert_uint_gt(refused, 20);
	ok(run_checker(false, (struct fc_check_options){ 0 }));
}
END_TEST

START_TEST(without_space_the_old_state_stays)
{
	/* nothing is known to be free then: it takes new room */
	make_many();
	spoil_space_tree();
	take_disk();
	spoil(files[0], 0);
	fc_io_sim_limit(disk.sim, 1);
	fails(FC_ENOSPC, run_checker(true, (struct fc_check_options){ 0 }));
	fc_io_sim_limit(disk.sim, 0);
	checked();
	ck_assert_uint_eq(result.damages, 2);
	repairs();
}
END_TEST

/* ---- copies, older states ---------------------------------------------------------------- */

static void zero(uint64_t at, size_t n)
{
	uint8_t *zeros = calloc(1, n);

	ok(fc_io_write(disk.sim, zeros, n, at));
	free(zeros);
}

START_TEST(second_copies_are_written_anew)
{
	uint64_t generation;

	make_many();
	take_disk();
	is_clean();
	generation = result.generation;
	zero(FC_HEADER_B, 4096);
	zero(FC_SALTS_A, 4096);
	checked();
	ck_assert_uint_eq(result.damages, 2);
	ck_assert(has_found(FC_CHECK_HEADER, 0, "copy B of the header does not"));
	ck_assert(has_found(FC_CHECK_SALTS, 0, "copy A of block 0"));
	ok(run_checker(true, (struct fc_check_options){ 0 }));
	is_clean();
	ck_assert_uint_eq(result.generation, generation); /* without a commit */
	zero(FC_ROOT_A, 4096);
	checked();
	ck_assert(has_found(FC_CHECK_ROOT, 0, "copy A of root record 0 is empty"));
	repairs();
	ck_assert_uint_eq(whole(), FILES);
}
END_TEST

START_TEST(a_lost_root_is_given_up_only_when_told_so)
{
	uint64_t generation;
	unsigned slot;

	make_many();
	mkfile(1, "last");
	ok(fc_fs_commit(f.fs));
	take_disk();
	generation = f.fs->root.generation;
	slot = f.fs->root_slot;
	zero(FC_ROOT_A + slot * FC_BLOCK, 4096);
	zero(FC_ROOT_B + slot * FC_BLOCK, 4096);
	checked();
	ck_assert(result.newest_lost);
	ck_assert_uint_eq(result.generation, generation - 1);
	fails(FC_EOLDER, run_checker(true, (struct fc_check_options){ 0 }));
	ck_assert(!result.changed);
	ok(run_checker(true, (struct fc_check_options){ .accept_older = true }));
	is_clean();
	ck_assert_uint_gt(result.generation, generation); /* two histories share no number */
	fc_fs_abandon(f.fs);
	fixture_mount(&f, fc_io_sim_clone(disk.sim));
	ck_assert_uint_eq(whole(), FILES);
	ck_assert_uint_eq(ino_of(1, "last"), 0);
}
END_TEST

START_TEST(older_than_seen)
{
	uint64_t generation;

	make_many();
	take_disk();
	spoil(files[0], 0);
	generation = f.fs->root.generation + 10;
	ok(run_checker(false, (struct fc_check_options){ .seen_generation = generation }));
	ck_assert(result.older);
	fails(FC_EOLDER, run_checker(true, (struct fc_check_options){ .seen_generation = generation }));
	ok(run_checker(true, (struct fc_check_options){ .seen_generation = generation, .accept_older = true }));
	is_clean();
	ck_assert_uint_gt(result.generation, generation);
}
END_TEST

/* ---- a repair that is cut off ------------------------------------------------------------ */

/* Whatever part of its writes reached the disk: it can be repaired (again), and
 * what was whole is whole. */
START_TEST(a_repair_can_be_cut_off_anywhere)
{
	const struct fc_sim_event *trace;
	struct fc_io *before, *after;
	size_t events, i, k;

	make_many();
	take_disk();
	spoil(files[20], 1);
	before = fc_io_sim_clone(disk.sim);
	fc_io_sim_record(disk.sim, true);
	ok(run_checker(true, (struct fc_check_options){ 0 }));
	after = disk.sim;
	trace = fc_io_sim_trace(after, &events);
	ck_assert_uint_gt(events, 5);
	for (i = 0; i <= events; i++) {
		struct fc_io *cut = fc_io_sim_clone(before);

		/* the last write is torn */
		for (k = 0; k < i; k++)
			ok(fc_io_sim_apply(cut, &trace[k], 0,
					   k + 1 == i && trace[k].kind == FC_SIM_WRITE ? 512 : UINT64_MAX));
		disk.sim = cut;
		ok(run_checker(true, (struct fc_check_options){ 0 }));
		is_clean();
		fc_fs_abandon(f.fs);
		fixture_mount(&f, fc_io_sim_clone(cut));
		fails(FC_EFORGED, read_error(files[20], FC_BLOCK, 1));
		reads(files[20], 0, FC_BLOCK, 0, 20);
		reads(files[30], 0, 9000, 0, 30);
		reads(files[31], 0, 900, 0, 31);
		fc_io_close(cut);
	}
	fc_io_close(before);
	disk.sim = after;
}
END_TEST

int main(void)
{
	TCase *tc = check_case("check_hostile");

	tcase_add_test(tc, blocks_in_use_that_are_free);
	tcase_add_test(tc, blocks_that_nobody_uses);
	tcase_add_test(tc, owners_that_are_miscounted);
	tcase_add_test(tc, counters_of_the_root);
	tcase_add_test(tc, a_node_in_two_places);
	tcase_add_test(tc, all_children_are_one);
	tcase_add_test(tc, children_in_the_wrong_order);
	tcase_add_test(tc, a_node_of_the_other_tree);
	tcase_add_test(tc, pointers_that_lead_out);
	tcase_add_test(tc, a_space_tree_that_makes_no_sense);
	tcase_add_test(tc, stopped_it_has_changed_nothing);
	tcase_add_test(tc, nothing_is_repaired_on_a_disk_with_errors);
	tcase_add_test(tc, without_space_the_old_state_stays);
	tcase_add_test(tc, second_copies_are_written_anew);
	tcase_add_test(tc, a_lost_root_is_given_up_only_when_told_so);
	tcase_add_test(tc, older_than_seen);
	tcase_add_test(tc, a_repair_can_be_cut_off_anywhere);
	return run_case(tc);
}
