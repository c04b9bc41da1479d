/* SPDX-License-Identifier: GPL-2.0-or-later */
/* POSIX ACLs: what is valid, the mode, chmod, inheritance; then through a file system. */
#include <linux/posix_acl.h>
#include <sys/xattr.h>

#include "fs/acl.h"
#include "fs/xattr.h"
#include "names_fixture.h"
#include "util/le.h"

#define NONE UINT32_MAX

struct entry {
	uint16_t tag, perm;
	uint32_t id;
};

struct acl {
	uint8_t raw[FC_ACL_MAX + 2 * FC_ACL_ENTRY];
	size_t n;
};

static struct acl make_n(const struct entry *entries, size_t count)
{
	struct acl acl = { .n = FC_ACL_HEADER + count * FC_ACL_ENTRY };

	fc_put_u32(acl.raw, 2);
	for (size_t i = 0; i < count; i++) {
		uint8_t *p = acl.raw + FC_ACL_HEADER + i * FC_ACL_ENTRY;

		fc_put_u16(p, entries[i].tag);
		fc_put_u16(p + 2, entries[i].perm);
		fc_put_u32(p + 4, entries[i].id);
	}
	return acl;
}

#define make(...) \
	make_n((const struct entry[]){ __VA_ARGS__ }, \
	       sizeof((const struct entry[]){ __VA_ARGS__ }) / sizeof(struct entry))

#define OWNER(perm) \
	{ \
		ACL_USER_OBJ, perm, NONE \
	}
#define USER(perm, id) \
	{ \
		ACL_USER, perm, id \
	}
#define GROUP_OBJ(perm) \
	{ \
		ACL_GROUP_OBJ, perm, NONE \
	}
#define GROUP(perm, id) \
	{ \
		ACL_GROUP, perm, id \
	}
#define MASK(perm) \
	{ \
		ACL_MASK, perm, NONE \
	}
#define OTHER(perm) \
	{ \
		ACL_OTHER, perm, NONE \
	}

static void same(const struct acl *x, const struct acl *y)
{
	ck_assert_uint_eq(x->n, y->n);
	ck_assert_mem_eq(x->raw, y->raw, x->n);
}

static int check(const struct acl *acl)
{
	return fc_acl_check(acl->raw, acl->n);
}

START_TEST(valid_lists)
{
	struct acl acl = make(OWNER(7), GROUP_OBJ(5), OTHER(0));

	ok(check(&acl));
	acl = make(OWNER(7), GROUP_OBJ(5), MASK(0), OTHER(0));
	ok(check(&acl));
	acl = make(OWNER(0), USER(7, 0), USER(1, 1000), GROUP_OBJ(0), GROUP(7, 0), GROUP(4, 4), MASK(7), OTHER(7));
	ok(check(&acl));
	acl.n = FC_ACL_HEADER; /* empty: none */
	ok(check(&acl));
	ck_assert(fc_acl_empty(acl.n));
}
END_TEST

START_TEST(invalid_lists)
{
	const struct acl bad[] = {
		make(OWNER(7)),
		make(OWNER(7), GROUP_OBJ(5)),
		make(GROUP_OBJ(5), OWNER(7), OTHER(0)),
		make(OWNER(7), GROUP_OBJ(5), OTHER(0), OTHER(0)),
		make(OWNER(7), OWNER(7), GROUP_OBJ(5), OTHER(0)),
		make(OWNER(7), USER(7, 5), GROUP_OBJ(5), OTHER(0)), /* no mask */
		make(OWNER(7), GROUP_OBJ(5), GROUP(5, 5), OTHER(0)),
		make(OWNER(7), GROUP_OBJ(5), MASK(5), MASK(5), OTHER(0)),
		make(OWNER(7), GROUP_OBJ(5), MASK(5)),
		make(OWNER(7), USER(7, NONE), GROUP_OBJ(5), MASK(7), OTHER(0)),
		make(OWNER(7), GROUP_OBJ(5), GROUP(7, NONE), MASK(7), OTHER(0)),
		make(OWNER(7), GROUP_OBJ(5), USER(7, 5), MASK(7), OTHER(0)),
		make(OWNER(7), GROUP(7, 5), GROUP_OBJ(5), MASK(7), OTHER(0)),
		make(OWNER(8), GROUP_OBJ(5), OTHER(0)),
		make(OWNER(7), GROUP_OBJ(5), OTHER(0xffff)),
		make(OWNER(7), GROUP_OBJ(5), { 0x40, 0, NONE }, OTHER(0)),
		make(OWNER(7), GROUP_OBJ(5), { 0, 0, NONE }, OTHER(0)),
	};
	struct acl acl;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(check(&bad[i]) == FC_EINVAL, "case %zu", i);
	acl = make(OWNER(7), GROUP_OBJ(5), OTHER(0));
	acl.n--;
	fails(FC_EINVAL, check(&acl));
	acl.n = 3;
	fails(FC_EINVAL, check(&acl));
	acl.n = 0;
	fails(FC_EINVAL, check(&acl));
	acl = make(OWNER(7), GROUP_OBJ(5), OTHER(0));
	fc_put_u32(acl.raw, 1);
	fails(FC_ENOTSUP, check(&acl));
}
END_TEST

