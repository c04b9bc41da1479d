/* SPDX-License-Identifier: GPL-2.0-or-later */
/* renameat2: renaming, replacing, exchanging, leaving a whiteout. */
#include "fs/dir.h"

#include <linux/fs.h>
#include <sys/stat.h>

/* A walk to the root that takes longer runs in a circle. */
#define DEPTH_MAX (1u << 20)

struct rename {
	struct fc_fs *fs;
	const struct fc_op *op;
	struct fc_inode dirs[2], *from, *to; /* to == from within one directory */
	struct fc_entry source, target;
	struct fc_inode moved, other; /* what source and target mean */
	bool replaces;                /* there is a target */
	bool same;                    /* both names mean one inode: nothing to do */
};

/* FC_EINVAL when `top` is dir or above it. */
static int not_below(struct fc_fs *fs, uint64_t dir, uint64_t top)
{
	struct fc_inode inode;

	for (unsigned i = 0; i < DEPTH_MAX; i++) {
		int err;

		if (dir == top)
			return FC_EINVAL;
		if (dir == FC_INO_ROOT)
			return 0;
		err = fc_inode_get(fs, dir, &inode);
		if (err)
			return err == FC_ESTALE ? FC_ECORRUPT : err;
		dir = inode.parent;
	}
	return FC_ECORRUPT;
}

static int load_named(struct fc_fs *fs, const struct fc_inode *dir, const struct fc_entry *entry,
		      struct fc_inode *inode)
{
	int err = fc_dir_load(fs, dir->ino, entry, entry->seq);

	if (err)
		return err;
	err = fc_inode_load(fs, entry->ino, inode);
	return err == FC_ESTALE ? FC_ECORRUPT : err;
}

static int find_both(struct rename *r)
{
	const struct fc_op *op = r->op;
	int err;

	r->from = r->to = &r->dirs[0];
	err = fc_dir_inode(r->fs, op->parent, r->from);
	if (!err && op->parent2 != op->parent) {
		r->to = &r->dirs[1];
		err = fc_dir_inode(r->fs, op->parent2, r->to);
	}
	if (!err)
		err = fc_dir_find(r->fs, r->from->ino, fc_dir_hash(r->fs, &op->name), &op->name, &r->source);
	if (!err)
		err = load_named(r->fs, r->from, &r->source, &r->moved);
	if (err)
		return err;
	err = fc_dir_find(r->fs, r->to->ino, fc_dir_hash(r->fs, &op->name2), &op->name2, &r->target);
	r->replaces = !err;
	if (!err)
		return load_named(r->fs, r->to, &r->target, &r->other);
	if (err != FC_ENOENT)
		return err;
	err = fc_dir_load(r->fs, r->to->ino, &r->target, r->to->next_seq);
	return err ? err : fc_dir_room(&r->target);
}

/* May the target make place? */
static int may_replace(const struct rename *r)
{
	if (r->op->flags & RENAME_NOREPLACE)
		return FC_EEXIST;
	if (r->op->flags & RENAME_EXCHANGE)
		return 0;
	if (!S_ISDIR(r->moved.mode))
		return S_ISDIR(r->other.mode) ? FC_EISDIR : 0;
	if (!S_ISDIR(r->other.mode))
		return FC_ENOTDIR;
	return r->other.entries ? FC_ENOTEMPTY : 0;
}

static int check(struct rename *r)
{
	bool exchange = r->op->flags & RENAME_EXCHANGE;
	int err = 0;

	if (!r->replaces && exchange)
		return FC_ENOENT;
	if (r->from != r->to) {
		if (S_ISDIR(r->moved.mode))
			err = not_below(r->fs, r->to->ino, r->moved.ino);
		if (!err && exchange && S_ISDIR(r->other.mode))
			err = not_below(r->fs, r->from->ino, r->other.ino);
		if (err)
			return err;
	}
	if (r->replaces && r->moved.ino == r->other.ino && !(r->op->flags & RENAME_NOREPLACE)) {
		r->same = true;
		return 0;
	}
	if (r->replaces)
		err = may_replace(r);
	return err;
}

/* Loads what remains to be changed. */
static int load_rest(struct rename *r)
{
	const struct fc_op *op = r->op;
	struct fc_inode old;
	int err = 0;

	if (r->replaces && !(op->flags & RENAME_EXCHANGE))
		err = fc_tree_load(fc_fs_tree(r->fs), fc_key(0, FC_KEY_ORPHAN, r->other.ino));
	if (err || !(op->flags & RENAME_WHITEOUT))
		return err;
	err = fc_inode_load(r->fs, op->ino, &old);
	if (err != FC_ESTALE)
		return err ? err : FC_ECORRUPT;
	return 0;
}

/* Counts a directory that went from one parent to another. */
static void count_move(struct fc_inode *dir, struct fc_inode *from, struct fc_inode *to)
{
	if (!S_ISDIR(dir->mode) || from == to)
		return;
	if (from->nlink > 2)
		from->nlink--;
	to->nlink++;
	dir->parent = to->ino;
}

