/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fusecrypt-bench: the same work in several directories, by turns.
 *
 * A *place* is a directory to measure in; place 0 is the baseline. A *workload*
 * consists of *parts*, each timed on its own; a part yields *rows* of the
 * result table. One *sample* is one part, done once in one place.
 *
 * Everything that touches a place is done in a child process (see step.h), so
 * that its processor time can be told and that it can be ended at any moment.
 * Times are in seconds, sizes in bytes. Functions return 0 or -1 after having
 * said why (in the step's error, or on standard error) unless they say otherwise.
 */
#ifndef FC_BENCH_BENCH_H
#define FC_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BENCH_PLACES 8     /* at most, the baseline included */
#define BENCH_RUNS 100     /* at most */
#define BENCH_VALUES 8     /* figures that a part itself can report */
#define BENCH_WORKLOADS 32 /* at most */

enum bench_size { BENCH_QUICK, BENCH_NORMAL, BENCH_FULL };

struct bench_options {
	enum bench_size size;
	unsigned runs;
	bool selected[BENCH_WORKLOADS];      /* by place in the table of workloads */
	const char *archive, *file, *source; /* absolute, or NULL */
	const char *plain, *inside;          /* as given, or NULL */
	unsigned compares;
	const char *compare_name[BENCH_PLACES], *compare_dir[BENCH_PLACES];
	const char *json, *csv, *html; /* as given, or NULL; "-" is standard output */
};

/* What lies below a directory, as far as a benchmark cares. */
struct bench_mount {
	char *type;   /* ext4, fuse.gocryptfs */
	char *source; /* what mountinfo says */
	char *options;
	char *disk;      /* kernel name of the disk that it ends on, "" if unknown */
	char *disk_text; /* the same for people */
	dev_t host;      /* of the file system whose space is used in the end */
	char *host_path; /* a path on that file system */
	char *host_type; /* its type */
};

struct bench_place {
	char *name; /* plain, inside, or what --compare says */
	char *dir;  /* absolute: the directory that was named */
	char *work; /* our own directory in it */
	struct bench_mount mount;
	pid_t daemon; /* that serves it, 0: none or unknown */
};

struct bench_sample {
	double ended;                             /* until the work was done */
	double durable;                           /* until it was on the disk; NAN if the part writes nothing */
	double cpu_work, cpu_daemon, cpu_machine; /* processor seconds; cpu_daemon NAN if unknown */
	uint64_t bytes, operations;               /* that the part moved, 0: says nothing */
	double value[BENCH_VALUES];               /* NAN if not given */
	bool cold;                                /* caches were dropped before it */
};

/* One sample, in the order in which they were taken. */
struct bench_raw {
	const struct bench_workload *workload;
	const struct bench_part *part;
	unsigned place, run; /* run from 0 */
	struct bench_sample sample;
};

enum bench_status {
	BENCH_MEASURED,
	BENCH_MISSING, /* a program that it needs is not installed */
	BENCH_FAILED,  /* an error, or a wrong result */
};

struct bench_outcome {
	const struct bench_workload *workload;
	enum bench_status status;
	char *reason;  /* NULL when measured */
	char *install; /* when missing: what to do; else NULL */
};

struct bench {
	const struct bench_options *options;
	char *program_dir; /* absolute: where this program lies */
	char *scratch;     /* a directory for what is not measured; its path is short */
	unsigned places;
	struct bench_place place[BENCH_PLACES];
	uint64_t archive_files, archive_bytes; /* of options->archive, unpacked */
	bool can_drop;                         /* caches, as root */
	bool direct;                           /* every place takes O_DIRECT */
	struct bench_shared *shared;
	struct bench_progress *progress;
	bool interrupted;
	size_t raws, raws_room;
	struct bench_raw *raw;
	unsigned outcomes;
	struct bench_outcome outcome[BENCH_WORKLOADS];
	unsigned notes;
	char *note[BENCH_WORKLOADS]; /* what the material is made of, one a workload at most */
};

/* Memory or nothing: a benchmark without memory ends. */
void *fc_bench_alloc(size_t bytes);
char *fc_bench_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *fc_bench_copy(const char *text);
void fc_bench_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
double fc_bench_now(void);

/* "1.2 GB" and the like, powers of 1000. */
void fc_bench_bytes_text(uint64_t bytes, char out[32]);

#endif
