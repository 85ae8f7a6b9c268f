#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""guppi.source: a real recording against the field's reader, made recordings and damaged ones."""
import json
import unittest

import numpy as np

import graphs
import oracles
import tap

LEVELS = np.array([3.335875, 1, -1, -3.335875], np.float32)
COMMON = {"BACKEND": "GUPPI", "OBSFREQ": 1500.0, "OBSBW": 4e-3, "STT_IMJD": 58132,
          "STT_SMJD": 51093, "STT_OFFS": 0.0, "TELESCOP": "GBT"}
# Channels have 1 kHz: 58132 51093 is 2018-01-14T14:11:33.
START = "2018-01-14T14:11:33.000000000Z"


def make_header(**cards):
    """The cards, END, and the padding of direct input and output."""
    lines = [f"{name:8}= {repr(value) if isinstance(value, str) else value}"
             for name, value in cards.items()]
    text = "".join(f"{line:80}" for line in [*lines, "END"]).encode()
    return text + bytes(-len(text) % 512 if cards.get("DIRECTIO") else 0)


def pack(values, bits):
    """The bytes of integers, real and imaginary last: codes of 2 bits, numbers of the others."""
    if bits >= 8:
        return values.astype(f"<i{bits // 8}").tobytes()
    parts = (values.ravel() & (1 << bits) - 1).astype(np.uint8).reshape(-1, 8 // bits)
    return (parts << np.arange(8 - bits, -1, -bits, dtype=np.uint8)).sum(1, np.uint8).tobytes()


class Recording(graphs.GraphTest):
    def read(self, path, source=None, layout=None):
        """The array, as complex numbers [time][other axes], the counts above 0 and PATH.json."""
        sink = {"stage": "file.sink", "from": "sky", "path": "out.npy"}
        statistics = self.run_graph({
            "sky": {"stage": "guppi.source", "path": path, **(source or {})},
            "out": {**sink, "layout": layout} if layout else sink})
        node = next(node for node in statistics["nodes"] if node["name"] == "sky")
        counts = {name: n for name, n in node["counters"].items() if n}
        beside = json.loads((self.folder / "out.npy.json").read_text())
        array = np.load(self.folder / "out.npy")
        if beside["type"] == "ci4":
            array = np.stack([array.view(np.int8) >> 4, (array << 4).view(np.int8) >> 4], -1)
        if array.dtype.kind != "c":
            array = array[..., 0] + 1j * array[..., 1]
        return array, counts, beside

    def fail(self, path="made.raw", **source):
        return self.fail_graph({"sky": {"stage": "guppi.source", "path": path, **source},
                                "out": {"stage": "file.sink", "from": "sky", "path": "out.npy"}})


@graphs.needs_data("guppi/sample_puppi.raw")
class Sample(Recording):
    path = str(graphs.DATA / "guppi" / "sample_puppi.raw")

    def test_sums(self):
        array, counts, beside = self.read(self.path, layout="[time channel pol]")
        self.assertEqual((array.shape, beside["type"]), ((3904, 4, 2), "ci8"))
        self.assertEqual(array[:3, 1, 0].tolist(), [-32 - 10j, -15 - 14j, 9 - 13j])
        self.assertEqual((array.sum(), (abs(array) ** 2).sum().round()), (-8045 - 10246j, 12300887))
        self.assertEqual(counts, {"packets": 4})
        self.assertEqual(beside["start_utc"], START)
        self.assertEqual(beside["sample_rate"], 250)
        axes = {axis["name"]: axis for axis in beside["axes"]}
        self.assertEqual(axes["pol"]["labels"], ["X", "Y"])
        # 1 kHz around 356.6875 MHz, of four channels.
        self.assertAlmostEqual(axes["channel"]["first"], 356.6875e6 - 375, places=3)
        self.assertAlmostEqual(axes["channel"]["step"], 250, places=6)
        facts = beside["observation"]
        self.assertEqual([facts[name] for name in ("telescope", "source", "project", "observer")],
                         ["Arecibo", "J1810+1744", "p3229", "NikhilMahajan"])

    def test_baseband(self):
        """All samples are those of the PyPI package baseband, and so is the time."""
        script = ("import sys, numpy\n"
                  "from baseband import guppi\n"
                  "stream = guppi.open(sys.argv[1], 'rs', squeeze=False)\n"
                  "numpy.save(sys.argv[2], stream.read())\n"
                  "print(stream.start_time.isot)\n")
        start = oracles.run(self, oracles.BASEBAND, script, self.path, self.folder / "wanted.npy")
        wanted = np.load(self.folder / "wanted.npy")
        for backend, block in (("cpu", 777), ("reference", 20000)):
            with self.subTest(backend):
                array, _, beside = self.read(
                    self.path, {"backend": backend, "block": {"time": block}}, "[time pol channel]")
                self.assertEqual(wanted.shape, array.shape)
                np.testing.assert_array_equal(array, wanted)
                self.assertEqual(beside["start_utc"][:23], start)


class Made(Recording):
    def make(self, n_blocks=4, bits=8, n_stations=1, n_channels=4, n_pols=2, n_samples=32,
             overlap=0, time_first=False, low_first=False, **cards):
        """Blocks, each with its header, and all samples [time station channel pol]. A card that is
        a list has a value for each block."""
        step = n_samples - overlap
        n = n_blocks * step + overlap
        generator = np.random.default_rng(bits)
        low, high = (0, 4) if bits == 2 else (-(1 << bits - 1), 1 << bits - 1)
        parts = generator.integers(low, high, (n_stations, n_channels, n, n_pols, 2))
        blocks = []
        for i in range(n_blocks):
            block = parts[:, :, i * step:i * step + n_samples]
            if time_first:
                block = block.transpose(2, 0, 1, 3, 4)
            if low_first:
                block = block.reshape(-1, 4)[:, ::-1]
            header = {**COMMON, "NBITS": bits, "OBSNCHAN": n_stations * n_channels,
                      "NPOL": 2 * n_pols if n_pols == 2 else 1, "OVERLAP": overlap,
                      "BLOCSIZE": parts[..., :n_samples, :, :].size * bits // 8,
                      "PKTIDX": i * step // 4, "PIPERBLK": step // 4}
            if n_stations > 1:
                header["NANTS"] = n_stations
            header.update({name: value[i] if isinstance(value, list) else value
                           for name, value in cards.items()})
            header = {name: value for name, value in header.items() if value is not None}
            blocks.append(make_header(**header) + pack(block, bits))
        values = LEVELS[parts] if bits == 2 else parts
        return blocks, (values[..., 0] + 1j * values[..., 1]).transpose(2, 0, 1, 3)

    def read_blocks(self, blocks, source=None, layout="[time station channel pol]"):
        (self.folder / "made.raw").write_bytes(b"".join(blocks))
        return self.read("made.raw", source, layout)

    def check(self, blocks, values, source=None, **counts):
        """Checks all samples of blocks with one station."""
        array, given, beside = self.read_blocks(blocks, source, "[time channel pol]")
        np.testing.assert_array_equal(array, values[:, 0])
        self.assertEqual(given, counts)
        return beside

    def test_types(self):
        types = {2: "cf32", 4: "ci4", 8: "ci8", 16: "ci16"}
        for bits, name in types.items():
            for n_stations in (1, 3):
                for n_pols in (1, 2):
                    for time_first in (False, True):
                        with self.subTest(bits=bits, n_stations=n_stations, n_pols=n_pols,
                                          time_first=time_first):
                            cards = {"PKTFMT": "SIMPLE"} if time_first else {}
                            blocks, values = self.make(
                                bits=bits, n_stations=n_stations, n_pols=n_pols,
                                time_first=time_first, **cards)
                            layout = "[time station channel pol]" if n_stations > 1 else \
                                "[time channel pol]"
                            for backend, block in (("cpu", 13), ("reference", 50)):
                                array, counts, beside = self.read_blocks(
                                    blocks, {"backend": backend, "block": {"time": block}}, layout)
                                self.assertEqual(beside["type"], name)
                                self.assertEqual(counts, {"packets": 4})
                                np.testing.assert_array_equal(
                                    array, values if n_stations > 1 else values[:, 0])

    def test_two_bits_from_below(self):
        blocks, values = self.make(bits=2, low_first=True)
        self.check(blocks, values, {"first_half": "low"}, packets=4)

    def test_orders(self):
        """The source writes the order that its reader wants."""
        blocks, values = self.make(n_stations=2)
        for layout, order in (("[station channel time pol]", (1, 2, 0, 3)),
                              ("[pol station channel time]", (3, 1, 2, 0)),
                              ("[channel time station pol]", (2, 0, 1, 3))):
            with self.subTest(layout):
                array, _, _ = self.read_blocks(blocks, {"block": {"time": 21}}, layout)
                np.testing.assert_array_equal(array, values.transpose(order))

    def test_headers_of_other_lengths(self):
        """Headers may grow from block to block, and are padded with DIRECTIO."""
        for direct in (0, 1):
            with self.subTest(direct):
                blocks, values = self.make(DIRECTIO=direct)
                for i in range(4):
                    more, _ = self.make(DIRECTIO=direct, **{f"EXTRA{k}": k for k in range(5 * i)})
                    blocks[i] = more[i]
                self.check(blocks, values, packets=4)

    def test_overlap(self):
        """The samples at the end of a block come again in the next one; without that one, they are
        still there."""
        blocks, values = self.make(n_samples=40, overlap=8)
        self.assertEqual(len(values), 4 * 32 + 8)
        self.check(blocks, values, {"block": {"time": 7}}, packets=4)
        values[32 + 8:64] = 0
        beside = self.check([blocks[0], *blocks[2:]], values, packets=3, missing=1)
        self.assertEqual(beside["validity"]["invalid_samples"], [24])

    def test_lost_blocks(self):
        """Lost blocks are invalid and shift nothing, whichever keywords count them."""
        n = 32 * 4 * 2 * 2  # bytes of a block
        for what, cards in {
                "PIPERBLK": {},
                "PKTNTIME": {"PIPERBLK": None, "PKTNTIME": 4},
                "PKTSIZE": {"PIPERBLK": None, "PKTSIZE": n // 8},
                "none": {"PIPERBLK": None}}.items():
            with self.subTest(what):
                blocks, values = self.make(8, **cards)
                for lost in (3, 4, 6):
                    values[32 * lost:32 * lost + 32] = 0
                beside = self.check([*blocks[:3], blocks[5], blocks[7]], values, packets=5,
                                    missing=3)
                self.assertEqual(beside["validity"]["invalid_samples"], [96])

    def test_packets_of_requantised_blocks(self):
        """PKTSIZE counts the bytes that 8 bits had."""
        for bits in (2, 4):
            with self.subTest(bits):
                blocks, values = self.make(bits=bits, PIPERBLK=None, PKTSIZE=32 * 4 * 2 * 2 // 8)
                values[32:64] = 0
                self.check([blocks[0], *blocks[2:]], values, packets=3, missing=1)

    def test_without_index(self):
        blocks, values = self.make(PKTIDX=None)
        self.check(blocks, values, packets=4)

    def test_repeated_and_swapped(self):
        blocks, values = self.make(5)
        self.check([blocks[0], blocks[2], blocks[1], blocks[3], blocks[3], blocks[4]], values,
                   packets=6, duplicate=1, reordered=1)

    def test_files(self):
        """Files in a list, and by a pattern, are one recording; a lost one is a gap."""
        blocks, values = self.make(8)
        for i in range(4):
            (self.folder / f"x.{i:04}.raw").write_bytes(b"".join(blocks[2 * i:2 * i + 2]))
        for path in ("x.*.raw", [f"x.{i:04}.raw" for i in range(4)]):
            array, counts, _ = self.read(path, layout="[time channel pol]")
            np.testing.assert_array_equal(array, values[:, 0])
            self.assertEqual(counts, {"packets": 8})
        (self.folder / "x.0001.raw").unlink()
        array, counts, _ = self.read("x.*.raw", layout="[time channel pol]")
        values[64:128] = 0
        np.testing.assert_array_equal(array, values[:, 0])
        self.assertEqual(counts, {"packets": 6, "missing": 2})
        self.assertIn("wants files whose names match 'y.*.raw', but there is none", self.fail("y.*.raw"))

    def test_truncated(self):
        """A file may end within a block or a header."""
        blocks, values = self.make()
        head = len(blocks[0]) - 512
        for cut in (1, 511, 512, 513, head + 512 - 80, head + 512 - 1):
            with self.subTest(cut):
                self.check([*blocks[:3], blocks[3][:-cut]], values[:96], packets=3, truncated=1)

    def test_damaged_header(self):
        """A block whose header is no text is lost, and the next one is found."""
        blocks, values = self.make(5)
        blocks[2] = bytes(80) + blocks[2][80:]
        values[64:96] = 0
        self.check(blocks, values, packets=4, missing=1, corrupt=1)
        # So are zeros behind the last block.
        blocks, values = self.make()
        self.check([*blocks, bytes(300)], values, packets=4, corrupt=1)

    def test_time(self):
        """Blocks count from STT_*, or from PKTSTART, or from the first block with SYNCTIME."""
        index = [1000 + 8 * i for i in range(4)]
        for cards, utc in (
                ({"PKTIDX": index}, "2018-01-14T14:11:37.000000000Z"),
                ({"PKTIDX": index, "PKTSTART": 1000}, START),
                ({"PKTIDX": index, "PKTSTART": 992}, "2018-01-14T14:11:33.032000000Z"),
                ({"PKTIDX": index, "SYNCTIME": 1515900000}, START),
                ({"STT_OFFS": 0.25}, "2018-01-14T14:11:33.250000000Z"),
                ({"STT_OFFS": -0.5}, "2018-01-14T14:11:32.500000000Z"),
                # Right to half a tick, the 1024th part of a sample.
                ({"STT_OFFS": 1e-4}, "2018-01-14T14:11:33.000099609Z"),
                ({"STT_IMJD": None}, None)):
            with self.subTest(cards):
                blocks, values = self.make(**cards)
                beside = self.check(blocks, values, packets=4)
                self.assertEqual(beside.get("start_utc"), utc)
                self.assertEqual(beside["sample_rate"], 1000)

    def test_axes(self):
        """A band that falls, names of stations, and channels that are to be split again."""
        blocks, _ = self.make(n_stations=2, OBSBW=-4e-3, ANTNMS00="1cB,1eB", FD_POLN="CIRC",
                              RA_STR="05:34:31.97", DEC_STR="-22:00:52.1")
        _, _, beside = self.read_blocks(blocks, {"channels": "subband"},
                                        "[time station subband pol]")
        axes = {axis["name"]: axis for axis in beside["axes"]}
        self.assertEqual(axes["station"]["labels"], ["1cB", "1eB"])
        self.assertEqual(axes["pol"]["labels"], ["L", "R"])
        self.assertEqual(axes["subband"]["first"], 1.5e9 + 1500)
        self.assertEqual(axes["subband"]["step"], -1000)
        right, declination = np.degrees(beside["observation"]["phase_centre"])
        self.assertAlmostEqual(right, 15 * (5 + 34 / 60 + 31.97 / 3600), places=9)
        self.assertAlmostEqual(declination, -(22 + 52.1 / 3600), places=9)
        blocks, values = self.make(OBSFREQ=None)
        beside = self.check(blocks, values, packets=4)
        self.assertNotIn("unit", beside["axes"][1])
        # The block of a beam names the stations of which it was made.
        blocks, values = self.make(NANTS=2, NBEAM=1)
        self.check(blocks, values, packets=4)

    def test_errors(self):
        blocks, _ = self.make()
        n = len(blocks[0])
        (self.folder / "made.raw").write_bytes(b"".join(blocks))
        whole = b"".join(blocks)
        cards = {**COMMON, "NBITS": 8, "OBSNCHAN": 4, "NPOL": 4, "BLOCSIZE": 512, "PIPERBLK": 8}
        for data, ending in (
                (b"", "made.raw: wants a file that is not empty"),
                (b"x" * 100, "made.raw: wants blocks of GUPPI RAW, cards of 80 characters up to "
                             "END and BLOCSIZE bytes, but is given 100 bytes without a whole one"),
                (bytes(5000), "but is given 5000 bytes without a whole one"),
                (b"x" * 50000, "but is given 50000 bytes without a whole one"),
                (blocks[0][:-1], f"but is given {n - 1} bytes without a whole one"),
                (whole.replace(b"NBITS   = 8", b"NBITS   = 5", 1),
                 "made.raw: byte 0: NBITS wants 2, 4, 8 or 16, but is given '5'"),
                (blocks[0] + blocks[1].replace(b"BLOCSIZE= 512", b"BLOCSIZE= 256"),
                 f"made.raw: byte {n}: BLOCSIZE: wants 512, as the first block has, but is given "
                 "256"),
                (blocks[0] + blocks[1].replace(b"OBSFREQ = 1500.0", b"OBSFREQ = 1501.0"),
                 f"made.raw: byte {n}: OBSFREQ: wants a first channel at 1499.9985 MHz, as the "
                 "first block has, but is given 1500.9985 MHz"),
                (blocks[0] + make_header(**{**cards, "PKTIDX": 10 ** 18}) + blocks[1][-512:],
                 "made.raw: wants a PKTIDX nearer to that of its start, 0, by which a block is "
                 "2^50 samples away")):
            with self.subTest(ending):
                (self.folder / "made.raw").write_bytes(data)
                error = self.fail()
                self.assertTrue(error.startswith("graph.yaml:"), error)
                self.assertIn(ending, error)

    def test_parameters_without_effect(self):
        blocks, _ = self.make()
        (self.folder / "made.raw").write_bytes(b"".join(blocks))
        self.check_no_effect(
            {"sky": {"stage": "guppi.source", "path": "made.raw", "first_half": "low"},
             "out": {"stage": "discard", "from": "sky"}}, "sky", "first_half")


if __name__ == "__main__":
    tap.main()
