#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Debian's pam-auth-update puts the module where it belongs with one command, takes it out again, and leaves it out
# unless it is told to.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
need pam-auth-update
[ -e "$BUILD/tools/fusecrypt.pam-config" ] || skip "built without PAM support"
own_mounts
mkdir profiles
cp /usr/share/pam-configs/* profiles/
cp "$BUILD/tools/fusecrypt.pam-config" profiles/fusecrypt
# a systemd that is not installed here
[ -e profiles/systemd ] || printf '%s\n' 'Name: systemd' 'Default: yes' 'Priority: 0' 'Session-Interactive-Only: yes' \
	'Session-Type: Additional' 'Session:' '	optional	pam_systemd.so' >profiles/systemd
for dir in /etc /var/lib/pam /var/cache/debconf; do
	mkdir -p "$CASE_TMP/over$dir/upper" "$CASE_TMP/over$dir/work"
	host_mount "$dir" -t overlay -o "lowerdir=$dir,upperdir=$CASE_TMP/over$dir/upper,workdir=$CASE_TMP/over$dir/work" fctest
done
host_mount /usr/share/pam-configs --bind "$CASE_TMP/profiles"
export DEBIAN_FRONTEND=noninteractive
has() { grep -c '^[^#]*pam_fusecrypt.so' "/etc/pam.d/common-$1" || :; }
status 0 pam-auth-update --package
equal "$(has auth) $(has session) $(has password)" "0 0 0" "lines without being told to"
status 0 pam-auth-update --enable fusecrypt
equal "$(has auth) $(has session) $(has password) $(has session-noninteractive) $(has account)" "1 1 1 0 0" "lines"
# after who asks for the passphrase, and before who starts programs that need the home
for one in auth password; do
	before=$(grep -v '^#' "/etc/pam.d/common-$one" | grep -o 'pam_[a-z]*' | grep -x -m 1 -e pam_unix -e pam_fusecrypt)
	equal "$before" pam_unix "first of common-$one"
done
before=$(grep -v '^#' /etc/pam.d/common-session | grep -o 'pam_[a-z]*' | grep -x -m 1 -e pam_systemd -e pam_fusecrypt)
equal "$before" pam_fusecrypt "first of common-session"
status 0 pam-auth-update --package --remove fusecrypt
equal "$(has auth) $(has session) $(has password)" "0 0 0" "lines after it was removed"
