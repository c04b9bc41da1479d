/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "many.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DIRS 4u /* the thread's own, and three in it that come and go */
#define NAMES 8u
#define FILE_MAX (160u << 10)
#define WRITE_MAX (40u << 10)
#define XATTR_MAX 3000u /* what ext4 holds, too */
#define PATH_BYTES 64

struct file {
	unsigned names;
	size_t size, xattr; /* bytes; xattr 0: none */
	uint8_t *data;      /* FILE_MAX */
	uint8_t value;      /* the attribute's bytes */
};

struct thread {
	struct many *m;
	unsigned number;
	uint64_t random, done, limit;
	bool dir[DIRS];
	struct file *name[DIRS][NAMES];
	uint8_t *buf; /* FILE_MAX */
	pthread_t id;
	bool started, wrong;
};

struct many {
	const struct many_ops *ops; /* NULL: models only */
	void *at;
	unsigned threads;
	_Atomic bool stop;
	struct thread thread[];
};

static uint64_t below(struct thread *t, uint64_t n)
{
	t->random += 0x9e3779b97f4a7c15u;
	uint64_t x = t->random;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (x ^ x >> 31) % n;
}

static void wrong(struct thread *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void wrong(struct thread *t, const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!t->wrong)
		fprintf(stderr, "thread %u, step %llu: %s\n", t->number, (unsigned long long)t->done, text);
	t->wrong = true;
	atomic_store(&t->m->stop, true);
}

/* Was that the answer? */
static void expect(struct thread *t, const char *what, const char *path, long got, long want)
{
	if (got != want)
		wrong(t, "%s %s: %ld (%s), right is %ld (%s)", what, path, got, got < 0 ? strerror((int)-got) : "done",
		      want, want < 0 ? strerror((int)-want) : "done");
}

static void dir_path(const struct thread *t, unsigned dir, char *out)
{
	snprintf(out, PATH_BYTES, dir ? "t-%u/d-%u" : "t-%u", t->number, dir);
}

static void path_of(const struct thread *t, unsigned dir, unsigned name, char *out)
{
	char parent[PATH_BYTES / 2];

	snprintf(parent, sizeof(parent), dir ? "t-%u/d-%u" : "t-%u", t->number, dir);
	snprintf(out, PATH_BYTES, "%s/n-%u", parent, name);
}

static void drop(struct file *f)
{
	if (f && --f->names == 0) {
		free(f->data);
		free(f);
	}
}

/* ---- steps -------------------------------------------------------------------- */

static void make(struct thread *t, unsigned dir, unsigned name)
{
	char path[PATH_BYTES];
	int want = !t->dir[dir] ? -ENOENT : t->name[dir][name] ? -EEXIST : 0;

	path_of(t, dir, name, path);
	if (t->m->ops)
		expect(t, "make", path, t->m->ops->make(t->m->at, path), want);
	if (want)
		return;
	t->name[dir][name] = calloc(1, sizeof(struct file));
	t->name[dir][name]->names = 1;
	t->name[dir][name]->data = calloc(1, FILE_MAX);
}

static void make_or_remove_dir(struct thread *t, unsigned dir)
{
	char path[PATH_BYTES];
	bool empty = true;

	if (!dir)
		return;
	for (unsigned i = 0; i < NAMES; i++)
		empty = empty && !t->name[dir][i];
	dir_path(t, dir, path);
	if (below(t, 2)) {
		if (t->m->ops)
			expect(t, "mkdir", path, t->m->ops->mkdir(t->m->at, path), t->dir[dir] ? -EEXIST : 0);
		t->dir[dir] = true;
		return;
	}
	if (t->m->ops)
		expect(t, "rmdir", path, t->m->ops->rmdir(t->m->at, path),
		       !t->dir[dir] ? -ENOENT
		       : empty      ? 0
				    : -ENOTEMPTY);
	if (empty)
		t->dir[dir] = false;
}

static void move(struct thread *t, unsigned dir, unsigned name, bool hard)
{
	unsigned dir2 = (unsigned)below(t, DIRS), name2 = (unsigned)below(t, NAMES);
	struct file **from = &t->name[dir][name], **to = &t->name[dir2][name2];
	char a[PATH_BYTES], b[PATH_BYTES];
	int want = !*from || !t->dir[dir2] ? -ENOENT : hard && *to ? -EEXIST : 0;

	path_of(t, dir, name, a);
	path_of(t, dir2, name2, b);
	if (t->m->ops)
		expect(t, hard ? "link" : "rename", b,
		       hard ? t->m->ops->link(t->m->at, a, b) : t->m->ops->rename(t->m->at, a, b), want);
	if (want || *from == *to) /* two names of one file stay */
		return;
	(*from)->names++;
	drop(*to);
	*to = *from;
	if (!hard) {
		drop(*from);
		*from = NULL;
	}
}

