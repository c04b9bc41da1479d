# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# protect and unprotect on a file system of their own: $H, with the directory $H/d; what it
# must always hold is $CASE_TMP/ref/d.

# shellcheck disable=SC2034 # used by the cases
H=$CASE_TMP/host

# protect_host SIZE FILES LARGE: a file system of that size with a tree of so many files, and one file of LARGE bytes.
protect_host() {
	need_fusecrypt
	need_fuse
	need rsync
	mkdir -p "$CASE_TMP/ref"
	printf 'correct horse, battery staple\n' >"$CASE_TMP/pass"
	printf 'wrong\n' >"$CASE_TMP/wrong"
	with_loop ext4 "$1" "$H" -m 0
	make_tree "$CASE_TMP/ref/d" "$2"
	head -c "$3" /dev/urandom >"$CASE_TMP/ref/d/large"
	ln "$CASE_TMP/ref/d/large" "$CASE_TMP/ref/d/large again"
	setfacl -m u:1234:rx -d -m g:4321:rwx "$CASE_TMP/ref/d" 2>/dev/null || true
	chmod 2751 "$CASE_TMP/ref/d"
	touch -d '2001-02-03 04:05:06.789' "$CASE_TMP/ref/d"
}

# fill_up PERCENT: files outside of DIR until so much of $H is in use.
fill_up() {
	local size used
	size=$(df_field size "$H")
	used=$(df_field used "$H")
	fallocate -l $((size * $1 / 100 - used)) "$H/other"
}

protect() { fc protect "$@" --passphrase-file "$CASE_TMP/pass"; }
unprotect() { fc unprotect "$@" --passphrase-file "$CASE_TMP/pass"; }

# is_plain: DIR is an ordinary directory with all it must hold, and nothing else is left.
is_plain() {
	! mountpoint -q "$H/d" || fail "it is still mounted"
	[ ! -e "$H/d.fusecrypt" ] || fail "the container is still there"
	nothing_left
	compare "$CASE_TMP/ref/d" "$H/d"
}

# is_protected: DIR is unlocked and has all it must hold.
is_protected() {
	mountpoint -q "$H/d" || fail "it is not mounted"
	nothing_left
	compare "$CASE_TMP/ref/d" "$H/d"
}

nothing_left() {
	local left
	left=$(find "$H" -mindepth 1 -maxdepth 1 ! -name d ! -name d.fusecrypt ! -name other ! -name 'lost+found')
	[ -z "$left" ] || fail "left beside it: $left"
}

# The mount ends with the case, whatever became of it.
protect_end() {
	! mountpoint -q "$H/d" || fc umount "$H/d" || umount -l "$H/d"
	fc_end
}
trap protect_end EXIT
