# SPDX-License-Identifier: BSD-3-Clause
"""Finds libcornerturn, loads it, and calls its functions."""
import collections
import ctypes
import ctypes.util
import os
import pathlib
import re
import shutil
import subprocess

from . import _errors

PACKAGE = pathlib.Path(__file__).resolve().parent


def _read_release():
    """Version, soversion and folder of the library that belongs to this package; in a wheel, the
    folder is relative to the package. The build writes them into _release.py; in the source tree
    they stand in meson.build, and the folder is that of the build."""
    try:
        from . import _release
        return _release.VERSION, _release.SOVERSION, _release.LIBDIR
    except ImportError:
        root = PACKAGE.parent.parent
        build = (root / "meson.build").read_text(encoding="utf-8")
        core = (root / "core" / "meson.build").read_text(encoding="utf-8")
        return (re.search(r"^  version: '([^']+)'", build, re.M)[1],
                re.search(r"^soversion = '([^']+)'", core, re.M)[1], str(root / "build" / "core"))


VERSION, SOVERSION, LIBDIR = _read_release()
NAME = f"libcornerturn.so.{SOVERSION}"


def _by_pkg_config():
    program = os.environ.get("PKG_CONFIG", "pkg-config")
    if not shutil.which(program):
        return None
    found = subprocess.run([program, "--variable=libdir", "cornerturn"], capture_output=True,
                           text=True, check=False).stdout.strip()
    return os.path.join(found, NAME) if found else None


def _candidates():
    """Paths and names of the library, the preferred one first: that of the environment alone, if it
    names one; the one that belongs to this package; that of pkg-config; that of the loader."""
    given = os.environ.get("CORNERTURN_LIBRARY")
    if given:
        yield os.path.join(given, NAME) if os.path.isdir(given) else given
        return
    own = PACKAGE / LIBDIR / NAME
    if own.exists():
        yield str(own)
    path = _by_pkg_config()
    if path and os.path.exists(path):
        yield path
    yield NAME


def _load():
    """A library that is there but cannot be used is an error, not a reason to take another one."""
    path = next(_candidates())
    try:
        library = ctypes.CDLL(path)
        version = library.ct_version
    except (OSError, AttributeError) as error:
        raise ImportError(f"cornerturn {VERSION} wants the library {NAME} of this version, but can't use "
                          f"'{path}': {error} (CORNERTURN_LIBRARY names a file or folder of its "
                          "own)") from None
    version.restype = ctypes.c_char_p
    found = version().decode()
    # Before 1.0, the interface may change with the second number.
    if found.split(".")[:2] != VERSION.split(".")[:2]:
        raise ImportError(f"cornerturn {VERSION} wants the library of version "
                          f"{'.'.join(VERSION.split('.')[:2])}, but is given version {found}: {path}")
    return library


library = _load()

MAX_AXES = 12


class GError(ctypes.Structure):
    _fields_ = [("domain", ctypes.c_uint32), ("code", ctypes.c_int), ("message", ctypes.c_char_p)]


class Block(ctypes.Structure):
    """CtBlock of <cornerturn/tensor.h>."""
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int), ("n_axes", ctypes.c_uint),
                ("length", ctypes.c_int64 * MAX_AXES), ("stride", ctypes.c_int64 * MAX_AXES),
                ("n_samples", ctypes.c_int64), ("index", ctypes.c_int64),
                ("start", ctypes.c_int64), ("validity", ctypes.c_void_p),
                ("validity_stride", ctypes.c_int64), ("refused", ctypes.c_void_p),
                ("validity_on_device", ctypes.c_void_p), ("reserved", ctypes.c_uint64 * 2)]


class Quantity(ctypes.Structure):
    """CtQuantity of <cornerturn/text.h>."""
    _fields_ = [("value", ctypes.c_double), ("numerator", ctypes.c_int64), ("denominator", ctypes.c_int64)]


