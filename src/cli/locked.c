/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/locked.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/mount.h"

#define FRESH_NAME FC_MARKER_NAME ".new"
#define MODE_LOCKED 0500
#define MODE_OPEN 0700

static int open_directory(const char *directory)
{
	return open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int open_error(void)
{
	return errno == ELOOP ? FC_ENOTDIR : fc_error_from_errno(errno);
}

/* ---- the flag -------------------------------------------------------------------- */

/* unsigned, as the kernel has it, though the number says long */
static bool is_fixed(int fd)
{
	unsigned flags;

	return !ioctl(fd, FS_IOC_GETFLAGS, &flags) && (flags & FS_IMMUTABLE_FL);
}

static int set_fixed(int fd, bool on)
{
	unsigned flags;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags))
		return on ? FC_ENOTSUP : 0;
	if (!(flags & FS_IMMUTABLE_FL) == !on)
		return 0;
	flags ^= FS_IMMUTABLE_FL;
	return ioctl(fd, FS_IOC_SETFLAGS, &flags) ? fc_error_from_errno(errno) : 0;
}

bool fc_locked_is_fixed(const char *directory)
{
	int fd = open_directory(directory);
	bool fixed = fd >= 0 && is_fixed(fd);

	if (fd >= 0)
		close(fd);
	return fixed;
}

/* ---- the marker ------------------------------------------------------------------ */

/* Of the one that is being written, a beginning is enough: a crash leaves that. */
bool fc_locked_is_marker(int dir, const char *name)
{
	bool fresh = !strcmp(name, FRESH_NAME), is = false;
	const size_t want = strlen(FC_MARKER_LINE);
	char text[sizeof(FC_MARKER_LINE)];
	struct stat st;
	ssize_t n;
	int fd;

	if (!fresh && strcmp(name, FC_MARKER_NAME))
		return false;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		n = read(fd, text, want);
		is = n >= 0 && (fresh || n == (ssize_t)want) && !memcmp(text, FC_MARKER_LINE, (size_t)n);
	}
	close(fd);
	return is;
}

bool fc_locked_is_marked(const char *directory)
{
	int fd = open_directory(directory);
	bool marked = fd >= 0 && fc_locked_is_marker(fd, FC_MARKER_NAME);

	if (fd >= 0)
		close(fd);
	return marked;
}

/* 0 or FC_ENOTEMPTY, FC_E*. */
static int check_empty(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		rc = fc_error_from_errno(errno);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (!rc && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && !fc_locked_is_marker(dir, e->d_name))
			rc = FC_ENOTEMPTY;
	closedir(d);
	return rc;
}

/* As one word of a shell. */
static void print_quoted(FILE *f, const char *text)
{
	fputc('\'', f);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", f);
		fputc(*text, f);
	}
	fputc('\'', f);
}

/* Closes fd. */
static int write_text(int fd, const char *directory, const char *container)
{
	FILE *f = fdopen(fd, "w");
	int rc = 0;

	if (!f) {
		close(fd);
		return FC_ENOMEM;
	}
	fprintf(f,
		FC_MARKER_LINE
		"\nWhat belongs here is encrypted, in\n\n    %s\n\nTo unlock it:\n\n    fusecrypt unlock ",
		container);
	print_quoted(f, directory);
	fputs("\n\nUntil then nothing can be written here, so that nothing is stored unencrypted by mistake.\n", f);
	if (fflush(f) || fsync(fd))
		rc = fc_error_from_errno(errno);
	if (fclose(f) && !rc)
		rc = fc_error_from_errno(errno);
	return rc;
}

static int write_marker(int dir, const char *directory, const char *container)
{
	struct stat st;
	int fd, rc;

	if (fstat(dir, &st))
		return fc_error_from_errno(errno);
	if (unlinkat(dir, FRESH_NAME, 0) && errno != ENOENT)
		return fc_error_from_errno(errno);
	fd = openat(dir, FRESH_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444);
	if (fd < 0)
		return fc_error_from_errno(errno);
	if (fchmod(fd, 0444) || (!geteuid() && fchown(fd, st.st_uid, st.st_gid))) {
		rc = fc_error_from_errno(errno);
		close(fd);
	} else {
		rc = write_text(fd, directory, container);
	}
	if (!rc && renameat(dir, FRESH_NAME, dir, FC_MARKER_NAME))
		rc = fc_error_from_errno(errno);
	if (rc)
		unlinkat(dir, FRESH_NAME, 0);
	return rc;
}

/* ---- locking and unlocking -------------------------------------------------------- */

static int mark(int fd, const char *directory, const char *container, bool fixed)
{
	struct stat st;
	int rc = check_empty(fd), locked;

	if (!rc)
		rc = set_fixed(fd, false);
	if (!rc && (fstat(fd, &st) || fchmod(fd, MODE_OPEN)))
		rc = fc_error_from_errno(errno);
	if (rc)
		return rc;
	rc = write_marker(fd, directory, container);
	locked = fchmod(fd, MODE_LOCKED) ? fc_error_from_errno(errno) : 0;
	if (!rc && !locked && !geteuid() && (fixed || !st.st_uid))
		set_fixed(fd, true);
	if (!rc && !locked && fsync(fd))
		rc = fc_error_from_errno(errno);
	return rc ? rc : locked;
}

int fc_locked_mark(const char *directory, const char *container, bool fixed)
{
	int fd = open_directory(directory), rc = 0;
	struct statx stx;

	if (fd < 0)
		return open_error();
	/* unlocked by another process meanwhile: what is seen here is inside */
	if (!statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &stx) && stx.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		rc = FC_EINUSE;
	if (!rc)
		rc = mark(fd, directory, container, fixed);
	close(fd);
	return rc;
}

int fc_locked_unmark(const char *directory)
{
	int fd = open_directory(directory), rc;

	if (fd < 0)
		return open_error();
	rc = set_fixed(fd, false);
	if (!rc && fchmod(fd, MODE_OPEN))
		rc = fc_error_from_errno(errno);
	if (!rc && fc_locked_is_marker(fd, FC_MARKER_NAME) && unlinkat(fd, FC_MARKER_NAME, 0))
		rc = fc_error_from_errno(errno);
	if (!rc && unlinkat(fd, FRESH_NAME, 0) && errno != ENOENT)
		rc = fc_error_from_errno(errno);
	close(fd);
	return rc;
}

/* ---- for the moment of mounting ---------------------------------------------------- */

int fc_locked_open(const char *directory)
{
	int fd = geteuid() ? open_directory(directory) : -1;
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fc_locked_is_marker(fd, FC_MARKER_NAME) || fstat(fd, &st) || (st.st_mode & 07777) != MODE_LOCKED ||
	    fchmod(fd, MODE_OPEN)) {
		close(fd);
		return -1;
	}
	return fd;
}

void fc_locked_close(int fd)
{
	if (fd < 0)
		return;
	/* the descriptor is of the directory below the mount */
	fchmod(fd, MODE_LOCKED);
	close(fd);
}
