#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# git init, commit, gc, clone, fsck; and a clone of a repository of the host.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need git
fc_begin
export GIT_CONFIG_GLOBAL=$CASE_TMP/gitconfig GIT_CONFIG_NOSYSTEM=1
git config --global user.name Tester
git config --global user.email tester@example.org
git config --global init.defaultBranch main
git config --global safe.directory '*'
git config --global gc.auto 0
mkdir "$M/repo"
cd "$M/repo"
git init -q .
for n in $(seq 60); do
	mkdir -p "dir$((n % 7))"
	for f in 1 2 3 4 5; do echo "file $f of commit $n" >>"dir$((n % 7))/file$f-$((n % 11))"; done
	git add -A
	git commit -q -m "commit $n"
done
echo >>dir1/file1-1
git add .
git commit -q -m "one more"
git checkout -q -b side HEAD~20
echo side >side-file
git add .
git commit -q -m side
git checkout -q main
git merge -q -m merge side
git rm -q -r dir3
git mv dir4 moved
git commit -q -m "moved"
git stash list
git tag -a -m tag v1
git fsck --strict --no-progress >"$CASE_TMP/said" 2>&1 || fail "fsck: $(cat "$CASE_TMP/said")"
equal "$(git rev-list --count HEAD)" 64 "commits"
equal "$(git status --porcelain)" "" "status"
head=$(git rev-parse HEAD)
git gc -q --aggressive --prune=now
git fsck --strict --no-progress >"$CASE_TMP/said" 2>&1 || fail "fsck after gc: $(cat "$CASE_TMP/said")"
equal "$(git rev-parse HEAD)" "$head" "head after gc"
git clone -q "$M/repo" "$M/clone"
git clone -q --no-hardlinks "$M/repo" "$CASE_TMP/outside"
git -C "$CASE_TMP/outside" fsck --strict --no-progress
equal "$(git -C "$M/clone" rev-parse HEAD)" "$head" "head of the clone"
git worktree add -q ../worktree side
equal "$(cat ../worktree/side-file)" side "a work tree"
git repack -q -a -d -f --depth=50 --window=20
git fsck --no-progress
cd "$CASE_TMP"
rm -rf "$CASE_TMP/outside/.git" "$CASE_TMP/export"
mkdir "$CASE_TMP/export"
git -C "$M/repo" archive HEAD | tar -x -C "$CASE_TMP/export"
diff -r "$CASE_TMP/export" "$CASE_TMP/outside" || fail "the tree inside and outside"
# this project, where it has a repository
if git -C "$SOURCE" rev-parse -q --verify HEAD >/dev/null 2>&1; then
	git clone -q "$SOURCE" "$M/project"
	git -C "$M/project" fsck --no-progress
	git -C "$M/project" gc -q
	equal "$(git -C "$M/project" rev-parse HEAD)" "$(git -C "$SOURCE" rev-parse HEAD)" "head of this project's clone"
fi
fc_remount "$D"
git -C "$M/repo" fsck --strict --no-progress || fail "fsck after mounting again"
git -C "$M/clone" fsck --strict --no-progress || fail "fsck of the clone after mounting again"
equal "$(git -C "$M/repo" status --porcelain)" "" "status after mounting again"
equal "$(git -C "$M/repo" rev-parse HEAD)" "$head" "head after mounting again"
