/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Edits of key slots, and which copy of the header a change starts from. */
#include <check.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "key/slots.h"
#include "secret/secret.h"
#include "util/le.h"
#include "util/utf8.h"

static const struct fc_kdf_cost none = { FC_KDF_NONE, 0, 0 };
static const uint8_t master[FC_KEY_BYTES] = "thirty-two bytes of a master key";

static struct fc_keys *keys;
static struct fc_header *h;
static struct fc_headers *both;
static struct fc_io *io;

static struct fc_slot slot_of(const char *secret)
{
	struct fc_slot slot;

	ck_assert_int_eq(fc_slot_seal(&slot, FC_SLOT_KIND_PASSPHRASE, &none, 1, 7, secret, strlen(secret), master), 0);
	return slot;
}

static void init(void)
{
	ck_assert_int_eq(fc_secret_init(), 0);
	keys = fc_keys_new(master);
	io = fc_io_sim();
	both = calloc(1, sizeof(*both));
	h = calloc(1, sizeof(*h));
	h->version = FC_FORMAT_VERSION;
	h->cipher = FC_CIPHER_XCHACHA20POLY1305;
	h->key_epoch = 1;
	h->sequence = 4;
	h->log_offset = FC_LOG_OFFSET;
	h->log_bytes = FC_LOG_MIN;
	h->data_offset = fc_header_data_offset(FC_LOG_MIN);
	h->slots[0] = slot_of("zero");
	h->slots[2] = slot_of("two");
	strcpy(h->slots[2].label, "second");
	ck_assert_int_eq(fc_header_store(io, h, keys->header), 0);
	ck_assert_int_eq(fc_headers_load(io, both), 0);
}

static void done(void)
{
	fc_keys_free(keys);
	fc_io_close(io);
	free(both);
	free(h);
}

/* ---- edits ------------------------------------------------------------------ */

START_TEST(a_new_slot_takes_the_first_free_one)
{
	struct fc_slot slot = slot_of("new");

	memset(slot.label, 'x', FC_LABEL_BYTES); /* what a slot came with does not count */
	ck_assert_int_eq(fc_slots_add(h, &slot, "home"), 1);
	ck_assert(fc_slot_same(&h->slots[1], &slot));
	ck_assert_str_eq(h->slots[1].label, "home");
	ck_assert(sodium_is_zero((uint8_t *)h->slots[1].label + 4, sizeof(h->slots[1].label) - 4));
	ck_assert_int_eq(fc_slots_add(h, &slot, ""), 3);
	ck_assert_str_eq(h->slots[3].label, "");
	ck_assert_int_eq(fc_slots_add(h, &slot, ""), 4); /* none is no label that could be taken */
	ck_assert_uint_eq(fc_slots_used(h), 5);
	for (int n = 5; n < (int)FC_SLOTS; n++)
		ck_assert_int_eq(fc_slots_add(h, &slot, ""), n);
	ck_assert_int_eq(fc_slots_add(h, &slot, "one too many"), FC_ENOSPC);
	ck_assert_uint_eq(fc_slots_used(h), FC_SLOTS);
}
END_TEST

START_TEST(labels_are_unique)
{
	struct fc_slot slot = slot_of("new");
	struct fc_header before = *h;

	ck_assert_int_eq(fc_slots_labelled(h, "second"), 2);
	ck_assert_int_eq(fc_slots_labelled(h, "Second"), FC_ENOENT);
	ck_assert_int_eq(fc_slots_labelled(h, ""), FC_ENOENT);
	ck_assert_int_eq(fc_slots_add(h, &slot, "second"), FC_EEXIST);
	ck_assert_mem_eq(h, &before, sizeof(before));
	/* a slot that is free has none */
	ck_assert_int_eq(fc_slots_remove(h, 2, false), 0);
	ck_assert_int_eq(fc_slots_add(h, &slot, "second"), 1);
}
END_TEST

