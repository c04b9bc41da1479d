/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The checker: reads and authenticates everything that the newest root of a
 * container refers to (the log replayed in memory), and compares what is said
 * twice. It repairs what can be repaired.
 *
 * What counts as damage is what no crash leaves behind: a torn last log record,
 * a torn copy in the salt table, a second copy of a root that was not written
 * yet, orphans and blocks that wait for a commit are in order.
 *
 * A repair works on the trees in memory, on top of the newest root; the disk
 * changes only when all is done, by a commit: until that is durable the old
 * state is what a crash leaves. It
 *   - cuts off parts of the trees that cannot be read or are malformed, and
 *     what cannot be made sense of without them; this is lost, and listed;
 *   - marks parts of files that cannot be read, so that reading them fails
 *     (EIO) until they are overwritten, and the rest of the file stays as it is;
 *   - takes names away that lead to nothing; gives inodes without a name one in
 *     lost+found; makes link counts, parents, sizes and the like right;
 *   - builds the space tree anew;
 *   - writes damaged copies of header, roots and salts again.
 * Where attributes of an inode (perhaps its ACL) or an inode itself were lost,
 * only its owner may use it afterwards.
 */
#ifndef FUSECRYPT_CHECK_H
#define FUSECRYPT_CHECK_H

#include "fusecrypt/container.h"

enum fc_check_kind {
	FC_CHECK_HEADER,    /* a copy of it */
	FC_CHECK_ROOT,      /* a copy of a root record */
	FC_CHECK_SALTS,     /* a copy of a block of the salt table */
	FC_CHECK_LOG,       /* of operations since the newest root */
	FC_CHECK_NODE,      /* a part of a tree */
	FC_CHECK_INODE,     /* what an inode says about itself */
	FC_CHECK_NAME,      /* names, links, directories */
	FC_CHECK_ATTRIBUTE, /* extended attributes */
	FC_CHECK_DATA,      /* content */
	FC_CHECK_SPACE,     /* which blocks are in use, and by how many */
	FC_CHECK_KINDS
};

/* A word for it, lower case. */
const char *fc_check_kind_name(enum fc_check_kind kind);

struct fc_check_finding {
	enum fc_check_kind kind;
	bool note; /* no damage: worth knowing */
	bool repaired;
	uint64_t ino;            /* 0: of none */
	uint64_t offset, bytes;  /* part of the content; bytes 0: none */
	const char *text;        /* what is wrong, a phrase */
	const char *action;      /* what a repair does about it, a phrase; NULL: nothing to do */
	const char *const *path; /* names that lead to it, absolute within the container; any bytes */
	size_t paths;
};

struct fc_check_options {
	bool repair;
	bool accept_older;        /* as of fc_fs_options; and: go on from the root before the newest when
				   * nothing of the newest can be read */
	uint64_t seen_generation; /* as of fc_fs_options */
	uint8_t seen_tag[FC_TAG_BYTES];
	uint64_t header_sequence; /* as of fc_fs_options */
	uint32_t uid, gid;        /* owner of what a repair has to make */
	/* All may be NULL. Blocks looked at, of about so many. */
	void (*progress)(void *arg, uint64_t done, uint64_t all);
	/* True: stop. Asked often; FC_EINTERRUPTED then, and nothing was changed. */
	bool (*stop)(void *arg);
	/* Once for each finding, when all is done, also on an error. */
	void (*found)(void *arg, const struct fc_check_finding *finding);
	void (*committed)(void *arg, uint64_t generation, const uint8_t tag[FC_TAG_BYTES]);
	struct fc_time (*now)(void *arg);
	void *arg;
};

struct fc_check_result {
	uint8_t uuid[FC_UUID_BYTES];
	uint64_t generation, time;                     /* of the root that was looked at */
	uint64_t files, directories, symlinks, others; /* inodes with a name or waiting for one */
	uint64_t orphans;                              /* without: they go with the next mount */
	uint64_t names, attributes, nodes;
	uint64_t data_blocks;    /* read */
	uint64_t log_records;    /* replayed */
	uint64_t lost_bytes;     /* marked as lost, by earlier repairs too */
	uint64_t damages, notes; /* findings; of the first kind, those that were */
	uint64_t repaired;       /* repaired */
	bool older;              /* older than seen: damages do not count that */
	bool newest_lost;        /* a root that may be the newest cannot be read, or nothing of its files */
	bool changed;            /* the container was written to */
};

/* io becomes the checker's own, also on failure; a repair writes to it. 0: see
 * result->damages and so on. Negative: it could not be done, or not to the end,
 * and nothing was changed unless result->changed:
 * FC_EFORGED, FC_ECORRUPT, FC_ENOTCONTAINER, FC_ENEWER: there is nothing to start from.
 * FC_EOLDER: repair without accept_older of what needs that; a header older
 * than the root accepts, always.
 * FC_EIO: the disk itself reports errors: nothing is repaired on top of that.
 * FC_EINTERRUPTED, FC_ENOSPC, FC_ENOMEM. */
int fc_check(struct fc_io *io, const uint8_t master[FC_KEY_BYTES], const struct fc_check_options *options,
	     struct fc_check_result *result);

#endif
