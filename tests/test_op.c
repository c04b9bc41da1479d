/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations as the log holds them: one encoding each, any other bytes refused. */
#include <check.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/op.h"
#include "util/le.h"

#define MAX_OP 70000u
#define ROUNDS 4000

static uint8_t pool[FC_XATTR_VALUE_MAX]; /* what strings are cut from */
static uint8_t raw[MAX_OP], again[MAX_OP];
static uint64_t seed;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Numbers of all lengths, small ones too. */
static uint64_t rnd_num(uint64_t max)
{
	uint64_t v = rnd() >> rnd() % 64;

	return max == UINT64_MAX ? v : v % (max + 1);
}

static struct fc_time rnd_time(void)
{
	return (struct fc_time){ .sec = (int64_t)(rnd() & 1 ? rnd_num(UINT64_MAX) : -rnd_num(UINT64_MAX)),
				 .nsec = (uint32_t)rnd_num(999999999) };
}

static struct fc_bytes rnd_bytes(size_t min, size_t max)
{
	size_t n = min + rnd_num(max - min);

	return (struct fc_bytes){ .p = n ? pool + rnd() % (sizeof(pool) - n + 1) : NULL, .n = n };
}

static struct fc_bytes rnd_name(void)
{
	return rnd_bytes(1, FC_NAME_MAX);
}

static void rnd_create(struct fc_op *op)
{
	static const uint32_t types[] = { S_IFREG, S_IFDIR, S_IFLNK, S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK };

	op->ino = FC_INO_FIRST + rnd_num(UINT32_MAX);
	op->mode = types[rnd() % 7] | (uint32_t)(rnd() & 07777);
	op->uid = (uint32_t)rnd();
	op->gid = (uint32_t)rnd();
	op->time = rnd_time();
	if (!S_ISREG(op->mode) || rnd() & 1) {
		op->parent = 1 + rnd_num(UINT32_MAX);
		op->name = rnd_name();
	}
	if (S_ISCHR(op->mode) || S_ISBLK(op->mode))
		op->rdev = rnd();
	if (S_ISLNK(op->mode)) {
		op->data = rnd_bytes(1, FC_SYMLINK_MAX);
		return;
	}
	op->acl_access = rnd_bytes(0, FC_XATTR_INLINE_MAX);
	if (S_ISDIR(op->mode))
		op->acl_default = rnd_bytes(0, FC_XATTR_INLINE_MAX);
}

static void rnd_rename(struct fc_op *op)
{
	static const uint32_t flags[] = { 0, RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT,
					  RENAME_WHITEOUT | RENAME_NOREPLACE };

	op->parent = rnd();
	op->parent2 = rnd();
	op->name = rnd_name();
	op->name2 = rnd_name();
	op->flags = flags[rnd() % 5];
	op->time = rnd_time();
	if (op->flags & RENAME_WHITEOUT) {
		op->ino = FC_INO_FIRST + rnd_num(1000);
		op->mode = rnd() & 07777;
		op->uid = (uint32_t)rnd();
		op->gid = (uint32_t)rnd();
	}
}

static void rnd_setattr(struct fc_op *op)
{
	struct fc_setattr *set = &op->set;

	op->ino = rnd();
	op->time = rnd_time();
	set->valid = rnd() & (0x7f | FC_SET_KILLPRIV);
	if (set->valid & FC_SET_MODE)
		set->mode = rnd() & 07777;
	if (set->valid & FC_SET_UID)
		set->uid = (uint32_t)rnd();
	if (set->valid & FC_SET_GID)
		set->gid = (uint32_t)rnd();
	if (set->valid & FC_SET_SIZE)
		set->size = rnd_num(FC_FILE_MAX);
	if (set->valid & FC_SET_ATIME)
		set->atime = rnd_time();
	if (set->valid & FC_SET_MTIME)
		set->mtime = rnd_time();
	if (set->valid & FC_SET_CTIME)
		set->ctime = rnd_time();
}

static void rnd_data(struct fc_op *op)
{
	static uint8_t extent[FC_E_TAGS + FC_EXTENT_UNITS * FC_TAG_BYTES];
	uint32_t units = 1 + (uint32_t)(rnd() % FC_EXTENT_UNITS);

	op->ino = rnd();
	if (op->kind == FC_OP_MAP) {
		op->off = rnd_num(FC_FILE_MAX >> FC_BLOCK_SHIFT);
		memcpy(extent, pool, sizeof(extent));
		fc_put_u32(extent + FC_E_UNITS, units);
		op->data = (struct fc_bytes){ .p = extent, .n = FC_E_TAGS + units * FC_TAG_BYTES };
		return;
	}
	op->off = rnd_num(FC_FILE_MAX / 2);
	op->bytes = 1 + rnd_num(60000);
	op->time = rnd_time();
	if (op->kind == FC_OP_WRITE) {
		op->flags = (uint32_t)rnd_num(3);
		if (rnd() & 1)
			op->data = rnd_bytes(op->bytes, op->bytes);
	} else if (op->kind == FC_OP_FALLOCATE) {
		op->mode = (uint32_t)rnd_num(0x7f);
	} else {
		op->parent2 = rnd();
		op->off2 = rnd_num(FC_FILE_MAX / 2);
	}
}

