/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Failing allocations: a run is repeated with each of the library's allocations
 * failing in turn, once or from then on. A step that fails changes nothing, all
 * others go on as the model says, and what was acknowledged is there after a
 * power cut. The library's calls of malloc and the like are renamed when this is
 * linked (meson.build); libsodium's and libcrypto's are their own.
 *
 *     memory [--seed S] [--seeds N] [--steps N] [--jobs J] [--only N:ALWAYS]
 */
#include <getopt.h>
#include <stdlib.h>

#include "blame.h"
#include "explore.h"
#include "parallel.h"

#define COMMIT_EVERY 8u

/* ---- what the library calls ------------------------------------------------------ */

static bool armed;       /* only while the library works; one thread alone does */
static uint64_t calls;   /* while armed */
static uint64_t fail_at; /* 0: none */
static bool fail_always;
static uint64_t failed;

static bool fails(void)
{
	if (!armed)
		return false;
	calls++;
	if (!fail_at || (fail_always ? calls < fail_at : calls != fail_at))
		return false;
	failed++;
	return true;
}

void *fc_memory_malloc(size_t n);
void *fc_memory_calloc(size_t n, size_t bytes);
void *fc_memory_realloc(void *p, size_t n);
void *fc_memory_aligned_alloc(size_t align, size_t n);

void *fc_memory_malloc(size_t n)
{
	return fails() ? NULL : malloc(n);
}

void *fc_memory_calloc(size_t n, size_t bytes)
{
	return fails() ? NULL : calloc(n, bytes);
}

void *fc_memory_realloc(void *p, size_t n)
{
	return fails() ? NULL : realloc(p, n);
}

void *fc_memory_aligned_alloc(size_t align, size_t n)
{
	return fails() ? NULL : aligned_alloc(align, n);
}

/* ---- one run ---------------------------------------------------------------------- */

struct settings {
	uint64_t seed, seeds, steps, only;
	unsigned jobs;
	bool one, always;
};

static int wrong(const struct fc_record *r, const char *what)
{
	fc_record_print(r, r->steps, r->events);
	fprintf(stderr, "wrong: %s\nagain: %s\n", what, fc_blame_text());
	return 1;
}

static enum fc_drive_end step(struct fc_record *r, const struct fc_step *s)
{
	enum fc_drive_end end;

	armed = true;
	end = fc_record_step(r, s);
	armed = false;
	return end;
}

/* With allocation `at` failing; 0: none. *all: how many there were. */
static int run(const struct settings *set, const struct fc_disk *base, uint64_t seed, uint64_t at, bool always,
	       uint64_t *all, struct fc_tally *tally)
{
	struct fc_script script = { .profile = &fc_profile_small, .state = seed };
	struct fc_explore x = { .samples = 2, .random = script };
	struct fc_model *model = fc_model_new(0, 0, fc_script_time(0));
	struct fc_step last = { .kind = FC_STEP_SYNC };
	enum fc_drive_end end;
	struct fc_record r;
	int bad = 0;

	fc_record_init(&r, base, model, 0, NULL);
	r.drive.faults = FC_ERR(FC_ENOMEM) | FC_ERR(FC_EIO) | FC_ERR(FC_EROFS);
	calls = failed = 0;
	fail_at = at;
	fail_always = always;
	armed = true;
	end = fc_record_open(&r);
	armed = false;
	for (uint64_t i = 0; end != FC_DRIVE_DIFFERS && r.drive.fs && i < set->steps; i++) {
		struct fc_step s;

		fc_script_next(&script, r.drive.model, &s);
		if (i % COMMIT_EVERY == COMMIT_EVERY - 1)
			s.kind = i % (2 * COMMIT_EVERY) > COMMIT_EVERY ? FC_STEP_COMMIT : FC_STEP_SYNC;
		end = step(&r, &s);
		if (end == FC_DRIVE_FAULT && !failed)
			bad = wrong(&r, "a step failed although there was memory");
	}
	*all = calls;
	fail_at = 0;
	if (end == FC_DRIVE_DIFFERS)
		bad = wrong(&r, r.drive.message);
	if (!bad && r.drive.fs && fc_drive_compare(&r.drive, FC_WALK_WHOLE, false) != FC_DRIVE_SAME)
		bad = wrong(&r, r.drive.message);
	last.now = r.drive.now;
	if (!bad && r.drive.fs && fc_record_step(&r, &last) == FC_DRIVE_DIFFERS)
		bad = wrong(&r, r.drive.message);
	fc_record_end(&r);
	x.seen = fc_seen_new();
	if (!bad && fc_explore_end(&x, &r))
		bad = wrong(&r, "a power cut afterwards");
	tally->runs++;
	tally->tried += x.tried;
	tally->distinct += failed > 0;
	fc_seen_free(x.seen);
	fc_record_free(&r);
	fc_model_free(model);
	return bad;
}

