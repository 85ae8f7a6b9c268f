# SPDX-License-Identifier: BSD-3-Clause
"""The sources of random graphs: arrays in files, a simulated sky with gaps, blocks that a program
feeds, and weights of beams."""
import dataclasses
import fractions

import numpy

import stations
from streams import TYPES, Clock, Coordinate, FLOATS, Stream, arrange, bits, blank, canonical, \
    expand, is_complex, is_float, limits

RATES = ("1 MHz", "195312.5 Hz", "44100 Hz", "200 MHz", "1 Hz", "0.1 Hz")
UNITS = {"Hz": 1, "MHz": 1_000_000}
AXES = ((), ("station",), ("pol",), ("station", "pol"), ("station", "pol"), ("station", "pol"),
        ("channel", "station", "pol"), ("subband", "station", "pol"), ("subband", "channel"),
        ("beam", "pol"), ("phase", "station"), ("feed", "sort"), ("channel",))
LENGTHS = {"station": (1, 2, 2, 3, 4, 5, 9), "pol": (1, 2, 2), "channel": (1, 2, 3, 4, 7, 16),
           "subband": (1, 2, 3), "beam": (1, 2, 3), "phase": (1, 4, 8, 15), "feed": (1, 2, 5),
           "sort": (1, 3)}
SAMPLES = (1, 2, 7, 63, 64, 500, 1023, 1999)
LIKELY = ("ci8", "ci8", "cf32", "cf32", "ci16", "ci4", "f32")


def add(maker):
    """Adds one to three sources; some differ only in their start."""
    clock = Clock()
    if maker.numbers.randrange(8):
        number, unit = maker.draw(*RATES).split()
        rate = fractions.Fraction(number) * UNITS[unit]
        ticks = maker.draw(1, 1, 1, 2, 64, 1000)
        epoch = maker.draw(None, None, 1656466200)
        clock = Clock(rate * ticks, ticks, epoch)
    add_one(maker, clock)
    for _ in range(maker.draw(0, 0, 1, 2)):
        add_one(maker, clock, maker.draw(None, *maker.streams))


def add_one(maker, clock, like=None):
    if maker.in_program:
        return add_input(maker, clock)
    if maker.numbers.randrange(4) == 0:
        return add_sky(maker, clock, like)
    return add_array(maker, clock, like)


# ---- values ----

def values(maker, kind, shape):
    """Random elements of a type, including extreme ones, as numbers."""
    if is_complex(kind):
        parts = real_values(maker, kind, (*shape, 2))
        return parts[..., 0] + 1j * parts[..., 1]
    return real_values(maker, kind, shape)


def real_values(maker, kind, shape):
    if is_float(kind):
        x = maker.random.standard_normal(shape) * maker.draw(1, 1, 1e-3, 300)
        return x.astype(FLOATS[bits(kind)]).astype(float)
    low, high = limits(kind)
    if maker.numbers.randrange(8) == 0:
        # The type has no negative of the most negative value.
        x = numpy.full(shape, low)
    elif maker.numbers.randrange(4) == 0:
        x = maker.random.choice(numpy.array([low, high, 0, low + 1]), shape)
    else:
        x = maker.random.integers(low, high, shape, endpoint=True)
    return x.astype(numpy.longdouble if bits(kind) == 64 else float)


def stored(x, kind):
    """Elements as files and blocks store them: complex integers have a last axis of 2."""
    if kind == "ci4":
        return ((x.real.astype(int) & 15) << 4 | x.imag.astype(int) & 15).astype(numpy.uint8)
    if kind in ("cf32", "cf64"):
        return x.astype(numpy.complex64 if kind == "cf32" else numpy.complex128)
    dtype = numpy.dtype(FLOATS[bits(kind)] if is_float(kind) else
                        f"{'i' if TYPES[kind][3] else 'u'}{bits(kind) // 8}")
    return numpy.stack([x.real, x.imag], -1).astype(dtype) if is_complex(kind) else x.astype(dtype)


def loaded(array, kind):
    """The numbers of elements in that form."""
    exact = numpy.longdouble if bits(kind) == 64 and not is_float(kind) else float
    if kind == "ci4":
        re, im = (array >> 4).astype(int), (array & 15).astype(int)
        return (re - 16 * (re > 7)) + 1j * (im - 16 * (im > 7))
    if kind in ("cf32", "cf64"):
        return array.astype(complex)
    if is_complex(kind):
        return array[..., 0].astype(exact) + 1j * array[..., 1].astype(exact)
    return array.astype(exact)


