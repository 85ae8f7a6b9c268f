#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pipelines of the Python package: graphs, settings, plans, streams, errors, ends."""
import copy
import importlib.util
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import unittest

import sanitized
import tap

sanitized.restart()

import numpy  # noqa: E402 pylint: disable=wrong-import-position

import cornerturn  # noqa: E402 pylint: disable=wrong-import-position

SOURCE = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])
SKY = {"stages": {
    "sky": {"stage": "generate", "type": "cf32", "sample_rate": "1 MHz", "centre_frequency": 1e8,
            "duration": "5 ms", "n_stations": numpy.int64(3), "noise": 1,
            "source_directions": numpy.array([[0.1, 0.2]]), "source_powers": numpy.ones(1),
            "spiral": "100 m"},
    "filter": {"stage": "fir", "from": "sky", "n_channels": 16, "n_taps": 4},
    "spectra": {"stage": "fft", "from": "filter"},
    "visibilities": {"stage": "correlate", "from": "spectra", "integration": 100},
    "gone": {"stage": "discard", "from": "visibilities"},
    "counts": {"stage": "discard", "from": "visibilities.weights"}}}
FED = """
    stages:
      x: { stage: input, layout: "f32[time]", shape: [-1] }
      c: { stage: copy, from: x }
      y: { stage: output, from: c }
    """
# Runs without an end.
ENDLESS = """
    stages:
      x: {{ stage: generate, type: cf32, sample_rate: 1 MHz, duration: 100000 s, n_stations: 2, noise: 1 }}
      y: {{ stage: file.sink, from: x, path: {0} }}
    """


plain = unittest.skipIf(os.environ.get("CORNERTURN_SANITIZER", "none") != "none",
                        "programs that it starts lack the runtimes of sanitizers")


def program(text, **arguments):
    """A program in Python that runs by itself."""
    return subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **arguments)


