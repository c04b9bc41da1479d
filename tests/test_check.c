/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checker: what it counts, what it finds and what a repair makes of it. */
#include <dirent.h>
#include <unistd.h>

#include "check_fixture.h"

START_TEST(counts_are_right)
{
	uint64_t dir = mkdir_(1, "dir"), file = mkfile(dir, "file"), orphan = mkfile(1, "orphan");

	write_bytes(file, 0, 100000, 1);
	write_bytes(mkfile(1, "small"), 0, 100, 1);
	ok(fc_fs_symlink(f.fs, 1, "link", &fixture_cred, "target", &a));
	ok(fc_fs_mknod(f.fs, 1, "fifo", &fixture_cred, S_IFIFO | 0600, 0, &a));
	ok(fc_fs_link(f.fs, file, 1, "other", &a));
	ok(fc_fs_setxattr(f.fs, file, "user.a", "value", 5, 0, false));
	ok(fc_fs_unlink(f.fs, 1, "orphan"));
	take_disk();
	is_clean();
	ck_assert_uint_eq(founds, 0);
	ck_assert_uint_eq(result.files, 2);
	ck_assert_uint_eq(result.directories, 2);
	ck_assert_uint_eq(result.symlinks, 1);
	ck_assert_uint_eq(result.others, 1);
	ck_assert_uint_eq(result.orphans, 1);
	ck_assert_uint_eq(result.names, 6);
	ck_assert_uint_eq(result.attributes, 1);
	ck_assert_uint_eq(result.data_blocks, 25);
	ck_assert_uint_eq(result.generation, f.fs->root.generation);
	ck_assert_mem_eq(result.uuid, f.fs->uuid, FC_UUID_BYTES);
	(void)orphan;
}
END_TEST

START_TEST(a_live_log_is_replayed)
{
	uint64_t ino;

	mkfile(1, "before");
	ok(fc_fs_commit(f.fs));
	ino = mkfile(1, "after");
	write_bytes(ino, 0, 50000, 3);
	ok(fc_fs_sync(f.fs));
	disk.sim = fc_io_sim_clone(f.io);
	is_clean();
	ck_assert_uint_eq(result.log_records, 1);
	ck_assert_uint_eq(result.files, 2);
	ck_assert_uint_eq(result.data_blocks, 13);
}
END_TEST

START_TEST(a_repair_of_nothing_changes_nothing)
{
	write_bytes(mkfile(1, "a"), 0, 10000, 1);
	take_disk();
	ok(run_checker(true, (struct fc_check_options){ 0 }));
	ck_assert_uint_eq(result.damages, 0);
	ck_assert(!result.changed);
}
END_TEST

/* ---- content that is lost ------------------------------------------------------------ */

/* A file of 20 blocks of which the 3rd, 4th and the last cannot be read; repaired. */
static uint64_t spoiled_file(void)
{
	uint64_t ino = mkfile(1, "file");

	write_bytes(ino, 0, 20 * FC_BLOCK - 100, 9);
	ok(fc_fs_link(f.fs, ino, 1, "hard", &a));
	take_disk();
	spoil(ino, 2);
	spoil(ino, 3);
	spoil(ino, 19);
	return ino;
}

