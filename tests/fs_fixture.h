/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fresh file system on a simulated disk, driven without threads and with a
 * clock that stands still until a test moves it.
 */
#ifndef FC_TESTS_FS_FIXTURE_H
#define FC_TESTS_FS_FIXTURE_H

#include <check.h>
#include <string.h>

#include "fusecrypt/container.h"
#include "secret/secret.h"
#include "store/header.h"
#include "store/io.h"

struct fixture {
	struct fc_fs *fs;
	struct fc_io *io; /* the fs's */
	struct fc_time now;
};

static const uint8_t fixture_master[FC_KEY_BYTES] = { 1, 2, 3 };
static const struct fc_cred fixture_cred = { .uid = 1000, .gid = 100, .umask = 022 };

static struct fc_time fixture_now(void *arg)
{
	return ((struct fixture *)arg)->now;
}

static inline void fixture_mount(struct fixture *f, struct fc_io *io)
{
	struct fc_fs_options options = { .no_threads = true, .now = fixture_now, .arg = f };

	f->io = io;
	ck_assert_int_eq(fc_fs_open(io, fixture_master, &options, &f->fs), 0);
}

static inline void fixture_open(struct fixture *f)
{
	struct fc_header header = { .version = FC_FORMAT_VERSION,
				    .cipher = FC_CIPHER_XCHACHA20POLY1305,
				    .key_epoch = 1,
				    .log_bytes = 1u << 20,
				    .uuid = { 9 } };
	struct fc_io *io = fc_io_sim();

	ck_assert_int_eq(fc_secret_init(), 0);
	f->now = (struct fc_time){ .sec = 1000, .nsec = 5 };
	ck_assert_ptr_nonnull(io);
	ck_assert_int_eq(fc_fs_format(io, &header, fixture_master, 0, 0, 0, f->now), 0);
	fixture_mount(f, io);
}

static inline void fixture_close(struct fixture *f)
{
	ck_assert_int_eq(fc_fs_close(f->fs), 0);
}

/* Commits, forgets all that is in memory, mounts again. */
static inline void fixture_reopen(struct fixture *f)
{
	struct fc_io *io;

	ck_assert_int_eq(fc_fs_commit(f->fs), 0);
	io = fc_io_sim_clone(f->io);
	ck_assert_ptr_nonnull(io);
	fc_fs_abandon(f->fs);
	fixture_mount(f, io);
}

/* As reopen, but what is not committed comes from the log. */
static inline void fixture_replay(struct fixture *f)
{
	struct fc_io *io;

	ck_assert_int_eq(fc_fs_sync(f->fs), 0);
	io = fc_io_sim_clone(f->io);
	ck_assert_ptr_nonnull(io);
	fc_fs_abandon(f->fs);
	fixture_mount(f, io);
}

#endif