START_TEST(what_may_be_a_label)
{
	static const char *const good[] = { "",         "a",    "two words", "h\xc3\xa4user", "\xf0\x9f\x94\x91",
					    "\xc2\xa0", "\"'\\" };
	static const char *const bad[] = { "\n",           "a\tb",
					   "\x1b[2J",      "\x7f",
					   "\xc2\x85",     "\xff",
					   "\xc3",         "\xc0\x80",
					   "\xed\xa0\x80", "\xf4\x90\x80\x80",
					   "\xe2\x82",     "\x80",
					   "ok\xc3(",      "\xf8\x88\x80\x80\x80" };
	struct fc_slot slot = slot_of("new");
	char text[FC_LABEL_BYTES + 2];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert_msg(fc_slots_check_label(good[i]) == 0, "%zu", i);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(fc_slots_check_label(bad[i]) == FC_EINVAL, "%zu", i);
	ck_assert_int_eq(fc_slots_add(h, &slot, "\n"), FC_EINVAL);
	memset(text, 'x', sizeof(text));
	text[FC_LABEL_BYTES] = '\0';
	ck_assert_int_eq(fc_slots_add(h, &slot, text), 1);
	ck_assert_str_eq(h->slots[1].label, text);
	text[FC_LABEL_BYTES] = 'x';
	text[FC_LABEL_BYTES + 1] = '\0';
	ck_assert_int_eq(fc_slots_add(h, &slot, text), FC_ENAMETOOLONG);
	ck_assert_uint_eq(fc_slots_used(h), 3);
}
END_TEST

START_TEST(utf8_points)
{
	uint32_t point = 0;

	ck_assert_uint_eq(fc_utf8_length("a", &point), 1);
	ck_assert_uint_eq(point, 'a');
	ck_assert_uint_eq(fc_utf8_length("\xc2\x80", &point), 2);
	ck_assert_uint_eq(point, 0x80);
	ck_assert_uint_eq(fc_utf8_length("\xef\xbf\xbd", &point), 3);
	ck_assert_uint_eq(point, 0xfffd);
	ck_assert_uint_eq(fc_utf8_length("\xf4\x8f\xbf\xbf", &point), 4);
	ck_assert_uint_eq(point, 0x10ffff);
	ck_assert_uint_eq(fc_utf8_length("\xf4\x8f\xbf", NULL), 0);
}
END_TEST

START_TEST(a_changed_slot_keeps_its_label)
{
	struct fc_slot slot = slot_of("new");

	strcpy(slot.label, "not this");
	ck_assert_int_eq(fc_slots_change(h, 2, &slot), 0);
	ck_assert(fc_slot_same(&h->slots[2], &slot));
	ck_assert_str_eq(h->slots[2].label, "second");
	ck_assert_int_eq(fc_slots_change(h, 1, &slot), FC_ENOENT);
	ck_assert(!h->slots[1].used);
}
END_TEST

START_TEST(the_last_slot_stays_unless_all_shall_go)
{
	struct fc_header before;

	ck_assert_int_eq(fc_slots_remove(h, 1, true), FC_ENOENT);
	ck_assert_int_eq(fc_slots_remove(h, 2, false), 0);
	ck_assert(sodium_is_zero((const uint8_t *)&h->slots[2], sizeof(h->slots[2])));
	before = *h;
	ck_assert_int_eq(fc_slots_remove(h, 0, false), FC_EPERM);
	ck_assert_mem_eq(h, &before, sizeof(before));
	ck_assert_int_eq(fc_slots_remove(h, 0, true), 0);
	ck_assert_uint_eq(fc_slots_used(h), 0);
}
END_TEST

/* ---- both copies --------------------------------------------------------------- */

