/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The result as JSON: everything, every single run included. Its schema is
 * result.schema.json, which fusecrypt-bench(1) explains.
 */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "report.h"
#include "workload.h"

/* JSON has no NAN: unknown is null. */
static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

/* Paths need not be UTF-8; then what is not becomes '?'. */
static json_t *string(const char *text)
{
	json_t *s = json_string(text);
	if (s)
		return s;
	char *plain = fc_bench_copy(text);
	for (char *c = plain; *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	s = json_string(plain);
	free(plain);
	return s;
}

static json_t *strings(unsigned n, char **text)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(list, string(text[i]));
	return list;
}

static void put(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *machine(const struct bench_report *r)
{
	json_t *o = json_object();
	for (unsigned i = 0; i < r->facts; i++) {
		json_t *fact = json_object();
		put(fact, "title", string(r->fact[i].title));
		put(fact, "value", string(r->fact[i].value));
		put(o, r->fact[i].key, fact);
	}
	return o;
}

static json_t *places(const struct bench_report *r)
{
	json_t *list = json_array();
	for (unsigned p = 0; p < r->places; p++) {
		json_t *o = json_object();
		put(o, "name", string(r->place[p].name));
		put(o, "role", json_string(p ? "measured" : "baseline"));
		put(o, "directory", string(r->place[p].dir));
		put(o, "filesystem", string(r->place[p].type));
		put(o, "source", string(r->place[p].source));
		put(o, "host_filesystem", string(r->place[p].host_type));
		put(o, "disk", string(r->place[p].disk));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *workloads(const struct bench_report *r)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < r->outcomes; i++) {
		const struct bench_report_outcome *w = &r->outcome[i];
		json_t *o = json_object();
		put(o, "name", string(w->workload));
		put(o, "title", string(w->title));
		put(o, "does", string(w->does));
		put(o, "from", string(w->from));
		put(o, "status", string(w->status));
		put(o, "reason", string(w->reason));
		put(o, "install", string(w->install));
		json_array_append_new(list, o);
	}
	return list;
}

/* What the part, or the program that it runs, measured by itself. */
static json_t *reported(const struct bench_raw *raw)
{
	json_t *o = json_object();
	for (unsigned i = 0; i < raw->part->rows; i++) {
		const struct bench_row *row = &raw->part->row[i];
		if (row->kind == ROW_REPORTED)
			put(o, row->name, real(raw->sample.value[row->index]));
	}
	return o;
}

static json_t *runs(const struct bench *bench)
{
	json_t *list = json_array();
	for (size_t i = 0; i < bench->raws; i++) {
		const struct bench_raw *raw = &bench->raw[i];
		const struct bench_sample *s = &raw->sample;
		json_t *o = json_object();
		put(o, "workload", json_string(raw->workload->name));
		put(o, "part", json_string(fc_part_name(raw->part)));
		put(o, "place", string(bench->place[raw->place].name));
		put(o, "run", json_integer(raw->run + 1));
		put(o, "cold", json_boolean(s->cold));
		put(o, "ended_s", real(s->ended));
		put(o, "durable_s", real(s->durable));
		put(o, "cpu_workload_s", real(s->cpu_work));
		put(o, "cpu_daemon_s", real(s->cpu_daemon));
		put(o, "cpu_machine_s", real(s->cpu_machine));
		put(o, "bytes", json_integer((json_int_t)s->bytes));
		put(o, "operations", json_integer((json_int_t)s->operations));
		put(o, "reported", reported(raw));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *values_of(const struct bench_report *r, const struct bench_series *s)
{
	json_t *list = json_array();
	for (unsigned p = 0; p < r->places; p++) {
		json_t *o = json_object(), *values = json_array();
		for (unsigned i = 0; i < r->runs; i++)
			json_array_append_new(values, json_real(s->value[p][i]));
		put(o, "place", string(r->place[p].name));
		put(o, "values", values);
		put(o, "median", real(s->stats[p].median));
		put(o, "low", real(s->stats[p].low));
		put(o, "high", real(s->stats[p].high));
		put(o, "spread", real(s->stats[p].spread));
		put(o, "cpu_workload_s", real(s->cpu_work[p]));
		put(o, "cpu_daemon_s", real(s->cpu_daemon[p]));
		if (p) {
			json_t *ratio = json_object();
			put(ratio, "ratio", real(s->ratio[p].ratio));
			put(ratio, "low", real(s->ratio[p].low));
			put(ratio, "high", real(s->ratio[p].high));
			put(ratio, "coverage", real(s->ratio[p].coverage));
			put(ratio, "word", json_string(fc_word_text(s->ratio[p].word)));
			put(o, "compared", ratio);
		}
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *results(const struct bench_report *r)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < r->serieses; i++) {
		const struct bench_series *s = &r->series[i];
		json_t *o = json_object(), *published = json_null();
		if (s->published > 0) {
			published = json_object();
			put(published, "ratio", real(s->published));
			put(published, "ratio_high", s->published_high > 0 ? real(s->published_high) : json_null());
			put(published, "by", string(s->published_by));
		}
		put(o, "workload", string(s->workload));
		put(o, "part", string(s->part));
		put(o, "row", string(s->row));
		put(o, "title", string(s->title));
		put(o, "timing", string(s->timing));
		put(o, "unit", string(s->unit));
		put(o, "better", json_string(s->more_is_better ? "more" : "less"));
		put(o, "control", json_boolean(s->control));
		put(o, "cold_wanted", json_boolean(s->cold_wanted));
		put(o, "cold", json_boolean(s->cold));
		put(o, "published", published);
		put(o, "places", values_of(r, s));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *summary(const struct bench_report *r)
{
	json_t *o = json_object(), *means = json_object();
	for (unsigned p = 1; p < r->places; p++)
		put(means, r->place[p].name, real(r->mean[p]));
	put(o, "geometric_mean", means);
	put(o, "verdict", string(r->verdict));
	return o;
}

int fc_json_write(const struct bench *bench, const struct bench_report *r, FILE *out)
{
	json_t *root = json_object();
	put(root, "schema", json_string("fusecrypt-bench 1"));
	put(root, "version", string(r->version));
	put(root, "date", string(r->date));
	put(root, "command", string(r->command));
	put(root, "size", string(r->size));
	put(root, "runs_each", json_integer(r->runs));
	put(root, "machine", machine(r));
	put(root, "places", places(r));
	put(root, "warnings", strings(r->warnings, r->warning));
	put(root, "material", strings(r->notes, r->note));
	put(root, "workloads", workloads(r));
	put(root, "results", results(r));
	put(root, "runs", runs(bench));
	put(root, "summary", summary(r));
	int result = json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	fputc('\n', out);
	json_decref(root);
	return result;
}
