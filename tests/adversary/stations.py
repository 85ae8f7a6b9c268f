# SPDX-License-Identifier: BSD-3-Clause
"""The outputs of the stages for stations and the sky, by the formulas of docs/conventions.md and of
the plugins' READMEs: delays, weights, beams and visibilities."""
import numpy

from oracle import ROOT_2, sums, without
from streams import UNIT, arrange, bits, canonical, change, expand, is_complex, is_float


# ---- delays ----

def frequencies(stream):
    """f_c of every element, in a shape that can be broadcast to the stream's axes."""
    for name in "channel", "subband":
        coordinate = stream.coordinates.get(name)
        if name in stream.axes and coordinate is not None and coordinate.unit == "Hz":
            names = [name] if coordinate.parent is None else [coordinate.parent, name]
            return expand(coordinate.array(), names, stream.axes)
        if name == "channel" and name in stream.axes:
            return None
    return None if stream.frequency is None else numpy.full([1] * len(stream.axes),
                                                            stream.frequency)


def delays_at(stream, rows, step, ticks):
    """Delays in seconds at ticks, [ticks][station][pol]; rows are `step` seconds apart."""
    if len(rows) == 1:
        return numpy.broadcast_to(rows[0], (len(ticks), *rows.shape[1:]))
    place = (ticks - stream.start) / (step * float(stream.clock.rate))
    place = numpy.clip(place, 0, len(rows) - 1)
    row = numpy.minimum(place.astype(int), len(rows) - 2)
    part = (place - row)[:, None, None]
    return rows[row] * (1 - part) + rows[row + 1] * part


def is_sure(stream, rows, step):
    """Whether all shifts are certain: none is so near to half a sample that rounding may go either
    way."""
    if "channel" in stream.axes:
        return True
    rate = float(stream.clock.sample_rate())
    most = int(numpy.rint(numpy.max(rows) * rate))
    ticks = stream.start + (most + numpy.arange(-1, stream.length("time") + 1)) * stream.clock.ticks
    ticks = numpy.concatenate([ticks, stream.ticks()])
    shifts = numpy.concatenate([array.ravel() * rate for array in
                                (rows, delays_at(stream, rows, step, ticks))])
    return bool((abs(shifts - numpy.floor(shifts) - 0.5) > 1e-6).all())


def delay(stream, rows, step=None):
    """`rows` are delays in seconds, [row][station][pol]; the length is 1 if stations or pols share
    them."""
    shifts = "channel" not in stream.axes
    unit = UNIT[32] * ROOT_2
    hertz = frequencies(stream)

    def turned(x, tau):
        """x rotated by the phases of delays `tau`, which can be broadcast to it; and the largest
        error."""
        if not is_complex(stream.kind):
            return x, numpy.zeros(x.shape)
        turns = hertz * tau
        # Between rows, the position in units of rows is rounded as well.
        most = abs(hertz) * abs(rows).max() * (len(rows) + 1 if len(rows) > 1 else 1)
        return (x * numpy.exp(-2j * numpy.pi * (turns - numpy.rint(turns))),
                (2 * numpy.pi * (2.0 ** -25 + 2.0 ** -49 * most) + 8 * unit) * abs(x))

    def against(tau):
        names = ["time", "station", "pol"]
        axes = canonical(list(stream.axes) + [name for name in names if name not in stream.axes])
        array = expand(tau, names, axes)
        return array.reshape([n for n, axis in zip(array.shape, axes) if axis in stream.axes])

    if not shifts:
        x, off = turned(stream.x, against(delays_at(stream, rows, step, stream.ticks())))
        return change(stream, x=x, error=stream.error + off)
    rate = float(stream.clock.sample_rate())
    least, most = (int(numpy.rint(f(rows) * rate)) for f in (numpy.min, numpy.max))
    n = max(0, stream.length("time") - (most - least))
    start = stream.start + most * stream.clock.ticks
    ticks = start + numpy.arange(n) * stream.clock.ticks
    tau = delays_at(stream, rows, step, ticks)
    index = numpy.arange(n)[:, None, None] + most - numpy.rint(tau * rate).astype(int)
    valid = numpy.broadcast_to(stream.valid, (stream.length("time"), *stream.valid.shape[1:]))

    def moved(array):
        return numpy.take_along_axis(array, numpy.broadcast_to(
            against(index), [n, *numpy.broadcast_shapes(array.shape[1:], against(index).shape[1:])]
        ), 0) if n else array[:0]

    def spread(array):
        return numpy.broadcast_to(array, stream.x.shape)

    x, off = turned(moved(spread(stream.x)), against(tau))
    # A lane of several stations or pols is valid if all of them are.
    here = moved(spread(valid))
    for at, name in enumerate(stream.axes):
        if name not in stream.loses and name != "time":
            here = here.all(axis=at, keepdims=True)
    return change(stream, x=x, error=moved(spread(stream.error)) + off, valid=here, start=start)


