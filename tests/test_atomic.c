/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A change that cannot read what it needs changes nothing: each operation is
 * run on a cold file system whose n-th read fails, for every n.
 */
#include <linux/fs.h>
#include <linux/posix_acl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fs/xattr.h"
#include "fs_fixture.h"

#define FILLERS 500
#define BIG 20000
#define READS 16 /* more than any of them needs */

static struct fixture f;
static uint64_t dirs[3], near, far; /* directories, files a long way from each other */
static struct fc_attr a;
static uint8_t big[BIG];
/* owner 7, user 9: 6, group 5, mask 7, other 1 */
static const uint8_t acl[] = { 2, 0, 0,   0,   1,   0,   7,  0, 255, 255, 255, 255, 2,   0,  6,
			       0, 9, 0,   0,   0,   4,   0,  5, 0,   255, 255, 255, 255, 16, 0,
			       7, 0, 255, 255, 255, 255, 32, 0, 1,   0,   255, 255, 255, 255 };

#define ok(call) ck_assert_int_eq((call), 0)

static uint64_t make(uint64_t dir, const char *name, uint32_t mode)
{
	if (S_ISDIR(mode))
		ok(fc_fs_mkdir(f.fs, dir, name, &fixture_cred, mode & 0777, &a));
	else
		ok(fc_fs_mknod(f.fs, dir, name, &fixture_cred, mode, 0, &a));
	return a.ino;
}

/* So that what follows lies in other nodes. */
static void fill(uint64_t dir, const char *prefix)
{
	char name[FC_NAME_MAX + 1];

	memset(name, 'x', sizeof(name));
	name[200] = 0;
	for (int i = 0; i < FILLERS; i++) {
		int n = snprintf(name, sizeof(name), "%s%d", prefix, i);

		name[n] = 'x';
		make(dir, name, S_IFREG | 0600);
	}
}

static void build(void)
{
	fixture_open(&f);
	dirs[0] = FC_INO_ROOT;
	dirs[1] = make(1, "one", S_IFDIR | 0755);
	near = make(dirs[1], "near", S_IFREG | 06755);
	make(dirs[1], "sub", S_IFDIR | 0755);
	fill(dirs[1], "_a");
	dirs[2] = make(1, "two", S_IFDIR | 0755);
	ok(fc_fs_setxattr(f.fs, dirs[2], FC_XATTR_ACL_DEFAULT, acl, sizeof(acl), 0, false));
	far = make(dirs[2], "far", S_IFREG | 0644);
	ok(fc_fs_setxattr(f.fs, near, "user.big", big, BIG, 0, false));
	ok(fc_fs_setxattr(f.fs, near, "security.capability", "cap", 3, 0, false));
	ok(fc_fs_setxattr(f.fs, near, FC_XATTR_ACL_ACCESS, acl, sizeof(acl), 0, false));
	fill(dirs[2], "_b");
	make(dirs[2], "empty", S_IFDIR | 0755);
	make(dirs[2], "last", S_IFREG | 0644);
	fixture_reopen(&f);
}

/* ---- the operations ---------------------------------------------------------- */

static int op_mknod(struct fc_fs *fs)
{
	return fc_fs_mknod(fs, dirs[2], "new", &fixture_cred, S_IFREG | 0666, 0, &a);
}

static int op_mkdir(struct fc_fs *fs)
{
	return fc_fs_mkdir(fs, dirs[2], "new", &fixture_cred, 0777, &a);
}

static int op_symlink(struct fc_fs *fs)
{
	return fc_fs_symlink(fs, dirs[1], "new", &fixture_cred, "target", &a);
}

static int op_link(struct fc_fs *fs)
{
	return fc_fs_link(fs, near, dirs[2], "linked", &a);
}

static int op_unlink(struct fc_fs *fs)
{
	return fc_fs_unlink(fs, dirs[2], "last");
}

static int op_rmdir(struct fc_fs *fs)
{
	return fc_fs_rmdir(fs, dirs[2], "empty");
}

static int op_rename(struct fc_fs *fs)
{
	return fc_fs_rename(fs, dirs[1], "near", dirs[2], "moved", 0, &fixture_cred);
}

static int op_rename_dir(struct fc_fs *fs)
{
	return fc_fs_rename(fs, dirs[1], "sub", dirs[2], "empty", 0, &fixture_cred);
}

static int op_replace(struct fc_fs *fs)
{
	return fc_fs_rename(fs, dirs[1], "near", dirs[2], "last", 0, &fixture_cred);
}

static int op_exchange(struct fc_fs *fs)
{
	return fc_fs_rename(fs, dirs[1], "sub", dirs[2], "far", RENAME_EXCHANGE, &fixture_cred);
}

static int op_whiteout(struct fc_fs *fs)
{
	return fc_fs_rename(fs, dirs[2], "far", dirs[1], "near", RENAME_WHITEOUT, &fixture_cred);
}

static int op_chmod(struct fc_fs *fs)
{
	struct fc_setattr set = { .valid = FC_SET_MODE | FC_SET_MTIME_NOW, .mode = 0640 };

	return fc_fs_setattr(fs, near, &set, &a);
}

