/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Crash states of a recorded run. For each moment of the trace: everything
 * written until then; and, of what was written since the last sync, subsets,
 * other orders, writes torn at 512 bytes. Each state is opened; its tree must
 * be the model's at some step not before the last acknowledged one. From some
 * states the run goes on and is cut again (a crash during recovery).
 */
#ifndef FC_TESTS_EXPLORE_H
#define FC_TESTS_EXPLORE_H

#include "record.h"

struct fc_seen; /* a set of hashes */

struct fc_explore {
	struct fc_script random; /* which subsets; and the steps after a recovery */
	struct fc_seen *seen;    /* states by content, kept between runs */
	uint64_t tried, distinct, recoveries;
	uint64_t budget;  /* states of the next run, about; 0: all candidates */
	unsigned samples; /* random subsets for each sync */
	unsigned recover; /* one in so many states is gone on from; 0: none */
	unsigned depth;   /* crashes before this one; 0 at first */
	bool quiet;       /* say nothing about a failure */
};

/* A set of 64-bit hashes. */
struct fc_seen *fc_seen_new(void);
void fc_seen_free(struct fc_seen *seen); /* NULL allowed */
/* True when it was not in it. */
bool fc_seen_add(struct fc_seen *seen, uint64_t hash);

/* 0, or 1 after the first state that is wrong; what is wrong goes to standard
 * error. */
int fc_explore(struct fc_explore *x, const struct fc_record *r);
/* Likewise, but only with what happened since the last sync. */
int fc_explore_end(struct fc_explore *x, const struct fc_record *r);

#endif
