/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing and reading a large XML file, record by record. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "corpus.h"
#include "files.h"
#include "workload.h"

#define RECORD_BYTES 300 /* about */
#define REMARK_BYTES 120

static const uint64_t bytes_of[] = { 12u << 20, 64u << 20, 512u << 20 };

/* keep[]: what reading must find */
enum { KEEP_RECORDS, KEEP_SUM };

static void needs(const struct bench *bench, struct bench_needs *needs)
{
	needs->each = bytes_of[bench->options->size] + bytes_of[bench->options->size] / 4;
}

static uint64_t records(const struct bench *bench)
{
	return bytes_of[bench->options->size] / RECORD_BYTES;
}

static void put_text(FILE *f, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		default:
			putc(*text, f);
		}
}

static int prepare(struct bench_step *step)
{
	if (unlink("data.xml") && errno != ENOENT)
		return fc_step_fail_errno(step, "data.xml");
	return 0;
}

static int write_file(struct bench_step *step)
{
	uint64_t n = records(step->bench), random = fc_random_seed(50), sum = 0;
	char remark[REMARK_BYTES + 1] = "";
	FILE *f = fopen("data.xml", "we");
	if (!f)
		return fc_step_fail_errno(step, "data.xml");
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<records>\n", f);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t value = fc_random_next(&random) >> 40;
		sum += value;
		fc_corpus_text(&random, (uint8_t *)remark, REMARK_BYTES);
		fprintf(f, "  <record id=\"%llu\">\n    <value>%llu</value>\n    <remark>", (unsigned long long)i,
			(unsigned long long)value);
		put_text(f, remark);
		fputs("</remark>\n  </record>\n", f);
		if (i % 1024 == 0)
			fc_step_progress(step, i, n);
	}
	fputs("</records>\n", f);
	step->shared->sample.bytes = (uint64_t)ftello(f);
	step->shared->keep[KEEP_RECORDS] = n;
	step->shared->keep[KEEP_SUM] = sum;
	bool failed = ferror(f);
	return fclose(f) || failed ? fc_step_fail_errno(step, "data.xml") : 0;
}

/* ---- reading: a small parser of elements, attributes and text --------------- */

struct parser {
	FILE *file;
	uint64_t records, sum, depth;
	char name[32];
	char text[REMARK_BYTES * 6];
	bool wrong;
};

/* Up to the `<`, entities resolved; too long a text is cut. */
static bool read_text(struct parser *p)
{
	size_t n = 0;
	int c;
	while ((c = getc(p->file)) != EOF && c != '<') {
		if (c == '&') {
			char entity[8];
			size_t e = 0;
			while (e < sizeof(entity) - 1 && (c = getc(p->file)) != EOF && c != ';')
				entity[e++] = (char)c;
			entity[e] = '\0';
			c = !strcmp(entity, "lt") ? '<' : !strcmp(entity, "gt") ? '>' : '&';
		}
		if (n < sizeof(p->text) - 1)
			p->text[n++] = (char)c;
	}
	p->text[n] = '\0';
	return c != EOF;
}

/* After the `<`, up to the `>`; the name without attributes. */
static bool read_tag(struct parser *p)
{
	size_t n = 0;
	bool named = false;
	int c;
	while ((c = getc(p->file)) != EOF && c != '>') {
		named = named || c == ' ';
		if (!named && n < sizeof(p->name) - 1)
			p->name[n++] = (char)c;
	}
	p->name[n] = '\0';
	return c == '>';
}

static void element(struct parser *p)
{
	if (p->name[0] == '?')
		return;
	if (p->name[0] != '/') {
		p->depth++;
		p->records += !strcmp(p->name, "record");
		return;
	}
	p->wrong |= p->depth == 0;
	p->depth--;
	if (!strcmp(p->name, "/value"))
		p->sum += strtoull(p->text, NULL, 10);
	else if (!strcmp(p->name, "/remark"))
		p->wrong |= strlen(p->text) != REMARK_BYTES;
}

static int read_file(struct bench_step *step)
{
	struct parser p = { .file = fopen("data.xml", "re") };
	const uint64_t *keep = step->shared->keep;
	if (!p.file)
		return fc_step_fail_errno(step, "data.xml");
	while (read_text(&p) && read_tag(&p))
		element(&p);
	if (ferror(p.file))
		return fc_step_fail_errno(step, "data.xml: read");
	step->shared->sample.bytes = (uint64_t)ftello(p.file);
	fclose(p.file);
	if (p.wrong || p.depth || p.records != keep[KEEP_RECORDS] || p.sum != keep[KEEP_SUM])
		return fc_step_fail(step, "data.xml: wrong data: %llu records, not %llu", (unsigned long long)p.records,
				    (unsigned long long)keep[KEEP_RECORDS]);
	return 0;
}

static int verify_written(struct bench_step *step)
{
	uint64_t bytes = step->shared->sample.bytes;
	int result = read_file(step);
	step->shared->sample.bytes = bytes;
	return result;
}

static const struct bench_row rows[] = {
	{ .name = "write", .title = "write a large file", .kind = ROW_TIME, .published = { 1.0, 0, "dm-crypt" } },
	{ .name = "read", .title = "read a large file", .kind = ROW_TIME, .published = { 1.0, 0, "dm-crypt" } },
};

static const struct bench_part parts[] = {
	{ .flags = PART_WRITES,
	  .prepare = prepare,
	  .run = write_file,
	  .verify = verify_written,
	  .row = &rows[0],
	  .rows = 1 },
	{ .flags = PART_COLD, .run = read_file, .row = &rows[1], .rows = 1 },
};

const struct bench_workload fc_workload_xml = {
	.name = "xml",
	.title = "A large XML file",
	.does = "writes an XML file record by record, and parses it",
	.from = "Tandem XML in the dm-crypt test on an Eee PC: no difference to speak of",
	.needs = needs,
	.part = parts,
	.parts = 2,
};
