/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program under the names that mount(8) and umount(8) look for in /sbin:
 * mount.fusecrypt, umount.fusecrypt, and the same with fuse.fusecrypt, the type
 * that the kernel shows. Exit statuses are those of mount(8).
 */
#ifndef FC_CLI_MOUNT_HELPER_H
#define FC_CLI_MOUNT_HELPER_H

/* What the program is called as: a function with the arguments of main, or NULL. */
int (*fc_mount_helper(const char *argv0))(int argc, char **argv);

#endif
