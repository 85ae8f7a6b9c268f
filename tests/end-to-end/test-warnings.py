#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each warning is printed on standard error with its place, is in the statistics, and is an error
with --strict."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import numpy

import graphs
import tap

PLUGINS = pathlib.Path(os.environ["CORNERTURN_TEST_PLUGINS"])
SINK = "  out: { stage: file.sink, from: x, path: out.npy }\n"


def sky(more="samples: 4096", mark=""):
    return (f"stages:\n  {mark}sky: {{ stage: generate, sample_rate: 1 MHz, n_stations: 2, n_pols: 2, "
            f"centre_frequency: 10 MHz, {more} }}\n")


def through(stage, more="samples: 4096", mark=""):
    """A graph of the sky, one stage and a sink."""
    return sky(more) + f"  {mark}x: {{ {stage}, from: sky }}\n" + SINK


# Graphs with one warning each when they are checked: (kind, node, message). An @ marks its place.
GRAPHS = {
    "a parameter for another one that is not given": (
        sky("samples: 4096, tone_phases: @3 deg") + SINK.replace(" x,", " sky,"),
        ("parameter", "sky", "parameter 'tone_phases' has no effect here")),
    "a source's parameter for a second pol": (
        "stages:\n  sky: { stage: generate, sample_rate: 1 MHz, n_stations: 1, samples: 99,\n"
        "    centre_frequency: 10 MHz, positions: [[0, 0, 0]], source_directions: [[0, 0]],\n"
        "    source_correlations: @1 }\n" + SINK.replace(" x,", " sky,"),
        ("parameter", "sky", "parameter 'source_correlations' has no effect here")),
    "a seed of nothing random": (
        sky("samples: 99, noise: 0, seed: @3") + SINK.replace(" x,", " sky,"),
        ("parameter", "sky", "parameter 'seed' has no effect here")),
    "a spiral that no direction makes use of": (
        sky("samples: 99, spiral: @5 m") + SINK.replace(" x,", " sky,"),
        ("parameter", "sky", "parameter 'spiral' has no effect here")),
    "invalid samples behind the stream": (
        sky("samples: 99, start: 5, invalid: @[[0, 9, 3], [1, 104, 9]]") + SINK.replace(" x,", " sky,"),
        ("stage", "sky", "parameter 'invalid': row 1 has no effect: it has no sample of the stream, "
         "which begins at 5 and ends before 104")),
    "invalid samples before the stream": (
        sky("samples: 99, start: 5, invalid: @[[0, 9, 3], [-1, -9, 14]]") + SINK.replace(" x,", " sky,"),
        ("stage", "sky", "parameter 'invalid': row 1 has no effect: it has no sample of the stream, "
         "which begins at 5 and ends before 104")),
    "no invalid samples": (
        sky("samples: 99, invalid: @[[0, 9, 0]]") + SINK.replace(" x,", " sky,"),
        ("stage", "sky", "parameter 'invalid': row 0 has no effect: it has no sample of the stream, "
         "which begins at 0 and ends before 99")),
    "a frequency beside those of channels": (
        "stages:\n  in: { stage: file.source, path: in.npy, layout: '[time channel]',\n"
        "    frequencies: [1 MHz, 3 MHz], centre_frequency: @2 MHz }\n" + SINK.replace(" x,", " in,"),
        ("stage", "in", "parameter 'centre_frequency': does not change the frequencies that axis "
         "'channel' has")),
    "a frequency beside those of subbands": (
        "stages:\n  in: { stage: file.source, path: sub.npy, layout: '[time subband]',\n"
        "    centre_frequency: @2 MHz }\n" + SINK.replace(" x,", " in,"),
        ("stage", "in", "parameter 'centre_frequency': does not change the frequencies that axis "
         "'subband' has")),
    "the step of one subband": (
        sky("samples: 99, subband_step: @1 MHz") + SINK.replace(" x,", " sky,"),
        ("parameter", "sky", "parameter 'subband_step' has no effect here")),
    "the power of sources that are not given": (
        sky("samples: 99, source_powers: @3") + SINK.replace(" x,", " sky,"),
        ("parameter", "sky", "parameter 'source_powers' has no effect here")),
    "delays that are longer than the stream": (
        through("stage: delay, constant: [0 s, 1 s]", mark="@"),
        ("empty", "x", "gives no samples: one is made of 1000001, but only 4096 come in")),
    "inputs at different times": (
        "stages:\n  sky: { stage: generate, type: f32, sample_rate: 1 MHz, n_stations: 2, samples: 99 }\n"
        "  late: { stage: generate, type: f32, sample_rate: 1 MHz, n_stations: 2, samples: 99,\n"
        "    start: 100 }\n"
        "  @x: { stage: diamond.pair, from: {in: sky, other: late}, window: 1, hop: 1 }\n" + SINK,
        ("empty", "x", "gives no samples: its inputs have none in common")),
    "a step of constant delays": (
        through("stage: delay, constant: [1 us, 2 us], step: @1 s"),
        ("parameter", "x", "parameter 'step' has no effect here")),
    "the shape of another window": (
        through("stage: fir, n_channels: 4, n_taps: 2, beta: @3"),
        ("parameter", "x", "parameter 'beta' has no effect here")),
    "phases of a stream without sample rate": (
        "stages:\n  in: { stage: file.source, path: in.npy, layout: '[time station]', start: 7 }\n"
        "  x: { stage: fir, from: in, n_channels: 4, n_taps: 2, hop: @3 }\n" + SINK,
        ("stage", "x", "parameter 'hop': is no multiple of 4 channels, so that phases are counted from "
         "the start of a stream without sample rate, here tick 7: a stream that starts at another tick "
         "differs in phase")),
    "a window of taps that are given": (
        through("stage: fir, n_channels: 4, coefficients: taps.npy, window: @hanning"),
        ("parameter", "x", "parameter 'window' has no effect here")),
    "the axes of one gain": (
        through("stage: gains, gain: 2, axes: @[pol]"),
        ("parameter", "x", "parameter 'axes' has no effect here")),
    "a feed without Stokes parameters": (
        through("stage: power, feed: @circular"),
        ("parameter", "x", "parameter 'feed' has no effect here")),
    "a feed of the intensity": (
        through("stage: power, stokes: I, feed: @circular"),
        ("parameter", "x", "parameter 'feed' has no effect here")),
    "the precision of integers": (
        sky("samples: 99, type: ci8") + "  x: { stage: correlate, from: sky, integration: 9, precision: @split }\n" +
        SINK,
        ("parameter", "x", "parameter 'precision' has no effect here")),
    "channels beside those of the input": (
        through("stage: fir, n_channels: 4, n_taps: 2") + "  f: { stage: fft, from: x }\n"
        "  w: { stage: pointing, from: f, directions: [[0, 0]], spiral: 10 m, channel_width: @1 Hz }\n"
        "  b: { stage: beamform, from: [f, w] }\n  o: { stage: discard, from: b }\n",
        ("parameter", "w", "parameter 'channel_width' has no effect here")),
    "a number of channels beside those of the input": (
        through("stage: fir, n_channels: 4, n_taps: 2") + "  f: { stage: fft, from: x }\n"
        "  w: { stage: pointing, from: f, directions: [[0, 0]], spiral: 10 m, n_channels: @3 }\n"
        "  b: { stage: beamform, from: [f, w] }\n  o: { stage: discard, from: b }\n",
        ("parameter", "w", "parameter 'n_channels' has no effect here")),
    "a block without time": (
        sky() + "  w: { stage: pointing, first_frequency: 1 MHz, directions: [[0, 0]], spiral: 1 m,\n"
        "    n_stations: 2, block: @{ time: 5 } }\n"
        "  f: { stage: fft, from: sky, axis: time, length: 4 }\n  x: { stage: discard, from: f }\n"
        "  y: { stage: discard, from: w }\n",
        ("parameter", "w", "'block' has no effect: what 'pointing' gives has no axis time")),
    "no samples": (
        sky("samples: 0", "@") + SINK.replace(" x,", " sky,"),
        ("empty", "sky", "gives no samples")),
    "a window that is longer than the stream": (
        through("stage: fir, n_channels: 64, n_taps: 16", "samples: 1000", "@"),
        ("empty", "x", "gives no samples: one is made of 1024, but only 1000 come in")),
    "an integration that is longer than the stream": (
        through("stage: integrate, length: 10000", mark="@"),
        ("short", "x", "sums 10000 samples, but only 4096 come in: its one sum is short")),
    "an output that nobody reads": (
        sky() + "  x: { stage: power, from: sky }\n  @y: { stage: power, from: sky }\n" + SINK,
        ("unread", "y", "nobody reads what it gives: it does not run")),
    "no sink": (
        sky(mark="@"), ("unread", "sky", "nobody reads what it gives: it does not run")),
    "a stage's own": (
        through("stage: wait.warn, used: @1"),
        ("stage", "x", "parameter 'used': is 1, of which nobody knows what it means")),
}

