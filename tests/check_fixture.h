/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names_fixture.h, and the checker on what the fs has committed. */
#ifndef FC_TESTS_CHECK_FIXTURE_H
#define FC_TESTS_CHECK_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "fs/dir.h"
#include "fs/state.h"
#include "fs/xattr.h"
#include "fusecrypt/check.h"
#include "model/disk.h"
#include "names_fixture.h"
#include "util/le.h"

#define FINDINGS_MAX 512

/* The last run of the checker. */
static struct fc_check_result result;
static struct {
	enum fc_check_kind kind;
	bool note, repaired;
	uint64_t ino, off, bytes;
	char text[160], path[160]; /* the first path */
	size_t paths;
} found[FINDINGS_MAX];
static size_t founds;
/* What the checker works on; stays when it has closed its io. */
static struct fc_disk disk;

static void take_finding(void *arg, const struct fc_check_finding *one)
{
	(void)arg;
	if (founds == FINDINGS_MAX)
		return;
	found[founds].kind = one->kind;
	found[founds].note = one->note;
	found[founds].repaired = one->repaired;
	found[founds].ino = one->ino;
	found[founds].off = one->offset;
	found[founds].bytes = one->bytes;
	found[founds].paths = one->paths;
	snprintf(found[founds].text, sizeof(found[0].text), "%s", one->text);
	snprintf(found[founds].path, sizeof(found[0].path), "%s", one->paths ? one->path[0] : "");
	founds++;
}

/* Takes a copy of what was committed. */
static inline void take_disk(void)
{
	ok(fc_fs_commit(f.fs));
	fc_disk_free(&disk);
	disk.sim = fc_io_sim_clone(f.io);
	ck_assert_ptr_nonnull(disk.sim);
}

static inline int run_checker(bool repair, struct fc_check_options options)
{
	uint64_t before = fc_io_sim_hash(disk.sim);
	int r;

	founds = 0;
	options.repair = repair;
	options.found = take_finding;
	options.now = fixture_now;
	options.arg = &f;
	options.uid = 1000;
	options.gid = 100;
	r = fc_check(fc_disk_io(&disk, !repair), fixture_master, &options, &result);
	if (!result.changed)
		ck_assert_uint_eq(fc_io_sim_hash(disk.sim), before);
	return r;
}

static inline void checked(void)
{
	ok(run_checker(false, (struct fc_check_options){ 0 }));
	ck_assert(!result.changed);
}

static inline void is_clean(void)
{
	checked();
	for (size_t i = 0; i < founds; i++)
		ck_assert_msg(found[i].note, "found: %s, inode %llu, %s: %s", fc_check_kind_name(found[i].kind),
			      (unsigned long long)found[i].ino, found[i].path, found[i].text);
	ck_assert_uint_eq(result.damages, 0);
}

/* Is there such a finding? part: of its text. */
static inline bool has_found(enum fc_check_kind kind, uint64_t ino, const char *part)
{
	for (size_t i = 0; i < founds; i++)
		if (found[i].kind == kind && found[i].ino == ino && strstr(found[i].text, part))
			return true;
	return false;
}

/* Repairs everything; afterwards it is clean, and the fs of the fixture is one on the repaired disk. */
static inline void repairs(void)
{
	struct fc_check_options options = { 0 };

	ok(run_checker(true, options));
	ck_assert_uint_gt(result.damages, 0);
	ck_assert_uint_eq(result.repaired, result.damages);
	ck_assert(result.changed);
	is_clean();
	fc_fs_abandon(f.fs);
	fixture_mount(&f, fc_io_sim_clone(disk.sim));
}

static inline void teardown_check(void)
{
	fc_disk_free(&disk);
	if (f.fs)
		fc_fs_abandon(f.fs);
}

static inline TCase *check_case(const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, setup, teardown_check);
	tcase_set_timeout(tc, 240);
	return tc;
}

/* ---- damage from within: items as no program of ours writes them ------------------- */

static inline void put_item(struct fc_key key, const void *data, size_t n)
{
	ok(fc_node_cache_reserve(&f.fs->forest.cache, FC_TREE_SPARES));
	ok(fc_tree_put(&f.fs->forest.files, key, data, n));
	f.fs->dirty_root = true;
}

static inline void del_item(struct fc_key key)
{
	ok(fc_node_cache_reserve(&f.fs->forest.cache, FC_TREE_SPARES));
	ok(fc_tree_del(&f.fs->forest.files, key));
	f.fs->dirty_root = true;
}

static inline struct fc_inode inode_of(uint64_t ino)
{
	struct fc_inode inode;

	ok(fc_inode_get(f.fs, ino, &inode));
	return inode;
}

static inline void set_inode(const struct fc_inode *inode)
{
	ok(fc_node_cache_reserve(&f.fs->forest.cache, FC_TREE_SPARES));
	ok(fc_inode_put(f.fs, inode));
	f.fs->dirty_root = true;
}

static inline struct fc_entry entry_of(uint64_t dir, const char *name)
{
	struct fc_bytes bytes = { (const uint8_t *)name, strlen(name) };
	struct fc_entry entry;

	ok(fc_dir_find(f.fs, dir, fc_dir_hash(f.fs, &bytes), &bytes, &entry));
	return entry;
}

static inline void put_entry(uint64_t dir, uint64_t seq, uint64_t ino, uint8_t type, const char *name)
{
	uint8_t raw[300];

	fc_put_u64(raw, ino);
	raw[8] = type;
	memcpy(raw + 9, name, strlen(name));
	put_item(fc_key(dir, FC_KEY_ENTRY, seq), raw, 9 + strlen(name));
}

static inline void fill_bytes(uint8_t *buf, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		buf[i] = (uint8_t)((i * 7 + i / 251) ^ seed);
}

/* Writes n bytes of that seed from off on. */
static inline void write_bytes(uint64_t ino, uint64_t off, size_t n, unsigned seed)
{
	uint8_t *buf = malloc(n);

	fill_bytes(buf, n, seed);
	ok(fc_fs_write(f.fs, ino, off, n, buf, 0));
	free(buf);
}

static inline int read_error(uint64_t ino, uint64_t off, size_t n)
{
	uint8_t *buf = malloc(n);
	size_t got;
	int r = fc_fs_read(f.fs, ino, off, n, buf, &got);

	free(buf);
	return r;
}

/* n bytes from off on are what write_bytes wrote from `from` on. */
static inline void reads(uint64_t ino, uint64_t off, size_t n, uint64_t from, unsigned seed)
{
	uint8_t *want = malloc((size_t)(off - from) + n), *got = malloc(n);
	size_t bytes;

	fill_bytes(want, (size_t)(off - from) + n, seed);
	ok(fc_fs_read(f.fs, ino, off, n, got, &bytes));
	ck_assert_uint_eq(bytes, n);
	ck_assert_mem_eq(got, want + (off - from), n);
	free(want);
	free(got);
}

/* Flips a bit in the block that holds that part of the file. */
static inline void spoil(uint64_t ino, uint64_t file_block)
{
	struct fc_extent e;
	uint8_t byte;
	uint64_t at;

	ok(fc_extent_at(f.fs, ino, file_block, &e));
	ck_assert_uint_le(e.file_block, file_block);
	at = (e.start + (file_block - e.file_block)) * FC_BLOCK + 77;
	ok(fc_io_read(disk.sim, &byte, 1, at));
	byte ^= 16;
	ok(fc_io_write(disk.sim, &byte, 1, at));
}

#endif
