/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A container in a file of the host. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/io.h"
#include "store/parts.h"

struct file_io {
	struct fc_io io;
	int fd;
	int direct_fd; /* the same file with O_DIRECT; -1: the host cannot */
	/* The kernel reports a failed write-back to one fdatasync only. The lock
	 * makes sure that no other one running beside it returns 0 before the
	 * failure is remembered (R10). */
	pthread_mutex_t sync_lock;
	bool sync_failed; /* sync_lock */
	struct fc_parts_pool parts;
};

static struct file_io *file_io(struct fc_io *io)
{
	return (struct file_io *)io;
}

/* Does the range lie where off_t can reach it? */
static bool reachable(uint64_t off, uint64_t n)
{
	return off <= INT64_MAX && n <= INT64_MAX - off;
}

static int read_all(int fd, uint8_t *p, size_t n, uint64_t off)
{
	while (n && off < INT64_MAX) {
		size_t want = n > INT64_MAX - off ? (size_t)(INT64_MAX - off) : n;
		ssize_t got = pread(fd, p, want, (off_t)off);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return FC_EIO;
		if (!got)
			break;
		p += got;
		n -= (size_t)got;
		off += (uint64_t)got;
	}
	memset(p, 0, n);
	return 0;
}

static int file_read(struct fc_io *io, void *buf, size_t n, uint64_t off)
{
	return read_all(file_io(io)->fd, buf, n, off);
}

static bool may_go_direct(const struct file_io *f, const void *buf, size_t n, uint64_t off)
{
	return f->direct_fd >= 0 && !((uintptr_t)buf % FC_IO_ALIGN || n % FC_IO_ALIGN || off % FC_IO_ALIGN);
}

/* An error of O_DIRECT may be one of its own: the call beside it says what is wrong
 * with the range. */
static int file_read_bulk(struct fc_io *io, void *buf, size_t n, uint64_t off)
{
	if (may_go_direct(file_io(io), buf, n, off) && !read_all(file_io(io)->direct_fd, buf, n, off))
		return 0;
	return file_read(io, buf, n, off);
}

static int file_read_pieces(struct fc_io *io, uint8_t *buf, size_t n, uint64_t off, size_t piece, fc_io_there there,
			    void *arg)
{
	struct file_io *f = file_io(io);
	struct fc_parts *parts = n > piece && may_go_direct(f, buf, n, off) ? fc_parts_take(&f->parts) : NULL;
	size_t begun = parts ? fc_parts_read(parts, f->direct_fd, buf, n / piece, piece, off) : 0, at, part;
	int r = 0;

	for (at = 0; !r && at < n; at += part) {
		bool coming = at / piece < begun;

		part = coming ? piece : n - at;
		if (!coming || !fc_parts_wait(parts, at / piece))
			r = file_read_bulk(io, buf + at, part, off + at);
		if (!r)
			r = there(arg, at, part);
	}
	if (parts)
		fc_parts_end(parts);
	fc_parts_give(&f->parts, parts);
	return r;
}

/* What a change of the file may return. A file that may not grow any more (the host's
 * largest file, `ulimit -f`) is full. */
static int change_error(int err)
{
	int error = err == EFBIG ? FC_ENOSPC : fc_error_from_errno(err);

	return error == FC_ENOSPC || error == FC_ENOTSUP ? error : FC_EIO;
}

static int write_all(int fd, const uint8_t *p, size_t n, uint64_t off)
{
	if (!reachable(off, n))
		return FC_EFBIG;
	while (n) {
		ssize_t put = pwrite(fd, p, n, (off_t)off);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return change_error(errno);
		if (!put)
			return FC_EIO;
		p += put;
		n -= (size_t)put;
		off += (uint64_t)put;
	}
	return 0;
}

static int file_write(struct fc_io *io, const void *buf, size_t n, uint64_t off)
{
	return write_all(file_io(io)->fd, buf, n, off);
}

