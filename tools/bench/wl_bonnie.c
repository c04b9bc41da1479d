/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bonnie++, and its comma-separated report. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "external.h"
#include "workload.h"

/* MiB of its file, of "memory" (it insists on half), thousands of files */
static const struct {
	unsigned file, memory, files;
} sizes[] = { { 64, 32, 1 }, { 512, 256, 8 }, { 8192, 4096, 64 } };

#define FIELDS 60
#define PAUSE 3.0 /* seconds */
#define VALUE_FILE_TIME 5
/* Places in a line of format 1.98, from 0; 1.96 and 1.97 lack two settings before them. */
enum {
	FIELD_WRITE = 11,
	FIELD_READ = 17,
	FIELD_SEEKS = 19,
	FIELD_SEQ_CREATE = 26,
	FIELD_RANDOM_READ = 34,
	FIELD_LAST = 37,
};
static const unsigned fields[] = { FIELD_WRITE, FIELD_READ, FIELD_SEEKS, FIELD_SEQ_CREATE, FIELD_RANDOM_READ };

static int available(const struct bench *bench, char **reason, char **install)
{
	(void)bench;
	return fc_external_need("bonnie++", "bonnie++", reason, install);
}

static void needs(const struct bench *bench, struct bench_needs *needs)
{
	enum bench_size size = bench->options->size;
	needs->each = ((uint64_t)sizes[size].file << 20) + (uint64_t)sizes[size].files * 1024 * 4608;
}

/* What bonnie++ found too fast to be timed is "+++++". */
static double figure(const char *text)
{
	char *end;
	double value = strtod(text, &end);
	return end == text || *end || value <= 0 ? NAN : value;
}

static int take_line(struct bench_step *step, char *line)
{
	char *field[FIELDS] = { 0 };
	unsigned n = 0;
	for (char *at = line; at && n < FIELDS; n++)
		field[n] = strsep(&at, ",");
	bool older = !strcmp(field[0], "1.96") || !strcmp(field[0], "1.97");
	unsigned back = older ? 2 : 0;
	if (n <= FIELD_LAST || (!older && strcmp(field[0], "1.98")))
		return fc_step_fail(step, "this bonnie++ reports in a form that is not known");
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		/* KB/s become MB/s */
		double unit = fields[i] == FIELD_WRITE || fields[i] == FIELD_READ ? 1024.0 / 1e6 : 1;
		step->shared->sample.value[i] = figure(field[fields[i] - back]) * unit;
	}
	return 0;
}

/* Runs it on a file or on many, and takes the figures from its last line. */
static int run_program(struct bench_step *step, const char *file, const char *memory, const char *files)
{
	char *output = NULL, *user = fc_bench_format("%u:%u", geteuid(), getegid());
	const char *argv[] = { "bonnie++", "-d", ".",  "-s", file, "-r", memory, "-n",    files,
			       "-u",       user, "-f", "-q", "-z", "1",  "-m",   "bench", NULL };
	int result = fc_external_run(step, argv, &output);
	if (!result) {
		char *end = output + strlen(output);
		while (end > output && end[-1] == '\n')
			*--end = '\0';
		char *line = strrchr(output, '\n');
		result = take_line(step, line ? line + 1 : output);
	}
	free(output);
	free(user);
	return result;
}

static int run_file(struct bench_step *step)
{
	enum bench_size size = step->bench->options->size;
	char *file = fc_bench_format("%u", sizes[size].file), *memory = fc_bench_format("%u", sizes[size].memory);
	double begin = fc_bench_now();
	int result = run_program(step, file, memory, "0");
	double took = fc_bench_now() - begin;
	/* Before the seeks it does nothing for this long. */
	step->shared->sample.value[VALUE_FILE_TIME] = took > PAUSE ? took - PAUSE : took;
	free(file);
	free(memory);
	return result;
}

static int run_files(struct bench_step *step)
{
	char *files = fc_bench_format("%u:1024:1024:16", sizes[step->bench->options->size].files);
	int result = run_program(step, "0", "0", files);
	step->shared->sample.operations = sizes[step->bench->options->size].files * UINT64_C(1024);
	free(files);
	return result;
}

static const struct bench_row file_rows[] = {
	{ .name = "file", .title = "one large file", .kind = ROW_REPORTED, .unit = "s", .index = VALUE_FILE_TIME },
	{ .name = "seq-write",
	  .title = "sequential write",
	  .kind = ROW_REPORTED,
	  .unit = "MB/s",
	  .more_is_better = true,
	  .index = 0 },
	{ .name = "seq-read",
	  .title = "sequential read",
	  .kind = ROW_REPORTED,
	  .unit = "MB/s",
	  .more_is_better = true,
	  .index = 1,
	  .published = { 132673.0 / 69805.0, 0, "dm-crypt" } },
	{ .name = "seeks", .title = "seeks", .kind = ROW_REPORTED, .unit = "/s", .more_is_better = true, .index = 2 },
};

static const struct bench_row files_rows[] = {
	{ .name = "files", .title = "many files", .kind = ROW_TIME },
	{ .name = "create",
	  .title = "sequential create",
	  .kind = ROW_REPORTED,
	  .unit = "/s",
	  .more_is_better = true,
	  .index = 3,
	  .published = { 6625.0 / 5264.0, 0, "dm-crypt" } },
	{ .name = "random-read",
	  .title = "random read of files",
	  .kind = ROW_REPORTED,
	  .unit = "/s",
	  .more_is_better = true,
	  .index = 4,
	  .published = { 28820.0 / 18788.0, 0, "dm-crypt" } },
};

static const struct bench_part parts[] = {
	{ .name = "file", .flags = PART_COLD | PART_WRITES, .run = run_file, .row = file_rows, .rows = 4 },
	{ .name = "files", .flags = PART_WRITES, .run = run_files, .row = files_rows, .rows = 3 },
};

const struct bench_workload fc_workload_bonnie = {
	.name = "bonnie",
	.title = "bonnie++",
	.does = "bonnie++: sequential reading and writing, seeks, creation of files (figures that are too fast for it "
		"to "
		"time are left out)",
	.from = "the dm-crypt tests on an Intel 320 (one core decrypts: 132,673 KB/s became 69,805) and on an Eee PC",
	.available = available,
	.programs = "bonnie++",
	.needs = needs,
	.part = parts,
	.parts = 2,
};
