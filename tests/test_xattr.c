/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Extended attributes: names, sizes, flags, hashes that collide, large values. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>

#include "fs/xattr.h"
#include "names_fixture.h"

static uint8_t big[FC_XATTR_VALUE_MAX + 1], back[FC_XATTR_VALUE_MAX + 1];

static void fill(unsigned seed)
{
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (uint8_t)((i * 31 + i / 251) ^ seed);
}

static int put(uint64_t ino, const char *name, const void *value, size_t n)
{
	return fc_fs_setxattr(f.fs, ino, name, value, n, 0, false);
}

static void has(uint64_t ino, const char *name, const void *value, size_t n)
{
	memset(back, 0xee, sizeof(back));
	ck_assert_int_eq(fc_fs_getxattr(f.fs, ino, name, back, sizeof(back)), (ssize_t)n);
	if (n)
		ck_assert_mem_eq(back, value, n);
	ck_assert_uint_eq(back[n < FC_XATTR_VALUE_MAX ? n : FC_XATTR_VALUE_MAX], 0xee);
	ck_assert_int_eq(fc_fs_getxattr(f.fs, ino, name, NULL, 0), (ssize_t)n);
}

static ssize_t get(uint64_t ino, const char *name)
{
	return fc_fs_getxattr(f.fs, ino, name, back, sizeof(back));
}

START_TEST(values_come_back)
{
	uint64_t ino = mkfile(1, "f");

	at(2000);
	ok(put(ino, "user.a", "hello", 5));
	ok(put(ino, "user.empty", "", 0));
	ok(put(ino, "trusted.b", "\0\1\2", 3));
	ok(put(ino, "security.c", "c", 1));
	times_are(ino, 1000, 1000, 2000);
	has(ino, "user.a", "hello", 5);
	has(ino, "user.empty", "", 0);
	has(ino, "trusted.b", "\0\1\2", 3);
	at(3000);
	ok(put(ino, "user.a", "longer than that", 16));
	has(ino, "user.a", "longer than that", 16);
	times_are(ino, 1000, 1000, 3000);
	ck_assert_int_eq(fc_fs_getxattr(f.fs, ino, "user.a", back, 15), FC_ERANGE);
	ck_assert_int_eq(fc_fs_getxattr(f.fs, ino, "user.a", back, 16), 16);
	at(4000);
	ok(fc_fs_removexattr(f.fs, ino, "user.a"));
	times_are(ino, 1000, 1000, 4000);
	ck_assert_int_eq(get(ino, "user.a"), FC_ENODATA);
	at(5000);
	fails(FC_ENODATA, fc_fs_removexattr(f.fs, ino, "user.a"));
	times_are(ino, 1000, 1000, 4000);
	has(ino, "security.c", "c", 1);
	fixture_reopen(&f);
	has(ino, "trusted.b", "\0\1\2", 3);
	fails(FC_ESTALE, put(9999, "user.a", "x", 1));
}
END_TEST

START_TEST(names_and_kinds_are_checked)
{
	uint64_t ino = mkfile(1, "f"), fifo, link;
	char name[258];

	memset(name, 'n', sizeof(name));
	memcpy(name, "user.", 5);
	name[255] = 0;
	ok(put(ino, name, "v", 1));
	has(ino, name, "v", 1);
	name[255] = 'n';
	name[256] = 0;
	fails(FC_ERANGE, put(ino, name, "v", 1));
	ck_assert_int_eq(get(ino, name), FC_ERANGE);
	fails(FC_ERANGE, put(ino, "", "v", 1));
	fails(FC_EINVAL, put(ino, "user.", "v", 1));
	fails(FC_ENOTSUP, put(ino, "system.nfs4_acl", "v", 1));
	fails(FC_ENOTSUP, put(ino, "system.posix_acl_accesss", "v", 1));
	fails(FC_ENOTSUP, put(ino, "userx", "v", 1));
	fails(FC_ENOTSUP, put(ino, "btrfs.compression", "v", 1));
	ck_assert_int_eq(get(ino, "other.x"), FC_ENOTSUP);
	fails(FC_ENOTSUP, fc_fs_removexattr(f.fs, ino, "other.x"));
	ok(fc_fs_mknod(f.fs, 1, "p", &fixture_cred, S_IFIFO | 0600, 0, &a));
	fifo = a.ino;
	ok(fc_fs_symlink(f.fs, 1, "l", &fixture_cred, "t", &a));
	link = a.ino;
	fails(FC_EPERM, put(fifo, "user.a", "v", 1));
	fails(FC_EPERM, put(link, "user.a", "v", 1));
	ok(put(fifo, "trusted.a", "v", 1));
	ok(put(link, "security.a", "w", 1));
	has(link, "security.a", "w", 1);
	ok(put(1, "user.dir", "d", 1));
	has(1, "user.dir", "d", 1);
}
END_TEST

