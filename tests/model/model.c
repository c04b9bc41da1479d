/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model_priv.h"

#include <stdio.h>

void *fc_model_memory(void *old, size_t n)
{
	void *p = realloc(old, n ? n : 1);

	if (!p) {
		fprintf(stderr, "model: out of memory\n");
		abort();
	}
	return p;
}

struct fc_blob *fc_blob_new(const void *bytes, size_t n)
{
	struct fc_blob *blob = fc_model_memory(NULL, sizeof(*blob) + n + 1);

	blob->users = 1;
	blob->n = n;
	if (n)
		memcpy(blob->bytes, bytes, n);
	blob->bytes[n] = 0;
	return blob;
}

void fc_blob_drop(struct fc_blob *blob)
{
	if (blob && --blob->users == 0)
		free(blob);
}

static struct fc_blob *share(struct fc_blob *blob)
{
	if (blob)
		blob->users++;
	return blob;
}

struct fc_mnode *fc_model_node(const struct fc_model *m, uint32_t node)
{
	return node < m->top ? m->nodes[node] : NULL;
}

uint32_t fc_model_add(struct fc_model *m, uint32_t mode, uint32_t uid, uint32_t gid)
{
	struct fc_mnode *n = fc_model_memory(NULL, sizeof(*n));
	uint32_t number = m->top++;

	memset(n, 0, sizeof(*n));
	n->attr.ino = number;
	n->attr.mode = mode;
	n->attr.uid = uid;
	n->attr.gid = gid;
	n->attr.atime = n->attr.mtime = n->attr.ctime = n->attr.btime = m->now;
	m->nodes = fc_model_memory(m->nodes, m->top * sizeof(struct fc_mnode *));
	m->nodes[number] = n;
	m->count++;
	return number;
}

static void free_node(struct fc_mnode *n)
{
	for (size_t i = 0; i < n->link_count; i++)
		fc_blob_drop(n->links[i].name);
	free(n->links);
	fc_model_units_drop(n);
	fc_model_attributes_drop(n);
	fc_blob_drop(n->target);
	free(n);
}

void fc_model_settle(struct fc_model *m, uint32_t node)
{
	struct fc_mnode *n = fc_model_node(m, node);

	if (!n || n->attr.nlink || n->refs)
		return;
	free_node(n);
	m->nodes[node] = NULL;
	m->count--;
}

struct fc_model *fc_model_new(uint32_t uid, uint32_t gid, struct fc_time now)
{
	struct fc_model *m = fc_model_memory(NULL, sizeof(*m));
	uint32_t root;

	memset(m, 0, sizeof(*m));
	m->now = now;
	m->nodes = fc_model_memory(NULL, sizeof(struct fc_mnode *));
	m->nodes[0] = NULL;
	m->top = 1;
	root = fc_model_add(m, S_IFDIR | 0755, uid, gid);
	m->nodes[root]->attr.nlink = 2;
	m->nodes[root]->parent = root;
	return m;
}

static struct fc_mnode *clone_node(const struct fc_mnode *from)
{
	struct fc_mnode *n = fc_model_memory(NULL, sizeof(*n));

	*n = *from;
	share(n->target);
	fc_model_units_share(n, from);
	fc_model_attributes_share(n, from);
	n->links = fc_model_memory(NULL, n->link_count * sizeof(*n->links));
	for (size_t i = 0; i < n->link_count; i++) {
		n->links[i] = from->links[i];
		share(n->links[i].name);
	}
	return n;
}

struct fc_model *fc_model_clone(const struct fc_model *m)
{
	struct fc_model *c = fc_model_memory(NULL, sizeof(*c));

	*c = *m;
	c->nodes = fc_model_memory(NULL, m->top * sizeof(struct fc_mnode *));
	for (uint32_t i = 0; i < m->top; i++)
		c->nodes[i] = m->nodes[i] ? clone_node(m->nodes[i]) : NULL;
	return c;
}

void fc_model_free(struct fc_model *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->top; i++)
		if (m->nodes[i])
			free_node(m->nodes[i]);
	free(m->nodes);
	free(m);
}

void fc_model_clock(struct fc_model *m, struct fc_time now)
{
	m->now = now;
}

void fc_model_reopen(struct fc_model *m)
{
	for (uint32_t i = 1; i < m->top; i++) {
		if (m->nodes[i])
			m->nodes[i]->refs = 0;
		fc_model_settle(m, i);
	}
}

