/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "cipher/aead.h"
#include "cli/cli.h"
#include "cli/lock.h"
#include "fusecrypt/container.h"
#include "key/kdf.h"
#include "secret/secret.h"
#include "store/header.h"

#define EXFAT_MAGIC 0x2011BAB0
#define SIZE_LIMIT_MIN (32ull << 20)

enum { OPT_CIPHER = FC_OPT_OWN, OPT_KDF, OPT_SIZE_LIMIT, OPT_LOG_SIZE };

static const struct option options[] = {
	FC_SECRET_OPTIONS,
	{ "new-passphrase-file", required_argument, NULL, FC_OPT_PASSPHRASE_FILE },
	{ "new-passphrase-fd", required_argument, NULL, FC_OPT_PASSPHRASE_FD },
	{ "new-key-file", required_argument, NULL, FC_OPT_KEY_FILE },
	{ "new-recovery-code-file", required_argument, NULL, FC_OPT_RECOVERY_FILE },
	{ "cipher", required_argument, NULL, OPT_CIPHER },
	{ "kdf", required_argument, NULL, OPT_KDF },
	{ "size-limit", required_argument, NULL, OPT_SIZE_LIMIT },
	{ "log-size", required_argument, NULL, OPT_LOG_SIZE },
	{ NULL, 0, NULL, 0 },
};

struct init_job {
	const char *path;
	char *parent;
	const char *kdf;
	uint32_t cipher;
	uint64_t size_limit, log_bytes;
	struct fc_secret_from from;
};

/* ---- arguments ------------------------------------------------------------ */

static int take_cipher(struct init_job *job, const char *name)
{
	job->cipher = strcmp(name, "auto") ? fc_cipher_by_name(name) : fc_cipher_auto();
	if (!job->cipher)
		return fc_cli_usage("init", "--cipher %s: auto, aes-256-gcm and xchacha20-poly1305 are known", name);
	if (!fc_provider_find(job->cipher)) {
		fc_cli_say("--cipher %s: this machine cannot compute it; use xchacha20-poly1305", name);
		return FC_EXIT_FAILED;
	}
	return 0;
}

static int take_log_size(struct init_job *job, const char *text)
{
	if (fc_parse_size(text, &job->log_bytes) || job->log_bytes < FC_LOG_MIN || job->log_bytes > FC_LOG_MAX)
		return fc_cli_usage("init", "--log-size %s: a size from 256K to %lluM is needed", text,
				    (unsigned long long)(FC_LOG_MAX >> 20));
	job->log_bytes = (job->log_bytes + FC_LOG_ALIGN - 1) / FC_LOG_ALIGN * FC_LOG_ALIGN;
	return 0;
}

static int take_option(struct init_job *job, int c, char **argv)
{
	int rc;

	switch (c) {
	case OPT_CIPHER:
		return take_cipher(job, optarg);
	case OPT_KDF:
		job->kdf = optarg;
		if (!fc_kdf_is_name(optarg))
			return fc_cli_usage("init", "--kdf %s: auto, interactive, moderate and sensitive are known",
					    optarg);
		return 0;
	case OPT_SIZE_LIMIT:
		if (fc_parse_size(optarg, &job->size_limit))
			return fc_cli_usage("init", "--size-limit %s: a number is needed, with K, M, G or T", optarg);
		return 0;
	case OPT_LOG_SIZE:
		return take_log_size(job, optarg);
	default:
		rc = fc_secret_option(&job->from, c, optarg);
		return !rc ? 0 : rc == FC_ENOENT ? fc_cli_bad_option(argv) : FC_EXIT_USAGE;
	}
}

static int parse(int argc, char **argv, struct init_job *job)
{
	int c, status;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		status = take_option(job, c, argv);
		if (status)
			return status;
	}
	if (fc_cli_operands(argc, argv, 1, "one container to make"))
		return FC_EXIT_USAGE;
	if (job->size_limit && job->size_limit < SIZE_LIMIT_MIN + job->log_bytes)
		return fc_cli_usage("init", "--size-limit: at least %llu MiB are needed, %llu of them for the log",
				    (unsigned long long)(SIZE_LIMIT_MIN + job->log_bytes + (1 << 20) - 1) >> 20,
				    (unsigned long long)job->log_bytes >> 20);
	job->path = argv[optind];
	return 0;
}

/* ---- the host --------------------------------------------------------------- */

/* Before anything is asked: what would fail anyway. */
static int check_place(struct init_job *job)
{
	struct statfs fs;
	struct stat st;
	char *copy;

	if (!lstat(job->path, &st)) {
		fc_cli_say("%s exists: init never writes over anything; choose another name", job->path);
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

static int sync_parent(const struct init_job *job)
{
	int fd = open(job->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;

	if (fd < 0 || (fsync(fd) && errno != EINVAL))
		rc = FC_EIO;
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- making it ---------------------------------------------------------------- */

static void fill_header(const struct init_job *job, const struct fc_unlock_reply *reply, struct fc_header *h)
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
}

/* The new file is io's, which is closed here. */
static int format(const struct init_job *job, int fd, const struct fc_unlock_reply *reply)
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

static int say_failed(const struct init_job *job, int rc)
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
static int make(const struct init_job *job, const struct fc_unlock_reply *reply)
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

static int run(int argc, char **argv)
{
	struct init_job job = { .kdf = "auto", .log_bytes = FC_LOG_DEFAULT };
	struct fc_unlock_request request = { .create = true, .container_fd = -1 };
	struct fc_unlock_reply *reply;
	int status;

	if (fc_secret_init() || fc_secret_harden()) {
		fc_cli_say("core dumps cannot be switched off: no key is taken into such a process");
		return FC_EXIT_FAILED;
	}
	job.from = FC_SECRET_FROM_NONE;
	job.cipher = fc_cipher_auto();
	status = parse(argc, argv, &job);
	if (!status)
		status = check_place(&job);
	if (!status) {
		request.container = job.path;
		request.kdf = job.kdf;
		request.from = job.from;
		status = fc_cli_unlock(&request, &reply);
		if (!status) {
			status = make(&job, reply);
			fc_secret_free(reply);
		}
	}
	free(job.parent);
	return status;
}

const struct fc_command fc_command_init = {
	.name = "init",
	.arguments = "CONTAINER [OPTION...]",
	.summary = "makes an empty container",
	.help = "  --cipher auto|aes-256-gcm|xchacha20-poly1305\n"
		"  --kdf auto|interactive|moderate|sensitive    what a guess of the passphrase costs\n"
		"  --size-limit SIZE            never larger than that (K, M, G, T: powers of 1024)\n"
		"  --log-size SIZE              16M unless given\n"
		"  --passphrase-file FILE, --new-passphrase-file FILE\n"
		"                               the passphrase is the first line of FILE (- is standard input)\n"
		"  --passphrase-fd N, --new-passphrase-fd N\n"
		"                               ... of what descriptor N gives\n"
		"  --key-file FILE, --new-key-file FILE\n"
		"                               the whole of FILE is a key; no passphrase unless one is given too\n"
		"  --recovery-code-file FILE, --new-recovery-code-file FILE\n"
		"                               writes a recovery code to a new FILE (- is standard output)\n"
		"Without any, a passphrase is asked for on the terminal, and a recovery code offered.\n",
	.run = run,
};
