/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Repairs of what is lost or unreachable, of attributes and of the space map. */
#include <dirent.h>

#include "check_fixture.h"

static uint64_t dir, file; /* /dir/file, of 5 blocks; and more beside */

static void make_tree(void)
{
	dir = mkdir_(1, "dir");
	file = mkfile(dir, "file");
	write_bytes(file, 0, 5 * FC_BLOCK, 2);
	write_bytes(mkfile(dir, "small"), 0, 1000, 4);
	mkdir_(dir, "sub");
	ok(fc_fs_commit(f.fs));
}

/* The finding is there; a repair mends it. */
static void mends(enum fc_check_kind kind, uint64_t ino, const char *part)
{
	take_disk();
	checked();
	ck_assert_msg(has_found(kind, ino, part), "not found: %s", part);
	repairs();
}

static void file_is_whole_at(uint64_t at, const char *name)
{
	ck_assert_uint_eq(ino_of(at, name), file);
	reads(file, 0, 5 * FC_BLOCK, 0, 2);
	ck_assert_uint_eq(nlink_of(file), 1);
}

static uint64_t lost_found(void)
{
	uint64_t ino = ino_of(1, "lost+found");

	ck_assert_uint_ne(ino, 0);
	return ino;
}

/* `#N` of inode N. */
static const char *numbered(uint64_t ino)
{
	static char name[32];

	snprintf(name, sizeof(name), "#%llu", (unsigned long long)ino);
	return name;
}

/* ---- names and inodes that miss each other ---------------------------------------- */

START_TEST(an_inode_without_a_name)
{
	struct fc_entry entry;

	make_tree();
	entry = entry_of(dir, "file");
	del_item(fc_key(dir, FC_KEY_ENTRY, entry.seq));
	del_item(fc_key(dir, FC_KEY_NAME, entry.hash));
	mends(FC_CHECK_NAME, file, "has no name");
	ck_assert_uint_eq(ino_of(dir, "file"), 0);
	ck_assert_uint_eq(attr_of(lost_found()).mode, S_IFDIR | 0700);
	ck_assert_uint_eq(attr_of(lost_found()).uid, 1000);
	file_is_whole_at(lost_found(), numbered(file));
}
END_TEST

START_TEST(a_directory_without_a_name_keeps_what_is_in_it)
{
	struct fc_entry entry;
	uint64_t sub;

	make_tree();
	sub = ino_of(dir, "sub");
	entry = entry_of(1, "dir");
	del_item(fc_key(1, FC_KEY_ENTRY, entry.seq));
	del_item(fc_key(1, FC_KEY_NAME, entry.hash));
	mends(FC_CHECK_NAME, dir, "has no name");
	ck_assert_uint_eq(ino_of(lost_found(), numbered(dir)), dir);
	ck_assert_uint_eq(inode_of(dir).parent, lost_found());
	file_is_whole_at(dir, "file");
	ck_assert_uint_eq(ino_of(dir, "sub"), sub);
	ck_assert_uint_eq(nlink_of(lost_found()), 3);
	ck_assert_uint_eq(nlink_of(1), 3);
}
END_TEST

START_TEST(lost_and_found_that_is_there_is_used)
{
	struct fc_entry entry;
	uint64_t there = mkdir_(1, "lost+found"), other;

	make_tree();
	other = mkfile(there, numbered(file));
	entry = entry_of(dir, "file");
	del_item(fc_key(dir, FC_KEY_ENTRY, entry.seq));
	mends(FC_CHECK_NAME, file, "has no name");
	ck_assert_uint_eq(lost_found(), there);
	ck_assert_uint_eq(ino_of(there, numbered(file)), other);
	{
		char name[40];

		snprintf(name, sizeof(name), "#%llu-1", (unsigned long long)file);
		file_is_whole_at(there, name);
	}
}
END_TEST

START_TEST(a_file_in_place_of_lost_and_found_stays)
{
	struct fc_entry entry;
	uint64_t there = mkfile(1, "lost+found");

	make_tree();
	entry = entry_of(dir, "file");
	del_item(fc_key(dir, FC_KEY_ENTRY, entry.seq));
	mends(FC_CHECK_NAME, file, "has no name");
	ck_assert_uint_eq(ino_of(1, "lost+found"), there);
	file_is_whole_at(ino_of(1, "lost+found-1"), numbered(file));
}
END_TEST

