/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Simulated power cuts (DESIGN R4): runs are recorded on a simulated disk, and
 * every state that a crash may leave is opened and compared with the model.
 *
 *     crash [--states N] [--runs N] [--sequences L] [--seed S] [--jobs J]
 *
 * First every sequence of up to L operations, then N random runs of at least
 * five commits each; then more of them until N states, of both together, that are
 * distinct by content were tried. `--only I` with --sequences does the I-th sequence of
 * length L alone.
 */
#include <getopt.h>
#include <stdlib.h>

#include "blame.h"
#include "explore.h"
#include "parallel.h"
#include "sequence.h"

#define STEPS 60u
#define COMMIT_EVERY 10u
#define BUSY_EVERY 8u /* one run in so many has a thread that commits beside it */
#define BULK_EVERY 6u /* one in so many writes more */

struct settings {
	uint64_t states, runs, seed, only;
	uint64_t random_states; /* those that the sequences leave to do */
	unsigned sequences, jobs;
	bool one;
};

static const struct option options[] = {
	{ "states", required_argument, NULL, 'n' },
	{ "runs", required_argument, NULL, 'r' },
	{ "seed", required_argument, NULL, 's' },
	{ "sequences", required_argument, NULL, 'l' },
	{ "jobs", required_argument, NULL, 'j' },
	{ "only", required_argument, NULL, 'o' },
	{ NULL, 0, NULL, 0 },
};

static int parse(int argc, char **argv, struct settings *set)
{
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		uint64_t n = optarg ? strtoull(optarg, NULL, 0) : 0;

		switch (c) {
		case 'n':
			set->states = n;
			break;
		case 'r':
			set->runs = n;
			break;
		case 's':
			set->seed = n;
			break;
		case 'l':
			set->sequences = (unsigned)n;
			break;
		case 'j':
			set->jobs = (unsigned)n;
			break;
		case 'o':
			set->only = n;
			set->one = true;
			break;
		default:
			return -1;
		}
	}
	return optind == argc && set->sequences <= FC_SEQUENCE_OPERATIONS_MAX && set->runs ? 0 : -1;
}

static void add(struct fc_tally *t, const struct fc_record *r, const struct fc_explore *x, bool bad)
{
	t->runs++;
	t->steps += r->steps;
	t->commits += r->root_count;
	t->tried = x->tried;
	t->distinct = x->distinct;
	t->recoveries = x->recoveries;
	t->bad += bad;
}

/* ---- random runs -------------------------------------------------------------- */

static enum fc_drive_end random_steps(struct fc_record *r, struct fc_script *script)
{
	enum fc_drive_end end = FC_DRIVE_SAME;

	for (unsigned i = 0; end == FC_DRIVE_SAME && i < STEPS; i++) {
		struct fc_step step;

		fc_script_next(script, r->drive.model, &step);
		if (i % COMMIT_EVERY == COMMIT_EVERY - 1)
			step.kind = FC_STEP_COMMIT;
		end = fc_record_step(r, &step);
	}
	return end;
}

static void random_run(const struct fc_disk *base, uint64_t seed, struct fc_explore *x, struct fc_tally *tally)
{
	struct fc_model *model = fc_model_new(0, 0, fc_script_time(0));
	struct fc_record r;
	enum fc_drive_end end;
	bool bad;

	fc_blame("crash --sequences 0 --runs 1 --states %llu --jobs 1 --seed %llu", (unsigned long long)x->budget - 1,
		 (unsigned long long)seed);
	x->random = (struct fc_script){ .profile = seed % BULK_EVERY ? &fc_profile_small : &fc_profile_bulk,
					.state = seed };
	fc_record_init(&r, base, model, 0, NULL);
	end = fc_record_open(&r);
	if (seed % BUSY_EVERY == 0)
		fc_record_busy(&r);
	if (end == FC_DRIVE_SAME)
		end = random_steps(&r, &x->random);
	fc_record_end(&r);
	bad = end != FC_DRIVE_SAME;
	if (bad) {
		fc_record_print(&r, r.steps, r.events);
		fprintf(stderr, "the run itself differs: %s\n", r.drive.message);
	} else {
		bad = fc_explore(x, &r) != 0;
	}
	if (bad)
		fprintf(stderr, "again: %s\n", fc_blame_text());
	add(tally, &r, x, bad);
	fc_record_free(&r);
	fc_model_free(model);
}

static void random_runs(void *arg, unsigned job, unsigned jobs, struct fc_tally *tally)
{
	const struct settings *set = arg;
	struct fc_explore x = { .seen = fc_seen_new(), .samples = 8, .recover = 40 };
	struct fc_disk base[2]; /* one a cipher */

	x.budget = set->states / set->runs + 1;
	fc_disk_format(&base[0], FC_CIPHER_XCHACHA20POLY1305, fc_script_time(0));
	fc_disk_format(&base[1], FC_CIPHER_AES256GCM, fc_script_time(0));
	for (uint64_t i = job; !tally->bad; i += jobs) {
		if (i >= set->runs && tally->distinct >= set->random_states / jobs)
			break;
		random_run(&base[(set->seed + i) % 2], set->seed + i, &x, tally);
	}
	fc_disk_free(&base[0]);
	fc_disk_free(&base[1]);
	fc_seen_free(x.seen);
}

