/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "box.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "content.h"
#include "store/header.h"

const uint8_t box_master[FC_KEY_BYTES] = { 7, 7, 7, 1 };
#define MOVING "dir-2/moving-"

static const struct fc_cred cred = { .uid = 1000, .gid = 100, .umask = 022 };

static struct fc_time now(void *arg)
{
	(void)arg;
	return (struct fc_time){ .sec = 1700000000, .nsec = 1 };
}

/* ---- a file list ------------------------------------------------------------------ */

static struct box_file *add(struct box *box, uint32_t mode, const char *format, ...)
{
	struct box_file *file;
	va_list args;

	if (box->files == box->room) {
		box->room = box->room * 2 + 64;
		box->file = realloc(box->file, box->room * sizeof(*box->file));
		if (!box->file)
			abort();
	}
	file = &box->file[box->files++];
	*file = (struct box_file){ .mode = mode, .nlink = 1, .first = BOX_OLDER, .last = BOX_RECORDS };
	va_start(args, format);
	if (vasprintf(&file->path, format, args) < 0)
		abort();
	va_end(args);
	return file;
}

void box_free(struct box *box)
{
	size_t i;

	for (i = 0; i < box->files; i++) {
		free(box->file[i].path);
		free(box->file[i].target);
	}
	free(box->file);
	fc_io_close(box->sim);
	fc_io_close(box->older);
}

/* ---- making it --------------------------------------------------------------------- */

static void expect(struct box *box, int error, const char *what)
{
	if (error == 0 || box->failed)
		return;
	fprintf(stderr, "making the container: %s: %s\n", what, fc_error_text(error));
	box->failed = true;
}

/* The directory of a path, and the name's place in it. */
static uint64_t parent_of(struct box *box, struct fc_fs *fs, const char *path, const char **name)
{
	uint64_t dir = FC_INO_ROOT;
	const char *slash;

	while ((slash = strchr(path, '/'))) {
		char part[FC_NAME_MAX + 1] = "";
		struct fc_attr attr;

		memcpy(part, path, (size_t)(slash - path));
		expect(box, fc_fs_lookup(fs, dir, part, &attr), path);
		dir = attr.ino;
		fc_fs_forget(fs, dir, 1);
		path = slash + 1;
	}
	*name = path;
	return dir;
}

/* Writes what the file holds, in pieces of several sizes, not in order. */
static void write_content(struct box *box, struct fc_fs *fs, uint64_t ino, const struct box_file *file)
{
	size_t step = file->seed % 3 == 0 ? 300000 : file->seed % 3 == 1 ? 40960 : 9000;
	uint8_t *buf = malloc(step);
	uint64_t at;

	for (at = 0; buf && at < file->size; at += step) {
		size_t n = file->size - at < step ? (size_t)(file->size - at) : step;

		content_fill(file->seed, file->holes, at, n, buf);
		if (!file->holes) {
			expect(box, fc_fs_write(fs, ino, at, n, buf, 0), file->path);
			continue;
		}
		for (size_t k = 0; k < n; k += FC_BLOCK - (at + k) % FC_BLOCK) {
			size_t left = FC_BLOCK - (at + k) % FC_BLOCK, part = n - k < left ? n - k : left;

			if (!content_is_hole((at + k) / FC_BLOCK))
				expect(box, fc_fs_write(fs, ino, at + k, part, buf + k, 0), file->path);
		}
	}
	if (file->holes) {
		struct fc_setattr set = { .valid = FC_SET_SIZE, .size = file->size };
		struct fc_attr attr;

		expect(box, fc_fs_setattr(fs, ino, &set, &attr), file->path);
	}
	free(buf);
}

static void set_attributes(struct box *box, struct fc_fs *fs, uint64_t ino, const struct box_file *file)
{
	uint8_t *value = malloc(CONTENT_BIG);

	if (file->small) {
		content_fill(file->small, false, 0, CONTENT_SMALL, value);
		expect(box, fc_fs_setxattr(fs, ino, CONTENT_SMALL_NAME, value, CONTENT_SMALL, 0, false), file->path);
	}
	if (file->big) {
		content_fill(file->big, false, 0, CONTENT_BIG, value);
		expect(box, fc_fs_setxattr(fs, ino, CONTENT_BIG_NAME, value, CONTENT_BIG, 0, false), file->path);
	}
	free(value);
}

