#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sigmf.source: made recordings of every type, those of the package sigmf, and errors."""
import json

import numpy as np

import graphs
import oracles
import tap

TYPES = {"f64": "f8", "f32": "f4", "i32": "i4", "i16": "i2", "i8": "i1", "u32": "u4", "u8": "u1"}
SEED = 61


class Recording(graphs.GraphTest):
    def make(self, datatype="ci16_le", n=37, n_channels=1, head=b"", tail=b"", captures=None,
             name="in.sigmf-data", **given):
        """Writes a recording, and returns its samples [time channel], complex ones with a last axis
        of 2. `given` are global keys without "core:"."""
        kind, _, order = datatype.partition("_")
        dtype = np.dtype(TYPES[kind[1:]])
        numbers = np.random.default_rng(SEED)
        shape = (n, n_channels, 2)[:2 + (kind[0] == "c")]
        array = numbers.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype)[..., 0]
        if dtype.kind == "f":
            array = numbers.standard_normal(shape).astype(dtype)
        stored = array.astype(dtype.newbyteorder(">" if order == "be" else "<")).tobytes()
        (self.folder / name).write_bytes(head + stored + tail)
        if n_channels > 1:
            given["num_channels"] = n_channels
        meta = {"global": {"core:datatype": datatype, "core:version": "1.2.0",
                           **{f"core:{key}": value for key, value in
                              {"sample_rate": 1e6, **given}.items() if value is not None}},
                "captures": [{f"core:{key}": value for key, value in capture.items()}
                             for capture in (captures if captures is not None else
                                             [{"sample_start": 0}])],
                "annotations": []}
        self.put_meta(json.dumps(meta), name)
        return array

    def put_meta(self, text, name="in.sigmf-data"):
        (self.folder / name).with_suffix(".sigmf-meta").write_text(text)

    def read(self, path="in.sigmf-data", stage="sigmf.source", **given):
        self.run_graph({"in": {"stage": stage, "path": path, **given},
                        "out": {"stage": "file.sink", "from": "in", "path": "out.npy"}})
        return np.load(self.folder / "out.npy"), json.loads(
            (self.folder / "out.npy.json").read_text())

    def fail(self, path="in.sigmf-data", *arguments):
        return self.fail_graph({"in": {"stage": "sigmf.source", "path": path},
                                "out": {"stage": "discard", "from": "in"}}, *arguments)

    def compare(self, array, samples):
        if np.iscomplexobj(array):
            array = np.stack([array.real, array.imag], -1)
        np.testing.assert_array_equal(array, samples)


