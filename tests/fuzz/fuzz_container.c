/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A container by someone who has the key: bytes of its tree nodes, and of the
 * newest root, are changed as the input says and sealed anew, with all that leads
 * to them. Whatever they say: opening, looking at everything, changing things,
 * checking and repairing end; and what was repaired checks clean.
 *
 * The input is a row of changes: which node (in walking order, 255: the root
 * record), how, where (two bytes), and how many bytes (low four bits, from 1),
 * then these bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/state.h"
#include "fusecrypt/check.h"
#include "model/disk.h"
#include "tree/node.h"
#include "util/le.h"

#define NODES_MAX 64u
#define CHANGES_MAX 16u
#define LOOKS_MAX 400u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct node {
	struct fc_ptr ptr;
	struct node *parent; /* NULL: the root record points to it */
	size_t at;           /* of the pointer in the parent's bytes */
	uint8_t raw[FC_NODE_BYTES];
};

static struct fc_disk sound;
static struct fc_fs *forger; /* an fs on it, for its keys */
static struct node nodes[NODES_MAX];
static unsigned count;

static void require(int ok, const char *what, int error)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %d\n", what, error);
	abort();
}

#define OK(call) must((call), #call)
static void must(int error, const char *what)
{
	require(error == 0, what, error);
}

static struct fc_time now(void *arg)
{
	(void)arg;
	return (struct fc_time){ .sec = 1700000000 };
}

static const struct fc_cred cred = { .uid = 1000, .gid = 100, .umask = 022 };
static const struct fc_fs_options options = { .no_threads = true, .now = now };

/* ---- the sound one ------------------------------------------------------------- */

static void make_file(struct fc_fs *fs, unsigned i)
{
	static uint8_t bytes[60000];
	uint64_t done;
	struct fc_attr dir, a, b;
	char name[16];

	memset(bytes, 'a' + (int)(i % 26), sizeof(bytes));
	snprintf(name, sizeof(name), "dir-%u", i % 3);
	if (fc_fs_lookup(fs, FC_INO_ROOT, name, &dir))
		OK(fc_fs_mkdir(fs, FC_INO_ROOT, name, &cred, 0777, &dir));
	snprintf(name, sizeof(name), "file-%u", i);
	OK(fc_fs_mknod(fs, dir.ino, name, &cred, S_IFREG | 0644, 0, &a));
	OK(fc_fs_write(fs, a.ino, 0, i % 3 ? 700 : 20000 + i * 1000, bytes, 0));
	if (i % 5 == 1)
		OK(fc_fs_setxattr(fs, a.ino, "user.a", bytes, i % 2 ? 10 : 5000, 0, false));
	if (i % 7 == 3)
		OK(fc_fs_link(fs, a.ino, FC_INO_ROOT, name, &b));
	if (i == 4)
		OK(fc_fs_symlink(fs, dir.ino, "link", &cred, "to", &b));
	if (i == 6) {
		OK(fc_fs_mknod(fs, FC_INO_ROOT, "copy", &cred, S_IFREG | 0644, 0, &b));
		OK(fc_fs_copy(fs, a.ino, 0, b.ino, 0, 20000, &done));
	}
	if (i == 9)
		OK(fc_fs_unlink(fs, dir.ino, name)); /* still referred to: an orphan */
}

/* ptr and all below it, which can be read. */
static void load(const struct fc_tree *tree, const struct fc_ptr *ptr, struct node *parent, size_t at)
{
	struct node *node = &nodes[count++];

	require(count < NODES_MAX, "nodes", (int)count);
	node->ptr = *ptr;
	node->parent = parent;
	node->at = at;
	OK(fc_tree_read(tree, ptr, node->raw));
	for (unsigned i = 0; ptr->level && i < fc_node_count(node->raw); i++) {
		uint8_t *value = fc_node_value(node->raw, i, NULL);
		struct fc_ptr child;

		fc_ptr_decode(&child, value);
		load(tree, &child, node, (size_t)(value - node->raw));
	}
}

/* Keys lie where a leak check does not look. */
static void end(void)
{
	fc_fs_abandon(forger);
	fc_disk_free(&sound);
}

static void set_up(void)
{
	struct fc_time start = now(NULL);

	fc_disk_format(&sound, FC_CIPHER_AES256GCM, start);
	OK(fc_fs_open(fc_disk_io(&sound, false), fc_disk_master, &options, &forger));
	for (unsigned i = 0; i < 40; i++)
		make_file(forger, i);
	OK(fc_fs_commit(forger));
	load(&forger->forest.files, &forger->root.file_tree, NULL, 0);
	load(&forger->forest.spaces, &forger->root.space_tree, NULL, 0);
	require(forger->root.file_tree.level > 0, "level", 0);
	atexit(end);
}

/* ---- forging -------------------------------------------------------------------- */