START_TEST(long_lists_are_bounded)
{
	struct entry entries[256] = { OWNER(7) };
	struct acl acl;

	for (size_t i = 1; i < 256; i++)
		entries[i] = (struct entry)USER(5, (uint32_t)i);
	entries[252] = (struct entry)GROUP_OBJ(5);
	entries[253] = (struct entry)MASK(5);
	entries[254] = (struct entry)OTHER(5);
	acl = make_n(entries, 255);
	ck_assert_uint_le(acl.n, FC_ACL_MAX);
	ok(check(&acl));
	acl = make_n(entries, 256);
	fails(FC_ETOOBIG, check(&acl));
}
END_TEST

START_TEST(the_mode_shows_the_mask)
{
	struct acl acl = make(OWNER(7), GROUP_OBJ(5), OTHER(1));
	uint32_t mode = S_IFREG | 07000;

	ck_assert(!fc_acl_to_mode(acl.raw, acl.n, &mode));
	ck_assert_uint_eq(mode, S_IFREG | 07751);
	acl = make(OWNER(6), USER(7, 5), GROUP_OBJ(0), MASK(4), OTHER(0));
	ck_assert(fc_acl_to_mode(acl.raw, acl.n, &mode));
	ck_assert_uint_eq(mode, S_IFREG | 07640);
	acl = make(OWNER(6), GROUP_OBJ(7), MASK(4), OTHER(0));
	ck_assert(fc_acl_to_mode(acl.raw, acl.n, &mode));
	ck_assert_uint_eq(mode, S_IFREG | 07640);
}
END_TEST

START_TEST(chmod_changes_the_mask_or_the_group)
{
	struct acl acl = make(OWNER(7), USER(7, 5), GROUP_OBJ(6), MASK(7), OTHER(1));
	struct acl want = make(OWNER(4), USER(7, 5), GROUP_OBJ(6), MASK(2), OTHER(0));

	fc_acl_chmod(acl.raw, acl.n, S_IFREG | 04420);
	same(&acl, &want);
	acl = make(OWNER(7), GROUP_OBJ(6), OTHER(1));
	want = make(OWNER(4), GROUP_OBJ(2), OTHER(0));
	fc_acl_chmod(acl.raw, acl.n, S_IFREG | 0420);
	same(&acl, &want);
}
END_TEST

START_TEST(a_default_limits_what_is_made)
{
	struct acl acl = make(OWNER(7), USER(7, 5), GROUP_OBJ(7), MASK(7), OTHER(5));
	struct acl want = make(OWNER(6), USER(7, 5), GROUP_OBJ(7), MASK(4), OTHER(4));
	uint32_t mode = S_IFREG | 0644;

	ck_assert(fc_acl_inherit(acl.raw, acl.n, &mode));
	same(&acl, &want);
	ck_assert_uint_eq(mode, S_IFREG | 0644);
	acl = make(OWNER(5), GROUP_OBJ(1), OTHER(0));
	mode = S_IFREG | 04777;
	ck_assert(!fc_acl_inherit(acl.raw, acl.n, &mode));
	ck_assert_uint_eq(mode, S_IFREG | 04510);
}
END_TEST

/* ---- through a file system ------------------------------------------------- */

static int put(uint64_t ino, const char *name, const struct acl *acl)
{
	return fc_fs_setxattr(f.fs, ino, name, acl->raw, acl->n, 0, false);
}

