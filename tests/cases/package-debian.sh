#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 900
# long
# tools/package-debian builds a package that lintian is content with, which has all
# that belongs to it, and whose program finds its helper where that is installed.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
need_root
need dpkg-buildpackage dh lintian meson unshare
"$SOURCE/tools/package-debian" "$CASE_TMP/deb" >log 2>&1 || {
	tail -n 60 log
	fail "it cannot be built"
}
deb=$(ls deb/fusecrypt_*.deb)
status 0 lintian --fail-on error,warning "$deb"
dpkg-deb -x "$deb" tree
for file in bin/fusecrypt libexec/fusecrypt-unlock sbin/mount.fusecrypt sbin/umount.fusecrypt \
	sbin/mount.fuse.fusecrypt sbin/umount.fuse.fusecrypt lib/systemd/user/fusecrypt@.service \
	lib/systemd/system-sleep/fusecrypt share/bash-completion/completions/fusecrypt \
	share/zsh/vendor-completions/_fusecrypt share/fish/vendor_completions.d/fusecrypt.fish \
	share/man/man1/fusecrypt.1.gz share/man/man5/fusecrypt-format.5.gz share/man/man8/fusecrypt-unlock.8.gz \
	share/man/man8/mount.fusecrypt.8.gz share/man/man8/umount.fusecrypt.8.gz share/pam-configs/fusecrypt; do
	[ -e "tree/usr/$file" ] || fail "the package has no $file"
done
for page in "$SOURCE"/man/*.[1-9]; do
	case $page in
	*fusecrypt-bench*) continue ;; # not packaged
	esac
	[ -n "$(find tree/usr/share/man -name "$(basename "$page").gz")" ] || fail "the package has no $(basename "$page")"
done
grep -q '^ExecStart=/usr/bin/fusecrypt mount' 'tree/usr/lib/systemd/user/fusecrypt@.service' || fail "the unit's program"
grep -q 'FUSECRYPT:-/usr/bin/fusecrypt}' tree/usr/lib/systemd/system-sleep/fusecrypt || fail "the sleep hook's program"

# as installed: the helper is not beside the program
echo words >pass
# shellcheck disable=SC2016 # for the shell inside
status 0 unshare -m --propagation private bash -eu -c '
	drop_copies
	mkdir mnt
	mount --bind tree/usr/libexec /usr/libexec
	program=$CASE_TMP/tree/usr/bin/fusecrypt
	"$program" init box --kdf interactive --passphrase-file pass
	"$program" mount box mnt --passphrase-file pass
	echo text >mnt/file
	grep -q "^Seccomp:.*2" "/proc/$("$program" status mnt | sed -n "s/^pid  *//p")/status"
	"$program" umount mnt'
