/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model: a plain file system in memory with the meaning of fc_fs_*
 * (fusecrypt/container.h), written to be obviously right rather than fast.
 *
 * Nodes are numbered from 1 (the root), upwards, and never again: the same
 * calls on the same model give the same numbers. The clock is what
 * fc_model_clock said last. Calls return 0 or the set of errors that would be
 * right: several when several reasons to fail hold at once. After an error
 * nothing has changed.
 *
 * Not thread-safe. Out of memory ends the program.
 */
#ifndef FC_TESTS_MODEL_H
#define FC_TESTS_MODEL_H

#include "fusecrypt/container.h"

typedef uint64_t fc_errors;
#define FC_ERR(error) (UINT64_C(1) << -(error))

struct fc_model;

struct fc_model *fc_model_new(uint32_t uid, uint32_t gid, struct fc_time now);
/* Contents are shared until they change: cheap. */
struct fc_model *fc_model_clone(const struct fc_model *m);
void fc_model_free(struct fc_model *m); /* NULL allowed */
void fc_model_clock(struct fc_model *m, struct fc_time now);
/* As closing and opening: no references are left, and no orphans. */
void fc_model_reopen(struct fc_model *m);

/* ---- looking at it ------------------------------------------------------ */

/* Numbers given out so far: every node is below this. */
uint32_t fc_model_top(const struct fc_model *m);
/* NULL: no such node (any more). ino is the node's number, blocks 0. */
const struct fc_attr *fc_model_attr(const struct fc_model *m, uint32_t node);
uint64_t fc_model_refs(const struct fc_model *m, uint32_t node);
/* Nodes there are, orphans included; the bytes of pages that are not shared. */
uint64_t fc_model_nodes(const struct fc_model *m);
uint64_t fc_model_bytes(const struct fc_model *m);
/* Made by tmpfile and never linked. */
bool fc_model_unnamed(const struct fc_model *m, uint32_t node);
/* Directories: the parent, 0 for one that was removed. */
uint32_t fc_model_parent(const struct fc_model *m, uint32_t dir);

struct fc_model_entry {
	const char *name; /* NUL-terminated, valid until the directory changes */
	uint32_t node;
	uint64_t birth; /* counts up; a name that is made again has another */
};
/* The i-th entry of a directory by name (bytes); false past the last. */
bool fc_model_entry(const struct fc_model *m, uint32_t dir, size_t i, struct fc_model_entry *entry);
/* The i-th attribute by name; false past the last. Includes the ACLs. */
bool fc_model_attribute(const struct fc_model *m, uint32_t node, size_t i, const char **name, const void **value,
			size_t *bytes);
/* NULL: not a symbolic link. */
const char *fc_model_target(const struct fc_model *m, uint32_t node);

/* Where a file may hold blocks. blocks_max: 4 KiB units that were written or
 * allocated; blocks_min: those that hold a byte other than zero. */
void fc_model_blocks(const struct fc_model *m, uint32_t node, uint64_t *blocks_min, uint64_t *blocks_max);
/* The first byte at or after off that is not zero; UINT64_MAX: none. */
uint64_t fc_model_nonzero(const struct fc_model *m, uint32_t node, uint64_t off);
/* Was the unit that holds off ever written or allocated since it was last a hole? */
bool fc_model_allocated(const struct fc_model *m, uint32_t node, uint64_t off);

/* Sum over the units that are not all zero, as fc_walk_unit and
 * fc_walk_content compute it. */
uint64_t fc_model_content(const struct fc_model *m, uint32_t node);

/* ---- names -------------------------------------------------------------- */

fc_errors fc_model_lookup(struct fc_model *m, uint32_t parent, const char *name, uint32_t *node);
void fc_model_forget(struct fc_model *m, uint32_t node, uint64_t n);
fc_errors fc_model_setattr(struct fc_model *m, uint32_t node, const struct fc_setattr *set);
fc_errors fc_model_mknod(struct fc_model *m, uint32_t parent, const char *name, const struct fc_cred *cred,
			 uint32_t mode, uint64_t rdev, uint32_t *node);
fc_errors fc_model_mkdir(struct fc_model *m, uint32_t parent, const char *name, const struct fc_cred *cred,
			 uint32_t mode, uint32_t *node);
fc_errors fc_model_symlink(struct fc_model *m, uint32_t parent, const char *name, const struct fc_cred *cred,
			   const char *target, uint32_t *node);
fc_errors fc_model_tmpfile(struct fc_model *m, uint32_t parent, const struct fc_cred *cred, uint32_t mode,
			   uint32_t *node);
fc_errors fc_model_link(struct fc_model *m, uint32_t node, uint32_t parent, const char *name);
fc_errors fc_model_unlink(struct fc_model *m, uint32_t parent, const char *name);
fc_errors fc_model_rmdir(struct fc_model *m, uint32_t parent, const char *name);
fc_errors fc_model_rename(struct fc_model *m, uint32_t parent, const char *name, uint32_t new_parent,
			  const char *new_name, unsigned flags, const struct fc_cred *cred);

/* ---- content ------------------------------------------------------------ */

fc_errors fc_model_read(const struct fc_model *m, uint32_t node, uint64_t off, size_t n, void *buf, size_t *got);
fc_errors fc_model_write(struct fc_model *m, uint32_t node, uint64_t off, size_t n, const void *buf, unsigned flags);
fc_errors fc_model_fallocate(struct fc_model *m, uint32_t node, int mode, uint64_t off, uint64_t n);
fc_errors fc_model_copy(struct fc_model *m, uint32_t from, uint64_t from_off, uint32_t to, uint64_t to_off, uint64_t n,
			uint64_t *done);

/* ---- extended attributes -------------------------------------------------- */

/* *bytes is set in any case when there is such an attribute. */
fc_errors fc_model_getxattr(const struct fc_model *m, uint32_t node, const char *name, void *buf, size_t size,
			    size_t *bytes);
fc_errors fc_model_setxattr(struct fc_model *m, uint32_t node, const char *name, const void *value, size_t size,
			    int flags, bool kill_sgid);
fc_errors fc_model_removexattr(struct fc_model *m, uint32_t node, const char *name);

#endif
