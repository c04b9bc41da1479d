/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is in files: chunks of 1 MiB, of which the beginning is there up to `room`. What
 * lies in a chunk behind the end of the file is zero.
 */
#include "floor.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_LIMIT (1ull << 40) /* the list of chunks has 8 MiB then */
#define LEAST_ROOM 256u

struct floor_chunk {
	unsigned refs; /* files that share it */
	uint32_t room;
	char *data;
};

static char zeros[FLOOR_CHUNK];

/* ---- memory ------------------------------------------------------------- */

int floor_data_begin(size_t bytes)
{
	struct block {
		struct block *next;
	} *first = NULL, *block;
	int error = 0;

	/* Chunks come from the heap, however large, and what the heap once has it keeps. */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, -1);
	mallopt(M_TOP_PAD, 16 << 20);
	for (size_t taken = 0; taken < bytes; taken += FLOOR_CHUNK) {
		block = malloc(FLOOR_CHUNK);
		if (!block) {
			error = ENOMEM;
			break;
		}
		explicit_bzero(block, FLOOR_CHUNK);
		block->next = first;
		first = block;
	}
	while ((block = first)) {
		first = block->next;
		free(block);
	}
	return error;
}

static uint32_t room_for(uint32_t bytes)
{
	uint32_t room = LEAST_ROOM;

	while (room < bytes)
		room *= 2;
	return room;
}

static struct floor_chunk *chunk_new(uint32_t room)
{
	struct floor_chunk *chunk = malloc(sizeof(*chunk));

	if (!chunk)
		return NULL;
	*chunk = (struct floor_chunk){ .refs = 1, .room = room };
	chunk->data = malloc(room);
	if (!chunk->data) {
		free(chunk);
		return NULL;
	}
	return chunk;
}

static void chunk_drop(struct floor_chunk *chunk)
{
	if (!chunk || --chunk->refs)
		return;
	free(chunk->data);
	free(chunk);
}

/* ---- chunks ------------------------------------------------------------- */

static struct floor_chunk *chunk_at(const struct floor_node *node, size_t i)
{
	return i < node->chunk_room ? node->chunks[i] : NULL;
}

/* Room in the list for chunk i. */
static int reserve(struct floor_node *node, size_t i)
{
	size_t room = node->chunk_room ? node->chunk_room : 1;
	struct floor_chunk **chunks;

	while (room <= i)
		room *= 2;
	if (room == node->chunk_room)
		return 0;
	chunks = realloc(node->chunks, room * sizeof(struct floor_chunk *));
	if (!chunks)
		return ENOMEM;
	memset(chunks + node->chunk_room, 0, (room - node->chunk_room) * sizeof(struct floor_chunk *));
	node->chunks = chunks;
	node->chunk_room = room;
	return 0;
}

/* Chunk i of the file alone, with room for [from, to), which the caller is about to fill. */
static struct floor_chunk *writable(struct floor_node *node, size_t i, uint32_t from, uint32_t to)
{
	struct floor_chunk *old, *fresh;
	uint32_t had, filled;

	if (reserve(node, i))
		return NULL;
	old = node->chunks[i];
	had = old ? old->room : 0;
	if (old && old->refs == 1 && to <= had)
		return old;
	fresh = chunk_new(room_for(to > had ? to : had));
	if (!fresh)
		return NULL;
	if (old)
		memcpy(fresh->data, old->data, had);
	if (from > had)
		memset(fresh->data + had, 0, from - had);
	filled = to > had ? to : had;
	memset(fresh->data + filled, 0, fresh->room - filled);
	chunk_drop(old);
	node->chunks[i] = fresh;
	return fresh;
}

static void set_size(struct floor_node *node, uint64_t size)
{
	node->st.st_size = (off_t)size;
	/* At least one: of none, programs (and the kernel, which keeps it) take all of the file for a hole. */
	node->st.st_blocks = size ? (blkcnt_t)((size + 511) / 512) : 1;
}

int floor_data_read(const struct floor_node *node, uint64_t off, size_t n, struct iovec iov[FLOOR_PIECES])
{
	uint64_t size = (uint64_t)node->st.st_size;
	int count = 0;

	if (n > FLOOR_CHUNK)
		n = FLOOR_CHUNK;
	if (off >= size)
		return 0;
	if (n > size - off)
		n = (size_t)(size - off);
	while (n) {
		const struct floor_chunk *chunk = chunk_at(node, off / FLOOR_CHUNK);
		size_t at = off % FLOOR_CHUNK, part = n < FLOOR_CHUNK - at ? n : FLOOR_CHUNK - at;
		size_t have = chunk && chunk->room > at ? chunk->room - at : 0;

		if (have > part)
			have = part;
		if (have)
			iov[count++] = (struct iovec){ chunk->data + at, have };
		if (have < part)
			iov[count++] = (struct iovec){ zeros, part - have };
		off += part;
		n -= part;
	}
	return count;
}

