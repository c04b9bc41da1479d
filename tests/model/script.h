/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random operations. A step holds all that an operation needs; its nodes are
 * those of the model, so that a list of steps can be run again, on a new model
 * or on a container, and means the same. The same seed, profile and model give
 * the same steps.
 */
#ifndef FC_TESTS_SCRIPT_H
#define FC_TESTS_SCRIPT_H

#include <stdio.h>

#include "model.h"

#define FC_STEPS(X) \
	X(LOOKUP, lookup) \
	X(FORGET, forget) \
	X(GETATTR, getattr) \
	X(SETATTR, setattr) \
	X(MKNOD, mknod) \
	X(MKDIR, mkdir) \
	X(SYMLINK, symlink) \
	X(TMPFILE, tmpfile) \
	X(LINK, link) \
	X(UNLINK, unlink) \
	X(RMDIR, rmdir) \
	X(RENAME, rename) \
	X(SCAN, scan) \
	X(READ, read) \
	X(WRITE, write) \
	X(FALLOCATE, fallocate) \
	X(SEEK, seek) \
	X(COPY, copy) \
	X(GETXATTR, getxattr) \
	X(SETXATTR, setxattr) \
	X(REMOVEXATTR, removexattr) \
	X(SYNC, sync) \
	X(COMMIT, commit) \
	X(BACKGROUND, background) \
	X(REKEY, rekey) \
	X(COMPACT, compact) \
	X(REOPEN, reopen) \
	X(REOPEN_READ_ONLY, reopen_read_only) \
	X(POWER_CUT, power_cut) \
	X(COMPARE, compare)

enum fc_step_kind {
#define FC_STEP_ENUM(upper, lower) FC_STEP_##upper,
	FC_STEPS(FC_STEP_ENUM)
#undef FC_STEP_ENUM
		FC_STEP_KINDS
};

struct fc_step {
	enum fc_step_kind kind;
	uint32_t node, dir, dir2;
	uint8_t name, name2, attribute; /* fc_script_name, fc_script_attribute */
	uint32_t mode, flags;
	uint64_t off, off2, bytes, rdev;
	uint64_t seed; /* of the bytes, see fc_script_fill */
	struct fc_cred cred;
	struct fc_setattr set;
	struct fc_time now;
};

const char *fc_script_name(unsigned i);
const char *fc_script_attribute(unsigned i);
#define FC_SCRIPT_WRITE_MAX (1u << 20)

/* n bytes that depend on seed alone; zeros for 0. */
void fc_script_fill(void *buf, size_t n, uint64_t seed);
/* A link's target of s->bytes bytes and a NUL. */
void fc_script_target(const struct fc_step *s, char *buf);
/* An attribute's value: s->bytes bytes into buf (FC_XATTR_VALUE_MAX + 1); an ACL
 * has its own size. Returns the size. */
size_t fc_script_value(const struct fc_step *s, uint8_t *buf);

struct fc_profile {
	unsigned names;     /* how many are used, from 3 */
	unsigned nodes;     /* more are taken away again */
	uint64_t write_max; /* bytes in one write, up to FC_SCRIPT_WRITE_MAX */
	uint64_t spread;    /* usual offsets are below this */
	bool far;           /* offsets up to 2^63, too */
	uint64_t bytes;     /* of all contents; above it files are cut */
	uint16_t weight[FC_STEP_KINDS];
};
extern const struct fc_profile fc_profile_wide;  /* everything */
extern const struct fc_profile fc_profile_small; /* cheap states, for crashes */
extern const struct fc_profile fc_profile_bulk;  /* likewise, with large writes and shared extents */

struct fc_script {
	const struct fc_profile *profile;
	uint64_t state; /* the seed at first */
	uint64_t count; /* steps so far: the clock, in microseconds */
};

/* A number below n. */
uint64_t fc_script_random(struct fc_script *s, uint64_t n);
struct fc_time fc_script_time(uint64_t count);
/* The next step for a file system in the state of m. */
void fc_script_next(struct fc_script *s, const struct fc_model *m, struct fc_step *step);

const char *fc_step_name(enum fc_step_kind kind);
/* One line, all that matters. */
void fc_step_print(FILE *out, const struct fc_step *step);

#endif
