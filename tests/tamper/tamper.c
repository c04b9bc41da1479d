/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tampering (DESIGN R2): of a container in use, one block after the other is
 * damaged; trial.c holds what must be so then.
 *
 *     tamper [--files N] [--bytes N] [--sample N] [--repair-data N] [--only BLOCK] [--seed S] [--jobs J]
 *
 * A bit is flipped in every block in use. A sample, of N blocks and all that are
 * neither content nor half of the nodes, is swapped with another one, zeroed,
 * punched and replaced by what it held some commits ago. Each is opened, read and
 * checked; each is repaired, but of blocks with content only one in --repair-data.
 * The last lines count.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cipher/aead.h"
#include "content.h"
#include "secret/secret.h"
#include "trial.h"

struct settings {
	struct box_settings box;
	uint64_t sample, repair_data, seed, only;
	unsigned jobs;
};

/* Shared with the children. */
struct shared {
	struct trial_tally tally[64];
	uint64_t done[DAMAGES][PLACE_KINDS];
};

static const struct option options[] = {
	{ "files", required_argument, NULL, 'f' },  { "bytes", required_argument, NULL, 'b' },
	{ "sample", required_argument, NULL, 'n' }, { "repair-data", required_argument, NULL, 'r' },
	{ "only", required_argument, NULL, 'o' },   { "seed", required_argument, NULL, 's' },
	{ "jobs", required_argument, NULL, 'j' },   { NULL, 0, NULL, 0 },
};

static int parse(int argc, char **argv, struct settings *set)
{
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		uint64_t n = optarg ? strtoull(optarg, NULL, 0) : 0;

		switch (c) {
		case 'f':
			set->box.files = (unsigned)n;
			break;
		case 'b':
			set->box.bytes = n;
			break;
		case 'n':
			set->sample = n;
			break;
		case 'r':
			set->repair_data = n;
			break;
		case 'o':
			set->only = n;
			break;
		case 's':
			set->seed = n;
			break;
		case 'j':
			set->jobs = (unsigned)n;
			break;
		default:
			return -1;
		}
	}
	return optind == argc && set->repair_data && set->jobs && set->jobs <= 64 ? 0 : -1;
}

/* One block, damaged one way. 0, or 1 after saying what is wrong. */
static int run_one(const struct settings *set, const struct box *box, enum damage how, const struct place *place,
		   const struct place *other, struct trial_tally *tally, uint64_t *done)
{
	struct trial t = { .box = box, .how = how, .place = place, .other = other };

	t.damaged = damage_make(box, how, place, other, set->seed);
	if (!t.damaged)
		return 0; /* as it was */
	t.repair = place->kind != PLACE_DATA || content_word(set->seed, place->block + how) % set->repair_data == 0;
	__atomic_add_fetch(done, 1, __ATOMIC_RELAXED);
	if (trial_run(&t, tally)) {
		printf("block %llu (%s%s) %s, seed %llu: %s\n", (unsigned long long)place->block,
		       place_names[place->kind], place->pending ? ", freed" : "", damage_names[how],
		       (unsigned long long)set->seed, t.why);
		fflush(stdout);
		fc_io_close(t.damaged);
		return 1;
	}
	fc_io_close(t.damaged);
	return 0;
}

/* Every `jobs`-th place from `job` on. The number of trials that went wrong. */
static uint64_t run_part(const struct settings *set, const struct box *box, const struct place *places, size_t count,
			 unsigned job, struct shared *shared)
{
	uint64_t every = set->sample ? count / set->sample + 1 : UINT64_MAX, bad = 0;
	enum damage how;
	size_t i;

	for (i = job; i < count; i += set->jobs) {
		bool sampled = content_word(set->seed, i) % every == 0 || places[i].kind < PLACE_NODE ||
			       (places[i].kind == PLACE_NODE && places[i].block % (2 * FC_NODE_BLOCKS) == 0);

		if (set->only && places[i].block != set->only)
			continue;
		for (how = 0; how < DAMAGES; how++) {
			const struct place *other = &places[content_word(set->seed + 1, i) % count];

			if (how == DAMAGE_FLIP || (sampled && set->sample) || set->only)
				bad += (uint64_t)run_one(set, box, how, &places[i], how == DAMAGE_SWAP ? other : NULL,
							 &shared->tally[job], &shared->done[how][places[i].kind]);
		}
		if (bad > 20)
			break;
	}
	return bad;
}

