/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result for a terminal or a text file: UTF-8, columns as wide as needed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define COLUMNS (3 + 4 * BENCH_PLACES)
#define WRAP 100

struct table {
	unsigned columns, rows, room;
	bool left[COLUMNS]; /* alignment */
	char **cell;        /* rows of COLUMNS each; NULL: empty */
};

/* In columns of a terminal; what we print has no wide or combining characters. */
static unsigned width_of(const char *text)
{
	unsigned n = 0;
	for (; text && *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void new_row(struct table *t)
{
	if (t->rows == t->room) {
		unsigned room = t->room ? t->room * 2 : 16;
		char **more = fc_bench_alloc(room * COLUMNS * sizeof(*more));
		if (t->rows)
			memcpy(more, t->cell, t->rows * COLUMNS * sizeof(*more));
		free(t->cell);
		t->cell = more;
		t->room = room;
	}
	t->rows++;
}

static void set(struct table *t, unsigned column, const char *text)
{
	if (column >= COLUMNS)
		return;
	t->cell[(t->rows - 1) * COLUMNS + column] = fc_bench_copy(text);
	if (column >= t->columns)
		t->columns = column + 1;
}

static void print_cell(FILE *out, const char *text, unsigned width, bool left, bool last)
{
	unsigned pad = width - width_of(text);
	if (!left)
		fprintf(out, "%*s", (int)pad, "");
	fputs(text ? text : "", out);
	if (left && !last)
		fprintf(out, "%*s", (int)pad, "");
	if (!last)
		fputs("  ", out);
}

/* Prints it, the first row underlined, and frees it. */
static void finish(struct table *t, FILE *out)
{
	unsigned width[COLUMNS] = { 0 }, sum = 0;
	for (unsigned c = 0; c < t->columns; c++) {
		for (unsigned r = 0; r < t->rows; r++) {
			unsigned w = width_of(t->cell[r * COLUMNS + c]);
			width[c] = w > width[c] ? w : width[c];
		}
		sum += width[c] + 2;
	}
	for (unsigned r = 0; r < t->rows; r++) {
		unsigned end = t->columns;
		while (end > 1 && !t->cell[r * COLUMNS + end - 1])
			end--;
		for (unsigned c = 0; c < end; c++)
			print_cell(out, t->cell[r * COLUMNS + c], width[c], t->left[c], c + 1 == end);
		fputc('\n', out);
		for (unsigned i = 0; r == 0 && i + 2 < sum; i++)
			fputs("─", out);
		if (r == 0)
			fputc('\n', out);
	}
	for (unsigned i = 0; i < t->rows * COLUMNS; i++)
		free(t->cell[i]);
	free(t->cell);
	memset(t, 0, sizeof(*t));
}

/* Lines end where the text says, and where they get too long. */
static void print_wrapped(FILE *out, const char *text)
{
	unsigned column = 0;
	while (*text) {
		size_t n = strcspn(text, " \n");
		char *word = fc_bench_format("%.*s", (int)n, text);
		unsigned w = width_of(word);
		if (column && column + 1 + w > WRAP) {
			fputc('\n', out);
			column = 0;
		}
		fprintf(out, "%s%s", column ? " " : "", word);
		column += w + (column ? 1 : 0);
		free(word);
		text += n;
		if (*text == '\n') {
			fputc('\n', out);
			column = 0;
		}
		text += strspn(text, " \n");
	}
	fputc('\n', out);
}

/* ---- one result -------------------------------------------------------------- */

static void ratio_texts(const struct fc_ratio *r, char ratio[32], char spread[48], const char **word)
{
	snprintf(ratio, 32, "×%.2f", r->ratio);
	*word = r->word == FC_WORD_NOISY || r->word == FC_WORD_SAME ? fc_word_text(r->word) : "";
	if (r->word == FC_WORD_ONE_RUN)
		snprintf(spread, 48, "one run");
	else
		snprintf(spread, 48, "%.2f–%.2f", r->low, r->high);
}

static void series_row(struct table *t, const struct bench_report *r, const struct bench_series *s, bool first)
{
	char text[64], spread[48];
	const char *word;
	new_row(t);
	set(t, 0, first ? s->workload : "");
	char *title = fc_bench_format("%s%s", s->title, s->cold_wanted && !s->cold ? " (not cold)" : "");
	set(t, 1, title);
	free(title);
	for (unsigned p = 0; p < r->places; p++) {
		unsigned column = p ? 3 + 4 * (p - 1) : 2;
		fc_report_value_text(s->stats[p].median, s->unit, text);
		set(t, column, text);
		if (!p)
			continue;
		ratio_texts(&s->ratio[p], text, spread, &word);
		set(t, column + 1, text);
		set(t, column + 2, spread);
		set(t, column + 3, word);
	}
	fc_report_published_text(s, text);
	if (*text)
		set(t, 3 + 4 * (r->places - 1), text);
}

static void print_times(const struct bench_report *r, FILE *out)
{
	struct table t = { 0 };
	t.left[0] = t.left[1] = true;
	new_row(&t);
	set(&t, 0, "workload");
	set(&t, 2, r->place[0].name);
	for (unsigned p = 1; p < r->places; p++) {
		unsigned column = 3 + 4 * (p - 1);
		set(&t, column, r->place[p].name);
		set(&t, column + 1, "ratio");
		set(&t, column + 2, "spread");
		t.left[column + 3] = true;
	}
	t.left[3 + 4 * (r->places - 1)] = true;
	set(&t, 3 + 4 * (r->places - 1), "published");
	for (unsigned i = 0; i < r->serieses; i++)
		series_row(&t, r, &r->series[i], !i || strcmp(r->series[i].workload, r->series[i - 1].workload));
	finish(&t, out);
}

static void print_cpu(const struct bench_report *r, FILE *out)
{
	struct table t = { 0 };
	char text[64];
	t.left[0] = true;
	new_row(&t);
	set(&t, 0, "CPU seconds, workload + daemon");
	for (unsigned p = 0; p < r->places; p++)
		set(&t, 1 + p, r->place[p].name);
	for (unsigned i = 0; i < r->outcomes; i++) {
		if (strcmp(r->outcome[i].status, "measured"))
			continue;
		new_row(&t);
		set(&t, 0, r->outcome[i].workload);
		for (unsigned p = 0; p < r->places; p++) {
			double work, daemon;
			fc_report_cpu(r, r->outcome[i].workload, p, &work, &daemon);
			if (isfinite(daemon))
				snprintf(text, sizeof(text), "%.2f + %.2f", work, daemon);
			else
				snprintf(text, sizeof(text), "%.2f", work);
			set(&t, 1 + p, text);
		}
	}
	finish(&t, out);
}

static void print_skipped(const struct bench_report *r, FILE *out)
{
	for (unsigned i = 0; i < r->outcomes; i++) {
		const struct bench_report_outcome *o = &r->outcome[i];
		if (!strcmp(o->status, "missing"))
			fprintf(out, "%s: skipped: %s; %s\n", o->workload, o->reason, o->install);
		else if (!strcmp(o->status, "failed"))
			fprintf(out, "%s: FAILED: %s\n", o->workload, o->reason);
	}
}

void fc_table_write(const struct bench_report *r, FILE *out)
{
	fprintf(out, "%s · %u run%s each, by turns · size %s\n", r->date, r->runs, r->runs == 1 ? "" : "s", r->size);
	fprintf(out, "%s\n\n", r->command);
	if (r->serieses) {
		print_times(r, out);
		fputs("\nMedians. ratio: of the times, above 1 is slower. spread: of the ratio, run by run.\n\n", out);
		print_cpu(r, out);
		fputc('\n', out);
	}
	for (unsigned p = 0; p < r->places; p++)
		fprintf(out, "%s: %s (%s%s%s; disk %s)\n", r->place[p].name, r->place[p].dir, r->place[p].type,
			strcmp(r->place[p].type, r->place[p].host_type) && *r->place[p].host_type ? " on " : "",
			strcmp(r->place[p].type, r->place[p].host_type) ? r->place[p].host_type : "", r->place[p].disk);
	for (unsigned i = 0; i < r->facts; i++)
		fprintf(out, "%s%s: %s", i ? " · " : "", r->fact[i].title, r->fact[i].value);
	fputs("\n\n", out);
	for (unsigned i = 0; i < r->notes; i++)
		print_wrapped(out, r->note[i]);
	for (unsigned i = 0; i < r->warnings; i++) {
		char *line = fc_bench_format("Warning: %s", r->warning[i]);
		print_wrapped(out, line);
		free(line);
	}
	print_skipped(r, out);
	if (r->notes || r->warnings)
		fputc('\n', out);
	print_wrapped(out, r->verdict);
}

/* ---- several results ----------------------------------------------------------- */

static const struct bench_series *find(const struct bench_report *r, const struct bench_series *like)
{
	for (unsigned i = 0; i < r->serieses; i++)
		if (!strcmp(r->series[i].workload, like->workload) && !strcmp(r->series[i].row, like->row) &&
		    !strcmp(r->series[i].timing, like->timing))
			return &r->series[i];
	return NULL;
}

/* From the first result to the last: whether their spreads leave it open. */
static void change_text(const struct fc_ratio *a, const struct fc_ratio *b, char out[48])
{
	if (a->word == FC_WORD_ONE_RUN || b->word == FC_WORD_ONE_RUN)
		snprintf(out, 48, "×%.2f, one run", b->ratio / a->ratio);
	else if (b->low > a->high || b->high < a->low)
		snprintf(out, 48, "×%.2f %s", b->ratio / a->ratio, b->ratio > a->ratio ? "worse" : "better");
	else
		snprintf(out, 48, "within the spread");
}

/* After two columns a ratio; fc_table_compare's caller sees to it that they fit. */
static unsigned change_column(const struct bench_report *r, unsigned n)
{
	unsigned column = 2;
	for (unsigned i = 0; i < n; i++)
		column += 2 * (r[i].places - 1);
	return column;
}

static void compare_row(struct table *t, const struct bench_report *r, unsigned n, const struct bench_series *like,
			bool first)
{
	const struct bench_series *begin = NULL, *end = NULL;
	char text[64], spread[48];
	const char *word;
	new_row(t);
	set(t, 0, first ? like->workload : "");
	set(t, 1, like->title);
	for (unsigned i = 0, column = 2; i < n; i++) {
		const struct bench_series *s = find(&r[i], like);
		for (unsigned p = 1; p < r[i].places; p++, column += 2) {
			if (!s)
				continue;
			ratio_texts(&s->ratio[p], text, spread, &word);
			set(t, column, text);
			set(t, column + 1, spread);
		}
		if (i == 0)
			begin = s;
		if (i == n - 1)
			end = s;
	}
	if (begin && end && n > 1 && r[0].places == 2 && r[n - 1].places == 2) {
		change_text(&begin->ratio[1], &end->ratio[1], text);
		set(t, change_column(r, n), text);
	}
}

static bool seen_before(const struct bench_report *r, unsigned i, const struct bench_series *s)
{
	for (unsigned k = 0; k < i; k++)
		if (find(&r[k], s))
			return true;
	return false;
}

static void print_origins(const struct bench_report *r, const char *const *names, unsigned n, FILE *out)
{
	for (unsigned i = 0; i < n; i++) {
		fprintf(out, "%u: %s: %s, size %s, %u runs, fusecrypt %s\n", i + 1, names[i], r[i].date, r[i].size,
			r[i].runs, r[i].version);
		for (unsigned f = 0; i && f < r[i].facts; f++)
			for (unsigned g = 0; g < r[0].facts; g++)
				if (!strcmp(r[i].fact[f].key, r[0].fact[g].key) &&
				    strcmp(r[i].fact[f].value, r[0].fact[g].value))
					fprintf(out, "   %s is another than in 1: %s\n", r[i].fact[f].title,
						r[i].fact[f].value);
		if (strcmp(r[i].size, r[0].size))
			fprintf(out, "   its workloads have another size than in 1\n");
	}
	fputc('\n', out);
}

static void print_means(struct table *t, const struct bench_report *r, unsigned n)
{
	char text[32];
	new_row(t);
	set(t, 0, "all");
	set(t, 1, "geometric mean");
	for (unsigned i = 0, column = 2; i < n; i++)
		for (unsigned p = 1; p < r[i].places; p++, column += 2) {
			snprintf(text, sizeof(text), "×%.2f", r[i].mean[p]);
			set(t, column, isfinite(r[i].mean[p]) ? text : "");
		}
}

void fc_table_compare(const struct bench_report *r, const char *const *names, unsigned n, FILE *out)
{
	struct table t = { 0 };
	print_origins(r, names, n, out);
	t.left[0] = t.left[1] = t.left[change_column(r, n)] = true;
	new_row(&t);
	set(&t, 0, "workload");
	for (unsigned i = 0, column = 2; i < n; i++)
		for (unsigned p = 1; p < r[i].places; p++, column += 2) {
			char *text = fc_bench_format("%u: %s", i + 1, r[i].place[p].name);
			set(&t, column, text);
			set(&t, column + 1, "spread");
			free(text);
		}
	if (n > 1 && r[0].places == 2 && r[n - 1].places == 2)
		set(&t, change_column(r, n), "first to last");
	const char *last = "";
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < r[i].serieses; j++) {
			const struct bench_series *s = &r[i].series[j];
			if (seen_before(r, i, s))
				continue;
			compare_row(&t, r, n, s, strcmp(last, s->workload) != 0);
			last = s->workload;
		}
	print_means(&t, r, n);
	finish(&t, out);
	fputs("\nRatios of the times to the baseline of each result; above 1 is slower.\n", out);
}
