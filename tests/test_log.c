/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cipher/log.h"
#include "secret/secret.h"
#include "util/le.h"

#define RING FC_LOG_MIN
#define MOST (RING - FC_L_PAYLOAD)

static const uint8_t uuid[FC_UUID_BYTES] = "a uuid of 16 by";
static struct fc_keys *keys;
static struct fc_log_place place;
static struct fc_log_head first;
static uint8_t payload[RING + FC_BLOCK]; /* record n holds the bytes from n on */

static void init(void)
{
	static const uint8_t master[FC_KEY_BYTES] = "a master key of 32 bytes, really";
	size_t i;

	ck_assert_int_eq(fc_secret_init(), 0);
	keys = fc_keys_new(master);
	place = (struct fc_log_place){ .io = fc_io_sim(), .offset = FC_LOG_OFFSET, .bytes = RING };
	ck_assert_int_eq(fc_sessions_load(place.io, keys, FC_CIPHER_XCHACHA20POLY1305, uuid, 0, &place.sessions), 0);
	ck_assert_int_eq(fc_sessions_start(place.sessions, place.io, &first.session), 0);
	first.seq = 1;
	for (i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 31 + i / 256);
}

static void done(void)
{
	fc_sessions_free(place.sessions);
	fc_keys_free(keys);
	fc_io_close(place.io);
}

static void append(struct fc_log_head *head, size_t n, uint64_t acked)
{
	ck_assert_int_eq(fc_log_append(&place, head, payload + head->seq, n, acked), 0);
}

/* Reads one record; 0 when it holds what append wrote. */
static int next(struct fc_log_head *head, size_t want_n, uint64_t want_acked)
{
	uint8_t *got;
	uint64_t acked = 0, seq = head->seq;
	size_t n;
	int rc = fc_log_read(&place, head, &got, &n, &acked);

	if (rc) {
		ck_assert_ptr_null(got);
		return rc;
	}
	ck_assert_uint_eq(n, want_n);
	ck_assert(!n || !memcmp(got, payload + seq, n));
	ck_assert_uint_eq(acked, want_acked);
	ck_assert_uint_eq(head->seq, seq + 1);
	free(got);
	return 0;
}

static void spoil(uint64_t pos)
{
	uint8_t b;

	ck_assert_int_eq(fc_io_read(place.io, &b, 1, place.offset + pos), 0);
	b ^= 1;
	ck_assert_int_eq(fc_io_write(place.io, &b, 1, place.offset + pos), 0);
}

START_TEST(bytes_lie_where_the_format_says)
{
	struct fc_log_head head = first;
	uint8_t raw[FC_BLOCK], open[100];
	struct fc_aead *aead;

	memcpy(head.tag, "the tag before it", FC_TAG_BYTES);
	head.seq = 0x0102;
	append(&head, 100, 0x0101);
	ck_assert_int_eq(fc_io_read(place.io, raw, sizeof(raw), FC_LOG_OFFSET), 0);
	ck_assert_mem_eq(raw, "FLOG\1\0\0\0\1\0\0\0\x64\0\0\0\2\1\0\0\0\0\0\0the tag before i\1\1\0\0\0\0\0", 48);
	ck_assert_mem_eq(raw + 48, head.tag, FC_TAG_BYTES);
	ck_assert_int_eq(fc_sessions_aead(place.sessions, 1, FC_PURPOSE_LOG, &aead), 0);
	ck_assert_int_eq(fc_aead_open(aead, 0x0102, raw, 48, raw + 64, 100, open, raw + 48), 0);
	ck_assert_mem_eq(open, payload + 0x0102, 100);
	ck_assert_uint_eq(head.pos, FC_BLOCK);
	ck_assert_uint_eq(head.seq, 0x0103);
}
END_TEST

