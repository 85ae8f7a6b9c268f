# SPDX-License-Identifier: BSD-3-Clause
"""Makes random graphs, node by node, together with the expected stream at each output, by the
oracle."""
import numpy

import flags
import oracle
import sources
import stations
from streams import TYPES, bits, expand, is_complex, is_float, keeps, limits, taken_as

MOST_ELEMENTS = 60_000
LARGEST = 1e15
CUSTOM = ("feed", "delay", "sort")


class Maker:
    """`stages` is the graph, `wanted` the expected stream at each sink, `files` the files that it
    reads."""

    def __init__(self, numbers, folder, reference, most_nodes=12, in_program=False):
        self.numbers, self.folder, self.reference = numbers, folder, reference
        self.in_program = in_program
        self.random = numpy.random.default_rng(numbers.randrange(1 << 62))
        self.stages, self.streams, self.wanted = {}, {}, {}
        self.feeds, self.read = {}, set()
        sources.add(self)
        n_nodes = numbers.randrange(2, most_nodes)
        for _ in range(4 * n_nodes):
            if len(self.stages) >= n_nodes:
                break
            name = numbers.choice(list(self.streams))
            ways = self.ways(self.streams[name])
            numbers.choice(ways)(name, self.streams[name])
        for name in list(self.streams):
            if name not in self.read or numbers.randrange(6) == 0:
                self.add_sink(name)

    # ---- helpers ----

    def draw(self, *choices):
        return self.numbers.choice(choices)

    def next(self):
        return f"n{len(self.stages)}"

    def save(self, array):
        """Writes an array to a new file."""
        path = f"{self.next()}-in.npy"
        numpy.save(self.folder / path, array)
        return path

    def fits(self, *made):
        return all(stream.x.size <= MOST_ELEMENTS and
                   (not stream.x.size or (abs(stream.x) + stream.error).max() < LARGEST or
                    not is_float(stream.kind)) for stream in made)

    def add(self, name, given, made, outputs=("",), **stage):
        """Adds a node behind `given`, the names of streams, unless the result would be too
        large."""
        made = made if isinstance(made, tuple) else (made,)
        if not self.fits(*made):
            return None
        own = self.next()
        stage["from"] = given if isinstance(given, (list, dict)) else name
        self.stages[own] = stage
        self.read.update(given.values() if isinstance(given, dict) else
                         given if isinstance(given, list) else [name])
        for port, stream in zip(outputs, made):
            self.streams[own + port] = stream
        return own

    def taken(self, stream, accepted):
        """The stream as a reader of these types gets it; None: it can't be converted to any."""
        kind = taken_as(stream.kind, accepted)
        return None if kind is None else oracle.convert(stream, kind)

    # ---- steps ----

    def ways(self, stream):
        """The steps that are possible behind a stream."""
        axes = stream.axes
        found = [self.transpose, self.copy, self.convert, self.convert]
        if taken_as(stream.kind, oracle.QUANTISED):
            found += [self.quantise]
        if taken_as(stream.kind, oracle.POWERED):
            found += [self.power]
        if taken_as(stream.kind, oracle.SUMMED):
            found += [self.integrate]
        if "phase" not in axes:
            found += 2 * [self.fir]
        if taken_as(stream.kind, oracle.TRANSFORMED):
            found += 2 * [self.fft]
            found += 3 * [self.fft] * ("phase" in axes)
        if taken_as(stream.kind, ("cf32", "cf64")):
            found += [self.gains]
        if taken_as(stream.kind, ("cf32", "f32")) and "phase" not in axes:
            found += 2 * [self.delay]
        voltages = taken_as(stream.kind, oracle.VOLTAGES)
        if voltages and "station" in axes and "beam" not in axes:
            found += 2 * [self.beamform]
        if (taken_as(stream.kind, oracle.CORRELATED) and ("station" in axes or "beam" in axes) and
                "baseline" not in axes):
            found += 3 * [self.correlate]
        found += 2 * [self.stack, self.diamond, self.flag]
        found += 4 * [self.chain]
        return found

    def order(self, axes):
        return self.numbers.sample(axes, len(axes))

    def transpose(self, name, stream):
        self.add(name, name, stream, stage="transpose", layout=self.layout(stream))

    def layout(self, stream, blocks=True):
        """Any order, perhaps with blocks of some axes or with the parts of complex integers
        separate."""
        order = self.order(stream.axes)
        kind = ""
        if is_complex(stream.kind) and stream.kind != "ci4" and self.numbers.randrange(6) == 0:
            kind = stream.kind[1:]
            order.insert(self.numbers.randrange(len(order) + 1), "complex")
        text = list(order)
        if blocks and self.numbers.randrange(4) == 0:
            axis = self.draw(*stream.axes)
            text.insert(self.numbers.randrange(order.index(axis) + 1, len(text) + 1),
                        f"{axis}:{self.draw(2, 3, 4, 16)}")
        return f"{kind}[{' '.join(text)}]"

    def copy(self, name, stream):
        self.add(name, name, stream, stage="copy")

    def convert(self, name, stream):
        kinds = [kind for kind in TYPES if is_complex(kind) == is_complex(stream.kind)]
        kind = self.draw(*kinds)
        made = oracle.convert(stream, kind)
        if numpy.isfinite(made.x).all() and numpy.isfinite(made.error).all():
            self.add(name, name, made, stage="convert", type=kind)

    def quantise(self, name, stream):
        stream = self.taken(stream, oracle.QUANTISED)
        kind = self.draw(*(("ci4", "ci8", "ci16") if is_complex(stream.kind) else ("i8", "i16")))
        size = max(abs(stream.x).max(initial=0), 1e-3)
        scale = float(f"{limits(kind)[1] / size * self.draw(0.3, 1, 2.5):.6g}")
        self.add(name, name, oracle.quantise(stream, kind, scale), stage="quantise", type=kind,
                 scale=scale)

    def power(self, name, stream):
        stream = self.taken(stream, oracle.POWERED)
        axes = stream.axes
        if (is_complex(stream.kind) and stream.length("pol") == 2 and "stokes" not in axes and
                "pol'" not in axes and self.numbers.randrange(2)):
            which, feed = self.draw("I", "IQUV"), self.draw("linear", "circular")
            self.add(name, name, oracle.stokes(stream, which, feed), stage="power", stokes=which,
                     feed=feed)
        else:
            self.add(name, name, oracle.power(stream), stage="power")

    def integrate(self, name, stream):
        stream = self.taken(stream, oracle.SUMMED)
        length = self.draw(1, 2, 3, 5, 16, 37, 100)
        average = bool(self.numbers.randrange(2))
        self.add(name, name, oracle.integrate(stream, length, average), ("", ".weights"),
                 stage="integrate", length=length, average=average)

    def fir(self, name, stream):
        n_channels = self.draw(1, 1, 2, 4, 5, 8, 8, 12, 16)
        n_taps = self.draw(1, 2, 3, 4, 7, 16)
        hop = self.draw(n_channels, n_channels, n_channels, 3 * n_channels, 1, 3,
                        self.numbers.randrange(1, 2 * n_channels + 1))
        stage = {"hop": hop} if hop != n_channels or self.numbers.randrange(4) == 0 else {}
        if self.numbers.randrange(3) == 0:
            taps = self.random.standard_normal((n_taps, n_channels)).astype(numpy.float32)
            stage["coefficients"] = self.save(taps)
            taps = taps.astype(float)
        else:
            window = self.draw(*oracle.WINDOWS, "kaiser")
            stage |= {"n_channels": n_channels, "n_taps": n_taps, "window": window}
            taps = oracle.sinc_taps(n_channels, n_taps, window)
        rows = max(0, (stream.length("time") - taps.size) // hop + 1)
        if rows * taps.size * stream.x[:1].size > 4_000_000:
            return
        filtered = oracle.fir(stream, taps, hop, "window" in stage)
        made = self.add(name, name, filtered, stage="fir", **stage)
        if made and "channel" not in stream.axes and self.numbers.randrange(4):
            self.fft(made, self.streams[made])

    def fft(self, name, stream):
        stream = self.taken(stream, oracle.TRANSFORMED)
        axis = "phase" if "phase" in stream.axes else self.draw(*stream.axes)
        if any(each.parent == axis for each in stream.coordinates.values()):
            return
        real = not is_complex(stream.kind)
        inverse = not real and self.draw(False, False, axis == "channel")
        stage = {"axis": axis} if axis != ("channel" if inverse else "phase") else {}
        if axis == "time":
            stage["length"] = self.draw(1, 2, 5, 8, 16, 27, 64)
        to = [made for made in ("channel", "phase", "subband", *CUSTOM)
              if made not in stream.axes or made == axis]
        usual = "phase" if inverse else "channel"
        target = usual if usual in to and self.numbers.randrange(4) else self.draw(*to)
        if target == "time" or target == axis == "time":
            return
        if target != usual:
            stage["to"] = target
        if inverse:
            stage["direction"] = "inverse"
        shift = not real and self.numbers.randrange(3) == 0
        if shift:
            stage["shift"] = True
        made = oracle.fft(stream, axis, target, inverse, shift, stage.get("length"))
        self.add(name, name, made, stage="fft", **stage)

    def gains(self, name, stream):
        stream = self.taken(stream, ("cf32", "cf64"))
        inverse = self.numbers.randrange(3) == 0
        stage = {"inverse": True} if inverse else {}
        usual = [axis for axis in ("station", "pol", "channel") if axis in stream.axes]
        if self.numbers.randrange(3) == 0 or len(stream.axes) < 2:
            parts = [float(f"{part:.4g}") for part in self.random.standard_normal(self.draw(1, 2))]
            factors = numpy.full([1] * len(stream.axes), complex(*parts))
            stage["gain"] = parts
        else:
            names = usual
            if not usual or self.numbers.randrange(3) == 0:
                others = [axis for axis in stream.axes if axis != "time"]
                names = self.numbers.sample(others, self.numbers.randrange(1, len(others) + 1))
                stage["axes"] = names
            shape = [self.draw(1, stream.length(axis), stream.length(axis)) for axis in names]
            table = self.random.standard_normal(shape) + 1j * self.random.standard_normal(shape)
            stage["gains"] = self.save(table)
            factors = expand(table, names, stream.axes)
        if inverse:
            factors = 1 / factors
        self.add(name, name, oracle.gains(stream, factors), stage="gains", **stage)

    def delay(self, name, stream):
        stream = self.taken(stream, ("cf32", "f32"))
        shifts = "channel" not in stream.axes
        needed = shifts if not is_complex(stream.kind) else \
            stations.frequencies(stream) is not None
        if not needed or not stream.clock.rate or not stream.length("time"):
            return
        stage = self.delays(stream)
        rows, step = stage.pop("rows"), stage.pop("seconds")
        if stations.is_sure(stream, rows, step):
            self.add(name, name, stations.delay(stream, rows, step), stage="delay", **stage)

    def delays(self, stream):
        """Parameters for delays of some samples, constant or not."""
        period = float(1 / stream.clock.sample_rate())
        n_stations = stream.length("station")
        if self.numbers.randrange(4) == 0:
            given, table = sources.positions(self, n_stations)
            direction = sources.direction(self)
            return {"direction": [direction], **given, "seconds": None,
                    "rows": stations.leads(table, direction)[None, :, None]}
        n_pols = self.draw(1, stream.length("pol"))
        most = self.draw(0, 2, 20, 0.3 * stream.length("time"), stream.length("time"))
        n_rows = self.draw(1, 1, 2, 3, 7)
        shape = (n_rows, n_stations, n_pols)
        seconds = self.random.uniform(-most, most, shape) * period
        if n_rows == 1 and self.numbers.randrange(2):
            seconds = numpy.array([[[float(f"{tau:.9g}") for tau in station]
                                    for station in seconds[0]]])
            return {"constant": [f"{tau} s" for tau in seconds.flat], "rows": seconds,
                    "seconds": None}
        needed = stream.length("time") * period / max(n_rows - 1, 1)
        step = float(f"{needed * self.draw(1.01, 1.3, 4):.6g}")
        alike = n_pols == 1 and (stream.length("pol") > 1 or self.numbers.randrange(2))
        return {"delays": self.save(seconds[..., 0] if alike else seconds), "rows": seconds,
                "seconds": step,
                **({"step": f"{step} s"} if n_rows > 1 else {})}

    def beamform(self, name, stream):
        stream = self.taken(stream, oracle.VOLTAGES)
        names = [axis for axis in ("channel",) if axis in stream.axes] + ["beam", "station"]
        if "pol" in stream.axes and self.numbers.randrange(2):
            names.append("pol")
        n_beams = self.draw(1, 2, 3, 5, 9)
        shape = [n_beams if axis == "beam" else stream.length(axis) for axis in names]
        way = self.draw("file", "port", "updates") if self.can_update(stream) else \
            self.draw("file", "port")
        hertz = stream.coordinates.get("channel")
        if hertz is not None and hertz.unit == "Hz" and self.numbers.randrange(2):
            return sources.add_pointing(self, name, stream)
        if way == "updates":
            return sources.add_updates(self, name, stream, names, shape)
        weights = self.weights(shape)
        weights_as = self.draw("given", "given", "ci8", "cf16")
        used = weights if weights_as == "given" else stations.quantise(weights, names, weights_as)
        made = stations.beamform(stream, used, names, roundings=5 if weights_as == "cf16" else 2)
        if way == "file" and not self.has_two_meanings(stream, names, shape):
            return self.add(name, name, made, stage="beamform", weights=self.save(weights),
                            weights_as=weights_as)
        return sources.add_weights(self, name, made, weights, names, weights_as)

    def has_two_meanings(self, stream, names, shape):
        """Whether weights of these axes could also be weights of all axes that pass through."""
        passing = [axis for axis in stream.axes if axis not in ("time", "station", "pol")]
        rest = shape[len(passing):]
        return passing != names[:len(passing)] and len(rest) in (2, 3) and \
            shape[:len(passing)] == [stream.length(axis) for axis in passing] and \
            rest[1:] == [stream.length(axis) for axis in ("station", "pol")[:len(rest) - 1]
                         if axis in stream.axes]

    def can_update(self, stream):
        return stream.clock.rate is not None and stream.length("time") > 0

    def weights(self, shape):
        return (self.random.standard_normal(shape) +
                1j * self.random.standard_normal(shape)).astype(numpy.complex64)

    def correlate(self, name, stream):
        stream = self.taken(stream, oracle.CORRELATED)
        over = self.draw(*(axis for axis in ("station", "beam") if axis in stream.axes))
        length = self.draw(1, 2, 3, 8, 17, 100, 1000)
        kinds = ["cf32", "cf32", "cf64"] + ["ci64"] * (not is_float(stream.kind))
        output = self.draw(*kinds)
        n = stream.length(over)
        if stream.x.size * (n + 1) * stream.length("pol") > 2_000_000 or "pol'" in stream.axes:
            return
        self.add(name, name, stations.correlate(stream, over, length, output), ("", ".weights"),
                 stage="correlate", integration=length,
                 **({"over": over} if over != "station" or self.numbers.randrange(2) else {}),
                 **({"output": output} if output != "cf32" or self.numbers.randrange(2) else {}))

    def flag(self, name, stream):
        flags.add(self, name, stream)

    # ---- several steps ----

    def follow(self, name, step):
        """Takes a step behind a stream; returns the name of what it makes, or `name` if nothing."""
        known = set(self.streams)
        step(name, self.streams[name])
        return next(iter(set(self.streams) - known), name)

    def chain(self, name, _stream):
        """Two to four maps of the kit, each behind the one before."""
        maps = [self.convert, self.gains, self.power, self.quantise]
        for _ in range(self.numbers.randrange(2, 5)):
            ways = [way for way in self.ways(self.streams[name]) if way in maps]
            name = self.follow(name, self.numbers.choice(ways))

    # ---- several streams ----

    def stack(self, name, stream):
        alike = [other for other in self.streams if other != name and
                 self.stacks(stream, self.streams[other])]
        if not alike:
            return
        others = self.numbers.sample(alike, min(len(alike), self.draw(1, 1, 2)))
        self.join(self.order([name, *others]))

    def stacks(self, stream, other):
        ticks = stream.clock.ticks
        return (stream.likeness() == other.likeness() and
                (stream.start - other.start) % ticks == 0 and
                abs(stream.start - other.start) < 5000 * ticks)

    def join(self, names):
        streams = [self.streams[name] for name in names]
        first = streams[0]
        lengths = [stream.lengths() for stream in streams]
        differ = {axis for axis in first.axes if axis != "time" and
                  len({each[axis] for each in lengths}) > 1}
        axes = sorted(differ) or [axis for axis in first.axes if axis != "time"] + \
            [axis for axis in ("beam", "station", "subband", *CUSTOM) if axis not in first.axes]
        # A new axis subband gets coordinates, which would have to be the parent of those of
        # channels.
        axis = self.draw(*axes)
        measured = axis in first.coordinates and axis not in ("subband", "channel")
        if len(differ) > 1 or measured or (axis == "subband" and "channel" in first.axes):
            return
        if not is_float(first.kind) and bits(first.kind) == 64:
            return
        self.add(names[0], list(names), oracle.stack(streams, axis, not self.in_program),
                 stage="stack", axis=axis)

    def diamond(self, name, stream):
        """Two ways from a stream that meet again; one may be late."""
        before = set(self.streams)
        steps = [self.copy, self.transpose, self.gains, self.delay, self.window, self.flag]
        ends = []
        for _ in range(2):
            end = name
            for _ in range(self.numbers.randrange(3)):
                step = self.numbers.choice(steps)
                if step in self.ways(self.streams[end]) + [self.window]:
                    end = self.follow(end, step)
            ends.append(end)
        if ends[0] != ends[1] and set(self.streams) != before and self.stacks(
                *(self.streams[end] for end in ends)):
            self.join(self.order(ends))

    def window(self, name, stream):
        """A filter of one phase, which keeps the rate, so that its output can be joined with
        unfiltered streams."""
        if "phase" in stream.axes or stream.length("time") < 40:
            return
        taps = self.random.standard_normal((self.draw(1, 5, 33), 1)).astype(numpy.float32)
        made = oracle.fir(stream, taps.astype(float), 1)
        first = self.add(name, name, made, stage="fir", hop=1, coefficients=self.save(taps))
        if first:
            self.numbers.choice([self.power, self.fft])(first, self.streams[first])

    # ---- sinks ----

    def add_sink(self, name):
        stream = self.streams[name]
        self.read.add(name)
        own = "o" + name.replace(".", "-")
        if self.in_program:
            order = self.order(stream.axes)
            self.stages[own] = {"stage": "output", "from": name, "layout": f"[{' '.join(order)}]"}
            self.wanted[own] = (stream, tuple(order), None)
            return
        path = own + self.draw(".npy", ".npy", ".raw")
        self.stages[own] = {"stage": "file.sink", "from": name, "path": path}
        kind, text = stream.kind, list(stream.axes)
        if self.numbers.randrange(2):
            wider = [other for other in TYPES if keeps(kind, other)]
            kind = self.draw(stream.kind, *wider) if self.numbers.randrange(3) == 0 else kind
            text = self.order(stream.axes)
            axes = [axis for axis in text if axis != "time"]
            if axes and self.numbers.randrange(4) == 0:
                axis = self.draw(*axes)
                text.insert(self.numbers.randrange(text.index(axis) + 1, len(text) + 1),
                            f"{axis}:{self.draw(2, 3, 5)}")
            given = kind if kind != stream.kind or self.numbers.randrange(2) else ""
            self.stages[own]["layout"] = f"{given}[{' '.join(text)}]"
        self.wanted[own] = (oracle.convert(stream, kind), tuple(text), path)
