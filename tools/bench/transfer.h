/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uncached reading and writing of pattern files, for the disk benchmarks.
 *
 * Uncached is O_DIRECT if every place takes it (bench->direct); else writes are
 * pushed out by fdatasync at the end and reads rely on caches having been
 * dropped.
 */
#ifndef FC_BENCH_TRANSFER_H
#define FC_BENCH_TRANSFER_H

#include "files.h"

struct fc_transfer {
	const char *path;
	uint64_t file_bytes;              /* the pattern file's size */
	uint64_t seed;                    /* of the pattern, and of the order */
	size_t block;                     /* bytes, a multiple of PATTERN_UNIT */
	uint64_t blocks;                  /* how many are moved */
	bool write;                       /* a sequential write makes the file anew */
	bool random;                      /* each block at most once if there are enough */
	bool each_durable;                /* O_DSYNC */
	const struct fc_pattern *pattern; /* with this seed, for threads to share (block is PATTERN_UNIT
					   * then); NULL: one of its own */
};

/* Opened and filled beforehand, so that none of it is timed. */
struct fc_transfer_state;
struct fc_transfer_state *fc_transfer_open(struct bench_step *step, const struct fc_transfer *t);
/* latency, unless NULL, gets each block's seconds: room for t->blocks. */
int fc_transfer_run(struct bench_step *step, struct fc_transfer_state *state, double *latency);
void fc_transfer_close(struct fc_transfer_state *state);

#endif
