/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unpacking an archive in the directory in which it lies. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive.h"
#include "corpus.h"
#include "files.h"
#include "workload.h"

static const unsigned files_of[] = { [BENCH_QUICK] = 600, [BENCH_NORMAL] = 9000, [BENCH_FULL] = 90000 };

/* keep[]: what the tree must be, as unpacked once in the baseline place */
enum { KEEP_FILES, KEEP_DIRECTORIES, KEEP_LINKS, KEEP_OTHERS, KEEP_BYTES, KEEP_HASH };

static void needs(const struct bench *bench, struct bench_needs *needs)
{
	struct stat st;
	const char *archive = bench->options->archive;
	if (archive) {
		uint64_t packed = stat(archive, &st) ? 0 : (uint64_t)st.st_size;
		/* A file takes half a block more than it has on average, and an inode. */
		needs->each = packed + bench->archive_bytes + bench->archive_files * 4096;
		return;
	}
	struct fc_corpus_mix mix;
	fc_corpus_count(files_of[bench->options->size], &mix);
	for (unsigned k = 0; k < CORPUS_KINDS; k++) {
		needs->each += mix.bytes[k] + (uint64_t)mix.files[k] * 4096;
		needs->stock += mix.bytes[k];
	}
	needs->each += needs->stock;
}

static int into_tree(struct bench_step *step)
{
	if (mkdir("tree.out", 0755) || chdir("tree.out"))
		return fc_step_fail_errno(step, "tree.out");
	return 0;
}

static int unpack_reference(struct bench_step *step, const char *archive)
{
	struct fc_tree_digest d;
	if (into_tree(step) || fc_archive_extract(step, archive) || fc_files_digest(step, ".", &d))
		return -1;
	uint64_t *keep = step->shared->keep;
	keep[KEEP_FILES] = d.files;
	keep[KEEP_DIRECTORIES] = d.directories;
	keep[KEEP_LINKS] = d.links;
	keep[KEEP_OTHERS] = d.others;
	keep[KEEP_BYTES] = d.bytes;
	keep[KEEP_HASH] = d.hash;
	if (chdir("..") || fc_files_remove("tree.out"))
		return fc_step_fail_errno(step, "tree.out");
	return 0;
}

static int stock(struct bench_step *step)
{
	char packed[32], unpacked[32];
	const char *archive = step->bench->options->archive;
	struct stat st;
	if (archive) {
		if (unpack_reference(step, archive) || stat(archive, &st))
			return -1;
		fc_bench_bytes_text((uint64_t)st.st_size, packed);
		fc_bench_bytes_text(step->shared->keep[KEEP_BYTES], unpacked);
		const char *slash = strrchr(archive, '/');
		fc_step_note(step, "%s (%s): %llu files, %s", slash ? slash + 1 : archive, packed,
			     (unsigned long long)step->shared->keep[KEEP_FILES], unpacked);
		return 0;
	}
	const char *format;
	unsigned files = files_of[step->bench->options->size];
	struct fc_corpus_mix mix;
	if (fc_archive_make(step, "archive", files, &format) || unpack_reference(step, "../archive"))
		return -1;
	if (stat("archive", &st))
		return fc_step_fail_errno(step, "archive");
	fc_bench_bytes_text((uint64_t)st.st_size, packed);
	fc_corpus_count(files, &mix);
	char *text = fc_corpus_mix_text(&mix);
	fc_step_note(step, "%s; as an archive (%s) %s", text, format, packed);
	return 0;
}

static int setup(struct bench_step *step)
{
	const char *archive = step->bench->options->archive;
	char *from = archive ? fc_bench_copy(archive) : fc_bench_format("%s/archive", step->stock);
	return fc_file_copy(step, from, "archive");
}

static int prepare(struct bench_step *step)
{
	if (fc_files_remove("tree.out"))
		return fc_step_fail_errno(step, "removing what was unpacked before");
	return 0;
}

static int run(struct bench_step *step)
{
	if (into_tree(step) || fc_archive_extract(step, "../archive"))
		return -1;
	if (chdir(".."))
		return fc_step_fail_errno(step, "..");
	step->shared->sample.bytes = step->shared->keep[KEEP_BYTES];
	step->shared->sample.operations = step->shared->keep[KEEP_FILES];
	return 0;
}

static int verify(struct bench_step *step)
{
	struct fc_tree_digest d;
	const uint64_t *keep = step->shared->keep;
	if (fc_files_digest(step, "tree.out", &d))
		return -1;
	if (d.files != keep[KEEP_FILES] || d.directories != keep[KEEP_DIRECTORIES] || d.links != keep[KEEP_LINKS] ||
	    d.others != keep[KEEP_OTHERS])
		return fc_step_fail(step, "wrong data: %llu files in %llu directories, not %llu in %llu",
				    (unsigned long long)d.files, (unsigned long long)d.directories,
				    (unsigned long long)keep[KEEP_FILES], (unsigned long long)keep[KEEP_DIRECTORIES]);
	if (d.bytes != keep[KEEP_BYTES] || d.hash != keep[KEEP_HASH])
		return fc_step_fail(step, "wrong data: %llu bytes in the files, not %llu, or others",
				    (unsigned long long)d.bytes, (unsigned long long)keep[KEEP_BYTES]);
	return prepare(step);
}

static const struct bench_row rows[] = {
	{ .name = "extract", .title = "unpack an archive", .kind = ROW_TIME, .published = { 1.039, 0, "FileVault" } },
};

static const struct bench_part parts[] = {
	{ .name = "extract",
	  .flags = PART_COLD | PART_WRITES,
	  .prepare = prepare,
	  .run = run,
	  .verify = verify,
	  .row = rows,
	  .rows = 1 },
};

const struct bench_workload fc_workload_extract = {
	.name = "extract",
	.title = "Extract an archive",
	.does = "unpacks an archive that lies in the directory (libarchive: RAR, 7z, zip, tar.*; --archive FILE for "
		"one "
		"of yours)",
	.from = "the FileVault test: a 710 MB RAR unpacked to 2.1 GB, on a MacBook of 2006",
	.needs = needs,
	.stock = stock,
	.setup = setup,
	.part = parts,
	.parts = 1,
};
