/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs steps on a container and on the model, and compares everything that
 * both say.
 */
#ifndef FC_TESTS_DRIVE_H
#define FC_TESTS_DRIVE_H

#include <pthread.h>

#include "disk.h"
#include "script.h"
#include "walk.h"

struct fc_drive {
	struct fc_disk *disk;
	struct fc_model *model; /* the drive's own */
	struct fc_fs *fs;       /* NULL: not open */
	/* Errors that a faulty disk may cause: the step then has no effect. */
	fc_errors faults;
	int error;                        /* what the container answered to the last step */
	char message[512];                /* after a difference: what it was */
	char log[256];                    /* the container's last log line */
	uint64_t count[FC_STEP_KINDS][2]; /* steps that were done, that were rightly refused */

	pthread_mutex_t lock; /* of the next three: a thread may commit meanwhile */
	struct fc_time now;
	uint64_t generation; /* of the newest durable root, as the container told */
	uint8_t tag[FC_TAG_BYTES];

	uint64_t *ino; /* by node; 0: not known yet */
	uint32_t inos;
	uint64_t ino_top; /* highest that was seen */
	uint8_t *buf[2];
	struct scan *scan;
	struct fc_text want, got;
};

/* How a step ended. */
enum fc_drive_end {
	FC_DRIVE_SAME = 0,
	FC_DRIVE_FAULT = 1,   /* failed with one of `faults`: no effect */
	FC_DRIVE_DIFFERS = -1 /* see message */
};

/* Takes model; disk stays the caller's. Not open yet. */
void fc_drive_init(struct fc_drive *d, struct fc_disk *disk, struct fc_model *model);
/* Leaves the container as after a power cut when it is open. */
void fc_drive_free(struct fc_drive *d);

/* Opens and looks every name of the model up. The model has no references then. */
enum fc_drive_end fc_drive_open(struct fc_drive *d, bool read_only);
/* On FAULT it is closed all the same. */
enum fc_drive_end fc_drive_close(struct fc_drive *d);
/* The newest durable root; its generation, 0 none. */
uint64_t fc_drive_root(struct fc_drive *d, uint8_t tag[FC_TAG_BYTES]);
/* step may be changed to what was really done (a short copy). */
enum fc_drive_end fc_drive_step(struct fc_drive *d, struct fc_step *step);
/* The whole tree against the model. counts: the number of inodes too (there
 * must be no orphans). */
enum fc_drive_end fc_drive_compare(struct fc_drive *d, unsigned how, bool counts);

#endif
