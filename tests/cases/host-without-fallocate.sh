#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A container on a host whose fallocate is refused: ext4 with the block maps of ext3.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-host.sh
. "$SOURCE/tests/cases/lib-host.sh"
need_root
with_loop ext4 64M "$CASE_TMP/probe" -O '^extents,^64bit,^metadata_csum'
! fallocate -l 1M "$CASE_TMP/probe/f" 2>/dev/null || fail "this host does allocate: the case shows nothing"
host_umount "$CASE_TMP/probe"
on_host ext4 700M -O '^extents,^64bit,^metadata_csum'