static void create(struct box *box, struct fc_fs *fs, struct box_file *file)
{
	struct fc_attr attr = { 0 };
	const char *name;
	uint64_t dir = parent_of(box, fs, file->path, &name);
	int r;

	if (S_ISDIR(file->mode))
		r = fc_fs_mkdir(fs, dir, name, &cred, file->mode & 07777, &attr);
	else if (S_ISLNK(file->mode))
		r = fc_fs_symlink(fs, dir, name, &cred, file->target, &attr);
	else
		r = fc_fs_mknod(fs, dir, name, &cred, file->mode, file->rdev, &attr);
	expect(box, r, file->path);
	if (r)
		return;
	file->ino = attr.ino;
	if (S_ISREG(file->mode))
		write_content(box, fs, attr.ino, file);
	set_attributes(box, fs, attr.ino, file);
	fc_fs_forget(fs, attr.ino, 1);
}

static uint64_t ino_of(struct box *box, struct fc_fs *fs, const char *path)
{
	const char *name;
	uint64_t dir = parent_of(box, fs, path, &name);
	struct fc_attr attr = { 0 };

	expect(box, fc_fs_lookup(fs, dir, name, &attr), path);
	fc_fs_forget(fs, attr.ino, 1);
	return attr.ino;
}

static void link_to(struct box *box, struct fc_fs *fs, const char *from, const char *to)
{
	const char *name;
	uint64_t dir = parent_of(box, fs, to, &name);
	struct fc_attr attr;

	expect(box, fc_fs_link(fs, ino_of(box, fs, from), dir, name, &attr), to);
	fc_fs_forget(fs, attr.ino, 1);
}

static void unlink_at(struct box *box, struct fc_fs *fs, const char *path)
{
	const char *name;
	uint64_t dir = parent_of(box, fs, path, &name);

	expect(box, fc_fs_unlink(fs, dir, name), path);
}

/* Shares the blocks of one file with a new one. */
static void copy_to(struct box *box, struct fc_fs *fs, const struct box_file *from, struct box_file *to)
{
	struct fc_attr attr = { 0 };
	const char *name;
	uint64_t dir = parent_of(box, fs, to->path, &name), at, done = 1;

	expect(box, fc_fs_mknod(fs, dir, name, &cred, to->mode, 0, &attr), to->path);
	for (at = 0; at < to->size && done; at += done)
		expect(box, fc_fs_copy(fs, ino_of(box, fs, from->path), at, attr.ino, at, to->size - at, &done),
		       to->path);
	to->ino = attr.ino;
	fc_fs_forget(fs, attr.ino, 1);
}

/* ---- what is in it -------------------------------------------------------------------- */

static uint64_t size_of(unsigned i, uint64_t average)
{
	switch (i % 8) {
	case 0:
		return 0;
	case 1:
	case 2:
		return 1 + i * 37 % 2048;
	case 3:
		return 2049 + i * 101 % 3000;
	case 4:
		return average / 4 + i * 1009 % 4096;
	case 5:
		return FC_BLOCK * (1 + i % 5);
	default:
		return average * 3 + i * 12345 % 100000;
	}
}

static void plan_regular(struct box *box, unsigned i, const char *dir)
{
	uint64_t average = box->settings.bytes / (box->settings.files ? box->settings.files : 1);
	struct box_file *file = add(box, S_IFREG | (i % 3 ? 0644 : 0600), "%s/file-%u", dir, i);

	file->size = size_of(i, average);
	file->seed = 1000 + i;
	file->holes = i % 11 == 6;
	if (i % 7 == 3)
		file->small = 50000 + i;
	if (i % 64 == 9)
		file->big = 90000 + i;
}

static void plan_other(struct box *box, unsigned i, const char *dir)
{
	struct box_file *file;
	size_t n = i % 2 ? 20 : 3000, k;

	if (i % 60 == 12) {
		file = add(box, S_IFIFO | 0600, "%s/pipe-%u", dir, i);
	} else if (i % 60 == 24) {
		file = add(box, S_IFCHR | 0600, "%s/device-%u", dir, i);
		file->rdev = makedev(1, 3);
	} else {
		file = add(box, S_IFLNK | 0777, "%s/link-%u", dir, i);
		file->target = calloc(1, n + 1);
		for (k = 0; k < n; k++)
			file->target[k] = (char)('a' + (k + i) % 26);
		file->size = n;
	}
}