static void work(void *arg, unsigned job, unsigned jobs, struct fc_tally *tally)
{
	const struct settings *set = arg;
	struct fc_disk base;

	fc_disk_format(&base, FC_CIPHER_AES256GCM, fc_script_time(0));
	for (uint64_t seed = set->seed; seed < set->seed + set->seeds && !tally->bad; seed++) {
		uint64_t all, ignored;

		fc_blame("memory --seed %llu --seeds 1 --steps %llu", (unsigned long long)seed,
			 (unsigned long long)set->steps);
		tally->bad += (uint64_t)run(set, &base, seed, 0, false, &all, tally);
		for (uint64_t n = 1 + job; n <= all * 2 && !tally->bad; n += jobs) {
			bool always = n > all;
			uint64_t at = always ? n - all : n;

			if (set->one && (at != set->only || always != set->always))
				continue;
			fc_blame("memory --seed %llu --seeds 1 --steps %llu --only %llu:%d", (unsigned long long)seed,
				 (unsigned long long)set->steps, (unsigned long long)at, always);
			tally->bad += (uint64_t)run(set, &base, seed, at, always, &ignored, tally);
		}
	}
	fc_disk_free(&base);
}

static const struct option options[] = {
	{ "seed", required_argument, NULL, 's' },  { "seeds", required_argument, NULL, 'n' },
	{ "steps", required_argument, NULL, 't' }, { "jobs", required_argument, NULL, 'j' },
	{ "only", required_argument, NULL, 'o' },  { NULL, 0, NULL, 0 },
};

static int parse(int argc, char **argv, struct settings *set)
{
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		char *rest = NULL;
		uint64_t n = optarg ? strtoull(optarg, &rest, 0) : 0;

		switch (c) {
		case 's':
			set->seed = n;
			break;
		case 'n':
			set->seeds = n;
			break;
		case 't':
			set->steps = n;
			break;
		case 'j':
			set->jobs = (unsigned)n;
			break;
		case 'o':
			set->one = true;
			set->only = n;
			set->always = rest && rest[0] == ':' && rest[1] == '1';
			break;
		default:
			return -1;
		}
	}
	return optind == argc ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct settings set = { .seed = 1, .seeds = 1, .steps = 40, .jobs = fc_parallel_jobs() };
	struct fc_tally sum;

	if (parse(argc, argv, &set)) {
		fprintf(stderr, "usage: memory [--seed S] [--seeds N] [--steps N] [--jobs J] [--only N:ALWAYS]\n");
		return 2;
	}
	fc_parallel(set.jobs, work, &set, &sum);
	printf("memory: seed %llu, %llu runs with an allocation failing, %llu crash states after them: %s\n",
	       (unsigned long long)set.seed, (unsigned long long)sum.distinct, (unsigned long long)sum.tried,
	       sum.bad ? "WRONG" : "all right");
	return sum.bad != 0;
}
