/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inode items and setattr. */
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "fs/fs_internal.h"
#include "names_fixture.h"
#include "util/le.h"

static const struct fc_inode dir = { .ino = 77,
				     .mode = S_IFDIR | 02775,
				     .nlink = 4,
				     .uid = 1000,
				     .gid = UINT32_MAX - 1,
				     .atime = { -5, 999999999 },
				     .mtime = { INT64_MIN, 0 },
				     .ctime = { INT64_MAX, 1 },
				     .btime = { 1, 2 },
				     .next_seq = 12,
				     .parent = 1,
				     .entries = 9,
				     .xattrs = 3 };
static const struct fc_inode file = {
	.ino = 78, .mode = S_IFREG | 0644, .nlink = 1, .size = FC_FILE_MAX, .blocks = FC_FILE_MAX >> FC_BLOCK_SHIFT
};

static int decode(const uint8_t *raw, struct fc_inode *out)
{
	return fc_inode_decode(out, 77, raw, FC_INODE_BYTES);
}

static void same(const struct fc_inode *x, const struct fc_inode *y)
{
	const struct fc_time *t = &x->atime, *u = &y->atime;

	ck_assert_uint_eq(x->ino, y->ino);
	ck_assert_uint_eq(x->mode, y->mode);
	ck_assert_uint_eq(x->nlink, y->nlink);
	ck_assert_uint_eq(x->uid, y->uid);
	ck_assert_uint_eq(x->gid, y->gid);
	ck_assert_uint_eq(x->rdev, y->rdev);
	ck_assert_uint_eq(x->size, y->size);
	ck_assert_uint_eq(x->blocks, y->blocks);
	ck_assert_uint_eq(x->flags, y->flags);
	for (int i = 0; i < 4; i++) { /* atime, mtime, ctime, btime */
		ck_assert_int_eq(t[i].sec, u[i].sec);
		ck_assert_uint_eq(t[i].nsec, u[i].nsec);
	}
	ck_assert_uint_eq(x->next_seq, y->next_seq);
	ck_assert_uint_eq(x->parent, y->parent);
	ck_assert_uint_eq(x->entries, y->entries);
	ck_assert_uint_eq(x->xattrs, y->xattrs);
}

START_TEST(inodes_come_back)
{
	static const uint32_t others[] = { S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK };
	struct fc_inode in = dir, out;
	uint8_t raw[FC_INODE_BYTES];

	fc_inode_encode(&in, raw);
	ok(decode(raw, &out));
	same(&out, &in);
	ck_assert_uint_eq(fc_get_u32(raw + FC_I_MODE), in.mode);
	ck_assert_uint_eq(fc_get_u64(raw + FC_I_PARENT), 1);
	in = file;
	fc_inode_encode(&in, raw);
	ok(fc_inode_decode(&out, 78, raw, sizeof(raw)));
	same(&out, &in);
	in.flags = FC_INODE_INLINE;
	in.mode = S_IFLNK | 0777;
	in.size = FC_SYMLINK_MAX;
	in.blocks = 0;
	fc_inode_encode(&in, raw);
	ok(decode(raw, &out));
	for (size_t i = 0; i < 4; i++) {
		in = (struct fc_inode){ .ino = 77, .mode = others[i] | 07777, .rdev = 3ull << 32 | 4 };
		fc_inode_encode(&in, raw);
		ok(decode(raw, &out));
		same(&out, &in);
	}
}
END_TEST

