/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/checker.h"

#include <stdlib.h>

#define CACHE_BYTES (64u << 20)

/* An operation of the log that could not be replayed. */
static void on_skipped(void *arg, uint64_t ino, int error)
{
	struct fc_checker *c = arg;
	const struct fc_found *last = c->findings.n ? FC_LIST_AT(&c->findings, struct fc_found, c->findings.n - 1)
						    : NULL;

	if (error == FC_EIO)
		c->disk_error = true;
	if (last && last->kind == FC_CHECK_LOG && last->ino == ino)
		return;
	fc_find(c, FC_CHECK_LOG, ino, "left out: this may be older than what was synced",
		"what was synced last cannot be brought in from the log: %s", fc_error_text(error));
}

static int open_fs(struct fc_checker *c, struct fc_io **io, const uint8_t master[FC_KEY_BYTES])
{
	const struct fc_check_options *o = c->options;
	struct fc_fs_options options = {
		.read_only = true,
		.accept_older = true,
		.no_threads = true,
		.cache_bytes = CACHE_BYTES,
		.now = o->now,
		.committed = o->committed,
		.arg = o->arg,
	};
	int r;

	if (!c->root_readable)
		c->damage.avoid = c->roots.root[c->roots.newest].generation;
	c->damage.skipped = on_skipped;
	c->damage.arg = c;
	fc_sessions_free(c->sessions); /* the fs has its own */
	c->sessions = NULL;
	r = fc_fs_open_damaged(*io, master, &options, &c->damage, &c->fs);
	*io = NULL;
	if (r)
		return r;
	c->io = c->fs->io;
	c->all = (c->fs->root.data_blocks + c->fs->root.node_blocks) + 1;
	return 0;
}

/* Is it the newest state, or one that may be gone on from? */
static int choose_state(struct fc_checker *c)
{
	const struct fc_root *roots = c->roots.root;
	int newest = c->roots.newest;
	const struct fc_root *root = &roots[c->root_readable ? newest : 1 - newest];

	if (c->options->repair && !c->options->accept_older &&
	    (c->result->older || c->roots.doubtful || (!c->root_readable && c->older_readable)))
		return FC_EOLDER;
	if (!c->root_readable && !c->older_readable)
		return c->disk_error ? FC_EIO : FC_EFORGED;
	c->result->generation = root->generation;
	c->result->time = root->time;
	return 0;
}

static int check(struct fc_checker *c, struct fc_io **io, const uint8_t master[FC_KEY_BYTES])
{
	int r = fc_check_copies(c);

	if (!r)
		r = choose_state(c);
	if (!r)
		r = open_fs(c, io, master);
	if (!r)
		r = fc_check_log(c);
	if (!r)
		r = fc_check_round(c);
	if (!r)
		r = fc_find_paths(c);
	if (r || !c->options->repair || !c->result->damages)
		return r;
	return c->disk_error ? FC_EIO : fc_check_repair(c);
}

static void free_all(struct fc_checker *c)
{
	struct fc_list *lists[] = { &c->salts_bad, &c->cur.gaps, &c->cur.names, &c->lost,  &c->recs,
				    &c->links,     &c->blobs,    &c->orphans,   &c->mends, &c->refs };
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		fc_list_free(lists[i]);
	fc_owners_free(&c->owners);
	fc_owners_free(&c->first);
	free(c->pend);
	free(c->data);
	if (c->fs)
		fc_fs_abandon(c->fs);
	fc_sessions_free(c->sessions);
	fc_keys_free(c->keys);
	free(c);
}

int fc_check(struct fc_io *io, const uint8_t master[FC_KEY_BYTES], const struct fc_check_options *options,
	     struct fc_check_result *result)
{
	struct fc_checker *c = calloc(1, sizeof(*c));
	int r = c ? 0 : FC_ENOMEM;

	memset(result, 0, sizeof(*result));
	if (!r) {
		c->options = options;
		c->result = result;
		c->io = io;
		c->keys = fc_keys_new(master);
		c->data = malloc((size_t)FC_EXTENT_UNITS * FC_UNIT);
		if (!c->keys || !c->data)
			r = FC_ENOMEM;
	}
	if (!r)
		r = check(c, &io, master);
	if (c) {
		fc_find_tell(c);
		free_all(c);
	}
	fc_io_close(io);
	return r;
}