START_TEST(a_directory_with_two_names)
{
	struct fc_entry entry;
	uint64_t sub;

	make_tree();
	sub = ino_of(dir, "sub");
	entry = entry_of(dir, "sub");
	put_entry(1, 70, sub, DT_DIR, "again");
	mends(FC_CHECK_NAME, sub, "more than one name");
	ck_assert_uint_eq(ino_of(dir, "sub"), sub);
	ck_assert_uint_eq(ino_of(1, "again"), 0);
	ck_assert_uint_eq(entry_of(dir, "sub").seq, entry.seq);
	file_is_whole_at(dir, "file");
}
END_TEST

START_TEST(directories_in_each_other)
{
	struct fc_entry entry;
	struct fc_inode inode;
	uint64_t sub;

	make_tree();
	sub = ino_of(dir, "sub");
	/* dir lies in sub, which lies in dir; the root has no name for them */
	entry = entry_of(1, "dir");
	del_item(fc_key(1, FC_KEY_ENTRY, entry.seq));
	put_entry(sub, 3, dir, DT_DIR, "dir");
	inode = inode_of(dir);
	inode.parent = sub;
	set_inode(&inode);
	mends(FC_CHECK_NAME, dir, "lies in itself");
	ck_assert_uint_eq(ino_of(lost_found(), numbered(dir)), dir);
	ck_assert_uint_eq(ino_of(dir, "sub"), sub);
	file_is_whole_at(dir, "file");
}
END_TEST

START_TEST(a_name_of_the_root)
{
	make_tree();
	put_entry(dir, 80, 1, DT_DIR, "up");
	mends(FC_CHECK_NAME, 1, "leads to the root");
	file_is_whole_at(dir, "file");
}
END_TEST

START_TEST(an_unlinked_inode_that_is_not_noted)
{
	uint64_t ino = mkfile(1, "gone");

	make_tree();
	ok(fc_fs_unlink(f.fs, 1, "gone"));
	del_item(fc_key(0, FC_KEY_ORPHAN, ino));
	mends(FC_CHECK_NAME, ino, "waits for its end");
	fails(FC_ESTALE, fc_fs_getattr(f.fs, ino, &a)); /* gone with the next mount */
	ck_assert_uint_eq(ino_of(1, "lost+found"), 0);
	take_disk();
	is_clean();
}
END_TEST

START_TEST(an_inode_in_use_is_not_removed)
{
	uint8_t all[8];

	make_tree();
	fc_put_u64(all, UINT64_MAX);
	put_item(fc_key(0, FC_KEY_ORPHAN, file), all, 8);
	put_item(fc_key(0, FC_KEY_ORPHAN, 7000), all, 8);
	put_item(fc_key(0, FC_KEY_ORPHAN, 7001), all, 7);
	take_disk();
	checked();
	ck_assert(has_found(FC_CHECK_INODE, file, "is in use"));
	ck_assert(has_found(FC_CHECK_INODE, 7000, "is not there"));
	repairs();
	file_is_whole_at(dir, "file");
}
END_TEST

/* ---- inodes that are lost ---------------------------------------------------------------- */

START_TEST(a_directory_whose_inode_is_lost_is_made_anew)
{
	uint64_t sub;

	make_tree();
	sub = ino_of(dir, "sub");
	del_item(fc_key(dir, FC_KEY_INODE, 0));
	mends(FC_CHECK_INODE, dir, "inode of a directory is lost");
	ck_assert_uint_eq(ino_of(1, "dir"), dir);
	ck_assert_uint_eq(attr_of(dir).mode, S_IFDIR | 0700);
	ck_assert_uint_eq(inode_of(dir).parent, 1);
	ck_assert_uint_eq(nlink_of(dir), 3);
	ck_assert_uint_eq(ino_of(dir, "sub"), sub);
	file_is_whole_at(dir, "file");
	ck_assert_uint_ne(mkfile(dir, "new"), 0);
}
END_TEST

START_TEST(a_file_whose_inode_is_lost_is_found)
{
	uint64_t small;

	make_tree();
	small = ino_of(dir, "small");
	del_item(fc_key(file, FC_KEY_INODE, 0));
	put_item(fc_key(small, FC_KEY_INODE, 0), "nonsense", 8);
	take_disk();
	checked();
	ck_assert(has_found(FC_CHECK_INODE, file, "inode of a file is lost"));
	ck_assert(has_found(FC_CHECK_INODE, small, "makes no sense"));
	repairs();
	ck_assert_uint_eq(ino_of(dir, "file"), 0);
	ck_assert_uint_eq(ino_of(dir, "small"), 0);
	file_is_whole_at(lost_found(), numbered(file));
	ck_assert_uint_eq(attr_of(file).size, 5 * FC_BLOCK);
	ck_assert_uint_eq(attr_of(file).mode, S_IFREG | 0600);
	ck_assert_uint_eq(attr_of(file).uid, 1000);
	ck_assert_uint_eq(ino_of(lost_found(), numbered(small)), small);
	ck_assert_uint_eq(attr_of(small).size, 1000);
	reads(small, 0, 1000, 0, 4);
}
END_TEST

