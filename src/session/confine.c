/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif

#if FC_HAVE_SECCOMP
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <seccomp.h>
#endif

/* ---- files ---------------------------------------------------------------- */

/* The kernel's headers may be older than the kernel: linux/landlock.h as of version 6. */
struct ruleset {
	uint64_t fs, net, scoped;
};
#define FS_VERSION_1 ((1u << 13) - 1)
#define FS_REFER (1u << 13)     /* version 2 */
#define FS_TRUNCATE (1u << 14)  /* version 3 */
#define NET_TCP 3u              /* version 4: bind, connect */
#define FS_IOCTL_DEV (1u << 15) /* version 5 */
#define SCOPE_ALL 3u            /* version 6: abstract sockets, signals */

static int allow_writing(int ruleset, const char *directory, uint64_t truncate)
{
	struct landlock_path_beneath_attr beneath = {
		.allowed_access = LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_WRITE_FILE |
				  LANDLOCK_ACCESS_FS_REMOVE_FILE | truncate,
		.parent_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	long rc;

	/* not there: nothing could be written anyway */
	if (beneath.parent_fd < 0)
		return 0;
	rc = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
	close(beneath.parent_fd);
	return (int)rc;
}

/* 0 or -1 */
static int confine_files(const char *writable)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset rules = { .fs = FS_VERSION_1 };
	int fd, rc;

	if (version < 1)
		return -1;
	rules.fs |= version >= 2 ? FS_REFER : 0;
	rules.fs |= version >= 3 ? FS_TRUNCATE : 0;
	rules.net = version >= 4 ? NET_TCP : 0;
	rules.fs |= version >= 5 ? FS_IOCTL_DEV : 0;
	rules.scoped = version >= 6 ? SCOPE_ALL : 0;
	/* an older kernel takes a longer struct whose end is zero */
	fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
	if (fd < 0)
		return -1;
	rc = writable ? allow_writing(fd, writable, rules.fs & FS_TRUNCATE) : 0;
	if (!rc)
		rc = (int)syscall(SYS_landlock_restrict_self, fd, 0);
	close(fd);
	return rc;
}

/* ---- system calls --------------------------------------------------------- */

#if FC_HAVE_SECCOMP

/* Allowed whatever the arguments: the kernel remembers that of a call and then asks
 * the filter no more. Files are opened as Landlock lets them. */
static const int allowed[] = {
	/* requests and the container */
	SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(pread64), SCMP_SYS(pwrite64),
	SCMP_SYS(preadv), SCMP_SYS(pwritev), SCMP_SYS(preadv2), SCMP_SYS(pwritev2), SCMP_SYS(poll), SCMP_SYS(ppoll),
	SCMP_SYS(io_setup), SCMP_SYS(io_submit), SCMP_SYS(io_getevents), SCMP_SYS(io_destroy), SCMP_SYS(fdatasync),
	SCMP_SYS(fsync), SCMP_SYS(sync_file_range), SCMP_SYS(fallocate), SCMP_SYS(ftruncate), SCMP_SYS(fadvise64),
	SCMP_SYS(readahead), SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(fstatfs),
	SCMP_SYS(fcntl), SCMP_SYS(close), SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3),
	/* the state file */
	SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(unlink), SCMP_SYS(unlinkat),
	/* threads and time */
	SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(getcpu), SCMP_SYS(membarrier),
	SCMP_SYS(rseq), SCMP_SYS(set_robust_list), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres),
	SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(restart_syscall),
	SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(wait4),
	/* memory */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(mlock), SCMP_SYS(mlock2),
	SCMP_SYS(munlock), SCMP_SYS(mlockall), SCMP_SYS(munlockall),
	/* signals */
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
	/* about itself */
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
	SCMP_SYS(capget), SCMP_SYS(getrlimit), SCMP_SYS(getrandom), SCMP_SYS(sysinfo), SCMP_SYS(uname)
};

/* rc, or what adding the rule gives. */
static int allow_if(scmp_filter_ctx filter, int rc, int call, struct scmp_arg_cmp argument)
{
	return rc ? rc : seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1, argument);
}

static int add_rules(scmp_filter_ctx filter)
{
	int rc = 0;

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]) && !rc; i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	/* no code that was not there before */
	rc = allow_if(filter, rc, SCMP_SYS(mmap), SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	rc = allow_if(filter, rc, SCMP_SYS(mprotect), SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* to write only, also where Landlock is missing */
	rc = allow_if(filter, rc, SCMP_SYS(openat), SCMP_A2_64(SCMP_CMP_MASKED_EQ, O_ACCMODE, O_WRONLY));
	/* threads, no processes; libc falls back on it from clone3 */
	rc = allow_if(filter, rc, SCMP_SYS(clone), SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	/* of itself: abort(3), limits */
	rc = allow_if(filter, rc, SCMP_SYS(tgkill), SCMP_A0_64(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	rc = allow_if(filter, rc, SCMP_SYS(prlimit64), SCMP_A0_64(SCMP_CMP_EQ, 0));
	rc = allow_if(filter, rc, SCMP_SYS(ioctl), SCMP_A1_64(SCMP_CMP_MASKED_EQ, UINT32_MAX, FS_IOC_FIEMAP));
	/* isatty(3) */
	return allow_if(filter, rc, SCMP_SYS(ioctl), SCMP_A1_64(SCMP_CMP_MASKED_EQ, UINT32_MAX, TCGETS));
}

/* 0 or -1 */
static int confine_calls(void)
{
	/* As of a kernel that has no such call: libraries know what to do then. */
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int rc;

	if (!filter)
		return -1;
	/* A binary search; and no slower branches and loads for this process, which runs
	 * nobody's code but its own. Without these just slower. */
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	rc = add_rules(filter);
	if (!rc)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return rc ? -1 : 0;
}

#else

static int confine_calls(void)
{
	return -1;
}

#endif

/* ---- both ----------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__

static bool leaks_are_left;

/* The search for leaks would have to trace this very process. */
int __lsan_is_turned_off(void)
{
	return leaks_are_left;
}

/* Its report goes to a file that is to be opened before. */
static void prepare_sanitizer(void)
{
	leaks_are_left = true;
	(void)__sanitizer_get_report_path();
}

#else

static void prepare_sanitizer(void)
{
}

#endif

int fc_confine(const char *writable)
{
	int held = 0;

	prepare_sanitizer();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	if (!confine_files(writable))
		held |= FC_CONFINED_FILES;
	if (!confine_calls())
		held |= FC_CONFINED_CALLS;
	return held;
}
