/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "key/slot.h"
#include "key/tpm2_slot.h"
#include "secret/secret.h"
#include "util/le.h"

static struct fc_tpm2_slot sample(bool pin)
{
	struct fc_tpm2_slot t = { .pin = pin, .private_bytes = 100, .public_bytes = 50 };

	for (size_t i = 0; i < 150; i++)
		t.blobs[i] = (uint8_t)(i + 1);
	if (pin) {
		t.cost = (struct fc_kdf_cost){ FC_KDF_ARGON2ID13, 3, 1 << 20 };
		memset(t.salt, 7, sizeof(t.salt));
	}
	return t;
}

START_TEST(what_was_encoded_decodes)
{
	for (int pin = 0; pin < 2; pin++) {
		struct fc_tpm2_slot t = sample(pin), back;
		struct fc_slot slot = { .used = true };

		fc_tpm2_slot_encode(&t, &slot);
		ck_assert_uint_eq(slot.extra_bytes, 56 + 150);
		ck_assert_int_eq(slot.extra[0], 1);
		ck_assert_int_eq(slot.extra[1], pin);
		ck_assert_int_eq(slot.extra[24], pin ? 7 : 0);
		ck_assert_int_eq(slot.extra[56], 1);
		ck_assert_int_eq(fc_tpm2_slot_decode(&back, &slot), 0);
		ck_assert_mem_eq(&back, &t, sizeof(t));
	}
}
END_TEST

/* One field of a good one is changed. */
static int decode_with(size_t at, unsigned bytes, uint64_t value)
{
	struct fc_tpm2_slot t = sample(true), back;
	struct fc_slot slot = { .used = true };

	fc_tpm2_slot_encode(&t, &slot);
	if (at == SIZE_MAX)
		slot.extra_bytes = (uint32_t)value;
	else if (bytes == 1)
		slot.extra[at] = (uint8_t)value;
	else if (bytes == 2)
		fc_put_u16(slot.extra + at, (uint16_t)value);
	else if (bytes == 4)
		fc_put_u32(slot.extra + at, (uint32_t)value);
	else
		fc_put_u64(slot.extra + at, value);
	return fc_tpm2_slot_decode(&back, &slot);
}

START_TEST(others_are_refused)
{
	ck_assert_int_eq(decode_with(FC_T_VERSION, 1, 1), 0);
	ck_assert_int_eq(decode_with(FC_T_VERSION, 1, 2), FC_ENEWER);
	ck_assert_int_eq(decode_with(FC_T_VERSION, 1, 0), FC_ENEWER);
	ck_assert_int_eq(decode_with(FC_T_FLAGS, 1, 3), FC_ENEWER);
	for (uint32_t n = 0; n < FC_T_BLOBS + 1; n++)
		ck_assert_int_eq(decode_with(SIZE_MAX, 0, n), FC_ECORRUPT);
	ck_assert_int_eq(decode_with(SIZE_MAX, 0, 205), FC_ECORRUPT);
	ck_assert_int_eq(decode_with(SIZE_MAX, 0, 207), FC_ECORRUPT);
	ck_assert_int_eq(decode_with(SIZE_MAX, 0, UINT32_MAX), FC_ECORRUPT);
	ck_assert_int_eq(decode_with(FC_T_PRIVATE_BYTES, 2, 0), FC_ECORRUPT);
	ck_assert_int_eq(decode_with(FC_T_PRIVATE_BYTES, 2, 150), FC_ECORRUPT);
	ck_assert_int_eq(decode_with(FC_T_PRIVATE_BYTES, 2, UINT16_MAX), FC_ECORRUPT);
	ck_assert_int_eq(decode_with(FC_T_PUBLIC_BYTES, 2, UINT16_MAX), FC_ECORRUPT);
	/* what a PIN would cost (R9) */
	ck_assert_int_eq(decode_with(FC_T_OPS, 4, 0), FC_ECORRUPT);
	ck_assert_int_eq(decode_with(FC_T_OPS, 4, UINT32_MAX), FC_ECORRUPT);
	ck_assert_int_eq(decode_with(FC_T_MEM, 8, UINT64_MAX), FC_ECORRUPT);
}
END_TEST

START_TEST(any_bytes_are_safe)
{
	struct fc_tpm2_slot t;
	struct fc_slot slot;

	for (int i = 0; i < 20000; i++) {
		randombytes_buf(&slot, sizeof(slot));
		if (i % 2) {
			slot.extra[0] = FC_TPM2_VERSION;
			slot.extra[1] = i % 4 == 1;
			slot.extra_bytes = randombytes_uniform(FC_SLOT_EXTRA_MAX + 2);
		}
		if (!fc_tpm2_slot_decode(&t, &slot))
			ck_assert_uint_eq(FC_T_BLOBS + t.private_bytes + t.public_bytes, slot.extra_bytes);
	}
}
END_TEST

START_TEST(a_pin_gives_two_keys_of_its_own)
{
	struct fc_tpm2_slot t = sample(true);
	uint8_t auth[32], add[32], auth2[32], add2[32];

	ck_assert_int_eq(fc_tpm2_pin(&t, "1234", 4, auth, add), 0);
	ck_assert_mem_ne(auth, add, 32);
	ck_assert_int_eq(fc_tpm2_pin(&t, "1234", 4, auth2, add2), 0);
	ck_assert_mem_eq(auth, auth2, 32);
	ck_assert_mem_eq(add, add2, 32);
	ck_assert_int_eq(fc_tpm2_pin(&t, "1235", 4, auth2, add2), 0);
	ck_assert_mem_ne(auth, auth2, 32);
	ck_assert_mem_ne(add, add2, 32);
	t.salt[0]++;
	ck_assert_int_eq(fc_tpm2_pin(&t, "1234", 4, auth2, add2), 0);
	ck_assert_mem_ne(auth, auth2, 32);
	t.cost.mem = UINT64_MAX;
	ck_assert_int_eq(fc_tpm2_pin(&t, "1234", 4, auth2, add2), FC_ECORRUPT);
}
END_TEST

START_TEST(slots_with_other_blobs_are_not_the_same)
{
	struct fc_tpm2_slot t = sample(false);
	struct fc_slot a = { .used = true, .kind = FC_SLOT_KIND_TPM2 }, b;

	fc_tpm2_slot_encode(&t, &a);
	b = a;
	ck_assert(fc_slot_same(&a, &b));
	b.extra[100] ^= 1;
	ck_assert(!fc_slot_same(&a, &b));
	b = a;
	b.extra_bytes--;
	ck_assert(!fc_slot_same(&a, &b));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tpm2_slot");
	TCase *tc = tcase_create("tpm2_slot");
	SRunner *runner;
	int failed;

	if (fc_secret_init())
		return EXIT_FAILURE;
	tcase_add_test(tc, what_was_encoded_decodes);
	tcase_add_test(tc, others_are_refused);
	tcase_add_test(tc, any_bytes_are_safe);
	tcase_add_test(tc, a_pin_gives_two_keys_of_its_own);
	tcase_add_test(tc, slots_with_other_blobs_are_not_the_same);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
