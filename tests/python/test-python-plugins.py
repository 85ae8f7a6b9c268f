#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stages of one's own in the Python package: compiled from a text, and loaded."""
import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile
import traceback
import unittest

import sanitized
import tap

sanitized.restart()

import numpy  # noqa: E402 pylint: disable=wrong-import-position

import cornerturn  # noqa: E402 pylint: disable=wrong-import-position
# pylint: disable-next=wrong-import-position
from cornerturn import _library, _plugin, _stage, _types  # noqa: E402

TIMES = """
#include <cornerturn/stage.h>

static gboolean
infer(CtNode *node, GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return TRUE;
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    for (gint64 t = work->begin; t < work->end; t++)
        *(float *)(out->data + t * out->stride[0]) = FACTOR * *(const float *)(in->data + t * in->stride[0]);
    return TRUE;
}

static const CtStage stage = {
    .name = "times",
    .summary = "samples times a factor",
    .version = 1,
    .inputs = CT_PORTS({"in", "f32[time]", 0, "samples"}),
    .outputs = CT_PORTS({"out", "f32[time]", 0, "the products"}),
    .infer = infer,
};

static const CtVariant variant = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"times", NULL},
    .rows = CT_PORT_ROWS(0.1),
    .split = "time",
    .work = work,
};

CT_STAGE_PLUGIN("times", stage, &variant);
"""
GRAPH = """
    stages:
      x: { stage: input, layout: "f32[time]", shape: [-1] }
      t: { stage: times, from: x }
      y: { stage: output, from: t }
    """


def run():
    with cornerturn.Pipeline(GRAPH, workers=1) as pipeline:
        pipeline.start()
        pipeline.feed("x", numpy.arange(100, dtype=numpy.float32))
        pipeline.feed_end("x")
        return pipeline.read("y")


@cornerturn.stage(inputs={"in": "f32[time station]"}, output="cf32[time station]")
def turned(x, *, by: float = 1.0, times: int = 2, conjugated: bool = False, unit: str = "rad"):
    """Turns samples."""
    angle = by * times * (numpy.pi / 180 if unit == "deg" else 1)
    y = x * numpy.exp(1j * angle)
    return y.conj() if conjugated else y


class Plugins(unittest.TestCase):
    @unittest.skipUnless(shutil.which(os.environ.get("CC", "cc").split()[0]), "there is no compiler")
    def test_compiled(self):
        """A later text takes the place of an earlier one; what cannot be compiled does not."""
        for factor in 2, 3:
            cornerturn.compile_plugin(f"#define FACTOR {factor}\n{TIMES}")
            numpy.testing.assert_array_equal(run(), factor * numpy.arange(100))
        self.assertIn("samples times a factor", cornerturn.inspect("times"))
        with self.assertRaisesRegex(cornerturn.PluginError, "FACTOR"):
            cornerturn.compile_plugin(TIMES)
        with self.assertRaisesRegex(cornerturn.PluginError, "stage 'copy' stands in two plugins"):
            cornerturn.compile_plugin("#define FACTOR 1\n" + TIMES.replace('"times"', '"copy"'))
        numpy.testing.assert_array_equal(run(), 3 * numpy.arange(100))

    def test_refused(self):
        for path in pathlib.Path(os.environ["CORNERTURN_TEST_PLUGINS"]) / "nvml.so", "/nowhere/ct-x.so":
            with self.assertRaisesRegex(cornerturn.PluginError, f"{path}: is no plugin of Cornerturn: "):
                cornerturn.load_plugin(path)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "ct-text.so")
            path.write_text("text", encoding="utf-8")
            with self.assertRaisesRegex(cornerturn.PluginError, "file too short|invalid ELF"):
                cornerturn.load_plugin(path)
        old = pathlib.Path(os.environ["CORNERTURN_TEST_PLUGINS"]) / "ct-old.so"
        with self.assertRaisesRegex(cornerturn.PluginError, "ABI"):
            cornerturn.load_plugin(old)


