/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A step: one function of a workload, run in a child process of its own.
 *
 * The child is the leader of a process group, so whatever it starts ends with
 * it. Its current directory is the workload's own directory in the place.
 */
#ifndef FC_BENCH_STEP_H
#define FC_BENCH_STEP_H

#include <stdatomic.h>

#include "bench.h"

#define BENCH_KEEP 8

/* Memory that the children share with the parent. */
struct bench_shared {
	_Atomic uint64_t done, total; /* progress of this step in any unit; total 0: unknown */
	struct bench_sample sample;
	uint64_t keep[BENCH_KEEP]; /* a workload's own: zero before its stock step, then left alone */
	char error[600];
	char note[600];
};

struct bench_step {
	const struct bench *bench;
	const struct bench_place *place;
	const char *stock; /* absolute: what the workload's stock function made */
	struct bench_shared *shared;
	const struct bench_part *part; /* in prepare, run and verify */
	void *local;                   /* prepare, run and verify are one process: what they pass on */
};

/* Sets the step's error; returns -1. errno_fail adds strerror. */
int fc_step_fail(struct bench_step *step, const char *format, ...) __attribute__((format(printf, 2, 3)));
int fc_step_fail_errno(struct bench_step *step, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fc_step_note(struct bench_step *step, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline void fc_step_progress(struct bench_step *step, uint64_t done, uint64_t total)
{
	atomic_store_explicit(&step->shared->total, total, memory_order_relaxed);
	atomic_store_explicit(&step->shared->done, done, memory_order_relaxed);
}

typedef int (*bench_step_fn)(struct bench_step *step, const void *arg);

/* Runs fn(step, arg) in a child whose current directory is dir and waits.
 * 0: fn returned 0. -1: it failed, step->shared->error says why. -2: we were
 * told to end (SIGINT, SIGTERM, SIGHUP); the child and all it started are gone,
 * bench->interrupted is set. what is for the progress display. */
int fc_step_run(struct bench *bench, struct bench_step *step, const char *dir, const char *what, bench_step_fn fn,
		const void *arg);

/* As fc_step_run, but signals do not end it, and what it started may outlive it:
 * for mounting and cleaning up. */
int fc_step_finish(struct bench *bench, struct bench_step *step, const char *dir, bench_step_fn fn, const void *arg);

/* Blocks the signals that the two above wait for. Once, at the start. */
void fc_step_begin(void);

#endif
