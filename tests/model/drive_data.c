/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps on contents and extended attributes. */
#include "drive_priv.h"

#include <unistd.h>

enum fc_drive_end fc_drive_read(struct fc_drive *d, struct fc_step *s)
{
	size_t got = 0, want_got = 0;
	enum fc_drive_end end;
	int error;

	memset(d->buf[0], 0xa5, s->bytes);
	error = fc_fs_read(d->fs, fc_drive_ino(d, s->node), s->off, s->bytes, d->buf[0], &got);
	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	end = fc_drive_verdict(d, error, fc_model_read(d->model, s->node, s->off, s->bytes, d->buf[1], &want_got));
	if (end != FC_DRIVE_SAME || error)
		return end;
	if (got != want_got)
		return fc_drive_differs(d, "read %zu bytes, right is %zu", got, want_got);
	for (size_t i = 0; i < got; i++)
		if (d->buf[0][i] != d->buf[1][i])
			return fc_drive_differs(d, "node %u: byte %llu is %02x, right is %02x", (unsigned)s->node,
						(unsigned long long)(s->off + i), d->buf[0][i], d->buf[1][i]);
	return FC_DRIVE_SAME;
}

enum fc_drive_end fc_drive_write(struct fc_drive *d, struct fc_step *s)
{
	int error;

	fc_script_fill(d->buf[0], s->bytes, s->seed);
	error = fc_fs_write(d->fs, fc_drive_ino(d, s->node), s->off, s->bytes, d->buf[0], s->flags);
	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	return fc_drive_verdict(d, error, fc_model_write(d->model, s->node, s->off, s->bytes, d->buf[0], s->flags));
}

enum fc_drive_end fc_drive_fallocate(struct fc_drive *d, struct fc_step *s)
{
	int error = fc_fs_fallocate(d->fs, fc_drive_ino(d, s->node), (int)s->mode, s->off, s->bytes, 0);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	return fc_drive_verdict(d, error, fc_model_fallocate(d->model, s->node, (int)s->mode, s->off, s->bytes));
}

/* SEEK_DATA: nothing but zeros is skipped, and what was never written is no data. */
static enum fc_drive_end check_data(struct fc_drive *d, const struct fc_step *s, uint64_t size, int error, uint64_t at)
{
	uint64_t nonzero = fc_model_nonzero(d->model, s->node, s->off);

	if (error == FC_ENXIO) {
		if (nonzero != UINT64_MAX)
			return fc_drive_differs(d, "node %u: no data after %llu, but there is at %llu",
						(unsigned)s->node, (unsigned long long)s->off,
						(unsigned long long)nonzero);
		return FC_DRIVE_SAME;
	}
	if (at < s->off || at >= size || at > nonzero)
		return fc_drive_differs(d, "node %u: data at %llu, right is %llu to %llu", (unsigned)s->node,
					(unsigned long long)at, (unsigned long long)s->off,
					(unsigned long long)nonzero);
	if (size > FC_INLINE_MAX && !fc_model_allocated(d->model, s->node, at))
		return fc_drive_differs(d, "node %u: data at %llu, where nothing was written", (unsigned)s->node,
					(unsigned long long)at);
	return FC_DRIVE_SAME;
}

/* SEEK_HOLE: a hole is zero, and before it nothing is a hole that was never written. */
static enum fc_drive_end check_hole(struct fc_drive *d, const struct fc_step *s, uint64_t size, uint64_t at)
{
	if (at < s->off || at > size)
		return fc_drive_differs(d, "node %u: hole at %llu, right is %llu to %llu", (unsigned)s->node,
					(unsigned long long)at, (unsigned long long)s->off, (unsigned long long)size);
	if (at < size && fc_model_nonzero(d->model, s->node, at) / FC_BLOCK == at / FC_BLOCK)
		return fc_drive_differs(d, "node %u: a hole at %llu, but there is data", (unsigned)s->node,
					(unsigned long long)at);
	for (uint64_t i = s->off; size > FC_INLINE_MAX && i < at; i = (i / FC_BLOCK + 1) * FC_BLOCK)
		if (!fc_model_allocated(d->model, s->node, i))
			return fc_drive_differs(d, "node %u: the hole at %llu is missed, next is %llu",
						(unsigned)s->node, (unsigned long long)i, (unsigned long long)at);
	return FC_DRIVE_SAME;
}

