#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lofar.source: a real capture, damaged captures, and made ones of every width."""
import json
import struct
import subprocess
import unittest

import numpy as np

import graphs
import pipeline
import tap

FILES = [graphs.DATA / "lofar" / f"udp_1613{i}.ucc1.2022-06-29T01-30-00.000" for i in range(3)]
SUMS = [[-9247, -8421, -24692, -10931], [999, 304, -1025, 121], [-886, 2801, -205, 1122]]
SQUARES = [[36664357, 36309223, 72196174, 71870367], [3840371, 3825760, 3529071, 3531485],
           [2907154, 2912045, 2642949, 2644528]]
SLOTS = 16


def graph(paths, source=None, sink=None):
    return {
        "station": {"stage": "lofar.source", "paths": [str(path) for path in paths],
                    **(source or {})},
        "out": {"stage": "file.sink", "from": "station", "path": "out.npy", **(sink or {})},
    }


def make_packet(payload, bits, sequence, n_beamlets, second=1656466200, clock=200, error=False,
                station=214, board=0):
    source = board | error << 6 | (clock == 200) << 7 | {16: 0, 8: 1, 4: 2}[bits] << 8
    return struct.pack("<BHBHBBII", 3, source, 0, station * 32, n_beamlets, SLOTS, second,
                       sequence) + payload


class Source(graphs.GraphTest):
    def decode(self, paths, source=None, sink=None):
        """The array [time subband station pol part], the counters, and the description beside the
        array."""
        statistics = self.run_graph(graph(paths, source, sink))
        node = next(node for node in statistics["nodes"] if node["name"] == "station")
        counts = {name: n for name, n in node["counters"].items() if n}
        beside = json.loads((self.folder / "out.npy.json").read_text())
        return np.load(self.folder / "out.npy"), counts, beside


