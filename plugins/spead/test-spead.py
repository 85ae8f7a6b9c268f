#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""spead.source: heaps of MeerKAT's F-engines, written by NumPy and by spead2, whole and damaged."""
import itertools
import json
import struct
import subprocess

import numpy as np

import graphs
import oracles
import tap

SEED = 20261128
TICKS = 8192  # of a spectrum
N_TIMES, N_POLS = 256, 2


def pointer(number, value, immediate=True):
    return struct.pack(">Q", immediate << 63 | number << 48 | value)


def make_packet(count, heap_bytes, offset, payload, items, samples=0x4300, padding=0):
    pointers = [pointer(1, count), pointer(2, heap_bytes), pointer(3, offset), pointer(4, len(payload)),
                *(pointer(number, value) for number, value in items),
                *([pointer(samples, 0, False)] if samples else []), *[bytes(8)] * padding]
    return struct.pack(">BBBBHH", 0x53, 4, 2, 6, 0, len(pointers)) + b"".join(pointers) + payload


def make_heap(count, data, items, piece, **more):
    """The packets of a heap; of its first axis, each has `piece` elements."""
    size = data[0].nbytes
    return [make_packet(count, data.nbytes, size * c, data[c:c + piece].tobytes(), items, **more)
            for c in range(0, len(data), piece)]


def control(kind=2):
    """A packet of stream control."""
    return make_packet(7, 1, 0, b"\0", [(6, kind)], samples=0)


def descriptor(n):
    """A packet with n bytes of descriptors and without samples."""
    return make_packet(8, n, 0, bytes(n), [], samples=5)


