#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A mount whose owners are mapped (mount -o X-mount.idmap, what containers use) shows them so, and
# what is made through it has the owner that is meant. Who may administer the mount stays as it was.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_root
need_fusecrypt
own_mounts "$@"
case $(uname -r) in [0-5].* | 6.[0-9].* | 6.1[01].*) skip "the kernel's FUSE has none before 6.12" ;; esac
fc_begin
fc_remount "$D" -o allow_other
chmod 755 "$CASE_TMP" "$D"
chmod 777 "$M"
mkdir mapped other
cat >map.py <<'END'
"""map.py FROM TO FIRST SHOWN COUNT: binds FROM to TO; owners from FIRST on are shown as from SHOWN on."""
import os, struct, sys
from lib import libc, _checked
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
CLONE, CLOEXEC, EMPTY_PATH, IDMAP, NEWUSER = 1, os.O_CLOEXEC, 0x1000, 0x100000, 0x10000000
source, target, first, shown, count = sys.argv[1:]
ready, go = os.pipe(), os.pipe()
child = os.fork()
if not child:
    _checked(libc.unshare(NEWUSER))
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    os._exit(0)
os.read(ready[0], 1)
for name in "uid_map", "gid_map":
    with open("/proc/%d/%s" % (child, name), "w") as f:
        f.write("%s %s %s" % (first, shown, count))
users = os.open("/proc/%d/ns/user" % child, os.O_RDONLY)
tree = _checked(libc.syscall(OPEN_TREE, -100, source.encode(), CLONE | CLOEXEC))
attr = struct.pack("4Q", IDMAP, 0, 0, users)
_checked(libc.syscall(MOUNT_SETATTR, tree, b"", EMPTY_PATH, attr, len(attr)))
_checked(libc.syscall(MOVE_MOUNT, tree, b"", -100, target.encode(), 4))
os.write(go[1], b"x")
os.waitpid(child, 0)
END
chmod 755 mapped
mkdir "$M/d"
echo theirs >"$M/d/file"
chown -R 1000:1001 "$M/d"
chmod 600 "$M/d/file"
chmod 700 "$M/d"
py map.py "$M" mapped 1000 5000 100
equal "$(stat -c '%u:%g' mapped/d/file)" 5000:5001 "the owner shown"
as_ids 5000 5001 - sh -ec 'cat mapped/d/file >/dev/null; echo new >mapped/d/new; mkdir mapped/d/dir; ln -s x mapped/d/link
	chmod 640 mapped/d/new; mv mapped/d/new mapped/d/newer' || fail "the owner shown may not use it"
equal "$(cd "$M/d" && stat -c '%n %u:%g' newer dir link | tr '\n' ';')" \
	"newer 1000:1001;dir 1000:1001;link 1000:1001;" "the owner of what was made there"
! as_ids 1000 1001 - cat mapped/d/file 2>/dev/null || fail "the owner that is not shown may read it"
! as_ids 5000 5001 - cat "$M/d/file" 2>/dev/null || fail "the owner that is shown may read it at the other place"
chown 5007:5008 mapped/d/newer
equal "$(stat -c '%u:%g' "$M/d/newer")" 1007:1008 "after chown"
as_ids 5000 5001 - /usr/bin/python3 -c 'import os; os.setxattr("mapped/d/file", "user.x", b"1"); os.truncate("mapped/d/file", 2)' ||
	fail "neither attribute nor size could be set"
printf x >"$M/set-id"
chmod 6777 "$M/set-id"
fallocate -l 8192 "$M/set-id"
equal "$(stat -c %a "$M/set-id")" 6777 "set-id bits after fallocate by root"
as_ids 5000 5001 - fallocate -l 16384 "$M/set-id"
equal "$(stat -c %a "$M/set-id")" 777 "set-id bits after fallocate by somebody else"
cp "$FUSECRYPT" program # its folder may be closed to others
as_other ./program resize "$M" 5G >said 2>&1 && fail "somebody else could set the limit"
grep -q 'another user' said || fail "it did not say why: $(cat said)"
as_other ./program compact "$M" >said 2>&1 && fail "somebody else could compact it"
fc resize "$M" 5G >/dev/null || fail "root could not set the limit"
umount mapped
