# SPDX-License-Identifier: BSD-3-Clause
"""Element types as NumPy has them, with the convention of .npy files: complex integers and cf16 are
arrays of their parts, with a last axis of two; ci4 is one byte for each element."""
import numpy

from . import _errors

# In the order of CtType, from 1 on: name, dtype, whether the parts are a last axis.
_TYPES = [("ci4", "u1", False), ("ci8", "i1", True), ("ci16", "i2", True), ("ci32", "i4", True),
          ("ci64", "i8", True), ("cf16", "f2", True), ("cf32", "c8", False), ("cf64", "c16", False),
          ("i8", "i1", False), ("i16", "i2", False), ("i32", "i4", False), ("i64", "i8", False),
          ("u8", "u1", False), ("u32", "u4", False), ("f16", "f2", False), ("f32", "f4", False),
          ("f64", "f8", False)]


class ElementType:
    """`name`, `dtype`, and `pairs`: whether arrays have a last axis of the real and the imaginary
    part."""

    def __init__(self, name, dtype, pairs):
        self.name, self.dtype, self.pairs = name, numpy.dtype(dtype), pairs

    def __repr__(self):
        return f"<{self.name}: {self.dtype}{', last axis 2' if self.pairs else ''}>"


BY_NUMBER = [None, *(ElementType(*row) for row in _TYPES)]
BY_NAME = {row.name: row for row in BY_NUMBER if row}


def find(name):
    if name not in BY_NAME:
        raise _errors.ParameterError(f"a type wants to be one of {' '.join(BY_NAME)}, but is '{name}'")
    return BY_NAME[name]


def becomes(dtype, kind):
    """Whether elements of a dtype may be converted to a type: to a float from those of any width and from
    integers, to an integer from those that it holds all."""
    casting = "same_kind" if kind.dtype.kind in "fc" else "safe"
    return numpy.can_cast(dtype, kind.dtype, casting)


def unpack_ci4(array):
    """complex64 of the bytes of ci4."""
    signed = numpy.asarray(array).view(numpy.int8)
    values = numpy.empty(signed.shape, numpy.complex64)
    values.real, values.imag = signed >> 4, numpy.left_shift(signed, 4) >> 4
    return values


def to_complex(array, name):
    """complex64 (of ci32, ci64 and cf64 complex128) of an array of a complex type, as feed() and
    take() have it."""
    kind = find(name)
    array = numpy.asarray(array)
    if name == "ci4":
        return unpack_ci4(array)
    if not kind.pairs:
        return array
    wide = numpy.float64 if name in ("ci32", "ci64") else numpy.float32
    return numpy.ascontiguousarray(array, wide).view(numpy.result_type(wide, numpy.complex64))[..., 0]
