/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sequence.h"

#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/stat.h>

/* Names and nodes of the tree: a/ {d: 6000 bytes, e: 20 bytes}, b/ {}. Nodes
 * count up from the root's 1. */
enum { A, B, C, D, E, F };
enum { ROOT = 1, DIR_A, DIR_B, FILE_D, FILE_E };

static const struct fc_step tree[] = {
	{ .kind = FC_STEP_MKDIR, .dir = ROOT, .name = A, .mode = 0755 },
	{ .kind = FC_STEP_MKDIR, .dir = ROOT, .name = B, .mode = 0755 },
	{ .kind = FC_STEP_MKNOD, .dir = DIR_A, .name = D, .mode = S_IFREG | 0644 },
	{ .kind = FC_STEP_MKNOD, .dir = DIR_A, .name = E, .mode = S_IFREG | 0644 },
	{ .kind = FC_STEP_WRITE, .node = FILE_D, .off = 0, .bytes = 6000, .seed = 11 },
	{ .kind = FC_STEP_WRITE, .node = FILE_E, .off = 0, .bytes = 20, .seed = 12 },
	{ .kind = FC_STEP_COMMIT },
};

/* The operations of a sequence. */
static const struct fc_step operations[] = {
	{ .kind = FC_STEP_MKNOD, .dir = DIR_A, .name = F, .mode = S_IFREG | 0644 },
	{ .kind = FC_STEP_MKDIR, .dir = DIR_B, .name = F, .mode = 0755 },
	{ .kind = FC_STEP_SYMLINK, .dir = DIR_B, .name = C, .bytes = 30, .seed = 21 },
	{ .kind = FC_STEP_LINK, .node = FILE_D, .dir = DIR_B, .name = D },
	{ .kind = FC_STEP_UNLINK, .dir = DIR_A, .name = D },
	{ .kind = FC_STEP_RENAME, .dir = DIR_A, .name = D, .dir2 = DIR_A, .name2 = E },
	{ .kind = FC_STEP_RENAME, .dir = DIR_A, .name = E, .dir2 = DIR_B, .name2 = E },
	{ .kind = FC_STEP_RENAME, .dir = ROOT, .name = B, .dir2 = DIR_A, .name2 = B },
	{ .kind = FC_STEP_WRITE, .node = FILE_D, .off = 6000, .bytes = 3000, .seed = 31 }, /* append */
	{ .kind = FC_STEP_WRITE, .node = FILE_D, .off = 100, .bytes = 5000, .seed = 32 },  /* overwrite */
	{ .kind = FC_STEP_WRITE, .node = FILE_E, .off = 9000, .bytes = 100, .seed = 33 },  /* leaves inline, a hole */
	{ .kind = FC_STEP_SETATTR, .node = FILE_D, .set = { .valid = FC_SET_SIZE, .size = 2500 } },
	{ .kind = FC_STEP_FALLOCATE, .node = FILE_D, .mode = FALLOC_FL_KEEP_SIZE, .off = 4096, .bytes = 9000 },
	{ .kind = FC_STEP_FALLOCATE,
	  .node = FILE_D,
	  .mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	  .off = 0,
	  .bytes = 4096 },
	{ .kind = FC_STEP_COPY, .node = FILE_D, .off = 0, .dir2 = FILE_E, .off2 = 0, .bytes = 6000 },
	{ .kind = FC_STEP_SETXATTR, .node = FILE_D, .attribute = 0, .bytes = 3000, .seed = 41 },
};

/* What comes after an operation. */
static const struct fc_step between[] = {
	{ .kind = FC_STEP_BACKGROUND },
	{ .kind = FC_STEP_SYNC },
	{ .kind = FC_STEP_RENAME, .dir = DIR_A, .name = E, .dir2 = DIR_A, .name2 = C },
	{ .kind = FC_STEP_REOPEN },
};

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))
#define BETWEEN (sizeof(between) / sizeof(between[0]))

size_t fc_sequence_tree(const struct fc_step **steps)
{
	*steps = tree;
	return sizeof(tree) / sizeof(tree[0]);
}

uint64_t fc_sequence_count(unsigned n)
{
	uint64_t count = 1;

	for (unsigned i = 0; i < n; i++)
		count *= OPERATIONS * (i ? BETWEEN : 1);
	return count;
}

size_t fc_sequence(unsigned n, uint64_t index, struct fc_step steps[FC_SEQUENCE_STEPS_MAX])
{
	uint64_t clock = 1000;
	size_t count = 0;

	for (unsigned i = 0; i < n; i++) {
		if (i) {
			steps[count++] = between[index % BETWEEN];
			index /= BETWEEN;
		}
		steps[count++] = operations[index % OPERATIONS];
		index /= OPERATIONS;
	}
	steps[count++] = (struct fc_step){ .kind = FC_STEP_SYNC };
	for (size_t i = 0; i < count; i++)
		steps[i].now = fc_script_time(++clock);
	return count;
}