START_TEST(the_root_is_made_anew)
{
	make_tree();
	del_item(fc_key(1, FC_KEY_INODE, 0));
	mends(FC_CHECK_INODE, 1, "inode of a directory is lost");
	ck_assert_uint_eq(ino_of(1, "dir"), dir);
	ck_assert_uint_eq(attr_of(1).uid, 1000);
	file_is_whole_at(dir, "file");
}
END_TEST

START_TEST(a_root_that_is_no_directory)
{
	struct fc_inode inode;

	make_tree();
	inode = inode_of(file);
	inode.ino = 1;
	set_inode(&inode);
	mends(FC_CHECK_INODE, 1, "root is no directory");
	ck_assert_uint_eq(ino_of(lost_found(), numbered(dir)), dir);
	file_is_whole_at(dir, "file");
}
END_TEST

START_TEST(content_that_is_missing)
{
	uint64_t small, link;

	make_tree();
	small = ino_of(dir, "small");
	ok(fc_fs_symlink(f.fs, dir, "link", &fixture_cred, "target", &a));
	link = a.ino;
	del_item(fc_key(small, FC_KEY_INLINE, 0));
	del_item(fc_key(link, FC_KEY_INLINE, 0));
	take_disk();
	checked();
	ck_assert(has_found(FC_CHECK_DATA, small, "cannot be read"));
	ck_assert(has_found(FC_CHECK_DATA, link, "target of a symbolic link is lost"));
	repairs();
	ck_assert_uint_eq(ino_of(dir, "small"), small);
	ck_assert_uint_eq(attr_of(small).size, 1000);
	fails(FC_EFORGED, read_error(small, 0, 1000));
	ck_assert_uint_eq(ino_of(dir, "link"), 0);
	write_bytes(small, 0, FC_BLOCK, 8);
	reads(small, 0, FC_BLOCK, 0, 8);
}
END_TEST

START_TEST(items_of_nobody)
{
	uint8_t raw[16] = { 0 };

	make_tree();
	put_item(fc_key(file, 99, 5), raw, 3);       /* no known kind */
	put_item(fc_key(0, FC_KEY_NAME, 5), raw, 8); /* of no inode */
	put_item(fc_key(9000, FC_KEY_XATTR, 5), "\1\0\0\0\0\0\0\0u", 9);
	put_item(fc_key(file, FC_KEY_INLINE, 0), raw, 10);
	put_item(fc_key(file, FC_KEY_ENTRY, 7), raw, 16);
	put_item(fc_key(dir, FC_KEY_EXTENT, 0), raw, 16);
	take_disk();
	checked();
	ck_assert_uint_ge(result.damages, 6);
	repairs();
	file_is_whole_at(dir, "file");
	ck_assert_uint_eq(ino_of(1, "lost+found"), 0);
}
END_TEST

START_TEST(extents_that_make_no_sense)
{
	uint8_t raw[FC_ITEM_MAX];
	struct fc_extent e, bad;

	make_tree();
	ok(fc_extent_at(f.fs, file, 0, &e));
	ck_assert_uint_eq(e.units, 5);
	bad = e;
	put_item(fc_key(file, FC_KEY_EXTENT, 3), raw, fc_extent_encode(&bad, raw)); /* over another one */
	bad.start = 1ull << 40;
	put_item(fc_key(file, FC_KEY_EXTENT, 10), raw, fc_extent_encode(&bad, raw)); /* not in the container */
	put_item(fc_key(file, FC_KEY_EXTENT, 20), raw, 5);
	take_disk();
	checked();
	ck_assert(has_found(FC_CHECK_DATA, file, "an extent that makes no sense"));
	ck_assert(has_found(FC_CHECK_SPACE, file, "lies where there is no data"));
	repairs();
	reads(file, 0, 5 * FC_BLOCK, 0, 2);
}
END_TEST

/* ---- attributes --------------------------------------------------------------------------- */

static uint64_t with_big_attribute(const char *name)
{
	uint64_t ino = mkfile(1, name);
	uint8_t *value = malloc(60000);

	fill_bytes(value, 60000, 3);
	ok(fc_fs_setxattr(f.fs, ino, "user.big", value, 60000, 0, false));
	ok(fc_fs_setxattr(f.fs, ino, "user.small", "s", 1, 0, false));
	free(value);
	return ino;
}

