#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# extract takes RAR, zip, 7z and tar.*; broken and hostile archives end it before, or without, touching anything else.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-bench.sh
. "$SOURCE/tests/cases/lib-bench.sh"
mkdir a b archives
py - archives <<'END'
import binascii, io, os, struct, sys, tarfile, zipfile
out = os.path.abspath(sys.argv[1]) + "/"
files = {"top.txt": b"hello\n" * 100, "folder/deep/data.bin": bytes(range(256)) * 64, "folder/empty": b""}

# RAR 4, method "stored": blocks of CRC (low half of CRC-32), type, flags, size, fields.
def rar4_block(kind, flags, fields, data=b""):
    head = struct.pack("<BHH", kind, flags, 7 + len(fields)) + fields
    return struct.pack("<H", binascii.crc32(head) & 0xffff) + head + data
def rar4():
    parts = [b"Rar!\x1a\x07\x00", rar4_block(0x73, 0, bytes(6))]
    for name, data in files.items():
        n = name.encode()
        # packed size, unpacked size, made on Unix, CRC-32, DOS time, version 2.0, stored, name length, mode
        fields = struct.pack("<IIBIIBBHI", len(data), len(data), 3, binascii.crc32(data), 0x5a210000, 20, 0x30, len(n),
            0o100644) + n
        parts.append(rar4_block(0x74, 0x8000, fields, data))
    return b"".join(parts) + rar4_block(0x7b, 0x4000, b"")

# RAR 5: blocks of CRC-32, then numbers of 7 bits a byte.
def number(v):
    text = b""
    while True:
        text += bytes([v & 0x7f | (0x80 if v > 0x7f else 0)])
        v >>= 7
        if not v:
            return text
def rar5_block(kind, flags, fields, data=None):
    size = b"" if data is None else number(len(data))
    head = number(kind) + number(flags | (0 if data is None else 2)) + size + fields
    head = number(len(head)) + head
    return struct.pack("<I", binascii.crc32(head)) + head + (data or b"")
def rar5():
    parts = [b"Rar!\x1a\x07\x01\x00", rar5_block(1, 0, number(0))]
    for name, data in files.items():
        n = name.encode()
        # flags: a CRC-32 follows; size, mode, CRC, method "stored", Unix, name
        fields = number(4) + number(len(data)) + number(0o100644) + struct.pack("<I", binascii.crc32(data)) + \
            number(0) + number(1) + number(len(n)) + n
        parts.append(rar5_block(2, 0, fields, data))
    return b"".join(parts) + rar5_block(5, 0, number(0))

def tar(mode, names):
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode=mode) as t:
        for name, data in names:
            info = tarfile.TarInfo(name)
            if isinstance(data, str):
                info.type, info.linkname, data = tarfile.SYMTYPE, data, b""
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return memory.getvalue()
def zipped():
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            z.writestr(name, data)
    return memory.getvalue()
good = {"four.rar": rar4(), "five.rar": rar5(), "a.zip": zipped()}
for kind in ("gz", "bz2", "xz"):
    good["a.tar." + kind] = tar("w:" + kind, files.items())
for name, data in good.items():
    open(out + name, "wb").write(data)
# One bit is wrong: in a name, which the checksum of its header covers (libarchive does
# not look at those of the content of a RAR that is not compressed); in compressed data.
for name, at in (("four.rar", good["four.rar"].index(b"folder/deep")), ("five.rar", good["five.rar"].index(b"folder/deep")),
                 ("a.zip", good["a.zip"].index(b"data.bin") + 20)):
    flipped = bytearray(good[name])
    flipped[at] ^= 1
    open(out + "flipped-" + name, "wb").write(flipped)
for name in ("four.rar", "a.zip", "a.tar.gz"):
    open(out + "cut-" + name, "wb").write(good[name][:len(good[name]) * 2 // 3])
open(out + "text.rar", "wb").write(b"this is no archive\n" * 50)
open(out + "empty.zip", "wb").close()
open(out + "dotdot.tar", "wb").write(tar("w:", [*files.items(), ("../../../escaped", b"x")]))
open(out + "absolute.tar", "wb").write(tar("w:", [*files.items(), (out + "escaped", b"x")]))
open(out + "link.tar", "wb").write(tar("w:", [("way", out), ("way/escaped", b"x")]))
# What archives of people contain: links, and a file twice, of which the later one counts.
open(out + "links.tar", "wb").write(tar("w:", [*files.items(), ("link", "top.txt"), ("dangling", "nowhere")]))
open(out + "twice.tar", "wb").write(tar("w:", [*files.items(), ("top.txt", b"later")]))
END
if command -v bsdtar >/dev/null; then
	mkdir seven
	echo seven >seven/file
	bsdtar -caf archives/a.7z seven
fi
extract() { bench "$CASE_TMP" --quick --runs 1 --workload extract --plain a --inside b --archive "archives/$1" --json r.json; }
unchanged() {
	equal "$(ls -A a b)" "$(printf 'a:\n\nb:')" "what is left after $1"
	find . -name '*escaped*' | grep . && fail "$1 wrote outside of its directory"
	no_scratch
}
for name in four.rar five.rar a.zip a.tar.gz a.tar.bz2 a.tar.xz; do
	extract "$name" || fail "$name: $(cat err)"
	equal "$(json 'r["material"][0].split("): ")[1]' r.json)" "3 files, 17 kB" "what is in $name"
	equal "$(json 'r["runs"][0]["bytes"], r["runs"][0]["operations"]' r.json)" "(16984, 3)" "what came out of $name"
	unchanged "$name"
done
if [ -e archives/a.7z ]; then
	extract a.7z || fail "7z: $(cat err)"
	equal "$(json 'r["runs"][0]["bytes"]' r.json)" 6 "what came out of 7z"
fi
for name in links.tar twice.tar; do
	extract "$name" || fail "$name: $(cat err)"
	unchanged "$name"
done
equal "$(json 'r["runs"][0]["bytes"]' r.json)" $((16984 - 600 + 5)) "a file that is in it twice"
for name in flipped-four.rar flipped-five.rar flipped-a.zip cut-four.rar cut-a.zip cut-a.tar.gz text.rar empty.zip; do
	rm -f r.json
	got=0
	extract "$name" || got=$?
	equal "$got" 1 "the status for $name"
	tells "unreadable or broken archive"
	[ ! -e r.json ] || fail "$name: there is a result"
	unchanged "$name"
done
for name in dotdot.tar absolute.tar link.tar; do
	got=0
	extract "$name" || got=$?
	equal "$got" 1 "the status for $name"
	unchanged "$name"
done
got=0
bench . --workload extract --plain a --inside b --archive archives/none.rar || got=$?
equal "$got" 2 "the status for an archive that is not there"
bench . --workload extract --plain a --inside b --archive archives && fail "took a directory for an archive"
tells "not a regular file"
