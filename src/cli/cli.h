/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: what its files share. One thread, one command a process. */
#ifndef FC_CLI_CLI_H
#define FC_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/client.h"

enum fc_exit {
	FC_EXIT_DONE = 0,
	FC_EXIT_FAILED = 1,
	FC_EXIT_USAGE = 2,
	FC_EXIT_NO_KEY = 3,
	FC_EXIT_DAMAGED = 4,
	FC_EXIT_NOT_CONTAINER = 5,
	FC_EXIT_NEWER = 6,
	FC_EXIT_IN_USE = 7,
	FC_EXIT_MOUNTPOINT = 8,
	FC_EXIT_NO_SPACE = 9,
	FC_EXIT_OLDER = 10,
	FC_EXIT_REPAIRED = 11,
	FC_EXIT_INTERRUPTED = 130,
};

/* The exit status of 0 or an FC_E*. */
int fc_cli_exit(int error);

/* One sentence on standard error, after `fusecrypt: `. */
__attribute__((format(printf, 1, 2))) void fc_cli_say(const char *format, ...);
/* The same, then where to read on; returns FC_EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int fc_cli_usage(const char *command, const char *format, ...);

/* Says what is wrong with the header of that container: an error of
 * fc_headers_load. Returns the exit status. */
int fc_cli_bad_header(const char *container, int error);

/* What getopt_long did not know (opterr is 0); argv[0] names the command. */
int fc_cli_bad_option(char **argv);

/* After the options: are there `count` operands, none of them empty (as an unset
 * variable of a script is)? 0 or FC_EXIT_USAGE, having said what is needed. */
int fc_cli_operands(int argc, char **argv, int count, const char *what);

struct fc_command {
	const char *name;      /* of a subcommand of another one, both words */
	const char *arguments; /* after the name, for the usage line */
	const char *summary;   /* one line */
	const char *help;      /* the options, several lines; "" if none */
	/* argv[0] is the command's name. Returns an exit status. NULL: it has subs. */
	int (*run)(int argc, char **argv);
	const struct fc_command *const *subs; /* ends with NULL; NULL: none */
};

extern const struct fc_command fc_command_init, fc_command_mount, fc_command_umount, fc_command_status, fc_command_sync,
	fc_command_check, fc_command_key, fc_command_header, fc_command_unlock, fc_command_lock, fc_command_list,
	fc_command_resize, fc_command_protect, fc_command_unprotect, fc_command_rekey, fc_command_compact;
/* The i-th command, NULL past the end (main.c). */
const struct fc_command *fc_cli_command(size_t i);
void fc_cli_print_help(const struct fc_command *command);

/* ---- values (parse.c) ------------------------------------------------------
 * 0 or FC_EINVAL; the whole text must be the value. */
int fc_parse_number(const char *text, uint64_t max, uint64_t *out);
/* A number with K, M, G or T: powers of 1024. */
int fc_parse_size(const char *text, uint64_t *bytes);
/* Seconds, or a number with s, m, h or d; up to a year. */
int fc_parse_time(const char *text, unsigned *seconds);

/* RFC 3339 in UTC; text: FC_TIME_TEXT bytes. */
#define FC_TIME_TEXT 32
void fc_format_time(uint64_t seconds, char *text);
#define FC_UUID_TEXT 37
void fc_format_uuid(const uint8_t uuid[16], char *text);

/* ---- secrets (secrets.c) -------------------------------------------------- */
enum {
	FC_OPT_PASSPHRASE_FILE = 256,
	FC_OPT_PASSPHRASE_FD,
	FC_OPT_KEY_FILE,
	FC_OPT_RECOVERY_FILE,
	FC_OPT_NEW_PASSPHRASE_FILE,
	FC_OPT_NEW_PASSPHRASE_FD,
	FC_OPT_NEW_KEY_FILE,
	FC_OPT_NEW_RECOVERY_FILE,
	FC_OPT_OWN,
};
/* rows of a struct option table */
#define FC_SECRET_OPTIONS \
	{ "passphrase-file", required_argument, NULL, FC_OPT_PASSPHRASE_FILE }, \
		{ "passphrase-fd", required_argument, NULL, FC_OPT_PASSPHRASE_FD }, \
		{ "key-file", required_argument, NULL, FC_OPT_KEY_FILE }, \
	{ \
		"recovery-code-file", required_argument, NULL, FC_OPT_RECOVERY_FILE \
	}

#define FC_NEW_SECRET_OPTIONS \
	{ "new-passphrase-file", required_argument, NULL, FC_OPT_NEW_PASSPHRASE_FILE }, \
		{ "new-passphrase-fd", required_argument, NULL, FC_OPT_NEW_PASSPHRASE_FD }, \
		{ "new-key-file", required_argument, NULL, FC_OPT_NEW_KEY_FILE }, \
	{ \
		"new-recovery-code-file", required_argument, NULL, FC_OPT_NEW_RECOVERY_FILE \
	}

/* Takes option c. 0; FC_ENOENT: not one of these; FC_EINVAL: a value that
 * cannot be, having said so. */
int fc_secret_option(struct fc_secret_from *from, int c, const char *value);
/* Of a command that has no other options: takes all of them. Returns an exit status. */
int fc_secret_options(int argc, char **argv, struct fc_secret_from *from);
/* fc_secret_option of the new ones. */
int fc_new_secret_option(struct fc_secret_from *fresh, int c, const char *value);

/* Unlocks by the helper; *reply as of fc_unlock_run. Returns an exit status,
 * having said why. */
int fc_cli_unlock(const struct fc_unlock_request *request, struct fc_unlock_reply **reply);

#endif
