/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/places.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/mounts.h"

static const char *home(void)
{
	const char *dir = getenv("HOME");
	struct passwd *pw;

	if (dir && dir[0] == '/')
		return dir;
	if (geteuid() == 0)
		return NULL;
	pw = getpwuid(geteuid());
	return pw && pw->pw_dir && pw->pw_dir[0] == '/' ? pw->pw_dir : NULL;
}

bool fc_place_of_user(const char *variable, const char *below_home, char *dir)
{
	const char *base = getenv(variable);
	int n;

	if (base && base[0] == '/') {
		n = snprintf(dir, PATH_MAX, "%s/fusecrypt", base);
	} else {
		base = home();
		n = base ? snprintf(dir, PATH_MAX, "%s/%s/fusecrypt", base, below_home) : -1;
	}
	return n > 0 && n < PATH_MAX;
}

int fc_place_make(const char *dir, mode_t mode)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		return FC_ENAMETOOLONG;
	for (char *slash = path + 1; slash; *slash++ = '/') {
		slash = strchr(slash, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(path, mode) && errno != EEXIST && access(path, F_OK))
			return fc_error_from_errno(errno);
		if (!slash)
			break;
	}
	return 0;
}

bool fc_place_inside(const char *dir, const char *outer)
{
	char path[PATH_MAX], *real, *slash;
	bool inside = false;

	snprintf(path, sizeof(path), "%s", dir);
	while (!(real = realpath(path, NULL)) && (slash = strrchr(path, '/')) && slash != path)
		*slash = '\0';
	if (real)
		inside = fc_path_is_below(real, outer);
	free(real);
	return inside;
}
