/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening, closing, and making a container. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "fs/dir.h"
#include "fs/state.h"

#define CACHE_DEFAULT (64u << 20)
#define DIRTY_DEFAULT (64u << 20)

/* ---- memory --------------------------------------------------------------------- */

static struct fc_fs *new_fs(struct fc_io *io, const uint8_t master[FC_KEY_BYTES], const struct fc_fs_options *options)
{
	struct fc_fs *fs = calloc(1, sizeof(*fs));
	pthread_condattr_t attr;

	if (!fs)
		return NULL;
	fs->io = io;
	fs->options = *options;
	if (!fs->options.commit_seconds)
		fs->options.commit_seconds = 5;
	if (!fs->options.cache_bytes)
		fs->options.cache_bytes = CACHE_DEFAULT;
	if (!fs->options.dirty_bytes)
		fs->options.dirty_bytes = DIRTY_DEFAULT;
	fs->dirty_limit = fs->options.dirty_bytes / FC_BLOCK;
	fc_ahead_init(fs);
	fs->read_only = options->read_only;
	fs->oldest.prev = fs->oldest.next = &fs->oldest;
	fs->next_ino = FC_INO_FIRST;
	pthread_mutex_init(&fs->compact_lock, NULL);
	pthread_mutex_init(&fs->punch_lock, NULL);
	pthread_mutex_init(&fs->commit_lock, NULL);
	pthread_mutex_init(&fs->flush_lock, NULL);
	pthread_rwlock_init(&fs->lock, NULL);
	pthread_mutex_init(&fs->vnode_lock, NULL);
	pthread_mutex_init(&fs->work_lock, NULL);
	pthread_mutex_init(&fs->buffer_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&fs->work, &attr);
	pthread_cond_init(&fs->room, &attr);
	pthread_condattr_destroy(&attr);
	fc_journal_init(fs);
	fc_rekey_init(fs);
	fs->forest.io = io;
	fs->forest.files = (struct fc_tree){ .forest = &fs->forest, .kind = FC_TREE_FILE };
	fs->forest.spaces = (struct fc_tree){ .forest = &fs->forest, .kind = FC_TREE_SPACE };
	fs->keys = fc_keys_new(master);
	if (!fs->keys || fc_node_cache_init(&fs->forest.cache, fs->options.cache_bytes)) {
		fs->io = NULL;
		fc_fs_abandon(fs);
		return NULL;
	}
	return fs;
}

void fc_fs_abandon(struct fc_fs *fs)
{
	fc_threads_stop(fs);
	fc_page_fini(fs);
	fc_buffer_fini(fs);
	fc_vnode_fini(fs);
	fc_journal_fini(fs);
	fc_rekey_fini(fs);
	if (fs->forest.cache.bucket)
		fc_forest_fini(&fs->forest);
	fc_sessions_free(fs->sessions);
	fc_keys_free(fs->keys);
	fc_io_close(fs->io);
	pthread_cond_destroy(&fs->work);
	pthread_cond_destroy(&fs->room);
	pthread_mutex_destroy(&fs->compact_lock);
	pthread_mutex_destroy(&fs->punch_lock);
	pthread_mutex_destroy(&fs->commit_lock);
	pthread_mutex_destroy(&fs->flush_lock);
	pthread_rwlock_destroy(&fs->lock);
	pthread_mutex_destroy(&fs->vnode_lock);
	pthread_mutex_destroy(&fs->work_lock);
	pthread_mutex_destroy(&fs->buffer_lock);
	free(fs);
}

int fc_fs_close(struct fc_fs *fs)
{
	int r;

	fc_threads_stop(fs);
	r = fs->read_only ? 0 : fc_commit(fs, true);
	fc_fs_abandon(fs);
	return r;
}

/* ---- finding the state to start from ----------------------------------------------- */

static void set_place(struct fc_fs *fs, const struct fc_header *h)
{
	memcpy(fs->uuid, h->uuid, FC_UUID_BYTES);
	fs->cipher = h->cipher;
	fs->version = h->version;
	fs->log = (struct fc_log_place){ .io = fs->io, .offset = h->log_offset, .bytes = h->log_bytes };
}

/* The newest header copy that the key verifies. */
static int find_header(struct fc_io *io, const struct fc_keys *keys, struct fc_header *out)
{
	struct fc_headers *h = malloc(sizeof(*h));
	int r, best;

	if (!h)
		return FC_ENOMEM;
	r = fc_headers_load(io, h);
	best = r ? r : fc_headers_verified(h, keys->header);
	if (best >= 0)
		*out = h->copy[best];
	else
		r = best;
	free(h);
	return r;
}

