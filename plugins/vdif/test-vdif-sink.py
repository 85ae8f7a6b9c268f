#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""vdif.sink: the bytes of its files, what vdif.source and baseband read of them, and faults."""

import json
import subprocess

import numpy as np

import graphs
import oracles
import recordings
import tap

LEVELS = {1: np.float32([-1, 1]), 2: np.float32([-3.316505, -1, 1, 3.316505]),
          4: (np.arange(16, dtype=np.float32) - 8) / np.float32(2.95),
          8: (np.arange(256, dtype=np.float32) - np.float32(127.5)) / np.float32(35.5),
          16: (np.arange(65536, dtype=np.float32) - np.float32(32767.5)) / np.float32(35.5 * 256)}
SAID = ("start_utc", "sample_rate")
RATE = 16000000
# Ticks that VDIF can't have.
CLOCK = {"ticks_per_second": [80000000, 1], "ticks_per_sample": 5, "start": 80000000 - 5 * 1600,
         "epoch": 1656466190}


def GAPS(n):
    """Invalid samples along channels, which frames do not lose."""
    return {"axes": ["subband"], "gaps": [{"lanes": [0, 1], "samples": [0, 1, n - 100, 100]},
                                          {"lanes": [1, 1], "samples": [0, 3, 300, 150, 777, 1]}]}


def read_frames(data):
    """The fields of frames, and their payloads; what is cut off at the end is left out."""
    frames, at = [], 0
    while at + 32 <= len(data):
        words = np.frombuffer(data, "<u4", 8, at).astype(np.uint64).tolist()
        n = 8 * (words[2] & 0xffffff)
        if at + n > len(data):
            break
        frames.append(({
            "invalid": words[0] >> 31, "seconds": words[0] & 0x3fffffff, "epoch": words[1] >> 24,
            "number": words[1] & 0xffffff, "channels": 1 << (words[2] >> 24 & 31),
            "complex": words[3] >> 31, "bits": (words[3] >> 26 & 31) + 1,
            "thread": words[3] >> 16 & 1023, "station": words[3] & 0xffff,
            "edv": words[4] >> 24, "rate": words[4] & 0xffffff, "sync": words[5]},
            data[at + 32:at + n]))
        at += n
    return frames


def unpack(payload, bits):
    """The codes of a payload, the first in the lowest bits."""
    if bits == 16:
        return np.frombuffer(payload, "<u2")
    codes = np.frombuffer(payload, np.uint8)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return (codes[:, None] >> shifts & (1 << bits) - 1).ravel()


