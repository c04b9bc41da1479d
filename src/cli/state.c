/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/places.h"

#define OF_MACHINE "/var/lib/fusecrypt"
#define TEXT_MAX 256

/* Of what root mounts for others there is one record, with HOME (a shell) and without (a login). */
static bool of_machine(const char *name, const char *mountpoint)
{
	char path[sizeof(OF_MACHINE) + FC_UUID_TEXT];
	struct stat st;

	snprintf(path, sizeof(path), OF_MACHINE "/%s", name);
	return !geteuid() && (!access(path, F_OK) || (mountpoint && !lstat(mountpoint, &st) && st.st_uid));
}

int fc_state_path(const uint8_t uuid[FC_UUID_BYTES], const char *mountpoint, char *path)
{
	char dir[PATH_MAX], name[FC_UUID_TEXT];
	int rc;

	fc_format_uuid(uuid, name);
	/* writing inside the mount would be a request to the mount itself */
	if (of_machine(name, mountpoint) || !fc_place_of_user("XDG_STATE_HOME", ".local/state", dir) ||
	    (mountpoint && fc_place_inside(dir, mountpoint))) {
		if (geteuid())
			return FC_ENOENT;
		snprintf(dir, sizeof(dir), OF_MACHINE);
	}
	rc = fc_place_make(dir, 0700);
	if (rc)
		return rc;
	return snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX ? 0 : FC_ENAMETOOLONG;
}

/* The one way to write it: room is TEXT_MAX. Returns its length. */
static int format_seen(const struct fc_seen *seen, char *text)
{
	char hex[2 * FC_TAG_BYTES + 1];

	for (unsigned i = 0; i < FC_TAG_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", seen->tag[i]);
	return snprintf(text, TEXT_MAX, "fusecrypt-seen 1\ngeneration %" PRIu64 "\ntag %s\n", seen->generation, hex);
}

static int parse_seen(const char *text, struct fc_seen *seen)
{
	char hex[2 * FC_TAG_BYTES + 1], again[TEXT_MAX];

	if (sscanf(text, "fusecrypt-seen 1 generation %" SCNu64 " tag %32[0-9a-f]", &seen->generation, hex) != 2 ||
	    strlen(hex) != 2 * FC_TAG_BYTES)
		return FC_ECORRUPT;
	for (unsigned i = 0; i < FC_TAG_BYTES; i++) {
		char byte[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		seen->tag[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	format_seen(seen, again);
	return strcmp(again, text) ? FC_ECORRUPT : 0;
}

int fc_state_read(const char *path, struct fc_seen *seen)
{
	char text[TEXT_MAX];
	struct stat st;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	memset(seen, 0, sizeof(*seen));
	if (fd < 0)
		return errno == ENOENT ? FC_ENOENT : FC_EIO;
	n = read(fd, text, sizeof(text) - 1);
	if (n >= 0 && !fstat(fd, &st))
		seen->when = (uint64_t)st.st_mtime;
	close(fd);
	if (n < 0)
		return FC_EIO;
	text[n] = '\0';
	return parse_seen(text, seen);
}

static int write_file(const char *path, const char *text, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), err = 0;
	ssize_t w;

	if (fd < 0)
		return errno;
	w = write(fd, text, n);
	if (w != (ssize_t)n)
		err = w < 0 ? errno : ENOSPC;
	if (close(fd) && !err)
		err = errno;
	return err;
}

/* Not synced: after a power cut the file may tell of an earlier state, which
 * only makes the next comparison milder. */
int fc_state_write(const char *path, const struct fc_seen *seen)
{
	char text[TEXT_MAX], fresh[PATH_MAX + 8];
	int n = format_seen(seen, text), err;

	snprintf(fresh, sizeof(fresh), "%s.new", path);
	err = write_file(fresh, text, (size_t)n);
	if (!err && rename(fresh, path))
		err = errno;
	if (err)
		unlink(fresh);
	return err ? fc_error_from_errno(err) : 0;
}
