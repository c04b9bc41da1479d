# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# A container on a host file system of a kind: sourced by the host-* cases.
#
# on_host FS SIZE [MKFS OPTION…]

on_host() {
	local dir=$CASE_TMP/host/c
	need_fusecrypt
	with_loop "$1" "$2" "$CASE_TMP/host" "${@:3}"
	fc_init "$dir"
	fc_mount "$dir"
	make_tree "$CASE_TMP/tree" 1500
	pack "$CASE_TMP/tree" "$CASE_TMP/tree.tar"
	unpack "$CASE_TMP/tree.tar" "$dir/mnt/tree"
	compare "$CASE_TMP/tree" "$dir/mnt/tree"
	fc_remount "$dir"
	compare "$CASE_TMP/tree" "$dir/mnt/tree"
	fc sync "$dir/mnt"
	fc_kill "$dir"
	fc_mount "$dir"
	compare "$CASE_TMP/tree" "$dir/mnt/tree"

	# What is removed goes back to the host.
	local small large now
	small=$(du -B1 "$dir/box" | cut -f 1)
	head -c 100000000 /dev/urandom >"$dir/mnt/large"
	fc sync "$dir/mnt"
	large=$(du -B1 "$dir/box" | cut -f 1)
	[ $((large - small)) -ge 100000000 ] || fail "100 MB more take $((large - small)) bytes of the host"
	rm "$dir/mnt/large"
	for _ in $(seq 150); do # by itself, within some commits
		now=$(du -B1 "$dir/box" | cut -f 1)
		[ $((now - small)) -gt 33554432 ] || break
		sleep 0.2
	done
	[ $((now - small)) -le 33554432 ] || fail "after removing, $((now - small)) bytes did not go back to the host"
	compare "$CASE_TMP/tree" "$dir/mnt/tree"
	rm -rf "$dir/mnt/tree"
	fc_umount "$dir"
}
