#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sources whose packets say their lanes receive them from the network, with those of VDIF: any lanes from any
address; lost, late, doubled and alien ones, by the log of what was sent; how the stream is found."""
import signal
import unittest

import numpy as np

import network
import tap
from network import STEP, Burst
from ports import free_port
from vdif_frames import LEVELS, make_frame

SAMPLES = 64  # of a frame
FRAMES = 25000  # of a second
FIRST = 24700  # number of the first frame, so that a second ends behind it
SECOND, UNIX = 14363767, 1388534400 + 14363767
WINDOW = 250  # frames in 10 ms
STATIONS = 0x4142, 0x4143
BEGINNING = 200  # frames without a fault, by which the stream is described


def time_after(n, frames=FRAMES, first=FIRST):
    """UTC just after sample n − 1 of the stream."""
    at = (first * SAMPLES + n) * 10 ** 9 // (frames * SAMPLES) - 1
    return f"{UNIX + at // 10 ** 9}.{at % 10 ** 9:09}"


class Log:
    """Frames of known samples of several lanes, how they are sent, and what must become of them."""

    def __init__(self, random, n_lanes, n, frames=FRAMES, first=FIRST, before=0):
        self.random, self.n_lanes, self.n, self.before = random, n_lanes, n, before
        self.frames, self.first = frames, first
        self.codes = random.integers(0, 256, (n_lanes, n, SAMPLES), "u1")
        self.valid = np.ones((n_lanes, n), bool)
        self.counts = dict.fromkeys(("late", "duplicate", "stray", "corrupt", "truncated", "flagged"),
                                    0)

    def frame(self, lane, i, **keys):
        second, number = divmod(self.first + i, self.frames)
        keys = {"second": SECOND + second, "thread": lane % 2, "station": STATIONS[lane // 2 % 2],
                "bits": 8, **keys}
        return self.random.bytes(self.before) + make_frame(self.codes[lane, i].tobytes(), number, **keys)

    def events(self, ports, faults):
        """(time, port, bytes), each frame to any port."""
        events = []
        for lane in range(self.n_lanes):
            for i in range(self.n):
                events += self.of_frame(lane, i, faults and BEGINNING <= i < self.n - 3 * WINDOW - 200)
        events.sort(key=lambda event: event[0])
        return [(when, ports[self.random.integers(len(ports))], data) for when, data in events]

    def of_frame(self, lane, i, has_fault):
        fault = self.random.integers(0, 40) if has_fault else 99
        data = self.frame(lane, i)
        soon = i + self.random.integers(1, WINDOW - 5 * STEP)
        late = i + self.random.integers(WINDOW + 5 * STEP, 2 * WINDOW)
        self.valid[lane, i] = fault not in (0, 1, 7)
        if fault == 0:
            return []
        if fault in (1, 3):
            self.counts["late"] += 1
            return [(late, data)] + ([(i, data)] if fault == 3 else [])
        if fault == 2:
            self.counts["duplicate"] += 1
            return [(i, data), (soon, data)]
        if fault in (4, 5):
            return [(soon, data)]
        if fault == 6:
            return [(i, data), (i, self.alien(lane, i))]
        if fault == 7:
            self.counts["flagged"] += 1
            return [(i, self.frame(lane, i, invalid=True))]
        return [(i, data)]

    def alien(self, lane, i):
        kind = self.random.integers(0, 6)
        self.counts[("stray", "stray", "truncated", "corrupt", "corrupt", "corrupt")[kind]] += 1
        return (self.frame(lane, i, thread=7), self.frame(lane, i, bits=4), self.frame(lane, i)[:-9],
                self.frame(lane, i) + b"x", self.random.bytes(5),
                self.frame(lane, i, second=SECOND)[:self.before] +
                make_frame(bytes(SAMPLES), self.frames + 3, thread=lane % 2, bits=8))[kind]

    def wanted(self, n):
        """The array of the first n frames, with zeros where they are invalid."""
        return (LEVELS[8][self.codes[:, :n]] * self.valid[:, :n, None]).reshape(self.n_lanes, -1).T


class Lanes(network.Network):
    def stages(self, paths, **source):
        return {"station": {"stage": "vdif.source", "path": paths, "threads": "station",
                            "window": "10 ms", **source},
                "out": {"stage": "file.sink", "from": "station", "path": "out.npy"}}

    def receive(self, log, n_ports, faults, used=None, **source):
        ports = [free_port() for _ in range(n_ports)]
        paths = [f"udp://127.0.0.1:{port}" for port in ports]
        used = used or log.n - WINDOW - 100
        events = log.events(ports, faults)
        process = self.launch(self.stages(paths, **source),
                              stop=time_after(used * SAMPLES, log.frames, log.first))
        self.wait_bound(process, ports)
        self.send(process, ports, events)
        counts = self.end(process)
        counts.pop("reordered", None)  # of a lane from several addresses
        np.testing.assert_array_equal(np.load(self.folder / "out.npy").reshape(-1, log.n_lanes),
                                      log.wanted(used))
        flagged = log.counts["flagged"]
        n_used = np.count_nonzero(log.valid[:, :used])
        for lane in range(log.n_lanes):
            account = self.accounts[f"station {lane}"]
            self.assertEqual(account["used"], np.count_nonzero(log.valid[lane, :used]))
            self.assertEqual(account["used"] + account["flagged"] + account["missing"], used)
        wanted = {**log.counts, "missing": log.n_lanes * used - n_used - flagged,
                  "packets": n_used + sum(log.counts[name] for name in
                                          ("late", "duplicate", "stray", "flagged"))}
        self.assertEqual(counts, {name: count for name, count in wanted.items() if count})
        return counts

    def test_one_address(self):
        """One address has many lanes."""
        log = Log(self.random, 4, 1500)
        counts = self.receive(log, 1, True, sample_rate=FRAMES * SAMPLES)
        for name in log.counts:
            self.assertGreater(counts[name], 0, name)

    def test_any_address(self):
        """Each of three addresses has any lanes; small blocks, by the other variant."""
        self.receive(Log(self.random, 4, 1500), 3, True, sample_rate=FRAMES * SAMPLES,
                     block={"time": 77}, backend="reference")

    def test_rate(self):
        """The frames of several seconds say how many a second has."""
        log = Log(self.random, 2, 700, frames=100, first=40)
        self.receive(log, 1, False, used=300, max_gap="5 s")

    def test_sequence_number(self):
        """Eight bytes stand before each frame."""
        self.receive(Log(self.random, 2, 1200, before=8), 2, True, sample_rate=FRAMES * SAMPLES,
                     skip=8)

    def test_thread_ids(self):
        """Threads that are not asked for are stray."""
        log = Log(self.random, 2, 600)
        port = free_port()
        events = log.events([port], False)
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}"], thread_ids=[1],
                                          sample_rate=FRAMES * SAMPLES),
                              stop=time_after(200 * SAMPLES))
        self.wait_bound(process, [port])
        self.send(process, [port], events)
        counts = self.end(process)
        np.testing.assert_array_equal(np.load(self.folder / "out.npy").reshape(-1),
                                      log.wanted(200)[:, 1])
        self.assertEqual(counts["packets"], 200 + counts["stray"])
        self.assertGreater(counts["stray"], 150)

    def test_address_begins_late(self):
        """An address begins long after another: what came before is used, and its lanes are found."""
        log = Log(self.random, 4, 6000)
        ports = [free_port(), free_port()]
        log.valid[2:, :5000] = False
        events = [(i, ports[lane // 2], log.frame(lane, i)) for i in range(log.n)
                  for lane in range(4) if log.valid[lane, i]]
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}" for port in ports],
                                          sample_rate=FRAMES * SAMPLES),
                              stop=time_after(5600 * SAMPLES))
        self.wait_bound(process, ports)
        self.send(process, ports, events, step=64)
        self.assertEqual(self.end(process), {"packets": 4 * 5600 - 10000, "missing": 10000})
        np.testing.assert_array_equal(np.load(self.folder / "out.npy"), log.wanted(5600))

    def test_in_step(self):
        """Frames that wait in several sockets are late by their times, though one has three times as many."""
        log, ports = Log(self.random, 4, 7000), [free_port(), free_port()]
        events = [(i, lane // 3, log.frame(lane, i)) for i in range(log.n) for lane in range(4)]
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}" for port in ports],
                                          sample_rate=FRAMES * SAMPLES), stop=time_after(6500 * SAMPLES))
        self.wait_bound(process, ports)
        self.send(process, ports, [(i, ports[to], data) for i, to, data in events[:400]])
        process.send_signal(signal.SIGSTOP)
        Burst(ports, [(to, data) for _, to, data in events[400:24000]]).send()
        process.send_signal(signal.SIGCONT)
        self.send(process, ports, [(i, ports[to], data) for i, to, data in events[24000:]])
        self.assertEqual(self.end(process), {"packets": 4 * 6500})
        np.testing.assert_array_equal(np.load(self.folder / "out.npy"), log.wanted(6500))

    def launch_and_send(self, log, n_ports=1, **source):
        ports = [free_port() for _ in range(n_ports)]
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}" for port in ports], **source))
        self.wait_bound(process, ports)
        self.send(process, ports, log.events(ports[:1], False))
        return process, [f"udp://127.0.0.1:{port}" for port in ports]

    def test_no_rate(self):
        """If the first packets do not give the rate, and there is no memory for more, the run ends."""
        process, paths = self.launch_and_send(Log(self.random, 2, 900), buffer="64 KiB")
        self.assertIn(f"{paths[0]}: wants 'sample_rate', which neither its headers nor whole seconds "
                      "of frames say", self.end(process, 1))

    def test_wrong_parameter(self):
        """A parameter that contradicts the first packets is refused at once."""
        process, paths = self.launch_and_send(Log(self.random, 2, 100), thread_ids=[5],
                                   sample_rate=FRAMES * SAMPLES)
        self.assertRegex(self.end(process, 1),
                         rf"graph.yaml:1:\d+: node 'station': parameter 'thread_ids': wants threads of "
                         rf"{paths[0]}, but is given 5, of which it has no frame")

    def test_interrupt(self):
        """A signal ends the wait for an address, and for packets that say enough."""
        for n_ports, what in (1, "more packets of its stream are wanted"), (2, "no datagram came"):
            process, paths = self.launch_and_send(Log(self.random, 2, 60), n_ports)
            process.send_signal(signal.SIGINT)
            self.assertIn(f"{paths[-1]}: interrupted while it waited for the first packets: {what}",
                          self.end(process, 130))


if __name__ == "__main__":
    tap.main()
