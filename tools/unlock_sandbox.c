/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unlock_sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config.h"
#include "fusecrypt/error.h"

int unlock_sandbox_start(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? FC_EPERM : 0;
}

void unlock_lock_memory(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct caps[2] = { 0 };
	struct rlimit limit;
	bool unlimited = !getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur == RLIM_INFINITY;

	if (!unlimited && !syscall(SYS_capget, &head, caps))
		unlimited = caps[0].effective & 1u << CAP_IPC_LOCK;
	mlockall(unlimited ? MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT : MCL_CURRENT | MCL_ONFAULT);
}

#if FC_HAVE_SECCOMP
#include <asm/ioctls.h>
#include <seccomp.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

/* By name: each architecture has some of them. */
static const char *const allowed[] = {
	/* files and what was inherited */
	"access",
	"close",
	"dup",
	"dup2",
	"faccessat",
	"faccessat2",
	"fcntl",
	"fcntl64",
	"fdatasync",
	"fstat",
	"fstat64",
	"fstatat64",
	"fsync",
	"getcwd",
	"_llseek",
	"lseek",
	"lstat",
	"lstat64",
	"newfstatat",
	"open",
	"openat",
	"pipe",
	"pipe2",
	"poll",
	"ppoll",
	"ppoll_time64",
	"pread64",
	"pselect6",
	"pwrite64",
	"read",
	"readlink",
	"readlinkat",
	"readv",
	"recvfrom",
	"recvmsg",
	"select",
	"sendmsg",
	"sendto",
	"shutdown",
	"stat",
	"stat64",
	"statx",
	"unlink",
	"unlinkat",
	"write",
	"writev",
	/* memory */
	"brk",
	"madvise",
	"mlock",
	"mlock2",
	"mlockall",
	"mmap",
	"mmap2",
	"mprotect",
	"mremap",
	"munlock",
	"munmap",
	/* time, itself */
	"clock_getres",
	"clock_gettime",
	"clock_gettime64",
	"clock_nanosleep",
	"exit",
	"exit_group",
	"futex",
	"futex_time64",
	"getegid",
	"geteuid",
	"getgid",
	"getpid",
	"getppid",
	"getrandom",
	"getrlimit",
	"gettid",
	"gettimeofday",
	"getuid",
	"nanosleep",
	"prlimit64",
	"restart_syscall",
	"rseq",
	"rt_sigaction",
	"rt_sigpending",
	"rt_sigprocmask",
	"rt_sigreturn",
	"rt_sigsuspend",
	"sched_getaffinity",
	"sched_yield",
	"set_robust_list",
	"sigaltstack",
	"sigreturn",
	"sysinfo",
	"time",
	"ugetrlimit",
	"uname",
	"wait4",
	"waitid",
	"waitpid",
#ifdef __SANITIZE_ADDRESS__
	/* its search for leaks, at the end */
	"clone",
	"getdents",
	"getdents64",
	"kill",
	"personality",
	"prctl",
	"ptrace",
	"readdir",
#endif
};

static const char *const with_sockets[] = { "connect",    "getpeername", "getsockname",
					    "getsockopt", "setsockopt",  "socket" };

/* Not TIOCSTI, which types for the user. */
static const unsigned terminal[] = { TCGETS, TCSETS, TCSETSW, TCSETSF, TIOCGWINSZ, FIONREAD };

static int allow(scmp_filter_ctx ctx, const char *const *names, size_t n)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++) {
		int nr = seccomp_syscall_resolve_name(names[i]);

		if (nr != __NR_SCMP_ERROR && nr >= 0)
			rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0);
	}
	return rc;
}

static int add_rules(scmp_filter_ctx ctx, bool sockets)
{
	int rc = allow(ctx, allowed, sizeof(allowed) / sizeof(allowed[0]));

	if (!rc && sockets)
		rc = allow(ctx, with_sockets, sizeof(with_sockets) / sizeof(with_sockets[0]));
	for (size_t i = 0; !rc && i < sizeof(terminal) / sizeof(terminal[0]); i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, SCMP_A1_32(SCMP_CMP_EQ, terminal[i]));
	/* raise, for a stop */
	if (!rc)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				      SCMP_A0_32(SCMP_CMP_EQ, (unsigned)getpid()));
	return rc;
}

int unlock_sandbox(bool sockets)
{
	scmp_filter_ctx ctx;
	int rc;

	/* EINVAL: a kernel without them; EFAULT: with */
	if (prctl(PR_SET_SECCOMP, 2 /* SECCOMP_MODE_FILTER */, NULL, 0, 0) && errno == EINVAL)
		return 0;
	ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!ctx)
		return FC_EPERM;
	rc = add_rules(ctx, sockets);
	if (!rc)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc ? FC_EPERM : 0;
}

#else

int unlock_sandbox(bool sockets)
{
	(void)sockets;
	return 0;
}

#endif
