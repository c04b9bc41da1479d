/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The power is cut anywhere in a change of the header and in the root record that
 * follows it: some key always opens the container, the old one before the change
 * and the new one after it. And what commits and opening make of header sequences.
 */
#include <stdlib.h>

#include "cipher/root.h"
#include "fs_fixture.h"
#include "key/slots.h"
#include "util/le.h"

#define KIND FC_SLOT_KIND_RECOVERY
#define EVENTS_MAX 16

static const struct fc_kdf_cost none = { FC_KDF_NONE, 0, 0 };
static struct fc_keys *keys;

static struct fc_slot slot_of(const char *secret)
{
	struct fc_slot slot;

	ck_assert_int_eq(fc_slot_seal(&slot, KIND, &none, 1, 7, secret, strlen(secret), fixture_master), 0);
	return slot;
}

static void init(void)
{
	ck_assert_int_eq(fc_secret_init(), 0);
	keys = fc_keys_new(fixture_master);
}

static void done(void)
{
	fc_keys_free(keys);
}

/* A container whose slot 0 is opened by "one", slot 1 by "two". */
static struct fc_io *new_disk(void)
{
	struct fc_header header = { .version = FC_FORMAT_VERSION,
				    .cipher = FC_CIPHER_XCHACHA20POLY1305,
				    .key_epoch = 1,
				    .log_bytes = FC_LOG_MIN,
				    .uuid = { 9 } };
	struct fc_io *io = fc_io_sim();

	header.slots[0] = slot_of("one");
	header.slots[1] = slot_of("two");
	ck_assert_int_eq(fc_fs_format(io, &header, fixture_master, 0, 0, 0, (struct fc_time){ .sec = 1000 }), 0);
	return io;
}

static struct fc_headers *load(struct fc_io *io)
{
	static struct fc_headers headers;

	ck_assert_int_eq(fc_headers_load(io, &headers), 0);
	return &headers;
}

/* 0 and the sequence, or FC_E*. */
static int unlock(struct fc_io *io, const char *secret, uint64_t *sequence)
{
	uint8_t master[FC_KEY_BYTES];
	struct fc_slot_found found = { 0 };
	int rc = fc_slot_unlock(load(io), KIND, secret, strlen(secret), master, &found);

	if (!rc)
		ck_assert_mem_eq(master, fixture_master, FC_KEY_BYTES);
	*sequence = found.sequence;
	return rc;
}

/* io becomes the fs's. */
static int open_fs(struct fc_io *io, uint64_t sequence, bool accept, struct fc_fs **fs)
{
	struct fc_fs_options options = { .no_threads = true, .accept_older = accept, .header_sequence = sequence };

	*fs = NULL;
	return fc_fs_open(io, fixture_master, &options, fs);
}

/* Can someone with that secret use the container? */
static bool usable(struct fc_io *io, const char *secret, bool whole)
{
	struct fc_fs_found root;
	struct fc_fs *fs;
	uint64_t sequence;

	if (unlock(io, secret, &sequence))
		return false;
	ck_assert_int_eq(fc_fs_probe(io, fixture_master, &root), 0);
	if (!whole)
		return sequence >= root.header_seq;
	if (open_fs(fc_io_sim_clone(io), sequence, false, &fs))
		return false;
	fc_fs_abandon(fs);
	return true;
}

static uint64_t header_seq(struct fc_io *io, uint64_t *generation)
{
	struct fc_fs_found root;

	ck_assert_int_eq(fc_fs_probe(io, fixture_master, &root), 0);
	ck_assert(!root.newest_lost);
	if (generation)
		*generation = root.generation;
	return root.header_seq;
}

/* ---- changes ------------------------------------------------------------------------- */

struct change {
	const char *name;
	void (*edit)(struct fc_header *h);
	const char *always, *before, *after; /* what opens it; NULL: none in particular */
};

static void edit_add(struct fc_header *h)
{
	struct fc_slot slot = slot_of("new");

	ck_assert_int_eq(fc_slots_add(h, &slot, "label"), 2);
}

