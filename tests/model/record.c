/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record.h"

#include <sched.h>
#include <unistd.h>

#define BUSY_PAUSE 60u /* microseconds: else the helper would get little done meanwhile */

struct fc_helper {
	pthread_t thread;
	pthread_mutex_t lock; /* held while it works, or while fs changes */
	bool stop;            /* lock */
	struct fc_drive *drive;
	struct fc_script random;
};

static uint64_t hash_of(const struct fc_model *m, struct fc_text *text)
{
	fc_text_clear(text);
	fc_walk_model(m, text);
	return fc_text_hash(text);
}

static void *grown(void *p, size_t n)
{
	p = realloc(p, n);
	if (!p)
		abort();
	return p;
}

/* Notes a root that became durable since the last look. */
static void look_for_root(struct fc_record *r)
{
	struct fc_root_mark mark;

	mark.generation = fc_drive_root(&r->drive, mark.tag);
	mark.events = fc_disk_events(&r->disk);
	if (mark.generation == (r->root_count ? r->roots[r->root_count - 1].generation : 0))
		return;
	r->roots = grown(r->roots, (r->root_count + 1) * sizeof(*r->roots));
	r->roots[r->root_count++] = mark;
}

void fc_record_init(struct fc_record *r, const struct fc_disk *base, const struct fc_model *start, uint64_t generation,
		    const uint8_t *tag)
{
	memset(r, 0, sizeof(*r));
	fc_disk_clone(&r->base, base);
	fc_disk_clone(&r->disk, base);
	r->start = fc_model_clone(start);
	fc_drive_init(&r->drive, &r->disk, fc_model_clone(start));
	r->drive.generation = generation;
	if (tag)
		memcpy(r->drive.tag, tag, FC_TAG_BYTES);
	r->first = hash_of(start, &r->drive.want);
	look_for_root(r);
	fc_io_sim_record(r->disk.sim, true);
}

enum fc_drive_end fc_record_open(struct fc_record *r)
{
	enum fc_drive_end end = fc_drive_open(&r->drive, false);

	look_for_root(r);
	return end;
}

/* ---- a thread that commits meanwhile ------------------------------------------ */

static void *help(void *arg)
{
	struct fc_helper *h = arg;
	bool stop = false;

	while (!stop) {
		pthread_mutex_lock(&h->lock);
		stop = h->stop;
		/* what it meets, the steps will meet, too */
		if (!stop && h->drive->fs) {
			if (fc_script_random(&h->random, 4))
				(void)fc_fs_commit(h->drive->fs);
			else
				(void)fc_fs_background(h->drive->fs);
		}
		pthread_mutex_unlock(&h->lock);
		for (uint64_t i = fc_script_random(&h->random, 40); i; i--)
			sched_yield();
	}
	return NULL;
}

void fc_record_busy(struct fc_record *r)
{
	struct fc_helper *h = grown(NULL, sizeof(*h));

	memset(h, 0, sizeof(*h));
	h->drive = &r->drive;
	pthread_mutex_init(&h->lock, NULL);
	if (pthread_create(&h->thread, NULL, help, h))
		abort();
	r->helper = h;
}

static void stop_helper(struct fc_record *r)
{
	struct fc_helper *h = r->helper;

	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->stop = true;
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->thread, NULL);
	pthread_mutex_destroy(&h->lock);
	free(h);
	r->helper = NULL;
}

/* ---- steps ------------------------------------------------------------------------ */

/* A step that acknowledges everything before it. */
static bool acknowledges(enum fc_step_kind kind)
{
	return kind == FC_STEP_SYNC || kind == FC_STEP_COMMIT || kind == FC_STEP_REOPEN;
}

/* Closing acknowledges, not the opening after it. No call may be under way. */
static enum fc_drive_end reopen(struct fc_record *r, struct fc_mark *mark)
{
	struct fc_helper *h = r->helper;
	enum fc_drive_end end;

	if (h)
		pthread_mutex_lock(&h->lock);
	end = fc_drive_close(&r->drive);
	if (end == FC_DRIVE_SAME) {
		mark->durable = fc_disk_events(&r->disk);
		end = fc_drive_open(&r->drive, false);
	}
	if (h)
		pthread_mutex_unlock(&h->lock);
	return end;
}

enum fc_drive_end fc_record_step(struct fc_record *r, const struct fc_step *step)
{
	struct fc_drive *d = &r->drive;
	enum fc_drive_end end;
	struct fc_mark *mark;

	if (r->steps == r->room) {
		r->room = r->room * 2 + 64;
		r->marks = grown(r->marks, r->room * sizeof(*r->marks));
	}
	if (r->helper)
		usleep(BUSY_PAUSE);
	mark = &r->marks[r->steps++];
	*mark = (struct fc_mark){ .step = *step, .begun = fc_disk_events(&r->disk), .durable = SIZE_MAX };
	if (step->kind == FC_STEP_REOPEN) {
		end = reopen(r, mark);
	} else {
		end = fc_drive_step(d, &mark->step);
		if (end == FC_DRIVE_SAME && acknowledges(step->kind))
			mark->durable = fc_disk_events(&r->disk);
	}
	mark->error = d->error;
	mark->fault = end == FC_DRIVE_FAULT;
	mark->state = hash_of(d->model, &d->want);
	look_for_root(r);
	return end;
}