START_TEST(unreadable_content_stays_unreadable_and_the_rest_readable)
{
	uint64_t ino = spoiled_file(), at;

	checked();
	ck_assert_uint_eq(result.damages, 2);
	ck_assert(has_found(FC_CHECK_DATA, ino, "cannot be read"));
	ck_assert_uint_eq(found[0].off, 2 * FC_BLOCK);
	ck_assert_uint_eq(found[0].bytes, 2 * FC_BLOCK);
	ck_assert_str_eq(found[0].path, "/file");
	ck_assert_uint_eq(found[0].paths, 2);
	ck_assert_uint_eq(found[1].off, 19 * FC_BLOCK);
	ck_assert_uint_eq(found[1].bytes, FC_BLOCK - 100);
	repairs();
	ck_assert_uint_eq(result.notes, 2);
	ck_assert_uint_eq(result.lost_bytes, 3 * FC_BLOCK);
	ck_assert_uint_eq(attr_of(ino).size, 20 * FC_BLOCK - 100);
	ck_assert_uint_eq(nlink_of(ino), 2);
	reads(ino, 0, 2 * FC_BLOCK, 0, 9);
	reads(ino, 4 * FC_BLOCK, 15 * FC_BLOCK, 0, 9);
	for (at = 0; at < 20; at++)
		ck_assert_int_eq(read_error(ino, at * FC_BLOCK, 10), at == 2 || at == 3 || at == 19 ? FC_EFORGED : 0);
	fails(FC_EFORGED, read_error(ino, 0, 20 * FC_BLOCK));
	fixture_reopen(&f);
	fails(FC_EFORGED, read_error(ino, 3 * FC_BLOCK + 4000, 10));
	/* it counts as data: a copy of the file must not get zeros there */
	ok(fc_fs_lseek(f.fs, ino, 2 * FC_BLOCK, SEEK_DATA, &at));
	ck_assert_uint_eq(at, 2 * FC_BLOCK);
	ok(fc_fs_lseek(f.fs, ino, 0, SEEK_HOLE, &at));
	ck_assert_uint_eq(at, 20 * FC_BLOCK - 100);
}
END_TEST

START_TEST(lost_content_heals_when_it_is_overwritten)
{
	uint64_t ino = spoiled_file(), done, other = 0;

	repairs();
	/* a part of a block cannot be written: the rest is not known */
	fails(FC_EFORGED, fc_fs_write(f.fs, ino, 2 * FC_BLOCK + 10, 5, "xxxxx", 0));
	fails(FC_EFORGED, read_error(ino, 2 * FC_BLOCK, 1));
	other = mkfile(1, "copy");
	fails(FC_EFORGED, fc_fs_copy(f.fs, ino, 0, other, 0, 8 * FC_BLOCK, &done));
	ok(fc_fs_copy(f.fs, ino, 4 * FC_BLOCK, other, 0, 8 * FC_BLOCK, &done));
	ck_assert_uint_eq(done, 8 * FC_BLOCK);
	write_bytes(ino, 2 * FC_BLOCK, FC_BLOCK, 77);
	reads(ino, 2 * FC_BLOCK, FC_BLOCK, 2 * FC_BLOCK, 77);
	fails(FC_EFORGED, read_error(ino, 3 * FC_BLOCK, 1));
	ok(fc_fs_fallocate(f.fs, ino, 3 /* PUNCH_HOLE | KEEP_SIZE */, 3 * FC_BLOCK, FC_BLOCK, 0));
	ok(read_error(ino, 3 * FC_BLOCK, FC_BLOCK));
	fails(FC_EFORGED, read_error(ino, 19 * FC_BLOCK, 1));
	ok(fc_fs_setattr(f.fs, ino, &(struct fc_setattr){ .valid = FC_SET_SIZE, .size = 19 * FC_BLOCK }, &a));
	ok(fc_fs_setattr(f.fs, ino, &(struct fc_setattr){ .valid = FC_SET_SIZE, .size = 20 * FC_BLOCK }, &a));
	ok(read_error(ino, 19 * FC_BLOCK, FC_BLOCK));
	reads(ino, 0, 2 * FC_BLOCK, 0, 9);
	fixture_reopen(&f);
	reads(ino, 2 * FC_BLOCK, FC_BLOCK, 2 * FC_BLOCK, 77);
	take_disk();
	is_clean();
	ck_assert_uint_eq(result.notes, 0);
	ck_assert_uint_eq(result.lost_bytes, 0);
}
END_TEST

