#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""file.source and file.sink: every type and order, the file beside the array, and errors."""
import hashlib
import itertools
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time
import unittest

import pipeline  # this import comes first: with sanitizers it starts the program again

import numpy as np

import graphs
import tap

# NumPy's type, and whether a last axis has the parts.
TYPES = {
    "ci4": ("u1", False), "ci8": ("i1", True), "ci16": ("i2", True), "ci32": ("i4", True),
    "ci64": ("i8", True), "cf16": ("f2", True), "cf32": ("c8", False), "cf64": ("c16", False),
    "i8": ("i1", False), "i16": ("i2", False), "i32": ("i4", False), "i64": ("i8", False),
    "u8": ("u1", False), "u32": ("u4", False), "f16": ("f2", False), "f32": ("f4", False),
    "f64": ("f8", False),
}
LENGTHS = {"time": 37, "channel": 3, "station": 1, "pol": 2}


def make_array(axes, name):
    """An array with all bit patterns, including NaNs."""
    dtype, has_parts = TYPES[name]
    shape = [LENGTHS[axis] for axis in axes] + [2] * has_parts
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(np.random.default_rng(1).bytes(n_bytes), dtype).reshape(shape)


def copy_stages(layout, source=None, sink=None):
    return {
        "in": {"stage": "file.source", "path": "in.npy", "layout": layout, **(source or {})},
        "out": {"stage": "file.sink", "from": "in", "path": "out.npy",
                "layout": layout[layout.index("["):], **(sink or {})},
    }


class Copies(graphs.GraphTest):
    def check_copy(self, array, stored, stages):
        np.save(self.folder / "in.npy", stored)
        self.run_graph(stages)
        copy = np.load(self.folder / "out.npy")
        self.assertEqual((copy.dtype, copy.shape), (array.dtype, array.shape))
        self.assertEqual(copy.tobytes(), np.ascontiguousarray(array).tobytes())
        self.assertFalse(list(self.folder.glob("*.partial")))

    def test_types(self):
        for name in TYPES:
            for axes in (["time", "channel", "pol"], ["channel", "time", "pol"],
                         ["pol", "channel", "time"]):
                with self.subTest(type=name, axes=axes):
                    array = make_array(axes, name)
                    self.check_copy(array, array, copy_stages(f"{name}[{' '.join(axes)}]"))

    def test_orders(self):
        for axes in itertools.permutations(LENGTHS):
            for block in (1, 7, 64):
                with self.subTest(axes=axes, block=block):
                    array = make_array(axes, "ci8")
                    self.check_copy(array, array, copy_stages(
                        f"ci8[{' '.join(axes)}]", {"block": {"time": block}}))

    def test_byte_and_axis_orders(self):
        axes = ["channel", "time", "pol"]
        for name in ("ci4", "ci8", "ci16", "cf32", "f64"):
            array = make_array(axes, name)
            swapped = array.byteswap().view(array.dtype.newbyteorder())
            for stored in (np.asfortranarray(array), swapped, np.asfortranarray(swapped)):
                # The source gives complex types whose parts are separate in logical order, and
                # others in the order of memory.
                gathers = not stored.flags.c_contiguous and not TYPES[name][1]
                order = axes[::-1] if gathers else axes
                wanted = array.T if gathers else array
                with self.subTest(type=name, stored=stored.dtype, fortran=stored.flags.f_contiguous):
                    stages = copy_stages(f"{name}[{' '.join(axes)}]")
                    if not stored.flags.c_contiguous:
                        order, wanted = axes[::-1], array.transpose(
                            [2, 1, 0] + [3] * TYPES[name][1])
                    stages["out"]["layout"] = f"[{' '.join(order)}]"
                    self.check_copy(wanted, stored, stages)

    def test_order_of_other_axes(self):
        """Axes that have no canonical place keep the order of `layout`, also in Fortran order."""
        array = np.arange(30, dtype=np.int16).reshape(5, 3, 2)
        stages = copy_stages("i16[time feed sort]")
        del stages["out"]["layout"]
        for stored in (array, np.asfortranarray(array)):
            self.check_copy(array, stored, stages)

    def test_raw(self):
        array = make_array(["time", "channel", "pol"], "ci16")
        for shape in ([37, 3, 2], [-1, 3, 2]):
            array.tofile(self.folder / "in.raw")
            self.run_graph(copy_stages("ci16[time channel pol]", {"path": "in.raw", "shape": shape},
                                       {"path": "out.raw"}))
            copy = np.fromfile(self.folder / "out.raw", array.dtype)
            np.testing.assert_array_equal(copy, array.ravel())

    def test_types_left_out(self):
        array = make_array(["time", "pol"], "cf32")
        self.check_copy(array, array, copy_stages("[time pol]"))

    def test_another_order_and_type(self):
        """The planner inserts a transpose or a conversion if the sink wants what the source does
        not give."""
        axes = ["time", "channel", "station", "pol"]
        array = make_array(axes, "ci8")
        np.save(self.folder / "in.npy", array)
        whole = array[..., 0] + 1j * array[..., 1].astype(np.float32)
        for order in ("pol time channel station", "channel station pol time",
                      "station pol time channel"):
            for name, block in (("ci8", 5), ("cf32", 1), ("cf64", 37)):
                with self.subTest(order=order, type=name):
                    self.run_graph(copy_stages("ci8[time channel station pol]",
                                               {"block": {"time": block}},
                                               {"layout": f"{name}[{order}]"}))
                    copy = np.load(self.folder / "out.npy")
                    if name == "ci8":
                        copy = copy[..., 0] + 1j * copy[..., 1].astype(np.float32)
                    np.testing.assert_array_equal(
                        copy, whole.transpose([axes.index(axis) for axis in order.split()]))

    def test_no_time(self):
        array = make_array(["channel", "pol"], "cf64")
        self.check_copy(array, array, copy_stages("cf64[channel pol]"))

    def test_no_samples(self):
        array = make_array(["channel", "time"], "f32")[:, :0]
        self.check_copy(array, array, copy_stages("f32[channel time]"))


