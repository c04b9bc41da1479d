/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POSIX ACLs in the model, after acl(5). Linux's xattr form: u32 version 2,
 * then entries of u16 tag, u16 permissions, u32 id, ascending by tag and id.
 */
#include "model_priv.h"
#include "util/le.h"

enum { USER_OBJ = 0x01, USER = 0x02, GROUP_OBJ = 0x04, GROUP = 0x08, MASK = 0x10, OTHER = 0x20 };

#define ACL_HEAD 4u
#define ACL_ENTRY 8u

struct entry {
	unsigned tag, perm;
	uint32_t id;
};

static size_t count(size_t size)
{
	return (size - ACL_HEAD) / ACL_ENTRY;
}

static struct entry get(const void *value, size_t i)
{
	const uint8_t *p = (const uint8_t *)value + ACL_HEAD + i * ACL_ENTRY;

	return (struct entry){ .tag = fc_get_u16(p), .perm = fc_get_u16(p + 2), .id = fc_get_u32(p + 4) };
}

static void put_perm(void *value, size_t i, unsigned perm)
{
	fc_put_u16((uint8_t *)value + ACL_HEAD + i * ACL_ENTRY + 2, (uint16_t)perm);
}

bool fc_model_is_acl(const char *name)
{
	return strcmp(name, FC_ACL_ACCESS) == 0 || strcmp(name, FC_ACL_DEFAULT) == 0;
}

/* Index of the first entry with that tag; count when there is none. */
static size_t tagged(const void *value, size_t size, unsigned tag)
{
	size_t i = 0;

	while (i < count(size) && get(value, i).tag != tag)
		i++;
	return i;
}

static unsigned times(const void *value, size_t size, unsigned tag)
{
	unsigned n = 0;

	for (size_t i = 0; i < count(size); i++)
		n += get(value, i).tag == tag;
	return n;
}

bool fc_model_acl_valid(const void *value, size_t size)
{
	if (size < ACL_HEAD + 3 * ACL_ENTRY || (size - ACL_HEAD) % ACL_ENTRY || fc_get_u32(value) != 2)
		return false;
	for (size_t i = 0; i < count(size); i++) {
		struct entry e = get(value, i);

		if (e.perm > 7)
			return false;
		if (i && get(value, i - 1).tag > e.tag)
			return false;
		if (i && get(value, i - 1).tag == e.tag && get(value, i - 1).id >= e.id)
			return false;
	}
	if (times(value, size, USER_OBJ) != 1 || times(value, size, GROUP_OBJ) != 1 || times(value, size, OTHER) != 1)
		return false;
	if (times(value, size, USER) + times(value, size, GROUP) + 3 + times(value, size, MASK) != count(size))
		return false;
	return times(value, size, MASK) == 1 || count(size) == 3;
}

/* The entry that the mode's group bits stand for. */
static size_t group_entry(const void *value, size_t size)
{
	size_t mask = tagged(value, size, MASK);

	return mask < count(size) ? mask : tagged(value, size, GROUP_OBJ);
}

bool fc_model_acl_to_mode(const void *value, size_t size, uint32_t *mode)
{
	unsigned user = get(value, tagged(value, size, USER_OBJ)).perm;
	unsigned group = get(value, group_entry(value, size)).perm;
	unsigned other = get(value, tagged(value, size, OTHER)).perm;

	*mode = (*mode & ~0777u) | user << 6 | group << 3 | other;
	return count(size) == 3;
}

static struct fc_blob *with_mode(const struct fc_blob *acl, uint32_t mode)
{
	struct fc_blob *b = fc_blob_new(acl->bytes, acl->n);

	put_perm(b->bytes, tagged(b->bytes, b->n, USER_OBJ), mode >> 6 & 7);
	put_perm(b->bytes, group_entry(b->bytes, b->n), mode >> 3 & 7);
	put_perm(b->bytes, tagged(b->bytes, b->n, OTHER), mode & 7);
	return b;
}

void fc_model_acl_chmod(struct fc_mnode *n)
{
	const struct fc_blob *acl = fc_model_value(n, FC_ACL_ACCESS);

	if (acl)
		fc_model_value_put(n, FC_ACL_ACCESS, with_mode(acl, n->attr.mode));
}

void fc_model_acl_inherit(const struct fc_mnode *parent, struct fc_mnode *child, uint32_t umask)
{
	const struct fc_blob *acl = fc_model_value(parent, FC_ACL_DEFAULT);
	uint32_t allowed = 0;

	if (!acl) {
		child->attr.mode &= ~(umask & 0777u);
		return;
	}
	fc_model_acl_to_mode(acl->bytes, acl->n, &allowed);
	child->attr.mode &= ~0777u | allowed;
	if (count(acl->n) > 3)
		fc_model_value_put(child, FC_ACL_ACCESS, with_mode(acl, child->attr.mode));
	if (S_ISDIR(child->attr.mode))
		fc_model_value_put(child, FC_ACL_DEFAULT, fc_blob_new(acl->bytes, acl->n));
}
