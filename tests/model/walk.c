/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

void fc_text_add(struct fc_text *text, const char *format, ...)
{
	va_list args, again;
	int n;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(text->bytes ? text->bytes + text->n : NULL, text->room - text->n, format, args);
	if (n < 0)
		abort();
	if (text->n + (size_t)n + 1 > text->room) {
		text->room = (text->n + (size_t)n + 1) * 2 + 4096;
		text->bytes = realloc(text->bytes, text->room);
		if (!text->bytes)
			abort();
		vsnprintf(text->bytes + text->n, text->room - text->n, format, again);
	}
	text->n += (size_t)n;
	va_end(again);
	va_end(args);
}

void fc_text_free(struct fc_text *text)
{
	free(text->bytes);
	*text = (struct fc_text){ 0 };
}

/* The next line of *at; its length, without the newline. */
static size_t line(const char *at, size_t left)
{
	const char *end = left ? memchr(at, '\n', left) : NULL;

	return end ? (size_t)(end - at) : left;
}

static bool has_line(const struct fc_text *text, const char *want, size_t n)
{
	for (size_t at = 0, len; at < text->n; at += len + 1) {
		len = line(text->bytes + at, text->n - at);
		if (len == n && memcmp(text->bytes + at, want, n) == 0)
			return true;
	}
	return false;
}

static void only_in(const char *sign, const struct fc_text *a, const struct fc_text *b)
{
	for (size_t at = 0, len; at < a->n; at += len + 1) {
		len = line(a->bytes + at, a->n - at);
		if (!has_line(b, a->bytes + at, len))
			fprintf(stderr, "  %s %.*s\n", sign, (int)len, a->bytes + at);
	}
}

void fc_text_diff(const struct fc_text *want, const struct fc_text *got)
{
	only_in("model:    ", want, got);
	only_in("container:", got, want);
}

/* ---- lines ---------------------------------------------------------------- */

/* Name bytes as printable ones; long names as their hash. */
static void add_name(struct fc_text *out, const char *name)
{
	size_t n = strlen(name);

	if (n > 40) {
		fc_text_add(out, "/%.8s..%zu.%016llx", name, n, (unsigned long long)XXH3_64bits(name, n));
		return;
	}
	fc_text_add(out, "/");
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c > 0x20 && c < 0x7f)
			fc_text_add(out, "%c", c);
		else
			fc_text_add(out, "\\%02x", c);
	}
}

static void add_time(struct fc_text *out, const char *what, struct fc_time t)
{
	fc_text_add(out, " %s=%lld.%09u", what, (long long)t.sec, (unsigned)t.nsec);
}

static void add_attr(struct fc_text *out, uint32_t number, const struct fc_attr *a)
{
	fc_text_add(out, " #%u mode=%o links=%u owner=%u:%u", (unsigned)number, (unsigned)a->mode, (unsigned)a->nlink,
		    (unsigned)a->uid, (unsigned)a->gid);
	if (!S_ISDIR(a->mode))
		fc_text_add(out, " size=%llu", (unsigned long long)a->size);
	if (S_ISCHR(a->mode) || S_ISBLK(a->mode))
		fc_text_add(out, " rdev=%llx", (unsigned long long)a->rdev);
	add_time(out, "a", a->atime);
	add_time(out, "m", a->mtime);
	add_time(out, "c", a->ctime);
	add_time(out, "b", a->btime);
}

static void add_xattr(struct fc_text *out, const char *name, const void *value, size_t n)
{
	fc_text_add(out, " x:");
	add_name(out, name);
	fc_text_add(out, "=%zu.%016llx", n, (unsigned long long)XXH3_64bits(value, n));
}

static void add_target(struct fc_text *out, const char *target)
{
	fc_text_add(out, " -> %zu.%016llx", strlen(target), (unsigned long long)XXH3_64bits(target, strlen(target)));
}

/* ---- inode numbers by first visit ------------------------------------------- */

struct seen {
	struct {
		uint64_t ino;
		uint32_t number; /* 0: free */
	} * slot;
	size_t room; /* a power of two */
	uint32_t count;
};

