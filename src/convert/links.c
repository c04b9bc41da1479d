/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "convert/converter.h"

static size_t slot_of(const struct fc_cv_links *l, uint64_t ino)
{
	size_t i = (size_t)(ino * 0x9e3779b97f4a7c15u >> 20) & (l->room - 1);

	while (l->group[i].ino && l->group[i].ino != ino)
		i = (i + 1) & (l->room - 1);
	return i;
}

static int grow(struct fc_cv_links *l)
{
	struct fc_cv_links more = { .count = l->count, .room = l->room ? l->room * 2 : 64 };

	more.group = calloc(more.room, sizeof(*more.group));
	if (!more.group)
		return FC_ENOMEM;
	for (size_t i = 0; i < l->room; i++)
		if (l->group[i].ino)
			more.group[slot_of(&more, l->group[i].ino)] = l->group[i];
	free(l->group);
	*l = more;
	return 0;
}

int fc_cv_links_add(struct fc_cv_links *l, uint64_t ino, uint64_t nlink, const char *path)
{
	struct fc_cv_group *g;

	if (l->count * 2 >= l->room && grow(l))
		return FC_ENOMEM;
	g = &l->group[slot_of(l, ino)];
	if (!g->ino) {
		g->ino = ino;
		g->nlink = nlink;
		l->count++;
	}
	if (g->count == g->room) {
		size_t room = g->room ? g->room * 2 : 4;
		void *list = realloc(g->path, room * sizeof(*g->path));

		if (!list)
			return FC_ENOMEM;
		g->path = list;
		g->room = room;
	}
	g->path[g->count] = strdup(path);
	return g->path[g->count] ? (g->count++, 0) : FC_ENOMEM;
}

struct fc_cv_group *fc_cv_links_find(const struct fc_cv_links *l, uint64_t ino)
{
	size_t i = l->room ? slot_of(l, ino) : 0;

	return l->room && l->group[i].ino ? &l->group[i] : NULL;
}

void fc_cv_links_free(struct fc_cv_links *l)
{
	for (size_t i = 0; i < l->room; i++) {
		for (size_t k = 0; k < l->group[i].count; k++)
			free(l->group[i].path[k]);
		free(l->group[i].path);
	}
	free(l->group);
	*l = (struct fc_cv_links){ 0 };
}
