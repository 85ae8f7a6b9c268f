#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""psrfits.sink: its files as astropy and `your` read them, what a killed run or a full disk leaves,
and errors."""
import json
import random
import resource
import signal
import subprocess
import time

import numpy as np

import graphs
import oracles
import tap

SEED = 61
RATE = 15625  # Hz: 64 µs
START = "2022-06-29T01:30:00Z"
OBSERVATION = {"telescope": "Effelsberg", "source": "Crab Nebula", "project": "P7",
               "phase_centre": ["05:34:31.97", "-22:00:52.1"]}

# What astropy reads of each file: columns, shapes and headers. Its warnings are errors, save that there
# are bytes behind the rows of a file whose process was killed.
READ = """
import json, sys, warnings
import numpy
from astropy.io import fits
for path in sys.argv[1:]:
    warnings.simplefilter("ignore" if path.endswith(".partial") else "error")
    with fits.open(path) as file:
        file.verify("exception")
        table = file["SUBINT"]
        columns = {name: numpy.array(table.data[name]) for name in table.columns.names}
        columns = {name: a.astype(a.dtype.newbyteorder("=")) for name, a in columns.items()}
        headers = [{key: hdu.header[key] for key in hdu.header if key not in ("COMMENT", "DATE")}
                   for hdu in file]
        numpy.savez(path + ".npz", **columns, headers=json.dumps(headers))
