/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "cli/cli.h"
#include "cli/places.h"

#define OF_MACHINE "/etc/fusecrypt"
#define MAGIC "fusecrypt-directory 1"
#define SUFFIX ".dir"
#define FILE_MAX (4 * PATH_MAX) /* bytes of a file; more is none of ours */

static bool place(bool of_machine, char *dir)
{
	if (!of_machine)
		return fc_place_of_user("XDG_CONFIG_HOME", ".config", dir);
	strcpy(dir, OF_MACHINE);
	return true;
}

bool fc_registry_needs_machine(const char *directory)
{
	char dir[PATH_MAX];

	return !place(false, dir) || fc_place_inside(dir, directory);
}

static void entry_free(struct fc_protected *e)
{
	free(e->directory);
	free(e->container);
	free(e->options);
	free(e->file);
	memset(e, 0, sizeof(*e));
}

void fc_registry_free(struct fc_registry *registry)
{
	for (size_t i = 0; i < registry->count; i++)
		entry_free(&registry->list[i]);
	free(registry->list);
	memset(registry, 0, sizeof(*registry));
}

const struct fc_protected *fc_registry_find(const struct fc_registry *registry, const char *directory)
{
	for (size_t i = 0; i < registry->count; i++)
		if (!strcmp(registry->list[i].directory, directory))
			return &registry->list[i];
	return NULL;
}

/* ---- the text ------------------------------------------------------------------ */

/* In place; false: an escape that is none. */
static bool unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		bool escaped = *s == '\\';

		if (escaped && *++s != '\\' && *s != 'n')
			return false;
		*to++ = escaped && *s == 'n' ? '\n' : *s;
	}
	*to = '\0';
	return true;
}

static void print_value(FILE *f, const char *name, const char *value)
{
	fprintf(f, "%s ", name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", f);
		else if (*value == '\\')
			fputs("\\\\", f);
		else
			fputc(*value, f);
	}
	fputc('\n', f);
}

static bool parse_uuid(const char *text, uint8_t uuid[FC_UUID_BYTES])
{
	char again[FC_UUID_TEXT], byte[3] = "";
	const char *p = text;

	for (size_t i = 0; i < FC_UUID_BYTES; i++) {
		p += *p == '-';
		if (!p[0] || !p[1])
			return false;
		memcpy(byte, p, 2);
		uuid[i] = (uint8_t)strtoul(byte, NULL, 16);
		p += 2;
	}
	fc_format_uuid(uuid, again);
	return !strcmp(again, text);
}

/* value is unescaped. 0, FC_ECORRUPT, FC_ENOMEM. */
static int take_line(struct fc_protected *e, const char *name, const char *value, bool *has_uuid)
{
	char **to = NULL;

	if (!strcmp(name, "uuid")) {
		if (*has_uuid || !parse_uuid(value, e->uuid))
			return FC_ECORRUPT;
		*has_uuid = true;
		return 0;
	}
	if (!strcmp(name, "directory"))
		to = &e->directory;
	else if (!strcmp(name, "container"))
		to = &e->container;
	else if (!strcmp(name, "options"))
		to = &e->options;
	if (!to || *to || (to != &e->options && value[0] != '/'))
		return FC_ECORRUPT;
	*to = strdup(value);
	return *to ? 0 : FC_ENOMEM;
}

/* Changes text. 0, FC_ECORRUPT, FC_ENOMEM; *e is to be freed in any case. */
static int parse_entry(char *text, struct fc_protected *e)
{
	char *line = text, *next, *value;
	bool first = true, has_uuid = false;
	int rc = 0;

	for (; line && *line && !rc; line = next, first = false) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (first && strcmp(line, MAGIC))
			return FC_ECORRUPT;
		if (first || !*line || *line == '#')
			continue;
		value = strchr(line, ' ');
		if (!value)
			return FC_ECORRUPT;
		*value++ = '\0';
		rc = unescape(value) ? take_line(e, line, value, &has_uuid) : FC_ECORRUPT;
	}
	if (!rc && (!e->directory || !e->container || !has_uuid))
		rc = FC_ECORRUPT;
	if (!rc && !e->options && !(e->options = strdup("")))
		rc = FC_ENOMEM;
	return rc;
}

