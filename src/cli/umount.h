/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FC_CLI_UMOUNT_H
#define FC_CLI_UMOUNT_H

#include <stdbool.h>

/* Commits, unmounts and waits for the daemon's end. one_place: where the same is
 * mounted at another place too, only that one goes, as by umount(8). Returns an
 * exit status, having said why. */
int fc_umount(const char *point, bool one_place);

#endif
