/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cipher/keys.h"
#include "key/keyfile.h"
#include "key/slot.h"
#include "secret/secret.h"
#include "util/le.h"

static const struct fc_kdf_cost none = { FC_KDF_NONE, 0, 0 };
static const struct fc_kdf_cost cheap = { FC_KDF_ARGON2ID13, 1, 64 << 10 };
static const uint8_t master[FC_KEY_BYTES] = "thirty-two bytes of a master key";

static void from_hex(const char *hex, uint8_t *out, size_t n)
{
	ck_assert_int_eq(sodium_hex2bin(out, n, hex, strlen(hex), NULL, NULL, NULL), 0);
}

/* ---- one slot ----------------------------------------------------------- */

START_TEST(sealed_slot_opens_with_its_secret_only)
{
	uint8_t key[FC_KEY_BYTES] = { 0 };
	struct fc_slot slot;

	ck_assert_int_eq(fc_slot_seal(&slot, FC_SLOT_KIND_PASSPHRASE, &cheap, 1, 1234, "abc", 3, master), 0);
	ck_assert(slot.used);
	ck_assert_uint_eq(slot.kind, FC_SLOT_KIND_PASSPHRASE);
	ck_assert_uint_eq(slot.kdf, FC_KDF_ARGON2ID13);
	ck_assert_uint_eq(slot.created, 1234);
	ck_assert_int_eq(fc_slot_open(&slot, "abc", 3, key), 0);
	ck_assert_mem_eq(key, master, FC_KEY_BYTES);
	memset(key, 0x5a, sizeof(key));
	ck_assert_int_eq(fc_slot_open(&slot, "abd", 3, key), FC_EBADKEY);
	ck_assert_int_eq(fc_slot_open(&slot, "ab", 2, key), FC_EBADKEY);
	ck_assert_int_eq(fc_slot_open(&slot, "abc\n", 4, key), FC_EBADKEY);
	ck_assert_int_eq(fc_slot_open(&slot, "", 0, key), FC_EBADKEY);
	ck_assert_uint_eq(key[0], 0x5a); /* a failure leaves it alone */
	slot.used = false;
	ck_assert_int_eq(fc_slot_open(&slot, "abc", 3, key), FC_EBADKEY);
}
END_TEST

/* What a second implementation would compute (values by another program). */
START_TEST(wrapping_is_as_documented)
{
	uint8_t wrapping[32], commitment[32], aad[64], key[FC_KEY_BYTES];
	struct fc_slot slot = { .used = true, .kind = FC_SLOT_KIND_RECOVERY, .kdf = FC_KDF_NONE, .epoch = 7 };

	slot.created = 0x1122334455667788;
	for (unsigned i = 0; i < FC_SALT_BYTES; i++)
		slot.salt[i] = (uint8_t)i;
	memset(slot.nonce, 9, sizeof(slot.nonce));
	from_hex("073e67610135003bdfbe7c47e6b36c86aa0f5e5b660cb9d25a89362fa432f3c1", wrapping, 32);
	from_hex("3cc72783e950ae4ebe43f74d66fbc339a2169962929ee833041634add1631fe5", commitment, 32);
	memset(aad, 0, sizeof(aad));
	aad[0] = FC_SLOT_KIND_RECOVERY;
	aad[12] = 7;
	fc_put_u64(aad + 24, slot.created);
	memcpy(aad + 32, slot.salt, 32);
	crypto_aead_xchacha20poly1305_ietf_encrypt(slot.wrapped, NULL, master, 32, aad, 64, NULL, slot.nonce, wrapping);
	memcpy(slot.commitment, commitment, 32);
	ck_assert_int_eq(fc_slot_open(&slot, "correct horse", 13, key), 0);
	ck_assert_mem_eq(key, master, FC_KEY_BYTES);
}
END_TEST

