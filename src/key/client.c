/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "key/client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "secret/secret.h"

#define HELPER "fusecrypt-unlock"
#define ARGS_MAX (48 + 8 * FC_SLOTS) /* a secret has four options at the most */

bool fc_secret_given(const struct fc_secret_from *from)
{
	return from->passphrase_file || from->passphrase_fd >= 0 || from->key_file || from->recovery_file;
}

bool fc_program_find(char path[PATH_MAX], const char *name, const char *folder, const char *installed)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash = NULL;

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
	}
	for (size_t i = 0; slash && i < 2; i++) {
		slash[1] = '\0';
		n = i ? snprintf(path, PATH_MAX, "%s../%s/%s", self, folder, name)
		      : snprintf(path, PATH_MAX, "%s%s", self, name);
		if (n < PATH_MAX && !access(path, X_OK))
			return true;
	}
	snprintf(path, PATH_MAX, "%s/%s", installed, name);
	return !access(path, X_OK);
}

static bool find_helper(char path[PATH_MAX])
{
	return fc_program_find(path, HELPER, "tools", FC_LIBEXECDIR);
}

struct arguments {
	const char *v[ARGS_MAX];
	size_t n;
	char reply_fd[16], container_fd[16], passphrase_fd[16], fresh_fd[16], slots[16], kind[16];
	char secret_fd[FC_SLOTS][16];
};

static void arg(struct arguments *a, const char *name, const char *value)
{
	if (!value)
		return;
	a->v[a->n++] = name;
	a->v[a->n++] = value;
}

/* None for a negative one. */
static void arg_number(struct arguments *a, const char *name, char text[16], int v)
{
	if (v < 0)
		return;
	snprintf(text, 16, "%d", v);
	arg(a, name, text);
}

/* Of the slot to be made beside opening. */
static void wrap_args(struct arguments *a, const struct fc_unlock_request *r)
{
	arg(a, "--kdf", r->kdf);
	if (r->again)
		a->v[a->n++] = "--again";
	arg_number(a, "--new-kind", a->kind, r->fresh_kind ? (int)r->fresh_kind : -1);
	arg(a, "--new-passphrase-file", r->fresh.passphrase_file);
	arg_number(a, "--new-passphrase-fd", a->fresh_fd, r->fresh.passphrase_fd);
	arg(a, "--new-key-file", r->fresh.key_file);
	arg(a, "--new-recovery-code-file", r->fresh.recovery_file);
}

static void build_args(struct arguments *a, const char *helper, const struct fc_unlock_request *r, int reply_fd)
{
	a->n = 0;
	a->v[a->n++] = helper;
	a->v[a->n++] = r->create ? "create" : r->wrap ? "wrap" : r->rekey ? "rekey" : "open";
	arg_number(a, "--reply-fd", a->reply_fd, reply_fd);
	if (!r->create)
		arg_number(a, "--container-fd", a->container_fd, r->container_fd);
	arg(a, "--container", r->container);
	if (r->create)
		arg(a, "--kdf", r->kdf);
	arg_number(a, "--slots", a->slots, r->slots ? (int)r->slots : -1);
	if (r->unasked)
		a->v[a->n++] = "--unasked";
	if (r->wrap)
		wrap_args(a, r);
	arg(a, "--passphrase-file", r->from.passphrase_file);
	arg_number(a, "--passphrase-fd", a->passphrase_fd, r->from.passphrase_fd);
	arg(a, "--key-file", r->from.key_file);
	arg(a, "--recovery-code-file", r->from.recovery_file);
	for (unsigned i = 0; r->rekey && i < r->secrets && i < FC_SLOTS; i++) {
		arg(a, "--passphrase-file", r->secret[i].passphrase_file);
		arg_number(a, "--passphrase-fd", a->secret_fd[i], r->secret[i].passphrase_fd);
		arg(a, "--key-file", r->secret[i].key_file);
		arg(a, "--recovery-code-file", r->secret[i].recovery_file);
	}
	a->v[a->n] = NULL;
}

static void keep_open(int fd)
{
	if (fd >= 0)
		fcntl(fd, F_SETFD, fcntl(fd, F_GETFD) & ~FD_CLOEXEC);
}

/* In the child: only what the helper needs stays open. */
static void exec_helper(const char *helper, struct arguments *a, const struct fc_unlock_request *r, int reply_fd,
			const sigset_t *mask)
{
	union {
		const char *const *in;
		char *const *out;
	} argv = { a->v };

	keep_open(reply_fd);
	keep_open(r->from.passphrase_fd);
	for (unsigned i = 0; r->rekey && i < r->secrets && i < FC_SLOTS; i++)
		keep_open(r->secret[i].passphrase_fd);
	if (r->wrap)
		keep_open(r->fresh.passphrase_fd);
	if (!r->create)
		keep_open(r->container_fd);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execv(helper, argv.out);
	_exit(127);
}