void fc_record_end(struct fc_record *r)
{
	const struct fc_sim_event *trace;

	stop_helper(r);
	if (r->drive.fs)
		fc_fs_abandon(r->drive.fs);
	r->drive.fs = NULL;
	trace = fc_io_sim_trace(r->disk.sim, &r->events);
	r->event = grown(NULL, (r->events + 1) * sizeof(*r->event));
	if (r->events)
		memcpy(r->event, trace, r->events * sizeof(*r->event));
}

void fc_record_free(struct fc_record *r)
{
	fc_drive_free(&r->drive);
	fc_disk_free(&r->base);
	fc_disk_free(&r->disk);
	fc_model_free(r->start);
	free(r->marks);
	free(r->roots);
	free(r->event);
}

void fc_record_print(const struct fc_record *r, size_t n, size_t events)
{
	for (size_t k = 0; k < r->steps && k < n; k++) {
		const struct fc_mark *mark = &r->marks[k];

		fprintf(stderr, "  %zu%s%s%s ", k, mark->durable <= events ? " (acknowledged)" : "",
			mark->error ? " failed: " : "", mark->error ? fc_error_text(mark->error) : "");
		fc_step_print(stderr, &mark->step);
	}
}

void fc_record_bounds(const struct fc_record *r, size_t events, size_t *least, size_t *most)
{
	*least = *most = 0;
	for (size_t k = 0; k < r->steps; k++) {
		if (r->marks[k].durable <= events)
			*least = k + 1;
		if (r->marks[k].begun < events)
			*most = k + 1;
	}
	if (*most < *least)
		*most = *least;
}

const struct fc_root_mark *fc_record_root(const struct fc_record *r, size_t events)
{
	const struct fc_root_mark *found = NULL;

	for (size_t i = 0; i < r->root_count; i++)
		if (r->roots[i].events <= events)
			found = &r->roots[i];
	return found;
}

void fc_record_replay(struct fc_model *m, const struct fc_step *s)
{
	const char *name = fc_script_name(s->name), *name2 = fc_script_name(s->name2);
	const char *attribute = fc_script_attribute(s->attribute);
	static char bytes[FC_SCRIPT_WRITE_MAX + 1];
	uint32_t node;
	uint64_t done;
	size_t n;

	fc_model_clock(m, s->now);
	switch (s->kind) {
	case FC_STEP_LOOKUP:
		fc_model_lookup(m, s->dir, name, &node);
		break;
	case FC_STEP_FORGET:
		fc_model_forget(m, s->node, s->bytes);
		break;
	case FC_STEP_SETATTR:
		fc_model_setattr(m, s->node, &s->set);
		break;
	case FC_STEP_MKNOD:
		fc_model_mknod(m, s->dir, name, &s->cred, s->mode, s->rdev, &node);
		break;
	case FC_STEP_MKDIR:
		fc_model_mkdir(m, s->dir, name, &s->cred, s->mode, &node);
		break;
	case FC_STEP_SYMLINK:
		fc_script_target(s, bytes);
		fc_model_symlink(m, s->dir, name, &s->cred, bytes, &node);
		break;
	case FC_STEP_TMPFILE:
		fc_model_tmpfile(m, s->dir, &s->cred, s->mode, &node);
		break;
	case FC_STEP_LINK:
		fc_model_link(m, s->node, s->dir, name);
		break;
	case FC_STEP_UNLINK:
		fc_model_unlink(m, s->dir, name);
		break;
	case FC_STEP_RMDIR:
		fc_model_rmdir(m, s->dir, name);
		break;
	case FC_STEP_RENAME:
		fc_model_rename(m, s->dir, name, s->dir2, name2, s->flags, &s->cred);
		break;
	case FC_STEP_WRITE:
		fc_script_fill(bytes, s->bytes, s->seed);
		fc_model_write(m, s->node, s->off, s->bytes, bytes, s->flags);
		break;
	case FC_STEP_FALLOCATE:
		fc_model_fallocate(m, s->node, (int)s->mode, s->off, s->bytes);
		break;
	case FC_STEP_COPY:
		fc_model_copy(m, s->node, s->off, s->dir2, s->off2, s->bytes, &done);
		break;
	case FC_STEP_SETXATTR:
		n = fc_script_value(s, (uint8_t *)bytes);
		fc_model_setxattr(m, s->node, attribute, bytes, n, (int)s->flags, s->mode);
		break;
	case FC_STEP_REMOVEXATTR:
		fc_model_removexattr(m, s->node, attribute);
		break;
	case FC_STEP_REOPEN:
	case FC_STEP_REOPEN_READ_ONLY:
	case FC_STEP_POWER_CUT:
		fc_model_reopen(m);
		break;
	default:
		break; /* changes nothing */
	}
}

struct fc_model *fc_record_model(const struct fc_record *r, size_t k)
{
	struct fc_model *m = fc_model_clone(r->start);

	fc_model_reopen(m);
	for (size_t i = 0; i < k; i++)
		if (!r->marks[i].fault)
			fc_record_replay(m, &r->marks[i].step);
	fc_model_reopen(m);
	return m;
}
