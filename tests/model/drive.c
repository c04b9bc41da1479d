/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive_priv.h"
#include "fs/state.h"
#include "tree/space_map.h"

#include <stdarg.h>
#include <time.h>

enum fc_drive_end fc_drive_differs(struct fc_drive *d, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(d->message, sizeof(d->message), format, args);
	va_end(args);
	return FC_DRIVE_DIFFERS;
}

bool fc_drive_faulted(struct fc_drive *d, int error)
{
	d->error = error;
	return error < 0 && error > -64 && d->faults & FC_ERR(error);
}

static const char *error_name(int error)
{
	switch (error) {
#define FC_ERROR_NAME(name, value, err, text) \
	case value: \
		return #name;
		FC_ERRORS(FC_ERROR_NAME)
#undef FC_ERROR_NAME
	default:
		return "?";
	}
}

enum fc_drive_end fc_drive_verdict(struct fc_drive *d, int error, fc_errors want)
{
	char names[128] = "";

	if (error == 0 ? want == 0 : error < 0 && error > -64 && want & FC_ERR(error))
		return FC_DRIVE_SAME;
	for (int e = 1; e < 64; e++)
		if (want & FC_ERR(-e))
			snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s", error_name(-e));
	return fc_drive_differs(d, "answer %d (%s), right is%s", error, error ? error_name(error) : "success",
				want ? names : " success");
}

uint64_t fc_drive_ino(struct fc_drive *d, uint32_t node)
{
	return node < d->inos ? d->ino[node] : 0;
}

enum fc_drive_end fc_drive_bind(struct fc_drive *d, uint32_t node, uint64_t ino, bool made)
{
	if (node >= d->inos) {
		uint32_t n = node * 2 + 64;

		d->ino = realloc(d->ino, n * sizeof(*d->ino));
		if (!d->ino)
			abort();
		memset(d->ino + d->inos, 0, (n - d->inos) * sizeof(*d->ino));
		d->inos = n;
	}
	if (d->ino[node] ? d->ino[node] != ino : made && ino <= d->ino_top)
		return fc_drive_differs(d, "node %u is inode %llu, was %llu (highest %llu)", (unsigned)node,
					(unsigned long long)ino, (unsigned long long)d->ino[node],
					(unsigned long long)d->ino_top);
	d->ino[node] = ino;
	if (ino > d->ino_top)
		d->ino_top = ino;
	return FC_DRIVE_SAME;
}

static bool same_time(struct fc_time a, struct fc_time b)
{
	return a.sec == b.sec && a.nsec == b.nsec;
}

/* st_blocks: at most what was written or allocated, at least what is not zero. */
static enum fc_drive_end check_blocks(struct fc_drive *d, uint32_t node, const struct fc_attr *got)
{
	uint64_t least, most;

	fc_model_blocks(d->model, node, &least, &most);
	if (got->size <= FC_INLINE_MAX) /* it may lie in the tree, and count as much as its bytes take */
		least = 0;
	if (got->size <= FC_INLINE_MAX && got->blocks == (got->size + 511) / 512)
		return FC_DRIVE_SAME;
	if (got->blocks < least * 8 || got->blocks > most * 8 || got->blocks % 8)
		return fc_drive_differs(d, "node %u: %llu blocks, right is %llu to %llu", (unsigned)node,
					(unsigned long long)got->blocks, (unsigned long long)least * 8,
					(unsigned long long)most * 8);
	return FC_DRIVE_SAME;
}

enum fc_drive_end fc_drive_check_attr(struct fc_drive *d, uint32_t node, const struct fc_attr *got)
{
	const struct fc_attr *want = fc_model_attr(d->model, node);

