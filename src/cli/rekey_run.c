/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rekey under way: through the daemon that has the container, or in this process. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/lock.h"
#include "cli/rekey.h"
#include "cli/state.h"
#include "fusecrypt/container.h"

#define STEP_MS 100

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

static void catch_signals(void)
{
	const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}

/* ---- who has it ----------------------------------------------------------------------- */

static int say_in_use(const struct fc_rekey_job *job, const char *why)
{
	pid_t pid = fc_lock_holder(job->key.fd);

	fc_cli_say("%s is in use by pid %d, %s: nothing was changed", job->key.container, (int)pid, why);
	return FC_EXIT_IN_USE;
}

int fc_rekey_find(struct fc_rekey_job *job)
{
	struct fc_ioc_status status;
	int rc;

	if (fc_mounts_read("/proc/self/mountinfo", &job->mounts))
		job->mounts.count = 0;
	job->m = fc_mounts_of(&job->mounts, job->key.container);
	if (job->m && fc_mount_is_dead(job->m))
		job->m = NULL;
	if (job->m && fc_mount_ask(job->m, FC_IOC_STATUS, &status))
		return say_in_use(job, "which does not answer");
	if (job->m)
		return !status.read_only ? 0 : say_in_use(job, "which may only read it: unmount it first");
	rc = fc_lock_take(job->key.fd, false);
	if (rc == FC_EINUSE)
		return say_in_use(job, "and not mounted where it could be asked");
	if (rc) {
		fc_cli_say("%s cannot be locked: the file system it lies on has no locks", job->path);
		return FC_EXIT_FAILED;
	}
	fc_lock_mark(job->key.fd, false);
	return 0;
}

/* ---- progress --------------------------------------------------------------------------- */

struct progress {
	bool going, terminal, shown;
	int error;
	uint64_t bytes, total;
};

static void show(struct progress *p)
{
	if (!p->terminal)
		return;
	p->shown = true;
	fprintf(stderr, "\r%3u %% of %.1f MiB sealed anew",
		p->total && p->bytes < p->total ? (unsigned)(p->bytes * 100 / p->total) : 100u,
		(double)p->total / (1 << 20));
	fflush(stderr);
}

static void hide(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}

static int verdict(const struct fc_rekey_job *job, struct progress *p)
{
	hide(p);
	if (p->error == FC_EFORGED) {
		fc_cli_say("%s: something in it cannot be opened, and keeps the old master key in use; see the log, or "
			   "`fusecrypt check`; when that is repaired, it goes on with the next mount or rekey",
			   job->path);
		return FC_EXIT_DAMAGED;
	}
	if (p->error) {
		fc_cli_say("%s: sealing everything anew does not go on: %s; the next mount or rekey tries again",
			   job->path, fc_error_text(p->error));
		return fc_cli_exit(p->error);
	}
	if (p->going) {
		fc_cli_say(
			"interrupted: %s; until it has ended, the old master key still opens what is not sealed anew",
			job->m ? "the daemon goes on with it" : "the next mount or rekey goes on");
		return FC_EXIT_INTERRUPTED;
	}
	return FC_EXIT_DONE;
}

static void pause_a_step(void)
{
	const struct timespec step = { 0, STEP_MS * 1000000 };

	nanosleep(&step, NULL);
}

/* ---- mounted ------------------------------------------------------------------------------ */

static int lost(const struct fc_rekey_job *job, int err)
{
	fc_cli_say("%s does not answer: %s. The next mount or rekey goes on", job->m->point, strerror(err));
	return FC_EXIT_FAILED;
}

