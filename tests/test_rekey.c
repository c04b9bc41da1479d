/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another master key for a container in use: what is left of the old one, and what each state opens. */
#include <check.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cipher/root.h"
#include "model/disk.h"

#define FILES 40u
#define BYTES (300u << 10)

static struct fc_disk disk;
static struct fc_fs *fs;
static const struct fc_cred cred = { .uid = 0, .gid = 0, .umask = 022 };
static uint8_t expected[BYTES], got_bytes[BYTES];

static struct fc_time clock_now(void *arg)
{
	(void)arg;
	return (struct fc_time){ .sec = 1700000000 };
}

static void ok(int rc)
{
	ck_assert_msg(rc == 0, "%s", fc_error_text(rc));
}

static int open_with(const uint8_t master[FC_KEY_BYTES], bool read_only)
{
	const struct fc_fs_options options = { .read_only = read_only, .no_threads = true, .now = clock_now };

	return fc_fs_open(fc_disk_io(&disk, read_only), master, &options, &fs);
}

static void mount(void)
{
	uint8_t master[FC_KEY_BYTES];

	ok(fc_disk_unlock(&disk, false, master));
	ok(open_with(master, false));
}

static void fill(uint8_t *buf, size_t n, unsigned file)
{
	for (size_t i = 0; i < n; i++)
		buf[i] = (uint8_t)(i * 7 + file * 13 + i / 4096);
}

/* From files that lie in the tree to those of several extents. */
static size_t size_of(unsigned file)
{
	return file % 4 == 0 ? 100 + file : file % 4 == 1 ? 5000 * (file + 1) : BYTES - file;
}

static uint64_t make(const char *name)
{
	struct fc_attr attr;

	ok(fc_fs_mknod(fs, FC_INO_ROOT, name, &cred, S_IFREG | 0644, 0, &attr));
	return attr.ino;
}

static uint64_t find(const char *name)
{
	struct fc_attr attr;

	ok(fc_fs_lookup(fs, FC_INO_ROOT, name, &attr));
	return attr.ino;
}

static const char *name_of(unsigned file)
{
	static char name[16];

	snprintf(name, sizeof(name), "file %u", file);
	return name;
}

static void write_file(unsigned file)
{
	uint64_t ino = make(name_of(file));

	fill(expected, size_of(file), file);
	ok(fc_fs_write(fs, ino, 0, size_of(file), expected, 0));
}

static void check_file(unsigned file)
{
	size_t n;

	fill(expected, size_of(file), file);
	ok(fc_fs_read(fs, find(name_of(file)), 0, BYTES, got_bytes, &n));
	ck_assert_uint_eq(n, size_of(file));
	ck_assert(!memcmp(got_bytes, expected, n));
}

static void check_files(unsigned from)
{
	for (unsigned i = from; i < FILES; i++)
		check_file(i);
}

static void check_disk(void)
{
	char text[400];

	ck_assert_msg(fc_disk_check(&disk, 0, NULL, text, sizeof(text)) == 0, "%s", text);
}

static void setup(void)
{
	fc_disk_format(&disk, FC_CIPHER_XCHACHA20POLY1305, clock_now(NULL));
	mount();
	for (unsigned i = 0; i < FILES; i++)
		write_file(i);
	ok(fc_fs_commit(fs));
}

static void teardown(void)
{
	fc_fs_abandon(fs);
	fc_disk_free(&disk);
}

static void begin(uint8_t master[FC_KEY_BYTES])
{
	ok(fc_disk_rekey(&disk, 1, master));
	ok(fc_fs_rekey(fs, master));
}

/* Steps to the end: how many. */
static unsigned finish(void)
{
	unsigned n = 0;
	int r;

	while ((r = fc_fs_rekey_step(fs)) > 0)
		n++;
	ck_assert_msg(!r, "%s", fc_error_text(r));
	return n;
}

static bool rekeying(void)
{
	struct fc_fs_stat st;

	ok(fc_fs_statfs(fs, &st));
	return st.rekeying;
}

static void remount(void)
{
	ok(fc_fs_close(fs));
	mount();
}

