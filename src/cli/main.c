/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fusecrypt: dispatches to a subcommand. */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/complete.h"
#include "cli/mount_helper.h"

static int run_help(int argc, char **argv);

static const struct fc_command command_help = {
	.name = "help",
	.arguments = "[SUBCOMMAND...]",
	.summary = "tells how a subcommand is used",
	.help = "",
	.run = run_help,
};

static const struct fc_command *const commands[] = {
	&fc_command_init,   &fc_command_mount,   &fc_command_umount,    &fc_command_status, &fc_command_sync,
	&fc_command_check,  &fc_command_unlock,  &fc_command_lock,      &fc_command_list,   &fc_command_compact,
	&fc_command_resize, &fc_command_protect, &fc_command_unprotect, &fc_command_key,    &fc_command_header,
	&fc_command_rekey,  &command_help,
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

const struct fc_command *fc_cli_command(size_t i)
{
	return i < COMMANDS ? commands[i] : NULL;
}

/* The command that these words begin with, and how many of them name it; NULL: none. */
static const struct fc_command *find_command(int argc, char **argv, int *words)
{
	const struct fc_command *found = NULL;

	for (size_t i = 0; i < COMMANDS && argc > 0 && !found; i++)
		if (!strcmp(argv[0], commands[i]->name))
			found = commands[i];
	*words = 1;
	for (size_t i = 0; found && found->subs && found->subs[i] && argc > 1; i++) {
		if (strcmp(argv[1], found->subs[i]->name + strlen(found->name) + 1))
			continue;
		*words = 2;
		return found->subs[i];
	}
	return found;
}

static void print_line(const struct fc_command *command)
{
	printf("  fusecrypt %-14s %-40s %s\n", command->name, command->arguments, command->summary);
}

void fc_cli_print_help(const struct fc_command *command)
{
	printf("fusecrypt %s %s\n\n  %s\n", command->name, command->arguments, command->summary);
	if (*command->help)
		printf("\n%s", command->help);
	if (command->subs)
		putchar('\n');
	for (size_t i = 0; command->subs && command->subs[i]; i++)
		print_line(command->subs[i]);
}

static void print_all(void)
{
	puts("fusecrypt keeps a directory in one encrypted container file.\n");
	for (size_t i = 0; i < COMMANDS; i++) {
		if (!commands[i]->subs)
			print_line(commands[i]);
		for (size_t k = 0; commands[i]->subs && commands[i]->subs[k]; k++)
			print_line(commands[i]->subs[k]);
	}
	puts("\n`fusecrypt SUBCOMMAND --help` lists its options, fusecrypt(1) tells all.");
}

static int run_help(int argc, char **argv)
{
	const struct fc_command *command;
	int words;

	if (argc < 2) {
		print_all();
		return FC_EXIT_DONE;
	}
	command = find_command(argc - 1, argv + 1, &words);
	if (!command || argc > words + 1)
		return fc_cli_usage(NULL, "there is no subcommand %s", argv[argc - 1]);
	fc_cli_print_help(command);
	return FC_EXIT_DONE;
}

/* A caller may have closed 0 to 2: what is opened next must not become them. */
static int open_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return -1;
	close(fd);
	for (int i = 0; i <= STDERR_FILENO; i++)
		fcntl(i, F_SETFD, 0);
	return 0;
}

static bool wants_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help"))
			return true;
	return false;
}

/* What was printed must have arrived: a full disk is no success. */
static int finish(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		fc_cli_say("standard output cannot be written");
		return status ? status : FC_EXIT_FAILED;
	}
	return status;
}

/* As mount.fuse3 calls it: fusecrypt CONTAINER MOUNTPOINT -o OPT,... */
static int run_from_fstab(int argc, char **argv)
{
	char name[] = "mount";

	argv[0] = name;
	return fc_command_mount.run(argc, argv);
}

/* argv is the whole command line. */
static int run_command(const struct fc_command *command, int words, int argc, char **argv)
{
	char name[32];

	argc -= words;
	argv += words;
	if (wants_help(argc, argv)) {
		fc_cli_print_help(command);
		return FC_EXIT_DONE;
	}
	if (!command->run && argc > 1)
		return fc_cli_usage(command->name, "there is no subcommand %s %s", command->name, argv[1]);
	if (!command->run)
		return fc_cli_usage(command->name, "%s needs a subcommand", command->name);
	snprintf(name, sizeof(name), "%s", command->name);
	argv[0] = name;
	return command->run(argc, argv);
}

int main(int argc, char **argv)
{
	int (*helper)(int argc, char **argv) = argc ? fc_mount_helper(argv[0]) : NULL;
	const struct fc_command *command;
	int words;

	if (open_standard_fds())
		return FC_EXIT_FAILED;
	/* a container that may not grow (`ulimit -f`) is full, and nobody is killed for it */
	signal(SIGXFSZ, SIG_IGN);
	if (helper) {
		opterr = 0;
		return helper(argc, argv);
	}
	if (argc < 2)
		return fc_cli_usage(NULL, "a subcommand is missing");
	if (!strcmp(argv[1], "--help")) {
		print_all();
		return finish(FC_EXIT_DONE);
	}
	if (!strcmp(argv[1], "--version")) {
		puts("fusecrypt " FC_VERSION);
		return finish(FC_EXIT_DONE);
	}
	if (!strcmp(argv[1], "--complete")) {
		fc_complete(argc - 2, argv + 2);
		return finish(FC_EXIT_DONE);
	}
	opterr = 0; /* getopt would speak for a program named after the subcommand */
	command = find_command(argc - 1, argv + 1, &words);
	if (!command && argv[1][0] == '/')
		return finish(run_from_fstab(argc, argv));
	if (!command)
		return fc_cli_usage(NULL, "there is no subcommand %s", argv[1]);
	return finish(run_command(command, words, argc, argv));
}