START_TEST(argon2_uses_the_first_half_of_the_salt)
{
	uint8_t salt[FC_SALT_BYTES], out[FC_KEY_BYTES], want[FC_KEY_BYTES];

	memset(salt, 1, sizeof(salt));
	ck_assert_int_eq(fc_kdf_stretch(&cheap, "pw", 2, salt, out), 0);
	ck_assert_int_eq(crypto_pwhash(want, 32, "pw", 2, salt, 1, 64 << 10, crypto_pwhash_ALG_ARGON2ID13), 0);
	ck_assert_mem_eq(out, want, FC_KEY_BYTES);
}
END_TEST

/* Each public field and each sealed byte counts. */
START_TEST(altered_slot_does_not_open)
{
	struct fc_slot good, bad;
	uint8_t key[FC_KEY_BYTES];

	ck_assert_int_eq(fc_slot_seal(&good, FC_SLOT_KIND_PASSPHRASE, &cheap, 1, 1234, "abc", 3, master), 0);
#define ALTERED(change) \
	do { \
		bad = good; \
		change; \
		ck_assert_int_eq(fc_slot_open(&bad, "abc", 3, key), FC_EBADKEY); \
	} while (0)
	ALTERED(bad.kind = FC_SLOT_KIND_KEY_FILE);
	ALTERED(bad.epoch++);
	ALTERED(bad.created++);
	ALTERED(bad.ops++);
	ALTERED(bad.mem += 8192);
	ALTERED(bad.salt[0] ^= 1);
	ALTERED(bad.salt[31] ^= 1);
	ALTERED(bad.nonce[23] ^= 1);
	ALTERED(bad.commitment[0] ^= 1);
	for (size_t i = 0; i < sizeof(bad.wrapped); i++)
		ALTERED(bad.wrapped[i] ^= 0x80);
}
END_TEST

/* A ciphertext that opens under two keys (possible: the AEAD commits to none)
 * is refused by the commitment alone. */
START_TEST(commitment_is_checked)
{
	uint8_t key[FC_KEY_BYTES];
	struct fc_slot a, b;

	ck_assert_int_eq(fc_slot_seal(&a, FC_SLOT_KIND_RECOVERY, &none, 1, 0, "abc", 3, master), 0);
	ck_assert_int_eq(fc_slot_seal(&b, FC_SLOT_KIND_RECOVERY, &none, 1, 0, "abd", 3, master), 0);
	memcpy(a.commitment, b.commitment, sizeof(a.commitment));
	ck_assert_int_eq(fc_slot_open(&a, "abc", 3, key), FC_EBADKEY);
}
END_TEST

START_TEST(same_secret_never_seals_alike)
{
	struct fc_slot a, b;

	ck_assert_int_eq(fc_slot_seal(&a, FC_SLOT_KIND_RECOVERY, &none, 1, 0, "abc", 3, master), 0);
	ck_assert_int_eq(fc_slot_seal(&b, FC_SLOT_KIND_RECOVERY, &none, 1, 0, "abc", 3, master), 0);
	ck_assert_mem_ne(a.salt, b.salt, sizeof(a.salt));
	ck_assert_mem_ne(a.nonce, b.nonce, sizeof(a.nonce));
	ck_assert_mem_ne(a.wrapped, b.wrapped, sizeof(a.wrapped));
	ck_assert_mem_ne(a.commitment, b.commitment, sizeof(a.commitment));
}
END_TEST

/* ---- costs ---------------------------------------------------------------- */

static int check_cost(uint32_t kdf, uint32_t ops, uint64_t mem)
{
	struct fc_kdf_cost cost = { kdf, ops, mem };

	return fc_kdf_check(&cost);
}