static void edit_change(struct fc_header *h)
{
	struct fc_slot slot = slot_of("new");

	ck_assert_int_eq(fc_slots_change(h, 0, &slot), 0);
}

static void edit_remove(struct fc_header *h)
{
	ck_assert_int_eq(fc_slots_remove(h, 0, false), 0);
}

/* As a backup that is put back: other slots altogether. */
static void edit_restore(struct fc_header *h)
{
	memset(h->slots, 0, sizeof(h->slots));
	h->slots[5] = slot_of("new");
}

static const struct change changes[] = {
	{ "add", edit_add, "one", "two", "new" },
	{ "change", edit_change, "two", "one", "new" },
	{ "remove", edit_remove, "two", "one", "two" },
	{ "restore", edit_restore, NULL, "one", "new" },
};
#define CHANGES (sizeof(changes) / sizeof(changes[0]))

/* How the copies are before. */
enum { BOTH_GOOD, A_BAD, B_BAD, A_ZERO, B_ZERO, B_OLDER, A_OLDER, STARTS };

static void spoil(struct fc_io *io, int start)
{
	static uint8_t raw[FC_HEADER_BYTES];
	uint64_t at = start == A_BAD || start == A_ZERO || start == A_OLDER ? FC_HEADER_A : FC_HEADER_B;
	struct fc_header older = load(io)->copy[0];

	memset(raw, start == A_ZERO || start == B_ZERO ? 0 : 0x5a, sizeof(raw));
	if (start == A_OLDER || start == B_OLDER) {
		/* an interrupted change from another key */
		older.slots[0] = slot_of("older");
		older.sequence--;
		fc_header_encode(&older, at, keys->header, raw);
	}
	if (start != BOTH_GOOD)
		ck_assert_int_eq(fc_io_write(io, raw, sizeof(raw), at), 0);
}

/* Makes the change, as a key command does. */
static void apply(struct fc_io *io, const struct change *c)
{
	struct fc_headers *headers = load(io);
	int base = fc_headers_verified(headers, keys->header);
	struct fc_header h;

	ck_assert_int_ge(base, 0);
	h = headers->copy[base];
	c->edit(&h);
	ck_assert_int_eq(fc_slots_store(io, headers, base, keys, header_seq(io, NULL), &h), 0);
}

static void raise_root(struct fc_io *io)
{
	struct fc_headers *headers = load(io);
	uint8_t tag[FC_TAG_BYTES];
	struct fc_root root;

	ck_assert_int_eq(fc_root_raise(io, keys, headers->copy[0].uuid, headers->copy[headers->newest].sequence, 2000,
				       &root, tag),
			 0);
	ck_assert_uint_eq(root.header_seq, headers->copy[headers->newest].sequence);
}

static void check_state(struct fc_io *io, const struct change *c, bool finished, bool whole)
{
	bool before = usable(io, c->before, whole), after = usable(io, c->after, whole);

	ck_assert_msg(before || after, "%s: nothing opens it", c->name);
	if (c->always)
		ck_assert_msg(usable(io, c->always, false), "%s: what was not changed does not open it", c->name);
	if (finished)
		ck_assert_msg(after && (c->edit == edit_add || !before), "%s: done, but not so", c->name);
}

/* Each prefix of the events, the last write torn in every way that matters. */
static void cut_everywhere(struct fc_io *before, const struct fc_sim_event *const *t, size_t n, size_t finished,
			   const struct change *c)
{
	struct fc_io *base = fc_io_sim_clone(before), *crash;
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t k;

		check_state(base, c, i >= finished, true);
		for (k = 0; t[i]->kind == FC_SIM_WRITE && k < t[i]->bytes; k += 512) {
			const uint64_t cuts[3][2] = { { 0, k }, { k, t[i]->bytes }, { k, k + 512 } };

			for (int how = 0; how < 3; how++) {
				crash = fc_io_sim_clone(base);
				if (cuts[how][1])
					ck_assert_int_eq(fc_io_sim_apply(crash, t[i], cuts[how][0], cuts[how][1]), 0);
				check_state(crash, c, i >= finished, k % 8192 == 0 && how < 2);
				fc_io_close(crash);
			}
		}
		ck_assert_int_eq(fc_io_sim_apply(base, t[i], 0, UINT64_MAX), 0);
	}
	check_state(base, c, true, true);
	fc_io_close(base);
}

