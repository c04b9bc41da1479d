/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/io.h"

/* ---- a file of the host -------------------------------------------------- */

static int temporary(void)
{
	char name[] = "/tmp/fusecrypt-test-io-XXXXXX";
	int fd = mkstemp(name);

	ck_assert_int_ge(fd, 0);
	unlink(name);
	return fd;
}

static struct fc_io *file_of(int fd, bool read_only)
{
	struct fc_io *io;

	ck_assert_int_eq(fc_io_file(fd, read_only, &io), 0);
	return io;
}

static void fill(uint8_t *p, size_t n, uint64_t seed)
{
	size_t i;

	for (i = 0; i < n; i++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		p[i] = (uint8_t)(seed >> 56);
	}
}

/* What every io does, whatever lies below. */
static void check_contract(struct fc_io *io)
{
	static uint8_t a[100000], b[100000];
	static const uint8_t zeros[100000];
	uint64_t n;

	fill(a, sizeof(a), 1);
	ck_assert_int_eq(fc_io_size(io, &n), 0);
	ck_assert_uint_eq(n, 0);
	memset(b, 1, sizeof(b));
	ck_assert_int_eq(fc_io_read(io, b, 1000, 123), 0);
	ck_assert_mem_eq(b, zeros, 1000);

	ck_assert_int_eq(fc_io_write(io, a, sizeof(a), 5000), 0);
	ck_assert_int_eq(fc_io_size(io, &n), 0);
	ck_assert_uint_eq(n, 105000);
	ck_assert_int_eq(fc_io_read(io, b, sizeof(b), 5000), 0);
	ck_assert_mem_eq(a, b, sizeof(a));
	/* across the end, and far behind it */
	memset(b, 1, sizeof(b));
	ck_assert_int_eq(fc_io_read(io, b, 2000, 104000), 0);
	ck_assert_mem_eq(b, a + 99000, 1000);
	ck_assert_mem_eq(b + 1000, zeros, 1000);
	memset(b, 1, sizeof(b));
	ck_assert_int_eq(fc_io_read(io, b, 512, UINT64_MAX - 511), 0);
	ck_assert_mem_eq(b, zeros, 512);
	ck_assert_int_eq(fc_io_write(io, a, 1, UINT64_MAX), FC_EFBIG);
	ck_assert_int_eq(fc_io_write(io, a, 2, INT64_MAX), FC_EFBIG);
	ck_assert_int_eq(fc_io_write(io, a, 0, 12), 0);

	ck_assert_int_eq(fc_io_punch(io, 8192, 16384), 0);
	ck_assert_int_eq(fc_io_read(io, b, sizeof(b), 5000), 0);
	ck_assert_mem_eq(b, a, 3192);
	ck_assert_mem_eq(b + 3192, zeros, 16384);
	ck_assert_mem_eq(b + 19576, a + 19576, sizeof(a) - 19576);
	/* parts of pages too, and a range that ends behind the file */
	ck_assert_int_eq(fc_io_punch(io, 30000, 100), 0);
	ck_assert_int_eq(fc_io_punch(io, 104999, 1 << 20), 0);
	ck_assert_int_eq(fc_io_punch(io, 5, 0), 0);
	ck_assert_int_eq(fc_io_read(io, b, sizeof(b), 5000), 0);
	ck_assert_mem_eq(b + 25000, zeros, 100);
	ck_assert_uint_eq(b[24999], a[24999]);
	ck_assert_uint_eq(b[25100], a[25100]);
	ck_assert_uint_eq(b[99998], a[99998]);
	ck_assert_uint_eq(b[99999], 0);
	ck_assert_int_eq(fc_io_size(io, &n), 0);
	ck_assert_uint_eq(n, 105000);

	ck_assert_int_eq(fc_io_allocate(io, 100000, 1 << 20), 0);
	ck_assert_int_eq(fc_io_allocate(io, 100000, 0), 0);
	ck_assert_int_eq(fc_io_size(io, &n), 0);
	ck_assert_uint_eq(n, 100000 + (1 << 20));
	ck_assert_int_eq(fc_io_allocated(io, &n), 0);
	ck_assert_uint_ge(n, 1 << 20);
	ck_assert_uint_le(n, 2 << 20);
	ck_assert_int_eq(fc_io_read(io, b, 5000, 100000), 0);
	ck_assert_mem_eq(b, a + 95000, 4999);

	fc_io_ahead(io, 0, UINT64_MAX);
	ck_assert_int_eq(fc_io_sync(io), 0);
	ck_assert_int_eq(fc_io_truncate(io, 6000), 0);
	ck_assert_int_eq(fc_io_size(io, &n), 0);
	ck_assert_uint_eq(n, 6000);
	ck_assert_int_eq(fc_io_truncate(io, 9000), 0);
	ck_assert_int_eq(fc_io_read(io, b, 4000, 5000), 0);
	ck_assert_mem_eq(b, a, 1000);
	ck_assert_mem_eq(b + 1000, zeros, 3000);
	ck_assert_int_eq(fc_io_host_free(io, &n), 0);
	ck_assert_uint_gt(n, 0);
}