int floor_data_write(struct floor_node *node, uint64_t off, const char *data, size_t n)
{
	uint64_t end = off + n;

	if (end > SIZE_LIMIT)
		return EFBIG;
	while (off < end) {
		uint32_t at = off % FLOOR_CHUNK;
		uint32_t part = end - off < FLOOR_CHUNK - at ? (uint32_t)(end - off) : FLOOR_CHUNK - at;
		struct floor_chunk *chunk = writable(node, off / FLOOR_CHUNK, at, at + part);

		if (!chunk)
			return ENOMEM;
		memcpy(chunk->data + at, data, part);
		data += part;
		off += part;
		/* As far as it came, should the next chunk fail. */
		if (off > (uint64_t)node->st.st_size)
			set_size(node, off);
	}
	return 0;
}

int floor_data_resize(struct floor_node *node, uint64_t size)
{
	size_t first = (size + FLOOR_CHUNK - 1) / FLOOR_CHUNK; /* that is no longer needed */
	uint32_t tail = size % FLOOR_CHUNK;
	const struct floor_chunk *last = tail ? chunk_at(node, size / FLOOR_CHUNK) : NULL;

	if (size > SIZE_LIMIT)
		return EFBIG;
	if (size < (uint64_t)node->st.st_size && last && last->room > tail) {
		struct floor_chunk *chunk = writable(node, size / FLOOR_CHUNK, tail, last->room);

		if (!chunk)
			return ENOMEM;
		memset(chunk->data + tail, 0, chunk->room - tail);
	}
	for (size_t i = first; i < node->chunk_room; i++) {
		chunk_drop(node->chunks[i]);
		node->chunks[i] = NULL;
	}
	set_size(node, size);
	return 0;
}

/* Shares the chunk at both offsets if it can: all of it, or all that is there of both files. */
static bool share(struct floor_node *from, uint64_t from_off, struct floor_node *to, uint64_t to_off, size_t n)
{
	struct floor_chunk *chunk = chunk_at(from, from_off / FLOOR_CHUNK);
	bool last = from_off + n == (uint64_t)from->st.st_size && to_off + n >= (uint64_t)to->st.st_size;

	if (from_off % FLOOR_CHUNK || to_off % FLOOR_CHUNK || (n < FLOOR_CHUNK && !last) ||
	    reserve(to, to_off / FLOOR_CHUNK))
		return false;
	if (chunk)
		chunk->refs++;
	chunk_drop(to->chunks[to_off / FLOOR_CHUNK]);
	to->chunks[to_off / FLOOR_CHUNK] = chunk;
	if (to_off + n > (uint64_t)to->st.st_size)
		set_size(to, to_off + n);
	return true;
}

/* Through a buffer, since writing may move what is read. */
static int copy_bytes(struct floor_node *from, uint64_t from_off, struct floor_node *to, uint64_t to_off, size_t n)
{
	static char buffer[FLOOR_CHUNK];
	struct iovec iov[FLOOR_PIECES];
	int count = floor_data_read(from, from_off, n, iov);
	size_t used = 0;

	for (int i = 0; i < count; i++) {
		memcpy(buffer + used, iov[i].iov_base, iov[i].iov_len);
		used += iov[i].iov_len;
	}
	return floor_data_write(to, to_off, buffer, used);
}

int floor_data_copy(struct floor_node *from, uint64_t from_off, struct floor_node *to, uint64_t to_off, size_t n,
		    size_t *done)
{
	uint64_t size = (uint64_t)from->st.st_size;
	int error = 0;

	*done = 0;
	if (from_off >= size)
		return 0;
	if (n > size - from_off)
		n = (size_t)(size - from_off);
	if (to_off + n > SIZE_LIMIT)
		return EFBIG;
	while (*done < n && !error) {
		size_t room = FLOOR_CHUNK - (size_t)((to_off + *done) % FLOOR_CHUNK);
		size_t part = n - *done < room ? n - *done : room;

		if (!share(from, from_off + *done, to, to_off + *done, part))
			error = copy_bytes(from, from_off + *done, to, to_off + *done, part);
		if (!error)
			*done += part;
	}
	return *done ? 0 : error;
}