/* The root that the newest one's predecessor left. FC_EOLDER: it cannot be read. */
static int other_root(struct fc_roots *roots)
{
	int other = (roots->newest + 1) % (int)FC_ROOT_SLOTS;

	if (roots->status[other][0] && roots->status[other][1])
		return FC_EOLDER;
	roots->newest = other;
	return 0;
}

/* Is there a copy that the disk did not give us? */
static bool unread(const struct fc_roots *roots)
{
	unsigned slot;

	for (slot = 0; slot < FC_ROOT_SLOTS; slot++)
		if (roots->status[slot][0] == FC_EIO || roots->status[slot][1] == FC_EIO)
			return true;
	return false;
}

/* The key of names stays that of the first master key: where items lie depends on it. */
static void take_names(struct fc_fs *fs, bool old_key)
{
	static const uint8_t none[FC_NAMES_BYTES];

	if (memcmp(fs->root.names, none, sizeof(none)))
		memcpy(fs->keys->names, fs->root.names, FC_NAMES_BYTES);
	else if (old_key)
		memcpy(fs->keys->names, fs->keys->old->names, FC_NAMES_BYTES);
	else
		return;
	fs->names_kept = true;
}

/* Which root to start from; FC_EOLDER when something newer was seen or is lost. */
static int find_root(struct fc_fs *fs)
{
	const struct fc_fs_options *o = &fs->options;
	struct fc_roots roots;
	int r = fc_roots_load(fs->io, fs->keys, fs->uuid, &roots);
	uint64_t seen = o->seen_generation;

	if (r)
		return r;
	if (fs->damage) {
		fs->damage->generation = roots.root[roots.newest].generation;
		r = fs->damage->avoid == fs->damage->generation ? other_root(&roots) : 0;
		if (r)
			return r;
	}
	fs->root_slot = (unsigned)roots.newest;
	fs->root = roots.root[roots.newest];
	memcpy(fs->root_tag, roots.tag[roots.newest], FC_TAG_BYTES);
	fc_root_sessions(&fs->root, roots.old_key[roots.newest], &fs->range);
	take_names(fs, roots.old_key[roots.newest]);
	if (fs->damage)
		return 0;
	if (fs->root.generation == seen && memcmp(fs->root_tag, o->seen_tag, FC_TAG_BYTES))
		roots.doubtful = true; /* another history with the same number */
	if (roots.doubtful && unread(&roots))
		return FC_EIO; /* may be read another time */
	if (!o->accept_older && (roots.doubtful || fs->root.generation < seen))
		return FC_EOLDER;
	return 0;
}

int fc_fs_drop_space(struct fc_fs *fs, int error)
{
	struct fc_forest *f = &fs->forest;
	uint64_t first_chunk = f->space.first_chunk;
	int r = fc_node_cache_reserve(&f->cache, FC_TREE_SPARES);

	if (r)
		return r;
	fs->damage->space = error;
	return fc_space_rebuild(f, first_chunk, NULL, 0, 0, 0);
}

static int load_space(struct fc_fs *fs, uint64_t first_chunk)
{
	const struct fc_root *root = &fs->root;
	int r = fc_space_load(&fs->forest, first_chunk, root->chunks, root->node_blocks, root->data_blocks);

	return r && fs->damage && r != FC_ENOMEM ? fc_fs_drop_space(fs, r) : r;
}

static int load_state(struct fc_fs *fs, const struct fc_header *h)
{
	const struct fc_root *root = &fs->root;
	struct fc_forest *f = &fs->forest;
	uint64_t sequence = fs->options.header_sequence ? fs->options.header_sequence : h->sequence;
	int r;

	if (sequence < root->header_seq && !fs->options.accept_older && !fs->damage)
		return FC_EOLDER; /* an old header was put back */
	fs->header_seq = root->header_seq;
	r = fc_sessions_load_range(fs->io, fs->keys, fs->cipher, fs->uuid, &fs->range, &fs->sessions);
	if (r)
		return r;
	fs->log.sessions = f->sessions = fs->sessions;
	fs->next_ino = root->next_ino;
	fs->inodes = root->inodes;
	f->files.root = root->file_tree;
	f->spaces.root = root->space_tree;
	f->txg = root->generation + 1;
	f->space.cap = root->cap;
	f->space.shared = root->shared;
	if (root->log.pos % FC_BLOCK || root->log.pos >= fs->log.bytes)
		return FC_ECORRUPT;
	fs->journal.head = root->log;
	r = load_space(fs, h->data_offset / FC_CHUNK_BYTES);
	if (r)
		return r;
	/* before the log: since the newest root became durable these blocks were free,
	 * and operations in the log may have taken them */
	fc_space_release(f, root->file_tree.generation - 1);
	if (root->generation > root->file_tree.generation) /* both roots have these trees */
		fc_space_release(f, root->file_tree.generation);
	return fs->read_only && fs->options.no_replay ? 0 : fc_replay(fs);
}

