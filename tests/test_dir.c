/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listing directories: order, offsets that stay, references. */
#include <dirent.h>
#include <linux/fs.h>
#include <stdio.h>

#include "fs/dir.h"
#include "names_fixture.h"

struct seen {
	char name[FC_NAME_MAX + 1];
	uint64_t ino, next_off;
	uint32_t type;
	bool attr;
	struct fc_attr a;
};

struct list {
	struct seen entry[300];
	size_t n, max; /* max: the next one is not taken */
};

static int take(void *arg, const char *name, uint64_t ino, uint32_t type, uint64_t next_off, const struct fc_attr *attr)
{
	struct list *l = arg;
	struct seen *s = &l->entry[l->n];

	if (l->n == l->max)
		return 1;
	strcpy(s->name, name);
	s->ino = ino;
	s->type = type;
	s->next_off = next_off;
	s->attr = attr;
	if (attr)
		s->a = *attr;
	l->n++;
	return 0;
}

static struct list l;

static size_t list(uint64_t dir, uint64_t offset, size_t max, bool want_attr)
{
	l.n = 0;
	l.max = max;
	ok(fc_fs_readdir(f.fs, dir, offset, want_attr, take, &l));
	return l.n;
}

START_TEST(dots_come_first)
{
	uint64_t dir = mkdir_(1, "d"), sub = mkdir_(dir, "s");

	ck_assert_uint_eq(list(dir, 0, 300, false), 3);
	ck_assert_str_eq(l.entry[0].name, ".");
	ck_assert_uint_eq(l.entry[0].ino, dir);
	ck_assert_uint_eq(l.entry[0].next_off, 1);
	ck_assert_uint_eq(l.entry[0].type, DT_DIR);
	ck_assert_str_eq(l.entry[1].name, "..");
	ck_assert_uint_eq(l.entry[1].ino, 1);
	ck_assert_uint_eq(l.entry[1].next_off, 2);
	ck_assert_str_eq(l.entry[2].name, "s");
	ck_assert_uint_eq(l.entry[2].ino, sub);
	ck_assert_uint_eq(l.entry[2].type, DT_DIR);
	ck_assert_uint_eq(list(dir, 1, 300, false), 2);
	ck_assert_str_eq(l.entry[0].name, "..");
	ck_assert_uint_eq(list(dir, 2, 300, false), 1);
	ck_assert_uint_eq(list(dir, l.entry[0].next_off, 300, false), 0);
	ck_assert_uint_eq(list(dir, UINT64_MAX, 300, false), 0);
	ck_assert_uint_eq(list(1, 0, 300, false), 3);
	ck_assert_uint_eq(l.entry[1].ino, 1); /* the root's parent is itself */
	ok(rename_(dir, "s", 1, "s", 0));
	list(sub, 0, 300, false);
	ck_assert_uint_eq(l.entry[1].ino, 1);
	fails(FC_ENOTDIR, fc_fs_readdir(f.fs, mkfile(1, "f"), 0, false, take, &l));
	fails(FC_ESTALE, fc_fs_readdir(f.fs, 4444, 0, false, take, &l));
}
END_TEST

START_TEST(types_are_told)
{
	static const struct {
		uint32_t mode, type;
	} kinds[] = { { S_IFREG, DT_REG },
		      { S_IFCHR, DT_CHR },
		      { S_IFBLK, DT_BLK },
		      { S_IFIFO, DT_FIFO },
		      { S_IFSOCK, DT_SOCK } };
	char name[2] = "0";

	for (size_t i = 0; i < 5; i++, name[0]++)
		ok(fc_fs_mknod(f.fs, 1, name, &fixture_cred, kinds[i].mode, 0, &a));
	ok(fc_fs_symlink(f.fs, 1, "l", &fixture_cred, "t", &a));
	ck_assert_uint_eq(list(1, 2, 300, false), 6);
	for (size_t i = 0; i < 5; i++)
		ck_assert_uint_eq(l.entry[i].type, kinds[i].type);
	ck_assert_uint_eq(l.entry[5].type, DT_LNK);
	/* an exchange takes the types along */
	ok(rename_(1, "0", 1, "l", RENAME_EXCHANGE));
	list(1, 2, 300, false);
	ck_assert_uint_eq(l.entry[0].type, DT_LNK);
	ck_assert_uint_eq(l.entry[5].type, DT_REG);
}
END_TEST

START_TEST(order_is_that_of_creation_in_any_steps)
{
	char name[16];
	uint64_t offset = 0;

	for (int i = 0; i < 250; i++) {
		snprintf(name, sizeof(name), "f%d", i * 7919 % 250);
		mkfile(1, name);
	}
	ck_assert_uint_eq(list(1, 2, 300, false), 250);
	for (int i = 0; i < 250; i++) {
		snprintf(name, sizeof(name), "f%d", i * 7919 % 250);
		ck_assert_str_eq(l.entry[i].name, name);
	}
	for (size_t step = 1, seen = 0; list(1, offset, step, false); step = step % 7 + 1) {
		for (size_t i = 0; i < l.n; i++, seen++) {
			snprintf(name, sizeof(name), "f%zu", (seen - 2) * 7919 % 250);
			ck_assert_str_eq(l.entry[i].name, seen == 0 ? "." : seen == 1 ? ".." : name);
		}
		ck_assert_uint_gt(l.entry[l.n - 1].next_off, offset);
		offset = l.entry[l.n - 1].next_off;
		if (seen == 252)
			ck_assert_uint_eq(list(1, offset, 1, false), 0);
	}
	ck_assert_uint_eq(list(1, offset, 1, false), 0);
}
END_TEST

