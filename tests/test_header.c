/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "store/header.h"
#include "util/le.h"

static const uint8_t key[FC_KEY_BYTES] = "a key of 32 bytes for the header";

static struct fc_header sample(void)
{
	struct fc_header h = { .version = 1,
			       .cipher = FC_CIPHER_AES256GCM,
			       .key_epoch = 3,
			       .sequence = 7,
			       .compat = 0x8000000000000001,
			       .ro_compat = 5,
			       .uuid = "0123456789abcdef",
			       .log_offset = FC_LOG_OFFSET,
			       .log_bytes = FC_LOG_DEFAULT,
			       .data_offset = 20u << 20,
			       .created = 1700000000 };
	struct fc_slot *s = &h.slots[2];

	s->used = true;
	s->kind = FC_SLOT_KIND_PASSPHRASE;
	s->kdf = FC_KDF_ARGON2ID13;
	s->ops = 4;
	s->mem = UINT64_C(1) << 30;
	s->epoch = 3;
	s->created = 1700000001;
	memset(s->salt, 0xa1, sizeof(s->salt));
	memset(s->nonce, 0xa2, sizeof(s->nonce));
	memset(s->wrapped, 0xa3, sizeof(s->wrapped));
	memset(s->commitment, 0xa4, sizeof(s->commitment));
	strcpy(s->label, "h\xc3\xa4user");
	s->extra_bytes = FC_SLOT_EXTRA_MAX;
	memset(s->extra, 0xa5, sizeof(s->extra));
	h.slots[15] = (struct fc_slot){ .used = true, .kind = 99, .kdf = 77 };
	memset(h.slots[15].label, 'x', FC_LABEL_BYTES);
	return h;
}

/* Makes the sum right again after a change. */
static void resum(uint8_t *raw)
{
	fc_put_u64(raw + FC_H_SUM, 0);
	fc_put_u64(raw + FC_H_SUM, XXH3_64bits(raw, FC_HEADER_BYTES));
}

START_TEST(bytes_lie_where_the_format_says)
{
	static uint8_t raw[FC_HEADER_BYTES], again[FC_HEADER_BYTES];
	const uint8_t *slot = raw + 4096 + 2 * 1024;
	struct fc_header h = sample();
	uint8_t mac[32];

	fc_header_encode(&h, FC_HEADER_B, key, raw);
	ck_assert_mem_eq(raw,
			 "\x89"
			 "FCRYPT\n"
			 "\1\0\0\0"
			 "\0\x50\0\0"
			 "\0\0\2\0\0\0\0\0"
			 "\7\0\0\0\0\0\0\0"
			 "\1\0\0\0\0\0\0\x80"
			 "\0\0\0\0\0\0\0\0"
			 "\5\0\0\0\0\0\0\0"
			 "0123456789abcdef"
			 "\2\0\0\0"
			 "\0\x10\0\0"
			 "\0\x40\0\0"
			 "\3\0\0\0"
			 "\0\0\x40\0\0\0\0\0"
			 "\0\0\0\1\0\0\0\0"
			 "\0\0\x40\1\0\0\0\0"
			 "\0\xf1\x53\x65\0\0\0\0",
			 120);
	ck_assert_mem_eq(slot, "\1\0\0\0\1\0\0\0\1\xf1\x53\x65\0\0\0\0\1\0\0\0\4\0\0\0\0\0\0\x40\0\0\0\0", 32);
	ck_assert_uint_eq(slot[32], 0xa1);
	ck_assert_uint_eq(slot[63], 0xa1);
	ck_assert_uint_eq(slot[64], 0xa2);
	ck_assert_uint_eq(slot[87], 0xa2);
	ck_assert_uint_eq(slot[88], 0xa3);
	ck_assert_uint_eq(slot[135], 0xa3);
	ck_assert_uint_eq(slot[136], 0xa4);
	ck_assert_uint_eq(slot[167], 0xa4);
	ck_assert_mem_eq(slot + 168, "\3\0\0\0h\xc3\xa4user\0", 12);
	ck_assert_mem_eq(slot + 236, "\x10\3\0\0\xa5", 5);
	ck_assert_uint_eq(slot[1023], 0xa5);
	ck_assert(sodium_is_zero(raw + 4096, 2048));

	/* MAC over all with MAC and sum as zero, sum over all with the sum as zero */
	memcpy(again, raw, sizeof(raw));
	memset(again + 4032, 0, 32);
	memset(again + 4088, 0, 8);
	crypto_generichash(mac, 32, again, sizeof(again), key, 32);
	ck_assert_mem_eq(mac, raw + 4032, 32);
	memcpy(again + 4032, mac, 32);
	ck_assert_uint_eq(XXH3_64bits(again, sizeof(again)), fc_get_u64(raw + 4088));
	ck_assert_int_eq(fc_header_verify(raw, key), 0);
}
END_TEST

