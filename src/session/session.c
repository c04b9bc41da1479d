/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mount from beginning to end. */
#include "session/session_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <syslog.h>
#include <unistd.h>

#include "session/steward.h"

/* Ten years: nobody but us changes what is in the container. */
#define FOR_EVER (10.0 * 365 * 86400)

/* No create: the kernel then uses MKNOD and opens the file by itself, which is
 * as many requests, and CREATE would be followed by RELEASE. No locks: the
 * kernel keeps them. No access, poll, bmap: the kernel knows better. */
static const struct fuse_lowlevel_ops operations = {
	.init = fc_init,
	.lookup = fc_op_lookup,
	.forget = fc_op_forget,
	.forget_multi = fc_op_forget_multi,
	.setattr = fc_op_setattr,
	.readlink = fc_op_readlink,
	.mknod = fc_op_mknod,
	.mkdir = fc_op_mkdir,
	.unlink = fc_op_unlink,
	.rmdir = fc_op_rmdir,
	.symlink = fc_op_symlink,
	.rename = fc_op_rename,
	.link = fc_op_link,
	.open = fc_op_open,
	.opendir = fc_op_open,
	.flush = fc_op_flush,
	.fsync = fc_op_fsync,
	.fsyncdir = fc_op_fsync,
	.readdir = fc_op_readdir,
	.readdirplus = fc_op_readdirplus,
	.statfs = fc_op_statfs,
	.getxattr = fc_op_getxattr,
	.listxattr = fc_op_listxattr,
	.removexattr = fc_op_removexattr,
	.fallocate = fc_op_fallocate,
	.copy_file_range = fc_op_copy,
	.lseek = fc_op_lseek,
	.ioctl = fc_op_ioctl,
};

/* ---- what libfuse says -------------------------------------------------- */

/* It gives no argument to its log; one session a process. */
static struct fc_session *_Atomic speaking;

static void on_fuse_log(enum fuse_log_level level, const char *format, va_list args)
{
	struct fc_session *session = atomic_load(&speaking);
	char text[sizeof(session->trouble)];
	size_t used;

	if (!session)
		return;
	vsnprintf(text, sizeof(text), format, args);
	if (session->fd >= 0) {
		text[strcspn(text, "\n")] = 0;
		fc_log(session, (int)level, "%s", text);
		return;
	}
	/* While mounting it is the reason why it fails, told through ready; the
	 * last line counts, and it may come in pieces. */
	used = strlen(session->trouble);
	if (used && session->trouble[used - 1] == '\n')
		used = 0;
	snprintf(session->trouble + used, sizeof(session->trouble) - used, "%s", text);
}

/* ---- mounting ----------------------------------------------------------- */

static double timeout_of(const struct fc_session_options *options)
{
	/* Use that no request tells of would end in an unmount. */
	return options->idle_seconds ? options->idle_seconds / 4.0 : FOR_EVER;
}

/* Adds the caller's options to all; those about directories' access times are for
 * us alone, libfuse does not know them. 0 or -1. */
static int add_options(struct fc_session *session, char **all)
{
	char *copy = strdup(session->options->fuse_options ? session->options->fuse_options : ""), *rest = NULL;
	int result = copy ? 0 : -1;

	for (char *word = copy ? strtok_r(copy, ",", &rest) : NULL; word; word = strtok_r(NULL, ",", &rest)) {
		if (strcmp(word, "diratime") == 0 || strcmp(word, "nodiratime") == 0) {
			session->no_diratime = word[0] == 'n';
			continue;
		}
		session->asked_no_atime |= strcmp(word, "noatime") == 0;
		result |= fuse_opt_add_opt(all, word);
	}
	session->no_atime = session->asked_no_atime || session->options->read_only;
	free(copy);
	return result;
}

char *fc_session_option_string(struct fc_session *session)
{
	const struct fc_session_options *options = session->options;
	char *all = NULL, *name = NULL;

	if (asprintf(&name, "fsname=%s", options->container) < 0)
		return NULL;
	if (fuse_opt_add_opt_escaped(&all, name) < 0 || fuse_opt_add_opt(&all, "subtype=fusecrypt") < 0 ||
	    fuse_opt_add_opt(&all, "default_permissions") < 0 ||
	    (options->read_only && fuse_opt_add_opt(&all, "ro") < 0) || add_options(session, &all) < 0) {
		free(all);
		all = NULL;
	}
	free(name);
	return all;
}

int fc_session_create(struct fc_session *session)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	char *options = fc_session_option_string(session);
	int error = session->trouble[0] ? EINVAL : ENOMEM;

	if (options && fuse_opt_add_arg(&args, "fusecrypt") == 0 && fuse_opt_add_arg(&args, "-o") == 0 &&
	    fuse_opt_add_arg(&args, options) == 0) {
		error = EINVAL;
		session->fuse = fuse_session_new(&args, &operations, sizeof(operations), session);
	}
	fuse_opt_free_args(&args);
	free(options);
	return session->fuse ? 0 : error;
}

