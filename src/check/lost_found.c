/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in lost+found, a directory of the root that is made when it is needed. */
#include <stdio.h>
#include <sys/stat.h>

#include "check/checker.h"

#define TRIES 100u /* names that may be taken */

static int make_directory(struct fc_checker *c, const struct fc_bytes *name, uint64_t *ino)
{
	struct fc_op op = { .kind = FC_OP_CREATE,
			    .parent = FC_INO_ROOT,
			    .name = *name,
			    .mode = S_IFDIR | 0700,
			    .uid = c->options->uid,
			    .gid = c->options->gid,
			    .time = fc_fs_now(c->fs) };

	op.ino = *ino = fc_fs_new_ino(c->fs);
	return fc_apply_create(c->fs, &op);
}

/* `base`, or with a number behind it when that is taken by something else. */
static struct fc_bytes variant(char *text, size_t room, const char *base, unsigned i)
{
	int n = i ? snprintf(text, room, "%s-%u", base, i) : snprintf(text, room, "%s", base);

	return (struct fc_bytes){ .p = (const uint8_t *)text, .n = (size_t)n };
}

static int find_directory(struct fc_checker *c, struct fc_inode *dir)
{
	char text[32];
	unsigned i;

	for (i = 0; i < TRIES; i++) {
		struct fc_bytes name = variant(text, sizeof(text), "lost+found", i);
		struct fc_entry entry;
		int r = fc_dir_find(c->fs, FC_INO_ROOT, fc_dir_hash(c->fs, &name), &name, &entry);

		if (r == FC_ENOENT)
			r = make_directory(c, &name, &entry.ino);
		if (!r)
			r = fc_dir_inode(c->fs, entry.ino, dir);
		if (r != FC_ENOTDIR && r != FC_ESTALE && r != FC_ENOENT)
			return r;
	}
	return FC_EEXIST;
}

int fc_mend_home(struct fc_checker *c, uint64_t ino, uint8_t type)
{
	struct fc_inode dir, inode;
	struct fc_entry place;
	char base[24], text[32];
	struct fc_bytes name;
	unsigned i;
	int r = find_directory(c, &dir);

	if (r || dir.ino == ino)
		return r ? r : FC_EEXIST;
	snprintf(base, sizeof(base), "#%llu", (unsigned long long)ino);
	for (i = 0; !r && i < TRIES; i++) {
		name = variant(text, sizeof(text), base, i);
		r = fc_dir_find(c->fs, dir.ino, fc_dir_hash(c->fs, &name), &name, &place);
	}
	if (r != FC_ENOENT)
		return r ? r : FC_EEXIST;
	r = fc_dir_load(c->fs, dir.ino, &place, dir.next_seq);
	if (!r)
		r = fc_inode_load(c->fs, ino, &inode);
	if (!r)
		r = fc_dir_add(c->fs, &dir, &place, &name, ino, type);
	if (r)
		return r;
	dir.nlink += S_ISDIR(inode.mode);
	r = fc_inode_put(c->fs, &dir);
	if (S_ISDIR(inode.mode))
		inode.parent = dir.ino;
	return r ? r : fc_inode_put(c->fs, &inode);
}