static size_t record(struct fc_io *io, const struct change *c, const struct fc_sim_event **t, size_t *stored)
{
	const struct fc_sim_event *trace;
	size_t n;

	fc_io_sim_record(io, true);
	apply(io, c);
	fc_io_sim_trace(io, stored);
	raise_root(io);
	trace = fc_io_sim_trace(io, &n);
	ck_assert_uint_eq(*stored, 5);
	ck_assert_uint_eq(n, 10);
	for (size_t i = 0; i < n; i++)
		t[i] = &trace[i];
	return n;
}

START_TEST(a_power_cut_leaves_the_old_or_the_new_key)
{
	const struct change *c = &changes[(size_t)_i % CHANGES];
	const struct fc_sim_event *t[EVENTS_MAX];
	struct fc_io *io = new_disk(), *before;
	size_t n, stored;

	spoil(io, _i / (int)CHANGES);
	before = fc_io_sim_clone(io);
	n = record(io, c, t, &stored);
	cut_everywhere(before, t, n, stored, c);
	fc_io_close(before);
	fc_io_close(io);
}
END_TEST

/* The container is mounted, and commits while one copy is written: its root asks for
 * the new header, of which the other copy is yet to come. */
START_TEST(a_commit_between_the_copies_leaves_the_new_key)
{
	const struct change *c = &changes[_i];
	const struct fc_sim_event *t[EVENTS_MAX], *mixed[EVENTS_MAX];
	struct fc_io *io = new_disk(), *before = fc_io_sim_clone(io);
	size_t n = record(io, c, t, &(size_t){ 0 }), k = 0;

	for (size_t i = 0; i < 3; i++)
		mixed[k++] = t[i];
	for (size_t i = 5; i < n; i++)
		mixed[k++] = t[i];
	for (size_t i = 3; i < 5; i++)
		mixed[k++] = t[i];
	cut_everywhere(before, mixed, k, k, c);
	fc_io_close(before);
	fc_io_close(io);
}
END_TEST

START_TEST(a_write_that_fails_leaves_a_key)
{
	const struct change *c = &changes[(size_t)_i % CHANGES];
	enum fc_sim_kind kind = _i / (int)CHANGES % 5 < 2 ? FC_SIM_WRITE : FC_SIM_SYNC; /* two, and three */
	int nth = _i / (int)CHANGES % 5 - (kind == FC_SIM_WRITE ? 0 : 2) + 1;
	struct fc_io *io = new_disk();
	struct fc_headers *headers = load(io);
	struct fc_header h = headers->copy[0];

	c->edit(&h);
	fc_io_sim_fail(io, kind, (uint64_t)nth, FC_EIO, false);
	ck_assert_int_eq(fc_slots_store(io, headers, 0, keys, 1, &h), FC_EIO);
	check_state(io, c, false, true);
	/* and the next try does it */
	apply(io, c->edit == edit_add || c->edit == edit_remove ? &changes[3] : c);
	check_state(io, &changes[3], true, true);
	fc_io_close(io);
}
END_TEST

/* ---- what a commit makes of it ---------------------------------------------------------- */

