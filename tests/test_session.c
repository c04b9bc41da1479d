/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The FUSE border without a mount: what the kernel asks and is told. */
#include <linux/fs.h>
#include <time.h>

#include "session_fixture.h"

/* ---- names and attributes ------------------------------------------------- */

START_TEST(names_and_errors_pass)
{
	const struct fuse_entry_out *entry = (const void *)answer.body;
	struct fuse_rename2_in rename = { .newdir = 9, .flags = 1 };
	struct fuse_mknod_in mknod = { .mode = S_IFCHR | 0666, .rdev = 0x103, .umask = 027 };
	struct fuse_link_in link = { .oldnodeid = 77 };

	ck_assert_int_eq(call(FUSE_LOOKUP, 1, NULL, 0, "a name", sizeof(*entry)), 0);
	ck_assert_str_eq(note.name, "a name");
	ck_assert_uint_eq(entry->nodeid, 77);
	ck_assert_uint_eq(entry->entry_valid, 1000);
	ck_assert_uint_eq(entry->attr_valid, 1000);
	ck_assert_uint_eq(entry->attr.blocks, 8);
	ck_assert_uint_eq(entry->attr.uid, 5);

	fails = FC_ENOENT; /* remembered by the kernel: no error, no inode */
	ck_assert_int_eq(call(FUSE_LOOKUP, 1, NULL, 0, "none", sizeof(*entry)), 0);
	ck_assert_uint_eq(entry->nodeid, 0);
	ck_assert_uint_eq(entry->entry_valid, 1000);
	ck_assert_int_eq(call(FUSE_UNLINK, 1, NULL, 0, "none", 0), ENOENT);
	fails = FC_EFORGED;
	ck_assert_int_eq(call(FUSE_LOOKUP, 1, NULL, 0, "forged", 0), EIO);
	fails = FC_ENOTEMPTY;
	ck_assert_int_eq(call(FUSE_RMDIR, 1, NULL, 0, "full", 0), ENOTEMPTY);
	fails = 0;

	ck_assert_int_eq(call(FUSE_MKNOD, 3, &mknod, sizeof(mknod), "dev", sizeof(*entry)), 0);
	ck_assert_uint_eq(note.flags, S_IFCHR | 0666);
	ck_assert_uint_eq(note.off, 0x103);
	ck_assert_uint_eq(note.cred.uid, 1000);
	ck_assert_uint_eq(note.cred.gid, 100);
	ck_assert_uint_eq(note.cred.umask, 027);
	ask(FUSE_RENAME2, 3, &rename, sizeof(rename), "old\0new", 8);
	ck_assert_int_eq(answer_of(0), 0);
	ck_assert_str_eq(note.name, "old");
	ck_assert_str_eq(note.value, "new");
	ck_assert_uint_eq(note.off, 9);
	ck_assert_uint_eq(note.flags, 1);
	ck_assert_int_eq(call(FUSE_LINK, 4, &link, sizeof(link), "hard", sizeof(*entry)), 0);
	ck_assert_uint_eq(note.ino, 77);
	ck_assert_uint_eq(note.off, 4);
	ck_assert_int_eq(call(FUSE_READLINK, 77, NULL, 0, NULL, 6), 0);
	ck_assert_mem_eq(answer.body, "target", 6);
	settle();
}
END_TEST

START_TEST(no_open_no_create_no_flush)
{
	struct fuse_open_in open = { .flags = O_RDONLY };
	struct fuse_create_in create = { .flags = O_RDWR, .mode = S_IFREG | 0644 };
	struct fuse_flush_in flush = { 0 };

	ck_assert_int_eq(call(FUSE_OPEN, 77, &open, sizeof(open), NULL, 0), ENOSYS);
	ck_assert_int_eq(call(FUSE_OPENDIR, 1, &open, sizeof(open), NULL, 0), ENOSYS);
	ck_assert_int_eq(call(FUSE_CREATE, 1, &create, sizeof(create), "x", 0), ENOSYS);
	ck_assert_int_eq(call(FUSE_FLUSH, 77, &flush, sizeof(flush), NULL, 0), ENOSYS);
}
END_TEST

