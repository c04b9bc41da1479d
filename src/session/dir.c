/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading directories. */
#include "session/session_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More than a directory's pages in one answer is never asked for by the kernel. */
#define FC_LISTING_MAX FC_MAX_TRANSFER

struct listing {
	fuse_req_t req;
	char *buf;
	size_t size, used;
	bool plus;
	/* Those whose reference the answer hands over. */
	uint64_t *taken;
	size_t taken_count;
};

/* For fc_fs_readdir: stops where an entry does not fit. */
static int add_entry(void *arg, const char *name, uint64_t ino, uint32_t type, uint64_t next_off,
		     const struct fc_attr *attr)
{
	struct listing *listing = arg;
	const struct fc_session *session = fuse_req_userdata(listing->req);
	/* Without attributes (dots), node 0 says that nothing is to be cached. */
	struct fuse_entry_param entry = { .attr = { .st_ino = ino, .st_mode = DTTOIF(type) } };
	char *at = listing->buf + listing->used;
	size_t room = listing->size - listing->used, n;

	if (listing->plus && attr)
		fc_attr_entry(session, attr, &entry);
	if (listing->plus)
		n = fuse_add_direntry_plus(listing->req, at, room, name, &entry, (off_t)next_off);
	else
		n = fuse_add_direntry(listing->req, at, room, name, &entry.attr, (off_t)next_off);
	if (n > room)
		return 1;
	if (entry.ino)
		listing->taken[listing->taken_count++] = entry.ino;
	listing->used += n;
	return 0;
}

static void reply_listing(struct listing *listing, struct fc_session *session)
{
	if (fuse_reply_buf(listing->req, listing->buf, listing->used) != -ENOENT)
		return;
	for (size_t i = 0; i < listing->taken_count; i++)
		fc_fs_forget(session->fs, listing->taken[i], 1);
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, bool plus)
{
	struct fc_session *session = fuse_req_userdata(req);
	struct listing listing = { .req = req, .plus = plus, .size = size < FC_LISTING_MAX ? size : FC_LISTING_MAX };
	int error = FC_ENOMEM;

	listing.buf = malloc(listing.size + 1);
	/* An entry with attributes takes more than 128 bytes. */
	listing.taken = plus ? calloc(listing.size / 128 + 1, sizeof(*listing.taken)) : NULL;
	if (listing.buf && (listing.taken || !plus))
		error = fc_fs_readdir(session->fs, ino, (uint64_t)off, plus, add_entry, &listing);
	/* What was found before the trouble is told; then it shows again. */
	if (error && !listing.used)
		fc_reply_error(req, error);
	else
		reply_listing(&listing, session);
	if (!error && !off)
		fc_attr_accessed(session, ino);
	free(listing.taken);
	free(listing.buf);
}

void fc_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)fi;
	list(req, ino, size, off, false);
}

void fc_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)fi;
	list(req, ino, size, off, true);
}
