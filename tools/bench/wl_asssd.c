/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What AS SSD Benchmark does: Seq, 4K, 4K-64Thrd and access time. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "stats.h"
#include "transfer.h"
#include "workload.h"

#define SEED 40
#define THREADS 64
#define SEQ_BLOCK (16u << 20)

static const uint64_t seq_bytes[] = { 64u << 20, 256u << 20, 1u << 30 };
static const uint64_t random_blocks[] = { 2000, 10000, 50000 };
static const uint64_t thread_bytes[] = { 256u << 10, 1u << 20, 16u << 20 };
static const uint64_t accesses[] = { 300, 1000, 5000 };

struct detail {
	enum { SEQ, RANDOM, ACCESS } what;
	bool write;
};

static void needs(const struct bench *bench, struct bench_needs *needs)
{
	enum bench_size size = bench->options->size;
	needs->each = seq_bytes[size] + THREADS * thread_bytes[size];
}

/* ---- Seq, 4K, access time: one thread on one file --------------------------- */

static struct fc_transfer describe(const struct bench_step *step)
{
	const struct detail *d = step->part->detail;
	enum bench_size size = step->bench->options->size;
	struct fc_transfer t = {
		.path = "file", .file_bytes = seq_bytes[size], .seed = SEED, .block = PATTERN_UNIT, .write = d->write
	};
	if (d->what == SEQ) {
		t.block = SEQ_BLOCK;
		t.blocks = t.file_bytes / SEQ_BLOCK;
		return t;
	}
	t.random = true;
	t.blocks = d->what == ACCESS ? accesses[size] : random_blocks[size];
	t.each_durable = d->what == ACCESS && d->write;
	return t;
}

static int prepare(struct bench_step *step)
{
	const struct fc_transfer t = describe(step);
	step->local = fc_transfer_open(step, &t);
	return step->local ? 0 : -1;
}

static int run(struct bench_step *step)
{
	return fc_transfer_run(step, step->local, NULL);
}

/* The median, since a few accesses that had to wait for something else say
 * nothing about the usual one. */
static int run_access(struct bench_step *step)
{
	uint64_t n = accesses[step->bench->options->size];
	double *latency = fc_bench_alloc(n * sizeof(*latency));
	int result = fc_transfer_run(step, step->local, latency);
	if (!result)
		step->shared->sample.value[0] = fc_stats_median(latency, n) * 1000;
	free(latency);
	return result;
}

static int verify(struct bench_step *step)
{
	const struct detail *d = step->part->detail;
	fc_transfer_close(step->local);
	return d->write ? fc_pattern_check_file(step, "file", seq_bytes[step->bench->options->size], SEED) : 0;
}

/* ---- 4K-64Thrd: 64 threads, each on a file of its own ----------------------- */

struct crowd {
	struct fc_pattern pattern;
	struct member {
		struct bench_step *step;
		struct fc_transfer_state *state;
		pthread_t thread;
		int result;
	} member[THREADS];
};

static void member_path(unsigned i, char out[32])
{
	snprintf(out, 32, "thread-%u", i);
}

static int prepare_crowd(struct bench_step *step)
{
	const struct detail *d = step->part->detail;
	struct crowd *c = fc_bench_alloc(sizeof(*c));
	char path[32];
	uint64_t bytes = thread_bytes[step->bench->options->size];
	step->local = c;
	fc_pattern_open(&c->pattern, SEED);
	for (unsigned i = 0; i < THREADS; i++) {
		struct fc_transfer t = { .path = path,
					 .file_bytes = bytes,
					 .seed = SEED,
					 .block = PATTERN_UNIT,
					 .blocks = bytes / PATTERN_UNIT,
					 .write = d->write,
					 .random = true,
					 .pattern = &c->pattern };
		member_path(i, path);
		if (d->write && fc_pattern_write(step, &c->pattern, path, bytes))
			return -1;
		c->member[i].step = step;
		c->member[i].state = fc_transfer_open(step, &t);
		if (!c->member[i].state)
			return -1;
	}
	return 0;
}

static void *member_run(void *arg)
{
	struct member *m = arg;
	m->result = fc_transfer_run(m->step, m->state, NULL);
	return NULL;
}

