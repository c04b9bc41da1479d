/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * umount(8) of root looks only at the kernel's magic number, which is that of all
 * FUSE file systems, unless libmount's table tells of a helper for the mount point.
 */
#ifndef FC_CLI_UTAB_H
#define FC_CLI_UTAB_H

/* Both do nothing without root, or libmount. What goes wrong is left at that:
 * umount(8) then returns before the daemon is done. */
void fc_utab_add(const char *container, const char *point);
void fc_utab_remove(const char *point);

#endif
