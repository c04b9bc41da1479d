/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A directory that is read in parts while other steps change it. What was there
 * from the first part to the last must have been given exactly once; what came
 * or went in between, at most once for each time it was made.
 */
#include "drive_priv.h"

struct seen {
	uint64_t birth, ino;
	char name[FC_NAME_MAX + 1];
	unsigned times;
};

struct scan {
	uint32_t dir;
	uint64_t offset; /* where to go on */
	struct seen *seen;
	size_t n;
	uint64_t first; /* no birth is later of what was there at the beginning */
	uint64_t left;  /* of this part */
	bool stranger;  /* something was given that is not there */
};

void fc_drive_scan_drop(struct fc_drive *d)
{
	if (d->scan)
		free(d->scan->seen);
	free(d->scan);
	d->scan = NULL;
}

/* Remembers the entries that there are and were not known. */
static void learn(struct fc_drive *d)
{
	struct scan *scan = d->scan;
	struct fc_model_entry entry;

	for (size_t i = 0; fc_model_entry(d->model, scan->dir, i, &entry); i++) {
		size_t j = 0;

		while (j < scan->n && scan->seen[j].birth != entry.birth)
			j++;
		if (j < scan->n)
			continue;
		scan->seen = realloc(scan->seen, (scan->n + 1) * sizeof(*scan->seen));
		if (!scan->seen)
			abort();
		scan->seen[scan->n] = (struct seen){ .birth = entry.birth, .ino = fc_drive_ino(d, entry.node) };
		memcpy(scan->seen[scan->n++].name, entry.name, strlen(entry.name));
	}
}

static bool still_there(struct fc_drive *d, uint64_t birth)
{
	struct fc_model_entry entry;

	for (size_t i = 0; fc_model_entry(d->model, d->scan->dir, i, &entry); i++)
		if (entry.birth == birth)
			return true;
	return false;
}

static int take(void *arg, const char *name, uint64_t ino, uint32_t type, uint64_t next_off, const struct fc_attr *attr)
{
	struct scan *scan = arg;

	(void)type, (void)attr;
	if (!scan->left)
		return 1;
	scan->left--;
	scan->offset = next_off;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	/* The newest entry of that name and inode. */
	for (size_t i = scan->n; i--;)
		if (scan->seen[i].ino == ino && strcmp(scan->seen[i].name, name) == 0) {
			scan->seen[i].times++;
			return 0;
		}
	scan->stranger = true;
	return 0;
}

static void begin(struct fc_drive *d, uint32_t dir)
{
	struct scan *scan = calloc(1, sizeof(*scan));

	if (!scan)
		abort();
	scan->dir = dir;
	d->scan = scan;
	learn(d);
	for (size_t i = 0; i < scan->n; i++)
		if (scan->seen[i].birth > scan->first)
			scan->first = scan->seen[i].birth;
}

static enum fc_drive_end finish(struct fc_drive *d)
{
	struct scan *scan = d->scan;
	enum fc_drive_end end = FC_DRIVE_SAME;

	for (size_t i = 0; i < scan->n; i++) {
		bool all_along = scan->seen[i].birth <= scan->first && still_there(d, scan->seen[i].birth);

		if (scan->seen[i].times > 1 || (all_along && !scan->seen[i].times))
			end = fc_drive_differs(d, "directory %u: inode %llu was given %u times", (unsigned)scan->dir,
					       (unsigned long long)scan->seen[i].ino, scan->seen[i].times);
	}
	fc_drive_scan_drop(d);
	return end;
}

/* Begins, goes on with, or ends the scan: at most s->bytes entries. */
enum fc_drive_end fc_drive_scan(struct fc_drive *d, struct fc_step *s)
{
	uint64_t asked;
	int error;

	if (d->scan && !fc_model_attr(d->model, d->scan->dir))
		fc_drive_scan_drop(d); /* the directory is gone */
	if (!d->scan)
		begin(d, s->dir);
	learn(d);
	asked = d->scan->left = s->bytes;
	error = fc_fs_readdir(d->fs, fc_drive_ino(d, d->scan->dir), d->scan->offset, false, take, d->scan);
	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	if (!S_ISDIR(fc_model_attr(d->model, d->scan->dir)->mode)) {
		fc_drive_scan_drop(d);
		return fc_drive_verdict(d, error, FC_ERR(FC_ENOTDIR));
	}
	if (error)
		return fc_drive_verdict(d, error, 0);
	if (d->scan->stranger)
		return fc_drive_differs(d, "directory %u: an entry that is not there", (unsigned)d->scan->dir);
	return d->scan->left && asked ? finish(d) : FC_DRIVE_SAME;
}