START_TEST(attributes_are_set_as_meant)
{
	struct fuse_setattr_in in = {
		.valid = FATTR_SIZE | FATTR_KILL_SUIDGID | FATTR_ATIME | FATTR_ATIME_NOW | FATTR_MTIME | FATTR_CTIME,
		.size = 1ull << 40,
		.mtime = (uint64_t)-5,
		.mtimensec = 999999999,
		.ctime = 1,
		.ctimensec = 2,
	};

	ck_assert_int_eq(call(FUSE_SETATTR, 77, &in, sizeof(in), NULL, sizeof(struct fuse_attr_out)), 0);
	ck_assert_uint_eq(note.set.valid,
			  FC_SET_SIZE | FC_SET_KILLPRIV | FC_SET_ATIME_NOW | FC_SET_MTIME | FC_SET_CTIME);
	ck_assert_uint_eq(note.set.size, 1ull << 40);
	ck_assert_int_eq(note.set.mtime.sec, -5);
	ck_assert_uint_eq(note.set.mtime.nsec, 999999999);
	ck_assert_int_eq(note.set.ctime.sec, 1);
	in = (struct fuse_setattr_in){ .valid = FATTR_MODE | FATTR_UID | FATTR_GID, .mode = 04755, .uid = 8, .gid = 9 };
	ck_assert_int_eq(call(FUSE_SETATTR, 77, &in, sizeof(in), NULL, sizeof(struct fuse_attr_out)), 0);
	ck_assert_uint_eq(note.set.valid, FC_SET_MODE | FC_SET_UID | FC_SET_GID);
	ck_assert_uint_eq(note.set.mode & 07777, 04755);
	ck_assert_uint_eq(note.set.gid, 9);
}
END_TEST

START_TEST(no_blocks_are_never_kept)
{
	const struct fuse_attr_out *out = (const void *)answer.body;
	const struct fuse_entry_out *entry = (const void *)answer.body;
	struct fuse_getattr_in stat = { 0 }, own = { .getattr_flags = FUSE_GETATTR_FH };
	struct fuse_mknod_in mknod = { .mode = S_IFREG | 0644 };

	shown.blocks = 0;
	ck_assert_int_eq(call(FUSE_MKNOD, 1, &mknod, sizeof(mknod), "new", sizeof(*entry)), 0);
	ck_assert_uint_eq(entry->attr.blocks, 1);
	ck_assert_uint_eq(entry->attr_valid, 1000);
	ck_assert_int_eq(call(FUSE_GETATTR, 77, &own, sizeof(own), NULL, sizeof(*out)), 0);
	ck_assert_uint_eq(out->attr.blocks, 1);
	ck_assert_uint_eq(out->attr_valid, 1000);
	ask(FUSE_GETATTR, 77, &stat, sizeof(stat), NULL, 0);
	ck_assert(answered(5000)); /* first the pages are asked for */
	ck_assert_uint_eq(answer.header.unique, 0);
	ck_assert_int_eq(answer.header.error, FUSE_NOTIFY_INVAL_INODE);
	ck_assert_int_eq(answer_of(sizeof(*out)), 0);
	ck_assert_uint_eq(out->attr.blocks, 0);
	ck_assert_uint_eq(out->attr_valid, 0);
	shown.blocks = 8;
	ck_assert_int_eq(call(FUSE_GETATTR, 77, &stat, sizeof(stat), NULL, sizeof(*out)), 0);
	ck_assert_uint_eq(out->attr_valid, 1000);
	shown.blocks = 0;
	shown.mode = S_IFDIR | 0755;
	ck_assert_int_eq(call(FUSE_GETATTR, 77, &stat, sizeof(stat), NULL, sizeof(*out)), 0);
	ck_assert_uint_eq(out->attr_valid, 1000);
}
END_TEST

START_TEST(own_owner_and_birth_are_shown)
{
	struct {
		uint32_t getattr_flags, reserved;
		uint64_t fh;
		uint32_t flags, mask;
	} in = { 0 };
	uint32_t uid;
	int64_t birth;

	options.own_uid = true;
	options.uid = 4242;
	ck_assert_int_eq(call(52, 77, &in, sizeof(in), NULL, 288), 0);
	memcpy(&uid, answer.body + 32 + 20, 4);
	memcpy(&birth, answer.body + 32 + 80, 8);
	ck_assert_uint_eq(uid, 4242);
	ck_assert_int_eq(birth, -3);
}
END_TEST