static void plan(struct box *box)
{
	unsigned i, dirs = box->settings.files / 24 + 2;

	for (i = 0; i < dirs; i++) {
		add(box, S_IFDIR | (i % 2 ? 0755 : 0700), "dir-%u", i)->nlink = 3;
		add(box, S_IFDIR | 0755, "dir-%u/sub", i)->nlink = 2;
	}
	for (i = 0; i < box->settings.files; i++) {
		char dir[32];

		snprintf(dir, sizeof(dir), i % 5 ? "dir-%u" : "dir-%u/sub", i % dirs);
		if (i % 12)
			plan_regular(box, i, dir);
		else
			plan_other(box, i, dir);
	}
}

/* Every tenth regular file gets a second name, every fifteenth is copied. */
static void add_links_and_copies(struct box *box, struct fc_fs *fs)
{
	size_t i, n = box->files;

	for (i = 0; i < n; i++) {
		struct box_file *file;
		const char *name = strrchr(box->file[i].path, '/');

		if (!S_ISREG(box->file[i].mode))
			continue;
		if (i % 10 == 1) {
			file = add(box, box->file[i].mode, "dir-1/hard-%s", name + 1);
			char *path = file->path;

			*file = box->file[i];
			file->path = path;
			file->nlink = box->file[i].nlink = 2;
			link_to(box, fs, box->file[i].path, file->path);
		} else if (i % 15 == 2 && box->file[i].size >= 3 * FC_BLOCK) {
			file = add(box, S_IFREG | 0644, "dir-0/copy-%s", name + 1);
			file->size = box->file[i].size;
			file->seed = box->file[i].seed;
			file->holes = box->file[i].holes;
			copy_to(box, fs, &box->file[i], file);
		}
	}
}

/* Frees and allocates over several commits, so that nothing lies in one piece. */
static void churn(struct box *box, struct fc_fs *fs)
{
	unsigned i, k;

	for (k = 0; k < 3; k++) {
		for (i = 0; i < 12; i++) {
			struct box_file file = { .mode = S_IFREG | 0600, .size = 30000 * (i % 4), .seed = 77 + i };
			char path[32];

			snprintf(path, sizeof(path), "dir-0/churn-%u", i);
			file.path = path;
			if (k)
				unlink_at(box, fs, path);
			if (k < 2)
				create(box, fs, &file);
		}
		expect(box, fc_fs_commit(fs), "commit");
	}
}

static void make_orphans(struct box *box, struct fc_fs *fs)
{
	for (unsigned i = 0; i < 5; i++) {
		struct box_file file = { .mode = S_IFREG | 0600, .size = 20000 * i, .seed = 500 + i, .small = i };
		struct fc_attr attr;
		char path[32];

		snprintf(path, sizeof(path), "orphan-%u", i);
		file.path = path;
		create(box, fs, &file);
		expect(box, fc_fs_lookup(fs, FC_INO_ROOT, path, &attr), path); /* held until the crash */
		unlink_at(box, fs, path);
		box->orphans++;
	}
}

/* Between the last two roots. */
static void add_late(struct box *box, struct fc_fs *fs)
{
	for (unsigned i = 0; i < 4; i++) {
		struct box_file *file = add(box, S_IFREG | 0644, "dir-2/late-%u", i);

		file->size = 900 * i * i * i;
		file->seed = 300 + i;
		file->first = BOX_ROOT;
		create(box, fs, file);
	}
}

