/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/subject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

int fc_subject_find(struct fc_subject *s, const char *path)
{
	char *real = fc_path_resolve(path);
	struct stat st;

	memset(s, 0, sizeof(*s));
	if (!real) {
		fc_cli_say("%s cannot be looked at: %s", path, strerror(errno));
		return FC_EXIT_FAILED;
	}
	fc_mounts_read("/proc/self/mountinfo", &s->mounts); /* without /proc nothing looks mounted but what is locked */
	s->container = real;
	s->m = fc_mounts_at(&s->mounts, real);
	if (s->m && fc_mount_is_ours(s->m)) {
		free(real);
		s->container = strdup(s->m->source);
	} else if (!stat(real, &st) && S_ISDIR(st.st_mode)) {
		fc_cli_say("%s is a directory in which no container is mounted", path);
		return FC_EXIT_MOUNTPOINT;
	} else {
		s->m = fc_mounts_of(&s->mounts, real);
	}
	if (s->m && fc_mount_is_dead(s->m)) {
		fc_cli_say("the daemon of %s is gone: take the mount away with `fusecrypt umount`", s->m->point);
		return FC_EXIT_FAILED;
	}
	if (s->container)
		return FC_EXIT_DONE;
	fc_cli_say("out of memory");
	return FC_EXIT_FAILED;
}

void fc_subject_free(struct fc_subject *s)
{
	fc_mounts_free(&s->mounts);
	free(s->container);
}
