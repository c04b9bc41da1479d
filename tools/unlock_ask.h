/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking for a secret: on the controlling terminal, or from a descriptor. */
#ifndef FC_TOOLS_UNLOCK_ASK_H
#define FC_TOOLS_UNLOCK_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fusecrypt/error.h"

/* Writes the prompt to /dev/tty and reads a line without echo into buf, which
 * should be secret memory; the newline is not kept. A stop (SIGTSTP) gives the
 * terminal back as it was and asks again when continued. 0; FC_ENXIO: there is
 * no terminal; FC_EINTERRUPTED: a signal, end of file or a hangup, the terminal
 * is as it was; FC_EFBIG: longer than room; FC_EIO. */
int unlock_ask(const char *prompt, uint8_t *buf, size_t room, size_t *n);

/* The same with an echo: for what is no secret. */
int unlock_ask_shown(const char *prompt, uint8_t *buf, size_t room, size_t *n);

/* Writes a line to /dev/tty. 0; FC_ENXIO: there is none. */
int unlock_tell(const char *line);

/* Reads fd byte by byte up to the first newline or its end, so that what
 * follows is left to others. 0, FC_EFBIG, FC_EIO, FC_EISDIR. */
int unlock_read_line(int fd, uint8_t *buf, size_t room, size_t *n);

#endif
