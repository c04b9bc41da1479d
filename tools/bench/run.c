/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "progress.h"
#include "run.h"

#define DROP_CACHES "/proc/sys/vm/drop_caches"

bool fc_run_can_drop(void)
{
	return !access(DROP_CACHES, W_OK);
}

static bool drop_caches(void)
{
	int fd = open(DROP_CACHES, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool done = write(fd, "3\n", 2) == 2;
	close(fd);
	return done;
}

int fc_run_make_durable(struct bench_step *step, const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fc_step_fail_errno(step, "%s", dir);
	int result = 0;
	if (syncfs(fd))
		result = fc_step_fail_errno(step, "syncfs");
	/* Some file systems have no fsync for directories. */
	else if (fsync(fd) && errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
		result = fc_step_fail_errno(step, "fsync");
	close(fd);
	sync();
	return result;
}

/* ---- processor time ------------------------------------------------------ */

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double cpu_of_work(void)
{
	struct rusage self, children;
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return seconds(self.ru_utime) + seconds(self.ru_stime) + seconds(children.ru_utime) +
	       seconds(children.ru_stime);
}

static double cpu_of_daemon(pid_t pid)
{
	clockid_t clock;
	struct timespec t;
	if (pid <= 0 || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return NAN;
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* All that the processors did, the kernel's own threads included. */
static double cpu_of_machine(void)
{
	unsigned long long user, nice, system, idle, wait, irq, softirq;
	FILE *f = fopen("/proc/stat", "re");
	if (!f)
		return NAN;
	int n = fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq,
		       &softirq);
	fclose(f);
	if (n != 7)
		return NAN;
	return (double)(user + nice + system + irq + softirq) / (double)sysconf(_SC_CLK_TCK);
}

#define QUIET_TICK 0.05     /* seconds */
#define QUIET_SHARE 0.05    /* of a processor */
#define QUIET_PATIENCE 10.0 /* seconds */

/* A daemon may put work off: what an earlier part left to it must not disturb the
 * next, and belongs to the part that caused it. */
static void wait_until_quiet(pid_t daemon)
{
	double until = fc_bench_now() + QUIET_PATIENCE, before = cpu_of_daemon(daemon);
	while (isfinite(before) && fc_bench_now() < until) {
		struct timespec tick = { .tv_nsec = (long)(QUIET_TICK * 1e9) };
		nanosleep(&tick, NULL);
		double now = cpu_of_daemon(daemon);
		if (now - before < QUIET_TICK * QUIET_SHARE)
			return;
		before = now;
	}
}

/* ---- one sample ----------------------------------------------------------- */

static int timed(struct bench_step *step, const struct bench_part *part)
{
	struct bench_sample *s = &step->shared->sample;
	pid_t daemon = step->place->daemon;
	double machine = cpu_of_machine(), served = cpu_of_daemon(daemon), work = cpu_of_work();
	double begin = fc_bench_now();
	if (part->run(step))
		return -1;
	s->ended = fc_bench_now() - begin;
	if (part->flags & PART_WRITES) {
		if (fc_run_make_durable(step, "."))
			return -1;
		s->durable = fc_bench_now() - begin;
	}
	s->cpu_work = cpu_of_work() - work;
	s->cpu_machine = cpu_of_machine() - machine;
	wait_until_quiet(daemon);
	s->cpu_daemon = cpu_of_daemon(daemon) - served;
	return 0;
}

static int measure(struct bench_step *step, const void *arg)
{
	const struct bench_part *part = arg;
	struct bench_sample *s = &step->shared->sample;
	step->part = part;
	memset(s, 0, sizeof(*s));
	s->durable = NAN;
	for (unsigned i = 0; i < BENCH_VALUES; i++)
		s->value[i] = NAN;
	if (part->prepare && part->prepare(step))
		return -1;
	fc_step_progress(step, 0, 0);
	/* What earlier work left to be written is not this one's cost. */
	if (fc_run_make_durable(step, "."))
		return -1;
	wait_until_quiet(step->place->daemon);
	s->cold = part->flags & PART_COLD && drop_caches();
	if (timed(step, part))
		return -1;
	fc_step_progress(step, 0, 0);
	return part->verify ? part->verify(step) : 0;
}

static void keep_sample(struct bench *bench, const struct bench_raw *raw)
{
	if (bench->raws == bench->raws_room) {
		bench->raws_room = bench->raws_room ? bench->raws_room * 2 : 64;
		struct bench_raw *more = fc_bench_alloc(bench->raws_room * sizeof(*more));
		if (bench->raws)
			memcpy(more, bench->raw, bench->raws * sizeof(*more));
		free(bench->raw);
		bench->raw = more;
	}
	bench->raw[bench->raws++] = *raw;
}

/* ---- one workload --------------------------------------------------------- */

struct job {
	struct bench *bench;
	const struct bench_workload *workload;
	char *stock;             /* directory of the shared material */
	char *dir[BENCH_PLACES]; /* its directory in each place */
	struct bench_outcome *outcome;
	unsigned steps; /* not yet done */
};

unsigned fc_run_steps(const struct bench *bench, const struct bench_workload *w)
{
	return bench->places * ((w->setup ? 1 : 0) + bench->options->runs * w->parts) + (w->stock ? 1 : 0);
}

static struct bench_step step_in(const struct job *job, unsigned place)
{
	return (struct bench_step){ .bench = job->bench,
				    .place = &job->bench->place[place],
				    .stock = job->stock,
				    .shared = job->bench->shared };
}

static int outcome_failed(struct job *job, unsigned place, const char *what)
{
	if (!job->bench->interrupted) {
		job->outcome->status = BENCH_FAILED;
		job->outcome->reason =
			fc_bench_format("%s: %s: %s", job->bench->place[place].name, what, job->bench->shared->error);
	}
	return -1;
}

static int do_step(struct job *job, unsigned place, const char *dir, const char *what, bench_step_fn fn,
		   const void *arg)
{
	struct bench_step step = step_in(job, place);
	char shown[160];
	snprintf(shown, sizeof(shown), "%s · %s · %s", job->workload->name, job->bench->place[place].name, what);
	int result = fc_step_run(job->bench, &step, dir, shown, fn, arg);
	fc_progress_advance(job->bench->progress, 1);
	job->steps--;
	return result ? outcome_failed(job, place, what) : 0;
}

static int call(struct bench_step *step, const void *arg)
{
	return (*(int (*const *)(struct bench_step *))arg)(step);
}

static int material(struct job *job)
{
	const struct bench_workload *w = job->workload;
	struct bench *bench = job->bench;
	memset(bench->shared->keep, 0, sizeof(bench->shared->keep));
	bench->shared->note[0] = '\0';
	for (unsigned p = 0; p < bench->places; p++)
		if (mkdir(job->dir[p], 0755) || (p == 0 && w->stock && mkdir(job->stock, 0755))) {
			snprintf(bench->shared->error, sizeof(bench->shared->error), "%s: %s", job->dir[p],
				 strerror(errno));
			return outcome_failed(job, p, "preparing");
		}
	if (w->stock && do_step(job, 0, job->stock, "making the material", call, &w->stock))
		return -1;
	for (unsigned p = 0; w->setup && p < bench->places; p++)
		if (do_step(job, p, job->dir[p], "preparing", call, &w->setup))
			return -1;
	if (bench->shared->note[0])
		bench->note[bench->notes++] = fc_bench_format("%s: %s", w->name, bench->shared->note);
	return 0;
}

static int one_run(struct job *job, unsigned run)
{
	const struct bench_workload *w = job->workload;
	char what[100];
	for (unsigned p = 0; p < job->bench->places; p++)
		for (unsigned i = 0; i < w->parts; i++) {
			snprintf(what, sizeof(what), "%s, run %u of %u", fc_part_name(&w->part[i]), run + 1,
				 job->bench->options->runs);
			if (do_step(job, p, job->dir[p], what, measure, &w->part[i]))
				return -1;
			struct bench_raw raw = { .workload = w,
						 .part = &w->part[i],
						 .place = p,
						 .run = run,
						 .sample = job->bench->shared->sample };
			keep_sample(job->bench, &raw);
		}
	return 0;
}

static int remove_path(struct bench_step *step, const void *arg)
{
	const char *path = arg;
	int error = fc_files_remove(path);
	return error ? fc_step_fail(step, "%s: %s", path, strerror(error)) : 0;
}

static void remove_all(struct job *job)
{
	struct bench *bench = job->bench;
	struct bench_step first = step_in(job, 0);
	if (job->workload->cleanup && fc_step_finish(bench, &first, "/", call, &job->workload->cleanup))
		fc_progress_say(bench->progress, "fusecrypt-bench: %s: %s", job->workload->name, bench->shared->error);
	for (unsigned p = 0; p <= bench->places; p++) {
		struct bench_step step = step_in(job, p < bench->places ? p : 0);
		const char *path = p < bench->places ? job->dir[p] : job->stock;
		if (fc_step_finish(bench, &step, "/", remove_path, path))
			fc_progress_say(bench->progress, "fusecrypt-bench: could not remove what %s left: %s",
					job->workload->name, bench->shared->error);
	}
}

static void tell(const struct job *job)
{
	const struct bench_outcome *o = job->outcome;
	struct bench_progress *p = job->bench->progress;
	if (job->bench->interrupted)
		return;
	if (o->status == BENCH_MEASURED)
		fc_progress_say(p, "%s: measured", o->workload->name);
	else if (o->status == BENCH_MISSING)
		fc_progress_say(p, "%s: skipped: %s (%s)", o->workload->name, o->reason, o->install);
	else
		fc_progress_say(p, "%s: FAILED: %s", o->workload->name, o->reason);
}

/* Samples of a workload that failed half-way would be compared unevenly. */
static void forget_samples(struct bench *bench, const struct bench_workload *workload)
{
	while (bench->raws && bench->raw[bench->raws - 1].workload == workload)
		bench->raws--;
}

void fc_run_workload(struct bench *bench, const struct bench_workload *w)
{
	struct job job = { .bench = bench, .workload = w, .outcome = &bench->outcome[bench->outcomes++] };
	*job.outcome = (struct bench_outcome){ .workload = w };
	job.steps = fc_run_steps(bench, w);
	if (w->available && w->available(bench, &job.outcome->reason, &job.outcome->install)) {
		job.outcome->status = BENCH_MISSING;
	} else {
		job.stock = fc_bench_format("%s/%s.stock", bench->place[0].work, w->name);
		for (unsigned p = 0; p < bench->places; p++)
			job.dir[p] = fc_bench_format("%s/%s", bench->place[p].work, w->name);
		int result = material(&job);
		for (unsigned run = 0; !result && run < bench->options->runs; run++)
			result = one_run(&job, run);
		if (result)
			forget_samples(bench, w);
		remove_all(&job);
		free(job.stock);
		for (unsigned p = 0; p < bench->places; p++)
			free(job.dir[p]);
	}
	fc_progress_advance(bench->progress, job.steps);
	tell(&job);
}
