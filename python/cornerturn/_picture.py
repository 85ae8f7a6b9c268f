# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of streams, as the stage monitor shows them while the graph runs."""
import base64

import numpy


class PictureAxis:
    """`name`; `length` in the picture and `of`, that of the stream; `step`, the elements of a bin, and
    whether they are `averaged`; `unit`, `values` of the middles of bins ([parent length][length] with a
    `parent`) and `labels`, or None."""

    def __init__(self, described, lengths):
        self.name, self.length = described["name"], described["length"]
        self.of, self.step = described["of"], described["step"]
        self.averaged = described["averaged"]
        self.unit, self.parent = described.get("unit"), described.get("parent")
        self.labels = described.get("labels")
        self.values = None
        if "coordinates" in described:
            shape = (lengths[self.parent], self.length) if self.parent else self.length
            self.values = numpy.array(described["coordinates"], float).reshape(shape)

    def __repr__(self):
        return f"<{self.name} {self.length} of {self.of}{' ' + self.unit if self.unit else ''}>"


class Picture:
    """Means of a few samples of a stream, in the order of `axes`: `mean` (complex or real), `power` (of
    |x|²) and `valid` (the share of valid samples); without a valid sample, mean and power are NaN.
    `number` counts pictures; `tick` and `utc` are those of the first of `n_samples` samples; `levels`
    and `counts` say how often each level occurs."""

    def __init__(self, described):
        self.number, self.tick = described["number"], described["tick"]
        self.utc = described["utc"] and numpy.datetime64(described["utc"].removesuffix("Z"), "ns")
        self.sample_rate = described["rate"] or None
        self.n_samples, self.type = described["samples"], described["type"]
        lengths = {axis["name"]: axis["length"] for axis in described["axes"]}
        self.axes = [PictureAxis(axis, lengths) for axis in described["axes"]]
        shape = tuple(lengths.values())
        kind = "<c8" if described["complex"] else "<f4"
        self.mean, self.power, self.valid = (
            numpy.frombuffer(base64.b64decode(described[name]), dtype).reshape(shape)
            for name, dtype in (("mean", kind), ("power", "<f4"), ("valid", "<f4")))
        levels = described["levels"]
        self.counts = numpy.array(levels["counts"])
        self.levels = levels["first"] + levels["step"] * numpy.arange(len(self.counts))

    def __getitem__(self, name):
        for axis in self.axes:
            if axis.name == name:
                return axis
        raise KeyError(f"the picture has no axis '{name}'; it has "
                       f"{', '.join(axis.name for axis in self.axes)}")

    def __repr__(self):
        return f"<Picture {self.number} at tick {self.tick}: {self.axes}>"
