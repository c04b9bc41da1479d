/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes of a header's key slots. The edits are pure: they change a header in
 * memory, or fail and leave it as it was. fc_slots_store makes a changed header
 * durable; between fc_headers_load and that the caller holds the header's lock.
 */
#ifndef FC_KEY_SLOTS_H
#define FC_KEY_SLOTS_H

#include "cipher/keys.h"
#include "key/slot.h"

/* ---- edits ------------------------------------------------------------------ */

unsigned fc_slots_used(const struct fc_header *h);

/* A label: up to FC_LABEL_BYTES of UTF-8 without control characters; "" is none.
 * 0, FC_EINVAL, FC_ENAMETOOLONG. */
int fc_slots_check_label(const char *label);

/* The slot with that label (not ""); FC_ENOENT. */
int fc_slots_labelled(const struct fc_header *h, const char *label);

/* Takes the first free slot: its number. FC_ENOSPC: all are in use; FC_EEXIST: the
 * label is; FC_EINVAL, FC_ENAMETOOLONG: it cannot be one. */
int fc_slots_add(struct fc_header *h, const struct fc_slot *slot, const char *label);

/* Slot n holds what `slot` holds, and keeps its label. 0; FC_ENOENT: n is free. */
int fc_slots_change(struct fc_header *h, unsigned n, const struct fc_slot *slot);

/* Nothing is left of slot n. 0; FC_ENOENT: it is free; FC_EPERM: it is the last one, and
 * `destroy` does not say that nothing shall open the container any more. */
int fc_slots_remove(struct fc_header *h, unsigned n, bool destroy);

/* h (of keys) becomes the header of another master key, fresh, with the present one sealed in it: its
 * epoch is one more. Slots are those given (NULL: dropped; n of the array is slot n, and keeps its label).
 * 0, FC_ENOMEM; FC_EINVAL: a rekey is under way. */
int fc_slots_rekey(struct fc_header *h, const struct fc_keys *keys, const struct fc_keys *fresh,
		   const struct fc_slot *const slot[FC_SLOTS]);

/* ---- on both copies ----------------------------------------------------------- */

/* The copy that a change starts from: the newest that verifies and holds the slot
 * that was opened, so that whoever makes the change keeps a key. Its index;
 * FC_EFORGED: neither copy verifies; FC_ENOENT: neither holds it any more. */
int fc_slots_base(const struct fc_headers *headers, const struct fc_keys *keys, const struct fc_slot *opened);

/* Are both copies whole and of one update? If not, one was interrupted or damaged. */
bool fc_slots_settled(const struct fc_headers *headers, const struct fc_keys *keys);

/* Writes h to both copies; its sequence becomes one above those of both copies
 * that verify and above floor. base: the copy that it came from, to be written last,
 * -1: none is worth anything. A crash meanwhile leaves the slots of base or those of
 * h, or both. 0 or as of io: then either may be what is on the disk. */
int fc_slots_store(struct fc_io *io, const struct fc_headers *headers, int base, const struct fc_keys *keys,
		   uint64_t floor, struct fc_header *h);

#endif