class Graphs(unittest.TestCase):
    def test_forms_of_a_graph(self):
        """A dictionary with values of NumPy, a text, a path."""
        with cornerturn.Pipeline(SKY) as pipeline:
            wanted = pipeline.check().streams["visibilities"]
        self.assertEqual([axis.name for axis in wanted.axes], ["time", "channel", "baseline"])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "graph.yaml")
            text = json.dumps(SKY, default=lambda value: value.tolist())
            path.write_text(text, encoding="utf-8")
            for graph in text, path, str(path):
                with cornerturn.Pipeline(graph) as pipeline:
                    self.assertEqual(repr(pipeline.streams["visibilities"]), repr(wanted))

    def test_what_no_graph_can_have(self):
        for value in numpy.nan, 1j, object():
            with self.assertRaises((ValueError, TypeError)):
                cornerturn.Pipeline({"stages": {"x": {"stage": "input", "shape": value}}})

    def test_parameters(self):
        for one, other in [(("filter.n_taps=8",), {}), (("filter",), {"n_taps": 8})]:
            with cornerturn.Pipeline(SKY, costs="off") as pipeline:
                pipeline.set(*one, **other)
                plan = pipeline.plan()
                first = next(node for node in plan.json["nodes"] if "fir" in node["stages"])
                self.assertEqual(first["window"], 8 * 16)

    def test_settings(self):
        with cornerturn.Pipeline(SKY, workers=3, backend="cpu", variant={"spectra": "reference"},
                                 costs="off", cache=100000, fusion=False, in_flight=2, missing=3,
                                 default_layouts=False, cpus="0", device_block=10000, poison=True,
                                 duration=0.002, strict=False, reads_pipes=False) as pipeline:
            plan = pipeline.plan().json
            self.assertEqual(plan["workers"], 3)
            self.assertTrue(plan["nodes"][1]["variant"].startswith("cpu"))
            self.assertEqual(plan["nodes"][2]["variant"], "reference")
        with cornerturn.Pipeline(SKY, backend={"filter": "reference"}) as pipeline:
            self.assertEqual(pipeline.plan().json["nodes"][1]["variant"], "reference")
        with self.assertRaisesRegex(TypeError, "no setting 'worker'; there are backend, variant, "):
            cornerturn.Pipeline(SKY, worker=3)

    def test_settings_are_quantities(self):
        """Texts with units mean what numbers do; whatever is none names the setting."""
        plans = []
        for settings in [{"duration": 0.002, "cache": 1 << 15}, {"duration": "2 ms", "cache": "32 KiB"}]:
            with cornerturn.Pipeline(SKY, workers=1, costs="off", **settings) as pipeline:
                plans.append(pipeline.plan().text)
                self.assertEqual(pipeline.run()["nodes"][0]["samples"], 2000)
        self.assertEqual(*plans)
        with cornerturn.Pipeline(SKY, workers=1, costs="off", cache="4 MiB") as pipeline:
            self.assertNotEqual(pipeline.plan().text, plans[0])
        amount = "an amount such as '1.5 GiB', 0 or more"
        for name, wanted, values in [
                ("duration", "a time such as '5 us', 0 or more", ["4 Hz", "", -1, float("nan"), None]),
                ("cache", amount, ["2 s", -1, "-1 B", float("inf")]), ("device_block", amount, ["many"]),
                ("workers", "an integer, 0 or more", ["2", 2.5, -1]), ("cpus", "a text", [3])]:
            for value in values:
                with self.subTest(name, value=value), self.assertRaises(cornerturn.ParameterError) as caught:
                    cornerturn.Pipeline(SKY, **{name: value})
                self.assertEqual(str(caught.exception), f"{name} wants {wanted}, but is given {value!r}")

    def test_a_plan_has_forms(self):
        with cornerturn.Pipeline(SKY, costs="off") as pipeline:
            plan = pipeline.plan()
            self.assertIn("visibilities", plan.text)
            self.assertTrue(plan.dot.startswith("digraph"))
            self.assertIn("visibilities", plan.explain)
            self.assertIn("station", plan.capacity)
            self.assertEqual(str(plan), plan.text)
            self.assertIn("<pre>", plan._repr_html_())  # pylint: disable=protected-access
            self.assertIn("<svg", plan.svg)

    def test_verification(self):
        with cornerturn.Pipeline(SKY, costs="off") as pipeline:
            report = pipeline.verify()
            self.assertTrue(report.holds, report)
            self.assertIn("visibilities", report)

    def test_tuning(self):
        """A failure of the program, or Ctrl-C, ends it; what is measured is kept."""
        told = []

        def count(progress):
            told.append(progress)
            if progress["n_measured"] >= 3:
                signal.raise_signal(signal.SIGINT)

        with tempfile.TemporaryDirectory() as folder:
            costs = os.path.join(folder, "costs")
            with cornerturn.Pipeline(SKY, costs=costs, workers=1) as pipeline:
                with self.assertRaises(KeyboardInterrupt):
                    pipeline.tune(quick=True, progress=count)
            self.assertTrue(os.path.exists(costs))
            self.assertIn("filter", "".join(progress["what"] for progress in told))
            with cornerturn.Pipeline(SKY, costs=costs, workers=1) as pipeline:
                report = pipeline.tune(budget=0.001, quick=True)
                self.assertFalse(report.holds)
                self.assertIn("measured", report)

    def setUp(self):
        self.addCleanup(signal.signal, signal.SIGINT,
                        signal.signal(signal.SIGINT, signal.default_int_handler))

    def test_stages_are_described(self):
        self.assertIn("n_taps", cornerturn.inspect("fir"))
        for line in cornerturn.inspect().split("\n\n")[0].splitlines():
            with self.subTest(line.split()[0]):
                self.assertIn(line.split()[0], cornerturn.inspect(line.split()[0]))


