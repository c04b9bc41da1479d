/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "files.h"

#define CHUNK (1u << 20)

int fc_file_write(struct bench_step *step, int fd, const char *path, const void *data, size_t bytes)
{
	const char *p = data;
	while (bytes) {
		ssize_t n = write(fd, p, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fc_step_fail_errno(step, "%s: write", path);
		p += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int fc_file_save(struct bench_step *step, const char *path, const void *data, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return fc_step_fail_errno(step, "%s", path);
	int result = fc_file_write(step, fd, path, data, bytes);
	if (close(fd) && !result)
		return fc_step_fail_errno(step, "%s: close", path);
	return result;
}

static int copy_content(struct bench_step *step, int in, int out, const char *from, const char *to)
{
	char *chunk = fc_file_buffer(CHUNK);
	struct stat st;
	uint64_t total = fstat(in, &st) ? 0 : (uint64_t)st.st_size, done = 0;
	ssize_t n;
	int result = 0;
	while (!result && (n = read(in, chunk, CHUNK)) != 0) {
		if (n < 0) {
			result = fc_step_fail_errno(step, "%s: read", from);
			break;
		}
		result = fc_file_write(step, out, to, chunk, (size_t)n);
		done += (uint64_t)n;
		fc_step_progress(step, done, total);
	}
	free(chunk);
	return result;
}

int fc_file_copy(struct bench_step *step, const char *from, const char *to)
{
	struct stat st;
	int in = open(from, O_RDONLY | O_CLOEXEC);
	if (in < 0 || fstat(in, &st)) {
		if (in >= 0)
			close(in);
		return fc_step_fail_errno(step, "%s", from);
	}
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, (st.st_mode & 0777) | S_IWUSR);
	if (out < 0) {
		close(in);
		return fc_step_fail_errno(step, "%s", to);
	}
	int result = copy_content(step, in, out, from, to);
	close(in);
	if (close(out) && !result)
		return fc_step_fail_errno(step, "%s: close", to);
	return result;
}

static int digest_file(struct bench_step *step, const char *path, uint64_t seed, uint64_t *hash, uint64_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fc_step_fail_errno(step, "%s", path);
	XXH3_state_t *state = XXH3_createState();
	char *chunk = fc_file_buffer(CHUNK);
	ssize_t n;
	int result = 0;
	*bytes = 0;
	XXH3_64bits_reset_withSeed(state, seed);
	while ((n = read(fd, chunk, CHUNK)) > 0) {
		XXH3_64bits_update(state, chunk, (size_t)n);
		*bytes += (uint64_t)n;
	}
	if (n < 0)
		result = fc_step_fail_errno(step, "%s: read", path);
	*hash = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	free(chunk);
	close(fd);
	return result;
}

int fc_file_digest(struct bench_step *step, const char *path, uint64_t *hash, uint64_t *bytes)
{
	return digest_file(step, path, 0, hash, bytes);
}

int fc_file_expect(struct bench_step *step, const char *path, uint64_t hash, uint64_t bytes)
{
	uint64_t got_hash, got_bytes;
	if (fc_file_digest(step, path, &got_hash, &got_bytes))
		return -1;
	if (got_bytes != bytes)
		return fc_step_fail(step, "%s: wrong data: %llu bytes instead of %llu", path,
				    (unsigned long long)got_bytes, (unsigned long long)bytes);
	if (got_hash != hash)
		return fc_step_fail(step, "%s: wrong data: other bytes than were written", path);
	return 0;
}

/* ---- trees --------------------------------------------------------------- */

static FTS *walk_open(struct bench_step *step, const char *dir)
{
	char *roots[] = { (char *)dir, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (!fts)
		fc_step_fail_errno(step, "%s", dir);
	return fts;
}

static int digest_entry(struct bench_step *step, const FTSENT *e, size_t root, struct fc_tree_digest *out)
{
	const char *name = e->fts_path + root;
	uint64_t seed = XXH3_64bits(name, strlen(name)), hash = seed, bytes = 0;
	char target[4096];
	switch (e->fts_info) {
	case FTS_D:
		out->directories++;
		break;
	case FTS_F:
		if (digest_file(step, e->fts_accpath, seed, &hash, &bytes))
			return -1;
		out->files++;
		out->bytes += bytes;
		break;
	case FTS_SL:
	case FTS_SLNONE: {
		ssize_t n = readlink(e->fts_accpath, target, sizeof(target));
		if (n < 0)
			return fc_step_fail_errno(step, "%s", e->fts_path);
		hash = XXH3_64bits_withSeed(target, (size_t)n, seed);
		out->links++;
		break;
	}
	default:
		out->others++;
	}
	out->hash += hash * ((uint64_t)e->fts_info * 2 + 1);
	return 0;
}

int fc_files_digest(struct bench_step *step, const char *dir, struct fc_tree_digest *out)
{
	int result = 0;
	FTSENT *e;
	memset(out, 0, sizeof(*out));
	FTS *fts = walk_open(step, dir);
	if (!fts)
		return -1;
	while (!result && (errno = 0, e = fts_read(fts))) {
		if (e->fts_level == 0 || e->fts_info == FTS_DP)
			continue;
		if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS) {
			errno = e->fts_errno;
			result = fc_step_fail_errno(step, "%s", e->fts_path);
		} else {
			result = digest_entry(step, e, strlen(dir), out);
		}
	}
	if (!result && errno)
		result = fc_step_fail_errno(step, "%s", dir);
	fts_close(fts);
	return result;
}

static int copy_entry(struct bench_step *step, const FTSENT *e, const char *to)
{
	char target[4096];
	switch (e->fts_info) {
	case FTS_D:
		if (mkdir(to, 0755) && errno != EEXIST)
			return fc_step_fail_errno(step, "%s", to);
		return 0;
	case FTS_F:
		return fc_file_copy(step, e->fts_accpath, to);
	case FTS_SL:
	case FTS_SLNONE: {
		ssize_t n = readlink(e->fts_accpath, target, sizeof(target) - 1);
		if (n < 0)
			return fc_step_fail_errno(step, "%s", e->fts_path);
		target[n] = '\0';
		if (symlink(target, to))
			return fc_step_fail_errno(step, "%s", to);
		return 0;
	}
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		errno = e->fts_errno;
		return fc_step_fail_errno(step, "%s", e->fts_path);
	default:
		return 0;
	}
}

int fc_files_copy(struct bench_step *step, const char *from, const char *to,
		  bool (*skip)(const char *path, const char *name))
{
	int result = 0;
	FTSENT *e;
	FTS *fts = walk_open(step, from);
	if (!fts)
		return -1;
	while (!result && (e = fts_read(fts))) {
		if (e->fts_info == FTS_DP)
			continue;
		if (e->fts_level > 0 && skip && skip(e->fts_accpath, e->fts_name)) {
			fts_set(fts, e, FTS_SKIP);
			continue;
		}
		char *target = fc_bench_format("%s%s", to, e->fts_path + strlen(from));
		result = copy_entry(step, e, target);
		free(target);
	}
	fts_close(fts);
	return result;
}

/* ---- removing ------------------------------------------------------------ */

static int remove_at(int dirfd, const char *name, dev_t dev);

static int remove_content(int dirfd, const char *name, dev_t dev)
{
	int first = 0;
	struct dirent *d;
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		first = errno;
		if (fd >= 0)
			close(fd);
		return first;
	}
	while ((d = readdir(dir))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		int error = remove_at(fd, d->d_name, dev);
		if (error && !first)
			first = error;
	}
	closedir(dir);
	return first;
}

static int remove_at(int dirfd, const char *name, dev_t dev)
{
	struct stat st;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : errno;
	if (st.st_dev != dev)
		return EXDEV;
	if (S_ISDIR(st.st_mode)) {
		/* What an archive unpacked may deny its owner. */
		if ((st.st_mode & S_IRWXU) != S_IRWXU)
			fchmodat(dirfd, name, 0700, 0);
		int error = remove_content(dirfd, name, dev);
		if (error)
			return error;
	}
	return unlinkat(dirfd, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) && errno != ENOENT ? errno : 0;
}

int fc_files_remove(const char *path)
{
	struct stat st;
	if (lstat(path, &st))
		return errno == ENOENT ? 0 : errno;
	return remove_at(AT_FDCWD, path, st.st_dev);
}
