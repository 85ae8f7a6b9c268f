# SPDX-License-Identifier: BSD-3-Clause
"""Nodes `flag` of random graphs: what their parameters name, a statistic within limits, or both."""
import numpy

import oracle
from streams import is_complex

NAMED = ("subband", "channel", "beam", "baseline", "station", "pol", "stokes")


def add(maker, name, stream):
    """Adds a node behind `name`; its statistic is another stream, or one that is made of this."""
    good = numpy.ones([1] * stream.x.ndim, bool)
    stage, loses, given = {}, frozenset(), name
    for way in maker.numbers.sample((elements, frequencies, times), maker.draw(0, 1, 1, 2)):
        named = way(maker, stream)
        if named:
            stage |= named[0]
            good = good & named[1]
            loses |= named[2]
    if not stage or maker.numbers.randrange(2):
        other = find(maker, name, stream)
        if other:
            limits, within = limit(maker, stream, maker.streams[other])
            stage |= limits
            good = good & within
            loses |= frozenset(maker.streams[other].axes) - {"time"}
            given = {"in": name, "statistic": other}
    if stage or given != name:
        maker.add(name, given, oracle.flag(stream, good, loses), stage="flag", **stage)


def along(stream, axis, good):
    """Values along an axis, as an array that can be broadcast to the stream's."""
    return good.reshape([-1 if each == axis else 1 for each in stream.axes])


# ---- what parameters name: (parameters, good samples, axes that lose data); None: nothing ----

def elements(maker, stream):
    axes = [axis for axis in NAMED if axis in stream.axes]
    if not axes:
        return None
    axis = maker.draw(*axes)
    n = stream.length(axis)
    bad = numpy.zeros(n, bool)
    items = []
    for _ in range(maker.draw(1, 1, 2, 3)):
        first = maker.numbers.randrange(n)
        last = maker.draw(first, first, maker.numbers.randrange(first, n))
        items.append(first if first == last and maker.numbers.randrange(2) else f"{first}..{last}")
        bad[first:last + 1] = True
    return {axis: items}, along(stream, axis, ~bad), frozenset({axis})


def frequencies(maker, stream):
    axis = next((axis for axis in ("channel", "subband") if axis in stream.coordinates), None)
    if axis is None or stream.coordinates[axis].unit != "Hz" or axis not in stream.axes:
        return None
    coordinate = stream.coordinates[axis]
    parent = coordinate.parent
    values = coordinate.array()
    table = values.reshape(-1, stream.length(axis))
    if parent and (parent not in stream.axes or len(table) != stream.length(parent)):
        return None
    steps = abs(numpy.diff(table[0]))
    half = steps.min() / 2 if len(steps) else 0
    bad = numpy.zeros(table.shape, bool)
    rows = []
    for _ in range(maker.draw(1, 1, 3)):
        # Edges of channels are left to rounding, so no range begins or ends near one.
        ends = sorted(maker.random.choice(table.ravel()) +
                      2 * half * (maker.draw(-2, -1, 0, 1) + maker.random.uniform(-0.4, 0.4))
                      for _ in range(2))
        low, high = ((0, 1e12) if half == 0 else ends)
        rows.append([f"{float(low)!r} Hz", f"{float(high)!r} Hz"])
        bad |= (table + half > low) & (table - half < high)
    if half == 0 and maker.numbers.randrange(2):
        return None
    shape = [stream.length(each) if each in (axis, parent) else 1 for each in stream.axes]
    good = ~bad if not parent or stream.axis(parent) < stream.axis(axis) else ~bad.T
    loses = {axis} | ({parent} if parent and len(table) > 1 else set())
    return {"frequency": rows}, good.reshape(shape), frozenset(loses)


def times(maker, stream):
    if not stream.clock.rate:
        return None
    n = stream.length("time") * stream.clock.ticks
    ticks = numpy.arange(stream.length("time")) * stream.clock.ticks
    bad = numpy.zeros(len(ticks), bool)
    rows = []
    for _ in range(maker.draw(1, 1, 2, 4)):
        first = maker.numbers.randrange(-2, n + 2)
        ends = first, first + maker.numbers.randrange(max(2, n // maker.draw(1, 4, 50)))
        rows.append([f"{float(end / stream.clock.rate)!r} s" for end in ends])
        bad |= (ticks >= ends[0]) & (ticks < ends[1])
    return {"time": rows}, along(stream, "time", ~bad), frozenset()


# ---- the statistic ----

def find(maker, name, stream):
    """The name of a stream that can be the statistic of another; None: there is none."""
    if not stream.length("time"):
        return None
    if maker.numbers.randrange(2):
        made = name
        if is_complex(stream.kind):
            made = maker.follow(made, maker.power) if maker.power in maker.ways(stream) else made
        for _ in range(maker.numbers.randrange(3)):
            ways = maker.ways(maker.streams[made])
            made = maker.follow(made, maker.integrate) if maker.integrate in ways else made
        if fits(stream, maker.streams[made]):
            return made
    return maker.draw(None, *(other for other in maker.streams if fits(stream, maker.streams[other])))


def fits(stream, other):
    axes = [axis for axis in other.axes if axis != "time"]
    same = all(axis in stream.axes and other.length(axis) == stream.length(axis) and
               str(other.coordinates.get(axis)) == str(stream.coordinates.get(axis)) for axis in axes)
    return (same and not is_complex(other.kind) and other.kind != "i64" and other.x.size > 0 and
            (other.clock.rate, other.clock.epoch) == (stream.clock.rate, stream.clock.epoch) and
            other.clock.ticks >= stream.clock.ticks)


def limit(maker, stream, other):
    """Limits that no value is close to, and whether the value that holds is within them."""
    values = numpy.unique(other.x[numpy.isfinite(other.x)].astype(float))
    margin = 2 * float(other.error.max()) + 1e-5 * float(abs(values).max(initial=0)) + 1e-30
    wide = numpy.flatnonzero(numpy.diff(values) > 4 * margin)
    between = [float((values[i] + values[i + 1]) / 2) for i in wide]
    stage = {}
    for key, sign in ("lower", -1), ("upper", 1):
        if maker.numbers.randrange(3) == 0:
            continue
        beyond = float(values[-1 if sign > 0 else 0]) + sign * 4 * margin
        stage[key] = maker.draw(beyond, *maker.numbers.sample(between, min(3, len(between))))
    if stage.get("lower", -numpy.inf) > stage.get("upper", numpy.inf):
        stage = {"lower": stage["upper"], "upper": stage["lower"]}
    good = (other.x >= stage.get("lower", -numpy.inf)) & (other.x <= stage.get("upper", numpy.inf))
    good = good & other.valid
    # Expanded to the stream's axes, then the sample that lasts at each tick.
    good = good.reshape([other.length(axis) for axis in stream.axes if axis in other.axes])
    good = good.reshape([other.length(axis) if axis in other.axes else 1 for axis in stream.axes])
    holds = (stream.ticks() - other.start) // other.clock.ticks
    is_there = (holds >= 0) & (holds < other.length("time"))
    good = good[numpy.clip(holds, 0, other.length("time") - 1)]
    return stage, good & along(stream, "time", is_there)