static void rnd_op(struct fc_op *op)
{
	memset(op, 0, sizeof(*op));
	op->kind = (enum fc_op_kind)(1 + rnd() % (FC_OP_KINDS - 1));
	switch (op->kind) {
	case FC_OP_CREATE:
		rnd_create(op);
		break;
	case FC_OP_LINK:
	case FC_OP_UNLINK:
	case FC_OP_RMDIR:
		op->ino = op->kind == FC_OP_LINK ? rnd() : 0;
		op->parent = rnd();
		op->name = rnd_name();
		op->time = rnd_time();
		break;
	case FC_OP_RENAME:
		rnd_rename(op);
		break;
	case FC_OP_SETATTR:
		rnd_setattr(op);
		break;
	case FC_OP_SETXATTR:
		op->flags = rnd() & FC_OP_XATTR_FLAGS;
		op->data = rnd_bytes(0, FC_XATTR_VALUE_MAX);
		/* fall through */
	case FC_OP_REMOVEXATTR:
		op->ino = rnd();
		op->name = rnd_name();
		op->time = rnd_time();
		break;
	default:
		rnd_data(op);
		break;
	}
}

static void same_bytes(const struct fc_bytes *a, const struct fc_bytes *b)
{
	ck_assert_uint_eq(a->n, b->n);
	if (a->n)
		ck_assert_mem_eq(a->p, b->p, a->n);
}

static void same_time(struct fc_time a, struct fc_time b)
{
	ck_assert_int_eq(a.sec, b.sec);
	ck_assert_uint_eq(a.nsec, b.nsec);
}

static void same_op(const struct fc_op *a, const struct fc_op *b)
{
	ck_assert_int_eq(a->kind, b->kind);
	ck_assert_uint_eq(a->ino, b->ino);
	ck_assert_uint_eq(a->parent, b->parent);
	ck_assert_uint_eq(a->parent2, b->parent2);
	ck_assert_uint_eq(a->off, b->off);
	ck_assert_uint_eq(a->off2, b->off2);
	ck_assert_uint_eq(a->bytes, b->bytes);
	ck_assert_uint_eq(a->rdev, b->rdev);
	ck_assert_uint_eq(a->mode, b->mode);
	ck_assert_uint_eq(a->uid, b->uid);
	ck_assert_uint_eq(a->gid, b->gid);
	ck_assert_uint_eq(a->flags, b->flags);
	same_time(a->time, b->time);
	ck_assert_uint_eq(a->set.valid, b->set.valid);
	ck_assert_uint_eq(a->set.mode, b->set.mode);
	ck_assert_uint_eq(a->set.uid, b->set.uid);
	ck_assert_uint_eq(a->set.gid, b->set.gid);
	ck_assert_uint_eq(a->set.size, b->set.size);
	same_time(a->set.atime, b->set.atime);
	same_time(a->set.mtime, b->set.mtime);
	same_time(a->set.ctime, b->set.ctime);
	same_bytes(&a->name, &b->name);
	same_bytes(&a->name2, &b->name2);
	same_bytes(&a->data, &b->data);
	same_bytes(&a->acl_access, &b->acl_access);
	same_bytes(&a->acl_default, &b->acl_default);
}

static void setup(void)
{
	seed = 88172645463325252u;
	for (size_t i = 0; i < sizeof(pool); i++)
		pool[i] = (uint8_t)('0' + rnd() % 64 + (rnd() % 64 << 1 & 0x40)); /* no NUL, '.', '/' */
}

START_TEST(random_operations_come_back)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct fc_op op, back;
		size_t n, used;

		rnd_op(&op);
		n = fc_op_size(&op);
		ck_assert_uint_le(n + 3, sizeof(raw));
		ck_assert_uint_eq(fc_op_encode(&op, raw), n);
		/* what follows does not matter */
		memset(raw + n, 0xff, 3);
		ck_assert_int_eq(fc_op_decode(&back, raw, n + 3, &used), 0);
		ck_assert_uint_eq(used, n);
		same_op(&op, &back);
	}
}
END_TEST

