/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was found: taken down while walking, with paths and told at the end. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/checker.h"
#include "util/le.h"

#define FOUND_MAX 100000u /* told; more are counted */
#define NAMES_MAX 32u     /* of one inode */
#define PATH_BYTES (64u << 10)
#define ENTRY_NAME 9u /* in an ENTRY item: fs/dir.c */

static const char *const kind_names[FC_CHECK_KINDS] = { "header", "root", "salts",     "log",  "node",
							"inode",  "name", "attribute", "data", "space" };

const char *fc_check_kind_name(enum fc_check_kind kind)
{
	return kind < FC_CHECK_KINDS ? kind_names[kind] : "?";
}

/* ---- taking down --------------------------------------------------------------- */

static struct fc_found *add(struct fc_checker *c, enum fc_check_kind kind, bool note)
{
	struct fc_found *f;

	if (note)
		c->result->notes++;
	else
		c->result->damages++;
	if (!note && kind != FC_CHECK_HEADER && kind != FC_CHECK_SALTS)
		c->commit = true;
	if (c->findings.n >= FOUND_MAX)
		return NULL;
	f = fc_list_add(&c->findings, sizeof(*f));
	if (!f) {
		c->no_memory = true;
		return NULL;
	}
	f->kind = kind;
	f->note = note;
	return f;
}

struct fc_found *fc_find(struct fc_checker *c, enum fc_check_kind kind, uint64_t ino, const char *action,
			 const char *format, ...)
{
	struct fc_found *f;
	va_list args;

	if (c->round)
		return NULL;
	f = add(c, kind, false);
	if (!f)
		return NULL;
	f->ino = ino;
	f->action = action;
	va_start(args, format);
	if (vasprintf(&f->text, format, args) < 0) {
		f->text = NULL;
		c->no_memory = true;
	}
	va_end(args);
	return f;
}

void fc_find_entry(struct fc_checker *c, const struct fc_link *link, const char *action, const char *text)
{
	struct fc_found *f = fc_find(c, FC_CHECK_NAME, link->ino, action, "%s", text);

	if (!f)
		return;
	f->dir = link->dir;
	f->seq = link->seq;
}

void fc_find_note(struct fc_checker *c, enum fc_check_kind kind, uint64_t ino, const char *text)
{
	struct fc_found *f = c->round ? NULL : add(c, kind, true);

	if (!f)
		return;
	f->ino = ino;
	f->text = strdup(text);
	c->no_memory |= !f->text;
}

void fc_find_data(struct fc_checker *c, uint64_t ino, uint64_t block, uint64_t blocks, uint64_t clip, bool note)
{
	uint64_t off = block << FC_BLOCK_SHIFT, end = (block + blocks) << FC_BLOCK_SHIFT;
	struct fc_found *f = c->findings.n ? FC_LIST_AT(&c->findings, struct fc_found, c->findings.n - 1) : NULL;

	if (c->round)
		return;
	if (end > clip && clip > off)
		end = clip;
	if (f && f->kind == FC_CHECK_DATA && f->ino == ino && f->note == note && f->bytes && f->off + f->bytes == off) {
		f->bytes += end - off;
		return;
	}
	f = add(c, FC_CHECK_DATA, note);
	if (!f)
		return;
	f->ino = ino;
	f->off = off;
	f->bytes = end - off;
	f->action = note ? NULL : "marked as lost: reading it fails until it is overwritten";
	f->text = strdup(note ? "was lost in an earlier repair: reading it fails" : "content cannot be read");
	c->no_memory |= !f->text;
}

struct fc_mend *fc_mend(struct fc_checker *c, enum fc_mend_kind kind, struct fc_key key, uint64_t a, uint64_t b)
{
	struct fc_mend *m = fc_list_add(&c->mends, sizeof(*m));

	if (m)
		*m = (struct fc_mend){ .kind = kind, .key = key, .a = a, .b = b };
	else
		c->no_memory = true;
	return m;
}

/* ---- paths ------------------------------------------------------------------------ */

/* A path, growing to the left. */
struct path {
	char *buf; /* PATH_BYTES */
	size_t at;
};

static bool put(struct path *p, const void *bytes, size_t n)
{
	if (n > p->at)
		return false;
	p->at -= n;
	memcpy(p->buf + p->at, bytes, n);
	return true;
}

static bool put_name(struct fc_checker *c, struct path *p, uint64_t dir, uint64_t seq)
{
	struct fc_item item;

	if (fc_tree_get(fc_fs_tree(c->fs), fc_key(dir, FC_KEY_ENTRY, seq), &item) || item.bytes <= ENTRY_NAME)
		return put(p, "/?", 2);
	return put(p, item.data + ENTRY_NAME, item.bytes - ENTRY_NAME) && put(p, "/", 1);
}

