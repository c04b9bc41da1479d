/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of convert/ share. Paths are relative to the converted directory: "" is
 * itself, "a/b" has no slash at either end. Errors are FC_E*; those of the host are made of
 * errno.
 *
 * Two hands: the first copies a batch and makes it durable, the second (back.c, a thread) reads
 * it back and takes away what it came from, while the first copies the next one. Each has a
 * struct fc_cv of its own: place, buffer, hash, batch. They share the file system, descriptors,
 * journal and links; the second changes none of these but the file system and the host's files.
 */
#ifndef FC_CONVERT_CONVERTER_H
#define FC_CONVERT_CONVERTER_H

#include <pthread.h>
#include <sys/stat.h>

#include <xxhash.h>

#include "fusecrypt/convert.h"

#define FC_CV_STAMP "trusted.fusecrypt.times"
#define FC_CV_BUFFER (1u << 20)
#define FC_CV_BATCH_BYTES (32ull << 20)
#define FC_CV_BATCH_NAMES 1024u
#define FC_CV_KEPT (8ull << 20) /* free bytes that no batch takes */

/* ---- names.c -------------------------------------------------------------- */

struct fc_cv_name {
	char *name;
	uint64_t ino;
	unsigned char type; /* DT_* */
};

struct fc_cv_names {
	struct fc_cv_name *list;
	size_t count, room;
};

/* Without . and .. ; by inode number. The caller frees, also on failure. */
int fc_cv_names_host(int dir, struct fc_cv_names *out);
int fc_cv_names_container(struct fc_fs *fs, uint64_t ino, struct fc_cv_names *out);
void fc_cv_names_free(struct fc_cv_names *names);
/* malloc'ed; NULL: out of memory. */
char *fc_cv_join(const char *dir, const char *name);
/* The last component; *dir_bytes: of what is before it, without the slash. */
const char *fc_cv_base(const char *path, size_t *dir_bytes);

/* ---- links.c: names of inodes that have more than one ------------------------ */

struct fc_cv_group {
	uint64_t ino, nlink, bytes; /* bytes: look.c's */
	char **path;
	size_t count, room;
	bool taken; /* it is in the batch, or has been */
};

struct fc_cv_links {
	struct fc_cv_group *group; /* table, power of two; ino 0: free */
	size_t count, room;
};

int fc_cv_links_add(struct fc_cv_links *links, uint64_t ino, uint64_t nlink, const char *path);
struct fc_cv_group *fc_cv_links_find(const struct fc_cv_links *links, uint64_t ino);
void fc_cv_links_free(struct fc_cv_links *links);

/* ---- converter --------------------------------------------------------------- */

struct fc_cv_item {
	char **path; /* all names of the inode */
	size_t paths;
	struct stat st;      /* the host's */
	struct fc_attr attr; /* the container's; moving in, only its inode number */
	/* Of a regular file, the part of its content that is in this batch, and its hash. A file larger
	 * than a batch is several items; with the last one all of it is there. */
	uint64_t from, to;
	XXH128_hash_t hash;
	bool more;      /* it is not the last */
	bool changed;   /* it is not as it was when it was read */
	uint64_t bytes; /* that it counts for */
};

struct fc_cv_batch {
	struct fc_cv_item *item;
	size_t items, room;
	uint64_t bytes, most; /* that it has, that it may have */
};

struct fc_cv_back;

/* A directory on the way to the one last used. */
struct fc_cv_level {
	uint64_t cino; /* the container's, 0: not there */
	bool host;     /* it is on the host */
	dev_t dev;
	ino_t ino;
};

struct fc_cv {
	struct fc_fs *fs;
	int staging, host; /* host: data, -1 none yet */
	struct fc_convert_journal *journal;
	const struct fc_convert_options *options;
	struct fc_cv *first;               /* the first hand: it */
	pthread_mutex_t told;              /* the first's: around the caller's functions, and what they tell */
	uint64_t moved_bytes, moved_names; /* the first's; told */
	struct fc_cv_back *back;           /* the second hand; NULL: there was no need for it yet */
	struct fc_cv_links links;          /* of the side that names come from; the first's */
	char *split_path;                  /* a name of the split file on the host, NULL none was met */
	/* place.c */
	char *at; /* path of the directory last used, NULL none */
	int at_fd;
	uint64_t at_ino;
	struct fc_cv_level *level; /* from the root of all down to it */
	size_t depth, depth_room;
	struct fc_cv_batch batch;
	uint64_t file_room; /* bytes that one file may have without being split */
	size_t changed;     /* files that changed while they were moved, to be moved again */
	uint8_t *buf;
	XXH3_state_t *hash;
};

/* Buffers are made with fc_cv_alloc, those that are missing: looking needs none. */
void fc_cv_init(struct fc_cv *c, struct fc_fs *fs, int staging, struct fc_convert_journal *journal,
		const struct fc_convert_options *options);
int fc_cv_alloc(struct fc_cv *c);
void fc_cv_fini(struct fc_cv *c);

