# SPDX-License-Identifier: BSD-3-Clause
"""Runs a graph on arrays through the library's interface for programs: feeds its `input` stages block
by block, and takes the blocks of its `output` stages.

    result = pipeline.run(
        "stages: { x: { stage: input, layout: 'cf32[time station]', shape: [-1, 3] }, …, "
        "y: { stage: output, from: … } }",
        {"x": pipeline.Feed(array, time=0, cuts=[5, 1, 7])},
    )
    result["y"].array

Arrays have the axes of the layout in its order. Complex integers have a further last axis of 2;
ci4 elements are bytes."""
import atexit
import ctypes
import functools
import itertools
import json
import os
import pathlib
import re
import subprocess
import threading

import sanitized

sanitized.restart()

import numpy  # noqa: E402

IS_SANITIZED = os.environ.get("CORNERTURN_SANITIZER", "none") != "none"
MAX_AXES = 12
TYPES = ["none", "ci4", "ci8", "ci16", "ci32", "ci64", "cf16", "cf32", "cf64", "i8", "i16", "i32",
         "i64", "u8", "u32", "f16", "f32", "f64"]
DTYPES = {"ci4": "u1", "ci8": "i1", "ci16": "i2", "ci32": "i4", "ci64": "i8", "cf16": "f2",
          "cf32": "c8", "cf64": "c16", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
          "u8": "u1", "u32": "u4", "f16": "f2", "f32": "f4", "f64": "f8"}
PAIRS = {"ci8", "ci16", "ci32", "ci64", "cf16"}


class Block(ctypes.Structure):
    """CtBlock of tensor.h."""
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int), ("n_axes", ctypes.c_uint),
                ("length", ctypes.c_int64 * MAX_AXES), ("stride", ctypes.c_int64 * MAX_AXES),
                ("n_samples", ctypes.c_int64), ("index", ctypes.c_int64),
                ("start", ctypes.c_int64), ("validity", ctypes.c_void_p),
                ("validity_stride", ctypes.c_int64), ("reserved", ctypes.c_uint64 * 4)]

    def array(self):
        """A copy of the data."""
        name = TYPES[self.type]
        dtype = numpy.dtype(DTYPES[name])
        shape = list(self.length[:self.n_axes])
        strides = list(self.stride[:self.n_axes])
        if name in PAIRS:
            shape.append(2)
            strides.append(dtype.itemsize)
        if 0 in shape:
            return numpy.zeros(shape, dtype)
        n_bytes = sum((n - 1) * step for n, step in zip(shape, strides)) + dtype.itemsize
        memory = (ctypes.c_uint8 * n_bytes).from_address(self.data)
        flat = numpy.frombuffer(memory, numpy.uint8)
        return numpy.ndarray(shape, dtype, flat, 0, strides).copy()

    def lanes(self, n_lanes):
        """Validity, [lane][sample]."""
        if not self.validity:
            return numpy.ones((n_lanes, self.n_samples), bool)
        n_bytes = (n_lanes - 1) * self.validity_stride + self.n_samples
        memory = (ctypes.c_uint8 * n_bytes).from_address(self.validity)
        flat = numpy.frombuffer(memory, numpy.uint8)
        return numpy.ndarray((n_lanes, self.n_samples), numpy.uint8, flat, 0,
                             (self.validity_stride, 1)).astype(bool)


class GError(ctypes.Structure):
    _fields_ = [("domain", ctypes.c_uint32), ("code", ctypes.c_int), ("message", ctypes.c_char_p)]


class Failure(Exception):
    pass


