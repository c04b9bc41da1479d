/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory for keys: guarded, locked, wiped when freed (R8). Wraps libsodium's
 * sodium_malloc; whether locking worked is remembered and can be asked.
 */
#ifndef FC_SECRET_SECRET_H
#define FC_SECRET_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Once a process before any other call here: sodium_init. 0 or FC_ENOMEM. */
int fc_secret_init(void);
/* No core dumps, not dumpable. For programs that hold secrets. 0 or FC_EPERM. */
int fc_secret_harden(void);
/* n bytes, zeroed, aligned to 64; NULL when out of memory. Each takes at least
 * four pages of address space and locks one: many small things go together. */
void *fc_secret_alloc(size_t n);
/* Wipes and frees; NULL is allowed. */
void fc_secret_free(void *p);
/* False once any allocation of the process could not be locked into memory. */
bool fc_secret_locked(void);

#endif
