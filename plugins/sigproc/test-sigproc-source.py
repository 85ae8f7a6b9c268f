#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sigproc.source: made files of every kind, real ones, and errors."""
import fractions
import json
import math
import struct
import unittest

import pipeline  # this import comes first: with sanitizers it starts the program again

import numpy as np

import graphs
import tap

REALS = ("src_raj", "src_dej", "tstart", "tsamp", "fch1", "foff", "fchannel")
DEFAULTS = {"telescope_id": 4, "data_type": 1, "source_name": "B0531+21", "src_raj": 53431.97,
            "src_dej": -220052.1, "tstart": 58000.25, "tsamp": 64e-6, "fch1": 1500.0, "foff": -0.5}


def text(value, order):
    return struct.pack(order + "I", len(value)) + value.encode()


def make_header(order="<", frequencies=(), **values):
    """A header of DEFAULTS and `values`, of which None leaves a keyword out."""
    parts = [text("HEADER_START", order)]
    for key, value in {**DEFAULTS, **values}.items():
        if value is None:
            continue
        parts.append(text(key, order))
        parts.append(text(value, order) if isinstance(value, str) else
                     struct.pack(order + ("d" if key in REALS else "b" if key == "signed" else "i"),
                                 value))
    if frequencies:
        parts.append(text("FREQUENCY_START", order))
        for value in frequencies:
            parts.append(text("fchannel", order) + struct.pack(order + "d", value))
        parts.append(text("FREQUENCY_END", order))
    return b"".join(parts) + text("HEADER_END", order)


def pack(codes, bits):
    """Codes in bytes, the first in the lowest bits; the last byte is filled up."""
    codes = codes.ravel()
    in_byte = 8 // bits
    codes = np.concatenate([codes, np.zeros(-len(codes) % in_byte, np.uint8)]).reshape(-1, in_byte)
    return np.bitwise_or.reduce(codes << (bits * np.arange(in_byte)).astype(np.uint8), axis=1,
                                dtype=np.uint8).tobytes()