START_TEST(costs_from_a_header_are_bounded)
{
	uint8_t key[FC_KEY_BYTES];
	struct fc_slot slot;

	ck_assert_int_eq(check_cost(FC_KDF_NONE, 0, 0), 0);
	ck_assert_int_eq(check_cost(FC_KDF_NONE, 1, 0), FC_ECORRUPT);
	ck_assert_int_eq(check_cost(FC_KDF_NONE, 0, 1), FC_ECORRUPT);
	ck_assert_int_eq(check_cost(2, 1, 1 << 20), FC_ECORRUPT);
	ck_assert_int_eq(check_cost(FC_KDF_ARGON2ID13, 0, 1 << 20), FC_ECORRUPT);
	ck_assert_int_eq(check_cost(FC_KDF_ARGON2ID13, 1, 0), FC_ECORRUPT);
	ck_assert_int_eq(check_cost(FC_KDF_ARGON2ID13, 1, 8191), FC_ECORRUPT);
	ck_assert_int_eq(check_cost(FC_KDF_ARGON2ID13, 1, 8192), 0);
	ck_assert_int_eq(check_cost(FC_KDF_ARGON2ID13, 1, 4ull << 30), 0);
	ck_assert_int_eq(check_cost(FC_KDF_ARGON2ID13, 1, (4ull << 30) + 1), FC_ECORRUPT);
	ck_assert_int_eq(check_cost(FC_KDF_ARGON2ID13, 1, UINT64_MAX), FC_ECORRUPT);
	ck_assert_int_eq(check_cost(FC_KDF_ARGON2ID13, 16, 4ull << 30), 0);
	ck_assert_int_eq(check_cost(FC_KDF_ARGON2ID13, 17, 4ull << 30), FC_ECORRUPT);
	ck_assert_int_eq(check_cost(FC_KDF_ARGON2ID13, UINT32_MAX, 8192), FC_ECORRUPT);
	/* and before anything is allocated */
	ck_assert_int_eq(fc_slot_seal(&slot, FC_SLOT_KIND_PASSPHRASE, &cheap, 1, 0, "abc", 3, master), 0);
	slot.mem = 1ull << 62;
	ck_assert_int_eq(fc_slot_open(&slot, "abc", 3, key), FC_ECORRUPT);
	slot.mem = 1 << 20;
	slot.ops = UINT32_MAX;
	ck_assert_int_eq(fc_slot_open(&slot, "abc", 3, key), FC_ECORRUPT);
}
END_TEST

START_TEST(named_costs)
{
	struct fc_kdf_cost cost;

	ck_assert_int_eq(fc_kdf_named("interactive", &cost), 0);
	ck_assert_uint_eq(cost.ops, 2);
	ck_assert_uint_eq(cost.mem, 64 << 20);
	ck_assert_int_eq(fc_kdf_named("sensitive", &cost), 0);
	ck_assert_uint_eq(cost.ops, 4);
	ck_assert_uint_eq(cost.mem, 1 << 30);
	ck_assert_int_eq(fc_kdf_named("none", &cost), FC_EINVAL);
	ck_assert(fc_kdf_is_name("auto"));
	ck_assert(fc_kdf_is_name("moderate"));
	ck_assert(!fc_kdf_is_name("Moderate"));
	ck_assert(!fc_kdf_is_name(""));
}
END_TEST

START_TEST(tuning_stays_within_what_is_available)
{
	struct fc_kdf_cost cost;

	ck_assert_int_eq(fc_kdf_tune(&cost, 64 << 20, 200), 0);
	ck_assert_uint_eq(cost.kdf, FC_KDF_ARGON2ID13);
	ck_assert_uint_le(cost.mem, 32 << 20);
	ck_assert_uint_ge(cost.mem, 1 << 20);
	ck_assert_uint_ge(cost.ops, 3);
	ck_assert_int_eq(fc_kdf_check(&cost), 0);
	/* an absurd target finds the upper bounds */
	ck_assert_int_eq(fc_kdf_tune(&cost, UINT64_MAX, 1000000000), 0);
	ck_assert_uint_eq(cost.mem, 1 << 30);
	ck_assert_uint_le(cost.ops, 64);
	ck_assert_int_eq(fc_kdf_check(&cost), 0);
	ck_assert_uint_gt(fc_kdf_available(), 1 << 20);
}
END_TEST

/* ---- a header's slots -------------------------------------------------------- */