/* ---- reading -------------------------------------------------------------------- */

/* Text of FILE_MAX bytes. 0, FC_EACCESS: not to be believed; FC_ECORRUPT; another FC_E*. */
static int read_text(int dir, const char *name, bool of_machine, char *text)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), rc = 0;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return errno == ELOOP ? FC_ECORRUPT : fc_error_from_errno(errno);
	if (fstat(fd, &st))
		rc = fc_error_from_errno(errno);
	else if (!S_ISREG(st.st_mode))
		rc = FC_ECORRUPT;
	else if (st.st_uid != (of_machine ? 0 : geteuid()) || st.st_mode & (S_IWGRP | S_IWOTH))
		rc = FC_EACCESS;
	n = rc ? 0 : read(fd, text, FILE_MAX);
	if (n < 0)
		rc = fc_error_from_errno(errno);
	close(fd);
	if (rc)
		return rc;
	if (n < 0 || n >= FILE_MAX)
		return FC_ECORRUPT;
	text[n] = '\0';
	return strlen(text) == (size_t)n ? 0 : FC_ECORRUPT;
}

static void say_bad(const char *file, int rc)
{
	if (rc == FC_EACCESS)
		fc_cli_say("warning: %s is passed over: it must belong to you (below " OF_MACHINE
			   ": to root), and nobody else may write to it",
			   file);
	else if (rc == FC_ECORRUPT)
		fc_cli_say("warning: %s is passed over: it does not tell of a protected directory", file);
	else
		fc_cli_say("warning: %s is passed over: %s", file, fc_error_text(rc));
}

static int append(struct fc_registry *r, const struct fc_protected *e)
{
	if (r->count == r->room) {
		void *more = realloc(r->list, (r->room + 16) * sizeof(*r->list));

		if (!more)
			return FC_ENOMEM;
		r->list = more;
		r->room += 16;
	}
	r->list[r->count++] = *e;
	return 0;
}

static int read_entry(struct fc_registry *r, int dir, const char *place_name, const char *name, bool of_machine)
{
	struct fc_protected e = { .of_machine = of_machine };
	char *text = malloc(FILE_MAX);
	int rc = FC_ENOMEM;

	if (asprintf(&e.file, "%s/%s", place_name, name) < 0)
		e.file = NULL;
	if (text && e.file)
		rc = read_text(dir, name, of_machine, text);
	if (!rc)
		rc = parse_entry(text, &e);
	free(text);
	if (!rc)
		rc = append(r, &e);
	if (!rc)
		return 0;
	if (rc != FC_ENOMEM && rc != FC_ENOENT) { /* removed meanwhile: nothing to tell */
		say_bad(e.file, rc);
		r->bad++;
		rc = 0;
	}
	entry_free(&e);
	return rc == FC_ENOENT ? 0 : rc;
}

static bool is_entry_name(const char *name)
{
	size_t n = strlen(name);

	return name[0] != '.' && n > strlen(SUFFIX) && !strcmp(name + n - strlen(SUFFIX), SUFFIX);
}

static int by_directory(const void *a, const void *b)
{
	const struct fc_protected *x = a, *y = b;
	int order = strcmp(x->directory, y->directory);

	return order ? order : strcmp(x->file, y->file);
}

