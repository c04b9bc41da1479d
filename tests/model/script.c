/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "script_bytes.h"

uint64_t fc_script_random(struct fc_script *s, uint64_t n)
{
	s->state += 0x9e3779b97f4a7c15u;
	return fc_script_mix(s->state) % n;
}

static bool one_in(struct fc_script *s, uint64_t n)
{
	return fc_script_random(s, n) == 0;
}

#define PICK(s, array) ((array)[fc_script_random(s, sizeof(array) / sizeof((array)[0]))])

struct fc_time fc_script_time(uint64_t count)
{
	return (struct fc_time){ .sec = 1700000000 + (int64_t)(count / 1000000),
				 .nsec = (uint32_t)(count % 1000000) * 1000 + 7 };
}

/* ---- which node ----------------------------------------------------------- */

enum { ANY, FILES, DIRS, HELD, UNNAMED, FILES_AND_DIRS, WITH_ATTRIBUTES };

static bool fits(const struct fc_model *m, uint32_t node, int want)
{
	uint32_t mode = fc_model_attr(m, node)->mode;
	const char *name;
	const void *value;
	size_t n;

	switch (want) {
	case FILES:
		return S_ISREG(mode);
	case DIRS:
		return S_ISDIR(mode);
	case HELD:
		return node != FC_INO_ROOT && fc_model_refs(m, node);
	case UNNAMED:
		return fc_model_unnamed(m, node);
	case FILES_AND_DIRS:
		return S_ISREG(mode) || S_ISDIR(mode);
	case WITH_ATTRIBUTES:
		return fc_model_attribute(m, node, 0, &name, &value, &n);
	default:
		return true;
	}
}

/* One of those that fit, each as likely; 0: none. */
static uint32_t pick(struct fc_script *s, const struct fc_model *m, int want)
{
	uint32_t found = 0;
	uint64_t count = 0;

	for (uint32_t i = 1; i < fc_model_top(m); i++)
		if (fc_model_attr(m, i) && fits(m, i, want) && one_in(s, ++count))
			found = i;
	return found;
}

/* Now and then one of the wrong kind. */
static uint32_t pick_or_wrong(struct fc_script *s, const struct fc_model *m, int want)
{
	uint32_t node = pick(s, m, one_in(s, 40) ? ANY : want);

	return node ? node : FC_INO_ROOT;
}

static uint8_t any_name(struct fc_script *s)
{
	return (uint8_t)(one_in(s, 200) ? FC_NAME_TOO_LONG : fc_script_random(s, s->profile->names));
}

/* A name that is there, mostly. */
static uint8_t old_name(struct fc_script *s, const struct fc_model *m, uint32_t dir)
{
	struct fc_model_entry entry;
	size_t n = 0;

	while (fc_model_entry(m, dir, n, &entry))
		n++;
	if (!n || one_in(s, 10))
		return any_name(s);
	fc_model_entry(m, dir, fc_script_random(s, n), &entry);
	for (uint8_t i = 0; i < FC_NAMES; i++)
		if (strcmp(fc_script_name(i), entry.name) == 0)
			return i;
	return any_name(s);
}

static void pick_cred(struct fc_script *s, struct fc_step *step)
{
	static const uint32_t umasks[] = { 0, 022, 077, 027 };

	step->cred.uid = one_in(s, 3) ? 1000 : 0;
	step->cred.gid = one_in(s, 3) ? 100 : 0;
	step->cred.umask = PICK(s, umasks);
}

/* ---- how much, and where ----------------------------------------------------- */

static uint64_t near(struct fc_script *s, uint64_t at, uint64_t by)
{
	uint64_t d = fc_script_random(s, 2 * by + 1);

	return at + d < by ? 0 : at + d - by;
}

static uint64_t pick_offset(struct fc_script *s, uint64_t size)
{
	static const uint64_t far[] = { UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_C(5) << 32,
					UINT64_C(1) << 50, INT64_MAX - 70000, INT64_MAX - 4096 };
	uint64_t spread = s->profile->spread;

	if (s->profile->far && one_in(s, 60))
		return PICK(s, far) + fc_script_random(s, 5000);
	switch (fc_script_random(s, 9)) {
	case 0:
		return 0;
	case 1:
		return size;
	case 2:
		return near(s, size, 100);
	case 3:
		return near(s, FC_INLINE_MAX, 40);
	case 4:
		return near(s, FC_BLOCK * fc_script_random(s, spread / FC_BLOCK + 1), 20);
	case 5:
		return FC_BLOCK * fc_script_random(s, spread / FC_BLOCK + 1);
	case 6:
		return near(s, FC_UNIT * FC_EXTENT_UNITS * fc_script_random(s, 3), 5000) % (spread + 1);
	default:
		return fc_script_random(s, spread);
	}
}

