/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/cli.h"

#include <fcntl.h>
#include <getopt.h>

/* fresh: "new-", or "" */
static int take(struct fc_secret_from *from, int c, const char *value, const char *fresh)
{
	uint64_t fd;

	switch (c) {
	case FC_OPT_PASSPHRASE_FILE:
		from->passphrase_file = value;
		break;
	case FC_OPT_PASSPHRASE_FD:
		if (fc_parse_number(value, 1 << 20, &fd) || fcntl((int)fd, F_GETFD) < 0) {
			fc_cli_say("--%spassphrase-fd %s: no such descriptor is open", fresh, value);
			return FC_EINVAL;
		}
		from->passphrase_fd = (int)fd;
		break;
	case FC_OPT_KEY_FILE:
		from->key_file = value;
		break;
	case FC_OPT_RECOVERY_FILE:
		from->recovery_file = value;
		break;
	default:
		return FC_ENOENT;
	}
	if (from->passphrase_file && from->passphrase_fd >= 0) {
		fc_cli_say("--%spassphrase-file and --%spassphrase-fd exclude each other", fresh, fresh);
		return FC_EINVAL;
	}
	return 0;
}

int fc_secret_option(struct fc_secret_from *from, int c, const char *value)
{
	return take(from, c, value, "");
}

int fc_secret_options(int argc, char **argv, struct fc_secret_from *from)
{
	static const struct option options[] = { FC_SECRET_OPTIONS, { NULL, 0, NULL, 0 } };
	int c, rc;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		rc = fc_secret_option(from, c, optarg);
		if (rc)
			return rc == FC_ENOENT ? fc_cli_bad_option(argv) : FC_EXIT_USAGE;
	}
	return FC_EXIT_DONE;
}

int fc_new_secret_option(struct fc_secret_from *fresh, int c, const char *value)
{
	if (c < FC_OPT_NEW_PASSPHRASE_FILE || c > FC_OPT_NEW_RECOVERY_FILE)
		return FC_ENOENT;
	return take(fresh, c - FC_OPT_NEW_PASSPHRASE_FILE + FC_OPT_PASSPHRASE_FILE, value, "new-");
}

int fc_cli_unlock(const struct fc_unlock_request *request, struct fc_unlock_reply **reply)
{
	const char *why;
	int rc = fc_unlock_run(request, reply, &why);

	if (why)
		fc_cli_say("%s", why);
	return fc_cli_exit(rc);
}