static void has(uint64_t ino, const char *name, const struct acl *acl)
{
	struct acl got;
	ssize_t n = fc_fs_getxattr(f.fs, ino, name, got.raw, sizeof(got.raw));

	ck_assert_int_ge(n, 0);
	got.n = (size_t)n;
	same(&got, acl);
}

static void has_none(uint64_t ino, const char *name)
{
	ck_assert_int_eq(fc_fs_getxattr(f.fs, ino, name, NULL, 0), FC_ENODATA);
}

START_TEST(setting_an_acl_sets_the_mode)
{
	uint64_t ino = mkfile(1, "f");
	struct acl acl = make(OWNER(7), USER(6, 5), GROUP_OBJ(5), MASK(6), OTHER(1)),
		   small = make(OWNER(6), GROUP_OBJ(0), OTHER(4));

	at(2000);
	ok(put(ino, FC_XATTR_ACL_ACCESS, &acl));
	ck_assert_uint_eq(attr_of(ino).mode, S_IFREG | 0761);
	times_are(ino, 1000, 1000, 2000);
	has(ino, FC_XATTR_ACL_ACCESS, &acl);
	at(3000);
	ok(put(ino, FC_XATTR_ACL_ACCESS, &small)); /* the mode says it all */
	ck_assert_uint_eq(attr_of(ino).mode, S_IFREG | 0604);
	times_are(ino, 1000, 1000, 3000);
	has_none(ino, FC_XATTR_ACL_ACCESS);
	ok(put(ino, FC_XATTR_ACL_ACCESS, &acl));
	ok(fc_fs_removexattr(f.fs, ino, FC_XATTR_ACL_ACCESS));
	has_none(ino, FC_XATTR_ACL_ACCESS);
	ck_assert_uint_eq(attr_of(ino).mode, S_IFREG | 0761);  /* stays */
	ok(fc_fs_removexattr(f.fs, ino, FC_XATTR_ACL_ACCESS)); /* as ext4 */
	ok(put(ino, FC_XATTR_ACL_ACCESS, &acl));
	acl.n = FC_ACL_HEADER;
	ok(put(ino, FC_XATTR_ACL_ACCESS, &acl));
	has_none(ino, FC_XATTR_ACL_ACCESS);
	ck_assert_int_eq(fc_fs_listxattr(f.fs, ino, NULL, 0), 0);
}
END_TEST

START_TEST(who_is_not_in_the_group_loses_setgid)
{
	struct fc_setattr set = { .valid = FC_SET_MODE, .mode = 06755 };
	struct acl acl = make(OWNER(7), USER(6, 5), GROUP_OBJ(5), MASK(7), OTHER(1)),
		   small = make(OWNER(7), GROUP_OBJ(5), OTHER(5));
	uint64_t ino = mkfile(1, "f");

	ok(fc_fs_setattr(f.fs, ino, &set, &a));
	ok(put(ino, FC_XATTR_ACL_ACCESS, &acl));
	ck_assert_uint_eq(attr_of(ino).mode, S_IFREG | 06771);
	ok(fc_fs_setxattr(f.fs, ino, FC_XATTR_ACL_ACCESS, acl.raw, acl.n, 0, true));
	ck_assert_uint_eq(attr_of(ino).mode, S_IFREG | 04771);
	ok(fc_fs_setattr(f.fs, ino, &set, &a));
	ok(fc_fs_setxattr(f.fs, ino, FC_XATTR_ACL_ACCESS, small.raw, small.n, 0, true));
	ck_assert_uint_eq(attr_of(ino).mode, S_IFREG | 04755);
}
END_TEST

START_TEST(bad_acls_change_nothing)
{
	uint64_t ino = mkfile(1, "f"), dir = mkdir_(1, "d");
	struct acl acl = make(OWNER(7), USER(6, 5), GROUP_OBJ(5), OTHER(1)),
		   good = make(OWNER(7), GROUP_OBJ(5), OTHER(1));

	at(2000);
	fails(FC_EINVAL, put(ino, FC_XATTR_ACL_ACCESS, &acl));
	fails(FC_EINVAL, put(dir, FC_XATTR_ACL_DEFAULT, &acl));
	fails(FC_EACCESS, put(ino, FC_XATTR_ACL_DEFAULT, &good));
	fc_put_u32(acl.raw, 3);
	fails(FC_ENOTSUP, put(ino, FC_XATTR_ACL_ACCESS, &acl));
	times_are(ino, 1000, 1000, 1000);
	times_are(dir, 1000, 1000, 1000);
	ck_assert_uint_eq(attr_of(ino).mode, S_IFREG | 0644);
	ok(fc_fs_symlink(f.fs, 1, "l", &fixture_cred, "t", &a));
	fails(FC_ENOTSUP, put(a.ino, FC_XATTR_ACL_ACCESS, &good));
}
END_TEST

