/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/holders.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* What is looked for. */
struct held {
	dev_t dev;
	const char *below; /* a directory; NULL: all of dev */
};

static bool is_below(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return !strncmp(path, directory, n) && (!path[n] || path[n] == '/' || !strcmp(path + n, " (deleted)"));
}

/* Is what this link of /proc leads to held? Without asking the daemon. */
static bool link_on(int dir, const char *name, const struct held *held)
{
	char path[PATH_MAX];
	dev_t dev = held->dev;
	struct statx st;
	ssize_t n;

	if (held->below) {
		n = readlinkat(dir, name, path, sizeof(path) - 1);
		path[n > 0 ? n : 0] = '\0';
		return is_below(path, held->below);
	}
	return !statx(dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0, &st) &&
	       makedev(st.stx_dev_major, st.stx_dev_minor) == dev;
}

static bool any_fd_on(int dir, const struct held *held)
{
	int fd = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	bool found = false;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!found && (e = readdir(d)))
		found = e->d_name[0] != '.' && link_on(fd, e->d_name, held);
	closedir(d);
	return found;
}

/* Lines of maps: range mode offset major:minor inode path */
static bool maps_on(int dir, const struct held *held)
{
	int fd = openat(dir, "maps", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;
	bool found = false;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!found && getline(&line, &room, f) > 0) {
		unsigned major_nr, minor_nr;
		const char *path = strchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		if (held->below)
			found = path && is_below(path, held->below);
		else if (sscanf(line, "%*s %*s %*s %x:%x", &major_nr, &minor_nr) == 2)
			found = makedev(major_nr, minor_nr) == held->dev;
	}
	free(line);
	fclose(f);
	return found;
}

static const char *how_held(int dir, const struct held *held)
{
	if (link_on(dir, "cwd", held))
		return "working directory";
	if (link_on(dir, "root", held))
		return "root directory";
	if (link_on(dir, "exe", held))
		return "program";
	if (any_fd_on(dir, held))
		return "open file";
	return maps_on(dir, held) ? "mapped file" : NULL;
}

static void read_name(int dir, char *name, size_t room)
{
	int fd = openat(dir, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, name, room - 1);

	if (fd >= 0)
		close(fd);
	name[n > 0 ? n : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	for (char *c = name; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	if (!*name)
		snprintf(name, room, "a process");
}

void fc_holders_each(bool (*visit)(void *arg, pid_t pid, int dir), void *arg)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	bool stop = false;

	if (!d)
		return;
	while (!stop && (e = readdir(d))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		int dir;

		if (pid <= 0 || pid == getpid())
			continue;
		dir = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			continue;
		stop = visit(arg, pid, dir);
		close(dir);
	}
	closedir(d);
}

struct finding {
	struct held held;
	struct fc_holder *out;
	size_t room, count;
};

static bool find_visit(void *arg, pid_t pid, int dir)
{
	struct finding *f = arg;
	const char *how = how_held(dir, &f->held);

	if (how) {
		f->out[f->count].pid = pid;
		f->out[f->count].how = how;
		read_name(dir, f->out[f->count].name, sizeof(f->out[f->count].name));
		f->count++;
	}
	return f->count == f->room;
}

size_t fc_holders_find(dev_t dev, struct fc_holder *out, size_t room)
{
	struct finding f = { .held.dev = dev, .out = out, .room = room };

	if (room)
		fc_holders_each(find_visit, &f);
	return f.count;
}

size_t fc_holders_find_below(const char *directory, struct fc_holder *out, size_t room)
{
	struct finding f = { .held.below = directory, .out = out, .room = room };

	if (room)
		fc_holders_each(find_visit, &f);
	return f.count;
}

void fc_holders_text(const struct fc_holder *holders, size_t n, char *text, size_t room)
{
	size_t have = 0;

	*text = '\0';
	for (size_t i = 0; i < n && have < room; i++)
		have += (size_t)snprintf(text + have, room - have, "%s%s (pid %d, %s)", i ? ", " : "", holders[i].name,
					 (int)holders[i].pid, holders[i].how);
}
