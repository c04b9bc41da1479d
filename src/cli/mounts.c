/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mounts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* The kernel writes blanks, newlines and backslashes as \ooo. In place. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
		    s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static void optional_field(struct fc_mount *m, const char *field)
{
	if (!strncmp(field, "shared:", 7))
		m->shared = (unsigned)strtoul(field + 7, NULL, 10);
	else if (!strncmp(field, "master:", 7))
		m->master = (unsigned)strtoul(field + 7, NULL, 10);
}

static void super_options(struct fc_mount *m, char *options)
{
	char *save, *o;

	for (o = strtok_r(options, ",\n", &save); o; o = strtok_r(NULL, ",\n", &save)) {
		if (!strncmp(o, "user_id=", 8))
			m->owner = (uid_t)strtoul(o + 8, NULL, 10);
		else if (!strncmp(o, "group_id=", 9))
			m->group = (gid_t)strtoul(o + 9, NULL, 10);
		else if (!strcmp(o, "allow_other"))
			m->allow_other = true;
	}
}

/* id parent major:minor root point options [optional…] - type source super */
static bool parse_line(struct fc_mount *m, char *line)
{
	unsigned major_nr, minor_nr;
	char *save, *f, *fields[6];

	memset(m, 0, sizeof(*m));
	for (int i = 0; i < 6; i++)
		if (!(fields[i] = strtok_r(i ? NULL : line, " \n", &save)))
			return false;
	if (sscanf(fields[2], "%u:%u", &major_nr, &minor_nr) != 2)
		return false;
	m->id = (unsigned)strtoul(fields[0], NULL, 10);
	m->parent = (unsigned)strtoul(fields[1], NULL, 10);
	m->dev = makedev(major_nr, minor_nr);
	m->whole = !strcmp(fields[3], "/");
	m->point = fields[4];
	while ((f = strtok_r(NULL, " \n", &save)) && strcmp(f, "-"))
		optional_field(m, f);
	m->type = strtok_r(NULL, " \n", &save);
	/* an empty source leaves two blanks: strtok would take the next field */
	m->source = m->type ? save : NULL;
	if (!m->source)
		return false;
	f = strchr(m->source, ' ');
	if (!f)
		return false;
	*f = '\0';
	super_options(m, f + 1);
	unescape(m->point);
	unescape(m->source);
	m->point = strdup(m->point);
	m->type = strdup(m->type);
	m->source = strdup(m->source);
	return m->point && m->type && m->source;
}

static void mount_free(struct fc_mount *m)
{
	free(m->point);
	free(m->type);
	free(m->source);
}

int fc_mounts_read(const char *path, struct fc_mounts *out)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0, slots = 0;
	int rc = 0;

	out->list = NULL;
	out->count = 0;
	if (!f)
		return FC_EIO;
	while (!rc && getline(&line, &room, f) > 0) {
		if (out->count == slots) {
			void *more = realloc(out->list, (slots + 64) * sizeof(*out->list));

			if (!more) {
				rc = FC_ENOMEM;
				break;
			}
			out->list = more;
			slots += 64;
		}
		if (parse_line(&out->list[out->count], line))
			out->count++;
	}
	free(line);
	fclose(f);
	return rc;
}

void fc_mounts_free(struct fc_mounts *m)
{
	for (size_t i = 0; i < m->count; i++)
		mount_free(&m->list[i]);
	free(m->list);
	m->list = NULL;
	m->count = 0;
}

const struct fc_mount *fc_mounts_at(const struct fc_mounts *m, const char *point)
{
	for (size_t i = m->count; i > 0; i--)
		if (!strcmp(m->list[i - 1].point, point))
			return &m->list[i - 1];
	return NULL;
}

/* The latest one: earlier ones may be dead. */
static const struct fc_mount *latest_of(const struct fc_mounts *m, const char *container)
{
	const struct fc_mount *part = NULL;
	struct stat want, st;
	bool known = !stat(container, &want);

	for (size_t i = m->count; i > 0; i--) {
		const struct fc_mount *one = &m->list[i - 1];

		if (!fc_mount_is_ours(one))
			continue;
		if (strcmp(one->source, container) &&
		    (!known || stat(one->source, &st) || st.st_dev != want.st_dev || st.st_ino != want.st_ino))
			continue;
		if (one->whole)
			return one;
		part = part ? part : one;
	}
	return part;
}

const struct fc_mount *fc_mounts_of(const struct fc_mounts *m, const char *container)
{
	const struct fc_mount *last = latest_of(m, container);

	for (size_t i = 0; last && i < m->count; i++)
		if (m->list[i].dev == last->dev && m->list[i].whole == last->whole && fc_mount_is_ours(&m->list[i]))
			return &m->list[i];
	return last;
}

bool fc_mount_is_ours(const struct fc_mount *m)
{
	return !strcmp(m->type, FC_FSTYPE);
}

/* ---- paths ------------------------------------------------------------------ */

/* The parent's real path and the last component as it is. */
static char *resolve_parent(const char *path)
{
	char *copy = strdup(path), *slash, *parent, *out = NULL;
	size_t n;

	if (!copy)
		return NULL;
	for (n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
		copy[n - 1] = '\0';
	slash = strrchr(copy, '/');
	if (slash) {
		*slash = '\0';
		parent = realpath(slash == copy ? "/" : copy, NULL);
	} else {
		parent = realpath(".", NULL);
	}
	if (parent && asprintf(&out, "%s/%s", strcmp(parent, "/") ? parent : "", slash ? slash + 1 : copy) < 0)
		out = NULL;
	free(parent);
	free(copy);
	return out;
}

char *fc_path_resolve(const char *path)
{
	char *real = realpath(path, NULL);

	if (real || (errno != ENOTCONN && errno != ECONNABORTED))
		return real;
	return resolve_parent(path);
}

bool fc_path_is_below(const char *inner, const char *outer)
{
	struct stat top, st;
	char path[PATH_MAX], *slash;
	size_t n = strlen(outer);

	if (!strncmp(inner, outer, n) && (inner[n] == '/' || !inner[n] || !strcmp(outer, "/")))
		return true;
	if (stat(outer, &top) || strlen(inner) >= sizeof(path))
		return false;
	strcpy(path, inner);
	while (path[0] == '/' && path[1]) {
		if (!stat(path, &st) && st.st_dev == top.st_dev && st.st_ino == top.st_ino)
			return true;
		slash = strrchr(path, '/');
		slash[slash == path] = '\0';
	}
	return false;
}
