/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One damaged container: it is opened and everything read, checked, repaired,
 * checked and read again. What is right is in trial.c.
 */
#ifndef FC_TESTS_TRIAL_H
#define FC_TESTS_TRIAL_H

#include "damage.h"

struct trial_tally {
	uint64_t trials;
	uint64_t refused;         /* opening was */
	uint64_t unharmed;        /* all could be read: another copy serves, or nothing depends on it */
	uint64_t harmed;          /* something gave an error */
	uint64_t unnoticed;       /* by the check too: nothing depends on the block */
	uint64_t torn;            /* taken for a log record that a power cut interrupted */
	uint64_t repaired, older; /* of these, from the root before */
};

struct trial {
	const struct box *box;
	struct fc_io *damaged;
	enum damage how;
	const struct place *place, *other; /* other: swapped with it; NULL: none */
	bool repair;
	char why[256]; /* what is wrong */
};

/* 0: as it should be. Adds to tally. */
int trial_run(struct trial *t, struct trial_tally *tally);

#endif
