/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "store/sim_pages.h"

#define PAGE FC_SIM_PAGE
#define FAN_BITS 6u
#define FAN (1u << FAN_BITS)
#define LEVELS 5u /* of nodes; pages are level 0 */
_Static_assert(FC_SIM_PAGES_MAX == UINT64_C(1) << (FAN_BITS * LEVELS), "the tree's height");

/* Hashes of subtrees: 0 is not known yet, 1 is nothing but zeros. */
#define HASH_ZERO UINT64_C(1)

struct fc_sim_cell {
	atomic_uint refs; /* changed only by whoever holds the single reference */
	_Atomic uint64_t hash;
};

struct page {
	struct fc_sim_cell cell;
	uint8_t data[PAGE];
};

struct node {
	struct fc_sim_cell cell;
	struct fc_sim_cell *child[FAN];
};

static const uint8_t zeros[PAGE];

static struct fc_sim_cell *cell_new(unsigned level)
{
	struct fc_sim_cell *c = calloc(1, level ? sizeof(struct node) : sizeof(struct page));

	if (c)
		atomic_init(&c->refs, 1);
	return c;
}

static struct fc_sim_cell *cell_ref(struct fc_sim_cell *c)
{
	if (c)
		atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

static void cell_put(struct fc_sim_cell *c, unsigned level)
{
	unsigned i;

	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (i = 0; level && i < FAN; i++)
		cell_put(((struct node *)c)->child[i], level - 1);
	free(c);
}

/* Makes *at a cell that only this disk holds, with the same content. NULL: out of memory. */
static struct fc_sim_cell *cell_own(struct fc_sim_cell **at, unsigned level)
{
	struct fc_sim_cell *old = *at, *new;
	unsigned i;

	if (old && atomic_load_explicit(&old->refs, memory_order_acquire) == 1) {
		atomic_store_explicit(&old->hash, 0, memory_order_relaxed);
		return old;
	}
	new = cell_new(level);
	if (!new)
		return NULL;
	if (old && level) {
		for (i = 0; i < FAN; i++)
			((struct node *)new)->child[i] = cell_ref(((struct node *)old)->child[i]);
	} else if (old) {
		memcpy(((struct page *)new)->data, ((struct page *)old)->data, PAGE);
	}
	cell_put(old, level);
	*at = new;
	return new;
}

static unsigned child_index(uint64_t page, unsigned level)
{
	return (unsigned)(page >> (FAN_BITS * (level - 1))) % FAN;
}

const uint8_t *fc_sim_pages_get(const struct fc_sim_pages *p, uint64_t page)
{
	struct fc_sim_cell *c = p->root;
	unsigned level;

	for (level = LEVELS; c && level; level--)
		c = ((struct node *)c)->child[child_index(page, level)];
	return c ? ((struct page *)c)->data : NULL;
}

/* Where the page hangs, on a path that is this disk's own. NULL: out of memory. */
static struct fc_sim_cell **page_slot(struct fc_sim_pages *p, uint64_t page)
{
	struct fc_sim_cell **at = &p->root;
	unsigned level;

	for (level = LEVELS; level; level--) {
		struct fc_sim_cell *c = cell_own(at, level);

		if (!c)
			return NULL;
		at = &((struct node *)c)->child[child_index(page, level)];
	}
	return at;
}

int fc_sim_pages_write(struct fc_sim_pages *p, uint64_t page, size_t at, const void *data, size_t n)
{
	struct fc_sim_cell **slot = page_slot(p, page), *c;
	bool fresh;

	if (!slot)
		return FC_ENOMEM;
	fresh = !*slot;
	if (n == PAGE && !memcmp(data, zeros, PAGE)) {
		cell_put(*slot, 0);
		*slot = cell_ref(p->zero);
	} else {
		if (n == PAGE && !fresh && atomic_load_explicit(&(*slot)->refs, memory_order_acquire) != 1) {
			cell_put(*slot, 0);
			*slot = NULL;
		}
		c = cell_own(slot, 0);
		if (!c) {
			p->count -= !fresh && !*slot;
			return FC_ENOMEM;
		}
		memcpy(((struct page *)c)->data + at, data, n);
	}
	p->count += fresh;
	return 0;
}

static uint64_t count_pages(const struct fc_sim_cell *c, unsigned level)
{
	uint64_t n = 0;
	unsigned i;

	if (!c || !level)
		return c != NULL;
	for (i = 0; i < FAN; i++)
		n += count_pages(((const struct node *)c)->child[i], level - 1);
	return n;
}

/* Drops pages first..last from the subtree at *at, which begins with page base. */
static int erase(struct fc_sim_pages *p, struct fc_sim_cell **at, unsigned level, uint64_t base, uint64_t first,
		 uint64_t last)
{
	uint64_t span = UINT64_C(1) << (FAN_BITS * level);
	struct fc_sim_cell *c;
	unsigned i;
	int rc = 0;

	if (!*at || last < base || first >= base + span)
		return 0;
	if (first <= base && base + span - 1 <= last) {
		p->count -= count_pages(*at, level);
		cell_put(*at, level);
		*at = NULL;
		return 0;
	}
	c = cell_own(at, level);
	if (!c)
		return FC_ENOMEM;
	span >>= FAN_BITS;
	for (i = 0; !rc && i < FAN; i++)
		rc = erase(p, &((struct node *)c)->child[i], level - 1, base + i * span, first, last);
	return rc;
}

static uint64_t hash_of(struct fc_sim_cell *c, unsigned level)
{
	uint64_t h, children[FAN];
	bool zero = true;
	unsigned i;

	if (!c)
		return HASH_ZERO;
	h = atomic_load_explicit(&c->hash, memory_order_relaxed);
	if (h)
		return h;
	if (level) {
		for (i = 0; i < FAN; i++) {
			children[i] = hash_of(((struct node *)c)->child[i], level - 1);
			zero = zero && children[i] == HASH_ZERO;
		}
		h = XXH3_64bits(children, sizeof(children));
	} else {
		zero = !memcmp(((struct page *)c)->data, zeros, PAGE);
		h = XXH3_64bits(((struct page *)c)->data, PAGE);
	}
	if (zero)
		h = HASH_ZERO;
	else if (h <= HASH_ZERO)
		h = HASH_ZERO + 1;
	atomic_store_explicit(&c->hash, h, memory_order_relaxed);
	return h;
}

/* ---- what others call ---------------------------------------------------- */

int fc_sim_pages_init(struct fc_sim_pages *p)
{
	*p = (struct fc_sim_pages){ .zero = cell_new(0) };
	return p->zero ? 0 : FC_ENOMEM;
}

void fc_sim_pages_clone(struct fc_sim_pages *p, const struct fc_sim_pages *from)
{
	*p = (struct fc_sim_pages){ .root = cell_ref(from->root), .zero = cell_ref(from->zero), .count = from->count };
}

void fc_sim_pages_drop(struct fc_sim_pages *p)
{
	cell_put(p->root, LEVELS);
	cell_put(p->zero, 0);
}

int fc_sim_pages_erase(struct fc_sim_pages *p, uint64_t first, uint64_t last)
{
	return erase(p, &p->root, LEVELS, 0, first, last);
}

uint64_t fc_sim_pages_hash(const struct fc_sim_pages *p)
{
	return hash_of(p->root, LEVELS);
}
