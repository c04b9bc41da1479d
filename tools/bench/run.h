/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Doing workloads: material, then each run in each place by turns.
 */
#ifndef FC_BENCH_RUN_H
#define FC_BENCH_RUN_H

#include "workload.h"

/* How many steps the progress display is to expect of it. */
unsigned fc_run_steps(const struct bench *bench, const struct bench_workload *workload);

/* Appends samples and one outcome to the bench. Never fails: what went wrong is
 * the outcome. Leaves nothing of it in the places. */
void fc_run_workload(struct bench *bench, const struct bench_workload *workload);

/* Whether this process may drop the kernel's caches. */
bool fc_run_can_drop(void);

/* Writes what lies in the directory to the disk: sync(2) alone does not reach a
 * FUSE daemon, fsync of a directory does. */
int fc_run_make_durable(struct bench_step *step, const char *dir);

#endif
