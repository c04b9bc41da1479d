#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A daemon that serves has confined itself, each of its threads, root's and an ordinary
# user's; what it may not do any more, its steward does, who holds nothing of it. (What
# the confinement refuses is tried in tests/test_confine.c.)
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-dev-fuse.sh
. "$SOURCE/tests/cases/lib-dev-fuse.sh"
need_fusecrypt
gone() {
	for _ in $(seq 150); do
		! ended "$1" || return 0
		sleep 0.1
	done
	return 1
}
# field FILE NAME
field() { sed -n "s/^$2:[[:space:]]*//p" "$1"; }
steward_of() { pgrep -P "$1" -x fusecrypt-aid; }
calls=0
grep -q '^#define FC_HAVE_SECCOMP 1' "$BUILD/config.h" && calls=2

look_at() {
	local pid=$1 task steward
	for task in "/proc/$pid/task"/*; do
		equal "$(field "$task/status" NoNewPrivs)" 1 "NoNewPrivs of a thread"
		equal "$(field "$task/status" Seccomp)" "$calls" "Seccomp of a thread"
	done
	[ "$(ls "/proc/$pid/task" | wc -l)" -ge 4 ] || fail "it has few threads"
	grep -qE '^Max core file size +0 +0 ' "/proc/$pid/limits" || fail "core dumps are not switched off"
	equal "$(stat -c %u "/proc/$pid/mem")" 0 "owner of its memory: dumpable"
	steward=$(steward_of "$pid") || fail "it has no steward"
	equal "$(find "/proc/$steward/fd" -type l -lname 'socket:*' | wc -l)" 1 "sockets of the steward"
	equal "$(find "/proc/$steward/fd" -type l ! -lname /dev/null | wc -l)" 1 "what the steward has open"
	equal "$(readlink "/proc/$steward/cwd")" / "where the steward is"
}

U=$CASE_TMP/home-fctest-a
chmod 755 "$CASE_TMP"
for who in root user; do
	[ $who = root ] || FC_AS=(as_user)
	[ $who = root ] || D=$U/c M=$U/c/mnt
	"${FC_AS[@]}" mkdir -p "$D"
	fc_init "$D"
	fc_mount "$D"
	pid=$(fc_field "$D" pid)
	look_at "$pid"

	# work with many threads, commits, the generation recorded, all of it while confined
	before=$(fc_field "$D" generation)
	"${FC_AS[@]}" cp -r "$SOURCE/src" "$SOURCE/man" "$M/"
	"${FC_AS[@]}" sh -c "head -c 20000000 /dev/urandom >$M/large; cat $M/large | cmp - $M/large"
	status 0 fc sync "$M"
	look_at "$pid"
	after=$(fc_field "$D" generation)
	[ "$after" -gt "$before" ] || fail "nothing was committed"
	home=$HOME
	[ $who = root ] || home=$U
	equal "$(sed -n 's/^generation //p' "$home/.local/state/fusecrypt/$(fc_field "$D" uuid)")" "$after" \
		"the generation recorded"

	# unmounting itself, and its steward goes with it
	steward=$(steward_of "$pid")
	kill -TERM "$pid"
	gone "$pid" || fail "SIGTERM did not end $who's daemon"
	gone "$steward" || fail "the steward stayed"
	! mountpoint -q "$M" || fail "still mounted after SIGTERM"
	fc_forget "container $D"
	fc_mount "$D" -o idle=1
	"${FC_AS[@]}" cmp "$SOURCE/man/fusecrypt.1" "$M/man/fusecrypt.1"
	pid=$(fc_field "$D" pid)
	gone "$pid" || fail "$who's idle daemon did not unmount"
	! mountpoint -q "$M" || fail "still mounted when idle"
	fc_forget "container $D"

	# a signal to all of them (a service that is stopped): the steward waits for the daemon
	fc_mount "$D"
	pid=$(fc_field "$D" pid)
	steward=$(steward_of "$pid")
	kill -TERM "$steward" "$pid"
	gone "$pid" || fail "a SIGTERM to both did not end the daemon"
	gone "$steward" || fail "the steward stayed after a SIGTERM to both"
	fc_forget "container $D"

	# the daemon killed, the steward ends; the steward killed, the daemon serves on
	fc_mount "$D"
	steward=$(steward_of "$(fc_field "$D" pid)")
	fc_kill "$D"
	gone "$steward" || fail "the steward outlives a daemon that was killed"
	fc_mount "$D"
	pid=$(fc_field "$D" pid)
	kill -9 "$(steward_of "$pid")"
	"${FC_AS[@]}" sh -c "echo more >$M/more"
	kill -TERM "$pid"
	sleep 0.3
	equal "$("${FC_AS[@]}" cat "$M/more")" more "a file after the steward was killed"
	fc_umount "$D"
done

# a user's directory that was locked is locked again below the mount
as_user sh -c "echo 'This directory is locked by fusecrypt.' >$M/FUSECRYPT-LOCKED.txt && chmod 500 $M"
fc_mount "$D"
"${FC_AS[@]}" test -e "$M/more"
fc_umount "$D"
equal "$(stat -c %a "$M")" 500 "mode of a locked directory that was mounted"
