/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One passphrase for several containers. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "unlock.h"

int unlock_ask_for_several(struct unlock *u)
{
	const struct fc_secret_from *from = &u->request.from;
	struct unlock_secret *s = u->secret;
	int rc = unlock_confine(u);

	if (rc)
		return rc;
	if (from->passphrase_file || from->passphrase_fd >= 0)
		rc = unlock_passphrase_given(from, s);
	else
		rc = unlock_passphrase_asked(u->request.container, false, s);
	if (rc)
		return rc;
	signal(SIGPIPE, SIG_IGN);
	for (size_t done = 0, all = s->n + 1;; done %= all) {
		ssize_t n = done < s->n ? write(u->reply_fd, s->bytes + done, s->n - done)
					: write(u->reply_fd, "\n", 1);

		if (n < 0 && errno != EINTR)
			return 0;
		done += n > 0 ? (size_t)n : 0;
	}
}
