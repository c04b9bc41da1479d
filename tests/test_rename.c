/* SPDX-License-Identifier: GPL-2.0-or-later */
/* renameat2, as ext4 has it. */
#include <dirent.h>
#include <linux/fs.h>
#include <stdio.h>

#include "fs/dir.h"
#include "names_fixture.h"

START_TEST(a_rename_moves_a_name)
{
	uint64_t dir = mkdir_(1, "d"), file = mkfile(1, "f");

	at(2000);
	ok(rename_(1, "f", 1, "g", 0));
	ck_assert_uint_eq(ino_of(1, "f"), 0);
	ck_assert_uint_eq(ino_of(1, "g"), file);
	times_are(file, 1000, 1000, 2000);
	times_are(1, 1000, 2000, 2000);
	times_are(dir, 1000, 1000, 1000);
	at(3000);
	ok(rename_(1, "g", dir, "h", 0));
	ck_assert_uint_eq(ino_of(1, "g"), 0);
	ck_assert_uint_eq(ino_of(dir, "h"), file);
	times_are(1, 1000, 3000, 3000);
	times_are(dir, 1000, 3000, 3000);
	ck_assert_uint_eq(nlink_of(file), 1);
	fails(FC_ENOENT, rename_(1, "f", 1, "x", 0));
	fails(FC_ENOTDIR, rename_(dir, "h", file, "x", 0));
	fails(FC_ENOTDIR, rename_(file, "h", 1, "x", 0));
	fails(FC_ENOTEMPTY, fc_fs_rmdir(f.fs, 1, "d"));
	ok(rename_(dir, "h", 1, "back", 0));
	ok(fc_fs_rmdir(f.fs, 1, "d"));
}
END_TEST

START_TEST(a_file_replaces_a_file)
{
	uint64_t from = mkfile(1, "from"), to = mkfile(1, "to");

	at(2000);
	ok(rename_(1, "from", 1, "to", 0));
	ck_assert_uint_eq(ino_of(1, "to"), from);
	ck_assert_uint_eq(ino_of(1, "from"), 0);
	ck_assert_uint_eq(nlink_of(to), 0);
	times_are(to, 1000, 1000, 2000);
	fc_fs_forget(f.fs, to, 1);
	fails(FC_ESTALE, fc_fs_getattr(f.fs, to, &a));
	ck_assert_uint_eq(inodes(), 2);
	/* held by no one */
	to = mkfile(1, "to2");
	fc_fs_forget(f.fs, to, 1);
	ok(rename_(1, "to", 1, "to2", 0));
	fails(FC_ESTALE, fc_fs_getattr(f.fs, to, &a));
	ck_assert_uint_eq(inodes(), 2);
}
END_TEST

START_TEST(kinds_must_agree)
{
	uint64_t dir = mkdir_(1, "d"), empty = mkdir_(1, "e"), full = mkdir_(1, "full");

	mkfile(1, "f");
	mkfile(full, "x");
	fails(FC_EISDIR, rename_(1, "f", 1, "e", 0));
	fails(FC_ENOTDIR, rename_(1, "d", 1, "f", 0));
	fails(FC_ENOTEMPTY, rename_(1, "d", 1, "full", 0));
	fails(FC_EEXIST, rename_(1, "d", 1, "e", RENAME_NOREPLACE));
	ck_assert_uint_eq(nlink_of(1), 5);
	at(2000);
	ok(rename_(1, "d", 1, "e", 0));
	ck_assert_uint_eq(ino_of(1, "e"), dir);
	ck_assert_uint_eq(nlink_of(1), 4);
	ck_assert_uint_eq(nlink_of(empty), 0);
	ck_assert_uint_eq(nlink_of(dir), 2);
	fails(FC_ENOENT, fc_fs_mkdir(f.fs, empty, "x", &fixture_cred, 0777, &a));
	ok(rename_(1, "e", full, "e", 0)); /* to another parent */
	ck_assert_uint_eq(nlink_of(1), 3);
	ck_assert_uint_eq(nlink_of(full), 3);
	mkdir_(1, "r");
	ok(rename_(1, "r", full, "e", 0)); /* and over one there */
	ck_assert_uint_eq(nlink_of(1), 3);
	ck_assert_uint_eq(nlink_of(full), 3);
}
END_TEST

