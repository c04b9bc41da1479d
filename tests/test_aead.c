/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "cipher/aead.h"
#include "config.h"
#include "secret/secret.h"
#ifdef FC_HAVE_LIBCRYPTO
#include <openssl/evp.h>
#endif

static void init(void)
{
	ck_assert_int_eq(fc_secret_init(), 0);
}

static const uint8_t key[FC_KEY_BYTES] = "one key of 32 bytes for the AEAD";

static struct fc_aead *make(const struct fc_provider *row, const uint8_t *k)
{
	struct fc_aead *aead;

	ck_assert_int_eq(fc_aead_new(row, k, &aead), 0);
	return aead;
}

static void from_hex(uint8_t *out, const char *hex)
{
	ck_assert_int_eq(sodium_hex2bin(out, strlen(hex) / 2, hex, strlen(hex), NULL, NULL, NULL), 0);
}

/* McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 13 and 14. */
START_TEST(aes_256_gcm_computes_the_published_vectors)
{
	static const uint8_t zeros[32];
	uint8_t want[16], got[16], tag[FC_TAG_BYTES];
	const struct fc_provider *row;
	unsigned rows = 0;
	size_t i;

	for (i = 0; (row = fc_provider_row(i)); i++) {
		struct fc_aead *aead;

		if (row->cipher != FC_CIPHER_AES256GCM || !row->usable())
			continue;
		aead = make(row, zeros);
		ck_assert_int_eq(fc_aead_seal(aead, 0, NULL, 0, NULL, 0, NULL, tag), 0);
		from_hex(want, "530f8afbc74536b9a963b4f1c4cb738b");
		ck_assert_mem_eq(tag, want, 16);
		ck_assert_int_eq(fc_aead_open(aead, 0, NULL, 0, NULL, 0, NULL, tag), 0);
		ck_assert_int_eq(fc_aead_seal(aead, 0, NULL, 0, zeros, 16, got, tag), 0);
		from_hex(want, "cea7403d4d606b6e074ec5d3baf39d18");
		ck_assert_mem_eq(got, want, 16);
		from_hex(want, "d0d1c8a799996bf0265b98b5d48ab919");
		ck_assert_mem_eq(tag, want, 16);
		fc_aead_free(aead);
		rows++;
	}
	ck_assert_uint_ge(rows + !fc_provider_find(FC_CIPHER_AES256GCM), 1);
}
END_TEST

#ifdef FC_HAVE_IPSEC_MB
/* Every test leaves out what is not usable: this is not to be left out for no reason. */
START_TEST(libipsec_mb_is_usable_where_the_processor_has_aes)
{
	const struct fc_provider *row;
	size_t i;

	for (i = 0; (row = fc_provider_row(i)) && strcmp(row->name, "libipsec-mb"); i++)
		;
	ck_assert_ptr_nonnull(row);
	ck_assert_int_eq(!row->usable(), !crypto_aead_aes256gcm_is_available());
}
END_TEST
#endif

#ifdef FC_HAVE_LIBCRYPTO
/* XChaCha20-Poly1305 from its definition (draft-irtf-cfrg-xchacha-03, 2.3):
 * HChaCha20, then the ChaCha20-Poly1305 of another library. */
static void xchacha_by_hand(uint64_t nonce, const uint8_t *ad, int ad_n, const uint8_t *in, int n, uint8_t *out,
			    uint8_t tag[FC_TAG_BYTES])
{
	uint8_t first[16] = { 0 }, rest[12] = { 0 }, subkey[32];
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int len, i;

	for (i = 0; i < 8; i++)
		first[i] = (uint8_t)(nonce >> (8 * i));
	crypto_core_hchacha20(subkey, first, key, NULL);
	ck_assert_int_eq(EVP_EncryptInit_ex(ctx, EVP_chacha20_poly1305(), NULL, subkey, rest), 1);
	if (ad_n)
		ck_assert_int_eq(EVP_EncryptUpdate(ctx, NULL, &len, ad, ad_n), 1);
	if (n)
		ck_assert_int_eq(EVP_EncryptUpdate(ctx, out, &len, in, n), 1);
	ck_assert_int_eq(EVP_EncryptFinal_ex(ctx, rest, &len), 1);
	ck_assert_int_eq(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, FC_TAG_BYTES, tag), 1);
	EVP_CIPHER_CTX_free(ctx);
}