static void seen_grow(struct seen *s)
{
	struct seen old = *s;

	s->room = old.room ? old.room * 2 : 64;
	s->slot = calloc(s->room, sizeof(*s->slot));
	if (!s->slot)
		abort();
	for (size_t i = 0; i < old.room; i++) {
		size_t at = old.slot[i].ino * 0x9e3779b97f4a7c15u % s->room;

		if (!old.slot[i].number)
			continue;
		while (s->slot[at].number)
			at = (at + 1) % s->room;
		s->slot[at].ino = old.slot[i].ino;
		s->slot[at].number = old.slot[i].number;
	}
	free(old.slot);
}

/* The inode's number; *first: it was not visited before. */
static uint32_t seen_visit(struct seen *s, uint64_t ino, bool *first)
{
	size_t at;

	if (s->count * 2 >= s->room)
		seen_grow(s);
	for (at = ino * 0x9e3779b97f4a7c15u % s->room; s->slot[at].number; at = (at + 1) % s->room)
		if (s->slot[at].ino == ino) {
			*first = false;
			return s->slot[at].number;
		}
	*first = true;
	s->slot[at].ino = ino;
	s->slot[at].number = ++s->count;
	return s->count;
}

/* ---- the model ---------------------------------------------------------------- */

struct model_walk {
	const struct fc_model *m;
	struct fc_text *out, path;
	struct seen seen;
};

static void model_inode(struct model_walk *w, uint32_t node)
{
	const struct fc_attr *a = fc_model_attr(w->m, node);
	const char *name;
	const void *value;
	bool first;
	size_t n;
	uint32_t number = seen_visit(&w->seen, node, &first);

	if (!first) {
		fc_text_add(w->out, " #%u again\n", (unsigned)number);
		return;
	}
	add_attr(w->out, number, a);
	if (S_ISREG(a->mode))
		fc_text_add(w->out, " data=%016llx", (unsigned long long)fc_model_content(w->m, node));
	if (S_ISLNK(a->mode))
		add_target(w->out, fc_model_target(w->m, node));
	for (size_t i = 0; fc_model_attribute(w->m, node, i, &name, &value, &n); i++)
		add_xattr(w->out, name, value, n);
	fc_text_add(w->out, "\n");
}

static void model_dir(struct model_walk *w, uint32_t dir)
{
	struct fc_model_entry entry;
	size_t top = w->path.n;

	for (size_t i = 0; fc_model_entry(w->m, dir, i, &entry); i++) {
		add_name(&w->path, entry.name);
		fc_text_add(w->out, "%s", w->path.bytes);
		model_inode(w, entry.node);
		if (S_ISDIR(fc_model_attr(w->m, entry.node)->mode))
			model_dir(w, entry.node);
		w->path.n = top;
		w->path.bytes[top] = 0;
	}
}

void fc_walk_model(const struct fc_model *m, struct fc_text *out)
{
	struct model_walk w = { .m = m, .out = out };

	fc_text_add(out, ".");
	model_inode(&w, FC_INO_ROOT);
	model_dir(&w, FC_INO_ROOT);
	free(w.seen.slot);
	fc_text_free(&w.path);
}

/* ---- a container ---------------------------------------------------------------- */

#define WHOLE_MAX (1u << 20)
#define STEP 65536u
#define DEPTH_MAX 200u

struct entry {
	char name[FC_NAME_MAX + 1];
	uint64_t ino;
	uint32_t type;
	bool known; /* attr is there, and a reference of it */
	struct fc_attr attr;
};

struct list {
	struct entry *entry;
	size_t n, room;
	uint64_t last_off, self, parent;
	unsigned dots, disorder;
};

struct walk {
	struct fc_fs *fs;
	unsigned how, errors, depth;
	struct fc_text *out, path;
	struct seen seen;
	uint8_t buf[FC_XATTR_VALUE_MAX > STEP ? FC_XATTR_VALUE_MAX : STEP];
};

static void failed(struct walk *w, const char *what, int error)
{
	w->errors++;
	fc_text_add(w->out, " error: %s: %s\n", what, error < 0 ? fc_error_text(error) : "contradicts itself");
}

