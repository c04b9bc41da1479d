#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# A second reader, written from fusecrypt-format(5) alone (libformat.py), sees what the
# mount showed: names, content, attributes, and a space map without holes or leaks.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
need_fusecrypt
reader() { py "$FC_LIB/libformat.py" "$@"; }
same() {
	fc_umount "$1"
	fc_mount "$1" --read-only
	reader outside "$1/mnt" >"$CASE_TMP/shown"
	fc_umount "$1"
	reader list "$1/box" "$1/pass" >"$CASE_TMP/read" || fail "the second reader fails ($2)"
	diff "$CASE_TMP/shown" "$CASE_TMP/read" >"$CASE_TMP/said" || fail "the second reader sees something else ($2): $(head -n 10 "$CASE_TMP/said")"
	say "$2: $(wc -l <"$CASE_TMP/read") files"
	fc_mount "$1" -o noatime,dev,commit=600
}
for cipher in xchacha20-poly1305 aes-256-gcm; do
	E=$CASE_TMP/$cipher
	fc_init "$E" --cipher "$cipher" --log-size 1M || {
		[ "$cipher" = aes-256-gcm ] || fail "init"
		continue
	}
	# libsodium opens AES-GCM with the processor's help only
	grep -q '^flags.* aes .*pclmulqdq\|^flags.* pclmulqdq .* aes ' /proc/cpuinfo || [ "$cipher" != aes-256-gcm ] || continue
	fc_mount "$E" -o noatime,dev
	same "$E" "$cipher, empty"
	make_tree "$E/mnt/tree" 1500
	mknod "$E/mnt/device" b 7 300
	setfacl -m u:1000:rwx -dm u:1001:r "$E/mnt/tree"
	py - "$E/mnt" <<'END'
import os, sys
from lib import *
os.chdir(sys.argv[1])
os.setxattr("tree", "trusted.large", pattern(65536))
os.setxattr("tree", "user.middle", pattern(3000))
write_file("large", pattern(5000001))
a, b = os.open("large", os.O_RDWR), os.open("copy", os.O_RDWR | os.O_CREAT)
os.copy_file_range(a, b, 5000001)
os.pwrite(b, b"changed", 2000000)
fallocate(a, PUNCH_HOLE | KEEP_SIZE, 1000000, 500000)
fallocate(b, KEEP_SIZE, 6000000, 3000000)
fd = os.open("reserved", os.O_RDWR | os.O_CREAT)
fallocate(fd, 0, 0, 12 << 20)
os.pwrite(fd, b"within", 5 << 20)
os.ftruncate(os.open("sparse", os.O_RDWR | os.O_CREAT), 100000000)
END
	same "$E" "$cipher, a tree"
	cp -a "$E/mnt/tree" "$E/mnt/second"
	rm -rf "$E/mnt/tree"/dir1*
	fc sync "$E/mnt"
	mv "$E/mnt/second" "$E/mnt/tree/moved"
	for n in $(seq 300); do echo "$n" >"$E/mnt/n$n"; done
	rm "$E"/mnt/n1*
	fc sync "$E/mnt"
	truncate -s 12345 "$E/mnt/copy"
	same "$E" "$cipher, after changes"

	# what is in the log after a crash; a session's first sync is a commit
	touch "$E/mnt/first"
	fc sync "$E/mnt"
	mkdir "$E/mnt/logged"
	ln -s target "$E/mnt/logged/link"
	echo content >"$E/mnt/logged/file"
	setfattr -n user.a -v value "$E/mnt/logged/file"
	mv "$E/mnt/logged/file" "$E/mnt/logged/renamed"
	head -c 20000 /dev/urandom >"$E/mnt/logged/data"
	rm "$E/mnt/n2"
	sync "$E/mnt/logged/data" "$E/mnt/logged"
	fc_kill "$E"
	reader log "$E/box" "$E/pass" >"$CASE_TMP/said" || fail "the second reader cannot read the log"
	for words in "CREATE.*b'logged'.*'default'" "CREATE.*b'link'.*'target': b'target'" "WRITE.*'count': 8.*b'content" \
		"SETXATTR.*b'user.a'.*b'value'" "RENAME.*b'file'.*b'renamed'" "MAP.*'block': 0" "UNLINK.*b'n2'"; do
		said "$words"
	done
	fc_mount "$E" -o noatime,dev
	same "$E" "$cipher, after a crash"
	fc_umount "$E"
done
