#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""psrfits.source: files of psrfits.sink come back bit for bit; files as other programs write them,
made by hand; errors."""
import json
import math
import subprocess

import numpy as np

import graphs
import tap

SEED = 62
RATE = 15625  # Hz: 64 µs
START = "2022-06-29T01:30:00Z"
OBSERVATION = {"telescope": "Effelsberg", "source": "Crab Nebula", "project": "P7",
               "observer": "A. Hewish", "position": [4033947.2, 486990.8, 4900431.0],
               "phase_centre": ["05:34:31.97", "-22:00:52.1"], "start": START}
KINDS = {"float32": "f32", "uint8": "u8", "int8": "i8", "int16": "i16"}
TYPES = {"B": "u1", "I": ">i2", "J": ">i4", "E": ">f4", "D": ">f8"}


def card(key, value):
    text = f"'{value:8}'" if isinstance(value, str) else \
        ("T" if value else "F") if isinstance(value, bool) else repr(value)
    return f"{key:8}= {text:>20}".ljust(80)


def header(cards):
    text = "".join(card(key, value) for key, value in cards.items() if value is not None)
    text += "END".ljust(80)
    return text.ljust(math.ceil(len(text) / 2880) * 2880).encode()


PRIMARY = {"SIMPLE": True, "BITPIX": 8, "NAXIS": 0, "EXTEND": True, "FITSTYPE": "PSRFITS",
           "TELESCOP": "Parkes", "OBS_MODE": "SEARCH", "SRC_NAME": "B0531+21", "RA": "05:34:31.97",
           "DEC": "-22:00:52.1", "OBSFREQ": 1400.0, "STT_IMJD": 58000, "STT_SMJD": 21600,
           "STT_OFFS": 0.25}


def pack(levels, bits):
    """Levels in bytes, the first in the highest bits."""
    levels = levels.ravel().astype(np.uint8).reshape(-1, 8 // bits) & (2**bits - 1)
    shifts = (8 - bits - bits * np.arange(8 // bits)).astype(np.uint8)
    return np.bitwise_or.reduce(levels << shifts, axis=1, dtype=np.uint8)


def make(rows, n_products=1, n_channels=4, row_samples=8, bits=8, form=None, forms=None, primary=None,
         raw=b"", **table):
    """The bytes of a file: rows are dictionaries of columns; DATA are levels, which are packed."""
    packed = []
    for row in rows:
        data = np.asarray(row["DATA"])
        data = pack(data, bits) if bits < 8 else data.ravel()
        packed.append({**row, "DATA": data})
    first = packed[0] if packed else {"DATA": np.zeros(0)}
    code = form or ("B" if bits <= 8 else "I" if bits == 16 else "E")
    kinds = {"DATA": code, "DAT_WTS": "E", "DAT_OFFS": "E", "DAT_SCL": "E", "CODES": "I",
             **(forms or {})}
    body, width = b"", 0
    for row in packed:
        parts = [np.atleast_1d(value).astype(TYPES[kinds.get(name, "D")]).tobytes()
                 for name, value in row.items()]
        body += b"".join(parts)
        width = len(b"".join(parts))
    cards = {"XTENSION": "BINTABLE", "BITPIX": 8, "NAXIS": 2, "NAXIS1": width, "NAXIS2": len(rows),
             "PCOUNT": 0, "GCOUNT": 1, "TFIELDS": len(first)}
    for i, (name, value) in enumerate(first.items(), 1):
        cards[f"TTYPE{i}"] = name
        cards[f"TFORM{i}"] = f"{np.size(value)}{kinds.get(name, 'D')}"
    cards |= {"EXTNAME": "SUBINT", "NPOL": n_products, "POL_TYPE": "AA+BB", "TBIN": 64e-6,
              "NBITS": bits, "NCHAN": n_channels, "CHAN_BW": -0.5, "NSBLK": row_samples, **table}
    body += bytes(-len(body) % 2880)
    return header({**PRIMARY, **(primary or {})}) + header(cards) + body + raw


class Source(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(SEED)

    def run_with(self, stages):
        (self.folder / "graph.yaml").write_text(
            json.dumps({"observation": OBSERVATION, "stages": stages}))
        return self.run_command("graph.yaml")

    def run_command(self, name):
        done = subprocess.run([graphs.COMMAND, "run", "--quiet", name], cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def read(self, source, axes="time channel"):
        """The array, what PATH.json says of it, and the warnings."""
        self.write({"in": {"stage": "psrfits.source", **source},
                    "out": {"stage": "file.sink", "from": "in", "path": "out.npy",
                            "layout": f"[{axes}]"}})
        warnings = self.run_command("graph.yaml")
        beside = json.loads((self.folder / "out.npy.json").read_text())
        return np.load(self.folder / "out.npy"), beside, warnings

    def put(self, data, name="in.sf"):
        (self.folder / name).write_bytes(data)
        return {"path": name}

    def fail_source(self, source):
        return self.fail_graph({"in": {"stage": "psrfits.source", **source},
                                "out": {"stage": "discard", "from": "in"}})

    # ---- our own files ----

    def test_own_files(self):
        """Every number of bits and kind of products, with gaps, metadata and a last row that is not
        full; without PATH.json, channels are invalid in the rows where they have no valid sample."""
        print(f"# seed {SEED}")
        kinds = [("u1", bits) for bits in (1, 2, 4, 8)] + [("i1", 8), ("i2", 16), ("f4", 32)]
        for dtype, bits in kinds:
            for products, n_products in ((None, 1), ("pol", 2), ("stokes", 4), ("coherence", 4)):
                with self.subTest(dtype=dtype, bits=bits, products=products):
                    shape = (37, 8, n_products) if products else (37, 8)
                    if dtype == "f4":
                        array = self.random.standard_normal(shape).astype("f4")
                    else:
                        info = np.iinfo(dtype)
                        least, most = (0, 2**bits - 1) if bits < 8 else (info.min, info.max)
                        array = self.random.integers(least, most, shape, endpoint=True).astype(dtype)
                    self.check_own(array, bits, products)

    def check_own(self, array, bits, products):
        kind = KINDS[array.dtype.name]
        axes = "time channel" + (f" {products}" if products else "")
        labels = {"pol": ["R", "L"], "stokes": list("IQUV"), "coherence": ["AA", "BB", "CR", "CI"]}
        np.save(self.folder / "in.npy", array)
        (self.folder / "in.npy.json").write_text(json.dumps({
            "type": kind, "layout": f"{kind}[{axes}]", "ticks_per_second": [RATE * 3, 1],
            "ticks_per_sample": 3, "start": 1, "epoch": 1656466200,
            "axes": [{"name": "time", "length": 37},
                     {"name": "channel", "length": 8, "unit": "Hz", "first": 1.4e9, "step": -1e6}] +
                    ([{"name": products, "length": array.shape[2], "labels": labels[products]}]
                     if products else []),
            "validity": {"axes": ["channel"], "gaps": [{"lanes": [2, 2], "samples": [3, 20, 30, 1]}]}}))
        self.run_with({"in": {"stage": "file.source", "path": "in.npy"},
                       "out": {"stage": "psrfits.sink", "from": "in", "path": "in.sf", "bits": bits,
                               "row_samples": 8}})
        back, beside, warnings = self.read({"path": "in.sf"}, axes)
        wanted = array.copy()
        wanted[3:23, 2:4] = wanted[30, 2:4] = 0
        np.testing.assert_array_equal(back, wanted, strict=True)
        made = json.loads((self.folder / "in.sf.json").read_text())
        for key in ("ticks_per_second", "ticks_per_sample", "start", "epoch", "validity",
                    "observation", "start_utc"):
            self.assertEqual(beside[key], made[key], key)
        self.assertEqual({axis["name"]: axis for axis in beside["axes"]},
                         {axis["name"]: axis for axis in made["axes"]})
        self.assertEqual(warnings, "")

        # The headers alone.
        (self.folder / "in.sf.json").unlink()
        back, beside, warnings = self.read({"path": "in.sf"}, axes)
        wanted[8:16, 2:4] = 0
        np.testing.assert_array_equal(back, wanted, strict=True)
        self.assertEqual(beside["validity"]["gaps"], [{"lanes": [2, 2], "samples": [8, 8]}])
        self.assertEqual(beside["axes"][1], {"name": "channel", "length": 8, "unit": "Hz",
                                             "first": 1.4e9, "step": -1e6})
        if products and products != "pol":
            self.assertEqual(beside["axes"][2]["labels"], labels[products])
        # A tick is at most 1 µs: a start after a third of a sample, 21.3 µs, is rounded to one.
        self.assertEqual((beside["ticks_per_second"], beside["ticks_per_sample"], beside["start"]),
                         ([1000000, 1], 64, 21))
        for key, value in made["observation"].items():
            if key == "start":
                continue  # of tick 0 of sources that know no UTC
            if key in ("phase_centre", "position"):
                np.testing.assert_allclose(beside["observation"][key], value, rtol=1e-12)
            else:
                self.assertEqual(beside["observation"][key], value, key)
        self.assertEqual(warnings, "")

    def test_odd_sizes(self):
        for shape, bits in (((1, 1), 8), ((1, 1), 1), ((9, 1), 1), ((5, 3), 2), ((1, 7), 32)):
            with self.subTest(shape=shape, bits=bits):
                array = self.random.integers(0, 2, shape).astype("u1" if bits < 32 else "f4")
                np.save(self.folder / "in.npy", array)
                self.run_with({"in": {"stage": "file.source", "path": "in.npy", "sample_rate": RATE,
                                      "layout": f"{KINDS[array.dtype.name]}[time channel]",
                                      "frequencies": [f"{1400 - i} MHz" for i in range(shape[1])]},
                               "out": {"stage": "psrfits.sink", "from": "in", "path": "in.sf",
                                       "bits": bits}})
                (self.folder / "in.sf.json").unlink()
                np.testing.assert_array_equal(self.read({"path": "in.sf"})[0], array)

    def test_rotated(self):
        """The files of a rotation are one stream again."""
        array = self.random.integers(0, 255, (1000, 8)).astype("u1")
        np.save(self.folder / "in.npy", array)
        self.run_with({"in": {"stage": "file.source", "path": "in.npy", "sample_rate": RATE,
                              "layout": "u8[time channel]",
                              "frequencies": [f"{1400 - i} MHz" for i in range(8)]},
                       "out": {"stage": "psrfits.sink", "from": "in", "path": "s-%i.sf",
                               "rotate_samples": 300, "row_samples": 128}})
        for sidecars in (True, False):
            if not sidecars:
                for path in self.folder.glob("s-*.json"):
                    path.unlink()
            back, beside, _ = self.read({"path": "s-*.sf"})
            np.testing.assert_array_equal(back, array)
            self.assertEqual(beside["validity"]["valid"], 1)

    # ---- files of others ----

    def rows(self, n=3, n_products=1, bits=8, signed=False, **more):
        """Random levels [time][product][channel] of 8 samples and 4 channels, and rows of them."""
        if bits == 32:
            levels = self.random.standard_normal((n * 8, n_products, 4)).astype("f4")
        elif bits == 16 or signed:
            levels = self.random.integers(-2**(bits - 1), 2**(bits - 1), (n * 8, n_products, 4))
        else:
            levels = self.random.integers(0, 2**bits, (n * 8, n_products, 4))
        rows = [{"TSUBINT": 512e-6, "OFFS_SUB": (i + 0.5) * 512e-6, "CODES": [1, 2],
                 "DAT_FREQ": 1401.5 - 0.5 * np.arange(4),
                 **{name: make_value(i) for name, make_value in more.items()},
                 "DATA": levels[i * 8:i * 8 + 8]} for i in range(n)]
        return levels, rows

    def test_elements(self):
        """Every kind of elements and products; scales and offsets of each row, product and channel."""
        for bits, signed, n_products, said, zero in (
                (1, 0, 1, "AA+BB", None), (2, 0, 4, "IQUV", 1.5), (2, 1, 1, "INTEN", None),
                (4, 0, 2, "AABB", None), (4, 1, 4, "AABBCRCI", None), (8, 0, 1, "AA+BB", 127.5),
                (8, 1, 4, "IQUV", None), (16, 1, 2, "PPQQ", None), (32, 0, 1, "INTEN", None)):
            with self.subTest(bits=bits, signed=signed, said=said):
                n = 4 * n_products
                scales = self.random.uniform(0.5, 2, (3, n)).astype("f4")
                offsets = self.random.uniform(-5, 5, (3, n)).astype("f4")
                levels, rows = self.rows(3, n_products, bits, bool(signed),
                                         DAT_OFFS=lambda i, o=offsets: o[i],
                                         DAT_SCL=lambda i, s=scales: s[i])
                axis = {1: "", 2: "pol ", 4: "stokes " if said == "IQUV" else "coherence "}[n_products]
                self.put(make(rows, n_products, bits=bits, SIGNINT=signed, POL_TYPE=said,
                              ZERO_OFF=zero))
                got, _, _ = self.read({"path": "in.sf", "values": "raw"}, f"time {axis}channel")
                raw = levels if axis else levels[:, 0]
                np.testing.assert_array_equal(got, raw)
                self.assertEqual(got.dtype, {8: "i1" if signed else "u1", 16: "i2", 32: "f4"}.get(
                    bits, "i1" if signed else "u1"))
                for values in ("auto", "scaled"):
                    got, beside, _ = self.read({"path": "in.sf", "values": values},
                                               f"time {axis}channel")
                    rows_of = np.repeat(np.arange(3), 8)
                    wanted = (levels - (zero or 0)) * \
                        scales.reshape(3, n_products, 4)[rows_of].astype("f8") + \
                        offsets.reshape(3, n_products, 4)[rows_of]
                    np.testing.assert_array_equal(
                        got, (wanted if axis else wanted[:, 0]).astype("f4"), strict=True)
                self.assertEqual(beside["axes"][-1]["first"], 1.4015e9)

    def test_plain_scales(self):
        """With scales of 1 and offsets of 0, levels stay as they are."""
        levels, rows = self.rows(DAT_OFFS=lambda i: np.zeros(4), DAT_SCL=lambda i: np.ones(4))
        self.put(make(rows))
        got, _, _ = self.read({"path": "in.sf"})
        np.testing.assert_array_equal(got, levels[:, 0].astype("u1"), strict=True)
        got, _, _ = self.read({"path": "in.sf", "values": "scaled"})
        np.testing.assert_array_equal(got, levels[:, 0].astype("f4"), strict=True)

    def test_integers_with_zero(self):
        """The unsigned 16-bit and signed 8-bit integers of FITS, by TZERO."""
        levels, rows = self.rows(bits=16)
        self.put(make(rows, bits=16, TZERO5=32768))
        np.testing.assert_array_equal(self.read({"path": "in.sf"})[0],
                                      (levels[:, 0] + 32768).astype("f4"), strict=True)
        levels, rows = self.rows()
        self.put(make(rows, TZERO5=-128))
        np.testing.assert_array_equal(self.read({"path": "in.sf"})[0],
                                      (levels[:, 0] - 128).astype("i1"), strict=True)

    def test_weights(self):
        weights = np.float32([[1, 0, 1, 0.5], [1, 1, 1, 1], [0, 0, 0, 0]])
        levels, rows = self.rows(DAT_WTS=lambda i: weights[i])
        self.put(make(rows))
        got, beside, _ = self.read({"path": "in.sf"})
        wanted = levels[:, 0] * (np.repeat(weights, 8, axis=0) > 0)
        np.testing.assert_array_equal(got, wanted)
        self.assertEqual(beside["validity"]["invalid_samples"], [8, 16, 8, 8])
        got, beside, _ = self.read({"path": "in.sf", "weights": "ignored"})
        np.testing.assert_array_equal(got, levels[:, 0])
        self.assertEqual(beside["validity"]["valid"], 1)

    def test_times(self):
        """Rows that are missing, of a part of a recording, whose times are of no use."""
        levels, rows = self.rows()
        rows[2]["OFFS_SUB"] = 4.5 * 512e-6
        self.put(make(rows))
        got, beside, warnings = self.read({"path": "in.sf"})
        self.assertEqual(warnings, "")
        np.testing.assert_array_equal(got, np.concatenate(
            [levels[:16, 0], np.zeros((16, 4)), levels[16:, 0]]))
        self.assertEqual(beside["validity"]["gaps"], [{"lanes": [0, 4], "samples": [16, 16]}])
        self.assertEqual(beside["start_utc"], "2017-09-04T06:00:00.250000000Z")
        # 1000 rows of 512 µs later, as its times or NSUBOFFS say.
        for shift, before in ((0.512, 1000), (0.512, None), (0, 1000)):
            levels, rows = self.rows()
            for row in rows:
                row["OFFS_SUB"] += shift
            self.put(make(rows, NSUBOFFS=before))
            _, beside, _ = self.read({"path": "in.sf"})
            self.assertEqual(beside["start_utc"], "2017-09-04T06:00:00.762000000Z")
        for times in ((0, 0, 0), (1, 2, 0), (math.nan, 1, 2)):
            levels, rows = self.rows()
            for row, time in zip(rows, times):
                row["OFFS_SUB"] = time
            self.put(make(rows))
            got, _, warnings = self.read({"path": "in.sf"})
            np.testing.assert_array_equal(got, levels[:, 0])
            self.assertIn("the times of the rows of in.sf (OFFS_SUB) do not rise", warnings)

    def test_sequence(self):
        """Files of one recording in any order, with a gap between them."""
        parts = []
        for i in range(3):
            levels, rows = self.rows()
            for row in rows:
                row["OFFS_SUB"] += (4 * i) * 512e-6
            self.put(make(rows, NSUBOFFS=4 * i), f"part-{2 - i}.sf")
            parts += [levels[:, 0], np.zeros((8 if i < 2 else 0, 4))]
        got, beside, _ = self.read({"path": ["part-0.sf", "part-2.sf", "part-1.sf"]})
        np.testing.assert_array_equal(got, np.concatenate(parts))
        self.assertEqual(beside["validity"]["gaps"], [{"lanes": [0, 4],
                                                       "samples": [24, 8, 56, 8]}])

    def test_lengths(self):
        levels, rows = self.rows()
        for total, n in ((20, 20), (17, 17), (16, 24), (24, 24), (0, 24), (99, 24), ("*", 24)):
            self.put(make(rows, NSTOT=total))
            got, _, warnings = self.read({"path": "in.sf"})
            np.testing.assert_array_equal(got, levels[:n, 0])
            self.assertEqual(warnings, "")
        whole = make(rows)
        for rows_left in (2, 1):
            self.put(whole[:len(whole) - 2880 + rows_left * self.row_bytes(whole) + 3])
            got, _, warnings = self.read({"path": "in.sf"})
            np.testing.assert_array_equal(got, levels[:8 * rows_left, 0])
            self.assertIn(f"in.sf ends after {rows_left} rows, though its header says 3: those that "
                          f"it has are read", warnings)
        self.put(whole + b"more")
        np.testing.assert_array_equal(self.read({"path": "in.sf"})[0], levels[:, 0])

    def row_bytes(self, data):
        at = data.index(b"NAXIS1  =")
        return int(data[at + 10:at + 30])

    def test_directions(self):
        """Angles in hours and degrees, or none: plain numbers may be of any unit."""
        _, rows = self.rows()
        for right, up, good in (("05:34:31.97", "-22:00:52.1", True), ("83.63", "-22:00:52.1", False),
                                ("05:34:31.97", "-22.01", False), ("05:34:31.97", "-91:00:00", False)):
            self.put(make(rows, primary={"RA": right, "DEC": up}))
            observation = self.read({"path": "in.sf"})[1]["observation"]
            self.assertEqual("phase_centre" in observation, good, (right, up))

    def test_frequencies(self):
        """Uneven ones are a table; without DAT_FREQ, the header tells of the band."""
        levels, rows = self.rows()
        for row in rows:
            row["DAT_FREQ"] = [1400, 1401, 1403, 1404]
        self.put(make(rows, forms={"DAT_FREQ": "E"}))
        self.assertEqual(self.read({"path": "in.sf"})[1]["axes"][1]["table"],
                         [1.4e9, 1.401e9, 1.403e9, 1.404e9])
        for row in rows:
            del row["DAT_FREQ"]
        self.put(make(rows))
        axis = self.read({"path": "in.sf"})[1]["axes"][1]
        self.assertEqual((axis["first"], axis["step"]), (1.40075e9, -5e5))

    def test_dimensions(self):
        """TDIM, where its product is right, has the axes in this order; bytes stand for elements."""
        levels, rows = self.rows(n_products=2, bits=4)
        for said, good in (("(1,4,2,8)", True), ("(4,2,8)", True), ("(1,4,2,4)", True),
                           ("(1,2,2,8)", True), ("(8,2,1,2)", False), ("nonsense", True)):
            self.put(make(rows, 2, bits=4, TDIM5=said, POL_TYPE="AABB"))
            if good:
                np.testing.assert_array_equal(self.read({"path": "in.sf"}, "time pol channel")[0],
                                              levels)
            else:
                self.assertIn(f"in.sf: wants DATA with the dimensions (1,4,2,8), but is given {said}",
                              self.fail_source({"path": "in.sf"}))

    def test_errors(self):
        levels, rows = self.rows()
        pol = {"POL_TYPE": "AABB"}
        for made, message in (
                (make(rows, primary={"FITSTYPE": "HIPS"}), "wants FITSTYPE PSRFITS, but is given HIPS"),
                (make(rows, primary={"OBS_MODE": "PSR"}), "wants OBS_MODE SEARCH, for data of other "
                 "modes are folded, but is given PSR"),
                (make(rows, primary={"OBS_MODE": None}), "but is given none"),
                (make(rows, EXTNAME="HISTORY"), "wants a table SUBINT, but is given none"),
                (make(rows, NBITS=3), "wants NBITS 1, 2, 4 or 8 in DATA of type B, 16 of I or 32 of E"),
                (make(rows, NBITS=16), "but is given NBITS 16 of B, SIGNINT 0 and TZERO 0"),
                (make(rows, NBITS="*"), "wants NBITS of 1 to 32, but is given none"),
                (make(rows, NBITS=64), "wants NBITS of 1 to 32, but is given 64"),
                (make(rows, NCHAN=-1), "wants NCHAN of 1 to 2147483647, but is given none"),
                (make(rows, NCHAN=2**31 - 1), "wants DATA of NSBLK 8 × NPOL 1 × NCHAN 2147483647 "
                 "elements of NBITS 8, but is given 32 bytes"),
                (make(rows, NPOL=5), "wants NPOL of 1 to 4, but is given 5"),
                (make(rows, NPOL=2, NSBLK=4, POL_TYPE="YX"), "wants POL_TYPE AABB or PPQQ of NPOL 2, "
                 "IQUV or AABBCRCI of 4, but is given YX of 2"),
                (make(rows, NPOL=2, NSBLK=2, NCHAN=8, **pol), "wants column DAT_FREQ of 8 elements, "
                 "but is given 4"),
                (make(rows, TBIN=0.0), "wants TBIN in seconds, but is given 0"),
                (make(rows, TBIN=1e-300), "wants TBIN in seconds, but is given 1e-300"),
                (make(rows, TSCAL5=2.0), "wants column DATA without TSCAL, but is given 2"),
                (make(rows, NAXIS1=10), "wants columns that are as long as their rows, NAXIS1 10 bytes, but is "
                 "given column 2 beyond them: 1 elements at byte 8"),
                (make(rows, TFORM5="1" * 60 + "B"), "wants columns that are as long as their rows"),
                (make(rows, TFORM5="32Z"), "wants TFORM5 of FITS, but is given 32Z"),
                (make(rows, TFIELDS=5000), "TFIELDS of 0 to 999, but is given "),
                (make(rows, primary={"STT_SMJD": 1e300}), "wants STT_IMJD, STT_SMJD and STT_OFFS as a "
                 "day and seconds of it"),
                (make(rows, primary={"STT_SMJD": None}), "wants STT_SMJD beside STT_IMJD, but is given none"),
                (make(rows, primary={"STT_SMJD": "6h"}), "wants a number as STT_SMJD"),
                (make(rows, primary={"STT_OFFS": "half"}), "wants a number as STT_OFFS"),
                (make(rows, primary={"STT_IMJD": "58 000"}), "wants a number as STT_IMJD"),
                (make(rows, primary={"STT_IMJD": 58000.5}), "wants a whole number as STT_IMJD, but is given 58000.5"),
                (make([{**row, "DAT_FREQ": [1, 2, math.inf, 3]} for row in rows]),
                 "wants DAT_FREQ of numbers, but is given inf"),
                (b"\x1f\x8b" + bytes(100), "wants a FITS file, which begins with SIMPLE"),
                (b"SIMPLE  =", "byte 0: wants a header of FITS up to its END, but is given 9 bytes"),
                (make(rows)[:4000], "byte 2880: wants a header of FITS up to its END, but is given 1120 "
                 "bytes without one")):
            with self.subTest(message):
                self.put(made)
                error = self.fail_source({"path": "in.sf"})
                self.assertIn(message, error)
                self.assertRegex(error, r"^graph.yaml:\d+:\d+: node 'in': in.sf: ")

    def test_contradiction(self):
        """PATH.json must agree with the headers."""
        _, rows = self.rows()
        self.put(make(rows))
        (self.folder / "in.sf.json").write_text(json.dumps({
            "type": "u8", "layout": "u8[time channel]", "ticks_per_second": [15626, 1],
            "ticks_per_sample": 1, "start": 0,
            "axes": [{"name": "time", "length": 24}, {"name": "channel", "length": 4}]}))
        self.assertIn("in.sf: wants a header that agrees with in.sf.json, but is given 15625 instead of "
                      "15626 samples per second", self.fail_source({"path": "in.sf"}))


if __name__ == "__main__":
    tap.main()
