/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turning a directory into a protected one, beside copying it. All of it happens on the
 * file system of the baseline, whatever the other places lie on: that is where the
 * directory is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "external.h"
#include "files.h"
#include "own.h"
#include "workload.h"

#define SEED 60
#define SMALL_BYTES (16u << 10)
#define FOLDER_FILES 200 /* in a folder */

static const struct shape {
	unsigned files;
	uint64_t large; /* bytes of one more file */
} shapes[] = {
	[BENCH_QUICK] = { 1000, 32u << 20 },
	[BENCH_NORMAL] = { 10000, 512u << 20 },
	[BENCH_FULL] = { 50000, UINT64_C(4) << 30 },
};

enum { KEEP_BYTES, KEEP_HASH };

static const struct shape *shape_of(const struct bench *bench)
{
	return &shapes[bench->options->size];
}

static int available(const struct bench *bench, char **reason, char **install)
{
	char *program = fc_own_find(bench->program_dir);

	*reason = program ? NULL : fc_bench_copy("fusecrypt is neither beside this program nor in PATH");
	*install = program ? NULL : fc_bench_copy("install fusecrypt");
	free(program);
	return *reason ? -1 : fc_external_need("cp", "coreutils", reason, install);
}

static void needs(const struct bench *bench, struct bench_needs *needs)
{
	const struct shape *s = shape_of(bench);

	/* the tree and one copy of it; a container's own */
	needs->stock = 2 * (s->large + (uint64_t)s->files * SMALL_BYTES) + (96u << 20);
	needs->each = 0;
}

/* ---- the directory --------------------------------------------------------------- */

static int make_files(struct bench_step *step, unsigned files)
{
	struct fc_pattern pattern;
	char path[64];
	int result = 0;

	fc_pattern_open(&pattern, SEED);
	for (unsigned i = 0; !result && i < files; i++) {
		snprintf(path, sizeof(path), "tree/folder-%u", i / FOLDER_FILES);
		if (i % FOLDER_FILES == 0 && mkdir(path, 0755))
			result = fc_step_fail_errno(step, "%s", path);
		snprintf(path, sizeof(path), "tree/folder-%u/file-%u", i / FOLDER_FILES, i);
		if (!result)
			result = fc_pattern_write(step, &pattern, path, SMALL_BYTES);
		fc_step_progress(step, i, files);
	}
	fc_pattern_close(&pattern);
	return result;
}

static int stock(struct bench_step *step)
{
	const struct shape *s = shape_of(step->bench);
	uint64_t *keep = step->shared->keep;
	struct fc_tree_digest digest;
	uint8_t key[64];
	char text[32];

	if (mkdir("tree", 0755) || mkdir("home", 0700))
		return fc_step_fail_errno(step, "making directories");
	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return fc_step_fail_errno(step, "getrandom");
	if (fc_file_save(step, "key", key, sizeof(key)) || make_files(step, s->files) ||
	    fc_pattern_write_file(step, "tree/large", s->large, SEED) || fc_files_digest(step, "tree", &digest))
		return -1;
	keep[KEEP_BYTES] = digest.bytes;
	keep[KEEP_HASH] = digest.hash;
	fc_bench_bytes_text(digest.bytes, text);
	fc_step_note(step, "%u files and a large one, %s; plain: cp -a; else: protect", s->files, text);
	return 0;
}

/* ---- measuring --------------------------------------------------------------------- */

static bool is_baseline(const struct bench_step *step)
{
	return step->place == &step->bench->place[0];
}

/* Its own registry: the user's is left alone. */
static int run_fusecrypt(struct bench_step *step, const char *command, const char *dir, bool with_key)
{
	char *program = fc_own_find(step->bench->program_dir), *home = fc_bench_format("%s/home", step->stock);
	char *key = fc_bench_format("%s/key", step->stock);
	const char *argv[] = { program, command, dir, with_key ? "--key-file" : NULL, key, NULL };
	int result;

	if (!program)
		return fc_step_fail(step, "fusecrypt is gone");
	setenv("XDG_CONFIG_HOME", home, 1);
	setenv("XDG_STATE_HOME", home, 1);
	result = fc_external_run(step, argv, NULL);
	free(program);
	free(home);
	free(key);
	return result;
}

