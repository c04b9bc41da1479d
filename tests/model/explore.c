/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explore.h"

#define SECTOR 512u
#define FINDING_MAX 400u
#define STEPS_AFTER 6u /* after a recovery */
#define DEPTH_MAX 2u
#define BUDGET_AFTER 24u

/* ---- a set of hashes ------------------------------------------------------------ */

struct fc_seen {
	uint64_t *slot; /* 0: free */
	size_t room, count;
};

struct fc_seen *fc_seen_new(void)
{
	struct fc_seen *seen = calloc(1, sizeof(*seen));

	if (!seen)
		abort();
	return seen;
}

void fc_seen_free(struct fc_seen *seen)
{
	if (seen)
		free(seen->slot);
	free(seen);
}

static bool insert(struct fc_seen *seen, uint64_t hash)
{
	size_t at = hash % seen->room;

	for (; seen->slot[at]; at = (at + 1) % seen->room)
		if (seen->slot[at] == hash)
			return false;
	seen->slot[at] = hash;
	seen->count++;
	return true;
}

bool fc_seen_add(struct fc_seen *seen, uint64_t hash)
{
	if (seen->count * 2 >= seen->room) {
		struct fc_seen old = *seen;

		seen->room = old.room ? old.room * 2 : 4096;
		seen->count = 0;
		seen->slot = calloc(seen->room, sizeof(*seen->slot));
		if (!seen->slot)
			abort();
		for (size_t i = 0; i < old.room; i++)
			if (old.slot[i])
				insert(seen, old.slot[i]);
		free(old.slot);
	}
	return insert(seen, hash ? hash : 1);
}

/* ---- one state ------------------------------------------------------------------ */

/* What is at hand while one state is looked at. */
struct state {
	struct fc_explore *x;
	const struct fc_record *r;
	size_t events;      /* issued when the power was cut */
	size_t least, most; /* steps */
	struct fc_disk disk;
	const char *how;
	struct fc_text text;
};

static struct fc_time clock_now(void *arg)
{
	(void)arg;
	return fc_script_time(900000000);
}

static int open_state(const struct state *s, struct fc_disk *disk, bool read_only, struct fc_fs **fs)
{
	const struct fc_root_mark *root = fc_record_root(s->r, s->events);
	struct fc_fs_options options = { .read_only = read_only, .no_threads = true, .now = clock_now };
	uint8_t master[FC_KEY_BYTES];
	int error = fc_disk_unlock(disk, false, master);

	*fs = NULL;
	if (error)
		return error;
	if (root) {
		options.seen_generation = root->generation;
		memcpy(options.seen_tag, root->tag, FC_TAG_BYTES);
	}
	return fc_fs_open(fc_disk_io(disk, read_only), master, &options, fs);
}

/* The state that the tree's text is in; SIZE_MAX: none that is right. */
static size_t match(const struct state *s, uint64_t hash)
{
	for (size_t k = s->most + 1; k-- > s->least;)
		if (fc_record_state(s->r, k) == hash)
			return k;
	return SIZE_MAX;
}

static int wrong(const struct state *s, const char *what, int error)
{
	if (s->x->quiet)
		return 1;
	fprintf(stderr,
		"crash state %llu (%s, depth %u), after %zu of %zu events, steps %zu to %zu are right: %s%s%s\n",
		(unsigned long long)s->x->tried, s->how, s->x->depth, s->events, s->r->events, s->least, s->most, what,
		error < 0 ? ": " : "", error < 0 ? fc_error_text(error) : "");
	fc_record_print(s->r, s->most + 1, s->events);
	return 1;
}

/* Which right state comes nearest is not known: shows the difference to the
 * first and to the last. */
