#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""PATH.json, the file beside an array: what sinks write there, and what sources read of it."""
import hashlib
import json
import os
import subprocess

import numpy as np

import graphs
import tap
from arrays import copy_stages, make_array


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
        for key in ("generation", "origin"):
            self.assertNotEqual(again.pop(key), first.pop(key))
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

    def test_ticks_without_a_clock(self):
        """Samples without a clock have ticks, too: streams that files cut in two stay aligned."""
        np.save(self.folder / "in.npy", np.arange(100, dtype=np.float32))
        parts = {name: {"stage": "select", "from": "in", "ticks": ticks}
                 for name, ticks in (("early", [10, 20]), ("late", [15, 25]))}
        join = {"both": {"stage": "stack", "from": ["early", "late"], "axis": "station"}}
        self.run_graph({
            "in": {"stage": "file.source", "path": "in.npy", "layout": "f32[time]"}, **parts, **join,
            "whole": {"stage": "file.sink", "from": "both", "path": "whole.npy"},
            **{f"{name}-out": {"stage": "file.sink", "from": name, "path": f"{name}.npy"}
               for name in parts}})
        self.run_graph({
            **{name: {"stage": "file.source", "path": f"{name}.npy"} for name in parts}, **join,
            "cut": {"stage": "file.sink", "from": "both", "path": "cut.npy"}})
        np.testing.assert_array_equal(np.load(self.folder / "cut.npy"),
                                      np.load(self.folder / "whole.npy"))
        beside = json.loads((self.folder / "cut.npy.json").read_text())
        self.assertEqual((beside["ticks_per_sample"], beside["start"]), (1, 10))

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
                 "1:72: wants ticks_per_second as a fraction, with ticks_per_sample and start"),
                ('{"layout": "f32[time]", "type": "f32", "axes": [], "ticks_per_sample": 0}',
                 "1:72: wants ticks_per_sample above 0"),
                # A key that is there, but of another kind, is not as good as none.
                *(('{"layout": "f32[time]", "type": "f32", "axes": [], ' + key,
                   f"1:{52 + key.rindex(':') + 2}: wants {wanted}") for key, wanted in (
                      ('"validity": [3]}', "a mapping for validity"),
                      ('"validity": {"gaps": 3}}', "a list for gaps"),
                      ('"bytes": [16]}', "a text or number for bytes"),
                      ('"ticks_per_second": 10}', "a list for ticks_per_second"),
                      ('"frequency": "150 MHz"}', "a number for frequency"),
                      ('"frequency": "nan"}', "a number for frequency"),
                      ('"start": 0.5}', "a whole number for start"),
                      ('"interrupted": 1}', "true or false for interrupted"),
                      ('"observation": "Crab"}', "a mapping for observation")))):
            with self.subTest(text):
                (self.folder / "in.npy.json").write_text(text)
                error = self.fail_graph(copy_stages("f32[time]"))
                self.assertTrue(error.endswith(f"in.npy.json:{message}"), error)


if __name__ == "__main__":
    tap.main()
