# SPDX-License-Identifier: BSD-3-Clause
"""The description of a stream."""
import fractions
import functools
import html
import re

import numpy

from . import _types


class Axis:
    """`name`, `length` (of time: None if no end is known), `unit` and `values` of its coordinate
    (None if it has none) and `parent`, the axis on which they depend, `labels` (names, or pairs of
    names), `loses`: whether data are lost separately along it."""

    def __init__(self, described, parent=None):
        self.name = described["name"]
        self.length = None if described["length"] < 0 else described["length"]
        self.loses = described["loses"]
        self.unit = described.get("unit")
        self.parent = described.get("parent")
        self.labels = self._find_labels(described)
        self._coordinate = [described.get(key) for key in ("first", "step", "table")]
        self._parent_axis = parent

    @functools.cached_property
    def values(self):
        """The coordinates, [length] or, with a parent, [parent length][length]; None if there are
        none, or no end is known."""
        first, step, table = self._coordinate
        parent = self._parent_axis
        if self.unit is None or self.length is None:
            return None
        if table is not None:
            shape = (parent.length, self.length) if parent else self.length
            return numpy.array(table, float).reshape(shape)
        values = first + step * numpy.arange(self.length, dtype=float)
        return parent.values[:, None] + values if parent else values

    @property
    def extent(self):
        """The least and the largest coordinate; None if there are none."""
        first, step, _ = self._coordinate
        if first is not None and not self._parent_axis and self.length:
            return tuple(sorted((first, first + step * (self.length - 1))))
        return None if self.values is None else (self.values.min(), self.values.max())

    @staticmethod
    def _find_labels(described):
        names, pairs = described.get("labels"), described.get("pairs")
        if names is None or pairs is None:
            return names
        if pairs == "all":
            return [(names[i], names[k]) for i in range(len(names)) for k in range(i + 1)]
        return [(names[i], names[k]) for i, k in zip(pairs[::2], pairs[1::2])]

    def __repr__(self):
        return f"<{self.name} {self.length}{' ' + self.unit if self.unit else ''}>"


class Stream:
    """What stays the same of a stream during a run.

    `name` ("spectra.out"), `type` and its `dtype`; `axes` in canonical order, and by name as
    `stream["channel"]`; `sample_rate` (hertz, exact as `rate`), `ticks_per_second`,
    `ticks_per_sample`, `start` (tick), `epoch` (Unix seconds of tick 0), `start_utc`; `frequency`
    (of a stream without channels); `observation` (a dictionary). What is not known is None."""

    def __init__(self, name, described):
        self.name = name
        self.type = described["type"]
        self.dtype = _types.find(self.type).dtype
        self.layout = described["layout"]
        self.axes = self._read_axes(described["axes"])
        ticks = described.get("ticks_per_second")
        self.ticks_per_second = fractions.Fraction(*ticks) if ticks else None
        self.ticks_per_sample = described.get("ticks_per_sample")
        self.rate = self.ticks_per_second / self.ticks_per_sample if ticks else None
        self.sample_rate = described.get("sample_rate")
        self.start = described.get("start")
        self.epoch = described.get("epoch")
        self.start_utc = described.get("start_utc")
        self.frequency = described.get("frequency")
        self.observation = described.get("observation")

    @staticmethod
    def _read_axes(described):
        """Parents first, as they may come behind the axes that depend on them."""
        found = {}
        for axis in sorted(described, key=lambda one: "parent" in one):
            found[axis["name"]] = Axis(axis, found.get(axis.get("parent")))
        return [found[axis["name"]] for axis in described]

    def __getitem__(self, name):
        for axis in self.axes:
            if axis.name == name:
                return axis
        raise KeyError(f"{self.name} has no axis '{name}'; it has "
                       f"{', '.join(axis.name for axis in self.axes)}")

    def __contains__(self, name):
        return any(axis.name == name for axis in self.axes)

    @property
    def lanes(self):
        """The axes along which data are lost separately."""
        return [axis for axis in self.axes if axis.loses]

    @property
    def frequencies(self):
        """Hertz: of the channels ([subband channel] of split subbands), or of the subbands; None if
        they are not known."""
        for name in "channel", "subband":
            if name in self and self[name].unit == "Hz":
                return self[name].values
        return None

    @property
    def times(self):
        """Seconds of the samples from the first one; None without a clock or a known end."""
        return self["time"].values if "time" in self else None

    def utc(self, tick=None):
        """The UTC of a tick (default: the first sample's) as datetime64, rounded down to the
        nanosecond; None if it is not known."""
        if self.epoch is None:
            return None
        tick = self.start if tick is None else tick
        nanoseconds = tick * 10**9 // self.ticks_per_second
        return numpy.datetime64(self.epoch * 10**9 + nanoseconds, "ns")

    def seconds(self, tick):
        """Seconds of a tick from tick 0; None without a clock."""
        return float(tick / self.ticks_per_second) if self.ticks_per_second else None

    def _facts(self):
        if self.sample_rate:
            yield "sample rate", f"{self.sample_rate:g} Hz"
        if self.start_utc:
            yield "start", self.start_utc
        if self.frequency is not None:
            yield "frequency", f"{self.frequency:g} Hz"
        for key, value in (self.observation or {}).items():
            if isinstance(value, str):
                yield key, value

    def __repr__(self):
        axes = ", ".join(f"{axis.name} {'?' if axis.length is None else axis.length}"
                         for axis in self.axes)
        facts = "".join(f", {key} {value}" for key, value in self._facts())
        return f"<Stream {self.name}: {self.type} [{axes}]{facts}>"

    def _repr_html_(self):
        rows = []
        for axis in self.axes:
            extent = "" if axis.extent is None else "{:g} to {:g} ".format(*axis.extent) + axis.unit
            names = [" × ".join(label) if isinstance(label, tuple) else label
                     for label in axis.labels or []]
            shown = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
            rows.append([axis.name, "?" if axis.length is None else axis.length, extent, shown])
        body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
                       for row in rows)
        facts = "; ".join(f"{key} {value}" for key, value in self._facts())
        return (f"<p><b>{html.escape(self.name)}</b>: {self.type}{'; ' if facts else ''}"
                f"{html.escape(facts)}</p><table><tr><th>axis</th><th>length</th><th>coordinate</th>"
                f"<th>labels</th></tr>{body}</table>")


class Layout:
    """The order of the axes in memory, slowest first: `type`, `axes` as pairs of name and count (0:
    a whole axis)."""

    def __init__(self, text):
        self.text = text
        self.type, axes = re.fullmatch(r"(\w*)\[(.*)\]", text).groups()
        parts = [axis.partition(":") for axis in axes.split()]
        self.axes = [(name, int(count or 0)) for name, _, count in parts]

    @property
    def names(self):
        """Names of the axes, a block's as "time:16"."""
        return [f"{name}:{count}" if count else name for name, count in self.axes]


class Streams(dict):
    """Streams by "node.output"; the first output of a node also as "node"."""

    def __init__(self, nodes):
        super().__init__((f"{node['name']}.{output['name']}",
                          Stream(f"{node['name']}.{output['name']}", output))
                         for node in nodes for output in node["outputs"])
        self._first = {node["name"]: f"{node['name']}.{node['outputs'][0]['name']}"
                       for node in nodes if node["outputs"]}

    def __missing__(self, name):
        if name not in self._first:
            raise KeyError(f"no output '{name}'; the graph has {', '.join(self)}")
        return self[self._first[name]]

    def _repr_html_(self):
        # pylint: disable=protected-access
        return "".join(stream._repr_html_() for stream in self.values())
