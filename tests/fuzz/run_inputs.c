/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a fuzz target on files, or all files of directories, where the compiler
 * has no libFuzzer: seeds, and what once made it fail. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned inputs;

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *data;
	size_t n;

	if (!f || fstat(fileno(f), &st)) {
		perror(path);
		return 1;
	}
	data = malloc((size_t)st.st_size + !st.st_size);
	n = data ? fread(data, 1, (size_t)st.st_size, f) : 0;
	fclose(f);
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, n);
	inputs++;
	free(data);
	return 0;
}

static int run(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	char name[4096];
	int bad = 0;

	if (!dir)
		return run_file(path);
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		bad |= run_file(name);
	}
	closedir(dir);
	return bad;
}

int main(int argc, char **argv)
{
	int bad = 0;

	for (int i = 1; i < argc; i++)
		bad |= run(argv[i]);
	printf("%u inputs\n", inputs);
	return bad || !inputs;
}