START_TEST(file_keeps_the_contract)
{
	struct fc_io *io = file_of(temporary(), false);

	check_contract(io);
	fc_io_close(io);
}
END_TEST

START_TEST(file_tells_space_as_the_host_does)
{
	int fd = temporary();
	struct fc_io *io = file_of(fd, false);
	struct statvfs st;
	uint64_t n, before, after;
	uint8_t block[4096];

	fill(block, sizeof(block), 2);
	ck_assert_int_eq(fstatvfs(fd, &st), 0);
	ck_assert_int_eq(fc_io_host_free(io, &n), 0);
	ck_assert_uint_le(n, (uint64_t)st.f_bfree * st.f_frsize + (64 << 20));
	ck_assert_int_eq(fc_io_allocate(io, 0, 1 << 20), 0);
	ck_assert_int_eq(fc_io_allocated(io, &before), 0);
	ck_assert_int_eq(fc_io_punch(io, 0, 1 << 20), 0);
	ck_assert_int_eq(fc_io_allocated(io, &after), 0);
	ck_assert_uint_ge(before, 1 << 20);
	ck_assert_uint_le(after, 65536);
	fc_io_close(io);
}
END_TEST

START_TEST(read_only_changes_nothing)
{
	struct fc_io *io = file_of(temporary(), true);
	uint64_t n;

	ck_assert_int_eq(fc_io_write(io, "x", 1, 0), FC_EROFS);
	ck_assert_int_eq(fc_io_punch(io, 0, 4096), FC_EROFS);
	ck_assert_int_eq(fc_io_allocate(io, 0, 4096), FC_EROFS);
	ck_assert_int_eq(fc_io_truncate(io, 4096), FC_EROFS);
	ck_assert_int_eq(fc_io_size(io, &n), 0);
	ck_assert_uint_eq(n, 0);
	fc_io_close(io);
}
END_TEST

START_TEST(host_errors_have_names)
{
	struct fc_io *io = file_of(open("/dev/full", O_RDWR), false);
	uint8_t b[16];

	ck_assert_int_eq(fc_io_write(io, "x", 1, 0), FC_ENOSPC);
	fc_io_close(io);
	io = file_of(open("/tmp", O_RDONLY | O_DIRECTORY), false);
	ck_assert_int_eq(fc_io_read(io, b, sizeof(b), 0), FC_EIO);
	ck_assert_int_eq(fc_io_write(io, b, sizeof(b), 0), FC_EIO);
	ck_assert_int_eq(fc_io_truncate(io, 0), FC_EIO);
	fc_io_close(io);
	io = file_of(open("/dev/full", O_RDWR), false);
	ck_assert_int_eq(fc_io_allocate(io, 0, 4096), FC_EIO);
	fc_io_close(io);
	fc_io_close(NULL);
}
END_TEST

START_TEST(a_file_that_may_not_grow_is_full)
{
	const struct rlimit limit = { 8192, 8192 };
	struct fc_io *io = file_of(temporary(), false);
	uint8_t b[16384];

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	memset(b, 7, sizeof(b));
	ck_assert_int_eq(fc_io_write(io, b, 8192, 0), 0);
	ck_assert_int_eq(fc_io_write(io, b, sizeof(b), 0), FC_ENOSPC);
	ck_assert_int_eq(fc_io_allocate(io, 0, 65536), FC_ENOSPC);
	fc_io_close(io);
}
END_TEST

