/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What fusecrypt-unlock sends over its socket: one packet, then it exits. Both
 * ends come from one build; the first two fields tell when they do not.
 */
#ifndef FC_KEY_UNLOCK_REPLY_H
#define FC_KEY_UNLOCK_REPLY_H

#include "store/header.h"

#define FC_UNLOCK_PROTOCOL 3u
#define FC_NEW_SLOTS_MAX FC_SLOTS

struct fc_unlock_reply {
	uint32_t protocol, bytes; /* FC_UNLOCK_PROTOCOL, sizeof(struct fc_unlock_reply) */
	int32_t error;            /* 0 or FC_E*: the helper has told the user why */
	uint32_t slot_count;      /* new slots, when some were asked for */
	uint32_t opened_slot;     /* opening: its number, */
	uint64_t sequence;        /* of the newest copy of the header that holds it, */
	struct fc_slot opened;    /* and what it holds */
	uint8_t master[FC_KEY_BYTES];
	/* rekey: another master key, which the new slots wrap, and the number of the one that each takes the place
	 * of; none and zeros where a rekey is under way */
	uint8_t fresh_master[FC_KEY_BYTES];
	uint32_t slot_of[FC_NEW_SLOTS_MAX];
	struct fc_slot slots[FC_NEW_SLOTS_MAX];
};

#endif
