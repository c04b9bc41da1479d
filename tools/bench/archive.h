/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Archives, by libarchive. Runs in a step; the names in messages are the
 * archive's.
 */
#ifndef FC_BENCH_ARCHIVE_H
#define FC_BENCH_ARCHIVE_H

#include "step.h"

struct fc_archive_size {
	uint64_t files, bytes; /* unpacked */
};

/* Writes the corpus of `files` files to path; *format says what it was made as
 * ("tar, zstd"). */
int fc_archive_make(struct bench_step *step, const char *path, unsigned files, const char **format);

/* Reads all of it, checksums included. */
int fc_archive_scan(struct bench_step *step, const char *path, struct fc_archive_size *out);

/* Unpacks it into the current directory, never outside of it. */
int fc_archive_extract(struct bench_step *step, const char *path);

#endif