	if (got->mode != want->mode || got->nlink != want->nlink || got->uid != want->uid || got->gid != want->gid)
		return fc_drive_differs(d, "node %u: mode %o, %u links, owner %u:%u; right is %o, %u, %u:%u",
					(unsigned)node, (unsigned)got->mode, (unsigned)got->nlink, (unsigned)got->uid,
					(unsigned)got->gid, (unsigned)want->mode, (unsigned)want->nlink,
					(unsigned)want->uid, (unsigned)want->gid);
	if (!S_ISDIR(want->mode) && (got->size != want->size || got->rdev != want->rdev))
		return fc_drive_differs(d, "node %u: size %llu, rdev %llx; right is %llu, %llx", (unsigned)node,
					(unsigned long long)got->size, (unsigned long long)got->rdev,
					(unsigned long long)want->size, (unsigned long long)want->rdev);
	for (int i = 0; i < 4; i++) {
		static const char *const names[] = { "access", "modification", "change", "birth" };
		const struct fc_time g[] = { got->atime, got->mtime, got->ctime, got->btime };
		const struct fc_time w[] = { want->atime, want->mtime, want->ctime, want->btime };

		if (!same_time(g[i], w[i]))
			return fc_drive_differs(d, "node %u: %s time %lld.%09u, right is %lld.%09u", (unsigned)node,
						names[i], (long long)g[i].sec, (unsigned)g[i].nsec, (long long)w[i].sec,
						(unsigned)w[i].nsec);
	}
	if (fc_drive_ino(d, node) != got->ino)
		return fc_drive_differs(d, "node %u: inode %llu, was %llu", (unsigned)node,
					(unsigned long long)got->ino, (unsigned long long)fc_drive_ino(d, node));
	return S_ISREG(want->mode) ? check_blocks(d, node, got) : FC_DRIVE_SAME;
}

/* ---- open and close -------------------------------------------------------- */

void fc_drive_init(struct fc_drive *d, struct fc_disk *disk, struct fc_model *model)
{
	memset(d, 0, sizeof(*d));
	d->disk = disk;
	d->model = model;
	d->now = fc_script_time(0);
	pthread_mutex_init(&d->lock, NULL);
	for (int i = 0; i < 2; i++) {
		d->buf[i] = malloc(FC_SCRIPT_WRITE_MAX + 1);
		if (!d->buf[i])
			abort();
	}
	fc_drive_bind(d, FC_INO_ROOT, FC_INO_ROOT, false);
}

void fc_drive_free(struct fc_drive *d)
{
	if (d->fs)
		fc_fs_abandon(d->fs);
	fc_model_free(d->model);
	fc_drive_scan_drop(d);
	free(d->ino);
	free(d->buf[0]);
	free(d->buf[1]);
	fc_text_free(&d->want);
	fc_text_free(&d->got);
	pthread_mutex_destroy(&d->lock);
}

static struct fc_time clock_now(void *arg)
{
	struct fc_drive *d = arg;
	struct fc_time now;

	pthread_mutex_lock(&d->lock);
	now = d->now;
	pthread_mutex_unlock(&d->lock);
	return now;
}

static void set_clock(struct fc_drive *d, struct fc_time now)
{
	pthread_mutex_lock(&d->lock);
	d->now = now;
	pthread_mutex_unlock(&d->lock);
}

static void committed(void *arg, uint64_t generation, const uint8_t tag[FC_TAG_BYTES])
{
	struct fc_drive *d = arg;

	pthread_mutex_lock(&d->lock);
	d->generation = generation;
	memcpy(d->tag, tag, FC_TAG_BYTES);
	pthread_mutex_unlock(&d->lock);
}

uint64_t fc_drive_root(struct fc_drive *d, uint8_t tag[FC_TAG_BYTES])
{
	uint64_t generation;

	pthread_mutex_lock(&d->lock);
	generation = d->generation;
	memcpy(tag, d->tag, FC_TAG_BYTES);
	pthread_mutex_unlock(&d->lock);
	return generation;
}

static void keep_line(void *arg, int priority, const char *text)
{
	struct fc_drive *d = arg;

	(void)priority;
	snprintf(d->log, sizeof(d->log), "%s", text);
}

