/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The checker against containers by someone who has the key: bytes of tree nodes are
 * changed at random and sealed anew, with all that leads to them. Whatever they say,
 * the checker ends, and what it has repaired is sound.
 *
 *     test_check_forged [CONTAINERS [SEED [ONLY]]]
 */
#include <sys/stat.h>

#include "check_fixture.h"
#include "tree/node.h"

static unsigned containers = 150, only = UINT32_MAX;
static uint64_t state = 1;
static struct fc_fs *forger; /* an fs on the disk, for its keys */

static uint64_t below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

/* ---- a container with a bit of everything ------------------------------------------ */

static void make_container(void)
{
	uint8_t value[5000];
	uint64_t done;

	fill_bytes(value, sizeof(value), 1);
	for (unsigned i = 0; i < 60; i++) {
		char name[16];
		uint64_t dir, ino;

		snprintf(name, sizeof(name), "dir-%u", i % 6);
		dir = ino_of(1, name);
		if (!dir)
			dir = mkdir_(1, name);
		snprintf(name, sizeof(name), "file-%u", i);
		ino = mkfile(dir, name);
		write_bytes(ino, 0, i % 4 ? 700 : 20000, i);
		if (i % 9 == 1)
			ok(fc_fs_setxattr(f.fs, ino, "user.a", value, i % 2 ? 10 : 5000, 0, false));
		if (i % 7 == 3)
			ok(fc_fs_link(f.fs, ino, 1, name, &a));
		if (i % 10 == 4)
			(void)fc_fs_symlink(f.fs, dir, "link", &fixture_cred, "to", &a);
		if (i % 8 == 4) {
			uint64_t copy = mkfile(1, "copy");

			ok(fc_fs_copy(f.fs, ino, 0, copy, 0, 20000, &done));
			ok(fc_fs_unlink(f.fs, 1, "copy"));
			if (i == 12)
				ok(fc_fs_link(f.fs, copy, 1, "kept", &a));
		}
	}
	ok(fc_fs_commit(f.fs));
}

/* ---- forging ------------------------------------------------------------------------ */

/* False: it was forged so that nothing is there. */
static bool open_node(const struct fc_ptr *ptr, uint8_t *raw)
{
	struct fc_aead *aead;

	return !fc_sessions_aead(forger->sessions, ptr->session, FC_PURPOSE_NODE, &aead) &&
	       !fc_io_read(disk.sim, raw, FC_NODE_BYTES, ptr->block * FC_BLOCK) &&
	       !fc_aead_open(aead, ptr->nonce, NULL, 0, raw, FC_NODE_BYTES, raw, ptr->tag) &&
	       !fc_node_check(raw, raw[FC_N_TREE], ptr->level) && fc_node_count(raw);
}

/* In its place; *ptr becomes what leads to it now. */
static void seal_node(struct fc_ptr *ptr, uint8_t *raw)
{
	static uint64_t nonce = 1ull << 40;
	uint8_t sealed[FC_NODE_BYTES];
	struct fc_aead *aead;

	ok(fc_sessions_aead(forger->sessions, ptr->session, FC_PURPOSE_NODE, &aead));
	ptr->nonce = nonce++;
	ok(fc_aead_seal(aead, ptr->nonce, NULL, 0, raw, FC_NODE_BYTES, sealed, ptr->tag));
	ok(fc_io_write(disk.sim, sealed, FC_NODE_BYTES, ptr->block * FC_BLOCK));
}

static void change_bytes(uint8_t *raw, unsigned n)
{
	while (n--)
		raw[below(2) ? below(FC_NODE_BYTES) : below(600)] = (uint8_t)below(256);
}

/* One slot or value: the node stays well-formed more often. */
static void change_item(uint8_t *raw)
{
	unsigned at = (unsigned)below(fc_node_count(raw));
	struct fc_key key = fc_node_key(raw, at);
	uint16_t bytes;
	uint8_t *value = fc_node_value(raw, at, &bytes);
	static const uint64_t odd[] = { 0,    1,    2,          16,         17,         63,        64,
					1024, 4096, 1ull << 31, 1ull << 32, 1ull << 51, INT64_MAX, UINT64_MAX };

	switch (below(5)) {
	case 0:
		key.off = odd[below(sizeof(odd) / sizeof(odd[0]))];
		fc_node_set_key(raw, at, key);
		break;
	case 1:
		key.type = (uint8_t)below(12);
		fc_node_set_key(raw, at, key);
		break;
	case 2:
		key.ino = below(2) ? odd[below(sizeof(odd) / sizeof(odd[0]))] : key.ino + below(3);
		fc_node_set_key(raw, at, key);
		break;
	case 3:
		if (bytes >= 8)
			fc_put_u64(value + below(bytes - 7u), odd[below(sizeof(odd) / sizeof(odd[0]))]);
		break;
	default:
		if (bytes)
			value[below(bytes)] = (uint8_t)below(256);
	}
}