START_TEST(create_and_replace)
{
	uint64_t ino = mkfile(1, "f");

	fails(FC_ENODATA, fc_fs_setxattr(f.fs, ino, "user.a", "1", 1, XATTR_REPLACE, false));
	ok(fc_fs_setxattr(f.fs, ino, "user.a", "2", 1, XATTR_CREATE, false));
	fails(FC_EEXIST, fc_fs_setxattr(f.fs, ino, "user.a", "3", 1, XATTR_CREATE, false));
	has(ino, "user.a", "2", 1);
	ok(fc_fs_setxattr(f.fs, ino, "user.a", "4", 1, XATTR_REPLACE, false));
	has(ino, "user.a", "4", 1);
	fails(FC_EINVAL, fc_fs_setxattr(f.fs, ino, "user.a", "5", 1, 4, false));
	has(ino, "user.a", "4", 1);
}
END_TEST

START_TEST(large_values)
{
	static const size_t sizes[] = {
		FC_XATTR_INLINE_MAX, FC_XATTR_INLINE_MAX + 1, 4096, 4097, 12288, 65535, FC_XATTR_VALUE_MAX, 1
	};
	uint64_t ino = mkfile(1, "f");

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fill((unsigned)i);
		ok(put(ino, "user.big", big, sizes[i]));
		has(ino, "user.big", big, sizes[i]);
		fixture_reopen(&f);
		has(ino, "user.big", big, sizes[i]);
	}
	fails(FC_ETOOBIG, put(ino, "user.big", big, FC_XATTR_VALUE_MAX + 1));
	has(ino, "user.big", big, 1);
	ok(put(ino, "user.big", big, FC_XATTR_VALUE_MAX));
	ok(put(ino, "user.big2", big + 1, FC_XATTR_VALUE_MAX));
	fixture_replay(&f);
	has(ino, "user.big", big, FC_XATTR_VALUE_MAX);
	has(ino, "user.big2", big + 1, FC_XATTR_VALUE_MAX);
	ok(fc_fs_removexattr(f.fs, ino, "user.big"));
	ck_assert_int_eq(get(ino, "user.big"), FC_ENODATA);
	has(ino, "user.big2", big + 1, FC_XATTR_VALUE_MAX);
}
END_TEST

START_TEST(lists)
{
	uint64_t ino = mkfile(1, "f");
	char buf[4096];
	ssize_t n, want = 0;

	ck_assert_int_eq(fc_fs_listxattr(f.fs, ino, buf, sizeof(buf)), 0);
	for (int i = 0; i < 100; i++) {
		char name[32];

		want += snprintf(name, sizeof(name), "user.%d", i * i) + 1;
		ok(put(ino, name, "x", 1));
	}
	mkfile(1, "g"); /* the next inode's are not ours */
	ok(put(a.ino, "user.other", "x", 1));
	n = fc_fs_listxattr(f.fs, ino, buf, sizeof(buf));
	ck_assert_int_eq(n, want);
	ck_assert_int_eq(fc_fs_listxattr(f.fs, ino, NULL, 0), want);
	ck_assert_int_eq(fc_fs_listxattr(f.fs, ino, buf, (size_t)want), want);
	ck_assert_int_eq(fc_fs_listxattr(f.fs, ino, buf, (size_t)want - 1), FC_ERANGE);
	ck_assert_int_eq(fc_fs_listxattr(f.fs, ino, buf, 1), FC_ERANGE);
	n = fc_fs_listxattr(f.fs, ino, buf, sizeof(buf));
	for (char *name = buf; name < buf + n; name += strlen(name) + 1) {
		has(ino, name, "x", 1);
		ok(fc_fs_removexattr(f.fs, ino, name)); /* each is there once */
	}
	ck_assert_int_eq(fc_fs_listxattr(f.fs, ino, buf, sizeof(buf)), 0);
}
END_TEST

/* ---- hashes that collide -------------------------------------------------- */

#define HASH 9u

