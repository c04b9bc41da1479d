/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A simulated disk (fc_io_sim) that outlives the file systems opened on it: the
 * fc_io that an fs owns is a shell around it. Calls are counted on their way.
 */
#ifndef FC_TESTS_DISK_H
#define FC_TESTS_DISK_H

#include <stdatomic.h>

#include "fusecrypt/container.h"
#include "store/io.h"

struct fc_disk {
	struct fc_io *sim;
	_Atomic uint64_t calls[FC_SIM_KINDS];  /* so far */
	_Atomic uint64_t failed[FC_SIM_KINDS]; /* of these, failed */
};

extern const uint8_t fc_disk_master[FC_KEY_BYTES];

/* A formatted container: cipher FC_CIPHER_*, the smallest log, root 0:0 made
 * at `now`. Ends the program when that fails. */
void fc_disk_format(struct fc_disk *disk, uint32_t cipher, struct fc_time now);
/* The same content; no trace. */
void fc_disk_clone(struct fc_disk *disk, const struct fc_disk *from);
void fc_disk_free(struct fc_disk *disk);
/* A shell; who closes it leaves the disk as it is. */
struct fc_io *fc_disk_io(struct fc_disk *disk, bool read_only);
/* Events recorded so far. */
size_t fc_disk_events(struct fc_disk *disk);

#endif