START_TEST(a_directory_does_not_go_into_itself)
{
	uint64_t top = mkdir_(1, "top"), mid = mkdir_(top, "mid"), low = mkdir_(mid, "low");

	fails(FC_EINVAL, rename_(1, "top", top, "x", 0));
	fails(FC_EINVAL, rename_(1, "top", low, "x", 0));
	fails(FC_EINVAL, rename_(top, "mid", low, "x", 0));
	fails(FC_EINVAL, rename_(top, "mid", mid, "low", RENAME_EXCHANGE));
	fails(FC_EINVAL, rename_(mid, "low", 1, "top", RENAME_EXCHANGE));
	fails(FC_ENOTEMPTY, rename_(mid, "low", 1, "top", 0)); /* an ancestor is never empty */
	ck_assert_uint_eq(ino_of(top, "mid"), mid);
	ck_assert_uint_eq(ino_of(mid, "low"), low);
	/* to the side and up it may go */
	ok(rename_(mid, "low", 1, "low", 0));
	ok(rename_(1, "top", low, "top", 0));
	ok(rename_(top, "mid", 1, "mid", 0));
	fails(FC_EINVAL, rename_(1, "low", top, "x", 0));
	ok(rename_(low, "top", mid, "top", 0));
	ck_assert_uint_eq(nlink_of(1), 4);
	ck_assert_uint_eq(nlink_of(low), 2);
	ck_assert_uint_eq(nlink_of(mid), 3);
}
END_TEST

START_TEST(two_names_of_one_file_both_stay)
{
	uint64_t file = mkfile(1, "f"), dir = mkdir_(1, "d");

	ok(fc_fs_link(f.fs, file, dir, "g", &a));
	at(2000);
	ok(rename_(1, "f", dir, "g", 0));
	ok(rename_(1, "f", 1, "f", 0));
	ok(rename_(1, "d", 1, "d", 0));
	ok(rename_(1, "f", dir, "g", RENAME_EXCHANGE));
	ok(rename_(1, "f", dir, "g", RENAME_WHITEOUT));
	fails(FC_EEXIST, rename_(1, "f", dir, "g", RENAME_NOREPLACE));
	fails(FC_EEXIST, rename_(1, "f", 1, "f", RENAME_NOREPLACE));
	ck_assert_uint_eq(ino_of(1, "f"), file);
	ck_assert_uint_eq(ino_of(dir, "g"), file);
	ck_assert_uint_eq(nlink_of(file), 2);
	times_are(file, 1000, 1000, 1000);
	times_are(dir, 1000, 1000, 1000);
	ck_assert_uint_eq(inodes(), 3);
}
END_TEST

START_TEST(exchange_swaps_anything)
{
	uint64_t d1 = mkdir_(1, "d1"), d2 = mkdir_(1, "d2");
	uint64_t file = mkfile(d1, "file"), dir = mkdir_(d2, "dir"), other = mkdir_(d1, "other");
	uint64_t in = mkdir_(dir, "in");

	at(2000);
	ok(rename_(d1, "file", d2, "dir", RENAME_EXCHANGE));
	ck_assert_uint_eq(ino_of(d1, "file"), dir);
	ck_assert_uint_eq(ino_of(d2, "dir"), file);
	ck_assert_uint_eq(nlink_of(d1), 4);
	ck_assert_uint_eq(nlink_of(d2), 2);
	times_are(file, 1000, 1000, 2000);
	times_are(dir, 1000, 1000, 2000);
	times_are(d1, 1000, 2000, 2000);
	times_are(d2, 1000, 2000, 2000);
	/* the parents are right: dir is below d1 now */
	fails(FC_EINVAL, rename_(1, "d1", in, "x", 0));
	ok(rename_(1, "d2", in, "d2", 0));
	ok(rename_(d1, "file", d1, "other", RENAME_EXCHANGE)); /* full directories in one parent */
	ck_assert_uint_eq(ino_of(d1, "file"), other);
	ck_assert_uint_eq(nlink_of(d1), 4);
	fails(FC_ENOENT, rename_(d1, "file", d1, "none", RENAME_EXCHANGE));
	fails(FC_EINVAL, rename_(d1, "file", d1, "other", RENAME_EXCHANGE | RENAME_NOREPLACE));
	fails(FC_EINVAL, rename_(d1, "file", d1, "other", RENAME_EXCHANGE | RENAME_WHITEOUT));
	fails(FC_EINVAL, rename_(d1, "file", d1, "other", 8));
}
END_TEST

static void is_whiteout(uint64_t dir, const char *name)
{
	ok(fc_fs_lookup(f.fs, dir, name, &a));
	ck_assert_uint_eq(a.mode, S_IFCHR);
	ck_assert_uint_eq(a.rdev, 0);
	ck_assert_uint_eq(a.nlink, 1);
	ck_assert_uint_eq(a.uid, 1000);
	ck_assert_uint_eq(a.gid, 100);
	fc_fs_forget(f.fs, a.ino, 1);
}

