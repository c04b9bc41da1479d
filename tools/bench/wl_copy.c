/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copying one large file from one place in the directory to another. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "workload.h"

#define SEED 20
#define FROM "from/file"
#define TO "to/file"

static const uint64_t bytes_of[] = {
	[BENCH_QUICK] = 64u << 20,
	[BENCH_NORMAL] = UINT64_C(1) << 30,
	[BENCH_FULL] = UINT64_C(5730000000) / PATTERN_UNIT * PATTERN_UNIT,
};

enum { KEEP_BYTES, KEEP_HASH };

static void needs(const struct bench *bench, struct bench_needs *needs)
{
	struct stat st;
	uint64_t bytes = bytes_of[bench->options->size];
	if (bench->options->file)
		bytes = stat(bench->options->file, &st) ? 0 : (uint64_t)st.st_size;
	needs->each = 2 * bytes;
}

static int setup(struct bench_step *step)
{
	char text[32];
	const char *file = step->bench->options->file;
	uint64_t *keep = step->shared->keep, bytes = bytes_of[step->bench->options->size];
	if (mkdir("from", 0755) || mkdir("to", 0755))
		return fc_step_fail_errno(step, "making directories");
	if (file ? fc_file_copy(step, file, FROM) : fc_pattern_write_file(step, FROM, bytes, SEED))
		return -1;
	/* What it must be, as the baseline place (the first one) has it. */
	if (!keep[KEEP_HASH] && fc_file_digest(step, FROM, &keep[KEEP_HASH], &keep[KEEP_BYTES]))
		return -1;
	fc_bench_bytes_text(keep[KEEP_BYTES], text);
	const char *slash = file ? strrchr(file, '/') : NULL;
	fc_step_note(step, "%s, %s", file ? (slash ? slash + 1 : file) : "one file that cannot be compressed", text);
	return 0;
}

static int prepare(struct bench_step *step)
{
	if (unlink(TO) && errno != ENOENT)
		return fc_step_fail_errno(step, TO);
	return 0;
}

static int by_reading(struct bench_step *step)
{
	step->shared->sample.bytes = step->shared->keep[KEEP_BYTES];
	return fc_file_copy(step, FROM, TO);
}

/* As cp of coreutils 9 does: a clone, else copy_file_range, else reading. */
static int by_system(struct bench_step *step)
{
	uint64_t left = step->shared->keep[KEEP_BYTES];
	int in = open(FROM, O_RDONLY | O_CLOEXEC), out = open(TO, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (in < 0 || out < 0)
		return fc_step_fail_errno(step, "opening");
	step->shared->sample.bytes = left;
	bool cloned = !ioctl(out, FICLONE, in);
	while (!cloned && left) {
		ssize_t n = copy_file_range(in, NULL, out, NULL, left < (64u << 20) ? (size_t)left : 64u << 20, 0);
		if (n <= 0 && left == step->shared->keep[KEEP_BYTES]) {
			close(in);
			close(out);
			return fc_file_copy(step, FROM, TO);
		}
		if (n <= 0)
			return fc_step_fail_errno(step, "copy_file_range, %llu bytes before the end",
						  (unsigned long long)left);
		left -= (uint64_t)n;
		fc_step_progress(step, step->shared->keep[KEEP_BYTES] - left, step->shared->keep[KEEP_BYTES]);
	}
	close(in);
	return close(out) ? fc_step_fail_errno(step, TO) : 0;
}

static int verify(struct bench_step *step)
{
	if (fc_file_expect(step, TO, step->shared->keep[KEEP_HASH], step->shared->keep[KEEP_BYTES]))
		return -1;
	return prepare(step);
}

static const struct bench_row rows[] = {
	{ .name = "read-write", .title = "by reading and writing", .kind = ROW_TIME, .published = { 4.40, 0, "PGP" } },
	{ .name = "system", .title = "the system's own way", .kind = ROW_TIME, .published = { 4.40, 0, "PGP" } },
};

static const struct bench_part parts[] = {
	{ .name = "read-write",
	  .flags = PART_COLD | PART_WRITES,
	  .prepare = prepare,
	  .run = by_reading,
	  .verify = verify,
	  .row = &rows[0],
	  .rows = 1 },
	{ .name = "system",
	  .flags = PART_COLD | PART_WRITES,
	  .prepare = prepare,
	  .run = by_system,
	  .verify = verify,
	  .row = &rows[1],
	  .rows = 1 },
};

const struct bench_workload fc_workload_copy = {
	.name = "copy",
	.title = "Copy a large file",
	.does = "copies one large file within the directory: by reading and writing, and as cp does (clone, "
		"copy_file_range); --file FILE for one of yours",
	.from = "the PGP Whole Disk Encryption test: 5.73 GB from one place on an SSD to another, 52 s and 229 s",
	.needs = needs,
	.setup = setup,
	.part = parts,
	.parts = 2,
};