/* ---- content --------------------------------------------------------------- */

START_TEST(writes_tell_their_flags)
{
	struct fuse_write_in in = { .offset = 1ull << 33, .size = 4, .write_flags = FUSE_WRITE_CACHE };
	const struct fuse_write_out *out = (const void *)answer.body;

	ask(FUSE_WRITE, 77, &in, sizeof(in), "data", 4);
	ck_assert_int_eq(answer_of(sizeof(*out)), 0);
	ck_assert_uint_eq(out->size, 4);
	ck_assert_uint_eq(note.flags, FC_WRITE_CACHED);
	ck_assert_uint_eq(note.off, 1ull << 33);
	ck_assert_mem_eq(note.value, "data", 4);

	/* set-id bits go, and the kernel is told before the writer is */
	in.write_flags = FUSE_WRITE_KILL_SUIDGID;
	shown.mode |= S_ISUID;
	ask(FUSE_WRITE, 77, &in, sizeof(in), "more", 4);
	ck_assert(answered(5000));
	ck_assert_int_eq(answer.header.error, FUSE_NOTIFY_INVAL_INODE);
	ck_assert_int_eq(answer_of(sizeof(*out)), 0);
	ck_assert_uint_eq(note.flags, FC_WRITE_KILLPRIV);

	fails = FC_ENOSPC;
	ask(FUSE_WRITE, 77, &in, sizeof(in), "full", 4);
	ck_assert_int_eq(answer_of(0), ENOSPC);
}
END_TEST

START_TEST(the_next_write_hears_of_a_full_disk)
{
	struct fuse_write_in in = { .size = 4, .write_flags = FUSE_WRITE_CACHE };
	struct fuse_getattr_in own = { .getattr_flags = FUSE_GETATTR_FH };
	size_t n = sizeof(struct fuse_attr_out);

	for (int i = 1; i <= 16; i++) {
		fails = 0; /* one that is over is not told */
		ck_assert_int_eq(call(FUSE_GETATTR, 77, &own, sizeof(own), NULL, n), 0);
		fails = FC_ENOSPC;
		ask(FUSE_WRITE, 77, &in, sizeof(in), "full", 4);
		ck_assert_int_eq(answer_of(0), ENOSPC);
		if (i == 16) {
			ck_assert(answered(5000));
			ck_assert_int_eq(answer.header.error, FUSE_NOTIFY_INVAL_INODE);
		}
	}
	fails = 0;
	ck_assert_int_eq(call(FUSE_GETATTR, 78, &own, sizeof(own), NULL, n), 0);
	ck_assert_int_eq(call(FUSE_GETATTR, 77, &own, sizeof(own), NULL, 0), ENOSPC);
	ck_assert_int_eq(call(FUSE_GETATTR, 77, &own, sizeof(own), NULL, n), 0); /* once */
}
END_TEST

START_TEST(set_id_bits_go_unless_root_does_it)
{
	struct fuse_fallocate_in in = { .length = 4096, .mode = 3 };

	shown.mode = S_IFREG | 06755;
	ask(FUSE_FALLOCATE, 77, &in, sizeof(in), NULL, 0);
	ck_assert(answered(5000));
	ck_assert_int_eq(answer.header.error, FUSE_NOTIFY_INVAL_INODE);
	ck_assert_int_eq(answer_of(0), 0);
	ck_assert_uint_eq(note.set.valid, FC_SET_MODE);
	ck_assert_uint_eq(note.set.mode & 07777, 0755);
	ck_assert_str_eq(note.call, "fallocate");
	ck_assert_uint_eq(note.flags, 3);

	/* set-gid without execution: only who is in the group may keep it */
	shown.mode = S_IFREG | 02745;
	ask(FUSE_FALLOCATE, 77, &in, sizeof(in), NULL, 0);
	ck_assert(answered(5000));
	ck_assert_int_eq(answer.header.error, FUSE_NOTIFY_INVAL_INODE);
	ck_assert_int_eq(answer_of(0), 0);
	ck_assert_uint_eq(note.set.mode & 07777, 0745);
	shown.gid = 100;
	note.set.valid = 0;
	ck_assert_int_eq(call(FUSE_FALLOCATE, 77, &in, sizeof(in), NULL, 0), 0);
	ck_assert_uint_eq(note.set.valid, 0);
	shown.mode = S_IFREG | 06755;
	asker = 0;
	ck_assert_int_eq(call(FUSE_FALLOCATE, 77, &in, sizeof(in), NULL, 0), 0);
	ck_assert_uint_eq(note.set.valid, 0);
	in.length = 0;
	ck_assert_int_eq(call(FUSE_FALLOCATE, 77, &in, sizeof(in), NULL, 0), EINVAL);
}
END_TEST

