/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By the kernel's asynchronous I/O (libaio), which is at its best with O_DIRECT. */
#include "store/parts.h"

#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#if FC_HAVE_AIO
#include <libaio.h>

#define DEPTH 64u /* writes under way: more gained nothing */

struct fc_parts {
	io_context_t context;
	struct iocb request[DEPTH];
};

struct fc_parts *fc_parts_new(void)
{
	struct fc_parts *parts = calloc(1, sizeof(*parts));

	if (parts && io_setup(DEPTH, &parts->context)) {
		free(parts);
		parts = NULL;
	}
	return parts;
}

void fc_parts_free(struct fc_parts *parts)
{
	if (parts)
		io_destroy(parts->context);
	free(parts);
}

/* How many of them are under way now. */
static size_t submit(struct fc_parts *parts, int fd, const struct fc_io_part *part, size_t count)
{
	struct iocb *request[DEPTH];
	size_t i, sent = 0;

	for (i = 0; i < count; i++) {
		request[i] = &parts->request[i];
		io_prep_pwrite(request[i], fd, (void *)(uintptr_t)part[i].buf, part[i].n, (long long)part[i].off);
		request[i]->data = (void *)(uintptr_t)i;
	}
	while (sent < count) {
		int n = io_submit(parts->context, (long)(count - sent), request + sent);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		sent += (size_t)n;
	}
	return sent;
}

/* The buffers are the caller's: it does not return while any is in use. */
static void reap(struct fc_parts *parts, const struct fc_io_part *part, size_t sent, bool *whole)
{
	struct io_event event[DEPTH];
	size_t done = 0;

	while (done < sent) {
		int n = io_getevents(parts->context, 1, (long)(sent - done), event, NULL);

		if (n == -EINTR)
			continue;
		if (n < 0)
			abort(); /* only of a context that is none */
		for (int i = 0; i < n; i++) {
			size_t at = (size_t)(uintptr_t)event[i].data;

			whole[at] = event[i].res == part[at].n;
		}
		done += (size_t)n;
	}
}

void fc_parts_write(struct fc_parts *parts, int fd, const struct fc_io_part *part, size_t count, bool *whole)
{
	memset(whole, 0, count * sizeof(*whole));
	while (count) {
		size_t n = count < DEPTH ? count : DEPTH, sent = submit(parts, fd, part, n);

		reap(parts, part, sent, whole);
		if (sent < n)
			break; /* the kernel takes no more: the caller writes the rest */
		part += n;
		whole += n;
		count -= n;
	}
}

#else

struct fc_parts *fc_parts_new(void)
{
	return NULL;
}

void fc_parts_free(struct fc_parts *parts)
{
	(void)parts;
}

void fc_parts_write(struct fc_parts *parts, int fd, const struct fc_io_part *part, size_t count, bool *whole)
{
	(void)parts, (void)fd, (void)part;
	memset(whole, 0, count * sizeof(*whole));
}

#endif
