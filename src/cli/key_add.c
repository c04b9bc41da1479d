/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/key.h"
#include "key/kdf.h"

enum { OPT_KIND = FC_OPT_OWN, OPT_LABEL, OPT_KDF };

static const struct option options[] = {
	FC_SECRET_OPTIONS,
	FC_NEW_SECRET_OPTIONS,
	{ "kind", required_argument, NULL, OPT_KIND },
	{ "label", required_argument, NULL, OPT_LABEL },
	{ "kdf", required_argument, NULL, OPT_KDF },
	{ NULL, 0, NULL, 0 },
};

struct add {
	struct fc_key_job job;
	const char *path, *label, *kdf;
	uint32_t kind; /* 0: not said */
	struct fc_secret_from from, fresh;
};

/* ---- arguments -------------------------------------------------------------------- */

static int take_label(struct add *a, const char *label)
{
	int rc = fc_slots_check_label(label);

	a->label = label;
	if (rc == FC_ENAMETOOLONG)
		return fc_cli_usage("key add", "--label: it is longer than %u bytes", FC_LABEL_BYTES);
	if (rc)
		return fc_cli_usage("key add", "--label: it must be UTF-8 and have no control characters");
	return 0;
}

static int take_option(struct add *a, int c, char **argv)
{
	int rc;

	switch (c) {
	case OPT_KIND:
		a->kind = fc_key_kind_named(optarg);
		if (!a->kind)
			return fc_cli_usage("key add", "--kind %s: passphrase, key-file, recovery and tpm2 are known",
					    optarg);
		return 0;
	case OPT_LABEL:
		return take_label(a, optarg);
	case OPT_KDF:
		a->kdf = optarg;
		if (!fc_kdf_is_name(optarg))
			return fc_cli_usage("key add", "--kdf %s: auto, interactive, moderate and sensitive are known",
					    optarg);
		return 0;
	default:
		rc = fc_secret_option(&a->from, c, optarg);
		if (rc == FC_ENOENT)
			rc = fc_new_secret_option(&a->fresh, c, optarg);
		return !rc ? 0 : rc == FC_ENOENT ? fc_cli_bad_option(argv) : FC_EXIT_USAGE;
	}
}

static int parse(int argc, char **argv, struct add *a)
{
	uint32_t given;
	int c, status;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		status = take_option(a, c, argv);
		if (status)
			return status;
	}
	if (fc_cli_operands(argc, argv, 1, "one container"))
		return FC_EXIT_USAGE;
	a->path = argv[optind];
	given = fc_key_kind_given(&a->fresh);
	if (fc_key_given_twice(&a->fresh))
		return fc_cli_usage("key add", "one new secret makes one slot: add them one after the other");
	/* of a TPM it is the PIN */
	if (a->kind == FC_SLOT_KIND_TPM2 && given == FC_SLOT_KIND_PASSPHRASE)
		return 0;
	if (given && a->kind && given != a->kind)
		return fc_cli_usage("key add", "--kind %s does not go with a new secret of kind %s",
				    fc_key_kind_name(a->kind), fc_key_kind_name(given));
	if (!a->kind)
		a->kind = given ? given : FC_SLOT_KIND_PASSPHRASE;
	if (a->kind == FC_SLOT_KIND_KEY_FILE && !given)
		return fc_cli_usage("key add", "--kind key-file needs --new-key-file");
	return 0;
}

/* ---- the change --------------------------------------------------------------------- */

static int say_refused(const struct add *a, int rc)
{
	if (rc == FC_EEXIST)
		fc_cli_say("a slot of %s has the label \"%s\" already: choose another one", a->path, a->label);
	else
		fc_cli_say("all %u slots of %s are in use: remove one first", FC_SLOTS, a->path);
	return FC_EXIT_FAILED;
}

/* Before anything is asked: what would be refused anyway. */
static int check(const struct add *a)
{
	const struct fc_header *h = fc_key_public(&a->job);

	if (fc_slots_labelled(h, a->label) >= 0)
		return say_refused(a, FC_EEXIST);
	return fc_slots_used(h) == FC_SLOTS ? say_refused(a, FC_ENOSPC) : 0;
}

static int change(struct add *a)
{
	int status = fc_key_begin(&a->job, false), n = 0;

	if (status)
		return status;
	n = fc_slots_add(a->job.header, &a->job.reply->slots[0], a->label);
	if (n < 0)
		return say_refused(a, n);
	status = fc_key_store(&a->job, a->job.keys);
	/* a code on standard output stands there alone */
	if (!status && !(a->fresh.recovery_file && !strcmp(a->fresh.recovery_file, "-")))
		printf("slot %d\n", n);
	return status;
}

static int add(struct add *a)
{
	struct fc_unlock_request request = {
		.container = a->path,
		.kdf = a->kdf,
		.from = a->from,
		.wrap = true,
		.fresh = a->fresh,
		.fresh_kind = a->kind,
	};
	int status = fc_key_open(&a->job, a->path, true);

	if (!status)
		status = check(a);
	if (status)
		return status;
	request.container_fd = a->job.fd;
	status = fc_key_unlock(&a->job, &request);
	if (status)
		return status;
	status = change(a);
	if (status)
		fc_key_void_code(&a->job, &a->fresh);
	return status;
}

static int run(int argc, char **argv)
{
	struct add a = { .job = FC_KEY_JOB, .label = "", .kdf = "auto" };
	int status;

	a.from = a.fresh = FC_SECRET_FROM_NONE;
	status = parse(argc, argv, &a);
	if (!status)
		status = add(&a);
	fc_key_end(&a.job);
	return status;
}

const struct fc_command fc_command_key_add = {
	.name = "key add",
	.arguments = "CONTAINER [OPTION...]",
	.summary = "lets one more key open it",
	.help = "  --kind passphrase|key-file|recovery|tpm2\n"
		"                               passphrase unless given; a recovery code is shown once;\n"
		"                               tpm2: this machine's TPM opens it, a new passphrase is its PIN\n"
		"  --label TEXT                 for you to tell slots apart: up to 64 bytes, visible to all\n"
		"  --kdf auto|interactive|moderate|sensitive    what a guess of a passphrase costs\n" FC_HELP_NEW_SECRET
		"Without a new secret, a new passphrase is asked for on the terminal.\n" FC_HELP_SECRET
		"                               one that opens it already; asked for unless given\n",
	.run = run,
};