"""
# What the reader of PSRFITS files of `your` reads, without the packages that the rest of it needs.
YOUR = """
import importlib.util, json, logging, sys
import numpy
spec = importlib.util.spec_from_file_location("reader", sys.argv[1] + "/your/formats/psrfits.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
file = module.PsrfitsFile([sys.argv[2]])
n = int(sys.argv[3])
numpy.save(sys.argv[4], file.get_data(0, n, npoln=file.npol))
print(json.dumps([float(file.fch1), float(file.foff), file.nchans, file.npol, file.nbits,
                  file.native_tsamp(), file.tstart, file.source_name, file.telescope, file.ra_deg,
                  file.dec_deg, file.poln_order, int(file.nspectra())]))
"""


def unpack(data, bits):
    """Levels of bytes, the first in the highest bits."""
    shifts = 8 - bits - bits * np.arange(8 // bits)
    return (data[..., None] >> shifts & (2**bits - 1)).astype(np.uint8)


class Sink(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(SEED)

    def stages(self, array, axes, sink=None, source=None):
        """An array with the axes [time …], with channels 1 MHz apart from 1400 MHz on."""
        np.save(self.folder / "in.npy", array)
        kind = {"float32": "f32", "uint8": "u8", "int8": "i8", "int16": "i16"}[array.dtype.name]
        n = array.shape[axes.index("channel")] if "channel" in axes else 0
        return {"in": {"stage": "file.source", "path": "in.npy", "sample_rate": RATE,
                       "layout": f"{kind}[{' '.join(axes)}]", "epoch": START,
                       **({"frequencies": [f"{1400 + i} MHz" for i in range(n)]} if n else {}),
                       **(source or {})},
                "out": {"stage": "psrfits.sink", "from": "in", "path": "out.sf", **(sink or {})}}

    def write(self, stages, name="graph.yaml", start=START):
        observation = {**OBSERVATION, **({"start": start} if start else {})}
        (self.folder / name).write_text(
            json.dumps({"observation": observation, "stages": stages}, indent=1))
        return name

    def run_stages(self, stages, warnings="^$"):
        done = subprocess.run([graphs.COMMAND, "run", self.write(stages), "--stats", "json"],
                              cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, warnings)
        return json.loads(done.stdout)

    def run_sink(self, *arguments, warnings="^$", **more):
        return self.run_stages(self.stages(*arguments, **more), warnings)

    def open(self, *names):
        """Columns and headers of files, by astropy."""
        oracles.run(self, oracles.ASTROPY, READ, *(self.folder / name for name in names))
        found = [np.load(self.folder / f"{name}.npz") for name in names]
        return found if len(found) > 1 else found[0]

    def levels(self, found):
        """The samples [time][product][channel] of what `open` gives, without padding."""
        _, header = json.loads(str(found["headers"]))
        bits, data = header["NBITS"], found["DATA"]
        if bits < 8:
            data = unpack(data, bits)
        elif header["SIGNINT"] and bits == 8:
            data = data.view(np.int8)
        data = data.reshape(-1, header["NPOL"], header["NCHAN"])
        self.assertEqual(len(data), header["NSBLK"] * header["NAXIS2"])
        self.assertFalse(data[header["NSTOT"]:].any())
        return data[:header["NSTOT"]]

    def values(self, found):
        _, header = json.loads(str(found["headers"]))
        n = header["NSTOT"]
        rows = np.repeat(np.arange(len(found["TSUBINT"])), header["NSBLK"])[:n]
        shape = (-1, header["NPOL"], header["NCHAN"])
        return self.levels(found) * found["DAT_SCL"].reshape(shape)[rows] + \
            found["DAT_OFFS"].reshape(shape)[rows]

    def make_levels(self, dtype, shape, bits):
        if dtype[0] == "i":
            info = np.iinfo(dtype)
            return self.random.integers(info.min, info.max, shape, endpoint=True).astype(dtype)
        if bits == 32:
            return self.random.standard_normal(shape).astype(dtype)
        least, most = (-2**15, 2**15 - 1) if bits == 16 else (0, 2**bits - 1)
        return self.random.integers(least, most, shape, endpoint=True).astype(dtype)

    def test_elements(self):
        """Every number of bits, one to four products, both orders, any order of axes and blocks, rows
        that end within blocks, a last row that is not full."""
        print(f"# seed {SEED}")
        kinds = [("f4", bits, bits) for bits in (1, 2, 4, 8, 16, 32)]
        kinds += [("f4", None, 32), ("u1", None, 8), ("i1", None, 8), ("i2", None, 16),
                  *(("u1", bits, bits) for bits in (1, 2, 4))]
        names, wanted = [], []
        for dtype, bits, wanted_bits in kinds:
            for products, n_products, said in ((None, 1, "INTEN"), ("pol", 2, "AABB"),
                                               ("stokes", 4, "IQUV"), ("coherence", 4, "AABBCRCI")):
                for order, block, row in (("descending", 5, 16), ("stream", 1000, None)):
                    shape = (37, n_products, 24)
                    array = self.make_levels(dtype, shape, wanted_bits)
                    axes = ["time", products, "channel"] if products else ["time", "channel"]
                    stored = array if products else array[:, 0]
                    if block == 5:  # the other order of axes: the planner inserts a transpose
                        axes = axes[:1] + axes[:0:-1]
                        stored = np.ascontiguousarray(np.moveaxis(stored, -1, 1))
                    name = f"{len(names)}.sf"
                    stats = self.run_sink(stored, axes,
                                          {"order": order, "path": name,
                                           **({"row_samples": row} if row else {}),
                                           **({"bits": bits} if bits else {})},
                                          {"block": {"time": block}})
                    node, = (node for node in stats["nodes"] if node["name"] == "out")
                    self.assertEqual(node["counters"]["clipped"], 0)
                    names.append(name)
                    wanted.append((dtype, order, said, wanted_bits, row or 37, array))
        for name, found, (dtype, order, said, bits, row, array) in zip(
                names, self.open(*names), wanted):
            with self.subTest(dtype=dtype, bits=bits, said=said, order=order):
                _, header = json.loads(str(found["headers"]))
                self.assertEqual((header["NBITS"], header["NPOL"], header["NCHAN"], header["NSBLK"]),
                                 (bits, array.shape[1], 24, row))
                self.assertEqual((header["POL_TYPE"], header["NSTOT"]), (said, 37))
                self.assertEqual(header["SIGNINT"], int(dtype == "i1" or bits == 16))
                step = -1 if order == "descending" else 1
                np.testing.assert_array_equal(self.levels(found), array[..., ::step])
                np.testing.assert_array_equal(found["DAT_FREQ"][0], 1400 + np.arange(24)[::step])
                self.assertEqual(header["CHAN_BW"], step)

    def test_clipped_are_valid(self):
        """Invalid samples are 0, which may be no level, but they are not counted as clipped."""
        values = np.full((100, 3), 150, np.float32)
        values[40:90, 1] = 0
        values[5, 0] = 400
        for block in (7, 100):
            stages = self.stages(values, ["time", "channel"], {"bits": 8, "offset": 100}, {"block": {"time": block}})
            (self.folder / "in.npy.json").write_text(json.dumps({
                "type": "f32", "layout": "f32[time channel]",
                "axes": [{"name": "time", "length": 100}, {"name": "channel", "length": 3}],
                "validity": {"axes": ["channel"], "gaps": [{"lanes": [1, 1], "samples": [40, 50]}]}}))
            stats = self.run_stages(stages)
            node, = (node for node in stats["nodes"] if node["name"] == "out")
            self.assertEqual(node["counters"]["clipped"], 1)

    def test_scale(self):
        """Levels are rounded and clipped; what they stand for is within half a step."""
        values = np.float32([-1, -0.5, 0.49, 0.5, 1.5, 2.5, 254.5, 255.49, 255.5, 300, np.nan, np.inf])
        for scale, offset in ((1, 0), (1, 3), (0.5, -7)):
            stats = self.run_sink((values * scale + offset)[:, None], ["time", "channel"],
                                  {"bits": 8, "offset": offset, "scale": scale},
                                  warnings=r"'out': warning: clipped 5 of 12 elements: ")
            np.testing.assert_array_equal(self.levels(self.open("out.sf")).ravel(),
                                          [0, 0, 0, 0, 2, 2, 254, 255, 255, 255, 0, 255])
            node, = (node for node in stats["nodes"] if node["name"] == "out")
            self.assertEqual(node["counters"]["clipped"], 5)  # -1, 255.5, 300, NaN, infinity
        signed = np.arange(-128, 128, dtype=np.int8)[:, None]
        self.run_sink(signed, ["time", "channel"], {"offset": -128})
        found = self.open("out.sf")
        np.testing.assert_array_equal(self.levels(found).ravel(), np.arange(256))
        np.testing.assert_array_equal(self.values(found).ravel(), signed.ravel())
        noise = self.random.uniform(-4, 3.5, (500, 3)).astype("f4")
        for bits, scale, offset in ((4, 0.5, -4), (16, 2**-12, 1), (32, 3, 5)):
            self.run_sink(noise, ["time", "channel"], {"bits": bits, "scale": scale,
                                                       "offset": offset, "order": "stream"})
            # Half a step, and roundings of sums and products of floats below 16.
            most = (scale / 2 if bits < 32 else 0) + 4 * 2**-21
            got = self.values(self.open("out.sf"))[:, 0]
            self.assertLessEqual(np.abs(got - noise).max(), most)

    def test_header(self):
        array = self.random.standard_normal((10, 16)).astype("f4")
        self.run_sink(array, ["time", "channel"],
                      {"receiver": "P217", "instrument": "ROACH", "row_samples": 4},
                      {"sample_rate": "1 MHz/3", "ticks_per_sample": 7, "start": 10**9})
        found = self.open("out.sf")
        primary, table = json.loads(str(found["headers"]))
        seconds = 10**9 * 3 / (7 * 10**6)  # 428.57 s after 1:30
        self.assertEqual((primary["STT_IMJD"], primary["STT_SMJD"]), (59759, 5400 + 428))
        self.assertAlmostEqual(primary["STT_OFFS"], seconds - 428, delta=1e-12)
        for key, value in {
                "HDRVER": "6.1", "FITSTYPE": "PSRFITS", "OBS_MODE": "SEARCH", "PROJID": "P7",
                "TELESCOP": "Effelsberg", "SRC_NAME": "Crab Nebula", "RA": "05:34:31.9700000",
                "DEC": "-22:00:52.1000000", "OBSFREQ": 1407.5, "OBSBW": -16, "OBSNCHAN": 16,
                "FRONTEND": "P217", "BACKEND": "ROACH",
                "DATE-OBS": "2022-06-29T01:37:08.571"}.items():
            self.assertEqual(primary[key], value, key)
        for key, value in {"TBIN": 3e-6, "NBIN": 1, "ZERO_OFF": 0, "NSUBOFFS": 0, "NCHAN": 16,
                           "CHAN_BW": -1, "NSBLK": 4, "NSTOT": 10, "NAXIS2": 3}.items():
            self.assertEqual(table[key], value, key)
        np.testing.assert_array_equal(found["TSUBINT"], 12e-6)
        np.testing.assert_allclose(found["OFFS_SUB"], [6e-6, 18e-6, 30e-6], rtol=1e-15)
        np.testing.assert_allclose(found["RA_SUB"], 15 * (5 + 34 / 60 + 31.97 / 3600), rtol=1e-15)
        np.testing.assert_allclose(found["DEC_SUB"], -(22 + 52.1 / 3600), rtol=1e-15)
        np.testing.assert_array_equal(found["DAT_WTS"], 1)
        self.assertEqual(found["DATA"].shape, (3, 4, 1, 16, 1))

    def test_odd_sizes(self):
        """One channel, one sample, one bit, no channel axis: rows have whole bytes."""
        for shape, bits in (((1, 1), 1), ((1, 1), 32), ((9, 1), 1), ((5, 3), 2), ((3, 7), 4),
                            ((100, 1), 16)):
            with self.subTest(shape=shape, bits=bits):
                array = self.make_levels("f4", shape, bits)
                self.run_sink(array, ["time", "channel"], {"bits": bits, "order": "stream"})
                np.testing.assert_array_equal(self.levels(self.open("out.sf"))[:, 0], array)
        series = self.random.standard_normal(100).astype("f4")
        self.run_sink(series, ["time"], None, {"first_frequency": "150 MHz"})
        found = self.open("out.sf")
        np.testing.assert_array_equal(self.levels(found).ravel(), series)
        np.testing.assert_array_equal(found["DAT_FREQ"], 150)

    def test_validity(self):
        """DAT_WTS is 0 where a channel has no valid sample in a row; PATH.json has the runs."""
        array = self.random.standard_normal((50, 2, 3)).astype("f4")
        stages = self.stages(array, ["time", "subband", "channel"])
        del stages["in"]["frequencies"]
        (self.folder / "in.npy.json").write_text(json.dumps({
            "type": "f32", "layout": "f32[time subband channel]",
            "axes": [{"name": "time", "length": 50},
                     {"name": "subband", "length": 2, "unit": "Hz", "table": [100e6, 103e6]},
                     {"name": "channel", "length": 3, "unit": "Hz", "parent": "subband",
                      "first": -1e6, "step": 1e6}],
            "validity": {"axes": ["subband"], "valid": 0.8, "invalid_samples": [0, 20],
                         "gaps": [{"lanes": [1, 1], "samples": [5, 10, 40, 10]}]}}))
        stages["out"]["row_samples"] = 8
        self.run_stages(stages)
        found = self.open("out.sf")
        weights = np.ones((7, 6))
        weights[[1, 5, 6], :3] = 0  # samples 8 … 15 have 15, which is valid
        weights[1, :3] = 1
        np.testing.assert_array_equal(found["DAT_WTS"], weights)
        made = json.loads((self.folder / "out.sf.json").read_text())["validity"]
        self.assertEqual(made["invalid_samples"], [20] * 3 + [0] * 3)
        self.assertEqual(made["gaps"], [{"lanes": [0, 3], "samples": [5, 10, 40, 10]}])
        wanted = array.reshape(50, 6)[:, ::-1].copy()
        wanted[5:15, :3] = wanted[40:, :3] = 0
        np.testing.assert_array_equal(self.levels(found)[:, 0], wanted)

    def test_rotation(self):
        """Each file has the start of its own first sample, and whole rows."""
        array = self.make_levels("u1", (1000, 8), 4)
        for more, lengths in (({"rotate_samples": 70}, [70] * 14 + [20]),
                              ({"rotate_samples": 300, "row_samples": 128}, [300] * 3 + [100])):
            for path in self.folder.glob("s-*"):
                path.unlink()
            self.run_sink(array, ["time", "channel"], {"path": "s-%i.sf", "bits": 4, **more})
            names = [f"s-{i:06}.sf" for i in range(len(lengths))]
            self.assertEqual([path.name for path in sorted(self.folder.glob("s-*.sf"))], names)
            found, first = self.open(*names), 0
            for of, n in zip(found, lengths):
                primary, table = json.loads(str(of["headers"]))
                self.assertEqual(table["NSTOT"], n)
                self.assertAlmostEqual(primary["STT_SMJD"] + primary["STT_OFFS"] - 5400,
                                       first / RATE, delta=1e-12)
                np.testing.assert_array_equal(self.levels(of)[:, 0],
                                              array[first:first + n, ::-1])
                first += n
            if "row_samples" not in more:
                self.assertEqual(table["NSBLK"], 70)

    def test_rotation_by_bytes(self):
        array = self.make_levels("u1", (4000, 8), 8)
        self.run_sink(array, ["time", "channel"],
                      {"path": "s-%i.sf", "rotate_bytes": "20 kB", "row_samples": 128})
        paths = sorted(self.folder.glob("s-*.sf"))
        self.assertGreater(len(paths), 2)
        self.assertLessEqual(max(path.stat().st_size for path in paths), 20000)
        parts = [self.levels(found) for found in self.open(*(path.name for path in paths))]
        np.testing.assert_array_equal(np.concatenate(parts)[:, 0], array[:, ::-1])

    def test_reader(self):
        """The reader of `your` gives the same samples and header."""
        folder = oracles.install(oracles.YOUR, "--no-deps")
        if not folder:
            self.skipTest(f"{oracles.YOUR} can't be installed from a package registry here")
        for bits, dtype, said, products, scale in (
                (2, "f4", "INTEN", None, 1), (4, "f4", "INTEN", None, 0.5),
                (8, "f4", "INTEN", None, 2), (16, "f4", "INTEN", None, 1),
                (32, "f4", "INTEN", None, 1), (8, "u1", "IQUV", "stokes", 1),
                (16, "i2", "IQUV", "stokes", 1), (32, "f4", "AABBCRCI", "coherence", 1)):
            for order in ("descending", "stream"):
                with self.subTest(bits=bits, said=said, order=order):
                    n = 4 if products else 1
                    levels = self.make_levels(dtype, (50, n, 16), bits)
                    array = levels if scale == 1 else levels * np.float32(scale)
                    self.run_sink(array if products else array[:, 0],
                                  ["time", products, "channel"] if products else ["time", "channel"],
                                  {"bits": bits, "order": order, "scale": scale, "row_samples": 20})
                    text = oracles.run(self, oracles.ASTROPY, YOUR, folder, self.folder / "out.sf",
                                       50, self.folder / "read.npy")
                    step = -1 if order == "descending" else 1
                    np.testing.assert_array_equal(np.load(self.folder / "read.npy"),
                                                  array[..., ::step])
                    read = json.loads(text)
                    self.assertEqual(read[:6], [1415 if step < 0 else 1400, step, 16, n, bits,
                                                1 / RATE])
                    self.assertAlmostEqual((read[6] - 59759.0625) * 86400, 0, delta=0.7e-6)
                    self.assertEqual(read[7:9], ["Crab Nebula", "Effelsberg"])
                    np.testing.assert_allclose(read[9:11], [15 * (5 + 34 / 60 + 31.97 / 3600),
                                                            -(22 + 52.1 / 3600)], rtol=1e-14)
                    self.assertEqual(read[11:], [said, 60])  # with the padding of the last row

    def endless(self):
        """Numbers that follow from their places, without an end."""
        return {"in": {"stage": "generate", "type": "cf32", "sample_rate": "1 MHz",
                       "centre_frequency": "100 MHz", "n_subbands": 3},
                "power": {"stage": "power", "from": "in"},
                "out": {"stage": "psrfits.sink", "from": "power", "path": "out.sf", "bits": 8,
                        "scale": 0.05, "row_samples": 500}}

    def check_rows(self, name, least):
        """The rows that a file has are those of a run that ends."""
        found = self.open(name)
        _, header = json.loads(str(found["headers"]))
        self.assertGreaterEqual(header["NAXIS2"], least)
        self.assertEqual(header["NSTOT"], 500 * header["NAXIS2"])
        n = min(header["NSTOT"], 100000)
        stages = self.endless()
        stages["in"]["samples"] = n
        stages["out"]["path"] = "whole.sf"
        self.run_graph(stages)
        wanted = self.levels(self.open("whole.sf"))
        self.assertTrue(wanted.any())
        np.testing.assert_array_equal(self.levels(found)[:n], wanted)

    def test_kill(self):
        """A process that is killed at any time leaves a file that opens with its whole rows."""
        print(f"# seed {SEED}")
        generator = random.Random(SEED)
        for _ in range(5):
            wait = generator.uniform(0.7, 2)
            with self.subTest(wait=wait):
                process = self.start(self.endless())
                path = self.folder / "out.sf.partial"
                # Rows are there, and NAXIS2 tells of them half a second later.
                while process.poll() is None and (not path.exists() or path.stat().st_size < 50000):
                    time.sleep(0.01)
                time.sleep(wait)
                process.kill()
                process.communicate()
                self.check_rows("out.sf.partial", 1)
                path.unlink()

    def test_full_disk(self):
        """A file at its limit has the rows that have room."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
        error = self.fail_graph(self.endless(), preexec_fn=limit)
        self.assertIn("out.sf.partial: can't be written: File too large", error)
        self.check_rows("out.sf.partial", 20)
        said = json.loads((self.folder / "out.sf.json.partial").read_text())
        _, header = json.loads(str(self.open("out.sf.partial")["headers"]))
        self.assertEqual(said["axes"][0]["length"], header["NSTOT"])

    def test_errors(self):
        f4 = np.zeros((8, 4), "f4")
        for array, axes, sink, source, message in (
                (f4, ["time", "beam"], {}, {}, "wants one beam, but is given 'beam' with 4: a PSRFITS "
                 "file has one"),
                (f4, ["time", "station"], {}, {},
                 "wants time, subband, channel and pol, stokes or coherence, but is given 'station' "
                 "with 4"),
                (f4, ["time", "pol"], {}, {"first_frequency": "1 MHz"},
                 "wants one or two of pol, stokes I or I Q U V, or coherence AA BB CR CI, but is given "
                 "'pol' with 4 (? …)"),
                (f4, ["time", "channel"], {"bits": 3}, {},
                 "parameter 'bits': wants 1, 2, 4, 8, 16 or 32, but is given 3"),
                (f4, ["time", "channel"], {"bits": 8, "scale": 0}, {},
                 "parameter 'scale': wants a number above 0 that f32 holds, but is given 0"),
                (f4, ["time", "channel"], {"bits": 8, "offset": 1e300}, {},
                 "parameter 'offset': wants a number that f32 holds, but is given 1e+300"),
                (f4, ["time", "channel"], {"bits": 1, "row_samples": 7}, {},
                 "parameter 'row_samples': wants rows of whole bytes, but is given 7 samples of 4 "
                 "elements of 1 bits"),
                (f4, ["time", "channel"], {"row_samples": 2**31 - 1}, {},
                 "parameter 'row_samples': wants rows of at most 64 MiB"),
                (f4, ["time", "channel"], {"path": "-"}, {}, "PSRFITS files can't be written to a "
                 "pipe")):
            with self.subTest(message):
                error = self.fail_graph(self.stages(array, axes, sink, source))
                self.assertIn(message, error)
                self.assertRegex(error, r"^graph.yaml:\d+:\d+: node 'out': ")

    def test_warnings(self):
        stages = self.stages(np.zeros((8, 4), "f4"), ["time", "channel"])
        del stages["in"]["epoch"]
        stages["in"]["frequencies"][3] = "1500 MHz"
        done = subprocess.run([graphs.COMMAND, "check", "--quiet", self.write(stages, start=None)],
                              cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertIn("node 'out': warning: the stream does not know its UTC: STT_IMJD of the file is 0",
                      done.stderr)
        self.assertIn("node 'out': warning: the frequencies have no even steps: DAT_FREQ has them",
                      done.stderr)


if __name__ == "__main__":
    tap.main()
