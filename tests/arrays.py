# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of every type, and graphs that copy one file to another."""
import numpy as np

# NumPy's type, and whether a last axis has the parts.
TYPES = {
    "ci4": ("u1", False), "ci8": ("i1", True), "ci16": ("i2", True), "ci32": ("i4", True),
    "ci64": ("i8", True), "cf16": ("f2", True), "cf32": ("c8", False), "cf64": ("c16", False),
    "i8": ("i1", False), "i16": ("i2", False), "i32": ("i4", False), "i64": ("i8", False),
    "u8": ("u1", False), "u32": ("u4", False), "f16": ("f2", False), "f32": ("f4", False),
    "f64": ("f8", False),
}
LENGTHS = {"time": 37, "channel": 3, "station": 1, "pol": 2}


def make_array(axes, name):
    """An array with all bit patterns, including NaNs."""
    dtype, has_parts = TYPES[name]
    shape = [LENGTHS[axis] for axis in axes] + [2] * has_parts
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(np.random.default_rng(1).bytes(n_bytes), dtype).reshape(shape)


def copy_stages(layout, source=None, sink=None):
    return {
        "in": {"stage": "file.source", "path": "in.npy", "layout": layout, **(source or {})},
        "out": {"stage": "file.sink", "from": "in", "path": "out.npy",
                "layout": layout[layout.index("["):], **(sink or {})},
    }
