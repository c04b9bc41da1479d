/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of the crash test: a rule is broken on purpose, and it must notice. Some
 * rules are broken in the recorded trace, as a library that breaks them would
 * have written it; the others by util/break.h in the library itself.
 *
 *     breaks [RULE]
 */
#include <stdlib.h>

#include "explore.h"
#include "util/break.h"

#define STEPS 60u
#define RUNS_MAX 60u

enum rule {
	NONE,          /* control: nothing is broken, nothing is found */
	UNSYNCED_ROOT, /* no sync before a root record */
	IGNORED_SYNC,  /* a sync that failed counts as done */
	LATE_PUNCH,    /* a range is punched after it was used again */
	REUSE,         /* freed blocks are used again at once */
	NO_CHAIN,      /* log records without their chain */
	RULES
};

static const char *const names[RULES] = {
	"none", "unsynced-root", "ignored-failed-sync", "punch-after-reuse", "reuse-at-once", "log-without-chain",
};

enum fc_break fc_break_rule = FC_BREAK_NONE;

static void break_library(enum rule rule)
{
	fc_break_rule = rule == REUSE ? FC_BREAK_REUSE : rule == NO_CHAIN ? FC_BREAK_CHAIN : FC_BREAK_NONE;
}

/* ---- breaking a trace --------------------------------------------------------------- */

static bool is_root(const struct fc_sim_event *e)
{
	return e->kind == FC_SIM_WRITE && ((e->off >= FC_ROOT_A && e->off < FC_ROOT_A + FC_ROOT_SLOTS * FC_BLOCK) ||
					   (e->off >= FC_ROOT_B && e->off < FC_ROOT_B + FC_ROOT_SLOTS * FC_BLOCK));
}

/* An event that is not there. */
static void take_out(struct fc_sim_event *e)
{
	e->kind = FC_SIM_READ;
}

static void unsync_roots(struct fc_record *r)
{
	for (size_t i = 0; i + 1 < r->events; i++)
		if (r->event[i].kind == FC_SIM_SYNC && is_root(&r->event[i + 1]))
			take_out(&r->event[i]);
}

/* One in three syncs failed, and the library went on. */
static void ignore_syncs(struct fc_record *r, struct fc_script *random)
{
	for (size_t i = 0; i < r->events; i++)
		if (r->event[i].kind == FC_SIM_SYNC && fc_script_random(random, 3) == 0)
			take_out(&r->event[i]);
}

static bool overlap(const struct fc_sim_event *a, const struct fc_sim_event *b)
{
	return a->off < b->off + b->bytes && b->off < a->off + a->bytes;
}

/* Moves event i behind event j; every mark in between goes with its event. */
static void move(struct fc_record *r, size_t i, size_t j)
{
	struct fc_sim_event e = r->event[i];

	memmove(&r->event[i], &r->event[i + 1], (j - i) * sizeof(*r->event));
	r->event[j] = e;
	for (size_t k = 0; k < r->steps; k++) {
		if (r->marks[k].begun > i && r->marks[k].begun <= j)
			r->marks[k].begun--;
		if (r->marks[k].durable > i && r->marks[k].durable <= j)
			r->marks[k].durable--;
	}
	for (size_t k = 0; k < r->root_count; k++)
		if (r->roots[k].events > i && r->roots[k].events <= j)
			r->roots[k].events--;
}

static void delay_punches(struct fc_record *r)
{
	for (size_t i = r->events; i-- > 0;) {
		if (r->event[i].kind != FC_SIM_PUNCH)
			continue;
		for (size_t j = i + 1; j < r->events; j++)
			if (r->event[j].kind == FC_SIM_WRITE && overlap(&r->event[i], &r->event[j])) {
				move(r, i, j);
				break;
			}
	}
}

static void break_trace(struct fc_record *r, enum rule rule, struct fc_script *random)
{
	switch (rule) {
	case UNSYNCED_ROOT:
		unsync_roots(r);
		break;
	case IGNORED_SYNC:
		ignore_syncs(r, random);
		break;
	case LATE_PUNCH:
		delay_punches(r);
		break;
	default:
		break;
	}
}

/* ---- running ------------------------------------------------------------------------- */

static enum fc_drive_end steps(struct fc_record *r, struct fc_script *script)
{
	enum fc_drive_end end = fc_record_open(r);

	for (unsigned i = 0; end == FC_DRIVE_SAME && i < STEPS; i++) {
		struct fc_step step;

		fc_script_next(script, r->drive.model, &step);
		if (i % 10 >= 8)
			step.kind = i % 10 == 8 ? FC_STEP_COMMIT : FC_STEP_BACKGROUND;
		end = fc_record_step(r, &step);
	}
	return end;
}

/* Runs until a crash state is wrong; 0: none was. *tried: states looked at. */
static unsigned find(enum rule rule, unsigned runs, uint64_t *tried)
{
	struct fc_explore x = { .seen = fc_seen_new(), .samples = 8, .recover = 40, .quiet = rule != NONE };
	struct fc_model *model = fc_model_new(0, 0, fc_script_time(0));
	struct fc_disk base;
	unsigned found = 0;

	fc_disk_format(&base, FC_CIPHER_AES256GCM, fc_script_time(0));
	for (unsigned run = 1; !found && run <= runs; run++) {
		struct fc_record r;

		x.random = (struct fc_script){ .profile = &fc_profile_small, .state = run };
		fc_record_init(&r, &base, model, 0, NULL);
		if (steps(&r, &x.random) != FC_DRIVE_SAME)
			found = run; /* caught already while it runs */
		fc_record_end(&r);
		if (!found) {
			break_trace(&r, rule, &x.random);
			found = fc_explore(&x, &r) ? run : 0;
		}
		fc_record_free(&r);
	}
	*tried = x.tried;
	fc_disk_free(&base);
	fc_model_free(model);
	fc_seen_free(x.seen);
	return found;
}

static int test(enum rule rule)
{
	unsigned found;
	uint64_t tried;
	bool good;

	break_library(rule);
	found = find(rule, rule == NONE ? RUNS_MAX / 4 : RUNS_MAX, &tried);
	good = rule == NONE ? !found : found != 0;

	printf("%s %s: %s, %llu states\n", good ? "ok" : "FAILED", names[rule], found ? "caught" : "not caught",
	       (unsigned long long)tried);
	return !good;
}

int main(int argc, char **argv)
{
	int bad = 0;

	for (int rule = 0; rule < RULES; rule++)
		if (argc < 2 || strcmp(argv[1], names[rule]) == 0)
			bad |= test((enum rule)rule);
	return bad;
}
