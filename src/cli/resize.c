/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resize: sets or lifts the size limit, by the daemon where the container is mounted. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/mount.h"
#include "cli/subject.h"

static int say_refused(const char *path, uint64_t limit, uint64_t least)
{
	fc_cli_say("%s has more in use than %llu bytes; the lowest limit is %llu (%lluK) now, and nothing was changed",
		   path, (unsigned long long)limit, (unsigned long long)least,
		   (unsigned long long)(least + 1023) / 1024);
	return FC_EXIT_NO_SPACE;
}

static int resize_mounted(const struct fc_subject *s, const char *path, uint64_t limit)
{
	struct fc_ioc_resize arg = { .limit = limit };
	int err = fc_mount_command(s->m, FC_IOC_RESIZE, &arg, sizeof(arg));

	if (!err && arg.refused)
		return say_refused(path, limit, arg.least);
	if (!err)
		return FC_EXIT_DONE;
	if (err == EPERM || err == EACCES)
		fc_cli_say("%s was mounted by another user, who may resize it, or root", path);
	else if (err == EROFS)
		fc_cli_say("%s is mounted read-only", path);
	else
		fc_cli_say("%s cannot be resized: %s", path, strerror(err));
	return err == ENOSPC ? FC_EXIT_NO_SPACE : FC_EXIT_FAILED;
}

static int resize_here(const char *path, uint64_t limit, const struct fc_secret_from *from)
{
	struct fc_mount_job *job;
	struct fc_fs *fs;
	uint64_t least;
	int status = fc_mount_open(path, from, &job, &fs), rc, closed;

	if (status)
		return status;
	rc = fc_fs_set_limit(fs, limit, &least);
	closed = fc_fs_close(fs);
	fc_mount_free(job);
	if (rc == FC_EINVAL)
		return say_refused(path, limit, least);
	rc = rc ? rc : closed;
	if (rc)
		fc_cli_say("%s cannot be resized: %s", path, fc_error_text(rc));
	return fc_cli_exit(rc);
}

static int run(int argc, char **argv)
{
	struct fc_secret_from from = FC_SECRET_FROM_NONE;
	struct fc_subject subject;
	uint64_t limit = 0;
	int status = fc_secret_options(argc, argv, &from);

	if (status)
		return status;
	if (argc - optind != 2)
		return fc_cli_usage("resize", "resize needs a container or mount point, and a size or `none`");
	if (strcmp(argv[optind + 1], "none") && (fc_parse_size(argv[optind + 1], &limit) || !limit))
		return fc_cli_usage("resize", "%s is no size: give a number, perhaps with K, M, G or T, or `none`",
				    argv[optind + 1]);
	status = fc_subject_find(&subject, argv[optind]);
	if (!status)
		status = subject.m ? resize_mounted(&subject, argv[optind], limit)
				   : resize_here(subject.container, limit, &from);
	fc_subject_free(&subject);
	return status;
}

const struct fc_command fc_command_resize = {
	.name = "resize",
	.arguments = "CONTAINER|MOUNTPOINT SIZE|none [SECRET]",
	.summary = "sets or lifts the size limit",
	.help = "  SIZE                         bytes, or a number with K, M, G or T; `none` lifts the limit\n"
		"  --passphrase-file FILE, --passphrase-fd N, --key-file FILE, --recovery-code-file FILE\n"
		"                               needed where it is not mounted\n",
	.run = run,
};
