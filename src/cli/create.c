/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A new container. */
#include "cli/create.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/lock.h"
#include "fusecrypt/container.h"
#include "secret/secret.h"
#include "store/header.h"

#define EXFAT_MAGIC 0x2011BAB0

/* ---- the host --------------------------------------------------------------- */

/* Before anything is asked: what would fail anyway. */
int fc_create_check(struct fc_create_job *job)
{
	struct statfs fs;
	struct stat st;
	char *copy;

	if (!lstat(job->path, &st)) {
		fc_cli_say("%s exists: a new container never takes the place of anything; choose another name",
			   job->path);
		return FC_EXIT_FAILED;
	}
	copy = strdup(job->path);
	job->parent = copy ? strdup(dirname(copy)) : NULL;
	free(copy);
	if (!job->parent || statfs(job->parent, &fs) || access(job->parent, W_OK | X_OK)) {
		fc_cli_say("%s cannot be made: %s: %s", job->path, job->parent ? job->parent : "", strerror(errno));
		return FC_EXIT_FAILED;
	}
	if (fs.f_type == MSDOS_SUPER_MAGIC || fs.f_type == EXFAT_MAGIC) {
		fc_cli_say("%s would lie on a FAT file system, which has no files with holes: a container could not "
			   "shrink there; "
			   "use ext4, xfs, btrfs or the like",
			   job->path);
		return FC_EXIT_FAILED;
	}
	return 0;
}

/* Copy-on-write below would copy what our own copy-on-write never overwrites.
 * It works without. */
static void set_nocow(int fd)
{
	struct statfs fs;
	int flags;

	if (fstatfs(fd, &fs) || fs.f_type != BTRFS_SUPER_MAGIC || ioctl(fd, FS_IOC_GETFLAGS, &flags))
		return;
	flags |= FS_NOCOW_FL;
	ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static int sync_parent(const struct fc_create_job *job)
{
	int fd = open(job->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;

	if (fd < 0 || (fsync(fd) && errno != EINVAL))
		rc = FC_EIO;
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- the key ------------------------------------------------------------------ */

int fc_create_unlock(const struct fc_create_job *job, struct fc_unlock_reply **reply)
{
	struct fc_unlock_request request = {
		.create = true,
		.container_fd = -1,
		.container = job->path,
		.kdf = job->kdf,
		.from = job->from,
	};

	if (fc_secret_init() || fc_secret_harden()) {
		fc_cli_say("core dumps cannot be switched off: no key is taken into such a process");
		return FC_EXIT_FAILED;
	}
	return fc_cli_unlock(&request, reply);
}

/* ---- making it ---------------------------------------------------------------- */

static void fill_header(struct fc_create_job *job, const struct fc_unlock_reply *reply, struct fc_header *h)
{
	h->version = FC_FORMAT_VERSION;
	h->cipher = job->cipher;
	h->key_epoch = 1;
	h->log_bytes = job->log_bytes;
	h->created = (uint64_t)time(NULL);
	randombytes_buf(h->uuid, sizeof(h->uuid));
	h->uuid[6] = (uint8_t)((h->uuid[6] & 0x0f) | 0x40); /* RFC 9562, version 4 */
	h->uuid[8] = (uint8_t)((h->uuid[8] & 0x3f) | 0x80);
	for (uint32_t i = 0; i < reply->slot_count; i++)
		h->slots[i] = reply->slots[i];
	memcpy(job->uuid, h->uuid, sizeof(job->uuid));
}

/* The new file is io's, which is closed here. */
static int format(struct fc_create_job *job, int fd, const struct fc_unlock_reply *reply)
{
	struct fc_header *h = calloc(1, sizeof(*h));
	struct fc_io *io = NULL;
	struct timespec now;
	int rc = h ? fc_io_file(fd, false, &io) : FC_ENOMEM;

	if (!h)
		close(fd);
	if (!rc) {
		fill_header(job, reply, h);
		clock_gettime(CLOCK_REALTIME, &now);
		rc = fc_fs_format(io, h, reply->master, job->size_limit, geteuid(), getegid(),
				  (struct fc_time){ now.tv_sec, (uint32_t)now.tv_nsec });
	}
	fc_io_close(io);
	free(h);
	return rc;
}

static int say_failed(const struct fc_create_job *job, int rc)
{
	if (rc == FC_ENOSPC)
		fc_cli_say("%s cannot be made: no space left; an empty container takes about %llu MiB, less with "
			   "--log-size",
			   job->path, (unsigned long long)(job->log_bytes + (8 << 20)) >> 20);
	else
		fc_cli_say("%s cannot be made: %s", job->path, fc_error_text(rc));
	return fc_cli_exit(rc);
}

/* Interrupts wait until the file is whole or gone. */
int fc_create_make(struct fc_create_job *job, const struct fc_unlock_reply *reply)
{
	const struct timespec at_once = { 0, 0 };
	sigset_t all, old, ends;
	int fd, rc;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigaddset(&ends, SIGQUIT);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	fd = open(job->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		rc = fc_error_from_errno(errno);
	} else {
		set_nocow(fd);
		fc_lock_take(fd, false);
		fc_lock_mark(fd, false);
		rc = format(job, fd, reply);
		if (!rc)
			rc = sync_parent(job);
		if (sigtimedwait(&ends, NULL, &at_once) > 0 && !rc)
			rc = FC_EINTERRUPTED;
		if (rc)
			unlink(job->path);
	}
	if (rc && job->from.recovery_file && strcmp(job->from.recovery_file, "-"))
		unlink(job->from.recovery_file);
	if (rc && rc != FC_EINTERRUPTED)
		say_failed(job, rc);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return fc_cli_exit(rc);
}
