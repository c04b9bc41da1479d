/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cipher/aead.h"
#include "cli/cli.h"
#include "cli/lock.h"
#include "cli/mounts.h"
#include "cli/text.h"
#include "fusecrypt/container.h"
#include "secret/secret.h"
#include "store/header.h"

enum { OPT_JSON = FC_OPT_OWN };

struct report {
	char *container;
	const struct fc_mount *m; /* NULL: not mounted, as far as this namespace shows */
	bool mounted;
	pid_t pid; /* 0: unknown */
	bool live; /* the next three lines are known */
	bool read_only, failed, stopped;
	uint64_t generation, limit, used, inodes;
	bool rekeying, rekey_live; /* by the header; the daemon is at it */
	int rekey_error;
	uint64_t rekey_bytes, rekey_total;
	bool has_header; /* the next line is known */
	uint32_t format, cipher;
	uint8_t uuid[FC_UUID_BYTES];
	uint64_t created; /* 0: unknown */
	uint64_t allocated;
};

/* ---- finding out -------------------------------------------------------------- */

static void from_mount(struct report *r)
{
	struct fc_ioc_status s;

	if (fc_mount_ask(r->m, FC_IOC_STATUS, &s))
		return;
	r->live = r->has_header = true;
	r->pid = (pid_t)s.pid;
	r->read_only = s.read_only;
	r->failed = s.failed;
	r->stopped = s.failed == FC_IOC_STOPPED;
	r->generation = s.generation;
	r->limit = s.bytes_limit;
	r->used = s.bytes_used;
	r->allocated = s.bytes_allocated;
	r->inodes = s.inodes;
	r->rekeying = r->rekey_live = s.rekeying;
	r->rekey_error = s.rekey_error;
	r->rekey_bytes = s.rekey_bytes;
	r->rekey_total = s.rekey_total;
	r->format = s.format;
	r->cipher = s.cipher;
	memcpy(r->uuid, s.uuid, sizeof(r->uuid));
}

/* The public part. 0 or FC_E*. io stays open for more. */
static int from_header(struct report *r, struct fc_io *io, struct fc_headers *h)
{
	const struct fc_header *best;
	int rc = fc_headers_load(io, h);

	if (rc)
		return rc;
	best = &h->copy[h->newest];
	r->has_header = true;
	r->format = best->version;
	r->cipher = best->cipher;
	r->created = best->created;
	r->rekeying |= best->rekeying;
	memcpy(r->uuid, best->uuid, sizeof(r->uuid));
	return 0;
}

static int from_content(struct report *r, struct fc_io *io, const uint8_t *master)
{
	const struct fc_fs_options options = { .read_only = true, .accept_older = true };
	struct fc_fs_stat st;
	struct fc_fs *fs;
	int rc = fc_fs_open(io, master, &options, &fs);

	if (rc) {
		fc_cli_say("%s cannot be opened: %s", r->container, fc_error_text(rc));
		return fc_cli_exit(rc);
	}
	rc = fc_fs_statfs(fs, &st);
	if (!rc) {
		r->live = true;
		r->generation = st.generation;
		r->limit = st.bytes_limit;
		r->used = st.bytes_used;
		r->inodes = st.inodes;
	}
	fc_fs_close(fs);
	return fc_cli_exit(rc);
}

/* With a secret, an unmounted container tells more. io becomes the fs's. */
static int unlock(struct report *r, int fd, struct fc_io *io, const struct fc_secret_from *from)
{
	struct fc_unlock_request request = { .container = r->container, .container_fd = fd, .from = *from };
	struct fc_unlock_reply *reply;
	int status;

	if (fc_secret_init() || fc_secret_harden() || fc_lock_take(fd, true)) {
		fc_cli_say("%s cannot be opened: it is in use", r->container);
		fc_io_close(io);
		return FC_EXIT_IN_USE;
	}
	status = fc_cli_unlock(&request, &reply);
	if (status) {
		fc_io_close(io);
		return status;
	}
	status = from_content(r, io, reply->master);
	fc_secret_free(reply);
	return status;
}

static int say_header(const char *path, int rc)
{
	fc_cli_say("%s: %s", path, fc_error_text(rc));
	return fc_cli_exit(rc);
}

