#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The cost database from outside: the command for it, and graphs that are planned with it."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import tap

COMMAND = os.environ["CORNERTURN"]
GRAPH = str(pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"]) / "pipelines" / "fx-correlator.yaml")


def measurement(**changes):
    return {"stages": "fir", "variant": "cpu", "row": "[...] -> [...]", "way": "",
            "layouts": "cf32[time pol] -> cf32[time pol]", "lengths": "0 2 -> 0 2",
            "parameters": "n_taps=16", "tuning": "", "machine": "abacus", "n_workers": 2,
            "aim": 1048576, "code": "0123456789abcdef", "operations": 12.5, "bytes": 32,
            "seconds": 1.5e-9, "spread": 0.02, "n_repetitions": 9, "time": 1700000000, **changes}


class Costs(unittest.TestCase):
    def setUp(self):
        # pylint: disable-next=consider-using-with
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.lines = os.path.join(self.folder.name, "costs.json")
        self.store = os.path.join(self.folder.name, "cache", "costs.db")

    def run_command(self, *arguments, **environment):
        return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, "CORNERTURN_COSTS": self.store, **environment})

    def printed(self, *arguments, **environment):
        result = self.run_command(*arguments, **environment)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def write_lines(self, *values):
        pathlib.Path(self.lines).write_text("".join(json.dumps(value) + "\n" for value in values),
                                            encoding="utf-8")

    def test_list(self):
        self.assertIn("0 measurements", self.printed("costs"))
        self.assertFalse(os.path.exists(self.store))
        self.write_lines(measurement(),
                         measurement(tuning="tile=4", failure="too many\nregisters"),
                         measurement(stages="fft", n_workers=0))
        self.assertEqual(self.printed("costs", "--import", self.lines),
                         "3 measurements and 0 ceilings imported\n")
        text = self.printed("costs")
        self.assertIn("3 measurements, 1 of them failed", text)
        self.assertIn("fir cpu\n    cf32[time pol] -> cf32[time pol]; 0 2 -> 0 2; n_taps=16\n", text)
        self.assertIn("2 workers  1.5 ns a sample ±2.0%, 9 times  2023-11-1", text)
        self.assertIn("failed: too many registers\n", text)
        self.assertNotIn("fir", self.printed("costs", "--stage", "fft"))

    def test_stage_that_is_not_there(self):
        """A stage with measurements may have been removed since; any other unknown name is a
        mistake."""
        self.write_lines(measurement(stages="gone+fft"))
        self.printed("costs", "--import", self.lines)
        self.assertIn("gone+fft cpu", self.printed("costs", "--stage", "gone+fft"))
        self.assertNotIn("gone", self.printed("costs", "--stage", "fir+fft"))
        for stage, message in {
                "fri": "--stage fri: there is no stage 'fri'; did you mean 'fir'?",
                "fir+ftf": "--stage fir+ftf: there is no stage 'ftf'; did you mean 'fft'?",
                "": "--stage : there is no stage '' (`cornerturn inspect` lists what there is)"}.items():
            for arguments in ([], ["--forget"], ["--export", "-"]):
                result = self.run_command("costs", "--stage", stage, *arguments)
                self.assertEqual((result.returncode, result.stdout, result.stderr),
                                 (1, "", message + "\n"))

    def test_export_to_device(self):
        """A file that is not regular is not replaced."""
        pipe = pathlib.Path(self.folder.name) / "pipe"
        os.mkfifo(pipe)
        result = self.run_command("costs", "--export", str(pipe))
        self.assertTrue(pipe.is_fifo())
        self.assertEqual((result.returncode, result.stderr), (
            1, f"--export: {pipe}: wants a regular file in its place, but is given a folder or "
            "device\n"))

    def test_round_trip(self):
        values = [measurement(), measurement(stages="fir+fft", failure="a \"quote\""),
                  {"machine": "abacus", "roof": "bandwidth", "value": 0.5, "time": 12}]
        self.write_lines(*values)
        self.printed("costs", "--import", self.lines)
        self.printed("costs", "--import", self.lines)
        again = [json.loads(line) for line in self.printed("costs", "--export", "-").splitlines()]
        self.assertCountEqual(again, values)
        other = os.path.join(self.folder.name, "other.json")
        self.printed("costs", "--stage", "fir", "--export", other)
        self.assertEqual(len(pathlib.Path(other).read_text(encoding="utf-8").splitlines()), 2)
        self.assertEqual(self.printed("costs", "--stage", "fir", "--forget"),
                         "1 measurements forgotten\n")
        self.assertIn("\n", self.printed("costs", "--forget"))
        self.assertIn("0 measurements", self.printed("costs"))

    def test_wrong_line_imports_nothing(self):
        self.write_lines(measurement(), measurement(stages="fft", seconds="soon"))
        result = self.run_command("costs", "--import", self.lines)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{self.lines}:2: 'seconds' wants a number, 0 or more, but is given 'soon'",
                      result.stderr)
        self.assertIn("0 measurements", self.printed("costs"))

    def test_roofs(self):
        text = self.printed("costs", "--measure-ceilings")
        self.assertIn("bandwidth", text)
        self.assertIn("peak baseline", text)
        self.assertLessEqual(set(text.splitlines()), set(self.printed("costs").splitlines()))

    def test_off(self):
        result = self.run_command("costs", CORNERTURN_COSTS="off")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the cost database is off", result.stderr)
        self.assertIn("0 measurements", self.printed("costs", "--costs", self.store,
                                                     CORNERTURN_COSTS="off"))

    def test_tuning_that_does_not_do_here(self):
        graph = os.path.join(self.folder.name, "graph.yaml")
        pathlib.Path(graph).write_text(
            "stages:\n"
            "  sky: {stage: generate, type: cf32, sample_rate: 1 MHz, duration: 1 ms,\n"
            "        n_stations: 2, n_pols: 2, layout: '[time station pol]'}\n"
            "  size: {stage: fail.size, from: sky}\n"
            "  end: {stage: discard, from: size}\n", encoding="utf-8")
        plugin = pathlib.Path(os.environ["CORNERTURN_TEST_PLUGINS"]) / "ct-fail.so"
        os.symlink(plugin, os.path.join(self.folder.name, plugin.name))
        folders = {"CORNERTURN_PLUGIN_PATH":
                   os.environ["CORNERTURN_PLUGIN_PATH"] + ":" + self.folder.name}
        machine = self.printed("costs", "--measure-ceilings").splitlines()[0]
        self.write_lines(measurement(
            stages="fail.size", variant="reference", tuning="size=2", machine=machine,
            layouts="cf32[time station pol] -> cf32[time station pol]", lengths="0 2 2 -> 0 2 2",
            parameters=""))
        self.printed("costs", "--import", self.lines)
        self.assertIn("reference:size=2", self.printed("plan", graph, **folders))
        result = self.run_command("run", "-q", graph, **folders)
        self.assertEqual((result.returncode, result.stderr), (
            0, f"{graph}:4:3: node 'size': warning: runs 'reference' with its default tuning, "
            "size=1: size=2, which was measured to be the best, cannot be prepared here: wants "
            "size=1\n"))
        result = self.run_command("run", "-q", "--strict", graph, **folders)
        self.assertEqual(result.returncode, 1)
        result = self.run_command("run", "-q", "--variant=size=reference:size=2", graph, **folders)
        self.assertEqual(result.returncode, 1)
        self.assertIn("wants size=1", result.stderr)

    def test_several(self):
        result = self.run_command("costs", "--forget", "--measure-ceilings")
        self.assertEqual(result.returncode, 2)
        self.assertIn("wants one of --export, --import, --forget and --measure-ceilings", result.stderr)

    def test_damaged_store_keeps_no_graph_from_its_plan(self):
        modelled = self.printed("plan", "--json", "--no-tuning", GRAPH)
        os.makedirs(os.path.dirname(self.store))
        pathlib.Path(self.store).write_text("no database\n" * 100, encoding="utf-8")
        result = self.run_command("plan", "--json", GRAPH)
        self.assertEqual((result.returncode, result.stdout), (0, modelled))
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("warning: the cost database ", result.stderr)
        self.assertIn("file is not a database", result.stderr)
        self.assertIn("; costs are modelled", result.stderr)
        self.assertEqual(self.printed("plan", "--json", "--no-tuning", GRAPH), modelled)


if __name__ == "__main__":
    tap.main()
