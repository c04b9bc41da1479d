/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * protect and unprotect. What is converted lies in a folder of its own beside DIR,
 * `.NAME.fusecrypt-moving` (0700): journal and data (fusecrypt/convert.h). Its lock (flock)
 * lets one process in. The order, with the journal's phase that is durable after it:
 *
 *   protect                                     unprotect
 *   BEGUN   the folder                          PLACED  the folder; the container is as it was
 *   MADE    the container, at CONTAINER.new     MOVE …  (fc_convert_run)
 *   PLACED  CONTAINER; DIR has become data;     DONE    data has become DIR, container and
 *           a new DIR, locked and registered            registration are gone, then the folder
 *   MOVE …  (fc_convert_run)
 *   DONE    the folder is gone; DIR is mounted
 *
 *   convert_check.c   what stands in the way, before anything is changed
 *   convert_place.c   these steps
 *   convert_open.c    the container, and running it
 *   convert_report.c  what is said
 */
#ifndef FC_CLI_CONVERT_H
#define FC_CLI_CONVERT_H

#include <limits.h>
#include <time.h>

#include "cli/key.h"
#include "cli/mounts.h"
#include "fusecrypt/convert.h"

struct fc_convert_job {
	/* as given */
	const char *arg, *container_arg;
	bool protect; /* the command */
	bool abort, skip, json;
	const char *kdf;
	struct fc_secret_from from;
	/* convert_place.c's */
	char *dir, *parent, *name; /* absolute paths of DIR and its parent; malloc'ed */
	int parent_fd, staging;    /* -1: none */
	char staging_name[NAME_MAX + 1];
	char *container; /* absolute, malloc'ed */
	struct fc_convert_journal journal;
	bool journaled; /* there is one */
	/* convert_open.c's */
	struct fc_key_job key;
	struct fc_fs *fs;
	char state_file[PATH_MAX];
	struct fc_convert_options options;
	struct fc_convert_totals totals;
	/* convert_report.c's */
	bool terminal, shown;
	size_t notes[FC_CONVERT_SKIPPED + 1];
	struct timespec began, last;
	uint64_t all_bytes, all_names;
};

/* All of these return an exit status, having said what is wrong, unless they say otherwise. */

/* A command, from its arguments to the last word (protect.c). convert does the work. */
int fc_convert_command(bool protect, int (*convert)(struct fc_convert_job *), int argc, char **argv);

/* ---- convert_check.c */
/* DIR may be protected: kind of file system, mounts, users, content, space; the container's place. */
int fc_convert_check_protect(struct fc_convert_job *job);
int fc_convert_check_space(struct fc_convert_job *job, const char *where, uint64_t needed);
/* Who uses it, or what is mounted in it? */
int fc_convert_check_use(struct fc_convert_job *job, const char *path);

/* ---- convert_place.c */
/* Finds DIR, or what a conversion left of it; takes the folder's lock and reads its journal. */
int fc_convert_find(struct fc_convert_job *job);
/* Is a conversion of that directory (absolute) under way, or was one interrupted? Says nothing. */
bool fc_convert_under_way(const char *dir);
/* Makes folder and journal. */
int fc_convert_begin(struct fc_convert_job *job);
int fc_convert_set_phase(struct fc_convert_job *job, enum fc_convert_phase phase);
/* From MADE to PLACED; may have been done in part. */
int fc_convert_place(struct fc_convert_job *job);
/* Back from before anything was moved: DIR is what it was, the new container is gone. */
int fc_convert_unplace(struct fc_convert_job *job);
/* The end: the folder goes. What stayed in data goes to DIR.not-protected. */
int fc_convert_end_in(struct fc_convert_job *job);
/* data becomes DIR, the container goes. */
int fc_convert_end_out(struct fc_convert_job *job);

/* ---- convert_open.c */
/* Opens the container as a file system; asks for the key unless it is at hand. */
int fc_convert_open(struct fc_convert_job *job);
int fc_convert_close(struct fc_convert_job *job);
/* The other way from now on. */
int fc_convert_turn_round(struct fc_convert_job *job);
int fc_convert_move(struct fc_convert_job *job);
/* Leaves DIR unlocked. */
int fc_convert_mount(struct fc_convert_job *job);

/* ---- convert_report.c */
void fc_convert_report_begin(struct fc_convert_job *job);
/* Signals end the process again. */
void fc_convert_report_end(void);
void fc_convert_on_note(void *arg, enum fc_convert_note what, const char *path, int error);
void fc_convert_on_progress(void *arg, uint64_t bytes, uint64_t names);
bool fc_convert_on_stop(void *arg);
/* The line of progress goes. */
void fc_convert_clear_line(struct fc_convert_job *job);
/* What went wrong with fc_convert_run and the like. */
int fc_convert_say_error(struct fc_convert_job *job, int error);
void fc_convert_say_flash(const struct fc_convert_job *job);
/* The last line. */
void fc_convert_say_done(struct fc_convert_job *job, int status);

#endif
