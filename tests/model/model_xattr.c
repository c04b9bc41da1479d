/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model's extended attributes. */
#include "model_priv.h"

#include <sys/xattr.h>

static bool find(const struct fc_mnode *n, const char *name, size_t *at)
{
	for (*at = 0; *at < n->attribute_count; ++*at) {
		int c = strcmp((const char *)n->attributes[*at].name->bytes, name);

		if (c >= 0)
			return c == 0;
	}
	return false;
}

void fc_model_attributes_share(struct fc_mnode *to, const struct fc_mnode *from)
{
	to->attributes = fc_model_memory(NULL, from->attribute_count * sizeof(*to->attributes));
	for (size_t i = 0; i < from->attribute_count; i++) {
		to->attributes[i] = from->attributes[i];
		to->attributes[i].name->users++;
		to->attributes[i].value->users++;
	}
}

void fc_model_attributes_drop(struct fc_mnode *n)
{
	for (size_t i = 0; i < n->attribute_count; i++) {
		fc_blob_drop(n->attributes[i].name);
		fc_blob_drop(n->attributes[i].value);
	}
	free(n->attributes);
}

const struct fc_blob *fc_model_value(const struct fc_mnode *n, const char *name)
{
	size_t at;

	return find(n, name, &at) ? n->attributes[at].value : NULL;
}

void fc_model_value_put(struct fc_mnode *n, const char *name, struct fc_blob *value)
{
	size_t at;

	if (find(n, name, &at)) {
		fc_blob_drop(n->attributes[at].value);
		n->attributes[at].value = value;
		return;
	}
	n->attributes = fc_model_memory(n->attributes, (n->attribute_count + 1) * sizeof(*n->attributes));
	memmove(&n->attributes[at + 1], &n->attributes[at], (n->attribute_count - at) * sizeof(*n->attributes));
	n->attributes[at] = (struct fc_attribute){ .name = fc_blob_new(name, strlen(name)), .value = value };
	n->attribute_count++;
}

bool fc_model_value_del(struct fc_mnode *n, const char *name)
{
	size_t at;

	if (!find(n, name, &at))
		return false;
	fc_blob_drop(n->attributes[at].name);
	fc_blob_drop(n->attributes[at].value);
	n->attribute_count--;
	memmove(&n->attributes[at], &n->attributes[at + 1], (n->attribute_count - at) * sizeof(*n->attributes));
	return true;
}

void fc_model_killpriv(struct fc_mnode *n)
{
	n->attr.mode &= ~(uint32_t)S_ISUID;
	if (n->attr.mode & S_IXGRP)
		n->attr.mode &= ~(uint32_t)S_ISGID;
	fc_model_value_del(n, "security.capability");
}

/* user attributes are for files and directories only, as xattr(7) says. */
static fc_errors check_class(const struct fc_mnode *n, const char *name)
{
	bool user = strncmp(name, "user.", 5) == 0;

	return user && !S_ISREG(n->attr.mode) && !S_ISDIR(n->attr.mode) ? FC_ERR(FC_EPERM) : 0;
}

fc_errors fc_model_getxattr(const struct fc_model *m, uint32_t node, const char *name, void *buf, size_t size,
			    size_t *bytes)
{
	const struct fc_mnode *n = fc_model_node(m, node);
	const struct fc_blob *value;

	if (!n)
		return FC_ERR(FC_ESTALE);
	value = fc_model_value(n, name);
	if (!value)
		return FC_ERR(FC_ENODATA);
	*bytes = value->n;
	if (!size)
		return 0;
	if (size < value->n)
		return FC_ERR(FC_ERANGE);
	memcpy(buf, value->bytes, value->n);
	return 0;
}

static fc_errors set_acl(struct fc_model *m, struct fc_mnode *n, const char *name, const void *value, size_t size,
			 bool kill_sgid)
{
	bool access = strcmp(name, FC_ACL_ACCESS) == 0;
	fc_errors e = 0;

	if (S_ISLNK(n->attr.mode))
		e |= FC_ERR(FC_ENOTSUP);
	if (!fc_model_acl_valid(value, size))
		e |= FC_ERR(FC_EINVAL) | FC_ERR(FC_ENOTSUP);
	if (!access && !S_ISDIR(n->attr.mode))
		e |= FC_ERR(FC_EACCESS);
	if (e)
		return e;
	if (access && fc_model_acl_to_mode(value, size, &n->attr.mode))
		fc_model_value_del(n, name);
	else
		fc_model_value_put(n, name, fc_blob_new(value, size));
	if (access && kill_sgid)
		n->attr.mode &= ~(uint32_t)S_ISGID;
	n->attr.ctime = m->now;
	return 0;
}

fc_errors fc_model_setxattr(struct fc_model *m, uint32_t node, const char *name, const void *value, size_t size,
			    int flags, bool kill_sgid)
{
	struct fc_mnode *n = fc_model_node(m, node);
	fc_errors e;

	if (!n)
		return FC_ERR(FC_ESTALE);
	e = check_class(n, name);
	if (strlen(name) > FC_NAME_MAX)
		e |= FC_ERR(FC_ERANGE) | FC_ERR(FC_ENAMETOOLONG);
	if (size > FC_XATTR_VALUE_MAX)
		e |= FC_ERR(FC_ETOOBIG) | FC_ERR(FC_ERANGE);
	if (!e && fc_model_is_acl(name))
		return set_acl(m, n, name, value, size, kill_sgid);
	if (flags & XATTR_CREATE && fc_model_value(n, name))
		e |= FC_ERR(FC_EEXIST);
	if (flags & XATTR_REPLACE && !fc_model_value(n, name))
		e |= FC_ERR(FC_ENODATA);
	if (e)
		return e;
	fc_model_value_put(n, name, fc_blob_new(value, size));
	n->attr.ctime = m->now;
	return 0;
}

fc_errors fc_model_removexattr(struct fc_model *m, uint32_t node, const char *name)
{
	struct fc_mnode *n = fc_model_node(m, node);

	if (!n)
		return FC_ERR(FC_ESTALE);
	if (check_class(n, name))
		return check_class(n, name) | FC_ERR(FC_ENODATA);
	if (!fc_model_value_del(n, name))
		return FC_ERR(FC_ENODATA);
	n->attr.ctime = m->now;
	return 0;
}