static void make_headers(struct fc_headers *h, struct fc_header *header, const uint8_t key[FC_KEY_BYTES])
{
	static const uint64_t at[2] = { FC_HEADER_A, FC_HEADER_B };
	struct fc_keys *keys = fc_keys_new(key);

	for (int i = 0; i < 2; i++) {
		fc_header_encode(header, at[i], keys->header, h->raw[i]);
		h->status[i] = fc_header_decode(&h->copy[i], at[i], h->raw[i]);
		ck_assert_int_eq(h->status[i], 0);
	}
	h->newest = 0;
	fc_keys_free(keys);
}

static struct fc_header *new_header(void)
{
	struct fc_header *h = calloc(1, sizeof(*h));

	h->version = FC_FORMAT_VERSION;
	h->cipher = FC_CIPHER_XCHACHA20POLY1305;
	h->key_epoch = 1;
	h->sequence = 1;
	h->log_offset = FC_LOG_OFFSET;
	h->log_bytes = FC_LOG_MIN;
	h->data_offset = 8 << 20;
	ck_assert_int_eq(fc_slot_seal(&h->slots[3], FC_SLOT_KIND_PASSPHRASE, &cheap, 1, 1, "third", 5, master), 0);
	ck_assert_int_eq(fc_slot_seal(&h->slots[15], FC_SLOT_KIND_RECOVERY, &none, 1, 1, "last", 4, master), 0);
	return h;
}

START_TEST(any_slot_of_the_kind_unlocks)
{
	struct fc_headers *h = calloc(1, sizeof(*h));
	struct fc_header *header = new_header();
	struct fc_slot_found found = { .slot = 99 };
	uint8_t key[FC_KEY_BYTES];

	make_headers(h, header, master);
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_PASSPHRASE, "third", 5, key, &found), 0);
	ck_assert_uint_eq(found.slot, 3);
	ck_assert_uint_eq(found.sequence, 1);
	ck_assert_ptr_eq(found.at, &h->copy[0].slots[3]);
	ck_assert_mem_eq(key, master, FC_KEY_BYTES);
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_RECOVERY, "last", 4, key, &found), 0);
	ck_assert_uint_eq(found.slot, 15);
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_RECOVERY, "third", 5, key, &found), FC_EBADKEY);
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_PASSPHRASE, "wrong", 5, key, &found), FC_EBADKEY);
	ck_assert(sodium_is_zero(key, sizeof(key)));
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_KEY_FILE, "third", 5, key, NULL), FC_EBADKEY);
	free(header);
	free(h);
}
END_TEST

START_TEST(a_slot_left_in_one_copy_unlocks)
{
	struct fc_headers *h = calloc(1, sizeof(*h));
	struct fc_header *header = new_header();
	uint8_t key[FC_KEY_BYTES];

	make_headers(h, header, master);
	h->copy[0].slots[3].wrapped[0] ^= 1; /* the newest copy's is damaged */
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_PASSPHRASE, "third", 5, key, NULL), 0);
	h->newest = 1;
	h->status[0] = FC_ECORRUPT; /* the other copy is gone */
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_PASSPHRASE, "third", 5, key, NULL), 0);
	h->copy[1].slots[3].used = false;
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_PASSPHRASE, "third", 5, key, NULL), FC_EBADKEY);
	h->newest = -1;
	h->status[1] = FC_ECORRUPT;
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_PASSPHRASE, "third", 5, key, NULL), FC_EBADKEY);
	free(header);
	free(h);
}
END_TEST

START_TEST(a_header_that_does_not_authenticate_is_forged)
{
	uint8_t other[FC_KEY_BYTES] = { 1 }, key[FC_KEY_BYTES];
	struct fc_headers *h = calloc(1, sizeof(*h));
	struct fc_header *header = new_header();

	make_headers(h, header, other); /* a MAC under another master key */
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_PASSPHRASE, "third", 5, key, NULL), FC_EFORGED);
	ck_assert(sodium_is_zero(key, sizeof(key)));
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_PASSPHRASE, "wrong", 5, key, NULL), FC_EBADKEY);
	make_headers(h, header, master);
	h->raw[0][FC_H_CREATED] ^= 1;
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_PASSPHRASE, "third", 5, key, NULL), 0); /* copy B verifies */
	h->raw[1][FC_H_CREATED] ^= 1;
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_PASSPHRASE, "third", 5, key, NULL), FC_EFORGED);
	free(header);
	free(h);
}
END_TEST

