/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/holders.h"

#define SEEN_MAX 256 /* namespaces beyond are looked at once for each process */

/* The kernel gives a device number to another mount as soon as it is free: as long
 * as the daemon lives, and so holds the container, the source tells them apart. */
static bool same_container(const struct fc_mount *a, const struct fc_mount *b)
{
	return a->dev == b->dev && fc_mount_is_ours(a) && !strcmp(a->source, b->source);
}

const struct fc_mount *fc_namespaces_here(const struct fc_mounts *all, const struct fc_mount *m)
{
	for (size_t i = 0; i < all->count; i++)
		if (same_container(&all->list[i], m) && all->list[i].id != m->id)
			return &all->list[i];
	return NULL;
}

static const struct fc_mount *by_id(const struct fc_mounts *all, unsigned id)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].id == id)
			return &all->list[i];
	return NULL;
}

struct seen {
	ino_t ns[SEEN_MAX];
	size_t count;
};

struct leaving {
	const struct fc_mount *m;
	bool shared; /* unmounting m reaches those whose parent mount is a peer or a slave */
	struct seen seen;
	pid_t pid;
	char *point;
};

/* False for a namespace that was looked at. Whose process may not be looked into
 * is taken as new. */
static bool is_new(struct seen *seen, int dir)
{
	struct stat st;

	if (fstatat(dir, "ns/mnt", &st, 0))
		return true;
	for (size_t i = 0; i < seen->count; i++)
		if (seen->ns[i] == st.st_ino)
			return false;
	if (seen->count < SEEN_MAX)
		seen->ns[seen->count++] = st.st_ino;
	return true;
}

struct showing {
	struct seen seen;
	const char *container;
	bool found;
};

static bool show_visit(void *arg, pid_t pid, int dir)
{
	struct showing *w = arg;
	struct fc_mounts there;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	if (!is_new(&w->seen, dir))
		return false;
	if (!fc_mounts_read(path, &there))
		w->found = fc_mounts_of(&there, w->container);
	fc_mounts_free(&there);
	return w->found;
}

bool fc_namespaces_show(const char *container)
{
	struct showing w = { .container = container };

	fc_holders_each(show_visit, &w);
	return w.found;
}

/* In a process of its own, since there is no way back. */
static bool unmount_there(int dir, const char *point)
{
	int ns = openat(dir, "ns/mnt", O_RDONLY | O_CLOEXEC), status = -1;
	pid_t pid = ns < 0 ? -1 : fork();

	if (pid == 0)
		_exit(setns(ns, CLONE_NEWNS) || umount2(point, UMOUNT_NOFOLLOW) ? 1 : 0);
	if (ns >= 0)
		close(ns);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The latest copy that would stay; NULL: none. */
static const struct fc_mount *copy_that_stays(const struct leaving *w, const struct fc_mounts *there)
{
	for (size_t i = there->count; i > 0; i--) {
		const struct fc_mount *m = &there->list[i - 1], *parent = by_id(there, m->parent);

		/* a mount has one number on the whole machine: that one is ours */
		if (!same_container(m, w->m) || m->id == w->m->id)
			continue;
		if (w->shared && parent && (parent->shared || parent->master))
			continue;
		return m;
	}
	return NULL;
}

static bool leave_visit(void *arg, pid_t pid, int dir)
{
	struct leaving *w = arg;
	char path[64];
	bool again = is_new(&w->seen, dir);

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	while (again) {
		struct fc_mounts there;
		const struct fc_mount *m = NULL;

		if (!fc_mounts_read(path, &there))
			m = copy_that_stays(w, &there);
		again = m && unmount_there(dir, m->point);
		if (m && !again) {
			w->point = strdup(m->point);
			w->pid = pid;
		}
		fc_mounts_free(&there);
	}
	return w->point != NULL;
}

int fc_namespaces_leave(const struct fc_mounts *all, const struct fc_mount *m, bool gone, pid_t *pid, char **point)
{
	const struct fc_mount *parent = by_id(all, m->parent);
	struct leaving w = { .m = m, .shared = !gone && parent && parent->shared };

	fc_holders_each(leave_visit, &w);
	*pid = w.pid;
	*point = w.point;
	return w.point ? FC_EINUSE : 0;
}
