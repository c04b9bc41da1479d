/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mount_helper.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/mount.h"
#include "cli/mounts.h"
#include "cli/remount.h"
#include "cli/umount.h"
#include "cli/utab.h"

/* mount(8) */
enum { EX_DONE = 0, EX_USAGE_WRONG = 1, EX_SYSTEM = 2, EX_BY_USER = 8, EX_MOUNT = 32 };

static int mount_status(int status)
{
	switch (status) {
	case FC_EXIT_DONE:
		return EX_DONE;
	case FC_EXIT_USAGE:
		return EX_USAGE_WRONG;
	case FC_EXIT_INTERRUPTED:
		return EX_BY_USER;
	default:
		return EX_MOUNT;
	}
}

/* Is it of that type, with or without `fuse.` before it? */
static bool is_our_type(const char *type)
{
	return !strcmp(type, "fusecrypt") || !strcmp(type, FC_FSTYPE);
}

static int wrong_type(const char *type)
{
	fc_cli_say("file system type %s is not fusecrypt", type);
	return EX_USAGE_WRONG;
}

/* ---- mounting ------------------------------------------------------------------ */

struct mount_call {
	const char *container, *point;
	char *options; /* joined with commas, room for all arguments */
	bool fake, sloppy, nofail;
	bool suid, dev; /* whether set-id bits and devices hold was said */
	bool remount;
	unsigned long flags; /* for that, and for a place more */
};

/* A comma that is not part of a value ends an option. */
static size_t option_length(const char *text)
{
	size_t n = 0;

	while (text[n] && text[n] != ',')
		n += text[n] == '\\' && text[n + 1] ? 2 : 1;
	return n;
}

/* Does `fusecrypt mount` know it? */
static bool known(const char *option)
{
	struct fc_mount_options scratch = { 0 };
	char why[512];
	bool is = !fc_mount_options_parse(&scratch, option, why, sizeof(why));

	fc_mount_options_free(&scratch);
	return is;
}

/* With -s, what is not known is left out. */
static void take_options(struct mount_call *call, const char *text)
{
	while (*text) {
		size_t n = option_length(text), have = strlen(call->options);
		char *to = call->options + have;

		if (n) {
			char *option = stpcpy(to, have ? "," : "");

			snprintf(option, n + 1, "%.*s", (int)n, text);
			call->nofail |= !strcmp(option, "nofail");
			call->remount |= !strcmp(option, "remount");
			call->flags = fc_remount_flag(call->flags, option);
			call->suid |= !strcmp(option, "suid") || !strcmp(option, "nosuid");
			call->dev |= !strcmp(option, "dev") || !strcmp(option, "nodev");
			if (call->sloppy && !known(option))
				*to = '\0';
		}
		text += n;
		text += *text == ',';
	}
}

/* mount(8) passes on nosuid and nodev, but swallows suid and dev, which are its defaults. They are
 * also ours then, where root mounts: a line in /etc/fstab means what it does for every file system. */
static void add_defaults(struct mount_call *call)
{
	char suid[] = "suid", dev[] = "dev";

	if (getuid())
		return;
	if (!call->suid)
		take_options(call, suid);
	if (!call->dev)
		take_options(call, dev);
}

static int run_mount_command(const struct mount_call *call)
{
	char name[] = "mount", with[] = "-o", end[] = "--";
	char *container = strdup(call->container), *point = strdup(call->point);
	char *argv[] = { name, with, call->options, end, container, point, NULL };
	int status = FC_EXIT_FAILED;

	if (container && point) {
		optind = 0;
		if (!fc_mount_again(container, point, call->options, call->flags, &status))
			status = fc_mount_main(6, argv, true);
		if (!status)
			fc_utab_add(container, point);
	} else {
		fc_cli_say("out of memory");
	}
	free(container);
	free(point);
	return mount_status(status);
}

