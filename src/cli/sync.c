/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/mounts.h"

static int sync_mount(const char *arg, const struct fc_mount *m)
{
	int err;

	if (!m || !fc_mount_is_ours(m)) {
		fc_cli_say("%s is not a mount of fusecrypt", arg);
		return FC_EXIT_MOUNTPOINT;
	}
	err = fc_mount_ask(m, FC_IOC_SYNC, NULL);
	if (!err)
		return FC_EXIT_DONE;
	if (err == ENOTCONN || err == ECONNABORTED)
		fc_cli_say("the daemon of %s is gone: take the mount away with `fusecrypt umount`", arg);
	else
		fc_cli_say("%s was not committed: %s", arg, strerror(err));
	return err == ENOSPC ? FC_EXIT_NO_SPACE : FC_EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = { { NULL, 0, NULL, 0 } };
	struct fc_mounts mounts;
	char *point;
	int status;

	if (getopt_long(argc, argv, "", options, NULL) != -1)
		return fc_cli_bad_option(argv);
	if (fc_cli_operands(argc, argv, 1, "one mount point"))
		return FC_EXIT_USAGE;
	point = fc_path_resolve(argv[optind]);
	if (!point) {
		fc_cli_say("%s cannot be looked at: %s", argv[optind], strerror(errno));
		return FC_EXIT_MOUNTPOINT;
	}
	if (fc_mounts_read("/proc/self/mountinfo", &mounts)) {
		fc_cli_say("the mounts of this machine cannot be read: is /proc mounted?");
		status = FC_EXIT_FAILED;
	} else {
		status = sync_mount(argv[optind], fc_mounts_at(&mounts, point));
	}
	fc_mounts_free(&mounts);
	free(point);
	return status;
}

const struct fc_command fc_command_sync = {
	.name = "sync",
	.arguments = "MOUNTPOINT",
	.summary = "returns when all that was written is durable",
	.help = "",
	.run = run,
};
