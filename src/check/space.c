/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The space map against the blocks that the trees refer to; and making it anew. */
#include <stdlib.h>

#include "check/checker.h"
#include "tree/space_map.h"
#include "util/le.h"

static const char made_anew[] = "the space tree is built anew";
static const uint64_t no_bits[FC_MAP_WORDS];

/* ---- comparing ------------------------------------------------------------------- */

int fc_check_ref(struct fc_checker *c, const struct fc_item *item)
{
	struct fc_ref *ref;

	if (item->key.type != FC_KEY_REF)
		return 0; /* the others were checked when the map was loaded */
	ref = fc_list_add(&c->refs, sizeof(*ref));
	if (!ref)
		return FC_ENOMEM;
	*ref = (struct fc_ref){ item->key.off, fc_get_u32(item->data), fc_get_u32(item->data + 4) };
	if (item->key.ino)
		ref->owners = 0; /* not where it belongs */
	return 0;
}

/* Blocks of one kind of trouble: how many, and the first. */
struct tally {
	uint64_t blocks, first;
};

static void count(struct tally *t, uint64_t start, unsigned word, uint64_t bits)
{
	if (!bits)
		return;
	if (!t->blocks)
		t->first = start + word * 64u + (unsigned)__builtin_ctzll(bits);
	t->blocks += (unsigned)__builtin_popcountll(bits);
}

static void say(struct fc_checker *c, const struct tally *t, const char *text)
{
	if (t->blocks)
		fc_find(c, FC_CHECK_SPACE, 0, made_anew, "%llu blocks, the first of them %llu, %s",
			(unsigned long long)t->blocks, (unsigned long long)t->first, text);
}

/* The blocks that wait for a commit to be free, as bits: FC_MAP_WORDS a chunk. */
static int load_pending(struct fc_checker *c)
{
	const struct fc_space *s = &c->fs->forest.space;
	size_t i, k;

	c->pend = calloc(s->chunks * FC_MAP_WORDS + 1, sizeof(*c->pend));
	if (!c->pend)
		return FC_ENOMEM;
	for (i = 0; i < FC_PENDINGS; i++)
		for (k = 0; k < s->pending[i].count; k++) {
			const struct fc_range *r = &s->pending[i].range[k];
			uint64_t chunk = r->start / FC_CHUNK_BLOCKS - s->first_chunk;

			if (chunk >= s->chunks || r->start % FC_CHUNK_BLOCKS + r->count > FC_CHUNK_BLOCKS)
				continue; /* of a node that was not where nodes are */
			fc_map_set(c->pend + chunk * FC_MAP_WORDS, (unsigned)(r->start % FC_CHUNK_BLOCKS), r->count);
		}
	return 0;
}

static void compare_maps(struct fc_checker *c)
{
	const struct fc_space *s = &c->fs->forest.space;
	struct tally leaked = { 0 }, taken = { 0 }, given = { 0 }, kind = { 0 };
	size_t i;
	unsigned w;

	for (i = 0; i < c->owners.chunks; i++) {
		const struct fc_owner_chunk *o = &c->owners.chunk[i];
		const uint64_t *used = o->used ? o->used : no_bits, *node = o->node ? o->node : no_bits;
		const uint64_t *map = i < s->chunks && s->chunk[i].map ? s->chunk[i].map : no_bits;
		const uint64_t *pend = i < s->chunks ? c->pend + i * FC_MAP_WORDS : no_bits;
		uint64_t start = (s->first_chunk + i) * FC_CHUNK_BLOCKS;
		bool nodes = i < s->chunks && s->chunk[i].kind == FC_CHUNK_NODES;

		for (w = 0; w < FC_MAP_WORDS; w++) {
			count(&leaked, start, w, map[w] & ~used[w] & ~pend[w]);
			count(&taken, start, w, used[w] & ~map[w]);
			count(&given, start, w, used[w] & pend[w]);
			count(&kind, start, w, nodes ? used[w] & ~node[w] : node[w]);
		}
	}
	c->distrust = taken.blocks || given.blocks;
	say(c, &leaked, "are not free, but nothing refers to them");
	say(c, &taken, "are free, but are referred to");
	say(c, &given, "are about to be free, but are referred to");
	say(c, &kind, "lie where blocks of another kind belong");
}

static int compare_refs(struct fc_checker *c)
{
	struct fc_list right = { 0 };
	int r = fc_owners_refs(&c->owners, &right);
	size_t i;

	fc_refs_join(&c->refs);
	for (i = 0; !r && (i < right.n || i < c->refs.n); i++) {
		const struct fc_ref *a = i < right.n ? FC_LIST_AT(&right, struct fc_ref, i) : NULL;
		const struct fc_ref *b = i < c->refs.n ? FC_LIST_AT(&c->refs, struct fc_ref, i) : NULL;

		if (a && b && a->start == b->start && a->count == b->count && a->owners == b->owners)
			continue;
		fc_find(c, FC_CHECK_SPACE, 0, made_anew,
			"blocks from %llu on have another number of owners than recorded",
			(unsigned long long)(!b || (a && a->start < b->start) ? a->start : b->start));
		break;
	}
	fc_list_free(&right);
	return r;
}

