/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many threads on a directory, e.g. a mount, for a while.
 *
 *     many_on_directory DIR THREADS SECONDS SEED STATE    runs; writes to STATE what it did
 *     many_on_directory DIR THREADS verify SEED STATE     all is as it was left then
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "many.h"

static int save(const struct many *m, unsigned threads, const char *path, uint64_t *sum)
{
	FILE *f = fopen(path, "w");

	for (unsigned i = 0; f && i < threads; i++) {
		fprintf(f, "%llu\n", (unsigned long long)many_done(m, i));
		*sum += many_done(m, i);
	}
	if (f && !fclose(f))
		return 0;
	perror(path);
	return 1;
}

static int load(uint64_t *done, unsigned threads, const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned i = 0;

	for (unsigned long long n; f && i < threads && fscanf(f, "%llu", &n) == 1; i++)
		done[i] = n;
	if (f)
		fclose(f);
	if (i == threads)
		return 0;
	fprintf(stderr, "%s cannot be read\n", path);
	return 1;
}

int main(int argc, char **argv)
{
	unsigned threads = argc == 6 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	int fd = threads && threads <= 4096 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1, bad;
	struct many *m;
	uint64_t sum = 0, *done;

	if (fd < 0) {
		fprintf(stderr, "many_on_directory DIR THREADS SECONDS|verify SEED STATE\n");
		return 2;
	}
	m = many_new(&many_dir, &fd, threads, strtoull(argv[4], NULL, 10));
	done = calloc(threads, sizeof(*done));
	if (!m || !done)
		return 2;
	if (!strcmp(argv[3], "verify")) {
		bad = load(done, threads, argv[5]);
		if (!bad)
			many_replay(m, done);
	} else {
		bad = many_run(m, strtod(argv[3], NULL), 0);
		if (!bad)
			bad = save(m, threads, argv[5], &sum);
		printf("%u threads, %llu operations\n", threads, (unsigned long long)sum);
	}
	if (!bad)
		bad = many_verify(m, &fd);
	printf("%s\n", bad ? "WRONG" : "each as its model says");
	many_free(m);
	free(done);
	return bad;
}