@graphs.needs_data(*(f"lofar/{path.name}" for path in FILES))
class Capture(Source):
    def test_sums(self):
        array, counts, beside = self.decode(FILES)
        self.assertEqual(array.shape, (4112, 366, 1, 2, 2))
        self.assertEqual(array.dtype, np.int8)
        for port in range(3):
            part = array[:, 122 * port:122 * (port + 1)].astype(np.int64)
            self.assertEqual(part.sum((0, 1, 2)).ravel().tolist(), SUMS[port])
            self.assertEqual((part ** 2).sum((0, 1, 2)).ravel().tolist(), SQUARES[port])
        self.assertEqual(counts, {"packets": 768, "missing": 3})
        self.assertEqual(beside["validity"]["invalid_samples"], [16] * 366)
        self.assertEqual(beside["start"], 323528554687510 * 1024)
        labels = {axis["name"]: axis.get("labels") for axis in beside["axes"]}
        self.assertEqual(labels, {"time": None, "subband": None, "station": ["IE613"],
                                  "pol": ["X", "Y"]})
        self.assertEqual(beside["start_utc"], "2022-06-29T01:30:00.000051200Z")

    def test_ports_are_aligned(self):
        """Port 16132 starts one packet before the others, and ends one packet before them."""
        array, _, _ = self.decode(FILES)
        for i, path in enumerate(FILES):
            alone, counts, _ = self.decode([path])
            self.assertEqual(counts, {"packets": 256})
            begin = 0 if i == 2 else SLOTS
            part = array[:, 122 * i:122 * (i + 1)]
            np.testing.assert_array_equal(part[begin:begin + 4096], alone)
            self.assertFalse(part[:begin].any())
            self.assertFalse(part[begin + 4096:].any())

    def test_orders_blocks_variants(self):
        array, _, _ = self.decode(FILES[:1])
        for order in ("time subband station pol", "subband time pol station",
                      "pol subband station time", "station pol time subband"):
            for block, variant in ((1000, "reference"), (7, "cpu")):
                with self.subTest(order=order, block=block, variant=variant):
                    source = {"block": {"time": block}, "backend": variant}
                    given, _, _ = self.decode(FILES[:1], source, {"layout": f"[{order}]"})
                    axes = ["time", "subband", "station", "pol"]
                    np.testing.assert_array_equal(
                        given, array.transpose([axes.index(a) for a in order.split()] + [4]))

    def test_frequencies(self):
        _, _, beside = self.decode(FILES[:1], {"subbands": ["12..133"], "band": "HBA_110_190"})
        self.assertEqual(beside["axes"][1], {"name": "subband", "length": 122, "unit": "Hz",
                                             "first": 102343750, "step": 195312.5})
        _, _, beside = self.decode(FILES[:1], {"subbands": ["0..60", "100..159", 511],
                                               "band": "LBA_30_90"})
        table = beside["axes"][1]["table"]
        self.assertEqual([table[0], table[61], table[-1]], [0, 19531250, 511 * 195312.5])

    def damage(self, packets, lost, counts):
        """Checks that only the lost packets differ from the whole capture: they are zero and
        counted."""
        whole, _, _ = self.decode(FILES[:1])
        (self.folder / "damaged").write_bytes(b"".join(packets))
        given, given_counts, beside = self.decode(["damaged"], {"block": {"time": 100}})
        for packet in lost:
            whole[SLOTS * packet:SLOTS * (packet + 1)] = 0
        np.testing.assert_array_equal(given, whole[:len(given)])
        self.assertEqual(given_counts, counts)
        n_lost = sum(packet < len(given) // SLOTS for packet in lost)
        self.assertEqual(beside["validity"]["invalid_samples"],
                         [SLOTS * n_lost] * 122 if n_lost else [])
        return given

    def packets(self):
        whole = FILES[0].read_bytes()
        return [whole[at:at + 7824] for at in range(0, len(whole), 7824)]

    def test_removed(self):
        packets = self.packets()
        lost = [3, 100, 101, 250]
        kept = [packet for i, packet in enumerate(packets) if i not in lost]
        self.damage(kept, lost, {"packets": 252, "missing": 4})

    def test_doubled(self):
        packets = self.packets()
        packets[10:10] = [packets[9]]
        packets.append(packets[50])
        self.damage(packets, [], {"packets": 258, "reordered": 1, "duplicate": 2})

    def test_swapped(self):
        packets = self.packets()
        packets[5], packets[200] = packets[200], packets[5]
        self.damage(packets, [], {"packets": 256, "reordered": 195})
        self.damage(self.packets()[::-1], [], {"packets": 256, "reordered": 255})

    def test_truncated(self):
        for length in (1, 15, 16, 17, 4000, 7823):
            with self.subTest(length):
                packets = self.packets()
                packets[77] = packets[77][:length]
                if length < 16:
                    # The bytes left of its header may belong to the packet before.
                    self.damage(packets, [76, 77], {"packets": 254, "missing": 2, "corrupt": 1,
                                                    "truncated": 1})
                    continue
                self.damage(packets, [77], {"packets": 255, "missing": 1, "truncated": 1})
        packets = self.packets()
        packets[-1] = packets[-1][:100]
        given = self.damage(packets, [], {"packets": 255, "truncated": 1})
        self.assertEqual(len(given), 255 * SLOTS)

    def test_corrupt(self):
        packets = self.packets()
        packets[40] = bytes([0]) + packets[40][1:]
        packets[90] = packets[90][:6] + bytes([121]) + packets[90][7:]
        self.damage(packets, [40, 90], {"packets": 254, "missing": 2, "corrupt": 2})

    def test_flagged(self):
        packets = self.packets()
        packets[7] = packets[7][:1] + bytes([packets[7][1] | 1 << 6]) + packets[7][2:]
        self.damage(packets, [7], {"packets": 256, "flagged": 1})

    def test_mistimed(self):
        packets = self.packets()
        packets[30] = packets[30][:8] + struct.pack("<I", 77) + packets[30][12:]
        self.damage(packets, [30], {"packets": 256, "missing": 1, "mistimed": 1})


class Made(Source):
    def make(self, bits, n_packets=9, n_beamlets=5, **options):
        """Makes a capture; returns its parts [time beamlet 1 pol part]."""
        half = 1 << (bits - 1)
        parts = np.random.default_rng(bits).integers(
            -half, half, (n_packets, n_beamlets, SLOTS, 2, 2))
        parts.flat[0] = -half
        packets = []
        for i, packet in enumerate(parts):
            if bits == 4:
                payload = (packet[..., 0] << 4 & 0xf0 | packet[..., 1] & 15).astype(np.uint8)
            else:
                payload = packet.astype(f"<i{bits // 8}")
            packets.append(make_packet(payload.tobytes(), bits, 64 + SLOTS * i, n_beamlets,
                                       **options))
        (self.folder / f"made{bits}").write_bytes(b"".join(packets))
        return parts.transpose(0, 2, 1, 3, 4).reshape(-1, n_beamlets, 1, 2, 2)

    def test_bits(self):
        for bits in (4, 8, 16):
            for backend in ("cpu", "reference"):
                with self.subTest(bits=bits, backend=backend):
                    parts = self.make(bits)
                    array, _, beside = self.decode([f"made{bits}"], {"backend": backend})
                    self.assertEqual(beside["type"], f"ci{bits}")
                    if bits == 4:
                        array = np.stack([array.view(np.int8) >> 4,
                                          (array << 4).view(np.int8) >> 4], -1)
                    np.testing.assert_array_equal(array, parts)

    def test_real_nibble(self):
        parts = self.make(4)
        array, _, _ = self.decode(["made4"], {"real_nibble": "low"})
        np.testing.assert_array_equal((array << 4).view(np.int8) >> 4, parts[..., 0])

    def test_parameters_without_effect(self):
        self.make(8)
        for source in {"band": "LBA_30_90"}, {"real_nibble": "low"}:
            with self.subTest(source):
                self.check_no_effect(graph(["made8"], source), "station", *source)

    def test_clock(self):
        self.make(8, clock=160, second=3)
        _, _, beside = self.decode(["made8"])
        self.assertEqual(beside["ticks_per_second"], [160000000, 1])
        self.assertEqual(beside["start"], 3 * 160000000 + 64 * 1024)

    def test_part_of_the_time(self):
        """A part of the time begins and ends within packets, one of which is lost; its bytes are
        those of the whole."""
        self.make(8)
        capture = (self.folder / "made8").read_bytes()
        n_bytes = len(capture) // 9
        (self.folder / "made8").write_bytes(capture[:4 * n_bytes] + capture[5 * n_bytes:])
        whole, _, beside = self.decode(["made8"])
        for first, end, block in (70, 150, 1000), (7, 71, 5), (16, 17, 1000):
            # From just after sample `first` − 1 to just after sample `end` − 1: 5.12 us each.
            times = [f"{1656466200 + (64 + n) * 512 // 10 ** 8}.{(64 + n) * 512 % 10 ** 8 - 511:08}"
                     for n in (first, end)]
            (self.folder / "part.yaml").write_text(f"""start: {times[0]}
stop: {times[1]}
stages:
  in: {{ stage: lofar.source, paths: [made8], block: {{ time: {block} }} }}
  out: {{ stage: file.sink, from: in, path: part.npy }}
""")
            with self.subTest(first=first, end=end):
                done = subprocess.run([graphs.COMMAND, "run", "part.yaml"], cwd=self.folder,
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                np.testing.assert_array_equal(np.load(self.folder / "part.npy"), whole[first:end])
                part = json.loads((self.folder / "part.npy.json").read_text())
                self.assertEqual(part["start"], beside["start"] + first * 1024)
                lost = max(0, min(end, 80) - max(first, 64))
                self.assertEqual(part["validity"]["invalid_samples"], [lost] * 5 if lost else [])

    def test_long(self):
        """A recording that is too long for an index of all packets is read part by part: with gaps,
        packets out of order and doubled ones, from its beginning and from a later time on."""
        n = 70000
        rng = np.random.default_rng(3)
        parts = rng.integers(-128, 128, (2, n, SLOTS, 2, 2), "i1")
        valid = rng.random((2, n)) > 0.001
        valid[:, [0, -1]] = True
        for port in range(2):
            order = np.flatnonzero(valid[port])
            for k in rng.integers(1, len(order) - 9, 50):
                order[k:k + 4] = order[k:k + 4][::-1]
            order = np.repeat(order, 1 + (rng.random(len(order)) < 0.001))
            with open(self.folder / f"port{port}", "wb") as file:
                for i in order:
                    sample = (1656466200 * 200000000 + 512) // 1024 + 64 + SLOTS * int(i)
                    second = sample * 1024 // 200000000
                    sequence = sample - (second * 200000000 + 512) // 1024
                    if sequence < 0:  # the first half of a sample is in the second before
                        second -= 1
                        sequence = sample - (second * 200000000 + 512) // 1024
                    file.write(make_packet(parts[port, i].tobytes(), 8, sequence, 1, second))
        paths = ["port0", "port1"]
        parts *= valid[:, :, None, None, None]
        wanted = parts.reshape(2, -1, 1, 2, 2).transpose(1, 0, 2, 3, 4)
        array, counts, beside = self.decode(paths)
        np.testing.assert_array_equal(array, wanted)
        self.assertEqual(counts["missing"], np.count_nonzero(~valid))
        self.assertEqual(counts["packets"], np.count_nonzero(valid) + counts["duplicate"])
        self.assertGreater(counts["reordered"], 50)
        self.assertEqual(set(counts), {"packets", "missing", "duplicate", "reordered"})
        lost = (np.count_nonzero(~valid, 1) * SLOTS).tolist()
        self.assertEqual(beside["validity"]["invalid_samples"], lost)
        array, _, _ = self.decode(paths, {"block": {"time": 1001}, "backend": "reference"})
        np.testing.assert_array_equal(array, wanted)
        (self.folder / "part.yaml").write_text("""start: 1656466203
stop: "2022-06-29T01:30:04.5Z"
stages:
  in: { stage: lofar.source, paths: [port0, port1] }
  out: { stage: file.sink, from: in, path: part.npy }
""")
        done = subprocess.run([graphs.COMMAND, "run", "part.yaml"], cwd=self.folder,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        # Sample 0 is 64 samples of 5.12 us after second 1656466200.
        begin, end = (-(-second * 10 ** 6 * 100 // 512) - 64 for second in (3, 4.5))
        np.testing.assert_array_equal(np.load(self.folder / "part.npy"),
                                      wanted[int(begin):int(end)])

    def run_replaced(self, replace):
        """Plans a graph, calls `replace`, and runs the graph; returns the array."""
        text = ("stages: { in: { stage: lofar.source, paths: ['%s/made8'] },"
                " out: { stage: file.sink, from: in, path: '%s/out.npy' } }" %
                (self.folder, self.folder)).encode()
        planned = pipeline._call("parse", text, len(text), b"test")
        try:
            pipeline._call("describe", planned, b"json")
            replace()
            pipeline._call("start", planned)
            pipeline._library.ct_pipeline_wait(planned, 60)
            pipeline._call("result", planned)
        finally:
            pipeline._library.ct_pipeline_free(planned)
        return np.load(self.folder / "out.npy")

    def test_replaced_since_the_plan(self):
        """A capture that is replaced after planning, by one with other beamlets or another start, is
        an error: its samples are not written past the end of memory."""
        for other in ({"n_beamlets": 61}, {"second": 12}, {"clock": 160}):
            self.make(8)
            with self.subTest(other), self.assertRaisesRegex(
                    pipeline.Failure, "made8: wants the recording that the graph was checked with "
                    ".*, but it has been replaced"):
                self.run_replaced(lambda: self.make(8, **other))

    def test_grown_since_the_plan(self):
        """A capture that is still being written is read up to the length of the plan."""
        self.make(8, n_packets=4)
        array = self.run_replaced(lambda: self.make(8, n_packets=9))
        self.assertEqual(len(array), 4 * SLOTS)
        np.testing.assert_array_equal(array, self.make(8, n_packets=9)[:4 * SLOTS])

    def test_errors(self):
        self.make(8)
        self.make(16)
        (self.folder / "text").write_text("no packets" * 100)
        (self.folder / "empty").write_bytes(b"")
        for paths, source, ending in (
                (["none"], {}, "none: can't be opened: No such file or directory"),
                (["text"], {}, "text: wants CEP packets of a LOFAR station, but is given 1000 bytes "
                               "without any"),
                (["empty"], {}, "empty: wants CEP packets of a LOFAR station, but is given 0 bytes "
                                "without any"),
                (["made8", "made16"], {},
                 "made16: wants 8 bits a sample, as made8 has, but is given 16"),
                (["made8"], {"subbands": [1]}, "wants 'band' beside it"),
                (["made8"], {"subbands": ["1..4"], "band": "LBA_10_90"},
                 "wants a subband for each of 5 beamlets, but is given 4"),
                (["made8"], {"subbands": ["1-5"], "band": "LBA_10_90"},
                 "wants numbers and ranges from 0 to 511 as 12..133, but is given '1-5'")):
            with self.subTest(paths=paths, source=source):
                error = self.fail_graph(graph(paths, source))
                self.assertTrue(error.startswith("graph.yaml:"), error)
                self.assertTrue(error.endswith(ending), error)
                self.assertFalse((self.folder / "out.npy").exists())


if __name__ == "__main__":
    tap.main()