static int op_truncate(struct fc_fs *fs)
{
	struct fc_setattr set = { .valid = FC_SET_SIZE | FC_SET_KILLPRIV | FC_SET_MODE, .mode = 0600, .size = 7 };

	return fc_fs_setattr(fs, near, &set, &a);
}

static int op_setxattr(struct fc_fs *fs)
{
	return fc_fs_setxattr(fs, far, "user.new", "value", 5, 0, false);
}

static int op_setxattr_big(struct fc_fs *fs)
{
	return fc_fs_setxattr(fs, near, "user.big", big + 1, BIG - 1, 0, false);
}

static int op_removexattr(struct fc_fs *fs)
{
	return fc_fs_removexattr(fs, near, "user.big");
}

static int op_set_acl(struct fc_fs *fs)
{
	return fc_fs_setxattr(fs, far, FC_XATTR_ACL_ACCESS, acl, sizeof(acl), 0, false);
}

static int (*const ops[])(struct fc_fs *fs) = {
	op_mknod,    op_mkdir,      op_symlink,      op_link,        op_unlink,   op_rmdir,
	op_rename,   op_rename_dir, op_replace,      op_exchange,    op_whiteout, op_chmod,
	op_truncate, op_setxattr,   op_setxattr_big, op_removexattr, op_set_acl,
};

/* ---- what there is ------------------------------------------------------------- */

static uint64_t sum;

static void add(const void *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum = (sum ^ ((const uint8_t *)data)[i]) * 1099511628211u;
}

static void add_time(struct fc_time t)
{
	add(&t.sec, sizeof(t.sec));
	add(&t.nsec, sizeof(t.nsec));
}

static void add_inode(struct fc_fs *fs, uint64_t ino)
{
	static char names[4096];
	static uint8_t value[FC_XATTR_VALUE_MAX];
	struct fc_attr attr;
	ssize_t n;

	ok(fc_fs_getattr(fs, ino, &attr));
	add(&attr.mode, sizeof(attr.mode));
	add(&attr.nlink, sizeof(attr.nlink));
	add(&attr.size, sizeof(attr.size));
	add_time(attr.mtime);
	add_time(attr.ctime);
	n = fc_fs_listxattr(fs, ino, names, sizeof(names));
	ck_assert_int_ge(n, 0);
	for (char *name = names; name < names + n; name += strlen(name) + 1) {
		ssize_t bytes = fc_fs_getxattr(fs, ino, name, value, sizeof(value));

		ck_assert_int_ge(bytes, 0);
		add(name, strlen(name));
		add(value, (size_t)bytes);
	}
}

struct inos {
	uint64_t ino[16];
	size_t n;
};

static int list(void *arg, const char *name, uint64_t ino, uint32_t type, uint64_t next_off, const struct fc_attr *attr)
{
	struct inos *inos = arg;

	(void)attr;
	add(name, strlen(name));
	add(&type, sizeof(type));
	add(&next_off, sizeof(next_off));
	if (name[0] != '.' && name[0] != '_')
		inos->ino[inos->n++] = ino;
	return 0;
}

/* Of the small directories, all that is in them, and of the counters. */
static uint64_t state(struct fc_fs *fs)
{
	struct fc_fs_stat st;

	sum = 14695981039346656037u;
	add_inode(fs, 1);
	for (int i = 1; i < 3; i++) {
		struct inos inos = { .n = 0 };

		add_inode(fs, dirs[i]);
		ok(fc_fs_readdir(fs, dirs[i], 0, false, list, &inos));
		for (size_t j = 0; j < inos.n; j++)
			add_inode(fs, inos.ino[j]);
	}
	ok(fc_fs_statfs(fs, &st));
	add(&st.inodes, sizeof(st.inodes));
	return sum;
}

START_TEST(an_operation_that_cannot_read_changes_nothing)
{
	struct fc_io *disk = fc_io_sim_clone(f.io);
	uint64_t before = state(f.fs), after;
	unsigned failed = 0;

	f.now.sec = 5000;
	ok(ops[_i](f.fs));
	after = state(f.fs);
	ck_assert_uint_ne(before, after);
	for (uint64_t n = 1; n <= READS; n++) {
		int err;

		fc_fs_abandon(f.fs);
		fixture_mount(&f, fc_io_sim_clone(disk));
		fc_io_sim_fail(f.io, FC_SIM_READ, n, FC_EIO, false);
		err = ops[_i](f.fs);
		fc_io_sim_fail(f.io, FC_SIM_READ, 0, 0, false);
		if (err) {
			failed++;
			ck_assert_int_eq(err, FC_EIO);
			ck_assert_uint_eq(state(f.fs), before);
			ok(ops[_i](f.fs)); /* with the disk well again it works */
		}
		fixture_replay(&f);
		ck_assert_uint_eq(state(f.fs), after);
	}
	ck_assert_uint_ge(failed, 1); /* it was cold */
	fc_io_close(disk);
}
END_TEST

static void teardown(void)
{
	fc_fs_abandon(f.fs);
}

int main(void)
{
	Suite *suite = suite_create("fs");
	TCase *tc = tcase_create("atomic");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, build, teardown);
	tcase_set_timeout(tc, 240);
	tcase_add_loop_test(tc, an_operation_that_cannot_read_changes_nothing, 0, sizeof(ops) / sizeof(ops[0]));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
