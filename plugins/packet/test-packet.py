#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""packet.source: packets of many headers and types, written by NumPy, whole and damaged."""
import itertools
import json
import os
import subprocess
import unittest

import numpy as np

import graphs
import tap

SEED = 20261127
# NumPy's type of the parts of each type, and how many an element has.
PARTS = {"ci4": ("u1", 1), "ci8": ("i1", 2), "ci16": ("i2", 2), "ci32": ("i4", 2), "cf32": ("f4", 2),
         "cf64": ("f8", 2), "i8": ("i1", 1), "i16": ("i2", 1), "f32": ("f4", 1), "f64": ("f8", 1),
         "cf16": ("f2", 2), "u8": ("u1", 1)}


def put(header, bits, value, byte, bit=0, little=False):
    """Writes a field bit by bit into the list of bits of a header."""
    for k in range(bits):
        at = 8 * byte + bit + k
        if little:
            header[at // 8] |= (value >> k & 1) << at % 8
        else:
            header[at // 8] |= (value >> (bits - 1 - k) & 1) << 7 - at % 8


def plain(counter, station, channel, flag=0):
    """The header of most tests: magic, flag, counter of 40 bits, station and channel of 16."""
    header = bytearray(14)
    put(header, 32, 0xfeedbeef, 0)
    put(header, 1, flag, 4, 3)
    put(header, 40, counter % 2**40, 5)
    put(header, 16, station, 10)
    put(header, 16, channel, 12)
    return bytes(header)


PLAIN = {"stage": "packet.source", "paths": ["x.pk"], "header_bytes": 14,
         "constants": ["u32 at 0 = 0xfeedbeef"], "flag": "u1 at 4 bit 3", "counter": "u40 at 5",
         "station": "u16 at 10", "channel": "u16 at 12",
         "payload": ["time 16", "channel 4", "pol 2"], "type": "ci8", "sample_rate": "1 MHz"}
N_TIMES, N_CHANNELS, N_POLS = 16, 4, 2  # of a packet


class Packets(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(SEED)

    def run_source(self, packets, source=None, sink=None, paths=("x.pk",)):
        """The array of the packets, the counters that are not 0, and the description."""
        parts = np.array_split(np.arange(len(packets)), len(paths))
        for path, part in zip(paths, parts):
            (self.folder / path).write_bytes(b"".join(packets[i] for i in part))
        statistics = self.run_graph({
            "sky": {**PLAIN, "paths": list(paths), **(source or {})},
            "out": {"stage": "file.sink", "from": "sky", "path": "out.npy", **(sink or {})}})
        self.assertEqual(len(statistics["nodes"]), 2)  # the source writes the layout itself
        counts = {name: n for name, n in statistics["nodes"][0]["counters"].items() if n}
        return (np.load(self.folder / "out.npy"), counts,
                json.loads((self.folder / "out.npy.json").read_text()))

    def refuse(self, packets, **source):
        (self.folder / "x.pk").write_bytes(b"".join(packets))
        stage = {key: value for key, value in {**PLAIN, **source}.items() if value is not None}
        error = self.fail_graph({"sky": stage, "out": {"stage": "discard", "from": "sky"}})
        self.assertRegex(error, r"^graph.yaml:\d+:\d+: node 'sky': ")
        return error.split("node 'sky': ")[1]

    def make(self, n, stations=(3, 7, 12), channels=(8, 12), first=1000, **more):
        """Samples [packet station block time channel pol part], and packets in the order of time."""
        samples = self.random.integers(
            -128, 128, (n, len(stations), len(channels), N_TIMES, N_CHANNELS, N_POLS, 2), np.int8)
        packets = [plain(first + N_TIMES * i, station, channel, **more) + samples[i, s, c].tobytes()
                   for i in range(n) for s, station in enumerate(stations)
                   for c, channel in enumerate(channels)]
        return samples, packets

    @staticmethod
    def arrange(samples):
        """[time channel station pol part]"""
        n, n_stations, n_blocks = samples.shape[:3]
        return samples.transpose(0, 3, 2, 4, 1, 5, 6).reshape(
            n * N_TIMES, n_blocks * N_CHANNELS, n_stations, N_POLS, 2)


class Samples(Packets):
    def test_layouts(self):
        """Every order of the axes, by both backends, with blocks that cut packets."""
        samples, packets = self.make(5)
        wanted = self.arrange(samples)
        axes = ["time", "channel", "station", "pol"]
        for i, order in enumerate(itertools.permutations(axes)):
            for backend in ("cpu", "reference"):
                given, counts, _ = self.run_source(
                    packets, {"backend": backend, "block": {"time": (7, 1000, 33)[i % 3]}},
                    {"layout": f"[{' '.join(order)}]"})
                with self.subTest(order=order, backend=backend):
                    np.testing.assert_array_equal(
                        given, wanted.transpose(*(axes.index(name) for name in order), 4))
                    self.assertEqual(counts, {"packets": 30})

    def test_types(self):
        """Bytes of every type, in both orders, and every order of the axes of the payload."""
        lengths = {"time": 5, "subband": 3, "pol": 2}
        orders = list(itertools.permutations(lengths))
        for i, (name, (part, n_parts)) in enumerate(PARTS.items()):
            order = orders[i % len(orders)]
            for byte_order, mark in (("big", ">"), ("little", "<")):
                size = np.dtype(part).itemsize
                shape = [4, *(lengths[axis] for axis in order), n_parts]
                raw = self.random.integers(0, 256, (*shape, size), np.uint8)
                if part[0] == "f":
                    raw = self.random.standard_normal(shape).astype(mark + part).view(np.uint8)
                values = np.frombuffer(raw.tobytes(), mark + part).reshape(shape)
                wanted = values.transpose(0, *(1 + order.index(axis) for axis in lengths), 4)
                wanted = wanted.reshape(20, 3, 2, n_parts)
                packets = [bytes(8) + i.to_bytes(8, "big") + values[i].tobytes() for i in range(4)]
                source = {"header_bytes": 16, "counter": "u64 at 8", "counts": "packets",
                          "constants": ["u64 at 0 = 0"], "type": name,
                          "payload": [f"{axis} {lengths[axis]}" for axis in order]}
                if size > 1:
                    source["byte_order"] = byte_order
                for backend in ("cpu", "reference"):
                    stage = {**{key: value for key, value in PLAIN.items()
                                if key not in ("flag", "station", "channel")}, **source,
                             "backend": backend}
                    (self.folder / "x.pk").write_bytes(b"".join(packets))
                    self.run_graph({"sky": stage, "out": {"stage": "file.sink", "from": "sky",
                                                          "path": "out.npy"}})
                    given = np.load(self.folder / "out.npy")
                    with self.subTest(name, byte_order=byte_order, backend=backend):
                        if name in ("cf32", "cf64"):
                            given = given.view(given.real.dtype).reshape(wanted.shape)
                        np.testing.assert_array_equal(given.reshape(wanted.shape), wanted)

    def test_nibbles(self):
        raw = self.random.integers(0, 256, (3, N_TIMES, N_CHANNELS, N_POLS), np.uint8)
        packets = [plain(16 * i, 0, 0) + raw[i].tobytes() for i in range(3)]
        for nibble, wanted in (("high", raw), ("low", raw << 4 | raw >> 4)):
            for backend in ("cpu", "reference"):
                given, _, _ = self.run_source(packets, {"type": "ci4", "real_nibble": nibble,
                                                        "backend": backend})
                np.testing.assert_array_equal(given[:, :, 0], wanted.reshape(48, 4, 2))

    def test_fields(self):
        """Fields of odd bits at odd places, in both byte orders."""
        for case in range(20):
            header_bytes = int(self.random.integers(12, 200))
            little = bool(case % 2)
            starts = np.sort(self.random.choice(8 * (header_bytes - 1) // 24, 3, False)) * 24
            bits = [int(self.random.integers(9, 25)), int(self.random.integers(3, 16)),
                    int(self.random.integers(5, 16))]
            starts = [int(s + self.random.integers(0, 25 - b)) for s, b in zip(starts, bits)]
            places = [f"u{b} {'little ' if little else ''}at {s // 8}"
                      f"{f' bit {s % 8}' if s % 8 else ''}" for b, s in zip(bits, starts)]
            stations, channels = (1, 6), (0, 4, 24)
            samples = self.random.integers(-128, 128, (4, 2, 3, N_TIMES, N_CHANNELS, N_POLS, 2), np.int8)
            packets = []
            for i, s, c in np.ndindex(4, 2, 3):
                header = bytearray(header_bytes)
                for value, b, at in zip((5 + i, stations[s], channels[c]), bits, starts):
                    put(header, b, value, at // 8, at % 8, little)
                packets.append(bytes(header) + samples[i, s, c].tobytes())
            stage = {key: value for key, value in PLAIN.items() if key not in ("flag", "constants")}
            (self.folder / "x.pk").write_bytes(b"".join(packets))
            self.run_graph({"sky": {**stage, "header_bytes": header_bytes, "counts": "packets",
                                    "counter": places[0], "station": places[1],
                                    "channel": places[2]},
                            "out": {"stage": "file.sink", "from": "sky", "path": "out.npy"}})
            with self.subTest(places=places, header_bytes=header_bytes):
                np.testing.assert_array_equal(np.load(self.folder / "out.npy"), self.arrange(samples))


class Times(Packets):
    def test_ticks(self):
        """The clock, the epoch and the frequencies."""
        samples, _ = self.make(3)
        packets = [plain(8192 * (100 + 16 * i), s, c) + samples[i, si, ci].tobytes()
                   for i in range(3) for si, s in enumerate((3, 7, 12))
                   for ci, c in enumerate((8, 12))]
        packets.append(plain(8192 * 116 + 1, 3, 8) + samples[0, 0, 0].tobytes())  # between two samples
        given, counts, beside = self.run_source(
            packets, {"counts": "ticks", "ticks_per_sample": 8192, "sample_rate": "208984.375 Hz",
                      "epoch": "2022-06-29T01:30:00Z", "channel_zero": "856 MHz"})
        np.testing.assert_array_equal(given, self.arrange(samples))
        self.assertEqual(counts, {"packets": 19, "mistimed": 1})
        self.assertEqual((beside["start"], beside["ticks_per_sample"], beside["ticks_per_second"]),
                         (819200, 8192, [1712000000, 1]))
        self.assertEqual(beside["start_utc"], "2022-06-29T01:30:00.000478504Z")
        channel = next(axis for axis in beside["axes"] if axis["name"] == "channel")
        self.assertEqual((channel["first"], channel["step"]),
                         (856e6 + 8 * 208984.375, 208984.375))

    def test_wraps(self):
        """Counters of few bits go on, in files, in files without an index, and in pipes."""
        header = {"header_bytes": 3, "counter": "u10 at 0", "counts": "packets", "flag": None,
                  "constants": ["u3 at 2 = 5"], "station": "u5 at 2 bit 3", "channel": None,
                  "payload": ["time 2", "channel 64"]}
        stage = {key: value for key, value in {**PLAIN, **header}.items() if value is not None}
        n = 36000  # more than 65536 packets of two stations
        samples = self.random.integers(-128, 128, (n, 2, 2, 64, 2), np.int8)
        packets = [bytes([(i + 900) % 1024 >> 2, ((i + 900) % 1024 & 3) << 6, 5 << 5 | s]) +
                   samples[i, s].tobytes() for i in range(n) for s in range(2)]
        packets[2001:2003] = []  # two are lost
        samples[1000, 1] = samples[1001, 0] = 0
        wanted = samples.transpose(0, 2, 3, 1, 4).reshape(2 * n, 64, 2, 2)
        (self.folder / "x.pk").write_bytes(b"".join(packets))
        for paths in (["x.pk"], ["-"]):
            graph = self.write({"sky": {**stage, "paths": paths},
                                "out": {"stage": "file.sink", "from": "sky", "path": "out.npy"}})
            with open(self.folder / "x.pk", "rb") as file:
                cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
                done = subprocess.run([graphs.COMMAND, "run", graph, "--stats", "json"],
                                      cwd=self.folder, stdin=cat.stdout, capture_output=True,
                                      timeout=120)
                cat.stdout.close()
                cat.wait()
            self.assertEqual(done.returncode, 0, done.stderr)
            counts = json.loads(done.stdout)["nodes"][0]["counters"]
            self.assertEqual({name: k for name, k in counts.items() if k},
                             {"packets": 2 * n - 2, "missing": 2})
            self.assertTrue(np.array_equal(np.load(self.folder / "out.npy"), wanted), paths)


class Damage(Packets):
    def test_faults(self):
        """Lost, doubled, swapped, flagged and alien packets, in two files."""
        samples, packets = self.make(12)
        packets[6 * 4 + 1] = plain(1064, 3, 12, flag=1) + packets[25][14:]
        samples[4, 0, 1] = 0
        packets[6 * 6], packets[6 * 7] = packets[6 * 7], packets[6 * 6]
        packets[6 * 9 + 2] = packets[6 * 8 + 2]
        samples[9, 1, 0] = 0
        packets += [plain(1000, 60000, 8) + packets[0][14:], plain(1000, 3, 9) + packets[0][14:],
                    plain(2**39, 3, 8) + packets[0][14:], bytes(len(packets[0]))]
        for backend in ("cpu", "reference"):
            given, counts, _ = self.run_source(packets, {"backend": backend},
                                                    paths=["1.pk", "2.pk"])
            np.testing.assert_array_equal(given, self.arrange(samples))
            self.assertEqual(counts, {"packets": 75, "reordered": 1, "missing": 1, "duplicate": 1,
                                      "flagged": 1, "stray": 2, "mistimed": 1, "corrupt": 1})

    def test_mistimed(self):
        """A counter that is read in the wrong order of bytes: most packets are mistimed."""
        _, packets = self.make(500)
        (self.folder / "x.pk").write_bytes(b"".join(packets))
        statistics = self.run_graph({
            "sky": {**PLAIN, "counter": "u40 little at 5"}, "out": {"stage": "discard", "from": "sky"}})
        n = statistics["nodes"][0]["counters"]["mistimed"]
        self.assertGreater(n, 1500)
        warning, = statistics["warnings"]
        self.assertEqual(warning["node"], "sky")
        self.assertIn(f"parameter 'paths': {n} of 3000 packets are mistimed: ", warning["message"])

    def test_truncated(self):
        samples, packets = self.make(6)
        packets[6 * 3] = packets[6 * 3][:50]
        packets[-1] = packets[-1][:-1]
        samples[3, 0, 0] = samples[5, 2, 1] = 0
        given, counts, _ = self.run_source(packets)
        np.testing.assert_array_equal(given, self.arrange(samples))
        self.assertEqual(counts, {"packets": 34, "missing": 2, "truncated": 2})

    def test_chosen(self):
        """Stations and channels that the graph lists, in its order; others are stray."""
        samples, packets = self.make(4, channels=(0, 4, 8, 12))
        given, counts, beside = self.run_source(packets, {
            "stations": [12, "3"], "channels": ["12..15", "0..7"], "channel_zero": 100,
            "channel_step": 10})
        np.testing.assert_array_equal(given, self.arrange(samples[:, [2, 0]][:, :, [3, 0, 1]]))
        self.assertEqual(counts, {"packets": 48, "stray": 48 - 24})
        channel = next(axis for axis in beside["axes"] if axis["name"] == "channel")
        self.assertEqual(channel["table"], [100.0 + 10 * c for c in [*range(12, 16), *range(8)]])


class Errors(Packets):
    def test_parameters(self):
        _, packets = self.make(2)
        field = "wants bits, byte and perhaps bit as 'u32 at 8' or 'u12 little at 8 bit 4', but is given "
        cases = [
            ({"counter": "u40"}, f"parameter 'counter': {field}'u40'"),
            ({"counter": "u65 at 0"}, f"parameter 'counter': {field}'u65 at 0'"),
            ({"station": "u0 at 0"}, f"parameter 'station': {field}'u0 at 0'"),
            ({"channel": "u8 at 0 bit 8"}, f"parameter 'channel': {field}'u8 at 0 bit 8'"),
            ({"flag": "u1 at 0 bit"}, f"parameter 'flag': {field}'u1 at 0 bit'"),
            ({"counter": "u40 at 10"}, "parameter 'counter': wants a place in the 14 bytes of a "
             "header, but is given 'u40 at 10'"),
            ({"constants": ["u4 at 0 = 16"]}, "parameter 'constants': wants a place in the 14 bytes of "
             "a header and a number that it can have, as 'u32 at 0 = 0x1234abcd', but is given 'u4 at 0 "
             "= 16'"),
            ({"constants": [f"u8 at {i} = 1" for i in range(9)]},
             "parameter 'constants': wants at most 8, but is given 9"),
            ({"counts": "ticks"}, "parameter 'counts': wants 'ticks_per_sample' beside ticks"),
            ({"payload": ["time"]}, "parameter 'payload': wants an axis and its length as 'time 16', "
             "but is given 'time'"),
            ({"payload": ["time 0"]}, "parameter 'payload': wants an axis and its length as 'time 16', "
             "but is given 'time 0'"),
            ({"payload": ["time 2", "time 2"]},
             "parameter 'payload': wants each axis once, but is given 'time' twice"),
            ({"payload": [f"a{i} 1" for i in range(10)]},
             "parameter 'payload': wants at most 9 axes, but is given 10"),
            ({"payload": ["time 16777216"]},
             "parameter 'payload': wants packets of at most 16777216 bytes"),
            ({"payload": ["channel 2", "subband 2"]},
             "parameter 'payload': wants channels or subbands, but is given both"),
            ({"payload": ["station 2"]},
             "parameter 'station': wants packets of one station, but the payload has several"),
            ({"stations": ["3..x"]}, "parameter 'stations': wants numbers and ranges from 0 to 65534 as "
             "0..7, but is given '3..x'"),
            ({"stations": [3, 3]}, "parameter 'stations': wants each number once, but is given 3 twice"),
            ({"channels": ["8..10"]},
             "parameter 'channels': wants whole packets of 4 channels, but is given '8..10'"),
            ({"epoch": "soon"}, "parameter 'epoch': "),
            ({"sample_rate": "1 THz", "counts": "ticks", "ticks_per_sample": 10**9},
             "parameter 'ticks_per_sample': makes a clock faster than 63 bits can count"),
            ({"first_frequency": 1}, "parameter 'first_frequency': wants real samples: give "
             "'centre_frequency' for these"),
            ({"constants": ["u32 at 0 = 1"]},
             "x.pk: wants packets, but is given 3240 bytes without any"),
        ]
        for source, message in cases:
            with self.subTest(source):
                error = self.refuse(packets, **source)
                self.assertTrue(error.startswith(message), error)
        self.assertEqual(
            self.refuse(packets, channel=None, payload=["time 16", "a 4", "pol 2"], channel_zero=1),
            "parameter 'channel_zero': wants packets that have channels, but is given others")

    def test_channels(self):
        """Packets whose channels overlap, and none with a station that can be."""
        _, packets = self.make(3, channels=(8, 10))
        self.assertEqual(self.refuse(packets), "parameter 'channels': is wanted, for packets of 4 begin at "
                                             "channels 8 and 10")
        _, packets = self.make(3, stations=(65535,))
        self.assertEqual(self.refuse(packets), "parameter 'stations': is wanted, for no packet tells which "
                                             "there are")


if __name__ == "__main__":
    tap.main()
