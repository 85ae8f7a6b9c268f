#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lofar.source receives packets from the network: lost, late, doubled and alien ones, by the log of
what was sent; a graph that is too slow; addresses that are wrong."""
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import time
import unittest

import numpy as np

import graphs
import tap

SEED = 20261127
SLOTS = 16
N_BEAMLETS = 5
FIRST = 64  # sample of packet 0, in its second
SECOND = 1656466200
WINDOW = 122  # packets in 10 ms: 1953 samples
STEP = 4  # packets of a lane that are sent before the sender waits for the receiver
PATIENCE = 120  # seconds, which nothing should take


def make_packet(payload, i, port, n_beamlets=N_BEAMLETS):
    sequence = FIRST + SLOTS * i
    return struct.pack("<BHBHBBII", 3, port | 1 << 7 | 1 << 8, 0, 214 * 32, n_beamlets, SLOTS,
                       SECOND, sequence) + payload


def time_after(n):
    """UTC just after sample n − 1 of the stream; samples are 5.12 us apart."""
    at = (FIRST + n) * 512
    return f"{SECOND + at // 10 ** 8}.{at % 10 ** 8 - 511:08}"


def free_port(family=socket.AF_INET, host="127.0.0.1"):
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.bind((host, 0))
        return one.getsockname()[1]


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
        end = time.monotonic() + PATIENCE
        while not condition():
            if process.poll() is not None:
                self.fail(f"{what}: the run ended: {process.communicate()[1]}")
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.0005)

    def wait_bound(self, process, ports):
        self.wait_for(process, "no socket", lambda: set(ports) <= set(udp_table()))

    def drain(self, process, ports):
        """Waits until the run has received all that was sent. Returns whether it still receives."""
        def is_empty():
            table = udp_table()
            return all(table.get(port, (0, 0))[0] == 0 for port in ports)
        self.wait_for_end_or(process, is_empty)
        for port in ports:
            self.assertEqual(udp_table().get(port, (0, 0))[1], 0, "the kernel has dropped some")
        return process.poll() is None

    def wait_for_end_or(self, process, condition):
        end = time.monotonic() + PATIENCE
        while not condition() and process.poll() is None:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.0002)

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
        return {name: n for name, n in node["counters"].items() if n}

    def stages(self, paths, sink=None, **source):
        return {"station": {"stage": "lofar.source", "paths": paths, **source},
                "out": {"stage": "file.sink", "from": "station", "path": "out.npy", **(sink or {})}}

    def send(self, process, ports, events, host="127.0.0.1"):
        """Sends events (time, port, bytes) in their order, some of each port at once."""
        at = 0
        for i, (when, port, data) in enumerate(events):
            if when >= at + STEP:
                at = when
                if not self.drain(process, ports):
                    return i
            try:
                self.socket_of(port, host).send(data)
            except ConnectionRefusedError:  # the run has ended
                return i
        self.drain(process, ports)
        return len(events)


class Log:
    """Packets of known samples, how they are sent, and what must become of them."""

    def __init__(self, random, ports, n, faults):
        self.n = n
        self.payloads = random.integers(-128, 128, (len(ports), n, N_BEAMLETS, SLOTS, 2, 2), "i1")
        self.valid = np.ones((len(ports), n), bool)
        self.counts = dict.fromkeys(("late", "duplicate", "stray", "corrupt", "truncated",
                                     "reordered", "flagged"), 0)
        self.events = []
        for lane, port in enumerate(ports):
            self.make_lane(random, lane, port, faults)
        self.events.sort(key=lambda event: event[0])

    def packet(self, lane, i):
        return make_packet(self.payloads[lane, i].tobytes(), i, lane)

    def make_lane(self, random, lane, port, faults):
        newest, mine = -1, []
        for i in range(self.n):
            # The first ones describe the stream; behind the last fault, the window passes.
            fault = random.integers(0, 40) if 3 <= i < self.n - 800 and faults else 99
            when = [i]
            if fault == 0:
                when = []
            elif fault == 1:
                when = [i + random.integers(WINDOW + 5 * STEP, 300)]
                self.counts["late"] += 1
            elif fault == 2:
                when = [i, i + random.integers(1, WINDOW - 5 * STEP)]
                self.counts["duplicate"] += 1
            elif fault == 3:
                when = [i, i + random.integers(WINDOW + 5 * STEP, 300)]
                self.counts["late"] += 1
            elif fault < 8:
                when = [i + random.integers(1, WINDOW - 5 * STEP)]
            elif fault == 8:
                mine.append((i, None, self.alien(random, lane, i)))
            self.valid[lane, i] = fault > 1
            data = self.packet(lane, i)
            if fault == 9:
                data = data[:1] + bytes([data[1] | 1 << 6]) + data[2:]
                self.valid[lane, i] = False
                self.counts["flagged"] += 1
            for k, at in enumerate(when):
                mine.append((at, i if k == 0 and self.valid[lane, i] else None, data))
        mine.sort(key=lambda event: event[0])
        for at, i, data in mine:
            if i is not None:
                self.counts["reordered"] += i < newest
                newest = max(newest, i)
            self.events.append((at, port, data))

    def alien(self, random, lane, i):
        whole = self.packet(lane, i + 1)
        kind = random.integers(0, 6)
        self.counts[("corrupt", "truncated", "corrupt", "stray", "corrupt", "stray")[kind]] += 1
        return (b"", whole[:random.integers(16, len(whole))], whole + b"x" * 7,
                make_packet(bytes(3 * SLOTS * 4), i + 1, lane, 3), random.bytes(8),
                whole[:1] + bytes([whole[1] ^ 1]) + whole[2:])[kind]

    def wanted(self, n):
        """The array of the first n packets, with zeros where they are invalid."""
        samples = self.payloads[:, :n] * self.valid[:, :n, None, None, None, None]
        return samples.transpose(1, 3, 0, 2, 4, 5).reshape(n * SLOTS, -1, 1, 2, 2)


class Received(Network):
    def check(self, n_lanes, n, faults, window="10 ms", **source):
        ports = [free_port() for _ in range(n_lanes)]
        log = Log(self.random, ports, n, faults)
        used = n - 300
        paths = [f"udp://127.0.0.1:{port}" for port in ports]
        process = self.launch(self.stages(paths, window=window, **source),
                              stop=time_after(used * SLOTS))
        self.wait_bound(process, ports)
        self.assertGreater(self.send(process, ports, log.events), 0)
        counts = self.end(process)
        array = np.load(self.folder / "out.npy")
        np.testing.assert_array_equal(array, log.wanted(used))
        flagged = log.counts["flagged"]
        n_used = np.count_nonzero(log.valid[:, :used])
        wanted = {**log.counts, "missing": n_lanes * used - n_used - flagged,
                  "packets": n_used + sum(log.counts[name] for name in
                                          ("late", "duplicate", "stray", "flagged"))}
        self.assertEqual(counts, {name: count for name, count in wanted.items() if count})
        beside = json.loads((self.folder / "out.npy.json").read_text())
        lost = np.repeat(np.count_nonzero(~log.valid[:, :used], 1) * SLOTS, N_BEAMLETS).tolist()
        self.assertEqual(beside["validity"]["invalid_samples"], lost if any(lost) else [])
        return log, array, counts

    def test_clean(self):
        _, _, counts = self.check(1, 1000, False)
        self.assertEqual(counts, {"packets": 700})

    def test_faults(self):
        log, array, counts = self.check(3, 3000, True)
        for name in "late", "duplicate", "stray", "corrupt", "truncated", "reordered", "flagged":
            self.assertGreater(counts[name], 0, name)
        # A file of the packets that were used has the same samples.
        for lane in range(3):
            (self.folder / f"file{lane}").write_bytes(b"".join(
                log.packet(lane, i) for i in range(2700) if log.valid[lane, i] or i in (0, 2699)))
        process = self.launch(self.stages([f"file{lane}" for lane in range(3)],
                                          {"path": "file.npy"}))
        self.end(process)
        np.testing.assert_array_equal(np.load(self.folder / "file.npy"), array)

    def test_layout_and_blocks(self):
        self.check(2, 1500, True, block={"time": 333}, backend="reference")


if __name__ == "__main__":
    tap.main()
