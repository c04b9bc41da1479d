/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "files.h"
#include "place.h"
#include "progress.h"
#include "session/session.h"

/* ---- who serves a FUSE mount ---------------------------------------------- */

static pid_t fusecrypt_daemon(const char *dir)
{
	struct fc_ioc_status *status = fc_bench_alloc(sizeof(*status));
	pid_t pid = 0;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !ioctl(fd, FC_IOC_STATUS, status))
		pid = (pid_t)status->pid;
	if (fd >= 0)
		close(fd);
	free(status);
	return pid;
}

static bool file_has(const char *path, const char *text, size_t bytes)
{
	char data[8192];
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(data, 1, sizeof(data), f) : 0;
	if (f)
		fclose(f);
	return n && memmem(data, n, text, bytes);
}

/* Whether descriptor fd of process pid is the /dev/fuse of this connection.
 * Kernels that do not tell the connection: whether the command names the mount. */
static bool serves(const char *pid, const char *fd, const char *connection, const char *mountpoint)
{
	char path[64 + 2 * NAME_MAX], target[32];
	snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, fd);
	ssize_t n = readlink(path, target, sizeof(target));
	if (n != 9 || memcmp(target, "/dev/fuse", 9))
		return false;
	snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, fd);
	if (file_has(path, "fuse_connection:", strlen("fuse_connection:")))
		return file_has(path, connection, strlen(connection));
	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	return file_has(path, mountpoint, strlen(mountpoint));
}

static bool process_serves(const char *pid, const char *connection, const char *mountpoint)
{
	char path[64 + NAME_MAX];
	bool found = false;
	struct dirent *d;
	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	DIR *dir = opendir(path);
	while (dir && !found && (d = readdir(dir)))
		found = serves(pid, d->d_name, connection, mountpoint);
	if (dir)
		closedir(dir);
	return found;
}

/* The directory and its parents up to where the device changes. */
static char *mountpoint_of(const char *path, dev_t dev)
{
	char *at = fc_bench_copy(path);
	for (;;) {
		struct stat st;
		char *slash = strrchr(at, '/');
		if (!slash || slash == at)
			return at;
		*slash = '\0';
		if (stat(at, &st) || st.st_dev != dev) {
			*slash = '/';
			return at;
		}
	}
}

static pid_t daemon_of(const char *path)
{
	struct stat st;
	pid_t found = fusecrypt_daemon(path);
	if (found || stat(path, &st))
		return found;
	char connection[48];
	snprintf(connection, sizeof(connection), "fuse_connection:\t%u\n", minor(st.st_dev));
	char *mountpoint = mountpoint_of(path, st.st_dev);
	struct dirent *d;
	DIR *proc = opendir("/proc");
	while (proc && !found && (d = readdir(proc)))
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && process_serves(d->d_name, connection, mountpoint))
			found = (pid_t)strtol(d->d_name, NULL, 10);
	if (proc)
		closedir(proc);
	free(mountpoint);
	return found;
}

/* ---- places --------------------------------------------------------------- */

static bool takes_direct(const char *work)
{
	char *path = fc_bench_format("%s/direct", work);
	void *block = fc_file_buffer(4096);
	memset(block, 0, 4096);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0600);
	bool takes = fd >= 0 && pwrite(fd, block, 4096, 0) == 4096 && pread(fd, block, 4096, 0) == 4096;
	if (fd >= 0)
		close(fd);
	unlink(path);
	free(block);
	free(path);
	return takes;
}

int fc_place_add(struct bench *bench, const char *name, const char *dir)
{
	char real[PATH_MAX];
	struct bench_place *place = &bench->place[bench->places];
	struct stat st;
	if (bench->places == BENCH_PLACES) {
		fc_bench_warn("more than %d directories", BENCH_PLACES);
		return -1;
	}
	if (!realpath(dir, real) || stat(real, &st)) {
		fc_bench_warn("%s: %s", dir, strerror(errno));
		return -1;
	}
	if (!S_ISDIR(st.st_mode)) {
		fc_bench_warn("%s: not a directory", dir);
		return -1;
	}
	place->work = fc_bench_format("%s/fusecrypt-bench.XXXXXX", strcmp(real, "/") ? real : "");
	if (!mkdtemp(place->work)) {
		fc_bench_warn("%s: cannot make a directory in it: %s", dir, strerror(errno));
		free(place->work);
		place->work = NULL;
		return -1;
	}
	place->name = fc_bench_copy(name);
	place->dir = fc_bench_copy(real);
	fc_mount_describe(real, &place->mount);
	if (!strncmp(place->mount.type, "fuse", 4))
		place->daemon = daemon_of(real);
	bench->direct = (bench->places == 0 || bench->direct) && takes_direct(place->work);
	bench->places++;
	return 0;
}

static int remove_work(struct bench_step *step, const void *arg)
{
	const char *path = arg;
	int error = fc_files_remove(path);
	return error ? fc_step_fail(step, "%s: %s", path, strerror(error)) : 0;
}

int fc_places_close(struct bench *bench)
{
	int result = 0;
	for (unsigned p = 0; p < bench->places; p++) {
		struct bench_place *place = &bench->place[p];
		struct bench_step step = { .bench = bench, .place = place, .shared = bench->shared };
		if (fc_step_finish(bench, &step, "/", remove_work, place->work)) {
			fc_bench_warn("left behind: %s", bench->shared->error);
			result = -1;
		}
		free(place->name);
		free(place->dir);
		free(place->work);
		fc_mount_free(&place->mount);
	}
	bench->places = 0;
	return result;
}

