# SPDX-License-Identifier: BSD-3-Clause
"""The outputs of stages, by the formulas of docs/conventions.md and of the plugins' READMEs:
samples in double precision, with the largest error that a correct program may have; validity, clock
and coordinates."""
import numpy

from streams import (Coordinate, FLOATS, UNIT, arrange, bits, canonical, change, is_complex,
                     is_float, limits)

ROOT_2 = 2 ** 0.5
# The types that stages accept.
QUANTISED = ("cf32", "f32")
SUMMED = ("cf32", "cf64", "f32", "f64")
TRANSFORMED = ("cf32", "cf64", "f32", "f64")
VOLTAGES = ("ci4", "ci8", "ci16", "cf32")
CORRELATED = ("ci4", "ci8", "ci16", "cf16", "cf32", "cf64")
POWERED = ("ci4", "ci8", "ci16", "cf16", "cf32", "cf64", "i8", "i16", "f16", "f32", "f64")
WINDOWS = {"rectangular": numpy.ones, "hanning": numpy.hanning, "hamming": numpy.hamming,
           "blackman": numpy.blackman}


def without(mapping, *names):
    return {name: value for name, value in mapping.items() if name not in names}


def wide(stream):
    return bits(stream.kind) == 64


# ---- types ----

def _nearest(x, kind):
    """Real numbers converted to another type: rounded half to even, limited to the range of
    integers."""
    if is_float(kind):
        with numpy.errstate(over="ignore"):
            return x.astype(FLOATS[bits(kind)]).astype(float)
    low, high = limits(kind)
    if bits(kind) == 64:
        x = x.astype(numpy.longdouble)
    rounded = numpy.clip(numpy.rint(x), low, high)
    return numpy.where(numpy.isnan(x), 0, rounded)


def _spread(x, error, rule):
    """Applies a monotonic function to real numbers; returns the results, and how far they may be
    off if the numbers are off by `error`."""
    with numpy.errstate(invalid="ignore"):
        y = rule(x)
        apart = numpy.maximum(abs(rule(x + error) - y), abs(y - rule(x - error)))
    return y, numpy.where(error > 0, apart, 0)


def _parts(stream, kind, rule):
    """Applies a function of real numbers to the parts of all elements."""
    if not is_complex(kind):
        y, error = _spread(stream.x, stream.error, rule)
        return change(stream, kind=kind, x=y, error=error.astype(float))
    re, re_error = _spread(stream.x.real, stream.error, rule)
    im, im_error = _spread(stream.x.imag, stream.error, rule)
    error = numpy.hypot(re_error.astype(float), im_error.astype(float))
    with numpy.errstate(invalid="ignore"):
        x = re + 1j * im
    return change(stream, kind=kind, x=x, error=error)


def convert(stream, kind):
    return _parts(stream, kind, lambda x: _nearest(x, kind))


def quantise(stream, kind, scale):
    most = limits(kind)[1]
    factor = float(numpy.float32(scale))
    return _parts(stream, kind, lambda x: numpy.clip(numpy.rint(x * factor), -most, most))


# ---- windows ----

def sinc_taps(n_channels, n_taps, window):
    """h[k][p] of a windowed sinc of cutoff 1/P, in single precision."""
    n = n_channels * n_taps
    shape = WINDOWS[window](n) if window in WINDOWS else numpy.kaiser(n, 8)
    h = numpy.sinc((numpy.arange(n) - (n - 1) / 2) / n_channels) * shape
    return h.astype(numpy.float32).astype(float).reshape(n_taps, n_channels)


