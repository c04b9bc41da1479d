# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For xfstests, read at the end of its common/dmflakey. The device of this file system is a file, over which
# there is no device mapper: flakey.c stands between the daemon and the file instead, from _init_flakey on
# (the mount helper that `run` makes sees to that) until _cleanup_flakey.

_init_flakey() {
	NON_FLAKEY_DEV=$SCRATCH_DEV
	[ -e "$FLAKEY_SWITCH" ] || printf a >"$FLAKEY_SWITCH"
	_load_flakey_table "$FLAKEY_ALLOW_WRITES"
}

_cleanup_flakey() {
	_unmount "$SCRATCH_MNT" >/dev/null 2>&1
	rm -f "$FLAKEY_SWITCH"
	unset NON_FLAKEY_DEV
}

# The file stays the same one: the daemon has it mapped.
_load_flakey_table() {
	case $1 in
	"$FLAKEY_DROP_WRITES") printf d 1<>"$FLAKEY_SWITCH" ;;
	"$FLAKEY_ALLOW_WRITES") printf a 1<>"$FLAKEY_SWITCH" ;;
	*) _fatal "flakey.c only drops writes" ;;
	esac || _fatal "failed to set $FLAKEY_SWITCH"
}

# umount(8) is done before the daemon is, whose last writes are to be dropped, too.
_flakey_unmount() {
	local i

	_scratch_unmount
	for ((i = 0; i < 600; i++)); do
		find /proc/[0-9]*/fd -lname "$SCRATCH_DEV" 2>/dev/null | grep -q . || return
		sleep 0.1
	done
	_fatal "the daemon of $SCRATCH_DEV does not end"
}

# A machine whose power was cut does not remember commits of afterwards either: they would
# make the container an older copy, which is refused.
_flakey_drop_and_remount() {
	rm -rf "$XDG_STATE_HOME.cut"
	cp -a "$XDG_STATE_HOME" "$XDG_STATE_HOME.cut"
	_load_flakey_table "$FLAKEY_DROP_WRITES"
	_flakey_unmount
	rm -rf "$XDG_STATE_HOME"
	mv "$XDG_STATE_HOME.cut" "$XDG_STATE_HOME"
	[ "x${1:-}" != xyes ] || _check_scratch_fs
	_load_flakey_table "$FLAKEY_ALLOW_WRITES"
	_scratch_mount
}

_require_flakey_with_error_writes() {
	_notrun "flakey.c only drops writes"
}
