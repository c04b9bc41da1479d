/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CONTAINER|MOUNTPOINT: what a command is about, mounted or not. */
#ifndef FC_CLI_SUBJECT_H
#define FC_CLI_SUBJECT_H

#include "cli/mounts.h"

struct fc_subject {
	struct fc_mounts mounts;
	const struct fc_mount *m; /* whose daemon answers; NULL: not mounted, as far as is seen from here */
	char *container;          /* absolute */
};

/* Returns an exit status, having said what is wrong; the caller frees in any case. */
int fc_subject_find(struct fc_subject *s, const char *path);
void fc_subject_free(struct fc_subject *s);

#endif
