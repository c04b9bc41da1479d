/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "cipher/keys_internal.h"
#include "secret/secret.h"
#include "util/le.h"

static const uint8_t uuid[FC_UUID_BYTES] = "a uuid of 16 by";
static struct fc_keys *keys;
static struct fc_io *io;

static void init(void)
{
	uint8_t master[FC_KEY_BYTES];
	unsigned i;

	for (i = 0; i < sizeof(master); i++)
		master[i] = (uint8_t)i;
	ck_assert_int_eq(fc_secret_init(), 0);
	keys = fc_keys_new(master);
	ck_assert_ptr_nonnull(keys);
	io = fc_io_sim();
}

static void done(void)
{
	fc_keys_free(keys);
	fc_io_close(io);
}

static void check_hex(const uint8_t *bytes, const char *want)
{
	char hex[65];

	ck_assert_str_eq(sodium_bin2hex(hex, sizeof(hex), bytes, 32), want);
}

/* Computed by another implementation of BLAKE2b: master 00..1f, salt 80..9f. */
START_TEST(subkeys_are_those_of_the_format)
{
	uint8_t salt[FC_SALT_BYTES], key[FC_KEY_BYTES];
	unsigned i;

	check_hex(keys->header, "029ab8b1c277faa5ce629a68ee110fe32499d5b21a3020d109f806bddba5b32c");
	check_hex(keys->root, "a1e6c6f9c607e8b89534eb90c2aa5b045432e793087d8dde80df783e97e7fd2a");
	check_hex(keys->salts, "65fa4112a16e424c37895c697feeee9e880a6fc5cf135763a6d491ec5d14cf2a");
	check_hex(keys->names, "335eb7823ffa55978499cd0c8ad4ebd78e6ba7ce5fc5e31d2973821d571fc845");
	for (i = 0; i < sizeof(salt); i++)
		salt[i] = (uint8_t)(0x80 + i);
	fc_keys_derive(keys->master, "node", salt, key);
	check_hex(key, "7323c5475059eaf3a85857d5d8b3e6185b99ba17d5bbbfa6b1df665a098580e1");
	fc_keys_derive(keys->master, "data", salt, key);
	check_hex(key, "0f361e6c6ef63294419f2e5514cd1ade133244f7489f7cfb7861b83d2a4634bf");
	fc_keys_derive(keys->master, "log", salt, key);
	check_hex(key, "116ac83e378906ab9f5ea0451b55360d2dcb6c74728b922b93cea750db60a849");
}
END_TEST

/* ---- sessions ----------------------------------------------------------------- */

static struct fc_sessions *load(struct fc_io *from, uint32_t count)
{
	struct fc_sessions *s;

	ck_assert_int_eq(fc_sessions_load(from, keys, FC_CIPHER_XCHACHA20POLY1305, uuid, count, &s), 0);
	return s;
}

/* What tells a session's key: the tag of nothing. */
static int tag_of(struct fc_sessions *s, uint32_t session, enum fc_purpose purpose, uint8_t tag[FC_TAG_BYTES])
{
	struct fc_aead *aead;
	int rc = fc_sessions_aead(s, session, purpose, &aead);

	ck_assert(rc ? !aead : aead != NULL);
	return rc ? rc : fc_aead_seal(aead, 1, NULL, 0, NULL, 0, NULL, tag);
}

static void start(struct fc_sessions *s, struct fc_io *to, uint32_t want)
{
	uint32_t session = 0;

	ck_assert_int_eq(fc_sessions_start(s, to, &session), 0);
	ck_assert_uint_eq(session, want);
}

static void spoil(struct fc_io *where, uint64_t off)
{
	uint8_t b;

	ck_assert_int_eq(fc_io_read(where, &b, 1, off), 0);
	b ^= 4;
	ck_assert_int_eq(fc_io_write(where, &b, 1, off), 0);
}

/* Three sessions; tags of their node keys. */
static void three(uint8_t tags[3][FC_TAG_BYTES])
{
	struct fc_sessions *s = load(io, 0);
	uint32_t i;

	for (i = 0; i < 3; i++) {
		start(s, io, i + 1);
		ck_assert_int_eq(tag_of(s, i + 1, FC_PURPOSE_NODE, tags[i]), 0);
	}
	fc_sessions_free(s);
}