def fir(stream, taps, hop, designed=False):
    """`designed`: the stage makes the taps itself, and may round them differently from these."""
    n_taps, n_phases = taps.shape
    length, window = stream.length("time"), taps.size
    n = (length - window) // hop + 1 if length >= window else 0
    index = numpy.arange(n)[:, None] * hop + numpy.arange(window)
    x = stream.x[index].reshape(n, n_taps, n_phases, *stream.x.shape[1:])
    error = stream.error[index].reshape(x.shape)
    y = numpy.einsum("kp,tkp...->tp...", taps, x)
    size = abs(taps)
    unit = UNIT[32] * ROOT_2
    apart = (n_taps + 2) * unit * size
    if designed:
        apart = apart + UNIT[32] * size + 1e-15
    off = (numpy.einsum("kp,tkp...->tp...", size, error) +
           numpy.einsum("kp,tkp...->tp...", apart, abs(x) + error))
    if hop % n_phases:
        # If P does not divide the hop, the phase at which windows begin depends on the source's
        # clock.
        first = stream.start // stream.clock.ticks if stream.clock.rate else 0
        numbers = first + numpy.arange(n) * hop
        turn = (numpy.arange(n_phases) - numbers[:, None]) % n_phases
        at = numpy.arange(n)[:, None]
        y, off = y[at, turn], off[at, turn]
    valid = numpy.broadcast_to(stream.valid, (length, *stream.valid.shape[1:]))[index].all(axis=1)
    names = ["time", "phase", *stream.axes[1:]]
    coordinates = dict(stream.coordinates)
    if stream.clock.rate:
        seconds = float(1 / stream.clock.sample_rate())
        coordinates["phase"] = _seconds(seconds, n_phases)
    return change(
        stream, kind="cf32" if is_complex(stream.kind) else "f32", axes=canonical(names),
        x=arrange(y, names), error=arrange(off, names), valid=arrange(valid[:, None], names),
        clock=stream.clock.slower(hop), coordinates=coordinates)


def _seconds(step, n):
    return Coordinate("s", tuple(step * numpy.arange(n)), False, step=step)


def _split(names, coordinates, to):
    """The axes whose frequencies the new axis `to` splits; None: it can have no coordinates."""
    split = [name for name in names if name != to and
             (name == "channel" or name in coordinates and coordinates[name].unit == "Hz")]
    if any(name not in coordinates or coordinates[name].unit != "Hz" for name in split):
        return None
    return None if len(split) > 1 or to == "channel" and split not in ([], ["subband"]) else split