def unpack(data, bits):
    data = np.frombuffer(data, np.uint8)
    if bits == 8:
        return data
    return (data[:, None] >> (bits * np.arange(8 // bits)) & (2**bits - 1)).astype(np.uint8).ravel()


# Bits and sign, NumPy's type of the samples in the file, and of the stream.
KINDS = {(1, 0): ("u1", "u1"), (2, 0): ("u1", "u1"), (4, 0): ("u1", "u1"), (8, 0): ("u1", "u1"),
         (8, 1): ("i1", "i1"), (16, 0): ("u2", "f4"), (16, 1): ("i2", "i2"), (32, 0): ("f4", "f4")}


class Source(graphs.GraphTest):
    seed = 20

    def make(self, name, n_samples, n_ifs=1, n_channels=7, bits=8, order="<", extra=b"", **values):
        """Writes a file of random samples [time][if][channel], and returns them."""
        Source.seed += 1
        generator = np.random.default_rng(Source.seed)
        of_file, _ = KINDS[bits, values.get("signed", 0)]
        shape = (n_samples, n_ifs, n_channels)
        if of_file == "f4":
            samples = generator.standard_normal(shape).astype("f4")
        else:
            info = np.iinfo(of_file)
            least, most = (0, 2**bits - 1) if bits < 8 else (info.min, info.max)
            samples = generator.integers(least, most, shape, of_file, endpoint=True)
        data = pack(samples, bits) if bits < 8 else samples.astype(order + of_file).tobytes()
        (self.folder / name).write_bytes(
            make_header(order, nbits=bits, nchans=n_channels, nifs=n_ifs, **values) + data + extra)
        return samples

    def read(self, source, axes="time channel", arguments=()):
        self.run_graph({"in": {"stage": "sigproc.source", **source},
                        "out": {"stage": "file.sink", "from": "in", "path": "out.npy",
                                "layout": f"[{axes}]"}}, *arguments)
        return np.load(self.folder / "out.npy"), json.loads((self.folder / "out.npy.json").read_text())

    def fail_source(self, source):
        return self.fail_graph({"in": {"stage": "sigproc.source", **source},
                                "out": {"stage": "discard", "from": "in"}})

    def test_elements(self):
        """All numbers of bits, byte orders and IFs, in this order of axes and in another, in blocks
        that begin within bytes, with both variants."""
        print(f"# seeds from {Source.seed + 1}")
        for (bits, sign), (_, of_stream) in KINDS.items():
            for order in "<>":
                for n_ifs, products, axis in ((1, "auto", None), (2, "auto", "pol"),
                                              (4, "stokes", "stokes"), (4, "coherence", "coherence"),
                                              (1, "stokes", "stokes")):
                    samples = self.make("in.fil", 37, n_ifs, 7, bits, order, signed=sign)
                    wanted = samples.astype(of_stream) if axis else samples[:, 0].astype(of_stream)
                    axes = ["time", *([axis] if axis else []), "channel"]
                    for variant, block in (("cpu", 64), ("cpu", 3), ("reference", 5)):
                        with self.subTest(bits=bits, order=order, products=products, block=block,
                                          variant=variant):
                            array, beside = self.read(
                                {"path": "in.fil", "products": products, "block": {"time": block}},
                                " ".join(axes), ["--variant", f"in={variant}"])
                            np.testing.assert_array_equal(array, wanted, strict=True)
                    turned, _ = self.read({"path": "in.fil", "products": products},
                                          " ".join(axes[::-1]))
                    np.testing.assert_array_equal(turned, wanted.T)
                    labels = {"stokes": list("IQUV")[:n_ifs], "coherence": ["AA", "BB", "CR", "CI"]}
                    for of in beside["axes"]:
                        self.assertEqual(of.get("labels"), labels.get(of["name"]))

    def test_bits_in_long_files(self):
        """More elements than the buffers hold."""
        for bits in (1, 2, 4, 16):
            samples = self.make("in.fil", 40000, 1, 33, bits)
            array, _ = self.read({"path": "in.fil", "block": {"time": 30011}})
            np.testing.assert_array_equal(array, samples[:, 0])

    def test_header(self):
        self.make("in.fil", 10)
        _, beside = self.read({"path": "in.fil"})
        # A tick is 1 µs: a sample is 64. The day's quarter is 6 o'clock.
        self.assertEqual(beside["ticks_per_second"], [1000000, 1])
        self.assertEqual(beside["ticks_per_sample"], 64)
        self.assertEqual(beside["start_utc"], "2017-09-04T06:00:00.000000000Z")
        self.assertEqual(beside["axes"][1], {"name": "channel", "length": 7, "unit": "Hz",
                                             "first": 1.5e9, "step": -0.5e6})
        observation = beside["observation"]
        self.assertEqual((observation["telescope"], observation["source"]), ("Parkes", "B0531+21"))
        # 05:34:31.97 and −22:00:52.1
        wanted = [math.radians(15 * (5 + 34 / 60 + 31.97 / 3600)),
                  -math.radians(22 + 52.1 / 3600)]
        np.testing.assert_allclose(observation["phase_centre"], wanted, rtol=0, atol=1e-14)

        self.make("in.fil", 10, order=">", frequencies=(1500.0, 1490.0, 1481.0, 1470, 1460, 1450, 1),
                  foff=0.25, telescope_id=0, source_name=None, src_raj=None, src_dej=None,
                  tstart=None, tsamp=81.92e-6)
        _, beside = self.read({"path": "in.fil"})
        self.assertEqual(beside["axes"][1]["table"],
                         [1.5e9, 1.49e9, 1.481e9, 1.47e9, 1.46e9, 1.45e9, 1e6])
        self.assertNotIn("observation", beside)
        self.assertIsNone(beside.get("start_utc"))
        numerator, denominator = beside["ticks_per_second"]
        self.assertEqual(beside["ticks_per_sample"] * denominator / numerator, 81.92e-6)

    def test_start(self):
        """The start is rounded to ticks of at most a microsecond, whatever the sample's length."""
        for seconds, period in ((0.3, 64e-6), (1e-6, 0.010240), (86399.9999, 81.92e-6), (7.7, 3e-7),
                                (0.1, 1 / 3.0)):
            with self.subTest(seconds=seconds, period=period):
                start = 58000 + seconds / 86400
                self.make("in.fil", 3, tstart=start, tsamp=period)
                _, beside = self.read({"path": "in.fil"})
                tick = fractions.Fraction(*beside["ticks_per_second"][::-1])
                self.assertLessEqual(float(tick), 1e-6)
                at = beside["epoch"] + beside["start"] * tick
                wanted = (fractions.Fraction(start) - 40587) * 86400
                # Half a tick, and the rounding of seconds within a day.
                self.assertLessEqual(abs(at - wanted), tick / 2 + fractions.Fraction(2**-36))
                self.assertEqual(float(tick * beside["ticks_per_sample"]), period)

    def test_lengths(self):
        """The file's length counts, not the header's: what differs is a warning."""
        for said, extra, message in (
                (None, b"", None), (0, b"", None), (10, b"", None),
                (11, b"", "in.fil has 10 samples, though its header says 11: all that it has are"),
                (9, b"", "in.fil has 10 samples, though its header says 9: all that it has are"),
                (10, b"abc", "in.fil ends with 3 bytes that are less than a sample, which are not")):
            with self.subTest(said=said, extra=extra):
                samples = self.make("in.fil", 10, nsamples=said, extra=extra)
                array, _ = self.read({"path": "in.fil"}, arguments=["--strict"] * (message is None))
                np.testing.assert_array_equal(array, samples[:, 0])
                if message:
                    self.assertIn(message, self.fail_graph(
                        {"in": {"stage": "sigproc.source", "path": "in.fil"},
                         "out": {"stage": "discard", "from": "in"}}, "--strict"))
        # Five samples of 7 channels of a bit: 35 bits in 5 bytes.
        samples = self.make("in.fil", 5, bits=1)
        array, _ = self.read({"path": "in.fil"}, arguments=["--strict"])
        np.testing.assert_array_equal(array, samples[:, 0])

    def test_sequence(self):
        """Files whose headers tell consecutive times to the precision of a double are one stream; a
        header's start may be off by half of its last digit."""
        period = 64e-6
        parts, start = [], 58000.123456789
        for i, (n, gap) in enumerate(((4001, 0), (2999, 17), (500, 0))):
            parts.append(self.make(f"scan-{2 - i}.fil", n, bits=2, tsamp=period, tstart=start))
            parts.append(np.zeros((gap, 1, 7), np.uint8))
            start += (n + gap) * period / 86400
        array, beside = self.read({"path": "scan-*.fil"})
        np.testing.assert_array_equal(array, np.concatenate(parts)[:, 0])
        self.assertEqual(beside["validity"]["gaps"], [{"lanes": [0, 1], "samples": [7000, 17]}])
        self.make("scan-3.fil", 5, bits=2, tsamp=period, tstart=start + 20e-6 / 86400)
        self.assertRegex(self.fail_source({"path": "scan-*.fil"}),
                         "scan-3.fil: wants to begin a whole number of samples after scan-2.fil, but "
                         "is given a start that is [0-9.e-]+ s from one")

    def test_sidecar(self):
        """PATH.json completes the header; it must agree with it."""
        samples = self.make("in.fil", 10)
        said = {"layout": "u8[time channel]", "type": "u8",
                "axes": [{"name": "time", "length": 10}, {"name": "channel", "length": 7}],
                "ticks_per_second": [15625, 1], "ticks_per_sample": 1, "start": 3906250000,
                "epoch": (58000 - 40587) * 86400 + 6 * 3600 - 250000,
                "validity": {"axes": [], "gaps": [{"lanes": [0, 1], "samples": [2, 3]}]}}
        (self.folder / "in.fil.json").write_text(json.dumps(said))
        array, beside = self.read({"path": "in.fil"})
        samples[2:5] = 0
        np.testing.assert_array_equal(array, samples[:, 0])
        self.assertEqual((beside["ticks_per_second"], beside["start"]), ([15625, 1], 3906250000))
        self.assertEqual(beside["axes"][1]["first"], 1.5e9)
        self.assertEqual(beside["validity"]["invalid_samples"], [3])
        axes = [said["axes"][0], {"name": "channel", "length": 7, "unit": "Hz", "first": 1.5e9,
                                  "step": 5e5}]
        for wrong, message in (({"ticks_per_second": [15626, 1]},
                                "15625 instead of 15626 samples per second"),
                               ({"start": 3906250001}, "a start that is -6.4e-05 s later"),
                               ({"axes": axes}, "other coordinates of axis 'channel'")):
            with self.subTest(wrong):
                (self.folder / "in.fil.json").write_text(json.dumps({**said, **wrong}))
                self.assertIn(f"in.fil: wants a header that agrees with in.fil.json, but is given "
                              f"{message}", self.fail_source({"path": "in.fil"}))

    def test_errors(self):
        for values, message in (
                ({"bits": 8, "nbits": 3}, "wants nbits of 1, 2, 4, 8, 16 or 32, but is given 3"),
                ({"nifs": 3}, "wants nifs of 1, 2 or 4, but is given 3"),
                ({"nchans": 0}, "wants nchans of at least 1, but is given 0"),
                ({"tsamp": 0.0}, "wants tsamp in seconds, but is given 0"),
                ({"tsamp": math.nan}, "wants tsamp in seconds, but is given nan"),
                ({"tsamp": 1e-300}, "wants tsamp in seconds, but is given 1e-300"),
                ({"tstart": -1.0}, "wants tstart as a modified Julian date, but is given -1"),
                ({"fch1": math.inf}, "wants fch1 and foff that are numbers, but is given inf and"),
                ({"data_type": 3}, "wants a filterbank or a time series (data_type 1 or 2)"),
                ({"frequencies": (1, 2)}, "wants a frequency of each of 7 channels, but is given 2"),
                ({"nifs": 4}, "'products': wants stokes or coherence, for in.fil has four IFs"),
                ({"nifs": 2, "products": "stokes"}, "'products': wants what the IFs of in.fil can be, "
                                                    "of which there are 2, but is given stokes")):
            with self.subTest(values):
                values = {"nbits": 8, "nchans": 7, **values}
                products = values.pop("products", "auto")
                values.pop("bits", None)
                (self.folder / "in.fil").write_bytes(make_header(**values) + bytes(70))
                error = self.fail_source({"path": "in.fil", "products": products})
                self.assertIn(message, error)
                self.assertRegex(error, r"^graph.yaml:\d+:\d+: node 'in': ")
        (self.folder / "in.fil").write_bytes(make_header(nbits=8, nchans=7)[:-20])
        self.assertIn("in.fil: byte ", self.fail_source({"path": "in.fil"}))
        (self.folder / "in.fil").write_bytes(b"")
        self.assertIn("in.fil: byte 0: wants HEADER_START", self.fail_source({"path": "in.fil"}))

    def test_long_header(self):
        """A header longer than the first read."""
        n = 9000
        (self.folder / "in.fil").write_bytes(
            make_header(nbits=8, nchans=n, frequencies=range(n)) + bytes(range(200)) * 90)
        array, beside = self.read({"path": "in.fil"})
        np.testing.assert_array_equal(array, np.resize(np.arange(200), (2, n)))
        self.assertEqual(beside["axes"][1]["table"][-1], 8999e6)

    @graphs.needs_data("sigproc/parkes_2bit.fil", "sigproc/parkes_4bit.fil", "sigproc/tutorial.fil")
    def test_real_files(self):
        for name, bits, n_channels, period in (("parkes_2bit", 2, 832, 512e-6),
                                               ("parkes_4bit", 4, 832, 512e-6),
                                               ("tutorial", 2, 64, 320e-6)):
            with self.subTest(name):
                path = graphs.DATA / "sigproc" / f"{name}.fil"
                data = path.read_bytes()
                samples = unpack(data[data.index(b"HEADER_END") + 10:], bits)
                array, beside = self.read({"path": str(path)})
                np.testing.assert_array_equal(array, samples.reshape(-1, n_channels))
                numerator, denominator = beside["ticks_per_second"]
                self.assertEqual(beside["ticks_per_sample"] * denominator / numerator, period)
                if n_channels == 832:
                    self.assertEqual(len(array), 4096)
                    self.assertEqual(beside["axes"][1]["first"], 4030e6)
                    self.assertEqual(beside["axes"][1]["step"], -4e6)
                    self.assertEqual(beside["observation"]["telescope"], "Parkes")
                    self.assertEqual(beside["observation"]["source"], "J0534+2200")


if __name__ == "__main__":
    tap.main()
