/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many small writes at once: the disk sees all of them, not one after the other. */
#ifndef FC_STORE_PARTS_H
#define FC_STORE_PARTS_H

#include "store/io.h"

struct fc_parts;

/* NULL: not possible here (no such library or kernel, no memory). Belongs to the process:
 * after a fork only to the parent. */
struct fc_parts *fc_parts_new(void);
void fc_parts_free(struct fc_parts *parts); /* NULL: nothing */

/* Writes to fd, opened with O_DIRECT, what it can of part[0..count); whole[i] tells
 * whether all of part i was written. Nothing is under way on return. One caller at a time. */
void fc_parts_write(struct fc_parts *parts, int fd, const struct fc_io_part *part, size_t count, bool *whole);

#endif
