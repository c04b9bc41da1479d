/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making a container, for init and protect. Each returns an exit status, having said what is wrong. */
#ifndef FC_CLI_CREATE_H
#define FC_CLI_CREATE_H

#include "cli/cli.h"
#include "fusecrypt/format.h"

struct fc_create_job {
	const char *path;
	char *parent; /* set by fc_create_check, malloc'ed */
	const char *kdf;
	uint32_t cipher;
	uint64_t size_limit, log_bytes;
	struct fc_secret_from from;
	uint8_t uuid[FC_UUID_BYTES]; /* set by making */
};

/* Before anything is asked: what would fail anyway. */
int fc_create_check(struct fc_create_job *job);
/* Asks for the secrets. *reply is the caller's (fc_secret_free). */
int fc_create_unlock(const struct fc_create_job *job, struct fc_unlock_reply **reply);
/* Durable, or nothing of it is left. */
int fc_create_make(struct fc_create_job *job, const struct fc_unlock_reply *reply);

#endif
