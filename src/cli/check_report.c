/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"

#define ACTION_MAX 256

/* In an action %N stands for the inode's number. */
static void expand(const struct fc_check_finding *f, char text[ACTION_MAX])
{
	const char *at = strstr(f->action, "%N");

	if (at)
		snprintf(text, ACTION_MAX, "%.*s%" PRIu64 "%s", (int)(at - f->action), f->action, f->ino, at + 2);
	else
		snprintf(text, ACTION_MAX, "%s", f->action);
}

/* ---- lines -------------------------------------------------------------------- */

static void print_path(const char *before, const char *path)
{
	char *plain = fc_text_plain(path);

	printf("%s%s", before, plain ? plain : "?");
	free(plain);
}

static void print_line(const struct fc_check_finding *f)
{
	char action[ACTION_MAX], *text = fc_text_plain(f->text);
	size_t i;

	if (f->note)
		printf("note: ");
	for (i = 0; i < f->paths; i++)
		print_path(i ? " = " : "", f->path[i]);
	if (!f->paths)
		printf("%s", fc_check_kind_name(f->kind));
	if (!f->paths && f->bytes)
		printf(", inode %" PRIu64, f->ino);
	if (f->bytes)
		printf(": %" PRIu64 " bytes from %" PRIu64 " on", f->bytes, f->offset);
	printf(": %s", text ? text : "?");
	if (f->repaired) {
		expand(f, action);
		printf("; %s", action);
	}
	putchar('\n');
	free(text);
}

static void print_end(const struct fc_check_report *report, const struct fc_check_result *r)
{
	printf("%s: %" PRIu64 " files, %" PRIu64 " directories, %" PRIu64 " symbolic links, %" PRIu64
	       " others, %" PRIu64 " MiB of content read\n",
	       report->container, r->files, r->directories, r->symlinks, r->others, r->data_blocks * FC_BLOCK >> 20);
	if (!r->damages)
		printf("%s: no damage\n", report->container);
	else
		printf("%s: damaged in %" PRIu64 " places, %" PRIu64 " repaired\n", report->container, r->damages,
		       r->repaired);
}

/* ---- JSON ------------------------------------------------------------------------- */

static json_t *number(uint64_t v)
{
	return json_integer((json_int_t)(v > INT64_MAX ? INT64_MAX : v));
}

static json_t *paths_of(const struct fc_check_finding *f)
{
	json_t *paths = json_array();
	size_t i;

	for (i = 0; i < f->paths; i++)
		json_array_append_new(paths, fc_text_json(f->path[i]));
	return paths;
}

static void add_object(struct fc_check_report *report, const struct fc_check_finding *f)
{
	char action[ACTION_MAX];
	json_t *o = json_object();

	if (f->action)
		expand(f, action);
	json_object_set_new(o, "kind", json_string(fc_check_kind_name(f->kind)));
	json_object_set_new(o, "damage", json_boolean(!f->note));
	json_object_set_new(o, "repaired", json_boolean(f->repaired));
	json_object_set_new(o, "inode", f->ino ? number(f->ino) : json_null());
	json_object_set_new(o, "paths", paths_of(f));
	json_object_set_new(o, "offset", f->bytes ? number(f->offset) : json_null());
	json_object_set_new(o, "bytes", f->bytes ? number(f->bytes) : json_null());
	json_object_set_new(o, "text", fc_text_json(f->text));
	json_object_set_new(o, "action", f->action ? fc_text_json(action) : json_null());
	if (!report->findings)
		report->findings = json_array();
	if (json_array_append_new(report->findings, o))
		report->failed = true;
}

static void add_counts(json_t *o, const struct fc_check_result *r)
{
	json_object_set_new(o, "files", number(r->files));
	json_object_set_new(o, "directories", number(r->directories));
	json_object_set_new(o, "symlinks", number(r->symlinks));
	json_object_set_new(o, "others", number(r->others));
	json_object_set_new(o, "orphans", number(r->orphans));
	json_object_set_new(o, "names", number(r->names));
	json_object_set_new(o, "attributes", number(r->attributes));
	json_object_set_new(o, "nodes", number(r->nodes));
	json_object_set_new(o, "bytes_read", number(r->data_blocks * FC_BLOCK));
	json_object_set_new(o, "bytes_lost", number(r->lost_bytes));
	json_object_set_new(o, "log_records", number(r->log_records));
	json_object_set_new(o, "damages", number(r->damages));
	json_object_set_new(o, "repaired", number(r->repaired));
	json_object_set_new(o, "notes", number(r->notes));
}

static int print_object(struct fc_check_report *report, const struct fc_check_result *r, int error, int status)
{
	char uuid[FC_UUID_TEXT], when[FC_TIME_TEXT];
	const char *state = error                       ? "unknown"
			    : !r->damages               ? "clean"
			    : r->repaired == r->damages ? "repaired"
							: "damaged";
	json_t *o = json_object();
	int rc;

	fc_format_uuid(r->uuid, uuid);
	fc_format_time(r->time, when);
	json_object_set_new(o, "container", fc_text_json(report->container));
	json_object_set_new(o, "uuid", json_string(uuid));
	json_object_set_new(o, "generation", r->generation ? number(r->generation) : json_null());
	json_object_set_new(o, "time", r->generation ? json_string(when) : json_null());
	json_object_set_new(o, "state", json_string(state));
	json_object_set_new(o, "older", json_boolean(r->older));
	json_object_set_new(o, "newest_lost", json_boolean(r->newest_lost));
	json_object_set_new(o, "error", error ? json_string(fc_error_text(error)) : json_null());
	add_counts(o, r);
	json_object_set_new(o, "findings", report->findings ? report->findings : json_array());
	rc = o && !report->failed ? json_dumpf(o, stdout, JSON_INDENT(2)) : -1;
	json_decref(o);
	putchar('\n');
	if (!rc)
		return status;
	fc_cli_say("the findings cannot be printed");
	return status ? status : FC_EXIT_FAILED;
}

/* ---- both ---------------------------------------------------------------------------- */

void fc_check_report(struct fc_check_report *report, const struct fc_check_finding *finding)
{
	if (report->json)
		add_object(report, finding);
	else
		print_line(finding);
}

int fc_check_report_end(struct fc_check_report *report, const struct fc_check_result *result, int error, int status)
{
	if (report->json)
		return print_object(report, result, error, status);
	if (!error)
		print_end(report, result);
	return status;
}
