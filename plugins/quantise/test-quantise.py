#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Quantisation against NumPy, to the bit, and the count of clipped samples."""
import unittest

import numpy

import graphs
import pipeline
import tap

VARIANTS = ["reference"] + ["cpu-" + name for name in pipeline.instruction_sets()]
MOST = {"ci4": 7, "ci8": 127, "ci16": 32767, "i8": 127, "i16": 32767}
rng = numpy.random.default_rng(9)


def numbers(n, most, scale):
    """Numbers half-way between levels, at the limits, and beyond them."""
    x = numpy.concatenate([
        rng.normal(size=n) * most / scale,
        rng.integers(-2 * most - 3, 2 * most + 3, n) / (2 * scale),
        [0, -0.0, 0.5, 1.5, 2.5, -0.5, most, most + 0.49, most + 0.5, -most - 0.5, most + 1,
         most + 1.5, -most - 2, 3e38, -3e38, numpy.inf, -numpy.inf, numpy.nan, 1e-40, 4194304.5,
         8388609, 2.0 ** 31, -2.0 ** 63]]).astype(numpy.float32)
    return rng.permutation(x)


def quantised(x, scale, most):
    """Quantised values, and which of them were clipped. The product is exact in double
    precision."""
    rounded = numpy.rint(x.astype(float) * float(numpy.float32(scale)))
    clipped = ~(abs(rounded) <= most)
    return numpy.nan_to_num(numpy.clip(rounded, -most, most)).astype(int), clipped


def run(array, type_, order, scale, variant, shape, cuts=(1 << 20,), workers=1, out=None):
    target = "cf32" if type_[0] == "c" else "f32"
    text = (f"stages:\n  x: {{ stage: input, layout: '{target}[{order}]', shape: {shape} }}\n"
            f"  y: {{ stage: quantise, from: x, type: {type_}, scale: {scale} }}\n"
            f"  z: {{ stage: output, from: y, layout: '{type_}[{out or order}]' }}\n")
    return pipeline.run(text, {"x": pipeline.Feed(array, order.split().index("time"), cuts)},
                        {"z": ((out or order).split().index("time"), 1)}, {"y": variant},
                        workers=workers)["z"].array


class Quantisation(unittest.TestCase):
    def test_real(self):
        for type_ in ("i8", "i16"):
            for scale in (1, 0.1, 37.25):
                x = numbers(1000, MOST[type_], scale)[:2001].reshape(-1, 3)
                wanted, _ = quantised(x, scale, MOST[type_])
                for variant in VARIANTS:
                    got = run(x, type_, "time channel", scale, variant, [-1, 3], (100, 1), 2)
                    self.assertTrue(numpy.array_equal(got, wanted), (type_, scale, variant))

    def test_complex(self):
        for type_ in ("ci4", "ci8", "ci16"):
            for scale in (1, 0.3):
                x = numbers(1003, MOST[type_], scale)[:2016].reshape(-1, 3, 2)
                wanted, _ = quantised(x, scale, MOST[type_])
                if type_ == "ci4":
                    wanted = (wanted[..., 0] << 4 & 240) | (wanted[..., 1] & 15)
                x = numpy.ascontiguousarray(x).view(numpy.complex64)[..., 0]
                for variant in VARIANTS:
                    got = run(x, type_, "time channel", scale, variant, [-1, 3], (100, 1), 2)
                    self.assertTrue(numpy.array_equal(got, wanted), (type_, scale, variant))

    def test_other_order(self):
        x = rng.normal(size=(40, 5, 3)).astype(numpy.float32) * 100
        wanted, _ = quantised(x, 1, 127)
        for variant in VARIANTS:
            got = run(x, "i8", "time channel station", 1, variant, [-1, 5, 3],
                      out="station time channel")
            self.assertTrue(numpy.array_equal(got, wanted.transpose(2, 0, 1)), variant)

    def test_error(self):
        for type_, target, wanted in (("cf32", "i8", "wants a complex type, but is given i8 for cf32"),
                                      ("f32", "ci4", "wants a real type, but is given ci4 for f32")):
            text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[time channel]', shape: [-1, 3] }}\n"
                    f"  y: {{ stage: quantise, from: x, type: {target} }}\n"
                    f"  z: {{ stage: output, from: y }}\n")
            with self.assertRaises(pipeline.Failure) as raised:
                pipeline.run(text, {"x": pipeline.Feed(numpy.zeros((2, 3), "c8"))}, {"z": (0, 1)})
            self.assertIn(f"parameter 'type': {wanted}", str(raised.exception))


class Counters(graphs.GraphTest):
    def test_clipped_samples_are_counted_once(self):
        x = numbers(1000, 127, 1)[:2022].reshape(-1, 3, 2)
        _, clipped = quantised(x, 1, 127)
        numpy.save(self.folder / "x.npy", x.copy().view(numpy.complex64)[..., 0])
        for variant in VARIANTS:
            statistics = self.run_graph({
                "x": {"stage": "file.source", "path": "x.npy", "layout": "cf32[time channel]",
                      "sample_rate": "1 kHz", "block": {"time": 50}},
                "y": {"stage": "quantise", "from": "x", "type": "ci8"},
                "z": {"stage": "discard", "from": "y"},
            }, "--variant", f"y={variant}")
            nodes = {node["name"]: node for node in statistics["nodes"]}
            self.assertEqual(nodes["y"]["counters"]["clipped"], clipped.any(-1).sum(), variant)
            self.assertEqual(nodes["z"]["counters"], {"samples": 337, "invalid": 0})


if __name__ == "__main__":
    tap.main()
