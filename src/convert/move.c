/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/converter.h"

#define AGAIN 1

/* A part of the content goes into the batch, which is full with it: it is read back while the next
 * part is copied. */
static int pass_part(struct fc_cv *c, struct fc_cv_item *item)
{
	struct fc_cv_item part = *item;
	int r;

	part.path = calloc(1, sizeof(*part.path));
	part.paths = part.path ? 1 : 0;
	if (part.path)
		part.path[0] = strdup(item->path[0]);
	if (!part.path || !part.path[0]) {
		fc_cv_item_free(&part);
		return FC_ENOMEM;
	}
	part.more = true;
	part.bytes = item->bytes < c->batch.most ? item->bytes : c->batch.most;
	item->bytes -= part.bytes;
	r = fc_cv_batch_add(c, &part);
	return r ? r : fc_cv_batch_pass(c);
}

static int copy(struct fc_cv *c, const struct fc_cv_way *way, struct fc_cv_item *item, int *fd)
{
	uint64_t size = item->to;
	int r = way->make(c, item, fd);

	for (item->from = 0; !r && *fd >= 0; item->from = item->to) {
		item->to = size;
		r = way->copy(c, item, *fd, c->batch.most);
		if (r || item->to == size)
			break;
		r = pass_part(c, item);
	}
	return r ? r : way->dress(c, item, *fd);
}

/* Its parts that were not passed on go with it. */
static void drop_parts(struct fc_cv *c, const struct fc_cv_item *item)
{
	struct fc_cv_batch *b = &c->batch;

	while (b->items && b->item[b->items - 1].more && !strcmp(b->item[b->items - 1].path[0], item->path[0]))
		fc_cv_item_free(&b->item[--b->items]);
}

/* AGAIN: there was no room for it, but may be when what is under way has been taken away. */
static int copy_or_undo(struct fc_cv *c, const struct fc_cv_way *way, struct fc_cv_item *item, int host, bool again)
{
	struct fc_cv_item before = *item;
	int fd = host, r = copy(c, way, item, &fd), joined;

	if (fd >= 0 && fd != host && close(fd) && !r)
		r = fc_cv_errno(errno);
	if (!r || r == FC_EINTERRUPTED)
		return r;
	drop_parts(c, item);
	joined = fc_cv_back_join(c); /* it may be reading a part */
	way->undo(c, item);
	*item = before;
	if (!joined && r == FC_ENOSPC && again)
		return AGAIN;
	return joined ? joined : fc_cv_failed(c, item->path[0], r);
}

int fc_cv_move(struct fc_cv *c, const struct fc_cv_way *way, struct fc_cv_item *item, int fd)
{
	int r = fc_cv_batch_room(c, item->bytes);

	if (!r && item->bytes > c->file_room && way->may_split(item, fd)) {
		r = fc_cv_batch_end(c);
		if (!r)
			r = way->split(c, item);
		fc_cv_item_free(item);
		return r;
	}
	if (!r)
		r = copy_or_undo(c, way, item, fd, c->batch.items || fc_cv_back_busy(c));
	if (r == AGAIN) {
		r = fc_cv_batch_end(c);
		if (!r)
			r = fc_cv_budget(c);
		if (!r)
			r = copy_or_undo(c, way, item, fd, false);
	}
	if (!r)
		return fc_cv_batch_add(c, item);
	fc_cv_item_free(item);
	return r;
}