static void show(const struct state *s)
{
	size_t ks[2] = { s->least, s->most };

	if (s->x->quiet)
		return;
	for (int i = 0; i < 1 + (ks[0] != ks[1]); i++) {
		struct fc_model *m = fc_record_model(s->r, ks[i]);
		struct fc_text text = { 0 };

		fc_walk_model(m, &text);
		fprintf(stderr, " against the model after %zu steps:\n", ks[i]);
		fc_text_diff(&text, &s->text);
		fc_text_free(&text);
		fc_model_free(m);
	}
	for (size_t k = 0; k <= s->r->steps; k++)
		if (fc_record_state(s->r, k) == fc_text_hash(&s->text))
			fprintf(stderr, " it is the state after %zu steps\n", k);
}

/* The tree of an open state: which step it is. */
static int look(struct state *s, struct fc_fs *fs, unsigned how, size_t *k)
{
	struct fc_fs_stat st;
	uint64_t inodes;
	unsigned errors;

	fc_text_clear(&s->text);
	errors = fc_walk_container(fs, how, &s->text, &inodes);
	*k = match(s, fc_text_hash(&s->text));
	if (errors || *k == SIZE_MAX) {
		wrong(s, errors ? "the tree has errors" : "the tree is in no right state", 0);
		show(s);
		return 1;
	}
	if (fc_fs_statfs(fs, &st) || (!st.read_only && st.inodes != inodes))
		return wrong(s, "the number of inodes is wrong", 0);
	return 0;
}

/* A reader sees a right state too, and leaves every byte as it was. */
static int check_reader(struct state *s)
{
	uint64_t before = fc_io_sim_hash(s->disk.sim);
	struct fc_disk disk;
	struct fc_fs *fs;
	size_t k;
	int error, bad = 0;

	fc_disk_clone(&disk, &s->disk);
	error = open_state(s, &disk, true, &fs);
	if (error) {
		bad = wrong(s, "does not open for reading", error);
	} else {
		bad = look(s, fs, FC_WALK_WHOLE, &k);
		error = fc_fs_close(fs);
		if (!bad && (error || fc_io_sim_hash(disk.sim) != before))
			bad = wrong(s, "reading has changed it", error);
	}
	fc_disk_free(&disk);
	return bad;
}

/* No crash leaves anything that the checker calls damage. */
static int check_whole(struct state *s)
{
	const struct fc_root_mark *root = fc_record_root(s->r, s->events);
	char text[FINDING_MAX];
	int error = fc_disk_check(&s->disk, root ? root->generation : 0, root ? root->tag : NULL, text, sizeof(text));

	if (error < 0)
		return wrong(s, "the checker failed", error);
	return error ? wrong(s, text, 0) : 0;
}

/* A few steps on a container that has just recovered. */
static enum fc_drive_end steps_after(struct fc_record *r, struct fc_script *script)
{
	enum fc_drive_end end = FC_DRIVE_SAME;

	for (unsigned i = 0; end == FC_DRIVE_SAME && i < STEPS_AFTER; i++) {
		struct fc_step step;

		fc_script_next(script, r->drive.model, &step);
		if (i == STEPS_AFTER / 2 || i == STEPS_AFTER - 1)
			step.kind = i == STEPS_AFTER / 2 ? FC_STEP_SYNC : FC_STEP_COMMIT;
		end = fc_record_step(r, &step);
	}
	return end;
}

/* Goes on from the state, records that, and cuts the power again and again. */
static int go_on(struct state *s, size_t k, struct fc_script *script)
{
	const struct fc_root_mark *root = fc_record_root(s->r, s->events);
	struct fc_explore after = *s->x;
	struct fc_model *model = fc_record_model(s->r, k);
	struct fc_record r;
	enum fc_drive_end end;
	int bad;

	fc_record_init(&r, &s->disk, model, root ? root->generation : 0, root ? root->tag : NULL);
	end = fc_record_open(&r);
	if (end == FC_DRIVE_SAME)
		end = steps_after(&r, script);
	fc_record_end(&r);
	after.random = *script;
	after.recoveries++;
	after.depth++;
	after.budget = BUDGET_AFTER;
	bad = end == FC_DRIVE_SAME ? fc_explore(&after, &r) : wrong(s, r.drive.message, 0);
	if (bad && end == FC_DRIVE_SAME)
		wrong(s, "the state before, which was right", 0);
	s->x->tried = after.tried;
	s->x->distinct = after.distinct;
	s->x->recoveries = after.recoveries;
	fc_record_free(&r);
	fc_model_free(model);
	return bad;
}

