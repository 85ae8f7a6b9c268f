# SPDX-License-Identifier: BSD-3-Clause
"""Blocks that a pipeline gives: views of its memory."""
import re

import numpy

from . import _errors


class Memory:
    """Memory of a pipeline, as NumPy or CUDA takes it. It keeps the pipeline's memory while an array
    views it."""

    def __init__(self, handle, **interfaces):
        self.handle = handle
        self.__dict__.update(interfaces)


class Block:
    """A piece of a stream along time, of an `output`.

    `array` is a view of the pipeline's memory without a copy, with the axes `axes`, slowest first
    (elements of complex integers have a last axis of two). It is valid until the block is given
    back: by close(), by the end of a `with` statement, or when the next block of the output is
    taken; copy() keeps the samples. A block without samples is false: the stream has ended.

    `n_samples`, `index` (of its first sample in the stream), `start` (its tick), `utc`
    (datetime64), `stream`."""

    def __init__(self, output, content, number):
        self._output, self._number = output, number
        self._handle = output.handle
        self._data, self._validity = content.data, content.validity
        n = content.n_axes
        self._shape, self._strides = tuple(content.length[:n]), tuple(content.stride[:n])
        self._validity_stride = content.validity_stride
        self._array = None
        self.n_samples, self.index, self.start = content.n_samples, content.index, content.start

    def __bool__(self):
        return self.n_samples > 0

    def __iter__(self):
        """This block, then those behind it until the end of the stream."""
        block = self
        while block:
            yield block
            block = block._output.take(block._output.timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Gives the block back. Its array is then overwritten."""
        self._output.give_back(self._number)

    def _check_open(self):
        if self._output.current != self._number and self:
            raise _errors.OrderError(f"the block of node '{self._output.name}' is given back: copy() it "
                                     "before, or use it inside the with statement")

    # ---- contents ----

    @property
    def stream(self):
        return self._output.stream

    @property
    def axes(self):
        """Names of the array's axes, of a block of an axis "time:16"."""
        names = self._output.layout.names
        return [*names, "complex"] if self._output.kind.pairs else list(names)

    @property
    def utc(self):
        return self.stream.utc(self.start)

    def _interface(self, is_read_only):
        """Of NumPy and, but for the version, of CUDA."""
        kind, shape, strides = self._output.kind, self._shape, self._strides
        if kind.pairs:
            shape, strides = (*shape, 2), (*strides, kind.dtype.itemsize)
        return {"version": 3, "typestr": kind.dtype.str, "shape": shape, "strides": strides,
                "data": (self._data or 0, is_read_only)}

    @property
    def array(self):
        if self._array is None:
            self._array = self._view()
        else:
            self._check_open()
        return self._array

    def _view(self, is_read_only=True):
        self._check_open()
        if not self:
            return numpy.empty(self._output.empty_shape, self._output.kind.dtype)
        if self._output.device is not None:
            raise _errors.DeviceError(f"node '{self._output.name}' gives blocks in a device's memory, which "
                                      "NumPy can't read: use __cuda_array_interface__")
        return self._see(self._interface(is_read_only))

    def _see(self, interface):
        """The array at an address. Memory that was fed is copied: it may be gone before the
        pipeline is."""
        array = numpy.asarray(Memory(self._handle, __array_interface__=interface))
        return array.copy() if self._output.is_fed else array

    def __array__(self, dtype=None, copy=None):
        if dtype is None and not copy:
            return self.array
        return numpy.array(self.array, dtype)

    def copy(self):
        return self.array.copy()

    def __dlpack_device__(self):
        return (1, 0) if self._output.device is None else (2, self._output.device)

    def __dlpack__(self, **arguments):
        """Of blocks on the host. The consumer must not write."""
        return self._view(is_read_only=False).__dlpack__(**arguments)

    @property
    def __cuda_array_interface__(self):
        self._check_open()
        if self._output.device is None:
            raise AttributeError("the block is in the host's memory")
        return {**self._interface(False), "stream": None}

    # ---- validity ----

    @property
    def lanes(self):
        """Whether samples are valid, [lanes…][time]: the axes along which data are lost separately
        (stream.lanes), then time. None: all are valid."""
        self._check_open()
        if not self._validity:
            return None
        lengths = [axis.length for axis in self.stream.lanes]
        n_lanes = int(numpy.prod(lengths, dtype=int))
        lanes = self._see({"version": 3, "typestr": "|b1", "shape": (n_lanes, self.n_samples),
                           "strides": (self._validity_stride, 1), "data": (self._validity, True)})
        return lanes.reshape(*lengths, self.n_samples)

    @property
    def valid(self):
        """Whether the elements of `array` are valid, of its shape."""
        shape = self.array.shape
        lanes = self.lanes
        if lanes is None:
            return numpy.broadcast_to(numpy.True_, shape)
        return broadcast_lanes(lanes, [axis.name for axis in self.stream.lanes], self.axes, shape)

    @property
    def masked(self):
        """`array` as a masked array, in which invalid elements are masked."""
        lanes = self.lanes
        return numpy.ma.MaskedArray(self.array, numpy.ma.nomask if lanes is None else ~self.valid)

    def __repr__(self):
        axes = ", ".join(f"{name} {n}" for name, n in zip(self.axes, self._shape))
        return f"<Block of {self._output.name}: {self._output.kind.name} [{axes}], tick {self.start}>"


def _cut(valid, position, count, n_blocks):
    """Makes axis `position` blocks of `count`, filled up with what is invalid; the axis within
    blocks becomes the last one."""
    fill = [(0, 0)] * valid.ndim
    fill[position] = (0, n_blocks * count - valid.shape[position])
    valid = numpy.pad(valid, fill)
    shape = list(valid.shape)
    shape[position:position + 1] = [n_blocks, count]
    return numpy.moveaxis(valid.reshape(shape), position + 1, -1)


def broadcast_lanes(lanes, lane_names, axes, shape):
    """The validity of elements from that of lanes, [lane_names…, time]; `axes` are those of the
    elements."""
    names = [*lane_names, "time"]
    valid = lanes
    for axis in axes:
        name, _, count = axis.partition(":")
        if count and name in names:
            valid = _cut(valid, names.index(name), int(count), shape[axes.index(name)])
            names.append(axis)
    order = [names.index(axis) for axis in axes if axis in names]
    index = tuple(slice(None) if axis in names else None for axis in axes)
    if len(order) < valid.ndim:  # a stream without time
        valid = valid[tuple(slice(None) if i in order else 0 for i in range(valid.ndim))]
        order = list(numpy.argsort(numpy.argsort(order)))
    return numpy.broadcast_to(valid.transpose(order)[index], shape)


def find_device(place):
    """The number of "cuda:1"; None: the host."""
    found = re.fullmatch(r"cuda:(\d+)", place)
    return int(found[1]) if found else None
