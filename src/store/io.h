/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Container I/O: a table of operations, so that a real file and a simulated
 * disk serve the same code. Every operation may be called from any thread;
 * ranges that are written at once by two threads must not overlap.
 */
#ifndef FC_STORE_IO_H
#define FC_STORE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fusecrypt/error.h"

struct fc_io;

#define FC_IO_ALIGN 4096u

/* Of a write in several parts. */
struct fc_io_part {
	const void *buf; /* not owned */
	size_t n;
	uint64_t off;
};

/* n bytes at `at`, of the range that is read, are in the buffer: 0 or an error. */
typedef int (*fc_io_there)(void *arg, size_t at, size_t n);

struct fc_io_ops {
	/* Fills buf with n bytes from byte off; bytes past the end are zero.
	 * 0, FC_EIO. */
	int (*read)(struct fc_io *io, void *buf, size_t n, uint64_t off);
	/* The same for bulk data that nobody will read through the host's page cache
	 * soon: past that cache where the host can. Without an alignment to
	 * FC_IO_ALIGN of buf, n and off it is read. */
	int (*read_bulk)(struct fc_io *io, void *buf, size_t n, uint64_t off);
	/* read_bulk in pieces of `piece` bytes (the last may be shorter), all of them under way at
	 * once where the host can; `there` is told of each when it has come, first to last, and may
	 * change it. Its first error ends the reading. NULL: all is read before it is told. */
	int (*read_pieces)(struct fc_io *io, uint8_t *buf, size_t n, uint64_t off, size_t piece, fc_io_there there,
			   void *arg);
	/* Writes all n bytes, growing the file as needed. 0, FC_EIO, FC_ENOSPC (no
	 * room, or the host lets the file grow no further), FC_EFBIG (no off_t reaches
	 * there). After a failure any part of the range may have changed. */
	int (*write)(struct fc_io *io, const void *buf, size_t n, uint64_t off);
	/* To write as read_bulk is to read. Within 4 MiB of the file, use one of both
	 * only: a range whose neighbours are dirty in the host's cache must not pass by it. */
	int (*write_bulk)(struct fc_io *io, const void *buf, size_t n, uint64_t off);
	/* write_bulk of several ranges that do not overlap, all at once where the host can.
	 * After a failure any part of any of them may have changed. NULL: one after the other. */
	int (*write_parts)(struct fc_io *io, const struct fc_io_part *part, size_t count);
	/* fdatasync: all writes that returned before are durable. 0 or FC_EIO; on
	 * a file, once it failed it goes on failing (R10). */
	int (*sync)(struct fc_io *io);
	/* Gives the range back to the host; it reads as zeros. 0, FC_EIO, FC_ENOTSUP. */
	int (*punch)(struct fc_io *io, uint64_t off, uint64_t n);
	/* Makes the range writable without FC_ENOSPC, keeping what it holds;
	 * grows the file when it ends beyond. 0, FC_ENOSPC, FC_EFBIG, FC_EIO;
	 * FC_ENOTSUP where the host cannot. */
	int (*allocate)(struct fc_io *io, uint64_t off, uint64_t n);
	/* The file's size in bytes. 0 or FC_EIO. */
	int (*size)(struct fc_io *io, uint64_t *bytes);
	/* Cuts the file to n bytes. 0 or FC_EIO. */
	int (*truncate)(struct fc_io *io, uint64_t n);
	/* Hints that the range will be read soon. */
	void (*ahead)(struct fc_io *io, uint64_t off, uint64_t n);
	/* Bytes the host could still give to this file. 0 or FC_EIO. */
	int (*host_free)(struct fc_io *io, uint64_t *bytes);
	/* Bytes the host has allocated to this file. 0 or FC_EIO. */
	int (*allocated)(struct fc_io *io, uint64_t *bytes);
	/* Frees io. */
	void (*close)(struct fc_io *io);
};

struct fc_io {
	const struct fc_io_ops *ops;
	bool read_only;
};

static inline int fc_io_read(struct fc_io *io, void *buf, size_t n, uint64_t off)
{
	return io->ops->read(io, buf, n, off);
}

static inline int fc_io_read_bulk(struct fc_io *io, void *buf, size_t n, uint64_t off)
{
	return io->ops->read_bulk(io, buf, n, off);
}

static inline int fc_io_read_pieces(struct fc_io *io, uint8_t *buf, size_t n, uint64_t off, size_t piece,
				    fc_io_there there, void *arg)
{
	int r;

	if (io->ops->read_pieces)
		return io->ops->read_pieces(io, buf, n, off, piece, there, arg);
	r = fc_io_read_bulk(io, buf, n, off);
	return r ? r : there(arg, 0, n);
}

