/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Failing disks (DESIGN R5, R10): a run is repeated with each of its calls to
 * the disk failing in turn, once or from then on; and with the host's disk full
 * at each size. A step that fails changes nothing and says why, everything else
 * goes on as the model says or fails as cleanly, and what was acknowledged is
 * there after a power cut.
 *
 *     faults [--seed S] [--seeds N] [--steps N] [--jobs J] [--case KIND:N:ERROR:ALWAYS | --full BYTES]
 */
#include <getopt.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "blame.h"
#include "explore.h"
#include "parallel.h"

#define COMMIT_EVERY 12u
#define STEPS_BEFORE 40u /* in a container that was in use */
#define FULL_STEP (16u << 10)

static const char *const kinds[FC_SIM_KINDS] = { "read", "write", "sync", "punch", "allocate" };

struct plan {
	enum fc_sim_kind kind;
	uint64_t n; /* the n-th call fails */
	int error;
	bool always;    /* and all later ones */
	uint64_t limit; /* or: what the disk may hold */
};

struct settings {
	uint64_t seed, seeds, steps;
	unsigned jobs;
	bool one;
	struct plan plan;
};

struct job {
	const struct settings *set;
	struct fc_disk base;
	struct fc_model *model; /* of base */
	uint64_t seed;
	struct fc_tally *tally;
};

static const struct option options[] = {
	{ "seed", required_argument, NULL, 's' },
	{ "seeds", required_argument, NULL, 'n' },
	{ "steps", required_argument, NULL, 't' },
	{ "jobs", required_argument, NULL, 'j' },
	{ "case", required_argument, NULL, 'c' },
	{ "full", required_argument, NULL, 'f' },
	{ NULL, 0, NULL, 0 },
};

static int parse_case(const char *text, struct plan *plan)
{
	unsigned kind, always;
	unsigned long long n;

	if (sscanf(text, "%u:%llu:%d:%u", &kind, &n, &plan->error, &always) != 4 || kind >= FC_SIM_KINDS)
		return -1;
	plan->kind = (enum fc_sim_kind)kind;
	plan->n = n;
	plan->always = always;
	return 0;
}

static int parse(int argc, char **argv, struct settings *set)
{
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		uint64_t n = optarg ? strtoull(optarg, NULL, 0) : 0;

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
		case 'c':
			set->one = true;
			if (parse_case(optarg, &set->plan))
				return -1;
			break;
		case 'f':
			set->one = true;
			set->plan.limit = n;
			break;
		default:
			return -1;
		}
	}
	return optind == argc ? 0 : -1;
}

/* ---- one case ------------------------------------------------------------------ */

struct run {
	struct fc_record r;
	const struct plan *plan;
	struct fc_explore x;
	const char *what; /* went wrong */
	size_t met;       /* steps that failed because of the fault */
	size_t silent;    /* steps that were done although one of their reads failed */
};

static enum fc_drive_end bad(struct run *run, const char *what)
{
	run->what = what;
	return FC_DRIVE_DIFFERS;
}

/* With a full disk these must work all the same. */
static bool needs_no_space(const struct fc_step *s, const struct fc_model *m)
{
	switch (s->kind) {
	case FC_STEP_SETATTR:
		return !(s->set.valid & FC_SET_SIZE) || s->set.size <= fc_model_attr(m, s->node)->size;
	case FC_STEP_LOOKUP:
	case FC_STEP_UNLINK:
	case FC_STEP_RMDIR:
	case FC_STEP_READ:
	case FC_STEP_SEEK:
	case FC_STEP_SCAN:
	case FC_STEP_GETATTR:
	case FC_STEP_GETXATTR:
	case FC_STEP_REMOVEXATTR:
	case FC_STEP_SYNC:
	case FC_STEP_COMMIT:
	case FC_STEP_BACKGROUND:
	case FC_STEP_REOPEN:
		return true;
	default:
		return false;
	}
}

static bool wants_durable(enum fc_step_kind kind)
{
	return kind == FC_STEP_SYNC || kind == FC_STEP_COMMIT || kind == FC_STEP_REOPEN;
}

/* A step that was done although a call failed: only reads have another copy to
 * go to, or can be done again later. */
static enum fc_drive_end check_silence(struct run *run, const uint64_t before[FC_SIM_KINDS])
{
	const struct fc_disk *disk = &run->r.disk;

	run->silent += disk->failed[FC_SIM_READ] > before[FC_SIM_READ];
	if (disk->failed[FC_SIM_WRITE] > before[FC_SIM_WRITE] || disk->failed[FC_SIM_SYNC] > before[FC_SIM_SYNC])
		return bad(run, "it reported success although a write or sync failed");
	return FC_DRIVE_SAME;
}