/* Waits for the one packet; passes signals on. True when a whole one came. */
static bool receive(int sock, int signals, pid_t pid, struct fc_unlock_reply *reply)
{
	struct pollfd p[2] = { { sock, POLLIN, 0 }, { signals, POLLIN, 0 } };
	struct signalfd_siginfo info;

	for (;;) {
		ssize_t n;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return false;
		if (p[1].revents & POLLIN && read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
			kill(pid, (int)info.ssi_signo);
		if (!(p[0].revents & (POLLIN | POLLHUP | POLLERR)))
			continue;
		n = recv(sock, reply, sizeof(*reply), MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		return n == (ssize_t)sizeof(*reply) && reply->protocol == FC_UNLOCK_PROTOCOL &&
		       reply->bytes == sizeof(*reply) && reply->slot_count <= FC_NEW_SLOTS_MAX && reply->error <= 0;
	}
}

static int wait_helper(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

/* No reply came: why, from how the helper ended. */
static int judge_end(int status, const char **why)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (status == -1) {
		*why = "fusecrypt-unlock got lost";
		return FC_EIO;
	}
	if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT ||
	    (WIFEXITED(status) && WEXITSTATUS(status) == 130))
		return FC_EINTERRUPTED;
	if (sig == SIGKILL)
		*why = "fusecrypt-unlock was killed: perhaps there is not enough memory for what the passphrase costs";
	else if (sig)
		*why = "fusecrypt-unlock crashed";
	else if (WEXITSTATUS(status) == 127)
		*why = "fusecrypt-unlock could not be executed";
	else
		*why = "fusecrypt-unlock did not answer: is it of another version?";
	return FC_EIO;
}

/* It did not come to giving the passphrase, and told why. */
static int judge_ask(int status, const char **why)
{
	if (status != -1 && WIFEXITED(status) && (WEXITSTATUS(status) == 1 || WEXITSTATUS(status) == 3))
		return WEXITSTATUS(status) == 3 ? FC_EBADKEY : FC_EIO;
	return judge_end(status, why);
}

static int run_helper(const char *helper, const struct fc_unlock_request *r, int sock[2], struct fc_unlock_reply *reply,
		      const char **why)
{
	struct arguments a;
	sigset_t set, old;
	bool answered;
	int signals, status, rc;
	pid_t pid;

	build_args(&a, helper, r, sock[1]);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &set, &old);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	pid = signals < 0 ? -1 : fork();
	if (pid == 0)
		exec_helper(helper, &a, r, sock[1], &old);
	close(sock[1]);
	sock[1] = -1;
	if (pid < 0) {
		*why = "a process for fusecrypt-unlock could not be made";
		rc = FC_ENOMEM;
	} else {
		answered = receive(sock[0], signals, pid, reply);
		status = wait_helper(pid);
		rc = answered ? reply->error : judge_end(status, why);
	}
	if (signals >= 0)
		close(signals);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return rc;
}

int fc_unlock_run(const struct fc_unlock_request *request, struct fc_unlock_reply **reply, const char **why)
{
	char helper[PATH_MAX];
	int sock[2], rc;

	*reply = NULL;
	*why = NULL;
	if (!find_helper(helper)) {
		*why = "fusecrypt-unlock was not found, neither beside this program nor in " FC_LIBEXECDIR;
		return FC_ENOENT;
	}
	*reply = fc_secret_alloc(sizeof(**reply));
	if (!*reply || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock)) {
		fc_secret_free(*reply);
		*reply = NULL;
		*why = "out of memory";
		return FC_ENOMEM;
	}
	rc = run_helper(helper, request, sock, *reply, why);
	close(sock[0]);
	if (rc) {
		fc_secret_free(*reply);
		*reply = NULL;
	}
	return rc;
}

/* ---- one for several ------------------------------------------------------------- */

static void exec_ask(const char *helper, const struct fc_secret_from *from, const char *what, int out)
{
	struct arguments a = { .n = 0 };
	union {
		const char *const *in;
		char *const *out;
	} argv = { a.v };

	a.v[a.n++] = helper;
	a.v[a.n++] = "ask";
	arg_number(&a, "--reply-fd", a.reply_fd, out);
	arg(&a, "--container", what);
	arg(&a, "--passphrase-file", from->passphrase_file);
	arg_number(&a, "--passphrase-fd", a.passphrase_fd, from->passphrase_fd);
	a.v[a.n] = NULL;
	keep_open(out);
	keep_open(from->passphrase_fd);
	execv(helper, argv.out);
	_exit(127);
}

int fc_unlock_ask(const struct fc_secret_from *from, const char *what, int *fd, pid_t *pid, const char **why)
{
	struct pollfd wait = { .events = POLLIN };
	char helper[PATH_MAX];
	int p[2];

	*why = NULL;
	if (!find_helper(helper)) {
		*why = "fusecrypt-unlock was not found, neither beside this program nor in " FC_LIBEXECDIR;
		return FC_ENOENT;
	}
	if (pipe2(p, O_CLOEXEC)) {
		*why = "a process for fusecrypt-unlock could not be made";
		return FC_ENOMEM;
	}
	*pid = fork();
	if (*pid == 0)
		exec_ask(helper, from, what, p[1]);
	close(p[1]);
	if (*pid < 0) {
		close(p[0]);
		*why = "a process for fusecrypt-unlock could not be made";
		return FC_ENOMEM;
	}
	wait.fd = p[0];
	while (poll(&wait, 1, -1) < 0 && errno == EINTR)
		;
	if (wait.revents & POLLIN) {
		*fd = p[0];
		return 0;
	}
	close(p[0]);
	return judge_ask(wait_helper(*pid), why);
}
