/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A disk in memory (its pages: sim_pages.c), its trace and its failures. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "store/io.h"
#include "store/sim_pages.h"

#define PAGE FC_SIM_PAGE
#define PAGES_MAX FC_SIM_PAGES_MAX
#define SIM_BYTES_MAX (PAGES_MAX * PAGE)
#define SIM_FREE_UNLIMITED (UINT64_C(1) << 40)
#define TRUNCATE_END (UINT64_C(1) << 63)

struct failure {
	uint64_t in; /* calls until it strikes, 0 never */
	int error;
	bool always;
};

struct sim_io {
	struct fc_io io;
	pthread_mutex_t lock; /* of all below */
	struct fc_sim_pages pages;
	uint64_t size, limit;
	struct failure fail[FC_SIM_KINDS];
	bool recording;
	struct fc_sim_event *trace;
	size_t count, room;
};

static const uint8_t zeros[PAGE];

static struct sim_io *sim_io(struct fc_io *io)
{
	return (struct sim_io *)io;
}

/* ---- changes, without failures and trace; lock held --------------------- */

/* limit in pages. *done: bytes that were written, also on failure. */
static int do_write(struct sim_io *sim, uint64_t off, const uint8_t *data, size_t n, uint64_t limit, size_t *done)
{
	int rc = 0;

	*done = 0;
	if (off > SIM_BYTES_MAX || n > SIM_BYTES_MAX - off)
		return FC_EFBIG;
	while (*done < n) {
		uint64_t at = off + *done;
		size_t in = at % PAGE;
		size_t part = n - *done < PAGE - in ? n - *done : PAGE - in;

		if (sim->pages.count >= limit && !fc_sim_pages_get(&sim->pages, at / PAGE))
			rc = FC_ENOSPC;
		else
			rc = fc_sim_pages_write(&sim->pages, at / PAGE, in, data + *done, part);
		if (rc)
			break;
		*done += part;
	}
	if (*done && off + *done > sim->size)
		sim->size = off + *done;
	return rc;
}

static int zero_part(struct sim_io *sim, uint64_t page, size_t from, size_t to)
{
	return from < to && fc_sim_pages_get(&sim->pages, page)
		       ? fc_sim_pages_write(&sim->pages, page, from, zeros, to - from)
		       : 0;
}

static int do_punch(struct sim_io *sim, uint64_t off, uint64_t n)
{
	uint64_t end = n > SIM_BYTES_MAX || off > SIM_BYTES_MAX - n ? SIM_BYTES_MAX : off + n;
	uint64_t first = off / PAGE + (off % PAGE != 0), last = end / PAGE;
	int rc;

	if (off >= end)
		return 0;
	if (first > last) /* within one page */
		return zero_part(sim, last, off % PAGE, end % PAGE);
	rc = off % PAGE ? zero_part(sim, off / PAGE, off % PAGE, PAGE) : 0;
	if (!rc && end % PAGE)
		rc = zero_part(sim, last, 0, end % PAGE);
	if (!rc && first < last)
		rc = fc_sim_pages_erase(&sim->pages, first, last - 1);
	return rc;
}

static int do_truncate(struct sim_io *sim, uint64_t n)
{
	int rc;

	if (n > SIM_BYTES_MAX)
		return FC_EFBIG;
	rc = do_punch(sim, n, SIM_BYTES_MAX);
	if (!rc)
		sim->size = n;
	return rc;
}

static int do_allocate(struct sim_io *sim, uint64_t off, uint64_t n, uint64_t limit)
{
	uint64_t page, last, missing = 0;

	if (!n)
		return 0;
	if (off > SIM_BYTES_MAX || n > SIM_BYTES_MAX - off)
		return FC_EFBIG;
	last = (off + n - 1) / PAGE;
	for (page = off / PAGE; page <= last; page++)
		missing += !fc_sim_pages_get(&sim->pages, page);
	if (missing && (sim->pages.count >= limit || missing > limit - sim->pages.count))
		return FC_ENOSPC;
	for (page = off / PAGE; page <= last; page++)
		if (!fc_sim_pages_get(&sim->pages, page) && fc_sim_pages_write(&sim->pages, page, 0, zeros, PAGE))
			return FC_ENOMEM;
	if (off + n > sim->size)
		sim->size = off + n;
	return 0;
}

static uint64_t limit_pages(const struct sim_io *sim)
{
	return sim->limit ? sim->limit / PAGE : PAGES_MAX;
}

static int strike(struct sim_io *sim, enum fc_sim_kind kind)
{
	struct failure *f = &sim->fail[kind];

	if (!f->in)
		return 0;
	if (f->in > 1) {
		f->in--;
		return 0;
	}
	if (!f->always)
		f->in = 0;
	return f->error;
}

static void trace_clear(struct sim_io *sim)
{
	size_t i;

	for (i = 0; i < sim->count; i++)
		free(sim->trace[i].data);
	free(sim->trace);
	sim->trace = NULL;
	sim->count = sim->room = 0;
}

