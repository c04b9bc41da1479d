# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# What the cases share; sourced at the top of each. What it mounts is unmounted
# when the case ends, and a failure to do so fails the case.
#
# With FC_PLAIN set, fc_mount shows a plain directory of the host instead of a
# container, so that a case can be tried against a local file system.

set -eu
: "${CASE_TMP:?run it with tests/run-cases}"
export PYTHONPATH=$FC_LIB PYTHONDONTWRITEBYTECODE=1
umask 022
cd "$CASE_TMP"

say() { printf '%s\n' "$*"; }
fail() {
	printf 'FAILED: %s\n' "$*"
	exit 1
}
skip() {
	printf '%s\n' "$*"
	exit 77
}

# equal GOT WANT WHAT
equal() { [ "$1" = "$2" ] || fail "$3: got '$1', right is '$2'"; }

# status WANT COMMAND…: the command ends with that exit status. What it prints goes to $CASE_TMP/said.
status() {
	local want=$1 got=0
	shift
	"$@" >"$CASE_TMP/said" 2>&1 || got=$?
	[ "$got" -eq "$want" ] || {
		cat "$CASE_TMP/said"
		fail "status $got, right is $want: $*"
	}
}

# said WORDS: the last `status` printed them (as a basic regular expression, in any case).
said() { grep -qi -e "$1" "$CASE_TMP/said" || fail "it did not say '$1' but: $(cat "$CASE_TMP/said")"; }

need() {
	local program
	for program in "$@"; do
		command -v "$program" >/dev/null || skip "no program $program"
	done
}
need_root() { [ "$(id -u)" -eq 0 ] || skip "needs root"; }
need_fuse() { [ -n "${FC_PLAIN:-}" ] || { : <>/dev/fuse; } 2>/dev/null || skip "no usable /dev/fuse"; }
need_fusecrypt() { [ -z "${FC_PLAIN:-}" ] || skip "only with a container"; }

# The system's own Python: it is there for every user.
py() { /usr/bin/python3 "$@"; }

# ---- containers: DIR/box is mounted at DIR/mnt, its passphrase lies in DIR/pass ------

FC_AS=()    # a command before each fusecrypt, e.g. (as_user)
FC_STACK=() # what is mounted, in that order: "container DIR" or "host DIR"

fc() { "${FC_AS[@]}" "$FUSECRYPT" "$@"; }

# fc_init DIR [OPTION…]
fc_init() {
	local dir=$1
	shift
	need_fuse
	if [ -n "${FC_PLAIN:-}" ]; then
		mkdir -p "$dir/mnt" "$dir/plain"
		return
	fi
	"${FC_AS[@]}" mkdir -p "$dir/mnt"
	"${FC_AS[@]}" sh -c "printf 'correct horse, battery staple\n' >\"\$1/pass\"" sh "$dir"
	fc init "$dir/box" --kdf interactive --passphrase-file "$dir/pass" "$@"
}

# fc_mount DIR [OPTION…]
fc_mount() {
	local dir=$1
	shift
	if [ -n "${FC_PLAIN:-}" ]; then
		mount --bind "$dir/plain" "$dir/mnt"
	else
		fc mount "$dir/box" "$dir/mnt" --passphrase-file "$dir/pass" "$@"
	fi
	FC_STACK+=("container $dir")
}

fc_forget() {
	local one left=()
	for one in "${FC_STACK[@]}"; do
		[ "$one" = "$1" ] || left+=("$one")
	done
	FC_STACK=("${left[@]}")
}

# fc_umount DIR
fc_umount() {
	fc_forget "container $1"
	if [ -n "${FC_PLAIN:-}" ]; then
		umount "$1/mnt"
	else
		fc umount "$1/mnt"
	fi
}

# fc_begin [OPTION…]: a container at $D, mounted with these options at $M.
D=$CASE_TMP/c
# shellcheck disable=SC2034 # used by the cases
M=$D/mnt
fc_begin() {
	fc_init "$D"
	fc_mount "$D" "$@"
}

# fc_remount DIR [OPTION…]: what lasts is what a new mount shows.
fc_remount() {
	fc_umount "$1"
	fc_mount "$@"
}

# fc_field DIR FIELD: of status --json.
fc_field() {
	fc status "$1/mnt" --json | py -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$2"
}