static uint64_t pick_length(struct fc_script *s)
{
	uint64_t max = s->profile->write_max, n;

	switch (fc_script_random(s, 10)) {
	case 0:
	case 1:
	case 2:
		n = 1 + fc_script_random(s, 100);
		break;
	case 3:
		n = near(s, FC_INLINE_MAX, 40);
		break;
	case 4:
	case 5:
		n = 1 + fc_script_random(s, 3 * FC_BLOCK);
		break;
	case 6:
	case 7:
		n = FC_BLOCK * (1 + fc_script_random(s, 8));
		break;
	case 8:
		n = near(s, FC_BLOCK * fc_script_random(s, 70), 10);
		break;
	default:
		n = 1 + fc_script_random(s, max);
	}
	n = n < max ? n : max;
	return n ? n : 1;
}

/* ---- one function a kind ------------------------------------------------------ */

static uint64_t size_of(const struct fc_model *m, uint32_t node)
{
	return fc_model_attr(m, node)->size;
}

static void pick_times(struct fc_script *s, struct fc_setattr *set)
{
	static const int64_t seconds[] = { 0, -1, 1, 1700000000, -2147483649, 17179869184, -9000000000 };

	set->valid |= FC_SET_ATIME | FC_SET_MTIME | (one_in(s, 2) ? FC_SET_CTIME : 0);
	if (one_in(s, 3))
		set->valid ^= one_in(s, 2) ? FC_SET_ATIME | FC_SET_ATIME_NOW : FC_SET_MTIME | FC_SET_MTIME_NOW;
	set->atime = (struct fc_time){ PICK(s, seconds), (uint32_t)fc_script_random(s, 1000000000) };
	set->mtime = (struct fc_time){ PICK(s, seconds), (uint32_t)fc_script_random(s, 1000000000) };
	set->ctime = (struct fc_time){ PICK(s, seconds), (uint32_t)fc_script_random(s, 1000000000) };
}

static void next_setattr(struct fc_script *s, const struct fc_model *m, struct fc_step *step)
{
	static const uint32_t modes[] = { 0644, 0755, 04755, 02755, 02644, 0, 07777, 0600, 02775, 06711 };
	struct fc_setattr *set = &step->set;
	unsigned what = (unsigned)fc_script_random(s, 5);

	step->node = what < 2 ? pick_or_wrong(s, m, FILES) : pick(s, m, ANY);
	switch (what) {
	case 0:
	case 1:
		set->valid = FC_SET_SIZE;
		set->size = pick_offset(s, size_of(m, step->node));
		if (one_in(s, 4))
			pick_times(s, set);
		break;
	case 2:
		set->valid = FC_SET_MODE;
		set->mode = PICK(s, modes);
		return;
	case 3:
		set->valid = one_in(s, 3) ? FC_SET_UID : one_in(s, 2) ? FC_SET_GID : FC_SET_UID | FC_SET_GID;
		set->uid = (uint32_t)fc_script_random(s, 3) * 500;
		set->gid = (uint32_t)fc_script_random(s, 3) * 50;
		break;
	default:
		pick_times(s, set);
		return;
	}
	if (one_in(s, 2) && S_ISREG(fc_model_attr(m, step->node)->mode))
		set->valid |= FC_SET_KILLPRIV;
}

static void next_make(struct fc_script *s, const struct fc_model *m, struct fc_step *step)
{
	static const uint32_t kinds[] = { S_IFREG, S_IFREG, S_IFREG,  S_IFREG, S_IFREG,
					  S_IFREG, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK };
	static const uint32_t modes[] = { 0644, 0777, 0600, 04755, 0 };
	static const uint64_t lengths[] = { 1, 7, 30, 300, 2047, 2048, 2049, FC_SYMLINK_MAX };

	step->dir = pick_or_wrong(s, m, DIRS);
	step->name = any_name(s);
	step->mode = PICK(s, modes);
	if (step->kind == FC_STEP_MKNOD)
		step->mode |= PICK(s, kinds);
	step->rdev = makedev(fc_script_random(s, 4096), fc_script_random(s, 70000));
	step->bytes = PICK(s, lengths);
	step->seed = fc_script_random(s, UINT64_MAX);
	pick_cred(s, step);
}