/* The sequence is that of the newest copy that holds the slot. */
START_TEST(a_slot_is_as_old_as_its_copy)
{
	struct fc_headers *h = calloc(1, sizeof(*h)), *old = calloc(1, sizeof(*h));
	struct fc_header *header = new_header();
	struct fc_slot_found found;
	uint8_t key[FC_KEY_BYTES];

	header->sequence = 5;
	make_headers(old, header, master);
	header->sequence = 6;
	header->slots[3].used = false; /* removed */
	make_headers(h, header, master);
	h->copy[1] = old->copy[1]; /* and put back in one copy */
	memcpy(h->raw[1], old->raw[1], FC_HEADER_BYTES);
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_PASSPHRASE, "third", 5, key, &found), 0);
	ck_assert_uint_eq(found.sequence, 5);
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_RECOVERY, "last", 4, key, &found), 0);
	ck_assert_uint_eq(found.sequence, 6);
	free(header);
	free(old);
	free(h);
}
END_TEST

/* A slot that was removed, pasted into a copy without the key: that the other
 * copy verifies does not count. */
START_TEST(a_slot_pasted_into_one_copy_is_forged)
{
	struct fc_headers *h = calloc(1, sizeof(*h));
	struct fc_header *header = new_header();
	struct fc_slot removed = header->slots[3];
	uint8_t key[FC_KEY_BYTES];

	header->slots[3].used = false;
	make_headers(h, header, master);
	h->raw[1][FC_HEADER_FIXED + 3 * FC_SLOT_BYTES] ^= 1;
	h->copy[1].slots[3] = removed;
	h->copy[1].sequence = 99;
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_PASSPHRASE, "third", 5, key, NULL), FC_EFORGED);
	ck_assert(sodium_is_zero(key, sizeof(key)));
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_RECOVERY, "last", 4, key, NULL), 0);
	free(header);
	free(h);
}
END_TEST

START_TEST(an_absurd_slot_hides_no_good_one)
{
	struct fc_headers *h = calloc(1, sizeof(*h));
	struct fc_header *header = new_header();
	uint8_t key[FC_KEY_BYTES];

	header->slots[0] = header->slots[3];
	header->slots[0].mem = 1ull << 60;
	make_headers(h, header, master);
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_PASSPHRASE, "third", 5, key, NULL), 0);
	ck_assert_int_eq(fc_slot_unlock(h, FC_SLOT_KIND_PASSPHRASE, "wrong", 5, key, NULL), FC_ECORRUPT);
	free(header);
	free(h);
}
END_TEST

/* ---- key files ---------------------------------------------------------------- */

static char dir[] = "/tmp/fc-test-slot-XXXXXX";

static void make_file(const char *name, const char *text, size_t n, off_t size)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_eq(write(fd, text, n), (ssize_t)n);
	ck_assert_int_eq(ftruncate(fd, size), 0);
	close(fd);
}

static void enter_dir(void)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
}

static void leave_dir(void)
{
	unlink("f");
	unlink("pipe");
	rmdir("d");
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}