static void take_away(struct thread *t, unsigned dir, unsigned name)
{
	char path[PATH_BYTES];

	path_of(t, dir, name, path);
	if (t->m->ops)
		expect(t, "unlink", path, t->m->ops->unlink(t->m->at, path), t->name[dir][name] ? 0 : -ENOENT);
	drop(t->name[dir][name]);
	t->name[dir][name] = NULL;
}

static void write_some(struct thread *t, unsigned dir, unsigned name)
{
	size_t n = 1 + (size_t)below(t, below(t, 3) ? 3000 : WRITE_MAX), off = (size_t)below(t, FILE_MAX - n);
	uint64_t seed = below(t, UINT64_MAX);
	struct file *f = t->name[dir][name];
	char path[PATH_BYTES];

	if (!below(t, 3))
		off &= ~(size_t)4095;
	for (size_t i = 0; i < n; i++)
		t->buf[i] = (uint8_t)(seed >> (i % 8 * 8)) ^ (uint8_t)(i >> 3);
	path_of(t, dir, name, path);
	if (t->m->ops)
		expect(t, "write", path, t->m->ops->write(t->m->at, path, off, t->buf, n), f ? 0 : -ENOENT);
	if (!f)
		return;
	memcpy(f->data + off, t->buf, n);
	if (f->size < off + n)
		f->size = off + n;
}

static void cut(struct thread *t, unsigned dir, unsigned name)
{
	size_t size = (size_t)below(t, FILE_MAX);
	struct file *f = t->name[dir][name];
	char path[PATH_BYTES];

	path_of(t, dir, name, path);
	if (t->m->ops)
		expect(t, "truncate", path, t->m->ops->truncate(t->m->at, path, size), f ? 0 : -ENOENT);
	if (!f)
		return;
	memset(f->data + size, 0, FILE_MAX - size);
	f->size = size;
}

static void mark(struct thread *t, unsigned dir, unsigned name)
{
	size_t n = 1 + (size_t)below(t, below(t, 4) ? 60 : XATTR_MAX);
	uint8_t value = (uint8_t)below(t, 256);
	struct file *f = t->name[dir][name];
	char path[PATH_BYTES];

	memset(t->buf, value, n);
	path_of(t, dir, name, path);
	if (t->m->ops)
		expect(t, "setxattr", path, t->m->ops->setxattr(t->m->at, path, t->buf, n), f ? 0 : -ENOENT);
	if (!f)
		return;
	f->xattr = n;
	f->value = value;
}

static void look_at_file(struct thread *t, unsigned dir, unsigned name)
{
	const struct file *f = t->name[dir][name];
	char path[PATH_BYTES];
	size_t i;

	path_of(t, dir, name, path);
	expect(t, "read", path, (long)t->m->ops->read(t->m->at, path, 0, t->buf, FILE_MAX),
	       f ? (long)f->size : -ENOENT);
	if (!f)
		return;
	for (i = 0; !t->wrong && i < f->size; i++)
		if (t->buf[i] != f->data[i])
			wrong(t, "%s: byte %zu is %02x, right is %02x", path, i, t->buf[i], f->data[i]);
	expect(t, "getxattr", path, (long)t->m->ops->getxattr(t->m->at, path, t->buf, XATTR_MAX),
	       f->xattr ? (long)f->xattr : -ENODATA);
	for (i = 0; !t->wrong && i < f->xattr; i++)
		if (t->buf[i] != f->value)
			wrong(t, "%s: byte %zu of its attribute is wrong", path, i);
}

struct listing {
	struct thread *t;
	unsigned dir;
	unsigned seen, files, dirs;
};

static void take_name(void *arg, const char *name)
{
	struct listing *l = arg;
	unsigned n;

	if (sscanf(name, "n-%u", &n) == 1 && n < NAMES && l->t->name[l->dir][n] && !(l->files >> n & 1))
		l->files |= 1u << n;
	else if (sscanf(name, "d-%u", &n) == 1 && !l->dir && n < DIRS && l->t->dir[n] && !(l->dirs >> n & 1))
		l->dirs |= 1u << n;
	else
		wrong(l->t, "directory %u has a name that it must not have, or twice: %s", l->dir, name);
	l->seen++;
}

static void look_at_dir(struct thread *t, unsigned dir)
{
	struct listing l = { .t = t, .dir = dir };
	char path[PATH_BYTES];
	unsigned want = 0;

	for (unsigned i = 0; i < NAMES; i++)
		want += t->name[dir][i] != NULL;
	for (unsigned i = 1; !dir && i < DIRS; i++)
		want += t->dir[i];
	dir_path(t, dir, path);
	expect(t, "list", path, t->m->ops->list(t->m->at, path, take_name, &l), t->dir[dir] ? 0 : -ENOENT);
	if (t->dir[dir] && l.seen != want)
		wrong(t, "%s has %u names, right is %u", path, l.seen, want);
}