static int put_at(uint64_t ino, const char *name, const void *value, size_t n)
{
	struct fc_bytes key = fc_xattr_name(name), bytes = { value, n };
	struct fc_inode inode;
	int err;

	ok(fc_fs_begin(f.fs, 30, false));
	ok(fc_inode_load(f.fs, ino, &inode));
	ok(fc_xattr_load(f.fs, ino, HASH));
	err = fc_xattr_put(f.fs, &inode, HASH, &key, &bytes, false);
	if (!err)
		ok(fc_inode_put(f.fs, &inode));
	fc_fs_end(f.fs);
	return err;
}

static int del_at(uint64_t ino, const char *name)
{
	struct fc_bytes key = fc_xattr_name(name);
	struct fc_inode inode;
	int err;

	ok(fc_fs_begin(f.fs, 30, true));
	ok(fc_inode_load(f.fs, ino, &inode));
	ok(fc_xattr_load(f.fs, ino, HASH));
	err = fc_xattr_del(f.fs, &inode, HASH, &key);
	if (!err)
		ok(fc_inode_put(f.fs, &inode));
	fc_fs_end(f.fs);
	return err;
}

/* The kind that it is kept in. */
static int has_at(uint64_t ino, const char *name, const void *value, size_t n)
{
	struct fc_bytes key = fc_xattr_name(name);
	struct fc_xattr x;
	int err, kind;

	fc_fs_rdlock(f.fs);
	err = fc_xattr_find(f.fs, ino, HASH, &key, &x);
	if (!err) {
		kind = x.kind;
		ck_assert_uint_eq(x.bytes, n);
		ok(fc_xattr_value(f.fs, &x, back));
	}
	fc_fs_rdunlock(f.fs);
	if (err)
		return err;
	if (n)
		ck_assert_mem_eq(back, value, n);
	return kind;
}

static uint32_t count(uint64_t ino)
{
	struct fc_inode inode;

	fc_fs_rdlock(f.fs);
	ok(fc_inode_get(f.fs, ino, &inode));
	fc_fs_rdunlock(f.fs);
	return inode.xattrs;
}

START_TEST(colliding_names_share_an_item)
{
	uint64_t ino = mkfile(1, "f");
	char names[4096];

	fill(1);
	ok(put_at(ino, "user.one", "1", 1));
	ok(put_at(ino, "user.two", big, 2000));
	ok(put_at(ino, "user.three", "", 0));
	ck_assert_uint_eq(count(ino), 3);
	ck_assert_int_eq(has_at(ino, "user.one", "1", 1), FC_XATTR_INLINE);
	ck_assert_int_eq(has_at(ino, "user.two", big, 2000), FC_XATTR_INLINE);
	ck_assert_int_eq(has_at(ino, "user.three", "", 0), FC_XATTR_INLINE);
	fails(FC_ENODATA, has_at(ino, "user.on", "", 0));
	ck_assert_int_eq(fc_fs_listxattr(f.fs, ino, names, sizeof(names)), 9 + 9 + 11);
	/* no room for a third of that size: out of line */
	ok(put_at(ino, "user.four", big + 5, 2048));
	ok(put_at(ino, "user.five", big + 7, 2048));
	ck_assert_int_eq(has_at(ino, "user.four", big + 5, 2048), FC_XATTR_INLINE);
	ck_assert_int_eq(has_at(ino, "user.five", big + 7, 2048), FC_XATTR_BLOB);
	ok(put_at(ino, "user.one", big + 9, 1000));
	ck_assert_int_eq(has_at(ino, "user.one", big + 9, 1000), FC_XATTR_BLOB);
	ck_assert_uint_eq(count(ino), 5);
	ok(del_at(ino, "user.two"));
	fails(FC_ENODATA, del_at(ino, "user.two"));
	ck_assert_uint_eq(count(ino), 4);
	ok(put_at(ino, "user.five", big + 8, 2048)); /* now it fits */
	ck_assert_int_eq(has_at(ino, "user.five", big + 8, 2048), FC_XATTR_INLINE);
	ck_assert_int_eq(has_at(ino, "user.one", big + 9, 1000), FC_XATTR_BLOB);
	ck_assert_int_eq(has_at(ino, "user.four", big + 5, 2048), FC_XATTR_INLINE);
	ok(del_at(ino, "user.one"));
	ok(del_at(ino, "user.three"));
	ok(del_at(ino, "user.four"));
	ok(del_at(ino, "user.five"));
	ck_assert_uint_eq(count(ino), 0);
	ck_assert_int_eq(fc_fs_listxattr(f.fs, ino, names, sizeof(names)), 0);
}
END_TEST