int fc_rekey_mounted(struct fc_rekey_job *job, const uint8_t *master, const struct fc_keys *old)
{
	struct progress p = { .terminal = isatty(STDERR_FILENO) };
	struct fc_ioc_rekey rekey = { { 0 } };
	struct fc_ioc_status status;
	int err;

	_Static_assert(sizeof(rekey.sealed) == FC_NEXT_KEY_BYTES, "the ioctl carries a sealed key");
	/* the daemon may have gone over to it already, and the old key may be needed no more */
	if (fc_keys_seal_next(old, master, rekey.sealed)) {
		fc_cli_say("out of memory");
		return FC_EXIT_FAILED;
	}
	catch_signals();
	err = fc_mount_command(job->m, FC_IOC_REKEY, &rekey, sizeof(rekey));
	if (err) {
		fc_cli_say("the daemon of %s does not go over to the new master key: %s. The header has it already: "
			   "unmount "
			   "and mount again to go on",
			   job->m->point, strerror(err));
		return err == ENOSPC ? FC_EXIT_NO_SPACE : FC_EXIT_FAILED;
	}
	for (;;) {
		err = fc_mount_ask(job->m, FC_IOC_STATUS, &status);
		if (err) {
			hide(&p);
			return lost(job, err);
		}
		p.going = status.rekeying;
		p.error = p.going ? status.rekey_error : 0;
		p.bytes = status.rekey_bytes;
		p.total = status.rekey_total;
		if (!p.going || (p.error && p.error != FC_EAGAIN) || interrupted)
			return verdict(job, &p);
		show(&p);
		pause_a_step();
	}
}

/* ---- not mounted ---------------------------------------------------------------------------- */

struct alone {
	struct fc_rekey_job *job;
	char state_file[PATH_MAX];
};

static void on_committed(void *arg, uint64_t generation, const uint8_t tag[FC_TAG_BYTES])
{
	struct alone *a = arg;
	struct fc_seen seen = { .generation = generation };

	memcpy(seen.tag, tag, FC_TAG_BYTES);
	if (*a->state_file && fc_state_write(a->state_file, &seen))
		fc_cli_say(
			"warning: the generation seen could not be recorded: an older copy put back may go unnoticed");
}

static int on_header_lock(void *arg, bool take)
{
	struct alone *a = arg;

	if (take)
		return fc_lock_header(a->job->key.fd, false);
	fc_unlock_header(a->job->key.fd);
	return 0;
}

static void on_log(void *arg, int priority, const char *text)
{
	const struct alone *a = arg;

	if (priority <= 4)
		fc_cli_say("%s: %s", a->job->key.container, text);
}

static int open_fs(struct alone *a, const uint8_t *master, struct fc_fs **fs)
{
	struct fc_fs_options options = {
		.header_sequence = a->job->key.header->sequence,
		.committed = on_committed,
		.header_lock = on_header_lock,
		.log = on_log,
		.arg = a,
	};
	struct fc_io *io;
	struct fc_seen seen;
	int fd = fcntl(a->job->key.fd, F_DUPFD_CLOEXEC, 3), rc;

	if (fc_state_path(a->job->key.header->uuid, NULL, a->state_file))
		*a->state_file = '\0';
	if (*a->state_file && !fc_state_read(a->state_file, &seen)) {
		options.seen_generation = seen.generation;
		memcpy(options.seen_tag, seen.tag, FC_TAG_BYTES);
	}
	rc = fd < 0 ? FC_ENOMEM : fc_io_file(fd, false, &io);
	if (rc)
		return rc;
	return fc_fs_open(io, master, &options, fs);
}

static int say_not_opened(const struct fc_rekey_job *job, int rc)
{
	if (rc == FC_EOLDER)
		fc_cli_say(
			"%s is older than the state this machine saw last: mount it once with --accept-older to go on "
			"from it; then rekey it again",
			job->path);
	else
		fc_cli_say("%s cannot be opened: %s", job->path, fc_error_text(rc));
	return fc_cli_exit(rc);
}

int fc_rekey_alone(struct fc_rekey_job *job, const uint8_t *master)
{
	struct progress p = { .terminal = isatty(STDERR_FILENO), .going = true };
	struct alone a = { .job = job };
	struct fc_fs_stat st;
	struct fc_fs *fs;
	int rc = open_fs(&a, master, &fs), status;

	if (rc)
		return say_not_opened(job, rc);
	catch_signals();
	while (!interrupted && !fc_fs_statfs(fs, &st)) {
		p.going = st.rekeying;
		p.error = p.going ? st.failed ? FC_EIO : st.rekey_error : 0;
		p.bytes = st.rekey_bytes;
		p.total = st.rekey_total;
		if (!p.going || (p.error && p.error != FC_EAGAIN))
			break;
		show(&p);
		pause_a_step();
	}
	rc = fc_fs_close(fs);
	status = verdict(job, &p);
	if (rc && !status)
		return say_not_opened(job, rc);
	return status;
}