static int trace_add(struct sim_io *sim, enum fc_sim_kind kind, uint64_t off, uint64_t n, const void *data)
{
	struct fc_sim_event *e;

	if (!sim->recording)
		return 0;
	if (sim->count == sim->room) {
		size_t room = sim->room ? sim->room * 2 : 64;

		e = realloc(sim->trace, room * sizeof(*e));
		if (!e)
			return FC_ENOMEM;
		sim->trace = e;
		sim->room = room;
	}
	e = &sim->trace[sim->count];
	*e = (struct fc_sim_event){ .kind = kind, .off = off, .bytes = n };
	if (data) {
		e->data = malloc(n);
		if (!e->data)
			return FC_ENOMEM;
		memcpy(e->data, data, n);
	}
	sim->count++;
	return 0;
}

/* ---- operations ---------------------------------------------------------- */

static int sim_read(struct fc_io *io, void *buf, size_t n, uint64_t off)
{
	struct sim_io *sim = sim_io(io);
	uint8_t *out = buf;
	int rc;

	pthread_mutex_lock(&sim->lock);
	rc = strike(sim, FC_SIM_READ);
	while (!rc && n) {
		size_t in = off % PAGE, part = n < PAGE - in ? n : PAGE - in;
		const uint8_t *page = off / PAGE < PAGES_MAX ? fc_sim_pages_get(&sim->pages, off / PAGE) : NULL;

		memcpy(out, (page ? page : zeros) + in, part);
		out += part;
		n -= part;
		off += part;
	}
	pthread_mutex_unlock(&sim->lock);
	return rc;
}

static int sim_write(struct fc_io *io, const void *buf, size_t n, uint64_t off)
{
	struct sim_io *sim = sim_io(io);
	size_t done = 0;
	int rc, traced;

	pthread_mutex_lock(&sim->lock);
	rc = strike(sim, FC_SIM_WRITE);
	if (!rc) {
		rc = do_write(sim, off, buf, n, limit_pages(sim), &done);
		traced = done ? trace_add(sim, FC_SIM_WRITE, off, done, buf) : 0;
		rc = rc ? rc : traced;
	}
	pthread_mutex_unlock(&sim->lock);
	return rc;
}

static int sim_sync(struct fc_io *io)
{
	struct sim_io *sim = sim_io(io);
	int rc;

	pthread_mutex_lock(&sim->lock);
	rc = strike(sim, FC_SIM_SYNC);
	if (!rc)
		rc = trace_add(sim, FC_SIM_SYNC, 0, 0, NULL);
	pthread_mutex_unlock(&sim->lock);
	return rc;
}

static int sim_punch(struct fc_io *io, uint64_t off, uint64_t n)
{
	struct sim_io *sim = sim_io(io);
	int rc;

	pthread_mutex_lock(&sim->lock);
	rc = strike(sim, FC_SIM_PUNCH);
	if (!rc)
		rc = do_punch(sim, off, n);
	if (!rc)
		rc = trace_add(sim, FC_SIM_PUNCH, off, n, NULL);
	pthread_mutex_unlock(&sim->lock);
	return rc;
}

static int sim_allocate(struct fc_io *io, uint64_t off, uint64_t n)
{
	struct sim_io *sim = sim_io(io);
	int rc;

	pthread_mutex_lock(&sim->lock);
	rc = strike(sim, FC_SIM_ALLOCATE);
	if (!rc)
		rc = do_allocate(sim, off, n, limit_pages(sim));
	if (!rc)
		rc = trace_add(sim, FC_SIM_ALLOCATE, off, n, NULL);
	pthread_mutex_unlock(&sim->lock);
	return rc;
}

static int sim_truncate(struct fc_io *io, uint64_t n)
{
	struct sim_io *sim = sim_io(io);
	int rc;

	pthread_mutex_lock(&sim->lock);
	rc = do_truncate(sim, n);
	if (!rc)
		rc = trace_add(sim, FC_SIM_PUNCH, n, TRUNCATE_END - n, NULL);
	pthread_mutex_unlock(&sim->lock);
	return rc;
}

static int sim_size(struct fc_io *io, uint64_t *bytes)
{
	struct sim_io *sim = sim_io(io);

	pthread_mutex_lock(&sim->lock);
	*bytes = sim->size;
	pthread_mutex_unlock(&sim->lock);
	return 0;
}

static void sim_hint(struct fc_io *io, uint64_t off, uint64_t n)
{
	(void)io, (void)off, (void)n;
}

static int sim_host_free(struct fc_io *io, uint64_t *bytes)
{
	struct sim_io *sim = sim_io(io);
	uint64_t limit;

	pthread_mutex_lock(&sim->lock);
	limit = limit_pages(sim);
	*bytes = !sim->limit ? SIM_FREE_UNLIMITED : sim->pages.count < limit ? (limit - sim->pages.count) * PAGE : 0;
	pthread_mutex_unlock(&sim->lock);
	return 0;
}

