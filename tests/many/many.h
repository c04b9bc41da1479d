/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many threads on one file system, each in a directory of its own, which a model
 * in memory follows: every answer and every byte must be what the model says.
 */
#ifndef FC_TESTS_MANY_H
#define FC_TESTS_MANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the threads work on; paths are relative to its top. 0 or more, or a
 * negative errno. */
struct many_ops {
	int (*make)(void *at, const char *path); /* an empty file that is new */
	int (*mkdir)(void *at, const char *path);
	int (*unlink)(void *at, const char *path);
	int (*rmdir)(void *at, const char *path);
	int (*rename)(void *at, const char *from, const char *to);
	int (*link)(void *at, const char *from, const char *to);
	ssize_t (*read)(void *at, const char *path, uint64_t off, void *buf, size_t n);
	int (*write)(void *at, const char *path, uint64_t off, const void *buf, size_t n);
	int (*truncate)(void *at, const char *path, uint64_t size);
	int (*setxattr)(void *at, const char *path, const void *value, size_t n);
	ssize_t (*getxattr)(void *at, const char *path, void *value, size_t n);
	int (*sync)(void *at, const char *path); /* a file or a directory */
	int (*list)(void *at, const char *path, void (*name)(void *arg, const char *name), void *arg);
};

extern const struct many_ops many_dir; /* at: a descriptor of a directory, as int * */
extern const struct many_ops many_fs;  /* at: a struct fc_fs */

struct many;

/* threads below `at`, with random numbers from seed. NULL: no memory. */
struct many *many_new(const struct many_ops *ops, void *at, unsigned threads, uint64_t seed);
void many_free(struct many *m);
/* Makes the threads' directories and runs for so many seconds, or steps each (0: no
 * limit). 0; 1 after saying what is wrong. */
int many_run(struct many *m, double seconds, uint64_t steps);
/* Only the models, as many steps as *done says of each thread. */
void many_replay(struct many *m, const uint64_t *done);
/* All that is there against the models; at may be another one by now. */
int many_verify(struct many *m, void *at);
uint64_t many_done(const struct many *m, unsigned thread); /* steps */

#endif
