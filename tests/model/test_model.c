/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random operations on a container and on the model: every answer and, often,
 * the whole tree must agree, also after closing, opening, and power cuts.
 *
 *     test_model [--seed S] [--runs N] [--steps N] [--profile wide|small|bulk] [--verbose]
 *
 * Run n of seed S is run 0 of seed S + n: what a failure prints repeats it.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "blame.h"
#include "drive.h"

struct settings {
	uint64_t seed, runs, steps;
	const struct fc_profile *profile;
	bool verbose;
};

static const struct option options[] = {
	{ "seed", required_argument, NULL, 's' },  { "runs", required_argument, NULL, 'r' },
	{ "steps", required_argument, NULL, 'n' }, { "profile", required_argument, NULL, 'p' },
	{ "verbose", no_argument, NULL, 'v' },     { NULL, 0, NULL, 0 },
};

static const struct {
	const char *name;
	const struct fc_profile *profile;
} profiles[] = { { "wide", &fc_profile_wide }, { "small", &fc_profile_small }, { "bulk", &fc_profile_bulk } };

static const struct fc_profile *profile(const char *name)
{
	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++)
		if (strcmp(profiles[i].name, name) == 0)
			return profiles[i].profile;
	return NULL;
}

static const char *profile_name(const struct fc_profile *p)
{
	size_t i = 0;

	while (profiles[i].profile != p)
		i++;
	return profiles[i].name;
}

static int parse(int argc, char **argv, struct settings *set)
{
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (c) {
		case 's':
			set->seed = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			set->runs = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			set->steps = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			set->profile = profile(optarg);
			break;
		case 'v':
			set->verbose = true;
			break;
		default:
			return -1;
		}
	}
	return optind == argc && set->profile ? 0 : -1;
}

/* Steps until one differs; then they can be run again with --verbose. */
static enum fc_drive_end steps(const struct settings *set, struct fc_drive *d, struct fc_script *script)
{
	enum fc_drive_end end = fc_drive_open(d, false);

	for (uint64_t i = 0; end == FC_DRIVE_SAME && i < set->steps; i++) {
		struct fc_step step;

		fc_script_next(script, d->model, &step);
		if (set->verbose) {
			printf("%llu ", (unsigned long long)i);
			fc_step_print(stdout, &step);
			fflush(stdout);
		}
		end = fc_drive_step(d, &step);
		if (end != FC_DRIVE_SAME && !set->verbose) {
			printf("%llu ", (unsigned long long)i);
			fc_step_print(stdout, &step);
		}
	}
	if (end == FC_DRIVE_SAME)
		end = fc_drive_compare(d, FC_WALK_WHOLE | FC_WALK_PLUS, false);
	return end == FC_DRIVE_SAME ? fc_drive_close(d) : end;
}

static int run(const struct settings *set, uint64_t seed, uint64_t count[FC_STEP_KINDS][2])
{
	struct fc_script script = { .profile = set->profile, .state = seed };
	uint32_t cipher = seed & 1 ? FC_CIPHER_AES256GCM : FC_CIPHER_XCHACHA20POLY1305;
	struct fc_drive d;
	struct fc_disk disk;
	enum fc_drive_end end;

	fc_blame("test_model --seed %llu --runs 1 --steps %llu --profile %s --verbose", (unsigned long long)seed,
		 (unsigned long long)set->steps, profile_name(set->profile));
	fc_disk_format(&disk, cipher, fc_script_time(0));
	fc_drive_init(&d, &disk, fc_model_new(0, 0, fc_script_time(0)));
	end = steps(set, &d, &script);
	if (end != FC_DRIVE_SAME)
		printf("differs: %s\nagain: %s\n", d.message, fc_blame_text());
	for (int i = 0; i < FC_STEP_KINDS; i++) {
		count[i][0] += d.count[i][0];
		count[i][1] += d.count[i][1];
	}
	fc_drive_free(&d);
	fc_disk_free(&disk);
	return end == FC_DRIVE_SAME ? 0 : 1;
}

/* A long run that never got a kind of step done tests less than it says. */
static int report(const struct settings *set, uint64_t count[FC_STEP_KINDS][2])
{
	int bad = 0;

	printf("done/refused:");
	for (int i = 0; i < FC_STEP_KINDS; i++) {
		printf(" %s %llu/%llu", fc_step_name((enum fc_step_kind)i), (unsigned long long)count[i][0],
		       (unsigned long long)count[i][1]);
		if (set->runs * set->steps >= 20000 && set->profile->weight[i] && !count[i][0])
			bad = 1;
	}
	printf("\n");
	return bad;
}

int main(int argc, char **argv)
{
	struct settings set = { .seed = 1, .runs = 20, .steps = 2000, .profile = &fc_profile_wide };
	uint64_t count[FC_STEP_KINDS][2] = { 0 };
	int bad = 0;

	if (parse(argc, argv, &set)) {
		fprintf(stderr, "usage: test_model [--seed S] [--runs N] [--steps N] [--profile wide|small|bulk] "
				"[--verbose]\n");
		return 2;
	}
	for (uint64_t i = 0; i < set.runs && !bad; i++)
		bad = run(&set, set.seed + i, count);
	if (!bad)
		bad = report(&set, count);
	printf("%s: %llu runs of %llu steps from seed %llu\n", bad ? "FAILED" : "ok", (unsigned long long)set.runs,
	       (unsigned long long)set.steps, (unsigned long long)set.seed);
	return bad;
}
