/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/converter.h"

static int add(struct fc_cv_names *names, const char *name, uint64_t ino, unsigned char type)
{
	struct fc_cv_name *n;

	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	if (names->count == names->room) {
		size_t room = names->room ? names->room * 2 : 64;
		void *more = realloc(names->list, room * sizeof(*names->list));

		if (!more)
			return FC_ENOMEM;
		names->list = more;
		names->room = room;
	}
	n = &names->list[names->count];
	*n = (struct fc_cv_name){ .name = strdup(name), .ino = ino, .type = type };
	if (!n->name)
		return FC_ENOMEM;
	names->count++;
	return 0;
}

/* Near each other by number is near each other on the disk. */
static int by_ino(const void *a, const void *b)
{
	const struct fc_cv_name *x = a, *y = b;

	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

int fc_cv_names_host(int dir, struct fc_cv_names *out)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOATIME), r = 0;
	struct dirent *e;
	DIR *d;

	*out = (struct fc_cv_names){ 0 };
	if (fd < 0 && errno == EPERM)
		fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		r = fc_cv_errno(errno);
		if (fd >= 0)
			close(fd);
		return r;
	}
	while (!r && (errno = 0, e = readdir(d))) {
		struct stat st;

		if (e->d_type == DT_UNKNOWN && !fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			e->d_type = IFTODT(st.st_mode);
		r = add(out, e->d_name, e->d_ino, e->d_type);
	}
	if (!r && errno)
		r = fc_cv_errno(errno);
	closedir(d);
	if (out->list)
		qsort(out->list, out->count, sizeof(*out->list), by_ino);
	return r;
}

struct filling {
	struct fc_cv_names *names;
	uint64_t next;
	int error;
	bool any;
};

static int fill(void *arg, const char *name, uint64_t ino, uint32_t type, uint64_t next_off, const struct fc_attr *attr)
{
	struct filling *f = arg;

	(void)attr;
	f->error = add(f->names, name, ino, (unsigned char)type);
	f->next = next_off;
	f->any = true;
	return f->error;
}

int fc_cv_names_container(struct fc_fs *fs, uint64_t ino, struct fc_cv_names *out)
{
	struct filling f = { .names = out };
	int r;

	*out = (struct fc_cv_names){ 0 };
	do {
		f.any = false;
		r = fc_fs_readdir(fs, ino, f.next, false, fill, &f);
		if (!r)
			r = f.error;
	} while (!r && f.any);
	return r;
}

void fc_cv_names_free(struct fc_cv_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i].name);
	free(names->list);
	*names = (struct fc_cv_names){ 0 };
}

char *fc_cv_join(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s%s%s", dir, *dir ? "/" : "", name) < 0 ? NULL : path;
}

const char *fc_cv_base(const char *path, size_t *dir_bytes)
{
	const char *slash = strrchr(path, '/');

	*dir_bytes = slash ? (size_t)(slash - path) : 0;
	return slash ? slash + 1 : path;
}
