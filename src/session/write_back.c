/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/write_back.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the mount's root, by a clone; -1: not permitted, or something else lies there now. */
static int open_unattached(const struct fc_write_back *w)
{
	int tree = open_tree(AT_FDCWD, w->mountpoint, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC), fd;
	struct stat st;

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

static void *write_back(void *arg)
{
	struct fc_write_back *w = arg;
	int fd;

	for (;;) {
		if (sem_wait(&w->wanted)) {
			if (errno == EINTR)
				continue;
			return NULL;
		}
		while (sem_trywait(&w->wanted) == 0) /* one round serves all who asked before it */
			;
		fd = open_unattached(w);
		if (fd < 0)
			continue;
		/* What cannot be written is told to whoever wrote it. */
		if (syncfs(fd))
			errno = 0;
		close(fd);
	}
}

void fc_write_back_want(struct fc_write_back *w)
{
	pthread_t thread;

	if (!w->started) {
		if (sem_init(&w->wanted, 0, 0))
			return;
		if (pthread_create(&thread, NULL, write_back, w)) {
			sem_destroy(&w->wanted);
			return;
		}
		pthread_detach(thread);
		w->started = true;
	}
	sem_post(&w->wanted);
}