START_TEST(reading_notes_the_access_once)
{
	struct fuse_read_in in = { .offset = 3, .size = 4096 };
	struct fuse_setattr_in set = { .valid = FATTR_MODE };

	ck_assert_int_eq(call(FUSE_READ, 77, &in, sizeof(in), NULL, 5), 0);
	ck_assert_mem_eq(answer.body, "bytes", 5);
	ck_assert_uint_eq(note.off, 3);
	in.size = FC_MAX_TRANSFER + 1;
	ck_assert_int_eq(call(FUSE_READ, 77, &in, sizeof(in), NULL, 0), EINVAL);
	settle();
	ck_assert_str_eq(note.call, "read");

	/* changed since it was read */
	ck_assert_int_eq(call(FUSE_SETATTR, 77, &set, sizeof(set), NULL, sizeof(struct fuse_attr_out)), 0);
	note.set.valid = 0;
	shown.mtime = (struct fc_time){ INT32_MAX, 10 };
	shown.ctime = (struct fc_time){ 12, 13 };
	in.size = 1;
	ck_assert_int_eq(call(FUSE_READ, 77, &in, sizeof(in), NULL, 1), 0);
	settle();
	ck_assert_uint_eq(note.set.valid, FC_SET_ATIME | FC_SET_CTIME);
	ck_assert_int_eq(note.set.ctime.sec, 12);
	ck_assert_int_gt(note.set.atime.sec, 1700000000);
	note.set.valid = 0; /* in the same second it is not looked at again */
	ck_assert_int_eq(call(FUSE_READ, 77, &in, sizeof(in), NULL, 1), 0);
	settle();
	if (time(NULL) == note.set.atime.sec)
		ck_assert_uint_eq(note.set.valid, 0);
}
END_TEST

START_TEST(a_hole_is_looked_at_again_with_its_pages)
{
	struct fuse_lseek_in in = { .offset = 0, .whence = SEEK_HOLE };
	const struct fuse_lseek_out *out = (const void *)answer.body;
	const struct fuse_notify_inval_inode_out *inval = (const void *)answer.body;

	in.whence = SEEK_DATA; /* data is data: nothing is asked */
	ck_assert_int_eq(call(FUSE_LSEEK, 77, &in, sizeof(in), NULL, sizeof(*out)), 0);
	ck_assert_uint_eq(out->offset, 0);
	in.whence = SEEK_HOLE;
	ask(FUSE_LSEEK, 77, &in, sizeof(in), NULL, 0);
	ck_assert(answered(5000));
	ck_assert_int_eq(answer.header.error, FUSE_NOTIFY_INVAL_INODE);
	ck_assert_uint_eq(inval->ino, 77);
	ck_assert_int_eq(inval->off, 4096);
	ck_assert_int_eq(inval->len, 0);
	ck_assert_int_eq(answer_of(sizeof(*out)), 0);
	ck_assert_uint_eq(out->offset, 4096);

	note.pages_came = true;
	ask(FUSE_LSEEK, 77, &in, sizeof(in), NULL, 0);
	ck_assert(answered(5000));
	ck_assert_int_eq(inval->off, 8192);
	ck_assert_int_eq(answer_of(sizeof(*out)), 0);
	ck_assert_uint_eq(out->offset, 8192);
	in.offset = 9000;
	ask(FUSE_LSEEK, 77, &in, sizeof(in), NULL, 0);
	ck_assert(answered(5000));
	ck_assert_int_eq(answer_of(0), ENXIO);
	in.whence = SEEK_END;
	ck_assert_int_eq(call(FUSE_LSEEK, 77, &in, sizeof(in), NULL, 0), EINVAL);
}
END_TEST