START_TEST(bad_inodes_are_refused)
{
	static const struct {
		size_t at, bytes;
		uint64_t value;
		bool of_file;
	} cases[] = {
		{ FC_I_MODE, 4, 0755, false },
		{ FC_I_MODE, 4, 0xf000, false },
		{ FC_I_MODE, 4, S_IFDIR | 1u << 16, false },
		{ FC_I_FLAGS, 8, 2, true },
		{ FC_I_FLAGS, 8, FC_INODE_INLINE, false },
		{ FC_I_SIZE, 8, 1ull << 63, true },
		{ FC_I_BLOCKS, 8, 1ull << 51, true },
		{ FC_I_ATIME_NS, 4, 1000000000, false },
		{ FC_I_MTIME_NS, 4, 1000000000, false },
		{ FC_I_CTIME_NS, 4, 1000000000, false },
		{ FC_I_BTIME_NS, 4, UINT32_MAX, true },
		{ FC_I_NEXT_SEQ, 8, 2, false },
		{ FC_I_NEXT_SEQ, 8, 1ull << 63, false },
		{ FC_I_PARENT, 8, 0, false },
		{ FC_I_ENTRIES, 8, 10, false },
		{ FC_I_MODE, 4, S_IFLNK | 0777, true }, /* not inline */
		{ FC_I_MODE, 4, S_IFIFO, true },        /* with a size */
	};
	uint8_t raw[FC_INODE_BYTES + 1];
	struct fc_inode out;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fc_inode_encode(cases[i].of_file ? &file : &dir, raw);
		ok(decode(raw, &out));
		if (cases[i].bytes == 4)
			fc_put_u32(raw + cases[i].at, (uint32_t)cases[i].value);
		else
			fc_put_u64(raw + cases[i].at, cases[i].value);
		ck_assert_msg(decode(raw, &out) == FC_ECORRUPT, "case %zu", i);
	}
	fc_inode_encode(&dir, raw);
	fails(FC_ECORRUPT, fc_inode_decode(&out, 77, raw, FC_INODE_BYTES - 1));
	fails(FC_ECORRUPT, fc_inode_decode(&out, 77, raw, FC_INODE_BYTES + 1));
}
END_TEST

START_TEST(attributes_are_those_of_stat)
{
	struct fc_inode in = { .ino = 90, .mode = S_IFCHR, .rdev = 259ull << 32 | 70000 };
	struct fc_attr attr;

	fc_inode_attr(f.fs, &in, &attr);
	ck_assert_uint_eq(attr.rdev, makedev(259, 70000));
	in = (struct fc_inode){ .ino = 90, .mode = S_IFREG, .flags = FC_INODE_INLINE, .size = 513 };
	fc_inode_attr(f.fs, &in, &attr);
	ck_assert_uint_eq(attr.blocks, 2);
	in = (struct fc_inode){ .ino = 90, .mode = S_IFREG, .size = 1, .blocks = 3 };
	fc_inode_attr(f.fs, &in, &attr);
	ck_assert_uint_eq(attr.blocks, 24);
	ck_assert_uint_eq(attr.size, 1);
}
END_TEST

/* ---- setattr ---------------------------------------------------------------- */

static int set(uint64_t ino, struct fc_setattr s)
{
	return fc_fs_setattr(f.fs, ino, &s, &a);
}

START_TEST(times_are_set_and_kept)
{
	uint64_t ino = mkfile(1, "f");
	struct fc_time far = { INT64_MAX / 2, 999999999 }, past = { -1000000000000, 1 };

	at(2000);
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_ATIME | FC_SET_MTIME, .atime = far, .mtime = past }));
	ck_assert_int_eq(a.atime.sec, far.sec);
	ck_assert_uint_eq(a.atime.nsec, 999999999);
	ck_assert_int_eq(a.mtime.sec, past.sec);
	ck_assert_uint_eq(a.mtime.nsec, 1);
	times_are(ino, far.sec, past.sec, 2000);
	at(3000);
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_CTIME, .ctime = { 5, 6 } }));
	times_are(ino, far.sec, past.sec, 5);
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_ATIME_NOW }));
	times_are(ino, 3000, past.sec, 3000);
	at(4000);
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_MTIME_NOW | FC_SET_ATIME, .atime = { 9, 9 } }));
	times_are(ino, 9, 4000, 4000);
	ck_assert_int_eq(a.btime.sec, 1000);
	at(5000);
	ok(set(ino, (struct fc_setattr){ .valid = 0 })); /* nothing to do */
	times_are(ino, 9, 4000, 4000);
	fails(FC_EINVAL, set(ino, (struct fc_setattr){ .valid = FC_SET_MTIME, .mtime = { 1, 1000000000 } }));
	fails(FC_EINVAL, set(ino, (struct fc_setattr){ .valid = FC_SET_ATIME, .atime = { 1, UINT32_MAX } }));
	fails(FC_EINVAL, set(ino, (struct fc_setattr){ .valid = FC_SET_CTIME, .ctime = { 1, 1000000000 } }));
	fails(FC_EINVAL, set(ino, (struct fc_setattr){ .valid = 0x400 }));
	fails(FC_ESTALE, set(9999, (struct fc_setattr){ .valid = FC_SET_UID }));
	times_are(ino, 9, 4000, 4000);
}
END_TEST