START_TEST(a_chain_is_read_back)
{
	static const size_t sizes[] = { 0, 1, FC_BLOCK - FC_L_PAYLOAD, FC_BLOCK - FC_L_PAYLOAD + 1, 20000, 4096 };
	struct fc_log_head head = first, at = first;
	size_t i;

	ck_assert_int_eq(next(&at, 0, 0), FC_ENOENT);
	for (i = 0; i < 6; i++)
		append(&head, sizes[i], i);
	ck_assert_uint_eq(head.pos, (1 + 1 + 1 + 2 + 5 + 2) * FC_BLOCK);
	for (i = 0; i < 6; i++)
		ck_assert_int_eq(next(&at, sizes[i], i), 0);
	ck_assert(!memcmp(&at, &head, sizeof(at)));
	ck_assert_int_eq(next(&at, 0, 0), FC_ENOENT);
	ck_assert_int_eq(fc_log_later(&place, &at), 0);
}
END_TEST

START_TEST(the_ring_goes_on_at_its_start)
{
	struct fc_log_head head = first, at;
	unsigned i;

	/* 7 blocks do not divide the ring's 64: every place of the seam */
	for (i = 0; i < 200; i++) {
		at = head;
		append(&head, 7 * FC_BLOCK - 100, i);
		ck_assert_uint_eq(head.pos, (i + 1) * 7 % 64 * FC_BLOCK);
		ck_assert_int_eq(next(&at, 7 * FC_BLOCK - 100, i), 0);
		ck_assert_int_eq(next(&at, 0, 0), FC_ENOENT);
		ck_assert_int_eq(fc_log_later(&place, &at), 0);
	}
	/* the largest, from anywhere */
	at = head;
	append(&head, MOST, 5);
	ck_assert_uint_eq(head.pos, at.pos);
	ck_assert_int_eq(next(&at, MOST, 5), 0);
	at = head;
	ck_assert_int_eq(fc_log_append(&place, &head, payload, MOST + 1, 0), FC_EINVAL);
	ck_assert_int_eq(fc_log_append(&place, &head, payload, SIZE_MAX, 0), FC_EINVAL);
	ck_assert(!memcmp(&at, &head, sizeof(at)));
}
END_TEST

START_TEST(no_flipped_byte_passes)
{
	struct fc_log_head head = first, at;
	size_t i;

	append(&head, 5000, 0);
	for (i = 0; i < FC_L_PAYLOAD + 5000; i += i < 200 ? 1 : 37) {
		spoil(i);
		at = first;
		ck_assert_int_eq(next(&at, 0, 0), FC_ENOENT);
		ck_assert(!memcmp(&at, &first, sizeof(at)));
		ck_assert_int_eq(fc_log_later(&place, &at), 0);
		spoil(i);
	}
	at = first;
	ck_assert_int_eq(next(&at, 5000, 0), 0);
}
END_TEST

START_TEST(damage_is_told_from_a_torn_tail)
{
	struct fc_log_head head = first, at = first, second, third;

	append(&head, 5000, 0);
	second = head;
	append(&head, 6000, 1);
	third = head;
	append(&head, 100, 2);
	/* the last one: torn */
	spoil(third.pos + 100);
	at = third;
	ck_assert_int_eq(next(&at, 0, 0), FC_ENOENT);
	ck_assert_int_eq(fc_log_later(&place, &at), 0);
	spoil(third.pos + 100);
	/* one in between: damaged */
	spoil(second.pos + 5000);
	at = first;
	ck_assert_int_eq(next(&at, 5000, 0), 0);
	ck_assert_int_eq(next(&at, 0, 0), FC_ENOENT);
	ck_assert_int_eq(fc_log_later(&place, &at), 1);
	/* also when it is gone altogether, and when the later one lies before it in the ring */
	ck_assert_int_eq(fc_io_punch(place.io, place.offset + second.pos, 2 * FC_BLOCK), 0);
	ck_assert_int_eq(fc_log_later(&place, &at), 1);
	head.pos = 0;
	append(&head, 100, 3);
	ck_assert_int_eq(fc_io_punch(place.io, place.offset + third.pos, FC_BLOCK), 0);
	ck_assert_int_eq(fc_log_later(&place, &at), 1);
	at.seq = head.seq;
	ck_assert_int_eq(fc_log_later(&place, &at), 0);
}
END_TEST