START_TEST(extended_attributes_pass)
{
	struct fuse_setxattr_in set = { .size = 3, .flags = 2, .setxattr_flags = FUSE_SETXATTR_ACL_KILL_SGID };
	struct fuse_getxattr_in get = { .size = 0 };
	const struct fuse_getxattr_out *out = (const void *)answer.body;

	ask(FUSE_SETXATTR, 77, &set, sizeof(set), "user.x\0abc", 10);
	ck_assert_int_eq(answer_of(0), 0);
	ck_assert_str_eq(note.name, "user.x");
	ck_assert_mem_eq(note.value, "abc", 3);
	ck_assert_uint_eq(note.n, 3);
	ck_assert_uint_eq(note.flags, 2);
	ck_assert(note.kill_sgid);
	set.size = 4; /* more than came */
	ask(FUSE_SETXATTR, 77, &set, sizeof(set), "user.x\0abc", 10);
	ck_assert_int_eq(answer_of(0), EINVAL);
	ck_assert_int_eq(call(FUSE_GETXATTR, 77, &get, sizeof(get), "user.x", sizeof(*out)), 0);
	ck_assert_uint_eq(out->size, 5);
	get.size = 100;
	ck_assert_int_eq(call(FUSE_GETXATTR, 77, &get, sizeof(get), "user.x", 5), 0);
	ck_assert_mem_eq(answer.body, "value", 5);
	get.size = 4;
	ck_assert_int_eq(call(FUSE_GETXATTR, 77, &get, sizeof(get), "user.x", 0), ERANGE);
	ck_assert_int_eq(call(FUSE_LISTXATTR, 77, &get, sizeof(get), NULL, 0), ERANGE);
}
END_TEST

START_TEST(directories_are_listed_as_far_as_they_fit)
{
	struct fuse_read_in in = { .size = 4096 };
	size_t plus = (sizeof(struct fuse_entry_out) + 24 + 5 + 7) & ~(size_t)7;
	const struct fuse_direntplus *first = (const void *)answer.body;

	ck_assert_int_eq(call(FUSE_READDIR, 1, &in, sizeof(in), NULL, 32 + 7 * 32), 0);
	in.size = (uint32_t)(2 * plus + 10);
	ck_assert_int_eq(call(FUSE_READDIRPLUS, 1, &in, sizeof(in), NULL, 2 * plus), 0);
	ck_assert_uint_eq(first->entry_out.nodeid, 0); /* a dot is not looked up */
	ck_assert_uint_eq(first->dirent.off, 1);
	in.offset = 8;
	ck_assert_int_eq(call(FUSE_READDIRPLUS, 1, &in, sizeof(in), NULL, plus), 0);
	ck_assert_uint_eq(first->entry_out.nodeid, 77);
	fails = FC_EIO;
	in.size = 1;
	ck_assert_int_eq(call(FUSE_READDIR, 1, &in, sizeof(in), NULL, 0), EIO);
}
END_TEST

