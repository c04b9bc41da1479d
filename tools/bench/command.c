/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `fusecrypt-bench run`: from options to outputs, and everything removed again. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive.h"
#include "command.h"
#include "files.h"
#include "options.h"
#include "own.h"
#include "place.h"
#include "progress.h"
#include "report.h"
#include "run.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_SPACE = 9, EXIT_INTERRUPTED = 130 };

/* ---- outputs ------------------------------------------------------------------ */

/* Measuring for an hour and then not being able to write it down must not be. */
static int check_output(const char *option, const char *path)
{
	struct stat st;
	if (!path || !strcmp(path, "-"))
		return 0;
	char *copy = fc_bench_copy(path);
	bool there = !stat(path, &st);
	bool can = there ? !S_ISDIR(st.st_mode) && !access(path, W_OK) : !access(dirname(copy), W_OK | X_OK);
	if (!can)
		fc_bench_warn("%s %s: it cannot be written%s", option, path,
			      there && S_ISDIR(st.st_mode) ? ": it is a directory" : "");
	free(copy);
	return can ? 0 : -1;
}

static FILE *open_output(const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "we") : stdout;
	if (!f)
		fc_bench_warn("%s: %s", path, strerror(errno));
	return f;
}

static int close_output(FILE *f, const char *path)
{
	bool failed = ferror(f) || fflush(f);
	if (f != stdout && fclose(f))
		failed = true;
	if (failed)
		fc_bench_warn("%s: could not be written", path);
	return failed ? -1 : 0;
}

static bool takes_stdout(const struct bench_options *o)
{
	const char *path[] = { o->json, o->csv, o->html };
	for (size_t i = 0; i < sizeof(path) / sizeof(*path); i++)
		if (path[i] && !strcmp(path[i], "-"))
			return true;
	return false;
}

static int write_outputs(const struct bench *bench, const struct bench_report *report)
{
	const struct bench_options *o = bench->options;
	FILE *f;
	int result = 0;
	if (!takes_stdout(o)) {
		fc_table_write(report, stdout);
		result |= close_output(stdout, "standard output");
	}
	if (o->json && (f = open_output(o->json))) {
		fc_json_write(bench, report, f);
		result |= close_output(f, o->json);
	} else if (o->json) {
		result = -1;
	}
	if (o->csv && (f = open_output(o->csv))) {
		fc_csv_write(bench, f);
		result |= close_output(f, o->csv);
	} else if (o->csv) {
		result = -1;
	}
	if (o->html && (f = open_output(o->html))) {
		fc_html_write(report, f);
		result |= close_output(f, o->html);
	} else if (o->html) {
		result = -1;
	}
	return result;
}

/* ---- preparing ------------------------------------------------------------------ */

/* As a shell takes it, so that it can be repeated. */
static char *command_text(int argc, char **argv)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
	char *all = fc_bench_copy("fusecrypt-bench");
	for (int i = 1; i < argc; i++) {
		bool safe = *argv[i] && strspn(argv[i], plain) == strlen(argv[i]);
		char *more = fc_bench_format("%s %s", all, safe ? "" : "'");
		free(all);
		all = more;
		for (const char *c = argv[i]; *c; c++) {
			more = *c == '\'' ? fc_bench_format("%s'\\''", all) : fc_bench_format("%s%c", all, *c);
			free(all);
			all = more;
		}
		more = fc_bench_format("%s%s", all, safe ? "" : "'");
		free(all);
		all = more;
	}
	return all;
}

#define SCRATCH_PATH 50 /* bytes at most: sockets must fit below it */

static char *make_scratch(void)
{
	const char *tmp = getenv("TMPDIR");
	char *path = fc_bench_format("%s/fusecrypt-bench.XXXXXX",
				     tmp && tmp[0] == '/' && strlen(tmp) <= SCRATCH_PATH ? tmp : "/tmp");
	if (mkdtemp(path))
		return path;
	fc_bench_warn("%s: %s", path, strerror(errno));
	free(path);
	return NULL;
}

static char *program_dir(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n < 0)
		return fc_bench_copy(".");
	path[n] = '\0';
	return fc_bench_copy(dirname(path));
}

static int scan(struct bench_step *step, const void *arg)
{
	struct fc_archive_size size;
	if (fc_archive_scan(step, arg, &size))
		return -1;
	step->shared->keep[0] = size.files;
	step->shared->keep[1] = size.bytes;
	return 0;
}

static bool selected(const struct bench_options *o, const char *name)
{
	for (unsigned i = 0; i < fc_workloads_count; i++)
		if (!strcmp(fc_workloads[i]->name, name))
			return o->selected[i];
	return false;
}

/* The user's archive is looked at before anything is made: whether it is whole,
 * and how much room its content needs. */
