/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiling a source tree that lies in the directory. */
#include <errno.h>
#include <fts.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "external.h"
#include "files.h"
#include "workload.h"

/* How a tree says that it is to be built: the first file that is there counts. */
static const struct way {
	const char *file, *programs, *packages;
} ways[] = {
	{ "meson.build", "cc meson ninja", "gcc meson ninja-build" },
	{ "CMakeLists.txt", "cc cmake make", "gcc cmake make" },
	{ "configure", "cc make", "gcc make" },
	{ "GNUmakefile", "cc make", "gcc make" },
	{ "Makefile", "cc make", "gcc make" },
	{ "makefile", "cc make", "gcc make" },
};
enum { WAY_MESON, WAY_CMAKE, WAY_CONFIGURE };

static bool has(const char *dir, const char *name)
{
	char *path = fc_bench_format("%s/%s", dir, name);
	bool is = !access(path, R_OK);
	free(path);
	return is;
}

/* This program's own source, as the build folder that it lies in tells; NULL if
 * it lies elsewhere. The caller frees it. */
static char *own_source(const struct bench *bench)
{
	json_error_t error;
	char *path = fc_bench_format("%s/../meson-info/meson-info.json", bench->program_dir), *source = NULL;
	json_t *info = json_load_file(path, 0, &error);
	const char *dir = json_string_value(json_object_get(json_object_get(info, "directories"), "source"));
	if (dir && has(dir, "meson.build"))
		source = fc_bench_copy(dir);
	json_decref(info);
	free(path);
	return source;
}

static char *source_of(const struct bench *bench)
{
	return bench->options->source ? fc_bench_copy(bench->options->source) : own_source(bench);
}

static int way_of(const char *source)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (has(source, ways[i].file))
			return (int)i;
	return -1;
}

static int available(const struct bench *bench, char **reason, char **install)
{
	char *source = source_of(bench);
	if (!source) {
		*reason = fc_bench_copy("no source tree: this program was installed");
		*install = fc_bench_copy("name one with --source DIR");
		return -1;
	}
	int way = way_of(source), result = 0;
	if (way < 0) {
		*reason = fc_bench_format("%s has no meson.build, CMakeLists.txt, configure or Makefile", source);
		*install = fc_bench_copy("name a source tree with --source DIR");
		result = -1;
	} else {
		result = fc_external_need(ways[way].programs, ways[way].packages, reason, install);
	}
	free(source);
	return result;
}

/* Histories and what was built before are not source. */
static bool not_source(const char *path, const char *name)
{
	return !strcmp(name, ".git") || !strcmp(name, ".hg") || !strcmp(name, ".svn") || has(path, "meson-info") ||
	       has(path, "CMakeCache.txt");
}

static uint64_t tree_bytes(const char *dir)
{
	char *roots[] = { (char *)dir, NULL };
	uint64_t bytes = 0;
	FTSENT *e;
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	while (fts && (e = fts_read(fts))) {
		if (e->fts_info == FTS_D && e->fts_level > 0 && not_source(e->fts_accpath, e->fts_name))
			fts_set(fts, e, FTS_SKIP);
		else if (e->fts_info == FTS_F)
			bytes += (uint64_t)e->fts_statp->st_size + 4096;
	}
	if (fts)
		fts_close(fts);
	return bytes;
}

/* Objects with debugging information are several times as large as the source. */
static void needs(const struct bench *bench, struct bench_needs *needs)
{
	char *source = source_of(bench);
	if (source) {
		needs->stock = tree_bytes(source);
		needs->each = needs->stock * 10 + (32u << 20);
	}
	free(source);
}

static int stock(struct bench_step *step)
{
	char *source = source_of(step->bench), text[32];
	if (!source || fc_files_copy(step, source, "source", not_source))
		return -1;
	fc_bench_bytes_text(tree_bytes("source"), text);
	const char *slash = strrchr(source, '/');
	fc_step_note(step, "the source tree %s, %s, built by means of its %s",
		     step->bench->options->source ? (slash ? slash + 1 : source) : "of fusecrypt", text,
		     ways[way_of(source)].file);
	free(source);
	return 0;
}

/* A fresh copy, configured. */
static int prepare(struct bench_step *step)
{
	char *from = fc_bench_format("%s/source", step->stock);
	int error = fc_files_remove("source");
	if (error) {
		errno = error;
		return fc_step_fail_errno(step, "removing what was built before");
	}
	if (fc_files_copy(step, from, "source", NULL))
		return -1;
	free(from);
	if (chdir("source"))
		return fc_step_fail_errno(step, "source");
	int way = way_of(".");
	const char *meson[] = { "meson", "setup", "build", NULL };
	/* Of fusecrypt itself only what needs nothing but a compiler and libraries. */
	const char *own[] = { "meson", "setup", "build", "-Dtests=false", "-Dbench=disabled", NULL };
	const char *cmake[] = { "cmake", "-B", "build", NULL };
	const char *configure[] = { "/bin/sh", "./configure", NULL };
	const char *const *argv = way == WAY_MESON       ? (step->bench->options->source ? meson : own)
				  : way == WAY_CMAKE     ? cmake
				  : way == WAY_CONFIGURE ? configure
							 : NULL;
	struct fc_tree_digest configured;
	if ((argv && fc_external_run(step, argv, NULL)) || fc_files_digest(step, ".", &configured))
		return -1;
	uint64_t *files = fc_bench_alloc(sizeof(*files));
	*files = configured.files;
	step->local = files;
	return 0;
}

static int run(struct bench_step *step)
{
	int way = way_of(".");
	char *jobs = fc_bench_format("-j%ld", sysconf(_SC_NPROCESSORS_ONLN));
	/* The library is the larger half of fusecrypt: enough for a quick look. */
	bool part = !step->bench->options->source && step->bench->options->size == BENCH_QUICK;
	const char *ninja[] = { "ninja", "-C", "build", jobs, part ? "src/libfusecrypt.a" : NULL, NULL };
	const char *make_below[] = { "make", "-C", "build", jobs, NULL };
	const char *make[] = { "make", jobs, NULL };
	int result = fc_external_run(step, way == WAY_MESON ? ninja : way == WAY_CMAKE ? make_below : make, NULL);
	free(jobs);
	if (chdir(".."))
		return fc_step_fail_errno(step, "..");
	return result;
}

/* The compiler would have noticed a wrong source; here, that something was made. */
static int verify(struct bench_step *step)
{
	struct fc_tree_digest built;
	const uint64_t *configured = step->local;
	if (fc_files_digest(step, "source", &built))
		return -1;
	if (built.files <= *configured)
		return fc_step_fail(step, "wrong data: the build succeeded but made nothing");
	return 0;
}

static const struct bench_row rows[] = {
	{ .name = "compile", .title = "build a source tree", .kind = ROW_TIME, .published = { 1.036, 0, "dm-crypt" } },
};

static const struct bench_part parts[] = {
	{ .flags = PART_COLD | PART_WRITES, .prepare = prepare, .run = run, .verify = verify, .row = rows, .rows = 1 },
};

const struct bench_workload fc_workload_compile = {
	.name = "compile",
	.title = "Compile",
	.does = "builds a source tree: fusecrypt's own, or another one that has a meson.build, CMakeLists.txt, "
		"configure "
		"or Makefile (--source DIR)",
	.from = "the dm-crypt test on an Eee PC, with ImageMagick",
	.available = available,
	.programs = "cc, meson, ninja (for another source: cmake or make)",
	.needs = needs,
	.stock = stock,
	.setup = NULL,
	.part = parts,
	.parts = 1,
};