START_TEST(questions_to_the_mount_only_at_its_root)
{
	struct fuse_ioctl_in in = { .cmd = FC_IOC_STATUS, .out_size = sizeof(struct fc_ioc_status) };
	const struct fc_ioc_status *status = (const void *)(answer.body + sizeof(struct fuse_ioctl_out));

	ck_assert_int_eq(sizeof(*status), 4096);
	ck_assert_int_eq(call(FUSE_IOCTL, 1, &in, sizeof(in), NULL, sizeof(struct fuse_ioctl_out) + sizeof(*status)),
			 0);
	ck_assert_uint_eq(status->version, 1);
	ck_assert_uint_eq(status->pid, getpid());
	ck_assert_uint_eq(status->generation, 99);
	ck_assert_str_eq(status->container, "/dir/box");
	ck_assert_int_eq(call(FUSE_IOCTL, 77, &in, sizeof(in), NULL, 0), ENOTTY);
	in.out_size = 16;
	ck_assert_int_eq(call(FUSE_IOCTL, 1, &in, sizeof(in), NULL, 0), ENOTTY);
	in.cmd = FC_IOC_SYNC;
	ck_assert_int_eq(call(FUSE_IOCTL, 1, &in, sizeof(in), NULL, sizeof(struct fuse_ioctl_out)), 0);
	ck_assert_str_eq(note.call, "commit");
	in.cmd = FC_IOC_SHUTDOWN; /* on any file of it, not by anyone */
	asker = geteuid() + 1;
	ck_assert_int_eq(call(FUSE_IOCTL, 77, &in, sizeof(in), NULL, 0), EPERM);
	asker = UINT32_MAX; /* not told, and there is nobody here who could look it up */
	ck_assert_int_eq(call(FUSE_IOCTL, 77, &in, sizeof(in), NULL, 0), EPERM);
	asker = geteuid();
	ck_assert_int_eq(call(FUSE_IOCTL, 77, &in, sizeof(in), NULL, sizeof(struct fuse_ioctl_out)), 0);
	ck_assert_str_eq(note.call, "stop");
	in.cmd = FS_IOC_GETFLAGS; /* of any file: none, whatever was in the buffer */
	in.out_size = sizeof(uint32_t);
	memset(answer.body, 0xff, sizeof(answer.body));
	ck_assert_int_eq(call(FUSE_IOCTL, 77, &in, sizeof(in), NULL, sizeof(struct fuse_ioctl_out) + sizeof(uint32_t)),
			 0);
	ck_assert_mem_eq(answer.body + sizeof(struct fuse_ioctl_out), (uint8_t[4]){ 0 }, 4);
	in.cmd = FS_IOC_SETFLAGS;
	ck_assert_int_eq(call(FUSE_IOCTL, 77, &in, sizeof(in), NULL, 0), ENOTTY);
	in.cmd = 0x5401;
	ck_assert_int_eq(call(FUSE_IOCTL, 1, &in, sizeof(in), NULL, 0), ENOTTY);
}
END_TEST

START_TEST(free_space_goes_back_when_asked)
{
	struct {
		struct fuse_ioctl_in in;
		struct fstrim_range range;
	} in = { .in = { .cmd = (uint32_t)FITRIM, .in_size = sizeof(in.range), .out_size = sizeof(in.range) },
		 .range = { .len = UINT64_MAX } };
	const struct fstrim_range *range = (const void *)(answer.body + sizeof(struct fuse_ioctl_out));

	ck_assert_int_eq(call(FUSE_IOCTL, 1, &in, sizeof(in), NULL, 0), EPERM); /* not by anyone */
	asker = geteuid();
	ck_assert_int_eq(call(FUSE_IOCTL, 1, &in, sizeof(in), NULL, sizeof(struct fuse_ioctl_out) + sizeof(in.range)),
			 0);
	ck_assert_str_eq(note.call, "trim");
	ck_assert_uint_eq(range->len, 8192); /* what is free */
	in.range.len = 100;                  /* less than a block */
	ck_assert_int_eq(call(FUSE_IOCTL, 1, &in, sizeof(in), NULL, 0), EINVAL);
	in.range = (struct fstrim_range){ .start = UINT64_MAX, .len = UINT64_MAX };
	ck_assert_int_eq(call(FUSE_IOCTL, 1, &in, sizeof(in), NULL, 0), EINVAL);
	in.range.start = 0;
	fails = FC_EROFS;
	ck_assert_int_eq(call(FUSE_IOCTL, 1, &in, sizeof(in), NULL, 0), EROFS);
	fails = 0;
}
END_TEST

START_TEST(another_master_key_comes_by_a_question)
{
	struct {
		struct fuse_ioctl_in in;
		struct fc_ioc_rekey rekey;
	} in = { .in = { .cmd = FC_IOC_REKEY, .in_size = sizeof(in.rekey) }, .rekey = { "a sealed key" } };

	ck_assert_int_eq(call(FUSE_IOCTL, 1, &in, sizeof(in), NULL, 0), ENOTTY); /* not by anyone */
	asker = geteuid();
	ck_assert_int_eq(call(FUSE_IOCTL, 1, &in, sizeof(in), NULL, sizeof(struct fuse_ioctl_out)), 0);
	ck_assert_str_eq(note.call, "rekey");
	ck_assert_str_eq(note.value, "a sealed key");
	fails = FC_EFORGED;
	ck_assert_int_eq(call(FUSE_IOCTL, 1, &in, sizeof(in), NULL, 0), EIO);
	fails = 0;
	in.in.in_size = 71;
	ck_assert_int_eq(call(FUSE_IOCTL, 1, &in, sizeof(in), NULL, 0), ENOTTY);
	in.in.in_size = sizeof(in.rekey);
	ck_assert_int_eq(call(FUSE_IOCTL, 77, &in, sizeof(in), NULL, 0), ENOTTY);
}
END_TEST

