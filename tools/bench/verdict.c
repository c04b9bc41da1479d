/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

static void say(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(char **text, const char *format, ...)
{
	va_list args;
	char *more = NULL;
	va_start(args, format);
	if (vasprintf(&more, format, args) < 0)
		abort();
	va_end(args);
	size_t n = strlen(*text);
	char *both = fc_bench_format("%s%s%s", *text, n && (*text)[n - 1] != '\n' ? " " : "", more);
	free(*text);
	free(more);
	*text = both;
}

static void end_paragraph(char **text)
{
	char *ended = fc_bench_format("%s%s", *text, **text ? "\n" : "");
	free(*text);
	*text = ended;
}

/* Each workload once, however many rows it has; NAN if none counts. */
static double mean_of(const struct bench_report *r, unsigned place)
{
	double *all = fc_bench_alloc((r->outcomes + 1) * sizeof(*all)), *rows;
	size_t n = 0;
	rows = fc_bench_alloc((r->serieses + 1) * sizeof(*rows));
	for (unsigned i = 0; i < r->outcomes; i++) {
		size_t m = 0;
		for (unsigned j = 0; j < r->serieses; j++) {
			const struct bench_series *s = &r->series[j];
			if (!s->control && !strcmp(s->workload, r->outcome[i].workload) && fc_report_counts(r, s))
				rows[m++] = s->ratio[place].ratio;
		}
		if (m)
			all[n++] = fc_stats_geometric_mean(rows, m);
	}
	double mean = n ? fc_stats_geometric_mean(all, n) : NAN;
	free(all);
	free(rows);
	return mean;
}

static void say_mean(const struct bench_report *r, unsigned place, char **text)
{
	const char *name = r->place[place].name, *base = r->place[0].name;
	double mean = r->mean[place];
	if (!isfinite(mean))
		return;
	say(text,
	    mean > 1.005   ? "All in all, work in %s takes %.2f times as long as in %s"
	    : mean < 0.995 ? "All in all, work in %s takes only %.2f of the time that it takes in %s"
			   : "All in all, work in %s takes as long (%.2f) as in %s",
	    name, mean, base);
	say(text, "(geometric mean of the workloads, what is written counted until it is durable).");
}

static void say_words(const struct bench_report *r, unsigned place, char **text)
{
	unsigned count[FC_WORD_ONE_RUN + 1] = { 0 }, all = 0;
	for (unsigned i = 0; i < r->serieses; i++)
		if (!r->series[i].control && fc_report_counts(r, &r->series[i])) {
			count[r->series[i].ratio[place].word]++;
			all++;
		}
	if (!all)
		return;
	if (count[FC_WORD_ONE_RUN]) {
		say(text, "With one run nothing can be said about the spread: take --runs 3 or more.");
		return;
	}
	say(text, "Of %u figures %u are slower, %u faster, and %u show no difference;", all, count[FC_WORD_SLOWER],
	    count[FC_WORD_FASTER], count[FC_WORD_SAME]);
	if (count[FC_WORD_NOISY])
		say(text, "%u spread too much to conclude anything from them.", count[FC_WORD_NOISY]);
	else
		say(text, "none spreads too much to be of use.");
}

static void say_extremes(const struct bench_report *r, unsigned place, char **text)
{
	const struct bench_series *worst = NULL, *best = NULL;
	for (unsigned i = 0; i < r->serieses; i++) {
		const struct bench_series *s = &r->series[i];
		enum fc_word word = s->ratio[place].word;
		if (s->control || !fc_report_counts(r, s))
			continue;
		if (word == FC_WORD_SLOWER && (!worst || s->ratio[place].ratio > worst->ratio[place].ratio))
			worst = s;
		if (word == FC_WORD_FASTER && (!best || s->ratio[place].ratio < best->ratio[place].ratio))
			best = s;
	}
	if (worst)
		say(text, "Most is lost in %s: %s (×%.2f).", worst->workload, worst->title, worst->ratio[place].ratio);
	if (best)
		say(text, "Most is gained in %s: %s (×%.2f).", best->workload, best->title, best->ratio[place].ratio);
}

static void say_cpu(const struct bench_report *r, unsigned place, char **text)
{
	double base = 0, here = 0, served = 0;
	for (unsigned i = 0; i < r->outcomes; i++) {
		double work, daemon;
		fc_report_cpu(r, r->outcome[i].workload, 0, &work, &daemon);
		base += work + (isfinite(daemon) ? daemon : 0);
		fc_report_cpu(r, r->outcome[i].workload, place, &work, &daemon);
		here += work;
		served += daemon;
	}
	if (base <= 0)
		return;
	if (isfinite(served))
		say(text,
		    "The processors worked %.1f s for it, %.1f s of that in the daemon, against %.1f s in %s: ×%.2f.",
		    here + served, served, base, r->place[0].name, (here + served) / base);
	else
		say(text,
		    "The processors worked %.1f s for it, against %.1f s in %s: ×%.2f (what a daemon needs, if there "
		    "is one, is not known).",
		    here, base, r->place[0].name, here / base);
}

/* A control that differs says that something else disturbed the run. */
static void say_controls(const struct bench_report *r, unsigned place, char **text)
{
	for (unsigned i = 0; i < r->serieses; i++) {
		const struct bench_series *s = &r->series[i];
		const struct fc_ratio *ratio = &s->ratio[place];
		if (!s->control || ratio->word == FC_WORD_ONE_RUN)
			continue;
		if (ratio->ratio > 1.1 || ratio->ratio < 1 / 1.1)
			say(text,
			    "Beware: the control %s, which should show no difference, shows ×%.2f; something else was "
			    "at work on this machine.",
			    s->workload, ratio->ratio);
	}
}

static void say_outcomes(const struct bench_report *r, char **text)
{
	for (unsigned i = 0; i < r->outcomes; i++) {
		const struct bench_report_outcome *o = &r->outcome[i];
		if (!strcmp(o->status, "missing"))
			say(text, "Skipped: %s (%s; %s).", o->workload, o->reason, o->install);
		else if (!strcmp(o->status, "failed"))
			say(text, "FAILED: %s (%s).", o->workload, o->reason);
	}
}

void fc_verdict_make(struct bench_report *r)
{
	char *text = fc_bench_copy("");
	for (unsigned p = 1; p < r->places; p++) {
		r->mean[p] = mean_of(r, p);
		say_mean(r, p, &text);
		say_words(r, p, &text);
		say_extremes(r, p, &text);
		say_cpu(r, p, &text);
		say_controls(r, p, &text);
		end_paragraph(&text);
	}
	say_outcomes(r, &text);
	if (!*text)
		say(&text, "Nothing was measured.");
	size_t n = strlen(text);
	if (text[n - 1] == '\n')
		text[n - 1] = '\0';
	free(r->verdict);
	r->verdict = text;
}