/* mount.TYPE SPEC DIR [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE] */
static int parse_mount(int argc, char **argv, struct mount_call *call)
{
	static const struct option none[] = { { NULL, 0, NULL, 0 } };
	int c, status = EX_DONE;

	/* whether -s is given is to be known before the first option is looked at */
	for (int i = 1; i < argc; i++)
		call->sloppy |= argv[i][0] == '-' && !strcmp(argv[i], "-s");
	while (!status && (c = getopt_long(argc, argv, "sfnvN:o:t:", none, NULL)) != -1) {
		switch (c) {
		case 's':
			call->sloppy = true;
			break;
		case 'n':
		case 'v':
			break;
		case 'f':
			call->fake = true;
			break;
		case 'o':
			take_options(call, optarg);
			break;
		case 't':
			status = is_our_type(optarg) ? EX_DONE : wrong_type(optarg);
			break;
		default:
			fc_cli_say("%s: this is no option of a mount helper, see mount.fusecrypt(8)", argv[optind - 1]);
			status = EX_USAGE_WRONG;
		}
	}
	if (!status && argc - optind != 2) {
		fc_cli_say("mount.fusecrypt needs a container and a mount point");
		status = EX_USAGE_WRONG;
	}
	if (status)
		return status;
	call->container = argv[optind];
	call->point = argv[optind + 1];
	return EX_DONE;
}

static int run_mount(int argc, char **argv)
{
	struct mount_call call = { 0 };
	size_t room = sizeof(",suid,dev");
	int status;

	for (int i = 1; i < argc; i++)
		room += strlen(argv[i]) + 1;
	call.options = calloc(1, room);
	if (!call.options) {
		fc_cli_say("out of memory");
		return EX_SYSTEM;
	}
	status = parse_mount(argc, argv, &call);
	add_defaults(&call);
	/* as mount(8) does it for devices: one that is not there is no error */
	if (!status && !call.fake && call.remount)
		status = mount_status(fc_remount(call.point, call.flags));
	else if (!status && !call.fake && !(call.nofail && access(call.container, F_OK) && errno == ENOENT))
		status = run_mount_command(&call);
	free(call.options);
	return status;
}

/* ---- unmounting ---------------------------------------------------------------- */

/* As asked for: lazily, or by cutting the connection. What is lost by that is the caller's wish. */
static int unmount_hard(const char *point, int flags)
{
	char text[256];
	int err;

	if (!umount2(point, flags | UMOUNT_NOFOLLOW)) {
		fc_utab_remove(point);
		return EX_DONE;
	}
	err = errno;
	*text = '\0';
	if (err == EPERM)
		err = fc_fusermount(point, flags & MNT_DETACH, text, sizeof(text));
	if (!err)
		return EX_DONE;
	fc_cli_say("%s cannot be unmounted: %s", point, *text ? text : strerror(err));
	return EX_MOUNT;
}

/* umount.TYPE DIR [-nlfvr] [-N NAMESPACE] [-t TYPE] */
static int run_umount(int argc, char **argv)
{
	static const struct option none[] = { { NULL, 0, NULL, 0 } };
	int c, flags = 0;

	while ((c = getopt_long(argc, argv, "nlfvrN:t:", none, NULL)) != -1) {
		switch (c) {
		case 'n':
		case 'v':
		case 'r':
			break;
		case 'l':
			flags |= MNT_DETACH;
			break;
		case 'f':
			flags |= MNT_FORCE;
			break;
		case 't':
			if (!is_our_type(optarg))
				return wrong_type(optarg);
			break;
		default:
			fc_cli_say("%s: this is no option of an unmount helper, see mount.fusecrypt(8)",
				   argv[optind - 1]);
			return EX_USAGE_WRONG;
		}
	}
	if (argc - optind != 1) {
		fc_cli_say("umount.fusecrypt needs one mount point");
		return EX_USAGE_WRONG;
	}
	if (flags)
		return unmount_hard(argv[optind], flags);
	return mount_status(fc_umount(argv[optind], true));
}

int (*fc_mount_helper(const char *argv0))(int argc, char **argv)
{
	const char *slash = strrchr(argv0, '/'), *name = slash ? slash + 1 : argv0;

	if (!strncmp(name, "mount.", 6) && is_our_type(name + 6))
		return run_mount;
	if (!strncmp(name, "umount.", 7) && is_our_type(name + 7))
		return run_umount;
	return NULL;
}