# Graphs whose warning comes during the run, mostly at its end.
RUNS = {
    "a parameter that nobody looks at": (
        through("stage: wait.warn, unused: @1"), [],
        ("parameter", "x", "parameter 'unused' has no effect here")),
    "a stream that is invalid throughout": (
        sky("samples: 4096, invalid: [[-1, 0, 5000]]", "@") + SINK.replace(" x,", " sky,"), [],
        ("invalid", "sky", "all 4096 samples that it gave are invalid")),
    "a stream that becomes invalid": (
        through("stage: fir, n_channels: 64, n_taps: 16",
                "samples: 4096, invalid: [[-1, 900, 1], [-1, 1800, 1], [-1, 2700, 1], [-1, 3600, 1]]", "@"), [],
        ("invalid", "x", "all 49 samples that it gave are invalid")),
    "samples beyond the levels of a type": (
        "stages:\n  in: { stage: file.source, path: in.npy, layout: '[time station]' }\n"
        "  @x: { stage: quantise, from: in, type: ci8, scale: 200 }\n" + SINK, [],
        ("clipped", "x", "clipped 128 of 128 elements: the type of its result can't hold their values; "
         "use a smaller `scale`")),
    "samples beyond the levels of a type, in a chain": (
        "stages:\n  in: { stage: file.source, path: in.npy, layout: '[time station]' }\n"
        "  @x: { stage: quantise, from: in, type: ci8, scale: 200 }\n"
        "  y: { stage: power, from: x }\n" + SINK.replace(" x,", " y,"), [],
        ("clipped", "x", "clipped 128 of 128 elements: the type of its result can't hold their values; "
         "use a smaller `scale`")),
    "a source beyond the levels of its type": (
        sky("samples: 99, type: ci4, scale: 1e6", "@") + SINK.replace(" x,", " sky,"), [],
        ("clipped", "sky",
         "clipped 396 of 396 elements: the type of its result can't hold their values; "
         "use a smaller `scale`")),
    "a duration that is shorter than a window": (
        through("stage: fir, n_channels: 64, n_taps: 16", mark="@"), ["--duration", "1 ms"],
        ("empty", "x", "gave no samples")),
    "a duration that is shorter than an integration": (
        through("stage: integrate, length: 2000", mark="@"), ["--duration", "1 ms"],
        ("short", "x", "sums 2000 samples, but only 1000 come in: its one sum is short")),
}