/* ---- the whole of it --------------------------------------------------------------- */

static bool holds(uint64_t from, uint64_t n, const void *what, size_t bytes)
{
	uint8_t *buf = malloc(n);
	bool found;

	ck_assert_ptr_nonnull(buf);
	ok(fc_io_read(disk.sim, buf, n, from));
	found = memmem(buf, n, what, bytes) != NULL;
	free(buf);
	return found;
}

START_TEST(everything_is_sealed_anew)
{
	uint8_t master[FC_KEY_BYTES], again[FC_KEY_BYTES], before[2][FC_BLOCK];
	struct fc_headers *h = malloc(sizeof(*h));
	struct fc_keys *keys;
	struct fc_roots roots;

	ck_assert_ptr_nonnull(h);
	ok(fc_io_read(disk.sim, before[0], FC_BLOCK, FC_SALTS_A));
	ok(fc_io_read(disk.sim, before[1], FC_BLOCK, FC_SALTS_B));
	begin(master);
	ck_assert(rekeying());
	check_files(0);
	finish();
	ck_assert(!rekeying());
	check_files(0);
	remount();
	check_files(0);
	/* the header: one slot, its own key, nothing of the old one */
	ok(fc_headers_load(disk.sim, h));
	keys = fc_keys_new(master);
	for (int c = 0; c < 2; c++) {
		ok(h->status[c]);
		ok(fc_header_verify(h->raw[c], keys->header));
		ck_assert(!h->copy[c].rekeying && sodium_is_zero(h->raw[c] + FC_H_OLD_NONCE, 72));
		ck_assert_uint_eq(h->copy[c].key_epoch, 2);
		ck_assert(h->copy[c].slots[0].used && !h->copy[c].slots[1].used);
		ck_assert_uint_eq(h->copy[c].slots[0].epoch, 2);
	}
	/* both roots open under the new key alone and know no old session */
	ok(fc_roots_load(disk.sim, keys, h->copy[0].uuid, &roots));
	ck_assert(!roots.doubtful);
	for (int s = 0; s < 2; s++) {
		ck_assert(!roots.status[s][0] && !roots.old_key[s]);
		ck_assert_uint_eq(roots.root[s].old_last, 0);
		ck_assert_uint_eq(roots.root[s].first, roots.root[s].own);
		ck_assert_uint_gt(roots.root[s].own, 1);
	}
	/* the old salts are gone */
	ck_assert(!holds(FC_SALTS_A, 1u << 20, before[0] + 100, 64));
	ck_assert(!holds(FC_SALTS_B, 1u << 20, before[1] + 100, 64));
	ok(fc_disk_unlock(&disk, false, again));
	ck_assert_mem_eq(again, master, sizeof(master));
	ck_assert_int_eq(fc_disk_unlock(&disk, true, again), FC_EBADKEY);
	fc_fs_abandon(fs);
	/* and so is what the old key opened */
	ck_assert_int_eq(open_with(fc_disk_master, true), FC_EFORGED);
	mount();
	check_disk();
	fc_keys_free(keys);
	free(h);
}
END_TEST

/* An old header copy and all that it opens: nothing, once both roots are of the new key. */
START_TEST(an_old_header_put_back)
{
	uint8_t header[2][FC_HEADER_BYTES], master[FC_KEY_BYTES];

	ok(fc_io_read(disk.sim, header[0], FC_HEADER_BYTES, FC_HEADER_A));
	ok(fc_io_read(disk.sim, header[1], FC_HEADER_BYTES, FC_HEADER_B));
	begin(master);
	if (_i)
		finish();
	ok(fc_fs_close(fs));
	ok(fc_io_write(disk.sim, header[0], FC_HEADER_BYTES, FC_HEADER_A));
	ok(fc_io_write(disk.sim, header[1], FC_HEADER_BYTES, FC_HEADER_B));
	ok(fc_disk_unlock(&disk, true, master));
	ck_assert_mem_eq(master, fc_disk_master, FC_KEY_BYTES);
	ck_assert_int_eq(open_with(master, true), FC_EFORGED);
	ck_assert_int_eq(open_with(master, false), FC_EFORGED);
	fs = NULL;
	ck_assert_int_eq(fc_disk_unlock(&disk, false, master), 0);
	ck_assert_int_eq(open_with(master, true), FC_EFORGED);
	fc_disk_free(&disk);
	setup();
}
END_TEST