static bool run_all(const struct settings *set, const struct box *box, const struct place *places, size_t count,
		    struct shared *shared)
{
	bool good = true;
	unsigned job;

	fflush(NULL);
	for (job = 0; job < set->jobs; job++) {
		pid_t pid = set->jobs > 1 ? fork() : 0;

		if (pid < 0)
			return false;
		if (pid == 0) {
			uint64_t bad = run_part(set, box, places, count, job, shared);

			if (set->jobs == 1)
				return !bad;
			fflush(NULL);
			_exit(bad ? 1 : 0);
		}
	}
	for (job = 0; job < set->jobs; job++) {
		int status;

		if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
			good = false;
	}
	return good;
}

static void print(const struct settings *set, const struct box *box, const struct shared *shared, size_t count,
		  unsigned depth)
{
	struct trial_tally all = { 0 };
	unsigned i, k;

	for (i = 0; i < set->jobs; i++)
		for (k = 0; k < sizeof(all) / sizeof(uint64_t); k++)
			((uint64_t *)&all)[k] += ((const uint64_t *)&shared->tally[i])[k];
	printf("%zu files, %zu blocks (%.1f MiB) in use, depth %u\n", box->files, count,
	       (double)count * FC_BLOCK / (1 << 20), depth);
	for (i = 0; i < DAMAGES; i++) {
		uint64_t n = 0;

		for (k = 0; k < PLACE_KINDS; k++)
			n += shared->done[i][k];
		printf("%-9s %6llu blocks:", damage_names[i], (unsigned long long)n);
		for (k = 0; k < PLACE_KINDS; k++)
			printf(" %s %llu", place_names[k], (unsigned long long)shared->done[i][k]);
		printf("\n");
	}
	printf("%llu trials: %llu refused, %llu gave errors for what depends on the block, %llu had none; %llu not "
	       "noticed "
	       "by the check, %llu taken for a torn record; %llu repaired, %llu of them from the root before\n",
	       (unsigned long long)all.trials, (unsigned long long)all.refused, (unsigned long long)all.harmed,
	       (unsigned long long)all.unharmed, (unsigned long long)all.unnoticed, (unsigned long long)all.torn,
	       (unsigned long long)all.repaired, (unsigned long long)all.older);
}

/* The box itself: all is right, and the check finds nothing. */
static bool is_sound(const struct box *box)
{
	struct place nowhere = { .kind = PLACE_LOG };
	struct trial t = { .box = box, .damaged = box->sim, .place = &nowhere, .repair = true };
	struct trial_tally tally = { 0 };

	if (!trial_run(&t, &tally) && tally.unharmed == 1 && tally.unnoticed == 1)
		return true;
	printf("before any damage: %s\n", t.why);
	return false;
}

int main(int argc, char **argv)
{
	struct settings set = { .box = { .files = 300, .bytes = 2u << 20, .log_bytes = FC_LOG_MIN },
				.sample = 40,
				.repair_data = 4,
				.seed = 1,
				.jobs = 1 };
	struct place *places;
	struct shared *shared;
	struct box box;
	unsigned depth;
	size_t count;
	bool good;

	if (parse(argc, argv, &set)) {
		fprintf(stderr,
			"tamper [--files N] [--bytes N] [--sample N] [--repair-data N] [--only BLOCK] [--seed S] "
			"[--jobs J]\n");
		return 2;
	}
	set.box.cipher = fc_provider_find(FC_CIPHER_AES256GCM) ? FC_CIPHER_AES256GCM : FC_CIPHER_XCHACHA20POLY1305;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fc_secret_init() || shared == MAP_FAILED || box_make(&box, &set.box))
		return 1;
	places = damage_places(box.sim, &count, &depth);
	good = places && is_sound(&box) && run_all(&set, &box, places, count, shared);
	if (places)
		print(&set, &box, shared, count, depth);
	printf("%s\n", good ? "all as it should be" : "something is wrong");
	free(places);
	box_free(&box);
	return good ? 0 : 1;
}