START_TEST(records_of_another_chain_do_not_count)
{
	struct fc_log_head head = first, at, other = first;
	uint8_t old[2 * FC_BLOCK];

	append(&head, 100, 0);
	append(&head, 100, 0);
	/* the same session number, another salt */
	fc_sessions_free(place.sessions);
	ck_assert_int_eq(fc_sessions_load(place.io, keys, FC_CIPHER_XCHACHA20POLY1305, uuid, 0, &place.sessions), 0);
	ck_assert_int_eq(fc_sessions_start(place.sessions, place.io, &other.session), 0);
	ck_assert_uint_eq(other.session, first.session);
	ck_assert_int_eq(next(&other, 0, 0), FC_ENOENT);
	ck_assert_int_eq(fc_log_later(&place, &other), 0);
	/* another session */
	ck_assert_int_eq(fc_sessions_start(place.sessions, place.io, &head.session), 0);
	head = (struct fc_log_head){ .session = 2, .seq = 5 };
	append(&head, 100, 0);
	append(&head, 100, 0);
	ck_assert_int_eq(next(&other, 0, 0), FC_ENOENT);
	ck_assert_int_eq(fc_log_later(&place, &other), 0);
	at = (struct fc_log_head){ .session = 2, .seq = 5 };
	ck_assert_int_eq(next(&at, 100, 0), 0);
	/* a record put where it does not belong: its predecessor differs */
	ck_assert_int_eq(fc_io_read(place.io, old, sizeof(old), place.offset), 0);
	at.pos = 0;
	ck_assert_int_eq(fc_io_write(place.io, old + FC_BLOCK, FC_BLOCK, place.offset), 0);
	ck_assert_int_eq(next(&at, 100, 0), 0);
	at = (struct fc_log_head){ .session = 2, .seq = 6, .tag = "something else" };
	ck_assert_int_eq(next(&at, 100, 0), FC_ENOENT);
}
END_TEST

START_TEST(a_missing_session_or_place_is_an_error)
{
	struct fc_log_head head = first, at = first;
	struct fc_log_place bad = place;
	uint8_t *got;
	size_t n;

	append(&head, 100, 0);
	at.session = 9;
	ck_assert_int_eq(next(&at, 100, 0), FC_EFORGED);
	ck_assert_int_eq(fc_log_later(&place, &at), FC_EFORGED);
	at = first;
	at.pos = RING;
	ck_assert_int_eq(next(&at, 100, 0), FC_ECORRUPT);
	ck_assert_int_eq(fc_log_later(&place, &at), FC_ECORRUPT);
	at.pos = 1;
	ck_assert_int_eq(next(&at, 100, 0), FC_ECORRUPT);
	ck_assert_int_eq(fc_log_append(&place, &at, payload, 1, 0), FC_EINVAL);
	at = first;
	bad.bytes = 0;
	ck_assert_int_eq(fc_log_read(&bad, &at, &got, &n, NULL), FC_ECORRUPT);
	fc_io_sim_fail(place.io, FC_SIM_READ, 1, FC_EIO, true);
	ck_assert_int_eq(next(&at, 100, 0), FC_EIO);
	ck_assert_int_eq(fc_log_later(&place, &at), FC_EIO);
	fc_io_sim_fail(place.io, FC_SIM_READ, 0, 0, false);
	ck_assert_int_eq(fc_log_read(&place, &at, &got, &n, NULL), 0);
	free(got);
	/* a failed append consumes its nonce */
	fc_io_sim_fail(place.io, FC_SIM_WRITE, 1, FC_ENOSPC, false);
	at = head;
	ck_assert_int_eq(fc_log_append(&place, &head, payload, 1, 0), FC_ENOSPC);
	ck_assert_uint_eq(head.seq, at.seq + 1);
}
END_TEST

/* Header fields are anyone's: sizes beyond the ring, or that do not fit together. */
START_TEST(hostile_sizes_are_refused)
{
	static const uint32_t sizes[][2] = { /* blocks, bytes */
					     { 0, 0 },
					     { 0, UINT32_MAX },
					     { UINT32_MAX, UINT32_MAX },
					     { 1, UINT32_MAX },
					     { 1, FC_BLOCK },
					     { 2, 100 },
					     { RING / FC_BLOCK + 1, RING },
					     { (UINT32_C(1) << 20) + 1, UINT32_MAX - 63 }
	};
	struct fc_log_head head = first, at;
	uint8_t raw[FC_BLOCK];
	size_t i;

	append(&head, 100, 0);
	ck_assert_int_eq(fc_io_read(place.io, raw, FC_BLOCK, place.offset), 0);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fc_put_u32(raw + FC_L_BLOCKS, sizes[i][0]);
		fc_put_u32(raw + FC_L_BYTES, sizes[i][1]);
		ck_assert_int_eq(fc_io_write(place.io, raw, FC_BLOCK, place.offset), 0);
		at = first;
		ck_assert_int_eq(next(&at, 0, 0), FC_ENOENT);
		at.seq = 0;
		ck_assert_int_eq(fc_log_later(&place, &at), 0);
	}
}
END_TEST

