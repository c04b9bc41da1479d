# SPDX-License-Identifier: GPL-2.0-or-later
"""What tools/rows, tools/scale and tools/latency share: a container of their own, and clocks."""
import os
import shutil
import subprocess
import tempfile
import time


def seconds(work):
    start = time.monotonic()
    work()
    return time.monotonic() - start


def drop_caches():
    os.sync()
    if not os.geteuid():
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
            f.write("3")


def durable(directory):
    """Until all of it is on the disk: sync alone does not reach a FUSE daemon."""
    subprocess.run(f"sync -f {directory}; sync {directory}; sync", shell=True, check=True)


class Container:
    """In a new directory, `work`, of a build's fusecrypt; unmounted and removed by `with`."""

    def __init__(self, build, name, parent=None, options=""):
        self.program = os.path.realpath(f"{build}/src/fusecrypt")
        self.options = ["-o", options] if options else []
        self.work = tempfile.mkdtemp(prefix=f"fusecrypt-{name}.", dir=parent or "/var/tmp")
        self.path, self.mount_point = f"{self.work}/container", f"{self.work}/inside"
        self.secret = ["--passphrase-file", f"{self.work}/secret"]
        self.mounted = False

    def __enter__(self):
        os.mkdir(self.mount_point)
        with open(f"{self.work}/secret", "w", encoding="ascii") as f:
            f.write("x\n")
        self.call("init", self.path, "--kdf", "interactive", *self.secret)
        return self

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run([self.program, "umount", self.mount_point], check=False)
        shutil.rmtree(self.work, ignore_errors=True)

    def call(self, *arguments):
        subprocess.run([self.program, *arguments], check=True, stdout=subprocess.DEVNULL)

    def mount(self):
        self.call("mount", self.path, self.mount_point, *self.options, *self.secret)
        self.mounted = True

    def umount(self):
        self.call("umount", self.mount_point)
        self.mounted = False

    def peak_mib(self):
        out = subprocess.run([self.program, "status", self.mount_point, "--json"], check=True, capture_output=True,
                             text=True).stdout
        pid = int(out.split('"pid":')[1].split(",")[0])
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024

    def mount_seconds(self):
        """Of a mount, without what a wrong passphrase costs too: that is the derivation of the key."""
        wrong = subprocess.Popen([self.program, "mount", self.path, self.mount_point, "--passphrase-fd", "0"],
                                 stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        derivation = seconds(lambda: wrong.communicate(b"not this one\n"))
        return max(0.0, seconds(self.mount) - derivation)
