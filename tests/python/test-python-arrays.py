#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that pass through graphs by the Python package."""
import gc
import threading
import tracemalloc
import unittest
import weakref

import sanitized
import tap

sanitized.restart()

import numpy  # noqa: E402 pylint: disable=wrong-import-position

import cornerturn  # noqa: E402 pylint: disable=wrong-import-position
from cornerturn import _types  # noqa: E402 pylint: disable=wrong-import-position

PASS = """
    stages:
      x: {{ stage: input, layout: "{0}[time station]", shape: [-1, 3] }}
      c: {{ stage: copy, from: x }}
      y: {{ stage: output, from: c, layout: "[station time]" }}
    """
LOSSY = """
    stages:
      x: {{ stage: input, layout: "i16[pol time station]", shape: [2, -1, 3], loses: [station, pol] }}
      c: {{ stage: copy, from: x }}
      y: {{ stage: output, from: c, layout: "{0}" }}
    """
SPECTRA = {"stages": {
    "x": {"stage": "input", "layout": "cf32[time]", "shape": [-1], "sample_rate": "64 MHz",
          "centre_frequency": 1e8},
    "filter": {"stage": "fir", "from": "x", "n_channels": 64, "n_taps": 8},
    "spectra": {"stage": "fft", "from": "filter"},
    "y": {"stage": "output", "from": "spectra", "layout": "[time channel]"}}}


def fill(kind, shape):
    """Random bytes, as every value of a type is legal; small numbers for floats."""
    numbers = numpy.random.default_rng(17)
    shape = (*shape, 2) if kind.pairs else shape
    if kind.dtype.kind in "iu":
        limits = numpy.iinfo(kind.dtype)
        return numbers.integers(limits.min, limits.max, shape, kind.dtype, endpoint=True)
    values = numbers.integers(-1000, 1000, shape)
    return (values + 1j * values[::-1] if kind.dtype.kind == "c" else values).astype(kind.dtype)


def pass_through(graph, array, validity=None, masked=False):
    with cornerturn.Pipeline(graph, workers=1) as pipeline:
        pipeline.start()
        pipeline.feed("x", array, validity)
        pipeline.feed_end("x")
        return pipeline.read("y", masked=masked)


class Types(unittest.TestCase):
    def test_every_type_passes(self):
        for name, kind in _types.BY_NAME.items():
            with self.subTest(name):
                array = fill(kind, (50, 3))
                got = pass_through(PASS.format(name), array)
                self.assertEqual(got.dtype, kind.dtype)
                numpy.testing.assert_array_equal(got, array.swapaxes(0, 1))

    def test_what_is_fed_is_taken(self):
        """Without a stage between them."""
        graph = PASS.format("f32").replace("from: c", "from: x").replace("[station time]", "")
        graph = graph.replace(', layout: ""', "").replace("c: { stage: copy", "c: { stage: discard")
        array = fill(_types.find("f32"), (50, 3))
        numpy.testing.assert_array_equal(pass_through(graph, array), array)

    def test_complex_values(self):
        numpy.testing.assert_array_equal(
            cornerturn.to_complex(numpy.array([[3, -4], [-128, 127]], numpy.int8), "ci8"),
            numpy.array([3 - 4j, -128 + 127j], numpy.complex64))
        numpy.testing.assert_array_equal(cornerturn.unpack_ci4(numpy.array([0x78, 0xf1], numpy.uint8)),
                                         numpy.array([7 - 8j, -1 + 1j], numpy.complex64))
        self.assertEqual(cornerturn.to_complex(numpy.zeros((5, 2), numpy.int64), "ci64").dtype,
                         numpy.complex128)


