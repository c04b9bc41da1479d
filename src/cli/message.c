/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>

#include "cli/cli.h"

int fc_cli_exit(int error)
{
	switch (error) {
	case 0:
		return FC_EXIT_DONE;
	case FC_EBADKEY:
		return FC_EXIT_NO_KEY;
	case FC_EFORGED:
	case FC_ECORRUPT:
		return FC_EXIT_DAMAGED;
	case FC_ENOTCONTAINER:
		return FC_EXIT_NOT_CONTAINER;
	case FC_ENEWER:
		return FC_EXIT_NEWER;
	case FC_EINUSE:
		return FC_EXIT_IN_USE;
	case FC_ENOSPC:
		return FC_EXIT_NO_SPACE;
	case FC_EOLDER:
		return FC_EXIT_OLDER;
	case FC_EINTERRUPTED:
		return FC_EXIT_INTERRUPTED;
	default:
		return FC_EXIT_FAILED;
	}
}

static void say(const char *format, va_list ap)
{
	char line[8192];
	int n = vsnprintf(line, sizeof(line), format, ap);

	/* in one piece: a mount's daemon writes to the same place */
	if (n >= 0)
		fprintf(stderr, "fusecrypt: %s\n", line);
}

void fc_cli_say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say(format, ap);
	va_end(ap);
}

int fc_cli_usage(const char *command, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say(format, ap);
	va_end(ap);
	fprintf(stderr, "fusecrypt: see `fusecrypt %s%s--help`\n", command ? command : "", command ? " " : "");
	return FC_EXIT_USAGE;
}

int fc_cli_bad_header(const char *container, int error)
{
	switch (error) {
	case FC_ENOTCONTAINER:
		fc_cli_say("%s is not a fusecrypt container", container);
		break;
	case FC_ENEWER:
		fc_cli_say("%s is of a newer format, or uses a feature that fusecrypt " FC_VERSION
			   " does not know: use a newer fusecrypt",
			   container);
		break;
	case FC_ECORRUPT:
		fc_cli_say("both copies of the header of %s are damaged: put back a backup, of the header with "
			   "`fusecrypt header restore` or of the whole container",
			   container);
		break;
	default:
		fc_cli_say("the header of %s cannot be read: %s", container, fc_error_text(error));
	}
	return fc_cli_exit(error);
}

int fc_cli_bad_option(char **argv)
{
	return fc_cli_usage(argv[0], "%s: there is no such option of %s, or its value is missing", argv[optind - 1],
			    argv[0]);
}

int fc_cli_operands(int argc, char **argv, int count, const char *what)
{
	if (argc - optind != count)
		return fc_cli_usage(argv[0], "%s needs %s", argv[0], what);
	for (int i = optind; i < argc; i++)
		if (!*argv[i])
			return fc_cli_usage(argv[0], "%s needs %s: an empty name was given", argv[0], what);
	return 0;
}
