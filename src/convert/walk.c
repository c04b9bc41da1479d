/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/converter.h"

/* A directory that is being gone through. */
struct level {
	struct fc_cv_names names;
	size_t next;  /* name */
	bool dirs;    /* all others have been visited, and it is the directories' turn */
	size_t bytes; /* of its path */
};

/* On the heap, since a tree may be deeper than a stack. */
struct walk {
	struct fc_cv *c;
	bool container;
	const struct fc_cv_visit *visit;
	struct level *level;
	size_t levels, room;
	char *path;
	size_t path_room;
};

/* Names of dir; gone, or to be passed over: none. */
static int read_names(struct fc_cv *c, bool container, const char *dir, struct fc_cv_names *names)
{
	int r = fc_cv_place_dir(c, dir);

	*names = (struct fc_cv_names){ 0 };
	if (!r && container && c->at_ino)
		r = fc_cv_names_container(c->fs, c->at_ino, names);
	else if (!r && !container && c->at_fd >= 0)
		r = fc_cv_names_host(c->at_fd, names);
	if (r == FC_EACCESS && c->options->skip && !container)
		r = 0;
	return r == FC_ENOMEM ? r : r ? fc_cv_failed(c, dir, r) : 0;
}

static int push(struct walk *w, size_t bytes)
{
	struct level *l;

	if (w->levels == w->room) {
		size_t room = w->room ? w->room * 2 : 32;
		void *more = realloc(w->level, room * sizeof(*w->level));

		if (!more)
			return FC_ENOMEM;
		w->level = more;
		w->room = room;
	}
	l = &w->level[w->levels++];
	*l = (struct level){ .bytes = bytes };
	return read_names(w->c, w->container, w->path, &l->names);
}

/* Into the directory of the path, unless the visitor does not want to. */
static int enter(struct walk *w)
{
	int r = w->visit->enter ? w->visit->enter(w->c, w->path) : 0;

	return r == 1 ? 0 : r ? r : push(w, strlen(w->path));
}

static int leave(struct walk *w)
{
	w->path[w->level[w->levels - 1].bytes] = '\0';
	fc_cv_names_free(&w->level[--w->levels].names);
	return w->visit->leave ? w->visit->leave(w->c, w->path) : 0;
}

/* The path becomes that of the next name of the level, if there is one. */
static int next_name(struct walk *w, const struct fc_cv_name **name)
{
	struct level *l = &w->level[w->levels - 1];
	size_t need;

	*name = NULL;
	while (!*name && (l->next < l->names.count || !l->dirs)) {
		if (l->next == l->names.count) {
			l->dirs = true;
			l->next = 0;
		} else if ((l->names.list[l->next++].type == DT_DIR) == l->dirs) {
			*name = &l->names.list[l->next - 1];
		}
	}
	if (!*name)
		return 0;
	need = l->bytes + 1 + strlen((*name)->name) + 1;
	if (need > w->path_room) {
		char *more = realloc(w->path, need * 2);

		if (!more)
			return FC_ENOMEM;
		w->path = more;
		w->path_room = need * 2;
	}
	snprintf(w->path + l->bytes, w->path_room - l->bytes, "%s%s", l->bytes ? "/" : "", (*name)->name);
	return 0;
}

static int one_step(struct walk *w)
{
	const struct fc_cv_name *name;
	int r = next_name(w, &name);

	if (r)
		return r;
	if (!name)
		return leave(w);
	if (fc_cv_stop(w->c))
		return FC_EINTERRUPTED;
	if (name->type == DT_DIR)
		return enter(w);
	return w->visit->each ? w->visit->each(w->c, w->path, name) : 0;
}

int fc_cv_walk(struct fc_cv *c, bool container, const struct fc_cv_visit *v)
{
	struct walk w = { .c = c, .container = container, .visit = v, .path = calloc(1, 256), .path_room = 256 };
	int r = w.path ? enter(&w) : FC_ENOMEM;

	while (!r && w.levels)
		r = one_step(&w);
	while (w.levels)
		fc_cv_names_free(&w.level[--w.levels].names);
	free(w.level);
	free(w.path);
	return r;
}

/* ---- names that belong together ---------------------------------------------------- */

static int link_host(struct fc_cv *c, const char *path, const struct fc_cv_name *name)
{
	const struct fc_convert_split *split = &c->journal->split;
	struct stat st;
	const char *base;
	int r = fc_cv_place(c, path, &base);

	(void)name;
	if (r || c->at_fd < 0 || fstatat(c->at_fd, base, &st, AT_SYMLINK_NOFOLLOW))
		return r;
	if (split->ino && split->ino == st.st_ino && split->dev == st.st_dev && !c->split_path) {
		c->split_path = fc_cv_join("", path);
		if (!c->split_path)
			return FC_ENOMEM;
	}
	if (c->journal->way == FC_CONVERT_IN && st.st_nlink > 1)
		r = fc_cv_links_add(&c->links, st.st_ino, st.st_nlink, path);
	return r;
}

static int link_container(struct fc_cv *c, const char *path, const struct fc_cv_name *name)
{
	struct fc_attr attr;
	int r = fc_fs_getattr(c->fs, name->ino, &attr);

	if (r)
		return fc_cv_failed(c, path, r);
	return attr.nlink > 1 ? fc_cv_links_add(&c->links, attr.ino, attr.nlink, path) : 0;
}

int fc_cv_find_links(struct fc_cv *c)
{
	const struct fc_cv_visit host = { .each = link_host }, container = { .each = link_container };
	int r = 0;

	fc_cv_links_free(&c->links);
	free(c->split_path);
	c->split_path = NULL;
	if (c->journal->way == FC_CONVERT_IN || c->journal->split.ino)
		r = fc_cv_walk(c, false, &host);
	if (!r && c->journal->way == FC_CONVERT_OUT)
		r = fc_cv_walk(c, true, &container);
	return r;
}
