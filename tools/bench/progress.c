/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "progress.h"

struct bench_progress {
	bool terminal, drawn;
	unsigned done, total;
	double begun;
};

struct bench_progress *fc_progress_new(void)
{
	struct bench_progress *p = fc_bench_alloc(sizeof(*p));
	const char *term = getenv("TERM");
	p->terminal = isatty(STDERR_FILENO) && (!term || strcmp(term, "dumb"));
	p->begun = fc_bench_now();
	return p;
}

void fc_progress_free(struct bench_progress *p)
{
	free(p);
}

void fc_progress_expect(struct bench_progress *p, unsigned steps)
{
	p->total = steps;
	p->begun = fc_bench_now();
}

void fc_progress_advance(struct bench_progress *p, unsigned steps)
{
	p->done += steps;
}

static void minutes(double seconds, char out[32])
{
	unsigned s = seconds < 0 ? 0 : (unsigned)seconds;
	snprintf(out, 32, "%u:%02u", s / 60, s % 60);
}

static unsigned columns(void)
{
	struct winsize size = { 0 };
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 20)
		return 80;
	return size.ws_col;
}

void fc_progress_draw(struct bench_progress *p, const char *what, const struct bench_shared *shared)
{
	char line[400], spent[32], left[32] = "", share[16] = "";
	if (!p->terminal)
		return;
	uint64_t total = atomic_load_explicit(&shared->total, memory_order_relaxed);
	uint64_t done = atomic_load_explicit(&shared->done, memory_order_relaxed);
	if (total)
		snprintf(share, sizeof(share), " %3u %%", (unsigned)(100.0 * (double)done / (double)total));
	double elapsed = fc_bench_now() - p->begun;
	minutes(elapsed, spent);
	/* An early guess would be wrong by too much to be of use. */
	if (p->done * 20 >= p->total && p->done >= 3) {
		minutes(elapsed / p->done * (p->total - p->done), left);
		strcat(left, " left");
	}
	snprintf(line, sizeof(line), "[%u/%u] %s  %s %s%s", p->done + 1 > p->total ? p->total : p->done + 1, p->total,
		 spent, left, what, share);
	fprintf(stderr, "\r\033[K%.*s", (int)columns() - 1, line);
	fflush(stderr);
	p->drawn = true;
}

void fc_progress_clear(struct bench_progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = false;
}

void fc_progress_say(struct bench_progress *p, const char *format, ...)
{
	va_list args;
	fc_progress_clear(p);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}
