/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>

#include "convert/converter.h"

static int walk(struct fc_cv *c, bool container, const struct fc_cv_visit *v, const char *dir);

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

static int visit_one(struct fc_cv *c, bool container, const struct fc_cv_visit *v, const char *dir,
		     const struct fc_cv_name *name)
{
	char *path = fc_cv_join(dir, name->name);
	int r = 0;

	if (!path)
		return FC_ENOMEM;
	if (fc_cv_stop(c))
		r = FC_EINTERRUPTED;
	else if (name->type == DT_DIR)
		r = walk(c, container, v, path);
	else if (v->each)
		r = v->each(c, path, name);
	free(path);
	return r;
}

static int walk(struct fc_cv *c, bool container, const struct fc_cv_visit *v, const char *dir)
{
	struct fc_cv_names names;
	int r = v->enter ? v->enter(c, dir) : 0;

	if (r)
		return r < 0 ? r : 0;
	r = read_names(c, container, dir, &names);
	for (int dirs = 0; dirs < 2; dirs++)
		for (size_t i = 0; !r && i < names.count; i++)
			if ((names.list[i].type == DT_DIR) == dirs)
				r = visit_one(c, container, v, dir, &names.list[i]);
	fc_cv_names_free(&names);
	return !r && v->leave ? v->leave(c, dir) : r;
}

int fc_cv_walk(struct fc_cv *c, bool container, const struct fc_cv_visit *v)
{
	return walk(c, container, v, "");
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