START_TEST(a_file_with_lost_content_can_be_cut_and_removed)
{
	uint64_t ino = spoiled_file();

	repairs();
	/* within the lost block: what is left of it stays lost */
	ok(fc_fs_setattr(f.fs, ino, &(struct fc_setattr){ .valid = FC_SET_SIZE, .size = 2 * FC_BLOCK + 50 }, &a));
	fails(FC_EFORGED, read_error(ino, 2 * FC_BLOCK, 50));
	ok(fc_fs_setattr(f.fs, ino, &(struct fc_setattr){ .valid = FC_SET_SIZE, .size = 4 * FC_BLOCK }, &a));
	fails(FC_EFORGED, read_error(ino, 2 * FC_BLOCK, 50));
	ok(read_error(ino, 3 * FC_BLOCK, FC_BLOCK));
	take_disk();
	is_clean();
	ck_assert_uint_eq(result.lost_bytes, FC_BLOCK);
	ok(fc_fs_unlink(f.fs, 1, "file"));
	ok(fc_fs_unlink(f.fs, 1, "hard"));
	ck_assert_uint_eq(inodes(), 1);
	take_disk();
	is_clean();
	ck_assert_uint_eq(result.lost_bytes, 0);
}
END_TEST

START_TEST(shared_content_is_lost_in_both_files)
{
	uint64_t one = mkfile(1, "one"), two = mkfile(1, "two"), done;

	write_bytes(one, 0, 10 * FC_BLOCK, 5);
	ok(fc_fs_copy(f.fs, one, 0, two, 0, 10 * FC_BLOCK, &done));
	take_disk();
	is_clean();
	spoil(two, 4);
	checked();
	ck_assert_uint_eq(result.damages, 2);
	ck_assert(has_found(FC_CHECK_DATA, one, "cannot"));
	ck_assert(has_found(FC_CHECK_DATA, two, "cannot"));
	repairs();
	fails(FC_EFORGED, read_error(one, 4 * FC_BLOCK, 1));
	fails(FC_EFORGED, read_error(two, 4 * FC_BLOCK, 1));
	reads(one, 5 * FC_BLOCK, 5 * FC_BLOCK, 0, 5);
	/* the rest is still shared, and counted so */
	ok(fc_fs_unlink(f.fs, 1, "one"));
	fc_fs_forget(f.fs, one, 2);
	reads(two, 5 * FC_BLOCK, 5 * FC_BLOCK, 0, 5);
	take_disk();
	is_clean();
}
END_TEST

/* ---- inconsistencies: made, found, repaired --------------------------------------------- */

static uint64_t dir, file; /* /dir/file, of 5 blocks; and more beside */

static void make_tree(void)
{
	dir = mkdir_(1, "dir");
	mkfile(dir, "gone");
	fc_fs_forget(f.fs, a.ino, 1);
	ok(fc_fs_unlink(f.fs, dir, "gone"));
	file = mkfile(dir, "file");
	write_bytes(file, 0, 5 * FC_BLOCK, 2);
	write_bytes(mkfile(dir, "other"), 0, 3000, 4);
	mkdir_(dir, "sub");
	ok(fc_fs_setxattr(f.fs, file, "user.a", "value", 5, 0, false));
	ok(fc_fs_commit(f.fs));
}

/* It is found, repaired, and the content of /dir/file is still there. */
static void mends(enum fc_check_kind kind, uint64_t ino, const char *part)
{
	take_disk();
	checked();
	if (!has_found(kind, ino, part))
		for (size_t i = 0; i < founds; i++)
			printf("found: %s, inode %llu, %s: %s\n", fc_check_kind_name(found[i].kind),
			       (unsigned long long)found[i].ino, found[i].path, found[i].text);
	ck_assert_msg(has_found(kind, ino, part), "not found: %s", part);
	repairs();
}

static void file_is_whole(void)
{
	ck_assert_uint_eq(ino_of(ino_of(1, "dir"), "file"), file);
	reads(file, 0, 5 * FC_BLOCK, 0, 2);
	ck_assert_uint_eq(nlink_of(file), 1);
}