class Streams(unittest.TestCase):
    def test_coordinates(self):
        with cornerturn.Pipeline(SKY) as pipeline:
            sky, seen = pipeline.streams["sky"], pipeline.streams["visibilities.visibilities"]
        self.assertEqual((sky.type, sky.dtype), ("cf32", numpy.complex64))
        self.assertEqual((sky.sample_rate, sky.frequency, sky["time"].length), (1e6, 1e8, 5000))
        numpy.testing.assert_allclose(sky.times, numpy.arange(5000) * 1e-6)
        numpy.testing.assert_allclose(seen.frequencies, 1e8 + 1e6 * numpy.fft.fftfreq(16))
        self.assertEqual(seen.rate, 1000000 / (16 * 100))
        self.assertEqual(seen.lanes, [])
        self.assertEqual(seen["baseline"].length, 6)
        self.assertNotIn("pol", seen)
        with self.assertRaisesRegex(KeyError, "has no axis 'pol'; it has time, channel, baseline"):
            seen["pol"]  # pylint: disable=pointless-statement

    def test_observation(self):
        graph = {**SKY, "observation": {"telescope": "T<1>", "start": "2026-11-23T12:00:00Z",
                                        "longitude": "6 deg", "latitude": "50 deg"},
                 "stations": {name: {"enu": [i, 0, 0]} for i, name in enumerate("ABC")}}
        graph["stages"] = {**SKY["stages"], "sky": {"stage": "generate", "type": "cf32",
                                                    "sample_rate": "1 MHz", "duration": "5 ms",
                                                    "noise": 1}}
        with cornerturn.Pipeline(graph) as pipeline:
            seen = pipeline.streams["visibilities"]
            shown = pipeline.streams._repr_html_()  # pylint: disable=protected-access
        self.assertEqual(seen.observation["telescope"], "T<1>")
        self.assertEqual(seen["baseline"].labels[:3], [("A", "A"), ("B", "A"), ("B", "B")])
        self.assertEqual(seen.utc(), numpy.datetime64("2026-11-23T12:00:00"))
        self.assertEqual(seen.utc(1), numpy.datetime64("2026-11-23T12:00:00.000001"))
        self.assertEqual(seen.start_utc, "2026-11-23T12:00:00.000000000Z")
        self.assertIn("T&lt;1&gt;", shown)
        self.assertIn("B × A", shown)

    def test_split_subbands(self):
        """Frequencies of channels in subbands are [subband channel]."""
        graph = """
            stages:
              x: { stage: input, layout: "cf32[time subband]", shape: [-1, 2], sample_rate: 1 MHz,
                   frequencies: [100 MHz, 105 MHz] }
              f: { stage: fir, from: x, n_channels: 4, n_taps: 1 }
              s: { stage: fft, from: f }
              y: { stage: output, from: s }
            """
        with cornerturn.Pipeline(graph) as pipeline:
            stream = pipeline.streams["s"]
            numpy.testing.assert_allclose(
                stream.frequencies, numpy.array([[1e8], [1.05e8]]) + 1e6 * numpy.fft.fftfreq(4))
            self.assertIsNone(stream.times)
            self.assertEqual(stream["channel"].parent, "subband")


class Pictures(unittest.TestCase):
    def test_means(self):
        """Those of the samples that the picture names, against NumPy's."""
        x = numpy.arange(64 * 6, dtype="i1").reshape(64, 3, 2)  # [time station part]
        graph = {"stages": {
            "x": {"stage": "input", "layout": "ci8[time station]", "shape": [-1, 3], "sample_rate": 1000,
                  "loses": ["station"]},
            "look": {"stage": "monitor", "from": "x", "period": 0}}}
        validity = numpy.ones((3, 64), bool)
        validity[2] = False
        with cornerturn.Pipeline(graph) as pipeline:
            with self.assertRaises(cornerturn.OrderError):
                pipeline.picture("look")
            pipeline.start()
            self.assertIsNone(pipeline.picture("look"))
            pipeline.feed("x", x.copy(), validity)
            pipeline.feed_end("x")
            pipeline.wait()
            picture = pipeline.picture("look")
            with self.assertRaises(cornerturn.ConfigError):
                pipeline.picture("none")
        z = cornerturn.to_complex(x, "ci8")[picture.tick:picture.tick + picture.n_samples]
        self.assertEqual((picture["station"].length, picture.type, picture.sample_rate),
                         (3, "ci8", 1000))
        numpy.testing.assert_allclose(picture.mean[:2], z.mean(0)[:2], rtol=1e-6)
        numpy.testing.assert_allclose(picture.power[:2], (abs(z) ** 2).mean(0)[:2], rtol=1e-6)
        self.assertTrue(numpy.isnan(picture.power[2]))
        self.assertEqual(picture.valid.tolist(), [1, 1, 0])
        self.assertEqual((picture.levels[0], picture.levels[-1], picture.counts.sum()),
                         (-128, 127, 4 * picture.n_samples))