class Made(Recording):
    def test_types(self):
        print(f"# seed {SEED}")
        for kind in TYPES:
            for part in "cr" if kind[0] != "u" else "r":
                for order in ("_le", "_be") if int(kind[1:]) > 8 else ("",):
                    for n_channels in (1, 3):
                        for n in (37, 1):
                            with self.subTest(kind=part + kind + order, n_channels=n_channels, n=n):
                                samples = self.make(part + kind + order, n, n_channels)
                                array, beside = self.read(block={"time": 5})
                                self.assertEqual(beside["type"], kind if part == "r" else part + kind)
                                self.compare(array, samples[:, 0] if n_channels == 1 else samples)

    def test_description(self):
        self.make("ci8", 50, 2, captures=[
            {"sample_start": 0, "frequency": 150e6, "datetime": "2022-06-29T01:30:00.5Z"},
            {"sample_start": 10, "frequency": 150e6, "datetime": "2022-06-29T01:30:00.500010Z"}],
            author="A. Person", geolocation={"type": "Point", "coordinates": [6.88, 50.52, 300]})
        array, beside = self.read(stage="file.source", channels="pol")
        self.assertEqual(array.shape, (50, 2, 2))
        self.assertEqual([axis["name"] for axis in beside["axes"]], ["time", "pol"])
        self.assertEqual((beside["start_utc"], beside["sample_rate"], beside["frequency"]),
                         ("2022-06-29T01:30:00.500000000Z", 1e6, 150e6))
        observation = beside["observation"]
        self.assertEqual(observation["observer"], "A. Person")
        radius = np.linalg.norm(observation["position"])
        self.assertTrue(6.356e6 < radius < 6.379e6, observation)
        self.make("rf32_le", captures=[{"sample_start": 0, "frequency": 150e6}], sample_rate=2e6)
        _, beside = self.read()
        self.assertEqual(beside["frequency"], 149.5e6)
        self.assertIsNone(beside.get("start_utc"))

    def test_clock(self):
        """Rates that are fractions, starts between samples, and none of both."""
        for rate, start, utc in ((195312.5, "00.000000Z", "00.000000000Z"),
                                 (1e6 / 3, "00Z", "00.000000000Z"),
                                 (1e6, "00.1234565Z", "00.123456500Z"),
                                 (16e6, "59.999999999Z", "59.999999999Z")):
            with self.subTest(rate=rate, start=start):
                self.make(sample_rate=rate, captures=[
                    {"sample_start": 0, "datetime": f"2022-06-29T01:30:{start}"}])
                _, beside = self.read()
                self.assertEqual((beside["sample_rate"], beside["start_utc"]),
                                 (rate, f"2022-06-29T01:30:{utc}"))
        samples = self.make(sample_rate=None, captures=[])
        array, beside = self.read()
        self.compare(array, samples[:, 0])
        self.assertNotIn("sample_rate", beside)

    def test_other_bytes(self):
        """Bytes before and behind the samples, and a file with a name of its own."""
        samples = self.make("ri16_be", name="x.iq", head=b"abc", tail=b"defgh", trailing_bytes=5,
                            dataset="x.iq", captures=[{"sample_start": 0, "header_bytes": 3}])
        array, _ = self.read("x.iq")
        self.compare(array, samples[:, 0])

    def test_sequence(self):
        """Files by their times, with a gap between them."""
        second = {"sample_start": 0, "datetime": "2022-06-29T01:30:00.000050Z"}
        first = {"sample_start": 0, "datetime": "2022-06-29T01:30:00Z"}
        b = self.make("ci8", 30, captures=[second], name="a.sigmf-data")
        a = self.make("ci8", 45, captures=[first], name="b.sigmf-data")
        array, beside = self.read("*.sigmf-data")
        self.compare(array, np.concatenate([a, np.zeros((5, 1, 2), np.int8), b])[:, 0])
        self.assertEqual(beside["validity"]["gaps"], [{"lanes": [0, 1], "samples": [45, 5]}])

    def test_warnings(self):
        self.make(tail=b"abc")
        self.assertIn("in.sigmf-data ends with 3 bytes that are less than a sample, which are not read",
                      self.fail("in.sigmf-data", "--strict"))

    def test_errors(self):
        time = "2022-06-29T01:30:00Z"
        meta = "in.sigmf-meta: "
        types = "c or r and f64, f32, i32, i16 or i8 (real also u32, u8), and _le or _be, as ci16_le"
        for given, message in (
                ({"datatype": None}, f"core:datatype of global wants {types}, but is not given"),
                *(({"datatype": name}, f"core:datatype of global wants {types}, but is given \"{name}\"")
                  for name in ("cu8", "ci16", "ri8_le", "f32_le", "cf16_le", "ri64_le", "cc8", "")),
                ({"datatype": 5}, "core:datatype of global wants a text, but is given 5"),
                ({"sample_rate": -1}, "core:sample_rate of global wants hertz from 1e-6 to 1e12, but is "
                                      "given -1"),
                ({"sample_rate": "1 MHz"}, "core:sample_rate of global wants a number, but is given "
                                           "\"1 MHz\""),
                ({"num_channels": 0}, "core:num_channels of global wants a whole number from 1 to "
                                      "16777216, but is given 0"),
                ({"num_channels": 1.5}, "core:num_channels of global wants a whole number"),
                ({"offset": 7}, "core:offset of global wants 0, a recording that is whole, but is given "
                                "7"),
                ({"dataset": "y"}, "core:dataset of global wants to name in.sigmf-data, but is given "
                                   "'y'"),
                ({"dataset": "y\n"}, "core:dataset of global wants to name in.sigmf-data, but is given "
                                     "'y\\n'"),
                ({"metadata_only": True}, "core:metadata_only of global wants false, as there are "
                                          "samples, but is given true"),
                ({"geolocation": {"type": "Point", "coordinates": [1]}},
                 "core:geolocation of global wants a point, coordinates of longitude, latitude and "
                 "height, but is given {"),
                ({"captures": [{"frequency": 1}]}, "core:sample_start of captures[0] wants a sample, but "
                                                   "is not given"),
                ({"captures": [{"sample_start": 5}]},
                 "core:sample_start of captures[0] wants 0, the first sample, but is given 5"),
                ({"captures": [{"sample_start": 0}, {"sample_start": 0}]},
                 "core:sample_start of captures[1] wants a whole number from 1 to 9223372036854775806, "
                 "but is given 0"),
                ({"captures": [{"sample_start": 0, "frequency": 1}, {"sample_start": 3, "frequency": 2}]},
                 "core:frequency of captures[1] wants the frequency of the first capture, as a stream "
                 "has one, but is given 2"),
                ({"captures": [{"sample_start": 0}, {"sample_start": 3, "header_bytes": 2}]},
                 "core:header_bytes of captures[1] wants 0, as only the first capture may have some, but "
                 "is given 2"),
                ({"captures": [{"sample_start": 0, "datetime": time},
                               {"sample_start": 1000, "datetime": "2022-06-29T01:30:01Z"}]},
                 "core:datetime of captures[1] wants the time of its first sample after that of the "
                 "first capture, but is given one that is 0.999 s later"),
                *(({"captures": [{"sample_start": 0, "datetime": text}]},
                   "core:datetime of captures[0] wants a time in UTC as 2022-06-29T01:30:00.5Z, but is "
                   "given") for text in ("today", "2022-06-29T01:30:00", "2022-06-29T01:30:00.5e3Z",
                                         "2022-13-29T01:30:00Z", "2022-06-29T01:30:00+01:00"))):
            with self.subTest(given):
                datatype = given.get("datatype", "ci16_le")
                self.make(**{**given, "datatype": "ci16_le"})
                if "datatype" in given:
                    path = self.folder / "in.sigmf-meta"
                    text = json.loads(path.read_text())
                    text["global"]["core:datatype"] = datatype
                    if datatype is None:
                        del text["global"]["core:datatype"]
                    path.write_text(json.dumps(text))
                error = self.fail()
                self.assertIn(meta + message, error)
                self.assertRegex(error, r"^graph.yaml:\d+:\d+: node 'in': in.sigmf-meta: ")
        for text, message in (("{", "wants JSON: "), ("", "wants JSON: it is empty"),
                              ("[]", "wants an object with an object 'global'"),
                              ('{"global": 3}', "wants an object with an object 'global'"),
                              ('{"global": {"core:datatype": "ci8"}, "captures": 3}',
                               "captures wants a list"),
                              ('{"global": {"core:datatype": "ci8"}, "captures": [3]}',
                               "captures[0] wants an object"),
                              ("[" * 65, "wants at most 64 objects and lists in one another")):
            self.make()
            self.put_meta(text)
            self.assertIn(meta + message, self.fail())
        self.make(head=b"abc", captures=[{"sample_start": 0, "header_bytes": 10**6}])
        self.assertIn("in.sigmf-data: wants the bytes of core:header_bytes and core:trailing_bytes, but "
                      "is given 151 bytes", self.fail())
        self.assertIn("in.sigmf-meta: wants the file of the samples, NAME.sigmf-data, but is given that "
                      "of the metadata", self.fail("in.sigmf-meta"))
        (self.folder / "in.sigmf-meta").unlink()
        self.assertIn("in.sigmf-meta: can't be opened", self.fail())


