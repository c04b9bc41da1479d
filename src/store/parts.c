/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By the kernel's asynchronous I/O (libaio), which is at its best with O_DIRECT. */
#include "store/parts.h"

#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#if FC_HAVE_AIO
#include <libaio.h>

#define DEPTH FC_PARTS_PIECES /* under way at once */

struct fc_parts {
	struct fc_parts *next; /* idle */
	io_context_t context;
	size_t left; /* begun, and not come back */
	struct iocb request[DEPTH];
	long result[DEPTH]; /* bytes or a negative errno; PENDING */
};

#define PENDING INT32_MIN

static struct fc_parts *make(void)
{
	struct fc_parts *parts = calloc(1, sizeof(*parts));

	if (parts && io_setup(DEPTH, &parts->context)) {
		free(parts);
		parts = NULL;
	}
	return parts;
}

static void destroy(struct fc_parts *parts)
{
	io_destroy(parts->context);
	free(parts);
}

/* Begins the first `count` requests, which are prepared: how many. */
static size_t begin(struct fc_parts *parts, size_t count)
{
	struct iocb *request[DEPTH];
	size_t i, sent = 0;

	for (i = 0; i < count; i++) {
		request[i] = &parts->request[i];
		request[i]->data = (void *)(uintptr_t)i;
		parts->result[i] = PENDING;
	}
	while (sent < count) {
		int n = io_submit(parts->context, (long)(count - sent), request + sent);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		sent += (size_t)n;
	}
	parts->left = sent;
	return sent;
}

/* At least one more comes back. */
static void reap(struct fc_parts *parts)
{
	struct io_event event[DEPTH];
	int n;

	do {
		n = io_getevents(parts->context, 1, (long)parts->left, event, NULL);
	} while (n == -EINTR);
	if (n <= 0)
		abort(); /* only of a context that is none: buffers would be written to after their end */
	for (int i = 0; i < n; i++)
		parts->result[(uintptr_t)event[i].data] = (long)event[i].res;
	parts->left -= (size_t)n;
}

void fc_parts_end(struct fc_parts *parts)
{
	while (parts->left)
		reap(parts);
}

bool fc_parts_wait(struct fc_parts *parts, size_t i)
{
	while (parts->result[i] == PENDING)
		reap(parts);
	return parts->result[i] == (long)parts->request[i].u.c.nbytes;
}

void fc_parts_write(struct fc_parts *parts, int fd, const struct fc_io_part *part, size_t count, bool *whole)
{
	memset(whole, 0, count * sizeof(*whole));
	while (count) {
		size_t n = count < DEPTH ? count : DEPTH, sent, i;

		for (i = 0; i < n; i++)
			io_prep_pwrite(&parts->request[i], fd, (void *)(uintptr_t)part[i].buf, part[i].n,
				       (long long)part[i].off);
		sent = begin(parts, n);
		for (i = 0; i < sent; i++)
			whole[i] = fc_parts_wait(parts, i);
		if (sent < n)
			break; /* the kernel takes no more: the caller writes the rest */
		part += n;
		whole += n;
		count -= n;
	}
}

size_t fc_parts_read(struct fc_parts *parts, int fd, uint8_t *buf, size_t pieces, size_t piece, uint64_t off)
{
	size_t i;

	for (i = 0; i < pieces && i < DEPTH; i++)
		io_prep_pread(&parts->request[i], fd, buf + i * piece, piece, (long long)(off + i * piece));
	return begin(parts, i);
}

#else

struct fc_parts {
	struct fc_parts *next;
};

static struct fc_parts *make(void)
{
	return NULL;
}

static void destroy(struct fc_parts *parts)
{
	free(parts);
}

void fc_parts_write(struct fc_parts *parts, int fd, const struct fc_io_part *part, size_t count, bool *whole)
{
	(void)parts, (void)fd, (void)part;
	memset(whole, 0, count * sizeof(*whole));
}

size_t fc_parts_read(struct fc_parts *parts, int fd, uint8_t *buf, size_t pieces, size_t piece, uint64_t off)
{
	(void)parts, (void)fd, (void)buf, (void)pieces, (void)piece, (void)off;
	return 0;
}

bool fc_parts_wait(struct fc_parts *parts, size_t i)
{
	(void)parts, (void)i;
	return false;
}

void fc_parts_end(struct fc_parts *parts)
{
	(void)parts;
}

#endif

void fc_parts_pool_init(struct fc_parts_pool *pool)
{
	*pool = (struct fc_parts_pool){ 0 };
	pthread_mutex_init(&pool->lock, NULL);
}

void fc_parts_pool_fini(struct fc_parts_pool *pool)
{
	struct fc_parts *parts;

	while ((parts = pool->idle)) {
		pool->idle = parts->next;
		destroy(parts);
	}
	pthread_mutex_destroy(&pool->lock);
}

struct fc_parts *fc_parts_take(struct fc_parts_pool *pool)
{
	struct fc_parts *parts;

	pthread_mutex_lock(&pool->lock);
	parts = pool->idle;
	if (parts) {
		pool->idle = parts->next;
	} else if (!pool->impossible) {
		parts = make();
		pool->impossible = !parts;
	}
	pthread_mutex_unlock(&pool->lock);
	return parts;
}

void fc_parts_give(struct fc_parts_pool *pool, struct fc_parts *parts)
{
	if (!parts)
		return;
	pthread_mutex_lock(&pool->lock);
	parts->next = pool->idle;
	pool->idle = parts;
	pthread_mutex_unlock(&pool->lock);
}
