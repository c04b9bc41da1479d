/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal is a text:
 *
 *   fusecrypt-conversion 1
 *   way in|out, going on|back
 *   …
 *
 * A line each, in this order, all of them; the container's path in hexadecimal digits,
 * since it may be any bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/converter.h"

#define TEXT_MAX (1024 + 2 * PATH_MAX)
#define FRESH FC_CONVERT_JOURNAL ".new"

static void to_hex(char *text, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", p[i]);
	text[2 * n] = '\0';
}

static bool from_hex(const char *text, uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char byte[3] = { text[2 * i], text[2 * i + 1], '\0' };
		char *end;

		p[i] = (uint8_t)strtoul(byte, &end, 16);
		if (*end || end != byte + 2)
			return false;
	}
	return !text[2 * n];
}

static int format(const struct fc_convert_journal *j, char *text)
{
	const struct fc_convert_split *s = &j->split;
	char uuid[2 * FC_UUID_BYTES + 1], path[2 * PATH_MAX + 1];

	if (strlen(j->container) >= PATH_MAX)
		return FC_ENAMETOOLONG;
	to_hex(uuid, j->uuid, FC_UUID_BYTES);
	to_hex(path, (const uint8_t *)j->container, strlen(j->container));
	return snprintf(text, TEXT_MAX,
			"fusecrypt-conversion 1\nway %s\naborting %d\nphase %d\nuuid %s\ndirectory %" PRIu64 " %" PRIu64
			"\nsplit %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			"\ntimes %" PRId64 " %" PRIu32 " %" PRId64 " %" PRIu32 "\ncontainer %s\n",
			j->way == FC_CONVERT_IN ? "in" : "out", j->aborting, (int)j->phase, uuid, j->dev, j->ino,
			s->dev, s->ino, s->cino, s->size, s->cut, s->from, s->when, s->atime.sec, s->atime.nsec,
			s->mtime.sec, s->mtime.nsec, path);
}

static int parse(const char *text, struct fc_convert_journal *j)
{
	struct fc_convert_split *s = &j->split;
	char uuid[2 * FC_UUID_BYTES + 1], way[4], again[TEXT_MAX];
	const char *path = strstr(text, "\ncontainer ");
	int phase = 0, aborting = 0, n;

	n = sscanf(text,
		   "fusecrypt-conversion 1 way %3[a-z] aborting %d phase %d uuid %32[0-9a-f] directory %" SCNu64
		   " %" SCNu64 " split %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " times %" SCNd64 " %" SCNu32 " %" SCNd64 " %" SCNu32,
		   way, &aborting, &phase, uuid, &j->dev, &j->ino, &s->dev, &s->ino, &s->cino, &s->size, &s->cut,
		   &s->from, &s->when, &s->atime.sec, &s->atime.nsec, &s->mtime.sec, &s->mtime.nsec);
	if (n != 17 || !path || phase < FC_CONVERT_BEGUN || phase > FC_CONVERT_DONE || s->cut > s->size)
		return FC_ECORRUPT;
	path += strlen("\ncontainer ");
	n = (int)strcspn(path, "\n");
	j->container = calloc(1, (size_t)n / 2 + 1);
	if (!j->container)
		return FC_ENOMEM;
	j->way = strcmp(way, "in") ? FC_CONVERT_OUT : FC_CONVERT_IN;
	j->aborting = aborting;
	j->phase = (enum fc_convert_phase)phase;
	for (int i = 0; i + 1 < n; i += 2) {
		const char byte[3] = { path[i], path[i + 1], '\0' };

		if (!from_hex(byte, (uint8_t *)j->container + i / 2, 1))
			return FC_ECORRUPT;
	}
	if (!from_hex(uuid, j->uuid, FC_UUID_BYTES) || format(j, again) < 0 || strcmp(again, text))
		return FC_ECORRUPT;
	return 0;
}

int fc_convert_load(int staging, struct fc_convert_journal *j)
{
	int fd = openat(staging, FC_CONVERT_JOURNAL, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), r;
	char *text;
	ssize_t n;

	memset(j, 0, sizeof(*j));
	if (fd < 0)
		return errno == ENOENT ? FC_ENOENT : FC_EIO;
	text = calloc(1, TEXT_MAX + 1);
	n = text ? read(fd, text, TEXT_MAX) : 0;
	close(fd);
	r = !text ? FC_ENOMEM : n < 0 ? FC_EIO : parse(text, j);
	free(text);
	if (r)
		fc_convert_journal_free(j);
	return r;
}

static int write_fresh(int staging, const char *text, size_t n)
{
	int fd = openat(staging, FRESH, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), r = 0;
	ssize_t w;

	if (fd < 0)
		return fc_cv_errno(errno);
	w = write(fd, text, n);
	if (w != (ssize_t)n)
		r = w < 0 ? fc_cv_errno(errno) : FC_ENOSPC;
	if (!r && fsync(fd))
		r = fc_cv_errno(errno);
	close(fd);
	return r;
}

int fc_convert_save(int staging, const struct fc_convert_journal *j)
{
	char *text = malloc(TEXT_MAX);
	int n = text ? format(j, text) : FC_ENOMEM, r = n < 0 ? n : 0;

	if (!r)
		r = write_fresh(staging, text, (size_t)n);
	if (!r && (renameat(staging, FRESH, staging, FC_CONVERT_JOURNAL) || (fsync(staging) && errno != EINVAL)))
		r = fc_cv_errno(errno);
	free(text);
	return r;
}

void fc_convert_journal_free(struct fc_convert_journal *j)
{
	free(j->container);
	j->container = NULL;
}
