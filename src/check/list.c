/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "check/checker.h"

void *fc_list_add(struct fc_list *list, size_t bytes)
{
	void *fresh;

	if (list->n == list->room) {
		size_t room = list->room + list->room / 2 + 64;
		void *grown = realloc(list->at, room * bytes);

		if (!grown)
			return NULL;
		list->at = grown;
		list->room = room;
	}
	fresh = (char *)list->at + list->n++ * bytes;
	memset(fresh, 0, bytes);
	return fresh;
}

void fc_list_free(struct fc_list *list)
{
	free(list->at);
	*list = (struct fc_list){ 0 };
}
