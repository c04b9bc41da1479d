/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "store/io.h"

#define BULK (320u << 10)

/* What goes past the cache and what goes through it see each other, aligned or not. */
static void check_bulk(struct fc_io *io)
{
	uint8_t *a = aligned_alloc(FC_IO_ALIGN, BULK), *b = aligned_alloc(FC_IO_ALIGN, BULK);
	size_t i;

	ck_assert(a && b);
	for (i = 0; i < BULK; i++)
		a[i] = (uint8_t)(i * 7 + i / 4096);
	ck_assert_int_eq(fc_io_write_bulk(io, a, BULK, 1 << 20), 0);
	ck_assert_int_eq(fc_io_read(io, b, BULK, 1 << 20), 0);
	ck_assert_mem_eq(a, b, BULK);
	ck_assert_int_eq(fc_io_write_bulk(io, a + 1, 5000, (1 << 20) + 3), 0);
	ck_assert_int_eq(fc_io_write(io, a + 2, 4096, (1 << 20) + 8192), 0);
	memset(b, 0, BULK);
	ck_assert_int_eq(fc_io_read_bulk(io, b, BULK, 1 << 20), 0);
	ck_assert_mem_eq(b, a, 3);
	ck_assert_mem_eq(b + 3, a + 1, 5000);
	ck_assert_mem_eq(b + 8192, a + 2, 4096);
	ck_assert_mem_eq(b + 12288, a + 12288, BULK - 12288);
	memset(b, 1, BULK);
	ck_assert_int_eq(fc_io_read_bulk(io, b + 1, 4096, (1 << 20) + 12288), 0);
	ck_assert_mem_eq(b + 1, a + 12288, 4096);
	/* across the end */
	ck_assert_int_eq(fc_io_truncate(io, (1 << 20) + BULK - 100), 0);
	memset(b, 1, BULK);
	ck_assert_int_eq(fc_io_read_bulk(io, b, 8192, (1 << 20) + BULK - 4096), 0);
	ck_assert_mem_eq(b, a + BULK - 4096, 3996);
	for (i = 3996; i < 8192; i++)
		ck_assert_uint_eq(b[i], 0);
	ck_assert_int_eq(fc_io_write_bulk(io, a, 4096, UINT64_MAX - 4095), FC_EFBIG);
	free(a);
	free(b);
}

struct seen {
	const uint8_t *buf, *want;
	size_t next, stop; /* stop: where to fail */
};

static int there(void *arg, size_t at, size_t n)
{
	struct seen *seen = arg;

	ck_assert_uint_eq(at, seen->next);
	ck_assert_mem_eq(seen->buf + at, seen->want + at, n);
	seen->next += n;
	return seen->next > seen->stop ? FC_EFORGED : 0;
}

/* In order, each once, the whole range; also past the end of the file, and unaligned. */
static void check_pieces(struct fc_io *io)
{
	uint8_t *a = aligned_alloc(FC_IO_ALIGN, BULK), *b = aligned_alloc(FC_IO_ALIGN, BULK);
	struct seen seen = { b, a, 0, SIZE_MAX };
	size_t i;

	ck_assert(a && b);
	for (i = 0; i < BULK; i++)
		a[i] = i < BULK - 9000 ? (uint8_t)(i * 13 + i / 4096) : 0;
	ck_assert_int_eq(fc_io_truncate(io, 0), 0);
	ck_assert_int_eq(fc_io_write_bulk(io, a, BULK, 1 << 20), 0);
	ck_assert_int_eq(fc_io_truncate(io, (1 << 20) + BULK - 9000), 0);
	ck_assert_int_eq(fc_io_read_pieces(io, b, BULK, 1 << 20, 16384, there, &seen), 0);
	ck_assert_uint_eq(seen.next, BULK);
	memset(b, 1, BULK);
	seen = (struct seen){ b + 100, a + 3, 0, SIZE_MAX };
	ck_assert_int_eq(fc_io_read_pieces(io, b + 100, 50001, (1 << 20) + 3, 4096, there, &seen), 0);
	ck_assert_uint_eq(seen.next, 50001);
	memset(b, 1, BULK);
	seen = (struct seen){ b, a, 0, 20000 };
	ck_assert_int_eq(fc_io_read_pieces(io, b, BULK, 1 << 20, 4096, there, &seen), FC_EFORGED);
	/* more pieces than are under way at once, and a last one that is shorter */
	seen = (struct seen){ b, a, 0, SIZE_MAX };
	ck_assert_int_eq(fc_io_read_pieces(io, b, BULK - 4096, 1 << 20, 8192, there, &seen), 0);
	ck_assert_uint_eq(seen.next, BULK - 4096);
	seen.next = 0;
	ck_assert_int_eq(fc_io_read_pieces(io, b, BULK, 1 << 20, 4096, there, &seen), 0);
	ck_assert_uint_eq(seen.next, BULK);
	free(a);
	free(b);
}

