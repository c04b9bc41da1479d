/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/key.h"

struct restore {
	struct fc_key_job job;    /* of the container */
	struct fc_key_job backup; /* of the file: its reply and keys are those of the container too */
	const char *path, *file;
	int error;  /* of the container's header: 0, or neither copy decodes */
	int source; /* the copy of the backup that is put back */
	struct fc_secret_from from;
};

/* ---- before anything is asked --------------------------------------------------------- */

/* A UUID is not authenticated: whose header it is, the root records tell later. */
static bool same_uuid(const struct restore *r)
{
	const uint8_t *want = fc_key_public(&r->backup)->uuid;

	for (int c = 0; c < 2; c++)
		if (!r->job.headers->status[c] && !memcmp(r->job.headers->copy[c].uuid, want, FC_UUID_BYTES))
			return true;
	return r->error;
}

static int check(struct restore *r)
{
	char is[FC_UUID_TEXT], want[FC_UUID_TEXT];

	if (r->error == FC_ENEWER)
		return fc_cli_bad_header(r->path, r->error);
	if (same_uuid(r))
		return 0;
	fc_format_uuid(fc_key_public(&r->job)->uuid, is);
	fc_format_uuid(fc_key_public(&r->backup)->uuid, want);
	fc_cli_say("warning: %s is the header of %s, and %s calls itself %s: it should be of another container",
		   r->file, want, r->path, is);
	return 0;
}

static int open_both(struct restore *r)
{
	int status = fc_key_open_any(&r->job, r->path, true, &r->error), error;

	if (status)
		return status;
	status = fc_key_open_any(&r->backup, r->file, false, &error);
	if (!status && error == FC_ENOTCONTAINER) {
		fc_cli_say("%s is not a backup of a header", r->file);
		return FC_EXIT_NOT_CONTAINER;
	}
	if (!status && error)
		status = fc_cli_bad_header(r->file, error);
	return status ? status : check(r);
}

/* ---- the change ------------------------------------------------------------------------- */

/* The container's root records open under the backup's key and UUID only if they
 * belong together. */
static int check_roots(struct restore *r)
{
	const struct fc_header *from = &r->backup.headers->copy[r->source];
	struct fc_roots roots;
	int rc = fc_keys_open_old(r->backup.keys, from);

	if (!rc)
		rc = fc_roots_load(r->job.io, r->backup.keys, from->uuid, &roots);

	if (rc == FC_EFORGED) {
		fc_cli_say("%s is the header of another container than %s, or from before a rekey, or nothing else of "
			   "that is whole either: it is not put back",
			   r->file, r->path);
		return FC_EXIT_FAILED;
	}
	if (rc) {
		fc_cli_say("%s cannot be read: %s", r->path, fc_error_text(rc));
		return fc_cli_exit(rc);
	}
	r->job.root = roots.root[roots.newest];
	return 0;
}

/* The header to be written: what is good of the container's, with the backup's slots. */
static void merge(struct restore *r)
{
	const struct fc_header *from = &r->backup.headers->copy[r->source];
	struct fc_header *h = r->job.header;

	r->job.base = fc_headers_verified(r->job.headers, r->backup.keys->header);
	if (r->job.base < 0)
		r->job.base = -1;
	*h = r->job.base < 0 ? *from : r->job.headers->copy[r->job.base];
	memcpy(h->slots, from->slots, sizeof(h->slots));
}

static void say_slots(const struct fc_header *h, const struct fc_header *other, const char *what)
{
	for (unsigned i = 0; i < FC_SLOTS; i++) {
		char text[FC_KEY_TEXT], created[FC_TIME_TEXT];

		if (!h->slots[i].used || (other && fc_slot_same(&h->slots[i], &other->slots[i])))
			continue;
		fc_key_slot_text(h, i, text);
		fc_format_time(h->slots[i].created, created);
		printf("%s %s of %s\n", what, text, created);
	}
}

/* before NULL: there was no header. */
static void say_done(const struct fc_header *before, const struct fc_header *now)
{
	say_slots(now, before, "opens it again:");
	if (before)
		say_slots(before, now, "opens it no more:");
}

static int put_back(struct restore *r)
{
	struct fc_header *before = NULL;
	int status, error;

	r->source = fc_slots_base(r->backup.headers, r->backup.keys, &r->backup.reply->opened);
	if (r->source < 0) {
		fc_cli_say("%s was changed while it was read", r->file);
		return FC_EXIT_FAILED;
	}
	status = fc_key_lock(&r->job, &error);
	if (!status)
		status = check_roots(r);
	if (status)
		return status;
	merge(r);
	if (r->job.header->ro_compat & ~FC_RO_COMPAT_KNOWN)
		return fc_cli_bad_header(r->path, FC_ENEWER);
	if (r->job.base >= 0)
		before = &r->job.headers->copy[r->job.base];
	status = fc_key_store(&r->job, r->backup.keys);
	if (!status)
		say_done(before, r->job.header);
	return status;
}

static int restore(struct restore *r)
{
	struct fc_unlock_request request = { .container = r->file, .from = r->from };
	int status = open_both(r);

	if (status)
		return status;
	request.container_fd = r->backup.fd;
	status = fc_key_unlock(&r->backup, &request);
	return status ? status : put_back(r);
}

static int run(int argc, char **argv)
{
	struct restore r = { .job = FC_KEY_JOB, .backup = FC_KEY_JOB, .from = FC_SECRET_FROM_NONE };
	int status = fc_secret_options(argc, argv, &r.from);

	if (status)
		return status;
	if (fc_cli_operands(argc, argv, 2, "a container and a backup of its header"))
		return FC_EXIT_USAGE;
	r.path = argv[optind];
	r.file = argv[optind + 1];
	status = restore(&r);
	fc_key_end(&r.backup);
	fc_key_end(&r.job);
	return status;
}

const struct fc_command fc_command_header_restore = {
	.name = "header restore",
	.arguments = "CONTAINER FILE [OPTION...]",
	.summary = "puts a saved header back, with the keys that it had",
	.help = FC_HELP_SECRET
	"                               one that opens it as it was saved; asked for unless given\n"
	"Keys that were removed or changed since open it again, those made since no more: it says which.\n",
	.run = run,
};
