#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""dada.source: made files of every kind, real ones against the field's reader, and errors."""
import fractions
import json
import math
import unittest

import pipeline  # this import comes first: with sanitizers it starts the program again

import numpy as np

import graphs
import oracles
import tap

TYPES = {(8, 1): "i1", (16, 1): "i2", (32, 1): "f4", (8, 2): "i1", (16, 2): "i2", (32, 2): "f4"}


def make_header(size=4096, **values):
    lines = {"HDR_SIZE": size, "NBIT": 8, "NDIM": 2, "NPOL": 2, "NCHAN": 1, "TSAMP": "0.0625",
             "UTC_START": "2022-06-29-01:30:00", "OBS_OFFSET": 0, "FREQ": 320, "BW": 16, **values}
    text = "".join(f"{key:12}{value}   # comment\n" for key, value in lines.items()
                   if value is not None)
    return ("# a header\n\n" + text).encode().ljust(size, b"\0")


class Files(graphs.GraphTest):
    def make(self, name, n_samples, order="TFP", block=None, encoding=None, endian="<", extra=b"",
             **values):
        """Writes a file of random samples, and returns them as [time subband pol]; complex ones
        have their parts as a last axis of 2."""
        bits, parts = values.get("NBIT", 8), values.get("NDIM", 2)
        shape = (n_samples, values.get("NCHAN", 1), values.get("NPOL", 2), parts)
        generator = np.random.default_rng(3)
        dtype = TYPES[bits, parts]
        if dtype == "f4":
            samples = generator.standard_normal(shape).astype(dtype)
        else:
            info = np.iinfo(dtype)
            samples = generator.integers(info.min, info.max, shape, dtype, endpoint=True)
        places = ["TFP".index(letter) for letter in order] + [3]
        blocks = samples.reshape(-1, block or n_samples, *shape[1:])
        stored = blocks.transpose(0, *[1 + place for place in places])
        if encoding == "OFFSETBINARY":
            stored = stored ^ np.array(-2**(bits - 1), dtype)
        (self.folder / name).write_bytes(make_header(**values)
                                         + stored.astype(endian + dtype).tobytes() + extra)
        return samples if parts == 2 else samples[..., 0]

    def read(self, source, axes="time pol", arguments=()):
        self.run_graph({"in": {"stage": "dada.source", **source},
                        "out": {"stage": "file.sink", "from": "in", "path": "out.npy",
                                "layout": f"[{axes}]"}}, *arguments)
        return np.load(self.folder / "out.npy"), json.loads((self.folder / "out.npy.json").read_text())

    def fail_source(self, source, *arguments):
        return self.fail_graph({"in": {"stage": "dada.source", **source},
                                "out": {"stage": "discard", "from": "in"}}, *arguments)

    def compare(self, array, samples):
        if samples.dtype == np.float32 and samples.shape[-1] == 2 and np.iscomplexobj(array):
            samples = samples[..., 0] + 1j * samples[..., 1]
        np.testing.assert_array_equal(array, samples)