/* Copy A gets one more slot and a higher sequence, as when a change was interrupted. */
static void interrupt(struct fc_slot *added)
{
	uint8_t raw[FC_HEADER_BYTES];
	struct fc_header next = *h;

	*added = slot_of("new");
	next.sequence++;
	next.slots[0] = *added;
	fc_header_encode(&next, FC_HEADER_A, keys->header, raw);
	ck_assert_int_eq(fc_io_write(io, raw, sizeof(raw), FC_HEADER_A), 0);
	ck_assert_int_eq(fc_headers_load(io, both), 0);
	ck_assert_int_eq(both->newest, 0);
}

START_TEST(a_change_starts_from_the_newest_copy_that_holds_the_key)
{
	struct fc_slot zero = h->slots[0], two = h->slots[2], added, other = slot_of("other");

	ck_assert(fc_slots_settled(both, keys));
	ck_assert_int_eq(fc_slots_base(both, keys, &zero), 0);
	ck_assert_int_eq(fc_slots_base(both, keys, &other), FC_ENOENT);
	interrupt(&added);
	ck_assert(!fc_slots_settled(both, keys));
	ck_assert_int_eq(fc_slots_base(both, keys, &added), 0);
	ck_assert_int_eq(fc_slots_base(both, keys, &two), 0);
	ck_assert_int_eq(fc_slots_base(both, keys, &zero), 1); /* whoever has the old key only is not locked out */
	ck_assert_int_eq(fc_slots_base(both, keys, &other), FC_ENOENT);
	/* a copy that does not verify counts for nothing */
	both->raw[1][FC_H_CREATED] ^= 1;
	ck_assert_int_eq(fc_slots_base(both, keys, &zero), FC_ENOENT);
	ck_assert_int_eq(fc_slots_base(both, keys, &two), 0);
	both->raw[0][FC_H_CREATED] ^= 1;
	ck_assert_int_eq(fc_slots_base(both, keys, &two), FC_EFORGED);
	ck_assert_int_eq(fc_headers_verified(both, keys->header), FC_EFORGED);
}
END_TEST

START_TEST(one_copy_alone_is_not_settled)
{
	both->status[1] = FC_ECORRUPT;
	ck_assert(!fc_slots_settled(both, keys));
	ck_assert_int_eq(fc_slots_base(both, keys, &h->slots[0]), 0);
	both->status[1] = 0;
	both->raw[1][FC_H_CREATED] ^= 1;
	ck_assert(!fc_slots_settled(both, keys));
	both->status[0] = FC_ECORRUPT;
	ck_assert_int_eq(fc_headers_verified(both, keys->header), FC_EFORGED);
}
END_TEST

static void check_stored(uint64_t sequence, uint64_t first, uint64_t second)
{
	const struct fc_sim_event *t;
	size_t n;

	t = fc_io_sim_trace(io, &n);
	ck_assert_uint_eq(n, 5);
	ck_assert(t[0].kind == FC_SIM_SYNC);
	ck_assert(t[1].kind == FC_SIM_WRITE && t[2].kind == FC_SIM_SYNC);
	ck_assert(t[3].kind == FC_SIM_WRITE && t[4].kind == FC_SIM_SYNC);
	ck_assert_uint_eq(t[1].off, first);
	ck_assert_uint_eq(t[3].off, second);
	ck_assert_uint_eq(h->sequence, sequence);
	ck_assert_int_eq(fc_headers_load(io, both), 0);
	ck_assert(fc_slots_settled(both, keys));
	ck_assert_uint_eq(both->copy[0].sequence, sequence);
}

