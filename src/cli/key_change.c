/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "cli/key.h"
#include "key/kdf.h"

enum { OPT_SLOT = FC_OPT_OWN, OPT_KDF };

static const struct option options[] = {
	FC_SECRET_OPTIONS,
	FC_NEW_SECRET_OPTIONS,
	{ "slot", required_argument, NULL, OPT_SLOT },
	{ "kdf", required_argument, NULL, OPT_KDF },
	{ NULL, 0, NULL, 0 },
};

struct change {
	struct fc_key_job job;
	const char *path, *kdf; /* NULL: not said */
	int slot;               /* -1: the one that the given secret opens */
	struct fc_secret_from from, fresh;
};

static int take_option(struct change *c, int option, char **argv)
{
	int rc;

	switch (option) {
	case OPT_SLOT:
		return fc_key_parse_slot("key change", optarg, &c->slot) ? FC_EXIT_USAGE : 0;
	case OPT_KDF:
		c->kdf = optarg;
		if (!fc_kdf_is_name(optarg))
			return fc_cli_usage("key change",
					    "--kdf %s: auto, interactive, moderate and sensitive are known", optarg);
		return 0;
	default:
		rc = fc_secret_option(&c->from, option, optarg);
		if (rc == FC_ENOENT)
			rc = fc_new_secret_option(&c->fresh, option, optarg);
		return !rc ? 0 : rc == FC_ENOENT ? fc_cli_bad_option(argv) : FC_EXIT_USAGE;
	}
}

static int parse(int argc, char **argv, struct change *c)
{
	int option, status;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		status = take_option(c, option, argv);
		if (status)
			return status;
	}
	if (fc_cli_operands(argc, argv, 1, "one container"))
		return FC_EXIT_USAGE;
	if (fc_key_given_twice(&c->fresh))
		return fc_cli_usage("key change", "a slot holds one secret: give one new one");
	c->path = argv[optind];
	return 0;
}

/* What the helper shall do with the slot that is named. */
static int plan_slot(struct change *c, struct fc_unlock_request *request)
{
	const struct fc_slot *s = &fc_key_public(&c->job)->slots[c->slot];

	if (!s->used) {
		fc_cli_say("slot %d of %s is not in use", c->slot, c->path);
		return FC_EXIT_FAILED;
	}
	if (request->again) {
		request->slots = 1u << c->slot;
		return 0;
	}
	if (request->fresh_kind)
		return 0;
	request->fresh_kind = s->kind;
	if (s->kind == FC_SLOT_KIND_KEY_FILE)
		return fc_cli_usage("key change", "slot %d has a key file: give the new one with --new-key-file",
				    c->slot);
	if (s->kind != FC_SLOT_KIND_PASSPHRASE && s->kind != FC_SLOT_KIND_RECOVERY && s->kind != FC_SLOT_KIND_TPM2)
		return fc_cli_usage("key change", "slot %d is of a kind that is not known here: give a new secret",
				    c->slot);
	return 0;
}

/* Whose slot is changed by being given shall be given, not be at hand unasked. */
static uint32_t given_slots(const struct change *c)
{
	const struct fc_header *h = fc_key_public(&c->job);
	uint32_t mask = 0;

	for (unsigned i = 0; i < FC_SLOTS; i++)
		if (h->slots[i].used && h->slots[i].kind != FC_SLOT_KIND_TPM2)
			mask |= 1u << i;
	return mask;
}

static int edit(struct change *c)
{
	int status = fc_key_begin(&c->job, false);
	unsigned n = c->slot < 0 ? c->job.reply->opened_slot : (unsigned)c->slot;

	if (status)
		return status;
	/* the slot that was named may hold another key by now */
	if ((c->slot >= 0 && c->job.changed) || fc_slots_change(c->job.header, n, &c->job.reply->slots[0]))
		return fc_key_say_changed(&c->job);
	return fc_key_store(&c->job, c->job.keys);
}

static int change(struct change *c)
{
	struct fc_unlock_request request = {
		.container = c->path,
		.kdf = c->kdf ? c->kdf : "auto",
		.from = c->from,
		.wrap = true,
		.fresh = c->fresh,
		.fresh_kind = fc_key_kind_given(&c->fresh),
		.again = c->kdf && !fc_key_kind_given(&c->fresh),
	};
	int status = fc_key_open(&c->job, c->path, true);

	if (!status && c->slot >= 0)
		status = plan_slot(c, &request);
	else if (!status)
		request.slots = given_slots(c);
	if (status)
		return status;
	request.container_fd = c->job.fd;
	status = fc_key_unlock(&c->job, &request);
	if (status == FC_EXIT_NO_KEY && c->slot >= 0 && request.slots)
		fc_cli_say("only the secret of slot %d itself can be given another cost", c->slot);
	if (status)
		return status;
	status = edit(c);
	if (status)
		fc_key_void_code(&c->job, &c->fresh);
	return status;
}

static int run(int argc, char **argv)
{
	struct change c = { .job = FC_KEY_JOB, .slot = -1 };
	int status;

	c.from = c.fresh = FC_SECRET_FROM_NONE;
	status = parse(argc, argv, &c);
	if (!status)
		status = change(&c);
	fc_key_end(&c.job);
	return status;
}

const struct fc_command fc_command_key_change = {
	.name = "key change",
	.arguments = "CONTAINER [OPTION...]",
	.summary = "puts a new secret, or another cost, in a slot",
	.help = "  --slot N                     the slot to change; the one whose secret is given unless said\n"
		"  --kdf auto|interactive|moderate|sensitive    what a guess of a passphrase costs;\n"
		"                               without a new secret, the one given stays and gets that "
		"cost\n" FC_HELP_NEW_SECRET
		"Without a new secret and --kdf, a new one of the slot's kind is asked for or made.\n" FC_HELP_SECRET
		"                               one that opens it now; asked for unless given\n",
	.run = run,
};
