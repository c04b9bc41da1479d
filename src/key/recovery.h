/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recovery codes: 160 random bits to be written down, as eight groups of five
 * characters joined by `-`. Four characters of a group carry 20 bits, the fifth
 * checks the group and its place: any one wrong character, any two swapped
 * within a group and any two groups swapped are found, and the group is named.
 *
 * Characters: 0123456789ABCDEFGHJKMNPQRSTVWXYZ (value 0 to 31). When read, small
 * letters count as capitals, O as 0, I and L as 1; blanks and `-` are skipped.
 * Bits are taken from the bytes in order, high bits first. The check of group g
 * (from 0) with values d0..d3 is a^4*d0 + a^3*d1 + a^2*d2 + a*d3 + a^5*(g + 1)
 * in GF(32) = GF(2)[a]/(a^5 + a^2 + 1).
 */
#ifndef FC_KEY_RECOVERY_H
#define FC_KEY_RECOVERY_H

#include <stddef.h>
#include <stdint.h>

#include "fusecrypt/error.h"

#define FC_RECOVERY_BYTES 20u
#define FC_RECOVERY_GROUPS 8u
#define FC_RECOVERY_GROUP 5u
#define FC_RECOVERY_CHARS (FC_RECOVERY_GROUPS * (FC_RECOVERY_GROUP + 1) - 1)

/* text: FC_RECOVERY_CHARS + 1 bytes, NUL-terminated. */
void fc_recovery_format(const uint8_t code[FC_RECOVERY_BYTES], char *text);

/* Reads n bytes of text. 0; FC_EINVAL: not eight groups of five, or a character
 * that none has (*group 0); FC_EFORGED: the check of *group (from 1) is wrong. */
int fc_recovery_parse(const char *text, size_t n, uint8_t code[FC_RECOVERY_BYTES], unsigned *group);

#endif