/* Looks every name below dir up. */
static enum fc_drive_end attach(struct fc_drive *d, uint32_t dir)
{
	struct fc_model_entry entry;
	enum fc_drive_end end = FC_DRIVE_SAME;

	for (size_t i = 0; end == FC_DRIVE_SAME && fc_model_entry(d->model, dir, i, &entry); i++) {
		struct fc_attr attr;
		int error = fc_fs_lookup(d->fs, fc_drive_ino(d, dir), entry.name, &attr);

		if (fc_drive_faulted(d, error))
			return FC_DRIVE_FAULT;
		if (error)
			return fc_drive_differs(d, "lookup of node %u after opening: %s", (unsigned)entry.node,
						error_name(error));
		end = fc_drive_bind(d, entry.node, attr.ino, false);
		if (end == FC_DRIVE_SAME)
			end = fc_drive_check_attr(d, entry.node, &attr);
		fc_fs_forget(d->fs, attr.ino, 1);
		if (end == FC_DRIVE_SAME && S_ISDIR(attr.mode))
			end = attach(d, entry.node);
	}
	return end;
}

enum fc_drive_end fc_drive_open(struct fc_drive *d, bool read_only)
{
	struct fc_fs_options options = { .read_only = read_only,
					 .no_threads = true,
					 .now = clock_now,
					 .committed = committed,
					 .log = keep_line,
					 .arg = d };
	uint8_t master[FC_KEY_BYTES];
	int error;

	options.seen_generation = fc_drive_root(d, options.seen_tag);
	error = fc_disk_unlock(d->disk, false, master);
	if (!error)
		error = fc_fs_open(fc_disk_io(d->disk, read_only), master, &options, &d->fs);
	if (error)
		d->fs = NULL;
	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	if (error)
		return fc_drive_differs(d, "open: %s (%s)", error_name(error), d->log);
	fc_model_reopen(d->model);
	return attach(d, FC_INO_ROOT);
}

enum fc_drive_end fc_drive_close(struct fc_drive *d)
{
	int error = fc_fs_close(d->fs);

	d->fs = NULL;
	fc_drive_scan_drop(d);
	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	return error ? fc_drive_differs(d, "close: %s", error_name(error)) : FC_DRIVE_SAME;
}

enum fc_drive_end fc_drive_compare(struct fc_drive *d, unsigned how, bool counts)
{
	struct fc_fs_stat st;
	uint64_t inodes;
	unsigned errors;
	int error;

	fc_text_clear(&d->want);
	fc_text_clear(&d->got);
	fc_walk_model(d->model, &d->want);
	errors = fc_walk_container(d->fs, how, &d->got, &inodes);
	if (errors || d->want.n != d->got.n || memcmp(d->want.bytes, d->got.bytes, d->want.n) != 0) {
		fc_text_diff(&d->want, &d->got);
		return fc_drive_differs(d, "the trees differ (%u errors)", errors);
	}
	error = fc_fs_statfs(d->fs, &st);
	if (error)
		return fc_drive_differs(d, "statfs: %s", error_name(error));
	if (counts && st.inodes != inodes)
		return fc_drive_differs(d, "statfs counts %llu inodes, the tree has %llu",
					(unsigned long long)st.inodes, (unsigned long long)inodes);
	return FC_DRIVE_SAME;
}

/* ---- steps about the whole container ------------------------------------------ */

static enum fc_drive_end simple(struct fc_drive *d, int error)
{
	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	return fc_drive_verdict(d, error, 0);
}

static enum fc_drive_end step_sync(struct fc_drive *d, struct fc_step *s)
{
	(void)s;
	return simple(d, fc_fs_sync(d->fs));
}

static enum fc_drive_end step_commit(struct fc_drive *d, struct fc_step *s)
{
	(void)s;
	return simple(d, fc_fs_commit(d->fs));
}

