/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/complete.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/mount_options.h"
#include "cli/mounts.h"

static void offer(const char *word, size_t n, const char *begun)
{
	size_t have = strlen(begun);

	if (n >= have && !strncmp(word, begun, have))
		printf("%.*s\n", (int)n, word);
}

static size_t option_length(const char *p)
{
	size_t n = 2;

	while (islower((unsigned char)p[n]) || isdigit((unsigned char)p[n]) || (p[n] == '-' && n > 2))
		n++;
	return n;
}

/* The next option in a text from p on; NULL: none. */
static const char *next_option(const char *p, size_t *n)
{
	while ((p = strstr(p, "--"))) {
		*n = option_length(p);
		if (*n > 2)
			return p;
		p += 2;
	}
	return NULL;
}

/* An option may be told of more than once. */
static bool told_before(const char *text, const char *option, size_t n)
{
	const char *p;
	size_t m;

	for (p = next_option(text, &m); p && p < option; p = next_option(p + m, &m))
		if (m == n && !strncmp(p, option, n))
			return true;
	return false;
}

static void offer_options(const char *text, const char *begun)
{
	const char *p;
	size_t n;

	for (p = next_option(text, &n); p; p = next_option(p + n, &n))
		if (!told_before(text, p, n))
			offer(p, n, begun);
	offer("--help", 6, begun);
}

/* The value's name, or its alternatives, in the help: what follows the option there,
 * in capitals or with bars. */
static const char *value_of(const char *text, const char *option, size_t *n)
{
	const char *p;
	size_t m;

	for (p = next_option(text, &m); p; p = next_option(p + m, &m)) {
		if (m != strlen(option) || strncmp(p, option, m) || p[m] != ' ')
			continue;
		*n = strcspn(p + m + 1, " ,]\n");
		if (isupper((unsigned char)p[m + 1]) || memchr(p + m + 1, '|', *n))
			return p + m + 1;
	}
	return NULL;
}

/* True when the word before it wants a value: then nothing else fits. */
static bool offer_value(const char *text, const char *option, const char *begun)
{
	const char *value, *end;
	size_t n, one;

	value = strncmp(option, "--", 2) ? NULL : value_of(text, option, &n);
	if (!value)
		return false;
	if (n == 4 && !strncmp(value, "FILE", 4))
		puts(":files");
	if (!memchr(value, '|', n))
		return true;
	for (end = value + n; value < end; value += one + 1) {
		one = strcspn(value, "| ,]\n");
		offer(value, one, begun);
	}
	return true;
}

/* Of a list with commas, the last one is completed. */
static void offer_mount_options(const char *begun)
{
	const char *comma = strrchr(begun, ','), *last = comma ? comma + 1 : begun, *word;

	for (size_t i = 0; (word = fc_mount_options_name(i)); i++)
		if (!strncmp(word, last, strlen(last)))
			printf("%.*s%s\n", (int)(last - begun), begun, word);
}

static void offer_mount_points(const char *begun)
{
	struct fc_mounts mounts;

	if (fc_mounts_read("/proc/self/mountinfo", &mounts))
		mounts.count = 0;
	for (size_t i = 0; i < mounts.count; i++)
		if (fc_mount_is_ours(&mounts.list[i]))
			offer(mounts.list[i].point, strlen(mounts.list[i].point), begun);
	fc_mounts_free(&mounts);
}

static void offer_argument(const struct fc_command *c, const char *begun)
{
	if (!strncmp(c->arguments, "MOUNTPOINT", 10))
		offer_mount_points(begun);
	else if (isupper((unsigned char)*c->arguments))
		puts(":files");
}

static const struct fc_command *find(const char *word)
{
	const struct fc_command *c;

	for (size_t i = 0; (c = fc_cli_command(i)); i++)
		if (!strcmp(c->name, word))
			return c;
	return NULL;
}

static void offer_commands(const char *begun)
{
	const struct fc_command *c;

	for (size_t i = 0; (c = fc_cli_command(i)); i++)
		offer(c->name, strlen(c->name), begun);
	if (*begun == '-') {
		offer("--help", 6, begun);
		offer("--version", 9, begun);
	}
}

/* The second word of `key list` and its like. */
static const char *second(const struct fc_command *sub)
{
	return strchr(sub->name, ' ') + 1;
}

static void complete_argument(const struct fc_command *c, const char *before, const char *begun)
{
	char *text;

	if (asprintf(&text, "%s\n%s", c->help, c->arguments) < 0)
		return;
	if (c == &fc_command_mount && !strcmp(before, "-o"))
		offer_mount_options(begun);
	else if (!offer_value(text, before, begun)) {
		if (*begun == '-')
			offer_options(text, begun);
		else
			offer_argument(c, begun);
	}
	free(text);
}

static void offer_subs(const struct fc_command *c, const char *begun)
{
	for (size_t i = 0; c->subs && c->subs[i]; i++)
		offer(second(c->subs[i]), strlen(second(c->subs[i])), begun);
}

static const struct fc_command *find_sub(const struct fc_command *c, const char *word)
{
	for (size_t i = 0; c->subs[i]; i++)
		if (!strcmp(second(c->subs[i]), word))
			return c->subs[i];
	return NULL;
}

void fc_complete(int count, char **words)
{
	const char *begun = count > 0 ? words[count - 1] : "";
	const struct fc_command *c;

	if (count < 2) {
		offer_commands(begun);
		return;
	}
	c = find(words[0]);
	if (c && !strcmp(c->name, "help")) {
		/* the names alone, as if they were to be run */
		if (count == 2)
			offer_commands(begun);
		else if (count == 3 && (c = find(words[1])))
			offer_subs(c, begun);
		return;
	}
	if (c && c->subs && count == 2)
		offer_subs(c, begun);
	else if (c && c->subs)
		c = find_sub(c, words[1]);
	if (c && !(c->subs && count == 2))
		complete_argument(c, words[count - 2], begun);
}