/* ---- sequences ------------------------------------------------------------------ */

/* The tree that sequences begin with. */
static void make_tree(struct fc_disk *disk, struct fc_model **model)
{
	const struct fc_step *steps;
	size_t n = fc_sequence_tree(&steps);
	struct fc_drive d;

	fc_disk_format(disk, FC_CIPHER_AES256GCM, fc_script_time(0));
	fc_drive_init(&d, disk, fc_model_new(0, 0, fc_script_time(0)));
	if (fc_drive_open(&d, false) != FC_DRIVE_SAME)
		abort();
	for (size_t i = 0; i < n; i++) {
		struct fc_step step = steps[i];

		step.now = fc_script_time(1 + i);
		if (fc_drive_step(&d, &step) != FC_DRIVE_SAME) {
			fprintf(stderr, "the tree of the sequences: %s\n", d.message);
			abort();
		}
	}
	if (fc_drive_close(&d) != FC_DRIVE_SAME)
		abort();
	*model = fc_model_clone(d.model);
	fc_model_reopen(*model);
	fc_drive_free(&d);
}

static void sequence_run(const struct fc_disk *base, const struct fc_model *model, unsigned length, uint64_t index,
			 struct fc_explore *x, struct fc_tally *tally)
{
	struct fc_step steps[FC_SEQUENCE_STEPS_MAX];
	size_t n = fc_sequence(length, index, steps);
	struct fc_record r;
	enum fc_drive_end end;
	bool bad;

	fc_blame("crash --sequences %u --only %llu", length, (unsigned long long)index);
	x->random = (struct fc_script){ .profile = &fc_profile_small, .state = index };
	fc_record_init(&r, base, model, 0, NULL);
	end = fc_record_open(&r);
	for (size_t i = 0; end == FC_DRIVE_SAME && i < n; i++)
		end = fc_record_step(&r, &steps[i]);
	fc_record_end(&r);
	bad = end != FC_DRIVE_SAME;
	if (bad) {
		fc_record_print(&r, r.steps, r.events);
		fprintf(stderr, "the sequence itself differs: %s\n", r.drive.message);
	} else {
		bad = fc_explore(x, &r) != 0;
	}
	if (bad)
		fprintf(stderr, "again: %s\n", fc_blame_text());
	add(tally, &r, x, bad);
	fc_record_free(&r);
}

static void sequences(void *arg, unsigned job, unsigned jobs, struct fc_tally *tally)
{
	const struct settings *set = arg;
	struct fc_explore x = { .seen = fc_seen_new(), .samples = 4, .recover = 200 };
	struct fc_model *model;
	struct fc_disk base;

	make_tree(&base, &model);
	for (unsigned length = set->one ? set->sequences : 1; !tally->bad && length <= set->sequences; length++) {
		uint64_t count = set->one ? set->only + 1 : fc_sequence_count(length);

		for (uint64_t i = set->one ? set->only : job; !tally->bad && i < count; i += jobs)
			sequence_run(&base, model, length, i, &x, tally);
	}
	fc_disk_free(&base);
	fc_model_free(model);
	fc_seen_free(x.seen);
}

static void print(const char *what, const struct fc_tally *t)
{
	printf("%s: %llu runs, %llu steps, %llu commits; %llu states tried, %llu distinct, %llu recoveries cut again: "
	       "%s\n",
	       what, (unsigned long long)t->runs, (unsigned long long)t->steps, (unsigned long long)t->commits,
	       (unsigned long long)t->tried, (unsigned long long)t->distinct, (unsigned long long)t->recoveries,
	       t->bad ? "WRONG" : "all right");
}

int main(int argc, char **argv)
{
	struct settings set = { .states = 100000, .runs = 1000, .seed = 1, .sequences = 2, .jobs = fc_parallel_jobs() };
	struct fc_tally first = { 0 }, second = { 0 };

	if (parse(argc, argv, &set)) {
		fprintf(stderr,
			"usage: crash [--states N] [--runs N] [--sequences 0..3 [--only I]] [--seed S] [--jobs J]\n");
		return 2;
	}
	if (set.sequences) {
		fc_parallel(set.one ? 1 : set.jobs, sequences, &set, &first);
		print("sequences", &first);
		fflush(stdout);
	}
	if (!set.one && !first.bad) {
		set.random_states = first.distinct < set.states ? set.states - first.distinct : 0;
		fc_parallel(set.jobs, random_runs, &set, &second);
		print("random", &second);
	}
	printf("crash: seed %llu, %llu states tried, %llu distinct\n", (unsigned long long)set.seed,
	       (unsigned long long)(first.tried + second.tried),
	       (unsigned long long)(first.distinct + second.distinct));
	return first.bad || second.bad;
}