static void pass_seen(struct fc_fs *fs)
{
	struct fc_forest *f = &fs->forest;
	uint64_t newest = fs->root.generation;

	if (fs->options.seen_generation <= newest)
		return;
	/* going on from an older state: past the generation seen, so that no two
	 * histories share a number. The root before this one is given up. */
	fc_space_release(f, newest);
	f->txg = fs->options.seen_generation + 1;
}

/* Without its root directory nothing can be reached: better said now. */
static int check_root(struct fc_fs *fs)
{
	struct fc_inode root;
	int r = fc_inode_get(fs, FC_INO_ROOT, &root);

	if (r == FC_ESTALE || (!r && !S_ISDIR(root.mode)))
		r = FC_ECORRUPT;
	return r;
}

static int start(struct fc_fs *fs)
{
	int r = fs->damage ? 0 : check_root(fs);

	if (r || fs->read_only)
		return r;
	pass_seen(fs);
	fs->forest.space.ahead = 1;
	if (fs->dirty_root)
		r = fc_commit(fs, false);
	else
		r = 0;
	if (!r && fc_has_orphans(fs))
		r = fc_background_reclaim(fs);
	if (!r && fs->keys->old)
		fs->rekey.phase = FC_REKEY_BEGIN;
	if (!r && !fs->options.no_threads)
		r = fc_threads_start(fs);
	return r;
}

static int open_fs(struct fc_io *io, const uint8_t master[FC_KEY_BYTES], const struct fc_fs_options *options,
		   struct fc_damage *damage, struct fc_fs **out)
{
	struct fc_fs *fs = new_fs(io, master, options);
	struct fc_header *h = malloc(sizeof(*h));
	int r = fs && h ? 0 : FC_ENOMEM, unsynced = 0;

	/* A daemon that was killed may have left writes that no sync has covered: what is read
	 * here must be on the disk before anything is built on it, or one of two copies at a
	 * fixed place is written while the other one is not. */
	if (!r)
		unsynced = fc_io_sync(io);
	if (!r && unsynced && !damage && !options->read_only)
		r = unsynced;
	if (!r && damage) {
		fs->damage = damage;
		fs->read_only = true;
	}
	if (!r)
		r = find_header(io, fs->keys, h);
	if (!r)
		r = fc_keys_open_old(fs->keys, h);
	if (!r) {
		set_place(fs, h);
		r = find_root(fs);
	}
	if (!r)
		r = load_state(fs, h);
	if (!r)
		r = start(fs);
	free(h);
	if (!r) {
		if (fs->options.committed && !fs->damage && !unsynced)
			fs->options.committed(fs->options.arg, fs->root.generation, fs->root_tag);
		*out = fs;
		return 0;
	}
	if (fs)
		fc_fs_abandon(fs);
	else
		fc_io_close(io);
	return r;
}

int fc_fs_open(struct fc_io *io, const uint8_t master[FC_KEY_BYTES], const struct fc_fs_options *options,
	       struct fc_fs **out)
{
	return open_fs(io, master, options, NULL, out);
}

int fc_fs_open_again(struct fc_fs *fs, struct fc_io *io, struct fc_fs **out)
{
	struct fc_fs_options options = fs->options;
	int r = FC_EROFS;

	options.read_only = false;
	/* another state was shown than the one that writing would go on from, or perhaps so */
	if (fs->read_only && !fs->options.no_replay && !fs->options.accept_older && !fs->failed)
		r = open_fs(io, fs->keys->master, &options, NULL, out);
	else
		fc_io_close(io);
	if (!r)
		fc_vnode_ref_all(*out, fs);
	return r;
}

int fc_fs_open_damaged(struct fc_io *io, const uint8_t master[FC_KEY_BYTES], const struct fc_fs_options *options,
		       struct fc_damage *damage, struct fc_fs **out)
{
	return open_fs(io, master, options, damage, out);
}

int fc_fs_probe(struct fc_io *io, const uint8_t master[FC_KEY_BYTES], struct fc_fs_found *found)
{
	struct fc_keys *keys = fc_keys_new(master);
	struct fc_header *h = malloc(sizeof(*h));
	struct fc_roots *roots = malloc(sizeof(*roots));
	int r = keys && h && roots ? 0 : FC_ENOMEM;

	memset(found, 0, sizeof(*found));
	if (!r)
		r = find_header(io, keys, h);
	if (!r) {
		memcpy(found->uuid, h->uuid, FC_UUID_BYTES);
		r = fc_keys_open_old(keys, h);
	}
	if (!r)
		r = fc_roots_load(io, keys, h->uuid, roots);
	if (!r) {
		found->generation = roots->root[roots->newest].generation;
		found->time = roots->root[roots->newest].time;
		found->newest_lost = roots->doubtful;
		found->header_seq = roots->root[roots->newest].header_seq;
	}
	free(roots);
	free(h);
	fc_keys_free(keys);
	return r;
}