/* Starts writing the range to the disk without waiting. */
static void push(struct fc_io *io, uint64_t off, uint64_t n)
{
	/* An error shows again at the next sync. */
	if (n && reachable(off, n))
		(void)sync_file_range(file_io(io)->fd, (off_t)off, (off_t)n, SYNC_FILE_RANGE_WRITE);
}

static int file_write_bulk(struct fc_io *io, const void *buf, size_t n, uint64_t off)
{
	int r;

	if (may_go_direct(file_io(io), buf, n, off)) {
		r = write_all(file_io(io)->direct_fd, buf, n, off);
		if (!r || errno != EINVAL) /* an alignment that the host wants */
			return r;
	}
	r = file_write(io, buf, n, off);
	if (!r) /* a sync must not find all of it at once */
		push(io, off, n);
	return r;
}

#define PARTS_MAX 256u

/* Of those that are aligned; the others, and what fails here, write_bulk writes, and says why not. */
static void write_parts_direct(struct file_io *f, const struct fc_io_part *part, size_t count, bool *whole)
{
	struct fc_parts *parts;
	size_t n = 0;

	while (n < count && may_go_direct(f, part[n].buf, part[n].n, part[n].off) && reachable(part[n].off, part[n].n))
		n++;
	memset(whole, 0, count * sizeof(*whole));
	parts = n ? fc_parts_take(&f->parts) : NULL;
	if (parts)
		fc_parts_write(parts, f->direct_fd, part, n, whole);
	fc_parts_give(&f->parts, parts);
}

static int file_write_parts(struct fc_io *io, const struct fc_io_part *part, size_t count)
{
	bool whole[PARTS_MAX];
	int r = 0;

	while (!r && count) {
		size_t n = count < PARTS_MAX ? count : PARTS_MAX, i;

		write_parts_direct(file_io(io), part, n, whole);
		for (i = 0; !r && i < n; i++)
			if (!whole[i])
				r = file_write_bulk(io, part[i].buf, part[i].n, part[i].off);
		part += n;
		count -= n;
	}
	return r;
}

static int file_sync(struct fc_io *io)
{
	struct file_io *f = file_io(io);
	int rc = 0;

	pthread_mutex_lock(&f->sync_lock);
	while (!f->sync_failed) {
		if (!fdatasync(f->fd))
			break;
		f->sync_failed = errno != EINTR;
	}
	if (f->sync_failed)
		rc = FC_EIO;
	pthread_mutex_unlock(&f->sync_lock);
	return rc;
}

static int file_fallocate(struct fc_io *io, int mode, uint64_t off, uint64_t n)
{
	if (!n)
		return 0;
	if (!reachable(off, n))
		return FC_EFBIG;
	while (fallocate(file_io(io)->fd, mode, (off_t)off, (off_t)n))
		if (errno != EINTR)
			return change_error(errno);
	return 0;
}

static int file_punch(struct fc_io *io, uint64_t off, uint64_t n)
{
	return file_fallocate(io, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, n);
}

/* The first extent of the host's that reaches into [off, off + n): its part of the
 * range, in *start and *end. False: none, or the host does not tell. */
static bool host_extent(int fd, uint64_t off, uint64_t n, uint64_t *start, uint64_t *end)
{
	union {
		struct fiemap map;
		uint8_t room[sizeof(struct fiemap) + sizeof(struct fiemap_extent)];
	} u = { .map = { .fm_start = off, .fm_length = n, .fm_extent_count = 1 } };
	const struct fiemap_extent *e = u.map.fm_extents;

	if (ioctl(fd, FS_IOC_FIEMAP, &u.map) || !u.map.fm_mapped_extents)
		return false;
	*start = e->fe_logical > off ? e->fe_logical : off;
	*end = e->fe_logical + e->fe_length < off + n ? e->fe_logical + e->fe_length : off + n;
	return *start < *end;
}

/* A host that is (almost) full may refuse a range for what it already has of it
 * (xfs wants room for all first): then only the gaps are asked for. */
