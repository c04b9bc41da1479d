/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arithmetic of few, noisy runs. Pure functions; n >= 1; values are finite
 * and, where ratios are taken, above 0.
 */
#ifndef FC_BENCH_STATS_H
#define FC_BENCH_STATS_H

#include <stdbool.h>
#include <stddef.h>

struct fc_stats {
	double median, low, high; /* low and high: of all values */
	double spread;            /* (high - low) / median */
};
void fc_stats_describe(const double *values, size_t n, struct fc_stats *out);

double fc_stats_median(const double *values, size_t n);

/* The interval between two order statistics that holds the true median with the
 * probability *coverage, whatever the distribution: the narrowest symmetric one
 * with at least 0.95; with n < 6 there is none, and it is the whole range
 * (n = 3: 0.75). */
void fc_stats_interval(const double *values, size_t n, double *low, double *high, double *coverage);

enum fc_word {
	FC_WORD_SLOWER,
	FC_WORD_FASTER,
	FC_WORD_SAME,    /* no difference that these runs can show */
	FC_WORD_NOISY,   /* the spread is too large to conclude anything */
	FC_WORD_ONE_RUN, /* one run says nothing about spread */
};
const char *fc_word_text(enum fc_word word);

/*
 * How other compares to base. Run i of both were neighbours in time. ratio is
 * of the medians and above 1 when other is worse (takes longer, or does less if
 * more_is_better); low and high are the interval, as above, of the ratios run by
 * run, widened to hold ratio.
 *
 * SLOWER and FASTER: 1 lies outside [low, high] and, with fewer than 6 runs, by
 * at least half the interval's width beyond it (three runs lie on the same side
 * by chance once in four times). Otherwise SAME when high / low <= 1.15, else
 * NOISY.
 */
struct fc_ratio {
	double ratio, low, high, coverage;
	enum fc_word word;
};
void fc_stats_compare(const double *base, const double *other, size_t n, bool more_is_better, struct fc_ratio *out);

double fc_stats_geometric_mean(const double *values, size_t n);

#endif
