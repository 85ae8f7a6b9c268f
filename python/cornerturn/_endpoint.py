# SPDX-License-Identifier: BSD-3-Clause
"""The nodes `input` and `output` of a graph, through which arrays pass."""
import collections
import ctypes
import os
import threading
import time

import numpy

from . import _block, _errors, _library, _types
from ._stream import Layout

_FIRST = ctypes.c_char * 0  # stands for the address of an array

# A wait in the library returns so often, so that Python handles signals.
POLL = 0.1


working = threading.local()  # `here`: this thread runs a stage that is a function in Python


def refuse_in_a_stage(what):
    """A stage that waits for its own run would wait for ever."""
    if getattr(working, "here", False):
        raise _errors.OrderError(f"{what} wants to be called outside the functions of stages")


class Handle:
    """A CtPipeline. It is freed when neither the pipeline nor an array needs it any more, in the
    process that has made it: a forked one has none of its threads."""

    def __init__(self, pointer):
        self.pointer, self.process = pointer, os.getpid()
        self.fed = collections.defaultdict(collections.deque)  # node → what it may still read

    def __del__(self, free=_library.functions["pipeline_free"], find_process=os.getpid):
        if find_process() == self.process:
            free(self.pointer)

    def __reduce_ex__(self, _):
        raise TypeError("a pipeline, and what depends on it, cannot be copied or pickled")


def wait_for(ask, timeout, what):
    """Asks `ask` with seconds until it returns something true. TimeoutError after `timeout` (None:
    never)."""
    if timeout is not None and not timeout >= 0:
        raise _errors.ParameterError(f"timeout wants seconds, 0 or more, but is given {timeout}")
    refuse_in_a_stage("a call that waits")
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        left = POLL if until is None else min(POLL, max(until - time.monotonic(), 0))
        if ask(left):
            return
        if until is not None and time.monotonic() >= until:
            raise TimeoutError(f"{what} after {timeout:g} s")