static int check(struct state *s)
{
	struct fc_explore *x = s->x;
	/* its own numbers: what is drawn later does not depend on what was seen before */
	struct fc_script script = { .profile = x->random.profile, .count = x->random.count + 1000000 };
	uint64_t key[2];
	struct fc_disk disk;
	struct fc_fs *fs;
	size_t k = SIZE_MAX;
	int error, bad = 0;

	script.state = fc_script_random(&x->random, UINT64_MAX);
	x->tried++;
	fc_record_bounds(s->r, s->events, &s->least, &s->most);
	key[0] = fc_io_sim_hash(s->disk.sim);
	key[1] = s->least;
	x->distinct += fc_seen_add(x->seen, key[0]);
	/* the same bytes are looked at again when more has been acknowledged since */
	if (!fc_seen_add(x->seen, XXH3_64bits(key, sizeof(key))))
		return 0;
	if (fc_script_random(&script, 8) == 0)
		bad = check_reader(s);
	if (!bad)
		bad = check_whole(s);
	if (bad)
		return bad;
	fc_disk_clone(&disk, &s->disk);
	error = open_state(s, &disk, false, &fs);
	if (error) {
		bad = wrong(s, "does not open", error);
	} else {
		bad = look(s, fs, fc_script_random(&script, 2) ? FC_WALK_PLUS : 0, &k);
		fc_fs_abandon(fs);
	}
	fc_disk_free(&disk);
	if (!bad && x->recover && x->depth < DEPTH_MAX && fc_script_random(&script, x->recover) == 0)
		bad = go_on(s, k, &script);
	return bad;
}

/* ---- which states ----------------------------------------------------------------- */

/* A stretch of the trace without a sync in it. */
struct epoch {
	size_t begin, end;
	struct fc_disk disk; /* as it was at the beginning */
};

static void apply(struct state *s, const struct fc_sim_event *e, uint64_t from, uint64_t to)
{
	if (e->kind == FC_SIM_READ)
		return; /* taken out by a test of this test */
	if (fc_io_sim_apply(s->disk.sim, e, from, to))
		abort();
}

/* Some of a write's sectors. */
static void apply_torn(struct state *s, const struct fc_sim_event *e)
{
	uint64_t sectors = (e->bytes + SECTOR - 1) / SECTOR, cut = fc_script_random(&s->x->random, sectors + 1);

	if (e->kind != FC_SIM_WRITE) { /* the host's own business: all of it or nothing */
		apply(s, e, 0, UINT64_MAX);
		return;
	}
	switch (fc_script_random(&s->x->random, 3)) {
	case 0:
		apply(s, e, 0, cut * SECTOR);
		break;
	case 1:
		apply(s, e, cut * SECTOR, UINT64_MAX);
		break;
	default:
		for (uint64_t i = 0; i < sectors; i++)
			if (fc_script_random(&s->x->random, 2))
				apply(s, e, i * SECTOR, (i + 1) * SECTOR);
	}
}

static void apply_some(struct state *s, const struct fc_sim_event *e)
{
	uint64_t r = fc_script_random(&s->x->random, 10);

	if (r < 5)
		apply(s, e, 0, UINT64_MAX);
	else if (r < 7 && e->kind == FC_SIM_WRITE)
		apply_torn(s, e);
}

/* A random subset of the first `events` of the epoch, in another order, torn. */
static int check_random(struct state *s, const struct epoch *p)
{
	size_t n = p->end - p->begin, *order = malloc((n + 1) * sizeof(*order));
	int bad;

	if (!order)
		abort();
	if (n > 1 && fc_script_random(&s->x->random, 3) == 0)
		n = 1 + fc_script_random(&s->x->random, n);
	for (size_t i = 0; i < n; i++) {
		size_t j = fc_script_random(&s->x->random, i + 1);

		order[i] = order[j];
		order[j] = p->begin + i;
	}
	fc_disk_clone(&s->disk, &p->disk);
	for (size_t i = 0; i < n; i++)
		apply_some(s, &s->r->event[order[i]]);
	s->events = p->begin + n;
	s->how = "some of the unsynced writes";
	bad = check(s);
	fc_disk_free(&s->disk);
	free(order);
	return bad;
}