class Refusals(unittest.TestCase):
    """Arrays that a graph cannot read in place."""

    def refuse(self, kind, array, wanted, **arguments):
        with cornerturn.Pipeline(PASS.format(kind), workers=1) as pipeline:
            pipeline.start()
            with self.assertRaises(cornerturn.ParameterError) as caught:
                pipeline.feed("x", array, **arguments)
            self.assertEqual(str(caught.exception), "node 'x' wants " + wanted)
            self.assertEqual(caught.exception.node, "x")

            # Nothing was fed: the graph runs on.
            good = fill(_types.find(kind), (5, 3))
            pipeline.feed("x", good)
            pipeline.feed_end("x")
            numpy.testing.assert_array_equal(pipeline.read("y"), good.swapaxes(0, 1))

    def test_refused(self):
        zeros = numpy.zeros
        self.refuse("f32", zeros((5, 3)), "elements float32 for f32, but is given float64")
        self.refuse("f32", zeros((5, 3), ">f4"), "elements float32 for f32, but is given >f4")
        self.refuse("f32", zeros((5, 4), "f4"),
                    "the shape (time, 3) for [time station], but is given (5, 4)")
        self.refuse("ci8", zeros((5, 3), "i1"), "the shape (time, 3, 2) for [time station], last the "
                    "two parts, but is given (5, 3)")
        self.refuse("f32", zeros((3, 5), "f4").T, "an array that is contiguous in C order and "
                    "aligned, or copy=True, but is given strides (4, 20)")
        self.refuse("f32", zeros((0, 3), "f4"), "1 sample or more, but is given 0")
        self.refuse("f32", [[0, 0, 0]], "an array of NumPy, or copy=True, but is given list")
        self.refuse("i16", zeros((5, 3)), "elements int16 for i16, but is given float64", copy=True)
        self.refuse("i16", zeros((5, 3), "i4"), "elements int16 for i16, but is given int32", copy=True)
        self.refuse("f32", zeros((5, 3), "f4"), "validity of the shape (5,), but is given (6,)",
                    validity=numpy.ones(6, bool))
        constant = zeros((5, 3), "f4")
        constant.flags.writeable = False
        self.refuse("f32", constant, "a writable array, because invalid samples become zero in it, "
                    "or copy=True, but is given one that is read-only", validity=numpy.ones(5, bool))

    def test_copies(self):
        for given in [numpy.arange(15).reshape(5, 3), numpy.arange(15.).reshape(3, 5).T,
                      [[1, 2, 3], [4, 5, 6]]]:
            with cornerturn.Pipeline(PASS.format("f32"), workers=1) as pipeline:
                pipeline.start()
                pipeline.feed("x", given, copy=True)
                pipeline.feed_end("x")
                numpy.testing.assert_array_equal(pipeline.read("y"), numpy.transpose(given))


class Validity(unittest.TestCase):
    def test_masks_have_the_shape_of_the_array(self):
        numbers = numpy.random.default_rng(5)
        array = numbers.integers(1, 1000, (2, 45, 3), numpy.int16)
        valid = numbers.random((3, 2, 45)) < 0.8  # [station pol time], their canonical order
        truth = numpy.where(valid.transpose(1, 2, 0), array, 0)
        for layout, order in [("[pol time station]", (0, 1, 2)), ("[time station pol]", (1, 2, 0)),
                              ("[station pol time]", (2, 0, 1))]:
            with self.subTest(layout):
                fed = array.copy()
                got = pass_through(LOSSY.format(layout), fed, valid, masked=True)
                wanted = truth.transpose(order)
                numpy.testing.assert_array_equal(got.data, wanted)
                numpy.testing.assert_array_equal(got.mask, wanted == 0)
                numpy.testing.assert_array_equal(fed, truth)  # invalid samples are zero in place

    def test_masks_of_blocks_of_an_axis(self):
        array = numpy.arange(1, 2 * 45 * 3 + 1, dtype=numpy.int16).reshape(2, 45, 3)
        valid = numpy.ones((3, 2, 45), bool)
        valid[1, :, 17:33] = valid[0, 1, 2] = False
        got = pass_through(LOSSY.format("[station time pol time:8]"), array, valid, masked=True)
        self.assertEqual(got.shape, (3, 6, 2, 8))
        numpy.testing.assert_array_equal(got.mask, got.data == 0)
        self.assertEqual((~got.mask).sum(), valid.sum())

    def test_lanes(self):
        with cornerturn.Pipeline(LOSSY.format("[time station pol]"), workers=1) as pipeline:
            pipeline.start()
            pipeline.feed("x", numpy.ones((2, 4, 3), numpy.int16))
            with pipeline.take("y") as block:
                self.assertIsNone(block.lanes)
                self.assertTrue(block.valid.all())
                self.assertIs(block.masked.mask, numpy.ma.nomask)
            valid = numpy.arange(24).reshape(3, 2, 4) != 9
            pipeline.feed("x", numpy.ones((2, 4, 3), numpy.int16), valid)
            with pipeline.take("y") as block:
                numpy.testing.assert_array_equal(block.lanes, valid)
                self.assertEqual(block.axes, ["time", "station", "pol"])
            pipeline.feed_end("x")
            self.assertFalse(pipeline.take("y"))
            pipeline.wait()


