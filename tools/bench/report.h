/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run, or a saved result, says: plain data, from which every kind of
 * output is made. All strings are the report's own.
 */
#ifndef FC_BENCH_REPORT_H
#define FC_BENCH_REPORT_H

#include <stdio.h>

#include "bench.h"
#include "stats.h"

#define BENCH_FACTS 16

/* One figure of one part: a line of the table. */
struct bench_series {
	char *workload, *part, *row, *title;
	char *timing; /* "ended", "durable", or "reported" by the program itself */
	char *unit;   /* s, ms, MB/s, /s */
	bool more_is_better, control;
	bool cold_wanted, cold;
	double published, published_high; /* ratio of times, 0: none */
	char *published_by;
	double *value[BENCH_PLACES]; /* report->runs of each */
	struct fc_stats stats[BENCH_PLACES];
	struct fc_ratio ratio[BENCH_PLACES];                     /* to place 0; from 1 on */
	double cpu_work[BENCH_PLACES], cpu_daemon[BENCH_PLACES]; /* of the part, medians; NAN: unknown */
};

struct bench_report_place {
	char *name, *dir, *type, *source, *host_type, *disk;
};

struct bench_report_outcome {
	char *workload, *title, *does, *from;
	char *status;           /* "measured", "missing", "failed" */
	char *reason, *install; /* "" if there is none */
};

struct bench_fact {
	char *key, *title, *value; /* of the machine */
};

struct bench_report {
	char *version, *date, *command, *size;
	unsigned runs, places, facts, warnings, notes, outcomes, serieses;
	struct bench_report_place place[BENCH_PLACES];
	struct bench_fact fact[BENCH_FACTS];
	char **warning, **note;
	struct bench_report_outcome outcome[BENCH_WORKLOADS];
	struct bench_series *series;
	/* Over workloads (each counts once, what is written until durable, controls
	 * left out); from place 1 on. NAN: nothing was measured. */
	double mean[BENCH_PLACES];
	char *verdict;
};

/* From the samples of a run. command is how to repeat it. */
void fc_report_make(const struct bench *bench, const char *command, struct bench_report *out);
/* Statistics and verdict, once all else is filled in. */
void fc_report_conclude(struct bench_report *report);
void fc_report_free(struct bench_report *report);

/* Seconds of the processors for one workload in one place, all its parts: by the
 * workload itself and by the daemon (NAN: there is none, or it is unknown). */
void fc_report_cpu(const struct bench_report *report, const char *workload, unsigned place, double *work,
		   double *daemon);

/* Whether the series is the one that counts for its row: until durable where
 * that was measured. */
bool fc_report_counts(const struct bench_report *report, const struct bench_series *series);

/* "1.24 s": three digits and the unit. */
void fc_report_value_text(double value, const char *unit, char out[48]);
/* "×1.45–1.80 dm-crypt", "" if nothing was published. */
void fc_report_published_text(const struct bench_series *series, char out[64]);

void fc_machine_describe(struct bench_report *report);

/* ---- outputs ---------------------------------------------------------------- */

void fc_table_write(const struct bench_report *report, FILE *out);
/* Several results, BENCH_COMPARED measured places at most in all of them. */
#define BENCH_COMPARED 16
void fc_table_compare(const struct bench_report *reports, const char *const *names, unsigned n, FILE *out);
void fc_csv_write(const struct bench *bench, FILE *out);
void fc_html_write(const struct bench_report *report, FILE *out);
int fc_json_write(const struct bench *bench, const struct bench_report *report, FILE *out);
/* A file that fc_json_write wrote. -1 after saying what is wrong with it. */
int fc_json_read(const char *path, struct bench_report *out);

#endif
