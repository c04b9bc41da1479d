/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "convert/converter.h"
#include "fs/state.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
#define EXTENTS 32u /* looked at in one go */
#define LEAST (64u << 10)

static int host_free(const struct fc_cv *c, uint64_t *bytes)
{
	struct statvfs st;

	if (c->options->host_free)
		return c->options->host_free(c->options->arg, bytes);
	if (fstatvfs(c->staging, &st))
		return fc_cv_errno(errno);
	*bytes = st.f_blocks ? (uint64_t)st.f_bavail * st.f_frsize : INT64_MAX;
	return 0;
}

/* Half of what is free: the copy, and what copying costs the container, and some time that
 * the file system takes to give back what was deleted. */
static uint64_t share(uint64_t free_bytes)
{
	return (free_bytes > FC_CV_KEPT ? (free_bytes - FC_CV_KEPT) / 2 : 0) & ~(uint64_t)(LEAST - 1);
}

int fc_cv_budget(struct fc_cv *c)
{
	uint64_t most = c->options->batch_bytes ? c->options->batch_bytes : FC_CV_BATCH_BYTES, is;
	int r = host_free(c, &is);

	if (!r && share(is) < most) {
		r = fc_cv_back_join(c);
		if (r)
			return r;
		/* what was deleted comes back with the file system's next transaction */
		if (syncfs(c->staging))
			return fc_cv_errno(errno);
		r = fc_cv_give_back(c);
		if (!r)
			r = host_free(c, &is);
	}
	if (r)
		return r;
	c->file_room = share(is);
	c->batch.most = c->file_room < most ? c->file_room : most;
	return c->file_room ? 0 : FC_ENOSPC;
}

int fc_cv_give_back(struct fc_cv *c)
{
	fc_settle(c->fs);
	return fc_background_punch(c->fs);
}

bool fc_cv_shared(int fd)
{
	_Alignas(struct fiemap) uint8_t room[sizeof(struct fiemap) + EXTENTS * sizeof(struct fiemap_extent)];
	struct fiemap *map = (struct fiemap *)room;
	const struct fiemap_extent *e = map->fm_extents;
	struct statfs fs;

	if (fstatfs(fd, &fs) || (fs.f_type != BTRFS_SUPER_MAGIC && fs.f_type != XFS_SUPER_MAGIC))
		return false;
	memset(room, 0, sizeof(room));
	map->fm_length = FIEMAP_MAX_OFFSET;
	for (;;) {
		map->fm_extent_count = EXTENTS;
		map->fm_mapped_extents = 0;
		if (ioctl(fd, FS_IOC_FIEMAP, map) || !map->fm_mapped_extents)
			return false;
		for (unsigned i = 0; i < map->fm_mapped_extents; i++)
			if (e[i].fe_flags & FIEMAP_EXTENT_SHARED)
				return true;
		e += map->fm_mapped_extents - 1;
		if (e->fe_flags & FIEMAP_EXTENT_LAST)
			return false;
		map->fm_start = e->fe_logical + e->fe_length;
		map->fm_length = FIEMAP_MAX_OFFSET - map->fm_start;
		e = map->fm_extents;
	}
}