static void check_three(struct fc_io *from, uint8_t tags[3][FC_TAG_BYTES])
{
	struct fc_sessions *s = load(from, 3);
	uint8_t tag[FC_TAG_BYTES];
	uint32_t i;

	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(tag_of(s, i + 1, FC_PURPOSE_NODE, tag), 0);
		ck_assert_mem_eq(tag, tags[i], FC_TAG_BYTES);
	}
	fc_sessions_free(s);
}

START_TEST(sessions_come_back_with_their_keys)
{
	uint8_t tags[3][FC_TAG_BYTES], tag[FC_TAG_BYTES], other[FC_TAG_BYTES];
	struct fc_aead *a, *b;
	struct fc_sessions *s;

	three(tags);
	check_three(io, tags);
	ck_assert_mem_ne(tags[0], tags[1], FC_TAG_BYTES);
	s = load(io, 2);
	ck_assert_int_eq(tag_of(s, 1, FC_PURPOSE_DATA, tag), 0);
	ck_assert_mem_ne(tag, tags[0], FC_TAG_BYTES);
	ck_assert_int_eq(tag_of(s, 1, FC_PURPOSE_LOG, other), 0);
	ck_assert_mem_ne(tag, other, FC_TAG_BYTES);
	ck_assert_int_eq(tag_of(s, 0, FC_PURPOSE_NODE, tag), FC_EFORGED);
	ck_assert_int_eq(tag_of(s, 3, FC_PURPOSE_NODE, tag), FC_EFORGED);
	ck_assert_int_eq(tag_of(s, UINT32_MAX, FC_PURPOSE_NODE, tag), FC_EFORGED);
	ck_assert_int_eq(fc_sessions_aead(s, 1, FC_PURPOSE_NODE, &a), 0);
	ck_assert_int_eq(fc_sessions_aead(s, 1, FC_PURPOSE_NODE, &b), 0);
	ck_assert_ptr_eq(a, b);
	/* session 3 was never committed: its number gets a fresh salt (R3) */
	start(s, io, 3);
	ck_assert_int_eq(tag_of(s, 3, FC_PURPOSE_NODE, tag), 0);
	ck_assert_mem_ne(tag, tags[2], FC_TAG_BYTES);
	fc_sessions_free(s);
}
END_TEST

START_TEST(a_salt_is_durable_in_a_before_b_is_touched)
{
	struct fc_sessions *s = load(io, 0);
	const struct fc_sim_event *t;
	uint32_t session;
	size_t n;

	fc_io_sim_record(io, true);
	start(s, io, 1);
	t = fc_io_sim_trace(io, &n);
	ck_assert_uint_eq(n, 4);
	ck_assert(t[0].kind == FC_SIM_WRITE && t[0].off == FC_SALTS_A && t[0].bytes == FC_BLOCK);
	ck_assert(t[1].kind == FC_SIM_SYNC && t[3].kind == FC_SIM_SYNC);
	ck_assert(t[2].kind == FC_SIM_WRITE && t[2].off == FC_SALTS_B && t[2].bytes == FC_BLOCK);
	ck_assert_mem_eq(t[0].data, t[2].data, FC_BLOCK);
	/* what failed does not count */
	fc_io_sim_fail(io, FC_SIM_SYNC, 2, FC_EIO, false);
	ck_assert_int_eq(fc_sessions_start(s, io, &session), FC_EIO);
	fc_io_sim_fail(io, FC_SIM_WRITE, 1, FC_ENOSPC, false);
	ck_assert_int_eq(fc_sessions_start(s, io, &session), FC_ENOSPC);
	io->read_only = true;
	ck_assert_int_eq(fc_sessions_start(s, io, &session), FC_EROFS);
	io->read_only = false;
	start(s, io, 2);
	fc_sessions_free(s);
}
END_TEST

START_TEST(either_copy_serves)
{
	uint8_t tags[3][FC_TAG_BYTES], tag[FC_TAG_BYTES];
	struct fc_sessions *s;
	struct fc_io *copy;

	three(tags);
	copy = fc_io_sim_clone(io);
	spoil(copy, FC_SALTS_A + 2000);
	check_three(copy, tags);
	fc_io_sim_fail(copy, FC_SIM_READ, 1, FC_EIO, false);
	s = load(copy, 3);
	ck_assert_int_eq(tag_of(s, 1, FC_PURPOSE_NODE, tag), 0);
	fc_sessions_free(s);
	spoil(copy, FC_SALTS_B + FC_BLOCK - 1);
	s = load(copy, 3);
	ck_assert_int_eq(tag_of(s, 1, FC_PURPOSE_NODE, tag), FC_EFORGED);
	fc_sessions_free(s);
	fc_io_sim_fail(copy, FC_SIM_READ, 2, FC_EIO, false);
	s = load(copy, 3);
	ck_assert_int_eq(tag_of(s, 1, FC_PURPOSE_NODE, tag), FC_EIO);
	fc_sessions_free(s);
	fc_io_close(copy);
	copy = fc_io_sim_clone(io);
	spoil(copy, FC_SALTS_B);
	check_three(copy, tags);
	fc_io_close(copy);
	/* of another container */
	ck_assert_int_eq(
		fc_sessions_load(io, keys, FC_CIPHER_XCHACHA20POLY1305, (const uint8_t *)"another uuid, 16", 3, &s), 0);
	ck_assert_int_eq(tag_of(s, 1, FC_PURPOSE_NODE, tag), FC_EFORGED);
	fc_sessions_free(s);
}
END_TEST

