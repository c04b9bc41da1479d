/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where fusecrypt keeps what outlives a command, beside the containers. */
#ifndef FC_CLI_PLACES_H
#define FC_CLI_PLACES_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "fusecrypt/error.h"

/* ${VARIABLE:-~/BELOW_HOME}/fusecrypt, PATH_MAX bytes; false: this user has none
 * (root without HOME). Nothing is made. */
bool fc_place_of_user(const char *variable, const char *below_home, char *dir);
/* mkdir -p. 0 or FC_E*. */
int fc_place_make(const char *dir, mode_t mode);
/* Does dir, which need not exist yet, lie in `outer` or below it? */
bool fc_place_inside(const char *dir, const char *outer);

#endif