# ended PID: it is gone, or waits for its parent with no thread left.
ended() {
	[ -d "/proc/$1" ] || return 0
	[ "$(ls "/proc/$1/task" 2>/dev/null | wc -l)" -le 1 ] && grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

# fc_kill DIR: as a crash of the daemon; the dead mount point stays. (A plain directory is unmounted.)
fc_kill() {
	local pid
	fc_forget "container $1"
	if [ -n "${FC_PLAIN:-}" ]; then
		umount "$1/mnt"
		return
	fi
	pid=$(fc_field "$1" pid)
	kill -9 "$pid"
	for _ in $(seq 200); do
		! ended "$pid" || return 0
		sleep 0.05
	done
	fail "process $pid does not die"
}

# df_field FIELD PATH: in bytes where it is a size; df rounds nothing off here.
df_field() { df --output="$1" -B1 "$2" | tail -n 1 | tr -d ' '; }

# ---- users -------------------------------------------------------------------------

# as_user CMD…, as_other CMD…: as an ordinary user with a home of its own. Root makes the users.
as_user() { fc_as fctest-a "$@"; }
as_other() { fc_as fctest-b "$@"; }
fc_as() {
	local name=$1 home="$CASE_TMP/home-$1"
	shift
	need_root
	(
		flock 9
		id "$name" >/dev/null 2>&1 || useradd --no-create-home --user-group --shell /bin/sh --home-dir /nonexistent "$name"
	) 9>"$FC_LIB/users.lock"
	[ -d "$home" ] || install -d -o "$name" -g "$name" "$home"
	# A daemon that is not dumpable cannot be traced by its user, as the leak check would.
	setpriv --reuid "$name" --regid "$name" --init-groups \
		env HOME="$home" USER="$name" ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" "$@"
}

# as_ids UID GID GROUPS CMD…: as these numbers (GROUPS: comma-separated, - for none) without capabilities.
as_ids() {
	local groups=(--clear-groups)
	[ "$3" = - ] || groups=(--groups "$3")
	setpriv --reuid "$1" --regid "$2" "${groups[@]}" "${@:4}"
}

# own_mounts: the rest of the case sees and makes mounts of its own: over the system's directories, too. First of all.
own_mounts() {
	[ -n "${FC_NAMESPACE:-}" ] || skip "no mount namespace"
	[ -n "${FC_OWN_MOUNTS:-}" ] || FC_OWN_MOUNTS=1 exec unshare -m --propagation private bash "$SOURCE/tests/cases/${0##*/}"
	drop_copies
}
# drop_copies: in a mount namespace of its own, where copies of other cases' mounts would hold those.
drop_copies() {
	cut -d " " -f 5 /proc/self/mountinfo | tac | while IFS= read -r point; do
		point=$(printf '%b' "${point//\\/\\0}")
		case $point in
		"${CASE_TMP%/*}"/*) umount -l "$point" ;;
		esac
	done
}
export -f drop_copies

# ---- host file systems ---------------------------------------------------------------

# host_mount DIR MOUNT-ARGUMENT…, host_umount DIR: mounts of the host that end with the case.
host_mount() {
	mount "${@:2}" "$1" || return
	FC_STACK+=("host $1")
}
host_umount() {
	umount "$1" || fail "cannot unmount $1"
	fc_forget "host $1"
}

can_loop() {
	command -v "mkfs.$1" >/dev/null && command -v losetup >/dev/null && [ -e /dev/loop-control ] &&
		{ grep -qw "$1" /proc/filesystems || modprobe -q "$1" 2>/dev/null; }
}

# with_loop FS SIZE DIR [MKFS OPTION…]: mounts a new FS of that size at DIR. FS: ext4, xfs, btrfs, vfat, tmpfs, ramfs.
with_loop() {
	local fs=$1 size=$2 dir=$3
	shift 3
	need_root
	mkdir -p "$dir"
	case $fs in
	tmpfs) host_mount "$dir" -t tmpfs -o "size=$size" fctest ;;
	ramfs) host_mount "$dir" -t ramfs fctest ;;
	*)
		can_loop "$fs" || skip "no loop devices with $fs"
		truncate -s "$size" "$dir.img"
		local loop options=(-q)
		[ "$fs" != vfat ] || options=()
		[ "$fs" != ext4 ] || options=(-q -b 4096)
		"mkfs.$fs" "${options[@]}" "$@" "$dir.img" >"$CASE_TMP/mkfs.log" 2>&1 || {
			cat "$CASE_TMP/mkfs.log"
			fail "mkfs.$fs"
		}
		loop=$(losetup --find --show "$dir.img") || skip "no free loop device"
		# The device goes with the mount.
		host_mount "$dir" -t "$fs" "$loop" || {
			losetup -d "$loop"
			fail "cannot mount $fs"
		}
		losetup -d "$loop"
		;;
	esac
}

# ---- ending --------------------------------------------------------------------------

# For what else a case has running: it may define this anew.
fc_at_end() { :; }

fc_end() {
	local result=$? i stack=("${FC_STACK[@]}")
	trap - EXIT
	set +e
	cd /
	fc_at_end
	for ((i = ${#stack[@]} - 1; i >= 0; i--)); do
		case ${stack[i]} in
		container*) fc_umount "${stack[i]#* }" ;;
		*) umount "${stack[i]#* }" ;;
		esac || {
			say "cannot unmount: ${stack[i]}"
			[ $result -ne 0 ] || result=1
		}
	done
	exit $result
}
trap fc_end EXIT
trap 'exit 130' INT TERM

# ---- trees ---------------------------------------------------------------------------

# make_tree DIR FILES: the same tree each time: files small and large, links, odd names, attributes, ACLs.
make_tree() { py "$FC_LIB/libtree.py" "$1" "$2"; }

# compare A B: the same names, bytes, modes, owners, times (ns), links, ACLs and attributes.
compare() {
	local differ
	differ=$(rsync -aHAXni --checksum --delete --modify-window=-1 "$1/" "$2/")
	[ -z "$differ" ] || fail "$1 and $2 differ: $(head -n 20 <<<"$differ")"
}

# pack DIR ARCHIVE and unpack ARCHIVE DIR: tar with everything that it can keep.
pack() { tar -C "$1" --format=posix --xattrs --acls -cf "$2" .; }
unpack() {
	mkdir -p "$2"
	tar -C "$2" --warning=no-timestamp --xattrs --xattrs-include='*' --acls -xpf "$1"
}
