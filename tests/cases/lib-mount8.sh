# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# For cases of mount(8) and umount(8) by root, sourced after lib.sh: in a mount namespace of
# their own, whose /sbin has the helpers alone.
# shellcheck disable=SC2034 # of lib-dev-fuse.sh
own_namespace=1
# shellcheck source=tests/cases/lib-dev-fuse.sh
. "$SOURCE/tests/cases/lib-dev-fuse.sh"
need_fusecrypt
need mount umount
sbin=$(realpath /sbin)
host_mount "$sbin" -t tmpfs fctest
for name in mount.fusecrypt mount.fuse.fusecrypt umount.fusecrypt umount.fuse.fusecrypt; do
	ln -s "$FUSECRYPT" "$sbin/$name"
done
mkdir -p /run/mount
host_mount /run/mount -t tmpfs fctest
is_mounted() { mountpoint -q "$1" || fail "$1 is not mounted"; }
