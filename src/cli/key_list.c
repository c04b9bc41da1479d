/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/key.h"
#include "cli/text.h"
#include "key/tpm2_slot.h"

enum { OPT_JSON = FC_OPT_OWN };

static json_t *slot_json(unsigned n, const struct fc_slot *s)
{
	char created[FC_TIME_TEXT];
	struct fc_tpm2_slot t;
	json_t *o = json_object();

	fc_format_time(s->created, created);
	json_object_set_new(o, "slot", json_integer(n));
	json_object_set_new(o, "kind", json_string(fc_key_kind_name(s->kind)));
	json_object_set_new(o, "label", fc_text_json(*s->label ? s->label : NULL));
	json_object_set_new(o, "created", json_string(created));
	json_object_set_new(o, "kdf",
			    json_string(s->kdf == FC_KDF_NONE         ? "none"
					: s->kdf == FC_KDF_ARGON2ID13 ? "argon2id"
								      : "unknown"));
	json_object_set_new(o, "kdf_passes", json_integer(s->ops));
	json_object_set_new(o, "kdf_bytes", json_integer((json_int_t)(s->mem > INT64_MAX ? INT64_MAX : s->mem)));
	if (s->kind == FC_SLOT_KIND_TPM2)
		json_object_set_new(o, "pin", json_boolean(!fc_tpm2_slot_decode(&t, s) && t.pin));
	return o;
}

static int print_json(const struct fc_key_job *job, const struct fc_header *h)
{
	char uuid[FC_UUID_TEXT];
	json_t *o = json_object(), *slots = json_array();
	int rc;

	fc_format_uuid(h->uuid, uuid);
	for (unsigned i = 0; i < FC_SLOTS; i++)
		if (h->slots[i].used)
			json_array_append_new(slots, slot_json(i, &h->slots[i]));
	json_object_set_new(o, "container", fc_text_json(job->container));
	json_object_set_new(o, "uuid", json_string(uuid));
	json_object_set_new(o, "slots", slots);
	rc = o ? json_dumpf(o, stdout, JSON_INDENT(2)) : -1;
	json_decref(o);
	putchar('\n');
	if (rc)
		fc_cli_say("the keys cannot be printed");
	return rc ? FC_EXIT_FAILED : FC_EXIT_DONE;
}

static void cost_text(const struct fc_slot *s, char *text, size_t room)
{
	struct fc_tpm2_slot t;

	if (s->kind == FC_SLOT_KIND_TPM2 && !fc_tpm2_slot_decode(&t, s))
		snprintf(text, room, t.pin ? "the TPM, with a PIN" : "the TPM");
	else if (s->kdf == FC_KDF_NONE)
		snprintf(text, room, "none");
	else if (s->kdf != FC_KDF_ARGON2ID13)
		snprintf(text, room, "unknown");
	else if (s->mem < 1u << 20)
		snprintf(text, room, "argon2id, %" PRIu32 " x %" PRIu64 " KiB", s->ops, s->mem >> 10);
	else
		snprintf(text, room, "argon2id, %" PRIu32 " x %" PRIu64 " MiB", s->ops, s->mem >> 20);
}

static int print_text(const struct fc_header *h)
{
	if (!fc_slots_used(h)) {
		puts("no key: nothing opens it");
		return FC_EXIT_DONE;
	}
	printf("%-4s  %-10s  %-20s  %-24s  %s\n", "slot", "kind", "made", "cost", "label");
	for (unsigned i = 0; i < FC_SLOTS; i++) {
		const struct fc_slot *s = &h->slots[i];
		char created[FC_TIME_TEXT], cost[64], *label;

		if (!s->used)
			continue;
		fc_format_time(s->created, created);
		cost_text(s, cost, sizeof(cost));
		label = fc_text_plain(s->label);
		printf("%-4u  %-10s  %-20s  %-24s  %s\n", i, fc_key_kind_name(s->kind), created, cost,
		       label ? label : "");
		free(label);
	}
	return FC_EXIT_DONE;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = { { "json", no_argument, NULL, OPT_JSON }, { NULL, 0, NULL, 0 } };
	struct fc_key_job job = FC_KEY_JOB;
	bool json = false;
	int c, status;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != OPT_JSON)
			return fc_cli_bad_option(argv);
		json = true;
	}
	if (fc_cli_operands(argc, argv, 1, "one container"))
		return FC_EXIT_USAGE;
	status = fc_key_open(&job, argv[optind], false);
	if (!status && !job.headers->status[0] && !job.headers->status[1] &&
	    job.headers->copy[0].sequence != job.headers->copy[1].sequence)
		fc_cli_say("warning: the last change was interrupted: do it again, since what it replaced or removed "
			   "may still open %s",
			   job.container);
	if (!status)
		status = json ? print_json(&job, fc_key_public(&job)) : print_text(fc_key_public(&job));
	fc_key_end(&job);
	return status;
}

const struct fc_command fc_command_key_list = {
	.name = "key list",
	.arguments = "CONTAINER [--json]",
	.summary = "lists its key slots; no secret is needed",
	.help = "  --json                       one JSON object; sizes in bytes\n",
	.run = run,
};
