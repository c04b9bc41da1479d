/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/converter.h"

int fc_cv_item_of(struct fc_cv *c, const char *path, uint64_t ino, uint64_t nlink, struct fc_cv_item *item)
{
	struct fc_cv_group *g = nlink > 1 ? fc_cv_links_find(&c->links, ino) : NULL;
	size_t n = g ? g->count : 1;

	item->path = calloc(n, sizeof(*item->path));
	item->paths = item->path ? n : 0;
	if (!item->path)
		return FC_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		item->path[i] = strdup(g ? g->path[i] : path);
		if (!item->path[i])
			return FC_ENOMEM;
	}
	if (g)
		g->taken = true;
	return 0;
}

void fc_cv_item_free(struct fc_cv_item *item)
{
	for (size_t i = 0; i < item->paths; i++)
		free(item->path[i]);
	free(item->path);
	item->path = NULL;
	item->paths = 0;
}

int fc_cv_batch_add(struct fc_cv *c, struct fc_cv_item *item)
{
	struct fc_cv_batch *b = &c->batch;

	if (b->items == b->room) {
		size_t room = b->room ? b->room * 2 : 256;
		void *more = realloc(b->item, room * sizeof(*b->item));

		if (!more) {
			fc_cv_item_free(item);
			return FC_ENOMEM;
		}
		b->item = more;
		b->room = room;
	}
	b->item[b->items++] = *item;
	b->bytes += item->bytes;
	return b->items >= FC_CV_BATCH_NAMES ? fc_cv_batch_pass(c) : 0;
}

void fc_cv_batch_drop(struct fc_cv_batch *b)
{
	for (size_t i = 0; i < b->items; i++)
		fc_cv_item_free(&b->item[i]);
	b->items = 0;
	b->bytes = 0;
}

int fc_cv_batch_pass(struct fc_cv *c)
{
	int r;

	if (!c->batch.items)
		return 0;
	/* what it had is checked before this is durable: two batches are on both sides at most */
	r = fc_cv_back_join(c);
	if (!r && c->journal->way == FC_CONVERT_IN) {
		r = fc_fs_commit(c->fs);
		if (!r)
			fc_cv_forget(c);
	} else if (!r && syncfs(c->host)) {
		r = fc_cv_errno(errno);
	}
	if (!r)
		r = fc_cv_back_start(c);
	fc_cv_batch_drop(&c->batch);
	return r;
}

int fc_cv_batch_end(struct fc_cv *c)
{
	int r = fc_cv_batch_pass(c), joined = fc_cv_back_join(c);

	return r ? r : joined;
}

int fc_cv_batch_room(struct fc_cv *c, uint64_t bytes)
{
	int r = 0;

	if (c->batch.items && c->batch.bytes + bytes > c->batch.most)
		r = fc_cv_batch_pass(c);
	if (r || c->batch.items)
		return r;
	r = fc_cv_budget(c);
	if (r || bytes <= c->file_room)
		return r;
	/* it may be less short of room when what is under way has been taken away */
	r = fc_cv_back_join(c);
	return r ? r : fc_cv_budget(c);
}
