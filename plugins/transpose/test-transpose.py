#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Streams in all layouts against NumPy's transpose: orders, blocks, parts of complex numbers."""
import itertools
import unittest

import numpy

import graphs
import pipeline
import tap

VARIANTS = ["reference"] + ["cpu-" + name for name in pipeline.instruction_sets()]
AXES = ("time", "channel", "station", "pol")
rng = numpy.random.default_rng(5)


def random_of(type_, shape):
    """Random bit patterns, including NaNs, in the dtype of the type; pairs have an axis of their
    own."""
    dtype = numpy.dtype(pipeline.DTYPES[type_])
    shape = tuple(shape) + ((2,) if type_ in pipeline.PAIRS else ())
    n_bytes = int(numpy.prod(shape)) * dtype.itemsize
    return rng.integers(0, 256, n_bytes, numpy.uint8).view(dtype).reshape(shape)


def transpose(array, type_, axes, layout, variant, cuts=(1 << 20,), workers=1, out=None):
    """Transposes to `layout`; `out` is the order of the result, by default that of the input."""
    names = [name for name in layout.split() if ":" not in name]
    lengths = [-1 if axis == "time" else length for axis, length in zip(axes, array.shape)]
    order = layout if out is None else out
    text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[{' '.join(axes)}]', shape: {lengths} }}\n"
            f"  y: {{ stage: transpose, from: x, layout: '[{layout}]' }}\n"
            f"  z: {{ stage: output, from: y, layout: '[{order}]' }}\n")
    time = (names if out is None else out.split()).index("time")
    return pipeline.run(text, {"x": pipeline.Feed(array, axes.index("time"), cuts)},
                        {"z": (time if out else layout.split().index("time"), 1)},
                        {"y": variant}, workers=workers)["z"].array


