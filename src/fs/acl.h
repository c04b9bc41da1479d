/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POSIX ACLs in the form of Linux's extended attributes: u32 version 2, then
 * entries of u16 tag, u16 permissions, u32 id. Pure functions. They follow
 * what the kernel does for file systems of its own, since with FUSE's ACL
 * support the kernel checks access by these ACLs but leaves it to the file
 * system to keep them and the mode in step.
 */
#ifndef FC_FS_ACL_H
#define FC_FS_ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fusecrypt/format.h"

#define FC_ACL_HEADER 4u
#define FC_ACL_ENTRY 8u
/* So an ACL always fits into an XATTR item (255 entries). */
#define FC_ACL_MAX FC_XATTR_INLINE_MAX

/* 0; FC_EINVAL: malformed; FC_ENOTSUP: other version; FC_ETOOBIG. An ACL
 * without entries, which stands for none, is well-formed. */
int fc_acl_check(const uint8_t *acl, size_t n);

static inline bool fc_acl_empty(size_t n)
{
	return n <= FC_ACL_HEADER;
}

/* The following take ACLs that fc_acl_check accepted, not empty. */

/* Sets the permission bits of *mode to what the access ACL says; false when the
 * mode says all of it and no ACL need be kept. */
bool fc_acl_to_mode(const uint8_t *acl, size_t n, uint32_t *mode);
/* Makes the access ACL follow a chmod. */
void fc_acl_chmod(uint8_t *acl, size_t n, uint32_t mode);
/* For a file made with *mode in a directory with that default ACL: makes a copy
 * of the default ACL its access ACL and takes bits off *mode. False: *mode
 * says all of it. */
bool fc_acl_inherit(uint8_t *acl, size_t n, uint32_t *mode);

#endif
