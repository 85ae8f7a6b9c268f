#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""dada.sink: the bytes of its files, what dada.source and baseband read of them, and faults."""
import json
import math
import subprocess

import numpy as np

import graphs
import oracles
import recordings
import tap

SUBBANDS = {"name": "subband", "unit": "Hz", "first": 320e6, "step": 2e6}


def read_header(data):
    """The keywords of a header, and where the samples begin."""
    n = int(data.split(b"HDR_SIZE", 1)[1].split()[0])
    text = data[:n].rstrip(b"\0").decode("ascii")
    assert text.endswith("# end of header\n") and data[n - 1] == 0
    lines = (line.split("#")[0].split(None, 1) for line in text.splitlines())
    return {key: value.strip() for key, value in (line for line in lines if line)}, n


class Sink(recordings.RecordingTest):
    def read(self, name="out.dada"):
        data = (self.folder / name).read_bytes()
        header, n = read_header(data)
        return header, data[n:]

    def test_elements(self):
        """Every type and order; axes of one element; one sample; blocks of any size."""
        shapes = ([("time", 37), {**SUBBANDS, "length": 5}, ("pol", 2)], [("time", 37), ("pol", 2)],
                  [("time", 37)], [("time", 1), ("pol", 1)],
                  [("time", 9), {**SUBBANDS, "length": 1}, ("pol", 2)],
                  [("time", 9), {**SUBBANDS, "name": "channel", "length": 3, "step": -2e6}],
                  [("time", 9), {"name": "station", "length": 1, "labels": ["EB"]}, ("pol", 2)])
        for kind, bits, parts in (("i8", 8, 1), ("i16", 16, 1), ("f32", 32, 1), ("ci8", 8, 2),
                                  ("ci16", 16, 2), ("cf32", 32, 2)):
            for i, axes in enumerate(shapes):
                for order in ("TFP", "TPF"):
                    with self.subTest(kind=kind, axes=i, order=order):
                        array = self.put(kind, axes, frequency=None if i in (0, 4, 5) else 320e6)
                        self.convert({"stage": "file.sink", "path": "out.dada", "order": order},
                                     self.source(block={"time": 5}))
                        header, data = self.read()
                        self.assertEqual((header["NBIT"], header["NDIM"], header["ORDER"]),
                                         (str(bits), str(parts), order))
                        self.assertEqual(int(header["FILE_SIZE"]), len(data))
                        if order == "TPF" and i == 0:
                            array = np.swapaxes(array, 1, 2)
                        self.assertEqual(data, array.tobytes())
                        self.check_same({"stage": "file.source", "path": "out.dada"})

    def test_order_of_axes(self):
        """Streams in another order are transposed."""
        array = self.put("ci8", [("time", 50), {**SUBBANDS, "length": 3}, ("pol", 2)])
        stages = {"in": self.source(),
                  "turn": {"stage": "transpose", "from": "in", "layout": "[pol subband time]"},
                  "out": {"stage": "dada.sink", "from": "turn", "path": "out.dada"}}
        self.run_graph(stages)
        self.assertEqual(self.read()[1], array.tobytes())

    def test_header(self):
        self.put("ci8", [("time", 10), {**SUBBANDS, "length": 4}, ("pol", 2)], {"start": 10})
        self.convert({"stage": "dada.sink", "path": "out.dada", "instrument": "LEAP"})
        header, _ = self.read()
        self.assertEqual(header, {
            "HEADER": "DADA", "HDR_VERSION": "1.0", "HDR_SIZE": "4096", "DADA_VERSION": "1.0",
            "FILE_NUMBER": "0", "FILE_SIZE": "160", "UTC_START": "2022-06-29-01:30:00",
            "MJD_START": "59759.062500000000000", "OBS_OFFSET": "160", "OBS_OVERLAP": "0",
            "TSAMP": "0.0625", "NBIT": "8", "NDIM": "2", "NPOL": "2", "NCHAN": "4",
            "RESOLUTION": "16", "ORDER": "TFP", "ENCODING": "TWOSCOMPLEMENT", "ENDIAN": "LITTLE",
            "FREQ": "323", "BW": "8", "TELESCOPE": "Effelsberg", "SOURCE": "B2016+28",
            "OBSERVER": "A. Person", "PID": "P1", "INSTRUMENT": "LEAP",
            "RA": header["RA"], "DEC": header["DEC"]})
        for text, wanted, unit in ((header["RA"], 5.306, 12), (header["DEC"], -0.497, 180)):
            sign = -1 if text.startswith("-") else 1
            whole, minutes, seconds = (float(part) for part in text.lstrip("-").split(":"))
            angle = sign * (whole + minutes / 60 + seconds / 3600) / unit * math.pi
            self.assertAlmostEqual(angle, wanted, delta=0.5e-8 / 3600 / unit * math.pi * 1.01)

    def test_header_alone(self):
        """Without PATH.json, the header says the same, but for gaps, labels and names of axes."""
        keys = ("epoch", "ticks_per_second", "ticks_per_sample", "start", "start_utc", "frequency")
        for kind in ("ci8", "i16"):
            for axes, frequency in (([("time", 30), {**SUBBANDS, "length": 4}, ("pol", 2)], None),
                                    ([("time", 30), ("pol", 1)], 320e6)):
                with self.subTest(kind=kind, frequency=frequency):
                    self.put(kind, axes, {"start": 12345}, frequency)
                    self.convert({"stage": "dada.sink", "path": "out.dada"})
                    (self.folder / "out.dada.json").unlink()
                    self.check_same({"stage": "dada.source", "path": "out.dada"}, keys)
                    beside, wanted = self.beside("back.npy"), self.beside("same.npy")
                    for axis in wanted["axes"]:
                        axis.pop("labels", None)
                    self.assertEqual(beside["axes"], wanted["axes"])
                    for key in ("telescope", "source", "project", "observer"):
                        self.assertEqual(beside["observation"][key], wanted["observation"][key])
                    np.testing.assert_allclose(beside["observation"]["phase_centre"],
                                               wanted["observation"]["phase_centre"], rtol=0,
                                               atol=0.51e-8 / 3600 / 12 * math.pi)

    def test_clocks(self):
        """The header's time is that of the stream, to the picosecond, for epochs that are near and far,
        starts between seconds, and rates that are no short decimals."""
        for clock, utc, offset, picoseconds in (
                ({"epoch": 0, "start": 1656466200 * 16000000 + 5}, "2022-06-29-01:30:00", 5, None),
                ({"start": -1}, "2022-06-29-01:29:59", 15999999, None),
                ({"start": 90000 * 16000000 + 3}, "2022-06-30-02:30:00", 3, None),
                ({"start": 80000 * 16000000}, "2022-06-29-01:30:00", 80000 * 16000000, None),
                ({"ticks_per_second": [200000000, 1], "ticks_per_sample": 1024, "start": 1},
                 "2022-06-29-01:30:00", 0, "5000"),
                ({"ticks_per_second": [200000000, 1], "ticks_per_sample": 1024, "start": 2048},
                 "2022-06-29-01:30:00", 2, None),
                ({"ticks_per_second": [17000000, 32], "start": 7}, "2022-06-29-01:30:00", 7, None),
                ({"ticks_per_second": [1000000, 3], "start": 10**6 * 90000},
                 "2022-07-02-04:30:00", 0, None),
                ({"epoch": None, "start": 9}, None, 9, None),
                ({"epoch": None, "ticks_per_second": [200000000, 1], "ticks_per_sample": 1024,
                  "start": 5000001}, None, 0, None)):
            with self.subTest(clock):
                self.put("ci8", [("time", 20), ("pol", 2)], clock)
                self.convert({"stage": "dada.sink", "path": "out.dada"})
                header, _ = self.read()
                self.assertEqual((header.get("UTC_START"), int(header["OBS_OFFSET"]) // 4,
                                  header.get("PICOSECONDS")), (utc, offset, picoseconds))
                self.check_same({"stage": "dada.source", "path": "out.dada"})
                wanted = self.beside("same.npy").get("start_utc")
                (self.folder / "out.dada.json").unlink()
                _, beside = self.read_back({"stage": "dada.source", "path": "out.dada"})
                self.assertEqual(beside.get("start_utc"), wanted)
                self.assertEqual(beside["sample_rate"], self.beside("same.npy")["sample_rate"])

    def test_validity(self):
        """PATH.json keeps the gaps of every lane."""
        gaps = {"axes": ["pol"], "valid": 0.9, "invalid_samples": [3, 30],
                "gaps": [{"lanes": [0, 1], "samples": [5, 3]}, {"lanes": [1, 1], "samples": [60, 30]}]}
        array = self.put("ci8", [("time", 100), {**SUBBANDS, "length": 3}, ("pol", 2)], gaps=gaps)
        self.convert({"stage": "dada.sink", "path": "out.dada"}, self.source(block={"time": 7}))
        array[5:8, :, 0] = array[60:90, :, 1] = 0
        self.assertEqual(self.read()[1], array.tobytes())
        self.check_same({"stage": "dada.source", "path": "out.dada"})

    def test_rotation(self):
        """Many files, which joined are the stream, with gaps over their borders; each begins at its own
        byte of the observation."""
        gaps = {"axes": ["pol"], "valid": 0.9, "invalid_samples": [100, 0],
                "gaps": [{"lanes": [0, 1], "samples": [150, 100]}]}
        for clock in ({"start": 3}, {"ticks_per_second": [200000000, 1], "ticks_per_sample": 1024,
                                     "start": 1}):
            for rotation in ({"rotate_samples": 17}, {"rotate_bytes": 4096 + 17 * 12 + 11}):
                with self.subTest(clock=clock, **rotation):
                    array = self.put("ci8", [("time", 1000), {**SUBBANDS, "length": 3}, ("pol", 2)],
                                     clock, gaps=gaps)
                    for path in self.folder.glob("out-*"):
                        path.unlink()
                    self.convert({"stage": "dada.sink", "path": "out-%i.dada", **rotation},
                                 self.source(block={"time": 64}))
                    array[150:250, :, 0] = 0
                    paths = sorted(self.folder.glob("out-*.dada"))
                    self.assertEqual(len(paths), 59)
                    begin = None
                    for i, path in enumerate(paths):
                        header, data = self.read(path.name)
                        begin = int(header["OBS_OFFSET"]) if begin is None else begin
                        self.assertEqual(data, array[17 * i:17 * (i + 1)].tobytes())
                        self.assertEqual((int(header["FILE_NUMBER"]), int(header["OBS_OFFSET"]),
                                          int(header["FILE_SIZE"])),
                                         (i, begin + i * 17 * 12, len(data)))
                    self.check_same({"stage": "dada.source", "path": "out-*.dada"})
                    # The headers alone say it too.
                    for path in self.folder.glob("out-*.json"):
                        path.unlink()
                    back, beside = self.read_back({"stage": "dada.source", "path": "out-*.dada"})
                    np.testing.assert_array_equal(back, array)
                    self.assertEqual(beside["start_utc"], self.beside("same.npy")["start_utc"])

    def test_pipe(self):
        """A pipe gets the bytes of the file; FILE_SIZE only where the length is known."""
        self.put("ci8", [("time", 1000), ("pol", 2)], frequency=320e6)
        self.convert({"stage": "dada.sink", "path": "out.dada"})
        for sink in ({"path": "-"}, {"path": "-", "order": "TPF"}):
            name = self.write({"in": self.source(), "out": {"stage": "dada.sink", "from": "in",
                                                            **sink}})
            done = subprocess.run([graphs.COMMAND, "run", "--quiet", name], cwd=self.folder,
                                  capture_output=True, timeout=120, check=True)
            wanted = (self.folder / "out.dada").read_bytes()
            if len(sink) == 2:
                wanted = wanted.replace(b"ORDER           TFP", b"ORDER           TPF")
            self.assertEqual(done.stdout, wanted)

    def test_full_disk(self):
        """What a full disk leaves is a file that can be read, of all whole samples."""
        array = self.put("ci8", [("time", 60000), ("pol", 1)], frequency=320e6)
        error = self.fail_graph(
            {"in": self.source(block={"time": 1000}), "out": {"stage": "dada.sink", "from": "in",
                                                              "path": "out.dada"}},
            preexec_fn=self.limit(50001))
        self.assertIn("out.dada.partial: can't be written: File too large", error)
        self.assertEqual([path.name for path in sorted(self.folder.glob("out*"))],
                         ["out.dada.json.partial", "out.dada.partial"])
        header, data = self.read("out.dada.partial")
        self.assertEqual(data, array.tobytes()[:(50001 - 4096) // 2 * 2])
        self.assertEqual(int(header["FILE_SIZE"]), len(data))
        (self.folder / "out.dada.partial").rename(self.folder / "cut.dada")
        back, _ = self.read_back({"stage": "dada.source", "path": "cut.dada"})
        np.testing.assert_array_equal(back, array[:len(data) // 2])

    def test_kill(self):
        """Files under final names are whole; the partial one has the samples that its header counts."""
        array = self.put("ci8", [("time", 400000), ("pol", 1)], frequency=320e6)
        seen = {"whole": 0, "partial": 0}

        def check():
            done = 0
            for path in sorted(self.folder.glob("out-*.dada")):
                header, data = self.read(path.name)
                self.assertEqual(int(header["FILE_SIZE"]), len(data))
                self.assertEqual(data, array[done:done + 10007].tobytes())
                done += len(data) // 2
                seen["whole"] += 1
            for path in self.folder.glob("out-*.dada.partial"):
                data = path.read_bytes()
                if len(data) < 4096:
                    continue
                header, n = read_header(data)
                begin = int(header["OBS_OFFSET"])
                counted = data[n:n + int(header["FILE_SIZE"])]
                self.assertEqual(len(counted), int(header["FILE_SIZE"]))
                self.assertEqual(counted, array.tobytes()[begin:begin + len(counted)])
                seen["partial"] += 1

        self.kill({"in": self.source(block={"time": 1}), "out": {
            "stage": "dada.sink", "from": "in", "path": "out-%i.dada", "rotate_samples": 10007}},
            81, check, 5, seen)

    def test_baseband(self):
        """The values, start and rate that the PyPI package baseband reads, which has channels last, and
        reads multiples of four bytes."""
        script = ("import sys, numpy\n"
                  "from baseband import dada\n"
                  "with dada.open(sys.argv[1], 'rs', squeeze=False) as file:\n"
                  "    numpy.save(sys.argv[2], file.read())\n"
                  "    print(file.start_time.utc.isot[:23], file.sample_rate.to_value('Hz'))\n")
        for kind in ("ci8", "i8"):
            for n_channels, n_pols, n in ((1, 2, 1000), (5, 2, 332), (4, 1, 1)):
                with self.subTest(kind=kind, n_channels=n_channels, n=n):
                    array = self.put(kind, [("time", n), {**SUBBANDS, "length": n_channels},
                                            ("pol", n_pols)], {"start": 8000000})
                    self.convert({"stage": "dada.sink", "path": "out.dada", "order": "TPF"})
                    start, rate = oracles.run(self, oracles.BASEBAND, script,
                                              self.folder / "out.dada",
                                              self.folder / "read.npy").split()
                    read = np.swapaxes(np.load(self.folder / "read.npy"), 1, 2)
                    if kind == "ci8":
                        array = array[..., 0] + 1j * array[..., 1].astype(np.float32)
                    np.testing.assert_array_equal(read, array)
                    self.assertEqual((start, float(rate)), ("2022-06-29T01:30:00.500", 16e6))

    def test_errors(self):
        pair = ("pol", 2)
        for axes, more, sink, message in (
                ([("time", 5), ("pol", 3)], {}, {}, "wants one or two polarisations, but is given "
                                                    "'pol' with 3"),
                ([("time", 5), ("station", 3), pair], {}, {},
                 "wants time, subband or channel, pol, as a DADA file has them, but is given "
                 "'station' with 3: each needs a stream and a sink of its own"),
                ([("time", 5), ("subband", 3), ("channel", 2), pair], {}, {},
                 "wants one axis of frequencies, but is given 'channel' with 2 beside subbands"),
                ([("time", 5), {"name": "subband", "length": 3, "unit": "Hz",
                                "table": [1e6, 2e6, 4e6]}], {}, {},
                 "wants frequencies at even steps along 'subband', but is given 2000000 Hz for "
                 "element 1 where 2500000 Hz is even"),
                ([("time", 5), pair], {}, {"instrument": "A#"},
                 "parameter 'instrument': wants ASCII without #, but is given 'A#'")):
            with self.subTest(message):
                self.put("ci8", axes, **more)
                error = self.fail_graph({"in": self.source(), "out": {
                    "stage": "dada.sink", "from": "in", "path": "out.dada", **sink}})
                self.assertIn(message, error)
                self.assertRegex(error, r"^graph.yaml:\d+:\d+: node 'out': ")
        array = self.put("ci8", [("time", 5), pair])
        (self.folder / "in.npy.json").unlink()
        self.assertIn("wants a stream along time with a clock", self.fail_graph({
            "in": {"stage": "file.source", "path": "in.npy", "layout": "ci8[time pol]"},
            "out": {"stage": "dada.sink", "from": "in", "path": "out.dada"}}))
        self.assertEqual(len(array), 5)

    def test_warnings(self):
        self.put("ci8", [("time", 5)], {"epoch": None},
                 observation={"observer": "José", "telescope": "A # B"})
        stages = {"in": self.source(), "out": {"stage": "dada.sink", "from": "in",
                                               "path": "out.dada"}}
        done = subprocess.run([graphs.COMMAND, "run", "--quiet", self.write(stages)],
                              cwd=self.folder, capture_output=True, text=True, timeout=120,
                              check=True)
        for message in ("the stream does not know its UTC: the header has no UTC_START",
                        "the header has no OBSERVER, which wants ASCII without #, but is given 'José'",
                        "the header has no TELESCOPE, which wants ASCII without #, but is given 'A # B'"):
            self.assertIn(f"node 'out': warning: {message}", done.stderr)
        self.assertNotIn("OBSERVER", self.read()[0])
        beside = json.loads((self.folder / "out.dada.json").read_text())
        self.assertEqual(beside["observation"]["observer"], "José")


if __name__ == "__main__":
    tap.main()