/* ---- making one ------------------------------------------------------------------------ */

/* Written in full: an overwrite and a sync is cheap later. */
static int write_log_area(struct fc_io *io, const struct fc_header *h)
{
	const size_t step = 256u << 10;
	uint8_t *zeros = calloc(1, step);
	uint64_t at;
	int r = zeros ? 0 : FC_ENOMEM;

	for (at = 0; !r && at < h->log_bytes; at += step)
		r = fc_io_write(io, zeros, h->log_bytes - at < step ? (size_t)(h->log_bytes - at) : step,
				h->log_offset + at);
	free(zeros);
	return r;
}

static void make_root_inode(struct fc_fs *fs, uint32_t uid, uint32_t gid, struct fc_time now)
{
	struct fc_inode root = { .ino = FC_INO_ROOT,
				 .mode = S_IFDIR | 0755,
				 .nlink = 2,
				 .uid = uid,
				 .gid = gid,
				 .atime = now,
				 .mtime = now,
				 .ctime = now,
				 .btime = now,
				 .next_seq = FC_DIR_FIRST_SEQ,
				 .parent = FC_INO_ROOT };

	(void)fc_inode_put(fs, &root);
	fs->inodes = 1;
}

/* Two commits: from then on every copy of every root slot holds a root. */
static int first_commits(struct fc_fs *fs, const struct fc_header *h, uint64_t cap, uint32_t uid, uint32_t gid,
			 struct fc_time now)
{
	struct fc_forest *f = &fs->forest;
	int r = fc_sessions_load(fs->io, fs->keys, fs->cipher, fs->uuid, 0, &fs->sessions);

	if (r)
		return r;
	fc_sessions_range(fs->sessions, &fs->range);
	fs->log.sessions = f->sessions = fs->sessions;
	fs->header_seq = h->sequence;
	f->txg = 1;
	f->space.first_chunk = h->data_offset / FC_CHUNK_BYTES;
	f->space.cap = cap;
	f->space.ahead = 1;
	fs->root_slot = 1;
	r = fc_node_cache_reserve(&f->cache, FC_TREE_SPARES);
	if (!r)
		r = fc_space_grow_nodes(f, 128);
	if (r)
		return r;
	fc_tree_make(&f->files);
	fc_tree_make(&f->spaces);
	make_root_inode(fs, uid, gid, now);
	fs->dirty_root = true;
	r = fc_commit(fs, false);
	fs->dirty_root = true;
	return r ? r : fc_commit(fs, true);
}

/* A salt is drawn, and a rekey gone on with, on a full disk too. */
static int allocate_salts(struct fc_io *io)
{
	uint64_t bytes = (uint64_t)FC_SALT_BLOCKS * FC_BLOCK;
	int r = fc_io_allocate(io, FC_SALTS_A, bytes);

	if (!r)
		r = fc_io_allocate(io, FC_SALTS_B, bytes);
	return r == FC_ENOTSUP ? 0 : r;
}

int fc_fs_format(struct fc_io *io, struct fc_header *header, const uint8_t master[FC_KEY_BYTES], uint64_t cap,
		 uint32_t uid, uint32_t gid, struct fc_time now)
{
	struct fc_fs_options options = { .no_threads = true, .cache_bytes = 1u << 20 };
	struct fc_fs *fs = new_fs(io, master, &options);
	int r;

	if (!fs)
		return FC_ENOMEM;
	header->version = FC_FORMAT_VERSION;
	header->sequence = 1;
	header->key_epoch = header->key_epoch ? header->key_epoch : 1;
	header->log_offset = FC_LOG_OFFSET;
	header->data_offset =
		(FC_LOG_OFFSET + header->log_bytes + FC_CHUNK_BYTES - 1) / FC_CHUNK_BYTES * FC_CHUNK_BYTES;
	set_place(fs, header);
	r = cap && cap < header->data_offset + 4 * FC_CHUNK_BYTES ? FC_EINVAL : 0;
	if (!r)
		r = allocate_salts(io);
	if (!r)
		r = write_log_area(io, header);
	if (!r)
		r = first_commits(fs, header, cap, uid, gid, now);
	/* last: what was interrupted before is not a container */
	if (!r)
		r = fc_header_store(io, header, fs->keys->header);
	fs->io = NULL; /* stays the caller's */
	fc_fs_abandon(fs);
	return r;
}
