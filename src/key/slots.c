/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "key/slots.h"

#include <string.h>

#include "util/utf8.h"

/* ---- edits ------------------------------------------------------------------ */

unsigned fc_slots_used(const struct fc_header *h)
{
	unsigned used = 0;

	for (unsigned i = 0; i < FC_SLOTS; i++)
		used += h->slots[i].used;
	return used;
}

int fc_slots_check_label(const char *label)
{
	const char *s = label;

	while (*s) {
		uint32_t point;
		size_t n = fc_utf8_length(s, &point);

		if (!n || fc_utf8_is_control(point))
			return FC_EINVAL;
		s += n;
	}
	return s - label > (ptrdiff_t)FC_LABEL_BYTES ? FC_ENAMETOOLONG : 0;
}

int fc_slots_labelled(const struct fc_header *h, const char *label)
{
	for (int i = 0; *label && i < (int)FC_SLOTS; i++)
		if (h->slots[i].used && !strcmp(h->slots[i].label, label))
			return i;
	return FC_ENOENT;
}

int fc_slots_add(struct fc_header *h, const struct fc_slot *slot, const char *label)
{
	int rc = fc_slots_check_label(label), n = 0;

	if (rc)
		return rc;
	if (fc_slots_labelled(h, label) >= 0)
		return FC_EEXIST;
	while (n < (int)FC_SLOTS && h->slots[n].used)
		n++;
	if (n == (int)FC_SLOTS)
		return FC_ENOSPC;
	h->slots[n] = *slot;
	memset(h->slots[n].label, 0, sizeof(h->slots[n].label));
	memcpy(h->slots[n].label, label, strlen(label));
	return n;
}

int fc_slots_change(struct fc_header *h, unsigned n, const struct fc_slot *slot)
{
	struct fc_slot *to = &h->slots[n];
	char label[sizeof(to->label)];

	if (!to->used)
		return FC_ENOENT;
	memcpy(label, to->label, sizeof(label));
	*to = *slot;
	memcpy(to->label, label, sizeof(label));
	return 0;
}

int fc_slots_remove(struct fc_header *h, unsigned n, bool destroy)
{
	if (!h->slots[n].used)
		return FC_ENOENT;
	if (fc_slots_used(h) == 1 && !destroy)
		return FC_EPERM;
	memset(&h->slots[n], 0, sizeof(h->slots[n]));
	return 0;
}

int fc_slots_rekey(struct fc_header *h, const struct fc_keys *keys, const struct fc_keys *fresh,
		   const struct fc_slot *const slot[FC_SLOTS])
{
	struct fc_header next = *h;
	int rc;

	if (h->rekeying)
		return FC_EINVAL;
	next.key_epoch++;
	rc = fc_keys_seal_old(fresh, keys->master, &next);
	if (rc)
		return rc;
	for (unsigned i = 0; i < FC_SLOTS; i++) {
		if (slot[i])
			(void)fc_slots_change(&next, i, slot[i]);
		else
			memset(&next.slots[i], 0, sizeof(next.slots[i]));
	}
	*h = next;
	return 0;
}

/* ---- on both copies ----------------------------------------------------------- */

static bool holds(const struct fc_header *h, const struct fc_slot *slot)
{
	for (unsigned i = 0; i < FC_SLOTS; i++)
		if (h->slots[i].used && fc_slot_same(&h->slots[i], slot))
			return true;
	return false;
}

int fc_slots_base(const struct fc_headers *headers, const struct fc_keys *keys, const struct fc_slot *opened)
{
	int newest = fc_headers_verified(headers, keys->header);

	if (newest < 0)
		return newest;
	if (holds(&headers->copy[newest], opened))
		return newest;
	if (!headers->status[!newest] && !fc_header_verify(headers->raw[!newest], keys->header) &&
	    holds(&headers->copy[!newest], opened))
		return !newest;
	return FC_ENOENT;
}

bool fc_slots_settled(const struct fc_headers *headers, const struct fc_keys *keys)
{
	for (int c = 0; c < 2; c++)
		if (headers->status[c] || fc_header_verify(headers->raw[c], keys->header))
			return false;
	return headers->copy[0].sequence == headers->copy[1].sequence;
}

int fc_slots_store(struct fc_io *io, const struct fc_headers *headers, int base, const struct fc_keys *keys,
		   uint64_t floor, struct fc_header *h)
{
	int newest = fc_headers_verified(headers, keys->header);

	if (newest >= 0 && headers->copy[newest].sequence > floor)
		floor = headers->copy[newest].sequence;
	if (h->sequence > floor)
		floor = h->sequence;
	h->sequence = floor + 1;
	return fc_header_replace(io, h, keys->header, base < 0 ? 1 : base);
}
