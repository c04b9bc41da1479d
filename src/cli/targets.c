/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "store/header.h"

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* One that may not be read may well be the right one. */
static bool is_its_container(const struct fc_protected *entry)
{
	struct fc_headers *h = malloc(sizeof(*h));
	int fd = open(entry->container, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct fc_io *io = NULL;
	bool is = true;

	if (h && fd >= 0 && !fc_io_file(fd, true, &io))
		is = !fc_headers_load(io, h) && !memcmp(h->copy[h->newest].uuid, entry->uuid, FC_UUID_BYTES);
	else if (fd >= 0)
		is = false;
	if (io)
		fc_io_close(io);
	else if (fd >= 0)
		close(fd);
	free(h);
	return is;
}

enum fc_target_state fc_target_state(const struct fc_protected *entry, const struct fc_mounts *mounts,
				     const struct fc_mount **m)
{
	struct stat st;

	*m = fc_mounts_at(mounts, entry->directory);
	if (*m && fc_mount_is_ours(*m) && fc_mount_is_dead(*m))
		return FC_TARGET_DEAD;
	if (*m)
		return fc_mount_is_ours(*m) && same_file((*m)->source, entry->container) ? FC_TARGET_UNLOCKED
											 : FC_TARGET_OTHER_MOUNT;
	if (stat(entry->directory, &st) || !S_ISDIR(st.st_mode))
		return FC_TARGET_NO_DIRECTORY;
	if (stat(entry->container, &st))
		return errno == ENOENT || errno == ENOTDIR ? FC_TARGET_NO_CONTAINER : FC_TARGET_LOCKED;
	*m = fc_mounts_of(mounts, entry->container);
	if (*m && !fc_mount_is_dead(*m))
		return FC_TARGET_ELSEWHERE;
	*m = NULL;
	return S_ISREG(st.st_mode) && is_its_container(entry) ? FC_TARGET_LOCKED : FC_TARGET_OTHER_CONTAINER;
}

const char *fc_target_word(enum fc_target_state state)
{
	static const char *const words[] = {
		[FC_TARGET_LOCKED] = "locked",
		[FC_TARGET_UNLOCKED] = "unlocked",
		[FC_TARGET_DEAD] = "dead",
		[FC_TARGET_ELSEWHERE] = "elsewhere",
		[FC_TARGET_OTHER_MOUNT] = "other-mount",
		[FC_TARGET_NO_DIRECTORY] = "no-directory",
		[FC_TARGET_NO_CONTAINER] = "no-container",
		[FC_TARGET_OTHER_CONTAINER] = "other-container",
	};

	return words[state];
}

/* Also one that is not there any more is found by its name. */
static const struct fc_protected *find(const struct fc_registry *registry, const char *arg)
{
	char *path = fc_path_resolve(arg);
	const struct fc_protected *entry = fc_registry_find(registry, path ? path : arg);

	if (!entry)
		fc_cli_say("%s is not a protected directory: `fusecrypt list` shows which are", arg);
	free(path);
	return entry;
}

int fc_targets_each(enum fc_which_targets which, char **args, int n,
		    int (*act)(const struct fc_protected *entry, void *arg), void *arg)
{
	struct fc_registry registry;
	int status = 0, one, rc = fc_registry_read(&registry);

	if (rc) {
		fc_cli_say("the registry of protected directories cannot be read: %s", fc_error_text(rc));
		status = FC_EXIT_FAILED;
	}
	for (size_t i = 0; !rc && which != FC_TARGETS_NAMED && status != FC_EXIT_INTERRUPTED && i < registry.count;
	     i++) {
		if (which == FC_TARGETS_OWN && registry.list[i].of_machine && geteuid())
			continue; /* perhaps another user's home */
		one = act(&registry.list[i], arg);
		status = status && one != FC_EXIT_INTERRUPTED ? status : one;
	}
	for (int i = 0; !rc && which == FC_TARGETS_NAMED && status != FC_EXIT_INTERRUPTED && i < n; i++) {
		const struct fc_protected *entry = find(&registry, args[i]);

		one = entry ? act(entry, arg) : FC_EXIT_FAILED;
		status = status && one != FC_EXIT_INTERRUPTED ? status : one;
	}
	fc_registry_free(&registry);
	return status;
}
