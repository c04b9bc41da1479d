/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The converter: moves a directory tree of the host into a container and back, in
 * place. What is moved lies in a private folder of its own, the staging folder:
 *
 *   data       the tree of the host, a directory
 *   journal    how far it is, replaced by a rename, durable before what follows from it
 *
 * Names are moved in batches: copied; durable; read back past the caches and compared;
 * and only then taken away where they came from. So at any moment each name is whole
 * on one side. While one batch is read back the next is copied, where there is room. A name
 * that is on both sides after a crash is compared (settled): is the copy whole, the move is
 * completed; else the copy is dropped.
 *
 * A file larger than the free space is split, one at a time: the host has its bytes
 * before `cut`, the container those from there on. Moving in, the cut goes down, piece
 * by piece; moving out, up. The journal tells the cut before bytes go.
 *
 * Directories stay on both sides meanwhile. Their owner, mode, attributes and times are
 * the container's from the phase FC_CONVERT_MOVE on; the times, which every move of a
 * name changes, are kept in an attribute (the stamp) until the end.
 *
 * Either way can be turned round at any time, also after a crash.
 */
#ifndef FUSECRYPT_CONVERT_H
#define FUSECRYPT_CONVERT_H

#include "fusecrypt/container.h"

#define FC_CONVERT_DATA "data"
#define FC_CONVERT_JOURNAL "journal"

enum fc_convert_way { FC_CONVERT_IN = 1, FC_CONVERT_OUT };

enum fc_convert_phase {
	FC_CONVERT_BEGUN = 1, /* nothing but the staging folder; what comes before is the caller's business */
	FC_CONVERT_MADE,      /* in: the container is whole; out: nothing has changed yet */
	FC_CONVERT_PLACED,    /* the tree lies in the staging folder; both sides hold what they held */
	FC_CONVERT_MOVE,      /* all directories are on both sides, or being made; names move */
	FC_CONVERT_DONE,      /* all is on the other side */
};

struct fc_convert_split {
	uint64_t dev, ino, cino;  /* the host's; the container's inode. ino 0: no file is split */
	uint64_t size, cut, from; /* bytes; from: the host's size before it was cut last */
	uint64_t when;            /* seconds: when it was cut last, 0 never */
	struct fc_time atime, mtime;
};

struct fc_convert_journal {
	enum fc_convert_way way;
	bool aborting; /* it goes back to where it came from */
	enum fc_convert_phase phase;
	char *container; /* absolute path, malloc'ed; the caller's business */
	uint8_t uuid[FC_UUID_BYTES];
	uint64_t dev, ino; /* of the directory that is converted, before it was */
	struct fc_convert_split split;
};

/* staging is a descriptor of the folder. 0; FC_ENOENT: there is none; FC_ECORRUPT; FC_EIO,
 * FC_ENOMEM. */
int fc_convert_load(int staging, struct fc_convert_journal *journal);
/* Durable on return. */
int fc_convert_save(int staging, const struct fc_convert_journal *journal);
void fc_convert_journal_free(struct fc_convert_journal *journal);

/* What a file is told about for. */
enum fc_convert_note {
	FC_CONVERT_UNREADABLE, /* it, or the directory, cannot be read by this user; error: why */
	FC_CONVERT_FIXED,      /* cannot be taken away from where it is: immutable, or not this user's */
	FC_CONVERT_OWNER,      /* cannot be made by this user as it is: another owner, a device */
	FC_CONVERT_MOUNT,      /* another file system is mounted there */
	FC_CONVERT_LINKED,     /* has names outside too: its space does not come back */
	FC_CONVERT_SHARED,     /* shares its space with others: likewise */
	FC_CONVERT_CHANGED,    /* was changed while it was moved, or since it was cut */
	FC_CONVERT_FAILED,     /* error: what failed with it */
	FC_CONVERT_SKIPPED,    /* stays where it is */
};

struct fc_convert_totals {
	uint64_t names, directories; /* names: of everything else */
	uint64_t bytes;              /* blocks of the host or of the container that the files take */
	uint64_t whole;              /* of these, of files whose space does not come back */
	uint64_t small;              /* what items without blocks will take */
	uint64_t stays;              /* names noted as UNREADABLE, FIXED */
	uint64_t blocked;            /* names noted as OWNER, MOUNT */
	uint64_t needed;             /* free bytes that moving in needs */
};

struct fc_convert_options {
	bool skip;        /* leaves names that cannot be read or taken away where they are */
	bool ask_changed; /* go on with a split file that was changed since it was cut */
	int container_fd; /* of the container's file, to have its caches dropped; -1 none */
	/* Free bytes that the container can take; NULL: of the file system of the staging folder. */
	int (*host_free)(void *arg, uint64_t *bytes);
	/* Pieces and batches take at most that many bytes; 0: 64 MiB. For tests. */
	uint64_t batch_bytes;
	/* These three come from any thread, but only one of them at a time. */
	/* path: below the directory, "" is itself. */
	void (*note)(void *arg, enum fc_convert_note what, const char *path, int error);
	/* Bytes and names moved since the start of this run. */
	void (*progress)(void *arg, uint64_t bytes, uint64_t names);
	/* Asked between all steps: true ends with FC_EINTERRUPTED. NULL: never. */
	bool (*stop)(void *arg);
	void *arg;
};

/* Looks at a tree of the host before it is moved in. Notes what stands in the way. dir is a
 * descriptor of it. FC_EIO, FC_ENOMEM, FC_EINTERRUPTED. */
int fc_convert_look_in(int dir, const struct fc_convert_options *options, struct fc_convert_totals *totals);
/* The same of a container before it is moved out. */
int fc_convert_look_out(struct fc_fs *fs, const struct fc_convert_options *options, struct fc_convert_totals *totals);

/*
 * Goes on with the journal's conversion until its phase is DONE, from PLACED on (out: data
 * need not be there). The fs has no other user. The journal is changed and saved as it goes.
 * After an error everything is still there, and the same call goes on.
 *
 *   FC_ENOSPC     too little room
 *   FC_ESTALE     a split file is not as the journal tells (noted as CHANGED): nothing was changed
 *   FC_EACCESS, FC_EPERM, FC_EIO, …: noted as FAILED with the path
 *
 * Moving in, names that stay are left in data; else data is empty and gone in the end. Moving
 * out, the container still has its directories in the end.
 */
int fc_convert_run(struct fc_fs *fs, int staging, struct fc_convert_journal *journal,
		   const struct fc_convert_options *options);
/* Turns it round: what is under way is settled, the journal tells the other way. */
int fc_convert_turn(struct fc_fs *fs, int staging, struct fc_convert_journal *journal,
		    const struct fc_convert_options *options);

#endif
