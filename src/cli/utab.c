/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/utab.h"

#include "config.h"

#if FC_HAVE_LIBMOUNT
#include <libmount.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/mounts.h"

static void update(struct libmnt_fs *fs, const char *gone)
{
	struct libmnt_update *u = mnt_new_update();

	/* 0: there is something to do */
	if (u && !mnt_update_set_fs(u, 0, gone, fs))
		mnt_update_table(u, NULL);
	mnt_free_update(u);
}

void fc_utab_remove(const char *point)
{
	if (!geteuid())
		update(NULL, point);
}

void fc_utab_add(const char *container, const char *point)
{
	struct libmnt_fs *fs = geteuid() ? NULL : mnt_new_fs();
	char *source = realpath(container, NULL), *target = fc_path_resolve(point);

	if (fs && source && target && !mnt_fs_set_source(fs, source) && !mnt_fs_set_target(fs, target) &&
	    !mnt_fs_set_fstype(fs, FC_FSTYPE) && !mnt_fs_set_options(fs, "uhelper=fusecrypt")) {
		fc_utab_remove(target);
		update(fs, NULL);
	}
	mnt_unref_fs(fs);
	free(source);
	free(target);
}

#else

void fc_utab_add(const char *container, const char *point)
{
	(void)container;
	(void)point;
}

void fc_utab_remove(const char *point)
{
	(void)point;
}

#endif