/* One step, and what the rules say of how it ended. */
static enum fc_drive_end step(struct run *run, const struct fc_step *s, bool *sync_failed)
{
	struct fc_disk *disk = &run->r.disk;
	bool spared = run->plan->limit && needs_no_space(s, run->r.drive.model);
	uint64_t before[FC_SIM_KINDS];
	enum fc_drive_end end;

	for (int i = 0; i < FC_SIM_KINDS; i++)
		before[i] = disk->failed[i];
	end = fc_record_step(&run->r, s);
	if (end == FC_DRIVE_DIFFERS)
		return bad(run, run->r.drive.message);
	if (end == FC_DRIVE_FAULT) {
		run->met++;
		if (spared)
			return bad(run, "it needs no space, and failed on a full disk");
	} else if (*sync_failed && wants_durable(s->kind)) {
		return bad(run, "a sync reported success after one had failed (R10)");
	} else if (!run->r.drive.error && !(s->kind == FC_STEP_COMPACT && run->plan->error == FC_ENOSPC)) {
		/* (compacting ends where there is no room) */
		end = check_silence(run, before);
	}
	*sync_failed = disk->failed[FC_SIM_SYNC] > 0;
	return end == FC_DRIVE_FAULT ? FC_DRIVE_SAME : end;
}

static enum fc_drive_end steps(struct run *run, struct fc_script *script, uint64_t n)
{
	enum fc_drive_end end = FC_DRIVE_SAME;
	bool sync_failed = false;

	for (uint64_t i = 0; end == FC_DRIVE_SAME && i < n && run->r.drive.fs; i++) {
		struct fc_step s;

		fc_script_next(script, run->r.drive.model, &s);
		if (i % COMMIT_EVERY == COMMIT_EVERY - 1)
			s.kind = FC_STEP_COMMIT;
		end = step(run, &s, &sync_failed);
	}
	return end;
}

static void break_disk(struct fc_io *sim, const struct plan *plan)
{
	if (plan->limit)
		fc_io_sim_limit(sim, plan->limit);
	else if (plan->n)
		fc_io_sim_fail(sim, plan->kind, plan->n, plan->error, plan->always);
}

static void mend_disk(struct fc_io *sim, const struct plan *plan)
{
	fc_io_sim_limit(sim, 0);
	fc_io_sim_fail(sim, plan->kind, 0, 0, false);
}

/* The disk is whole again: what is in memory is right, and a sync that says
 * success means it. */
static enum fc_drive_end afterwards(struct run *run)
{
	struct fc_step sync = { .kind = FC_STEP_SYNC, .now = run->r.drive.now };
	bool failed = run->r.disk.failed[FC_SIM_SYNC] > 0;

	mend_disk(run->r.disk.sim, run->plan);
	if (!run->r.drive.fs)
		return FC_DRIVE_SAME;
	if (fc_drive_compare(&run->r.drive, FC_WALK_WHOLE, false) != FC_DRIVE_SAME)
		return bad(run, run->r.drive.message);
	return step(run, &sync, &failed);
}

static int one_case(struct job *job, const struct plan *plan, uint64_t calls[FC_SIM_KINDS])
{
	struct fc_script script = { .profile = &fc_profile_small, .state = job->seed };
	struct run run = { .plan = plan, .x = { .samples = 6, .random = script } };
	enum fc_drive_end end;

	fc_record_init(&run.r, &job->base, job->model, 0, NULL);
	run.r.drive.faults = FC_ERR(FC_EIO) | FC_ERR(FC_ENOSPC) | FC_ERR(FC_EROFS);
	break_disk(run.r.disk.sim, plan);
	end = fc_record_open(&run.r);
	if (end == FC_DRIVE_SAME)
		end = steps(&run, &script, job->set->steps);
	else if (end == FC_DRIVE_FAULT)
		end = plan->limit ? bad(&run, "does not open on a full disk") : FC_DRIVE_SAME;
	if (end == FC_DRIVE_SAME)
		end = afterwards(&run);
	for (int i = 0; calls && i < FC_SIM_KINDS; i++)
		calls[i] = run.r.disk.calls[i];
	fc_record_end(&run.r);
	run.x.seen = fc_seen_new();
	if (end == FC_DRIVE_SAME && fc_explore_end(&run.x, &run.r))
		end = bad(&run, "a power cut afterwards");
	if (end != FC_DRIVE_SAME) {
		if (!run.x.tried) /* else it was shown */
			fc_record_print(&run.r, run.r.steps, run.r.events);
		fprintf(stderr, "wrong: %s\n", run.what ? run.what : run.r.drive.message);
	}
	job->tally->runs++;
	job->tally->steps += run.r.steps;
	job->tally->tried += run.x.tried;
	job->tally->distinct += run.met > 0;
	job->tally->recoveries += run.silent > 0;
	fc_seen_free(run.x.seen);
	fc_record_free(&run.r);
	return end != FC_DRIVE_SAME;
}

/* ---- all cases of a seed ---------------------------------------------------------- */

