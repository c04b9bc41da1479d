/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names, links and directories, as ext4 has them. */
#include <dirent.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "fs/dir.h"
#include "names_fixture.h"

START_TEST(the_root_is_there)
{
	struct fc_attr attr = attr_of(FC_INO_ROOT);

	ck_assert_uint_eq(attr.mode, S_IFDIR | 0755);
	ck_assert_uint_eq(attr.nlink, 2);
	ck_assert_uint_eq(ino_of(FC_INO_ROOT, "none"), 0);
	fails(FC_ESTALE, fc_fs_getattr(f.fs, 2, &a));
}
END_TEST

START_TEST(create_gives_what_stat_shows_later)
{
	static const uint32_t modes[] = { S_IFREG | 0666, S_IFIFO | 0600, S_IFSOCK | 0777, S_IFCHR | 0660,
					  S_IFBLK | 07777 };
	struct fc_attr later;
	char name[2] = "a";

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++, name[0]++) {
		ok(fc_fs_mknod(f.fs, 1, name, &fixture_cred, modes[i], makedev(259, 70000), &a));
		ck_assert_uint_ge(a.ino, FC_INO_FIRST);
		ck_assert_uint_eq(a.mode, modes[i] & ~022u);
		ck_assert_uint_eq(a.nlink, 1);
		ck_assert_uint_eq(a.uid, 1000);
		ck_assert_uint_eq(a.gid, 100);
		ck_assert_uint_eq(a.size, 0);
		ck_assert_uint_eq(a.blocks, 0);
		ck_assert_uint_eq(a.rdev, S_ISCHR(modes[i]) || S_ISBLK(modes[i]) ? makedev(259, 70000) : 0);
		ck_assert_int_eq(a.btime.sec, 1000);
		ck_assert_uint_eq(a.btime.nsec, 5);
		later = attr_of(a.ino);
		ck_assert_uint_eq(later.mode, a.mode);
		ck_assert_uint_eq(later.nlink, 1);
		ck_assert_uint_eq(later.uid, 1000);
		ck_assert_uint_eq(later.gid, 100);
		ck_assert_uint_eq(later.rdev, a.rdev);
		ck_assert_int_eq(later.btime.sec, 1000);
		ck_assert_uint_eq(later.btime.nsec, 5);
		times_are(a.ino, 1000, 1000, 1000);
		ck_assert_uint_eq(ino_of(1, name), a.ino);
	}
	ck_assert_uint_eq(nlink_of(1), 2);
	ck_assert_uint_eq(inodes(), 6);
	ok(fc_fs_mknod(f.fs, 1, "plain", &fixture_cred, 0644, 0, &a)); /* no type: a regular file */
	ck_assert_uint_eq(a.mode, S_IFREG | 0644);
	fails(FC_EINVAL, fc_fs_mknod(f.fs, 1, "x", &fixture_cred, S_IFDIR | 0755, 0, &a));
	fails(FC_EINVAL, fc_fs_mknod(f.fs, 1, "x", &fixture_cred, S_IFLNK | 0777, 0, &a));
	ck_assert_uint_eq(ino_of(1, "x"), 0);
}
END_TEST

