/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FC_BENCH_OPTIONS_H
#define FC_BENCH_OPTIONS_H

#include "bench.h"

/* Reads the options of `run` (argv[0] is skipped). Strings point into argv.
 * 0: out is complete. 1: only help was wanted, and was printed. -1: wrong usage,
 * which was said. */
int fc_options_read(int argc, char **argv, struct bench_options *out);

void fc_options_usage(void);

#endif
