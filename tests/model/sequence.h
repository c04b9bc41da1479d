/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every short sequence of operations, in the manner of ACE (Mohan and others,
 * "Finding crash-consistency bugs with bounded black-box crash testing", OSDI
 * 2018): up to three out of a fixed set, with nothing, a sync, a rename or an
 * unmount between, on a small tree that is there already.
 */
#ifndef FC_TESTS_SEQUENCE_H
#define FC_TESTS_SEQUENCE_H

#include "script.h"

#define FC_SEQUENCE_OPERATIONS_MAX 3u
#define FC_SEQUENCE_STEPS_MAX (2 * FC_SEQUENCE_OPERATIONS_MAX + 1)

/* The steps that make the tree; all sequences begin after them. Returns how many. */
size_t fc_sequence_tree(const struct fc_step **steps);
/* How many sequences of exactly `operations` there are. */
uint64_t fc_sequence_count(unsigned operations);
/* The index-th of them, and a sync; returns how many steps. */
size_t fc_sequence(unsigned operations, uint64_t index, struct fc_step steps[FC_SEQUENCE_STEPS_MAX]);

#endif
