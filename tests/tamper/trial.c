/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must hold of a container of which one block is damaged:
 *
 *  1. Opening succeeds, or fails with FC_EFORGED or FC_EOLDER.
 *  2. What can be read is right; what cannot gives an error that says damage. The
 *     state is the newest one, unless the block is of the last log record (or its
 *     content): that may be missing.
 *  3. The checker says so, and names the path of each file that gave an error.
 *  4. A repair succeeds (for the root before, when that is accepted); then the
 *     checker finds nothing.
 *  5. What could be read before is there and right, at the same path unless a name
 *     on the way could not be read. Of what could not, nothing is wrong: blocks are
 *     right or give an error.
 */
#include "trial.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../model/disk.h"

#define FOUND_MAX 4096

struct found {
	enum fc_check_kind kind;
	uint64_t ino;
	char **path;
	size_t paths;
};

struct report {
	struct found found[FOUND_MAX];
	size_t n;
	struct fc_check_result result;
	int error;
};

/* What looking at all files gave. */
struct view {
	unsigned *name, *inode; /* of each file: of its path, of itself */
	int state;
	bool older;
};

static int wrong(struct trial *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int wrong(struct trial *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(t->why, sizeof(t->why), format, args);
	va_end(args);
	return -1;
}

/* ---- checking ------------------------------------------------------------------- */

static void on_found(void *arg, const struct fc_check_finding *f)
{
	struct report *r = arg;
	struct found *to = &r->found[r->n];
	size_t i;

	if (r->n == FOUND_MAX || f->note)
		return;
	r->n++;
	*to = (struct found){ .kind = f->kind, .ino = f->ino, .paths = f->paths };
	to->path = calloc(f->paths + 1, sizeof(*to->path));
	for (i = 0; i < f->paths; i++)
		to->path[i] = strdup(f->path[i]);
}

static void run_check(struct report *r, const struct fc_io *sim, bool repair, bool accept_older, struct fc_io **after)
{
	struct fc_check_options options = {
		.repair = repair, .accept_older = accept_older, .found = on_found, .arg = r, .uid = 1000, .gid = 100
	};
	struct fc_disk disk = { .sim = fc_io_sim_clone((struct fc_io *)(uintptr_t)sim) };

	memset(r, 0, sizeof(*r));
	r->error = fc_check(fc_disk_io(&disk, !repair), box_master, &options, &r->result);
	if (after)
		*after = disk.sim;
	else
		fc_io_close(disk.sim);
}

static void free_report(struct report *r)
{
	size_t i, k;

	for (i = 0; i < r->n; i++) {
		for (k = 0; k < r->found[i].paths; k++)
			free(r->found[i].path[k]);
		free(r->found[i].path);
	}
	r->n = 0;
}

/* Is path the file's, or of a directory above it? */
static bool leads_to(const char *path, const char *file)
{
	size_t n;

	if (*path++ != '/')
		return false;
	n = strlen(path);
	return !strncmp(path, file, n) && (!file[n] || file[n] == '/' || !n);
}

/* Is something in that directory named? Then a name may be missing. */
static bool is_named_in(const struct report *r, const struct box_file *dir)
{
	size_t i, k;

	for (i = 0; i < r->n; i++)
		for (k = 0; k < r->found[i].paths; k++)
			if (!strncmp(r->found[i].path[k] + 1, dir->path, strlen(dir->path)))
				return true;
	return false;
}

/* Operations of the log may be missing: of what they touched, one may be there and another not. */
static bool is_logged(const struct report *r, const struct box_file *file)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (r->found[i].kind == FC_CHECK_LOG)
			return !strncmp(file->path, "dir-2", 5) && (!file->path[5] || file->path[5] == '/');
	return false;
}

static bool is_named(const struct report *r, const struct box_file *file)
{
	size_t i, k;

	for (i = 0; i < r->n; i++) {
		if (r->found[i].ino == file->ino)
			return true;
		for (k = 0; k < r->found[i].paths; k++)
			if (leads_to(r->found[i].path[k], file->path))
				return true;
	}
	return false;
}

/* ---- looking --------------------------------------------------------------------------- */

static void free_view(struct view *v)
{
	free(v->name);
	free(v->inode);
}