/* An older block put into copy A is passed over for what it lacks. */
START_TEST(an_older_copy_is_not_taken)
{
	uint8_t tags[3][FC_TAG_BYTES], old[FC_BLOCK];
	struct fc_sessions *s = load(io, 0);

	start(s, io, 1);
	ck_assert_int_eq(fc_io_read(io, old, sizeof(old), FC_SALTS_A), 0);
	fc_sessions_free(s);
	three(tags);
	ck_assert_int_eq(fc_io_write(io, old, sizeof(old), FC_SALTS_A), 0);
	check_three(io, tags);
}
END_TEST

/* Any crash during a start, with either copy damaged before: the older sessions
 * are there, and the new one once start has returned. */
static void crash_during_start(int damaged)
{
	uint8_t tags[3][FC_TAG_BYTES];
	struct fc_io *before, *crash;
	const struct fc_sim_event *t;
	struct fc_sessions *s;
	size_t n, last, i;
	uint64_t from, to;

	three(tags);
	if (damaged >= 0)
		spoil(io, damaged ? FC_SALTS_B + 1 : FC_SALTS_A + 1);
	before = fc_io_sim_clone(io);
	s = load(io, 3);
	fc_io_sim_record(io, true);
	start(s, io, 4);
	fc_sessions_free(s);
	t = fc_io_sim_trace(io, &n);
	ck_assert_uint_eq(n, 4);
	ck_assert_uint_eq(t[0].off, damaged == 1 ? FC_SALTS_B : FC_SALTS_A);
	for (last = 0; last < n; last += 2)
		for (from = 0; from < FC_BLOCK; from += 512)
			for (to = from + 512; to <= FC_BLOCK; to += 512) {
				crash = fc_io_sim_clone(before);
				for (i = 0; i < last; i++)
					ck_assert_int_eq(fc_io_sim_apply(crash, &t[i], 0, UINT64_MAX), 0);
				ck_assert_int_eq(fc_io_sim_apply(crash, &t[last], from, to), 0);
				check_three(crash, tags);
				fc_io_close(crash);
			}
	fc_io_close(before);
}

START_TEST(a_torn_start_loses_no_session)
{
	crash_during_start(_i - 1);
}
END_TEST

