/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/rekey.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/lock.h"
#include "key/tpm2_slot.h"
#include "secret/secret.h"

enum { OPT_YES = FC_OPT_OWN };

static const struct option options[] = {
	FC_SECRET_OPTIONS,
	{ "yes", no_argument, NULL, OPT_YES },
	{ NULL, 0, NULL, 0 },
};

static int take_secret(struct fc_rekey_job *job, int option)
{
	int rc;

	if (job->secrets == FC_SLOTS)
		return fc_cli_usage("rekey", "a container has %u slots: so many secrets there are not", FC_SLOTS);
	job->secret[job->secrets] = FC_SECRET_FROM_NONE;
	rc = fc_secret_option(&job->secret[job->secrets], option, optarg);
	if (!rc)
		job->secrets++;
	return rc == FC_EINVAL ? FC_EXIT_USAGE : rc;
}

static int parse(int argc, char **argv, struct fc_rekey_job *job)
{
	int c, rc;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == OPT_YES) {
			job->yes = true;
			continue;
		}
		rc = take_secret(job, c);
		if (rc)
			return rc == FC_ENOENT ? fc_cli_bad_option(argv) : rc;
	}
	if (argc - optind != 1)
		return fc_cli_usage("rekey", "rekey needs one container");
	job->path = argv[optind];
	return 0;
}

/* ---- which slots go --------------------------------------------------------------------- */

/* The new slot that takes the place of slot n; NULL: its secret was not given. */
static const struct fc_slot *successor(const struct fc_rekey_job *job, unsigned n)
{
	const struct fc_unlock_reply *r = job->key.reply;

	for (uint32_t i = 0; i < r->slot_count; i++)
		if (r->slot_of[i] == n)
			return &r->slots[i];
	return NULL;
}

static bool agreed(void)
{
	char answer[16];

	fputs("Go on? [y/n] ", stderr);
	fflush(stderr);
	if (!fgets(answer, sizeof(answer), stdin))
		return false;
	answer[strcspn(answer, "\n")] = '\0';
	return !strcasecmp(answer, "y") || !strcasecmp(answer, "yes");
}

static const char *secret_name(const struct fc_slot *s)
{
	struct fc_tpm2_slot t;

	if (s->kind != FC_SLOT_KIND_TPM2)
		return "secret";
	return !fc_tpm2_slot_decode(&t, s) && t.pin ? "PIN" : "key, which the TPM has,";
}

static int ask_drop(const struct fc_rekey_job *job)
{
	const struct fc_header *h = fc_key_public(&job->key);
	unsigned drops = 0;

	for (unsigned i = 0; i < FC_SLOTS; i++) {
		char text[FC_KEY_TEXT];

		if (!h->slots[i].used || successor(job, i))
			continue;
		fc_key_slot_text(h, i, text);
		fc_cli_say("%s will not open %s any more: its %s was not given", text, job->path,
			   secret_name(&h->slots[i]));
		drops++;
	}
	if (!drops || job->yes)
		return 0;
	if (!isatty(STDIN_FILENO)) {
		fc_cli_say("nothing was changed: give these secrets too, or say --yes to go on without them");
		return FC_EXIT_FAILED;
	}
	if (agreed())
		return 0;
	fc_cli_say("nothing was changed");
	return FC_EXIT_FAILED;
}

/* ---- the header --------------------------------------------------------------------------- */

/* The header's lock is held. Another master key, and the present one sealed under it. */
static int write_new(struct fc_rekey_job *job, const struct fc_keys *fresh)
{
	struct fc_key_job *key = &job->key;
	const struct fc_slot *slots[FC_SLOTS];
	uint64_t highest = 0;
	int rc;

	if (key->changed)
		return fc_key_say_changed(key);
	for (unsigned i = 0; i < FC_SLOTS; i++)
		slots[i] = successor(job, i);
	for (int c = 0; c < 2; c++)
		if (!key->headers->status[c] && key->headers->copy[c].sequence > highest)
			highest = key->headers->copy[c].sequence;
	rc = fc_slots_rekey(key->header, key->keys, fresh, slots);
	if (rc) {
		fc_cli_say("the header cannot be made: %s", fc_error_text(rc));
		return fc_cli_exit(rc);
	}
	/* no copy counts under the new key yet: above both of them */
	if (key->root.header_seq < highest)
		key->root.header_seq = highest;
	return fc_key_write(key, fresh);
}

/* One that was interrupted: the header may have come to one copy only. */
static int go_on(struct fc_rekey_job *job)
{
	struct fc_key_job *key = &job->key;

	fc_cli_say("a rekey of %s was begun before and is gone on with: its keys stay as they are", job->path);
	if (key->torn)
		return fc_key_write(key, key->keys);
	fc_unlock_header(key->fd);
	key->locked = false;
	return 0;
}

static int run_with(struct fc_rekey_job *job, const uint8_t *master, const struct fc_keys *old)
{
	return job->m ? fc_rekey_mounted(job, master, old) : fc_rekey_alone(job, master);
}

static int rekey_locked(struct fc_rekey_job *job)
{
	struct fc_key_job *key = &job->key;
	const uint8_t *fresh_master = key->reply->fresh_master;
	struct fc_keys *fresh;
	int status;

	if (key->header->rekeying) {
		status = go_on(job);
		return status ? status : run_with(job, key->keys->master, key->keys->old);
	}
	if (!key->reply->slot_count)
		return fc_key_say_changed(key);
	fresh = fc_keys_new(fresh_master);
	if (!fresh) {
		fc_cli_say("out of memory");
		return FC_EXIT_FAILED;
	}
	status = write_new(job, fresh);
	if (!status)
		status = run_with(job, fresh_master, key->keys);
	fc_keys_free(fresh);
	return status;
}

static int rekey(struct fc_rekey_job *job)
{
	struct fc_unlock_request request = { .container = job->path,
					     .from = FC_SECRET_FROM_NONE,
					     .rekey = true,
					     .secret = job->secret,
					     .secrets = job->secrets };
	int status = fc_key_open(&job->key, job->path, true);

	if (status)
		return status;
	request.container_fd = job->key.fd;
	status = fc_key_unlock(&job->key, &request);
	if (!status && job->key.reply->slot_count)
		status = ask_drop(job);
	if (!status)
		status = fc_rekey_find(job);
	if (!status)
		status = fc_key_begin(&job->key, false);
	return status ? status : rekey_locked(job);
}

static int run(int argc, char **argv)
{
	struct fc_rekey_job job = { .key = FC_KEY_JOB };
	int status = parse(argc, argv, &job);

	if (!status)
		status = rekey(&job);
	fc_key_end(&job.key);
	fc_mounts_free(&job.mounts);
	return status;
}

const struct fc_command fc_command_rekey = {
	.name = "rekey",
	.arguments = "CONTAINER [OPTION...]",
	.summary = "gives it another master key and seals everything anew",
	.help = "  --yes                        goes on when there are keys whose secret is not given: these\n"
		"                               open it no more\n" FC_HELP_SECRET
		"                               one that opens it now, each may be repeated: give all that shall\n"
		"                               go on opening it; without any, a passphrase is asked for;\n"
		"                               what the TPM opens goes along, with its PIN as a passphrase\n"
		"Works while it is mounted, too. What interrupts it does no harm: the next mount, or another\n"
		"rekey, goes on. Old header backups open nothing when it is done: make a new one.\n",
	.run = run,
};
