/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What it all comes to, in one paragraph. */
#ifndef FC_BENCH_VERDICT_H
#define FC_BENCH_VERDICT_H

#include "report.h"

/* Sets mean and verdict. */
void fc_verdict_make(struct bench_report *report);

#endif