static int read_place(struct fc_registry *r, bool of_machine)
{
	size_t from = r->count;
	char dir[PATH_MAX];
	struct dirent *e;
	int rc = 0;
	DIR *d;

	if (!place(of_machine, dir))
		return 0;
	d = opendir(dir);
	if (!d)
		return errno == ENOENT || errno == ENOTDIR ? 0 : fc_error_from_errno(errno);
	while (!rc && (e = readdir(d)))
		if (is_entry_name(e->d_name))
			rc = read_entry(r, dirfd(d), dir, e->d_name, of_machine);
	closedir(d);
	if (r->count > from)
		qsort(r->list + from, r->count - from, sizeof(*r->list), by_directory);
	return rc;
}

int fc_registry_read(struct fc_registry *out)
{
	int rc;

	memset(out, 0, sizeof(*out));
	rc = read_place(out, false);
	return rc ? rc : read_place(out, true);
}

/* ---- writing -------------------------------------------------------------------- */

static int sync_place(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return fc_error_from_errno(errno);
	if (fsync(fd) && errno != EINVAL)
		rc = fc_error_from_errno(errno);
	close(fd);
	return rc;
}

static int write_entry(const char *path, const struct fc_protected *e)
{
	mode_t mode = e->of_machine ? 0644 : 0600;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode), rc = 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	char uuid[FC_UUID_TEXT];

	if (!f) {
		rc = fc_error_from_errno(errno);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	fc_format_uuid(e->uuid, uuid);
	fputs(MAGIC "\n", f);
	print_value(f, "directory", e->directory);
	print_value(f, "container", e->container);
	print_value(f, "uuid", uuid);
	if (e->options && *e->options)
		print_value(f, "options", e->options);
	/* the umask may be narrower than what all must be able to read */
	if (fflush(f) || fchmod(fd, mode) || fsync(fd))
		rc = fc_error_from_errno(errno);
	if (fclose(f) && !rc)
		rc = fc_error_from_errno(errno);
	return rc;
}

/* Of the same directory at the same place, else a fresh name. PATH_MAX bytes. */
static int choose_file(const struct fc_protected *entry, const char *dir, char *path)
{
	XXH64_hash_t hash = XXH3_64bits(entry->directory, strlen(entry->directory));
	struct fc_registry r = { 0 };
	const struct fc_protected *old;
	int rc = read_place(&r, entry->of_machine), n = 0;

	old = fc_registry_find(&r, entry->directory);
	if (!rc && old)
		n = snprintf(path, PATH_MAX, "%s", old->file);
	/* a file of that name may tell of a directory that was moved, and entered there by hand */
	for (unsigned i = 0; !rc && !old && (!i || (n < PATH_MAX && !access(path, F_OK))); i++)
		n = snprintf(path, PATH_MAX, i ? "%s/%016" PRIx64 "-%u" SUFFIX : "%s/%016" PRIx64 SUFFIX, dir,
			     (uint64_t)hash, i);
	fc_registry_free(&r);
	return rc ? rc : n < PATH_MAX ? 0 : FC_ENAMETOOLONG;
}

int fc_registry_add(const struct fc_protected *entry)
{
	char dir[PATH_MAX], path[PATH_MAX], fresh[PATH_MAX + 16];
	int rc;

	if (entry->directory[0] != '/' || entry->container[0] != '/')
		return FC_EINVAL;
	if (entry->of_machine && geteuid())
		return FC_EACCESS;
	if (!place(entry->of_machine, dir))
		return FC_ENOENT;
	rc = fc_place_make(dir, entry->of_machine ? 0755 : 0700);
	if (!rc)
		rc = choose_file(entry, dir, path);
	if (rc)
		return rc;
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	rc = write_entry(fresh, entry);
	if (!rc && rename(fresh, path))
		rc = fc_error_from_errno(errno);
	if (rc)
		unlink(fresh);
	return rc ? rc : sync_place(dir);
}

int fc_registry_remove(const struct fc_protected *entry)
{
	char dir[PATH_MAX];

	if (unlink(entry->file) && errno != ENOENT)
		return fc_error_from_errno(errno);
	return place(entry->of_machine, dir) ? sync_place(dir) : 0;
}
