/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/remount.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "cli/cli.h"
#include "cli/mounts.h"

unsigned long fc_remount_flag(unsigned long flags, const char *option)
{
	static const struct {
		const char *name;
		unsigned long flag;
		bool set;
	} known[] = {
		{ "ro", MS_RDONLY, true },
		{ "rw", MS_RDONLY, false },
		{ "nosuid", MS_NOSUID, true },
		{ "suid", MS_NOSUID, false },
		{ "nodev", MS_NODEV, true },
		{ "dev", MS_NODEV, false },
		{ "noexec", MS_NOEXEC, true },
		{ "exec", MS_NOEXEC, false },
		{ "sync", MS_SYNCHRONOUS, true },
		{ "async", MS_SYNCHRONOUS, false },
		{ "noatime", MS_NOATIME, true },
		{ "atime", MS_NOATIME, false },
		{ "relatime", MS_RELATIME, true },
		{ "norelatime", MS_RELATIME, false },
		{ "dirsync", MS_DIRSYNC, true },
		{ "nodiratime", MS_NODIRATIME, true },
		{ "diratime", MS_NODIRATIME, false },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(option, known[i].name))
			return known[i].set ? flags | known[i].flag : flags & ~known[i].flag;
	return flags;
}

static int say_stays(const char *point, int err)
{
	if (err == EBUSY)
		fc_cli_say("%s stays read-only: its container is mounted elsewhere too, for reading", point);
	else if (err && err != EROFS)
		fc_cli_say("%s stays read-only: it cannot be made writable: %s", point, strerror(err));
	else
		fc_cli_say("%s was mounted read-only, or had to become so: unmount it and mount it anew", point);
	return FC_EXIT_FAILED;
}

/* A daemon that opened the container for reading opens it for writing before the kernel lets
 * anything be written; else that would be found out only when it is lost. */
static int make_writable(const char *point)
{
	struct fc_mounts mounts = { 0 };
	struct fc_ioc_status status = { 0 };
	const struct fc_mount *m;
	char *path = fc_path_resolve(point);
	int status_code = FC_EXIT_FAILED, err;

	if (!path || fc_mounts_read("/proc/self/mountinfo", &mounts)) {
		fc_cli_say("%s: %s", point, strerror(errno));
	} else if (!(m = fc_mounts_at(&mounts, path)) || !fc_mount_is_ours(m)) {
		fc_cli_say("no container is mounted at %s", point);
	} else if (fc_mount_ask(m, FC_IOC_STATUS, &status)) {
		fc_cli_say("the daemon of %s does not answer", point);
	} else if (status.read_only && (status.failed || (err = fc_mount_ask(m, FC_IOC_WRITABLE, NULL)))) {
		status_code = say_stays(point, status.failed ? 0 : err);
	} else {
		status_code = FC_EXIT_DONE;
	}
	fc_mounts_free(&mounts);
	free(path);
	return status_code;
}

int fc_remount(const char *point, unsigned long flags)
{
	int status = flags & MS_RDONLY ? FC_EXIT_DONE : make_writable(point);

	if (status)
		return status;
	if (!mount("none", point, NULL, flags | MS_REMOUNT, NULL))
		return FC_EXIT_DONE;
	fc_cli_say("%s cannot be remounted: %s", point, strerror(errno));
	return FC_EXIT_FAILED;
}
