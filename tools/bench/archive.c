/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive.h"
#include "corpus.h"

#define BLOCK (256u << 10)
#define EPOCH 1200000000 /* the time that the generated files bear */

static int archive_fail(struct bench_step *step, struct archive *a, const char *path)
{
	const char *why = archive_error_string(a);
	return fc_step_fail(step, "%s: unreadable or broken archive: %s", path, why ? why : "unknown error");
}

/* ---- making --------------------------------------------------------------- */

static int put_file(struct bench_step *step, struct archive *a, struct archive_entry *e, unsigned i, uint8_t *data)
{
	struct fc_corpus_file f;
	fc_corpus_describe(i, &f);
	fc_corpus_fill(&f, data);
	archive_entry_clear(e);
	archive_entry_set_pathname(e, f.path);
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_perm(e, (__LA_MODE_T)f.mode);
	archive_entry_set_size(e, (la_int64_t)f.bytes);
	archive_entry_set_mtime(e, EPOCH + (time_t)i, 0);
	if (archive_write_header(a, e) != ARCHIVE_OK || archive_write_data(a, data, f.bytes) != (la_ssize_t)f.bytes)
		return fc_step_fail(step, "writing the archive: %s", archive_error_string(a));
	return 0;
}

int fc_archive_make(struct bench_step *step, const char *path, unsigned files, const char **format)
{
	struct archive *a = archive_write_new();
	struct archive_entry *e = archive_entry_new();
	uint8_t *data = fc_bench_alloc(CORPUS_FILE_BYTES);
	int result = 0;
	archive_write_set_format_pax_restricted(a);
	*format = "tar, zstd";
	/* A libarchive without zstd would run a program, or have none at all. */
	if (archive_write_add_filter_zstd(a) != ARCHIVE_OK) {
		archive_write_free(a);
		a = archive_write_new();
		archive_write_set_format_pax_restricted(a);
		archive_write_add_filter_gzip(a);
		*format = "tar, gzip";
	}
	if (archive_write_open_filename(a, path) != ARCHIVE_OK)
		result = fc_step_fail(step, "%s: %s", path, archive_error_string(a));
	for (unsigned i = 0; !result && i < files; i++) {
		result = put_file(step, a, e, i, data);
		fc_step_progress(step, i, files);
	}
	if (archive_write_close(a) != ARCHIVE_OK && !result)
		result = fc_step_fail(step, "%s: %s", path, archive_error_string(a));
	archive_write_free(a);
	archive_entry_free(e);
	free(data);
	return result;
}

/* ---- reading -------------------------------------------------------------- */

static struct archive *open_archive(struct bench_step *step, const char *path)
{
	/* Names in archives that state their character set are converted to it. */
	setlocale(LC_CTYPE, "C.UTF-8");
	struct archive *a = archive_read_new();
	archive_read_support_filter_all(a);
	archive_read_support_format_all(a);
	if (archive_read_open_filename(a, path, BLOCK) == ARCHIVE_OK)
		return a;
	archive_fail(step, a, path);
	archive_read_free(a);
	return NULL;
}

/* The next entry: 1, none: 0. */
static int next_entry(struct bench_step *step, struct archive *a, const char *path, struct archive_entry **e)
{
	int r = archive_read_next_header(a, e);
	if (r == ARCHIVE_EOF)
		return 0;
	return r >= ARCHIVE_WARN ? 1 : archive_fail(step, a, path);
}

/* Passes all blocks of an entry on, to nowhere if disk is NULL. */
static int pass_data(struct bench_step *step, struct archive *a, struct archive *disk, const char *path,
		     uint64_t *bytes)
{
	const void *block;
	size_t n;
	la_int64_t at;
	for (;;) {
		int r = archive_read_data_block(a, &block, &n, &at);
		if (r == ARCHIVE_EOF)
			return 0;
		if (r < ARCHIVE_WARN)
			return archive_fail(step, a, path);
		*bytes += n;
		if (disk && archive_write_data_block(disk, block, n, at) < ARCHIVE_WARN)
			return fc_step_fail(step, "unpacking: %s", archive_error_string(disk));
	}
}

int fc_archive_scan(struct bench_step *step, const char *path, struct fc_archive_size *out)
{
	struct archive *a = open_archive(step, path);
	struct archive_entry *e;
	int more = -1;
	struct stat st = { 0 };
	stat(path, &st);
	memset(out, 0, sizeof(*out));
	while (a && (more = next_entry(step, a, path, &e)) > 0) {
		out->files++;
		if (pass_data(step, a, NULL, path, &out->bytes)) {
			more = -1;
			break;
		}
		fc_step_progress(step, (uint64_t)archive_filter_bytes(a, -1), (uint64_t)st.st_size);
	}
	if (!more && !out->files)
		more = fc_step_fail(step, "%s: unreadable or broken archive: there is nothing in it", path);
	if (a)
		archive_read_free(a);
	return more;
}

static int extract_entry(struct bench_step *step, struct archive *a, struct archive *disk, struct archive_entry *e,
			 const char *path)
{
	uint64_t bytes = 0;
	int r = archive_write_header(disk, e);
	/* A warning is an owner or an attribute that could not be set: of no concern here. */
	if (r < ARCHIVE_WARN)
		return fc_step_fail(step, "unpacking %s: %s", archive_entry_pathname(e), archive_error_string(disk));
	/* A zip that was written to a pipe tells sizes only after the data. */
	bool empty = archive_entry_size_is_set(e) && archive_entry_size(e) == 0;
	if (!empty && pass_data(step, a, disk, path, &bytes))
		return -1;
	if (archive_write_finish_entry(disk) < ARCHIVE_WARN)
		return fc_step_fail(step, "unpacking %s: %s", archive_entry_pathname(e), archive_error_string(disk));
	return 0;
}

int fc_archive_extract(struct bench_step *step, const char *path)
{
	struct archive *a = open_archive(step, path), *disk;
	struct archive_entry *e;
	int more = 0, flags = ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_SECURE_NODOTDOT |
			      ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS;
	if (!a)
		return -1;
	/* As GNU tar: who may give files away does. */
	if (!geteuid())
		flags |= ARCHIVE_EXTRACT_OWNER;
	struct stat st = { 0 };
	stat(path, &st);
	disk = archive_write_disk_new();
	archive_write_disk_set_options(disk, flags);
	archive_write_disk_set_standard_lookup(disk);
	while ((more = next_entry(step, a, path, &e)) > 0) {
		more = extract_entry(step, a, disk, e, path);
		if (more)
			break;
		fc_step_progress(step, (uint64_t)archive_filter_bytes(a, -1), (uint64_t)st.st_size);
	}
	if (archive_write_close(disk) < ARCHIVE_WARN && !more)
		more = fc_step_fail(step, "unpacking: %s", archive_error_string(disk));
	archive_write_free(disk);
	archive_read_free(a);
	return more;
}
