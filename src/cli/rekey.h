/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rekey in the making: rekey.c gets the secrets and writes the header, rekey_run.c sees everything sealed anew. */
#ifndef FC_CLI_REKEY_H
#define FC_CLI_REKEY_H

#include "cli/key.h"
#include "cli/mounts.h"

struct fc_rekey_job {
	struct fc_key_job key;
	const char *path;
	struct fc_secret_from secret[FC_SLOTS];
	unsigned secrets;
	bool yes;
	struct fc_mounts mounts;
	const struct fc_mount *m; /* where it is mounted; NULL: it is ours alone, locked */
};

/* Who has the container: a mount that can be asked, or nobody, and then it is locked. */
int fc_rekey_find(struct fc_rekey_job *job);
/* The header is written; master: the new key, old: the keys before it. Returns when all is
 * sealed anew. Each an exit status, having said what is wrong. */
int fc_rekey_mounted(struct fc_rekey_job *job, const uint8_t *master, const struct fc_keys *old);
int fc_rekey_alone(struct fc_rekey_job *job, const uint8_t *master);

#endif
