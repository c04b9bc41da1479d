/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "disk.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fusecrypt/check.h"
#include "key/slots.h"
#include "secret/secret.h"
#include "store/header.h"

const uint8_t fc_disk_master[FC_KEY_BYTES] = { 0x6b, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233 };

struct shell {
	struct fc_io io;
	struct fc_disk *disk;
};

static struct fc_disk *disk_of(struct fc_io *io)
{
	return ((struct shell *)io)->disk;
}

static int count(struct fc_disk *disk, enum fc_sim_kind kind, int error)
{
	disk->calls[kind]++;
	disk->failed[kind] += error != 0;
	return error;
}

static int shell_read(struct fc_io *io, void *buf, size_t n, uint64_t off)
{
	return count(disk_of(io), FC_SIM_READ, fc_io_read(disk_of(io)->sim, buf, n, off));
}

static int shell_write(struct fc_io *io, const void *buf, size_t n, uint64_t off)
{
	return count(disk_of(io), FC_SIM_WRITE, fc_io_write(disk_of(io)->sim, buf, n, off));
}

static int shell_sync(struct fc_io *io)
{
	return count(disk_of(io), FC_SIM_SYNC, fc_io_sync(disk_of(io)->sim));
}

static int shell_punch(struct fc_io *io, uint64_t off, uint64_t n)
{
	return count(disk_of(io), FC_SIM_PUNCH, fc_io_punch(disk_of(io)->sim, off, n));
}

static int shell_allocate(struct fc_io *io, uint64_t off, uint64_t n)
{
	return count(disk_of(io), FC_SIM_ALLOCATE, fc_io_allocate(disk_of(io)->sim, off, n));
}

static int shell_size(struct fc_io *io, uint64_t *bytes)
{
	return fc_io_size(disk_of(io)->sim, bytes);
}

static int shell_truncate(struct fc_io *io, uint64_t n)
{
	return fc_io_truncate(disk_of(io)->sim, n);
}

static void shell_ahead(struct fc_io *io, uint64_t off, uint64_t n)
{
	fc_io_ahead(disk_of(io)->sim, off, n);
}

static int shell_host_free(struct fc_io *io, uint64_t *bytes)
{
	return fc_io_host_free(disk_of(io)->sim, bytes);
}

static int shell_allocated(struct fc_io *io, uint64_t *bytes)
{
	return fc_io_allocated(disk_of(io)->sim, bytes);
}

static void shell_close(struct fc_io *io)
{
	free(io);
}

static const struct fc_io_ops shell_ops = {
	.read = shell_read,
	.read_bulk = shell_read,
	.write = shell_write,
	.write_bulk = shell_write,
	.sync = shell_sync,
	.punch = shell_punch,
	.allocate = shell_allocate,
	.size = shell_size,
	.truncate = shell_truncate,
	.ahead = shell_ahead,
	.host_free = shell_host_free,
	.allocated = shell_allocated,
	.close = shell_close,
};

static void *must(void *p, const char *what)
{
	if (!p) {
		fprintf(stderr, "%s: out of memory\n", what);
		abort();
	}
	return p;
}

struct fc_io *fc_disk_io(struct fc_disk *disk, bool read_only)
{
	struct shell *shell = must(calloc(1, sizeof(*shell)), "disk");

	shell->io.ops = &shell_ops;
	shell->io.read_only = read_only;
	shell->disk = disk;
	return &shell->io;
}

/* ---- keys ---------------------------------------------------------------------- */

static const uint8_t secret[2][64] = { "kept when it is re-keyed", "dropped then" };

static int make_slot(struct fc_slot *slot, uint32_t epoch, unsigned which, const uint8_t master[FC_KEY_BYTES])
{
	const struct fc_kdf_cost none = { FC_KDF_NONE, 0, 0 };

	return fc_slot_seal(slot, FC_SLOT_KIND_KEY_FILE, &none, epoch, 1700000000, secret[which], sizeof(secret[which]),
			    master);
}

int fc_disk_unlock(struct fc_disk *disk, bool other, uint8_t master[FC_KEY_BYTES])
{
	struct fc_headers *h = must(malloc(sizeof(*h)), "headers");
	int rc = fc_headers_load(disk->sim, h);

	if (!rc)
		rc = fc_slot_unlock(h, FC_SLOT_KIND_KEY_FILE, secret[other], sizeof(secret[other]), master, NULL);
	free(h);
	return rc;
}

