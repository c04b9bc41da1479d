/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/cli.h"

#include <fcntl.h>

int fc_secret_option(struct fc_secret_from *from, int c, const char *value)
{
	uint64_t fd;

	switch (c) {
	case FC_OPT_PASSPHRASE_FILE:
		from->passphrase_file = value;
		break;
	case FC_OPT_PASSPHRASE_FD:
		if (fc_parse_number(value, 1 << 20, &fd) || fcntl((int)fd, F_GETFD) < 0) {
			fc_cli_say("--passphrase-fd %s: no such descriptor is open", value);
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
		fc_cli_say("--passphrase-file and --passphrase-fd exclude each other");
		return FC_EINVAL;
	}
	return 0;
}

int fc_cli_unlock(const struct fc_unlock_request *request, struct fc_unlock_reply **reply)
{
	const char *why;
	int rc = fc_unlock_run(request, reply, &why);

	if (why)
		fc_cli_say("%s", why);
	return fc_cli_exit(rc);
}