/* All but one of the epoch's events, or only that one, or that one torn. */
static int check_one(struct state *s, const struct epoch *p, size_t one, unsigned what)
{
	static const char *const how[] = { "all but one of the unsynced writes", "one of the unsynced writes",
					   "one of the unsynced writes torn" };
	int bad;

	fc_disk_clone(&s->disk, &p->disk);
	for (size_t i = p->begin; i < p->end; i++) {
		if (i == one && what == 2)
			apply_torn(s, &s->r->event[i]);
		else if ((i == one) == (what == 1))
			apply(s, &s->r->event[i], 0, UINT64_MAX);
	}
	s->events = p->end;
	s->how = how[what];
	bad = check(s);
	fc_disk_free(&s->disk);
	return bad;
}

/* True for the share of the candidates that the budget has room for. */
static bool chosen(struct fc_explore *x, uint64_t candidates)
{
	return !x->budget || fc_script_random(&x->random, candidates + 1) < x->budget;
}

static int check_epoch(struct state *s, const struct epoch *p, uint64_t candidates)
{
	int bad = 0;

	for (size_t i = p->begin; !bad && i < p->end; i++)
		for (unsigned what = 0; !bad && what < 3; what++)
			if (chosen(s->x, candidates))
				bad = check_one(s, p, i, what);
	for (unsigned i = 0; !bad && i < s->x->samples; i++)
		if (chosen(s->x, candidates))
			bad = check_random(s, p);
	return bad;
}

/* The prefix of the trace that ends at `at`. */
static int check_prefix(struct state *s, const struct fc_disk *disk, size_t at)
{
	int bad;

	fc_disk_clone(&s->disk, disk);
	s->events = at;
	s->how = "all that was written";
	bad = check(s);
	fc_disk_free(&s->disk);
	return bad;
}

static uint64_t candidates(const struct fc_explore *x, const struct fc_record *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->events; i++)
		n += r->event[i].kind == FC_SIM_SYNC ? x->samples : 3;
	return n;
}

/* Epochs that begin before event `from` are passed over. */
static int explore(struct fc_explore *x, const struct fc_record *r, size_t from)
{
	struct state s = { .x = x, .r = r };
	uint64_t n = candidates(x, r);
	struct epoch p = { 0 };
	struct fc_disk disk;
	int bad = 0;

	fc_disk_clone(&disk, &r->base);
	fc_disk_clone(&p.disk, &r->base);
	for (size_t i = 0; !bad && i <= r->events; i++) {
		if (i >= from)
			bad = check_prefix(&s, &disk, i);
		p.end = i;
		if (!bad && p.begin >= from && p.begin < p.end && (i == r->events || r->event[i].kind == FC_SIM_SYNC))
			bad = check_epoch(&s, &p, n);
		if (i == r->events)
			break;
		s.disk = disk;
		apply(&s, &r->event[i], 0, UINT64_MAX);
		if (r->event[i].kind == FC_SIM_SYNC) {
			p.begin = i + 1;
			fc_disk_free(&p.disk);
			fc_disk_clone(&p.disk, &disk);
		}
	}
	fc_disk_free(&disk);
	fc_disk_free(&p.disk);
	fc_text_free(&s.text);
	return bad;
}

int fc_explore(struct fc_explore *x, const struct fc_record *r)
{
	return explore(x, r, 0);
}

int fc_explore_end(struct fc_explore *x, const struct fc_record *r)
{
	size_t from = r->events;

	while (from && r->event[from - 1].kind != FC_SIM_SYNC)
		from--;
	return explore(x, r, from);
}