/* Stopped after each number of steps: by a power cut, or in order. */
START_TEST(resumed)
{
	uint8_t master[FC_KEY_BYTES];
	unsigned all, k;

	begin(master);
	all = finish();
	ck_assert_uint_gt(all, 6);
	for (k = 0; k <= all; k++) {
		teardown();
		setup();
		begin(master);
		for (unsigned i = 0; i < k; i++)
			ck_assert_int_ge(fc_fs_rekey_step(fs), 0);
		if (k % 2) {
			ok(fc_fs_close(fs));
		} else {
			ok(fc_fs_sync(fs));
			fc_fs_abandon(fs);
		}
		check_disk();
		ok(fc_disk_unlock(&disk, false, master));
		ok(open_with(master, true));
		check_files(0);
		ok(fc_fs_close(fs));
		mount();
		check_files(0);
		finish();
		ck_assert(!rekeying());
		check_files(0);
		remount();
		check_disk();
		ck_assert(!rekeying());
		check_files(0);
	}
}
END_TEST

/* The header is written, and whoever had it open never heard of it. */
START_TEST(only_the_header_was_written)
{
	uint8_t master[FC_KEY_BYTES];

	ok(fc_disk_rekey(&disk, 1, master));
	write_file(FILES);
	ok(fc_fs_close(fs));
	check_disk();
	mount();
	ck_assert(rekeying());
	check_files(0);
	check_file(FILES);
	finish();
	remount();
	check_disk();
	check_files(0);
	check_file(FILES);
}
END_TEST

/* One copy of it alone: both secrets open what there was, and the kept one goes on. */
START_TEST(one_copy_of_the_header_was_written)
{
	uint8_t master[FC_KEY_BYTES], old[FC_HEADER_BYTES];
	const uint64_t at = _i ? FC_HEADER_B : FC_HEADER_A;

	ok(fc_io_read(disk.sim, old, sizeof(old), at));
	ok(fc_disk_rekey(&disk, 1, master));
	ok(fc_fs_close(fs));
	ok(fc_io_write(disk.sim, old, sizeof(old), at));
	ok(fc_disk_unlock(&disk, true, master));
	ck_assert_mem_eq(master, fc_disk_master, FC_KEY_BYTES);
	ok(open_with(master, true));
	check_files(0);
	ok(fc_fs_close(fs));
	mount();
	ck_assert(rekeying());
	finish();
	remount();
	check_files(0);
	check_disk();
	ck_assert_int_eq(fc_disk_unlock(&disk, true, master), FC_EBADKEY);
}
END_TEST

/* Work goes on between the steps: new files, changed ones, copies from ahead to behind. */
START_TEST(while_it_is_used)
{
	uint8_t master[FC_KEY_BYTES], block[FC_BLOCK];
	uint64_t done, to = make("copy");
	unsigned i;
	size_t n;

	begin(master);
	for (i = 0; fc_fs_rekey_step(fs) > 0; i++) {
		if (i < 20) {
			write_file(FILES + i);
			ok(fc_fs_copy(fs, find(name_of(FILES - 1 - i)), 0, to, 0, 1u << 20, &done));
			ok(fc_fs_unlink(fs, FC_INO_ROOT, name_of(i)));
		}
		if (i % 3 == 0)
			ok(fc_fs_sync(fs));
	}
	ck_assert(!rekeying());
	ok(fc_fs_sync(fs));
	fc_fs_abandon(fs);
	mount();
	i = i < 20 ? i : 20;
	ck_assert_uint_gt(i, 8);
	check_files(i);
	for (unsigned k = 0; k < i; k++)
		check_file(FILES + k);
	fill(expected, FC_BLOCK, FILES - i);
	ok(fc_fs_read(fs, find("copy"), 0, FC_BLOCK, block, &n));
	ck_assert_mem_eq(block, expected, n < 100 ? n : 100);
	remount();
	check_disk();
}
END_TEST