START_TEST(the_next_commit_asks_for_the_new_header)
{
	struct fc_io *io = new_disk(), *disk;
	uint64_t generation, now;
	struct fc_fs *fs;

	ck_assert_int_eq(open_fs(io, 0, false, &fs), 0);
	ck_assert_uint_eq(header_seq(io, &generation), 1);
	/* nothing to do: no commit */
	ck_assert_int_eq(fc_fs_commit(fs), 0);
	ck_assert_uint_eq(header_seq(io, &now), 1);
	ck_assert_uint_eq(now, generation);
	apply(io, &changes[1]); /* by another process */
	ck_assert_uint_eq(header_seq(io, NULL), 1);
	ck_assert_int_eq(fc_fs_commit(fs), 0);
	ck_assert_uint_eq(header_seq(io, &now), 2);
	ck_assert_uint_eq(now, generation + 1);
	ck_assert_int_eq(fc_fs_commit(fs), 0);
	ck_assert_uint_eq(header_seq(io, &now), 2);
	ck_assert_uint_eq(now, generation + 1);
	/* and so does closing, when nothing else was changed */
	apply(io, &changes[3]);
	disk = fc_io_sim_clone(io);
	fc_fs_abandon(fs);
	ck_assert_int_eq(open_fs(disk, 0, false, &fs), 0);
	ck_assert_uint_eq(header_seq(disk, NULL), 2);
	ck_assert_int_eq(fc_fs_commit(fs), 0);
	ck_assert_uint_eq(header_seq(disk, NULL), 3);
	ck_assert_int_eq(fc_fs_close(fs), 0);
}
END_TEST

/* Who has no key must not make the root ask for a header that does not exist. */
START_TEST(a_sequence_without_its_mac_counts_for_nothing)
{
	struct fc_io *io = new_disk();
	uint8_t raw[FC_HEADER_BYTES];
	uint64_t generation, now;
	struct fc_header h = load(io)->copy[1];
	struct fc_fs *fs;

	header_seq(io, &generation);
	ck_assert_int_eq(open_fs(io, 0, false, &fs), 0);
	h.sequence = UINT64_MAX;
	fc_header_encode(&h, FC_HEADER_B, keys->root /* the wrong key */, raw);
	ck_assert_int_eq(fc_io_write(io, raw, sizeof(raw), FC_HEADER_B), 0);
	ck_assert_int_eq(fc_fs_commit(fs), 0);
	ck_assert_uint_eq(header_seq(io, &now), 1);
	ck_assert_uint_eq(now, generation);
	ck_assert_int_eq(fc_fs_close(fs), 0);
}
END_TEST

/* The write of copy A has only begun when a commit looks. */
START_TEST(a_half_written_header_counts_for_nothing)
{
	struct fc_io *io = new_disk(), *disk = fc_io_sim_clone(io);
	const struct fc_sim_event *t;
	struct fc_fs *fs;
	size_t n;

	fc_io_sim_record(io, true);
	apply(io, &changes[1]);
	t = fc_io_sim_trace(io, &n);
	ck_assert_int_eq(open_fs(disk, 0, false, &fs), 0);
	ck_assert(t[1].kind == FC_SIM_WRITE);
	ck_assert_int_eq(fc_io_sim_apply(disk, &t[1], 0, FC_HEADER_FIXED), 0);
	ck_assert_int_eq(fc_fs_commit(fs), 0);
	ck_assert_uint_eq(header_seq(disk, NULL), 1);
	ck_assert_int_eq(fc_io_sim_apply(disk, &t[1], 0, UINT64_MAX), 0);
	ck_assert_int_eq(fc_fs_commit(fs), 0);
	ck_assert_uint_eq(header_seq(disk, NULL), 2);
	ck_assert_int_eq(fc_fs_close(fs), 0);
	fc_io_close(io);
}
END_TEST

/* What a daemon that was killed has written is on no disk yet. */
START_TEST(a_mount_syncs_before_it_writes_to_a_fixed_place)
{
	struct fc_cred cred = { .uid = 0, .gid = 0 };
	struct fc_io *io = new_disk();
	const struct fc_sim_event *t;
	struct fc_attr attr;
	struct fc_fs *fs;
	size_t n;

	fc_io_sim_record(io, true);
	ck_assert_int_eq(open_fs(io, 0, false, &fs), 0);
	ck_assert_int_eq(fc_fs_mkdir(fs, FC_INO_ROOT, "d", &cred, 0755, &attr), 0);
	t = fc_io_sim_trace(io, &n);
	ck_assert_uint_ge(n, 2);
	ck_assert(t[0].kind == FC_SIM_SYNC && t[1].kind == FC_SIM_WRITE);
	ck_assert_int_eq(fc_fs_close(fs), 0);
}
END_TEST

