# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions: one for each code of <cornerturn/error.h>."""
import re

# FILE:LINE:COLUMN: node 'NAME': TEXT, where the place, the node or both may be missing; or
# node 'NAME' wants …
_PARTS = re.compile(r"(?:(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): )?"
                    r"(?:node '(?P<node>[^']*)':? )?(?P<text>.*)", re.S)


class Error(Exception):
    """An error of Cornerturn. `message` is all of it; `file`, `line`, `column` and `node` are None
    where the message does not name them; `text` is the rest."""

    def __init__(self, message):
        super().__init__(message)
        self.message = message
        parts = _PARTS.fullmatch(message)
        self.file, self.node, self.text = parts["file"], parts["node"], parts["text"]
        self.line = int(parts["line"]) if parts["line"] else None
        self.column = int(parts["column"]) if parts["column"] else None


class ConfigError(Error, ValueError):
    """The text of the graph is wrong."""


class ParameterError(Error, ValueError):
    """A stage or a function cannot take a value."""


class ShapeError(Error, ValueError):
    """Streams do not fit a port or one another."""


class LayoutError(Error, ValueError):
    """A layout is malformed, or none fits."""


class PluginError(Error):
    """A shared object is no plugin, has another ABI, or is at fault."""


class IoError(Error):
    """A file, a packet or the network failed."""


class OutOfMemoryError(Error, MemoryError):
    """Memory could not be allocated."""


class DeviceError(Error):
    """A device is missing or failed."""


class DataError(Error, ValueError):
    """The contents of a file or packet are wrong."""


class CancelledError(Error):
    """The run was cancelled."""


class WarningError(Error):
    """A warning, of a strict pipeline."""


class OrderError(Error, RuntimeError):
    """A call came too late or too early."""


# In the order of CtError.
CODES = [ConfigError, ParameterError, ShapeError, LayoutError, PluginError, IoError,
         OutOfMemoryError, DeviceError, DataError, CancelledError, WarningError, OrderError]

for _kind in Error, *CODES:
    _kind.__module__ = "cornerturn"
