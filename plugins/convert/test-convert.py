#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""All pairs of types against NumPy: rounding, limits, strides, blocks."""
import unittest

import numpy

import pipeline
import tap

VARIANTS = ["reference"] + ["cpu-" + name for name in pipeline.instruction_sets()]
REAL = ["i8", "i16", "i32", "i64", "u8", "u32", "f16", "f32", "f64"]
COMPLEX = ["ci4", "ci8", "ci16", "ci32", "ci64", "cf16", "cf32", "cf64"]
LIMITS = {"i4": (-8, 7)}
rng = numpy.random.default_rng(11)


def part_of(type_):
    return "i4" if type_ == "ci4" else type_.replace("c", "", 1) if type_[0] == "c" else type_


def numbers_of(part, n):
    """Numbers of a real type, including extreme ones."""
    if part[0] in "iu":
        low, high = LIMITS.get(part) or (numpy.iinfo(pipeline.DTYPES[part]).min,
                                         numpy.iinfo(pipeline.DTYPES[part]).max)
        dtype = "i1" if part == "i4" else pipeline.DTYPES[part]
        x = rng.integers(low, high, n, dtype=dtype, endpoint=True)
        x[: n // 4] = numpy.clip(rng.integers(-300, 300, n // 4), low, high)
        special = numpy.array([low, high, 0, 1, low + 1, high - 1]).astype(dtype)
    else:
        x = numpy.concatenate([rng.normal(size=n // 2) * 10.0 ** rng.integers(-6, 5, n // 2),
                               rng.integers(-70000, 70000, n - n // 2) / 2])
        special = numpy.array([0.5, 1.5, 2.5, -0.5, -1.5, 127.5, -128.5, 1e30, -1e30, numpy.inf,
                               -numpy.inf, numpy.nan, 65504, 65519, 65520, 2 ** 31, -2 ** 31,
                               2.0 ** 63, -2.0 ** 63, 3e-8, 2e-8, 6e-5, 2.98e-8])
        with numpy.errstate(over="ignore"):
            x, special = (v.astype(pipeline.DTYPES[part]) for v in (x, special))
    x[: special.size] = special
    return rng.permutation(x)


def converted(x, part):
    """The values of an array, converted to a real type."""
    if part[0] == "f":
        with numpy.errstate(over="ignore", invalid="ignore"):
            return x.astype(pipeline.DTYPES[part])
    low, high = LIMITS.get(part) or (int(numpy.iinfo(pipeline.DTYPES[part]).min),
                                     int(numpy.iinfo(pipeline.DTYPES[part]).max))
    dtype = "i1" if part == "i4" else pipeline.DTYPES[part]
    if x.dtype.kind == "f":
        values = [0 if numpy.isnan(v) else low if v <= low else high if v >= high
                  else int(numpy.rint(numpy.float64(v))) for v in x.ravel()]
    else:
        values = [min(max(int(v), low), high) for v in x.ravel()]
    return numpy.array(values, dtype).reshape(x.shape)


def memory_of(parts, type_):
    """The array in which the type stores these numbers [… part]."""
    if type_ == "ci4":
        return ((parts[..., 0].astype("u1") << 4) | (parts[..., 1].astype("u1") & 15)).astype("u1")
    if type_ in ("cf32", "cf64"):
        return numpy.ascontiguousarray(parts).view(pipeline.DTYPES[type_])[..., 0]
    return parts if type_ in COMPLEX else parts[..., 0]


def run(array, type_, target, variant, layout="time channel", out=None, cuts=(50, 7), workers=1,
        shape=None):
    text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[{layout}]', shape: {shape} }}\n"
            f"  y: {{ stage: convert, from: x, type: {target} }}\n"
            f"  z: {{ stage: output, from: y, layout: '{target}[{out or layout}]' }}\n")
    return pipeline.run(text, {"x": pipeline.Feed(array, layout.split().index("time"), cuts)},
                        {"z": ((out or layout).split().index("time"), 1)}, {"y": variant},
                        workers=workers)["z"].array


def same_bits(a, b):
    """Whether the arrays are equal to the bit; all NaNs are equal."""
    if a.dtype.kind in "fc":
        flat = [v.ravel().view(v.real.dtype) for v in (a, b)]
        return a.shape == b.shape and bool(numpy.all(
            (flat[0] == flat[1]) & (numpy.signbit(flat[0]) == numpy.signbit(flat[1])) |
            numpy.isnan(flat[0]) & numpy.isnan(flat[1])))
    return numpy.array_equal(a, b)


class Conversions(unittest.TestCase):
    def pairs(self, types, n_parts, variants):
        for type_ in types:
            parts = numbers_of(part_of(type_), 64 * 9 * n_parts).reshape(64, 9, n_parts)
            for target in types:
                wanted = memory_of(converted(parts, part_of(target)), target)
                for variant in variants:
                    got = run(memory_of(parts, type_), type_, target, variant, shape=[-1, 9])
                    self.assertTrue(same_bits(got, wanted), (type_, target, variant))

    def test_real_types(self):
        self.pairs(REAL, 1, VARIANTS)

    def test_complex_types(self):
        self.pairs(COMPLEX, 2, VARIANTS)

    def test_other_orders(self):
        parts = numbers_of("i8", 40 * 5 * 3 * 2).reshape(40, 5, 3, 2)
        wanted = memory_of(converted(parts, "f32"), "cf32")
        for variant in VARIANTS:
            got = run(parts, "ci8", "cf32", variant, "time channel pol", "pol time channel",
                      workers=2, shape=[-1, 5, 3])
            self.assertTrue(same_bits(got, wanted.transpose(2, 0, 1)), variant)

    def test_inside_blocks(self):
        parts = numbers_of("i8", 40 * 6 * 2).reshape(40, 6, 2)
        for variant in VARIANTS:
            text = ("stages:\n  x: { stage: input, layout: 'ci8[time channel]', shape: [-1, 6] }\n"
                    "  w: { stage: transpose, from: x, layout: '[channel time time:16]' }\n"
                    "  y: { stage: convert, from: w, type: cf32 }\n"
                    "  z: { stage: output, from: y, layout: 'cf32[channel time time:16]' }\n")
            got = pipeline.run(text, {"x": pipeline.Feed(parts, 0, (40,))}, {"z": (1, 1)},
                               {"y": variant})["z"].array
            wanted = numpy.pad(memory_of(converted(parts, "f32"), "cf32"), ((0, 8), (0, 0)))
            self.assertTrue(numpy.array_equal(got, wanted.reshape(3, 16, 6).transpose(2, 0, 1)),
                            variant)

    def test_error(self):
        with self.assertRaises(pipeline.Failure) as raised:
            run(numpy.zeros((3, 2), "f4"), "f32", "cf32", "reference", shape=[-1, 2])
        self.assertIn("parameter 'type': wants a real type, but is given cf32 for f32",
                      str(raised.exception))


if __name__ == "__main__":
    tap.main()
