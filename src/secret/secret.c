/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sodium.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "fusecrypt/error.h"
#include "secret/secret.h"

/* sodium_malloc puts an allocation against the guard page behind it, so the
 * pointer is aligned only as far as the size is. */
#define SECRET_ALIGN 64u

/* Of the process, like the limit that it tells of. */
static atomic_bool unlocked;

int fc_secret_init(void)
{
	return sodium_init() < 0 ? FC_ENOMEM : 0;
}

int fc_secret_harden(void)
{
	const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &none) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return FC_EPERM;
	return 0;
}

void *fc_secret_alloc(size_t n)
{
	size_t room;
	void *p;

	if (n > SIZE_MAX / 2)
		return NULL;
	room = n ? (n + SECRET_ALIGN - 1) / SECRET_ALIGN * SECRET_ALIGN : SECRET_ALIGN;
	p = sodium_malloc(room);
	if (!p)
		return NULL;
	/* sodium_malloc locks too, but does not tell whether that worked. */
	if (sodium_mlock(p, room))
		atomic_store(&unlocked, true);
	memset(p, 0, room);
	return p;
}

void fc_secret_free(void *p)
{
	sodium_free(p);
}

bool fc_secret_locked(void)
{
	return !atomic_load(&unlocked);
}
