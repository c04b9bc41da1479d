/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "key/keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "secret/secret.h"

#define STEP (64u << 10)

static int open_error(int err)
{
	switch (err) {
	case ENOENT:
	case ENOTDIR:
		return FC_ENOENT;
	case EACCES:
	case EPERM:
		return FC_EACCESS;
	case ENXIO: /* a socket, or a device that is not there */
		return FC_EINVAL;
	default:
		return FC_EIO;
	}
}

/* Opens without waiting for a pipe's writer. */
static int open_regular(const char *path, int *fd)
{
	struct stat st;
	int rc = 0;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fd < 0)
		return open_error(errno);
	if (fstat(*fd, &st))
		rc = FC_EIO;
	else if (S_ISDIR(st.st_mode))
		rc = FC_EISDIR;
	else if (!S_ISREG(st.st_mode))
		rc = FC_EINVAL;
	else if (st.st_size > (off_t)FC_KEYFILE_MAX)
		rc = FC_EFBIG;
	if (rc)
		close(*fd);
	return rc;
}

int fc_keyfile_hash(const char *path, uint8_t hash[FC_KEYFILE_HASH_BYTES], size_t *bytes)
{
	static const uint8_t context[32] = "fusecrypt 1 key file";
	struct {
		crypto_generichash_state state;
		uint8_t buf[STEP];
	} * work;
	size_t total = 0;
	ssize_t n;
	int fd, rc;

	rc = open_regular(path, &fd);
	if (rc)
		return rc;
	work = fc_secret_alloc(sizeof(*work));
	if (!work) {
		close(fd);
		return FC_ENOMEM;
	}
	crypto_generichash_init(&work->state, context, sizeof(context), FC_KEYFILE_HASH_BYTES);
	while ((n = read(fd, work->buf, STEP)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || (total += (size_t)n) > FC_KEYFILE_MAX) {
			rc = n < 0 ? FC_EIO : FC_EFBIG;
			break;
		}
		crypto_generichash_update(&work->state, work->buf, (size_t)n);
	}
	if (!rc && !total)
		rc = FC_ENODATA;
	if (!rc)
		crypto_generichash_final(&work->state, hash, FC_KEYFILE_HASH_BYTES);
	*bytes = total;
	fc_secret_free(work);
	close(fd);
	return rc;
}

const char *fc_keyfile_error(int error)
{
	switch (error) {
	case FC_ENOENT:
		return "there is no such file";
	case FC_EACCESS:
		return "it may not be read";
	case FC_EISDIR:
		return "it is a directory";
	case FC_EINVAL:
		return "it is not a regular file";
	case FC_ENODATA:
		return "it is empty";
	case FC_EFBIG:
		return "it is longer than 16 MiB";
	default:
		return fc_error_text(error);
	}
}