/* The first link that stays. */
static const struct fc_link *link_of(const struct fc_checker *c, const struct fc_rec *rec)
{
	size_t i;

	for (i = rec ? rec->first : c->links.n; i < c->links.n; i++) {
		const struct fc_link *l = FC_LIST_AT(&c->links, struct fc_link, i);

		if (l->ino != rec->ino)
			break;
		if (!l->dropped)
			return l;
	}
	return NULL;
}

/* Puts what leads to dir before what is there. */
static void put_dirs(struct fc_checker *c, struct path *p, uint64_t dir)
{
	char text[48];
	size_t steps;

	for (steps = 0; dir != FC_INO_ROOT && steps <= c->recs.n; steps++) {
		const struct fc_link *l = link_of(c, fc_check_rec(c, dir));

		if (!l) {
			put(p, text, (size_t)snprintf(text, sizeof(text), "(inode %llu)", (unsigned long long)dir));
			return;
		}
		dir = l->dir;
		if (!put_name(c, p, dir, l->seq)) {
			memcpy(p->buf + p->at, "...", 3); /* longer than anyone can use: its end must do */
			return;
		}
	}
	if (!p->buf[p->at])
		put(p, "/", 1);
}

static int add_path(struct fc_checker *c, struct fc_found *f, char *buf, uint64_t dir, uint64_t seq)
{
	struct path p = { buf, PATH_BYTES - 1 };
	char **grown = realloc(f->path, (f->paths + 1) * sizeof(*grown));

	if (!grown)
		return FC_ENOMEM;
	f->path = grown;
	buf[PATH_BYTES - 1] = 0;
	if (seq)
		put_name(c, &p, dir, seq);
	put_dirs(c, &p, dir);
	f->path[f->paths] = strdup(buf + p.at);
	if (!f->path[f->paths])
		return FC_ENOMEM;
	f->paths++;
	return 0;
}

static int links_by_ino(const struct fc_checker *c, uint64_t ino, size_t *first)
{
	size_t lo = 0, hi = c->links.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (FC_LIST_AT(&c->links, struct fc_link, mid)->ino < ino)
			lo = mid + 1;
		else
			hi = mid;
	}
	*first = lo;
	return lo < c->links.n && FC_LIST_AT(&c->links, struct fc_link, lo)->ino == ino;
}

static int find_paths(struct fc_checker *c, struct fc_found *f, char *buf)
{
	size_t i;
	int r = 0;

	if (f->seq)
		return add_path(c, f, buf, f->dir, f->seq);
	if (!f->ino)
		return 0;
	if (f->ino == FC_INO_ROOT)
		return add_path(c, f, buf, FC_INO_ROOT, 0);
	if (!links_by_ino(c, f->ino, &i))
		return 0;
	for (; !r && i < c->links.n && f->paths < NAMES_MAX; i++) {
		const struct fc_link *l = FC_LIST_AT(&c->links, struct fc_link, i);

		if (l->ino != f->ino)
			break;
		r = add_path(c, f, buf, l->dir, l->seq);
	}
	return r;
}

int fc_find_paths(struct fc_checker *c)
{
	char *buf = malloc(PATH_BYTES);
	size_t i;
	int r = buf ? 0 : FC_ENOMEM;

	for (i = 0; !r && i < c->findings.n; i++) {
		r = find_paths(c, FC_LIST_AT(&c->findings, struct fc_found, i), buf);
		fc_node_cache_trim(&c->fs->forest.cache);
	}
	free(buf);
	return r;
}

/* ---- telling ----------------------------------------------------------------------- */

static void tell(struct fc_checker *c, const struct fc_found *f)
{
	struct fc_check_finding finding = {
		.kind = f->kind,
		.note = f->note,
		.repaired = f->repaired,
		.ino = f->ino,
		.offset = f->off,
		.bytes = f->bytes,
		.text = f->text ? f->text : "",
		.action = f->action,
		.path = (const char *const *)f->path,
		.paths = f->paths,
	};

	if (c->options->found)
		c->options->found(c->options->arg, &finding);
}

void fc_find_tell(struct fc_checker *c)
{
	size_t i, k;

	for (i = 0; i < c->findings.n; i++) {
		struct fc_found *f = FC_LIST_AT(&c->findings, struct fc_found, i);

		tell(c, f);
		for (k = 0; k < f->paths; k++)
			free(f->path[k]);
		free(f->path);
		free(f->text);
	}
	fc_list_free(&c->findings);
}
