#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Part `graphs`: random graphs, with random variants, layouts, tunings, blocks, caches and workers,
against numpy in double precision. A graph that differs is made smaller before it is shown."""
import json
import os
import random
import re
import shlex
import subprocess

import numpy

import part
import sources
from maker import Maker

EMULATED = "CORNERTURN_TEST_BACKEND" in os.environ
# The error of a variant that was asked for and can't run the node, which is no finding.
REFUSAL = re.compile(r"node '(\w+)': no variant of ")


def variants():
    """Names of variants by stage, with their tunables, as `inspect` lists them."""
    found = {}
    for stage in ("fir", "fft", "delay", "gains", "beamform", "correlate", "power", "integrate",
                  "quantise", "convert", "transpose", "stack", "copy", "flag"):
        listed = subprocess.run([part.COMMAND, "inspect", stage], capture_output=True, text=True,
                                check=True).stdout.partition("\nVariants\n")[2]
        names, open_names, in_table = [], [], False
        for line in listed.splitlines():
            if head := re.match(r"  (\S+)  (.*)", line):
                open_names = [] if in_table else open_names
                in_table = False
                if "not on this machine" not in head[2]:
                    entry = [head[1], []]
                    names.append(entry)
                    open_names.append(entry)
            elif table := re.match(r"      (\w+): ([-\d, ]+); default", line):
                in_table = True
                for entry in open_names:
                    entry[1].append((table[1], table[2].split(", ")))
            else:
                in_table = True
        found[stage] = names
    return found


VARIANTS = variants()


def reference(folder):
    """Returns a function that runs the reference of `generate`."""
    def make(stage, kind, shape):
        path = folder / "sky.npy"
        given = {"stages": {
            "sky": {key: value for key, value in stage.items() if key != "block"},
            "out": {"stage": "file.sink", "from": "sky", "path": path.name}}}
        (folder / "sky.yaml").write_text(json.dumps(given))
        status, _, errors = part.command(["run", "--quiet", "--backend", "reference", "sky.yaml"],
                                         folder)
        if status:
            raise part.Finding("wrong", errors)
        return sources.loaded(numpy.load(path), kind).reshape(shape)
    return make


# ---- options ----

def force(numbers, stages):
    """Asks for variants and backends of some nodes."""
    for name, stage in stages.items():
        if stage["stage"] not in VARIANTS or "variant" in stage:
            continue
        way = numbers.randrange(6)
        if way == 0:
            stage["backend"] = numbers.choice(["reference", "cpu"])
        elif EMULATED and way < 4:
            stage["backend"] = numbers.choice(["cuda:0", "cuda:0", "cuda:1"])
        elif way == 1:
            variant, tunables = numbers.choice(VARIANTS[stage["stage"]])
            values = [f"{key}={numbers.choice(choices)}" for key, choices in tunables
                      if numbers.randrange(2)]
            stage["variant"] = variant + ":" * bool(values) + ",".join(values)
            if variant.startswith("fused"):
                force_fused(stages, name, stage)


def force_fused(stages, name, stage):
    """Asks for a fused variant in both of its nodes."""
    others = [other for key, other in stages.items()
              if (other.get("from") == name and stage["stage"] == "fir") or
              (key == stage["from"] and stage["stage"] == "fft")]
    pair = [other for other in others if other["stage"] in ("fir", "fft")]
    if pair:
        pair[0].pop("backend", None)
        pair[0]["variant"] = stage["variant"]
    else:
        del stage["variant"]


def arguments_of(numbers):
    given = ["--workers", str(numbers.choice([1, 1, 2, 3, 8]))]
    if numbers.randrange(2):
        given += ["--cache", str(numbers.choice([1, 1000, 4096, 65536, 1 << 24]))]
    if numbers.randrange(6) == 0:
        given += ["--default-layouts"]
    if numbers.randrange(8) == 0 and not EMULATED:
        given += ["--backend", "reference"]
    if numbers.randrange(3):
        given += ["--poison"]
    if EMULATED:
        given += ["--in-flight", str(numbers.choice([1, 2, 3, 5]))]
        given += ["--device-block", str(numbers.choice([512, 4096, 65536]))]
    return given


def environment_of(numbers):
    given = {}
    if numbers.randrange(3) == 0:
        given["CORNERTURN_ISA"] = numbers.choice(["baseline", "avx2"])
    if EMULATED:
        given |= {"CORNERTURN_EMULATOR_DEVICES": "2",
                  "CORNERTURN_EMULATOR_SEED": str(numbers.randrange(1 << 30)),
                  "CORNERTURN_EMULATOR_JITTER": str(numbers.choice([0, 0, 300, 2000]))}
    return given


class Case:
    """A graph, its options, and its expected outputs."""

    def __init__(self, folder, stages, wanted, arguments, environment):
        self.folder, self.stages, self.wanted = folder, stages, wanted
        self.arguments, self.environment = arguments, environment

    def write(self):
        text = json.dumps({"stages": self.stages}, indent=1)
        (self.folder / "graph.yaml").write_text(text)

    def words(self):
        settings = [f"{key}={value}" for key, value in self.environment.items()]
        return shlex.join([*settings, "cornerturn", "run", "--quiet", *self.arguments,
                           "graph.yaml"])

    def check(self):
        self.write()
        for _, _, path in self.wanted.values():
            (self.folder / path).unlink(missing_ok=True)
        status, _, errors = part.command(["run", "--quiet", *self.arguments, "graph.yaml"],
                                         self.folder, **self.environment)
        if status and "stands still" in errors:
            raise part.Finding("hang", errors)
        if status and self.gives_way(REFUSAL.search(errors)):
            return self.check()
        if status:
            raise part.Finding("wrong", f"exit status {status}: {errors}")
        for stream, axes, path in self.wanted.values():
            compare(self.folder / path, stream, axes)

    def gives_way(self, refusal):
        """Drops what was asked for at the node that was refused; FALSE if there was nothing."""
        if not refusal:
            return False
        name = refusal[1]
        fused = "fused" in self.stages[name].get("variant", "")
        near = {name} | givers(self.stages[name]) | {
            other for other, stage in self.stages.items() if name in givers(stage)}
        forced = [other for other in (near if fused else {name})
                  for key in ("variant", "backend") if self.stages[other].get("stage") != "generate"
                  and self.stages[other].pop(key, None)]
        return bool(forced or self.environment.pop("CORNERTURN_ISA", None))

    def failure(self):
        try:
            self.check()
        except part.Finding as finding:
            return finding
        return None


# ---- comparison ----

def ordered(array, stream, axes):
    """An array of the stream's axes in the order of a layout; its blocks are filled with zeros."""
    names = list(stream.axes)
    for axis in axes:
        if ":" not in axis:
            continue
        whole, count = axis.split(":")
        at, count = names.index(whole), int(count)
        n = array.shape[at]
        blocks = -(-n // count)
        padding = [(0, 0)] * array.ndim
        padding[at] = (0, blocks * count - n)
        array = numpy.pad(array, padding)
        array = array.reshape(*array.shape[:at], blocks, count, *array.shape[at + 1:])
        names.insert(at + 1, axis)
    return array.transpose([names.index(axis) for axis in axes])


def compare(path, stream, axes):
    def fail(what):
        raise part.Finding("wrong", f"{path.name} of {stream.kind}[{' '.join(axes)}]: {what}")

    x, error = (ordered(array, stream, axes) for array in (stream.x, stream.error))
    stored = sources.stored(numpy.zeros(x.shape), stream.kind)
    if path.suffix == ".npy":
        array = numpy.load(path)
        if array.dtype != stored.dtype or array.shape != stored.shape:
            fail(f"wants {stored.dtype} {stored.shape}, but is given {array.dtype} {array.shape}")
    else:
        array = numpy.fromfile(path, stored.dtype)
        if array.size != stored.size:
            fail(f"wants {stored.size} numbers, but is given {array.size}")
    difference(sources.loaded(array.reshape(stored.shape), stream.kind), x, error, axes, fail)
    said = json.loads(path.with_name(path.name + ".json").read_text())
    compare_axes(said, stream, axes, fail)
    compare_validity(said["validity"], stream, fail)


def difference(given, x, error, axes, fail):
    with numpy.errstate(invalid="ignore"):
        apart = abs(given - x)
        # The bound itself may be off by a part in 10⁹.
        bad = ~(apart <= error * (1 + 1e-9))
    if bad.any():
        at = tuple(int(k) for k in numpy.argwhere(bad)[0])
        fail(f"{bad.sum()} of {bad.size} differ, first at {dict(zip(axes, at))}: {given[at]} where "
             f"{x[at]} is wanted to {error[at]:.3g}, they are {apart[at]:.3g} apart")


def compare_axes(said, stream, axes, fail):
    """Compares the description beside the array: type, axes, clock and frequencies."""
    wanted = {"type": stream.kind, "layout": f"{stream.kind}[{' '.join(axes)}]"}
    if stream.clock.rate:
        wanted |= {"ticks_per_second": [stream.clock.rate.numerator, stream.clock.rate.denominator],
                   "ticks_per_sample": stream.clock.ticks, "start": stream.start,
                   "epoch": stream.clock.epoch, "frequency": stream.frequency}
    for key, value in wanted.items():
        if said.get(key) != value:
            fail(f"'{key}' beside it is {said.get(key)}, where {value} is wanted")
    listed = {axis["name"]: axis for axis in reversed(said["axes"])}
    for axis in listed.values():
        coordinate = stream.coordinates.get(axis["name"])
        if axis["name"] == "time":
            continue
        if coordinate is None:
            if "unit" in axis:
                fail(f"{axis['name']} has a coordinate, {axis}, where none is wanted")
            continue
        values = axis.get("table") or \
            axis.get("first", 0) + axis.get("step", 0) * numpy.arange(stream.length(axis["name"]))
        if "table" not in axis and coordinate.parent in stream.coordinates:
            values = stream.coordinates[coordinate.parent].array()[:, None] + values
        values, wanted = numpy.array(values).ravel(), coordinate.array().ravel()
        off = 1e-12  # of the largest value: the rounding of a step shows most near 0
        if coordinate.step is not None:
            # The seconds of an inverse transform are differences of rounded frequencies.
            off += 4 * 2.0 ** -53 * (stream.frequency or 0) * len(wanted) * coordinate.step
        if axis.get("unit") != coordinate.unit or len(values) != len(wanted) or \
                not abs(values - wanted).max() <= off * abs(wanted).max():
            fail(f"the coordinate of {axis['name']} is {axis}, where {coordinate} is wanted")


def compare_validity(said, stream, fail):
    lost = (~stream.lanes()).sum(axis=1)
    axes = [axis for axis in stream.axes if axis in stream.loses]
    if said["axes"] != axes:
        fail(f"it loses data along {said['axes']}, where {axes} is wanted")
    if said["invalid_samples"] != (lost.tolist() if lost.any() else []):
        fail(f"invalid in each lane are {said['invalid_samples']}, where {lost} is wanted")


# ---- smaller graphs ----

def givers(stage):
    given = stage.get("from", [])
    given = [given] if isinstance(given, str) else \
        given.values() if isinstance(given, dict) else given
    return {name.split(".weights")[0] for name in given}


def ancestors(stages, name):
    found, fresh = set(), {name}
    while fresh:
        found |= fresh
        fresh = set().union(*(givers(stages[each]) for each in fresh)) - found
    return found


def smaller(case):
    """Graphs with a single sink, without an option, or without a variant: one change at a time."""
    for sink in case.wanted:
        if len(case.wanted) > 1:
            kept = ancestors(case.stages, sink)
            yield type(case)(case.folder, {k: v for k, v in case.stages.items() if k in kept},
                             {sink: case.wanted[sink]}, case.arguments, case.environment)
    for key in case.environment:
        yield type(case)(case.folder, case.stages, case.wanted, case.arguments,
                         {k: v for k, v in case.environment.items() if k != key})
    words = case.arguments
    for at, word in enumerate(words):
        if word.startswith("--"):
            has_value = at + 1 < len(words) and not words[at + 1].startswith("--")
            yield type(case)(case.folder, case.stages, case.wanted,
                             words[:at] + words[at + 1 + has_value:], case.environment)
    for name, stage in case.stages.items():
        for key in ("variant", "backend", "block"):
            if key in stage and stage["stage"] != "generate":
                plain = {k: v for k, v in stage.items() if k != key}
                yield type(case)(case.folder, {**case.stages, name: plain}, case.wanted,
                                 case.arguments, case.environment)


def reduce(case, finding):
    changed = True
    while changed:
        changed = False
        for candidate in smaller(case):
            found = candidate.failure()
            if found and found.verdict == finding.verdict:
                case, finding, changed = candidate, found, True
                break
    case.write()
    return case, finding


def check(case):
    """Runs a case; if something is wrong, makes it smaller first."""
    try:
        case.check()
    except part.Finding as finding:
        case, finding = reduce(case, finding)
        for name, (stream, axes, _) in case.wanted.items():
            numpy.save(case.folder / f"{name}-wanted.npy", ordered(stream.x, stream, axes))
        raise part.Finding(finding.verdict, f"{case.words()}\n{finding.message}") from finding


def one(seed, folder):
    numbers = random.Random(seed)
    maker = Maker(numbers, folder, reference(folder))
    force(numbers, maker.stages)
    check(Case(folder, maker.stages, maker.wanted, arguments_of(numbers), environment_of(numbers)))


if __name__ == "__main__":
    part.main(one)