START_TEST(what_is_encoded_decodes)
{
	static uint8_t raw[FC_HEADER_BYTES], again[FC_HEADER_BYTES];
	struct fc_header h = sample(), got;

	fc_header_encode(&h, FC_HEADER_A, key, raw);
	ck_assert_int_eq(fc_header_decode(&got, FC_HEADER_A, raw), 0);
	ck_assert_uint_eq(got.sequence, 7);
	ck_assert_uint_eq(got.compat, h.compat);
	ck_assert_uint_eq(got.ro_compat, 5);
	ck_assert_uint_eq(got.log_bytes, h.log_bytes);
	ck_assert_mem_eq(&got.uuid, &h.uuid, sizeof(h.uuid));
	ck_assert_str_eq(got.slots[2].label, "h\xc3\xa4user");
	ck_assert_uint_eq(got.slots[2].extra_bytes, FC_SLOT_EXTRA_MAX);
	ck_assert_uint_eq(strlen(got.slots[15].label), FC_LABEL_BYTES);
	ck_assert_uint_eq(got.slots[15].kind, 99);
	ck_assert(!got.slots[0].used && got.slots[2].used && got.slots[15].used);
	fc_header_encode(&got, FC_HEADER_A, key, again);
	ck_assert_mem_eq(raw, again, sizeof(raw));
}
END_TEST

START_TEST(no_flipped_byte_passes)
{
	static uint8_t raw[FC_HEADER_BYTES];
	struct fc_header h = sample(), got;
	size_t i;

	fc_header_encode(&h, FC_HEADER_A, key, raw);
	for (i = 0; i < sizeof(raw); i += i < 4200 ? 1 : 7) {
		int want = i < 8 ? FC_ENOTCONTAINER : i < 12 ? FC_ENEWER : FC_ECORRUPT;

		raw[i] ^= 0x20;
		ck_assert_int_eq(fc_header_decode(&got, FC_HEADER_A, raw), want);
		resum(raw);
		if (i < FC_H_SUM || i >= FC_H_SUM + 8)
			ck_assert_int_eq(fc_header_verify(raw, key), FC_EFORGED);
		raw[i] ^= 0x20;
		resum(raw);
	}
	ck_assert_int_eq(fc_header_decode(&got, FC_HEADER_A, raw), 0);
	ck_assert_int_eq(fc_header_verify(raw, key), 0);
	ck_assert_int_eq(fc_header_verify(raw, (const uint8_t *)"another key of 32 bytes for that"), FC_EFORGED);
	ck_assert_int_eq(fc_header_decode(&got, FC_HEADER_B, raw), FC_ECORRUPT);
	memset(raw, 0, sizeof(raw));
	ck_assert_int_eq(fc_header_decode(&got, FC_HEADER_A, raw), FC_ENOTCONTAINER);
}
END_TEST

