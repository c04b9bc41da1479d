#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# mount(8) and umount(8) with the helpers in /sbin: by type, by lines of fstab, by an
# ordinary user, options that are for mount(8) itself; umount waits for the commit.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-mount8.sh
. "$SOURCE/tests/cases/lib-mount8.sh"
as_user true
# Only this namespace has another fstab.
: >fstab
host_mount /etc/fstab --bind "$CASE_TMP/fstab"
not_mounted() { ! mountpoint -q "$1" || fail "$1 is mounted"; }
unused() { [ "$(lslocks -n -o PATH 2>/dev/null | grep -cxF "$1")" -eq 0 ] || fail "$1 is still locked"; }

fc_init "$D"
pass=passphrase-file=$D/pass

# by type; umount returns when all is committed and the daemon gone
for type in fusecrypt fuse.fusecrypt; do
	status 0 mount -t "$type" -o "$pass,commit=3600" "$D/box" "$M"
	is_mounted "$M"
	head -c 40000000 /dev/urandom >"$M/$type"
	sum=$(sha256sum <"$M/$type")
	pid=$(fc_field "$D" pid)
	status 0 umount "$M"
	ended "$pid" || fail "umount returned before the daemon ended"
	unused "$D/box"
	fc_mount "$D"
	equal "$(sha256sum <"$M/$type")" "$sum" "what was written before umount"
	fc_umount "$D"
done

# a line of fstab, with all that is not for us
cat >fstab <<END
$D/box $M fusecrypt noauto,nofail,_netdev,noatime,ro,$pass,x-systemd.automount,x-systemd.idle-timeout=5min,comment=x 0 0
END
status 0 mount "$M"
is_mounted "$M"
! touch "$M/new" 2>/dev/null || fail "ro is not heeded"
grep -q " $M .*noatime" /proc/self/mountinfo || fail "noatime is not heeded"
status 32 mount -t fusecrypt -o "$pass" "$D/box" "$M"
said 'in use'
status 0 umount "$M"
status 0 mount -a
not_mounted "$M" # noauto
cat >fstab <<END
$D/box $M fusecrypt $pass 0 0
END
status 0 mount -a -t fusecrypt
is_mounted "$M"
status 0 mount -a
equal "$(grep -c " $M " /proc/self/mountinfo)" 1 "mounts after a second mount -a"

# suid and dev are the defaults of mount(8), which keeps them to itself
grep " $M " /proc/self/mountinfo | grep -Eq 'nosuid|nodev' && fail "nosuid or nodev without being asked for"
status 0 umount "$M"
echo "$D/box $M fusecrypt $pass,nosuid,nodev 0 0" >fstab
status 0 mount "$M"
grep " $M " /proc/self/mountinfo | grep nosuid | grep -q nodev || fail "nosuid,nodev is not heeded"
status 0 umount "$M"
echo "$D/box $M fusecrypt $pass,suid,dev 0 0" >fstab
status 0 mount "$M"
mknod "$M/null" c 1 3
echo x >"$M/null" || fail "a device in spite of dev"
rm "$M/null"

# remount: the kernel's part changes, the daemon and what is open stay
exec 8<"$M/fusecrypt"
echo before >"$M/kept"
status 0 mount -o remount,ro "$M"
! touch "$M/new" 2>/dev/null || fail "remount,ro is not heeded"
equal "$(cat "$M/kept")" before "what was written before"
status 0 mount -o remount,rw,nosuid "$M"
grep " $M " /proc/self/mountinfo | grep -q nosuid || fail "remount,nosuid is not heeded"
echo after >"$M/kept"
exec 8<&-
status 0 umount "$M"
echo "$D/box $M fusecrypt $pass,ro 0 0" >fstab
status 0 mount "$M"
equal "$(cat "$M/kept")" after "what was written when it was writable again"
status 0 mount -o remount,rw "$M"
echo new >"$M/kept"
status 0 mount -o remount,ro "$M"
equal "$(cat "$M/kept")" new "what was written to what was mounted read-only"
status 0 umount "$M"
echo "$D/box $M fusecrypt $pass 0 0" >fstab
status 0 mount "$M"

# in use: refused, it stays; a bind mount goes alone; lazily on demand
exec 8<"$M/fusecrypt"
status 32 umount "$M"
said 'in use by'
exec 8<&-
mkdir other
mount --bind "$M" other
status 0 umount other
is_mounted "$M"
cd "$M"
status 0 umount -l "$M"
cd "$CASE_TMP"
not_mounted "$M"
for _ in $(seq 100); do
	lslocks -n -o PATH | grep -qxF "$D/box" || break
	sleep 0.1
done

# a key file; a wrong passphrase, no container, nofail, a bad option with and without -s
head -c 64 /dev/urandom >key
status 0 fc init keyed --kdf interactive --key-file key
status 0 mount -t fusecrypt -o "key-file=$CASE_TMP/key" "$CASE_TMP/keyed" "$M"
status 0 umount "$M"
echo wrong >wrong
status 32 mount -t fusecrypt -o "passphrase-file=$CASE_TMP/wrong" "$D/box" "$M"
said 'key'
status 32 mount -t fusecrypt -o "$pass" "$CASE_TMP/none" "$M"
said 'none'
status 0 mount -t fusecrypt -o "$pass,nofail" "$CASE_TMP/none" "$M"
not_mounted "$M"
status 1 "$sbin/mount.fusecrypt" "$D/box" "$M" -o "$pass,nonsense"
said 'nonsense'
status 0 "$sbin/mount.fusecrypt" "$D/box" "$M" -s -n -v -o "$pass,nonsense,rw" -t fusecrypt
is_mounted "$M"
echo new >"$M/new"
status 0 "$sbin/umount.fusecrypt" -n -v "$M"
status 32 "$sbin/umount.fusecrypt" "$M"
said 'nothing is mounted'
status 0 "$sbin/mount.fusecrypt" "$D/box" "$M" -f -o "$pass"
not_mounted "$M"
status 1 "$sbin/mount.fusecrypt" "$D/box"
status 1 "$sbin/mount.fusecrypt" "$D/box" "$M" -t ext4
status 1 "$sbin/mount.fusecrypt" "$D/box" "$M" -x
status 1 "$sbin/umount.fusecrypt"
status 1 "$sbin/umount.fusecrypt" -x "$M"

# without a secret and a terminal it is an error, not a question (a boot goes on)
status 32 timeout 20 mount -t fusecrypt "$D/box" "$M"

# the daemon killed: umount takes the dead mount away
status 0 mount -t fusecrypt -o "$pass" "$D/box" "$M"
fc_kill "$D"
status 0 umount "$M"
not_mounted "$M"

# an ordinary user, where the line permits it
U=$CASE_TMP/home-fctest-a
chmod 755 "$CASE_TMP"
as_user mkdir "$U/mnt"
as_user sh -c "echo words >$U/pass"
status 0 as_user "$FUSECRYPT" init "$U/box" --kdf interactive --passphrase-file "$U/pass"
echo "$U/box $U/mnt fusecrypt noauto,user,passphrase-file=$U/pass 0 0" >fstab
status 0 as_user mount "$U/mnt"
as_user sh -c "echo mine >$U/mnt/file"
equal "$(as_user cat "$U/mnt/file")" mine "the user's file"
! ls "$U/mnt" 2>/dev/null || fail "root sees into a user's mount"
grep " $U/mnt " /proc/self/mountinfo | grep nosuid | grep -q nodev || fail "a user's mount without nosuid,nodev"
as_user umount "$U/mnt"
not_mounted "$U/mnt"
unused "$U/box"