static int take(void *arg, const char *name, uint64_t ino, uint32_t type, uint64_t next_off, const struct fc_attr *attr)
{
	struct list *l = arg;
	struct entry *e;

	l->disorder += next_off <= l->last_off;
	l->last_off = next_off;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		*(name[1] ? &l->parent : &l->self) = ino;
		l->dots++;
		return 0;
	}
	if (l->n == l->room) {
		l->room = l->room * 2 + 16;
		l->entry = realloc(l->entry, l->room * sizeof(*l->entry));
		if (!l->entry)
			abort();
	}
	e = &l->entry[l->n++];
	memset(e->name, 0, sizeof(e->name));
	memcpy(e->name, name, strnlen(name, FC_NAME_MAX));
	e->ino = ino;
	e->type = type;
	e->known = attr != NULL;
	if (attr)
		e->attr = *attr;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* Adds the units of [off, end) to *sum; off is at a unit's start. */
static int add_units(struct walk *w, uint64_t ino, uint64_t off, uint64_t end, uint64_t *sum)
{
	while (off < end) {
		size_t n = end - off < STEP ? end - off : STEP, got = 0;
		int error = fc_fs_read(w->fs, ino, off, n, w->buf, &got);

		if (error)
			return error;
		if (got != n)
			return 1;
		if (n % FC_BLOCK)
			memset(w->buf + n, 0, FC_BLOCK - n % FC_BLOCK);
		for (size_t i = 0; i < n; i += FC_BLOCK) {
			uint64_t hash;

			if (!fc_walk_unit(w->buf + i, &hash))
				*sum += fc_walk_content((off + i) / FC_BLOCK, hash);
		}
		off += n;
	}
	return 0;
}

/* Sum over what SEEK_DATA finds. */
static int sum_data(struct walk *w, uint64_t ino, uint64_t size, uint64_t *sum)
{
	uint64_t off = 0, data, hole;

	for (*sum = 0; off < size; off = hole) {
		int error = fc_fs_lseek(w->fs, ino, off, SEEK_DATA, &data);

		if (error == FC_ENXIO)
			return 0;
		if (error)
			return error;
		error = fc_fs_lseek(w->fs, ino, data, SEEK_HOLE, &hole);
		if (error)
			return error;
		if (data < off || data % FC_BLOCK || hole <= data || hole > size)
			return 1;
		error = add_units(w, ino, data, hole, sum);
		if (error)
			return error;
		if (hole % FC_BLOCK && hole < size)
			return 1;
	}
	return 0;
}

static void add_content(struct walk *w, uint64_t ino, const struct fc_attr *a)
{
	uint64_t sum, whole = 0;
	int error = sum_data(w, ino, a->size, &sum);

	if (error) {
		failed(w, "content by SEEK_DATA", error);
		return;
	}
	fc_text_add(w->out, " data=%016llx", (unsigned long long)sum);
	if (!(w->how & FC_WALK_WHOLE) || a->size > WHOLE_MAX)
		return;
	error = add_units(w, ino, 0, a->size, &whole);
	if (error || whole != sum)
		failed(w, "content as a whole", error);
}

static void add_xattrs(struct walk *w, uint64_t ino)
{
	char names[4096];
	ssize_t n = fc_fs_listxattr(w->fs, ino, names, sizeof(names)), bytes;
	const char *sorted[64], *name;
	size_t count = 0;

	if (n < 0) {
		failed(w, "listxattr", (int)n);
		return;
	}
	for (ssize_t at = 0; at < n && count < 64; at += (ssize_t)strlen(names + at) + 1) {
		size_t i = count++;

		for (name = names + at; i && strcmp(sorted[i - 1], name) > 0; i--)
			sorted[i] = sorted[i - 1];
		sorted[i] = name;
	}
	for (size_t i = 0; i < count; i++) {
		bytes = fc_fs_getxattr(w->fs, ino, sorted[i], w->buf, sizeof(w->buf));
		if (bytes < 0)
			failed(w, sorted[i], (int)bytes);
		else
			add_xattr(w->out, sorted[i], w->buf, (size_t)bytes);
	}
}

