/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "util/le.h"

#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X250 X50 X50 X50 X50 X50

const char *fc_script_name(unsigned i)
{
	static const char *const names[FC_NAMES] = {
		"a",          "b",          "c",        "d",          "e",
		"f",          "\xff\xfe\n", "\xc3\xbc", "u\xcc\x88",  "name with blanks",
		X250 "aaaaa", X250 "aaaab", X50 "z",    X250 "aaaaaa"
	};

	return names[i % FC_NAMES];
}

const char *fc_script_attribute(unsigned i)
{
	static const char *const names[FC_ATTRIBUTES] = { "user.a",
							  "user.b",
							  "user.\xff\n",
							  "user." X50 X50 X50 X50 X50, /* 255 */
							  "trusted.t",
							  "security.capability",
							  "security.selinux",
							  "system.posix_acl_access",
							  "system.posix_acl_default" };

	return names[i % FC_ATTRIBUTES];
}

bool fc_script_has(const struct fc_model *m, uint32_t node, unsigned attribute)
{
	const char *name;
	const void *value;
	size_t n;

	for (size_t i = 0; fc_model_attribute(m, node, i, &name, &value, &n); i++)
		if (strcmp(name, fc_script_attribute(attribute)) == 0)
			return true;
	return false;
}

void fc_script_fill(void *buf, size_t n, uint64_t seed)
{
	uint8_t *out = buf;

	if (!seed) {
		memset(out, 0, n);
		return;
	}
	for (size_t i = 0; i < n; i += 8) {
		uint64_t word = fc_script_mix(seed + i * 0x9e3779b97f4a7c15u);

		memcpy(out + i, &word, n - i < 8 ? n - i : 8);
	}
}

void fc_script_target(const struct fc_step *s, char *buf)
{
	fc_script_fill(buf, s->bytes, s->seed | 1);
	for (uint64_t i = 0; i < s->bytes; i++)
		if (!buf[i])
			buf[i] = '/';
	buf[s->bytes] = 0;
}

static size_t acl_entry(uint8_t *buf, size_t at, unsigned tag, uint64_t perm, uint32_t id)
{
	fc_put_u16(buf + at, (uint16_t)tag);
	fc_put_u16(buf + at + 2, perm & 7);
	fc_put_u32(buf + at + 4, id);
	return at + 8;
}

/* Minimal, or with named users and groups; one in sixteen is malformed. */
static size_t acl(uint64_t seed, uint8_t *buf)
{
	uint64_t r = fc_script_mix(seed);
	bool more = r & 0x1000;
	size_t at = 4;

	fc_put_u32(buf, (r >> 40 & 31) == 1 ? 3 : 2);
	at = acl_entry(buf, at, 0x01, r, UINT32_MAX);
	if (more)
		at = acl_entry(buf, at, 0x02, r >> 3, 1000);
	if (more && r & 0x2000)
		at = acl_entry(buf, at, 0x02, r >> 6, 1001);
	at = acl_entry(buf, at, 0x04, r >> 9, UINT32_MAX);
	if (more && r & 0x4000)
		at = acl_entry(buf, at, 0x08, r >> 16, 100);
	if (more)
		at = acl_entry(buf, at, 0x10, r >> 19, UINT32_MAX);
	if ((r >> 40 & 31) != 2)
		at = acl_entry(buf, at, 0x20, r >> 22, UINT32_MAX);
	return at;
}

size_t fc_script_value(const struct fc_step *s, uint8_t *buf)
{
	if (s->attribute % FC_ATTRIBUTES >= FC_ATTRIBUTE_ACL)
		return acl(s->seed, buf);
	fc_script_fill(buf, s->bytes, s->seed | 1);
	return s->bytes;
}

const char *fc_step_name(enum fc_step_kind kind)
{
	static const char *const names[] = {
#define FC_STEP_NAME(upper, lower) #lower,
		FC_STEPS(FC_STEP_NAME)
#undef FC_STEP_NAME
	};

	return kind < FC_STEP_KINDS ? names[kind] : "?";
}

static void print_number(FILE *out, const char *what, uint64_t n)
{
	if (n)
		fprintf(out, " %s=%llu", what, (unsigned long long)n);
}

void fc_step_print(FILE *out, const struct fc_step *s)
{
	fprintf(out, "%s", fc_step_name(s->kind));
	print_number(out, "node", s->node);
	print_number(out, "dir", s->dir);
	if (s->dir)
		fprintf(out, " name=%u", s->name);
	print_number(out, "dir2", s->dir2);
	if (s->dir2)
		fprintf(out, " name2=%u", s->name2);
	if (s->kind == FC_STEP_GETXATTR || s->kind == FC_STEP_SETXATTR || s->kind == FC_STEP_REMOVEXATTR)
		fprintf(out, " attribute=%u", s->attribute);
	if (s->mode)
		fprintf(out, " mode=0%o", (unsigned)s->mode);
	if (s->flags)
		fprintf(out, " flags=0x%x", (unsigned)s->flags);
	print_number(out, "off", s->off);
	print_number(out, "off2", s->off2);
	print_number(out, "bytes", s->bytes);
	print_number(out, "rdev", s->rdev);
	print_number(out, "seed", s->seed);
	if (s->cred.uid || s->cred.gid || s->cred.umask)
		fprintf(out, " cred=%u:%u umask=%03o", (unsigned)s->cred.uid, (unsigned)s->cred.gid,
			(unsigned)s->cred.umask);
	if (s->set.valid)
		fprintf(out, " set=0x%x mode=0%o owner=%u:%u size=%llu", (unsigned)s->set.valid, (unsigned)s->set.mode,
			(unsigned)s->set.uid, (unsigned)s->set.gid, (unsigned long long)s->set.size);
	fprintf(out, " at=%lld.%09u\n", (long long)s->now.sec, (unsigned)s->now.nsec);
}

