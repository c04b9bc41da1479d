/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stream of operations on a container, power cuts among them, against the
 * model: the first byte says of which profile, two further bytes each what the
 * random numbers of one step begin with. Every answer must be the model's, and so
 * must the tree that is left; the checker finds nothing then. */
#include <stdio.h>
#include <stdlib.h>

#include "drive.h"
#include "script_bytes.h"

#define STEPS_MAX 200u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void differs(const struct fc_drive *d, const struct fc_step *step)
{
	if (step)
		fc_step_print(stderr, step);
	fprintf(stderr, "differs: %s\n", d->message);
	abort();
}

static void check(struct fc_disk *disk)
{
	char text[400];

	if (fc_disk_check(disk, 0, NULL, text, sizeof(text))) {
		fprintf(stderr, "the checker: %s\n", text);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fc_profile *const profiles[] = { &fc_profile_wide, &fc_profile_small, &fc_profile_bulk };
	static struct fc_disk empty;
	struct fc_script script = { 0 };
	struct fc_drive d;
	struct fc_disk disk;

	if (!size)
		return 0;
	if (!empty.sim)
		fc_disk_format(&empty, FC_CIPHER_AES256GCM, fc_script_time(0));
	script.profile = profiles[data[0] % 3];
	fc_disk_clone(&disk, &empty);
	fc_drive_init(&d, &disk, fc_model_new(0, 0, fc_script_time(0)));
	if (fc_drive_open(&d, false))
		differs(&d, NULL);
	for (size_t i = 1; i + 1 < size && i < 2 * STEPS_MAX; i += 2) {
		struct fc_step step;

		script.state = fc_script_mix((uint64_t)data[i] << 8 | data[i + 1]);
		fc_script_next(&script, d.model, &step);
		if (fc_drive_step(&d, &step))
			differs(&d, &step);
	}
	if (fc_drive_compare(&d, FC_WALK_WHOLE | FC_WALK_PLUS, false) || fc_drive_close(&d))
		differs(&d, NULL);
	check(&disk);
	fc_drive_free(&d);
	fc_disk_free(&disk);
	return 0;
}