def blocked(array, axes, layout):
    """The memory of a layout with blocks; a short last block is filled with zeros."""
    counts = {name.split(":")[0]: int(name.split(":")[1]) for name in layout.split() if ":" in name}
    names = []
    for i, axis in enumerate(axes):
        count = counts.get(axis)
        j = len(names)
        if count:
            rest = -array.shape[j] % count
            array = numpy.pad(array, [(0, rest if k == j else 0) for k in range(array.ndim)])
            shape = array.shape
            array = array.reshape(shape[:j] + (shape[j] // count, count) + shape[j + 1:])
            names += [axis, f"{axis}:{count}"]
        else:
            names.append(axis)
    order = [names.index(name) for name in layout.split()]
    return array.transpose(order + list(range(len(names), array.ndim)))


class Transposes(unittest.TestCase):
    def same(self, got, wanted, *what):
        wanted = numpy.ascontiguousarray(wanted)
        self.assertEqual(got.shape, wanted.shape, what)
        self.assertEqual(got.tobytes(), wanted.tobytes(), what)

    def orders(self, type_, lengths, cuts, workers):
        array = random_of(type_, lengths)
        tail = list(range(4, array.ndim))
        for variant in VARIANTS:
            for order in itertools.permutations(range(4)):
                layout = " ".join(AXES[i] for i in order)
                got = transpose(array, type_, AXES, layout, variant, cuts, workers)
                self.same(got, array.transpose(list(order) + tail), variant, layout)

    def test_all_orders_of_one_byte(self):
        self.orders("i8", (97, 13, 5, 2), (40, 1, 23), 1)

    def test_all_orders_of_nibbles(self):
        self.orders("ci4", (65, 4, 3, 2), (65,), 2)

    def test_all_orders_of_two_bytes(self):
        self.orders("ci8", (67, 16, 7, 2), (33, 2), 2)

    def test_all_orders_of_four_bytes(self):
        self.orders("ci16", (61, 17, 3, 2), (64,), 1)

    def test_all_orders_of_eight_bytes(self):
        self.orders("cf32", (59, 16, 5, 2), (1, 30), 2)

    def test_all_orders_of_sixteen_bytes(self):
        self.orders("cf64", (31, 9, 4, 3), (31,), 1)

    def test_all_orders_that_are_streamed_past_the_caches(self):
        self.orders("cf32", (61, 67, 33, 2), (61,), 2)

    def test_axes_of_one(self):
        for lengths in ((1, 1, 1, 1), (7, 1, 5, 1), (1, 32, 1, 2), (40, 1, 1, 1)):
            array = random_of("cf32", lengths)
            for variant in VARIANTS:
                for order in ((3, 2, 1, 0), (1, 0, 3, 2), (2, 3, 0, 1)):
                    got = transpose(array, "cf32", AXES, " ".join(AXES[i] for i in order), variant)
                    self.same(got, array.transpose(order), variant, lengths, order)

    def test_seven_axes(self):
        axes = ("time", "subband", "channel", "beam", "station", "pol", "tap")
        array = random_of("ci8", (9, 3, 4, 2, 5, 2, 3))
        for variant in VARIANTS:
            for order in ((6, 5, 4, 3, 2, 1, 0), (2, 0, 4, 6, 1, 3, 5), (1, 2, 0, 6, 5, 3, 4)):
                got = transpose(array, "ci8", axes, " ".join(axes[i] for i in order), variant)
                self.same(got, array.transpose(order + (7,)), variant, order)

    def test_blocks_are_made(self):
        array = random_of("ci8", (70, 6, 5, 2))
        for variant in VARIANTS:
            for layout in ("channel time station pol time:16", "time channel pol station time:4",
                           "time channel station pol channel:4",
                           "pol station time channel station:2 time:8",
                           "station time channel time:32 pol"):
                for cuts, workers in (((70,), 1), ((7, 30, 1), 2)):
                    got = transpose(array, "ci8", AXES, layout, variant, cuts, workers)
                    self.same(got, blocked(array, AXES, layout), variant, layout)

    def test_blocks_are_undone(self):
        """Transposes to a blocked layout and back, also between blocks whose lengths do not divide
        each other."""
        array = random_of("ci16", (83, 6, 5, 2))
        lengths = [-1, 6, 5, 2]
        for variant in VARIANTS:
            for first, second in (("channel time station pol time:16", "time pol channel station"),
                                  ("channel time station pol time:16",
                                   "channel time pol station time:4"),
                                  ("time channel pol station time:4",
                                   "pol time channel station time:16"),
                                  ("time channel pol station time:6",
                                   "station time pol channel time:4"),
                                  ("time channel pol station channel:3",
                                   "time pol station channel channel:2")):
                text = (f"stages:\n  x: {{ stage: input, layout: 'ci16[{' '.join(AXES)}]', "
                        f"shape: {lengths} }}\n"
                        f"  y: {{ stage: transpose, from: x, layout: '[{first}]' }}\n"
                        f"  w: {{ stage: transpose, from: y, layout: '[{second}]' }}\n"
                        f"  z: {{ stage: output, from: w, layout: '[{second}]' }}\n")
                got = pipeline.run(text, {"x": pipeline.Feed(array, 0, (48, 35))},
                                   {"z": (second.split().index("time"), 1)},
                                   {"y": variant, "w": variant}, workers=2)["z"].array
                self.same(got, blocked(array, AXES, second), variant, first, second)

    def test_parts_of_complex_numbers_stand_apart(self):
        array = random_of("ci8", (37, 3, 4, 2))
        parts = ("time", "channel", "station", "pol", "complex")
        for variant in VARIANTS:
            for layout in ("channel complex station pol time", "complex time channel pol station",
                           "channel time station pol complex time:4",
                           "station time channel time:16 complex pol"):
                text = (f"stages:\n  x: {{ stage: input, layout: 'ci8[{' '.join(AXES)}]', "
                        f"shape: [-1, 3, 4, 2] }}\n"
                        f"  y: {{ stage: transpose, from: x, layout: 'i8[{layout}]' }}\n"
                        f"  z: {{ stage: output, from: y, layout: 'i8[{layout}]' }}\n"
                        f"  w: {{ stage: transpose, from: y, layout: '[{' '.join(AXES)}]' }}\n"
                        f"  v: {{ stage: output, from: w, layout: 'ci8[{' '.join(AXES)}]' }}\n")
                taken = pipeline.run(text, {"x": pipeline.Feed(array, 0, (37,))},
                                     {"z": (layout.split().index("time"), 1), "v": (0, 1)},
                                     {"y": variant, "w": variant})
                self.same(taken["z"].array, blocked(array, parts, layout), variant, layout)
                self.same(taken["v"].array, array, variant, layout)

    def test_nothing_gives_nothing(self):
        array = random_of("cf32", (0, 3, 4, 2))
        for variant in VARIANTS:
            got = transpose(array, "cf32", AXES, "pol channel time station", variant)
            self.assertTrue(got is None or got.size == 0)

    def test_errors(self):
        array = random_of("cf32", (4, 3, 4, 2))
        for layout, wanted in (
                ("time channel station", "parameter 'layout': "),
                ("time channel station pol beam", "parameter 'layout': "),
        ):
            with self.assertRaises(pipeline.Failure) as raised:
                transpose(array, "cf32", AXES, layout, "reference")
            self.assertIn(wanted, str(raised.exception))
        for type_, layout, wanted in (
                ("cf32", "ci8[time channel]", "wants ci8[time channel], but is given cf32, and "
                                              "transpose keeps the type"),
                ("f32", "[time complex channel]", "[time complex channel] wants a complex type with "
                                                  "parts of whole bytes, but is given f32"),
                ("ci4", "[time complex channel]", "[time complex channel] wants a complex type with "
                                                  "parts of whole bytes, but is given ci4"),
        ):
            text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[time channel]', "
                    f"shape: [-1, 3] }}\n"
                    f"  y: {{ stage: transpose, from: x, layout: '{layout}' }}\n"
                    f"  z: {{ stage: output, from: y }}\n")
            with self.assertRaises(pipeline.Failure) as raised:
                pipeline.run(text, {"x": pipeline.Feed(random_of(type_, (2, 3)))}, {"z": (0, 1)})
            self.assertIn(wanted, str(raised.exception))


class ShortFirings(graphs.GraphTest):
    def test_blocks_are_read_whole(self):
        """A firing never begins within a block, however short firings are."""
        stages = {
            "sky": {"stage": "generate", "type": "ci16", "sample_rate": "1 MHz", "samples": 23,
                    "n_stations": 2, "block": {"time": 1}},
            "blocks": {"stage": "transpose", "from": "sky", "layout": "[station time time:4]"},
            "more": {"stage": "transpose", "from": "blocks", "layout": "[time station time:6]"},
            "sums": {"stage": "fir", "from": "more", "n_channels": 1, "n_taps": 3},
            "same": {"stage": "file.sink", "from": "more", "path": "same.npy"},
            "out": {"stage": "file.sink", "from": "sums", "path": "out.npy"},
            "wanted": {"stage": "file.sink", "from": "sky", "path": "wanted.npy"},
        }
        for options in [], ["--cache", "1"]:
            self.run_graph(stages, "--backend", "cpu", "--poison", *options)
            with self.subTest(options=options):
                wanted = numpy.load(self.folder / "wanted.npy")
                numpy.testing.assert_array_equal(numpy.load(self.folder / "same.npy"), wanted)
                self.assertEqual(len(numpy.load(self.folder / "out.npy")), 21)


if __name__ == "__main__":
    tap.main()
