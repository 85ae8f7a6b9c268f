#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sigproc.sink: the bytes of its files, read by NumPy and by the reader of `your`, and errors."""
import datetime
import importlib.util
import json
import re
import struct
import subprocess
import sys
import types

import numpy as np

import graphs
import oracles
import tap

SEED = 51
RATE = 15625  # Hz: 64 µs
START = "2022-06-29T01:30:00Z"
MJD = 59759 + 1.5 / 24
REALS = ("src_raj", "src_dej", "tstart", "tsamp", "fch1", "foff", "refdm")
OBSERVATION = {"telescope": "effelsberg", "source": "Crab Nebula",
               "phase_centre": ["05:34:31.97", "-22:00:52.1"]}


def read_header(data):
    """The keywords of a header, and its length."""
    values, at = {}, 0

    def text():
        nonlocal at
        n, = struct.unpack_from("<i", data, at)
        at += 4 + n
        return data[at - n:at].decode()

    assert text() == "HEADER_START"
    while (key := text()) != "HEADER_END":
        if key == "FREQUENCY_START":
            values["table"] = []
        elif key == "FREQUENCY_END":
            pass
        elif key in ("source_name", "rawdatafile"):
            values[key] = text()
        else:
            form = "<d" if key in REALS or key == "fchannel" else "<b" if key == "signed" else "<i"
            value, = struct.unpack_from(form, data, at)
            at += struct.calcsize(form)
            if key == "fchannel":
                values["table"].append(value)
            else:
                values[key] = value
    return values, at