class TuneProgress(ctypes.Structure):
    """CtTuneProgress of <cornerturn/pipeline.h>."""
    _fields_ = [("what", ctypes.c_char_p), ("n_measured", ctypes.c_uint), ("n_kept", ctypes.c_uint),
                ("n_failed", ctypes.c_uint), ("n_repetitions", ctypes.c_uint),
                ("elapsed", ctypes.c_double), ("left", ctypes.c_double)]


class TuneControl(ctypes.Structure):
    """CtTuneControl of <cornerturn/pipeline.h>."""
    Progress = ctypes.CFUNCTYPE(None, ctypes.POINTER(TuneProgress), ctypes.c_void_p)
    IsOver = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
    _fields_ = [("budget", ctypes.c_double), ("is_quick", ctypes.c_int), ("progress", Progress),
                ("is_over", IsOver), ("user_data", ctypes.c_void_p)]


_pointer, _text, _integer, _unsigned = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint
_size, _long, _real = ctypes.c_size_t, ctypes.c_int64, ctypes.c_double
_error = ctypes.POINTER(ctypes.POINTER(GError))

# Results and arguments; functions that take an error have it last. A result of the type ALLOCATED
# is text that is to be freed.
ALLOCATED = ctypes.c_void_p
_FUNCTIONS = {
    "pipeline_load": (_pointer, [_text, _error]),
    "pipeline_parse": (_pointer, [_text, ctypes.c_ssize_t, _text, _error]),
    "pipeline_free": (None, [_pointer]),
    "pipeline_set": (_integer, [_pointer, _text, _error]),
    "pipeline_set_at": (_integer, [_pointer, _text, _long, _error]),
    "pipeline_set_now": (_integer, [_pointer, _text, ctypes.POINTER(_long), _error]),
    "pipeline_set_duration": (_integer, [_pointer, _real, _error]),
    "pipeline_set_strict": (_integer, [_pointer, _integer, _error]),
    "pipeline_set_reads_pipes": (_integer, [_pointer, _integer, _error]),
    "pipeline_set_backend": (_integer, [_pointer, _text, _text, _error]),
    "pipeline_set_variant": (_integer, [_pointer, _text, _text, _error]),
    "pipeline_set_workers": (_integer, [_pointer, _unsigned, _error]),
    "pipeline_set_cpus": (_integer, [_pointer, _text, _error]),
    "pipeline_set_cache": (_integer, [_pointer, _size, _error]),
    "pipeline_set_device_block": (_integer, [_pointer, _size, _error]),
    "pipeline_set_in_flight": (_integer, [_pointer, _unsigned, _error]),
    "pipeline_set_costs": (_integer, [_pointer, _text, _error]),
    "pipeline_set_default_layouts": (_integer, [_pointer, _integer, _error]),
    "pipeline_set_fusion": (_integer, [_pointer, _integer, _error]),
    "pipeline_set_missing": (_integer, [_pointer, _long, _error]),
    "pipeline_set_poison": (_integer, [_pointer, _integer, _error]),
    "pipeline_check": (_integer, [_pointer, _error]),
    "pipeline_check_fed": (_integer, [_pointer, _error]),
    "pipeline_check_taken": (_integer, [_pointer, _error]),
    "pipeline_streams_json": (ALLOCATED, [_pointer, _error]),
    "pipeline_streams_text": (ALLOCATED, [_pointer, _error]),
    "pipeline_plan": (_integer, [_pointer, _error]),
    "pipeline_describe": (ALLOCATED, [_pointer, _text, _error]),
    "pipeline_warnings": (ctypes.POINTER(_text), [_pointer]),
    "pipeline_verify": (ALLOCATED, [_pointer, _text, _text, ctypes.POINTER(_integer), _error]),
    "pipeline_tune": (ALLOCATED, [_pointer, ctypes.POINTER(TuneControl), ctypes.POINTER(_integer),
                                  _error]),
    "pipeline_prepare": (_integer, [_pointer, _error]),
    "pipeline_start": (_integer, [_pointer, _error]),
    "pipeline_interrupt": (None, [_pointer]),
    "pipeline_stop": (None, [_pointer]),
    "pipeline_wait": (_integer, [_pointer, _real]),
    "pipeline_result": (_integer, [_pointer, _error]),
    "pipeline_is_interrupted": (_integer, [_pointer]),
    "pipeline_stats_json": (ALLOCATED, [_pointer]),
    "pipeline_stats_text": (ALLOCATED, [_pointer]),
    "pipeline_try_feed": (_integer, [_pointer, _text, _pointer, _long, _pointer, _real,
                                     ctypes.POINTER(_unsigned), _error]),
    "pipeline_feed_end": (_integer, [_pointer, _text, _error]),
    "pipeline_take": (_integer, [_pointer, _text, _real, ctypes.POINTER(Block), _error]),
    "pipeline_give_back": (None, [_pointer, _text]),
    "pipeline_picture": (ALLOCATED, [_pointer, _text, ctypes.POINTER(ctypes.c_uint64), _error]),
    "inspect": (ALLOCATED, [_text, ctypes.POINTER(ctypes.POINTER(_text)), _error]),
    "quantity_parse": (_integer, [ctypes.POINTER(Quantity), _text, _text, _error]),
    "register_plugin": (_integer, [_pointer, _error]),
    "stream_copy": (None, [_pointer, _pointer]),
    "params_bool": (_integer, [_pointer, _text]),
    "params_int": (_long, [_pointer, _text]),
    "params_real": (_real, [_pointer, _text]),
    "params_string": (_text, [_pointer, _text]),
    "error_quark": (ctypes.c_uint32, []),
}


