/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bar charts as inline SVG; the colours are the page's variables. */
#ifndef FC_BENCH_CHART_H
#define FC_BENCH_CHART_H

#include "report.h"

/* Escapes what HTML and SVG want escaped. */
void fc_html_text(FILE *out, const char *text);

/* The places from `first` on, with their colours. */
void fc_chart_legend(const struct bench_report *report, unsigned first, FILE *out);
/* One bar a figure and place, from ×1 to the right (slower) or to the left. */
void fc_chart_ratios(const struct bench_report *report, FILE *out);
/* Processor seconds of each workload, those of the daemon hatched. */
void fc_chart_cpu(const struct bench_report *report, FILE *out);

#endif
