/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a login does with the protected directories of a user: pam_fusecrypt runs it, as
 * the user for those that the user registered, and as root with --owner for those of
 * the machine that the user owns (a protected home).
 *
 *   fusecrypt-login unlock [--owner UID]   the passphrase comes on descriptor 3
 *   fusecrypt-login lock [--owner UID]
 *   fusecrypt-login change [--owner UID]   the new one on descriptor 4
 *
 * Without descriptor 3, unlock tries what asks nobody: a TPM slot without a PIN. It runs
 * fusecrypt for each directory; what that says goes to standard error.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/registry.h"
#include "key/client.h"
#include "key/slot.h"
#include "key/tpm2_slot.h"
#include "secret/secret.h"
#include "unlock_ask.h"

#define OLD_FD 3
#define NEW_FD 4

struct words {
	size_t n;
	bool given;
	uint8_t bytes[FC_PASSPHRASE_MAX + 1]; /* the newline too */
};

struct login {
	const char *what;
	bool machine;
	uid_t owner;
	char program[PATH_MAX];
	struct words *old, *fresh; /* in secret memory */
};

/* False, having said so, when it was given and is none. */
static bool read_words(int fd, struct words *w)
{
	int rc;

	if (fcntl(fd, F_GETFD) < 0)
		return true;
	rc = unlock_read_line(fd, w->bytes, FC_PASSPHRASE_MAX, &w->n);
	close(fd);
	w->given = !rc && w->n;
	if (!w->given)
		fputs("fusecrypt-login: the login's passphrase cannot be one of a container: it is empty or too long\n",
		      stderr);
	w->bytes[w->n] = '\n';
	return w->given;
}

/* A pipe with the line in it, to be inherited; -1. */
static int pipe_of(const struct words *w)
{
	int p[2];
	bool done;

	if (pipe(p))
		return -1;
	fcntl(p[1], F_SETFD, FD_CLOEXEC);
	done = write(p[1], w->bytes, w->n + 1) == (ssize_t)w->n + 1; /* less than a pipe holds */
	close(p[1]);
	if (done)
		return p[0];
	close(p[0]);
	return -1;
}

/* Its exit status. */
static int run(const char *const *argv)
{
	union {
		const char *const *in;
		char *const *out;
	} args = { argv };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		if (null >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1)
			execv(argv[0], args.out);
		_exit(127);
	}
	if (pid < 0)
		return 1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int unlock(const struct login *l, const char *directory, const char *container)
{
	const char *argv[] = { l->program, "unlock", directory, NULL, NULL, NULL };
	char number[16];
	int fd = -1, status;

	if (!l->old->given && !fc_tpm2_unasked(container))
		return 0;
	if (l->old->given) {
		fd = pipe_of(l->old);
		if (fd < 0)
			return 1;
		snprintf(number, sizeof(number), "%d", fd);
		argv[3] = "--passphrase-fd";
		argv[4] = number;
	}
	status = run(argv);
	if (fd >= 0)
		close(fd);
	return status;
}

static int change(const struct login *l, const char *container)
{
	int old = pipe_of(l->old), fresh = pipe_of(l->fresh), status = 1;
	char old_number[16], fresh_number[16];
	const char *argv[] = {
		l->program,   "key", "change", container, "--passphrase-fd", old_number, "--new-passphrase-fd",
		fresh_number, NULL
	};

	snprintf(old_number, sizeof(old_number), "%d", old);
	snprintf(fresh_number, sizeof(fresh_number), "%d", fresh);
	if (old >= 0 && fresh >= 0)
		status = run(argv);
	if (status)
		fprintf(stderr, "fusecrypt-login: %s keeps its passphrase: change it with `fusecrypt key change %s`\n",
			container, container);
	close(old);
	close(fresh);
	return status;
}

static bool is_ours(const struct login *l, const struct fc_protected *entry)
{
	struct stat st;

	if (entry->of_machine != l->machine)
		return false;
	return !l->machine || (!lstat(entry->directory, &st) && S_ISDIR(st.st_mode) && st.st_uid == l->owner);
}

static int one(const struct login *l, const struct fc_protected *entry)
{
	const char *lock[] = { l->program, "lock", entry->directory, NULL };

	if (!strcmp(l->what, "unlock"))
		return unlock(l, entry->directory, entry->container);
	return !strcmp(l->what, "change") ? change(l, entry->container) : run(lock);
}

static int all(const struct login *l)
{
	struct fc_registry registry;
	int status = 0, rc = fc_registry_read(&registry);

	if (rc) {
		fprintf(stderr, "fusecrypt-login: the protected directories cannot be listed: %s\n", fc_error_text(rc));
		status = 1;
	}
	for (size_t i = 0; !rc && i < registry.count; i++) {
		/* what was unlocked last is locked first: a home holds the others */
		size_t k = strcmp(l->what, "lock") ? i : registry.count - 1 - i;
		int s = is_ours(l, &registry.list[k]) ? one(l, &registry.list[k]) : 0;

		status = status ? status : s;
	}
	fc_registry_free(&registry);
	return status;
}

static bool parse(int argc, char **argv, struct login *l)
{
	char *end;

	if (argc != 2 && argc != 4)
		return false;
	l->what = argv[1];
	if (argc == 4) {
		l->machine = true;
		l->owner = (uid_t)strtoul(argv[3], &end, 10);
		if (strcmp(argv[2], "--owner") || !*argv[3] || *end)
			return false;
	}
	return !strcmp(l->what, "unlock") || !strcmp(l->what, "lock") || !strcmp(l->what, "change");
}

int main(int argc, char **argv)
{
	struct login l = { 0 };
	int status = 1;

	if (!parse(argc, argv, &l)) {
		fputs("fusecrypt-login is run by pam_fusecrypt: see pam_fusecrypt(8)\n", stderr);
		return 2;
	}
	if (!fc_program_find(l.program, "fusecrypt", "src", FC_BINDIR)) {
		fputs("fusecrypt-login: fusecrypt is neither beside this program nor at " FC_BINDIR "\n", stderr);
		return 1;
	}
	if (fc_secret_init() || fc_secret_harden())
		return 1;
	l.old = fc_secret_alloc(sizeof(*l.old));
	l.fresh = fc_secret_alloc(sizeof(*l.fresh));
	if (l.old && l.fresh && read_words(OLD_FD, l.old) && read_words(NEW_FD, l.fresh) &&
	    (strcmp(l.what, "change") || (l.old->given && l.fresh->given)))
		status = all(&l);
	fc_secret_free(l.old);
	fc_secret_free(l.fresh);
	return status;
}