#define PARTS 300u /* more than are under way at once */

/* Blocks in the reverse order, two of them side by side, one without an alignment. */
static void check_parts(struct fc_io *io)
{
	struct fc_io_part part[PARTS];
	uint8_t *a = aligned_alloc(FC_IO_ALIGN, (PARTS + 1) * 4096), back[4096];
	size_t i;

	ck_assert_ptr_nonnull(a);
	for (i = 0; i < (PARTS + 1) * 4096; i++)
		a[i] = (uint8_t)(i * 11 + i / 4096);
	for (i = 0; i < PARTS; i++)
		part[i] = (struct fc_io_part){ a + i * 4096, 4096, (uint64_t)(PARTS - i) * 12288 };
	part[7].n = 8192;
	part[9].buf = a + 9 * 4096 + 5;
	part[9].n = 1000;
	ck_assert_int_eq(fc_io_write_parts(io, part, PARTS), 0);
	for (i = 0; i < PARTS; i++) {
		ck_assert_int_eq(fc_io_read(io, back, part[i].n < 4096 ? part[i].n : 4096, part[i].off), 0);
		ck_assert_mem_eq(back, part[i].buf, part[i].n < 4096 ? part[i].n : 4096);
	}
	ck_assert_int_eq(fc_io_read(io, back, 4096, part[7].off + 4096), 0);
	ck_assert_mem_eq(back, a + 8 * 4096, 4096);
	/* one that cannot be written fails the whole */
	part[PARTS / 2].off = UINT64_MAX - 4095;
	ck_assert_int_eq(fc_io_write_parts(io, part, PARTS), FC_EFBIG);
	ck_assert_int_eq(fc_io_write_parts(io, part, 0), 0);
	free(a);
}

/* A file that may not grow any more is full, in one part as in many. */
START_TEST(parts_beyond_a_limit)
{
	char name[] = "/var/tmp/fusecrypt-test-io-XXXXXX";
	struct rlimit limit = { 1 << 20, 1 << 20 };
	uint8_t *a = aligned_alloc(FC_IO_ALIGN, 4096);
	struct fc_io_part part[3];
	struct fc_io *io;
	int fd = mkstemp(name);

	ck_assert(fd >= 0 && a);
	unlink(name);
	memset(a, 1, 4096);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(fc_io_file(fd, false, &io), 0);
	part[0] = (struct fc_io_part){ a, 4096, 0 };
	part[1] = (struct fc_io_part){ a, 4096, 2 << 20 };
	part[2] = (struct fc_io_part){ a, 4096, 8192 };
	ck_assert_int_eq(fc_io_write_parts(io, part, 3), FC_ENOSPC);
	io->read_only = true;
	ck_assert_int_eq(fc_io_write_parts(io, part, 1), FC_EROFS);
	fc_io_close(io);
	free(a);
}
END_TEST

START_TEST(of_a_file)
{
	char name[] = "/var/tmp/fusecrypt-test-io-XXXXXX";
	int fd = mkstemp(name);
	struct fc_io *io;

	ck_assert_int_ge(fd, 0);
	unlink(name);
	ck_assert_int_eq(fc_io_file(fd, false, &io), 0);
	check_bulk(io);
	check_parts(io);
	check_pieces(io);
	fc_io_close(io);
}
END_TEST

START_TEST(of_the_simulated_disk)
{
	struct fc_io *io = fc_io_sim();

	ck_assert_ptr_nonnull(io);
	check_bulk(io);
	check_parts(io);
	check_pieces(io);
	fc_io_close(io);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("io_bulk");
	TCase *bulk = tcase_create("bulk");
	SRunner *runner;
	int failed;

	tcase_add_test(bulk, of_a_file);
	tcase_add_test(bulk, of_the_simulated_disk);
	tcase_add_test(bulk, parts_beyond_a_limit);
	suite_add_tcase(suite, bulk);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
