/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "place.h"
#include "report.h"
#include "verdict.h"
#include "workload.h"

/* ---- values ----------------------------------------------------------------- */

static double value_of(const struct bench_row *row, const struct bench_sample *s, const char *timing)
{
	double time = strcmp(timing, "durable") ? s->ended : s->durable;
	switch (row->kind) {
	case ROW_TIME:
		return time;
	case ROW_RATE:
		return (double)s->bytes / 1e6 / time;
	case ROW_PER_SECOND:
		return (double)s->operations / time;
	case ROW_REPORTED:
		break;
	}
	return s->value[row->index];
}

static const char *unit_of(const struct bench_row *row)
{
	switch (row->kind) {
	case ROW_TIME:
		return "s";
	case ROW_RATE:
		return "MB/s";
	case ROW_PER_SECOND:
		return "/s";
	case ROW_REPORTED:
		break;
	}
	return row->unit;
}

static void take_samples(const struct bench *bench, const struct bench_workload *w, const struct bench_part *part,
			 const struct bench_row *row, struct bench_series *s)
{
	unsigned runs = bench->options->runs;
	double *cpu = fc_bench_alloc(runs * sizeof(*cpu)), *served = fc_bench_alloc(runs * sizeof(*served));
	for (unsigned p = 0; p < bench->places; p++) {
		s->value[p] = fc_bench_alloc(runs * sizeof(double));
		for (size_t i = 0; i < bench->raws; i++) {
			const struct bench_raw *raw = &bench->raw[i];
			if (raw->workload != w || raw->part != part || raw->place != p)
				continue;
			s->value[p][raw->run] = value_of(row, &raw->sample, s->timing);
			cpu[raw->run] = raw->sample.cpu_work;
			served[raw->run] = raw->sample.cpu_daemon;
			s->cold = raw->sample.cold;
		}
		s->cpu_work[p] = fc_stats_median(cpu, runs);
		s->cpu_daemon[p] = isnan(served[0]) ? NAN : fc_stats_median(served, runs);
	}
	free(cpu);
	free(served);
}

/* What a program found too fast to be timed in one run cannot be compared. */
static bool complete(const struct bench_series *s, unsigned places, unsigned runs)
{
	for (unsigned p = 0; p < places; p++)
		for (unsigned i = 0; i < runs; i++)
			if (!isfinite(s->value[p][i]) || s->value[p][i] <= 0)
				return false;
	return true;
}

static void series_free(struct bench_series *s)
{
	free(s->workload);
	free(s->part);
	free(s->row);
	free(s->title);
	free(s->timing);
	free(s->unit);
	free(s->published_by);
	for (unsigned p = 0; p < BENCH_PLACES; p++)
		free(s->value[p]);
}

static void add_series(const struct bench *bench, const struct bench_workload *w, const struct bench_part *part,
		       const struct bench_row *row, const char *timing, struct bench_report *out)
{
	struct bench_series *s = &out->series[out->serieses];
	bool durable = !strcmp(timing, "durable");
	memset(s, 0, sizeof(*s));
	s->workload = fc_bench_copy(w->name);
	s->part = fc_bench_copy(fc_part_name(part));
	s->row = fc_bench_copy(row->name);
	s->title = fc_bench_format("%s%s", row->title, durable ? ", until durable" : "");
	s->timing = fc_bench_copy(timing);
	s->unit = fc_bench_copy(unit_of(row));
	s->more_is_better = row->kind == ROW_REPORTED ? row->more_is_better : row->kind != ROW_TIME;
	s->control = w->control;
	s->cold_wanted = part->flags & PART_COLD;
	/* Who published it looked at when the program ended, but for uncached writing. */
	if (!durable || row->kind == ROW_RATE) {
		s->published = row->published.ratio;
		s->published_high = row->published.ratio_high;
	}
	s->published_by = fc_bench_copy(s->published > 0 ? row->published.by : "");
	take_samples(bench, w, part, row, s);
	if (complete(s, bench->places, bench->options->runs))
		out->serieses++;
	else
		series_free(s);
}

static void add_workload(const struct bench *bench, const struct bench_workload *w, struct bench_report *out)
{
	for (unsigned i = 0; i < w->parts; i++)
		for (unsigned j = 0; j < w->part[i].rows; j++) {
			const struct bench_part *part = &w->part[i];
			const struct bench_row *row = &part->row[j];
			if (row->kind == ROW_REPORTED) {
				add_series(bench, w, part, row, "reported", out);
				continue;
			}
			add_series(bench, w, part, row, "ended", out);
			if (part->flags & PART_WRITES)
				add_series(bench, w, part, row, "durable", out);
		}
}

/* ---- the rest ---------------------------------------------------------------- */

static char *now_text(void)
{
	char text[40];
	time_t now = time(NULL);
	struct tm tm;
	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return fc_bench_copy(text);
}

static void take_places(const struct bench *bench, struct bench_report *out)
{
	out->places = bench->places;
	for (unsigned p = 0; p < bench->places; p++) {
		const struct bench_place *from = &bench->place[p];
		struct bench_report_place *to = &out->place[p];
		to->name = fc_bench_copy(from->name);
		to->dir = fc_bench_copy(from->dir);
		to->type = fc_bench_copy(from->mount.type);
		to->source = fc_bench_copy(from->mount.source);
		to->host_type = fc_bench_copy(from->mount.host_type);
		to->disk = fc_bench_copy(from->mount.disk_text);
	}
}

