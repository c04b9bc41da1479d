/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unlock_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "key/keyfile.h"
#include "key/recovery.h"
#include "unlock_ask.h"
#include "unlock_program.h"

#define TRIES 3

void unlock_say(const char *format, ...)
{
	va_list ap;

	fputs("fusecrypt: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static int say_terminal(int rc)
{
	if (rc == FC_ENXIO)
		unlock_say("no passphrase was given and there is no terminal to ask on: use --passphrase-file, "
			   "--passphrase-fd or --key-file, or name a program that asks in FUSECRYPT_ASKPASS");
	else if (rc == FC_EFBIG)
		unlock_say("the passphrase is longer than %u bytes", FC_PASSPHRASE_MAX);
	else if (rc && rc != FC_EINTERRUPTED)
		unlock_say("the terminal cannot be read");
	return rc;
}

void unlock_remark(const char *line)
{
	if (unlock_tell(line) && unlock_program_there())
		unlock_say("%s", line);
}

/* On the terminal, else by a program. */
static int ask(const char *prompt, uint8_t *buf, size_t room, size_t *n)
{
	int rc = unlock_ask(prompt, buf, room, n);

	if (rc != FC_ENXIO || !unlock_program_there())
		return say_terminal(rc);
	rc = unlock_program_ask(prompt, buf, room, n);
	return rc == FC_EFBIG ? say_terminal(rc) : rc;
}

/* Reads the first line of what a file or descriptor holds. */
static int read_given(int fd, const char *name, struct unlock_secret *s)
{
	int rc = unlock_read_line(fd, s->bytes, sizeof(s->bytes), &s->n);

	if (rc == FC_EFBIG)
		unlock_say("the first line of %s is longer than %u bytes", name, FC_PASSPHRASE_MAX);
	else if (rc == FC_EISDIR)
		unlock_say("%s is a directory, not a file with a secret", name);
	else if (rc)
		unlock_say("%s cannot be read", name);
	return rc;
}

static int read_file(const char *path, struct unlock_secret *s)
{
	int fd, rc;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		rc = fc_error_from_errno(errno);
		unlock_say("%s cannot be opened: %s", path, strerror(errno));
		return rc;
	}
	rc = read_given(fd, path, s);
	close(fd);
	return rc;
}

int unlock_passphrase_given(const struct fc_secret_from *from, struct unlock_secret *s)
{
	const char *path = from->passphrase_file;
	int rc;

	s->kind = FC_SLOT_KIND_PASSPHRASE;
	if (!path) {
		char name[64];

		snprintf(name, sizeof(name), "descriptor %d", from->passphrase_fd);
		rc = read_given(from->passphrase_fd, name, s);
	} else if (!strcmp(path, "-")) {
		/* typed in: not for all to see */
		rc = isatty(STDIN_FILENO) ? say_terminal(unlock_ask("Passphrase: ", s->bytes, sizeof(s->bytes), &s->n))
					  : read_given(STDIN_FILENO, "standard input", s);
	} else {
		rc = read_file(path, s);
	}
	if (!rc && !s->n) {
		unlock_say("the passphrase is empty: its first line has no bytes");
		rc = FC_EBADKEY;
	}
	return rc;
}

int unlock_key_file_given(const char *path, bool fresh, struct unlock_secret *s)
{
	int rc = fc_keyfile_hash(path, s->bytes, &s->file_bytes);

	s->kind = FC_SLOT_KIND_KEY_FILE;
	s->n = FC_KEYFILE_HASH_BYTES;
	if (rc == FC_ENOENT && fresh)
		unlock_say("key file %s: there is no such file; make one with: head -c 64 /dev/urandom > FILE", path);
	else if (rc)
		unlock_say("key file %s cannot be used: %s", path, fc_keyfile_error(rc));
	return rc;
}

int unlock_recovery_given(const char *path, struct unlock_secret *s)
{
	uint8_t *code = s->again;
	unsigned group;
	int rc;

	s->kind = FC_SLOT_KIND_RECOVERY;
	rc = strcmp(path, "-") ? read_file(path, s) : read_given(STDIN_FILENO, "standard input", s);
	if (rc)
		return rc;
	rc = fc_recovery_parse((const char *)s->bytes, s->n, code, &group);
	if (rc == FC_EFORGED)
		unlock_say("group %u of the recovery code in %s has a wrong character, or is in the wrong place", group,
			   path);
	else if (rc)
		unlock_say("%s holds no recovery code: that is %u groups of %u letters and digits", path,
			   FC_RECOVERY_GROUPS, FC_RECOVERY_GROUP);
	if (rc)
		return FC_EBADKEY;
	memcpy(s->bytes, code, FC_RECOVERY_BYTES);
	s->n = FC_RECOVERY_BYTES;
	return 0;
}

static int ask_twice(const char *prompt, struct unlock_secret *s)
{
	size_t again_n;
	int rc;

	for (int i = 0; i < TRIES; i++) {
		rc = ask(prompt, s->bytes, sizeof(s->bytes), &s->n);
		if (rc)
			return rc;
		if (!s->n) {
			unlock_remark("An empty passphrase protects nothing.");
			continue;
		}
		rc = ask("The same again: ", s->again, sizeof(s->again), &again_n);
		if (rc)
			return rc;
		if (again_n == s->n && !sodium_memcmp(s->again, s->bytes, s->n))
			return 0;
		unlock_remark("They differ.");
	}
	unlock_say("no passphrase was agreed on");
	return FC_EINVAL;
}

/* What is said on the terminal of a container whose name may move the cursor. */
__attribute__((format(printf, 3, 4))) static void terminal_text(char *text, size_t room, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, room, format, ap);
	va_end(ap);
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

int unlock_passphrase_asked(const char *container, bool fresh, struct unlock_secret *s)
{
	char prompt[PATH_MAX + 128];

	s->kind = FC_SLOT_KIND_PASSPHRASE;
	terminal_text(prompt, sizeof(prompt), "%s for %s: ", fresh ? "New passphrase" : "Passphrase", container);
	if (fresh)
		return ask_twice(prompt, s);
	return ask(prompt, s->bytes, sizeof(s->bytes), &s->n);
}

int unlock_pin_asked(const char *container, const char *none, struct unlock_secret *s)
{
	char prompt[PATH_MAX + 128];
	int rc;

	terminal_text(prompt, sizeof(prompt), "TPM PIN for %s (%s): ", container, none);
	rc = unlock_ask(prompt, s->bytes, sizeof(s->bytes), &s->n);
	return rc == FC_ENXIO ? unlock_program_ask(prompt, s->bytes, sizeof(s->bytes), &s->n) : rc;
}

static int write_code(int fd, const char *text)
{
	ssize_t n = write(fd, text, FC_RECOVERY_CHARS + 1);

	if (n < 0)
		return errno;
	return n == (ssize_t)FC_RECOVERY_CHARS + 1 ? 0 : ENOSPC;
}

/* The file's name must last as well as what it opens. */
static int sync_file(int fd, const char *path)
{
	char dir[PATH_MAX];
	int parent, err = fsync(fd) ? errno : 0;

	if (err || snprintf(dir, sizeof(dir), "%s", path) >= (int)sizeof(dir))
		return err;
	parent = open(dirname(dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return 0; /* a directory that may be written but not read */
	if (fsync(parent) && errno != EINVAL)
		err = errno;
	close(parent);
	return err;
}

static int save_code(const char *path, const char *text)
{
	bool file = strcmp(path, "-");
	int fd = file ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600) : STDOUT_FILENO;
	int err;

	if (fd < 0) {
		err = errno;
		unlock_say("the recovery code cannot be written to %s: %s", path,
			   err == EEXIST ? "it exists, and is never overwritten" : strerror(err));
		return fc_error_from_errno(err);
	}
	err = write_code(fd, text);
	if (file) {
		if (!err)
			err = sync_file(fd, path);
		close(fd);
	}
	if (err) {
		unlock_say("the recovery code cannot be written to %s: %s", path, strerror(err));
		unlock_recovery_void(path);
	}
	return err ? fc_error_from_errno(err) : 0;
}

void unlock_recovery_void(const char *path)
{
	if (path && strcmp(path, "-"))
		unlink(path);
}

static int show_code(const char *container, char *code)
{
	char text[PATH_MAX + 128];
	int rc;

	terminal_text(text, sizeof(text),
		      "The recovery code of %s, shown this once: write it down and keep it in a safe place.",
		      container);
	rc = unlock_tell(text);
	if (rc) {
		unlock_say("there is no terminal to show the recovery code on: use --new-recovery-code-file");
		return rc;
	}
	code[FC_RECOVERY_CHARS] = '\0';
	snprintf(text, sizeof(text), "\n    %s\n", code);
	rc = unlock_tell(text);
	sodium_memzero(text, sizeof(text));
	return rc;
}

int unlock_recovery_drawn(const char *path, const char *container, struct unlock_secret *s)
{
	char *text = (char *)s->again;

	s->kind = FC_SLOT_KIND_RECOVERY;
	s->n = FC_RECOVERY_BYTES;
	randombytes_buf(s->bytes, s->n);
	fc_recovery_format(s->bytes, text);
	text[FC_RECOVERY_CHARS] = '\n';
	return path ? save_code(path, text) : show_code(container, text);
}

int unlock_recovery_offered(const char *container, struct unlock_secret *s, bool *wanted)
{
	char prompt[PATH_MAX + 128], *answer = (char *)s->again;
	size_t n;

	terminal_text(prompt, sizeof(prompt),
		      "Make a recovery code too, which opens %s when the passphrase is forgotten? [y/n] ", container);
	*wanted = false;
	if (unlock_program_there())
		return 0; /* it asks for secrets */
	for (int i = 0; i < TRIES; i++) {
		int rc = say_terminal(unlock_ask_shown(prompt, s->again, sizeof(s->again) - 1, &n));

		if (rc)
			return rc;
		answer[n] = '\0';
		*wanted = !strcasecmp(answer, "y") || !strcasecmp(answer, "yes");
		if (*wanted || !strcasecmp(answer, "n") || !strcasecmp(answer, "no"))
			return 0;
	}
	unlock_tell("None is made; `fusecrypt key add --kind recovery` makes one later.");
	return 0;
}