class Warnings(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cornerturn-"))
        self.addCleanup(shutil.rmtree, self.folder)
        numpy.save(self.folder / "in.npy", numpy.ones((64, 2), numpy.complex64))
        numpy.save(self.folder / "taps.npy", numpy.ones((2, 4), numpy.float32))
        numpy.save(self.folder / "sub.npy", numpy.ones((64, 2), numpy.complex64))
        (self.folder / "sub.npy.json").write_text(json.dumps({
            "layout": "cf32[time subband]", "type": "cf32", "axes": [
                {"name": "subband", "length": 2, "unit": "Hz", "first": 1e6, "step": 2e6}]}))
        (self.folder / "plugins").mkdir()
        shutil.copy(PLUGINS / "ct-wait.so", self.folder / "plugins")
        shutil.copy(PLUGINS / "diamond" / "ct-diamond.so", self.folder / "plugins")
        self.environment = {
            **os.environ,
            "CORNERTURN_PLUGIN_PATH":
                f"{self.folder / 'plugins'}:{os.environ['CORNERTURN_PLUGIN_PATH']}",
        }

    def call(self, command, text, *arguments):
        """Runs the command on the graph, and remembers the marked place."""
        before, _, _ = text.partition("@")
        self.place = f"g.yaml:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
        (self.folder / "g.yaml").write_text(text.replace("@", ""))
        return subprocess.run([graphs.COMMAND, command, "g.yaml", *arguments], cwd=self.folder,
                              env=self.environment, capture_output=True, text=True, timeout=120)

    def check_warned(self, stats, warning):
        kind, node, message = warning
        self.assertEqual(stats["state"], "complete")
        self.assertEqual(stats["warnings"], [
            {"kind": kind, "node": node, "place": self.place, "message": message}])

    def check_no_result(self):
        self.assertFalse((self.folder / "out.npy").exists())

    def check_strict(self, done, warning):
        _, node, message = warning
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"{self.place}: node '{node}': {message} (strict)\n"))
        self.check_no_result()

    def check_warns(self, done, warning):
        _, node, message = warning
        self.assertEqual(
            (done.returncode, done.stderr),
            (0, f"{self.place}: node '{node}': warning: {message}\n"))

    def test_known_before(self):
        for name, (text, warning) in GRAPHS.items():
            with self.subTest(name):
                (self.folder / "out.npy").unlink(missing_ok=True)
                for command in "check", "plan":
                    self.check_warns(self.call(command, text), warning)
                    self.check_strict(self.call(command, text, "--strict"), warning)
                self.check_strict(self.call("run", text, "--strict"), warning)
                done = self.call("run", text, "--stats", "json")
                self.check_warns(done, warning)
                self.check_warned(json.loads(done.stdout), warning)

    def test_known_at_the_end(self):
        for name, (text, arguments, warning) in RUNS.items():
            with self.subTest(name):
                (self.folder / "out.npy").unlink(missing_ok=True)
                self.assertEqual(self.call("check", text).stderr, "")
                self.check_strict(self.call("run", text, "--strict", *arguments), warning)
                self.assertTrue((self.folder / "out.npy.partial").exists())
                done = self.call("run", text, "--stats", "json", *arguments)
                self.check_warns(done, warning)
                self.check_warned(json.loads(done.stdout), warning)

    def test_a_hundredth_may_be_clipped(self):
        text = ("stages:\n  in: { stage: file.source, path: in.npy, layout: 'f32[time pol]' }\n"
                "  @x: { stage: quantise, from: in, type: i8 }\n" + SINK)
        for n in 0, 3, 4:
            array = numpy.zeros((100, 3), numpy.float32)
            array.ravel()[:n] = 200
            numpy.save(self.folder / "in.npy", array)
            done = self.call("run", text, "--quiet")
            if n <= 3:
                self.assertEqual((done.returncode, done.stderr), (0, ""))
            else:
                self.check_warns(done, ("clipped", "x", "clipped 4 of 300 elements: the type of its "
                                        "result can't hold their values; use a smaller `scale`"))

    def test_text(self):
        text, warning = GRAPHS["no samples"]
        done = self.call("run", text)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.endswith("\ncomplete\n" + done.stderr), done.stdout)

    def test_other_commands(self):
        text, warning = GRAPHS["a feed of the intensity"]
        self.check_warns(self.call("verify", text), warning)
        self.check_strict(self.call("verify", text, "--strict"), warning)
        self.check_strict(self.call("tune", text, "--strict"), warning)

    def test_several(self):
        text = through("stage: wait.warn, used: 2, unused: 3")
        done = self.call("run", text, "--quiet")
        self.assertEqual(done.stderr.splitlines(), [
            "g.yaml:3:32: node 'x': warning: parameter 'used': is 2, of which nobody knows what it "
            "means",
            "g.yaml:3:3: node 'x': warning: goes on nevertheless",
            "g.yaml:3:43: node 'x': warning: parameter 'unused' has no effect here"])
        done = self.call("check", text, "--strict")
        self.assertEqual([line[-8:] for line in done.stderr.splitlines()], ["(strict)"] * 2)

    def test_no_sink_is_completed_before_all_have_ended(self):
        """The first branch ends in order, the second without a valid sample: neither has a
        result."""
        text = (sky() + "  far: { stage: generate, sample_rate: 1 MHz, samples: 200000, "
                "invalid: [[-1, 0, 200000]], n_stations: 1 }\n"
                "  far_out: { stage: file.sink, from: far, path: far.npy }\n" +
                SINK.replace(" x,", " sky,"))
        done = self.call("run", text, "--strict")
        self.assertEqual(done.returncode, 1)
        self.check_no_result()
        self.assertFalse((self.folder / "far.npy").exists())

    def test_duration_of_a_stream_without_clock(self):
        numpy.save(self.folder / "in.npy", numpy.zeros((100, 2), numpy.float32))
        text = ("stages:\n  @in: { stage: file.source, path: in.npy, layout: 'f32[time pol]' }\n"
                "  out: { stage: file.sink, from: in, path: out.npy }\n")
        self.check_warns(
            self.call("run", text, "--quiet", "--duration", "1 s"),
            (None, "in", "the duration of 1 s does not end it: it has no sample rate"))

    def test_pipelines_warn_of_nothing(self):
        for path in sorted((graphs.SOURCE_ROOT / "pipelines").glob("*.yaml")):
            with self.subTest(path.name):
                done = self.call("check", path.read_text(), "--strict")
                lacks = done.stderr.lower()
                if "no such file" not in lacks and "is an address" not in lacks:
                    self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    tap.main()
