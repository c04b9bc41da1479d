/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What file.c, alloc.c and copy.c share. Exclusive lock. */
#ifndef FC_FS_FILE_H
#define FC_FS_FILE_H

#include "fs/state.h"

/* Moves inline content into a page and puts the inode; nothing to do for other files. */
int fc_data_outline(struct fc_fs *fs, struct fc_inode *inode);
/* A page to change, with the file's content in it unless `all` of it will be
 * overwritten. NULL with *error. */
struct fc_page *fc_data_page(struct fc_fs *fs, const struct fc_inode *inode, uint64_t index, bool all, int *error);

/* The caller's buffer, as file bytes [off, off + n). */
struct fc_window {
	uint64_t off;
	size_t n;
	uint8_t *buf;
};

/* Tells the log about content that could not be read; nothing for other errors. No lock. */
void fc_data_report(struct fc_fs *fs, uint64_t ino, uint64_t block, int error);

/* After FC_ENOSPC, without locks: did waiting for commits free anything? Then try again.
 * *tries: 0 before the first; at some number of them it is false. */
bool fc_space_came_free(struct fc_fs *fs, unsigned *tries);

#endif
