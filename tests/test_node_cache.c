/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache of tree nodes keeps to its limit, also where nothing is written. */
#include <stdio.h>

#include "fs/state.h"
#include "names_fixture.h"

#define LIMIT 64u /* nodes */
#define FILES 12000u

/* A name long enough that some hundred files fill a few nodes. */
static const char *name_of(unsigned i)
{
	static char name[FC_NAME_MAX + 1];

	snprintf(name, sizeof(name), "%0200u", i);
	return name;
}

static void open_small(bool read_only)
{
	struct fc_fs_options options = { .no_threads = true,
					 .now = fixture_now,
					 .arg = &f,
					 .cache_bytes = LIMIT * FC_NODE_BYTES,
					 .read_only = read_only };
	struct fc_io *io;

	ok(fc_fs_commit(f.fs));
	io = fc_io_sim_clone(f.io);
	fc_fs_abandon(f.fs);
	f.io = io;
	ok(fc_fs_open(io, fixture_master, &options, &f.fs));
}

START_TEST(reading_alone_stays_in_the_limit)
{
	struct fc_node_cache *cache;
	size_t most = 0;

	for (unsigned i = 0; i < FILES; i++)
		mkfile(1, name_of(i));
	open_small(_i);
	cache = &f.fs->forest.cache;
	ck_assert_uint_eq(cache->limit, LIMIT);
	for (unsigned i = 0; i < FILES; i++) {
		ck_assert_uint_ne(ino_of(1, name_of(i)), 0);
		most = cache->count > most ? cache->count : most;
	}
	/* an eighth above it, and what one operation needs */
	ck_assert_uint_gt(most, LIMIT);
	ck_assert_uint_le(most, LIMIT + LIMIT / 8 + 8);
}
END_TEST

/* What must stay is not looked at again by each reader. */
START_TEST(dirty_nodes_stay_and_cost_readers_nothing)
{
	struct fc_node_cache *cache;

	open_small(false);
	cache = &f.fs->forest.cache;
	for (unsigned i = 0; i < FILES; i++)
		mkfile(1, name_of(i));
	ck_assert_uint_gt(cache->count, 2 * LIMIT);
	ck_assert_uint_ne(ino_of(1, name_of(0)), 0);
	ck_assert(!fc_node_cache_grown(cache));
	for (unsigned i = 0; i < FILES; i++)
		ck_assert_uint_ne(ino_of(1, name_of(i)), 0);
	ok(fc_fs_commit(f.fs));
	ck_assert_uint_le(cache->count, LIMIT);
}
END_TEST

int main(void)
{
	TCase *tc = names_case("node_cache");

	tcase_add_loop_test(tc, reading_alone_stays_in_the_limit, 0, 2);
	tcase_add_test(tc, dirty_nodes_stay_and_cost_readers_nothing);
	return run_case(tc);
}
