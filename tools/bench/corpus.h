/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree like one that people have: source text, small configuration files,
 * binaries, images. What is in it depends on the number of files alone, so that
 * two machines measure the same.
 */
#ifndef FC_BENCH_CORPUS_H
#define FC_BENCH_CORPUS_H

#include "step.h"

enum corpus_kind { CORPUS_TEXT, CORPUS_CONFIG, CORPUS_BINARY, CORPUS_IMAGE, CORPUS_KINDS };

struct fc_corpus_file {
	enum corpus_kind kind;
	char path[96]; /* relative; its folders come from it */
	unsigned mode;
	size_t bytes;
	uint64_t seed;
};

#define CORPUS_FILE_BYTES (512u << 10) /* no file is larger */

/* The i-th file. */
void fc_corpus_describe(unsigned i, struct fc_corpus_file *out);
/* Its content; out has room for file->bytes. */
void fc_corpus_fill(const struct fc_corpus_file *file, uint8_t *out);

struct fc_corpus_mix {
	unsigned files[CORPUS_KINDS];
	uint64_t bytes[CORPUS_KINDS];
};
void fc_corpus_count(unsigned files, struct fc_corpus_mix *out);
/* One line of text; the caller frees it. */
char *fc_corpus_mix_text(const struct fc_corpus_mix *mix);

/* Text as a program's source has it, bytes exactly. */
void fc_corpus_text(uint64_t *random, uint8_t *out, size_t bytes);

#endif