START_TEST(xchacha20_computes_what_its_definition_says)
{
	struct fc_aead *aead;
	uint8_t in[5000], got[5000], want[5000], tag[FC_TAG_BYTES], want_tag[FC_TAG_BYTES];
	static const int sizes[] = { 0, 1, 63, 64, 65, 4096, 5000 };
	size_t i;

	randombytes_buf(in, sizeof(in));
	aead = make(fc_provider_find(FC_CIPHER_XCHACHA20POLY1305), key);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t nonce = UINT64_C(0x0123456789abcdef) + i;

		xchacha_by_hand(nonce, in, (int)i * 9, in, sizes[i], want, want_tag);
		ck_assert_int_eq(fc_aead_seal(aead, nonce, in, i * 9, in, (size_t)sizes[i], got, tag), 0);
		ck_assert_mem_eq(tag, want_tag, FC_TAG_BYTES);
		if (sizes[i])
			ck_assert_mem_eq(got, want, (size_t)sizes[i]);
	}
	fc_aead_free(aead);
}
END_TEST
#endif

/* The nonce is little-endian in the first 8 bytes, the rest zero. */
START_TEST(the_nonce_lies_as_the_header_says)
{
	uint8_t npub[24] = { 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01 }, in[100], want[100], got[100];
	uint8_t tag[FC_TAG_BYTES], want_tag[FC_TAG_BYTES];
	const struct fc_provider *row;
	size_t i;

	randombytes_buf(in, sizeof(in));
	for (i = 0; (row = fc_provider_row(i)); i++) {
		struct fc_aead *aead;

		if (!row->usable())
			continue;
		if (row->cipher == FC_CIPHER_XCHACHA20POLY1305)
			crypto_aead_xchacha20poly1305_ietf_encrypt_detached(want, want_tag, NULL, in, 100, in, 7, NULL,
									    npub, key);
		else if (crypto_aead_aes256gcm_is_available())
			crypto_aead_aes256gcm_encrypt_detached(want, want_tag, NULL, in, 100, in, 7, NULL, npub, key);
		else
			continue;
		aead = make(row, key);
		ck_assert_int_eq(fc_aead_seal(aead, UINT64_C(0x0123456789abcdef), in, 7, in, 100, got, tag), 0);
		ck_assert_mem_eq(got, want, 100);
		ck_assert_mem_eq(tag, want_tag, FC_TAG_BYTES);
		fc_aead_free(aead);
	}
}
END_TEST