static int run_crowd(struct bench_step *step)
{
	struct crowd *c = step->local;
	int result = 0;
	unsigned started = 0;
	while (started < THREADS && !pthread_create(&c->member[started].thread, NULL, member_run, &c->member[started]))
		started++;
	for (unsigned i = 0; i < started; i++) {
		pthread_join(c->member[i].thread, NULL);
		result |= c->member[i].result;
	}
	if (started < THREADS)
		return fc_step_fail(step, "only %u of %d threads could be made", started, THREADS);
	step->shared->sample.bytes = THREADS * thread_bytes[step->bench->options->size];
	step->shared->sample.operations = step->shared->sample.bytes / PATTERN_UNIT;
	return result;
}

static int verify_crowd(struct bench_step *step)
{
	const struct detail *d = step->part->detail;
	struct crowd *c = step->local;
	char path[32];
	for (unsigned i = 0; i < THREADS; i++) {
		member_path(i, path);
		fc_transfer_close(c->member[i].state);
		if (d->write && fc_pattern_check(step, &c->pattern, path, thread_bytes[step->bench->options->size]))
			return -1;
	}
	fc_pattern_close(&c->pattern);
	free(c);
	return 0;
}

/* ---- the table -------------------------------------------------------------- */

#define TRUECRYPT "TrueCrypt"

static const struct bench_row rows[] = {
	{ .name = "seq-write", .title = "Seq write", .kind = ROW_RATE },
	{ .name = "seq-read", .title = "Seq read", .kind = ROW_RATE },
	{ .name = "4k-write", .title = "4K write", .kind = ROW_RATE },
	{ .name = "4k-read", .title = "4K read", .kind = ROW_RATE, .published = { 2.0, 0, TRUECRYPT } },
	{ .name = "4k-64thrd-write", .title = "4K-64Thrd write", .kind = ROW_RATE },
	{ .name = "4k-64thrd-read", .title = "4K-64Thrd read", .kind = ROW_RATE },
	{ .name = "access-write", .title = "access time, write", .kind = ROW_REPORTED, .unit = "ms" },
	{ .name = "access-read", .title = "access time, read", .kind = ROW_REPORTED, .unit = "ms" },
};

static const struct detail details[] = {
	{ SEQ, true }, { SEQ, false }, { RANDOM, true }, { RANDOM, false }, { ACCESS, true }, { ACCESS, false },
};

static const struct bench_part parts[] = {
	{ .flags = PART_WRITES,
	  .prepare = prepare,
	  .run = run,
	  .verify = verify,
	  .row = &rows[0],
	  .rows = 1,
	  .detail = &details[0] },
	{ .flags = PART_COLD,
	  .prepare = prepare,
	  .run = run,
	  .verify = verify,
	  .row = &rows[1],
	  .rows = 1,
	  .detail = &details[1] },
	{ .flags = PART_WRITES,
	  .prepare = prepare,
	  .run = run,
	  .verify = verify,
	  .row = &rows[2],
	  .rows = 1,
	  .detail = &details[2] },
	{ .flags = PART_COLD,
	  .prepare = prepare,
	  .run = run,
	  .verify = verify,
	  .row = &rows[3],
	  .rows = 1,
	  .detail = &details[3] },
	{ .flags = PART_WRITES,
	  .prepare = prepare_crowd,
	  .run = run_crowd,
	  .verify = verify_crowd,
	  .row = &rows[4],
	  .rows = 1,
	  .detail = &details[2] },
	{ .flags = PART_COLD,
	  .prepare = prepare_crowd,
	  .run = run_crowd,
	  .verify = verify_crowd,
	  .row = &rows[5],
	  .rows = 1,
	  .detail = &details[3] },
	{ .flags = PART_WRITES,
	  .prepare = prepare,
	  .run = run_access,
	  .verify = verify,
	  .row = &rows[6],
	  .rows = 1,
	  .detail = &details[4] },
	{ .flags = PART_COLD,
	  .prepare = prepare,
	  .run = run_access,
	  .verify = verify,
	  .row = &rows[7],
	  .rows = 1,
	  .detail = &details[5] },
};

const struct bench_workload fc_workload_asssd = {
	.name = "asssd",
	.title = "AS SSD Benchmark",
	.does = "uncached (O_DIRECT): 16 MB blocks in sequence, random 4K, the same by 64 threads, and the time of a "
		"single access",
	.from = "the TrueCrypt test on a Samsung 830: up to 87 % lost (×7.7), 4K reads halved",
	.needs = needs,
	.part = parts,
	.parts = 8,
};
