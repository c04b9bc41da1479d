/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and trees for workloads: written, copied, checked, removed. Where a
 * function takes a step, it sets the step's error; paths may be relative.
 */
#ifndef FC_BENCH_FILES_H
#define FC_BENCH_FILES_H

#include "step.h"

/* A stream of numbers that depends on the seed alone (xorshift64*, Vigna). */
static inline uint64_t fc_random_next(uint64_t *state)
{
	uint64_t x = *state;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(2685821657736338717);
}

/* A state for fc_random_next: never 0, unlike for neighbouring seeds. */
static inline uint64_t fc_random_seed(uint64_t seed)
{
	seed += UINT64_C(0x9e3779b97f4a7c15);
	seed = (seed ^ (seed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	seed = (seed ^ (seed >> 27)) * UINT64_C(0x94d049bb133111eb);
	seed ^= seed >> 31;
	return seed ? seed : 1;
}

void fc_random_fill(uint64_t *state, void *out, size_t bytes);

/* A pattern file cannot be compressed or deduplicated, and each 4 KiB unit of
 * it says which one it is, so that a reader notices a wrong one. */
#define PATTERN_UNIT 4096u

struct fc_pattern {
	uint8_t *base; /* PATTERN_BASE bytes of noise, page-aligned */
	uint64_t seed;
};
#define PATTERN_BASE (32u << 20)

void fc_pattern_open(struct fc_pattern *pattern, uint64_t seed);
void fc_pattern_close(struct fc_pattern *pattern);
/* Where the bytes of the units [first, first + count) are ready to be written;
 * count * PATTERN_UNIT <= PATTERN_BASE / 2. Valid until the next call. */
uint8_t *fc_pattern_get(struct fc_pattern *pattern, uint64_t first, size_t count);
/* One unit, ready, into out: for several threads with one pattern. */
void fc_pattern_copy_unit(const struct fc_pattern *pattern, uint64_t unit, uint8_t *out);
/* Looks at the stamps only: cheap enough inside a timed loop. */
bool fc_pattern_stamped(const struct fc_pattern *pattern, const uint8_t *data, uint64_t first, size_t count);
/* Makes, or compares all of, a file of `bytes` (a multiple of PATTERN_UNIT). */
int fc_pattern_write_file(struct bench_step *step, const char *path, uint64_t bytes, uint64_t seed);
int fc_pattern_check_file(struct bench_step *step, const char *path, uint64_t bytes, uint64_t seed);
/* The same with a pattern that is open already, for many files. */
int fc_pattern_write(struct bench_step *step, struct fc_pattern *pattern, const char *path, uint64_t bytes);
int fc_pattern_check(struct bench_step *step, struct fc_pattern *pattern, const char *path, uint64_t bytes);

int fc_file_write(struct bench_step *step, int fd, const char *path, const void *data, size_t bytes);
int fc_file_save(struct bench_step *step, const char *path, const void *data, size_t bytes);
int fc_file_copy(struct bench_step *step, const char *from, const char *to);
/* XXH3 of the content, and its length. */
int fc_file_digest(struct bench_step *step, const char *path, uint64_t *hash, uint64_t *bytes);
/* -1 with the step's error unless path has this content. */
int fc_file_expect(struct bench_step *step, const char *path, uint64_t hash, uint64_t bytes);

/* All regular files, directories and symbolic links below a directory, whatever
 * their order. Names count, times do not. */
struct fc_tree_digest {
	uint64_t files, directories, links, others, bytes, hash;
};
int fc_files_digest(struct bench_step *step, const char *dir, struct fc_tree_digest *out);

/* Copies directories, regular files (with their modes) and symbolic links. skip
 * says which entries of the source not to copy; may be NULL. */
int fc_files_copy(struct bench_step *step, const char *from, const char *to,
		  bool (*skip)(const char *path, const char *name));

/* Removes a file or a tree without following links or entering other file
 * systems. 0 also if it is not there; else a positive errno. */
int fc_files_remove(const char *path);

/* Buffers for O_DIRECT. Ends the step's process when there is no memory. */
void *fc_file_buffer(size_t bytes);

#endif
