/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The directories to measure in, and what they lie on.
 */
#ifndef FC_BENCH_PLACE_H
#define FC_BENCH_PLACE_H

#include "workload.h"

/* Finds what serves dir; never fails, unknown is "". */
void fc_mount_describe(const char *dir, struct bench_mount *out);
void fc_mount_free(struct bench_mount *mount);

/* Adds a place: dir must be a directory that can be written in; a directory of
 * our own is made in it. name and dir are copied. -1 after saying why. */
int fc_place_add(struct bench *bench, const char *name, const char *dir);

/* Removes our directories. -1 if something could not be removed (said). */
int fc_places_close(struct bench *bench);

/* Whether the workloads selected fit; says what they need. -1 after saying what is
 * needed where, and what is there. */
int fc_places_check_space(const struct bench *bench);

/* What makes the comparison unfair: lines for the report, the caller frees both
 * the lines and the array. Returns how many. */
unsigned fc_places_warnings(const struct bench *bench, char ***lines);

#endif