static void compare_count(struct fc_checker *c, const char *what, uint64_t said, uint64_t right)
{
	if (said != right)
		fc_find(c, FC_CHECK_SPACE, 0, "set right", "the root counts %llu %s, and there are %llu",
			(unsigned long long)said, what, (unsigned long long)right);
}

static uint64_t inodes_of(const struct fc_checker *c)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < c->recs.n; i++)
		n += FC_LIST_AT(&c->recs, struct fc_rec, i)->flags & FC_REC_INODE;
	return n;
}

int fc_check_space(struct fc_checker *c)
{
	const struct fc_space *s = &c->fs->forest.space;
	size_t items = c->refs.n;
	int r;

	c->result->nodes = c->nodes;
	compare_count(c, "inodes", c->fs->inodes, inodes_of(c));
	if (c->fs->next_ino > FC_CHECK_INO_MAX + 1)
		fc_find(c, FC_CHECK_INODE, 0, "set right", "the number of the next inode, %llu, cannot be",
			(unsigned long long)c->fs->next_ino);
	if (c->fs->next_ino <= c->top_ino)
		fc_find(c, FC_CHECK_INODE, c->top_ino, "set right", "the number of the next inode, %llu, is taken",
			(unsigned long long)c->fs->next_ino);
	if (c->damage.space) {
		fc_find(c, FC_CHECK_SPACE, 0, made_anew, "the space tree cannot be used: %s",
			fc_error_text(c->damage.space));
		return 0;
	}
	r = load_pending(c);
	if (!r) {
		compare_maps(c);
		r = compare_refs(c);
	}
	compare_count(c, "blocks of content", s->data_used, c->owners.data_blocks);
	compare_count(c, "blocks of nodes", s->node_used, c->owners.node_blocks);
	compare_count(c, "shared ranges", s->shared, items);
	return r;
}

/* ---- making it anew ----------------------------------------------------------------- */

/* Blocks of a chunk that the state which is about to be replaced may refer to,
 * and the new one does not: all but free ones, or all, when it is not known
 * which are free. */
static void keep(const struct fc_checker *c, size_t i, uint64_t *kept)
{
	const struct fc_space *s = &c->fs->forest.space;
	const struct fc_owner_chunk *now = &c->owners.chunk[i];
	const struct fc_owner_chunk *first = i < c->first.chunks ? &c->first.chunk[i] : NULL;
	bool all = c->damage.space || c->distrust;
	unsigned w;

	for (w = 0; w < FC_MAP_WORDS; w++) {
		uint64_t bits = all ? UINT64_MAX : 0;

		if (i < s->chunks && s->chunk[i].map)
			bits |= s->chunk[i].map[w];
		if (first && first->used)
			bits |= first->used[w];
		kept[w] = bits & ~(now->used ? now->used[w] : 0);
	}
}

static int mend_refs(struct fc_checker *c)
{
	struct fc_list refs = { 0 };
	int r = fc_owners_refs(&c->owners, &refs);
	size_t i;

	for (i = 0; !r && i < refs.n; i++) {
		struct fc_ref *ref = FC_LIST_AT(&refs, struct fc_ref, i);

		while (!r && ref->count) {
			uint64_t left = FC_CHUNK_BLOCKS - ref->start % FC_CHUNK_BLOCKS;
			uint32_t n = (uint32_t)(ref->count < left ? ref->count : left);

			r = fc_space_rebuild_ref(&c->fs->forest, ref->start, n, ref->owners);
			ref->start += n;
			ref->count -= n;
		}
	}
	fc_list_free(&refs);
	return r;
}

/* How many chunks there are to say something about. */
static size_t chunks_needed(const struct fc_checker *c, uint64_t file_chunks)
{
	const struct fc_space *s = &c->fs->forest.space;
	size_t n = c->owners.chunks, i;

	if (c->damage.space || c->distrust)
		return file_chunks < n ? (size_t)file_chunks : n;
	for (i = s->chunks; i < n; i++)
		if (c->owners.chunk[i].used)
			break;
	return i < n ? n : s->chunks;
}

int fc_mend_space(struct fc_checker *c)
{
	uint64_t bytes, file_chunks;
	struct fc_chunk_truth *truth;
	uint64_t *kept;
	size_t n, i;
	int r = fc_io_size(c->io, &bytes);

	if (r)
		return r;
	file_chunks = (bytes + FC_CHUNK_BYTES - 1) / FC_CHUNK_BYTES;
	file_chunks -= file_chunks < c->owners.first_chunk ? file_chunks : c->owners.first_chunk;
	n = chunks_needed(c, file_chunks);
	truth = calloc(n + 1, sizeof(*truth));
	kept = calloc(n + 1, FC_MAP_WORDS * sizeof(*kept));
	r = truth && kept ? 0 : FC_ENOMEM;
	for (i = 0; !r && i < n; i++) {
		keep(c, i, kept + i * FC_MAP_WORDS);
		truth[i] = (struct fc_chunk_truth){ .kind = c->owners.chunk[i].node ? FC_CHUNK_NODES : FC_CHUNK_DATA,
						    .used = c->owners.chunk[i].used,
						    .kept = kept + i * FC_MAP_WORDS };
	}
	if (!r)
		r = fc_space_rebuild(&c->fs->forest, c->owners.first_chunk, truth, n, c->owners.data_blocks,
				     c->owners.node_blocks);
	free(truth);
	free(kept);
	return r ? r : mend_refs(c);
}
