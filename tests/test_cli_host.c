/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the command line learns from the machine: mounts, locks, states, holders. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/holders.h"
#include "cli/lock.h"
#include "cli/mounts.h"
#include "cli/state.h"

static char dir[] = "/tmp/fc-test-host-XXXXXX";

static void enter_dir(void)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
}

static void leave_dir(void)
{
	char command[64];

	ck_assert_int_eq(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static void make_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

/* ---- mountinfo ---------------------------------------------------------------- */

START_TEST(mountinfo_is_read_as_the_kernel_writes_it)
{
	struct fc_mounts m;

	make_file("info",
		  "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
		  "40 22 0:41 / /mnt/a\\040b\\054c\\134d rw,nosuid shared:7 master:3 - fuse.fusecrypt /box\\040one,two "
		  "rw,user_id=1000,group_id=1001,default_permissions\n"
		  "41 40 0:42 / /mnt/none rw - tmpfs  rw,size=1k\n"
		  "nonsense\n"
		  "42 22 x:y / /mnt/bad rw - tmpfs tmpfs rw\n"
		  "43 22 0:44 / /mnt/none rw - ext4 /dev/sdb rw\n"
		  "44 22 0:45 / /mnt/cut rw - ext4\n");
	ck_assert_int_eq(fc_mounts_read("info", &m), 0);
	ck_assert_uint_eq(m.count, 4);
	ck_assert_str_eq(m.list[1].point, "/mnt/a b,c\\d");
	ck_assert_str_eq(m.list[1].source, "/box one,two");
	ck_assert_uint_eq(m.list[1].id, 40);
	ck_assert_uint_eq(m.list[1].parent, 22);
	ck_assert_uint_eq(m.list[1].dev, makedev(0, 41));
	ck_assert_uint_eq(m.list[1].shared, 7);
	ck_assert_uint_eq(m.list[1].master, 3);
	ck_assert_uint_eq(m.list[1].owner, 1000);
	ck_assert_uint_eq(m.list[1].group, 1001);
	ck_assert(fc_mount_is_ours(&m.list[1]) && !fc_mount_is_ours(&m.list[0]));
	ck_assert_str_eq(m.list[2].source, "");
	ck_assert_ptr_eq(fc_mounts_at(&m, "/mnt/none"), &m.list[3]); /* the one on top */
	ck_assert_ptr_null(fc_mounts_at(&m, "/mnt"));
	ck_assert_ptr_eq(fc_mounts_of(&m, "/box one,two"), &m.list[1]);
	ck_assert_ptr_null(fc_mounts_of(&m, "/dev/sdb")); /* not of ours */
	fc_mounts_free(&m);
	ck_assert_int_eq(fc_mounts_read("absent", &m), FC_EIO);
	fc_mounts_free(&m);
}
END_TEST

START_TEST(this_machines_mounts)
{
	const struct fc_mount *proc;
	struct fc_mounts m;

	ck_assert_int_eq(fc_mounts_read("/proc/self/mountinfo", &m), 0);
	proc = fc_mounts_at(&m, "/proc");
	ck_assert_ptr_nonnull(proc);
	ck_assert_str_eq(proc->type, "proc");
	fc_mounts_free(&m);
}
END_TEST

START_TEST(below_by_name_or_by_inode)
{
	char a[64], b[64];

	ck_assert_int_eq(mkdir("a", 0700), 0);
	ck_assert_int_eq(mkdir("a/b", 0700), 0);
	ck_assert_int_eq(mkdir("ab", 0700), 0);
	ck_assert_int_eq(symlink("a", "link"), 0);
	snprintf(a, sizeof(a), "%s/a", dir);
	snprintf(b, sizeof(b), "%s/a/b", dir);
	ck_assert(fc_path_is_below(b, a));
	ck_assert(fc_path_is_below(a, a));
	ck_assert(!fc_path_is_below(a, b));
	snprintf(b, sizeof(b), "%s/ab", dir);
	ck_assert(!fc_path_is_below(b, a));
	snprintf(b, sizeof(b), "%s/link/b/absent", dir);
	ck_assert(fc_path_is_below(b, a)); /* another name of the same directory */
	ck_assert(fc_path_is_below(a, "/"));
}
END_TEST

START_TEST(paths_are_resolved)
{
	char want[128], *got;

	ck_assert_int_eq(mkdir("a", 0700), 0);
	ck_assert_int_eq(symlink("a", "link"), 0);
	snprintf(want, sizeof(want), "%s/a", dir);
	got = fc_path_resolve("./link//");
	ck_assert_str_eq(got, want);
	free(got);
	errno = 0;
	ck_assert_ptr_null(fc_path_resolve("absent"));
	ck_assert_int_eq(errno, ENOENT);
	got = fc_path_resolve("/");
	ck_assert_str_eq(got, "/");
	free(got);
}
END_TEST

/* ---- locks ---------------------------------------------------------------------- */

/* A process that holds the lock, and the mark if wanted; ends when killed. */
static pid_t holder(const char *name, bool shared, bool mark)
{
	int p[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(p), 0);
	pid = fork();
	if (!pid) {
		int fd = open(name, O_RDWR);

		if (fc_lock_take(fd, shared))
			_exit(1);
		if (mark)
			fc_lock_mark(fd, shared);
		if (write(p[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(p[1]);
	ck_assert_int_eq(read(p[0], &byte, 1), 1);
	close(p[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

START_TEST(one_writer_or_many_readers)
{
	pid_t pid;
	int fd;

	make_file("box", "x");
	fd = open("box", O_RDWR);
	ck_assert(!fc_lock_held(fd));
	pid = holder("box", false, true);
	ck_assert(fc_lock_held(fd));
	ck_assert_int_eq(fc_lock_take(fd, false), FC_EINUSE);
	ck_assert_int_eq(fc_lock_take(fd, true), FC_EINUSE);
	ck_assert_int_eq(fc_lock_holder(fd), pid);
	end(pid);
	ck_assert(!fc_lock_held(fd));
	pid = holder("box", true, true);
	ck_assert_int_eq(fc_lock_take(fd, false), FC_EINUSE);
	ck_assert_int_eq(fc_lock_take(fd, true), 0);
	ck_assert_int_eq(fc_lock_holder(fd), pid);
	end(pid);
	ck_assert_int_eq(fc_lock_take(fd, false), 0);
	close(fd);
	/* one that only may read sees who writes */
	fd = open("box", O_RDONLY);
	pid = holder("box", false, true);
	ck_assert_int_eq(fc_lock_take(fd, true), FC_EINUSE);
	ck_assert_int_eq(fc_lock_holder(fd), pid);
	end(pid);
	close(fd);
}
END_TEST

static long ms_since(const struct timespec *from)
{
	struct timespec to;

	clock_gettime(CLOCK_MONOTONIC, &to);
	return (to.tv_sec - from->tv_sec) * 1000 + (to.tv_nsec - from->tv_nsec) / 1000000;
}

/* A daemon whose mount is gone is about to end; one that does not end is in the way. */
START_TEST(the_end_of_a_holder_is_waited_for)
{
	struct timespec from;
	pid_t pid, killer;
	int fd;

	make_file("box", "x");
	fd = open("box", O_RDWR);
	pid = holder("box", false, true);
	killer = fork();
	if (!killer) {
		usleep(300000);
		_exit(kill(pid, SIGKILL));
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	ck_assert_int_eq(fc_lock_take_soon(fd, false, "/nowhere/mounted"), 0);
	ck_assert_int_ge(ms_since(&from), 200);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(waitpid(killer, NULL, 0), killer);
	fc_lock_drop(fd);
	pid = holder("box", false, true);
	clock_gettime(CLOCK_MONOTONIC, &from);
	ck_assert_int_eq(fc_lock_take_soon(fd, true, "/nowhere/mounted"), FC_EINUSE);
	ck_assert_int_ge(ms_since(&from), 2900);
	end(pid);
	close(fd);
}
END_TEST

START_TEST(a_holder_without_mark_is_searched)
{
	pid_t pid;
	int fd;

	make_file("box", "x");
	fd = open("box", O_RDWR);
	ck_assert_int_eq(fc_lock_holder(fd), 0);
	pid = holder("box", false, false);
	ck_assert_int_eq(fc_lock_holder(fd), pid);
	end(pid);
	close(fd);
}
END_TEST

/* The header's lock is apart from the container's, and is waited for. */
START_TEST(the_header_has_a_lock_of_its_own)
{
	struct timespec from;
	int a, b, p[2];
	char byte;
	pid_t pid;

	make_file("box", "x");
	a = open("box", O_RDWR);
	b = open("box", O_RDONLY);
	ck_assert_int_eq(fc_lock_take(a, false), 0);
	ck_assert_int_eq(fc_lock_header(b, true), 0); /* whoever has the container */
	ck_assert_int_eq(fc_lock_header(a, true), 0);
	fc_unlock_header(a);
	fc_unlock_header(b);
	ck_assert(fc_lock_held(b)); /* the container's stays */
	ck_assert_int_eq(fc_lock_header(a, false), 0);
	fc_lock_drop(a);
	ck_assert(!fc_lock_held(b));
	fc_unlock_header(a);
	ck_assert_int_eq(pipe(p), 0);
	pid = fork();
	if (!pid) {
		int fd = open("box", O_RDWR);

		if (fc_lock_header(fd, false) || write(p[1], "x", 1) != 1)
			_exit(1);
		usleep(300000);
		_exit(0);
	}
	ck_assert_int_eq(read(p[0], &byte, 1), 1);
	clock_gettime(CLOCK_MONOTONIC, &from);
	ck_assert_int_eq(fc_lock_header(b, true), 0);
	ck_assert_int_gt(ms_since(&from), 100);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	close(a);
	close(b);
	close(p[0]);
	close(p[1]);
}
END_TEST

/* ---- holders ----------------------------------------------------------------------- */

static size_t find_pid(dev_t dev, pid_t pid, struct fc_holder *found)
{
	static struct fc_holder list[4096];
	size_t n = fc_holders_find(dev, list, 4096), hits = 0;

	for (size_t i = 0; i < n; i++) {
		ck_assert_int_ne(list[i].pid, getpid());
		if (list[i].pid != pid)
			continue;
		*found = list[i];
		hits++;
	}
	return hits;
}

START_TEST(who_is_in_a_file_system_is_found)
{
	struct fc_holder found;
	struct stat st;
	pid_t pid;

	ck_assert_int_eq(stat(".", &st), 0);
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	ck_assert_uint_eq(find_pid(st.st_dev, pid, &found), 1);
	ck_assert_str_eq(found.how, "working directory");
	ck_assert_uint_gt(strlen(found.name), 0);
	ck_assert_uint_eq(find_pid(makedev(4000, 99), pid, &found), 0);
	ck_assert_uint_eq(fc_holders_find(st.st_dev, &found, 1), 1); /* no more than there is room */
	end(pid);
	ck_assert_uint_eq(find_pid(st.st_dev, pid, &found), 0);
}
END_TEST

START_TEST(who_is_in_a_directory_is_found)
{
	struct fc_holder found;
	char text[200], path[64];
	pid_t pid;
	int fd;

	ck_assert_int_eq(mkdir("in", 0700), 0);
	ck_assert_int_eq(mkdir("in other", 0700), 0);
	make_file("in/file", "x");
	snprintf(path, sizeof(path), "%s/in", dir);
	ck_assert_uint_eq(fc_holders_find_below(path, &found, 1), 0);
	fd = open("in/file", O_RDONLY);
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	ck_assert_uint_eq(fc_holders_find_below(path, &found, 1), 1);
	ck_assert_int_eq(found.pid, pid);
	ck_assert_str_eq(found.how, "open file");
	fc_holders_text(&found, 1, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, ", open file)"));
	fc_holders_text(&found, 1, text, 4); /* cut, but ended */
	ck_assert_uint_eq(strlen(text), 3);
	snprintf(path, sizeof(path), "%s/i", dir);
	ck_assert_uint_eq(fc_holders_find_below(path, &found, 1), 0);
	snprintf(path, sizeof(path), "%s/in other", dir);
	ck_assert_uint_eq(fc_holders_find_below(path, &found, 1), 0);
	end(pid);
	close(fd);
}
END_TEST

/* ---- states seen ------------------------------------------------------------------- */

static const struct fc_seen some = { .generation = 18446744073709551615u, .tag = { 0xff, 1, 2, 0, 0xa0 } };

START_TEST(a_state_written_is_read_again)
{
	struct fc_seen seen;
	struct stat st;

	ck_assert_int_eq(fc_state_read("s", &seen), FC_ENOENT);
	ck_assert_int_eq(fc_state_write("s", &some), 0);
	ck_assert_int_eq(fc_state_read("s", &seen), 0);
	ck_assert_uint_eq(seen.generation, some.generation);
	ck_assert_mem_eq(seen.tag, some.tag, FC_TAG_BYTES);
	ck_assert_int_eq(stat("s", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_uint_eq(seen.when, (uint64_t)st.st_mtime);
	ck_assert_int_ne(access("s.new", F_OK), 0);
	ck_assert_int_eq(fc_state_write("absent/s", &some), FC_ENOENT);
}
END_TEST

START_TEST(a_state_file_that_is_none)
{
	static const char *const bad[] = {
		"",
		"\n",
		"fusecrypt-seen 2\ngeneration 5\ntag ff010200a00000000000000000000000\n",
		"fusecrypt-seen 1\ngeneration 5\ntag ff010200a0000000000000000000000\n",
		"fusecrypt-seen 1\ngeneration 5\ntag ff010200a000000000000000000000000\n",
		"fusecrypt-seen 1\ngeneration 5\ntag ff010200a00000000000000000000000",
		"fusecrypt-seen 1\ngeneration 5\ntag ff010200a00000000000000000000000\nmore\n",
		"fusecrypt-seen 1\ngeneration x\ntag ff010200a00000000000000000000000\n",
	};
	struct fc_seen seen;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		make_file("s", bad[i]);
		ck_assert_msg(fc_state_read("s", &seen) == FC_ECORRUPT, "%s", bad[i]);
	}
	make_file("s", "fusecrypt-seen 1\ngeneration 5\ntag ff010200a00000000000000000000000\n");
	ck_assert_int_eq(fc_state_read("s", &seen), 0);
	ck_assert_int_eq(symlink("s", "t"), 0);
	ck_assert_int_eq(fc_state_read("t", &seen), FC_EIO);
}
END_TEST

static void path_is(const char *mountpoint, const char *want)
{
	const uint8_t uuid[16] = { 0xab };
	char path[PATH_MAX], full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/%s/ab000000-0000-0000-0000-000000000000", dir, want);
	ck_assert_int_eq(fc_state_path(uuid, mountpoint, path), 0);
	ck_assert_str_eq(path, full);
}

START_TEST(where_states_are_kept)
{
	char home[64], state[64];
	struct stat st;

	snprintf(home, sizeof(home), "%s/home", dir);
	snprintf(state, sizeof(state), "%s/state", dir);
	ck_assert_int_eq(mkdir("home", 0700), 0);
	setenv("HOME", home, 1);
	unsetenv("XDG_STATE_HOME");
	path_is("/nowhere", "home/.local/state/fusecrypt");
	ck_assert_int_eq(stat("home/.local/state/fusecrypt", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	path_is(NULL, "home/.local/state/fusecrypt"); /* the directories are there already */
	setenv("XDG_STATE_HOME", "relative", 1);
	path_is("/nowhere", "home/.local/state/fusecrypt");
	setenv("XDG_STATE_HOME", state, 1);
	path_is("/nowhere", "state/fusecrypt");
}
END_TEST

/* A protected home must not hold what is written while it is mounted. */
START_TEST(states_are_not_kept_inside_the_mount)
{
	const uint8_t uuid[16] = { 0xab };
	char home[64], path[PATH_MAX];
	int status;
	pid_t pid;

	snprintf(home, sizeof(home), "%s/home", dir);
	ck_assert_int_eq(mkdir("home", 0700), 0);
	setenv("HOME", home, 1);
	unsetenv("XDG_STATE_HOME");
	pid = fork();
	if (!pid) /* as root it would be kept for the machine */
		_exit(!geteuid() && seteuid(65534) ? 2 : fc_state_path(uuid, home, path) != FC_ENOENT);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_ne(access("home/.local", F_OK), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cli_host");
	TCase *t = tcase_create("cli_host");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, enter_dir, leave_dir);
	tcase_add_test(t, mountinfo_is_read_as_the_kernel_writes_it);
	tcase_add_test(t, this_machines_mounts);
	tcase_add_test(t, below_by_name_or_by_inode);
	tcase_add_test(t, paths_are_resolved);
	tcase_add_test(t, one_writer_or_many_readers);
	tcase_add_test(t, the_end_of_a_holder_is_waited_for);
	tcase_add_test(t, a_holder_without_mark_is_searched);
	tcase_add_test(t, the_header_has_a_lock_of_its_own);
	tcase_add_test(t, who_is_in_a_file_system_is_found);
	tcase_add_test(t, who_is_in_a_directory_is_found);
	tcase_add_test(t, a_state_written_is_read_again);
	tcase_add_test(t, a_state_file_that_is_none);
	tcase_add_test(t, where_states_are_kept);
	tcase_add_test(t, states_are_not_kept_inside_the_mount);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