START_TEST(names_are_checked)
{
	char name[258];
	uint64_t file = mkfile(1, "file"), top;

	memset(name, 'n', sizeof(name));
	name[255] = 0;
	top = mkfile(1, name);
	ck_assert_uint_eq(ino_of(1, name), top);
	name[255] = 'n';
	name[256] = 0;
	fails(FC_ENAMETOOLONG, fc_fs_lookup(f.fs, 1, name, &a));
	fails(FC_ENAMETOOLONG, fc_fs_mkdir(f.fs, 1, name, &fixture_cred, 0755, &a));
	fails(FC_ENAMETOOLONG, rename_(1, "file", 1, name, 0));
	fails(FC_ENAMETOOLONG, fc_fs_link(f.fs, file, 1, name, &a));
	fails(FC_ENAMETOOLONG, fc_fs_unlink(f.fs, 1, name));
	ck_assert_uint_eq(ino_of(1, "file"), file);
	fails(FC_EINVAL, fc_fs_mkdir(f.fs, 1, ".", &fixture_cred, 0755, &a));
	fails(FC_EINVAL, fc_fs_mkdir(f.fs, 1, "..", &fixture_cred, 0755, &a));
	fails(FC_EINVAL, fc_fs_mkdir(f.fs, 1, "", &fixture_cred, 0755, &a));
	fails(FC_EINVAL, fc_fs_mkdir(f.fs, 1, "a/b", &fixture_cred, 0755, &a));
	fails(FC_EINVAL, rename_(1, "..", 1, "b", 0));
	fails(FC_EINVAL, rename_(1, "file", 1, ".", 0));
	/* bytes are bytes */
	mkfile(1, "u\xcc\x88");
	mkfile(1, "\xc3\xbc");
	mkfile(1, "\xff\xfe\n");
	ck_assert_uint_ne(ino_of(1, "\xff\xfe\n"), 0);
	ck_assert_uint_ne(ino_of(1, "u\xcc\x88"), ino_of(1, "\xc3\xbc"));
}
END_TEST

START_TEST(existing_names_stay)
{
	uint64_t file = mkfile(1, "n"), other = mkfile(1, "o");

	fails(FC_EEXIST, fc_fs_mknod(f.fs, 1, "n", &fixture_cred, S_IFREG | 0666, 0, &a));
	fails(FC_EEXIST, fc_fs_mkdir(f.fs, 1, "n", &fixture_cred, 0777, &a));
	fails(FC_EEXIST, fc_fs_symlink(f.fs, 1, "n", &fixture_cred, "t", &a));
	fails(FC_EEXIST, fc_fs_link(f.fs, other, 1, "n", &a));
	ck_assert_uint_eq(ino_of(1, "n"), file);
	ck_assert_uint_eq(nlink_of(other), 1);
	ck_assert_uint_eq(inodes(), 3);
	fails(FC_ENOTDIR, fc_fs_mknod(f.fs, file, "x", &fixture_cred, S_IFREG | 0666, 0, &a));
	fails(FC_ENOTDIR, fc_fs_unlink(f.fs, file, "x"));
	fails(FC_ESTALE, fc_fs_mkdir(f.fs, 99999, "x", &fixture_cred, 0777, &a));
}
END_TEST

START_TEST(directories_count_links_and_times)
{
	uint64_t dir, sub;

	at(2000);
	dir = mkdir_(1, "dir");
	ck_assert_uint_eq(a.mode, S_IFDIR | 0755);
	ck_assert_uint_eq(a.nlink, 2);
	ck_assert_uint_eq(nlink_of(1), 3);
	times_are(1, 1000, 2000, 2000);
	times_are(dir, 2000, 2000, 2000);
	at(3000);
	sub = mkdir_(dir, "sub");
	mkfile(dir, "file");
	ck_assert_uint_eq(nlink_of(dir), 3);
	times_are(dir, 2000, 3000, 3000);
	times_are(1, 1000, 2000, 2000);
	fails(FC_ENOTEMPTY, fc_fs_rmdir(f.fs, 1, "dir"));
	fails(FC_EISDIR, fc_fs_unlink(f.fs, dir, "sub"));
	fails(FC_ENOTDIR, fc_fs_rmdir(f.fs, dir, "file"));
	fails(FC_ENOENT, fc_fs_rmdir(f.fs, dir, "none"));
	at(4000);
	ok(fc_fs_rmdir(f.fs, dir, "sub"));
	ck_assert_uint_eq(nlink_of(dir), 2);
	ck_assert_uint_eq(nlink_of(sub), 0); /* still held */
	times_are(dir, 2000, 4000, 4000);
	times_are(sub, 3000, 3000, 4000);
	fails(FC_ENOTEMPTY, fc_fs_rmdir(f.fs, 1, "dir"));
	ok(fc_fs_unlink(f.fs, dir, "file"));
	ok(fc_fs_rmdir(f.fs, 1, "dir"));
	ck_assert_uint_eq(nlink_of(1), 2);
	/* nothing is made in what was removed */
	fails(FC_ENOENT, fc_fs_mknod(f.fs, dir, "x", &fixture_cred, S_IFREG | 0666, 0, &a));
	fails(FC_ENOENT, fc_fs_mkdir(f.fs, sub, "x", &fixture_cred, 0777, &a));
	fails(FC_ENOENT, fc_fs_tmpfile(f.fs, dir, &fixture_cred, 0600, &a));
	mkfile(1, "f");
	fails(FC_ENOENT, rename_(1, "f", dir, "f", 0));
	fails(FC_ENOENT, fc_fs_link(f.fs, ino_of(1, "f"), dir, "f", &a));
}
END_TEST