def _channels(stream, coordinates, split, n, real, shift, spacing):
    """Frequencies of the channels of a forward transform of samples that are `spacing` seconds
    apart."""
    steps = numpy.arange(n // 2 + 1 if real else n)
    if shift:
        steps = steps - n // 2
    elif not real:
        steps = numpy.where(steps < (n + 1) // 2, steps, steps - n)
    table = not (real or shift or n == 1)
    offsets = steps / (spacing * n)
    if not split:
        return Coordinate("Hz", tuple((stream.frequency or 0) + offsets), table)
    values = coordinates[split[0]].array()[:, None] + offsets
    return Coordinate("Hz", tuple(map(tuple, values)), table, split[0])


def _spacing(stream, axis, n):
    """Seconds between the samples of a transform; 0: unknown."""
    if axis == "time":
        return float(1 / stream.clock.sample_rate()) if stream.clock.rate else 0
    coordinate = stream.coordinates.get(axis)
    if coordinate is None or (coordinate.step is None and n < 2):
        return 0
    if coordinate.step is not None:
        return coordinate.step
    values = coordinate.array()
    step = values[..., 1].flat[0] - values[..., 0].flat[0]
    return 1 / (abs(step) * n) if step else 0


def _steps(n):
    rest = n
    for prime in 2, 3, 5, 7, 11, 13:
        while rest % prime == 0:
            rest //= prime
    return max(numpy.log2(n), 1) if rest == 1 else 2 * numpy.log2(4 * n)


def fft(stream, axis, to, inverse=False, shift=False, length=None):
    real = not is_complex(stream.kind)
    x, error = stream.x, stream.error
    valid = stream.valid
    clock = stream.clock
    names = list(stream.axes)
    if axis == "time":
        n = x.shape[0] // length
        valid = numpy.broadcast_to(valid, (x.shape[0], *valid.shape[1:]))
        x, error, valid = (array[:n * length].reshape(n, length, *array.shape[1:])
                           for array in (x, error, valid))
        names.insert(1, axis := " within")
        clock = clock.slower(length)
    at = names.index(axis)
    n = x.shape[at]
    spacing = _spacing(stream, "time" if length else axis, n)
    if inverse:
        y = numpy.fft.ifft(numpy.fft.ifftshift(x, at) if shift else x, axis=at)
    elif real:
        y = numpy.fft.rfft(x, axis=at)
    else:
        y = numpy.fft.fft(x, axis=at)
        y = numpy.fft.fftshift(y, at) if shift else y
    # Each step has an error of 7 units of the norm; errors of the input add up at worst.
    gain = 1 / n if inverse else 1
    norm = numpy.sqrt((abs(x) ** 2).sum(axis=at, keepdims=True) * n) * gain
    off = 7 * _steps(n) * UNIT[64 if wide(stream) else 32] * norm
    off = off + error.sum(axis=at, keepdims=True) * gain
    # A new axis with a name that is not known comes after the existing ones.
    y, off = (numpy.moveaxis(numpy.broadcast_to(array, y.shape), at, -1) for array in (y, off))
    valid = numpy.moveaxis(valid.all(axis=at, keepdims=True), at, -1)
    names = [name for name in names if name != axis] + [to]
    coordinates = without(stream.coordinates, axis, to)
    split = _split(names, coordinates, to)
    if not inverse and spacing > 0 and split is not None:
        coordinates[to] = _channels(stream, coordinates, split, n, real, shift, spacing)
    elif inverse and spacing > 0:
        coordinates[to] = _seconds(spacing, n)
    return change(
        stream, kind="cf64" if wide(stream) else "cf32", axes=canonical(names),
        x=arrange(y, names), error=arrange(off, names), valid=arrange(valid, names), clock=clock,
        loses=stream.loses - {axis, to}, coordinates=coordinates)


# ---- sample by sample ----

def gains(stream, factors):
    """`factors` can be broadcast to the stream's axes."""
    x = stream.x * factors
    error = abs(factors) * stream.error
    return change(stream, x=x, error=error + 4 * ROOT_2 * UNIT[bits(stream.kind)] *
                  abs(factors) * (abs(stream.x) + stream.error))


def flag(stream, good, loses):
    """`good` can be broadcast to the stream's axes; `loses` are those along which it may differ."""
    return change(stream, valid=stream.valid & good, loses=stream.loses | loses)


def _modulus_error(stream, size, error, kind):
    return 8 * UNIT[bits(kind)] * (size + error) ** 2 + 2 * size * error + error ** 2


def power(stream):
    kind = "f64" if stream.kind in ("cf64", "f64") else "f32"
    size = abs(stream.x).astype(float)
    return change(stream, kind=kind, x=size ** 2,
                  error=_modulus_error(stream, size, stream.error, kind))


def stokes(stream, which, feed):
    kind = "f64" if stream.kind == "cf64" else "f32"
    at = stream.axis("pol")
    a, b = (numpy.take(stream.x, p, at).astype(complex) for p in (0, 1))
    product = 2 * a * b.conj()
    total, difference = abs(a) ** 2 + abs(b) ** 2, abs(a) ** 2 - abs(b) ** 2
    made = {"linear": [total, difference, product.real, product.imag],
            "circular": [total, product.real, product.imag, difference]}[feed]
    made = made[:len(which)]
    size = numpy.hypot(abs(a), abs(b))
    error = stream.error.sum(axis=at)
    off = 2 * _modulus_error(stream, size, error, kind)
    names = [name for name in stream.axes if name != "pol"] + ["stokes"]
    return change(stream, kind=kind, axes=canonical(names), x=numpy.stack(made, -1),
                  error=numpy.stack([off] * len(made), -1),
                  valid=stream.valid.all(axis=at)[..., None], loses=stream.loses - {"pol"},
                  coordinates=without(stream.coordinates, "pol"))


# ---- along time ----

def sums(array, length):
    """Sums of `length` samples along time; the last may be short."""
    return numpy.add.reduceat(array, numpy.arange(0, len(array), length), axis=0) \
        if len(array) else array


def integrate(stream, length, average):
    """The sums, and their weights."""
    whole = numpy.broadcast_to(stream.valid, (stream.length("time"), *stream.valid.shape[1:]))
    counts = sums(whole.astype(int), length)
    y, off = sums(stream.x, length), sums(stream.error, length)
    size = sums(abs(stream.x) + stream.error, length)
    off = off + min(length, stream.length("time")) * UNIT[64] * size
    if average:
        y, off = y / numpy.maximum(counts, 1), off / numpy.maximum(counts, 1)
    off = off + UNIT[bits(stream.kind)] * (abs(y) + off)
    clock = stream.clock.slower(length)
    summed = change(stream, x=y, error=off, valid=counts > 0, clock=clock)
    kept = [at for at, name in enumerate(stream.axes) if name == "time" or name in stream.loses]
    axes = tuple(stream.axes[at] for at in kept)
    lengths = [summed.x.shape[at] for at in kept]
    shape = [n if at in kept else 1 for at, n in enumerate(summed.x.shape)]
    lost = numpy.broadcast_to(counts, shape).reshape(lengths)
    coordinates = {name: value for name, value in stream.coordinates.items() if name in axes}
    weights = change(summed, kind="u32", axes=axes, x=lost.astype(float),
                     error=numpy.zeros(lengths), valid=lost > 0, coordinates=coordinates)
    return summed, weights


def stack(streams, name, known=True):
    """Streams joined on an axis, aligned by ticks. `known`: their lengths are known before the
    run."""
    first = streams[0]
    ticks = first.clock.ticks
    # An input without samples does not change the range.
    some = [stream for stream in streams if stream.length("time")] or [first]
    start = min(stream.start for stream in (some if known else streams))
    end = max(stream.start + stream.length("time") * ticks for stream in some)
    n = max(0, end - start) // ticks if any(s.length("time") for s in streams) else 0
    is_new = name not in first.axes
    axes = canonical(list(first.axes) + [name] * is_new)
    loses = frozenset({name}).union(*(stream.loses for stream in streams))
    at = axes.index(name)

    def placed(stream, array, dtype):
        if is_new:
            array = numpy.expand_dims(array, at)
        whole = numpy.zeros([n, *array.shape[1:]], dtype)
        begin = (stream.start - start) // ticks
        if len(array):
            whole[begin:begin + len(array)] = array
        return whole

    def lanes(stream):
        shape = [m if axis in loses or axis == "time" else 1
                 for axis, m in zip(stream.axes, stream.x.shape)]
        return numpy.broadcast_to(stream.valid, shape)

    x, error, valid = (numpy.concatenate([placed(stream, f(stream), dtype) for stream in streams],
                                         at)
                       for f, dtype in ((lambda s: s.x, first.x.dtype),
                                        (lambda s: s.error, float), (lanes, bool)))
    coordinates = dict(first.coordinates)
    if not is_new:
        for other, coordinate in first.coordinates.items():
            if name in (other, coordinate.parent):
                coordinates[other] = _join([stream.coordinates[other] for stream in streams],
                                           -1 if name == other else 0)
    elif name == "subband" and all(s.frequency is not None for s in streams):
        coordinates[name] = Coordinate("Hz", tuple(s.frequency for s in streams), True)
    return change(first, axes=axes, x=x, error=error, valid=valid, loses=loses, start=start,
                  coordinates=coordinates)


def _join(coordinates, along):
    """Coordinates joined along their own axis (-1) or along that of their parent (0)."""
    first = coordinates[0]
    values = numpy.concatenate([each.array() for each in coordinates], along)
    joined = tuple(map(tuple, values)) if values.ndim == 2 else tuple(values)
    return Coordinate(first.unit, joined, True, first.parent)

