/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"
#include "workload.h"

enum {
	OPT_WORKLOAD = 256,
	OPT_QUICK,
	OPT_FULL,
	OPT_RUNS,
	OPT_ARCHIVE,
	OPT_FILE,
	OPT_SOURCE,
	OPT_PLAIN,
	OPT_INSIDE,
	OPT_COMPARE,
	OPT_JSON,
	OPT_CSV,
	OPT_HTML,
	OPT_HELP,
};

static const struct option longs[] = {
	{ "workload", required_argument, NULL, OPT_WORKLOAD },
	{ "quick", no_argument, NULL, OPT_QUICK },
	{ "full", no_argument, NULL, OPT_FULL },
	{ "runs", required_argument, NULL, OPT_RUNS },
	{ "archive", required_argument, NULL, OPT_ARCHIVE },
	{ "file", required_argument, NULL, OPT_FILE },
	{ "source", required_argument, NULL, OPT_SOURCE },
	{ "plain", required_argument, NULL, OPT_PLAIN },
	{ "inside", required_argument, NULL, OPT_INSIDE },
	{ "compare", required_argument, NULL, OPT_COMPARE },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "csv", required_argument, NULL, OPT_CSV },
	{ "html", required_argument, NULL, OPT_HTML },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

void fc_options_usage(void)
{
	puts("fusecrypt-bench [run] [--workload NAME,…|all] [--quick|--full] [--runs N] [--archive FILE] [--file "
	     "FILE]\n"
	     "                [--source DIR] [--plain DIR] [--inside DIR | --compare NAME=DIR …]\n"
	     "                [--json FILE] [--csv FILE] [--html FILE]\n"
	     "fusecrypt-bench list [--json]   the workloads, what each does and where it comes from\n"
	     "fusecrypt-bench report FILE…    compare saved JSON results\n"
	     "fusecrypt-bench --version | --help\n"
	     "\n"
	     "Does the same work in several directories by turns and says what it costs in each.\n"
	     "With no directory named it makes a container in the current directory, mounts it,\n"
	     "measures inside against beside it, and removes it again. See fusecrypt-bench(1).");
}

static int select_workloads(char *names, struct bench_options *out)
{
	char *save = NULL;
	unsigned chosen = 0;
	memset(out->selected, 0, sizeof(out->selected));
	for (char *w = strtok_r(names, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		bool known = !strcmp(w, "all");
		for (unsigned i = 0; i < fc_workloads_count; i++)
			if (!strcmp(w, "all") || !strcmp(w, fc_workloads[i]->name))
				known = out->selected[i] = true;
		if (!known) {
			fc_bench_warn("no workload '%s' (fusecrypt-bench list names them)", w);
			return -1;
		}
		chosen++;
	}
	if (!chosen)
		fc_bench_warn("--workload wants names");
	return chosen ? 0 : -1;
}

static int read_runs(const char *text, unsigned *out)
{
	char *end;
	long n = strtol(text, &end, 10);
	if (*end || end == text || n < 1 || n > BENCH_RUNS) {
		fc_bench_warn("--runs wants a number from 1 to %d", BENCH_RUNS);
		return -1;
	}
	*out = (unsigned)n;
	return 0;
}

static bool name_taken(const struct bench_options *o, const char *name)
{
	if (!strcmp(name, "plain") || !strcmp(name, "inside"))
		return true;
	for (unsigned i = 0; i < o->compares; i++)
		if (!strcmp(name, o->compare_name[i]))
			return true;
	return false;
}

static int read_compare(char *text, struct bench_options *out)
{
	char *mark = strchr(text, '=');
	if (!mark || mark == text || !mark[1] || strcspn(text, ",\n\t ") < (size_t)(mark - text) || mark - text > 24) {
		fc_bench_warn("--compare wants NAME=DIR, with a name of at most 24 bytes");
		return -1;
	}
	*mark = '\0';
	if (name_taken(out, text)) {
		fc_bench_warn("--compare %s: the name is taken", text);
		return -1;
	}
	/* The baseline and --inside want a place too. */
	if (out->compares == BENCH_PLACES - 2) {
		fc_bench_warn("--compare: at most %d", BENCH_PLACES - 2);
		return -1;
	}
	out->compare_name[out->compares] = text;
	out->compare_dir[out->compares++] = mark + 1;
	return 0;
}

/* Children have other current directories. */
static int absolute(const char *path, bool folder, const char *option, const char **out)
{
	struct stat st;
	char *real = realpath(path, NULL);
	if (!real || stat(real, &st) || access(real, R_OK)) {
		fc_bench_warn("%s %s: %s", option, path, strerror(errno));
		free(real);
		return -1;
	}
	if (folder ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode)) {
		fc_bench_warn("%s %s: not a %s", option, path, folder ? "directory" : "regular file");
		free(real);
		return -1;
	}
	*out = real;
	return 0;
}

static int take(int option, bool *quick, bool *full, struct bench_options *out)
{
	switch (option) {
	case OPT_WORKLOAD:
		return select_workloads(optarg, out);
	case OPT_QUICK:
		*quick = true;
		return 0;
	case OPT_FULL:
		*full = true;
		return 0;
	case OPT_RUNS:
		return read_runs(optarg, &out->runs);
	case OPT_ARCHIVE:
		return absolute(optarg, false, "--archive", &out->archive);
	case OPT_FILE:
		return absolute(optarg, false, "--file", &out->file);
	case OPT_SOURCE:
		return absolute(optarg, true, "--source", &out->source);
	case OPT_PLAIN:
		out->plain = optarg;
		return 0;
	case OPT_INSIDE:
		out->inside = optarg;
		return 0;
	case OPT_COMPARE:
		return read_compare(optarg, out);
	case OPT_JSON:
		out->json = optarg;
		return 0;
	case OPT_CSV:
		out->csv = optarg;
		return 0;
	case OPT_HTML:
		out->html = optarg;
		return 0;
	default:
		return -1;
	}
}

int fc_options_read(int argc, char **argv, struct bench_options *out)
{
	bool quick = false, full = false;
	int option;
	memset(out, 0, sizeof(*out));
	out->runs = 3;
	for (unsigned i = 0; i < fc_workloads_count; i++)
		out->selected[i] = true;
	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (option == OPT_HELP) {
			fc_options_usage();
			return 1;
		}
		if (take(option, &quick, &full, out))
			return -1;
	}
	if (optind < argc) {
		fc_bench_warn("'%s' is not an option; see fusecrypt-bench --help", argv[optind]);
		return -1;
	}
	if (quick && full) {
		fc_bench_warn("--quick and --full exclude each other");
		return -1;
	}
	out->size = quick ? BENCH_QUICK : full ? BENCH_FULL : BENCH_NORMAL;
	return 0;
}
