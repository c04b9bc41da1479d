/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What machine this is: what a reader needs to judge the figures. */
#define FUSE_USE_VERSION 31
#include <fuse_lowlevel.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "report.h"

static void add(struct bench_report *r, const char *key, const char *title, char *value)
{
	struct bench_fact *f = &r->fact[r->facts++];
	f->key = fc_bench_copy(key);
	f->title = fc_bench_copy(title);
	f->value = value;
}

/* The value of the first line of a file that begins with key; the caller frees. */
static char *line_of(const char *path, const char *key, char mark)
{
	char *line = NULL, *value = NULL;
	size_t room = 0;
	FILE *f = fopen(path, "re");
	while (f && !value && getline(&line, &room, f) > 0) {
		char *at = strchr(line, mark);
		if (strncmp(line, key, strlen(key)) || !at)
			continue;
		at += 1 + strspn(at + 1, " \t\"");
		at[strcspn(at, "\"\n")] = '\0';
		value = fc_bench_copy(at);
	}
	free(line);
	if (f)
		fclose(f);
	return value;
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = text; at && (at = strstr(at, word)); at += n)
		if ((at == text || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

static void add_processor(struct bench_report *r)
{
	char *model = line_of("/proc/cpuinfo", "model name", ':');
	/* x86 says flags, ARM says Features. */
	char *flags = line_of("/proc/cpuinfo", "flags", ':');
	if (!flags)
		flags = line_of("/proc/cpuinfo", "Features", ':');
	struct utsname u;
	uname(&u);
	add(r, "processor", "Processor", fc_bench_format("%s (%s)", model ? model : "unknown", u.machine));
	add(r, "processors", "Processors online", fc_bench_format("%ld", sysconf(_SC_NPROCESSORS_ONLN)));
	add(r, "aes", "AES in hardware",
	    fc_bench_copy(!flags                    ? "unknown"
			  : has_word(flags, "vaes") ? "yes, vectors too"
			  : has_word(flags, "aes")  ? "yes"
						    : "no"));
	free(model);
	free(flags);
}

void fc_machine_describe(struct bench_report *r)
{
	struct utsname u;
	struct sysinfo info;
	char memory[32] = "unknown";
	char *system = line_of("/etc/os-release", "PRETTY_NAME", '=');
	uname(&u);
	if (!sysinfo(&info))
		fc_bench_bytes_text((uint64_t)info.totalram * info.mem_unit, memory);
	add_processor(r);
	add(r, "memory", "Memory", fc_bench_copy(memory));
	add(r, "kernel", "Kernel", fc_bench_format("%s %s", u.sysname, u.release));
	add(r, "system", "System", system ? system : fc_bench_copy("unknown"));
	add(r, "libfuse", "libfuse", fc_bench_copy(fuse_pkgversion()));
	add(r, "libsodium", "libsodium", fc_bench_copy(sodium_version_string()));
	add(r, "filesystem", "Host file system", fc_bench_copy(r->places ? r->place[0].host_type : ""));
	add(r, "disk", "Disk", fc_bench_copy(r->places ? r->place[0].disk : ""));
}
