/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies below a directory: its mount, the file system whose space it uses in
 * the end (a container, a loop device and a FUSE file system lie on another one),
 * and the disk.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <dirent.h>

#include "place.h"

#define DEPTH 8 /* of file systems in files in file systems */

/* mountinfo writes blanks and the like as \ooo. */
static char *unescaped(const char *text)
{
	char *out = fc_bench_alloc(strlen(text) + 1), *o = out;
	while (*text) {
		unsigned c;
		if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3 && sscanf(text + 1, "%3o", &c) == 1) {
			*o++ = (char)c;
			text += 4;
		} else {
			*o++ = *text++;
		}
	}
	return out;
}

static bool below(const char *path, const char *mountpoint)
{
	size_t n = strlen(mountpoint);
	if (n == 1)
		return true;
	return !strncmp(path, mountpoint, n) && (path[n] == '/' || !path[n]);
}

/* Fields: id parent major:minor root mountpoint options [tag…] - type source superoptions */
static void read_line(char *line, const char *path, size_t *best, struct bench_mount *out)
{
	char *save = NULL, *field[6], *word = NULL;
	for (int i = 0; i < 6; i++) {
		field[i] = strtok_r(i ? NULL : line, " \n", &save);
		if (!field[i])
			return;
	}
	do
		word = strtok_r(NULL, " \n", &save);
	while (word && strcmp(word, "-"));
	char *type = strtok_r(NULL, " \n", &save), *source = strtok_r(NULL, " \n", &save);
	char *mountpoint = unescaped(field[4]);
	/* Of equal ones the last is on top. */
	if (type && source && below(path, mountpoint) && strlen(mountpoint) >= *best) {
		*best = strlen(mountpoint);
		free(out->type);
		free(out->source);
		free(out->options);
		out->type = unescaped(type);
		out->source = unescaped(source);
		out->options = unescaped(field[5]);
	}
	free(mountpoint);
}

static void find_mount(const char *path, struct bench_mount *out)
{
	char *line = NULL;
	size_t room = 0, best = 0;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	while (f && getline(&line, &room, f) > 0)
		read_line(line, path, &best, out);
	free(line);
	if (f)
		fclose(f);
}

static char *read_word(const char *path)
{
	char text[4096] = "";
	FILE *f = fopen(path, "re");
	if (!f || !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	size_t n = strlen(text);
	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		text[--n] = '\0';
	return fc_bench_copy(text);
}

/* The first entry of a folder, or NULL. */
static char *first_in(const char *folder)
{
	char *name = NULL;
	struct dirent *d;
	DIR *dir = opendir(folder);
	while (dir && !name && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			name = fc_bench_copy(d->d_name);
	if (dir)
		closedir(dir);
	return name;
}

/* The kernel's name of the whole disk below a block device of sysfs (a
 * partition, LUKS, LVM), or "". */
static char *disk_below(const char *device, int depth)
{
	char real[PATH_MAX];
	if (depth > DEPTH || !realpath(device, real))
		return fc_bench_copy("");
	char *part = fc_bench_format("%s/partition", real), *slaves = fc_bench_format("%s/slaves", real);
	struct stat st;
	char *slave = first_in(slaves), *result;
	if (!stat(part, &st)) {
		*strrchr(real, '/') = '\0';
		result = disk_below(real, depth + 1);
	} else if (slave) {
		char *next = fc_bench_format("%s/%s", slaves, slave);
		result = disk_below(next, depth + 1);
		free(next);
	} else {
		result = fc_bench_copy(strrchr(real, '/') + 1);
	}
	free(part);
	free(slaves);
	free(slave);
	return result;
}

static char *disk_text(const char *disk)
{
	char size_text[32] = "";
	if (!*disk)
		return fc_bench_copy("unknown");
	char *path = fc_bench_format("/sys/block/%s/device/model", disk);
	char *model = read_word(path);
	free(path);
	path = fc_bench_format("/sys/block/%s/size", disk);
	char *size = read_word(path);
	free(path);
	path = fc_bench_format("/sys/block/%s/queue/rotational", disk);
	char *rotational = read_word(path);
	free(path);
	fc_bench_bytes_text(strtoull(size, NULL, 10) * 512, size_text);
	char *text = fc_bench_format("%s%s%s%s, %s, %s", disk, *model ? " (" : "", model, *model ? ")" : "", size_text,
				     !strcmp(rotational, "1") ? "rotating" : "not rotating");
	free(model);
	free(size);
	free(rotational);
	return text;
}

/* The file that a loop device shows, or NULL. */
static char *loop_file(dev_t dev)
{
	char *path = fc_bench_format("/sys/dev/block/%u:%u/loop/backing_file", major(dev), minor(dev));
	char *file = read_word(path);
	free(path);
	if (*file)
		return file;
	free(file);
	return NULL;
}

/* Goes down from path until a disk or something without any is reached. */
static void find_host(const char *path, int depth, struct bench_mount *out)
{
	struct bench_mount here = { 0 };
	struct stat st, source;
	if (stat(path, &st))
		return;
	find_mount(path, &here);
	bool known = here.source && here.source[0] == '/' && !stat(here.source, &source);
	dev_t block = major(st.st_dev) ? st.st_dev : known && S_ISBLK(source.st_mode) ? source.st_rdev : 0;
	char *file = block ? loop_file(block) : NULL;
	if (!block && known && !S_ISBLK(source.st_mode) && depth < DEPTH && strcmp(here.source, path)) {
		find_host(here.source, depth + 1, out);
	} else if (file && depth < DEPTH) {
		find_host(file, depth + 1, out);
	} else {
		char *device = fc_bench_format("/sys/dev/block/%u:%u", major(block), minor(block));
		free(out->disk);
		free(out->host_path);
		free(out->host_type);
		out->disk = block ? disk_below(device, 0) : fc_bench_copy("");
		out->host = st.st_dev;
		out->host_path = fc_bench_copy(path);
		out->host_type = fc_bench_copy(here.type ? here.type : "");
		free(device);
	}
	free(file);
	fc_mount_free(&here);
}

void fc_mount_describe(const char *dir, struct bench_mount *out)
{
	memset(out, 0, sizeof(*out));
	find_mount(dir, out);
	find_host(dir, 0, out);
	char **text[] = { &out->type, &out->source, &out->options, &out->disk, &out->host_path, &out->host_type };
	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
		if (!*text[i])
			*text[i] = fc_bench_copy("");
	out->disk_text = disk_text(out->disk);
}

void fc_mount_free(struct bench_mount *m)
{
	free(m->type);
	free(m->source);
	free(m->options);
	free(m->disk);
	free(m->disk_text);
	free(m->host_path);
	free(m->host_type);
	memset(m, 0, sizeof(*m));
}