START_TEST(truncations_are_refused)
{
	for (int i = 0; i < ROUNDS / 4; i++) {
		struct fc_op op, back;
		size_t n, used, step;

		rnd_op(&op);
		n = fc_op_encode(&op, raw);
		step = n > 400 ? n / 200 : 1;
		for (size_t cut = 0; cut < n; cut += step) {
			uint8_t *exact = malloc(cut ? cut : 1); /* so that a read beyond is seen */

			memcpy(exact, raw, cut);
			ck_assert_int_eq(fc_op_decode(&back, exact, cut, &used), FC_ECORRUPT);
			free(exact);
		}
	}
}
END_TEST

/* Whatever decodes must be the one encoding of what it decodes to. */
static void decode_any(const uint8_t *in, size_t n)
{
	struct fc_op op;
	size_t used;
	int err = fc_op_decode(&op, in, n, &used);

	if (err) {
		ck_assert_int_eq(err, FC_ECORRUPT);
		return;
	}
	ck_assert_uint_le(used, n);
	ck_assert_uint_eq(fc_op_size(&op), used);
	ck_assert_uint_eq(fc_op_encode(&op, again), used);
	ck_assert_mem_eq(again, in, used);
}

START_TEST(flipped_bits_are_safe)
{
	for (int i = 0; i < ROUNDS / 8; i++) {
		struct fc_op op;
		size_t n;

		rnd_op(&op);
		n = fc_op_encode(&op, raw);
		for (size_t bit = 0; bit<n * 8; bit += n> 200 ? 1 + rnd() % (n / 20) : 1) {
			raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
			decode_any(raw, n);
			raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}
END_TEST

START_TEST(random_bytes_are_safe)
{
	for (int i = 0; i < 200000; i++) {
		size_t n = rnd() % 80;

		for (size_t j = 0; j < n; j++)
			raw[j] = (uint8_t)(rnd() & 1 ? rnd() % 16 : rnd());
		if (n > 1 && rnd() & 1)
			raw[1] = (uint8_t)(n - 2);
		decode_any(raw, n);
	}
}
END_TEST

START_TEST(the_encoding_stays)
{
	static const uint8_t unlink[] = { 3, 9, 0x81, 0x01, 2, 'a', 'b', 3, 0x80, 0x94, 0xeb, 0x00 };
	static const uint8_t good[] = { 3, 9, 0x81, 0x01, 2, 'a', 'b', 3, 0x80, 0x94, 0x6b };
	struct fc_op op = { .kind = FC_OP_UNLINK,
			    .parent = 129,
			    .name = { (const uint8_t *)"ab", 2 },
			    .time = { .sec = -2, .nsec = 1755648 } };
	struct fc_op back;
	size_t used;

	ck_assert_uint_eq(fc_op_size(&op), sizeof(good));
	fc_op_encode(&op, raw);
	ck_assert_mem_eq(raw, good, sizeof(good));
	/* the same number, longer */
	ck_assert_int_eq(fc_op_decode(&back, unlink, sizeof(unlink), &used), FC_ECORRUPT);
}
END_TEST

static int decodes(const struct fc_op *op)
{
	struct fc_op back;
	size_t used, n = fc_op_encode(op, raw);

	return fc_op_decode(&back, raw, n, &used);
}

START_TEST(names_are_checked)
{
	static const struct {
		const char *name;
		size_t n;
		int file, xattr;
	} cases[] = {
		{ "a", 1, 0, 0 },
		{ "...", 3, 0, 0 },
		{ ".a", 2, 0, 0 },
		{ "\xff\n", 2, 0, 0 },
		{ "", 0, FC_ECORRUPT, FC_ECORRUPT },
		{ ".", 1, FC_ECORRUPT, 0 },
		{ "..", 2, FC_ECORRUPT, 0 },
		{ "a/b", 3, FC_ECORRUPT, 0 },
		{ "a\0b", 3, FC_ECORRUPT, FC_ECORRUPT },
	};
	struct fc_op op = { .parent = 1, .ino = 20, .parent2 = 1 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		op.name = (struct fc_bytes){ (const uint8_t *)cases[i].name, cases[i].n };
		op.name2 = (struct fc_bytes){ (const uint8_t *)"x", 1 };
		op.mode = 0;
		for (op.kind = FC_OP_LINK; op.kind <= FC_OP_RENAME; op.kind++)
			ck_assert_int_eq(decodes(&op), cases[i].file);
		op.kind = FC_OP_SETXATTR;
		ck_assert_int_eq(decodes(&op), cases[i].xattr);
		op.kind = FC_OP_REMOVEXATTR;
		ck_assert_int_eq(decodes(&op), cases[i].xattr);
		op.kind = FC_OP_CREATE;
		op.mode = S_IFREG;
		ck_assert_int_eq(decodes(&op), cases[i].file);
		op.mode = 0;
		op.kind = FC_OP_RENAME;
		op.name2 = op.name;
		op.name = (struct fc_bytes){ (const uint8_t *)"x", 1 };
		ck_assert_int_eq(decodes(&op), cases[i].file);
	}
	op.kind = FC_OP_UNLINK;
	op.name = (struct fc_bytes){ pool, FC_NAME_MAX };
	ck_assert_int_eq(decodes(&op), 0);
	op.name.n++;
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
}
END_TEST

START_TEST(create_is_checked)
{
	struct fc_op good = { .kind = FC_OP_CREATE, .ino = FC_INO_FIRST, .parent = 1, .mode = S_IFREG | 0644 };
	struct fc_op op;

	good.name = (struct fc_bytes){ pool, 3 };
	ck_assert_int_eq(decodes(&good), 0);
	op = good;
	op.ino = FC_INO_FIRST - 1;
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
	op = good;
	op.mode = 0644;
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
	op = good;
	op.mode |= 1u << 16;
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
	op = good;
	op.parent = 0; /* a tmpfile has no name */
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
	op.name.n = 0;
	ck_assert_int_eq(decodes(&op), 0);
	op.mode = S_IFDIR | 0755;
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
	op = good;
	op.mode = S_IFLNK | 0777; /* no target */
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
	op.data = (struct fc_bytes){ pool, FC_SYMLINK_MAX };
	ck_assert_int_eq(decodes(&op), 0);
	op.data.n++;
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
	op = good;
	op.acl_access = (struct fc_bytes){ pool, FC_XATTR_INLINE_MAX };
	ck_assert_int_eq(decodes(&op), 0);
	op.acl_access.n++;
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
}
END_TEST

START_TEST(values_are_checked)
{
	uint8_t extent[FC_E_TAGS + 2 * FC_TAG_BYTES] = { 0 };
	struct fc_op op = { .kind = FC_OP_SETATTR, .ino = 20, .set = { .valid = FC_SET_ATIME_NOW } };

	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
	op.set = (struct fc_setattr){ .valid = FC_SET_MODE, .mode = 010000 };
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
	op.set = (struct fc_setattr){ .valid = FC_SET_SIZE, .size = FC_FILE_MAX };
	ck_assert_int_eq(decodes(&op), 0);
	op.set.size++;
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
	op.set = (struct fc_setattr){ .valid = FC_SET_MTIME, .mtime = { .sec = INT64_MIN, .nsec = 999999999 } };
	ck_assert_int_eq(decodes(&op), 0);
	op.set.mtime.nsec++;
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);

	op = (struct fc_op){ .kind = FC_OP_WRITE, .ino = 20, .off = FC_FILE_MAX - 4, .bytes = 4 };
	ck_assert_int_eq(decodes(&op), 0);
	op.data = (struct fc_bytes){ pool, 4 };
	ck_assert_int_eq(decodes(&op), 0);
	op.data.n = 3;
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
	op.data.n = 0;
	op.bytes = 5;
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);

	op = (struct fc_op){ .kind = FC_OP_MAP, .ino = 20, .data = { extent, sizeof(extent) } };
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT); /* no units */
	fc_put_u32(extent + FC_E_UNITS, 2);
	ck_assert_int_eq(decodes(&op), 0);
	op.data.n -= FC_TAG_BYTES;
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);

	op = (struct fc_op){
		.kind = FC_OP_RENAME, .parent = 1, .parent2 = 1, .name = { pool, 1 }, .name2 = { pool, 2 }
	};
	op.flags = RENAME_EXCHANGE | RENAME_NOREPLACE;
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
	op.flags = RENAME_WHITEOUT; /* needs an inode */
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
	op.ino = 99;
	ck_assert_int_eq(decodes(&op), 0);
	op.flags = 8;
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);

	op = (struct fc_op){ .kind = FC_OP_SETXATTR, .ino = 20, .name = { pool, 1 }, .flags = 4 };
	ck_assert_int_eq(decodes(&op), FC_ECORRUPT);
	raw[0] = FC_OP_KINDS;
	raw[1] = 0;
	ck_assert_int_eq(fc_op_decode(&op, raw, 2, &(size_t){ 0 }), FC_ECORRUPT);
	raw[0] = 0;
	ck_assert_int_eq(fc_op_decode(&op, raw, 2, &(size_t){ 0 }), FC_ECORRUPT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("op");
	TCase *tc = tcase_create("op");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, random_operations_come_back);
	tcase_add_test(tc, truncations_are_refused);
	tcase_add_test(tc, flipped_bits_are_safe);
	tcase_add_test(tc, random_bytes_are_safe);
	tcase_add_test(tc, the_encoding_stays);
	tcase_add_test(tc, names_are_checked);
	tcase_add_test(tc, create_is_checked);
	tcase_add_test(tc, values_are_checked);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