class Sidecars(graphs.GraphTest):
    def test_round_trip(self):
        array = make_array(["channel", "time", "pol"], "cf32")
        np.save(self.folder / "in.npy", array)
        self.run_graph(copy_stages("cf32[channel time pol]", {
            "sample_rate": "195312.5 Hz", "ticks_per_sample": 1024, "start": 2048,
            "epoch": "2022-06-29T01:30:00Z", "centre_frequency": "150 MHz",
            "frequencies": ["1 MHz", "2 MHz", "4 MHz"]}))
        first = json.loads((self.folder / "out.npy.json").read_text())
        self.assertEqual(first["type"], "cf32")
        self.assertEqual(first["layout"], "cf32[channel time pol]")
        self.assertEqual(first["ticks_per_second"], [200000000, 1])
        self.assertEqual(first["ticks_per_sample"], 1024)
        self.assertEqual(first["start"], 2048)
        self.assertEqual(first["start_utc"], "2022-06-29T01:30:00.000010240Z")
        self.assertEqual(first["frequency"], 150e6)
        self.assertEqual(first["axes"], [
            {"name": "channel", "length": 3, "unit": "Hz", "table": [1e6, 2e6, 4e6]},
            {"name": "time", "length": 37, "unit": "s", "first": 0, "step": 5.12e-6},
            {"name": "pol", "length": 2}])
        self.assertEqual(first["validity"], {"axes": [], "valid": 1, "invalid_samples": []})

        self.assertEqual(first["bytes"], (self.folder / "out.npy").stat().st_size)
        self.assertIs(first["interrupted"], False)
        self.assertNotIn("written", first)
        self.assertNotIn("sha256", first)

        self.run_graph({
            "in": {"stage": "file.source", "path": "out.npy"},
            "out": {"stage": "file.sink", "from": "in", "path": "again.npy",
                    "layout": "[channel time pol]"}})
        again = json.loads((self.folder / "again.npy.json").read_text())
        self.assertNotEqual(again.pop("generation"), first.pop("generation"))
        self.assertEqual(again, first)

    def test_rate_beside_a_clock(self):
        """If the graph gives a sample rate, the ticks per sample of PATH.json still hold, so that
        its start keeps its meaning; with other ticks per sample, the graph must give a start."""
        np.save(self.folder / "in.npy", np.zeros(4, np.float32))
        (self.folder / "in.npy.json").write_text(
            '{"layout": "f32[time]", "type": "f32", "axes": [], "ticks_per_second": [1000000, 1], '
            '"ticks_per_sample": 50, "start": 5000}')
        for given, wanted in (({}, ([1000000, 1], 50, 5000)),
                              ({"sample_rate": "20 kHz"}, ([1000000, 1], 50, 5000)),
                              ({"sample_rate": "40 kHz"}, ([2000000, 1], 50, 5000)),
                              ({"sample_rate": "20 kHz", "ticks_per_sample": 1, "start": 100},
                               ([20000, 1], 1, 100))):
            with self.subTest(given):
                self.run_graph(copy_stages("f32[time]", given))
                beside = json.loads((self.folder / "out.npy.json").read_text())
                clock = tuple(beside[key] for key in
                              ("ticks_per_second", "ticks_per_sample", "start"))
                self.assertEqual(clock, wanted)
        error = self.fail_graph(copy_stages("f32[time]", {"sample_rate": "20 kHz",
                                                          "ticks_per_sample": 1}))
        self.assertIn("'ticks_per_sample': wants 'start' beside it, for that of in.npy.json counts "
                      "ticks of which a sample has 50", error)

    AXES = [{"name": "time", "length": 8}, {"name": "pol", "length": 2}]

    def test_losses(self):
        """A source warns if samples that it reads as valid were invalid."""
        np.save(self.folder / "in.npy", np.zeros((8, 2), np.float32))
        unknown = {"validity": {"axes": ["pol"], "valid": 0.8125, "invalid_samples": [3, 0]}}
        known = {"validity": {"axes": ["pol"], "gaps": [{"lanes": [0, 1], "samples": [1, 2, 4, 1]}]}}
        says_invalid = ("'path': 3 samples are invalid, as in.npy.json says, but are read as valid: "
                        "it does not say which of this array's they are")
        says_interrupted = ("'path': the run that wrote in.npy was interrupted, as in.npy.json says: "
                            "the array is read as a whole stream")
        other_axis = [self.AXES[0], {"name": "pol", "length": 3}]
        other_time = [{"name": "time", "length": 9}, self.AXES[1]]
        for keys, said in ((unknown, [says_invalid]), ({"interrupted": True}, [says_interrupted]),
                           ({**unknown, "interrupted": True}, [says_invalid, says_interrupted]),
                           ({"interrupted": False, "validity": {"invalid_samples": [0, 0]}}, []),
                           ({"validity": {"invalid_samples": []}}, []), (known, []),
                           # They are of other lanes, or of another range, than the array's.
                           ({**known, "axes": other_axis}, [says_invalid]),
                           ({**known, "axes": other_time}, [says_invalid])):
            with self.subTest(keys):
                (self.folder / "in.npy.json").write_text(json.dumps(
                    {"layout": "f32[time pol]", "type": "f32", "axes": self.AXES, **keys}))
                stages = copy_stages("f32[time pol]")
                warnings = self.run_graph(stages)["warnings"]
                self.assertEqual([(w["node"], w["message"]) for w in warnings],
                                 [("in", "parameter " + text) for text in said])
                process = self.start(stages, "--strict")
                _, errors = process.communicate(timeout=120)
                self.assertEqual(process.returncode, 1 if said else 0)
                self.assertEqual(len(errors.splitlines()), len(said), errors)

    def test_validity(self):
        """A sink keeps which samples are invalid, and a source gives it back."""
        gaps = {"stage": "generate", "sample_rate": "1 MHz", "samples": 64, "n_stations": 3}
        self.run_graph({
            "sky": {**gaps, "invalid": [[0, 5, 7], [2, 60, 9], [0, 20, 1], [2, 0, 1]]},
            "out": {"stage": "file.sink", "from": "sky", "path": "in.npy"}})
        validity = json.loads((self.folder / "in.npy.json").read_text())["validity"]
        self.assertEqual(validity, {
            "axes": ["station"], "valid": 1 - 13 / (3 * 64), "invalid_samples": [8, 0, 5],
            "gaps": [{"lanes": [0, 1], "samples": [5, 7, 20, 1]},
                     {"lanes": [2, 1], "samples": [0, 1, 60, 4]}]})
        for layout in "[time station]", "[station time]":
            self.run_graph({
                "in": {"stage": "file.source", "path": "in.npy", "block": {"time": 7}},
                "out": {"stage": "file.sink", "from": "in", "path": "out.npy", "layout": layout}})
            self.assertEqual(
                json.loads((self.folder / "out.npy.json").read_text())["validity"], validity)
        # Lanes with the same gaps share a list.
        self.run_graph({
            "sky": {**gaps, "n_stations": 5,
                    "invalid": [[0, 5, 7], [2, 5, 7], [3, 5, 7], [1, 0, 2]]},
            "out": {"stage": "file.sink", "from": "sky", "path": "in.npy"}})
        validity = json.loads((self.folder / "in.npy.json").read_text())["validity"]
        self.assertEqual(validity["gaps"], [{"lanes": [0, 1, 2, 2], "samples": [5, 7]},
                                            {"lanes": [1, 1], "samples": [0, 2]}])

    def test_origin(self):
        """The file tells how it can be made again: by the graph's text, and what was set."""
        stages = {"sky": {"stage": "generate", "type": "ci8", "sample_rate": "1 MHz", "samples": 100,
                          "n_stations": 2, "n_pols": 2, "noise": 0.1},
                  "out": {"stage": "file.sink", "from": "sky", "path": "out.npy"}}
        self.run_graph(stages, "--set", "sky.samples=37", "--set", "sky.noise=0.2")
        made = (self.folder / "out.npy").read_bytes()
        origin = json.loads((self.folder / "out.npy.json").read_text())["origin"]
        self.assertEqual(origin["node"], "out")
        self.assertEqual(origin["graph"], (self.folder / "graph.yaml").read_text())
        self.assertEqual(origin["set"], ["sky.samples=37", "sky.noise=0.2"])
        version = subprocess.run([graphs.COMMAND, "--version"], capture_output=True, text=True, check=True)
        self.assertIn(origin["cornerturn"], version.stdout)
        (self.folder / "out.npy").unlink()
        (self.folder / "again.yaml").write_text(origin["graph"])
        sets = [word for setting in origin["set"] for word in ("--set", setting)]
        subprocess.run([graphs.COMMAND, "run", "again.yaml", *sets], cwd=self.folder, check=True,
                       capture_output=True)
        self.assertEqual((self.folder / "out.npy").read_bytes(), made)

    def test_chain_cut_in_two(self):
        """A chain that a file cuts in two gives what the whole chain gives, bit for bit: samples,
        weights, and what stands beside them."""
        head = {
            "sky": {"stage": "generate", "type": "ci8", "sample_rate": "1 MHz", "samples": 4000,
                    "centre_frequency": "150 MHz", "n_stations": 3, "n_pols": 2, "noise": 0.1,
                    "invalid": [[0, 5, 700], [2, 1200, 9], [1, 2000, 1], [0, 3990, 10]]},
            "filter": {"stage": "fir", "from": "sky", "n_channels": 8, "n_taps": 4},
            "spectra": {"stage": "fft", "from": "filter"}}

        def tail(source, name):
            return {"v": {"stage": "correlate", "from": source, "integration": 50},
                    "a": {"stage": "file.sink", "from": "v", "path": f"{name}.npy"},
                    "b": {"stage": "file.sink", "from": "v.weights", "path": f"{name}-w.npy"}}

        self.run_graph({**head, **tail("spectra", "whole")})
        for cut in head:
            with self.subTest(cut):
                names = list(head)[:list(head).index(cut) + 1]
                rest = {name: dict(stage) for name, stage in head.items() if name not in names}
                self.run_graph({**{name: head[name] for name in names},
                                "out": {"stage": "file.sink", "from": cut, "path": "cut.npy"}})
                for stage in rest.values():
                    if stage["from"] == cut:
                        stage["from"] = "in"
                source = "spectra" if rest else "in"
                self.run_graph({"in": {"stage": "file.source", "path": "cut.npy"}, **rest,
                                **tail(source, "parts")})
                for name in "", "-w":
                    whole = (self.folder / f"whole{name}.npy").read_bytes()
                    self.assertEqual((self.folder / f"parts{name}.npy").read_bytes(), whole)
                    texts = [json.loads((self.folder / f"{of}{name}.npy.json").read_text())
                             for of in ("whole", "parts")]
                    for text in texts:
                        del text["generation"], text["origin"]
                    self.assertEqual(*texts)
        weights = np.load(self.folder / "whole-w.npy")
        self.assertTrue((weights == 0).any() and (weights == 50).any() and
                        ((weights > 0) & (weights < 50)).any())

    def test_malformed_losses(self):
        np.save(self.folder / "in.npy", np.zeros(8, np.float32))
        for lanes in ["x"], [-1], [[1]], [2**62, 2**62]:
            with self.subTest(lanes):
                (self.folder / "in.npy.json").write_text(json.dumps(
                    {"layout": "f32[time]", "type": "f32", "axes": [],
                     "validity": {"invalid_samples": lanes}}))
                self.assertIn("wants the number of invalid samples of each lane",
                              self.fail_graph(copy_stages("f32[time]")))

    def test_malformed_gaps(self):
        np.save(self.folder / "in.npy", np.zeros((8, 2), np.float32))
        samples = "wants runs of samples of the array, in their order"
        lanes = "wants runs of lanes of the array"
        for wrong, message in (
                *(({"samples": runs}, samples) for runs in (
                    [1], [1, 0], [3, 2, 4, 1], [-1, 2], [7, 2], [1, "x"], [1, 2**63 - 1], [[1, 2]],
                    [2**63, 1])),
                *(({"lanes": runs}, lanes) for runs in (
                    [0], [0, 0], [2, 1], [-1, 1], [1, 2], ["x", 1], [1, 2**63 - 1])),
                ({"lanes": 0}, "wants lanes and samples of each gap"),
                ({"samples": None}, "wants lanes and samples of each gap"),
                (5, "wants lanes and samples of each gap"),
                ("time", "wants axes of the array other than time"),
                ("beam", "wants axes of the array other than time")):
            with self.subTest(wrong):
                gap = {"lanes": [0, 1], "samples": [1, 2]}
                axis = wrong if isinstance(wrong, str) else "pol"
                gaps = [{**gap, **wrong} if isinstance(wrong, dict) else wrong]
                (self.folder / "in.npy.json").write_text(json.dumps(
                    {"layout": "f32[time pol]", "type": "f32", "axes": self.AXES,
                     "validity": {"axes": [axis], "gaps": gaps}}))
                error = self.fail_graph(copy_stages("f32[time pol]"))
                self.assertIn(message, error)
                self.assertRegex(error, r"in\.npy\.json:\d+:\d+: ")

    def test_malformed_labels(self):
        np.save(self.folder / "in.npy", np.zeros((8, 2), np.float32))
        for wrong in ({"labels": ["A"]}, {"labels": ["A", [1]]}, {"labels": []},
                      {"labels": ["A", "B"], "pairs": "all"},
                      *({"labels": ["A", "B"], "pairs": pairs} for pairs in (
                          [0, 0], [0, 0, 1, 1, 0], [0, 0, 2, 0], [0, 0, -1, 0], [0, 0, "x", 0]))):
            with self.subTest(wrong):
                (self.folder / "in.npy.json").write_text(json.dumps(
                    {"layout": "f32[time pol]", "type": "f32",
                     "axes": [self.AXES[0], {**self.AXES[1], **wrong}]}))
                error = self.fail_graph(copy_stages("f32[time pol]"))
                self.assertIn("wants a label of each element, or pairs of indices of labels", error)
                self.assertRegex(error, r"in\.npy\.json:\d+:\d+: ")

    def test_clock_without_time(self):
        """A stream without time has no clock: parameters of a clock have no effect."""
        np.save(self.folder / "in.npy", np.zeros(4, np.float32))
        for name, given in (("sample_rate", "1 MHz"), ("start", 5), ("epoch", "1600000000")):
            with self.subTest(name):
                error = self.fail_graph(copy_stages("f32[pol]", {name: given}), "--strict")
                self.assertIn(f"node 'in': parameter '{name}' has no effect here", error)

    def test_start_of_the_graph(self):
        """The start that the graph's observation gives is that of an array that does not tell it."""
        np.save(self.folder / "in.npy", np.zeros(3, np.float32))
        stages = copy_stages("f32[time]", {"sample_rate": "1 Hz", "start": 5})
        (self.folder / "graph.yaml").write_text(json.dumps(
            {"observation": {"start": "2022-06-29T01:30:00Z"}, "stages": stages}))
        done = subprocess.run([graphs.COMMAND, "run", "--quiet", "graph.yaml"], cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        beside = json.loads((self.folder / "out.npy.json").read_text())
        self.assertEqual(beside["start_utc"], "2022-06-29T01:30:05.000000000Z")

    def test_epoch_without_rate(self):
        """Without a sample rate, an epoch has no effect."""
        np.save(self.folder / "in.npy", np.zeros(4, np.float32))
        self.check_no_effect(copy_stages("f32[time]", {"epoch": "1600000000"}), "in", "epoch")

    def test_digest(self):
        for axes in (["channel", "time", "pol"], ["time", "channel", "pol"]):
            for path, shape in (("out.npy", None), ("out.raw", None)):
                with self.subTest(axes=axes, path=path):
                    np.save(self.folder / "in.npy", make_array(axes, "ci16"))
                    self.run_graph(copy_stages(f"ci16[{' '.join(axes)}]", None,
                                               {"path": path, "digest": "sha256"}))
                    beside = json.loads((self.folder / f"{path}.json").read_text())
                    digest = hashlib.sha256((self.folder / path).read_bytes()).hexdigest()
                    self.assertEqual(beside["sha256"], digest)

    def test_of_another_array(self):
        """A PATH.json of an array that has since been replaced is an error."""
        np.save(self.folder / "in.npy", make_array(["time", "pol"], "f32"))
        self.run_graph(copy_stages("f32[time pol]"))
        whole = (self.folder / "out.npy").stat().st_size
        for n in (36, 38):
            np.save(self.folder / "out.npy", np.zeros((n, 2), np.float32))
            given = (self.folder / "out.npy").stat().st_size
            error = self.fail_graph({
                "in": {"stage": "file.source", "path": "out.npy"},
                "out": {"stage": "file.sink", "from": "in", "path": "again.npy"}})
            self.assertTrue(error.endswith(
                f"out.npy.json:4:13: wants an array of {whole} bytes, but is given one of {given}: "
                "it belongs to another array"), error)
            self.assertFalse((self.folder / "again.npy.partial").exists())
        # Without PATH.json, the array is read as any other.
        (self.folder / "out.npy.json").unlink()
        self.run_graph(copy_stages("f32[time pol]", {"path": "out.npy"}, {"path": "again.npy"}))

    def test_pipe(self):
        """A source does not wait for a FIFO in place of PATH.json."""
        np.save(self.folder / "in.npy", np.zeros(4, np.float32))
        os.mkfifo(self.folder / "in.npy.json")
        error = self.fail_graph(copy_stages("f32[time]"))
        self.assertTrue(error.endswith("in.npy.json: can't be opened: not a file"), error)

    def test_before_the_epoch(self):
        np.save(self.folder / "in.npy", np.zeros(4, np.float32))
        self.run_graph(copy_stages("f32[time]", {
            "sample_rate": "4 Hz", "start": -1, "epoch": "2022-06-29T01:30:00Z"}))
        beside = json.loads((self.folder / "out.npy.json").read_text())
        self.assertEqual(beside["start_utc"], "2022-06-29T01:29:59.750000000Z")

    def test_other_array(self):
        """If the length of an axis has changed, coordinates with that axis as their parent are
        dropped."""
        np.save(self.folder / "in.npy", make_array(["channel", "time"], "f32")[:2])
        (self.folder / "in.npy.json").write_text(json.dumps({
            "layout": "f32[subband channel]", "type": "f32", "axes": [
                {"name": "subband", "length": 2, "unit": "Hz", "table": [5, 9]},
                {"name": "channel", "length": 3, "unit": "Hz", "parent": "subband",
                 "table": [1, 2, 3, 4, 5, 6]},
                {"name": "time", "length": 37}]}))
        self.run_graph(copy_stages("f32[channel time]"))
        beside = json.loads((self.folder / "out.npy.json").read_text())
        self.assertEqual(beside["axes"], [{"name": "channel", "length": 2},
                                          {"name": "time", "length": 37}])

    def test_unit_of_any_letters(self):
        np.save(self.folder / "in.npy", np.zeros((4, 2), np.float32))
        axes = [{"name": "time", "length": 4},
                {"name": "channel", "length": 2, "unit": 'of "Hz" \\ \t', "first": 1, "step": 2}]
        (self.folder / "in.npy.json").write_text(
            json.dumps({"type": "f32", "layout": "f32[time channel]", "axes": axes}))
        self.run_graph(copy_stages("f32[time channel]"))
        beside = json.loads((self.folder / "out.npy.json").read_text())
        self.assertEqual(beside["axes"][1], axes[1])

    def test_array_that_is_not_whole(self):
        np.save(self.folder / "in.npy", np.zeros(4, np.float32))
        (self.folder / "in.npy.json").write_text(json.dumps({
            "type": "f32", "layout": "f32[time]", "axes": [{"name": "time", "length": 4}],
            "written": 3}))
        error = self.fail_graph(copy_stages("f32[time]"))
        self.assertTrue(error.endswith(
            "wants a whole array, but describes one that is not finished"), error)

    def test_malformed(self):
        np.save(self.folder / "in.npy", np.zeros(4, np.float32))
        for text, message in (
                ("{", "2:1: not JSON"),
                ("[]", "1:1: wants the layout, a text"),
                ('{"layout": "f32[time]"}', "1:1: wants the axes, a list"),
                ('{"layout": "f32[time]", "axes": []}', "1:1: wants the type of its elements"),
                ('{"layout": "f32[time]", "type": "f32", "axes": [{"name": "time"}]}',
                 "1:49: wants a name and a length of each axis"),
                ('{"layout": "f32[time]", "type": "f32", "axes": [{"name": "pol", "length": 2, '
                 '"unit": "m", "table": [1]}]}',
                 "1:48: has a table of another length than its axis, or an axis whose parent is "
                 "none, or has one itself"),
                ('{"layout": "f32[time]", "type": "f32", "axes": [{"name": "pol", "length": 2, '
                 '"unit": "m", "first": 0, "step": 1, "parent": "pol"}]}',
                 "1:48: has a table of another length than its axis, or an axis whose parent is "
                 "none, or has one itself"),
                ('{"layout": "f32[time]", "type": "f32", "axes": [{"name": "pol", "length": 2, '
                 '"unit": "m", "first": 0, "step": 1, "parent": "beam"}, {"name": "beam", '
                 '"length": 2, "unit": "m", "first": 0, "step": 1, "parent": "pol"}]}',
                 "1:48: has a table of another length than its axis, or an axis whose parent is "
                 "none, or has one itself"),
                ('{"layout": "f32[time]", "type": "f32", "axes": [], "bytes": "many"}',
                 "1:61: wants the array's length in bytes"),
                ('{"layout": "f32[time]", "type": "f32", "axes": [], "ticks_per_second": [1]}',
                 "1:72: wants ticks_per_second as a fraction, with ticks_per_sample and start")):
            with self.subTest(text):
                (self.folder / "in.npy.json").write_text(text)
                error = self.fail_graph(copy_stages("f32[time]"))
                self.assertTrue(error.endswith(f"in.npy.json:{message}"), error)


class Errors(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        self.array = make_array(["time", "pol"], "cf32")
        np.save(self.folder / "in.npy", self.array)

    def check_error(self, stages, ending, *arguments, **options):
        error = self.fail_graph(stages, *arguments, **options)
        self.assertTrue(error.startswith("graph.yaml:"), error)
        self.assertTrue(error.endswith(ending), error)
        self.assertFalse((self.folder / "out.npy").exists())
        self.assertFalse((self.folder / "out.npy.json").exists())

    def test_source(self):
        whole = (self.folder / "in.npy").read_bytes()
        (self.folder / "short.npy").write_bytes(whole[:-1])
        (self.folder / "text.npy").write_text("not an array")
        (self.folder / "short.raw").write_bytes(bytes(100))
        np.save(self.folder / "words.npy", np.array(["a", "bc"]))
        np.save(self.folder / "threes.npy", np.zeros((5, 3), np.int8))
        for layout, source, ending in (
                ("cf32[time pol]", {"path": "none.npy"},
                 "none.npy: can't be opened: No such file or directory"),
                ("cf32[time pol]", {"path": "text.npy"},
                 "text.npy: not an .npy file: it does not begin with \\x93NUMPY"),
                ("cf32[time pol]", {"path": "short.npy"},
                 "short.npy: wants 592 bytes of data as its header says, but is given 591 "
                 "(truncated)"),
                ("cf32[time pol]", {"path": "words.npy"},
                 "words.npy: wants elements that are integers, floating point or complex, but is "
                 "given '<U2'"),
                ("ci16[time pol]", {},
                 "ci16 wants elements of int16, but in.npy has complex64"),
                ("ci8[time]", {"path": "threes.npy"},
                 "ci8 wants a last axis of 2, real and imaginary, but threes.npy is given one of 3"),
                ("cf32[time]", {}, "wants the 2 axes of in.npy, but is given 1"),
                ("cf32[time ...]", {}, "wants every axis of the array, but is given ..."),
                ("cf32[time pol time:4]", {}, "wants whole axes, but is given a block of 'time'"),
                ("cf32[time pol]", {"path": "short.raw", "shape": [-1, 3]},
                 "short.raw: wants samples of 24 bytes, but is given 4 bytes more (truncated)"),
                ("cf32[time pol]", {"path": "short.raw", "shape": [7, 2]},
                 "short.raw: wants 112 bytes as 'shape' says, but is given 100 (truncated)"),
                ("cf32[time pol]", {"path": "short.raw", "shape": [7]},
                 "wants a length for each of 2 axes, but is given 1"),
                ("cf32[pol time]", {"path": "short.raw", "shape": [2, -1]},
                 "wants lengths, and -1 for a slowest time alone"),
                ("[time pol]", {"path": "short.raw", "shape": [2, 2]},
                 "wants one type, for a raw array"),
                ("cf32[time pol]", {"sample_rate": 1, "epoch": "yesterday"},
                 "wants a time as 2022-06-29T01:30:00Z, to the second, but is given 'yesterday'"),
                ("cf32[time pol]", {"first_frequency": "1 MHz"},
                 "wants real samples: give 'centre_frequency' for these"),
                ("cf32[time pol]", {"frequencies": ["1 MHz"]},
                 "wants one for each of 0 subbands or channels, but is given 1"),
                ("cf32[time pol]", {"ticks_per_sample": 2}, "wants 'sample_rate' beside it")):
            with self.subTest(layout=layout, source=source):
                self.check_error(copy_stages(layout, source), ending)

    def test_length_that_is_made_up(self):
        """A file of /proc has length 0 by its metadata: here, the arguments of a process are an
        array."""
        header = b"{'descr': '|i1', 'fortran_order': False, 'shape': (8,), }".ljust(117) + b"\n"
        (self.folder / "v").write_text("read line")
        process = subprocess.Popen([b"\x93NUMPY\x01", b"v", header + b"abcdefg"],
                                   executable="/bin/sh", cwd=self.folder, stdin=subprocess.PIPE)
        self.addCleanup(process.communicate)
        path = f"/proc/{process.pid}/cmdline"
        while not pathlib.Path(path).read_bytes().startswith(b"\x93"):
            time.sleep(0.01)
        for what, source in {"npy": {"format": "npy", "layout": "i8[time]"},
                             "raw": {"format": "raw", "layout": "i8[time]", "shape": [-1]}}.items():
            with self.subTest(what):
                stages = copy_stages("[time]", {"path": path, **source})
                self.check_error(stages, ": wants a file of known length, but is given one that "
                                         "says 0 bytes and holds more: make a copy of it")

    def test_no_layout(self):
        stages = copy_stages("cf32[time pol]")
        del stages["in"]["layout"]
        self.check_error(stages, "wants 'layout' beside it, or a file in.npy.json that has one")

    def check_refused(self, stages, ending):
        """The graph is refused when it is checked, and nothing is written."""
        before = sorted(self.folder.iterdir())
        result = subprocess.run([graphs.COMMAND, "check", self.write(stages)], cwd=self.folder,
                                capture_output=True, text=True)
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertTrue(result.stderr.strip().endswith(ending), result.stderr)
        self.check_error(stages, ending)
        self.assertEqual(set(self.folder.iterdir()) - set(before) - {self.folder / "graph.yaml"},
                         set())

    def test_unwritable(self):
        (self.folder / "folder.npy").mkdir()
        (self.folder / "folder.raw.json").mkdir()
        (self.folder / "text").write_text("")
        wanted = "wants a regular file in its place, but is given a folder or device"
        for path, ending in (
                ("none/out.npy",
                 "wants a folder to write to, but is given 'none': No such file or directory"),
                ("text/out.npy",
                 "wants a folder to write to, but is given 'text': Not a directory"),
                ("folder.npy", f"parameter 'path': folder.npy: {wanted}"),
                ("folder.raw", f"parameter 'path': folder.raw.json: {wanted}")):
            with self.subTest(path):
                self.check_refused(copy_stages("cf32[time pol]", None, {"path": path}), ending)

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_folder_of_others(self):
        (self.folder / "theirs").mkdir(mode=0o500)
        self.check_refused(copy_stages("cf32[time pol]", None, {"path": "theirs/out.npy"}),
                           "wants a folder to write to, but is given 'theirs': Permission denied")

    def test_names_without_format(self):
        for path in ("out.xyz", "out", "out.npy.gz", "out.NPY"):
            wanted = f", or 'format' beside it, but is given '{path}'"
            with self.subTest(path):
                self.check_refused(copy_stages("cf32[time pol]", None, {"path": path}), wanted)
                (self.folder / path).write_bytes(self.array.tobytes())
                self.check_refused(copy_stages("cf32[time pol]", {"path": path}), wanted)
                self.run_graph(copy_stages(
                    "cf32[time pol]", {"path": path, "format": "raw", "shape": [37, 2]},
                    {"path": path + "x", "format": "raw"}))
                self.assertEqual((self.folder / (path + "x")).read_bytes(), self.array.tobytes())

    def test_path_that_another_node_uses(self):
        (self.folder / "deep").mkdir()
        (self.folder / "link").symlink_to("deep")
        (self.folder / "to-in.npy").symlink_to("in.npy")
        os.link(self.folder / "in.npy", self.folder / "hard.npy")
        stages = copy_stages("cf32[time pol]")
        for first, second, ending in (
                ("out.npy", "out.npy", "'out.npy', which node 'out' writes"),
                ("out.npy", "./out.npy", "'./out.npy', which node 'out' writes as 'out.npy'"),
                ("deep/out.npy", "link/../deep/out.npy",
                 "'link/../deep/out.npy', which node 'out' writes as 'deep/out.npy'"),
                ("deep/out.npy", "link/out.npy",
                 "'link/out.npy', which node 'out' writes as 'deep/out.npy'"),
                ("out.npy", "out.npy.json", "'out.npy.json', which node 'out' writes")):
            with self.subTest(first=first, second=second):
                stages["out"] = {**stages["out"], "path": first, "format": "npy"}
                stages["twin"] = {**stages["out"], "path": second}
                self.check_refused(
                    stages, f"wants files that no other node uses, but would write {ending}")
        del stages["twin"]
        for path, ending in (
                ("in.npy", "'in.npy', which node 'in' reads"),
                (str(self.folder / "in.npy"),
                 f"'{self.folder}/in.npy', which node 'in' reads as 'in.npy'"),
                ("to-in.npy", "'to-in.npy', which node 'in' reads as 'in.npy'"),
                ("hard.npy", "'hard.npy', which node 'in' reads as 'in.npy'"),
                ("in.npy.json", "'in.npy.json', which node 'in' reads")):
            with self.subTest(path):
                stages["out"] = {**stages["out"], "path": path, "format": "npy"}
                self.check_refused(
                    stages, f"wants files that no other node uses, but would write {ending}")

    def test_path_of_the_graph(self):
        """A sink refuses to replace the graph's own file."""
        (self.folder / "to-graph.npy").symlink_to("graph.yaml")
        stages = copy_stages("cf32[time pol]")
        for path, ending in (
                ("graph.yaml", "'graph.yaml', from which the graph is read"),
                ("./graph.yaml", "'./graph.yaml', from which the graph is read as 'graph.yaml'"),
                ("to-graph.npy", "'to-graph.npy', from which the graph is read as 'graph.yaml'")):
            with self.subTest(path):
                stages["out"] = {**stages["out"], "path": path, "format": "npy"}
                self.check_refused(
                    stages, f"wants files that nobody else uses, but would write {ending}")
        stages["out"] = {**stages["out"], "path": "out.npy"}
        graph = self.write(stages, "out.npy.json")
        done = graphs.subprocess.run([graphs.COMMAND, "check", graph], cwd=self.folder, text=True,
                                     capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 1)
        self.assertIn("would write 'out.npy.json', from which the graph is read", done.stderr)

    def test_replaced_since_the_plan(self):
        """An array that is replaced by a smaller one after planning is an error, not read past its
        end."""
        text = ("stages: { in: { stage: file.source, path: '%s/in.npy', layout: 'cf32[time pol]' },"
                " out: { stage: discard, from: in } }" % self.folder).encode()
        for other in (self.array[:20], self.array[:, :1]):
            np.save(self.folder / "in.npy", self.array)
            planned = pipeline._call("parse", text, len(text), b"test")
            try:
                pipeline._call("describe", planned, b"json")
                np.save(self.folder / "in.npy", other)
                with self.assertRaisesRegex(pipeline.Failure, "in.npy: wants the array that the "
                                            "graph was checked with .*, but it has been replaced"):
                    pipeline._call("start", planned)
            finally:
                pipeline._library.ct_pipeline_free(planned)

    def test_partial_path(self):
        """A sink refuses a name that ends in .partial, because another sink may write there."""
        self.check_error(copy_stages("cf32[time pol]", None, {"path": "out.npy.partial", "format": "npy"}),
                         "parameter 'path': wants a name without the ending .partial, but is given "
                         "'out.npy.partial'")

    def limit_files(self):
        """Limits the size of files, which works as a full disk does and needs no rights."""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

    def test_file_too_large(self):
        array = np.random.default_rng(2).standard_normal((50000, 2)).astype(np.float32)
        np.save(self.folder / "in.npy", array)
        stages = copy_stages("f32[time pol]", {"block": {"time": 1000}})
        self.check_error(stages, "out.npy.partial: can't be written: File too large",
                         preexec_fn=self.limit_files)
        # The samples that were written are an array, which keeps its partial name.
        partial = np.load(open(self.folder / "out.npy.partial", "rb"))
        self.assertGreater(len(partial), 1000)
        np.testing.assert_array_equal(partial, array[:len(partial)])

        np.save(self.folder / "in.npy", np.ascontiguousarray(array.T))
        self.check_error(copy_stages("f32[pol time]"),
                         "out.npy.partial: can't be written: File too large",
                         preexec_fn=self.limit_files)

    def test_full_disk(self):
        np.save(self.folder / "in.npy", np.zeros((500000, 2), np.float32))
        mount = shutil.which("unshare") and subprocess.run(
            ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True)
        if not mount or mount.returncode != 0:
            self.skipTest("no folder of its own may be mounted here")
        for layout in ("f32[time pol]", "f32[pol time]"):
            if layout == "f32[pol time]":
                np.save(self.folder / "in.npy", np.zeros((2, 500000), np.float32))
            self.write(copy_stages(layout, None, {"path": "small/out.npy"}))
            (self.folder / "small").mkdir(exist_ok=True)
            result = subprocess.run(
                ["unshare", "-rm", "sh", "-c",
                 f"mount -t tmpfs -o size=1m none small && '{graphs.COMMAND}' run --quiet graph.yaml; "
                 "status=$?; ls small; exit $status"],
                cwd=self.folder, capture_output=True, text=True)
            self.assertNotEqual(result.returncode, 0)
            self.assertTrue(result.stderr.strip().endswith(
                "small/out.npy.partial: can't be written: No space left on device"), result.stderr)
            self.assertEqual(result.stdout.split(), ["out.npy.json.partial", "out.npy.partial"])


if __name__ == "__main__":
    tap.main()