class Errors(unittest.TestCase):
    def catch(self, kind, graph, run=cornerturn.Pipeline.run, **settings):
        with self.assertRaises(kind) as caught:
            with cornerturn.Pipeline(graph, **settings) as pipeline:
                run(pipeline)
        self.assertIsInstance(caught.exception, cornerturn.Error)
        return caught.exception

    def test_each_kind(self):
        self.catch(cornerturn.ConfigError, "stages: [")
        self.catch(cornerturn.ParameterError, SKY, workers=100000)
        self.catch(cornerturn.LayoutError, FED.replace("from: c", 'from: c, layout: "[channel]"'),
                   run=cornerturn.Pipeline.plan)
        self.catch(cornerturn.ShapeError, FED.replace("stage: copy", "stage: fft"))
        self.catch(cornerturn.DeviceError, FED, backend="cuda:9", run=cornerturn.Pipeline.plan)
        self.catch(cornerturn.PluginError, "stages: { x: { stage: fri } }")
        self.catch(cornerturn.IoError, "stages: { x: { stage: file.source, path: /nowhere.npy } }")
        self.catch(cornerturn.WarningError, {"stages": {
            "x": {**SKY["stages"]["sky"], "tone_amplitudes": [1], "tone_frequencies": ["100 MHz"],
                  "tone_directions": [[0, 0]]}, "y": {"stage": "power", "from": "x"}}}, strict=True)
        self.catch(ValueError, FED)

    def test_places(self):
        error = self.catch(cornerturn.ParameterError, {
            "stages": {"x": {**SKY["stages"]["sky"], "noise": -1}, "y": {"stage": "discard", "from": "x"}}})
        self.assertEqual((error.file, error.line, error.node), ("graph", 2, "x"))
        self.assertGreater(error.column, 1)
        self.assertEqual(error.message, f"graph:2:{error.column}: node 'x': {error.text}")

    def test_order(self):
        with cornerturn.Pipeline(FED) as pipeline:
            for call in (lambda: pipeline.take("y"), lambda: pipeline.feed_end("x"),
                         lambda: pipeline.feed("x", numpy.zeros(3, numpy.float32)), pipeline.wait,
                         lambda: pipeline.statistics):
                with self.assertRaises(cornerturn.OrderError):
                    call()
            pipeline.start()
            for call in (pipeline.start, lambda: pipeline.set("c.backend=cpu"),
                         lambda: pipeline.configure(workers=1)):
                with self.assertRaises(cornerturn.OrderError):
                    call()
            with self.assertRaisesRegex(cornerturn.ConfigError,
                                        "no node 'c' of stage 'input'; it has x"):
                pipeline.feed("c", numpy.zeros(3, numpy.float32))
            pipeline.feed_end("x")
            with self.assertRaisesRegex(cornerturn.CancelledError, "node 'x' has ended"):
                pipeline.feed("x", numpy.zeros(3, numpy.float32))
            self.assertFalse(pipeline.take("y"))
            pipeline.wait()
        for call in (pipeline.check, pipeline.run, lambda: pipeline.take("y"), pipeline.plan):
            with self.assertRaisesRegex(cornerturn.OrderError, "the pipeline is closed"):
                call()
        pipeline.close()

    def test_changes_during_a_run(self):
        graph = """
            stages:
              x: { stage: input, layout: "cf32[time station]", shape: [-1, 1] }
              g: { stage: gains, from: x, gain: 1 }
              y: { stage: output, from: g, layout: "cf32[time station]" }
            """
        with cornerturn.Pipeline(graph, workers=1) as pipeline:
            self.assertEqual(pipeline.set_now("g", gain=1), 0)
            pipeline.set_at("g.gain=2", 10)
            pipeline.set_at("g", 20, gain=3)
            pipeline.start()
            pipeline.feed("x", numpy.ones((30, 1), numpy.complex64))
            pipeline.feed_end("x")
            got = pipeline.read("y")
            with self.assertRaises(cornerturn.OrderError):
                pipeline.set_at("g.gain=2", 10)
        numpy.testing.assert_array_equal(got[:, 0], numpy.repeat([1, 2, 3], 10))