class Heaps(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(SEED)

    def make(self, n, stations=(0, 2, 5), firsts=(32, 48), n_channels=16, piece=4, n_times=N_TIMES,
             first=100, **more):
        """Samples [heap station substream channel time pol part], and packets in the order of time,
        where heaps take turns packet by packet."""
        samples = self.random.integers(
            -128, 128, (n, len(stations), len(firsts), n_channels, n_times, N_POLS, 2), np.int8)
        packets = []
        for i in range(n):
            heaps = [make_heap(i, samples[i, s, c],
                               [(0x1600, TICKS * (first + n_times * i) % 2**48), (0x4101, station),
                                (0x4103, channel)], piece, **more)
                     for s, station in enumerate(stations) for c, channel in enumerate(firsts)]
            packets += [packet for turn in zip(*heaps) for packet in turn]
        return samples, packets

    @staticmethod
    def arrange(samples):
        """[time channel station pol part]"""
        n, n_stations, n_blocks, n_channels, n_times = samples.shape[:5]
        return samples.transpose(0, 4, 2, 3, 1, 5, 6).reshape(
            n * n_times, n_blocks * n_channels, n_stations, N_POLS, 2)

    def run_source(self, data, source=None, sink=None, is_pipe=False):
        """The array of the packets, the counters that are not 0, and the description."""
        (self.folder / "x.spead").write_bytes(data if isinstance(data, bytes) else b"".join(data))
        graph = self.write({
            "sky": {"stage": "spead.source", "paths": ["-" if is_pipe else "x.spead"],
                    **(source or {})},
            "out": {"stage": "file.sink", "from": "sky", "path": "out.npy", **(sink or {})}})
        command = [graphs.COMMAND, "run", graph, "--stats", "json"]
        if is_pipe:
            command = ["sh", "-c", 'cat x.spead | "$0" "$@"', *command]
        done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        nodes = json.loads(done.stdout)["nodes"]
        self.assertEqual(len(nodes), 2)  # the source writes the layout itself
        counts = {name: n for name, n in nodes[0]["counters"].items() if n}
        return (np.load(self.folder / "out.npy"), counts,
                json.loads((self.folder / "out.npy.json").read_text()))

    def refuse(self, packets, **source):
        (self.folder / "x.spead").write_bytes(b"".join(packets))
        error = self.fail_graph({"sky": {"stage": "spead.source", "paths": "x.spead", **source},
                                 "out": {"stage": "discard", "from": "sky"}})
        self.assertRegex(error, r"^graph.yaml:\d+:\d+: node 'sky': ")
        return error.split("node 'sky': ")[1]


class Samples(Heaps):
    def test_layouts(self):
        """Every order of the axes, by both backends, with blocks that cut packets."""
        samples, packets = self.make(3)
        wanted = self.arrange(samples)
        axes = ["time", "channel", "station", "pol"]
        for i, order in enumerate(itertools.permutations(axes)):
            backend = ("cpu", "reference")[i % 2]
            given, counts, _ = self.run_source(
                packets, {"backend": backend, "block": {"time": (100, 10000, 257)[i % 3]}},
                {"layout": f"[{' '.join(order)}]"})
            with self.subTest(order=order, backend=backend):
                np.testing.assert_array_equal(
                    given, wanted.transpose(*(axes.index(name) for name in order), 4))
                self.assertEqual(counts, {"packets": 3 * 3 * 2 * 4})

    def test_pieces(self):
        """Packets of one channel, and of a whole heap, with padding behind the items."""
        for piece, padding in ((1, 3), (16, 0), (2, 7)):
            samples, packets = self.make(2, piece=piece, padding=padding)
            given, counts, _ = self.run_source(packets)
            np.testing.assert_array_equal(given, self.arrange(samples))
            self.assertEqual(counts, {"packets": len(packets)})

    def test_description(self):
        """The clock of the L band, the epoch and the frequencies."""
        _, packets = self.make(2)
        _, _, beside = self.run_source(packets, {"epoch": 1656466200, "channel_zero": "856 MHz"})
        self.assertEqual((beside["start"], beside["ticks_per_sample"], beside["ticks_per_second"]),
                         (100 * TICKS, TICKS, [1712000000, 1]))
        self.assertEqual(beside["start_utc"], "2022-06-29T01:30:00.000478504Z")
        channel = next(axis for axis in beside["axes"] if axis["name"] == "channel")
        self.assertEqual((channel["length"], channel["first"], channel["step"]),
                         (32, 856e6 + 32 * 208984.375, 208984.375))

    def test_other_items(self):
        """Heaps of 16-bit samples that packets divide along time, of one station."""
        samples = self.random.integers(-2**15, 2**15, (5, 4096), np.int16)
        packets = [packet for i in range(5) for packet in make_heap(
            i, samples[i].astype(">i2"), [(0x1600, 4096 * i + 77), (0x3101, 9)], 1024, samples=0x3300)]
        del packets[6]
        samples[1, 2048:3072] = 0
        given, counts, beside = self.run_source(packets, {
            "payload": ["time"], "type": "i16", "samples_item": "0x3300", "station_item": "0x3101",
            "channel_item": "none", "ticks_per_sample": 1, "sample_rate": "1712 MHz",
            "first_frequency": "856 MHz"})
        np.testing.assert_array_equal(given[:, 0], samples.reshape(-1))
        self.assertEqual(counts, {"packets": 19, "missing": 1})
        self.assertEqual((beside["start"], beside["frequency"]), (77, 856e6))

    def test_spead2(self):
        """The packets of the package spead2, with its descriptors and the end of its stream."""
        script = ("import sys, numpy as np, spead2, spead2.send\n"
                  "flavour = spead2.Flavour(4, 64, 48, 0)\n"
                  "data = np.load(sys.argv[1])\n"
                  "config = spead2.send.StreamConfig(max_packet_size=72 + 4096)\n"
                  "stream = spead2.send.BytesStream(spead2.ThreadPool(), config)\n"
                  "def immediate(number, value):\n"
                  "    return spead2.Item(number, 'i', '', (), format=[('u', 48)], value=value)\n"
                  "def raw(value):\n"
                  "    return spead2.Item(0x4300, 'r', '', value.shape, value.dtype, value=value)\n"
                  "def send(heap):\n"
                  "    stream.send_heap(heap)\n"
                  "for i, s, c in np.ndindex(*data.shape[:3]):\n"
                  "    if (i, s, c) in ((0, 0, 0), (2, 1, 0)):\n"
                  "        heap = spead2.send.Heap(flavour)\n"
                  "        heap.add_descriptor(raw(data[0, 0, 0]))\n"
                  "        send(heap)\n"
                  "    heap = spead2.send.Heap(flavour)\n"
                  "    heap.repeat_pointers = True\n"
                  "    heap.add_item(immediate(0x1600, 8192 * (100 + 256 * i)))\n"
                  "    heap.add_item(immediate(0x4101, (0, 2, 5)[s]))\n"
                  "    heap.add_item(immediate(0x4103, (32, 48)[c]))\n"
                  "    heap.add_item(raw(data[i, s, c]))\n"
                  "    send(heap)\n"
                  "heap = spead2.send.Heap(flavour)\n"
                  "heap.add_end()\n"
                  "send(heap)\n"
                  "open(sys.argv[2], 'wb').write(stream.getvalue())\n")
        samples, packets = self.make(4)
        np.save(self.folder / "data.npy", samples)
        oracles.run(self, oracles.SPEAD2, script, self.folder / "data.npy", self.folder / "s2.spead")
        written = (self.folder / "s2.spead").read_bytes()
        for backend in ("cpu", "reference"):
            given, counts, _ = self.run_source(written, {"backend": backend})
            np.testing.assert_array_equal(given, self.arrange(samples))
            self.assertEqual(counts, {"packets": len(packets) + 3, "stray": 3})
        # Those of this test are the same, save for the numbers of the heaps.
        self.assertTrue(all(packet[16:] in written for packet in packets))


class Damage(Heaps):
    def test_faults(self):
        """Lost, doubled, swapped, cut and alien packets, as a file and as a pipe."""
        samples, packets = self.make(12)
        lost, cut = 24 * 3 + 1, 24 * 7 + 7  # station 0 substream 1, piece 0; the same, piece 1
        packets[lost] = b""
        samples[3, 0, 1, :4] = 0
        packets[cut] = packets[cut][:1000]
        samples[7, 0, 1, 4:8] = 0
        packets[24 * 4 + 8] *= 2
        packets[24 * 5], packets[24 * 6] = packets[24 * 6], packets[24 * 5]
        packets[24 * 8 + 3] += control()
        packets[24 * 9 + 5] += descriptor(900) + descriptor(3)
        heap = np.zeros((4, N_TIMES, N_POLS, 2), np.int8).tobytes()
        for items in ([(0x1600, TICKS * 612), (0x4101, 77), (0x4103, 32)],  # no such station,
                      [(0x1600, TICKS * 612), (0x4101, 0), (0x4103, 35)],  # channel,
                      [(0x1600, TICKS * 612 + 1), (0x4101, 0), (0x4103, 32)]):  # or spectrum
            packets[24 * 10] += make_packet(3, 4 * 4096, 0, heap, items)
        packets[24 * 11] += make_packet(3, 8 * 4096, 0, heap, items)  # of another stream
        packets = [control(0), *packets, control()]
        for backend, is_pipe in (("cpu", False), ("reference", False), ("cpu", True)):
            given, counts, _ = self.run_source(packets, {"backend": backend}, is_pipe=is_pipe)
            np.testing.assert_array_equal(given, self.arrange(samples))
            self.assertEqual(counts, {"packets": 24 * 12 - 2 + 1 + 3 + 3 + 1 + 2, "missing": 2,
                                      "reordered": 1, "duplicate": 1, "truncated": 1,
                                      "stray": 3 + 2 + 1 + 2, "mistimed": 1})

    def test_garbage(self):
        """Bytes that are no packets, and a last packet that is cut."""
        samples, packets = self.make(4)
        packets[24 * 2] = self.random.bytes(len(packets[0]))
        packets[-1] = packets[-1][:-10]
        samples[2, 0, 0, :4] = samples[3, 2, 1, 12:] = 0
        given, counts, _ = self.run_source(packets)
        np.testing.assert_array_equal(given, self.arrange(samples))
        self.assertEqual(counts, {"packets": 94, "missing": 2, "corrupt": 1, "truncated": 1})

    def test_long(self):
        """A recording of more packets than an index is made of, as a file and as a pipe, with a
        timestamp that wraps."""
        n = 6000
        samples, packets = self.make(n, n_channels=8, firsts=(32, 40), n_times=16,
                                     first=2**48 // TICKS - 16 * 3000)
        packets[31001] += control()
        packets[40000] = b""
        i, rest = divmod(40000, 12)
        samples[i, rest % 6 // 2, rest % 2, 4 * (rest // 6):][:4] = 0
        for is_pipe in (False, True):
            given, counts, _ = self.run_source(packets, {"payload": ["channel", "time 16", "pol 2"]},
                                               is_pipe=is_pipe)
            self.assertEqual(counts, {"packets": 12 * n, "missing": 1, "stray": 1})
            self.assertTrue(np.array_equal(given, self.arrange(samples)))


class Errors(Heaps):
    def test_pieces(self):
        """Packets that are not whole channels, or not equal, or not of samples alone."""
        _, packets = self.make(2, n_times=100)
        start = ("x.spead: wants heaps of samples alone in equal packets with whole elements of axis "
                 "'channel', of 1024 bytes each, but is given packets of ")
        self.assertEqual(self.refuse(packets), start + "1600 bytes in heaps of 6400, with samples from "
                                               "byte 0 on")
        data = np.zeros((5, N_TIMES, N_POLS, 2), np.int8)
        items = [(0x1600, 0), (0x4101, 0), (0x4103, 0)]
        uneven = [make_packet(i, 5120, 0, data[:4].tobytes(), items) for i in range(3)]
        self.assertEqual(self.refuse(uneven), start + "4096 bytes in heaps of 5120, with samples from "
                                              "byte 0 on")
        behind = [packet.replace(pointer(0x4300, 0, False), pointer(0x4300, 8, False))
                  for packet in make_heap(0, data[:4], items, 2)]
        self.assertEqual(self.refuse(behind), start + "2048 bytes in heaps of 4096, with samples from "
                                              "byte 8 on")

    def test_explained(self):
        """What the first packet of a file lacks, if none has samples."""
        data = np.zeros((4, N_TIMES, N_POLS, 2), np.int8)
        packets = make_heap(0, data, [(0x1600, 0), (0x4103, 0)], 2)
        self.assertEqual(
            self.refuse(packets), f"x.spead: wants packets of SPEAD heaps, but is given "
            f"{len(b''.join(packets))} bytes without any: its first header says no number of the station "
            "in each packet")
        self.assertIn("its first header says another protocol than SPEAD-64-48",
                      self.refuse([bytes(500)]))

    def test_parameters(self):
        _, packets = self.make(2)
        item = "wants the number of an item from 5 to 0x7fff, but is given "
        for source, message in (
                ({"samples_item": "0x8000"}, f"parameter 'samples_item': {item}'0x8000'"),
                ({"station_item": "four"}, f"parameter 'station_item': {item}'four'"),
                ({"channel_item": "4"}, f"parameter 'channel_item': {item}'4'"),
                ({"timestamp_item": "none"}, "parameter 'timestamp_item': wants the number of an item, "
                 "but is given none"),
                ({"samples_item": "none"}, "parameter 'samples_item': wants the number of an item, but "
                 "is given none"),
                ({"payload": ["channel 4", "time 256", "pol 2"]}, "parameter 'payload': wants first the "
                 "axis that packets divide, without a length as 'channel', but is given 'channel 4'"),
                ({"payload": ["pol", "time 256", "channel 2"]}, "parameter 'payload': wants heaps that "
                 "packets divide along time or channel, but is given 'pol'"),
                ({"payload": ["channel", "station 2", "time 128"]}, "parameter 'station_item': wants "
                 "heaps of one station, but 'payload' has several"),
                ({"stations": [4]}, "x.spead: wants packets of the stations, channels and times that are "
                 "read, but is given none"),
                ({"channels": ["32..34"]}, "parameter 'channels': wants whole packets of 4 channels, "
                 "but is given '32..34'")):
            with self.subTest(source):
                self.assertEqual(self.refuse(packets, **source), message)


if __name__ == "__main__":
    tap.main()