static int from_file(struct report *r, const struct fc_secret_from *from)
{
	struct fc_headers *h = malloc(sizeof(*h));
	struct fc_io *io = NULL;
	struct stat st;
	int fd = open(r->container, O_RDONLY | O_CLOEXEC | O_NOCTTY), rc;

	if (fd < 0 || !h || fstat(fd, &st)) {
		fc_cli_say("%s cannot be opened: %s", r->container, strerror(errno));
		free(h);
		return FC_EXIT_FAILED;
	}
	if (!r->live)
		r->allocated = (uint64_t)st.st_blocks * 512;
	r->mounted |= fc_lock_held(fd);
	if (r->mounted && !r->pid)
		r->pid = fc_lock_holder(fd);
	rc = fc_io_file(fd, true, &io);
	if (!rc)
		rc = from_header(r, io, h);
	free(h);
	if (!rc && !r->mounted && fc_secret_given(from))
		return unlock(r, fd, io, from);
	fc_io_close(io);
	return rc ? say_header(r->container, rc) : 0;
}

/* ---- telling --------------------------------------------------------------------- */

static json_t *number_or_null(bool known, uint64_t v)
{
	return known ? json_integer((json_int_t)(v > INT64_MAX ? INT64_MAX : v)) : json_null();
}

static json_t *bool_or_null(bool known, bool v)
{
	return known ? json_boolean(v) : json_null();
}

/* What stops it while nobody has it open is that. */
static const char *rekey_state(const struct report *r)
{
	return !r->rekey_live ? "interrupted" : r->rekey_error ? "waiting" : "running";
}

static json_t *rekey_json(const struct report *r)
{
	json_t *o;

	if (!r->rekeying)
		return json_null();
	o = json_object();
	json_object_set_new(o, "state", json_string(rekey_state(r)));
	json_object_set_new(o, "bytes_done", number_or_null(r->rekey_live, r->rekey_bytes));
	json_object_set_new(o, "bytes_total", number_or_null(r->rekey_live, r->rekey_total));
	json_object_set_new(o, "error", r->rekey_error ? json_string(fc_error_text(r->rekey_error)) : json_null());
	return o;
}

static int print_json(const struct report *r)
{
	char uuid[FC_UUID_TEXT], created[FC_TIME_TEXT];
	json_t *o = json_object();
	int rc;

	fc_format_uuid(r->uuid, uuid);
	fc_format_time(r->created, created);
	json_object_set_new(o, "container", fc_text_json(r->container));
	json_object_set_new(o, "uuid", r->has_header ? json_string(uuid) : json_null());
	json_object_set_new(o, "format", number_or_null(r->has_header, r->format));
	json_object_set_new(o, "cipher", r->has_header ? fc_text_json(fc_cipher_name(r->cipher)) : json_null());
	json_object_set_new(o, "created", r->created ? json_string(created) : json_null());
	json_object_set_new(o, "state", json_string(r->mounted ? "mounted" : "unmounted"));
	json_object_set_new(o, "pid", number_or_null(r->pid > 0, (uint64_t)r->pid));
	json_object_set_new(o, "mountpoint", r->mounted && r->m ? fc_text_json(r->m->point) : json_null());
	json_object_set_new(o, "read_only", bool_or_null(r->mounted && r->live, r->read_only));
	json_object_set_new(o, "failed", bool_or_null(r->mounted && r->live, r->failed));
	json_object_set_new(o, "generation", number_or_null(r->live, r->generation));
	json_object_set_new(o, "bytes_limit", number_or_null(r->live, r->limit));
	json_object_set_new(o, "bytes_allocated", number_or_null(true, r->allocated));
	json_object_set_new(o, "bytes_used", number_or_null(r->live, r->used));
	json_object_set_new(o, "inodes", number_or_null(r->live, r->inodes));
	json_object_set_new(o, "rekey", rekey_json(r));
	rc = o ? json_dumpf(o, stdout, JSON_INDENT(2)) : -1;
	json_decref(o);
	putchar('\n');
	if (rc)
		fc_cli_say("the status cannot be printed");
	return rc ? FC_EXIT_FAILED : FC_EXIT_DONE;
}