def read_file(data):
    """The header, and the samples [time][if][channel]."""
    header, at = read_header(data)
    bits, body = header["nbits"], np.frombuffer(data, np.uint8, offset=at)
    if bits < 8:
        samples = (body[:, None] >> (bits * np.arange(8 // bits)) & (2**bits - 1)).ravel()
    else:
        kinds = {8: "<i1" if header.get("signed") else "<u1", 16: "<u2", 32: "<f4"}
        samples = body.view(kinds[bits])
    return header, samples.reshape(-1, header["nifs"], header["nchans"])


def find_reader():
    """The reader of SIGPROC files of `your`, without the packages that its plots need; None if it
    can't be installed."""
    folder = oracles.install(oracles.YOUR, "--no-deps")
    if not folder:
        return None
    for name in ("your", "your.utils", "your.utils.astro"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["your.utils.astro"].ra2deg = sys.modules["your.utils.astro"].dec2deg = float
    spec = importlib.util.spec_from_file_location("reader", folder / "your/formats/pysigproc.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SigprocFile


class Sink(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(SEED)

    def stages(self, array, axes, sink=None, source=None):
        """An array with the axes [time …], with channels 1 MHz apart from 1400 MHz on."""
        np.save(self.folder / "in.npy", array)
        kind = {"float32": "f32", "uint8": "u8", "int8": "i8", "int16": "i16"}[array.dtype.name]
        which = "subband" if "subband" in axes else "channel"
        n = array.shape[axes.index(which)] if which in axes else 0
        return {"in": {"stage": "file.source", "path": "in.npy", "sample_rate": RATE,
                       "layout": f"{kind}[{' '.join(axes)}]", "epoch": START,
                       **({"frequencies": [f"{1400 + i} MHz" for i in range(n)]} if n else {}),
                       **(source or {})},
                "out": {"stage": "sigproc.sink", "from": "in", "path": "out.fil", **(sink or {})}}

    def run_sink(self, *arguments, warnings=None, **more):
        return self.run_stages(self.stages(*arguments, **more), warnings)

    def run_stages(self, stages, warnings=None):
        (self.folder / "graph.yaml").write_text(json.dumps(
            {"observation": OBSERVATION, "stages": stages}))
        done = subprocess.run([graphs.COMMAND, "run", "graph.yaml", "--stats", "json"],
                              cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        if warnings is None:
            self.assertEqual(done.stderr, "")
        else:
            self.assertRegex(done.stderr, warnings)
        return json.loads(done.stdout)

    def read(self, name="out.fil"):
        return read_file((self.folder / name).read_bytes())

    def make_levels(self, dtype, shape, bits):
        info = np.iinfo(np.int8) if dtype == "i1" else None
        least, most = (info.min, info.max) if info else (0, 2**bits - 1)
        return self.random.integers(least, most, shape, endpoint=True).astype(dtype)

    def test_elements(self):
        """Every number of bits, one to four IFs, both orders, any order of axes and blocks."""
        print(f"# seed {SEED}")
        kinds = [("f4", bits, bits) for bits in (1, 2, 4, 8, 16, 32)]
        kinds += [("f4", None, 32), ("u1", None, 8), ("i1", None, 8), ("i2", 16, 16),
                  *(("u1", bits, bits) for bits in (1, 2, 4, 8, 16, 32))]
        for dtype, bits, wanted_bits in kinds:
            for ifs, n_ifs in ((None, 1), ("pol", 2), ("stokes", 4)):
                for order, block in (("descending", 5), ("stream", 1000)):
                    with self.subTest(dtype=dtype, bits=bits, ifs=ifs, order=order):
                        shape = (37, n_ifs, 24)
                        array = self.random.standard_normal(shape).astype("f4") \
                            if wanted_bits == 32 and dtype == "f4" \
                            else self.make_levels(dtype, shape, min(wanted_bits, 8)
                                                  if dtype == "u1" else wanted_bits)
                        if dtype == "i2":
                            array = np.abs(array)  # levels from 0 on, that 16 bits hold
                        axes = ["time", ifs, "channel"] if ifs else ["time", "channel"]
                        stored = array if ifs else array[:, 0]
                        if block == 5:  # the other order of axes: the planner inserts a transpose
                            axes = axes[:1] + axes[:0:-1]
                            stored = np.ascontiguousarray(np.moveaxis(stored, -1, 1))
                        stats = self.run_sink(stored, axes,
                                              {"order": order, **({"bits": bits} if bits else {})},
                                              {"block": {"time": block}})
                        header, samples = self.read()
                        self.assertEqual((header["nbits"], header["nifs"], header["nchans"]),
                                         (wanted_bits, n_ifs, 24))
                        self.assertEqual(header.get("signed", 0), int(dtype == "i1"))
                        first, step = (1423, -1) if order == "descending" else (1400, 1)
                        self.assertEqual((header["fch1"], header["foff"]), (first, step))
                        np.testing.assert_array_equal(samples, array[..., ::step])
                        node, = (node for node in stats["nodes"] if node["name"] == "out")
                        self.assertEqual(node["counters"]["clipped"], 0)

    def test_clipped_are_valid(self):
        """Invalid samples are 0, which may be no level, but they are not counted as clipped."""
        values = np.full((100, 3), 150, np.float32)
        values[40:90, 1] = 0
        values[5, 0] = 400
        for block in (7, 100):
            stages = self.stages(values, ["time", "channel"], {"bits": 8, "offset": -100}, {"block": {"time": block}})
            (self.folder / "in.npy.json").write_text(json.dumps({
                "type": "f32", "layout": "f32[time channel]",
                "axes": [{"name": "time", "length": 100}, {"name": "channel", "length": 3}],
                "validity": {"axes": ["channel"], "gaps": [{"lanes": [1, 1], "samples": [40, 50]}]}}))
            stats = self.run_stages(stages)
            node, = (node for node in stats["nodes"] if node["name"] == "out")
            self.assertEqual(node["counters"]["clipped"], 1)

    def test_levels(self):
        """Offset, rounding half to even, clipping and NaN."""
        values = np.float32([-1, -0.5, 0.49, 0.5, 1.5, 2.5, 254.5, 255.49, 255.5, 300, np.nan, np.inf])
        for offset in (0, 3):
            stats = self.run_sink(values[:, None] - offset, ["time", "channel"],
                                  {"bits": 8, "offset": offset},
                                  warnings=r"'out': warning: clipped 5 of 12 elements: ")
            np.testing.assert_array_equal(self.read()[1].ravel(),
                                          [0, 0, 0, 0, 2, 2, 254, 255, 255, 255, 0, 255])
            node, = (node for node in stats["nodes"] if node["name"] == "out")
            self.assertEqual(node["counters"]["clipped"], 5)  # -1, 255.5, 300, NaN, infinity
        signed = np.arange(-128, 128, dtype=np.int8)[:, None]
        self.run_sink(signed, ["time", "channel"], {"offset": 128})
        header, samples = self.read()
        self.assertNotIn("signed", header)
        np.testing.assert_array_equal(samples.ravel(), np.arange(256))

    def test_powers_of_any_level(self):
        """With level and gains, powers over eight orders of magnitude come to the same levels."""
        length, n = 50, 4 * 50
        spectra = self.random.gamma(40, size=(n, 24))
        spectra *= 10.0 ** self.random.uniform(-4, 4, (1, 24))
        spectra = (spectra * 10.0 ** np.linspace(-1, 1, n)[:, None]).astype("f4")
        np.save(self.folder / "spectra.npy", spectra)
        (self.folder / "graph.yaml").write_text(json.dumps({"stages": {
            "spectra": {"stage": "file.source", "path": "spectra.npy", "layout": "[time channel]",
                        "sample_rate": RATE, "epoch": START,
                        "frequencies": [f"{1400 + k} MHz" for k in range(24)]},
            "mean": {"stage": "integrate", "from": "spectra", "length": length, "average": True},
            "factors": {"stage": "level", "from": "mean", "mean": 64},
            "levelled": {"stage": "gains", "from": {"in": "spectra", "gains": "factors"}},
            "out": {"stage": "sigproc.sink", "from": "levelled", "path": "out.fil", "bits": 8,
                    "order": "stream"}}}))
        done = subprocess.run([graphs.COMMAND, "run", "graph.yaml", "--quiet", "--strict"],
                              cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        double = spectra.astype(float)
        factors = 64 / double.reshape(4, length, 24).mean(1)
        wanted = double * factors.repeat(length, 0)
        levels = self.read()[1][:, 0].astype(float)
        # Half a level, and roundings: of the sum, the mean, the quotient and the product.
        error = abs(levels - np.clip(wanted, 0, 255)).max()
        self.assertLessEqual(error, 0.5 + 255 * (length + 6) * 2**-24)
        np.testing.assert_allclose(levels.reshape(4, length, 24).mean(1), 64, atol=0.5)

    def test_header(self):
        array = self.random.standard_normal((10, 16)).astype("f4")
        self.run_sink(array, ["time", "channel"], {"machine_id": 7},
                      {"sample_rate": "1 MHz/3", "ticks_per_sample": 7, "start": 10**9})
        header, _ = self.read()
        seconds = 10**9 * 3 / (7 * 10**6)
        self.assertAlmostEqual((header.pop("tstart") - MJD) * 86400, seconds, delta=0.7e-6)
        self.assertEqual(header, {
            "telescope_id": 8, "machine_id": 7, "data_type": 1, "source_name": "Crab Nebula",
            "barycentric": 0, "pulsarcentric": 0, "src_raj": 53431.97, "src_dej": -220052.1,
            "tsamp": 3e-6, "nbits": 32, "nchans": 16, "nifs": 1, "nbeams": 1, "ibeam": 1,
            "fch1": 1415, "foff": -1})
        self.run_sink(array, ["time", "channel"], {"telescope_id": 64})
        self.assertEqual(self.read()[0]["telescope_id"], 64)

    def test_time_series(self):
        """Without channels, the file is a time series at the stream's frequency."""
        array = self.random.standard_normal(100).astype("f4")
        self.run_sink(array, ["time"], None, {"first_frequency": "150 MHz"})
        header, samples = self.read()
        self.assertEqual((header["data_type"], header["nchans"], header["fch1"]), (2, 1, 150))
        np.testing.assert_array_equal(samples[:, 0, 0], array)

    def put_sidecar(self, axes):
        """What the source's PATH.json says of axes, as a sink would write it."""
        array = np.load(self.folder / "in.npy")
        (self.folder / "in.npy.json").write_text(json.dumps({
            "type": "f32", "layout": "f32[" + " ".join(axis["name"] for axis in axes) + "]",
            "axes": [{"length": n, **axis} for n, axis in zip(array.shape, axes)]}))

    def test_subbands(self):
        """The channels of subbands become one axis, in the order of their frequencies."""
        array = self.random.standard_normal((20, 3, 4)).astype("f4")
        cases = {
            # Subbands that follow one another, in another order; each channel is a quarter of one.
            "even": ([110e6, 100e6, 120e6], {"first": -5e6, "step": 2.5e6}),
            # The order of a Fourier transform that is not shifted.
            "transform": ([100e6, 110e6, 120e6], {"table": [
                f + 2.5e6 * c for f in (100e6, 110e6, 120e6) for c in (0, 1, -2, -1)]}),
            "gap": ([100e6, 110e6, 130e6], {"first": -5e6, "step": 2.5e6}),
        }
        for name, (centres, inner) in cases.items():
            with self.subTest(name):
                axes = ["time", "subband", "channel"]
                np.save(self.folder / "in.npy", array)
                self.put_sidecar([{"name": "time"},
                                  {"name": "subband", "unit": "Hz", "table": centres},
                                  {"name": "channel", "unit": "Hz", "parent": "subband", **inner}])
                stages = self.stages(array, axes)
                del stages["in"]["frequencies"]
                (self.folder / "graph.yaml").write_text(json.dumps({"stages": stages}))
                done = subprocess.run([graphs.COMMAND, "run", "--quiet", "graph.yaml"],
                                      cwd=self.folder, capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                frequencies = np.array(inner["table"] if "table" in inner else [
                    f + inner["first"] + inner["step"] * c for f in centres for c in range(4)])
                order = np.argsort(-frequencies)
                header, samples = self.read()
                np.testing.assert_array_equal(samples[:, 0], array.reshape(20, 12)[:, order])
                beside = json.loads((self.folder / "out.fil.json").read_text())
                self.assertEqual(beside["layout"], "f32[time channel]")
                if name == "gap":
                    self.assertIn("the frequencies have no even steps", done.stderr)
                    np.testing.assert_array_equal(np.array(header["table"]) * 1e6,
                                                  frequencies[order])
                    self.assertEqual(beside["axes"][1]["table"], list(frequencies[order]))
                else:
                    self.assertEqual(done.stderr, "")
                    self.assertEqual((header["fch1"], header["foff"]),
                                     (frequencies.max() / 1e6, -2.5))
                    self.assertEqual(beside["axes"][1]["step"], -2.5e6)

    def test_validity(self):
        """PATH.json has the gaps of the file's channels: those of subbands, in descending order."""
        array = self.random.standard_normal((50, 2, 3)).astype("f4")
        np.save(self.folder / "in.npy", array)
        axes = [{"name": "time"}, {"name": "subband", "unit": "Hz", "table": [100e6, 103e6]},
                {"name": "channel", "unit": "Hz", "parent": "subband", "first": -1e6, "step": 1e6}]
        self.put_sidecar(axes)
        path = self.folder / "in.npy.json"
        beside = json.loads(path.read_text())
        beside["validity"] = {"axes": ["subband"], "valid": 0.9, "invalid_samples": [0, 10],
                              "gaps": [{"lanes": [1, 1], "samples": [5, 10]}]}
        path.write_text(json.dumps(beside))
        stages = self.stages(array, ["time", "subband", "channel"])
        del stages["in"]["frequencies"]
        self.run_graph(stages)
        made = json.loads((self.folder / "out.fil.json").read_text())
        self.assertEqual(made["validity"]["axes"], ["channel"])
        self.assertEqual(made["validity"]["invalid_samples"], [10] * 3 + [0] * 3)
        self.assertEqual(made["validity"]["gaps"], [{"lanes": [0, 3], "samples": [5, 10]}])
        wanted = array.reshape(50, 6)[:, ::-1].copy()
        wanted[5:15, :3] = 0
        np.testing.assert_array_equal(self.read()[1][:, 0], wanted)

    def test_rotation(self):
        """Each file has the start of its own first sample, also in its name."""
        array = self.make_levels("u1", (1000, 8), 4)
        self.run_sink(array, ["time", "channel"],
                      {"path": "s-%H%M%S.%f.fil", "bits": 4, "rotate_samples": 70})
        paths = sorted(self.folder.glob("s-*.fil"))
        self.assertEqual(len(paths), 15)
        parts = []
        for k, path in enumerate(paths):
            header, samples = read_file(path.read_bytes())
            parts.append(samples)
            seconds = 70 * k / RATE
            self.assertAlmostEqual((header["tstart"] - MJD) * 86400, seconds, delta=0.7e-6)
            time = datetime.datetime(2022, 6, 29, 1, 30) + datetime.timedelta(seconds=seconds)
            self.assertEqual(path.name, time.strftime("s-%H%M%S.%f.fil"))
        np.testing.assert_array_equal(np.concatenate(parts)[:, 0], array[:, ::-1])

    def test_pipe(self):
        array = self.random.standard_normal((100, 8)).astype("f4")
        self.run_sink(array, ["time", "channel"])
        stages = self.stages(array, ["time", "channel"], {"path": "-"})
        (self.folder / "graph.yaml").write_text(json.dumps({"observation": OBSERVATION,
                                                            "stages": stages}))
        done = subprocess.run([graphs.COMMAND, "run", "graph.yaml"], cwd=self.folder,
                              capture_output=True, timeout=120, check=True)
        self.assertEqual(done.stdout, (self.folder / "out.fil").read_bytes())

    def test_reader(self):
        """The reader of `your` gives the same samples and header."""
        reader = find_reader()
        if not reader:
            self.skipTest(f"{oracles.YOUR} can't be installed from a package registry here")
        for bits, dtype in ((8, "f4"), (16, "f4"), (32, "f4"), (8, "u1")):
            for n_ifs in (1, 4):
                for order in ("descending", "stream"):
                    with self.subTest(bits=bits, dtype=dtype, n_ifs=n_ifs, order=order):
                        array = self.make_levels(dtype, (50, n_ifs, 16), bits if bits < 32 else 20)
                        self.run_sink(array, ["time", "stokes", "channel"],
                                      {"bits": bits, "order": order})
                        found = reader(str(self.folder / "out.fil"))
                        self.assertEqual(found.nspectra(), 50)
                        self.assertEqual((found.fch1, found.foff, found.nchans, found.nifs),
                                         (1415, -1, 16, n_ifs) if order == "descending"
                                         else (1400, 1, 16, n_ifs))
                        self.assertEqual((found.tsamp, found.source_name),
                                         (1 / RATE, b"Crab Nebula"))
                        self.assertAlmostEqual((found.tstart - MJD) * 86400, 0, delta=0.7e-6)
                        step = -1 if order == "descending" else 1
                        np.testing.assert_array_equal(found.get_data(0, 50, npoln=4),
                                                      array[..., ::step])

    def test_errors(self):
        f4 = np.zeros((8, 4), "f4")
        for array, axes, sink, source, message in (
                (f4, ["time", "beam"], {}, {}, "wants one beam, but is given 'beam' with 4"),
                (f4, ["time", "station"], {}, {},
                 "wants time, subband, channel and pol, stokes or coherence, but is given 'station' "
                 "with 4"),
                (f4[None], ["pol", "time", "channel"], {}, {"sample_rate": None, "epoch": None},
                 "wants a stream along time with a clock"),
                (f4, ["time", "channel"], {}, {"frequencies": None},
                 "wants frequencies of channels in hertz"),
                (f4, ["time", "pol"], {}, {}, "wants a frequency in hertz"),
                (f4, ["time", "channel"], {"bits": 3}, {},
                 "parameter 'bits': wants 1, 2, 4, 8, 16 or 32, but is given 3"),
                (f4, ["time", "channel"], {"bits": 1}, {},
                 "parameter 'bits': wants whole bytes at each point in time, but is given 4 elements "
                 "of 1 bits")):
            with self.subTest(message):
                stages = self.stages(array, axes, sink, source)
                stages["in"] = {key: value for key, value in stages["in"].items()
                                if value is not None}
                self.assertIn(message, self.fail_graph(stages))
        voltages = {"stage": "generate", "type": "cf32", "sample_rate": RATE, "samples": 10,
                    "centre_frequency": "1 MHz"}
        self.assertIn("wants f32, or real samples that it can hold, but is given cf32 (power makes "
                      "them real)",
                      self.fail_graph({"in": voltages, "out": {
                          "stage": "sigproc.sink", "from": "in", "path": "x.fil"}}))

    def test_baseband_frequencies(self):
        """Channels around 0 Hz, of voltages without a frequency, are told."""
        for centre, message in ((None, "node 'out': warning: the stream does not know its frequency of "
                                 "the sky: the file has channels from -0.5 to 0.25 MHz; "
                                 "'centre_frequency' of its source gives it"),
                                ("0 Hz", None), ("150 MHz", None)):
            sky = {"stage": "generate", "sample_rate": "1 MHz", "samples": 400}
            if centre:
                sky["centre_frequency"] = centre
            graph = self.write({
                "sky": sky, "spectra": {"stage": "fft", "from": "sky", "axis": "time", "length": 4,
                                        "shift": True},
                "power": {"stage": "power", "from": "spectra"},
                "out": {"stage": "sigproc.sink", "from": "power", "path": "x.fil"}})
            done = subprocess.run([graphs.COMMAND, "check", graph], cwd=self.folder,
                                  capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            if message:
                self.assertIn(message, done.stderr)
            self.assertEqual("frequency of the sky" in done.stderr, message is not None)

    def test_warnings(self):
        stages = self.stages(np.zeros((8, 4), "f4"), ["time", "channel"])
        del stages["in"]["epoch"]
        done = subprocess.run([graphs.COMMAND, "check", "--quiet", self.write(stages)],
                              cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertTrue(re.search(r"node 'out': warning: the stream does not know its UTC: tstart of "
                                  r"the file is 0", done.stderr), done.stderr)


if __name__ == "__main__":
    tap.main()