class Package(Recording):
    def test_sigmf(self):
        """Recordings of the PyPI package sigmf."""
        script = ("import sys, numpy\n"
                  "from sigmf import SigMFFile\n"
                  "from sigmf.utils import get_data_type_str\n"
                  "numbers = numpy.random.default_rng(5)\n"
                  "array = numbers.standard_normal((1000, 2)).astype('f4').view('c8')[:, 0]\n"
                  "if sys.argv[2] == 'rf8':\n"
                  "    array = array.real.astype('f8')\n"
                  "if sys.argv[2] == 'ri2':\n"
                  "    array = (array.real * 1000).astype('i2')\n"
                  "path = sys.argv[1] + '/' + sys.argv[2]\n"
                  "array.tofile(path + '.sigmf-data')\n"
                  "file = SigMFFile(data_file=path + '.sigmf-data', global_info={\n"
                  "    'core:datatype': get_data_type_str(array), 'core:sample_rate': 48000.0,\n"
                  "    'core:author': 'A. Person', 'core:version': '1.2.0'})\n"
                  "file.add_capture(0, metadata={'core:frequency': 1.5e8,\n"
                  "                              'core:datetime': '2022-06-29T01:30:00.25Z'})\n"
                  "file.validate()\n"
                  "file.tofile(path + '.sigmf-meta')\n")
        for kind, dtype in (("c8", "c8"), ("rf8", "f8"), ("ri2", "i2")):
            with self.subTest(kind):
                oracles.run(self, oracles.SIGMF, script, self.folder, kind)
                array, beside = self.read(f"{kind}.sigmf-data")
                np.testing.assert_array_equal(
                    array, np.fromfile(self.folder / f"{kind}.sigmf-data", dtype))
                self.assertEqual((beside["sample_rate"], beside["start_utc"],
                                  beside["observation"]["observer"]),
                                 (48000.0, "2022-06-29T01:30:00.250000000Z", "A. Person"))


if __name__ == "__main__":
    tap.main()
