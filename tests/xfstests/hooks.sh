# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For xfstests, read at the end of its common/rc. It knows no mkfs and no fsck for FSTYP=fuse: it deletes
# the files, and leaves out the tests that need a file system of a given size. Here it has both.

_fusecrypt_mkfs() { # SIZE
	_scratch_unmount >/dev/null 2>&1
	rm -f "$SCRATCH_DEV"
	"$FUSECRYPT" init "$SCRATCH_DEV" --key-file "$FUSECRYPT_KEY" --size-limit "$1"
}

_scratch_mkfs() {
	_fusecrypt_mkfs 4G
}

_try_scratch_mkfs_sized() { # BYTES [BLOCK-SIZE]
	_fusecrypt_mkfs "$1"
}

# Reads and verifies all of a container; mounts it again when it was mounted.
_fusecrypt_check() { # CONTAINER test|scratch
	local mounted=''

	if findmnt -S "$1" >/dev/null; then
		mounted=1
		"_$2_unmount" || return 1
	fi
	if ! "$FUSECRYPT" check "$1" --key-file "$FUSECRYPT_KEY" >"$tmp.check" 2>&1; then
		_log_err "fusecrypt check of $1: see $seqres.full"
		cat "$tmp.check" >>"$seqres.full"
		return 1
	fi
	[ -z "$mounted" ] || "_$2_mount"
}

_check_test_fs() {
	_fusecrypt_check "$TEST_DEV" test
}

_check_scratch_fs() {
	_fusecrypt_check "${1:-$SCRATCH_DEV}" scratch
}

# It compares this with FSTYP, which has no subtype.
_fs_type() {
	_df_device "$1" | awk '{ sub(/^fuse\..*/, "fuse", $2); print $2 }'
}

# ---- what it asks of a file system by its type, and has no answer for FSTYP=fuse

# Any byte but / and NUL.
_require_names_are_bytes() {
	:
}

# In KiB: what _scratch_mkfs makes, and not what the file takes so far.
_get_device_size() {
	echo $((4 << 20))
}

# 64 bits of seconds.
_filesystem_timestamp_range() {
	echo "$((1 << 63)) $(((1 << 63) - 1))"
}

# ---- block devices

# Of the device mapper's targets there is one: see flakey.sh.
_require_dm_target() {
	[ "$1" = flakey ] || _notrun "a file has no dm $1 target"
}

# A file is as local as a disk; but some then take it for a disk, or mount it without the options it needs.
_require_local_device() {
	[ -f "$1" ] || _notrun "require $1 to be a local file"
	! grep -q '^[^#]*\(blockdev\|_mkfs_dev\|_get_mount\)' "$0" || _notrun "takes $1 for a block device"
}
