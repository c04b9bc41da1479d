/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/targets.h"
#include "cli/text.h"

enum { OPT_JSON = FC_OPT_OWN };

struct listing {
	struct fc_mounts mounts;
	json_t *list; /* NULL: as text */
};

static int add_json(struct listing *l, const struct fc_protected *e, enum fc_target_state state,
		    const struct fc_mount *m)
{
	char uuid[FC_UUID_TEXT];
	json_t *o = json_object();

	fc_format_uuid(e->uuid, uuid);
	json_object_set_new(o, "directory", fc_text_json(e->directory));
	json_object_set_new(o, "state", json_string(fc_target_word(state)));
	json_object_set_new(o, "container", fc_text_json(e->container));
	json_object_set_new(o, "uuid", json_string(uuid));
	json_object_set_new(o, "options", fc_text_json(e->options));
	json_object_set_new(o, "mountpoint", fc_text_json(m ? m->point : NULL));
	json_object_set_new(o, "of_machine", json_boolean(e->of_machine));
	json_object_set_new(o, "file", fc_text_json(e->file));
	return json_array_append_new(l->list, o) ? FC_EXIT_FAILED : FC_EXIT_DONE;
}

static int print_text(const struct fc_protected *e, enum fc_target_state state)
{
	char *directory = fc_text_plain(e->directory), *container = fc_text_plain(e->container);
	int status = FC_EXIT_FAILED;

	if (directory && container) {
		printf("%-15s %s  (%s%s%s)\n", fc_target_word(state), directory, container, *e->options ? ", " : "",
		       e->options);
		status = FC_EXIT_DONE;
	}
	free(directory);
	free(container);
	return status;
}

static int list_one(const struct fc_protected *entry, void *arg)
{
	struct listing *l = arg;
	const struct fc_mount *m;
	enum fc_target_state state = fc_target_state(entry, &l->mounts, &m);

	return l->list ? add_json(l, entry, state, m) : print_text(entry, state);
}

static int print_json(json_t *list)
{
	json_t *o = json_object();
	int rc = json_object_set(o, "directories", list) || json_dumpf(o, stdout, JSON_INDENT(2));

	json_decref(o);
	putchar('\n');
	if (rc)
		fc_cli_say("the list cannot be printed");
	return rc ? FC_EXIT_FAILED : FC_EXIT_DONE;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = { { "json", no_argument, NULL, OPT_JSON }, { NULL, 0, NULL, 0 } };
	struct listing l = { .list = NULL };
	bool json = false;
	int c, status;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != OPT_JSON)
			return fc_cli_bad_option(argv);
		json = true;
	}
	if (optind < argc)
		return fc_cli_usage("list", "list takes no argument");
	fc_mounts_read("/proc/self/mountinfo", &l.mounts); /* without /proc nothing looks mounted */
	if (json)
		l.list = json_array();
	status = fc_targets_each(FC_TARGETS_ALL, NULL, 0, list_one, &l);
	if (!status && json)
		status = print_json(l.list);
	json_decref(l.list);
	fc_mounts_free(&l.mounts);
	return status;
}

const struct fc_command fc_command_list = {
	.name = "list",
	.arguments = "[--json]",
	.summary = "lists the protected directories and their state",
	.help = "  --json                       one JSON object\n",
	.run = run,
};
