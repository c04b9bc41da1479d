/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the helper cannot do any more, whoever steers it. */
#ifndef FC_TOOLS_UNLOCK_SANDBOX_H
#define FC_TOOLS_UNLOCK_SANDBOX_H

#include <stdbool.h>

/* No new privileges, also for what it runs. At its very start. 0 or FC_EPERM. */
int unlock_sandbox_start(void);

/* Keeps all memory out of swap where that cannot make a later allocation fail. */
void unlock_lock_memory(void);

/* From now on it makes no process, executes nothing, opens no socket, touches no other
 * process and does nothing to the terminal but to ask: such calls fail with EPERM. What
 * is open stays usable, and files may be opened. sockets: but for sockets, and connections by
 * them. Without libseccomp, or where the kernel has no seccomp filters, it does nothing. 0 or
 * FC_EPERM. */
int unlock_sandbox(bool sockets);

#endif
