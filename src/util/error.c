/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stddef.h>

#include "fusecrypt/error.h"

int fc_error_errno(int error)
{
	switch (error) {
#define FC_ERROR_ERRNO(name, value, err, text) \
	case FC_E##name: \
		return err;
		FC_ERRORS(FC_ERROR_ERRNO)
#undef FC_ERROR_ERRNO
	default:
		return EIO;
	}
}

const char *fc_error_text(int error)
{
	switch (error) {
	case 0:
		return "no error";
#define FC_ERROR_TEXT(name, value, err, text) \
	case FC_E##name: \
		return text;
		FC_ERRORS(FC_ERROR_TEXT)
#undef FC_ERROR_TEXT
	default:
		return "unknown error";
	}
}

/* Not the reverse of fc_error_errno: several errors of ours share an errno, and
 * a system call means only one of them. */
static const struct {
	int err, error;
} from_errno[] = {
	{ ENOMEM, FC_ENOMEM },       { EIO, FC_EIO },
	{ ENOSPC, FC_ENOSPC },       { EDQUOT, FC_ENOSPC },
	{ ENOENT, FC_ENOENT },       { EEXIST, FC_EEXIST },
	{ ENOTDIR, FC_ENOTDIR },     { EISDIR, FC_EISDIR },
	{ ENOTEMPTY, FC_ENOTEMPTY }, { ENAMETOOLONG, FC_ENAMETOOLONG },
	{ EINVAL, FC_EINVAL },       { EFBIG, FC_EFBIG },
	{ EOVERFLOW, FC_EFBIG },     { EROFS, FC_EROFS },
	{ EMLINK, FC_EMLINK },       { ENODATA, FC_ENODATA },
	{ ERANGE, FC_ERANGE },       { EPERM, FC_EPERM },
	{ EOPNOTSUPP, FC_ENOTSUP },  { ENOSYS, FC_ENOTSUP },
	{ ENXIO, FC_ENXIO },         { E2BIG, FC_ETOOBIG },
	{ EBUSY, FC_EINUSE },        { ETXTBSY, FC_EINUSE },
	{ EINTR, FC_EINTERRUPTED },  { EAGAIN, FC_EAGAIN },
	{ EACCES, FC_EACCESS },      { EXDEV, FC_EXDEV },
};

int fc_error_from_errno(int err)
{
	size_t i;

	for (i = 0; i < sizeof(from_errno) / sizeof(from_errno[0]); i++)
		if (from_errno[i].err == err)
			return from_errno[i].error;
	return FC_EIO;
}