START_TEST(a_replay_sets_the_same_times)
{
	uint64_t ino = mkfile(1, "f");

	at(2000);
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_ATIME_NOW | FC_SET_MTIME, .mtime = { -7, 8 } }));
	at(9000);
	fixture_replay(&f);
	times_are(ino, 2000, -7, 2000);
	ck_assert_uint_eq(attr_of(ino).mtime.nsec, 8);
}
END_TEST

START_TEST(modes_and_owners)
{
	uint64_t ino = mkfile(1, "f"), sub = mkdir_(1, "d");

	at(2000);
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_MODE, .mode = S_IFDIR | 06750 }));
	ck_assert_uint_eq(a.mode, S_IFREG | 06750);
	times_are(ino, 1000, 1000, 2000);
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_UID, .uid = 7, .gid = 8 }));
	ck_assert_uint_eq(a.uid, 7);
	ck_assert_uint_eq(a.gid, 100);
	ck_assert_uint_eq(a.mode, S_IFREG | 06750); /* only when asked */
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_GID | FC_SET_KILLPRIV, .gid = 8 }));
	ck_assert_uint_eq(a.gid, 8);
	ck_assert_uint_eq(a.mode, S_IFREG | 0750);
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_MODE, .mode = 06640 }));
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_UID | FC_SET_KILLPRIV, .uid = 9 }));
	ck_assert_uint_eq(a.mode, S_IFREG | 02640); /* no group execution: not a privilege */
	ok(set(sub, (struct fc_setattr){ .valid = FC_SET_MODE, .mode = 02775 }));
	ok(set(sub, (struct fc_setattr){ .valid = FC_SET_GID | FC_SET_KILLPRIV, .gid = 3 }));
	ck_assert_uint_eq(a.mode, S_IFDIR | 02775);
}
END_TEST

START_TEST(killing_privileges_takes_the_capability_too)
{
	uint64_t ino = mkfile(1, "f");

	ok(fc_fs_setxattr(f.fs, ino, "security.capability", "cap", 3, 0, false));
	ok(fc_fs_setxattr(f.fs, ino, "user.stays", "x", 1, 0, false));
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_UID, .uid = 9 }));
	ck_assert_int_eq(fc_fs_getxattr(f.fs, ino, "security.capability", NULL, 0), 3);
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_SIZE | FC_SET_KILLPRIV }));
	ck_assert_int_eq(fc_fs_getxattr(f.fs, ino, "security.capability", NULL, 0), FC_ENODATA);
	ck_assert_int_eq(fc_fs_getxattr(f.fs, ino, "user.stays", NULL, 0), 1);
}
END_TEST

START_TEST(sizes_are_set_on_regular_files_only)
{
	uint64_t ino = mkfile(1, "f"), link;

	at(2000);
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_SIZE, .size = 5000 }));
	ck_assert_uint_eq(a.size, 5000);
	ck_assert_uint_eq(attr_of(ino).size, 5000);
	times_are(ino, 1000, 2000, 2000);
	at(3000);
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_SIZE | FC_SET_MTIME, .size = 0, .mtime = { 4, 4 } }));
	ck_assert_uint_eq(a.size, 0);
	times_are(ino, 1000, 4, 3000);
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_SIZE, .size = FC_FILE_MAX }));
	ck_assert_uint_eq(a.size, FC_FILE_MAX);
	fails(FC_EFBIG, set(ino, (struct fc_setattr){ .valid = FC_SET_SIZE, .size = (uint64_t)FC_FILE_MAX + 1 }));
	fails(FC_EISDIR, set(1, (struct fc_setattr){ .valid = FC_SET_SIZE }));
	ok(fc_fs_symlink(f.fs, 1, "l", &fixture_cred, "t", &a));
	link = a.ino;
	fails(FC_EINVAL, set(link, (struct fc_setattr){ .valid = FC_SET_SIZE }));
	ok(set(link, (struct fc_setattr){ .valid = FC_SET_UID | FC_SET_MTIME, .uid = 5, .mtime = { 1, 1 } }));
	ck_assert_uint_eq(a.uid, 5);
	ck_assert_uint_eq(a.size, 1);
}
END_TEST

