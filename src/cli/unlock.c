/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unlock: mounts what is protected. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/lock.h"
#include "cli/mount.h"
#include "cli/targets.h"
#include "key/tpm2_slot.h"

enum { OPT_ALL = FC_OPT_OWN };

struct unlocking {
	struct fc_secret_from from;
	bool once;      /* one passphrase is asked for, for all */
	int fd;         /* that gives it; -1: not asked for yet */
	pid_t pid;      /* of the helper that does */
	int ask_status; /* of asking, if that failed */
};

/* Where several are to be opened by what can be read only once, a helper reads it for all. */
static int ask_once(struct unlocking *u)
{
	const char *why;
	int rc;

	if (!u->once || u->fd >= 0 || u->ask_status)
		return u->ask_status;
	rc = fc_unlock_ask(&u->from, "the protected directories", &u->fd, &u->pid, &why);
	if (rc && why)
		fc_cli_say("%s", why);
	u->ask_status = fc_cli_exit(rc);
	return u->ask_status;
}

static void ask_end(struct unlocking *u)
{
	if (u->fd < 0)
		return;
	close(u->fd);
	waitpid(u->pid, NULL, 0);
}

/* unasked: by its TPM alone; cleared where it has a secret of its own. */
static int mount_by(const struct fc_protected *entry, struct unlocking *u, bool *unasked)
{
	struct fc_mount_job *job = fc_mount_new();
	char why[512];
	int status = 0;

	if (!job)
		return FC_EXIT_FAILED;
	job->container_arg = entry->container;
	job->mountpoint_arg = entry->directory;
	job->uuid = entry->uuid;
	if (fc_mount_options_parse(&job->options, entry->options, why, sizeof(why))) {
		fc_cli_say("%s: %s", entry->file, why);
		status = FC_EXIT_FAILED;
	}
	fc_mount_for_owner(job);
	/* its own secret before the one for all */
	if (!status && !job->options.passphrase_file && !job->options.key_file) {
		job->unasked = *unasked;
		status = *unasked ? 0 : ask_once(u);
		job->from = u->from;
		if (u->fd >= 0 && !*unasked) {
			job->from.passphrase_file = NULL;
			job->from.passphrase_fd = u->fd;
		}
	} else {
		*unasked = false;
		if (fc_secret_given(&u->from) && !u->once)
			job->from = u->from;
	}
	if (!status)
		status = fc_mount_run(job);
	fc_mount_free(job);
	return status;
}

/* What a TPM opens needs no passphrase for all. */
static int mount_one(const struct fc_protected *entry, struct unlocking *u)
{
	bool unasked = u->once && !fc_secret_given(&u->from) && fc_tpm2_unasked(entry->container);
	int status = mount_by(entry, u, &unasked);

	if (status != FC_EXIT_NO_KEY || !unasked)
		return status;
	unasked = false;
	return mount_by(entry, u, &unasked);
}

static int unlock_one(const struct fc_protected *entry, void *arg)
{
	struct fc_mounts mounts;
	const struct fc_mount *m;
	int status;

	/* what is just being locked is not unlocked already */
	fc_lock_wait_left(entry->container);
	if (fc_mounts_read("/proc/self/mountinfo", &mounts)) {
		fc_cli_say("the mounts of this machine cannot be read: is /proc mounted?");
		fc_mounts_free(&mounts);
		return FC_EXIT_FAILED;
	}
	switch (fc_target_state(entry, &mounts, &m)) {
	case FC_TARGET_UNLOCKED:
		printf("%s is unlocked already\n", entry->directory);
		status = FC_EXIT_DONE;
		break;
	case FC_TARGET_NO_CONTAINER:
		fc_cli_say("%s, the container of %s, is not there: if it was moved, write its new place into %s",
			   entry->container, entry->directory, entry->file);
		status = FC_EXIT_FAILED;
		break;
	case FC_TARGET_NO_DIRECTORY:
		fc_cli_say("%s is not there: make it again with `mkdir`, or write its new name into %s",
			   entry->directory, entry->file);
		status = FC_EXIT_MOUNTPOINT;
		break;
	default: /* mount says what is wrong */
		status = mount_one(entry, arg);
	}
	fc_mounts_free(&mounts);
	return status;
}

static bool readable_once(const struct fc_secret_from *from)
{
	return from->passphrase_fd >= 0 || (from->passphrase_file && !strcmp(from->passphrase_file, "-"));
}

static int run(int argc, char **argv)
{
	static const struct option options[] = { FC_SECRET_OPTIONS,
						 { "all", no_argument, NULL, OPT_ALL },
						 { NULL, 0, NULL, 0 } };
	struct unlocking u = { .from = FC_SECRET_FROM_NONE, .fd = -1 };
	bool all = false;
	int c, rc, status;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		rc = c == OPT_ALL ? 0 : fc_secret_option(&u.from, c, optarg);
		if (rc)
			return rc == FC_ENOENT ? fc_cli_bad_option(argv) : FC_EXIT_USAGE;
		all |= c == OPT_ALL;
	}
	if (all == (optind < argc))
		return fc_cli_usage("unlock", "unlock needs either directories or --all");
	u.once = (all && !fc_secret_given(&u.from)) || ((all || argc - optind > 1) && readable_once(&u.from));
	status = fc_targets_each(all ? FC_TARGETS_OWN : FC_TARGETS_NAMED, argv + optind, argc - optind, unlock_one, &u);
	ask_end(&u);
	return status;
}

const struct fc_command fc_command_unlock = {
	.name = "unlock",
	.arguments = "DIR...|--all [SECRET]",
	.summary = "mounts protected directories",
	.help = "  --all                        all that are registered; what a TPM opens without a PIN is not asked\n"
		"                               for; for the others one passphrase is asked for and tried on each\n"
		"  --passphrase-file FILE, --passphrase-fd N, --key-file FILE, --recovery-code-file FILE\n"
		"                               as of mount; what `fusecrypt list` shows as options is used too\n",
	.run = run,
};
