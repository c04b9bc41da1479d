#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# POSIX ACLs: enforced, inherited, kept in step with the mode.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
need setfacl getfacl setpriv
fc_begin -o allow_other
chmod 755 "$M"
cd "$M"
acl() { getfacl -cEn "$1" | grep . | tr '\n' ' '; }
allowed() { as_ids "$1" "$1" "$2" sh -c "$3" 2>/dev/null || fail "user $1 ($2) may not: $3"; }
denied() { ! as_ids "$1" "$1" "$2" sh -c "$3" 2>/dev/null || fail "user $1 ($2) may: $3"; }

mkdir d
chmod 700 d
setfacl -dm u:1000:rwx d
equal "$(acl d)" "user::rwx group::--- other::--- default:user::rwx default:user:1000:rwx default:group::--- default:mask::rwx default:other::--- " "a default ACL"
setfacl -m u:1000:rwx d
(umask 077 && echo inherited >d/file && mkdir d/sub)
equal "$(acl d/file)" "user::rw- user:1000:rwx group::--- mask::rw- other::--- " "ACL of a new file"
equal "$(stat -c %a d/file d/sub | tr '\n' ' ')" "660 770 " "modes of what is new: no umask where a default ACL is"
equal "$(acl d/sub)" "user::rwx user:1000:rwx group::--- mask::rwx other::--- default:user::rwx default:user:1000:rwx default:group::--- default:mask::rwx default:other::--- " "ACL of a new directory"
allowed 1000 - 'cat d/file && echo more >>d/file && echo x >d/mine && rm d/mine'
denied 1001 - 'cat d/file'
denied 1001 - 'ls d'
mkfifo d/fifo
equal "$(acl d/fifo)" "user::rw- user:1000:rwx group::--- mask::rw- other::--- " "ACL of a new FIFO"
ln -s file d/link
equal "$(stat -c %a d/link)" 777 "mode of a symbolic link"
(umask 022 && mkdir plain && echo x >plain/file)
equal "$(stat -c %a plain plain/file | tr '\n' ' ')" "755 644 " "modes below the umask without a default ACL"

echo secret >f
chown 1:1 f
chmod 640 f
setfacl -m u:1000:r--,g:3000:rw- f
equal "$(acl f)" "user::rw- user:1000:r-- group::r-- group:3000:rw- mask::rw- other::--- " "an ACL with a group"
equal "$(stat -c %a f)" 660 "the group's bits show the mask"
allowed 1000 - 'cat f'
denied 1000 - 'echo x >>f'
allowed 1002 3000 'echo more >>f'
denied 1002 3001 'cat f'
chmod g-w f
equal "$(acl f)" "user::rw- user:1000:r-- group::r-- group:3000:rw- mask::r-- other::--- " "chmod changes the mask"
denied 1002 3000 'echo x >>f'
allowed 1002 3000 'cat f'
chmod 600 f
denied 1000 - 'cat f'
chmod 664 f
setfacl -x u:1000 f
allowed 1000 - 'cat f'
setfacl -m u:1000:--- f
denied 1000 - 'cat f'
allowed 1001 - 'cat f'
setfacl -b f
equal "$(acl f)" "user::rw- group::r-- other::r-- " "after removing the ACL"

setfacl -m u:1000:rw f
cp -a f g
equal "$(acl g)" "$(acl f)" "ACL of a copy"
mkdir many
for n in $(seq 30); do setfacl -m "u:$((5000 + n)):r" many; done
equal "$(getfacl -cEn many | grep -c '^user:50')" 30 "entries of a long ACL"
setfacl -k d
mkdir d/after
equal "$(acl d/after)" "user::rwx group::r-x other::r-x " "a new directory after the default ACL was removed"
as_ids 1000 1000 - setfacl -m u:1001:rwx f 2>/dev/null && fail "one who does not own a file changed its ACL"
getfacl -Rn . >"$CASE_TMP/before"
cd "$CASE_TMP"
fc_remount "$D" -o allow_other
cd "$M"
getfacl -Rn . >"$CASE_TMP/after"
cd "$CASE_TMP"
diff "$CASE_TMP/before" "$CASE_TMP/after" || fail "ACLs after mounting again"
