#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The sleep hook locks what it is told to, waits for nobody, and does nothing unless
# asked; the unit's lines are right and do what they say.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
need_root
hook() { env -i PATH=/usr/bin:/bin FUSECRYPT="$FUSECRYPT" FUSECRYPT_SLEEP_LIST="$CASE_TMP/list" sh "$BUILD/tools/systemd/sleep" "$@"; }
sh -n "$BUILD/tools/systemd/sleep"
D=$CASE_TMP/'a  b' M=$D/mnt
fc_begin
E=$CASE_TMP/other
fc_init "$E"
fc_mount "$E"
on() { mountpoint -q "$1" || fail "$1 was unmounted: $2"; }
off() { ! mountpoint -q "$1" || fail "$1 is mounted: $2"; }

status 0 hook pre suspend
on "$M" "there is no list"
printf '%s\n' "$M" /not/a/mount >list
status 0 hook post suspend
on "$M" "after the sleep"
pid=$(fc_field "$D" pid)
status 0 hook pre suspend
off "$M" "it is in the list"
ended "$pid" || fail "its daemon did not end before the sleep"
fc_forget "container $D"
on "$E/mnt" "it is not in the list"

# in use: it stays, and the sleep does not wait
: >list
fc_mount "$D"
exec 8>"$E/mnt/open"
start=$SECONDS
# the namespace of the tests has mounts of other cases: by name
printf '%s\n' "$M" "$E/mnt" >list
status 0 hook pre hibernate
[ $((SECONDS - start)) -le 7 ] || fail "the sleep was held up"
off "$M" "another one is in use"
fc_forget "container $D"
on "$E/mnt" "it is in use"
exec 8>&-

# a daemon that does not answer holds nothing up
pid=$(fc_field "$E" pid)
kill -STOP "$pid"
start=$SECONDS
hook pre suspend || true
took=$((SECONDS - start))
kill -CONT "$pid"
[ "$took" -le 9 ] || fail "a stopped daemon held the sleep up for $took s"
for _ in $(seq 100); do
	mountpoint -q "$E/mnt" || break
	sleep 0.1
	! "$FUSECRYPT" umount "$E/mnt" 2>/dev/null || break
done
fc_forget "container $E"

# the unit
need systemd-analyze systemd-escape
unit="fusecrypt@$(systemd-escape --path "$CASE_TMP/box").service"
mkdir units
bin=$(sed -n 's/^ExecStart=\([^ ]*\) .*/\1/p' "$BUILD/tools/systemd/fusecrypt@.service")
sed "s#$bin#$FUSECRYPT#" "$BUILD/tools/systemd/fusecrypt@.service" >units/fusecrypt@.service
cp units/fusecrypt@.service "units/$unit"
export XDG_RUNTIME_DIR=$CASE_TMP/tmp
systemd-analyze --user --man=no verify "units/$unit" >said 2>&1 || {
	cat said
	# without a manager's directories it may not run at all
	! grep -qi "failed to \(set up\|initialize\) manager" said || skip "systemd-analyze cannot run here"
	fail "systemd-analyze verify"
}
! grep -q "fusecrypt" said || fail "systemd-analyze verify: $(cat said)"