const struct fc_profile fc_profile_wide = {
	.names = 13,
	.nodes = 60,
	.write_max = FC_SCRIPT_WRITE_MAX,
	.spread = 3u << 20,
	.far = true,
	.bytes = 24u << 20,
	.weight = { [FC_STEP_LOOKUP] = 40,      [FC_STEP_FORGET] = 60,
		    [FC_STEP_GETATTR] = 20,     [FC_STEP_SETATTR] = 60,
		    [FC_STEP_MKNOD] = 60,       [FC_STEP_MKDIR] = 25,
		    [FC_STEP_SYMLINK] = 15,     [FC_STEP_TMPFILE] = 10,
		    [FC_STEP_LINK] = 30,        [FC_STEP_UNLINK] = 40,
		    [FC_STEP_RMDIR] = 15,       [FC_STEP_RENAME] = 60,
		    [FC_STEP_SCAN] = 30,        [FC_STEP_READ] = 60,
		    [FC_STEP_WRITE] = 140,      [FC_STEP_FALLOCATE] = 40,
		    [FC_STEP_SEEK] = 30,        [FC_STEP_COPY] = 40,
		    [FC_STEP_GETXATTR] = 15,    [FC_STEP_SETXATTR] = 40,
		    [FC_STEP_REMOVEXATTR] = 12, [FC_STEP_SYNC] = 20,
		    [FC_STEP_COMMIT] = 8,       [FC_STEP_BACKGROUND] = 15,
		    [FC_STEP_REOPEN] = 4,       [FC_STEP_REOPEN_READ_ONLY] = 3,
		    [FC_STEP_POWER_CUT] = 4,    [FC_STEP_COMPARE] = 10,
		    [FC_STEP_REKEY] = 8,        [FC_STEP_COMPACT] = 12 },
};

const struct fc_profile fc_profile_small = {
	.names = 5,
	.nodes = 14,
	.write_max = 24u << 10,
	.spread = 40u << 10,
	.bytes = 256u << 10,
	.weight = { [FC_STEP_LOOKUP] = 10,   [FC_STEP_FORGET] = 40,     [FC_STEP_SETATTR] = 50,
		    [FC_STEP_MKNOD] = 60,    [FC_STEP_MKDIR] = 20,      [FC_STEP_SYMLINK] = 12,
		    [FC_STEP_TMPFILE] = 10,  [FC_STEP_LINK] = 25,       [FC_STEP_UNLINK] = 40,
		    [FC_STEP_RMDIR] = 15,    [FC_STEP_RENAME] = 60,     [FC_STEP_READ] = 10,
		    [FC_STEP_WRITE] = 120,   [FC_STEP_FALLOCATE] = 30,  [FC_STEP_COPY] = 30,
		    [FC_STEP_SETXATTR] = 25, [FC_STEP_REMOVEXATTR] = 8, [FC_STEP_SYNC] = 90,
		    [FC_STEP_COMMIT] = 50,   [FC_STEP_BACKGROUND] = 30, [FC_STEP_REOPEN] = 15,
		    [FC_STEP_REKEY] = 20,    [FC_STEP_COMPACT] = 10 },
};

const struct fc_profile fc_profile_bulk = {
	.names = 4,
	.nodes = 10,
	.write_max = 400u << 10,
	.spread = 700u << 10,
	.bytes = 3u << 20,
	.weight = { [FC_STEP_FORGET] = 30,
		    [FC_STEP_SETATTR] = 50,
		    [FC_STEP_MKNOD] = 50,
		    [FC_STEP_TMPFILE] = 10,
		    [FC_STEP_LINK] = 10,
		    [FC_STEP_UNLINK] = 30,
		    [FC_STEP_RENAME] = 20,
		    [FC_STEP_READ] = 20,
		    [FC_STEP_WRITE] = 200,
		    [FC_STEP_FALLOCATE] = 60,
		    [FC_STEP_COPY] = 100,
		    [FC_STEP_SETXATTR] = 20,
		    [FC_STEP_SYNC] = 90,
		    [FC_STEP_COMMIT] = 30,
		    [FC_STEP_BACKGROUND] = 30,
		    [FC_STEP_REOPEN] = 10,
		    [FC_STEP_REKEY] = 20,
		    [FC_STEP_COMPACT] = 40 },
};