uint32_t fc_model_top(const struct fc_model *m)
{
	return m->top;
}

const struct fc_attr *fc_model_attr(const struct fc_model *m, uint32_t node)
{
	const struct fc_mnode *n = fc_model_node(m, node);

	return n ? &n->attr : NULL;
}

uint64_t fc_model_refs(const struct fc_model *m, uint32_t node)
{
	const struct fc_mnode *n = fc_model_node(m, node);

	return n ? n->refs : 0;
}

uint64_t fc_model_nodes(const struct fc_model *m)
{
	return m->count;
}

uint64_t fc_model_bytes(const struct fc_model *m)
{
	uint64_t bytes = 0;

	for (uint32_t i = 1; i < m->top; i++)
		if (m->nodes[i])
			bytes += m->nodes[i]->unit_count * (uint64_t)FC_BLOCK;
	return bytes;
}

bool fc_model_unnamed(const struct fc_model *m, uint32_t node)
{
	const struct fc_mnode *n = fc_model_node(m, node);

	return n && n->unnamed;
}

uint32_t fc_model_parent(const struct fc_model *m, uint32_t dir)
{
	const struct fc_mnode *n = fc_model_node(m, dir);

	return n ? n->parent : 0;
}

bool fc_model_entry(const struct fc_model *m, uint32_t dir, size_t i, struct fc_model_entry *entry)
{
	const struct fc_mnode *n = fc_model_node(m, dir);

	if (!n || i >= n->link_count)
		return false;
	entry->name = (const char *)n->links[i].name->bytes;
	entry->node = n->links[i].node;
	entry->birth = n->links[i].birth;
	return true;
}

bool fc_model_attribute(const struct fc_model *m, uint32_t node, size_t i, const char **name, const void **value,
			size_t *bytes)
{
	const struct fc_mnode *n = fc_model_node(m, node);

	if (!n || i >= n->attribute_count)
		return false;
	*name = (const char *)n->attributes[i].name->bytes;
	*value = n->attributes[i].value->bytes;
	*bytes = n->attributes[i].value->n;
	return true;
}

const char *fc_model_target(const struct fc_model *m, uint32_t node)
{
	const struct fc_mnode *n = fc_model_node(m, node);

	return n && n->target ? (const char *)n->target->bytes : NULL;
}

void fc_model_touch(struct fc_model *m, struct fc_mnode *n)
{
	n->attr.mtime = n->attr.ctime = m->now;
}

static void set_times(struct fc_model *m, struct fc_mnode *n, const struct fc_setattr *set)
{
	n->attr.ctime = set->valid & FC_SET_CTIME ? set->ctime : m->now;
	if (set->valid & FC_SET_ATIME)
		n->attr.atime = set->atime;
	if (set->valid & FC_SET_ATIME_NOW)
		n->attr.atime = m->now;
	if (set->valid & FC_SET_MTIME)
		n->attr.mtime = set->mtime;
	if (set->valid & FC_SET_MTIME_NOW)
		n->attr.mtime = m->now;
}

fc_errors fc_model_setattr(struct fc_model *m, uint32_t node, const struct fc_setattr *set)
{
	struct fc_mnode *n = fc_model_node(m, node);

	if (!n)
		return FC_ERR(FC_ESTALE);
	if (set->valid & FC_SET_SIZE) {
		fc_errors e = 0;

		if (S_ISDIR(n->attr.mode))
			e |= FC_ERR(FC_EISDIR) | FC_ERR(FC_EINVAL);
		if (!S_ISREG(n->attr.mode))
			e |= FC_ERR(FC_EINVAL);
		if (set->size > FC_FILE_MAX)
			e |= FC_ERR(FC_EFBIG);
		if (e)
			return e;
	}
	if (set->valid & FC_SET_UID)
		n->attr.uid = set->uid;
	if (set->valid & FC_SET_GID)
		n->attr.gid = set->gid;
	if (set->valid & FC_SET_KILLPRIV)
		fc_model_killpriv(n);
	if (set->valid & FC_SET_MODE) {
		n->attr.mode = (n->attr.mode & S_IFMT) | (set->mode & 07777);
		fc_model_acl_chmod(n);
	}
	if (set->valid & FC_SET_SIZE) {
		fc_model_resize(n, set->size);
		n->attr.mtime = m->now;
	}
	set_times(m, n, set);
	return 0;
}
