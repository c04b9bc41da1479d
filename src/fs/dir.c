/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fs/dir.h"

#include <dirent.h>
#include <sys/stat.h>

#include "util/le.h"

/* value of an ENTRY item */
enum { ENTRY_INO = 0, ENTRY_TYPE = 8, ENTRY_NAME = 9 };
#define SEQ_BYTES 8u

int fc_dir_check_name(const char *name, struct fc_bytes *out)
{
	size_t n = strnlen(name, FC_NAME_MAX + 1);

	if (n > FC_NAME_MAX)
		return FC_ENAMETOOLONG;
	if (!n || memchr(name, '/', n) || !strcmp(name, ".") || !strcmp(name, ".."))
		return FC_EINVAL;
	*out = (struct fc_bytes){ .p = (const uint8_t *)name, .n = n };
	return 0;
}

uint64_t fc_dir_hash(struct fc_fs *fs, const struct fc_bytes *name)
{
	return fc_fs_name_hash(fs, (const char *)name->p, name->n);
}

static struct fc_key entry_key(uint64_t dir, uint64_t seq)
{
	return fc_key(dir, FC_KEY_ENTRY, seq);
}

static struct fc_key name_key(uint64_t dir, uint64_t hash)
{
	return fc_key(dir, FC_KEY_NAME, hash);
}

/* The name of *name points into the item. */
static int parse_entry(const struct fc_item *item, struct fc_entry *entry, struct fc_bytes *name)
{
	if (item->bytes <= ENTRY_NAME || item->bytes > ENTRY_NAME + FC_NAME_MAX)
		return FC_ECORRUPT;
	entry->ino = fc_get_u64(item->data + ENTRY_INO);
	entry->type = item->data[ENTRY_TYPE];
	entry->seq = item->key.off;
	name->p = item->data + ENTRY_NAME;
	name->n = item->bytes - ENTRY_NAME;
	return entry->ino ? 0 : FC_ECORRUPT;
}

static int get_seqs(struct fc_fs *fs, uint64_t dir, uint64_t hash, struct fc_item *item)
{
	int err = fc_tree_get(fc_fs_tree(fs), name_key(dir, hash), item);

	if (err)
		return err;
	return item->bytes && item->bytes % SEQ_BYTES == 0 ? 0 : FC_ECORRUPT;
}

int fc_dir_find(struct fc_fs *fs, uint64_t dir, uint64_t hash, const struct fc_bytes *name, struct fc_entry *entry)
{
	struct fc_item seqs;
	int err = get_seqs(fs, dir, hash, &seqs);

	entry->hash = hash;
	entry->peers = err ? 0 : (uint16_t)(seqs.bytes / SEQ_BYTES);
	for (size_t i = 0; !err && i < entry->peers; i++) {
		struct fc_item item;
		struct fc_bytes found;

		err = fc_tree_get(fc_fs_tree(fs), entry_key(dir, fc_get_u64(seqs.data + i * SEQ_BYTES)), &item);
		if (err)
			return err == FC_ENOENT ? FC_ECORRUPT : err;
		err = parse_entry(&item, entry, &found);
		if (!err && found.n == name->n && !memcmp(found.p, name->p, found.n))
			return 0;
	}
	return err ? err : FC_ENOENT;
}

int fc_dir_room(const struct fc_entry *place)
{
	return (place->peers + 1u) * SEQ_BYTES <= FC_ITEM_MAX ? 0 : FC_ENOSPC;
}

int fc_dir_load(struct fc_fs *fs, uint64_t dir, const struct fc_entry *entry, uint64_t seq)
{
	int err = fc_tree_load(fc_fs_tree(fs), name_key(dir, entry->hash));

	return err ? err : fc_tree_load(fc_fs_tree(fs), entry_key(dir, seq));
}

int fc_dir_add_at(struct fc_fs *fs, struct fc_inode *dir, const struct fc_entry *place, const struct fc_bytes *name,
		  uint64_t ino, uint8_t type, uint64_t seq)
{
	uint8_t raw[FC_ITEM_MAX];
	struct fc_item seqs;
	size_t n = 0;
	int err = place->peers ? get_seqs(fs, dir->ino, place->hash, &seqs) : FC_ENOENT;

	if (err && err != FC_ENOENT)
		return err;
	if (!err) {
		n = seqs.bytes;
		if (n + SEQ_BYTES > sizeof(raw))
			return FC_ENOSPC;
		memcpy(raw, seqs.data, n);
	}
	fc_put_u64(raw + n, seq);
	err = fc_tree_put(fc_fs_tree(fs), name_key(dir->ino, place->hash), raw, n + SEQ_BYTES);
	if (err)
		return err;
	fc_put_u64(raw + ENTRY_INO, ino);
	raw[ENTRY_TYPE] = type;
	memcpy(raw + ENTRY_NAME, name->p, name->n);
	err = fc_tree_put(fc_fs_tree(fs), entry_key(dir->ino, seq), raw, ENTRY_NAME + name->n);
	if (err)
		return err;
	dir->entries++;
	return 0;
}