/* A hostile header has a right sum. */
START_TEST(every_bound_is_checked)
{
	static const size_t slot = FC_HEADER_FIXED + 2 * FC_SLOT_BYTES;
	const struct {
		size_t at, bytes;
		uint64_t value;
		int want;
	} cases[] = {
		{ FC_H_VERSION, 4, 0, FC_ECORRUPT },
		{ FC_H_VERSION, 4, 2, FC_ENEWER },
		{ FC_H_BYTES, 4, FC_HEADER_BYTES + 1, FC_ECORRUPT },
		{ FC_H_BYTES, 4, UINT32_MAX, FC_ECORRUPT },
		{ FC_H_OFFSET, 8, FC_HEADER_B, FC_ECORRUPT },
		{ FC_H_INCOMPAT, 8, FC_INCOMPAT_REKEYED, 0 },
		{ FC_H_OLD_KEY, 1, 1, FC_ECORRUPT }, /* without its feature bit */
		{ FC_H_INCOMPAT, 8, 2, FC_ENEWER },
		{ FC_H_INCOMPAT, 8, UINT64_C(1) << 63, FC_ENEWER },
		{ FC_H_RO_COMPAT, 8, UINT64_MAX, 0 },
		{ FC_H_COMPAT, 8, UINT64_MAX, 0 },
		{ FC_H_CIPHER, 4, 0, FC_ECORRUPT },
		{ FC_H_CIPHER, 4, FC_CIPHER_AEGIS256, 0 },
		{ FC_H_CIPHER, 4, 5, FC_ENEWER },
		{ FC_H_UNIT_BYTES, 4, 0, FC_ECORRUPT },
		{ FC_H_UNIT_BYTES, 4, 8192, FC_ECORRUPT },
		{ FC_H_NODE_BYTES, 4, 4096, FC_ECORRUPT },
		{ FC_H_KEY_EPOCH, 4, 0, FC_ECORRUPT },
		{ FC_H_LOG_OFFSET, 8, 0, FC_ECORRUPT },
		{ FC_H_LOG_OFFSET, 8, UINT64_MAX - 4095, FC_ECORRUPT },
		{ FC_H_LOG_BYTES, 8, 0, FC_ECORRUPT },
		{ FC_H_LOG_BYTES, 8, FC_LOG_MIN - FC_LOG_ALIGN, FC_ECORRUPT },
		{ FC_H_LOG_BYTES, 8, FC_LOG_DEFAULT + 4096, FC_ECORRUPT },
		{ FC_H_LOG_BYTES, 8, FC_LOG_DEFAULT - 4096, FC_ECORRUPT },
		{ FC_H_LOG_BYTES, 8, FC_LOG_DEFAULT - FC_LOG_ALIGN, 0 }, /* the same chunk */
		{ FC_H_LOG_BYTES, 8, UINT64_MAX - FC_LOG_ALIGN + 1, FC_ECORRUPT },
		{ FC_H_LOG_BYTES, 8, FC_LOG_MAX + FC_LOG_ALIGN, FC_ECORRUPT },
		{ FC_H_DATA_OFFSET, 8, FC_LOG_OFFSET, FC_ECORRUPT },
		{ FC_H_DATA_OFFSET, 8, (20 << 20) + 4096, FC_ECORRUPT },
		{ FC_H_DATA_OFFSET, 8, 24 << 20, FC_ECORRUPT },
		{ slot + FC_S_STATE, 4, 2, FC_ECORRUPT },
		{ slot + FC_S_KIND, 4, UINT32_MAX, 0 },
		{ slot + FC_S_KDF, 4, UINT32_MAX, 0 },
		{ slot + FC_S_EXTRA_BYTES, 4, FC_SLOT_EXTRA_MAX + 1, FC_ECORRUPT },
		{ slot + FC_S_EXTRA_BYTES, 4, UINT32_MAX, FC_ECORRUPT },
		{ slot + FC_S_LABEL + 63, 1, 'x', FC_ECORRUPT },
	};
	static uint8_t raw[FC_HEADER_BYTES];
	struct fc_header h = sample(), got;
	uint8_t value[8];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fc_header_encode(&h, FC_HEADER_A, key, raw);
		fc_put_u64(value, cases[i].value);
		memcpy(raw + cases[i].at, value, cases[i].bytes);
		resum(raw);
		ck_assert_msg(fc_header_decode(&got, FC_HEADER_A, raw) == cases[i].want, "case %zu", i);
	}
}
END_TEST

