/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One self-contained page: nothing is loaded from elsewhere, no scripts. Colours
 * are variables with a light and a dark value; charts are in chart.c.
 */
#include <stdlib.h>
#include <string.h>

#include "chart.h"

static const char style[] =
	":root{color-scheme:light dark;--page:#fff;--text:#1b1f24;--soft:#57606a;--line:#d0d7de;--band:#f3f5f8;"
	"--c1:#0b63c5;--c2:#b3560b;--c3:#1a7f37;--c4:#8439c9;--c5:#a3366f;--c6:#0f766e;--c7:#6b6b00;--warn:#8a4b00}\n"
	"@media(prefers-color-scheme:dark){:root{--page:#14181d;--text:#e6e9ed;--soft:#a4adb8;--line:#3a434d;"
	"--band:#1d232a;--c1:#6cb0ff;--c2:#f0a35e;--c3:#5fd17a;--c4:#c9a1ff;--c5:#f492c3;--c6:#4fd1c5;--c7:#d6d05a;"
	"--warn:#f2b866}}\n"
	"body{background:var(--page);color:var(--text);font:16px/1.5 system-ui,sans-serif;max-width:62rem;"
	"margin:2rem auto;padding:0 1rem}\n"
	"h1{font-size:1.6rem;line-height:1.25}h2{font-size:1.2rem;margin-top:2.2rem}\n"
	"p.soft,caption{color:var(--soft)}.warn{color:var(--warn)}\n"
	"code,pre{font-family:ui-monospace,monospace;font-size:.9em;background:var(--band);border-radius:4px;"
	"padding:.1em .3em}\n"
	"pre{padding:.7em;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}\n"
	".wide{overflow-x:auto}\n"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}\n"
	"th,td{padding:.25rem .6rem;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}\n"
	"td.n,th.n{text-align:right;white-space:nowrap}tbody tr:nth-child(even){background:var(--band)}\n"
	"svg{max-width:100%;height:auto;display:block}svg text{fill:var(--text);font:13px system-ui,sans-serif}\n"
	"svg .soft{fill:var(--soft)}svg .axis{stroke:var(--line)}svg .one{stroke:var(--text)}\n"
	"svg .whisker{stroke:var(--text);stroke-width:1.5}svg .pub{fill:none;stroke:var(--text);stroke-width:1.5}\n"
	".key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin:0 .3em 0 .9em}\n";

void fc_html_text(FILE *out, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			putc(*text, out);
		}
}

static void element(FILE *out, const char *open, const char *text, const char *close)
{
	fputs(open, out);
	fc_html_text(out, text);
	fputs(close, out);
}

static void paragraphs(const char *text, FILE *out)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		char *one = fc_bench_format("%.*s", (int)n, text);
		element(out, "<p>", one, "</p>\n");
		free(one);
		text += n + (text[n] == '\n');
	}
}

static void number(FILE *out, const char *text)
{
	element(out, "<td class=\"n\">", text, "</td>");
}

static void head(FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	      "<title>fusecrypt-bench</title>\n<style>\n",
	      out);
	fputs(style, out);
	fputs("</style>\n</head>\n<body>\n", out);
}

static void table_head(const struct bench_report *r, FILE *out)
{
	fputs("<thead><tr><th>Workload</th><th>What</th>", out);
	for (unsigned p = 0; p < r->places; p++) {
		element(out, "<th class=\"n\">", r->place[p].name, "</th>");
		if (p)
			fputs("<th class=\"n\">Ratio</th><th class=\"n\">Spread</th><th>In a word</th>", out);
	}
	fputs("<th>Published</th></tr></thead>\n<tbody>\n", out);
}

static void table_row(const struct bench_report *r, const struct bench_series *s, bool first, FILE *out)
{
	char text[64];
	element(out, "<tr><td>", first ? s->workload : "", "</td>");
	element(out, "<td>", s->title, s->cold_wanted && !s->cold ? " (not cold)</td>" : "</td>");
	for (unsigned p = 0; p < r->places; p++) {
		const struct fc_ratio *ratio = &s->ratio[p];
		fc_report_value_text(s->stats[p].median, s->unit, text);
		number(out, text);
		if (!p)
			continue;
		snprintf(text, sizeof(text), "×%.2f", ratio->ratio);
		number(out, text);
		snprintf(text, sizeof(text), "%.2f–%.2f", ratio->low, ratio->high);
		number(out, ratio->word == FC_WORD_ONE_RUN ? "" : text);
		element(out, "<td>", fc_word_text(ratio->word), "</td>");
	}
	fc_report_published_text(s, text);
	element(out, "<td>", text, "</td></tr>\n");
}

