#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Squared moduli and Stokes parameters against NumPy in double precision."""
import unittest

import numpy

import pipeline
import tap

VARIANTS = pipeline.variants()
rng = numpy.random.default_rng(3)
ORDERS = ["time channel station pol", "channel station pol time", "pol time channel station",
          "time channel pol station", "station pol time channel"]


def samples(type_, shape):
    """An array in the type's form, including extreme values, and its values."""
    if type_ == "ci4":
        x = rng.integers(0, 256, shape, numpy.uint8)
        x.ravel()[0] = 0x88
        real, imaginary = x.astype(numpy.int8) >> 4, (x << 4).astype(numpy.int8) >> 4
        return x, real + 1j * imaginary
    dtype = numpy.dtype(pipeline.DTYPES[type_])
    tail = (2,) if type_ in pipeline.PAIRS else ()
    if dtype.kind == "i":
        low, high = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
        x = rng.integers(low, high, shape + tail, dtype, endpoint=True)
        x.ravel()[:2] = low
    elif dtype.kind == "c":
        x = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
        x.ravel()[0] = 1e15 - 1e-15j
    else:
        x = rng.normal(size=shape + tail).astype(dtype)
    return x, x[..., 0].astype(float) + 1j * x[..., 1].astype(float) if tail else x.astype(complex)


def run(array, type_, order, parameters, out, variant, cuts=(1 << 20,), workers=1):
    lengths = dict(zip(("time", "channel", "station", "pol"), (-1, 5, 7, 2)))
    shape = [lengths[axis] for axis in order.split()]
    target = "f64" if type_ in ("cf64", "f64") else "f32"
    text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[{order}]', shape: {shape} }}\n"
            f"  y: {{ stage: power, from: x{parameters} }}\n"
            f"  z: {{ stage: output, from: y, layout: '{target}[{out}]' }}\n")
    return pipeline.run(text, {"x": pipeline.Feed(array, order.split().index("time"), cuts)},
                        {"z": (out.split().index("time"), 1)}, {"y": variant},
                        workers=workers)["z"].array


def arrange(values, order):
    """Transposes [time channel station pol] to another order."""
    axes = ("time", "channel", "station", "pol")
    return values.transpose([axes.index(axis) for axis in order.split()])


class Powers(unittest.TestCase):
    def close(self, got, wanted, scale, *what):
        """Compares within three roundings of numbers as large as `scale`, here and in NumPy's
        doubles."""
        u = 2.0 ** (-24 if got.dtype == numpy.float32 else -53)
        self.assertEqual(got.shape, wanted.shape, what)
        self.assertTrue(numpy.all(abs(got - wanted) <= 8 * u * scale), what)

    def test_squared_moduli(self):
        for type_ in ("ci4", "ci8", "ci16", "cf16", "cf32", "cf64", "i8", "i16", "f16", "f32",
                      "f64"):
            x, values = samples(type_, (61, 5, 7, 2))
            wanted = abs(values) ** 2
            for variant in VARIANTS:
                got = run(x, type_, ORDERS[0], "", ORDERS[0], variant, (17, 1), 2)
                self.close(got, wanted, wanted, type_, variant)

    def stokes(self, type_, feed):
        x, values = samples(type_, (61, 5, 7, 2))
        a, b = values[..., 0], values[..., 1]
        cross = a * b.conj()
        sums = abs(a) ** 2 + abs(b) ** 2, abs(a) ** 2 - abs(b) ** 2, 2 * cross.real, 2 * cross.imag
        places = (0, 1, 2, 3) if feed == "linear" else (0, 2, 3, 1)
        wanted = numpy.stack([sums[i] for i in places], -1)
        tail = (4,) if x.ndim == 5 else ()
        for variant in VARIANTS:
            for order in ORDERS:
                given = numpy.ascontiguousarray(
                    x.transpose([("time", "channel", "station", "pol").index(axis)
                                 for axis in order.split()] + list(tail)))
                out = order.replace("pol", "stokes")
                scale = arrange(wanted[..., :1] + numpy.zeros(4), order)
                got = run(given, type_, order, f", stokes: IQUV, feed: {feed}", out, variant, (40,),
                          2)
                self.close(got, arrange(wanted, order), scale, type_, variant, order)
                got = run(given, type_, order, f", stokes: I, feed: {feed}", out, variant)
                self.close(got, arrange(wanted[..., :1], order), arrange(wanted[..., :1], order),
                           type_, variant, order)

    def test_stokes_of_linear_feeds(self):
        self.stokes("cf32", "linear")

    def test_stokes_of_integers(self):
        self.stokes("ci8", "linear")

    def test_stokes_of_nibbles(self):
        self.stokes("ci4", "linear")

    def test_stokes_of_doubles(self):
        self.stokes("cf64", "circular")

    def test_stokes_of_circular_feeds(self):
        self.stokes("cf32", "circular")

    def test_signs(self):
        """V > 0 if Y is a quarter of a period behind X (right-handed); U > 0 if X = Y (between
        north and east)."""
        x = numpy.zeros((2, 5, 7, 2), numpy.complex64)
        x[0, ..., 0], x[0, ..., 1] = 1, -1j
        x[1] = 1
        circular = numpy.stack([x[..., 0] + 1j * x[..., 1], x[..., 0] - 1j * x[..., 1]], -1)
        circular = (circular / numpy.sqrt(2)).astype(numpy.complex64)
        for variant in VARIANTS:
            for array, feed in ((x, "linear"), (circular, "circular")):
                got = run(array, "cf32", ORDERS[0], f", stokes: IQUV, feed: {feed}",
                          ORDERS[0].replace("pol", "stokes"), variant)
                self.assertTrue(numpy.allclose(got[0], [2, 0, 0, 2], atol=1e-6), (variant, feed))
                self.assertTrue(numpy.allclose(got[1], [2, 0, 2, 0], atol=1e-6), (variant, feed))

    def test_errors(self):
        for layout, shape, type_ in (("time station", "[-1, 2]", "cf32"),
                                     ("time pol", "[-1, 3]", "cf32"), ("time pol", "[-1, 2]", "f32")):
            text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[{layout}]', shape: {shape} }}\n"
                    "  y: { stage: power, from: x, stokes: IQUV }\n"
                    "  z: { stage: output, from: y }\n")
            with self.assertRaises(pipeline.Failure) as raised:
                pipeline.run(text, {"x": pipeline.Feed(numpy.zeros((0, 2), "f4"))}, {"z": (0, 1)})
            self.assertIn(f"parameter 'stokes': wants complex samples of two polarisations, but is "
                          f"given {type_} of time", str(raised.exception))


if __name__ == "__main__":
    tap.main()