static void next_link(struct fc_script *s, const struct fc_model *m, struct fc_step *step)
{
	uint32_t unnamed = pick(s, m, UNNAMED);

	step->node = unnamed && one_in(s, 2) ? unnamed : pick(s, m, one_in(s, 30) ? ANY : FILES);
	if (!step->node || (!fc_model_attr(m, step->node)->nlink && !fc_model_unnamed(m, step->node)))
		step->node = FC_INO_ROOT; /* what was unlinked cannot get a name again: the kernel sees to it */
	step->dir = pick_or_wrong(s, m, DIRS);
	step->name = any_name(s);
}

static void next_rename(struct fc_script *s, const struct fc_model *m, struct fc_step *step)
{
	static const uint32_t flags[] = { 0,
					  0,
					  0,
					  0,
					  0,
					  0,
					  RENAME_NOREPLACE,
					  RENAME_EXCHANGE,
					  RENAME_EXCHANGE,
					  RENAME_WHITEOUT,
					  RENAME_WHITEOUT | RENAME_NOREPLACE };

	step->dir = pick_or_wrong(s, m, DIRS);
	step->dir2 = one_in(s, 2) ? step->dir : pick_or_wrong(s, m, DIRS);
	step->name = old_name(s, m, step->dir);
	step->name2 = one_in(s, 2) ? old_name(s, m, step->dir2) : any_name(s);
	step->flags = one_in(s, 100) ? RENAME_EXCHANGE | RENAME_NOREPLACE : PICK(s, flags);
	pick_cred(s, step);
}

static void next_write(struct fc_script *s, const struct fc_model *m, struct fc_step *step)
{
	step->node = pick_or_wrong(s, m, FILES);
	step->off = pick_offset(s, size_of(m, step->node));
	step->bytes = pick_length(s);
	step->seed = one_in(s, 12) ? 0 : 1 + fc_script_random(s, UINT64_MAX - 1);
	step->flags = one_in(s, 5) ? FC_WRITE_CACHED : one_in(s, 8) ? FC_WRITE_KILLPRIV : 0;
}

static void next_fallocate(struct fc_script *s, const struct fc_model *m, struct fc_step *step)
{
	static const uint32_t modes[] = { 0,
					  FALLOC_FL_KEEP_SIZE,
					  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					  FALLOC_FL_ZERO_RANGE,
					  FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE };
	static const uint32_t refused[] = { FALLOC_FL_PUNCH_HOLE, FALLOC_FL_COLLAPSE_RANGE, FALLOC_FL_INSERT_RANGE };

	step->node = pick_or_wrong(s, m, FILES);
	step->mode = one_in(s, 60) ? PICK(s, refused) : PICK(s, modes);
	step->off = pick_offset(s, size_of(m, step->node));
	step->bytes = one_in(s, 60) ? 0 : pick_length(s);
}

static void next_copy(struct fc_script *s, const struct fc_model *m, struct fc_step *step)
{
	step->node = pick_or_wrong(s, m, FILES);
	step->dir2 = pick_or_wrong(s, m, FILES);
	step->off = pick_offset(s, size_of(m, step->node));
	step->off2 = pick_offset(s, size_of(m, step->dir2));
	step->bytes = pick_length(s);
	if (one_in(s, 2)) {
		step->off -= step->off % FC_BLOCK;
		step->off2 -= step->off2 % FC_BLOCK;
	}
	if (one_in(s, 4))
		step->off = step->off2 = 0, step->bytes = s->profile->write_max;
	if (step->node == step->dir2 && step->off < step->off2 + step->bytes && step->off2 < step->off + step->bytes)
		step->off2 = step->off + step->bytes; /* the kernel refuses ranges that overlap */
}

