#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""vdif.source: real recordings against the field's reader, made recordings and damaged ones."""
import json
import subprocess
import unittest

import numpy as np

import graphs
import oracles
import tap
from vdif_frames import LEVELS, make_frame, pack


def flip(frame, bit):
    """The frame with one bit of its header flipped."""
    damaged = bytearray(frame)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def join(seconds):
    """Joins frames [second][frame][thread] in the order of a file."""
    return b"".join(frame for second in seconds for frames in second for frame in frames)


class Recording(graphs.GraphTest):
    def decode(self, path, source=None, sink=None):
        statistics = self.run_graph({
            "sky": {"stage": "vdif.source", "path": str(path), **(source or {})},
            "out": {"stage": "file.sink", "from": "sky", "path": "out.npy", **(sink or {})}})
        node = next(node for node in statistics["nodes"] if node["name"] == "sky")
        counts = {name: n for name, n in node["counters"].items() if n}
        beside = json.loads((self.folder / "out.npy.json").read_text())
        return np.load(self.folder / "out.npy"), counts, beside

    def decode_many(self, recordings, source=None):
        """Decodes many recordings (bytes) in one run: (array, counts, description) of each."""
        stages = {}
        for i, recording in enumerate(recordings):
            (self.folder / f"{i}.vdif").write_bytes(recording)
            stages[f"sky{i}"] = {"stage": "vdif.source", "path": f"{i}.vdif", **(source or {})}
            stages[f"out{i}"] = {"stage": "file.sink", "from": f"sky{i}", "path": f"{i}.npy"}
        nodes = {node["name"]: node for node in self.run_graph(stages, "--workers", "1")["nodes"]}
        for i in range(len(recordings)):
            counts = {name: n for name, n in nodes[f"sky{i}"]["counters"].items() if n}
            beside = json.loads((self.folder / f"{i}.npy.json").read_text())
            yield np.load(self.folder / f"{i}.npy"), counts, beside

    def fail(self, path, source=None):
        return self.fail_graph({
            "sky": {"stage": "vdif.source", "path": str(path), **(source or {})},
            "out": {"stage": "file.sink", "from": "sky", "path": "out.npy"}})


@graphs.needs_data("vdif/sample.vdif", "vdif/sample_mwa.vdif", "vdif/sample_vlbi.vdif",
                   "vdif/sample_drao_corrupted.vdif")