static int make_room(struct bench_step *step)
{
	char *one = fc_bench_format("%s/one", step->stock);
	int error = fc_files_remove(one);

	if (!error && mkdir(one, 0755))
		error = errno;
	if (error)
		fc_step_fail(step, "%s: %s", one, strerror(error));
	free(one);
	return error ? -1 : 0;
}

static int copy_tree(struct bench_step *step)
{
	char *from = fc_bench_format("%s/tree", step->stock), *to = fc_bench_format("%s/one/d", step->stock);
	const char *argv[] = { "cp", "-a", from, to, NULL };
	int result = fc_external_run(step, argv, NULL);

	free(from);
	free(to);
	return result;
}

static int prepare(struct bench_step *step)
{
	int result = make_room(step);

	if (!result && !is_baseline(step))
		result = copy_tree(step);
	sync();
	return result;
}

static int run(struct bench_step *step)
{
	char *dir = fc_bench_format("%s/one/d", step->stock);
	int result;

	step->shared->sample.bytes = step->shared->keep[KEEP_BYTES];
	if (is_baseline(step)) {
		result = copy_tree(step);
		sync(); /* protect too returns when all is durable */
	} else {
		result = run_fusecrypt(step, "protect", dir, true);
	}
	free(dir);
	return result;
}

static int verify(struct bench_step *step)
{
	char *dir = fc_bench_format("%s/one/d", step->stock);
	struct fc_tree_digest digest;
	int result = fc_files_digest(step, dir, &digest);

	if (!result && (digest.bytes != step->shared->keep[KEEP_BYTES] || digest.hash != step->shared->keep[KEEP_HASH]))
		result = fc_step_fail(step, "%s: wrong data: not what was moved", dir);
	if (!is_baseline(step)) {
		int back = run_fusecrypt(step, "unprotect", dir, true);

		result = result ? result : back;
	}
	if (!result)
		result = fc_files_digest(step, dir, &digest);
	if (!result && digest.hash != step->shared->keep[KEEP_HASH])
		result = fc_step_fail(step, "%s: wrong data: not what was there before", dir);
	free(dir);
	return result;
}

/* It may have been interrupted while a container was mounted there. */
static int cleanup(struct bench_step *step)
{
	char *dir = fc_bench_format("%s/one/d", step->stock), *parent = fc_bench_format("%s/one", step->stock);
	struct stat st, up;

	if (!stat(dir, &st) && !stat(parent, &up) && st.st_dev != up.st_dev)
		(void)run_fusecrypt(step, "umount", dir, false);
	/* a locked directory may be immutable; nothing is in it but its marker */
	if (!access(parent, F_OK))
		(void)run_fusecrypt(step, "unprotect", dir, true);
	step->shared->error[0] = '\0';
	free(dir);
	free(parent);
	return 0;
}

static const struct bench_row rows[] = {
	{ .name = "convert", .title = "protect, beside cp -a and sync", .kind = ROW_RATE },
};

static const struct bench_part parts[] = {
	{ .flags = PART_COLD, .prepare = prepare, .run = run, .verify = verify, .row = rows, .rows = 1 },
};

const struct bench_workload fc_workload_convert = {
	.name = "convert",
	.title = "Protect a directory in place",
	.does = "turns a directory of the baseline's file system into a protected one, until all of it is durable; in "
		"the baseline the same directory is copied by cp -a, and synced",
	.from = "FileVault, which could only take a whole home directory, and needed as much free space again",
	.available = available,
	.programs = "fusecrypt",
	.needs = needs,
	.stock = stock,
	.cleanup = cleanup,
	.part = parts,
	.parts = 1,
};
