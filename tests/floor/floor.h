/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The floor: a FUSE file system that keeps everything in memory, asks the kernel for all
 * that saves requests as fusecrypt does, and does nothing else. What it takes is what
 * FUSE takes.
 *
 *   floor.c       mounts, reads requests and ends
 *   operations.c  the answers
 *   names.c       nodes, and the names in directories
 *   data.c        what is in files
 *
 * One thread, so no locks. An error is 0 or a positive errno.
 */
#ifndef FC_TESTS_FLOOR_H
#define FC_TESTS_FLOOR_H

#define FUSE_USE_VERSION 312

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/uio.h>

struct floor_chunk;
struct floor_node;

/* One name in a directory. */
struct floor_entry {
	struct floor_entry *next; /* in its chain of the table */
	struct floor_node *dir, *node;
	uint64_t hash;
	size_t slot; /* dir->slots[slot] is this one */
	char name[];
};

/* A file of any kind. It lives while it has a name or the kernel knows it. */
struct floor_node {
	struct stat st; /* st_size and st_blocks of a regular file: floor_data_* */
	uint64_t lookups;
	char *target; /* of a symbolic link */
	/* A regular file: */
	struct floor_chunk **chunks; /* NULL: a hole */
	size_t chunk_room;
	/* A directory: slots in the order of creation, NULL where a name was removed, so that a
	 * place in the listing stays good. */
	struct floor_node *parent;
	struct floor_entry **slots;
	size_t slots_used, slots_room, entries;
};

/* ---- names.c ------------------------------------------------------------ */
/* The kernel's number for a node, and back. */
fuse_ino_t floor_number(struct floor_node *node);
struct floor_node *floor_node(fuse_ino_t ino);
/* Makes the root. */
void floor_names_begin(void);
/* With no name yet; NULL without memory. */
struct floor_node *floor_node_new(mode_t mode, uid_t uid, gid_t gid);
/* Frees it unless it has a name or the kernel knows it. */
void floor_node_drop(struct floor_node *node);
struct timespec floor_now(void);
/* NULL: there is none. */
struct floor_entry *floor_find(const struct floor_node *dir, const char *name);
/* The name must be new. Counts links and sets times. ENOMEM. */
int floor_enter(struct floor_node *dir, const char *name, struct floor_node *node);
/* The other way round; drops the node. */
void floor_remove(struct floor_entry *entry);

/* ---- data.c ------------------------------------------------------------- */
#define FLOOR_CHUNK (1u << 20) /* bytes */
/* Takes so much memory for later: on some machines the kernel, or the host of a virtual one, is slower to
 * give it than FUSE is to fill it. ENOMEM. */
int floor_data_begin(size_t bytes);
/* Also the most that one READ asks for, so it lies in two chunks, each with a part that was never written. */
#define FLOOR_PIECES 4
/* Where the n bytes at off lie, fewer at the end of the file; how many pieces of iov. */
int floor_data_read(const struct floor_node *node, uint64_t off, size_t n, struct iovec iov[FLOOR_PIECES]);
/* ENOMEM, EFBIG */
int floor_data_write(struct floor_node *node, uint64_t off, const char *data, size_t n);
int floor_data_resize(struct floor_node *node, uint64_t size);
/* Whole chunks are shared, not copied. *done: how many bytes, fewer at the end of from. */
int floor_data_copy(struct floor_node *from, uint64_t from_off, struct floor_node *to, uint64_t to_off, size_t n,
		    size_t *done);

/* ---- operations.c ------------------------------------------------------- */
extern const struct fuse_lowlevel_ops floor_operations;

#endif