/* The key so far is in keys; the header's copies are read. */
static int rekey_header(struct fc_io *io, struct fc_headers *h, int base, struct fc_keys *keys, uint64_t seed,
			uint8_t master[FC_KEY_BYTES])
{
	const struct fc_slot *slots[FC_SLOTS] = { 0 };
	struct fc_header *next = &h->copy[base];
	uint64_t floor = h->copy[fc_headers_verified(h, keys->header)].sequence;
	struct fc_keys *fresh;
	struct fc_slot slot;
	int rc;

	if (next->rekeying) { /* it stopped between the copies, or behind them */
		memcpy(master, keys->master, FC_KEY_BYTES);
		return fc_slots_settled(h, keys) ? 0 : fc_slots_store(io, h, base, keys, floor, next);
	}
	crypto_generichash(master, FC_KEY_BYTES, (const uint8_t *)&seed, sizeof(seed), keys->master, FC_KEY_BYTES);
	fresh = must(fc_keys_new(master), "keys");
	slots[0] = &slot;
	rc = make_slot(&slot, next->key_epoch + 1, 0, master);
	if (!rc)
		rc = fc_slots_rekey(next, keys, fresh, slots);
	if (!rc)
		rc = fc_slots_store(io, h, base, fresh, floor, next);
	fc_keys_free(fresh);
	return rc;
}

int fc_disk_rekey(struct fc_disk *disk, uint64_t seed, uint8_t master[FC_KEY_BYTES])
{
	struct fc_headers *h = must(malloc(sizeof(*h)), "headers");
	struct fc_io *io = disk->sim; /* another process's calls: not counted as the container's */
	struct fc_slot_found found;
	struct fc_keys *keys;
	int rc = fc_headers_load(io, h);

	if (!rc)
		rc = fc_slot_unlock(h, FC_SLOT_KIND_KEY_FILE, secret[0], sizeof(secret[0]), master, &found);
	if (!rc) {
		keys = must(fc_keys_new(master), "keys");
		rc = fc_slots_base(h, keys, found.at);
		if (rc >= 0)
			rc = rekey_header(io, h, rc, keys, seed, master);
		fc_keys_free(keys);
	}
	free(h);
	return rc;
}

void fc_disk_format(struct fc_disk *disk, uint32_t cipher, struct fc_time now)
{
	struct fc_header header = { .version = FC_FORMAT_VERSION,
				    .cipher = cipher,
				    .key_epoch = 1,
				    .log_bytes = FC_LOG_MIN,
				    .created = 1700000000 };
	struct fc_io *io;
	int error;

	memset(header.uuid, 0x42, sizeof(header.uuid));
	memset(disk, 0, sizeof(*disk));
	disk->sim = must(fc_io_sim(), "disk");
	io = fc_disk_io(disk, false);
	error = fc_secret_init();
	for (unsigned i = 0; !error && i < 2; i++)
		error = make_slot(&header.slots[i], 1, i, fc_disk_master);
	if (!error)
		error = fc_fs_format(io, &header, fc_disk_master, 0, 0, 0, now);
	fc_io_close(io);
	if (error) {
		fprintf(stderr, "format: %s\n", fc_error_text(error));
		abort();
	}
}

void fc_disk_clone(struct fc_disk *disk, const struct fc_disk *from)
{
	memset(disk, 0, sizeof(*disk));
	disk->sim = must(fc_io_sim_clone(from->sim), "disk");
}

void fc_disk_free(struct fc_disk *disk)
{
	fc_io_close(disk->sim);
	disk->sim = NULL;
}

size_t fc_disk_events(struct fc_disk *disk)
{
	size_t n;

	fc_io_sim_trace(disk->sim, &n);
	return n;
}

struct finding {
	char *text;
	size_t bytes, count;
};

static void keep_first(void *arg, const struct fc_check_finding *f)
{
	struct finding *first = arg;

	/* a torn copy of the header cannot be told from a damaged one */
	if (f->note || f->kind == FC_CHECK_HEADER)
		return;
	if (!first->count++)
		snprintf(first->text, first->bytes, "the checker found: %s, inode %llu: %s",
			 fc_check_kind_name(f->kind), (unsigned long long)f->ino, f->text);
}

int fc_disk_check(const struct fc_disk *disk, uint64_t generation, const uint8_t tag[FC_TAG_BYTES], char *text,
		  size_t text_bytes)
{
	struct finding first = { text, text_bytes, 0 };
	struct fc_check_options options = { .seen_generation = generation, .found = keep_first, .arg = &first };
	struct fc_check_result result;
	uint8_t master[FC_KEY_BYTES];
	struct fc_disk copy;
	int error;

	text[0] = 0;
	if (generation)
		memcpy(options.seen_tag, tag, FC_TAG_BYTES);
	fc_disk_clone(&copy, disk);
	error = fc_disk_unlock(&copy, false, master);
	if (!error)
		error = fc_check(fc_disk_io(&copy, true), master, &options, &result);
	fc_disk_free(&copy);
	if (error)
		return error;
	if ((result.older || result.newest_lost) && !text[0])
		snprintf(text, text_bytes, "the checker found an older state");
	return first.count || result.older || result.newest_lost;
}
