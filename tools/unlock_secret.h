/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The secrets that fusecrypt-unlock was pointed to, and what it says of them. */
#ifndef FC_TOOLS_UNLOCK_SECRET_H
#define FC_TOOLS_UNLOCK_SECRET_H

#include "key/client.h"
#include "key/slot.h"

/* In secret memory (unlock_secret_new); one secret at a time. */
struct unlock_secret {
	uint32_t kind; /* FC_SLOT_KIND_* */
	size_t n;
	size_t file_bytes; /* key file: its size */
	uint8_t bytes[FC_PASSPHRASE_MAX];
	uint8_t again[FC_PASSPHRASE_MAX];
	size_t last_n; /* the answer before this one */
	uint8_t last[FC_PASSPHRASE_MAX];
};

/* `fusecrypt: ` and a sentence on standard error. */
__attribute__((format(printf, 1, 2))) void unlock_say(const char *format, ...);

/* A line for whoever is asked. */
void unlock_remark(const char *line);

/* Each 0 or FC_E*, having said why. */
int unlock_passphrase_given(const struct fc_secret_from *from, struct unlock_secret *s);
int unlock_key_file_given(const char *path, bool fresh, struct unlock_secret *s);
int unlock_recovery_given(const char *path, struct unlock_secret *s);
/* Asks on the terminal, or by a program (unlock_program.h); a new passphrase twice, until both agree. */
int unlock_passphrase_asked(const char *container, bool fresh, struct unlock_secret *s);
/* Likewise for a TPM slot's PIN; no bytes: what `none` tells is to happen. Silent where nobody is asked. */
int unlock_pin_asked(const char *container, const char *none, struct unlock_secret *s);
/* Draws a code and writes it to a new file, to standard output for "-", or for
 * NULL shows it on the terminal. */
int unlock_recovery_drawn(const char *path, const char *container, struct unlock_secret *s);
/* Takes the file away again. */
void unlock_recovery_void(const char *path);
/* Asks on the terminal whether a recovery code shall be made too. */
int unlock_recovery_offered(const char *container, struct unlock_secret *s, bool *wanted);

#endif