START_TEST(offsets_stay_while_entries_come_and_go)
{
	uint64_t after_b;

	mkfile(1, "a");
	mkfile(1, "b");
	mkfile(1, "c");
	mkfile(1, "d");
	list(1, 2, 2, false);
	ck_assert_str_eq(l.entry[1].name, "b");
	after_b = l.entry[1].next_off;
	ok(fc_fs_unlink(f.fs, 1, "a"));
	ok(fc_fs_unlink(f.fs, 1, "b")); /* the very entry */
	ok(fc_fs_unlink(f.fs, 1, "c"));
	mkfile(1, "e");
	ck_assert_uint_eq(list(1, after_b, 300, false), 2);
	ck_assert_str_eq(l.entry[0].name, "d");
	ck_assert_str_eq(l.entry[1].name, "e");
	ok(rename_(1, "e", 1, "d", 0)); /* what is replaced keeps its place */
	ck_assert_uint_eq(list(1, after_b, 300, false), 1);
	ck_assert_str_eq(l.entry[0].name, "d");
	fixture_reopen(&f);
	mkfile(1, "new"); /* places are not used again */
	ck_assert_uint_eq(list(1, 2, 300, false), 2);
	ck_assert_uint_gt(l.entry[1].next_off, after_b + 3);
}
END_TEST

START_TEST(attributes_count_references_of_what_is_taken)
{
	uint64_t first = mkfile(1, "a"), second = mkfile(1, "b");

	fc_fs_forget(f.fs, first, 1);
	fc_fs_forget(f.fs, second, 1);
	ck_assert_uint_eq(list(1, 0, 3, true), 3);
	ck_assert(!l.entry[0].attr && !l.entry[1].attr);
	ck_assert(l.entry[2].attr);
	ck_assert_uint_eq(l.entry[2].a.ino, first);
	ck_assert_uint_eq(l.entry[2].a.mode, S_IFREG | 0644);
	ok(fc_fs_unlink(f.fs, 1, "a"));
	ok(fc_fs_unlink(f.fs, 1, "b"));
	ck_assert_uint_eq(nlink_of(first), 0); /* held by the listing */
	fails(FC_ESTALE, fc_fs_getattr(f.fs, second, &a));
	fc_fs_forget(f.fs, first, 1);
	fails(FC_ESTALE, fc_fs_getattr(f.fs, first, &a));
	ck_assert_uint_eq(inodes(), 1);
}
END_TEST

START_TEST(sizes_follow_the_entries)
{
	uint64_t empty = attr_of(1).size;

	ck_assert_uint_gt(empty, 0);
	mkfile(1, "a");
	mkfile(1, "b");
	ck_assert_uint_eq(attr_of(1).size, empty + 2 * FC_DIR_ENTRY_SIZE);
	ok(rename_(1, "a", 1, "b", 0));
	ok(fc_fs_unlink(f.fs, 1, "b"));
	ck_assert_uint_eq(attr_of(1).size, empty);
	ck_assert_uint_eq(attr_of(1).blocks, 1);
}
END_TEST

START_TEST(an_inode_that_is_damaged_hides_no_name)
{
	uint64_t file = mkfile(1, "a");
	struct fc_key key = fc_key(file, FC_KEY_INODE, 0);

	mkfile(1, "b");
	ok(fc_fs_begin(f.fs, 10, false));
	ok(fc_tree_load(fc_fs_tree(f.fs), key));
	ok(fc_tree_del(fc_fs_tree(f.fs), key));
	fc_fs_end(f.fs);
	ck_assert_uint_eq(list(1, 2, 300, true), 2);
	ck_assert_str_eq(l.entry[0].name, "a");
	ck_assert(!l.entry[0].attr);
	ck_assert(l.entry[1].attr);
	fails(FC_ECORRUPT, fc_fs_lookup(f.fs, 1, "a", &a)); /* not: no such entry */
	fails(FC_ECORRUPT, fc_fs_unlink(f.fs, 1, "a"));
	fails(FC_ECORRUPT, rename_(1, "a", 1, "c", 0));
	fails(FC_ECORRUPT, rename_(1, "b", 1, "a", 0));
	ck_assert_uint_ne(ino_of(1, "b"), 0);
}
END_TEST

int main(void)
{
	TCase *tc = names_case("dir");

	tcase_add_test(tc, dots_come_first);
	tcase_add_test(tc, types_are_told);
	tcase_add_test(tc, order_is_that_of_creation_in_any_steps);
	tcase_add_test(tc, offsets_stay_while_entries_come_and_go);
	tcase_add_test(tc, attributes_count_references_of_what_is_taken);
	tcase_add_test(tc, sizes_follow_the_entries);
	tcase_add_test(tc, an_inode_that_is_damaged_hides_no_name);
	return run_case(tc);
}