# ---- over stations ----

LIGHT = 299792458.0


def spiral(radius, n):
    """Stations spread evenly over a disk, [station] of east, north, up."""
    s = numpy.arange(n)
    r, azimuth = radius * numpy.sqrt((s + 0.5) / n), s * numpy.pi * (3 - 5 ** 0.5)
    return numpy.stack([r * numpy.sin(azimuth), r * numpy.cos(azimuth), 0 * r], -1)


def unit_vector(direction):
    """The unit vector of a direction: l, m, or east, north, up of any length."""
    if len(direction) == 2:
        direction = [*direction, numpy.sqrt(1 - sum(x * x for x in direction))]
    return numpy.array(direction) / numpy.linalg.norm(direction)


def leads(positions, direction):
    """Seconds by which stations receive a plane wave before the origin does."""
    return positions @ unit_vector(direction) / LIGHT


def pointing(stream, positions, directions, modulus):
    """Weights with axes subband (if the frequencies have this parent), channel, beam, station."""
    coordinate = stream.coordinates["channel"]
    seconds = numpy.stack([leads(positions, direction) for direction in directions])
    turns = coordinate.array()[..., None, None] * seconds
    names = [coordinate.parent] * (coordinate.parent is not None) + ["channel", "beam", "station"]
    off = modulus * (2.0 ** -23 + 2 * numpy.pi * 2.0 ** -48 * abs(turns).max(initial=0))
    return modulus * numpy.exp(-2j * numpy.pi * turns), names, off


def quantise(weights, names, weights_as):
    """Weights of the axes `names` as `weights_as` rounds them: levels times a scale, which the
    stations share."""
    station = names.index("station")
    parts = numpy.stack([weights.real, weights.imag], -1).astype(numpy.float32)
    largest = abs(parts).max(axis=(station, -1), keepdims=True)
    if weights_as == "ci8":
        scale = largest / numpy.float32(127)
        levels = numpy.rint(parts / numpy.where(scale > 0, scale, numpy.float32(1)))
    else:
        scale = numpy.ldexp(numpy.float32(1), numpy.frexp(largest)[1] - 15)
        levels = (parts / scale).astype(numpy.float16)
    used = levels.astype(float) * scale
    return used[..., 0] + 1j * used[..., 1]


def beamform(stream, weights, names, ticks=None, off=0, roundings=2):
    """`weights` has the axes `names`, among them beam and station; also time, if weights change at
    `ticks`. `off` is the largest error of the weights; each station adds so many roundings."""
    station = stream.axis("station")
    axes = canonical([*stream.axes, "beam"])
    if ticks is not None:
        held = numpy.searchsorted(ticks, stream.ticks(), "right") - 1
        weights = weights[numpy.maximum(held, 0)]
    w = expand(weights, names, axes)
    beam = axes.index("beam")
    x, error = (numpy.expand_dims(array, beam) for array in (stream.x, stream.error))
    at = axes.index("station")
    y = (w * x).sum(axis=at)
    n = stream.x.shape[station]
    size = (abs(w) * (abs(x) + error)).sum(axis=at)
    total = (abs(w) * error).sum(axis=at) + roundings * n * ROOT_2 * UNIT[32] * size
    total = total + off * (abs(x) + error).sum(axis=at)
    names = [name for name in axes if name != "station"]
    valid = numpy.expand_dims(stream.valid, beam).any(axis=at)
    return change(stream, kind="cf32", axes=tuple(names), x=y, error=total, valid=valid,
                  loses=stream.loses - {"station"},
                  coordinates=without(stream.coordinates, "station"))


