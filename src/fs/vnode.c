/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table is read under vnode_lock, or under either hold of fs->lock as long
 * as nobody adds: additions happen under vnode_lock, so every walk takes it.
 */
#include "fs/state.h"

#include <assert.h>
#include <stdlib.h>

#define BUCKETS_FIRST 1024u

static struct fc_vnode **bucket(struct fc_fs *fs, uint64_t ino)
{
	return &fs->vnode[(ino * 0x9e3779b97f4a7c15ull >> 32) & (fs->vnode_buckets - 1)];
}

static struct fc_vnode *find(struct fc_fs *fs, uint64_t ino)
{
	struct fc_vnode *v;

	if (!fs->vnode_buckets)
		return NULL;
	v = *bucket(fs, ino);
	while (v && v->ino != ino)
		v = v->hash_next;
	return v;
}

static void grow(struct fc_fs *fs)
{
	size_t old_buckets = fs->vnode_buckets, i;
	struct fc_vnode **old = fs->vnode, *v, *next;
	size_t buckets = old_buckets ? old_buckets * 2 : BUCKETS_FIRST;
	struct fc_vnode **table = calloc(buckets, sizeof(*table));

	if (!table) /* the old one only gets slower */
		return;
	fs->vnode = table;
	fs->vnode_buckets = buckets;
	for (i = 0; i < old_buckets; i++)
		for (v = old[i]; v; v = next) {
			struct fc_vnode **b = bucket(fs, v->ino);

			next = v->hash_next;
			v->hash_next = *b;
			*b = v;
		}
	free(old);
}

static struct fc_vnode *get(struct fc_fs *fs, uint64_t ino)
{
	struct fc_vnode *v = find(fs, ino), **b;

	if (v)
		return v;
	if (fs->vnodes >= fs->vnode_buckets)
		grow(fs);
	v = fs->vnode_buckets ? calloc(1, sizeof(*v)) : NULL;
	if (!v)
		return NULL;
	v->ino = ino;
	b = bucket(fs, ino);
	v->hash_next = *b;
	*b = v;
	fs->vnodes++;
	return v;
}

static void drop(struct fc_fs *fs, struct fc_vnode *v)
{
	struct fc_vnode **at = bucket(fs, v->ino);

	while (*at != v)
		at = &(*at)->hash_next;
	*at = v->hash_next;
	fs->vnodes--;
	free(v);
}

struct fc_vnode *fc_vnode_find(struct fc_fs *fs, uint64_t ino)
{
	struct fc_vnode *v;

	pthread_mutex_lock(&fs->vnode_lock);
	v = find(fs, ino);
	pthread_mutex_unlock(&fs->vnode_lock);
	return v;
}

struct fc_vnode *fc_vnode_get(struct fc_fs *fs, uint64_t ino)
{
	struct fc_vnode *v;

	pthread_mutex_lock(&fs->vnode_lock);
	v = get(fs, ino);
	pthread_mutex_unlock(&fs->vnode_lock);
	return v;
}

void fc_vnode_tidy(struct fc_fs *fs, struct fc_vnode *v)
{
	pthread_mutex_lock(&fs->vnode_lock);
	if (!v->refs && !v->npages)
		drop(fs, v);
	pthread_mutex_unlock(&fs->vnode_lock);
}

void fc_vnode_ref(struct fc_fs *fs, uint64_t ino, uint64_t n)
{
	struct fc_vnode *v;

	pthread_mutex_lock(&fs->vnode_lock);
	v = get(fs, ino);
	if (v)
		v->refs += n;
	/* out of memory: the reference is not counted. An unlinked inode may then go
	 * while it is open (reads give ESTALE), which is better than a failed lookup */
	pthread_mutex_unlock(&fs->vnode_lock);
}

bool fc_vnode_held(struct fc_fs *fs, uint64_t ino)
{
	struct fc_vnode *v;
	bool held;

	pthread_mutex_lock(&fs->vnode_lock);
	v = find(fs, ino);
	held = v && v->refs;
	pthread_mutex_unlock(&fs->vnode_lock);
	return held;
}

/* True when the last reference went. */
static bool unref(struct fc_fs *fs, uint64_t ino, uint64_t n)
{
	struct fc_vnode *v;
	bool last = false;

	pthread_mutex_lock(&fs->vnode_lock);
	v = find(fs, ino);
	if (v) {
		v->refs = v->refs > n ? v->refs - n : 0;
		last = !v->refs;
	}
	pthread_mutex_unlock(&fs->vnode_lock);
	return last;
}

/* Pages of a file, and how many of them have no block yet. */
static size_t count_pages(struct fc_fs *fs, uint64_t ino, size_t *fresh)
{
	struct fc_vnode *v;
	size_t pages;

	*fresh = 0;
	if (!fs->pages)
		return 0;
	pthread_mutex_lock(&fs->vnode_lock);
	v = find(fs, ino);
	pages = v ? v->npages : 0;
	*fresh = v ? v->fresh : 0;
	pthread_mutex_unlock(&fs->vnode_lock);
	return pages;
}

uint64_t fc_data_unmapped(struct fc_fs *fs, uint64_t ino)
{
	size_t fresh;

	count_pages(fs, ino, &fresh);
	return fresh;
}

size_t fc_data_pages(struct fc_fs *fs, uint64_t ino)
{
	size_t fresh;

	return count_pages(fs, ino, &fresh);
}

static bool is_orphan(struct fc_fs *fs, uint64_t ino)
{
	struct fc_item item;

	return fc_tree_get(fc_fs_tree(fs), fc_key(0, FC_KEY_ORPHAN, ino), &item) == 0;
}

void fc_fs_forget(struct fc_fs *fs, uint64_t ino, uint64_t n)
{
	struct fc_vnode *v;
	bool orphan;

	if (!unref(fs, ino, n))
		return;
	fc_fs_rdlock(fs);
	orphan = is_orphan(fs, ino);
	pthread_mutex_lock(&fs->vnode_lock);
	v = find(fs, ino);
	/* npages is stable: pages come and go under the exclusive lock */
	if (v && !v->refs && !v->npages)
		drop(fs, v);
	pthread_mutex_unlock(&fs->vnode_lock);
	fc_fs_rdunlock(fs);
	if (!orphan || fc_fs_begin(fs, 24, true))
		return; /* read-only: the next open for writing removes it */
	if (!fc_vnode_held(fs, ino) && is_orphan(fs, ino))
		fc_reclaim(fs, ino);
	fc_fs_end(fs);
}

void fc_vnode_ref_all(struct fc_fs *fs, const struct fc_fs *from)
{
	for (size_t i = 0; i < from->vnode_buckets; i++)
		for (const struct fc_vnode *v = from->vnode[i]; v; v = v->hash_next)
			if (v->refs)
				fc_vnode_ref(fs, v->ino, v->refs);
}

void fc_vnode_fini(struct fc_fs *fs)
{
	struct fc_vnode *v, *next;
	size_t i;

	for (i = 0; i < fs->vnode_buckets; i++)
		for (v = fs->vnode[i]; v; v = next) {
			next = v->hash_next;
			free(v);
		}
	free(fs->vnode);
}
