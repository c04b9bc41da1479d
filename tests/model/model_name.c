/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model's directories. The order of checks is that of Linux's VFS. */
#include "model_priv.h"

#include <stdio.h>
#include <linux/fs.h>

static bool is_dir(const struct fc_mnode *n)
{
	return S_ISDIR(n->attr.mode);
}

/* Index of name; or, when there is none, where it would go. */
static bool find(const struct fc_mnode *dir, const char *name, size_t *at)
{
	size_t lo = 0, hi = dir->link_count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int c = strcmp((const char *)dir->links[mid].name->bytes, name);

		if (c == 0) {
			*at = mid;
			return true;
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*at = lo;
	return false;
}

static void put_link(struct fc_model *m, struct fc_mnode *dir, const char *name, uint32_t node)
{
	size_t at;

	if (find(dir, name, &at)) {
		dir->links[at].node = node;
		dir->links[at].birth = ++m->births;
		return;
	}
	dir->links = fc_model_memory(dir->links, (dir->link_count + 1) * sizeof(*dir->links));
	memmove(&dir->links[at + 1], &dir->links[at], (dir->link_count - at) * sizeof(*dir->links));
	dir->links[at] =
		(struct fc_link){ .name = fc_blob_new(name, strlen(name)), .node = node, .birth = ++m->births };
	dir->link_count++;
}

static void del_link(struct fc_mnode *dir, const char *name)
{
	size_t at;

	if (!find(dir, name, &at))
		return;
	fc_blob_drop(dir->links[at].name);
	dir->link_count--;
	memmove(&dir->links[at], &dir->links[at + 1], (dir->link_count - at) * sizeof(*dir->links));
}

/* The directory, and whether a name may be asked for in it. */
static fc_errors enter(const struct fc_model *m, uint32_t parent, const char *name, struct fc_mnode **dir)
{
	fc_errors e = strlen(name) > FC_NAME_MAX ? FC_ERR(FC_ENAMETOOLONG) : 0;

	*dir = fc_model_node(m, parent);
	if (!*dir)
		return e | FC_ERR(FC_ESTALE) | FC_ERR(FC_ENOENT);
	if (!is_dir(*dir))
		e |= FC_ERR(FC_ENOTDIR);
	return e && !(*dir)->attr.nlink ? e | FC_ERR(FC_ENOENT) : e;
}

/* As enter, for a name that is to be made. */
static fc_errors make(const struct fc_model *m, uint32_t parent, const char *name, struct fc_mnode **dir)
{
	fc_errors e = enter(m, parent, name, dir);
	size_t at;

	if (e)
		return e;
	if (!(*dir)->attr.nlink) /* removed, but held */
		return FC_ERR(FC_ENOENT);
	return find(*dir, name, &at) ? FC_ERR(FC_EEXIST) : 0;
}

fc_errors fc_model_lookup(struct fc_model *m, uint32_t parent, const char *name, uint32_t *node)
{
	struct fc_mnode *dir;
	fc_errors e = enter(m, parent, name, &dir);
	size_t at;

	if (e)
		return e | FC_ERR(FC_ENOENT);
	if (!find(dir, name, &at))
		return FC_ERR(FC_ENOENT);
	*node = dir->links[at].node;
	m->nodes[*node]->refs++;
	return 0;
}

void fc_model_forget(struct fc_model *m, uint32_t node, uint64_t n)
{
	struct fc_mnode *x = fc_model_node(m, node);

	if (!x)
		return;
	x->refs -= n < x->refs ? n : x->refs;
	fc_model_settle(m, node);
}

/* Mode, owner and ACLs of a new node as its parent wants them. */
static uint32_t create(struct fc_model *m, struct fc_mnode *dir, const struct fc_cred *cred, uint32_t mode)
{
	bool setgid = dir->attr.mode & S_ISGID;
	uint32_t node = fc_model_add(m, mode, cred->uid, setgid ? dir->attr.gid : cred->gid);
	struct fc_mnode *n = m->nodes[node];

	if (S_ISDIR(mode) && setgid)
		n->attr.mode |= S_ISGID;
	if (!S_ISLNK(mode))
		fc_model_acl_inherit(dir, n, cred->umask);
	n->attr.nlink = S_ISDIR(mode) ? 2 : 1;
	n->refs = 1;
	return node;
}

fc_errors fc_model_mknod(struct fc_model *m, uint32_t parent, const char *name, const struct fc_cred *cred,
			 uint32_t mode, uint64_t rdev, uint32_t *node)
{
	struct fc_mnode *dir;
	fc_errors e = make(m, parent, name, &dir);

	if (S_ISDIR(mode) || S_ISLNK(mode))
		e |= FC_ERR(FC_EINVAL) | FC_ERR(FC_EPERM);
	if (e)
		return e;
	*node = create(m, dir, cred, mode);
	if (S_ISCHR(mode) || S_ISBLK(mode))
		m->nodes[*node]->attr.rdev = rdev;
	put_link(m, dir, name, *node);
	fc_model_touch(m, dir);
	return 0;
}

fc_errors fc_model_mkdir(struct fc_model *m, uint32_t parent, const char *name, const struct fc_cred *cred,
			 uint32_t mode, uint32_t *node)
{
	struct fc_mnode *dir;
	fc_errors e = make(m, parent, name, &dir);

	if (e)
		return e;
	*node = create(m, dir, cred, S_IFDIR | (mode & 01777));
	m->nodes[*node]->parent = parent;
	put_link(m, dir, name, *node);
	dir->attr.nlink++;
	fc_model_touch(m, dir);
	return 0;
}

fc_errors fc_model_symlink(struct fc_model *m, uint32_t parent, const char *name, const struct fc_cred *cred,
			   const char *target, uint32_t *node)
{
	struct fc_mnode *dir;
	fc_errors e = make(m, parent, name, &dir);
	size_t n = strlen(target);

	if (n > FC_SYMLINK_MAX)
		e |= FC_ERR(FC_ENAMETOOLONG);
	if (e)
		return e;
	*node = create(m, dir, cred, S_IFLNK | 0777);
	m->nodes[*node]->target = fc_blob_new(target, n);
	m->nodes[*node]->attr.size = n;
	put_link(m, dir, name, *node);
	fc_model_touch(m, dir);
	return 0;
}

fc_errors fc_model_tmpfile(struct fc_model *m, uint32_t parent, const struct fc_cred *cred, uint32_t mode,
			   uint32_t *node)
{
	struct fc_mnode *dir = fc_model_node(m, parent);

	if (!dir)
		return FC_ERR(FC_ESTALE);
	if (!is_dir(dir))
		return FC_ERR(FC_ENOTDIR);
	if (!dir->attr.nlink)
		return FC_ERR(FC_ENOENT);
	*node = create(m, dir, cred, S_IFREG | (mode & 07777));
	m->nodes[*node]->attr.nlink = 0;
	m->nodes[*node]->unnamed = true;
	return 0;
}

fc_errors fc_model_link(struct fc_model *m, uint32_t node, uint32_t parent, const char *name)
{
	struct fc_mnode *n = fc_model_node(m, node), *dir;
	fc_errors e = make(m, parent, name, &dir);

	if (!n)
		return e | FC_ERR(FC_ESTALE);
	if (is_dir(n))
		e |= FC_ERR(FC_EPERM);
	else if (!n->attr.nlink && !n->unnamed)
		e |= FC_ERR(FC_ENOENT);
	if (e)
		return e;
	put_link(m, dir, name, node);
	n->attr.nlink++;
	n->refs++;
	n->unnamed = false;
	n->attr.ctime = m->now;
	fc_model_touch(m, dir);
	return 0;
}

/* One link less; a directory has none left. */
static void drop_name(struct fc_model *m, uint32_t node)
{
	struct fc_mnode *n = m->nodes[node];

	n->attr.ctime = m->now;
	if (is_dir(n)) {
		n->attr.nlink = 0;
		n->parent = 0;
	} else {
		n->attr.nlink--;
	}
	fc_model_settle(m, node);
}

static fc_errors take_away(struct fc_model *m, uint32_t parent, const char *name, bool want_dir)
{
	struct fc_mnode *dir;
	fc_errors e = enter(m, parent, name, &dir);
	uint32_t node;
	size_t at;

	if (e)
		return e;
	if (!find(dir, name, &at))
		return FC_ERR(FC_ENOENT);
	node = dir->links[at].node;
	if (want_dir && !is_dir(m->nodes[node]))
		return FC_ERR(FC_ENOTDIR);
	if (!want_dir && is_dir(m->nodes[node]))
		return FC_ERR(FC_EISDIR);
	if (want_dir && m->nodes[node]->link_count)
		return FC_ERR(FC_ENOTEMPTY);
	del_link(dir, name);
	if (want_dir)
		dir->attr.nlink--;
	fc_model_touch(m, dir);
	drop_name(m, node);
	return 0;
}

fc_errors fc_model_unlink(struct fc_model *m, uint32_t parent, const char *name)
{
	return take_away(m, parent, name, false);
}

fc_errors fc_model_rmdir(struct fc_model *m, uint32_t parent, const char *name)
{
	return take_away(m, parent, name, true);
}

/* Is dir at or below top? */
static bool below(const struct fc_model *m, uint32_t dir, uint32_t top)
{
	for (;;) {
		const struct fc_mnode *n = fc_model_node(m, dir);

		if (dir == top)
			return true;
		if (!n || n->parent == dir || !n->parent)
			return false;
		dir = n->parent;
	}
}

struct move {
	struct fc_mnode *from_dir, *to_dir;
	uint32_t parent, new_parent, node, target; /* target 0: none */
	unsigned flags;
};

static fc_errors check_move(const struct fc_model *m, const struct move *mv)
{
	const struct fc_mnode *n = m->nodes[mv->node], *t = mv->target ? m->nodes[mv->target] : NULL;
	fc_errors e = 0;

	if (mv->flags & RENAME_EXCHANGE) {
		if (!t)
			return FC_ERR(FC_ENOENT);
		if ((is_dir(n) && below(m, mv->new_parent, mv->node)) ||
		    (is_dir(t) && below(m, mv->parent, mv->target)))
			e |= FC_ERR(FC_EINVAL);
		return e;
	}
	if (t && mv->flags & RENAME_NOREPLACE)
		e |= FC_ERR(FC_EEXIST);
	if (is_dir(n) && below(m, mv->new_parent, mv->node))
		e |= FC_ERR(FC_EINVAL);
	if (!mv->to_dir->attr.nlink)
		e |= FC_ERR(FC_ENOENT);
	if (!t || mv->target == mv->node)
		return e;
	if (is_dir(t) && t->link_count)
		e |= FC_ERR(FC_ENOTEMPTY);
	if (is_dir(n) && !is_dir(t))
		e |= FC_ERR(FC_ENOTDIR);
	if (!is_dir(n) && is_dir(t))
		e |= FC_ERR(FC_EISDIR);
	return e;
}

/* A directory changed its parent. */
static void moved(struct fc_mnode *n, struct fc_mnode *from, struct fc_mnode *to, uint32_t new_parent)
{
	if (!is_dir(n))
		return;
	from->attr.nlink--;
	to->attr.nlink++;
	n->parent = new_parent;
}

static void exchange(struct fc_model *m, const struct move *mv, const char *name, const char *new_name)
{
	struct fc_mnode *n = m->nodes[mv->node], *t = m->nodes[mv->target];

	put_link(m, mv->from_dir, name, mv->target);
	put_link(m, mv->to_dir, new_name, mv->node);
	moved(n, mv->from_dir, mv->to_dir, mv->new_parent);
	moved(t, mv->to_dir, mv->from_dir, mv->parent);
	t->attr.ctime = m->now;
}

static void whiteout(struct fc_model *m, const struct move *mv, const char *name, const struct fc_cred *cred)
{
	bool setgid = mv->from_dir->attr.mode & S_ISGID;
	uint32_t node = fc_model_add(m, S_IFCHR, cred->uid, setgid ? mv->from_dir->attr.gid : cred->gid);

	m->nodes[node]->attr.nlink = 1;
	put_link(m, mv->from_dir, name, node);
}

fc_errors fc_model_rename(struct fc_model *m, uint32_t parent, const char *name, uint32_t new_parent,
			  const char *new_name, unsigned flags, const struct fc_cred *cred)
{
	struct move mv = { .parent = parent, .new_parent = new_parent, .flags = flags };
	fc_errors e = enter(m, parent, name, &mv.from_dir) | enter(m, new_parent, new_name, &mv.to_dir);
	size_t at, to_at;

	if ((flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT)) ||
	    (flags & RENAME_EXCHANGE && flags & (RENAME_NOREPLACE | RENAME_WHITEOUT)))
		e |= FC_ERR(FC_EINVAL);
	if (e)
		return e | FC_ERR(FC_ENOENT); /* a name may be missing, too */
	if (!find(mv.from_dir, name, &at))
		return FC_ERR(FC_ENOENT);
	mv.node = mv.from_dir->links[at].node;
	if (find(mv.to_dir, new_name, &to_at))
		mv.target = mv.to_dir->links[to_at].node;
	e = check_move(m, &mv);
	if (e || mv.target == mv.node)
		return e; /* two names of one file: both stay */
	m->nodes[mv.node]->attr.ctime = m->now;
	fc_model_touch(m, mv.from_dir);
	fc_model_touch(m, mv.to_dir);
	if (flags & RENAME_EXCHANGE) {
		exchange(m, &mv, name, new_name);
		return 0;
	}
	del_link(mv.from_dir, name);
	put_link(m, mv.to_dir, new_name, mv.node);
	moved(m->nodes[mv.node], mv.from_dir, mv.to_dir, new_parent);
	if (mv.target) {
		if (is_dir(m->nodes[mv.target]))
			mv.to_dir->attr.nlink--;
		drop_name(m, mv.target);
	}
	if (flags & RENAME_WHITEOUT)
		whiteout(m, &mv, name, cred);
	return 0;
}
