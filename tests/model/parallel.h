/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same work in several processes, each with its share. */
#ifndef FC_TESTS_PARALLEL_H
#define FC_TESTS_PARALLEL_H

#include <stdint.h>

struct fc_tally {
	uint64_t runs, steps, commits, tried, distinct, recoveries;
	uint64_t bad; /* runs that failed */
};

/* Calls work(arg, job, jobs, tally) in a process for each job from 0, and adds
 * up what they tallied. A job that ends in another way counts as bad. */
void fc_parallel(unsigned jobs, void (*work)(void *arg, unsigned job, unsigned jobs, struct fc_tally *tally), void *arg,
		 struct fc_tally *sum);
/* Processors to be used. */
unsigned fc_parallel_jobs(void);

#endif