/* What record n of the log holds. */
static void log_record(struct box *box, struct fc_fs *fs, int n)
{
	struct box_file *file = add(box, S_IFREG | 0644, "dir-2/logged-%d", n), changed = { 0 };
	char from[32], to[32], path[] = "dir-2/changed";
	const char *name;
	uint64_t dir;

	file->size = n % 2 ? 1500 : 9000 + (uint64_t)n * 30000;
	file->seed = 400 + (uint64_t)n;
	file->first = n;
	create(box, fs, file);
	/* the same place, other content: a state is told from the one before */
	changed.size = 50000;
	changed.seed = 600 + (uint64_t)n;
	changed.path = path;
	write_content(box, fs, ino_of(box, fs, changed.path), &changed);
	snprintf(from, sizeof(from), MOVING "%d", n - 1);
	snprintf(to, sizeof(to), "moving-%d", n);
	dir = parent_of(box, fs, from, &name);
	expect(box, fc_fs_rename(fs, dir, name, dir, to, 0, &cred), from);
	expect(box, fc_fs_sync(fs), "sync");
}

/* What the records change, as it is in each state. */
static void plan_logged(struct box *box)
{
	for (int n = 0; n <= BOX_RECORDS; n++) {
		struct box_file *changed = add(box, S_IFREG | 0644, "dir-2/changed"), *moving;

		changed->size = 50000;
		changed->seed = 600 + (uint64_t)n;
		changed->first = n ? n : BOX_OLDER;
		changed->last = n;
		moving = add(box, S_IFREG | 0644, MOVING "%d", n);
		moving->size = 700;
		moving->seed = 700;
		moving->first = changed->first;
		moving->last = n;
	}
}

static void fill(struct box *box, struct fc_fs *fs)
{
	size_t i, n;

	plan(box);
	n = box->files;
	for (i = 0; i < n; i++) {
		create(box, fs, &box->file[i]);
		if (i % 50 == 49)
			expect(box, fc_fs_background(fs), "background");
	}
	add_links_and_copies(box, fs);
	plan_logged(box);
	for (i = n; i < box->files; i++)
		if (box_has(&box->file[i], BOX_OLDER) && !strncmp(box->file[i].path, "dir-2/", 6))
			create(box, fs, &box->file[i]);
	make_orphans(box, fs);
	churn(box, fs);
}

static int open_sim(struct fc_io *io, bool read_only, bool accept_older, struct fc_fs **fs)
{
	struct fc_fs_options options = {
		.read_only = read_only, .accept_older = accept_older, .no_threads = true, .now = now
	};

	return fc_fs_open(io, box_master, &options, fs);
}

int box_open(const struct fc_io *sim, bool read_only, bool accept_older, struct fc_fs **fs)
{
	struct fc_io *io = fc_io_sim_clone((struct fc_io *)(uintptr_t)sim);

	return io ? open_sim(io, read_only, accept_older, fs) : FC_ENOMEM;
}

/* Files that are in several states have one inode; it is noted at one of them. */
static void set_inodes(struct box *box)
{
	size_t i, k;

	for (i = 0; i < box->files; i++)
		for (k = 0; !box->file[i].ino && k < i; k++)
			if (box->file[k].ino && (!strcmp(box->file[i].path, box->file[k].path) ||
						 (!strncmp(box->file[i].path, MOVING, sizeof(MOVING) - 1) &&
						  !strncmp(box->file[k].path, MOVING, sizeof(MOVING) - 1))))
				box->file[i].ino = box->file[k].ino;
}

int box_make(struct box *box, const struct box_settings *settings)
{
	struct fc_header header = { .version = FC_FORMAT_VERSION,
				    .cipher = settings->cipher,
				    .key_epoch = 1,
				    .log_bytes = settings->log_bytes,
				    .uuid = { 3, 1, 4 } };
	struct fc_io *io = fc_io_sim();
	struct fc_fs *fs;
	int n;

	*box = (struct box){ .settings = *settings };
	if (!io)
		return -1;
	expect(box, fc_fs_format(io, &header, box_master, 0, 1000, 100, now(NULL)), "format");
	expect(box, open_sim(io, false, false, &fs), "open");
	if (box->failed)
		return -1;
	fill(box, fs);
	box->older = fc_io_sim_clone(io);
	expect(box, fc_fs_commit(fs), "commit");
	add_late(box, fs);
	expect(box, fc_fs_commit(fs), "commit");
	for (n = 1; n <= BOX_RECORDS; n++)
		log_record(box, fs, n);
	box->sim = fc_io_sim_clone(io);
	fc_fs_abandon(fs);
	set_inodes(box);
	return box->failed || !box->sim || !box->older ? -1 : 0;
}
