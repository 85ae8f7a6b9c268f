#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""spead.sink: its packets by their bytes, to spead2 and back to spead.source, by files, a pipe and the
network; samples that are invalid, files that end too early, and what is refused."""
import json
import pathlib
import signal
import struct
import subprocess
import sys
import time
import unittest

import numpy as np

import graphs
import oracles
import recordings
import tap
from ports import free_port

PATIENCE = 60  # seconds, which nothing should take
RATE = 1000000  # samples a second
TICKS = 512  # of a sample
EPOCH = 1656466200
CLOCK = {"ticks_per_second": [RATE * TICKS, 1], "ticks_per_sample": TICKS, "start": 100 * TICKS}
MEERKAT = (0x1600, 0x4101, 0x4103, 0x4300)
GROUP = "239.255.77.4"


def parse(data, items=MEERKAT):
    """The packets of a file: a dictionary of items by their numbers, with "at", the bytes of the header,
    and "payload"."""
    packets, at = [], 0
    while at < len(data):
        magic, version, width, address, _, n = struct.unpack_from(">BBBBHH", data, at)
        assert (magic, version, width, address) == (0x53, 4, 2, 6)
        pointers = struct.unpack_from(f">{n}Q", data, at + 8)
        pointers = [pointer for pointer in pointers if pointer != 1 << 63]
        packet = {pointer >> 48 & 0x7fff: pointer & 2**48 - 1 for pointer in pointers}
        immediate = [pointer >> 48 & 0x7fff for pointer in pointers if pointer >> 63]
        assert immediate == [1, 2, 3, 4, *(item for item in items[:-1] if item)], immediate
        assert len(packet) == len(immediate) + 1 and packet[items[-1]] == 0
        packet["header"] = 8 + 8 * n
        at += packet["header"]
        packet["payload"] = data[at:at + packet[4]]
        assert len(packet["payload"]) == packet[4]
        packets.append(packet)
        at += packet[4]
    return packets


class SpeadSink(recordings.RecordingTest):
    def put_stream(self, n, n_channels=8, n_stations=3, n_pols=2, kind="ci8", order=None, **more):
        """A stream [time channel station pol], of axes with more than one element; `order` is of the
        file."""
        axes = [("time", n), ("channel", n_channels), ("station", n_stations), ("pol", n_pols)]
        axes = [axis for axis in axes if axis[1] > 1]
        if order:
            axes = [axes[i] for i in order]
        return self.put(kind, axes, {**CLOCK, **more.pop("clock", {})}, observation=None, **more)

    def stages(self, path="out.spead", block=None, **sink):
        return {"in": self.source(**({"block": {"time": block}} if block else {})),
                "out": {"stage": "spead.sink", "from": "in", "path": path, **sink}}

    def reader(self, paths, **more):
        return {"stage": "spead.source", "paths": paths, "sample_rate": f"{RATE} Hz",
                "ticks_per_sample": TICKS, "epoch": str(EPOCH), **more}

    def length(self, name="out.spead"):
        return next(axis["length"] for axis in self.beside(name)["axes"] if axis["name"] == "time")

    def layout(self):
        """The axes of the stream, which are those that the source gives."""
        return f"[{' '.join(axis['name'] for axis in self.beside('in.npy')['axes'])}]"

    def write_file(self, block=None, **sink):
        stats = self.run_graph(self.stages(block=block, **sink))
        node = next(node for node in stats["nodes"] if node["name"] == "out")
        return (self.folder / "out.spead").read_bytes(), node["counters"], stats["warnings"]


class Bytes(SpeadSink):
    def test_meerkat(self):
        """All bytes of the packets, as MeerKAT's headers have them, however blocks are cut."""
        samples = self.put_stream(512, n_channels=8)  # [time channel station pol part]
        wanted = b""
        for t, s, c in np.ndindex(2, 3, 2):  # heap by heap; a heap has 4 channels, a packet 2
            for offset in 0, 2:
                piece = samples[256 * t:256 * (t + 1), 4 * c + offset:4 * c + offset + 2, s]
                pointers = [1 << 63 | number << 48 | value for number, value in (
                    (1, (t * 3 + s) * 2 + c), (2, 4096), (3, 1024 * offset), (4, 2048),
                    (0x1600, TICKS * (100 + 256 * t)), (0x4101, (7, 0, 9)[s]),
                    (0x4103, (512, 32)[c]))] + [0x4300 << 48, *3 * [1 << 63]]
                wanted += struct.pack(">BBBBHH11Q", 0x53, 4, 2, 6, 0, 11, *pointers)
                wanted += piece.transpose(1, 0, 2, 3).tobytes()
        for block in None, 77, 1:
            data, counts, warnings = self.write_file(
                block, heap=4, packet_bytes=3000, stations=[7, 0, 9], channels=["512..515", "32..35"])
            self.assertEqual(data, wanted)
            self.assertEqual((counts.get("left_out", 0), warnings), (0, []))
        beside = self.beside("out.spead")
        self.assertEqual((beside["bytes"], beside["start"]), (len(wanted), 100 * TICKS))
        self.assertEqual(self.length(), 512)

    def test_packet_bytes(self):
        """Packets have as many channels as fit and divide the heap; all have at least 128 bytes."""
        self.put_stream(256, n_channels=21, n_stations=1)
        for most, n in ((8192, 7), (7168, 7), (7167, 3), (1024, 1), (65379, 21)):
            packets = parse(self.write_file(packet_bytes=most)[0])
            self.assertEqual({packet[4] for packet in packets}, {n * 1024})
            self.assertEqual({packet["header"] for packet in packets}, {96})
        for n_times, header in ((1, 128), (7, 128), (8, 96)):
            packets = parse(self.write_file(payload=["channel", f"time {n_times}", "pol 2"], heap=1)[0])
            self.assertEqual({packet["header"] for packet in packets}, {header})
        packets = parse(self.write_file(station_item="none", channel_item="none")[0], (0x1600, 0, 0, 0x4300))
        self.assertEqual({packet["header"] for packet in packets}, {64})

    def test_time(self):
        """Packets that divide time go along it, of all stations; a heap's timestamp is that of its
        first sample."""
        samples = self.put_stream(2048, n_channels=1, n_pols=1, kind="i16")
        packets = parse(self.write_file(payload=["time"], heap=1024, packet_bytes=512, channel_item="none")[0],
                        (0x1600, 0x4101, 0, 0x4300))
        self.assertEqual([(packet[0x1600] // TICKS - 100 + packet[3] // 2, packet[0x4101]) for packet in packets],
                         [(256 * i, s) for i in range(8) for s in range(3)])
        for packet in packets:
            begin = packet[0x1600] // TICKS - 100 + packet[3] // 2
            np.testing.assert_array_equal(np.frombuffer(packet["payload"], ">i2"),
                                          samples[begin:begin + 256, packet[0x4101]])

    def test_timestamps(self):
        """Ticks of the stream, or from another epoch on, modulo 2⁴⁸."""
        for clock, sink, wanted in (({}, {}, 100 * TICKS), ({"start": 0}, {}, 0),
                                    ({"start": TICKS * (2**48 // TICKS - 256)}, {}, 2**48 - 256 * TICKS),
                                    ({}, {"epoch": "2022-06-29T01:29:58Z"}, (2 * RATE + 100) * TICKS),
                                    ({"start": 5 * RATE * TICKS}, {"epoch": str(EPOCH + 5)}, 0)):
            self.put_stream(512, n_channels=2, clock=clock)
            packets = parse(self.write_file(**sink)[0])
            self.assertEqual([packet[0x1600] for packet in packets],
                             [(wanted + i * 256 * TICKS) % 2**48 for i in range(2) for _ in range(3)])


class Back(SpeadSink):
    CASES = (
        # channels, stations, pols, type, order of the file, both, sink, source
        (8, 3, 2, "ci8", None, {}, {}, {}),
        (21, 5, 2, "ci8", None, {}, {"heap": 7, "packet_bytes": 2000}, {}),
        (7, 1, 2, "ci8", None, {"station_item": "none"}, {"packet_bytes": 1024}, {}),
        (8, 3, 2, "ci8", (3, 2, 1, 0), {}, {"heap": 4}, {}),
        (8, 3, 2, "ci8", (2, 0, 3, 1), {"payload": ["channel", "pol 2", "time 3"]}, {}, {}),
        (5, 3, 2, "ci4", None, {"payload": ["channel", "time 17", "pol 2"], "real_nibble": "low"}, {}, {}),
        (5, 3, 2, "ci4", None, {"payload": ["channel", "time 17", "pol 2"]}, {}, {}),
        (6, 2, 1, "ci16", None, {"payload": ["channel", "time 15"], "byte_order": "little"}, {"heap": 3}, {}),
        (6, 2, 2, "ci16", None, {"payload": ["channel", "pol 2"]}, {"heap": 2}, {}),
        (6, 2, 2, "cf32", None, {"payload": ["channel", "time 5", "pol 2"]}, {"packet_bytes": 333}, {}),
        (1, 3, 1, "i16", None, {"payload": ["time"], "channel_item": "none"}, {"heap": 510}, {}),
        (1, 3, 2, "f32", None, {"payload": ["time", "pol 2"], "channel_item": "none", "samples_item": "0x3300"}, {"packet_bytes": 680}, {}),
        (6, 3, 2, "i8", None, {"payload": ["time", "channel 2", "pol 2"]}, {"heap": 102, "packet_bytes": 136}, {}),
        (6, 3, 1, "i8", None, {"payload": ["time"]}, {"heap": 17}, {}),
        (4, 3, 2, "ci8", None, {"payload": ["channel", "time 3", "station 3", "pol 2"], "station_item": "none"}, {}, {}),
        (8, 3, 2, "ci8", None, {"stations": [5, 1, 0], "channels": ["12..15", "0..3"]}, {"heap": 4}, {}),
    )

    def test_files(self):
        for i, (n_channels, n_stations, n_pols, kind, order, both, sink, source) in enumerate(self.CASES):
            with self.subTest(i):
                n = 1020 if both.get("payload") else 1024
                samples = self.put_stream(n, n_channels, n_stations, n_pols, kind, order)
                data, counts, warnings = self.write_file((None, 100, 1)[i % 3], **both, **sink)
                self.assertEqual((counts.get("left_out", 0), warnings), (0, []))
                for backend in "cpu", "reference":
                    if backend == "reference":  # what the headers alone say
                        (self.folder / "out.spead.json").unlink()
                    stages = {"back": self.reader("out.spead", backend=backend, type=kind, **both, **source),
                              "out": {"stage": "file.sink", "from": "back", "path": "back.npy",
                                      "layout": self.layout()}}
                    stats = self.run_graph(stages)
                    counters = {name: count for name, count in stats["nodes"][0]["counters"].items() if count}
                    self.assertEqual(list(counters), ["packets"])
                    np.testing.assert_array_equal(np.load(self.folder / "back.npy"), samples)
                    beside = self.beside("back.npy")
                    self.assertEqual([beside[key] for key in ("start", "ticks_per_sample", "ticks_per_second", "epoch")],
                                     [100 * TICKS, TICKS, [RATE * TICKS, 1], EPOCH])

    def test_pipe(self):
        """What a pipe has is what a file has, and is read from a pipe."""
        samples = self.put_stream(1024)
        data, _, _ = self.write_file()
        write, read = "write.yaml", "read.yaml"
        self.write(self.stages("-"), write)
        self.write({"back": self.reader("-"), "out": {"stage": "file.sink", "from": "back", "path": "back.npy"}}, read)
        done = subprocess.run(["sh", "-c", f'"$0" run -q {write} | tee copy | "$0" run -q {read}', graphs.COMMAND],
                              cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((self.folder / "copy").read_bytes(), data)
        np.testing.assert_array_equal(np.load(self.folder / "back.npy"), samples)

    def test_rotation(self):
        """Many files are one recording; numbers of heaps go on."""
        samples = self.put_stream(2560)
        data, _, _ = self.write_file()
        self.run_graph(self.stages("out-%i.spead", rotate_samples=768))
        paths = sorted(self.folder.glob("out-*.spead"))
        self.assertEqual([self.length(path.name) for path in paths], [768, 768, 768, 256])
        self.assertEqual(b"".join(path.read_bytes() for path in paths), data)
        self.assertEqual([packet[1] for packet in parse(data)], list(range(30)))
        back, _ = self.read_back(self.reader("out-*.spead"))
        np.testing.assert_array_equal(back, samples)


class Network(SpeadSink):
    def wait_for_port(self, port, process):
        end = time.monotonic() + PATIENCE
        while f":{port:04X} " not in pathlib.Path("/proc/net/udp").read_text():
            self.assertIsNone(process.poll(), "the receiver has ended")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)

    def test_source(self):
        """What is sent is received, bit for bit, paced by its clock; heaps in groups of odd numbers."""
        for case, address in enumerate(("127.0.0.1", f"{GROUP}", "127.0.0.1")):
            port = free_port()
            path = f"udp://{address}:{port}" + ("@lo" if address == GROUP else "")
            both, sink = {}, {"heap": 3}
            if case == 2:
                both, sink = {"payload": ["time", "channel 3", "pol 2"]}, {"heap": 256, "packet_bytes": 1536}
            samples = self.put_stream(256 * 40, n_channels=9, n_stations=3)
            n = 256 * 30
            self.write({"back": self.reader([path], window="1 ms", **both),
                        "out": {"stage": "file.sink", "from": "back", "path": "back.npy"}}, "receive.yaml")
            receive = subprocess.Popen([graphs.COMMAND, "run", "--stats", "json", "--duration", f"{n / RATE} s",
                                        "receive.yaml"], cwd=self.folder, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(receive.wait)
            self.addCleanup(receive.kill)
            self.wait_for_port(port, receive)
            begin = time.monotonic()
            self.run_graph(self.stages(path, block=1000, speed=0.05, **both, **sink))
            # The last packet is due at the end of 40 heaps, but for a share of one.
            self.assertGreater(time.monotonic() - begin, 256 * 39 / RATE / 0.05)
            output, errors = receive.communicate(timeout=PATIENCE)
            self.assertEqual(receive.returncode, 0, errors)
            counts = json.loads(output)["nodes"][0]["counters"]
            for name in "missing", "late", "stray", "mistimed", "corrupt", "overrun":
                self.assertEqual(counts.get(name, 0), 0, name)
            back = np.load(self.folder / "back.npy")
            self.assertEqual(len(back), n)
            np.testing.assert_array_equal(back, samples[:n])

    RECEIVE = """
import sys, numpy as np, spead2, spead2.recv
data = sys.argv[1]
stream = spead2.recv.Stream(spead2.ThreadPool(), spead2.recv.StreamConfig(max_heaps=8),
                            spead2.recv.RingStreamConfig(heaps=1000))
if data.startswith("udp://"):
    host, port = data[6:].split(":")
    stream.add_udp_reader(int(port), bind_hostname=host, buffer_size=4 << 20, max_size=9000)
else:
    stream.add_buffer_reader(open(data, "rb").read())
print("ready", flush=True)
heaps = []
for _ in range(int(sys.argv[2])):
    heap = stream.get()
    assert heap.flavour == spead2.Flavour(4, 64, 48, 0), heap.flavour
    items = {item.id: item for item in heap.get_items()}
    heaps.append([heap.cnt, *(items[number].immediate_value for number in (0x1600, 0x4101, 0x4103))])
    with open(sys.argv[3], "ab") as file:
        file.write(bytes(items[0x4300]))
print(heaps)
stream.stop()
"""

    def check_spead2(self, samples, printed, path):
        n = len(samples) // 256
        wanted = [[(t * 3 + s) * 2 + c, TICKS * (100 + 256 * t), s, 8 * c]
                  for t, s, c in np.ndindex(n, 3, 2)]
        self.assertEqual(json.loads(printed.split("ready")[1]), wanted)
        received = np.fromfile(path, np.int8).reshape(n, 3, 2, 8, 256, 2, 2)
        np.testing.assert_array_equal(
            received, samples.reshape(n, 256, 2, 8, 3, 2, 2).transpose(0, 4, 2, 3, 1, 5, 6))

    def test_spead2(self):
        """The package spead2 receives the heaps, from the bytes of a file and from the network."""
        samples = self.put_stream(256 * 12, n_channels=16)
        sink = {"heap": 8, "packet_bytes": 2048}
        self.write_file(**sink)
        printed = oracles.run(self, oracles.SPEAD2, self.RECEIVE, self.folder / "out.spead", 72, self.folder / "raw")
        self.check_spead2(samples, printed, self.folder / "raw")
        folder = oracles.install(oracles.SPEAD2)
        port = free_port()
        path = f"udp://127.0.0.1:{port}"
        receive = subprocess.Popen([sys.executable, "-c", self.RECEIVE, path[:-len(str(port)) - 1] + f":{port}", "72",
                                    str(self.folder / "raw2")], env={"PYTHONPATH": str(folder)}, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(receive.wait)
        self.addCleanup(receive.kill)
        self.wait_for_port(port, receive)
        self.run_graph(self.stages(path, speed=0.05, **sink))
        printed, errors = receive.communicate(timeout=PATIENCE)
        self.assertEqual(receive.returncode, 0, errors)
        self.check_spead2(samples, printed, self.folder / "raw2")


class Invalid(SpeadSink):
    def gaps(self, *gaps):
        """PATH.json's validity along station and channel: (station, channel, first, n)."""
        return {"axes": ["channel", "station"], "gaps": [
            {"lanes": [c * 3 + s, 1], "samples": [first, n]} for s, c, first, n in gaps]}

    def test_left_out(self):
        """Packets with an invalid sample are left out, of their station and channels alone; the source
        finds their samples missing."""
        for both, width, n_times in (({}, 2, 256), ({"payload": ["time", "channel 8", "pol 2"]}, 8, 64)):
            gaps = [(0, 0, 0, 1), (1, 5, 300, 200), (2, 7, 1000, 24), (2, 6, 511, 2)]
            samples = self.put_stream(1024, gaps=self.gaps(*gaps))
            data, counts, _ = self.write_file(100, packet_bytes=2048, **({"heap": 256} if both else {}), **both)
            lost = {(s, c // width, t // n_times) for s, c, first, n in gaps for t in range(first, first + n)}
            self.assertEqual(counts["left_out"], len(lost))
            n_packets = 1024 // n_times * 3 * 8 // width
            self.assertEqual(len(parse(data)), n_packets - len(lost))
            stats = self.run_graph({"back": self.reader("out.spead", **both),
                                    "out": {"stage": "file.sink", "from": "back", "path": "back.npy"}})
            counters = stats["nodes"][0]["counters"]
            self.assertEqual((counters["packets"], counters["missing"]), (n_packets - len(lost), len(lost)))
            wanted = samples.copy()
            for s, c, t in lost:
                wanted[n_times * t:n_times * (t + 1), width * c:width * (c + 1), s] = 0
            np.testing.assert_array_equal(np.load(self.folder / "back.npy"), wanted)
            # Once more there and back, nothing changes.
            (self.folder / "out.spead").rename(self.folder / "first.spead")
            stages = {"in": self.reader("first.spead", **both), "out": {
                "stage": "spead.sink", "from": "in", "path": "out.spead", "packet_bytes": 2048, **both,
                **({"heap": 256} if both else {})}}
            self.run_graph(stages)
            self.assertEqual((self.folder / "out.spead").read_bytes(), data)
            beside = self.beside("out.spead")
            valid = recordings.find_valid(beside)
            self.assertEqual(int((~valid).sum()), len(lost) * width * n_times * 2)

    def test_left_out_of_a_part(self):
        """Packets of a heap that the end of the stream cuts count as well, if they were left out."""
        self.put_stream(1000, gaps=self.gaps((1, 3, 960, 1), (0, 0, 999, 1)))
        for block in None, 77:
            data, counts, _ = self.write_file(block, payload=["time", "channel 8", "pol 2"], heap=512,
                                              packet_bytes=1024)
            self.assertEqual((counts["left_out"], len(parse(data))), (1, 3 * 1000 // 32 - 1))

    def test_first_and_last(self):
        """PATH.json says when a stream begins and ends whose first and last heaps are left out; without it,
        the packets do."""
        samples = self.put_stream(1024, gaps={"axes": [], "gaps": [
            {"lanes": [0, 1], "samples": [0, 256, 800, 1]}]})
        self.write_file()
        samples[:256] = samples[768:] = 0
        back, beside = self.read_back(self.reader("out.spead"))
        np.testing.assert_array_equal(back, samples)
        self.assertEqual(beside["start"], 100 * TICKS)
        back, beside = self.read_alone(self.reader("out.spead"))
        np.testing.assert_array_equal(back, samples[256:768])
        self.assertEqual(beside["start"], 356 * TICKS)

    def test_all_stations(self):
        """A stream that loses all stations and channels at once."""
        self.put_stream(1024, gaps={"axes": [], "gaps": [{"lanes": [0, 1], "samples": [256, 1]}]})
        data, counts, _ = self.write_file(heap=4)
        self.assertEqual((counts["left_out"], {packet[0x1600] for packet in parse(data)}),
                         (6, {TICKS * (100 + 256 * i) for i in (0, 2, 3)}))

    def test_odd_length(self):
        """The end of a stream that fills no packets is left out, with a warning."""
        for n, sink, kept, width in ((1000, {}, 768, 256), (255, {}, 0, 256), (256, {}, 256, 256),
                                     (1000, {"payload": ["time", "channel 8", "pol 2"], "packet_bytes": 320}, 1000, 10),
                                     (1000, {"payload": ["time", "channel 8", "pol 2"], "heap": 512,
                                             "packet_bytes": 2048}, 960, 64)):
            with self.subTest(n=n, sink=sink):
                samples = self.put_stream(n)
                data, _, warnings = self.write_file(99, **sink)
                self.assertEqual([warning["message"] for warning in warnings], [] if n == kept else [
                    f"the stream's last {n - kept} samples are left out: they do not fill packets of {width}"])
                self.assertEqual(self.length(), kept)
                self.assertEqual(sum(packet[4] for packet in parse(data)), kept * 3 * 8 * 4)
                if kept:
                    back, _ = self.read_back(self.reader("out.spead", **{
                        key: value for key, value in sink.items() if key == "payload"}))
                    np.testing.assert_array_equal(back, samples[:kept])


class Ends(SpeadSink):
    def test_full_disk(self):
        """What a full disk leaves is whole heaps of all stations."""
        samples = self.put_stream(25600)
        step = 3 * (96 + 8192)
        error = self.fail_graph(self.stages(block=1000), preexec_fn=self.limit(2 * 1048576 + 1))
        self.assertIn("out.spead.partial: can't be written: File too large", error)
        size = (self.folder / "out.spead.partial").stat().st_size
        self.assertEqual((size % step, size > 0), (0, True))
        said = json.loads((self.folder / "out.spead.json.partial").read_text())
        self.assertEqual(next(axis["length"] for axis in said["axes"] if axis["name"] == "time"), size // step * 256)
        (self.folder / "out.spead.partial").rename(self.folder / "cut.spead")
        back, _ = self.read_back(self.reader("cut.spead"))
        np.testing.assert_array_equal(back, samples[:size // step * 256])

    def test_interrupt(self):
        """An interrupt leaves whole packets, and tells of them."""
        samples = self.put_stream(256 * 1000, n_channels=2, n_stations=1)
        self.interrupt(self.stages(block=1), 91)
        data, n = (self.folder / "out.spead").read_bytes(), self.length()
        self.assertEqual(n, len(parse(data)) * 256)
        if n:
            self.run_graph({"back": self.reader("out.spead"), "out": {
                "stage": "file.sink", "from": "back", "path": "back.npy", "layout": self.layout()}})
            np.testing.assert_array_equal(np.load(self.folder / "back.npy"), samples[:n])

    def test_kill(self):
        """Files under final names are whole; the partial one begins with whole packets."""
        samples = self.put_stream(256 * 1000, n_channels=2, n_stations=1)
        seen = {"whole": 0, "partial": 0}

        def check():
            for i, path in enumerate(sorted(self.folder.glob("out-*.spead"),
                                            key=lambda path: int(path.stem.split("-")[1]))):
                payload = b"".join(packet["payload"] for packet in parse(path.read_bytes()))
                np.testing.assert_array_equal(
                    np.frombuffer(payload, np.int8).reshape(-1, 2, 256, 2, 2).transpose(0, 2, 1, 3, 4).ravel(),
                    samples[25600 * i:25600 * (i + 1)].ravel())
                seen["whole"] += 1
            for path in self.folder.glob("out-*.spead.partial"):
                size = 96 + 2048
                data = path.read_bytes()
                parse(data[:len(data) // size * size])
                seen["partial"] += 1

        self.kill(self.stages("out-%i.spead", block=1, rotate_samples=25600), 83, check, 5, seen)


class Errors(SpeadSink):
    def refuse(self, **sink):
        error = self.fail_graph(self.stages(**{"path": "out.spead", **sink}))
        self.assertRegex(error, r"^graph.yaml:\d+:\d+: node 'out': ")
        return error.split("node 'out': ")[1]

    def test_parameters(self):
        self.put_stream(1024)
        item = "wants the number of an item from 5 to 0x7fff, but is given "
        for sink, message in (
                ({"samples_item": "0x8000"}, f"parameter 'samples_item': {item}'0x8000'"),
                ({"timestamp_item": "none"}, "parameter 'timestamp_item': wants the number of an item, but "
                 "is given none"),
                ({"station_item": "0x4103"}, "parameter 'channel_item': wants a number of its own, but is given "
                 "0x4103, that of 'station_item'"),
                ({"payload": ["pol", "time 256", "channel 2"]}, "parameter 'payload': wants heaps that packets "
                 "divide along time or channel, but is given 'pol'"),
                ({"payload": ["channel", "time 256"]}, "parameter 'payload': wants all axes of the stream, but "
                 "lacks 'pol' with 2"),
                ({"payload": ["channel", "time 256", "pol 1"]}, "parameter 'payload': wants 'pol 2', as the stream "
                 "has it, but is given 'pol 1'"),
                ({"payload": ["channel", "time 256", "pol 2", "beam 3"]}, "parameter 'payload': wants 'beam 1', as "
                 "the stream has it, but is given 'beam 3'"),
                ({"payload": ["time", "channel 3", "pol 2"]}, "parameter 'payload': wants heaps that divide axis "
                 "'channel' with 8 evenly, but is given heaps of 3"),
                ({"station_item": "none"}, "parameter 'payload': wants all axes of the stream, but lacks "
                 "'station' with 3"),
                ({"channel_item": "none", "heap": 4}, "parameter 'channel_item': wants the number of an item, as "
                 "axis 'channel' is in 2 heaps, but is given none"),
                ({"heap": 3}, "parameter 'heap': wants heaps that divide axis 'channel' with 8 evenly, but is "
                 "given heaps of 3"),
                ({"packet_bytes": 1023}, "parameter 'packet_bytes': wants at least the 1024 bytes of an element of "
                 "axis 'channel', but is given 1023"),
                ({"packet_bytes": 65380}, "parameter 'packet_bytes': wants an integer from 1 to 65379, but is given "
                 "'65380'"),
                ({"stations": [1, 2]}, "parameter 'stations': wants 3 numbers, as the stream has them, but is given "
                 "2"),
                ({"stations": [1, 2, 1]}, "parameter 'stations': wants each number once, but is given 1 twice"),
                ({"channels": ["0..3"]}, "parameter 'channels': wants whole packets of 8 channels, but is given "
                 "'0..3'"),
                ({"channels": ["0..15"]}, "parameter 'channels': wants 8 numbers, as the stream has them, but is "
                 "given 16"),
                ({"epoch": "x"}, "parameter 'epoch': "),
                ({"epoch": str(EPOCH + 1)}, "parameter 'epoch': wants a time at most 2^48 ticks (549756 s) before "
                 "the stream's first sample, but is given one -0.9999 s before it"),
                ({"epoch": "1970-01-01T00:00:00Z"}, "parameter 'epoch': wants a time at most 2^48 ticks (549756 s) "
                 "before the stream's first sample, but is given one 1.65647e+09 s before it"),
                ({"path": "out-%i.spead", "rotate_samples": 300}, "parameter 'rotate_samples': wants whole heaps of "
                 "256 samples (payload), but is given 300 samples")):
            with self.subTest(sink):
                self.assertIn(message, self.refuse(**sink))

    def test_streams(self):
        for clock, message in (({"start": 33}, "wants a start that is a whole number of samples, of 512 ticks, after "
                                "timestamp 0, but is given timestamp 33"),
                               ({"start": -512}, "parameter 'epoch': wants a time at most 2^48 ticks (549756 s) "
                                "before the stream's first sample, but is given one -1e-06 s before it")):
            self.put_stream(1024, clock=clock)
            self.assertIn(message, self.refuse())
        self.put_stream(1024, clock={"epoch": None})
        self.assertIn("parameter 'epoch': wants a stream that knows its UTC, but is given one without an epoch",
                      self.refuse(epoch=str(EPOCH)))
        self.put("i8", [("time", 8), ("channel", 65536)], CLOCK, observation=None)
        self.assertIn("parameter 'channels': wants at most 65535, but is given 65536",
                      self.refuse(payload=["channel", "time 8"]))


if __name__ == "__main__":
    tap.main()