/* R10: the descriptor is exchanged for one that syncs well, and still. */
START_TEST(failed_sync_is_final)
{
	int pipe_fd[2], fd;
	struct fc_io *io;

	ck_assert_int_eq(pipe(pipe_fd), 0);
	io = file_of(pipe_fd[1], false);
	ck_assert_int_eq(fc_io_sync(io), FC_EIO);
	fd = temporary();
	ck_assert_int_eq(dup2(fd, pipe_fd[1]), pipe_fd[1]);
	ck_assert_int_eq(fdatasync(pipe_fd[1]), 0);
	ck_assert_int_eq(fc_io_sync(io), FC_EIO);
	ck_assert_int_eq(fc_io_sync(io), FC_EIO);
	ck_assert_int_eq(fc_io_write(io, "x", 1, 0), 0);
	fc_io_close(io);
	close(fd);
	close(pipe_fd[0]);
}
END_TEST

/* ---- the simulated disk ------------------------------------------------------ */

START_TEST(sim_keeps_the_contract)
{
	struct fc_io *io = fc_io_sim();

	check_contract(io);
	fc_io_close(io);
}
END_TEST

#define FLAT (1u << 20)

struct flat {
	uint8_t bytes[FLAT];
	uint64_t size;
};

static uint64_t random_below(uint64_t *state, uint64_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % n;
}

/* The same random change of both. */
static void change(struct fc_io *io, struct flat *flat, uint64_t *seed)
{
	static uint8_t data[40000];
	uint64_t off = random_below(seed, FLAT - sizeof(data)), n = random_below(seed, sizeof(data)) + 1;
	unsigned what = (unsigned)random_below(seed, 12);

	if (random_below(seed, 2)) {
		off -= off % 4096;
		n = (n + 4095) / 4096 * 4096 - (n > 36864 ? 4096 : 0);
	}
	if (what == 0) {
		ck_assert_int_eq(fc_io_truncate(io, off), 0);
		memset(flat->bytes + off, 0, FLAT - off);
		flat->size = off;
	} else if (what < 4) {
		ck_assert_int_eq(fc_io_punch(io, off, n), 0);
		memset(flat->bytes + off, 0, n);
	} else {
		if (what == 4) {
			ck_assert_int_eq(fc_io_allocate(io, off, n), 0);
		} else {
			fill(data, n, what == 5 ? 0 : *seed);
			if (what == 5)
				memset(data, 0, n);
			ck_assert_int_eq(fc_io_write(io, data, n, off), 0);
			memcpy(flat->bytes + off, data, n);
		}
		flat->size = off + n > flat->size ? off + n : flat->size;
	}
}

static void check_same(struct fc_io *io, const struct flat *flat)
{
	static uint8_t all[FLAT];
	uint64_t n;

	ck_assert_int_eq(fc_io_size(io, &n), 0);
	ck_assert_uint_eq(n, flat->size);
	ck_assert_int_eq(fc_io_read(io, all, FLAT, 0), 0);
	ck_assert(!memcmp(all, flat->bytes, FLAT));
}

/* A disk with that content, made in one write. */
static uint64_t hash_of(const struct flat *flat)
{
	struct fc_io *io = fc_io_sim();
	uint64_t h;

	ck_assert_int_eq(fc_io_write(io, flat->bytes, FLAT, 0), 0);
	ck_assert_int_eq(fc_io_truncate(io, flat->size), 0);
	h = fc_io_sim_hash(io);
	fc_io_close(io);
	return h;
}

START_TEST(sim_is_a_disk_and_clones_are_apart)
{
	struct flat *flat = calloc(4, sizeof(*flat));
	struct fc_io *io[4] = { fc_io_sim() };
	uint64_t seed = 88172645463325252;
	unsigned i, k, n = 1;

	for (i = 0; i < 800; i++) {
		k = (unsigned)random_below(&seed, n);
		change(io[k], &flat[k], &seed);
		if (i % 40 == 39) { /* a clone takes another's place */
			unsigned to = n < 4 ? n++ : (k + 1) % 4;

			fc_io_close(io[to]);
			io[to] = fc_io_sim_clone(io[k]);
			flat[to] = flat[k];
			ck_assert_uint_eq(fc_io_sim_hash(io[to]), fc_io_sim_hash(io[k]));
		}
		if (i % 20 == 0)
			for (k = 0; k < n; k++) {
				check_same(io[k], &flat[k]);
				ck_assert_uint_eq(fc_io_sim_hash(io[k]), hash_of(&flat[k]));
			}
	}
	for (k = 0; k < n; k++)
		fc_io_close(io[k]);
	free(flat);
}
END_TEST

