/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fs/acl.h"

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>

#include "fusecrypt/error.h"
#include "util/le.h"

enum { ENTRY_TAG = 0, ENTRY_PERM = 2, ENTRY_ID = 4 };
#define PERMS (ACL_READ | ACL_WRITE | ACL_EXECUTE)

static unsigned get_perm(const uint8_t *entry)
{
	return fc_get_u16(entry + ENTRY_PERM);
}

static void set_perm(uint8_t *entry, unsigned perm)
{
	fc_put_u16(entry + ENTRY_PERM, (uint16_t)(perm & PERMS));
}

/* Entries come in this order, users and groups any number of times, the mask at most once. */
enum stage { WANT_OWNER, USERS, GROUPS, WANT_OTHER, DONE, WRONG };

static enum stage check_entry(enum stage stage, const uint8_t *entry, bool *named)
{
	bool has_id = fc_get_u32(entry + ENTRY_ID) != (uint32_t)ACL_UNDEFINED_ID;

	if (get_perm(entry) & ~(unsigned)PERMS)
		return WRONG;
	switch (fc_get_u16(entry + ENTRY_TAG)) {
	case ACL_USER_OBJ:
		return stage == WANT_OWNER ? USERS : WRONG;
	case ACL_USER:
		*named = true;
		return stage == USERS && has_id ? USERS : WRONG;
	case ACL_GROUP_OBJ:
		return stage == USERS ? GROUPS : WRONG;
	case ACL_GROUP:
		*named = true;
		return stage == GROUPS && has_id ? GROUPS : WRONG;
	case ACL_MASK:
		return stage == GROUPS ? WANT_OTHER : WRONG;
	case ACL_OTHER:
		return stage == WANT_OTHER || (stage == GROUPS && !*named) ? DONE : WRONG;
	default:
		return WRONG;
	}
}

int fc_acl_check(const uint8_t *acl, size_t n)
{
	enum stage stage = WANT_OWNER;
	bool named = false;

	if (n < FC_ACL_HEADER || (n - FC_ACL_HEADER) % FC_ACL_ENTRY)
		return FC_EINVAL;
	if (fc_get_u32(acl) != POSIX_ACL_XATTR_VERSION)
		return FC_ENOTSUP;
	if (n > FC_ACL_MAX)
		return FC_ETOOBIG;
	if (fc_acl_empty(n))
		return 0;
	for (size_t at = FC_ACL_HEADER; at < n && stage != WRONG; at += FC_ACL_ENTRY)
		stage = check_entry(stage, acl + at, &named);
	return stage == DONE ? 0 : FC_EINVAL;
}

bool fc_acl_to_mode(const uint8_t *acl, size_t n, uint32_t *mode)
{
	unsigned owner = 0, group = 0, other = 0;
	bool more = false;

	for (size_t at = FC_ACL_HEADER; at < n; at += FC_ACL_ENTRY) {
		unsigned perm = get_perm(acl + at);

		switch (fc_get_u16(acl + at + ENTRY_TAG)) {
		case ACL_USER_OBJ:
			owner = perm;
			break;
		case ACL_MASK: /* after GROUP_OBJ: it is what the group bits show */
			more = true;
			/* fall through */
		case ACL_GROUP_OBJ:
			group = perm;
			break;
		case ACL_OTHER:
			other = perm;
			break;
		default:
			more = true;
			break;
		}
	}
	*mode = (*mode & ~0777u) | owner << 6 | group << 3 | other;
	return more;
}

/* The entry that the group bits of the mode stand for: the mask if there is one. */
static uint8_t *group_entry(uint8_t *acl, size_t n)
{
	uint8_t *group = NULL;

	for (size_t at = FC_ACL_HEADER; at < n; at += FC_ACL_ENTRY) {
		unsigned tag = fc_get_u16(acl + at + ENTRY_TAG);

		if (tag == ACL_MASK || tag == ACL_GROUP_OBJ)
			group = acl + at;
	}
	return group;
}

void fc_acl_chmod(uint8_t *acl, size_t n, uint32_t mode)
{
	uint8_t *group = group_entry(acl, n);

	for (size_t at = FC_ACL_HEADER; at < n; at += FC_ACL_ENTRY) {
		switch (fc_get_u16(acl + at + ENTRY_TAG)) {
		case ACL_USER_OBJ:
			set_perm(acl + at, mode >> 6);
			break;
		case ACL_OTHER:
			set_perm(acl + at, mode);
			break;
		}
	}
	if (group)
		set_perm(group, mode >> 3);
}

bool fc_acl_inherit(uint8_t *acl, size_t n, uint32_t *mode)
{
	uint8_t *group = group_entry(acl, n);

	for (size_t at = FC_ACL_HEADER; at < n; at += FC_ACL_ENTRY) {
		switch (fc_get_u16(acl + at + ENTRY_TAG)) {
		case ACL_USER_OBJ:
			set_perm(acl + at, get_perm(acl + at) & *mode >> 6);
			break;
		case ACL_OTHER:
			set_perm(acl + at, get_perm(acl + at) & *mode);
			break;
		}
	}
	if (group)
		set_perm(group, get_perm(group) & *mode >> 3);
	return fc_acl_to_mode(acl, n, mode);
}