static void take_outcomes(const struct bench *bench, struct bench_report *out)
{
	static const char *const status[] = { "measured", "missing", "failed" };
	size_t room = 1;
	for (unsigned i = 0; i < bench->outcomes; i++) {
		const struct bench_outcome *from = &bench->outcome[i];
		struct bench_report_outcome *to = &out->outcome[out->outcomes++];
		to->workload = fc_bench_copy(from->workload->name);
		to->title = fc_bench_copy(from->workload->title);
		to->does = fc_bench_copy(from->workload->does);
		to->from = fc_bench_copy(from->workload->from);
		to->status = fc_bench_copy(status[from->status]);
		to->reason = fc_bench_copy(from->reason ? from->reason : "");
		to->install = fc_bench_copy(from->install ? from->install : "");
		for (unsigned p = 0; p < from->workload->parts; p++)
			room += 2 * from->workload->part[p].rows;
	}
	out->series = fc_bench_alloc(room * sizeof(*out->series));
}

void fc_report_make(const struct bench *bench, const char *command, struct bench_report *out)
{
	static const char *const size[] = { "quick", "normal", "full" };
	memset(out, 0, sizeof(*out));
	out->version = fc_bench_copy(FC_VERSION);
	out->date = now_text();
	out->command = fc_bench_copy(command);
	out->size = fc_bench_copy(size[bench->options->size]);
	out->runs = bench->options->runs;
	take_places(bench, out);
	fc_machine_describe(out);
	out->warnings = fc_places_warnings(bench, &out->warning);
	out->note = fc_bench_alloc((bench->notes + 1) * sizeof(*out->note));
	for (; out->notes < bench->notes; out->notes++)
		out->note[out->notes] = fc_bench_copy(bench->note[out->notes]);
	take_outcomes(bench, out);
	for (unsigned i = 0; i < bench->outcomes; i++)
		if (bench->outcome[i].status == BENCH_MEASURED)
			add_workload(bench, bench->outcome[i].workload, out);
	fc_report_conclude(out);
}

void fc_report_conclude(struct bench_report *r)
{
	for (unsigned i = 0; i < r->serieses; i++) {
		struct bench_series *s = &r->series[i];
		for (unsigned p = 0; p < r->places; p++) {
			fc_stats_describe(s->value[p], r->runs, &s->stats[p]);
			if (p)
				fc_stats_compare(s->value[0], s->value[p], r->runs, s->more_is_better, &s->ratio[p]);
		}
	}
	fc_verdict_make(r);
}

bool fc_report_counts(const struct bench_report *r, const struct bench_series *series)
{
	if (strcmp(series->timing, "ended"))
		return true;
	for (unsigned i = 0; i < r->serieses; i++)
		if (!strcmp(r->series[i].workload, series->workload) && !strcmp(r->series[i].row, series->row) &&
		    !strcmp(r->series[i].timing, "durable"))
			return false;
	return true;
}

void fc_report_cpu(const struct bench_report *r, const char *workload, unsigned place, double *work, double *daemon)
{
	const char *last = "";
	*work = 0;
	*daemon = 0;
	/* All series of a part say the same, and they stand together. */
	for (unsigned i = 0; i < r->serieses; i++) {
		const struct bench_series *s = &r->series[i];
		if (strcmp(s->workload, workload) || !strcmp(s->part, last))
			continue;
		last = s->part;
		*work += s->cpu_work[place];
		*daemon += s->cpu_daemon[place];
	}
}

static void free_texts(unsigned n, char **text)
{
	for (unsigned i = 0; i < n; i++)
		free(text[i]);
	free(text);
}

void fc_report_free(struct bench_report *r)
{
	free(r->version);
	free(r->date);
	free(r->command);
	free(r->size);
	free(r->verdict);
	for (unsigned p = 0; p < r->places; p++) {
		struct bench_report_place *place = &r->place[p];
		char *text[] = { place->name, place->dir, place->type, place->source, place->host_type, place->disk };
		for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
			free(text[i]);
	}
	for (unsigned i = 0; i < r->facts; i++) {
		free(r->fact[i].key);
		free(r->fact[i].title);
		free(r->fact[i].value);
	}
	for (unsigned i = 0; i < r->outcomes; i++) {
		struct bench_report_outcome *o = &r->outcome[i];
		char *text[] = { o->workload, o->title, o->does, o->from, o->status, o->reason, o->install };
		for (size_t j = 0; j < sizeof(text) / sizeof(*text); j++)
			free(text[j]);
	}
	free_texts(r->warnings, r->warning);
	free_texts(r->notes, r->note);
	for (unsigned i = 0; i < r->serieses; i++)
		series_free(&r->series[i]);
	free(r->series);
	memset(r, 0, sizeof(*r));
}

/* ---- texts ------------------------------------------------------------------- */

void fc_report_value_text(double value, const char *unit, char out[48])
{
	if (!isfinite(value)) {
		snprintf(out, 48, "unknown");
		return;
	}
	int places = value <= 0 ? 2 : 2 - (int)floor(log10(value * 1.0005));
	if (places < 0)
		places = 0;
	if (places > 4)
		places = 4;
	snprintf(out, 48, "%.*f %s", places, value, unit);
}

void fc_report_published_text(const struct bench_series *s, char out[64])
{
	out[0] = '\0';
	if (s->published > 0 && s->published_high > 0)
		snprintf(out, 64, "×%.2f–%.2f %s", s->published, s->published_high, s->published_by);
	else if (s->published > 0)
		snprintf(out, 64, "×%.*f %s", s->published < 1.1 && s->published != 1 ? 3 : 2, s->published,
			 s->published_by);
}