enum fc_drive_end fc_drive_seek(struct fc_drive *d, struct fc_step *s)
{
	const struct fc_attr *attr = fc_model_attr(d->model, s->node);
	uint64_t at = 0;
	int error = fc_fs_lseek(d->fs, fc_drive_ino(d, s->node), s->off, (int)s->flags, &at);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	if (!S_ISREG(attr->mode))
		return fc_drive_verdict(d, error, FC_ERR(FC_EINVAL) | FC_ERR(FC_EISDIR) | FC_ERR(FC_ENXIO));
	if (s->off >= attr->size)
		return fc_drive_verdict(d, error, FC_ERR(FC_ENXIO));
	if (error && (error != FC_ENXIO || s->flags != SEEK_DATA))
		return fc_drive_verdict(d, error, 0);
	return s->flags == SEEK_DATA ? check_data(d, s, attr->size, error, at) : check_hole(d, s, attr->size, at);
}

enum fc_drive_end fc_drive_copy(struct fc_drive *d, struct fc_step *s)
{
	uint64_t done = 0, want_done = 0;
	enum fc_drive_end end;
	int error =
		fc_fs_copy(d->fs, fc_drive_ino(d, s->node), s->off, fc_drive_ino(d, s->dir2), s->off2, s->bytes, &done);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	if (!error && done && done < s->bytes)
		s->bytes = done; /* a short copy is no error */
	end = fc_drive_verdict(d, error,
			       fc_model_copy(d->model, s->node, s->off, s->dir2, s->off2, s->bytes, &want_done));
	if (end == FC_DRIVE_SAME && !error && done != want_done)
		return fc_drive_differs(d, "copied %llu bytes, right is %llu", (unsigned long long)done,
					(unsigned long long)want_done);
	return end;
}

/* ---- extended attributes ------------------------------------------------------ */

enum fc_drive_end fc_drive_getxattr(struct fc_drive *d, struct fc_step *s)
{
	const char *name = fc_script_attribute(s->attribute);
	size_t want_n = 0, size;
	enum fc_drive_end end;
	fc_errors want;
	ssize_t n;

	fc_model_getxattr(d->model, s->node, name, NULL, 0, &want_n);
	size = s->mode && want_n > 1 ? want_n - 1 : FC_XATTR_VALUE_MAX;
	want = fc_model_getxattr(d->model, s->node, name, d->buf[1], size, &want_n);
	n = fc_fs_getxattr(d->fs, fc_drive_ino(d, s->node), name, d->buf[0], size);
	if (fc_drive_faulted(d, (int)n))
		return FC_DRIVE_FAULT;
	end = fc_drive_verdict(d, n < 0 ? (int)n : 0, want);
	if (end != FC_DRIVE_SAME || n < 0)
		return end;
	if ((size_t)n != want_n || memcmp(d->buf[0], d->buf[1], want_n) != 0)
		return fc_drive_differs(d, "node %u: attribute %u: %zd bytes or others, right are %zu",
					(unsigned)s->node, s->attribute, n, want_n);
	n = fc_fs_getxattr(d->fs, fc_drive_ino(d, s->node), name, NULL, 0);
	if (!fc_drive_faulted(d, (int)n) && (n < 0 || (size_t)n != want_n))
		return fc_drive_differs(d, "node %u: attribute %u: length %zd, right is %zu", (unsigned)s->node,
					s->attribute, n, want_n);
	return FC_DRIVE_SAME;
}

enum fc_drive_end fc_drive_setxattr(struct fc_drive *d, struct fc_step *s)
{
	const char *name = fc_script_attribute(s->attribute);
	size_t n = fc_script_value(s, d->buf[0]);
	int error = fc_fs_setxattr(d->fs, fc_drive_ino(d, s->node), name, d->buf[0], n, (int)s->flags, s->mode);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	return fc_drive_verdict(d, error,
				fc_model_setxattr(d->model, s->node, name, d->buf[0], n, (int)s->flags, s->mode));
}

enum fc_drive_end fc_drive_removexattr(struct fc_drive *d, struct fc_step *s)
{
	const char *name = fc_script_attribute(s->attribute);
	int error = fc_fs_removexattr(d->fs, fc_drive_ino(d, s->node), name);

	if (fc_drive_faulted(d, error))
		return FC_DRIVE_FAULT;
	return fc_drive_verdict(d, error, fc_model_removexattr(d->model, s->node, name));
}