static ssize_t plain_read(int fd, void *buf, size_t n, void *userdata)
{
	(void)userdata;
	return read(fd, buf, n);
}

int fc_session_connect(struct fc_session *session, int fd)
{
	static const struct fuse_custom_io io = { .read = plain_read, .writev = fc_init_writev };

	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return errno;
	if (fuse_session_custom_io(session->fuse, &io, fd) != 0)
		return ENOMEM;
	session->fd = fd;
	return 0;
}

static int mount_it(struct fc_session *session)
{
	int error = fc_session_create(session);

	if (error)
		return error;
	errno = 0;
	if (fuse_session_mount(session->fuse, session->options->mountpoint) < 0)
		return errno ? errno : EIO;
	return fc_session_connect(session, fuse_session_fd(session->fuse));
}

/* Whether an ordinary user may let others in; fusermount3 refuses without a word
 * that libfuse could pass on. */
static bool others_allowed(void)
{
	FILE *conf = fopen("/etc/fuse.conf", "re");
	char line[256], word[sizeof(line)];
	bool allowed = false;

	while (conf && fgets(line, sizeof(line), conf))
		allowed |= sscanf(line, "%255s", word) == 1 && strcmp(word, "user_allow_other") == 0;
	if (conf)
		fclose(conf);
	return allowed;
}

static void tell_failure(struct fc_session *session, int error)
{
	const struct fc_session_options *options = session->options;
	const char *why = session->trouble[0] ? session->trouble : strerror(error);

	session->trouble[strcspn(session->trouble, "\n")] = 0;
	if (geteuid() != 0 && options->fuse_options && strstr(options->fuse_options, "allow_") && !others_allowed())
		why = "allow_other needs the line user_allow_other in /etc/fuse.conf";
	if (options->ready)
		options->ready(options->arg, error, why);
}

/* The kernel shall neither slow us down for the dirty pages that wait for us, nor
 * wait for them when it looks for memory on our behalf. Root may say so; threads
 * started from here on inherit it. */
static void be_io_flusher(void)
{
	if (prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) < 0)
		errno = 0;
}

/* ---- becoming writable --------------------------------------------------- */

void fc_session_use(struct fc_session *session)
{
	if (session->options->writable)
		pthread_rwlock_rdlock(&session->fs_lock);
}

void fc_session_use_end(struct fc_session *session)
{
	if (session->options->writable)
		pthread_rwlock_unlock(&session->fs_lock);
}

int fc_session_make_writable(struct fc_session *session)
{
	struct fc_fs_stat st;
	struct fc_fs *fresh;
	int error;

	if (!session->options->writable)
		return FC_EROFS;
	/* readers go first, so requests that wait for others end */
	fc_session_use_end(session);
	pthread_rwlock_wrlock(&session->fs_lock);
	error = fc_fs_statfs(session->fs, &st);
	if (!error && st.read_only)
		error = session->options->writable(session->options->arg, &fresh);
	if (!error && st.read_only) {
		session->fs = fresh;
		session->no_atime = session->asked_no_atime;
	}
	pthread_rwlock_unlock(&session->fs_lock);
	fc_session_use(session);
	return error;
}

/* ---- serving ------------------------------------------------------------ */

static int serve(struct fc_session *session)
{
	pthread_t control;
	int error;

	be_io_flusher();
	fc_loop_prepare(session);
	error = session->options->mounted(session->options->arg);
	if (!error)
		error = pthread_create(&control, NULL, fc_control_main, session);
	if (error) {
		fc_latency_close(&session->loop.latency);
		tell_failure(session, error);
		return error;
	}
	error = fc_loop_run(session);
	fuse_session_exit(session->fuse);
	if (write(session->signal_write, "", 1) != 1)
		fc_log(session, LOG_ERR, "cannot end the control thread: %s", strerror(errno));
	pthread_join(control, NULL);
	return error;
}

int fc_session_run(struct fc_fs *fs, const struct fc_session_options *options)
{
	struct fc_session *session = calloc(1, sizeof(*session));
	int error;

	if (!session)
		return ENOMEM;
	session->fs = fs;
	session->options = options;
	session->fd = -1;
	session->timeout = timeout_of(options);
	pthread_mutex_init(&session->fresh_lock, NULL);
	pthread_rwlock_init(&session->fs_lock, NULL);
	atomic_store(&speaking, session);
	fuse_set_log_func(on_fuse_log);
	error = fc_control_begin(session);
	if (!error) {
		error = mount_it(session);
		if (error)
			tell_failure(session, error);
		else
			error = serve(session);
		fc_control_end(session);
	}
	if (session->fuse) {
		fuse_session_unmount(session->fuse);
		fc_steward_clear(options->steward);
		fuse_session_destroy(session->fuse);
	}
	if (options->debug_requests)
		fc_request_report(session);
	atomic_store(&speaking, NULL);
	pthread_mutex_destroy(&session->fresh_lock);
	pthread_rwlock_destroy(&session->fs_lock);
	free(session);
	return error;
}
