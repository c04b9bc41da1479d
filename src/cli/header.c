/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/key.h"

static const struct fc_command *const subs[] = { &fc_command_header_backup, &fc_command_header_restore, NULL };

const struct fc_command fc_command_header = {
	.name = "header",
	.arguments = "backup|restore CONTAINER FILE [OPTION...]",
	.summary = "saves the header, which holds the key slots, and puts it back",
	.help = "Without its header nothing of a container can be opened. It changes with each key command only.\n",
	.subs = subs,
};
