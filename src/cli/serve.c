/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon: unlocks, opens, serves until unmounted, commits. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/key.h"
#include "cli/lock.h"
#include "cli/locked.h"
#include "cli/mount.h"
#include "secret/secret.h"
#include "session/confine.h"
#include "session/session.h"

/* ---- what is told while serving ------------------------------------------- */

/* Any thread. */
static void on_log(void *arg, int priority, const char *text)
{
	struct fc_mount_job *job = arg;
	char line[sizeof(job->state_file)];

	if (job->logging) {
		snprintf(line, sizeof(line), "%s: %s", job->container, text);
		fc_steward_log(&job->steward, priority, line);
	} else if (priority != LOG_DEBUG || job->trace_requests) {
		fc_cli_say("%s: %s", job->container, text);
	}
}

/* Any thread, and two may come in the wrong order. */
static void on_committed(void *arg, uint64_t generation, const uint8_t tag[FC_TAG_BYTES])
{
	struct fc_mount_job *job = arg;
	struct fc_seen seen = { .generation = generation };
	int rc = 0;

	memcpy(seen.tag, tag, FC_TAG_BYTES);
	pthread_mutex_lock(&job->seen_lock);
	if (generation > job->seen_generation) {
		rc = fc_state_write(job->state_file, &seen);
		if (!rc)
			job->seen_generation = generation;
	}
	pthread_mutex_unlock(&job->seen_lock);
	if (rc)
		on_log(job, LOG_WARNING,
		       "the generation seen could not be recorded: an older copy put back may go unnoticed");
}

/* A rekey writes the header when it ends. */
static int on_header_lock(void *arg, bool take)
{
	struct fc_mount_job *job = arg;

	if (take)
		return fc_lock_header(job->fd, false);
	fc_unlock_header(job->fd);
	return 0;
}

/* The shared lock becomes an exclusive one, or stays. */
static int on_writable(void *arg, struct fc_fs **fresh)
{
	struct fc_mount_job *job = arg;
	struct fc_io *io = job->later;
	int rc = io ? fc_lock_take(job->fd, false) : FC_EROFS;

	if (rc)
		return rc;
	job->later = NULL;
	rc = fc_fs_open_again(job->fs, io, fresh);
	if (!rc) {
		fc_fs_close(job->fs);
		job->fs = *fresh;
		job->fd = job->later_fd;
		job->read_only = false;
		rc = fc_fs_start(job->fs);
		if (rc)
			on_log(job, LOG_ERR, "commits only when asked: no threads can be started");
	} else {
		fc_lock_take(job->fd, true);
		on_log(job, LOG_ERR, "it cannot be made writable");
	}
	/* closing took the mark away */
	fc_lock_mark(job->fd, job->read_only);
	return job->read_only ? rc : 0;
}

/* ---- memory ------------------------------------------------------------------ */

static bool swap_in_use(void)
{
	FILE *f = fopen("/proc/swaps", "re");
	char line[512];
	int lines = 0;

	if (!f)
		return true;
	while (fgets(line, sizeof(line), f))
		lines++;
	fclose(f);
	return lines > 1;
}

/* Locking what is yet to come under a limit would make allocations fail later. */
static bool may_lock_all(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct caps[2] = { 0 };
	struct rlimit limit;

	if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur == RLIM_INFINITY)
		return true;
	return !syscall(SYS_capget, &head, caps) && caps[0].effective & 1u << CAP_IPC_LOCK;
}

/* Large buffers are the system's when they are free. By itself the library takes them to be
 * frequent and puts them between small ones, in the memory of each thread, where they stay. */
static void keep_memory_small(void)
{
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
}

static void lock_memory(struct fc_mount_job *job)
{
	bool locked = may_lock_all() && !mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);

	if (!locked && job->swap)
		on_log(job, LOG_WARNING,
		       "file content in memory may be swapped out: raise the limit of locked memory (`ulimit -l`)");
	if (!fc_secret_locked())
		on_log(job, LOG_WARNING,
		       "keys could not be locked into memory: raise the limit of locked memory (`ulimit -l`)");
}

/* ---- becoming a daemon ---------------------------------------------------------- */

/* Inherited descriptors would keep what they refer to busy. */
static void close_others(const struct fc_mount_job *job)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d))) {
		int fd = (int)strtol(e->d_name, NULL, 10);

		if (fd > STDERR_FILENO && fd != dirfd(d) && fd != job->ready_fd && fd != job->steward.fd &&
		    !fc_io_file_owns(job->io, fd))
			close(fd);
	}
	closedir(d);
}