static int allocate_gaps(struct fc_io *io, uint64_t off, uint64_t n)
{
	uint64_t end = off + n, start, stop;
	bool any = false;
	int r = 0;

	while (!r && off < end) {
		if (!host_extent(file_io(io)->fd, off, end - off, &start, &stop))
			start = stop = end;
		else
			any = true;
		if (!any)
			return FC_ENOSPC;
		if (start > off)
			r = file_fallocate(io, 0, off, start - off);
		off = stop;
	}
	return r;
}

static int file_allocate(struct fc_io *io, uint64_t off, uint64_t n)
{
	int r = file_fallocate(io, 0, off, n);

	return r == FC_ENOSPC ? allocate_gaps(io, off, n) : r;
}

static int file_size(struct fc_io *io, uint64_t *bytes)
{
	struct stat st;

	if (fstat(file_io(io)->fd, &st))
		return FC_EIO;
	*bytes = (uint64_t)st.st_size;
	return 0;
}

static int file_truncate(struct fc_io *io, uint64_t n)
{
	if (!reachable(n, 0))
		return FC_EIO;
	while (ftruncate(file_io(io)->fd, (off_t)n))
		if (errno != EINTR)
			return FC_EIO;
	return 0;
}

static void file_ahead(struct fc_io *io, uint64_t off, uint64_t n)
{
	if (n && reachable(off, n))
		(void)posix_fadvise(file_io(io)->fd, (off_t)off, (off_t)n, POSIX_FADV_WILLNEED);
}

static int file_host_free(struct fc_io *io, uint64_t *bytes)
{
	struct statvfs st;

	if (fstatvfs(file_io(io)->fd, &st))
		return FC_EIO;
	/* A tmpfs without a limit says 0 of 0 blocks. What is kept back for root
	 * is not counted, also for root: it is there to keep the host alive. */
	*bytes = st.f_blocks ? (uint64_t)st.f_bavail * st.f_frsize : INT64_MAX;
	return 0;
}

static int file_allocated(struct fc_io *io, uint64_t *bytes)
{
	struct stat st;

	if (fstat(file_io(io)->fd, &st))
		return FC_EIO;
	*bytes = (uint64_t)st.st_blocks * 512;
	return 0;
}

static void file_close(struct fc_io *io)
{
	struct file_io *f = file_io(io);

	if (f->direct_fd >= 0)
		close(f->direct_fd);
	close(f->fd);
	fc_parts_pool_fini(&f->parts);
	pthread_mutex_destroy(&f->sync_lock);
	free(f);
}

static const struct fc_io_ops file_ops = {
	.read = file_read,
	.read_bulk = file_read_bulk,
	.write = file_write,
	.write_bulk = file_write_bulk,
	.read_pieces = file_read_pieces,
	.write_parts = file_write_parts,
	.sync = file_sync,
	.punch = file_punch,
	.allocate = file_allocate,
	.size = file_size,
	.truncate = file_truncate,
	.ahead = file_ahead,
	.host_free = file_host_free,
	.allocated = file_allocated,
	.close = file_close,
};

/* Another description of the file: the locks that belong to the first are not touched.
 * Pages that are larger than our blocks would hold neighbours of what passes by. */
static int open_direct(int fd, bool read_only)
{
	char path[32];

	if (sysconf(_SC_PAGESIZE) > (long)FC_IO_ALIGN)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, (read_only ? O_RDONLY : O_RDWR) | O_DIRECT | O_CLOEXEC);
}

bool fc_io_file_owns(const struct fc_io *io, int fd)
{
	const struct file_io *f = (const struct file_io *)io;

	return fd == f->fd || fd == f->direct_fd;
}

int fc_io_file(int fd, bool read_only, struct fc_io **out)
{
	struct file_io *f = calloc(1, sizeof(*f));

	*out = NULL;
	if (!f) {
		close(fd);
		return FC_ENOMEM;
	}
	f->io = (struct fc_io){ .ops = &file_ops, .read_only = read_only };
	f->fd = fd;
	f->direct_fd = open_direct(fd, read_only);
	pthread_mutex_init(&f->sync_lock, NULL);
	fc_parts_pool_init(&f->parts);
	*out = &f->io;
	return 0;
}
