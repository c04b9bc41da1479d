/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/write_back.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define KEPT_NS 30000000 /* the clone, for another round: making one stops others for a moment */

/* Of the mount's root, by a clone; -1: not permitted, or something else lies there now. */
static int open_unattached(struct fc_write_back *w)
{
	struct stat st;
	int tree, fd;

	pthread_mutex_lock(&w->cloning);
	tree = open_tree(AT_FDCWD, w->mountpoint, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	pthread_mutex_unlock(&w->cloning);
	if (tree < 0)
		return -1;
	fd = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(tree);
	if (fd >= 0 && (fstat(fd, &st) || st.st_dev != w->device)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Until somebody asks, or not for longer than ns (0: for ever). False: nobody did. */
static bool wait_wanted(struct fc_write_back *w, long ns)
{
	struct timespec until;
	int r;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	do {
		r = ns ? sem_clockwait(&w->wanted, CLOCK_MONOTONIC, &until) : sem_wait(&w->wanted);
	} while (r && errno == EINTR);
	while (!r && sem_trywait(&w->wanted) == 0) /* one round serves all who asked before it */
		;
	return !r;
}

static void *write_back(void *arg)
{
	struct fc_write_back *w = arg;

	if (unshare(CLONE_FILES) || close_range(STDERR_FILENO + 1, ~0u, 0))
		return NULL;
	for (;;) {
		int fd;

		wait_wanted(w, 0);
		fd = open_unattached(w);
		if (fd < 0)
			continue;
		do {
			/* What cannot be written is told to whoever wrote it. */
			if (syncfs(fd))
				errno = 0;
		} while (wait_wanted(w, KEPT_NS));
		close(fd);
	}
}

void fc_write_back_init(struct fc_write_back *w, const char *mountpoint)
{
	*w = (struct fc_write_back){ .mountpoint = mountpoint, .cloning = PTHREAD_MUTEX_INITIALIZER };
	sem_init(&w->wanted, 0, 0);
}

void fc_write_back_want(struct fc_write_back *w)
{
	pthread_t thread;

	if (!w->started) {
		if (pthread_create(&thread, NULL, write_back, w))
			return;
		pthread_detach(thread);
		w->started = true;
	}
	sem_post(&w->wanted);
}
