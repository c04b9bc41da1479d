/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "util/le.h"

#define STAMP_BYTES 16
#define HALF (PATTERN_BASE / 2)

void fc_random_fill(uint64_t *state, void *out, size_t bytes)
{
	uint8_t *p = out;
	for (; bytes >= 8; p += 8, bytes -= 8)
		fc_put_u64(p, fc_random_next(state));
	if (bytes) {
		uint8_t last[8];
		fc_put_u64(last, fc_random_next(state));
		memcpy(p, last, bytes);
	}
}

void *fc_file_buffer(size_t bytes)
{
	void *p = NULL;
	if (posix_memalign(&p, PATTERN_UNIT, bytes))
		p = NULL;
	if (!p) {
		fc_bench_warn("no memory");
		abort();
	}
	return p;
}

void fc_pattern_open(struct fc_pattern *pattern, uint64_t seed)
{
	uint64_t state = fc_random_seed(seed);
	pattern->seed = seed;
	pattern->base = fc_file_buffer(PATTERN_BASE);
	fc_random_fill(&state, pattern->base, HALF);
	/* The second half repeats the first: a run of units may cross the middle. */
	memcpy(pattern->base + HALF, pattern->base, HALF);
}

void fc_pattern_close(struct fc_pattern *pattern)
{
	free(pattern->base);
	pattern->base = NULL;
}

static void stamp(const struct fc_pattern *pattern, uint8_t *at, uint64_t unit)
{
	fc_put_u64(at, ~pattern->seed);
	fc_put_u64(at + 8, unit);
}

void fc_pattern_copy_unit(const struct fc_pattern *pattern, uint64_t unit, uint8_t *out)
{
	memcpy(out + STAMP_BYTES, pattern->base + (unit % (HALF / PATTERN_UNIT)) * PATTERN_UNIT + STAMP_BYTES,
	       PATTERN_UNIT - STAMP_BYTES);
	stamp(pattern, out, unit);
}

uint8_t *fc_pattern_get(struct fc_pattern *pattern, uint64_t first, size_t count)
{
	uint8_t *start = pattern->base + (first % (HALF / PATTERN_UNIT)) * PATTERN_UNIT;
	for (size_t i = 0; i < count; i++)
		stamp(pattern, start + i * PATTERN_UNIT, first + i);
	return start;
}

bool fc_pattern_stamped(const struct fc_pattern *pattern, const uint8_t *data, uint64_t first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fc_get_u64(data + i * PATTERN_UNIT) != ~pattern->seed ||
		    fc_get_u64(data + i * PATTERN_UNIT + 8) != first + i)
			return false;
	return true;
}

#define CHUNK_UNITS 256u

static int write_units(struct bench_step *step, struct fc_pattern *pattern, int fd, const char *path, uint64_t units)
{
	for (uint64_t u = 0; u < units; u += CHUNK_UNITS) {
		size_t count = units - u < CHUNK_UNITS ? (size_t)(units - u) : CHUNK_UNITS;
		if (fc_file_write(step, fd, path, fc_pattern_get(pattern, u, count), count * PATTERN_UNIT))
			return -1;
		fc_step_progress(step, u, units);
	}
	return 0;
}

int fc_pattern_write(struct bench_step *step, struct fc_pattern *pattern, const char *path, uint64_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return fc_step_fail_errno(step, "%s", path);
	int result = write_units(step, pattern, fd, path, bytes / PATTERN_UNIT);
	if (close(fd) && !result)
		return fc_step_fail_errno(step, "%s: close", path);
	return result;
}

int fc_pattern_write_file(struct bench_step *step, const char *path, uint64_t bytes, uint64_t seed)
{
	struct fc_pattern pattern;
	fc_pattern_open(&pattern, seed);
	int result = fc_pattern_write(step, &pattern, path, bytes);
	fc_pattern_close(&pattern);
	return result;
}

static int check_units(struct bench_step *step, struct fc_pattern *pattern, int fd, const char *path, uint64_t units)
{
	uint8_t *got = fc_file_buffer(CHUNK_UNITS * PATTERN_UNIT);
	int result = 0;
	for (uint64_t u = 0; u < units && !result; u += CHUNK_UNITS) {
		size_t count = units - u < CHUNK_UNITS ? (size_t)(units - u) : CHUNK_UNITS;
		ssize_t n = pread(fd, got, count * PATTERN_UNIT, (off_t)(u * PATTERN_UNIT));
		if (n < 0)
			result = fc_step_fail_errno(step, "%s: read", path);
		else if ((size_t)n != count * PATTERN_UNIT)
			result = fc_step_fail(step, "%s: wrong data: it ends too early, at byte %llu", path,
					      (unsigned long long)(u * PATTERN_UNIT + (uint64_t)n));
		else if (memcmp(got, fc_pattern_get(pattern, u, count), (size_t)n))
			result = fc_step_fail(step, "%s: wrong data: other bytes than were written, after byte %llu",
					      path, (unsigned long long)(u * PATTERN_UNIT));
	}
	if (!result && pread(fd, got, 1, (off_t)(units * PATTERN_UNIT)) != 0)
		result = fc_step_fail(step, "%s: wrong data: it is longer than what was written", path);
	free(got);
	return result;
}

int fc_pattern_check(struct bench_step *step, struct fc_pattern *pattern, const char *path, uint64_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fc_step_fail_errno(step, "%s", path);
	int result = check_units(step, pattern, fd, path, bytes / PATTERN_UNIT);
	close(fd);
	return result;
}

int fc_pattern_check_file(struct bench_step *step, const char *path, uint64_t bytes, uint64_t seed)
{
	struct fc_pattern pattern;
	fc_pattern_open(&pattern, seed);
	int result = fc_pattern_check(step, &pattern, path, bytes);
	fc_pattern_close(&pattern);
	return result;
}