# ---- sources ----

def shape_of(maker, like):
    if like:
        stream = maker.streams[like]
        return stream.kind, stream.axes, list(stream.x.shape)
    kind = maker.draw(*LIKELY, *TYPES)
    axes = ("time", *maker.draw(*AXES))
    shape = [maker.draw(*SAMPLES, maker.numbers.randrange(1, 2500))]
    shape += [maker.draw(*LENGTHS[axis]) for axis in axes[1:]]
    while numpy.prod(shape) > 20_000:
        shape[0] = max(1, shape[0] // 2)
    return kind, canonical(axes), shape


def hertz(rate):
    return f"{rate.numerator} Hz/{rate.denominator}" if rate.denominator > 1 else f"{rate} Hz"


def set_clock(maker, stage, stream, clock, like):
    """Sets the clock and the start of the stream, perhaps near the start of stream `like`."""
    stream.clock = clock
    if clock.rate is None:
        return
    stage["sample_rate"] = hertz(clock.sample_rate())
    start = maker.streams[like].start if like else maker.draw(0, 0, 1, 48, 1000, -77, 1 << 40)
    stream.start = start + (like is not None) * maker.draw(0, 1, 48, -5, 700) * clock.ticks
    if stream.start:
        stage["start"] = stream.start
    if clock.ticks > 1:
        stage["ticks_per_sample"] = clock.ticks
    if clock.epoch is not None:
        stage["epoch"] = str(clock.epoch)


def order_of(maker, axes):
    """Any order of an array's axes; axes of other names keep their order, which is part of the
    description."""
    order = maker.order(axes)
    others = iter([axis for axis in axes if axis in ("feed", "sort")])
    return [next(others) if axis in ("feed", "sort") else axis for axis in order]


def set_frequencies(maker, stage, stream, like):
    if like:
        other = maker.streams[like]
        stream.frequency = other.frequency
        stream.coordinates = {axis: dataclasses.replace(each, table=True)
                              for axis, each in other.coordinates.items()}
    else:
        if maker.numbers.randrange(3):
            stream.frequency = maker.draw(10e6, 150e6, 0.0, 1420.40575177e6)
        axis = next((axis for axis in ("subband", "channel") if axis in stream.axes), None)
        if axis and maker.numbers.randrange(2):
            n = stream.length(axis)
            values_ = tuple(float(100e6 + 195312.5 * k) for k in
                            maker.random.permutation(n + 3)[:n])
            stream.coordinates[axis] = Coordinate("Hz", values_, True)
    if stream.frequency is not None:
        key = "centre_frequency" if is_complex(stream.kind) else "first_frequency"
        stage[key] = stream.frequency
    for axis in ("subband", "channel"):
        if axis in stream.coordinates:
            stage["frequencies"] = list(stream.coordinates[axis].values)
            break


def set_block(maker, stage):
    if maker.numbers.randrange(4):
        stage["block"] = {"time": maker.draw(1, 3, 16, 64, 100, 333, 4096)}


def add_array(maker, clock, like):
    kind, axes, shape = shape_of(maker, like)
    if like:
        shape[0] = max(1, shape[0] + maker.draw(0, 1, -3, 500))
        clock = maker.streams[like].clock
    stream = blank(values(maker, kind, shape), axes, kind)
    stage = {"stage": "file.source"}
    order = order_of(maker, axes)
    array = stored(stream.x.transpose([axes.index(axis) for axis in order]), kind)
    name = maker.next()
    stage["layout"] = f"{kind}[{' '.join(order)}]"
    if maker.numbers.randrange(4) == 0:
        stage["path"] = f"{name}-in.raw"
        stage["shape"] = [stream.length(axis) for axis in order]
        if order[0] == "time" and maker.numbers.randrange(2):
            stage["shape"][0] = -1
        array.tofile(maker.folder / stage["path"])
    else:
        stage["path"] = f"{name}-in.npy"
        if maker.numbers.randrange(6) == 0:
            array = numpy.asfortranarray(array)
        if maker.numbers.randrange(6) == 0:
            array = array.astype(array.dtype.newbyteorder(">"))
        numpy.save(maker.folder / stage["path"], array)
    set_clock(maker, stage, stream, clock, like)
    set_frequencies(maker, stage, stream, like)
    set_block(maker, stage)
    maker.stages[name], maker.streams[name] = stage, stream


def add_sky(maker, clock, like):
    """Adds a simulated sky: the samples are the reference's; gaps are made here again."""
    kind = maker.draw(*LIKELY, *TYPES)
    stage = {"stage": "generate", "type": kind, "seed": maker.numbers.randrange(1 << 31)}
    rate = clock.sample_rate() or fractions.Fraction(1_000_000)
    ticks = Clock(rate, 1)
    samples = maker.draw(*SAMPLES)
    axes = [("n_subbands", "subband"), ("n_stations", "station"), ("n_pols", "pol")]
    has = [(key, axis) for key, axis in axes
           if maker.numbers.randrange(3) and (axis != "subband" or is_complex(kind))]
    shape = [samples]
    for key, axis in has:
        shape.append(maker.draw(*LENGTHS[axis]))
        stage[key] = shape[-1]
    stage |= {"samples": samples, "sample_rate": hertz(rate),
              "start": maker.draw(0, 0, 48, -100)}
    frequency = maker.draw(10e6, 150e6)
    stage["centre_frequency" if is_complex(kind) else "first_frequency"] = frequency
    gaps = [[maker.draw(-1, 0, maker.numbers.randrange(stage.get("n_stations", 1))),
             stage["start"] + maker.numbers.randrange(-5, samples), maker.numbers.randrange(1, 99)]
            for _ in range(maker.draw(0, 1, 3, 6))]
    if gaps:
        stage["invalid"] = gaps
    set_block(maker, stage)
    names = ["time", *(axis for _, axis in has)]
    stream = Stream(kind, tuple(names), maker.reference(stage, kind, shape), numpy.zeros(shape),
                    numpy.ones([1] * len(shape), bool), clock=ticks, start=stage["start"],
                    frequency=frequency)
    if "n_subbands" in stage:
        bands = frequency + float(rate) * numpy.arange(stage["n_subbands"])
        stream.coordinates["subband"] = Coordinate("Hz", tuple(bands), False)
    if gaps:
        lose(stream, gaps)
    name = maker.next()
    # Other variants may differ by one level of quantisation.
    maker.stages[name], maker.streams[name] = {**stage, "variant": "reference"}, stream


def lose(stream, gaps):
    """Applies gaps: rows of station (−1: all), first tick and number of samples."""
    n_stations = stream.length("station")
    lost = numpy.zeros((stream.length("time"), n_stations), bool)
    ticks = stream.ticks()
    for station, first, n in gaps:
        here = (ticks >= first) & (ticks < first + n)
        if station < 0:
            lost[here] = True
        else:
            lost[here, station] = True
    if "station" in stream.axes:
        stream.loses = frozenset({"station"})
        stream.valid = expand(~lost, ["time", "station"], stream.axes)
    else:
        stream.valid = expand(~lost[:, 0], ["time"], stream.axes)
    stream.x = numpy.where(stream.valid, stream.x, 0)


def add_input(maker, clock):
    """Adds an input that a program feeds, with gaps in any lanes."""
    kind, axes, shape = shape_of(maker, None)
    stream = blank(values(maker, kind, shape), axes, kind)
    order = order_of(maker, axes)
    name = maker.next()
    stage = {"stage": "input", "layout": f"{kind}[{' '.join(order)}]",
             "shape": [-1 if axis == "time" else stream.length(axis) for axis in order]}
    if clock.rate:
        stream.clock = Clock(clock.sample_rate(), 1)
        stage["sample_rate"] = hertz(clock.sample_rate())
    if maker.numbers.randrange(3):
        stream.frequency = 150e6
        stage["centre_frequency" if is_complex(kind) else "first_frequency"] = 150e6
    loses = [axis for axis in axes if axis != "time" and maker.numbers.randrange(2)]
    if loses:
        stage["loses"] = loses
        stream.loses = frozenset(loses)
    validity = None
    if maker.numbers.randrange(3):
        lanes = [n for axis, n in zip(axes, shape) if axis in loses]
        validity = gap_lanes(maker, int(numpy.prod(lanes)), shape[0])
        by_axes = validity.reshape(*lanes, shape[0])
        stream.valid = arrange(expand(numpy.moveaxis(by_axes, -1, 0), ["time", *loses], axes),
                               list(axes))
        stream.x = numpy.where(stream.valid, stream.x, 0)
    array = stored(stream.x.transpose([axes.index(axis) for axis in order]), kind)
    cuts = [maker.numbers.randrange(1, maker.draw(2, 10, 100, 3000))
            for _ in range(maker.draw(1, 2, 5))]
    maker.feeds[name] = (array, order.index("time"), cuts, validity)
    maker.stages[name], maker.streams[name] = stage, stream


def gap_lanes(maker, n_lanes, n):
    """Random validity [lane][time]: runs of zeros among ones."""
    valid = numpy.ones((n_lanes, n), bool)
    for lane in range(n_lanes):
        for _ in range(maker.draw(0, 0, 1, 4)):
            first = maker.numbers.randrange(n)
            valid[lane, first:first + maker.draw(1, 2, 16, 100, n)] = False
    return valid


# ---- weights of beams ----

def add_weights(maker, name, made, weights, names, weights_as):
    """Weights without time, from a node."""
    if maker.in_program or not maker.fits(made):
        return
    order = maker.order(names)
    path = maker.save(weights.transpose([names.index(axis) for axis in order]))
    source = maker.next()
    maker.stages[source] = {"stage": "file.source", "path": path,
                            "layout": f"cf32[{' '.join(order)}]"}
    maker.read.add(source)
    maker.add(name, {"voltages": name, "weights": source}, made, stage="beamform",
              weights_as=weights_as)


def positions(maker, n):
    """Positions of stations: parameters, and [station] of east, north, up."""
    if maker.numbers.randrange(2):
        radius = float(f"{maker.random.uniform(1, 3000):.6g}")
        return {"spiral": radius}, stations.spiral(radius, n)
    table = maker.random.uniform(-500, 500, (n, 3)).round(3)
    if maker.numbers.randrange(2):
        return {"positions": table.tolist()}, table
    return {"positions_file": maker.save(table)}, table


def direction(maker):
    """A direction: l and m, or a vector of any length."""
    if maker.numbers.randrange(2):
        return maker.random.uniform(-0.6, 0.6, 2).round(4).tolist()
    return maker.random.uniform(0.1, 5, 3).round(3).tolist()


def add_pointing(maker, name, stream):
    """Weights that point beams at random directions, at the frequencies of the channels."""
    n_beams = maker.draw(1, 2, 5)
    length = maker.draw(2, 3)
    directions = []
    while len(directions) < n_beams:
        one = direction(maker)
        directions += [one] * (len(one) == length)
    n = stream.length("station")
    given, table = positions(maker, n)
    modulus = maker.draw("mean", "power", "sum")
    weights, names, off = stations.pointing(
        stream, table, directions, {"mean": 1 / n, "power": n ** -0.5, "sum": 1}[modulus])
    made = stations.beamform(stream, weights, names, off=off)
    if not maker.fits(made):
        return
    source = maker.next()
    maker.stages[source] = {"stage": "pointing", "from": name, "directions": directions,
                            "normalisation": modulus, **given}
    maker.read.add(source)
    maker.add(name, {"voltages": name, "weights": source}, made, stage="beamform")


def add_updates(maker, name, stream, names, shape):
    """Weights that change with time; each holds from its tick on."""
    span = stream.length("time") * stream.clock.ticks
    clock = stream.clock
    step = max(1, span // maker.draw(1, 3, 10))
    n = maker.draw(1, 2, 5, 12)
    start = stream.start + maker.draw(0, 0, -step // 2, step // 3)
    ticks = start + step * numpy.arange(n)
    weights = maker.weights([n, *shape])
    made = stations.beamform(stream, weights, ["time", *names], ticks)
    if maker.in_program or not maker.fits(made):
        return
    rate = clock.rate / step
    source = maker.next()
    maker.stages[source] = {
        "stage": "file.source", "path": maker.save(weights),
        "layout": f"cf32[time {' '.join(names)}]", "sample_rate": hertz(rate),
        "ticks_per_sample": int(step), "start": int(start),
        **({} if clock.epoch is None else {"epoch": str(clock.epoch)}),
        "block": {"time": maker.draw(1, 2, 100)}}
    maker.read.add(source)
    maker.add(name, {"voltages": name, "weights": source}, made, stage="beamform")