static void next_xattr(struct fc_script *s, const struct fc_model *m, struct fc_step *step)
{
	static const uint64_t sizes[] = { 0, 1, 20, 200, 2047, 2048, 2049, 4096, 5000, 65536, 65537 };
	static const uint32_t flags[] = { 0, 0, 0, XATTR_CREATE, XATTR_REPLACE };
	bool small = s->profile->write_max < FC_SCRIPT_WRITE_MAX;

	step->node = pick(s, m, step->kind == FC_STEP_SETXATTR || one_in(s, 8) ? FILES_AND_DIRS : WITH_ATTRIBUTES);
	step->node = step->node ? step->node : FC_INO_ROOT;
	step->attribute = (uint8_t)fc_script_random(s, FC_ATTRIBUTES);
	for (int i = 0; i < 20 && step->kind != FC_STEP_SETXATTR && !fc_script_has(m, step->node, step->attribute); i++)
		step->attribute = (uint8_t)fc_script_random(s, FC_ATTRIBUTES);
	step->bytes = sizes[fc_script_random(s, small && !one_in(s, 8) ? 6 : sizeof(sizes) / sizeof(sizes[0]))];
	step->seed = fc_script_random(s, UINT64_MAX);
	step->flags = step->attribute >= FC_ATTRIBUTE_ACL ? 0 : PICK(s, flags);
	step->mode = one_in(s, 3); /* kill_sgid; too small a buffer */
	if (step->kind == FC_STEP_REMOVEXATTR && step->attribute >= FC_ATTRIBUTE_ACL &&
	    !fc_script_has(m, step->node, step->attribute))
		step->attribute = 0; /* removing an ACL that is not there: either answer is right */
}

static void fill_in(struct fc_script *s, const struct fc_model *m, struct fc_step *step)
{
	switch (step->kind) {
	case FC_STEP_LOOKUP:
	case FC_STEP_UNLINK:
	case FC_STEP_RMDIR:
	case FC_STEP_SCAN:
		step->dir = pick_or_wrong(s, m, DIRS);
		step->name = old_name(s, m, step->dir);
		step->bytes = one_in(s, 2) ? UINT64_MAX : fc_script_random(s, 6);
		break;
	case FC_STEP_FORGET:
		step->node = pick(s, m, HELD);
		step->bytes = one_in(s, 2) ? 1 : fc_model_refs(m, step->node);
		break;
	case FC_STEP_SETATTR:
		next_setattr(s, m, step);
		break;
	case FC_STEP_MKNOD:
	case FC_STEP_MKDIR:
	case FC_STEP_SYMLINK:
	case FC_STEP_TMPFILE:
		next_make(s, m, step);
		break;
	case FC_STEP_LINK:
		next_link(s, m, step);
		break;
	case FC_STEP_RENAME:
		next_rename(s, m, step);
		break;
	case FC_STEP_WRITE:
		next_write(s, m, step);
		break;
	case FC_STEP_READ:
	case FC_STEP_SEEK:
		step->node = pick_or_wrong(s, m, FILES);
		step->off = pick_offset(s, size_of(m, step->node));
		step->bytes = pick_length(s);
		step->flags = one_in(s, 2) ? SEEK_DATA : SEEK_HOLE;
		break;
	case FC_STEP_FALLOCATE:
		next_fallocate(s, m, step);
		break;
	case FC_STEP_COPY:
		next_copy(s, m, step);
		break;
	case FC_STEP_GETXATTR:
	case FC_STEP_SETXATTR:
	case FC_STEP_REMOVEXATTR:
		next_xattr(s, m, step);
		break;
	case FC_STEP_REKEY:
		step->seed = fc_script_random(s, UINT64_MAX);
		step->bytes = fc_script_random(s, 12); /* it takes about eight */
		break;
	default:
		step->node = pick(s, m, ANY);
	}
}

static enum fc_step_kind pick_kind(struct fc_script *s)
{
	unsigned sum = 0, at;
	int kind = 0;

	for (int i = 0; i < FC_STEP_KINDS; i++)
		sum += s->profile->weight[i];
	at = (unsigned)fc_script_random(s, sum);
	while (at >= s->profile->weight[kind])
		at -= s->profile->weight[kind++];
	return (enum fc_step_kind)kind;
}

void fc_script_next(struct fc_script *s, const struct fc_model *m, struct fc_step *step)
{
	memset(step, 0, sizeof(*step));
	step->kind = pick_kind(s);
	if (fc_model_nodes(m) > s->profile->nodes && one_in(s, 2))
		step->kind = one_in(s, 3) ? FC_STEP_RMDIR : one_in(s, 2) ? FC_STEP_UNLINK : FC_STEP_FORGET;
	fill_in(s, m, step);
	if (fc_model_bytes(m) > s->profile->bytes && one_in(s, 2)) {
		memset(step, 0, sizeof(*step));
		step->kind = FC_STEP_SETATTR;
		step->node = pick_or_wrong(s, m, FILES);
		step->set.valid = FC_SET_SIZE;
		step->set.size = fc_script_random(s, 5000);
	}
	if (step->kind == FC_STEP_FORGET && !step->node)
		step->kind = FC_STEP_GETATTR, step->node = FC_INO_ROOT;
	step->now = fc_script_time(++s->count);
}