class Structs(unittest.TestCase):
    @unittest.skipUnless(shutil.which("cc") and shutil.which("pkg-config"), "there is no compiler")
    def test_they_are_those_of_the_headers(self):
        """Members of the tables that the package makes, and of the blocks that it reads."""
        structs = {"CtPort": _stage._Port, "CtParam": _stage._Param, "CtNode": _stage._Node,
                   "CtWork": _stage._Work, "CtStage": _stage._Stage, "CtRow": _stage._Row,
                   "CtVariant": _stage._Variant, "CtSizes": _stage._Sizes, "CtPlugin": _stage._Plugin,
                   "CtBlock": _library.Block, "CtQuantity": _library.Quantity, "CtTuneControl": _library.TuneControl,
                   "CtTuneProgress": _library.TuneProgress}
        members = [(name, field[0]) for name, struct in structs.items() for field in struct._fields_]
        wanted = [getattr(structs[name], field).offset for name, field in members]
        wanted += [ctypes.sizeof(_library.Block), _stage._TUNABLE_BYTES, _stage._ABI, _stage._MAGIC,
                   _stage._PLUGIN_ERROR, len(cornerturn._errors.CODES), len(_types.BY_NUMBER)]
        lines = [f"    (size_t)offsetof({name}, {field})," for name, field in members]
        text = ("#include <cornerturn/stage.h>\n#include <cornerturn/pipeline.h>\n#include <cornerturn/text.h>\n"
                "#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{\n    const size_t values[] = {\n" + "\n".join(lines) +
                "sizeof(CtBlock), sizeof(CtTunable), CT_ABI_VERSION, CT_PLUGIN_MAGIC, CT_ERROR_PLUGIN,\n"
                "CT_ERROR_ORDER + 1, CT_N_TYPES};\n"
                "    for (size_t i = 0; i < sizeof values / sizeof *values; i++)\n"
                '        printf("%zu\\n", values[i]);\n    return 0;\n}\n')
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "offsets")
            subprocess.run(["cc", *_plugin._flags(), "-x", "c", "-", "-o", program], input=text, text=True,
                           check=True)
            found = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        self.assertEqual([int(line) for line in found.split()], wanted)