static int check_archive(struct bench *bench)
{
	struct bench_step step = { .bench = bench, .shared = bench->shared };
	const char *archive = bench->options->archive;
	if (!archive || !selected(bench->options, "extract"))
		return 0;
	if (fc_step_run(bench, &step, "/", "looking at the archive", scan, archive)) {
		fc_progress_clear(bench->progress);
		if (!bench->interrupted)
			fc_bench_warn("%s", bench->shared->error);
		return -1;
	}
	bench->archive_files = bench->shared->keep[0];
	bench->archive_bytes = bench->shared->keep[1];
	return 0;
}

static int open_places(struct bench *bench, struct bench_own *own)
{
	const struct bench_options *o = bench->options;
	const char *plain = o->plain ? o->plain : ".";
	if (fc_place_add(bench, "plain", plain))
		return -1;
	if (!o->inside && !o->compares) {
		if (fc_own_open(bench, own, bench->place[0].dir) || fc_place_add(bench, "inside", own->mountpoint))
			return -1;
	}
	/* From now on what a child leaves behind becomes ours, so that we can wait for
	 * it; the daemon of the mount above must not. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (o->inside && fc_place_add(bench, "inside", o->inside))
		return -1;
	for (unsigned i = 0; i < o->compares; i++)
		if (fc_place_add(bench, o->compare_name[i], o->compare_dir[i]))
			return -1;
	return 0;
}

/* ---- doing ----------------------------------------------------------------------- */

static void measure_all(struct bench *bench)
{
	const struct bench_options *o = bench->options;
	unsigned steps = 0;
	for (unsigned i = 0; i < fc_workloads_count; i++)
		steps += o->selected[i] ? fc_run_steps(bench, fc_workloads[i]) : 0;
	fc_progress_expect(bench->progress, steps);
	for (unsigned i = 0; i < fc_workloads_count && !bench->interrupted; i++)
		if (o->selected[i])
			fc_run_workload(bench, fc_workloads[i]);
	fc_progress_clear(bench->progress);
}

static int status_of(const struct bench *bench)
{
	for (unsigned i = 0; i < bench->outcomes; i++)
		if (bench->outcome[i].status == BENCH_FAILED)
			return EXIT_FAILED;
	return EXIT_DONE;
}

/* All that happens between making places and removing them. */
static int measure(struct bench *bench, struct bench_own *own, const char *command, struct bench_report *report)
{
	bench->scratch = make_scratch();
	if (!bench->scratch || check_archive(bench) || open_places(bench, own))
		return EXIT_FAILED;
	if (fc_places_check_space(bench))
		return EXIT_SPACE;
	measure_all(bench);
	if (!bench->interrupted)
		fc_report_make(bench, command, report);
	return status_of(bench);
}

static void bench_free(struct bench *bench)
{
	for (unsigned i = 0; i < bench->outcomes; i++) {
		free(bench->outcome[i].reason);
		free(bench->outcome[i].install);
	}
	for (unsigned i = 0; i < bench->notes; i++)
		free(bench->note[i]);
	if (bench->scratch)
		fc_files_remove(bench->scratch);
	free(bench->scratch);
	free(bench->raw);
	free(bench->program_dir);
	fc_progress_free(bench->progress);
	munmap(bench->shared, sizeof(*bench->shared));
}

static int run(const struct bench_options *options, const char *command)
{
	struct bench bench = { .options = options, .can_drop = fc_run_can_drop() };
	struct bench_own own = { 0 };
	struct bench_report report = { 0 };
	bench.shared = mmap(NULL, sizeof(*bench.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bench.shared == MAP_FAILED) {
		fc_bench_warn("no memory");
		return EXIT_FAILED;
	}
	bench.progress = fc_progress_new();
	bench.program_dir = program_dir();
	fc_step_begin();
	int status = measure(&bench, &own, command, &report);
	if (bench.interrupted)
		fc_progress_say(bench.progress, "fusecrypt-bench: interrupted, cleaning up");
	/* Outputs name places by their bench, which forgets them when they are closed. */
	if (report.verdict && write_outputs(&bench, &report))
		status = EXIT_FAILED;
	int places = fc_places_close(&bench);
	if (fc_own_close(&bench, &own) || places)
		status = EXIT_FAILED;
	if (bench.interrupted)
		status = EXIT_INTERRUPTED;
	fc_report_free(&report);
	bench_free(&bench);
	return status;
}

int fc_command_run(int argc, char **argv)
{
	struct bench_options options;
	char *command = command_text(argc, argv);
	int result = fc_options_read(argc, argv, &options);
	if (result > 0)
		result = EXIT_DONE;
	else if (result < 0 || check_output("--json", options.json) || check_output("--csv", options.csv) ||
		 check_output("--html", options.html))
		result = EXIT_USAGE;
	else
		result = run(&options, command);
	free(command);
	free((char *)options.archive);
	free((char *)options.file);
	free((char *)options.source);
	return result;
}
