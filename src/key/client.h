/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs fusecrypt-unlock, the only program that sees a passphrase, and takes the
 * master key from it. No secret is passed to it in arguments or environment.
 */
#ifndef FC_KEY_CLIENT_H
#define FC_KEY_CLIENT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "key/unlock_reply.h"

/* Where secrets come from. All NULL and -1: ask on the terminal. */
struct fc_secret_from {
	const char *passphrase_file; /* "-": standard input */
	int passphrase_fd;           /* -1: none */
	const char *key_file;
	const char *recovery_file;
};
#define FC_SECRET_FROM_NONE ((struct fc_secret_from){ .passphrase_fd = -1 })

/* Is any given? */
bool fc_secret_given(const struct fc_secret_from *from);

/* A program of ours: beside this one, in that folder of the build folder, or where it is
 * installed. False: nowhere. */
bool fc_program_find(char path[PATH_MAX], const char *name, const char *folder, const char *installed);

struct fc_unlock_request {
	const char *container; /* its name, for prompts and messages */
	int container_fd;      /* opening: readable */
	bool create;           /* draw a master key and wrap it in new slots */
	const char *kdf;       /* making slots: a name as of --kdf */
	/* Creating: recovery_file is written, not read; without passphrase and
	 * key file, a passphrase is asked for, twice, and a recovery code is offered. */
	struct fc_secret_from from;
	bool unasked;   /* opening: only by what asks nobody, a TPM slot without a PIN */
	uint32_t slots; /* opening: only these may open it, a bit each; 0: all */
	/* Opening: wrap the key in one more slot too, reply->slots[0] */
	bool wrap;
	/* ... of a secret of that kind, FC_SLOT_KIND_*, 0: the kind that opened it.
	 * It is in `fresh`, or asked for or drawn and shown on the terminal. */
	uint32_t fresh_kind;
	struct fc_secret_from fresh; /* recovery_file is written */
	bool again;                  /* instead: of the secret that opened it */
	/* Opening: draw another master key and wrap it for each of these secrets, which all must open it; each has
	 * one place only. None: the passphrase that is asked for. */
	bool rekey;
	const struct fc_secret_from *secret;
	unsigned secrets; /* at most FC_SLOTS */
};

/* *reply is in secret memory, the caller frees it (fc_secret_free); NULL on
 * failure. The calling process should have no other threads; SIGINT,
 * SIGTERM, SIGHUP and SIGQUIT are passed on to the helper while it runs.
 * 0 or what the helper met (it has told the user) or, with *why set to a
 * sentence, why it could not run. FC_EINTERRUPTED: by one of these signals. */
int fc_unlock_run(const struct fc_unlock_request *request, struct fc_unlock_reply **reply, const char **why);

/* One passphrase for several containers: it is read from where `from` says or asked
 * for once, naming `what`, and *fd then gives it, a line for each helper that takes it
 * as its passphrase_fd. The passphrase is only in that helper, *pid, which ends
 * when the caller has closed *fd and waits for it. 0 or an error as of fc_unlock_run. */
int fc_unlock_ask(const struct fc_secret_from *from, const char *what, int *fd, pid_t *pid, const char **why);

#endif
