# SPDX-License-Identifier: BSD-3-Clause
"""Stages whose work is a function in Python: a plugin whose tables are made here. The structs are
those of <cornerturn/stage.h>, as far as they are used; CtSizes tells the library how long they are."""
import ctypes
import inspect
import itertools
import re

import numpy

from . import _endpoint, _errors, _library, _types

_text, _pointer, _integer = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int
_MAGIC, _ABI = 0x43546e31, 7
_CPU = 1
# A share of the machine's rate so small that the planner knows that Python is slow.
_EFFICIENCY = 1e-4


class _Port(ctypes.Structure):
    _fields_ = [("name", _text), ("layout", _text), ("flags", _integer), ("help", _text)]


class _Param(ctypes.Structure):
    _fields_ = [("name", _text), ("kind", _integer), ("flags", _integer), ("unit", _text),
                ("minimum", ctypes.c_double), ("maximum", ctypes.c_double), ("fallback", _text),
                ("choices", _pointer), ("help", _text), ("endings", _pointer)]


class _Node(ctypes.Structure):
    """The beginning of CtNode."""
    _fields_ = [("name", _text), ("stage", _pointer), ("params", _pointer), ("n_inputs", ctypes.c_uint),
                ("inputs", _pointer), ("input_names", _pointer), ("n_outputs", ctypes.c_uint),
                ("outputs", _pointer)]


class _Work(ctypes.Structure):
    """The beginning of CtWork."""
    _fields_ = [("inputs", ctypes.POINTER(_library.Block)), ("outputs", ctypes.POINTER(_library.Block))]


_Error = ctypes.POINTER(_pointer)
_Infer = ctypes.CFUNCTYPE(_integer, ctypes.POINTER(_Node), _Error)
# CtPrepare begins with its nodes.
_Prepare = ctypes.CFUNCTYPE(_integer, ctypes.POINTER(ctypes.POINTER(_Node)), ctypes.POINTER(_pointer), _Error)
_Do = ctypes.CFUNCTYPE(_integer, _pointer, ctypes.POINTER(_Work), _Error)
_Finish = ctypes.CFUNCTYPE(None, _pointer)


class _Stage(ctypes.Structure):
    _fields_ = [("name", _text), ("summary", _text), ("version", ctypes.c_uint),
                ("inputs", ctypes.POINTER(_Port)), ("outputs", ctypes.POINTER(_Port)),
                ("params", ctypes.POINTER(_Param)), ("counters", _pointer), ("infer", _Infer)]


class _Row(ctypes.Structure):
    _fields_ = [("layouts", _text), ("efficiency", ctypes.c_double)]


class _Variant(ctypes.Structure):
    _fields_ = [("name", _text), ("backend", _integer), ("isa", _integer),
                ("covers", ctypes.POINTER(_text)), ("rows", ctypes.POINTER(_Row)), ("share", _pointer),
                ("tunables", _pointer), ("differs", _pointer), ("split", _text), ("waits", _integer),
                ("fits", _pointer), ("prepare", _Prepare), ("advance", _pointer), ("work", _Do),
                ("close", _pointer), ("complete", _pointer), ("finish", _Finish)]


class _Sizes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in
                ("sizes", "plugin", "stage", "variant", "port", "param", "row", "tunable")]


class _Plugin(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_uint32), ("abi_version", ctypes.c_uint32),
                ("sizes", ctypes.POINTER(_Sizes)), ("name", _text),
                ("stages", ctypes.POINTER(ctypes.POINTER(_Stage))),
                ("variants", ctypes.POINTER(ctypes.POINTER(_Variant)))]


_TUNABLE_BYTES = 40
_SIZES = _Sizes(*(ctypes.sizeof(each) for each in (_Sizes, _Plugin, _Stage, _Variant, _Port, _Param, _Row)),
                _TUNABLE_BYTES)

