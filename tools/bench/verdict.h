/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What it all comes to. */
#ifndef FC_BENCH_VERDICT_H
#define FC_BENCH_VERDICT_H

#include "report.h"

/* Sets mean and verdict: a paragraph a line, one for each place and one for what
 * was skipped or failed. */
void fc_verdict_make(struct bench_report *report);

#endif
