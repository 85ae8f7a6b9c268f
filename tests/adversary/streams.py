# SPDX-License-Identifier: BSD-3-Clause
"""Streams as numpy arrays: types, axes in canonical order, validity, clock and coordinates.
Everything here follows docs/conventions.md; no code of the project is used."""
import dataclasses
import fractions

import numpy

# Bits of a part, and whether elements are complex, float and signed; in the order in which a reader
# of several types chooses.
TYPES = {
    "ci4": (4, True, False, True), "ci8": (8, True, False, True), "ci16": (16, True, False, True),
    "ci32": (32, True, False, True), "ci64": (64, True, False, True),
    "cf16": (16, True, True, True), "cf32": (32, True, True, True), "cf64": (64, True, True, True),
    "i8": (8, False, False, True), "i16": (16, False, False, True),
    "i32": (32, False, False, True), "i64": (64, False, False, True),
    "u8": (8, False, False, False), "u32": (32, False, False, False),
    "f16": (16, False, True, True), "f32": (32, False, True, True), "f64": (64, False, True, True),
}
FLOATS = {16: numpy.float16, 32: numpy.float32, 64: numpy.float64}
# By the bits of a float: the most bits of the integers that the planner may convert to it unasked.
KEPT_BITS = {16: 8, 32: 16, 64: 32}
# The relative error of one rounding. That of double precision is doubled, because the expected
# values have double precision as well.
UNIT = {16: 2.0 ** -11, 32: 2.0 ** -24, 64: 2.0 ** -52}
# The largest error of a stage's sample from underflow: half the smallest subnormal number in each
# rounding, and there are fewer than 2¹³.
UNDERFLOW = {16: 0, 32: 2.0 ** (12 - 149), 64: 2.0 ** (12 - 1074)}

FIRST = ("time", "subband", "tap", "channel", "phase")
LAST = ("beam", "baseline", "station", "pol", "pol'", "stokes")


def bits(kind):
    return TYPES[kind][0]


def is_complex(kind):
    return TYPES[kind][1]


def is_float(kind):
    return TYPES[kind][2]


def limits(kind):
    """The smallest and the largest value of an integer type."""
    n, _, _, is_signed = TYPES[kind]
    return (-(1 << n - 1), (1 << n - 1) - 1) if is_signed else (0, (1 << n) - 1)


def keeps(kind, other):
    """Whether a conversion keeps every value."""
    if kind == other:
        return True
    if is_complex(kind) != is_complex(other):
        return False
    if is_float(kind):
        return is_float(other) and bits(other) > bits(kind)
    if is_float(other):
        return bits(kind) <= KEPT_BITS[bits(other)]
    (low, high), (least, most) = limits(kind), limits(other)
    return least <= low and high <= most


def taken_as(kind, accepted):
    """The type that a reader of several types gets; None: it can't read the stream."""
    if kind in accepted:
        return kind
    return next((other for other in TYPES if other in accepted and keeps(kind, other)), None)


def canonical(names):
    """Axes in canonical order; axes of other names keep their order."""
    others = [name for name in names if name not in FIRST + LAST]
    return tuple([name for name in FIRST if name in names] + others +
                 [name for name in LAST if name in names])


@dataclasses.dataclass(frozen=True)
class Clock:
    rate: fractions.Fraction | None = None  # ticks per second; None: samples are only counted
    ticks: int = 1  # per sample
    epoch: int | None = None

    def slower(self, factor):
        return dataclasses.replace(self, ticks=self.ticks * factor)

    def sample_rate(self):
        return self.rate and self.rate / self.ticks


@dataclasses.dataclass(frozen=True)
class Coordinate:
    """Absolute values of an axis, [axis] or [parent axis]; `table`: they are listed one by one."""
    unit: str
    values: tuple
    table: bool
    parent: str | None = None
    step: float | None = None  # of seconds, if there may be only one value

    def array(self):
        return numpy.array(self.values)


@dataclasses.dataclass
class Stream:
    kind: str
    axes: tuple  # in canonical order
    x: numpy.ndarray  # [axes]
    error: numpy.ndarray  # the largest error that a result may have, [axes]
    valid: numpy.ndarray  # [axes]; the length is 1 along axes that do not lose data
    loses: frozenset = frozenset()
    clock: Clock = Clock()
    start: int = 0
    frequency: float | None = None
    coordinates: dict = dataclasses.field(default_factory=dict)

    def axis(self, name):
        return self.axes.index(name)

    def length(self, name):
        return self.x.shape[self.axes.index(name)] if name in self.axes else 1

    def lengths(self):
        return dict(zip(self.axes, self.x.shape))

    def ticks(self):
        """The tick of each sample."""
        return self.start + numpy.arange(self.length("time")) * self.clock.ticks

    def lanes(self):
        """The validity, [lane][time]."""
        shape = [n if name in self.loses or name == "time" else 1
                 for name, n in zip(self.axes, self.x.shape)]
        whole = numpy.broadcast_to(self.valid, shape)
        n_lanes = int(numpy.prod(shape[1:]))
        return numpy.moveaxis(whole, 0, -1).reshape(n_lanes, self.length("time"))

    def likeness(self):
        """The properties that inputs of `stack` must have in common, besides the lengths of
        axes."""
        return (self.kind, self.axes, self.clock, self.frequency, str(self.coordinates))


def blank(x, axes, kind, **more):
    """A stream whose samples are exact and valid."""
    return Stream(kind, tuple(axes), x, numpy.zeros(x.shape), numpy.ones([1] * x.ndim, bool),
                  **more)


def change(stream, **changed):
    """The stream with changed fields. Invalid samples become exact zeros. Samples with an error
    have been rounded, so their error also allows for underflow."""
    made = dataclasses.replace(stream, **changed)
    if "error" in changed and is_float(made.kind):
        made.error = made.error + numpy.where(made.error > 0, UNDERFLOW[bits(made.kind)], 0)
    if not made.valid.all():
        made.x = numpy.where(made.valid, made.x, 0)
        made.error = numpy.where(made.valid, made.error, 0)
    return made


def arrange(array, names):
    """Transposes an array of axes `names` to canonical order."""
    return array.transpose([names.index(name) for name in canonical(names)])


def expand(array, names, axes):
    """Transposes an array of axes `names` to the order of `axes`, with length 1 for axes that it
    does not have."""
    kept = array.transpose([names.index(axis) for axis in axes if axis in names])
    shape = iter(kept.shape)
    return kept.reshape([next(shape) if axis in names else 1 for axis in axes])
