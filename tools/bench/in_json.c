/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A saved result, which anybody may have edited: whatever is not as it should be
 * makes the whole file refused. Statistics are computed anew.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define SERIES_MAX 1000
#define LINES_MAX 100

struct reader {
	const char *path;
	bool bad;
};

static void bad(struct reader *in, const char *what)
{
	if (!in->bad)
		fc_bench_warn("%s: not a result of this program: %s", in->path, what);
	in->bad = true;
}

static char *text_at(struct reader *in, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	if (!text)
		bad(in, key);
	return fc_bench_copy(text ? text : "");
}

static bool flag_at(struct reader *in, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	if (!json_is_boolean(value))
		bad(in, key);
	return json_is_true(value);
}

/* null is NAN. */
static double number_at(struct reader *in, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	if (!json_is_number(value) && !json_is_null(value))
		bad(in, key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static const json_t *list_at(struct reader *in, const json_t *object, const char *key, size_t most)
{
	const json_t *list = json_object_get(object, key);
	if (!json_is_array(list) || json_array_size(list) > most)
		bad(in, key);
	return list;
}

static void read_places(struct reader *in, const json_t *root, struct bench_report *r)
{
	const json_t *list = list_at(in, root, "places", BENCH_PLACES);
	for (size_t p = 0; !in->bad && p < json_array_size(list); p++) {
		const json_t *o = json_array_get(list, p);
		struct bench_report_place *place = &r->place[r->places++];
		place->name = text_at(in, o, "name");
		place->dir = text_at(in, o, "directory");
		place->type = text_at(in, o, "filesystem");
		place->source = text_at(in, o, "source");
		place->host_type = text_at(in, o, "host_filesystem");
		place->disk = text_at(in, o, "disk");
	}
	if (!in->bad && r->places < 2)
		bad(in, "places");
}

static void read_machine(struct reader *in, const json_t *root, struct bench_report *r)
{
	const json_t *machine = json_object_get(root, "machine"), *o;
	const char *key;
	if (!json_is_object(machine) || json_object_size(machine) > BENCH_FACTS) {
		bad(in, "machine");
		return;
	}
	json_object_foreach((json_t *)machine, key, o)
	{
		struct bench_fact *fact = &r->fact[r->facts++];
		fact->key = fc_bench_copy(key);
		fact->title = text_at(in, o, "title");
		fact->value = text_at(in, o, "value");
	}
}

static unsigned read_lines(struct reader *in, const json_t *root, const char *key, char ***out)
{
	const json_t *list = list_at(in, root, key, LINES_MAX);
	size_t n = in->bad ? 0 : json_array_size(list);
	*out = fc_bench_alloc((n + 1) * sizeof(**out));
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_array_get(list, i));
		if (!text)
			bad(in, key);
		(*out)[i] = fc_bench_copy(text ? text : "");
	}
	return (unsigned)n;
}

static void read_workloads(struct reader *in, const json_t *root, struct bench_report *r)
{
	const json_t *list = list_at(in, root, "workloads", BENCH_WORKLOADS);
	for (size_t i = 0; !in->bad && i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		struct bench_report_outcome *w = &r->outcome[r->outcomes++];
		w->workload = text_at(in, o, "name");
		w->title = text_at(in, o, "title");
		w->does = text_at(in, o, "does");
		w->from = text_at(in, o, "from");
		w->status = text_at(in, o, "status");
		w->reason = text_at(in, o, "reason");
		w->install = text_at(in, o, "install");
	}
}

static void read_values(struct reader *in, const json_t *o, struct bench_report *r, struct bench_series *s)
{
	const json_t *list = list_at(in, o, "places", BENCH_PLACES);
	if (!in->bad && json_array_size(list) != r->places)
		bad(in, "places of a result");
	for (unsigned p = 0; !in->bad && p < r->places; p++) {
		const json_t *place = json_array_get(list, p), *values = list_at(in, place, "values", BENCH_RUNS);
		if (!in->bad && json_array_size(values) != r->runs)
			bad(in, "values");
		s->value[p] = fc_bench_alloc(r->runs * sizeof(double));
		for (size_t i = 0; !in->bad && i < r->runs; i++) {
			s->value[p][i] = json_number_value(json_array_get(values, i));
			if (!isfinite(s->value[p][i]) || s->value[p][i] <= 0)
				bad(in, "values");
		}
		s->cpu_work[p] = number_at(in, place, "cpu_workload_s");
		s->cpu_daemon[p] = number_at(in, place, "cpu_daemon_s");
	}
}

static void read_one(struct reader *in, const json_t *o, struct bench_report *r, struct bench_series *s)
{
	char *better = text_at(in, o, "better");
	const json_t *published = json_object_get(o, "published");
	s->workload = text_at(in, o, "workload");
	s->part = text_at(in, o, "part");
	s->row = text_at(in, o, "row");
	s->title = text_at(in, o, "title");
	s->timing = text_at(in, o, "timing");
	s->unit = text_at(in, o, "unit");
	s->more_is_better = !strcmp(better, "more");
	s->control = flag_at(in, o, "control");
	s->cold_wanted = flag_at(in, o, "cold_wanted");
	s->cold = flag_at(in, o, "cold");
	free(better);
	if (json_is_object(published)) {
		s->published = number_at(in, published, "ratio");
		s->published_high = number_at(in, published, "ratio_high");
		s->published_by = text_at(in, published, "by");
	} else {
		s->published_by = fc_bench_copy("");
	}
	read_values(in, o, r, s);
}

static void read_results(struct reader *in, const json_t *root, struct bench_report *r)
{
	const json_t *list = list_at(in, root, "results", SERIES_MAX);
	size_t n = in->bad ? 0 : json_array_size(list);
	r->series = fc_bench_alloc((n + 1) * sizeof(*r->series));
	for (size_t i = 0; !in->bad && i < n; i++)
		read_one(in, json_array_get(list, i), r, &r->series[r->serieses++]);
}

static void read_root(struct reader *in, const json_t *root, struct bench_report *r)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	if (!schema || strcmp(schema, "fusecrypt-bench 1")) {
		bad(in, "schema");
		return;
	}
	double runs = number_at(in, root, "runs_each");
	if (!(runs >= 1 && runs <= BENCH_RUNS)) {
		bad(in, "runs_each");
		return;
	}
	r->runs = (unsigned)runs;
	r->version = text_at(in, root, "version");
	r->date = text_at(in, root, "date");
	r->command = text_at(in, root, "command");
	r->size = text_at(in, root, "size");
	read_places(in, root, r);
	read_machine(in, root, r);
	r->warnings = read_lines(in, root, "warnings", &r->warning);
	r->notes = read_lines(in, root, "material", &r->note);
	read_workloads(in, root, r);
	read_results(in, root, r);
}

int fc_json_read(const char *path, struct bench_report *out)
{
	struct reader in = { .path = path };
	json_error_t error;
	memset(out, 0, sizeof(*out));
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!root) {
		fc_bench_warn("%s: %s", path, error.text);
		return -1;
	}
	read_root(&in, root, out);
	json_decref(root);
	if (in.bad) {
		fc_report_free(out);
		return -1;
	}
	fc_report_conclude(out);
	return 0;
}