static inline int fc_io_write(struct fc_io *io, const void *buf, size_t n, uint64_t off)
{
	return io->read_only ? FC_EROFS : io->ops->write(io, buf, n, off);
}

static inline int fc_io_write_bulk(struct fc_io *io, const void *buf, size_t n, uint64_t off)
{
	return io->read_only ? FC_EROFS : io->ops->write_bulk(io, buf, n, off);
}

static inline int fc_io_write_parts(struct fc_io *io, const struct fc_io_part *part, size_t count)
{
	int r = 0;

	if (count > 1 && !io->read_only && io->ops->write_parts)
		return io->ops->write_parts(io, part, count);
	for (size_t i = 0; !r && i < count; i++)
		r = fc_io_write_bulk(io, part[i].buf, part[i].n, part[i].off);
	return r;
}

static inline int fc_io_sync(struct fc_io *io)
{
	return io->ops->sync(io);
}

static inline int fc_io_punch(struct fc_io *io, uint64_t off, uint64_t n)
{
	return io->read_only ? FC_EROFS : io->ops->punch(io, off, n);
}

static inline int fc_io_allocate(struct fc_io *io, uint64_t off, uint64_t n)
{
	return io->read_only ? FC_EROFS : io->ops->allocate(io, off, n);
}

static inline int fc_io_size(struct fc_io *io, uint64_t *bytes)
{
	return io->ops->size(io, bytes);
}

static inline int fc_io_truncate(struct fc_io *io, uint64_t n)
{
	return io->read_only ? FC_EROFS : io->ops->truncate(io, n);
}

static inline void fc_io_ahead(struct fc_io *io, uint64_t off, uint64_t n)
{
	io->ops->ahead(io, off, n);
}

static inline int fc_io_host_free(struct fc_io *io, uint64_t *bytes)
{
	return io->ops->host_free(io, bytes);
}

static inline int fc_io_allocated(struct fc_io *io, uint64_t *bytes)
{
	return io->ops->allocated(io, bytes);
}

static inline void fc_io_close(struct fc_io *io)
{
	if (io)
		io->ops->close(io);
}

/*
 * store/file_io.c: a file of the host. The descriptor becomes the io's own
 * (closed by close, also when this fails). Locks are the caller's.
 */
int fc_io_file(int fd, bool read_only, struct fc_io **out);
/* Is that descriptor one of io's, made by fc_io_file? */
bool fc_io_file_owns(const struct fc_io *io, int fd);

/*
 * store/sim_io.c: a disk in memory for tests: sparse 4 KiB pages, up to 4 TiB
 * (FC_EFBIG beyond). It records every write, punch and truncate (the trace),
 * marks syncs, and can fail the n-th call of a kind. A write that runs into the
 * limit leaves, and records, what fitted. Operations may give FC_ENOMEM too.
 */
enum fc_sim_kind { FC_SIM_READ, FC_SIM_WRITE, FC_SIM_SYNC, FC_SIM_PUNCH, FC_SIM_ALLOCATE, FC_SIM_KINDS };

struct fc_sim_event {
	enum fc_sim_kind kind; /* WRITE, PUNCH, ALLOCATE or SYNC; truncate is recorded as a PUNCH to 2^63 */
	uint64_t off, bytes;
	uint8_t *data; /* WRITE: bytes copied, owned by the trace */
};

struct fc_io *fc_io_sim(void); /* NULL: out of memory */
/* A disk with the same content, without trace, failures and limit. Cheap. */
struct fc_io *fc_io_sim_clone(struct fc_io *sim);
/* Recording is off at first; switching it on starts an empty trace. */
void fc_io_sim_record(struct fc_io *sim, bool on);
/* The trace, owned by sim, valid until the next operation on it. */
const struct fc_sim_event *fc_io_sim_trace(struct fc_io *sim, size_t *count);
/* Applies one event to another disk; bytes from..to (512-byte multiples) of a
 * WRITE only, all of it with 0, UINT64_MAX. */
int fc_io_sim_apply(struct fc_io *sim, const struct fc_sim_event *event, uint64_t from, uint64_t to);
/* The n-th call (from 1) of that kind from now on fails with error; with
 * `always`, all later ones too. n = 0 clears. */
void fc_io_sim_fail(struct fc_io *sim, enum fc_sim_kind kind, uint64_t n, int error, bool always);
/* Bytes the disk may hold in all, 0 for no limit: writes and allocations beyond give FC_ENOSPC. */
void fc_io_sim_limit(struct fc_io *sim, uint64_t bytes);
/* Of the whole content and the size, for telling states apart; holes and zeros
 * are alike. */
uint64_t fc_io_sim_hash(struct fc_io *sim);

#endif