static uint64_t blob_of(uint64_t ino)
{
	struct fc_bytes name = fc_xattr_name("user.big");
	struct fc_xattr x;

	ok(fc_xattr_find(f.fs, ino, fc_xattr_hash(f.fs, &name), &name, &x));
	ck_assert_int_eq(x.kind, FC_XATTR_BLOB);
	return fc_get_u64(x.held.p);
}

START_TEST(a_large_value_that_lost_a_part)
{
	uint64_t ino = with_big_attribute("a");

	del_item(fc_key(0, FC_KEY_BLOB, blob_of(ino) << FC_BLOB_PART_BITS | 3));
	mends(FC_CHECK_ATTRIBUTE, ino, "value of user.big is lost");
	ck_assert_int_eq(fc_fs_getxattr(f.fs, ino, "user.big", NULL, 0), FC_ENODATA);
	ck_assert_int_eq(fc_fs_getxattr(f.fs, ino, "user.small", NULL, 0), 1);
	ck_assert_uint_eq(inode_of(ino).xattrs, 1);
	ck_assert_uint_eq(attr_of(ino).mode, S_IFREG | 0600);
}
END_TEST

START_TEST(values_of_nobody_and_of_two)
{
	uint64_t one = with_big_attribute("one"), two = with_big_attribute("two");
	struct fc_bytes name = fc_xattr_name("user.big");
	struct fc_xattr x;
	uint8_t raw[64];
	uint64_t hash = fc_xattr_hash(f.fs, &name);
	struct fc_item item;

	/* both name the value of `one`; nobody that of `two` */
	ok(fc_tree_get(fc_fs_tree(f.fs), fc_key(two, FC_KEY_XATTR, hash), &item));
	memcpy(raw, item.data, item.bytes);
	ok(fc_xattr_find(f.fs, two, hash, &name, &x));
	fc_put_u64(raw + (x.held.p - item.data), blob_of(one));
	put_item(item.key, raw, item.bytes);
	take_disk();
	checked();
	ck_assert(has_found(FC_CHECK_ATTRIBUTE, two, "value of user.big is lost"));
	ck_assert(has_found(FC_CHECK_ATTRIBUTE, 0, "belongs to none"));
	repairs();
	ck_assert_int_eq(fc_fs_getxattr(f.fs, one, "user.big", NULL, 0), 60000);
	ck_assert_int_eq(fc_fs_getxattr(f.fs, two, "user.big", NULL, 0), FC_ENODATA);
	ck_assert_int_eq(fc_fs_getxattr(f.fs, two, "user.small", NULL, 0), 1);
}
END_TEST

START_TEST(attributes_that_make_no_sense)
{
	uint64_t ino = with_big_attribute("a");
	struct fc_bytes name = fc_xattr_name("user.small");

	put_item(fc_key(ino, FC_KEY_XATTR, fc_xattr_hash(f.fs, &name)), "\377\377\377", 3);
	mends(FC_CHECK_ATTRIBUTE, ino, "make no sense");
	ck_assert_int_eq(fc_fs_getxattr(f.fs, ino, "user.big", NULL, 0), 60000);
	ck_assert_int_eq(fc_fs_getxattr(f.fs, ino, "user.small", NULL, 0), FC_ENODATA);
	ck_assert_uint_eq(attr_of(ino).mode, S_IFREG | 0600);
}
END_TEST

int main(void)
{
	TCase *tc = check_case("check_lost");

	tcase_add_test(tc, an_inode_without_a_name);
	tcase_add_test(tc, a_directory_without_a_name_keeps_what_is_in_it);
	tcase_add_test(tc, lost_and_found_that_is_there_is_used);
	tcase_add_test(tc, a_file_in_place_of_lost_and_found_stays);
	tcase_add_test(tc, a_directory_with_two_names);
	tcase_add_test(tc, directories_in_each_other);
	tcase_add_test(tc, a_name_of_the_root);
	tcase_add_test(tc, an_unlinked_inode_that_is_not_noted);
	tcase_add_test(tc, an_inode_in_use_is_not_removed);
	tcase_add_test(tc, a_directory_whose_inode_is_lost_is_made_anew);
	tcase_add_test(tc, a_file_whose_inode_is_lost_is_found);
	tcase_add_test(tc, the_root_is_made_anew);
	tcase_add_test(tc, a_root_that_is_no_directory);
	tcase_add_test(tc, content_that_is_missing);
	tcase_add_test(tc, items_of_nobody);
	tcase_add_test(tc, extents_that_make_no_sense);
	tcase_add_test(tc, a_large_value_that_lost_a_part);
	tcase_add_test(tc, values_of_nobody_and_of_two);
	tcase_add_test(tc, attributes_that_make_no_sense);
	return run_case(tc);
}