START_TEST(sim_hash_tells_states_apart)
{
	struct fc_io *io = fc_io_sim(), *other = fc_io_sim();
	uint8_t page[4096] = { 0 };
	uint64_t empty = fc_io_sim_hash(io), one;

	ck_assert_int_eq(fc_io_truncate(io, 1), 0);
	ck_assert_uint_ne(fc_io_sim_hash(io), empty);
	ck_assert_int_eq(fc_io_truncate(io, 1 << 20), 0);
	ck_assert_int_eq(fc_io_allocate(other, 0, 1 << 20), 0);
	ck_assert_uint_eq(fc_io_sim_hash(io), fc_io_sim_hash(other));
	page[100] = 1;
	ck_assert_int_eq(fc_io_write(io, page, 4096, 4096), 0);
	one = fc_io_sim_hash(io);
	ck_assert_uint_ne(one, fc_io_sim_hash(other));
	ck_assert_int_eq(fc_io_write(other, page, 4096, 8192), 0);
	ck_assert_uint_ne(one, fc_io_sim_hash(other));
	ck_assert_int_eq(fc_io_write(other, "\1", 1, 4196), 0);
	ck_assert_int_eq(fc_io_write(other, "\0", 1, 8292), 0);
	ck_assert_uint_eq(one, fc_io_sim_hash(other));
	fc_io_close(io);
	fc_io_close(other);
}
END_TEST

START_TEST(sim_trace_holds_every_change_in_order)
{
	struct fc_io *io = fc_io_sim(), *copy;
	const struct fc_sim_event *t;
	uint8_t b[1536];
	size_t n, i;

	fill(b, sizeof(b), 9);
	ck_assert_int_eq(fc_io_write(io, b, 1000, 0), 0);
	copy = fc_io_sim_clone(io);
	ck_assert_ptr_null(fc_io_sim_trace(io, &n));
	ck_assert_uint_eq(n, 0);
	fc_io_sim_record(io, true);
	ck_assert_int_eq(fc_io_write(io, b, 1536, 4096 - 512), 0);
	ck_assert_int_eq(fc_io_sync(io), 0);
	ck_assert_int_eq(fc_io_punch(io, 100, 10), 0);
	ck_assert_int_eq(fc_io_allocate(io, 0, 20000), 0);
	ck_assert_int_eq(fc_io_truncate(io, 19000), 0);
	fc_io_sim_fail(io, FC_SIM_WRITE, 1, FC_EIO, false);
	ck_assert_int_eq(fc_io_write(io, b, 1, 0), FC_EIO);
	t = fc_io_sim_trace(io, &n);
	ck_assert_uint_eq(n, 5);
	ck_assert(t[0].kind == FC_SIM_WRITE && t[0].off == 3584 && t[0].bytes == 1536);
	ck_assert_mem_eq(t[0].data, b, 1536);
	ck_assert(t[1].kind == FC_SIM_SYNC && !t[1].data);
	ck_assert(t[2].kind == FC_SIM_PUNCH && t[2].off == 100 && t[2].bytes == 10);
	ck_assert(t[3].kind == FC_SIM_ALLOCATE && t[3].off == 0 && t[3].bytes == 20000);
	ck_assert(t[4].kind == FC_SIM_PUNCH && t[4].off == 19000 && t[4].off + t[4].bytes == UINT64_C(1) << 63);
	for (i = 0; i < n; i++)
		ck_assert_int_eq(fc_io_sim_apply(copy, &t[i], 0, UINT64_MAX), 0);
	ck_assert_uint_eq(fc_io_sim_hash(copy), fc_io_sim_hash(io));
	fc_io_sim_record(io, false);
	ck_assert_int_eq(fc_io_write(io, b, 1, 0), 0);
	fc_io_sim_trace(io, &n);
	ck_assert_uint_eq(n, 5);
	fc_io_sim_record(io, true);
	fc_io_sim_trace(io, &n);
	ck_assert_uint_eq(n, 0);
	fc_io_close(copy);
	fc_io_close(io);
}
END_TEST

