#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# A file system that returns other bytes than were written is noticed by every workload that looks at them.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-bench.sh
. "$SOURCE/tests/cases/lib-bench.sh"
need gcc
cat >liar.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
/* In files below a folder named liar, the 20th byte of what is read by more than 1000 is wrong. */
static void lie(int fd, char *data, ssize_t n)
{
	char link[64], path[4096];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = n > 1000 ? readlink(link, path, sizeof(path) - 1) : -1;
	if (length < 0)
		return;
	path[length] = 0;
	if (strstr(path, "/liar/"))
		data[19] ^= 0x20;
}
ssize_t read(int fd, void *data, size_t bytes)
{
	ssize_t (*real)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
	ssize_t n = real(fd, data, bytes);

	lie(fd, data, n);
	return n;
}
ssize_t pread64(int fd, void *data, size_t bytes, off64_t at)
{
	ssize_t (*real)(int, void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pread64");
	ssize_t n = real(fd, data, bytes, at);

	lie(fd, data, n);
	return n;
}
END
gcc -shared -fPIC -o liar.so liar.c -ldl
mkdir honest liar
lying() {
	LD_PRELOAD=$CASE_TMP/liar.so ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 \
		bench . --quick --runs 1 --workload "$1" --plain honest --inside liar --json r.json
}
for workload in extract copy xbench asssd metadata launch sqlite; do
	got=0
	lying "$workload" || got=$?
	equal "$got" 1 "the status of $workload"
	outcome=$(json 'r["workloads"][0]["status"], r["workloads"][0]["reason"]' r.json)
	case $outcome in
	"('failed', 'inside: "*"wrong data"*) ;;
	"('failed', 'inside: "*"malformed"* | "('failed', 'inside: "*"not a database"*)
		[ "$workload" = sqlite ] || fail "$workload: $outcome"
		;;
	# An archive whose reading fails is as good as one that unpacks to something else.
	"('failed', 'inside: "*"broken archive"*) [ "$workload" = extract ] || fail "$workload: $outcome" ;;
	*) fail "$workload: $outcome" ;;
	esac
	equal "$(json 'r["results"], r["runs"]' r.json)" "([], [])" "figures of a workload that failed"
	grep -q FAILED out || fail "the table does not say it: $(cat out)"
	equal "$(ls -A honest liar)" "$(printf 'honest:\n\nliar:')" "what $workload left"
done
# One that fails does not keep the others from being measured.
got=0
lying copy,raytrace,xml || got=$?
equal "$got" 1 "the status"
equal "$(json '[w["status"] for w in r["workloads"] if w["name"] in ("copy", "xml")]' r.json)" "['failed', 'measured']" \
	"the outcomes"
