#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Without /dev/fuse: status 8 at once, before a secret is asked for.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
need_root
need unshare
echo words >pass
mkdir mnt
fc init box --kdf interactive --passphrase-file pass
status 8 unshare -m sh -c 'umount -a -l -t fuse.fusecrypt; mount -t tmpfs none /dev && : >/dev/null && exec "$0" mount box mnt --passphrase-file absent' "$FUSECRYPT"
said '/dev/fuse'
