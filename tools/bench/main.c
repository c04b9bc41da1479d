/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "command.h"
#include "options.h"
#include "report.h"
#include "workload.h"

/* ---- list -------------------------------------------------------------------- */

static int list_json(void)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < fc_workloads_count; i++) {
		const struct bench_workload *w = fc_workloads[i];
		json_t *o = json_object();
		json_object_set_new(o, "name", json_string(w->name));
		json_object_set_new(o, "title", json_string(w->title));
		json_object_set_new(o, "does", json_string(w->does));
		json_object_set_new(o, "from", json_string(w->from));
		json_object_set_new(o, "control", json_boolean(w->control));
		json_object_set_new(o, "programs", w->programs ? json_string(w->programs) : json_null());
		json_array_append_new(list, o);
	}
	json_t *root = json_pack("{s:o}", "workloads", list);
	int result = json_dumpf(root, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(root);
	return result || fflush(stdout) ? 1 : 0;
}

static int list(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--json"))
		return list_json();
	if (argc > 1) {
		fc_bench_warn("list takes --json only");
		return 2;
	}
	for (unsigned i = 0; i < fc_workloads_count; i++) {
		const struct bench_workload *w = fc_workloads[i];
		printf("%s%s%s%s\n    %s.\n    From: %s.\n", w->name, w->programs ? " (by " : "",
		       w->programs ? w->programs : "", w->programs ? ")" : "", w->does, w->from);
	}
	return 0;
}

/* ---- report ------------------------------------------------------------------ */

static int show(struct bench_report *reports, char **names, unsigned n)
{
	unsigned places = 0;
	if (n == 1) {
		fc_table_write(&reports[0], stdout);
		return 0;
	}
	for (unsigned i = 0; i < n; i++)
		places += reports[i].places - 1;
	if (places > BENCH_COMPARED) {
		fc_bench_warn("these results have %u directories in all; %d can be compared", places, BENCH_COMPARED);
		return 1;
	}
	fc_table_compare(reports, (const char *const *)names, n, stdout);
	return 0;
}

static int report(int argc, char **argv)
{
	unsigned n = 0;
	int result = 0;
	if (argc < 2 || argv[1][0] == '-') {
		fc_bench_warn("report wants files that --json wrote");
		return 2;
	}
	struct bench_report *reports = fc_bench_alloc((size_t)argc * sizeof(*reports));
	for (; !result && n + 1 < (unsigned)argc; n++)
		result = fc_json_read(argv[n + 1], &reports[n]) ? 1 : 0;
	if (!result)
		result = show(reports, argv + 1, n);
	for (unsigned i = 0; i < n; i++)
		fc_report_free(&reports[i]);
	free(reports);
	return result || fflush(stdout) ? 1 : 0;
}

/* ---- dispatch ----------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*call)(int argc, char **argv);
} commands[] = { { "run", fc_command_run }, { "list", list }, { "report", report } };

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--version")) {
		puts("fusecrypt-bench " FC_VERSION);
		return 0;
	}
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))) {
		fc_options_usage();
		return 0;
	}
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].call(argc - 1, argv + 1);
	return fc_command_run(argc, argv);
}