class Ends(unittest.TestCase):
    def test_run(self):
        with cornerturn.Pipeline(SKY, workers=1) as pipeline:
            statistics = pipeline.run()
            self.assertEqual(statistics["state"], "complete")
            self.assertFalse(pipeline.is_interrupted)
            self.assertEqual(pipeline.warnings, [])

    def test_a_run_that_is_not_over_is_stopped(self):
        """It leaves no file with a final name."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "y.npy")
            with self.assertWarnsRegex(RuntimeWarning, "closed before the end of its run"):
                with cornerturn.Pipeline(ENDLESS.format(path), workers=1) as pipeline:
                    pipeline.start()
            self.assertFalse(os.path.exists(path))

    @plain
    def test_an_interrupt_completes_the_sinks(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "y.npy")
            running = program(f"""
import os, signal, sys, threading, time, cornerturn
signal.signal(signal.SIGINT, signal.default_int_handler)
def interrupt():
    frame = None
    while not frame:
        frame = sys._current_frames()[threading.main_thread().ident]
        while frame and frame.f_code.co_name != "wait_for":
            frame = frame.f_back
    while not pipeline.statistics["nodes"][0]["samples"]:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
with cornerturn.Pipeline({ENDLESS.format(path)!r}, workers=1) as pipeline:
    pipeline.start()
    threading.Thread(target=interrupt).start()
    pipeline.wait()
""")
            _, errors = running.communicate(timeout=60)
            self.assertEqual(errors.splitlines()[-1], "KeyboardInterrupt")
            with open(path + ".json", encoding="utf-8") as file:
                self.assertTrue(json.load(file)["interrupted"])

    @plain
    def test_exceptions_in_the_middle(self):
        """The process ends with the exception's status, with or without a `with` statement, also
        while another thread waits in the pipeline."""
        for closes in "with cornerturn.Pipeline(G) as p:", "p = cornerturn.Pipeline(G)\nif True:":
            for thread in "feed", "take":
                with self.subTest(closes=closes, thread=thread):
                    ran = program(f"""
import threading, numpy, cornerturn
G = {FED!r}
threading.excepthook = lambda _: None  # what the thread says would be mixed with the exception
def feed():
    while True:
        p.feed("x", numpy.zeros(1000, numpy.float32))
def take():
    while p.take("y"):
        pass
{closes}
    p.start()
    threading.Thread(target={thread}, daemon=True).start()
    raise ValueError("in the middle")
""")
                    _, errors = ran.communicate(timeout=60)
                    self.assertEqual(ran.returncode, 1, errors)
                    self.assertIn("ValueError: in the middle", errors)

    @plain
    def test_failures_of_the_run(self):
        """Every call raises the run's first error: here the file may not grow."""
        for call in 'p.feed("x", a)', 'p.take("y")', "p.wait()":
            with self.subTest(call), tempfile.TemporaryDirectory() as folder:
                graph = FED.rstrip() + f"\n      z: {{ stage: file.sink, from: x, path: {folder}/z.npy }}\n"
                ran = program(f"""
import resource, numpy, cornerturn
resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
p = cornerturn.Pipeline({graph!r}, workers=1)
p.start()
a = numpy.zeros(1000000, numpy.float32)
p.feed("x", a)
while True:
    {call}
""")
                _, errors = ran.communicate(timeout=60)
                self.assertIn("cornerturn.IoError: ", errors)
                self.assertIn("File too large", errors)


