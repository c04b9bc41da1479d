/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "external.h"
#include "files.h"
#include "own.h"

#define KEY_BYTES 64
#define UNMOUNT_PATIENCE 300 /* seconds: what is not yet written is written now */
#define UNMOUNT_RETRY 20     /* seconds: something may still look around in it */
#define UNMOUNT_PAUSE 500000 /* microseconds between tries */

char *fc_own_find(const char *program_dir)
{
	char *beside = fc_external_find(program_dir, "fusecrypt");
	if (beside && !strncmp(beside, program_dir, strlen(program_dir)))
		return beside;
	/* As the build lays them out. */
	char *folder = fc_bench_format("%s/../src", program_dir);
	char *built = fc_external_find(folder, "fusecrypt");
	free(folder);
	free(beside);
	return built;
}

static int make_key(const char *path)
{
	uint8_t key[KEY_BYTES];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool done = fd >= 0 && getrandom(key, sizeof(key), 0) == KEY_BYTES && write(fd, key, KEY_BYTES) == KEY_BYTES;
	explicit_bzero(key, sizeof(key));
	if (fd >= 0 && close(fd))
		done = false;
	if (!done)
		fc_bench_warn("%s: %s", path, strerror(errno));
	return done ? 0 : -1;
}

static int run_program(struct bench_step *step, const void *arg)
{
	return fc_external_run(step, arg, NULL);
}

static int fusecrypt(struct bench *bench, const struct bench_own *own, const char *const argv[], bool to_the_end)
{
	struct bench_step step = { .bench = bench, .shared = bench->shared };
	int result = to_the_end ? fc_step_finish(bench, &step, own->dir, run_program, argv)
				: fc_step_run(bench, &step, own->dir, argv[1], run_program, argv);
	return result;
}

int fc_own_open(struct bench *bench, struct bench_own *own, const char *beside)
{
	own->program = fc_own_find(bench->program_dir);
	if (!own->program) {
		fc_bench_warn("fusecrypt is neither beside this program nor in PATH; name directories to measure "
			      "(--plain, --inside)");
		return -1;
	}
	own->dir = fc_bench_format("%s/fusecrypt-bench.XXXXXX", beside);
	if (!mkdtemp(own->dir)) {
		fc_bench_warn("%s: cannot make a directory in it: %s", beside, strerror(errno));
		free(own->dir);
		own->dir = NULL;
		return -1;
	}
	own->container = fc_bench_format("%s/container", own->dir);
	own->key = fc_bench_format("%s/key", own->dir);
	own->mountpoint = fc_bench_format("%s/inside", own->dir);
	if (mkdir(own->mountpoint, 0700)) {
		fc_bench_warn("%s: %s", own->mountpoint, strerror(errno));
		return -1;
	}
	if (make_key(own->key))
		return -1;
	const char *init[] = { own->program, "init", own->container, "--key-file", own->key, NULL };
	const char *mount[] = { own->program, "mount", own->container, own->mountpoint, "--key-file", own->key, NULL };
	int result = fusecrypt(bench, own, init, false);
	if (!result) {
		/* Not to be interrupted: whether it stands would be hard to tell. */
		result = fusecrypt(bench, own, mount, true);
		own->mounted = !result;
	}
	if (result == -1)
		fc_bench_warn("no container of our own: %s", bench->shared->error);
	return result ? -1 : 0;
}

static int run_umount(struct bench_step *step, const void *arg)
{
	alarm(UNMOUNT_PATIENCE);
	return fc_external_run(step, arg, NULL);
}

static int unmount(struct bench *bench, struct bench_own *own)
{
	const char *argv[] = { own->program, "umount", own->mountpoint, NULL };
	struct bench_step step = { .bench = bench, .shared = bench->shared };
	double until = fc_bench_now() + UNMOUNT_RETRY;
	do {
		if (!fc_step_finish(bench, &step, own->dir, run_umount, argv)) {
			own->mounted = false;
			return 0;
		}
		usleep(UNMOUNT_PAUSE);
	} while (fc_bench_now() < until);
	fc_bench_warn("left mounted: %s: %s", own->mountpoint, bench->shared->error);
	return -1;
}

int fc_own_close(struct bench *bench, struct bench_own *own)
{
	int result = own->mounted ? unmount(bench, own) : 0;
	if (!result && own->dir) {
		int error = fc_files_remove(own->dir);
		if (error) {
			fc_bench_warn("left behind: %s: %s", own->dir, strerror(error));
			result = -1;
		}
	}
	free(own->dir);
	free(own->program);
	free(own->container);
	free(own->key);
	free(own->mountpoint);
	memset(own, 0, sizeof(*own));
	return result;
}
