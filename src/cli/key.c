/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/text.h"

static const struct {
	uint32_t kind;
	const char *name;
} kinds[] = {
	{ FC_SLOT_KIND_PASSPHRASE, "passphrase" },
	{ FC_SLOT_KIND_KEY_FILE, "key-file" },
	{ FC_SLOT_KIND_RECOVERY, "recovery" },
	{ FC_SLOT_KIND_TPM2, "tpm2" },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

int fc_key_parse_slot(const char *command, const char *text, int *slot)
{
	uint64_t v;

	if (fc_parse_number(text, FC_SLOTS - 1, &v)) {
		fc_cli_usage(command, "--slot %s: a number from 0 to %u is needed", text, FC_SLOTS - 1);
		return FC_EINVAL;
	}
	*slot = (int)v;
	return 0;
}

const char *fc_key_kind_name(uint32_t kind)
{
	for (size_t i = 0; i < KINDS; i++)
		if (kinds[i].kind == kind)
			return kinds[i].name;
	return "unknown";
}

uint32_t fc_key_kind_named(const char *name)
{
	for (size_t i = 0; i < KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			return kinds[i].kind;
	return 0;
}

uint32_t fc_key_kind_given(const struct fc_secret_from *fresh)
{
	if (fresh->passphrase_file || fresh->passphrase_fd >= 0)
		return FC_SLOT_KIND_PASSPHRASE;
	if (fresh->key_file)
		return FC_SLOT_KIND_KEY_FILE;
	return fresh->recovery_file ? FC_SLOT_KIND_RECOVERY : 0;
}

bool fc_key_given_twice(const struct fc_secret_from *fresh)
{
	return (fresh->passphrase_file || fresh->passphrase_fd >= 0) + !!fresh->key_file + !!fresh->recovery_file > 1;
}

int fc_key_say_changed(const struct fc_key_job *job)
{
	fc_cli_say("the keys of %s were changed meanwhile: try again", job->container);
	return FC_EXIT_FAILED;
}

void fc_key_void_code(const struct fc_key_job *job, const struct fc_secret_from *fresh)
{
	if (!job->written && fresh->recovery_file && strcmp(fresh->recovery_file, "-"))
		unlink(fresh->recovery_file);
}

void fc_key_slot_text(const struct fc_header *h, unsigned slot, char *text)
{
	const struct fc_slot *s = &h->slots[slot];
	char *label = *s->label ? fc_text_plain(s->label) : NULL;

	if (label)
		snprintf(text, FC_KEY_TEXT, "slot %u (%s, \"%s\")", slot, fc_key_kind_name(s->kind), label);
	else
		snprintf(text, FC_KEY_TEXT, "slot %u (%s)", slot, fc_key_kind_name(s->kind));
	free(label);
}

static const struct fc_command *const subs[] = {
	&fc_command_key_list, &fc_command_key_add, &fc_command_key_change, &fc_command_key_remove, NULL,
};

const struct fc_command fc_command_key = {
	.name = "key",
	.arguments = "list|add|change|remove CONTAINER [OPTION...]",
	.summary = "shows and changes what opens a container",
	.help = "A container has 16 slots, each with a passphrase, a key file, a recovery code or a TPM that opens "
		"it.\n"
		"Changes may be made while it is mounted.\n",
	.subs = subs,
};