START_TEST(key_file_is_hashed_whole)
{
	uint8_t hash[FC_KEYFILE_HASH_BYTES], want[FC_KEYFILE_HASH_BYTES], other[FC_KEYFILE_HASH_BYTES];
	size_t n = 0;

	make_file("f", "key file content\n", 17, 17);
	from_hex("05d714b4f2ac041f416399a092bf3ef9c951dfcc6f93d4b1d3a81460a5be4e72"
		 "c329045dac5a0437f4dc23cbb2f8a1ad3a97a38cc4c0aed320896a0bf8f73902",
		 want, sizeof(want));
	ck_assert_int_eq(fc_keyfile_hash("f", hash, &n), 0);
	ck_assert_uint_eq(n, 17);
	ck_assert_mem_eq(hash, want, sizeof(hash));
	/* the last byte of the largest counts, and a hole is zeros */
	make_file("f", "x", 1, FC_KEYFILE_MAX);
	ck_assert_int_eq(fc_keyfile_hash("f", hash, &n), 0);
	ck_assert_uint_eq(n, FC_KEYFILE_MAX);
	make_file("f", "x", 1, FC_KEYFILE_MAX - 1);
	ck_assert_int_eq(fc_keyfile_hash("f", other, &n), 0);
	ck_assert_mem_ne(hash, other, sizeof(hash));
}
END_TEST

START_TEST(what_is_no_key_file_is_refused)
{
	uint8_t hash[FC_KEYFILE_HASH_BYTES];
	size_t n;

	ck_assert_int_eq(fc_keyfile_hash("f", hash, &n), FC_ENOENT);
	make_file("f", "", 0, 0);
	ck_assert_int_eq(fc_keyfile_hash("f", hash, &n), FC_ENODATA);
	make_file("f", "x", 1, FC_KEYFILE_MAX + 1);
	ck_assert_int_eq(fc_keyfile_hash("f", hash, &n), FC_EFBIG);
	ck_assert_int_eq(fc_keyfile_hash("f/x", hash, &n), FC_ENOENT);
	ck_assert_int_eq(mkdir("d", 0700), 0);
	ck_assert_int_eq(fc_keyfile_hash("d", hash, &n), FC_EISDIR);
	ck_assert_int_eq(mkfifo("pipe", 0600), 0);
	ck_assert_int_eq(fc_keyfile_hash("pipe", hash, &n), FC_EINVAL); /* and does not wait */
	ck_assert_int_eq(fc_keyfile_hash("/dev/zero", hash, &n), FC_EINVAL);
	if (geteuid()) {
		make_file("f", "x", 1, 1);
		ck_assert_int_eq(chmod("f", 0), 0);
		ck_assert_int_eq(fc_keyfile_hash("f", hash, &n), FC_EACCESS);
	}
	ck_assert_str_eq(fc_keyfile_error(FC_ENODATA), "it is empty");
	ck_assert_str_eq(fc_keyfile_error(FC_EISDIR), "it is a directory");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("slot");
	TCase *one = tcase_create("one slot"), *cost = tcase_create("costs"), *all = tcase_create("a header's slots");
	TCase *files = tcase_create("key files");
	SRunner *r;
	int failed;

	if (fc_secret_init())
		return 1;
	tcase_add_test(one, sealed_slot_opens_with_its_secret_only);
	tcase_add_test(one, wrapping_is_as_documented);
	tcase_add_test(one, argon2_uses_the_first_half_of_the_salt);
	tcase_add_test(one, altered_slot_does_not_open);
	tcase_add_test(one, commitment_is_checked);
	tcase_add_test(one, same_secret_never_seals_alike);
	suite_add_tcase(s, one);
	tcase_add_test(cost, costs_from_a_header_are_bounded);
	tcase_add_test(cost, named_costs);
	tcase_add_test(cost, tuning_stays_within_what_is_available);
	tcase_set_timeout(cost, 60);
	suite_add_tcase(s, cost);
	tcase_add_test(all, any_slot_of_the_kind_unlocks);
	tcase_add_test(all, a_slot_left_in_one_copy_unlocks);
	tcase_add_test(all, a_header_that_does_not_authenticate_is_forged);
	tcase_add_test(all, a_slot_is_as_old_as_its_copy);
	tcase_add_test(all, a_slot_pasted_into_one_copy_is_forged);
	tcase_add_test(all, an_absurd_slot_hides_no_good_one);
	suite_add_tcase(s, all);
	tcase_add_checked_fixture(files, enter_dir, leave_dir);
	tcase_add_test(files, key_file_is_hashed_whole);
	tcase_add_test(files, what_is_no_key_file_is_refused);
	suite_add_tcase(s, files);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