START_TEST(a_full_item_refuses_and_keeps)
{
	uint64_t ino = mkfile(1, "f");
	char name[256];
	int fits = 0, err = 0;

	memset(name, 'x', sizeof(name));
	memcpy(name, "user.", 5);
	name[255] = 0;
	while (!err) {
		name[5] = (char)('a' + fits);
		err = put_at(ino, name, "v", 1);
		fits += !err;
	}
	ck_assert_int_eq(err, FC_ENOSPC);
	ck_assert_int_eq(fits, FC_ITEM_MAX / (8 + 255 + 1));
	ck_assert_uint_eq(count(ino), (unsigned)fits);
	for (int i = 0; i < fits; i++) {
		name[5] = (char)('a' + i);
		ck_assert_int_eq(has_at(ino, name, "v", 1), FC_XATTR_INLINE);
	}
}
END_TEST

START_TEST(bad_items_are_refused)
{
	static const struct {
		uint8_t raw[24];
		size_t n;
		int last; /* what the walk ends with */
		int before;
	} cases[] = {
		{ { 1, 0, 0, 0, 2, 0, 0, 0, 'a', 'v', 'w' }, 11, 0, 1 },
		{ { 1, 1, 0, 0, 9, 0, 1, 0, 'a', 1, 2, 3, 4, 5, 6, 7, 8 }, 17, FC_ECORRUPT, 0 }, /* too large */
		{ { 1, 1, 0, 0, 9, 0, 0, 0, 'a', 1, 2, 3, 4, 5, 6, 7, 8 }, 17, 0, 1 },
		{ { 1, 1, 0, 0, 9, 0, 0, 0, 'a', 1, 2, 3, 4, 5, 6, 7 }, 16, FC_ECORRUPT, 0 },
		{ { 1, 2, 0, 0, 0, 0, 0, 0, 'a' }, 9, FC_ECORRUPT, 0 },       /* unknown kind */
		{ { 0, 0, 0, 0, 0, 0, 0, 0 }, 8, FC_ECORRUPT, 0 },            /* no name */
		{ { 1, 0, 0, 0, 0, 0, 0, 0 }, 8, FC_ECORRUPT, 0 },            /* name beyond the end */
		{ { 1, 0, 0, 0, 0, 0, 0 }, 7, FC_ECORRUPT, 0 },               /* cut */
		{ { 1, 0, 0, 0, 2, 0, 0, 0, 'a', 'v' }, 10, FC_ECORRUPT, 0 }, /* value cut */
		{ { 2, 0, 0, 0, 0, 0, 0, 0, 'a', 0 }, 10, FC_ECORRUPT, 0 },   /* NUL in the name */
		{ { 1, 0, 0, 0, 0, 0, 0, 0, 'a', 1, 0, 0, 0, 0, 0, 0, 0, 'b', 7 }, 19, FC_ECORRUPT, 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t *exact = malloc(cases[i].n); /* so that a read beyond is seen */
		struct fc_xattr x;
		size_t where = 0;
		int r, seen = 0;

		memcpy(exact, cases[i].raw, cases[i].n);
		while ((r = fc_xattr_next(exact, cases[i].n, &where, &x)) > 0)
			seen++;
		ck_assert_msg(r == cases[i].last, "case %zu: %d", i, r);
		ck_assert_msg(seen == cases[i].before, "case %zu: %d attributes", i, seen);
		free(exact);
	}
}
END_TEST

START_TEST(attributes_go_with_the_inode)
{
	uint64_t ino = mkfile(1, "f");

	fill(3);
	ok(put(ino, "user.big", big, FC_XATTR_VALUE_MAX));
	ok(put(ino, "user.small", "s", 1));
	ok(fc_fs_unlink(f.fs, 1, "f"));
	has(ino, "user.big", big, FC_XATTR_VALUE_MAX); /* still held */
	fc_fs_forget(f.fs, ino, 1);
	ck_assert_int_eq(get(ino, "user.small"), FC_ENODATA);
	ck_assert_int_eq(fc_fs_listxattr(f.fs, ino, NULL, 0), 0);
}
END_TEST

int main(void)
{
	TCase *tc = names_case("xattr");

	tcase_add_test(tc, values_come_back);
	tcase_add_test(tc, names_and_kinds_are_checked);
	tcase_add_test(tc, create_and_replace);
	tcase_add_test(tc, large_values);
	tcase_add_test(tc, lists);
	tcase_add_test(tc, colliding_names_share_an_item);
	tcase_add_test(tc, a_full_item_refuses_and_keeps);
	tcase_add_test(tc, bad_items_are_refused);
	tcase_add_test(tc, attributes_go_with_the_inode);
	return run_case(tc);
}