/* Nor do they fit when the tag is right: the length of a record is what its bytes take. */
START_TEST(a_sealed_record_of_the_wrong_length_is_refused)
{
	struct fc_log_head head = first, at = first;
	uint8_t raw[FC_BLOCK];
	struct fc_aead *aead;
	uint32_t blocks;

	append(&head, 100, 0);
	ck_assert_int_eq(fc_sessions_aead(place.sessions, 1, FC_PURPOSE_LOG, &aead), 0);
	ck_assert_int_eq(fc_io_read(place.io, raw, FC_BLOCK, place.offset), 0);
	for (blocks = 0; blocks < 4; blocks++) {
		fc_put_u32(raw + FC_L_BLOCKS, blocks);
		ck_assert_int_eq(
			fc_aead_seal(aead, 1, raw, FC_L_TAG, payload + 1, 100, raw + FC_L_PAYLOAD, raw + FC_L_TAG), 0);
		ck_assert_int_eq(fc_io_write(place.io, raw, FC_BLOCK, place.offset), 0);
		at = first;
		ck_assert_int_eq(next(&at, 100, 0), blocks == 1 ? 0 : FC_ENOENT);
	}
}
END_TEST

/* Every block of a large ring says that it begins a record as large as the ring. */
START_TEST(a_ring_of_decoys_is_bounded)
{
	uint8_t raw[FC_L_PAYLOAD] = { 0 };
	struct fc_log_head at = first;
	struct timespec from, to;
	uint64_t pos;

	place.bytes = FC_LOG_DEFAULT;
	fc_put_u32(raw + FC_L_MAGIC, FC_LOG_MAGIC);
	fc_put_u32(raw + FC_L_BLOCKS, FC_LOG_DEFAULT / FC_BLOCK);
	fc_put_u32(raw + FC_L_BYTES, FC_LOG_DEFAULT - FC_L_PAYLOAD);
	fc_put_u32(raw + FC_L_SESSION, first.session);
	fc_put_u64(raw + FC_L_SEQ, 100);
	for (pos = 0; pos < place.bytes; pos += FC_BLOCK)
		ck_assert_int_eq(fc_io_write(place.io, raw, sizeof(raw), place.offset + pos), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	ck_assert_int_eq(fc_log_later(&place, &at), 1);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	ck_assert_int_lt(to.tv_sec - from.tv_sec, 20);
	/* decoys of their own size are opened, and none of them opens */
	fc_put_u32(raw + FC_L_BLOCKS, 1);
	fc_put_u32(raw + FC_L_BYTES, 4000);
	for (pos = 0; pos < place.bytes; pos += FC_BLOCK)
		ck_assert_int_eq(fc_io_write(place.io, raw, sizeof(raw), place.offset + pos), 0);
	ck_assert_int_eq(fc_log_later(&place, &at), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tc = tcase_create("log");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, init, done);
	tcase_add_test(tc, bytes_lie_where_the_format_says);
	tcase_add_test(tc, a_chain_is_read_back);
	tcase_add_test(tc, the_ring_goes_on_at_its_start);
	tcase_add_test(tc, no_flipped_byte_passes);
	tcase_add_test(tc, damage_is_told_from_a_torn_tail);
	tcase_add_test(tc, records_of_another_chain_do_not_count);
	tcase_add_test(tc, a_missing_session_or_place_is_an_error);
	tcase_add_test(tc, hostile_sizes_are_refused);
	tcase_add_test(tc, a_sealed_record_of_the_wrong_length_is_refused);
	tcase_add_test(tc, a_ring_of_decoys_is_bounded);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
