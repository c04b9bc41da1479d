/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>

#include "cli/key.h"

enum { OPT_SLOT = FC_OPT_OWN, OPT_DESTROY };

static const struct option options[] = {
	FC_SECRET_OPTIONS,
	{ "slot", required_argument, NULL, OPT_SLOT },
	{ "destroy", no_argument, NULL, OPT_DESTROY },
	{ NULL, 0, NULL, 0 },
};

struct remove {
	struct fc_key_job job;
	const char *path;
	int slot;
	bool destroy;
	struct fc_secret_from from;
};

static int parse(int argc, char **argv, struct remove *r)
{
	int c, rc;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case OPT_SLOT:
			if (fc_key_parse_slot("key remove", optarg, &r->slot))
				return FC_EXIT_USAGE;
			break;
		case OPT_DESTROY:
			r->destroy = true;
			break;
		default:
			rc = fc_secret_option(&r->from, c, optarg);
			if (rc)
				return rc == FC_ENOENT ? fc_cli_bad_option(argv) : FC_EXIT_USAGE;
		}
	}
	if (fc_cli_operands(argc, argv, 1, "one container"))
		return FC_EXIT_USAGE;
	if (r->slot < 0)
		return fc_cli_usage("key remove", "key remove needs --slot N: see `fusecrypt key list`");
	r->path = argv[optind];
	return 0;
}

static int say_free(const struct remove *r)
{
	fc_cli_say("slot %d of %s is not in use", r->slot, r->path);
	return FC_EXIT_FAILED;
}

static int say_last(const struct remove *r)
{
	fc_cli_say("slot %d is the last one of %s: without it nothing can ever open that again. Add another key first; "
		   "or, to destroy the content for good, say --destroy",
		   r->slot, r->path);
	return FC_EXIT_FAILED;
}

/* What was interrupted left the slot in one copy only. */
static bool half_removed(const struct fc_headers *h, int slot)
{
	return !h->status[0] && !h->status[1] && h->copy[0].slots[slot].used != h->copy[1].slots[slot].used;
}

/* Before anything is asked; then which secrets count. */
static int plan(struct remove *r, struct fc_unlock_request *request)
{
	const struct fc_header *h = fc_key_public(&r->job);

	if (!h->slots[r->slot].used && !half_removed(r->job.headers, r->slot))
		return say_free(r);
	if (fc_slots_used(h) == h->slots[r->slot].used)
		return r->destroy ? 0 : say_last(r);
	request->slots = 0xffffu & ~(1u << r->slot);
	return 0;
}

static int edit(struct remove *r)
{
	int status = fc_key_begin(&r->job, false), rc;
	bool last;

	if (status)
		return status;
	if (r->job.changed)
		return fc_key_say_changed(&r->job);
	rc = fc_slots_remove(r->job.header, (unsigned)r->slot, r->destroy);
	if (rc == FC_EPERM)
		return say_last(r);
	if (rc && !r->job.torn)
		return say_free(r);
	last = !fc_slots_used(r->job.header);
	status = fc_key_store(&r->job, r->job.keys);
	if (!status && last)
		fc_cli_say("nothing opens %s any more but a backup of its header or an older copy of it, where there "
			   "is one",
			   r->path);
	return status;
}

static int remove_slot(struct remove *r)
{
	struct fc_unlock_request request = { .container = r->path, .from = r->from };
	int status = fc_key_open(&r->job, r->path, true);

	if (!status)
		status = plan(r, &request);
	if (status)
		return status;
	request.container_fd = r->job.fd;
	status = fc_key_unlock(&r->job, &request);
	if (status == FC_EXIT_NO_KEY && request.slots)
		fc_cli_say("to remove slot %d, the secret of another slot is needed: it shows that the container can "
			   "be opened without",
			   r->slot);
	return status ? status : edit(r);
}

static int run(int argc, char **argv)
{
	struct remove r = { .job = FC_KEY_JOB, .slot = -1, .from = FC_SECRET_FROM_NONE };
	int status = parse(argc, argv, &r);

	if (!status)
		status = remove_slot(&r);
	fc_key_end(&r.job);
	return status;
}

const struct fc_command fc_command_key_remove = {
	.name = "key remove",
	.arguments = "CONTAINER --slot N [OPTION...]",
	.summary = "lets a key not open it any more",
	.help = "  --slot N                     as `fusecrypt key list` shows it\n"
		"  --destroy                    also the last slot: nothing can open the container "
		"then\n" FC_HELP_SECRET "                               that of another slot; asked for unless given\n",
	.run = run,
};
