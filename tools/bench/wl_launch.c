/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starting applications that are not in the cache: what the loader and the
 * program read, without the program. Names that do not exist are tried, the
 * headers of libraries are read, their pages are touched here and there through
 * mappings, configuration and icons are read whole, fonts and a data base in
 * part.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "files.h"
#include "workload.h"

#define APPS 4
#define PAGE 4096u
#define HEADER 832 /* bytes that the loader reads of each library */

static const struct shape {
	unsigned libraries, configs, icons, fonts;
	uint64_t program, library, font, data; /* bytes; libraries and fonts: on average */
} shapes[] = {
	[BENCH_QUICK] = { 16, 20, 40, 3, 1u << 20, 192u << 10, 128u << 10, 2u << 20 },
	[BENCH_NORMAL] = { 60, 80, 250, 10, 8u << 20, 512u << 10, 256u << 10, 8u << 20 },
	[BENCH_FULL] = { 150, 200, 800, 30, 24u << 20, 768u << 10, 384u << 10, 32u << 20 },
};

/* keep[i]: what reading app i must sum up to; 0: not known yet */

static uint64_t app_bytes(const struct shape *s)
{
	return s->program + s->libraries * s->library + s->fonts * s->font + s->data +
	       (uint64_t)(s->configs + s->icons) * 12288;
}

static void needs(const struct bench *bench, struct bench_needs *needs)
{
	needs->each = APPS * app_bytes(&shapes[bench->options->size]);
}

/* ---- making the applications ------------------------------------------------ */

static int make_file(struct bench_step *step, uint64_t *random, const char *path, uint64_t bytes)
{
	uint8_t *data = fc_bench_alloc(bytes);
	fc_random_fill(random, data, bytes);
	int result = fc_file_save(step, path, data, bytes);
	free(data);
	return result;
}

/* count files whose sizes lie between half and one and a half times mean. */
static int make_files(struct bench_step *step, uint64_t *random, const char *pattern, unsigned count, uint64_t mean)
{
	for (unsigned i = 0; i < count; i++) {
		char *path = fc_bench_format("%s-%u", pattern, i);
		uint64_t bytes = mean / 2 + (fc_random_next(random) >> 16) % mean;
		int result = make_file(step, random, path, bytes);
		free(path);
		if (result)
			return -1;
	}
	return 0;
}

static int make_app(struct bench_step *step, unsigned app)
{
	const struct shape *s = &shapes[step->bench->options->size];
	uint64_t random = fc_random_seed(60 + app);
	static const char *const folders[] = { "lib", "config", "icons", "fonts" };
	char name[16];
	snprintf(name, sizeof(name), "app-%u", app);
	if (mkdir(name, 0755) || chdir(name))
		return fc_step_fail_errno(step, "%s", name);
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (mkdir(folders[i], 0755))
			return fc_step_fail_errno(step, "%s", folders[i]);
	if (make_file(step, &random, "program", s->program) ||
	    make_files(step, &random, "lib/lib", s->libraries, s->library) ||
	    make_files(step, &random, "config/config", s->configs, 1500) ||
	    make_files(step, &random, "icons/icon", s->icons, 6000) ||
	    make_files(step, &random, "fonts/font", s->fonts, s->font) || make_file(step, &random, "data", s->data))
		return -1;
	return chdir("..") ? fc_step_fail_errno(step, "..") : 0;
}

/* ---- starting one ------------------------------------------------------------ */

/* All of what is read goes in here; order matters not, so that it does not
 * depend on the order of a directory. */
static void add(uint64_t *sum, const void *data, size_t bytes)
{
	*sum += XXH3_64bits(data, bytes);
}

static int read_whole(struct bench_step *step, const char *path, uint64_t *sum)
{
	char data[32768];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, data, sizeof(data));
	if (n < 0)
		return fc_step_fail_errno(step, "%s", path);
	add(sum, data, (size_t)n);
	return close(fd);
}

/* Maps it and touches every stride-th page, as a program's first second does. */
static int touch(struct bench_step *step, const char *path, unsigned stride, uint64_t *sum)
{
	char header[HEADER];
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, header, HEADER) != HEADER || fstat(fd, &st))
		return fc_step_fail_errno(step, "%s", path);
	add(sum, header, HEADER);
	uint8_t *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return fc_step_fail_errno(step, "%s: mmap", path);
	for (off_t at = 0; at + PAGE <= st.st_size; at += (off_t)stride * PAGE)
		add(sum, map + at, PAGE);
	munmap(map, (size_t)st.st_size);
	return 0;
}

static int load_library(struct bench_step *step, unsigned i, uint64_t *sum)
{
	static const char *const elsewhere[] = { "lib/haswell", "lib/x86-64-v3", "config" };
	char path[64];
	struct stat st;
	for (size_t e = 0; e < sizeof(elsewhere) / sizeof(*elsewhere); e++) {
		snprintf(path, sizeof(path), "%s/lib-%u", elsewhere[e], i);
		if (!stat(path, &st) || errno != ENOENT)
			return fc_step_fail(step, "%s: wrong data: it is there", path);
	}
	snprintf(path, sizeof(path), "lib/lib-%u", i);
	return touch(step, path, 3, sum);
}