START_TEST(unlinked_inodes_live_while_held)
{
	uint64_t file = mkfile(1, "f"), gone;

	ok(fc_fs_lookup(f.fs, 1, "f", &a)); /* two references */
	at(5000);
	ok(fc_fs_unlink(f.fs, 1, "f"));
	ck_assert_uint_eq(ino_of(1, "f"), 0);
	ck_assert_uint_eq(nlink_of(file), 0);
	times_are(file, 1000, 1000, 5000);
	fc_fs_forget(f.fs, file, 1);
	ck_assert_uint_eq(nlink_of(file), 0);
	fc_fs_forget(f.fs, file, 1);
	fails(FC_ESTALE, fc_fs_getattr(f.fs, file, &a));
	ck_assert_uint_eq(inodes(), 1);
	gone = mkfile(1, "f"); /* numbers are not used again */
	ck_assert_uint_gt(gone, file);
	fc_fs_forget(f.fs, gone, 1);
	ok(fc_fs_unlink(f.fs, 1, "f")); /* held by no one: gone at once */
	fails(FC_ESTALE, fc_fs_getattr(f.fs, gone, &a));
	ck_assert_uint_eq(inodes(), 1);
	fails(FC_ENOENT, fc_fs_unlink(f.fs, 1, "f"));
}
END_TEST

START_TEST(inodes_are_found_by_number)
{
	uint64_t dir = mkdir_(1, "d"), sub = mkdir_(dir, "s"), ino = mkfile(sub, "f");

	fc_fs_forget(f.fs, ino, 1);
	fixture_reopen(&f);
	ok(fc_fs_lookup(f.fs, ino, ".", &a));
	ck_assert_uint_eq(a.ino, ino);
	ck_assert_uint_eq(a.mode, S_IFREG | 0644);
	ok(fc_fs_lookup(f.fs, sub, "..", &a));
	ck_assert_uint_eq(a.ino, dir);
	ok(fc_fs_lookup(f.fs, 1, "..", &a));
	ck_assert_uint_eq(a.ino, 1);
	fails(FC_ENOTDIR, fc_fs_lookup(f.fs, ino, "..", &a));
	fails(FC_ESTALE, fc_fs_lookup(f.fs, 9999, ".", &a));
	fails(FC_ESTALE, fc_fs_lookup(f.fs, 9999, "..", &a));
	ok(fc_fs_unlink(f.fs, sub, "f"));
	ok(fc_fs_lookup(f.fs, ino, ".", &a)); /* the first lookup holds it */
	ck_assert_uint_eq(a.nlink, 0);
	fc_fs_forget(f.fs, ino, 2);
	fails(FC_ESTALE, fc_fs_lookup(f.fs, ino, ".", &a));
}
END_TEST

