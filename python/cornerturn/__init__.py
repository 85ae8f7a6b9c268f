# SPDX-License-Identifier: BSD-3-Clause
"""Runs graphs of Cornerturn: feeds them NumPy arrays, and takes arrays from them.

    with cornerturn.Pipeline("graph.yaml", workers=2) as pipeline:
        pipeline.set("filter", n_taps=8)
        spectra = pipeline.read("out")

docs/python.md has all of it."""
from ._block import Block
from ._errors import (CancelledError, ConfigError, DataError, DeviceError, Error, IoError,
                      LayoutError, OrderError, OutOfMemoryError, ParameterError, PluginError,
                      ShapeError, WarningError)
from ._library import VERSION as __version__
from ._pipeline import Pipeline, inspect
from ._plan import Plan
from ._plugin import compile_plugin, load_plugin
from ._stage import stage
from ._stream import Axis, Stream
from ._types import to_complex, unpack_ci4

__all__ = [
    "Axis", "Block", "CancelledError", "ConfigError", "DataError", "DeviceError", "Error", "IoError",
    "LayoutError", "OrderError", "OutOfMemoryError", "ParameterError", "Pipeline", "Plan",
    "PluginError", "ShapeError", "Stream", "WarningError", "__version__", "compile_plugin", "inspect",
    "load_plugin", "stage", "to_complex", "unpack_ci4",
]
