/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parallel.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX 64u

unsigned fc_parallel_jobs(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > (long)JOBS_MAX ? JOBS_MAX : (unsigned)n;
}

static void add(struct fc_tally *sum, const struct fc_tally *t)
{
	sum->runs += t->runs;
	sum->steps += t->steps;
	sum->commits += t->commits;
	sum->tried += t->tried;
	sum->distinct += t->distinct;
	sum->recoveries += t->recoveries;
	sum->bad += t->bad;
}

void fc_parallel(unsigned jobs, void (*work)(void *arg, unsigned job, unsigned jobs, struct fc_tally *tally), void *arg,
		 struct fc_tally *sum)
{
	int from[JOBS_MAX];
	pid_t pid[JOBS_MAX];

	memset(sum, 0, sizeof(*sum));
	jobs = jobs < 1 ? 1 : jobs > JOBS_MAX ? JOBS_MAX : jobs;
	fflush(NULL);
	for (unsigned i = 0; i < jobs; i++) {
		int ends[2];

		if (pipe(ends)) {
			perror("pipe");
			exit(2);
		}
		pid[i] = fork();
		if (pid[i] < 0) {
			perror("fork");
			exit(2);
		}
		if (pid[i] == 0) {
			struct fc_tally tally = { 0 };

			close(ends[0]);
			work(arg, i, jobs, &tally);
			fflush(NULL);
			_exit(write(ends[1], &tally, sizeof(tally)) == sizeof(tally) ? 0 : 1);
		}
		close(ends[1]);
		from[i] = ends[0];
	}
	for (unsigned i = 0; i < jobs; i++) {
		struct fc_tally tally = { 0 };
		int status = 0;
		bool told = read(from[i], &tally, sizeof(tally)) == sizeof(tally);

		close(from[i]);
		if (waitpid(pid[i], &status, 0) != pid[i] || status || !told)
			tally.bad++;
		add(sum, &tally);
	}
}