class Made(Files):
    def test_elements(self):
        for bits, parts in TYPES:
            for encoding in (None, "TWOSCOMPLEMENT", "OFFSETBINARY"):
                for endian in "<>":
                    if bits == 32 and encoding == "OFFSETBINARY":
                        continue
                    with self.subTest(bits=bits, parts=parts, encoding=encoding, endian=endian):
                        samples = self.make("in.dada", 37, encoding=encoding, endian=endian,
                                            NBIT=bits, NDIM=parts, ENCODING=encoding,
                                            ENDIAN={"<": "LITTLE", ">": "BIG"}[endian])
                        array, _ = self.read({"path": "in.dada", "block": {"time": 5}})
                        self.compare(array, samples[:, 0])

    def test_orders(self):
        """Every order of axes, in heaps of 5 samples where time is not the slowest, with blocks of
        the stream that begin and end within heaps; from the header, and from the parameter."""
        for order in ("TFP", "TPF", "FTP", "PTF", "FPT", "PFT"):
            for n_channels, n_pols in ((6, 2), (6, 1), (1, 2)):
                for block in (1, 7, 64):
                    for given, parameter in ((order, "auto"), ("TFP", order))[:1 + (block == 7)]:
                        with self.subTest(order=order, n_channels=n_channels, n_pols=n_pols,
                                          block=block, given=given):
                            places = order.replace("F", "" if n_channels == 1 else "F")
                            places = places.replace("P", "" if n_pols == 1 else "P")
                            heap = None if places[0] == "T" else 5
                            samples = self.make("in.dada", 40, order, heap, NCHAN=n_channels,
                                                NPOL=n_pols, ORDER=given, RESOLUTION=2 * 5 *
                                                n_channels * n_pols)
                            axes = "time subband pol" if n_channels > 1 else "time pol"
                            array, _ = self.read({"path": "in.dada", "order": parameter,
                                                  "block": {"time": block}}, axes)
                            wanted = samples if n_channels > 1 else samples[:, 0]
                            np.testing.assert_array_equal(array, wanted)

    def test_large_heaps(self):
        """Heaps of more bytes than the buffer, and many small ones."""
        for heap, n_channels in ((300, 2048), (4, 8)):
            n = 300 * 3 if heap == 300 else 40000
            samples = self.make("in.dada", n, "PFT", heap, NCHAN=n_channels,
                                RESOLUTION=4 * heap * n_channels, INSTRUMENT="MKBF")
            array, _ = self.read({"path": "in.dada"}, "time subband pol")
            np.testing.assert_array_equal(array, samples)

    def test_header(self):
        self.make("in.dada", 10, NCHAN=4, OBS_OFFSET=160, BW=-16, TELESCOPE="Effelsberg",
                  SOURCE="2016+28", RA="20:16:00.20", DEC="-28:30:30.0", OBSERVER="unset", PID="P1")
        _, beside = self.read({"path": "in.dada"}, "time subband pol")
        self.assertEqual((beside["ticks_per_second"], beside["ticks_per_sample"], beside["start"]),
                         ([16000000, 1], 1, 10))
        self.assertEqual(beside["start_utc"], "2022-06-29T01:30:00.000000625Z")
        self.assertEqual(beside["axes"][1], {"name": "subband", "length": 4, "unit": "Hz",
                                             "first": 326e6, "step": -4e6})
        observation = beside["observation"]
        self.assertEqual((observation["telescope"], observation["source"], observation["project"]),
                         ("Effelsberg", "2016+28", "P1"))
        self.assertNotIn("observer", observation)
        np.testing.assert_allclose(
            observation["phase_centre"],
            [math.radians(15 * (20 + 16 / 60 + 0.2 / 3600)), -math.radians(28 + 30.5 / 60)],
            rtol=0, atol=1e-14)
        for parts, wanted in ((2, 320e6), (1, 312e6)):
            self.make("in.dada", 10, NDIM=parts, size=1000)
            _, beside = self.read({"path": "in.dada"})
            self.assertEqual(beside["frequency"], wanted)
        self.make("in.dada", 10, size=9000, UTC_START="UNKNOWN", FREQ=None)
        _, beside = self.read({"path": "in.dada"})
        self.assertIsNone(beside.get("epoch"))
        self.assertIsNone(beside.get("frequency"))

    def test_clock(self):
        """Periods that the header rounds, and starts between two samples."""
        for text, rate in (("0.0625", 16000000), ("0.00125", 800000000), ("1006.63296",
                           fractions.Fraction(3125000000, 3145728)), ("6.25e-2", 16000000),
                           ("1.882352941176471", fractions.Fraction(17000000, 32)),
                           ("0.65104166667", 1536000)):
            with self.subTest(text):
                self.make("in.dada", 3, TSAMP=text)
                _, beside = self.read({"path": "in.dada"})
                self.assertEqual(fractions.Fraction(*beside["ticks_per_second"])
                                 / beside["ticks_per_sample"], rate)
        for start, picoseconds, utc in (("2022-06-29-01:30:00.5", None, "00.500000000"),
                                        ("2022-06-29-01:30:00.5", 250000000, "00.500250000"),
                                        ("2022-06-29-01:30:00", 107083414, "00.000107083"),
                                        ("2022-06-29-01:30:59.999999999", None, "59.999999999")):
            with self.subTest(start=start, picoseconds=picoseconds):
                self.make("in.dada", 3, UTC_START=start, PICOSECONDS=picoseconds)
                _, beside = self.read({"path": "in.dada"})
                self.assertRegex(beside["start_utc"], f"^2022-06-29T01:30:{utc}Z$")

    def test_sequence(self):
        for order, block in (("TFP", None), ("PFT", 4)):
            options = {"NCHAN": 3, "ORDER": order, "RESOLUTION": 4 * 12}
            a = self.make("b.dada", 12, order, block, OBS_OFFSET=12 * 100, **options)
            b = self.make("a.dada", 8, order, block, OBS_OFFSET=12 * 116, **options)
            for path in ("*.dada", ["a.dada", "b.dada"]):
                array, beside = self.read({"path": path, "block": {"time": 5}}, "time subband pol")
                gap = np.zeros((4, *a.shape[1:]), np.int8)
                np.testing.assert_array_equal(array, np.concatenate([a, gap, b]))
                self.assertEqual(beside["start"], 100)
                self.assertEqual(beside["validity"]["gaps"], [{"lanes": [0, 1], "samples": [12, 4]}])
            self.make("a.dada", 8, order, block, OBS_OFFSET=12 * 111, **options)
            self.assertIn("a.dada: wants to begin after b.dada ends, but is given a start 1 samples "
                          "before its end: they overlap", self.fail_source({"path": "*.dada"}))

    def test_warnings(self):
        self.make("in.dada", 10, extra=b"abc")
        self.assertIn("in.dada ends with 3 bytes that are less than a sample, which are not read",
                      self.fail_source({"path": "in.dada"}, "--strict"))
        self.make("in.dada", 10, BW=-16)
        self.assertIn("the band of in.dada is reversed (BW -16 MHz)",
                      self.fail_source({"path": "in.dada"}, "--strict"))
        for name, angle in ("RA", "north"), ("RA", "83.63"), ("DEC", "22.01"), ("DEC", "-91:00:00"):
            self.make("in.dada", 10, **{"RA": "05:34:31.97", "DEC": "00:00:00", name: angle})
            self.assertIn(f"{name} of in.dada is no angle and is not read: '{angle}'",
                          self.fail_source({"path": "in.dada"}, "--strict"))

    def test_errors(self):
        for values, message in (
                ({"NBIT": None}, "in.dada: NBIT wants 8, 16 or 32, but is not given"),
                ({"NBIT": 4}, "in.dada: line 4: NBIT wants 8, 16 or 32, but is given '4'"),
                ({"NDIM": 3}, "line 5: NDIM wants 1 (real) or 2 (complex), but is given '3'"),
                ({"NPOL": 4}, "line 6: NPOL wants 1 or 2, but is given '4'"),
                ({"NCHAN": "x"}, "line 7: NCHAN wants an integer of at least 1, but is given 'x'"),
                ({"NCHAN": 2**25}, "NCHAN wants at most 16777216, but is given '33554432'"),
                ({"TSAMP": None}, "in.dada: TSAMP wants the microseconds of a sample, but is not"),
                ({"TSAMP": -1}, "line 8: TSAMP wants the microseconds of a sample, but is given '-1'"),
                ({"TSAMP": "fast"}, "line 8: TSAMP wants a number, but is given 'fast'"),
                ({"UTC_START": "2022"}, "UTC_START wants a time such as 2022-06-29-01:30:00.5"),
                ({"UTC_START": "2022-13-29-01:30:00"}, "UTC_START wants a time such as 2022-06-29-"),
                ({"PICOSECONDS": 1e12}, "PICOSECONDS wants less than a second, but is given"),
                ({"OBS_OFFSET": 3}, "OBS_OFFSET wants whole samples, but is given '3'"),
                ({"OBS_OFFSET": -4}, "OBS_OFFSET wants an integer of at least 0"),
                ({"ENCODING": "GRAY"}, "ENCODING wants TWOSCOMPLEMENT or OFFSETBINARY, but is given"),
                ({"ENDIAN": "PDP"}, "ENDIAN wants LITTLE or BIG, but is given 'PDP'"),
                ({"ORDER": "XYZ"}, "ORDER wants an order of the letters T, F and P, but is given"),
                ({"ORDER": "PFT"}, "in.dada: RESOLUTION wants blocks of whole samples of 4 bytes for "
                                   "the order PFT, in which time is not the slowest axis, but is not"),
                ({"ORDER": "PFT", "RESOLUTION": 6}, "RESOLUTION wants blocks of whole samples"),
                ({"FREQ": "high"}, "FREQ wants a number, but is given 'high'"),
                ({"HDR_SIZE": 10**5}, "HDR_SIZE wants the bytes of a header that the file has")):
            with self.subTest(values):
                (self.folder / "in.dada").write_bytes(make_header(**values) + bytes(40))
                error = self.fail_source({"path": "in.dada"})
                self.assertIn(message, error)
                self.assertRegex(error, r"^graph.yaml:\d+:\d+: node 'in': in.dada: ")
        (self.folder / "in.dada").write_bytes(b"")
        self.assertIn("in.dada: HDR_SIZE wants the bytes of a header that the file has, but is not "
                      "given", self.fail_source({"path": "in.dada"}))
        (self.folder / "in.dada").write_bytes(bytes(range(256)) * 32)
        self.assertIn("in.dada: NBIT wants 8, 16 or 32, but is not given",
                      self.fail_source({"path": "in.dada"}))