static void try_case(struct job *job, const struct plan *plan)
{
	if (job->tally->bad)
		return;
	if (plan->limit)
		fc_blame("faults --seed %llu --steps %llu --full %llu", (unsigned long long)job->seed,
			 (unsigned long long)job->set->steps, (unsigned long long)plan->limit);
	else
		fc_blame("faults --seed %llu --steps %llu --case %d:%llu:%d:%d (%s)", (unsigned long long)job->seed,
			 (unsigned long long)job->set->steps, plan->kind, (unsigned long long)plan->n, plan->error,
			 plan->always, kinds[plan->kind]);
	if (!one_case(job, plan, NULL))
		return;
	job->tally->bad++;
	fprintf(stderr, "again: %s\n", fc_blame_text());
}

static void failing_calls(struct job *job, enum fc_sim_kind kind, uint64_t calls)
{
	static const int errors[] = { FC_EIO, FC_ENOSPC };
	unsigned n = kind == FC_SIM_WRITE || kind == FC_SIM_ALLOCATE ? 2 : 1;

	for (uint64_t i = 1; i <= calls; i++)
		for (unsigned e = 0; e < n; e++)
			for (unsigned always = 0; always < 2; always++) {
				struct plan plan = { .kind = kind, .n = i, .error = errors[e], .always = always };

				try_case(job, &plan);
			}
}

static void full_disks(struct job *job, uint64_t from, uint64_t to)
{
	for (uint64_t limit = from; limit <= to; limit += FULL_STEP) {
		struct plan plan = { .limit = limit };

		try_case(job, &plan);
	}
}

static void all_cases(struct job *job)
{
	const struct plan none = { 0 };
	uint64_t calls[FC_SIM_KINDS], before, after;

	if (one_case(job, &none, calls)) {
		job->tally->bad++;
		return;
	}
	for (int kind = 0; kind < FC_SIM_KINDS; kind++)
		failing_calls(job, (enum fc_sim_kind)kind, calls[kind]);
	if (fc_io_allocated(job->base.sim, &before))
		return;
	after = before + (8u << 20);
	full_disks(job, before, after);
}

/* A container that is new; or one that was in use, with a log to replay. */
static void make_base(struct job *job)
{
	struct fc_script script = { .profile = &fc_profile_small, .state = job->seed + 1000000 };
	enum fc_drive_end end = FC_DRIVE_SAME;
	struct fc_drive d;

	fc_disk_format(&job->base, FC_CIPHER_AES256GCM, fc_script_time(0));
	fc_drive_init(&d, &job->base, fc_model_new(0, 0, fc_script_time(0)));
	if (job->seed % 2)
		end = fc_drive_open(&d, false);
	for (unsigned i = 0; end == FC_DRIVE_SAME && d.fs && i < STEPS_BEFORE; i++) {
		struct fc_step s;

		fc_script_next(&script, d.model, &s);
		if (i == STEPS_BEFORE / 2 || i == STEPS_BEFORE - 1)
			s.kind = i == STEPS_BEFORE / 2 ? FC_STEP_COMMIT : FC_STEP_SYNC;
		end = fc_drive_step(&d, &s);
	}
	if (end != FC_DRIVE_SAME) {
		fprintf(stderr, "before any fault: %s\n", d.message);
		abort();
	}
	job->model = fc_model_clone(d.model);
	fc_model_reopen(job->model);
	fc_drive_free(&d);
}

static void work(void *arg, unsigned number, unsigned jobs, struct fc_tally *tally)
{
	const struct settings *set = arg;
	struct job job = { .set = set, .tally = tally };

	for (uint64_t i = number; i < set->seeds && !tally->bad; i += jobs) {
		job.seed = set->seed + i;
		make_base(&job);
		if (set->one)
			try_case(&job, &set->plan);
		else
			all_cases(&job);
		fc_disk_free(&job.base);
		fc_model_free(job.model);
	}
}

int main(int argc, char **argv)
{
	struct settings set = { .seed = 1, .seeds = 4, .steps = 60, .jobs = fc_parallel_jobs() };
	struct fc_tally sum;

	if (parse(argc, argv, &set)) {
		fprintf(stderr, "usage: faults [--seed S] [--seeds N] [--steps N] [--jobs J] "
				"[--case KIND:N:ERROR:ALWAYS | --full BYTES]\n");
		return 2;
	}
	if (set.one)
		set.seeds = 1;
	fc_parallel(set.jobs, work, &set, &sum);
	printf("faults: seed %llu, %llu faults injected (%llu failed an operation, %llu reads were made good), "
	       "%llu crash states after them: %s\n",
	       (unsigned long long)set.seed, (unsigned long long)sum.runs, (unsigned long long)sum.distinct,
	       (unsigned long long)sum.recoveries, (unsigned long long)sum.tried, sum.bad ? "WRONG" : "all right");
	return sum.bad != 0;
}