class Samples(Recording):
    folder_of_samples = graphs.DATA / "vdif"

    def test_threads(self):
        array, counts, beside = self.decode(self.folder_of_samples / "sample.vdif")
        self.assertEqual((array.shape, array.dtype), ((40000, 8), np.float32))
        np.testing.assert_array_equal(
            array[:12, 0], LEVELS[2][[1, 1, 3, 1, 2, 1, 3, 1, 2, 3, 1, 2]])
        self.assertAlmostEqual(array.sum(dtype=float), 528.143724, places=5)
        self.assertAlmostEqual((array.astype(float) ** 2).sum(), 1418792.652, places=3)
        self.assertEqual(counts, {"packets": 16})
        self.assertEqual(beside["start_utc"], "2014-06-16T05:56:07.000000000Z")
        self.assertEqual(beside["sample_rate"], 32e6)

    def test_channels(self):
        array, counts, beside = self.decode(self.folder_of_samples / "sample_mwa.vdif",
                                            {"sample_rate": "1.28 MHz"})
        self.assertEqual((array.shape, array.dtype), ((1280, 2), np.complex64))
        self.assertEqual([axis["name"] for axis in beside["axes"]], ["time", "pol"])
        self.assertAlmostEqual(abs(array.sum(dtype=complex) - (-172.4225 - 42.9296j)), 0, places=3)
        self.assertAlmostEqual((abs(array.astype(complex)) ** 2).sum(), 42688.394, places=3)
        self.assertEqual(counts, {"packets": 10})

    def test_broken_time_stamps(self):
        """Even threads have a second of another century; the samples are those of the repaired
        file."""
        whole, _, _ = self.decode(self.folder_of_samples / "sample.vdif")
        array, counts, beside = self.decode(self.folder_of_samples / "sample_vlbi.vdif")
        np.testing.assert_array_equal(array, whole)
        self.assertEqual(counts, {"packets": 16, "restamped": 8})
        self.assertEqual(beside["start_utc"], "2014-06-16T05:56:07.000000000Z")

    def test_corrupt_frames(self):
        """The writer declared 5 bits instead of 4, and wrote only few of its frames, in
        disorder."""
        path = self.folder_of_samples / "sample_drao_corrupted.vdif"
        error = self.fail(path)
        self.assertTrue(error.endswith(
            "wants VDIF frames, but is given 50320 bytes without any: its first header says several "
            "channels of bits that are no power of two ('bits' gives the right number)"), error)
        statistics = self.run_graph({
            "sky": {"stage": "vdif.source", "path": str(path), "bits": 4,
                    "sample_rate": "390625 Hz"},
            "out": {"stage": "discard", "from": "sky"}})
        counts = next(n for n in statistics["nodes"] if n["name"] == "sky")["counters"]
        # Ten frames of ten threads, over 3764 frames of time.
        self.assertEqual({name: n for name, n in counts.items() if n},
                         {"packets": 10, "missing": 37630})
        whole, _, _ = self.decode(self.folder_of_samples / "sample.vdif")
        good = (self.folder_of_samples / "sample.vdif").read_bytes()
        (self.folder / "mixed.vdif").write_bytes(good[:5032 * 3] + path.read_bytes() +
                                                 good[5032 * 3:])
        array, counts, _ = self.decode("mixed.vdif")
        np.testing.assert_array_equal(array, whole)
        self.assertEqual(counts, {"packets": 16, "corrupt": 10})

    def test_baseband(self):
        """The values are exactly those of the PyPI package baseband."""
        script = ("import sys, numpy, baseband.data\n"
                  "from astropy import units\n"
                  "from baseband import vdif\n"
                  "path = getattr(baseband.data, sys.argv[1], sys.argv[1])\n"
                  "rate = {'sample_rate': float(sys.argv[3]) * units.Hz} if sys.argv[3] else {}\n"
                  "numpy.save(sys.argv[2], vdif.open(path, 'rs', squeeze=False, **rate).read())\n"
                  "print(path)\n")
        # The package's own samples have 16 channels of 1 bit, and 1024 of 4 complex bits.
        for name, rate, layout in (
                (self.folder_of_samples / "sample.vdif", "", "[time pol]"),
                (self.folder_of_samples / "sample_vlbi.vdif", "", "[time pol]"),
                (self.folder_of_samples / "sample_mwa.vdif", "1280000", "[time pol]"),
                ("SAMPLE_BPS1_VDIF", "32000000", "[time pol subband]"),
                ("SAMPLE_AROCHIME_VDIF", "390625", "[time pol subband]")):
            path = oracles.run(self, oracles.BASEBAND, script, name, self.folder / "wanted.npy", rate)
            wanted = np.load(self.folder / "wanted.npy")
            for backend, block in (("cpu", 777), ("reference", 20000)):
                with self.subTest(name, backend=backend):
                    source = {"backend": backend, "block": {"time": block}}
                    if rate:
                        source["sample_rate"] = f"{rate} Hz"
                    array, _, _ = self.decode(path, source, {"layout": layout})
                    self.assertEqual(array.dtype, wanted.dtype)
                    np.testing.assert_array_equal(array, wanted.reshape(array.shape))

    def test_baseband_of_corrupt_frames(self):
        """The samples of each frame of the corrupted recording, with 4 bits as they are: alone, as
        the reader reads them."""
        script = ("import io, sys, numpy\n"
                  "from baseband import vdif\n"
                  "data = open(sys.argv[1], 'rb').read()\n"
                  "frames = []\n"
                  "for at in range(0, len(data), 5032):\n"
                  "    frame = bytearray(data[at:at + 5032])\n"
                  "    frame[15] = frame[15] & 0x83 | 3 << 2\n"
                  "    file = io.BytesIO(bytes(frame))\n"
                  "    frames.append(vdif.VDIFFrame.fromfile(file, edv=0, verify=False).data)\n"
                  "numpy.save(sys.argv[2], frames)\n")
        path = self.folder_of_samples / "sample_drao_corrupted.vdif"
        oracles.run(self, oracles.BASEBAND, script, path, self.folder / "wanted.npy")
        wanted, data = np.load(self.folder / "wanted.npy"), path.read_bytes()
        frames = [data[at:at + 5032] for at in range(0, len(data), 5032)]
        self.assertEqual(wanted.shape, (10, 625, 8))
        decoded = self.decode_many(frames, {"bits": 4, "sample_rate": "390625 Hz"})
        for given, frame in zip(decoded, wanted):
            np.testing.assert_array_equal(given[0].reshape(625, 8), frame)