@plain
class Misuse(unittest.TestCase):
    def test_settings_that_c_cannot_hold(self):
        for settings in ({"backend": None}, {"backend": {"c": None}}, {"variant": {None: "x"}},
                         {"workers": 2**32 + 1}, {"workers": -1}, {"cache": 2**64}, {"missing": 2**64},
                         {"duration": float("nan")}, {"duration": float("inf")}):
            with self.subTest(settings), self.assertRaises(cornerturn.ParameterError):
                cornerturn.Pipeline(FED, **settings)

    def test_ticks_and_times_that_are_none(self):
        with cornerturn.Pipeline(FED) as pipeline:
            for tick in 2**64 + 5, -2**70:
                with self.assertRaises(cornerturn.ParameterError):
                    pipeline.set_at("c.gain=2", tick)
            pipeline.start()
            for timeout in float("nan"), -1:
                with self.assertRaises(cornerturn.ParameterError):
                    pipeline.take("y", timeout=timeout)
            for nodes in (), ("y", "y"):
                with self.assertRaises(cornerturn.ParameterError):
                    pipeline.read(*nodes)
            masked = numpy.ma.masked_array(numpy.ones(5, "f4"), mask=True)
            with self.assertRaisesRegex(cornerturn.ParameterError, "masked array"):
                pipeline.feed("x", masked)
            pipeline.interrupt()

    def test_no_copies(self):
        pipeline = cornerturn.Pipeline(FED)
        for make in copy.copy, copy.deepcopy, pickle.dumps:
            with self.assertRaises(TypeError):
                make(pipeline)
        pipeline.check()

    @plain
    def test_a_forked_process_leaves_it_alone(self):
        ran = program(f"""
import gc, os, sys, cornerturn
p = cornerturn.Pipeline({FED!r})
p.start()
child = os.fork()
if not child:
    del p
    gc.collect()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
p.interrupt()
p.close()
print("closed")
""")
        output, errors = ran.communicate(timeout=60)
        self.assertEqual((ran.returncode, output), (0, "closed\n"), errors)


@plain
class Example(unittest.TestCase):
    def test_spectra(self):
        ran = subprocess.run([sys.executable, SOURCE / "examples" / "spectra.py"], check=True, capture_output=True,
                             text=True)
        self.assertEqual(ran.stdout, "993 spectra; the most power is in channel 0\n")

    def test_fringes(self):
        if not importlib.util.find_spec("matplotlib"):
            self.skipTest("matplotlib is missing")
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(SOURCE / "pipelines", os.path.join(folder, "pipelines"))
            subprocess.run([sys.executable, SOURCE / "examples" / "fringes.py"], cwd=folder, check=True,
                           env={**os.environ, "MPLBACKEND": "agg"})
            self.assertTrue(os.path.exists(os.path.join(folder, "fringes.png")))


@plain
class Library(unittest.TestCase):
    def test_a_library_that_is_none(self):
        for given, message in [("/dev/null", "can't use '/dev/null'"),
                               ("libc.so.6", "undefined symbol: ct_version")]:
            ran = program("import cornerturn", env={**os.environ, "CORNERTURN_LIBRARY": given})
            _, errors = ran.communicate(timeout=60)
            self.assertIn(message, errors)
            self.assertIn(f"ImportError: cornerturn {cornerturn.__version__} wants the library", errors)

    def test_a_library_of_another_version(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "libcornerturn.so.1")
            subprocess.run(["cc", "-shared", "-fPIC", "-o", path, "-x", "c", "-"], check=True, text=True,
                           input='const char *ct_version(void); const char *ct_version(void) { return "9.1.2"; }')
            ran = program("import cornerturn", env={**os.environ, "CORNERTURN_LIBRARY": folder})
            _, errors = ran.communicate(timeout=60)
            self.assertRegex(errors, r"wants the library of version \d+\.\d+, but is given version 9.1.2: ")


if __name__ == "__main__":
    tap.main()