START_TEST(hard_links_share_an_inode)
{
	uint64_t dir = mkdir_(1, "d"), file = mkfile(1, "f");

	at(6000);
	ok(fc_fs_link(f.fs, file, dir, "g", &a));
	ck_assert_uint_eq(a.ino, file);
	ck_assert_uint_eq(a.nlink, 2);
	ck_assert_int_eq(a.ctime.sec, 6000);
	times_are(file, 1000, 1000, 6000);
	times_are(dir, 1000, 6000, 6000);
	ck_assert_uint_eq(ino_of(dir, "g"), file);
	fails(FC_EPERM, fc_fs_link(f.fs, dir, 1, "h", &a));
	fails(FC_ESTALE, fc_fs_link(f.fs, 77777, 1, "h", &a));
	ok(fc_fs_unlink(f.fs, 1, "f"));
	ck_assert_uint_eq(nlink_of(file), 1);
	fc_fs_forget(f.fs, file, 2); /* of mknod and link */
	ck_assert_uint_eq(ino_of(dir, "g"), file);
	ok(fc_fs_unlink(f.fs, dir, "g"));
	fails(FC_ESTALE, fc_fs_getattr(f.fs, file, &a));
}
END_TEST

START_TEST(links_are_limited)
{
	uint64_t file = mkfile(1, "0");
	char name[16];
	struct fc_inode inode;

	/* the way there is long: start near the end of it */
	ok(fc_fs_begin(f.fs, 1, false));
	ok(fc_inode_load(f.fs, file, &inode));
	inode.nlink = FC_LINK_MAX - 3;
	ok(fc_inode_put(f.fs, &inode));
	fc_fs_end(f.fs);
	for (int i = 1; i <= 3; i++) {
		snprintf(name, sizeof(name), "%d", i);
		ok(fc_fs_link(f.fs, file, 1, name, &a));
	}
	ck_assert_uint_eq(a.nlink, 65000);
	fails(FC_EMLINK, fc_fs_link(f.fs, file, 1, "4", &a));
	ck_assert_uint_eq(ino_of(1, "4"), 0);
	ck_assert_uint_eq(nlink_of(file), 65000);
}
END_TEST

START_TEST(a_tmpfile_is_linked_or_gone)
{
	uint64_t first, second;

	ok(fc_fs_tmpfile(f.fs, 1, &fixture_cred, 0666, &a));
	first = a.ino;
	ck_assert_uint_eq(a.mode, S_IFREG | 0644);
	ck_assert_uint_eq(a.nlink, 0);
	ok(fc_fs_tmpfile(f.fs, 1, &fixture_cred, 0600, &a));
	second = a.ino;
	ck_assert_uint_eq(inodes(), 3);
	ok(fc_fs_link(f.fs, first, 1, "t", &a));
	ck_assert_uint_eq(a.nlink, 1);
	fc_fs_forget(f.fs, second, 1);
	fails(FC_ESTALE, fc_fs_getattr(f.fs, second, &a));
	fixture_reopen(&f);
	ck_assert_uint_eq(ino_of(1, "t"), first);
	ck_assert_uint_eq(nlink_of(first), 1);
	ck_assert_uint_eq(inodes(), 2);
	fails(FC_ENOTDIR, fc_fs_tmpfile(f.fs, first, &fixture_cred, 0600, &a));
}
END_TEST

START_TEST(orphans_go_when_it_is_opened)
{
	uint64_t file = mkfile(1, "f"), dir = mkdir_(1, "d"), tmp;

	ok(fc_fs_tmpfile(f.fs, 1, &fixture_cred, 0600, &a));
	tmp = a.ino;
	ok(fc_fs_unlink(f.fs, 1, "f"));
	ok(fc_fs_rmdir(f.fs, 1, "d"));
	ck_assert_uint_eq(inodes(), 4);
	fixture_reopen(&f);
	ck_assert_uint_eq(inodes(), 1);
	fails(FC_ESTALE, fc_fs_getattr(f.fs, file, &a));
	fails(FC_ESTALE, fc_fs_getattr(f.fs, dir, &a));
	fails(FC_ESTALE, fc_fs_getattr(f.fs, tmp, &a));
}
END_TEST

