/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that take requests from the device.
 *
 * Round trips and wake-ups are what FUSE costs, so one thread does all that is
 * short: it reads a request, answers it, and looks for the next, spinning a
 * little while requests keep coming. Handing a request to another thread
 * costs more than most requests do.
 *
 * One thread at a time may read: the one that holds the token.
 *
 *   even  held: a thread reads, spins or sleeps in poll
 *   odd   that thread is busy with a request; whoever makes the value even
 *         (compare and exchange) is the reader from then on. The thread
 *         itself tries it too when it is done, and mostly wins.
 *
 * The value only grows, so a stale comparison fails. Others take the token
 *
 *   - when called: before a request that takes long by experience, while more
 *     requests come in than one at a time;
 *   - the watcher, one of the idle threads, when the reader sits in one request
 *     for a tick or two. It sleeps without a timeout when nothing happens, so an
 *     idle mount makes no wake-ups.
 *   - a thread that has just finished a request and finds the token odd.
 */
#include "session/session_internal.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS 50000u         /* longer gaps than that are slept through */
#define SPIN_CREDIT_MAX 8u     /* gaps in a row that were short */
#define CROWD_MAX 16u          /* requests for which a crowd is remembered */
#define WORTH_A_CALL_NS 20000u /* a request that takes this long is worth a wake-up */
#define TICK_NS 1000000u       /* of the watcher */
#define QUIET_TICKS 16u        /* until it sleeps */
#define MAX_WORKERS 8u         /* not counting those that wait for other requests */
#define MAX_DEPENDENT 48u

enum fc_watcher {
	FC_WATCHER_NONE,
	FC_WATCHER_TICKING,
	FC_WATCHER_ASLEEP, /* the reader wakes it before it works */
};