# By the type of a default: the kind of CtParamKind, the getter, and how the default is written.
_KINDS = {
    bool: (3, "params_bool", lambda value: str(value).lower()),
    int: (0, "params_int", str),
    float: (1, "params_real", repr),
    str: (5, "params_string", str),
}

_registered = []  # plugins, and all that their tables point to: for ever, as the library wants it


def _table(row, rows):
    """Rows, and the empty one that ends a table."""
    return (row * (len(rows) + 1))(*rows)


def _view(block):
    """The array of a block."""
    kind = _types.BY_NUMBER[block.type]
    shape, strides = tuple(block.length[:block.n_axes]), tuple(block.stride[:block.n_axes])
    if kind.pairs:
        shape, strides = (*shape, 2), (*strides, kind.dtype.itemsize)
    if 0 in shape:
        return numpy.empty(shape, kind.dtype)
    n_bytes = sum((n - 1) * step for n, step in zip(shape, strides)) + kind.dtype.itemsize
    memory = (ctypes.c_char * n_bytes).from_address(block.data)
    return numpy.ndarray(shape, kind.dtype, memory, 0, strides)


class _Misfit(Exception):
    """What a function returns does not fit the output."""


def _fit(name, result, kind, shape):
    """The array of what a function returned: of a dtype that becomes the type of the output, and of its shape."""
    array = numpy.asarray(result)
    if not _types.becomes(array.dtype, kind):
        given = type(result).__name__ if array.dtype == object else array.dtype
        raise _Misfit(f"the function '{name}' returned {given} where out is {kind.name}")
    if array.shape != shape:
        raise _Misfit(f"the function '{name}' returned shape {array.shape} where {shape} is wanted")
    return array


def _tell(error, failure):
    """Sets a GError to an exception; 0, which is FALSE."""
    text = str(failure)
    if not isinstance(failure, _Misfit):
        text = f"{type(failure).__name__}: {failure}"
        _library.keep_cause(text, failure)
    _library.functions["g_set_error_literal"](error, _library.quark, _PLUGIN_ERROR, text.encode(errors="replace"))
    return 0


_PLUGIN_ERROR = 4  # CT_ERROR_PLUGIN


class _Functions:
    """The functions of a stage as the library calls them, on its threads."""

    def __init__(self, name, function, n_inputs, out_type, params):
        self._name, self._function, self._n_inputs, self._params = name, function, n_inputs, params
        self._type = out_type
        self._states, self._numbers = {}, itertools.count(1)

    def infer(self, node, error):
        """The output is as the first input, but for its type."""
        try:
            _library.functions["stream_copy"](node.contents.outputs, node.contents.inputs)
            if self._type:
                ctypes.c_int.from_address(node.contents.outputs).value = self._type
            return 1
        except Exception as failure:  # pylint: disable=broad-exception-caught
            return _tell(error, failure)

    def prepare(self, prepare, state, error):
        """Keeps the values of the parameters under a number, which is the state."""
        try:
            params = prepare.contents.contents.params
            values = {name: self._get(params, name, default) for name, default in self._params.items()}
            number = next(self._numbers)
            self._states[number] = values
            state[0] = number
            return 1
        except Exception as failure:  # pylint: disable=broad-exception-caught
            return _tell(error, failure)

    @staticmethod
    def _get(params, name, default):
        value = _library.functions[_KINDS[type(default)][1]](params, name.encode())
        return value.decode() if isinstance(value, bytes) else type(default)(value)

    def work(self, state, work, error):
        try:
            out = work.contents.outputs[0]
            if not out.data:
                return 1
            # Copies, for the function may keep them, and the traceback of its exception does.
            arrays = [_view(work.contents.inputs[i]).copy() for i in range(self._n_inputs)]
            view = _view(out)
            _endpoint.working.here = True
            try:
                result = self._function(*arrays, **self._states[state])
            finally:
                _endpoint.working.here = False
            view[...] = _fit(self._name, result, _types.BY_NUMBER[out.type], view.shape)
            return 1
        except BaseException as failure:  # pylint: disable=broad-exception-caught
            return _tell(error, failure)

    def finish(self, state):
        self._states.pop(state, None)


