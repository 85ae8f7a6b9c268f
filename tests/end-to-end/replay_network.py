# SPDX-License-Identifier: BSD-3-Clause
"""Where replays go: over loopback, or between two network namespaces."""
import collections
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys

# `receiver` and `sender` stand in front of their commands.
Network = collections.namedtuple("Network", "name address receiver sender is_shared")
Socket = collections.namedtuple("Socket", "waiting drops")


def udp_table(process):
    """{port: Socket} of the sockets where this process is: bytes that wait, and datagrams that the
    kernel has dropped. Nothing if it has ended."""
    found = collections.defaultdict(lambda: Socket(0, 0))
    try:
        lines = pathlib.Path(f"/proc/{process}/net/udp").read_text().splitlines()[1:]
    except OSError:
        return found
    for line in lines:
        words = line.split()
        found[int(words[1].split(":")[1], 16)] = Socket(int(words[4].split(":")[1], 16), int(words[-1]))
    return found


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def no_veth():
    """Why there can be no namespaces here, or None."""
    if os.geteuid() != 0:
        return "only root makes network namespaces"
    if not shutil.which("ip"):
        return "no command ip"
    try:
        with open_network(True):
            return None
    except subprocess.CalledProcessError as error:
        return f"no network namespaces: {error.stderr.strip()}"


@contextlib.contextmanager
def open_network(is_veth):
    """A network; two namespaces and the pair between them exist as long as the context, which SIGTERM
    ends in order."""
    if not is_veth:
        yield Network("over loopback", "127.0.0.1", [], [], True)
        return
    names = [f"ct-replay-{os.getpid()}-{end}" for end in ("receiver", "sender")]
    with contextlib.ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM,
                       signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM)))
        for name in names:
            ip("netns", "add", name)
            stack.callback(ip, "netns", "delete", name)
        # With the namespaces, the pair is removed.
        ip("-n", names[0], "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", names[1])
        for number, name in enumerate(names, 1):
            ip("-n", name, "address", "add", f"10.211.0.{number}/24", "dev", "veth0")
            ip("-n", name, "link", "set", "veth0", "up")
        yield Network("over veth", "10.211.0.1", *(["ip", "netns", "exec", name] for name in names), False)
