/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "external.h"

static char *in_folder(const char *folder, size_t bytes, const char *program)
{
	struct stat st;
	char *path = fc_bench_format("%.*s/%s", (int)bytes, folder, program);
	if (path[0] == '/' && !access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode))
		return path;
	free(path);
	return NULL;
}

char *fc_external_find(const char *dir, const char *program)
{
	const char *env = getenv("PATH");
	char *found = dir ? in_folder(dir, strlen(dir), program) : NULL;
	if (found)
		return found;
	/* bonnie++ lies in /usr/sbin, which a user's PATH need not have. */
	char *path = fc_bench_format("%s:/usr/sbin:/sbin", env ? env : "/usr/bin:/bin");
	for (char *p = path; *p && !found; p += strspn(p, ":")) {
		size_t n = strcspn(p, ":");
		found = in_folder(p, n, program);
		p += n;
	}
	free(path);
	return found;
}

int fc_external_need(const char *programs, const char *packages, char **reason, char **install)
{
	char *words = fc_bench_copy(programs), *save = NULL, *missing = NULL;
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		char *path = fc_external_find(NULL, w);
		if (!path) {
			char *more = fc_bench_format("%s%s%s", missing ? missing : "", missing ? ", " : "", w);
			free(missing);
			missing = more;
		}
		free(path);
	}
	free(words);
	if (!missing)
		return 0;
	*reason = fc_bench_format("%s not found", missing);
	*install = fc_bench_format("apt-get install %s", packages);
	free(missing);
	return -1;
}

static char *content(int fd)
{
	struct stat st;
	size_t size = fstat(fd, &st) ? 0 : (size_t)st.st_size, got = 0;
	char *text = fc_bench_alloc(size + 1);
	ssize_t n;
	while (got < size && (n = pread(fd, text + got, size - got, (off_t)got)) > 0)
		got += (size_t)n;
	text[got] = '\0';
	return text;
}

/* The last line that is not empty, without what would spoil a terminal. */
static char *last_words(int fd)
{
	char *text = content(fd), *end = text + strlen(text);
	while (end > text && (unsigned char)end[-1] <= ' ')
		*--end = '\0';
	char *line = strrchr(text, '\n');
	char *out = fc_bench_format("%.300s", line ? line + 1 : text);
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
	free(text);
	return out;
}

__attribute__((noreturn)) static void become(const char *path, const char *const argv[], int out, int err)
{
	setenv("LC_ALL", "C", 1);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	execv(path, (char *const *)argv);
	fprintf(stderr, "%s\n", strerror(errno));
	_exit(127);
}

static int judge(struct bench_step *step, const char *program, int status, int out, int err)
{
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	char *words = last_words(err);
	if (!*words) {
		free(words);
		words = last_words(out);
	}
	if (WIFSIGNALED(status))
		fc_step_fail(step, "%s was ended by signal %d: %s", program, WTERMSIG(status), words);
	else
		fc_step_fail(step, "%s ended with status %d: %s", program, WEXITSTATUS(status), words);
	free(words);
	return -1;
}

int fc_external_run(struct bench_step *step, const char *const argv[], char **output)
{
	int status = 0, result = -1;
	char *path = argv[0][0] == '/' ? fc_bench_copy(argv[0]) : fc_external_find(NULL, argv[0]);
	if (!path)
		return fc_step_fail(step, "%s: not found", argv[0]);
	/* In memory, so that what a program says does not count as disk work. */
	int out = memfd_create("output", MFD_CLOEXEC), err = memfd_create("errors", MFD_CLOEXEC);
	fflush(NULL);
	pid_t pid = out < 0 || err < 0 ? -1 : fork();
	if (!pid)
		become(path, argv, out, err);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fc_step_fail_errno(step, "%s", argv[0]);
	else
		result = judge(step, argv[0], status, out, err);
	if (!result && output)
		*output = content(out);
	if (out >= 0)
		close(out);
	if (err >= 0)
		close(err);
	free(path);
	return result;
}