static const uint64_t odd[] = { 0,    1,    2,          16,         17,         63,        64,        200,
				1024, 4096, 1ull << 31, 1ull << 32, 1ull << 51, INT64_MAX, UINT64_MAX };

static void change(struct node *node, uint8_t how, unsigned at, const uint8_t *bytes, unsigned n)
{
	uint8_t *raw = node->raw, *value;
	unsigned slot = fc_node_count(raw) ? at % fc_node_count(raw) : 0;
	struct fc_key key;
	uint16_t room;

	if (how % 5 == 0 || fc_node_check(raw, raw[FC_N_TREE], raw[FC_N_LEVEL]) || !fc_node_count(raw)) {
		for (unsigned i = 0; i < n; i++)
			raw[(at + i) % FC_NODE_BYTES] = bytes[i];
		return;
	}
	key = fc_node_key(raw, slot);
	value = fc_node_value(raw, slot, &room);
	switch (how % 5) {
	case 1: /* a key */
		key.type = how & 0x80 ? (uint8_t)(bytes[0] % 12) : key.type;
		key.ino = how & 0x40 ? odd[bytes[0] % 15] : key.ino;
		key.off = how & 0x20 ? odd[bytes[0] % 15] : key.off;
		fc_node_set_key(raw, slot, key);
		break;
	case 2: /* an item is not there */
		fc_node_delete(raw, slot);
		break;
	case 3: /* eight bytes of a value */
		if (room >= 8)
			fc_put_u64(value + bytes[0] % (room - 7u), odd[bytes[n - 1] % 15]);
		break;
	default: /* any of a value */
		for (unsigned i = 1; i < n && room; i++)
			value[(bytes[0] + i) % room] = bytes[i];
	}
}

static void change_root(struct fc_root *root, unsigned at, const uint8_t *bytes)
{
	uint64_t *const field[] = { &root->inodes, &root->data_blocks, &root->node_blocks, &root->cap,
				    &root->chunks, &root->shared,      &root->next_ino };
	const unsigned n = sizeof(field) / sizeof(field[0]);

	*field[at % n] = bytes[0] & 0x80 ? odd[bytes[0] % 15] : *field[at % n] + (uint64_t)bytes[0] - 8;
}

static void seal_all(struct fc_disk *disk, struct fc_root *root, unsigned files)
{
	static uint64_t nonce = 1ull << 40;
	uint8_t sealed[FC_NODE_BYTES], tag[FC_TAG_BYTES];

	for (unsigned i = count; i-- > 0;) { /* children come after their parents */
		struct node *node = &nodes[i];
		struct fc_aead *aead;

		OK(fc_sessions_aead(forger->sessions, node->ptr.session, FC_PURPOSE_NODE, &aead));
		node->ptr.nonce = nonce++;
		OK(fc_aead_seal(aead, node->ptr.nonce, NULL, 0, node->raw, FC_NODE_BYTES, sealed, node->ptr.tag));
		OK(fc_io_write(disk->sim, sealed, FC_NODE_BYTES, node->ptr.block * FC_BLOCK));
		if (node->parent)
			fc_ptr_encode(&node->ptr, node->parent->raw + node->at);
	}
	root->file_tree = nodes[0].ptr;
	root->space_tree = nodes[files].ptr;
	OK(fc_root_write(disk->sim, forger->keys, forger->uuid, forger->root_slot, root, tag));
}

static void forge(struct fc_disk *disk, const uint8_t *data, size_t size)
{
	static struct node before[NODES_MAX];
	struct fc_root root = forger->root;
	unsigned files = 1;

	memcpy(before, nodes, count * sizeof(*nodes));
	while (nodes[files].parent)
		files++;
	for (unsigned i = 0; i < CHANGES_MAX && size >= 6; i++) {
		unsigned at = fc_get_u16(data + 2), n = 1u + (data[4] & 15);

		if (n > size - 5)
			n = (unsigned)size - 5;
		if (data[0] == 255)
			change_root(&root, at, data + 5);
		else
			change(&nodes[data[0] % count], data[1], at, data + 5, n);
		data += 5 + n;
		size -= 5 + n;
	}
	seal_all(disk, &root, files);
	memcpy(nodes, before, count * sizeof(*nodes));
}

/* ---- using it -------------------------------------------------------------------- */

struct list {
	struct {
		char name[FC_NAME_MAX + 1];
		uint64_t ino;
	} at[16];
	unsigned n;
};

static int take(void *arg, const char *name, uint64_t ino, uint32_t type, uint64_t next, const struct fc_attr *attr)
{
	struct list *l = arg;

	(void)type;
	(void)next;
	(void)attr;
	if (l->n == 16)
		return 1;
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	snprintf(l->at[l->n].name, sizeof(l->at[0].name), "%s", name);
	l->at[l->n++].ino = ino;
	return 0;
}

