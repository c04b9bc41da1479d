/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dirty pages: file blocks that are newer than the tree. Each has one block of
 * the disk promised (fc_space_reserve), so that writing it out cannot fail for
 * lack of space (R5).
 */
#include "fs/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 16384u

static struct fc_page **bucket(struct fc_fs *fs, uint64_t ino, uint64_t index)
{
	uint64_t h = (ino * 0x9e3779b97f4a7c15ull) ^ (index * 0xc2b2ae3d27d4eb4full);

	return &fs->page[(h >> 32) & (fs->page_buckets - 1)];
}

struct fc_page *fc_page_find(struct fc_fs *fs, uint64_t ino, uint64_t index)
{
	struct fc_page *p;

	if (!fs->pages)
		return NULL;
	p = *bucket(fs, ino, index);
	while (p && (p->ino != ino || p->index != index))
		p = p->hash_next;
	return p;
}

static void link_page(struct fc_fs *fs, struct fc_page *p)
{
	struct fc_page **b = bucket(fs, p->ino, p->index);

	p->hash_next = *b;
	*b = p;
	p->vprev = NULL;
	p->vnext = p->vnode->pages;
	if (p->vnext)
		p->vnext->vprev = p;
	p->vnode->pages = p;
	p->vnode->npages++;
	p->vnode->fresh += p->fresh;
	p->next = &fs->oldest;
	p->prev = fs->oldest.prev;
	p->prev->next = p;
	fs->oldest.prev = p;
	fs->pages++;
}

static void unlink_page(struct fc_fs *fs, struct fc_page *p)
{
	struct fc_page **at = bucket(fs, p->ino, p->index);

	while (*at != p)
		at = &(*at)->hash_next;
	*at = p->hash_next;
	if (p->vprev)
		p->vprev->vnext = p->vnext;
	else
		p->vnode->pages = p->vnext;
	if (p->vnext)
		p->vnext->vprev = p->vprev;
	p->vnode->npages--;
	p->vnode->fresh -= p->fresh;
	p->prev->next = p->next;
	p->next->prev = p->prev;
	fs->pages--;
	fc_page_logged(fs, p, true);
}

void fc_page_logged(struct fc_fs *fs, struct fc_page *p, bool logged)
{
	if (p->unlogged && logged)
		fs->unlogged--;
	else if (!p->unlogged && !logged)
		fs->unlogged++;
	p->unlogged = !logged;
}

static struct fc_page *make(struct fc_fs *fs, uint64_t ino, uint64_t index, int *error)
{
	struct fc_page *p = calloc(1, sizeof(*p));

	*error = FC_ENOMEM;
	if (!p)
		return NULL;
	if (!fs->page) {
		fs->page = calloc(BUCKETS, sizeof(*fs->page));
		fs->page_buckets = fs->page ? BUCKETS : 0;
	}
	p->data = aligned_alloc(FC_BLOCK, FC_BLOCK);
	p->vnode = fc_vnode_get(fs, ino);
	if (!fs->page || !p->data || !p->vnode) {
		free(p->data);
		free(p);
		return NULL;
	}
	p->ino = ino;
	p->index = index;
	return p;
}

struct fc_page *fc_page_edit(struct fc_fs *fs, uint64_t ino, uint64_t index, bool fresh, int *error)
{
	struct fc_page *old = fc_page_find(fs, ino, index), *p;

	if (old && !old->busy)
		return old;
	p = make(fs, ino, index, error);
	if (!p)
		return NULL;
	*error = fs->read_only ? 0 : fc_space_reserve(&fs->forest, 1, fs->freeing);
	if (*error) {
		fc_vnode_tidy(fs, p->vnode);
		free(p->data);
		free(p);
		return NULL;
	}
	if (old) { /* being sealed: the new version takes its place */
		memcpy(p->data, old->data, FC_BLOCK);
		p->fresh = old->fresh;
		fc_page_logged(fs, p, !old->unlogged);
		unlink_page(fs, old);
		old->stale = true;
	} else {
		memset(p->data, 0, FC_BLOCK);
		p->fresh = fresh;
	}
	link_page(fs, p);
	return p;
}

static void forget(struct fc_fs *fs, struct fc_page *p)
{
	struct fc_vnode *v = p->vnode;

	unlink_page(fs, p);
	if (p->busy) {
		p->stale = true; /* the flush frees it, and its block */
	} else {
		if (!fs->read_only)
			fc_space_unreserve(&fs->forest, 1);
		free(p->data);
		free(p);
	}
	fc_vnode_tidy(fs, v);
}

void fc_page_drop(struct fc_fs *fs, uint64_t ino, uint64_t first, uint64_t end)
{
	struct fc_vnode *v = fc_vnode_find(fs, ino);
	struct fc_page *p, *next;

	if (!v || !v->npages || first >= end)
		return;
	if (end - first < v->npages) {
		for (; first < end; first++) {
			p = fc_page_find(fs, ino, first);
			if (p)
				forget(fs, p); /* may free v, which is not used again */
		}
		return;
	}
	for (p = v->pages; p; p = next) {
		next = p->vnext;
		if (p->index >= first && p->index < end)
			forget(fs, p);
	}
}

void fc_page_set_fresh(struct fc_fs *fs, uint64_t ino, uint64_t first, uint64_t end, bool fresh)
{
	struct fc_vnode *v = fc_vnode_find(fs, ino);
	struct fc_page *p;

	for (p = v ? v->pages : NULL; p; p = p->vnext) {
		if (p->index < first || p->index >= end || p->fresh == fresh)
			continue;
		p->fresh = fresh;
		v->fresh = fresh ? v->fresh + 1 : v->fresh - 1;
	}
}

void fc_page_free(struct fc_fs *fs, struct fc_page *p)
{
	struct fc_vnode *v = p->vnode;

	if (!p->stale) {
		unlink_page(fs, p);
		fc_vnode_tidy(fs, v);
	}
	free(p->data);
	free(p);
}

void fc_page_fini(struct fc_fs *fs)
{
	struct fc_page *p, *next;

	for (p = fs->oldest.next; p && p != &fs->oldest; p = next) {
		next = p->next;
		free(p->data);
		free(p);
	}
	free(fs->page);
}
