#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""guppi.sink: the bytes of its files, what guppi.source and baseband read of them, and faults."""
import json
import math
import subprocess

import numpy as np

import graphs
import oracles
import recordings
import tap

CHANNELS = {"name": "channel", "unit": "Hz", "first": 320e6, "step": 16e6}
# What headers say, without PATH.json.
SAID = ("epoch", "ticks_per_second", "ticks_per_sample", "start", "start_utc", "type")


def read_blocks(data):
    """The headers of the blocks, and their bytes; what is cut off at the end counts as none."""
    blocks, at = [], 0
    while at < len(data):
        header, begin = {}, at
        while data[at:at + 4] != b"END ":
            card = data[at:at + 80].decode("ascii")
            if len(card) < 80 or card[8:10] != "= ":
                return blocks
            header[card[:8].strip()] = card[10:].strip().strip("'").strip()
            at += 80
        at += 80
        if header["DIRECTIO"] == "1":
            at = begin + (at - begin + 511) // 512 * 512
        n = int(header["BLOCSIZE"])
        if at + n > len(data):
            break
        blocks.append((header, data[at:at + n]))
        at += n
    return blocks


class Sink(recordings.RecordingTest):
    def read(self, name="out.raw"):
        return read_blocks((self.folder / name).read_bytes())

    def join(self, blocks, array, n_pols):
        """The samples of blocks in the order of an array, [time channel station pol], and of blocks
        [station channel time pol]."""
        parts = []
        for header, data in blocks:
            stations = int(header.get("NANTS", 1))
            shape = (stations, int(header["OBSNCHAN"]) // stations, int(header["PIPERBLK"]), n_pols,
                     *array.shape[4:])
            parts.append(np.frombuffer(data, array.dtype).reshape(shape).swapaxes(0, 2))
        return np.concatenate(parts)

    def test_elements(self):
        """Every type; stations; blocks of any size, of the file and of the stream; one sample."""
        for kind in ("ci4", "ci8", "ci16"):
            for n, n_channels, n_stations, n_pols, block, stream in (
                    (37, 3, 1, 2, 8, 5), (64, 1, 3, 2, 16, 64), (40, 5, 2, 1, 1, 7), (1, 1, 1, 1, 9, 1),
                    (37, 3, 2, 2, None, 11)):
                for direct in (True, False):
                    with self.subTest(kind=kind, n=n, block=block, direct=direct):
                        array = self.put(kind, [("time", n), {**CHANNELS, "length": n_channels},
                                                ("station", n_stations), ("pol", n_pols)])
                        given = {"block_samples": block} if block else {}
                        self.convert({"stage": "guppi.sink", "path": "out.raw", "direct_io": direct,
                                      **given}, self.source(block={"time": stream}))
                        blocks = self.read()
                        size = block or n
                        self.assertEqual(len(blocks), -(-n // size))
                        joined = self.join(blocks, array, n_pols)
                        np.testing.assert_array_equal(joined[:n], array)
                        self.assertFalse(joined[n:].any())
                        self.assertEqual([int(header["PKTIDX"]) for header, _ in blocks],
                                         list(range(0, n, size)))
                        self.assertEqual({header["NBITS"] for header, _ in blocks},
                                         {kind[2:]})
                        self.assertEqual(self.sort_axes("out.raw"), self.sort_axes("same.npy"))
                        array, beside = self.read_alone(
                            {"stage": "guppi.source", "path": "out.raw"})
                        same, wanted = np.load(self.folder / "same.npy"), self.beside("same.npy")
                        self.assertEqual(array.shape, tuple(
                            length for length, axis in zip(same.shape, (
                                [*wanted["axes"], {"name": "part"}]))
                            if axis["name"] != "station" or length > 1))
                        np.testing.assert_array_equal(array, same.reshape(array.shape))
                        self.assertEqual([beside.get(key) for key in SAID],
                                         [wanted.get(key) for key in SAID])

    def sort_axes(self, name):
        return sorted(self.beside(name)["axes"], key=lambda axis: axis["name"])

    def test_header(self):
        self.put("ci8", [("time", 20), {**CHANNELS, "length": 4, "step": -16e6},
                         {"name": "station", "length": 2, "labels": ["ea01", "ea02"]}, ("pol", 2)],
                 {"start": 10})
        self.convert({"stage": "guppi.sink", "path": "out.raw", "block_samples": 16,
                      "instrument": "ATA"})
        (first, _), (header, _) = self.read()
        self.assertEqual((first["PKTIDX"], first["PKTSTOP"]), ("10", "30"))
        self.assertEqual(header, {
            "BACKEND": "ATA", "TELESCOP": "Effelsberg", "SRC_NAME": "B2016+28", "PROJID": "P1",
            "OBSERVER": "A. Person", "FD_POLN": "CIRC", "OBSFREQ": "296", "OBSBW": "-64",
            "CHAN_BW": "-16", "TBIN": "6.25e-08", "STT_IMJD": "59759", "STT_SMJD": "5400",
            "STT_OFFS": "0", "OBSNCHAN": "8", "NANTS": "2", "ANTNMS00": "ea01,ea02", "NPOL": "4",
            "NBITS": "8", "PKTFMT": "1SFA", "PKTSIZE": "32", "PKTNTIME": "1", "PIPERBLK": "16",
            "BLOCSIZE": "512", "OVERLAP": "0", "DIRECTIO": "1", "PKTIDX": "26", "PKTSTOP": "30",
            "DROPBLK": "0", "RA_STR": header["RA_STR"], "DEC_STR": header["DEC_STR"]})
        _, beside = self.read_alone({"stage": "guppi.source", "path": "out.raw"})
        wanted = self.beside("same.npy")
        self.assertEqual(beside["axes"], wanted["axes"])
        for key in ("telescope", "source", "project", "observer"):
            self.assertEqual(beside["observation"][key], wanted["observation"][key])
        np.testing.assert_allclose(beside["observation"]["phase_centre"],
                                   wanted["observation"]["phase_centre"], rtol=0,
                                   atol=0.51e-8 / 3600 / 12 * math.pi)

    def test_many_stations(self):
        """Names fill several cards."""
        names = [f"station-{i:04}" for i in range(60)]
        self.put("ci8", [("time", 3), {**CHANNELS, "length": 1},
                         {"name": "station", "length": 60, "labels": names}, ("pol", 2)])
        self.convert({"stage": "guppi.sink", "path": "out.raw"})
        (header, _), = self.read()
        self.assertEqual(",".join(value for key, value in sorted(header.items())
                                  if key.startswith("ANTNMS")), ",".join(names))
        _, beside = self.read_alone({"stage": "guppi.source", "path": "out.raw"})
        self.assertEqual(beside["axes"][2]["labels"], names)

    def test_clocks(self):
        """Epochs near and far, and starts between seconds and between samples."""
        for clock, second, index, fraction in (
                ({"epoch": 0, "start": 1656466200 * 16000000 + 5}, 5400, 5, 0),
                ({"start": -1}, 5399, 15999999, 0),
                ({"ticks_per_second": [200000000, 1], "ticks_per_sample": 16, "start": 1}, 5400, 0,
                 5e-9),
                ({"epoch": None, "start": 9}, None, 9, None)):
            with self.subTest(clock):
                rate = 12.5e6 if "ticks_per_sample" in clock else 16e6
                self.put("ci8", [("time", 20), {**CHANNELS, "length": 2, "step": rate}, ("pol", 2)],
                         clock)
                self.convert({"stage": "guppi.sink", "path": "out.raw"})
                (header, _), = self.read()
                self.assertEqual(int(header["PKTIDX"]), index)
                self.assertEqual(int(header["STT_SMJD"]) if second else header.get("STT_SMJD"),
                                 second)
                self.assertEqual(float(header["STT_OFFS"]) if second else None, fraction)
                _, beside = self.read_alone({"stage": "guppi.source", "path": "out.raw"})
                wanted = self.beside("same.npy")
                self.assertEqual(beside["sample_rate"], wanted["sample_rate"])
                self.assertEqual(beside.get("start_utc"), wanted.get("start_utc"))

    def test_rate_of_a_third(self):
        """Frequencies far above the rate have fewer digits than it: the band is that of the rate."""
        for centre in (150e6, 1.4e9):
            for sign in (1, -1):
                with self.subTest(centre=centre, sign=sign):
                    self.put("ci8", [("time", 20), {**CHANNELS, "length": 3, "first": centre,
                                                    "step": sign * 1e6 / 3}, ("pol", 2)],
                             {"ticks_per_second": [1000000, 3], "start": 0})
                    self.convert({"stage": "guppi.sink", "path": "out.raw"})
                    (header, _), = self.read()
                    self.assertEqual(float(header["OBSBW"]), sign)
                    _, beside = self.read_back({"stage": "guppi.source", "path": "out.raw"})
                    self.assertEqual(beside["ticks_per_second"], [1000000, 3])

    def test_slow_rates(self):
        """Rates of some hertz that are no short decimals come back, also without PATH.json."""
        for rate in ([10, 3], [5859375, 2097152], [1000, 7]):
            with self.subTest(rate):
                self.put("ci8", [("time", 20), {**CHANNELS, "length": 2, "step": rate[0] / rate[1]},
                                 ("pol", 2)], {"ticks_per_second": rate, "start": 0})
                self.convert({"stage": "guppi.sink", "path": "out.raw"})
                self.check_same({"stage": "guppi.source", "path": "out.raw"})
                (self.folder / "out.raw.json").unlink()
                _, beside = self.read_back({"stage": "guppi.source", "path": "out.raw"})
                self.assertEqual(beside["ticks_per_second"], rate)

    def test_validity(self):
        """DROPBLK is the part of a block that is invalid; blocks of which all is are invalid again."""
        gaps = {"axes": ["station"], "valid": 0.9, "invalid_samples": [28, 20],
                "gaps": [{"lanes": [0, 1], "samples": [20, 28]},
                         {"lanes": [1, 1], "samples": [28, 20]}]}
        array = self.put("ci8", [("time", 70), {**CHANNELS, "length": 3}, ("station", 2),
                                 ("pol", 2)], gaps=gaps)
        self.convert({"stage": "guppi.sink", "path": "out.raw", "block_samples": 10},
                     self.source(block={"time": 7}))
        array[20:48, :, 0] = array[28:48, :, 1] = 0
        blocks = self.read()
        self.assertEqual([float(header["DROPBLK"]) for header, _ in blocks],
                         [0, 0, 0.6, 1, 0.8, 0, 0])
        np.testing.assert_array_equal(self.join(blocks, array, 2), array)
        self.assertEqual(self.beside("out.raw")["validity"], self.beside("same.npy")["validity"])
        self.check_same({"stage": "guppi.source", "path": "out.raw"})
        back, beside = self.read_alone({"stage": "guppi.source", "path": "out.raw"})
        np.testing.assert_array_equal(back, array)
        self.assertEqual(beside["validity"]["gaps"], [{"lanes": [0, 1], "samples": [30, 10]}])

    def put_all(self, n=70, clock=None):
        """A stream with all that PATH.json can say."""
        axes = [("time", n), {"name": "subband", "length": 3, "unit": "Hz",
                              "table": [320e6, 330e6, 340e6], "labels": ["low", "mid", "high"]},
                {"name": "station", "length": 1, "labels": ["a,b"]},
                {"name": "pol", "length": 2, "labels": ["x'", "y'"]}]
        gaps = {"axes": ["subband", "pol"], "gaps": [
            {"lanes": [0, 2, 3, 3], "samples": [0, 13, 20, 10, n - 1, 1]},
            {"lanes": [2, 1], "samples": [0, 13, 20, 11, 45, 3, n - 1, 1]}]}
        self.put("ci8", axes, clock, gaps=gaps, observation={
            **recordings.OBSERVATION, "position": [1.5, 2.5, 3.5],
            "stations": [{"name": "a,b", "position": [1.25, 0, 0], "feeds": [0.5, 0]}]})

    def test_beside(self):
        """PATH.json gives back all that headers can't hold: gaps at the ends and within blocks, by
        lane; any clock, labels, stations, axes of one element; also of the files of a rotation."""
        for clock in ({"ticks_per_second": [48000001, 3], "ticks_per_sample": 16, "start": 5,
                       "epoch": 1656466200},
                      {"ticks_per_second": [16000000, 1], "start": -7, "epoch": None},
                      {"ticks_per_second": [16000000, 3], "start": 86400 * 16000000,
                       "epoch": 1656466200}):
            for more in ({"path": "out.raw"}, {"path": "out-%i.raw", "rotate_samples": 20}):
                with self.subTest(**clock, **more):
                    for path in self.folder.glob("out*"):
                        path.unlink()
                    self.put_all(clock=clock)
                    self.convert({"stage": "guppi.sink", "block_samples": 10, **more},
                                 self.source(block={"time": 7}))
                    source = {"stage": "guppi.source", "path": more["path"].replace("%i", "*")}
                    self.check_same(source)
                    self.check_same({**source, "block": {"time": 11}, "channels": "subband"})

    def test_beside_bare(self):
        """The axes of one element, the observation and the labels that the stream had not, nothing
        adds."""
        for axes in ([("time", 70)], [("time", 70), ("station", 1)],
                     [("time", 70), {**CHANNELS, "length": 3}],
                     [("time", 70), ("station", 2), ("pol", 2)]):
            with self.subTest(axes=axes):
                self.put("ci8", axes, observation=None)
                source = self.source()
                path = self.folder / "in.npy.json"
                said = json.loads(path.read_text())
                del said["observation"]
                path.write_text(json.dumps(said))
                self.convert({"stage": "guppi.sink", "path": "out.raw", "block_samples": 10}, source)
                self.check_same({"stage": "guppi.source", "path": "out.raw"})
                self.assertNotIn("observation", self.beside("same.npy"))
                self.assertNotIn("observation", self.beside("back.npy"))

    def test_inspect(self):
        """What the sink refuses is no parameter."""
        for stage, is_there in (("guppi.sink", False), ("vdif.sink", False), ("uvh5.sink", False),
                                ("file.sink", True)):
            said = subprocess.run([graphs.COMMAND, "inspect", stage], capture_output=True, text=True,
                                  check=True).stdout
            if "not in this build" not in said:
                self.assertEqual("rotate_bytes" in said, is_there, stage)
                self.assertIn("rotate_samples", said)

    def test_beside_lost(self):
        """Blocks that are lost are invalid, at the end of the stream too."""
        self.put_all()
        self.convert({"stage": "guppi.sink", "path": "out.raw", "block_samples": 10})
        wanted = recordings.find_valid(self.beside("same.npy")).copy()
        data = bytearray((self.folder / "out.raw").read_bytes())
        size = len(data) // 7
        for block in (4, 6):
            data[block * size:block * size + 80] = bytes(80)
            wanted[10 * block:10 * block + 10] = False
        (self.folder / "out.raw").write_bytes(data)
        back, beside = self.read_back({"stage": "guppi.source", "path": "out.raw"})
        np.testing.assert_array_equal(recordings.find_valid(beside), wanted)
        np.testing.assert_array_equal(
            back, np.where(wanted[..., None], np.load(self.folder / "same.npy"), 0))

    def test_beside_errors(self):
        """PATH.json of another file, or one that contradicts the headers."""
        self.put("ci8", [("time", 70), {**CHANNELS, "length": 3}, ("pol", 2)])
        self.convert({"stage": "guppi.sink", "path": "out.raw", "block_samples": 10})
        said, length = self.beside("out.raw"), (self.folder / "out.raw").stat().st_size
        agrees = "out.raw: wants a header that agrees with @out.raw.json, but is given"
        for change, message in (
                ({"bytes": 3}, "wants an array of 3 bytes, but is "
                 f"given one of {length}: it belongs to another array"),
                ({"ticks_per_second": [16000016, 1]},
                 f"{agrees} 16000000 instead of 16000016 samples per second"),
                ({"epoch": said["epoch"] + 1},
                 f"{agrees} a packet -16000000 samples after the start, of 70 in packets of 10"),
                ({"axes": [{**axis, "first": 321e6} if axis["name"] == "channel" else axis
                           for axis in said["axes"]]},
                 f"{agrees} other coordinates of axis 'channel'")):
            with self.subTest(message):
                (self.folder / "out.raw.json").write_text(json.dumps({**said, **change}, indent=2))
                error = self.fail_graph({"in": {"stage": "guppi.source", "path": "out.raw"},
                                         "out": {"stage": "discard", "from": "in"}})
                error = error.replace(str(self.folder) + "/", "")
                self.assertIn(message.replace("@", ""), error)

    def test_rotation(self):
        """Many files are one recording, with a part of a block at the end."""
        for rotation in ({"rotate_samples": 20}, {"rotate_time": "1.25 us"}):
            for path in self.folder.glob("out-*"):
                path.unlink()
            self.put("ci8", [("time", 1013), {**CHANNELS, "length": 3}, ("pol", 2)], {"start": 3})
            self.convert({"stage": "guppi.sink", "path": "out-%i.raw", "block_samples": 10,
                          **rotation}, self.source(block={"time": 64}))
            paths = sorted(self.folder.glob("out-*.raw"))
            self.assertEqual(len(paths), 51)
            self.assertEqual([int(header["PKTIDX"]) for path in paths
                              for header, _ in self.read(path.name)], list(range(3, 1016, 10)))
            back, beside = self.read_alone({"stage": "guppi.source", "path": "out-*.raw"})
            np.testing.assert_array_equal(back, np.load(self.folder / "same.npy"))
            self.assertEqual([beside[key] for key in SAID],
                             [self.beside("same.npy")[key] for key in SAID])

    def test_full_disk(self):
        """What a full disk leaves are whole blocks."""
        array = self.put("ci8", [("time", 60000), {**CHANNELS, "length": 1}, ("pol", 1)])
        error = self.fail_graph(
            {"in": self.source(block={"time": 1000}), "out": {
                "stage": "guppi.sink", "from": "in", "path": "out.raw", "block_samples": 700}},
            preexec_fn=self.limit(50001))
        self.assertIn("out.raw.partial: can't be written: File too large", error)
        self.assertEqual([path.name for path in sorted(self.folder.glob("out*"))],
                         ["out.raw.json.partial", "out.raw.partial"])
        length = (self.folder / "out.raw.partial").stat().st_size
        blocks = self.read("out.raw.partial")
        self.assertEqual(length % len(blocks), 0)
        self.assertEqual(len(blocks), 50001 // (length // len(blocks)))
        (self.folder / "out.raw.partial").rename(self.folder / "cut.raw")
        back, _ = self.read_alone({"stage": "guppi.source", "path": "cut.raw"})
        np.testing.assert_array_equal(back, array[:700 * len(blocks)])

    def test_kill(self):
        """Files under final names are whole; the partial one begins with whole blocks."""
        array = self.put("ci8", [("time", 300000), {**CHANNELS, "length": 1}, ("pol", 1)])
        seen = {"whole": 0, "partial": 0}

        def check():
            whole = sorted(self.folder.glob("out-*.raw"))
            for i, path in enumerate(whole):
                blocks = self.read(path.name)
                self.assertEqual(len(blocks), 7)
                joined = b"".join(data for _, data in blocks)
                self.assertEqual(joined, array[7007 * i:7007 * (i + 1)].tobytes())
                seen["whole"] += 1
            for path in self.folder.glob("out-*.raw.partial"):
                for header, data in self.read(path.name):
                    begin = int(header["PKTIDX"])
                    self.assertEqual(data, array[begin:begin + 1001].tobytes())
                    seen["partial"] += 1

        self.kill({"in": self.source(block={"time": 1}), "out": {
            "stage": "guppi.sink", "from": "in", "path": "out-%i.raw", "block_samples": 1001,
            "rotate_samples": 7007}}, 82, check, 5, seen)

    def test_interrupt(self):
        """An interrupt ends the stream within a block."""
        array = self.put("ci8", [("time", 300000), {**CHANNELS, "length": 1}, ("pol", 1)])
        self.interrupt({"in": self.source(block={"time": 1}), "out": {
            "stage": "guppi.sink", "from": "in", "path": "out.raw", "block_samples": 60000}}, 92)
        n = next(axis["length"] for axis in self.beside("out.raw")["axes"]
                 if axis["name"] == "time")
        self.assertLess(n, 300000)
        back, _ = self.read_alone({"stage": "guppi.source", "path": "out.raw"})
        np.testing.assert_array_equal(back, array[:n])

    def test_baseband(self):
        """The values, start and rate that the PyPI package baseband reads, which wants two
        polarisations and several channels."""
        script = ("import sys, numpy\n"
                  "from baseband import guppi\n"
                  "with guppi.open(sys.argv[1], 'rs', squeeze=False) as file:\n"
                  "    numpy.save(sys.argv[2], file.read())\n"
                  "    print(file.start_time.utc.isot[:23], file.sample_rate.to_value('Hz'))\n")
        for n, block, direct in ((1000, 100, True), (1000, None, False), (30, 1, True)):
            with self.subTest(n=n, block=block):
                array = self.put("ci8", [("time", n), {**CHANNELS, "length": 5}, ("pol", 2)],
                                 {"start": 8000000})
                given = {"block_samples": block} if block else {}
                self.convert({"stage": "guppi.sink", "path": "out.raw", "direct_io": direct, **given})
                start, rate = oracles.run(self, oracles.BASEBAND, script, self.folder / "out.raw",
                                          self.folder / "read.npy").split()
                read = np.swapaxes(np.load(self.folder / "read.npy"), 1, 2)
                np.testing.assert_array_equal(read,
                                              array[..., 0] + 1j * array[..., 1].astype(np.float32))
                self.assertEqual((start, float(rate)), ("2022-06-29T01:30:00.500", 16e6))

    def test_plain_array(self):
        """file.source does not take the file, whose extension is that of plain arrays, for one."""
        self.put("ci8", [("time", 64), {**CHANNELS, "length": 2}, ("pol", 2)])
        self.convert({"stage": "guppi.sink", "path": "out.raw", "block_samples": 16})
        error = self.fail_graph({"in": {"stage": "file.source", "path": "out.raw"},
                                 "out": {"stage": "discard", "from": "in"}})
        self.assertIn("parameter 'shape': wants a length for each of 3 axes, but is given 0", error)

    def test_errors(self):
        channels, pair = {**CHANNELS, "length": 3}, ("pol", 2)
        for kind, axes, sink, message in (
                ("ci8", [("time", 50), channels, ("beam", 2), pair], {},
                 "wants time, subband or channel, station and pol, as a GUPPI RAW file has them, but "
                 "is given 'beam' with 2: each needs a stream and a sink of its own"),
                ("ci8", [("time", 50), channels, pair], {"rotate_samples": 15, "block_samples": 10},
                 "parameter 'rotate_samples': wants whole blocks of 10 samples (block_samples), but is "
                 "given 15 samples"),
                ("ci8", [("time", 50), channels, pair], {"rotate_time": "1 us", "block_samples": 10},
                 "parameter 'rotate_time': wants whole blocks of 10 samples (block_samples), but is "
                 "given 16 samples"),
                ("ci8", [("time", 50), channels, pair], {"rotate_bytes": "1 MB"},
                 "stage 'guppi.sink' has no parameter 'rotate_bytes'"),
                ("ci8", [("time", 50), channels, pair], {"instrument": "it's"},
                 "parameter 'instrument': wants ASCII without ', of at most 68 bytes, but is given "
                 "'it's'")):
            with self.subTest(message):
                self.put(kind, axes)
                error = self.fail_graph({"in": self.source(), "out": {
                    "stage": "guppi.sink", "from": "in", "path": "out-%i.raw" if "rotate" in
                    " ".join(sink) else "out.raw", **sink}})
                self.assertIn(message, error)
                self.assertRegex(error, r"^graph.yaml:\d+:\d+: node 'out': ")

    def test_warnings(self):
        self.put("ci8", [("time", 5), {**CHANNELS, "length": 2}], {"epoch": None},
                 observation={"observer": "O'Neill", "telescope": "x" * 69})
        stages = {"in": self.source(), "out": {"stage": "guppi.sink", "from": "in",
                                               "path": "out.raw"}}
        done = subprocess.run([graphs.COMMAND, "run", "--quiet", self.write(stages)],
                              cwd=self.folder, capture_output=True, text=True, timeout=120,
                              check=True)
        wants = "wants ASCII without ', of at most 68 bytes, but is given"
        for message in ("the stream does not know its UTC: headers have no STT_IMJD",
                        f"the header has no OBSERVER, which {wants} 'O'Neill'",
                        f"the header has no TELESCOP, which {wants} '{'x' * 69}'"):
            self.assertIn(f"node 'out': warning: {message}", done.stderr)
        beside = json.loads((self.folder / "out.raw.json").read_text())
        self.assertEqual(beside["observation"]["observer"], "O'Neill")


if __name__ == "__main__":
    tap.main()