static int sim_allocated(struct fc_io *io, uint64_t *bytes)
{
	struct sim_io *sim = sim_io(io);

	pthread_mutex_lock(&sim->lock);
	*bytes = sim->pages.count * PAGE;
	pthread_mutex_unlock(&sim->lock);
	return 0;
}

static void sim_close(struct fc_io *io)
{
	struct sim_io *sim = sim_io(io);

	trace_clear(sim);
	fc_sim_pages_drop(&sim->pages);
	pthread_mutex_destroy(&sim->lock);
	free(sim);
}

static const struct fc_io_ops sim_ops = {
	.read = sim_read,
	.read_bulk = sim_read,
	.write = sim_write,
	.write_bulk = sim_write,
	.sync = sim_sync,
	.punch = sim_punch,
	.allocate = sim_allocate,
	.size = sim_size,
	.truncate = sim_truncate,
	.ahead = sim_hint,
	.host_free = sim_host_free,
	.allocated = sim_allocated,
	.close = sim_close,
};

/* ---- the tests' side ------------------------------------------------------ */

struct fc_io *fc_io_sim(void)
{
	struct sim_io *sim = calloc(1, sizeof(*sim));

	if (!sim || fc_sim_pages_init(&sim->pages)) {
		free(sim);
		return NULL;
	}
	sim->io.ops = &sim_ops;
	pthread_mutex_init(&sim->lock, NULL);
	return &sim->io;
}

struct fc_io *fc_io_sim_clone(struct fc_io *io)
{
	struct sim_io *from = sim_io(io), *sim = calloc(1, sizeof(*sim));

	if (!sim)
		return NULL;
	sim->io.ops = &sim_ops;
	pthread_mutex_init(&sim->lock, NULL);
	pthread_mutex_lock(&from->lock);
	fc_sim_pages_clone(&sim->pages, &from->pages);
	sim->size = from->size;
	pthread_mutex_unlock(&from->lock);
	return &sim->io;
}

void fc_io_sim_record(struct fc_io *io, bool on)
{
	struct sim_io *sim = sim_io(io);

	pthread_mutex_lock(&sim->lock);
	if (on)
		trace_clear(sim);
	sim->recording = on;
	pthread_mutex_unlock(&sim->lock);
}

const struct fc_sim_event *fc_io_sim_trace(struct fc_io *io, size_t *count)
{
	struct sim_io *sim = sim_io(io);
	const struct fc_sim_event *trace;

	pthread_mutex_lock(&sim->lock);
	*count = sim->count;
	trace = sim->trace;
	pthread_mutex_unlock(&sim->lock);
	return trace;
}

int fc_io_sim_apply(struct fc_io *io, const struct fc_sim_event *e, uint64_t from, uint64_t to)
{
	struct sim_io *sim = sim_io(io);
	size_t done;
	int rc = 0;

	pthread_mutex_lock(&sim->lock);
	switch (e->kind) {
	case FC_SIM_WRITE:
		to = to < e->bytes ? to : e->bytes;
		if (from < to)
			rc = do_write(sim, e->off + from, e->data + from, to - from, PAGES_MAX, &done);
		break;
	case FC_SIM_PUNCH:
		if (e->off + e->bytes == TRUNCATE_END)
			rc = do_truncate(sim, e->off);
		else
			rc = do_punch(sim, e->off, e->bytes);
		break;
	case FC_SIM_ALLOCATE:
		rc = do_allocate(sim, e->off, e->bytes, PAGES_MAX);
		break;
	case FC_SIM_SYNC:
		break;
	default:
		rc = FC_EINVAL;
	}
	pthread_mutex_unlock(&sim->lock);
	return rc;
}

void fc_io_sim_fail(struct fc_io *io, enum fc_sim_kind kind, uint64_t n, int error, bool always)
{
	struct sim_io *sim = sim_io(io);

	pthread_mutex_lock(&sim->lock);
	sim->fail[kind] = (struct failure){ .in = n, .error = error, .always = always };
	pthread_mutex_unlock(&sim->lock);
}

void fc_io_sim_limit(struct fc_io *io, uint64_t bytes)
{
	struct sim_io *sim = sim_io(io);

	pthread_mutex_lock(&sim->lock);
	sim->limit = bytes;
	pthread_mutex_unlock(&sim->lock);
}

uint64_t fc_io_sim_hash(struct fc_io *io)
{
	struct sim_io *sim = sim_io(io);
	uint64_t all[2];

	pthread_mutex_lock(&sim->lock);
	all[0] = fc_sim_pages_hash(&sim->pages);
	all[1] = sim->size;
	pthread_mutex_unlock(&sim->lock);
	return XXH3_64bits(all, sizeof(all));
}