class Sink(recordings.RecordingTest):
    def put_levels(self, axes, bits, is_complex, clock=None, gaps=None, name="in.npy"):
        """A stream of random levels; returns their codes, with parts as the last axis."""
        kind = "cf32" if is_complex else "f32"
        array = self.put(kind, axes, clock, 320e6, gaps=gaps, observation=None)
        codes = np.random.default_rng(bits).integers(0, 1 << bits,
                                                     (*array.shape, 1 + is_complex))
        values = LEVELS[bits][codes]
        np.save(self.folder / name, values.view(np.complex64)[..., 0] if is_complex
                else values[..., 0])
        return codes

    def read(self, name="out.vdif"):
        return read_frames((self.folder / name).read_bytes())

    def join(self, frames, n_threads):
        """The codes of frames, [time thread channel and part]."""
        bits, width = frames[0][0]["bits"], frames[0][0]["channels"] * (
            1 + frames[0][0]["complex"])
        threads = [np.concatenate([unpack(payload, bits) for header, payload in frames
                                   if header["thread"] == thread]).reshape(-1, width)
                   for thread in range(n_threads)]
        return np.stack(threads, 1)

    def test_elements(self):
        """Every number of bits, real and complex; threads and channels as each axis; blocks of any
        size. What is read back is what was written."""
        shapes = (([("time", 3200), ("pol", 2)], {}, {"threads": "pol"}, 2),
                  ([("time", 3200), ("subband", 4), ("pol", 2)], {}, {}, 2),
                  ([("time", 3200), ("pol", 2)], {"threads": "none"}, {}, 1),
                  ([("time", 3200), ("station", 4)], {"threads": "station"},
                   {"threads": "station"}, 4),
                  ([("time", 3200), ("station", 2), ("pol", 2)], {"threads": "station"},
                   {"threads": "station", "channels": "pol"}, 2),
                  ([("time", 3200), ("subband", 8)], {}, {}, 1),
                  ([("time", 3200)], {}, {}, 1))
        for bits in (1, 2, 4, 8, 16):
            for is_complex in (False, True):
                for i, (axes, sink, source, n_threads) in enumerate(shapes):
                    with self.subTest(bits=bits, is_complex=is_complex, axes=i):
                        codes = self.put_levels(axes, bits, is_complex)
                        self.convert({"stage": "file.sink", "path": "out.vdif", "bits": bits, **sink},
                                     self.source(block={"time": 700}))
                        frames = self.read()
                        self.assertEqual({(header["bits"], header["complex"], header["invalid"])
                                          for header, _ in frames}, {(bits, int(is_complex), 0)})
                        by_thread = codes.reshape(3200, -1)
                        if axes[-1][0] == "pol" and i == 1:  # [subband pol] to [pol subband]
                            by_thread = np.swapaxes(codes, 1, 2)
                        np.testing.assert_array_equal(
                            self.join(frames, n_threads), by_thread.reshape(3200, n_threads, -1))
                        back, beside = self.read_alone({"stage": "file.source", "path": "out.vdif",
                                                       **source})
                        same = np.load(self.folder / "same.npy")
                        np.testing.assert_array_equal(back, same.reshape(back.shape))
                        self.assertEqual([beside[key] for key in SAID],
                                         [self.beside("same.npy")[key] for key in SAID])

    def test_values(self):
        """Values between levels become the nearest one; those beyond, and infinite ones, the last."""
        for bits, levels in LEVELS.items():
            between = (levels[1:].astype(float) + levels[:-1]) / 2
            step = np.min(np.diff(levels.astype(float)))
            values = np.concatenate([levels, between - 0.01 * step, between + 0.01 * step,
                                     [-1e9, 1e9, -np.inf, np.inf]]).astype(np.float32)
            if bits == 16:
                values = values[::101]
            values = np.resize(values, 8000)
            self.put("f32", [("time", 8000)], frequency=1e6, observation=None)
            np.save(self.folder / "in.npy", values)
            self.convert({"stage": "vdif.sink", "path": "out.vdif", "bits": bits})
            wanted = np.abs(values[:, None].clip(levels[0], levels[-1]).astype(float)
                            - levels).argmin(1) if bits < 16 else None
            codes = self.join(self.read(), 1).ravel()
            if bits < 16:
                np.testing.assert_array_equal(codes, wanted)
            else:
                self.assertLessEqual(
                    np.abs(levels[codes] - values.clip(levels[0], levels[-1])).max(),
                    0.51 * step)

    def test_integers(self):
        """Integers become codes of their own bits, as offset binary."""
        for kind, bits in (("i8", 8), ("ci8", 8), ("i16", 16), ("ci16", 16)):
            array = self.put(kind, [("time", 3200), ("pol", 2)], frequency=1e6, observation=None)
            self.convert({"stage": "vdif.sink", "path": "out.vdif"})
            codes = self.join(self.read(), 2).astype(int) - (1 << bits - 1)
            np.testing.assert_array_equal(codes.ravel(), array.ravel())

    def test_header(self):
        """Seconds count from the half year; EDV 1 has the rate where it can."""
        for clock, rate, epoch, seconds, number, edv in (
                ({}, 8000, 44, 179 * 86400 + 5400, 0, 1),
                ({"start": RATE - 3200}, 8000, 44, 179 * 86400 + 5400, 4999, 1),
                ({"ticks_per_second": [2 * RATE + 3200, 1]}, 0, 44, 179 * 86400 + 5400, 0, 0),
                ({"epoch": 1656633599, "start": 2 * RATE}, 8000, 45, 1, 0, 1),
                # A leap second came at the end of 2016.
                ({"epoch": 1483228799, "start": RATE - 3200}, 8000, 33, 184 * 86400 - 1, 4999, 1)):
            with self.subTest(clock):
                self.put_levels([("time", 12800), ("pol", 2)], 2, False, clock)
                self.convert({"stage": "vdif.sink", "path": "out.vdif", "frame_samples": 3200,
                              "station": "EF"})
                header, _ = self.read()[0]
                self.assertEqual((header["epoch"], header["seconds"], header["number"],
                                  header["station"]), (epoch, seconds, number, ord("E") << 8 | ord("F")))
                self.assertEqual((header["edv"], header["rate"], header["sync"]),
                                 (edv, rate, 0xacabfeed * edv))
                given = {} if edv else {"sample_rate": "32003200 Hz"}
                _, beside = self.read_alone({"stage": "vdif.source", "path": "out.vdif", **given})
                self.assertEqual([beside[key] for key in SAID],
                                 [self.beside("same.npy")[key] for key in SAID])

    def test_without_rate(self):
        """A rate that EDV 1 can't have is that of the frames of seconds."""
        self.put_levels([("time", 6464 * 3), ("pol", 2)], 2, False, {"ticks_per_second": [6464, 1]})
        self.convert({"stage": "vdif.sink", "path": "out.vdif"})
        self.assertEqual({header["edv"] for header, _ in self.read()}, {0})
        back, beside = self.read_alone({"stage": "vdif.source", "path": "out.vdif"})
        np.testing.assert_array_equal(back, np.load(self.folder / "same.npy"))
        self.assertEqual(beside["sample_rate"], 6464)

    def test_wide(self):
        """A frame has at least one sample, however many bytes that has."""
        codes = self.put_levels([("time", 3), ("subband", 8192)], 8, False)
        self.convert({"stage": "vdif.sink", "path": "out.vdif", "bits": 8})
        frames = self.read()
        self.assertEqual(len(frames), 3)
        np.testing.assert_array_equal(self.join(frames, 1).ravel(), codes.ravel())

    def test_stations(self):
        """Labels become stations, and labels again."""
        self.put_levels([("time", 3200), {"name": "station", "length": 3,
                                          "labels": ["12", "Ef", "Wb"]}], 2, False)
        self.convert({"stage": "vdif.sink", "path": "out.vdif", "threads": "station"})
        self.assertEqual([header["station"] for header, _ in self.read()[:3]],
                         [int.from_bytes(name, "big") for name in (b"12", b"Ef", b"Wb")])
        _, beside = self.read_alone({"stage": "vdif.source", "path": "out.vdif",
                                    "threads": "station"})
        self.assertEqual(beside["axes"][1]["labels"], ["12", "Ef", "Wb"])

    def test_validity(self):
        """Frames with an invalid sample are invalid, thread by thread."""
        gaps = {"axes": ["pol"], "valid": 0.9, "invalid_samples": [100, 500],
                "gaps": [{"lanes": [0, 1], "samples": [350, 100]},
                         {"lanes": [1, 1], "samples": [1600, 500]}]}
        self.put_levels([("time", 3200), ("subband", 2), ("pol", 2)], 8, True, gaps=gaps)
        self.convert({"stage": "vdif.sink", "path": "out.vdif", "bits": 8, "frame_samples": 200},
                     self.source(block={"time": 77}))
        flags = [[header["invalid"] for header, _ in self.read() if header["thread"] == thread]
                 for thread in range(2)]
        self.assertEqual([np.flatnonzero(of).tolist() for of in flags], [[1, 2], [8, 9, 10]])
        self.assertEqual(self.beside("out.vdif")["validity"]["gaps"],
                         self.beside("same.npy")["validity"]["gaps"])
        self.check_beside({"stage": "vdif.source", "path": "out.vdif"})
        back, beside = self.read_alone({"stage": "vdif.source", "path": "out.vdif"})
        self.assertEqual(beside["validity"]["gaps"], [{"lanes": [0, 1], "samples": [200, 400]},
                                                      {"lanes": [1, 1], "samples": [1600, 600]}])
        wanted = np.load(self.folder / "same.npy")
        wanted[200:600, :, 0] = wanted[1600:2200, :, 1] = 0
        np.testing.assert_array_equal(np.swapaxes(back, 1, 2) if back.shape != wanted.shape
                                      else back, wanted)

    def put_all(self, n=3200, clock=None, gaps=None, bits=8):
        """A stream with all that PATH.json can say; stations are not in the order of their names."""
        axes = [("time", n), {"name": "subband", "length": 2, "unit": "Hz",
                              "table": [320e6, 350.1e6], "labels": ["low", "high"]},
                {"name": "station", "length": 2, "labels": ["Wb", "Ef"]},
                {"name": "pol", "length": 1, "labels": ["L"]}]
        codes = np.random.default_rng(5).integers(0, 1 << bits, (n, 2, 2, 1, 2))
        self.put("cf32", axes, clock or CLOCK, 305e6, gaps=gaps or GAPS(n))
        np.save(self.folder / "in.npy", LEVELS[bits][codes].view(np.complex64)[..., 0])

    def test_beside(self):
        """PATH.json gives back all that frames can't hold: gaps at the ends and within frames, by
        lane, also along channels; clock, frequencies, labels, observation, axes of one element."""
        for i, gaps in enumerate((None, {"axes": ["station"], "gaps": [
                {"lanes": [0, 1], "samples": [0, 750, 3199, 1]},
                {"lanes": [1, 1], "samples": [0, 750, 1111, 1, 3199, 1]}]})):
            with self.subTest(gaps=i):
                self.put_all(gaps=gaps)
                self.convert({"stage": "vdif.sink", "path": "out.vdif", "bits": 8,
                              "frame_samples": 200, "threads": "station"},
                             self.source(block={"time": 77}))
                self.check_beside({"stage": "vdif.source", "path": "out.vdif"})
                self.check_beside({"stage": "vdif.source", "path": "out.vdif",
                                   "block": {"time": 130}, "threads": "station",
                                   "channels": "subband"})

    def test_beside_bare(self):
        """Stations without names stay so, and no axis is added."""
        for axes in ([("time", 3200), ("station", 2)], [("time", 3200)],
                     [("time", 3200), ("station", 1), ("pol", 1)]):
            with self.subTest(axes=axes):
                self.put("cf32", axes, CLOCK, 305e6)
                self.convert({"stage": "vdif.sink", "path": "out.vdif", "bits": 8,
                              "frame_samples": 200}, self.source())
                self.read_back({"stage": "vdif.source", "path": "out.vdif"})
                self.assertEqual(self.beside("back.npy")["axes"], self.beside("same.npy")["axes"])

    def test_beside_rotation(self):
        """The same of the files of a rotation, of which one is invalid as a whole."""
        gaps = {"axes": ["subband", "station"], "gaps": [
            {"lanes": [0, 2, 3, 1], "samples": [1, 2, 1600, 800]},
            {"lanes": [2, 1], "samples": [1, 2, 1600, 803, 3190, 10]}]}
        for clock in (CLOCK, {"start": RATE - 1600}):
            for path in self.folder.glob("out-*"):
                path.unlink()
            self.put_all(clock=clock, gaps=gaps)
            self.convert({"stage": "vdif.sink", "path": "out-%i.vdif", "bits": 8,
                          "frame_samples": 400, "threads": "station", "rotate_samples": 800})
            self.assertEqual(len(list(self.folder.glob("out-*.vdif"))), 4)
            self.check_beside({"stage": "vdif.source", "path": "out-*.vdif"})
        # A file without PATH.json: its frames say what they can.
        sorted(self.folder.glob("out-*.vdif.json"))[1].unlink()
        _, beside = self.read_back({"stage": "vdif.source", "path": "out-*.vdif"})
        self.assertEqual(beside["validity"]["gaps"], [
            {"lanes": [0, 2, 3, 1], "samples": [1, 2, 1600, 800]},
            {"lanes": [2, 1], "samples": [1, 2, 1600, 803, 3190, 10]}])

    def test_beside_lost(self):
        """A frame that is lost, or marked without a reason in PATH.json, is invalid."""
        self.put_levels([("time", 3200), ("pol", 2)], 8, False, gaps={
            "axes": ["pol"], "gaps": [{"lanes": [1, 1], "samples": [1000, 5]}]})
        self.convert({"stage": "vdif.sink", "path": "out.vdif", "bits": 8, "frame_samples": 200})
        data = bytearray((self.folder / "out.vdif").read_bytes())
        data[3 * 232 + 3] |= 0x80  # thread 1, frame 1
        data[8 * 232:8 * 232 + 32] = bytes(32)  # thread 0, frame 4
        (self.folder / "out.vdif").write_bytes(data)
        back, beside = self.read_back({"stage": "vdif.source", "path": "out.vdif"})
        self.assertEqual(beside["validity"]["gaps"], [
            {"lanes": [0, 1], "samples": [800, 200]},
            {"lanes": [1, 1], "samples": [200, 200, 1000, 5]}])
        wanted = np.load(self.folder / "same.npy")
        wanted[800:1000, 0] = wanted[200:400, 1] = 0
        np.testing.assert_array_equal(back, wanted)

    def test_beside_threads(self):
        """Chosen threads are not those of PATH.json, which then does not say what is invalid."""
        self.put_levels([("time", 3200), {"name": "pol", "length": 2, "labels": ["L", "R"]}], 8,
                        False, gaps={"axes": ["pol"], "gaps": [
                            {"lanes": [1, 1], "samples": [1000, 5]}]})
        self.convert({"stage": "vdif.sink", "path": "out.vdif", "bits": 8, "frame_samples": 200})
        wanted = np.load(self.folder / "same.npy")
        wanted[1000:1200, 1] = 0
        for threads in ([1, 0], [1], [0, 1]):
            back, beside = self.read_back({"stage": "vdif.source", "path": "out.vdif",
                                           "thread_ids": threads})
            whole = threads == [0, 1]
            np.testing.assert_array_equal(back, np.load(self.folder / "same.npy") if whole
                                          else wanted[:, threads])
            self.assertEqual(beside["axes"][1].get("labels"), ["L", "R"] if whole else None)
        done = subprocess.run([graphs.COMMAND, "run", "--quiet", self.write({
            "in": {"stage": "vdif.source", "path": "out.vdif", "thread_ids": [1, 0]},
            "out": {"stage": "discard", "from": "in"}})], cwd=self.folder, capture_output=True,
                              text=True, timeout=120, check=True)
        self.assertIn("5 samples are invalid, as out.vdif.json says, but are read as valid, unless "
                      "their packet is marked: it does not say which of this array's they are",
                      done.stderr.replace(str(self.folder) + "/", ""))

    def test_beside_parameters(self):
        """Parameters for frequencies go before PATH.json."""
        self.put_all()
        self.convert({"stage": "vdif.sink", "path": "out.vdif", "bits": 8, "threads": "station"})
        _, beside = self.read_back({
            "stage": "vdif.source", "path": "out.vdif", "centre_frequency": "1 GHz",
            "frequencies": ["2 GHz", "3 GHz"]})
        self.assertEqual(beside["frequency"], 1e9)
        axis, = (axis for axis in beside["axes"] if axis["name"] == "subband")
        self.assertEqual((axis["table"], axis["labels"]), ([2e9, 3e9], ["low", "high"]))

    def test_beside_errors(self):
        """PATH.json of another file, or one that contradicts the frames."""
        self.put_all(6400)
        self.convert({"stage": "vdif.sink", "path": "out-%i.vdif", "bits": 8, "frame_samples": 200,
                      "threads": "station", "rotate_samples": 3200})
        for i, path in enumerate(sorted(self.folder.glob("out-*.vdif"))):
            path.rename(self.folder / f"out-{i}.vdif")
            path.with_suffix(".vdif.json").rename(self.folder / f"out-{i}.vdif.json")
        said = self.beside("out-0.vdif")
        length = (self.folder / "out-0.vdif").stat().st_size
        agrees = "out-0.vdif: wants a header that agrees with"
        second = said["start"]
        for change, message in (
                ({"bytes": length - 1}, f"wants an array of {length - 1} bytes, but is given one of "
                 f"{length}: it belongs to another array"),
                ({"written": 1}, "wants a whole array, but describes one that is not finished"),
                ({"ticks_per_second": [80000001, 1]}, f"{agrees} @out-0.vdif.json, but is given "
                 "16000000 instead of 16000000.2 samples per second"),
                ({"start": second + 2}, f"{agrees} @out-0.vdif.json, but is given a start that is "
                 "-2.5e-08 s later"),
                ({"start": second + 5}, "but is given a packet 799 samples after the start, of 3200 in "
                 "packets of 200"),
                ({"start": second - 5 * 3200}, "but is given a packet 4000 samples after the start, "
                 "of 3200 in packets of 200"),
                ({"frequency": 306e6}, "out-1.vdif: wants axes, coordinates and clock in its "
                 "PATH.json as that of @out-0.vdif has them, but is given others"),
                ({"axes": [axis for axis in said["axes"] if axis["name"] != "time"],
                  "layout": "cf32[station subband]", "validity": {}},
                 "but is given time, an axis that it lacks"),
                ({"axes": [{**axis, "length": 10**18} if axis["name"] == "time" else axis
                           for axis in said["axes"]]},
                 f"{agrees} @out-0.vdif.json, but is given {length} bytes instead of {10**18} "
                 "samples"),
                ({"type": "x9"}, "out-0.vdif.json:1:1: wants the type of its elements")):
            with self.subTest(message):
                (self.folder / "out-0.vdif.json").write_text(json.dumps({**said, **change}))
                error = self.fail_graph({"in": {"stage": "vdif.source", "path": [
                    "out-0.vdif", "out-1.vdif"]}, "out": {"stage": "discard", "from": "in"}})
                self.assertIn(message.replace("@", ""), error.replace(str(self.folder) + "/", ""))

    def test_rotation(self):
        """Many files are one recording, also over the change of a second."""
        for rotation in ({"rotate_samples": 640}, {"rotate_time": "40 us"}):
            for path in self.folder.glob("out-*"):
                path.unlink()
            self.put_levels([("time", 640 * 51), ("pol", 2)], 4, True, {"start": RATE - 640 * 20})
            self.convert({"stage": "vdif.sink", "path": "out-%i.vdif", "bits": 4,
                          "frame_samples": 320, **rotation}, self.source(block={"time": 1000}))
            paths = sorted(self.folder.glob("out-*.vdif"))
            self.assertEqual(len(paths), 51)
            self.assertEqual({len(self.read(path.name)) for path in paths}, {4})
            back, beside = self.read_alone({"stage": "vdif.source", "path": "out-*.vdif"})
            np.testing.assert_array_equal(back, np.load(self.folder / "same.npy"))
            self.assertEqual([beside[key] for key in SAID],
                             [self.beside("same.npy")[key] for key in SAID])
            self.assertNotIn("gaps", beside.get("validity", {}))

    def test_full_disk(self):
        """What a full disk leaves is a frame of each thread up to one time."""
        codes = self.put_levels([("time", 160000), ("pol", 2)], 8, False)
        error = self.fail_graph(
            {"in": self.source(block={"time": 1000}), "out": {
                "stage": "vdif.sink", "from": "in", "path": "out.vdif", "bits": 8,
                "frame_samples": 1000}}, preexec_fn=self.limit(100001))
        self.assertIn("out.vdif.partial: can't be written: File too large", error)
        self.assertEqual([path.name for path in sorted(self.folder.glob("out*"))],
                         ["out.vdif.json.partial", "out.vdif.partial"])
        self.assertEqual((self.folder / "out.vdif.partial").stat().st_size, 100001 // 2064 * 2064)
        (self.folder / "out.vdif.partial").rename(self.folder / "cut.vdif")
        back, _ = self.read_alone({"stage": "vdif.source", "path": "cut.vdif"})
        np.testing.assert_array_equal(back, LEVELS[8][codes[:100001 // 2064 * 1000, :, 0]])

    def test_kill(self):
        """Files under final names are whole; the partial one begins with whole frames."""
        codes = self.put_levels([("time", 320000)], 8, False)
        seen = {"whole": 0, "partial": 0}

        def check():
            for i, path in enumerate(sorted(self.folder.glob("out-*.vdif"))):
                np.testing.assert_array_equal(self.join(self.read(path.name), 1).ravel(),
                                              codes[8000 * i:8000 * (i + 1)].ravel())
                seen["whole"] += 1
            for path in self.folder.glob("out-*.vdif.partial"):
                for header, payload in self.read(path.name):
                    begin = 1000 * header["number"]
                    np.testing.assert_array_equal(unpack(payload, 8),
                                                  codes[begin:begin + 1000].ravel())
                seen["partial"] += 1

        self.kill({"in": self.source(block={"time": 1}), "out": {
            "stage": "vdif.sink", "from": "in", "path": "out-%i.vdif", "bits": 8,
            "frame_samples": 1000, "rotate_samples": 8000}}, 83, check, 5, seen)

    def test_interrupt(self):
        """An interrupt leaves whole frames; one that is not full is invalid."""
        codes = self.put_levels([("time", 320000)], 8, False)
        self.interrupt({"in": self.source(block={"time": 1}), "out": {
            "stage": "vdif.sink", "from": "in", "path": "out.vdif", "bits": 8,
            "frame_samples": 64000}}, 93)
        frames, beside = self.read(), self.beside("out.vdif")
        n = next(axis["length"] for axis in beside["axes"] if axis["name"] == "time")
        self.assertEqual(len(frames), -(-n // 64000))
        self.assertEqual([header["invalid"] for header, _ in frames],
                         [0] * (n // 64000) + [1] * (n % 64000 > 0))
        np.testing.assert_array_equal(self.join(frames, 1).ravel()[:n], codes[:n].ravel())
        back, said = self.read_back({"stage": "vdif.source", "path": "out.vdif"})
        np.testing.assert_array_equal(back.ravel(), LEVELS[8][codes[:n]].ravel())
        self.assertEqual(said["validity"], beside["validity"])

    def test_odd_length(self):
        """The last frame of a stream that does not fill it is invalid, but not for vdif.source."""
        for n, sink, n_frame, n_frames in ((3201, {}, 3200, 2), (3201, {"frame_samples": 640}, 640, 6),
                                           (3, {"threads": "none"}, 8, 1), (3200, {}, 3200, 1),
                                           (8 * 509, {}, 4000, 2)):
            with self.subTest(n=n, sink=sink):
                codes = self.put_levels([("time", n)], 8, False)
                stages = {"in": self.source(block={"time": 700}), "out": {
                    "stage": "vdif.sink", "from": "in", "path": "out.vdif", "bits": 8, **sink}}
                warnings = [warning["message"] for warning in self.run_graph(stages)["warnings"]]
                self.assertEqual(warnings, [] if n % n_frame == 0 else [
                    f"the stream's last {n % n_frame} samples do not fill a frame of {n_frame}: that "
                    "frame is completed with zeros, and is marked as invalid"])
                frames = self.read()
                self.assertEqual([header["invalid"] for header, _ in frames],
                                 [0] * (n // n_frame) + [1] * (n % n_frame > 0))
                self.assertEqual(len(frames), n_frames)
                np.testing.assert_array_equal(self.join(frames, 1).ravel()[:n], codes.ravel())
                back, beside = self.read_back({"stage": "vdif.source", "path": "out.vdif"})
                np.testing.assert_array_equal(back.ravel(), LEVELS[8][codes].ravel())
                self.assertEqual(beside["validity"]["invalid_samples"], [])

    def test_clipped(self):
        """Samples beyond twice the last level are counted, once if both parts are; noise at the
        level that is best for its bits causes no warning; at twice this level it does, with few bits."""
        random = np.random.default_rng(20261123)
        for bits, last in ((1, np.inf), (2, 3.316505), (4, 7 / 2.95), (8, 127.5 / 35.5)):
            for rms in (1, 2):
                with self.subTest(bits=bits, rms=rms):
                    self.put("cf32", [("time", 16000)], {}, 320e6, observation=None)
                    parts = (random.standard_normal((16000, 2)) * rms
                             * (2.1745 if bits == 2 else 1)).astype(np.float32)
                    parts[0] = [3 * last, -3 * last] if bits > 1 else [9, 9]
                    np.save(self.folder / "in.npy", parts.view(np.complex64)[:, 0])
                    stages = {"in": self.source(), "out": {
                        "stage": "vdif.sink", "from": "in", "path": "out.vdif", "bits": bits}}
                    stats = self.run_graph(stages)
                    n = int((np.abs(parts) > np.float32(2 * last)).any(1).sum())
                    node = next(node for node in stats["nodes"] if node["name"] == "out")
                    self.assertEqual(node["counters"].get("clipped", 0), n)
                    self.assertEqual([warning["message"].split(" of ")[0]
                                      for warning in stats["warnings"]],
                                     [f"clipped {n}"] if bits in (2, 4) and rms == 2 else [])

    def test_baseband(self):
        """The values, start and rate that the PyPI package baseband reads."""
        script = ("import sys, numpy\n"
                  "from baseband import vdif\n"
                  "with vdif.open(sys.argv[1], 'rs', squeeze=False) as file:\n"
                  "    numpy.save(sys.argv[2], file.read())\n"
                  "    print(file.start_time.utc.isot[:23], file.sample_rate.to_value('Hz'))\n")
        for bits in (1, 2, 4, 8):
            for is_complex in (False, True):
                with self.subTest(bits=bits, is_complex=is_complex):
                    self.put_levels([("time", 16000), ("subband", 4), ("pol", 2)], bits,
                                    is_complex, {"start": RATE // 2})
                    wanted = self.convert({"stage": "vdif.sink", "path": "out.vdif", "bits": bits})
                    start, rate = oracles.run(self, oracles.BASEBAND, script,
                                              self.folder / "out.vdif",
                                              self.folder / "read.npy").split()
                    read = np.swapaxes(np.load(self.folder / "read.npy"), 1, 2)
                    np.testing.assert_array_equal(read, wanted)
                    self.assertEqual((start, float(rate)), ("2022-06-29T01:30:00.500", RATE))

    def test_errors(self):
        pair = ("pol", 2)
        for kind, axes, clock, sink, message in (
                ("f32", [("time", 3200), ("subband", 3), pair], {}, {},
                 "wants a power of two of channels in a frame, but is given 'subband' with 3"),
                ("f32", [("time", 3200), ("subband", 2), ("station", 2), pair], {}, {},
                 "wants one axis for the channels of a frame, but is given 'station' with 2 beside "
                 "'subband' (threads: pol)"),
                ("f32", [("time", 3200)], {}, {"bits": 3},
                 "parameter 'bits': wants 1, 2, 4, 8 or 16, but is given 3"),
                ("i8", [("time", 3200)], {}, {"bits": 2},
                 "parameter 'bits': wants the 8 of i8, but is given 2 (as cf32 or f32, samples "
                 "can have fewer)"),
                ("f32", [("time", 3200)], {"epoch": None}, {},
                 "wants a stream that knows its UTC, but is given one without an epoch"),
                ("f32", [("time", 3200)], {"ticks_per_second": [100, 3]}, {},
                 "wants a whole number of samples per second, but is given 33.3333333333"),
                ("f32", [("time", 3200)], {"ticks_per_second": [1000, 1], "ticks_per_sample": 10,
                                           "start": 1005}, {},
                 "wants a start that is a whole number of samples after a second, but is given 0.005 s "
                 "after it"),
                ("f32", [("time", 3200)], {"epoch": 900000000}, {},
                 "wants a start from 2000 to 2031, but is given 900000000 s from 1970 on"),
                ("f32", [("time", 3200)], {"epoch": 1956528000 + 86400}, {},
                 "wants a start from 2000 to 2031, but is given 1956614400 s from 1970 on"),
                ("f32", [("time", 3200)], {"start": 33}, {},
                 "parameter 'frame_samples': wants samples that fill words of 8 bytes (of 2 bits each) "
                 "and, in whole frames, the 16000000 of a second and the 33 before the stream in its "
                 "first second, with at most 16777216 frames a second, but is given none that does"),
                ("f32", [("time", 3200)], {"start": 33}, {"frame_samples": 32},
                 "the 33 before the stream in its first second, with at most 16777216 frames a "
                 "second, but is given 32"),
                ("f32", [("time", 3200)], {}, {"station": "Eff"},
                 "parameter 'station': wants two letters or digits, or a number below 65536, but is "
                 "given 'Eff'"),
                ("f32", [("time", 3200)], {}, {"rotate_samples": 50, "frame_samples": 32},
                 "parameter 'rotate_samples': wants whole frames of 32 samples (frame_samples), but is "
                 "given 50 samples")):
            with self.subTest(message):
                self.put(kind, axes, clock, 1e6, observation=None)
                error = self.fail_graph({"in": self.source(), "out": {
                    "stage": "vdif.sink", "from": "in",
                    "path": "out-%i.vdif" if "rotate" in " ".join(sink) else "out.vdif", **sink}})
                self.assertIn(message, error)
                self.assertRegex(error, r"^graph.yaml:\d+:\d+: node 'out': ")
        self.put("i8", [("time", 3200)], frequency=1e6, observation=None)
        stages = {"in": self.source(), "wide": {"stage": "convert", "from": "in", "type": "i32"},
                  "out": {"stage": "vdif.sink", "from": "wide", "path": "out.vdif"}}
        self.assertIn("wants f32, cf32, i8, ci8, i16 or ci16, but is given i32",
                      self.fail_graph(stages))


if __name__ == "__main__":
    tap.main()