def _load():
    build = pathlib.Path(os.environ["CORNERTURN"]).parent
    library = ctypes.CDLL(str(build / "libcornerturn.so"))
    pointer, text, integer = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    error = ctypes.POINTER(ctypes.POINTER(GError))
    for name, result, arguments in [
            ("parse", pointer, [text, ctypes.c_ssize_t, text, error]),
            ("free", None, [pointer]),
            ("set_variant", integer, [pointer, text, text, error]),
            ("set_backend", integer, [pointer, text, text, error]),
            ("set_workers", integer, [pointer, ctypes.c_uint, error]),
            ("set_cache", integer, [pointer, ctypes.c_size_t, error]),
            ("set_device_block", integer, [pointer, ctypes.c_size_t, error]),
            ("set_in_flight", integer, [pointer, ctypes.c_uint, error]),
            ("set_default_layouts", integer, [pointer, integer, error]),
            ("set_poison", integer, [pointer, integer, error]),
            ("set_missing", integer, [pointer, ctypes.c_int64, error]),
            ("describe", pointer, [pointer, text, error]),
            ("start", integer, [pointer, error]),
            ("wait", integer, [pointer, ctypes.c_double]),
            ("result", integer, [pointer, error]),
            ("feed", integer, [pointer, text, pointer, ctypes.c_int64, pointer, pointer, pointer,
                               error]),
            ("feed_end", integer, [pointer, text, error]),
            ("take", integer, [pointer, text, ctypes.c_double, ctypes.POINTER(Block), error]),
            ("give_back", None, [pointer, text]),
            ("picture", pointer, [pointer, text, ctypes.POINTER(ctypes.c_uint64), error])]:
        function = getattr(library, "ct_pipeline_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()


def _call(name, *arguments):
    error = ctypes.POINTER(GError)()
    result = getattr(_library, "ct_pipeline_" + name)(*arguments, ctypes.byref(error))
    if error:
        raise Failure(error.contents.message.decode())
    return result


def _keep_device_open():
    """Keeps the first device open by a pipeline that does not end, because opening it takes
    long."""
    text = (b"backend: cuda\nstages: { x: { stage: input, layout: 'cf32[time]', shape: [-1] }, "
            b"y: { stage: discard, from: x } }")
    try:
        pipeline = _call("parse", text, len(text), b"test")
        atexit.register(_library.ct_pipeline_free, pipeline)
        _call("start", pipeline)
    except Failure:
        pass  # there is no device


if os.environ.get("CORNERTURN_CUDA") != "off":
    _keep_device_open()


def plan(graph, variants=None, missing=1):
    """The plan of a graph, from its text, as `cornerturn plan --json` prints it."""
    text = graph.encode()
    pipeline = _call("parse", text, len(text), b"test")
    try:
        for node, variant in (variants or {}).items():
            _call("set_variant", pipeline, node.encode(), variant.encode())
        _call("set_missing", pipeline, missing)
        described = _call("describe", pipeline, b"json")
        return json.loads(ctypes.string_at(described))
    finally:
        _library.ct_pipeline_free(pipeline)


class Feed:
    """An array for an `input`: `time` is its axis of time; the lengths of its blocks repeat `cuts`;
    `validity` is [lane][time]."""

    def __init__(self, array, time=0, cuts=(1 << 20,), validity=None):
        self.array, self.time, self.cuts, self.validity = array, time, cuts, validity

    def blocks(self):
        n = self.array.shape[self.time]
        begin = turn = 0
        while begin < n:
            end = min(begin + self.cuts[turn % len(self.cuts)], n)
            part = [slice(None)] * self.array.ndim
            part[self.time] = slice(begin, end)
            valid = None
            if self.validity is not None:
                valid = numpy.ascontiguousarray(self.validity[:, begin:end], numpy.uint8)
            # a copy: the pipeline sets invalid samples to zero
            yield numpy.array(self.array[tuple(part)], order="C"), end - begin, valid
            begin, turn = end, turn + 1


class Taken:
    """The blocks of an `output`: array, validity [lane][time], and the start of the first block."""

    def __init__(self, n_lanes):
        self.n_lanes = n_lanes
        self.parts, self.lanes, self.start, self.n_blocks = [], [], None, 0

    def add(self, block):
        if self.start is None:
            self.start = block.start
        self.parts.append(block.array())
        self.lanes.append(block.lanes(self.n_lanes))
        self.n_blocks += 1

    def join(self, time):
        self.array = numpy.concatenate(self.parts, time) if self.parts else None
        self.validity = numpy.concatenate(self.lanes, 1) if self.lanes else None


def run(graph, feeds, takes, variants=None, backend=None, workers=1, pictures=(), **settings):
    """Runs the text of a graph; returns Taken by name. `feeds` is a Feed for the name of each
    `input`, `takes` (axis of time, lanes of validity) for the name of each `output`, `settings`
    further settings of the pipeline by name. For the nodes `pictures`, returns their last picture
    and the number of pictures. Memory is poisoned."""
    text = graph.encode()
    pipeline = _call("parse", text, len(text), b"test")
    threads, failures = [], []
    kept = []  # blocks must exist until they have been read
    taken = {name: Taken(n_lanes) for name, (_, n_lanes) in takes.items()}

    def feed(name, source):
        try:
            for data, n, valid in source.blocks():
                kept.append((data, valid))
                _call("feed", pipeline, name.encode(), data.ctypes.data, n,
                      None if valid is None else valid.ctypes.data, None, None)
            _call("feed_end", pipeline, name.encode())
        except Failure as failure:
            failures.append(failure)

    def take(name):
        block = Block()
        try:
            while _call("take", pipeline, name.encode(), 60.0, ctypes.byref(block)):
                if block.n_samples == 0:
                    return
                taken[name].add(block)
                _library.ct_pipeline_give_back(pipeline, name.encode())
            failures.append(Failure(f"nothing came to '{name}' in a minute"))
        except Failure as failure:
            failures.append(failure)

    try:
        if backend:
            _call("set_backend", pipeline, None, backend.encode())
        for node, variant in (variants or {}).items():
            _call("set_variant", pipeline, node.encode(), variant.encode())
        _call("set_workers", pipeline, workers)
        _call("set_poison", pipeline, 1)
        for name, value in settings.items():
            _call("set_" + name, pipeline, value)
        _call("start", pipeline)
        threads += [threading.Thread(target=feed, args=item) for item in feeds.items()]
        threads += [threading.Thread(target=take, args=(name,)) for name in takes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        _library.ct_pipeline_wait(pipeline, 60.0)
        _call("result", pipeline)
        for name in pictures:
            number = ctypes.c_uint64()
            shown = _call("picture", pipeline, name.encode(), ctypes.byref(number))
            taken[name] = json.loads(ctypes.string_at(shown)), number.value
    finally:
        _library.ct_pipeline_free(pipeline)
    for name, (time, _) in takes.items():
        taken[name].join(time)
    return taken


def integers(random, type_, shape, extreme=False):
    """Random complex integers, or all at the most negative value, in the form of a Feed and as […
    part]."""
    bits = int(type_[2:])
    low, high = -(1 << bits - 1), 1 << bits - 1
    parts = random.integers(low, high, (*shape, 2))
    if extreme:
        parts[...] = low
    if type_ == "ci4":
        return ((parts[..., 0] & 15) << 4 | parts[..., 1] & 15).astype(numpy.uint8), parts
    return parts.astype(DTYPES[type_]), parts


def instruction_sets():
    """Names of the instruction sets of cpu variants that this machine has, the best first."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    found = []
    if all(flag in flags for flag in ("avx512f", "avx512bw", "avx512dq", "avx512vl")):
        found.append("avx512")
    if "avx2" in flags and "fma" in flags:
        found.append("avx2")
    return found + ["baseline"]


def has_device():
    """Whether there is a device for cuda variants."""
    listed = subprocess.run([os.environ["CORNERTURN"], "inspect"], capture_output=True, text=True,
                            check=True)
    return any(line.startswith("cuda:0") for line in listed.stdout.splitlines())


def some(cases):
    """The cases; with sanitizers, and on the emulator, every third of them."""
    is_slow = IS_SANITIZED or "emulator" in os.environ.get("CORNERTURN_CUDA", "")
    return list(cases)[::3 if is_slow else 1]


def variants():
    """Names of the variants that this machine can run, the reference first. If the environment
    names a backend, only its variants and the reference. With sanitizers, only one instruction set:
    the programs in C run them all."""
    found = ["reference"]
    if "CORNERTURN_TEST_BACKEND" not in os.environ:
        sets = ["cpu-" + name for name in instruction_sets()]
        found += sets[:1] if IS_SANITIZED else sets
    return found + (["cuda"] if has_device() else [])


@functools.lru_cache
def further_variants(stage):
    """Names of the cpu variants of the stage for instruction sets that only some plugins use, as
    far as this machine has these."""
    listed = subprocess.run([os.environ["CORNERTURN"], "inspect", stage], capture_output=True,
                            text=True, check=True).stdout
    return re.findall(r"^  (cpu-(?:avxvnni|avx512vnni|amx))  cpu \w+$", listed, re.M)


@functools.lru_cache
def tunings(stage, variant):
    """The variant with every combination of its tunables' values, as texts for --variant. `inspect`
    prints tunables after the last of the variants that share them."""
    listed = subprocess.run([os.environ["CORNERTURN"], "inspect", stage], capture_output=True,
                            text=True, check=True).stdout.partition("\nVariants\n")[2]
    below = listed[re.search(rf"^  {variant}  ", listed, re.M).start():]
    table = re.search(r"^      .*\n(?:      .*\n)*", below, re.M)[0]
    found = re.findall(r"^      (\w+): ([-\d, ]+); default", table, re.M)
    choices = [[f"{name}={value}" for value in values.split(", ")] for name, values in found]
    return [f"{variant}:{','.join(one)}" for one in itertools.product(*choices)] if found else []