static const size_t sizes[] = { 0, 1, 15, 16, 17, 255, 4095, 4096, 4097, 16384, 1000003 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

START_TEST(all_rows_of_a_cipher_agree)
{
	uint8_t *in = malloc(sizes[SIZES - 1] * 3), *a = in + sizes[SIZES - 1], *b = a + sizes[SIZES - 1];
	const struct fc_provider *x, *y;
	uint8_t tag_a[FC_TAG_BYTES], tag_b[FC_TAG_BYTES];
	size_t i, k, s;

	randombytes_buf(in, sizes[SIZES - 1]);
	for (i = 0; (x = fc_provider_row(i)); i++)
		for (k = 0; (y = fc_provider_row(k)); k++) {
			struct fc_aead *one, *two;

			if (x->cipher != y->cipher || !x->usable() || !y->usable())
				continue;
			one = make(x, key);
			two = make(y, key);
			for (s = 0; s < SIZES; s++) {
				size_t n = sizes[s], ad_n = s * 5;

				/* apart, in place, and opened by the other in place and apart */
				ck_assert_int_eq(fc_aead_seal(one, s << 60 | s, in, ad_n, in, n, a, tag_a), 0);
				memcpy(b, in, n);
				ck_assert_int_eq(fc_aead_seal(two, s << 60 | s, in, ad_n, b, n, b, tag_b), 0);
				ck_assert(!memcmp(a, b, n) && !memcmp(tag_a, tag_b, FC_TAG_BYTES));
				ck_assert(n < 16 || memcmp(a, in, n));
				ck_assert_int_eq(fc_aead_open(two, s << 60 | s, in, ad_n, a, n, a, tag_a), 0);
				ck_assert(!memcmp(a, in, n));
				memset(a, 0, n);
				ck_assert_int_eq(fc_aead_open(one, s << 60 | s, in, ad_n, b, n, a, tag_b), 0);
				ck_assert(!memcmp(a, in, n));
			}
			fc_aead_free(one);
			fc_aead_free(two);
		}
	free(in);
}
END_TEST

static void check_forged(struct fc_aead *aead, uint64_t nonce, const uint8_t *ad, size_t ad_n, const uint8_t *in,
			 size_t n, const uint8_t *tag)
{
	uint8_t out[600];

	memset(out, 0x77, sizeof(out));
	ck_assert_int_eq(fc_aead_open(aead, nonce, ad, ad_n, in, n, out, tag), FC_EFORGED);
	ck_assert(sodium_is_zero(out, n));
	ck_assert(n == sizeof(out) || out[n] == 0x77);
	/* in place */
	memcpy(out, in, n);
	ck_assert_int_eq(fc_aead_open(aead, nonce, ad, ad_n, out, n, out, tag), FC_EFORGED);
	ck_assert(sodium_is_zero(out, n));
}

START_TEST(what_is_not_authentic_is_refused_and_zeroed)
{
	uint8_t in[512], sealed[512], tag[FC_TAG_BYTES], ad[48], other_key[FC_KEY_BYTES], out[512];
	const struct fc_provider *row;
	size_t i, k;

	randombytes_buf(in, sizeof(in));
	randombytes_buf(ad, sizeof(ad));
	memcpy(other_key, key, sizeof(key));
	other_key[31] ^= 1;
	for (i = 0; (row = fc_provider_row(i)); i++) {
		struct fc_aead *aead, *other;

		if (!row->usable())
			continue;
		aead = make(row, key);
		other = make(row, other_key);
		ck_assert_int_eq(fc_aead_seal(aead, 5, ad, sizeof(ad), in, sizeof(in), sealed, tag), 0);
		for (k = 0; k < sizeof(sealed); k++) {
			sealed[k] ^= 1;
			check_forged(aead, 5, ad, sizeof(ad), sealed, sizeof(sealed), tag);
			sealed[k] ^= 1;
		}
		for (k = 0; k < 8 * FC_TAG_BYTES; k++) {
			tag[k / 8] ^= (uint8_t)(1 << k % 8);
			check_forged(aead, 5, ad, sizeof(ad), sealed, sizeof(sealed), tag);
			tag[k / 8] ^= (uint8_t)(1 << k % 8);
		}
		for (k = 0; k < sizeof(ad); k++) {
			ad[k] ^= 0x80;
			check_forged(aead, 5, ad, sizeof(ad), sealed, sizeof(sealed), tag);
			ad[k] ^= 0x80;
		}
		check_forged(aead, 6, ad, sizeof(ad), sealed, sizeof(sealed), tag);
		check_forged(aead, 5 | UINT64_C(1) << 63, ad, sizeof(ad), sealed, sizeof(sealed), tag);
		check_forged(aead, 5, ad, sizeof(ad) - 1, sealed, sizeof(sealed), tag);
		check_forged(aead, 5, ad, sizeof(ad), sealed, sizeof(sealed) - 1, tag);
		check_forged(aead, 5, ad, sizeof(ad), sealed, 0, tag);
		check_forged(other, 5, ad, sizeof(ad), sealed, sizeof(sealed), tag);
		/* and a refusal leaves nothing behind in the context */
		ck_assert_int_eq(fc_aead_open(aead, 5, ad, sizeof(ad), sealed, sizeof(sealed), out, tag), 0);
		ck_assert_mem_eq(out, in, sizeof(in));
		fc_aead_free(aead);
		fc_aead_free(other);
	}
	fc_aead_free(NULL);
}
END_TEST

/* More threads than a provider keeps contexts for, on one key. */
#define THREADS 24

static void *seal_and_open(void *arg)
{
	struct fc_aead *aead = arg;
	uint8_t in[4096], buf[4096], tag[FC_TAG_BYTES];
	uint64_t nonce;

	memset(in, 0x3c, sizeof(in));
	for (nonce = 0; nonce < 200; nonce++) {
		if (fc_aead_seal(aead, nonce, "ad", 2, in, sizeof(in), buf, tag))
			return arg;
		if (nonce % 5 == 0) {
			tag[0] ^= 1;
			if (fc_aead_open(aead, nonce, "ad", 2, buf, sizeof(buf), buf, tag) != FC_EFORGED)
				return arg;
		} else if (fc_aead_open(aead, nonce, "ad", 2, buf, sizeof(buf), buf, tag) ||
			   memcmp(buf, in, sizeof(in))) {
			return arg;
		}
	}
	return NULL;
}

START_TEST(threads_share_a_key)
{
	const struct fc_provider *row;
	pthread_t thread[THREADS];
	size_t i, k;

	for (i = 0; (row = fc_provider_row(i)); i++) {
		struct fc_aead *aead;

		if (!row->usable())
			continue;
		aead = make(row, key);
		for (k = 0; k < THREADS; k++)
			ck_assert_int_eq(pthread_create(&thread[k], NULL, seal_and_open, aead), 0);
		for (k = 0; k < THREADS; k++) {
			void *failed;

			pthread_join(thread[k], &failed);
			ck_assert_ptr_null(failed);
		}
		fc_aead_free(aead);
	}
}
END_TEST

static int never(void)
{
	return 0;
}

START_TEST(names_and_choice)
{
	struct fc_provider unusable = *fc_provider_find(FC_CIPHER_XCHACHA20POLY1305);
	struct fc_aead *aead;
	uint32_t chosen = fc_cipher_auto();

	ck_assert_str_eq(fc_cipher_name(FC_CIPHER_AES256GCM), "aes-256-gcm");
	ck_assert_str_eq(fc_cipher_name(FC_CIPHER_XCHACHA20POLY1305), "xchacha20-poly1305");
	ck_assert_ptr_null(fc_cipher_name(0));
	ck_assert_ptr_null(fc_cipher_name(FC_CIPHER_AEGIS128L));
	ck_assert_uint_eq(fc_cipher_by_name("aes-256-gcm"), FC_CIPHER_AES256GCM);
	ck_assert_uint_eq(fc_cipher_by_name("xchacha20-poly1305"), FC_CIPHER_XCHACHA20POLY1305);
	ck_assert_uint_eq(fc_cipher_by_name("auto"), 0);
	ck_assert_uint_eq(fc_cipher_by_name(""), 0);
	ck_assert_ptr_null(fc_provider_find(FC_CIPHER_AEGIS256));
	ck_assert_ptr_null(fc_provider_find(0));
	ck_assert_ptr_null(fc_provider_row(100));
	ck_assert_ptr_nonnull(fc_provider_find(chosen));
	unusable.usable = never;
	ck_assert_int_eq(fc_aead_new(&unusable, key, &aead), FC_ENOTSUP);
	ck_assert_ptr_null(aead);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("aead");
	TCase *tc = tcase_create("aead");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, init, NULL);
#ifdef FC_HAVE_IPSEC_MB
	tcase_add_test(tc, libipsec_mb_is_usable_where_the_processor_has_aes);
#endif
	tcase_add_test(tc, aes_256_gcm_computes_the_published_vectors);
#ifdef FC_HAVE_LIBCRYPTO
	tcase_add_test(tc, xchacha20_computes_what_its_definition_says);
#endif
	tcase_add_test(tc, the_nonce_lies_as_the_header_says);
	tcase_add_test(tc, all_rows_of_a_cipher_agree);
	tcase_add_test(tc, what_is_not_authentic_is_refused_and_zeroed);
	tcase_add_test(tc, threads_share_a_key);
	tcase_add_test(tc, names_and_choice);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
