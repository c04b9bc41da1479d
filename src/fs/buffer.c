/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buffers for sealed data on its way to the container: kept, since fresh memory of
 * that size costs as much as sealing does. */
#include <stdlib.h>

#include "fs/state.h"

uint8_t *fc_buffer_take(struct fc_fs *fs)
{
	uint8_t *p = NULL;

	pthread_mutex_lock(&fs->buffer_lock);
	if (fs->buffers)
		p = fs->buffer[--fs->buffers];
	pthread_mutex_unlock(&fs->buffer_lock);
	return p ? p : aligned_alloc(FC_IO_ALIGN, FC_BUFFER_BYTES);
}

void fc_buffer_give(struct fc_fs *fs, uint8_t *p)
{
	pthread_mutex_lock(&fs->buffer_lock);
	if (p && fs->buffers < FC_BUFFERS_KEPT) {
		fs->buffer[fs->buffers++] = p;
		p = NULL;
	}
	pthread_mutex_unlock(&fs->buffer_lock);
	free(p);
}

void fc_buffer_fini(struct fc_fs *fs)
{
	while (fs->buffers)
		free(fs->buffer[--fs->buffers]);
}