def _find_type(layout):
    """The number of the one type in a pattern; 0: it has none, or several."""
    name = re.match(r"[\w|]*", layout)[0]
    return _types.BY_NUMBER.index(_types.find(name)) if name and "|" not in name else 0


def _find_axes(layout):
    """The names in a pattern, without those of blocks and parts."""
    return {name for name in re.findall(r"[\w.:']+", layout.partition("[")[2] or layout.partition("{")[2])
            if ":" not in name and name != "complex"}


def _check_axes(name, first, output):
    """The output has the axes of the first input, so each pattern has a place for those of the other."""
    here, there = _find_axes(first), _find_axes(output)
    if ("..." not in there and here - there) or ("..." not in here and there - here - {"..."}):
        raise _errors.ParameterError(f"stage '{name}' wants an output with the axes of its first input, {first}, "
                                     f"but is given {output}")


def _ports(ports):
    return _table(_Port, [_Port(name.encode(), layout.encode(), 0, b"an array") for name, layout in ports.items()])


def stage(function=None, *, inputs=None, output="f32[time ...]", name=None):
    """Makes a stage of a function, which gets an array for each input, and returns that of the output.

        @cornerturn.stage(inputs={"in": "f32[time ...]"}, output="f32[time ...]")
        def clip(x, *, most: float = 3.0):
            return numpy.minimum(x, most)

    The function is called for each firing, on threads of the run, one of which runs Python at a time:
    such a stage is slow, and is for trials. An output sample is made of the input samples at its
    time; the output has the axes and coordinates of the first input, and the type in `output`. Inputs
    and the output are patterns of layouts. Arguments by keyword, with defaults that are bool, int,
    float or str, are the parameters of the stage. Its name is that of the function, or `name`. A later
    stage of the same name takes its place."""
    if function is None:
        return lambda given: stage(given, inputs=inputs, output=output, name=name)
    arguments = inspect.signature(function).parameters.values()
    inputs = inputs or {"in": output}
    params = {each.name: each.default for each in arguments if each.kind is each.KEYWORD_ONLY}
    for key, value in params.items():
        if type(value) not in _KINDS:
            raise TypeError(f"parameter '{key}' wants a default that is bool, int, float or str")
    encoded = (name or function.__name__).encode()
    _check_axes(encoded.decode(), next(iter(inputs.values())), output)
    made = _Functions(encoded.decode(), function, len(inputs), _find_type(output), params)
    rows = [_Param(name=key.encode(), kind=_KINDS[type(value)][0], fallback=_KINDS[type(value)][2](value).encode(),
                   help=b"a parameter of the function") for key, value in params.items()]
    summary = ((function.__doc__ or "a function").strip().splitlines()[0].rstrip(".") + " (in Python: slow)")
    table = _Stage(encoded, summary.encode(), 1, _ports(inputs), _ports({"out": output}), _table(_Param, rows), None,
                   _Infer(made.infer))
    variant = _Variant(name=b"cpu-python", backend=_CPU, covers=(_text * 2)(encoded, None),
                       rows=_table(_Row, [_Row(b"ports", _EFFICIENCY)]), prepare=_Prepare(made.prepare),
                       work=_Do(made.work), finish=_Finish(made.finish))
    plugin = _Plugin(_MAGIC, _ABI, ctypes.pointer(_SIZES), encoded,
                     (ctypes.POINTER(_Stage) * 2)(ctypes.pointer(table)),
                     (ctypes.POINTER(_Variant) * 2)(ctypes.pointer(variant)))
    _registered.append((plugin, table, variant, made))
    _library.call("register_plugin", ctypes.addressof(plugin))
    return function