START_TEST(sim_applies_a_torn_write)
{
	struct fc_io *io = fc_io_sim(), *copy = fc_io_sim_clone(io);
	static const uint8_t zeros[512];
	const struct fc_sim_event *t;
	uint8_t b[1536], got[2048];
	uint64_t size;
	size_t n;

	fill(b, sizeof(b), 10);
	fc_io_sim_record(io, true);
	ck_assert_int_eq(fc_io_write(io, b, 1536, 0), 0);
	t = fc_io_sim_trace(io, &n);
	ck_assert_int_eq(fc_io_sim_apply(copy, t, 512, 1024), 0);
	ck_assert_int_eq(fc_io_sim_apply(copy, t, 1024, 1024), 0);
	ck_assert_int_eq(fc_io_sim_apply(copy, t, 4096, UINT64_MAX), 0);
	ck_assert_int_eq(fc_io_read(copy, got, sizeof(got), 0), 0);
	ck_assert_mem_eq(got, zeros, 512);
	ck_assert_mem_eq(got + 512, b + 512, 512);
	ck_assert_mem_eq(got + 1024, zeros, 512);
	ck_assert_int_eq(fc_io_size(copy, &size), 0);
	ck_assert_uint_eq(size, 1024);
	fc_io_close(copy);
	fc_io_close(io);
}
END_TEST

START_TEST(sim_fails_the_nth_call)
{
	struct fc_io *io = fc_io_sim();
	uint8_t b[512] = { 1 }, zero[512] = { 0 };

	fc_io_sim_fail(io, FC_SIM_WRITE, 3, FC_ENOSPC, false);
	ck_assert_int_eq(fc_io_write(io, b, 512, 0), 0);
	ck_assert_int_eq(fc_io_sync(io), 0);
	ck_assert_int_eq(fc_io_write(io, b, 512, 0), 0);
	ck_assert_int_eq(fc_io_write(io, zero, 512, 0), FC_ENOSPC);
	ck_assert_int_eq(fc_io_write(io, b, 512, 512), 0);
	ck_assert_int_eq(fc_io_read(io, zero, 512, 0), 0);
	ck_assert_mem_eq(zero, b, 512);
	fc_io_sim_fail(io, FC_SIM_SYNC, 1, FC_EIO, false);
	ck_assert_int_eq(fc_io_sync(io), FC_EIO);
	ck_assert_int_eq(fc_io_sync(io), 0);
	fc_io_sim_fail(io, FC_SIM_READ, 2, FC_EIO, true);
	ck_assert_int_eq(fc_io_read(io, b, 512, 0), 0);
	ck_assert_int_eq(fc_io_read(io, b, 512, 0), FC_EIO);
	ck_assert_int_eq(fc_io_read(io, b, 512, 0), FC_EIO);
	fc_io_sim_fail(io, FC_SIM_READ, 0, 0, false);
	ck_assert_int_eq(fc_io_read(io, b, 512, 0), 0);
	fc_io_sim_fail(io, FC_SIM_PUNCH, 1, FC_ENOTSUP, true);
	fc_io_sim_fail(io, FC_SIM_ALLOCATE, 1, FC_ENOTSUP, true);
	ck_assert_int_eq(fc_io_punch(io, 0, 512), FC_ENOTSUP);
	ck_assert_int_eq(fc_io_allocate(io, 0, 512), FC_ENOTSUP);
	fc_io_close(io);
}
END_TEST

