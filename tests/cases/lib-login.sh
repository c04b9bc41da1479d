# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A private PAM service with users of its own, in this case's mount namespace; sourced after lib.sh. What
# the module logs comes to $LOG.

need_root
need_fuse
need pamtester useradd chpasswd
own_mounts
grep -q 'define FC_HAVE_PAM 1' "$BUILD/config.h" || skip "built without PAM support"

LOG=$CASE_TMP/log
LOG_PID=
W=$CASE_TMP/login

# The programs beside each other, where any user can execute them; /etc and /run of this case alone.
login_begin() {
	local node
	mkdir -p "$W/src" "$W/tools" "$W/etc" "$W/etc.work" "$W/dev" "$W/home"
	chmod 755 "$CASE_TMP" "$W" "$W/home"
	cp "$FUSECRYPT" "$W/src/"
	cp "$BUILD"/tools/{fusecrypt-unlock,fusecrypt-login,pam_fusecrypt.so} "$W/tools/"
	# the module gives it an environment of its own
	printf '#!/bin/sh\nASAN_OPTIONS=%s:detect_leaks=0 exec %s/tools/fusecrypt-login "$@"\n' \
		"${ASAN_OPTIONS:-}" "$W" >"$W/tools/run-login"
	chmod 755 "$W/tools/run-login"
	host_mount /etc -t overlay -o "lowerdir=/etc,upperdir=$W/etc,workdir=$W/etc.work" fctest
	mkdir -p /run/fusecrypt
	host_mount /run/fusecrypt -t tmpfs -o mode=755 fctest
	# /dev with a place for the log
	host_mount "$W/dev" -t tmpfs -o mode=755 fctest
	for node in null zero full random urandom tty fuse; do
		[ -e "/dev/$node" ] || continue
		: >"$W/dev/$node"
		host_mount "$W/dev/$node" --bind "/dev/$node"
	done
	mkdir "$W/dev/pts"
	host_mount "$W/dev/pts" --bind /dev/pts
	ln -s /proc/self/fd "$W/dev/fd"
	ln -s pts/ptmx "$W/dev/ptmx"
	exec_log() { exec /usr/bin/python3 -c 'import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
log = open(sys.argv[2], "ab", 0)
while True:
    log.write(s.recv(65536).rstrip(b"\0\n") + b"\n")' "$W/dev/log" "$LOG"; }
	exec_log &
	LOG_PID=$!
	for _ in $(seq 100); do
		[ ! -S "$W/dev/log" ] || break
		sleep 0.05
	done
	mount --rbind "$W/dev" /dev
	login_service
}

# login_service [OPTION…]: of the module
login_service() {
	cat >/etc/pam.d/fctest-login <<-END
		auth required pam_unix.so nodelay
		auth optional $W/tools/pam_fusecrypt.so
		account required pam_unix.so
		password required pam_unix.so
		password optional $W/tools/pam_fusecrypt.so helper=$W/tools/run-login $*
		session required pam_unix.so
		session optional $W/tools/pam_fusecrypt.so helper=$W/tools/run-login $*
	END
}

# login_user NAME PASSWORD
login_user() {
	useradd --no-create-home --user-group --shell /bin/sh --home-dir "$W/home/$1" "$1"
	printf '%s:%s\n' "$1" "$2" | chpasswd
	install -d -m 700 -o "$1" -g "$1" "$W/home/$1"
}

# as NAME CMD…: that user
as() {
	local name=$1
	shift
	setpriv --reuid "$name" --regid "$name" --init-groups \
		env HOME="$W/home/$name" USER="$name" ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" "$@"
}

# login NAME PASSWORD OPERATION…: by pamtester, all of it in one process as of a login
login() {
	local name=$1 words=$2
	shift 2
	: >"$LOG"
	status 0 pamtester fctest-login "$name" "$@" <<<"$words"
	if [ "$words" ] && grep -q -F -e "$words" "$LOG"; then
		fail "the passphrase in the log: $(cat "$LOG")"
	fi
}

logged() {
	for _ in $(seq 40); do
		! grep -q -e "$1" "$LOG" || return 0
		sleep 0.05
	done
	fail "it did not log '$1' but: $(cat "$LOG")"
}
log_is_empty() {
	sleep 0.1
	! grep -v pam_unix "$LOG" || fail "logged without need"
}

# What a failure left, too: its daemons use /dev.
fc_at_end() {
	local mount
	cut -d ' ' -f 5 /proc/self/mountinfo | tac | grep "^$W/home/" | while IFS= read -r mount; do
		"$W/src/fusecrypt" umount "$mount" || umount -l "$mount"
	done
	chattr -f -i "$W"/home/*
	[ -n "$LOG_PID" ] || return 0
	kill "$LOG_PID"
	wait "$LOG_PID"
	umount -R /dev
}
