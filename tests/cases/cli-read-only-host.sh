#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A container on a read-only file system mounts read-only, and says so.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-dev-fuse.sh
. "$SOURCE/tests/cases/lib-dev-fuse.sh"
need_fusecrypt
with_loop tmpfs 60M "$CASE_TMP/host"
mkdir mnt
D=$CASE_TMP
echo words >pass
fc init host/box --kdf interactive --passphrase-file pass
FC_STACK+=("container $D")
status 0 fc mount host/box mnt --passphrase-file pass
echo x >mnt/file
status 0 fc umount mnt
mount -o remount,ro host
sum=$(sha256sum <host/box)
status 0 fc mount host/box mnt --passphrase-file pass
said 'read-only'
equal "$(cat mnt/file)" x content
! { echo y >mnt/file; } 2>/dev/null || fail "it can be written to"
equal "$(fc_field "$D" read_only)" True read_only
status 0 fc sync mnt || true
fc_umount "$D"
equal "$(sha256sum <host/box)" "$sum" "the container"

# a file that may only be read is not silently mounted so
mount -o remount,rw host
chmod 644 host/box
chmod 755 "$CASE_TMP" host
as_user mkdir "$CASE_TMP/home-fctest-a/mnt"
chmod 644 pass
status 1 as_user "$FUSECRYPT" mount host/box "$CASE_TMP/home-fctest-a/mnt" --passphrase-file pass
said '\-\-read-only'
status 0 as_user "$FUSECRYPT" mount host/box "$CASE_TMP/home-fctest-a/mnt" --read-only --passphrase-file pass
equal "$(as_user cat "$CASE_TMP/home-fctest-a/mnt/file")" x content
status 0 as_user "$FUSECRYPT" umount "$CASE_TMP/home-fctest-a/mnt"
