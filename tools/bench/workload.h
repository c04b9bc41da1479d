/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a workload is. One table, in workload.c, has them all.
 */
#ifndef FC_BENCH_WORKLOAD_H
#define FC_BENCH_WORKLOAD_H

#include "bench.h"
#include "step.h"

/* What somebody published of the same test, as a ratio of times. */
struct bench_published {
	double ratio, ratio_high; /* ratio 0: nothing; ratio_high 0: one figure */
	const char *by;
};

enum bench_row_kind {
	ROW_TIME,       /* seconds */
	ROW_RATE,       /* the sample's bytes by its time, MB/s */
	ROW_PER_SECOND, /* the sample's operations by its time */
	ROW_REPORTED,   /* value[index], in the row's unit */
};

struct bench_row {
	const char *name; /* unique in the workload: a-z, 0-9, - */
	const char *title;
	enum bench_row_kind kind;
	const char *unit;    /* of ROW_REPORTED */
	bool more_is_better; /* of ROW_REPORTED */
	unsigned index;      /* of ROW_REPORTED */
	struct bench_published published;
};

#define PART_COLD 1u   /* drop caches before it */
#define PART_WRITES 2u /* has a second time, until durable */

struct bench_part {
	const char *name; /* NULL: as its first row */
	unsigned flags;
	/* All run in the workload's directory of the place. prepare and verify
	 * may be NULL and are not timed. */
	int (*prepare)(struct bench_step *step);
	int (*run)(struct bench_step *step);
	int (*verify)(struct bench_step *step);
	const struct bench_row *row;
	unsigned rows;
	const void *detail; /* the workload's own */
};

static inline const char *fc_part_name(const struct bench_part *part)
{
	return part->name ? part->name : part->row[0].name;
}

struct bench_needs {
	uint64_t stock; /* bytes once, in the baseline place */
	uint64_t each;  /* bytes in each place, at the worst moment */
};

struct bench_workload {
	const char *name, *title;
	const char *does, *from; /* what it does; where it comes from */
	bool control;            /* does not use the file system much: is to show no difference */
	/* 0: everything it needs is there. Else -1, and *reason and *install say what
	 * is missing (the caller frees them). NULL: built in. */
	int (*available)(const struct bench *bench, char **reason, char **install);
	const char *programs; /* for `list`; NULL: built in */
	void (*needs)(const struct bench *bench, struct bench_needs *needs);
	/* Makes what all places share, in the directory stock (the current one);
	 * may be NULL. What it is goes to the step's note. */
	int (*stock)(struct bench_step *step);
	int (*setup)(struct bench_step *step); /* once in each place; may be NULL */
	/* Once: ends what the others started, also after an interruption; may be NULL.
	 * The directories are removed afterwards. */
	int (*cleanup)(struct bench_step *step);
	const struct bench_part *part;
	unsigned parts;
};

extern const struct bench_workload fc_workload_extract, fc_workload_copy, fc_workload_xbench, fc_workload_asssd,
	fc_workload_bonnie, fc_workload_iometer, fc_workload_fio_network, fc_workload_sqlite, fc_workload_compile,
	fc_workload_gnupg, fc_workload_xml, fc_workload_raytrace, fc_workload_launch, fc_workload_metadata,
	fc_workload_convert;

extern const struct bench_workload *const fc_workloads[];
extern const unsigned fc_workloads_count;

#endif