START_TEST(a_store_counts_on_and_writes_the_good_copy_last)
{
	fc_io_sim_record(io, true);
	ck_assert_int_eq(fc_slots_store(io, both, 0, keys, 0, h), 0);
	check_stored(5, FC_HEADER_B, FC_HEADER_A);
	fc_io_sim_record(io, true);
	ck_assert_int_eq(fc_slots_store(io, both, 1, keys, 5, h), 0);
	check_stored(6, FC_HEADER_A, FC_HEADER_B);
	/* beyond what the root asks for */
	fc_io_sim_record(io, true);
	ck_assert_int_eq(fc_slots_store(io, both, 1, keys, 100, h), 0);
	check_stored(101, FC_HEADER_A, FC_HEADER_B);
	/* beyond a copy that is newer than the one to start from, and an older header */
	h->sequence = 2;
	fc_io_sim_record(io, true);
	ck_assert_int_eq(fc_slots_store(io, both, -1, keys, 0, h), 0);
	check_stored(102, FC_HEADER_A, FC_HEADER_B);
	/* a sequence that only someone without the key claims is none */
	both->copy[1].sequence = UINT64_MAX;
	both->raw[1][FC_H_CREATED] ^= 1;
	fc_io_sim_record(io, true);
	ck_assert_int_eq(fc_slots_store(io, both, 0, keys, 0, h), 0);
	check_stored(103, FC_HEADER_B, FC_HEADER_A);
}
END_TEST

/* Is any run of 8 of these bytes in either copy? */
static bool traces_of(const uint8_t *bytes, size_t n)
{
	for (int c = 0; c < 2; c++)
		for (size_t i = 0; i + 8 <= n; i++)
			for (size_t k = 0; k + 8 <= FC_HEADER_BYTES; k++)
				if (!memcmp(both->raw[c] + k, bytes + i, 8))
					return true;
	return false;
}

START_TEST(a_removed_slot_is_overwritten_in_both_copies)
{
	struct fc_slot two = h->slots[2];

	ck_assert(traces_of(two.wrapped, sizeof(two.wrapped)));
	ck_assert_int_eq(fc_slots_remove(h, 2, false), 0);
	ck_assert_int_eq(fc_slots_store(io, both, 0, keys, 0, h), 0);
	ck_assert_int_eq(fc_headers_load(io, both), 0);
	ck_assert(!traces_of(two.wrapped, sizeof(two.wrapped)));
	ck_assert(!traces_of(two.salt, sizeof(two.salt)));
	ck_assert(!traces_of(two.commitment, sizeof(two.commitment)));
	ck_assert(!traces_of((const uint8_t *)"second\0\0", 8));
	for (int c = 0; c < 2; c++)
		ck_assert(sodium_is_zero(both->raw[c] + FC_HEADER_FIXED + 2 * FC_SLOT_BYTES, FC_SLOT_BYTES));
}
END_TEST

START_TEST(a_peek_tells_the_highest_claim)
{
	uint8_t raw[8];

	ck_assert_uint_eq(fc_headers_peek(io), 4);
	fc_put_u64(raw, 9);
	ck_assert_int_eq(fc_io_write(io, raw, 8, FC_HEADER_B + FC_H_SEQUENCE), 0);
	ck_assert_uint_eq(fc_headers_peek(io), 9);
	fc_io_sim_fail(io, FC_SIM_READ, 2, FC_EIO, false);
	ck_assert_uint_eq(fc_headers_peek(io), 4);
	fc_io_sim_fail(io, FC_SIM_READ, 1, FC_EIO, true);
	ck_assert_uint_eq(fc_headers_peek(io), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("slots");
	TCase *tc = tcase_create("slots");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, init, done);
	tcase_add_test(tc, a_new_slot_takes_the_first_free_one);
	tcase_add_test(tc, labels_are_unique);
	tcase_add_test(tc, what_may_be_a_label);
	tcase_add_test(tc, utf8_points);
	tcase_add_test(tc, a_changed_slot_keeps_its_label);
	tcase_add_test(tc, the_last_slot_stays_unless_all_shall_go);
	tcase_add_test(tc, a_change_starts_from_the_newest_copy_that_holds_the_key);
	tcase_add_test(tc, one_copy_alone_is_not_settled);
	tcase_add_test(tc, a_store_counts_on_and_writes_the_good_copy_last);
	tcase_add_test(tc, a_removed_slot_is_overwritten_in_both_copies);
	tcase_add_test(tc, a_peek_tells_the_highest_claim);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