/* Which state is this? The names that the log moves tell. */
static int find_state(const struct box *box, struct fc_fs *fs)
{
	struct fc_attr dir, attr;
	char name[32];
	int n;

	if (fc_fs_lookup(fs, FC_INO_ROOT, "dir-2", &dir))
		return BOX_RECORDS;
	fc_fs_forget(fs, dir.ino, 1);
	for (n = BOX_RECORDS; n > 0; n--) {
		snprintf(name, sizeof(name), "moving-%d", n);
		if (!fc_fs_lookup(fs, dir.ino, name, &attr)) {
			fc_fs_forget(fs, attr.ino, 1);
			return n;
		}
	}
	(void)box;
	snprintf(name, sizeof(name), "moving-0");
	if (fc_fs_lookup(fs, dir.ino, name, &attr))
		return BOX_RECORDS; /* cannot be told: it has to be the newest */
	fc_fs_forget(fs, attr.ino, 1);
	if (fc_fs_lookup(fs, dir.ino, "late-1", &attr) == FC_ENOENT)
		return BOX_OLDER;
	return BOX_ROOT;
}

/* The first thing that is wrong goes to t->why, with the file: -1. */
static int look_at_all(struct trial *t, struct fc_fs *fs, struct view *v, unsigned wrong_bits,
		       const struct report *found)
{
	const struct box *box = t->box;
	char why[BOX_WHY] = "";
	size_t i;

	v->name = calloc(box->files + 1, sizeof(*v->name));
	v->inode = calloc(box->files + 1, sizeof(*v->inode));
	v->state = find_state(box, fs);
	for (i = 0; i < box->files; i++) {
		const struct box_file *file = &box->file[i];

		if (!box_has(file, v->state) || (found && is_logged(found, file)))
			continue;
		v->name[i] = box_find(fs, file, why);
		v->inode[i] = box_look(box, fs, file, v->state, why);
		if ((v->name[i] | v->inode[i]) & wrong_bits)
			return wrong(t, "state %d, %s: %s [%x %x]", v->state, file->path, why, v->name[i], v->inode[i]);
	}
	return 0;
}

static bool any_error(const struct box *box, const struct view *v)
{
	size_t i;

	for (i = 0; i < box->files; i++)
		if (v->name[i] | v->inode[i])
			return true;
	return false;
}

static bool may_look_torn(const struct place *place)
{
	return place && (place->kind == PLACE_LOG || place->kind == PLACE_DATA);
}

static int look_before(struct trial *t, struct view *v, struct trial_tally *tally)
{
	struct fc_fs *fs;
	int r = box_open(t->damaged, true, false, &fs);

	if (r == FC_EFORGED || r == FC_EOLDER) {
		tally->refused++;
		return r;
	}
	if (r)
		return wrong(t, "opening gave %d", r);
	r = look_at_all(t, fs, v, BOX_MISSING | BOX_WRONG | BOX_CHANGED, NULL);
	fc_fs_abandon(fs);
	if (r)
		return r;
	if (any_error(t->box, v))
		tally->harmed++;
	else
		tally->unharmed++;
	if (v->state == BOX_RECORDS)
		return 0;
	tally->torn++;
	if (v->state == BOX_RECORDS - 1 && (may_look_torn(t->place) || may_look_torn(t->other)))
		return 0;
	return wrong(t, "opened in the older state %d", v->state);
}

/* ---- the rules ---------------------------------------------------------------------------- */

static int judge_check(struct trial *t, const struct view *before, const struct report *r, int opened,
		       struct trial_tally *tally)
{
	size_t i;

	if (r->error && !(opened && (r->error == FC_EFORGED || r->error == FC_EOLDER)))
		return wrong(t, "the check gave %d", r->error);
	if (opened && !r->result.damages)
		return wrong(t, "it does not open (%d), but the check finds nothing", opened);
	if (opened)
		return 0;
	for (i = 0; i < t->box->files; i++)
		if ((before->name[i] | before->inode[i]) && !is_named(r, &t->box->file[i]))
			return wrong(t, "the check does not name %s [%x %x]", t->box->file[i].path, before->name[i],
				     before->inode[i]);
	if (r->result.damages)
		return 0;
	/* an older second copy of a root, or another one of a block of salts, is what crashes leave, too */
	if (!t->place->pending && t->place->kind != PLACE_LOG && !t->other && before->state == BOX_RECORDS &&
	    !(t->how == DAMAGE_REPLAY &&
	      (t->place->kind == PLACE_ROOT || (t->place->kind == PLACE_SALTS && r->result.notes))))
		return wrong(t, "the check finds nothing");
	tally->unnoticed++;
	return 0;
}