static void leave_terminal(struct fc_mount_job *job)
{
	if (job->null_fd < 0)
		return;
	for (int i = 0; i <= STDERR_FILENO; i++)
		dup2(job->null_fd, i);
	close(job->null_fd);
	job->null_fd = -1;
}

/* The last thing that is opened is open: what is not needed from here on is given up. */
static int on_mounted(void *arg)
{
	struct fc_mount_job *job = arg;
	char *slash = strrchr(job->state_file, '/'), directory[PATH_MAX];
	int held, rc;

	fc_locked_close(job->locked_fd);
	job->locked_fd = -1;
	fc_lock_serving(job->fd);
	job->swap = swap_in_use();
	job->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - job->state_file) : 0, job->state_file);
	held = fc_confine(slash ? directory : NULL);
	if (held < 0)
		return -held;
	if (!(held & FC_CONFINED_FILES))
		on_log(job, LOG_WARNING, "not confined to its files: this kernel has no Landlock");
	if (!(held & FC_CONFINED_CALLS))
		on_log(job, LOG_WARNING, "not confined to the system calls it needs: no seccomp in kernel or build");
	rc = fc_fs_start(job->fs);
	return rc ? fc_error_errno(rc) : 0;
}

/* The mount answers, or could not be made. */
static void on_ready(void *arg, int error, const char *why)
{
	struct fc_mount_job *job = arg;

	fc_locked_close(job->locked_fd);
	job->locked_fd = -1;
	if (error) {
		job->mount_error = error;
		fc_cli_say("%s cannot be mounted at %s: %s", job->container, job->mountpoint,
			   why && *why ? why : strerror(error));
		/* confined, and what could unmount is gone: nobody has been told that it can be used */
		if (job->null_fd >= 0)
			_exit(FC_EXIT_MOUNTPOINT);
		return;
	}
	job->answered = true;
	job->logging = !job->foreground;
	lock_memory(job);
	if (!job->foreground) {
		fflush(NULL);
		leave_terminal(job);
		/* the parent goes when it reads this */
		if (write(job->ready_fd, "", 1) != 1)
			on_log(job, LOG_WARNING, "mounted, but who asked for it is gone");
		close(job->ready_fd);
		job->ready_fd = -1;
	}
}

/* ---- opening ------------------------------------------------------------------- */

/* Reads what this machine saw last into options. */
static void recall_seen(struct fc_mount_job *job, struct fc_fs_options *options, struct fc_seen *seen)
{
	const struct fc_header *h = &job->headers.copy[job->headers.newest];
	int rc = fc_state_path(h->uuid, job->mountpoint, job->state_file);

	memset(seen, 0, sizeof(*seen));
	if (rc) {
		job->state_file[0] = '\0';
		fc_cli_say("warning: there is no place to record the generation seen: an older copy put back would go "
			   "unnoticed");
		return;
	}
	rc = fc_state_read(job->state_file, seen);
	if (rc && rc != FC_ENOENT)
		fc_cli_say("warning: %s does not tell which generation was seen last", job->state_file);
	if (rc)
		memset(seen, 0, sizeof(*seen));
	options->committed = on_committed;
	options->seen_generation = seen->generation;
	memcpy(options->seen_tag, seen->tag, FC_TAG_BYTES);
}

/* The header that the key is from is not as new as the root demands. */
static int say_older_header(const struct fc_mount_job *job)
{
	fc_cli_say("the header of %s is an older one that was put back: keys that were removed or changed since open "
		   "it again. Put back the newest one with `fusecrypt header restore`; or, to go on with this one, "
		   "mount it once with --accept-older, then look at its keys with `fusecrypt key list`",
		   job->container);
	return FC_EXIT_OLDER;
}