def _declare():
    declared = {}
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, "ct_" + name)
        function.restype, function.argtypes = result, arguments
        declared[name] = function
    # Of GLib, which libcornerturn has loaded.
    for name, arguments in ("g_free", [_pointer]), ("g_strfreev", [_pointer]), (
            "g_error_free", [_pointer]), ("g_set_error_literal", [_pointer, ctypes.c_uint32, _integer, _text]):
        function = getattr(library, name)
        function.restype, function.argtypes = None, arguments
        declared[name] = function
    return declared


functions = _declare()
quark = functions["error_quark"]()


# Ends of messages, and the exceptions in Python of which they tell, the newest last.
_causes = collections.deque(maxlen=16)


def keep_cause(text, failure):
    """The exception of each error whose message ends with a text will name a failure as its cause."""
    _causes.append((text, failure))


def _find_cause(message):
    return next((failure for text, failure in reversed(list(_causes)) if message.endswith(text)), None)


def raise_error(error):
    """Raises the exception of a GError, a pointer that is not NULL, and frees it."""
    contents = error.contents
    kind = _errors.Error
    if contents.domain == quark and 0 <= contents.code < len(_errors.CODES):
        kind = _errors.CODES[contents.code]
    message = contents.message.decode(errors="replace")
    functions["g_error_free"](error)
    raise kind(message) from (_find_cause(message) if kind is _errors.PluginError else None)


class Call:
    """A function that takes an error, which is raised. One thread may call it."""

    def __init__(self, name):
        self._function = functions[name]
        self._error = ctypes.POINTER(GError)()
        self._reference = ctypes.byref(self._error)

    def __call__(self, *arguments):
        result = self._function(*arguments, self._reference)
        if self._error:
            error, self._error = self._error, ctypes.POINTER(GError)()
            self._reference = ctypes.byref(self._error)
            raise_error(error)
        return result


def call(name, *arguments):
    """Calls a function that takes an error, and raises it."""
    return Call(name)(*arguments)


def take_text(address):
    """The text at an address, which is freed."""
    try:
        return ctypes.string_at(address).decode(errors="replace")
    finally:
        functions["g_free"](address)


def take_texts(lines):
    """The texts of a list that ends with NULL, which is freed."""
    texts = []
    while lines and lines[len(texts)] is not None:
        texts.append(lines[len(texts)].decode(errors="replace"))
    functions["g_strfreev"](lines)
    return texts


def encode(text):
    return None if text is None else os.fsencode(text)
