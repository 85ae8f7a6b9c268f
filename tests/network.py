# SPDX-License-Identifier: BSD-3-Clause
"""Graphs whose source, the node 'station', receives packets from the network that a test sends."""
import ctypes
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import time

import numpy as np

import graphs
import tap

SEED = 20261127
STEP = 4  # packets of a lane that are sent before the sender waits for the receiver
PATIENCE = 60
REASONS = ("late", "duplicate", "stray", "corrupt", "truncated", "mistimed", "flagged", "dropped")


def udp_table():
    """{port: (bytes that wait, datagrams that the kernel has dropped)} of all sockets."""
    found = {}
    for name in "udp", "udp6":
        path = pathlib.Path("/proc/net") / name
        for line in path.read_text().splitlines()[1:] if path.exists() else []:
            words = line.split()
            found[int(words[1].split(":")[1], 16)] = (int(words[4].split(":")[1], 16),
                                                      int(words[-1]))
    return found


class Burst:
    """Datagrams (index of a port, bytes) to this machine, many in a system call."""
    PIECE = np.dtype([("at", "u8"), ("n", "u8")])
    MESSAGE = np.dtype([("name", "u8"), ("name_bytes", "u8"), ("pieces", "u8"), ("n_pieces", "u8"),
                        ("control", "u8"), ("control_bytes", "u8"), ("flags", "u8"), ("sent", "u8")])
    send_many = ctypes.CDLL(None, use_errno=True).sendmmsg
    send_many.argtypes = ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int

    def __init__(self, ports, datagrams):
        self.data = np.frombuffer(b"".join(data for _, data in datagrams) or b"\0", "u1")
        sizes = np.array([len(data) for _, data in datagrams], "u8")
        self.names = np.frombuffer(b"".join(
            struct.pack("=HH", socket.AF_INET, socket.htons(port)) + socket.inet_aton("127.0.0.1") + bytes(8)
            for port in ports), "u1")
        self.pieces = np.zeros(len(datagrams), self.PIECE)
        self.pieces["at"], self.pieces["n"] = self.data.ctypes.data + np.cumsum(sizes) - sizes, sizes
        self.messages = np.zeros(len(datagrams), self.MESSAGE)
        self.messages["name"] = self.names.ctypes.data + 16 * np.array([port for port, _ in datagrams])
        self.messages["name_bytes"], self.messages["n_pieces"] = 16, 1
        self.messages["pieces"] = self.pieces.ctypes.data + 16 * np.arange(len(datagrams))

    def send(self):
        at = 0
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            while at < len(self.messages):
                n = self.send_many(sender.fileno(), self.messages[at:].ctypes.data,
                                   min(1024, len(self.messages) - at), 0)
                if n < 0:
                    raise OSError(ctypes.get_errno(), "sendmmsg")
                at += n


class Network(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        print(f"# seed {SEED}")
        self.random = np.random.default_rng(SEED)
        self.sockets = {}

    def socket_of(self, port, host):
        if port not in self.sockets:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self.sockets[port] = socket.socket(family, socket.SOCK_DGRAM)
            self.addCleanup(self.sockets[port].close)
            self.sockets[port].connect((host, port))
        return self.sockets[port]

    def wait_for(self, process, what, condition):
        """`what` is wrong, a text or a function that makes one, if the condition does not come true."""
        end = time.monotonic() + PATIENCE
        while not condition():
            has_ended = process.poll() is not None
            if has_ended or time.monotonic() > end:
                text = what() if callable(what) else what
                self.fail(f"{text}: the run ended: {process.communicate()[1]}" if has_ended else text)
            time.sleep(0.0005)

    def wait_bound(self, process, ports):
        self.wait_for(process, "no socket", lambda: set(ports) <= set(udp_table()))

    def drain(self, process, ports):
        """Waits until the run has received all that was sent. Returns whether it goes on."""
        end = time.monotonic() + PATIENCE
        table = udp_table()
        while process.poll() is None and any(table.get(port, (0, 0))[0] for port in ports):
            self.assertLess(time.monotonic(), end, "packets that are not received")
            time.sleep(0.0002)
            table = udp_table()
        for port in ports:
            self.assertEqual(table.get(port, (0, 0))[1], 0, "the kernel has dropped some")
        return process.poll() is None

    def launch(self, stages, *arguments, **keys):
        (self.folder / "graph.yaml").write_text(json.dumps({"stages": stages, **keys}))
        process = subprocess.Popen(
            [graphs.COMMAND, "run", "graph.yaml", "--stats", "json", *arguments], cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def end(self, process, status=0):
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, status, errors)
        if status:
            return errors
        node = next(node for node in json.loads(output)["nodes"] if node["name"] == "station")
        if "accounts" in node:  # there are none of files
            self.check_accounts(node)
        return {name: n for name, n in node["counters"].items()
                if n and name not in ("received", "used")}

    def check_accounts(self, node):
        """Each datagram is used, or counted under one reason: of each lane, each address, and all."""
        for counters in [node["counters"]] + [one["counters"] for one in node["accounts"]]:
            self.assertEqual(counters["received"],
                             counters["packets"] + counters["corrupt"] + counters["truncated"])
            self.assertEqual(counters["received"],
                             sum(counters[name] for name in ("used", *REASONS)))
        for name, n in node["counters"].items():
            self.assertEqual(n, sum(one["counters"][name] for one in node["accounts"]), name)
        self.accounts = {one["name"]: one["counters"] for one in node["accounts"]}

    def counters(self, process):
        """The counters of a run that goes on, which prints its statistics when SIGUSR1 asks."""
        process.send_signal(signal.SIGUSR1)
        lines = [process.stderr.readline()]
        while lines[-1] not in ("}\n", ""):
            lines.append(process.stderr.readline())
        nodes = json.loads("".join(lines))["nodes"]
        return next(node for node in nodes if node["name"] == "station")["counters"]

    def send(self, process, ports, events, host="127.0.0.1", step=STEP):
        """Sends events (time, port, bytes) in their order, some of each port at once."""
        at = 0
        for i, (when, port, data) in enumerate(events):
            if when >= at + step:
                at = when
                if not self.drain(process, ports):
                    return i
            try:
                self.socket_of(port, host).send(data)
            except ConnectionRefusedError:  # the run has ended
                return i
        self.drain(process, ports)
        return len(events)


def main():
    """With the argument `one-processor`, runs have one: there, the reader receives."""
    if "one-processor" in sys.argv:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    tap.main()