class Stages(unittest.TestCase):
    """Functions in Python."""

    def run_on(self, graph, array):
        with cornerturn.Pipeline(graph, workers=2) as pipeline:
            pipeline.start()
            for part in numpy.array_split(array, 5):
                pipeline.feed("x", part)
            pipeline.feed_end("x")
            return pipeline.read("y")

    def test_function(self):
        self.assertEqual(turned(numpy.ones(1)).shape, (1,))
        described = cornerturn.inspect("turned")
        self.assertIn("Turns samples (in Python: slow)", described)
        self.assertIn("default 1.0", described)
        graph = {"stages": {
            "x": {"stage": "input", "layout": "f32[time station]", "shape": [-1, 3], "sample_rate": 10},
            "t": {"stage": "turned", "from": "x", "by": 45, "times": 3, "conjugated": True, "unit": "deg"},
            "y": {"stage": "output", "from": "t", "layout": "[time station]"}}}
        array = numpy.arange(300, dtype=numpy.float32).reshape(100, 3)
        got = self.run_on(graph, array)
        numpy.testing.assert_allclose(got, array * numpy.exp(-0.75j * numpy.pi), rtol=1e-6)

    def test_several_inputs_and_integers(self):
        @cornerturn.stage(inputs={"a": "ci8[time]", "b": "ci8[time]"}, output="i16[time]", name="both")
        def _(a, b):
            return a[..., 0].astype(numpy.int16) + b[..., 1]

        graph = """
            stages:
              x: { stage: input, layout: "ci8[time]", shape: [-1] }
              t: { stage: both, from: { a: x, b: x } }
              y: { stage: output, from: t }
            """
        array = numpy.arange(-100, 100, dtype=numpy.int8).reshape(100, 2)
        numpy.testing.assert_array_equal(self.run_on(graph, array), array.sum(1, dtype=numpy.int16))

    def test_a_later_function_takes_the_place(self):
        for factor in 2, 3:
            cornerturn.stage(lambda x, factor=factor: factor * x, name="scaled", output="f32[time]")
            numpy.testing.assert_array_equal(
                self.run_on(GRAPH.replace("times", "scaled"), numpy.ones(50, numpy.float32)), factor)

    def fail(self, function, **ports):
        cornerturn.stage(function, name="failing", **ports)
        with self.assertRaises(cornerturn.PluginError) as caught:
            self.run_on(GRAPH.replace("times", "failing"), numpy.ones(50, numpy.float32))
        self.assertEqual(caught.exception.node, "t")
        return caught.exception

    def test_what_is_returned_fits(self):
        """Floats of another width are converted; what would lose more is an error, and no other shape
        is stretched."""
        ports = {"inputs": {"in": "f32[time]"}}
        for function, output, text in [
                (lambda x: x * 1j, "f32[time]", "returned complex64 where out is f32"),
                (lambda x: 1000 * x.astype("i2"), "i8[time]", "returned int16 where out is i8"),
                (lambda x: x, "i16[time]", "returned float32 where out is i16"),
                (lambda x: x * 1j, "ci8[time]", "returned complex64 where out is ci8"),
                (lambda x: None, "f32[time]", "returned NoneType where out is f32"),
                (lambda x: x[:1], "f32[time]", r"returned shape \(1,\) where \(\d+,\) is wanted"),
                (lambda x: 1.0, "f32[time]", r"returned shape \(\) where \(\d+,\) is wanted")]:
            with self.subTest(text, output=output):
                failure = self.fail(function, output=output, **ports)
                self.assertRegex(failure.text, f"^the function 'failing' {text}$")
                self.assertIsNone(failure.__cause__)
        for dtype in "f8", "f2", "i2", "?":
            cornerturn.stage(lambda x, dtype=dtype: x.astype(dtype), name="wide", output="f32[time]")
            numpy.testing.assert_array_equal(
                self.run_on(GRAPH.replace("times", "wide"), numpy.ones(50, numpy.float32)), 1)

    def test_arrays_are_those_of_the_function(self):
        """It may change them, and keep them after the run."""
        kept = []

        def doubled(x):
            x *= 2
            kept.append(x)
            return x

        cornerturn.stage(doubled, output="f32[time]")
        array = numpy.arange(50, dtype=numpy.float32)
        got = self.run_on(GRAPH.replace("times", "doubled"), array)
        numpy.testing.assert_array_equal(array, numpy.arange(50))
        numpy.testing.assert_array_equal(got, 2 * array)
        numpy.testing.assert_array_equal(numpy.concatenate(kept), got)

    def test_failures(self):
        def failing(x):
            raise KeyError(f"of {x.dtype}")

        failure = self.fail(failing, output="f32[time]")
        self.assertEqual(failure.text, "KeyError: 'of float32'")
        self.assertEqual(failure.__cause__.args, ("of float32",))
        frames = traceback.extract_tb(failure.__cause__.__traceback__)
        self.assertEqual(frames[-1].line, 'raise KeyError(f"of {x.dtype}")')
        with cornerturn.Pipeline(GRAPH.replace("times", "failing"), workers=1) as pipeline:
            pipeline.start()
            pipeline.feed("x", numpy.ones(50, numpy.float32))
            for call in pipeline.wait, pipeline.wait, lambda: pipeline.take("y"):
                with self.assertRaises(cornerturn.PluginError) as caught:
                    call()
                self.assertIsInstance(caught.exception.__cause__, KeyError)

        with self.assertRaisesRegex(TypeError, "wants a default that is bool, int, float or str"):
            cornerturn.stage(lambda x, *, y: x, name="wrong")
        with self.assertRaises(cornerturn.PluginError):
            cornerturn.stage(lambda x: x, name="wrong", output="f32[time")

    def test_waiting_for_its_own_run(self):
        """A stage that would wait for ever fails the run."""
        for call in (lambda pipeline: pipeline.close()), (lambda pipeline: pipeline.wait()):
            made = []

            @cornerturn.stage(inputs={"in": "f32[time]"}, output="f32[time]")
            def waiting(x):
                call(made[0])
                return x

            graph = {"stages": {"x": {"stage": "generate", "type": "f32", "sample_rate": 1000, "samples": 10},
                                "y": {"stage": "waiting", "from": "x"},
                                "z": {"stage": "discard", "from": "y"}}}
            with cornerturn.Pipeline(graph) as pipeline:
                made.append(pipeline)
                with self.assertRaisesRegex(cornerturn.PluginError, "outside the functions of stages"):
                    pipeline.run()

    def test_axes_are_those_of_the_first_input(self):
        for given, output, fits in [
                ("f32[time station]", "f32[time]", False), ("f32[time]", "f32[time beam]", False),
                ("f32[time ...]", "f32[time]", False), ("f32{time station}", "f32[... time]", True),
                ("f32[time pol pol']", "[pol time pol']", True), ("i8[time complex]", "i8[time]", True)]:
            with self.subTest(given=given, output=output):
                if fits:
                    cornerturn.stage(lambda x: x, name="axes", inputs={"in": given}, output=output)
                    continue
                with self.assertRaises(cornerturn.ParameterError) as caught:
                    cornerturn.stage(lambda x: x, name="axes", inputs={"in": given}, output=output)
                self.assertEqual(str(caught.exception), "stage 'axes' wants an output with the axes of its first "
                                 f"input, {given}, but is given {output}")


if __name__ == "__main__":
    tap.main()