def correlate(stream, over, length, output):
    """The visibilities and their weights."""
    at = stream.axis(over)
    n = stream.x.shape[at]
    pairs = numpy.array([(i, j) for i in range(n) for j in range(i + 1)])
    has_pol = "pol" in stream.axes
    names = [name for name in stream.axes if name not in (over, "pol")]
    if has_pol:
        p = stream.axis("pol")

    def sides(array):
        """Two arrays with the first and the second station of each pair, [time … baseline pol
        pol']."""
        rest = numpy.moveaxis(array, [at, p] if has_pol else [at], [-2, -1] if has_pol else [-1])
        if not has_pol:
            return rest[..., pairs[:, 0] % rest.shape[-1]], rest[..., pairs[:, 1] % rest.shape[-1]]
        first, second = (rest[..., pairs[:, k] % rest.shape[-2], :] for k in (0, 1))
        return first[..., :, None], second[..., None, :]

    (x, y), (e, f) = sides(stream.x), sides(stream.error)
    exact = not is_float(stream.kind)
    product = x * y.conj()
    v = sums(product, length)
    size = sums((abs(x) + e) * (abs(y) + f), length).astype(float)
    off = sums(abs(x) * f + abs(y) * e + e * f, length)
    if not exact:
        double = stream.kind == "cf64" or output == "cf64"
        terms = min(length, stream.length("time"))
        roundings = 2 * 128 + terms / 128
        if stream.kind == "cf16" and not double:
            roundings = 5 * 64 + terms / 64
        off = off + roundings * UNIT[64 if double else 32] * ROOT_2 * size
    if output != "ci64":
        off = off + UNIT[bits(output)] * (abs(v) + off)
    names += ["baseline"] + ["pol", "pol'"] * has_pol
    # A sum is valid if any sample of any station is, in the lanes of the remaining axes.
    any_station = stream.valid.any(axis=at, keepdims=True)
    shape = (stream.length("time"), *any_station.shape[1:])
    some = sums(numpy.broadcast_to(any_station, shape).astype(int), length) > 0
    lost = [name for name in stream.axes if name != over]
    valid = expand(some.squeeze(axis=at), lost, canonical(names))
    loses = stream.loses - {over}
    v = change(
        stream, kind=output, axes=canonical(names), x=arrange(v, names), error=arrange(off, names),
        valid=valid, clock=stream.clock.slower(length), loses=loses,
        coordinates=without(stream.coordinates, over))
    return v, _pair_weights(stream, v, sides, length, names, has_pol)


def _pair_weights(stream, v, sides, length, names, has_pol):
    """The number of spectra in which both stations of a pair were valid."""
    whole = numpy.broadcast_to(stream.valid, (stream.length("time"), *stream.valid.shape[1:]))
    first, second = sides(whole)
    both = arrange(sums((first & second).astype(int), length), names)
    axes = v.axes
    if has_pol and "pol" not in stream.loses:
        pols = tuple(axes.index(name) for name in ("pol", "pol'"))
        both = both.max(axis=pols, initial=0) if both.size else both.reshape(
            [n for k, n in enumerate(both.shape) if k not in pols])
        axes = tuple(name for name in axes if name not in ("pol", "pol'"))
    n_baselines = v.length("baseline")
    shape = [n_baselines if name == "baseline" else v.length(name) for name in axes]
    counts = numpy.broadcast_to(both, shape).astype(float)
    valid = v.valid
    if axes != v.axes:
        valid = valid.reshape([n for n, name in zip(valid.shape, v.axes) if name in axes])
    return change(v, kind="u32", axes=axes, x=counts, error=numpy.zeros(counts.shape), valid=valid,
                  loses=v.loses, coordinates=without(v.coordinates, "pol", "pol'")
                  if axes != v.axes else v.coordinates)