/* Looks at every icon, reads every second one. */
static int load_icons(struct bench_step *step, uint64_t *sum)
{
	struct dirent *d;
	char path[300];
	struct stat st;
	int result = 0;
	DIR *dir = opendir("icons");
	if (!dir)
		return fc_step_fail_errno(step, "icons");
	while (!result && (d = readdir(dir))) {
		unsigned number;
		if (sscanf(d->d_name, "icon-%u", &number) != 1)
			continue;
		snprintf(path, sizeof(path), "icons/%s", d->d_name);
		if (stat(path, &st))
			result = fc_step_fail_errno(step, "%s", path);
		else if (number % 2)
			result = read_whole(step, path, sum);
	}
	closedir(dir);
	return result;
}

static int query_data(struct bench_step *step, uint64_t bytes, uint64_t *sum)
{
	char page[PAGE];
	uint64_t random = fc_random_seed(70);
	int fd = open("data", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fc_step_fail_errno(step, "data");
	for (unsigned i = 0; i < 100; i++) {
		off_t at = (off_t)(fc_random_next(&random) % (bytes / PAGE) * PAGE);
		if (pread(fd, page, PAGE, at) != PAGE)
			return fc_step_fail_errno(step, "data: read");
		add(sum, page, PAGE);
	}
	return close(fd);
}

static int start_app(struct bench_step *step, unsigned app, uint64_t *sum)
{
	const struct shape *s = &shapes[step->bench->options->size];
	char path[64];
	snprintf(path, sizeof(path), "app-%u", app);
	*sum = 0;
	if (chdir(path))
		return fc_step_fail_errno(step, "%s", path);
	if (touch(step, "program", 4, sum))
		return -1;
	for (unsigned i = 0; i < s->libraries; i++)
		if (load_library(step, i, sum))
			return -1;
	for (unsigned i = 0; i < s->configs; i++) {
		snprintf(path, sizeof(path), "config/config-%u", i);
		if (read_whole(step, path, sum))
			return -1;
	}
	for (unsigned i = 0; i < s->fonts; i++) {
		snprintf(path, sizeof(path), "fonts/font-%u", i);
		if (touch(step, path, 8, sum))
			return -1;
	}
	if (load_icons(step, sum) || query_data(step, s->data, sum))
		return -1;
	return chdir("..") ? fc_step_fail_errno(step, "..") : 0;
}

static int start_and_check(struct bench_step *step, unsigned app)
{
	uint64_t sum;
	if (start_app(step, app, &sum))
		return -1;
	if (sum != step->shared->keep[app])
		return fc_step_fail(step, "app-%u: wrong data: not what was written", app);
	return 0;
}

/* ---- the parts ---------------------------------------------------------------- */

static int setup(struct bench_step *step)
{
	uint64_t *keep = step->shared->keep;
	for (unsigned app = 0; app < APPS; app++) {
		uint64_t sum;
		if (make_app(step, app) || start_app(step, app, &sum))
			return -1;
		if (!keep[app])
			keep[app] = sum;
		if (keep[app] != sum)
			return fc_step_fail(step, "app-%u: wrong data: not what was written", app);
	}
	const struct shape *s = &shapes[step->bench->options->size];
	char text[32];
	fc_bench_bytes_text(app_bytes(s), text);
	fc_step_note(step,
		     "%d applications of about %s: a program, %u libraries, %u configuration files, %u icons, "
		     "%u fonts, a data base",
		     APPS, text, s->libraries, s->configs, s->icons, s->fonts);
	return 0;
}

static int alone(struct bench_step *step)
{
	return start_and_check(step, 0);
}

static int all_at_once(struct bench_step *step)
{
	int result = 0;
	for (unsigned app = 0; app < APPS; app++) {
		pid_t pid = fork();
		if (pid < 0)
			return fc_step_fail_errno(step, "no new process");
		if (!pid)
			_exit(start_and_check(step, app) ? 1 : 0);
	}
	for (unsigned app = 0; app < APPS; app++) {
		int status;
		if (wait(&status) < 0 || status)
			result = -1;
	}
	if (result && !step->shared->error[0])
		fc_step_fail(step, "an application ended early");
	return result;
}

/* Published: five applications, 31 s and 39 s in all; start-up programs, 4 s and 6 s. */
static const struct bench_row rows[] = {
	{ .name = "alone", .title = "start one application", .kind = ROW_TIME, .published = { 39.0 / 31.0, 0, "PGP" } },
	{ .name = "four", .title = "start four at once", .kind = ROW_TIME, .published = { 1.5, 0, "PGP" } },
};

static const struct bench_part parts[] = {
	{ .flags = PART_COLD, .run = alone, .row = &rows[0], .rows = 1 },
	{ .flags = PART_COLD, .run = all_at_once, .row = &rows[1], .rows = 1 },
};

const struct bench_workload fc_workload_launch = {
	.name = "launch",
	.title = "Start applications",
	.does = "opens and reads what a large program reads when it starts (libraries by mapping, configuration, "
		"icons, "
		"fonts), alone and four at once",
	.from = "the PGP Whole Disk Encryption test: five applications, 3 to 9 s each, 31 s became 39 s in all",
	.needs = needs,
	.setup = setup,
	.part = parts,
	.parts = 2,
};