START_TEST(log_sizes_and_the_start_of_data)
{
	static const uint64_t sizes[][2] = {
		{ FC_LOG_MIN, 8u << 20 },      { 4u << 20, 8u << 20 },      { (4u << 20) + FC_LOG_ALIGN, 12u << 20 },
		{ FC_LOG_DEFAULT, 20u << 20 }, { FC_LOG_MAX, 1028u << 20 },
	};
	static uint8_t raw[FC_HEADER_BYTES];
	struct fc_header h = sample(), got;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ck_assert_uint_eq(fc_header_data_offset(sizes[i][0]), sizes[i][1]);
		h.log_bytes = sizes[i][0];
		h.data_offset = sizes[i][1];
		fc_header_encode(&h, FC_HEADER_A, key, raw);
		ck_assert_int_eq(fc_header_decode(&got, FC_HEADER_A, raw), 0);
	}
	h.log_bytes = FC_LOG_MAX + FC_LOG_ALIGN;
	h.data_offset = fc_header_data_offset(h.log_bytes);
	fc_header_encode(&h, FC_HEADER_A, key, raw);
	ck_assert_int_eq(fc_header_decode(&got, FC_HEADER_A, raw), FC_ECORRUPT);
}
END_TEST

/* ---- on an io -------------------------------------------------------------- */

static struct fc_headers found;

static void spoil(struct fc_io *io, uint64_t off)
{
	uint8_t b;

	ck_assert_int_eq(fc_io_read(io, &b, 1, off), 0);
	b ^= 1;
	ck_assert_int_eq(fc_io_write(io, &b, 1, off), 0);
}

START_TEST(either_copy_serves)
{
	struct fc_header h = sample();
	struct fc_io *io = fc_io_sim();

	ck_assert_int_eq(fc_headers_load(io, &found), FC_ENOTCONTAINER);
	ck_assert_int_eq(fc_header_store(io, &h, key), 0);
	ck_assert_int_eq(fc_headers_load(io, &found), 0);
	ck_assert_int_eq(found.newest, 0);
	ck_assert(!found.status[0] && !found.status[1]);
	ck_assert_int_eq(fc_header_verify(found.raw[0], key), 0);
	ck_assert_int_eq(fc_header_verify(found.raw[1], key), 0);
	spoil(io, FC_HEADER_A + 500);
	ck_assert_int_eq(fc_headers_load(io, &found), 0);
	ck_assert_int_eq(found.newest, 1);
	ck_assert_int_eq(found.status[0], FC_ECORRUPT);
	ck_assert_uint_eq(found.copy[1].sequence, 7);
	spoil(io, FC_HEADER_B + FC_H_VERSION + 1);
	ck_assert_int_eq(fc_headers_load(io, &found), FC_ENEWER);
	spoil(io, FC_HEADER_B);
	ck_assert_int_eq(fc_headers_load(io, &found), FC_ECORRUPT);
	ck_assert_int_eq(found.newest, -1);
	spoil(io, FC_HEADER_A);
	ck_assert_int_eq(fc_headers_load(io, &found), FC_ENOTCONTAINER);
	fc_io_sim_fail(io, FC_SIM_READ, 1, FC_EIO, false);
	ck_assert_int_eq(fc_headers_load(io, &found), FC_EIO);
	fc_io_close(io);
}
END_TEST