class Real(Files):
    @graphs.needs_data("dada/sample.dada", "dada/sample_meerkat.dada", "dada/sample_mkbf.dada")
    def test_known_values(self):
        """Sums and first samples that the package baseband gives for these files (its next version, for
        MeerKAT's beamformer)."""
        path = graphs.DATA / "dada"
        array, beside = self.read({"path": str(path / "sample.dada")})
        self.assertEqual(array.shape, (16000, 2, 2))
        self.assertEqual(array[:2].ravel().tolist(), [-38] * 6 + [-40, 0])
        self.assertEqual(array.sum((0, 1), np.int64).tolist(), [-17245, -16091])
        self.assertEqual((array.astype(np.int64)**2).sum(), 623096)
        self.assertEqual(beside["start_utc"], "2013-07-02T01:39:20.000000000Z")
        self.assertEqual(beside["observation"]["source"], "2016+28")
        array, beside = self.read({"path": str(path / "sample_meerkat.dada")})
        self.assertEqual(array.shape, (14336, 2))
        self.assertEqual(array[0].tolist(), [-15, 5])
        self.assertEqual((array.sum(dtype=np.int64), (array.astype(np.int64)**2).sum()),
                         (-19793, 6737121))
        # 4276224000000 bytes of 1.6e9 a second after 06:17:50.998315.
        self.assertEqual(beside["start_utc"], "2022-01-17T07:02:23.638315000Z")
        array, beside = self.read({"path": str(path / "sample_mkbf.dada")}, "time subband pol")
        self.assertEqual(array.shape, (256, 1024, 2, 2))
        self.assertEqual(array[0, :3, 0].tolist(), [[-1, -3], [-5, 7], [-5, 2]])
        self.assertEqual(array.sum((0, 1, 2), np.int64).tolist(), [-19487, -2701])
        self.assertEqual((beside["axes"][1]["first"], beside["axes"][1]["step"]), (544e6, 531250))

    @graphs.needs_data("dada/sample.dada", "dada/sample_meerkat.dada")
    def test_baseband(self):
        """The values are exactly those of the PyPI package baseband, which cannot read the headers
        of MeerKAT's beamformer yet."""
        script = ("import sys, numpy\n"
                  "from baseband import dada\n"
                  "with dada.open(sys.argv[1], 'rs', squeeze=False) as file:\n"
                  "    numpy.save(sys.argv[2], file.read())\n"
                  "    print(file.start_time.utc.isot[:22], file.sample_rate.to_value('Hz'))\n")
        for name in ("sample.dada", "sample_meerkat.dada"):
            with self.subTest(name):
                path = graphs.DATA / "dada" / name
                start, rate = oracles.run(self, oracles.BASEBAND, script, path,
                                          self.folder / "wanted.npy").split()
                wanted = np.load(self.folder / "wanted.npy")[..., 0]
                array, beside = self.read({"path": str(path)})
                if np.iscomplexobj(wanted):
                    array = array[..., 0] + 1j * array[..., 1].astype(np.float32)
                np.testing.assert_array_equal(array, wanted)
                self.assertEqual(beside["start_utc"][:22], start)
                self.assertEqual(beside["sample_rate"], float(rate))


if __name__ == "__main__":
    tap.main()
