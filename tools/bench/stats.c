/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "stats.h"

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double *sorted(const double *values, size_t n)
{
	double *copy = fc_bench_alloc(n * sizeof(*copy));
	memcpy(copy, values, n * sizeof(*copy));
	qsort(copy, n, sizeof(*copy), by_size);
	return copy;
}

static double middle(const double *s, size_t n)
{
	return n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

double fc_stats_median(const double *values, size_t n)
{
	double *s = sorted(values, n);
	double median = middle(s, n);
	free(s);
	return median;
}

void fc_stats_describe(const double *values, size_t n, struct fc_stats *out)
{
	double *s = sorted(values, n);
	out->median = middle(s, n);
	out->low = s[0];
	out->high = s[n - 1];
	out->spread = out->median > 0 ? (out->high - out->low) / out->median : 0;
	free(s);
}

/* Each value lies below the true median with probability 1/2, so how many do is
 * binomial: P(below = i) = C(n, i) / 2^n. */
void fc_stats_interval(const double *values, size_t n, double *low, double *high, double *coverage)
{
	double *s = sorted(values, n);
	double p = pow(0.5, (double)n), tail = p, best = 1 - 2 * tail;
	size_t skip = 0;
	for (size_t i = 1; i < n - i; i++) {
		p *= (double)(n - i + 1) / (double)i;
		tail += p;
		if (1 - 2 * tail < 0.95)
			break;
		best = 1 - 2 * tail;
		skip = i;
	}
	*low = s[skip];
	*high = s[n - 1 - skip];
	*coverage = n == 1 ? 0 : best;
	free(s);
}

static enum fc_word word_of(const struct fc_ratio *r, size_t n)
{
	if (n == 1)
		return FC_WORD_ONE_RUN;
	double margin = n < 6 ? (r->high - r->low) / 2 : 0;
	if (r->low > 1 && r->low - 1 >= margin)
		return FC_WORD_SLOWER;
	if (r->high < 1 && 1 - r->high >= margin)
		return FC_WORD_FASTER;
	return r->high / r->low <= 1.15 ? FC_WORD_SAME : FC_WORD_NOISY;
}

void fc_stats_compare(const double *base, const double *other, size_t n, bool more_is_better, struct fc_ratio *out)
{
	double *pairs = fc_bench_alloc(n * sizeof(*pairs));
	for (size_t i = 0; i < n; i++)
		pairs[i] = more_is_better ? base[i] / other[i] : other[i] / base[i];
	double b = fc_stats_median(base, n), o = fc_stats_median(other, n);
	out->ratio = more_is_better ? b / o : o / b;
	fc_stats_interval(pairs, n, &out->low, &out->high, &out->coverage);
	out->low = fmin(out->low, out->ratio);
	out->high = fmax(out->high, out->ratio);
	out->word = word_of(out, n);
	free(pairs);
}

double fc_stats_geometric_mean(const double *values, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += log(values[i]);
	return exp(sum / (double)n);
}

const char *fc_word_text(enum fc_word word)
{
	switch (word) {
	case FC_WORD_SLOWER:
		return "slower";
	case FC_WORD_FASTER:
		return "faster";
	case FC_WORD_SAME:
		return "no difference";
	case FC_WORD_NOISY:
		return "too noisy to tell";
	case FC_WORD_ONE_RUN:
		break;
	}
	return "one run only";
}
