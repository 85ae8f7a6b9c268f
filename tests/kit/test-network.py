#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sources of packets receive from the network, with those of LOFAR: lost, late, doubled and alien ones, by the
log of what was sent; a graph that is too slow; addresses that are wrong."""
import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest

import numpy as np

import graphs
import network
from network import PATIENCE, SEED, STEP
from ports import free_port

SLOTS = 16
N_BEAMLETS = 5
FIRST = 64  # sample of packet 0, in its second
SECOND = 1656466200
WINDOW = 122  # packets in 10 ms: 1953 samples


def make_packet(payload, i, port, n_beamlets=N_BEAMLETS, flagged=False):
    """Packet `i` of 195312.5 samples a second."""
    second, at = divmod(2 * (FIRST + int(SLOTS * i)), 390625)
    return struct.pack("<BHBHBBII", 3, port | flagged << 6 | 1 << 7 | 1 << 8, 0, 214 * 32, n_beamlets, SLOTS,
                       SECOND + second, at // 2) + payload


def time_after(n):
    """UTC just after sample n − 1 of the stream; samples are 5.12 us apart."""
    at = (FIRST + n) * 512
    return f"{SECOND + at // 10 ** 8}.{at % 10 ** 8 - 511:08}"


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
            # The first ones describe the stream; the last fault is before the end of what is read.
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


class Station(network.Network):
    def stages(self, paths, sink=None, **source):
        return {"station": {"stage": "lofar.source", "paths": paths, **source},
                "out": {"stage": "file.sink", "from": "station", "path": "out.npy", **(sink or {})}}


class Received(Station):
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
        for lane, path in enumerate(paths):
            account = self.accounts[path]
            self.assertEqual(account["used"], np.count_nonzero(log.valid[lane, :used]))
            self.assertEqual(account["used"] + account["flagged"] + account["missing"], used)
        beside = json.loads((self.folder / "out.npy.json").read_text())
        lost = np.repeat(np.count_nonzero(~log.valid[:, :used], 1) * SLOTS, N_BEAMLETS).tolist()
        self.assertEqual(beside["validity"]["invalid_samples"], lost if any(lost) else [])
        return log, array, counts

    def test_clean(self):
        _, _, counts = self.check(1, 1000, False)
        self.assertEqual(counts, {"packets": 700})

    def test_window_does_not_pass(self):
        """Samples whose packets have all come are read before the window has passed."""
        self.check(2, 1000, False, window="200 ms")

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

    def test_busy(self):
        """A thread that does not wait for packets, on one core."""
        self.check(2, 2000, True, busy=True, core=min(os.sched_getaffinity(0)))

    def test_layout_and_blocks(self):
        self.check(2, 1500, True, block={"time": 333}, backend="reference")

    def receive(self, n, events_of, used=None, **source):
        """Sends what events_of(log, port) gives of n packets of one lane; returns the log, the array
        and the counters."""
        port = free_port()
        log = Log(self.random, [port], n, False)
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}"], window="10 ms", **source),
                              stop=time_after((used or n - 300) * SLOTS))
        self.wait_bound(process, [port])
        self.send(process, [port], events_of(log, port))
        counts = self.end(process)
        return log, np.load(self.folder / "out.npy"), counts

    def test_wrong_stamps(self):
        """One wrong stamp, however far, moves nothing."""
        wrong = {100: 90000, 200: 5000, 300: 300.5, 400: 410.25, 500: 9}

        def events_of(log, port):
            events = []
            for when, port, data in log.events:
                if when in wrong:
                    data = make_packet(data[16:], wrong[when], 0)
                    log.valid[0, when] = False
                events.append((when, port, data))
            return events
        log, array, counts = self.receive(1500, events_of)
        np.testing.assert_array_equal(array, log.wanted(1200))
        self.assertEqual(counts, {"packets": 1200, "missing": 5, "mistimed": 4, "late": 1})

    def test_far_stamps(self):
        """Stamps farther than max_gap are never believed, though they follow one another."""
        def events_of(log, port):
            far = [(500, port, make_packet(bytes(N_BEAMLETS * SLOTS * 4), 3000 + i, 0))
                   for i in range(20)]
            return log.events[:500] + far + log.events[500:]
        log, array, counts = self.receive(1500, events_of, max_gap="40 ms")
        np.testing.assert_array_equal(array, log.wanted(1200))
        self.assertEqual(counts, {"packets": 1220, "mistimed": 20})

    def test_long_pause(self):
        """After a pause of more than max_gap, nothing is used, of which the run warns."""
        port = free_port()
        log = Log(self.random, [port], 600, False)
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}"], window="10 ms",
                                          max_gap="100 ms"))
        self.wait_bound(process, [port])
        far = [(600 + i, port, make_packet(bytes(N_BEAMLETS * SLOTS * 4), 3000 + i, 0))
               for i in range(2500)]
        self.send(process, [port], log.events + far, step=64)
        while self.counters(process)["mistimed"] < len(far):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.assertIn(f"node 'station': warning: parameter 'paths': the last 1000 packets to "
                      f"udp://127.0.0.1:{port} are not used: they are late, of another stream, or "
                      "farther than 'max_gap' from those before them", self.end(process, 130))

    def test_pause(self):
        """What comes after a pause is used from its first packet on, and what came before it to its
        last one."""
        def events_of(log, port):
            log.valid[0, 700:4000] = False
            return [event for event in log.events if log.valid[0, event[0]]]
        log, array, counts = self.receive(5000, events_of, buffer="2 MiB")
        np.testing.assert_array_equal(array, log.wanted(4700))
        self.assertEqual(counts, {"packets": 1400, "missing": 3300})

    def test_other_grid(self):
        """A sender that goes on between the stamps of before is believed."""
        def events_of(log, port):
            events = []
            for when, port, data in log.events:
                if when >= 600:
                    data = make_packet(data[16:], when + 5 / SLOTS, 0)
                events.append((when, port, data))
            return events
        log, array, counts = self.receive(1500, events_of)
        wanted = log.wanted(1200)
        wanted = np.concatenate([wanted[:9600], 0 * wanted[:5], wanted[9600:-5]])
        np.testing.assert_array_equal(array, wanted)
        self.assertEqual(counts["packets"], 1200)

    def test_part_of_time(self):
        """`start` leaves out packets, which are not counted."""
        port = free_port()
        log = Log(self.random, [port], 2000, False)
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}"], window="10 ms"),
                              start=time_after(10007), stop=time_after(20001))
        self.wait_bound(process, [port])
        self.send(process, [port], log.events)
        self.assertEqual(self.end(process), {"packets": 1251 - 625})
        np.testing.assert_array_equal(np.load(self.folder / "out.npy"),
                                      log.wanted(1500)[10007:20001])


class Slow(Station):
    def test_dropped(self):
        """Nobody reads what the graph writes for a while: whole packets are dropped of all lanes, the
        others stay where they belong, and all are counted."""
        n, n_lanes = 40000, 2
        ports = [free_port() for _ in range(n_lanes)]
        payloads = self.random.integers(1, 128, (n_lanes, n, N_BEAMLETS, SLOTS, 2, 2), "i1")
        os.mkfifo(self.folder / "fifo")
        paths = [f"udp://127.0.0.1:{port}" for port in ports]
        process = self.launch(
            self.stages(paths, {"path": "fifo", "format": "raw"}, window="10 ms", buffer="2 MiB",
                        block={"time": 1024}),
            stop=time_after((n - 300) * SLOTS))
        self.wait_bound(process, ports)
        events = ((i, port, make_packet(payloads[lane, i].tobytes(), i, lane, flagged=i % 7 == 3))
                  for i in range(n) for lane, port in enumerate(ports))
        sent = self.send(process, ports, [next(events) for _ in range(60)])
        with open(self.folder / "fifo", "rb") as reader:
            sent += self.send(process, ports, [next(events) for _ in range(2 * (n - 10000))])
            read = []
            thread = threading.Thread(target=lambda: read.append(reader.read()))
            thread.start()
            self.addCleanup(thread.join)
            self.send(process, ports, list(events))
            counts = self.end(process)
            thread.join()
        array = np.frombuffer(read[0], "i1").reshape(n - 300, SLOTS, n_lanes, N_BEAMLETS, 2, 2)
        array = array.transpose(2, 0, 3, 1, 4, 5)
        valid = array.any((2, 3, 4, 5))
        np.testing.assert_array_equal(
            array, payloads[:, :n - 300] * valid[:, :, None, None, None, None])
        self.assertGreater(counts["dropped"], 1000)
        self.assertGreater(counts["flagged"], 1000)
        self.assertEqual(counts["dropped"] + counts["flagged"], np.count_nonzero(~valid))
        self.assertEqual(counts, {"packets": valid.size, "missing": counts["dropped"],
                                  "dropped": counts["dropped"], "flagged": counts["flagged"]})

    def test_beginnings_apart(self):
        """An address begins long after another: what came before is used, however short max_gap is."""
        ports = [free_port(), free_port()]
        log = Log(self.random, ports, 5000, False)
        log.valid[1, :3700] = False
        events = [event for event in log.events if event[1] == ports[0] or event[0] >= 3700]
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}" for port in ports],
                                          window="10 ms", max_gap="100 ms"),
                              stop=time_after(4700 * SLOTS))
        self.wait_bound(process, ports)
        self.send(process, ports, events, step=64)
        self.assertEqual(self.end(process), {"packets": 5700, "missing": 3700})
        np.testing.assert_array_equal(np.load(self.folder / "out.npy"), log.wanted(4700))

    def test_in_step(self):
        """Packets that wait in several sockets are late by their times, not by their addresses."""
        ports = [free_port() for _ in range(3)]
        log = Log(self.random, ports, 900, False)
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}" for port in ports],
                                          window="1 ms"), stop=time_after(800 * SLOTS))
        self.wait_bound(process, ports)
        for first in 0, 300:
            process.send_signal(signal.SIGSTOP)
            for _, port, data in (event for event in log.events if first <= event[0] < first + 200):
                self.socket_of(port, "127.0.0.1").send(data)
            process.send_signal(signal.SIGCONT)
            self.send(process, ports, [event for event in log.events
                                       if first + 200 <= event[0] < first + 300])
        self.send(process, ports, [event for event in log.events if event[0] >= 600])
        self.assertEqual(self.end(process), {"packets": 2400})
        np.testing.assert_array_equal(np.load(self.folder / "out.npy"), log.wanted(800))


class Accounts(Station):
    def test_overrun(self):
        """The kernel drops what nobody receives, which is counted, and missing."""
        port = free_port()
        packet = Log(self.random, [port], 1, False).packet
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}"], window="10 ms"))
        self.wait_bound(process, [port])
        data = packet(0, 0)[16:]
        self.send(process, [port], [(i, port, make_packet(data, i, 0)) for i in range(200)])
        process.send_signal(signal.SIGSTOP)
        sent = 200
        while network.udp_table()[port][1] < 300:
            for _ in range(1000):
                self.socket_of(port, "127.0.0.1").send(make_packet(data, sent, 0))
                sent += 1
        lost = network.udp_table()[port][1]
        process.send_signal(signal.SIGCONT)
        self.wait_for(process, "packets that are not received",
                      lambda: network.udp_table()[port][0] == 0)
        for _ in range(1000):
            self.socket_of(port, "127.0.0.1").send(make_packet(data, sent, 0))
            sent += 1
            self.wait_for(process, "packets that are not received",
                          lambda: network.udp_table()[port][0] == 0)
        counters = {"used": 0, "missing": 0}
        while counters["used"] + counters["missing"] < sent - 500:
            counters = self.counters(process)
        self.assertEqual(counters["overrun"], lost)
        self.assertEqual(counters["missing"], lost)
        process.send_signal(signal.SIGINT)
        self.end(process, 130)

    def test_table(self):
        """The report as text has a line for each address, 32 at most."""
        ports = [free_port() for _ in range(34)]
        log = Log(self.random, ports, 260, False)
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}" for port in ports],
                                          window="10 ms"), "--stats", "text",
                              stop=time_after(100 * SLOTS))
        self.wait_bound(process, ports)
        log.valid[:2] = False  # of the first two addresses, one packet comes later
        self.send(process, ports, [event for event in log.events if event[0] != 50 or
                                   event[1] not in ports[:2]], step=64)
        text, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, errors)
        lines = (text + errors).splitlines()
        found = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("udp://")}
        self.assertEqual(len(found), 32)
        at = next(i for i, line in enumerate(lines) if line.split()[:2] == ["station", "packets"])
        self.assertEqual(lines[at].split(), ["station", "packets", "missing", "received", "used"],
                         text + errors)
        self.assertEqual(found[f"udp://127.0.0.1:{ports[0]}"], ["99", "1", "99", "99"])
        self.assertEqual(found[f"udp://127.0.0.1:{ports[5]}"], ["100", "0", "100", "100"])
        self.assertIn("and 2 others, with fewer faults", lines)


class Ends(Station):
    def test_interrupt_before_packets(self):
        ports = [free_port(), free_port()]
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}" for port in ports]))
        self.wait_bound(process, ports)
        log = Log(self.random, ports[:1], 3, False)
        self.send(process, ports, log.events)
        process.send_signal(signal.SIGINT)
        self.assertIn(f"udp://127.0.0.1:{ports[1]}: interrupted while it waited for the first packets: "
                      "no datagram came", self.end(process, 130))

    def test_interrupt_before_the_stream(self):
        """What comes, but is no packet, is told with its length."""
        port = free_port()
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}"]))
        self.wait_bound(process, [port])
        self.send(process, [port], [(0, port, bytes(99)), (0, port, bytes(77))])
        process.send_signal(signal.SIGINT)
        self.assertIn("waited for the first packets: it wants two packets of one stream, but the last "
                      "datagram that came, of 77 bytes, is not the second", self.end(process, 130))

    def test_interrupt_at_any_time(self):
        """A signal ends a run that has no packets, whether it waits already or not yet."""
        for milliseconds in range(0, 100, 4):
            process = self.launch(self.stages([f"udp://127.0.0.1:{free_port()}"]))
            time.sleep(milliseconds * 1e-3)
            process.send_signal(signal.SIGTERM)
            with self.subTest(milliseconds=milliseconds):
                self.assertIn(process.wait(PATIENCE), (128 + signal.SIGTERM, -signal.SIGTERM))

    def test_interrupt_among_packets(self):
        """The same where packets come to one address alone."""
        ports = [free_port(), free_port()]
        packet = Log(self.random, ports[:1], 1, False).events[0][2]
        for _ in range(5):
            process = self.launch(self.stages([f"udp://127.0.0.1:{port}" for port in ports]))
            self.wait_bound(process, ports)
            for i in range(2000):
                try:
                    self.socket_of(ports[0], "127.0.0.1").send(packet)
                except ConnectionRefusedError:
                    break
                if i == 1000:
                    process.send_signal(signal.SIGINT)
            self.assertIn("interrupted while it waited", self.end(process, 130))

    def test_interrupt(self):
        """The sender stops; the run is interrupted, and has only what was sent."""
        port = free_port()
        n = 12000
        log = Log(self.random, [port], n, False)
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}"], window="10 ms",
                                          block={"time": 256}))
        self.wait_bound(process, [port])
        self.send(process, [port], log.events, step=64)
        self.wait_for(process, "no samples", lambda: any(
            path.stat().st_size > n // 4 * SLOTS * N_BEAMLETS * 4
            for path in self.folder.glob("out.npy.partial")))
        process.send_signal(signal.SIGINT)
        self.assertIn("interrupted by SIGINT", self.end(process, 130))
        array = np.load(self.folder / "out.npy")
        self.assertGreaterEqual(len(array), n // 4 * SLOTS)
        self.assertLessEqual(len(array), n * SLOTS)
        np.testing.assert_array_equal(array, log.wanted(n)[:len(array)])

    def check_address(self, path, host, port, **source):
        log = Log(self.random, [port], 600, False)
        process = self.launch(self.stages([path], window="10 ms", **source),
                              stop=time_after(300 * SLOTS))
        self.wait_bound(process, [port])
        self.send(process, [port], log.events, host)
        self.assertEqual(self.end(process), {"packets": 300})
        np.testing.assert_array_equal(np.load(self.folder / "out.npy"), log.wanted(300))

    def test_options(self):
        """A graph of files receives packets if the command says so, for a part of the time."""
        port = free_port()
        log = Log(self.random, [port], 600, False)
        process = self.launch(self.stages(["file"]), "--set",
                              f'station.paths=["udp://127.0.0.1:{port}"]', "--duration", "20 ms")
        self.wait_bound(process, [port])
        self.send(process, [port], log.events)
        # 20 ms are 3906.25 samples, and as much is the window.
        self.assertEqual(self.end(process), {"packets": 245})
        np.testing.assert_array_equal(np.load(self.folder / "out.npy"), log.wanted(600)[:3906])

    def test_all_addresses(self):
        port = free_port()
        self.check_address(f"udp://0.0.0.0:{port}", "127.0.0.1", port)

    def test_version_6(self):
        try:
            port = free_port(socket.AF_INET6, "::1")
        except OSError:
            self.skipTest("no IPv6 here")
        self.check_address(f"udp://[::1]:{port}", "::1", port)

    def test_group(self):
        """A group of multicast, by the loopback interface, named or by its address."""
        for interface in "lo", "127.0.0.1":
            port = free_port()
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                                  socket.inet_aton("127.0.0.1"))
                try:
                    sender.connect(("239.1.2.3", port))
                except OSError:
                    self.skipTest("no multicast here")
                self.sockets[port] = sender
                with self.subTest(interface):
                    self.check_address(f"udp://239.1.2.3:{port}@{interface}", "239.1.2.3", port)

    def test_errors(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.1", 0))
            used = f"udp://127.0.0.1:{other.getsockname()[1]}"
            (self.folder / "file").write_bytes(b"")
            for paths, source, message in (
                    ([used], {}, f"{used}: can't be received from: Address already in use; "
                                 "another program receives there"),
                    (["udp://127.0.0.1"], {},
                     "udp://127.0.0.1: wants udp://ADDRESS:PORT, but is given 'udp://127.0.0.1'"),
                    (["udp://:5000"], {},
                     "udp://:5000: wants an address as 10.0.0.1 or [fd00::1], but is given ''"),
                    (["udp://station:5000"], {},
                     "wants an address as 10.0.0.1 or [fd00::1], but is given 'station'"),
                    (["udp://[::1:5000"], {}, "wants udp://ADDRESS:PORT, but is given"),
                    (["udp://127.0.0.1:0"], {}, "wants a port from 1 to 65535, but is given '0'"),
                    (["udp://127.0.0.1:65536"], {},
                     "wants a port from 1 to 65535, but is given '65536'"),
                    (["udp://127.0.0.1:5000@lo"], {},
                     "wants an interface only for a group of multicast, but is given 'lo'"),
                    (["udp://239.1.2.3:5000@none0"], {},
                     "wants the name of an interface of this machine, but is given 'none0'"),
                    (["udp://8.8.8.8:5000"], {}, "udp://8.8.8.8:5000: can't be received from: Cannot "
                     "assign requested address; no interface of this machine has it"),
                    (["udp://127.0.0.1:5000"], {"core": 1023}, "parameter 'core': wants a core on which "
                     "this process may run, but is given 1023"),
                    (["file", used], {}, "parameter 'paths': wants addresses of the network alone, "
                                         f"or files alone, but is given '{used}' among 2 paths"),
                    (["udp://127.0.0.1:5000"] * 2, {},
                     "wants an address that nobody else reads, but 'udp://127.0.0.1:5000' is one "
                     "that node 'station' reads")):
                with self.subTest(paths):
                    error = self.end(self.launch(self.stages(paths, **source)), 1)
                    self.assertIn(message, error)
                    self.assertTrue(error.startswith("graph.yaml:1:"), error)

    def test_buffer_too_small(self):
        port = free_port()
        log = Log(self.random, [port], 3, False)
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}"], buffer="64 KiB"))
        self.wait_bound(process, [port])
        self.send(process, [port], log.events)
        self.assertRegex(self.end(process, 1),
                         r"graph.yaml:1:\d+: node 'station': parameter 'buffer': wants at least \d+ "
                         r"bytes for a window of 3906 samples in packets of 16 of 1 lanes, but "
                         r"is given 65536")

    def test_long_first_datagram(self):
        """A datagram that fills the buffer comes at once with the packets that describe the stream."""
        port = free_port()
        process = self.launch(self.stages([f"udp://127.0.0.1:{port}"], buffer="64 KiB", window="0 s"))
        self.wait_bound(process, [port])
        process.send_signal(signal.SIGSTOP)
        for _, _, data in Log(self.random, [port], 2, False).events:
            self.socket_of(port, "127.0.0.1").send(data)
        self.socket_of(port, "127.0.0.1").send(bytes(65507))
        process.send_signal(signal.SIGCONT)
        self.assertIn("parameter 'buffer': wants at least ", self.end(process, 1))

    def test_other_sources(self):
        for stage, given in (("mark5b.source", {"n_channels": 1, "year": 2024}), ("guppi.source", {}),
                             ("dada.source", {})):
            stages = {"station": {"stage": stage, "path": "udp://127.0.0.1:5000", **given},
                      "out": {"stage": "discard", "from": "station"}}
            self.assertIn("wants files, but is given 'udp://127.0.0.1:5000': this source does not "
                          "receive from the network",
                          self.end(self.launch(stages), 1))

    def test_only_a_run(self):
        for path in "udp://127.0.0.1:5000", "xdp://127.0.0.1:5000@lo":
            (self.folder / "graph.yaml").write_text(json.dumps({"stages": self.stages([path])}))
            done = subprocess.run([graphs.COMMAND, "check", "graph.yaml"], cwd=self.folder,
                                  capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"'{path}' is an address, which can be read only once: by "
                          "'cornerturn run'", done.stderr)

    def test_parameters_without_effect(self):
        (self.folder / "file").write_bytes(make_packet(bytes(N_BEAMLETS * SLOTS * 4), 0, 0) * 2)
        for source in {"window": "1 ms"}, {"buffer": "1 MiB"}, {"skip": 8}, {"busy": True}, {"core": 0}:
            self.check_no_effect(self.stages(["file"], **source), "station", *source)


if __name__ == "__main__":
    network.main()