START_TEST(the_higher_sequence_is_newest)
{
	struct fc_header h = sample();
	struct fc_io *io = fc_io_sim();
	static uint8_t raw[FC_HEADER_BYTES];

	ck_assert_int_eq(fc_header_store(io, &h, key), 0);
	h.sequence++;
	fc_header_encode(&h, FC_HEADER_B, key, raw);
	ck_assert_int_eq(fc_io_write(io, raw, sizeof(raw), FC_HEADER_B), 0);
	ck_assert_int_eq(fc_headers_load(io, &found), 0);
	ck_assert_int_eq(found.newest, 1);
	/* one copy unreadable */
	fc_io_sim_fail(io, FC_SIM_READ, 2, FC_EIO, false);
	ck_assert_int_eq(fc_headers_load(io, &found), 0);
	ck_assert_int_eq(found.newest, 0);
	ck_assert_int_eq(found.status[1], FC_EIO);
	fc_io_close(io);
}
END_TEST

/* Cuts the power after each prefix of the store, with the last write torn
 * anywhere: old or new, never none. */
START_TEST(a_torn_update_leaves_old_or_new)
{
	struct fc_header h = sample();
	struct fc_io *io = fc_io_sim(), *before, *crash;
	const struct fc_sim_event *t;
	size_t n, last, i;
	uint64_t from, to;

	ck_assert_int_eq(fc_header_store(io, &h, key), 0);
	before = fc_io_sim_clone(io);
	fc_io_sim_record(io, true);
	h.sequence = 8;
	memset(&h.slots, 0x11, sizeof(h.slots[0]));
	h.slots[0].used = true;
	h.slots[0].extra_bytes = 4;
	h.slots[0].label[FC_LABEL_BYTES] = 0;
	ck_assert_int_eq(fc_header_store(io, &h, key), 0);
	t = fc_io_sim_trace(io, &n);
	ck_assert_uint_eq(n, 5);
	ck_assert(t[0].kind == FC_SIM_SYNC); /* what the copy that stays was written with may not be */
	ck_assert(t[1].kind == FC_SIM_WRITE && t[1].off == FC_HEADER_A && t[2].kind == FC_SIM_SYNC);
	ck_assert(t[3].kind == FC_SIM_WRITE && t[3].off == FC_HEADER_B && t[4].kind == FC_SIM_SYNC);
	for (last = 1; last < n; last += 2)
		for (from = 0; from < FC_HEADER_BYTES; from += 512)
			for (to = from + 512; to <= FC_HEADER_BYTES; to += 2560) {
				crash = fc_io_sim_clone(before);
				for (i = 0; i < last; i++)
					ck_assert_int_eq(fc_io_sim_apply(crash, &t[i], 0, UINT64_MAX), 0);
				ck_assert_int_eq(fc_io_sim_apply(crash, &t[last], from, to), 0);
				ck_assert_int_eq(fc_headers_load(crash, &found), 0);
				ck_assert_uint_ge(found.copy[found.newest].sequence, last > 1 ? 8 : 7);
				ck_assert_uint_le(found.copy[found.newest].sequence, 8);
				ck_assert_int_eq(fc_header_verify(found.raw[found.newest], key), 0);
				fc_io_close(crash);
			}
	fc_io_sim_fail(io, FC_SIM_SYNC, 1, FC_EIO, false);
	ck_assert_int_eq(fc_header_store(io, &h, key), FC_EIO);
	fc_io_sim_fail(io, FC_SIM_WRITE, 2, FC_ENOSPC, false);
	ck_assert_int_eq(fc_header_store(io, &h, key), FC_ENOSPC);
	fc_io_close(before);
	fc_io_close(io);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("header");
	TCase *tc = tcase_create("header");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, bytes_lie_where_the_format_says);
	tcase_add_test(tc, what_is_encoded_decodes);
	tcase_add_test(tc, no_flipped_byte_passes);
	tcase_add_test(tc, every_bound_is_checked);
	tcase_add_test(tc, log_sizes_and_the_start_of_data);
	tcase_add_test(tc, either_copy_serves);
	tcase_add_test(tc, the_higher_sequence_is_newest);
	tcase_add_test(tc, a_torn_update_leaves_old_or_new);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
