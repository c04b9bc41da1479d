/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "corpus.h"
#include "files.h"

static const struct kind {
	const char *name, *folder, *ending;
	unsigned percent;
	unsigned low, doublings; /* bytes: each of the doublings holds as many files */
	unsigned mode;
} kinds[CORPUS_KINDS] = {
	[CORPUS_TEXT] = { "source text", "src", ".c", 58, 400, 6, 0644 },
	[CORPUS_CONFIG] = { "small configuration", "etc", ".conf", 24, 60, 5, 0644 },
	[CORPUS_BINARY] = { "binaries", "lib", ".so", 15, 4u << 10, 7, 0755 },
	[CORPUS_IMAGE] = { "images", "share", ".jpg", 3, 8u << 10, 6, 0644 },
};

static enum corpus_kind choose(uint64_t *random)
{
	unsigned n = (unsigned)(fc_random_next(random) >> 33) % 100, kind = 0;
	while (n >= kinds[kind].percent)
		n -= kinds[kind++].percent;
	return (enum corpus_kind)kind;
}

void fc_corpus_describe(unsigned i, struct fc_corpus_file *out)
{
	uint64_t random = fc_random_seed(i);
	out->kind = choose(&random);
	const struct kind *k = &kinds[out->kind];
	/* In integers: floating point would differ from machine to machine. */
	size_t least = (size_t)k->low << (fc_random_next(&random) >> 33) % k->doublings;
	out->bytes = least + (size_t)(fc_random_next(&random) >> 33) % least;
	out->mode = k->mode;
	out->seed = fc_random_next(&random);
	/* Packages of about 150 files, each with folders of its own, a level deeper
	 * for a third of the files. */
	unsigned package = i / 150, deep = (unsigned)(out->seed >> 40) % 3;
	if (deep)
		snprintf(out->path, sizeof(out->path), "tree/package-%u/%s/item-%u%s", package, k->folder, i,
			 k->ending);
	else
		snprintf(out->path, sizeof(out->path), "tree/package-%u/%s/part-%u/item-%u%s", package, k->folder,
			 (unsigned)(out->seed >> 48) % 4, i, k->ending);
}

/* ---- content -------------------------------------------------------------- */

static const char *const words[] = {
	"static",   "int",      "const",  "struct", "return", "if",     "else",   "for",   "while",  "void",  "char",
	"unsigned", "size",     "count",  "index",  "buffer", "length", "offset", "value", "result", "error", "state",
	"next",     "previous", "head",   "tail",   "node",   "key",    "entry",  "table", "hash",   "block", "page",
	"file",     "name",     "path",   "open",   "close",  "read",   "write",  "begin", "end",    "first", "last",
	"left",     "right",    "parent", "child",  "root",   "level",  "depth",  "width", "height", "flags", "mode",
	"type",     "kind",     "list",   "queue",  "stack",  "lock",   "unlock", "wait",  "wake",
};
static const char *const marks[] = { " ",  " ",  " ",     " ",   "_",  "_",   " = ",      "(",
				     ") ", ", ", ";\n\t", ";\n", "->", " + ", " {\n\t\t", "}\n\n" };
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static size_t put(uint8_t *out, size_t at, size_t bytes, const char *text)
{
	size_t n = strlen(text);
	if (n > bytes - at)
		n = bytes - at;
	memcpy(out + at, text, n);
	return at + n;
}

void fc_corpus_text(uint64_t *random, uint8_t *out, size_t bytes)
{
	size_t at = 0;
	while (at < bytes) {
		uint64_t r = fc_random_next(random);
		/* The smaller of two numbers: some words are far more frequent. */
		unsigned a = (unsigned)(r >> 8) % COUNT(words), b = (unsigned)(r >> 24) % COUNT(words);
		at = put(out, at, bytes, words[a < b ? a : b]);
		at = put(out, at, bytes, marks[(r >> 40) % COUNT(marks)]);
	}
}

static void config(uint64_t *random, uint8_t *out, size_t bytes)
{
	size_t at = 0;
	char line[96];
	while (at < bytes) {
		uint64_t r = fc_random_next(random);
		snprintf(line, sizeof(line), "%s.%s = %u\n", words[(r >> 8) % COUNT(words)],
			 words[(r >> 24) % COUNT(words)], (unsigned)(r >> 52));
		at = put(out, at, bytes, line);
	}
}

/* Machine code repeats itself: half of it are runs seen a little earlier. */
static void binary(uint64_t *random, uint8_t *out, size_t bytes)
{
	size_t at = 0;
	while (at < bytes) {
		uint64_t r = fc_random_next(random);
		size_t n = 8 + (size_t)(r >> 58), back = 1 + (size_t)(r >> 12) % 4096;
		if (n > bytes - at)
			n = bytes - at;
		if (r % 8 < 5 && back <= at && back >= n)
			memcpy(out + at, out + at - back, n);
		else if (r % 8 == 7)
			memset(out + at, 0, n);
		else
			fc_random_fill(random, out + at, n);
		at += n;
	}
}

void fc_corpus_fill(const struct fc_corpus_file *file, uint8_t *out)
{
	uint64_t random = fc_random_seed(file->seed);
	switch (file->kind) {
	case CORPUS_TEXT:
		fc_corpus_text(&random, out, file->bytes);
		break;
	case CORPUS_CONFIG:
		config(&random, out, file->bytes);
		break;
	case CORPUS_BINARY:
		binary(&random, out, file->bytes);
		break;
	default:
		fc_random_fill(&random, out, file->bytes);
	}
}

/* ---- the mix -------------------------------------------------------------- */

void fc_corpus_count(unsigned files, struct fc_corpus_mix *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < files; i++) {
		struct fc_corpus_file f;
		fc_corpus_describe(i, &f);
		out->files[f.kind]++;
		out->bytes[f.kind] += f.bytes;
	}
}

char *fc_corpus_mix_text(const struct fc_corpus_mix *mix)
{
	unsigned files = 0;
	uint64_t bytes = 0;
	char total[32], each[CORPUS_KINDS][32];
	for (unsigned k = 0; k < CORPUS_KINDS; k++) {
		files += mix->files[k];
		bytes += mix->bytes[k];
		fc_bench_bytes_text(mix->bytes[k], each[k]);
	}
	fc_bench_bytes_text(bytes, total);
	return fc_bench_format("%u generated files, %s: %u of %s (%s), %u of %s (%s), %u %s (%s), %u %s (%s)", files,
			       total, mix->files[CORPUS_TEXT], kinds[CORPUS_TEXT].name, each[CORPUS_TEXT],
			       mix->files[CORPUS_CONFIG], kinds[CORPUS_CONFIG].name, each[CORPUS_CONFIG],
			       mix->files[CORPUS_BINARY], kinds[CORPUS_BINARY].name, each[CORPUS_BINARY],
			       mix->files[CORPUS_IMAGE], kinds[CORPUS_IMAGE].name, each[CORPUS_IMAGE]);
}
