/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

void *fc_bench_alloc(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);
	if (!p) {
		fputs("fusecrypt-bench: no memory\n", stderr);
		abort();
	}
	return p;
}

char *fc_bench_format(const char *format, ...)
{
	va_list args;
	char *text = NULL;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0) {
		fputs("fusecrypt-bench: no memory\n", stderr);
		abort();
	}
	va_end(args);
	return text;
}

char *fc_bench_copy(const char *text)
{
	return fc_bench_format("%s", text);
}

void fc_bench_warn(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("fusecrypt-bench: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

double fc_bench_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void fc_bench_bytes_text(uint64_t bytes, char out[32])
{
	static const char unit[][3] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	double value = (double)bytes;
	size_t i = 0;
	while (value >= 999.5 && i < 6) {
		value /= 1000;
		i++;
	}
	snprintf(out, 32, i && value < 9.95 ? "%.1f %s" : "%.0f %s", value, unit[i]);
}
