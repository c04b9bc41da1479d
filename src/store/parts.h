/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many small writes, or the pieces of a read, at once: the disk sees all of them, not one
 * after the other. */
#ifndef FC_STORE_PARTS_H
#define FC_STORE_PARTS_H

#include <pthread.h>

#include "store/io.h"

struct fc_parts;

/* Those that nobody uses. They belong to the process: a child of fork has none. */
struct fc_parts_pool {
	pthread_mutex_t lock;
	struct fc_parts *idle; /* a list */
	bool impossible;       /* one could not be made */
};

void fc_parts_pool_init(struct fc_parts_pool *pool);
void fc_parts_pool_fini(struct fc_parts_pool *pool); /* none is in use */
/* NULL: not possible here (no such library or kernel, no memory). */
struct fc_parts *fc_parts_take(struct fc_parts_pool *pool);
void fc_parts_give(struct fc_parts_pool *pool, struct fc_parts *parts); /* NULL: nothing */

/* Writes to fd, opened with O_DIRECT, what it can of part[0..count); whole[i] tells
 * whether all of part i was written. Nothing is under way on return. */
void fc_parts_write(struct fc_parts *parts, int fd, const struct fc_io_part *part, size_t count, bool *whole);

#define FC_PARTS_PIECES 64u

/* Begins to read pieces of `piece` bytes from fd, opened with O_DIRECT, into buf, at most
 * FC_PARTS_PIECES: how many it was. Until fc_parts_end the buffer is in use. */
size_t fc_parts_read(struct fc_parts *parts, int fd, uint8_t *buf, size_t pieces, size_t piece, uint64_t off);
/* Waits for piece i, of those begun: was it read as a whole? */
bool fc_parts_wait(struct fc_parts *parts, size_t i);
/* Waits for all that is under way. */
void fc_parts_end(struct fc_parts *parts);

#endif
