/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Content. Both sides tell where holes are, but not alike; so zeros are left out of a
 * hash, a block at a time, and every other block goes in with its place.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "convert/converter.h"
#include "fs/state.h"

static bool is_zero(const uint8_t *p, size_t n)
{
	return !*p && !memcmp(p, p + 1, n - 1);
}

static void hash_blocks(XXH3_state_t *state, const uint8_t *p, uint64_t off, size_t n)
{
	for (size_t at = 0; at < n; at += FC_BLOCK) {
		size_t part = n - at < FC_BLOCK ? n - at : FC_BLOCK;
		uint64_t where = off + at;

		if (is_zero(p + at, part))
			continue;
		XXH3_128bits_update(state, &where, sizeof(where));
		XXH3_128bits_update(state, p + at, part);
	}
}

/* Where data begins at or after off, and where it ends, both below `to`, in whole blocks. */
static int segment_host(int fd, uint64_t off, uint64_t to, uint64_t *begin, uint64_t *end)
{
	off_t data = lseek(fd, (off_t)off, SEEK_DATA), hole;

	if (data < 0 && errno == ENXIO) {
		*begin = *end = to;
		return 0;
	}
	hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
	if (hole < 0)
		return fc_cv_errno(errno);
	*begin = (uint64_t)data & ~(uint64_t)(FC_BLOCK - 1);
	*end = ((uint64_t)hole + FC_BLOCK - 1) & ~(uint64_t)(FC_BLOCK - 1);
	return 0;
}

static int segment_container(struct fc_fs *fs, uint64_t ino, uint64_t off, uint64_t to, uint64_t *begin, uint64_t *end)
{
	int r = fc_fs_lseek(fs, ino, off, SEEK_DATA, begin);

	if (r == FC_ENXIO) {
		*begin = *end = to;
		return 0;
	}
	if (!r)
		r = fc_fs_lseek(fs, ino, *begin, SEEK_HOLE, end);
	*begin &= ~(uint64_t)(FC_BLOCK - 1);
	*end = (*end + FC_BLOCK - 1) & ~(uint64_t)(FC_BLOCK - 1);
	return r;
}

static int read_host(int fd, uint8_t *buf, uint64_t off, size_t n, size_t *got)
{
	for (*got = 0; *got < n;) {
		ssize_t k = pread(fd, buf + *got, n - *got, (off_t)(off + *got));

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return fc_cv_errno(errno);
		if (!k)
			break;
		*got += (size_t)k;
	}
	return 0;
}

static int write_host(int fd, const uint8_t *buf, uint64_t off, size_t n)
{
	while (n) {
		ssize_t k = pwrite(fd, buf, n, (off_t)off);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return fc_cv_errno(errno);
		buf += k;
		off += (uint64_t)k;
		n -= (size_t)k;
	}
	return 0;
}

/* One file on both sides; what is not wanted is -1 and 0. */
struct copying {
	int read_fd, write_fd;
	uint64_t read_ino, write_ino;
};

static int segment(struct fc_cv *c, const struct copying *f, uint64_t off, uint64_t to, uint64_t *begin, uint64_t *end)
{
	int r = f->read_fd >= 0 ? segment_host(f->read_fd, off, to, begin, end)
				: segment_container(c->fs, f->read_ino, off, to, begin, end);

	if (*begin < off)
		*begin = off;
	if (*end > to)
		*end = to;
	if (*begin > to)
		*begin = to;
	return r;
}

static int take(struct fc_cv *c, const struct copying *f, uint64_t off, size_t n, size_t *got)
{
	/* the disk reads on while this is being sealed and written */
	if (f->read_fd >= 0 && n == FC_CV_BUFFER)
		posix_fadvise(f->read_fd, (off_t)(off + n), 4 * (off_t)FC_CV_BUFFER, POSIX_FADV_WILLNEED);
	return f->read_fd >= 0 ? read_host(f->read_fd, c->buf, off, n, got)
			       : fc_fs_read(c->fs, f->read_ino, off, n, c->buf, got);
}

static int put(struct fc_cv *c, const struct copying *f, uint64_t off, size_t n)
{
	if (f->write_fd >= 0)
		return write_host(f->write_fd, c->buf, off, n);
	return f->write_ino ? fc_fs_write(c->fs, f->write_ino, off, n, c->buf, FC_WRITE_CACHED) : 0;
}

/* from is at a block's begin. A file that is shorter than `*to` shows in its hash. */
static int pass(struct fc_cv *c, const struct copying *f, uint64_t from, uint64_t *to, uint64_t most,
		XXH128_hash_t *hash)
{
	uint64_t off = from, done = 0, begin, end;
	int r = 0;

	XXH3_128bits_reset(c->hash);
	while (!r && off < *to) {
		r = segment(c, f, off, *to, &begin, &end);
		for (off = begin; !r && off < end && done < most;) {
			size_t n = end - off < FC_CV_BUFFER ? (size_t)(end - off) : FC_CV_BUFFER, got = 0;

			if (fc_cv_stop(c))
				return FC_EINTERRUPTED;
			r = take(c, f, off, n, &got);
			if (r || !got)
				break;
			hash_blocks(c->hash, c->buf, off, got);
			r = put(c, f, off, got);
			off += got;
			done += got;
		}
		if (!r && off < *to && done >= most) {
			*to = off;
			break;
		}
		if (!r && off < end)
			break; /* it became shorter */
		off = end;
	}
	*hash = XXH3_128bits_digest(c->hash);
	return r;
}

int fc_cv_copy_in(struct fc_cv *c, int fd, uint64_t ino, uint64_t from, uint64_t *to, uint64_t most,
		  XXH128_hash_t *hash)
{
	const struct copying f = { .read_fd = fd, .write_fd = -1, .write_ino = ino };

	posix_fadvise(fd, (off_t)from, (off_t)(*to - from), POSIX_FADV_SEQUENTIAL);
	return pass(c, &f, from, to, most, hash);
}

int fc_cv_copy_out(struct fc_cv *c, uint64_t ino, int fd, uint64_t from, uint64_t *to, uint64_t most,
		   XXH128_hash_t *hash)
{
	const struct copying f = { .read_fd = -1, .read_ino = ino, .write_fd = fd };

	return pass(c, &f, from, to, most, hash);
}

int fc_cv_hash_host(struct fc_cv *c, int fd, uint64_t from, uint64_t to, XXH128_hash_t *hash)
{
	const struct copying f = { .read_fd = fd, .write_fd = -1 };

	posix_fadvise(fd, (off_t)from, (off_t)(to - from), POSIX_FADV_DONTNEED);
	return pass(c, &f, from, &to, UINT64_MAX, hash);
}

int fc_cv_hash_container(struct fc_cv *c, uint64_t ino, uint64_t from, uint64_t to, XXH128_hash_t *hash)
{
	const struct copying f = { .read_fd = -1, .read_ino = ino, .write_fd = -1 };

	return pass(c, &f, from, &to, UINT64_MAX, hash);
}

void fc_cv_forget(struct fc_cv *c)
{
	struct fc_node_cache *cache = &c->fs->forest.cache;
	size_t limit;

	pthread_rwlock_wrlock(&c->fs->lock);
	limit = cache->limit;
	cache->limit = 0;
	fc_node_cache_trim(cache);
	cache->limit = limit;
	pthread_rwlock_unlock(&c->fs->lock);
	if (c->options->container_fd >= 0)
		posix_fadvise(c->options->container_fd, 0, 0, POSIX_FADV_DONTNEED);
}
