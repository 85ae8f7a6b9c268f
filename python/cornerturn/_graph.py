# SPDX-License-Identifier: BSD-3-Clause
"""Graphs as text: of dictionaries, and the values of parameters."""
import json
import os

import numpy


def _plain(value):
    """What the writer of JSON does not know by itself."""
    if isinstance(value, numpy.ndarray):
        return value.tolist()
    if isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, range)):
        return list(value)
    raise TypeError(f"a graph wants numbers, texts, lists and arrays of real numbers, but is given "
                    f"{value!r}")


def to_yaml(value):
    """The value as JSON, which is YAML."""
    return json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False)


def text_of(graph):
    """The text of a graph from a dictionary, a line for each node."""
    lines = []
    for key, value in graph.items():
        if key == "stages" and isinstance(value, dict):
            lines.append("stages:")
            lines += [f"  {to_yaml(name)}: {to_yaml(node)}" for name, node in value.items()]
        else:
            lines.append(f"{to_yaml(key)}: {to_yaml(value)}")
    return "\n".join(lines) + "\n"


def assignments(target, values):
    """"node.parameter=value" for a text that is that already, or for a node and its values."""
    if values:
        return [f"{target}.{name}={to_yaml(value)}" for name, value in values.items()]
    return [target]


def is_text(graph):
    """Whether a text is a graph, and not the path of one."""
    return "\n" in graph or "stages:" in graph or graph.lstrip().startswith("{")
