/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A container of our own, for when no directory to measure was named.
 */
#ifndef FC_BENCH_OWN_H
#define FC_BENCH_OWN_H

#include "step.h"

struct bench_own {
	char *dir;     /* our directory beside which nothing is touched; NULL: there is no container */
	char *program; /* fusecrypt */
	char *container, *key, *mountpoint;
	bool mounted;
};

/* The program fusecrypt: beside this one, in the build folder, in PATH; NULL: none. The caller
 * frees it. */
char *fc_own_find(const char *program_dir);

/* Makes a container with a random key file in a new directory in `beside`, and
 * mounts it at own->mountpoint. -1 after saying why; fc_own_close is called in
 * either case. */
int fc_own_open(struct bench *bench, struct bench_own *own, const char *beside);

/* Unmounts and removes it all. -1 if something had to be left behind (said). */
int fc_own_close(struct bench *bench, struct bench_own *own);

#endif
