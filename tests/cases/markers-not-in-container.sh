#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
# Markers in names, contents, attributes and link targets are found nowhere outside of
# the mount: not in the container, nor in what the daemon prints, its arguments, its
# environment, or temporary files; neither raw nor as hexadecimal or base64.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
need_fusecrypt
for cipher in xchacha20-poly1305 aes-256-gcm; do
	E=$CASE_TMP/$cipher
	fc_init "$E" --cipher "$cipher" || {
		[ "$cipher" = aes-256-gcm ] || fail "init"
		say "$cipher: not here"
		continue
	}
	# The passphrase is a marker too.
	cp "$E/pass" "$CASE_TMP/tmp/pass-$cipher"
	fc mount "$E/box" "$E/mnt" --foreground --passphrase-file "$E/pass" >"$E/log" 2>&1 &
	for _ in $(seq 200); do
		! mountpoint -q "$E/mnt" || break
		sleep 0.05
	done
	mountpoint -q "$E/mnt" || fail "mount --foreground"
	FC_STACK+=("container $E")
	py - "$E/mnt" <<'END'
import errno, os, sys
from lib import *
os.chdir(sys.argv[1])
write_file("NameOfAFileMarker0", b"ContentOfASmallFileMarker" * 20)
os.mkdir("NameOfADirectoryMk")
write_file("NameOfADirectoryMk/large", b"ContentOfALargeFileMarker " * 100000)
os.symlink("TargetOfALinkMarker1", "link")
os.symlink("/" + "LongTargetOfALinkMk/" * 150, "long-link")
os.setxattr("NameOfAFileMarker0", "user.NameOfAnAttrMarker", b"ValueOfAnAttrMarker" * 4)
os.setxattr("NameOfAFileMarker0", "user.large", b"LargeValueOfAttrMkr" * 3000)
for n in range(1000):
    write_file("NameOfADirectoryMk/ManyFilesMarker-%d" % n, b"ContentOfManyMarker %d" % n)
os.rename("NameOfADirectoryMk/ManyFilesMarker-5", "NameAfterRenameMark")
for n in range(100, 200):
    os.unlink("NameOfADirectoryMk/ManyFilesMarker-%d" % n)
# synchronous writes go through the log
fd = os.open("SynchronousNameMark", os.O_WRONLY | os.O_CREAT | os.O_SYNC)
for n in range(50):
    os.write(fd, b"SynchronousDataMark%d" % n)
# errors name nothing
fails(errno.ENOENT, "nothing", os.stat, "NameOfNothingMarker")
fails(errno.ENOTEMPTY, "a full directory", os.rmdir, "NameOfADirectoryMk")
END
	pid=$(fc_field "$E" pid)
	tr '\0' '\n' <"/proc/$pid/cmdline" >"$E/cmdline"
	tr '\0' '\n' <"/proc/$pid/environ" >"$E/environ" 2>/dev/null || true
	cp "$E/box" "$E/box.live"
	fc sync "$E/mnt"
	fc_umount "$E"
	wait
	py - "$CASE_TMP/tmp/pass-$cipher" "$E/box" "$E/box.live" "$E/log" "$E/cmdline" "$E/environ" "$HOME" "$TMPDIR" <<'END'
import base64, os, sys
from lib import *
markers = [m.encode() for m in """NameOfAFileMarker0 ContentOfASmallFileMarker NameOfADirectoryMk
ContentOfALargeFileMarker TargetOfALinkMarker1 LongTargetOfALinkMk NameOfAnAttrMarker ValueOfAnAttrMarker
LargeValueOfAttrMkr ManyFilesMarker- ContentOfManyMarker NameAfterRenameMark SynchronousNameMark
SynchronousDataMark NameOfNothingMarker""".split()]
markers.append(read_file(sys.argv[1]).rstrip(b"\n"))
def forms(marker):
    yield marker
    yield marker[::-1]
    for text in marker.hex(), marker.hex(" "), marker.hex(":"):
        yield text.encode()
        yield text.upper().encode()
    for shift in range(3):  # what stays the same wherever it lies in base64
        code = base64.b64encode(bytes(shift) + marker)
        start, end = (0, 2, 3)[shift], len(code) // 4 * 4 - 4
        if end - start >= 12:
            yield code[start:end]
            yield code[start:end].translate(bytes.maketrans(b"+/", b"-_"))
    yield marker.decode().encode("utf-16-le")
def search(data):
    return [m for m in markers if any(form in data for form in forms(m))]
# the search finds what is there
for m in markers:
    for text in m, m.hex().upper().encode(), base64.b64encode(b"x" + m), base64.b64encode(b"xyz" + m), m.decode().encode("utf-16-le"):
        equal(search(b"before" + text + b"after"), [m], "the search itself")
files = []
for path in sys.argv[2:]:
    if os.path.isdir(path):
        files += [os.path.join(where, name) for where, _, names in os.walk(path) for name in names]
    elif os.path.exists(path):
        files.append(path)
files = [f for f in files if "pass-" not in os.path.basename(f)]
total = 0
for path in files:
    data = read_file(path)
    total += len(data)
    equal(search(data), [], "markers in " + path)
    equal([m for m in markers if m in os.fsencode(path)], [], "markers in the path " + path)
equal(total > 1000000, True, "bytes searched")
print("%d bytes in %d files searched" % (total, len(files)))
END
	fc_mount "$E"
	equal "$(head -c 25 "$E/mnt/NameOfAFileMarker0")" ContentOfASmallFileMarker "the markers are inside"
	fc_umount "$E"
done