START_TEST(copies_go_on_sharing)
{
	uint8_t master[FC_KEY_BYTES];
	struct fc_fs_stat before, after;
	uint64_t done, to;

	for (unsigned i = 0; i < 10; i++) {
		char name[16];

		snprintf(name, sizeof(name), "copy %u", i);
		to = make(name);
		ok(fc_fs_copy(fs, find(name_of(3)), 0, to, i % 2 ? 0 : FC_BLOCK, BYTES, &done));
	}
	ok(fc_fs_commit(fs));
	ok(fc_fs_statfs(fs, &before));
	begin(master);
	finish();
	ok(fc_fs_statfs(fs, &after));
	/* nodes apart */
	ck_assert_uint_le(after.bytes_used, before.bytes_used + 20 * FC_NODE_BYTES);
	remount();
	check_disk();
	check_files(0);
}
END_TEST

START_TEST(twice_and_wrongly)
{
	uint8_t master[FC_KEY_BYTES], wrong[FC_KEY_BYTES] = { 9 };

	ck_assert_int_eq(fc_fs_rekey_step(fs), 0);
	ck_assert_int_eq(fc_fs_rekey(fs, wrong), FC_EFORGED);
	begin(master);
	ok(fc_fs_rekey(fs, master));
	ck_assert_int_eq(fc_fs_rekey(fs, wrong), FC_EFORGED);
	finish();
	for (unsigned i = 0; i < 3; i++) {
		ok(fc_disk_rekey(&disk, 2 + i, master));
		ok(fc_fs_rekey(fs, master));
		finish();
		if (i)
			remount();
		check_files(0);
	}
	remount();
	check_disk();
	check_files(0);
}
END_TEST

/* What cannot be opened under the old key keeps that, and nothing else is lost. */
START_TEST(damage_stops_the_end)
{
	uint8_t master[FC_KEY_BYTES], b;
	uint64_t bytes, at;
	int r;

	ok(fc_fs_close(fs));
	mount();
	ok(fc_io_size(disk.sim, &bytes));
	/* somewhere in the content of a large file */
	for (at = FC_LOG_OFFSET + FC_LOG_MIN; at < bytes; at += FC_BLOCK) {
		size_t n;

		ok(fc_io_read(disk.sim, &b, 1, at));
		b ^= 1;
		ok(fc_io_write(disk.sim, &b, 1, at));
		r = fc_fs_read(fs, find(name_of(2)), 0, BYTES, got_bytes, &n);
		if (r)
			break;
		b ^= 1;
		ok(fc_io_write(disk.sim, &b, 1, at));
	}
	ck_assert_int_eq(r, FC_EFORGED);
	begin(master);
	while ((r = fc_fs_rekey_step(fs)) > 0)
		;
	ck_assert_int_eq(r, FC_EFORGED);
	ck_assert(rekeying());
	for (unsigned i = 3; i < FILES; i++)
		check_file(i);
	ok(fc_fs_unlink(fs, FC_INO_ROOT, name_of(2)));
	fc_fs_forget(fs, find(name_of(3)), 0);
	remount();
	finish();
	ck_assert(!rekeying());
	check_files(3);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("rekey");
	TCase *tc = tcase_create("rekey");

	tcase_set_timeout(tc, 200);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, everything_is_sealed_anew);
	tcase_add_loop_test(tc, an_old_header_put_back, 0, 2);
	tcase_add_test(tc, resumed);
	tcase_add_test(tc, only_the_header_was_written);
	tcase_add_loop_test(tc, one_copy_of_the_header_was_written, 0, 2);
	tcase_add_test(tc, while_it_is_used);
	tcase_add_test(tc, copies_go_on_sharing);
	tcase_add_test(tc, twice_and_wrongly);
	tcase_add_test(tc, damage_stops_the_end);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	SRunner *runner = srunner_create(suite());
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
