/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of drive share. */
#ifndef FC_TESTS_DRIVE_PRIV_H
#define FC_TESTS_DRIVE_PRIV_H

#include <sys/stat.h>

#include "drive.h"

/* Sets the message; returns DIFFERS. */
enum fc_drive_end fc_drive_differs(struct fc_drive *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Is error one of the faults? Remembers it. */
bool fc_drive_faulted(struct fc_drive *d, int error);
/* Both answers to a call: 0 the same; else DIFFERS. */
enum fc_drive_end fc_drive_verdict(struct fc_drive *d, int error, fc_errors want);
uint64_t fc_drive_ino(struct fc_drive *d, uint32_t node);
/* Remembers, or checks, that node is inode ino. made: it is new. */
enum fc_drive_end fc_drive_bind(struct fc_drive *d, uint32_t node, uint64_t ino, bool made);
enum fc_drive_end fc_drive_check_attr(struct fc_drive *d, uint32_t node, const struct fc_attr *got);

/* drive_data.c: content and attributes */
enum fc_drive_end fc_drive_read(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_write(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_fallocate(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_seek(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_copy(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_getxattr(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_setxattr(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_removexattr(struct fc_drive *d, struct fc_step *s);

/* drive_name.c: names and inodes */
enum fc_drive_end fc_drive_lookup(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_forget(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_getattr(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_setattr(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_mknod(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_mkdir(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_symlink(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_tmpfile(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_link(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_unlink(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_rmdir(struct fc_drive *d, struct fc_step *s);
enum fc_drive_end fc_drive_rename(struct fc_drive *d, struct fc_step *s);

/* drive_scan.c: a readdir that goes on after other steps */
enum fc_drive_end fc_drive_scan(struct fc_drive *d, struct fc_step *s);
void fc_drive_scan_drop(struct fc_drive *d);

#endif
