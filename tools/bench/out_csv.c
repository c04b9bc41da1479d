/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every single run of every part: RFC 4180, a header line first. */
#include <inttypes.h>
#include <math.h>

#include "report.h"
#include "workload.h"

static void field(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	putc('"', out);
}

static void number(FILE *out, double value)
{
	putc(',', out);
	if (isfinite(value))
		fprintf(out, "%.9g", value);
}

void fc_csv_write(const struct bench *bench, FILE *out)
{
	fputs("workload,part,place,run,cold,ended_s,durable_s,cpu_workload_s,cpu_daemon_s,cpu_machine_s,bytes,"
	      "operations,"
	      "reported,value,unit\r\n",
	      out);
	for (size_t i = 0; i < bench->raws; i++) {
		const struct bench_raw *raw = &bench->raw[i];
		const struct bench_sample *s = &raw->sample;
		/* A part that reports figures of its own has a line for each of them. */
		for (unsigned j = 0; j < raw->part->rows; j++) {
			const struct bench_row *row = &raw->part->row[j];
			bool reported = row->kind == ROW_REPORTED;
			fprintf(out, "%s,%s,", raw->workload->name, fc_part_name(raw->part));
			field(out, bench->place[raw->place].name);
			fprintf(out, ",%u,%d", raw->run + 1, s->cold);
			number(out, s->ended);
			number(out, s->durable);
			number(out, s->cpu_work);
			number(out, s->cpu_daemon);
			number(out, s->cpu_machine);
			fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%s", s->bytes, s->operations, reported ? row->name : "");
			number(out, reported ? s->value[row->index] : NAN);
			fprintf(out, ",%s\r\n", reported ? row->unit : "");
		}
	}
}