uint64_t fc_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value, long timeout_ns)
{
	struct timespec ts = { .tv_nsec = timeout_ns };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns ? &ts : NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* True if this was what woke it. */
static bool rouse_watcher(struct fc_loop *loop)
{
	uint32_t asleep = FC_WATCHER_ASLEEP;

	if (atomic_load(&loop->watcher) != FC_WATCHER_ASLEEP ||
	    !atomic_compare_exchange_strong(&loop->watcher, &asleep, FC_WATCHER_TICKING))
		return false;
	futex_wake(&loop->watcher, 1);
	return true;
}

static void call_watcher(struct fc_loop *loop)
{
	atomic_fetch_add(&loop->watcher_call, 1);
	if (!rouse_watcher(loop))
		futex_wake(&loop->watcher_call, 1);
}

static void call_parked(struct fc_loop *loop, int count)
{
	atomic_fetch_add(&loop->parked_call, 1);
	futex_wake(&loop->parked_call, count);
}

/* ---- the token ---------------------------------------------------------- */

static bool take_token(struct fc_worker *worker, uint64_t seen)
{
	if (!(seen & 1) || !atomic_compare_exchange_strong(&worker->session->loop.token, &seen, seen + 1))
		return false;
	worker->token = seen + 1;
	return true;
}

/* The reader goes to work: from here on the token may be taken. */
static void offer_token(struct fc_worker *worker)
{
	struct fc_loop *loop = &worker->session->loop;

	atomic_store(&loop->token, ++worker->token);
	rouse_watcher(loop);
}

static void *worker_main(void *arg);

static struct fc_worker *worker_new(struct fc_session *session)
{
	/* From its third page on, data is aligned; the request's fixed part
	 * lies right before it. */
	size_t size = FC_HEADER_ROOM + FC_REQUEST_BYTES + FC_HEADER_ROOM;
	size_t fixed = sizeof(struct fuse_in_header) + sizeof(struct fuse_write_in);
	struct fc_worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return NULL;
	worker->mapping = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (worker->mapping == MAP_FAILED) {
		free(worker);
		return NULL;
	}
	madvise(worker->mapping, size, MADV_DONTDUMP);
	worker->session = session;
	worker->data = worker->mapping + FC_HEADER_ROOM;
	worker->request = worker->data - fixed;
	return worker;
}

static void worker_free(struct fc_worker *worker)
{
	size_t size = FC_HEADER_ROOM + FC_REQUEST_BYTES + FC_HEADER_ROOM;

	explicit_bzero(worker->mapping, size);
	munmap(worker->mapping, size);
	free(worker);
}

/* One more thread, unless there are enough; without it, requests just wait. */
static void start_worker(struct fc_session *session)
{
	struct fc_loop *loop = &session->loop;
	struct fc_worker *worker;

	pthread_mutex_lock(&loop->lock);
	if (!atomic_load(&loop->ended) && loop->threads < sizeof(loop->workers) / sizeof(loop->workers[0]) &&
	    loop->threads + 1 < MAX_WORKERS + atomic_load(&loop->dependent)) {
		worker = worker_new(session);
		if (worker && pthread_create(&worker->thread, NULL, worker_main, worker) == 0)
			loop->workers[loop->threads++] = worker;
		else if (worker)
			worker_free(worker);
	}
	pthread_mutex_unlock(&loop->lock);
}

/* Has another thread take the token, if one is idle or may be started. */
static void call_another(struct fc_session *session)
{
	struct fc_loop *loop = &session->loop;

	if (atomic_load(&loop->parked))
		call_parked(loop, 1);
	else if (atomic_load(&loop->watcher) != FC_WATCHER_NONE)
		call_watcher(loop);
	else
		start_worker(session);
}

/* ---- reading ------------------------------------------------------------ */

static void account_gap(struct fc_loop *loop, bool shorter)
{
	if (!shorter)
		loop->spin_credit -= loop->spin_credit ? 1 : 0;
	else if (loop->spin_credit < SPIN_CREDIT_MAX)
		loop->spin_credit++;
}

/* Bytes of a request, or 0 when the connection has ended. With the token. */
static size_t read_request(struct fc_worker *worker)
{
	struct fc_session *session = worker->session;
	struct fc_loop *loop = &session->loop;
	bool spin = loop->may_spin && loop->spin_credit;
	uint64_t empty_since = 0, now;
	ssize_t n;

	for (;;) {
		n = read(session->fd, worker->request, FC_REQUEST_BYTES);
		if (n > 0)
			break;
		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (n == 0 || errno != EAGAIN)
			return 0;
		now = fc_now_ns();
		if (!empty_since)
			empty_since = now;
		if (spin && now - empty_since < SPIN_NS) {
			/* Never in the way of a program that could run here. */
			sched_yield();
			continue;
		}
		atomic_store_explicit(&loop->last_request_ns, now, memory_order_relaxed);
		poll(&(struct pollfd){ .fd = session->fd, .events = POLLIN }, 1, -1);
		spin = false;
	}
	account_gap(loop, !empty_since || fc_now_ns() - empty_since < SPIN_NS);
	fc_latency_request(&loop->latency);
	return (size_t)n;
}

/* ---- working ------------------------------------------------------------ */

static unsigned opcode_of(const struct fc_worker *worker)
{
	const struct fuse_in_header *header = (const void *)worker->request;

	return header->opcode < FC_MAX_OPCODE ? header->opcode : 0;
}

/* Whether a second thread should read while this one works. With the token. */
static bool worth_a_call(struct fc_worker *worker)
{
	struct fc_loop *loop = &worker->session->loop;
	struct pollfd ready = { .fd = worker->session->fd, .events = POLLIN };
	uint32_t cost = atomic_load_explicit(&loop->cost_ns[opcode_of(worker)], memory_order_relaxed);

	if (cost < WORTH_A_CALL_NS || cost > TICK_NS)
		return cost > TICK_NS;
	if (poll(&ready, 1, 0) > 0)
		loop->crowd = CROWD_MAX;
	else if (loop->crowd)
		loop->crowd--;
	return loop->crowd > 0;
}

static void serve_long(struct fc_worker *worker, size_t n)
{
	_Atomic uint32_t *cost = &worker->session->loop.cost_ns[opcode_of(worker)];
	uint64_t start = fc_now_ns(), took;
	uint32_t mean;

	fc_request_serve(worker, n);
	took = fc_now_ns() - start;
	mean = atomic_load_explicit(cost, memory_order_relaxed);
	/* A single slow one (the disk stalled) must not count for long. */
	took = took > 10000000 ? 10000000 : took;
	atomic_store_explicit(cost, (uint32_t)(mean - mean / 8 + took / 8), memory_order_relaxed);
}

/* Answers n bytes; the token is offered meanwhile. */
static void work(struct fc_worker *worker, size_t n)
{
	bool long_one = fc_request_weight(worker->request, n) == FC_LONG;
	bool call = long_one && worth_a_call(worker);

	offer_token(worker);
	if (call)
		call_another(worker->session);
	if (long_one)
		serve_long(worker, n);
	else
		fc_request_serve(worker, n);
}

/* The watcher takes the token when this thread waits, and there is always one, since
 * such threads do not count towards the limit. */
bool fc_loop_depend(struct fc_session *session)
{
	struct fc_loop *loop = &session->loop;
	uint32_t dependent = atomic_fetch_add(&loop->dependent, 1) + 1;

	if (dependent <= MAX_DEPENDENT && dependent <= atomic_load(&loop->threads))
		return true;
	atomic_fetch_sub(&loop->dependent, 1);
	return false;
}

void fc_loop_depend_end(struct fc_session *session)
{
	atomic_fetch_sub(&session->loop.dependent, 1);
}

static void end_loop(struct fc_loop *loop)
{
	atomic_store(&loop->ended, true);
	call_parked(loop, INT32_MAX);
	call_watcher(loop);
}

/* Serves as the reader until the token is lost (true) or all has ended (false). */
static bool lead(struct fc_worker *worker)
{
	struct fc_loop *loop = &worker->session->loop;

	do {
		size_t n = read_request(worker);

		if (!n) {
			end_loop(loop);
			return false;
		}
		work(worker, n);
	} while (take_token(worker, worker->token));
	return true;
}

/* ---- waiting ------------------------------------------------------------ */

/* Sleeps until the reader goes to work again, or is called. It sets the token
 * and then looks whether we sleep, we do it the other way round: so one of us notices. */
static void watcher_sleep(struct fc_loop *loop, uint64_t token, uint32_t call)
{
	atomic_store(&loop->watcher, FC_WATCHER_ASLEEP);
	if (atomic_load(&loop->token) == token && atomic_load(&loop->watcher_call) == call)
		futex_wait(&loop->watcher, FC_WATCHER_ASLEEP, 0);
	atomic_store(&loop->watcher, FC_WATCHER_TICKING);
}

/* As the watcher: true with the token, false when all has ended. */
static bool watch(struct fc_worker *worker)
{
	struct fc_loop *loop = &worker->session->loop;
	uint64_t seen = atomic_load(&loop->token), token;
	uint32_t call = atomic_load(&loop->watcher_call), last_call = call;
	unsigned quiet = 0;

	while (!atomic_load(&loop->ended)) {
		bool slept = quiet == QUIET_TICKS;

		if (slept)
			watcher_sleep(loop, seen, call);
		else
			futex_wait(&loop->watcher_call, call, TICK_NS);
		token = atomic_load(&loop->token);
		call = atomic_load(&loop->watcher_call);
		if ((call != last_call || (token == seen && !slept)) && take_token(worker, token))
			return true;
		if (!slept)
			fc_latency_tick(&loop->latency, (token - seen) / 2);
		fc_dirty_tick(worker->session);
		quiet = token == seen && !slept ? quiet + 1 : 0;
		seen = token;
		last_call = call;
	}
	return false;
}

/* Waits for the token: true with it, false when all has ended. */
static bool follow(struct fc_worker *worker)
{
	struct fc_loop *loop = &worker->session->loop;

	while (!atomic_load(&loop->ended)) {
		uint32_t call = atomic_load(&loop->parked_call), none = FC_WATCHER_NONE;

		if (take_token(worker, atomic_load(&loop->token)))
			return true;
		if (atomic_compare_exchange_strong(&loop->watcher, &none, FC_WATCHER_TICKING)) {
			bool taken = watch(worker);

			atomic_store(&loop->watcher, FC_WATCHER_NONE);
			if (taken)
				return true;
			continue;
		}
		atomic_fetch_add(&loop->parked, 1);
		if (!atomic_load(&loop->ended))
			futex_wait(&loop->parked_call, call, 0);
		atomic_fetch_sub(&loop->parked, 1);
	}
	return false;
}

/* A new reader that leaves nobody behind it makes sure that there is somebody. */
static void fill_up(struct fc_session *session)
{
	struct fc_loop *loop = &session->loop;

	if (atomic_load(&loop->watcher) != FC_WATCHER_NONE)
		return;
	if (atomic_load(&loop->parked))
		call_parked(loop, 1);
	else
		start_worker(session);
}

static void *worker_main(void *arg)
{
	struct fc_worker *worker = arg;

	while (follow(worker)) {
		fill_up(worker->session);
		if (!lead(worker))
			break;
	}
	return NULL;
}

void fc_loop_prepare(struct fc_session *session)
{
	struct fc_loop *loop = &session->loop;

	fc_latency_open(&loop->latency);
	loop->may_spin = sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

int fc_loop_run(struct fc_session *session)
{
	struct fc_loop *loop = &session->loop;
	struct fc_worker *first = worker_new(session);
	unsigned i;

	if (!first)
		return ENOMEM;
	pthread_mutex_init(&loop->lock, NULL);
	atomic_store(&loop->last_request_ns, fc_now_ns());
	start_worker(session);
	/* The token is even and this thread's own: it begins as the reader. */
	if (lead(first))
		worker_main(first);
	for (i = 0; i < loop->threads; i++) {
		pthread_join(loop->workers[i]->thread, NULL);
		worker_free(loop->workers[i]);
	}
	worker_free(first);
	fc_latency_close(&loop->latency);
	pthread_mutex_destroy(&loop->lock);
	return 0;
}