int fc_dir_add(struct fc_fs *fs, struct fc_inode *dir, const struct fc_entry *place, const struct fc_bytes *name,
	       uint64_t ino, uint8_t type)
{
	int err = fc_dir_add_at(fs, dir, place, name, ino, type, dir->next_seq);

	if (!err)
		dir->next_seq++;
	return err;
}

/* Takes seq out of a NAME item that holds others. */
static int drop_seq(struct fc_fs *fs, uint64_t dir, const struct fc_entry *entry)
{
	uint8_t raw[FC_ITEM_MAX];
	struct fc_item seqs;
	size_t n = 0;
	int err = get_seqs(fs, dir, entry->hash, &seqs);

	if (err)
		return err;
	for (size_t i = 0; i < seqs.bytes; i += SEQ_BYTES) {
		if (fc_get_u64(seqs.data + i) == entry->seq)
			continue;
		memcpy(raw + n, seqs.data + i, SEQ_BYTES);
		n += SEQ_BYTES;
	}
	return fc_tree_put(fc_fs_tree(fs), name_key(dir, entry->hash), raw, n);
}

int fc_dir_del(struct fc_fs *fs, struct fc_inode *dir, const struct fc_entry *entry)
{
	int err;

	if (entry->peers > 1)
		err = drop_seq(fs, dir->ino, entry);
	else
		err = fc_tree_del(fc_fs_tree(fs), name_key(dir->ino, entry->hash));
	if (!err)
		err = fc_tree_del(fc_fs_tree(fs), entry_key(dir->ino, entry->seq));
	if (!err && dir->entries)
		dir->entries--;
	return err;
}

int fc_dir_set(struct fc_fs *fs, uint64_t dir, uint64_t seq, uint64_t ino, uint8_t type)
{
	uint8_t *raw;
	uint16_t bytes;
	int err = fc_tree_edit(fc_fs_tree(fs), entry_key(dir, seq), &raw, &bytes);

	if (err)
		return err;
	fc_put_u64(raw + ENTRY_INO, ino);
	raw[ENTRY_TYPE] = type;
	return 0;
}

/* ---- readdir ------------------------------------------------------------ */

struct listing {
	struct fc_fs *fs;
	bool want_attr;
	fc_fill fill;
	void *arg;
	uint64_t given;
};

/* 1: taken, 0: the caller wants no more. */
static int give(struct listing *l, const struct fc_entry *entry, const struct fc_bytes *name)
{
	char text[FC_NAME_MAX + 1];
	struct fc_inode inode;
	struct fc_attr attr;
	const struct fc_attr *known = NULL;

	memcpy(text, name->p, name->n);
	text[name->n] = 0;
	/* An inode that cannot be read must not hide the names beside it: who
	 * asks for it by name gets the error. */
	if (l->want_attr && !fc_inode_get(l->fs, entry->ino, &inode)) {
		fc_inode_attr(l->fs, &inode, &attr);
		known = &attr;
	}
	if (l->fill(l->arg, text, entry->ino, entry->type, entry->seq, known))
		return 0;
	if (known)
		fc_vnode_ref(l->fs, entry->ino, 1);
	l->given++;
	return 1;
}

static int give_entries(struct listing *l, uint64_t dir, uint64_t from)
{
	struct fc_cursor cursor;
	struct fc_item item;
	int err = fc_cursor_seek_to(&cursor, fc_fs_tree(l->fs), entry_key(dir, from), name_key(dir, 0), &item);

	while (!err && item.key.ino == dir && item.key.type == FC_KEY_ENTRY) {
		struct fc_entry entry;
		struct fc_bytes name;

		err = parse_entry(&item, &entry, &name);
		if (err || !give(l, &entry, &name))
			return err;
		err = fc_cursor_next(&cursor, &item);
	}
	return err == FC_ENOENT ? 0 : err;
}

/* `.` and `..`: 1 when the listing goes on. */
static int give_dots(struct listing *l, const struct fc_inode *dir, uint64_t offset)
{
	if (offset < 1) {
		if (l->fill(l->arg, ".", dir->ino, DT_DIR, 1, NULL))
			return 0;
		l->given++;
	}
	if (offset < 2) {
		if (l->fill(l->arg, "..", dir->parent, DT_DIR, 2, NULL))
			return 0;
		l->given++;
	}
	return 1;
}

int fc_fs_readdir(struct fc_fs *fs, uint64_t ino, uint64_t offset, bool want_attr, fc_fill fill, void *arg)
{
	struct listing l = { .fs = fs, .want_attr = want_attr, .fill = fill, .arg = arg };
	struct fc_inode dir;
	int err;

	fc_fs_rdlock(fs);
	err = fc_inode_get(fs, ino, &dir);
	if (!err && !S_ISDIR(dir.mode))
		err = FC_ENOTDIR;
	if (!err && give_dots(&l, &dir, offset) && offset < dir.next_seq)
		err = give_entries(&l, ino, offset < FC_DIR_FIRST_SEQ ? FC_DIR_FIRST_SEQ : offset + 1);
	fc_fs_rdunlock(fs);
	/* What was given counts; the error shows when the caller goes on after it. */
	return l.given ? 0 : err;
}
