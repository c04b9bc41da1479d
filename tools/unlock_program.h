/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asking by another program, where there is no terminal: $FUSECRYPT_ASKPASS, else
 * $SSH_ASKPASS, else systemd-ask-password. Only its standard output counts.
 *
 * It is run by a child of ours, the runner, which is made before there is any secret
 * and does not get to see one: so this process itself need not be able to execute
 * anything. Runner and program end when this process does.
 */
#ifndef FC_TOOLS_UNLOCK_PROGRAM_H
#define FC_TOOLS_UNLOCK_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fusecrypt/error.h"

#define UNLOCK_PROGRAM_SECONDS 120 /* to answer, unless $FUSECRYPT_ASKPASS_TIMEOUT says else */

/* Makes the runner when a program is named and there is no terminal. 0, also where none is; FC_EINVAL,
 * FC_EIO, having said why. */
int unlock_program_start(void);
/* Would one be asked? */
bool unlock_program_there(void);

/* The first line of what it prints, into buf, which should be secret memory. 0; FC_ENXIO: there is none;
 * FC_EFBIG: longer than room; FC_EIO: it failed, took too long or printed nothing, having said so. After
 * a failure there is none any more. */
int unlock_program_ask(const char *prompt, uint8_t *buf, size_t room, size_t *n);

/* Ends the runner and what it runs. */
void unlock_program_end(void);

#endif
