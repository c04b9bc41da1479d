/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "key/kdf.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "secret/secret.h"

#define MIB (1ull << 20)

static const struct {
	const char *name;
	uint32_t ops;
	uint64_t mem;
} named_costs[] = {
	{ "interactive", 2, 64 * MIB },
	{ "moderate", 3, 256 * MIB },
	{ "sensitive", 4, 1024 * MIB },
};

int fc_kdf_check(const struct fc_kdf_cost *cost)
{
	if (cost->kdf == FC_KDF_NONE)
		return cost->ops || cost->mem ? FC_ECORRUPT : 0;
	if (cost->kdf != FC_KDF_ARGON2ID13)
		return FC_ECORRUPT;
	if (cost->mem < FC_KDF_MEM_MIN || cost->mem > FC_KDF_MEM_MAX || cost->mem > crypto_pwhash_memlimit_max())
		return FC_ECORRUPT;
	if (cost->ops < 1 || cost->ops > FC_KDF_WORK_MAX / cost->mem)
		return FC_ECORRUPT;
	/* so that tiny memory does not permit billions of passes of overhead */
	return cost->ops > 1u << 16 ? FC_ECORRUPT : 0;
}

bool fc_kdf_is_name(const char *name)
{
	if (!strcmp(name, "auto"))
		return true;
	for (size_t i = 0; i < sizeof(named_costs) / sizeof(named_costs[0]); i++)
		if (!strcmp(name, named_costs[i].name))
			return true;
	return false;
}

int fc_kdf_named(const char *name, struct fc_kdf_cost *cost)
{
	if (!strcmp(name, "auto"))
		return fc_kdf_tune(cost, fc_kdf_available(), FC_KDF_TARGET_MS);
	for (size_t i = 0; i < sizeof(named_costs) / sizeof(named_costs[0]); i++) {
		if (strcmp(name, named_costs[i].name))
			continue;
		*cost = (struct fc_kdf_cost){ FC_KDF_ARGON2ID13, named_costs[i].ops, named_costs[i].mem };
		return 0;
	}
	return FC_EINVAL;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Bytes passed over in a second by Argon2id here; 0: not even mem is to be had. */
static uint64_t argon2_rate(uint64_t mem)
{
	static const uint8_t salt[FC_SALT_BYTES];
	struct fc_kdf_cost cost = { FC_KDF_ARGON2ID13, 1, mem };
	uint8_t out[FC_KEY_BYTES];
	uint64_t from = now_ns(), ns;

	if (fc_kdf_stretch(&cost, "", 0, salt, out))
		return 0;
	ns = now_ns() - from;
	return (uint64_t)((double)mem * 1e9 / (double)(ns ? ns : 1));
}

static uint64_t clamp_u64(uint64_t v, uint64_t low, uint64_t high)
{
	return v > high ? high : v < low ? low : v;
}

int fc_kdf_tune(struct fc_kdf_cost *cost, uint64_t available, unsigned target_ms)
{
	uint64_t limit = clamp_u64(available / 2, 8 * MIB, 1024 * MIB);
	uint64_t probe = limit < 64 * MIB ? limit : 64 * MIB;
	uint64_t rate, work;

	while (!(rate = argon2_rate(probe))) {
		probe /= 2;
		if (probe < MIB)
			return FC_ENOMEM;
		limit = probe;
	}
	work = rate / 1000 * target_ms;
	cost->kdf = FC_KDF_ARGON2ID13;
	/* A busy machine measures slow: never below what `interactive` takes. */
	cost->mem = clamp_u64(work / 3, probe, limit) & ~(MIB - 1);
	if (cost->mem < MIB)
		cost->mem = MIB;
	cost->ops = (uint32_t)clamp_u64(work / cost->mem, 3, clamp_u64(FC_KDF_WORK_MAX / cost->mem, 3, 64));
	return 0;
}

/* The value of a line "name: N kB" of /proc/meminfo, in bytes. */
static uint64_t meminfo(FILE *f, const char *name)
{
	char line[256];
	size_t n = strlen(name);

	rewind(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, n) && line[n] == ':')
			return strtoull(line + n + 1, NULL, 10) << 10;
	return 0;
}

/* UINT64_MAX when the file is absent or says "max". */
static uint64_t read_number(const char *dir, const char *file)
{
	char path[PATH_MAX], text[64];
	uint64_t v = UINT64_MAX;
	FILE *f;

	if (snprintf(path, sizeof(path), "/sys/fs/cgroup%s/%s", dir, file) >= (int)sizeof(path))
		return v;
	f = fopen(path, "re");
	if (!f)
		return v;
	if (fgets(text, sizeof(text), f) && text[0] >= '0' && text[0] <= '9')
		v = strtoull(text, NULL, 10);
	fclose(f);
	return v;
}

/* Room left in the control group (version 2) and all above it. */
static uint64_t cgroup_room(void)
{
	char line[PATH_MAX], *slash;
	uint64_t room = UINT64_MAX;
	FILE *f = fopen("/proc/self/cgroup", "re");

	if (!f)
		return room;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "0::/", 4))
			continue;
		line[strcspn(line, "\n")] = '\0';
		do {
			uint64_t max = read_number(line + 3, "memory.max"), used;

			used = max == UINT64_MAX ? 0 : read_number(line + 3, "memory.current");
			if (max != UINT64_MAX)
				room = clamp_u64(max > used ? max - used : 0, 0, room);
			slash = strrchr(line + 3, '/');
			if (slash)
				*slash = '\0';
		} while (slash);
	}
	fclose(f);
	return room;
}

uint64_t fc_kdf_available(void)
{
	uint64_t machine = UINT64_MAX, group;
	FILE *f = fopen("/proc/meminfo", "re");

	if (f) {
		uint64_t mem = meminfo(f, "MemAvailable");

		if (mem)
			machine = mem + meminfo(f, "SwapFree");
		fclose(f);
	}
	group = cgroup_room();
	return machine < group ? machine : group;
}

static int stretch_none(const void *secret, size_t n, uint8_t out[FC_KEY_BYTES])
{
	static const uint8_t context[32] = "fusecrypt 1 slot secret";

	crypto_generichash(out, FC_KEY_BYTES, secret, n, context, sizeof(context));
	return 0;
}

int fc_kdf_stretch(const struct fc_kdf_cost *cost, const void *secret, size_t n, const uint8_t salt[FC_SALT_BYTES],
		   uint8_t out[FC_KEY_BYTES])
{
	int rc = fc_kdf_check(cost);

	if (rc)
		return rc;
	if (cost->kdf == FC_KDF_NONE)
		return stretch_none(secret, n, out);
	/* Linux promises memory that it does not have: ask first, rather than be killed. */
	if (cost->mem > fc_kdf_available())
		return FC_ENOMEM;
	if (crypto_pwhash(out, FC_KEY_BYTES, secret, n, salt, cost->ops, (size_t)cost->mem,
			  crypto_pwhash_ALG_ARGON2ID13))
		return FC_ENOMEM;
	return 0;
}