/* Errors are expected; ending is what is asked for. */
static void look(struct fc_fs *fs, uint64_t dir, unsigned depth, unsigned *looks, bool remove)
{
	static uint8_t buf[70000];
	static char names[65536];
	struct list l = { .n = 0 };
	struct fc_attr a;
	uint64_t off;
	size_t got;

	(void)fc_fs_readdir(fs, dir, 0, false, take, &l);
	for (unsigned i = 0; i < l.n && ++*looks < LOOKS_MAX; i++) {
		if (fc_fs_lookup(fs, dir, l.at[i].name, &a))
			continue;
		if (S_ISDIR(a.mode) && depth)
			look(fs, a.ino, depth - 1, looks, remove);
		if (S_ISREG(a.mode)) {
			(void)fc_fs_read(fs, a.ino, 0, sizeof(buf), buf, &got);
			(void)fc_fs_lseek(fs, a.ino, 0, SEEK_HOLE, &off);
		}
		if (S_ISLNK(a.mode))
			(void)fc_fs_readlink(fs, a.ino, (char *)buf);
		(void)fc_fs_listxattr(fs, a.ino, names, sizeof(names));
		(void)fc_fs_getxattr(fs, a.ino, "user.a", buf, sizeof(buf));
		if (remove && S_ISDIR(a.mode))
			(void)fc_fs_rmdir(fs, dir, l.at[i].name);
		else if (remove)
			(void)fc_fs_unlink(fs, dir, l.at[i].name);
		fc_fs_forget(fs, a.ino, 1);
	}
}

static void change_things(struct fc_fs *fs)
{
	static const uint8_t bytes[9000] = { 1 };
	static const char *const names[] = { "file-3", "file-10", "copy" };
	struct fc_setattr set = { .valid = FC_SET_SIZE, .size = 100 };
	struct fc_attr a, b;
	unsigned looks = 0;
	uint64_t done;

	for (unsigned i = 0; i < 3; i++) {
		if (fc_fs_lookup(fs, FC_INO_ROOT, names[i], &a))
			continue;
		(void)fc_fs_write(fs, a.ino, 3000, sizeof(bytes), bytes, 0);
		(void)fc_fs_setxattr(fs, a.ino, "user.b", bytes, 100, 0, false);
		if (!fc_fs_mknod(fs, FC_INO_ROOT, "new", &cred, S_IFREG | 0644, 0, &b)) {
			(void)fc_fs_copy(fs, a.ino, 0, b.ino, 0, 20000, &done);
			fc_fs_forget(fs, b.ino, 1);
		}
		(void)fc_fs_rename(fs, FC_INO_ROOT, names[i], FC_INO_ROOT, "moved", 0, &cred);
		(void)fc_fs_sync(fs);
		(void)fc_fs_setattr(fs, a.ino, &set, &b);
		fc_fs_forget(fs, a.ino, 1);
	}
	(void)fc_fs_commit(fs);
	look(fs, FC_INO_ROOT, 4, &looks, true);
	(void)fc_fs_commit(fs);
	(void)fc_fs_background(fs);
}

static void use(const struct fc_disk *forged, bool read_only)
{
	struct fc_fs_options opt = options;
	struct fc_disk disk;
	unsigned looks = 0;
	struct fc_fs *fs;

	opt.read_only = read_only;
	fc_disk_clone(&disk, forged);
	if (!fc_fs_open(fc_disk_io(&disk, read_only), fc_disk_master, &opt, &fs)) {
		look(fs, FC_INO_ROOT, 4, &looks, false);
		if (!read_only)
			change_things(fs);
		fc_fs_abandon(fs);
	}
	fc_disk_free(&disk);
}

static int check(struct fc_disk *disk, bool repair, struct fc_check_result *result)
{
	struct fc_check_options opt = { .repair = repair, .accept_older = repair, .now = now, .uid = 1, .gid = 1 };

	return fc_check(fc_disk_io(disk, !repair), fc_disk_master, &opt, result);
}

static void check_and_repair(struct fc_disk *disk)
{
	struct fc_check_result result;
	int r = check(disk, false, &result);

	require(r == 0 || r == FC_EFORGED || r == FC_ECORRUPT, "the check", r);
	r = check(disk, true, &result);
	require(r == 0 || r == FC_EFORGED, "the repair", r);
	if (r)
		return;
	OK(check(disk, false, &result));
	require(result.damages == 0, "damages after the repair", (int)result.damages);
	use(disk, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fc_disk disk;

	if (!forger)
		set_up();
	fc_disk_clone(&disk, &sound);
	forge(&disk, data, size);
	use(&disk, true);
	use(&disk, false);
	check_and_repair(&disk);
	fc_disk_free(&disk);
	return 0;
}
