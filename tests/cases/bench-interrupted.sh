#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 400
# Interrupted at any moment, fusecrypt-bench removes what it made (files, container, mount, processes) and nothing else.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-bench.sh
. "$SOURCE/tests/cases/lib-bench.sh"
need_fuse
need_fusecrypt
mkdir -p here/fusecrypt-bench.theirs
echo mine >here/mine
echo theirs >here/fusecrypt-bench.theirs/file
before=$(listing here | tail -n +2)

# interrupt SIGNAL WORKLOAD FILE: as soon as a file of that path pattern is there below the directory.
interrupt() {
	local signal=$1 workload=$2 pattern=$3 pid got=0 found=
	(cd here && exec setsid "$BENCH" --full --workload "$workload" --json "$CASE_TMP/r.json") >out 2>err </dev/null &
	pid=$!
	for _ in $(seq 1200); do
		found=$(find here -path "$pattern" -print -quit 2>/dev/null)
		[ -z "$found" ] || break
		kill -0 $pid 2>/dev/null || break
		sleep 0.1
	done
	[ -n "$found" ] || {
		cat out err
		kill -TERM $pid 2>/dev/null
		fail "$workload: no $pattern appeared"
	}
	kill -"$signal" $pid
	wait $pid || got=$?
	equal "$got" 130 "$workload: the status after SIG$signal"
	tells "interrupted"
	equal "$(listing here | tail -n +2)" "$before" "$workload: what is there afterwards"
	no_scratch
	[ ! -e r.json ] || fail "$workload: half a result"
	grep -F "$CASE_TMP" /proc/self/mountinfo && fail "$workload: still mounted"
	if pgrep -f -- "$CASE_TMP/here|--homedir $TMPDIR" | grep . >left; then
		fail "$workload: left running: $(xargs -n 1 ps -o args= -p <left)"
	fi
	return 0
}
interrupt INT extract '*/inside/fusecrypt-bench.*/extract'
interrupt TERM copy '*/copy/from/file'
interrupt INT xbench '*/inside/*/xbench/large'
interrupt HUP metadata '*/metadata/folder-3'
interrupt INT launch '*/launch/app-1/lib/lib-3'
interrupt INT sqlite '*/sqlite/database'
# With programs that start others.
PATH=$PATH:/usr/sbin
if command -v fio >/dev/null; then
	interrupt INT iometer '*/inside/*/iometer/file'
fi
if command -v gpg >/dev/null; then
	interrupt INT gnupg '*/inside/*/gnupg/plain'
fi
if command -v bonnie++ >/dev/null; then
	interrupt TERM bonnie '*/bonnie/Bonnie.*'
fi