#define INODE_FIELD(name, which, field, value, kind, text) \
	START_TEST(name) \
	{ \
		struct fc_inode inode, was; \
\
		make_tree(); \
		was = inode = inode_of(which); \
		inode.field = value; \
		set_inode(&inode); \
		mends(kind, which, text); \
		inode = inode_of(which); \
		ck_assert_uint_eq(inode.field, was.field); \
		file_is_whole(); \
	} \
	END_TEST

INODE_FIELD(links_of_a_file, file, nlink, 7, FC_CHECK_INODE, "to have 7 links, and has 1")
INODE_FIELD(no_links_of_a_file_with_a_name, file, nlink, 0, FC_CHECK_INODE, "0 links")
INODE_FIELD(links_of_a_directory, dir, nlink, 2, FC_CHECK_INODE, "to have 2 links, and has 3")
INODE_FIELD(parent, dir, parent, 99, FC_CHECK_INODE, "inode 99 as its parent")
INODE_FIELD(parent_of_the_root, 1, parent, 99, FC_CHECK_INODE, "inode 99 as its parent")
INODE_FIELD(entries, dir, entries, 1, FC_CHECK_INODE, "to have 1 names, and has 3")
INODE_FIELD(next_name, dir, next_seq, was.next_seq - 1, FC_CHECK_INODE, "next name is taken")
INODE_FIELD(blocks, file, blocks, 50, FC_CHECK_INODE, "to have 50 blocks, and has 5")
INODE_FIELD(too_few_blocks, file, blocks, 0, FC_CHECK_INODE, "to have 0 blocks")
INODE_FIELD(attributes, file, xattrs, 0, FC_CHECK_ATTRIBUTE, "to have 0 attributes, and has 1")

START_TEST(attributes_that_are_gone)
{
	struct fc_bytes name = fc_xattr_name("user.a");

	make_tree();
	ck_assert_uint_eq(inode_of(file).mode, S_IFREG | 0644);
	del_item(fc_key(file, FC_KEY_XATTR, fc_xattr_hash(f.fs, &name)));
	mends(FC_CHECK_ATTRIBUTE, file, "1 of its extended attributes");
	/* it may have been an ACL that kept others out */
	ck_assert_uint_eq(inode_of(file).mode, S_IFREG | 0600);
	ck_assert_uint_eq(inode_of(file).xattrs, 0);
	file_is_whole();
}
END_TEST

START_TEST(content_beyond_the_end)
{
	struct fc_inode inode;

	make_tree();
	inode = inode_of(file);
	inode.size = 2 * FC_BLOCK;
	set_inode(&inode);
	mends(FC_CHECK_INODE, file, "beyond its end");
	reads(file, 0, 2 * FC_BLOCK, 0, 2);
	ok(fc_fs_setattr(f.fs, file, &(struct fc_setattr){ .valid = FC_SET_SIZE, .size = 5 * FC_BLOCK }, &a));
	ck_assert_uint_eq(inode_of(file).blocks, 2);
}
END_TEST

START_TEST(an_index_without_a_name)
{
	struct fc_entry entry;

	make_tree();
	entry = entry_of(dir, "file");
	del_item(fc_key(dir, FC_KEY_NAME, entry.hash));
	mends(FC_CHECK_NAME, dir, "index of names");
	file_is_whole();
}
END_TEST

START_TEST(an_index_that_leads_nowhere)
{
	uint8_t seqs[16];
	struct fc_entry entry;

	make_tree();
	entry = entry_of(dir, "file");
	fc_put_u64(seqs, entry.seq);
	fc_put_u64(seqs + 8, 4711);
	put_item(fc_key(dir, FC_KEY_NAME, entry.hash), seqs, 16);
	put_item(fc_key(dir, FC_KEY_NAME, entry.hash + 1), seqs, 8);
	mends(FC_CHECK_NAME, dir, "2 places in its index");
	file_is_whole();
}
END_TEST

