/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blobs: values too large for one item, kept as a row of items of the file
 * tree. A blob is named by FC_BLOB_NAME bytes, which its owner keeps.
 */
#ifndef FC_FS_MAP_H
#define FC_FS_MAP_H

#include <stddef.h>
#include <stdint.h>

struct fc_fs;

#define FC_BLOB_NAME 8u

/* Exclusive lock. Nothing is changed on an error. name: FC_BLOB_NAME bytes, out. */
int fc_blob_write(struct fc_fs *fs, const void *data, size_t n, uint8_t *name, size_t *name_bytes);
/* Either lock. FC_ECORRUPT when it does not hold n bytes. */
int fc_blob_read(struct fc_fs *fs, const uint8_t *name, size_t name_bytes, void *data, size_t n);
/* Exclusive lock. What cannot be read to be removed stays, unreachable. */
void fc_blob_free(struct fc_fs *fs, const uint8_t *name, size_t name_bytes);

#endif