static int exchange(struct rename *r)
{
	int err = fc_dir_set(r->fs, r->from->ino, r->source.seq, r->other.ino, fc_dir_type(r->other.mode));

	if (!err)
		err = fc_dir_set(r->fs, r->to->ino, r->target.seq, r->moved.ino, fc_dir_type(r->moved.mode));
	if (err)
		return err;
	count_move(&r->moved, r->from, r->to);
	count_move(&r->other, r->to, r->from);
	r->other.ctime = r->op->time;
	return fc_inode_put(r->fs, &r->other);
}

static int leave_whiteout(struct rename *r)
{
	const struct fc_op *op = r->op;
	struct fc_inode inode = {
		.ino = op->ino,
		.mode = S_IFCHR | op->mode,
		.nlink = 1,
		.uid = op->uid,
		.gid = op->gid,
		.atime = op->time,
		.mtime = op->time,
		.ctime = op->time,
		.btime = op->time,
	};
	int err = fc_inode_put(r->fs, &inode);

	if (err)
		return err;
	fc_fs_took_ino(r->fs, op->ino);
	fc_fs_count_inodes(r->fs, 1);
	return fc_dir_set(r->fs, r->from->ino, r->source.seq, op->ino, fc_dir_type(inode.mode));
}

/* A target keeps its place in the directory, so who lists it meanwhile sees the name
 * once; without one, what stays in its directory keeps its own: or who lists it while
 * another renames would meet the same files again and again. */
static int move(struct rename *r)
{
	uint8_t type = fc_dir_type(r->moved.mode);
	int err;

	if (r->op->flags & RENAME_WHITEOUT)
		err = leave_whiteout(r);
	else
		err = fc_dir_del(r->fs, r->from, &r->source);
	if (err)
		return err;
	count_move(&r->moved, r->from, r->to);
	if (!r->replaces && r->from == r->to && !(r->op->flags & RENAME_WHITEOUT))
		return fc_dir_add_at(r->fs, r->to, &r->target, &r->op->name2, r->moved.ino, type, r->source.seq);
	if (!r->replaces)
		return fc_dir_add(r->fs, r->to, &r->target, &r->op->name2, r->moved.ino, type);
	err = fc_dir_set(r->fs, r->to->ino, r->target.seq, r->moved.ino, type);
	if (err)
		return err;
	if (S_ISDIR(r->other.mode) && r->to->nlink > 2)
		r->to->nlink--;
	return fc_inode_unlinked(r->fs, &r->other, r->op->time);
}

static int apply(struct rename *r)
{
	struct fc_time now = r->op->time;
	int err = find_both(r);

	if (!err)
		err = check(r);
	if (err || r->same)
		return err;
	err = load_rest(r);
	if (!err)
		err = r->op->flags & RENAME_EXCHANGE ? exchange(r) : move(r);
	if (err)
		return err;
	r->moved.ctime = now;
	r->from->mtime = r->from->ctime = r->to->mtime = r->to->ctime = now;
	err = fc_inode_put(r->fs, &r->moved);
	if (!err)
		err = fc_inode_put(r->fs, r->from);
	if (!err && r->to != r->from)
		err = fc_inode_put(r->fs, r->to);
	return err;
}

int fc_apply_rename(struct fc_fs *fs, const struct fc_op *op)
{
	struct rename r = { .fs = fs, .op = op };

	return apply(&r);
}

/* The whiteout's owner, as for any new inode. */
static int resolve_whiteout(struct fc_fs *fs, const struct fc_cred *cred, struct fc_op *op)
{
	struct fc_inode dir;
	int err = fc_inode_get(fs, op->parent, &dir);

	if (err)
		return err;
	op->ino = fc_fs_new_ino(fs);
	op->uid = cred->uid;
	op->gid = dir.mode & S_ISGID ? dir.gid : cred->gid;
	return 0;
}

int fc_fs_rename(struct fc_fs *fs, uint64_t parent, const char *name, uint64_t new_parent, const char *new_name,
		 unsigned flags, const struct fc_cred *cred)
{
	struct fc_op op = { .kind = FC_OP_RENAME, .parent = parent, .parent2 = new_parent, .flags = flags };
	struct rename r = { .fs = fs, .op = &op };
	int err = fc_dir_check_name(name, &op.name);

	if (!err)
		err = fc_dir_check_name(new_name, &op.name2);
	if (err)
		return err;
	if (flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT) ||
	    (flags & RENAME_EXCHANGE && flags != RENAME_EXCHANGE))
		return FC_EINVAL;
	err = fc_fs_begin(fs, FC_KEY_NODES(10), false);
	if (err)
		return err;
	op.time = fc_fs_now(fs);
	if (flags & RENAME_WHITEOUT)
		err = resolve_whiteout(fs, cred, &op);
	if (!err)
		err = apply(&r);
	if (!err && !r.same) {
		fc_fs_record(fs, &op);
		if (r.replaces && !(flags & RENAME_EXCHANGE))
			fc_inode_drop(fs, &r.other);
	}
	fc_fs_end(fs);
	return err;
}
