# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# For cases with an ordinary user, sourced after lib.sh. Where /dev/fuse is root's
# alone (a machine without udev), the case starts again in a mount namespace that
# shows one for all, as udev makes it. With own_namespace=1 it does so in any case.
need_root
need_fuse
if [ -z "${FC_OWN_DEV:-}" ] && { [ -n "${own_namespace:-}" ] || ! as_user sh -c ': <>/dev/fuse' 2>/dev/null; }; then
	need unshare mknod
	trap - EXIT
	# shellcheck disable=SC2016 # for the shell inside
	FC_OWN_DEV=1 exec unshare -m --propagation private bash -c '
		# what other cases have mounted must not stay open here
		umount -a -l -t fuse.fusecrypt
		cut -d " " -f 5 /proc/self/mountinfo | tac | while IFS= read -r mount; do
			mount=$(printf "%b" "${mount//\\/\\0}")
			case $mount in
			"${CASE_TMP%/*}"/*) umount -l "$mount" ;;
			esac
		done
		mkdir "$CASE_TMP/dev" && mount -t tmpfs none "$CASE_TMP/dev" && mknod -m 666 "$CASE_TMP/dev/fuse" c 10 229 &&
			chmod 666 "$CASE_TMP/dev/fuse" && mount --bind "$CASE_TMP/dev/fuse" /dev/fuse || {
			echo "no /dev/fuse for ordinary users"
			exit 77
		}
		exec bash "$0"' "$SOURCE/tests/cases/$(basename "$0")"
fi