START_TEST(blocks_of_the_table)
{
	uint8_t tags[FC_SALTS_PER_BLOCK + 3][FC_TAG_BYTES], tag[FC_TAG_BYTES], raw[FC_BLOCK];
	struct fc_sessions *s = load(io, 0);
	uint32_t i, n = FC_SALTS_PER_BLOCK + 3;

	for (i = 0; i < n; i++) {
		start(s, io, i + 1);
		ck_assert_int_eq(tag_of(s, i + 1, FC_PURPOSE_DATA, tags[i]), 0);
	}
	fc_sessions_free(s);
	s = load(io, n);
	for (i = 0; i < n; i++) {
		ck_assert_int_eq(tag_of(s, i + 1, FC_PURPOSE_DATA, tag), 0);
		ck_assert_mem_eq(tag, tags[i], FC_TAG_BYTES);
	}
	fc_sessions_free(s);
	/* exactly one block */
	s = load(io, FC_SALTS_PER_BLOCK);
	ck_assert_int_eq(tag_of(s, FC_SALTS_PER_BLOCK, FC_PURPOSE_DATA, tag), 0);
	ck_assert_int_eq(tag_of(s, FC_SALTS_PER_BLOCK + 1, FC_PURPOSE_DATA, tag), FC_EFORGED);
	fc_sessions_free(s);
	/* a block moved to another's place does not open */
	ck_assert_int_eq(fc_io_read(io, raw, FC_BLOCK, FC_SALTS_A), 0);
	ck_assert_int_eq(fc_io_write(io, raw, FC_BLOCK, FC_SALTS_A + FC_BLOCK), 0);
	ck_assert_int_eq(fc_io_write(io, raw, FC_BLOCK, FC_SALTS_B + FC_BLOCK), 0);
	s = load(io, n);
	ck_assert_int_eq(tag_of(s, FC_SALTS_PER_BLOCK, FC_PURPOSE_DATA, tag), 0);
	ck_assert_int_eq(tag_of(s, FC_SALTS_PER_BLOCK + 1, FC_PURPOSE_DATA, tag), FC_EFORGED);
	/* and what is lost is left alone: the next session is in a new block */
	start(s, io, 2 * FC_SALTS_PER_BLOCK + 1);
	ck_assert_int_eq(fc_io_read(io, raw, FC_BLOCK, FC_SALTS_A + 2 * FC_BLOCK), 0);
	ck_assert(!sodium_is_zero(raw, FC_BLOCK));
	ck_assert_int_eq(tag_of(s, 2 * FC_SALTS_PER_BLOCK, FC_PURPOSE_DATA, tag), FC_EFORGED);
	ck_assert_int_eq(tag_of(s, 2 * FC_SALTS_PER_BLOCK + 1, FC_PURPOSE_DATA, tag), 0);
	fc_sessions_free(s);
}
END_TEST

START_TEST(bounds)
{
	struct fc_sessions *s;
	uint32_t session = 7;

	ck_assert_int_eq(fc_sessions_load(io, keys, FC_CIPHER_AEGIS256, uuid, 0, &s), FC_ENOTSUP);
	ck_assert_ptr_null(s);
	ck_assert_int_eq(fc_sessions_load(io, keys, FC_CIPHER_XCHACHA20POLY1305, uuid, FC_SESSIONS_MAX + 1, &s),
			 FC_ECORRUPT);
	ck_assert_ptr_null(s);
	s = load(io, FC_SESSIONS_MAX);
	ck_assert_int_eq(fc_sessions_start(s, io, &session), FC_ESESSIONS);
	fc_sessions_free(s);
	/* the last block is lost: nowhere to go on */
	s = load(io, FC_SESSIONS_MAX - 1);
	ck_assert_int_eq(fc_sessions_start(s, io, &session), FC_ESESSIONS);
	ck_assert_uint_eq(session, 7);
	fc_sessions_free(s);
	s = load(io, FC_SESSIONS_MAX - FC_SALTS_PER_BLOCK);
	start(s, io, FC_SESSIONS_MAX - FC_SALTS_PER_BLOCK + 1);
	fc_sessions_free(s);
	fc_sessions_free(NULL);
}
END_TEST

/* Contexts are asked for by all threads while sessions start. */
static void *ask(void *arg)
{
	struct fc_sessions *s = arg;
	struct fc_aead *aead, *again;
	uint32_t i;

	for (i = 0; i < 3000; i++)
		if (fc_sessions_aead(s, i % 50 + 1, i % FC_PURPOSES, &aead) ||
		    fc_sessions_aead(s, i % 50 + 1, i % FC_PURPOSES, &again) || aead != again)
			return arg;
	return NULL;
}

START_TEST(threads_share_a_table)
{
	struct fc_sessions *s = load(io, 0);
	pthread_t thread[4];
	uint32_t i;

	for (i = 0; i < 50; i++)
		start(s, io, i + 1);
	for (i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, ask, s), 0);
	for (i = 50; i < 200; i++)
		start(s, io, i + 1);
	for (i = 0; i < 4; i++) {
		void *failed;

		pthread_join(thread[i], &failed);
		ck_assert_ptr_null(failed);
	}
	fc_sessions_free(s);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("keys");
	TCase *tc = tcase_create("keys");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, init, done);
	tcase_add_test(tc, subkeys_are_those_of_the_format);
	tcase_add_test(tc, sessions_come_back_with_their_keys);
	tcase_add_test(tc, a_salt_is_durable_in_a_before_b_is_touched);
	tcase_add_test(tc, either_copy_serves);
	tcase_add_test(tc, an_older_copy_is_not_taken);
	tcase_add_loop_test(tc, a_torn_start_loses_no_session, 0, 3);
	tcase_add_test(tc, blocks_of_the_table);
	tcase_add_test(tc, bounds);
	tcase_add_test(tc, threads_share_a_table);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
