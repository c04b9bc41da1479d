/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pages of a simulated disk: a radix tree of fixed height whose nodes and
 * pages are counted and shared between clones; what is shared is copied before
 * it is changed. So a clone costs one count, and the hash of a clone only what
 * was changed since. The caller locks; clones may be used by different threads.
 */
#ifndef FC_STORE_SIM_PAGES_H
#define FC_STORE_SIM_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "fusecrypt/error.h"

#define FC_SIM_PAGE 4096u
#define FC_SIM_PAGES_MAX (UINT64_C(1) << 30)

struct fc_sim_cell;

struct fc_sim_pages {
	struct fc_sim_cell *root;
	struct fc_sim_cell *zero; /* the page that stands for pages written as zeros */
	uint64_t count;           /* pages that exist */
};

/* 0 or FC_ENOMEM. */
int fc_sim_pages_init(struct fc_sim_pages *p);
void fc_sim_pages_clone(struct fc_sim_pages *p, const struct fc_sim_pages *from);
void fc_sim_pages_drop(struct fc_sim_pages *p);
/* Page numbers are below FC_SIM_PAGES_MAX. The bytes of a page, valid until the
 * next change; NULL where there is none. */
const uint8_t *fc_sim_pages_get(const struct fc_sim_pages *p, uint64_t page);
/* n bytes at byte `at` of a page, which is made when it does not exist. 0 or FC_ENOMEM. */
int fc_sim_pages_write(struct fc_sim_pages *p, uint64_t page, size_t at, const void *data, size_t n);
/* Drops the pages first..last. 0 or FC_ENOMEM: some may be gone then. */
int fc_sim_pages_erase(struct fc_sim_pages *p, uint64_t first, uint64_t last);
/* Of the content: a page of zeros counts like none. */
uint64_t fc_sim_pages_hash(const struct fc_sim_pages *p);

#endif