/* ---- an older header put back -------------------------------------------------------------- */

static void put_copy(struct fc_io *io, const uint8_t *raw, uint64_t at)
{
	ck_assert_int_eq(fc_io_write(io, raw, FC_HEADER_BYTES, at), 0);
}

START_TEST(an_older_header_is_refused_until_it_is_accepted)
{
	struct fc_io *io = new_disk(), *disk;
	struct fc_headers old = *load(io);
	uint64_t sequence;
	struct fc_fs *fs;

	apply(io, &changes[1]);
	raise_root(io);
	ck_assert_int_eq(unlock(io, "one", &sequence), FC_EBADKEY);
	/* in one copy: the removed key opens it, and is noticed as what it is */
	put_copy(io, old.raw[0], FC_HEADER_A);
	ck_assert_int_eq(unlock(io, "one", &sequence), 0);
	ck_assert_uint_eq(sequence, 1);
	ck_assert_int_eq(open_fs(fc_io_sim_clone(io), sequence, false, &fs), FC_EOLDER);
	ck_assert_int_eq(unlock(io, "new", &sequence), 0);
	ck_assert_uint_eq(sequence, 2);
	ck_assert_int_eq(open_fs(fc_io_sim_clone(io), sequence, false, &fs), 0);
	fc_fs_abandon(fs);
	/* in both */
	put_copy(io, old.raw[1], FC_HEADER_B);
	ck_assert_int_eq(unlock(io, "two", &sequence), 0);
	ck_assert_int_eq(open_fs(fc_io_sim_clone(io), sequence, false, &fs), FC_EOLDER);
	ck_assert_int_eq(open_fs(fc_io_sim_clone(io), 0, false, &fs), FC_EOLDER);
	/* accepting alone does not make the root forget */
	disk = fc_io_sim_clone(io);
	ck_assert_int_eq(open_fs(disk, sequence, true, &fs), 0);
	ck_assert_int_eq(fc_fs_commit(fs), 0);
	ck_assert_uint_eq(header_seq(disk, NULL), 2);
	ck_assert_int_eq(fc_fs_close(fs), 0);
	/* a change of it does */
	apply(io, &changes[0]);
	ck_assert_int_eq(unlock(io, "one", &sequence), 0);
	ck_assert_uint_eq(sequence, 3);
	ck_assert_int_eq(open_fs(io, sequence, false, &fs), 0);
	ck_assert_int_eq(fc_fs_close(fs), 0);
}
END_TEST

/* ---- the root that is written for it --------------------------------------------------------- */

static void check_same(const struct fc_root *got, const struct fc_root *want)
{
	uint8_t a[FC_ROOT_PLAIN], b[FC_ROOT_PLAIN];

	fc_root_encode(got, a);
	fc_root_encode(want, b);
	ck_assert_mem_eq(a, b, sizeof(a));
}

START_TEST(a_raised_root_is_the_same_but_for_the_header)
{
	struct fc_io *io = new_disk();
	struct fc_roots before, after;
	uint8_t tag[FC_TAG_BYTES];
	struct fc_root root;
	size_t n;
	const uint8_t *uuid = load(io)->copy[0].uuid;

	ck_assert_int_eq(fc_roots_load(io, keys, uuid, &before), 0);
	fc_io_sim_record(io, true);
	ck_assert_int_eq(fc_root_raise(io, keys, uuid, 1, 2000, &root, tag), 0); /* asked for already */
	fc_io_sim_trace(io, &n);
	ck_assert_uint_eq(n, 0);
	ck_assert_mem_eq(tag, before.tag[before.newest], FC_TAG_BYTES);
	ck_assert_int_eq(fc_root_raise(io, keys, uuid, 7, 2000, &root, tag), 0);
	ck_assert_int_eq(fc_roots_load(io, keys, uuid, &after), 0);
	ck_assert(!after.doubtful);
	ck_assert_int_eq(after.newest, !before.newest);
	ck_assert_mem_eq(tag, after.tag[after.newest], FC_TAG_BYTES);
	root = before.root[before.newest];
	root.generation++;
	root.header_seq = 7;
	root.time = 2000;
	check_same(&after.root[after.newest], &root);
	check_same(&after.root[before.newest], &before.root[before.newest]);
	fc_io_close(io);
}
END_TEST

