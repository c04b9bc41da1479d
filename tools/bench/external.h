/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Well-known programs that some workloads use.
 */
#ifndef FC_BENCH_EXTERNAL_H
#define FC_BENCH_EXTERNAL_H

#include "step.h"

/* Absolute path of a program: in dir first if that is not NULL, then in PATH,
 * /usr/sbin and /sbin; NULL if there is none. The caller frees it. */
char *fc_external_find(const char *dir, const char *program);

/* For bench_workload.available: whether all of the programs (separated by
 * blanks) are there. If not: -1, *reason says which, *install how to get them
 * (packages: their names in Debian). */
int fc_external_need(const char *programs, const char *packages, char **reason, char **install);

/* Runs argv (argv[0] is looked up as above) in the step's process group, with
 * standard input from /dev/null and LC_ALL=C. Its output goes to *output
 * (NUL-terminated, the caller frees it) unless output is NULL. -1 with the
 * step's error, the program's last words included, if it cannot be run or ends
 * with another status than 0. */
int fc_external_run(struct bench_step *step, const char *const argv[], char **output);

#endif