class Blocks(unittest.TestCase):
    def test_iteration(self):
        with cornerturn.Pipeline(PASS.format("f32"), workers=1) as pipeline:
            pipeline.start()
            for begin in range(3):
                pipeline.feed("x", numpy.full((10, 3), begin, numpy.float32))
            pipeline.feed_end("x")
            seen = []
            for block in pipeline.take("y"):
                self.assertEqual(block.start, len(seen))
                self.assertEqual(block.index, len(seen))
                seen += [float(value) for value in block.array[0]]
            self.assertEqual(seen, [0.0] * 10 + [1.0] * 10 + [2.0] * 10)
            self.assertFalse(pipeline.take("y"))
            self.assertEqual(pipeline.take("y").array.shape, (3, 0))
            pipeline.wait()

    def test_a_view_is_not_a_copy(self):
        """It is of the pipeline's memory, and stays readable behind the pipeline."""
        pipeline = cornerturn.Pipeline(PASS.format("f32"), workers=1)
        pipeline.start()
        pipeline.feed("x", numpy.ones((10, 3), numpy.float32))
        block = pipeline.take("y")
        view = numpy.asarray(block)
        self.assertFalse(view.flags.owndata or view.flags.writeable)
        self.assertEqual(view.__array_interface__["data"], block.array.__array_interface__["data"])
        kept = block.copy()
        block.close()
        with self.assertRaisesRegex(cornerturn.OrderError, "the block of node 'y' is given back"):
            block.array  # pylint: disable=pointless-statement
        pipeline.close()
        del pipeline, block
        gc.collect()
        self.assertEqual(view.sum(), 30)
        self.assertEqual(kept.sum(), 30)

    def test_dlpack(self):
        with cornerturn.Pipeline(PASS.format("f32"), workers=1) as pipeline:
            pipeline.start()
            pipeline.feed("x", numpy.ones((10, 3), numpy.float32))
            with pipeline.take("y") as block:
                self.assertEqual(block.__dlpack_device__(), (1, 0))
                self.assertEqual(numpy.from_dlpack(block).sum(), 30)
                self.assertFalse(hasattr(block, "__cuda_array_interface__"))
            pipeline.feed_end("x")
            self.assertFalse(pipeline.take("y"))
            pipeline.wait()

    def test_time_is_up(self):
        with cornerturn.Pipeline(PASS.format("f32"), workers=1) as pipeline:
            pipeline.start()
            with self.assertRaisesRegex(TimeoutError, "nothing came to 'y' after 0.01 s"):
                pipeline.take("y", timeout=0.01)
            with self.assertRaisesRegex(TimeoutError, "nothing can be fed to 'x' after 0.01 s"):
                for _ in range(1000):
                    pipeline.feed("x", numpy.ones((100000, 3), numpy.float32), timeout=0.01)
            with self.assertRaisesRegex(TimeoutError, "the run is not over after 0.01 s"):
                pipeline.wait(timeout=0.01)
            pipeline.interrupt()
            for _ in pipeline.take("y"):
                pass
            pipeline.wait()

    def test_arrays_live_until_they_are_read(self):
        """Of 10,000 blocks, not more than a few are alive at once, and none at the end."""
        alive, most = weakref.WeakSet(), 0

        class Counted(numpy.ndarray):
            """An array that can be counted."""
            __hash__ = object.__hash__

        with cornerturn.Pipeline(PASS.format("f32"), workers=1) as pipeline:
            pipeline.start()

            def feed():
                nonlocal most
                for _ in range(10000):
                    array = numpy.zeros((16, 3), numpy.float32).view(Counted)
                    alive.add(array)
                    pipeline.feed("x", array, numpy.ones(16, bool))
                    most = max(most, len(alive))
                pipeline.feed_end("x")

            feeder = threading.Thread(target=feed)
            feeder.start()
            first = pipeline.take("y")
            first.close()
            tracemalloc.start()
            before, _ = tracemalloc.get_traced_memory()
            n_samples = first.n_samples + sum(block.n_samples for block in pipeline.take("y"))
            feeder.join()
            pipeline.wait()
            gc.collect()
            after, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        self.assertEqual(n_samples, 160000)
        self.assertLess(most, 10)
        self.assertEqual(len(alive), 0)
        self.assertLess(after - before, 100000)


class Streams(unittest.TestCase):
    def test_a_tone_is_in_its_channel(self):
        tone = numpy.exp(2j * numpy.pi * 7.3 / 64 * numpy.arange(65536)).astype(numpy.complex64)
        with cornerturn.Pipeline(SPECTRA, workers=2) as pipeline:
            pipeline.start()
            pipeline.feed("x", tone)
            pipeline.feed_end("x")
            spectra = pipeline.read("y")
            self.assertEqual(spectra.shape, (1017, 64))
            peak = (abs(spectra)**2).sum(0).argmax()
            self.assertEqual(pipeline.streams["spectra"].frequencies[peak], 107e6)

    def test_outputs_are_read_together(self):
        graph = """
            stages:
              x: { stage: generate, type: cf32, sample_rate: 1 MHz, duration: 5 ms, n_stations: 2, noise: 1 }
              p: { stage: power, from: x }
              y: { stage: output, from: x }
              z: { stage: output, from: p }
            """
        with cornerturn.Pipeline(graph, workers=1) as pipeline:
            voltages, powers = pipeline.read("y", "z")
            numpy.testing.assert_allclose(abs(voltages)**2, powers, rtol=1e-5)


if __name__ == "__main__":
    tap.main()