static void times(const struct bench_report *r, FILE *out)
{
	fputs("<h2>Every figure</h2>\n<div class=\"wide\"><table>\n", out);
	table_head(r, out);
	for (unsigned i = 0; i < r->serieses; i++)
		table_row(r, &r->series[i], !i || strcmp(r->series[i].workload, r->series[i - 1].workload), out);
	fputs("</tbody></table></div>\n<p class=\"soft\">Medians of ", out);
	fprintf(out,
		"%u run%s, taken by turns. The ratio is one of times: above 1 is slower. The spread is that of the "
		"ratio, run by run; with three runs it holds the true value three times in four.</p>\n",
		r->runs, r->runs == 1 ? "" : "s");
}

static void workloads(const struct bench_report *r, FILE *out)
{
	fputs("<h2>The workloads</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>Name</th><th>What it does</th>"
	      "<th>Where it comes from</th><th>Status</th></tr></thead>\n<tbody>\n",
	      out);
	for (unsigned i = 0; i < r->outcomes; i++) {
		const struct bench_report_outcome *o = &r->outcome[i];
		element(out, "<tr><td>", o->workload, "</td>");
		element(out, "<td>", o->does, "</td>");
		element(out, "<td>", o->from, "</td>");
		element(out, "<td>", strcmp(o->status, "missing") ? o->status : "skipped", "");
		if (*o->reason)
			element(out, ": ", o->reason, "");
		if (*o->install)
			element(out, "; ", o->install, "");
		fputs("</td></tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
	for (unsigned i = 0; i < r->notes; i++)
		element(out, "<p class=\"soft\">", r->note[i], "</p>\n");
}

static void machine(const struct bench_report *r, FILE *out)
{
	fputs("<h2>The machine</h2>\n<div class=\"wide\"><table>\n<tbody>\n", out);
	for (unsigned i = 0; i < r->facts; i++) {
		element(out, "<tr><th>", r->fact[i].title, "</th>");
		element(out, "<td>", r->fact[i].value, "</td></tr>\n");
	}
	for (unsigned p = 0; p < r->places; p++) {
		element(out, "<tr><th>", r->place[p].name, "</th><td>");
		element(out, "<code>", r->place[p].dir, "</code>, ");
		element(out, "", r->place[p].type, "");
		if (strcmp(r->place[p].type, r->place[p].host_type) && *r->place[p].host_type)
			element(out, " on ", r->place[p].host_type, "");
		element(out, "; disk ", r->place[p].disk, "</td></tr>\n");
	}
	fputs("</tbody></table></div>\n", out);
}

void fc_html_write(const struct bench_report *r, FILE *out)
{
	head(out);
	fputs("<h1>What does it cost? fusecrypt-bench</h1>\n", out);
	fprintf(out, "<p class=\"soft\">%s · fusecrypt ", r->date);
	fc_html_text(out, r->version);
	fprintf(out, " · size %s · %u run%s each</p>\n", r->size, r->runs, r->runs == 1 ? "" : "s");
	paragraphs(r->verdict, out);
	for (unsigned i = 0; i < r->warnings; i++)
		element(out, "<p class=\"warn\"><strong>Warning:</strong> ", r->warning[i], "</p>\n");
	if (r->serieses) {
		fputs("<h2>How many times as long</h2>\n", out);
		fc_chart_legend(r, 1, out);
		fc_chart_ratios(r, out);
		fputs("<h2>Processor time</h2>\n", out);
		fc_chart_legend(r, 0, out);
		fc_chart_cpu(r, out);
		times(r, out);
	}
	workloads(r, out);
	machine(r, out);
	element(out, "<h2>How to repeat it</h2>\n<pre>", r->command, "</pre>\n");
	fputs("<p class=\"soft\">Run it as root so that caches can be dropped before cold workloads; leave the machine "
	      "alone "
	      "meanwhile.</p>\n</body>\n</html>\n",
	      out);
}
