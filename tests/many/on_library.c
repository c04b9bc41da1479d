/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many threads on the library, with its background threads, on a simulated disk;
 * then the checker, and all once more after opening it again. Built with
 * -Db_sanitize=thread it finds races.
 *
 *     many_on_library [THREADS [STEPS [SEED]]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "../model/disk.h"
#include "many.h"

static struct fc_fs *open_it(struct fc_disk *disk)
{
	/* the smallest cache: nodes are evicted all the time */
	struct fc_fs_options options = { .commit_seconds = 1, .dirty_bytes = 4u << 20, .cache_bytes = 1 };
	struct fc_fs *fs;
	int r = fc_fs_open(fc_disk_io(disk, false), fc_disk_master, &options, &fs);

	if (!r)
		return fs;
	fprintf(stderr, "opening: %s\n", fc_error_text(r));
	exit(1);
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 16;
	uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 1500;
	struct fc_disk disk;
	struct many *m;
	struct fc_fs *fs;
	char text[300];
	int bad;

	fc_disk_format(&disk, FC_CIPHER_XCHACHA20POLY1305, (struct fc_time){ .sec = 1700000000 });
	fs = open_it(&disk);
	m = threads && steps ? many_new(&many_fs, fs, threads, argc > 3 ? strtoull(argv[3], NULL, 10) : 1) : NULL;
	if (!m)
		return 2;
	bad = many_run(m, 0, steps);
	if (!bad)
		bad = many_verify(m, fs);
	if (fc_fs_close(fs))
		bad = 1;
	if (!bad && fc_disk_check(&disk, 0, NULL, text, sizeof(text))) {
		fprintf(stderr, "the checker: %s\n", text);
		bad = 1;
	}
	fs = open_it(&disk);
	if (!bad)
		bad = many_verify(m, fs);
	fc_fs_abandon(fs);
	printf("%u threads, %llu operations each: %s\n", threads, (unsigned long long)steps,
	       bad ? "WRONG" : "each as its model says");
	many_free(m);
	fc_disk_free(&disk);
	return bad;
}
