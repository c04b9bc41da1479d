/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transfer.h"

struct fc_transfer_state {
	struct fc_transfer t;
	struct fc_pattern pattern;
	bool shared;     /* the pattern is */
	uint8_t *buffer; /* for reading, and for writing a single unit */
	uint64_t *order; /* of the blocks */
	int fd;
	bool direct;
};

/* A shuffled list of the file's blocks, as often as needed. */
static uint64_t *make_order(const struct fc_transfer *t)
{
	uint64_t in_file = t->file_bytes / t->block, random = fc_random_seed(t->seed);
	uint64_t n = t->blocks > in_file ? t->blocks : in_file;
	uint64_t *order = fc_bench_alloc(n * sizeof(*order));
	for (uint64_t i = 0; i < n; i++)
		order[i] = i % in_file;
	for (uint64_t i = n; t->random && i > 1; i--) {
		uint64_t j = fc_random_next(&random) % i, other = order[j];
		order[j] = order[i - 1];
		order[i - 1] = other;
	}
	return order;
}

struct fc_transfer_state *fc_transfer_open(struct bench_step *step, const struct fc_transfer *t)
{
	struct fc_transfer_state *s = fc_bench_alloc(sizeof(*s));
	int flags = O_CLOEXEC | (t->write ? O_WRONLY : O_RDONLY);
	s->t = *t;
	s->direct = step->bench->direct;
	if (s->direct)
		flags |= O_DIRECT;
	if (t->write && !t->random)
		flags |= O_CREAT | O_TRUNC;
	if (t->each_durable)
		flags |= O_DSYNC;
	s->fd = open(t->path, flags, 0644);
	if (s->fd < 0) {
		fc_step_fail_errno(step, "%s", t->path);
		free(s);
		return NULL;
	}
	if (!s->direct && t->random)
		posix_fadvise(s->fd, 0, 0, POSIX_FADV_RANDOM);
	s->shared = t->pattern != NULL;
	if (s->shared)
		s->pattern = *t->pattern;
	else
		fc_pattern_open(&s->pattern, t->seed);
	s->buffer = fc_file_buffer(t->block);
	/* Touched now: page faults are not the file system's cost. */
	memset(s->buffer, 0, t->block);
	s->order = make_order(t);
	return s;
}

static int move(struct bench_step *step, struct fc_transfer_state *s, uint64_t block)
{
	const struct fc_transfer *t = &s->t;
	uint64_t units = t->block / PATTERN_UNIT, first = block * units;
	off_t at = (off_t)(block * t->block);
	if (t->write) {
		uint8_t *data = s->buffer;
		if (units == 1)
			fc_pattern_copy_unit(&s->pattern, first, data);
		else
			data = fc_pattern_get(&s->pattern, first, units);
		if (pwrite(s->fd, data, t->block, at) == (ssize_t)t->block)
			return 0;
		return fc_step_fail_errno(step, "%s: write at %lld", t->path, (long long)at);
	}
	if (pread(s->fd, s->buffer, t->block, at) != (ssize_t)t->block)
		return fc_step_fail_errno(step, "%s: read at %lld", t->path, (long long)at);
	if (!fc_pattern_stamped(&s->pattern, s->buffer, first, units))
		return fc_step_fail(step, "%s: wrong data at byte %lld", t->path, (long long)at);
	return 0;
}

int fc_transfer_run(struct bench_step *step, struct fc_transfer_state *s, double *latency)
{
	for (uint64_t i = 0; i < s->t.blocks; i++) {
		double begin = latency ? fc_bench_now() : 0;
		if (move(step, s, s->order[i]))
			return -1;
		if (latency)
			latency[i] = fc_bench_now() - begin;
		if (i % 64 == 0)
			fc_step_progress(step, i, s->t.blocks);
	}
	if (s->t.write && !s->direct && fdatasync(s->fd))
		return fc_step_fail_errno(step, "%s: fdatasync", s->t.path);
	step->shared->sample.bytes = s->t.blocks * s->t.block;
	step->shared->sample.operations = s->t.blocks;
	return 0;
}

void fc_transfer_close(struct fc_transfer_state *s)
{
	close(s->fd);
	if (!s->shared)
		fc_pattern_close(&s->pattern);
	free(s->buffer);
	free(s->order);
	free(s);
}