static int say_older(struct fc_mount_job *job, int fd, const struct fc_unlock_reply *key, const struct fc_seen *seen)
{
	char is[FC_TIME_TEXT], was[FC_TIME_TEXT];
	struct fc_fs_found found;
	struct fc_io *io = NULL;
	unsigned long long generation;

	if (fd < 0 || fc_io_file(fd, true, &io) || fc_fs_probe(io, key->master, &found)) {
		fc_cli_say("%s is older than the state this machine saw last; mount it with --accept-older to go on "
			   "from it",
			   job->container);
		fc_io_close(io);
		return FC_EXIT_OLDER;
	}
	fc_io_close(io);
	if (key->sequence < found.header_seq)
		return say_older_header(job);
	generation = found.generation;
	fc_format_time(found.time, is);
	fc_format_time(seen->when, was);
	if (found.newest_lost)
		fc_cli_say("the newest state of %s is damaged and cannot be read; an older one can: generation %llu of "
			   "%s. To go on "
			   "from that and lose what came after, mount it once with --accept-older",
			   job->container, generation, is);
	else if (generation == seen->generation)
		fc_cli_say("%s is at generation %llu of %s, and so was this machine at %s, but they differ: the "
			   "container was put back "
			   "and written elsewhere. To go on from this one, mount it once with --accept-older",
			   job->container, generation, is, was);
	else
		fc_cli_say("%s is at generation %llu of %s, but this machine saw generation %llu at %s: an older copy "
			   "was put back. "
			   "To go on from it, mount it once with --accept-older",
			   job->container, generation, is, (unsigned long long)seen->generation, was);
	return FC_EXIT_OLDER;
}

/* The header that the key is from becomes the newest, if it is not as new as the
 * root demands: so it is accepted once, and no two headers share a sequence. */
static int accept_header(struct fc_mount_job *job, struct fc_unlock_reply *key)
{
	struct fc_key_job k = { .container = job->container, .fd = job->fd, .io = job->io, .reply = key };
	int status = FC_EXIT_FAILED;

	k.headers = calloc(1, sizeof(*k.headers));
	k.header = calloc(1, sizeof(*k.header));
	k.keys = fc_keys_new(key->master);
	if (k.headers && k.header && k.keys)
		status = fc_key_begin(&k, true);
	else
		fc_cli_say("out of memory");
	if (!status && key->sequence < k.root.header_seq)
		status = fc_key_write(&k, k.keys);
	/* these stay the job's */
	k.container = NULL;
	k.reply = NULL;
	k.io = NULL;
	k.fd = -1;
	fc_key_end(&k);
	return status;
}

static int open_fs(struct fc_mount_job *job, struct fc_unlock_reply *key, struct fc_fs **fs)
{
	struct fc_fs_options options = {
		.read_only = job->read_only,
		.no_replay = job->options.no_replay,
		.accept_older = job->accept_older,
		.header_sequence = key->sequence,
		.no_threads = true, /* until it is mounted */
		.commit_seconds = job->options.commit_seconds,
		.cache_bytes = (size_t)job->options.cache_bytes,
		.log = on_log,
		.header_lock = on_header_lock,
		.arg = job,
	};
	struct fc_seen seen;
	int spare = fcntl(job->fd, F_DUPFD_CLOEXEC, 3), rc, status = 0;

	recall_seen(job, &options, &seen);
	job->later_fd = job->remountable ? fcntl(job->fd, F_DUPFD_CLOEXEC, 3) : -1;
	if (job->later_fd >= 0)
		(void)fc_io_file(job->later_fd, false, &job->later);
	if (job->accept_older && !job->read_only)
		status = accept_header(job, key);
	if (status) {
		close(spare);
		return status;
	}
	rc = fc_fs_open(job->io, key->master, &options, fs);
	job->io = NULL;
	if (rc == FC_EOLDER) {
		status = say_older(job, spare, key, &seen);
	} else if (rc) {
		fc_cli_say("%s cannot be opened: %s", job->container, fc_error_text(rc));
		status = fc_cli_exit(rc);
	}
	if (rc != FC_EOLDER && spare >= 0)
		close(spare);
	/* closing took the mark away */
	if (!status)
		fc_lock_mark(job->fd, job->read_only);
	return status;
}

static int prepare(struct fc_mount_job *job)
{
	pthread_mutex_init(&job->seen_lock, NULL);
	signal(SIGPIPE, SIG_IGN);
	umask(077);
	if (!fc_secret_init() && !fc_secret_harden())
		return 0;
	fc_cli_say("core dumps cannot be switched off: no key is taken into such a process");
	return FC_EXIT_FAILED;
}

