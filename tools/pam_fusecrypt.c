/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unlocks a user's protected directories at the first session of a login, and locks
 * them after the last one: see pam_fusecrypt(8). The work is done by fusecrypt-login, so
 * that no cryptography runs in the program that logs users in. Whatever goes wrong is
 * logged, and the login goes on, after `timeout` seconds at the latest.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <syslog.h>
#include <unistd.h>

#include "pam_run.h"

#define SECONDS 30
#define SECONDS_MAX 600
#define DATA_WORDS "fusecrypt-words"
#define DATA_UNCOUNTED "fusecrypt-uncounted"
#define PASSPHRASE_MAX 4096

static void read_options(pam_handle_t *pamh, int argc, const char **argv, struct pam_run *run)
{
	run->pamh = pamh;
	run->helper = FC_LIBEXECDIR "/fusecrypt-login";
	run->seconds = SECONDS;
	for (int i = 0; i < argc; i++) {
		const char *v = strchr(argv[i], '=');
		char *end;
		long n;

		if (!strncmp(argv[i], "helper=/", 8)) {
			run->helper = argv[i] + 7;
			continue;
		}
		n = v ? strtol(v + 1, &end, 10) : 0;
		if (!strncmp(argv[i], "timeout=", 8) && v[1] && !*end && n >= 1 && n <= SECONDS_MAX)
			run->seconds = (int)n;
		else
			pam_syslog(pamh, LOG_ERR, "%s is no option, or not a value of it: passed over", argv[i]);
	}
	pam_run_start(run);
}

/* ---- the passphrase, from the authentication to the session ----------------------- */

static void words_free(pam_handle_t *pamh, void *data, int error)
{
	(void)pamh, (void)error;
	explicit_bzero(data, PASSPHRASE_MAX + 1);
	munmap(data, PASSPHRASE_MAX + 1);
}

static void keep_words(pam_handle_t *pamh, const char *words)
{
	size_t n = strlen(words);
	char *copy;

	if (!n || n > PASSPHRASE_MAX || strchr(words, '\n')) {
		pam_syslog(pamh, LOG_NOTICE, "the login's passphrase cannot be one of a container");
		return;
	}
	copy = mmap(NULL, PASSPHRASE_MAX + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return;
	if (mlock(copy, PASSPHRASE_MAX + 1))
		pam_syslog(pamh, LOG_DEBUG, "the passphrase cannot be locked into memory");
	madvise(copy, PASSPHRASE_MAX + 1, MADV_DONTDUMP);
	memcpy(copy, words, n + 1);
	if (pam_set_data(pamh, DATA_WORDS, copy, words_free) != PAM_SUCCESS)
		words_free(pamh, copy, 0);
}

int pam_sm_authenticate(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	const void *words = NULL;

	(void)flags, (void)argc, (void)argv;
	if (pam_get_item(pamh, PAM_AUTHTOK, &words) == PAM_SUCCESS && words)
		keep_words(pamh, words);
	return PAM_IGNORE;
}

int pam_sm_setcred(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	(void)pamh, (void)flags, (void)argc, (void)argv;
	return PAM_IGNORE;
}

/* ---- sessions --------------------------------------------------------------------- */

/* Not root: who else could unlock anything for it is root anyway. */
static bool get_user(pam_handle_t *pamh, struct pam_user *user)
{
	const char *name = NULL;
	bool found = pam_get_user(pamh, &name, NULL) == PAM_SUCCESS && name && pam_user_find(name, user);

	if (found && user->uid)
		return true;
	if (found)
		pam_user_free(user);
	return false;
}

static char uncounted[] = "";

int pam_sm_open_session(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	const void *words = NULL;
	struct pam_run run;
	struct pam_user user;
	int fd;

	(void)flags;
	if (!get_user(pamh, &user))
		return PAM_SUCCESS;
	read_options(pamh, argc, argv, &run);
	pam_get_data(pamh, DATA_WORDS, &words);
	fd = pam_count_lock(&run, user.uid);
	if (fd < 0 || pam_count_add(&run, fd, 1) < 0)
		pam_set_data(pamh, DATA_UNCOUNTED, uncounted, NULL); /* its end must not count either */
	pam_run_helper(&run, "unlock", &user, words, NULL);
	if (fd >= 0)
		close(fd);
	/* the user's programs are children of this process */
	if (words)
		pam_set_data(pamh, DATA_WORDS, NULL, NULL);
	pam_user_free(&user);
	return PAM_SUCCESS;
}

int pam_sm_close_session(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	const void *data;
	struct pam_run run;
	struct pam_user user;
	int fd;

	(void)flags;
	if (pam_get_data(pamh, DATA_UNCOUNTED, &data) == PAM_SUCCESS || !get_user(pamh, &user))
		return PAM_SUCCESS;
	read_options(pamh, argc, argv, &run);
	fd = pam_count_lock(&run, user.uid);
	if (fd >= 0 && pam_count_add(&run, fd, -1) == 0)
		pam_run_helper(&run, "lock", &user, NULL, NULL);
	if (fd >= 0)
		close(fd);
	pam_user_free(&user);
	return PAM_SUCCESS;
}

/* ---- another passphrase ------------------------------------------------------------- */

int pam_sm_chauthtok(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	const void *old = NULL, *fresh = NULL;
	struct pam_run run;
	struct pam_user user;

	if (!(flags & PAM_UPDATE_AUTHTOK) || !get_user(pamh, &user))
		return PAM_IGNORE;
	pam_get_item(pamh, PAM_OLDAUTHTOK, &old);
	pam_get_item(pamh, PAM_AUTHTOK, &fresh);
	read_options(pamh, argc, argv, &run);
	if (old && fresh)
		pam_run_helper(&run, "change", &user, old, fresh);
	else if (fresh)
		pam_syslog(pamh, LOG_NOTICE,
			   "the login passphrase of %s was changed without the old one: protected directories keep "
			   "theirs until `fusecrypt key change`",
			   user.name);
	pam_user_free(&user);
	return PAM_IGNORE;
}