START_TEST(symbolic_links)
{
	char target[FC_SYMLINK_MAX + 2], back[FC_SYMLINK_MAX + 1];

	memset(target, 't', sizeof(target));
	target[FC_SYMLINK_MAX + 1] = 0;
	fails(FC_ENAMETOOLONG, fc_fs_symlink(f.fs, 1, "l", &fixture_cred, target, &a));
	target[FC_SYMLINK_MAX] = 0;
	ok(fc_fs_symlink(f.fs, 1, "l", &fixture_cred, target, &a));
	ck_assert_uint_eq(a.mode, S_IFLNK | 0777); /* no umask */
	ck_assert_uint_eq(a.size, FC_SYMLINK_MAX);
	ck_assert_uint_eq(a.nlink, 1);
	ok(fc_fs_readlink(f.fs, a.ino, back));
	ck_assert_str_eq(back, target);
	ok(fc_fs_symlink(f.fs, 1, "m", &fixture_cred, "../x\n", &a));
	ok(fc_fs_readlink(f.fs, a.ino, back));
	ck_assert_str_eq(back, "../x\n");
	fails(FC_ENOENT, fc_fs_symlink(f.fs, 1, "n", &fixture_cred, "", &a));
	fails(FC_EINVAL, fc_fs_readlink(f.fs, 1, back));
	fails(FC_EINVAL, fc_fs_readlink(f.fs, mkfile(1, "f"), back));
}
END_TEST

START_TEST(setgid_directories_hand_down_their_group)
{
	uint64_t dir = mkdir_(1, "d");
	struct fc_setattr set = { .valid = FC_SET_MODE | FC_SET_GID, .mode = 02775, .gid = 55 };

	ok(fc_fs_setattr(f.fs, dir, &set, &a));
	ck_assert_uint_eq(a.mode, S_IFDIR | 02775);
	mkfile(dir, "f");
	ck_assert_uint_eq(a.gid, 55);
	ck_assert_uint_eq(a.mode, S_IFREG | 0644);
	mkdir_(dir, "s");
	ck_assert_uint_eq(a.gid, 55);
	ck_assert_uint_eq(a.mode, S_IFDIR | 02755);
	ok(fc_fs_symlink(f.fs, dir, "l", &fixture_cred, "t", &a));
	ck_assert_uint_eq(a.gid, 55);
	ok(fc_fs_tmpfile(f.fs, dir, &fixture_cred, 0600, &a));
	ck_assert_uint_eq(a.gid, 55);
	ok(rename_(dir, "f", dir, "g", RENAME_WHITEOUT));
	ok(fc_fs_lookup(f.fs, dir, "f", &a));
	ck_assert_uint_eq(a.gid, 55);
}
END_TEST

/* ---- hashes that collide -------------------------------------------------- */

static struct fc_bytes bytes_of(const char *name)
{
	return (struct fc_bytes){ .p = (const uint8_t *)name, .n = strlen(name) };
}

static int put_colliding(uint64_t dir_ino, uint64_t hash, const char *name, uint64_t ino)
{
	struct fc_bytes n = bytes_of(name);
	struct fc_entry place;
	struct fc_inode dir;
	int err;

	ok(fc_fs_begin(f.fs, 30, false));
	ok(fc_dir_inode(f.fs, dir_ino, &dir));
	ck_assert_int_eq(fc_dir_find(f.fs, dir_ino, hash, &n, &place), FC_ENOENT);
	ok(fc_dir_load(f.fs, dir_ino, &place, dir.next_seq));
	err = fc_dir_room(&place);
	if (!err) {
		ok(fc_dir_add(f.fs, &dir, &place, &n, ino, DT_REG));
		ok(fc_inode_put(f.fs, &dir));
	}
	fc_fs_end(f.fs);
	return err;
}

static uint64_t get_colliding(uint64_t dir, uint64_t hash, const char *name, struct fc_entry *entry)
{
	struct fc_bytes n = bytes_of(name);
	int err;

	fc_fs_rdlock(f.fs);
	err = fc_dir_find(f.fs, dir, hash, &n, entry);
	fc_fs_rdunlock(f.fs);
	if (err)
		ck_assert_int_eq(err, FC_ENOENT);
	return err ? 0 : entry->ino;
}