/* True: stop. */
bool fc_cv_stop(const struct fc_cv *c);
void fc_cv_note(const struct fc_cv *c, enum fc_convert_note what, const char *path, int error);
/* Notes it as FAILED unless it was an interruption; returns error. */
int fc_cv_failed(const struct fc_cv *c, const char *path, int error);
int fc_cv_errno(int err);
int fc_cv_save(struct fc_cv *c);

/* ---- place.c: directories by path ----------------------------------------------- */

/* Sets c->at_fd (-1: not on the host) and c->at_ino (0: not in the container) to the
 * directory that holds path; *name is the last component. */
int fc_cv_place(struct fc_cv *c, const char *path, const char **name);
/* The same of a directory itself. */
int fc_cv_place_dir(struct fc_cv *c, const char *dir);
void fc_cv_place_forget(struct fc_cv *c);
/* Looks up without holding on to it. */
int fc_cv_lookup(struct fc_fs *fs, uint64_t parent, const char *name, struct fc_attr *attr);
/* A directory of the host to look at. FC_E*, or a descriptor. */
int fc_cv_open_dir(int dir, const char *name);
/* Makes names in it removable for its owner. */
void fc_cv_open_up(int dir);
/* As fc_cv_place, to change names there: c->at_fd may then be written to, if the host has it (>= 0). */
int fc_cv_place_open(struct fc_cv *c, const char *path, const char **name);

/* ---- meta.c: owner, mode, times, attributes -------------------------------------- */

/* name in dir; "." is dir itself. FC_CV_STAMP is left out. */
int fc_cv_meta_in(struct fc_fs *fs, int dir, const char *name, const struct stat *st, uint64_t ino);
int fc_cv_meta_out(struct fc_fs *fs, uint64_t ino, const struct fc_attr *attr, int dir, const char *name);
/* Are they alike (sizes, targets, devices too; content not)? 1, 0 or an error. */
int fc_cv_meta_same(struct fc_fs *fs, uint64_t ino, int dir, const char *name);
int fc_cv_times_in(struct fc_fs *fs, uint64_t ino, struct fc_time atime, struct fc_time mtime);
struct fc_time fc_cv_time(struct timespec t);
struct timespec fc_cv_timespec(struct fc_time t);
/* The stamp of a directory: FC_ENODATA without one. */
int fc_cv_stamp_get(struct fc_fs *fs, uint64_t ino, struct fc_time *atime, struct fc_time *mtime);
int fc_cv_stamp_set(struct fc_fs *fs, uint64_t ino, struct fc_time atime, struct fc_time mtime);

/* ---- content.c ---------------------------------------------------------------------- */

/* Copies bytes [from, *to) of a regular file, holes as holes, and hashes what is no zeros. With about
 * `most` bytes of data it ends before, at *to, a block's begin. */
int fc_cv_copy_in(struct fc_cv *c, int fd, uint64_t ino, uint64_t from, uint64_t *to, uint64_t most,
		  XXH128_hash_t *hash);
int fc_cv_copy_out(struct fc_cv *c, uint64_t ino, int fd, uint64_t from, uint64_t *to, uint64_t most,
		   XXH128_hash_t *hash);
/* Reads it from the disk. */
int fc_cv_hash_host(struct fc_cv *c, int fd, uint64_t from, uint64_t to, XXH128_hash_t *hash);
int fc_cv_hash_container(struct fc_cv *c, uint64_t ino, uint64_t from, uint64_t to, XXH128_hash_t *hash);
/* What was committed is in memory no more. */
void fc_cv_forget(struct fc_cv *c);

/* ---- space.c ---------------------------------------------------------------------------- */

/* Sets batch.most (which is the bytes of a piece of a split file too) and file_room to what is free
 * now: at least 64 KiB, or FC_ENOSPC. With little room it waits for the second hand. */
int fc_cv_budget(struct fc_cv *c);
/* What was freed in the container goes back to the host now. */
int fc_cv_give_back(struct fc_cv *c);
/* Does a deletion not free its blocks? Reflinks and snapshots. */
bool fc_cv_shared(int fd);

/* ---- dirs.c ------------------------------------------------------------------------------ */

/* Makes the directories of data in the container, and stamps them. */
int fc_cv_dirs_in(struct fc_cv *c);
/* Stamps those of the container; makes them in data, if that is there. */
int fc_cv_dirs_out(struct fc_cv *c);
/* Gives those of the container their times and takes the stamps away. */
int fc_cv_dirs_end_in(struct fc_cv *c);
/* Takes those of data away, and data, as far as they are empty. */
int fc_cv_dirs_gone(struct fc_cv *c);
/* Gives those of data all that those of the container have. */
int fc_cv_dirs_end_out(struct fc_cv *c);

/* ---- walk.c ------------------------------------------------------------------------------- */

struct fc_cv_visit {
	/* Every name but directories; path is its own. */
	int (*each)(struct fc_cv *c, const char *path, const struct fc_cv_name *name);
	/* A directory, before and after what is in it. */
	int (*enter)(struct fc_cv *c, const char *path); /* 1: not into it */
	int (*leave)(struct fc_cv *c, const char *path);
};