static void sync_it(struct thread *t, unsigned dir, unsigned name)
{
	bool file = below(t, 2);
	char path[PATH_BYTES];

	if (file)
		path_of(t, dir, name, path);
	else
		dir_path(t, dir, path);
	expect(t, "sync", path, t->m->ops->sync(t->m->at, path),
	       (file ? t->name[dir][name] != NULL : t->dir[dir]) ? 0 : -ENOENT);
}

static void step(struct thread *t)
{
	unsigned dir = (unsigned)below(t, DIRS), name = (unsigned)below(t, NAMES), what = (unsigned)below(t, 100);

	if (what < 14)
		make(t, dir, name);
	else if (what < 20)
		make_or_remove_dir(t, dir);
	else if (what < 28)
		move(t, dir, name, false);
	else if (what < 33)
		move(t, dir, name, true);
	else if (what < 40)
		take_away(t, dir, name);
	else if (what < 62)
		write_some(t, dir, name);
	else if (what < 66)
		cut(t, dir, name);
	else if (what < 71)
		mark(t, dir, name);
	else if (!t->m->ops && what < 97)
		;
	else if (what < 90)
		look_at_file(t, dir, name);
	else if (what < 97)
		look_at_dir(t, dir);
	else if (t->m->ops)
		sync_it(t, dir, name);
	else
		(void)below(t, 2);
	t->done++;
}

static void *work(void *arg)
{
	struct thread *t = arg;

	while (!t->wrong && !atomic_load(&t->m->stop) && (!t->limit || t->done < t->limit))
		step(t);
	return NULL;
}

/* ---- all of them ---------------------------------------------------------------- */

struct many *many_new(const struct many_ops *ops, void *at, unsigned threads, uint64_t seed)
{
	struct many *m = calloc(1, sizeof(*m) + threads * sizeof(m->thread[0]));

	if (!m)
		return NULL;
	m->ops = ops;
	m->at = at;
	m->threads = threads;
	for (unsigned i = 0; i < threads; i++) {
		struct thread *t = &m->thread[i];

		*t = (struct thread){ .m = m, .number = i, .random = seed * 1000003 + i, .dir = { true } };
		t->buf = malloc(FILE_MAX);
		if (!t->buf) {
			many_free(m);
			return NULL;
		}
	}
	return m;
}

void many_free(struct many *m)
{
	for (unsigned i = 0; i < m->threads; i++) {
		for (unsigned k = 0; k < DIRS * NAMES; k++)
			drop(m->thread[i].name[k / NAMES][k % NAMES]);
		free(m->thread[i].buf);
	}
	free(m);
}

static int any_wrong(const struct many *m)
{
	for (unsigned i = 0; i < m->threads; i++)
		if (m->thread[i].wrong)
			return 1;
	return 0;
}

int many_run(struct many *m, double seconds, uint64_t steps)
{
	struct timespec pause = { .tv_sec = (time_t)seconds,
				  .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };

	for (unsigned i = 0; i < m->threads; i++) {
		char path[PATH_BYTES];

		dir_path(&m->thread[i], 0, path);
		expect(&m->thread[i], "mkdir", path, m->ops->mkdir(m->at, path), 0);
		m->thread[i].limit = steps;
	}
	for (unsigned i = 0; i < m->threads; i++)
		m->thread[i].started = !pthread_create(&m->thread[i].id, NULL, work, &m->thread[i]);
	if (!steps) {
		nanosleep(&pause, NULL);
		atomic_store(&m->stop, true);
	}
	for (unsigned i = 0; i < m->threads; i++) {
		if (m->thread[i].started)
			pthread_join(m->thread[i].id, NULL);
		else
			wrong(&m->thread[i], "there is no thread");
	}
	return any_wrong(m);
}

void many_replay(struct many *m, const uint64_t *done)
{
	const struct many_ops *ops = m->ops;

	m->ops = NULL;
	for (unsigned i = 0; i < m->threads; i++)
		while (m->thread[i].done < done[i])
			step(&m->thread[i]);
	m->ops = ops;
}

int many_verify(struct many *m, void *at)
{
	m->at = at;
	for (unsigned i = 0; i < m->threads; i++)
		for (unsigned dir = 0; dir < DIRS; dir++) {
			look_at_dir(&m->thread[i], dir);
			for (unsigned name = 0; name < NAMES; name++)
				look_at_file(&m->thread[i], dir, name);
		}
	return any_wrong(m);
}

uint64_t many_done(const struct many *m, unsigned thread)
{
	return m->thread[thread].done;
}
