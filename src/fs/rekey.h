/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a rekey. */
#ifndef FC_FS_REKEY_H
#define FC_FS_REKEY_H

#include "fs/state.h"

/* Some extents of old sessions from rekey.at on are sealed anew. 1 there is more,
 * 0 the pass has come to its end, or an error. */
int fc_rekey_data(struct fc_fs *fs);
/* Forgets where shared blocks went. */
void fc_rekey_forget_shared(struct fc_rekey *rk);

#endif