static int open_here(struct fc_mount_job *job, struct fc_fs **fs)
{
	struct fc_unlock_request request = { .from = job->from };
	struct fc_unlock_reply *reply;
	int status = prepare(job);

	if (!status)
		status = fc_mount_check_container(job);
	if (status)
		return status;
	request.container = job->container;
	request.container_fd = job->fd;
	status = fc_cli_unlock(&request, &reply);
	if (!status)
		status = open_fs(job, reply, fs);
	if (!status && job->read_only) {
		fc_cli_say("%s cannot be written to", job->container);
		fc_fs_close(*fs);
		status = FC_EXIT_FAILED;
	}
	fc_secret_free(reply);
	return status;
}

int fc_mount_open(const char *container, const struct fc_secret_from *from, struct fc_mount_job **job,
		  struct fc_fs **fs)
{
	int status;

	*job = fc_mount_new();
	if (!*job)
		return FC_EXIT_FAILED;
	(*job)->container_arg = container;
	(*job)->from = *from;
	(*job)->foreground = true;
	status = open_here(*job, fs);
	if (status)
		fc_mount_free(*job);
	return status;
}

/* Memory that a process got by a fork is not locked in it. */
static int take_key(struct fc_mount_job *job, struct fc_unlock_reply **reply)
{
	*reply = fc_secret_alloc(sizeof(**reply));
	if (!*reply) {
		fc_cli_say("out of memory");
		return FC_EXIT_FAILED;
	}
	memcpy(*reply, job->key, sizeof(**reply));
	if (!job->foreground)
		fc_secret_free(job->key); /* the child's copy */
	job->key = NULL;
	return 0;
}

static int unlock_and_open(struct fc_mount_job *job, struct fc_fs **fs)
{
	struct fc_unlock_request request = {
		.container = job->container,
		.container_fd = job->fd,
		.from = job->from,
		.unasked = job->unasked,
	};
	struct fc_unlock_reply *reply;
	int status = job->key ? take_key(job, &reply) : fc_cli_unlock(&request, &reply);

	if (status)
		return status;
	close_others(job);
	if (!job->foreground)
		setsid();
	if (chdir("/"))
		fc_cli_say("warning: the root directory cannot be entered: %s", strerror(errno));
	status = fc_mount_check_point(job);
	if (!status)
		status = open_fs(job, reply, fs);
	fc_secret_free(reply);
	return status;
}

static int serve(struct fc_mount_job *job)
{
	struct fc_session_options options = {
		.fuse_options = job->options.fuse,
		.own_uid = job->options.own_uid,
		.own_gid = job->options.own_gid,
		.uid = job->options.uid,
		.gid = job->options.gid,
		.idle_seconds = job->options.idle_seconds,
		.debug_requests = job->trace_requests,
		.mounted = on_mounted,
		.ready = on_ready,
		.log = on_log,
		.arg = job,
	};
	int rc, status;

	keep_memory_small();
	status = unlock_and_open(job, &job->fs);
	if (status)
		return status;
	/* who waits for us may go from now on */
	prctl(PR_SET_PDEATHSIG, 0);
	options.container = job->container;
	options.mountpoint = job->mountpoint;
	options.read_only = job->read_only;
	options.writable = job->later ? on_writable : NULL;
	job->locked_fd = fc_locked_open(job->mountpoint);
	options.steward = &job->steward;
	rc = fc_session_run(job->fs, &options);
	if (rc && !job->answered && !job->mount_error)
		on_ready(job, rc, NULL);
	else if (rc && job->answered)
		on_log(job, LOG_ERR, strerror(rc));
	if (!job->answered)
		status = FC_EXIT_MOUNTPOINT;
	rc = fc_fs_close(job->fs);
	fc_io_close(job->later);
	job->later = NULL;
	if (rc) {
		on_log(job, LOG_ERR, "the last changes could not be committed");
		on_log(job, LOG_ERR, fc_error_text(rc));
	}
	return status ? status : rc ? fc_cli_exit(rc) : 0;
}

int fc_mount_serve(struct fc_mount_job *job)
{
	int status, error;

	job->null_fd = -1;
	status = prepare(job);
	if (!status)
		status = fc_mount_check(job);
	if (status)
		return status;
	/* before there is a key, or without it */
	fflush(NULL);
	error = fc_steward_start(&job->steward, job->mountpoint, job->key);
	if (error) {
		fc_cli_say("the daemon cannot be started: %s", strerror(error));
		return FC_EXIT_FAILED;
	}
	status = serve(job);
	fc_steward_end(&job->steward);
	return status;
}