/* All of data, or of the container. What goes meanwhile is passed over; with options->skip
 * directories that cannot be read too. */
int fc_cv_walk(struct fc_cv *c, bool container, const struct fc_cv_visit *visit);
/* Fills links and split_path. */
int fc_cv_find_links(struct fc_cv *c);

/* ---- batch.c: what the first hand has in it ----------------------------------------------- */

/* Copies the names of the inode at path; the caller frees with fc_cv_item_free. */
int fc_cv_item_of(struct fc_cv *c, const char *path, uint64_t ino, uint64_t nlink, struct fc_cv_item *item);
void fc_cv_item_free(struct fc_cv_item *item);
/* The item becomes the batch's, also on failure. */
int fc_cv_batch_add(struct fc_cv *c, struct fc_cv_item *item);
/* All of it durable; the second hand does the rest. */
int fc_cv_batch_pass(struct fc_cv *c);
/* All of it durable, compared, and taken away where it came from; the second hand has nothing to do. */
int fc_cv_batch_end(struct fc_cv *c);
void fc_cv_batch_drop(struct fc_cv_batch *batch);
/* Room for so many bytes more, by passing the batch on if need be. */
int fc_cv_batch_room(struct fc_cv *c, uint64_t bytes);

/* ---- move.c: one inode ------------------------------------------------------------------------- */

struct fc_cv_way {
	/* Makes it with all its names where it goes to. *fd is the host's file (-1: no regular file): set
	 * when it is made there. */
	int (*make)(struct fc_cv *c, struct fc_cv_item *item, int *fd);
	/* Copies and hashes [item->from, item->to), as fc_cv_copy_in does. */
	int (*copy)(struct fc_cv *c, struct fc_cv_item *item, int fd, uint64_t most);
	/* Gives it all that it has beside its content. */
	int (*dress)(struct fc_cv *c, const struct fc_cv_item *item, int fd);
	/* Takes it away where it went to. */
	void (*undo)(struct fc_cv *c, const struct fc_cv_item *item);
	/* May its space be taken away piece by piece, so that it comes back at once? */
	bool (*may_split)(const struct fc_cv_item *item, int fd);
	/* As fc_cv_split_in. */
	int (*split)(struct fc_cv *c, const struct fc_cv_item *item);
};

/* The item becomes this function's; its bytes are set, and `to` for a regular file: its size. fd: the
 * host's file if it comes from there, which stays the caller's; else -1. */
int fc_cv_move(struct fc_cv *c, const struct fc_cv_way *way, struct fc_cv_item *item, int fd);

/* ---- back.c: the second hand ------------------------------------------------------------------ */

/* Takes the batch, which is durable. The second hand has nothing to do. */
int fc_cv_back_start(struct fc_cv *c);
/* Waits for it. What went wrong with it, or 0. */
int fc_cv_back_join(struct fc_cv *c);
bool fc_cv_back_busy(const struct fc_cv *c); /* a batch of its own has not been joined */
void fc_cv_back_free(struct fc_cv *c);
void fc_cv_progress(struct fc_cv *c, uint64_t bytes, uint64_t names);
int fc_cv_unlink_host(struct fc_cv *c, const char *path);
int fc_cv_unlink_container(struct fc_cv *c, const char *path);
/* Is it on both sides alike? 1, 0, or an error. part: the last part of the content, which is all that
 * is compared of it; NULL: all of it, by reading both sides. */
int fc_cv_compare(struct fc_cv *c, const char *path, const struct fc_cv_item *part);
/* Of an inode that nobody has changed in between. */
bool fc_cv_same_stat(const struct stat *a, const struct stat *b);
/* A regular file of the host to read. A descriptor or FC_E*. */
int fc_cv_open_file(struct fc_cv *c, const char *path);

/* ---- in.c, out.c, split.c, settle.c ------------------------------------------------------- */

int fc_cv_move_in(struct fc_cv *c, const char *path, const struct fc_cv_name *name);
int fc_cv_move_out(struct fc_cv *c, const char *path, const struct fc_cv_name *name);
/* Makes the item in the container, all its names; content and the rest not. */
int fc_cv_make_in(struct fc_cv *c, const struct fc_cv_item *item, uint64_t *ino);
/* The same on the host; *fd: of a regular file, to read and write, else -1. */
int fc_cv_make_out(struct fc_cv *c, const struct fc_cv_item *item, int *fd);
/* Moves the item's file piece by piece. The batch is empty. */
int fc_cv_split_in(struct fc_cv *c, const struct fc_cv_item *item);
int fc_cv_split_out(struct fc_cv *c, const struct fc_cv_item *item);
/* Goes on with the journal's split file, if there is one. */
int fc_cv_split_resume(struct fc_cv *c);
/* Makes it fit to be moved the other way. */
int fc_cv_split_turn(struct fc_cv *c);
/* Names that are on both sides are on one only from now on. */
int fc_cv_settle(struct fc_cv *c);

#endif