static void del_colliding(uint64_t dir_ino, uint64_t hash, const char *name)
{
	struct fc_bytes n = bytes_of(name);
	struct fc_entry entry;
	struct fc_inode dir;

	ok(fc_fs_begin(f.fs, 30, true));
	ok(fc_dir_inode(f.fs, dir_ino, &dir));
	ok(fc_dir_find(f.fs, dir_ino, hash, &n, &entry));
	ok(fc_dir_load(f.fs, dir_ino, &entry, entry.seq));
	ok(fc_dir_del(f.fs, &dir, &entry));
	ok(fc_inode_put(f.fs, &dir));
	fc_fs_end(f.fs);
}

START_TEST(colliding_names_are_told_apart)
{
	const uint64_t hash = 42;
	struct fc_entry e;
	uint64_t dir = mkdir_(1, "d");

	ok(put_colliding(dir, hash, "one", 101));
	ok(put_colliding(dir, hash, "two", 102));
	ok(put_colliding(dir, hash + 1, "one", 104)); /* another hash is another name */
	ok(put_colliding(dir, hash, "three", 103));
	ck_assert_uint_eq(get_colliding(dir, hash, "one", &e), 101);
	ck_assert_uint_eq(get_colliding(dir, hash, "two", &e), 102);
	ck_assert_uint_eq(e.peers, 3);
	ck_assert_uint_eq(get_colliding(dir, hash, "three", &e), 103);
	ck_assert_uint_eq(get_colliding(dir, hash, "on", &e), 0);
	ck_assert_uint_eq(get_colliding(dir, hash, "onE", &e), 0);
	ck_assert_uint_eq(e.peers, 3);
	del_colliding(dir, hash, "two");
	ck_assert_uint_eq(get_colliding(dir, hash, "two", &e), 0);
	ck_assert_uint_eq(get_colliding(dir, hash, "one", &e), 101);
	ck_assert_uint_eq(get_colliding(dir, hash, "three", &e), 103);
	ok(put_colliding(dir, hash, "two", 105));
	del_colliding(dir, hash, "one");
	del_colliding(dir, hash, "three");
	ck_assert_uint_eq(get_colliding(dir, hash, "two", &e), 105);
	ck_assert_uint_eq(e.peers, 1);
	del_colliding(dir, hash, "two");
	ck_assert_uint_eq(get_colliding(dir, hash, "two", &e), 0);
	ck_assert_uint_eq(e.peers, 0);
	ck_assert_uint_eq(get_colliding(dir, hash + 1, "one", &e), 104);
}
END_TEST

START_TEST(too_many_collisions_are_refused)
{
	struct fc_entry e;
	char name[16];
	int fits = 0, err = 0;

	while (!err) {
		snprintf(name, sizeof(name), "%d", fits);
		err = put_colliding(1, 7, name, 1000 + (uint64_t)fits);
		fits += !err;
	}
	ck_assert_int_eq(err, FC_ENOSPC);
	ck_assert_int_eq(fits, FC_ITEM_MAX / 8);
	ck_assert_uint_eq(get_colliding(1, 7, "0", &e), 1000);
	del_colliding(1, 7, "0");
	ok(put_colliding(1, 7, "again", 5));
}
END_TEST

int main(void)
{
	TCase *tc = names_case("namei");

	tcase_add_test(tc, the_root_is_there);
	tcase_add_test(tc, create_gives_what_stat_shows_later);
	tcase_add_test(tc, names_are_checked);
	tcase_add_test(tc, existing_names_stay);
	tcase_add_test(tc, directories_count_links_and_times);
	tcase_add_test(tc, unlinked_inodes_live_while_held);
	tcase_add_test(tc, inodes_are_found_by_number);
	tcase_add_test(tc, hard_links_share_an_inode);
	tcase_add_test(tc, links_are_limited);
	tcase_add_test(tc, a_tmpfile_is_linked_or_gone);
	tcase_add_test(tc, orphans_go_when_it_is_opened);
	tcase_add_test(tc, symbolic_links);
	tcase_add_test(tc, setgid_directories_hand_down_their_group);
	tcase_add_test(tc, colliding_names_are_told_apart);
	tcase_add_test(tc, too_many_collisions_are_refused);
	return run_case(tc);
}