/* What fallocate kept beyond the end goes with a truncation, also to the same size. */
START_TEST(the_same_size_gives_back_what_lies_beyond)
{
	uint64_t ino = mkfile(1, "f");
	uint8_t data[5000];

	memset(data, 'd', sizeof(data));
	ok(fc_fs_write(f.fs, ino, 0, sizeof(data), data, 0));
	ok(fc_fs_fallocate(f.fs, ino, FALLOC_FL_KEEP_SIZE, 0, 40 * FC_BLOCK, 0));
	ck_assert_uint_eq(attr_of(ino).blocks, 40 * 8);
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_SIZE, .size = 6000 })); /* growing keeps it */
	ck_assert_uint_eq(a.blocks, 40 * 8);
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_SIZE, .size = 6000 }));
	ck_assert_uint_eq(a.size, 6000);
	ck_assert_uint_eq(a.blocks, 2 * 8);
	fixture_replay(&f);
	ck_assert_uint_eq(attr_of(ino).blocks, 2 * 8);
	ino = mkfile(1, "empty");
	ok(fc_fs_fallocate(f.fs, ino, FALLOC_FL_KEEP_SIZE, 0, 40 * FC_BLOCK, 0));
	ok(set(ino, (struct fc_setattr){ .valid = FC_SET_SIZE, .size = 0 }));
	ck_assert_uint_eq(a.blocks, 0);
}
END_TEST

START_TEST(a_copy_onto_itself_is_refused)
{
	uint64_t ino = mkfile(1, "f"), done;
	uint8_t data[4 * FC_BLOCK], got[4 * FC_BLOCK];
	size_t n;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i / 100);
	ok(fc_fs_write(f.fs, ino, 0, sizeof(data), data, 0));
	fails(FC_EINVAL, fc_fs_copy(f.fs, ino, 0, ino, FC_BLOCK, 2 * FC_BLOCK, &done));
	fails(FC_EINVAL, fc_fs_copy(f.fs, ino, FC_BLOCK, ino, 0, 2 * FC_BLOCK, &done));
	fails(FC_EINVAL, fc_fs_copy(f.fs, ino, 0, ino, 0, 1, &done));
	fails(FC_EINVAL, fc_fs_copy(f.fs, ino, 5, ino, 104, 100, &done));
	/* as long as the file is counts, not what was asked for */
	ok(fc_fs_copy(f.fs, ino, 3 * FC_BLOCK, ino, 4 * FC_BLOCK, 1 << 20, &done));
	ck_assert_uint_eq(done, FC_BLOCK);
	ok(fc_fs_copy(f.fs, ino, 5, ino, 105, 100, &done));
	ck_assert_uint_eq(done, 100);
	memcpy(data + 105, data + 5, 100);
	ok(fc_fs_read(f.fs, ino, 0, sizeof(got), got, &n));
	ck_assert_uint_eq(n, sizeof(got));
	ck_assert_mem_eq(got, data, sizeof(got));
}
END_TEST

int main(void)
{
	TCase *tc = names_case("inode");

	tcase_add_test(tc, inodes_come_back);
	tcase_add_test(tc, bad_inodes_are_refused);
	tcase_add_test(tc, attributes_are_those_of_stat);
	tcase_add_test(tc, times_are_set_and_kept);
	tcase_add_test(tc, a_replay_sets_the_same_times);
	tcase_add_test(tc, modes_and_owners);
	tcase_add_test(tc, killing_privileges_takes_the_capability_too);
	tcase_add_test(tc, sizes_are_set_on_regular_files_only);
	tcase_add_test(tc, the_same_size_gives_back_what_lies_beyond);
	tcase_add_test(tc, a_copy_onto_itself_is_refused);
	return run_case(tc);
}
