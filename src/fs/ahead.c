/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading around: who reads a file in small pieces and no order waits for the disk
 * each time, though a read sixteen times as long takes hardly longer. So what lies
 * around a small read is asked for as well, once, and the host's page cache has it
 * by the time it is wanted. (The kernel does the same around a page fault.) Only for
 * files that are small beside the machine's memory: of larger ones, most of it would
 * be read in vain.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fs/state.h"

#define SMALL_READ (32u << 10)
#define LARGE_READ (256u << 10) /* longer ones are sequential, and the kernel reads ahead */
#define AROUND_SMALL (128u << 10)
#define AROUND_LARGE (1u << 20)
#define RANGES 16u      /* a file in more pieces than that gains little */
#define MEMORY_PART 16u /* a file may be this part of the memory */
#define EPOCH_BITS 4u   /* after 16 seconds the host may have forgotten */

static uint64_t memory_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

void fc_ahead_init(struct fc_fs *fs)
{
	fs->ahead_limit = memory_bytes() / MEMORY_PART;
}

/* True for the second of two who ask for the same, if not much else came between. */
static bool asked_lately(struct fc_fs *fs, uint64_t ino, uint64_t piece)
{
	struct timespec ts;
	uint64_t word;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	word = (ino * 0x9e3779b97f4a7c15u) ^ (piece * 0xc2b2ae3d27d4eb4fu) ^ ((uint64_t)ts.tv_sec >> EPOCH_BITS);
	return atomic_exchange_explicit(&fs->asked[(word >> 20) % FC_ASKED_SLOTS], word, memory_order_relaxed) == word;
}

/* Where the content of [block, end) lies. Shared lock. */
static unsigned ranges_of(struct fc_fs *fs, uint64_t ino, uint64_t block, uint64_t end, struct fc_range *range)
{
	struct fc_extent e;
	unsigned n = 0;

	while (block < end && n < RANGES && !fc_extent_at(fs, ino, block, &e) && e.file_block < end) {
		uint64_t first = e.file_block > block ? e.file_block : block;
		uint64_t stop = e.file_block + e.units < end ? e.file_block + e.units : end;
		uint64_t place = e.start + (first - e.file_block);

		block = stop;
		if (!e.session)
			continue;
		if (n && range[n - 1].start + range[n - 1].count == place)
			range[n - 1].count += (uint32_t)(stop - first);
		else
			range[n++] = (struct fc_range){ place, (uint32_t)(stop - first) };
	}
	return n;
}

void fc_fs_ahead(struct fc_fs *fs, uint64_t ino, uint64_t off, size_t n)
{
	uint64_t around = n <= SMALL_READ ? AROUND_SMALL : AROUND_LARGE, from = off - off % around;
	struct fc_range range[RANGES];
	struct fc_inode inode;
	unsigned ranges = 0, i;

	if (!n || n > LARGE_READ || off > FC_FILE_MAX || asked_lately(fs, ino, from / FC_BLOCK + around))
		return;
	fc_fs_rdlock(fs);
	if (!fc_inode_get(fs, ino, &inode) && !(inode.flags & FC_INODE_INLINE) && inode.size > n &&
	    inode.size <= fs->ahead_limit)
		ranges = ranges_of(fs, ino, from >> FC_BLOCK_SHIFT, (from + around) >> FC_BLOCK_SHIFT, range);
	fc_fs_rdunlock(fs);
	/* by now the blocks may be another file's: it is only a hint */
	for (i = 0; i < ranges; i++)
		fc_io_ahead(fs->io, range[i].start * FC_BLOCK, (uint64_t)range[i].count * FC_BLOCK);
}