static bool same_attr(const struct fc_attr *a, const struct fc_attr *b)
{
	return a->ino == b->ino && a->mode == b->mode && a->nlink == b->nlink && a->size == b->size &&
	       a->blocks == b->blocks && a->mtime.nsec == b->mtime.nsec && a->ctime.nsec == b->ctime.nsec;
}

/* The rest of the line of an inode. */
static void add_inode(struct walk *w, const struct entry *e)
{
	char target[FC_SYMLINK_MAX + 1];
	struct fc_attr a;
	bool first;
	uint32_t number = seen_visit(&w->seen, e->ino, &first);
	int error;

	if (!first) {
		fc_text_add(w->out, " #%u again\n", (unsigned)number);
		return;
	}
	error = fc_fs_getattr(w->fs, e->ino, &a);
	if (error) {
		failed(w, "getattr", error);
		return;
	}
	add_attr(w->out, number, &a);
	if (a.ino != e->ino || (a.mode & S_IFMT) >> 12 != e->type)
		failed(w, "type or number", 1);
	if (e->known && !same_attr(&a, &e->attr))
		failed(w, "readdir's attributes", 1);
	if (S_ISREG(a.mode))
		add_content(w, e->ino, &a);
	if (S_ISLNK(a.mode)) {
		error = fc_fs_readlink(w->fs, e->ino, target);
		if (error < 0 || strlen(target) != a.size)
			failed(w, "readlink", error);
		else
			add_target(w->out, target);
	}
	add_xattrs(w, e->ino);
	fc_text_add(w->out, "\n");
}

static void check_lookup(struct walk *w, uint64_t dir, const struct entry *e)
{
	struct fc_attr a;
	int error = fc_fs_lookup(w->fs, dir, e->name, &a);

	if (error) {
		failed(w, "lookup", error);
		return;
	}
	if (a.ino != e->ino)
		failed(w, "lookup's inode", 1);
	fc_fs_forget(w->fs, a.ino, 1);
}

static void walk_dir(struct walk *w, uint64_t dir, uint64_t parent)
{
	struct list l = { 0 };
	size_t top = w->path.n;
	int error = fc_fs_readdir(w->fs, dir, 0, w->how & FC_WALK_PLUS, take, &l);

	if (error)
		failed(w, "readdir", error);
	else if (l.dots != 2 || l.self != dir || l.parent != parent || l.disorder)
		failed(w, "readdir's dots or offsets", 1);
	if (l.n)
		qsort(l.entry, l.n, sizeof(*l.entry), by_name);
	for (size_t i = 0; i < l.n; i++) {
		struct entry *e = &l.entry[i];

		add_name(&w->path, e->name);
		fc_text_add(w->out, "%s", w->path.bytes);
		if (i && by_name(e, e - 1) == 0)
			failed(w, "the name again", 1);
		check_lookup(w, dir, e);
		add_inode(w, e);
		if (e->type == S_IFDIR >> 12 && w->depth++ < DEPTH_MAX)
			walk_dir(w, e->ino, dir);
		w->depth -= e->type == S_IFDIR >> 12;
		if (e->known)
			fc_fs_forget(w->fs, e->ino, 1);
		w->path.n = top;
		w->path.bytes[top] = 0;
	}
	free(l.entry);
}

unsigned fc_walk_container(struct fc_fs *fs, unsigned how, struct fc_text *out, uint64_t *inodes)
{
	struct walk *w = calloc(1, sizeof(*w));
	struct entry root = { .ino = FC_INO_ROOT, .type = S_IFDIR >> 12 };
	unsigned errors;

	if (!w)
		abort();
	w->fs = fs;
	w->how = how;
	w->out = out;
	fc_text_add(out, ".");
	add_inode(w, &root);
	walk_dir(w, FC_INO_ROOT, FC_INO_ROOT);
	if (inodes)
		*inodes = w->seen.count;
	errors = w->errors;
	free(w->seen.slot);
	fc_text_free(&w->path);
	free(w);
	return errors;
}
