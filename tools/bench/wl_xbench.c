/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the disk test of Xbench does: sequential and random, uncached, 4K and 256K. */
#include "transfer.h"
#include "workload.h"

#define SEED 30
#define SMALL (4u << 10)
#define LARGE (256u << 10)

static const uint64_t small_bytes[] = { 16u << 20, 64u << 20, 256u << 20 };
static const uint64_t large_bytes[] = { 64u << 20, 256u << 20, 1u << 30 };

struct detail {
	bool write, random;
	size_t block;
};

static uint64_t file_bytes(const struct bench *bench, size_t block)
{
	return (block == SMALL ? small_bytes : large_bytes)[bench->options->size];
}

static void needs(const struct bench *bench, struct bench_needs *needs)
{
	needs->each = file_bytes(bench, SMALL) + file_bytes(bench, LARGE);
}

static int prepare(struct bench_step *step)
{
	const struct detail *d = step->part->detail;
	uint64_t bytes = file_bytes(step->bench, d->block);
	const struct fc_transfer t = { .path = d->block == SMALL ? "small" : "large",
				       .file_bytes = bytes,
				       .seed = SEED,
				       .block = d->block,
				       .blocks = bytes / d->block,
				       .write = d->write,
				       .random = d->random };
	step->local = fc_transfer_open(step, &t);
	return step->local ? 0 : -1;
}

static int run(struct bench_step *step)
{
	return fc_transfer_run(step, step->local, NULL);
}

static int verify(struct bench_step *step)
{
	const struct detail *d = step->part->detail;
	fc_transfer_close(step->local);
	if (!d->write)
		return 0;
	return fc_pattern_check_file(step, d->block == SMALL ? "small" : "large", file_bytes(step->bench, d->block),
				     SEED);
}

#define PGP(plain, encrypted) \
	{ \
		(plain) / (encrypted), 0, "PGP" \
	}

/* Ratios from the MB/s published. */
static const struct bench_row rows[] = {
	{ .name = "seq-write-4k", .title = "sequential write, 4K", .kind = ROW_RATE, .published = PGP(155.97, 48.03) },
	{ .name = "seq-write-256k",
	  .title = "sequential write, 256K",
	  .kind = ROW_RATE,
	  .published = PGP(122.40, 36.89) },
	{ .name = "seq-read-4k", .title = "sequential read, 4K", .kind = ROW_RATE, .published = PGP(27.91, 13.75) },
	{ .name = "seq-read-256k",
	  .title = "sequential read, 256K",
	  .kind = ROW_RATE,
	  .published = PGP(187.93, 41.74) },
	{ .name = "rand-write-4k", .title = "random write, 4K", .kind = ROW_RATE, .published = PGP(135.31, 39.20) },
	{ .name = "rand-write-256k", .title = "random write, 256K", .kind = ROW_RATE, .published = PGP(129.98, 38.57) },
	{ .name = "rand-read-4k", .title = "random read, 4K", .kind = ROW_RATE, .published = PGP(11.19, 11.07) },
	{ .name = "rand-read-256k", .title = "random read, 256K", .kind = ROW_RATE, .published = PGP(175.88, 41.28) },
};

static const struct detail details[] = {
	{ true, false, SMALL }, { true, false, LARGE }, { false, false, SMALL }, { false, false, LARGE },
	{ true, true, SMALL },  { true, true, LARGE },  { false, true, SMALL },  { false, true, LARGE },
};

#define PART(i, flag) \
	{ \
		.flags = (flag), .prepare = prepare, .run = run, .verify = verify, .row = &rows[i], .rows = 1, \
		.detail = &details[i] \
	}

/* In this order: what is read or rewritten was written before. */
static const struct bench_part parts[] = {
	PART(0, PART_WRITES), PART(1, PART_WRITES), PART(2, PART_COLD), PART(3, PART_COLD),
	PART(4, PART_WRITES), PART(5, PART_WRITES), PART(6, PART_COLD), PART(7, PART_COLD),
};

const struct bench_workload fc_workload_xbench = {
	.name = "xbench",
	.title = "Xbench's disk test",
	.does = "uncached reading and writing (O_DIRECT) of a file, sequentially and at random places, 4K and 256K at "
		"a "
		"time",
	.from = "the PGP Whole Disk Encryption test, on a Crucial RealSSD: 155.97 MB/s became 48.03",
	.needs = needs,
	.part = parts,
	.parts = 8,
};
