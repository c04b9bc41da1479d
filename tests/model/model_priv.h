/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the model share. */
#ifndef FC_TESTS_MODEL_PRIV_H
#define FC_TESTS_MODEL_PRIV_H

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model.h"

/* Bytes that never change, shared by the models that were cloned. */
struct fc_blob {
	unsigned users;
	size_t n;
	uint8_t bytes[]; /* and a NUL */
};

struct fc_page {
	unsigned users;    /* changed only while 1 */
	bool hashed, zero; /* zero and hash: only when hashed */
	uint64_t hash;
	uint8_t data[FC_BLOCK];
};

struct fc_unit {
	uint64_t index;       /* byte offset / FC_BLOCK */
	struct fc_page *page; /* NULL: allocated, reads as zeros */
};

struct fc_link {
	struct fc_blob *name;
	uint32_t node;
	uint64_t birth;
};

struct fc_attribute {
	struct fc_blob *name, *value;
};

struct fc_mnode {
	struct fc_attr attr;
	uint64_t refs;
	uint32_t parent; /* directories; 0: removed */
	bool unnamed;    /* tmpfile, never linked */
	struct fc_blob *target;
	struct fc_unit *units; /* ascending */
	size_t unit_count, unit_room;
	struct fc_link *links; /* ascending by name */
	size_t link_count;
	struct fc_attribute *attributes; /* ascending by name */
	size_t attribute_count;
};

struct fc_model {
	struct fc_time now;
	struct fc_mnode **nodes; /* by number; NULL: gone */
	uint32_t top;
	uint64_t count, births;
};

/* Memory that is there. */
void *fc_model_memory(void *old, size_t n);
struct fc_blob *fc_blob_new(const void *bytes, size_t n);
void fc_blob_drop(struct fc_blob *blob); /* NULL allowed */

struct fc_mnode *fc_model_node(const struct fc_model *m, uint32_t node);
/* A new node without links or references. */
uint32_t fc_model_add(struct fc_model *m, uint32_t mode, uint32_t uid, uint32_t gid);
/* Removes it when it has neither links nor references. */
void fc_model_settle(struct fc_model *m, uint32_t node);
void fc_model_touch(struct fc_model *m, struct fc_mnode *n); /* mtime and ctime */

/* model_data.c */
void fc_model_units_share(struct fc_mnode *to, const struct fc_mnode *from);
void fc_model_units_drop(struct fc_mnode *n);
void fc_model_resize(struct fc_mnode *n, uint64_t size);

/* model_xattr.c */
void fc_model_attributes_share(struct fc_mnode *to, const struct fc_mnode *from);
void fc_model_attributes_drop(struct fc_mnode *n);
/* Clears set-id bits and security.capability. */
void fc_model_killpriv(struct fc_mnode *n);
const struct fc_blob *fc_model_value(const struct fc_mnode *n, const char *name);
void fc_model_value_put(struct fc_mnode *n, const char *name, struct fc_blob *value); /* takes value */
bool fc_model_value_del(struct fc_mnode *n, const char *name);

/* model_acl.c */
#define FC_ACL_ACCESS "system.posix_acl_access"
#define FC_ACL_DEFAULT "system.posix_acl_default"
bool fc_model_is_acl(const char *name);
/* Is value a well-formed ACL (Linux's xattr form)? */
bool fc_model_acl_valid(const void *value, size_t size);
/* The mode's permission bits follow from the ACL; true: they say all of it. */
bool fc_model_acl_to_mode(const void *value, size_t size, uint32_t *mode);
/* chmod: the ACL follows the mode. */
void fc_model_acl_chmod(struct fc_mnode *n);
/* Mode and ACLs of a new node in parent; without a default ACL, the umask. */
void fc_model_acl_inherit(const struct fc_mnode *parent, struct fc_mnode *child, uint32_t umask);

#endif
