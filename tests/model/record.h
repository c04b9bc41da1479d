/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorded run: everything that a container wrote while steps were done on
 * it, and which state of the model each moment allows. State k is the model
 * after k steps, as the hash of its text.
 */
#ifndef FC_TESTS_RECORD_H
#define FC_TESTS_RECORD_H

#include "drive.h"

struct fc_helper; /* a thread that commits all the time */

struct fc_mark {
	struct fc_step step;
	uint64_t state; /* the model's hash after the step */
	int error;      /* the container's answer */
	bool fault;     /* it failed for the disk's sake, and changed nothing */
	size_t begun;   /* events before it began */
	size_t durable; /* it acknowledged everything when so many events were there; SIZE_MAX: it did not */
};

struct fc_root_mark {
	size_t events; /* when it became durable */
	uint64_t generation;
	uint8_t tag[FC_TAG_BYTES];
};

struct fc_record {
	struct fc_disk base, disk;
	struct fc_model *start; /* when recording began */
	uint64_t first;         /* its hash */
	struct fc_drive drive;
	struct fc_helper *helper; /* NULL: none */
	struct fc_mark *marks;
	size_t steps, room;
	struct fc_root_mark *roots;
	size_t root_count;
	/* After fc_record_end. The bytes belong to the disk. */
	struct fc_sim_event *event;
	size_t events;
};

/* Copies base, whose state start is (copied), and begins to record. generation
 * and tag: what this machine saw last. */
void fc_record_init(struct fc_record *r, const struct fc_disk *base, const struct fc_model *start, uint64_t generation,
		    const uint8_t *tag);
/* Opens it. If that is not FC_DRIVE_SAME, the reason is in drive.message; end and
 * free it all the same. */
enum fc_drive_end fc_record_open(struct fc_record *r);
/* From now to the end another thread commits and tidies up beside the steps: a
 * seed does not repeat that run exactly. After fc_record_open. */
void fc_record_busy(struct fc_record *r);
/* One line a step, the first n of them; those that were acknowledged after so
 * many events are marked. */
void fc_record_print(const struct fc_record *r, size_t n, size_t events);
/* Runs and marks one step. */
enum fc_drive_end fc_record_step(struct fc_record *r, const struct fc_step *step);
/* Cuts the power; event and events are there now. */
void fc_record_end(struct fc_record *r);
void fc_record_free(struct fc_record *r);

/* The states that are right when the power is cut after so many events:
 * *least to *most (numbers of steps). */
void fc_record_bounds(const struct fc_record *r, size_t events, size_t *least, size_t *most);
/* The hash of state k. */
static inline uint64_t fc_record_state(const struct fc_record *r, size_t k)
{
	return k ? r->marks[k - 1].state : r->first;
}
/* The newest root that was durable by then; NULL: none of this run. */
const struct fc_root_mark *fc_record_root(const struct fc_record *r, size_t events);
/* A new model in state k, as after opening. */
struct fc_model *fc_record_model(const struct fc_record *r, size_t k);
/* Does one step on the model alone. */
void fc_record_replay(struct fc_model *m, const struct fc_step *step);

#endif
