# SPDX-License-Identifier: BSD-3-Clause
"""Stages of one's own: plugins that are loaded, or compiled from a text in C."""
import ctypes
import os
import pathlib
import shlex
import subprocess
import tempfile

from . import _errors, _library

_SYMBOL = "ct_plugin"


def load_plugin(path):
    """Loads a plugin, a shared object, and registers its stages and variants: pipelines that are
    checked later have them. A plugin takes the place of an earlier one of the same name. It stays
    loaded until the process ends; a file that is loaded already is not read again."""
    try:
        loaded = ctypes.CDLL(os.path.abspath(path))
        plugin = ctypes.c_char.in_dll(loaded, _SYMBOL)
    except (OSError, ValueError) as error:
        raise _errors.PluginError(f"{path}: is no plugin of Cornerturn: {error}") from None
    _library.call("register_plugin", ctypes.addressof(plugin))


def _flags():
    """Options of the compiler for the headers of this library and of GLib."""
    folders = _library.PACKAGE / "include", _library.PACKAGE.parent.parent / "core" / "include"
    own = [f"-I{folder}" for folder in folders if (folder / "cornerturn" / "stage.h").exists()][:1]
    program = os.environ.get("PKG_CONFIG", "pkg-config")
    wanted = ["glib-2.0"] if own else ["cornerturn"]
    try:
        found = subprocess.run([program, "--cflags", *wanted], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        what = (getattr(error, "stderr", None) or str(error)).strip()
        raise _errors.PluginError(f"to compile plugins, pkg-config must know {wanted[0]}: {what}") from None
    return [*own, *shlex.split(found.stdout)]


def compile_plugin(source, options=("-O2",)):
    """Compiles the text of a plugin in C with the compiler of the system (CC, or cc), and loads it.
    docs/writing-a-stage.md explains such a text; its last lines are CT_STAGE_PLUGIN(…)."""
    library = _library.library._name  # pylint: disable=protected-access
    with tempfile.TemporaryDirectory() as folder:
        # Another file for each text: one of the same name would not be loaded again.
        path = pathlib.Path(folder, "plugin.so")
        command = [*shlex.split(os.environ.get("CC", "cc")), "-shared", "-fPIC", "-std=gnu11",
                   "-fvisibility=hidden", "-Wall", *options, *_flags(), "-x", "c", "-", "-x", "none", "-o", path,
                   library if os.path.exists(library) else f"-l:{library}"]
        try:
            ran = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
        except OSError as error:
            raise _errors.PluginError(f"plugins can't be compiled: {error}") from None
        if ran.returncode != 0:
            raise _errors.PluginError(f"the plugin can't be compiled:\n{ran.stderr}")
        load_plugin(path)