START_TEST(a_doubtful_root_is_not_raised)
{
	static const uint8_t noise[FC_BLOCK] = { 1 };
	struct fc_io *io = new_disk();
	const uint8_t *uuid = load(io)->copy[0].uuid;
	uint8_t tag[FC_TAG_BYTES];
	struct fc_roots roots;
	struct fc_root root;
	uint64_t hash;

	ck_assert_int_eq(fc_roots_load(io, keys, uuid, &roots), 0);
	for (int copy = 0; copy < 2; copy++)
		ck_assert_int_eq(fc_io_write(io, noise, FC_BLOCK,
					     (copy ? FC_ROOT_B : FC_ROOT_A) + (uint64_t)roots.newest * FC_BLOCK),
				 0);
	hash = fc_io_sim_hash(io);
	ck_assert_int_eq(fc_root_raise(io, keys, uuid, 7, 2000, &root, tag), FC_EOLDER);
	ck_assert_uint_eq(fc_io_sim_hash(io), hash);
	fc_io_close(io);
}
END_TEST

/* What the tree freed before is handed out again only when no root needs it: files
 * are whole after a raise between commits, and after the log was replayed. */
START_TEST(content_survives_a_raise)
{
	struct fc_io *io = new_disk(), *disk;
	struct fc_attr attr;
	struct fc_fs *fs;
	char text[8192], want[8192];
	size_t got;

	for (int i = 0; i < 12; i++) {
		ck_assert_int_eq(open_fs(io, 0, false, &fs), 0);
		if (!i)
			ck_assert_int_eq(fc_fs_mknod(fs, FC_INO_ROOT, "f", &fixture_cred, 0100644, 0, &attr), 0);
		else
			ck_assert_int_eq(fc_fs_lookup(fs, FC_INO_ROOT, "f", &attr), 0);
		if (i) {
			memset(want, 'a' + i - 1, sizeof(want));
			ck_assert_int_eq(fc_fs_read(fs, attr.ino, 0, sizeof(text), text, &got), 0);
			ck_assert_uint_eq(got, sizeof(text));
			ck_assert_mem_eq(text, want, sizeof(text));
		}
		memset(text, 'a' + i, sizeof(text));
		ck_assert_int_eq(fc_fs_write(fs, attr.ino, 0, sizeof(text), text, 0), 0);
		/* committed, or in the log alone */
		ck_assert_int_eq(i % 3 ? fc_fs_commit(fs) : fc_fs_sync(fs), 0);
		disk = fc_io_sim_clone(io);
		fc_fs_abandon(fs);
		io = disk;
		apply(io, &changes[3]);
		raise_root(io);
	}
	fc_io_close(io);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("slots_crash");
	TCase *tc = tcase_create("slots_crash");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 250);
	tcase_add_checked_fixture(tc, init, done);
	tcase_add_loop_test(tc, a_power_cut_leaves_the_old_or_the_new_key, 0, (int)CHANGES * STARTS);
	tcase_add_loop_test(tc, a_commit_between_the_copies_leaves_the_new_key, 0, (int)CHANGES);
	tcase_add_loop_test(tc, a_write_that_fails_leaves_a_key, 0, (int)CHANGES * 5);
	tcase_add_test(tc, the_next_commit_asks_for_the_new_header);
	tcase_add_test(tc, a_sequence_without_its_mac_counts_for_nothing);
	tcase_add_test(tc, a_half_written_header_counts_for_nothing);
	tcase_add_test(tc, a_mount_syncs_before_it_writes_to_a_fixed_place);
	tcase_add_test(tc, an_older_header_is_refused_until_it_is_accepted);
	tcase_add_test(tc, a_raised_root_is_the_same_but_for_the_header);
	tcase_add_test(tc, a_doubtful_root_is_not_raised);
	tcase_add_test(tc, content_survives_a_raise);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
