/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes, and one table of all names, by directory and name. */
#include "floor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

static struct floor_node root;
static struct floor_entry **table;
static size_t table_size, table_used; /* the size is a power of two */
static ino_t last_ino = FUSE_ROOT_ID;

/* ---- nodes -------------------------------------------------------------- */

struct timespec floor_now(void)
{
	struct timespec now;

	/* The clock of the kernel's own times. */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now;
}

fuse_ino_t floor_number(struct floor_node *node)
{
	return node == &root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)node;
}

struct floor_node *floor_node(fuse_ino_t ino)
{
	/* The kernel says only what it was told. */
	return ino == FUSE_ROOT_ID ? &root : (struct floor_node *)(uintptr_t)ino;
}

static void node_begin(struct floor_node *node, mode_t mode, uid_t uid, gid_t gid)
{
	struct timespec now = floor_now();

	node->parent = node;
	node->st = (struct stat){
		.st_mode = mode,
		.st_nlink = S_ISDIR(mode) ? 1 : 0, /* its dot */
		.st_uid = uid,
		.st_gid = gid,
		.st_blksize = 4096,
		.st_blocks = S_ISREG(mode) ? 1 : 0,
		.st_atim = now,
		.st_mtim = now,
		.st_ctim = now,
	};
}

void floor_names_begin(void)
{
	node_begin(&root, S_IFDIR | 0755, 0, 0);
	root.st.st_ino = FUSE_ROOT_ID;
	root.st.st_nlink = 2;
}

struct floor_node *floor_node_new(mode_t mode, uid_t uid, gid_t gid)
{
	struct floor_node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node_begin(node, mode, uid, gid);
	node->st.st_ino = ++last_ino;
	return node;
}

void floor_node_drop(struct floor_node *node)
{
	nlink_t own = S_ISDIR(node->st.st_mode) ? 1 : 0;

	if (node == &root || node->lookups || node->st.st_nlink > own)
		return;
	if (S_ISREG(node->st.st_mode))
		floor_data_resize(node, 0);
	free(node->chunks);
	free(node->slots);
	free(node->target);
	free(node);
}

/* ---- the table ---------------------------------------------------------- */

static uint64_t hash_of(const struct floor_node *dir, const char *name)
{
	return XXH3_64bits_withSeed(name, strlen(name), dir->st.st_ino);
}

static struct floor_entry **chain(uint64_t hash)
{
	return &table[hash & (table_size - 1)];
}

/* Twice as large when as many names as chains are in it. */
static int grow_table(void)
{
	struct floor_entry **old = table, *entry;
	size_t old_size = table_size;

	if (table_used < table_size)
		return 0;
	table = calloc(old_size ? old_size * 2 : 1024, sizeof(struct floor_entry *));
	if (!table) {
		table = old;
		return ENOMEM;
	}
	table_size = old_size ? old_size * 2 : 1024;
	for (size_t i = 0; i < old_size; i++) {
		while ((entry = old[i])) {
			old[i] = entry->next;
			entry->next = *chain(entry->hash);
			*chain(entry->hash) = entry;
		}
	}
	free(old);
	return 0;
}

struct floor_entry *floor_find(const struct floor_node *dir, const char *name)
{
	uint64_t hash = hash_of(dir, name);
	struct floor_entry *entry = table_size ? *chain(hash) : NULL;

	while (entry && (entry->hash != hash || entry->dir != dir || strcmp(entry->name, name) != 0))
		entry = entry->next;
	return entry;
}

/* ---- directories -------------------------------------------------------- */

static int reserve_slot(struct floor_node *dir)
{
	size_t room = dir->slots_room ? dir->slots_room * 2 : 8;
	struct floor_entry **slots;

	if (dir->slots_used < dir->slots_room)
		return 0;
	slots = realloc(dir->slots, room * sizeof(struct floor_entry *));
	if (!slots)
		return ENOMEM;
	dir->slots = slots;
	dir->slots_room = room;
	return 0;
}

static void changed(struct floor_node *dir)
{
	dir->st.st_mtim = dir->st.st_ctim = floor_now();
}

int floor_enter(struct floor_node *dir, const char *name, struct floor_node *node)
{
	size_t n = strlen(name) + 1;
	struct floor_entry *entry;

	if (grow_table() || reserve_slot(dir))
		return ENOMEM;
	entry = malloc(sizeof(*entry) + n);
	if (!entry)
		return ENOMEM;
	*entry = (struct floor_entry){ .dir = dir, .node = node, .hash = hash_of(dir, name), .slot = dir->slots_used };
	memcpy(entry->name, name, n);
	entry->next = *chain(entry->hash);
	*chain(entry->hash) = entry;
	table_used++;
	dir->slots[dir->slots_used++] = entry;
	dir->entries++;
	changed(dir);
	node->st.st_nlink++;
	node->st.st_ctim = dir->st.st_ctim;
	if (S_ISDIR(node->st.st_mode)) {
		node->parent = dir;
		dir->st.st_nlink++;
	}
	return 0;
}

void floor_remove(struct floor_entry *entry)
{
	struct floor_node *dir = entry->dir, *node = entry->node;
	struct floor_entry **at = chain(entry->hash);

	while (*at != entry)
		at = &(*at)->next;
	*at = entry->next;
	table_used--;
	dir->slots[entry->slot] = NULL;
	dir->entries--;
	while (dir->slots_used && !dir->slots[dir->slots_used - 1])
		dir->slots_used--;
	free(entry);
	changed(dir);
	node->st.st_nlink--;
	node->st.st_ctim = dir->st.st_ctim;
	if (S_ISDIR(node->st.st_mode)) {
		/* It may have got another name just before. */
		if (node->st.st_nlink < 2)
			node->parent = node;
		dir->st.st_nlink--;
	}
	floor_node_drop(node);
}
