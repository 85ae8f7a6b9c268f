#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sources of packets among floods of others, as fast as loopback takes them: aliens, cut ones, and headers that lie.
Samples are right or, where the kernel has dropped packets, invalid; all that was sent is counted."""
import os
import pathlib
import signal
import struct
import time

import numpy as np

import network
from network import Burst
from ports import free_port
from vdif_frames import LEVELS, make_frame

N = 8000  # packets of a lane
BEGINNING, END = 40, 400  # packets of a lane that are not sent at full speed
FLOOD = 6  # aliens to a packet
ALIEN = "stray", "corrupt", "truncated", "mistimed"
MEMORY = 16 << 20  # bytes by which a run may grow: half of the packets in a buffer of 4 MiB, and samples


def change(data, at, new):
    return data[:at] + new + data[at + len(new):]


class Lofar:
    """Two ports of packets of two beamlets."""
    n_ports, n_lanes, n_samples, window = 2, 2, 16, 125
    header_bytes, begins = 16, (b"\2", b"\3")
    shape = 2, 16, 2, 2
    stage = {"stage": "lofar.source", "window": "10.24 ms"}
    second = 1656466200

    def packet(self, payload, lane, i, second=second, **header):
        second_after, at = divmod(2 * (64 + 16 * i), 390625)
        fields = {"version": 3, "source": lane | 1 << 7 | 1 << 8, "configuration": 0, "station": 214 * 32,
                  "n_beamlets": 2, "n_slots": 16, "second": second + second_after, "sequence": at // 2, **header}
        return struct.pack("<BHBHBBII", *fields.values()) + payload

    def aliens(self, payload, lane):
        for reason, header in (
                ("corrupt", {"version": 4}), ("corrupt", {"n_beamlets": 0}), ("corrupt", {"n_slots": 0}),
                ("corrupt", {"sequence": 195313 + 64}), ("corrupt", {"sequence": 2 ** 32 - 1}),
                ("corrupt", {"n_beamlets": 1}), ("corrupt", {"source": lane | 1 << 7 | 2 << 8}),
                ("corrupt", {"source": lane | 1 << 7 | 3 << 8}),
                ("truncated", {"n_beamlets": 3}), ("truncated", {"n_slots": 255, "n_beamlets": 255}),
                ("truncated", {"source": lane | 1 << 7}),
                ("stray", {"n_beamlets": 1, "n_slots": 32}), ("stray", {"source": 9 | 1 << 7 | 1 << 8}),
                ("stray", {"source": lane | 1 << 8}), ("stray", {"station": 7}),
                ("mistimed", {"second": 0}), ("mistimed", {"second": 2 ** 32 - 1}),
                ("mistimed", {"second": self.second + 86400})):
            yield reason, self.packet(payload, lane, 500, **header)

    def samples(self, array):
        array = array.reshape(-1, 16, 2, 2, 2, 2)  # packet time lane beamlet pol part
        return array.transpose(2, 0, 3, 1, 4, 5)


class Described:
    """One port of packets of two stations, whose counter wraps among them."""
    n_ports, n_lanes, n_samples, window = 1, 2, 16, 100
    header_bytes, begins = 10, (b"\xfe\xed\xbe\xef",)
    shape = 16, 2, 2
    stage = {"stage": "packet.source", "header_bytes": 10, "counter": "u32 at 4",
             "constants": ["u32 at 0 = 0xfeedbeef"], "station": "u16 at 8", "payload": ["time 16", "pol 2"],
             "type": "ci8", "sample_rate": "1 MHz", "window": "1.6 ms"}
    first = 2 ** 32 - 16 * 4000

    def packet(self, payload, lane, i, magic=0xfeedbeef, counter=None, station=None):
        counter = self.first + 16 * i if counter is None else counter
        return struct.pack(">IIH", magic, counter % 2 ** 32, 3 + 4 * lane if station is None else station) + payload

    def aliens(self, payload, lane):
        yield "corrupt", self.packet(payload, lane, 500, magic=0xfeedbeee)
        for station in 99, 65535:
            yield "stray", self.packet(payload, lane, 500, station=station)
        # More than a second from all others, up to half of the period.
        for k in range(31):
            yield "mistimed", self.packet(payload, lane, 500, counter=(k + 1) * 2 ** 27)

    def samples(self, array):
        return array.reshape(-1, 16, 2, 2, 2).transpose(2, 0, 1, 3, 4)  # packet time lane pol part


class Wide(Described):
    """The same with a counter that does not wrap."""
    header_bytes = 14
    stage = {**Described.stage, "header_bytes": 14, "counter": "u64 at 4", "station": "u16 at 12"}
    first = 10 ** 12

    def packet(self, payload, lane, i, magic=0xfeedbeef, counter=None, station=None):
        counter = self.first + 16 * i if counter is None else counter
        return struct.pack(">IQH", magic, counter, 3 + 4 * lane if station is None else station) + payload

    def aliens(self, payload, lane):
        for counter in 0, 2 ** 32 - 1, 2 ** 60, 2 ** 61 + 1, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1:
            yield "mistimed", self.packet(payload, lane, 0, counter=counter)


class Heaps:
    """One port of heaps of one packet, of two stations, whose timestamp wraps among them."""
    n_ports, n_lanes, n_samples, window = 1, 2, 16, 100
    header_bytes, begins = 128, (b"\x53",)
    shape = 4, 16, 2, 2
    stage = {"stage": "spead.source", "payload": ["channel", "time 16", "pol 2"], "sample_rate": "1 MHz",
             "ticks_per_sample": 2, "window": "1.6 ms"}
    first = 2 ** 48 - 32 * 4000

    def packet(self, payload, lane, i, items=None, n_items=None, **changes):
        values = {2: len(payload), 3: 0, 4: len(payload), 0x1600: (self.first + 32 * i) % 2 ** 48,
                  0x4101: lane + 1, 0x4103: 8, 0x4300: 0, **(items or {})}
        pointers = [(number != 0x4300) << 63 | number << 48 | value for number, value in values.items()
                    if value is not None]
        head = struct.pack(">BBBBHH", changes.get("magic", 0x53), 4, 2, 6, 0, n_items or len(pointers))
        return head + struct.pack(f">{len(pointers)}Q", *pointers) + changes.get("behind", payload)

    def aliens(self, payload, lane):
        size = len(payload)
        for reason, keys in (
                ("corrupt", {"magic": 0x54}), ("corrupt", {"n_items": 65535}),
                ("corrupt", {"items": {4: 2 ** 47}}), ("corrupt", {"items": {4: size - 8}}),
                # Without the length of its payload, which what is received before it has.
                ("corrupt", {"n_items": 200, "behind": bytes(8 * 194) + payload, "items": {4: None}}),
                ("corrupt", {"n_items": 2}),
                ("truncated", {"items": {2: 2 ** 47, 4: 60000}}), ("truncated", {"n_items": 8}),
                ("stray", {"items": {2: 2 ** 47}}), ("stray", {"items": {2: 2 ** 47, 3: 2 ** 47 - size}}),
                ("stray", {"items": {3: 2 ** 47}}), ("stray", {"items": {0x4300: 2 ** 47}}),
                ("stray", {"items": {0x4101: 99}}), ("stray", {"items": {0x4101: 2 ** 47}}),
                ("stray", {"items": {0x4103: 2 ** 48 - 1}}), ("stray", {"items": {0x1601: 5}}),
                ("mistimed", {"items": {0x1600: self.first + 1}})):
            yield reason, self.packet(payload, lane, 500, **keys)
        # More than a second from all others, up to half of the period.
        for k in range(31):
            yield "mistimed", self.packet(payload, lane, 500, items={0x1600: (k + 1) * 2 ** 43})

    def samples(self, array):
        array = array.reshape(-1, 16, 4, 2, 2, 2)  # packet time channel lane pol part
        return array.transpose(3, 0, 2, 1, 4, 5)


class Vdif:
    """One port of frames of two threads."""
    n_ports, n_lanes, n_samples, window = 1, 2, 64, 250
    header_bytes, begins = 32, (b"",)
    shape = 64,
    stage = {"stage": "vdif.source", "threads": "station", "sample_rate": 1600000, "window": "10 ms"}
    second = 14363767

    def packet(self, payload, lane, i, **keys):
        second, number = divmod(24700 + i, 25000)
        return make_frame(payload, keys.pop("number", number),
                          **{"second": self.second + second, "thread": lane, "bits": 8, **keys})

    def aliens(self, payload, lane):
        for reason, keys in (
                ("corrupt", {"number": 25000}), ("corrupt", {"number": 2 ** 24 - 1}),
                ("stray", {"thread": 1023}),
                ("stray", {"bits": 4}), ("stray", {"station": 7}), ("stray", {"is_complex": True}),
                ("mistimed", {"second": 0}), ("mistimed", {"second": 2 ** 30 - 1}),
                ("mistimed", {"epoch": 0}), ("mistimed", {"epoch": 63, "second": 2 ** 30 - 1})):
            yield reason, self.packet(payload, lane, 500, **keys)
        true = self.packet(payload, lane, 500)
        for length, reason in (13, "truncated"), (11, "corrupt"), (2 ** 24 - 1, "truncated"), (0, "corrupt"):
            yield reason, change(true, 8, struct.pack("<I", 1 << 29 | length))

    def samples(self, array):
        return array.reshape(-1, 64, 2).transpose(2, 0, 1)


FORMATS = {"lofar": Lofar(), "packet": Described(), "wide": Wide(), "spead": Heaps(), "vdif": Vdif()}


class Floods(network.Network):
    def make_aliens(self, name, lane):
        """(reason, bytes), in an order of chance; reason None: any."""
        format, random = FORMATS[name], self.random
        payload = bytes(random.integers(1, 128, int(np.prod(format.shape)), "u1"))
        true = format.packet(payload, lane, 500)
        self.whole = [len(true)]
        aliens = [("corrupt", b"")] + [("corrupt", true + bytes(n)) for n in (1, 8, 1400, 65507 - len(true))]
        aliens += [("corrupt" if n < format.header_bytes else "truncated", true[:n]) for n in range(len(true))]
        aliens += list(format.aliens(payload, lane)) * 4
        noise = [random.bytes(n) for n in (*random.integers(1, 2000, 100), *[len(true)] * 100)]
        for other in FORMATS.values():
            if other.stage["stage"] != format.stage["stage"]:
                size = int(np.prod(other.shape))
                noise += [other.packet(random.bytes(size), lane, i) for i in range(50)]
        aliens += [(None if data.startswith(format.begins) else "corrupt", data) for data in noise]
        return [aliens[i] for i in random.permutation(len(aliens))]

    def set_up(self, name):
        self.format, self.ports = FORMATS[name], [free_port() for _ in range(FORMATS[name].n_ports)]
        self.payloads = self.random.integers(1, 128, (self.format.n_lanes, N, *self.format.shape), "u1")
        self.aliens = [self.make_aliens(name, lane) for lane in range(len(self.ports))]
        self.counts, self.n_sent, self.at = dict.fromkeys((None, *ALIEN, "duplicate", "late"), 0), 0, 0

    def true(self, lane, i):
        return lane % len(self.ports), self.format.packet(self.payloads[lane, i].tobytes(), lane, i)

    def alien(self, port, is_any=True):
        """The next alien of a port; is_any: also whole packets."""
        while True:
            self.at += 1
            reason, data = self.aliens[port][self.at % len(self.aliens[port])]
            if is_any or (reason == "corrupt" and len(data) not in self.whole and len(data) < 60000):
                break
        self.counts[reason] += 1
        return port, data

    def first_events(self):
        """So many aliens between two packets that neither is near another."""
        for i in range(BEGINNING):
            for lane in range(self.format.n_lanes):
                yield self.true(lane, i)
                for _ in range(25):
                    yield self.alien(lane % len(self.ports), False)

    def flood_events(self):
        for i in range(BEGINNING, N - END):
            for lane in range(self.format.n_lanes):
                for place in self.random.integers(0, FLOOD + 1, FLOOD):
                    if place == 0:
                        yield self.alien(lane % len(self.ports))
                yield self.true(lane, i)
                if i % 16 == 0:
                    self.counts["duplicate"] += 1
                    yield self.true(lane, i)
                if i % 16 == 8 and i > 3 * self.format.window:
                    self.counts["late"] += 1
                    yield self.true(lane, i - 2 * self.format.window)
                for _ in range(FLOOD):
                    yield self.alien(lane % len(self.ports))

    def send_all(self, process, events, slowly):
        events = list(events)
        self.n_sent += len(events)
        step = 16 if slowly else len(events)
        for at in range(0, len(events), step):
            Burst(self.ports, events[at:at + step]).send()
            if slowly:
                self.wait_empty(process)

    def wait_empty(self, process):
        self.wait_for(process, "packets that are not received", lambda: not any(
            network.udp_table().get(port, (1, 0))[0] for port in self.ports))

    def memory(self, process):
        """Bytes that the run may write to, touched or not."""
        pages = pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[5]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def check(self, name, stops=False):
        """stops: the run is stopped meanwhile, so that the kernel drops packets."""
        self.set_up(name)
        key = "path" if name == "vdif" else "paths"
        process = self.launch({
            "station": {**self.format.stage, key: [f"udp://127.0.0.1:{port}" for port in self.ports],
                        "max_gap": "1 s", "buffer": "4 MiB"},
            "out": {"stage": "file.sink", "from": "station", "path": "out.npy"}})
        self.wait_bound(process, self.ports)
        self.send_all(process, self.first_events(), True)
        self.wait_for(process, "no stream", lambda: any(self.folder.glob("out.npy.partial")))
        events = list(self.flood_events())
        self.send_all(process, events[:len(events) // 4], False)
        self.wait_empty(process)
        before = self.memory(process)
        begin = time.monotonic()
        if stops:
            process.send_signal(signal.SIGSTOP)
        self.send_all(process, events[len(events) // 4:], False)
        process.send_signal(signal.SIGCONT)
        print(f"# {name}: {self.n_sent / 1e3:.0f} thousand datagrams, the last three quarters in "
              f"{time.monotonic() - begin:.2f} s")
        self.wait_empty(process)
        lost = sum(network.udp_table()[port][1] for port in self.ports)
        self.send_all(process, (self.true(lane, i) for i in range(N - END, N)
                                for lane in range(self.format.n_lanes)), True)
        self.assertEqual(sum(network.udp_table()[port][1] for port in self.ports), lost)
        self.assertTrue(lost > 0 or not stops)
        if os.environ.get("CORNERTURN_SANITIZER", "none") == "none":  # their own memory grows
            self.assertLess(self.memory(process) - before, MEMORY)
        # The last ones all came, and the window has passed since the flood.
        n_decided = self.n_sent - lost
        counters = {"received": 0}
        self.wait_for(process, lambda: f"{n_decided} datagrams, not all counted: {counters}", lambda:
                      counters.update(self.counters(process)) or counters["received"] >= n_decided)
        process.send_signal(signal.SIGINT)
        counts = self.end(process, 130)
        self.assertIn("interrupted by SIGINT", counts)
        self.check_counters(counters, n_decided, lost)
        self.check_samples(counters)

    def check_counters(self, counters, n_decided, lost):
        self.assertEqual(counters["received"], n_decided)
        self.assertEqual(counters["received"], counters["used"] + sum(counters[one] for one in network.REASONS))
        self.assertEqual(counters["overrun"], lost)
        self.assertEqual(counters["used"] + counters["missing"], self.format.n_lanes * N)
        self.assertLessEqual(counters["missing"], lost + counters["late"] + counters["mistimed"])
        doubtful = self.counts.pop(None)
        for reason, sent in self.counts.items():
            self.assertGreaterEqual(counters[reason] + lost, sent, reason)
            if lost == 0:
                self.assertLessEqual(counters[reason], sent + doubtful * (reason in ALIEN), reason)
        if lost == 0:
            self.assertEqual(counters["used"], self.format.n_lanes * N)

    def check_samples(self, counters):
        array = np.load(self.folder / "out.npy")
        wanted = self.payloads
        if array.dtype == np.float32:
            wanted = LEVELS[8][wanted]
        given = self.format.samples(array)
        valid = given.reshape(*given.shape[:2], -1).any(2)
        shape = (*valid.shape, *(1,) * (given.ndim - 2))
        np.testing.assert_array_equal(given, wanted * valid.reshape(shape))
        self.assertEqual(np.count_nonzero(valid), counters["used"])

    def test_lofar(self):
        self.check("lofar")

    def test_packet(self):
        self.check("packet")

    def test_overrun(self):
        self.check("packet", True)

    def test_wide(self):
        self.check("wide")

    def test_spead(self):
        self.check("spead")

    def test_vdif(self):
        self.check("vdif")


if __name__ == "__main__":
    network.main()