class Made(Recording):
    def make(self, n_frames=6, bits=2, n_channels=1, is_complex=False, threads=(0, 1), **options):
        """A recording of frames of 64 bytes, of each thread in turn, and its values [time thread
        channel], complex if `is_complex`."""
        generator = np.random.default_rng(bits)
        per_frame = 64 // 4 * (32 // bits)
        codes = generator.integers(0, 1 << bits, (n_frames, len(threads), per_frame))
        frames = [
            make_frame(pack(codes[i, j], bits), i, thread=thread, bits=bits,
                       log2_channels=n_channels.bit_length() - 1, is_complex=is_complex, **options)
            for i in range(n_frames) for j, thread in enumerate(threads)]
        values = LEVELS[bits][codes]
        if is_complex:
            values = values.view(np.complex64)
        values = values.reshape(n_frames, len(threads), -1, n_channels).transpose(0, 2, 1, 3)
        return frames, values.reshape(-1, len(threads), n_channels)

    def decode_frames(self, frames, **source):
        (self.folder / "made.vdif").write_bytes(b"".join(frames))
        source.setdefault("sample_rate", "1.024 MHz")
        return self.decode("made.vdif", source)

    def test_parameters_without_effect(self):
        """With one channel there is no axis of channels; real frames give their rate."""
        frames, _ = self.make(4, edv=1, rate=1024)
        (self.folder / "made.vdif").write_bytes(b"".join(frames))
        sky = {"stage": "vdif.source", "path": "made.vdif", "channels": "subband"}
        self.check_no_effect({"sky": sky, "out": {"stage": "discard", "from": "sky"}}, "sky",
                             "channels")

    def test_types(self):
        for bits in LEVELS:
            for is_complex in (False, True):
                for n_channels in (1, 4):
                    for backend in ("cpu", "reference"):
                        frames, values = self.make(4, bits, n_channels, is_complex)
                        with self.subTest(bits=bits, is_complex=is_complex, n_channels=n_channels,
                                          backend=backend):
                            array, _, beside = self.decode_frames(
                                frames, backend=backend, block={"time": 5})
                            names = [axis["name"] for axis in beside["axes"]]
                            self.assertEqual(names, ["time", "subband", "pol"] if n_channels > 1
                                             else ["time", "pol"])
                            wanted = values.transpose(0, 2, 1) if n_channels > 1 else values[..., 0]
                            np.testing.assert_array_equal(array, wanted)

    def test_legacy(self):
        frames, values = self.make(legacy=True)
        array, _, _ = self.decode_frames(frames)
        np.testing.assert_array_equal(array, values[..., 0])

    def test_stations(self):
        frames, values = self.make(threads=(3,))
        array, _, beside = self.decode_frames(frames, threads="station")
        self.assertEqual([axis["name"] for axis in beside["axes"]], ["time", "station"])
        np.testing.assert_array_equal(array, values[..., 0])
        self.assertEqual(beside["axes"][1]["labels"], ["AB"])

    def test_names_of_stations(self):
        """Two letters or digits, or a number; no names if several threads are of one station."""
        first, _ = self.make(threads=(0,), station=ord("E") << 8 | ord("f"))
        second, _ = self.make(threads=(0,), station=300)
        third, _ = self.make(threads=(1,), station=300)
        for frames, names in (
                (zip(first, second), ["300", "Ef"]), (zip(first, second, third), None)):
            with self.subTest(names):
                _, _, beside = self.decode_frames([b"".join(some) for some in frames],
                                                  threads="station")
                self.assertEqual(beside["axes"][1].get("labels"), names)

    def test_two_channels(self):
        """The two channels of a single thread are its polarisations, whichever axis threads
        become."""
        frames, values = self.make(threads=(3,), n_channels=2)
        for threads, axes, shape in (("pol", ["time", "pol"], (-1, 2)),
                                     ("station", ["time", "station", "pol"], (-1, 1, 2))):
            with self.subTest(threads=threads):
                array, _, beside = self.decode_frames(frames, threads=threads)
                self.assertEqual([axis["name"] for axis in beside["axes"]], axes)
                np.testing.assert_array_equal(array, values.reshape(shape))

    def test_chosen_threads(self):
        frames, values = self.make(threads=(3, 5, 9))
        array, counts, _ = self.decode_frames(frames, thread_ids=[9, 3])
        np.testing.assert_array_equal(array, values[:, [2, 0], 0])
        self.assertEqual(counts, {"packets": 18, "stray": 6})

    def test_rate(self):
        """The rate comes from the header, or from counting the frames of a whole second."""
        for rate, is_complex, hertz in ((16, False, 32e6), (16, True, 16e6)):
            frames, _ = self.make(edv=1, rate=rate, is_complex=is_complex)
            (self.folder / "made.vdif").write_bytes(b"".join(frames))
            _, _, beside = self.decode("made.vdif")
            self.assertEqual(beside["sample_rate"], hertz)
        frames, values = self.make(4, threads=(0,))
        later, more = self.make(4, threads=(0,), second=14363768)
        (self.folder / "made.vdif").write_bytes(b"".join(frames + later))
        array, _, beside = self.decode("made.vdif")
        self.assertEqual(beside["sample_rate"], 4 * 256)
        np.testing.assert_array_equal(array, np.concatenate([values, more])[..., 0])

    def make_seconds(self, n_seconds=3, per_second=6, threads=(0, 1), **options):
        """Whole seconds of frames, as a list [second][frame][thread], and their values."""
        seconds, values = [], []
        for i in range(n_seconds):
            frames, part = self.make(per_second, threads=threads, second=14363767 + i, **options)
            n = len(threads)
            seconds.append([frames[at:at + n] for at in range(0, len(frames), n)])
            values.append(part)
        return seconds, np.concatenate(values)

    def decode_seconds(self, seconds):
        """Decodes the recording without `sample_rate`."""
        (self.folder / "made.vdif").write_bytes(join(seconds))
        return self.decode("made.vdif")

    def test_rate_with_lost_frames(self):
        """A lost frame right before a change of second changes neither the rate nor the places of
        others."""
        for options in ({}, {"legacy": True}):
            for second in range(3):
                for thread in range(2):
                    with self.subTest(options=options, second=second, thread=thread):
                        seconds, values = self.make_seconds(**options)
                        lost = values.shape[0] // 18 * (6 * second + 5)
                        seconds[second][5][thread] = b""
                        values[lost:lost + values.shape[0] // 18, thread] = 0
                        array, counts, beside = self.decode_seconds(seconds)
                        self.assertEqual(beside["sample_rate"], 6 * 256)
                        np.testing.assert_array_equal(array, values[..., 0])
                        self.assertEqual(counts, {"packets": 35, "missing": 1})

    def test_rate_with_damaged_numbers(self):
        """A flipped bit in a frame's number or second does not change the rate; the frame's samples
        are invalid, because its time does not fit its place."""
        bits = [*range(30), *range(32, 56)]
        for second, frame in ((0, 0), (0, 5), (1, 0), (1, 3), (1, 5), (2, 0)):
            recordings = []
            for bit in bits:
                seconds, values = self.make_seconds()
                seconds[second][frame][1] = flip(seconds[second][frame][1], bit)
                recordings.append(join(seconds))
            at = 256 * (6 * second + frame)
            values[at:at + 256, 1] = 0
            for bit, (array, _, beside) in zip(bits, self.decode_many(recordings)):
                with self.subTest(second=second, frame=frame, bit=bit):
                    self.assertEqual(beside["sample_rate"], 6 * 256)
                    # The time of the first frame is believed if it is only a little early.
                    early = 1402898167 * 6 * 256 - beside["start"]
                    self.assertIn(early, range(17 * 256) if second + frame == 0 else (0,))
                    np.testing.assert_array_equal(array[early:][:len(values)], values[..., 0])

    def test_undecided_rate(self):
        """If nothing proves that no frame was lost, the graph must give the rate."""
        whole, _ = self.make_seconds(n_seconds=2, threads=(0,))
        for what, seconds in {
                "one change of second": [whole[0], whole[1][:4]],
                "its last frame lost": [whole[0][:5], whole[1]],
                "no change of second": whole[:1]}.items():
            with self.subTest(what):
                (self.folder / "made.vdif").write_bytes(join(seconds))
                self.assertTrue(self.fail("made.vdif").endswith(
                    "made.vdif: wants 'sample_rate', which neither its headers nor whole seconds "
                    "of frames say"))
                array, _, _ = self.decode("made.vdif", {"sample_rate": f"{6 * 256} Hz"})
                self.assertEqual(len(array), 256 * (6 * (len(seconds) - 1) + len(seconds[-1])))

    def test_number_of_threads(self):
        """A flipped bit in a frame's thread or station does not make a new thread."""
        bits = range(96, 122)
        for n_frames in (2, 3, 12):
            frames, values = self.make(n_frames)
            recordings = [b"".join([*frames[:3], flip(frames[3], bit), *frames[4:]])
                          for bit in bits]
            if n_frames < 12:
                # These frames are too few to decide.
                for bit in bits[:16 + 2 * n_frames]:
                    (self.folder / "made.vdif").write_bytes(recordings[bit - 96])
                    if n_frames == 2 or bit != 112:
                        self.assertIn("wants 'thread_ids', for thread",
                                      self.fail("made.vdif", {"sample_rate": "1.024 MHz"}))
                continue
            values[256:512, 1] = 0
            decoded = self.decode_many(recordings, {"sample_rate": "1.024 MHz"})
            for bit, (array, _, _) in zip(bits, decoded):
                with self.subTest(bit=bit):
                    # Two frames claim the same place in thread 0.
                    values[256:512, 0] *= bit != 112
                    np.testing.assert_array_equal(array, values[..., 0])
                    values = self.make(n_frames)[1]
                    values[256:512, 1] = 0

    def test_first_header(self):
        """A flipped bit in the first header does not affect the other frames."""
        frames, values = self.make(8)
        recordings = [b"".join([flip(frames[0], bit), *frames[1:]]) for bit in range(256)]
        decoded = self.decode_many(recordings, {"sample_rate": "1.024 MHz"})
        for bit, (array, _, beside) in enumerate(decoded):
            with self.subTest(bit=bit):
                late = beside["start"] - 1402898167 * 1024000
                self.assertIn(late, (0, 256) if bit not in range(32, 37) else range(-17 * 256, 1))
                good = array[256 - late:][:7 * 256] == values[256:, :, 0]
                self.assertTrue(good[256 * (bit == 112):].all())

    def test_unread(self):
        frames, _ = self.make(edv=1, rate=16)
        (self.folder / "made.vdif").write_bytes(b"".join(frames))
        done = self.run_graph({"sky": {"stage": "vdif.source", "path": "made.vdif"}})
        self.assertEqual(done["nodes"][0]["samples"], 0)

    def test_damage(self):
        """Frames that are lost, invalid, doubled, late, cut or damaged: the samples of the others
        keep their places, and those of these are zero."""
        frames, values = self.make(12)
        n = len(values) // 12
        flagged = make_frame(frames[8][32:], 4, thread=0, invalid=True)
        damaged = [
            *frames[:3], frames[5], frames[4],              # frame 1 of thread 1 is lost; two frames are swapped
            *frames[6:8], flagged, frames[9],               # thread 0 of frame 4 is invalid
            frames[10], frames[10], frames[11],             # a doubled frame
            frames[12][:40], frames[13],                    # thread 0 of frame 6 is cut
            frames[14], bytes(8) + frames[15][8:],          # thread 1 of frame 7 has no length
            *frames[16:]]
        broken = bytearray(damaged[-9])
        broken[8:12] = bytes(4)
        damaged[-9] = bytes(broken)
        lost = [(1, 1), (4, 0), (6, 0), (7, 1)]
        for frame, thread in lost:
            values[n * frame:n * (frame + 1), thread] = 0
        array, counts, beside = self.decode_frames(damaged, block={"time": 100})
        np.testing.assert_array_equal(array, values[..., 0])
        self.assertEqual(beside["validity"]["invalid_samples"], [2 * n, 2 * n])
        self.assertEqual(counts, {"packets": 22, "missing": 3, "duplicate": 1, "flagged": 1,
                                  "corrupt": 1, "truncated": 1})

    def test_gap(self):
        """A pause of three seconds stays three seconds."""
        frames, values = self.make(2, threads=(0,))
        later, more = self.make(2, threads=(0,), second=14363770)
        array, counts, _ = self.decode_frames(frames + later, sample_rate="1024 Hz")
        self.assertEqual(len(array), 3 * 1024 + 512)
        np.testing.assert_array_equal(array[:512], values[..., 0])
        np.testing.assert_array_equal(array[-512:], more[..., 0])
        self.assertFalse(array[512:-512].any())
        self.assertEqual(counts, {"packets": 4, "missing": 10})

    def test_impossible_time(self):
        frames, values = self.make(6, threads=(0,))
        stray = make_frame(frames[2][32:], 2, second=5)
        array, counts, _ = self.decode_frames(frames[:2] + [stray] + frames[3:])
        values[512:768] = 0
        np.testing.assert_array_equal(array, values[..., 0])
        self.assertEqual(counts, {"packets": 6, "missing": 1, "mistimed": 1})

    def test_errors(self):
        frames, _ = self.make()
        channels, _ = self.make(n_channels=4)
        (self.folder / "made.vdif").write_bytes(b"".join(frames))
        (self.folder / "channels.vdif").write_bytes(b"".join(channels))
        (self.folder / "zeros.vdif").write_bytes(bytes(100))
        for path, source, ending in (
                ("none.vdif", {}, "none.vdif: can't be opened: No such file or directory"),
                ("zeros.vdif", {}, "zeros.vdif: wants VDIF frames, but is given 100 bytes without "
                                   "any: its first header says frames without payload"),
                ("made.vdif", {}, "made.vdif: wants 'sample_rate', which neither its headers nor "
                                  "whole seconds of frames say"),
                ("made.vdif", {"sample_rate": "1000 Hz"},
                 "wants a whole number of frames of 256 samples a second, 16777216 at most, "
                 "but is given 1000 Hz"),
                ("made.vdif", {"sample_rate": "512 GHz"},
                 "wants a whole number of frames of 256 samples a second, 16777216 at most, "
                 "but is given 5.12e+11 Hz"),
                ("made.vdif", {"sample_rate": "1024 Hz"},
                 "made.vdif: wants a greater 'sample_rate' than 1024 Hz, by which no frame of a "
                 "second has a number above 3, as 4 of 12 have"),
                ("made.vdif", {"sample_rate": "1.024 MHz", "thread_ids": [0, 7]},
                 "wants threads of made.vdif, but is given 7, of which it has no frame"),
                ("made.vdif", {"sample_rate": "1.024 MHz", "centre_frequency": "1 MHz"},
                 "wants complex samples: give 'first_frequency' for these"),
                ("channels.vdif", {"sample_rate": "1.024 MHz", "channels": "pol"},
                 "wants another axis than the 2 threads have, but is given 'pol'"),
                ("channels.vdif", {"sample_rate": "1.024 MHz", "frequencies": ["1 MHz"]},
                 "wants one for each of 4 subbands, but is given 1")):
            with self.subTest(path=path, source=source):
                error = self.fail(path, source)
                self.assertTrue(error.startswith("graph.yaml:"), error)
                self.assertTrue(error.endswith(ending), error)

    def test_long(self):
        """80000 frames are opened by a sample of them. Two files are one recording, of which frames
        are lost and late; a part of the time is a part of it."""
        n, second, samples, random = 40000, 1000, 32, np.random.default_rng(1)
        codes = random.integers(0, 4, (n, 2, samples))
        values = LEVELS[2][codes]
        frames = [make_frame(pack(codes[i, thread], 2), i % second, 14363767 + i // second, thread)
                  for i in range(n) for thread in (0, 1)]
        places = random.choice(np.arange(50, 2 * n - 50, 100), 200, replace=False)
        for i in places[:100]:
            frames[i] = b""
            values[i // 2, i % 2] = 0
        for i in places[100:]:
            frames[i], frames[i + 9] = frames[i + 9], frames[i]
        values = values.transpose(0, 2, 1).reshape(-1, 2)
        paths = [f"long.{i}.vdif" for i in (0, 1)]
        for path, half in zip(paths, (frames[:2 * 12345], frames[2 * 12345:])):
            (self.folder / path).write_bytes(b"".join(half))
        array, counts, beside = self.decode("long.*.vdif")
        np.testing.assert_array_equal(array, values)
        self.assertEqual(beside["sample_rate"], samples * second)
        del counts["reordered"]
        self.assertEqual(counts, {"packets": 2 * n - 100, "missing": 100})
        graph = {"start": "2014-06-16T05:56:29.5Z", "stop": "2014-06-16T05:56:31Z", "stages": {
            "sky": {"stage": "vdif.source", "path": paths},
            "out": {"stage": "file.sink", "from": "sky", "path": "part.npy"}}}
        (self.folder / "part.yaml").write_text(json.dumps(graph))
        subprocess.run([graphs.COMMAND, "run", "--quiet", "part.yaml"], cwd=self.folder, check=True,
                       timeout=120)
        rate = samples * second
        np.testing.assert_array_equal(np.load(self.folder / "part.npy"),
                                      values[45 * rate // 2:24 * rate])


if __name__ == "__main__":
    tap.main()