START_TEST(a_whiteout_stays_behind)
{
	uint64_t dir = mkdir_(1, "d"), file = mkfile(1, "f"), other = mkfile(dir, "o");

	ok(rename_(1, "f", dir, "f", RENAME_WHITEOUT));
	is_whiteout(1, "f");
	ck_assert_uint_eq(ino_of(dir, "f"), file);
	ck_assert_uint_eq(inodes(), 5);
	ok(rename_(dir, "f", dir, "o", RENAME_WHITEOUT));
	is_whiteout(dir, "f");
	ck_assert_uint_eq(ino_of(dir, "o"), file);
	ck_assert_uint_eq(nlink_of(other), 0);
	fails(FC_EEXIST, rename_(dir, "o", 1, "f", RENAME_WHITEOUT | RENAME_NOREPLACE));
	ok(rename_(dir, "o", 1, "n", RENAME_WHITEOUT | RENAME_NOREPLACE));
	is_whiteout(dir, "o");
	ok(rename_(1, "d", 1, "d2", RENAME_WHITEOUT)); /* a directory, too */
	is_whiteout(1, "d");
	ck_assert_uint_eq(ino_of(1, "d2"), dir);
	ck_assert_uint_eq(nlink_of(1), 3);
}
END_TEST

START_TEST(renames_survive_a_replay)
{
	uint64_t dir = mkdir_(1, "d"), moved = mkdir_(1, "m"), file = mkfile(1, "f"), to = mkfile(dir, "to");

	at(7000);
	ok(rename_(1, "m", dir, "m", 0));
	ok(rename_(1, "f", dir, "to", RENAME_WHITEOUT));
	ok(rename_(dir, "to", dir, "m", RENAME_EXCHANGE));
	fixture_replay(&f);
	ck_assert_uint_eq(ino_of(dir, "to"), moved);
	ck_assert_uint_eq(ino_of(dir, "m"), file);
	is_whiteout(1, "f");
	fails(FC_ESTALE, fc_fs_getattr(f.fs, to, &a));
	ck_assert_uint_eq(inodes(), 5);
	times_are(moved, 1000, 1000, 7000);
	ck_assert_uint_eq(nlink_of(dir), 3);
	ck_assert_uint_eq(nlink_of(1), 3);
	mkfile(1, "new");
	ck_assert_uint_gt(a.ino, ino_of(1, "f")); /* the whiteout's number is taken */
}
END_TEST

struct met {
	char name[24];
	uint64_t offset;
};

/* One entry a call. */
static int meet(void *arg, const char *name, uint64_t ino, uint32_t type, uint64_t next_off, const struct fc_attr *attr)
{
	struct met *met = arg;

	(void)ino;
	(void)type;
	(void)attr;
	if (*met->name)
		return 1;
	snprintf(met->name, sizeof(met->name), "%s", name);
	met->offset = next_off;
	return 0;
}

START_TEST(renaming_all_while_listing_ends)
{
	uint64_t dir = mkdir_(1, "d");
	struct met met = { .offset = 0 };
	unsigned files = 0;
	char name[24];

	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		mkfile(dir, name);
	}
	for (*met.name = '\0'; files < 1000; *met.name = '\0') {
		ok(fc_fs_readdir(f.fs, dir, met.offset, false, meet, &met));
		if (!*met.name)
			break;
		if (*met.name == '.')
			continue;
		snprintf(name, sizeof(name), "renamed%u", files++);
		ok(rename_(dir, met.name, dir, name, 0));
	}
	ck_assert_uint_eq(files, 50);
	fixture_reopen(&f);
	ck_assert_uint_ne(ino_of(dir, "renamed0"), 0);
	ck_assert_uint_ne(ino_of(dir, "renamed49"), 0);
	ck_assert_uint_eq(ino_of(dir, "f7"), 0);
}
END_TEST

int main(void)
{
	TCase *tc = names_case("rename");

	tcase_add_test(tc, a_rename_moves_a_name);
	tcase_add_test(tc, a_file_replaces_a_file);
	tcase_add_test(tc, kinds_must_agree);
	tcase_add_test(tc, a_directory_does_not_go_into_itself);
	tcase_add_test(tc, two_names_of_one_file_both_stay);
	tcase_add_test(tc, exchange_swaps_anything);
	tcase_add_test(tc, a_whiteout_stays_behind);
	tcase_add_test(tc, renames_survive_a_replay);
	tcase_add_test(tc, renaming_all_while_listing_ends);
	return run_case(tc);
}
