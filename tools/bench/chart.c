/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"

#define WIDTH 960
#define LABELS 330 /* of the figures' names, on the left */
#define VALUES 60  /* of the figures, on the right */
#define BAR 15
#define GAP 9  /* between figures */
#define TOP 34 /* of the axis */

struct axis {
	double low, high; /* shown at LABELS and WIDTH - VALUES; logarithmic */
};

static double x_of(const struct axis *a, double value)
{
	double share = (log(value) - log(a->low)) / (log(a->high) - log(a->low));
	if (share < 0)
		share = 0;
	if (share > 1)
		share = 1;
	return LABELS + share * (WIDTH - LABELS - VALUES);
}

static unsigned colour(unsigned place)
{
	return place ? (place - 1) % 7 + 1 : 0;
}

void fc_chart_legend(const struct bench_report *r, unsigned first, FILE *out)
{
	fputs("<p>", out);
	for (unsigned p = first; p < r->places; p++) {
		fprintf(out, "<span class=\"key\" style=\"background:var(--%s%.0u)\"></span>", p ? "c" : "soft",
			colour(p));
		fc_html_text(out, r->place[p].name);
	}
	if (first)
		fputs(" <span class=\"soft\"> · line: spread of the runs · diamond: published for the same test, with "
		      "other "
		      "software</span>",
		      out);
	else
		fputs(" <span class=\"soft\"> · lighter: the daemon's share</span>", out);
	fputs("</p>\n", out);
}

static void begin(FILE *out, double height, const char *title)
{
	fprintf(out, "<svg role=\"img\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" aria-label=\"%s\">\n",
		WIDTH, height, WIDTH, height, title);
}

#define LABEL_CHARACTERS 46

/* The place where at most n characters of UTF-8 end. */
static size_t cut_at(const char *text, unsigned n)
{
	size_t at = 0;
	while (text[at] && n) {
		at++;
		while (((unsigned char)text[at] & 0xc0) == 0x80)
			at++;
		n--;
	}
	return at;
}

/* A name that does not fit would run into its bar. */
static void label(FILE *out, double y, const char *workload, const char *title)
{
	char *text = fc_bench_format("%s%s%s", workload, *workload ? ": " : "", title);
	size_t n = cut_at(text, LABEL_CHARACTERS);
	if (text[n]) {
		char *cut = fc_bench_format("%.*s…", (int)cut_at(text, LABEL_CHARACTERS - 1), text);
		free(text);
		text = cut;
	}
	fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LABELS - 10, y);
	fc_html_text(out, text);
	fputs("</text>\n", out);
	free(text);
}

/* ---- ratios ------------------------------------------------------------------ */

/* Wide enough for all that is drawn, at least from a half to double. */
static struct axis ratio_axis(const struct bench_report *r)
{
	struct axis a = { 0.5, 2 };
	for (unsigned i = 0; i < r->serieses; i++) {
		const struct bench_series *s = &r->series[i];
		for (unsigned p = 1; p < r->places; p++) {
			a.low = fmin(a.low, s->ratio[p].low);
			a.high = fmax(a.high, s->ratio[p].high);
		}
		a.high = fmax(a.high, fmax(s->published, s->published_high));
	}
	a.low = fmax(a.low, 0.01) / 1.1;
	a.high = fmin(a.high, 100) * 1.1;
	return a;
}

static void ratio_grid(const struct axis *a, double height, FILE *out)
{
	static const double marks[] = { 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100 };
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		if (marks[i] < a->low || marks[i] > a->high)
			continue;
		double x = x_of(a, marks[i]);
		fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.0f\"/>\n",
			marks[i] == 1 ? "one" : "axis", x, TOP - 8, x, height);
		fprintf(out, "<text class=\"soft\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">×%g</text>\n", x,
			TOP - 14, marks[i]);
	}
}

static void ratio_bar(const struct axis *a, const struct fc_ratio *r, unsigned place, double y, FILE *out)
{
	double one = x_of(a, 1), end = x_of(a, r->ratio), low = x_of(a, r->low), high = x_of(a, r->high);
	double middle = y + BAR / 2.0;
	fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\" fill=\"var(--c%u)\"/>\n",
		fmin(one, end), y, fmax(fabs(end - one), 1), BAR, colour(place));
	if (r->word != FC_WORD_ONE_RUN)
		fprintf(out, "<line class=\"whisker\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", low, middle,
			high, middle);
	fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">×%.2f</text>\n", WIDTH - 4, y + BAR - 3, r->ratio);
}

static void diamond(const struct axis *a, double value, double y, FILE *out)
{
	double x = x_of(a, value);
	fprintf(out, "<path class=\"pub\" d=\"M%.1f %.1fl5 5-5 5-5-5z\"/>\n", x, y - 5);
}

void fc_chart_ratios(const struct bench_report *r, FILE *out)
{
	struct axis a = ratio_axis(r);
	double each = BAR * (r->places - 1) + GAP, y = TOP, height = TOP + r->serieses * each + 4;
	begin(out, height, "Ratios of times to the baseline, logarithmic");
	ratio_grid(&a, height, out);
	for (unsigned i = 0; i < r->serieses; i++, y += each) {
		const struct bench_series *s = &r->series[i];
		label(out, y + BAR - 3, s->workload, s->title);
		for (unsigned p = 1; p < r->places; p++)
			ratio_bar(&a, &s->ratio[p], p, y + BAR * (p - 1), out);
		if (s->published > 0)
			diamond(&a, s->published, y + BAR * (r->places - 1) / 2.0, out);
		if (s->published_high > 0)
			diamond(&a, s->published_high, y + BAR * (r->places - 1) / 2.0, out);
	}
	fputs("</svg>\n", out);
}

/* ---- processor time ----------------------------------------------------------- */

static void cpu_bar(double scale, double work, double daemon, unsigned place, double y, FILE *out)
{
	char fill[16];
	double served = isfinite(daemon) ? daemon : 0;
	snprintf(fill, sizeof(fill), place ? "--c%u" : "--soft", colour(place));
	fprintf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"var(%s)\"/>\n", LABELS, y,
		fmax(work * scale, 0.5), BAR - 1, fill);
	if (served > 0)
		fprintf(out,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"var(%s)\" "
			"fill-opacity=\".5\"/>\n",
			LABELS + work * scale, y, served * scale, BAR - 1, fill);
	fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.2f s</text>\n", WIDTH - 4, y + BAR - 3,
		work + served);
}

void fc_chart_cpu(const struct bench_report *r, FILE *out)
{
	double most = 0, work, daemon, y = 4;
	unsigned shown = 0;
	for (unsigned i = 0; i < r->outcomes; i++) {
		shown += !strcmp(r->outcome[i].status, "measured");
		for (unsigned p = 0; p < r->places; p++) {
			fc_report_cpu(r, r->outcome[i].workload, p, &work, &daemon);
			most = fmax(most, work + (isfinite(daemon) ? daemon : 0));
		}
	}
	double scale = most > 0 ? (WIDTH - LABELS - VALUES - 10) / most : 0, each = BAR * r->places + GAP;
	begin(out, 8 + shown * each, "Processor seconds of each workload");
	for (unsigned i = 0; i < r->outcomes; i++) {
		if (strcmp(r->outcome[i].status, "measured"))
			continue;
		label(out, y + BAR - 3, "", r->outcome[i].title);
		for (unsigned p = 0; p < r->places; p++) {
			fc_report_cpu(r, r->outcome[i].workload, p, &work, &daemon);
			cpu_bar(scale, work, daemon, p, y + BAR * p, out);
		}
		y += each;
	}
	fputs("</svg>\n", out);
}
