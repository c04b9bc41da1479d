#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs and libraries run from the mount.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
fc_begin
cp /usr/bin/env /usr/bin/sha256sum "$M/"
printf '#!%s/env bash\necho "script $1"\n' "$M" >"$M/script"
chmod 755 "$M/script"
equal "$("$M/script" argument)" "script argument" "a script whose interpreter lies in the mount"
equal "$(printf x | "$M/sha256sum")" "$(printf x | sha256sum)" "a program"
mkdir "$M/lib"
library=$(ldd /usr/bin/env | sed -n 's/.*=> \(.*libc\.so\.6\) .*/\1/p')
cp "$library" "$M/lib/"
LD_LIBRARY_PATH=$M/lib "$M/env" grep -F "$M/lib/libc.so.6" /proc/self/maps >/dev/null || fail "the library was not loaded from the mount"
cp -L "$(command -v sleep)" "$M/sleep"
"$M/sleep" 100 &
pid=$!
for _ in $(seq 100); do
	[ "$(readlink "/proc/$pid/exe")" != "$M/sleep" ] || break
	sleep 0.02
done
! { printf x >>"$M/sleep"; } 2>/dev/null || fail "a running program could be opened for writing"
cp "$M/env" "$M/sleep.new"
mv "$M/sleep.new" "$M/sleep"
kill -0 $pid || fail "the running program died when its name was replaced"
cmp "/proc/$pid/exe" /usr/bin/sleep || fail "the running program changed when its name was replaced"
kill $pid
wait $pid || true
chmod 644 "$M/script"
! "$M/script" 2>/dev/null || fail "a file without the x bit was executed"
fc_remount "$D"
equal "$(printf x | "$M/sha256sum")" "$(printf x | sha256sum)" "a program after mounting again"
[ -z "${FC_PLAIN:-}" ] || exit 0
fc_remount "$D" -o noexec
! "$M/sha256sum" </dev/null 2>/dev/null || fail "a program ran with noexec"
