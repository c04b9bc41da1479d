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
/* The master key as the secret of slot 0 opens it; other: of slot 1, which a rekey drops. As fc_slot_unlock. */
int fc_disk_unlock(struct fc_disk *disk, bool other, uint8_t master[FC_KEY_BYTES]);
/* What `fusecrypt rekey` does to the header: a new master key of that seed, slot 0 alone is kept. Or goes on
 * where one stopped. master: the new one. */
int fc_disk_rekey(struct fc_disk *disk, uint64_t seed, uint8_t master[FC_KEY_BYTES]);
/* The same content; no trace. */
void fc_disk_clone(struct fc_disk *disk, const struct fc_disk *from);
void fc_disk_free(struct fc_disk *disk);
/* A shell; who closes it leaves the disk as it is. */
struct fc_io *fc_disk_io(struct fc_disk *disk, bool read_only);
/* Runs the checker on a copy, with what was seen last (generation 0: nothing).
 * 0: in order. 1: damage, and text says what first. Or it could not be done. */
int fc_disk_check(const struct fc_disk *disk, uint64_t generation, const uint8_t tag[FC_TAG_BYTES], char *text,
		  size_t text_bytes);
/* Events recorded so far. */
size_t fc_disk_events(struct fc_disk *disk);

#endif
