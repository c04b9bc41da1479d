/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A container in use on a simulated disk, and what must be in it: files of all
 * sizes, holes, hard links, attributes up to 64 KiB, shared extents, orphans, and
 * a live log. Everything depends on the settings alone.
 *
 * The states that a container may be found in, by what its damage permits: after
 * each record of the log; as the newest root has it; as the root before it has.
 */
#ifndef FC_TESTS_BOX_H
#define FC_TESTS_BOX_H

#include "fusecrypt/check.h"
#include "store/io.h"

struct box_settings {
	unsigned files;  /* about */
	uint64_t bytes;  /* of content, at least */
	uint32_t cipher; /* FC_CIPHER_* */
	uint64_t log_bytes;
};

#define BOX_RECORDS 4 /* of the log */
/* states */
#define BOX_OLDER (-1) /* the root before the newest one */
#define BOX_ROOT 0     /* the newest root without its log; n: with n records of it */

struct box_file {
	char *path; /* without a slash at its begin */
	uint32_t mode;
	uint32_t nlink; /* 0: not known */
	uint64_t size, seed, rdev;
	bool holes;
	char *target; /* of a symbolic link */
	uint64_t ino;
	uint64_t small, big; /* seeds of attributes, 0: none */
	int first, last;     /* states in which it is there */
};

struct box {
	struct box_settings settings;
	struct fc_io *sim;   /* as a crash left it */
	struct fc_io *older; /* the same some commits before, whole */
	struct box_file *file;
	size_t files, room;
	uint64_t orphans;
	struct fc_time now;
	bool failed; /* said on standard error */
};

extern const uint8_t box_master[FC_KEY_BYTES];

/* 0, or not: says why. */
int box_make(struct box *box, const struct box_settings *settings);
void box_free(struct box *box);
/* An fs on a copy of that disk. */
int box_open(const struct fc_io *sim, bool read_only, bool accept_older, struct fc_fs **fs);

/* What was met when looking at a file; 0: all of it is right. */
#define BOX_NAME 1u      /* a name on the way to it cannot be had: an error */
#define BOX_ATTR 2u      /* its attributes (stat) cannot be had */
#define BOX_DATA 4u      /* content, or the target */
#define BOX_XATTR 8u     /* extended attributes */
#define BOX_LIST 16u     /* names of a directory */
#define BOX_MISSING 32u  /* no such name, or entry, or attribute */
#define BOX_WRONG 64u    /* something else than what was written, or an error of the wrong kind */
#define BOX_CHANGED 128u /* links, mode or size differ */

/* Is the file there in that state? */
static inline bool box_has(const struct box_file *file, int state)
{
	return state >= file->first && state <= file->last;
}
/* Does its path lead to it? why: of the first wrong thing (BOX_WHY bytes). */
#define BOX_WHY 128
unsigned box_find(struct fc_fs *fs, const struct box_file *file, char *why);
/* Looks at the inode itself, however it is reached; a directory as of that state. */
unsigned box_look(const struct box *box, struct fc_fs *fs, const struct box_file *file, int state, char *why);

#endif