static int print_text(const struct report *r)
{
	char uuid[FC_UUID_TEXT], created[FC_TIME_TEXT];
	const char *cipher = fc_cipher_name(r->cipher);

	printf("container   %s\n", r->container);
	if (r->has_header) {
		fc_format_uuid(r->uuid, uuid);
		printf("uuid        %s\nformat      %" PRIu32 "\ncipher      %s\n", uuid, r->format,
		       cipher ? cipher : "unknown");
	}
	if (r->created) {
		fc_format_time(r->created, created);
		printf("created     %s\n", created);
	}
	printf("state       %s%s%s\n", r->mounted ? "mounted" : "unmounted",
	       r->live && r->read_only ? ", read-only" : "",
	       !r->live || !r->failed ? ""
	       : r->stopped           ? ", because it was asked to stop: unmount and mount again"
				      : ", after a failed commit: unmount and mount again");
	if (r->mounted && r->m)
		printf("mountpoint  %s\n", r->m->point);
	if (r->pid)
		printf("pid         %d\n", (int)r->pid);
	if (r->live)
		printf("generation  %" PRIu64 "\nused        %" PRIu64 " bytes, %" PRIu64 " inodes\n", r->generation,
		       r->used, r->inodes);
	printf("allocated   %" PRIu64 " bytes\n", r->allocated);
	if (r->rekeying)
		printf("rekey       %s%s%s\n", rekey_state(r), r->rekey_error ? ": " : "",
		       r->rekey_error ? fc_error_text(r->rekey_error) : "");
	if (r->rekeying && r->rekey_total)
		printf("sealed anew %" PRIu64 " of %" PRIu64 " bytes\n", r->rekey_bytes, r->rekey_total);
	if (r->live && r->limit)
		printf("limit       %" PRIu64 " bytes\n", r->limit);
	return FC_EXIT_DONE;
}

/* ---- the command -------------------------------------------------------------------- */

/* path: as given; a mount point of ours or a container. */
static int collect(struct report *r, const struct fc_mounts *mounts, const char *path,
		   const struct fc_secret_from *from)
{
	char *real = fc_path_resolve(path);
	struct stat st;
	bool dead;

	if (!real) {
		fc_cli_say("%s cannot be looked at: %s", path, strerror(errno));
		return FC_EXIT_FAILED;
	}
	r->m = fc_mounts_at(mounts, real);
	if (r->m && fc_mount_is_ours(r->m)) {
		free(real);
		real = strdup(r->m->source);
	} else if (!stat(real, &st) && S_ISDIR(st.st_mode)) {
		fc_cli_say("%s is a directory in which no container is mounted", path);
		free(real);
		return FC_EXIT_MOUNTPOINT;
	} else {
		r->m = fc_mounts_of(mounts, real);
	}
	r->container = real;
	dead = r->m && fc_mount_is_dead(r->m);
	if (dead)
		fc_cli_say("the daemon of %s is gone: take the mount away with `fusecrypt umount`", r->m->point);
	r->mounted = r->m && !dead;
	if (r->mounted)
		from_mount(r);
	/* what the daemon tells is enough where the container itself cannot be reached */
	return r->live && access(r->container, R_OK) ? 0 : from_file(r, from);
}

static int run(int argc, char **argv)
{
	static const struct option options[] = { FC_SECRET_OPTIONS,
						 { "json", no_argument, NULL, OPT_JSON },
						 { NULL, 0, NULL, 0 } };
	struct fc_secret_from from = FC_SECRET_FROM_NONE;
	struct report r = { 0 };
	struct fc_mounts mounts;
	bool json = false;
	int c, rc, status;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		rc = c == OPT_JSON ? 0 : fc_secret_option(&from, c, optarg);
		if (rc)
			return rc == FC_ENOENT ? fc_cli_bad_option(argv) : FC_EXIT_USAGE;
		json |= c == OPT_JSON;
	}
	if (fc_cli_operands(argc, argv, 1, "one container or mount point"))
		return FC_EXIT_USAGE;
	fc_mounts_read("/proc/self/mountinfo", &mounts); /* without /proc nothing looks mounted but what is locked */
	status = collect(&r, &mounts, argv[optind], &from);
	if (!status)
		status = json ? print_json(&r) : print_text(&r);
	fc_mounts_free(&mounts);
	free(r.container);
	return status;
}

const struct fc_command fc_command_status = {
	.name = "status",
	.arguments = "CONTAINER|MOUNTPOINT [--json]",
	.summary = "tells what a container is and where it is mounted",
	.help = "  --json                       one JSON object; sizes in bytes\n"
		"  --passphrase-file FILE, --passphrase-fd N, --key-file FILE, --recovery-code-file FILE\n"
		"                               opens an unmounted container to tell its generation and use too\n",
	.run = run,
};
