/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an interruption left on both sides: a copy that is whole completes the move, any
 * other one is dropped. With names of one inode the same is true of each: they are made
 * before the first is taken away.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "convert/converter.h"

static int settle_one(struct fc_cv *c, const char *path, const struct fc_cv_name *entry)
{
	const struct fc_convert_split *split = &c->journal->split;
	bool in = c->journal->way == FC_CONVERT_IN;
	struct fc_attr attr;
	const char *name;
	int r = fc_cv_place(c, path, &name);

	if (r || !c->at_ino || (split->ino && split->ino == entry->ino))
		return r ? fc_cv_failed(c, path, r) : 0;
	r = fc_cv_lookup(c->fs, c->at_ino, name, &attr);
	if (!r) {
		r = fc_cv_compare(c, path, NULL);
		if (r >= 0) /* alike: where it came from it goes */
			r = (r == 1) == in ? fc_cv_unlink_host(c, path) : fc_cv_unlink_container(c, path);
	} else if (r == FC_ENOENT) {
		r = 0;
	}
	return r ? fc_cv_failed(c, path, r) : 0;
}

int fc_cv_settle(struct fc_cv *c)
{
	const struct fc_cv_visit v = { .each = settle_one };
	int r = fc_fs_commit(c->fs);

	/* both sides are durable before either lets go */
	if (!r && syncfs(c->staging))
		r = fc_cv_errno(errno);
	if (r)
		return r;
	fc_cv_forget(c);
	r = fc_cv_walk(c, false, &v);
	return r ? r : fc_fs_commit(c->fs);
}
