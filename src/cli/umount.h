/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FC_CLI_UMOUNT_H
#define FC_CLI_UMOUNT_H

/* Commits, unmounts what is mounted at that path, and waits for the daemon's end; a dead
 * mount is taken away. Returns an exit status, having said what is wrong. */
int fc_umount_run(const char *point);

#endif
