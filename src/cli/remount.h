/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mount(8)'s remount: what the kernel keeps of a mount itself is changed, the daemon goes on. */
#ifndef FC_CLI_REMOUNT_H
#define FC_CLI_REMOUNT_H

/* The mount(2) flags so far, with an option of mount(8) added; others, which no daemon
 * can change any more, leave them as they are. */
unsigned long fc_remount_flag(unsigned long flags, const char *option);
/* Gives the mount of ours at point these flags. FC_EXIT_*, said on stderr. */
int fc_remount(const char *point, unsigned long flags);

#endif