static enum fc_drive_end step_background(struct fc_drive *d, struct fc_step *s)
{
	(void)s;
	return simple(d, fc_fs_background(d->fs));
}

/* What another thread has in flight it has to wait for; that may not take for ever. */
static int rekey_step(struct fc_fs *fs)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	int error = fc_fs_rekey_step(fs);

	for (unsigned i = 0; error == FC_EAGAIN && i < 20000; i++) {
		nanosleep(&moment, NULL);
		error = fc_fs_rekey_step(fs);
	}
	return error;
}

/* Begins a rekey, or goes on with one: some steps of it. */
static enum fc_drive_end step_rekey(struct fc_drive *d, struct fc_step *s)
{
	uint8_t master[FC_KEY_BYTES];
	struct fc_fs_stat st;
	uint64_t i;
	int error = fc_fs_statfs(d->fs, &st);

	if (!error && !st.rekeying)
		error = fc_disk_rekey(d->disk, s->seed, master);
	if (!error && !st.rekeying)
		error = fc_fs_rekey(d->fs, master);
	for (i = 0; error >= 0 && i < s->bytes; i++)
		error = rekey_step(d->fs);
	return simple(d, error < 0 ? error : 0);
}

/* What is written next lies far up, in a chunk that compacting can empty. */
static int scatter(struct fc_fs *fs)
{
	struct fc_space *s = &fs->forest.space;
	size_t n = s->chunks;
	int error;

	pthread_rwlock_wrlock(&fs->lock);
	error = fc_space_extend(s, n + 2);
	if (!error)
		error = fc_space_solidify(&fs->forest, n, 2);
	if (error)
		s->chunks = n;
	else
		s->data_at = n + 1;
	pthread_rwlock_unlock(&fs->lock);
	return error;
}

/* To the end, or left off after some steps: to begin anew, or to go on another time. */
static enum fc_drive_end step_compact(struct fc_drive *d, struct fc_step *s)
{
	unsigned steps = 0, most = s->now.nsec / 2000 % 3 ? UINT32_MAX : s->now.nsec / 6000 % 4;
	struct fc_fs_compacting done;
	int error;

	if (s->now.nsec / 1000 % 2 && !d->fs->failed)
		return simple(d, scatter(d->fs));
	do
		error = fc_fs_compact(d->fs, &done);
	while (!error && !done.done && ++steps < most);
	if (!error && !done.done && s->now.nsec / 24000 % 2)
		fc_fs_compact_end(d->fs);
	return simple(d, error);
}

/* What the checker says of the closed container. */
static enum fc_drive_end check(struct fc_drive *d)
{
	uint8_t tag[FC_TAG_BYTES];
	uint64_t generation = fc_drive_root(d, tag);
	int error = fc_disk_check(d->disk, generation, tag, d->message, sizeof(d->message));

	if (error < 0)
		return fc_drive_differs(d, "the checker failed: %s", error_name(error));
	return error ? FC_DRIVE_DIFFERS : FC_DRIVE_SAME;
}

/* Closes and opens; the tree was and is that of the model. */
static enum fc_drive_end reopen(struct fc_drive *d, bool read_only)
{
	enum fc_drive_end end = fc_drive_close(d);

	if (end == FC_DRIVE_SAME)
		end = check(d);
	if (end == FC_DRIVE_SAME)
		end = fc_drive_open(d, read_only);
	return end == FC_DRIVE_SAME ? fc_drive_compare(d, 0, !read_only) : end; /* a reader keeps orphans */
}

static enum fc_drive_end step_reopen(struct fc_drive *d, struct fc_step *s)
{
	(void)s;
	return reopen(d, false);
}

/* A reader leaves every byte as it is, and refuses to change anything. */
static enum fc_drive_end step_reopen_read_only(struct fc_drive *d, struct fc_step *s)
{
	enum fc_drive_end end = reopen(d, true);
	uint64_t before, after;
	struct fc_attr attr;
	int error;

