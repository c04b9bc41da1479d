# SPDX-License-Identifier: GPL-2.0-or-later
"""A second implementation that reads containers, written from fusecrypt-format(5).

libformat.py list CONTAINER PASSFILE   what the newest root shows, one line a file
libformat.py outside DIR               the same lines, of a mounted directory
libformat.py log CONTAINER PASSFILE    the operations in the log
"""
import ctypes
import ctypes.util
import hashlib
import os
import stat
import struct
import sys

sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")
sodium.sodium_init()
xxhash = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
xxhash.XXH3_64bits.restype = ctypes.c_uint64
BLOCK, NODE, CHUNK, CHUNK_BLOCKS = 4096, 16384, 4 << 20, 1024


class Damaged(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Damaged(what)


def u(data, at, n=8):
    return int.from_bytes(data[at:at + n], "little")


def pad32(text):
    return text.encode().ljust(32, b"\0")


def blake2b(key, data, bits=256):
    return hashlib.blake2b(data, key=key, digest_size=bits // 8).digest()


def _open(function, key, nonce, sealed, ad):
    out = ctypes.create_string_buffer(max(len(sealed) - 16, 1))
    size = ctypes.c_ulonglong()
    if function(out, ctypes.byref(size), None, sealed, ctypes.c_ulonglong(len(sealed)), ad,
                ctypes.c_ulonglong(len(ad)), nonce, key):
        return None
    return out.raw[:size.value]


def xchacha(key, nonce, sealed, ad=b""):
    return _open(sodium.crypto_aead_xchacha20poly1305_ietf_decrypt, key, nonce, sealed, ad)


def aes_gcm(key, nonce, sealed, ad=b""):
    return _open(sodium.crypto_aead_aes256gcm_decrypt, key, nonce, sealed, ad)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        shift += 7
        at += 1
        if byte < 128:
            need(value < 1 << 64 and (byte or shift == 7), "a varint")
            return value, at


class Container:
    def __init__(self, path, passphrase):
        self.file = open(path, "rb")
        self.keys, self.salts = {}, {}
        self.header(passphrase)
        self.find_root()

    def read(self, offset, n):
        self.file.seek(offset)
        return self.file.read(n).ljust(n, b"\0")

    # ---- header ----
    def header(self, passphrase):
        copies = []
        for offset in (0, 128 << 10):
            raw = self.read(offset, 20480)
            if raw[:8] != bytes.fromhex("894643525950540a") or u(raw, 8, 4) != 1:
                continue
            if u(raw, 4088) != xxhash.XXH3_64bits(raw[:4088] + bytes(8) + raw[4096:], ctypes.c_size_t(20480)):
                continue
            need((u(raw, 12, 4), u(raw, 16), u(raw, 40) & ~1) == (20480, offset, 0), "header fields")
            copies.append(raw)
        need(copies, "no header copy is whole")
        self.master = self.unlock(copies, passphrase)
        key = self.purpose("header")
        copies = [raw for raw in copies
                  if blake2b(key, raw[:4032] + bytes(32) + raw[4064:4088] + bytes(8) + raw[4096:]) == raw[4032:4064]]
        need(copies, "no header copy verifies")
        raw = max(copies, key=lambda c: u(c, 24))
        self.sequence, self.uuid, self.cipher = u(raw, 24), raw[56:72], u(raw, 72, 4)
        self.old = None
        if any(raw[120:192]):
            need(u(raw, 40) == 1, "feature of a rekey")
            self.old = xchacha(self.purpose("old"), raw[120:144], raw[144:192], self.uuid + raw[84:88])
            need(self.old, "the old master key does not open")
        self.log_offset, self.log_bytes, self.data_offset = u(raw, 88), u(raw, 96), u(raw, 104)
        need((u(raw, 76, 4), u(raw, 80, 4)) == (BLOCK, NODE), "units")
        need(self.data_offset == -(-(self.log_offset + self.log_bytes) // CHUNK) * CHUNK, "data offset")

    def unlock(self, copies, passphrase):
        for raw in copies:
            for n in range(16):
                slot = raw[4096 + n * 1024:5120 + n * 1024]
                if u(slot, 0, 4) != 1 or u(slot, 4, 4) != 1:
                    continue
                salt = slot[32:64]
                if u(slot, 16, 4) == 1:
                    out = ctypes.create_string_buffer(32)
                    need(not sodium.crypto_pwhash(out, ctypes.c_ulonglong(32), passphrase,
                                                  ctypes.c_ulonglong(len(passphrase)), salt[:16],
                                                  ctypes.c_ulonglong(u(slot, 20, 4)), ctypes.c_size_t(u(slot, 24)), 2),
                         "Argon2id")
                    stretched = out.raw
                else:
                    stretched = blake2b(pad32("fusecrypt 1 slot secret"), passphrase)
                wrapping = blake2b(stretched, pad32("fusecrypt 1 slot wrap") + salt)
                if blake2b(wrapping, pad32("fusecrypt 1 slot commit")) != slot[136:168]:
                    continue
                aad = slot[4:8] + slot[16:24] + slot[168:172] + slot[24:32] + slot[8:16] + salt
                master = xchacha(wrapping, slot[64:88], slot[88:136], aad)
                if master:
                    return master
        raise Damaged("no slot opens")

    # ---- keys ----
    def purpose(self, name, salt=b"", master=None):
        return blake2b(master or self.master, pad32("fusecrypt 1 " + name) + salt)

    def session_key(self, session, name):
        if (session, name) not in self.keys:
            master = self.master if self.own <= session <= self.sessions else self.old
            need(master and (self.own <= session <= self.sessions or self.first <= session <= self.old_last), "session")
            index, at = divmod(session - 1, 126)
            plain = None
            for table in (1 << 20, 2 << 20):
                raw = self.read(table + index % 256 * BLOCK, BLOCK)
                plain = plain or xchacha(self.purpose("salts", b"", master), raw[:24], raw[24:],
                                         self.uuid + struct.pack("<I", index))
            need(plain and u(plain, 0, 4) == index and u(plain, 4, 4) > at, "salt table")
            self.keys[session, name] = self.purpose(name, plain[8 + at * 32:40 + at * 32], master)
        return self.keys[session, name]

    def unseal(self, session, name, counter, sealed, tag, ad=b""):
        key = self.session_key(session, name)
        if self.cipher == 1:
            plain = xchacha(key, struct.pack("<Q", counter) + bytes(16), sealed + tag, ad)
        else:
            plain = aes_gcm(key, struct.pack("<Q", counter) + bytes(4), sealed + tag, ad)
        need(plain is not None, "%s %d of session %d does not open" % (name, counter, session))
        return plain

    # ---- root ----
    def find_root(self):
        roots = []
        for copy in (64 << 10, 192 << 10):
            for slot in (0, 1):
                raw = self.read(copy + slot * BLOCK, 512)
                for master in (self.master, self.old):
                    plain = master and xchacha(self.purpose("root", b"", master), raw[8:32], raw[32:],
                                               raw[:8] + self.uuid)
                    if raw[:8] == b"FCROOT1\n" and plain:
                        roots.append((plain, master))
        need(roots, "no root opens")
        self.root, master = root, master = max(roots, key=lambda r: u(r[0], 0))
        sessions = u(root, 12, 4)
        self.first, self.old_last, self.own = u(root, 232, 4) or 1, u(root, 236, 4), u(root, 240, 4) or 1
        if master != self.master:
            self.first, self.old_last, self.own = self.own, sessions, sessions + 1
        self.names = root[248:264] if any(root[248:264]) else self.purpose("names", b"", master)[:16]
        self.generation, self.flags, self.sessions = u(root, 0), u(root, 8, 4), u(root, 12, 4)
        need(u(root, 16) <= self.sequence, "header sequence")

    def chain(self):
        """The log's records from the root on: their payloads."""
        root = self.root
        session, sequence, position, tag = u(root, 136, 4), u(root, 144), u(root, 152), root[160:176]
        while session:
            raw = b""
            for block in range(16384):
                raw += self.read(self.log_offset + (position + block * BLOCK) % self.log_bytes, BLOCK)
                if block == 0 and (raw[:4] != b"FLOG" or u(raw, 8, 4) != session or u(raw, 16) != sequence or
                                   raw[24:40] != tag):
                    return
                if block + 1 == u(raw, 4, 4):
                    break
            n = u(raw, 12, 4)
            try:
                payload = self.unseal(session, "log", sequence, raw[64:64 + n], raw[48:64], raw[:48])
            except Damaged:
                return
            yield payload
            position, sequence, tag = (position + u(raw, 4, 4) * BLOCK) % self.log_bytes, sequence + 1, raw[48:64]

    # ---- trees ----
    def items(self, pointer, tree, nodes, lowest=None):
        block, level = u(pointer, 0), pointer[12]
        nodes.add(block)
        raw = self.unseal(u(pointer, 8, 4), "node", u(pointer, 16), self.read(block * BLOCK, NODE), pointer[24:40])
        count, heap = u(raw, 6, 2), u(raw, 8, 2)
        need(raw[:4] == b"FNOD" and (raw[4], raw[5]) == (level, tree), "node head")
        live, last = 0, None
        for n in range(count):
            slot = raw[32 + n * 24:56 + n * 24]
            key = (u(slot, 0), slot[16], u(slot, 8))
            at, size = u(slot, 18, 2), u(slot, 20, 2)
            need((last is None or last < key) and at >= heap and at + size <= NODE and size <= 4608, "slot")
            need(level or n == 0 or lowest is None or key >= lowest, "a key below its parent's")
            last, live = key, live + size
            value = raw[at:at + size]
            if level:
                need(len(value) == 48 and value[12] == level - 1, "pointer in a node")
                yield from self.items(value, tree, nodes, key)
            else:
                yield key, value
        need(live + u(raw, 10, 2) == NODE - heap, "bytes in use of a node")

    def load(self):
        nodes = set()
        self.files = dict(self.items(self.root[32:80], 1, nodes))
        self.space = dict(self.items(self.root[80:128], 2, nodes))
        self.nodes = nodes

    # ---- files ----
    def hash(self, name):
        out = ctypes.create_string_buffer(8)
        sodium.crypto_shorthash(out, name, ctypes.c_ulonglong(len(name)), self.names)
        return u(out.raw, 0)

    def entries(self, ino):
        found = sorted((k[2], v) for k, v in self.by_ino[ino] if k[1] == 4)
        need(len(found) == u(self.files[ino, 1, 0], 112), "number of entries")
        for sequence, value in found:
            name = value[9:]
            need(3 <= sequence < u(self.files[ino, 1, 0], 96), "sequence")
            seqs = self.files[ino, 5, self.hash(name)]
            need(struct.pack("<Q", sequence) in [seqs[i:i + 8] for i in range(0, len(seqs), 8)], "NAME item")
            need(value[8] == u(self.files[u(value, 0), 1, 0], 0, 4) >> 12, "type in an entry")
            yield name, u(value, 0)

    def extents(self, ino):
        end = 0
        for key, value in sorted(self.by_ino[ino]):
            if key[1] != 6:
                continue
            block, units, session = u(value, 0), u(value, 8, 4), u(value, 12, 4)
            need(key[2] >= end and block and units and block % CHUNK_BLOCKS + units <= CHUNK_BLOCKS, "extent")
            need(len(value) == 24 + (16 * units if session else 0) and (units <= 64 or not session), "extent's size")
            end = key[2] + units
            yield key[2], block, units, session, u(value, 16), value[24:]

    def content(self, ino):
        inode = self.files[ino, 1, 0]
        size = u(inode, 24)
        if u(inode, 40) & 1:
            data = self.files[ino, 2, 0]
            need(len(data) == size, "inline size")
            return data
        pieces, at = [], 0
        for first, block, units, session, nonce, tags in self.extents(ino):
            if not session or first * BLOCK >= size:
                continue
            pieces.append(bytes(first * BLOCK - at))
            for k in range(units):
                pieces.append(self.unseal(session, "data", nonce + k, self.read((block + k) * BLOCK, BLOCK),
                                          tags[k * 16:k * 16 + 16]))
            at = (first + units) * BLOCK
        data = b"".join(pieces)
        need(not data[size:].strip(b"\0"), "bytes beyond the end of a file")
        return data[:size].ljust(size, b"\0")

    def attributes(self, ino):
        out = {}
        for key, value in self.by_ino[ino]:
            if key[1] != 3:
                continue
            at = 0
            while at < len(value):
                n, kind, size = value[at], value[at + 1], u(value, at + 4, 4)
                name = value[at + 8:at + 8 + n]
                at += 8 + n
                if kind == 0:
                    out[name] = value[at:at + size]
                    at += size
                else:
                    number = u(value, at)
                    out[name] = b"".join(self.files[0, 8, number * 32 + part] for part in range(-(-size // 4096)))
                    self.blobs.add(number)
                    at += 8
                need(len(out[name]) == size and self.hash(name) == key[2], "attribute")
        need(len(out) == u(self.files[ino, 1, 0], 120, 4), "number of attributes")
        return out

    def walk(self, ino=1, path=b"."):
        yield path, ino
        if stat.S_ISDIR(u(self.files[ino, 1, 0], 0, 4)):
            for name, child in self.entries(ino):
                if stat.S_ISDIR(u(self.files[child, 1, 0], 0, 4)):
                    need(u(self.files[child, 1, 0], 104) == ino, "parent")
                yield from self.walk(child, path + b"/" + name)

    def listing(self):
        self.load()
        self.by_ino, self.blobs = {}, set()
        for key, value in self.files.items():
            self.by_ino.setdefault(key[0], []).append((key, value))
        lines, links, subdirs = [], {}, {}
        for path, ino in self.walk():
            inode = self.files[ino, 1, 0]
            mode = u(inode, 0, 4)
            links[ino] = links.get(ino, 0) + 1
            if stat.S_ISDIR(mode):
                subdirs[ino] = sum(1 for _, c in self.entries(ino) if stat.S_ISDIR(u(self.files[c, 1, 0], 0, 4)))
            what = b""
            if stat.S_ISLNK(mode):
                what = self.files[ino, 2, 0]
            elif stat.S_ISREG(mode):
                what = hashlib.sha256(self.content(ino)).hexdigest().encode()
            elif stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                what = b"%d:%d" % (u(inode, 16) >> 32, u(inode, 16) & 0xffffffff)
            mtime = struct.unpack_from("<q", inode, 56)[0] * 10 ** 9 + u(inode, 84, 4)
            atime = struct.unpack_from("<q", inode, 48)[0] * 10 ** 9 + u(inode, 80, 4)
            lines.append(line(path, ino, mode, u(inode, 4, 4), u(inode, 8, 4), u(inode, 12, 4),
                              0 if stat.S_ISDIR(mode) else u(inode, 24), atime, mtime, what, self.attributes(ino)))
        for ino, count in links.items():
            mode = u(self.files[ino, 1, 0], 0, 4)
            want = 2 + subdirs[ino] if stat.S_ISDIR(mode) else count
            need(u(self.files[ino, 1, 0], 4, 4) == want, "links of inode %d" % ino)
        orphans = {k[2] for k in self.files if k[:2] == (0, 7)}
        inodes = {k[0] for k in self.files if k[1] == 1}
        need(inodes == set(links) | orphans, "inodes that nothing refers to")
        need(len(inodes) == u(self.root, 176), "number of inodes")
        need(max(inodes) < u(self.root, 128), "next inode number")
        self.check_space()
        return lines

    # ---- space ----
    def check_space(self):
        owners, g = {}, u(self.root, 32 + 40)  # of the trees: a key command raises the root alone
        for ino in self.by_ino:
            mapped = 0
            for _, block, units, *_ in self.extents(ino):
                mapped += units
                for b in range(block, block + units):
                    owners[b] = owners.get(b, 0) + 1
            need(not mapped or mapped == u(self.files[ino, 1, 0], 32), "blocks of an inode")
        nodes = {b + k for b in self.nodes for k in range(4)}
        need(not nodes & set(owners), "a block of a node and of data")
        refs, pending, used, kinds = {}, set(), set(), {}
        for (a, kind, b), value in self.space.items():
            if kind == 1:
                need(len(value) == 4 + (128 if value[1] == 0 else 0), "CHUNK item")
                bits = {0: int.from_bytes(value[4:], "little"), 1: 0, 2: (1 << 1024) - 1}[value[1]]
                blocks = {b * CHUNK_BLOCKS + k for k in range(CHUNK_BLOCKS) if bits >> k & 1}
                need(len(blocks) == u(value, 2, 2), "blocks in use of a chunk")
                used |= blocks
                kinds[b] = value[0]
            elif kind == 2:
                for at in range(0, len(value), 12):
                    if a in (g, g - 1):
                        pending |= set(range(u(value, at), u(value, at) + u(value, at + 8, 4)))
            else:
                for k in range(u(value, 0, 4)):
                    refs[b + k] = u(value, 4, 4)
        need(used == nodes | set(owners) | pending, "the map of used blocks: %d missing, %d leaked" %
             (len((nodes | set(owners) | pending) - used), len(used - nodes - set(owners) - pending)))
        need(not pending & (nodes | set(owners)), "pending blocks that are referred to")
        need(refs == {b: n for b, n in owners.items() if n > 1}, "owners of shared blocks")
        need((len(owners), len(nodes)) == (u(self.root, 184), u(self.root, 192)), "blocks in use of the root")
        need(all(kinds[b // CHUNK_BLOCKS] == 1 for b in nodes) and all(kinds[b // CHUNK_BLOCKS] == 0 for b in owners),
             "kinds of chunks")
        need(not kinds or max(kinds) < u(self.root, 208), "end of the chunks")


def line(path, ino, mode, links, uid, gid, size, atime, mtime, what, attributes):
    extra = b" ".join(name + b"=" + hashlib.sha256(value).hexdigest()[:16].encode()
                      for name, value in sorted(attributes.items()))
    return b"%r %d %o %d %d:%d %d %d %d %r %r" % (path, ino, mode, links, uid, gid, size, atime, mtime, what, extra)


def outside(top):
    def visit(path):
        st = os.lstat(path)
        what = b""
        if stat.S_ISLNK(st.st_mode):
            what = os.readlink(path)
        elif stat.S_ISREG(st.st_mode):
            fd = os.open(path, os.O_RDONLY | os.O_NOATIME)
            with os.fdopen(fd, "rb") as f:
                what = hashlib.sha256(f.read()).hexdigest().encode()
        elif stat.S_ISCHR(st.st_mode) or stat.S_ISBLK(st.st_mode):
            what = b"%d:%d" % (os.major(st.st_rdev), os.minor(st.st_rdev))
        attributes = {os.fsencode(n): os.getxattr(path, n, follow_symlinks=False)
                      for n in os.listxattr(path, follow_symlinks=False)}
        is_dir = stat.S_ISDIR(st.st_mode)
        yield line(b"." + path[len(top):], st.st_ino, st.st_mode, st.st_nlink, st.st_uid, st.st_gid,
                   0 if is_dir else st.st_size, st.st_atime_ns, st.st_mtime_ns, what, attributes)
        if is_dir:
            for name in os.listdir(path):
                yield from visit(path + b"/" + name)
    return list(visit(top))


# ---- operations: kind -> fields; n number, t time, b bytes ----
FIELDS = {2: "ino:n parent:n name:b time:t", 3: "parent:n name:b time:t", 4: "parent:n name:b time:t",
          7: "ino:n off:n count:n flags:n time:t data:b", 8: "ino:n block:n extent:b",
          9: "ino:n mode:n off:n count:n time:t", 10: "ino:n off:n to:n to_off:n count:n time:t",
          11: "ino:n name:b time:t flags:n value:b", 12: "ino:n name:b time:t"}
NAMES = "CREATE LINK UNLINK RMDIR RENAME SETATTR WRITE MAP FALLOCATE COPY SETXATTR REMOVEXATTR".split()


def operations(payload):
    at = 0
    while at < len(payload):
        kind = payload[at]
        n, at = varint(payload, at + 1)
        body, at = payload[at:at + n], at + n
        pos, fields = 0, {}

        def take(name, what):
            nonlocal pos
            value, pos = varint(body, pos)
            if what == "b":
                value, pos = body[pos:pos + value], pos + value
            elif what == "t":
                nsec, pos = varint(body, pos)
                value = ((value >> 1) ^ -(value & 1)) * 10 ** 9 + nsec
            fields[name] = value
            return value
        if kind == 1:
            for name, what in ("ino", "n"), ("parent", "n"), ("name", "b"), ("mode", "n"), ("uid", "n"), ("gid", "n"):
                take(name, what)
            if stat.S_IFMT(fields["mode"]) in (stat.S_IFCHR, stat.S_IFBLK):
                take("device", "n")
            take("time", "t")
            if stat.S_ISLNK(fields["mode"]):
                take("target", "b")
            else:
                take("acl", "b")
                if stat.S_ISDIR(fields["mode"]):
                    take("default", "b")
        elif kind == 5:
            for name, what in ("parent", "n"), ("name", "b"), ("to", "n"), ("new", "b"), ("flags", "n"), ("time", "t"):
                take(name, what)
            if fields["flags"] & 4:
                for name in "ino", "mode", "uid", "gid":
                    take(name, "n")
        elif kind == 6:
            take("ino", "n")
            valid = take("valid", "n")
            for bit, name, what in ((1, "mode", "n"), (2, "uid", "n"), (4, "gid", "n"), (8, "size", "n"),
                                    (16, "atime", "t"), (32, "mtime", "t"), (64, "ctime", "t")):
                if valid & bit:
                    take(name, what)
            take("time", "t")
        else:
            for field in FIELDS[kind].split():
                take(*field.split(":"))
        need(pos == len(body), "the end of an operation")
        yield NAMES[kind - 1], fields


def main():
    if sys.argv[1] == "outside":
        lines = outside(os.fsencode(sys.argv[2]))
    else:
        with open(sys.argv[3], "rb") as f:
            container = Container(sys.argv[2], f.read().split(b"\n")[0])
        if sys.argv[1] == "list":
            lines = container.listing()
        else:
            lines = [b"%s %r" % (name.encode(), fields) for payload in container.chain()
                     for name, fields in operations(payload)]
    sys.stdout.buffer.write(b"\n".join(sorted(lines)) + b"\n")


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    main()
