/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FC_CLI_TEXT_H
#define FC_CLI_TEXT_H

#include <jansson.h>

/* A JSON string of any bytes: what is not UTF-8 becomes U+FFFD. NULL gives null. */
json_t *fc_text_json(const char *text);

/* A copy for a terminal, malloc'ed: the same, and control characters become
 * U+FFFD too. NULL: out of memory. */
char *fc_text_plain(const char *text);

#endif