START_TEST(chmod_keeps_the_acl_in_step)
{
	struct acl acl = make(OWNER(7), USER(6, 5), GROUP_OBJ(5), MASK(7), OTHER(1));
	struct acl want = make(OWNER(6), USER(6, 5), GROUP_OBJ(5), MASK(4), OTHER(0));
	struct fc_setattr set = { .valid = FC_SET_MODE, .mode = 0640 };
	uint64_t ino = mkfile(1, "f"), dir = mkdir_(1, "d");

	ok(fc_fs_setxattr(f.fs, ino, "user.x", "x", 1, 0, false));
	ok(put(ino, FC_XATTR_ACL_ACCESS, &acl));
	ok(fc_fs_setattr(f.fs, ino, &set, &a));
	ck_assert_uint_eq(a.mode, S_IFREG | 0640);
	has(ino, FC_XATTR_ACL_ACCESS, &want);
	/* the default ACL does not follow */
	ok(put(dir, FC_XATTR_ACL_DEFAULT, &acl));
	ok(fc_fs_setattr(f.fs, dir, &set, &a));
	has(dir, FC_XATTR_ACL_DEFAULT, &acl);
	has_none(dir, FC_XATTR_ACL_ACCESS);
	fixture_replay(&f);
	has(ino, FC_XATTR_ACL_ACCESS, &want);
}
END_TEST

/* An item that holds the ACL, and then bytes that are none. */
static void spoil_acl(uint64_t ino)
{
	struct fc_bytes name = fc_xattr_name(FC_XATTR_ACL_ACCESS);
	struct fc_key key = fc_key(ino, FC_KEY_XATTR, fc_xattr_hash(f.fs, &name));
	struct fc_tree *tree = fc_fs_tree(f.fs);
	uint8_t raw[FC_ITEM_MAX];
	struct fc_item item;
	size_t n;

	ok(fc_fs_begin(f.fs, 8, false));
	ok(fc_tree_load(tree, key));
	ok(fc_tree_get(tree, key, &item));
	n = item.bytes;
	memcpy(raw, item.data, n);
	memset(raw + n, 0, 3);
	ok(fc_tree_put(tree, key, raw, n + 3));
	fc_fs_end(f.fs);
}

START_TEST(a_mode_that_cannot_be_set_cuts_nothing)
{
	struct acl acl = make(OWNER(6), USER(6, 5), GROUP_OBJ(4), MASK(6), OTHER(4));
	struct fc_setattr set = { .valid = FC_SET_MODE | FC_SET_SIZE, .mode = 0600, .size = 10 };
	uint64_t ino = mkfile(1, "f");
	char data[5000] = "the first bytes", got[sizeof(data)];
	size_t n;

	ok(fc_fs_write(f.fs, ino, 0, sizeof(data), data, 0));
	ok(put(ino, FC_XATTR_ACL_ACCESS, &acl));
	spoil_acl(ino);
	fails(FC_ECORRUPT, fc_fs_setattr(f.fs, ino, &set, &a));
	ck_assert_uint_eq(attr_of(ino).size, sizeof(data));
	ck_assert_uint_eq(attr_of(ino).mode, S_IFREG | 0664);
	ok(fc_fs_read(f.fs, ino, 0, sizeof(got), got, &n));
	ck_assert_uint_eq(n, sizeof(data));
	ck_assert_mem_eq(got, data, sizeof(data));
	set.valid = FC_SET_SIZE;
	ok(fc_fs_setattr(f.fs, ino, &set, &a));
	ck_assert_uint_eq(a.size, 10);
}
END_TEST

