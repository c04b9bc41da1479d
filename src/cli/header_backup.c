/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A backup of the header is a container's first FC_HEADER_B + FC_HEADER_BYTES
 * bytes with nothing but the header's two copies in them, so that it is read as
 * a container's header is.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/key.h"

#define BACKUP_BYTES (FC_HEADER_B + FC_HEADER_BYTES)

/* The file's name must last too. */
static int sync_parent(const char *path)
{
	char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, err = 0;

	if (fd >= 0 && fsync(fd) && errno != EINVAL)
		err = errno;
	if (fd >= 0)
		close(fd);
	free(copy);
	return err;
}

static int write_copies(int fd, const struct fc_headers *h)
{
	static const off_t at[2] = { FC_HEADER_A, FC_HEADER_B };

	if (ftruncate(fd, BACKUP_BYTES))
		return errno;
	for (int c = 0; c < 2; c++) {
		ssize_t n = h->status[c] ? FC_HEADER_BYTES : pwrite(fd, h->raw[c], FC_HEADER_BYTES, at[c]);

		if (n != FC_HEADER_BYTES)
			return n < 0 ? errno : ENOSPC;
	}
	return fsync(fd) ? errno : 0;
}

static int save(const struct fc_headers *h, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), err;

	if (fd < 0) {
		err = errno;
		fc_cli_say("%s cannot be made: %s", path,
			   err == EEXIST ? "it exists, and a backup never overwrites anything" : strerror(err));
		return FC_EXIT_FAILED;
	}
	err = write_copies(fd, h);
	if (close(fd) && !err)
		err = errno;
	if (!err)
		err = sync_parent(path);
	if (!err)
		return 0;
	fc_cli_say("%s cannot be written: %s", path, strerror(err));
	unlink(path);
	return err == ENOSPC || err == EDQUOT ? FC_EXIT_NO_SPACE : FC_EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = { { NULL, 0, NULL, 0 } };
	struct fc_key_job job = FC_KEY_JOB;
	int status;

	if (getopt_long(argc, argv, "", options, NULL) != -1)
		return fc_cli_bad_option(argv);
	if (fc_cli_operands(argc, argv, 2, "a container and a file to make"))
		return FC_EXIT_USAGE;
	status = fc_key_open(&job, argv[optind], false);
	if (!status) {
		if (job.headers->status[0] || job.headers->status[1])
			fc_cli_say("warning: copy %c of the header of %s is damaged: only the other one is saved",
				   job.headers->status[0] ? 'A' : 'B', argv[optind]);
		status = save(job.headers, argv[optind + 1]);
	}
	fc_key_end(&job);
	return status;
}

const struct fc_command fc_command_header_backup = {
	.name = "header backup",
	.arguments = "CONTAINER FILE",
	.summary = "saves its header in a new file; no secret is needed",
	.help = "",
	.run = run,
};