START_TEST(sim_runs_full)
{
	struct fc_io *io = fc_io_sim(), *clone;
	uint8_t b[4 * 4096], got[4 * 4096];
	const struct fc_sim_event *t;
	uint64_t n;
	size_t count;

	fill(b, sizeof(b), 11);
	fc_io_sim_limit(io, 3 * 4096);
	ck_assert_int_eq(fc_io_host_free(io, &n), 0);
	ck_assert_uint_eq(n, 3 * 4096);
	fc_io_sim_record(io, true);
	ck_assert_int_eq(fc_io_write(io, b, sizeof(b), 0), FC_ENOSPC);
	t = fc_io_sim_trace(io, &count);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(t[0].bytes, 3 * 4096);
	ck_assert_int_eq(fc_io_size(io, &n), 0);
	ck_assert_uint_eq(n, 3 * 4096);
	ck_assert_int_eq(fc_io_host_free(io, &n), 0);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(fc_io_write(io, b + 4096, 8192, 0), 0);
	ck_assert_int_eq(fc_io_write(io, b, 1, 1 << 20), FC_ENOSPC);
	ck_assert_int_eq(fc_io_allocate(io, 0, 3 * 4096), 0);
	ck_assert_int_eq(fc_io_allocate(io, 0, 3 * 4096 + 1), FC_ENOSPC);
	clone = fc_io_sim_clone(io);
	ck_assert_int_eq(fc_io_write(clone, b, 1, 1 << 20), 0);
	ck_assert_int_eq(fc_io_punch(io, 4096, 4096), 0);
	ck_assert_int_eq(fc_io_allocated(io, &n), 0);
	ck_assert_uint_eq(n, 8192);
	ck_assert_int_eq(fc_io_allocate(io, 1 << 20, 4096), 0);
	ck_assert_int_eq(fc_io_write(io, b, 1, 4096), FC_ENOSPC);
	ck_assert_int_eq(fc_io_write(io, b, 4096, 1 << 20), 0);
	ck_assert_int_eq(fc_io_read(io, got, 4096, 1 << 20), 0);
	ck_assert_mem_eq(got, b, 4096);
	fc_io_sim_limit(io, 0);
	ck_assert_int_eq(fc_io_write(io, b, 1, 4096), 0);
	ck_assert_int_eq(fc_io_host_free(io, &n), 0);
	ck_assert_uint_ge(n, UINT64_C(1) << 30);
	fc_io_close(clone);
	fc_io_close(io);
}
END_TEST

/* Clones that share pages, each changed by a thread of its own. */
static void *use_clone(void *arg)
{
	struct fc_io *io = arg, *clone;
	uint8_t b[4096], got[4096];
	unsigned i;

	fill(b, sizeof(b), (uintptr_t)arg);
	for (i = 0; i < 300; i++) {
		clone = fc_io_sim_clone(io);
		if (fc_io_write(clone, b, sizeof(b), i % 64 * 4096) || fc_io_punch(clone, i % 50 * 8192, 8192) ||
		    fc_io_write(clone, b, 100, 4000) || fc_io_read(clone, got, 100, 4000) || memcmp(b, got, 100) ||
		    !fc_io_sim_hash(clone))
			return arg;
		fc_io_close(clone);
	}
	return NULL;
}

START_TEST(sim_clones_serve_threads)
{
	static uint8_t b[1 << 20];
	struct fc_io *io = fc_io_sim();
	pthread_t thread[4];
	uint64_t before;
	unsigned i;

	fill(b, sizeof(b), 12);
	ck_assert_int_eq(fc_io_write(io, b, sizeof(b), 0), 0);
	before = fc_io_sim_hash(io);
	for (i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, use_clone, io), 0);
	for (i = 0; i < 4; i++) {
		void *failed;

		pthread_join(thread[i], &failed);
		ck_assert_ptr_null(failed);
	}
	ck_assert_uint_eq(fc_io_sim_hash(io), before);
	fc_io_close(io);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("io");
	TCase *file = tcase_create("file"), *sim = tcase_create("sim");
	SRunner *runner;
	int failed;

	tcase_add_test(file, file_keeps_the_contract);
	tcase_add_test(file, file_tells_space_as_the_host_does);
	tcase_add_test(file, read_only_changes_nothing);
	tcase_add_test(file, host_errors_have_names);
	tcase_add_test(file, a_file_that_may_not_grow_is_full);
	tcase_add_test(file, failed_sync_is_final);
	suite_add_tcase(suite, file);
	tcase_set_timeout(sim, 120);
	tcase_add_test(sim, sim_keeps_the_contract);
	tcase_add_test(sim, sim_is_a_disk_and_clones_are_apart);
	tcase_add_test(sim, sim_hash_tells_states_apart);
	tcase_add_test(sim, sim_trace_holds_every_change_in_order);
	tcase_add_test(sim, sim_applies_a_torn_write);
	tcase_add_test(sim, sim_fails_the_nth_call);
	tcase_add_test(sim, sim_runs_full);
	tcase_add_test(sim, sim_clones_serve_threads);
	suite_add_tcase(suite, sim);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
