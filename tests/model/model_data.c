/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model's file contents: an ascending list of 4 KiB units. */
#include "model_priv.h"
#include "walk.h"

#include <linux/falloc.h>

static size_t unit_at(const struct fc_mnode *n, uint64_t index)
{
	size_t lo = 0, hi = n->unit_count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (n->units[mid].index < index)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct fc_unit *find_unit(const struct fc_mnode *n, uint64_t index)
{
	size_t at = unit_at(n, index);

	return at < n->unit_count && n->units[at].index == index ? &n->units[at] : NULL;
}

static struct fc_unit *need_unit(struct fc_mnode *n, uint64_t index)
{
	size_t at = unit_at(n, index);

	if (at < n->unit_count && n->units[at].index == index)
		return &n->units[at];
	if (n->unit_count == n->unit_room) {
		n->unit_room = n->unit_room * 2 + 8;
		n->units = fc_model_memory(n->units, n->unit_room * sizeof(*n->units));
	}
	memmove(&n->units[at + 1], &n->units[at], (n->unit_count - at) * sizeof(*n->units));
	n->units[at] = (struct fc_unit){ .index = index };
	n->unit_count++;
	return &n->units[at];
}

static void drop_page(struct fc_page *page)
{
	if (page && --page->users == 0)
		free(page);
}

/* The unit's bytes, to be changed. */
static uint8_t *own_page(struct fc_unit *unit)
{
	struct fc_page *page = unit->page;

	if (!page || page->users > 1) {
		struct fc_page *own = fc_model_memory(NULL, sizeof(*own));

		if (page)
			memcpy(own->data, page->data, FC_BLOCK);
		else
			memset(own->data, 0, FC_BLOCK);
		own->users = 1;
		drop_page(page);
		unit->page = own;
	}
	unit->page->hashed = false;
	return unit->page->data;
}

/* The units from index first up to, not including, end become a hole. */
static void cut(struct fc_mnode *n, uint64_t first, uint64_t end)
{
	size_t a = unit_at(n, first), b = unit_at(n, end);

	if (a >= b)
		return;
	for (size_t i = a; i < b; i++)
		drop_page(n->units[i].page);
	memmove(&n->units[a], &n->units[b], (n->unit_count - b) * sizeof(*n->units));
	n->unit_count -= b - a;
}

void fc_model_units_share(struct fc_mnode *to, const struct fc_mnode *from)
{
	to->unit_room = from->unit_count;
	to->units = fc_model_memory(NULL, from->unit_count * sizeof(*to->units));
	for (size_t i = 0; i < from->unit_count; i++) {
		to->units[i] = from->units[i];
		if (to->units[i].page)
			to->units[i].page->users++;
	}
}

void fc_model_units_drop(struct fc_mnode *n)
{
	cut(n, 0, UINT64_MAX);
	free(n->units);
}

static void zero_part(struct fc_mnode *n, uint64_t index, size_t from, size_t to)
{
	struct fc_unit *unit = find_unit(n, index);

	if (unit && unit->page && from < to)
		memset(own_page(unit) + from, 0, to - from);
}

/* Zeroes [off, end); whole units become holes. */
static void punch(struct fc_mnode *n, uint64_t off, uint64_t end)
{
	uint64_t first = off / FC_BLOCK, last = end / FC_BLOCK;

	if (first == last) {
		zero_part(n, first, off % FC_BLOCK, end % FC_BLOCK);
		return;
	}
	if (off % FC_BLOCK)
		zero_part(n, first++, off % FC_BLOCK, FC_BLOCK);
	zero_part(n, last, 0, end % FC_BLOCK);
	cut(n, first, last);
}

void fc_model_resize(struct fc_mnode *n, uint64_t size)
{
	uint64_t units = (size + FC_BLOCK - 1) / FC_BLOCK;

	if (size < n->attr.size) { /* else what was allocated beyond the end may stay */
		if (size % FC_BLOCK)
			zero_part(n, size / FC_BLOCK, size % FC_BLOCK, FC_BLOCK);
		cut(n, units, UINT64_MAX);
	}
	n->attr.size = size;
}

static void put_bytes(struct fc_mnode *n, uint64_t off, size_t bytes, const uint8_t *p)
{
	while (bytes) {
		size_t in = off % FC_BLOCK, part = FC_BLOCK - in < bytes ? FC_BLOCK - in : bytes;

		memcpy(own_page(need_unit(n, off / FC_BLOCK)) + in, p, part);
		off += part;
		p += part;
		bytes -= part;
	}
}

/* Errors of a range of a file that is to be changed. */
static fc_errors check_file(const struct fc_mnode *n, uint64_t off, uint64_t bytes)
{
	fc_errors e = 0;

	if (!n)
		return FC_ERR(FC_ESTALE);
	if (S_ISDIR(n->attr.mode))
		e |= FC_ERR(FC_EISDIR) | FC_ERR(FC_EINVAL);
	else if (!S_ISREG(n->attr.mode))
		e |= FC_ERR(FC_EINVAL);
	if (off > FC_FILE_MAX || bytes > FC_FILE_MAX - off)
		e |= FC_ERR(FC_EFBIG);
	return e;
}

fc_errors fc_model_read(const struct fc_model *m, uint32_t node, uint64_t off, size_t n, void *buf, size_t *got)
{
	const struct fc_mnode *f = fc_model_node(m, node);
	fc_errors e = check_file(f, 0, 0);
	uint8_t *out = buf;

	if (e)
		return e;
	*got = off >= f->attr.size ? 0 : f->attr.size - off < n ? f->attr.size - off : n;
	for (size_t done = 0, part; done < *got; done += part) {
		uint64_t at = off + done;
		const struct fc_unit *unit = find_unit(f, at / FC_BLOCK);

		part = FC_BLOCK - at % FC_BLOCK < *got - done ? FC_BLOCK - at % FC_BLOCK : *got - done;
		if (unit && unit->page)
			memcpy(out + done, unit->page->data + at % FC_BLOCK, part);
		else
			memset(out + done, 0, part);
	}
	return 0;
}

fc_errors fc_model_write(struct fc_model *m, uint32_t node, uint64_t off, size_t n, const void *buf, unsigned flags)
{
	struct fc_mnode *f = fc_model_node(m, node);
	fc_errors e = check_file(f, off, n);

	if (e)
		return e;
	put_bytes(f, off, n, buf);
	if (off + n > f->attr.size)
		f->attr.size = off + n;
	if (!(flags & FC_WRITE_CACHED))
		fc_model_touch(m, f);
	if (flags & FC_WRITE_KILLPRIV)
		fc_model_killpriv(f);
	return 0;
}

fc_errors fc_model_fallocate(struct fc_model *m, uint32_t node, int mode, uint64_t off, uint64_t n)
{
	const int known = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE;
	struct fc_mnode *f = fc_model_node(m, node);
	fc_errors e = check_file(f, off, n);

	if (f && !n)
		e |= FC_ERR(FC_EINVAL);
	if (f && !S_ISREG(f->attr.mode))
		e |= FC_ERR(FC_ENXIO); /* the kernel refuses it before us */
	if (mode & ~known || (mode & FALLOC_FL_PUNCH_HOLE && mode != (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)))
		e |= FC_ERR(FC_ENOTSUP) | FC_ERR(FC_EINVAL);
	if (e)
		return e;
	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		punch(f, off, off + n);
	if (!(mode & FALLOC_FL_PUNCH_HOLE))
		for (uint64_t u = off / FC_BLOCK; u <= (off + n - 1) / FC_BLOCK; u++)
			need_unit(f, u);
	if (!(mode & FALLOC_FL_KEEP_SIZE) && off + n > f->attr.size)
		f->attr.size = off + n;
	fc_model_touch(m, f);
	return 0;
}

/* What may hold blocks after bytes of `from` were copied over [to_off, end):
 * a unit that held some, or that is not wholly copied from a hole. */
static void copy_units(struct fc_mnode *to, uint64_t to_off, uint64_t n, const uint8_t *bytes)
{
	for (uint64_t done = 0, part; done < n; done += part) {
		uint64_t at = to_off + done;
		bool zero = true;

		part = FC_BLOCK - at % FC_BLOCK < n - done ? FC_BLOCK - at % FC_BLOCK : n - done;
		for (uint64_t i = 0; i < part && zero; i++)
			zero = bytes[done + i] == 0;
		if (!zero)
			put_bytes(to, at, part, bytes + done);
		else if (need_unit(to, at / FC_BLOCK)->page)
			zero_part(to, at / FC_BLOCK, at % FC_BLOCK, at % FC_BLOCK + part);
	}
}

fc_errors fc_model_copy(struct fc_model *m, uint32_t from, uint64_t from_off, uint32_t to, uint64_t to_off, uint64_t n,
			uint64_t *done)
{
	struct fc_mnode *s = fc_model_node(m, from), *t = fc_model_node(m, to);
	fc_errors e = check_file(s, 0, 0) | check_file(t, 0, 0);
	uint8_t *bytes;
	size_t got;

	if (e)
		return e;
	if (from_off >= s->attr.size)
		n = 0;
	else if (n > s->attr.size - from_off)
		n = s->attr.size - from_off;
	*done = n;
	if (!n)
		return 0;
	e = check_file(t, to_off, n);
	if (from == to && from_off < to_off + n && to_off < from_off + n)
		e |= FC_ERR(FC_EINVAL);
	if (e)
		return e;
	bytes = fc_model_memory(NULL, n);
	fc_model_read(m, from, from_off, n, bytes, &got);
	copy_units(t, to_off, n, bytes);
	free(bytes);
	if (to_off + n > t->attr.size)
		t->attr.size = to_off + n;
	fc_model_touch(m, t);
	return 0;
}

static bool page_zero(struct fc_page *page)
{
	if (!page)
		return true;
	if (!page->hashed) {
		page->zero = fc_walk_unit(page->data, &page->hash);
		page->hashed = true;
	}
	return page->zero;
}

void fc_model_blocks(const struct fc_model *m, uint32_t node, uint64_t *blocks_min, uint64_t *blocks_max)
{
	const struct fc_mnode *f = fc_model_node(m, node);

	*blocks_min = 0;
	*blocks_max = f->unit_count;
	for (size_t i = 0; i < f->unit_count; i++)
		*blocks_min += !page_zero(f->units[i].page);
}

uint64_t fc_model_nonzero(const struct fc_model *m, uint32_t node, uint64_t off)
{
	const struct fc_mnode *f = fc_model_node(m, node);

	for (size_t i = unit_at(f, off / FC_BLOCK); i < f->unit_count; i++) {
		uint64_t start = f->units[i].index * FC_BLOCK;

		if (page_zero(f->units[i].page))
			continue;
		for (uint64_t in = off > start ? off - start : 0; in < FC_BLOCK; in++)
			if (f->units[i].page->data[in])
				return start + in;
	}
	return UINT64_MAX;
}

bool fc_model_allocated(const struct fc_model *m, uint32_t node, uint64_t off)
{
	return find_unit(fc_model_node(m, node), off / FC_BLOCK) != NULL;
}

uint64_t fc_model_content(const struct fc_model *m, uint32_t node)
{
	const struct fc_mnode *f = fc_model_node(m, node);
	uint64_t sum = 0;

	for (size_t i = 0; i < f->unit_count; i++)
		if (!page_zero(f->units[i].page))
			sum += fc_walk_content(f->units[i].index, f->units[i].page->hash);
	return sum;
}