	(void)s;
	if (end != FC_DRIVE_SAME)
		return end;
	before = fc_io_sim_hash(d->disk->sim);
	error = fc_fs_mkdir(d->fs, FC_INO_ROOT, "read-only", &s->cred, 0755, &attr);
	if (error != FC_EROFS)
		return fc_drive_differs(d, "mkdir while read-only: %d", error);
	end = fc_drive_close(d);
	after = fc_io_sim_hash(d->disk->sim);
	if (end == FC_DRIVE_SAME && before != after)
		return fc_drive_differs(d, "the disk changed while it was open read-only");
	return end == FC_DRIVE_SAME ? fc_drive_open(d, false) : end;
}

/* All was synced: nothing is lost. */
static enum fc_drive_end step_power_cut(struct fc_drive *d, struct fc_step *s)
{
	enum fc_drive_end end = step_sync(d, s);

	if (end != FC_DRIVE_SAME)
		return end;
	fc_fs_abandon(d->fs);
	d->fs = NULL;
	fc_drive_scan_drop(d);
	end = fc_drive_open(d, false);
	return end == FC_DRIVE_SAME ? fc_drive_compare(d, FC_WALK_PLUS, true) : end;
}

static enum fc_drive_end step_compare(struct fc_drive *d, struct fc_step *s)
{
	return fc_drive_compare(d, FC_WALK_WHOLE | (s->now.nsec & 8 ? FC_WALK_PLUS : 0), false);
}

static enum fc_drive_end (*const run[FC_STEP_KINDS])(struct fc_drive *, struct fc_step *) = {
	[FC_STEP_LOOKUP] = fc_drive_lookup,
	[FC_STEP_FORGET] = fc_drive_forget,
	[FC_STEP_GETATTR] = fc_drive_getattr,
	[FC_STEP_SETATTR] = fc_drive_setattr,
	[FC_STEP_MKNOD] = fc_drive_mknod,
	[FC_STEP_MKDIR] = fc_drive_mkdir,
	[FC_STEP_SYMLINK] = fc_drive_symlink,
	[FC_STEP_TMPFILE] = fc_drive_tmpfile,
	[FC_STEP_LINK] = fc_drive_link,
	[FC_STEP_UNLINK] = fc_drive_unlink,
	[FC_STEP_RMDIR] = fc_drive_rmdir,
	[FC_STEP_RENAME] = fc_drive_rename,
	[FC_STEP_SCAN] = fc_drive_scan,
	[FC_STEP_READ] = fc_drive_read,
	[FC_STEP_WRITE] = fc_drive_write,
	[FC_STEP_FALLOCATE] = fc_drive_fallocate,
	[FC_STEP_SEEK] = fc_drive_seek,
	[FC_STEP_COPY] = fc_drive_copy,
	[FC_STEP_GETXATTR] = fc_drive_getxattr,
	[FC_STEP_SETXATTR] = fc_drive_setxattr,
	[FC_STEP_REMOVEXATTR] = fc_drive_removexattr,
	[FC_STEP_SYNC] = step_sync,
	[FC_STEP_COMMIT] = step_commit,
	[FC_STEP_BACKGROUND] = step_background,
	[FC_STEP_REKEY] = step_rekey,
	[FC_STEP_COMPACT] = step_compact,
	[FC_STEP_REOPEN] = step_reopen,
	[FC_STEP_REOPEN_READ_ONLY] = step_reopen_read_only,
	[FC_STEP_POWER_CUT] = step_power_cut,
	[FC_STEP_COMPARE] = step_compare,
};

enum fc_drive_end fc_drive_step(struct fc_drive *d, struct fc_step *step)
{
	enum fc_drive_end end;

	set_clock(d, step->now);
	d->error = 0;
	fc_model_clock(d->model, step->now);
	end = run[step->kind](d, step);
	if (end == FC_DRIVE_SAME)
		d->count[step->kind][d->error < 0]++;
	return end;
}