class Input:
    """An `input`. `layout` is that of the graph's entry."""

    def __init__(self, handle, name, stream, device):
        self.handle, self.name, self.stream, self.device = handle, name, stream, device
        self.layout = Layout(stream.layout)
        self.kind = _types.find(stream.type)
        self._encoded = _library.encode(name)
        self._time = self.layout.names.index("time")
        self._shape = [None if name == "time" else stream[name].length for name in self.layout.names]
        self._shape += [2] if self.kind.pairs else []
        self._before, self._behind = (tuple(part) for part in (
            self._shape[:self._time], self._shape[self._time + 1:]))
        self._unread = ctypes.c_uint()
        self._unread_reference = ctypes.byref(self._unread)
        self._kept = handle.fed[name]
        self._call = _library.Call("pipeline_try_feed")

    def _refuse(self, wanted, given):
        raise _errors.ParameterError(f"node '{self.name}' wants {wanted}, but is given {given}")

    def _check(self, shape, dtype):
        if dtype != self.kind.dtype:
            self._refuse(f"elements {self.kind.dtype} for {self.kind.name}", dtype)
        if len(shape) != len(self._shape) or any(
                want not in (None, have) for want, have in zip(self._shape, shape)):
            wanted = ", ".join("time" if n is None else str(n) for n in self._shape)
            axes = " ".join(self.layout.names)
            self._refuse(f"the shape ({wanted}) for [{axes}]"
                         f"{', last the two parts' if self.kind.pairs else ''}", tuple(shape))
        if shape[self._time] < 1:
            self._refuse("1 sample or more", shape[self._time])

    def _prepare(self, array, validity, copy):
        """The array to feed."""
        if isinstance(array, numpy.ma.MaskedArray):
            self._refuse("an array, and `validity` in place of its mask", "a masked array")
        if not isinstance(array, numpy.ndarray):
            if not copy:
                self._refuse("an array of NumPy, or copy=True", type(array).__name__)
            array = numpy.asarray(array)
        if copy:
            if not _types.becomes(array.dtype, self.kind):
                self._refuse(f"elements {self.kind.dtype} for {self.kind.name}", array.dtype)
            array = numpy.array(array, self.kind.dtype, order="C")
        self._check(array.shape, array.dtype)
        flags = array.flags
        if not (flags.c_contiguous and flags.aligned):
            self._refuse("an array that is contiguous in C order and aligned, or copy=True",
                         f"strides {array.strides}")
        if validity is not None and not flags.writeable:
            self._refuse("a writable array, because invalid samples become zero in it, or copy=True",
                         "one that is read-only")
        return array

    def _find_address_on_device(self, array, copy):
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is None or copy:
            self._refuse(f"an array in the memory of cuda:{self.device}",
                         "copy=True" if interface else type(array).__name__)
        dtype = numpy.dtype(interface["typestr"])
        self._check(interface["shape"], dtype)
        packed, step = [], dtype.itemsize
        for length in reversed(interface["shape"]):
            packed.insert(0, step)
            step *= length
        if interface.get("strides") not in (None, tuple(packed)):
            self._refuse("an array that is contiguous in C order", f"strides {interface['strides']}")
        return interface["data"][0], interface["shape"][self._time]

    def _is_plain(self, array):
        """Whether an array can be fed as it is: the usual case, in few steps."""
        return (type(array) is numpy.ndarray and array.dtype is self.kind.dtype and array.flags.carray
                and array.ndim == len(self._shape) and array.shape[:self._time] == self._before
                and array.shape[self._time + 1:] == self._behind and array.shape[self._time] > 0)

    def _find_address(self, array, validity, copy):
        """Of an array on the host that can be fed, and its number of samples."""
        if not copy and self._is_plain(array):
            return array, _FIRST.from_buffer(array), array.shape[self._time]
        array = self._prepare(array, validity, copy)
        return array, array.ctypes.data, array.shape[self._time]

    def _lanes(self, validity, n):
        lengths = tuple(axis.length for axis in self.stream.lanes)
        n_lanes = int(numpy.prod(lengths, dtype=int))
        valid = numpy.array(validity, bool, order="C")
        if valid.shape not in ((*lengths, n), (n_lanes, n)):
            self._refuse(f"validity of the shape {(*lengths, n)}", valid.shape)
        return valid

    def feed(self, array, validity, copy, timeout):
        if self.device is None:
            array, address, n = self._find_address(array, validity, copy)
        else:
            address, n = self._find_address_on_device(array, copy)
        valid = None if validity is None else self._lanes(validity, n)
        lanes = None if valid is None else valid.ctypes.data
        # It is kept before the call, on another thread's behalf, and after a failure, for the run may
        # have begun to read it.
        self._kept.append((array, valid))
        try:
            if not self._try(address, n, lanes, 0):
                wait_for(lambda seconds: self._try(address, n, lanes, seconds), timeout,
                         f"nothing can be fed to '{self.name}'")
        except (TimeoutError, KeyboardInterrupt):
            self._kept.pop()
            raise

    def _try(self, address, n, lanes, seconds):
        """Feeds the array that was kept last, and lets go of those that are read."""
        fed = self._call(self.handle.pointer, self._encoded, address, n, lanes, seconds,
                         self._unread_reference)
        while len(self._kept) > self._unread.value + (not fed):
            self._kept.popleft()
        return fed

    def end(self):
        _library.call("pipeline_feed_end", self.handle.pointer, self._encoded)


class Output:
    """An `output`; `stream` is the one that it reads."""

    def __init__(self, handle, name, stream, layout, device, is_fed):
        self.handle, self.name, self.stream, self.device = handle, name, stream, device
        self.is_fed = is_fed  # its blocks lie in arrays that are fed
        self.layout = Layout(layout)
        self.kind = _types.find(self.layout.type)
        # The number of the block that is taken. Not the block: no cycle may keep a pipeline until
        # Python collects garbage, on whichever thread that is.
        self.current = None
        self._n_taken = 0
        self.timeout = None  # of the last take()
        self._encoded = _library.encode(name)
        self._content = _library.Block()
        self._reference = ctypes.byref(self._content)
        self._call = _library.Call("pipeline_take")

    @property
    def empty_shape(self):
        shape = [0 if name == "time" else count or (2 if name == "complex" else self.stream[name].length)
                 for name, count in self.layout.axes]
        return [*shape, 2] if self.kind.pairs else shape

    def take(self, timeout):
        self.give_back(self.current)
        self.timeout = timeout
        self._n_taken += 1
        pointer, name, content = self.handle.pointer, self._encoded, self._reference
        if not self._call(pointer, name, 0, content):
            wait_for(lambda seconds: self._call(pointer, name, seconds, content), timeout,
                     f"nothing came to '{self.name}'")
        block = _block.Block(self, self._content, self._n_taken)
        self.current = self._n_taken if block.n_samples else None
        return block

    def give_back(self, number):
        if number is not None and number == self.current:
            self.current = None
            _library.functions["pipeline_give_back"](self.handle.pointer, self._encoded)