START_TEST(defaults_are_inherited)
{
	struct acl dflt = make(OWNER(7), USER(7, 1000), GROUP_OBJ(5), MASK(7), OTHER(1));
	struct acl of_file = make(OWNER(6), USER(7, 1000), GROUP_OBJ(5), MASK(6), OTHER(0));
	struct acl of_dir = make(OWNER(7), USER(7, 1000), GROUP_OBJ(5), MASK(7), OTHER(1));
	uint64_t dir = mkdir_(1, "d"), file, sub, fifo, tmp;

	ok(put(dir, FC_XATTR_ACL_DEFAULT, &dflt));
	ck_assert_uint_eq(attr_of(dir).mode, S_IFDIR | 0755); /* not its own */
	file = mkfile(dir, "f");                              /* 0666: the umask does not count */
	ck_assert_uint_eq(a.mode, S_IFREG | 0660);
	sub = mkdir_(dir, "s");
	ck_assert_uint_eq(a.mode, S_IFDIR | 0771);
	ok(fc_fs_mknod(f.fs, sub, "p", &fixture_cred, S_IFIFO | 0666, 0, &a));
	fifo = a.ino;
	ok(fc_fs_tmpfile(f.fs, dir, &fixture_cred, 0666, &a));
	tmp = a.ino;
	ck_assert_uint_eq(a.mode, S_IFREG | 0660);
	ok(fc_fs_link(f.fs, tmp, dir, "t", &a));
	for (int pass = 0; pass < 2; pass++) {
		has(file, FC_XATTR_ACL_ACCESS, &of_file);
		has_none(file, FC_XATTR_ACL_DEFAULT);
		has(sub, FC_XATTR_ACL_ACCESS, &of_dir);
		has(sub, FC_XATTR_ACL_DEFAULT, &dflt);
		has(fifo, FC_XATTR_ACL_ACCESS, &of_file);
		has(tmp, FC_XATTR_ACL_ACCESS, &of_file);
		ck_assert_uint_eq(attr_of(sub).mode, S_IFDIR | 0771);
		fixture_replay(&f);
	}
	ok(fc_fs_symlink(f.fs, dir, "l", &fixture_cred, "t", &a));
	ck_assert_uint_eq(a.mode, S_IFLNK | 0777);
	has_none(a.ino, FC_XATTR_ACL_ACCESS);
}
END_TEST

START_TEST(a_plain_default_gives_only_a_mode)
{
	struct acl dflt = make(OWNER(7), GROUP_OBJ(5), OTHER(5));
	uint64_t dir = mkdir_(1, "d");
	struct fc_cred cred = { .umask = 077 };

	ok(put(dir, FC_XATTR_ACL_DEFAULT, &dflt));
	ok(fc_fs_mknod(f.fs, dir, "f", &cred, S_IFREG | 0666, 0, &a));
	ck_assert_uint_eq(a.mode, S_IFREG | 0644);
	has_none(a.ino, FC_XATTR_ACL_ACCESS);
	ok(fc_fs_mkdir(f.fs, dir, "s", &cred, 0777, &a));
	ck_assert_uint_eq(a.mode, S_IFDIR | 0755);
	has(a.ino, FC_XATTR_ACL_DEFAULT, &dflt);
	ok(fc_fs_removexattr(f.fs, dir, FC_XATTR_ACL_DEFAULT));
	ok(fc_fs_mknod(f.fs, dir, "g", &cred, S_IFREG | 0666, 0, &a));
	ck_assert_uint_eq(a.mode, S_IFREG | 0600);
}
END_TEST

int main(void)
{
	TCase *tc = names_case("acl");

	tcase_add_test(tc, valid_lists);
	tcase_add_test(tc, invalid_lists);
	tcase_add_test(tc, long_lists_are_bounded);
	tcase_add_test(tc, the_mode_shows_the_mask);
	tcase_add_test(tc, chmod_changes_the_mask_or_the_group);
	tcase_add_test(tc, a_default_limits_what_is_made);
	tcase_add_test(tc, setting_an_acl_sets_the_mode);
	tcase_add_test(tc, who_is_not_in_the_group_loses_setgid);
	tcase_add_test(tc, bad_acls_change_nothing);
	tcase_add_test(tc, chmod_keeps_the_acl_in_step);
	tcase_add_test(tc, a_mode_that_cannot_be_set_cuts_nothing);
	tcase_add_test(tc, defaults_are_inherited);
	tcase_add_test(tc, a_plain_default_gives_only_a_mode);
	return run_case(tc);
}