/* Against what could be read before, in the same state. */
static int compare(struct trial *t, const struct view *before, const struct view *after, const struct report *found)
{
	size_t i;

	for (i = 0; i < t->box->files; i++) {
		const struct box_file *file = &t->box->file[i];
		unsigned lost = after->inode[i] & ~BOX_CHANGED, name = after->name[i];

		if (!(name | after->inode[i]))
			continue;
		if (S_ISDIR(file->mode) && !name && !(lost & ~BOX_MISSING) && is_named_in(found, file))
			continue;
		if (!is_named(found, file))
			return wrong(t, "%s is not right after the repair [%x %x], and was not named", file->path, name,
				     after->inode[i]);
		if (before && before->state == after->state && !before->name[i] && !before->inode[i] && (name || lost))
			return wrong(t, "%s could be read before the repair, and now not [%x %x]", file->path, name,
				     after->inode[i]);
		/* its name was lost: then it is elsewhere, but whole (a directory may have lost names) */
		if (before && before->state == after->state && !before->inode[i] && lost && !S_ISDIR(file->mode))
			return wrong(t, "%s could be read by its inode before the repair, and now not [%x]", file->path,
				     after->inode[i]);
	}
	return 0;
}

static int look_after(struct trial *t, const struct fc_io *after, const struct view *before, const struct report *found,
		      bool older)
{
	struct view v = { 0 };
	struct fc_fs *fs;
	int r = box_open(after, false, false, &fs);

	if (r)
		return wrong(t, "after the repair, opening gave %d", r);
	r = look_at_all(t, fs, &v, BOX_WRONG, found);
	if (!r && v.state == BOX_OLDER && !older)
		r = wrong(t, "the repair went back to the root before");
	if (!r && before && before->state > v.state)
		r = wrong(t, "the repair went back from state %d to %d", before->state, v.state);
	if (!r)
		r = compare(t, before, &v, found);
	if (!r && (fc_fs_background(fs) || fc_fs_commit(fs)))
		r = wrong(t, "after the repair, a commit fails");
	fc_fs_abandon(fs);
	free_view(&v);
	return r;
}

static int repair(struct trial *t, const struct view *before, struct trial_tally *tally)
{
	struct report *r = malloc(sizeof(*r)), *again = malloc(sizeof(*again));
	struct fc_io *after = NULL;
	bool older = false;
	int result = 0;

	run_check(r, t->damaged, true, false, &after);
	if (r->error == FC_EOLDER && !before) {
		free_report(r);
		fc_io_close(after);
		older = true;
		run_check(r, t->damaged, true, true, &after);
	}
	if (r->error)
		result = wrong(t, "the repair gave %d", r->error);
	else if (r->result.repaired != r->result.damages)
		result = wrong(t, "of %llu damages %llu were repaired", (unsigned long long)r->result.damages,
			       (unsigned long long)r->result.repaired);
	again->n = 0;
	if (!result) {
		run_check(again, after, false, false, NULL);
		if (again->error || again->result.damages)
			result = wrong(t, "after the repair, the check gave %d and finds %llu damages", again->error,
				       (unsigned long long)again->result.damages);
	}
	if (!result)
		result = look_after(t, after, before, r, older);
	tally->repaired += !result && r->result.repaired;
	tally->older += !result && older;
	free_report(r);
	free_report(again);
	free(r);
	free(again);
	fc_io_close(after);
	return result;
}

int trial_run(struct trial *t, struct trial_tally *tally)
{
	struct report *r = malloc(sizeof(*r));
	struct view before = { 0 };
	int opened = look_before(t, &before, tally), result = 0;

	tally->trials++;
	r->n = 0;
	if (opened == -1) {
		result = -1;
	} else {
		run_check(r, t->damaged, false, false, NULL);
		result = judge_check(t, &before, r, opened, tally);
	}
	if (!result && t->repair)
		result = repair(t, opened ? NULL : &before, tally);
	free_report(r);
	free(r);
	free_view(&before);
	return result;
}
