/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Named errors. Functions return 0 or a count on success and one of these,
 * negative, on failure. The FUSE border turns them into errno once
 * (fc_error_errno), the command line into an exit status once.
 */
#ifndef FUSECRYPT_ERROR_H
#define FUSECRYPT_ERROR_H

/* name, value, errno, text */
#define FC_ERRORS(X) \
	X(NOMEM, -1, ENOMEM, "out of memory") \
	X(IO, -2, EIO, "the container's disk reported an error") \
	X(NOSPC, -3, ENOSPC, "no space left") \
	X(FORGED, -4, EIO, "does not authenticate: damaged or forged") \
	X(CORRUPT, -5, EIO, "authentic but not well-formed") \
	X(NOENT, -6, ENOENT, "no such entry") \
	X(EXIST, -7, EEXIST, "exists already") \
	X(NOTDIR, -8, ENOTDIR, "not a directory") \
	X(ISDIR, -9, EISDIR, "is a directory") \
	X(NOTEMPTY, -10, ENOTEMPTY, "directory not empty") \
	X(NAMETOOLONG, -11, ENAMETOOLONG, "name too long") \
	X(INVAL, -12, EINVAL, "invalid argument") \
	X(FBIG, -13, EFBIG, "file too large") \
	X(ROFS, -14, EROFS, "read-only") \
	X(MLINK, -15, EMLINK, "too many links") \
	X(NODATA, -16, ENODATA, "no such attribute") \
	X(RANGE, -17, ERANGE, "buffer too small") \
	X(PERM, -18, EPERM, "not permitted") \
	X(NOTSUP, -19, EOPNOTSUPP, "not supported") \
	X(NXIO, -20, ENXIO, "no data at or after that offset") \
	X(TOOBIG, -21, E2BIG, "attribute too large") \
	X(BADKEY, -22, EACCES, "no key opens it") \
	X(NOTCONTAINER, -23, EINVAL, "not a fusecrypt container") \
	X(NEWER, -24, EINVAL, "newer format or unknown feature") \
	X(INUSE, -25, EBUSY, "in use") \
	X(OLDER, -26, ESTALE, "older than the state seen last") \
	X(SESSIONS, -27, ENOSPC, "salt table full: rekey") \
	X(INTERRUPTED, -28, EINTR, "interrupted") \
	X(STALE, -29, ESTALE, "no such inode") \
	X(AGAIN, -30, EAGAIN, "try again") \
	X(ACCESS, -31, EACCES, "permission denied") \
	X(XDEV, -32, EXDEV, "not on the same file system")

enum fc_error {
#define FC_ERROR_ENUM(name, value, err, text) FC_E##name = (value),
	FC_ERRORS(FC_ERROR_ENUM)
#undef FC_ERROR_ENUM
};

/* The errno (positive) of a negative FC_E*; EIO for a value that has no name. */
int fc_error_errno(int error);

/* An English phrase for a message; never NULL, static storage. */
const char *fc_error_text(int error);

/* The FC_E* nearest to an errno of a system call on the container. */
int fc_error_from_errno(int err);

#endif
