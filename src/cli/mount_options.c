/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mount_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* For kernel and fusermount3. */
static const char *const to_fuse[] = { "allow_other", "suid",    "nosuid",   "dev",        "nodev",
				       "exec",        "noexec",  "atime",    "noatime",    "sync",
				       "async",       "dirsync", "diratime", "nodiratime", NULL };
/* Hold anyway, or are for mount(8) and its like: nothing to do. */
static const char *const no_effect[] = { "defaults", "default_permissions",
					 "relatime", "auto",
					 "noauto",   "user",
					 "nouser",   "users",
					 "nousers",  "owner",
					 "noowner",  "group",
					 "nogroup",  "_netdev",
					 "nofail",   "silent",
					 "loud",     NULL };

static bool listed(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (!strcmp(*list, word))
			return true;
	return false;
}

static int refuse(char *why, size_t n, const char *name, const char *value, const char *what)
{
	snprintf(why, n, "mount option %s%s%s: %s", name, value ? "=" : "", value ? value : "", what);
	return FC_EINVAL;
}

static int add_fuse(struct fc_mount_options *o, const char *word, char *why, size_t n)
{
	size_t have = strlen(o->fuse);

	if (!strcmp(word, "allow_other"))
		o->allow_other = true;
	if (snprintf(o->fuse + have, sizeof(o->fuse) - have, "%s%s", have ? "," : "", word) >=
	    (int)(sizeof(o->fuse) - have)) {
		o->fuse[have] = '\0';
		return refuse(why, n, word, NULL, "there are too many");
	}
	return 0;
}

static int take_word(struct fc_mount_options *o, const char *word, char *why, size_t n)
{
	if (!strcmp(word, "ro"))
		o->read_only = true;
	else if (!strcmp(word, "rw"))
		o->read_only = false;
	else if (!strcmp(word, "norecovery"))
		o->no_replay = true;
	else if (!strcmp(word, "allow_root")) /* libfuse keeps others out only where requests come, and few do */
		return refuse(why, n, word, NULL,
			      "it would not keep others away from what the kernel caches: use allow_other, and modes");
	else if (listed(to_fuse, word))
		return add_fuse(o, word, why, n);
	else if (!listed(no_effect, word) && strncmp(word, "x-", 2) && strncmp(word, "X-", 2))
		return refuse(why, n, word, NULL, "there is none of that name, or it needs a value");
	return 0;
}

static int take_string(char **to, const char *name, const char *value, char *why, size_t n)
{
	if (!*value)
		return refuse(why, n, name, value, "the name of the file is missing");
	free(*to);
	*to = strdup(value);
	return *to ? 0 : refuse(why, n, name, value, "out of memory");
}

static int take_value(struct fc_mount_options *o, const char *name, const char *value, char *why, size_t n)
{
	uint64_t v;

	if (!strcmp(name, "passphrase-file"))
		return take_string(&o->passphrase_file, name, value, why, n);
	if (!strcmp(name, "key-file"))
		return take_string(&o->key_file, name, value, why, n);
	if (!strcmp(name, "commit")) {
		if (fc_parse_number(value, 3600, &v) || !v)
			return refuse(why, n, name, value, "a number of seconds is needed, from 1 to 3600");
		o->commit_seconds = (unsigned)v;
	} else if (!strcmp(name, "cache")) {
		if (fc_parse_size(value, &v) || v < 1 << 20 || v > SIZE_MAX / 2)
			return refuse(why, n, name, value, "a size of at least 1M is needed");
		o->cache_bytes = v;
	} else if (!strcmp(name, "idle")) {
		if (fc_parse_time(value, &o->idle_seconds))
			return refuse(why, n, name, value, "a time is needed, as 90, 90s, 10m, 2h or 1d");
	} else if (!strcmp(name, "uid") || !strcmp(name, "gid")) {
		bool is_uid = name[0] == 'u';

		if (fc_parse_number(value, UINT32_MAX - 1, &v))
			return refuse(why, n, name, value, "a number is needed");
		*(is_uid ? &o->uid : &o->gid) = (uint32_t)v;
		*(is_uid ? &o->own_uid : &o->own_gid) = true;
	} else if (strcmp(name, "user") && strcmp(name, "comment") && strncmp(name, "x-", 2) &&
		   strncmp(name, "X-", 2)) {
		return refuse(why, n, name, value, "there is none of that name, or it takes no value");
	}
	return 0;
}

/* One option up to an unescaped comma, unescaped, into word; returns what follows. */
static const char *next_word(const char *text, char *word)
{
	for (; *text && *text != ','; text++) {
		if (text[0] == '\\' && (text[1] == ',' || text[1] == '\\'))
			text++;
		*word++ = *text;
	}
	*word = '\0';
	return *text ? text + 1 : text;
}

int fc_mount_options_parse(struct fc_mount_options *o, const char *text, char *why, size_t n)
{
	char *word = malloc(strlen(text) + 1), *value;
	int rc = 0;

	if (!word)
		return refuse(why, n, "-o", NULL, "out of memory");
	while (*text && !rc) {
		text = next_word(text, word);
		if (!*word)
			continue;
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		rc = value ? take_value(o, word, value, why, n) : take_word(o, word, why, n);
	}
	free(word);
	return rc;
}

const char *fc_mount_options_name(size_t i)
{
	static const char *const own[] = { "ro",    "rw",   "norecovery", "commit=",          "cache=",
					   "idle=", "uid=", "gid=",       "passphrase-file=", "key-file=" };
	const size_t n = sizeof(own) / sizeof(own[0]);

	if (i < n)
		return own[i];
	return i - n < sizeof(to_fuse) / sizeof(to_fuse[0]) ? to_fuse[i - n] : NULL;
}

void fc_mount_options_free(struct fc_mount_options *o)
{
	free(o->passphrase_file);
	free(o->key_file);
	o->passphrase_file = o->key_file = NULL;
}