/* ---- what is no request ----------------------------------------------------- */

START_TEST(malformed_requests_are_refused)
{
	struct fuse_batch_forget_in forgets = { .count = 1u << 30 };
	struct fuse_write_in write = { .size = 1000 };
	struct fuse_in_header header = { .len = 1000, .opcode = FUSE_GETATTR, .unique = last_unique += 2 };

	/* kinds with too short a body, unknown kinds, names without an end */
	for (uint32_t opcode = 0; opcode < 5000; opcode = opcode < 80 ? opcode + 1 : opcode * 2) {
		if (opcode == FUSE_FORGET || opcode == FUSE_BATCH_FORGET || opcode == FUSE_INTERRUPT)
			continue;
		ask(opcode, 77, "xxxxxxx", 7, NULL, 0);
		ck_assert(answered(5000));
		ck_assert_uint_eq(answer.header.unique, last_unique);
	}
	ask(FUSE_BATCH_FORGET, 0, &forgets, sizeof(forgets), "0123456789abcdef", 16);
	ask(FUSE_FORGET, 0, "xxx", 3, NULL, 0);
	ck_assert(!answered(50));
	ck_assert_uint_eq(note.forgets, 0);
	ask(FUSE_WRITE, 77, &write, sizeof(write), "short", 5);
	ck_assert_int_eq(answer_of(0), EIO);
	header.unique = last_unique += 2;
	ck_assert_int_eq(send(device, &header, sizeof(header), 0), sizeof(header));
	ck_assert_int_eq(answer_of(0), EIO);
	ck_assert_int_eq(send(device, &header, 5, 0), 5);
	ck_assert(!answered(50));
	/* and it goes on */
	ck_assert_int_eq(call(FUSE_LOOKUP, 1, NULL, 0, "x", sizeof(struct fuse_entry_out)), 0);
}
END_TEST

START_TEST(options_are_escaped)
{
	struct fc_session_options with = {
		.container = "/a,b\\c d",
		.fuse_options = "allow_other,nodiratime,noatime",
		.read_only = true,
	};
	struct fc_session one = { .options = &with };
	char *text = fc_session_option_string(&one);

	ck_assert_str_eq(text, "fsname=/a\\,b\\\\c d,subtype=fusecrypt,default_permissions,ro,allow_other,noatime");
	ck_assert(one.no_atime && one.no_diratime);
	free(text);
	with = (struct fc_session_options){ .container = "/x" };
	one = (struct fc_session){ .options = &with };
	text = fc_session_option_string(&one);
	ck_assert_str_eq(text, "fsname=/x,subtype=fusecrypt,default_permissions");
	ck_assert(!one.no_atime && !one.no_diratime);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("session");
	TCase *device_case = tcase_create("device"), *plain = tcase_create("plain");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(device_case, begin, finish);
	tcase_add_test(device_case, names_and_errors_pass);
	tcase_add_test(device_case, no_open_no_create_no_flush);
	tcase_add_test(device_case, attributes_are_set_as_meant);
	tcase_add_test(device_case, no_blocks_are_never_kept);
	tcase_add_test(device_case, own_owner_and_birth_are_shown);
	tcase_add_test(device_case, writes_tell_their_flags);
	tcase_add_test(device_case, the_next_write_hears_of_a_full_disk);
	tcase_add_test(device_case, set_id_bits_go_unless_root_does_it);
	tcase_add_test(device_case, reading_notes_the_access_once);
	tcase_add_test(device_case, a_hole_is_looked_at_again_with_its_pages);
	tcase_add_test(device_case, extended_attributes_pass);
	tcase_add_test(device_case, directories_are_listed_as_far_as_they_fit);
	tcase_add_test(device_case, questions_to_the_mount_only_at_its_root);
	tcase_add_test(device_case, free_space_goes_back_when_asked);
	tcase_add_test(device_case, another_master_key_comes_by_a_question);
	tcase_add_test(device_case, malformed_requests_are_refused);
	tcase_add_test(plain, options_are_escaped);
	suite_add_tcase(suite, device_case);
	suite_add_tcase(suite, plain);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
