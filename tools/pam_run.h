/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pam_fusecrypt does outside its process, and how many sessions a user has. */
#ifndef FC_TOOLS_PAM_RUN_H
#define FC_TOOLS_PAM_RUN_H

#include <security/pam_modules.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pam_user {
	char *name, *home, *shell;
	uid_t uid;
	gid_t gid, *groups;
	int group_count;
};

/* False: there is no such user, or no memory. Else the caller frees it. */
bool pam_user_find(const char *name, struct pam_user *user);
void pam_user_free(struct pam_user *user);

struct pam_run {
	pam_handle_t *pamh;
	const char *helper; /* absolute */
	int seconds;        /* for all of it */
	int64_t end;        /* in milliseconds */
};

/* The time begins. */
void pam_run_start(struct pam_run *run);

/* Runs fusecrypt-login, as root for what the machine registered for the user and then as
 * the user (the other way round for `lock`), with these passphrases (NULL: none), and logs
 * what they say. They are ended when the time is over. */
void pam_run_helper(const struct pam_run *run, const char *what, const struct pam_user *user, const char *words,
		    const char *fresh);

/* The file that counts a user's sessions, locked until it is closed; others who log in
 * or out wait for that. -1, having logged why. */
int pam_count_lock(const struct pam_run *run, uid_t uid);
/* The count after adding to it; never below 0. -1: not known. */
long pam_count_add(const struct pam_run *run, int fd, long add);

#endif
