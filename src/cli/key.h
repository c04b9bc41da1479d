/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the key and header commands share. A change goes
 *
 *     fc_key_open      the container and what its header says to anyone
 *     fc_key_unlock    the helper asks for secrets, opens a slot, makes a new one
 *     fc_key_begin     the header's lock; the header is read anew, authenticated
 *     (edit)           job->header in memory (key/slots.h)
 *     fc_key_store     both copies written, the lock given back, the root told
 *     fc_key_end
 *
 * Nothing is held while a person is asked. All but fc_key_end return an exit
 * status, having said what is wrong.
 */
#ifndef FC_CLI_KEY_H
#define FC_CLI_KEY_H

#include "cli/cli.h"
#include "cipher/root.h"
#include "key/slots.h"

struct fc_key_job {
	char *container; /* absolute path, malloc'ed */
	int fd;          /* io's own */
	struct fc_io *io;
	struct fc_headers *headers;    /* as read last */
	struct fc_unlock_reply *reply; /* NULL: not unlocked */
	struct fc_keys *keys;
	int base;                 /* the copy that the change starts from, -1 none */
	uint64_t seen[2];         /* sequences of the copies when it was opened, 0: of one that does not decode */
	bool changed;             /* fc_key_begin found others */
	bool torn;                /* both copies are not alike */
	bool locked;              /* the header */
	bool written;             /* perhaps: what was made for job->header may be needed */
	struct fc_root root;      /* newest that opens */
	struct fc_header *header; /* from fc_key_begin on: to be edited */
};
#define FC_KEY_JOB ((struct fc_key_job){ .fd = -1, .base = -1 })

/* For writing, or only to look. The header decodes in at least one copy. */
int fc_key_open(struct fc_key_job *job, const char *path, bool write);
/* The same without a header that decodes: *error is that of fc_headers_load. */
int fc_key_open_any(struct fc_key_job *job, const char *path, bool write, int *error);
/* The slots as the newest copy has them, not authenticated. */
const struct fc_header *fc_key_public(const struct fc_key_job *job);
/* container, container_fd and slots of the request are the caller's business. */
int fc_key_unlock(struct fc_key_job *job, const struct fc_unlock_request *request);
/* accept_older: also a header that the root does not accept any more. */
int fc_key_begin(struct fc_key_job *job, bool accept_older);
/* Locks the header and reads it; *error as above. */
int fc_key_lock(struct fc_key_job *job, int *error);
/* Writes job->header to both copies and gives the lock back. */
int fc_key_write(struct fc_key_job *job, const struct fc_keys *keys);
/* The same, and has the root accept no older one. */
int fc_key_store(struct fc_key_job *job, const struct fc_keys *keys);
/* Frees and unlocks; any state of the job. */
void fc_key_end(struct fc_key_job *job);

/* ---- arguments and words ------------------------------------------------------ */

/* A slot's number. 0 or FC_EINVAL, having said so. */
int fc_key_parse_slot(const char *command, const char *text, int *slot);
/* passphrase, key-file, recovery, tpm2; "unknown". */
const char *fc_key_kind_name(uint32_t kind);
/* 0: no such kind. */
uint32_t fc_key_kind_named(const char *name);
/* The kind of a new secret that was given; 0: none is. */
uint32_t fc_key_kind_given(const struct fc_secret_from *fresh);
/* More than one new secret? */
bool fc_key_given_twice(const struct fc_secret_from *fresh);
/* After a failure: takes the file of a new recovery code away, which opens nothing. */
void fc_key_void_code(const struct fc_key_job *job, const struct fc_secret_from *fresh);
/* Another key command came between: says so. */
int fc_key_say_changed(const struct fc_key_job *job);
/* `slot 3 (passphrase, "home")`, for a sentence; room is FC_KEY_TEXT. */
#define FC_KEY_TEXT 320
void fc_key_slot_text(const struct fc_header *h, unsigned slot, char *text);

extern const struct fc_command fc_command_key_list, fc_command_key_add, fc_command_key_change, fc_command_key_remove,
	fc_command_header_backup, fc_command_header_restore;

#define FC_HELP_SECRET "  --passphrase-file FILE, --passphrase-fd N, --key-file FILE, --recovery-code-file FILE\n"
#define FC_HELP_NEW_SECRET \
	"  --new-passphrase-file FILE   the new passphrase is the first line of FILE (- is standard input)\n" \
	"  --new-passphrase-fd N        ... of what descriptor N gives\n" \
	"  --new-key-file FILE          the whole of FILE is the new key\n" \
	"  --new-recovery-code-file FILE\n" \
	"                               writes a new recovery code to a new FILE (- is standard output)\n"

#endif
