/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is being done, on standard error: one line that is drawn over and over on
 * a terminal, else one line a workload.
 */
#ifndef FC_BENCH_PROGRESS_H
#define FC_BENCH_PROGRESS_H

#include "step.h"

struct bench_progress *fc_progress_new(void);
void fc_progress_free(struct bench_progress *p);

/* In all, `steps` steps will be done. */
void fc_progress_expect(struct bench_progress *p, unsigned steps);
/* These many steps need not be done after all, or are done. */
void fc_progress_advance(struct bench_progress *p, unsigned steps);
void fc_progress_draw(struct bench_progress *p, const char *what, const struct bench_shared *shared);
/* A line that stays. */
void fc_progress_say(struct bench_progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Wipes the line on a terminal. */
void fc_progress_clear(struct bench_progress *p);

#endif
