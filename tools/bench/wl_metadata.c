/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many small files: made, looked at, renamed, removed. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "workload.h"

#define FILE_BYTES 1024
#define FOLDER_FILES 500 /* in a folder */

static const unsigned files_of[] = { 2000, 10000, 100000 };

static void needs(const struct bench *bench, struct bench_needs *needs)
{
	needs->each = (uint64_t)files_of[bench->options->size] * (4096 + 512);
}

static void path_of(unsigned i, const char *word, char out[64])
{
	snprintf(out, 64, "folder-%u/%s-%u", i / FOLDER_FILES, word, i);
}

static void content_of(unsigned i, uint8_t out[FILE_BYTES])
{
	uint64_t random = fc_random_seed(i);
	fc_random_fill(&random, out, FILE_BYTES);
}

/* Calls one for every file. */
static int for_all(struct bench_step *step, int (*one)(struct bench_step *, unsigned))
{
	unsigned files = files_of[step->bench->options->size];
	for (unsigned i = 0; i < files; i++) {
		if (one(step, i))
			return -1;
		if (i % 256 == 0)
			fc_step_progress(step, i, files);
	}
	step->shared->sample.operations = files;
	return 0;
}

static int make_folders(struct bench_step *step)
{
	char path[64];
	for (unsigned i = 0; i < files_of[step->bench->options->size]; i += FOLDER_FILES) {
		snprintf(path, sizeof(path), "folder-%u", i / FOLDER_FILES);
		if (mkdir(path, 0755) && access(path, W_OK))
			return fc_step_fail_errno(step, "%s", path);
	}
	return 0;
}

static int create_one(struct bench_step *step, unsigned i)
{
	char path[64];
	uint8_t content[FILE_BYTES];
	path_of(i, "file", path);
	content_of(i, content);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return fc_step_fail_errno(step, "%s", path);
	if (fc_file_write(step, fd, path, content, FILE_BYTES))
		return -1;
	return close(fd) ? fc_step_fail_errno(step, "%s: close", path) : 0;
}

static int check_content(struct bench_step *step, unsigned i)
{
	char path[64];
	uint8_t want[FILE_BYTES], got[FILE_BYTES + 1];
	path_of(i, "file", path);
	content_of(i, want);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fc_step_fail_errno(step, "%s", path);
	ssize_t n = read(fd, got, sizeof(got));
	close(fd);
	if (n != FILE_BYTES || memcmp(got, want, FILE_BYTES))
		return fc_step_fail(step, "%s: wrong data: not what was written", path);
	return 0;
}

static int stat_one(struct bench_step *step, unsigned i)
{
	char path[64];
	struct stat st;
	path_of(i, "file", path);
	if (stat(path, &st))
		return fc_step_fail_errno(step, "%s", path);
	if (st.st_size != FILE_BYTES || !S_ISREG(st.st_mode))
		return fc_step_fail(step, "%s: wrong data: %lld bytes", path, (long long)st.st_size);
	return 0;
}

static int rename_one(struct bench_step *step, unsigned i)
{
	char from[64], to[64];
	path_of(i, "file", from);
	path_of(i, "renamed", to);
	return rename(from, to) ? fc_step_fail_errno(step, "%s", from) : 0;
}

static int check_renamed(struct bench_step *step, unsigned i)
{
	char from[64], to[64];
	struct stat st;
	path_of(i, "file", from);
	path_of(i, "renamed", to);
	if (!lstat(from, &st) || lstat(to, &st) || st.st_size != FILE_BYTES)
		return fc_step_fail(step, "%s: wrong data: it was not renamed", from);
	return 0;
}

static int unlink_one(struct bench_step *step, unsigned i)
{
	char path[64];
	path_of(i, "renamed", path);
	return unlink(path) ? fc_step_fail_errno(step, "%s", path) : 0;
}

/* rmdir refuses to remove what is not empty: nothing may be left. */
static int check_unlinked(struct bench_step *step)
{
	char path[64];
	for (unsigned i = 0; i < files_of[step->bench->options->size]; i += FOLDER_FILES) {
		snprintf(path, sizeof(path), "folder-%u", i / FOLDER_FILES);
		if (rmdir(path))
			return fc_step_fail_errno(step, "%s after all was removed", path);
	}
	return 0;
}

static int create(struct bench_step *step)
{
	step->shared->sample.bytes = (uint64_t)files_of[step->bench->options->size] * FILE_BYTES;
	return for_all(step, create_one);
}

static int check_created(struct bench_step *step)
{
	return for_all(step, check_content);
}

static int look(struct bench_step *step)
{
	return for_all(step, stat_one);
}

static int move(struct bench_step *step)
{
	return for_all(step, rename_one);
}

static int check_moved(struct bench_step *step)
{
	return for_all(step, check_renamed);
}

static int discard(struct bench_step *step)
{
	return for_all(step, unlink_one);
}

static const struct bench_row rows[] = {
	{ .name = "create", .title = "create small files", .kind = ROW_PER_SECOND },
	{ .name = "stat", .title = "stat them", .kind = ROW_PER_SECOND },
	{ .name = "rename", .title = "rename them", .kind = ROW_PER_SECOND },
	{ .name = "unlink", .title = "unlink them", .kind = ROW_PER_SECOND },
};

static const struct bench_part parts[] = {
	{ .flags = PART_WRITES,
	  .prepare = make_folders,
	  .run = create,
	  .verify = check_created,
	  .row = &rows[0],
	  .rows = 1 },
	{ .run = look, .row = &rows[1], .rows = 1 },
	{ .flags = PART_WRITES, .run = move, .verify = check_moved, .row = &rows[2], .rows = 1 },
	{ .flags = PART_WRITES, .run = discard, .verify = check_unlinked, .row = &rows[3], .rows = 1 },
};

const struct bench_workload fc_workload_metadata = {
	.name = "metadata",
	.title = "Many small files",
	.does = "creates files of 1 KiB in folders of 500, calls stat on each, renames and removes them",
	.from = "this project: requests for each operation are what a file system in user space pays most for",
	.needs = needs,
	.part = parts,
	.parts = 4,
};