/* ---- space ---------------------------------------------------------------- */

static uint64_t free_at(const char *path)
{
	struct statvfs vfs;
	return statvfs(path, &vfs) ? 0 : (uint64_t)vfs.f_bavail * vfs.f_frsize;
}

/* What one workload needs of the place's own file system or, with host, of all
 * places that lie on the same one in the end. */
static uint64_t wanted(const struct bench *bench, const struct bench_needs *needs, unsigned place, bool host)
{
	uint64_t sum = 0;
	for (unsigned p = 0; p < bench->places; p++) {
		const struct bench_place *a = &bench->place[place], *b = &bench->place[p];
		if (host ? a->mount.host != b->mount.host : p != place)
			continue;
		/* Names, metadata, and a container's own structures. */
		sum += needs->each + needs->each / 20 + (16u << 20);
		if (p == 0)
			sum += needs->stock;
	}
	return sum;
}

static bool fits(const struct bench *bench, const struct bench_workload *w, unsigned place, bool host)
{
	const struct bench_place *p = &bench->place[place];
	struct bench_needs needs = { 0 };
	char want_text[32], have_text[32];
	w->needs(bench, &needs);
	uint64_t want = wanted(bench, &needs, place, host), have = free_at(host ? p->mount.host_path : p->dir);
	if (want <= have)
		return true;
	fc_bench_bytes_text(want, want_text);
	fc_bench_bytes_text(have, have_text);
	fc_bench_warn("no space: %s needs %s %s %s, where %s are free", w->name, want_text,
		      host ? "on the file system of" : "in", p->dir, have_text);
	return false;
}

/* Once for each file system: what the greediest workload needs on it. */
static void say_space(const struct bench *bench, unsigned place)
{
	const struct bench_place *p = &bench->place[place];
	uint64_t most = 0;
	char want[32], have[32];
	for (unsigned q = 0; q < place; q++)
		if (bench->place[q].mount.host == p->mount.host)
			return;
	for (unsigned i = 0; i < fc_workloads_count; i++) {
		struct bench_needs needs = { 0 };
		if (!bench->options->selected[i])
			continue;
		fc_workloads[i]->needs(bench, &needs);
		uint64_t one = wanted(bench, &needs, place, true);
		most = one > most ? one : most;
	}
	fc_bench_bytes_text(most, want);
	fc_bench_bytes_text(free_at(p->mount.host_path), have);
	fc_progress_say(bench->progress, "up to %s are needed at a time on the file system of %s, %s are free", want,
			p->dir, have);
}

int fc_places_check_space(const struct bench *bench)
{
	bool all = true;
	for (unsigned i = 0; i < fc_workloads_count; i++)
		for (unsigned p = 0; bench->options->selected[i] && p < bench->places; p++)
			if (!fits(bench, fc_workloads[i], p, true) || !fits(bench, fc_workloads[i], p, false)) {
				all = false;
				break;
			}
	if (!all) {
		fc_bench_warn("nothing was measured; take other directories, --quick, or fewer workloads (--workload)");
		return -1;
	}
	for (unsigned p = 0; p < bench->places; p++)
		say_space(bench, p);
	return 0;
}

/* ---- warnings ------------------------------------------------------------- */

static char *compared_to_baseline(const struct bench_place *base, const struct bench_place *place)
{
	struct stat a, b;
	if (!stat(base->dir, &a) && !stat(place->dir, &b) && a.st_dev == b.st_dev)
		return fc_bench_format("%s is on the same file system as %s: this compares it with itself", place->name,
				       base->name);
	if (*base->mount.disk && *place->mount.disk && strcmp(base->mount.disk, place->mount.disk))
		return fc_bench_format("%s is on the disk %s and %s on the disk %s: the ratio also compares the disks",
				       base->name, base->mount.disk, place->name, place->mount.disk);
	if (strcmp(base->mount.host_type, place->mount.host_type) && strncmp(place->mount.host_type, "fuse", 4))
		return fc_bench_format("%s is on %s and %s on %s: the ratio also compares the two", base->name,
				       base->mount.host_type, place->name, place->mount.host_type);
	if (strcmp(base->mount.disk, place->mount.disk))
		return fc_bench_format("which disk %s is on is not known: the ratio may also compare two disks",
				       *place->mount.disk ? base->name : place->name);
	return NULL;
}

unsigned fc_places_warnings(const struct bench *bench, char ***lines)
{
	char **out = fc_bench_alloc((bench->places + 3) * sizeof(*out));
	unsigned n = 0;
	for (unsigned p = 1; p < bench->places; p++) {
		out[n] = compared_to_baseline(&bench->place[0], &bench->place[p]);
		n += out[n] != NULL;
	}
	if (!strcmp(bench->place[0].mount.host_type, "tmpfs"))
		out[n++] = fc_bench_format("%s is in memory (tmpfs): there, nothing is ever durable",
					   bench->place[0].name);
	if (!bench->can_drop)
		out[n++] = fc_bench_copy("caches could not be dropped (only root may): what is called cold was "
					 "measured with warm caches");
	if (!bench->direct)
		out[n++] =
			fc_bench_copy("a directory does not take O_DIRECT: uncached transfers went through the cache "
				      "and were written out at once");
	*lines = out;
	return n;
}