START_TEST(an_entry_of_the_wrong_type)
{
	struct fc_entry entry;

	make_tree();
	entry = entry_of(dir, "file");
	put_entry(dir, entry.seq, file, DT_DIR, "file");
	mends(FC_CHECK_NAME, file, "another type");
	ck_assert_uint_eq(entry_of(dir, "file").type, DT_REG);
	file_is_whole();
}
END_TEST

START_TEST(a_name_that_leads_nowhere)
{
	make_tree();
	put_entry(dir, 100, 5000, DT_REG, "ghost");
	mends(FC_CHECK_NAME, 5000, "an inode that is lost");
	ck_assert_uint_eq(ino_of(dir, "ghost"), 0);
	ck_assert_uint_gt(inode_of(dir).next_seq, 100);
	file_is_whole();
}
END_TEST

START_TEST(the_same_name_twice)
{
	uint64_t other;
	struct fc_bytes name = { (const uint8_t *)"file", 4 };
	uint8_t seqs[16];

	make_tree();
	other = ino_of(dir, "other");
	put_entry(dir, 50, other, DT_REG, "file");
	fc_put_u64(seqs, entry_of(dir, "file").seq);
	fc_put_u64(seqs + 8, 50);
	put_item(fc_key(dir, FC_KEY_NAME, fc_dir_hash(f.fs, &name)), seqs, 16);
	mends(FC_CHECK_NAME, other, "has that name twice");
	ck_assert_uint_eq(ino_of(dir, "other"), other);
	ck_assert_uint_eq(nlink_of(other), 1);
	file_is_whole();
}
END_TEST

START_TEST(names_that_cannot_be)
{
	make_tree();
	put_entry(dir, 60, file, DT_REG, "a/b");
	put_entry(dir, 61, file, DT_REG, "..");
	put_entry(dir, 62, 0, DT_REG, "zero");
	put_entry(dir, 2, file, DT_REG, "early");
	put_item(fc_key(dir, FC_KEY_ENTRY, 63), "12345678\10", 9);
	mends(FC_CHECK_NAME, dir, "makes no sense");
	ck_assert_uint_eq(inode_of(dir).entries, 3);
	file_is_whole();
}
END_TEST

int main(void)
{
	TCase *tc = check_case("check");

	tcase_add_test(tc, counts_are_right);
	tcase_add_test(tc, a_live_log_is_replayed);
	tcase_add_test(tc, a_repair_of_nothing_changes_nothing);
	tcase_add_test(tc, unreadable_content_stays_unreadable_and_the_rest_readable);
	tcase_add_test(tc, lost_content_heals_when_it_is_overwritten);
	tcase_add_test(tc, a_file_with_lost_content_can_be_cut_and_removed);
	tcase_add_test(tc, shared_content_is_lost_in_both_files);
	tcase_add_test(tc, links_of_a_file);
	tcase_add_test(tc, no_links_of_a_file_with_a_name);
	tcase_add_test(tc, links_of_a_directory);
	tcase_add_test(tc, parent);
	tcase_add_test(tc, parent_of_the_root);
	tcase_add_test(tc, entries);
	tcase_add_test(tc, next_name);
	tcase_add_test(tc, blocks);
	tcase_add_test(tc, too_few_blocks);
	tcase_add_test(tc, attributes);
	tcase_add_test(tc, attributes_that_are_gone);
	tcase_add_test(tc, content_beyond_the_end);
	tcase_add_test(tc, an_index_without_a_name);
	tcase_add_test(tc, an_index_that_leads_nowhere);
	tcase_add_test(tc, an_entry_of_the_wrong_type);
	tcase_add_test(tc, a_name_that_leads_nowhere);
	tcase_add_test(tc, the_same_name_twice);
	tcase_add_test(tc, names_that_cannot_be);
	return run_case(tc);
}