/* A node on a random way down from ptr, which is updated. */
static void forge_below(struct fc_ptr *ptr)
{
	uint8_t raw[FC_NODE_BYTES];

	if (!open_node(ptr, raw))
		return;
	if (ptr->level && below(8)) {
		unsigned at = (unsigned)below(fc_node_count(raw));
		struct fc_ptr child;

		fc_ptr_decode(&child, fc_node_value(raw, at, NULL));
		forge_below(&child);
		fc_ptr_encode(&child, fc_node_value(raw, at, NULL));
	} else if (below(6)) {
		change_item(raw);
	} else {
		change_bytes(raw, 1 + (unsigned)below(4));
	}
	seal_node(ptr, raw);
}

static void forge(void)
{
	struct fc_root root = forger->root;
	uint8_t tag[FC_TAG_BYTES];
	unsigned i, n = 1 + (unsigned)below(5);

	for (i = 0; i < n; i++)
		forge_below(below(6) ? &root.file_tree : &root.space_tree);
	if (!below(4))
		root.inodes = below(1000);
	if (!below(8))
		root.chunks = below(1u << 20);
	if (!below(8))
		root.shared = below(5);
	ok(fc_root_write(disk.sim, forger->keys, forger->uuid, forger->root_slot, &root, tag));
}

/* ---- trying ----------------------------------------------------------------------------- */

static int count_name(void *arg, const char *name, uint64_t ino, uint32_t type, uint64_t next,
		      const struct fc_attr *attr)
{
	(void)name;
	(void)ino;
	(void)type;
	(void)attr;
	*(uint64_t *)arg = next;
	return 0;
}

/* Everything below a directory is looked at; errors are none of a sound container. */
static void look(uint64_t ino, unsigned depth)
{
	uint64_t next = 0, before;

	do {
		before = next;
		ok(fc_fs_readdir(f.fs, ino, next, false, count_name, &next));
	} while (next != before);
	ck_assert_uint_lt(depth, 50);
}

static void print_findings(void)
{
	for (size_t i = 0; i < founds; i++)
		printf("%s, inode %llu, %s: %s\n", fc_check_kind_name(found[i].kind), (unsigned long long)found[i].ino,
		       found[i].path, found[i].text);
}

static void judge(unsigned number)
{
	int r = run_checker(false, (struct fc_check_options){ 0 });

	ck_assert_msg(r == 0 || r == FC_EFORGED || r == FC_ECORRUPT, "container %u: the check gave %d", number, r);
	if (r)
		return;
	if (only == number)
		print_findings();
	r = run_checker(true, (struct fc_check_options){ .accept_older = true });
	ck_assert_msg(r == 0 || r == FC_EFORGED, "container %u: the repair gave %d", number, r);
	if (r)
		return;
	checked();
	if (result.damages)
		print_findings();
	ck_assert_msg(!result.damages, "container %u: it was repaired, but is not clean", number);
	fixture_mount(&f, fc_io_sim_clone(disk.sim));
	look(1, 0);
	ck_assert_uint_ne(mkfile(1, "new"), 0);
	write_bytes(a.ino, 0, 300000, 5);
	take_disk();
	is_clean();
	fc_fs_abandon(f.fs);
	f.fs = NULL;
}

START_TEST(whatever_a_forger_writes_is_survived)
{
	struct fc_io *sound;
	unsigned i;

	make_container();
	take_disk();
	is_clean();
	sound = fc_io_sim_clone(f.io);
	forger = f.fs;
	for (i = 0; i < containers; i++) {
		fc_disk_free(&disk);
		disk.sim = fc_io_sim_clone(sound);
		forge();
		if (only == UINT32_MAX || only == i)
			judge(i);
	}
	fc_io_close(sound);
	f.fs = forger;
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tc = check_case("check_forged");

	if (argc > 1)
		containers = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		state = strtoull(argv[2], NULL, 10) * 2 + 1;
	if (argc > 3)
		only = (unsigned)strtoul(argv[3], NULL, 10);
	tcase_set_timeout(tc, 36000);
	tcase_add_test(tc, whatever_a_forger_writes_is_survived);
	return run_case(tc);
}
