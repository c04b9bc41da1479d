/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lock: unmounts what is protected. */
#include <getopt.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/locked.h"
#include "cli/targets.h"
#include "cli/umount.h"

enum { OPT_ALL = FC_OPT_OWN };

/* Usually it is marked already, below what was mounted. */
static int mark(const struct fc_protected *entry)
{
	int rc = fc_locked_is_marked(entry->directory)
			 ? 0
			 : fc_locked_mark(entry->directory, entry->container, entry->of_machine);

	if (rc == FC_ENOTEMPTY)
		fc_cli_say("%s is locked, but something lies in it that is not encrypted: move that out, then unlock "
			   "it and move it in",
			   entry->directory);
	else if (rc)
		fc_cli_say("%s is locked, but cannot be made unwritable: %s", entry->directory, fc_error_text(rc));
	return rc ? FC_EXIT_FAILED : FC_EXIT_DONE;
}

static int lock_one(const struct fc_protected *entry, void *arg)
{
	struct fc_mounts mounts;
	const struct fc_mount *m;
	int status = 0;

	(void)arg;
	if (fc_mounts_read("/proc/self/mountinfo", &mounts)) {
		fc_cli_say("the mounts of this machine cannot be read: is /proc mounted?");
		fc_mounts_free(&mounts);
		return FC_EXIT_FAILED;
	}
	switch (fc_target_state(entry, &mounts, &m)) {
	case FC_TARGET_UNLOCKED:
	case FC_TARGET_DEAD:
	case FC_TARGET_OTHER_MOUNT: /* umount tells whose it is */
		status = fc_umount(entry->directory, false);
		break;
	case FC_TARGET_ELSEWHERE:
		fc_cli_say("%s is locked, but its container %s is mounted at %s: unmount it there with `fusecrypt "
			   "umount`",
			   entry->directory, entry->container, m->point);
		status = FC_EXIT_IN_USE;
		break;
	case FC_TARGET_NO_DIRECTORY:
		fc_cli_say("%s is not there", entry->directory);
		status = FC_EXIT_MOUNTPOINT;
		break;
	default:
		printf("%s is locked already\n", entry->directory);
	}
	fc_mounts_free(&mounts);
	return status ? status : mark(entry);
}

static int run(int argc, char **argv)
{
	static const struct option options[] = { { "all", no_argument, NULL, OPT_ALL }, { NULL, 0, NULL, 0 } };
	bool all = false;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != OPT_ALL)
			return fc_cli_bad_option(argv);
		all = true;
	}
	if (all == (optind < argc))
		return fc_cli_usage("lock", "lock needs either directories or --all");
	return fc_targets_each(all ? FC_TARGETS_OWN : FC_TARGETS_NAMED, argv + optind, argc - optind, lock_one, NULL);
}

const struct fc_command fc_command_lock = {
	.name = "lock",
	.arguments = "DIR...|--all",
	.summary = "unmounts protected directories, as umount does",
	.help = "  --all                        all that are registered\n",
	.run = run,
};
